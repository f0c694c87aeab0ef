#!/usr/bin/env python3
"""windows.py JIT_BENCH INGOT: drawn windows over images whose channels or columns are neighbours (depthwise convolutions, pooling), and convolutions of few terms, whose terms are a list: the
interpreter's bits by the menu of each class of this CPU, and the menu's entry is called.  77 without libtcc."""
import random
import sys
import tempfile

import layers

COUNT = 70


def attributes(draw, kernel, height, width):
    pads = [draw.choice((0, 1, 1, 1, 2)) if kernel[i % 2] > 2 else 0 for i in range(4)]
    strides = [draw.choice((1, 1, 2))] * 2 if draw.random() < 0.7 else [draw.choice((1, 2, 3)) for _ in range(2)]
    dilations = [draw.choice((1, 1, 1, 1, 2)) if size > 4 * kernel[i] else 1 for i, size in enumerate((height, width))]
    return "kernel_shape=%s, pads=%s, strides=%s, dilations=%s" % (list(kernel), pads, strides, dilations)


def window(draw):
    """A window between two 1x1 convolutions: channels are neighbours there."""
    channels, height, width = draw.choice((16, 32, 64, 8, 24, 20, 48)), draw.randrange(3, 34), draw.randrange(3, 34)
    kernel = draw.choice(((3, 3), (3, 3), (3, 3), (3, 1), (2, 2), (5, 5)))
    if min(height, width) < kernel[0]:
        height = width = 9
    how = attributes(draw, kernel, height, width)
    first = "t = Conv (x, v)\n"
    kind = draw.choice(("depthwise", "depthwise", "relu", "bias", "max", "max"))
    step = {"depthwise": "s = Conv<%s, group=%d> (t, w)" % (how, channels), "bias": "s = Conv<%s, group=%d> (t, w, b)" % (how, channels),
            "relu": "u = Conv<%s, group=%d> (t, w, b)\ns = Relu (u)" % (how, channels), "max": "s = MaxPool<%s> (t)" % how}[kind]
    inputs = "float[1,4,%d,%d] x" % (height, width)
    numbers = [("v", (channels, 4, 1, 1)), ("w", (channels, 1) + kernel), ("b", (channels,)), ("z", (4, channels, 1, 1))]
    return inputs, numbers, first + step + "\ny = Conv (s, z)"


def plane(draw):
    """A window over what comes as it stands in the file: columns are neighbours."""
    channels, height, width = draw.randrange(2, 9), draw.randrange(3, 34), draw.randrange(3, 40)
    kernel = draw.choice(((3, 3), (3, 3), (1, 3), (3, 2), (5, 5)))
    if min(height, width) < max(kernel):
        height = width = 9
    if draw.random() < 0.3:                               # few rows, of many vectors
        height, width, kernel = draw.randrange(1, 4), draw.randrange(60, 300), (1, draw.randrange(2, 16))
    how, each = attributes(draw, kernel, height, width), draw.choice((1, 1, 2, 3))
    inputs = "float[1,%d,%d,%d] x" % (channels, height, width)
    numbers = [("w", (channels * each, 1) + kernel), ("b", (channels * each,))]
    step = draw.choice(("maximum", "y = Conv<%s, group=%d> (x, w, b)", "t = Conv<%s, group=%d> (x, w, b)\ny = Relu (t)", "t = Conv<%s, group=%d> (x, w)\ny = Add (t, t)", "pool", "squares"))
    if step == "pool":
        return inputs, numbers, "y = AveragePool<%s, count_include_pad=%d> (x)" % (how.split(", dilations")[0], draw.randrange(2))
    if step == "squares":
        return inputs, numbers, "y = LpPool<%s> (x)" % how.split(", dilations")[0]
    if step == "maximum":
        return inputs, numbers, "y = MaxPool<%s> (x)" % how
    return inputs, numbers, step % (how, channels)


def image(draw):
    """A window over three axes."""
    channels, size, size_of = draw.randrange(2, 5), [draw.randrange(4, 9), draw.randrange(4, 20), draw.randrange(4, 40)], draw.choice(((3, 3, 3), (2, 2, 2), (3, 1, 2), (1, 3, 3)))
    how = "kernel_shape=%s, pads=%s, strides=%s" % (list(size_of), [draw.randrange(2) if size_of[i % 3] > 2 else 0 for i in range(6)], [draw.choice((1, 2)) for _ in range(3)])
    step = draw.choice(("y = MaxPool<%s> (x)", "y = AveragePool<%s> (x)", "y = Conv<%%s, group=%d> (x, w, b)" % channels))
    return "float[1,%d,%d,%d,%d] x" % (channels, *size), [("w", (channels, 1) + size_of), ("b", (channels,))], step % how


def blocks(draw):
    """A depthwise window of many taps over one axis or three, whose channels are put side by side first: one call for each image of them."""
    axes, channels = draw.choice((1, 3)), draw.choice((16, 32, 48))
    size = [draw.randrange(60, 300)] if axes == 1 else [draw.randrange(6, 14) for _ in range(3)]
    taps = (draw.randrange(20, 32),) if axes == 1 else (5, 5, 5)
    how = "kernel_shape=%s, pads=%s" % (list(taps), [t // 2 for t in taps] * 2)
    inputs = "float[1,%d,%s] x" % (channels, ",".join(map(str, size)))
    return inputs, [("w", (channels, 1) + taps), ("b", (channels,))], "y = Conv<%s, group=%d> (x, w, b)" % (how, channels)


def pools(draw):
    """Windows that share no column, and short rows: terms whose lanes lie apart are gathered by the chain that adds them."""
    channels, size, by = draw.randrange(2, 40), draw.randrange(1, 24), draw.choice((2, 2, 3, 5, 7))
    if draw.random() < 0.3:
        return "float[%d,%d] x" % (draw.randrange(30, 400), draw.choice((8, 16, 17))), [], "y = LogSoftmax<axis=1> (x)"
    op = draw.choice(("MaxPool", "AveragePool", "LpPool"))
    return "float[1,%d,%d,%d] x" % (channels, by * size, by * draw.randrange(1, 24)), [], "y = %s<kernel_shape=[%d,%d], strides=[%d,%d]> (x)" % (op, by, by, by, by)


def few(draw):
    """A convolution of one channel or few."""
    channels, height, width = draw.choice((1, 1, 2, 3)), draw.randrange(6, 30), draw.randrange(6, 30)
    kernel = draw.choice(((5, 5), (3, 3), (4, 2), (2, 5), (3, 1)))
    how = attributes(draw, kernel, height, width)
    inputs = "float[1,%d,%d,%d] x" % (channels, height, width)
    numbers = [("w", (draw.choice((8, 16, 40, 64)), channels) + kernel)]
    end = draw.choice(("y = Relu (t)", "y = Neg (t)", "y = Mul (t, t)"))
    return inputs, numbers, "t = Conv<%s> (x, w)\n%s" % (how, end)


def written(folder, number, case, draw):
    inputs, numbers, body = case
    lists = []
    for name, shape in numbers:
        count = 1
        for extent in shape:
            count *= extent
        lists.append("float%s %s = {%s}" % (list(shape), name, ", ".join("%.3f" % draw.uniform(-1, 1) for _ in range(count))))
    dims = inputs.count(",") + 1
    return layers.written(folder, number, inputs, "float[%s] y" % ",".join("?" * dims), ", ".join(lists), body)


def main():
    bench, ingot = sys.argv[1:3]
    draw = random.Random(12)
    cases = [window(draw) for _ in range(COUNT)] + [few(draw) for _ in range(COUNT // 2)] + [plane(draw) for _ in range(COUNT // 2)] + [image(draw) for _ in range(COUNT // 5)]
    deep, apart = len(cases), len(cases) + 6
    cases += [blocks(draw) for _ in range(6)] + [pools(draw) for _ in range(24)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [written(folder, i, case, draw) for i, case in enumerate(cases)]
        layers.same_bits(bench, paths)
        glue = [layers.glue(ingot, path) for path in paths]
        windows, lists, planes = (sum(word in text for text in glue) for word in ("m_window_", "_list[]", "m_plane_"))
        print("%d layers, same bits; by the menu's windows %d, by lists %d, by planes %d" % (len(paths), windows, lists, planes))
        called, gathered = sum("m_window_fma(" in text for text in glue[deep:apart]), sum("_2(" in text or "_k(" in text for text in glue[apart:])
        print("of many taps %d of %d by the menu's windows; %d chains of lanes that lie apart" % (called, apart - deep, gathered))
        return windows < COUNT // 2 or lists < 5 or planes < 25 or called < apart - deep or gathered < 12


if __name__ == "__main__":
    sys.exit(main())
