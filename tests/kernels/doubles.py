#!/usr/bin/env python3
"""Products of doubles are tiles: with the bits of the interpreter, whatever their shapes and epilogues.

    doubles.py INGOT FIRST COUNT"""
import re, sys, tempfile
from text import Text, end, numpy

EPILOGUES = {"Relu(sum)": "double", "Tanh(sum)": "double", "Identity(sum)": "double", "Cast<to = 1>(sum)": "float", "Mul(sum, sum)": "double"}


def tensor(text, draw, shape, constant):
    array = draw.standard_normal(shape)
    return text.constant(text.name("w"), "double", shape, array) if constant else text.input(text.name("x"), "double", array)


def product(text, draw, kind):
    """One of drawn extents, beside those that are there."""
    n = len(text.outputs)
    m, k, columns = (int(draw.choice(sizes)) for sizes in ([1, 2, 7, 13, 40], [3, 16, 77, 300], [1, 5, 16, 33, 77, 130]))
    constant = bool(draw.integers(2))
    if kind == "turned":
        a, b, c = (tensor(text, draw, *of) for of in (((m, k), False), ((columns, k), constant), ((columns,), True)))
        words, shape = f"Gemm<transB = 1>({a}, {b}, {c})", (m, columns)
    elif kind == "conv":
        a, b = tensor(text, draw, (1, 5, 9, 9), False), tensor(text, draw, (columns, 5, 3, 3), True)
        words, shape = f"Conv({a}, {b})", (1, columns, 7, 7)
    else:
        front = (3,) if kind == "batch" else ()
        a, b = tensor(text, draw, (*front, m, k), False), tensor(text, draw, (*front, k, columns), constant)
        words, shape = f"MatMul({a}, {b})", (*front, m, columns)
    behind = str(draw.choice(list(EPILOGUES)))
    text.nodes += [f"sum{n} = {words}", f"y{n} = {behind.replace('sum', f'sum{n}')}"]
    text.output(f"y{n}", EPILOGUES[behind], shape)


def wrong(text, seed):
    draw = numpy.random.default_rng(seed)
    for kind in ("plain", "turned", "batch", "conv", "plain", "turned"):
        product(text, draw, kind)
    text.write()
    yield from text.wrong(f"seed {seed}")
    if not re.search(r"tile \d+ x \d+, 8 lanes of float64", text.show("kernels")):
        yield f"seed {seed}: no tile of doubles"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        first, count = map(int, sys.argv[2:])
        found = [line for seed in range(first, first + count) for line in wrong(Text(sys.argv[1], scratch), seed)]
    end(found, "products of doubles are tiles")
