#!/usr/bin/env python3
"""twins.py: networks that are drawn, written as a TensorFlow Lite file and, by a converter of its own, as ONNX: equal bits, equal kernels.

    twins.py INGOT [FIRST [COUNT]]        exit 0: right, 1: wrong, 77: what it needs is missing"""
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print("skipped: %s (INGOT_PYTHON names a Python that has it)" % missing)
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import layers
from file import F32, I8, I32, SAME, ints
from layers import spatial
from same import same

layers.learn(os.path.join(HERE, "..", "..", "generator", "tables", "tflite.h"))
ACTIVATIONS = {0: None, 1: "Relu", 3: "Clip"}


class Twins(layers.Layer):
    """One network, written both ways as it is drawn.  `at` is a tensor of the file; `real` its floats in ONNX, channels first where it has 4 dimensions."""

    def __init__(self, rng, kind, per_axis):
        super().__init__(rng, kind)
        self.per_axis, self.nodes, self.given, self.count = per_axis, [], [], 0

    def fresh(self, like):
        self.count += 1
        return "%s_%d" % (like, self.count)

    def given_as(self, array):
        name = self.fresh("c")
        self.given.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind, inputs, **attributes):
        name = self.fresh(kind.lower())
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def dequantised(self, name, scale, zero, axis=None):
        more = {} if axis is None else {"axis": axis}
        return self.node("DequantizeLinear", [name, self.given_as(np.array(scale, np.float32))] + ([] if zero is None else [self.given_as(zero)]), **more)

    def start(self, shape):
        self.x = self.input(shape)
        self.shape, self.at = shape, self.x
        stored = self.node("Transpose", ["x0"], perm=[0, 3, 1, 2])
        self.real = stored if self.kind == "float32" else self.dequantised(stored, self.like[0], np.array(self.like[1], self.kind))

    def step(self, shape, real, like=None):
        """A tensor of the file that stands for these floats."""
        if self.kind != "float32":
            like = like or (float(np.float32(self.rng.uniform(0.05, 0.12))), int(self.rng.integers(-9, 9)) + (128 if self.kind == "uint8" else 0))
            zero = np.array(like[1], self.kind)
            self.stored = self.node("QuantizeLinear", [real, self.given_as(np.array(like[0], np.float32)), self.given_as(zero)])
            real = self.dequantised(self.stored, like[0], zero)
            self.like = like
        else:
            self.stored = real
        self.tensors.append({0: ints(shape), 1: I8({"float32": 0, "uint8": 3, "int8": 9}[self.kind]), 3: self.fresh("t"),
                             4: None if self.kind == "float32" else {2: np.array([like[0]], np.float32), 3: np.array([like[1]])}})
        self.at, self.real, self.shape = len(self.tensors) - 1, real, shape
        return self.at

    def learnt(self, shape, axis, order):
        """Weights and bias: of the file, and as ONNX has them."""
        w, b = self.weights(shape, axis, self.per_axis)
        raw = lambda t: np.frombuffer(self.buffers[int.from_bytes(self.tensors[t][2].bytes, "little")][0].tobytes(), {0: np.float32, 2: np.int32, 3: np.uint8, 9: np.int8}[self.tensors[t][1].bytes[0]])
        wide, bias = raw(w).reshape(shape).transpose(order), raw(b)
        if self.kind == "float32":
            return (w, b), [self.given_as(wide), self.given_as(bias)]
        scale, zero, of_bias = self.tensors[w][4][2], self.tensors[w][4][3], self.tensors[b][4][2]
        one = scale.size == 1
        return (w, b), [self.dequantised(self.given_as(wide), scale[0] if one else scale, (zero[0] if one else zero).astype(wide.dtype), None if one else order.index(axis)),
                        self.dequantised(self.given_as(bias), of_bias[0] if one else of_bias, None, None if one else 0)]

    def activated(self, real, act):
        if act == 3:
            return self.node("Clip", [real, self.given_as(np.float32(0)), self.given_as(np.float32(6))])
        return self.node("Relu", [real]) if act else real

    def pads(self, window, stride, dilation, padding):
        if padding != SAME:
            return [0] * 4
        need = [max((spatial(n, SAME, k, stride) - 1) * stride + (k - 1) * dilation + 1 - n, 0) for n, k in zip(self.shape[1:3], window)]
        return [n // 2 for n in need] + [n - n // 2 for n in need]

    def conv(self, depthwise):
        rng = self.rng
        k, s, padding, act = (int(rng.integers(1, 4)), int(rng.integers(1, 4))), int(rng.integers(1, 3)), int(rng.integers(2)), int(rng.choice([0, 1, 3]))
        d = 2 if s == 1 and rng.integers(3) == 0 else 1
        if any((n - 1) * d >= m for n, m in zip(k, self.shape[1:3])):
            padding = SAME
        channels, many = self.shape[3], int(rng.integers(1, 3)) if depthwise else 1
        outs = channels * many if depthwise else int(rng.integers(2, 9))
        order = [3, 0, 1, 2] if depthwise else [0, 3, 1, 2]
        file_side, onnx_side = self.learnt((1, *k, outs) if depthwise else (outs, *k, channels), 3 if depthwise else 0, order)
        real = self.node("Conv", [self.real] + onnx_side, strides=[s, s], dilations=[d, d], kernel_shape=list(k), group=channels if depthwise else 1, pads=self.pads(k, s, d, padding))
        before, shape = self.at, (1, spatial(self.shape[1], padding, k[0], s, d), spatial(self.shape[2], padding, k[1], s, d), outs)
        options = {0: I8(padding), 1: I32(s), 2: I32(s)}
        options.update({3: I32(many), 4: I8(act), 5: I32(d), 6: I32(d)} if depthwise else {3: I8(act), 4: I32(d), 5: I32(d)})
        self.op("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", [before, *file_side], [self.step(shape, self.activated(real, act))], options)

    def pool(self, name):
        k, s, padding = int(self.rng.integers(1, 4)), int(self.rng.integers(1, 3)), int(self.rng.integers(2))
        if k > min(self.shape[1:3]):
            padding = SAME
        before, window = self.at, {"kernel_shape": [k, k], "strides": [s, s], "pads": self.pads((k, k), s, 1, padding)}
        shape = (1, spatial(self.shape[1], padding, k, s), spatial(self.shape[2], padding, k, s), self.shape[3])
        if name == "MAX_POOL_2D" and self.kind != "float32":         # bytes are compared as they are stored
            like, stored = self.like, self.node("MaxPool", [self.stored], **window)
            after = self.step(shape, self.real, like)
            self.stored, self.real = stored, self.dequantised(stored, like[0], np.array(like[1], self.kind))
        else:
            real = self.node("MaxPool" if name == "MAX_POOL_2D" else "AveragePool", [self.real], **window)
            after = self.step(shape, real, getattr(self, "like", None))
        self.op(name, [before], [after], {0: I8(padding), 1: I32(s), 2: I32(s), 3: I32(k), 4: I32(k)})

    def binary(self, name, word):
        """With what was there two steps before, where that has the same shape; else with itself."""
        before, real, act = self.at, self.real, int(self.rng.choice([0, 1, 3]))
        at, other = next(((a, r) for a, r, shape in reversed(self.seen[:-1]) if shape == self.shape), (before, real))
        y = self.activated(self.node(word, [real, other]), act)
        self.op(name, [before, at], [self.step(self.shape, y)], {0: I8(act)})

    def unary(self, name, word, like=None, **attributes):
        before, y = self.at, self.node(word, [self.real], **attributes)
        options = {0: F32(attributes["alpha"])} if "alpha" in attributes else {0: F32(1)} if name == "SOFTMAX" else None
        self.op(name, [before], [self.step(self.shape, y, like if self.kind != "float32" else None)], options, 1)

    def end(self, dense):
        if not dense:
            name = self.node("Transpose", [self.stored], perm=[0, 2, 3, 1])
            return self.finish(name)
        flat = int(np.prod(self.shape))
        rows = self.node("Transpose", [self.stored], perm=[0, 2, 3, 1])
        rows = self.node("Reshape", [rows, self.given_as(np.array([1, flat], np.int64))])
        like, before = getattr(self, "like", None), self.at
        self.tensors.append({**self.tensors[before], 0: ints((1, flat)), 3: self.fresh("t")})
        self.at = len(self.tensors) - 1
        self.op("RESHAPE", [before, self.constant(ints([1, flat]))], [self.at], {0: ints([1, flat])}, 1)
        self.real = rows if self.kind == "float32" else self.dequantised(rows, like[0], np.array(like[1], self.kind))
        self.shape, before = (1, flat), self.at
        file_side, onnx_side = self.learnt((5, flat), 0, [0, 1])
        real = self.node("Gemm", [self.real] + onnx_side, transB=1)
        self.op("FULLY_CONNECTED", [before, *file_side], [self.step((1, 5), real)], {0: I8(0)})
        self.unary("SOFTMAX", "Softmax", (1 / 256, -128 if self.kind == "int8" else 0), axis=-1)
        self.finish(self.stored)

    def finish(self, name):
        self.outputs = [self.at]
        self.tensors[self.at][3] = "y0"
        self.nodes.append(helper.make_node("Identity", [name], ["y0"]))

    def draw(self):
        rng = self.rng
        self.start((1, int(rng.integers(5, 10)), int(rng.integers(5, 10)), int(rng.integers(1, 5))))
        self.stored = self.nodes[0].output[0]
        self.seen = [(self.at, self.real, self.shape)]
        for which in rng.integers(0, 10, int(rng.integers(3, 7))):
            if which < 3:
                self.conv(False)
            elif which < 5:
                self.conv(True)
            elif which == 5:
                self.pool("AVERAGE_POOL_2D")
            elif which == 6:
                self.pool("MAX_POOL_2D")
            elif which == 7:
                self.binary(*[("ADD", "Add"), ("MUL", "Mul"), ("SUB", "Sub")][int(rng.integers(3))])
            elif which == 8:
                self.unary("LEAKY_RELU", "LeakyRelu", alpha=0.125)
            else:
                self.unary(*[("LOGISTIC", "Sigmoid"), ("TANH", "Tanh"), ("RELU", "Relu"), ("HARD_SWISH", "HardSwish")][int(rng.integers(4))])
            self.seen.append((self.at, self.real, self.shape))
        self.end(bool(rng.integers(2)))
        kind = {"float32": TensorProto.FLOAT, "uint8": TensorProto.UINT8, "int8": TensorProto.INT8}[self.kind]
        shape = [int(n) for n in self.tensors[self.x][0]]
        graph = helper.make_graph(self.nodes, "twin", [helper.make_tensor_value_info("x0", kind, shape)], [helper.make_tensor_value_info("y0", kind, list(map(int, self.shape)))], self.given)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit("WRONG %s: exit %d: %s" % (" ".join(command[:3]), done.returncode, done.stderr.strip()))
    return done.stdout


def kernels(ingot, model, cpu):
    """What each kernel costs, its template and tile; names differ, also those of dims: of a tensor with channels last w is the third."""
    text = call(ingot, "show", model, "--stage", "kernels", "--cpu", cpu)
    plan = call(ingot, "show", model, "--stage", "plan", "--cpu", cpu)
    text = re.sub(r"(tile \d+) [a-z],", r"\1,", text)
    return [line.strip() for line in text.splitlines() if line.startswith(("    cost", "    template"))], plan[plan.index("workspace "):].split(",")[0]


def main():
    ingot, first, count = os.path.abspath(sys.argv[1]), int((sys.argv + [0, 0])[2]), int((sys.argv + [0, 0, 40])[3]) if len(sys.argv) > 3 else 40
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            kind = ("float32", "int8", "uint8", "int8")[seed % 4]
            twins = Twins(np.random.default_rng(seed), kind, seed % 4 == 1)
            onnx.save(twins.draw(), os.path.join(folder, "twin.onnx"))
            with open(os.path.join(folder, "twin.tflite"), "wb") as f:
                f.write(twins.bytes())
            x = os.path.join(folder, "x.npy")
            np.save(x, twins.data[0])
            answers = []
            for ending in ("tflite", "onnx"):
                y = os.path.join(folder, ending + ".npy")
                call(ingot, "run", os.path.join(folder, "twin." + ending), "--target", "interpreter", "--input", "x0=" + x, "--output", "y0=" + y)
                answers.append(np.load(y))
            cpu = ("cortex-m4", "x86-64-v4", "armv8-a")[seed % 3]
            made = [kernels(ingot, os.path.join(folder, "twin." + ending), cpu) for ending in ("tflite", "onnx")]
            if not same(*answers):
                print("WRONG seed %d, %s: other bits" % (seed, kind))
                bad += 1
            elif made[0] != made[1]:
                print("WRONG seed %d, %s, %s: other kernels\n%s\n%s" % (seed, kind, cpu, *made))
                bad += 1
    print("%d networks, two ways each: %s" % (count, "%d are wrong" % bad if bad else "equal bits, equal kernels"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
