/* winograd.h: the weights of Winograd's convolutions as templates/c/winograd.jinja reads them. */
#ifndef KERNELS_WINOGRAD_H
#define KERNELS_WINOGRAD_H
#include <stdint.h>

/* Filters w[o][i][3][3] -> packed [panel][point][i][column of the panel].  vecs = ceil(co / lanes); panel p holds the
 * vectors [vecs * p / panels, vecs * (p + 1) / panels), so panels differ by one vector at most; columns past co are 0.
 * packed: winograd_weights_floats(...) floats. */
void winograd_weights(int m, int64_t ci, int64_t co, const float *w_oihw, int lanes, int64_t panels, float *packed);
int64_t winograd_weights_floats(int m, int64_t ci, int64_t co, int lanes);
#endif
