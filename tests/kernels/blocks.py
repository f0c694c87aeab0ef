#!/usr/bin/env python3
"""Long sums of elements, which are sums of blocks: each target's bits are the interpreter's, a row of a batch has the bits of a batch of one, and rounding adds little.

    blocks.py INGOT SEED COUNT

Terms lie on either side of 4096, and in one axis or several: extents that whole blocks divide, others, primes.  The root of 2^20 squares is
right to 1e-7 of it, which 64 sums without blocks miss by a factor of five.  Ends with 77 where NumPy is not there."""
import os, sys

import sweep                              # ends with 77 where NumPy is not there
import numpy

WORK_MOST, EMULATED_MOST = 400000, 60000
ROOT_OF, ROOT_ERROR = 1 << 20, 1e-7
LENGTHS = [4096, 4097, 4099, 4160, 5000, 6144, 7919, 8192, 12289, 30522, 32000]
OPS = ["ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "Softmax", "LogSoftmax", "LayerNormalization", "GlobalAveragePool",
       "InstanceNormalization"]


class Case:
    """One operator over axes with many terms; perhaps a map before it, and one behind."""
    def __init__(self, seed, folder):
        self.draw = draw = sweep.random.Random(seed)
        op = OPS[seed % len(OPS)]
        pool = op in ("GlobalAveragePool", "InstanceNormalization")
        self.type = "double" if op.startswith("Reduce") and draw.random() < 0.25 else "float"
        terms = draw.choice([[draw.choice(LENGTHS)], [draw.choice([67, 80, 97, 112]), draw.choice([64, 61, 112])], [draw.choice([3, 8, 31]), draw.choice([16, 37]), draw.choice([31, 48])]])
        terms = [draw.choice([65, 79, 112]), draw.choice([64, 71, 112])] if pool else [1 if len(terms) == 1 else terms[0], terms[-1]] if op.startswith("L") else terms
        rows = [draw.choice([1, 2, 3]), draw.choice([1, 3, 5, 16, 17])]
        while numpy.prod(rows) * numpy.prod(terms) > WORK_MOST:
            rows[1] = max(1, rows[1] // 2)
        behind = op == "Softmax" or op.startswith("L") or pool or draw.random() < 0.5
        dims, axes = ([*rows, *terms], range(2, 2 + len(terms))) if behind else ([rows[0], *terms, rows[1]], range(1, 1 + len(terms)))
        axes = list(axes)
        g = self.graph = sweep.Graph(draw)
        value = g.input(dims)
        if draw.random() < 0.3:
            value = g.node(draw.choice(["Tanh", "Relu", "Abs"]) if op != "ReduceLogSum" else "Abs", value)
        elif op == "ReduceLogSum":
            value = g.node("Abs", value)
        if op.startswith("Reduce"):
            if op == "ReduceSum":
                value = g.node(op, value, g.integers(*axes), keepdims=1)
            else:
                value = g.node(op, value, axes=axes, keepdims=1)
            dims = [1 if i in axes else n for i, n in enumerate(dims)]
        elif op == "LayerNormalization":
            value = g.node(op, value, g.constant(dims[axes[0]:]), axis=axes[0])
        elif op == "InstanceNormalization":
            value = g.node(op, value, g.constant([dims[1]]), g.constant([dims[1]]))
        elif op == "GlobalAveragePool":
            value, dims = g.node(op, value), [*dims[:2], 1, 1]
        else:
            value = g.node(op, value, axis=draw.choice([-1, axes[0]]))
        if draw.random() < 0.3:
            value = g.node("Neg", value)
        self.work = numpy.prod(rows) * numpy.prod(terms)
        self.text = g.text([(value, dims)]).replace("float[", self.type + "[")
        self.model, self.paths = os.path.join(folder, "g.onnxtxt"), {"y0": os.path.join(folder, "y0.npy")}
        with open(self.model, "w") as file:
            file.write(self.text)
        self.arrays, self.given = sweep.numbers_of(g, seed, folder)
        for name in g.inputs if self.type == "double" else []:
            numpy.save(os.path.join(folder, f"{name}.npy"), self.arrays[name].astype("f8"))

    def run(self, program, *target):
        return sweep.run(program, self.model, self.given, self.paths, target)


def check_batch(program, case, right):
    """The first row alone: axis 0 is none that is reduced."""
    if next(iter(case.graph.inputs.values()))[0] == 1:
        return
    folder = os.path.join(os.path.dirname(case.model), "one")
    os.mkdir(folder)
    one = sweep.Graph(case.draw)
    one.__dict__.update(case.graph.__dict__)
    text = case.text
    for name, dims in case.graph.inputs.items():
        text = text.replace(f"{case.type}[{','.join(map(str, dims))}] {name}", f"{case.type}[{','.join(map(str, [1, *dims[1:]]))}] {name}")
        numpy.save(os.path.join(folder, f"{name}.npy"), numpy.load(os.path.join(os.path.dirname(case.model), f"{name}.npy"))[:1])
    shape = ",".join(map(str, right.shape))
    text = text.replace(f"{case.type}[{shape}] y0", f"{case.type}[{','.join(map(str, [1, *right.shape[1:]]))}] y0")
    model = os.path.join(os.path.dirname(case.model), "one.onnxtxt")
    with open(model, "w") as file:
        file.write(text)
    given = [word for name in case.graph.inputs for word in ("--input", f"{name}={os.path.join(folder, name)}.npy")]
    got, = sweep.run(program, model, given, {"y0": os.path.join(folder, "y0.npy")}, ["interpreter"])
    assert sweep.same(got, right[:1]), f"a batch of one has other bits: {got.ravel()[:4]}, {right.ravel()[:4]} is right"


def check(program, case, together):
    right = case.run(program, "interpreter")
    check_batch(program, case, right[0])
    targets = [t for t in sweep.TARGETS if t[0] != "cuda-emulated" or case.work < EMULATED_MOST]
    for target in case.draw.sample(targets, 2) if not os.environ.get("INGOT_LONG") else targets:
        together.add(case, target, case.given, case.paths, right)


def check_root(program):
    """What rounding adds to a long sum of numbers of one sign."""
    with sweep.tempfile.TemporaryDirectory() as folder:
        model, x = os.path.join(folder, "g.onnxtxt"), numpy.random.default_rng(1).standard_normal(ROOT_OF).astype("f4")
        with open(model, "w") as file:
            file.write(f'<ir_version: 8, opset_import: ["" : 17]>\ng (float[{ROOT_OF}] x) => (float[1] y) {{ y = ReduceL2(x) }}\n')
        numpy.save(os.path.join(folder, "x.npy"), x)
        y, = sweep.run(program, model, ["--input", f"x={folder}/x.npy"], {"y": os.path.join(folder, "y.npy")}, ["interpreter"])
        error = abs(float(y[0]) / numpy.sqrt((x.astype("f8") ** 2).sum()) - 1)
        print(f"the root of {ROOT_OF} squares is off by {error:.1e} of it")
        return bool(error > ROOT_ERROR)


if __name__ == "__main__":
    wrong = check_root(sys.argv[1])
    sys.exit(sweep.main(check, "have equal bits", Case) or wrong)
