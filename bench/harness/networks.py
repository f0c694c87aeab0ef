"""Cases: where they lie, what their models cost, and the copies of a model that the peers like best."""
import glob
import hashlib
import math
import os
import subprocess
import sys

import onnx

from . import environment

# The last Gemm's gain, which keeps the closing Softmax away from 0 and 1: cases/light/README.
GAINS = {"resnet50": "0.003", "shufflenet": "0.00002", "squeezenet": "1"}
EIGHT = ("mnist_onnx2c", "mlperf_ad_f32", "mlperf_kws_f32", "mlperf_ic_f32", "mjp_go1", "dtln_1", "resnet50",
         "transformer")


class Case:
	"""A folder with in_I.npy, out_I.npy and io.json, and the path of its model."""
	constants, onednn, options = (), None, []            # a kernel has them: kernels.py

	def __init__(self, folder, model, name=None):
		self.folder, self.model, self.name = folder, model, name or os.path.basename(folder)


def light(folder):
	"""A light network: its graph with seeded weights, made into the cache."""
	name = os.path.basename(folder)
	source, script = os.path.join(folder, f"light_{name}.onnx"), os.path.join(os.path.dirname(folder), "mklight.py")
	gain = GAINS.get(name, "1")
	key = hashlib.sha256(gain.encode())
	for path in (source, script):
		with open(path, "rb") as f:
			key.update(f.read())
	path = os.path.join(environment.cache(), "light", f"{name}-{key.hexdigest()[:12]}.onnx")
	if not os.path.exists(path):
		print(f"making the weights of {name} ...", file=sys.stderr)
		os.makedirs(os.path.dirname(path), exist_ok=True)
		run = subprocess.run([sys.executable, script, source, path + ".part", gain])
		if run.returncode:
			environment.lack(f"cannot make the weights of {name}: {script} exit {run.returncode}")
		os.replace(path + ".part", path)
	return Case(folder, path)


def transformer():
	"""examples/transformer, made into the cache; its folder appears whole."""
	script = os.path.join(environment.ROOT, "examples", "transformer", "make.py")
	key = hashlib.sha256()
	for path in (script, os.path.join(os.path.dirname(script), "transformer.onnxtxt"),
	             os.path.join(environment.ROOT, "examples", "seeded.py")):
		with open(path, "rb") as f:
			key.update(f.read())
	folder = os.path.join(environment.cache(), f"transformer-{key.hexdigest()[:12]}")
	if not os.path.exists(folder):
		part = f"{folder}.part{os.getpid()}"
		if subprocess.run([sys.executable, script, part]).returncode:
			environment.lack(f"cannot make the transformer: {script} failed")
		os.rename(part, folder)
	return Case(folder, os.path.join(folder, "model.onnx"), "transformer")


def case(folder):
	"""The case in a folder, or None where there is none."""
	folder = os.path.abspath(folder)
	if not os.path.exists(os.path.join(folder, "io.json")):
		return None
	model = os.path.join(folder, "model.onnx")
	if os.path.exists(model):
		return Case(folder, model)
	if os.path.exists(os.path.join(folder, f"light_{os.path.basename(folder)}.onnx")):
		return light(folder)
	return None


def eight(only=()):
	for name in EIGHT:
		if not environment.wanted(name, only):
			continue
		if name == "transformer":
			yield transformer()
		elif name == "resnet50":
			yield light(environment.cases("light", name))
		else:
			yield case(environment.cases("models", name))


def architectures(only=()):
	"""Networks of harness/architectures.py, made into the cache."""
	from . import architectures as drawn
	with open(drawn.__file__, "rb") as f:
		root = os.path.join(environment.cache(), f"architectures-{hashlib.sha256(f.read()).hexdigest()[:12]}")
	for build in drawn.ARCHITECTURES:
		folder = os.path.join(root, build.__name__)
		if not environment.wanted(build.__name__, only):
			continue
		if not os.path.exists(folder):
			print(f"making {build.__name__} ...", file=sys.stderr)
			drawn.write(build, f"{folder}.part{os.getpid()}")
			os.rename(f"{folder}.part{os.getpid()}", folder)
		yield case(folder)


def quantised(only=()):
	"""int8 networks of the cases, and float ones that onnxruntime's quantiser has made such, into the cache."""
	for name in ("mlperf_ic_i8", "mlperf_vww_i8", "kws_micro_m_qdq"):
		if environment.wanted(name, only):
			yield case(environment.cases("models", name))
	from . import quantised as made
	with open(made.__file__, "rb") as f:
		key = hashlib.sha256(f.read()).hexdigest()[:12]
	for name, kind in (("mobilenet_v2", "i8"), ("resnet50", "i8"), ("bert", "i8"), ("bert", "dynamic"), ("speech_lstm", "dynamic")):
		if not environment.wanted(f"{name}_{kind}", only):
			continue
		source = light(environment.cases("light", name)) if name == "resnet50" else next(architectures([name]))
		with open(source.model, "rb") as f:
			folder = os.path.join(environment.cache(), f"quantised-{key}-{hashlib.sha256(f.read()).hexdigest()[:12]}", f"{name}_{kind}")
		if not os.path.exists(folder):
			print(f"making {name}_{kind} ...", file=sys.stderr)
			part = f"{folder}.part{os.getpid()}"
			made.write(source, part, kind == "dynamic")
			os.rename(part, folder)
		yield case(folder)


def below(folders, only=()):
	"""The cases in folders of cases (or folders that are cases themselves); `only` keeps those whose names match."""
	for root in folders:
		if not os.path.isdir(root):
			environment.usage(f"{root}: no folder of cases")
		inner = [root]
		if not os.path.exists(os.path.join(root, "io.json")):
			inner = sorted(glob.glob(os.path.join(root, "*", "")))
		found = [c for c in (os.path.abspath(f) for f in inner) if environment.wanted(os.path.basename(c), only)]
		yield from filter(None, map(case, found))


def peer_copies(path, io, work):
	"""Writes peer.onnx as a peer likes it best, constants no inputs and every dimension known, and open.onnx with the
	open dimensions, if there are any, in case a peer cannot run the former.

	From IR version 4 on onnxruntime takes an initialiser that is also an input for a variable, and folds nothing.
	Returns the model, its symbols with their values, and whether a dimension is open without a name.
	"""
	model, symbols, unnamed = onnx.load(path), {}, False
	constants = {t.name for t in model.graph.initializer}
	inputs = [i for i in model.graph.input if i.name not in constants]
	del model.graph.input[:]
	model.graph.input.extend(inputs)
	model.ir_version = max(model.ir_version, 4)
	onnx.save(model, os.path.join(work, "open.onnx"))
	for value, spec in zip(model.graph.input, io["inputs"]):
		for dim, n in zip(value.type.tensor_type.shape.dim, spec["dims"]):
			if dim.dim_param:
				symbols[dim.dim_param] = n
			unnamed |= not dim.dim_param and dim.dim_value != n
			dim.dim_value = n
	for value, spec in zip(model.graph.output, io["outputs"]):
		for dim, n in zip(value.type.tensor_type.shape.dim, spec["dims"]):
			dim.dim_value = n
	del model.graph.value_info[:]                   # they may name the open dimensions
	onnx.save(model, os.path.join(work, "peer.onnx"))
	if not symbols and not unnamed:
		os.remove(os.path.join(work, "open.onnx"))
	return model, symbols, unnamed


def shapes(model):
	graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
	known = {t.name: list(t.dims) for t in graph.initializer}
	for v in [*graph.value_info, *graph.input, *graph.output]:
		known[v.name] = [d.dim_value for d in v.type.tensor_type.shape.dim]
	return graph, known


def attribute(node, name, default):
	for a in node.attribute:
		if a.name == name:
			return onnx.helper.get_attribute_value(a)
	return default


def macs(model):
	"""Multiply-accumulates of Conv, ConvTranspose, Gemm, MatMul and LSTM; None where others matter or a shape is not known."""
	try:
		graph, shape = shapes(model)
		total = 0
		for n in graph.node:
			if n.op_type == "Conv":
				total += math.prod(shape[n.output[0]]) * math.prod(shape[n.input[1]][1:])
			elif n.op_type in ("Gemm", "MatMul"):
				total += math.prod(shape[n.output[0]]) * shape[n.input[0]][0 if attribute(n, "transA", 0) else -1]
			elif n.op_type == "LSTM":
				(steps, batch, width), (directions, rows, _) = shape[n.input[0]], shape[n.input[1]]
				total += steps * batch * directions * rows * (width + rows // 4)
			elif n.op_type == "ConvTranspose":
				total += math.prod(shape[n.input[0]]) * math.prod(shape[n.input[1]][1:])
			elif n.op_type in ("GRU", "RNN", "Einsum", "If", "Loop", "Scan"):
				return None
	except (KeyError, IndexError, ValueError, onnx.shape_inference.InferenceError):
		return None
	return total or None


def constant_bytes(model):
	"""Bytes of all constants: each must be read once at least."""
	tensors = [*model.graph.initializer]
	tensors += [a.t for n in model.graph.node if n.op_type == "Constant" for a in n.attribute if a.name == "value"]
	return sum(onnx.numpy_helper.to_array(t).nbytes for t in tensors)


def is_quantised(model):
	kinds = {n.op_type for n in model.graph.node}
	return any(k.startswith("QLinear") or k.endswith("Integer") or k in ("QuantizeLinear", "DynamicQuantizeLinear")
	           for k in kinds)
