"""project.py INGOT: --package and --board.  What make and cmake build runs on QEMU's boards with the interpreter's bits; Arduino's rules for a library hold and
its sketch compiles and links; Zephyr's module configures and compiles against its functions' names; --pool lays tensors in several memories.  With INGOT_LONG=1 three networks, and on every board."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
INGOT = os.path.abspath(sys.argv[1])
LONG = os.environ.get("INGOT_LONG") == "1"
DIGITS = os.path.join(ROOT, "examples", "digits", "digits.onnx")
CASES = os.path.join(ROOT, "..", "shared", "cases", "models")
ARM = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
BOARDS = {"mps2-an385": "arm", "mps2-an386": "arm", "mps2-an500": "arm", "mps2-an505": "arm", "mps3-an547": "arm", "microbit": "arm", "virt-rv32imac": "riscv32", "virt-rv32imafc": "riscv32"}
STUB = """#include <stdio.h>
#define HEX 16
extern "C" unsigned long micros(void);
struct serial { void begin(long) {} template <class T> void print(T) {} template <class T> void println(T, int = 10) {} };
static serial Serial;
"""


def run(*words, cwd=None, code=0):
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd)
    if done.returncode != code:
        sys.exit("%s: exit %d: %s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done.stdout + done.stderr


def build(model, folder, *words):
    run(INGOT, "build", model, "-o", folder, *words)
    with open(glob.glob(folder + "/*.json")[0], encoding="utf-8") as file:
        return json.load(file)


def hashes(model, manifest, work):
    """What the interpreter makes of the case's inputs, as the program prints it."""
    words, told = [], {}
    for number, one in enumerate(manifest["inputs"]):
        values = (37 * numpy.arange(numpy.prod(one["dims"], dtype=int)) + 11) % 255 - 127
        kind = {"float": numpy.float32, "int8": numpy.int8, "uint8": numpy.uint8}[one["type"]]
        values = values.astype(kind) / kind(127) if kind is numpy.float32 else values.astype(kind)
        numpy.save(f"{work}/in{number}.npy", values.reshape(one["dims"]))
        words += ["--input", f"{one['name']}={work}/in{number}.npy"]
    for number, one in enumerate(manifest["outputs"]):
        words += ["--output", f"{one['name']}={work}/out{number}.npy"]
    run(INGOT, "run", model, "--target", "interpreter", "--algorithms", "direct", *words)
    for number, one in enumerate(manifest["outputs"]):
        told[one["name"]] = 2166136261
        for byte in numpy.load(f"{work}/out{number}.npy").tobytes():
            told[one["name"]] = (told[one["name"]] ^ byte) * 16777619 % 2**32
    return [f"{told[one]:08x}" for one in told]


def same(text, name, wanted):
    lines = [line for line in text.splitlines() if ": " in line]
    start = [i for i, line in enumerate(lines) if line.startswith(name + ": status 0, cycles: ")]
    if not start or int(lines[start[0]].rsplit(" ", 1)[1]) == 0 or [line.split(": ")[1] for line in lines[start[0] + 1:start[0] + 1 + len(wanted)]] != wanted:
        sys.exit(f"{name}: {wanted} is wanted: {text}")


def make(model, board, work):
    folder = f"{work}/make-{board}"
    manifest = build(model, folder, "--package", "make", "--board", board, *([] if LONG else ["--no-compile"]))
    same(run("make", "run", cwd=folder), manifest["prefix"], hashes(model, manifest, work))
    table = run("make", "table", cwd=folder)
    rows = {line.split()[0]: line.split()[1:] for line in table.splitlines() if line}
    if "calls by a pointer: 0, recursive: 0, of a stack that varies: 0\n" not in table or {kernel["symbol"] for kernel in manifest["kernels"]} - set(rows):
        sys.exit("make table: " + table)
    if manifest.get("stack_bytes", int(rows[manifest["prefix"] + "_run"][1]) + 8) != int(rows[manifest["prefix"] + "_run"][1]) + 8:
        sys.exit("make table: a stack of %s, the manifest has %d" % (rows[manifest["prefix"] + "_run"], manifest["stack_bytes"]))
    shutil.rmtree(folder)


def cmake(board, work):
    folder = f"{work}/cmake"
    manifest = build(DIGITS, folder, "--package", "cmake", "--board", board)
    run("cmake", "-G", "Ninja", "-S", "board", "-B", "build", "-DCMAKE_TOOLCHAIN_FILE=toolchain.cmake", cwd=folder)
    run("cmake", "--build", "build", cwd=folder)
    same(run("cmake", "--build", "build", "--target", "run", cwd=folder), "digits", hashes(DIGITS, manifest, work))


def arduino(model, work):
    """https://arduino.github.io/arduino-cli/latest/library-specification: sources beside library.properties, which has these keys; sketches below examples, in a
    folder of their name."""
    folder = f"{work}/arduino"
    build(model, folder, "--name", "net", "--package", "arduino", "--cpu", "cortex-m4", "--no-compile")
    with open(folder + "/library.properties", encoding="utf-8") as file:
        keys = dict(line.rstrip("\n").split("=", 1) for line in file)
    for key in ("name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"):
        if not keys.get(key):
            sys.exit("library.properties lacks " + key)
    if not os.path.exists(f"{folder}/{keys['includes']}") or os.path.exists(folder + "/src"):
        sys.exit("Arduino would not find the sources")
    sketch = f"{folder}/examples/once/once.ino"
    with open(f"{work}/once.cpp", "w", encoding="utf-8") as file:
        file.write(STUB + open(sketch, encoding="utf-8").read() + "extern \"C\" unsigned long micros(void) { return 0; }\nint main() { setup(); loop(); }\n")
    for source in sorted(glob.glob(folder + "/*.c")):
        run("arm-none-eabi-gcc", *ARM, "-Os", "-Wall", "-Wextra", "-Werror", "-c", source, "-o", f"{work}/{os.path.basename(source)}.o")
    run("arm-none-eabi-g++", *ARM, "-Os", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti", "-I" + folder, "-c", f"{work}/once.cpp", "-o", f"{work}/once.o")
    run("arm-none-eabi-gcc", *ARM, f"{work}/once.o", *glob.glob(work + "/*.c.o"), "--specs=nosys.specs", "-o", f"{work}/once.elf")
    for one in [folder, *glob.glob(work + "/*.o")]:
        shutil.rmtree(one) if os.path.isdir(one) else os.remove(one)


def zephyr(model, work):
    folder = f"{work}/zephyr"
    build(model, folder, "--name", "net", "--package", "zephyr", "--cpu", "cortex-m4", "--no-compile")
    stub = f"{work}/stub"
    os.mkdir(stub)
    with open(stub + "/CMakeLists.txt", "w", encoding="utf-8") as file:
        file.write("""cmake_minimum_required(VERSION 3.13)
project(stub C)
set(CONFIG_NET y)
macro(zephyr_library_named name)
  add_library(${name} STATIC)
  set(current ${name})
endmacro()
function(zephyr_include_directories)
  include_directories(${ARGV})
endfunction()
function(zephyr_library_compile_options)
  target_compile_options(${current} PRIVATE ${ARGV})
endfunction()
function(zephyr_library_sources)
  target_sources(${current} PRIVATE ${ARGV})
endfunction()
include_directories(%s)
add_subdirectory(%s module)
add_executable(once %s/samples/once/src/main.c)
target_include_directories(once PRIVATE %s ${CMAKE_CURRENT_SOURCE_DIR})
target_link_options(once PRIVATE --specs=nosys.specs)
target_link_libraries(once net)
""" % (folder, folder + "/zephyr", folder, folder))
    os.makedirs(stub + "/zephyr/sys")
    with open(stub + "/zephyr/kernel.h", "w", encoding="utf-8") as file:
        file.write("#include <stdint.h>\nstatic inline uint32_t k_cycle_get_32(void) { return 0; }\n")
    with open(stub + "/zephyr/sys/printk.h", "w", encoding="utf-8") as file:
        file.write("#include <stdio.h>\n#define printk printf\n")
    run("cmake", "-G", "Ninja", "-S", stub, "-B", stub + "/build", "-DCMAKE_SYSTEM_NAME=Generic", "-DCMAKE_C_COMPILER=arm-none-eabi-gcc", "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
        "-DCMAKE_C_FLAGS=" + " ".join(ARM))
    run("cmake", "--build", stub + "/build")
    with open(folder + "/zephyr/module.yml", encoding="utf-8") as file:
        if "cmake: zephyr" not in file.read():
            sys.exit("zephyr/module.yml does not say where its CMakeLists.txt is")
    shutil.rmtree(folder)
    shutil.rmtree(stub)


def pools(work):
    """--pool: tensors in two memories of a linker script's, the hottest in the near one; what ingot size, header and manifest say of them."""
    folder, near = f"{work}/pools", 0x20300000
    words = ["--pool", "dtcm=7k,sram=64k", "--board", "mps2-an386"]
    manifest = build(DIGITS, folder, *words, "--io", "workspace", "--section", "dtcm=.dtcm", "--section", "sram=.sram", "--package", "make", "--no-compile")
    sizes = {one["name"]: one["bytes"] for one in manifest["pools"]}
    said = json.loads(run(INGOT, "size", DIGITS, *words, "--io", "workspace", "--no-compile", "--json"))
    with open(folder + "/digits.h", encoding="utf-8") as file:
        header = file.read()
    if not 0 < sizes["dtcm"] <= 7168 or said["pools"] != manifest["pools"] or any(f"#define DIGITS_{name.upper()}_BYTES {count}\n" not in header for name, count in sizes.items()):
        sys.exit(f"pools: {sizes}, of ingot size {said['pools']}")
    half = next(one["where"] for one in said["tensors"] if one["name"] == "half")
    if not half.startswith("dtcm") or {argument["place"] for kernel in manifest["kernels"] for argument in kernel["arguments"]} - {"input", "output"} != {"dtcm", "sram", "weights"}:
        sys.exit("pools: what the second convolution loads most lies in " + half)
    script = glob.glob(folder + "/board/*.ld")[0]
    with open(script, encoding="utf-8") as file:
        text = file.read()
    with open(script, "w", encoding="utf-8") as file:
        file.write("MEMORY { DTCM (rw) : ORIGIN = %d, LENGTH = 7K }\nSECTIONS { .dtcm (NOLOAD) : { *(.dtcm) } > DTCM }\n" % near + text)
    same(run("make", "run", cwd=folder), "digits", hashes(DIGITS, manifest, work))
    at = {line.split()[-1]: int(line.split()[0], 16) for line in run("arm-none-eabi-nm", glob.glob(folder + "/**/*.elf", recursive=True)[0]).splitlines() if "case_" in line}
    if at["case_dtcm"] != near or not 0x20000000 <= at["case_sram"] < near:
        sys.exit("pools: the linker has them at %s" % at)
    for name in "kws", "ic":
        named_pools(f"{CASES}/mlperf_{name}_i8/model.onnx", work)
    for code, pool, told in ((6, "dtcm=1k,sram=4k", "sram=4096 is too small, sram=9408 would fit"), (2, "dtcm=1k,dtcm=4k", "given twice"), (2, "a=x", "should be bytes"), (2, "state=4k", "another name")):
        text = run(INGOT, "build", DIGITS, "-o", work + "/nothing", "--cpu", "cortex-m7", "--pool", pool, code=code)
        if told not in text or text.count("\n") != 1 or os.path.exists(work + "/nothing"):
            sys.exit("%s: %s" % (pool, text))
    run(INGOT, "build", DIGITS, "-o", work + "/nothing", "--cpu", "cortex-m7", "--pool", "dtcm=64k", "--section", "sram=.sram", code=2)
    run(INGOT, "build", DIGITS, "-o", work + "/nothing", "--cpu", "generic", "--pool", "dtcm=64k", code=2)
    run(INGOT, "build", DIGITS, DIGITS, "-o", work + "/both", "--name", "both", "--cpu", "cortex-m4", "--pool", "dtcm=2k,sram=64k")
    run("arm-none-eabi-gcc", *ARM, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-x", "c", work + "/both/both.h")


def named_pools(model, work):
    """A pool that is called as a memory of the board's lies there by the package's own linker script."""
    if not os.path.exists(model):
        return
    folder = f"{work}/named"
    manifest = build(model, folder, "--pool", "sram=16k,psram=128k", "--board", "mps2-an386", "--package", "make", "--no-compile")
    same(run("make", "run", cwd=folder), manifest["prefix"], hashes(model, manifest, work))
    at = {line.split()[-1]: int(line.split()[0], 16) for line in run("arm-none-eabi-nm", glob.glob(folder + "/*.elf")[0]).splitlines() if "case_" in line}
    if at["case_psram"] != 0x21000000 or not 0x20000000 <= at["case_sram"] < 0x20400000:
        sys.exit("named pools: the linker has them at %s" % at)
    page = f"{work}/report.html"
    run(INGOT, "report", model, "--cpu", "cortex-m4", "--no-run", "--pool", "sram=16k,psram=128k", "-o", page)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    if "Pool sram: %d bytes" % manifest["pools"][0]["bytes"] not in text or "Pool psram: %d bytes" % manifest["pools"][1]["bytes"] not in text:
        sys.exit("named pools: not in the report")
    shutil.rmtree(folder)


def mistakes(work):
    for code, told, words in ((2, "--board: no \"mps\"; known are: mps2-an385", ["--board", "mps"]), (2, "--package make needs --board, of cortex-m4: mps2-an386", ["--package", "make", "--cpu", "cortex-m4"]),
                              (2, "is for libraries of microcontrollers", ["--package", "arduino"]), (2, "did you mean make?", ["--package", "mak", "--cpu", "cortex-m4"]),
                              (2, "--board microbit has a cortex-m0plus", ["--board", "microbit", "--cpu", "cortex-m4"]),
                              (6, "weights of 106880 bytes; the flash of stm32f103c8 has 65536", ["--board", "stm32f103c8"])):
        text = run(INGOT, "build", DIGITS, "-o", work + "/nothing", *words, code=code)
        if told not in text or text.count("\n") != 1 or os.path.exists(work + "/nothing"):
            sys.exit("%s: %s" % (words, text))
    with open(work + "/wide.onnxtxt", "w", encoding="utf-8") as file:
        file.write('<ir_version: 8, opset_import: ["" : 17]>\nwide (float[256,256] x) => (float[256,256] y) { a = MatMul (x, x) y = MatMul (a, a) }\n')
    text = run(INGOT, "build", work + "/wide.onnxtxt", "-o", work + "/nothing", "--board", "stm32f746ng", "--pool", "dtcm=300k", code=6)
    if "the pool dtcm takes" not in text or "that memory of stm32f746ng has 65536" not in text or os.path.exists(work + "/nothing"):
        sys.exit(text)


def main():
    with tempfile.TemporaryDirectory() as work:
        mistakes(work)
        for tool in ("arm-none-eabi-gcc", "arm-none-eabi-g++", "qemu-system-arm", "make"):
            if not shutil.which(tool):
                print("skip: no " + tool)
                sys.exit(77)
        models = [DIGITS] + [f"{CASES}/{name}/model.onnx" for name in ("mlperf_kws_i8", "mlperf_ad_i8") if LONG and os.path.exists(f"{CASES}/{name}/model.onnx")]
        for model in models:
            for board in BOARDS if LONG else ("mps2-an386",):
                if shutil.which("qemu-system-" + BOARDS[board]) and not (board == "microbit" and model != DIGITS):
                    make(model, board, work)
        cmake("mps2-an385", work)
        pools(work)
        for model in models:
            arduino(model, work)
            zephyr(model, work)


if __name__ == "__main__":
    main()
