#!/usr/bin/env python3
"""lists.py INGOT: sequences and optionals that go in and out: folders of .npy, archives, io.json, --elements, the header of a library; and a
message for each mistake.  77 where NumPy is not there."""
import json
import os
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

try:
    from onnx import numpy_helper as N
except ImportError:
    N = None

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from told import expect, finish, run, told

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
lists (seq(float[N]) x, optional(float[2]) o) => (seq(float[N]) twice, seq(float[N]) none, int64 count, bool has, optional(float[2]) same)
{
	twice = SequenceMap <body = each (float[N] a) => (float[N] b) { b = Add (a, a) }> (x)
	none = SequenceEmpty ()
	count = SequenceLength (x)
	has = OptionalHasElement (o)
	same = Identity (o)
}
"""
ANY = """<ir_version: 8, opset_import: ["" : 18]>
any (seq(float[]) x) => (float[] y) { i = Constant <value_int = 1> ()  y = SequenceAt (x, i) }
"""
AT = """<ir_version: 8, opset_import: ["" : 17]>
at (float[2] a, float[2] b, float[3] d, int64 p, int64 q, int64 r, int64 s) => (float[2] y, float[2] z, seq(float[2]) longer, seq(float[2]) shorter)
{
	pair = SequenceConstruct (a, b)
	y = SequenceAt (pair, p)
	mixed = SequenceConstruct (d, a)
	z = SequenceAt (mixed, q)
	longer = SequenceInsert (pair, a, r)
	shorter = SequenceErase (pair, s)
}
"""
LATE = """<ir_version: 8, opset_import: ["" : 17]>
late (float[6] x, float[2] a, float[3] b, int64[2] parts, int64 step, int64 p, int64 q)
	=> (seq(float[]) listed, seq(float[]) even, seq(float[]) longer, seq(float[]) shorter)
{
	listed = SplitToSequence (x, parts)
	even = SplitToSequence (x, step)
	three = SequenceConstruct (a, b, a)
	longer = SequenceInsert (three, b, p)
	shorter = SequenceErase (three, q)
}
"""
SAID = [word for said in ("listed=[2],[4]", "even=[4],[2]", "longer=[2],[3],[3],[2]", "shorter=[3],[2]") for word in ("--elements", said)]


def save(folder, arrays):
    os.makedirs(folder, exist_ok=True)
    for i, array in enumerate(arrays):
        np.save(os.path.join(folder, "%d.npy" % i), array)


def equal(folder, arrays):
    there = sorted(os.listdir(folder))
    return there == ["%d.npy" % i for i in range(len(arrays))] and all(
        np.array_equal(np.load(os.path.join(folder, "%d.npy" % i)), a) for i, a in enumerate(arrays))


with tempfile.TemporaryDirectory(prefix="test-lists.") as folder:
    os.chdir(folder)
    open("lists.onnxtxt", "w").write(MODEL)
    open("any.onnxtxt", "w").write(ANY)
    x = [np.arange(n, dtype=np.float32) + n for n in (3, 1, 2)]
    o = np.array([1, 2], dtype=np.float32)
    save("x", x)
    np.save("o.npy", o)
    given, outputs = ["--input", "x=x", "--input", "o=o.npy"], ["--output", "twice=twice", "--output", "none=none", "--output", "same=same.npy"]
    for target in ("interpreter", "c", "jit"):
        save("twice", [o] * 7)                              # an earlier run's: more than there are now
        code, out, message = run("run", "lists.onnxtxt", *given, *outputs, "--target", target)
        expect("folders by " + target, code == 0 and equal("twice", [a + a for a in x]) and equal("none", []) and np.array_equal(np.load("same.npy"), o), message)
    expect("text", "twice_0 float[3]: 6 8 10\n" in out and "none seq(float[N]): empty\n" in out and "count int64: 3\nhas bool: true\n" in out, out)
    code, out, message = run("run", "lists.onnxtxt", "--input", "x=x", "--target", "interpreter")
    expect("an optional that is not given", code == 0 and "has bool: false\n" in out and "same optional(float[2]): none\n" in out, out + message)
    code, out, message = run("run", "lists.onnxtxt", *given, "--json", "--target", "interpreter")
    report = json.loads(out)
    expect("JSON", report["lists"] == {"twice": ["twice_0", "twice_1", "twice_2"], "none": [], "same": ["same"]}
           and [o["name"] for o in report["outputs"]] == ["twice_0", "twice_1", "twice_2", "count", "has", "same"], out)
    np.savez("all.npz", **{"x_%d" % i: a for i, a in enumerate(x)})
    code, out, message = run("run", "lists.onnxtxt", "--input", "all.npz", "--output", "out.npz", "--target", "interpreter")
    with np.load("out.npz") as made:
        expect("archives", code == 0 and sorted(made) == ["count", "has", "twice_0", "twice_1", "twice_2"] and np.array_equal(made["twice_2"], 2 * x[2]), message)

    # positions at run time: those outside, and those of an element that cannot be meant, are refused on every target
    open("at.onnxtxt", "w").write(AT)
    for target in ("interpreter", "c", "jit"):
        wrong = []
        for name, values, node in (("p", (2, -3, 2**40), "#1 (SequenceAt)"), ("q", (0, 2, -3), "#3 (SequenceAt)"), ("r", (3, -3, -100), "#4 (SequenceInsert)"),
                                   ("s", (2, -3), "#5 (SequenceErase)"), ("r", (2, -2), None)):
            for value in values:
                positions = {"p": 0, "q": 1, "r": 0, "s": 0, name: value}
                np.savez("at.npz", a=o, b=o + 2, d=np.zeros(3, np.float32), **{k: np.array(v) for k, v in positions.items()})
                code, out, message = run("run", "at.onnxtxt", "--input", "at.npz", "--target", target)
                if (code, "node %s" % node in message) != ((3, True) if node else (0, False)):
                    wrong.append("%s = %d: exit %d: %s" % (name, value, code, message))
        expect("positions outside by " + target, not wrong, "; ".join(wrong))

    # what a value at run time decides of an output is said, and checked
    open("late.onnxtxt", "w").write(LATE)
    six, a, b = np.arange(6, dtype=np.float32), o + 10, np.arange(3, dtype=np.float32) + 20
    right = {"parts": (2, 4), "step": 4, "p": 1, "q": 0}
    for target in ("interpreter", "c", "jit"):
        wrong = []
        for name, value, node in (("q", 0, None), ("q", -3, None), ("p", 2, None), ("p", -1, None), ("p", -2, None), ("parts", (3, 3), "#0 (SplitToSequence)"),
                                  ("parts", (2, 3), "#0 (SplitToSequence)"), ("step", 3, "#1 (SplitToSequence)"), ("step", 5, "#1 (SplitToSequence)"),
                                  ("step", 0, "#1 (SplitToSequence)"), ("p", 0, "#3 (SequenceInsert)"), ("p", 3, "#3 (SequenceInsert)"), ("p", 4, "#3 (SequenceInsert)"),
                                  ("p", -9, "#3 (SequenceInsert)"), ("q", 1, "#4 (SequenceErase)"), ("q", 2, "#4 (SequenceErase)"), ("q", 3, "#4 (SequenceErase)")):
            np.savez("late.npz", x=six, a=a, b=b, **{k: np.array(v) for k, v in {**right, name: value}.items()})
            code, out, message = run("run", "late.onnxtxt", "--input", "late.npz", "--output", "late_out.npz", "--target", target, *SAID)
            if node:
                if code != 3 or "node %s" % node not in message:
                    wrong.append("%s = %s: exit %d: %s" % (name, value, code, message))
                continue
            three = [a, b, a]
            three.insert(1 if name != "p" else value, b)
            want = dict(zip(["listed_0", "listed_1", "even_0", "even_1"] + ["longer_%d" % i for i in range(4)] + ["shorter_0", "shorter_1"],
                            [six[:2], six[2:], six[:4], six[4:], *three, b, a]))
            with np.load("late_out.npz") as made:
                if code or sorted(made) != sorted(want) or not all(np.array_equal(made[k], v) for k, v in want.items()):
                    wrong.append("%s = %s: exit %d: %s %s" % (name, value, code, message, {k: v.tolist() for k, v in made.items()}))
        expect("outputs that are said, by " + target, not wrong, "; ".join(wrong))
    told("said with no position that fits", 3, "node #3 (SequenceInsert): no position gives elements of the shapes that the output is said to hold",
         "build", "late.onnxtxt", "-o", "not", *SAID[:4], "--elements", "longer=[2],[2],[3],[3]")
    told("said of too many", 3, "node #3 (SequenceInsert): no position gives", "build", "late.onnxtxt", "-o", "not", *SAID[:4], "--elements", "longer=[2],[3],[3],[2],[2]")
    told("said by a number alone", 2, "--elements even: of an output, a sequence, shapes can be said, as in --elements even=[2,3],[4]",
         "build", "late.onnxtxt", "-o", "not", "--elements", "even=2")
    told("not said", 4, "node #1 (SplitToSequence): split is a scalar that is known at run time alone, and with it the number of parts",
         "build", "late.onnxtxt", "-o", "not", *SAID[:2])
    told("said of an input that has data", 2, "--elements x: what an input holds is said by its data", "run", "lists.onnxtxt", *given, "--elements", "x=3")

    # check: io.json, where a sequence is a folder and an optional without a value null
    def check(name, right, part, twice, same="same.npy", given="o.npy"):
        save("test/in", x)
        save("test/" + name, twice)
        np.save("test/none.npy", o)
        np.save("test/o.npy", o)
        np.save("test/same.npy", o)
        np.save("test/count.npy", np.array(3))
        np.save("test/has.npy", np.array(given is not None))
        os.makedirs("test/empty", exist_ok=True)
        json.dump({"inputs": [{"name": "x", "file": "in"}, {"name": "o", "file": given}],
                   "outputs": [{"name": n, "file": f, "atol": 0} for n, f in (("twice", name), ("none", "empty"), ("count", "count.npy"), ("has", "has.npy"), ("same", same))]},
                  open("test/io.json", "w"))
        code, out, message = run("check", "lists.onnxtxt", "test", "--target", "interpreter")
        expect("check " + name, code == (0 if right else 1) and part in out + message, "exit %d: %s%s" % (code, out, message))

    check("right", True, "ok twice_2", [a + a for a in x])
    check("nothing", True, "ok has", [a + a for a in x], None, None)
    check("wrong", False, "DIFFERENT twice_1", [x[0] * 2, x[1], x[2] * 2])
    check("shorter", False, "output twice should hold 2 tensors, it holds 3 tensors", [x[0] * 2, x[1] * 2])
    check("nothing_made", False, "output same should hold 1 tensor, it holds nothing", [a + a for a in x], "same.npy", None)

    # ONNX's own files, in several sets: all hold what the first does, or the message says so
    def sets(name, lists, optionals):
        for k, (list, optional) in enumerate(zip(lists, optionals)):
            where = "%s/test_data_set_%d" % (name, k)
            os.makedirs(where)
            values = [N.from_list(list, "x"), N.from_optional(optional, "o", None if optional is not None else 0), N.from_list([a + a for a in list], "twice"),
                      N.from_list([], "none"), N.from_array(np.array(len(list))), N.from_array(np.array(optional is not None)), N.from_optional(optional, "same")]
            for i, value in enumerate(values):
                with open("%s/%s_%d.pb" % (where, "input" if i < 2 else "output", i if i < 2 else i - 2), "wb") as file:
                    file.write(value.SerializeToString())
        return run("check", "lists.onnxtxt", name, "--target", "interpreter")

    if N:
        code, out, message = sets("alike", [x, [a + 1 for a in x]], [o, o + 1])
        expect("sets", code == 0 and out.count("ok twice_2") == 2, out + message)
        code, out, message = sets("absent", [x], [None])
        expect("a set without a value", code == 0 and "ok has" in out, out + message)
        code, out, message = sets("unlike", [x, x[:2]], [o, o])
        expect("unlike sets", code == 1 and "unlike/test_data_set_1: input 0 holds 2 tensors, but the model is compiled for 3 tensors" in message, out + message)
        code, out, message = sets("one_without", [x, x], [o, None])
        expect("a set without what another has", code == 1 and "input 1 holds nothing, but the model is compiled for 1 tensor" in message, out + message)
        with open("alike/test_data_set_0/input_0.pb", "wb") as file:
            file.write(N.from_array(o).SerializeToString())
        code, out, message = run("check", "lists.onnxtxt", "alike", "--target", "interpreter")
        expect("a tensor's file for a sequence", code == 3 and message.count("\n") == 1, "exit %d: %s" % (code, message))

    # a library: each element is a member
    code, out, message = run("build", "lists.onnxtxt", "--elements", "x=[3],[1]", "--elements", "o=1", "-o", "lib")
    header = open("lib/lists.h").read()
    expect("header", code == 0 and all(part in header for part in ("const float *x_0;", "const float *x_1;", "const float *o;", "float *twice_0;", "float *same;"))
           and "x_2" not in header, message)
    code, out, message = run("build", "lists.onnxtxt", "--elements", "x=2", "--dim", "N=4", "--elements", "o=none", "-o", "lib2")
    header = open("lib2/lists.h").read()
    expect("one dim for all elements", code == 0 and header.count("[4]") >= 4 and "*o;" not in header and "*same;" not in header, message)
    code, out, message = run("build", "lists.onnxtxt", "--elements", "x=2", "--dim", "x_0:0=4", "--dim", "x_1:0=5", "--elements", "o=none", "-o", "lib3")
    expect("a dim of each element", code == 0 and "[5]" in open("lib3/lists.h").read(), message)
    code, out, message = run("info", "lists.onnxtxt")
    expect("info", code == 0 and "x seq(float[N])" in out and "--elements x=1 --elements o=1 --dim N=1" in out, out + message)
    code, out, message = run("show", "any.onnxtxt", "--elements", "x=[2],[3,4]", "--stage", "graph")
    expect("shapes that the model does not say", code == 0 and "(float[2] x_0, float[3,4] x_1) => (float[3,4] y)" in out, out + message)

    build = ("build", "lists.onnxtxt", "-o", "not")
    told("elements not said", 2, "input x is seq(float[N]): say how many tensors it holds, as in --elements x=2, or also of which shapes", *build)
    told("an optional not said", 2, "input o is optional(float[2]): say what it holds, or that it is none, as in --elements o=none", *build, "--elements", "x=1")
    told("no such input", 2, "--elements y: no input of that name is a sequence or an optional", *build, "--elements", "y=1")
    told("two of one", 2, "input o is optional(float[2]): it holds 1 or none, not 2", *build, "--elements", "o=2")
    told("none of a sequence", 2, "input x is seq(float[N]) and no optional: it cannot be none", *build, "--elements", "x=none")
    told("twice", 2, "--elements x is given twice", *build, "--elements", "x=1", "--elements", "x=2")
    told("another rank", 2, "input x_0 has 1 dimensions, its data has 2", *build, "--elements", "x=[1,2]")
    for wrong in ("x", "x=", "x=-1", "x=1.5", "x=[", "x=[1", "x=[1],", "x=[a]", "x=[1]2", "x=99999", "=1"):
        told(wrong, 2, "--elements %s: must be NAME=COUNT" % wrong, *build, "--elements", wrong)
    told("too many dimensions", 2, "more than 16 dimensions", *build, "--elements", "x=[%s1]" % ("1," * 16))
    expect("nothing half written", not os.path.exists("not"))
    told("a file for a folder", 2, "is not a folder: a sequence is a folder of 0.npy, 1.npy", "run", "lists.onnxtxt", "--input", "x=o.npy")
    told("a sequence is missing", 2, "input \"x\" is missing: --input x=FOLDER", "run", "lists.onnxtxt", "--input", "o=o.npy")
    save("wide", [np.zeros((2, 2), np.float32)])
    told("an element of another rank", 2, "wide/0.npy holds float32 [2,2], x is float32 [N]", "run", "lists.onnxtxt", "--input", "x=wide")
    save("whole", [np.zeros(2, np.int64)])
    told("an element of another type", 2, "whole/0.npy holds int64 [2], x is float32 [N]", "run", "lists.onnxtxt", "--input", "x=whole")
    code, out, message = run("bench", "lists.onnxtxt", "--rounds", "3", "--elements", "x=[3],[1]", "--elements", "o=1", "--target", "interpreter")
    expect("bench", code == 0, message)
    save("short", x[:1])
    told("a position that is not there", 3, "node #1 (SequenceAt): position 1 in a sequence of 1 elements, [-1, 0] is right", "run", "any.onnxtxt", "--input", "x=short")
finish()
