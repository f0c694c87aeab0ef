#!/usr/bin/env python3
"""integers.py JIT_BENCH INGOT: drawn products and convolutions of bytes, whose sums may be larger than floats have integers: the interpreter's bits by the menu of each
class of this CPU, and no sum is left to libtcc.  77 without libtcc."""
import random
import sys
import tempfile

import layers

COUNT = 24
RANGES = {"uint8": (0, 255), "int8": (-128, 127), "int32": (-5000, 5000)}


def numbers(draw, type, dims, name, low=None, high=None):
    count = 1
    for extent in dims:
        count *= extent
    least, most = RANGES[type] if low is None else (low, high)
    ends = draw.random() < 0.2
    values = [draw.choice((least, most)) if ends else draw.randint(least, most) for _ in range(count)]
    shape = "[%s]" % ",".join(map(str, dims)) if dims else ""
    return "%s%s %s = {%s}" % (type, shape, name, ", ".join(map(str, values)))


def convolution(draw):
    """QLinearConv: borders of a zero point, weights of one scale or of one for each channel, groups, depthwise."""
    x, w, y = draw.choice(("uint8", "int8")), draw.choice(("uint8", "int8", "int8")), draw.choice(("uint8", "int8"))
    groups = draw.choice((1, 1, 1, 2, 0))
    channels = draw.choice((8, 64, 96, 256)) if groups == 1 else draw.choice((8, 16, 24))
    outs = draw.choice((3, 8, 16)) if groups else channels
    groups = groups or channels
    outs = (outs + groups - 1) // groups * groups
    kernel, size = draw.choice((1, 3, 3)), draw.randint(3, 9)
    each = draw.random() < 0.4 and w == "int8"
    constants = ["float xs = {0.02}", "float ys = {%s}" % draw.choice((0.5, 3.0)), numbers(draw, x, (), "xz"), numbers(draw, y, (), "yz"),
                 numbers(draw, w, (outs, channels // groups, kernel, kernel), "w"), numbers(draw, "int32", (outs,), "b")]
    if each:
        constants += ["float[%d] ws = {%s}" % (outs, ", ".join("%.3f" % draw.uniform(0.01, 0.05) for _ in range(outs))), numbers(draw, w, (outs,), "wz", 0, 0)]
    else:
        constants += ["float ws = {0.01}", numbers(draw, w, (), "wz")]
    pads, stride = [draw.choice((0, 1)) if kernel > 1 else 0 for _ in range(4)], draw.choice((1, 1, 2))
    bias = ", b" if draw.random() < 0.7 else ""
    return ("%s[1,%d,%d,%d] x" % (x, channels, size, size), "%s[1,%d,?,?] y" % (y, outs), constants,
            "y = QLinearConv<kernel_shape=[%d,%d], pads=%s, strides=[%d,%d], group=%d> (x, xs, xz, w, ws, wz, ys, yz%s)"
            % (kernel, kernel, pads, stride, stride, groups, bias))


def product(draw):
    """MatMulInteger of up to 6000 terms."""
    x, w = draw.choice(("uint8", "int8")), draw.choice(("uint8", "int8"))
    rows, terms, columns = draw.randint(1, 7), draw.choice((40, 300, 517, 600, 2999, 6000)), draw.choice((1, 5, 16, 20))
    constants = [numbers(draw, x, (), "xz"), numbers(draw, w, (), "wz")]
    inputs = "%s[%d,%d] x" % (x, rows, terms)
    if draw.random() < 0.6:
        constants.append(numbers(draw, w, (terms, columns), "w"))
    else:
        inputs += ", %s[%d,%d] w" % (w, terms, columns)
    return inputs, "int32[%d,%d] y" % (rows, columns), constants, "y = MatMulInteger (x, w, xz, wz)"


def words(draw):
    """MatMul of int32, whose sums wrap, of blocks of rows and columns of every size; the result as it is or its columns apart."""
    rows, terms, columns, batch = draw.randint(1, 30), draw.choice((1, 3, 40, 517)), draw.choice((1, 5, 16, 31, 70, 200)), draw.choice((0, 3))
    before = "%d," % batch if batch else ""
    high = numbers(draw, "int32", (terms,), "h", -2 ** 31, 2 ** 31 - 1)
    apart = draw.random() < 0.5
    made = "%d,%d" % ((columns, rows) if apart else (rows, columns))
    turn = "y = Transpose<perm=%s>(t)" % ("[0,2,1]" if batch else "[1,0]") if apart else "y = Neg(t)"
    return ("int32[%s%d,%d] x, int32[%s%d,%d] w" % (before, rows, terms, draw.choice(("", before)), terms, columns), "int32[%s%s] y" % (before, made), [high],
            "a = Mul(x, h)\nt = MatMul(a, w)\n%s" % turn)


def quantised(draw):
    """An image of three bytes a place, quantised behind its sums, as a network says it."""
    return ("int8[1,9,20,3] x", "int8[1,?,?,32] y",
            ["float xs = {0.02}", "float ys = {0.7}", "float ws = {0.01}", "float bs = {0.0002}", numbers(draw, "int8", (), "xz"), numbers(draw, "int8", (), "yz"),
             "int8 wz = {0}", "int32 bz = {0}", numbers(draw, "int8", (32, 3, 3, 3), "w"), numbers(draw, "int32", (32,), "b")],
            "xf = DequantizeLinear(x, xs, xz)\nxt = Transpose<perm=[0,3,1,2]>(xf)\nwf = DequantizeLinear(w, ws, wz)\nbf = DequantizeLinear(b, bs, bz)\n"
            "c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(xt, wf, bf)\nt = Transpose<perm=[0,2,3,1]>(c)\ny = QuantizeLinear(t, ys, yz)")


def steps(glue):
    """What is made of bytes, of sums and behind them is no row of steps."""
    return [] if "m_tile_dot8" not in glue else ["quantised: %s" % what for what, holds in (
        ("four bytes are no word", "m_words(" in glue),
        ("sums are stored before they are quantised", any("m_tile_dot8" in part and "m_quantise_i32_" in part for part in glue.split("\nvoid "))),
        ("rounded by a call of its own", "m_round_v(" not in glue)) if not holds]


def main():
    bench, ingot = sys.argv[1:3]
    draw = random.Random(14)
    cases = [convolution(draw) for _ in range(COUNT)] + [product(draw) for _ in range(COUNT // 2)] + [words(draw) for _ in range(COUNT // 2)] + [quantised(draw)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [layers.written(folder, i, inputs, output, ", ".join(constants), body) for i, (inputs, output, constants, body) in enumerate(cases)]
        layers.same_bits(bench, paths)
        left = ["%s %s: a sum in scalars" % (case[0], case[3]) for path, case in zip(paths, cases)
                if "i_mul(" in layers.glue(ingot, path).partition("/* k0_")[2]]
        left += steps(layers.glue(ingot, paths[-1]))
        print("\n".join(left) or "%d layers, same bits" % len(paths))
        return bool(left)


if __name__ == "__main__":
    sys.exit(main())
