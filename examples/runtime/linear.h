/* linear.h: a small library as `ingot build --profile managed` prints one: a linear model y = w . x over 64 features.
 *     forward   y = w . x for each of the rows of a batch
 *     gradient  grad = d/dw of the squared error of those rows
 *     merge     total += the gradient in the merge buffer
 *     step      w -= total / 256, total = 0 */
#ifndef EXAMPLES_LINEAR_H
#define EXAMPLES_LINEAR_H
#include "ingot/context.h"
#define FEATURES 64
#define ROWS 16
extern const struct ingot_module linear_module;

/* Ends the program where a call fails, with the runtime's own words. */
void need(enum ingot_status, const char *what);
#define NEED(call) need(call, #call)
#endif
