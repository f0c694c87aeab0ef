#!/usr/bin/env python3
"""models.py: whole networks.  Each must fit its reference on every engine, and give the interpreter's bits on every other engine,
CPU and compiler.

    models.py INGOT [--long] [--jobs N]      exit 0: right, 1: wrong, 77: no cases are there
Cases: $INGOT_CASES, else ../shared/cases beside the project; examples/ always.  INGOT_LONG=1 is --long."""
import argparse
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy here (INGOT_PYTHON names a Python that has it)")
    sys.exit(77)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CASES = os.environ.get("INGOT_CASES", os.path.join(ROOT, "..", "shared", "cases"))
NETWORKS = ["mnist_onnx2c", "mlperf_ad_f32", "mlperf_kws_f32", "mlperf_ic_f32", "mjp_go1", "dtln_1"]


def cpus():
    flags = set(next((line for line in open("/proc/cpuinfo") if line.startswith("flags")), "").split()) if os.path.exists("/proc/cpuinfo") else set()
    yield "native"
    if {"avx2", "fma"} <= flags:
        yield "x86-64-v3"
    yield "generic"


def run(ingot, case, engine, folder, cpu=None, cc=None, more=()):
    import json
    io = json.load(open(os.path.join(case, "io.json")))
    command = [ingot, "run", os.path.join(case, "model.onnx"), "--target", engine, *more]
    if cpu:
        command += ["--cpu", cpu]
    outputs = {}
    for one in io["inputs"]:
        command += ["--input", "%s=%s" % (one["name"], os.path.join(case, one["file"]))]
    for i, one in enumerate(io["outputs"]):
        outputs[one["name"]] = os.path.join(folder, "%s-%d.npy" % (engine, i))
        command += ["--output", "%s=%s" % (one["name"], outputs[one["name"]])]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, **({"CC": cc} if cc else {})))
    if done.returncode:
        return done.returncode, done.stderr.strip()
    return 0, [np.load(path) for path in outputs.values()]


def same(a, b):
    """Equal bits; NaN equals NaN, 0 and -0 differ."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    bits = a.view(np.uint32) == b.view(np.uint32)
    return bool((bits | (np.isnan(a) & np.isnan(b))).all())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ingot")
    parser.add_argument("--long", action="store_true", default=bool(os.environ.get("INGOT_LONG")))
    options = parser.parse_args()
    cases = [os.path.join(CASES, "models", name) for name in NETWORKS if os.path.isdir(os.path.join(CASES, "models", name))]
    if not cases:
        print("skipped: no cases at %s ($INGOT_CASES names another place)" % os.path.relpath(CASES, ROOT))
        return 77
    engines = subprocess.run([options.ingot, "targets", "--engines"], capture_output=True, text=True).stdout.split()
    wrong = 0
    for case in cases:
        name = os.path.basename(case)
        with tempfile.TemporaryDirectory(prefix="models.") as folder:
            checked = subprocess.run([options.ingot, "check", os.path.join(case, "model.onnx"), case, "--target", "interpreter"], capture_output=True, text=True)
            if checked.returncode:
                wrong += 1
                print("%s interpreter: %s%s" % (name, checked.stdout, checked.stderr))
                continue
            for size in ([], ["--optimise", "size"]) if options.long else ([],):
                status, want = run(options.ingot, case, "interpreter", folder, more=size)
                rows = [("c", cpu, cc) for cpu in cpus() for cc in (("gcc", "clang") if options.long or cpu == "native" else ("gcc",))]
                rows += [(engine, cpu, None) for engine in engines if engine not in ("c", "interpreter") for cpu in (cpus() if engine == "jit" else ["native"])]
                for engine, cpu, cc in rows:
                    status, got = run(options.ingot, case, engine, folder, cpu, cc, size)
                    right = status == 0 and len(got) == len(want) and all(same(a, b) for a, b in zip(want, got))
                    if not right:
                        wrong += 1
                        print("%s %s %s %s: %s" % (name, engine, cpu, cc or "", got if status else "bits differ from the interpreter's"))
        print("%s: done" % name, flush=True)
    print("%d wrong" % wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
