#!/usr/bin/env python3
"""branches.py INGOT [SEED]: an If whose branches differ in shape and whose condition comes at run time: outputs dense, with their actual dims beside them, on every target, as
onnxruntime has them; what is refused behind it; a library that reads nothing outside.  77 where NumPy, onnx or onnxruntime is not there."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx.parser
    import onnxruntime
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from told import expect, finish, run

CONDITIONS = ("c", "n")
RATES = """<ir_version: 8, opset_import: ["" : 17]>
rates (float[1,2,8] x, int64 sr, float[3,2,8] a, float[3,2,4] b) => (y)
<int64 k = {16000}, int64[1] two = {2}>
{
	is = Equal (sr, k)
	y = If (is) <then_branch = t () => (p) { c = Conv <strides = [2]> (x, a)  p = Squeeze (c, two) },
		else_branch = e () => (q) { d = Conv <strides = [2]> (x, b)  [narrow] q = Squeeze (d, two) }>
}
"""
MODEL = """<ir_version: 8, opset_import: ["" : 18]>
joined (bool c, bool n, float[2,3] x, float[4,3] z, float[2,5] w, bool[4] keep, float16[4] h)
	=> (float[A,3] y, float[A,3] relu, float[B,5] wide, float[C,D] both, int64[2] shape, float[A,6] side, float[A] sums, float[3,3] gram, float[E,3] nested, float[F,3] chosen,
	float16[G] half, float[H,3] none, float[3,A] turned, int64[I] places, float rounds, int64[I] second, float[A,3] handed, float[1,3] mean,
	float least, int64[3] last, float[A,3] runs)
{
	y = If (c) <then_branch = t () => (r) { r = Neg (x) }, else_branch = e () => (r) { r = Exp (z) }>
	relu = Relu (y)
	wide = If (c) <then_branch = t () => (r) { r = Identity (w) }, else_branch = e () => (r) { r = MatMul (z, m) }>
	m = Constant <value = float[3,5] {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, -1, -2, -3, -4, -5}> ()
	both = If (n) <then_branch = t () => (r) { r = Identity (w) }, else_branch = e () => (r) { r = Identity (z) }>
	shape = Shape (both)
	side = Concat <axis = 1> (y, relu)
	one = Constant <value_ints = [1]> ()
	sums = ReduceSum <keepdims = 0> (y, one)
	down = Constant <value_ints = [0]> ()
	first = Constant <value_int = 0> ()
	mean = ReduceMean (y, down)
	least = ReduceMin <keepdims = 0> (y)
	last = ArgMax <keepdims = 0, select_last_index = 1> (y)
	runs = CumSum <reverse = 1> (y, first)
	turned = Transpose (y)
	gram = MatMul (turned, y)
	nested = If (c) <
		then_branch = t () => (r) { r = If (n) <then_branch = t () => (r) { r = Neg (x) }, else_branch = e () => (r) { r = Abs (z) }> },
		else_branch = e () => (r) { r = Constant <value = float[1,3] {7, 8, 9}> () }>
	chosen = If (n) <then_branch = t () => (r) { r = Compress <axis = 0> (z, keep) }, else_branch = e () => (r) { r = Add (x, x) }>
	half = If (n) <
		then_branch = t () => (r) { s = Constant <value_ints = [0]> () e = Constant <value_ints = [1]> () r = Slice (h, s, e) },
		else_branch = e () => (r) { r = Neg (h) }>
	none = If (c) <then_branch = t () => (r) { r = Constant <value = float[0,3] {}> () }, else_branch = e () => (r) { r = Sub (x, x) }>
	places, second = If (c) <
		then_branch = t () => (r, s) { q = NonZero (keep) l = Constant <value_ints = [-1]> () r = Reshape (q, l) s = Add (r, r) },
		else_branch = e () => (r, s) { r = Constant <value_ints = [5, 6, 7, 8, 9]> () s = Neg (r) }>
	three = Constant <value_int = 3> ()
	start = Constant <value_float = 0.5> ()
	rounds = Loop <body = b (int64 i, bool g, float a) => (g, float d) {
		f = Cast <to = 1> (i)
		j = If (c) <then_branch = t () => (r) { r = Add (x, f) }, else_branch = e () => (r) { r = Mul (z, a) }>
		k = Shape (j) zero = Constant <value_int = 0> () p = Gather (k, zero) o = Cast <to = 1> (p) all = ReduceSum <keepdims = 0> (j)
		d = Sum (a, o, all)
	}> (three, , start)
	handed = Loop <body = b (int64 i, bool g, float[?,3] a) => (g, float[?,3] d) {
		d = If (c) <then_branch = t () => (r) { r = Neg (x) }, else_branch = e () => (r) { r = Exp (z) }>
	}> (three, , x)
}
"""
REFUSED = """<ir_version: 10, opset_import: ["" : 21]>
refused (bool c, float[2,3] x, float[4,3] z) => (y)
{
	o = Constant <value_ints = [0]> ()
	j = If (c) <then_branch = t () => (r) { r = Neg (x) }, else_branch = e () => (r) { r = %s }>
	%s
}
"""
OTHER = "Exp (z)"
C = """#include "joined.h"
#include <stdio.h>
#include <stdlib.h>
static ALIGNED unsigned char workspace[JOINED_WORKSPACE_BYTES];
static void *room(size_t bytes) { void *p = calloc(1, bytes); if (!p) abort(); return p; }
int main(void)
{
	struct joined_inputs in;
	struct joined_outputs out;
	struct joined_context context = { 0 };
	context.workspace = workspace;
%s
	for (int i = 0; i < 4; i++) {
		*(unsigned char *)(size_t)in.c = i & 1;
		*(unsigned char *)(size_t)in.n = i > 1 ? 255 : 0;
		if (joined_run(&in, &out, &context))
			return 1;
		printf("%%lld,%%lld ", ((long long *)out.y_dims)[0], ((long long *)out.none_dims)[0]);
	}
	return 0;
}
"""
TYPES = {1: ("f4", "float"), 7: ("i8", "long long"), 9: ("?", "unsigned char"), 10: ("f2", "unsigned short")}


def drawn(random, case):
    given = {}
    for i in model.graph.input:
        dims, kind = [d.dim_value for d in i.type.tensor_type.shape.dim], TYPES[i.type.tensor_type.elem_type][0]
        given[i.name] = np.array(bool(case >> CONDITIONS.index(i.name) & 1)) if i.name in CONDITIONS \
            else random.random(dims) < 0.5 if kind == "?" else np.asarray(random.integers(-3, 4, dims)).astype(kind)
    return given


with tempfile.TemporaryDirectory(prefix="test-branches.") as folder:
    os.chdir(folder)
    open("joined.onnxtxt", "w").write(MODEL)
    model = onnx.parser.parse_model(MODEL)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")))
    cases = [drawn(random, case) for case in range(4)]
    wanted, bits = [dict(zip(names, session.run(None, given))) for given in cases], {}
    for target in ("interpreter", "c", "jit", "cuda-emulated"):
        wrong = []
        for case, (given, want) in enumerate(zip(cases, wanted)):
            np.savez("in.npz", **given)
            code, out, message = run("run", "joined.onnxtxt", "--input", "in.npz", "--output", "out.npz", "--target", target)
            if code:
                wrong.append(message)
                continue
            with np.load("out.npz") as made:
                wrong += ["%d: %s is %s, not %s" % (case, k, made[k], v) for k, v in want.items() if made[k].shape != v.shape or not np.allclose(made[k], v, rtol=1e-5)]
                wrong += ["%d: %s" % (case, k) for k in made if k.endswith("_dims") and tuple(made[k]) != want[k[:-5]].shape]
                now = {k: made[k].tobytes() for k in made}
                wrong += ["%d: other bits" % case] if bits.setdefault(case, now) != now else []
        expect("by " + target, not wrong, "; ".join(wrong))

    # a library, with room for just the bounds
    code, out, message = run("build", "joined.onnxtxt", "-o", "lib", "--no-compile", "--weights", "c", "--cpu", "generic")
    manifest = json.load(open("lib/joined.json"))
    expect("manifest", code == 0 and {o["name"]: o.get("sizes") for o in manifest["outputs"]}["both"] == "both_dims", message + str(manifest["outputs"]))
    if shutil.which("cc"):
        rooms = ""
        for side in ("inputs", "outputs"):
            for tensor in manifest[side]:
                bytes = int(np.prod(tensor["dims"], dtype="i8")) * {"float": 4, "int64": 8, "bool": 1, "float16": 2}[tensor["type"]]
                rooms += "\t%s.%s = room(%d);\n" % ("in" if side == "inputs" else "out", tensor["name"], bytes)
        open("main.c", "w").write((C % rooms).replace("ALIGNED", "__attribute__((aligned(JOINED_WORKSPACE_ALIGN)))"))
        sources = ["lib/" + f for f in os.listdir("lib") if f.endswith(".c")]
        subprocess.run(["cc", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Ilib", "main.c", *sources, "-o", "main", "-lm"], check=True)
        done = subprocess.run(["./main"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
        expect("a caller", done.stdout == "4,2 2,0 4,2 2,0 ", done.stdout + done.stderr[-600:])

    # an extent that a call says, in one branch
    bounded = MODEL[:MODEL.index("joined")] + """bounded (bool c, float[N,3] x, float[5,3] z) => (float[A,3] y, float[N,3] s)
{
	y = If (c) <then_branch = t () => (r) { r = Neg (x) }, else_branch = e () => (r) { r = Abs (z) }>
	s = If (c) <then_branch = t () => (r) { r = Neg (x) }, else_branch = e () => (r) { r = Abs (x) }>
}
"""
    open("bounded.onnxtxt", "w").write(bounded)
    for rows, c in ((1, True), (8, True), (3, False), (5, True)):
        x, z = random.random((rows, 3), np.float32), random.random((5, 3), np.float32)
        np.savez("in.npz", c=c, x=x, z=z)
        code, out, message = run("run", "bounded.onnxtxt", "--dim", "N=1..8", "--input", "in.npz", "--output", "out.npz", "--target", "jit")
        expect("a call says %d" % rows, code == 0, message)
        with np.load("out.npz") as made:
            expect("%d rows" % rows, np.array_equal(made["y"], -x if c else z) and np.array_equal(made["s"], -x if c else x), str(made["y"]))

    # what is not thought of is refused, and named
    for name, other, text, part in (("another number of dimensions", "ReduceMax <keepdims = 0> (z, o)", "y = Neg (j)",
                                     "output 0 (j) is float[2,3] in then_branch and float[3] in else_branch; a number of dimensions that the condition decides is not supported"),
                                    ("beside another extent", OTHER, "y = Add (j, z)", "Add: data decide dimension 0 of j"),
                                    ("what is there once", OTHER, "y = Unique (j)", "Unique: data decide dimension 0 of j"),
                                    ("bits below a byte", OTHER, "y = Cast <to = 22> (j)", "output y of int4, whose extents data decide, is not supported")):
        open("refused.onnxtxt", "w").write(REFUSED % (other, text))
        code, out, message = run("build", "refused.onnxtxt", "-o", "not")
        expect(name, code == 4 and part in message and message.count("\n") == 1, "exit %d: %s" % (code, message))
    open("declared.onnxtxt", "w").write((REFUSED % (OTHER, "y = Relu (j)")).replace("(y)", "(float[2,3] y)"))
    code, out, message = run("build", "declared.onnxtxt", "-o", "not")
    expect("declared otherwise", code == 4 and "dimension 0 of y is declared as 2, but data decide it" in message, message)
    open("longer.onnxtxt", "w").write(MODEL[:MODEL.index("joined")] + """longer (bool c, float[2,3] x, float[4,3] z, float a0) => (float y)
{
	most = Constant <value_int = 5000> ()
	y = Loop <body = b (int64 i, bool g, float a) => (g, float d) {
		j = If (c) <then_branch = t () => (r) { r = Neg (x) }, else_branch = e () => (r) { r = Mul (z, a) }>
		k = Shape (j) zero = Constant <value_int = 0> () p = Gather (k, zero) o = Cast <to = 1> (p) d = Add (a, o)
	}> (most, , a0)
}
""")
    code, out, message = run("build", "longer.onnxtxt", "-o", "not")
    expect("rounds that cannot be a loop", code == 6 and "more than 4096 rounds" in message and "depends on data" in message, message)
    expect("nothing half written", not os.path.exists("not"))

    # a branch that is wrong for these shapes: the other runs, a call that chooses it ends with its node's message
    open("rates.onnxtxt", "w").write(RATES)
    random = np.random.default_rng(3)
    feeds = {"x": random.standard_normal((1, 2, 8), "f4"), "a": random.standard_normal((3, 2, 8), "f4"), "b": random.standard_normal((3, 2, 4), "f4")}
    right = np.einsum("ncl,ocl->no", feeds["x"], feeds["a"])
    for target in ("interpreter", "jit", "c"):
        for rate in (16000, 8000):
            np.savez("rate.npz", sr=np.int64(rate), **feeds)
            code, out, message = run("run", "rates.onnxtxt", "--input", "rate.npz", "--target", target, "--output", "rate_out.npz")
            warning, *rest = message.splitlines()
            told = "else_branch cannot be computed: node narrow (Squeeze): Squeeze: dimension 2 has 3, 1 is right"
            expect("%d by %s" % (rate, target), code == (0 if rate == 16000 else 3) and "warning: " in warning and told in warning and (told in message.split("\n", 1)[1] if code else not rest), message)
            if not code:
                with np.load("rate_out.npz") as made:
                    expect("its numbers", np.allclose(made["y"], right, atol=1e-4), str(made["y"]))
    code, out, message = run("info", "rates.onnxtxt", "--value", "sr=16000")
    expect("info takes a value", code == 0 and "y float[1,3]" in out and not message, message)
    code, out, message = run("info", "rates.onnxtxt", "--value", "sr=8000")
    expect("info takes the wrong one", code == 3 and "node narrow (Squeeze)" in message, message)
finish()
