"""Quantised operators of onnxruntime.  Integers may be one step apart: it rounds products of scales elsewhere."""
import numpy
from onnx import TensorProto

from cases import case, random

F, I, U8, I8 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.UINT8, TensorProto.INT8
R = random("integers")
KINDS = [("u1", U8, 128), ("i1", I8, -3)]


def draw(*shape, scale=1.0):
    return (R.standard_normal(shape) * scale).astype("f4")


def bytes_of(kind, *shape):
    info = numpy.iinfo(kind)
    return R.integers(info.min, info.max + 1, shape).astype(kind)


def one(value, kind="f4"):
    return numpy.array(value, kind)


for kind, of, zero in KINDS:
    for op in ("QLinearAdd", "QLinearMul"):
        b = bytes_of(kind, 3, 4)
        case(op, kind, [bytes_of(kind, 2, 3, 4), one(0.02), one(zero, kind), b, one(0.03), one(7, kind), one(0.05), one(zero, kind)], types=[of], slack=1)
        case(op, f"{kind}, b constant", [bytes_of(kind, 2, 3, 4), one(0.02), one(zero, kind), b, one(0.03), one(7, kind), one(0.05), one(zero, kind)], constants=[1, 2, 3, 4, 5, 6, 7], types=[of], slack=1)
    x, scales = bytes_of(kind, 2, 3, 4, 5), [one(0.04), one(zero, kind), one(0.01), one(0 if kind == "u1" else -100, kind)]
    case("QLinearSigmoid", kind, [x, *scales], types=[of], slack=1, constants=[1, 2, 3, 4])
    case("QLinearLeakyRelu", kind, [x, *scales], types=[of], slack=1, alpha=0.2, constants=[1, 2, 3, 4])
    case("QLinearSoftmax", f"{kind}, opset 13", [x, *scales], types=[of], slack=1, opset=13, axis=1, constants=[1, 2, 3, 4], of_opset=13)
    case("QLinearSoftmax", f"{kind}, opset 11", [x, *scales], types=[of], slack=1, axis=1, constants=[1, 2, 3, 4], of_opset=11)
    for last in (0, 1):
        case("QLinearGlobalAveragePool", f"{kind}, channels_last {last}", [x, *scales[:2], one(0.05), scales[1]], types=[of], slack=1, channels_last=last)
        case("QLinearAveragePool", f"{kind}, channels_last {last}", [bytes_of(kind, 1, 6, 6, 6), *scales[:2], one(0.05), scales[1]], types=[of], slack=1, channels_last=last, kernel_shape=[3, 2],
             strides=[2, 1], pads=[1, 0, 1, 1])
    case("QLinearAveragePool", f"{kind}, count_include_pad", [bytes_of(kind, 1, 2, 6, 6), *scales[:2], one(0.05), scales[1]], types=[of], slack=1, kernel_shape=[3, 3], count_include_pad=1, pads=[1, 1, 1, 1])
    case("QLinearConcat", kind, [one(0.05), one(zero, kind), bytes_of(kind, 2, 3), one(0.02), one(3, kind), bytes_of(kind, 2, 4), one(0.09), one(-0 + 5, kind)], types=[of], slack=1, axis=1)
    # ---- products ----
    for many in (False, True):
        b_scale, b_zero = (draw(6) ** 2 * 0.01 + 0.001, bytes_of("i1", 6)) if many else (one(0.02), one(4, "i1"))
        says = f"{kind}, {'a scale for each column' if many else 'one scale'}"
        a, b, c = bytes_of(kind, 4, 9), bytes_of("i1", 9, 6), R.integers(-5000, 5000, 6).astype("i4")
        case("QGemm", says, [a, one(0.03), one(zero, kind), b, b_scale, b_zero, c, one(0.5), one(zero, kind)], types=[of], slack=1, constants=[3, 4, 5, 6])
        case("QGemm", says + ", floats", [a, one(0.03), one(zero, kind), b, b_scale, b_zero, c], constants=[3, 4, 5, 6], alpha=0.5)
        case("MatMulIntegerToFloat", says, [bytes_of(kind, 2, 4, 9), b, one(0.03), b_scale, one(zero, kind), b_zero, draw(6)])
        case("DynamicQuantizeMatMul", says, [draw(2, 4, 9), b, b_scale, b_zero, draw(6)] if kind == "i1" else [draw(2, 4, 9), bytes_of("u1", 9, 6), b_scale], constants=[1])
case("QGemm", "both transposed, no C", [bytes_of("u1", 9, 4), one(0.03), one(3, "u1"), bytes_of("i1", 6, 9), one(0.1), one(0, "i1")], transA=1, transB=1)
case("MatMulIntegerToFloat", "no zero points", [bytes_of("u1", 4, 9), bytes_of("i1", 9, 6), one(0.03), one(0.2)])

# ---- attention, embeddings ----
N, B, S = 2, 3, 5
for name, mask, past, more in [("plain", None, None, {}), ("mask, causal, past", R.integers(0, 2, (B, S + 2)).astype("i4"), draw(2, B, N, 2, 4), {"unidirectional": 1})]:
    for scale, zero in [(one(0.02), one(3, "i1")), (draw(24) ** 2 * 0.01 + 0.01, bytes_of("i1", 24))][:1 if past is not None else 2]:
        case("QAttention", f"{name}, {scale.size} scales", [bytes_of("u1", B, S, 6), bytes_of("i1", 6, 24), draw(24), one(0.02), scale, mask, one(128, "u1"), zero, past], ["y", "p"] if past is not None else ["y"],
             types=[F, F][:2 if past is not None else 1], constants=[1, 2], num_heads=N, **more)
for segments in (True, False):
    tables = [bytes_of("u1", 20, 8), bytes_of("u1", 9, 8), bytes_of("u1", 2, 8)]
    ids = R.integers(0, 20, (2, 5)).astype("i4")
    scales, zeros = [one(0.02), one(0.03), one(0.01), one(0.01), one(0.02)], [one(z, "u1") for z in (128, 100, 7, 0, 60)]
    gone = (lambda a: a) if segments else (lambda a: None)
    case("QEmbedLayerNormalization", f"segments {segments}",
         [ids, gone(R.integers(0, 2, (2, 5)).astype("i4")), *tables[:2], gone(tables[2]), bytes_of("u1", 8), bytes_of("u1", 8), R.integers(0, 2, (2, 5)).astype("i4") if segments else None,
          scales[0], scales[1], gone(scales[2]), scales[3], scales[4], zeros[0], zeros[1], gone(zeros[2]), zeros[3], zeros[4]], ["y", "m"], types=[F, I],
         constants=[i for i in range(2, 18) if i != 7 and (segments or i not in (4, 10, 15))], epsilon=1e-6)

# ---- recurrent ----
def lstm(name, directions=1, steps=4, batch=1, width=5, hidden=6, each=False, kind="i1", bias=True, lengths=None, states=False, peepholes=False, **more):
    scales = [1, 4 * hidden][each]
    w_scale, r_scale = ((R.random((directions, scales)) * 0.01 + 0.002).astype("f4").reshape((directions, scales) if each else directions) for _ in range(2))
    w_zero, r_zero = (numpy.zeros(w_scale.shape, kind) + (128 if kind == "u1" else 0) for _ in range(2))
    inputs = [draw(steps, batch, width), bytes_of(kind, directions, width, 4 * hidden), bytes_of(kind, directions, hidden, 4 * hidden), draw(directions, 8 * hidden) if bias else None, lengths,
              draw(directions, batch, hidden) if states else None, draw(directions, batch, hidden) if states else None, draw(directions, 3 * hidden) if peepholes else None,
              w_scale, w_zero.astype(kind), r_scale, r_zero.astype(kind)]
    case("DynamicQuantizeLSTM", name, inputs, ["y", "h", "c"], types=[F, F, F], constants=[i for i in (1, 2, 3, 7, 8, 9, 10, 11) if inputs[i] is not None], hidden_size=hidden, **more)


lstm("plain")
lstm("u1, batch", kind="u1", batch=3)
lstm("a scale for each column, states", each=True, states=True)
lstm("reverse", direction="reverse", bias=False)
lstm("both ways, peepholes, clip", 2, direction="bidirectional", peepholes=True, clip=1.5)
lstm("both ways, lengths", 2, batch=3, direction="bidirectional", lengths=numpy.array([4, 2, 3], "i4"))
lstm("activations, coupled", activations=["Sigmoid", "Relu", "Tanh"], input_forget=1)
lstm("many steps", steps=40)
