"""Arithmetic in numpy that gives the same bits on every machine, for what the examples train.

A library of linear algebra adds in an order of its own, and functions such as exp differ in their last bits.  Here the
factors of a product are rounded to so few bits that every sum of them is exact in float64: in any order, and by any
library, it is the same number.  The four operations and the square root are IEEE's, alike everywhere.
"""
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")     # the products are small; threads that wait for each other cost more
import numpy as np

import seeded


def grid(x, bits):
	"""x as integers of so many bits, and their unit, a power of two."""
	unit = 2.0 ** (int(np.frexp(max(x.max(), -x.min()))[1]) - bits)
	x = x * (1 / unit)
	return np.rint(x, out=x), unit


def product(a, b):
	"""a @ b."""
	bits = min(24, (53 - int(a.shape[-1]).bit_length()) // 2)
	(a, unit), (b, other) = grid(a, bits), grid(b, bits)
	return (a @ b) * (unit * other)


def total(x, axis=None, keepdims=False):
	"""The sum."""
	x, unit = grid(x, 52 - int(x.size).bit_length())
	return x.sum(axis, keepdims=keepdims) * unit


def exp(x):
	"""Of what is at most 0."""
	x = np.maximum(x, -700.0)
	power = np.rint(x * 1.4426950408889634)
	x -= power * 0.6931471805599453
	sum = np.full_like(x, 1 / 40320)
	for i in (5040, 720, 120, 24, 6, 2, 1, 1):
		sum *= x
		sum += 1 / i
	return np.ldexp(sum, power.astype(np.int32))


def normal(name, dims, scale=1.0, seed=1):
	"""Nearly normal: the sum of twelve uniform numbers."""
	count = int(np.prod(dims))
	return (total(seeded.uniform(name, 12 * count, seed).reshape(12, count), 0) - 6).reshape(dims) * scale


class Adam:
	"""Steps down a gradient; parameters and gradients are dicts of arrays of the same names."""

	def __init__(self, parameters):
		self.mean = {name: np.zeros_like(p) for name, p in parameters.items()}
		self.square = {name: np.zeros_like(p) for name, p in parameters.items()}
		self.one, self.two = 1.0, 1.0

	def step(self, parameters, gradients, rate):
		self.one, self.two = self.one * 0.9, self.two * 0.99
		for name, g in gradients.items():
			self.mean[name] = 0.9 * self.mean[name] + 0.1 * g
			self.square[name] = 0.99 * self.square[name] + 0.01 * (g * g)
			parameters[name] = parameters[name] - rate * (self.mean[name] / (1 - self.one)) / (np.sqrt(self.square[name] / (1 - self.two)) + 1e-8)


def write(folder, name, text, weights):
	"""NAME.onnxtxt and NAME.bin: in the text @weights@ becomes the declarations of the weights, which lie in the other file."""
	os.makedirs(folder, exist_ok=True)
	lines, offset = [], 0
	with open(os.path.join(folder, name + ".bin"), "wb") as file:
		for tensor, array in weights.items():
			raw = np.ascontiguousarray(array, "<f4").tobytes()
			dims = ",".join(map(str, array.shape))
			lines.append(f'\tfloat[{dims}] {tensor} = ["location": "{name}.bin", "offset": "{offset}", "length": "{len(raw)}"]')
			offset += file.write(raw)
	with open(os.path.join(folder, name + ".onnxtxt"), "w", encoding="utf-8") as file:
		file.write(text.replace("@weights@", ",\n".join(lines)))
