#!/usr/bin/env python3
"""The random graphs of sweep.py by the interpreter, beside onnxruntime: the same numbers, but for rounding.

    oracle.py INGOT SEED COUNT          ends with 77 where onnx or onnxruntime is not there"""
import os, random, sys, tempfile

try:
    import numpy, onnx, onnx.parser, onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import sweep


def by_onnxruntime(g, outputs, arrays):
    """The graph in ONNX's own reader, its constants given as inputs, but for lists, which are attributes to some ops."""
    shape = lambda dims: f"float[{','.join(map(str, dims))}]"
    inputs = ", ".join([f"{shape(d)} {n}" for n, d in {**g.inputs, **g.constants}.items()] + [f"int64[{len(v)}] {n}" for n, v in g.lists.items()])
    said = ", ".join(f"{shape(d)} y{i}" for i, (_, d) in enumerate(outputs))
    ends = "".join(f"\ny{i} = Identity ({name})" for i, (name, _) in enumerate(outputs))
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\ng ({inputs}) => ({said}) {{\n' + "\n".join(g.nodes) + ends + "\n}")
    for node in model.graph.node:
        node.input[:] = ["" if name == '""' else name for name in node.input]
    for value in list(model.graph.input):
        if value.name in g.lists:
            model.graph.initializer.append(onnx.numpy_helper.from_array(numpy.array(g.lists[value.name], dtype="i8"), value.name))
            model.graph.input.remove(value)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, arrays)


def check(program, seed, folder):
    draw = random.Random(seed)
    g = sweep.Graph(draw)
    outputs = sweep.draw_graph(g)
    model, paths = os.path.join(folder, "g.onnxtxt"), [os.path.join(folder, f"y{i}.npy") for i in range(len(outputs))]
    with open(model, "w") as file:
        file.write(g.text(outputs))
    arrays, given = sweep.numbers_of(g, seed, folder)
    for i, (a, b) in enumerate(zip(sweep.run(program, model, given, paths, ["interpreter"]), by_onnxruntime(g, outputs, arrays))):
        assert a.shape == b.shape, f"y{i} has the shape {a.shape}, {b.shape} is right\n{g.text(outputs)}"
        largest = max(1.0, float(numpy.abs(b).max(initial=0)))
        assert numpy.allclose(a, b, rtol=2e-3, atol=2e-4 * largest, equal_nan=True), f"y{i} is off by {numpy.abs(a - b).max()}\n{g.text(outputs)}"


def main():
    program, seed, count, bad = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), 0
    onnxruntime.set_default_logger_severity(4)
    for i in range(seed, seed + count):
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(program, i, folder)
            except AssertionError as wrong:
                print(f"seed {i}: {wrong}")
                bad += 1
    print(f"{count - bad} of {count} graphs from seed {seed} on agree with onnxruntime")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
