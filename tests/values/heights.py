#!/usr/bin/env python3
"""heights.py INGOT [SEED]: networks over pictures and sequences of any size up to a bound: strided and transposed convolutions, Winograd's, skip connections, pools, norms over what is there, a
softmax, running sums, recurrences that end at the last step.  On every target beside onnxruntime; equal bits.  77 where it is not there."""
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from judged import drawn, judged
from told import expect, finish, run, told

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
UP = "Resize <mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\">"
SKIPS = HEAD + """skips (float[1,3,H,W] x) => (float[1,1,H,W] y)
<float[8,3,3,3] wa = {%s}, float[16,8,3,3] wb = {%s}, float[16,16,3,3] wc = {%s}, float[16,16,3,3] wd = {%s}, float[8,32,3,3] we = {%s}, float[8,8,2,2] wf = {%s}, float[1,16,1,1] wg = {%s},
 float[16] shift = {%s}, float[4] twice = {1,1,2,2}>
{
	a = Conv <pads = [1,1,1,1]> (x, wa)
	b = Conv <pads = [1,1,1,1], strides = [2,2]> (a, wb)
	c = Conv <pads = [1,1,1,1], strides = [2,2]> (b, wc, shift)
	d = Conv <pads = [1,1,1,1]> (c, wd)
	flat = Relu (d)
	up = RESIZE (flat, , twice)
	e = Concat <axis = 1> (up, b)
	f = Conv <pads = [1,1,1,1]> (e, we)
	g = Tanh (f)
	h = ConvTranspose <strides = [2,2]> (g, wf)
	i = Concat <axis = 1> (h, a)
	j = Conv (i, wg)
	y = Sigmoid (j)
}
""".replace("RESIZE", UP)
NORMS = HEAD + """norms (float[N,4,H,W] x) => (a, b, c)
<float[4] scale = {%s}, float[4] shift = {%s}, float[4,1,3,3] w = {%s}, int64 first = {2}, float[4] add = {%s}>
{
	even = InstanceNormalization (x, scale, shift)
	deep = Conv <pads = [2,2,2,2], dilations = [2,2], group = 4> (even, w)
	near = AveragePool <kernel_shape = [3,3], pads = [1,1,1,1]> (deep)
	a = Softmax <axis = 2> (near)
	all = GlobalAveragePool (near)
	gate = Sigmoid (all)
	gated = Mul (near, gate)
	b = CumSum <reverse = 1> (gated, first)
	last = Transpose <perm = [0,2,3,1]> (gated)
	more = Add (last, add)
	c = ReduceMax <axes = [1], keepdims = 0> (more)
}
"""
PLANES = HEAD + """planes (float[2,3,H,64] x) => (float[2,3,H,64] y)
<float[3] scale = {%s}, float[3] shift = {%s}>
{
	y = InstanceNormalization (x, scale, shift)
}
"""
STEPS = HEAD + """steps (float[T,B,3] x) => (y, h, z, c)
<float[2,18,3] w = {%s}, float[2,18,6] r = {%s}, float[2,36] b = {%s}, float[1,24,12] v = {%s}, float[1,24,6] s = {%s}, int64[3] flat = {0,0,-1}>
{
	both, h = GRU <hidden_size = 6, direction = "bidirectional", linear_before_reset = 1> (x, w, r, b)
	y = Transpose <perm = [0,2,1,3]> (both)
	joined = Reshape (y, flat)
	z, , c = LSTM <hidden_size = 6> (joined, v, s)
}
"""
# Rows of other types, whose vectors have lanes of their own.
KINDS = {"float": np.float32, "double": np.float64, "float16": np.float16, "int64": np.int64, "int32": np.int32, "int16": np.int16, "int8": np.int8, "uint8": np.uint8, "bool": np.bool_}
kinds = lambda each: [each % ((kind,) * each.count("%s")) for kind in KINDS]
TYPES = HEAD + "types (" + ", ".join(kinds("%s[2,H,W] x_%s")) + ") => (" + ", ".join(kinds("%s[2,H,W] y_%s")) + ")\n{\n" + "\n".join(kinds("\ty_%s = Identity (x_%s)")) + "\n}\n"
# From callers' rows to callers' rows: as one row, by planes, by rows; what another reads, too, and what is turned.
MAPS = HEAD + """maps (float[2,5,H,W] x, float[2,5,H,W] z, int8[5,H,W] k, float[5,H,7] v) => (a, b, c, d, e, f, g)
<float[5,1,1] bias = {%s}, float[7] across = {%s}, int8 four = {4}>
{
	sum = Add (x, z)
	gate = Sigmoid (sum)
	a = Mul (sum, gate)
	more = Add (x, bias)
	b = Exp (more)
	wide = Cast <to = 1> (k)
	c = Mul (x, wide)
	d = Add (v, across)
	e = Max (k, four)
	f = Transpose <perm = [0,1,3,2]> (more)
	g = ReduceSum (x)
}
"""
HALVES = HEAD + """halves (float[1,1,H,2] x) => (float[1,1,H,2] y)
<float[4] twice = {1,1,2,1}>
{
	half = MaxPool <kernel_shape = [2,1], strides = [2,1]> (x)
	y = RESIZE (half, , twice)
}
""".replace("RESIZE", UP)

with tempfile.TemporaryDirectory(prefix="test-heights.") as folder:
    os.chdir(folder)
    random, bits = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1"))), {}
    texts = {name: drawn(random, text) for name, text in (("skips", SKIPS), ("norms", NORMS), ("planes", PLANES), ("steps", STEPS), ("types", TYPES), ("maps", MAPS))}
    for name, text in texts.items():
        with open(name + ".onnxtxt", "w") as file:
            file.write(text)
    floats = lambda *shape: random.standard_normal(shape, np.float32)
    feeds = {"skips": [{"x": floats(1, 3, h, w)} for h, w in ((4, 8), (24, 20), (12, 24))], "norms": [{"x": floats(n, 4, h, w)} for n, h, w in ((1, 2, 3), (2, 19, 6), (2, 20, 21))], "planes": [{"x": floats(2, 3, h, 64)} for h in (1, 7, 24)],
             "steps": [{"x": floats(t, b, 3)} for t, b in ((1, 1), (2, 2), (7, 1), (40, 2))],
             "types": [{"x_" + kind: random.integers(0, 100, (2, h, w)).astype(type) for kind, type in KINDS.items()} for h, w in ((1, 1), (3, 77), (5, 100))],
             "maps": [{"x": floats(2, 5, h, w), "z": floats(2, 5, h, w), "k": random.integers(-9, 9, (5, h, w)).astype(np.int8), "v": floats(5, h, 7)} for h, w in ((1, 1), (23, 39), (24, 70))]}
    ranges = {"skips": ("H=4..24", "W=4..24"), "norms": ("N=1..2", "H=1..20", "W=1..21"), "planes": ("H=1..24",), "steps": ("T=1..40", "B=1..2"), "types": ("H=1..5", "W=1..100"), "maps": ("H=1..24", "W=1..70")}
    for target in (("interpreter",), ("jit",), ("c",), ("c", "--cpu", "generic"), ("c", "--optimise", "size"), ("cuda-emulated",)):
        wrong = []
        for name, given in feeds.items():
            for i, one in enumerate(given):
                if (len(target) > 1 or target[0] == "cuda-emulated") and i != 1:
                    continue
                judged(wrong, bits, (name, i), name + ".onnxtxt", texts[name], one, target[0], *target[1:], *(word for dim in ranges[name] for word in ("--dim", dim)))
        expect("by " + " ".join(target), not wrong, "; ".join(wrong)[:2000])
    np.save("x.npy", floats(1, 3, 10, 8))
    code, out, _ = run("show", "planes.onnxtxt", "--cpu", "x86-64-v4", "--dim", "H=1..24", "--stage", "loops")
    moves = [line for line in out.splitlines() if "y[p + l" in line or "select(-24" in line and "64*" in line]
    expect("both sums of a norm, unmasked, end at the height; rows of callers are vectors", code == 0 and out.count("< 64*there by") >= 2 and "where(" not in out and len(moves) > 4
           and all("along l" in line for line in moves), out)
    code, out, _ = run("show", "skips.onnxtxt", "--cpu", "x86-64-v4", "--dim", "H=4..24", "--dim", "W=4..24", "--stage", "loops")
    rows = [line for line in out.splitlines() if "= x" in line and ("y[p + l]" in line or "[p + l]" in line)]
    expect("rows of a counted width come and go by vectors, the last with as many lanes as are left", code == 0 and out.count("for 0 <= l < n by 16    serial") == 2 and len(rows) == 2 and all("    along l, n - l" in line for line in rows), out)
    code, out, _ = run("show", "maps.onnxtxt", "--cpu", "x86-64-v4", "--dim", "H=1..24", "--dim", "W=1..70", "--stage", "kernels")
    expect("maps of callers' rows read them where they are", code == 0 and "nodes x_there" in out and not any("nodes %s_there" % name in out for name in "zkv"), out)
    code, out, _ = run("show", "maps.onnxtxt", "--cpu", "x86-64-v4", "--dim", "H=1..24", "--dim", "W=1..70", "--stage", "loops")
    expect("and are one row, vectors that are all there first", code == 0 and all(line in out for line in ("for j < m by 64    serial", "for m <= j < n by 16    serial", "y[3360*b + 1680*i + j + 48] = ")), out)
    with open("one.onnxtxt", "w") as file:
        file.write(drawn(random, HEAD + "one (float[1,3,H,W] x) => (float[1,8,H,W] y) <float[8,3,3,3] w = {%s}> { y = Conv <pads = [1,1,1,1]> (x, w) }"))
    code, out, _ = run("show", "one.onnxtxt", "--cpu", "x86-64-v4", "--dim", "H=1..64", "--dim", "W=1..64", "--stage", "loops")
    expect("a convolution's copy and its pads end at the height", code == 0 and out.count("for k < []    map") == 3 and "for n <= l" not in out, out)
    told("a skip connection that does not fit", 3, "is not as large as what stands beside it", "run", "skips.onnxtxt", "--input", "x=x.npy", "--target", "jit", "--dim", "H=4..24", "--dim", "W=4..24")
    with open("halves.onnxtxt", "w") as file:
        file.write(HALVES)
    code, out, message = run("info", "halves.onnxtxt", "--dim", "H=2..8")
    expect("what the graph makes of a declared height counts", code == 0 and "dimension 2 of y is declared as H" in message and "what the graph makes counts" in message, message)
    told("unless the user wants it otherwise", 3, "dimension 2 of y is declared as H", "build", "halves.onnxtxt", "--no-compile", "-o", "not", "--declared", "exact", "--dim", "H=2..8")
finish()
