#!/usr/bin/env python3
"""firmware.py: networks as cortex-m4 libraries on an emulated board (QEMU mps2-an386, Cortex-M4F).

    firmware.py INGOT          exit 0: right, 1: wrong, 77: a tool is missing

Each network is built with --optimise size and with --optimise speed; each must give the interpreter's bits, call nothing
beyond memcpy and memset, link without a heap, and stay within the stack that its manifest names; size must be smaller than speed, in code
and in stack.  A flipped bit of what
is expected must be found.  Printed: text, data and bss of the library, RAM, stack and exact instruction counts; QEMU has
no model of time, so these are no cycles.
Cases: examples/digits always, mlperf_kws_f32 where $INGOT_CASES (else ../shared/cases beside the project) has it."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CASES = os.environ.get("INGOT_CASES", os.path.join(ROOT, "..", "shared", "cases"))
FLAGS = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
ALLOWED = {"memcpy", "memset"}
HEAP = {"malloc", "calloc", "realloc", "free", "_malloc_r", "_sbrk", "sbrk"}

PEERS = """For comparison, on the same emulated core: a hand-tiled float convolution 1.8 instructions per multiply-add (-O2, 580
bytes of code); onnx2c's MNIST 4.7 with its best flags, 16.6 with -Os; TFLite Micro's KWS in int8 7.84 M instructions,
104 K of code, 1324 bytes of stack."""


def call(*command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit("%s: exit %d\n%s%s" % (" ".join(command), done.returncode, done.stdout, done.stderr))
    return done.stdout


def symbols(path):
    """Names defined and names wanted."""
    defined, wanted = set(), set()
    for line in call("arm-none-eabi-nm", path).splitlines():
        words = line.split()
        if len(words) >= 2 and words[-2] in ("U", "w"):
            wanted.add(words[-1])
        elif len(words) == 3:
            defined.add(words[-1])
    return defined, wanted - defined


def write_case(folder, manifest, arrays, expected):
    """case.h and case.S: main.c's view of one network."""
    prefix, words = manifest["prefix"], sum(o["bytes"] for o in manifest["outputs"]) // 4
    fields, at = [], 0
    for one in manifest["outputs"]:
        fields.append("out + %d" % at)
        at += one["bytes"] // 4
    upper = prefix.upper()
    with open(os.path.join(folder, "case.h"), "w") as f:
        f.write('#include "%s.h"\n#define WORKSPACE_BYTES %s_WORKSPACE_BYTES\n' % (prefix, upper))
        f.write("#define WORKSPACE_ALIGN %s_WORKSPACE_ALIGN\n" % upper)
        f.write("#define OUTPUT_WORDS %d\n" % words)
        for i in range(len(arrays)):
            f.write("extern const float input_%d[];\n" % i)
        f.write("static inline int case_run(float *out, void *workspace)\n{\n")
        f.write("\tstruct %s_inputs in = { %s };\n" % (prefix, ", ".join("input_%d" % i for i in range(len(arrays)))))
        f.write("\tstruct %s_outputs to = { %s };\n" % (prefix, ", ".join(fields)))
        f.write("\tstruct %s_context context = { .workspace = workspace };\n\treturn %s_run(&in, &to, &context);\n}\n" % (prefix, prefix))
    with open(os.path.join(folder, "case.S"), "w") as f:
        f.write('\t.section .rodata.case, "a"\n')
        for name, array in [("input_%d" % i, a) for i, a in enumerate(arrays)] + [("expected", expected)]:
            array.astype(np.float32).tofile(os.path.join(folder, name + ".bin"))
            f.write('\t.balign 4\n\t.globl %s\n%s:\n\t.incbin "%s.bin"\n' % (name, name, name))


def board(folder, elf, counts):
    """QEMU's exit code, what was printed, instructions by symbol."""
    done = subprocess.run(["qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none", "-serial", "none",
                           "-semihosting-config", "enable=on,target=native", "-kernel", elf,
                           "-plugin", os.path.join(folder, "libcount.so") + ",out=" + counts],
                          capture_output=True, text=True, timeout=300)
    by_symbol = {}
    if os.path.exists(counts):
        for line in open(counts):
            count, name = line.split(None, 1)
            by_symbol[name.strip()] = int(count)
    return done.returncode, done.stdout + done.stderr, by_symbol


def one_network(ingot, folder, name, case, optimise):
    """A list of what is wrong, the code's bytes and the stack."""
    wrong = []
    model = os.path.join(case, "model.onnx")
    model = model if os.path.exists(model) else os.path.join(case, name + ".onnx")
    io = json.load(open(os.path.join(case, "io.json")))
    made = os.path.join(folder, "package")
    call(ingot, "build", model, "--cpu", "cortex-m4", "--optimise", optimise, "-o", made)
    manifest = json.load(open(os.path.join(made, next(f for f in sorted(os.listdir(made)) if f.endswith(".json")))))
    files = {one["name"]: os.path.join(case, one["file"]) for one in io["inputs"]}
    arguments, answers = [], []
    for one in manifest["inputs"]:
        arguments += ["--input", "%s=%s" % (one["name"], files[one["name"]])]
    for i, one in enumerate(manifest["outputs"]):
        answers.append(os.path.join(folder, "out_%d.npy" % i))
        arguments += ["--output", "%s=%s" % (one["name"], answers[-1])]
    call(ingot, "run", model, "--target", "interpreter", "--optimise", optimise, *arguments)
    expected = np.concatenate([np.load(a).ravel() for a in answers])
    write_case(folder, manifest, [np.load(files[one["name"]]) for one in manifest["inputs"]], expected)

    library = os.path.join(made, manifest["library"])
    defined, wanted = symbols(library)
    if wanted - ALLOWED:
        wrong.append("the library calls " + " ".join(sorted(wanted - ALLOWED)))
    for flip in (0, 1):
        elf = os.path.join(folder, "flip%d.elf" % flip)
        call("arm-none-eabi-gcc", *FLAGS, "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding",
             "-fno-tree-loop-distribute-patterns", "-DFLIP=%d" % flip, "-I" + HERE, "-I" + folder, "-I" + made,
             os.path.join(HERE, "start.c"), os.path.join(HERE, "main.c"), "case.S", library,
             "-nostdlib", "-lc", "-lgcc", "-Wl,--gc-sections", "-T", os.path.join(HERE, "board.ld"), "-o", elf, cwd=folder)
        code, text, by_symbol = board(folder, elf, os.path.join(folder, "counts%d" % flip))
        if code != (42 if flip else 0):
            wrong.append("exit code %d%s: %s" % (code, " with a flipped bit" if flip else "", text.strip()))
        if flip:
            continue
        heap = HEAP & symbols(elf)[0]
        if heap:
            wrong.append("the heap is linked: " + " ".join(sorted(heap)))
        words = text.split()
        stack = int(words[words.index("stack") + 1]) if "stack" in words else -1
        instructions = {s: n for s, n in by_symbol.items() if s in defined | ALLOWED}
        total = sum(instructions.values())
        if not 0 < stack <= manifest["stack_bytes"]:
            wrong.append("stack %d, but the manifest says %d" % (stack, manifest["stack_bytes"]))
    sizes = [line.split() for line in call("arm-none-eabi-size", library).splitlines()[1:]]
    text, data, bss = (sum(int(s[i]) for s in sizes) for i in range(3))
    if data or bss:
        wrong.append("data %d and bss %d: a library keeps no state" % (data, bss))
    flops = sum(k["flops"] for k in manifest["kernels"])
    print("%s, --optimise %s: text %d (weights %d more), data %d, bss %d, workspace %d, stack %d of %d" % (
        name, optimise, text - manifest["weights_bytes"], manifest["weights_bytes"], data, bss, manifest["workspace_bytes"],
        stack, manifest["stack_bytes"]))
    print("    %-28s %10d instructions, %.2f per multiply-add" % ("all", total, total / (flops / 2)))
    rows = []
    for kernel in manifest["kernels"]:
        named = manifest["prefix"] + "_" + kernel["name"]
        mine = sum(n for s, n in instructions.items() if s == named or s.startswith(named + "_"))
        alike = (kernel["template"], kernel["tile"], kernel["flops"])
        first = next((row for row in reversed(rows) if row["alike"] == alike and row["mine"] > 1), None)
        if mine <= 1 and first:            # kernels of equal code have one: it counts for all
            first["flops"] += kernel["flops"]
            first["name"] += " + " + kernel["name"].split("_")[0]
        else:
            rows.append({"name": kernel["name"], "mine": mine, "alike": alike, "flops": kernel["flops"]})
    for row in rows:
        print("    %-28s %10d instructions, %5.2f per multiply-add (%s)" % (
            row["name"], row["mine"], row["mine"] / max(row["flops"] / 2, 1), row["alike"][1]))
    return wrong, text - manifest["weights_bytes"], stack


def main():
    ingot = os.path.abspath(sys.argv[1])
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm", "gcc"):
        if not shutil.which(tool):
            print("skipped: no " + tool)
            return 77
    networks = [("digits", os.path.join(ROOT, "examples", "digits"))]
    kws = os.path.join(CASES, "models", "mlperf_kws_f32")
    if os.path.exists(os.path.join(kws, "model.onnx")):
        networks.append(("mlperf_kws_f32", kws))
    else:
        print("mlperf_kws_f32 is left out: not under " + CASES)
    print(PEERS)
    bad = 0
    for name, case in networks:
        figures = {}
        for optimise in ("size", "speed"):
            with tempfile.TemporaryDirectory() as folder:
                call("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", os.path.join(HERE, "count.c"), "-o",
                     os.path.join(folder, "libcount.so"))
                wrong, *figures[optimise] = one_network(ingot, folder, name, case, optimise)
                for what in wrong:
                    print("WRONG %s %s: %s" % (name, optimise, what))
                    bad += 1
        if not all(size < 0.9 * speed for size, speed in zip(figures["size"], figures["speed"])):
            print("WRONG %s: --optimise size takes %s bytes of code and stack, speed %s" % (name, figures["size"], figures["speed"]))
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
