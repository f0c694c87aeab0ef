#!/usr/bin/env python3
"""bare.py: what a library for a microcontroller is as text, and what its options make of it.

    bare.py INGOT          exit 0: right, 1: wrong, 77: a tool is missing

The sources of a folder link however they are compiled, all of them: there is one definition of the weights.  The header has nothing of
other targets.  In front of each call stands what it computes, every offset has a name, every prototype is there once, no constant of
one element is a pointer; cppcheck reads all sources without defines.  A header that says less memory does not compile.
--section moves the weights, --libc none calls nothing, --stepwise gives the bits of one call step by step, --name with two models one
workspace, the larger.  examples/firmware runs on the emulated board by the commands of docs/firmware.md."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from boards import BOARDS, ROOT, call, manifest_of, missing, symbols
from firmware import quantised

import numpy as np

FLAGS = BOARDS["cortex-m4"][1].split()

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-pedantic", "-Werror"]
bad = 0


def expect(what, right, found=""):
    global bad
    if not right:
        print("WRONG %s: %s" % (what, found))
        bad += 1


def build(ingot, models, made, *options, cpu="cortex-m4"):
    call(ingot, "build", *models, "--cpu", cpu, "-o", made, *options)
    return manifest_of(made)


def read(made, name):
    return open(os.path.join(made, name)).read()


def as_text(made, name):
    """What an auditor reads."""
    header, schedule = read(made, name + ".h"), read(made, name + ".c")
    for word in "stream", "BAD_CPU", "ingot_parallel", "CUDA":
        expect("a firmware header without " + word, word not in header)
    body = schedule[schedule.index("int %s_run(" % name):].split("\n}\n")[0].splitlines()
    calls = [i for i, line in enumerate(body) if re.match(r"\t%s_k\d+" % name, line)]
    expect("each call has its comment", calls and all(re.match(r"\t/\* .+: .*-> .+\[.*\] \*/$", body[i - 1]) for i in calls), body)
    expect("an operator by name", "(Conv)" in schedule and "(Gemm)" in schedule or "(MatMul)" in schedule)
    expect("no bare offsets", not re.search(r"(workspace|weights|state) \+ \d", schedule))
    sources = "".join(read(made, one) for one in os.listdir(made) if one.endswith((".c", ".h")))
    prototypes = re.findall(r"^(?:void|int) (\w+)\([^;{]*\);$", sources, re.M)
    expect("a prototype once", prototypes and len(prototypes) == len(set(prototypes)), prototypes)
    expect("constants of one element are numbers", not re.search(r"AT_\w+ \d+  /\* \d+ bytes, \S+ (?:\w+\[(?:1,?)*\]) \*/", schedule.split("into the weights")[-1]))
    small = re.sub(r"(_WORKSPACE_BYTES) \d+", r"\1 64", header)
    with tempfile.TemporaryDirectory() as folder:
        for one in os.listdir(made):
            shutil.copy(os.path.join(made, one), folder)
        open(os.path.join(folder, name + ".h"), "w").write(small)
        done = subprocess.run(["arm-none-eabi-gcc", *FLAGS, "-fsyntax-only", name + ".c"], cwd=folder, capture_output=True, text=True)
        expect("sizes are asserted when compiled", done.returncode and "workspace_holds_all" in done.stderr, done.stderr)


def as_folder(made, name):
    """Compiled as a tool does that takes every file of the folder, by both languages."""
    files = sorted(one for one in os.listdir(made) if one.endswith((".c", ".S", ".cpp")))
    for compiler in ["arm-none-eabi-gcc", *STRICT], ["arm-none-eabi-g++", "-x", "c++", "-std=c++11", *STRICT[1:]]:
        if not shutil.which(compiler[0]):
            continue
        objects = []
        for one in files:
            objects.append(one + ".o")
            call(*compiler, *FLAGS, "-Os", "-ffreestanding", "-c", one, "-o", objects[-1], cwd=made)
        call("arm-none-eabi-ld", "-r", *objects, "-o", "all.o", cwd=made)
        defined = call("arm-none-eabi-nm", "all.o", cwd=made).split()
        expect("the weights are there once", defined.count(name + "_weights") == 1)
    if shutil.which("cppcheck"):
        done = subprocess.run(["cppcheck", "--quiet", "--std=c99", "--error-exitcode=1", "--max-configs=2", "--suppress=toomanyconfigs", "--suppress=missingIncludeSystem", "--enable=warning,portability,information", *[one for one in files if "weights" not in one]],
                              cwd=made, capture_output=True, text=True)
        expect("cppcheck", done.returncode == 0 and not done.stderr, done.stderr)


PROGRAM = """#include "NAME.h"
#include <stdio.h>
static unsigned char workspace[WORKSPACE + 1] __attribute__((aligned(64)));
static TYPES in[4096];
static float once[64], steps[64];
int main(void)
{
	struct NAME_inputs from = { in };
	struct NAME_outputs to = { once };
	struct NAME_context context = { .workspace = workspace };
	int count = 1, status, i;
	for (i = 0; i < 4096; i++)
		in[i] = (TYPES)(i * 37 % 251);
	if (NAME_run(&from, &to, &context))
		return 2;
	context.in = &from;
	to.y = steps;
	context.out = &to;
	for (; (status = NAME_step(&context)) == LARGE_MORE; count++)
		;
	if (status || context.step)
		return 3;
	for (i = 0; i < 64; i++)
		if (once[i] != steps[i])
			return 4;
	context.workspace = 0;
	if (NAME_step(&context) != LARGE_BAD_WORKSPACE)
		return 5;
	printf("%d %g\\n", count, (double)(once[0] != 0));
	return 0;
}
"""


def stepwise(ingot, model, folder):
    made = os.path.join(folder, "steps")
    manifest = build(ingot, [model], made, "--stepwise", "--name", "steps", cpu="generic")
    text = PROGRAM.replace("LARGE", "STEPS").replace("NAME", "steps").replace("WORKSPACE +", "STEPS_WORKSPACE_BYTES +").replace("TYPES", "unsigned char")
    open(os.path.join(folder, "steps.c"), "w").write(text)
    call("gcc", "-std=c99", "-I", made, "steps.c", os.path.join(made, "libsteps.a"), "-o", "steps.out", cwd=folder)
    done = subprocess.run([os.path.join(folder, "steps.out")], capture_output=True, text=True)
    expect("step by step", done.stdout == "%d 1\n" % len(manifest["kernels"]), (done.returncode, done.stdout))
    refused = subprocess.run([ingot, "build", model, "--stepwise", "--threads", "2", "-o", made + "2"], capture_output=True, text=True)
    expect("--stepwise with threads", refused.returncode == 2 and not os.path.exists(made + "2"), refused.stderr)


def example(ingot, folder):
    """The commands of docs/firmware.md: the scores that the board prints are the interpreter's, bit by bit."""
    page = open(os.path.join(ROOT, "docs", "firmware.md")).read()
    commands = [line.strip() for line in page.split("From a file to a run")[1].split("A TensorFlow Lite file")[0].splitlines() if line.startswith("    ")]
    expect("three commands", len([line for line in commands if not line.endswith("\\")]) == 3, commands)
    os.makedirs(os.path.join(folder, "build"))
    os.symlink(ingot, os.path.join(folder, "build", "ingot"))
    os.symlink(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))
    done = subprocess.run("set -e\n" + "\n".join(commands), shell=True, cwd=folder, capture_output=True, text=True, timeout=120)
    call(ingot, "run", "examples/digits/digits.onnx", "--target", "interpreter", "--algorithms", "direct", "--input", "image=examples/digits/in_0.npy", "--output", "scores=scores.npy", cwd=folder)
    want = [int(bits) for bits in np.load(os.path.join(folder, "scores.npy")).ravel().view(np.uint32)]
    expect("examples/firmware", done.returncode == 0 and [int(bits) for bits in re.findall(r"bits (\d+)", done.stdout + done.stderr)] == want, (done.returncode, done.stdout, done.stderr))


def main():
    ingot = os.path.abspath(sys.argv[1])
    if missing("arm-none-eabi-gcc"):
        return 77
    with tempfile.TemporaryDirectory() as folder:
        small = os.path.join(quantised(folder), "model.onnxtxt")
        digits = os.path.join(ROOT, "examples", "digits", "digits.onnx")
        made = os.path.join(folder, "small")
        build(ingot, [small], made, "--name", "small")
        as_text(made, "small")
        as_folder(made, "small")
        made = os.path.join(folder, "none")
        build(ingot, [small], made, "--name", "none", "--libc", "none", "--section", "weights=.ext_flash")
        expect("--libc none", not symbols(os.path.join(made, "libnone.a"))[1], symbols(os.path.join(made, "libnone.a"))[1])
        expect("--section", ".ext_flash" in call("arm-none-eabi-objdump", "-h", os.path.join(made, "libnone.a")))
        wide = os.path.join(folder, "wide.onnxtxt")
        open(wide, "w").write('<ir_version: 8, opset_import: ["" : 17]>\nwide (double[4] x) => (double[4] y) { y = Exp (x) }\n')
        done = subprocess.run([ingot, "build", wide, "--cpu", "cortex-m4", "--libc", "none", "-o", made + "2"], capture_output=True, text=True)
        expect("--libc none with libm", done.returncode == 6 and "exp" in done.stderr and not os.path.exists(made + "2"), done.stderr)
        made = os.path.join(folder, "both")
        build(ingot, ["one=" + small, "two=" + digits], made, "--name", "both")
        sizes = {name: int(re.search(r"_WORKSPACE_BYTES (\d+)", read(made, name + ".h")).group(1)) for name in ("both", "both_one", "both_two")}
        expect("two models, one workspace", sizes["both"] == max(sizes["both_one"], sizes["both_two"]) > min(sizes.values()), sizes)
        call("arm-none-eabi-gcc", *STRICT, *FLAGS, "-fsyntax-only", "-x", "c", "both.h", cwd=made)
        stepwise(ingot, small, folder)
        if shutil.which("qemu-system-arm"):
            example(ingot, os.path.join(folder, "example"))
    print("wrong: %d" % bad)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
