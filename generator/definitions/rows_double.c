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
