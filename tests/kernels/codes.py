#!/usr/bin/env python3
"""Large weights of 8, 4 and 2 bits stay so: products widen them while they read them, with the bits of the interpreter, whatever blocks, zero points
and tails there are; what no word of codes holds stays floats.

    codes.py INGOT

Ends with 77 where NumPy is not there."""
import json, os, subprocess, sys, tempfile

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from here import cpus
from same import same

K, N = 608, 530                           # 1.3 MB of floats; columns leave a part of a vector
BITS = {"int8": 8, "uint8": 8, "int4": 4, "uint4": 4, "uint2": 2, "int2": 2}
# type, terms of a block (0: a scale for each column, -1: one for all), zero points, rows; whether it stays codes
CASES = [("int4", 32, "none", 1, True), ("uint4", 16, "each", 7, True), ("uint4", 32, "one", 13, True), ("int8", 0, "none", 1, True), ("uint8", 0, "each", 5, True),
         ("int8", 4, "each", 1, True), ("uint2", 32, "each", 3, True), ("int2", 16, "none", 1, True), ("uint8", -1, "one", 2, True), ("int4", 608, "each", 40, True),
         ("int4", 6, "each", 2, False), ("uint4", 100, "none", 1, False)]


def packed(codes, bits):
    """Low ones first, as ONNX has them."""
    flat = codes.astype("u1").ravel() & (1 << bits) - 1
    flat = numpy.pad(flat, (0, -len(flat) % (8 // bits))).reshape(-1, 8 // bits)
    return sum(flat[:, i].astype("u4") << bits * i for i in range(8 // bits)).astype("u1")


class Graph:
    def __init__(self, folder, draw):
        self.folder, self.draw, self.constants, self.nodes, self.inputs, self.outputs, self.given = folder, draw, [], [], [], [], []

    def constant(self, name, type, shape, data):
        data.tofile(os.path.join(self.folder, f"{name}.bin"))
        self.constants.append(f"{type}{[*shape] or ''} {name} = ".replace(", ", ",") + f'["location": "{name}.bin"]')

    def codes(self, name, type, shape, same_for_all=False):
        bits, signed = BITS[type], type[0] == "i"
        low = -(1 << bits - 1) if signed else 0
        drawn = self.draw.integers(low, low + (1 << bits), () if same_for_all else shape)
        self.constant(name, type, shape, packed(numpy.broadcast_to(drawn, shape), bits))

    def product(self, n, type, block, zeros, rows, turned):
        """A weight of [K, N], or of [N, K] that a Transpose turns, and rows by it."""
        shape, axis = ((N, K), 1) if turned else ((K, N), 0)
        self.codes(f"w{n}", type, shape)
        of = [N] if block == 0 else [] if block < 0 else [N, -(-K // block)] if turned else [-(-K // block), N]
        scale = self.draw.standard_normal(of).astype("f4") * numpy.float32(2.0) ** self.draw.integers(-130, 3, of).astype("f4")
        self.constant(f"s{n}", "float", of, numpy.asarray(scale, "f4"))
        inputs = f"w{n}, s{n}"
        if zeros != "none":
            self.codes(f"z{n}", type, of, zeros == "one")
            inputs += f", z{n}"
        words = f"axis = {axis}, block_size = {block}" if block > 0 else f"axis = {1 - axis}"
        self.nodes.append(f"d{n} = DequantizeLinear<{words}>({inputs})")
        if turned:
            self.nodes.append(f"t{n} = Transpose(d{n})")
        self.nodes.append(f"y{n} = MatMul(x{n}, {'t' if turned else 'd'}{n})")
        self.inputs.append(f"float[{rows},{K}] x{n}")
        self.outputs.append(f"float[{rows},{N}] y{n}")
        numpy.save(f"{self.folder}/x{n}.npy", self.draw.standard_normal((rows, K)).astype("f4"))
        self.given += ["--input", f"x{n}={self.folder}/x{n}.npy"]

    def packed_product(self, n, zeros):
        """MatMulNBits."""
        self.constant(f"w{n}", "uint8", (N, K // 32, 16), self.draw.integers(0, 256, (N, K // 32, 16), dtype="u1"))
        self.constant(f"s{n}", "float", (N, K // 32), self.draw.standard_normal((N, K // 32)).astype("f4"))
        if zeros:
            self.constant(f"z{n}", "uint8", (N, (K // 32 + 1) // 2), self.draw.integers(0, 256, (N, (K // 32 + 1) // 2), dtype="u1"))
        self.nodes.append(f"y{n} = com.microsoft.MatMulNBits<K = {K}, N = {N}, bits = 4, block_size = 32>(x{n}, w{n}, s{n}{f', z{n}' if zeros else ''})")
        self.inputs.append(f"float[3,{K}] x{n}")
        self.outputs.append(f"float[3,{N}] y{n}")
        numpy.save(f"{self.folder}/x{n}.npy", self.draw.standard_normal((3, K)).astype("f4"))
        self.given += ["--input", f"x{n}={self.folder}/x{n}.npy"]

    def write(self):
        path = os.path.join(self.folder, "g.onnxtxt")
        with open(path, "w") as file:
            file.write(f'<ir_version: 13, opset_import: ["" : 25, "com.microsoft" : 1]>\ng ({", ".join(self.inputs)}) => ({", ".join(self.outputs)})\n<{", ".join(self.constants)}> {{\n')
            file.writelines(f"\t{node}\n" for node in self.nodes)
            file.write("}\n")
        return path


def wrong(ingot, folder):
    graph = Graph(folder, numpy.random.default_rng(33))
    most = 0
    for n, (type, block, zeros, rows, stays) in enumerate(CASES):
        graph.product(n, type, block, zeros, rows, n % 2)
        words = K * BITS[type] / 8 + 8 * (1 if block <= 0 else -(-K // block))
        most += (N + 15) // 16 * 16 * (words if stays else 4 * K)
    for n in (len(CASES), len(CASES) + 1):
        graph.packed_product(n, n % 2)
        most += (N + 15) // 16 * 16 * (K / 2 + 8 * K // 32)
    model = graph.write()
    names = [text.split()[-1] for text in graph.outputs]

    def run(*words):
        paths = {name: f"{folder}/{name}.npy" for name in names}
        done = subprocess.run([ingot, "run", model, *graph.given, *[w for n, p in paths.items() for w in ("--output", f"{n}={p}")], *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return {name: numpy.load(path) for name, path in paths.items()}

    right = run("--target", "interpreter")
    for words in [("--target", "c", "--cpu", cpu) for cpu in cpus()] + [("--target", "jit")]:
        got = run(*words)
        yield from (f"{' '.join(words)}: {name} is not the interpreter's" for name in right if not same(got[name], right[name]))
    subprocess.run([ingot, "build", model, "-o", f"{folder}/out", "--no-compile", "--cpu", "x86-64-v4"], capture_output=True, check=True)
    with open(f"{folder}/out/g.json") as file:
        bytes = json.load(file)["weights_bytes"]
    if bytes > most + 64 * len(names):
        yield f"{bytes} bytes of weights, {most} at most are right"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        found = list(wrong(sys.argv[1], scratch))
    print("\n".join(found) if found else "weights of 8, 4 and 2 bits stay so")
    sys.exit(bool(found))
