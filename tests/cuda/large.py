#!/usr/bin/env python3
"""large.py: kernels whose tensors have more elements, or more blocks by tiles, than 32 bits count: the first block, one in the middle and the last one run on the
emulator, with signed overflow trapped and a page of the tensors made where it is touched (large_test.cpp), so none of them takes gigabytes or minutes.

    large.py INGOT [NAME…]        exit 0: right, 1: wrong, 77: no C++ compiler"""
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EMULATOR = os.path.join(HERE, "..", "..", "backends", "cuda", "emulator")
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
# name: (what the kernel's comment says, channels in and out, height, width, side of the filters); side 0: `nodes` over x of these dims, the result's
CONVOLUTIONS = {
    "tiles_2": (r"tile F\(2\), 16 x 32", 16, 16, 866, 866, 3),                # tiles * groups
    "text": (r"tile F\(4\), 16 x 32", 64, 64, 2047, 2047, 3),                 # the same, but that a compiler may divide first: its text is read alone
    "image": (r"tile F\(\d\), 16 x 32", 16, 16, 12000, 12000, 3),             # 2.3e9 elements
    "int": (r"tile \d+ x \d+ x 16", 64, 64, 5790, 5790, 1),                   # 2^31 - 1.9e6 elements: its addresses are ints
    "long": (r"tile \d+ x \d+ x 16", 64, 64, 5800, 5800, 1),
}
NODES = {
    "transposed": ((2200, 1000, 1000), (2200, 1000, 1000), "y = Transpose <perm = [0, 2, 1]> (x)"),
}


def write(folder, name):
    dims = lambda d: "float[%s]" % ",".join(map(str, d))
    if name in CONVOLUTIONS:
        tile, ci, co, height, width, side = CONVOLUTIONS[name]
        x, y, count = (1, ci, height, width), (1, co, height, width), ci * co * side * side
        with open(os.path.join(folder, "w.bin"), "wb") as f:
            f.write(struct.pack("<%df" % count, *((i * 7919 % 17 - 8) / 8 for i in range(count))))
        kept = '<%s w = ["location": "w.bin", "offset": "0", "length": "%d"]>\n' % (dims((co, ci, side, side)), 4 * count)
        nodes, facts = "y = Conv <pads = [%s]> (x, w)" % ", ".join([str(side // 2)] * 4), {"CHANNELS": ci, "HEIGHT": height, "WIDTH": width, "SIDE": side}
    else:
        (x, y, nodes), kept, tile, facts = NODES[name], "", None, {"CHANNELS": 0}
    with open(os.path.join(folder, "g.txt"), "w") as f:
        f.write("%sg (%s x) => (%s y)\n%s{ %s }\n" % (HEAD, dims(x), dims(y), kept, nodes))
    return tile, dict(facts, IN="%dul" % math.prod(x), OUT="%dul" % math.prod(y))


def wrongs_of(ingot, compiler, folder, name):
    tile, facts = write(folder, name)
    out = os.path.join(folder, "out")
    done = subprocess.run([ingot, "build", os.path.join(folder, "g.txt"), "--target", "cuda", "--no-compile", "--large-models", "--name", "g", "-o", out], capture_output=True, text=True)
    if done.returncode:
        yield done.stderr.strip()
        return
    text = open(os.path.join(out, "g.cu")).read()
    kernels = re.findall(r"__global__ void __launch_bounds__\(.*?\) (\w+)\((.*)\)\n", text)
    if len(kernels) != 1 or (tile and not re.search(tile, text)):
        yield "%d kernels, %s" % (len(kernels), re.findall(r"tile ([^;]+);", text))
        return
    if name == "text":
        if not re.search(r"const long group = [^;]*;\n[^\n]*\(group \* 262144 / 16384\)", text):
            yield "a group's first tile is not reckoned in longs"
        return
    types = [re.sub(r"\w+$", "", p.replace("restrict ", "")) for p in kernels[0][1].split(",")]
    facts["KERNEL"] = "%s(%s);" % (kernels[0][0], ", ".join("(%s)p[%d]" % (t, i) for i, t in enumerate(types)))
    program = os.path.join(folder, "large")
    flags = ["-std=c++17", "-O1", "-w", "-mfma", "-ffp-contract=off", "-fsanitize=signed-integer-overflow", "-fsanitize-undefined-trap-on-error", "-I", out, "-I", EMULATOR]
    done = subprocess.run([compiler, *flags, *("-D%s=%s" % f for f in facts.items()), os.path.join(HERE, "large_test.cpp"), os.path.join(folder, "emulator.o"), "-o", program],
                          capture_output=True, text=True)
    if done.returncode:
        yield done.stderr[:2000]
        return
    files = [f if os.path.exists(f) else "/dev/null" for f in (os.path.join(out, "g_weights.bin"), os.path.join(folder, "w.bin"))]
    done = subprocess.run([program, *files], capture_output=True, text=True)
    if done.returncode:
        yield done.stdout.strip() or "signal %d" % -done.returncode


def main():
    ingot, compiler, wrong = sys.argv[1], os.environ.get("CXX") or shutil.which("g++"), 0
    if not compiler:
        print("skipped: no C++ compiler")
        return 77
    with tempfile.TemporaryDirectory(prefix="large.") as folder:
        subprocess.run([compiler, "-std=c++17", "-O1", "-c", os.path.join(EMULATOR, "emulator.cpp"), "-o", os.path.join(folder, "emulator.o")], check=True)
        for name in sys.argv[2:] or [*CONVOLUTIONS, *NODES]:
            said = list(wrongs_of(ingot, compiler, folder, name))
            wrong += len(said)
            print("%-12s %s" % (name, "; ".join(said) or "right"), flush=True)
            shutil.rmtree(os.path.join(folder, "out"), ignore_errors=True)
    print("%d wrong" % wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
