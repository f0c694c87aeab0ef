#!/usr/bin/env python3
"""Trains a policy that swings a pole up, balances it and holds its cart, and writes cartpole.onnxtxt and cartpole.bin.

usage: make.py [DIR]            (default: this folder)

A teacher knows the equations: it pumps energy into the pole, and holds it by linear feedback where it is nearly upright.
The network only sees what the teacher would do, in states where the network itself has led the cart, round by round.
Numpy alone; the same bytes on every machine (exact.py).
"""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import exact
import seeded

HIDDEN = 32
ROUNDS, CARTS, TICKS, TICK = 7, 64, 300, 0.02        # the program's tick is 1 ms
STEPS, BATCH, RATE = 220, 512, 4e-3                   # of each round
FORCE = 10.0

MODEL = """<ir_version: 8, opset_import: ["" : 17], doc_string: "A cart's force from its place, its speed, the pole's sine, cosine and speed.">
cartpole (float[1,5] seen) => (float[1,1] force)
<
@weights@,
	float low = {-10}, float high = {10}
>
{
	first = Gemm (seen, first_weight, first_bias)
	first_on = Relu (first)
	second = Gemm (first_on, second_weight, second_bias)
	second_on = Relu (second)
	pull = Gemm (second_on, pull_weight, pull_bias)
	force = Clip (pull, low, high)
}
"""
SHAPES = {"first_weight": (5, HIDDEN), "first_bias": (HIDDEN,), "second_weight": (HIDDEN, HIDDEN), "second_bias": (HIDDEN,),
          "pull_weight": (HIDDEN, 1), "pull_bias": (1,)}


def forward(p, seen):
	first = np.maximum(exact.product(seen, p["first_weight"]) + p["first_bias"], 0)
	second = np.maximum(exact.product(first, p["second_weight"]) + p["second_bias"], 0)
	return exact.product(second, p["pull_weight"]) + p["pull_bias"], (first, second)


def policy(p, seen):
	return np.clip(forward(p, seen)[0], -FORCE, FORCE)


def move(state, force, tick):
	"""The next state of cart (1 kg) and pole (0.1 kg, 1 m): place, speed, sine and cosine of the angle (0: upright), its speed."""
	x, v, s, c, w = state
	push = (force + 0.05 * (w * w) * s) / 1.1
	turn = (9.81 * s - c * push) / (0.5 * (4 / 3 - 0.1 * (c * c) / 1.1))
	pull = push - 0.05 * turn * c / 1.1
	v, w = v + tick * pull, w + tick * turn
	x, half = x + tick * v, 0.5 * tick * w
	down = 1 / (1 + half * half)                    # a rotation by 2 atan(half), without a sine
	ts, tc = 2 * half * down, (1 - half * half) * down
	return x, v, s * tc + c * ts, c * tc - s * ts, w


def teacher(x, v, s, c, w):
	"""The force by the equations; energies are of a kilogram at the pole's middle."""
	lacks = (w * w) / 3 + 9.81 * (c - 1)
	swing = np.clip(lacks * c * w, -8, 8) - 2 * x - 1.5 * v
	hold = 6.0 * np.clip(x, -1, 1) + 8.3 * v + 58.7 * s + 14.7 * w
	return np.clip(np.where(c > 0.85, hold, swing), -FORCE, FORCE)


def gradients(p, seen, wanted):
	pull, (first, second) = forward(p, seen)
	# Beyond the motor's force more is as good as enough.
	d = np.where((np.abs(wanted) == FORCE) & (pull * wanted > FORCE * FORCE), 0, pull - wanted)
	loss, d = exact.total(d * d) / len(d), d / len(d)
	g = {"pull_weight": exact.product(second.T, d), "pull_bias": exact.total(d, 0)}
	d = exact.product(d, p["pull_weight"].T) * (second > 0)
	g |= {"second_weight": exact.product(first.T, d), "second_bias": exact.total(d, 0)}
	d = exact.product(d, p["second_weight"].T) * (first > 0)
	return loss, g | {"first_weight": exact.product(seen.T, d), "first_bias": exact.total(d, 0)}


def starts(name):
	"""Anywhere, every other cart with its pole nearly upright."""
	u = seeded.uniform(name, 5 * CARTS).reshape(5, CARTS)
	t = np.where(np.arange(CARTS) % 2 == 0, 20 * (2 * u[2] - 1), 0.3 * (2 * u[2] - 1))     # of half the angle
	down = 1 / (1 + t * t)
	return 3 * u[0] - 1.5, 3 * u[1] - 1.5, 2 * t * down, (1 - t * t) * down, 4 * u[4] - 2


def led(p, name):
	"""The states where the policy leads carts to, or where p is None, the teacher does; and how many poles it holds in the end."""
	state, states = starts(name), []
	for _ in range(TICKS):
		states.append(np.stack(state, -1))
		force = teacher(*state) if p is None else policy(p, states[-1])[:, 0]
		state = [np.clip(part, -20, 20) for part in move(state, force, TICK)]
	return np.concatenate(states), int((state[3] > 0.95).sum())


def train():
	p = {name: exact.normal(name, dims, np.sqrt(2 / dims[0]) if len(dims) > 1 else 0.0) for name, dims in SHAPES.items()}
	adam, seen, steps = exact.Adam(p), np.zeros((0, 5)), ROUNDS * STEPS
	for round in range(ROUNDS):
		states, held = led(p if round else None, f"start{round}")
		seen = np.concatenate([seen, states])
		wanted, sum = teacher(*seen.T)[:, None], 0
		for step in range(STEPS):
			some = (seeded.uniform(f"round{round}step{step}", BATCH) * len(seen)).astype(int)
			loss, g = gradients(p, seen[some], wanted[some])
			adam.step(p, g, RATE * (1 - (round * STEPS + step) / steps) + 1e-5)
			sum += loss / STEPS
		print(f"round {round + 1}: {held} of {CARTS} held, squared error {sum:.3f}", flush=True)
	print(f"{led(p, 'last')[1]} of {CARTS} held")
	return p


def main():
	folder = sys.argv[1] if len(sys.argv) == 2 else HERE
	if len(sys.argv) > 2 or folder.startswith("-"):
		sys.exit(__doc__.split("\n\n")[1])
	exact.write(folder, "cartpole", MODEL, train())


if __name__ == "__main__":
	main()
