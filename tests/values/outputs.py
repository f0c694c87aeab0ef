#!/usr/bin/env python3
"""outputs.py INGOT [SEED]: --dim N=LEAST..MOST of dims that outputs alone have: what operands at run time, data and other dims make of them, on every target, beside NumPy;
equal bits; statuses where it is more than the most.  77 where NumPy is not there."""
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

MADE = """<ir_version: 8, opset_import: ["" : 18]>
made (float[4,6] x, int64[2] shape, int64[3] numbers, float[3] steps, int64[1] many, int64[2] wide, int32[2] from, int32[2] to, int32[2] by, float[P,6] more, float[1,3] w) =>
	(float[N,M] y, float[1,M] sums, int64[K] counted, float[F] stepped, float[L] ones, float[E,3] wider, float[S,T] cut, float[U,6] rest, float[A,6] all, int64[2,Z] places)
{
	r = Reshape (x, shape)
	y = Exp (r)
	axis = Constant <value_ints = [0]> ()
	sums = ReduceSum (r, axis)
	one = Constant <value_int = 1> ()
	parts = Constant <value_ints = [1, 1, 1]> ()
	a, b, c = Split <axis = 0> (numbers, parts)
	sa = Squeeze (a)  sb = Squeeze (b)  sc = Squeeze (c)
	counted = Range (sa, sb, sc)
	fa, fb, fc = Split <axis = 0> (steps, parts)
	ta = Squeeze (fa)  tb = Squeeze (fb)  tc = Squeeze (fc)
	stepped = Range (ta, tb, tc)
	filled = ConstantOfShape <value = float[1] {2}> (many)
	ones = Neg (filled)
	wider = Expand (w, wide)
	axes = Constant <value = int32[2] {1, 0}> ()
	cut = Slice (x, from, to, axes, by)
	first = Constant <value = int32[1] {0}> ()
	f1, f2 = Split <axis = 0, num_outputs = 2> (from)
	t1, t2 = Split <axis = 0, num_outputs = 2> (to)
	rest = Slice (more, f2, t2, first)
	all = Concat <axis = 0> (more, x)
	places = NonZero (x)
}
"""
RANGES = dict(N="1..6", M="0..8", K="0..5", F="0..6", L="1..9", E="1..4", S="0..4", T="0..5", U="0..5", A="4..9", Z="0..20", P="0..5")


def wanted(x, shape, numbers, steps, many, wide, by, more, w, **k):
    r = x.reshape([n or x.shape[i] for i, n in enumerate(shape)])
    at = [slice(int(f), int(t), int(s)) for f, t, s in zip(k["from"], k["to"], by)]
    return {"y": np.exp(r), "sums": r.sum(0, keepdims=True), "counted": np.arange(*numbers), "stepped": np.arange(*steps.astype(np.float64)).astype("f4"), "ones": np.full(many, -2, "f4"),
            "wider": np.broadcast_to(w, np.broadcast_shapes(w.shape, tuple(wide))), "cut": x[at[1], at[0]], "rest": more[int(k["from"][1]):int(k["to"][1])],
            "all": np.concatenate([more, x]), "places": np.stack(np.nonzero(x))}


with tempfile.TemporaryDirectory(prefix="test-outputs.") as folder:
    os.chdir(folder)
    open("made.onnxtxt", "w").write(MADE)
    seed, bits = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")), {}
    ranges = [word for name, bound in RANGES.items() for word in ("--dim", "%s=%s" % (name, bound))]
    cases = [([3, -1], [0, 4, 1], [0, 3, 0.5], [5], [2, 3], [0, -3], [5, 9], [1, 1], 3), ([-1, 4], [7, -3, -2], [1, 0, 1], [1], [4, 1], [5, 0], [0, 4], [-2, 3], 5),
             ([0, 6], [2, 2, 1], [-1, -2, -0.25], [9], [1, 3], [1, 1], [6, -1], [1, 2], 0), ([6, 4], [0, 5, 1], [0, 1, 0.3], [4], [3, 3], [4, 1], [-7, 3], [-1, 1], 4)]
    for target in ("interpreter", "jit", "c", "cuda-emulated"):
        random, wrong = np.random.default_rng(seed), []
        for i, (shape, numbers, steps, many, wide, start, to, by, p) in enumerate(cases if target in ("interpreter", "jit") else cases[:2]):
            x = random.integers(0, 3, (4, 6)).astype("f4")
            x.ravel()[:6] = 0
            given = {"x": x, "shape": np.array(shape), "numbers": np.array(numbers), "steps": np.array(steps, "f4"), "many": np.array(many), "wide": np.array(wide),
                     "from": np.array(start, "i4"), "to": np.array(to, "i4"), "by": np.array(by, "i4"), "more": random.standard_normal((p, 6), np.float32), "w": random.random((1, 3), np.float32)}
            np.savez("in%d.npz" % i, **given)
            code, out, message = run("run", "made.onnxtxt", "--input", "in%d.npz" % i, "--output", "out.npz", "--target", target, *ranges)
            if code:
                wrong.append(message)
                continue
            with np.load("out.npz") as made:
                wrong += ["%d, %s: %s, not %s" % (i, k, made[k].tolist(), v.tolist()) for k, v in wanted(**given).items() if made[k].shape != v.shape or not np.allclose(made[k], v, rtol=1e-5, atol=1e-6)]
                now = {k: made[k].tobytes() for k in made}
                wrong += ["%d: other bits" % i] if bits.setdefault(i, now) != now else []
        expect("made by " + target, not wrong, "; ".join(wrong))

    # more, or less, than the range: a status
    with np.load("in0.npz") as given:
        given = dict(given)
    for target in ("interpreter", "jit", "c", "cuda-emulated"):
        for name, change, part in (("shape", [8, -1], "N is not in [1, 6]"), ("numbers", [0, 99, 1], "K is not in [0, 5]"), ("numbers", [0, 1, 0], "K is not in [0, 5]"),
                                   ("steps", [0, 1, 0], "F is not in [0, 6]"), ("steps", [0, np.nan, 1], "F is not in [0, 6]"), ("many", [-1], "L is not in [1, 9]"),
                                   ("wide", [5, 3], "E is not in [1, 4]"), ("x", np.ones((4, 6), "f4"), "Z is not in [0, 20]"),
                                   ("to", [9, 9], "T is not in [0, 5]"))[:10 if target in ("interpreter", "jit") else 2]:
            np.savez("more.npz", **dict(given, **{name: np.array(change, given[name].dtype)}))
            told("%s %s by %s" % (name, part, target), 6, part + ", for which the model is compiled", "run", "made.onnxtxt", "--input", "more.npz", "--target", target, *ranges)
        np.savez("odd.npz", **dict(given, shape=np.array([5, -1])))
        told("a shape of other elements by " + target, 3, "Reshape: the shape at run time does not make the declared one", "run", "made.onnxtxt", "--input", "odd.npz", "--target", target, *ranges)

    # one symbol of two outputs
    open("two.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 18]>\ntwo (int64[1] a, float[6] x) => (float[N] y, int64[1,N] z) { y = ConstantOfShape (a)  z = NonZero (x) }\n')
    np.save("x.npy", np.array([0, 1, 0, 2, 0, 3], "f4"))
    for many, code in ((3, 0), (2, 3)):
        np.save("a.npy", np.array([many]))
        given = ("run", "two.onnxtxt", "--input", "a=a.npy", "--input", "x=x.npy", "--dim", "N=0..4")
        for target in ("interpreter", "jit"):
            if code:
                told("two of one symbol, other numbers by " + target, code, "dimension 1 of z is not N, which y has", *given, "--target", target)
            else:
                expect("two of one symbol by " + target, run(*given, "--target", target)[0] == 0)

    # what is said otherwise
    build = ("build", "made.onnxtxt", "-o", "not", *ranges)
    open("sizes.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 18]>\nsizes (float[5] x) => (float[N] y) { y = Neg (x) }\n')
    told("a number outside the range", 3, "dimension 0 of y is 5, N is said to be in [1, 4]", "build", "sizes.onnxtxt", "-o", "not", "--dim", "N=1..4")
    open("tiled.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 18]>\ntiled (float[5] x, int64[1] n) => (float[N] y) { y = Tile (x, n) }\n')
    told("an operator that does not take it", 4, "a range of N is not supported there, --dim N=NUMBER may be", "build", "tiled.onnxtxt", "-o", "not", "--dim", "N=1..40")
    for node in ("SizeReshape <at = 99> (x)", "SizeElement <at = -1> (x)", "Counted <axis = 9> (x, x)", "Fit (x)", "Lengths <at = 2> (x)"):
        open("given.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 18, "ingot" : 1]>\ngiven (int64[2] x) => (y) { y = ingot.%s }\n' % node)
        told("a model with " + node, 4, "a model cannot have it", "build", "given.onnxtxt", "-o", "not")
    expect("nothing half written", not os.path.exists("not"))
finish()
