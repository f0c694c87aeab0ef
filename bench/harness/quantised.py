"""Quantised networks: float ones as onnxruntime's quantiser leaves them, activations uint8, weights int8 by channel, QDQ pairs.

They are calibrated on drawn inputs.  What onnxruntime makes of the pairs without optimisations, in float, is what others are held against.
"""
import json
import os
import shutil

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from onnxruntime import quantization

DRAWS = 4
NEAR = 0.05        # of the largest output: a sum that is rounded to the next of 256 steps goes on through all layers behind it


class Draws(quantization.CalibrationDataReader):
	"""The case's inputs, and others like them."""

	def __init__(self, feeds, seed):
		random = np.random.default_rng(seed)
		others = [{name: random.standard_normal(x.shape).astype(x.dtype) if x.dtype.kind == "f" else random.permutation(x, x.ndim - 1)
		           for name, x in feeds.items()} for _ in range(DRAWS - 1)]
		self.left = iter([feeds, *others])

	def get_next(self):
		return next(self.left, None)


def prepare(source, path):
	"""As the quantiser wants a model: scales by channel, which opset 13 has, and batch norms folded into convolutions.  Without a Softmax at
	the end, whose exponents make a large difference of a step.
	"""
	model = onnx.load(source)
	constants = {t.name for t in model.graph.initializer}
	inputs = [i for i in model.graph.input if i.name not in constants]
	del model.graph.input[:]
	model.graph.input.extend(inputs)
	model.ir_version = max(model.ir_version, 8)
	last = model.graph.node[-1]
	if last.op_type == "Softmax" and last.output[0] == model.graph.output[0].name:
		model.graph.node.remove(last)
		model.graph.output[0].name = last.input[0]
	if model.opset_import[0].version < 13:
		model = onnx.version_converter.convert_version(model, 13)
	options = onnxruntime.SessionOptions()
	options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
	options.optimized_model_filepath = path
	onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def write(source, folder, dynamic=False):
	"""The quantised network of a case, as a case; source: a case of float.  dynamic: activations by their own range, in each call."""
	os.makedirs(folder)
	with open(os.path.join(source.folder, "io.json")) as f:
		io = json.load(f)
	for spec in io["inputs"]:
		shutil.copy(os.path.join(source.folder, spec["file"]), folder)
	feeds = {spec["name"]: np.load(os.path.join(folder, spec["file"])) for spec in io["inputs"]}
	model = os.path.join(folder, "model.onnx")
	prepare(source.model, model + ".float")
	if dynamic:
		quantization.quantize_dynamic(model + ".float", model, per_channel=True, weight_type=quantization.QuantType.QInt8, op_types_to_quantize=["MatMul", "Gemm", "LSTM", "Attention"])
	else:
		quantization.quantize_static(model + ".float", model, Draws(feeds, 1), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
			activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)
	os.remove(model + ".float")
	options = onnxruntime.SessionOptions()
	options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
	session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
	for i, (spec, info, value) in enumerate(zip(io["outputs"], session.get_outputs(), session.run(None, feeds))):
		np.save(os.path.join(folder, f"out_{i}.npy"), value)
		spec.update(name=info.name, type=str(value.dtype), dims=list(value.shape), file=f"out_{i}.npy", atol=float(NEAR * np.abs(value).max()))
	with open(os.path.join(folder, "io.json"), "w") as f:
		json.dump(io, f, indent=1)
