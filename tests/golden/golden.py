#!/usr/bin/env python3
"""The sources of a few kernels, kept to be read: what a change of templates, tiles or printing does to them is seen in its diff.

    golden.py INGOT [--update]      --update rewrites the goldens

NAME.CPU.c is what `ingot show NAME.onnxtxt --stage source --cpu CPU` prints, NAME.CPU.txt the same for --stage kernels."""
import difflib
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDENS = (("matmul_bias_relu", "x86-64-v3", "source"), ("matmul_bias_relu", "cortex-m4", "source"), ("conv_pool", "x86-64-v3", "source"),
           ("conv_int8", "x86-64-v3", "source"), ("softmax", "x86-64-v3", "source"), ("conv_groups", "x86-64-v3", "kernels"))


def main():
    ingot, update, wrong = os.path.abspath(sys.argv[1]), "--update" in sys.argv[2:], 0
    for name, cpu, stage in GOLDENS:
        done = subprocess.run([ingot, "show", f"{name}.onnxtxt", "--stage", stage, "--cpu", cpu], cwd=HERE, capture_output=True,
                              text=True)
        path = os.path.join(HERE, f"{name}.{cpu}.{'c' if stage == 'source' else 'txt'}")
        if done.returncode:
            print(f"{name} {cpu} {stage}: exit {done.returncode}: {done.stderr.strip()}")
            wrong += 1
            continue
        if update:
            with open(path, "w") as file:
                file.write(done.stdout)
            continue
        with open(path) as file:
            want = file.read()
        if want != done.stdout:
            wrong += 1
            sys.stdout.writelines(difflib.unified_diff(want.splitlines(True), done.stdout.splitlines(True), os.path.basename(path), "now"))
    print("written" if update else f"{len(GOLDENS) - wrong} of {len(GOLDENS)} as they were; golden.py INGOT --update rewrites them")
    return bool(wrong)


sys.exit(main())
