#!/usr/bin/env python3
"""Random graphs of integers of 8 to 64 bits, bool, double and floats of 16 bits, with casts between all of them: each target's bits are the interpreter's.

    typed.py INGOT SEED COUNT [CPU COMPILER]

With a CPU and a compiler the library is compiled by that, and its kernels by that under UndefinedBehaviorSanitizer where this machine runs them; aarch64's code runs
under QEMU.  Ends with 77 where NumPy, the compiler or QEMU is not there."""
import os, random, shutil, sys, tempfile

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "generated"))
import packages
from here import cpus
from same import same
from sweep import run

CPUS = [["c", "--cpu", cpu] for cpu in cpus() if cpu != "native"]


def targets(seed):
    """This machine's vectors and the JIT, and narrower ones and scalars by turns."""
    return [["c", "--cpu", "native"], CPUS[seed % len(CPUS)], ["jit"]]


SIGNED, UNSIGNED = ["int8", "int16", "int32", "int64"], ["uint8", "uint16", "uint32", "uint64"]
FLOATS, ALL = ["float", "double"], ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double", "bool"]
CODES = {"float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "double": 11, "uint32": 12, "uint64": 13, "bfloat16": 16}
NUMPY = {"float": "f4", "double": "f8", "bool": "?", "float16": "f2"} | {t: t for t in SIGNED + UNSIGNED}


class Graph:
    def __init__(self, draw):
        self.draw, self.nodes, self.inputs, self.constants, self.made = draw, [], {}, [], 0
        self.values = []                                  # (name, type, dims)

    def node(self, op, *inputs, **attributes):
        self.made += 1
        said = ", ".join(f"{k} = {v}" for k, v in attributes.items())
        self.nodes.append(f"t{self.made} = {op}{f' <{said}>' if said else ''} ({', '.join(inputs)})")
        return f"t{self.made}"

    def input(self, kind, dims):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = (kind, list(dims))
        return name

    def of(self, kinds, dims):
        """A value of one of these types and of these dims or what broadcasts to them: one that is there, a cast of one, or an input."""
        kind = self.draw.choice(kinds)
        there = [n for n, k, d in self.values if k == kind and d == dims]
        others = [(n, k) for n, k, d in self.values if k != kind and d == dims]
        chance = self.draw.random()
        if there and chance < 0.5:
            return self.draw.choice(there), kind
        if others and chance < 0.75:
            name, _ = self.draw.choice(others)
            return self.node("Cast", name, to=CODES[kind]), kind
        return self.input(kind, dims), kind

    def same(self, kind, dims):
        """A second operand: now and then one that is spread along some dims."""
        if self.draw.random() < 0.2:
            return self.input(kind, [n if self.draw.random() < 0.5 else 1 for n in dims])
        return self.of([kind], dims)[0]


def arithmetic(g, dims):
    a, kind = g.of(SIGNED + UNSIGNED + FLOATS, dims)
    op = g.draw.choice(["Add", "Sub", "Mul", "Min", "Max"] + (["Div"] if kind in FLOATS else ["Div", "Mod"]))
    return g.node(op, a, g.same(kind, dims)), kind


def compare(g, dims):
    a, kind = g.of([k for k in ALL if k != "bool"], dims)
    return g.node(g.draw.choice(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]), a, g.same(kind, dims)), "bool"


def logic(g, dims):
    a = g.of(["bool"], dims)[0]
    return (g.node("Not", a) if g.draw.random() < 0.3 else g.node(g.draw.choice(["And", "Or", "Xor"]), a, g.same("bool", dims))), "bool"


def where(g, dims):
    a, kind = g.of(ALL, dims)
    return g.node("Where", g.same("bool", dims), a, g.same(kind, dims)), kind


def unary(g, dims):
    a, kind = g.of(SIGNED + FLOATS, dims)
    return g.node(g.draw.choice(["Abs", "Neg", "Sign"] + (["Floor", "Ceil", "Round", "Sqrt", "Relu", "Exp"] if kind == "float" else ["Floor", "Round", "Sqrt", "Relu"] if kind == "double" else [])), a), kind


def bits(g, dims):
    a, kind = g.of(SIGNED + UNSIGNED, dims)
    if g.draw.random() < 0.3:
        return g.node("BitwiseNot", a), kind
    if kind in UNSIGNED and g.draw.random() < 0.4:
        return g.node("BitShift", a, g.same(kind, dims), direction=g.draw.choice(['"LEFT"', '"RIGHT"'])), kind
    return g.node(g.draw.choice(["BitwiseAnd", "BitwiseOr", "BitwiseXor"]), a, g.same(kind, dims)), kind


def cast(g, dims):
    a, _ = g.of(ALL, dims)
    to = g.draw.choice(ALL)
    return g.node("Cast", a, to=CODES[to]), to


def narrow(g, dims):
    """Through 16 bits and back, with what moves on the way."""
    code = g.draw.choice([10, 16])
    a = g.node("Cast", g.of(["float"], dims)[0], to=code)
    if g.draw.random() < 0.5:
        a = g.node("Where", g.same("bool", dims), a, g.node("Cast", g.same("float", dims), to=code))
    if g.draw.random() < 0.4:
        a = g.node("Add", a, a)
    return g.node("Cast", a, to=1), "float"


def quantise(g, dims, of=None):
    kind = g.draw.choice(["int8", "uint8"])
    scale, zero = f"c{len(g.constants)}", f"c{len(g.constants) + 1}"
    g.constants += [f"float {scale} = {{{g.draw.uniform(0.01, 0.3):.5}}}", f"{kind} {zero} = {{{g.draw.choice([0, 3, 128 if kind == 'uint8' else -7])}}}"]
    q = g.node("QuantizeLinear", of or g.of(["float"], dims)[0], scale, zero)
    return (q, kind) if g.draw.random() < 0.5 else (g.node("DequantizeLinear", q, scale, zero), "float")


CONSTANT_MOST = 1200


def product(g, dims):
    """A product of floats or of bytes, of the dims of its first factor: what is made of it may stand in its kernel."""
    integer, window = g.draw.random() < 0.4, len(dims) == 3 and g.draw.random() < 0.6
    kind = g.draw.choice(["int8", "uint8"] if integer else ["float"])
    a, n = g.of([kind], dims)[0], dims[1] if window else dims[-1]
    shape, weights = [n, n, 3] if window else [n, n], f"c{len(g.constants)}"
    if numpy.prod(shape) <= CONSTANT_MOST:
        numbers = [str(g.draw.randint(-128, 127)) if integer else f"{g.draw.gauss(0, 1):.3}" for _ in range(numpy.prod(shape))]
        g.constants.append(f"{'int8' if integer else 'float'}[{','.join(map(str, shape))}] {weights} = {{{', '.join(numbers)}}}")
    else:
        weights = g.input("int8" if integer else "float", shape)
    op = ("Conv" if window else "MatMul") + ("Integer" if integer else "")
    return g.node(op, a, weights, **({"pads": "[1, 1]"} if window else {})), "int32" if integer else "float"


def quantised(g, dims):
    """A product and what makes bytes of it, one of a kernel's epilogues."""
    g.values.append((*product(g, dims), dims))
    name, kind, _ = g.values[-1]
    return quantise(g, dims, name if kind == "float" else g.node("Cast", name, to=1))


def triangle(g, dims):
    """Of matrices the part above or below a diagonal, or a diagonal added: lanes choose by their own index."""
    a, kind = g.of(SIGNED + UNSIGNED + FLOATS, dims)
    if len(dims) == 2 and g.draw.random() < 0.3:
        return g.node("Add", a, g.node("EyeLike", a, k=g.draw.randint(-3, 3))), kind
    k = f"c{len(g.constants)}"
    g.constants.append(f"int64 {k} = {{{g.draw.randint(-20, 20)}}}")
    return (g.node("Trilu", a, k, upper=g.draw.randint(0, 1)) if len(dims) > 1 else a), kind


def reinterpret(g, dims):
    """The same 32 bits as another type's, and back: NaNs keep theirs."""
    kind = g.draw.choice(["int32", "uint32"])
    return g.node("BitCast", g.node("Abs", g.node("BitCast", g.input(kind, dims), to=CODES["float"])), to=CODES[kind]), kind


def byte_map(g, dims):
    """A chain that stays in bytes: vectors of four times as many."""
    kind = g.draw.choice(["int8", "uint8", "bool"])
    a = g.input(kind, dims)
    for _ in range(g.draw.randint(1, 3)):
        b = g.input(kind, dims) if g.draw.random() < 0.7 else g.input(kind, [n if g.draw.random() < 0.5 else 1 for n in dims])
        ops = ["And", "Or", "Xor", "Equal", "Not"] if kind == "bool" else ["Add", "Sub", "Mul", "Min", "Max", "BitwiseAnd", "BitwiseXor", "BitwiseNot", "Where", "Less", "GreaterOrEqual"]
        op = g.draw.choice(ops + (["Relu", "Abs", "Neg", "Sign"] if kind == "int8" else []))
        a = g.node(op, *([g.input("bool", dims)] if op == "Where" else []), a, *([b] if op not in ("Not", "BitwiseNot", "Relu", "Abs", "Neg", "Sign") else []))
        kind = "bool" if op in ("Equal", "Less", "GreaterOrEqual") else kind
    return a, kind


ONE = [byte_map, byte_map, arithmetic, arithmetic, arithmetic, compare, compare, logic, where, where, unary, bits, cast, cast, narrow, quantise, product, quantised, quantised, triangle, triangle, reinterpret]


def reduced(g, dims):
    """What changes the dims: it ends the graph."""
    what = g.draw.choice(["ReduceSum", "ReduceMax", "ReduceMin", "ArgMax", "ArgMin", "Transpose", "Transpose", "Slice"])
    a, kind = g.of(["int32", "int64", "float", "double"] + (["int8", "uint8"] if what != "ReduceSum" else []) + (["int16", "float16"] if what == "Transpose" else []), dims)
    axis = g.draw.randrange(len(dims))
    one = [1 if i == axis else n for i, n in enumerate(dims)]
    if what == "Transpose":
        order = g.draw.sample(range(len(dims)), len(dims))
        return g.node(what, a, perm=order), kind, [dims[i] for i in order]
    if what.startswith("Arg"):
        return g.node(what, a, axis=axis), "int64", one
    axes = f"c{len(g.constants)}"
    g.constants.append(f"int64[1] {axes} = {{{axis}}}")
    if what == "Slice":
        parts, step = [], g.draw.choice([1, 2, 3])
        for value in (0, dims[axis], axis, step):
            parts.append(f"c{len(g.constants)}")
            g.constants.append(f"int64[1] {parts[-1]} = {{{value}}}")
        return g.node(what, a, *parts), kind, [-(-n // step) if i == axis else n for i, n in enumerate(dims)]
    return g.node(what, a, axes), kind, one


def drawn(seed):
    draw = random.Random(seed)
    g = Graph(draw)
    dims = [draw.choice([1, 2, 3, 5, 7, 16, 17, 31, 33, 64, 100, 130]) for _ in range(draw.choice([1, 2, 2, 3]))]
    while numpy.prod(dims) > 20000:
        dims[draw.randrange(len(dims))] = 3
    outputs = []
    for _ in range(draw.randint(3, 10)):
        name, kind = draw.choice(ONE)(g, dims)
        g.values.append((name, kind, dims))
    for _ in range(draw.randint(0, 2)):
        outputs.append(reduced(g, dims))
    outputs += draw.sample(g.values, min(2, len(g.values))) + [g.values[-1]]
    named = []
    for i, (name, kind, shape) in enumerate(outputs):
        g.nodes.append(f"y{i} = Identity ({name})")
        named.append((f"y{i}", kind, shape))
    return g, named


def value_of(numbers, kind, dims):
    if kind == "bool":
        return numbers.integers(0, 2, dims).astype("?")
    if kind in FLOATS + ["float16"]:
        return (numbers.standard_normal(dims) * numbers.choice([1, 50, 3e5])).astype(NUMPY[kind])
    info = numpy.iinfo(kind)
    low, high = (-9, 9) if numbers.random() < 0.5 else (info.min, info.max)
    return numbers.integers(max(low, info.min), high, dims, dtype=kind, endpoint=True)


def text_of(g, outputs):
    shape = lambda kind, d: f"{kind}[{','.join(map(str, d))}]"
    inputs = ", ".join(f"{shape(k, d)} {n}" for n, (k, d) in g.inputs.items())
    constants = f"\n<{', '.join(g.constants)}>" if g.constants else ""
    body = "\n\t".join(g.nodes)
    ends = ", ".join(f"{shape(kind, d)} {n}" for n, kind, d in outputs)
    return f'<ir_version: 10, opset_import: ["" : 26]>\ng ({inputs}) => ({ends}){constants}\n{{\n\t{body}\n}}\n'


def compiled(model, folder, arrays, cpu, compiler):
    """The outputs of a library for that CPU, linked with a main of its own."""
    out = os.path.join(folder, "library")
    shutil.rmtree(out, ignore_errors=True)
    manifest = packages.build(model, "typed", out, "--cpu", cpu, "--cc", compiler, "--no-compile", "--weights", "c")
    for i, one in enumerate(manifest["inputs"]):
        arrays[one["name"]].tofile(os.path.join(out, f"in{i}"))
    arm = cpu.startswith("arm")
    checked = [] if arm else ["-fsanitize=undefined", "-fno-sanitize=alignment", "-fno-sanitize-recover=all"]
    sources = [os.path.join(out, one) for one in manifest["sources"] if one.endswith(".c")]
    packages.call([compiler, *packages.FLAGS, *checked, *packages.MARCH[cpu], *(["-static"] if arm else []), "-o", os.path.join(out, "program"), packages.driver(manifest, out), "-I", out,
                   *sources, "-pthread", "-lm"])
    packages.call([*([EMULATOR] if arm else []), os.path.join(out, "program")], cwd=out)
    return [os.path.join(out, f"out{i}") for i in range(len(manifest["outputs"]))]


EMULATOR = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")


def check(program, seed, folder, by):
    g, outputs = drawn(seed)
    model = os.path.join(folder, "g.onnxtxt")
    text = text_of(g, outputs)
    with open(model, "w") as file:
        file.write(text)
    numbers, given, arrays = numpy.random.default_rng(seed), [], {}
    for name, (kind, dims) in g.inputs.items():
        path = os.path.join(folder, name + ".npy")
        arrays[name] = numpy.asarray(value_of(numbers, kind, dims))
        numpy.save(path, arrays[name])
        given += ["--input", f"{name}={path}"]
    paths = {name: os.path.join(folder, name + ".npy") for name, _, _ in outputs}
    try:
        right = run(program, model, given, paths, ["interpreter"])
        if by:
            have = [numpy.fromfile(path, a.dtype).reshape(a.shape) for path, a in zip(compiled(model, folder, arrays, *by), right)]
            for (name, _, _), a, b in zip(outputs, right, have):
                assert same(a, b), f"{' '.join(by)}: {name} differs at {numpy.argwhere(a != b)[:3].tolist()}: {a[a != b][:3]}, {b[a != b][:3]}"
        for target in [] if by else targets(seed):
            have = run(program, model, given, paths, target)
            for (name, _, _), a, b in zip(outputs, right, have or []):
                assert same(a, b), f"{' '.join(target)}: {name} differs at {numpy.argwhere(a != b)[:3].tolist()}: {a[a != b][:3]}, {b[a != b][:3]}"
    except AssertionError as wrong:
        print(f"seed {seed}: {wrong}\n{text}")
        return 1
    return 0


def main(program, seed, count, *by):
    if by and (not shutil.which(by[1]) or (by[0].startswith("arm") and not EMULATOR)):
        print(f"skipped: no {by[1]} here, or no qemu-aarch64")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        wrong = sum(check(program, one, folder, by) for one in range(seed, seed + count))
    print(f"{count - wrong} of {count} graphs from seed {seed} on have the interpreter's bits")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]))
