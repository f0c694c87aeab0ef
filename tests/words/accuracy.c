/* accuracy.c: largest error of each scalar function, in units in the last place of the exact result, against the bound
 * that its row of tables/scalars.h states.
 *
 *     accuracy            a seeded sample against MPFR: every binade, both signs, the neighbours of hard places
 *     accuracy --long [NAME [STEP]]   every float (pow: 2^32 seeded pairs), or every STEP-th, against libm in double,
 *                                     and MPFR
 *                         where that shows more than three quarters of the bound
 *
 * A result that overflows counts from the largest float's next; where it underflows, the unit is the smallest
 * denormal. */
#include "definitions/words.h"
#include "definitions/rows.h"
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

static int exact_gelu(mpfr_t y, const mpfr_t x, mpfr_rnd_t round) /* x/2 * erfc(-x / sqrt 2) */
{
	mpfr_t t;
	if (mpfr_inf_p(x) && mpfr_signbit(x)) { /* the limit, where the formula has inf * 0 */
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
static double double_gelu(double x) { return x < -40 ? -0. : x * 0.5 * erfc(x * -0.70710678118654752440); }

/* e^x - 1 times b below 0, x above; b and gamma are exactly these floats */
static int exact_elu(mpfr_t y, const mpfr_t x, mpfr_rnd_t round)
{
	return mpfr_sgn(x) < 0 ? mpfr_expm1(y, x, round) : mpfr_set(y, x, round);
}
static const float celu_b = 1.7f, selu_b = 1.67326319217681884765625f, selu_c = 1.05070102214813232421875f,
                   swish_b = -1.7f;
static int exact_celu(mpfr_t y, const mpfr_t x, mpfr_rnd_t round)
{
	if (!(mpfr_sgn(x) < 0))
		return mpfr_set(y, x, round);
	mpfr_div_d(y, x, (double)celu_b, round);
	mpfr_expm1(y, y, round);
	return mpfr_mul_d(y, y, (double)celu_b, round);
}
static int exact_selu(mpfr_t y, const mpfr_t x, mpfr_rnd_t round)
{
	exact_elu(y, x, round);
	if (mpfr_sgn(x) < 0)
		mpfr_mul_d(y, y, (double)selu_b, round);
	return mpfr_mul_d(y, y, (double)selu_c, round);
}
static int exact_swish_of(mpfr_t y, const mpfr_t x, double b, mpfr_rnd_t round)
{
	mpfr_t t;
	mpfr_init2(t, mpfr_get_prec(y));
	mpfr_mul_d(t, x, -b, round);
	mpfr_exp(t, t, round);
	mpfr_add_ui(t, t, 1, round);
	if (mpfr_inf_p(x) && mpfr_inf_p(t))
		mpfr_set_zero(y, mpfr_signbit(x) ? -1 : 1); /* the limit */
	else
		mpfr_div(y, x, t, round);
	mpfr_clear(t);
	return 0;
}
static int exact_swish(mpfr_t y, const mpfr_t x, mpfr_rnd_t round) { return exact_swish_of(y, x, 1, round); }
static int exact_swish_b(mpfr_t y, const mpfr_t x, mpfr_rnd_t round)
{
	return exact_swish_of(y, x, (double)swish_b, round);
}
static int exact_softplus(mpfr_t y, const mpfr_t x, mpfr_rnd_t round)
{
	mpfr_exp(y, x, round);
	return mpfr_inf_p(y) ? mpfr_set(y, x, round) : mpfr_log1p(y, y, round);
}
static int exact_mish(mpfr_t y, const mpfr_t x, mpfr_rnd_t round)
{
	if (mpfr_inf_p(x) && mpfr_signbit(x)) {
		mpfr_set_zero(y, -1);
		return 0;
	}
	exact_softplus(y, x, round);
	mpfr_tanh(y, y, round);
	return mpfr_mul(y, y, x, round);
}
static int exact_softsign(mpfr_t y, const mpfr_t x, mpfr_rnd_t round)
{
	mpfr_abs(y, x, round);
	mpfr_add_ui(y, y, 1, round);
	return mpfr_div(y, x, y, round);
}
static int exact_hard_swish(mpfr_t y, const mpfr_t x, mpfr_rnd_t round)
{
	mpfr_add_ui(y, x, 3, round);
	if (mpfr_cmp_ui(y, 6) > 0)
		return mpfr_set(y, x, round);
	if (mpfr_sgn(y) < 0)
		mpfr_set_zero(y, 1);
	mpfr_mul(y, y, x, round);
	return mpfr_div_ui(y, y, 6, round);
}

static float row_of(enum scalar opcode, float a, float b, float c)
{
	float y;
	rows_float[opcode](1, &a, &b, &c, &y);
	return y;
}
static float row_elu(float x) { return row_of(SCALAR_elu, x, 1, 0); }
static float row_celu(float x) { return row_of(SCALAR_celu, x, celu_b, 0); }
static float row_selu(float x) { return row_of(SCALAR_selu, x, selu_b, selu_c); }
static float row_softsign(float x) { return row_of(SCALAR_softsign, x, 0, 0); }
static float row_swish(float x) { return k_swish(x, 1); }
static float row_swish_b(float x) { return k_swish(x, swish_b); }
static double double_elu(double x) { return x < 0 ? expm1(x) : x; }
static double double_celu(double x) { return x < 0 ? (double)celu_b * expm1(x / (double)celu_b) : x; }
static double double_selu(double x) { return (double)selu_c * (x < 0 ? (double)selu_b * expm1(x) : x); }
static double double_softsign(double x) { return x / (1 + fabs(x)); }
static double double_swish(double x) { return isinf(x) && x < 0 ? -0. : x / (1 + exp(-x)); }
static double double_swish_b(double x) { return isinf(x) && x > 0 ? 0. : x / (1 + exp(-x * (double)swish_b)); }
static double double_softplus(double x) { return x > 40 ? x : log1p(exp(x)); }
static double double_mish(double x) { return isinf(x) && x < 0 ? -0. : x * tanh(double_softplus(x)); }
static double double_hard_swish(double x) { return x > 3 ? x : x * (x < -3 ? 0 : x + 3) / 6; }

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
	{ "tan", k_tan, tan, mpfr_tan },
	{ "asin", k_asin, asin, mpfr_asin },
	{ "acos", k_acos, acos, mpfr_acos },
	{ "atan", k_atan, atan, mpfr_atan },
	{ "sinh", k_sinh, sinh, mpfr_sinh },
	{ "cosh", k_cosh, cosh, mpfr_cosh },
	{ "asinh", k_asinh, asinh, mpfr_asinh },
	{ "acosh", k_acosh, acosh, mpfr_acosh },
	{ "atanh", k_atanh, atanh, mpfr_atanh },
	{ "expm1", k_expm1, expm1, mpfr_expm1 },
	{ "log1p", k_log1p, log1p, mpfr_log1p },
	{ "softplus", k_softplus, double_softplus, exact_softplus },
	{ "mish", k_mish, double_mish, exact_mish },
	{ "swish", row_swish, double_swish, exact_swish },
	{ "swish", row_swish_b, double_swish_b, exact_swish_b },
	{ "hard_swish", k_hard_swish, double_hard_swish, exact_hard_swish },
	{ "softsign", row_softsign, double_softsign, exact_softsign },
	{ "elu", row_elu, double_elu, exact_elu },
	{ "celu", row_celu, double_celu, exact_celu },
	{ "selu", row_selu, double_selu, exact_selu },
};

static double bound_of(const char *name)
{
#define S(row, arity, floats, ints, cost, error, ...) \
	if (!strcmp(name, #row)) \
		return atof(error);
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

static uint64_t next(uint64_t *state) /* splitmix64 */
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double unit_at(int exponent) /* of 2^(exponent-1) <= |want| < 2^exponent */
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
	if (isinf(got)) /* where the float nearest to the exact value is infinite */
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
	error = fabs(mpfr_get_d(difference, MPFR_RNDN))
	        / unit_at((int)(mpfr_get_exp(want) < -1000 ? -1000 : mpfr_get_exp(want)));
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

struct worst {
	double error;
	float x, y;
	uint64_t tried;
};

static void worse(struct worst *worst, double error, float x, float y)
{
	worst->tried++;
	if (error > worst->error)
		worst->error = error, worst->x = x, worst->y = y;
}

static int report(const char *name, const struct worst *worst)
{
	double bound = bound_of(name);
	printf("%-10s largest %.3f ulp at %.9g, %.9g (%a, %a), %llu values, bound %g: %s\n", name, worst->error,
	        (double)worst->x, (double)worst->y, (double)worst->x, (double)worst->y,
	        (unsigned long long)worst->tried, bound, worst->error <= bound ? "ok" : "TOO LARGE");
	return worst->error > bound;
}

static int sample(const struct function *f)
{
	static const float places[] = { 0, 0x1p-126f, 0.625f, 0.92f, 1, 0x1.62e43p-1f, 0x1.921fb6p-1f, 0x1.921fb6p+0f,
		0x1.921fb6p+1f, 0x1.921fb6p+2f, 15, 4, 87, 88.7228394f, 104, 103.97f, 65536, 8388608, 16777216,
		0x1.fffffep127f, INFINITY, NAN, 0x1.3b9b3cp+4f, 0x1.ddebdep+83f, 44282.3203f,
		1.91523683f }; /* tan, swish: where a quotient that was rounded twice was beyond 2.5 */
	struct worst worst = { 0 };
	uint64_t state = 5;
	int below = !strcmp(f->name, "exp_below");
	for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
		for (int sign = 0; sign < 2; sign++)
			for (int step = -150; step <= 150; step++) {
				uint32_t bits;
				float x = places[i];
				memcpy(&bits, &x, sizeof bits);
				x = float_of(((bits + (uint32_t)step) & 0x7fffffffu) | (uint32_t)sign << 31);
				if (!below || x <= 0)
					worse(&worst, error_exact(f, x), x, 0);
			}
	for (long i = 0; i < 50000; i++) {
		uint64_t r = next(&state);
		float x = i % 2 ? float_of((uint32_t)r) /* any exponent, or one where the function moves */
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
	static const float places[] = { 0, 0x1p-149f, 0x1p-126f, 0x1.fffffep-1f, 1, 0x1.000002p0f, 2, 3, 4, 0.5f, 1.5f,
		2.5f, 1e-3f, 100, 8388607, 8388608, 8388609, 16777215, 16777216, 33554432, 3e9f, 0x1.fffffep127f,
		INFINITY, NAN, 0.33333334f, 149, 150, 127, 128 };
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
		float x = i & 7 ? float_of((uint32_t)r & 0x7fffffffu)
		                : float_of((uint32_t)(0x3f000000u + r % 0x1000000u)),
		      y;
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

/* k_fmod is exact, as C's fmodf: any two floats, and pairs near each other. */
static int remainders(void)
{
	uint64_t state = 11;
	for (long i = 0; i < 400000; i++) {
		uint64_t r = next(&state);
		float a = float_of((uint32_t)r),
		      b = float_of(i % 2 ? (uint32_t)(r >> 32) : ((uint32_t)r ^ (uint32_t)(r >> 32 & 0x83ffffff)));
		float got = k_fmod(a, b), want = fmodf(a, b);
		if (got != want ? got == got || want == want : got == 0 && !signbit(got) != !signbit(want)) {
			printf("fmod of %a, %a is %a, %a is right\n", (double)a, (double)b, (double)got, (double)want);
			return 1;
		}
	}
	printf("fmod       exact\n");
	return 0;
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
	bad |= remainders();
	mpfr_clears(exact_x, exact_y, exact_z, (mpfr_ptr)0);
	mpfr_free_cache();
	return bad;
}
