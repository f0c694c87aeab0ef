"""Seeded numbers and the folder of a case: what the examples and the benches share.

Element i of a tensor is drawn from output i of splitmix64, whose seed is SEED xor the FNV-1a hash (64 bit) of the
tensor's name; u = the top 53 bits / 2^53.  So the numbers depend on names and shapes alone: the same on every machine
and numpy.  A case is a folder with model.onnx, in_I.npy, out_I.npy and io.json; `ingot check` and bench/race read it.
"""
import json
import os

import numpy as np

MASK = 2**64 - 1


def fnv1a(text):
	h = 0xcbf29ce484222325
	for c in text.encode():
		h = ((h ^ c) * 0x100000001b3) & MASK
	return h


def uniform(name, count, seed=1):
	"""count doubles in [0, 1)."""
	start = np.uint64((fnv1a(name) ^ seed) & MASK)
	z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + start
	z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
	z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
	z ^= z >> np.uint64(31)
	return (z >> np.uint64(11)).astype(np.float64) / 9007199254740992.0


def tensor(name, dims, low, high, seed=1):
	"""A float32 tensor of values in [low, high)."""
	return (low + (high - low) * uniform(name, int(np.prod(dims)), seed)).astype(np.float32).reshape(dims)


def tolerance(array):
	"""The absolute error a float output may have: 1e-4 of its largest element (of float16 2e-3), plus 1e-6 where that is >= 1e-3."""
	finite = np.abs(array[np.isfinite(array)])
	top = float(finite.max()) if finite.size else 0.0
	return (1e-4 if array.itemsize > 2 else 2e-3) * top + (1e-6 if top >= 1e-3 else 0.0)


def reference(path, feeds):
	"""onnxruntime's outputs, one thread, graph optimisations on; and its version as text."""
	import onnxruntime

	options = onnxruntime.SessionOptions()
	options.intra_op_num_threads = 1
	options.log_severity_level = 3
	session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
	names = [output.name for output in session.get_outputs()]
	return dict(zip(names, session.run(names, feeds))), f"onnxruntime {onnxruntime.__version__}"


def write_case(folder, feeds, outputs, made_by, seed=1):
	"""Writes in_I.npy, out_I.npy and io.json beside a model.onnx that is already there."""
	io = {"inputs": [], "outputs": [], "seed": seed, "made_by": made_by}
	for side, stem, tensors in (("inputs", "in", feeds), ("outputs", "out", outputs)):
		for i, (name, array) in enumerate(tensors.items()):
			row = {"name": name, "type": array.dtype.name, "dims": list(array.shape), "file": f"{stem}_{i}.npy"}
			if side == "outputs":
				row["atol"] = tolerance(array) if array.dtype.kind == "f" else 0
			np.save(os.path.join(folder, row["file"]), np.ascontiguousarray(array))
			io[side].append(row)
	with open(os.path.join(folder, "io.json"), "w") as f:
		json.dump(io, f, indent=1)
		f.write("\n")
