#!/usr/bin/env python3
"""Generated text has no factor or divisor of 1, none that is divided out again, no + 0, no cast of a cast, and each file declares a kernel once.

    readable.py INGOT"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(HERE, "..", "ops", "files")
MODELS = [os.path.join(HERE, name + ".onnxtxt") for name in ("attention", "conv_int8", "conv_pool", "matmul_bias_relu", "softmax")] \
    + [os.path.join(FILES, name + ".onnxtxt") for name in ("lstm_plain", "gather_elements", "quantised_layers", "bit_cast")]
UGLY = {"a factor of 1": r"(?<![\w.])1 \* \w|\* 1(?![\w.])", "a divisor of 1": r"[/%] 1(?![\w.])", "+ 0": r"\+ 0(?![\w.])",
        "a factor that is divided out": r"\* \(?(\d+)\)? / \1(?![\w.])", "a cast of a cast": r"\((int|unsigned char|signed char|long long)\)\(?\(\1\)(?!_)"}


def main():
    ingot, wrong = os.path.abspath(sys.argv[1]), []
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            for cpu in ("x86-64-v3", "generic"):
                out = os.path.join(folder, "out")
                subprocess.run([ingot, "build", model, "--cpu", cpu, "--no-compile", "--name", "m", "-o", out], check=True, capture_output=True)
                kernels = ""
                for name in sorted(os.listdir(out)):
                    if re.fullmatch(r"m_kernels(_\d+)?\.c", name):
                        with open(os.path.join(out, name)) as file:
                            kernels += re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S).split('extern "C" {\n#endif')[-1]  # behind the prelude
                for what, pattern in UGLY.items():
                    found = re.search(r".*(?:%s).*" % pattern, kernels)
                    wrong += [f"{model} {cpu}: {what}: {found.group(0).strip()}"] if found else []
                with open(os.path.join(out, "m.c")) as file:
                    declared = re.findall(r"^void (m_k\w+)\(", file.read(), re.M)
                wrong += [f"{model} {cpu}: {name} is declared {declared.count(name)} times" for name in set(declared) if declared.count(name) > 1]
    print("\n".join(wrong) or f"{len(MODELS)} models are fit to read")
    return bool(wrong)


sys.exit(main())
