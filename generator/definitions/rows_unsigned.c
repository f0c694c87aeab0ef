/* rows_unsigned.c: the rows of scalars.h over uint64, in the meaning of rows_integer.c: x / 0 and x mod 0 are 0, a
 * shift by 64 or more leaves nothing. */
#include "definitions/rows.h"
#include "definitions/random.h"

typedef uint64_t whole;

static whole k_mul(whole a, whole b) { return a * b; }
static whole k_div(whole a, whole b) { return b ? a / b : 0; }
static whole k_mod(whole a, whole b) { return b ? a % b : 0; }
static whole k_fmod(whole a, whole b) { return b ? a % b : 0; }
static whole k_and(whole a, whole b) { return a & b; }
static whole k_or(whole a, whole b) { return a | b; }
static whole k_xor(whole a, whole b) { return a ^ b; }
static whole k_shl(whole a, whole b) { return b < 64 ? a << b : 0; }
static whole k_shr(whole a, whole b) { return b < 64 ? a >> b : 0; }
static whole k_neg(whole a) { return 0 - a; }
static whole k_abs(whole a) { return a; }
static whole k_max(whole a, whole b) { return a > b ? a : b; }
static whole k_min(whole a, whole b) { return a < b ? a : b; }
static whole k_relu(whole a) { return a; }
static whole k_zero(whole a) { return (void)a, 0; }
static whole k_one(whole a) { return (void)a, 1; }
static int k_less(whole a, whole b) { return a < b; }
static int k_equal(whole a, whole b) { return a == b; }
static whole k_select(int which, whole a, whole b) { return which ? a : b; }
static whole k_random(whole key, whole counter) { return u_random(key, counter); }
static whole k_pow(whole a, whole b)
{
	whole y = 1;
	for (; b; b >>= 1, a *= a)
		y *= b & 1 ? a : 1;
	return y;
}

#define TABLE rows_unsigned
#include "definitions/rows_integral.h"
