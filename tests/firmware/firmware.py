#!/usr/bin/env python3
"""firmware.py: networks as libraries for microcontrollers on QEMU's boards.

    firmware.py INGOT [--long]          exit 0: right, 1: wrong, 77: a tool is missing

A small quantised network runs on each CPU of BOARDS (cortex-m0plus's on a micro:bit), all networks on a cortex-m4, with --long MLPerf Tiny's on all. Each network is built with --optimise size and with --optimise speed; each must give the interpreter's bits, call nothing
beyond memcpy and memset (the generic library on a cortex-m3 too, which has no instruction for a square root), link without a heap, and stay within the stack that its manifest names; size must be smaller than speed, in code and
in stack, and a quantised network then takes 400 bytes of it at most, on every CPU.  A flipped bit of what
is expected must be found (in small networks; with --long in all).  Built --profile managed, the same network runs by the runtime for one thread (managed.c): out of one
block, with no more of libc, and at most 40 KB of the runtime in the program.  Printed: text, data and bss of the library, RAM, stack and exact instruction counts; QEMU has
no model of time, so these are no cycles.
An LSTM runs step by step, its state kept by --state.
With --io workspace a small network and kws have inputs and outputs there, and MLPerf Tiny's take a part of TFLite Micro's RAM.
Where there is no FPU no float is multiplied in a network that is quantised from end to end.
With size no network's weights take more bytes in flash than its file: those of quantised ones stay one byte each.
Cases: examples/digits always, mlperf_kws_f32 and MLPerf Tiny's four quantised networks (the largest, vww, with --long) where $INGOT_CASES (else ../shared/cases beside the project) has them."""
import json
import os
import re
import shutil
import sys
import tempfile

import numpy as np

from boards import ARM, BOARDS, CASES, HERE, MICROBIT, ROOT, call, link, make_counter, manifest_of, missing, model_of, run_board, symbols, words_in, write_case

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "generated"))
import packages
LONG = "--long" in sys.argv or "INGOT_LONG" in os.environ
WITHOUT_FLOATS = ("cortex-m0plus", "cortex-m3", "rv32imac")
FLOATS = re.compile(r"__aeabi_(f|d|\w*2[fd])|__\w+[sd]f")  # what multiplies floats where no instruction does
ALLOWED = {"memcpy", "memset"}
# Weights of one byte, which stay so in flash; instructions with size and with speed: 2 % more are wrong.
QUANTISED = {"mlperf_ic_i8": (19188861, 15002103), "mlperf_kws_i8": (5127595, 4235979), "mlperf_vww_i8": (14399844, 12066347), "mlperf_ad_i8": (420357, 360738)}
MOST = {(name, "cortex-m4", optimise): count for name, counts in QUANTISED.items() for optimise, count in zip(("size", "speed"), counts)}
MOST.update({("mlperf_ad_i8", "cortex-m3", "size"): 779282, ("mlperf_kws_i8", "cortex-m3", "size"): 8603470})
MOST.update({(name, "cortex-m55", "speed"): count for name, count in zip(QUANTISED, (3079899, 1141988, 3569700, 60947))})
# TFLite Micro's arena and stack of these networks on a cortex-m4, and the part of them that workspace, inputs and outputs in it, and stack take
# at most with size.
PEERS_RAM = {"mlperf_ic_i8": (56320, 0.8), "mlperf_kws_i8": (24144, 0.8), "mlperf_vww_i8": (102032, 0.6), "mlperf_ad_i8": (3904, 0.8)}
HEAP = {"malloc", "calloc", "realloc", "free", "_malloc_r", "_sbrk", "sbrk"}

PEERS = """For comparison, on the same emulated core: a hand-tiled float convolution 1.8 instructions per multiply-add (-O2, 580
bytes of code); onnx2c's MNIST 4.7 with its best flags, 16.6 with -Os; TFLite Micro's KWS in int8 7.84 M instructions,
104 K of code, 1324 bytes of stack."""


def io_wrong(ingot, model, cpu):
    """What --io workspace says of a model, as lines: each lies inside, and the whole takes no more than workspace, inputs and outputs apart."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = []
        for io in "caller", "workspace":
            call(ingot, "build", model, "--cpu", cpu, "--optimise", "size", "--no-compile", "--io", io, "-o", os.path.join(folder, io))
            sizes.append(manifest_of(os.path.join(folder, io)))
    ends = sizes[0]["inputs"] + sizes[0]["outputs"]
    apart = sizes[0]["workspace_bytes"] + sum((one["bytes"] + 63) // 64 * 64 for one in ends)
    wrong = ["--io workspace takes %d bytes, apart all take %d" % (sizes[1]["workspace_bytes"], apart)] if sizes[1]["workspace_bytes"] > apart else []
    return wrong + ["%s lies outside the workspace" % one["name"] for one in sizes[1]["inputs"] + sizes[1]["outputs"]
                    if not 0 <= one["offset"] <= sizes[1]["workspace_bytes"] - one["bytes"]]


def ram_wrong(ingot, model, name, stack, cpu="cortex-m4"):
    """What is more than a part of what a peer takes (on a cortex-m4), as a line."""
    with tempfile.TemporaryDirectory() as made:
        call(ingot, "build", model, "--cpu", cpu, "--no-compile", "--io", "workspace", "-o", made)
        ram = stack + manifest_of(made)["workspace_bytes"]
    peer, most = PEERS_RAM[name]
    print("%s on %s: %d bytes of RAM with --io workspace, %.2f of TFLite Micro's" % (name, cpu, ram, ram / peer))
    return ["%d bytes of RAM, more than %g of %d" % (ram, most, peer)] if ram > most * peer else []


def one_network(ingot, folder, name, case, optimise, cpu="cortex-m4", board=None, options=()):
    """A list of what is wrong, the row of the table: code, weights, workspace, stack, its bound, instructions."""
    wrong, board = [], board or BOARDS[cpu]
    if "--io" in options and optimise == "size":  # fewer bytes than beside the workspace
        wrong += io_wrong(ingot, model_of(case, name), cpu)
    model = model_of(case, name)
    io = json.load(open(os.path.join(case, "io.json")))
    made = os.path.join(folder, "package")
    call(ingot, "build", model, "--cpu", cpu, "--optimise", optimise, *options, "-o", made)
    manifest = manifest_of(made)
    files = {one["name"]: os.path.join(case, one["file"]) for one in io["inputs"]}
    arguments, answers = [], []
    for one in manifest["inputs"]:
        arguments += ["--input", "%s=%s" % (one["name"], files[one["name"]])]
    for i, one in enumerate(manifest["outputs"]):
        answers.append(os.path.join(folder, "out_%d.npy" % i))
        arguments += ["--output", "%s=%s" % (one["name"], answers[-1])]
    call(ingot, "run", model, "--target", "interpreter", "--algorithms", "direct", *arguments)
    expected = np.concatenate([words_in(np.load(a)) for a in answers])
    write_case(folder, manifest, [np.load(files[one["name"]]) for one in manifest["inputs"]], expected)

    library = os.path.join(made, manifest["library"])
    defined, wanted = symbols(library)
    called = {one for one in wanted - ALLOWED if not (cpu in WITHOUT_FLOATS and one.startswith("__") and not (name == "mlperf_ad_i8" and FLOATS.match(one)))}
    if called:
        wrong.append("the library calls " + " ".join(sorted(called)))
    for flip in (0, 1) if LONG or name in ("digits", "quantised") else (0,):
        elf = os.path.join(folder, "flip%d.elf" % flip)
        link(board, folder, elf, "main.c", made, [library], "-DFLIP=%d" % flip)
        code, text, by_symbol = run_board(board, folder, elf, os.path.join(folder, "counts%d" % flip))
        if code != (42 if flip else 0):
            wrong.append("exit code %d%s: %s" % (code, " with a flipped bit" if flip else "", text.strip()))
        if flip:
            continue
        heap = HEAP & symbols(elf)[0]
        if heap:
            wrong.append("the heap is linked: " + " ".join(sorted(heap)))
        words = text.split()
        stack = int(words[words.index("stack") + 1]) if "stack" in words else -1
        instructions = {s: n for s, n in by_symbol.items() if s in defined | wanted}
        total = sum(instructions.values())
        if not 0 < stack <= manifest["stack_bytes"]:
            wrong.append("stack %d, but the manifest says %d" % (stack, manifest["stack_bytes"]))
    sizes = [line.split() for line in call(ARM + "size", library).splitlines()[1:]]
    text, data, bss = (sum(int(s[i]) for s in sizes) for i in range(3))
    if data or bss:
        wrong.append("data %d and bss %d: a library keeps no state" % (data, bss))
    most = MOST.get((name, cpu, optimise), total)
    if total > 1.02 * most:
        wrong.append("%d instructions, %d were enough" % (total, most))
    if optimise == "size" and manifest["weights_bytes"] > os.path.getsize(model):
        wrong.append("the weights take %d bytes, the model's file %d" % (manifest["weights_bytes"], os.path.getsize(model)))
    if optimise == "size" and name in QUANTISED and manifest["stack_bytes"] > 400:
        wrong.append("%d bytes of stack, more than 400" % manifest["stack_bytes"])
    flops = sum(k["flops"] for k in manifest["kernels"])
    print("%s, %s, --optimise %s: text %d (weights %d more), data %d, bss %d, workspace %d, stack %d of %d" % (
        name, cpu, optimise, text - manifest["weights_bytes"], manifest["weights_bytes"], data, bss, manifest["workspace_bytes"],
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
    return wrong, (text - manifest["weights_bytes"], manifest["weights_bytes"], manifest["workspace_bytes"], stack, manifest["stack_bytes"], total)


def managed_network(ingot, folder, name, case):
    """The same network as a library of the managed profile, run by the runtime that is built for one thread."""
    wrong = []
    model = model_of(case, name)
    io = json.load(open(os.path.join(case, "io.json")))
    made = os.path.join(folder, "package")
    call(ingot, "build", model, "--cpu", "cortex-m4", "--optimise", "size", "--profile", "managed", "-o", made)
    manifest = manifest_of(made)
    given, wanted_output = manifest["inputs"][0], manifest["outputs"][0]
    file, answer = os.path.join(case, io["inputs"][0]["file"]), os.path.join(folder, "out.npy")
    call(ingot, "run", model, "--target", "interpreter", "--algorithms", "direct", "--input", "%s=%s" % (given["name"], file),
         "--output", "%s=%s" % (wanted_output["name"], answer))
    with open(os.path.join(folder, "case.h"), "w") as f:
        f.write('#define MODULE %s\n#define INPUT "%s"\n#define OUTPUT "%s"\n' % (manifest["symbols"]["module"], given["name"], wanted_output["name"]))
        f.write("#define INPUT_BYTES %d\n#define OUTPUT_WORDS %d\nextern const float input_0[];\n" % (given["bytes"], wanted_output["bytes"] // 4))
    with open(os.path.join(folder, "case.S"), "w") as f:
        f.write('\t.section .rodata.case, "a"\n')
        for what, array in (("input_0", np.load(file)), ("expected", np.load(answer))):
            array.astype(np.float32).tofile(os.path.join(folder, what + ".bin"))
            f.write('\t.balign 4\n\t.globl %s\n%s:\n\t.incbin "%s.bin"\n' % (what, what, what))
    runtime = os.path.join(made, "libingot_runtime.a")
    for flip in (0, 1):
        elf, linked = os.path.join(folder, "managed%d.elf" % flip), os.path.join(folder, "managed%d.map" % flip)
        link(BOARDS["cortex-m4"], folder, elf, "managed.c", made, [os.path.join(made, manifest["library"]), runtime], "-Os", "-DFLIP=%d" % flip,
             "-I" + os.path.join(made, "runtime", "include"), "-Wl,-Map=" + linked)
        code, text, _ = run_board(BOARDS["cortex-m4"], folder, elf, os.path.join(folder, "managed_counts%d" % flip))
        said = said if flip else text.strip()
        if code != (42 if flip else 0):
            wrong.append("managed: exit code %d%s: %s" % (code, " with a flipped bit" if flip else "", text.strip()))
    # What of the runtime came into the program, and what of libc: nothing but memcpy and memset.
    size, part, libc = 0, None, set()
    for line in open(linked).read().split("Linker script and memory map")[1].splitlines():
        words = line.split()
        if line.startswith(" .") and len(words) == 1:
            part = words[0]
        elif line.startswith(" ") and len(words) >= 3 and words[-2].startswith("0x"):
            kind = words[0] if line.startswith(" .") else part
            if kind and kind.startswith((".text", ".rodata", ".data")) and int(words[-2], 16):
                size += int(words[-2], 16) if "libingot_runtime.a" in words[-1] else 0
                if "libc.a" in words[-1]:
                    libc.add(words[-1].rsplit("(", 1)[1].rstrip(")"))
    libc = {one for one in libc if not any(allowed in one for allowed in ALLOWED)}
    if libc:
        wrong.append("managed: of libc there is " + " ".join(sorted(libc)))
    if HEAP & symbols(elf)[0]:
        wrong.append("managed: the heap is linked")
    if not 0 < size <= 40 * 1024:
        wrong.append("managed: %d bytes of the runtime are linked, more than 40 KB" % size)
    print("%s, managed: %d bytes of the runtime; %s" % (name, size, said))
    return wrong


SOFT = """<ir_version: 8, opset_import: ["" : 17]>
soft (float[2,6] x) => (float[2,6] y) { r = Sqrt (x)  e = Erf (r)  t = Tanh (e)  p = Pow (t, e)  y = Softmax (p) }
"""


def without_instructions(ingot, folder):
    """What the generic library calls on a core without floating point, beyond the compiler's own arithmetic: nothing.  No compiler
    warns of a quantised network's integers there, nor of Helium's words."""
    model, made = os.path.join(folder, "soft.onnxtxt"), os.path.join(folder, "soft")
    with open(model, "w") as f:
        f.write(SOFT)
    call(ingot, "build", model, "--cpu", "generic", "--no-compile", "-o", made)
    sources = [name for name in sorted(os.listdir(made)) if name.endswith(".c")]
    for name in sources:
        call("arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-O2", "-std=c99", "-ffreestanding", "-ffp-contract=off", "-Wall", "-Wextra",
             "-Werror", "-c", name, "-o", name + ".o", cwd=made)
    both = [symbols(os.path.join(made, name + ".o")) for name in sources]
    wanted = set().union(*(w for _, w in both)) - set().union(*(d for d, _ in both)) - ALLOWED
    warned = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-ffreestanding", "-fsyntax-only"]
    for cpu, machine in ("cortex-m3", ["-mcpu=cortex-m3"]), ("cortex-m55", ["-mcpu=cortex-m55", "-mfloat-abi=hard"]):
        made = os.path.join(folder, cpu)
        call(ingot, "build", model_of(quantised(folder), "quantised"), "--cpu", cpu, "--optimise", "speed", "--no-compile", "-o", made)
        for one in sorted(name for name in os.listdir(made) if "_kernels" in name and name.startswith("model") and name.endswith(".c")):
            call(ARM + "gcc", "-mthumb", *machine, *warned, one, cwd=made)
            if shutil.which("clang"):
                call("clang", "--target=thumb-none-eabi", *machine, *warned, one, cwd=made)
    return sorted(name for name in wanted if not name.startswith("__aeabi_"))


def steps(ingot, folder):
    """An LSTM over frames, one a call with --state, beside the LSTM over all of them: the same bits on the board."""
    frames, inputs, hidden, outputs = 6, 40, 32, 12
    for name, count in ("step", 1), ("whole", frames):
        packages.lstm(os.path.join(folder, name + ".onnxtxt"), count)
    sound = (np.arange(frames * inputs) * 37 % 101 / 50 - 1).astype(np.float32).reshape(frames, 1, inputs)
    zeros = np.zeros((1, 1, hidden), np.float32)
    arguments = []
    for name, array in ("x", sound), ("h", zeros), ("c", zeros):
        np.save(os.path.join(folder, name + ".npy"), array)
        arguments += ["--input", "%s=%s" % (name, os.path.join(folder, name + ".npy"))]
    answer = os.path.join(folder, "y.npy")
    call(ingot, "run", os.path.join(folder, "whole.onnxtxt"), "--target", "interpreter", "--optimise", "size", "--algorithms", "direct", *arguments, "--output", "y=" + answer)
    made = os.path.join(folder, "package")
    call(ingot, "build", os.path.join(folder, "step.onnxtxt"), "--cpu", "cortex-m4", "--state", "h=hn", "--state", "c=cn", "-o", made)
    manifest = json.load(open(os.path.join(made, "step.json")))
    write_case(folder, {"prefix": "step", "outputs": [{"bytes": frames * outputs * 4}]}, [sound], np.load(answer))
    text = open(os.path.join(folder, "case.h")).read()
    with open(os.path.join(folder, "case.h"), "w") as f:
        f.write(text[:text.index("static inline")] + """static unsigned char state[STEP_STATE_BYTES] __attribute__((aligned(STEP_STATE_ALIGN)));
static inline int case_run(float *out, void *workspace)
{
	struct step_context context = { .workspace = workspace, .state = state };
	int status = step_reset(&context);
	for (int t = 0; t < %d && !status; t++) {
		struct step_inputs in = { input_0 + %d * t };
		struct step_outputs to = { .y = out + %d * t };
		status = step_run(&in, &to, &context);
	}
	return status;
}
""" % (frames, inputs, outputs))
    library = os.path.join(made, "libstep.a")
    wanted = symbols(library)[1] - ALLOWED
    if wanted:
        return "the library calls " + " ".join(sorted(wanted))
    for flip in (0, 1):
        elf = os.path.join(folder, "flip%d.elf" % flip)
        link(BOARDS["cortex-m4"], folder, elf, "main.c", made, [library], "-DFLIP=%d" % flip)
        code, text, _ = run_board(BOARDS["cortex-m4"], folder, elf, os.path.join(folder, "counts%d" % flip))
        if code != (42 if flip else 0):
            return "exit code %d%s: %s" % (code, " with a flipped bit" if flip else "", text.strip())
    print("LSTM step by step: %d frames, state %d bytes, workspace %d, weights %d" % (frames, manifest["state_bytes"], manifest["workspace_bytes"], manifest["weights_bytes"]))
    return None


def narrow(folder):
    """A folder with a case whose weights are narrow in every way: a scale for all, for each column, for each term, for blocks of terms, a zero point; float16."""
    def numbers(shape, kind, low, high):
        count = int(np.prod(shape))
        values = [low + (37 * i + 11) % 101 * (high - low) / 100 for i in range(count)]
        return "%s[%s] %%s = {%s}" % (kind, ", ".join(map(str, shape)), ", ".join("%d" % np.float16(v).view(np.uint16) if kind == "float16" else "%g" % v if kind == "float" else "%d" % v for v in values))
    constants, nodes, parts = [numbers((24, 20), "int8", -120, 120) % "w", numbers((24, 20), "uint8", 0, 250) % "u", numbers((24, 20), "float16", -2, 2) % "h",
                                     numbers((20,), "uint8", 100, 150) % "z"], [], []
    for name, weights, scales, options in (("all", "w", (), "axis = 1"), ("column", "w", (20,), "axis = 1"), ("term", "w", (24,), "axis = 0"),
                                           ("block", "w", (6, 20), "axis = 0, block_size = 4"), ("zero", "u", (20,), "axis = 1")):
        constants.append(numbers(scales, "float", 0.01, 0.03).replace("float[]", "float") % ("s_" + name))
        nodes.append("w_%s = DequantizeLinear <%s> (%s, s_%s%s)" % (name, options, weights, name, ", z" if name == "zero" else ""))
        nodes.append("y_%s = MatMul (x, w_%s)" % (name, name))
        parts.append("y_" + name)
    nodes += ["xh = Cast <to = 10> (x)", "yh = MatMul (xh, h)", "y_half = Cast <to = 1> (yh)", "y = Concat <axis = 1> (%s, y_half)" % ", ".join(parts)]
    with open(os.path.join(folder, "model.onnxtxt"), "w") as f:
        f.write('<ir_version: 10, opset_import: ["" : 21]>\nnarrow (float[6,24] x) => (float[6,120] y)\n<%s>\n{\n%s\n}\n' % (",\n".join(constants), "\n".join(nodes)))
    np.save(os.path.join(folder, "x.npy"), ((np.arange(144) * 29 % 97) / 40 - 1.2).astype(np.float32).reshape(6, 24))
    with open(os.path.join(folder, "io.json"), "w") as f:
        json.dump({"inputs": [{"name": "x", "file": "x.npy"}]}, f)
    return folder


def quantised(folder):
    """A folder with a small quantised network of what words find hard: odd channels, borders with a zero point, strides, weights of 9 bits less their zero point, a
    window over each channel, alone and between products, a residual, odd rows of a matrix."""
    def bytes_of(kind, *shape):
        low = -127 if kind == "int8" else 0
        return "%s[%s] %%s = {%s}" % (kind, ", ".join(map(str, shape)), ", ".join(str(low + (53 * i * i + 29 * i) % 255) for i in range(int(np.prod(shape)))))
    constants, nodes = [], []

    def layer(name, of, scale, shape, kind, zero, attributes, bounds=None, far=0):
        """A convolution of what `of` is, dequantised, and what quantises it: scales are powers of 2, so that its bias has theirs;
        far: more in its first bias, whose scale is exact then."""
        constants.append(bytes_of(kind, *shape) % (name + "_w"))
        constants.append("int32[%d] %s_b = {%s}" % (shape[0], name, ", ".join(str((i * 911) % 1500 - 700 + far * (i == 0)) for i in range(shape[0]))))
        constants.extend("float %s_%s = {%.*g}" % (name, what, 9 if far else 6, value) for what, value in (("sw", 2.0 ** -9), ("sb", scale * 2.0 ** -9), ("s", 0.11)))
        constants.extend("%s %s_%s = {%d}" % (k, name, what, value) for k, what, value in ((kind, "zw", zero), ("int32", "zb", 0), ("int8", "z", -5)))
        nodes.extend(["%s_wd = DequantizeLinear (%s_w, %s_sw, %s_zw)" % (4 * (name,)), "%s_bd = DequantizeLinear (%s_b, %s_sb, %s_zb)" % (4 * (name,)),
                      "%s_c = Conv <%s> (%s, %s_wd, %s_bd)" % (name, attributes, of, name, name)])
        if bounds:
            nodes.append("%s_r = %s (%s_c)" % (name, bounds, name))
        nodes.extend(["%s_q = QuantizeLinear (%s_%s, %s_s, %s_z)" % (name, name, "r" if bounds else "c", name, name), "%s = DequantizeLinear (%s_q, %s_s, %s_z)" % (4 * (name,))])
    constants += ["float sx = {0.0625}", "uint8 zx = {119}", "float sa = {0.25}", "int8 za = {3}", bytes_of("int8", 25, 3) % "m", "float sm = {0.00390625}", "float st = {0.1300001}", "int8 zm = {0}"]
    nodes.append("xd = DequantizeLinear (x, sx, zx)")
    layer("one", "xd", 0.0625, (7, 5, 3, 3), "int8", 0, "pads = [1, 1, 1, 1]", "Relu")
    layer("two", "one", 0.11, (7, 7, 3, 3), "int8", 0, "pads = [1, 1, 1, 1]")
    nodes.extend(["sum_a = Add (one, two)", "sum = Relu (sum_a)", "sum_q = QuantizeLinear (sum, sa, za)", "three_d = DequantizeLinear (sum_q, sa, za)"])
    layer("four", "three_d", 0.25, (7, 1, 3, 3), "int8", 0, "group = 7, pads = [1, 1, 1, 1], strides = [2, 2]", "Relu")
    layer("five", "four", 0.11, (5, 7, 1, 1), "uint8", 131, "strides = [1, 1]")
    layer("wide", "five", 0.11, (32, 5, 1, 1), "int8", 0, "strides = [1, 1]")
    layer("each", "wide", 0.11, (32, 1, 3, 3), "int8", 0, "group = 32, pads = [1, 1, 1, 1]", far=1 << 30)
    layer("six", "each", 0.11, (5, 32, 3, 1), "int8", 1, "pads = [0, 0, 0, 0]")
    nodes.extend(["twice_a = Add (six, six)", "twice = Relu (twice_a)", "twice_q = QuantizeLinear (twice, st, za)", "seven = DequantizeLinear (twice_q, st, za)", "flat = Reshape (seven, shape)", "md = DequantizeLinear (m, sm, zm)", "y = MatMul (flat, md)"])
    constants.append("int64[2] shape = {-1, 25}")
    with open(os.path.join(folder, "model.onnxtxt"), "w") as f:
        f.write('<ir_version: 10, opset_import: ["" : 21]>\nquantised (uint8[1,5,5,9] x) => (float[1,3] y)\n<%s>\n{\n%s\n}\n' % (",\n".join(constants), "\n".join(nodes)))
    np.save(os.path.join(folder, "x.npy"), ((np.arange(225) * 89 % 251)).astype(np.uint8).reshape(1, 5, 5, 9))
    with open(os.path.join(folder, "io.json"), "w") as f:
        json.dump({"inputs": [{"name": "x", "file": "x.npy"}]}, f)
    return folder


def subnormal(folder):
    """A folder with a quantised network whose scales are so small that differences of its floats are subnormal."""
    ones = ", ".join(str(int(k == n)) for k in range(16) for n in range(4))
    with open(os.path.join(folder, "model.onnxtxt"), "w") as f:
        f.write('<ir_version: 8, opset_import: ["" : 17]>\nsubnormal (int8[5,16] x, int8[5,4] r) => (float[5,4] y)\n'
                "<float sx = {8.673617379884035e-19}, float sw = {1.3552527156068805e-20}, float sr = {1.7632415262334313e-38}, int8 z = {0}, int8[16,4] w = {%s}>\n{\n"
                "xd = DequantizeLinear (x, sx, z)\nwd = DequantizeLinear (w, sw, z)\nrd = DequantizeLinear (r, sr, z)\nc = MatMul (xd, wd)\ny = Add (c, rd)\n}\n" % ones)
    np.save(os.path.join(folder, "x.npy"), (np.arange(80) % 16 * 3 + 1).astype(np.int8).reshape(5, 16))
    np.save(os.path.join(folder, "r.npy"), (-np.arange(20) % 4 * 2 - 1).astype(np.int8).reshape(5, 4))
    with open(os.path.join(folder, "io.json"), "w") as f:
        json.dump({"inputs": [{"name": name, "file": name + ".npy"} for name in "xr"]}, f)
    return folder


def run_rows(ingot, rows):
    """Each of (name, case, optimise, cpu, board, options): how many are wrong, and what of each the table has."""
    bad, table = 0, {}
    for name, case, optimise, cpu, board, *options in rows:
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as made:
            make_counter(folder)
            wrong, figures = one_network(ingot, folder, name, case(made) if callable(case) else case, optimise, cpu, board, options)
            if optimise == "size" and cpu == "cortex-m4" and name in ("digits", "mlperf_kws_f32"):
                wrong += managed_network(ingot, folder, name, case)
        table.setdefault((name, optimise, cpu), figures)
        for what in wrong:
            print("WRONG %s %s %s: %s" % (name, cpu, optimise, what))
            bad += 1
    return bad, table


def markdown(table):
    """The table of docs/firmware.md: networks and CPUs, what each takes."""
    lines = ["| network | CPU | `--optimise` | code | weights | workspace | stack, measured / header | instructions |", "|---|---|---|---|---|---|---|---|"]
    for (name, optimise, cpu), (code, weights, workspace, stack, bound, instructions) in sorted(table.items(), key=lambda one: (one[0][0], list(BOARDS).index(one[0][2]), one[0][1])):
        lines.append("| %s | %s | %s | %s B | %s B | %s B | %s / %s B | %s |" % (name, cpu, optimise, *(format(n, ",") for n in (code, weights, workspace, stack, bound, instructions))))
    return "\n".join(lines)


def main():
    ingot = os.path.abspath(sys.argv[1])
    if missing(ARM + "gcc", "qemu-system-arm", "gcc"):
        return 77
    cpus = [cpu for cpu, board in BOARDS.items() if shutil.which(board[0] + "gcc") and shutil.which("qemu-system-" + board[2].split()[0])]
    for cpu in set(BOARDS) - set(cpus):
        print("%s is left out: no %sgcc, or no qemu-system-%s" % (cpu, BOARDS[cpu][0], BOARDS[cpu][2].split()[0]))
    networks = [("digits", os.path.join(ROOT, "examples", "digits"))]
    for name in ("mlperf_kws_f32", *(name for name in QUANTISED if LONG or name != "mlperf_vww_i8")):      # whose layers are of the kinds of kws and ic
        case = os.path.join(CASES, "models", name)
        if os.path.exists(os.path.join(case, "model.onnx")):
            networks.append((name, case))
        else:
            print("%s is left out: not under %s" % (name, CASES))
    print(PEERS)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        called = without_instructions(ingot, folder)
    print("generic on a cortex-m3: %s" % (" ".join(["WRONG, it calls", *called]) if called else "nothing but the compiler's arithmetic is called"))
    bad += bool(called)
    with tempfile.TemporaryDirectory() as folder:
        make_counter(folder)
        what = steps(ingot, folder)
    if what:
        print("WRONG LSTM step by step: " + what)
        bad += 1
    rows = [("narrow", narrow, "size", "cortex-m4", None)] + [("quantised", quantised, "speed", cpu, None) for cpu in ("cortex-m4", "cortex-m55")]
    rows += [("subnormal", subnormal, "speed", "cortex-m55", None)]
    rows += [("quantised", quantised, "size", cpu, MICROBIT if cpu == "cortex-m0plus" else None) for cpu in cpus]
    rows += [(name, case, optimise, "cortex-m4", None) for name, case in networks for optimise in ("size", "speed")]
    rows.insert(0, ("quantised", quantised, "speed", "cortex-m4", None, "--io", "workspace"))
    rows += [(name, case, "size", "cortex-m4", None, "--io", "workspace") for name, case in networks if name == "mlperf_kws_i8"]
    rows += [("mlperf_ad_i8", case, "size", cpu, None) for name, case in networks if name == "mlperf_ad_i8" for cpu in cpus if cpu in WITHOUT_FLOATS]
    deepest = {("mlperf_ic_i8", "rv32imac"), ("mlperf_kws_i8", "cortex-m0plus")}  # what takes most stack with size
    rows += [(name, case, "size", cpu, None) for name, case in networks for cpu in cpus if (name, cpu) in deepest]
    rows += [(name, case, "speed", "cortex-m55", None) for name, case in networks if name in QUANTISED and (LONG or name == "mlperf_kws_i8")]
    if LONG:
        rows += [(name, case, "size", cpu, None) for name, case in networks if name in QUANTISED for cpu in cpus if cpu != "cortex-m4" and (name, cpu) not in deepest]
    wrong, table = run_rows(ingot, rows)
    bad += wrong
    for name, case in networks:
        small, fast = (table[name, optimise, "cortex-m4"] for optimise in ("size", "speed"))
        for line in ram_wrong(ingot, model_of(case, name), name, small[4]) if name in PEERS_RAM else []:
            print("WRONG %s: %s" % (name, line))
            bad += 1
        for cpu in WITHOUT_FLOATS + ("cortex-m55",) if name == "mlperf_ic_i8" else ():  # strips whose borders are bytes of a zero point
            for line in ram_wrong(ingot, model_of(case, name), name, 400, cpu):
                print("WRONG %s on %s: %s" % (name, cpu, line))
                bad += 1
        # a small quantised network has about the same code
        if not small[0] < (1 if name in QUANTISED else 0.9) * fast[0] or (name not in QUANTISED and not small[3] < 0.9 * fast[3]):
            print("WRONG %s: --optimise size takes %d bytes of code and %d of stack, speed %d and %d" % (name, small[0], small[3], fast[0], fast[3]))
            bad += 1
    print(markdown({key: row for key, row in table.items() if key[0] in QUANTISED or key[0] in ("digits", "mlperf_kws_f32")}))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
