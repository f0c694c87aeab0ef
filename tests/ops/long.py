#!/usr/bin/env python3
"""Products of so many terms that what a tile wants beside it fits no stack: the interpreter's bits, and no crash.

    long.py INGOT TARGET...

Ends with 77 where NumPy or every target is missing."""
import os, subprocess, sys, tempfile

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from same import same
ENVIRONMENT, SKIPPED = 5, 77
OPSET = '<ir_version: 8, opset_import: ["" : 17]>\n'
# b comes at run time with its columns apart; a convolution whose borders are copied, with an epilogue; borders of which a stack holds few rows, and not one
MODELS = {
    "across": ("across (float[3,60000] x, float[70,60000] w) => (y) { y = Gemm <transB = 1> (x, w) }", (3, 60000), (70, 60000)),
    "borders": ("borders (float[1,2100,9,3] x, float[70,2100,9,3] w) => (y) { t = Conv <pads = [4, 1, 4, 1]> (x, w)  y = Sigmoid (t) }",
                (1, 2100, 9, 3), (70, 2100, 9, 3)),
    "patch": ("patch (float[1,40000,3,5] x, float[2,40000,3,3] w) => (y) { y = Conv <pads = [1, 1, 1, 1]> (x, w) }", (1, 40000, 3, 5), (2, 40000, 3, 3)),
    "none": ("none (float[1,240000,3,3] x, float[2,240000,3,3] w) => (y) { y = Conv <pads = [1, 1, 1, 1]> (x, w) }", (1, 240000, 3, 3), (2, 240000, 3, 3)),
}


def main(ingot, *targets):
    bad, ran, random = 0, 0, numpy.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, *shapes) in MODELS.items():
            model, data = os.path.join(folder, name + ".onnxtxt"), os.path.join(folder, name + ".npz")
            with open(model, "w") as file:
                file.write(OPSET + text + "\n")
            numpy.savez(data, **{n: random.standard_normal(s, dtype="f4") for n, s in zip("xw", shapes)})
            got = {}
            for target in ("interpreter", *targets):
                out = os.path.join(folder, f"{name}_{target}.npz")
                done = subprocess.run([ingot, "run", model, "--target", target, "--input", data, "--output", out], capture_output=True, text=True, timeout=300)
                if done.returncode == ENVIRONMENT:
                    continue
                ran += target != "interpreter"
                got[target] = numpy.load(out)["y"] if done.returncode == 0 else None
                if got[target] is None or not same(got[target], got["interpreter"]):
                    bad += 1
                    print(f"{name}, {target}: " + (f"exit {done.returncode}: {done.stderr.strip()}" if done.returncode else "other bits than the interpreter's"))
    print(f"{len(MODELS)} models, {ran} runs on targets, {bad} wrong")
    return SKIPPED if not ran else bool(bad)


sys.exit(main(*sys.argv[1:]))
