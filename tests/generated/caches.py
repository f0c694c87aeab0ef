#!/usr/bin/env python3
"""caches.py: --state of what grows: one buffer, in which a call writes the new rows and nothing else.

    caches.py INGOT      exit 0: right, 1: wrong, 77: a tool that this needs is not there
Each model runs step by step, with drawn numbers of new rows, beside the interpreter, which is given all of the past.
What lies behind the rows that are there is NaN before each call, and after it."""
import ctypes
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from here import cpus, some_cpus
from same import same

INGOT = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "ingot"
MOST, NEW = 20, 5                                          # rows of the past, rows of a call
HEAD = '<ir_version: 8, opset_import: ["" : 24]>\n'
ATTENTION = HEAD + """step ({0}[1,4,S,{1}] q, {0}[1,2,S,{1}] k, {0}[1,2,S,{1}] v, {0}[1,2,P,{1}] a, {0}[1,2,P,{1}] b) => ({0}[1,4,S,{1}] y, {0}[1,2,T,{1}] an, {0}[1,2,T,{1}] bn)
{{ y, an, bn = Attention <is_causal = 1> (q, k, v, , a, b) }}
"""
# as exporters write it: heads that share keys and values repeat them
REPEATED = HEAD + """step (float[1,4,S,40] q, float[1,2,S,40] k, float[1,2,S,40] v, float[1,2,P,40] a, float[1,2,P,40] b) => (float[1,4,S,40] y, float[1,2,T,40] an, float[1,2,T,40] bn)
<int64[1] two = {2}, int64[5] times = {1, 1, 2, 1, 1}, int64[4] heads = {0, 4, -1, 40}, float scale = {0.2}>
{ an = Concat <axis = 2> (a, k)  bn = Concat <axis = 2> (b, v)
  ku = Unsqueeze (an, two)  ke = Expand (ku, times)  kr = Reshape (ke, heads)  kt = Transpose <perm = [0, 1, 3, 2]> (kr)
  vu = Unsqueeze (bn, two)  ve = Expand (vu, times)  vr = Reshape (ve, heads)
  products = MatMul (q, kt)  scores = Mul (products, scale)  shares = Softmax <axis = -1> (scores)  y = MatMul (shares, vr) }
"""
# as language models are exported: turned heads, and how many keys there are as numbers beside them
GROWING = """<ir_version: 8, opset_import: ["" : 24, "com.microsoft" : 1]>
step (float[1,S,160] q, float[1,S,80] k, float[1,S,80] v, float[1,2,P,40] a, float[1,2,P,40] b) => (float[1,S,160] y, float[1,2,T,40] an, float[1,2,T,40] bn)
<int64 none = {0}, int64 most = {300}, int64 step = {1}, int64[1] first = {0}, int64[1] last = {1}, float[1,1] slow = {0.3}>
{ place = Range (none, most, step)  wide = Cast <to = 1> (place)  column = Unsqueeze (wide, last)  angle = Mul (column, slow)  all = Constant <value_ints = [300, 20]> ()
  angles = Expand (angle, all)  cosines = Cos (angles)  sines = Sin (angles)
  rows = Shape <start = 1, end = 2> (q)  past = Shape <start = 2, end = 3> (a)  both = Add (rows, past)  less = Sub (both, last)
  lengths = Cast <to = 6> (less)  one = Squeeze (both, first)  total = Cast <to = 6> (one)
  y, an, bn = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, do_rotary = 1> (q, k, v, a, b, lengths, total, cosines, sines) }
"""
PAIRS = (("a", "an"), ("b", "bn"))
# name, text, type, pairs, axis of the rows, whether they lie in one buffer; rows of the past, where those are others.  Of more than 64 loops over keys end behind those
# that are there: in lanes (8) and tiles (40), where the last 64 are not whole, in sums of blocks and in what is left of them
MODELS = [
    ("attention", ATTENTION.format("float", 8), "f4", PAIRS, 2, True),
    ("attention16", ATTENTION.format("float16", 8), "f2", PAIRS, 2, True),
    ("keys", ATTENTION.format("float", 40), "f4", PAIRS, 2, True, 128 - NEW),
    ("keys16", ATTENTION.format("float16", 40), "f2", PAIRS, 2, True, 200 - NEW),
    ("lanes", ATTENTION.format("float", 8), "f4", PAIRS, 2, True, 128 - NEW),
    ("repeated", REPEATED, "f4", PAIRS, 2, True, 192 - NEW),
    ("growing", GROWING, "f4", PAIRS, 2, True, 256 - NEW),
    ("odd", ATTENTION.format("float", 8), "f4", PAIRS, 2, True, 131 - NEW),
    ("long", ATTENTION.format("float", 40), "f4", PAIRS, 2, True, 4224 - NEW),
    ("left", ATTENTION.format("float", 40), "f4", PAIRS, 2, True, 4097 - NEW),
    ("joined", HEAD + """step (float[2,S,3] k, float[2,P,3] a) => (float[2,T,3] an, float[2,T,1] y)
<int64[1] last = {2}>
{ an = Concat <axis = 1> (a, k)  square = Mul (an, an)  y = ReduceMax <keepdims = 1> (square, last) }
""", "f4", (("a", "an"),), 1, True),
    ("first", HEAD + """step (int32[S,3] k, int32[P,3] a) => (int32[T,3] an, int32[T,3] y)
{ an = Concat <axis = 0> (a, k)  y = Neg (an) }
""", "i4", (("a", "an"),), 0, True),
    ("read", HEAD + """step (float[2,S,3] k, float[2,P,3] a) => (float[2,T,3] an, float[2,P,3] y)
{ an = Concat <axis = 1> (a, k)  y = Neg (a) }
""", "f4", (("a", "an"),), 1, False),
]


def call(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    assert not done.returncode, "%s: exit %d\n%s" % (" ".join(command), done.returncode, done.stdout[:3000])
    return done.stdout


def pointers(names, arrays):
    """A struct of pointers, to the arrays that are there."""
    return (ctypes.c_void_p * max(len(names), 1))(*[arrays[name].ctypes.data if name in arrays else None for name in names])


class Library:
    def __init__(self, folder):
        self.manifest = json.load(open(os.path.join(folder, "step.json")))
        self.library = ctypes.CDLL(os.path.join(folder, "libstep.so"))
        self.workspace, self.state = self.room("workspace_bytes"), self.room("state_bytes")
        # workspace, weights, parallel, stream, state
        self.context = (ctypes.c_void_p * 5)(self.workspace.ctypes.data, None, None, None, self.state.ctypes.data)
        assert not self.library.step_reset(self.context)

    def room(self, key):
        room = np.zeros(self.manifest[key] + 64, np.uint8)
        return room[-room.ctypes.data % 64:][:self.manifest[key]]

    def __call__(self, inputs, outputs):
        names = [[one["name"] for one in self.manifest[which]] for which in ("inputs", "outputs")]
        status = self.library.step_run(pointers(names[0], inputs), pointers(names[1], outputs), self.context)
        assert not status, "status %d" % status


def interpreted(model, folder, inputs, bounds):
    words, files = [], []
    for name, array in inputs.items():
        np.save(os.path.join(folder, name + ".npy"), array)
        words += ["--input", "%s=%s" % (name, os.path.join(folder, name + ".npy"))]
    call([INGOT, "run", model, "--target", "interpreter", *bounds, *words, "--output", os.path.join(folder, "out.npz")])
    return dict(np.load(os.path.join(folder, "out.npz")))


def random_of(draw, shape, code):
    return draw.integers(-9, 9, shape).astype(code) if code[0] == "i" else draw.normal(0, 1, shape).astype(code)


def steps(folder, model, cpu, dims, code, pairs, axis, one_buffer, most=MOST):
    """Until the room is full, then from the beginning."""
    made = os.path.join(folder, cpu)
    states = [word for pair in pairs for word in ("--state", "%s=%s" % pair)]
    bounds = ["--dim", "P=0..%d" % most, "--dim", "S=1..%d" % NEW]
    call([INGOT, "build", model, "--name", "step", "--shared", "--cpu", cpu, *bounds, *states, "-o", made])
    library, draw = Library(made), np.random.default_rng(3)
    whole = {name: [most + NEW if extent == "P" else extent for extent in dims[name]] for name, _ in pairs}
    places = {one["name"]: one for one in library.manifest["states"]}
    views = {name: library.state[places[name]["at"]:][:places[name]["bytes"]].view(code).reshape(whole[name]) for name, _ in pairs}
    assert library.manifest["state_bytes"] <= sum(view.nbytes + 7 for view in views.values()) * (1 if one_buffer else 2)
    rows = lambda array, from_, to: array[(slice(None),) * axis + (slice(from_, to),)]
    past, count = {name: random_of(draw, [0 if extent == "P" else extent for extent in dims[name]], code) for name, _ in pairs}, 0
    jumps = {step: rows for step, rows in ((4, most // 128 * 64), (5, most // 64 * 64 - 1), (6, most), (7, most // 128 * 64 + 70)) if most > MOST}   # … to where groups and blocks end
    for step in range(8):
        new = random.Random(step).choice([1, 1, 2, NEW])
        if step in jumps:
            count = jumps[step]
            for name, next_ in pairs:
                past[name] = random_of(draw, [count if extent == "P" else extent for extent in dims[name]], code)
                rows(views[name], 0, count)[...] = past[name]
        if count + new > most + NEW or count > most:
            past, count = {name: rows(array, 0, 2) for name, array in past.items()}, 2       # back to the first two
        inputs = {name: random_of(draw, [new if extent == "S" else extent for extent in shape], code)
                  for name, shape in dims.items() if "S" in shape}
        expected = interpreted(model, folder, {**inputs, **past}, bounds)
        if code[0] == "f" and one_buffer:
            for view in views.values():
                rows(view, count, None)[...] = np.nan
        outputs = {name: np.zeros(array.size + 1000, array.dtype) for name, array in expected.items() if name not in dict(pairs).values()}
        library({**inputs, "P": np.int64([count]), "S": np.int64([new])}, outputs)
        for name, array in outputs.items():
            assert same(array[:expected[name].size].reshape(expected[name].shape), expected[name]), "%s of step %d differs" % (name, step)
        count += new
        for name, next_ in pairs:
            past[name] = expected[next_]
            assert same(rows(views[name], 0, count), past[name]), "the state %s differs behind step %d" % (name, step)
            assert code[0] != "f" or not one_buffer or np.isnan(rows(views[name], count, None)).all(), "step %d wrote behind what is there" % step


SCATTERED = HEAD + """step (float[2,3,4] k, float[2,7,4] a, int64[2] at) => (float[2,7,4] an, float[2,7,4] y)
{ an = TensorScatter <axis = 1> (a, k, at)  y = Neg (an) }
"""


def scattered(folder, cpu):
    """A cache of a fixed size: rows are overwritten where the call says."""
    model, made, draw = os.path.join(folder, "scattered.onnxtxt"), os.path.join(folder, cpu), np.random.default_rng(5)
    open(model, "w").write(SCATTERED)
    call([INGOT, "build", model, "--name", "step", "--shared", "--cpu", cpu, "--state", "a=an", "-o", made])
    library, kept = Library(made), np.zeros((2, 7, 4), np.float32)
    assert library.manifest["state_bytes"] == kept.nbytes
    for step in range(4):
        inputs, outputs = {"k": random_of(draw, (2, 3, 4), "f4"), "at": draw.integers(0, 4, 2)}, {"y": np.zeros_like(kept), "an": np.zeros_like(kept)}
        for b in range(2):
            kept[b, inputs["at"][b]:][:3] = inputs["k"][b]
        library(inputs, outputs)
        assert same(outputs["y"], -kept) and same(library.state.view("f4").reshape(kept.shape), kept), "step %d differs" % step
        assert same(outputs["an"], kept), "the state that step %d gives differs" % step


PRODUCT = HEAD + """step (float[1,S,64] x, float[1,P,96] a) => (float[1,T,96] an)
<float[64,96] w = {%s}> { k = MatMul (x, w)  an = Concat <axis = 1> (a, k) }
""" % ", ".join(str(i % 7) for i in range(64 * 96))


GROUPS = """<ir_version: 8, opset_import: ["" : 23, "com.microsoft" : 1]>
step (float[1,1,160] q, float[1,1,80] k, float[1,1,80] v, float[1,2,140,40] a, float[1,2,140,40] b, int32[1] lengths, int32 total) =>
	(float[1,1,160] y, float[1,2,140,40] an, float[1,2,140,40] bn)
{ y, an, bn = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, a, b, lengths, total) }
"""
ROOM = """<ir_version: 10, opset_import: ["" : 24]>
step (float[1,4,1,40] q, float[1,2,1,40] k, float[1,2,1,40] v, float[1,2,140,40] a, float[1,2,140,40] b, int64[1] at, int64[1] lengths, float[1,1,1,140] mask) =>
	(float[1,4,1,40] y, float[1,2,140,40] an, float[1,2,140,40] bn)
{ an = TensorScatter <axis = 2> (a, k, at)  bn = TensorScatter <axis = 2> (b, v, at)  y = Attention <is_causal = 1> (q, an, bn, mask, , , lengths) }
"""


def groups(folder):
    """The cache of GroupQueryAttention, in its full size, is written to where it lies."""
    model = os.path.join(folder, "groups.onnxtxt")
    for text in GROUPS, GROUPS.replace("float[", "float16["):
        open(model, "w").write(text)
        told = call([INGOT, "show", model, "--stage", "definitions", "--state", "a=an", "--state", "b=bn"])
        assert told.count(" in place) ") == 2, told


def ends(folder):
    """Of a product that makes new rows those are computed that come."""
    model = os.path.join(folder, "product.onnxtxt")
    open(model, "w").write(PRODUCT)
    told = call([INGOT, "show", model, "--stage", "kernels", "--cpu", "x86-64-v3", "--dim", "P=0..20", "--dim", "S=1..100", "--state", "a=an"])
    product = told.split("contraction  nodes k\n")[1].split("\n\n")[0]
    assert " = S " in product, "the product makes all rows:\n" + product
    open(model, "w").write(ATTENTION.format("float", 40))
    told = call([INGOT, "show", model, "--stage", "kernels", "--cpu", "x86-64-v3", "--dim", "P=0..123", "--dim", "S=1..5", "--state", "a=an", "--state", "b=bn"])
    steps = [part for part in told.split("\n\n") if "_attention_" in part.split(" ")[0]]
    assert len(steps) == 3 and [part.count("_whole ") for part in steps] == [1, 1, 0], "loops over keys go on to the bound:\n" + told
    assert " = bn " in steps[2], "values are copied:\n" + told
    dims = ("--dim", "P=0..123", "--dim", "S=1..5")
    for text, what, more in ((REPEATED, "heads that share keys are", dims), (GROWING, "GroupQueryAttention is", dims), (GROUPS, "with room for more keys GroupQueryAttention is", ()),
                             (ROOM, "with room for more keys Attention is", ())):
        open(model, "w").write(text)
        told = call([INGOT, "show", model, "--stage", "kernels", "--cpu", "x86-64-v3", *more, "--state", "a=an", "--state", "b=bn"])
        steps = [part for part in told.split("\n\n") if "_attention_" in part.split(" ")[0]]
        assert [part.count("_whole ") for part in steps] == [1, 1, 0] and " = bn " in steps[2], what + " no attention that ends at its keys:\n" + told


def main():
    with tempfile.TemporaryDirectory(prefix="caches.") as scratch:
        ends(scratch)
        groups(scratch)
        for cpu in cpus():
            os.mkdir(os.path.join(scratch, "scattered_" + cpu))
            scattered(os.path.join(scratch, "scattered_" + cpu), cpu)
        for number, (name, text, *more) in enumerate(MODELS):
            folder = os.path.join(scratch, name)
            os.mkdir(folder)
            model = os.path.join(folder, "step.onnxtxt")
            open(model, "w").write(text)
            dims = {}
            for word in text.split("(", 1)[1].split(")", 1)[0].split(", "):
                shape, tensor = word.split("[", 1)[1].split("] ")
                dims[tensor] = [int(extent) if extent.isdigit() else extent for extent in shape.split(",")]
            for cpu in some_cpus(number) if name != "long" else cpus()[:1]:
                try:
                    steps(folder, model, cpu, dims, *more)
                except AssertionError as wrong:
                    print("%s for %s: %s" % (name, cpu, wrong))
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
