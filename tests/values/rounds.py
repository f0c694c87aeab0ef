#!/usr/bin/env python3
"""rounds.py INGOT: --dim N=LEAST..MOST of what a Loop stacks, or of the input that its M is: as many rounds as M says or until its condition ends, as a loop and unrolled; on every
target, beside NumPy; equal bits; a status where there are more.  77 where NumPy is not there."""
import os
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from told import expect, finish, run, told

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
LOOP = HEAD + """rounds (float[2] x, int64 m, float end) => (float[2] y, float[N,2] z, float[N,2] twice, float[2] sum)
{
	two = Constant <value_float = 2.0> ()
	y, z = Loop <body = b (int64 i, bool c, float[2] a) => (bool on, float[2] d, float[2] e) { d = Add (a, step)  step = Constant <value_float = 1.0> ()
		first = Gather (d, at)  at = Constant <value_int = 0> ()  on = Less (first, end)  e = Mul (d, two)  }> (m, , x)
	twice = Mul (z, two)
	zero = Constant <value_ints = [0]> ()
	one = Unsqueeze (x, zero)
	s = Concat <axis = 0> (one, twice)
	sum = ReduceSum <keepdims = 0> (s, first)
	first = Constant <value_ints = [0]> ()
}
"""
COUNTED = LOOP.replace("on = Less (first, end)", "f2 = Less (first, end)  on = Identity (c)")
DRAWN = LOOP.replace("e = Mul (d, two)", "r = RandomUniformLike <seed = 1.0> (d)  q = Mul (r, nought)  nought = Constant <value_float = 0.0> ()  p = Mul (d, two)  e = Add (p, q)")
INNER = COUNTED.replace("float[N,2] z, float[N,2] twice, ", "")          # nothing of the caller's has a symbol
# Each round appends: a row to none, a row of two columns to one, by way of a cast, and two columns.
GROWS = HEAD + """grows (float[2] x, int64 m) => (y, z, w)
<float[0,2] none = {}, float[1,2] start = {7, 8}, float[2,1] column = {1, 2}, int64[1] zero = {0}, int64[1] one = {1}, bool yes = {1}>
{
	y, z, w, last = Loop <body = b (int64 i, bool c, float[r,2] u, float[s,2] v, float[2,t] a, float[2] before) => (bool on, float[?,2] un, float[?,2] vn, float[2,?] an, float[2] now) {
		on = Identity (c)  f = Cast <to = 1> (i)  now = Add (before, f)
		row = Unsqueeze (now, zero)  un = Concat <axis = 0> (u, row)
		same = Cast <to = 1> (v)  double = Add (row, row)  vn = Concat <axis = -2> (same, double)
		col = Unsqueeze (now, one)  neg = Neg (col)  an = Concat <axis = 1> (a, col, neg)
	}> (m, yes, none, start, column, x)
}
"""


def grown(x, m):
    y, z, w = np.zeros((0, 2), "f4"), np.array([[7, 8]], "f4"), np.array([[1], [2]], "f4")
    for i in range(m):
        x = x + i
        y, z, w = np.concatenate([y, [x]]), np.concatenate([z, [2 * x]]), np.concatenate([w, np.stack([x, -x], 1)], 1)
    return {"y": y, "z": z, "w": w}


def wanted(x, m, end, ended):
    a, parts = x.copy(), []
    while len(parts) < m:
        a = a + 1
        parts.append(a * 2)
        if ended and not a[0] < end:
            break
    z = np.stack(parts) if parts else np.zeros((0, 2), "f4")
    return {"y": a, "z": z, "twice": 2 * z, "sum": (x + (2 * z).sum(0))}


with tempfile.TemporaryDirectory(prefix="test-rounds.") as folder:
    os.chdir(folder)
    for name, text in (("until", LOOP), ("counted", COUNTED), ("drawn", DRAWN), ("inner", INNER)):
        symbol = "m" if name == "inner" else "N"
        open(name + ".onnxtxt", "w").write(text)
        bits = {}
        for target in ("interpreter", "jit", "c", "cuda-emulated"):
            for repeat in ("0", "1"):
                os.environ["INGOT_REPEAT"] = repeat
                if repeat == "1":
                    del os.environ["INGOT_REPEAT"]
                wrong = []
                for m, end in ((3, 99.), (6, 3.), (0, 9.), (1, 0.), (5, 5.))[:5 if target in ("interpreter", "jit") else 2]:
                    given = {"x": np.array([0.25, -7], "f4"), "m": np.array(m), "end": np.array(end, "f4")}
                    np.savez("in.npz", **given)
                    code, out, message = run("run", name + ".onnxtxt", "--input", "in.npz", "--output", "out.npz", "--target", target, "--dim", symbol + "=0..6")
                    if code:
                        wrong.append(message)
                        continue
                    with np.load("out.npz") as made:
                        wrong += ["%d: %s: %s, not %s" % (m, k, made[k].tolist(), v.tolist()) for k, v in wanted(given["x"], m, end, name in ("until", "drawn")).items()
                                  if k in made or name != "inner" if made[k].shape != v.shape or not np.allclose(made[k], v)]
                        now = {k: made[k].tobytes() for k in made}
                        wrong += ["%d: other bits" % m] if bits.setdefault((m, end), now) != now else []
                expect("%s, %s, by %s" % (name, "one node" if repeat == "0" else "as it pays", target), not wrong, "; ".join(wrong))
                if target in ("interpreter", "jit"):
                    np.savez("more.npz", x=np.zeros(2, "f4"), m=np.array(7), end=np.array(99, "f4"))
                    told("%s, too many by %s" % (name, target), 6, symbol + " is not in [0, 6], for which the model is compiled", "run", name + ".onnxtxt", "--input", "more.npz", "--target", target, "--dim", symbol + "=0..6")
    open("grows.onnxtxt", "w").write(GROWS)
    for target in ("interpreter", "jit", "c", "cuda-emulated"):
        wrong = []
        for m in (3, 0, 6, 1)[:4 if target in ("interpreter", "jit") else 2]:
            given = {"x": np.array([0.25, -7], "f4"), "m": np.array(m)}
            np.savez("in.npz", **given)
            code, out, message = run("run", "grows.onnxtxt", "--input", "in.npz", "--output", "out.npz", "--target", target, "--dim", "m=0..6")
            if code:
                wrong.append(message)
                continue
            with np.load("out.npz") as made:
                wrong += ["%d: %s: %s, not %s" % (m, k, made[k].tolist(), v.tolist()) for k, v in grown(given["x"], m).items() if made[k].shape != v.shape or (made[k] != v).any()]
        expect("grows by %s" % target, not wrong, "; ".join(wrong))
    told("a number of an input", 2, "an input's value has a range", "build", "inner.onnxtxt", "-o", "out", "--no-compile", "--dim", "m=3")
    told("no range", 2, "use --dim m=0..MOST or --value m=NUMBER", "build", "inner.onnxtxt", "-o", "out", "--no-compile")
finish()
