#!/usr/bin/env python3
"""Tiles of a convolution leave out taps that lie in the pads for all of their rows, and depthwise sums along channels rows of taps: only where 0 times their
weights is known.

    taps.py INGOT

A dilated 3x3 convolution whose sums underflow to -0, from data and weights of 1e-30: 0 * w makes +0 of them where a weight has no sign, and leaves them where all
have one.  A weight that is infinite makes NaN of 0, an image smaller than the pads is all border.  The bits of two targets by turns, with INGOT_LONG=1 of each, are the interpreter's; whether taps are left
out is what `ingot show --stage kernels` says.  Ends with 77 where NumPy is not there."""
import os, subprocess, sys, tempfile

import sweep                              # ends with 77 where NumPy is not there
import numpy
from here import by_turns
from same import same

LEFT_OUT = "taps that lie in the pads", "for first <= r < ", " += 1) {"      # of which the last is the loop of a tile's other rows
SHAPE, DEPTHWISE = [24, 20, 3, 3], [16, 1, 13, 11]


def weights(kind, shape):
    w = numpy.random.default_rng(3).uniform(-2e-30, 2e-30, shape).astype("f4")
    if kind == "one column's sign":
        w[5, :, 0, slice(shape[1] == 1 and shape[3] or 1)] = -abs(w[5, :, 0, slice(shape[1] == 1 and shape[3] or 1)])
    elif kind == "infinite":
        w[7, -1, 2, 1] = numpy.inf
    elif kind == "NaN":
        w[0, 0, 0, 0] = numpy.nan
    return w


def check(program, name, kind, dims, attributes, left_out, folder):
    shape = DEPTHWISE if "group" in attributes else SHAPE
    model, paths = os.path.join(folder, "g.onnxtxt"), {"y": os.path.join(folder, "y.npy")}
    bias = numpy.where(numpy.arange(shape[0]) % 2, numpy.float32(-0.0), numpy.float32(0)).astype("f4")
    weights(kind, shape).tofile(os.path.join(folder, "w.bin"))
    bias.tofile(os.path.join(folder, "b.bin"))
    outside = lambda n, shape: f'float[{",".join(map(str, shape))}] {n} = ["location": "{n}.bin", "offset": "0", "length": "{4 * numpy.prod(shape)}"]'
    with open(model, "w") as file:
        file.write(f'<ir_version: 8, opset_import: ["" : 17]>\ng (float[{",".join(map(str, dims))}] x) => (float[n,c,h,v] y)\n'
                   f'<{outside("w", shape)}, {outside("b", shape[:1])}>\n{{ y = Conv <kernel_shape = {shape[2:]}, {attributes}> (x, w, b) }}\n')
    x = numpy.random.default_rng(4).uniform(-1e-30, 1e-30, dims).astype("f4")
    numpy.save(os.path.join(folder, "x.npy"), x)
    given = ["--input", f"x={folder}/x.npy"]
    stage, word = ("loops", LEFT_OUT[1]) if "group" in attributes else ("source", LEFT_OUT[2]) if name.startswith("some rows") else ("kernels", LEFT_OUT[0])
    said = subprocess.run([program, "show", "--stage", stage, model, "--cpu", "x86-64-v3"], check=True, capture_output=True, text=True).stdout
    wrong = (word in said) != left_out
    if wrong:
        print(f"{name}: left out: {not left_out}\n{said}")
    wanted = sweep.run(program, model, given, paths, ["interpreter"])[0]
    if kind not in ("infinite", "NaN"):
        zero = wanted == 0
        assert (zero & numpy.signbit(wanted)).any() and (zero & ~numpy.signbit(wanted)).any(), name
    for target in by_turns(sweep.TARGETS, CASES.index((name, kind, dims, attributes, left_out)), 2):
        got = sweep.run(program, model, given, paths, target)
        if got is not None and not same(got[0], wanted):
            print(f"{name}: {' '.join(target)}: {(got[0].view('u4') != wanted.view('u4')).sum()} elements have other bits")
            wrong = True
    return wrong


CASES = [("underflow", "any", [1, 20, 15, 17], "pads = [6, 6, 6, 6], dilations = [6, 6]", True),
         ("rows alone", "any", [2, 20, 9, 40], "pads = [4, 1, 4, 1], dilations = [4, 1]", True),
         ("some rows, of all heights", "any", [1, 20, 15, 17], "pads = [2, 2, 2, 2], dilations = [2, 2]", True),
         ("some rows, stride", "any", [2, 20, 9, 23], "pads = [1, 4, 1, 3], dilations = [1, 4], strides = [1, 2]", True),
         ("all border", "any", [1, 20, 3, 2], "pads = [7, 9, 7, 9], dilations = [4, 5]", True),
         ("stride", "any", [1, 20, 19, 18], "pads = [6, 6, 6, 6], dilations = [6, 6], strides = [2, 2]", True),
         ("sign", "one column's sign", [1, 20, 15, 17], "pads = [6, 6, 6, 6], dilations = [6, 6]", False),
         ("infinite", "infinite", [1, 20, 15, 17], "pads = [6, 6, 6, 6], dilations = [6, 6]", False),
         ("NaN", "NaN", [1, 20, 15, 17], "pads = [6, 6, 6, 6], dilations = [6, 6]", False),
         ("depthwise", "any", [1, 16, 13, 11], "pads = [6, 5, 6, 5], group = 16", True),
         ("depthwise, stride", "any", [2, 16, 12, 11], "pads = [7, 5, 5, 5], group = 16, strides = [2, 1]", True),
         ("depthwise, above alone", "any", [1, 16, 20, 11], "pads = [12, 5, 0, 5], group = 16", True),
         ("depthwise, all border", "any", [1, 16, 1, 11], "pads = [14, 5, 13, 5], group = 16", True),
         ("depthwise, pads of rows alone", "infinite", [1, 16, 9, 9], "pads = [12, 10, 12, 10], dilations = [2, 2], group = 16", False),
         ("depthwise, sign", "one column's sign", [1, 16, 13, 11], "pads = [6, 5, 6, 5], group = 16", False),
         ("depthwise, NaN", "NaN", [1, 16, 13, 11], "pads = [6, 5, 6, 5], group = 16", False),
         ("depthwise, infinite", "infinite", [1, 16, 13, 11], "pads = [6, 5, 6, 5], group = 16", False)]


def main():
    with tempfile.TemporaryDirectory() as folder:
        wrong = [case[0] for case in CASES if check(sys.argv[1], *case, folder)]
    print(f"{len(CASES)} convolutions, wrong: {wrong or 'none'}")
    sys.exit(bool(wrong))


main()
