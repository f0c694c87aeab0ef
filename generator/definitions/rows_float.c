/* rows_float.c: the rows of scalars.h over floats, in the very words that are printed into kernels. */
#include "definitions/rows.h"
#include "definitions/words.h"
#include <math.h>

#define ROW_0(name, ...)
#define ROW_1(name, ...) \
	static void row_##name(int n, const float *pa, const float *pb, const float *pc, float *y) \
	{ \
		for (int i = 0; i < n; i++) { \
			float a = pa[i], b = pb ? pb[i] : 0, c = pc ? pc[i] : 0; \
			(void)a, (void)b, (void)c; \
			y[i] = __VA_ARGS__; \
		} \
	}
#define S(name, arity, floats, ints, cost, error, ...) ROW_##floats(name, __VA_ARGS__)
#include "tables/scalars.h"
#undef S

#define ENTRY_0(name)
#define ENTRY_1(name) [SCALAR_##name] = row_##name,
row_float *const rows_float[SCALAR_COUNT] = {
#define S(name, arity, floats, ...) ENTRY_##floats(name)
#include "tables/scalars.h"
#undef S
};

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

/* The same bits either way: a processor's fma and the C library's both round once. */
#if defined(__x86_64__)
__attribute__((target("fma")))
static void fma_wide(int n, const float *a, int a_step, const float *b, int b_step, float *acc)
{
	FMA_LOOPS(__builtin_fmaf)
}
#define HAVE_WIDE() __builtin_cpu_supports("fma")
#else
#define fma_wide fma_plain
#define HAVE_WIDE() 0
#endif

static void fma_plain(int n, const float *a, int a_step, const float *b, int b_step, float *acc)
{
	FMA_LOOPS(fmaf)
}

void fma_float(int n, const float *a, int a_step, const float *b, int b_step, float *acc)
{
	if (HAVE_WIDE())
		fma_wide(n, a, a_step, b, b_step, acc);
	else
		fma_plain(n, a, a_step, b, b_step, acc);
}
