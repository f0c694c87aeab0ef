#!/usr/bin/env python3
"""within.py INGOT: an input whose outermost dim is in a range is read where the caller has it, without a copy, by kernels that end at the count: the bits are those of the fixed dim at
every count, and a page that may not be read lies behind the last row.  77 where NumPy, a C compiler or such pages are not there."""
import os
import re
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

if not shutil.which("cc") or not sys.platform.startswith("linux"):
    print("skipped: no C compiler, or no mmap")
    sys.exit(77)

MOST = 16       # as many rows as lanes
random = np.random.default_rng(1)


def weights(name, *dims):
    return "float[%s] %s = {%s}" % (",".join(map(str, dims)), name, ",".join("%.3f" % v for v in random.standard_normal(dims).ravel()))


# name, a row of the input, one of the output, the nodes, their weights; is it read in place
OPS = (("transposed", (64, 64), (64, 64), "{y} = Transpose <perm = [0,2,1]> ({x})", (), True),
       ("odd", (17, 31), (31, 17), "{y} = Transpose <perm = [0,2,1]> ({x})", (), True),
       ("largest", (21, 256), (256,), "{f} = ArgMax <axis = 1, keepdims = 0> ({x})  {y} = Cast <to = 1> ({f})", (), True),
       ("softmax", (1000,), (1000,), "{y} = Softmax <axis = 1> ({x})", (), True),
       ("heads", (12, 17), (12, 17), "{y} = Softmax <axis = 2> ({x})", (), True),
       ("normed", (96,), (96,), "{y} = LayerNormalization ({x}, scale)", (("scale", 96),), True),
       ("mean", (96, 7, 7), (96, 1, 1), "{y} = GlobalAveragePool ({x})", (), True),
       ("relu", (41, 37), (41, 37), "{y} = Relu ({x})", (), True),
       ("pooled", (17, 30, 31), (17, 30, 31), "{y} = MaxPool <kernel_shape = [3,3], pads = [1,1,1,1]> ({x})", (), True),
       ("halved", (32, 28, 28), (32, 14, 14), "{y} = MaxPool <kernel_shape = [2,2], strides = [2,2]> ({x})", (), True),
       ("pointwise", (32, 14, 14), (64, 14, 14), "{y} = Conv ({x}, w1)", (("w1", 64, 32, 1, 1),), True),
       ("pointwise_odd", (17, 15, 13), (33, 15, 13), "{y} = Conv ({x}, w2)", (("w2", 33, 17, 1, 1),), True),
       ("strided", (17, 15, 13), (16, 8, 7), "{y} = Conv <pads = [1,1,1,1], strides = [2,2]> ({x}, w3)", (("w3", 16, 17, 3, 3),), True),
       ("depthwise", (17, 30, 31), (17, 30, 31), "{y} = Conv <pads = [1,1,1,1], group = 17> ({x}, w4)", (("w4", 17, 1, 3, 3),), True),
       ("summed", (64,), (64,), "{f} = Constant <value = int64 {{1}}> ()  {y} = CumSum ({x}, {f})", (), True),   # rows beside each other, or one by one
       ("columns", (7, 33), (7, 33), "{f} = Constant <value = int64 {{1}}> ()  {y} = CumSum <exclusive = 1, reverse = 1> ({x}, {f})", (), True),
       ("best", (50,), (3,), "{f} = Constant <value = int64[1] {{3}}> ()  {y}, {f}p = TopK <axis = 1> ({x}, {f})", (), True),
       ("best_columns", (8, 33), (3, 33), "{f} = Constant <value = int64[1] {{3}}> ()  {y}, {f}p = TopK <axis = 1> ({x}, {f})", (), True),
       ("sorted", (1500,), (200,), "{f} = Constant <value = int64[1] {{200}}> ()  {y}, {f}p = TopK <axis = 1> ({x}, {f})", (), True),
       ("product", (64,), (32,), "{y} = MatMul ({x}, w5)", (("w5", 64, 32),), False),      # rows of its tiles go on behind the count
       ("headed", (17, 14, 14), (10,), "{f} = Conv ({x}, w6)  {f}m = GlobalAveragePool ({f})  {f}r = Flatten ({f}m)  {y} = MatMul ({f}r, w7)", (("w6", 32, 17, 1, 1), ("w7", 32, 10)), True),
       ("both", (64,), (32,), "{f} = Neg ({x})  {y} = MatMul ({f}, w5)", (), True))
CALLER = """#define _GNU_SOURCE
#include "range.h"
#include "fixed.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static unsigned char workspace[RANGE_WORKSPACE_BYTES + FIXED_WORKSPACE_BYTES + 1] __attribute__((aligned(4096)));
static char *page_behind(size_t bytes)
{
	size_t whole = (bytes + 4095) / 4096 * 4096;
	char *at = mmap(0, whole + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED || mprotect(at + whole, 4096, PROT_NONE))
		exit(77);
	return at + whole - bytes;
}
static const long rows[] = {%(rows)s}, made[] = {%(made)s};
static const char *const names[] = {%(names)s};
enum { OPS = sizeof rows / sizeof *rows, MOST = %(most)d };
int main(void)
{
	float *all[OPS], *want[OPS], *got[OPS], *x[OPS];
	for (int o = 0; o < OPS; o++) {
		all[o] = malloc(MOST * rows[o] * sizeof(float));
		want[o] = malloc(MOST * made[o] * sizeof(float));
		got[o] = malloc(MOST * made[o] * sizeof(float));
		for (long i = 0; i < MOST * rows[o]; i++)
			all[o][i] = (float)(i * 7919 %% 1013 - 500) / 97;
	}
	struct range_context range = { 0 };
	struct fixed_context fixed = { 0 };
	range.workspace = fixed.workspace = workspace;
	const struct fixed_inputs in = {%(all)s};
	const struct fixed_outputs out = {%(want)s};
	if (fixed_run(&in, &out, &fixed))
		return 2;
	for (long long n = 1; n <= MOST; n++) {
		for (int o = 0; o < OPS; o++) {
			x[o] = (float *)page_behind(n * rows[o] * sizeof(float));
			memcpy(x[o], all[o], n * rows[o] * sizeof(float));
		}
		memset(workspace, 0xff, sizeof workspace);
		const struct range_inputs some = {%(x)s, .N = &n};
		const struct range_outputs there = {%(got)s};
		if (range_run(&some, &there, &range))
			return 3;
		for (int o = 0; o < OPS; o++)
			if (memcmp(got[o], want[o], n * made[o] * sizeof(float)))
				printf("%%s at %%lld ", names[o], n);
	}
	return 0;
}
"""


def listed(format, parts=OPS):
    return ", ".join(format.format(name=op[0], o=i, row=int(np.prod(op[1])), made=int(np.prod(op[2]))) for i, op in enumerate(parts))


def dims(of):
    return ",".join(map(str, ("N", *of)))


with tempfile.TemporaryDirectory(prefix="test-within.") as folder:
    os.chdir(folder)
    open("within.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 17]>\nwithin (%s) => (%s)\n<%s>\n{\n%s\n}\n' % (
        ", ".join("float[%s] x_%s" % (dims(op[1]), op[0]) for op in OPS), ", ".join("float[%s] y_%s" % (dims(op[2]), op[0]) for op in OPS),
        ", ".join(weights(*w) for op in OPS for w in op[4]), "\n".join("\t" + op[3].format(x="x_" + op[0], y="y_" + op[0], f="f_" + op[0]) for op in OPS)))
    texts = {"rows": listed("{row}"), "made": listed("{made}"), "names": listed('"{name}"'), "most": MOST, "all": listed(".x_{name} = all[{o}]"), "want": listed(".y_{name} = want[{o}]"),
             "x": listed(".x_{name} = x[{o}]"), "got": listed(".y_{name} = got[{o}]")}
    open("main.c", "w").write(CALLER % texts)
    for cpu in ("native", "x86-64-v3", "generic"):
        march = {"native": "-march=native", "x86-64-v3": "-march=x86-64-v3", "generic": "-O2"}[cpu]
        if cpu == "x86-64-v3" and " avx2 " not in open("/proc/cpuinfo").read():
            continue
        code, kernels, message = run("show", "within.onnxtxt", "--stage", "kernels", "--dim", "N=1..%d" % MOST, "--cpu", cpu)
        copied = [op[0] for op in OPS if "x_%s_there" % op[0] in kernels]
        expect("no copies, " + cpu, code == 0 and cpu == "generic" or copied == [op[0] for op in OPS if not op[5]], "%s %s" % (copied, message))
        sources = []
        for name, extent in (("range", "N=1..%d" % MOST), ("fixed", "N=%d" % MOST)):
            code, _, message = run("build", "within.onnxtxt", "--dim", extent, "--name", name, "-o", name, "--no-compile", "--weights", "c", "--cpu", cpu)
            expect("build %s, %s" % (name, cpu), code == 0, message)
            if (name, cpu) == ("range", "native"):      # steps of a fused kernel: a mean's blocks are rows, and what is inside them
                text = "".join(open(name + "/" + f).read() for f in os.listdir(name) if f.endswith(".c"))
                calls = [line for line in text.split("\n") if re.match(r"\t+range_k\d+_contraction_0\(", line)]
                expect("a mean in front of a product ends", any("rows" in line for line in calls), str(calls))
            sources += [name + "/" + f for f in os.listdir(name) if f.endswith(".c")]
        done = subprocess.run(["cc", "-O1", "-std=gnu11", "-ffp-contract=off", march, "-Irange", "-Ifixed", "main.c", *sources, "-o", "main", "-lm"], stderr=subprocess.PIPE, text=True)
        expect("compiled, " + cpu, done.returncode == 0, done.stderr)
        done = subprocess.run(["./main"], stdout=subprocess.PIPE, text=True)
        expect("bits, and no byte behind the last row, " + cpu, (done.returncode, done.stdout) == (0, ""), "exit %d: %s" % (done.returncode, done.stdout))
    inputs = {"x_" + op[0]: random.standard_normal((2, *op[1])).astype(np.float32) for op in OPS}
    np.savez("x.npz", **inputs)
    made = {}
    for target in ("interpreter", "jit", "c"):
        code, _, message = run("run", "within.onnxtxt", "--input", "x.npz", "--output", target + ".npz", "--dim", "N=1..%d" % MOST, "--target", target)
        made[target] = dict(np.load(target + ".npz")) if code == 0 else message
        expect("the interpreter's bits by " + target, code == 0 and all(made[target][k].tobytes() == made["interpreter"][k].tobytes() for k in made[target]), message)
    finish()
