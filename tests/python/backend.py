#!/usr/bin/env python3
"""ONNX's own node cases through ingot.onnx_backend: none is wrong, at most one in fifty refused.  A sample of them; with --long all.

    backend.py

Ends with 77 where onnx is not there."""
import os, sys

try:
    import numpy
    import onnx
    from onnx.backend.test.case.node import collect_testcases
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import ingot
import ingot.onnx_backend as backend

EACH = 1 if os.environ.get("INGOT_LONG") else 16
OTHERS = ("sequence", "optional", "image_decoder", "string", "strnorm", "random", "bernoulli", "training_dropout", "gradient", "momentum", "adagrad", "adam")


def right(case):
    """None: not a matter of this protocol (lists, strings, what is drawn)."""
    prepared = backend.prepare(case.model)
    for inputs, outputs in case.data_sets:
        if any(not isinstance(array, numpy.ndarray) or array.dtype.kind in "OUSV" for array in [*inputs, *outputs]):
            return None
        made = prepared.run(list(inputs))
        for got, want in zip(made, outputs, strict=True):
            if got.dtype != want.dtype and got.dtype.itemsize == want.dtype.itemsize:
                got = got.view(want.dtype)
            if want.dtype.kind not in "biufc":                       # ml_dtypes
                got, want = got.astype("f4"), want.astype("f4")
            numpy.testing.assert_allclose(got, want, rtol=case.rtol, atol=max(case.atol, 1e-6))
    return True


def main():
    cases = [case for case in collect_testcases(None) if not any(word in case.name for word in OTHERS)][::EACH]
    wrong, refused, done = [], [], 0
    for case in cases:
        try:
            done += right(case) is True
        except ingot.Error as why:
            (refused if why.code == 4 else wrong).append(f"{case.name}: {why}")
        except AssertionError as why:
            wrong.append(f"{case.name}: {str(why).strip().splitlines()[0]}")
    add = onnx.helper.make_node("Add", ["a", "b"], ["c"])
    if backend.run_node(add, [numpy.float32([1, 2]), numpy.float32([3, 4])])[0].tolist() != [4, 6] or backend.supports_device("CUDA:0"):
        wrong.append("run_node, supports_device")
    print("\n".join(wrong + refused))
    print(f"{done} of {len(cases)} right, {len(refused)} refused, {len(wrong)} wrong")
    return 1 if wrong or len(refused) > len(cases) // 50 else 0


if __name__ == "__main__":
    sys.exit(main())
