#!/usr/bin/env python3
"""Draws rings, squares and triangles, trains a detector on them, and writes shapes.onnxtxt and shapes.bin.

usage: make.py [DIR]            (default: this folder)

A picture is SIDE x SIDE, with up to four shapes on a noisy ground.  The detector says for each of GRID x GRID cells whether
a shape has its middle there, which shape, and its box.  Numpy alone; the same bytes on every machine (exact.py).
"""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import exact
import seeded

SIDE, GRID, CELL, KINDS = 64, 8, 8, 3
BATCH, STEPS, RATE = 8, 800, 4e-3
WIDTHS = (1, 8, 12, 24, 32, 1 + KINDS + 4)

MODEL = """<ir_version: 8, opset_import: ["" : 17],
	doc_string: "For each cell: is there a shape; a ring, a square, a triangle; its middle in the cell; width and height in cells.">
shapes (float[1,1,64,64] picture) => (float[1,8,8,8] cells)
<
@weights@
>
{
	half = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [0, 0, 1, 1]> (picture, weight0, bias0)
	half_on = Relu (half)
	quarter = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [0, 0, 1, 1]> (half_on, weight1, bias1)
	quarter_on = Relu (quarter)
	eighth = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [0, 0, 1, 1]> (quarter_on, weight2, bias2)
	eighth_on = Relu (eighth)
	around = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (eighth_on, weight3, bias3)
	around_on = Relu (around)
	cells = Conv <kernel_shape = [1, 1]> (around_on, weight4, bias4)
}
"""

# ---- pictures ----
THIRD = 0.8660254037844386              # the sine of 120 degrees
SIDES = [[], [(1, 0), (0, 1), (-1, 0), (0, -1)], [(1, 0), (-0.5, THIRD), (-0.5, -THIRD)]]
CORNERS = [[], [(1, 1), (-1, 1), (-1, -1), (1, -1)], [(1, 2 * THIRD), (1, -2 * THIRD), (-2, 0)]]


def drawn(step):
	"""BATCH pictures [n, 64, 64, 1], and what the cells should say [n, 8, 8, 8]."""
	u = seeded.uniform(f"shapes{step}", BATCH * 4 * 8).reshape(BATCH, 4, 8)
	common = seeded.uniform(f"common{step}", BATCH * 5).reshape(BATCH, 5)
	noise = seeded.uniform(f"noise{step}", BATCH * SIDE * SIDE).reshape(BATCH, SIDE, SIDE)
	y, x = np.mgrid[0:SIDE, 0:SIDE] + 0.5
	pictures = 0.2 * common[:, :1, None] + (noise - 0.5) * (0.25 * common[:, 1:2, None])
	wanted = np.zeros((BATCH, GRID, GRID, WIDTHS[-1]))
	for n in range(BATCH):
		for quarter in range(4):
			there, kind, size, bright, dx, dy, turn, _ = u[n, quarter]
			if there > 0.6:
				continue
			kind, r = int(kind * KINDS), (4, 3.5, 2.7)[int(kind * KINDS)] * (1.2 + 1.4 * size)
			cx = 16 + 32 * (quarter % 2) + 16 * (dx - 0.5) + 16 * (common[n, 2] - 0.5)
			cy = 16 + 32 * (quarter // 2) + 16 * (dy - 0.5) + 16 * (common[n, 3] - 0.5)
			t = 2 * turn - 1
			c, s = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
			if kind == 0:
				far, wide, high = np.sqrt((x - cx) * (x - cx) + (y - cy) * (y - cy)), r, r
				far = np.maximum(far - r, 0.5 * r - far)
				middle = (cx, cy)
			else:
				turned = [(c * a - s * b, s * a + c * b) for a, b in SIDES[kind]]
				far = np.max([a * (x - cx) + b * (y - cy) for a, b in turned], 0) - r
				corners = np.array([(c * a - s * b, s * a + c * b) for a, b in CORNERS[kind]]) * r
				(left, top), (right, low) = corners.min(0), corners.max(0)
				middle, wide, high = (cx + (left + right) / 2, cy + (top + low) / 2), (right - left) / 2, (low - top) / 2
			ink = np.clip(0.5 - far, 0, 1)
			pictures[n] += (0.4 + 0.6 * bright - pictures[n]) * ink
			i, j = int(middle[1] / CELL), int(middle[0] / CELL)
			if 0 <= i < GRID and 0 <= j < GRID:
				box = middle[0] / CELL - j, middle[1] / CELL - i, 2 * wide / CELL, 2 * high / CELL
				wanted[n, i, j] = [1, *(np.arange(KINDS) == kind), *box]
	return np.clip(pictures, 0, 1)[..., None], wanted


# ---- the network, channels last ----

def windows(x, stride):
	"""[n, h, w, c] -> [n, h / stride, w / stride, 9 c]; zeros outside."""
	low = 1 if stride == 1 else 0
	n, h, w, c = x.shape
	padded = np.pad(x, ((0, 0), (low, 1), (low, 1), (0, 0)))
	return np.concatenate([padded[:, i:i + h:stride, j:j + w:stride] for i in range(3) for j in range(3)], -1)


def windows_back(d, c, stride):
	low = 1 if stride == 1 else 0
	n, h, w, _ = d.shape
	padded = np.zeros((n, h * stride + low + 1, w * stride + low + 1, c))
	for k in range(9):
		padded[:, k // 3:k // 3 + h * stride:stride, k % 3:k % 3 + w * stride:stride] += d[..., k * c:(k + 1) * c]
	return padded[:, low:-1, low:-1]


STRIDES = (2, 2, 2, 1, 0)               # 0: a cell alone


def forward(p, x):
	kept = []
	for n, stride in enumerate(STRIDES):
		seen = windows(x, stride) if stride else x
		x = exact.product(seen.reshape(-1, seen.shape[-1]), p[f"weight{n}"]).reshape(*seen.shape[:3], -1) + p[f"bias{n}"]
		x = np.maximum(x, 0) if stride else x
		kept.append((seen, x))
	return x, kept


def gradients(p, pictures, wanted):
	"""Of the squared error: a cell without a shape is to say so, and its other words are free."""
	cells, kept = forward(p, pictures)
	there = wanted[..., :1]
	weight = np.concatenate([0.3 + 0.7 * there, np.repeat(there, KINDS, -1), 0.5 * np.repeat(there, 4, -1)], -1)
	d = (cells - wanted) * weight
	loss, d, g = exact.total(d * (cells - wanted)) / BATCH, 2 * d / BATCH, {}
	for n, stride in reversed(list(enumerate(STRIDES))):
		seen, x = kept[n]
		d = d * (x > 0) if stride else d
		flat = d.reshape(-1, d.shape[-1])
		g[f"weight{n}"], g[f"bias{n}"] = exact.product(seen.reshape(-1, seen.shape[-1]).T, flat), exact.total(flat, 0)
		if n:
			d = exact.product(flat, p[f"weight{n}"].T).reshape(seen.shape)
			d = windows_back(d, WIDTHS[n], stride) if stride else d
	return loss, g


def train():
	p = {}
	for n, stride in enumerate(STRIDES):
		terms = WIDTHS[n] * (9 if stride else 1)
		p |= {f"weight{n}": exact.normal(f"weight{n}", (terms, WIDTHS[n + 1]), np.sqrt(2 / terms)), f"bias{n}": np.zeros(WIDTHS[n + 1])}
	adam, mean = exact.Adam(p), 0
	for step in range(STEPS):
		loss, g = gradients(p, *drawn(step))
		adam.step(p, g, RATE * min(1, (step + 1) / 20) * (1 - step / STEPS) + 1e-5)
		mean += loss / 50
		if step % 50 == 49:
			print(f"step {step + 1}: error {mean:.3f} a picture", flush=True)
			mean = 0
	return p


def onnx_order(p):
	"""Filters as [out, in, height, width]."""
	for n, stride in enumerate(STRIDES):
		side = 3 if stride else 1
		yield f"weight{n}", p[f"weight{n}"].reshape(side, side, WIDTHS[n], WIDTHS[n + 1]).transpose(3, 2, 0, 1)
		yield f"bias{n}", p[f"bias{n}"]


def main():
	folder = sys.argv[1] if len(sys.argv) == 2 else HERE
	if len(sys.argv) > 2 or folder.startswith("-"):
		sys.exit(__doc__.split("\n\n")[1])
	exact.write(folder, "shapes", MODEL, dict(onnx_order(train())))


if __name__ == "__main__":
	main()
