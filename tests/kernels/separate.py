#!/usr/bin/env python3
"""Sums over windows that overlap, which go axis by axis, and along one axis by sums of neighbours: numbers beside NumPy's in double, the interpreter's bits on every target, and of each image alone.

    separate.py INGOT SEED COUNT

AveragePool and LpPool in 1 to 3 dimensions, with pads, strides, dilations and windows that hang over; which of them are separated is read in the definitions.
Ends with 77 where NumPy is not there."""
import itertools, os, random, subprocess, sys, tempfile

import sweep                              # ends with 77 where NumPy is not there
import numpy

IMAGES = 2
# name, data behind batch and channels, attributes, whether it is separated: axis by axis (True), or as sums of neighbours ("neighbours")
CASES = [("square", [17, 37], dict(kernel_shape=[7, 7]), True), ("wide", [9, 33], dict(kernel_shape=[3, 11], pads=[1, 5, 1, 5]), True), ("dilated", [25, 24], dict(kernel_shape=[5, 5], dilations=[3, 2], pads=[4, 0, 2, 1]), True),
         ("strided", [30, 31], dict(kernel_shape=[9, 9], strides=[2, 3], pads=[4, 4, 4, 4]), True), ("hangs", [23, 22], dict(kernel_shape=[8, 8], strides=[3, 3], ceil_mode=1), True),
         ("cube", [9, 10, 19], dict(kernel_shape=[3, 5, 4], pads=[1, 0, 2, 1, 3, 1]), True), ("all", [11, 19], dict(kernel_shape=[11, 7]), False),
         ("few", [12, 20], dict(kernel_shape=[4, 4]), False), ("apart", [28, 28], dict(kernel_shape=[7, 7], strides=[7, 7]), False), ("line", [70], dict(kernel_shape=[33]), "neighbours"),
         ("padded", [61], dict(kernel_shape=[25], pads=[12, 12]), "neighbours"), ("far", [90], dict(kernel_shape=[21], dilations=[3], pads=[7, 20]), "neighbours"),
         ("prime", [70], dict(kernel_shape=[31]), False), ("steps", [70], dict(kernel_shape=[25], strides=[2]), False), ("both", [40, 50], dict(kernel_shape=[25, 27], pads=[3, 12, 8, 13]), "axis and neighbours")]


def right_of(x, op, p, kernel_shape, strides=None, pads=None, dilations=None, ceil_mode=0, count_include_pad=0):
    """x in double; taps that are not there count for nothing."""
    count = len(kernel_shape)
    strides, dilations, pads = strides or [1] * count, dilations or [1] * count, pads or [0] * 2 * count
    reach = [(k - 1) * d + 1 for k, d in zip(kernel_shape, dilations)]
    room = [n + pads[i] + pads[count + i] - reach[i] for i, n in enumerate(x.shape[2:])]
    out = [r // s + 1 if not ceil_mode else -(-r // s) + 1 for r, s in zip(room, strides)]
    wide = [(0, 0), (0, 0)] + [(pads[i], (out[i] - 1) * strides[i] + reach[i]) for i in range(count)]
    data, there = (numpy.pad(a, wide) for a in (numpy.abs(x) ** p if p else x, numpy.ones_like(x)))
    if count_include_pad:
        there = numpy.pad(numpy.ones([*x.shape[:2], *(n + pads[i] + pads[count + i] for i, n in enumerate(x.shape[2:]))]), [(0, 0), (0, 0)] + [(0, (out[i] - 1) * strides[i] + reach[i]) for i in range(count)])
    total = taps = 0
    for tap in itertools.product(*map(range, kernel_shape)):
        at = (..., *(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilations, out, strides)))
        total, taps = total + data[at], taps + there[at]
    return total ** (1 / p) if p else total / taps


def check(program, seed, folder):
    draw, numbers = random.Random(seed), numpy.random.default_rng(seed)
    nodes, given, paths, inputs, outputs, right, apart = [], [], {}, [], [], [], {}
    for name, dims, attributes, separated in CASES:
        op = draw.choice(["AveragePool", "AveragePool", "LpPool"])
        said = dict(attributes)
        if op == "AveragePool" and draw.random() < 0.5:
            said["count_include_pad"] = 1
        if op == "LpPool":
            said["p"] = draw.choice([1, 2, 3])
        x = numbers.standard_normal([IMAGES, draw.choice([1, 3]), *dims]).astype("f4")
        want = right_of(x.astype("f8"), op, said.get("p"), **{k: v for k, v in said.items() if k != "p"})
        numpy.save(f"{folder}/x_{name}.npy", x)
        given += ["--input", f"x_{name}={folder}/x_{name}.npy"]
        paths[name] = f"{folder}/{name}.npy"
        shape = lambda a: ",".join(map(str, a.shape[1:]))
        inputs.append(f"float[N,{shape(x)}] x_{name}")
        outputs.append(f"float[N,{shape(want)}] {name}")
        nodes.append(f"{name} = {op} <{', '.join(f'{k} = {v}' for k, v in said.items())}> (x_{name})")
        right.append(want)
        apart[name] = separated
    model = f"{folder}/g.onnxtxt"
    with open(model, "w") as file:
        file.write('<ir_version: 8, opset_import: ["" : 19]>\ng (' + ", ".join(inputs) + ") => (" + ", ".join(outputs) + ") {\n" + "\n".join(nodes) + "\n}\n")
    shown = subprocess.run([program, "show", model, "--stage", "definitions", "--dim", f"N={IMAGES}"], check=True, capture_output=True, text=True).stdout
    for name, separated in apart.items():
        ways = {way for way in ("axis", "neighbours") if f"\n{name}_sum_{way}" in shown}
        assert ways == ({"axis"} if separated is True else {way for way in ("axis", "neighbours") if separated and way in separated}), f"{name}: separated by {ways}\n{shown}"
    bits = sweep.run(program, model, given + ["--dim", f"N={IMAGES}"], paths, ["interpreter"])
    for (name, *_), got, want in zip(CASES, bits, right):
        assert got.shape == want.shape and numpy.allclose(got, want, rtol=2e-6, atol=2e-6), f"{name}: {abs(got - want).max()} from what is right"
    for target in draw.sample(sweep.TARGETS, 3):
        for (name, *_), got, want in zip(CASES, sweep.run(program, model, given + ["--dim", f"N={IMAGES}"], paths, target), bits):
            assert sweep.same(got, want), f"{' '.join(target)}: {name} has other bits than the interpreter"
    for name, *_ in CASES:
        numpy.save(f"{folder}/x_{name}.npy", numpy.load(f"{folder}/x_{name}.npy")[1:])
    for (name, *_), got, want in zip(CASES, sweep.run(program, model, given + ["--dim", "N=1"], paths, ["interpreter"]), bits):
        assert sweep.same(got, want[1:]), f"{name}: an image alone has other bits"


def main():
    program, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for one in range(seed, seed + count):
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(program, one, folder)
            except AssertionError as wrong:
                sys.exit(f"seed {one}: {wrong}")
    print(f"{count} graphs of windows have the interpreter's bits")


main()
