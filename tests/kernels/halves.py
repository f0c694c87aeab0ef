#!/usr/bin/env python3
"""Large weights of float16 and bfloat16 stay so: products widen them while they read them, with the bits of the interpreter, in half the bytes.  With
--store-weights those of float32 are rounded so, or to bytes, and only those that stay so.

    halves.py INGOT"""
import re, sys, tempfile
from text import Text, end, numpy, same

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
    yield from text.wrong(kind, "jit")
    # Panels of the first weights for one row, for many and turned, and of the second: 4 of 2 bytes, whose last vectors are padded.
    bytes, _ = text.weights()
    if bytes > 1.05 * 4 * 2 * K * N or not re.search("vec_load_half\\(w" if kind == "float16" else "vec_of_bfloat\\(ivec_load_u16\\(w", text.show("source")):
        yield f"{kind}: {bytes} bytes of weights"
    tiles = text.ask("show", "--stage", "glue", "--cpu", "native").count(f"m_tile_{kind}(&")
    if "avx2" in open("/proc/cpuinfo").read() and tiles != 3:
        yield f"{kind}: the JIT's tiles widen them for {tiles} products, not for those of one, seven and three rows"


def rounded(w, word):
    """What NumPy makes of it, by column."""
    if word == "f16":
        return w.astype("f2").astype("f4")
    if word == "bf16":
        code = w.view("u4")
        return (code + (code >> 16 & 1) + 0x7fff & 0xffff0000).view("f4")
    scale = abs(w).max(0) / numpy.float32(127)
    return numpy.clip(numpy.rint(w.astype("f8") / scale), -127, 127).astype("f4") * scale


def wrong_stored(ingot, word, draw):
    """One weight that is stored so, one that a Gather reads, too, and one that float16 has not."""
    k, drawn = 608, lambda rows, columns: draw.standard_normal((rows, columns)).astype("f4")
    w, shared, far, x = drawn(k, N), drawn(k, N), drawn(k, N) * numpy.float32(1e36), drawn(5, k)
    results = []
    for options, weight in (("--store-weights", word), w), ((), rounded(w, word)):
        with tempfile.TemporaryDirectory() as folder:
            text = Text(ingot, folder, options)
            for name, of in ("w", weight), ("shared", shared), ("far", far):
                text.constant(name, "float", of.shape, of)
            text.input("at", "int64", numpy.array([3]))
            text.input("x", "float", x)
            text.nodes = ["y = MatMul(x, w)", "row = Gather(shared, at)", "sum = MatMul(x, shared)", "z = Add(sum, row)", "u = MatMul(x, far)"]
            for name in "yzu" if word == "f16" else "yz":
                text.output(name, "float", (5, N))
            text.write()
            results.append(text.run("--target", "interpreter"))
            if not options:
                continue
            yield from text.wrong(f"--store-weights {word}", "jit")
            bytes, _ = text.weights()
            panel = (N + 15) // 16 * 16 * k
            if bytes > panel * (1 if word == "int8" else 2) + 4 * (N + 30) + 4 * panel * (2 if word == "f16" else 1) + 4 * k * N:
                yield f"--store-weights {word}: {bytes} bytes of weights"
            numpy.savez(f"{folder}/data.npz", x=x, at=numpy.array([3]), **results[0])
            told = text.ask("check", f"{folder}/data.npz", "--target", "interpreter")
            if f"y: --store-weights {word} moves it by" not in told or f"z: --store-weights {word} moves it by 0 of" not in told:
                yield f"--store-weights {word}: {told}"
            with open(f"{folder}/out/g.h") as file:
                if f" store-weights={word}" not in file.read():
                    yield f"--store-weights {word} is not in NAME_NUMBERS"
    yield from (f"--store-weights {word}: {name} is not that of rounded weights" for name in results[0] if not same(results[0][name], results[1][name]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        found = [line for kind in ("float16", "bfloat16") for line in wrong(Text(sys.argv[1], scratch), kind, numpy.random.default_rng(33))]
    found += [line for word in ("f16", "bf16", "int8") for line in wrong_stored(sys.argv[1], word, numpy.random.default_rng(34))]
    end(found, "weights of 16 bits stay so")
