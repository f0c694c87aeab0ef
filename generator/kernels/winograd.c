/* winograd.c: 3x3 filters -> the weights of Winograd's F(2x2,3x3) and F(4x4,3x3), transformed in double and packed. */
#include "kernels/winograd.h"
#include <string.h>

/* Row i of G: (1, p, p^2) of point i over the product of its differences to the other points; the last point is infinity.
 * So M = sum(k) U V needs no scale, and the forward and back transforms hold small constants alone. */
static void matrix_g(int m, double g[6][3])
{
	const double points[2][5] = { { 0, 1, -1 }, { 0, 0.625, -0.625, 1.5, -1.5 } };
	const double *p = points[m == 4];
	for (int i = 0; i <= m; i++) {
		double scale = 1;
		for (int j = 0; j <= m; j++)
			if (j != i)
				scale *= p[i] - p[j];
		g[i][0] = 1 / scale, g[i][1] = p[i] / scale, g[i][2] = p[i] * p[i] / scale;
	}
	g[m + 1][0] = 0, g[m + 1][1] = 0, g[m + 1][2] = 1;
}

static void filter(int m, double g[6][3], const float *w, float *u, int64_t step)
{
	for (int i = 0; i < m + 2; i++)
		for (int j = 0; j < m + 2; j++, u += step) {
			double sum = 0;
			for (int t = 0; t < 9; t++)
				sum += g[i][t / 3] * g[j][t % 3] * (double)w[t];
			*u = (float)sum;
		}
}

void winograd_filter(int m, const float *w, float *u, int64_t step)
{
	double g[6][3];
	matrix_g(m, g);
	filter(m, g, w, u, step);
}

int64_t winograd_weights_floats(int m, int64_t ci, int64_t co, int lanes)
{
	return (co + lanes - 1) / lanes * lanes * ci * (m + 2) * (m + 2);
}

void winograd_weights(int m, int64_t ci, int64_t co, const float *w, int lanes, int64_t panels, float *packed)
{
	int64_t vecs = (co + lanes - 1) / lanes, points = (m + 2) * (m + 2);
	double g[6][3];
	matrix_g(m, g);
	memset(packed, 0, sizeof(float) * (size_t)winograd_weights_floats(m, ci, co, lanes));
	for (int64_t panel = 0; panel < panels; panel++) {
		int64_t from = vecs * panel / panels * lanes, width = vecs * (panel + 1) / panels * lanes - from;
		for (int64_t column = 0; column < width && from + column < co; column++)
			for (int64_t i = 0; i < ci; i++)
				filter(m, g, w + ((from + column) * ci + i) * 9, packed + from * points * ci + i * width + column, ci * width);
	}
}
