"""Single kernels as networks: each a few lines of ONNX text, made into the folder of a case with seeded constants.

A row of KERNELS is (name, ONNX text, constants, oneDNN's words, ingot's extra options).  Constants are among the text's
inputs, which is how it gives their types; they become initialisers.  An int64 input below_N holds places in N elements.  "nhwc" rows hold activations with their channels
last: the transposes around the kernel are layouts to ingot and to OpenVINO, not kernels; the "nchw" row beside is as
networks come.
"""
import os

import numpy as np
import onnx
import onnx.parser

from . import environment, networks

KERNELS = [
	("gemm_256", "(float[256,256] x, float[256,256] weight) => (float[256,256] y) { y = MatMul (x, weight) }",
	 ["weight"], "matmul 256 256 256", []),
	("gemm_512", "(float[512,512] x, float[512,512] weight) => (float[512,512] y) { y = MatMul (x, weight) }",
	 ["weight"], "matmul 512 512 512", []),
	("gemm_128x3072x768",
	 "(float[128,768] x, float[768,3072] weight) => (float[128,3072] y) { y = MatMul (x, weight) }",
	 ["weight"], "matmul 128 3072 768", []),
	("gemm_256_u8s8", """(uint8[256,256] x, int8[256,256] weight) => (int32[256,256] y) <uint8 zero = {12}> {
		y = MatMulInteger (x, weight, zero) }""",
	 ["weight"], None, []),
	("conv3x3_u8s8_nchw", """(uint8[1,64,56,56] x, int8[64,64,3,3] weight) => (int32[1,64,56,56] y) <uint8 zero = {12}> {
		y = ConvInteger <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, weight, zero) }""",
	 ["weight"], None, []),
	# of three dimensions, the first of extent 1: the same sums, but no case for Winograd
	("conv3x3_direct_nhwc",
	 """(float[1,1,56,56,64] x, float[64,64,1,3,3] weight, float[64] bias) => (float[1,1,56,56,64] y) {
		image = Transpose <perm = [0, 4, 1, 2, 3]> (x)
		sum = Conv <kernel_shape = [1, 3, 3], pads = [0, 1, 1, 0, 1, 1]> (image, weight, bias)
		y = Transpose <perm = [0, 2, 3, 4, 1]> (sum) }""",
	 ["weight", "bias"], "conv 64 56 56 64 3 1 1 1 direct nhwc", []),
	("conv3x3_winograd_nhwc",
	 """(float[1,56,56,64] x, float[64,64,3,3] weight, float[64] bias) => (float[1,56,56,64] y) {
		image = Transpose <perm = [0, 3, 1, 2]> (x)
		sum = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (image, weight, bias)
		y = Transpose <perm = [0, 2, 3, 1]> (sum) }""",
	 ["weight", "bias"], "conv 64 56 56 64 3 1 1 1 winograd nhwc", []),
	("conv3x3_nchw", """(float[1,64,56,56] x, float[64,64,3,3] weight, float[64] bias) => (float[1,64,56,56] y) {
		y = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, weight, bias) }""",
	 ["weight", "bias"], "conv 64 56 56 64 3 1 1 1 winograd nchw", []),
	("depthwise3x3_nhwc",
	 """(float[1,112,112,32] x, float[32,1,3,3] weight, float[32] bias) => (float[1,112,112,32] y) {
		image = Transpose <perm = [0, 3, 1, 2]> (x)
		sum = Conv <group = 32, kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (image, weight, bias)
		y = Transpose <perm = [0, 2, 3, 1]> (sum) }""",
	 ["weight", "bias"], "conv 32 112 112 32 3 1 1 32 direct nhwc", []),
	("depthwise3x3_nchw",
	 """(float[1,32,112,112] x, float[32,1,3,3] weight, float[32] bias) => (float[1,32,112,112] y) {
		y = Conv <group = 32, kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, weight, bias) }""",
	 ["weight", "bias"], "conv 32 112 112 32 3 1 1 32 direct nchw", []),
	("maxpool3x3s2_nhwc", """(float[1,112,112,64] x) => (float[1,56,56,64] y) {
		image = Transpose <perm = [0, 3, 1, 2]> (x)
		top = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (image)
		y = Transpose <perm = [0, 2, 3, 1]> (top) }""",
	 [], "maxpool 64 112 112 3 2 1 nhwc", []),
	("maxpool3x3s2_nchw", """(float[1,64,112,112] x) => (float[1,64,56,56] y) {
		y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x) }""",
	 [], "maxpool 64 112 112 3 2 1 nchw", []),
	("elementwise_chain",
	 """(float[1,64,56,56] x, float[1,64,56,56] skip, float[1,64,1,1] scale, float[1,64,1,1] shift) =>
		(float[1,64,56,56] y) {
		product = Mul (x, scale)  sum = Add (product, shift)  both = Add (sum, skip)  y = Relu (both) }""",
	 ["scale", "shift"], "chain 64 56 56", []),
	("gemm_128x4096x4096",
	 "(float[128,4096] x, float[4096,4096] weight) => (float[128,4096] y) { y = MatMul (x, weight) }",
	 ["weight"], "matmul 128 4096 4096", []),
	("copy", "(float[512,512] a, float[512,512] b) => (float[1024,512] y) { y = Concat <axis = 0> (a, b) }",
	 [], None, []),
	("transpose", "(float[1024,512] x) => (float[512,1024] y) { y = Transpose <perm = [1, 0]> (x) }",
	 [], "transpose 1024 512", []),
	("softmax", "(float[128,1024] x) => (float[128,1024] y) { y = Softmax <axis = -1> (x) }",
	 [], "softmax 128 1024", []),
	("attention", """(float[1,128,4,64] q, float[1,128,4,64] k, float[1,128,4,64] v) => (float[1,128,4,64] y) <float scale = {0.125}> {
		queries = Transpose <perm = [0, 2, 1, 3]> (q)  keys = Transpose <perm = [0, 2, 3, 1]> (k)  values = Transpose <perm = [0, 2, 1, 3]> (v)
		scores = MatMul (queries, keys)  scaled = Mul (scores, scale)  weights = Softmax <axis = -1> (scaled)
		heads = MatMul (weights, values)  y = Transpose <perm = [0, 2, 1, 3]> (heads) }""",
	 [], None, []),
	("layer_norm", """(float[128,768] x, float[768] scale, float[768] bias) => (float[128,768] y) {
		y = LayerNormalization <axis = -1, epsilon = 0.00001> (x, scale, bias) }""",
	 ["scale", "bias"], "layernorm 128 768", []),
	("instance_norm", """(float[1,64,56,56] x, float[64] scale, float[64] bias) => (float[1,64,56,56] y) {
		y = InstanceNormalization (x, scale, bias) }""",
	 ["scale", "bias"], None, []),
	("gelu",
	 """(float[128,3072] x) => (float[128,3072] y)
		<float sqrt_two = {1.4142135}, float one = {1.0}, float half = {0.5}> {
		scaled = Div (x, sqrt_two)  erf = Erf (scaled)  above = Add (erf, one)  doubled = Mul (x, above)
		y = Mul (doubled, half) }""",
	 [], "gelu 393216", []),
	# other types than float, in lanes
	("quantize_chain", """(float[65536] x, float[65536] r) => (int8[65536] y) <float s = {0.05}, int8 z = {3}> {
		q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)  a = Add (d, r)  y = QuantizeLinear (a, s, z) }""",
	 [], None, []),
	("dynamic_quantize", "(float[128,768] x) => (uint8[128,768] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear (x) }", [], None, []),
	("less_where", "(float[65536] x, float[65536] t) => (float[65536] y) { l = Less (x, t)  y = Where (l, x, t) }", [], None, []),
	("add_int32", "(int32[65536] x, int32[65536] t) => (int32[65536] y) { y = Add (x, t) }", [], None, []),
	("equal_where_int64", """(int64[65536] below_50, int64[65536] below_51, float[65536] r, float[65536] f) => (float[65536] y) {
		e = Equal (below_50, below_51)  y = Where (e, r, f) }""", [], None, []),
	("cast_uint8", "(uint8[65536] x) => (float[65536] y) { y = Cast <to = 1> (x) }", [], None, []),
	("logic_int32", """(int32[65536] x, int32[65536] t, int32[65536] r) => (bool[65536] y) {
		a = Less (x, t)  b = Less (t, r)  n = Not (b)  y = And (a, n) }""", [], None, []),
	("maxpool2x2s2_u8", "(uint8[1,64,112,112] x) => (uint8[1,64,56,56] y) { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }", [], None, []),
	("topk_few", "(float[256,1000] x) => (float[256,10] y) <int64[1] k = {10}> { y, places = TopK (x, k) }", [], None, []),
	("topk_quarter", "(float[64,4096] x) => (float[64,1024] y) <int64[1] k = {1024}> { y, places = TopK (x, k) }", [], None, []),
	("cumsum_row", "(float[256,1024] x) => (float[256,1024] y) <int64 axis = {1}> { y = CumSum (x, axis) }", [], None, []),
	("cumsum_column", "(float[1024,256] x) => (float[1024,256] y) <int64 axis = {0}> { y = CumSum (x, axis) }", [], None, []),
	("scatter_nd", """(float[4096,64] x, float[2048,1] at, float[2048,64] rows) => (float[4096,64] y) <float far = {1000.0}> {
		scaled = Mul (at, far)  places = Cast <to = 7> (scaled)  y = ScatterND <reduction = "add"> (x, places, rows) }""",
	 [], None, []),
	# a decoder's and a detector's neck, a picture made larger
	("resize_linear_2x", """(float[1,64,64,64] x) => (float[1,64,128,128] y) <float[4] scales = {1.0, 1.0, 2.0, 2.0}> {
		y = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (x, none, scales) }""",
	 [], None, []),
	("resize_nearest_2x", """(float[1,128,40,40] x) => (float[1,128,80,80] y) <float[4] scales = {1.0, 1.0, 2.0, 2.0}> {
		y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, none, scales) }""",
	 [], None, []),
	("resize_cubic_2x", """(float[1,3,224,224] x) => (float[1,3,448,448] y) <float[4] scales = {1.0, 1.0, 2.0, 2.0}> {
		y = Resize <mode = "cubic", coordinate_transformation_mode = "half_pixel"> (x, none, scales) }""",
	 [], None, []),
	# a U-Net's step up, a generator's
	("conv_transpose2x2s2", """(float[1,128,32,32] x, float[128,64,2,2] weight, float[64] bias) => (float[1,64,64,64] y) {
		y = ConvTranspose <kernel_shape = [2, 2], strides = [2, 2]> (x, weight, bias) }""",
	 ["weight", "bias"], None, []),
	("conv_transpose4x4s2", """(float[1,128,16,16] x, float[128,64,4,4] weight, float[64] bias) => (float[1,64,32,32] y) {
		y = ConvTranspose <kernel_shape = [4, 4], strides = [2, 2], pads = [1, 1, 1, 1]> (x, weight, bias) }""",
	 ["weight", "bias"], None, []),
	("conv3x3_f16", """(float16[1,64,56,56] x, float16[64,64,3,3] weight, float16[64] bias) => (float16[1,64,56,56] y) {
		y = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, weight, bias) }""",
	 ["weight", "bias"], None, []),
	# the best boxes of a detector, a picture warped by a flow
	("gather_elements", """(float[1,8400,84] x, int64[1,300,84] below_8400) => (float[1,300,84] y) {
		y = GatherElements <axis = 1> (x, below_8400) }""",
	 [], None, []),
	("gather_elements_row", """(float[64,1024] x, int64[64,1024] below_1024) => (float[64,1024] y) {
		y = GatherElements <axis = 1> (x, below_1024) }""",
	 [], None, []),
	("grid_sample", """(float[1,32,64,64] x, float[1,64,64,2] grid) => (float[1,32,64,64] y) {
		y = GridSample <mode = "bilinear", padding_mode = "zeros"> (x, grid) }""",
	 [], None, []),
	("gru_steps", """(float[32,1,128] x, float[1,1,128] hidden, float[1,384,128] weight, float[1,384,128] recurrent, float[1,768] bias) =>
		(float[32,1,1,128] states, float[1,1,128] hidden_next) {
		states, hidden_next = GRU <hidden_size = 128, linear_before_reset = 1> (x, weight, recurrent, bias, none, hidden) }""",
	 ["weight", "recurrent", "bias"], None, []),
	("lstm_step", """(float[1,1,128] x, float[1,1,128] hidden, float[1,1,128] cell, float[1,512,128] weight,
		float[1,512,128] recurrent, float[1,1024] bias) => (float[1,1,128] hidden_next, float[1,1,128] cell_next) {
		steps, hidden_next, cell_next = LSTM <hidden_size = 128> (x, weight, recurrent, bias, none, hidden, cell) }""",
	 ["weight", "recurrent", "bias"], "lstm 128 128", []),
]
# The matrices' rows and filters are summed: keep the sums near 1.
SPREAD = {"weight": 0.1, "recurrent": 0.1, "bias": 0.1}
SPREAD_AT_RUN_TIME = {"grid": 1.0}                        # all of the picture, no more


class Kernel(networks.Case):
	def __init__(self, folder, name, constants, onednn, options, without=()):
		super().__init__(folder, os.path.join(folder, "model.onnx"), name)
		self.constants, self.onednn, self.options = constants, onednn, options
		self.without = without                          # engines that compute something else


def make(folder, row):
	"""Writes the case of a row and returns it."""
	import sys
	sys.path.insert(0, os.path.join(environment.ROOT, "examples"))
	import seeded
	name, text, constants, onednn, options = row
	model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17], producer_name: "ingot">\n{name} {text}')
	for node in model.graph.node:                       # the text has no word for an input that is left out
		node.input[:] = ["" if i == "none" else i for i in node.input]
	kept, arrays = [], {}
	for value in model.graph.input:
		dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
		spread = SPREAD.get(value.name, 1.0) if value.name in constants else SPREAD_AT_RUN_TIME.get(value.name, 2.0)
		elem = value.type.tensor_type.elem_type
		bytes_of = {onnx.TensorProto.UINT8: np.uint8, onnx.TensorProto.INT8: np.int8}.get(elem)
		if elem == onnx.TensorProto.INT64:
			arrays[value.name] = np.floor(seeded.uniform(value.name, int(np.prod(dims))) * int(value.name.split("_")[1])).astype(np.int64).reshape(dims)
		elif bytes_of:                                # all that a byte can be
			low = np.iinfo(bytes_of).min
			arrays[value.name] = np.floor(seeded.tensor(value.name, dims, low, low + 255.99)).astype(bytes_of)
		else:
			low, high = (0.5, 1.5) if value.name == "variance" else (-spread, spread)
			arrays[value.name] = seeded.tensor(value.name, dims, low, high).astype(onnx.helper.tensor_dtype_to_np_dtype(elem))
		if value.name in constants:
			model.graph.initializer.append(onnx.numpy_helper.from_array(arrays[value.name], value.name))
		else:
			kept.append(value)
	del model.graph.input[:]
	model.graph.input.extend(kept)
	onnx.checker.check_model(model, full_check=True)
	os.makedirs(folder)
	path = os.path.join(folder, "model.onnx")
	onnx.save(model, path)
	feeds = {value.name: arrays[value.name] for value in kept}
	outputs, made_by = seeded.reference(path, feeds)
	seeded.write_case(folder, feeds, outputs, made_by)
	return Kernel(folder, name, [arrays[c] for c in constants], onednn, options)
