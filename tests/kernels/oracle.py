#!/usr/bin/env python3
"""The random graphs of sweep.py by the interpreter, beside onnxruntime: the same numbers, but for rounding.

    oracle.py INGOT SEED COUNT          ends with 77 where onnx or onnxruntime is not there"""
import sys

try:
    import numpy, onnx, onnx.parser, onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import sweep


def by_onnxruntime(case):
    """Through ONNX's own reader; its constants are given as inputs, but for lists, which some ops want as constants."""
    model, lists = onnx.parser.parse_model(case.graph.text(case.outputs, given=True)), case.graph.lists
    for node in model.graph.node:
        node.input[:] = ["" if name == '""' else name for name in node.input]
    for value in list(model.graph.input):
        if value.name in lists:
            model.graph.initializer.append(onnx.numpy_helper.from_array(numpy.array(lists[value.name], dtype="i8"), value.name))
            model.graph.input.remove(value)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1                    # more scatter to the same element in any order
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, case.arrays)


def check(program, case, together):
    for i, (a, b) in enumerate(zip(case.run(program, "interpreter"), by_onnxruntime(case))):
        assert a.shape == b.shape, f"y{i} has the shape {a.shape}, {b.shape} is right"
        largest = max(1.0, float(numpy.abs(b).max(initial=0)))
        assert numpy.allclose(a, b, rtol=2e-3, atol=2e-4 * largest, equal_nan=True), f"y{i} is off by {numpy.abs(a - b).max()}"


if __name__ == "__main__":
    onnxruntime.set_default_logger_severity(4)
    sys.exit(sweep.main(check, "agree with onnxruntime"))
