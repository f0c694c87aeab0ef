#!/usr/bin/env python3
"""ends.py INGOT [SEED]: kernels of dims in a range end at the count: the bits are the interpreter's at every count, whatever lies behind it in memory; what is not there is not
computed (its memory stays as it was), and threads share what is there.  77 where NumPy or a C compiler is not there."""
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
from told import expect, finish, run

if not shutil.which("cc"):
    print("skipped: no C compiler")
    sys.exit(77)

# Heads that attend to keys of another length, a maximum over a row that is all there, and a part of several examples: rows inside a batch, turned results.
BLOCK = """<ir_version: 8, opset_import: ["" : 17]>
block (float[B,N,64] x, float[B,K,64] z) => (float[B,N,64] y)
<float[64] scale = {%s}, float[64,64] wq = {%s}, float[64,64] wk = {%s}, float[64,128] wide = {%s}, float[128,64] narrow = {%s}, int64[4] split = {0,-1,4,16}, int64[3] joined = {0,-1,64}>
{
	even = LayerNormalization <axis = -1> (x, scale)
	qf = MatMul (even, wq)
	qr = Reshape (qf, split)
	q = Transpose <perm = [0,2,1,3]> (qr)
	kf = MatMul (z, wk)
	kr = Reshape (kf, split)
	k = Transpose <perm = [0,2,3,1]> (kr)
	v = Transpose <perm = [0,2,1,3]> (kr)
	s = MatMul (q, k)
	p = Softmax <axis = -1> (s)
	h = MatMul (p, v)
	hl = Transpose <perm = [0,2,1,3]> (h)
	hj = Reshape (hl, joined)
	attended = Add (x, hj)
	again = LayerNormalization <axis = -1> (attended, scale)
	wf = MatMul (again, wide)
	act = Tanh (wf)
	nf = MatMul (act, narrow)
	y = Add (attended, nf)
}
"""
CALLER = """#include "block.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned char workspace[BLOCK_WORKSPACE_BYTES] __attribute__((aligned(BLOCK_WORKSPACE_ALIGN)));
static int only = -1;
static void tasks(void *pool, void (*task)(void *argument, int index), void *argument, int count)
{
	(void)pool;
	for (int i = count - 1; i >= 0; i--)
		if (only < 0 || (only == 1) == (i == count - 1))
			task(argument, i);
}
int main(int argc, char **argv)
{
	const struct ingot_parallel parallel = { tasks, NULL, 2 };
	long long n = atoll(argv[1]), b = atoll(argv[2]), k = atoll(argv[3]), dims[3];
	int threads = argc > 4;
	float *x = malloc((size_t)(b * n * 64) * sizeof *x + 1), *z = malloc((size_t)(b * k * 64) * sizeof *z + 1), *y = malloc(9999 * sizeof *y);
	FILE *file = fopen("xz", "rb");
	size_t left = (size_t)(BLOCK_WORKSPACE_BYTES);
	if (!file || fread(x, 4, (size_t)(b * n * 64), file) != (size_t)(b * n * 64) || fread(z, 4, (size_t)(b * k * 64), file) != (size_t)(b * k * 64))
		return 1;
	struct block_context context = { 0 };
	context.workspace = workspace;
	context.parallel = threads ? &parallel : NULL;
	only = threads ? atoi(argv[4]) : -1;
	memset(workspace, 0xff, sizeof workspace);                     /* not a number, wherever nothing is stored */
	const struct block_inputs in = { SIZES };
	const struct block_outputs out = { y, dims };
	int status = block_run(&in, &out, &context);
	for (size_t i = 0; i < sizeof workspace; i++)
		left -= workspace[i] == 0xff;
	printf("%d %lu\\n", status, (unsigned long)left);
	file = fopen("y", "wb");
	fwrite(y, 4, (size_t)(b * n * 64), file);
	return 0;
}
"""

with tempfile.TemporaryDirectory(prefix="test-ends.") as folder:
    os.chdir(folder)
    random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")))
    weights = [",".join("%.3f" % w for w in random.standard_normal(count) / 4) for count in (64, 4096, 4096, 8192, 8192)]
    open("block.onnxtxt", "w").write(BLOCK % tuple(weights))
    CASES = [                                               # name, dims, (N, B, K) of each run, the least first and the most last; the run of which threads have parts
        ("rows", {"B": "1", "N": "0..48", "K": "0..40"}, [(0, 1, 3), (1, 1, 1), (3, 1, 40), (16, 1, 0), (17, 1, 17), (47, 1, 39), (48, 1, 40)], 3),
        ("rows of examples", {"B": "3", "N": "1..20", "K": "20"}, [(1, 3, 20), (7, 3, 20), (20, 3, 20)], 1),
        ("examples", {"B": "0..5", "N": "12", "K": "12"}, [(12, 0, 12), (12, 1, 12), (12, 4, 12), (12, 5, 12)], 2),
        ("rows and examples", {"B": "1..3", "N": "1..20", "K": "1..9"}, [(1, 1, 1), (9, 2, 4), (20, 3, 9)], 1),
    ]
    for name, dims, runs, middle in CASES:
        words = [w for symbol, range_ in dims.items() for w in ("--dim", "%s=%s" % (symbol, range_))]
        want = {}
        for n, b, k in runs:
            x, z = random.standard_normal((b, n, 64)).astype(np.float32), random.standard_normal((b, k, 64)).astype(np.float32)
            np.savez("in.npz", x=x, z=z)
            code, out, message = run("run", "block.onnxtxt", "--input", "in.npz", "--output", "y=y.npy", "--target", "interpreter", *words)
            want[n, b, k] = x, z, np.load("y.npy") if code == 0 else message
            for target in ("jit", "cuda-emulated") if (n, b, k) in (runs[0], runs[1], runs[-1]) else ():
                code, out, message = run("run", "block.onnxtxt", "--input", "in.npz", "--output", "y=y.npy", "--target", target, *words)
                expect("%s: %s by %s" % (name, (n, b, k), target), code == 0 and np.load("y.npy").tobytes() == want[n, b, k][2].tobytes(), message)
        code, glue, message = run("show", "block.onnxtxt", "--stage", "glue", *words)
        expect("%s: the JIT's glue ends" % name, code == 0 and glue.count("to = to * (") >= 4, message)
        code, grid, message = run("show", "block.onnxtxt", "--stage", "source", "--target", "cuda", *words)
        expect("%s: blocks of a grid end" % name, code == 0 and sum(text.split("\n")[1:2] == ["\t\treturn;"] for text in grid.split("\tif (")) >= 3, "%d of them%s" % (grid.count("\treturn;"), message))
        for cpu in ("native", "generic"):
            shutil.rmtree("lib", ignore_errors=True)
            code, out, message = run("build", "block.onnxtxt", "-o", "lib", "--no-compile", "--weights", "c", "--cpu", cpu, "--threads", "2", *words)
            order = [line.split("*")[1].split(";")[0] for line in open("lib/block.h") if line.strip().startswith("const long long *")] if code == 0 else []
            sizes = ", ".join(["x", "z"] + ["&%s" % s.lower() for s in order])
            open("main.c", "w").write(CALLER.replace("SIZES", sizes))
            sources = ["lib/" + f for f in sorted(os.listdir("lib")) if f.endswith(".c")] if code == 0 else []
            built = subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", *(["-march=native"] if cpu == "native" else []), "-Ilib", "main.c", *sources, "-o", "main", "-lm"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            expect("%s on %s: built" % (name, cpu), built.returncode == 0, message + built.stderr[:2000])
            if built.returncode:
                continue
            wrong, touched = [], {}
            for (n, b, k), (x, z, y) in want.items():
                open("xz", "wb").write(x.tobytes() + z.tobytes())
                for threads in ([], ["-1"], ["1"]):
                    done = subprocess.run(["./main", str(n), str(b), str(k), *threads], stdout=subprocess.PIPE, text=True)
                    status, stored = done.stdout.split() if done.stdout else ("crashed", 0)
                    touched[n, b, k, "".join(threads)] = int(stored)
                    if threads != ["1"] and (isinstance(y, str) or status != "0" or open("y", "rb").read() != y.tobytes()):
                        wrong.append("%s %s: status %s, other bits%s" % ((n, b, k), threads, status, y if isinstance(y, str) else ""))
            expect("%s on %s: bits" % (name, cpu), not wrong, "; ".join(wrong))
            least, most = touched[runs[0] + ("",)], touched[runs[-1] + ("",)]
            expect("%s on %s: what is not there is not computed" % (name, cpu), least < 0.6 * most, "%d bytes of %d" % (least, most))
            last, all_of = touched[runs[middle] + ("1",)], touched[runs[middle] + ("",)]
            expect("%s on %s: the last thread has its part" % (name, cpu), last > 0.25 * all_of, "%d bytes of %d" % (last, all_of))
    # A convolution with a maximum behind it: both end at the rows that are there.
    open("pooled.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 17]>\ng (float[N,2,12,12] x, float[8,2,5,5] w) => (float[N,8,6,6] y)\n{\n'
                                      "c = Conv <pads = [2, 2, 2, 2]> (x, w)\ny = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)\n}\n")
    code, kernels, message = run("show", "pooled.onnxtxt", "--stage", "kernels", "--dim", "N=1..32")
    of = [text for text in kernels.split("\n\n") if " contraction " in text or "_maximum " in text]
    expect("a pooled convolution: its kernels end", code == 0 and len(of) == 2 and all(" = N " in text for text in of), message + kernels)
finish()
