#!/usr/bin/env python3
"""ranges.py INGOT [SEED]: --dim N=LEAST..MOST: one library for every extent up to a bound, on every target, beside one that is made for each; memory of the actual extents alone;
what is refused.  77 where NumPy is not there."""
import json
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

ATTENTION = """<ir_version: 8, opset_import: ["" : 17]>
attention (float[1,N,8] x) => (float[1,N,8] y)
<float[8,8] w = {%s}, float[8] scale = {1,1,1,1,1,1,1,1}, int64[4] split = {1,-1,2,4}, int64[3] joined = {1,0,-1}>
{
	even = LayerNormalization <axis = -1> (x, scale)
	q = MatMul (even, w)
	qr = Reshape (q, split)
	qh = Transpose <perm = [0,2,1,3]> (qr)
	kh = Transpose <perm = [0,2,3,1]> (qr)
	s = MatMul (qh, kh)
	p = Softmax <axis = -1> (s)
	h = MatMul (p, qh)
	hl = Transpose <perm = [0,2,1,3]> (h)
	hj = Reshape (hl, joined)
	y = Add (x, hj)
}
"""
TWO = """<ir_version: 8, opset_import: ["" : 17]>
two (float[A,3,B] x, int64[B] ids, float[5,A] table) => (float[B,A] sum, float[A,B,2] rows, float[A,6,B] both, int64[3] shape)
<float[6,2] words = {0,1,2,3,4,5,6,7,8,9,10,11}>
{
	turned = Transpose <perm = [2,0,1]> (x)
	sum = ReduceMax <axes = [2], keepdims = 0> (turned)
	found = Gather (words, ids)
	zero = Constant <value_ints = [0]> ()
	one = Unsqueeze (found, zero)
	flat = ReduceMax <axes = [0], keepdims = 0> (table)
	last = Constant <value_ints = [1, 2]> ()
	column = Unsqueeze (flat, last)
	rows = Mul (one, column)
	both = Concat <axis = 1> (x, x)
	shape = Shape (rows)
}
"""
CALLER = """#include "attention.h"
#include <stdio.h>
#include <stdlib.h>
static unsigned char workspace[ATTENTION_WORKSPACE_BYTES] __attribute__((aligned(ATTENTION_WORKSPACE_ALIGN)));
int main(void)
{
	for (long long n = 0; n <= ATTENTION_N_MOST + 1; n++) {
		float *x = malloc((size_t)n * 8 * sizeof *x + 1), *y = malloc(ATTENTION_N_MOST * 8 * sizeof *y);      /* no more than there is: a sanitizer sees what reads on */
		long long dims[3] = { 0, 0, 0 };
		struct attention_context context = { 0 };
		context.workspace = workspace;
		for (long long i = 0; i < n * 8; i++)
			x[i] = (float)(i % 7) - 3;
		const struct attention_inputs in = { x, &n };
		const struct attention_outputs out = { y, n % 3 ? dims : 0 };           /* nobody has to ask */
		int status = attention_run(&in, &out, &context);
		printf("%d:%lld ", status, status ? 0 : n % 3 ? dims[1] : n);
		free(x);
		free(y);
	}
	return 0;
}
"""


with tempfile.TemporaryDirectory(prefix="test-ranges.") as folder:
    os.chdir(folder)
    random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")))
    open("attention.onnxtxt", "w").write(ATTENTION % ",".join("%.3f" % v for v in random.standard_normal(64)))
    open("two.onnxtxt", "w").write(TWO)
    bits = {}
    for target in ("interpreter", "c", "jit", "cuda-emulated"):
        wrong = []
        for n in (1, 5, 16) if target in ("interpreter", "jit") else (5, 16):
            x = np.random.default_rng(n).standard_normal((1, n, 8)).astype(np.float32)
            np.save("x.npy", x)
            made = []
            for more in (["--dim", "N=1..16"], []):
                code, out, message = run("run", "attention.onnxtxt", "--input", "x=x.npy", "--output", "y=y.npy", "--target", target, *more)
                made.append(np.load("y.npy") if code == 0 else message)
            if isinstance(made[0], str) or made[0].shape != made[1].shape or not np.allclose(*made, rtol=1e-4, atol=1e-5):
                wrong.append("%d: %s" % (n, made))
            elif bits.setdefault(n, made[0].tobytes()) != made[0].tobytes():
                wrong.append("%d: other bits than the interpreter" % n)
        expect("attention by " + target, not wrong, "; ".join(wrong))
        wrong = []
        for a, b in ((1, 1), (3, 7), (4, 2), (4, 7))[:4 if target in ("interpreter", "jit") else 2]:
            x, table = random.random((a, 3, b), np.float32), random.random((5, a), np.float32)
            ids = random.integers(-6, 6, b)
            np.savez("two.npz", x=x, ids=ids, table=table)
            code, out, message = run("run", "two.onnxtxt", "--input", "two.npz", "--output", "out.npz", "--dim", "A=1..4", "--dim", "B=0..7", "--target", target)
            if code:
                wrong.append(message)
                continue
            words = np.arange(12, dtype=np.float32).reshape(6, 2)
            want = {"sum": x.transpose(2, 0, 1).max(2), "rows": words[ids][None] * table.max(0)[:, None, None], "both": np.concatenate([x, x], 1), "shape": np.array([a, b, 2])}
            with np.load("out.npz") as made:
                wrong += ["%s: %s, not %s" % (k, made[k], v) for k, v in want.items() if made[k].shape != v.shape or not np.allclose(made[k], v)]
        expect("two symbols by " + target, not wrong, "; ".join(wrong))
        np.save("x.npy", np.zeros((1, 2, 8), np.float32))
        told("fewer than the least by " + target, 6, "N is not in [3, 16], for which the model is compiled", "run", "attention.onnxtxt", "--input", "x=x.npy", "--dim", "N=3..16", "--target", target)

    # a library: how many is a member, the most a macro, and no memory is read but what is there
    code, out, message = run("build", "attention.onnxtxt", "--dim", "N=1..16", "-o", "lib", "--no-compile", "--weights", "c", "--cpu", "generic")
    header, manifest = open("lib/attention.h").read() if code == 0 else "", json.load(open("lib/attention.json"))
    expect("header", all(part in header for part in ("#define ATTENTION_N_MOST 16\n", "const long long *N;", "/* [1,16,8] at most, dense in what N says, x */",
           "/* [1,16,8] at most, dense in what y_dims says, y */", "N is not in [1, 16]")), header + message)
    expect("manifest", [(i["name"], i.get("sizes"), i.get("most")) for i in manifest["inputs"]] == [("x", "N", None), ("N", None, 16)], str(manifest["inputs"]))
    if shutil.which("cc"):
        open("main.c", "w").write(CALLER)
        sources = ["lib/" + f for f in os.listdir("lib") if f.endswith(".c")]
        for more in ([], ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]):
            if subprocess.run(["cc", "-O1", "-Wall", "-Wextra", *more, "-Ilib", "main.c", *sources, "-o", "main", "-lm"]).returncode and more:
                continue                                    # a compiler without it
            done = subprocess.run(["./main"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            expect("a caller" + " under a sanitizer" * bool(more), done.stdout == "16:0 " + "".join("0:%d " % n for n in range(1, 17)) + "16:0 ", done.stdout + done.stderr)

    build = ("build", "attention.onnxtxt", "-o", "not")
    told("more than the most", 2, "x.npy holds float32 [1,2,8], x is float32 [1,1,8]", "run", "attention.onnxtxt", "--input", "x=x.npy", "--dim", "N=1..1")
    np.savez("two.npz", x=np.zeros((2, 3, 3), np.float32), ids=np.zeros(2, np.int64), table=np.zeros((5, 2), np.float32))
    told("two of one symbol", 2, "dim 0 of input ids is 2, but B is 3 in input x", "run", "two.onnxtxt", "--input", "two.npz", "--dim", "A=1..4", "--dim", "B=1..7")
    told("a range that is none", 2, "a range must be LEAST..MOST", *build, "--dim", "N=4..2")
    told("no such symbol", 2, "--dim M: no input has a dim of that name", *build, "--dim", "M=1..2")
    text = open("attention.onnxtxt").read()
    for name, old, new, part in (("an op that does not think of it", "y = Add (x, hj)", "c = Unique <axis = 1> (x)  y = Add (c, hj)", "Unique: data decide dimension 1 of x"),
                                 ("a literal shape", "split = {1,-1,2,4}", "split = {1,16,2,4}", "Reshape: data decide dimension 1 of q"),
                                 ("another declared", "=> (float[1,N,8] y)", "=> (float[1,16,8] y)", "dimension 1 of y is declared as 16")):
        changed = text.replace(old, new)
        assert changed != text
        open("other.onnxtxt", "w").write(changed)
        told(name, 4, part, "build", "other.onnxtxt", "-o", "not", "--dim", "N=1..16")
    expect("nothing half written", not os.path.exists("not"))
finish()
