/* rows.h: the rows of scalars.h over arrays, in the number systems of the interpreter.
 * y[i] = row(a[i], b[i], c[i]) for i in [0, n); arguments that the row lacks may be NULL.  y may be one of them.  A row
 * that has no meaning in a system is NULL. */
#ifndef DEFINITIONS_ROWS_H
#define DEFINITIONS_ROWS_H
#include "tables/tables.h"

typedef void row_float(int n, const float *a, const float *b, const float *c, float *y);
typedef void row_double(int n, const double *a, const double *b, const double *c, double *y);
typedef void row_integer(int n, const int64_t *a, const int64_t *b, const int64_t *c, int64_t *y);
extern row_float *const rows_float[SCALAR_COUNT];      /* strict: the words that are printed into kernels */
extern row_double *const rows_double[SCALAR_COUNT];    /* libm's: the judge of accuracy */
extern row_integer *const rows_integer[SCALAR_COUNT];  /* wraps around; x / 0 is 0 */
extern row_integer *const rows_unsigned[SCALAR_COUNT]; /* the same over uint64, whose bits the arrays hold */

/* acc[i] = fma(a[i * a_step], b[i * b_step], acc[i]), rounded once; steps are 0 or 1 */
void fma_float(int n, const float *a, int a_step, const float *b, int b_step, float *acc);
void fma_double(int n, const double *a, int a_step, const double *b, int b_step, double *acc);
#endif
