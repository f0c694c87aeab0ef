#!/usr/bin/env python3
"""cast.py JIT_BENCH INGOT: layers of many sizes whose kernels the menu has: the interpreter's bits, and the menu's entry is called.  77 without libtcc."""
import random
import sys
import tempfile

import layers

LAYERS = {
    "softmax": ("float[N,C] x", "float[N,C] y", "", "y = Softmax(x)"),
    "log_softmax": ("float[N,C] x", "float[N,C] y", "", "y = LogSoftmax(x)"),
    "layer_norm": ("float[N,C] x, float[C] s, float[C] b", "float[N,C] y", "", "y = LayerNormalization<epsilon=0.001>(x, s, b)"),
    "scores": ("float[N,C] x, float[1] s", "float[N,C] y", "", "t = Mul(x, s)\n y = Softmax(t)"),
    "running": ("float[N,C] x", "float[N,C] y", "int64 axis = {1}", "y = CumSum(x, axis)"),
    "back": ("float[N,C] x", "float[N,C] y", "int64 axis = {1}", "y = CumSum<reverse = 1>(x, axis)"),
    "pool": ("float[1,8,N,N] x, float[C,8,1,1] w", "float[1,C,1,1] y", "", "z = Conv(x, w)\n y = GlobalAveragePool(z)"),
}
# What the menu promises (templates/onnx/menu).
PROMISED = [("softmax", n, c) for n in (8, 128, 7, 197) for c in (128, 144, 256, 768, 1024)]
PROMISED += [("softmax", n, c) for n in (8, 512, 49) for c in (64, 96)] + [("softmax", 50, 256), ("softmax", 1, 256)]
PROMISED += [("layer_norm", n, c) for n in (8, 128, 7, 49) for c in (64, 96, 128, 192, 384, 768)] + [("layer_norm", 1, 512)]
PROMISED += [("pool", 7, c) for c in (64, 128, 1024, 2048)]

PROMISED += [("running", n, c) for n in (16, 64, 256, 1000, 100, 8, 1) for c in (1024, 2048)] + [("running", 64, 1004)] + [("back", 256, 1024)]


def written(folder, layer, n, c):
    return layers.written(folder, "%s_%d_%d" % (layer, n, c), *(layers.sized(part, N=n, C=c) for part in LAYERS[layer][:2]), *LAYERS[layer][2:])


def main():
    bench, ingot = sys.argv[1:3]
    draw = random.Random(11)
    some = [(layer, draw.choice((1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 33)), draw.randrange(1, 300)) for layer in LAYERS if layer != "pool" for _ in range(12)]
    some += [("softmax", n, 1000) for n in (1, 8, 197)]
    some += [("pool", 56, 64), ("pool", 40, 24)]
    some += [("pool", draw.randrange(2, 12), draw.choice((16, 40, 64, 80, 128, 256))) for _ in range(8)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [written(folder, *case) for case in PROMISED + some]
        layers.same_bits(bench, paths, (None,))
        missing = ["%s %d %d: no entry of the menu" % case for case, path in zip(PROMISED, paths) if "m_cast_" not in layers.glue(ingot, path)]
        print("\n".join(missing) or "%d layers, same bits; %d by the menu" % (len(paths), len(PROMISED)))
        return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
