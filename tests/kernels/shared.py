#!/usr/bin/env python3
"""What threads share: every kernel of a graph that takes longer than a fork, in parts as equal as 0.6 of it, by `show --stage kernels --threads 2`.

    shared.py INGOT"""
import os
import re
import subprocess
import sys
import tempfile

HEAD = '<ir_version: 9, opset_import: ["" : 18]>\n'
GRAPHS = {
    "few_channels": """(float[1,3,448,448] x) => (float[1,3,224,224] y) <float[4] scales = {1, 1, 0.5, 0.5}> { y = Resize <mode = "linear"> (x, , scales) }""",
    "few_terms": """(float[160,402] x) => (float[160,200] y) <int64[1] from = {1}, int64[1] to = {201}, int64[1] axis = {1}> { y = Slice (x, from, to, axis) }""",
    "few_row_blocks": """(float[20,128] x) => (float[20,512] y) <float[128,512] w = {%s}> { y = MatMul (x, w) }""" % ", ".join(["0.5"] * 65536),
    "scalars": """(bool[256,256] x) => (int64[2,32768] y) { y = NonZero (x) }""",
}
LONG, PART = 10000, 0.6                          # cycles; of a kernel's time alone, less what a fork takes


def main():
    ingot, wrong = os.path.abspath(sys.argv[1]), []
    with tempfile.TemporaryDirectory() as folder:
        for name, graph in GRAPHS.items():
            path = os.path.join(folder, name + ".onnxtxt")
            with open(path, "w") as file:
                file.write(HEAD + name + " " + graph)
            said = subprocess.run([ingot, "show", path, "--stage", "kernels", "--cpu", "x86-64-v4", "--threads", "2"], capture_output=True, text=True, check=True).stdout
            kernels = re.findall(r"^    threads   (share it|do not): alone (\d+) cycles .*; shared (\d+),", said, re.M)
            if not kernels or any(how != "share it" or int(part) > PART * int(alone) for how, alone, part in kernels if int(alone) > LONG):
                wrong.append(f"{name}:\n{said}")
    print("\n".join(wrong) or "right")
    return bool(wrong)


sys.exit(main())
