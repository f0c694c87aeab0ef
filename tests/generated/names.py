#!/usr/bin/env python3
"""names.py: no name of a user meets one of the language, of the headers beside it or of ingot.

    names.py INGOT PART         exit 0: right, 1: wrong, 77: a tool that the part needs is not there
PART: tensors, models, graphs.  The names are those of generator/tables/taken.h and common/names.c, the words that the templates define, and what the
headers of a library themselves define."""
import json
import os
import random
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
try:
    import numpy as np
    import packages
    from here import part_of
    from packages import MARCH, STRICT, build, call
except SystemExit:
    raise
ROOT = packages.ROOT
HEADERS = """assert ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg stdbool stddef stdint stdio stdlib string time
wchar wctype unistd pthread fcntl poll""".split()


def text(*path):
    return open(os.path.join(ROOT, *path), encoding="utf-8").read()


def tables():
    """{what: words}, a pattern's star as "x"."""
    found = {}
    for what, words in re.findall(r'^T\((\w+), ((?:"[^"]*"\s*)+)\)', text("generator", "tables", "taken.h"), re.M):
        found.setdefault(what, []).extend("".join(re.findall(r'"([^"]*)"', words)).replace("*", "x").split())
    keywords = text("common", "names.c").split("keywords[] = {")[1].split("};")[0]
    found["WORD"] += re.findall(r'"(\w+)"', keywords)
    return found


def words():
    """What the templates of C define: (functions, types and labels; macros)."""
    found, macros = set(), set()
    for folder in "c", "common", "package":
        for name in os.listdir(os.path.join(ROOT, "templates", folder)):
            if not name.startswith("jit"):
                found |= set(re.findall(r"(?:WORD|static|void|int|float|const|struct) \**([A-Za-z]\w*)", text("templates", folder, name)))
                macros |= set(re.findall(r"#\s*define\s+(\w+)", text("templates", folder, name)))
    return found, macros


def model(path, inputs, outputs):
    """outputs[i] = inputs[2i] + inputs[2i + 1]"""
    quoted = lambda name: '"%s"' % name
    body = "\n".join("  %s = Add (%s, %s)" % (quoted(out), quoted(inputs[2 * i]), quoted(inputs[2 * i + 1])) for i, out in enumerate(outputs))
    with open(path, "w") as file:
        file.write('<ir_version: 8, opset_import: ["" : 17]>\ng (%s) => (%s) {\n%s\n}\n' % (
            ", ".join("float[2] " + quoted(name) for name in inputs), ", ".join("float[2] " + quoted(name) for name in outputs), body))


MAIN = """int main(void)
{
	static float x[@N@][2], y[@M@][2];
	struct net_inputs in;
	struct net_outputs out;
	struct net_context context;
	memset(&context, 0, sizeof context);
	for (int i = 0; i < @N@; i++)
		x[i][0] = (float)i, x[i][1] = 0.5f;
@BIND@
	if (net_run(&in, &out, &context))
		return 1;
	for (int i = 0; i < @M@; i++)
		if (y[i][0] != (float)(4 * i + 1) || y[i][1] != 1.f)
			return 2;
	return 0;
}
"""


def program(manifest, path):
    """After every header that may come before: what they define is no member's name."""
    bind = ["\tin.%s = x[%d];" % (one["field"], i) for i, one in enumerate(manifest["inputs"])]
    bind += ["\tout.%s = y[%d];" % (one["field"], i) for i, one in enumerate(manifest["outputs"])]
    lines = ["#include <%s.h>" % name for name in HEADERS]
    lines += ["#ifndef __cplusplus", "#include <complex.h>", "#include <stdalign.h>", "#include <stdatomic.h>", "#include <stdnoreturn.h>",
              "#include <threads.h>", "#endif", '#include "net.h"']
    body = MAIN.replace("@N@", str(len(manifest["inputs"]))).replace("@M@", str(len(manifest["outputs"]))).replace("@BIND@", "\n".join(bind))
    open(path, "w").write("\n".join(lines) + "\n" + body)


def tensors(scratch):
    found = tables()
    hostile = set(found["WORD"]) | set(found["MACRO"]) | words()[1]
    first = os.path.join(scratch, "first.onnxtxt")
    model(first, ["a", "A", "a_1", "A_1"], ["c", "C"])      # alike in upper case, as macros are
    for profile in "bare", "managed":                      # whatever the headers define: NET_… and INGOT_…
        folder = os.path.join(scratch, profile)
        build(first, "net", folder, "--profile", profile, "--no-compile", "--threads", "2")
        defined = re.findall(r"#\s*define\s+(\w+)", open(os.path.join(folder, "net.h")).read())
        assert len(defined) == len(set(defined)), "net.h defines a macro twice: %s" % sorted(one for one in set(defined) if defined.count(one) > 1)
        for base, _, names in os.walk(folder):
            for name in names:
                if name.endswith((".h", ".c")):
                    hostile |= set(re.findall(r"#\s*define\s+(\w+)", open(os.path.join(base, name)).read()))
                    hostile |= set(re.findall(r"\b(NET_\w*)\b", open(os.path.join(base, name)).read()))
    hostile |= {"NET_WORKSPACE_BYTES", "__LINE__", "__x86_64__", "_Bool", "_Static_assert", "_X", "_", "__", "1x", "", "a.b", "a b", "a/b", "ä", "*/", "/*", "??/",
                "%s", "in", "out", "x", "y", "call", "context", "a_1", "a", "state", "parallel", "Net", "net"} - {""}
    hostile = sorted(hostile)
    outs = 48
    for at in range(0, len(hostile), 2 * outs):
        inputs = hostile[at:at + 2 * outs]
        inputs += ["more%d" % i for i in range(2 * outs - len(inputs))]
        shift = hostile[(at + 7 * outs) % len(hostile):][:outs]
        outputs = [name for name in shift if name not in inputs]
        outputs += ["sum%d" % i for i in range(outs - len(outputs))]
        graph, folder = os.path.join(scratch, "net.onnxtxt"), os.path.join(scratch, "net%d" % at)
        model(graph, inputs, outputs)
        manifest = build(graph, "net", folder, "--cpu", "generic")
        main = os.path.join(folder, "main.c")
        program(manifest, main)
        ways = [["gcc", "-std=gnu11"], ["g++", "-x", "c++", "-std=gnu++17"]] + ([["clang", "-std=c11"]] if shutil.which("clang") else [])
        for way in ways:
            call([*way, "-Wall", "-Wextra", "-Werror", "-I.", "-fsyntax-only", "main.c", "net.c"], cwd=folder)
        packages.example(folder, "net")
        call(["gcc", "-std=gnu11", "-o", "program", "main.c", "libnet.a"], cwd=folder)
        call([os.path.join(folder, "program")])
        same(scratch, graph, inputs, outputs)
        if not at:
            managed(scratch, graph, folder)


def same(scratch, graph, inputs, outputs):
    """jit and c against the interpreter, by the command; a name with = in it cannot be said there."""
    x = os.path.join(scratch, "x.npy")
    np.save(x, np.array([3, 0.25], dtype=np.float32))
    got = {}
    for target in "interpreter", "jit", "c":
        command = [packages.INGOT, "run", graph, "--target", target]
        for name in inputs:
            command += ["--input", "%s=%s" % (name, x)]
        for i, name in enumerate(outputs):
            command += ["--output", "%s=%s" % (name, os.path.join(scratch, "y%d.npy" % i))]
        done = subprocess.run(command, capture_output=True, text=True)
        if target == "jit" and done.returncode == 5:
            print("no jit here: " + done.stderr.strip())
            continue
        assert done.returncode == 0, "%s %s: exit %d: %s" % (target, graph, done.returncode, done.stderr)
        got[target] = [open(os.path.join(scratch, "y%d.npy" % i), "rb").read() for i in range(len(outputs))]
        assert got[target] == got["interpreter"], "%s: other values by %s" % (graph, target)


LOADS = """#include "%s.h"
#include "ingot/context.h"
int main(void)
{
	struct ingot_runtime *runtime;
	struct ingot_library library;
	return ingot_runtime_open(&runtime, 0) || ingot_library_load(runtime, &%s_module, 0, &library);
}
"""


def managed(scratch, graph, bare, name="net", options=()):
    folder = bare + "_managed"
    for schedule in "call", "steps":
        build(graph, name, folder, "--profile", "managed", "--schedule", schedule, "--threads", "2", *options)
        open(os.path.join(folder, "loads.c"), "w").write(LOADS % (name, name))
        call(["gcc", *STRICT, "-o", "loads", "loads.c", "-I.", "-Iruntime/include", "lib%s.a" % name, "libingot_runtime.a", "-lm", "-pthread"], cwd=folder)
        call([os.path.join(folder, "loads")])


NETWORK = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4,80] x, float[80,24] w, int64[2] at) => (float[2,24] y) {
  a = MatMul (x, w)  b = Relu (a)  c = Mul (b, b)  d = Tanh (c)  e = Erf (d)  f = Softmax <axis = 1> (e)
  h = Sqrt (f)  i = Gather <axis = 0> (h, at)  j = Sigmoid (i)  k = Add (j, i)  l = Pow (k, i)  y = Div (l, k)
}
"""


def models(scratch):
    """A file's name becomes the library's: whatever it is, it compiles, runs and meets nothing."""
    found, (vocabulary, _) = tables(), words()
    # a word A_B can meet a library A only where ours may end in _B; of all others a few
    ours = "run|weights|module|log|log_line|log_begin|log_end|profile|limit_fma|limit_read|reset|schedule|inputs|outputs|context|call|k[0-9]+_.*"
    stems = {found.group(1) for found in (re.fullmatch("([A-Za-z].*?)_(%s)" % ours, one) for one in vocabulary) if found}
    others = sorted({one.split("_")[0] for one in vocabulary if "_" in one and one[0] != "_"} - stems)
    stems = sorted(stems) + random.Random(5).sample(others, min(6, len(others)))

    def sources(stem, cpu):
        path, folder = os.path.join(scratch, stem + ".onnxtxt"), os.path.join(scratch, "stem")
        open(path, "w").write(NETWORK)
        call([packages.INGOT, "build", path, "--cpu", cpu, "-o", folder, "--no-compile", *(["--log"] if cpu == "generic" else ["--threads", "2"])])
        return folder, [one for one in os.listdir(folder) if one.endswith(".c") and one != "ingot_threads.c"]   # which has no name of the library

    # of those words some stand in each CPU's text; where none does, one CPU is enough
    began = {}
    for cpu in ("x86-64-v3", "generic"):
        folder, files = sources("of_no_word", cpu)
        began[cpu] = {one for file in files for word in re.findall(r"\w+", open(os.path.join(folder, file)).read()) for one in stems if word.startswith(one + "_")}
    for turn, stem in enumerate(stems):
        for cpu in [cpu for cpu in began if packages.LONG or stem in began[cpu]] or [list(began)[turn % 2]]:
            folder, files = sources(stem, cpu)
            done = subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Werror", *MARCH[cpu], "-include", "unistd.h", "-include", "math.h", "-fsyntax-only", *files],
                                  cwd=folder, capture_output=True, text=True)
            assert done.returncode == 0, "%s.onnx for %s: %s" % (stem, cpu, done.stderr[:1000])
            shutil.rmtree(folder)
    hostile = ["m", "k", "vec", "x", "r", "w", "f", "int", "class", "EOF", "math", "String", "unistd", "test", "all", "c", "ingot", "ingot_routine", "INGOT", "_math", "__LINE__",
               "_Bool", "main", "runtime", "std", "CMakeLists", "1net", "n\u00e4t", "a-b", "part0", "schedule_0", "run", "profile", "l" * 200]
    if not os.environ.get("INGOT_LONG"):                  # each takes two seconds
        hostile = ["m", "k", "EOF", "math", "ingot_routine", "_math", "all", "1net"]
    inputs = {"x": np.linspace(-1, 1, 320, dtype=np.float32).reshape(4, 80), "w": np.linspace(-.1, .1, 1920, dtype=np.float32).reshape(80, 24), "at": np.array([2, 0])}
    for name, value in inputs.items():
        np.save(os.path.join(scratch, name + ".npy"), value)
    for stem in hostile:
        path = os.path.join(scratch, stem + ".onnxtxt")
        open(path, "w").write(NETWORK)
        answers = {}
        for target in "interpreter", "jit", "c":
            done = subprocess.run([packages.INGOT, "run", path, "--target", target, "--output", "y=" + os.path.join(scratch, "out.npy")]
                                  + [one for name in inputs for one in ("--input", "%s=%s" % (name, os.path.join(scratch, name + ".npy")))], capture_output=True, text=True)
            if target == "jit" and done.returncode == 5:
                continue
            assert done.returncode == 0, "%s by %s: exit %d: %s" % (stem, target, done.returncode, done.stderr)
            answers[target] = open(os.path.join(scratch, "out.npy"), "rb").read()
            assert answers[target] == answers["interpreter"], "%s: other values by %s" % (stem, target)
        folder = os.path.join(scratch, "made")
        whole = stem in ("m", "test", "math", "ingot_routine")
        call([packages.INGOT, "build", path, "--cpu", "generic", "-o", folder, "--profile", "managed", "--threads", "2", *([] if whole else ["--no-compile"])])
        manifest = json.load(open(os.path.join(folder, [one for one in os.listdir(folder) if one.endswith(".json")][0])))
        name = manifest["prefix"]
        assert name.lower() not in found["HEADER"], "%s becomes %s" % (stem, name)
        open(os.path.join(folder, "loads.c"), "w").write("".join("#include <%s.h>\n" % one for one in HEADERS) + LOADS % (name, name))
        for way in ["gcc", "-std=gnu11"], ["g++", "-x", "c++", "-std=gnu++17"]:
            call([*way, "-Wall", "-Wextra", "-Werror", "-c", "-o", "loads.o", "loads.c", "-I.", "-Iruntime/include"], cwd=folder)
            if whole:
                call(["g++", "-o", "loads", "loads.o", "./lib%s.a" % name, "libingot_runtime.a", "-lm", "-pthread"], cwd=folder)
                call([os.path.join(folder, "loads")])
            else:
                call([*way, "-Iruntime/include", "-fsyntax-only", *[one for one in os.listdir(folder) if one.endswith(".c") and one != "loads.c"]], cwd=folder)
        if stem in ("m", "test", "math") and shutil.which("cmake"):
            target = name + "_" if name in found["TARGET"] else name
            open(os.path.join(scratch, "CMakeLists.txt"), "w").write("""cmake_minimum_required(VERSION 3.13)
project(consumer C)
add_subdirectory(made)
add_executable(program made/loads.c)
target_link_libraries(program PRIVATE %s m)
""" % target)
            call(["cmake", "-S", scratch, "-B", os.path.join(scratch, "by_cmake")])
            call(["cmake", "--build", os.path.join(scratch, "by_cmake")])
            shutil.rmtree(os.path.join(scratch, "by_cmake"))
        shutil.rmtree(folder)
    for name, why in ("math", "math.h"), ("_a", "underscore"), ("ingot_routine", "ingot"), ("Ingot", "ingot"):
        done = subprocess.run([packages.INGOT, "build", os.path.join(scratch, "m.onnxtxt"), "--name", name, "-o", folder], capture_output=True, text=True)
        assert done.returncode == 2 and why in done.stderr and not os.path.exists(folder), "--name %s: exit %d: %s" % (name, done.returncode, done.stderr)


def graphs(scratch):
    """Several graphs of one library, called like its files, like each other's files, or alike but for the case."""
    names = ["module", "weights", "a", "a_kernels", "a_kernels_0", "a_log", "A", "run", "x", "ok", "workspace"]
    files = []
    for i, name in enumerate(names):
        files.append(os.path.join(scratch, name + ".onnxtxt"))
        open(files[-1], "w").write('<ir_version: 8, opset_import: ["" : 17]>\ng (float[8,8] x%d) => (float[8,8] y%d) <float[1] c = {%d}>\n{ t = Mul (x%d, c)  y%d = Tanh (t) }\n'
                                   % (i, i, i, i, i))
    for log in ([], ["--log"]):
        folder = os.path.join(scratch, "set")
        call([packages.INGOT, "build", *files, "--name", "set", "--cpu", "generic", "-o", folder, *log, "--profile", "managed"])
        manifest = json.load(open(os.path.join(folder, "set.json")))
        assert len({one["prefix"].lower() for one in manifest["graphs"]}) == len(names)
        assert len(set(manifest["sources"])) == len(manifest["sources"]), "a file is written twice"
        open(os.path.join(folder, "loads.c"), "w").write("#include <unistd.h>\n" + LOADS % ("set", "set"))
        call(["gcc", *STRICT, "-o", "loads", "loads.c", "-I.", "-Iruntime/include", "libset.a", "libingot_runtime.a", "-lm", "-pthread"], cwd=folder)
        call([os.path.join(folder, "loads")])
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(part_of(tensors, models, graphs))
