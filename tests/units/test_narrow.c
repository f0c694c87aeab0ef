/* test_narrow.c: floats below 32 bits: every code, and rounding against a search over all codes. */
#include "unit.h"
#include <math.h>
#include "definitions/narrow.h"

static const enum dtype types[] = { DTYPE_F16, DTYPE_BF16, DTYPE_F8E4M3FN, DTYPE_F8E4M3FNUZ, DTYPE_F8E5M2,
	DTYPE_F8E5M2FNUZ, DTYPE_F8E8M0, DTYPE_F4E2M1, DTYPE_F6E2M3, DTYPE_F6E3M2 };

static unsigned codes(enum dtype type) { return 1u << dtypes[type].bits; }

/* What a code means, by its definition in ldexp. */
static double meaning(enum dtype type, unsigned code)
{
	const struct narrow_row *row = &narrows[type];
	if (type == DTYPE_F8E8M0)
		return code == 255 ? NAN : ldexp(1, (int)code - 127);
	int exponent = (int)(code >> row->mantissa) & ((1 << row->exponent) - 1),
	    mantissa = (int)(code & ((1u << row->mantissa) - 1));
	unsigned sign = code >> (row->exponent + row->mantissa),
	         magnitude = code & ((1u << (row->exponent + row->mantissa)) - 1);
	if (row->one_zero && code == row->nan)
		return NAN;
	if (magnitude > row->top)
		return magnitude == row->over && row->over != row->nan ? (sign ? -INFINITY : INFINITY) : NAN;
	double value = exponent ? ldexp(1 + ldexp(mantissa, -row->mantissa), exponent - row->bias)
	                        : ldexp(mantissa, 1 - row->bias - row->mantissa);
	return sign ? -value : value;
}

static void every_code_is_what_it_means_and_comes_back(void **state)
{
	(void)state;
	for (size_t t = 0; t < COUNT(types); t++)
		for (unsigned code = 0; code < codes(types[t]); code++) {
			double want = meaning(types[t], code);
			float got = narrow_value(types[t], code);
			assert_true(isnan(want) ? isnan(got) : (double)got == want && !signbit(got) == !signbit(want));
			for (int cast = 0; cast <= (CAST_UP | CAST_DOWN | CAST_SATURATES); cast++)
				if (!isnan(want) && !isinf(want) && (cast & 6) != 6)
					assert_int_equal(narrow_code(types[t], cast, got), code);
		}
}

/* The nearest finite number of a type, ties to an even code; beyond half a step above the largest one, NAN. */
static double nearest(enum dtype type, double x)
{
	const struct narrow_row *row = &narrows[type];
	double best = NAN, most = meaning(type, row->top), step = most - meaning(type, row->top - 1);
	unsigned chosen = 0;
	for (unsigned code = 0; code <= row->top; code++) {
		double value = meaning(type, code), near = fabs(value - fabs(x)), far = fabs(best - fabs(x));
		if (isnan(best) || near < far || (near == far && !(code & 1) && (chosen & 1)))
			best = value, chosen = code;
	}
	double end = most + step / 2; /* the tie goes up where the largest code is odd */
	if (fabs(x) > end || (fabs(x) == end && (row->top & 1)))
		return NAN;
	return x < 0 ? -best : best;
}

static uint64_t seed = 1;
static uint64_t random_bits(void)
{
	return seed = seed * 6364136223846793005u + 1442695040888963407u, seed >> 11 ^ seed << 30;
}

/* Near the type's own numbers: between two neighbours, at their middle, and a little off it. */
static double near_a_number(enum dtype type)
{
	unsigned code = (unsigned)(random_bits() % narrows[type].top);
	double a = meaning(type, code), b = meaning(type, code + 1), at[] = { a, (a + b) / 2, 0.75 * a + 0.25 * b, b };
	double x = at[random_bits() % 4];
	return (random_bits() & 1 ? x : -x)
	        * (1 + (double)((int)(random_bits() % 3) - 1) * (random_bits() & 1 ? 0x1p-50 : 0x1p-22));
}

static void rounding_is_to_nearest_once(void **state)
{
	(void)state;
	for (size_t t = 0; t < COUNT(types); t++) {
		if (types[t] == DTYPE_F8E8M0)
			continue;
		for (int i = 0; i < (dtypes[types[t]].bits == 16 ? 400 : 4000); i++) {
			double x = near_a_number(types[t]), want = nearest(types[t], x);
			double got =
			        (double)narrow_value(types[t], narrow_code(types[t], CAST_SATURATES, narrow_odd(x)));
			if (isnan(want))
				want = copysign(meaning(types[t], narrows[types[t]].top), x);
			assert_true(got == want);
			float f = (float)x;
			want = nearest(types[t], (double)f);
			got = (double)narrow_value(types[t], narrow_code(types[t], CAST_SATURATES, f));
			assert_true(isnan(want) || got == want);
		}
	}
}

static void odd_of_whole_numbers_keeps_what_was_cut_off(void **state)
{
	(void)state;
	const int64_t tie = ((int64_t)1 << 62) + ((int64_t)1 << 54);
	assert_int_equal(narrow_code(DTYPE_BF16, 0, narrow_odd_long(tie)), 0x5e80);
	assert_int_equal(narrow_code(DTYPE_BF16, 0, narrow_odd_long(tie + 1)), 0x5e81);
	assert_int_equal(narrow_code(DTYPE_BF16, 0, narrow_odd_long(-tie - 1)), 0xde81);
	assert_int_equal(narrow_code(DTYPE_BF16, 0, narrow_odd_long(-tie + 1)), 0xde80);
	assert_int_equal(narrow_code(DTYPE_BF16, 0, narrow_odd_whole(2 * (uint64_t)tie + 1)), 0x5f01);
	assert_int_equal(narrow_code(DTYPE_BF16, 0, narrow_odd_whole(UINT64_MAX)), 0x5f80);
	assert_int_equal(narrow_code(DTYPE_BF16, 0, narrow_odd_long(-1)), 0xbf80);
}

static void what_is_too_large_saturates_or_not(void **state)
{
	(void)state;
	for (size_t t = 0; t < COUNT(types); t++) {
		const struct narrow_row *row = &narrows[types[t]];
		if (types[t] == DTYPE_F8E8M0)
			continue;
		assert_int_equal(narrow_code(types[t], CAST_SATURATES, INFINITY), row->top);
		assert_int_equal(narrow_code(types[t], 0, INFINITY), row->over);
		assert_int_equal(narrow_code(types[t], 0, NAN), row->nan);
		assert_int_equal(narrow_code(types[t], 0, 3e38f), types[t] == DTYPE_BF16 ? 0x7f62 : row->over);
	}
	assert_int_equal(narrow_code(DTYPE_F8E8M0, CAST_UP, 1.5f), 128);
	assert_int_equal(narrow_code(DTYPE_F8E8M0, CAST_DOWN, -1.5f), 127);
	assert_int_equal(narrow_code(DTYPE_F8E8M0, 0, 1.5f), 128);
	assert_int_equal(narrow_code(DTYPE_F8E8M0, CAST_UP, 3e38f), 255);
	assert_int_equal(narrow_code(DTYPE_F8E8M0, CAST_UP | CAST_SATURATES, 3e38f), 254);
	assert_int_equal(narrow_code(DTYPE_F8E8M0, CAST_UP, 0), 0);
	assert_int_equal(narrow_code(DTYPE_F8E8M0, CAST_UP, -INFINITY), 255);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_is_what_it_means_and_comes_back),
		cmocka_unit_test(rounding_is_to_nearest_once),
		cmocka_unit_test(odd_of_whole_numbers_keeps_what_was_cut_off),
		cmocka_unit_test(what_is_too_large_saturates_or_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
