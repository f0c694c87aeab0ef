/* rows_integer.c: the rows of scalars.h over 64-bit integers, defined for every input: sums and products wrap around,
 * x / 0 and x mod 0 are 0, a shift by 64 or more leaves nothing but the sign. */
#include "definitions/rows.h"
#include "definitions/random.h"

typedef int64_t integer;

/* Arithmetic of the rows' own + - * is on this type, which wraps; values are taken back to signed ones. */
static integer k_div(uint64_t a, uint64_t b)
{
	integer x = (integer)a, y = (integer)b;
	return y == 0 ? 0 : y == -1 ? (integer)-a : x / y;
}
/* The remainder has the sign of b. */
static integer k_mod(uint64_t a, uint64_t b)
{
	integer x = (integer)a, y = (integer)b;
	if (y == 0 || y == -1)
		return 0;
	return x % y && (x % y < 0) != (y < 0) ? x % y + y : x % y;
}
static integer k_mul(uint64_t a, uint64_t b) { return (integer)(a * b); }
static integer k_fmod(uint64_t a, uint64_t b)
{
	integer x = (integer)a, y = (integer)b;
	return y == 0 || y == -1 ? 0 : x % y;
}
static integer k_and(uint64_t a, uint64_t b) { return (integer)(a & b); }
static integer k_or(uint64_t a, uint64_t b) { return (integer)(a | b); }
static integer k_xor(uint64_t a, uint64_t b) { return (integer)(a ^ b); }
static integer k_shl(uint64_t a, uint64_t b) { return b < 64 ? (integer)(a << b) : 0; }
static integer k_shr(uint64_t a, uint64_t b) { return b < 64 ? (integer)a >> b : (integer)a < 0 ? -1 : 0; }
static integer k_neg(uint64_t a) { return (integer)-a; }
static integer k_abs(uint64_t a) { return (integer)a < 0 ? (integer)-a : (integer)a; }
static integer k_max(uint64_t a, uint64_t b) { return (integer)a > (integer)b ? (integer)a : (integer)b; }
static integer k_min(uint64_t a, uint64_t b) { return (integer)a < (integer)b ? (integer)a : (integer)b; }
static integer k_relu(uint64_t a) { return (integer)a < 0 ? 0 : (integer)a; }
static integer k_random(uint64_t key, uint64_t counter) { return (integer)u_random(key, counter); }
static integer k_zero(uint64_t a) { return (void)a, 0; }
static integer k_one(uint64_t a) { return (void)a, 1; }
static int k_less(uint64_t a, uint64_t b) { return (integer)a < (integer)b; }
static int k_equal(uint64_t a, uint64_t b) { return a == b; }
static integer k_select(int which, uint64_t a, uint64_t b) { return (integer)(which ? a : b); }

/* Powers below 0 are 1 / a^-b, which is 0 unless a is 1 or -1. */
static integer k_pow(uint64_t a, uint64_t b)
{
	uint64_t y = 1;
	if ((integer)b < 0)
		return a == 1 ? 1 : (integer)a == -1 ? (b & 1 ? -1 : 1) : 0;
	for (; b; b >>= 1, a *= a)
		y *= b & 1 ? a : 1;
	return (integer)y;
}

#define TABLE rows_integer
#include "definitions/rows_integral.h"
