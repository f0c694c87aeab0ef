#!/usr/bin/env python3
"""said.py INGOT: an input of integers whose value is known where a model is compiled: by --value, or by the data of run and check where what the model is depends on
it.  Another value is a status on every target.  77 where NumPy is not there."""
import json
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

SHAPED = """<ir_version: 8, opset_import: ["" : 18]>
shaped (float[4,5] x, int64[N] shape, bool turn) => (float[A,B] y)
{
	two = Constant <value: tensor = int64[1] {2}> ()
	own = Shape (x)
	larger = Max (own, shape)
	more = Sub (larger, own)
	before = Div (more, two)
	behind = Sub (more, before)
	pads = Concat <axis = 0> (before, behind)
	padded = Pad (x, pads)
	there = Shape (padded)
	less = Sub (there, shape)
	starts = Div (less, two)
	ends = Add (starts, shape)
	cut = Slice (padded, starts, ends)
	y = If (turn) <then_branch = yes () => (float[P,Q] a) { a = Transpose (cut) }, else_branch = no () => (float[R,S] b) { b = Identity (cut) }>
}
"""
ROUNDS = """<ir_version: 8, opset_import: ["" : 16]>
rounds (int64 count, bool on, seq(float) none) => (seq(float[]) all)
{
	all = Loop (count, on, none) <body = one (int64 i, bool go, seq(float[]) before) => (bool still, seq(float[]) behind)
	{
		still = Identity (go)
		x = Constant <value: tensor = float[5] {1,2,3,4,5}> ()
		zero = Constant <value_ints = [0]> ()
		step = Constant <value: tensor = int64[1] {1}> ()
		end = Add (i, step)
		part = Slice (x, zero, end)
		behind = SequenceInsert (before, part)
	}>
}
"""


def centred(x, shape):
    wide = np.zeros(np.maximum(x.shape, shape), np.float32)
    at = [(w - n) // 2 for w, n in zip(wide.shape, x.shape)]
    wide[at[0]:at[0] + 4, at[1]:at[1] + 5] = x
    at = [(w - n) // 2 for w, n in zip(wide.shape, shape)]
    return wide[at[0]:at[0] + shape[0], at[1]:at[1] + shape[1]]


with tempfile.TemporaryDirectory(prefix="test-values.") as folder:
    os.chdir(folder)
    open("shaped.onnxtxt", "w").write(SHAPED)
    open("rounds.onnxtxt", "w").write(ROUNDS)
    x = np.arange(20, dtype=np.float32).reshape(4, 5) + 1
    for target in ("interpreter", "c", "jit", "cuda-emulated"):
        for shape, turn in (((6, 3), False), ((3, 8), True)):
            np.savez("in.npz", x=x, shape=np.array(shape), turn=np.array(turn))
            code, out, message = run("run", "shaped.onnxtxt", "--input", "in.npz", "--output", "out.npz", "--target", target)
            want = centred(x, shape).T if turn else centred(x, shape)
            with np.load("out.npz") as made:
                expect("by data, %s, %s" % (shape, target), code == 0 and np.array_equal(made["y"], want)
                       and out.startswith("compiled for shape = %d,%d\ncompiled for turn = %d\n" % (*shape, turn)), out + message)
        told("another value by " + target, 3, "input shape is [6, 3] where the model is compiled: no other value is right",
             "run", "shaped.onnxtxt", "--input", "in.npz", "--value", "shape=6,3", "--value", "turn=1", "--target", target)
        told("another condition by " + target, 3, "input turn is [0] where the model is compiled",
             "run", "shaped.onnxtxt", "--input", "in.npz", "--value", "shape=3,8", "--value", "turn=0", "--target", target)
    code, out, message = run("run", "shaped.onnxtxt", "--input", "in.npz", "--target", "interpreter", "--json")
    expect("JSON", json.loads(out)["values"] == {"shape": [3, 8], "turn": [1]}, out)

    # a sequence of as many elements as a count says
    os.makedirs("none")
    np.save("count.npy", np.array(3))
    np.save("on.npy", np.array(True))
    given = ["--input", "count=count.npy", "--input", "on=on.npy", "--input", "none=none"]
    for target in ("interpreter", "c", "jit"):
        code, out, message = run("run", "rounds.onnxtxt", *given, "--target", target)
        expect("rounds by " + target, code == 0 and out == "compiled for count = 3\ncompiled for on = 1\nall_0 float[1]: 1\nall_1 float[2]: 1 2\nall_2 float[3]: 1 2 3\n", out + message)

    # what an output alone has: how many rounds it stacks
    with open("stacked.onnxtxt", "w") as file:
        file.write('<ir_version: 8, opset_import: ["" : 17]>\nstacked (float[2] x, int64 m) => (y, float[N,2] z) '
                   "{ y, z = Loop <body = b (int64 i, bool c, float[2] a) => (c, float[2] d, float[2] e) { d = Neg (a) e = Exp (d) }> (m, , x) }\n")
    np.save("m.npy", np.array(3))
    np.save("two.npy", np.array([0, 1], "f4"))
    stacked = ("stacked.onnxtxt", "--input", "m=m.npy", "--input", "x=two.npy")
    told("rounds that nobody says", 2, "nothing says how many rounds output z stacks: use --dim N=NUMBER", "build", "stacked.onnxtxt", "-o", "not")
    told("a symbol that nothing has", 2, "--dim M: no input has a dim of that name; known are: N", "build", "stacked.onnxtxt", "-o", "not", "--dim", "M=3")
    told("other rounds than said", 3, "the rounds at run time are not 2", "run", *stacked, "--dim", "N=2")
    for target in ("interpreter", "c", "jit"):
        code, out, message = run("run", *stacked, "--dim", "N=3", "--target", target)
        expect("rounds said by " + target, code == 0 and "z float[3,2]: 1 0.36787945 1 2.7182817 1 0.36787945" in out, out + message)

    # a library
    code, out, message = run("build", "shaped.onnxtxt", "--value", "shape=6,3", "--value", "turn=0", "-o", "lib")
    header = open("lib/shaped.h").read() if code == 0 else ""
    expect("header", "shape_holds: input shape is [6, 3] where the model is compiled" in header and "*shape;" in header and "/* [6,3] y */" in header, header + message)
    build = ("build", "shaped.onnxtxt", "-o", "not")
    told("not said", 4, "dimension 0 of padded depends on data", *build, "--dim", "N=2")
    told("no such input", 2, "--value x: no input of that name holds integers; known are: shape, turn", *build, "--value", "x=1")
    told("twice", 2, "--value shape is given twice", *build, "--value", "shape=6,3", "--value", "shape=6,3")
    told("no bool", 2, "--value turn: 2 is no bool", *build, "--value", "turn=2")
    told("several of a scalar", 2, "--value turn: 2 elements for bool", *build, "--value", "turn=1,1")
    told("said of what contradicts", 3, "node #", *build, "--value", "shape=6,3,2", "--value", "turn=1")
    for wrong in ("shape", "shape=", "shape=a", "shape=1,", "shape=1,,2", "shape=1.5", "shape=99999999999999999999", "=1", "shape=" + ",".join(["1"] * 5000)):
        told(wrong[:30], 2, "must be NAME=NUMBER", *build, "--value", wrong)
    expect("nothing half written", not os.path.exists("not"))
finish()
