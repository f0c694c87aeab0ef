/* clang-format off */
/* narrow.h: floats below 32 bits: sign, exponent, mantissa, from the top.
 *
 *     N(type, exponent, mantissa, bias, top, over, nan, one zero)
 *
 * top: the code of the largest finite number.  over: what lies beyond it becomes, where nothing saturates; without an infinity it is NaN, or the
 * top again.  nan: the code of NaN, of either sign; where there is none, of what NaN becomes.  one zero: there is no -0.
 * F8E8M0, an exponent alone, has words of its own.  No include guard. */
N(F16,        5, 10,  15, 0x7bff, 0x7c00, 0x7e00, 0)
N(BF16,       8,  7, 127, 0x7f7f, 0x7f80, 0x7fc0, 0)
N(F8E4M3FN,   4,  3,   7, 0x7e,   0x7f,   0x7f,   0)
N(F8E4M3FNUZ, 4,  3,   8, 0x7f,   0x80,   0x80,   1)
N(F8E5M2,     5,  2,  15, 0x7b,   0x7c,   0x7f,   0)
N(F8E5M2FNUZ, 5,  2,  16, 0x7f,   0x80,   0x80,   1)
N(F4E2M1,     2,  1,   1, 0x7,    0x7,    0x8,    0)
N(F6E2M3,     2,  3,   1, 0x1f,   0x1f,   0x20,   0)
N(F6E3M2,     3,  2,   3, 0x1f,   0x1f,   0x20,   0)
