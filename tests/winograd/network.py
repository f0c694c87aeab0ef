#!/usr/bin/env python3
"""network.py INGOT [EVERY]: small networks whose convolutions become Winograd's, through the whole generator: `ingot run` in C must give
the interpreter's bits, and `--math double` nearly the same numbers.  Layouts: input from the caller (NCHW), from another
kernel, one row of tiles, a residual, a transpose behind; each EVERYth of them where it is given.  Exit 0: right, 1: wrong, 77: needs NumPy and a C compiler."""
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy (set INGOT_PYTHON)")
    sys.exit(77)
if not shutil.which("cc"):
    print("skipped: no C compiler")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from same import same

CONV = "Conv <kernel_shape = [3, 3], pads = %s> (%s, %s, %s)"


def tensor(name, rng, shape, scale):
    values = (rng.random(shape, dtype=np.float32) - np.float32(0.5)) * np.float32(scale)
    text = ", ".join(repr(float(v)) for v in values.ravel())
    return "float[%s] %s = {%s}" % (",".join(map(str, shape)), name, text)


def model(name, rng, ci, co, height, width, nodes, out):
    weights = [tensor("w", rng, (co, ci, 3, 3), 0.3), tensor("b", rng, (co,), 0.5), tensor("w2", rng, (co, co, 3, 3), 0.2), tensor("b2", rng, (co,), 0.5)]
    lines = "\n".join("  " + node for node in nodes)
    return '<ir_version: 8, opset_import: ["" : 17]>\n%s (float[1,%d,%d,%d] x) => (float[%s] y)\n<%s>\n{\n%s\n}\n' % (
        name, ci, height, width, ",".join(map(str, out)), ",\n ".join(weights), lines)


def cases():
    one = "[1, 1, 1, 1]"
    first = "c = " + CONV % (one, "x", "w", "b")
    second = "d = " + CONV % (one, "r", "w2", "b2")
    yield "f2_input", 16, 16, 12, 13, ["y = " + CONV % (one, "x", "w", "b")], 1
    yield "f4_input", 32, 48, 12, 13, ["y = " + CONV % (one, "x", "w", "b")], 1
    yield "f2_residual", 16, 16, 12, 12, [first, "r = Relu (c)", second, "e = Add (d, c)", "y = Relu (e)"], 2
    yield "f4_residual", 40, 40, 9, 14, [first, "r = Relu (c)", second, "e = Add (d, r)", "y = Relu (e)"], 2
    yield "one_row", 32, 32, 2, 40, [first, "r = Relu (c)", "y = " + CONV % (one, "r", "w2", "b2")], 2
    yield "low", 32, 32, 1, 24, [first, "r = Relu (c)", "y = " + CONV % ("[1, 1, 6, 1]", "r", "w2", "b2")], 1, 1, 32, 6, 24
    yield "no_pads", 33, 35, 11, 11, [first, "r = Relu (c)", "d = " + CONV % ("[0, 2, 1, 0]", "r", "w2", "b2"), "y = Relu (d)"], 2, 1, 35, 10, 11
    yield "transposed", 32, 32, 8, 8, [first, "r = Relu (c)", second, "y = Transpose <perm = [0, 2, 3, 1]> (d)"], 2, 1, 8, 8, 32
    yield "heavy", 32, 32, 8, 8, [first, "s = Sigmoid (c)", "r = Mul (c, s)", second, "t = Tanh (d)", "y = Add (t, r)"], 2
    yield "twice", 32, 32, 8, 8, [first, "r = Relu (c)", second, "e = Relu (d)", "y = " + CONV % (one, "e", "w2", "b2")], 3


def main():
    ingot = sys.argv[1]
    work = tempfile.mkdtemp(prefix="winograd.")
    rng = np.random.default_rng(7)
    wrong = 0
    for name, ci, co, height, width, nodes, count, *out in list(cases())[::int(sys.argv[2]) if len(sys.argv) > 2 else 1]:
        path = os.path.join(work, name + ".onnxtxt")
        with open(path, "w") as file:
            file.write(model(name, rng, ci, co, height, width, nodes, out or (1, co, height, width)))
        np.save(os.path.join(work, "x.npy"), rng.standard_normal((1, ci, height, width), dtype=np.float32))
        shown = subprocess.run([ingot, "show", path, "--stage", "kernels"], capture_output=True, text=True)
        if shown.returncode:
            print("%s: %s" % (name, shown.stderr.strip()))
            wrong += 1
            continue
        kernels = sum(line.startswith("k") and " winograd " in line for line in shown.stdout.splitlines())
        if name == "twice":                                   # filters of equal weights are packed once
            plan = subprocess.run([ingot, "show", path, "--stage", "plan"], capture_output=True, text=True).stdout
            packed = int(plan.split("weights ")[1].split()[0]) // (36 * 32 * 32 * 4)
            print("twice: filters are packed %d times, 2 are right" % packed)
            wrong += packed != 2
        out = {}
        for how, flags in ("strict", ["--target", "interpreter"]), ("double", ["--target", "interpreter", "--math", "double"]), ("c", []), ("generic", ["--cpu", "generic"]):
            file = os.path.join(work, how + ".npy")
            ran = subprocess.run([ingot, "run", path, "--input", "x=" + os.path.join(work, "x.npy"), "--output", "y=" + file] + flags, capture_output=True, text=True)
            if ran.returncode:
                print("%s %s: %s" % (name, how, ran.stderr.strip()))
                break
            out[how] = np.load(file)
        if len(out) < 4:
            wrong += 1
            continue
        bits = [same(out["strict"], out[how]) for how in ("c", "generic")]
        error = float(np.max(np.abs(out["strict"].astype(np.float64) - out["double"])))
        right = all(bits) and error < 1e-4 and kernels == count
        wrong += not right
        print("%s: %d of %d kernels by Winograd, bits %s, error %.1e: %s" % (name, kernels, count, bits, error, "right" if right else "WRONG"))
    shutil.rmtree(work)
    sys.exit(1 if wrong else 0)


main()
