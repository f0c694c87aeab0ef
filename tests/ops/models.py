#!/usr/bin/env python3
"""Whole networks and small graphs of the cases by the interpreter, against their references.

    models.py INTERPRET_MODEL [--long] [FOLDER...]

Without folders: the networks of which every op is known, in models/ and burn/ of $INGOT_CASES (or ../shared/cases
beside the project).  Each is run as it is, simplified, and in double.  Right: within the atol of io.json, and the
simplified graph not off from double by more than twice as much (plus one part in 10^6).  Ends with 77 where there are no cases."""
import json, os, sys, tempfile

try:
    import numpy, onnx
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import subprocess
from judge import INVALID, SKIPPED, UNSUPPORTED, cases_folder, differs, interpret

HERE = os.path.dirname(os.path.abspath(__file__))
# Of known ops, but with results whose size only data say: what is behind does not think of that, or an option says it (exit 2).
REFUSED = {"onnx-tests__loop_scan_outputs": 2, "onnx-tests__range_mixed": UNSUPPORTED}
# Ahead of its softmax a quotient is a half, or nearly: which side it is rounded to moves two outputs by some twenty (the cases' README).
TIES = {"mlperf_ic_i8": 20}
LARGE = {"super_resolution"}              # half a minute; --long runs it too


def ops_of(graph):
    for node in graph.node:
        yield (node.domain, node.op_type)
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from ops_of(inner)


def known_folders(program, cases):
    known = set(subprocess.run([program, "--ops"], capture_output=True, text=True, check=True).stdout.split())
    for kind in ("models", "burn"):
        for name in sorted(os.listdir(os.path.join(cases, kind))):
            folder = os.path.join(cases, kind, name)
            path = os.path.join(folder, "model.onnx")
            if not os.path.exists(path):
                continue
            if all(domain in ("", "ai.onnx") and op in known for domain, op in ops_of(onnx.load(path).graph)):
                yield folder


def check(program, folder, scratch):
    with open(os.path.join(folder, "io.json")) as file:
        io = json.load(file)
    inputs = [os.path.join(folder, i["file"]) for i in io["inputs"]]
    may_reject = "may_reject" in io
    results = {}
    for name, options in ("as it is", []), ("simplified", ["--simplify"]), ("in double", ["--double"]):
        prefix = os.path.join(scratch, name.replace(" ", "_") + "_")
        for old in os.listdir(scratch):
            os.unlink(os.path.join(scratch, old))
        code, message, got = interpret(program, os.path.join(folder, "model.onnx"), inputs, prefix, *options)
        if code:
            return 0 if may_reject and code in (INVALID, UNSUPPORTED) else code, message
        for i, (a, output) in enumerate(zip(got, io["outputs"])):
            why = differs(a, numpy.load(os.path.join(folder, output["file"])), TIES.get(os.path.basename(folder.rstrip("/")), output.get("atol", 0)), 0)
            if why:
                return 1, f"{name}, output {i}: {why}"
        results[name] = got
    for plain, simple, exact in zip(*results.values()):
        if exact.dtype.kind == "f" and exact.size:
            error = [numpy.nan_to_num(numpy.abs(a.astype("f8") - exact), posinf=0).max() for a in (plain, simple)]
            if error[1] > 2 * error[0] + 1e-6 * numpy.nan_to_num(numpy.abs(exact), posinf=0).max():
                return 1, f"simplified is off by {error[1]:g}, the plain graph by {error[0]:g}"
    return 0, ""


def main():
    program, folders, long = sys.argv[1], [a for a in sys.argv[2:] if a != "--long"], "--long" in sys.argv
    cases = cases_folder(HERE)
    if not folders and not cases:
        print("skipped: no cases (INGOT_CASES)")
        return SKIPPED
    bad = right = 0
    with tempfile.TemporaryDirectory() as scratch:
        for folder in folders or known_folders(program, cases):
            name = os.path.basename(folder.rstrip("/"))
            if name in LARGE and not (long or folders):
                continue
            code, message = check(program, folder, scratch)
            wanted = REFUSED.get(name, 0)
            right += code == 0
            if code != wanted:
                bad += 1
                print(f"{name}: exit {code}, {wanted} is right: {message}")
    print(f"{right} right, {bad} otherwise than they must be")
    return bool(bad) or not right


sys.exit(main())
