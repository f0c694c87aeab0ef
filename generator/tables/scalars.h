/* scalars.h: each scalar function once.
 *
 *     S(name, arity, floats, ints, cost, error, C expression over a, b, c)
 *
 * The row is the enum, the evaluator of the interpreter (compiled for float with our k_ words, for double with libm's,
 * for int64_t), and the text printed into kernels.  Text may use + - * / and the words that every prelude defines for
 * its `vec` (which is a float where there are no vectors); never ?: or < of C, which vectors lack:
 *
 *     k_max(a, b)  a > b ? a : b        k_min(a, b)  a < b ? a : b        k_fma(a, b, c)  rounded once
 *     k_select(k_less(a, b), c, d)      k_less, k_equal are false on NaN  k_abs, k_sqrt, k_floor …
 *
 * `floats`, `ints`: 1 where the row has a meaning there.  cost: about how many vector instructions.
 * error: the bound in ulp against the exact result, "0.5" where correctly rounded.  No include guard. */
S(add,      2, 1, 1,  1, "0.5", a + b)
S(sub,      2, 1, 1,  1, "0.5", a - b)
S(mul,      2, 1, 1,  1, "0.5", a * b)
S(div,      2, 1, 1,  4, "0.5", k_div(a, b))
S(fma,      3, 1, 0,  1, "0.5", k_fma(a, b, c))
S(neg,      1, 1, 1,  1, "0",   k_neg(a))
S(abs,      1, 1, 1,  1, "0",   k_abs(a))
S(max,      2, 1, 1,  1, "0",   k_max(a, b))
S(min,      2, 1, 1,  1, "0",   k_min(a, b))
S(sqrt,     1, 1, 0,  6, "0.5", k_sqrt(a))
S(relu,     1, 1, 1,  1, "0",   k_relu(a))
S(exp,      1, 1, 0, 14, "2.5", k_exp(a))
S(exp_below, 1, 1, 0, 12, "2.5", k_exp_below(a))
S(log,      1, 1, 0, 22, "2.5", k_log(a))
S(sigmoid,  1, 1, 0, 20, "2.5", k_sigmoid(a))
S(tanh,     1, 1, 0, 30, "2.5", k_tanh(a))
S(erf,      1, 1, 0, 34, "2.5", k_erf(a))
S(gelu,     1, 1, 0, 32, "8",   k_gelu(a))
S(sin,      1, 1, 0, 24, "2.5", k_sin(a))
S(cos,      1, 1, 0, 24, "2.5", k_cos(a))
S(pow,      2, 1, 1, 80, "2.5", k_pow(a, b))
S(less,     2, 1, 1,  1, "0",   k_select(k_less(a, b), k_one(a), k_zero(a)))
S(equal,    2, 1, 1,  1, "0",   k_select(k_equal(a, b), k_one(a), k_zero(a)))
S(mod,      2, 0, 1,  8, "0",   k_mod(a, b))
S(and,      2, 0, 1,  1, "0",   k_and(a, b))
S(or,       2, 0, 1,  1, "0",   k_or(a, b))
S(xor,      2, 0, 1,  1, "0",   k_xor(a, b))
S(shl,      2, 0, 1,  1, "0",   k_shl(a, b))
S(shr,      2, 0, 1,  1, "0",   k_shr(a, b))
S(where,    3, 1, 1,  2, "0",   k_select(k_equal(a, k_zero(a)), c, b))
