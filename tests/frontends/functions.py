#!/usr/bin/env python3
"""Model functions: what ingot makes of the calls computes the same, by onnxruntime.

    functions.py READ_MODELS

Each model of make_models.FUNCTIONS is evaluated as it is, and as ingot prints it with its functions inlined; both through
the textual and the binary reader.  Ends with 77 where onnxruntime is not there."""
import os, subprocess, sys, tempfile

try:
    import numpy, onnx, onnx.parser, onnxruntime
    from make_models import FUNCTIONS, HEAD
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

# What onnxruntime does not know: the same model in words that it does.
PLAIN = {
    "first_outputs": HEAD + "g (float[4] x) => (float[4] y) { y = Neg (x) }",
    "overloads": HEAD + "g (float[4] x) => (float[4] y) { t = Neg (x)  y = Exp (t) }",
    "given_graph": HEAD + "g (bool p, float[4] x) => (float[4] y) { t = Neg (x)\n"
                   "y = If (p) <then_branch = h () => (float[4] q) { q = Exp (t) }, else_branch = e () => (float[4] q) { q = Neg (x) }> }",
}


def evaluate(model):
    shapes = {v.name: v.type.tensor_type.elem_type for v in model.graph.input}
    results = []
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for flag in (False, True):
        feeds = {n: numpy.array(flag) if t == onnx.TensorProto.BOOL else numpy.array([-2, -0.5, 1, 3], "f4") for n, t in shapes.items()}
        results += session.run(None, feeds)
    return results


def main(program):
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FUNCTIONS.items():
            model = onnx.parser.parse_model(text)
            wanted = evaluate(onnx.parser.parse_model(PLAIN[name]) if name in PLAIN else model)
            paths = [os.path.join(folder, "m.txt"), os.path.join(folder, "m.onnx")]
            with open(paths[0], "w") as file:
                file.write(text)
            onnx.save(model, paths[1])
            for path in paths:
                done = subprocess.run([program, "--text", path], capture_output=True)
                printed = done.stdout.decode()
                if done.returncode:
                    print(f"{name}: {done.stderr.decode()}")
                    bad += 1
                    continue
                got = evaluate(onnx.parser.parse_model(printed))
                if len(got) != len(wanted) or any(not numpy.array_equal(a, b) for a, b in zip(wanted, got)) or " f." in printed:
                    print(f"{name}: {wanted} against {got}\n{printed}")
                    bad += 1
    print(f"{len(FUNCTIONS)} models with functions, {bad} wrong")
    return 1 if bad else 0


sys.exit(main(sys.argv[1]))
