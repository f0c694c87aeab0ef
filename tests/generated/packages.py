#!/usr/bin/env python3
"""packages.py: the files that `ingot build` makes, as a user's compiler, linker and build system see them.

    packages.py INGOT PART      exit 0: right, 1: wrong, 77: a tool that the part needs is not there
PART: warnings, bits, whole, consumer, aarch64.  Networks: examples/digits, and three of $INGOT_CASES by a fixed seed
(all of them with INGOT_LONG=1)."""
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CASES = os.environ.get("INGOT_CASES", os.path.join(ROOT, "..", "shared", "cases"))
NETWORKS = ["mnist_onnx2c", "mlperf_ad_f32", "mlperf_kws_f32", "mlperf_ic_f32", "mjp_go1", "dtln_1"]
LONG = bool(os.environ.get("INGOT_LONG"))
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
FLAGS = ["-O1", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
MARCH = {"native": ["-march=native"], "x86-64-v3": ["-march=x86-64-v3"], "generic": [], "armv8-a": ["-march=armv8-a"]}


def transformer(scratch):
    """The example's folder, made where onnx and onnxruntime are there: attention is a kernel of its own kind."""
    folder = os.path.join(scratch, "example")
    made = subprocess.run([sys.executable, os.path.join(ROOT, "examples", "transformer", "make.py"), folder], capture_output=True)
    return [("transformer", os.path.join(folder, "model.onnx"), folder)] if made.returncode == 0 else []


def networks(count, scratch=None):
    """(name, model, folder with io.json), digits first; with `scratch` the transformer is made there."""
    names = [name for name in NETWORKS if os.path.isdir(os.path.join(CASES, "models", name))]
    if not LONG:
        names = sorted(random.Random(3).sample(names, min(count, len(names))))
    digits = os.path.join(ROOT, "examples", "digits")
    return [("digits", os.path.join(digits, "digits.onnx"), digits)] + (transformer(scratch) if scratch else []) + [
        (name, os.path.join(CASES, "models", name, "model.onnx"), os.path.join(CASES, "models", name)) for name in names]


def cpus():
    flags = set()
    for line in open("/proc/cpuinfo"):
        if line.startswith("flags"):
            flags = set(line.split())
            break
    return ["native", "generic"] + (["x86-64-v3"] if {"avx2", "fma", "bmi2"} <= flags else [])


def call(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        raise AssertionError("%s: exit %d\n%s" % (" ".join(command), done.returncode, done.stdout[:3000]))
    return done.stdout


def build(model, name, folder, *options):
    call([INGOT, "build", model, "--name", name, "-o", folder, *options])
    return json.load(open(os.path.join(folder, name + ".json")))


def inputs_to(case, manifest, folder):
    io = {one["name"]: one["file"] for one in json.load(open(os.path.join(case, "io.json")))["inputs"]}
    for i, one in enumerate(manifest["inputs"]):
        data = np.load(os.path.join(case, io[one["name"]]))
        assert data.nbytes == one["bytes"], "%s: %d bytes, the manifest says %d" % (one["name"], data.nbytes, one["bytes"])
        data.tofile(os.path.join(folder, "in%d" % i))


def driver(manifest, folder):
    name = manifest["prefix"]
    bind = ["\tin.%s = input_at[%d];" % (one["field"], i) for i, one in enumerate(manifest["inputs"])]
    bind += ["\tout.%s = one->out[%d];" % (one["field"], i) for i, one in enumerate(manifest["outputs"])]
    text = open(os.path.join(HERE, "driver.c.txt")).read()
    for key, value in {"name": name, "NAME": name.upper(), "inputs": len(manifest["inputs"]), "outputs": len(manifest["outputs"]),
                       "input_bytes": ", ".join(str(one["bytes"]) for one in manifest["inputs"]),
                       "output_bytes": ", ".join(str(one["bytes"]) for one in manifest["outputs"]), "bind": "\n".join(bind)}.items():
        text = text.replace("@%s@" % key, str(value))
    path = os.path.join(folder, "driver.c")
    open(path, "w").write(text)
    return path


def answer(manifest, program, folder, *arguments, by=()):
    """The bits of all outputs, and how many kernels ran over the parallel-for."""
    joins = call([*by, program, *arguments], cwd=folder)
    return [open(os.path.join(folder, "out%d" % i), "rb").read() for i in range(len(manifest["outputs"]))], int(joins)


def warnings(scratch):
    ways = [(cc, std) for cc in ("gcc", "clang") for std in ("c99", "c11", "c++17") if shutil.which(cc)]
    for name, model, _ in networks(3, scratch):
        for cpu in cpus():
            folder = os.path.join(scratch, name + cpu)
            manifest = build(model, name, folder, "--cpu", cpu, "--no-compile", "--threads", "2")
            sources = [one for one in manifest["sources"] if one.endswith(".c")]
            if os.path.exists(os.path.join(folder, name + "_weights.c")):
                sources.append(name + "_weights.c")
            for cc, std in ways:
                call([cc, "-std=" + std, *(["-x", "c++"] if "+" in std else []), *MARCH[cpu], *STRICT, "-fsyntax-only", *sources], cwd=folder)
            # what only an optimiser sees: uninitialised, out of bounds
            call(["gcc", "-std=c99", *MARCH[cpu], *STRICT, "-O2", "-S", "-o", "-", sources[1]], cwd=folder)


def bits(scratch):
    for name, model, case in networks(2, scratch):
        want = None
        for cpu in cpus():
            for options in ([], ["--threads", "2"]):
                folder = os.path.join(scratch, name + cpu + "".join(options))
                manifest = build(model, name, folder, "--cpu", cpu, *options)
                inputs_to(case, manifest, folder)
                main = driver(manifest, folder)
                program = os.path.join(folder, "program")
                call(["gcc", "-o", program, main, "-I", folder, os.path.join(folder, manifest["library"]), "-pthread"])
                got, joins = answer(manifest, program, folder, *([name + "_weights.bin"] if manifest["weights_bytes"] else []))
                want = want or got
                assert got == want, "%s %s %s: bits differ" % (name, cpu, options)
                assert options or not joins, "%s: one thread asked for, parallel-for called" % name
                needed = {line.split()[1] for line in call(["nm", "-u", manifest["library"]], cwd=folder).splitlines() if line.startswith(" ")}
                own = {one for one in needed if one.startswith(name + "_")}
                foreign = needed - own - {"memcpy", "memset", "_GLOBAL_OFFSET_TABLE_"}
                assert not foreign, "%s %s needs %s" % (name, cpu, foreign)
                fallback = os.path.join(folder, name + "_weights.c")
                if os.path.exists(fallback) and not options:
                    sources = [os.path.join(folder, one) for one in manifest["sources"] if one.endswith(".c")]
                    for extra in ([], ["-x", "c++", "-std=c++17"]) if cpu == "native" or LONG else ([],):
                        objects = os.path.join(folder, "o" + str(len(extra)))
                        os.mkdir(objects)
                        call(["gcc", *extra, *FLAGS, *MARCH[cpu], "-I", folder, "-c", *sources, fallback], cwd=objects)
                        call(["gcc", "-o", program, main, "-I", folder, *(os.path.join(objects, one) for one in os.listdir(objects)), "-pthread"])
                        assert answer(manifest, program, folder)[0] == want, "%s %s: bits differ with weights.c %s" % (name, cpu, extra)


def tree(folder):
    return {one: hashlib.sha256(open(os.path.join(folder, one), "rb").read()).hexdigest() for one in sorted(os.listdir(folder))}


def whole(scratch):
    """The same bytes on every build; all files or none."""
    for name, model, _ in networks(2):
        folders = [os.path.join(scratch, name + one) for one in "ab"]
        for folder in folders:
            build(model, name, folder, "--no-compile", "--threads", "2")
        assert tree(folders[0]) == tree(folders[1]), "%s: two builds differ" % name
    _, model, _ = networks(0)[0]
    failing, slow = os.path.join(scratch, "failing"), os.path.join(scratch, "slow")
    started = os.path.join(scratch, "started")
    open(failing, "w").write("#!/bin/sh\necho no such luck >&2\nexit 1\n")
    open(slow, "w").write("#!/bin/sh\n: >%s\nexec sleep 20\n" % started)
    for one in (failing, slow):
        os.chmod(one, 0o755)
    folder = os.path.join(scratch, "none")
    done = subprocess.run([INGOT, "build", model, "-o", folder, "--cc", failing], capture_output=True, text=True)
    assert done.returncode in (4, 5), "failing compiler: exit %d" % done.returncode
    assert not os.path.isdir(folder) or not os.listdir(folder), "a failing compiler leaves %s" % os.listdir(folder)
    temporary = os.path.join(scratch, "tmp")
    os.mkdir(temporary)
    child = subprocess.Popen([INGOT, "build", model, "-o", folder, "--cc", slow], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env=dict(os.environ, TMPDIR=temporary), start_new_session=True)
    while not os.path.exists(started) and child.poll() is None:
        time.sleep(0.02)
    assert child.poll() is None, "the slow compiler was not started"
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    final = [one for one in os.listdir(folder) if not one.startswith(".new-")] if os.path.isdir(folder) else []
    assert not final, "killed, it leaves %s" % final


CONSUMER = """cmake_minimum_required(VERSION 3.13)
project(consumer C)
find_package(Threads REQUIRED)
add_subdirectory(one)
add_subdirectory(two)
add_executable(program both.c)
target_link_libraries(program PRIVATE one two)
"""
BOTH = """#include "one.h"
#include "two.h"
#include <stdio.h>
int main(void)
{
	printf("%d %d\\n", one_run == (void *)0, two_run == (void *)0);
	return one_run(&(struct one_inputs){ 0 }, &(struct one_outputs){ 0 }, &(struct one_context){ 0 }) != ONE_NO_POINTER
		|| two_run(&(struct two_inputs){ 0 }, &(struct two_outputs){ 0 }, &(struct two_context){ 0 }) != TWO_NO_POINTER;
}
"""


def consumer(scratch):
    """Two models in one program, by CMake and by pkg-config."""
    if not shutil.which("cmake") or not shutil.which("pkg-config"):
        print("skipped: no cmake or no pkg-config")
        return 77
    models = [model for _, model, _ in networks(1)] * 2
    for name, model in zip(("one", "two"), models):
        build(model, name, os.path.join(scratch, name))
    for file, text in (("CMakeLists.txt", CONSUMER), ("both.c", BOTH)):
        open(os.path.join(scratch, file), "w").write(text)
    made = os.path.join(scratch, "made")
    call(["cmake", "-S", scratch, "-B", made])
    call(["cmake", "--build", made])
    call([os.path.join(made, "program")])
    env = dict(os.environ, PKG_CONFIG_PATH=":".join(os.path.join(scratch, one) for one in ("one", "two")))
    flags = call(["pkg-config", "--cflags", "--libs", "one", "two"], env=env).split()
    for cc in ("gcc", "clang"):
        if shutil.which(cc):
            call([cc, "-o", "by_pc", "both.c", *flags], cwd=scratch)
            call([os.path.join(scratch, "by_pc")])


def aarch64(scratch):
    cc, qemu = "aarch64-linux-gnu-gcc", shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if not shutil.which(cc) or not qemu:
        print("skipped: no %s or no qemu-aarch64" % cc)
        return 77
    for name, model, case in networks(2, scratch):
        want = None
        for cpu, compiler, by in (("native", "gcc", ()), ("armv8-a", cc, (qemu,))):
            folder = os.path.join(scratch, name + cpu)
            manifest = build(model, name, folder, "--cpu", cpu, "--cc", compiler)
            inputs_to(case, manifest, folder)
            program = os.path.join(folder, "program")
            call([compiler, "-static", "-o", program, driver(manifest, folder), "-I", folder, os.path.join(folder, manifest["library"]), "-pthread"])
            got, _ = answer(manifest, program, folder, by=by)
            want = want or got
            assert got == want, "%s: armv8-a has other bits than native" % name


def libm(scratch):
    """What the C library computes (double tensors) is in the manifest, and only then the program links it."""
    for element, functions in (("double", {"exp", "tanh", "erf", "pow"}), ("float", set())):
        model, folder = os.path.join(scratch, element + ".onnxtxt"), os.path.join(scratch, element)
        with open(model, "w") as file:
            file.write('<ir_version: 8, opset_import: ["" : 17]>\ng (%s[4,8] x) => (%s[4,8] y)\n'
                       "{ a = Sigmoid (x)  b = Tanh (a)  c = Erf (b)  y = Pow (c, b) }\n" % (element, element))
        manifest = build(model, element + "s", folder)
        needed = {line.split()[1] for line in call(["nm", "-u", manifest["library"]], cwd=folder).splitlines() if line.startswith(" ")}
        assert set(manifest["libm"]) == functions, "%s: manifest names %s" % (element, manifest["libm"])
        assert functions <= needed and (functions or not {"exp", "tanh", "erf", "pow"} & needed), "%s: needs %s" % (element, needed)
        links = "-lm" in open(os.path.join(folder, element + "s.pc")).read().split()
        assert links == bool(functions), "%s: %s -lm in the .pc" % (element, "a" if links else "no")


def main():
    parts = {one.__name__: one for one in (warnings, bits, whole, consumer, aarch64, libm)}
    with tempfile.TemporaryDirectory(prefix="generated.") as scratch:
        try:
            return parts[sys.argv[2]](scratch) or 0
        except AssertionError as wrong:
            print(wrong)
            return 1


INGOT = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "ingot"
if __name__ == "__main__":
    sys.exit(main())
