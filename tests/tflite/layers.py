"""layers.py: drawn networks of one or two operators, each of tables/tflite.h's that has a body, as TensorFlow Lite files."""
import numpy as np

from file import F32, I8, I32, SAME, VALID, Net, ints

OPTIONS = {}          # operator -> number of its table in BuiltinOptions, read from tables/tflite.h
CODES = {}


def learn(path):
    import re
    for line in open(path):
        m = re.match(r"P\((\d+), (\w+), (\d+), (\d+), (\w+)", line)
        if m:
            CODES[m[2]], OPTIONS[m[2]] = int(m[1]), int(m[3])


def quantised(rng, kind):
    """A scale and zero point of an activation."""
    scale = float(np.float32(rng.uniform(0.02, 0.06)))
    return scale, 0 if kind == "int16" else int(rng.integers(-20, 20)) + (128 if kind == "uint8" else 0)


class Layer(Net):
    def __init__(self, rng, kind="float32"):
        super().__init__()
        self.rng, self.kind, self.data = rng, kind, []
        self.exact = None                     # the output by NumPy, where LiteRT is no judge

    def input(self, shape, kind=None, low=-3, high=3, like=None):
        kind = kind or self.kind
        name, quantised_as = "x%d" % len(self.inputs), {}
        if kind == "float32":
            array = self.rng.uniform(low, high, shape).astype(np.float32)
        elif kind == "bool":
            array = self.rng.integers(0, 2, shape).astype(bool)
        elif kind in ("int32", "int64"):
            array = self.rng.integers(low, high + 1, shape).astype(kind)
        else:
            info = np.iinfo(kind)
            array = self.rng.integers(info.min, info.max + 1, shape).astype(kind)
            scale, zero = like or quantised(self.rng, kind)
            if kind == "int16":
                scale /= 256
            quantised_as = {"scale": scale, "zero": zero}
            self.like = (scale, zero)
        index = self.tensor(name, shape, kind, **quantised_as)
        self.inputs.append(index)
        self.data.append(array)
        return index

    def output(self, shape, kind=None, like=None):
        kind, quantised_as = kind or self.kind, {}
        if kind in ("int8", "uint8", "int16"):
            scale, zero = like or quantised(self.rng, kind)
            quantised_as = {"scale": scale if like or kind != "int16" else scale / 256, "zero": zero}
        index = self.tensor("y%d" % len(self.outputs), shape, kind, **quantised_as)
        self.outputs.append(index)
        return index

    def op(self, name, inputs, outputs, options=None, version=None):
        kind = OPTIONS[name]
        if version is None:
            version = {"int8": 2, "uint8": 1, "int16": 2}.get(self.kind, 1)
        self.operator(CODES[name], inputs, outputs, options if options is not None else {} if kind else None, kind, version)
        return self

    def weights(self, shape, axis, per_axis=True, out_axis_count=None):
        """Quantised weights (float where the layer is), and a bias of the products' scale."""
        outs = shape[axis]
        if self.kind == "float32":
            return self.constant(self.rng.uniform(-1, 1, shape).astype(np.float32)), self.constant(self.rng.uniform(-1, 1, outs).astype(np.float32))
        wide = self.kind == "uint8"
        scale = self.rng.uniform(0.002, 0.01, 1 if wide or not per_axis else outs).astype(np.float32)
        if wide:
            w = self.constant(self.rng.integers(0, 256, shape).astype(np.uint8), scale=scale, zero=121)
        else:
            w = self.constant(self.rng.integers(-127, 128, shape).astype(np.int8), scale=scale, axis=axis)
        bias = self.rng.integers(-900, 900, outs).astype(np.int64 if self.kind == "int16" else np.int32)
        return w, self.constant(bias, scale=scale * np.float32(self.like[0]))


def spatial(n, padding, k, s, d=1):
    return -(-n // s) if padding == SAME else -(-(n - (k - 1) * d) // s)


def conv(rng, kind, depthwise=False, per_axis=True):
    layer = Layer(rng, kind)
    h, w, c, k, s, padding, act = int(rng.integers(5, 10)), int(rng.integers(5, 10)), int(rng.integers(1, 6)), (int(rng.integers(1, 4)), int(rng.integers(1, 4))), int(rng.integers(1, 3)), int(rng.integers(2)), int(rng.choice([0, 1, 3]))
    d = 1 if s > 1 or rng.integers(2) else 2
    if padding == VALID and ((k[0] - 1) * d >= h or (k[1] - 1) * d >= w):
        padding = SAME
    x = layer.input((1, h, w, c))
    many = int(rng.integers(1, 3)) if depthwise else 1
    outs = c * many if depthwise else int(rng.integers(1, 8))
    weights, bias = layer.weights((1, *k, outs) if depthwise else (outs, *k, c), 3 if depthwise else 0, per_axis)
    y = layer.output((1, spatial(h, padding, k[0], s, d), spatial(w, padding, k[1], s, d), outs), like=(0.11, 3 if kind == "int8" else 130) if kind in ("int8", "uint8") else (0.0007, 0) if kind == "int16" else None)
    options = {0: I8(padding), 1: I32(s), 2: I32(s)}
    options.update({3: I32(many), 4: I8(act), 5: I32(d), 6: I32(d)} if depthwise else {3: I8(act), 4: I32(d), 5: I32(d)})
    return layer.op("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", [x, weights, bias], [y], options, {"float32": 1, "uint8": 1 if d == 1 else 2, "int8": 3, "int16": 4 if not depthwise else 5}[kind])


def deconv(rng, kind):
    layer = Layer(rng, kind)
    h, w, c, k, s, padding = int(rng.integers(3, 6)), int(rng.integers(3, 6)), int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(1, 3)), int(rng.integers(2))
    x, outs = layer.input((1, h, w, c)), int(rng.integers(1, 5))
    weights, _ = layer.weights((outs, k, k, c), 0)
    shape = (1, h * s, w * s, outs) if padding == SAME else (1, (h - 1) * s + k, (w - 1) * s + k, outs)
    y = layer.output(shape, like=(0.11, 3) if kind == "int8" else None)
    return layer.op("TRANSPOSE_CONV", [layer.constant(ints(shape)), weights, x], [y], {0: I8(padding), 1: I32(s), 2: I32(s)})


def product(rng, kind, per_axis=False):
    layer = Layer(rng, kind)
    rows, k, n = int(rng.integers(1, 4)), int(rng.integers(1, 40)), int(rng.integers(1, 12))
    keep = bool(rng.integers(2)) and kind == "float32"
    x = layer.input((2, rows, k) if keep else (rows, k))
    w, b = layer.weights((n, k), 0, per_axis)
    y = layer.output((2, rows, n) if keep else (rows, n), like=(0.09, -3 if kind == "int8" else 130) if kind in ("int8", "uint8") else (0.0009, 0) if kind == "int16" else None)
    return layer.op("FULLY_CONNECTED", [x, w, b], [y], {0: I8(int(rng.choice([0, 1, 3]))), 2: I8(keep)}, {"float32": 5 if keep else 1, "uint8": 1, "int8": 4, "int16": 7}[kind])


def hybrid(rng, name):
    """Float data by weights of int8."""
    layer = Layer(rng)
    c, outs = int(rng.integers(2, 6)), int(rng.integers(1, 6))
    if name == "FULLY_CONNECTED":
        x, shape, axis, out = layer.input((3, c)), (outs, c), 0, (3, outs)
        options, version = {0: I8(1), 3: I8(int(rng.integers(2)))}, 9
    elif name == "CONV_2D":
        x, shape, axis, out = layer.input((1, 6, 7, c)), (outs, 3, 3, c), 0, (1, 6, 7, outs)
        options, version = {0: I8(SAME), 1: I32(1), 2: I32(1)}, 5
    else:
        x, shape, axis, out = layer.input((1, 6, 7, c)), (1, 3, 3, c), 3, (1, 6, 7, c)
        options, version = {0: I8(SAME), 1: I32(1), 2: I32(1), 3: I32(1)}, 6
    many = shape[axis] if name != "FULLY_CONNECTED" else 1
    w = layer.constant(rng.integers(-127, 128, shape).astype(np.int8), scale=rng.uniform(0.002, 0.01, many), axis=axis)
    b = layer.constant(rng.uniform(-1, 1, shape[axis]).astype(np.float32))
    return layer.op(name, [x, w, b], [layer.output(out)], options, version)


def batches(rng, kind):
    """Products of batches: of what is quantised, and of floats by constants of int8."""
    layer = Layer(rng, "float32" if kind == "hybrid" else kind)
    x = layer.input((2, 3, 5))
    y = layer.constant(rng.integers(-127, 128, (2, 5, 4)).astype(np.int8), scale=0.0125) if kind == "hybrid" else layer.input((2, 5, 4))
    options = {0: I8(0), 1: I8(0), 2: I8(int(rng.integers(2)))}
    return layer.op("BATCH_MATMUL", [x, y], [layer.output((2, 3, 4), like=(0.4, 3) if kind == "int8" else None)], options, {"hybrid": 4, "int8": 2}[kind])


def nibbles(rng):
    """Weights of int4, two in a byte."""
    layer = Layer(rng, "int8")
    x, values = layer.input((3, 8)), rng.integers(-7, 8, (4, 8))
    packed = (values.ravel()[0::2] & 15 | (values.ravel()[1::2] & 15) << 4).astype(np.uint8)
    w = layer.tensor("w", (4, 8), "int4", packed, scale=0.05)
    b = layer.constant(ints([50, -3, 0, 9]), scale=np.float32(0.05) * np.float32(layer.like[0]))
    return layer.op("FULLY_CONNECTED", [x, w, b], [layer.output((3, 4), like=(0.05, 3))], {0: I8(0)}, 10)


def half(rng):
    """Weights of float16, which DEQUANTIZE makes floats of."""
    layer = Layer(rng)
    x, w = layer.input((2, 9)), layer.constant(rng.uniform(-1, 1, (4, 9)).astype(np.float16))
    wide = layer.tensor("wide", (4, 9))
    layer.op("DEQUANTIZE", [w], [wide], version=3)
    return layer.op("FULLY_CONNECTED", [x, wide, -1], [layer.output((2, 4))], {})


def sparse(rng, block):
    """A sparse matrix, its rows dense and its columns compressed, one by one or in blocks, which DENSIFY hands on."""
    layer = Layer(rng)
    there = rng.integers(0, 3, (5, 8 // block)) == 0
    dense = rng.uniform(0.5, 1, (5, 8 // block, block)).astype(np.float32) * there[:, :, None]
    segments, indices = [0], []
    for row in there:
        indices += list(np.nonzero(row)[0])
        segments.append(len(indices))
    dims = [{0: I8(0), 1: I32(5)}, {0: I8(1), 1: I32(0), 2: I8(1), 3: {0: ints(segments)}, 4: I8(3), 5: {0: np.array(indices, np.uint8)}}]
    dims += [{0: I8(0), 1: I32(block)}] if block > 1 else []
    w = layer.tensor("w", (5, 8), "float32", dense[there], sparsity={0: ints(range(len(dims))), 1: ints([1]) if block > 1 else None, 2: dims})
    wide = layer.tensor("wide", (5, 8))
    layer.op("DENSIFY", [w], [wide])
    return layer.op("FULLY_CONNECTED", [layer.input((2, 8)), wide, -1], [layer.output((2, 5))], {})


def pool(rng, kind, name):
    layer = Layer(rng, kind)
    h, w, c, k, s, padding = int(rng.integers(4, 9)), int(rng.integers(4, 9)), int(rng.integers(1, 6)), int(rng.integers(1, 4)), int(rng.integers(1, 3)), int(rng.integers(2))
    x = layer.input((1, h, w, c))
    y = layer.output((1, spatial(h, padding, k, s), spatial(w, padding, k, s), c), like=getattr(layer, "like", None))
    return layer.op(name, [x], [y], {0: I8(padding), 1: I32(s), 2: I32(s), 3: I32(k), 4: I32(k), 5: I8(int(rng.choice([0, 1])) if kind == "float32" else 0)})


def binary(rng, kind, name):
    layer = Layer(rng, kind)
    a = layer.input((1, 3, 4, 5), low=1 if name in ("POW", "DIV") else -3)
    b = layer.input([(1, 3, 4, 5), (5,), (1, 1, 1, 5)][int(rng.integers(3))], low=1 if name == "DIV" else -3)
    logical = name in ("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL", "LOGICAL_AND", "LOGICAL_OR")
    same = name in ("MAXIMUM", "MINIMUM")
    if same and kind != "float32":
        layer.tensors[b][4] = layer.tensors[a][4]
    y = layer.output((1, 3, 4, 5), "bool" if logical else None, like=None if not (same and kind != "float32") else (0, 0))
    if same and kind != "float32":
        layer.tensors[y][4] = layer.tensors[a][4]
    options = {0: I8(int(rng.choice([0, 1, 3])))} if name in ("ADD", "SUB", "MUL", "DIV") else {}
    return layer.op(name, [a, b], [y], options, 1 if kind == "bool" else None)


def unary(rng, kind, name, low=-4, high=4, version=None):
    layer = Layer(rng, kind)
    x = layer.input((1, 3, 4, 5), low=low, high=high)
    out = {"LOGISTIC": (1 / 256, -128 if kind == "int8" else 0), "TANH": (1 / 128, 0 if kind == "int8" else 128), "SOFTMAX": (1 / 256, -128 if kind == "int8" else 0), "LOG_SOFTMAX": (16 / 256, 127)}.get(name) if kind in ("int8", "uint8") else None
    options = {"SOFTMAX": {0: F32(1.0)}, "LEAKY_RELU": {0: F32(0.2)}, "GELU": {0: I8(int(rng.integers(2)))}}.get(name)
    return layer.op(name, [x], [layer.output((1, 3, 4, 5), like=out)], options, version)


def prelu(rng, kind):
    layer = Layer(rng, kind)
    x = layer.input((1, 3, 4, 5))
    slopes = rng.uniform(-1, 1, (1, 1, 5)).astype(np.float32)
    slopes = layer.constant(slopes) if kind == "float32" else layer.constant((slopes * 127).astype(np.int8), scale=1 / 127)
    return layer.op("PRELU", [x, slopes], [layer.output((1, 3, 4, 5))], version=1)


def behind(rng):
    """Constants behind all tables."""
    layer = conv(rng, "int8")
    layer.behind = True
    return layer


def requantise(rng, name, into=None):
    layer = Layer(rng, "float32" if name == "QUANTIZE" and not into else "int8")
    x = layer.input((2, 7))
    return layer.op(name, [x], [layer.output((2, 7), into or ("int8" if name == "QUANTIZE" else "float32"))])


def moves(rng, kind, name, which=0):
    """Operators that move elements: input and output are quantised alike."""
    layer = Layer(rng, kind)
    shape = (2, 3, 4, 6)
    if name == "SPACE_TO_DEPTH":
        shape = (1, 4, 6, 2)
    elif name == "DEPTH_TO_SPACE":
        shape = (1, 2, 3, 8)
    elif name == "SQUEEZE":
        shape = (1, 3, 1, 4)
    elif name in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        shape = (1, 3, 4, 2)
    elif name == "BROADCAST_TO":
        shape = (3, 1, 2)
    x = layer.input(shape)
    like = getattr(layer, "like", None)
    i32 = lambda *n: layer.constant(ints(n if len(n) != 1 or not isinstance(n[0], list) else n[0]))
    if name == "RESHAPE":
        new = (2, 12, 6) if rng.integers(2) else (-1, 9)
        return layer.op(name, [x, i32(*new)], [layer.output((2, 12, 6) if new[0] == 2 else (16, 9), like=like)], {0: ints(new)}, 1)
    if name == "SQUEEZE":
        axes = [[], [0], [-2]][int(rng.integers(3))]
        return layer.op(name, [x], [layer.output({0: (3, 4), 1: (3, 1, 4) if axes == [0] else (1, 3, 4)}[len(axes)], like=like)], {0: ints(axes)}, 1)
    if name == "EXPAND_DIMS":
        return layer.op(name, [x, i32(2)], [layer.output((2, 3, 1, 4, 6), like=like)], None, 1)
    if name == "TILE":
        return layer.op(name, [x, i32(1, 2, 1, 3)], [layer.output((2, 6, 4, 18), like=like)], None, 1)
    if name == "BROADCAST_TO":
        return layer.op(name, [x, i32(2, 3, 5, 2)], [layer.output((2, 3, 5, 2), like=like)], None, 2)
    if name in ("PAD", "PADV2", "MIRROR_PAD"):
        pads = rng.integers(0, 2 if name == "MIRROR_PAD" else 3, (4, 2))
        more = [layer.constant(np.array(1.5, np.float32)) if kind == "float32" else layer.constant(np.array(9, kind), scale=like[0], zero=like[1])] if name == "PADV2" else []
        return layer.op(name, [x, i32(*map(int, pads.ravel())) if 0 else layer.constant(pads.astype(np.int32)), *more], [layer.output(tuple(int(n + p.sum()) for n, p in zip(shape, pads)), like=like)])
    if name == "CONCATENATION":
        z = layer.input(shape, like=like)
        axis = int(rng.integers(-4, 4))
        return layer.op(name, [x, z], [layer.output(tuple(n * (1 + (d == axis % 4)) for d, n in enumerate(shape)), like=like)], {0: I32(axis)})
    if name == "SPLIT":
        return layer.op(name, [i32(3), x], [layer.output((2, 3, 4, 2), like=like) for _ in range(3)], {0: I32(3)})
    if name == "SPLIT_V":
        return layer.op(name, [x, i32(1, 4, 1), i32(3)], [layer.output((2, 3, 4, n), like=like) for n in (1, 4, 1)], {0: I32(3)})
    if name == "PACK":
        z = layer.input(shape, like=like)
        return layer.op(name, [x, z], [layer.output((2, 3, 2, 4, 6), like=like)], {0: I32(2), 1: I32(2)})
    if name == "UNPACK":
        return layer.op(name, [x], [layer.output((2, 4, 6), like=like) for _ in range(3)], {0: I32(3), 1: I32(1)})
    if name == "TRANSPOSE":
        order = rng.permutation(4)
        return layer.op(name, [x, i32(*map(int, order))], [layer.output(tuple(shape[d] for d in order), like=like)])
    if name == "SLICE":
        return layer.op(name, [x, i32(0, 1, 0, 2), i32(2, 1, -1, 3)], [layer.output((2, 1, 4, 3), like=like)])
    if name == "STRIDED_SLICE":                              # begin, end, strides; masks of begin, end, ellipsis, new axes and what goes; the shape
        begin, end, step, masks, out = [((0, 1, 0, 5), (2, 3, 4, 0), (1, 1, 2, -2), (0, 0, 0, 0, 0), (2, 2, 2, 3)), ((0, 1, 9, 1), (9, 2, 9, 5), (1, 1, 1, 2), (4, 4, 0, 0, 2), (2, 4, 2)),
                                        ((-1, 0, 0, 0), (0, 0, 0, 0), (1, 1, 1, 1), (14, 14, 0, 0, 1), (3, 4, 6)), ((0, 0, 2), (0, 0, 3), (1, 1, 1), (0, 0, 1, 2, 4), (2, 3, 4, 1)),
                                        ((1, 0, 0, 1), (2, 0, 0, 6), (1, 1, 1, 3), (0, 0, 2, 4, 1), (3, 4, 1, 2))][which]
        return layer.op(name, [x, i32(*begin), i32(*end), i32(*step)], [layer.output(out, like=like)], {k: I32(m) for k, m in enumerate(masks)})
    if name == "GATHER":
        return layer.op(name, [x, i32(3, 0, 1)], [layer.output((2, 3, 3, 6), like=like)], {0: I32(2)})
    if name == "GATHER_ND":
        return layer.op(name, [x, layer.constant(ints([[1, 2], [0, 0]]))], [layer.output((2, 4, 6), like=like)])
    if name in ("DEPTH_TO_SPACE", "SPACE_TO_DEPTH"):
        return layer.op(name, [x], [layer.output((1, 4, 6, 2) if name == "DEPTH_TO_SPACE" else (1, 2, 3, 8), like=like)], {0: I32(2)}, 1)
    if name in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        corners, centres = [(0, 0), (1, 0), (0, 1)][int(rng.integers(3))]
        size = [(6, 8), (7, 5), (2, 3)][int(rng.integers(3))]
        first = 2 if name == "RESIZE_BILINEAR" else 0
        return layer.op(name, [x, i32(*size)], [layer.output((1, *size, 2), like=like)], {first: I8(corners), first + 1: I8(centres)}, 3 if centres or corners else None)
    raise KeyError(name)


def reduce(rng, kind, name):
    layer = Layer(rng, kind)
    x = layer.input((2, 3, 4, 5))
    axes, keep = [[1, 2], [3], [-1, 0]][int(rng.integers(3))], int(rng.integers(2))
    gone = {a % 4 for a in axes}
    shape = tuple(1 if d in gone else n for d, n in enumerate((2, 3, 4, 5)) if keep or d not in gone)
    like = getattr(layer, "like", None) if name in ("REDUCE_MAX", "REDUCE_MIN") else (0.5, 3) if name == "SUM" else None
    if name == "SUM" and kind == "int8":
        (scale, zero), (to_scale, to_zero) = layer.like, like
        reals = (layer.data[0].astype(np.float64) - zero) * scale
        layer.exact = np.clip(np.rint(reals.sum(tuple(a % 4 for a in axes), keepdims=bool(keep)) / to_scale) + to_zero, -128, 127).astype(np.int8)
    return layer.op(name, [x, layer.constant(ints(axes))], [layer.output(shape, like=like)], {0: I8(keep)})


def others(rng, name):
    layer = Layer(rng)
    if name == "CAST":
        x = layer.input((3, 4))
        return layer.op(name, [x], [layer.output((3, 4), "int32")], {0: I8(0), 1: I8(2)})
    if name == "SHAPE":
        return layer.op(name, [layer.input((3, 4))], [layer.output((2,), "int32")], {0: I8(2)})
    if name == "FILL":
        return layer.op(name, [layer.constant(ints([2, 3])), layer.input(())], [layer.output((2, 3))])
    if name in ("ARG_MAX", "ARG_MIN"):
        return layer.op(name, [layer.input((2, 3, 4)), layer.constant(ints(-1).reshape(()))], [layer.output((2, 3), "int32")], {0: I8(2)})
    if name == "BATCH_MATMUL":
        x, y = int(rng.integers(2)), int(rng.integers(2))
        return layer.op(name, [layer.input((2, 5, 3) if x else (2, 3, 5)), layer.input((2, 4, 5) if y else (2, 5, 4))], [layer.output((2, 3, 4))], {0: I8(x), 1: I8(y)})
    if name in ("SELECT", "SELECT_V2"):
        c = layer.input((3, 4), "bool")
        return layer.op(name, [c, layer.input((3, 4)), layer.input((3, 4))], [layer.output((3, 4))])
    raise KeyError(name)


def further(rng, name, kind):
    """Operators of older and larger networks."""
    layer = Layer(rng, kind)
    i32 = lambda *n: layer.constant(ints(n))
    if name in ("FLOOR_DIV", "FLOOR_MOD"):
        a, b = layer.input((3, 4), low=-9, high=9), layer.input((4,), low=1, high=4)
        return layer.op(name, [a, b], [layer.output((3, 4))], {}, 2 if kind == "float32" else 1)
    if name == "ADD_N":
        return layer.op(name, [layer.input((3, 4)) for _ in range(3)], [layer.output((3, 4))], {})
    if name in ("REDUCE_ANY", "REDUCE_ALL"):
        return layer.op(name, [layer.input((3, 2, 4)), i32(1)], [layer.output((3, 4))], {0: I8(0)}, 1)
    if name == "RANGE":
        first, last, step = (layer.constant(np.array(n, kind)) for n in (1, 8, 2))
        return layer.op(name, [first, last, step], [layer.output((4,))], {}, 1)
    if name == "EMBEDDING_LOOKUP":
        return layer.op(name, [i32(2, 0, 1, 2), layer.input((3, 5))], [layer.output((4, 5))], None, 1)
    if name == "SCATTER_ND":
        return layer.op(name, [layer.constant(ints([[1], [3]])), layer.input((2, 3)), i32(5, 3)], [layer.output((5, 3))], {}, 1)
    if name == "ONE_HOT":
        values = [layer.constant(np.array(n, np.float32)) for n in (1.5, -0.5)]
        return layer.op(name, [layer.input((2, 3), "int32", 0, 4), layer.constant(np.array(5, np.int32)), *values], [layer.output((2, 3, 5))], {0: I32(-1)})
    x = layer.input({"SPACE_TO_BATCH_ND": (2, 3, 5, 2), "BATCH_TO_SPACE_ND": (6, 3, 4, 2)}.get(name, (2, 3, 4)))
    like = getattr(layer, "like", None)
    if name == "SPACE_TO_BATCH_ND":
        return layer.op(name, [x, i32(2, 3), layer.constant(ints([[0, 1], [1, 0]]))], [layer.output((12, 2, 2, 2), like=like)], {})
    if name == "BATCH_TO_SPACE_ND":
        return layer.op(name, [x, i32(3, 2), layer.constant(ints([[1, 2], [0, 1]]))], [layer.output((1, 6, 7, 2), like=like)], {})
    if name == "TOPK_V2":
        y = layer.output((2, 3, 2), like=like)
        return layer.op(name, [x, layer.constant(np.array(2, np.int32))], [y, layer.output((2, 3, 2), "int32")], {}, 1 if kind == "float32" else 2)
    if name == "CUMSUM":
        return layer.op(name, [x, layer.constant(np.array(1, np.int32))], [layer.output((2, 3, 4))], {0: I8(int(rng.integers(2))), 1: I8(int(rng.integers(2)))})
    if name == "REVERSE_V2":
        return layer.op(name, [x, i32(1)], [layer.output((2, 3, 4), like=like)], {}, 1)
    if name == "RANK":
        return layer.op(name, [x], [layer.output((), "int32")], {})
    options = {"L2_NORMALIZATION": {0: I8(0)}}.get(name, {})
    return layer.op(name, [x], [layer.output(layer.tensors[x][0], like=(1 / 128, 0) if name == "L2_NORMALIZATION" else like)], options)


FURTHER = {"L2_NORMALIZATION": ("float32", "int8"), "FLOOR_DIV": ("float32", "int32"), "FLOOR_MOD": ("float32", "int32"), "ONE_HOT": ("float32",), "TOPK_V2": ("float32", "int8"),
           "CUMSUM": ("float32",), "REVERSE_V2": ("float32", "int32"), "RANK": ("float32",), "ZEROS_LIKE": ("float32", "int32"), "ADD_N": ("float32", "int32"), "REDUCE_ANY": ("bool",), "REDUCE_ALL": ("bool",), "RANGE": ("int32", "float32"),
           "SPACE_TO_BATCH_ND": ("float32", "int8"), "BATCH_TO_SPACE_ND": ("float32", "int8"), "EMBEDDING_LOOKUP": ("float32",), "SCATTER_ND": ("float32", "int32")}


def variables(rng, kept=True):
    """A window over time: what was there before and the data, of which all but the first are kept; it begins as a constant.
    Not kept: it is read twice and never assigned."""
    layer = Layer(rng, "int8")
    x = layer.input((1, 2, 3))
    like = layer.like
    handle = layer.tensor("handle", (), "resource")
    before = layer.tensor("before", (1, 4, 3), "int8", scale=like[0], zero=like[1])
    y = layer.output((1, 6, 3), like=like)
    later = layer.tensor("later", (1, 4, 3), "int8", scale=like[0], zero=like[1])
    begin, end, by = (layer.constant(ints(n)) for n in ([0, 2, 0], [1, 6, 3], [1, 1, 1]))
    start = rng.integers(-128, 128, (1, 4, 3)).astype(np.int8)
    named = {0: "", 1: "window"}
    layer.op("CALL_ONCE", [], [], {0: I32(1)}, 1)
    layer.op("VAR_HANDLE", [], [handle], named, 1)
    layer.op("READ_VARIABLE", [handle], [before], {}, 1)
    if kept:
        layer.op("CONCATENATION", [before, x], [y], {0: I32(1)})
        layer.op("STRIDED_SLICE", [y, begin, end, by], [later], {})
        layer.op("ASSIGN_VARIABLE", [handle, later], [], {}, 1)
    else:
        layer.op("READ_VARIABLE", [handle], [later], {}, 1)
        layer.op("STRIDED_SLICE", [later, begin, end, by], [layer.tensor("some", (1, 2, 3), "int8", scale=like[0], zero=like[1])], {})
        layer.op("CONCATENATION", [before, len(layer.tensors) - 1], [y], {0: I32(1)})
    main, layer.tensors, operators, layer.operators = layer.tensors, [], layer.operators, []
    handle, value = layer.tensor("handle", (), "resource"), layer.tensor("start", (1, 4, 3), "int8", start, scale=like[0], zero=like[1])
    layer.op("VAR_HANDLE", [], [handle], named, 1)
    layer.op("ASSIGN_VARIABLE", [handle, value], [], {}, 1)
    layer.before = layer.tensors, layer.operators
    layer.tensors, layer.operators = main, operators
    return layer


def lstm(rng):
    layer, time, inputs, units = Layer(rng), 3, 4, 5
    major = bool(rng.integers(2))
    x = layer.input((time, 2, inputs) if major else (2, time, inputs))
    small = lambda *shape: layer.constant(rng.uniform(-0.7, 0.7, shape).astype(np.float32))
    ins = [x] + [small(units, inputs) for _ in range(4)] + [small(units, units) for _ in range(4)] + [-1] * 3 + [small(units) for _ in range(4)] + [-1, -1]
    ins += [layer.tensor(name, (2, units), variable=True) for name in ("hidden", "cell")] + [-1] * 4
    y = layer.output((time, 2, units) if major else (2, time, units))
    return layer.op("UNIDIRECTIONAL_SEQUENCE_LSTM", ins, [y], {0: I8(4), 1: F32(0), 2: F32(0), 3: I8(major)})


def svdf(rng):
    layer, inputs, units, rank, memory = Layer(rng), 4, 3, int(rng.integers(1, 3)), 5
    x = layer.input((2, inputs))
    small = lambda *shape: layer.constant(rng.uniform(-1, 1, shape).astype(np.float32))
    state = layer.tensor("memory", (2, memory * units * rank), variable=True)
    return layer.op("SVDF", [x, small(units * rank, inputs), small(units * rank, memory), small(units), state], [layer.output((2, units))], {0: I32(rank), 1: I8(int(rng.integers(2)))})


STATES = {"CALL_ONCE": variables, "VAR_HANDLE": variables, "READ_VARIABLE": variables, "ASSIGN_VARIABLE": variables, "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm, "SVDF": svdf}
FLOAT_UNARY = ["LOGISTIC", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "TANH", "ELU", "EXP", "HARD_SWISH", "ABS", "NEG", "SIN", "COS", "FLOOR", "CEIL", "ROUND", "SIGN", "SQUARE", "GELU", "LEAKY_RELU", "SOFTMAX", "LOG_SOFTMAX"]
BYTE_UNARY = ["LOGISTIC", "RELU", "RELU6", "TANH", "HARD_SWISH", "LEAKY_RELU", "SOFTMAX"]
MOVES = ["RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TILE", "BROADCAST_TO", "PAD", "PADV2", "MIRROR_PAD", "CONCATENATION", "SPLIT", "SPLIT_V", "PACK", "UNPACK", "TRANSPOSE", "SLICE", "STRIDED_SLICE", "GATHER", "GATHER_ND", "DEPTH_TO_SPACE", "SPACE_TO_DEPTH",
         "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"]


def draw(name):
    """Functions of a generator of random numbers, each a layer of that operator: with the name of the kind."""
    made = {}
    if name in FURTHER:
        return {kind: lambda rng, kind=kind: further(rng, name, kind) for kind in FURTHER[name]}
    if name in STATES:
        twice = {"int8 read twice": lambda rng: variables(rng, False)} if name == "READ_VARIABLE" else {}
        return {"int8" if STATES[name] is variables else "float32": STATES[name], **twice}
    if name in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        for kind in ("float32", "int8", "uint8", "int16"):
            made[kind] = lambda rng, kind=kind: conv(rng, kind, name != "CONV_2D")
        made["int8 by tensor"] = lambda rng: conv(rng, "int8", name != "CONV_2D", False)
        made["hybrid"] = lambda rng: hybrid(rng, name)
        if name == "CONV_2D":
            made["int8 behind the tables"] = behind
    elif name == "FULLY_CONNECTED":
        for kind in ("float32", "int8", "uint8", "int16"):
            made[kind] = lambda rng, kind=kind: product(rng, kind)
        made["int8 by axis"] = lambda rng: product(rng, "int8", True)
        made["hybrid"] = lambda rng: hybrid(rng, name)
        made["float16"] = half
        made["int4"] = nibbles
    elif name == "DENSIFY":
        made["float32"] = lambda rng: sparse(rng, 1)
        made["float32 in blocks"] = lambda rng: sparse(rng, 4)
    elif name == "TRANSPOSE_CONV":
        made["float32"] = lambda rng: deconv(rng, "float32")
        made["int8"] = lambda rng: deconv(rng, "int8")
    elif name in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        for kind in ("float32", "int8", "uint8"):
            made[kind] = lambda rng, kind=kind: pool(rng, kind, name)
    elif name in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"):
        for kind in ("float32", "int8", "uint8"):
            made[kind] = lambda rng, kind=kind: binary(rng, kind, name)
    elif name in ("LOGICAL_AND", "LOGICAL_OR"):
        made["bool"] = lambda rng: binary(rng, "bool", name)
    elif name in ("DIV", "POW", "SQUARED_DIFFERENCE", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL"):
        made["float32"] = lambda rng: binary(rng, "float32", name)
    elif name == "PRELU":
        for kind in ("float32", "int8"):
            made[kind] = lambda rng, kind=kind: prelu(rng, kind)
    elif name in ("QUANTIZE", "DEQUANTIZE"):
        made["int8"] = lambda rng: requantise(rng, name)
        if name == "QUANTIZE":
            made["int8 again"] = lambda rng: requantise(rng, name, "int8")
    elif name == "LOGICAL_NOT":
        made["bool"] = lambda rng: unary(rng, "bool", name)
    elif name in ("SQRT", "RSQRT", "LOG"):
        made["float32"] = lambda rng: unary(rng, "float32", name, 0.1, 5)
    elif name in FLOAT_UNARY:
        made["float32"] = lambda rng: unary(rng, "float32", name)
        if name in BYTE_UNARY:
            made["int8"] = lambda rng: unary(rng, "int8", name, version=1 if name == "HARD_SWISH" else None)
    elif name in MOVES:
        for kind in ("float32", "int8"):
            for which in range(5 if name == "STRIDED_SLICE" else 1):
                made[kind + (" %d" % which if which else "")] = lambda rng, kind=kind, which=which: moves(rng, kind, name, which)
    elif name in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
        for kind in ("float32",) if name == "REDUCE_PROD" else ("float32", "int8"):
            made[kind] = lambda rng, kind=kind: reduce(rng, kind, name)
    else:
        made["float32"] = lambda rng: others(rng, name)
        for kind in ("int8", "hybrid") if name == "BATCH_MATMUL" else ():
            made[kind] = lambda rng, kind=kind: batches(rng, kind)
    return made
