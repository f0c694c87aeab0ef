#!/usr/bin/env python3
"""Large weights of 8, 4 and 2 bits, floats of 8 too, stay so: products widen them while they read them, with the bits of the interpreter, whatever
blocks, zero points and tails there are; what no word of codes holds stays floats.  Nothing is widened to make a library of them.

    codes.py INGOT"""
import re, sys, tempfile
from text import Text, end, numpy

K, N = 608, 530                           # 1.3 MB of floats; columns leave a part of a vector
BITS = {"int8": 8, "uint8": 8, "int4": 4, "uint4": 4, "uint2": 2, "int2": 2}
NAN = {"float8e4m3fn": [0x7f, 0xff], "float8e4m3fnuz": [0x80], "float8e5m2": [0x7c, 0x7d, 0x7e, 0x7f, 0xfc, 0xfd, 0xfe, 0xff], "float8e5m2fnuz": [0x80]}
BITS.update(dict.fromkeys(NAN, 8))
# type, terms of a block (0: a scale for each column, -1: one for all), zero points (or cast: no scale either; nan: among the codes; huge: a scale), rows;
# whether it stays codes
CASES = [("int4", 32, "none", 1, True), ("uint4", 16, "each", 7, True), ("uint4", 32, "one", 13, True), ("int8", 0, "none", 1, True), ("uint8", 0, "each", 5, True),
         ("int8", 4, "each", 1, True), ("uint2", 32, "each", 3, True), ("int2", 16, "none", 1, True), ("uint8", -1, "one", 2, True), ("int4", 608, "each", 40, True),
         ("int4", 6, "each", 2, False), ("uint4", 100, "none", 1, False),
         ("float8e4m3fn", 32, "none", 1, True), ("float8e4m3fnuz", 0, "zero", 50, True), ("float8e5m2", 16, "none", 3, True),
         ("float8e5m2fnuz", -1, "none", 1, True), ("float8e4m3fn", -1, "cast", 1, True), ("float8e5m2", -1, "cast", 5, True),
         ("float8e4m3fn", 32, "nan", 1, False), ("float8e5m2", 0, "huge", 1, False)]


def packed(codes, bits):
    """Low ones first, as ONNX has them."""
    flat = codes.astype("u1").ravel() & (1 << bits) - 1
    flat = numpy.pad(flat, (0, -len(flat) % (8 // bits))).reshape(-1, 8 // bits)
    return sum(flat[:, i].astype("u4") << bits * i for i in range(8 // bits)).astype("u1")


def codes(text, draw, name, type, shape, same_for_all=False, nan=False):
    bits, signed = BITS[type], type[0] == "i"
    low = -(1 << bits - 1) if signed else 0
    drawn = draw.integers(low, low + (1 << bits), () if same_for_all else shape)
    if type in NAN and not nan:
        drawn[numpy.isin(drawn, NAN[type])] = 1
    text.constant(name, type, shape, packed(numpy.broadcast_to(drawn, shape), bits))


def ends(text, draw, n, rows, k, columns):
    text.input(f"x{n}", "float", draw.standard_normal((rows, k)).astype("f4"))
    text.output(f"y{n}", "float", (rows, columns))


def product(text, draw, n, type, block, zeros, rows, turned):
    """A weight of [K, N], or of [N, K] that a Transpose turns, and rows by it."""
    shape, axis = ((N, K), 1) if turned else ((K, N), 0)
    codes(text, draw, f"w{n}", type, shape, nan=zeros == "nan")
    of = [N] if block == 0 else [] if block < 0 else [N, -(-K // block)] if turned else [-(-K // block), N]
    scale = draw.standard_normal(of).astype("f4") * numpy.float32(2.0) ** draw.integers(-130, 3, of).astype("f4")
    scale = numpy.asarray(scale, "f4")
    if zeros == "huge":
        scale[:] = numpy.float32(1e34)
    text.constant(f"s{n}", "float", of, scale)
    inputs = f"w{n}, s{n}"
    if zeros == "zero":
        text.constant(f"z{n}", type, of, numpy.zeros(of, "u1"))
        inputs += f", z{n}"
    elif zeros in ("each", "one"):
        codes(text, draw, f"z{n}", type, of, zeros == "one")
        inputs += f", z{n}"
    words = f"axis = {axis}, block_size = {block}" if block > 0 else f"axis = {1 - axis}"
    text.nodes.append(f"d{n} = Cast<to = 1>(w{n})" if zeros == "cast" else f"d{n} = DequantizeLinear<{words}>({inputs})")
    if turned:
        text.nodes.append(f"t{n} = Transpose(d{n})")
    text.nodes.append(f"y{n} = MatMul(x{n}, {'t' if turned else 'd'}{n})")
    ends(text, draw, n, rows, K, N)


def packed_product(text, draw, n, zeros, k=K, columns=N):
    """MatMulNBits."""
    blocks = k // 32
    text.constant(f"w{n}", "uint8", (columns, blocks, 16), draw.integers(0, 256, (columns, blocks, 16), dtype="u1"))
    text.constant(f"s{n}", "float", (columns, blocks), draw.standard_normal((columns, blocks)).astype("f4"))
    if zeros:
        text.constant(f"z{n}", "uint8", (columns, (blocks + 1) // 2), draw.integers(0, 256, (columns, (blocks + 1) // 2), dtype="u1"))
    text.nodes.append(f"y{n} = com.microsoft.MatMulNBits<K = {k}, N = {columns}, bits = 4, block_size = 32>(x{n}, w{n}, s{n}{f', z{n}' if zeros else ''})")
    ends(text, draw, n, 3, k, columns)


def wrong(text, draw):
    most = 0
    for n, (type, block, zeros, rows, stays) in enumerate(CASES):
        product(text, draw, n, type, block, zeros, rows, n % 2)
        words = K * BITS[type] / 8 + 8 * (1 if block <= 0 else -(-K // block))
        most += (N + 15) // 16 * 16 * (words if stays else 4 * K)
    for n in (len(CASES), len(CASES) + 1):
        packed_product(text, draw, n, n % 2)
        most += (N + 15) // 16 * 16 * (K / 2 + 8 * K // 32)
    text.write()
    bytes, _ = text.weights()
    if bytes > most + 64 * len(text.outputs):
        yield f"{bytes} bytes of weights, {most} at most are right"
    few, tiles = sum(stays and rows < 12 for *_, rows, stays in CASES) + 2, len(re.findall(r"m_tile_(?:codes|float8)\w+\(&", text.ask("show", "--stage", "glue", "--cpu", "native")))
    if "avx2" in open("/proc/cpuinfo").read() and tiles != few:
        yield f"the JIT's tiles widen codes of {tiles} products, not of {few} with less than 12 rows"
    yield from text.wrong("codes", "jit", "cuda-emulated")


def takes(text, draw):
    """A library of 32 MB, as floats, made of 4: 8 as bytes, and what ingot is.  In front of all that takes more."""
    packed_product(text, draw, 0, True, 2048, 4096)
    text.write()
    _, memory = text.weights()
    if memory > 64e6:
        yield f"{memory} bytes of memory to make a library of 8 million codes"


if __name__ == "__main__":
    draw = numpy.random.default_rng(33)
    found = []
    for of in (takes, wrong):
        with tempfile.TemporaryDirectory() as scratch:
            found += of(Text(sys.argv[1], scratch), draw)
    end(found, "weights of 8, 4 and 2 bits stay so")
