#!/usr/bin/env python3
"""twins.py: two models of one library that call their tensors alike: the numbers of each alone, in both orders, whatever is shared.

    twins.py INGOT        exit 0: right, 1: wrong"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from told import INGOT, expect, finish, told

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
LEFT = HEAD + "main_graph (float[2, 4] x) => (float[2, 4] output)\n<float[4] w = {1, 2, 3, 4}>\n{ h = Mul (x, w)  output = Tanh (h) }\n"
RIGHT = HEAD + "main_graph (float[2, 4] x, float[2, 4] h, float[4] w) => (float[2, 4] output)\n{ u = Sub (x, h)  output = Mul (u, w) }\n"
MAIN = """#include "twins.h"
#include <stdio.h>
int main(void)
{
	static const float x[8] = { 1, -2, 3, .5f, 0, 1, -1, 2 }, z[8] = { 4, 3, 2, 1, 0, -1, -2, -3 }, h[8] = { 1, 1, 1, 1, 2, 2, 2, 2 }, w[4] = { 5, 6, 7, 8 };
	static float left[8], right[8], hidden[8];
	struct twins_left_inputs lefts = { .x = x };
	struct twins_left_outputs to_left = { .output = left };
	struct twins_right_inputs rights = { .x = z%s };
	struct twins_right_outputs to_right = { .%s = right };
	struct twins_left_context one = { 0 };
	struct twins_right_context other = { 0 };
	(void)h, (void)w, (void)hidden;
	%s
	if (twins_left_run(&lefts, &to_left, &one) || twins_right_run(&rights, &to_right, &other))
		return 1;
	for (int i = 0; i < 8; i++)
		printf("%%.3f %%.1f ", left[i], right[i]);
}
"""
# How right is called, what it is given, what is printed on the way; its h and w then.
CASES = [
    ((), ", .h = h, .w = w", "output", "", lambda i: (1 + i // 4, 5 + i % 4), ()),
    (("--share", "h"), ", .h = hidden, .w = w", "output", "to_left.h = hidden;", lambda i: (None, 5 + i % 4), ("right: h is computed by left",)),
    (("--share", "w"), ", .h = h", "output", "", lambda i: (1 + i // 4, 1 + i % 4), ("right: w is a constant of left",)),
    (("--rename", "right.output=score"), ", .h = h, .w = w", "score", "", lambda i: (1 + i // 4, 5 + i % 4), ()),
]
X, Z = [1, -2, 3, .5, 0, 1, -1, 2], [4, 3, 2, 1, 0, -1, -2, -3]


def right(number):
    import math
    wanted = []
    for i in range(8):
        inner = X[i] * (i % 4 + 1)
        h, w = CASES[number][4](i)
        wanted += ["%.3f" % math.tanh(inner), "%.1f" % ((Z[i] - (inner if h is None else h)) * w)]
    return " ".join(wanted).replace("-0.0 ", "0.0 ")


def run(folder, number, files):
    words, given, output, before, _, said = CASES[number]
    out = os.path.join(folder, "out%d" % number)
    # a value that the left one computes is there before the right one runs: it is not computed again
    build = subprocess.run([INGOT, "build", *files, "--name", "twins", "--cpu", "generic", *words, "-o", out, "--apart"], capture_output=True, text=True)
    name = "twins %d %s" % (number, files[0])
    expect(name + " is built", build.returncode == 0 and all(one in build.stdout for one in said), build.stdout + build.stderr)
    if build.returncode:
        return
    open(os.path.join(out, "main.c"), "w").write(MAIN % (given, output, before))
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-I.", "main.c", "libtwins.a", "-o", "main"], cwd=out, check=True)
    done = subprocess.run([os.path.join(out, "main")], capture_output=True, text=True)
    got = done.stdout.strip().replace("-0.0 ", "0.0 ")
    expect(name + " is right", done.returncode == 0 and got == right(number), "%d: %s\n    not %s" % (done.returncode, got, right(number)))


def main():
    with tempfile.TemporaryDirectory(prefix="twins.") as folder:
        paths = [os.path.join(folder, "left.onnxtxt"), os.path.join(folder, "other.onnxtxt")]
        for path, text in zip(paths, (LEFT, RIGHT)):
            open(path, "w").write(text)
        files = [paths[0], "right=" + paths[1]]
        for number in range(len(CASES)):
            for order in (files, files[::-1]):
                run(folder, number, order)
        numbered = subprocess.run([INGOT, "build", paths[0], files[1].replace("right", "left"), "--name", "t", "--no-compile", "-o", folder + "/t"], capture_output=True, text=True)
        expect("a file is not called as another graph is", all(os.path.exists("%s/t/t_%s.h" % (folder, name)) for name in ("left", "left_2")), numbered.stderr)
        told("a name twice", 2, "another graph is called right", "build", "right=" + paths[0], files[1], "--name", "t", "-o", folder + "/x")
        told("one model has one name", 2, "has one name", "build", "a=" + paths[0], "--name", "t", "-o", folder + "/x")
        told("nothing to share", 2, "--share output: should be an input of one graph", "build", *files, "--share", "output", "--name", "t", "-o", folder + "/x")
        told("nobody shares", 2, "--share x: is for several models", "build", paths[0], "--share", "x", "-o", folder + "/x")
        told("nothing to rename", 2, "--rename y=z: no graph has a tensor of that name", "build", *files, "--rename", "y=z", "--name", "t", "-o", folder + "/x")
        told("a name that is there", 2, "the graph has a x already", "build", paths[0], "--rename", "h=x", "-o", folder + "/x")
        expect("nothing is written", not os.path.exists(folder + "/x"))
    finish()


if __name__ == "__main__":
    main()
