#!/usr/bin/env python3
"""parts.py INGOT [SEED]: TopK and Split along axes whose extents a call or data say: what is not there sorts last, parts are quotients of what is there, numbers, or what a graph makes of
Shape; on every target, beside onnxruntime; equal bits.  77 where onnxruntime is not there."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from judged import judged
from told import expect, finish, run, told
import numpy as np

HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'
MOST = HEAD + """most (float[2,N] x, int64[N,3] w, uint8[N] u, double[N] z, float[9] row, bool[9] keep) => (v, i, s, j, o, p, q, r, all, at, some, where, kept, kept_at)
{
	three = Constant <value_ints = [3]> ()
	v, i = TopK (x, three)
	s, j = TopK <largest = 0> (x, three)
	o, p = TopK <axis = 0> (w, three)
	q, r = TopK <largest = 0> (u, three)
	n = Shape <start = 1, end = 2> (x)
	five = Constant <value_ints = [5]> ()
	k = Min (n, five)
	all, at = TopK (x, k)
	both = Concat <axis = 0> (five, n)
	least = ReduceMin <keepdims = 1> (both)
	some, where = TopK <largest = 0> (z, least)
	two = Constant <value_ints = [2]> ()
	few = Compress <axis = 0> (row, keep)
	kept, kept_at = TopK (few, two)
}
"""
PARTS = HEAD + """parts (float[2,N] x) => (a, b, c, d, e, f, g, h, i, j, k)
{
	both = Concat <axis = 1> (x, x)
	a, b = Split <axis = 1, num_outputs = 2> (both)
	c, d, e = Split <axis = -1, num_outputs = 3> (x)
	three = Constant <value_ints = [3]> ()
	n = Shape <start = 1, end = 2> (x)
	less = Sub (n, three)
	sizes = Concat <axis = 0> (three, less)
	f, g = Split <axis = 1> (x, sizes)
	half = Div (n, two)
	two = Constant <value_ints = [2]> ()
	other = Sub (n, half)
	halves = Concat <axis = 0> (half, other)
	h, i = Split <axis = 1> (x, halves)
	zero = Constant <value_ints = [0]> ()
	j = Softmax <axis = 1> (g)
	k = ReduceSum <keepdims = 0> (i, zero)
}
"""
ONE = HEAD + "one (float[N] x) => (%s) { %s }\n"
OLD = ONE.replace("18", "%d")


def nans(target):
    """A NaN is above every number, and stands before what is not there: bits are those of the extent that is compiled for."""
    open("nans.onnxtxt", "w").write(ONE % ("v, i, s, j", "k = Constant <value_ints = [6]> ()  v, i = TopK (x, k)  s, j = TopK <largest = 0> (x, k)"))
    x = np.array([1, np.nan, -np.inf, np.inf, 2, np.nan], np.float32)
    np.savez("in.npz", x=x)
    made = []
    for dim in ("N=6", "N=6..11"):
        code, _, message = run("run", "nans.onnxtxt", "--input", "in.npz", "--output", "out.npz", "--target", target, "--dim", dim)
        if code:
            return message
        with np.load("out.npz") as out:
            made.append({k: out[k].tolist() for k in "vijs"})
    return "" if str(made[0]) == str(made[1]) and made[0]["i"] == [1, 5, 3, 4, 0, 2] and made[0]["j"] == [2, 0, 4, 3, 1, 5] else str(made)


with tempfile.TemporaryDirectory(prefix="test-parts.") as folder:
    os.chdir(folder)
    seed, bits = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")), {}
    open("most.onnxtxt", "w").write(MOST)
    open("parts.onnxtxt", "w").write(PARTS)
    for target in ("interpreter", "jit", "c", "cuda-emulated"):
        random, wrong = np.random.default_rng(seed), []
        for n in (3, 12, 7, 4)[:4 if target in ("interpreter", "jit") else 2]:
            x = random.standard_normal((2, n)).astype("f4").round(1)
            if n == 7:
                x[0, 2], x[1, 1:] = np.inf, -np.inf
            given = {"x": x, "w": random.integers(-5, 5, (n, 3)), "u": random.integers(250, 256, n).astype("u1"), "z": random.standard_normal(n),
                     "row": random.standard_normal(9, np.float32), "keep": np.arange(9) % n % 3 < 2}
            judged(wrong, bits, ("most", n), "most.onnxtxt", MOST, given, target, "--dim", "N=3..12")
            judged(wrong, bits, ("parts", n), "parts.onnxtxt", PARTS, {"x": random.standard_normal((2, n), np.float32)}, target, "--dim", "N=3..12")
        expect("by " + target, not wrong, "; ".join(wrong))
        wrong = nans(target)
        expect("no numbers by " + target, not wrong, wrong)

    # what is not there, or does not divide, is a status
    for name, text, n, code, part in (
            ("too few", ONE % ("v, i", "k = Constant <value_ints = [3]> ()  v, i = TopK (x, k)"), 2, 3, "TopK: a k of 0 to what there is of dimension 0 of x is right"),
            ("enough", ONE % ("v, i", "k = Constant <value_ints = [3]> ()  v, i = TopK (x, k)"), 3, 0, None),
            ("too few of an old one", OLD % (9, "v, i", "v, i = TopK <k = 3> (x)"), 2, 3, "TopK: a k of 0 to what there is"),
            ("numbers", ONE % ("a, b", "k = Constant <value_ints = [3, 1]> ()  a, b = Split (x, k)"), 3, 3, "Split: parts that sum to what there is of dimension 0 of x are right"),
            ("right numbers", ONE % ("a, b", "k = Constant <value_ints = [3, 1]> ()  a, b = Split (x, k)"), 4, 0, None),
            ("old numbers", OLD % (11, "a, b", "a, b = Split <split = [3, 1]> (x)"), 5, 3, "Split: parts that sum"),
            ("halves", OLD % (13, "a, b", "a, b = Split (x)"), 3, 3, "Split: parts that sum"),
            ("right halves", OLD % (13, "a, b", "a, b = Split (x)"), 6, 0, None),
            ("below 0", ONE % ("a, b", "n = Shape (x)  k = Constant <value_ints = [4]> ()  m = Sub (n, k)  s = Concat <axis = 0> (m, k)  a, b = Split (x, s)"), 3, 3, "Split: parts that sum")):
        open("one.onnxtxt", "w").write(text)
        np.savez("in.npz", x=np.arange(n, dtype=np.float32))
        for target in ("interpreter", "jit"):
            words = ("run", "one.onnxtxt", "--input", "in.npz", "--target", target, "--dim", "N=0..6")
            if code:
                told("%s by %s" % (name, target), code, part, *words)
            else:
                got, _, message = run(*words)
                expect("%s by %s" % (name, target), got == 0, message)
    for name, text, code, part in (("more than can be", ONE % ("v, i", "k = Constant <value_ints = [9]> ()  v, i = TopK (x, k)"), 3, "TopK: k is 9 of 6"),
                                   ("a part of more", ONE % ("a, b", "k = Constant <value_ints = [9, 1]> ()  a, b = Split (x, k)"), 3, "Split: a part of 9, the data has 6 at most"),
                                   ("too many parts", ONE % ("a, b", "k = Constant <value_ints = [1, 2, 1]> ()  a, b = Split (x, k)"), 3, "Split: 3 parts for 2 outputs")):
        open("one.onnxtxt", "w").write(text)
        told(name, code, part, "build", "one.onnxtxt", "-o", "not", "--dim", "N=0..6")
finish()
