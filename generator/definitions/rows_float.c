/* rows_float.c: the rows of scalars.h over floats, in the very words that are printed into kernels. */
#include "definitions/rows.h"
#include "definitions/words.h"
#include <math.h>

/* The same bits either way: a processor's fma and the C library's both round once.  What a row calls is a part of it,
 * so that it has the instruction too. */
#if defined(__x86_64__)
#define WIDE __attribute__((target("fma"), flatten))
#define HAVE_WIDE() __builtin_cpu_supports("fma")
#endif
#define NUMBER float
#define ROW row_float
#define TABLE rows_float
#include "definitions/rows_each.h"

/* One loop for each way to step, so that a compiler makes vectors of it. */
#define FMA_LOOPS(fma) \
	if (a_step && b_step) \
		for (int i = 0; i < n; i++) \
			acc[i] = fma(a[i], b[i], acc[i]); \
	else if (b_step) \
		for (int i = 0; i < n; i++) \
			acc[i] = fma(a[0], b[i], acc[i]); \
	else if (a_step) \
		for (int i = 0; i < n; i++) \
			acc[i] = fma(a[i], b[0], acc[i]); \
	else \
		for (int i = 0; i < n; i++) \
			acc[i] = fma(a[0], b[0], acc[i]);

#if defined(WIDE)
WIDE static void fma_wide(int n, const float *a, int a_step, const float *b, int b_step, float *acc)
{
	FMA_LOOPS(__builtin_fmaf)
}
#else
#define fma_wide fma_plain
#define HAVE_WIDE() 0
#endif

static void fma_plain(int n, const float *a, int a_step, const float *b, int b_step, float *acc) { FMA_LOOPS(fmaf) }

void fma_float(int n, const float *a, int a_step, const float *b, int b_step, float *acc)
{
	if (HAVE_WIDE())
		fma_wide(n, a, a_step, b, b_step, acc);
	else
		fma_plain(n, a, a_step, b, b_step, acc);
}
