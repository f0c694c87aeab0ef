#!/usr/bin/env python3
"""packages.py: the files that `ingot build` makes, as a user's compiler, linker and build system see them.

    packages.py INGOT PART      exit 0: right, 1: wrong, 77: a tool that the part needs is not there
PART: warnings, bits, whole, consumer, aarch64, libm, codes, refused, objects, compiler, hpp, state, dispatch.  Networks: examples/digits and transformer, and one or two of $INGOT_CASES by a fixed seed
(all of them with INGOT_LONG=1)."""
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from here import by_turns, part_of, some_cpus, v3, v4
from same import same
CASES = os.environ.get("INGOT_CASES", os.path.join(ROOT, "..", "shared", "cases"))
NETWORKS = ["mnist_onnx2c", "mlperf_ad_f32", "mlperf_kws_f32", "mlperf_ic_f32", "mjp_go1", "dtln_1"]
LONG = bool(os.environ.get("INGOT_LONG"))
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-pedantic", "-Werror"]
FLAGS = ["-O1", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
NUMPY = {"float": "f4", "double": "f8"}                # where a NaN may be
MARCH = {"native": ["-march=native"], "x86-64-v4": ["-march=x86-64-v4"], "x86-64-v3": ["-march=x86-64-v3"], "generic": [], "armv8-a": ["-march=armv8-a"]}


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


def has(cpu):
    """Whether this machine, whatever it is taken for, runs that one's code."""
    return {"x86-64-v4": v4, "x86-64-v3": v3}.get(cpu, lambda: True)()


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


def linked(command, manifest, folder, *more):
    """The driver with the library, linked there by that compiler and its flags: by names that ccache meets again."""
    call([*command, "-o", "program", os.path.basename(driver(manifest, folder)), "-I.", manifest["library"], "-pthread", *more], cwd=folder)
    return os.path.join(folder, "program")


def answer(manifest, program, folder, *arguments, by=()):
    """All outputs, and how many kernels ran over the parallel-for."""
    joins = call([*by, program, *arguments], cwd=folder)
    types = [NUMPY.get(one["type"], "u1") for one in manifest["outputs"]]
    return [np.fromfile(os.path.join(folder, "out%d" % i), type) for i, type in enumerate(types)], int(joins.split()[-1])          # QEMU has warnings of its own


def all_same(got, want):
    return len(got) == len(want) and all(map(same, got, want))


def example(folder, name):
    """The code that stands at the head of the header."""
    head = open(os.path.join(folder, name + ".h")).read().split("*/")[0]
    lines = [line[7:] for line in head.splitlines() if line.startswith(" *     ")]
    assert any(line.startswith("int once(void)") for line in lines), "%s: the header has no example" % name
    open(os.path.join(folder, "example.c"), "w").write("int once(void);\n%s\nint main(void)\n{\n\treturn once();\n}\n" % "\n".join(lines))
    call(["gcc", "-std=c99", *STRICT, "-I.", "-fsyntax-only", "example.c"], cwd=folder)


def warnings(scratch):
    ways = [(cc, std) for cc in ("gcc", "clang") for std in ("c99", "c11", "c++11") if shutil.which(cc)]
    weights = set()
    for n, (name, model, _) in enumerate(networks(1, scratch)):
        for k, cpu in enumerate(some_cpus(n)):
            folder = os.path.join(scratch, name + cpu)
            manifest = build(model, name, folder, "--cpu", cpu, "--no-compile", "--threads", "2", "--weights", "c")
            sources = [one for one in manifest["sources"] if one.endswith(".c")]
            assert len(sources) == len(manifest["sources"]), manifest["sources"]
            file = os.path.join(folder, name + "_weights.c")
            text = open(file).read() if os.path.exists(file) else None
            if text in weights:                                # plain C: of CPUs that pack alike one is as good as all
                sources.remove(name + "_weights.c")
            weights.add(text)
            # Every network and every CPU meets both compilers, each of them C and C++; every way meets several of both.
            for cc, std in ways if LONG else [one for i, one in enumerate(ways) if i % 3 == (n + k + i // 3) % 3]:
                call([cc, "-std=" + std, *(["-x", "c++"] if "+" in std else []), *MARCH[cpu], *STRICT, "-fsyntax-only", *sources], cwd=folder)
            example(folder, name)
            if LONG or not k:                                  # what only an optimiser sees: uninitialised, out of bounds
                call(["gcc", "-std=c99", *MARCH[cpu], *STRICT, "-O2", "-c", "-o", "optimised.o", sources[1]], cwd=folder)


def bits(scratch):
    for n, (name, model, case) in enumerate(networks(1, scratch)):
        want = None
        for cpu in some_cpus(n):
            for options in by_turns(([], ["--threads", "2"]), n, 1 if cpu != "native" else 2):
                folder = os.path.join(scratch, name + cpu + "".join(options))
                manifest = build(model, name, folder, "--cpu", cpu, *options)
                inputs_to(case, manifest, folder)
                program = linked(["gcc"], manifest, folder)
                got, joins = answer(manifest, program, folder, *([name + "_weights.bin"] if manifest["weights_bytes"] else []))
                want = want or got
                assert all_same(got, want), "%s %s %s: bits differ" % (name, cpu, options)
                assert options or not joins, "%s: one thread asked for, parallel-for called" % name
                needed = {line.split()[1] for line in call(["nm", "-u", manifest["library"]], cwd=folder).splitlines() if line.startswith(" ")}
                own = {one for one in needed if one.startswith(name + "_")}
                foreign = needed - own - {"memcpy", "memset", "_GLOBAL_OFFSET_TABLE_", "__cpu_model", "__cpu_features2"}      # the last two: what libgcc knows of the CPU
                assert not foreign, "%s %s needs %s" % (name, cpu, foreign)
                assert not os.path.exists(os.path.join(folder, name + "_weights.c")), "%s: the weights are there twice" % name
                if manifest["weights_bytes"] and not options:
                    sources = [os.path.join(folder, one) for one in build(model, name, folder, "--cpu", cpu, "--weights", "c")["sources"]]
                    for extra in ([], ["-x", "c++", "-std=c++11"]) if cpu == "native" or LONG else ([],):
                        objects = os.path.join(folder, "o" + str(len(extra)))
                        os.mkdir(objects)
                        beside = [os.path.join("..", os.path.basename(one)) for one in sources]        # names that ccache meets again
                        call(["gcc", *extra, *FLAGS, *MARCH[cpu], "-I", "..", "-c", *beside], cwd=objects)
                        call(["gcc", "-o", "program", "driver.c", "-I.", *(os.path.join(os.path.basename(objects), one) for one in os.listdir(objects)), "-pthread"], cwd=folder)
                        assert all_same(answer(manifest, program, folder)[0], want), "%s %s: bits differ with weights.c %s" % (name, cpu, extra)


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
            program = linked([compiler, "-static"], manifest, folder)
            got, _ = answer(manifest, program, folder, by=by)
            want = want or got
            assert all_same(got, want), "%s: armv8-a has other bits than native" % name


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


CODES = """#include "net.h"
#include <stdio.h>
#include <string.h>
static unsigned char bytes[NET_WORKSPACE_BYTES + 128] __attribute__((aligned(64)));
static float data[2][100000];
int main(void)
{
	struct net_inputs in = { data[0] }, no_in;
	struct net_outputs out = { data[1] }, no_out;
	struct net_context context, other;
	const struct ingot_parallel none = { 0, 0, 2 };
	memset(&context, 0, sizeof context);
	memset(&no_in, 0, sizeof no_in);
	memset(&no_out, 0, sizeof no_out);
	context.workspace = bytes;
	if (net_run(0, &out, &context) != NET_NO_POINTER || net_run(&in, 0, &context) != NET_NO_POINTER || net_run(&in, &out, 0) != NET_NO_POINTER
		|| net_run(0, 0, 0) != NET_NO_POINTER || net_run(&no_in, &out, &context) != NET_NO_POINTER || net_run(&in, &no_out, &context) != NET_NO_POINTER)
		return 1;
	other = context;
	other.workspace = 0;
	if (net_run(&in, &out, &other) != NET_BAD_WORKSPACE)
		return 2;
	for (int i = 1; i < NET_WORKSPACE_ALIGN; i++) {
		other.workspace = bytes + i;
		if (net_run(&in, &out, &other) != NET_BAD_WORKSPACE)
			return 3;
	}
	other = context;
	other.parallel = &none;
	if (THREADS > 1 && net_run(&in, &out, &other) != NET_NO_POINTER)
		return 4;
	printf("%d\\n", net_run(&in, &out, &context));
	return 0;
}
"""


def codes(scratch):
    """What a call says of pointers, workspaces and CPUs that it cannot use; under QEMU where the machine is another."""
    _, model, _ = networks(0)[0]
    older = shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")
    machines = {"Nehalem": {"generic"}, "Haswell": {"generic", "x86-64-v3"}} if older and os.uname().machine == "x86_64" else {}
    if not machines:
        print("other CPUs are left out: no qemu-x86_64-static, or no x86-64")
    names = ["generic", "x86-64-v3", "x86-64-v4"] if os.uname().machine == "x86_64" else ["generic"]
    for cpu in names:
        for threads in "1", "2":
            folder = os.path.join(scratch, cpu + threads)
            build(model, "net", folder, "--cpu", cpu, "--threads", threads)
            open(os.path.join(folder, "codes.c"), "w").write(CODES.replace("\\\\n", "\\n"))
            for cc in [one for one in ("gcc", "clang") if shutil.which(one)]:
                call([cc, *STRICT, "-std=c99", "-DTHREADS=" + threads, "-static", "-o", "codes", "codes.c", "libnet.a"], cwd=folder)
                here = int(call([os.path.join(folder, "codes")]))
                assert here == (0 if has(cpu) else 3), "%s here: code %d" % (cpu, here)
                for machine, runs in machines.items():
                    code = int(subprocess.run([older, "-cpu", machine, os.path.join(folder, "codes")], capture_output=True, text=True, check=True).stdout)
                    assert code == (0 if cpu in runs else 3), "%s on %s: code %d" % (cpu, machine, code)


def refused(scratch):
    """A compiler without the instructions, or with other doubles, is told so in one line."""
    _, model, _ = networks(0)[0]
    soft = os.path.join(scratch, "soft.onnxtxt")
    open(soft, "w").write('<ir_version: 8, opset_import: ["" : 17]>\ng (float[2,6] x) => (float[2,6] y) { r = Mul (x, x)  y = Softmax (r) }\n')
    ways = [("x86-64-v3", ["gcc"], "-march=x86-64-v3"), ("x86-64-v4", ["gcc", "-march=x86-64-v3"], "-march=x86-64-v4"), ("x86-64-v3", ["clang"], "-march=x86-64-v3"),
            ("cortex-m4", ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb"], "-mfpu=fpv4-sp-d16"), ("x86-64-v3", ["aarch64-linux-gnu-gcc"], "-march=x86-64-v3"),
            ("armv8-a", ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb"], "-march=armv8-a"), ("generic", ["avr-gcc"], "double of 64 bits"), ("generic", ["avr-gcc"], "int of 32 bits")]
    for cpu, compiler, text in ways:
        if not shutil.which(compiler[0]):
            print("%s for %s is left out: it is not there" % (compiler[0], cpu))
            continue
        folder = os.path.join(scratch, cpu)
        build(soft if cpu == "generic" else model, "net", folder, "--cpu", cpu, "--no-compile")
        done = subprocess.run([*compiler, "-O2", "-fsyntax-only", "net_kernels.c"], cwd=folder, capture_output=True, text=True)
        assert done.returncode and any("these kernels" in line and text in line for line in done.stderr.splitlines()), \
            "%s with %s: exit %d\n%s" % (cpu, " ".join(compiler), done.returncode, done.stderr[:500])


def objects(scratch):
    """The weights where objects are not ELF; by CMake, one source of them, whichever was asked for; in a section of their own."""
    _, model, _ = networks(0)[0]
    folder = os.path.join(scratch, "net")
    build(model, "net", folder, "--cpu", "generic", "--no-compile")
    want = open(os.path.join(folder, "net_weights.bin"), "rb").read()[:-16]           # behind them stands for which code they are
    if shutil.which("clang"):
        for triple, name in ("x86_64-apple-darwin", b"_net_weights"), ("x86_64-pc-windows-gnu", b"net_weights"), ("arm64-apple-macos", b"_net_weights"), ("x86_64-linux-gnu", b"net_weights"):
            call(["clang", "-target", triple, "-c", "net_weights.S", "-o", "weights.o"], cwd=folder)
            made = open(os.path.join(folder, "weights.o"), "rb").read()
            at = made.find(want)
            assert at >= 0 and name + b"\0" in made, "%s: the weights are not in the object" % triple
    for how in "linked", "c":
        build(model, "net", folder, "--cpu", "generic", "--weights", how, "--section", "weights=.far_flash")
        call(["ar", "x", "libnet.a", "net_weights.o"], cwd=folder)
        text = call(["objdump", "-h", "net_weights.o"], cwd=folder)
        row = [line.split() for line in text.splitlines() if ".far_flash" in line]
        assert len(row) == 1 and int(row[0][2], 16) == len(want), "%s: %s" % (how, text)
        made = [one for one in os.listdir(folder) if one.startswith("net_weights.") and one[-2:] in (".c", ".S")]
        assert made == ["net_weights.c" if how == "c" else "net_weights.S"], made
    if not shutil.which("cmake"):
        print("CMake is left out: it is not there")
        return 0
    open(os.path.join(scratch, "main.c"), "w").write("int main(void) { return 0; }\n")
    for format, how, source in ("ELF", "linked", "net_weights.S"), ("MACHO", "c", "net_weights.c"):
        build(model, "net", folder, "--cpu", "generic", "--no-compile", "--weights", how)
        open(os.path.join(scratch, "CMakeLists.txt"), "w").write("""cmake_minimum_required(VERSION 3.13)
project(consumer C)
set(CMAKE_EXECUTABLE_FORMAT %s)
set(CMAKE_C_STANDARD 90)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_subdirectory(net)
get_target_property(sources net SOURCES)
message("sources: ${sources};")
""" % format)
        text = call(["cmake", "-S", scratch, "-B", os.path.join(scratch, format)])
        sources = text.split("sources: ")[1].split("\n")[0].split(";")
        assert source in sources and len([one for one in sources if "weights" in one]) == 1, "%s: %s" % (format, sources)
        call(["cmake", "--build", os.path.join(scratch, format)])
        commands = json.load(open(os.path.join(scratch, format, "compile_commands.json")))
        assert all("99" in one["command"].split("-std=")[1][:6] for one in commands if one["file"].endswith(".c")), "not compiled as C99"


def compiler(scratch):
    """--cc with arguments, --cflags, --shared."""
    _, model, case = networks(0)[0]
    want = None
    for way in (["--cc", "gcc -g0"], ["--cflags", "-O1 -fno-plt"], ["--cc", "clang -m64"] if shutil.which("clang") else []):
        folder = os.path.join(scratch, "a" + "".join(way).replace(" ", ""))
        manifest = build(model, "net", folder, "--cpu", "native", "--shared", *way)
        assert manifest["shared_library"] == "libnet.so"
        exported = {line.split()[-1] for line in call(["nm", "-D", "--defined-only", "libnet.so"], cwd=folder).splitlines()}
        assert exported == {"net_run", "net_weights_check"}, "libnet.so exports %s" % exported
        inputs_to(case, manifest, folder)
        for library in "libnet.a", "libnet.so":
            call(["gcc", "-o", "program", driver(manifest, folder), "-I.", "./" + library, "-Wl,-rpath," + folder, "-pthread"], cwd=folder)
            got, _ = answer(manifest, os.path.join(folder, "program"), folder)
            want = want or got
            assert all_same(got, want), "%s with %s: bits differ" % (library, way)
        assert not way or way[1] in manifest["options"] or way[0] == "--cc", manifest["options"]
    two = os.path.join(scratch, "two")
    for name in "first", "second":
        open(os.path.join(scratch, name + ".onnxtxt"), "w").write('<ir_version: 8, opset_import: ["" : 17]>\ng (float[8] x) => (float[8] %s) { %s = Tanh (x) }\n' % (name, name))
    call([INGOT, "build", os.path.join(scratch, "first.onnxtxt"), os.path.join(scratch, "second.onnxtxt"), "--name", "two", "--profile", "managed", "--shared", "-o", two])
    exported = {line.split()[-1] for line in call(["nm", "-D", "--defined-only", "libtwo.so"], cwd=two).splitlines()}
    assert exported == {"two_first_run", "two_second_run", "two_module"}, exported
    if shutil.which("arm-none-eabi-gcc"):
        folder = os.path.join(scratch, "m3")
        build(model, "net", folder, "--cpu", "generic", "--cc", "arm-none-eabi-gcc -mthumb", "--cflags", "-mcpu=cortex-m3 -ffreestanding -fno-pic")
        attributes = call(["arm-none-eabi-readelf", "-A", "libnet.a"], cwd=folder)
        assert '"7-M"' in attributes and "v4T" not in attributes, attributes
    else:
        print("a cross compiler is left out: no arm-none-eabi-gcc")
    for options, code in ((["--cflags", "-O2 -ffast-math"], 2), (["--cpu", "cortex-m4", "--shared"], 2), (["--no-compile", "--shared"], 2), (["--cc", "no-such-cc -g"], 5),
                          (["--target", "cuda", "--shared"], 2), (["--cflags", "-no-such-flag"], 5)):
        done = subprocess.run([INGOT, "build", model, "-o", os.path.join(scratch, "none"), *options], capture_output=True, text=True)
        assert done.returncode == code and not os.path.exists(os.path.join(scratch, "none", "digits.h")), "%s: exit %d: %s" % (options, done.returncode, done.stderr)


HPP = """#include "net.hpp"
#include <cstdio>
#include <cstdlib>
#include <new>
static int taken;
void *operator new[](std::size_t bytes, const std::nothrow_t &) noexcept { taken++; return std::malloc(bytes); }
void operator delete[](void *at) noexcept { taken -= at != nullptr; std::free(at); }
#if __cplusplus >= 201402L
void operator delete[](void *at, std::size_t) noexcept { taken -= at != nullptr; std::free(at); }
#endif
static net_memory memory;
int main()
{
	static float image[1][1][28][28];
	static const float same[784] = { 0 };
	std::array<float, 10> scores;
	float plain[10];
	const float *pointer = same;
	net_in in;
	net_out out;
	net_model model(memory);
	if (model.run(in, out) != NET_NO_POINTER)
		return 1;
	in.image = image;
	out.scores = scores;
#if WRONG == 1
	static double bad[784];
	in.image = bad;
#elif WRONG == 2
	static float bad[783];
	in.image = bad;
#elif WRONG == 3
	static const float bad[10] = { 0 };
	out.scores = bad;
#elif WRONG == 4
	in.image = pointer;
#elif WRONG == 5
	net_model copy(model);
#endif
	if (model.run(in, out) || taken)
		return 2;
	{
		net_model heap;
		if (taken != 1)
			return 3;
		net_model moved(static_cast<net_model &&>(heap));
		out.scores = plain;
		in.image = ingot_elements<const float, 784>(pointer);
		if (moved.run(in, out) || heap.run(in, out) != NET_BAD_WORKSPACE || taken != 1)
			return 4;
		in.image = same;
		if (moved.run(in, out))
			return 5;
	}
	for (int i = 0; i < 10; i++)
		if (plain[i] < scores[static_cast<std::size_t>(i)] || plain[i] > scores[static_cast<std::size_t>(i)])
			return 6;
	return taken;
}
"""


def dispatch(scratch):
    """One library for several CPUs: the bits of each alone, on this machine and on older ones; one that nothing in it fits says so."""
    older = shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")
    if os.uname().machine != "x86_64":
        print("skipped: no x86-64")
        return 77
    if not older:
        print("older CPUs are left out: no qemu-x86_64-static")
    for name, model, case in networks(1):
        want, sizes = None, []
        for cpus_of in ("generic",), ("x86-64-v3",), ("generic", "x86-64-v4", "x86-64-v3"), ("x86-64-v3", "x86-64-v4"):
            folder = os.path.join(scratch, name + "".join(cpus_of))
            manifest = build(model, name, folder, "--cpu", ",".join(cpus_of), "--threads", "2", *(["--shared"] if len(cpus_of) > 1 else []))
            sizes.append(manifest["weights_bytes"])
            inputs_to(case, manifest, folder)
            program = linked(["gcc", "-static"], manifest, folder)
            machines = [[]] + [[older, "-cpu", machine] for machine in ("Haswell", "Nehalem") if older]
            for machine in machines if len(cpus_of) > 1 else [[]]:
                fits = "generic" in cpus_of or "Nehalem" not in machine
                if not machine and len(cpus_of) == 1 and not has(cpus_of[0]):
                    continue
                if not fits:
                    done = subprocess.run([*machine, program], cwd=folder, capture_output=True)
                    assert done.returncode == 12, "%s on %s: exit %d" % (cpus_of, machine, done.returncode)
                    continue
                got, _ = answer(manifest, program, folder, name + "_weights.bin", by=machine)
                want = want or got
                assert all_same(got, want), "%s on %s: bits differ" % (cpus_of, machine)
            if len(cpus_of) > 1:
                assert [one["cpu"] for one in manifest["cpus"]] == sorted(cpus_of, key=["x86-64-v4", "x86-64-v3", "generic"].index)
                exported = {line.split()[-1] for line in call(["nm", "-D", "--defined-only", "lib%s.so" % name], cwd=folder).splitlines()}
                assert exported == {name + "_run", name + "_weights_check"}, exported
                assert manifest["weights_bytes"] <= sum(one["weights_bytes"] for one in manifest["cpus"]) and manifest["workspace_bytes"] >= max(one["workspace_bytes"] for one in manifest["cpus"])
                for turn, source in enumerate(one for one in manifest["sources"] if one.endswith(".c")):
                    march = next((["-march=" + cpu] for cpu in ("x86-64-v4", "x86-64-v3") if cpu.replace("-", "_") in source), [])
                    ways = [way for way in (["gcc", "-std=c99"], ["gcc", "-x", "c++", "-std=c++11"], ["clang", "-std=c11"]) if shutil.which(way[0])]
                    for way in by_turns(ways, turn + turn // 3, 1):
                        call([*way, *march, *STRICT, "-fsyntax-only", source], cwd=folder)
                text = call(["objdump", "-d", "--no-show-raw-insn", "lib%s.a" % name], cwd=folder).split("<%s_run>:" % name)[1].split("\n\n")[0]
                assert "%ymm" not in text and "%zmm" not in text and "\tv" not in text, "the choice itself has newer instructions\n" + text
        if shutil.which("cmake"):
            open(os.path.join(scratch, "CMakeLists.txt"), "w").write("cmake_minimum_required(VERSION 3.13)\nproject(consumer C)\nfind_package(Threads REQUIRED)\nadd_subdirectory(%s)\n"
                "add_executable(program %s/driver.c)\ntarget_link_libraries(program PRIVATE %s Threads::Threads)\n" % ((os.path.basename(folder),) * 2 + (name,)))
            call(["cmake", "-S", scratch, "-B", os.path.join(scratch, "made" + name)])
            call(["cmake", "--build", os.path.join(scratch, "made" + name)])
            got, _ = answer(manifest, os.path.join(scratch, "made" + name, "program"), folder)
            assert all_same(got, want), "by CMake: bits differ"
    step = os.path.join(scratch, "step.onnxtxt")
    lstm(step, 1)
    lstm(os.path.join(scratch, "whole.onnxtxt"), 6)
    open(os.path.join(scratch, "steps.c"), "w").write(STEPS)
    for name in "step", "whole":
        build(os.path.join(scratch, name + ".onnxtxt"), name, os.path.join(scratch, name), "--cpu", "x86-64-v3,generic", *(["--state", "h=hn", "--state", "c=cn"] if name == "step" else []))
    call(["gcc", "-static", *STRICT, "-o", "program", "steps.c", "-Istep", "-Iwhole", "step/libstep.a", "whole/libwhole.a"], cwd=scratch)
    for machine in [[]] + [[older, "-cpu", machine] for machine in ("Haswell", "Nehalem") if older]:
        call([*machine, os.path.join(scratch, "program")])
    for options in (["--cpu", "x86-64-v3,cortex-m4"], ["--cpu", "x86-64-v3,x86-64-v3"], ["--cpu", "x86-64-v3,nothing"], ["--cpu", ","], ["--cpu", "x86-64-v3,generic", "--profile", "managed"],
                    ["--cpu", "x86-64-v3,generic", "--log"], ["--cpu", "x86-64-v3,generic", "--dump"]):
        done = subprocess.run([INGOT, "build", step, "-o", os.path.join(scratch, "none"), *options], capture_output=True, text=True)
        assert done.returncode == 2 and not os.path.exists(os.path.join(scratch, "none")), "%s: exit %d: %s" % (options, done.returncode, done.stderr)
    done = subprocess.run([INGOT, "run", step, "--cpu", "x86-64-v3,generic"], capture_output=True, text=True)
    assert done.returncode == 2, "run with several CPUs: exit %d" % done.returncode


def hpp(scratch):
    """NAME.hpp: C++11 and C++20, without exceptions; wrong types and sizes do not compile."""
    _, model, _ = networks(0)[0]
    build(model, "net", os.path.join(scratch, "net"), "--cpu", "native")
    open(os.path.join(scratch, "main.cpp"), "w").write(HPP)
    for cxx in [one for one in ("g++", "clang++") if shutil.which(one)]:
        for std in "c++11", "c++20":
            line = [cxx, "-std=" + std, *STRICT, "-fno-exceptions", "-fno-rtti", "-Inet", "main.cpp"]
            call([*line, "-DWRONG=0", "-o", "program", "net/libnet.a"], cwd=scratch)
            call([os.path.join(scratch, "program")])
            for wrong in range(1, 6):
                done = subprocess.run([*line, "-DWRONG=%d" % wrong, "-fsyntax-only"], cwd=scratch, capture_output=True)
                assert done.returncode, "%s: wrong line %d compiles" % (cxx, wrong)


def lstm(path, steps, inputs=40, hidden=32, outputs=12):
    """Frames of sound -> an LSTM -> words: `steps` of them, the states in and out."""
    random = np.random.default_rng(7)
    literal = lambda *dims: "{%s}" % ", ".join("%.6g" % value for value in random.normal(0, .3, dims).ravel())
    with open(path, "w") as file:
        file.write('''<ir_version: 8, opset_import: ["" : 17]>
kws (float[{T},1,{I}] x, float[1,1,{H}] h, float[1,1,{H}] c) => (float[{T},{O}] y, float[1,1,{H}] hn, float[1,1,{H}] cn)
<float[1,{G},{I}] W = {W}, float[1,{G},{H}] R = {R}, float[1,{B}] B = {b}, float[{H},{O}] D = {D}, int64[2] shape = {{{T}, {H}}}>
{{ all, hn, cn = LSTM <hidden_size = {H}> (x, W, R, B, , h, c)  rows = Reshape (all, shape)  z = MatMul (rows, D)  y = Softmax (z) }}
'''.format(T=steps, I=inputs, H=hidden, O=outputs, G=4 * hidden, B=8 * hidden, W=literal(1, 4 * hidden, inputs), R=literal(1, 4 * hidden, hidden),
           b=literal(1, 8 * hidden), D=literal(hidden, outputs)))


STEPS = """#include "step.h"
#include "whole.h"
#include <stdio.h>
#include <string.h>
enum { T = 6, I = 40, H = 32, O = 12 };
static unsigned char one[STEP_WORKSPACE_BYTES + 1] __attribute__((aligned(64))), all[WHOLE_WORKSPACE_BYTES + 1] __attribute__((aligned(64)));
static unsigned char state[STEP_STATE_BYTES + 8] __attribute__((aligned(8)));
static float x[T][I], y[T][O], expected[T][O], zeros[H], h[H], c[H], seen[H];
int main(void)
{
	struct whole_inputs from = { x[0], zeros, zeros };
	struct whole_outputs to = { expected[0], h, c };
	struct whole_context whole;
	struct step_context context;
	memset(&whole, 0, sizeof whole);
	memset(&context, 0, sizeof context);
	whole.workspace = all;
	context.workspace = one;
	context.state = state;
	for (int i = 0; i < T * I; i++)
		x[i / I][i % I] = (float)(i * 37 % 101) / 50 - 1;
	memset(state, 0xff, sizeof state);                        /* NaNs: reset has to clear them, and nothing behind them */
	if (whole_run(&from, &to, &whole))
		return 1;
	for (int again = 0; again < 2; again++) {
		if (step_reset(&context))
			return 2;
		for (int t = 0; t < T; t++) {
			struct step_inputs in = { x[t] };
			struct step_outputs out = { y[t], t % 2 ? seen : 0, 0 };
			if (step_run(&in, &out, &context))
				return 3;
		}
		if (memcmp(y, expected, sizeof y) || memcmp(seen, h, sizeof h) || memcmp(state, h, sizeof h))
			return 4;
	}
	for (int i = 0; i < 8; i++)
		if (state[STEP_STATE_BYTES + i] != 0xff)
			return 5;
	struct step_inputs in = { x[0] };
	struct step_outputs out = { y[0], 0, 0 };
	context.state = state + 1;
	if (step_run(&in, &out, &context) != STEP_BAD_STATE || step_reset(&context) != STEP_BAD_STATE || step_reset(0) != STEP_NO_POINTER)
		return 6;
	context.state = 0;
	return step_run(&in, &out, &context) != STEP_BAD_STATE || step_reset(&context) != STEP_BAD_STATE ? 7 : 0;
}
"""


def state(scratch):
    """--state without the runtime: an LSTM step by step is the LSTM over all steps, bit by bit."""
    lstm(os.path.join(scratch, "step.onnxtxt"), 1)
    lstm(os.path.join(scratch, "whole.onnxtxt"), 6)
    open(os.path.join(scratch, "steps.c"), "w").write(STEPS)
    pairs = ["--state", "h=hn", "--state", "c=cn"]
    for cpu in some_cpus(1):
        folder = os.path.join(scratch, cpu)
        manifest = build(os.path.join(scratch, "step.onnxtxt"), "step", os.path.join(folder, "step"), "--cpu", cpu, *pairs)
        assert [one["name"] for one in manifest["inputs"]] == ["x"] and [one["next"] for one in manifest["states"]] == ["hn", "cn"]
        build(os.path.join(scratch, "whole.onnxtxt"), "whole", os.path.join(folder, "whole"), "--cpu", cpu)
        call(["gcc", "-std=c99", *STRICT, *MARCH[cpu], "-fsyntax-only", *[one for one in manifest["sources"] if one.endswith(".c")]], cwd=os.path.join(folder, "step"))
        call(["g++", "-std=c++11", *STRICT, "-x", "c++", "-fsyntax-only", "step.hpp", "-Wno-error"], cwd=os.path.join(folder, "step"))
        call(["gcc", *STRICT, "-o", "program", "../steps.c", "-Istep", "-Iwhole", "step/libstep.a", "whole/libwhole.a"], cwd=folder)
        call([os.path.join(folder, "program")])
    # In a shared library of several graphs each has its own: one without a state has nothing to reset.
    open(os.path.join(scratch, "plain.onnxtxt"), "w").write('<ir_version: 8, opset_import: ["" : 17]>\ng (float[2] a) => (float[2] b) { b = Relu (a) }\n')
    for first, second in ("step", "plain"), ("plain", "step"):
        made = os.path.join(scratch, "both_" + first)
        call([INGOT, "build", *[os.path.join(scratch, one + ".onnxtxt") for one in (first, second)], "--name", "both", "--shared", *pairs, "-o", made])
        told = set(call(["nm", "-D", "--defined-only", os.path.join(made, "libboth.so")]).split()[2::3])
        assert told == {"both_step_run", "both_step_reset", "both_plain_run", "both_weights_check"}, told
    for wrong in (["--state", "h=y"], ["--state", "h=nothing"], ["--state", "nothing=hn"], ["--state", "h=hn", "--state", "h=cn"], ["--state", "h=hn", "--state", "c=hn"],
                  ["--state", "h=hn", "--target", "cuda"]):
        done = subprocess.run([INGOT, "build", os.path.join(scratch, "step.onnxtxt"), "-o", os.path.join(scratch, "none"), *wrong], capture_output=True, text=True)
        assert done.returncode == 2 and wrong[0] in done.stderr and not os.path.exists(os.path.join(scratch, "none")), "%s: exit %d %s" % (wrong, done.returncode, done.stderr)


INGOT = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "ingot"
if __name__ == "__main__":
    sys.exit(part_of(warnings, bits, whole, consumer, aarch64, libm, codes, refused, objects, compiler, hpp, state, dispatch))
