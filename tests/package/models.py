#!/usr/bin/env python3
"""models.py BUILD: ingot_add_model in a project of its own: each compiler with its strictest warnings, only what changed (external data too) compiled
again, errors when CMake configures, and a cross build that runs on QEMU.  77: no Ninja."""
import glob
import os
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(sys.argv[1])
FIRMWARE = os.path.join(ROOT, "tests", "firmware")
STRICT = "-Werror -Wall -Wextra -Wshadow -Wconversion -Wundef"
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
net (float[N,%s] x) => (float[N,%s] y)
<float[%s] w = {%s}>
{ y = Add (x, w) }
"""
PROJECT = """cmake_minimum_required(VERSION 3.21)
project(models LANGUAGES C ASM)
find_package(ingot 0.1 REQUIRED)
ingot_add_model(TARGET net MODEL net.onnxtxt DIM N=1 %s)
add_executable(program main.c %s)
target_link_libraries(program PRIVATE net)
"""
MAIN = """#include "net.h"
static unsigned char workspace[NET_WORKSPACE_BYTES + 1] __attribute__((aligned(64)));
static const float x[4] = { 1, 2, 3, 4 };
static float y[4];
int main(void)
{
	struct net_inputs in = { .x = x };
	struct net_outputs out = { .y = y };
	struct net_context context = { .workspace = workspace };
	int status = net_run(&in, &out, &context);
	for (int i = 0; i < 4; i++)
		status |= y[i] != x[i] + %s ? 100 : 0;
	return status;
}
"""
TOOLCHAIN = """set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_ASM_COMPILER arm-none-eabi-gcc)
set(CMAKE_C_FLAGS_INIT "-mthumb -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard -ffreestanding")
set(CMAKE_ASM_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostartfiles -T${CMAKE_CURRENT_LIST_DIR}/board.ld")
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE NEVER)
"""
MEMORY = "MEMORY { FLASH (rx) : ORIGIN = 0, LENGTH = 4M  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 4M }\nSTACK = 32K;\n"
failures = 0


def call(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    return done.returncode, done.stdout


def expect(name, right, text=""):
    global failures
    failures += not right
    print("ok    " if right else "FAILED", name, "" if right else text[-3000:], flush=True)
    return right


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def model(folder, extent="4", values="1, 1, 1, 1"):
    write(folder + "/net.onnxtxt", MODEL % (extent, extent, extent, values))


def project(folder, arguments="", sources="", added="1"):
    write(folder + "/CMakeLists.txt", PROJECT % (arguments, sources))
    write(folder + "/main.c", MAIN % added)
    model(folder)


def configure(folder, tree, *more):
    return call("cmake", "-S", folder, "-B", folder + "/build", "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + tree, *more)


def compiled(text):
    return sorted(line.rsplit("/", 1)[1] for line in text.splitlines() if "Building" in line)


def here(folder, tree, compiler):
    project(folder)
    code, text = configure(folder, tree, "-DCMAKE_C_COMPILER=" + compiler, "-DCMAKE_C_FLAGS=" + STRICT)
    if not expect(compiler + ": configures", code == 0, text):
        return
    code, text = call("cmake", "--build", folder + "/build")
    expect(compiler + ": builds with " + STRICT, code == 0 and len(compiled(text)) >= 3, text)
    expect(compiler + ": runs", call(folder + "/build/program")[0] == 0)
    code, text = call("cmake", "--build", folder + "/build")
    expect(compiler + ": nothing to do", code == 0 and "no work to do" in text, text)
    # other weights: they alone are assembled again, and the program linked
    model(folder, values="2, 2, 2, 2")
    code, text = call("cmake", "--build", folder + "/build")
    expect(compiler + ": a new model changes the library", code == 0 and call(folder + "/build/program")[0] == 100, text)
    expect(compiler + ": what did not change is not compiled again", "main.c.o" not in compiled(text) and not any(one.endswith("kernels.c.o") for one in compiled(text)), text)
    os.utime(folder + "/net.onnxtxt")
    code, text = call("cmake", "--build", folder + "/build")
    expect(compiler + ": touched, not changed: nothing is compiled", code == 0 and not compiled(text), text)
    # a model that became wrong fails the build, and is named
    write(folder + "/net.onnxtxt", "nothing")
    code, text = call("cmake", "--build", folder + "/build")
    expect(compiler + ": a broken model stops the build", code != 0 and "net.onnxtxt" in text, text)


def follows(folder, tree, what, version):
    """The library follows what version(1) and version(2) write, which nobody names."""
    version(1)
    code, text = configure(folder, tree)
    code, text = call("cmake", "--build", folder + "/build") if code == 0 else (code, text)
    if expect(what + ": builds and runs", code == 0 and call(folder + "/build/program")[0] == 0, text):
        version(2)
        code, text = call("cmake", "--build", folder + "/build")
        expect(what + ": changed, and the library with it", code == 0 and call(folder + "/build/program")[0] == 100, text)
        code, text = call("cmake", "--build", folder + "/build")
        expect(what + ": nothing to do", code == 0 and "no work to do" in text, text)


def external(folder, tree):
    """Weights in a file of their own are what the library depends on, too: nobody names them."""
    def weights(value):
        with open(folder + "/w.bin", "wb") as file:
            file.write(struct.pack("<4f", *[value] * 4))

    project(folder)
    write(folder + "/net.onnxtxt", (MODEL % ("4", "4", "4", "")).replace("{}", '["location": "w.bin"]', 1))
    follows(folder, tree, "external data", weights)


def lists(folder, tree):
    """A sequence that comes in: its elements are members."""
    project(folder, "ELEMENTS x=1")
    text = (MODEL % ("4", "4", "4", "1, 1, 1, 1")).replace("(float[N,4] x)", "(seq(float[N,4]) x)").replace("y = Add (x, w)", "z = ConcatFromSequence <axis = 0> (x)  y = Add (z, w)")
    write(folder + "/net.onnxtxt", text)
    write(folder + "/main.c", (MAIN % "1").replace(".x = x", ".x_0 = x"))
    code, text = configure(folder, tree)
    code, text = call("cmake", "--build", folder + "/build") if code == 0 else (code, text)
    expect("a sequence of one: builds and runs", code == 0 and call(folder + "/build/program")[0] == 0, text)


def own(folder, tree):
    """A kernel of one's own: another text of it, and the library follows."""
    def kernel(more):
        write(folder + "/mine/c/my.Foo.jinja", "void {{ kernel.name }}({{ kernel.params }}, long from, long to)\n{\n\tfor (long i = from; i < to; i++)\n"
              "\t\t{{ outputs[0].name }}[i] = {{ inputs[0].name }}[i] + %s;\n}\n" % more)

    project(folder, "TEMPLATES mine")
    write(folder + "/net.onnxtxt", '<ir_version: 8, opset_import: ["" : 17, "my" : 1]>\nnet (float[N,4] x) => (float[N,4] y) { y = my.Foo (x) }\n')
    write(folder + "/mine/onnx/my.Foo.shape", "//% do blocks(inputs[0].size)\nFoo (float[N,M] x) => (float[N,M] y)\n")
    follows(folder, tree, "a kernel of one's own", kernel)


def wrong(folder, tree):
    for i, (name, arguments, part) in enumerate((("unknown CPU", "CPU z80", "z80"), ("unknown word", "PROFILE bare CPUS generic", "ingot_add_model: what is \"CPUS;generic\"?"),
                                                 ("no number of threads", "THREADS many", "many"))):
        project(folder + str(i), arguments)
        code, text = configure(folder + str(i), tree)
        expect("configuring fails: " + name, code != 0 and part in text, text)
    project(folder + "m")
    os.unlink(folder + "m/net.onnxtxt")
    code, text = configure(folder + "m", tree)
    expect("configuring fails: no model", code != 0 and "net.onnxtxt" in text and "No such file" in text, text)


def board(folder, tree):
    if not shutil.which("arm-none-eabi-gcc") or not shutil.which("qemu-system-arm"):
        print("left out: the board (no arm-none-eabi-gcc, qemu-system-arm)")
        return
    config = os.path.dirname(glob.glob(tree + "/lib/**/cmake/ingot/ingot-config.cmake", recursive=True)[0])       # below lib/x86_64-linux-gnu where the prefix was /usr
    for cpu in "CPU cortex-m4", "":
        project(folder + cpu[4:], cpu, FIRMWARE + "/start.c")
        write(folder + cpu[4:] + "/arm.cmake", TOOLCHAIN)
        write(folder + cpu[4:] + "/board.ld", MEMORY + open(FIRMWARE + "/board.ld").read())
        code, text = configure(folder + cpu[4:], tree, "-DCMAKE_TOOLCHAIN_FILE=" + folder + cpu[4:] + "/arm.cmake", "-Dingot_DIR=" + config)
        code, text = call("cmake", "--build", folder + cpu[4:] + "/build") if code == 0 else (code, text)
        if expect("the board: builds by a toolchain file, %s" % (cpu or "generic"), code == 0, text):
            code, text = call("qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none", "-serial", "none",
                              "-semihosting-config", "enable=on,target=native", "-kernel", folder + cpu[4:] + "/build/program", timeout=300)
            expect("the board: runs, %s" % (cpu or "generic"), code == 0, "exit %d %s" % (code, text))


def main():
    if not shutil.which("ninja"):
        print("skipped: no ninja")
        return 77
    with tempfile.TemporaryDirectory(prefix="test-models.") as folder:
        tree = folder + "/tree"
        code, text = call("cmake", "--install", BUILD, "--prefix", tree)
        if not expect("installs", code == 0, text):
            return 1
        for compiler in "gcc", "clang":
            if shutil.which(compiler):
                here(os.path.join(folder, compiler), tree, compiler)
        external(os.path.join(folder, "external"), tree)
        lists(os.path.join(folder, "lists"), tree)
        own(os.path.join(folder, "own"), tree)
        wrong(os.path.join(folder, "wrong"), tree)
        board(os.path.join(folder, "board"), tree)
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
