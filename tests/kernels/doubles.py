#!/usr/bin/env python3
"""Products of doubles are tiles: with the bits of the interpreter, whatever their shapes and epilogues.

    doubles.py INGOT FIRST COUNT

Ends with 77 where NumPy is not there."""
import os, re, subprocess, sys, tempfile

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from here import cpus
from same import same

EPILOGUES = {"Relu(sum)": "double", "Tanh(sum)": "double", "Identity(sum)": "double", "Cast<to = 1>(sum)": "float", "Mul(sum, sum)": "double"}


class Graph:
    """Products of several kinds side by side, each of drawn extents."""
    def __init__(self, draw):
        self.draw, self.inputs, self.constants, self.nodes, self.outputs = draw, [], [], [], []

    def tensor(self, shape, constant):
        dims, array = ",".join(map(str, shape)), self.draw.standard_normal(shape)
        name = f"{'w' if constant else 'x'}{len(self.inputs) + len(self.constants)}"
        (self.constants if constant else self.inputs).append((f"double[{dims}] {name}", name, array))
        return name

    def product(self, kind):
        draw, n = self.draw, len(self.outputs)
        m, k, columns = (int(draw.choice(sizes)) for sizes in ([1, 2, 7, 13, 40], [3, 16, 77, 300], [1, 5, 16, 33, 77, 130]))
        constant = bool(draw.integers(2))
        if kind == "turned":
            a, b = self.tensor((m, k), False), self.tensor((columns, k), constant)
            text = f"Gemm<transB = 1>({a}, {b}, {self.tensor((columns,), True)})"
            shape = (m, columns)
        elif kind == "conv":
            a, b = self.tensor((1, 5, 9, 9), False), self.tensor((columns, 5, 3, 3), True)
            text, shape = f"Conv({a}, {b})", (1, columns, 7, 7)
        else:
            a, b = self.tensor((3, m, k) if kind == "batch" else (m, k), False), self.tensor((3, k, columns) if kind == "batch" else (k, columns), constant)
            text, shape = f"MatMul({a}, {b})", (3, m, columns) if kind == "batch" else (m, columns)
        behind = str(draw.choice(list(EPILOGUES)))
        self.nodes += [f"sum{n} = {text}", f"y{n} = {behind.replace('sum', f'sum{n}')}"]
        self.outputs.append(f"{EPILOGUES[behind]}[{','.join(map(str, shape))}] y{n}")

    def write(self, folder):
        """The words that run it."""
        given = []
        for _, name, array in self.constants:
            array.tofile(os.path.join(folder, f"{name}.bin"))
        for _, name, array in self.inputs:
            numpy.save(f"{folder}/{name}.npy", array)
            given += ["--input", f"{name}={folder}/{name}.npy"]
        constants = ", ".join(f'{text} = ["location": "{name}.bin"]' for text, name, _ in self.constants)
        model = os.path.join(folder, "g.onnxtxt")
        with open(model, "w") as file:
            file.write('<ir_version: 10, opset_import: ["" : 22]>\n'
                       f'g ({", ".join(text for text, _, _ in self.inputs)}) => ({", ".join(self.outputs)})\n<{constants}> {{\n')
            file.writelines(f"\t{node}\n" for node in self.nodes)
            file.write("}\n")
        return [model, *given]


def wrong(ingot, folder, seed):
    graph = Graph(numpy.random.default_rng(seed))
    for kind in ("plain", "turned", "batch", "conv", "plain", "turned"):
        graph.product(kind)
    words, names = graph.write(folder), [text.split()[-1] for text in graph.outputs]

    def run(*target):
        paths = {name: f"{folder}/{name}.npy" for name in names}
        done = subprocess.run([ingot, "run", *words, *[w for n, p in paths.items() for w in ("--output", f"{n}={p}")], *target], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return {name: numpy.load(path) for name, path in paths.items()}

    right = run("--target", "interpreter")
    for cpu in cpus():
        got = run("--target", "c", "--cpu", cpu)
        yield from (f"seed {seed} for {cpu}: {name} is not the interpreter's" for name in right if not same(got[name], right[name]))
    kernels = subprocess.run([ingot, "show", words[0], "--stage", "kernels", "--cpu", "x86-64-v3"], capture_output=True, text=True).stdout
    if not re.search(r"tile \d+ x \d+, 8 lanes of float64", kernels):
        yield f"seed {seed}: no tile of doubles"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        first, count = map(int, sys.argv[2:])
        found = [text for seed in range(first, first + count) for text in wrong(sys.argv[1], scratch, seed)]
    print("\n".join(found) if found else "products of doubles are tiles")
    sys.exit(bool(found))
