"""boards.py: what the tests of microcontrollers share: QEMU's boards, a program for one of them, and a run of it with its instructions counted."""
import json
import os
import shutil
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CASES = os.environ.get("INGOT_CASES", os.path.join(ROOT, "..", "shared", "cases"))
ARM, RISCV = "arm-none-eabi-", "riscv64-unknown-elf-"
# Of each CPU: its tools, flags, QEMU's machine, and where code and data lie there (bytes in KB).
BOARDS = {
    "cortex-m0plus": (ARM, "-mthumb -mcpu=cortex-m0plus", "arm -M mps2-an385", (0, 4096), (0x20000000, 4096)),
    "cortex-m3": (ARM, "-mthumb -mcpu=cortex-m3", "arm -M mps2-an385", (0, 4096), (0x20000000, 4096)),
    "cortex-m4": (ARM, "-mthumb -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16", "arm -M mps2-an386", (0, 4096), (0x20000000, 4096)),
    "cortex-m7": (ARM, "-mthumb -mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16", "arm -M mps2-an500", (0, 4096), (0x20000000, 4096)),
    "cortex-m33": (ARM, "-mthumb -mcpu=cortex-m33 -mfloat-abi=hard -mfpu=fpv5-sp-d16", "arm -M mps2-an505", (0x10000000, 4096), (0x38000000, 2048)),
    "cortex-m55": (ARM, "-mthumb -mcpu=cortex-m55 -mfloat-abi=hard", "arm -M mps3-an547", (0, 512), (0x20000000, 512)),
    "rv32imac": (RISCV, "-march=rv32imac -mabi=ilp32", "riscv32 -M virt -bios none", (0x80000000, 16384), (0x81000000, 16384)),
    "rv32imafc": (RISCV, "-march=rv32imafc -mabi=ilp32f", "riscv32 -M virt -bios none", (0x80000000, 16384), (0x81000000, 16384)),
}
MICROBIT = (ARM, "-mthumb -mcpu=cortex-m0", "arm -M microbit", (0, 256), (0x20000000, 16))


def call(*command, cwd=None, seconds=300):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        raise SystemExit("%s: exit %d\n%s%s" % (" ".join(command), done.returncode, done.stdout, done.stderr))
    return done.stdout


def symbols(path):
    """Names defined and names wanted."""
    defined, wanted = set(), set()
    for line in call(ARM + "nm", path).splitlines():
        words = line.split()
        if len(words) >= 2 and words[-2] in ("U", "w"):
            wanted.add(words[-1])
        elif len(words) == 3:
            defined.add(words[-1])
    return defined, wanted - defined


def words_of(count):
    return (count + 3) // 4


def words_in(array):
    """The array's bytes as words, 0 behind the last: as they lie in what the board has cleared."""
    data = np.ascontiguousarray(array).tobytes()
    return np.frombuffer(data + bytes(-len(data) % 4), np.uint32)


def write_case(folder, manifest, arrays, expected):
    """case.h and case.S: main.c's view of one network."""
    prefix, words = manifest["prefix"], sum(words_of(o["bytes"]) for o in manifest["outputs"])
    fields, at = [], 0
    for one in manifest["outputs"]:
        fields.append("(void *)(out + %d)" % at)
        at += words_of(one["bytes"])
    upper = prefix.upper()
    with open(os.path.join(folder, "case.h"), "w") as f:
        f.write('#include "%s.h"\n#define WORKSPACE_BYTES %s_WORKSPACE_BYTES\n' % (prefix, upper))
        f.write("#define WORKSPACE_ALIGN %s_WORKSPACE_ALIGN\n" % upper)
        f.write("#define OUTPUT_WORDS %d\n" % words)
        for i, array in enumerate(arrays):
            f.write("extern const %s input_%d[];\n" % ({"i1": "signed char", "u1": "unsigned char", "i4": "int", "i2": "short"}.get(array.dtype.str[1:], "float"), i))
        f.write("static inline int case_run(float *out, void *workspace)\n{\n")
        given = ["input_%d" % i for i in range(len(arrays))]
        for i, one in enumerate(manifest.get("inputs", [])):
            if "offset" in one:
                given[i] = "(void *)((char *)workspace + %d)" % one["offset"]
                f.write("\t__builtin_memcpy(%s, input_%d, %d);\n" % (given[i], i, one["bytes"]))
        there = ["(void *)((char *)workspace + %d)" % one["offset"] if "offset" in one else field for one, field in zip(manifest["outputs"], fields)]
        f.write("\tstruct %s_inputs in = { %s };\n" % (prefix, ", ".join(given)))
        f.write("\tstruct %s_outputs to = { %s };\n" % (prefix, ", ".join(there)))
        f.write("\tstruct %s_context context = { .workspace = workspace };\n\tint status = %s_run(&in, &to, &context);\n" % (prefix, prefix))
        for one, field, at in zip(manifest["outputs"], fields, there):
            if at != field:
                f.write("\t__builtin_memcpy(%s, %s, %d);\n" % (field, at, one["bytes"]))
        f.write("\treturn status;\n}\n")
    with open(os.path.join(folder, "case.S"), "w") as f:
        f.write('\t.section .rodata.case, "a"\n')
        for name, array in [("input_%d" % i, a) for i, a in enumerate(arrays)] + [("expected", expected)]:
            (array if array.dtype.kind in "iu" else array.astype(np.float32)).tofile(os.path.join(folder, name + ".bin"))
            f.write('\t.balign 4\n\t.globl %s\n%s:\n\t.incbin "%s.bin"\n' % (name, name, name))


def link(board, folder, elf, main, made, libraries, *flags):
    """A program of start.c, `main` and case.S for a board."""
    tools, machine, _, flash, ram = board
    script = os.path.join(folder, "board.ld")
    with open(script, "w") as f:
        f.write("MEMORY { FLASH (rx) : ORIGIN = %d, LENGTH = %dK  RAM (rwx) : ORIGIN = %d, LENGTH = %dK }\n" % (*flash, *ram))
        f.write("STACK = %dK;\n" % (32 if ram[1] > 64 else 3))
        f.write(open(os.path.join(HERE, "board.ld")).read())
    call(tools + "gcc", *machine.split(), "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-tree-loop-distribute-patterns",
         *flags, "-I" + HERE, "-I" + folder, "-I" + made, os.path.join(HERE, "start.c"), os.path.join(HERE, main), "case.S", *libraries,
         "-nostdlib", *(["-lc"] if tools == ARM else []), "-lgcc", "-Wl,--gc-sections,-T," + script, "-o", elf, cwd=folder)


def run_board(board, folder, elf, counts):
    """QEMU's exit code, what was printed, instructions by symbol."""
    done = subprocess.run([*("qemu-system-" + board[2]).split(), "-display", "none", "-monitor", "none", "-serial", "none",
                           "-semihosting-config", "enable=on,target=native", "-kernel", elf,
                           "-plugin", os.path.join(folder, "libcount.so") + ",out=" + counts],
                          capture_output=True, text=True, timeout=300)
    by_symbol = {}
    if os.path.exists(counts):
        for line in open(counts):
            count, name = line.split(None, 1)
            by_symbol[name.strip()] = int(count)
    return done.returncode, done.stdout + done.stderr, by_symbol


def manifest_of(made):
    """What a library's manifest says."""
    with open(os.path.join(made, next(file for file in sorted(os.listdir(made)) if file.endswith(".json")))) as f:
        return json.load(f)


def make_counter(folder):
    """QEMU's plugin that counts instructions, for run_board."""
    call("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", os.path.join(HERE, "count.c"), "-o", os.path.join(folder, "libcount.so"))


def missing(*tools):
    """Whether a tool is not there, which is said."""
    for tool in tools:
        if not shutil.which(tool):
            print("skipped: no " + tool)
            return True
    return False


def model_of(case, name):
    """The file: model.onnx, NAME.onnx or text."""
    return next(path for path in (os.path.join(case, file) for file in ("model.onnx", name + ".onnx", "model.onnxtxt")) if os.path.exists(path))
