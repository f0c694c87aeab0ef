/* narrow.c: floats below 32 bits, in the very words that are printed into kernels. */
#include "definitions/narrow.h"
#include "definitions/words.h"

float narrow_value(enum dtype type, unsigned code)
{
	const struct narrow_row *row = &narrows[type];
	return type == DTYPE_F8E8M0
	        ? n_wide_power(code)
	        : n_wide(code, row->exponent, row->mantissa, row->bias, row->top, row->nan, row->one_zero);
}

unsigned narrow_code(enum dtype type, int cast, float x)
{
	const struct narrow_row *row = &narrows[type];
	if (type == DTYPE_F8E8M0)
		return n_narrow_power(x, cast & CAST_UP ? 1 : cast & CAST_DOWN ? -1 : 0, (cast & CAST_SATURATES) != 0);
	return n_narrow(x, row->exponent, row->mantissa, row->bias, row->top,
	        cast & CAST_SATURATES ? row->top : row->over, row->nan, row->one_zero);
}

float narrow_odd(double x) { return n_odd(x); }
float narrow_odd_long(int64_t x) { return n_odd_long(x); }
float narrow_odd_whole(uint64_t x) { return n_odd_whole(x); }
