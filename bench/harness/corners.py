"""Lines of corners.tsv -> cases: models made by onnx.helper, with seeded inputs and constants; the table of their races."""
import json
import os
import re
import statistics
import sys

from . import environment, report

LIST = os.path.join(environment.ROOT, "bench", "harness", "corners.tsv")
TYPES = {"f16": "float16", "f32": "float32", "f64": "float64", "i8": "int8", "u8": "uint8", "i32": "int32",
         "i64": "int64", "bool": "bool"}
OPSET, SPREAD, SPREAD_OF_CONSTANTS = 17, 2.0, 0.1
OPERAND = re.compile(r"(\w+)([:=])(\w+)\[([\d,]*)\](?:\{(.*)\}|(-?[\d.]+)\.\.(-?[\d.]+))?$")
NODE = re.compile(r"([\w, ]+) = (\w+)\(([\w, -]*)\)$")


def blocks():
	"""Each line of the list: name, operator, inputs, attributes, network."""
	with open(LIST) as f:
		return [line.rstrip("\n").split("\t") for line in f if line[0] != "#"]


def operand(text):
	"""NAME:TYPE[DIMS], NAME=TYPE[DIMS] and what is behind it: its name, its array, whether it is constant."""
	import numpy as np
	import seeded
	name, kind, word, dims, values, low, high = OPERAND.match(text).groups()
	dims = [int(d) for d in dims.split(",") if d]
	count, of = int(np.prod(dims, dtype=np.int64)), np.dtype(TYPES[word])
	if values is not None:
		return name, np.array([float(v) for v in values.split(",")]).astype(of).reshape(dims), kind == "="
	drawn = seeded.uniform(name, count).reshape(dims)
	if low is not None:
		low, high = float(low), float(high)
	elif of.kind == "f":
		high = SPREAD_OF_CONSTANTS if kind == "=" else SPREAD
		low = -high
	else:
		low, high = (0, 2) if of.kind == "b" else (np.iinfo(of).min, np.iinfo(of).max) if of.itemsize == 1 else (0, 100)
	drawn = low + (high - low) * drawn
	return name, (drawn if of.kind == "f" else np.floor(drawn)).astype(of), kind == "="


def attribute(text):
	"""A number, numbers parted by commas, or a word."""
	parts = text.split(",")
	try:
		numbers = [float(p) if "." in p else int(p) for p in parts]
	except ValueError:
		return text
	return numbers[0] if len(parts) == 1 else numbers


NAMES = ("ingot", "ingot_jit", "onnxruntime", "openvino")
PLURAL = ("kernel_shape", "pads", "strides", "dilations", "output_padding", "axes", "pooled_shape")       # also of one number


def attributes_of(text):
	"""By node (all that the operator has: ""), and then by name."""
	said = {}
	for word in text.split():
		name, value = word.split("=", 1)
		node, _, name = name.rpartition(".")
		value = attribute(value)
		said.setdefault(node, {})[name] = [value] if name in PLURAL and not isinstance(value, list) else value
	return said


def nodes_of(operator, operands, said):
	"""The block's nodes."""
	from onnx import helper
	if "(" not in operator:
		operator = f"y = {operator}({', '.join(operands)})"
	texts, nodes = operator.split("; "), []
	for text in texts:
		outs, op, ins = NODE.match(text).groups()
		outs = outs.split(", ")
		own = said.get(outs[0]) or (said.get("", {}) if len(texts) == 1 else {})
		nodes.append(helper.make_node(op, ["" if i == "-" else i for i in ins.split(", ") if i], outs, **own))
	return nodes


def make(folder, block):
	"""Writes the case of a block and returns it."""
	name, operator, inputs, attributes, _ = block
	import onnx
	from onnx import helper, numpy_helper
	from . import forests, kernels
	sys.path.insert(0, os.path.join(environment.ROOT, "examples"))
	import seeded
	operands = {}
	for word in inputs.split():
		operands[word if word == "-" else OPERAND.match(word).group(1)] = None if word == "-" else operand(word)[1:]
	said = attributes_of(attributes)
	opset, step = said.get("", {}).pop("opset", OPSET), said.get("", {}).pop("step", None)
	if operator == "Forest":
		nodes = [forests.node(operands["x"][0].shape[1], **said[""])]
	else:
		nodes = nodes_of(operator, operands, said)
	read = {i for node in nodes for i in node.input}
	outs = [o for node in nodes for o in node.output if o not in read]
	value = lambda name, array: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
	given = {name: one for name, one in operands.items() if one}
	feeds = {name: array for name, (array, constant) in given.items() if not constant}
	constants = {name: array for name, (array, constant) in given.items() if constant}

	def model(outputs):
		graph = helper.make_graph(nodes, "block", [value(*one) for one in feeds.items()], outputs,
		                          [numpy_helper.from_array(array, name) for name, array in constants.items()])
		made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)], producer_name="ingot")
		made.ir_version = 10
		return made

	os.makedirs(folder)
	path = os.path.join(folder, "model.onnx")
	onnx.save(model([onnx.ValueInfoProto(name=o) for o in outs]), path)
	try:
		outputs, made_by = seeded.reference(path, feeds)
	except Exception as error:                            # onnxruntime has no kernel: ONNX's own evaluation
		from onnx.reference import ReferenceEvaluator
		outputs = dict(zip(outs, ReferenceEvaluator(path).run(outs, feeds)))
		made_by = f"onnx {onnx.__version__}"
	onnx.save(model([value(*one) for one in outputs.items()]), path)
	seeded.write_case(folder, feeds, outputs, made_by)
	if step:                                              # of what is quantised: one of them either way is right
		told = os.path.join(folder, "io.json")
		with open(told) as f:
			io = json.load(f)
		for out in io["outputs"]:
			out["atol"] = 1.01 * step
		with open(told, "w") as f:
			json.dump(io, f, indent=1)
	double = any(array.dtype == "float64" for array, _ in given.values())
	return kernels.Kernel(folder, name, list(constants.values()), None, [], ("openvino",) if double else ())


def limit(row):
	"""The share of the limit that binds; None where it was not measured."""
	shares = [s for s in (row.get("share", {}).get("fma"), row.get("share", {}).get("bandwidth")) if s]
	return max(shares) if shares else None


class Table:
	"""networks: where each block is from, by its name."""
	def __init__(self, networks):
		self.networks = networks
		print("| block | network | ingot µs | JIT µs | onnxruntime µs | OpenVINO µs | ingot / faster peer | of the limit | JIT / ingot | code | constants |\n"
		      "|---|---|---|---|---|---|---|---|---|---|---|")

	def row(self, row):
		least = {n: row[n]["least"] for n in NAMES if "least" in row.get(n, {})}
		times = [report.micro(least[n]) if n in least else report.cell(row.get(n)) for n in NAMES]
		jit = least["ingot_jit"] / least["ingot"] if "ingot" in least and "ingot_jit" in least else None
		number = lambda value, form: form % value if value is not None else "-"
		print("|", " | ".join([row["name"], self.networks.get(row["name"], "-"), *times, number(row["ratio"], "%.2f"), report.percent(limit(row)),
		                       number(jit, "%.2f"), number(row.get("code_bytes"), "%d"), number(row.get("weights_bytes"), "%d")]), "|", flush=True)


def gains(row):
	"""Two threads' time over one's: as it was measured, and by the longest way through what they share (bench/engines/parts.c), which
	other work on the machine does not disturb; None where it was not measured."""
	alone = row.get("ingot-1", {}).get("least")
	return [time / alone if time and alone else None for time in (row.get("ingot", {}).get("least"), row.get("ingot_parts", {}).get("path"))]


class Shared:
	"""What a second thread gives: the library's and the peers' times at one and at two."""
	def __init__(self, networks):
		self.networks = networks
		print("| block | network | one thread µs | two µs | two / one | by parts | forks | onnxruntime µs, one; two | OpenVINO µs, one; two | ingot / fastest peer |\n"
		      "|---|---|---|---|---|---|---|---|---|---|")

	def row(self, row):
		time = lambda name: report.micro(row[name]["least"]) if "least" in row.get(name, {}) else report.cell(row.get(name))
		number = lambda value: f"{value:.2f}" if value else "-"
		print("|", " | ".join([row["name"], self.networks.get(row["name"], "-"), time("ingot-1"), time("ingot"), *map(number, gains(row)),
		                       str(row.get("ingot_parts", {}).get("forks", "-")), *(f"{time(f'{peer}-1')}; {time(peer)}" for peer in ("onnxruntime", "openvino")),
		                       number(row["ratio"])]), "|", flush=True)


LONG, SHARED = 100, 0.65


def shared(raced):
	"""Prints what docs/performance-parts.md has of two threads: blocks of more than LONG µs with one, their means, and those above SHARED."""
	rows = sorted((row for row in raced if all(gains(row)) and row["ingot-1"]["least"] > LONG), key=lambda row: -gains(row)[1])
	if not rows:
		return
	means = [statistics.geometric_mean(values) for values in zip(*map(gains, rows))]
	above = [sum(value > SHARED for value in values) for values in zip(*map(gains, rows))]
	print(f"\n{len(rows)} blocks above {LONG} µs: two threads take {means[0]:.3f} of one's time (geometric mean), {above[0]} more than {SHARED}; "
	      f"by parts {means[1]:.3f}, {above[1]} more; {report.geomean(rows) or 0:.3f} of the fastest peer's time.\n\n"
	      f"| above {SHARED} | one thread µs | two µs | two / one | by parts |\n|---|---|---|---|---|")
	for row in rows:
		if max(gains(row)) > SHARED:
			print("|", " | ".join([row["name"], *(report.micro(row[name]["least"]) for name in ("ingot-1", "ingot")), *(f"{value:.2f}" for value in gains(row))]), "|")


def page(raced, count=20):
	"""Prints what docs/performance-parts.md has of a race: how many, their mean, and the worst."""
	ratios = sorted((row for row in raced if row["ratio"]), key=lambda row: -row["ratio"])
	if not ratios:
		return
	above = lambda least: sum(row["ratio"] > least for row in ratios)
	print(f"\n{len(raced)} blocks, {len(ratios)} with a peer: geometric mean {report.geomean(raced):.3f}, {above(1)} above 1.0, "
	      f"{above(report.SLOWER)} above {report.SLOWER}, {above(2)} above 2.\n\n"
	      f"| the worst {min(count, len(ratios))} | µs | fastest peer | µs | ratio | of the limit |\n|---|---|---|---|---|---|")
	for row in ratios[:count]:
		print("|", " | ".join([row["name"], report.micro(row["ingot"]["least"]), row["fastest"], report.micro(row[row["fastest"]]["least"]),
		                       f"{row['ratio']:.2f}", report.percent(limit(row))]), "|")
