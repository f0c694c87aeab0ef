#!/usr/bin/env python3
"""models.py: whole networks.  Each must fit its reference by the interpreter, and give its bits on every other engine, and compiled for each
CPU by each compiler (of these two by turns, but of the transformer; with --long all).

    models.py INGOT [--long] [NAME...]      exit 0: right, 1: wrong, 77: no cases are there
Cases: $INGOT_CASES, else ../shared/cases beside the project; the transformer of examples/ and resnet50 with its seeded weights are made into
the bench's cache.  What is missing for one of them is said, and that one left out.  resnet50 goes by gcc and the JIT alone, against
each other.  INGOT_LONG=1 is --long."""
import argparse
import json
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
sys.path.insert(0, os.path.join(ROOT, "tests"))
from here import cpus
from same import same

CASES = os.environ.get("INGOT_CASES", os.path.join(ROOT, "..", "shared", "cases"))
NETWORKS = ["mnist_onnx2c", "mlperf_ad_f32", "mlperf_kws_f32", "mlperf_ic_f32", "mjp_go1", "dtln_1"]
MADE = ["transformer", "resnet50"]


def case_of(name):
    """(model, folder of its data), or a word about what is missing."""
    folder = os.path.join(CASES, "models", name)
    if name in NETWORKS:
        return (os.path.join(folder, "model.onnx"), folder) if os.path.isdir(folder) else "no case at %s" % os.path.relpath(folder, ROOT)
    sys.path.insert(0, os.path.join(ROOT, "bench"))
    try:
        from harness import environment, networks
        if not os.path.isdir(CASES) and name != "transformer":
            return "no cases ($INGOT_CASES names their folder)"
        case = networks.transformer() if name == "transformer" else networks.light(environment.cases("light", name))
    except ImportError as missing:
        return str(missing)
    except SystemExit:
        return "it cannot be made"                    # the reason stands on standard error
    return case.model, case.folder


def run(ingot, case, engine, folder, cpu=None, cc=None, more=()):
    model, data = case
    io = json.load(open(os.path.join(data, "io.json")))
    command = [ingot, "run", model, "--target", engine, *more]
    if cpu:
        command += ["--cpu", cpu]
    outputs = {}
    for one in io["inputs"]:
        command += ["--input", "%s=%s" % (one["name"], os.path.join(data, one["file"]))]
    for i, one in enumerate(io["outputs"]):
        outputs[one["name"]] = os.path.join(folder, "%s-%d.npy" % (engine, i))
        command += ["--output", "%s=%s" % (one["name"], outputs[one["name"]])]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, **({"CC": cc} if cc else {})))
    if done.returncode:
        return done.returncode, done.stderr.strip()
    return 0, [np.load(path) for path in outputs.values()]


def rows_of(name, engines, long):
    """(engine, CPU, compiler) of each run whose bits are compared; the first gives them."""
    if name == "resnet50":
        return [("c", "native", "gcc"), ("jit", "native", None)]
    rows = [("interpreter", None, None)]
    compiled = [("c", cpu, cc) for cpu in cpus() for cc in ("gcc", "clang")]
    # A network meets gcc for this machine, and one more of these by turns; the transformer, which has every kind of kernel, all of them.
    turn = (NETWORKS + MADE).index(name)
    others = compiled[1:]
    rows += compiled if long or name == "transformer" else compiled[:1] + [others[turn % len(others)]]
    rows += [(engine, cpu, None) for engine in engines if engine not in ("c", "interpreter", "cuda") for cpu in (cpus() if engine == "jit" else ["native"])]
    return rows


def wrongs_of(options, name, case, rows):
    """A line for each engine that is not right."""
    checked = subprocess.run([options.ingot, "check", *case, "--target", rows[0][0]], capture_output=True, text=True)
    if checked.returncode:
        yield "%s %s: %s%s" % (name, rows[0][0], checked.stdout, checked.stderr)
        return
    with tempfile.TemporaryDirectory(prefix="models.") as folder:
        for size in ([], ["--optimise", "size"]) if options.long else ([],):
            want = None
            for engine, cpu, cc in rows:
                status, got = run(options.ingot, case, engine, folder, cpu, cc, size)
                want = got if want is None and status == 0 else want
                right = status == 0 and len(got) == len(want) and all(same(a, b) for a, b in zip(want, got))
                if not right:
                    yield "%s %s %s %s %s: %s" % (name, engine, cpu, cc or "", " ".join(size), got if status else "bits differ from those of " + rows[0][0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ingot")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--long", action="store_true", default=bool(os.environ.get("INGOT_LONG")))
    options = parser.parse_intermixed_args()
    options.ingot = os.path.abspath(options.ingot)
    engines = subprocess.run([options.ingot, "targets", "--engines"], capture_output=True, text=True).stdout.split()
    wrong = done = 0
    for name in options.names or NETWORKS + MADE:
        case = case_of(name)
        if isinstance(case, str):
            print("%s: skipped: %s" % (name, case), flush=True)
            continue
        rows = rows_of(name, engines, options.long)
        for line in wrongs_of(options, name, case, rows):
            wrong += 1
            print(line)
        done += 1
        print("%s: %d runs" % (name, len(rows)), flush=True)
    print("%d wrong" % wrong)
    return 1 if wrong else 0 if done else 77


if __name__ == "__main__":
    sys.exit(main())
