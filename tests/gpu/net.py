#!/usr/bin/env python3
"""net.py: a network of a pack by PyTorch on its GPU, compiled by torch.compile, in float32 without TF32.

    net.py GRAPH WEIGHTS in_0 … want_0 …
    net.py product M K N                "us MEDIAN" of a product of two matrices, of fifty in a graph

GRAPH is what `graph_of` writes of an ONNX model, WEIGHTS the bytes of its constants, in_0 … the inputs, want_0 … what ingot's kernels make of them.  Prints
"compile S" (seconds to the first result), "us MEDIAN" (of a call, all inputs on the GPU, by its events) and "differs SHARE" (the largest difference of an output, of its
largest element).  `graph_of` needs ONNX and NumPy; the rest needs PyTorch alone.  Exit: 0; 5 there is no PyTorch, or it has no GPU."""
import json
import math
import statistics
import sys
import time

ROUNDS = 31


# ---- where ONNX is ----
def graph_of(model):
    """(graph, bytes): nodes with their attributes, and the constants; of those that a PyTorch operator is told as numbers, these.  RuntimeError: an operator is not there."""
    import numpy
    import onnx
    from onnx import helper, numpy_helper
    graph, blob, kept, numbers = model.graph, bytearray(), [], {}

    def keep(name, value):
        if value.dtype == numpy.int64:
            numbers[name] = value.reshape(-1).tolist()
            return
        pairs, signs = None, value.dtype == numpy.float32 and value.size > 4096 and len(numpy.unique(numpy.abs(value))) == 1
        if signs:
            pairs = float(numpy.abs(value).reshape(-1)[0])
        data = numpy.packbits(value.reshape(-1) < 0).tobytes() if signs else numpy.ascontiguousarray(value).tobytes()
        kept.append({"name": name, "dims": list(value.shape), "type": str(value.dtype), "signs_of": pairs, "at": len(blob), "bytes": len(data)})
        blob.extend(data)
    for one in graph.initializer:
        keep(one.name, numpy_helper.to_array(one))
    nodes = []
    for node in graph.node:
        said = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Constant":
            keep(node.output[0], numpy_helper.to_array(said["value"]))
            continue
        if node.op_type not in OPERATORS:
            raise RuntimeError("no %s here" % node.op_type)
        words = {name: value.decode() if isinstance(value, bytes) else value for name, value in said.items() if not isinstance(value, (list, tuple)) or not value or not isinstance(value[0], bytes)}
        if node.op_type == "Split":
            words["parts"] = len(node.output)
        nodes.append({"op": node.op_type, "in": [numbers.get(name, name or None) for name in node.input], "out": list(node.output), "said": words})
    constants = {one["name"] for one in kept} | set(numbers)
    inputs = [{"name": one.name, "dims": [d.dim_value for d in one.type.tensor_type.shape.dim]} for one in graph.input if one.name not in constants]
    return {"opset": next(one.version for one in model.opset_import if not one.domain), "inputs": inputs, "outputs": [one.name for one in graph.output], "nodes": nodes, "constants": kept}, bytes(blob)


# ---- where PyTorch is ----
def pads_of(x, said, kernel):
    """Per axis (before, after)."""
    rank = len(kernel)
    strides, dilations, auto = said.get("strides", [1] * rank), said.get("dilations", [1] * rank), said.get("auto_pad", "NOTSET")
    if auto in ("NOTSET", "VALID"):
        pads = said.get("pads", [0] * 2 * rank)
        return list(zip(pads[:rank], pads[rank:]))
    found = []
    for n, k, s, d in zip(x.shape[2:], kernel, strides, dilations):
        all_of = max((math.ceil(n / s) - 1) * s + (k - 1) * d + 1 - n, 0)
        found.append((all_of // 2, all_of - all_of // 2) if auto == "SAME_UPPER" else (all_of - all_of // 2, all_of // 2))
    return found


def padded(x, pads, value):
    import torch.nn.functional as F
    return F.pad(x, [n for pair in reversed(pads) for n in pair], value=value) if any(map(any, pads)) else x


def conv(x, w, bias=None, **said):
    import torch.nn.functional as F
    rank, kernel = len(x.shape) - 2, list(w.shape[2:])
    x = padded(x, pads_of(x, said, kernel), 0.0)
    return (F.conv1d, F.conv2d)[rank - 1](x, w, bias, said.get("strides", 1), 0, said.get("dilations", 1), said.get("group", 1))


def max_pool(x, **said):
    import torch.nn.functional as F
    kernel = said["kernel_shape"]
    return F.max_pool2d(padded(x, pads_of(x, said, kernel), -math.inf), kernel, said.get("strides", [1] * len(kernel)), ceil_mode=bool(said.get("ceil_mode")))


def average_pool(x, **said):
    import torch.nn.functional as F
    kernel, pads = said["kernel_shape"], pads_of(x, said, said["kernel_shape"])
    if any(map(any, pads)) and not said.get("count_include_pad"):
        raise RuntimeError("a padded mean")
    return F.avg_pool2d(padded(x, pads, 0.0), kernel, said.get("strides", [1] * len(kernel)), ceil_mode=bool(said.get("ceil_mode")))


def gemm(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    y = (a.t() if transA else a) @ (b.t() if transB else b)
    y = y if alpha == 1 else alpha * y
    return y if c is None else y + (c if beta == 1 else beta * c)


def softmax(x, opset, axis=None):
    import torch
    if opset >= 13:
        return torch.softmax(x, -1 if axis is None else axis)
    axis = 1 if axis is None else axis % len(x.shape)
    return torch.softmax(x.reshape(math.prod(x.shape[:axis]), -1), 1).reshape(x.shape)


def sliced(x, starts, ends, axes=None, steps=None):
    for i, (a, b) in enumerate(zip(starts, ends)):
        n = x.shape[axes[i] if axes else i]
        if steps and steps[i] != 1:
            raise RuntimeError("a step of a slice")
        a, b = (min(max(v + n if v < 0 else v, 0), n) for v in (a, b))
        x = x.narrow(axes[i] if axes else i, a, max(b - a, 0))
    return x


def squeezed(x, axes):
    for axis in sorted((axis % len(x.shape) for axis in axes), reverse=True):
        x = x.squeeze(axis)
    return x


def unsqueezed(x, axes):
    rank = len(x.shape) + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


def split(x, sizes=None, *, parts, axis=0, split=None):
    return x.split(sizes or split or [x.shape[axis] // parts] * parts, axis)


def lstm(x, w, r, b=None, lengths=None, h=None, c=None, peepholes=None, *, hidden_size, **said):
    import torch
    if lengths is not None or peepholes is not None or said.get("direction", "forward") != "forward" or said.get("layout"):
        raise RuntimeError("such an LSTM")
    n = hidden_size
    h = x.new_zeros((x.shape[1], n)) if h is None else h[0]
    c = x.new_zeros((x.shape[1], n)) if c is None else c[0]
    bias, rows = 0 if b is None else b[0, :4 * n] + b[0, 4 * n:], []
    for t in range(x.shape[0]):
        i, o, f, g = (x[t] @ w[0].t() + h @ r[0].t() + bias).split([n] * 4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        rows.append(h)
    return torch.stack(rows).unsqueeze(1), h.unsqueeze(0), c.unsqueeze(0)


def dequantized(x, scale, zero=None, axis=1):
    dims = [-1 if len(scale.shape) and i == axis % len(x.shape) else 1 for i in range(len(x.shape))]
    x = x.float() if zero is None else x.float() - zero.float().reshape(dims)
    return x * scale.reshape(dims)


def torch_of(name):
    def call(*arrays):
        import torch
        return getattr(torch, name)(*arrays)
    return call


def layer_norm(x, scale, bias=None, axis=-1, epsilon=1e-5, **said):
    import torch.nn.functional as F
    return F.layer_norm(x, x.shape[axis % len(x.shape):], scale, bias, epsilon)


def batch_norm(x, scale, bias, mean, variance, epsilon=1e-5, **said):
    import torch.nn.functional as F
    return F.batch_norm(x, mean, variance, scale, bias, False, 0.0, epsilon)


def reshaped(x, dims):
    return x.reshape([x.shape[i] if n == 0 else n for i, n in enumerate(dims)])


def concatenated(*arrays, axis):
    import torch
    return torch.cat(arrays, axis)


OPERATORS = {"Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Div": lambda a, b: a / b, "Sum": lambda *all_of: sum(all_of[1:], all_of[0]),
             "MatMul": lambda a, b: a @ b, "Relu": torch_of("relu"), "Sigmoid": torch_of("sigmoid"), "Tanh": torch_of("tanh"), "Erf": torch_of("erf"), "Gemm": gemm, "Conv": conv,
             "MaxPool": max_pool, "AveragePool": average_pool, "BatchNormalization": batch_norm, "LayerNormalization": layer_norm, "Softmax": softmax, "Reshape": reshaped,
             "Flatten": lambda x, axis=1: x.reshape(math.prod(x.shape[:axis]), -1), "Transpose": lambda x, perm: x.permute(perm), "Squeeze": squeezed, "Unsqueeze": unsqueezed,
             "Concat": concatenated, "Slice": sliced, "Split": split, "LSTM": lstm, "DequantizeLinear": dequantized, "Identity": lambda x: x}


def run_graph(told, constants, inputs):
    values = dict(constants)
    values.update(zip((one["name"] for one in told["inputs"]), inputs))
    for node in told["nodes"]:
        arrays = [values[one] if isinstance(one, str) else one for one in node["in"]]
        said = dict(node["said"], opset=told["opset"]) if node["op"] == "Softmax" else node["said"]
        made = OPERATORS[node["op"]](*arrays, **said)
        for name, value in zip(node["out"], made if isinstance(made, tuple) else [made]):
            values[name] = value
    return [values[name] for name in told["outputs"]]


def constant(torch, one, blob):
    data = torch.frombuffer(bytearray(blob[one["at"]:one["at"] + one["bytes"]]), dtype=getattr(torch, "uint8" if one["signs_of"] else one["type"]))
    if one["signs_of"]:
        bits = (data.reshape(-1, 1) >> torch.arange(7, -1, -1)) & 1
        data = one["signs_of"] * (1.0 - 2.0 * bits.reshape(-1)[:math.prod(one["dims"])].to(torch.float32))
    return data.reshape(one["dims"]).to("cuda")


def product(torch, m, k, n):
    a, b = torch.randn(m, k, device="cuda"), torch.randn(k, n, device="cuda")
    out, graph, stream, found = torch.empty(m, n, device="cuda"), torch.cuda.CUDAGraph(), torch.cuda.Stream(), []
    with torch.cuda.stream(stream):
        torch.mm(a, b, out=out)
        stream.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(50):
                torch.mm(a, b, out=out)
        for _ in range(ROUNDS):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record(stream)
            graph.replay()
            end.record(stream)
            end.synchronize()
            found.append(begin.elapsed_time(end) * 1000 / 50)
    print("us %.2f" % statistics.median(found))
    return 0


def main():
    try:
        import torch
    except ImportError:
        print("no PyTorch here")
        return 5
    if not torch.cuda.is_available():
        print("this PyTorch has no GPU")
        return 5
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    if sys.argv[1] == "product":
        return product(torch, *map(int, sys.argv[2:]))
    with open(sys.argv[1]) as f:
        told = json.load(f)
    with open(sys.argv[2], "rb") as f:
        blob = f.read()
    read = lambda path: torch.frombuffer(bytearray(open(path, "rb").read()), dtype=torch.float32)
    inputs = [read(path).reshape(one["dims"]).to("cuda") for path, one in zip(sys.argv[3:], told["inputs"])]
    wanted = [read(path) for path in sys.argv[3 + len(inputs):]]

    class Net(torch.nn.Module):                                # whose constants stay where they are: a graph of the GPU's reads them there
        def __init__(self):
            super().__init__()
            for i, one in enumerate(told["constants"]):
                self.register_buffer("constant_%d" % i, constant(torch, one, blob))

        def forward(self, *given):
            return run_graph(told, {one["name"]: getattr(self, "constant_%d" % i) for i, one in enumerate(told["constants"])}, given)
    compiled = torch.compile(Net(), mode="reduce-overhead")
    with torch.no_grad():
        begun = time.monotonic()
        got = [value.to("cpu").reshape(-1) for value in compiled(*inputs)]
        print("compile %.1f" % (time.monotonic() - begun), flush=True)
        differs = max(float((value - want).abs().max()) / max(float(want.abs().max()), 1e-30) for value, want in zip(got, wanted))
        found = []
        for _ in range(ROUNDS + 3):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            compiled(*inputs)
            end.record()
            end.synchronize()
            found.append(begin.elapsed_time(end) * 1000)
    print("us %.2f\ndiffers %.3g" % (statistics.median(found[3:]), differs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
