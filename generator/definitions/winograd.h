/* winograd.h: the arithmetic of Winograd's convolutions F(m x m, 3x3), m = 2 or 4, that definitions and kernels share.
 * The points are 0, 1, -1, infinity for m = 2; 0, 5/8, -5/8, 3/2, -3/2, infinity for m = 4. */
#ifndef DEFINITIONS_WINOGRAD_H
#define DEFINITIONS_WINOGRAD_H
#include <stdbool.h>
#include <stdint.h>

/* Filters w[3][3], `w_step` floats apart -> (m + 2)^2 rows of u, `step` floats apart, of an element for each filter:
 * G w G' in double, each rounded once to float. */
void winograd_filters_of(int m, int64_t count, const float *w, int64_t w_step, float *u, int64_t step);

/* What the points (i, j) of a filter that comes at run time are multiplied by, behind sums of w, p w and p^2 w: a
 * float. */
double winograd_scale(int m, int i, int j);

/* The algorithm for a 3x3 convolution of stride 1: 0 (direct), 2 or 4, by the layer's shape for one image and its bytes
 * alone, so that bits depend neither on the target nor on the batch nor on other layers.  It is that with the least
 * work, where it saves a tenth of the direct sum's, and whose error stays within twice the direct chain's.  run_time:
 * whether the filters come at run time, so that they are transformed in each call. */
int winograd_best(int64_t channels_in, int64_t channels_out, int64_t height, int64_t width, bool run_time);
#endif
