/* winograd.h: the arithmetic of Winograd's convolutions F(m x m, 3x3), m = 2 or 4, that kernels and definitions share.
 * The points are 0, 1, -1, infinity for m = 2; 0, 5/8, -5/8, 3/2, -3/2, infinity for m = 4. */
#ifndef KERNELS_WINOGRAD_H
#define KERNELS_WINOGRAD_H
#include <stdint.h>

/* One 3x3 filter w[kh][kw] -> u[(m + 2)^2], G w G' in double, each rounded once to float.  `step`: floats from one element
 * of u to the next. */
void winograd_filter(int m, const float *w, float *u, int64_t step);

/* All filters w[o][i][3][3] -> packed [panel][point][i][column of the panel], as templates/c/winograd.jinja reads them.
 * vecs = ceil(co / lanes); panel p holds the vectors [vecs * p / panels, vecs * (p + 1) / panels), so panels differ by one
 * vector at most; columns past co are 0.  packed: winograd_weights_floats(...) floats. */
void    winograd_weights(int m, int64_t ci, int64_t co, const float *w_oihw, int lanes, int64_t panels, float *packed);
int64_t winograd_weights_floats(int m, int64_t ci, int64_t co, int lanes);
#endif
