#!/usr/bin/env python3
"""package.py BUILD: what is installed, as another project sees it.  For each prefix a folder is configured, given what BUILD compiled, and
installed below DESTDIR, so that it also lies elsewhere than it was configured for: find_package and pkg-config build and run
examples/jit there, with the static library and with the shared one.  cpack: the archive and the .debs.  FetchContent: our targets without our tests.  77: no Ninja or pkg-config."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(sys.argv[1])
MADE = ["ingot", "generator/libingot.a", "generator/shared/libingot.so", "generator/shared/libingot.so.0", "generator/shared/libingot.so.0.1.0", "generator/jit/libingot-jit.a", "runtime/libingot_runtime.a", "pages"]
DIGITS = os.path.join(ROOT, "examples", "digits", "digits.onnx")
CONSUMER = """cmake_minimum_required(VERSION 3.21)
project(consumer LANGUAGES C)
find_package(ingot 0.1 REQUIRED)
add_executable(jit "%s/examples/jit/main.c")
target_link_libraries(jit PRIVATE ingot::ingot)
add_executable(shared "%s/examples/jit/main.c")
target_link_libraries(shared PRIVATE ingot::shared)
add_executable(run run.c)
target_link_libraries(run PRIVATE ingot::runtime)
add_custom_target(version ALL COMMAND ingot::compiler --version)
""" % (ROOT, ROOT)
RUNTIME = """#include <ingot/runtime.h>
#include <stddef.h>
int main(void)
{
	struct ingot_runtime *runtime;
	return ingot_runtime_open(&runtime, &(struct ingot_runtime_options){ 0 }) || ingot_runtime_close(runtime);
}
"""
FETCH = """cmake_minimum_required(VERSION 3.21)
project(fetch LANGUAGES C)
include(FetchContent)
FetchContent_Declare(ingot SOURCE_DIR "%s")
FetchContent_MakeAvailable(ingot)
foreach(target ingot::ingot ingot::shared ingot::runtime ingot::compiler)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "no ${target}")
  endif()
endforeach()
add_executable(jit "%s/examples/jit/main.c")
target_link_libraries(jit PRIVATE ingot::ingot)
file(GENERATE OUTPUT includes CONTENT "$<TARGET_PROPERTY:ingot::ingot,INTERFACE_INCLUDE_DIRECTORIES>")
""" % (ROOT, ROOT)
failures = 0


def call(*command, want=0, **more):
    """-> what it printed; another code than `want` (None: any) ends the test."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if want is not None and done.returncode != want:
        print("FAILED %s: exit %d\n%s" % (" ".join(command), done.returncode, done.stdout[-3000:]))
        sys.exit(1)
    return done.stdout


def expect(name, right, text=""):
    global failures
    failures += not right
    print("ok    " if right else "FAILED", name, "" if right else text, flush=True)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def installed(prefix, folder):
    """-> where the tree of that prefix lies"""
    build, stage = os.path.join(folder, "build"), os.path.join(folder, "stage")
    call("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DINGOT_TESTS=OFF", "-DCMAKE_INSTALL_PREFIX=" + prefix)
    call("cp", "-a", "--parents", *MADE, build, cwd=BUILD)
    call("cmake", "--install", build, "--strip", env=dict(os.environ, DESTDIR=stage))
    return stage + prefix


def check(prefix, folder):
    root = installed(prefix, folder)
    lib = next(base for base, _, files in os.walk(root) if "libingot.a" in files)
    for name in ("share/doc/ingot/LICENSE", "share/doc/ingot/docs/runtime.md", "include/ingot/ingot.h", "include/ingot/abi.h", "share/man/man1/ingot.1"):
        expect("%s: %s" % (prefix, name), os.path.exists(os.path.join(root, name)))
    for name in ("libingot.a", "libingot-jit.a", "libingot_runtime.a", "libingot.so.0"):
        debug = ".debug_info" in call("objdump", "-h", os.path.join(lib, name))
        expect("%s: %s without debug data" % (prefix, name), not debug)
    texts = [os.path.join(base, name) for base, _, names in os.walk(lib) for name in names if name.endswith((".cmake", ".pc"))]
    # As a path of its own: a tree at /ingot is not what include/ingot tells of.
    own = re.compile("|".join(r"(?<![\w.}>-])%s(?![\w.-])" % re.escape(path) for path in (ROOT, BUILD, folder)))
    inside = [path for path in texts if own.search(open(path).read())]
    expect("%s: no path of the build in the package" % prefix, not inside, inside)

    consumer = os.path.join(folder, "consumer")
    write(os.path.join(consumer, "CMakeLists.txt"), CONSUMER)
    write(os.path.join(consumer, "run.c"), RUNTIME)
    call("cmake", "-S", consumer, "-B", consumer + "/build", "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + root)
    text = call("cmake", "--build", consumer + "/build")
    expect("%s: ingot::compiler runs" % prefix, "ingot 0.1" in text, text)
    scores = call(consumer + "/build/jit", DIGITS)
    expect("%s: find_package, examples/jit" % prefix, "scores: 0." in scores, scores)
    expect("%s: find_package, examples/jit with the shared library" % prefix, call(consumer + "/build/shared", DIGITS) == scores)
    needed = call("objdump", "-p", consumer + "/build/shared")
    expect("%s: it needs libingot.so.0" % prefix, "libingot.so.0" in needed and "jansson" not in needed, needed)
    call(consumer + "/build/run")
    expect("%s: find_package, the runtime" % prefix, True)
    write(os.path.join(folder, "newer", "CMakeLists.txt"), CONSUMER.replace("ingot 0.1", "ingot 0.9"))
    text = call("cmake", "-S", folder + "/newer", "-B", folder + "/newer/build", "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + root, want=None)
    expect("%s: version 0.9 is not there" % prefix, "version: 0.1.0" in text, text)

    for name, path in ("ingot", None), ("ingot-shared", lib):
        flags = "PKG_CONFIG_PATH='%s/pkgconfig' pkg-config --cflags --libs %s" % (lib, name)
        call("sh", "-c", 'flags=$(%s) && eval "cc -o jit \\"%s/examples/jit/main.c\\" $flags"' % (flags, ROOT), cwd=folder)
        expect("%s: pkg-config %s, examples/jit" % (prefix, name), call(folder + "/jit", DIGITS, env=dict(os.environ, LD_LIBRARY_PATH=path or "")) == scores)
        expect("%s: pkg-config %s, which library" % (prefix, name), ("libingot.so.0" in call("objdump", "-p", folder + "/jit")) == bool(path))


def exports(library):
    """The shared library's functions are those of the header, no more."""
    header = re.sub(r"/\*.*?\*/", "", open(os.path.join(ROOT, "generator/include/ingot/ingot.h")).read(), flags=re.S)
    right = set(re.findall(r"\b(ingot_\w+)\(", header))
    found = {line.split()[2].split("@")[0] for line in call("nm", "-D", "--defined-only", library).splitlines() if " A " not in line}
    expect("libingot.so.0 exports the %d functions of ingot.h" % len(right), len(right) > 15 and found == right, found ^ right)
    dynamic = call("objdump", "-p", library)
    expect("libingot.so.0 has its name, and no text relocations", re.search(r"SONAME +libingot\.so\.0\n", dynamic) and "TEXTREL" not in dynamic, dynamic)


def fetch(folder):
    write(folder + "/CMakeLists.txt", FETCH)
    call("cmake", "-S", folder, "-B", folder + "/build", "-G", "Ninja")
    targets = call("ninja", "-C", folder + "/build", "-t", "targets", "all")
    expect("FetchContent: without the tests", "test_api" not in targets and "example_managed" not in targets and "libingot.a" in targets)
    text = call("cmake", "-S", folder, "-B", folder + "/without", "-G", "Ninja", "-DCMAKE_OBJCOPY=false", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    expect("FetchContent: no objcopy, no JIT in libingot.so", "libingot.so is without the JIT" in text, text)
    commands = {}                                         # of one file of each target
    for one in json.load(open(folder + "/without/compile_commands.json")):
        if one["file"].endswith("/runtime_files.c"):      # to make it would compile nearly all of ingot; this is what it includes
            write(one["file"], '#include "base/embedded.h"\n')
        if os.path.exists(one["file"]):
            commands[re.search(r"CMakeFiles/([\w-]+)\.dir/", one["command"]).group(1)] = one
    expect("FetchContent: a stand-in is there instead", commands["libingot-shared"]["file"].endswith("tcc_absent.c"), commands["libingot-shared"])
    for target, one in sorted(commands.items()):
        call("sh", "-c", one["command"] + " -fsyntax-only", cwd=one["directory"])
        expect("FetchContent: compiles of %s: %s" % (target, os.path.basename(one["file"])), True)
    if os.environ.get("INGOT_LONG"):
        call("cmake", "--build", folder + "/without", "--target", "libingot-shared")
        lib = os.path.dirname(glob.glob(folder + "/without/**/libingot.so", recursive=True)[0])
        call("cc", ROOT + "/examples/jit/main.c", "-I" + ROOT + "/generator/include", "-L" + lib, "-lingot", "-Wl,-rpath," + lib, "-o", folder + "/says")
        text = call(folder + "/says", DIGITS, want=5)
        expect("FetchContent: without the JIT it says so", "no libtcc" in text, text)
        call("cmake", "--build", folder + "/build", "--target", "jit")
        expect("FetchContent: examples/jit", "scores" in call(folder + "/build/jit", DIGITS))
    else:                                                 # all of ingot would be compiled: its headers at least are found
        includes = [one for one in open(folder + "/build/includes").read().split(";") if one]
        call("cc", "-fsyntax-only", *("-I" + one for one in includes), ROOT + "/examples/jit/main.c")
        expect("FetchContent: users see two folders of headers", len(includes) == 2, includes)


def packed(folder):
    """The archive and the Debian package, of a folder configured for /usr."""
    text = call("cmake", "-S", ROOT, "-B", folder + "/0/build", "-DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON") + call("cpack", "-B", folder + "/packed", cwd=folder + "/0/build")
    made = sorted(glob.glob(folder + "/packed/*.tar.gz")), sorted(glob.glob(folder + "/packed/*.deb"))
    expect("cpack", [len(one) for one in made] == [1, 2 if shutil.which("dpkg") else 0], text)
    names = call("tar", "-tzf", made[0][0])
    expect("cpack: the archive holds the program, the libraries and the licence",
           all(one in names for one in ("/bin/ingot\n", "/libingot.a\n", "/libingot.so.0\n", "/libingot_runtime.a\n", "/ingot-config.cmake\n", "/LICENSE\n")), names)
    for deb in made[1]:
        shared = os.path.basename(deb).startswith("libingot0_")
        names = call("dpkg-deb", "-c", deb)
        expect("cpack: libingot.so.0 is in the package libingot0", ("libingot.so.0.1.0" in names) == shared and ("/bin/ingot" in names) != shared, names)
        call("dpkg-deb", "-x", deb, folder + "/unpacked")
    if made[1]:
        expect("cpack: the program of the .deb runs", "ingot 0.1" in call(folder + "/unpacked/usr/bin/ingot", "--version"))
    if made[1] and shutil.which("lintian"):
        text = call("lintian", "--allow-root", *made[1], want=None)
        expect("lintian", "E: " not in text and "W: " not in text, text)


def main():
    missing = [tool for tool in ("ninja", "pkg-config", "objdump") if not shutil.which(tool)]
    if missing:
        print("skipped: no " + ", ".join(missing))
        return 77
    with tempfile.TemporaryDirectory(prefix="test-package.") as folder:
        for i, prefix in enumerate(("/usr", "/usr/local", "/opt/x y")):
            check(prefix, os.path.join(folder, str(i)))
        exports(BUILD + "/generator/shared/libingot.so.0")
        packed(folder)
        fetch(os.path.join(folder, "fetch"))
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
