/* winograd_filters.c: 3x3 filters -> the weights of Winograd's F(2x2,3x3) and F(4x4,3x3); and which of them a shape is
 * worth. */
#include "definitions/winograd.h"

static const double points_of[2][5] = { { 0, 1, -1 }, { 0, 0.625, -0.625, 1.5, -1.5 } };

/* The product of the differences of point i to the other points; the last point is infinity. */
static double differences(int m, int i)
{
	const double *p = points_of[m == 4];
	double product = 1;
	for (int j = 0; i <= m && j <= m; j++)
		if (j != i)
			product *= p[i] - p[j];
	return product;
}

double winograd_scale(int m, int i, int j) { return (double)(float)(1 / (differences(m, i) * differences(m, j))); }

/* Row i of G: (1, p, p^2) of point i over those differences.  So no scale is left for the products, and the forward and
 * back transforms hold small constants alone. */
static void matrix_g(int m, double g[6][3])
{
	const double *p = points_of[m == 4];
	for (int i = 0; i <= m; i++) {
		double scale = differences(m, i);
		g[i][0] = 1 / scale, g[i][1] = p[i] / scale, g[i][2] = p[i] * p[i] / scale;
	}
	g[m + 1][0] = 0, g[m + 1][1] = 0, g[m + 1][2] = 1;
}

/* As many filters at once, side by side, so that compilers make vectors of them. */
enum { ABREAST = 16 };

static void transform(double factors[36][9], int points, double w[9][ABREAST], int64_t count, float *u, int64_t step)
{
	for (int p = 0; p < points; p++, u += step) {
		double sums[ABREAST] = { 0 };
		for (int t = 0; t < 9; t++)
			for (int f = 0; f < ABREAST; f++)
				sums[f] += factors[p][t] * w[t][f];
		for (int64_t f = 0; f < count; f++)
			u[f] = (float)sums[f];
	}
}

void winograd_filters_of(int m, int64_t count, const float *w, int64_t w_step, float *u, int64_t step)
{
	double g[6][3], factors[36][9], columns[9][ABREAST] = { { 0 } };
	int n = m + 2;
	matrix_g(m, g);
	for (int p = 0; p < n * n; p++)
		for (int t = 0; t < 9; t++)
			factors[p][t] = g[p / n][t / 3] * g[p % n][t % 3];
	for (int64_t from = 0; from < count; from += ABREAST) {
		int64_t some = count - from < ABREAST ? count - from : ABREAST;
		for (int64_t f = 0; f < some; f++)
			for (int t = 0; t < 9; t++)
				columns[t][f] = (double)w[(from + f) * w_step + t];
		transform(factors, n * n, columns, some, u + from, step);
	}
}

enum { CACHED_BYTES = 1 << 20 }; /* of a layer's filters, beyond which they come from memory each time */

/* Work in multiply-adds, 32 of which start in a cycle of a wide CPU: the products of every pair of channels; loads,
 * stores and sums of the transforms, per channel of a tile; stores of the products; a weight from L3 or from memory.
 * Measured on Zen 5. */
static double work(int m, double ci, double co, double height, double width, double weight)
{
	const double points = (m + 2) * (m + 2), forward = m == 2 ? 48 : 150, back = m == 2 ? 60 : 160, store = 2.5;
	int64_t side_y = ((int64_t)height + m - 1) / m, side_x = ((int64_t)width + m - 1) / m;
	double tiles = (double)side_y * (double)side_x, ci16 = (double)(((int64_t)ci + 15) / 16 * 16),
	       co16 = (double)(((int64_t)co + 15) / 16 * 16);
	return points * tiles * ci * co16 + tiles * (forward * ci16 + back * co16) + store * points * tiles * co16
	        + weight * points * ci * co;
}

/* A filter at run time: what its packing costs the direct sum, and its transforms: most of that is stores, a line for
 * each point. */
static double run_time_filter(int m) { return m == 4 ? 400 : m == 2 ? 180 : 116; }

/* Columns of the direct sum's product: whole vectors; of a few results a place, rows of the image are its columns. */
enum { FEW_OUTS = 4, FEW_LEAST = 16 };
static double direct_columns(int64_t channels_out, int64_t width)
{
	return channels_out <= FEW_OUTS && width >= FEW_LEAST ? 1.5 * (double)channels_out
	                                                      : (double)((channels_out + 15) / 16 * 16);
}

int winograd_best(int64_t channels_in, int64_t channels_out, int64_t height, int64_t width, bool run_time)
{
	double ci = (double)channels_in, co = (double)channels_out, h = (double)height, w = (double)width;
	const double weight = run_time ? 0 : 9 * ci * co * sizeof(float) > CACHED_BYTES ? 20 : 6;
	double least = (9 * h * w * ci * direct_columns(channels_out, width) + weight * 9 * ci * co
	                       + (run_time ? run_time_filter(0) * ci * co : 0))
	        / 1.1;
	int best = 0;
	for (int m = 2; m <= 4; m += 2) {
		/* F(4x4) has 1.4 to 2.0 times the direct chain's error from 32 channels on, more below, where the chain
		 * rounds seldom. */
		if (m == 4 && channels_in < 32)
			continue;
		double cost = work(m, ci, co, h, w, weight) + (run_time ? run_time_filter(m) * ci * co : 0);
		if (cost < least)
			least = cost, best = m;
	}
	return best;
}
