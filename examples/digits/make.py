#!/usr/bin/env python3
"""Draws digits, trains a small CNN on them, and writes digits.onnx with the digit of digit.txt as its case.

usage: make.py [DIR]            (default: this folder)

A digit is a few strokes with random slant, size, place, thickness and noise; some are made coarse, so that one drawn in
characters is nothing new.  Numpy alone trains, from a seed; the weights committed here are those of one run (a library
of linear algebra may round otherwise elsewhere).  digits.onnx, in_0.npy, out_0.npy and io.json are the outcome; the
share of held-out digits that the network tells rightly is printed, and is in the model's doc_string.
Needs numpy, onnx and onnxruntime; takes about two minutes.
"""
import os
import sys

import numpy as np
import onnx
import onnx.parser

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import seeded

SIDE, CLASSES = 28, 10
TRAIN, HELD_OUT, BATCH, EPOCHS, SEED = 30000, 5000, 64, 7, 7
SMOOTHING = 0.1

MODEL = """<ir_version: 8, opset_import: ["" : 17], producer_name: "ingot">
digits (float[1,1,28,28] image) => (float[1,10] scores)
{
	wide = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (image, first_weight, first_bias)
	wide_on = Relu (wide)
	half = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (wide_on)
	deep = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (half, second_weight, second_bias)
	deep_on = Relu (deep)
	quarter = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (deep_on)
	flat = Flatten <axis = 1> (quarter)
	hidden = Gemm <transB = 1> (flat, hidden_weight, hidden_bias)
	hidden_on = Relu (hidden)
	answer = Gemm <transB = 1> (hidden_on, answer_weight, answer_bias)
	scores = Softmax <axis = -1> (answer)
}
"""


# ---- strokes: digit -> ways to write it -> lines of points in a box of [0, 1] x [0, 1], y down ----

def arc(x, y, rx, ry, start, end, count=10):
	"""Points of an ellipse; degrees, 0 is right, 90 is down."""
	t = np.radians(np.linspace(start, end, count))
	return [(x + rx * np.cos(a), y + ry * np.sin(a)) for a in t]


STROKES = [
	[[arc(.5, .5, .30, .42, 0, 360, 17)], [arc(.5, .5, .22, .42, -80, 280, 17)]],
	[[[(.5, .08), (.5, .92)]], [[(.34, .26), (.54, .08), (.54, .92)]],
	 [[(.34, .26), (.52, .08), (.52, .92)], [(.32, .92), (.72, .92)]]],
	[[arc(.5, .30, .26, .22, 190, 380) + [(.24, .92), (.78, .92)]],
	 [arc(.48, .30, .24, .22, 200, 400) + [(.22, .9)] + [(.4, .84), (.6, .92), (.78, .88)]]],
	[[arc(.46, .29, .24, .21, 210, 430) + arc(.46, .71, .27, .22, 280, 510)],
	 [[(.24, .08), (.74, .08), (.46, .42)] + arc(.46, .68, .28, .25, 280, 500)]],
	[[[(.36, .08), (.2, .6), (.8, .6)], [(.62, .32), (.62, .94)]], [[(.62, .94), (.62, .08), (.18, .66), (.82, .66)]],
	 [[(.24, .08), (.24, .5), (.72, .5)], [(.72, .08), (.72, .94)]]],
	[[[(.74, .08), (.32, .08), (.28, .46)] + arc(.46, .67, .27, .25, 235, 500)],
	 [[(.34, .1), (.28, .48)] + arc(.46, .68, .26, .24, 245, 500), [(.34, .1), (.74, .1)]]],
	[[[(.66, .08), (.42, .3), (.28, .6)] + arc(.5, .69, .23, .23, 180, 540, 13)],
	 [arc(.62, .5, .36, .42, 250, 180, 6) + arc(.5, .68, .24, .24, 180, 540, 13)]],
	[[[(.22, .09), (.78, .09), (.42, .92)]], [[(.22, .09), (.78, .09), (.42, .92)], [(.36, .5), (.72, .5)]],
	 [[(.24, .2), (.24, .09), (.76, .09), (.56, .45), (.46, .92)]]],
	[[arc(.5, .29, .21, .21, 0, 360, 12), arc(.5, .71, .26, .22, 0, 360, 12)],
	 [[(.7, .2)] + arc(.5, .29, .2, .2, -20, -200, 8) + [(.5, .5)] + arc(.5, .72, .24, .2, -40, 220, 9)
	  + [(.5, .5), (.68, .24)]]],
	[[arc(.48, .31, .24, .23, 0, 360, 13) + [(.72, .31), (.68, .92)]],
	 [arc(.5, .31, .23, .23, 20, 360, 13) + arc(.36, .5, .37, .43, 0, 85, 7)],
	 [arc(.48, .31, .24, .23, -20, 340, 13), [(.72, .1), (.72, .92)]]],
]


def segments(strokes):
	"""The strokes' straight pieces: [n, 2 ends, 2]."""
	return np.array([(a, b) for line in strokes for a, b in zip(line, line[1:])])


def draw(strokes, count, rng):
	"""count images [28, 28] of one way to write a digit, each with its own hand."""
	pieces = segments(strokes)[None] - 0.5
	wave, phase = rng.normal(0, 0.035, (count, 1, 1, 2)), rng.uniform(0, 6.3, (count, 1, 1, 2))
	pieces = pieces + wave * np.sin(4 * pieces[..., ::-1] + phase)
	angle, shear = rng.normal(0, 0.12, count), rng.normal(0, 0.18, count)
	wide, high = rng.uniform(13, 23, count), rng.uniform(15, 24, count)
	turn = np.stack([np.stack([np.cos(angle), -np.sin(angle)], -1), np.stack([np.sin(angle), np.cos(angle)], -1)], 1)
	slant = np.stack([np.stack([wide, -shear * high], -1), np.stack([0 * high, high], -1)], 1)
	pieces = np.einsum("nij,npej->npei", turn @ slant, pieces)
	low, top = pieces.min((1, 2)), pieces.max((1, 2))
	room = np.maximum(SIDE - 3 - (top - low), 0) / 2
	place = (SIDE - 1) / 2 - (low + top) / 2 + rng.uniform(-1, 1, (count, 2)) * np.minimum(room, 3)
	pieces += place[:, None, None]
	y, x = np.mgrid[0:SIDE, 0:SIDE].reshape(2, -1)
	nearest = np.full((count, SIDE * SIDE), 1e9)
	for p in range(pieces.shape[1]):
		(ax, ay), (bx, by) = pieces[:, p, 0].T[:, :, None], pieces[:, p, 1].T[:, :, None]
		dx, dy = bx - ax, by - ay
		t = np.clip(((x - ax) * dx + (y - ay) * dy) / np.maximum(dx * dx + dy * dy, 1e-9), 0, 1)
		nearest = np.minimum(nearest, (x - ax - t * dx) ** 2 + (y - ay - t * dy) ** 2)
	thick = rng.uniform(0.7, 2.0, (count, 1))
	image = np.clip(thick - np.sqrt(nearest) + 0.5, 0, 1).reshape(count, SIDE, SIDE)
	coarse = rng.random(count) < 0.3
	blocks = image[coarse].reshape(-1, SIDE // 2, 2, SIDE // 2, 2).max((2, 4)).repeat(2, 1).repeat(2, 2)
	image[coarse] = blocks
	hard = rng.random(count) < 0.4
	image[hard] = image[hard] > 0.45
	image *= rng.uniform(0.6, 1.0, (count, 1, 1))
	image += rng.normal(0, 1, image.shape) * rng.uniform(0, 0.12, (count, 1, 1)) * (rng.random((count, 1, 1)) < 0.6)
	return np.clip(image, 0, 1)


def digits(count, rng):
	"""count images [n, 28, 28, 1] and their digits, in random order."""
	images, answers = [], []
	for digit, ways in enumerate(STROKES):
		for way in ways:
			n = count // CLASSES // len(ways)
			images.append(draw(way, n, rng))
			answers.append(np.full(n, digit))
	order = rng.permutation(sum(map(len, answers)))
	return np.concatenate(images)[order, ..., None].astype(np.float32), np.concatenate(answers)[order]


# ---- the network, channels last; each step returns its value and what leads back ----

def windows(x):
	"""[n, h, w, c] -> [n, h, w, 9 c]: the 3 x 3 neighbourhood, zeros outside."""
	n, h, w, c = x.shape
	padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
	return np.concatenate([padded[:, i:i + h, j:j + w] for i in range(3) for j in range(3)], -1)


def windows_back(d, c):
	n, h, w, _ = d.shape
	padded = np.zeros((n, h + 2, w + 2, c), d.dtype)
	for k in range(9):
		padded[:, k // 3:k // 3 + h, k % 3:k % 3 + w] += d[..., k * c:(k + 1) * c]
	return padded[:, 1:-1, 1:-1]


def pool(x):
	n, h, w, c = x.shape
	blocks = x.reshape(n, h // 2, 2, w // 2, 2, c)
	top = blocks.max((2, 4))
	return top, blocks == top[:, :, None, :, None]


def pool_back(d, mask):
	n, h, _, w, _, c = mask.shape
	share = mask / mask.sum((2, 4), keepdims=True)
	return (share * d[:, :, None, :, None]).reshape(n, 2 * h, 2 * w, c)


def forward(p, x):
	a = windows(x)
	first = np.maximum(a @ p["first_weight"] + p["first_bias"], 0)
	half, half_mask = pool(first)
	b = windows(half)
	second = np.maximum(b @ p["second_weight"] + p["second_bias"], 0)
	quarter, quarter_mask = pool(second)
	flat = quarter.reshape(len(x), -1)
	hidden = np.maximum(flat @ p["hidden_weight"] + p["hidden_bias"], 0)
	answer = hidden @ p["answer_weight"] + p["answer_bias"]
	return answer, (a, first, half_mask, b, second, quarter_mask, flat, hidden)


def gradients(p, x, target):
	answer, (a, first, half_mask, b, second, quarter_mask, flat, hidden) = forward(p, x)
	e = np.exp(answer - answer.max(1, keepdims=True))
	d = e / e.sum(1, keepdims=True)
	# Smoothed targets keep the closing Softmax away from 0 and 1, where it would hide errors of what comes before it.
	wanted = np.full_like(d, SMOOTHING / CLASSES)
	wanted[np.arange(len(x)), target] += 1 - SMOOTHING
	loss = -(wanted * np.log(d + 1e-9)).sum(1).mean()
	d = (d - wanted) / len(x)
	g = {"answer_weight": hidden.T @ d, "answer_bias": d.sum(0)}
	d = (d @ p["answer_weight"].T) * (hidden > 0)
	g |= {"hidden_weight": flat.T @ d, "hidden_bias": d.sum(0)}
	d = (d @ p["hidden_weight"].T).reshape(quarter_mask[:, :, 0, :, 0].shape)
	d = pool_back(d, quarter_mask) * (second > 0)
	g |= {"second_weight": b.reshape(-1, b.shape[-1]).T @ d.reshape(-1, d.shape[-1]), "second_bias": d.sum((0, 1, 2))}
	d = windows_back(d @ p["second_weight"].T, first.shape[-1])
	d = pool_back(d, half_mask) * (first > 0)
	g |= {"first_weight": a.reshape(-1, a.shape[-1]).T @ d.reshape(-1, d.shape[-1]), "first_bias": d.sum((0, 1, 2))}
	return loss, g


def start(rng):
	sizes = {"first": (9, 8), "second": (72, 16), "hidden": (784, 32), "answer": (32, 10)}
	p = {}
	for name, (fan_in, width) in sizes.items():
		p[name + "_weight"] = (rng.normal(0, 1, (fan_in, width)) * np.sqrt(2 / fan_in)).astype(np.float32)
		p[name + "_bias"] = np.zeros(width, np.float32)
	return p


def right(p, images, answers):
	guesses = [forward(p, images[i:i + 500])[0].argmax(1) for i in range(0, len(images), 500)]
	return float((np.concatenate(guesses) == answers).mean())


def train():
	"""The trained parameters, and the share of held-out digits told rightly."""
	rng = np.random.default_rng(SEED)
	images, answers = digits(TRAIN, rng)
	held_images, held_answers = digits(HELD_OUT, np.random.default_rng(SEED + 1))
	p = start(rng)
	first = {k: np.zeros_like(v) for k, v in p.items()}
	second = {k: np.zeros_like(v) for k, v in p.items()}
	steps, step = EPOCHS * (len(images) // BATCH), 0
	for epoch in range(EPOCHS):
		order, total = rng.permutation(len(images)), 0
		for i in range(0, len(images) - BATCH + 1, BATCH):
			step += 1
			some = order[i:i + BATCH]
			loss, g = gradients(p, images[some], answers[some])
			total += loss * BATCH
			rate = 2e-3 * (1 - step / steps) + 1e-5
			for k in p:                                 # Adam
				first[k] = 0.9 * first[k] + 0.1 * g[k]
				second[k] = 0.999 * second[k] + 0.001 * g[k] * g[k]
				mean, square = first[k] / (1 - 0.9 ** step), second[k] / (1 - 0.999 ** step)
				p[k] -= (rate * mean / (np.sqrt(square) + 1e-8)).astype(np.float32)
		print(f"epoch {epoch + 1}: loss {total / len(images):.4f}, held out {right(p, held_images, held_answers):.2%}",
		      flush=True)
	return p, right(p, held_images, held_answers)


# ---- what comes out ----

def onnx_tensors(p):
	"""The parameters in ONNX's order: filters [out, in, 3, 3], dense weights [out, in] over channels first."""
	def filters(w):
		return w.reshape(3, 3, -1, w.shape[1]).transpose(3, 2, 0, 1)
	hidden = p["hidden_weight"].reshape(7, 7, 16, 32).transpose(3, 2, 0, 1).reshape(32, 784)
	arrays = p | {"first_weight": filters(p["first_weight"]), "second_weight": filters(p["second_weight"]),
	              "hidden_weight": hidden, "answer_weight": p["answer_weight"].T}
	return [onnx.numpy_helper.from_array(np.ascontiguousarray(a, np.float32), name) for name, a in arrays.items()]


def picture(path):
	"""A digit drawn in characters, as main.c reads it: '#' is ink, '+' half of it; the drawing is centred and doubled
	where it fits into half the side."""
	with open(path) as f:
		rows = [line.rstrip("\n") for line in f if not line.startswith(";")]
	width, scale = max(map(len, rows)), 1
	if width <= SIDE // 2 and len(rows) <= SIDE // 2:
		scale = 2
	image = np.zeros((SIDE, SIDE), np.float32)
	top, left = (SIDE - scale * len(rows)) // 2, (SIDE - scale * width) // 2
	for i, row in enumerate(rows):
		for j, c in enumerate(row):
			ink = {"#": 1.0, "+": 0.5}.get(c, 0.0)
			image[top + scale * i:top + scale * (i + 1), left + scale * j:left + scale * (j + 1)] = ink
	return image.reshape(1, 1, SIDE, SIDE)


def main():
	folder = sys.argv[1] if len(sys.argv) == 2 else HERE
	if len(sys.argv) > 2 or folder.startswith("-"):
		sys.exit(__doc__.split("\n\n")[1])
	os.makedirs(folder, exist_ok=True)
	p, share = train()
	model = onnx.parser.parse_model(MODEL)
	model.graph.initializer.extend(onnx_tensors(p))
	model.doc_string = (f"Ten digits, drawn by examples/digits/make.py; {share:.2%} of {HELD_OUT} held-out ones "
	                    "are told rightly.")
	onnx.checker.check_model(model, full_check=True)
	path = os.path.join(folder, "digits.onnx")
	onnx.save(model, path)
	feeds = {"image": picture(os.path.join(HERE, "digit.txt"))}
	outputs, made_by = seeded.reference(path, feeds)
	seeded.write_case(folder, feeds, outputs, made_by, SEED)
	print(f"{model.doc_string}  {os.path.getsize(path)} bytes; digit.txt is a {outputs['scores'].argmax()}:",
	      np.round(outputs["scores"][0], 4))


if __name__ == "__main__":
	main()
