#!/usr/bin/env python3
"""accuracy.py: bench/accuracy tells the errors that NumPy reckons, and sees the largest output move.

    accuracy.py INGOT      exit 0: right, 1: wrong, 77: a tool that this needs is not there"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[{0},{1}] x) => (float[{0},{2}] y)
<float[{1},{2}] w = ["location": "w.bin", "offset": "0", "length": "{3}"]>
{{ y = MatMul (x, w) }}
"""


def rounded(values, bits):
    """To so many bits behind the leading one, halves to even."""
    low = 23 - bits
    words = values.astype("f4").view("u4")
    return ((words + ((1 << low - 1) - 1) + (words >> low & 1)) >> low << low).view("f4")


def by_columns(w):
    scale = np.abs(w).max(0) / np.float32(127)
    return np.rint(w / scale) * scale


def case(folder, x, w):
    """Writes it; the error of each way, of the largest value."""
    os.mkdir(folder)
    w.astype("f4").tofile(os.path.join(folder, "w.bin"))
    open(os.path.join(folder, "model.onnx"), "w").write(TEXT.format(*x.shape, w.shape[1], 4 * w.size))
    right = x.astype("f8") @ w.astype("f8")
    for name, array in ("in_0", x), ("out_0", right.astype("f4")):
        np.save(os.path.join(folder, name + ".npy"), array)
    with open(os.path.join(folder, "io.json"), "w") as file:
        json.dump({"inputs": [{"name": "x", "file": "in_0.npy"}], "outputs": [{"name": "y", "file": "out_0.npy"}]}, file)
    moved = [(rounded(x, bits), rounded(w, bits)) for bits in (7, 10, 10)] + [(x, by_columns(w))]
    return [np.abs(a.astype("f8") @ b.astype("f8") - right).max() / np.abs(right).max() for a, b in moved]


def told(ingot, folder, draws):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "bench", "accuracy"), "--ingot", ingot, "--draws", str(draws), folder], capture_output=True, text=True)
    if done.returncode == 5:
        print(done.stderr)
        sys.exit(77)
    assert not done.returncode, done.stderr
    return [cell.strip() for cell in done.stdout.splitlines()[-1].split("|")[2:-1]]


def main():
    draw = np.random.default_rng(4)
    with tempfile.TemporaryDirectory(prefix="accuracy.") as scratch:
        wide, two = os.path.join(scratch, "wide"), os.path.join(scratch, "two")
        errors = case(wide, draw.standard_normal((4, 600)).astype("f4"), draw.standard_normal((600, 500)).astype("f4"))
        cells = told(sys.argv[1], wide, 1)
        for cell, error in zip(cells, errors):
            assert abs(float(cell.split(",")[0]) / error - 1) < .06, "%s told, %.4g reckoned" % (cells, error)
        # Two columns that are one in bfloat16 alone: the second is larger, and the first of equals is taken.
        case(two, (1 + draw.standard_normal((1, 64)) / 8).astype("f4"), np.float32([[1, 1 + 2**-9]]).repeat(64, 0))
        cells = told(sys.argv[1], two, 3)
        assert [cell.split(", ")[-1] for cell in cells] == ["0", "3", "3", "stays"], cells
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AssertionError as wrong:
        print(wrong)
        sys.exit(1)
