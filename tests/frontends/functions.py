#!/usr/bin/env python3
"""Model functions: what ingot makes of the calls computes the same, by onnxruntime.

    functions.py READ_MODELS

Each model below is evaluated as it is, and as ingot prints it with its functions inlined; both through the textual and the
binary reader.  Ends with 77 where it is not there."""
import os, subprocess, sys, tempfile

try:
    import numpy, onnx, onnx.parser, onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HEAD = '<ir_version: 10, opset_import: ["" : 18, "f" : 1]>\n'
FUNCTION = '<domain: "f", opset_import: ["" : 18, "f" : 1]>\n'
MODELS = {
    "one": HEAD + "g (float[4] x) => (float[4] y) { y = f.Twice (x) }\n"
           + FUNCTION + "Twice (a) => (b) { b = Add (a, a) }",
    "nested": HEAD + "g (float[4] x) => (float[4] y) { t = f.Outer (x)  y = f.Outer (t) }\n"
              + FUNCTION + "Outer (a) => (c) { t = f.Inner (a)  c = f.Inner (t) }\n"
              + FUNCTION + "Inner (a) => (b) { t = Neg (a)  b = Exp (t) }",
    "attributes": HEAD + "g (float[4] x) => (float[4] y, float[4] z, float[4] w) {\n"
                  "y = f.Leak <alpha = 0.5> (x)  z = f.Leak (x)  w = f.Both <slope = 0.25> (x) }\n"
                  + FUNCTION + "Both <slope> (a) => (b) { t = f.Leak <alpha: float = @slope> (a)  b = f.Leak (t) }\n"
                  + FUNCTION + "Leak <alpha: float = 0.125> (a) => (b) { b = LeakyRelu <alpha: float = @alpha> (a) }",
    "absent_attribute": HEAD + "g (float[4] x) => (float[4] y) { y = f.Elu2 (x) }\n"
                        + FUNCTION + "Elu2 <alpha> (a) => (b) { b = Elu <alpha: float = @alpha> (a) }",
    "subgraph_in_function": HEAD + "g (float[4] x) => (float[4] y) { y = f.Pick (x) }\n"
                            + FUNCTION + "Pick (a) => (b) { s = ReduceSum <keepdims = 0> (a)  zero = Constant <value_float = 0.0> ()\n"
                            "p = Less (s, zero)  half = Constant <value_float = 0.5> ()\n"
                            "b = If (p) <then_branch = t () => (float[4] q) { r = Neg (a)  q = f.Scale (r, half) }, "
                            "else_branch = e () => (float[4] q) { q = Mul (a, half) }> }\n"
                            + FUNCTION + "Scale (x, by) => (y) { y = Mul (x, by) }",
    "call_in_subgraph": HEAD + "g (bool p, float[4] x) => (float[4] y) { t = Neg (x)\n"
                        "y = If (p) <then_branch = t () => (float[4] q) { q = f.Twice (t) }, "
                        "else_branch = e () => (float[4] q) { b = Exp (t)  q = f.Twice (b) }> }\n"
                        + FUNCTION + "Twice (a) => (b) { t = Add (a, a)  b = Add (t, a) }",
    "outputs": HEAD + "g (float[4] x) => (float[4] y, float[4] z, float[4] w, float[4] v) { y, z, w, v = f.Many (x) }\n"
               + FUNCTION + "Many (a) => (b, c, b2, a2) { b = Neg (a)  c = Exp (b)  b2 = Identity (b)  a2 = Identity (a) }",
    "first_outputs": HEAD + "g (float[4] x) => (float[4] y) { y = f.Two (x) }\n"
                     + FUNCTION + "Two (a) => (b, c) { b = Neg (a)  c = Exp (b) }",
    "absent_input": HEAD + "g (float[4] x) => (float[4] y) { m = Constant <value_float = 0.5> ()  y = f.Bound (x, \"\", m) }\n"
                    + FUNCTION + "Bound (a, low, high) => (b) { b = Clip (a, low, high) }",
    "clashing_names": HEAD + "g (float[4] a) => (float[4] y) { b = f.F (a)  t = f.F (b)  y = Add (t, b) }\n"
                      + FUNCTION + "F (b) => (a) { t = Neg (b)  y = Exp (t)  a = Add (y, t) }",
    "given_graph": HEAD + "g (bool p, float[4] x) => (float[4] y) { t = Neg (x)\n"
                   "y = f.Choose <yes = h () => (float[4] q) { q = Exp (t) }> (p, x) }\n"
                   + FUNCTION + "Choose <yes> (p, a) => (b) {\n"
                   "b = If (p) <then_branch: graph = @yes, else_branch = e () => (float[4] q) { q = Neg (a) }> }",
    "overloads": HEAD + "g (float[4] x) => (float[4] y) { t = f.F:neg (x)  y = f.F:exp (t) }\n"
                 '<domain: "f", overload: "neg", opset_import: ["" : 18]>\nF (a) => (b) { b = Neg (a) }\n'
                 '<domain: "f", overload: "exp", opset_import: ["" : 18]>\nF (a) => (b) { b = Exp (a) }',
}


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
        for name, text in MODELS.items():
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
    print(f"{len(MODELS)} models with functions, {bad} wrong")
    return 1 if bad else 0


sys.exit(main(sys.argv[1]))
