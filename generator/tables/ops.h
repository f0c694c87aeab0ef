/* clang-format off */
/* ops.h: each ONNX op that ingot knows.
 *
 *     O(domain, name, since, family, scalar, attributes)
 *
 * since: the first version of the domain that has it.  family: infer_FAMILY and define_FAMILY, in ops/; a missing one is a
 * link error.  scalar: for elementwise families, the row of scalars.h; else NONE.  attributes: PLAIN, or those that a node may
 * have, side by side, each with the versions that have it and its default there (one that changes has two):
 *
 *     T(domain, name, since, least, most, outs, attributes)
 *
 * an op that is a text: templates/onnx/NAME.jinja says what it is in terms of others.  It has `least` to `most` inputs, the first `least` of them there, and
 * up to `outs` outputs; ANY: as many as a node has.  TW(…): one that keeps float32 inside: floats of 16 bits are widened for it, and what it makes is rounded once.
 *
 *     OL(domain, name, since, infer, define, attributes)    TL(domain, name, since, least, most, outs, attributes)
 *
 * ops, and ops that are texts, that take sequences or optionals.  Of OL infer_INFER says what lists hold; define_list: nothing is left to define.
 *
 *     G(domain, name, since, family, attributes)
 *
 * an op that graphs of its own say: expand_FAMILY, in ops/, puts their nodes in its place.
 *
 *     INT("axis", TO(12), 1) INT("axis", FROM(13), -1)    FLOAT("alpha", ALL, 0.01)    STRING("auto_pad", ALL, "NOTSET")
 *     A(INTS, "pads", ALL)                                of a kind without default: INT FLOAT STRING INTS FLOATS STRINGS TENSOR …
 *     OLD_BROADCAST    OLD_INPLACE                        `broadcast` and `axis` up to opset 6; `consumed_inputs` up to 5, which says nothing
 *
 * What an op's version does not have is refused: a silently ignored attribute is a wrong answer.  A scalar row that takes more
 * than the op's inputs takes the numbers among the attributes, in this order, behind them.  No include guard. */

/* one scalar function per element */
O("", "Add",       1, binary, add, OLD_BROADCAST OLD_INPLACE)
O("", "Sub",       1, binary, sub, OLD_BROADCAST OLD_INPLACE)
O("", "Mul",       1, binary, mul, OLD_BROADCAST OLD_INPLACE)
O("", "Div",       1, binary, div, OLD_BROADCAST OLD_INPLACE)
O("", "Sum",       1, variadic, add, OLD_INPLACE)
O("", "Mean",      1, mean, add, OLD_INPLACE)
O("", "Max",       1, variadic, maximum, OLD_INPLACE)
O("", "Min",       1, variadic, minimum, OLD_INPLACE)
O("", "PRelu",     1, prelu, leaky_relu, OLD_INPLACE)
O("", "SwiGLU",   28, swiglu, swish, FLOAT("alpha", ALL, 1))
O("", "Mod",      10, mod, mod, INT("fmod", ALL, 0))
O("", "BitwiseAnd", 18, bitwise, and, PLAIN)
O("", "BitwiseOr",  18, bitwise, or, PLAIN)
O("", "BitwiseXor", 18, bitwise, xor, PLAIN)
O("", "BitShift",   11, shift, shl, A(STRING, "direction", ALL))
O("", "Relu",      1, unary, relu, OLD_INPLACE)
O("", "Sigmoid",   1, unary, sigmoid, OLD_INPLACE)
O("", "Tanh",      1, unary, tanh, OLD_INPLACE)
O("", "Sqrt",      1, unary, sqrt, OLD_INPLACE)
O("", "Erf",       9, unary, erf, PLAIN)
O("", "Abs",       1, unary, abs, OLD_INPLACE)
O("", "Neg",       1, unary, neg, OLD_INPLACE)
O("", "Sign",      9, unary, sign, PLAIN)
O("", "Reciprocal", 1, unary, reciprocal, OLD_INPLACE)
O("", "Floor",     1, unary, floor, OLD_INPLACE)
O("", "Ceil",      1, unary, ceil, OLD_INPLACE)
O("", "Round",    11, unary, round, PLAIN)
O("", "Exp",       1, unary, exp, OLD_INPLACE)
O("", "Log",       1, unary, log, OLD_INPLACE)
O("", "Sin",       7, unary, sin, PLAIN)
O("", "Cos",       7, unary, cos, PLAIN)
O("", "Tan",       7, unary, tan, PLAIN)
O("", "Asin",      7, unary, asin, PLAIN)
O("", "Acos",      7, unary, acos, PLAIN)
O("", "Atan",      7, unary, atan, PLAIN)
O("", "Sinh",      9, unary, sinh, PLAIN)
O("", "Cosh",      9, unary, cosh, PLAIN)
O("", "Asinh",     9, unary, asinh, PLAIN)
O("", "Acosh",     9, unary, acosh, PLAIN)
O("", "Atanh",     9, unary, atanh, PLAIN)
O("", "Softplus",  1, unary, softplus, PLAIN)
O("", "Softsign",  1, unary, softsign, PLAIN)
O("", "Mish",     18, unary, mish, PLAIN)
O("", "HardSwish", 14, unary, hard_swish, PLAIN)
O("", "Elu",       1, unary, elu,  FLOAT("alpha", ALL, 1) OLD_INPLACE)
O("", "Celu",     12, unary, celu, FLOAT("alpha", ALL, 1))
O("", "Selu",      1, unary, selu, FLOAT("alpha", TO(5), 1.6732) FLOAT("gamma", TO(5), 1.0507) FLOAT("alpha", FROM(6), 1.67326319217681884765625)
	FLOAT("gamma", FROM(6), 1.05070102214813232421875) OLD_INPLACE)
O("", "Swish",    24, unary, swish, FLOAT("alpha", ALL, 1))
O("", "LeakyRelu", 1, unary, leaky_relu, FLOAT("alpha", ALL, 0.01) OLD_INPLACE)
O("", "ThresholdedRelu", 10, unary, thresholded_relu, FLOAT("alpha", ALL, 1))
O("", "HardSigmoid", 1, unary, hard_sigmoid, FLOAT("alpha", ALL, 0.2) FLOAT("beta", ALL, 0.5) OLD_INPLACE)
O("", "Shrink",    9, unary, shrink, FLOAT("bias", ALL, 0) FLOAT("lambd", ALL, 0.5))
O("", "BitwiseNot", 18, bitwise_not, not_bits, PLAIN)
O("", "Not",       1, logical_not, not, PLAIN)
O("", "And",       1, logical, and, OLD_BROADCAST)
O("", "Or",        1, logical, or, OLD_BROADCAST)
O("", "Xor",       1, logical, xor, OLD_BROADCAST)
O("", "Equal",     1, comparison, equal, OLD_BROADCAST)
O("", "Less",      1, comparison, less, OLD_BROADCAST)
O("", "Greater",   1, comparison, greater, OLD_BROADCAST)
O("", "LessOrEqual", 12, comparison, less_equal, PLAIN)
O("", "GreaterOrEqual", 12, comparison, greater_equal, PLAIN)
O("", "IsNaN",     9, test, is_nan, PLAIN)
O("", "IsInf",    10, test, is_inf, INT("detect_negative", ALL, 1) INT("detect_positive", ALL, 1))
O("", "RandomUniform", 1, random, NONE, A(INT, "dtype", ALL) A(INTS, "shape", ALL) A(FLOAT, "seed", ALL) FLOAT("low", ALL, 0) FLOAT("high", ALL, 1))
O("", "RandomNormal",  1, random, NONE, A(INT, "dtype", ALL) A(INTS, "shape", ALL) A(FLOAT, "seed", ALL) FLOAT("mean", ALL, 0) FLOAT("scale", ALL, 1))
O("", "RandomUniformLike", 1, random_like, NONE, A(INT, "dtype", ALL) A(FLOAT, "seed", ALL) FLOAT("low", ALL, 0) FLOAT("high", ALL, 1))
O("", "RandomNormalLike",  1, random_like, NONE, A(INT, "dtype", ALL) A(FLOAT, "seed", ALL) FLOAT("mean", ALL, 0) FLOAT("scale", ALL, 1))
O("", "Multinomial",   7, multinomial, NONE, INT("dtype", ALL, 6) A(FLOAT, "seed", ALL) INT("sample_size", ALL, 1))
O("", "Bernoulli",    15, bernoulli, NONE, A(INT, "dtype", ALL) A(FLOAT, "seed", ALL))
O("", "Where",     9, where, where, PLAIN)
O("", "Clip",      1, clip, NONE, FLOAT("min", TO(10), -3.402823466385288598e38) FLOAT("max", TO(10), 3.402823466385288598e38) OLD_INPLACE)
O("", "Pow",       1, power, NONE, OLD_BROADCAST)
O("", "Gelu",     20, gelu,  NONE, STRING("approximate", ALL, "none"))
O("", "Cast",      1, cast,  NONE, A(STRING, "to", TO(5)) A(INT, "to", FROM(6)) INT("saturate", FROM(19), 1)
	STRING("round_mode", FROM(24), "up"))
O("", "BitCast",  26, bit_cast, NONE, A(INT, "to", ALL))
O("", "CastLike", 15, cast_like, NONE, INT("saturate", FROM(19), 1) STRING("round_mode", FROM(24), "up"))

/* sums of products */
O("", "Conv",      1, convolution, NONE, STRING("auto_pad", ALL, "NOTSET") A(INTS, "dilations", ALL) INT("group", ALL, 1)
	A(INTS, "kernel_shape", ALL) A(INTS, "pads", ALL) A(INTS, "strides", ALL))
O("", "ConvInteger", 10, convolution_integer, NONE, STRING("auto_pad", ALL, "NOTSET") A(INTS, "dilations", ALL) INT("group", ALL, 1)
	A(INTS, "kernel_shape", ALL) A(INTS, "pads", ALL) A(INTS, "strides", ALL))
O("", "ConvTranspose", 1, convolution_transposed, NONE, STRING("auto_pad", ALL, "NOTSET") A(INTS, "dilations", ALL) INT("group", ALL, 1)
	A(INTS, "kernel_shape", ALL) A(INTS, "output_padding", ALL) A(INTS, "output_shape", ALL) A(INTS, "pads", ALL) A(INTS, "strides", ALL))
O("", "DeformConv", 19, deform_conv, NONE, A(INTS, "dilations", ALL) INT("group", ALL, 1) A(INTS, "kernel_shape", ALL) INT("offset_group", ALL, 1)
	A(INTS, "pads", ALL) A(INTS, "strides", ALL))
O("", "Col2Im",    18, col2im, NONE, A(INTS, "dilations", ALL) A(INTS, "pads", ALL) A(INTS, "strides", ALL))
O("", "MatMulInteger", 10, matmul_integer, NONE, PLAIN)
O("", "MatMul",    1, matmul,      NONE, PLAIN)
O("", "Einsum",   12, einsum,      NONE, A(STRING, "equation", ALL))
O("", "DFT",      17, dft,         NONE, INT("axis", TO(19), 1) INT("inverse", ALL, 0) INT("onesided", ALL, 0))
O("", "Gemm",      1, gemm,        NONE, FLOAT("alpha", ALL, 1) FLOAT("beta", ALL, 1) INT("transA", ALL, 0) INT("transB", ALL, 0)
	INT("broadcast", TO(6), 0))

/* windows, rows and statistics */
O("", "MaxPool",     1, max_pool,     NONE, STRING("auto_pad", ALL, "NOTSET") A(INTS, "kernel_shape", ALL) A(INTS, "pads", ALL)
	A(INTS, "strides", ALL) INT("storage_order", FROM(8), 0) INT("ceil_mode", FROM(10), 0) A(INTS, "dilations", FROM(10)))
O("", "AveragePool", 1, average_pool, NONE, STRING("auto_pad", ALL, "NOTSET") A(INTS, "kernel_shape", ALL) A(INTS, "pads", ALL)
	A(INTS, "strides", ALL) INT("count_include_pad", FROM(7), 0) INT("ceil_mode", FROM(10), 0) A(INTS, "dilations", FROM(19)))
O("", "RoiAlign",    10, roi_align,    NONE, STRING("mode", ALL, "avg") INT("output_height", ALL, 1) INT("output_width", ALL, 1) INT("sampling_ratio", ALL, 0)
	FLOAT("spatial_scale", ALL, 1) A(STRING, "coordinate_transformation_mode", FROM(16)))
O("", "MaxRoiPool",   1, max_roi_pool, NONE, A(INTS, "pooled_shape", ALL) FLOAT("spatial_scale", ALL, 1))
O("", "GlobalAveragePool",  1, global_average_pool, NONE, PLAIN)
O("", "ReduceMean", 1, reduce, NONE, A(INTS, "axes", TO(17)) INT("keepdims", ALL, 1) INT("noop_with_empty_axes", FROM(18), 0))
O("", "ReduceMax", 1, reduce, NONE, A(INTS, "axes", TO(17)) INT("keepdims", ALL, 1) INT("noop_with_empty_axes", FROM(18), 0))
O("", "ReduceMin", 1, reduce, NONE, A(INTS, "axes", TO(17)) INT("keepdims", ALL, 1) INT("noop_with_empty_axes", FROM(18), 0))
O("", "ReduceProd", 1, reduce, NONE, A(INTS, "axes", TO(17)) INT("keepdims", ALL, 1) INT("noop_with_empty_axes", FROM(18), 0))
O("", "ReduceL1", 1, reduce, NONE, A(INTS, "axes", TO(17)) INT("keepdims", ALL, 1) INT("noop_with_empty_axes", FROM(18), 0))
O("", "ReduceL2", 1, reduce, NONE, A(INTS, "axes", TO(17)) INT("keepdims", ALL, 1) INT("noop_with_empty_axes", FROM(18), 0))
O("", "ReduceSumSquare", 1, reduce, NONE, A(INTS, "axes", TO(17)) INT("keepdims", ALL, 1) INT("noop_with_empty_axes", FROM(18), 0))
O("", "ReduceLogSum", 1, reduce, NONE, A(INTS, "axes", TO(17)) INT("keepdims", ALL, 1) INT("noop_with_empty_axes", FROM(18), 0))
O("", "ReduceLogSumExp", 1, reduce, NONE, A(INTS, "axes", TO(17)) INT("keepdims", ALL, 1) INT("noop_with_empty_axes", FROM(18), 0))
O("", "ReduceSum", 1, reduce, NONE, A(INTS, "axes", TO(12)) INT("keepdims", ALL, 1) INT("noop_with_empty_axes", FROM(13), 0))
O("", "ArgMax", 1, arg_extreme, NONE, INT("axis", ALL, 0) INT("keepdims", ALL, 1) INT("select_last_index", FROM(12), 0))
O("", "ArgMin", 1, arg_extreme, NONE, INT("axis", ALL, 0) INT("keepdims", ALL, 1) INT("select_last_index", FROM(12), 0))
O("", "LpPool", 1, lp_pool, NONE, STRING("auto_pad", ALL, "NOTSET") A(INTS, "kernel_shape", ALL) A(INTS, "pads", ALL) A(INTS, "strides", ALL)
	FLOAT("p", TO(1), 2) INT("p", FROM(2), 2) INT("ceil_mode", FROM(18), 0) A(INTS, "dilations", FROM(18)))
O("", "GlobalLpPool", 1, global_lp_pool, NONE, FLOAT("p", TO(1), 2) INT("p", FROM(2), 2))
O("", "GlobalMaxPool", 1, global_max_pool, NONE, PLAIN)
O("", "LogSoftmax",         1, log_softmax,         NONE, INT("axis", TO(12), 1) INT("axis", FROM(13), -1))
O("", "Softmax",            1, softmax,             NONE, INT("axis", TO(12), 1) INT("axis", FROM(13), -1))
O("", "BatchNormalization", 1, batch_normalization, NONE, FLOAT("epsilon", ALL, 1e-5) FLOAT("momentum", ALL, 0.9) INT("spatial", TO(8), 1)
	INT("is_test", TO(6), 0) OLD_INPLACE INT("training_mode", FROM(14), 0))
O("", "LayerNormalization", 1, layer_normalization, NONE, INT("axis", ALL, -1) FLOAT("epsilon", ALL, 1e-5) INT("stash_type", ALL, 1))
O("", "LRN",                1, lrn, NONE, FLOAT("alpha", ALL, 0.0001) FLOAT("beta", ALL, 0.75) FLOAT("bias", ALL, 1) A(INT, "size", ALL))
O("", "LSTM",               1, lstm, NONE, A(FLOATS, "activation_alpha", ALL) A(FLOATS, "activation_beta", ALL)
	A(STRINGS, "activations", ALL) A(FLOAT, "clip", ALL) STRING("direction", ALL, "forward") A(INT, "hidden_size", ALL)
	INT("input_forget", ALL, 0) INT("layout", FROM(14), 0) INT("output_sequence", TO(6), 0))
O("", "GRU",                1, gru, NONE, A(FLOATS, "activation_alpha", ALL) A(FLOATS, "activation_beta", ALL)
	A(STRINGS, "activations", ALL) A(FLOAT, "clip", ALL) STRING("direction", ALL, "forward") A(INT, "hidden_size", ALL)
	INT("linear_before_reset", FROM(3), 0) INT("layout", FROM(14), 0) INT("output_sequence", TO(6), 0))
O("", "RNN",                1, rnn, NONE, A(FLOATS, "activation_alpha", ALL) A(FLOATS, "activation_beta", ALL)
	A(STRINGS, "activations", ALL) A(FLOAT, "clip", ALL) STRING("direction", ALL, "forward") A(INT, "hidden_size", ALL)
	INT("layout", FROM(14), 0) INT("output_sequence", TO(6), 0))

/* elsewhere and otherwise arranged */
OL("", "Identity",  1, identity, identity, PLAIN)
O("", "Dropout",    1, dropout,   NONE, FLOAT("ratio", TO(11), 0.5) INT("is_test", TO(6), 0) A(INT, "seed", FROM(12)) OLD_INPLACE)
O("", "Reshape",    1, reshape,   NONE, A(INTS, "shape", TO(4)) INT("allowzero", FROM(14), 0) A(INTS, "consumed_inputs", TO(4)))
O("", "Flatten",    1, flatten,   NONE, INT("axis", ALL, 1))
O("", "Squeeze",    1, squeeze,   NONE, A(INTS, "axes", TO(12)))
O("", "Unsqueeze",  1, unsqueeze, NONE, A(INTS, "axes", TO(12)))
O("", "Transpose",  1, transpose, NONE, A(INTS, "perm", ALL))
O("", "Slice",      1, slice,     NONE, A(INTS, "axes", TO(9)) A(INTS, "starts", TO(9)) A(INTS, "ends", TO(9)))
O("", "Split",      1, split,     NONE, INT("axis", ALL, 0) A(INTS, "split", TO(12)) A(INT, "num_outputs", FROM(18)))
O("", "Concat",     1, concat,    NONE, INT("axis", TO(3), 1) A(INT, "axis", FROM(4)))
O("", "Pad",        1, pad,       NONE, STRING("mode", ALL, "constant") A(INTS, "paddings", TO(1)) A(INTS, "pads", SPAN(2, 10)) FLOAT("value", TO(10), 0))
O("", "Resize",    10, resize,    NONE, STRING("mode", ALL, "nearest") STRING("coordinate_transformation_mode", FROM(11), "half_pixel")
	STRING("nearest_mode", FROM(11), "round_prefer_floor") FLOAT("cubic_coeff_a", FROM(11), -0.75) INT("exclude_outside", FROM(11), 0)
	FLOAT("extrapolation_value", FROM(11), 0) INT("antialias", FROM(18), 0) A(INTS, "axes", FROM(18))
	STRING("keep_aspect_ratio_policy", FROM(18), "stretch"))
O("", "Tile",       1, tile,      NONE, PLAIN)
O("", "Trilu",     14, trilu,     NONE, INT("upper", ALL, 1))
O("", "Expand",     8, expand,    NONE, PLAIN)
O("", "Gather",     1, gather,    NONE, INT("axis", ALL, 0))
O("", "GatherElements", 11, gather_elements, NONE, INT("axis", ALL, 0))
O("", "GridSample", 16, grid_sample, NONE, INT("align_corners", ALL, 0) STRING("mode", TO(19), "bilinear") STRING("mode", FROM(20), "linear")
	STRING("padding_mode", ALL, "zeros"))
O("", "ReverseSequence", 10, reverse_sequence, NONE, INT("batch_axis", ALL, 1) INT("time_axis", ALL, 0))
O("", "GatherND",  11, gather_nd, NONE, INT("batch_dims", FROM(12), 0))
O("", "Scatter",    9, scatter_elements, NONE, INT("axis", ALL, 0))
O("", "ScatterElements", 11, scatter_elements, NONE, INT("axis", ALL, 0) STRING("reduction", FROM(16), "none"))
O("", "ScatterND",  11, scatter_nd, NONE, STRING("reduction", FROM(16), "none"))
O("", "TensorScatter", 24, tensor_scatter, NONE, INT("axis", ALL, -2) STRING("mode", ALL, "linear"))
O("", "MaxUnpool",  9, max_unpool, NONE, A(INTS, "kernel_shape", ALL) A(INTS, "pads", ALL) A(INTS, "strides", ALL))
O("", "CumSum",    11, running,   add, INT("exclusive", ALL, 0) INT("reverse", ALL, 0))
O("", "CumProd",   26, running,   mul, INT("exclusive", ALL, 0) INT("reverse", ALL, 0))
O("", "TopK",       1, top_k,     NONE, A(INT, "k", TO(9)) INT("axis", ALL, -1) INT("largest", FROM(11), 1) INT("sorted", FROM(11), 1))

O("", "Compress",   9, compress,  NONE, A(INT, "axis", ALL))
O("", "NonZero",    9, non_zero,  NONE, PLAIN)
O("", "Unique",    11, unique,    NONE, A(INT, "axis", ALL) INT("sorted", ALL, 1))

/* numbers out of nothing */
O("", "Constant",   1, constant_node, NONE, A(TENSOR, "value", ALL) A(SPARSE_TENSOR, "sparse_value", FROM(11))
	A(FLOAT, "value_float", FROM(12)) A(FLOATS, "value_floats", FROM(12)) A(INT, "value_int", FROM(12)) A(INTS, "value_ints", FROM(12))
	A(STRING, "value_string", FROM(12)) A(STRINGS, "value_strings", FROM(12)))
O("", "ConstantOfShape", 9, constant_of_shape, NONE, A(TENSOR, "value", ALL))
O("", "OneHot",     9, one_hot,   NONE, INT("axis", ALL, -1))
O("", "EyeLike",    9, eye_like,  NONE, A(INT, "dtype", ALL) INT("k", ALL, 0))
O("", "Range",     11, range,     NONE, INT("stash_type", FROM(27), 1))
O("", "Size",       1, size,      NONE, PLAIN)
O("", "Shape",      1, shape,     NONE, INT("start", FROM(15), 0) A(INT, "end", FROM(15)))
O("", "QuantizeLinear", 10, quantise, NONE, INT("axis", FROM(13), 1) INT("saturate", FROM(19), 1) INT("block_size", FROM(21), 0)
	INT("output_dtype", FROM(21), 0) INT("precision", FROM(23), 0))
O("", "DequantizeLinear", 10, dequantise, NONE, INT("axis", FROM(13), 1) INT("block_size", FROM(21), 0) INT("output_dtype", FROM(23), 0))

/* texts: normalisations */
TW("", "InstanceNormalization", 1, 3, 3, 1, FLOAT("epsilon", ALL, 1e-5) OLD_INPLACE)
T("", "GroupNormalization",   18, 3, 3, 1, FLOAT("epsilon", ALL, 1e-5) A(INT, "num_groups", ALL) INT("stash_type", FROM(21), 1))
T("", "RMSNormalization",     23, 2, 2, 1, FLOAT("epsilon", ALL, 1e-5) INT("axis", ALL, -1) INT("stash_type", ALL, 1))
T("", "SimplifiedLayerNormalization", 1, 2, 2, 2, FLOAT("epsilon", ALL, 1e-5) INT("axis", ALL, -1) INT("stash_type", ALL, 1))
TW("", "LpNormalization",       1, 1, 1, 1, INT("axis", ALL, -1) INT("p", ALL, 2))
TW("", "MeanVarianceNormalization", 9, 1, 1, 1, A(INTS, "axes", ALL))

/* texts: attention */
T("", "Attention", 23, 3, 7, 4, INT("is_causal", ALL, 0) A(INT, "kv_num_heads", ALL) A(INT, "q_num_heads", ALL) INT("qk_matmul_output_mode", ALL, 0)
	A(FLOAT, "scale", ALL) FLOAT("softcap", ALL, 0) A(INT, "softmax_precision", ALL) INT("left_window_size", FROM(25), -1)
	INT("right_window_size", FROM(25), -1))
T("ai.onnx.preview", "FlexAttention", 1, 3, 3, 1, A(GRAPH, "score_mod", ALL) A(GRAPH, "prob_mod", ALL) A(FLOAT, "scale", ALL)
	A(INT, "softmax_precision", ALL))
T("", "RotaryEmbedding",     23, 3, 4, 1, INT("interleaved", ALL, 0) A(INT, "num_heads", ALL) INT("rotary_embedding_dim", ALL, 0))
T("", "LinearAttention",     27, 3, 6, 2, STRING("update_rule", ALL, "gated_delta") INT("chunk_size", ALL, 64) A(INT, "kv_num_heads", ALL) A(INT, "q_num_heads", ALL)
	FLOAT("scale", ALL, 0))
TW("", "CausalConvWithState", 27, 2, 4, 2, STRING("activation", ALL, "none"))

/* texts: elsewhere and otherwise arranged */
T("", "DepthToSpace",  1, 1, 1, 1, A(INT, "blocksize", ALL) STRING("mode", FROM(11), "DCR"))
T("", "SpaceToDepth",  1, 1, 1, 1, A(INT, "blocksize", ALL) STRING("mode", FROM(28), "DCR"))
T("", "CenterCropPad", 18, 2, 2, 1, A(INTS, "axes", ALL))
T("", "Upsample",      1, 1, 2, 1, STRING("mode", ALL, "nearest") A(FLOAT, "height_scale", TO(6)) A(FLOAT, "width_scale", TO(6)) A(FLOATS, "scales", SPAN(7, 8)))
T("", "Hardmax",       1, 1, 1, 1, INT("axis", TO(12), 1) INT("axis", FROM(13), -1))
T("", "AffineGrid",   20, 2, 2, 1, INT("align_corners", ALL, 0))

/* texts: signals */
T("", "BlackmanWindow",  17, 1, 1, 1, INT("output_datatype", ALL, 1) INT("periodic", ALL, 1))
T("", "HammingWindow",   17, 1, 1, 1, INT("output_datatype", ALL, 1) INT("periodic", ALL, 1))
T("", "HannWindow",      17, 1, 1, 1, INT("output_datatype", ALL, 1) INT("periodic", ALL, 1))
T("", "MelWeightMatrix", 17, 5, 5, 1, INT("output_datatype", ALL, 1))
T("", "STFT",            17, 2, 4, 1, INT("onesided", ALL, 1))

/* texts: integers for floats */
T("", "DynamicQuantizeLinear", 11, 1, 1, 3, PLAIN)
T("", "QLinearConv",   10, 8, 9, 1, STRING("auto_pad", ALL, "NOTSET") A(INTS, "dilations", ALL) INT("group", ALL, 1) A(INTS, "kernel_shape", ALL)
	A(INTS, "pads", ALL) A(INTS, "strides", ALL))
T("", "QLinearMatMul", 10, 8, 8, 1, PLAIN)

/* texts: losses and training; determinants */
TW("", "NegativeLogLikelihoodLoss", 12, 2, 3, 1, A(INT, "ignore_index", ALL) STRING("reduction", ALL, "mean"))
TW("", "SoftmaxCrossEntropyLoss",   12, 2, 3, 2, A(INT, "ignore_index", ALL) STRING("reduction", ALL, "mean"))
T("ai.onnx.preview.training", "Adagrad", 1, 5, ANY, ANY, FLOAT("decay_factor", ALL, 0) FLOAT("epsilon", ALL, 1e-6) FLOAT("norm_coefficient", ALL, 0))
T("ai.onnx.preview.training", "Adam",    1, 6, ANY, ANY, FLOAT("alpha", ALL, 0.9) FLOAT("beta", ALL, 0.999) FLOAT("epsilon", ALL, 1e-6)
	FLOAT("norm_coefficient", ALL, 0) FLOAT("norm_coefficient_post", ALL, 0))
T("ai.onnx.preview.training", "Momentum", 1, 5, ANY, ANY, A(FLOAT, "alpha", ALL) A(FLOAT, "beta", ALL) A(STRING, "mode", ALL) A(FLOAT, "norm_coefficient", ALL))
T("", "NonMaxSuppression", 10, 2, 5, 1, INT("center_point_box", ALL, 0))
TW("", "Det", 11, 1, 1, 1, PLAIN)

/* texts: what onnxruntime's optimiser writes, float */
TW("com.microsoft", "SkipLayerNormalization", 1, 3, 5, 4, FLOAT("epsilon", ALL, 1e-12))
TW("com.microsoft", "SkipSimplifiedLayerNormalization", 1, 3, 4, 4, FLOAT("epsilon", ALL, 1e-12))
T("com.microsoft", "EmbedLayerNormalization", 1, 1, 9, 3, FLOAT("epsilon", ALL, 1e-12) INT("mask_index_type", ALL, 0))
TW("com.microsoft", "Gelu",      1, 1, 1, 1, PLAIN)
TW("com.microsoft", "BiasGelu",  1, 2, 2, 1, PLAIN)
TW("com.microsoft", "FastGelu",  1, 1, 2, 1, PLAIN)
TW("com.microsoft", "QuickGelu", 1, 1, 1, 1, FLOAT("alpha", ALL, 1.702))
T("com.microsoft", "FusedMatMul", 1, 2, 2, 1, FLOAT("alpha", ALL, 1) INT("transA", ALL, 0) INT("transB", ALL, 0) INT("transBatchA", ALL, 0) INT("transBatchB", ALL, 0))
T("com.microsoft", "FusedConv", 1, 2, 4, 1, A(STRING, "activation", ALL) A(FLOATS, "activation_params", ALL) STRING("auto_pad", ALL, "NOTSET") A(INTS, "dilations", ALL)
	INT("group", ALL, 1) A(INTS, "kernel_shape", ALL) A(INTS, "pads", ALL) A(INTS, "strides", ALL))
T("com.microsoft", "FusedGemm", 1, 2, 3, 1, A(STRING, "activation", ALL) A(FLOAT, "activation_alpha", ALL) A(FLOAT, "activation_beta", ALL) A(FLOAT, "activation_gamma", ALL)
	FLOAT("alpha", ALL, 1) FLOAT("beta", ALL, 1) INT("transA", ALL, 0) INT("transB", ALL, 0))
T("com.microsoft", "Attention", 1, 2, 7, 2, A(INT, "do_rotary", ALL) A(FLOAT, "mask_filter_value", ALL) A(INT, "num_heads", ALL) A(INT, "past_present_share_buffer", ALL)
	A(INTS, "qkv_hidden_sizes", ALL) A(INT, "rotary_embedding_dim", ALL) A(FLOAT, "scale", ALL) INT("unidirectional", ALL, 0))
T("com.microsoft", "MultiHeadAttention", 1, 1, 10, 4, A(FLOAT, "mask_filter_value", ALL) A(INT, "num_heads", ALL) A(FLOAT, "scale", ALL) INT("unidirectional", ALL, 0))

/* texts: what onnxruntime's quantiser writes */
T("com.microsoft", "QLinearAdd", 1, 2, 8, 1, PLAIN)
T("com.microsoft", "QLinearMul", 1, 2, 8, 1, PLAIN)
T("com.microsoft", "QLinearSigmoid", 1, 2, 5, 1, PLAIN)
T("com.microsoft", "QLinearLeakyRelu", 1, 2, 5, 1, FLOAT("alpha", ALL, 0.01))
T("com.microsoft", "QLinearSoftmax", 1, 2, 5, 1, INT("axis", ALL, -1) A(INT, "opset", ALL))
T("com.microsoft", "QLinearGlobalAveragePool", 1, 2, 5, 1, INT("channels_last", ALL, 0))
T("com.microsoft", "QLinearAveragePool", 1, 2, 5, 1, STRING("auto_pad", ALL, "NOTSET") INT("ceil_mode", ALL, 0) INT("channels_last", ALL, 0) INT("count_include_pad", ALL, 0)
	A(INTS, "kernel_shape", ALL) A(INTS, "pads", ALL) A(INTS, "strides", ALL))
T("com.microsoft", "QLinearConcat", 1, 5, ANY, 1, A(INT, "axis", ALL))
T("com.microsoft", "QGemm", 1, 6, 9, 1, FLOAT("alpha", ALL, 1) INT("transA", ALL, 0) INT("transB", ALL, 0))
TW("com.microsoft", "MatMulIntegerToFloat", 1, 4, 7, 1, PLAIN)
T("com.microsoft", "DynamicQuantizeMatMul", 1, 3, 5, 1, PLAIN)
T("com.microsoft", "DynamicQuantizeLSTM", 1, 3, 12, 3, A(FLOATS, "activation_alpha", ALL) A(FLOATS, "activation_beta", ALL) A(STRINGS, "activations", ALL) A(FLOAT, "clip", ALL)
	STRING("direction", ALL, "forward") A(INT, "hidden_size", ALL) INT("input_forget", ALL, 0))
TW("com.microsoft", "QAttention", 1, 5, 9, 2, A(INT, "do_rotary", ALL) A(FLOAT, "mask_filter_value", ALL) A(INT, "num_heads", ALL) A(INT, "past_present_share_buffer", ALL)
	A(FLOAT, "scale", ALL) INT("unidirectional", ALL, 0))
T("com.microsoft", "QEmbedLayerNormalization", 1, 1, 18, 2, FLOAT("epsilon", ALL, 1e-12))

/* texts: what language models are written in */
T("com.microsoft", "MatMulNBits", 1, 3, 6, 1, INT("K", ALL, 0) INT("N", ALL, 0) INT("accuracy_level", ALL, 0) INT("bits", ALL, 4) INT("block_size", ALL, 0) INT("weight_prepacked", ALL, 0))
T("com.microsoft", "GatherBlockQuantized", 1, 3, 4, 1, INT("bits", ALL, 4) INT("block_size", ALL, 128) INT("gather_axis", ALL, 0) INT("quantize_axis", ALL, 1))
T("com.microsoft", "RotaryEmbedding", 1, 4, 4, 1, INT("interleaved", ALL, 0) INT("is_packed_batching", ALL, 0) INT("num_heads", ALL, 0) INT("rotary_embedding_dim", ALL, 0)
	FLOAT("scale", ALL, 1))
T("com.microsoft", "GroupQueryAttention", 1, 1, 16, 4, INT("causal", ALL, 1) INT("do_rotary", ALL, 0) A(FLOAT, "k_norm_epsilon", ALL) STRING("k_quant_type", ALL, "NONE")
	A(INT, "kv_cache_bit_width", ALL) A(INT, "kv_num_heads", ALL) INT("local_window_size", ALL, -1) A(INT, "num_heads", ALL) A(FLOAT, "q_norm_epsilon", ALL)
	FLOAT("qk_norm_epsilon", ALL, 1e-6) INT("qk_output", ALL, 0) INT("rotary_interleaved", ALL, 0) A(FLOAT, "scale", ALL) INT("sliding_window_cache", ALL, 0)
	INT("smooth_softmax", ALL, -1) FLOAT("softcap", ALL, 0) STRING("v_quant_type", ALL, "NONE"))

/* texts: ai.onnx.ml */
T("ai.onnx.ml", "TreeEnsembleRegressor", 1, 1, 1, 1, STRING("aggregate_function", ALL, "SUM") A(FLOATS, "base_values", ALL) A(TENSOR, "base_values_as_tensor", FROM(3))
	A(INT, "n_targets", ALL) A(INTS, "nodes_falsenodeids", ALL) A(INTS, "nodes_featureids", ALL) A(FLOATS, "nodes_hitrates", ALL)
	A(TENSOR, "nodes_hitrates_as_tensor", FROM(3)) A(INTS, "nodes_missing_value_tracks_true", ALL) A(STRINGS, "nodes_modes", ALL) A(INTS, "nodes_nodeids", ALL)
	A(INTS, "nodes_treeids", ALL) A(INTS, "nodes_truenodeids", ALL) A(FLOATS, "nodes_values", ALL) A(TENSOR, "nodes_values_as_tensor", FROM(3))
	STRING("post_transform", ALL, "NONE") A(INTS, "target_ids", ALL) A(INTS, "target_nodeids", ALL) A(INTS, "target_treeids", ALL) A(FLOATS, "target_weights", ALL)
	A(TENSOR, "target_weights_as_tensor", FROM(3)))
T("ai.onnx.ml", "TreeEnsembleClassifier", 1, 1, 1, 2, A(FLOATS, "base_values", ALL) A(TENSOR, "base_values_as_tensor", FROM(3)) A(INTS, "class_ids", ALL)
	A(INTS, "class_nodeids", ALL) A(INTS, "class_treeids", ALL) A(FLOATS, "class_weights", ALL) A(TENSOR, "class_weights_as_tensor", FROM(3)) A(INTS, "classlabels_int64s", ALL)
	A(STRINGS, "classlabels_strings", ALL) A(INTS, "nodes_falsenodeids", ALL) A(INTS, "nodes_featureids", ALL) A(FLOATS, "nodes_hitrates", ALL)
	A(TENSOR, "nodes_hitrates_as_tensor", FROM(3)) A(INTS, "nodes_missing_value_tracks_true", ALL) A(STRINGS, "nodes_modes", ALL) A(INTS, "nodes_nodeids", ALL)
	A(INTS, "nodes_treeids", ALL) A(INTS, "nodes_truenodeids", ALL) A(FLOATS, "nodes_values", ALL) A(TENSOR, "nodes_values_as_tensor", FROM(3))
	STRING("post_transform", ALL, "NONE"))
T("ai.onnx.ml", "TreeEnsemble", 5, 1, 1, 1, INT("aggregate_function", ALL, 1) A(INT, "n_targets", ALL) A(TENSOR, "nodes_hitrates", ALL) INT("post_transform", ALL, 0)
	A(INTS, "leaf_targetids", ALL) A(TENSOR, "leaf_weights", ALL) A(TENSOR, "membership_values", ALL)
	A(INTS, "nodes_falseleafs", ALL) A(INTS, "nodes_falsenodeids", ALL) A(INTS, "nodes_featureids", ALL) A(INTS, "nodes_missing_value_tracks_true", ALL)
	A(TENSOR, "nodes_modes", ALL) A(TENSOR, "nodes_splits", ALL) A(INTS, "nodes_trueleafs", ALL) A(INTS, "nodes_truenodeids", ALL) A(INTS, "tree_roots", ALL))
T("ai.onnx.ml", "ArrayFeatureExtractor", 1, 2, 2, 1, PLAIN)
T("ai.onnx.ml", "Scaler", 1, 1, 1, 1, A(FLOATS, "offset", ALL) A(FLOATS, "scale", ALL))
T("ai.onnx.ml", "Normalizer", 1, 1, 1, 1, STRING("norm", ALL, "MAX"))
T("ai.onnx.ml", "Binarizer", 1, 1, 1, 1, FLOAT("threshold", ALL, 0))
T("ai.onnx.ml", "Imputer", 1, 1, 1, 1, A(FLOATS, "imputed_value_floats", ALL) A(INTS, "imputed_value_int64s", ALL) FLOAT("replaced_value_float", ALL, 0)
	INT("replaced_value_int64", ALL, 0))
T("ai.onnx.ml", "FeatureVectorizer", 1, 1, ANY, 1, A(INTS, "inputdimensions", ALL))
T("ai.onnx.ml", "LinearRegressor", 1, 1, 1, 1, A(FLOATS, "coefficients", ALL) A(FLOATS, "intercepts", ALL) STRING("post_transform", ALL, "NONE") INT("targets", ALL, 1))
T("ai.onnx.ml", "LinearClassifier", 1, 1, 1, 2, A(INTS, "classlabels_ints", ALL) A(STRINGS, "classlabels_strings", ALL) A(FLOATS, "coefficients", ALL) A(FLOATS, "intercepts", ALL)
	INT("multi_class", ALL, 0) STRING("post_transform", ALL, "NONE"))
T("ai.onnx.ml", "OneHotEncoder", 1, 1, 1, 1, A(INTS, "cats_int64s", ALL) A(STRINGS, "cats_strings", ALL) INT("zeros", ALL, 1))
T("ai.onnx.ml", "LabelEncoder", 1, 1, 1, 1, A(STRINGS, "classes_strings", TO(1)) FLOAT("default_float", FROM(2), -0.0) INT("default_int64", ALL, -1)
	STRING("default_string", ALL, "_Unused") A(TENSOR, "default_tensor", FROM(4)) A(FLOATS, "keys_floats", FROM(2)) A(INTS, "keys_int64s", FROM(2)) A(STRINGS, "keys_strings", FROM(2))
	A(TENSOR, "keys_tensor", FROM(4)) A(FLOATS, "values_floats", FROM(2)) A(INTS, "values_int64s", FROM(2)) A(STRINGS, "values_strings", FROM(2)) A(TENSOR, "values_tensor", FROM(4)))

T("ai.onnx.ml", "CategoryMapper", 1, 1, 1, 1, A(INTS, "cats_int64s", ALL) A(STRINGS, "cats_strings", ALL) INT("default_int64", ALL, -1) STRING("default_string", ALL, "_Unused"))
T("ai.onnx.ml", "SVMClassifier", 1, 1, 1, 2, A(INTS, "classlabels_ints", ALL) A(STRINGS, "classlabels_strings", ALL) A(FLOATS, "coefficients", ALL) A(FLOATS, "kernel_params", ALL)
	STRING("kernel_type", ALL, "LINEAR") STRING("post_transform", ALL, "NONE") A(FLOATS, "prob_a", ALL) A(FLOATS, "prob_b", ALL) A(FLOATS, "rho", ALL)
	A(FLOATS, "support_vectors", ALL) A(INTS, "vectors_per_class", ALL))
T("ai.onnx.ml", "SVMRegressor", 1, 1, 1, 1, A(FLOATS, "coefficients", ALL) A(FLOATS, "kernel_params", ALL) STRING("kernel_type", ALL, "LINEAR") INT("n_supports", ALL, 0)
	INT("one_class", ALL, 0) STRING("post_transform", ALL, "NONE") A(FLOATS, "rho", ALL) A(FLOATS, "support_vectors", ALL))
TL("ai.onnx.ml", "CastMap", 1, 1, 1, 1, STRING("cast_to", ALL, "TO_FLOAT") STRING("map_form", ALL, "DENSE") INT("max_map", ALL, 1))
TL("ai.onnx.ml", "DictVectorizer", 1, 1, 1, 1, A(INTS, "int64_vocabulary", ALL) A(STRINGS, "string_vocabulary", ALL))
G("ai.onnx.ml", "ZipMap", 1, zip_map, A(INTS, "classlabels_int64s", ALL) A(STRINGS, "classlabels_strings", ALL))

/* strings: tables/strings.h */
G("", "StringConcat",     20, strings, PLAIN)
G("", "StringNormalizer", 10, strings, STRING("case_change_action", ALL, "NONE") INT("is_case_sensitive", ALL, 0) A(STRING, "locale", ALL) A(STRINGS, "stopwords", ALL))
G("", "RegexFullMatch",   20, strings, A(STRING, "pattern", ALL))
G("com.microsoft", "Tokenizer", 1, strings, INT("mark", ALL, 0) INT("mincharnum", ALL, 1) A(STRING, "pad_value", ALL) A(STRINGS, "separators", ALL) A(STRING, "tokenexp", ALL))
G("", "StringSplit",      20, strings, A(STRING, "delimiter", ALL) A(INT, "maxsplit", ALL))
G("", "TfIdfVectorizer",   9, strings, A(INT, "max_gram_length", ALL) A(INT, "max_skip_count", ALL) A(INT, "min_gram_length", ALL) STRING("mode", ALL, "TF") A(INTS, "ngram_counts", ALL)
	A(INTS, "ngram_indexes", ALL) A(INTS, "pool_int64s", ALL) A(STRINGS, "pool_strings", ALL) A(FLOATS, "weights", ALL))

/* lists: sequences and optionals of tensors; where a position is known at run time alone, the texts of our own below */
OL("", "SequenceConstruct", 11, sequence_construct, list, PLAIN)
OL("", "SequenceEmpty",     11, sequence_empty, list, INT("dtype", ALL, 1))
OL("", "SequenceAt",        11, sequence_at, list, PLAIN)
OL("", "SequenceInsert",    11, sequence_insert, list, PLAIN)
OL("", "SequenceErase",     11, sequence_erase, list, PLAIN)
OL("", "SequenceLength",    11, sequence_length, list, PLAIN)
OL("", "Optional",          15, optional, list, A(TYPE, "type", ALL))
OL("", "OptionalHasElement", 15, optional_has, list, PLAIN)
OL("", "OptionalGetElement", 15, optional_get, list, PLAIN)
T("", "SplitToSequence",    11, 1, 2, 1, INT("axis", ALL, 0) INT("keepdims", ALL, 1))
TL("", "ConcatFromSequence", 11, 1, 1, 1, A(INT, "axis", ALL) INT("new_axis", ALL, 0))
TL("", "SequenceMap",       17, 1, ANY, ANY, A(GRAPH, "body", ALL))
TL("ingot", "SequenceAt",     1, 2, 2, 1, PLAIN)
TL("ingot", "SequenceInsert", 1, 3, 3, 1, PLAIN)
TL("ingot", "SequenceErase",  1, 2, 2, 1, PLAIN)

/* graphs */
G("", "If",   1, if,   A(GRAPH, "then_branch", ALL) A(GRAPH, "else_branch", ALL))
G("", "Loop", 1, loop, A(GRAPH, "body", ALL))
G("", "Scan", 8, scan, A(GRAPH, "body", ALL) A(INT, "num_scan_inputs", ALL) A(INTS, "directions", TO(8)) A(INTS, "scan_input_axes", FROM(9))
	A(INTS, "scan_input_directions", FROM(9)) A(INTS, "scan_output_axes", FROM(9)) A(INTS, "scan_output_directions", FROM(9)))

/* our own: what simplification makes of several nodes, and texts are made of */
O("ingot", "Gelu",   1, gelu,   NONE, STRING("approximate", ALL, "none"))
O("ingot", "Compress", 1, compress, NONE, A(INT, "axis", ALL))      /* these have one more output: how many there are, the extent being a bound */
O("ingot", "NonZero", 1, non_zero, NONE, PLAIN)
O("ingot", "Boxes", 1, boxes, NONE, INT("center_point_box", ALL, 0))      /* the places of the boxes that NonMaxSuppression takes, then -1; input 5: which of them are there */
O("ingot", "Unique", 1, unique, NONE, A(INT, "axis", ALL) INT("sorted", ALL, 1))
O("ingot", "SizeAdd", 1, sizes, add, PLAIN)      /* of how many there are of dims: ops/sizes.c */
O("ingot", "SizeMul", 1, sizes, mul, PLAIN)
O("ingot", "SizeDiv", 1, sizes, div, PLAIN)
O("ingot", "SizeMax", 1, sizes, max, PLAIN)
O("ingot", "SizeMin", 1, sizes, min, PLAIN)
O("ingot", "SizeElement", 1, size_element, NONE, INT("at", ALL, 0))      /* an element of input 0 */
O("ingot", "SizeScaled", 1, size_scaled, NONE, INT("at", ALL, 0) FLOAT("scale", ALL, 1))      /* input 0 times the scale, in float32, cut */
O("ingot", "SizeReshape", 1, size_reshape, NONE, INT("at", ALL, 0) INT("allowzero", ALL, 0))      /* what a Reshape by input 0 makes of a dim, of data of so many as the others say */
O("ingot", "SizeRange", 1, size_range, NONE, INT("at", ALL, 0))      /* how many numbers a Range makes */
O("ingot", "SizeSlice", 1, size_slice, NONE, INT("at", ALL, 0) INT("rank", ALL, 0) INT("most", ALL, 0))      /* how many a Slice by inputs 1 to 4 takes of as many as input 0 says */
G("ingot", "Text", 1, text, PLAIN)      /* strings of bytes, the last dim, as many as come before a 0 */
O("ingot", "Fit",    1, fit, NONE, A(STRINGS, "symbols", ALL))      /* an output with dims in a range that outputs alone have */
O("ingot", "Lengths", 1, lengths, NONE, INT("at", ALL, 0))      /* int32 of `at` elements: as many as input 0 says, or where input 1 has less, those */
O("ingot", "Agree",  1, agree, NONE, INT("axis", ALL, 0))      /* input 0, of whose axis there are as many as input 1 says, and, as is asked, input 2 */
O("ingot", "Counted", 1, counted, NONE, INT("axis", ALL, 0) FLOAT("value", ALL, 0))      /* input 0 where fewer than input 1 come before along the axis, else the value, or the one element of input 2 */
O("ingot", "CountedAll",  1, counted_all, NONE, FLOAT("value", ALL, 0))      /* input 0, its bounds as extents: behind the counts the value */
O("ingot", "Shape",  1, shape, NONE, INT("start", ALL, 0) A(INT, "end", ALL))      /* further inputs: the counts of dims that data decide */
O("ingot", "MatMul", 1, matmul, NONE, PLAIN)          /* a third input: a bias for each column */
O("ingot", "Repeat", 1, repeat, NONE, A(GRAPH, "body", ALL) A(INT, "rounds", ALL) A(INT, "going", ALL) A(INTS, "inputs", ALL) A(INTS, "outputs", ALL) A(INTS, "pairs", ALL))      /* a loop: ops/repeat.c */
O("ingot", "Loop", 1, rounds, NONE, A(INT, "rounds", ALL) INT("most", ALL, 0) INT("counted", ALL, 0))      /* input 0, where a loop had so many rounds: as input 1 says, or counts */
O("ingot", "Select", 1, select, NONE, PLAIN)          /* input 0 ? input 1 : input 2, of one rank; the counts of both, and one more output for each dim of which the condition decides how many there are */
O("ingot", "Softmax", 1, softmax, NONE, INT("axis", ALL, -1))   /* a row of -inf alone gives 0 */
G("ingot", "Trees", 1, trees, INT("outputs", ALL, 1) STRING("reduce", ALL, "SUM") A(INTS, "leaf_ids", ALL) A(INTS, "leaf_nodeids", ALL) A(INTS, "leaf_treeids", ALL)
	A(FLOATS, "leaf_weights", ALL) A(TENSOR, "leaf_weights_as_tensor", ALL) A(INTS, "nodes_falsenodeids", ALL) A(INTS, "nodes_featureids", ALL)
	A(INTS, "nodes_missing_value_tracks_true", ALL) A(STRINGS, "nodes_modes", ALL) A(INTS, "nodes_nodeids", ALL) A(INTS, "nodes_treeids", ALL) A(INTS, "nodes_truenodeids", ALL)
	A(FLOATS, "nodes_values", ALL) A(TENSOR, "nodes_values_as_tensor", ALL))      /* the sums of a forest's leaves: ops/trees.c */
O("ingot", "Walk", 1, walk_down, NONE, INT("shift", ALL, 0) INT("missing", ALL, 0) INT("leaves", ALL, 0) INT("depth", ALL, 0))      /* which leaf rows of input 0 come to, in trees of the nodes in input 1, whose roots input 2 has */
G("ingot", "Ensemble", 1, ensemble, INT("outputs", ALL, 1) STRING("reduce", ALL, "SUM") A(INTS, "leaf_targetids", ALL) A(TENSOR, "leaf_weights", ALL) A(TENSOR, "membership_values", ALL)
	A(INTS, "nodes_falseleafs", ALL) A(INTS, "nodes_falsenodeids", ALL) A(INTS, "nodes_featureids", ALL) A(INTS, "nodes_missing_value_tracks_true", ALL)
	A(TENSOR, "nodes_modes", ALL) A(TENSOR, "nodes_splits", ALL) A(INTS, "nodes_trueleafs", ALL) A(INTS, "nodes_truenodeids", ALL) A(INTS, "tree_roots", ALL))      /* a forest whose leaves are no nodes */
O("ingot", "Branch", 1, branch, NONE, INT("yes", ALL, 1) STRING("why", ALL, ""))      /* input 0, of the one branch that can be; a check asks that input 1 chooses it */
O("ingot", "Asked",  1, asked,  NONE, STRING("what", ALL, "an operand"))         /* the first input; a check asks that the second equals the third */
