/* accuracy.c: largest error of each scalar function, in units in the last place of the exact result, against the bound
 * that its row of tables/scalars.h states.
 *
 *     accuracy            a seeded sample against MPFR: every binade, both signs, the neighbours of hard places
 *     accuracy --long [NAME [STEP]]   every float (pow: 2^32 seeded pairs), or every STEP-th, against libm in double, and MPFR
 *                         where that shows more than three quarters of the bound
 *
 * A result that overflows counts from the largest float's next; where it underflows, the unit is the smallest denormal. */
#include "definitions/words.h"
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int exact(mpfr_t, const mpfr_t, mpfr_rnd_t);

static int exact_sigmoid(mpfr_t y, const mpfr_t x, mpfr_rnd_t round)
{
	mpfr_neg(y, x, round);
	mpfr_exp(y, y, round);
	mpfr_add_ui(y, y, 1, round);
	return mpfr_ui_div(y, 1, y, round);
}

static int exact_gelu(mpfr_t y, const mpfr_t x, mpfr_rnd_t round)      /* x/2 * erfc(-x / sqrt 2) */
{
	mpfr_t t;
	if (mpfr_inf_p(x) && mpfr_signbit(x)) {                 /* the limit, where the formula has inf * 0 */
		mpfr_set_zero(y, -1);
		return 0;
	}
	mpfr_init2(t, mpfr_get_prec(y));
	mpfr_sqrt_ui(t, 2, round);
	mpfr_div(t, x, t, round);
	mpfr_neg(t, t, round);
	mpfr_erfc(t, t, round);
	mpfr_mul(t, t, x, round);
	mpfr_div_2ui(y, t, 1, round);
	mpfr_clear(t);
	return 0;
}

static double double_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double double_gelu(double x)    { return x < -40 ? -0. : x * 0.5 * erfc(x * -0.70710678118654752440); }

static const struct function {
	const char *name;
	float (*words)(float);
	double (*wide)(double);
	exact *exact;
} functions[] = {
	{ "exp", k_exp, exp, mpfr_exp },
	{ "exp_below", k_exp_below, exp, mpfr_exp },
	{ "log", k_log, log, mpfr_log },
	{ "sigmoid", k_sigmoid, double_sigmoid, exact_sigmoid },
	{ "tanh", k_tanh, tanh, mpfr_tanh },
	{ "erf", k_erf, erf, mpfr_erf },
	{ "gelu", k_gelu, double_gelu, exact_gelu },
	{ "sin", k_sin, sin, mpfr_sin },
	{ "cos", k_cos, cos, mpfr_cos },
};

static double bound_of(const char *name)
{
#define S(row, arity, floats, ints, cost, error, ...) if (!strcmp(name, #row)) return atof(error);
#include "tables/scalars.h"
#undef S
	printf("%s has no row in tables/scalars.h\n", name);
	exit(1);
}

static float float_of(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static uint64_t next(uint64_t *state)                            /* splitmix64 */
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double unit_at(int exponent)                             /* of 2^(exponent-1) <= |want| < 2^exponent */
{
	return ldexp(1, (exponent < -125 ? -125 : exponent > 128 ? 128 : exponent) - 24);
}

/* Both NaN, or the same zero or infinity: 0.  One of them NaN, or a zero of the wrong sign: infinite. */
static double ulps_double(float got, double want)
{
	int exponent;
	if (got != got || want != want)
		return got != got && want != want ? 0 : INFINITY;
	if (want == 0 || isinf(want))
		return got == (float)want && !signbit(got) == !signbit(want) ? 0 : INFINITY;
	frexp(want, &exponent);
	if (isinf(got))                                         /* where the float nearest to the exact value is infinite */
		return isinf((float)want) && !signbit(got) == !signbit(want) ? 0 : INFINITY;
	return fabs(got - want) / unit_at(exponent);
}

static double ulps_exact(float got, const mpfr_t want)
{
	mpfr_t difference;
	double error;
	if (mpfr_nan_p(want) || mpfr_inf_p(want) || mpfr_zero_p(want) || got != got || isinf(got))
		return ulps_double(got, mpfr_get_d(want, MPFR_RNDN));
	mpfr_init2(difference, mpfr_get_prec(want));
	mpfr_sub_d(difference, want, (double)got, MPFR_RNDN);
	error = fabs(mpfr_get_d(difference, MPFR_RNDN)) / unit_at((int)(mpfr_get_exp(want) < -1000 ? -1000 : mpfr_get_exp(want)));
	mpfr_clear(difference);
	return error;
}

static mpfr_t exact_x, exact_y, exact_z;

static double error_exact(const struct function *f, float x)
{
	mpfr_set_d(exact_x, (double)x, MPFR_RNDN);
	f->exact(exact_y, exact_x, MPFR_RNDN);
	return ulps_exact(f->words(x), exact_y);
}

struct worst { double error; float x, y; uint64_t tried; };

static void worse(struct worst *worst, double error, float x, float y)
{
	worst->tried++;
	if (error > worst->error)
		worst->error = error, worst->x = x, worst->y = y;
}

static int report(const char *name, const struct worst *worst)
{
	double bound = bound_of(name);
	printf("%-10s largest %.3f ulp at %.9g, %.9g (%a, %a), %llu values, bound %g: %s\n", name, worst->error, (double)worst->x, (double)worst->y,
		(double)worst->x, (double)worst->y, (unsigned long long)worst->tried, bound, worst->error <= bound ? "ok" : "TOO LARGE");
	return worst->error > bound;
}

static int sample(const struct function *f)
{
	static const float places[] = { 0, 0x1p-126f, 0.625f, 0.92f, 1, 0x1.62e43p-1f, 0x1.921fb6p-1f, 0x1.921fb6p+0f, 0x1.921fb6p+1f, 0x1.921fb6p+2f,
		15, 4, 87, 88.7228394f, 104, 103.97f, 65536, 8388608, 16777216, 0x1.fffffep127f, INFINITY, NAN, 0x1.3b9b3cp+4f, 0x1.ddebdep+83f };
	struct worst worst = { 0 };
	uint64_t state = 5;
	int below = !strcmp(f->name, "exp_below");
	for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
		for (int sign = 0; sign < 2; sign++)
			for (int step = -300; step <= 300; step++) {
				uint32_t bits;
				float x = places[i];
				memcpy(&bits, &x, sizeof bits);
				x = float_of(((bits + (uint32_t)step) & 0x7fffffffu) | (uint32_t)sign << 31);
				if (!below || x <= 0)
					worse(&worst, error_exact(f, x), x, 0);
			}
	for (long i = 0; i < 120000; i++) {
		uint64_t r = next(&state);
		float x = i % 2 ? float_of((uint32_t)r)         /* any exponent, or one where the function moves */
			: float_of((uint32_t)(r & 0x807fffffu) | (uint32_t)(110 + (r >> 32) % 25) << 23);
		if (!below || x <= 0)
			worse(&worst, error_exact(f, x), x, 0);
	}
	return report(f->name, &worst);
}

static int every(const struct function *f, uint64_t step)
{
	struct worst worst = { 0 };
	double bound = bound_of(f->name);
	int below = !strcmp(f->name, "exp_below");
	for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += step) {
		float x = float_of((uint32_t)bits);
		double error;
		if (below && !(x <= 0))
			continue;
		error = ulps_double(f->words(x), f->wide((double)x));
		if (error > 0.75 * bound)
			error = error_exact(f, x);
		worse(&worst, error, x, 0);
	}
	return report(f->name, &worst);
}

static double pow_exact(float x, float y)
{
	mpfr_set_d(exact_x, (double)x, MPFR_RNDN);
	mpfr_set_d(exact_z, (double)y, MPFR_RNDN);
	mpfr_pow(exact_y, exact_x, exact_z, MPFR_RNDN);
	return ulps_exact(k_pow(x, y), exact_y);
}

/* Special places paired with each other, then pairs whose power is neither 0 nor inf. */
static int powers(uint64_t count, int with_libm)
{
	static const float places[] = { 0, 0x1p-149f, 0x1p-126f, 0x1.fffffep-1f, 1, 0x1.000002p0f, 2, 3, 4, 0.5f, 1.5f, 2.5f, 1e-3f, 100, 8388607, 8388608, 8388609,
		16777215, 16777216, 33554432, 3e9f, 0x1.fffffep127f, INFINITY, NAN, 0.33333334f, 149, 150, 127, 128 };
	enum { PLACES = sizeof places / sizeof *places };
	struct worst worst = { 0 };
	uint64_t state = 6;
	for (int i = 0; i < 4 * PLACES * PLACES; i++) {
		float x = places[i / 4 / PLACES], y = places[i / 4 % PLACES];
		x = i & 1 ? -x : x, y = i & 2 ? -y : y;
		worse(&worst, pow_exact(x, y), x, y);
	}
	for (uint64_t i = 0; i < count; i++) {
		uint64_t r = next(&state), s = next(&state);
		float x = i & 7 ? float_of((uint32_t)r & 0x7fffffffu) : float_of((uint32_t)(0x3f000000u + r % 0x1000000u)), y;
		double log2_x = log2((double)x), error;
		if (!(log2_x != 0 && isfinite(log2_x)))
			continue;
		y = (float)(((double)s * 0x1p-63 - 1) * 151 / log2_x);
		if (i % 5 == 0)
			x = -x, y = rintf(y);
		if (with_libm) {
			error = ulps_double(k_pow(x, y), pow((double)x, (double)y));
			if (error > 0.75 * 2.5)
				error = pow_exact(x, y);
		} else
			error = pow_exact(x, y);
		worse(&worst, error, x, y);
	}
	return report("pow", &worst);
}

int main(int count, char **arguments)
{
	int bad = 0, whole = count > 1 && !strcmp(arguments[1], "--long");
	const char *only = count > 2 ? arguments[2] : NULL;
	uint64_t step = count > 3 ? strtoull(arguments[3], NULL, 10) : 1;
	step = step ? step : 1;
	mpfr_inits2(120, exact_x, exact_y, exact_z, (mpfr_ptr)0);
	for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)
		if (!only || !strcmp(only, functions[i].name))
			bad |= whole ? every(functions + i, step) : sample(functions + i);
	if (!only || !strcmp(only, "pow"))
		bad |= powers(whole ? ((uint64_t)1 << 32) / step : 200000, whole);
	mpfr_clears(exact_x, exact_y, exact_z, (mpfr_ptr)0);
	mpfr_free_cache();
	return bad;
}
