#!/usr/bin/env python3
"""size.py: what `ingot size` says, beside what is: `size`, the linker's map, and the stack that a run on the emulated board takes.

    size.py INGOT          exit 0: right, 1: wrong, 77: a tool is missing

For each network: flash is the objects' text and data as arm-none-eabi-size has them and as the map of a program lists them; RAM is the
arrays that the header names, and the stack; the stack's bound is at least what was measured, and at most 1.1 times that.  A limit of
exactly that is kept, one byte less is exit 6.  --no-compile gives the same but for code, and no more stack than the compiler's.
The stack's bound is that on CPUs without an FPU, too, where floats are calls."""
import json
import os
import subprocess
import sys
import tempfile

from boards import BOARDS, CASES, ROOT, call, link, make_counter, manifest_of, missing, model_of, run_board, words_of, write_case

import numpy as np

SOFT = ("cortex-m0plus", "cortex-m3", "rv32imac")
TIE = {"mlperf_ad_i8": 16}  # an input of which the last kernel meets a tie, which goes deepest; the case's does not


def asked(ingot, model, *more, cpu="cortex-m4"):
    done = subprocess.run([ingot, "size", model, "--cpu", cpu, "--json", *more], capture_output=True, text=True, timeout=300)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def mapped(path, library):
    """Bytes of code and constants, and of what is written, that the map says to be the library's."""
    sums, part = {"flash": 0, "ram": 0}, None
    for line in open(path).read().split("Linker script and memory map")[1].splitlines():
        words = line.split()
        if line.startswith(" .") and len(words) == 1:
            part = words[0]
        elif line.startswith(" ") and len(words) >= 3 and words[-2].startswith("0x") and library in words[-1]:
            name = words[0] if line.startswith(" .") else part
            if name.startswith((".text", ".rodata", ".ARM.ex")):
                sums["flash"] += int(words[-2], 16)
            elif name.startswith((".data", ".bss")):
                sums["ram"] += int(words[-2], 16)
    return sums


def ran(folder, case, manifest, board, library, seed=None):
    """The stack that a run takes, of the case's input or of one that is drawn; its map lies in size.map."""
    io = json.load(open(os.path.join(case, "io.json")))
    files = {i["name"]: os.path.join(case, i["file"]) for i in io["inputs"]}
    arrays = [np.load(files[i["name"]]) for i in manifest["inputs"]]
    if seed is not None:
        arrays = [np.random.default_rng(seed).integers(-128, 128, array.shape).astype(array.dtype) for array in arrays]
    write_case(folder, manifest, arrays, np.zeros(sum(words_of(o["bytes"]) for o in manifest["outputs"]), np.int32))
    elf = os.path.join(folder, "size.elf")
    link(board, folder, elf, "main.c", os.path.dirname(library), [library], "-Wl,-u,%s_weights_check" % manifest["prefix"], "-Wl,-Map=" + os.path.join(folder, "size.map"))
    words = run_board(board, folder, elf, os.path.join(folder, "counts"))[1].split()
    return int(words[words.index("stack") + 1])


def soft(ingot, folder, name, case, cpu):
    model, made = model_of(case, name), os.path.join(folder, cpu)
    said = asked(ingot, model, cpu=cpu)[1]["stack"]
    call(ingot, "build", model, "--cpu", cpu, "-o", made)
    manifest = manifest_of(made)
    stack = ran(folder, case, manifest, BOARDS[cpu], os.path.join(made, manifest["library"]), TIE.get(name))
    print("%s, %s: stack %d of %d" % (name, cpu, stack, said))
    return [] if manifest["stack_bytes"] == said and stack <= said <= 1.1 * stack else ["%s: the stack's bound is %d, measured are %d" % (cpu, said, stack)]


def one(ingot, folder, name, case):
    wrong = []
    model, made = model_of(case, name), os.path.join(folder, "package")
    code, said, _ = asked(ingot, model)
    if code:
        return ["exit %d" % code]
    call(ingot, "build", model, "--cpu", "cortex-m4", "-o", made)
    manifest = manifest_of(made)
    library = os.path.join(made, manifest["library"])
    rows = [line.split() for line in call("arm-none-eabi-size", library).splitlines()[1:]]
    text, data, bss = (sum(int(row[i]) for row in rows) for i in range(3))
    if (said["flash"], said["data"], said["bss"], said["code"] + said["weights"]) != (text + data, data, bss, text):
        wrong.append("flash %d, data %d, bss %d; size says text %d, data %d, bss %d" % (said["flash"], said["data"], said["bss"], text, data, bss))
    stack = ran(folder, case, manifest, BOARDS["cortex-m4"], library)
    at = mapped(os.path.join(folder, "size.map"), os.path.basename(library))
    if at["flash"] != said["flash"] or at["ram"] != said["data"] + said["bss"]:
        wrong.append("flash %d and RAM %d; the map has %d and %d" % (said["flash"], said["data"] + said["bss"], at["flash"], at["ram"]))
    if not stack <= said["stack"] <= 1.1 * stack:
        wrong.append("the stack's bound is %d, measured are %d" % (said["stack"], stack))
    held = sum(t["bytes"] for t in manifest["inputs"] + manifest["outputs"])
    if said["ram"] != manifest["workspace_bytes"] + held + said["stack"] or said["stack"] != manifest["stack_bytes"]:
        wrong.append("RAM %d: workspace %d, inputs and outputs %d, stack %d" % (said["ram"], manifest["workspace_bytes"], held, manifest["stack_bytes"]))
    if sum(k["code"] for k in said["kernels"]) > said["code"] or not said["weights"] - 64 * len(said["tensors"]) < sum(k["weights"] for k in said["kernels"]) <= said["weights"] \
            or max(k["workspace"] for k in said["kernels"]) > said["workspace"]:
        wrong.append("the kernels' sums are not the library's")
    for limits, expected in ((said["flash"], said["ram"]), 0), ((said["flash"] - 1, said["ram"]), 6), ((said["flash"], said["ram"] - 1), 6):
        code, again, message = asked(ingot, model, "--flash", str(limits[0]), "--ram", str(limits[1]))
        if code != expected or again["fits"] != (code == 0) or bool(message) != (code == 6):
            wrong.append("limits %d and %d: exit %d, %s" % (*limits, code, message.strip()))
    code, inside, _ = asked(ingot, model, "--no-compile", "--io", "workspace")
    if code or inside["inputs"] or inside["outputs"] or max(k["workspace"] for k in inside["kernels"]) > inside["workspace"]:
        wrong.append("--io workspace: exit %d, inputs %d, outputs %d beside it" % (code, inside["inputs"], inside["outputs"]))
    code, plan, _ = asked(ingot, model, "--no-compile")
    if code or plan["compiled"] or "code" in plan or plan["workspace"] != said["workspace"] or plan["weights"] != said["weights"]:
        wrong.append("--no-compile: exit %d, %s" % (code, plan))
    print("%s: flash %d, RAM %d, stack %d of %d" % (name, said["flash"], said["ram"], stack, said["stack"]))
    return wrong


def main():
    ingot = os.path.abspath(sys.argv[1])
    if missing("arm-none-eabi-gcc", "qemu-system-arm", "riscv64-unknown-elf-gcc", "qemu-system-riscv32", "gcc"):
        return 77
    networks = [("digits", os.path.join(ROOT, "examples", "digits"))]
    for name in ("mlperf_kws_i8", "mlperf_ad_i8"):
        if os.path.exists(os.path.join(CASES, "models", name, "model.onnx")):
            networks.append((name, os.path.join(CASES, "models", name)))
    bad = 0
    for name, case in networks:
        with tempfile.TemporaryDirectory() as folder:
            make_counter(folder)
            wrong = one(ingot, folder, name, case)
            for cpu in SOFT:
                wrong += soft(ingot, folder, name, case, cpu)
            for what in wrong:
                print("WRONG %s: %s" % (name, what))
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
