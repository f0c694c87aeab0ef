/* ops.h: each ONNX op that ingot knows.
 *
 *     O(domain, name, since, family, scalar, attributes)
 *
 * since: the first version of the domain that has it.  family: infer_FAMILY and define_FAMILY, in ops/; a missing one is a
 * link error.  scalar: for elementwise families, the row of scalars.h; else NONE.  attributes: those that a node may have, each
 * with the versions that have it: "axis" all, "axes@1-12" up to 12, "start@15" from 15 on.  What an op's version does not
 * have is refused: a silently ignored attribute is a wrong answer.  No include guard. */

/* one scalar function per element */
O("", "Add",       1, binary, add, "broadcast@1-6 axis@1-6 consumed_inputs@1-5")
O("", "Sub",       1, binary, sub, "broadcast@1-6 axis@1-6 consumed_inputs@1-5")
O("", "Mul",       1, binary, mul, "broadcast@1-6 axis@1-6 consumed_inputs@1-5")
O("", "Div",       1, binary, div, "broadcast@1-6 axis@1-6 consumed_inputs@1-5")
O("", "Sum",       1, variadic, add, "consumed_inputs@1-5")
O("", "Relu",      1, unary, relu,    "consumed_inputs@1-5")
O("", "Sigmoid",   1, unary, sigmoid, "consumed_inputs@1-5")
O("", "Tanh",      1, unary, tanh,    "consumed_inputs@1-5")
O("", "Sqrt",      1, unary, sqrt,    "consumed_inputs@1-5")
O("", "Erf",       9, unary, erf,     "")
O("", "Pow",       1, power, NONE, "broadcast@1-6 axis@1-6")
O("", "Elu",       1, elu,   NONE, "alpha consumed_inputs@1-5")
O("", "Gelu",     20, gelu,  NONE, "approximate")
O("", "Cast",      1, cast,  NONE, "to saturate@19 round_mode@24")

/* sums of products */
O("", "Conv",      1, convolution, NONE, "auto_pad dilations group kernel_shape pads strides")
O("", "MatMul",    1, matmul,      NONE, "")
O("", "Gemm",      1, gemm,        NONE, "alpha beta transA transB broadcast@1-6")

/* windows, rows and statistics */
O("", "MaxPool",     1, max_pool,     NONE, "auto_pad kernel_shape pads strides storage_order@8 ceil_mode@10 dilations@10")
O("", "AveragePool", 1, average_pool, NONE, "auto_pad kernel_shape pads strides count_include_pad@7 ceil_mode@10 dilations@19")
O("", "GlobalAveragePool",  1, global_average_pool, NONE, "")
O("", "ReduceMean",         1, reduce_mean,         NONE, "axes@1-17 keepdims noop_with_empty_axes@18")
O("", "Softmax",            1, softmax,             NONE, "axis")
O("", "BatchNormalization", 1, batch_normalization, NONE,
	"epsilon momentum spatial@1-8 is_test@1-6 consumed_inputs@1-5 training_mode@14")
O("", "LayerNormalization", 17, layer_normalization, NONE, "axis epsilon stash_type")
O("", "LSTM",               1, lstm, NONE,
	"activation_alpha activation_beta activations clip direction hidden_size input_forget layout@14 output_sequence@1-6")

/* elsewhere and otherwise arranged */
O("", "Identity",   1, identity,  NONE, "")
O("", "Dropout",    1, dropout,   NONE, "ratio@1-11 is_test@1-6 seed@12 consumed_inputs@1-5")
O("", "Reshape",    1, reshape,   NONE, "shape@1-4 allowzero@14 consumed_inputs@1-4")
O("", "Flatten",    1, flatten,   NONE, "axis")
O("", "Squeeze",    1, squeeze,   NONE, "axes@1-12")
O("", "Unsqueeze",  1, unsqueeze, NONE, "axes@1-12")
O("", "Transpose",  1, transpose, NONE, "perm")
O("", "Slice",      1, slice,     NONE, "axes@1-9 starts@1-9 ends@1-9")
O("", "Split",      1, split,     NONE, "axis split@1-12 num_outputs@18")
O("", "Concat",     1, concat,    NONE, "axis")
O("", "Expand",     8, expand,    NONE, "")
O("", "Gather",     1, gather,    NONE, "axis")

/* numbers out of nothing */
O("", "Constant",   1, constant_node, NONE,
	"value sparse_value@11 value_float@12 value_floats@12 value_int@12 value_ints@12 value_string@12 value_strings@12")
O("", "ConstantOfShape", 9, constant_of_shape, NONE, "value")
O("", "Shape",      1, shape,     NONE, "start@15 end@15")
O("", "DequantizeLinear", 10, dequantise, NONE, "axis@13 block_size@21 output_dtype@23")

/* our own: what simplification makes of several nodes */
O("ingot", "Gelu",   1, gelu,   NONE, "approximate")
O("ingot", "MatMul", 1, matmul, NONE, "")          /* a third input: a bias for each column */
