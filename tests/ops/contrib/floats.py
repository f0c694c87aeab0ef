"""Float operators that onnxruntime's optimiser writes."""
import numpy
from onnx import TensorProto

from cases import case, random

F, H, I = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32
R = random("floats")


def draw(*shape, kind="f4", scale=1.0):
    return (R.standard_normal(shape) * scale).astype(kind)


def whole(low, high, *shape, kind="i4"):
    return R.integers(low, high, shape).astype(kind)


# ---- norms ----
for kind, type_ in [("f4", F), ("f2", H)]:
    x, skip, g, b, bias = draw(2, 3, 8, kind=kind), draw(2, 3, 8, kind=kind), draw(8, kind=kind), draw(8, kind=kind), draw(8, kind=kind)
    four = dict(types=[type_, type_], epsilon=1e-5)
    case("SkipLayerNormalization", f"all {kind}", [x, skip, g, b, bias], ["y", "", "", "s"], types=[type_, F, F, type_], epsilon=1e-5)
    case("SkipSimplifiedLayerNormalization", f"all {kind}", [x, skip, g, bias], ["y", "", "", "s"], types=[type_, F, F, type_], epsilon=1e-5)
case("SkipLayerNormalization", "no beta, no bias", [draw(2, 3, 8), draw(2, 3, 8), draw(8)])
case("SkipLayerNormalization", "a skip for all batches", [draw(2, 3, 8), draw(1, 3, 8), draw(8), draw(8)])
case("SkipLayerNormalization", "a skip of two dimensions", [draw(2, 3, 8), draw(3, 8), draw(8), draw(8), draw(8)])
case("SkipSimplifiedLayerNormalization", "two dimensions", [draw(3, 8), draw(3, 8), draw(8)])
case("SimplifiedLayerNormalization", "plain", [draw(2, 3, 8), draw(8)], domain="")
case("SimplifiedLayerNormalization", "from axis 1", [draw(2, 3, 8), draw(3, 8)], ["y", "f"], domain="", types=[F, F], axis=1, epsilon=1e-2)
case("SimplifiedLayerNormalization", "opset 12", [draw(2, 3, 8), draw(8)], domain="", opset=12)
case("LayerNormalization", "opset 12", [draw(2, 3, 8), draw(8), draw(8)], domain="", opset=12)

# ---- embeddings ----
IDS, SEGMENTS, TABLES = whole(0, 20, 2, 5), whole(0, 2, 2, 5), [draw(20, 8), draw(9, 8), draw(2, 8)]
MASK = whole(0, 3, 2, 5)
case("EmbedLayerNormalization", "all", [IDS, SEGMENTS, *TABLES, draw(8), draw(8), MASK, whole(0, 9, 2, 5)], ["y", "m", "s"], types=[F, I, F], epsilon=1e-6)
case("EmbedLayerNormalization", "no mask, tables constant", [IDS, SEGMENTS, *TABLES, draw(8), draw(8)], ["y", "m"], [2, 3, 4], types=[F, I])
case("EmbedLayerNormalization", "no segments", [IDS, None, *TABLES[:2], None, draw(8), draw(8), MASK], ["y", "m"], types=[F, I])
case("EmbedLayerNormalization", "one row of positions", [IDS, None, *TABLES[:2], None, draw(8), draw(8), None, whole(0, 9, 1, 5)], ["y", "m"], types=[F, I])

# ---- activations ----
case("Gelu", "plain", [draw(3, 7, scale=3)])
case("BiasGelu", "plain", [draw(2, 3, 7, scale=3), draw(7)])
case("FastGelu", "bias", [draw(2, 3, 7, scale=3), draw(7)])
case("FastGelu", "no bias", [draw(3, 7, scale=3)])
case("FastGelu", "float16", [draw(3, 7, kind="f2"), draw(7, kind="f2")], types=[H])
case("QuickGelu", "plain", [draw(3, 7, scale=3)])
case("QuickGelu", "alpha", [draw(3, 7, scale=3)], alpha=0.7)

# ---- products ----
case("FusedMatMul", "alpha, b transposed", [draw(2, 3, 4, 5), draw(2, 3, 6, 5)], transB=1, alpha=0.25)
case("FusedMatMul", "a transposed", [draw(5, 4), draw(5, 6)], transA=1)
case("FusedMatMul", "batches transposed", [draw(4, 2, 3, 5), draw(5, 2, 3, 6)], transBatchA=1, transBatchB=1, transB=0, alpha=2.0)
case("FusedMatMul", "all transposed", [draw(5, 2, 3, 4), draw(6, 2, 3, 5)], transBatchA=1, transBatchB=1, transA=1, transB=1)
case("FusedMatMul", "a vector", [draw(5), draw(5, 6)], transA=1, alpha=3.0)
case("FusedMatMul", "b a vector", [draw(3, 4, 5), draw(5)], transB=1)
for kind, values in [("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.3]), ("Clip", [-0.5, 0.75]), ("HardSigmoid", [0.3, 0.6])]:
    more = {"activation_params": values} if values else {}
    case("FusedConv", kind, [draw(1, 4, 6, 6), draw(8, 2, 3, 3), draw(8)], activation=kind, group=2, pads=[1, 1, 1, 1], **more)
case("FusedConv", "sum, strides", [draw(1, 4, 6, 6), draw(8, 4, 3, 3), draw(8), draw(1, 8, 3, 3)], activation="Relu", pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3])
case("FusedConv", "auto_pad", [draw(1, 4, 6, 6), draw(8, 4, 3, 3)], activation="Relu", auto_pad="SAME_UPPER", dilations=[1, 1])
for kind, values in [("Relu", {}), ("Elu", {"activation_alpha": 0.7}), ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}), ("LeakyRelu", {"activation_alpha": 0.2}),
                     ("Selu", {"activation_alpha": 1.5, "activation_gamma": 1.1}), ("Sigmoid", {}), ("Softplus", {}), ("Softsign", {}), ("Tanh", {}),
                     ("ThresholdedRelu", {"activation_alpha": 0.4})]:
    case("FusedGemm", kind, [draw(4, 5), draw(6, 5), draw(6)], activation=kind, transB=1, alpha=0.5, beta=2.0, **values)
case("FusedGemm", "no c", [draw(5, 4), draw(5, 6)], activation="Relu", transA=1)

# ---- attention ----
N, S, B, D = 2, 5, 3, 8


def attention(name, *, weights=24, bias=24, mask=None, past=None, added=None, rows=S, outputs=("y",), **more):
    case("Attention", name, [draw(B, rows, 6), draw(6, weights), draw(bias) if bias else None, mask, past, added], outputs, [1, 2] if bias else [1], types=[F] * len(outputs),
         num_heads=N, **more)


attention("plain")
attention("no bias, scale", bias=0, scale=0.3)
attention("sizes", weights=28, bias=28, qkv_hidden_sizes=[8, 8, 12])
attention("causal", unidirectional=1)
attention("ends", mask=numpy.array([5, 2, 3], "i4"))
attention("ends and beginnings", mask=numpy.array([5, 4, 3, 0, 2, 1], "i4"))
attention("a mask of keys", mask=whole(0, 2, B, S))
attention("a mask of keys, causal", mask=whole(0, 2, B, S), unidirectional=1)
attention("a mask of rows and keys", mask=whole(0, 2, B, S, S), unidirectional=1, mask_filter_value=-500.0)
attention("past", past=draw(2, B, N, 3, 4), outputs=("y", "p"))
attention("past, causal, mask", past=draw(2, B, N, 3, 4), outputs=("y", "p"), unidirectional=1, mask=whole(0, 2, B, S + 3))
attention("present", outputs=("y", "p"))
attention("bias of scores", added=draw(B, N, S, S))
attention("bias of scores, all alike", added=draw(1, 1, S, S), unidirectional=1)


def heads(name, *, q=None, k=None, v=None, outputs=("y",), more=(), **attributes):
    q = draw(B, S, D) if q is None else q
    case("MultiHeadAttention", name, [q, k, v, *more], outputs, types=[F] * len(outputs), num_heads=N, **attributes)


def kv(rows=7, values=D):
    return {"k": draw(B, rows, D), "v": draw(B, rows, values)}


heads("plain", **kv(S))
heads("cross, values of another size", **kv(7, 12))
heads("bias", **kv(7, 12), more=[draw(28)])
heads("scale, causal", **kv(S), scale=0.2, unidirectional=1)
heads("keys by heads", k=draw(B, N, 7, 4), v=draw(B, N, 7, 4))
heads("keys by heads, bias", k=draw(B, N, 7, 4), v=draw(B, N, 7, 4), more=[draw(24)])
heads("ends", **kv(), more=[None, numpy.array([5, 2, 3], "i4")])
heads("a mask of keys", **kv(), more=[None, whole(0, 2, B, 7)])
heads("a mask of rows and keys", **kv(), more=[None, whole(0, 2, B, S, 7)])
heads("past", **kv(S), more=[None, None, None, draw(B, N, 3, 4), draw(B, N, 3, 4)], outputs=("y", "k", "v"))
heads("past, causal, mask, bias of scores", **kv(S), more=[draw(24), whole(0, 2, B, S + 3), draw(1, N, S, S + 3), draw(B, N, 3, 4), draw(B, N, 3, 4)], outputs=("y", "k", "v"), unidirectional=1)
heads("scores", **kv(), more=[None, None, draw(B, 1, S, 7)], outputs=("y", "", "", "qk"))
