"""Networks of well known architectures with seeded weights: what users bring, beyond the eight.

Each is a function that builds a Net; weights are drawn so that activations keep their size, batch norms stand folded (a bias), as exporters
leave them.  Depths are cut where blocks only repeat: what counts is each kind of block at its true extents.
"""
import json
import os

import numpy as np
import onnx
from onnx import helper, numpy_helper


class Net:
	"""A graph that grows node by node; a tensor is its name, its shape is in `shape`."""

	def __init__(self, seed):
		self.random = np.random.default_rng(seed)
		self.nodes, self.weights, self.inputs, self.outputs, self.shape, self.count = [], [], [], [], {}, 0

	def input(self, name, *shape, type=onnx.TensorProto.FLOAT):
		self.inputs.append(helper.make_tensor_value_info(name, type, shape))
		self.shape[name] = list(shape)
		return name

	def constant(self, value):
		name = f"w{len(self.weights)}"
		self.weights.append(numpy_helper.from_array(np.array(value, order="C"), name))
		self.shape[name] = list(value.shape)
		return name

	def weight(self, *shape, fan=None):
		fan = fan or int(np.prod(shape[1:]))
		return self.constant((self.random.standard_normal(shape) * np.sqrt(1.6 / fan)).astype(np.float32))

	def scalars(self, *values):
		return self.constant(np.array(values, np.float32))

	def integers(self, *values):
		return self.constant(np.array(values, np.int64))

	def node(self, op, *inputs, shape=None, outputs=1, **attributes):
		names = [f"t{self.count + i}" for i in range(outputs)]
		self.count += outputs
		self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
		for name in names:
			self.shape[name] = list(shape if shape is not None else self.shape[inputs[0]])
		return names[0] if outputs == 1 else names

	# ---- layers ----
	def act(self, x, kind):
		if kind == "silu":
			return self.node("Mul", x, self.node("Sigmoid", x))
		if kind == "hswish":
			return self.node("HardSwish", x)
		if kind == "relu6":
			return self.node("Clip", x, self.constant(np.float32(0)), self.constant(np.float32(6)))
		if kind == "gelu":
			half = self.node("Add", self.node("Erf", self.node("Div", x, self.constant(np.float32(2 ** .5)))), self.constant(np.float32(1)))
			return self.node("Mul", self.node("Mul", x, half), self.constant(np.float32(.5)))
		return self.node(kind, x) if kind else x

	def conv(self, x, outputs, size=1, stride=1, act=None, groups=1, dilation=1, pad=None):
		n, c, *image = self.shape[x]
		pad = dilation * (size // 2) if pad is None else pad
		after = [(e + 2 * pad - dilation * (size - 1) - 1) // stride + 1 for e in image]
		y = self.node("Conv", x, self.weight(outputs, c // groups, *[size] * len(image)), self.weight(outputs, fan=100), shape=[n, outputs, *after],
			kernel_shape=[size] * len(image), strides=[stride] * len(image), pads=[pad] * 2 * len(image), dilations=[dilation] * len(image), group=groups)
		return self.act(y, act)

	def up(self, x, outputs, size, stride, pad=0, act=None):
		n, c, *image = self.shape[x]
		after = [(e - 1) * stride + size - 2 * pad for e in image]
		y = self.node("ConvTranspose", x, self.weight(c, outputs, *[size] * len(image), fan=c * size), self.weight(outputs, fan=100), shape=[n, outputs, *after],
			kernel_shape=[size] * len(image), strides=[stride] * len(image), pads=[pad] * 2 * len(image))
		return self.act(y, act)

	def pool(self, x, kind, size, stride, pad=0):
		n, c, *image = self.shape[x]
		return self.node(kind, x, shape=[n, c, *[(e + 2 * pad - size) // stride + 1 for e in image]],
			kernel_shape=[size] * len(image), strides=[stride] * len(image), pads=[pad] * 2 * len(image))

	def spread(self, x):
		n, c, *image = self.shape[x]
		return self.node("GlobalAveragePool", x, shape=[n, c, *[1] * len(image)])

	def resize(self, x, factor, mode="nearest"):
		n, c, *image = self.shape[x]
		how = dict(coordinate_transformation_mode="asymmetric", nearest_mode="floor") if mode == "nearest" else {}
		return self.node("Resize", x, "", self.scalars(1, 1, *[factor] * len(image)), shape=[n, c, *[e * factor for e in image]], mode=mode, **how)

	def concat(self, *xs, axis=1):
		shape = list(self.shape[xs[0]])
		shape[axis] = sum(self.shape[x][axis] for x in xs)
		return self.node("Concat", *xs, shape=shape, axis=axis)

	def split(self, x, *sizes, axis=1):
		names = self.node("Split", x, self.integers(*sizes), outputs=len(sizes), axis=axis)
		for name, size in zip(names, sizes):
			self.shape[name] = list(self.shape[x])
			self.shape[name][axis] = size
		return names

	def reshape(self, x, *shape):
		total = int(np.prod(self.shape[x]))
		known = int(np.prod([e for e in shape if e > 0]))
		return self.node("Reshape", x, self.integers(*shape), shape=[e if e > 0 else total // known for e in shape])

	def transpose(self, x, *perm):
		return self.node("Transpose", x, shape=[self.shape[x][p] for p in perm], perm=list(perm))

	def dense(self, x, outputs, act=None):
		inputs = self.shape[x][-1]
		y = self.node("MatMul", x, self.constant((self.random.standard_normal((inputs, outputs)) / np.sqrt(inputs)).astype(np.float32)), shape=self.shape[x][:-1] + [outputs])
		return self.act(self.node("Add", y, self.weight(outputs, fan=100)), act)

	def layer_norm(self, x):
		c = self.shape[x][-1]
		return self.node("LayerNormalization", x, self.constant(np.ones(c, np.float32)), self.weight(c, fan=100), axis=-1)

	def excite(self, x, squeezed, inner, gate):
		s = self.conv(self.conv(self.spread(x), squeezed, act=inner), self.shape[x][1], act=gate)
		return self.node("Mul", x, s)

	def attention(self, x, heads, mask=None):
		n, t, c = self.shape[x]
		q, k, v = (self.transpose(self.reshape(self.dense(x, c), n, t, heads, c // heads), 0, 2, 1, 3) for _ in range(3))
		scores = self.node("MatMul", q, self.transpose(k, 0, 1, 3, 2), shape=[n, heads, t, t])
		scores = self.node("Div", scores, self.constant(np.float32((c // heads) ** .5)))
		scores = self.node("Add", scores, mask) if mask else scores
		y = self.node("MatMul", self.node("Softmax", scores, axis=-1), v, shape=[n, heads, t, c // heads])
		return self.dense(self.reshape(self.transpose(y, 0, 2, 1, 3), n, t, c), c)

	def block(self, x, heads, mask=None):
		"""A transformer's, norms first."""
		x = self.node("Add", x, self.attention(self.layer_norm(x), heads, mask))
		return self.node("Add", x, self.dense(self.dense(self.layer_norm(x), 4 * self.shape[x][-1], "gelu"), self.shape[x][-1]))

	def classes(self, x, count):
		x = self.spread(x)
		return self.dense(self.reshape(x, 1, -1), count)

	def model(self, *outputs):
		out = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, self.shape[name]) for name in outputs]
		graph = helper.make_graph(self.nodes, "network", self.inputs, out, self.weights)
		return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


# ---- pictures ----
def mobilenet_v2(net):
	x = net.conv(net.input("x", 1, 3, 224, 224), 32, 3, 2, "relu6")
	for grow, outputs, count, stride in (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 2, 2), (6, 64, 2, 2), (6, 96, 2, 1), (6, 160, 2, 2), (6, 320, 1, 1):
		for i in range(count):
			inputs, before = net.shape[x][1], x
			y = net.conv(x, grow * inputs, act="relu6") if grow > 1 else x
			y = net.conv(y, net.shape[y][1], 3, 1 if i else stride, "relu6", net.shape[y][1])
			y = net.conv(y, outputs)
			x = net.node("Add", before, y) if i else y
	return net.model(net.classes(net.conv(x, 1280, act="relu6"), 1000))


def mobilenet_v3(net):
	x = net.conv(net.input("x", 1, 3, 224, 224), 16, 3, 2, "hswish")
	for size, grow, outputs, excited, act, stride in ((3, 16, 16, True, "Relu", 2), (3, 72, 24, False, "Relu", 2), (3, 88, 24, False, "Relu", 1), (5, 96, 40, True, "hswish", 2),
			(5, 240, 40, True, "hswish", 1), (5, 120, 48, True, "hswish", 1), (5, 288, 96, True, "hswish", 2), (5, 576, 96, True, "hswish", 1)):
		before, inputs = x, net.shape[x][1]
		y = net.conv(x, grow, act=act)
		y = net.conv(y, grow, size, stride, act, grow)
		y = net.excite(y, grow // 4, "Relu", "HardSigmoid") if excited else y
		y = net.conv(y, outputs)
		x = net.node("Add", before, y) if stride == 1 and inputs == outputs else y
	return net.model(net.classes(net.conv(x, 576, act="hswish"), 1000))


def efficientnet_b0(net):
	x = net.conv(net.input("x", 1, 3, 224, 224), 32, 3, 2, "silu")
	for grow, size, outputs, count, stride in (1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 5, 40, 2, 2), (6, 3, 80, 2, 2), (6, 5, 112, 2, 1), (6, 5, 192, 2, 2), (6, 3, 320, 1, 1):
		for i in range(count):
			inputs, before = net.shape[x][1], x
			y = net.conv(x, grow * inputs, act="silu") if grow > 1 else x
			y = net.conv(y, net.shape[y][1], size, 1 if i else stride, "silu", net.shape[y][1])
			y = net.conv(net.excite(y, max(1, inputs // 4), "silu", "Sigmoid"), outputs)
			x = net.node("Add", before, y) if i else y
	return net.model(net.classes(net.conv(x, 1280, act="silu"), 1000))


def yolo_v8n(net):
	def c2f(x, outputs, count, shortcut):
		parts = net.split(net.conv(x, outputs, act="silu"), outputs // 2, outputs // 2)
		for _ in range(count):
			y = net.conv(net.conv(parts[-1], outputs // 2, 3, act="silu"), outputs // 2, 3, act="silu")
			parts.append(net.node("Add", parts[-1], y) if shortcut else y)
		return net.conv(net.concat(*parts), outputs, act="silu")
	x = net.conv(net.conv(net.input("x", 1, 3, 320, 320), 16, 3, 2, "silu"), 32, 3, 2, "silu")
	a = c2f(net.conv(c2f(x, 32, 1, True), 64, 3, 2, "silu"), 64, 2, True)
	b = c2f(net.conv(a, 128, 3, 2, "silu"), 128, 2, True)
	c = net.conv(c2f(net.conv(b, 256, 3, 2, "silu"), 256, 1, True), 128, act="silu")
	pools = [c]
	for _ in range(3):
		pools.append(net.pool(pools[-1], "MaxPool", 5, 1, 2))
	c = net.conv(net.concat(*pools), 256, act="silu")
	d = c2f(net.concat(net.resize(c, 2), b), 128, 1, False)
	e = c2f(net.concat(net.resize(d, 2), a), 64, 1, False)
	f = c2f(net.concat(net.conv(e, 64, 3, 2, "silu"), d), 128, 1, False)
	g = c2f(net.concat(net.conv(f, 128, 3, 2, "silu"), c), 256, 1, False)
	heads = []
	for x in (e, f, g):
		box = net.conv(net.conv(net.conv(x, 64, 3, act="silu"), 64, 3, act="silu"), 64)
		kind = net.conv(net.conv(net.conv(x, 80, 3, act="silu"), 80, 3, act="silu"), 80)
		heads.append(net.reshape(net.concat(box, kind), 1, 144, -1))
	boxes, kinds = net.split(net.concat(*heads, axis=2), 64, 80)
	places = net.shape[boxes][2]
	boxes = net.node("Softmax", net.transpose(net.reshape(boxes, 1, 4, 16, places), 0, 2, 1, 3), axis=1)
	boxes = net.node("Conv", boxes, net.constant(np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1)), shape=[1, 1, 4, places], kernel_shape=[1, 1])
	return net.model(net.concat(net.reshape(boxes, 1, 4, places), net.node("Sigmoid", kinds)))


def unet(net):
	def twice(x, c):
		for _ in range(2):
			x = net.conv(x, c, 3, act="Relu")
		return x
	x, skips = net.input("x", 1, 3, 128, 128), []
	for c in (32, 64, 128):
		skips.append(twice(x, c))
		x = net.pool(skips[-1], "MaxPool", 2, 2)
	x = twice(x, 256)
	for c in (128, 64, 32):
		x = twice(net.concat(net.up(x, c, 2, 2), skips.pop()), c)
	return net.model(net.conv(x, 2))


def diffusion_unet(net):
	"""Group norm, SiLU, attention over 16 x 16 places, upsampling by nearest: a step of a small diffusion model."""
	def norm(x):
		n, c, h, w = net.shape[x]
		groups = net.reshape(x, n, 8, -1)
		y = net.node("InstanceNormalization", groups, net.constant(np.ones(8, np.float32)), net.constant(np.zeros(8, np.float32)))
		y = net.node("Mul", net.reshape(y, n, c, h, w), net.constant(np.ones((c, 1, 1), np.float32)))
		return net.act(net.node("Add", y, net.weight(c, 1, 1, fan=100)), "silu")
	def resnet(x, c):
		y = net.conv(norm(net.conv(norm(x), c, 3)), c, 3)
		return net.node("Add", y, x if net.shape[x][1] == c else net.conv(x, c))
	x = net.conv(net.input("x", 1, 4, 32, 32), 64, 3)
	a = resnet(x, 64)
	b = resnet(net.conv(a, 64, 3, 2), 128)
	n, c, h, w = net.shape[b]
	t = net.block(net.transpose(net.reshape(b, n, c, h * w), 0, 2, 1), 4)
	b = net.reshape(net.transpose(t, 0, 2, 1), n, c, h, w)
	x = resnet(net.concat(net.conv(net.resize(resnet(b, 128), 2), 64, 3), a), 64)
	return net.model(net.conv(norm(x), 4, 3))


def style_transfer(net):
	def norm(x, act="Relu"):
		c = net.shape[x][1]
		return net.act(net.node("InstanceNormalization", x, net.constant(np.ones(c, np.float32)), net.weight(c, fan=100)), act)
	def padded(x, outputs, size, stride):
		n, c, h, w = net.shape[x]
		p = size // 2
		x = net.node("Pad", x, net.integers(0, 0, p, p, 0, 0, p, p), shape=[n, c, h + 2 * p, w + 2 * p], mode="reflect")
		return net.conv(x, outputs, size, stride, pad=0)
	x = norm(padded(net.input("x", 1, 3, 128, 128), 32, 9, 1))
	x = norm(padded(norm(padded(x, 64, 3, 2)), 128, 3, 2))
	for _ in range(2):
		x = net.node("Add", x, norm(padded(norm(padded(x, 128, 3, 1)), 128, 3, 1), None))
	x = norm(padded(net.resize(x, 2), 64, 3, 1))
	x = norm(padded(net.resize(x, 2), 32, 3, 1))
	return net.model(padded(x, 3, 9, 1))


def deeplab(net):
	x = net.conv(net.conv(net.input("x", 1, 3, 129, 129), 32, 3, 2, "relu6"), 96, 3, 2, "relu6")
	x = net.conv(net.conv(x, 192, 3, 2, "relu6"), 320, act="relu6")
	branches = [net.conv(x, 64, act="Relu")] + [net.conv(x, 64, 3, act="Relu", dilation=d) for d in (6, 12)]
	n, _, h, w = net.shape[x]
	mean = net.conv(net.spread(x), 64, act="Relu")
	mean = net.node("Resize", mean, "", "", net.integers(n, 64, h, w), shape=[n, 64, h, w], mode="linear")
	x = net.conv(net.concat(*branches, mean), 64, act="Relu")
	return net.model(net.resize(net.conv(x, 21), 8, "linear"))


def convnext(net):
	def norm(x):
		return net.transpose(net.layer_norm(net.transpose(x, 0, 2, 3, 1)), 0, 3, 1, 2)
	x = norm(net.conv(net.input("x", 1, 3, 224, 224), 96, 4, 4, pad=0))
	for c in (96, 192, 384):
		if net.shape[x][1] != c:
			x = net.conv(norm(x), c, 2, 2, pad=0)
		y = net.transpose(net.conv(x, c, 7, groups=c), 0, 2, 3, 1)
		y = net.dense(net.dense(net.layer_norm(y), 4 * c, "gelu"), c)
		y = net.transpose(net.node("Mul", y, net.weight(c, fan=100)), 0, 3, 1, 2)
		x = net.node("Add", x, y)
	x = net.spread(x)
	return net.model(net.dense(net.layer_norm(net.reshape(x, 1, -1)), 1000))


def generator(net):
	"""DCGAN's."""
	x = net.up(net.input("x", 1, 100, 1, 1), 256, 4, 1, act="Relu")
	for c in (128, 64, 32):
		x = net.up(x, c, 4, 2, 1, act="Relu")
	return net.model(net.up(x, 3, 4, 2, 1, act="Tanh"))


# ---- words, sound ----
def vit_tiny(net):
	x = net.conv(net.input("x", 1, 3, 224, 224), 192, 16, 16, pad=0)
	x = net.concat(net.weight(1, 1, 192), net.transpose(net.reshape(x, 1, 192, -1), 0, 2, 1), axis=1)
	x = net.node("Add", x, net.weight(1, 197, 192, fan=50))
	for _ in range(2):
		x = net.block(x, 3)
	x = net.node("Gather", net.layer_norm(x), net.constant(np.int64(0)), shape=[1, 192], axis=1)
	return net.model(net.dense(x, 1000))


def bert(net):
	"""Embeddings of 64 tokens, a mask, two layers of 384."""
	ids, mask = net.input("ids", 1, 64, type=onnx.TensorProto.INT64), net.input("mask", 1, 64, type=onnx.TensorProto.INT64)
	keep = net.node("Cast", net.node("Unsqueeze", mask, net.integers(1, 2), shape=[1, 1, 1, 64]), to=onnx.TensorProto.FLOAT)
	keep = net.node("Mul", net.node("Sub", net.constant(np.float32(1)), keep, shape=[1, 1, 1, 64]), net.constant(np.float32(-3.4028235e38)))
	x = net.node("Gather", net.weight(1000, 384, fan=1), ids, shape=[1, 64, 384])
	x = net.layer_norm(net.node("Add", x, net.weight(1, 64, 384, fan=1)))
	for _ in range(2):
		x = net.layer_norm(net.node("Add", x, net.attention(x, 12, keep)))
		x = net.layer_norm(net.node("Add", x, net.dense(net.dense(x, 1536, "gelu"), 384)))
	return net.model(x)


def gpt(net):
	"""128 tokens, a causal mask, two layers of 384, logits of the last."""
	ids = net.input("ids", 1, 128, type=onnx.TensorProto.INT64)
	mask = net.constant(np.triu(np.full((1, 1, 128, 128), -3.4028235e38, np.float32), 1))
	x = net.node("Gather", net.weight(1000, 384, fan=1), ids, shape=[1, 128, 384])
	x = net.node("Add", x, net.weight(1, 128, 384, fan=1))
	for _ in range(2):
		x = net.block(x, 6, mask)
	x = net.node("Gather", net.layer_norm(x), net.constant(np.int64(127)), shape=[1, 384], axis=1)
	return net.model(net.dense(x, 1000))


def decoder_step(net):
	"""One token of a decoder: a cache of 128 keys and values comes and goes, RMS norms, rotated halves, SwiGLU."""
	c, heads, past = 512, 8, 128
	def norm(x):
		square = net.node("ReduceMean", net.node("Mul", x, x), shape=[1, 1, 1], axes=[-1], keepdims=1)
		root = net.node("Sqrt", net.node("Add", square, net.constant(np.float32(1e-5))))
		return net.node("Mul", net.node("Div", x, root), net.constant(np.ones(c, np.float32)))
	def rotated(x):
		a, b = net.split(x, c // heads // 2, c // heads // 2, axis=3)
		turned = net.concat(net.node("Neg", b), a, axis=3)
		return net.node("Add", net.node("Mul", x, net.weight(1, 1, 1, c // heads, fan=2)), net.node("Mul", turned, net.weight(1, 1, 1, c // heads, fan=2)))
	x, out = net.input("x", 1, 1, c), []
	for layer in range(2):
		caches = [net.input(f"past_{kind}_{layer}", 1, heads, past, c // heads) for kind in ("key", "value")]
		y = norm(x)
		q, k, v = (net.transpose(net.reshape(net.dense(y, c), 1, 1, heads, c // heads), 0, 2, 1, 3) for _ in range(3))
		k, v = net.concat(caches[0], rotated(k), axis=2), net.concat(caches[1], v, axis=2)
		scores = net.node("MatMul", rotated(q), net.transpose(k, 0, 1, 3, 2), shape=[1, heads, 1, past + 1])
		scores = net.node("Softmax", net.node("Mul", scores, net.constant(np.float32(.125))), axis=-1)
		y = net.node("MatMul", scores, v, shape=[1, heads, 1, c // heads])
		x = net.node("Add", x, net.dense(net.reshape(net.transpose(y, 0, 2, 1, 3), 1, 1, c), c))
		y = norm(x)
		y = net.node("Mul", net.dense(y, 1376, "silu"), net.dense(y, 1376))
		x = net.node("Add", x, net.dense(y, c))
		out += [k, v]
	return net.model(net.dense(norm(x), 1000), *out)


def whisper_encoder(net):
	x = net.conv(net.conv(net.input("x", 1, 80, 400), 384, 3, act="gelu"), 384, 3, 2, "gelu")
	x = net.node("Add", net.transpose(x, 0, 2, 1), net.weight(1, 200, 384, fan=10))
	return net.model(net.layer_norm(net.block(x, 6)))


def temporal(net):
	"""Dilated convolutions along time: a TCN."""
	x = net.input("x", 1, 40, 256)
	for i in range(4):
		y = net.conv(net.conv(x, 64, 3, act="Relu", dilation=2 ** i), 64, 3, act="Relu", dilation=2 ** i)
		x = net.node("Add", y, x if net.shape[x][1] == 64 else net.conv(x, 64))
	return net.model(net.classes(x, 10))


def speech_lstm(net):
	"""Two LSTM layers of both directions over 100 steps."""
	x = net.transpose(net.input("x", 1, 100, 80), 1, 0, 2)
	for _ in range(2):
		t, n, c = net.shape[x]
		y = net.node("LSTM", x, net.weight(2, 512, c, fan=c), net.weight(2, 512, 128, fan=128), net.weight(2, 1024, fan=100), shape=[t, 2, n, 128], hidden_size=128, direction="bidirectional")
		x = net.reshape(net.transpose(y, 0, 2, 1, 3), t, n, 256)
	return net.model(net.node("LogSoftmax", net.dense(x, 29), axis=-1))


def gru_denoiser(net):
	x = net.dense(net.transpose(net.input("x", 1, 50, 257), 1, 0, 2), 128, "Relu")
	for _ in range(2):
		t, n, c = net.shape[x]
		y = net.node("GRU", x, net.weight(1, 384, c, fan=c), net.weight(1, 384, 128, fan=128), net.weight(1, 768, fan=100), shape=[t, 1, n, 128], hidden_size=128, linear_before_reset=1)
		x = net.reshape(y, t, n, 128)
	return net.model(net.dense(x, 257, "Sigmoid"))


ARCHITECTURES = (mobilenet_v2, mobilenet_v3, efficientnet_b0, yolo_v8n, unet, diffusion_unet, style_transfer, deeplab, convnext, generator, vit_tiny, bert, gpt,
	decoder_step, whisper_encoder, temporal, speech_lstm, gru_denoiser)


def write(build, folder):
	"""A case as bench/race takes it: the model, inputs, what onnxruntime makes of them without optimisations, and how near others have to come."""
	import onnxruntime
	seed = sum(map(ord, build.__name__))
	net = Net(seed)
	model = build(net)
	onnx.checker.check_model(model)
	os.makedirs(folder, exist_ok=True)
	onnx.save(model, os.path.join(folder, "model.onnx"))
	said, feeds = {"inputs": [], "outputs": [], "seed": seed, "made_by": f"onnxruntime {onnxruntime.__version__}"}, {}
	for i, info in enumerate(model.graph.input):
		dims = [d.dim_value for d in info.type.tensor_type.shape.dim]
		whole = info.type.tensor_type.elem_type == onnx.TensorProto.INT64
		draw = net.random.integers(0, 2 if info.name == "mask" else 1000, dims) if whole else net.random.standard_normal(dims).astype(np.float32)
		feeds[info.name] = draw
		np.save(os.path.join(folder, f"in_{i}.npy"), draw)
		said["inputs"].append({"name": info.name, "type": str(draw.dtype), "dims": dims, "file": f"in_{i}.npy"})
	options = onnxruntime.SessionOptions()
	options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
	session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
	for i, (info, value) in enumerate(zip(model.graph.output, session.run(None, feeds))):
		np.save(os.path.join(folder, f"out_{i}.npy"), value)
		said["outputs"].append({"name": info.name, "type": str(value.dtype), "dims": list(value.shape), "file": f"out_{i}.npy", "atol": float(2e-4 * max(1e-3, np.abs(value).max()))})
	with open(os.path.join(folder, "io.json"), "w") as f:
		json.dump(said, f, indent=1)
