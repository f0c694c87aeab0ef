/* winograd.c: 3x3 filters -> the packed weights of Winograd's F(2x2,3x3) and F(4x4,3x3). */
#include "kernels/winograd.h"
#include "definitions/winograd.h"
#include <string.h>

int64_t winograd_weights_floats(int m, int64_t ci, int64_t co, int lanes)
{
	return (co + lanes - 1) / lanes * lanes * ci * (m + 2) * (m + 2);
}

void winograd_weights(int m, int64_t ci, int64_t co, const float *w, int lanes, int64_t panels, float *packed)
{
	int64_t vecs = (co + lanes - 1) / lanes, points = (m + 2) * (m + 2);
	memset(packed, 0, sizeof(float) * (size_t)winograd_weights_floats(m, ci, co, lanes));
	for (int64_t panel = 0; panel < panels; panel++) {
		int64_t from = vecs * panel / panels * lanes, width = vecs * (panel + 1) / panels * lanes - from;
		int64_t columns = from + width < co ? width : co - from;
		for (int64_t i = 0; i < ci; i++)
			winograd_filters_of(m, columns, w + (from * ci + i) * 9, ci * 9,
			        packed + from * points * ci + i * width, ci * width);
	}
}
