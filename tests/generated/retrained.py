#!/usr/bin/env python3
"""Weights that were trained anew go under the code of the old ones; others are refused.

    retrained.py INGOT        exit 0: right, 1: wrong"""
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from told import INGOT, expect, finish

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
net (float[4, 24] x) => (float[4, %(out)d] y)
<float[24, %(out)d] w = {%(w)s}, float[%(out)d] b = {%(b)s}, float[%(out)d] c = {%(c)s}, float scale = {%(scale)s}>
{ h = MatMul (x, w)  hb = Add (h, b)  hc = Mul (hb, c)  s = Mul (hc, scale)  l = LeakyRelu <alpha = %(alpha)s> (s)  y = Tanh (l) }
"""
MAIN = """#include "net.h"
#include <stdio.h>
#include <stdlib.h>
static unsigned char workspace[NET_WORKSPACE_BYTES + 64];
int main(int count, char **words)
{
	static float x[NET_X_ELEMENTS], y[NET_Y_ELEMENTS];
	const struct net_inputs in = { x };
	const struct net_outputs out = { y };
	struct net_context context = { 0 };
	static unsigned char file[1 << 16];
	context.workspace = workspace + (64 - (size_t)workspace % 64);
	for (int i = 0; i < NET_X_ELEMENTS; i++)
		x[i] = (float)(i % 7) / 8 - .375f;
	if (count > 1) {
		FILE *from = fopen(words[1], "rb");
		size_t bytes = from ? fread(file, 1, sizeof file, from) : 0;
		int code = net_weights_check(file, bytes);
		if (code || net_weights_check(file, bytes - 1) != NET_BAD_WEIGHTS || net_weights_check(0, bytes) != NET_BAD_WEIGHTS || bytes != NET_WEIGHTS_FILE_BYTES)
			return printf("code %d\\n", code), 0;
		context.weights = file;
	}
	if (net_run(&in, &out, &context))
		return 1;
	for (int i = 0; i < NET_Y_ELEMENTS; i++)
		printf("%a ", (double)y[i]);
	return 0;
}
"""


def main():
    with tempfile.TemporaryDirectory(prefix="retrained.") as scratch:
        draw = random.Random(int(os.environ.get("INGOT_SEED", "1")))
        floats = lambda n: ", ".join("%.4f" % draw.uniform(-1, 1) for _ in range(n))
        said, kinds = {}, {"first": (20, "0.5", "0.1"), "second": (20, "0.75", "0.1"), "alike": (20, "0.5", "0.1"), "wider": (21, "0.5", "0.1"), "steeper": (20, "0.5", "0.2")}
        for name, (out, scale, alpha) in kinds.items():
            folder, path = os.path.join(scratch, name), os.path.join(scratch, name + ".onnxtxt")
            b, c = floats(out), floats(out)           # alike: weights that have the same bytes are two all the same
            open(path, "w").write(MODEL % {"out": out, "w": floats(24 * out), "b": b, "c": b if name == "alike" else c, "scale": scale, "alpha": alpha})
            subprocess.run([INGOT, "build", path, "--name", "net", "--cpu", "generic", "-o", folder], check=True, stdout=subprocess.DEVNULL)
            open(os.path.join(folder, "main.c"), "w").write(MAIN)
            subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-I.", "main.c", "libnet.a", "-o", "main"], cwd=folder, check=True)
            said[name] = subprocess.run([os.path.join(folder, "main")], capture_output=True, text=True, check=True).stdout
        run = lambda code, weights: subprocess.run([os.path.join(scratch, code, "main"), os.path.join(scratch, weights, "net_weights.bin")], capture_output=True, text=True, check=True).stdout
        expect("five models", len(set(said.values())) == 5)
        expect("its own", run("first", "first") == said["first"], run("first", "first"))
        expect("trained anew", run("first", "second") == said["second"] and run("second", "first") == said["first"], run("first", "second"))
        expect("two weights alike", run("first", "alike") == said["alike"] and run("alike", "first") == said["first"], run("alike", "first"))
        expect("of another shape", run("first", "wider") == run("wider", "first") == "code 5\n", run("first", "wider"))
        expect("a number that is in the code", run("first", "steeper") == run("steeper", "first") == "code 5\n", run("first", "steeper"))
    finish()


if __name__ == "__main__":
    main()
