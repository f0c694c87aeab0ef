#!/usr/bin/env python3
"""The passes that need no ops change no number: onnxruntime gives the same bits for a model and for what they made of it.

    passes.py READ_MODELS [--limit BYTES] [FOLDER...]

FOLDER: searched for model.onnx with in_I.npy beside it; without any, models and burn of $INGOT_CASES (or ../shared/cases beside
the project).  Only models below --limit bytes (default 1000000), as what the passes made comes as text.  Ends with 77 where
there are no cases or no onnxruntime."""
import os, subprocess, sys

try:
    import numpy, onnx, onnx.parser, onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from same import same


def run(model, folder):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = {}
    for i, given in enumerate(session.get_inputs()):
        feeds[given.name] = numpy.load(os.path.join(folder, f"in_{i}.npy"))
    return session.run(None, feeds), [o.name for o in session.get_outputs()]


def nodes(graph):
    return len(graph.node) + sum(nodes(g) for n in graph.node for a in n.attribute for g in [a.g] * a.HasField("g") + list(a.graphs))


def main():
    arguments, limit = sys.argv[1:], 1000000
    if "--limit" in arguments:
        i = arguments.index("--limit")
        limit = int(arguments[i + 1])
        del arguments[i:i + 2]
    program, folders = arguments[0], arguments[1:]
    cases = os.environ.get("INGOT_CASES", os.path.join(HERE, "../../../shared/cases"))
    if not folders:
        if not os.path.isdir(cases):
            print(f"skipped: no cases at {cases}; INGOT_CASES names the folder")
            return 77
        folders = [os.path.join(cases, "models"), os.path.join(cases, "burn")]
    models = sorted(os.path.join(at, "model.onnx") for folder in folders for at, _, files in os.walk(folder) if "model.onnx" in files)
    compared = bad = before = after = unrunnable = 0
    for path in models:
        folder = os.path.dirname(path)
        if os.path.getsize(path) > limit or not os.path.exists(os.path.join(folder, "io.json")):
            continue
        done = subprocess.run([program, "--passes", path], capture_output=True)
        if done.returncode == 4:
            continue
        if done.returncode:
            print(f"{path}: {done.stderr.decode()}")
            bad += 1
            continue
        made, original = onnx.parser.parse_model(done.stdout.decode()), onnx.load(path)
        constants = {t.name for t in original.graph.initializer}
        kept = [v for v in original.graph.input if v.name not in constants]
        del original.graph.input[:]
        original.graph.input.extend(kept)
        try:
            wanted, names = run(original.SerializeToString(), folder)
        except Exception:                                # the case says so too: may_reject
            unrunnable += 1
            continue
        got, found = run(made.SerializeToString(), folder)
        compared += 1
        before += nodes(original.graph)
        after += nodes(made.graph)
        if names != found or not all(same(numpy.asarray(a), numpy.asarray(b)) for a, b in zip(wanted, got)):
            print(f"{path}: other numbers")
            bad += 1
    print(f"{compared} models, {before} nodes, {after} after the passes; {unrunnable} not run by onnxruntime; {bad} wrong")
    return 1 if bad or not compared else 0


sys.exit(main())
