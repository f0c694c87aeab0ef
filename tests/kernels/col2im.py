#!/usr/bin/env python3
"""Convolutions with few results a place, which are a product and a sum over taps: near the direct sum's numbers, the interpreter's bits on every target, of each image alone, and of a size
below a bound.

    col2im.py INGOT SEED COUNT

Conv and ConvTranspose along 1 to 3 axes, with pads, strides, dilations and output padding; which of them are a product over taps is read in the definitions.
Ends with 77 where NumPy is not there."""
import os, random, subprocess, sys, tempfile

import sweep                              # ends with 77 where NumPy is not there
import numpy

IMAGES = 2
LAYERS = 6
HEAD = '<ir_version: 8, opset_import: ["" : 19]>\n'


def few_taps(op, count, channels, outs, kernel, strides):
    """Does the rule of col2im.c take it?  Of a transposed convolution some phase; its phases are columns of one sum where every one has all taps.
    None: it depends on how many phases are one sum."""
    if op == "Conv" and strides != [1] * count:
        return False
    phases, taps = 1, 1
    for k, s in zip(kernel, strides):
        phases *= s
        taps *= -(-k // s)
    few = [taps >= 2 and channels >= 4 * results and taps * results <= 4 * channels for results in (outs, outs * phases)]
    of_phase = phases > 1 and 2 <= taps <= 16 and channels >= 16
    return True if of_phase else few[0] if phases == 1 else None if any(few) else False


def layer(draw, name):
    """Its node, its input's dims behind the batch, its constants, and what the rule says of it."""
    op, count = draw.choice(["Conv", "ConvTranspose", "ConvTranspose"]), draw.choice([1, 1, 2, 2, 2, 3])
    dims = [draw.randint(*((140, 160) if count == 1 else (9, 19) if count == 2 else (5, 7))) for _ in range(count)]
    channels, outs = draw.choice([3, 8, 16, 17, 32, 70]), draw.choice([1, 1, 2, 3])
    kernel = [draw.randint(1, (70, 5, 3)[count - 1] if op == "Conv" else 4 if count < 3 else 2) for _ in range(count)]
    strides = [draw.choice([1, 1, 2]) if op == "Conv" else draw.choice([1, 2, 2]) for _ in range(count)]
    said = dict(kernel_shape=kernel, strides=strides)
    if draw.random() < 0.3:
        said["dilations"] = [draw.choice([1, 2]) for _ in range(count)]
    if draw.random() < 0.6:
        said["pads"] = [draw.randint(0, (k - 1) // 2) for k in kernel * 2]
    if op == "ConvTranspose" and draw.random() < 0.3:
        said["output_padding"] = [draw.randint(0, s - 1) for s in strides]
    shape = [outs, channels, *kernel] if op == "Conv" else [channels, outs, *kernel]
    bias = draw.random() < 0.7
    constants = {f"w_{name}": shape, **({f"b_{name}": [outs]} if bias else {})}
    node = f"{name} = {op} <{', '.join(f'{k} = {v}' for k, v in said.items())}> (x_{name}, {', '.join(constants)})"
    rule = few_taps(op, count, channels, outs, kernel, strides) if "dilations" not in said else None
    return node, [channels, *dims], constants, rule


def check(program, seed, folder):
    draw, numbers = random.Random(seed), numpy.random.default_rng(seed)
    made = [(f"y{i}", *layer(draw, f"y{i}")) for i in range(LAYERS)]
    inputs, given, constants, paths = [], [], [], {}
    for name, _, dims, held, _ in made:
        numpy.save(f"{folder}/x_{name}.npy", numbers.standard_normal([IMAGES, *dims]).astype("f4"))
        given += ["--input", f"x_{name}={folder}/x_{name}.npy"]
        inputs.append(f"float[N,{','.join(map(str, dims))}] x_{name}")
        paths[name] = f"{folder}/{name}.npy"
        for word, shape in held.items():
            values = numbers.standard_normal(shape).astype("f4") / 4
            constants.append(f"float[{','.join(map(str, shape))}] {word} = {{{', '.join(map(repr, map(float, values.ravel())))}}}")
    model = f"{folder}/g.onnxtxt"
    with open(model, "w") as file:
        file.write(f"{HEAD}g ({', '.join(inputs)}) => ({', '.join(paths)})\n<{', '.join(constants)}>\n{{\n" + "\n".join(node for _, node, *_ in made) + "\n}\n")
    images = ["--dim", f"N={IMAGES}"]
    shown = subprocess.run([program, "show", model, "--stage", "definitions", *images], check=True, capture_output=True, text=True).stdout
    for name, node, *_, rule in made:
        taken = f"\n{name}_taps " in shown or f"\n{name}_phase" in shown and f"{name}_phase" in "".join(l for l in shown.splitlines(True) if "_taps " in l.split("=")[0])
        assert rule is None or rule or not taken, f"{node}: a product over taps"
        assert not rule or taken, f"{node}: no product over taps\n{shown}"
    bits = sweep.run(program, model, given + images, paths, ["interpreter"])
    direct = sweep.run(program, model, given + images + ["--algorithms", "direct"], paths, ["interpreter"])
    for (name, *_), got, want in zip(made, bits, direct):
        assert got.shape == want.shape and numpy.allclose(got, want, rtol=2e-5, atol=2e-5), f"{name}: {abs(got - want).max()} from the direct sum"
    for target in draw.sample(sweep.TARGETS, 3):
        for (name, *_), got, want in zip(made, sweep.run(program, model, given + images, paths, target), bits):
            assert sweep.same(got, want), f"{' '.join(target)}: {name} has other bits than the interpreter"
    for name, *_ in made:
        numpy.save(f"{folder}/x_{name}.npy", numpy.load(f"{folder}/x_{name}.npy")[1:])
    for (name, *_), got, want in zip(made, sweep.run(program, model, given + ["--dim", "N=1"], paths, ["interpreter"]), bits):
        assert sweep.same(got, want[1:]), f"{name}: an image alone has other bits"
    return sum(bool(rule) for *_, rule in made)


def check_range(program, folder):
    """A size below a bound has the bits of that size."""
    numbers = numpy.random.default_rng(3)
    held = {"w": [2, 24, 3, 3], "v": [24, 2, 4, 4]}
    constants = ", ".join(f"float[{','.join(map(str, d))}] {n} = {{{', '.join(map(repr, map(float, (numbers.standard_normal(d) / 4).astype('f4').ravel())))}}}" for n, d in held.items())
    model = f"{folder}/r.onnxtxt"
    with open(model, "w") as file:
        file.write(f"{HEAD}g (float[1,24,H,W] x) => (y, z)\n<{constants}>\n{{\na = Relu (x)\ny = Conv <pads = [1,1,1,1]> (a, w)\nz = ConvTranspose <strides = [2,2], pads = [1,1,1,1]> (a, v)\n}}\n")
    paths = {n: f"{folder}/r{n}.npy" for n in "yz"}
    for size in ((8, 19), (31, 9)):
        numpy.save(f"{folder}/x.npy", numbers.standard_normal([1, 24, *size]).astype("f4"))
        given = ["--input", f"x={folder}/x.npy"]
        own = sweep.run(program, model, [*given, "--dim", f"H={size[0]}", "--dim", f"W={size[1]}"], paths, ["interpreter"])
        for target in (["interpreter"], ["c"], ["jit"]):
            for got, want in zip(sweep.run(program, model, [*given, "--dim", "H=4..40", "--dim", "W=4..40"], paths, target) or own, own):
                assert sweep.same(got, want), f"{target[0]}: other bits of {size} below 40 x 40"
    one = f"{folder}/one.onnxtxt"
    with open(one, "w") as file:
        file.write(f"{HEAD}g (float[1,48,128,128] x) => (y)\n<{constants.replace('[2,24', '[1,48')}>\n{{\ny = Conv <pads = [1,1,1,1]> (x, w)\n}}\n")
    shown = subprocess.run([program, "show", one, "--stage", "kernels", "--cpu", "x86-64-v4"], stdout=subprocess.PIPE, text=True).stdout
    blocks = [lines[1].split() for lines in (part.split("\n") for part in shown.split("\nk")) if "_sum" in lines[0]]
    assert blocks and all(words[0] == "blocks" and int(words[1].rstrip(",")) > 1 for words in blocks), f"a sum over taps is not shared: {shown}"


def check_phases(program, folder):
    """Columns behind a vector begin from their own bias; what is packed for phases is a constant of any size; steps of three are moved in vectors."""
    numbers, model = numpy.random.default_rng(4), f"{folder}/p.onnxtxt"
    listed = lambda values: ", ".join(map(repr, map(float, numpy.asarray(values, "f4").ravel())))
    with open(model, "w") as file:
        file.write(f"{HEAD}g (float[2,20,4,5,4] x) => (y)\n<float[20,3,4,4,4] w = {{{listed(numbers.standard_normal(20 * 192))}}}, float[3] b = {{1, 20, 300}}>\n"
                   "{\ny = ConvTranspose <strides = [2,2,2], pads = [0,0,1,0,0,1], output_padding = [0,1,1]> (x, w, b)\n}\n")
    numpy.save(f"{folder}/x.npy", numbers.standard_normal([2, 20, 4, 5, 4]).astype("f4"))
    paths, given = {"y": f"{folder}/y.npy"}, ["--input", f"x={folder}/x.npy"]
    want = sweep.run(program, model, given, paths, ["interpreter"])[0]
    for target in sweep.TARGETS:
        assert sweep.same(sweep.run(program, model, given, paths, target)[0], want), f"{' '.join(target)}: phases in columns have other bits than the interpreter"
    for channels, outs, steps, stage, no in ((128, 128, 2, "kernels", "nodes y_phases\n"), (8, 48, 3, "source", "scatter")):
        with open(model, "w") as file:
            file.write(f"{HEAD}g (float[1,{channels},8,7] x) => (y)\n<float[{channels},{outs},3,3] w = {{{', '.join(['1'] * (channels * outs * 9))}}}>\n"
                       f"{{\ny = ConvTranspose <strides = [{steps},{steps}], pads = [1,1,1,1]> (x, w)\n}}\n")
        shown = subprocess.run([program, "show", model, "--stage", stage, "--cpu", "x86-64-v4"], check=True, stdout=subprocess.PIPE, text=True).stdout
        assert "y_phase" in shown and no not in shown and ", scalar" not in shown, f"steps of {steps}: {no} in {shown}"


def main():
    program, seed, count, taken = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), 0
    for one in range(seed, seed + count):
        with tempfile.TemporaryDirectory() as folder:
            try:
                taken += check(program, one, folder)
                if one == seed:
                    check_range(program, folder)
                    check_phases(program, folder)
            except AssertionError as wrong:
                sys.exit(f"seed {one}: {wrong}")
    assert taken >= count, f"{taken} products over taps in {count} graphs"
    print(f"{count} graphs of convolutions with few results have the interpreter's bits, {taken} products over taps")


main()
