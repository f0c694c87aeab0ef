#!/usr/bin/env python3
"""managed.py: several graphs in one CUDA library, and the options of the managed profile, on a driver that is no GPU's (driver/driver.c).

    managed.py INGOT          exit 0: right, 1: wrong, 77: no NVRTC or no C++ compiler.  INGOT_LONG=1: every set

Libraries of the sets of tests/managed/sets.txt, once for CPUs on the backend sync, once for GPUs on cuda: what nodes hold after the same calls is the same, bit for
bit.  And of the bare profile: one device for two graphs, which share weights and hand a tensor on."""
import json
import os
import random
import shutil
import subprocess
import sys

import library
from library import HERE, LONG, ROOT, STRICT, call, emulated, expect

GRAPHS = os.path.join(ROOT, "tests", "managed", "graphs")
# What is done with each: every routine runs thrice on values of its own.  w: written, m: merged (the second time as a stream), r: read.
SETS = {"pair": "w:x r:y r:z", "pair_apart": "w:x r:z", "kept": "w:x r:mean r:y", "later": "w:x w:mean w:y r:z", "virtual": "w:x r:y", "stored": "w:x r:y",
        "scratch": "w:x r:y", "rows": "w:x w:wx r:y r:wy", "reasons": "w:x w:table r:product r:next r:squares r:turned_sum r:s", "explicit": "w:x r:y", "steps": "w:x w:a w:b r:y",
        "filled": "w:many r:thrice", "pooled": "w:x w:u w:v w:w r:y", "merging": "m:grad r:next r:total", "alike": "w:x r:y r:z r:v"}
USUAL = ("pair", "later", "stored", "reasons", "pooled", "merging")


def set_of(name):
    """(options, files)"""
    for line in open(os.path.join(ROOT, "tests", "managed", "sets.txt")):
        words = line.split()
        if words and words[0] == name:
            options, files, words = [], [], words[1:]
            while words:
                word = words.pop(0)
                if word.startswith("--"):
                    options.append(word)
                    if word != "--apart" and not word.startswith("--no-"):
                        options.append(words.pop(0) if word != "--after" else os.path.join(GRAPHS, words.pop(0) + ".onnxtxt"))
                else:
                    files.append(os.path.join(GRAPHS, word + ".onnxtxt"))
            return options, files
    sys.exit("no set %s" % name)


def program(folder, name, out):
    runtime = os.path.join(folder, "runtime", "include")
    call("gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-I", folder, "-I", runtime, '-DHEADER="%s.h"' % name, "-DMODULE=%s_module" % name,
         os.path.join(HERE, "driver", "routines.c"), os.path.join(folder, "lib%s.a" % name), os.path.join(folder, "libingot_runtime.a"), "-lm", "-pthread", "-ldl", "-o", out)


def words_of(name, module):
    """What the program is told: three rounds, each of which gives, runs all routines in their order, and reads."""
    words = []
    for turn in range(3):
        for one in SETS[name].split():
            what, node = one.split(":")
            if what == "w":
                words += ["write", node, str(turn + 1)]
            elif what == "m":
                words += ["merge", node, str(turn + 1), "streaming" if turn == 1 else "copy"]
        for routine in module:
            words += ["run", routine]
        words += [word for one in SETS[name].split() if one[0] == "r" for word in ("read", one[2:])]
    return words


def managed(ingot, name, driver, folder):
    options, files = set_of(name)
    gpu = [word for i, word in enumerate(options) if word != "--schedule" and (not i or options[i - 1] != "--schedule")]
    out, said = {}, {}
    for target, more in ("c", options), ("cuda", gpu + ["--arch", "sm_80"]):
        out[target] = os.path.join(folder, "%s_%s" % (name, target))
        call(ingot, "build", *files, "--target", target, "--profile", "managed", "--name", name, "-o", out[target], *more)
        program(out[target], name, os.path.join(out[target], "program"))
    made = json.load(open(os.path.join(out["cuda"], name + ".json")))
    for language in ["gcc", "-std=c99"], ["g++", "-std=c++11", "-x", "c++"]:
        for source in name + ".c", name + "_module.c":
            call(*language, *STRICT, "-I", os.path.join(out["cuda"], "runtime", "include"), "-fsyntax-only", source, cwd=out["cuda"])
    routines = [os.path.basename(file)[:-8] for file in files] if len(files) > 1 else [name]
    words, kernels = words_of(name, routines), emulated(out["cuda"], name)
    for seed in "", "1", "2":
        target, backend = ("cuda", "cuda") if seed else ("c", "sync")
        done = subprocess.run([os.path.join(out[target], "program"), backend, *words], capture_output=True, text=True, timeout=300,
                              env={**os.environ, "LD_LIBRARY_PATH": driver, "STANDIN_KERNELS": kernels, "STANDIN_SEED": seed or "1"})
        expect("%s on %s" % (name, backend), done.returncode == 0 and not done.stderr, (done.returncode, done.stdout[-400:], done.stderr))
        said[backend + seed] = done.stdout
    expect("%s: bits" % name, said["sync"] and said["sync"] == said["cuda1"] == said["cuda2"])
    print("%s (%s): %d images, bits of --target c" % (name, " ".join(gpu), len(made["images"])), flush=True)


# The second graph reads a weight of the first one and what the first one has computed on its way.
FIRST = '<ir_version: 9, opset_import: ["" : 18]>\nfirst (float[40,64] x) => (float[40,64] y)\n<float[64,64] w = {%s}>\n{\n\th = MatMul (x, w)\n\ty = Softmax <axis = -1> (h)\n}\n'
SECOND = '<ir_version: 9, opset_import: ["" : 18]>\nsecond (float[40,64] h, float[64,64] w) => (float[40,64] z)\n{\n\tg = MatMul (h, w)\n\tz = Tanh (g)\n}\n'
CALLS = r"""
#include "both.h"
#include <stdio.h>
#include <stdlib.h>
static float x[40 * 64], y[40 * 64], h[40 * 64], z[40 * 64];
static void show(const float *at) { for (int i = 0; i < 40 * 64; i++) { union { float f; unsigned u; } bits = { at[i] }; printf("%08x ", bits.u); } printf("\n"); }
int main(void)
{
	struct both_first_inputs in1 = { .x = x };
	struct both_first_outputs out1 = { .y = y, .h = h };
	struct both_second_inputs in2 = { .h = h };
	struct both_second_outputs out2 = { .z = z };
	for (int i = 0; i < 40 * 64; i++)
		x[i] = (float)(i * 7919 % 640) / 64 - 5;
#ifdef CUDA
	struct both_device device;
	int status = both_open(&device, 0, NULL);
	struct both_first_context one = { .device = &device };
	struct both_second_context two = { .device = &device };
	for (int turn = 0; turn < 3 && !status; turn++) {
		status = both_first_run_host(&in1, &out1, &one);
		status = status ? status : both_second_run_host(&in2, &out2, &two);
		status = status ? status : both_first_sync(&one);
	}
	if (status)
		return printf("%d %s\n", status, both_message(&device)), both_close(&device), 1;
	both_close(&device);
#else
	static _Alignas(64) unsigned char space[1 << 20];
	struct both_first_context one = { .workspace = space };
	struct both_second_context two = { .workspace = space };
	if (sizeof space < BOTH_FIRST_WORKSPACE_BYTES || sizeof space < BOTH_SECOND_WORKSPACE_BYTES || both_first_run(&in1, &out1, &one) || both_second_run(&in2, &out2, &two))
		return 1;
#endif
	show(y), show(h), show(z);
	return 0;
}
"""


def bare(ingot, driver, folder):
    """Two graphs of the bare profile: one device, one image, one copy of the weights."""
    draw, files, said = random.Random(3), [], {}
    for name, text in ("first", FIRST % ", ".join("%g" % draw.uniform(-1, 1) for _ in range(64 * 64))), ("second", SECOND):
        files.append(os.path.join(folder, name + ".onnxtxt"))
        open(files[-1], "w").write(text)
    source = os.path.join(folder, "calls.c")
    open(source, "w").write(CALLS)
    for target in "c", "cuda":
        out = os.path.join(folder, "both_" + target)
        call(ingot, "build", *files, "--share", "h", "--share", "w", "--target", target, "--name", "both", "-o", out)
        call("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", *(["-DCUDA"] if target == "cuda" else []), "-I", out, source, os.path.join(out, "libboth.a"), "-ldl", "-o", os.path.join(out, "program"))
    made = json.load(open(os.path.join(out, "both.json")))
    for header in "both.h", "both_first.h", "both_second.h":               # each alone, and in each order
        for language in ["gcc", "-std=c99", "-x", "c"], ["g++", "-std=c++11", "-x", "c++"]:
            call(*language, *STRICT, "-fsyntax-only", header, cwd=out)
    for language in ["gcc", "-std=c99"], ["g++", "-std=c++11", "-x", "c++"], ["clang", "-std=c99"] if shutil.which("clang") else ["gcc", "-std=c11"]:
        call(*language, *STRICT, "-fsyntax-only", "both.c", cwd=out)
    expect("both: two graphs, one blob", [graph["prefix"] for graph in made["graphs"]] == ["both_first", "both_second"] and made["weights_bytes"] < 2 * 64 * 64 * 4
           and all(kernel["blocks"] > 0 for graph in made["graphs"] for kernel in graph["kernels"]), made)
    expect("both: one file for each image", sorted(file for file in os.listdir(out) if file.endswith((".cubin", ".ptx"))) == sorted(image["file"] for image in made["images"]))
    try:
        import jsonschema
        jsonschema.validate(made, json.load(open(os.path.join(ROOT, "docs", "manifest.schema.json"))))
    except ImportError as missing:
        print("the manifest is not held against its schema: %s" % missing)
    kernels = emulated(out, "both")
    there = {**os.environ, "LD_LIBRARY_PATH": driver, "STANDIN_KERNELS": kernels}
    for target in "c", "cuda":
        done = subprocess.run([os.path.join(folder, "both_" + target, "program")], capture_output=True, text=True, env=there)
        expect("both, " + target, done.returncode == 0 and not done.stderr, (done.returncode, done.stdout[-300:], done.stderr))
        said[target] = done.stdout
    expect("both: bits", said["c"] == said["cuda"])
    done = subprocess.run([os.path.join(out, "program")], capture_output=True, text=True, env={**there, "STANDIN_CALLS": os.path.join(folder, "calls")})
    calls = int(open(os.path.join(folder, "calls")).read())
    for n in range(1, calls + 1, 1 if LONG else 17):
        done = subprocess.run([os.path.join(out, "program")], capture_output=True, text=True, env={**there, "STANDIN_FAIL": str(n)})
        failed = [line[8:] for line in done.stderr.splitlines() if line.startswith("failed: ")]
        left = [line for line in done.stderr.splitlines() if not line.startswith("failed: ")]
        ends = failed and (library.GIVES_BACK.search(failed[0]) or library.SECOND_WAY.search(failed[0]))
        expect("both: call %d fails" % n, len(failed) == 1 and (ends or (done.returncode == 1 and "(999)" in done.stdout)) and (ends or not left), (done.returncode, done.stdout[-300:], done.stderr))
    if shutil.which("cmake"):
        call("cmake", "-S", out, "-B", os.path.join(out, "made"))
        call("cmake", "--build", os.path.join(out, "made"))
    print("two graphs, one device: bits of --target c; %d driver calls" % calls, flush=True)


def all_of(ingot, folder, driver):
    bare(ingot, driver, folder)
    for name in SETS if LONG else USUAL:
        managed(ingot, name, driver, folder)


if __name__ == "__main__":
    sys.exit(library.main(all_of))
