/* rows_integral.h: scalars.h -> a function over arrays for each row that has integers, and their table.  Included once
 * in a file that has set the words k_* of 64-bit integers, signed or not, and TABLE.  The rows' own + - * are of
 * unsigned numbers, which wrap around. */
/* Products of what lies side by side in the low 32 bits, lowest first. */
static int64_t k_dot16(uint64_t a, uint64_t b)
{
	return (int16_t)a * (int64_t)(int16_t)b + (int16_t)(a >> 16) * (int64_t)(int16_t)(b >> 16);
}
static int64_t k_dot8(uint64_t a, uint64_t b)
{
	int64_t sum = 0;
	for (int i = 0; i < 32; i += 8)
		sum += (int8_t)(a >> i) * (int8_t)(b >> i);
	return sum;
}
static int64_t k_dot8u(uint64_t a, uint64_t b)
{
	int64_t sum = 0;
	for (int i = 0; i < 32; i += 8)
		sum += (uint8_t)(a >> i) * (int8_t)(b >> i);
	return sum;
}

#define ROW_0(name, ...)
#define ROW_1(name, ...) \
	static void row_##name(int n, const int64_t *pa, const int64_t *pb, const int64_t *pc, int64_t *y) \
	{ \
		for (int i = 0; i < n; i++) { \
			uint64_t a = (uint64_t)pa[i], b = pb ? (uint64_t)pb[i] : 0, c = pc ? (uint64_t)pc[i] : 0; \
			(void)a, (void)b, (void)c; \
			y[i] = (int64_t)(__VA_ARGS__); \
		} \
	}
#define S(name, arity, floats, ints, cost, error, ...) ROW_##ints(name, __VA_ARGS__)
#include "tables/scalars.h"
#undef S

#define ENTRY_0(name)
#define ENTRY_1(name) [SCALAR_##name] = row_##name,
row_integer *const TABLE[SCALAR_COUNT] = {
#define S(name, arity, floats, ints, ...) ENTRY_##ints(name)
#include "tables/scalars.h"
#undef S
};
