/* rows_each.h: scalars.h -> a function over arrays for each row that has floats, and their table.  Included once in a
 * file that has set the words k_* of its numbers, and
 *     NUMBER   float or double
 *     ROW      row_float or row_double, the function's type
 *     TABLE    rows_float or rows_double
 *     WIDE     where it is defined: attributes of a second function for each row, and
 *     HAVE_WIDE()   whether this processor runs that one */
#define ROW_LOOP(...) \
	for (int i = 0; i < n; i++) { \
		NUMBER a = pa[i], b = pb ? pb[i] : 0, c = pc ? pc[i] : 0; \
		(void)a, (void)b, (void)c; \
		y[i] = __VA_ARGS__; \
	}
#define ROW_0(name, ...)
#ifdef WIDE
#define ROW_1(name, ...) \
	WIDE static void wide_##name(int n, const NUMBER *pa, const NUMBER *pb, const NUMBER *pc, NUMBER *y) \
	{ \
		ROW_LOOP(__VA_ARGS__) \
	} \
	static void row_##name(int n, const NUMBER *pa, const NUMBER *pb, const NUMBER *pc, NUMBER *y) \
	{ \
		if (HAVE_WIDE()) \
			wide_##name(n, pa, pb, pc, y); \
		else \
			ROW_LOOP(__VA_ARGS__) \
	}
#else
#define ROW_1(name, ...) \
	static void row_##name(int n, const NUMBER *pa, const NUMBER *pb, const NUMBER *pc, NUMBER *y) \
	{ \
		ROW_LOOP(__VA_ARGS__) \
	}
#endif
#define S(name, arity, floats, ints, cost, error, ...) ROW_##floats(name, __VA_ARGS__)
#include "tables/scalars.h"
#undef S

#define ENTRY_0(name)
#define ENTRY_1(name) [SCALAR_##name] = row_##name,
ROW *const TABLE[SCALAR_COUNT] = {
#define S(name, arity, floats, ...) ENTRY_##floats(name)
#include "tables/scalars.h"
#undef S
};
