#!/usr/bin/env python3
"""Fills the weights of transformer.onnxtxt and writes the case.

usage: make.py DIR

DIR receives transformer.onnxtxt and weights.bin (the text names its weights as external data, so the two are a model
already), model.onnx with the weights inside, in_0.npy, out_0.npy and io.json.  The weights are seeded, the reference is
onnxruntime's.  Needs onnx, numpy and onnxruntime.
"""
import os
import shutil
import sys

import numpy as np
import onnx
import onnx.parser

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import seeded


def weights(name, dims):
	"""By the last word of the name: scales about one, biases about zero, matrices that keep variance as it is."""
	kind = name.rsplit("_", 1)[1]
	if kind == "scale":
		return seeded.tensor(name, dims, 0.8, 1.2)
	if kind == "bias":
		return seeded.tensor(name, dims, -0.1, 0.1)
	bound = np.sqrt(3.0 / dims[0])
	return seeded.tensor(name, dims, -bound, bound)


def make(folder):
	os.makedirs(folder, exist_ok=True)
	source = os.path.join(HERE, "transformer.onnxtxt")
	shutil.copyfile(source, os.path.join(folder, "transformer.onnxtxt"))
	with open(source) as f:
		model = onnx.parser.parse_model(f.read())
	with open(os.path.join(folder, "weights.bin"), "wb") as f:
		for entry in model.graph.initializer:
			if entry.data_location != onnx.TensorProto.EXTERNAL:
				continue
			place = {pair.key: pair.value for pair in entry.external_data}
			raw = weights(entry.name, list(entry.dims)).astype("<f4").tobytes()
			assert (f.tell(), len(raw)) == (int(place["offset"]), int(place["length"])), entry.name
			f.write(raw)
			entry.ClearField("external_data")
			entry.data_location = onnx.TensorProto.DEFAULT
			entry.raw_data = raw
	onnx.checker.check_model(model, full_check=True)
	path = os.path.join(folder, "model.onnx")
	onnx.save(model, path)
	feeds = {v.name: seeded.tensor(v.name, [d.dim_value for d in v.type.tensor_type.shape.dim], -2, 2)
	         for v in model.graph.input}
	outputs, made_by = seeded.reference(path, feeds)
	seeded.write_case(folder, feeds, outputs, made_by)


if __name__ == "__main__":
	if len(sys.argv) != 2:
		sys.exit(__doc__.split("\n\n")[1])
	make(sys.argv[1])
