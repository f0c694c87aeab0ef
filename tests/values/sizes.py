#!/usr/bin/env python3
"""sizes.py INGOT [SEED]: counts that are made of others: sums, products and quotients of dims that a call, data or a condition say; kernels end there, and offsets are those
of what is there; on every target, beside NumPy; equal bits.  77 where NumPy is not there."""
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from told import expect, finish, run, told

SHAPES = """<ir_version: 8, opset_import: ["" : 18]>
shapes (float[2,N,M] x, float[N,2] z, bool[5] keep) => (y, turned, rows, joined, pairs, more, back, chosen)
<int64[1] all = {-1}, int64[3] kept = {0,-1,2}, int64[2] two = {-1,2}, int64[3] grouped = {0,2,-1}, int64[2] flat = {0,-1}>
{
	y = Reshape (x, all)
	t = Transpose <perm = [0,2,1]> (x)
	turned = Flatten <axis = 2> (t)
	e = Exp (turned)
	s = Softmax <axis = 0> (e)
	rows = ReduceSum <keepdims = 0> (s, zero)
	zero = Constant <value_ints = [0]> ()
	w = Reshape (t, all)
	both = Concat <axis = 0> (y, w, w)
	joined = Neg (both)
	pairs = Reshape (both, two)
	again = Concat <axis = 0> (w, y, y)
	more = Add (again, joined)
	g = Concat <axis = 1> (z, z)
	h = Reshape (g, flat)
	back = MatMul (h, part)
	part = Constant <value = float[4,3] {1,2,3,4,5,6,7,8,9,10,11,12}> ()
	few = Compress <axis = 1> (table, keep)
	table = Constant <value = float[3,5] {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}> ()
	row = Reshape (few, all)
	chosen = Concat <axis = 0> (row, y)
}
"""
# Rows that end at a sum and at a product; CALLER: what lies behind them in the caller's memory stays as it was.
ENDING = """<ir_version: 8, opset_import: ["" : 18]>
ending (float[N,24] x, float[B,N,24] z) => (float[S,24] sum, float[P,16] product)
<float[24,16] w = {%s}, int64[2] flat = {-1,24}>
{
	c = Concat <axis = 0> (x, x, x)
	sum = Exp (c)
	r = Reshape (z, flat)
	product = MatMul (r, w)
}
""" % ",".join(["1"] * 384)
CALLER = """#include "ending.h"
#include <stdio.h>
static unsigned char workspace[ENDING_WORKSPACE_BYTES] __attribute__((aligned(ENDING_WORKSPACE_ALIGN)));
static float x[400 * 24], z[3 * 400 * 24], sum[1200 * 24], product[1200 * 16];
int main(void)
{
	long long n = 50, b = 2, dims[2][2];
	struct ending_context context = { 0 };
	context.workspace = workspace;
	for (int i = 0; i < 1200 * 24; i++)
		sum[i] = z[i] = 3;
	for (int i = 0; i < 1200 * 16; i++)
		product[i] = 3;
	const struct ending_inputs in = { x, z, &n, &b };
	const struct ending_outputs out = { sum, product, dims[0], dims[1] };
	int status = ending_run(&in, &out, &context), is[4] = { 0 };
	for (int i = 0; i < 1200 * 24; i++)
		is[i >= 150 * 24] += sum[i] == (i < 150 * 24 ? 1.0f : 3.0f);
	for (int i = 0; i < 1200 * 16; i++)
		if (i < 100 * 16 || i >= 112 * 16)                      /* a tile may go on */
			is[2 + (i >= 112 * 16)] += product[i] == (i < 100 * 16 ? 72.0f : 3.0f);
	printf("%d %lld %lld, %d %d %d %d\\n", status, dims[0][0], dims[1][0], is[0] / 24, is[1] / 24, is[2] / 16, is[3] / 16);
	return 0;
}
"""


def shaped(x, z, keep):
    y, t = x.ravel(), x.transpose(0, 2, 1)
    turned = t.reshape(t.shape[0] * t.shape[1], t.shape[2])
    e = np.exp(turned)
    s = np.exp(e - e.max(0))
    both = np.concatenate([y, t.ravel(), t.ravel()])
    table = np.arange(1, 16, dtype=np.float32).reshape(3, 5)
    return {"y": y, "turned": turned, "rows": (s / s.sum(0)).sum(0), "joined": -both, "pairs": both.reshape(-1, 2), "more": np.concatenate([t.ravel(), y, y]) - both,
            "back": np.concatenate([z, z], 1) @ np.arange(1, 13, dtype=np.float32).reshape(4, 3), "chosen": np.concatenate([table[:, keep].ravel(), y])}


def one(wrong, bits, key, file, given, want, target, *more):
    np.savez("in.npz", **given)
    code, out, message = run("run", file, "--input", "in.npz", "--output", "out.npz", "--target", target, *more)
    if code:
        wrong.append(message)
        return
    with np.load("out.npz") as made:
        wrong += ["%s: %s is %s, not %s" % (key, k, made[k].tolist(), v.tolist()) for k, v in want.items() if made[k].shape != v.shape or not np.allclose(made[k], v, rtol=1e-4, atol=1e-5)]
        now = {k: made[k].tobytes() for k in made}
        wrong += ["%s: other bits" % (key,)] if bits.setdefault(key, now) != now else []


with tempfile.TemporaryDirectory(prefix="test-sizes.") as folder:
    os.chdir(folder)
    open("shapes.onnxtxt", "w").write(SHAPES)
    seed, bits = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")), {}
    for target in ("interpreter", "jit", "c", "cuda-emulated"):
        random, wrong = np.random.default_rng(seed), []
        for n, m in ((3, 2), (5, 4), (1, 1), (2, 7))[:4 if target in ("interpreter", "jit") else 2]:
            given = {"x": random.standard_normal((2, n, m), np.float32), "z": random.standard_normal((n, 2), np.float32), "keep": random.random(5) < 0.5}
            one(wrong, bits, (n, m), "shapes.onnxtxt", given, shaped(**given), target, "--dim", "N=1..5", "--dim", "M=0..7")
        expect("shapes by " + target, not wrong, "; ".join(wrong))

    # rows that do not divide
    open("odd.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 18]>\nodd (float[N,3] x) => (y) <int64[2] two = {-1,2}> { y = Reshape (x, two) }\n')
    np.save("x.npy", np.arange(12, dtype="f4").reshape(4, 3))
    np.save("odd.npy", np.zeros((3, 3), "f4"))
    for target in ("interpreter", "jit", "c"):
        code, out, message = run("run", "odd.onnxtxt", "--input", "x=x.npy", "--dim", "N=1..5", "--target", target)
        expect("rows by " + target, "y float[6,2]: 0 1 2 3 4 5 6 7" in out, out + message)
        told("rows that do not divide by " + target, 3, "Reshape: the elements do not divide into the shape", "run", "odd.onnxtxt", "--input", "x=odd.npy", "--dim", "N=1..5", "--target", target)

    # of one bound, and yet not the same
    open("turned.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 18]>\nturned (float[N,4] x, float[N,M] z) => (y, back, w) <int64[2] four = {4,-1}, int64[1] all = {-1}> '
                                      "{ y = Reshape (x, four)  e = Exp (y)  back = Reshape (e, kept)  kept = Shape (x)  f = Reshape (z, all)  t = Transpose (z)  s = Shape (t)  w = Reshape (f, s) }\n")
    for target in ("interpreter", "jit", "c"):
        wrong = []
        for n, m in ((2, 3), (4, 1), (3, 4), (4, 4)):
            x, z = np.arange(n * 4, dtype="f4").reshape(n, 4) / 8, np.arange(n * m, dtype="f4").reshape(n, m)
            one(wrong, bits, ("turned", n, m), "turned.onnxtxt", {"x": x, "z": z}, {"y": x.reshape(4, n), "back": np.exp(x), "w": z.reshape(m, n)}, target, "--dim", "N=1..4", "--dim", "M=1..4")
        expect("the same bounds by " + target, not wrong, "; ".join(wrong))

    if shutil.which("cc"):
        open("ending.onnxtxt", "w").write(ENDING)
        open("main.c", "w").write(CALLER)
        for cpu in ("generic", "native"):
            code, out, message = run("build", "ending.onnxtxt", "--dim", "N=1..400", "--dim", "B=1..3", "-o", cpu, "--cpu", cpu)
            done = subprocess.run("cc -O1 -Wall -Wextra -I%s main.c %s/libending.a -o main -lm && ./main" % (cpu, cpu), shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            expect("ends at sums and products, %s" % cpu, done.stdout == "0 150 100, 150 1050 100 1088\n", message + done.stdout)
finish()
