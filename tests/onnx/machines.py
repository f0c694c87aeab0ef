#!/usr/bin/env python3
"""ONNX's own tests as libraries on several CPUs: equal bits on each class that this machine runs, and on armv8-a under QEMU, alone, called from two threads at once, and by two threads.

    machines.py INGOT TREE [--sample N] [--seed S] [--only PATTERN] [--cpu CPU...]

TREE is what run.py writes.  A test whose library cannot be made without its data (shapes that come at run time), or that takes sequences, is left out and counted; so is
armv8-a where its compiler or QEMU is missing.  That the bits are right is run.py's to say.  INGOT_LONG=1: all.  77: no onnx, or no tests there."""
import argparse
import fnmatch
import os
import random
import shutil
import subprocess
import sys
import tempfile

try:
    import ml_dtypes, numpy, onnx                                                   # noqa: F401
    from onnx import numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "generated"), os.path.join(HERE, "..", "ops", "drawn"), os.path.join(HERE, "..")]
import packages
from here import cpus
from judges import packed


class LeftOut(Exception):
    pass


def bytes_of(folder, manifest):
    """The inputs as the library takes them."""
    model = onnx.load(os.path.join(folder, "model.onnx"))
    held = {t.name for t in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in held]
    for wanted in manifest["inputs"]:
        if wanted["name"] not in names:
            raise LeftOut("an input is a sequence's element, or a count")
        tensor = onnx.TensorProto()
        with open(os.path.join(folder, "test_data_set_0", f"input_{names.index(wanted['name'])}.pb"), "rb") as file:
            tensor.ParseFromString(file.read())
        data = packed(numpy_helper.to_array(tensor))
        if len(data) != wanted["bytes"]:
            raise LeftOut("an input is smaller than its bound")
        yield data


def answer_of(folder, scratch, cpu):
    """The outputs' bytes, by a library of its own."""
    compiler, by = ("aarch64-linux-gnu-gcc", [shutil.which("qemu-aarch64-static") or "qemu-aarch64"]) if cpu == "armv8-a" else ("gcc", [])
    made = os.path.join(scratch, cpu)
    done = subprocess.run([packages.INGOT, "build", os.path.join(folder, "model.onnx"), "--name", "net", "-o", made, "--cpu", cpu, "--cc", compiler, "--threads", "2"],
                          capture_output=True, text=True)
    if done.returncode in (2, 3, 4):
        raise LeftOut(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    with open(os.path.join(made, "net.json")) as file:
        manifest = packages.json.load(file)
    for i, data in enumerate(bytes_of(folder, manifest)):
        with open(os.path.join(made, f"in{i}"), "wb") as file:
            file.write(data)
    program = packages.linked([compiler, "-w", "-static"], manifest, made, "-lm")
    return packages.answer(manifest, program, made, by=by)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ingot")
    parser.add_argument("tree")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("INGOT_SEED", "1")))
    parser.add_argument("--only", default="*")
    parser.add_argument("--cpu", nargs="+", default=cpus() + ["armv8-a"])
    a = parser.parse_args()
    machines = [c for c in a.cpu if c != "armv8-a" or shutil.which("aarch64-linux-gnu-gcc") and (shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64"))]
    folders = sorted(f for f, _, files in os.walk(a.tree) if "model.onnx" in files and fnmatch.fnmatchcase(os.path.basename(f), a.only))
    if not folders:
        print("skipped: no tests are there; run.py writes them")
        return 77
    if a.sample and not os.environ.get("INGOT_LONG"):
        folders = random.Random(a.seed).sample(folders, min(a.sample, len(folders)))
    right, bad, left = 0, 0, 0
    for folder in folders:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                want = answer_of(folder, scratch, machines[0])
                for cpu in machines[1:]:
                    assert packages.all_same(answer_of(folder, scratch, cpu), want), f"{cpu} has other bits than {machines[0]}"
                right += 1
            except LeftOut:
                left += 1
            except AssertionError as wrong:
                bad += 1
                print(f"{os.path.basename(folder)}: {str(wrong)[:600]}")
    print(f"{len(folders)} tests on {', '.join(machines)}: {right} with equal bits, {bad} wrong, {left} left out")
    return bool(bad) or not right


if __name__ == "__main__":
    sys.exit(main())
