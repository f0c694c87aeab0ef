/* rows_double.c: the rows of scalars.h over doubles with libm's functions: a polynomial never judges itself. */
#include "definitions/rows.h"
#include <math.h>

static double k_fma(double a, double b, double c) { return fma(a, b, c); }
static double k_div(double a, double b) { return a / b; }
static double k_neg(double a) { return -a; }
static double k_abs(double a) { return fabs(a); }
static double k_max(double a, double b) { return a > b ? a : b; }
static double k_min(double a, double b) { return a < b ? a : b; }
static double k_sqrt(double a) { return sqrt(a); }
static double k_relu(double a) { return a < 0 ? 0 : a; }
static double k_exp(double a) { return exp(a); }
static double k_exp_below(double a) { return exp(a); }
static double k_log(double a) { return log(a); }
static double k_sigmoid(double a) { return a < 0 ? exp(a) / (1 + exp(a)) : 1 / (1 + exp(-a)); }
static double k_tanh(double a) { return tanh(a); }
static double k_erf(double a) { return erf(a); }
static double k_gelu(double a) { return 0.5 * a * erfc(-a * 0.70710678118654752440); }
static double k_sin(double a) { return sin(a); }
static double k_cos(double a) { return cos(a); }
static double k_pow(double a, double b) { return pow(a, b); }
static double k_expm1(double a) { return expm1(a); }
static double k_log1p(double a) { return log1p(a); }
static double k_tan(double a) { return tan(a); }
static double k_asin(double a) { return asin(a); }
static double k_acos(double a) { return acos(a); }
static double k_atan(double a) { return atan(a); }
static double k_sinh(double a) { return sinh(a); }
static double k_cosh(double a) { return cosh(a); }
static double k_asinh(double a) { return asinh(a); }
static double k_acosh(double a) { return acosh(a); }
static double k_atanh(double a) { return atanh(a); }
static double k_floor(double a) { return floor(a); }
static double k_ceil(double a) { return ceil(a); }
static double k_round(double a) { return nearbyint(a); }
static double k_softplus(double a) { return (a < 0 ? 0 : a) + log1p(exp(-fabs(a))); }
static double k_mish(double a) { return a * tanh(log1p(exp(a))); }
static double k_swish(double a, double b) { return a / (1 + exp(-(a * b))); }
static double k_hard_swish(double a) { return a * ((a < -3 ? 0 : a > 3 ? 6 : a + 3) / 6); }
static double k_mul(double a, double b) { return a * b; }
static double k_fmod(double a, double b) { return fmod(a, b); }
static double k_mod(double a, double b)
{
	double r = fmod(a, b);
	return r == 0 ? (b < 0 ? -0. : 0.) : (r < 0) != (b < 0) && r == r ? r + b : r;
}
static double k_zero(double a) { return (void)a, 0; }
static double k_one(double a) { return (void)a, 1; }
static int k_less(double a, double b) { return a < b; }
static int k_equal(double a, double b) { return a == b; }
static double k_select(int which, double a, double b) { return which ? a : b; }

#define NUMBER double
#define ROW row_double
#define TABLE rows_double
#include "definitions/rows_each.h"

/* A product of two floats is exact in double: nothing is gained by a fused step, which is slow where there is no
 * instruction. */
void fma_double(int n, const double *a, int a_step, const double *b, int b_step, double *acc)
{
	for (int i = 0; i < n; i++)
		acc[i] += a[i * a_step] * b[i * b_step];
}
