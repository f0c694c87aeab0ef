"""What stood in onnxruntime's domain before it was ONNX's, and what only its optimisers for other devices write: that is judged by NumPy."""
import math

import numpy
from onnx import TensorProto

from cases import case, random

F, H, L, U8, I8, U16, I16 = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.UINT8, TensorProto.INT8, TensorProto.UINT16, TensorProto.INT16)
R = random("others")


def draw(*shape, kind="f4", scale=1.0):
    return (R.standard_normal(shape) * scale).astype(kind)


def whole(low, high, *shape, kind="i8"):
    return R.integers(low, high, shape).astype(kind)


def one(value, kind):
    return numpy.array(value, kind)


# ---- integers for floats ----
for kind, type_, high in ("u1", U8, 256), ("i1", I8, 127), ("u2", U16, 65536), ("i2", I16, 32767):
    zero = one(high // 3, kind)
    case("QuantizeLinear", kind, [draw(3, 5, scale=3), one(.02, "f4"), zero], types=[type_])
    case("DequantizeLinear", kind, [whole(0, high, 3, 5, kind=kind), one([.02], "f4"), zero.reshape(1)])
    case("QuantizeLinear", f"{kind}, by columns", [draw(3, 5, 2, scale=3), one([.02, .1, .03, .5, 1], "f4"), one([1, 2, 3, 4, 5], kind)], types=[type_], axis=1)
    case("DequantizeLinear", f"{kind}, by rows", [whole(0, high, 3, 5, kind=kind), one([.02, .1, .03], "f4"), one([1, 2, 3], kind)], axis=0)
case("QuantizeLinear", "no zero point", [draw(3, 5, scale=3), one(.02, "f4")], types=[U8])
case("QuantizeLinear", "float16", [draw(3, 5, kind="f2"), one(.02, "f2"), one(7, "u1")], types=[U8])
case("DequantizeLinear", "no zero point", [whole(-99, 99, 3, 5, kind="i1"), one(.02, "f4")])
SCALES = [one(.02, "f4"), one(120, "u1")]
for last in 0, 1:
    x, w = whole(0, 256, *((2, 6, 7, 4) if last else (2, 4, 6, 7)), kind="u1"), whole(-90, 90, 8, 4, 3, 3, kind="i1")
    case("QLinearConv", f"channels_last {last}", [x, *SCALES, w, draw(8, scale=.01) ** 2 + .001, numpy.zeros(8, "i1"), one(.05, "f4"), one(100, "u1"), whole(-99, 99, 8, kind="i4")],
         constants=[1, 2, 3, 4, 5, 6, 7, 8], types=[U8], slack=1, channels_last=last, pads=[1, 1, 1, 1], strides=[2, 1])
case("QLinearWhere", "plain", [whole(0, 2, 3, 1, kind="?"), whole(0, 256, 3, 5, kind="u1"), *SCALES, whole(0, 256, 5, kind="u1"), one(.03, "f4"), one(99, "u1"), one(.04, "f4"), one(130, "u1")],
     constants=[2, 3, 5, 6, 7, 8], types=[U8], slack=1)
case("NhwcMaxPool", "plain", [whole(0, 256, 2, 6, 7, 3, kind="u1")], types=[U8], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])

# ---- what became ONNX's ----
case("TransposeMatMul", "plain", [draw(2, 4, 3), draw(2, 4, 5)], transA=1, alpha=.5)
case("Pad", "constant", [draw(2, 3), one([1, 0, 2, 1], "i8"), one([.5], "f4")], constants=[1])
case("Pad", "reflect", [draw(4, 5), one([1, 2, 2, 1], "i8")], constants=[1], mode="reflect")
for mode in "bilinear", "nearest", "bicubic":
    for padding in "zeros", "border", "reflection":
        case("GridSample", f"{mode}, {padding}", [draw(2, 3, 5, 6), draw(2, 4, 4, 2, scale=.8)], mode=mode, padding_mode=padding, align_corners=int(padding == "border"))
case("Trilu", "upper", [draw(2, 4, 5)])
case("Trilu", "lower", [draw(4, 4), one(1, "i8")], constants=[1], upper=0)
case("Unique", "plain", [one([2, 1, 1, 3, 4, 3], "f4")], ["y", "places", "counts"], types=[F, L, L])
case("ExpandDims", "plain", [draw(2, 3), one(1, "i4")], constants=[1])
for metric in "euclidean", "sqeuclidean":
    case("CDist", metric, [draw(7, 4), draw(5, 4)], metric=metric)


# ---- without a kernel for CPUs ----
def normal(x, groups, gamma, beta, silu, last):
    x = numpy.moveaxis(x, -1, 1) if last else x
    apart = x.reshape(x.shape[0], groups, -1).astype("f8")
    made = ((apart - apart.mean(2, keepdims=True)) / numpy.sqrt(apart.var(2, keepdims=True) + 1e-5)).reshape(x.shape)
    made = made * gamma.reshape(-1, 1, 1) + beta.reshape(-1, 1, 1)
    made = made / (1 + numpy.exp(-made)) if silu else made
    return (numpy.moveaxis(made, 1, -1) if last else made).astype("f4")


for last in 0, 1:
    x, gamma, beta, skip, bias = draw(2, *((3, 4, 8) if last else (8, 3, 4))), draw(8), draw(8), draw(2, 8), draw(8)
    spread = (2, 1, 1, 8) if last else (2, 8, 1, 1)
    case("GroupNorm", f"channels_last {last}", [x, gamma, beta], want=[normal(x, 4, gamma, beta, last, last)], groups=4, activation=last, channels_last=last)
    total = x + skip.reshape(spread) + bias.reshape(1, *spread[1:])
    case("SkipGroupNorm", f"channels_last {last}", [x, gamma, beta, skip, bias], ["y", "s"], types=[F, F], want=[normal(total, 2, gamma, beta, 1, last), total], groups=2, activation=1,
         channels_last=last)
X, SKIP = draw(2, 3, 8), draw(2, 3, 8)
case("BiasAdd", "plain", [X, draw(8) * 0 + 2, SKIP], want=[X + 2 + SKIP])
GATE = (X + 1)[..., 4:].astype("f8")
case("BiasSplitGelu", "plain", [X, draw(8) * 0 + 1], want=[((X + 1)[..., :4] * GATE * (1 + numpy.vectorize(math.erf)(GATE / 2 ** .5)) / 2).astype("f4")])
IMAGE, KERNEL = draw(1, 4, 5, 3), draw(2, 1, 1, 3)
case("NhwcConv", "plain", [IMAGE, KERNEL], want=[numpy.einsum("nhwc,oc->nhwo", IMAGE, KERNEL[:, 0, 0])])
HEADS = draw(2, 3, 2, 3, 4)


def attended(q, k, v):
    scores = numpy.einsum("bqhd,bkhd->bhqk", q, k).astype("f8") / q.shape[-1] ** .5
    shares = numpy.exp(scores - scores.max(-1, keepdims=True))
    return numpy.einsum("bhqk,bkhd->bqhd", shares / shares.sum(-1, keepdims=True), v).reshape(*q.shape[:2], -1).astype("f4")


case("MultiHeadAttention", "packed", [HEADS], want=[attended(*numpy.moveaxis(HEADS, 3, 0))], num_heads=2)
case("MultiHeadAttention", "keys and values packed", [HEADS[:, :, :, 0].reshape(2, 3, 8), HEADS[:, :, :, 1:]], want=[attended(*numpy.moveaxis(HEADS, 3, 0))], num_heads=2)
ROWS, ROUTER, GATE1, UP, DOWN = draw(3, 4), draw(3, 5), draw(5, 6, 4), draw(5, 6, 4), draw(5, 4, 6)
SHARES = numpy.exp(ROUTER.astype("f8")) / numpy.exp(ROUTER.astype("f8")).sum(1, keepdims=True)
GATES = [[GATE1[e] @ ROWS[t] for e in range(5)] for t in range(3)]
MADE = [sum(SHARES[t, e] * (DOWN[e] @ (GATES[t][e] / (1 + numpy.exp(-GATES[t][e])) * (UP[e] @ ROWS[t]))) for e in numpy.argsort(-ROUTER[t])[:2]) for t in range(3)]
case("MoE", "gate and up apart", [ROWS, ROUTER, GATE1, None, DOWN, None, UP], want=[numpy.array(MADE, "f4")], k=2, activation_type="silu")
SIGNAL = draw(2, 3, 8)
HALF = numpy.fft.rfft(SIGNAL.astype("f8"))
SPECTRUM = numpy.stack([HALF.real, HALF.imag], -1).astype("f4")
case("Rfft", "plain", [SIGNAL], want=[SPECTRUM], signal_ndim=1, onesided=1, normalized=0)
case("Irfft", "plain", [SPECTRUM], want=[SIGNAL], signal_ndim=1, onesided=1, normalized=0)
