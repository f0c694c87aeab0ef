"""What these operators have and ingot has not: each ends with 4 and a message that names it."""
import numpy
from onnx import TensorProto

from cases import case

F, L = TensorProto.FLOAT, TensorProto.INT64


def ones(*shape, kind="f4"):
    return numpy.ones(shape, kind)


def no(op, says, inputs, outputs=("y",), **more):
    case(op, f"no {says}", inputs, outputs, refused=says, **more)


# ---- attention ----
X, WEIGHTS, BIAS = ones(1, 3, 8), ones(8, 24), ones(24)
for word in ("do_rotary", "past_present_share_buffer"):
    no("Attention", "do_rotary and a shared buffer", [X, WEIGHTS, BIAS], num_heads=2, **{word: 1})
    no("QAttention", "do_rotary and a shared buffer", [ones(1, 3, 8, kind="u1"), ones(8, 24, kind="i1"), BIAS, ones(1), ones(1)], num_heads=2, **{word: 1})
no("Attention", "a mask of 4 dimensions", [X, WEIGHTS, BIAS, ones(1, 1, 4, 4, kind="i4")], num_heads=2)
no("MultiHeadAttention", "cache_indirection", [X, X, X, *[None] * 6, ones(1, 1, 3, kind="i4")], num_heads=2)


def group(says, more=(), **attributes):
    no("GroupQueryAttention", says, [ones(1, 1, 8), ones(1, 1, 4), ones(1, 1, 4), ones(1, 1, 4, 4), ones(1, 1, 4, 4), ones(1, kind="i4"), ones(1, kind="i4"), *more], ["y", "k", "v"],
       num_heads=2, kv_num_heads=1, **attributes)


group("a quantised cache", k_quant_type="PER_TENSOR")
group("sliding_window_cache", sliding_window_cache=1)
group("qk_output", qk_output=1)
no("RotaryEmbedding", "is_packed_batching", [ones(1, 3, 8), ones(1, 3, kind="i8"), ones(4, 2), ones(4, 2)], is_packed_batching=1, num_heads=2)
no("RotaryEmbedding", "a scale", [ones(1, 3, 8), ones(1, 3, kind="i8"), ones(4, 2), ones(4, 2)], scale=2.0)

# ---- weights of few bits; activations ----
TABLE = [ones(3, 32), ones(4, 1, 16, kind="u1"), ones(4, 1)]
no("MatMulNBits", "g_idx", [*TABLE, None, ones(32, kind="i4")], K=32, N=4, bits=4, block_size=32)
no("MatMulNBits", "prepacked", TABLE, K=32, N=4, bits=4, block_size=32, weight_prepacked=1)
no("GatherBlockQuantized", "packed data that is quantised along axis 0", [ones(32, 4, kind="u1"), ones(1, kind="i8"), ones(1, 4)], bits=4, block_size=32, gather_axis=1, quantize_axis=0)
EXPERTS = [ones(3, 4), ones(3, 2), ones(2, 6, 4), None, ones(2, 4, 6)]
no("MoE", "activation_type geglu", EXPERTS, activation_type="geglu")
no("MoE", "swiglu_fusion of 1", EXPERTS, activation_type="swiglu")
PACKED = [ones(3, 4), ones(3, 2), ones(2, 6, 2, kind="u1"), ones(2, 6), None, ones(2, 4, 3, kind="u1"), ones(2, 4)]
no("QMoE", "quant_type fp8", PACKED, quant_type="fp8")
no("QMoE", "weights of 3 bits", PACKED, expert_weight_bits=3)
no("FusedGemm", "activation Mish", [ones(2, 3), ones(3, 4)], activation="Mish")

# ---- ai.onnx.ml ----
def learnt(op, says, outputs=("y",), kind="f4", **more):
    no(op, says, [ones(2, 3, kind=kind)], outputs, domain="ai.onnx.ml", **more)


LEAF = {"nodes_treeids": [0], "nodes_nodeids": [0], "nodes_featureids": [0], "nodes_modes": ["LEAF"], "nodes_values": [0.0], "nodes_truenodeids": [0], "nodes_falsenodeids": [0]}
VOTES = {"class_treeids": [0], "class_nodeids": [0], "class_ids": [0], "class_weights": [1.0]}
learnt("LinearRegressor", "PROBIT", coefficients=[1.0] * 3, post_transform="PROBIT")
learnt("LinearClassifier", "PROBIT", ["y", "s"], types=[L, F], coefficients=[1.0] * 9, classlabels_ints=[0, 1, 2], post_transform="PROBIT")
learnt("LinearClassifier", "one row of coefficients for two labels", ["y", "s"], types=[L, F], coefficients=[1.0] * 3, intercepts=[0.5], classlabels_ints=[0, 1], post_transform="SOFTMAX")
learnt("TreeEnsembleRegressor", "PROBIT", n_targets=1, target_treeids=[0], target_nodeids=[0], target_ids=[0], target_weights=[1.0], post_transform="PROBIT", **LEAF)
learnt("TreeEnsembleRegressor", "MIN and MAX of several targets", n_targets=2, target_treeids=[0], target_nodeids=[0], target_ids=[0], target_weights=[1.0], aggregate_function="MIN", **LEAF)
learnt("TreeEnsembleClassifier", "base_values of two classes", ["y", "s"], types=[L, F], classlabels_int64s=[0, 1], base_values=[0.5, 0.5], **LEAF, **VOTES)
learnt("SVMRegressor", "post_transform LOGISTIC", coefficients=[1.0] * 3, rho=[0.5], post_transform="LOGISTIC")
learnt("SVMClassifier", "coefficients without support vectors", ["y", "s"], types=[L, F], coefficients=[1.0] * 3, rho=[0.5], classlabels_ints=[0, 1])
learnt("SVMClassifier", "post_transform LOGISTIC of two classes", ["y", "s"], types=[L, F], classlabels_ints=[0, 1], vectors_per_class=[1, 1], coefficients=[1.0] * 2, rho=[0.5],
       support_vectors=[1.0] * 6, post_transform="LOGISTIC")
learnt("FeatureVectorizer", "2 are not supported", inputdimensions=[2])
