#!/usr/bin/env python3
"""Large weights of float16 and bfloat16 stay so: products widen them while they read them, with the bits of the interpreter, in half the bytes.

    halves.py INGOT"""
import re, sys, tempfile
from text import Text, end, numpy

K, N = 601, 530                           # 1.3 MB of floats; columns leave a part of a vector
INPUTS = {"row": (1, K), "rows": (7, K), "turned": (3, N), "image": (1, N, 5, 4)}
OUTPUTS = {"one": (1, N), "many": (7, N), "back": (3, K), "conv": (1, K, 5, 4)}
NODES = ["wide = Cast<to = 1>(w)", "one = MatMul(row, wide)", "many = MatMul(rows, wide)", "turn = Transpose(wide)", "back = MatMul(turned, turn)",
         "kernel = Cast<to = 1>(f)", "conv = Conv(image, kernel)"]


def wrong(text, kind, draw):
    numbers = draw.standard_normal((2, K, N)) * 2.0 ** draw.integers(-24, 6, (2, K, N))      # float16 has denormals among them
    codes = numbers.astype("f2") if kind == "float16" else (numbers.astype("f4").view("u4") >> 16).astype("u2")
    text.constant("w", kind, (K, N), codes[0])
    text.constant("f", kind, (K, N, 1, 1), codes[1])
    text.nodes = NODES
    for name, shape in INPUTS.items():
        text.input(name, "float", draw.standard_normal(shape).astype("f4"))
    for name, shape in OUTPUTS.items():
        text.output(name, "float", shape)
    text.write()
    yield from text.wrong(kind)
    # Panels of the first weights for one row, for many and turned, and of the second: 4 of 2 bytes, whose last vectors are padded.
    bytes, _ = text.weights()
    if bytes > 1.05 * 4 * 2 * K * N or not re.search("vec_load_half\\(w" if kind == "float16" else "vec_of_bfloat\\(ivec_load_u16\\(w", text.show("source")):
        yield f"{kind}: {bytes} bytes of weights"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        found = [line for kind in ("float16", "bfloat16") for line in wrong(Text(sys.argv[1], scratch), kind, numpy.random.default_rng(33))]
    end(found, "weights of 16 bits stay so")
