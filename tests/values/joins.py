#!/usr/bin/env python3
"""joins.py INGOT [SEED]: Concat along axes whose extents a call, data or a condition say: a cache of keys and values that grows, and parts of all kinds; on every target,
beside NumPy; equal bits.  Long parts, which libraries copy by memcpy, shared by threads that begin within one.  77 where NumPy is not there."""
import os
import re
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from told import expect, finish, run

CACHE = """<ir_version: 8, opset_import: ["" : 17]>
cache (float[2,P,4] keys, float[2,P,4] values, float[2,N,4] x) => (float[2,N,4] y, float[2,A,4] all_keys, float[2,A,4] all_values, int64[3] shape)
{
	all_keys = Concat <axis = 1> (keys, x)
	all_values = Concat <axis = -2> (values, x)
	turned = Transpose <perm = [0,2,1]> (all_keys)
	s = MatMul (x, turned)
	p = Softmax <axis = -1> (s)
	y = MatMul (p, all_values)
	shape = Shape (all_keys)
}
"""
PARTS = """<ir_version: 8, opset_import: ["" : 18]>
parts (bool c, float[4] x, float[7] z, bool[7] keep, float[3] w) => (float[A] y, float[] sum, float[B] more, int64[2,D] places)
{
	axis = Constant <value_ints = [0]> ()
	j = If (c) <then_branch = t () => (r) { r = Neg (x) }, else_branch = e () => (r) { r = Exp (z) }>
	k = Compress <axis = 0> (z, keep)
	y = Concat <axis = 0> (w, j, k, w, j)
	sum = ReduceSum <keepdims = 0> (y, axis)
	none = Constant <value = float[0] {}> ()
	other = Concat <axis = 0> (w, none, j, k, w, j)
	more = Add (y, other)
	n = NonZero (keep)
	flat = Concat <axis = 0> (n, n)
	m = NonZero (x)
	twice = Concat <axis = 0> (m, m)
	places = Concat <axis = 1> (flat, twice)
}
"""

RUNS = """<ir_version: 8, opset_import: ["" : 17]>
runs (float[1,37,31,61] x, float[1,41,31,61] z, uint8[300007] b, uint8[70001] c, float[1,33,64,32] p, float[1,36,64,32] q) => (float[1,78,31,61] y, uint8[370008] d, float[1,40,31,61] s, float[1,38,31,61] t, float[31,122,3] short, float[1,69,64,32] e)
{
	y = Concat <axis = 1> (x, z)
	d = Concat <axis = 0> (b, c)
	e = Concat <axis = 1> (p, q)
	parts = Constant <value = int64[2] {40, 38}> ()
	s, t = Split <axis = 1> (y, parts)
	begin = Constant <value = int64[1] {0}> ()
	end = Constant <value = int64[1] {3}> ()
	axis = Constant <value = int64[1] {1}> ()
	three = Slice (x, begin, end, axis)
	u = Transpose <perm = [0,2,3,1]> (three)
	v = Squeeze (u, begin)
	short = Concat <axis = 1> (v, v)
}
"""

PIECES = 90
# Of each row what lies above 0, and as many times its number: sums of many sizes that are equal, and kernels of many tensors.
MANY = """<ir_version: 8, opset_import: ["" : 17]>
many (float[%d,3] x) => (float[A] y)
{
	zero = Constant <value = float {0.0}> ()
	axis = Constant <value_ints = [0]> ()
%s
	taken = Concat <axis = 0> (%s)
	first = Concat <axis = 0> (%s)
	last = Concat <axis = 0> (%s)
	numbers = Concat <axis = 0> (first, last)
	y = Add (taken, numbers)
}
""" % (PIECES, "\n".join("""	at{0} = Constant <value = int64 {{{0}}}> ()
	row{0} = Gather <axis = 0> (x, at{0})
	is{0} = Greater (row{0}, zero)
	found{0} = NonZero (is{0})
	place{0} = Squeeze (found{0}, axis)
	taken{0} = Gather <axis = 0> (row{0}, place{0})
	shape{0} = Shape (taken{0})
	number{0} = ConstantOfShape <value = float[1] {{{0}.0}}> (shape{0})""".format(i) for i in range(PIECES)),
       ", ".join("taken%d" % i for i in range(PIECES)), ", ".join("number%d" % i for i in range(PIECES // 9)), ", ".join("number%d" % i for i in range(PIECES // 9, PIECES)))


def attended(keys, values, x):
    all_keys, all_values = np.concatenate([keys, x], 1), np.concatenate([values, x], 1)
    e = np.exp((s := x @ all_keys.transpose(0, 2, 1)) - s.max(-1, keepdims=True))
    return {"y": e / e.sum(-1, keepdims=True) @ all_values, "all_keys": all_keys, "all_values": all_values, "shape": np.array(all_keys.shape)}


def joined(c, x, z, keep, w):
    j, n = -x if c else np.exp(z), np.nonzero(keep)[0]
    y = np.concatenate([w, j, z[keep], w, j])
    m = np.nonzero(x)[0]
    return {"y": y, "sum": y.sum(), "more": 2 * y, "places": np.concatenate([np.stack([n, n]), np.stack([m, m])], 1)}


def one(wrong, bits, key, file, given, want, target, *more):
    np.savez("in.npz", **given)
    code, out, message = run("run", file, "--input", "in.npz", "--output", "out.npz", "--target", target, *more)
    if code:
        wrong.append(message)
        return
    with np.load("out.npz") as made:
        wrong += ["%s: %s is %s, not %s" % (key, k, made[k], v) for k, v in want.items() if made[k].shape != v.shape or not np.allclose(made[k], v, rtol=1e-4, atol=1e-5)]
        now = {k: made[k].tobytes() for k in made}
        wrong += ["%s: other bits" % (key,)] if bits.setdefault(key, now) != now else []


with tempfile.TemporaryDirectory(prefix="test-joins.") as folder:
    os.chdir(folder)
    open("cache.onnxtxt", "w").write(CACHE)
    open("parts.onnxtxt", "w").write(PARTS)
    open("many.onnxtxt", "w").write(MANY)
    open("runs.onnxtxt", "w").write(RUNS)
    seed, bits = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")), {}
    for target in ("interpreter", "jit", "c", "cuda-emulated"):
        random, wrong = np.random.default_rng(seed), []
        for p, n in ((0, 1), (9, 3), (5, 2), (9, 1))[:4 if target in ("interpreter", "jit") else 2]:
            given = {"keys": random.standard_normal((2, p, 4), np.float32), "values": random.standard_normal((2, p, 4), np.float32), "x": random.standard_normal((2, n, 4), np.float32)}
            one(wrong, bits, (p, n), "cache.onnxtxt", given, attended(**given), target, "--dim", "P=0..9", "--dim", "N=1..3")
        expect("a cache by " + target, not wrong, "; ".join(wrong))
        random, wrong = np.random.default_rng(seed), []
        for part in (0, 0.5, 1):
            given = {"c": np.array(part > 0), "x": random.integers(0, 2, 4).astype("f4"), "z": random.standard_normal(7, np.float32), "keep": random.random(7) < part,
                     "w": random.standard_normal(3, np.float32)}
            one(wrong, bits, part, "parts.onnxtxt", given, joined(**given), target)
        expect("parts by " + target, not wrong, "; ".join(wrong))
    random, wrong = np.random.default_rng(seed), []
    x, z = (random.standard_normal((1, n, 31, 61), np.float32) for n in (37, 41))
    b, c = (random.integers(0, 256, n, np.uint8) for n in (300007, 70001))
    short = x[0, :3].transpose(1, 2, 0)
    p, q = (random.standard_normal((1, n, 64, 32), np.float32) for n in (33, 36))
    y = np.concatenate([x, z], 1)
    want = {"y": y, "d": np.concatenate([b, c]), "e": np.concatenate([p, q], 1), "s": y[:, :40], "t": y[:, 40:], "short": np.concatenate([short, short], 1)}
    for target, *more in (("interpreter",), ("jit",), ("c",), ("c", "--threads", "3"), ("c", "--threads", "2", "--cpu", "x86-64-v3")):
        one(wrong, bits, "runs", "runs.onnxtxt", {"x": x, "z": z, "b": b, "c": c, "p": p, "q": q}, want, target, *more)
    for cpu, libc, count in (("x86-64-v4", "system", 10), ("armv8-a", "none", 0), ("generic", "system", 0)):
        run("build", "runs.onnxtxt", "--cpu", cpu, "--libc", libc, "--no-compile", "-o", cpu)
        with open(cpu + "/runs_kernels.c") as made:
            copies = re.findall("__builtin_memcpy.(y[^,]*), x", made.read())
        wrong += [] if len(copies) == count else ["%s, libc %s: %s" % (cpu, libc, copies)]
    expect("long parts", not wrong, "; ".join(wrong))
    x = np.random.default_rng(seed).standard_normal((PIECES, 3), np.float32)
    for target in ("interpreter", "jit"):
        wrong = []
        one(wrong, bits, "many", "many.onnxtxt", {"x": x}, {"y": x[x > 0] + np.nonzero(x > 0)[0].astype("f4")}, target)
        expect("many parts by " + target, not wrong, "; ".join(wrong))
finish()
