#!/usr/bin/env python3
"""managed.py: what `ingot build --profile managed` makes, against the bare profile.

    managed.py INGOT PART       exit 0: right, 1: wrong, 77: a tool that the part needs is not there
PART: bits, contexts, folder.  Networks: those of tests/generated/packages.py, with INGOT_LONG=1 also the transformer of examples/ and
resnet50, as tests/models makes them."""
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "generated"))
import packages
from here import part_of
from packages import LONG, answer, build, call, inputs_to, networks

STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-pedantic", "-Werror"]


def literal(text):
    return '"%s"' % "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else "\\%03o" % b for b in text.encode())


def program_of(manifest, folder, library=None, routine=None, name=None):
    """The driver, filled in and linked with the folder's two libraries."""
    values = {"name": name or manifest["prefix"], "library": library or manifest["prefix"], "routine": routine or manifest["prefix"],
              "inputs": len(manifest["inputs"]), "outputs": len(manifest["outputs"])}
    for side in ("input", "output"):
        values[side + "_bytes"] = ", ".join(str(one["bytes"]) for one in manifest[side + "s"])
        values[side + "_names"] = ", ".join(literal(one["name"]) for one in manifest[side + "s"])
    values["output_floats"] = ", ".join({"float": "4", "double": "8"}.get(one["type"], "0") for one in manifest["outputs"])
    text = open(os.path.join(HERE, "driver.c.txt")).read()
    for key, value in values.items():
        text = text.replace("@%s@" % key, str(value))
    main, program = os.path.join(folder, "managed_driver.c"), os.path.join(folder, "managed")
    open(main, "w").write(text)
    call(["gcc", "-Wall", "-Wextra", "-Werror", "-o", program, main, "-I" + folder, "-I" + os.path.join(folder, "runtime/include"),
          os.path.join(folder, manifest["library"]), os.path.join(folder, "libingot_runtime.a"), "-lm", "-pthread"])
    return program


def made():
    """The networks of the bench that are no files; those that cannot be made here are named."""
    sys.path.insert(0, os.path.join(packages.ROOT, "tests", "models"))
    import models
    for name in models.MADE:
        case = models.case_of(name)
        if isinstance(case, str):
            print("%s is left out: %s" % (name, case))
        else:
            yield name, case[0], case[1]


def bits(scratch):
    """The bare profile's bits: on sync, on multicore, on several threads, as one call and as a schedule of kernels."""
    for name, model, case in networks(3) + (list(made()) if LONG else []):
        bare = os.path.join(scratch, name)
        manifest = build(model, name, bare, "--cpu", "native")
        inputs_to(case, manifest, bare)
        main = packages.driver(manifest, bare)
        call(["gcc", "-o", os.path.join(bare, "program"), main, "-I", bare, os.path.join(bare, manifest["library"]), "-pthread"])
        answer(manifest, os.path.join(bare, "program"), bare)
        for schedule in "call", "steps":
            folder = os.path.join(scratch, name + schedule)
            managed = build(model, name, folder, "--cpu", "native", "--profile", "managed", "--threads", "2", "--schedule", schedule)
            call([program_of(managed, folder)], cwd=bare)


def contexts(scratch):
    """1,000 contexts of one library share one copy of its weights."""
    name, model, case = networks(1)[-1]
    folder = os.path.join(scratch, name)
    manifest = build(model, name, folder, "--profile", "managed")
    cost = json.loads(call([program_of(manifest, folder), "1000"]))
    assert cost["weights"] > 0 and cost["all"] == 1000 * cost["one"], cost
    assert cost["one"] < manifest["workspace_bytes"] + 4096 + sum(one["bytes"] for one in manifest["inputs"] + manifest["outputs"]), cost


def folder(scratch):
    """It builds on its own: by CMake, by pkg-config, without a warning; twice the same bytes; two libraries, one runtime."""
    _, model, _ = networks(0)[0]
    for name in "one", "two":
        manifest = build(model, name, os.path.join(scratch, name), "--profile", "managed", "--schedule", "call" if name == "one" else "steps")
        for cc, std in ((cc, std) for cc in ("gcc", "clang", "clang-14") for std in ("c99", "c11") if shutil.which(cc)):
            call([cc, "-std=" + std, *STRICT, "-Iruntime/include", "-fsyntax-only", name + "_module.c"], cwd=os.path.join(scratch, name))
    again = os.path.join(scratch, "again")
    build(model, "one", again, "--profile", "managed", "--no-compile")
    for path, _, files in os.walk(again):
        for file in files:
            if not file.endswith((".json", ".h")) or path != again:          # these two say what the compiler found
                other = os.path.join(scratch, "one", os.path.relpath(os.path.join(path, file), again))
                assert open(other, "rb").read() == open(os.path.join(path, file), "rb").read(), file
    if not shutil.which("cmake") or not shutil.which("pkg-config"):
        print("skipped: no cmake or no pkg-config")
        return 77
    open(os.path.join(scratch, "main.c"), "w").write("""#include "one.h"
#include "two.h"
#include "ingot/context.h"
int main(void)
{
	struct ingot_runtime *runtime;
	struct ingot_library library;
	return ingot_runtime_open(&runtime, 0) || ingot_library_load(runtime, &one_module, 0, &library)
		|| ingot_library_load(runtime, &two_module, 0, &library);
}
""")
    open(os.path.join(scratch, "CMakeLists.txt"), "w").write("""cmake_minimum_required(VERSION 3.13)
project(consumer C)
add_subdirectory(one)
add_subdirectory(two)
add_executable(program main.c)
target_link_libraries(program PRIVATE one two)
""")
    made = os.path.join(scratch, "made")
    call(["cmake", "-S", scratch, "-B", made])
    call(["cmake", "--build", made])
    call([os.path.join(made, "program")])
    env = dict(os.environ, PKG_CONFIG_PATH=":".join(os.path.join(scratch, one) for one in ("one", "two")))
    call(["gcc", "-o", "by_pc", "main.c", *call(["pkg-config", "--cflags", "--libs", "one", "two"], env=env).split()], cwd=scratch)
    call([os.path.join(scratch, "by_pc")])


if __name__ == "__main__":
    sys.exit(part_of(bits, contexts, folder))
