#!/usr/bin/env python3
"""Random graphs, of sums of products with what may stand around them and of other ops: each target's bits are the interpreter's.

    sweep.py INGOT SEED COUNT

Sizes are drawn so that rules on them (tiles, panels, k blocks, groups, Winograd, direct reading, fetching ahead) fall on either side: small ones, odd ones,
and now and then one that leaves a cache.  Ends with 77 where NumPy is not there."""
import os, random, subprocess, sys, tempfile

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from here import cpus, vnni
from same import same
from together import MOST, run_all

ENVIRONMENT = 5
TARGETS = [["c", "--cpu", "native"], ["c", "--cpu", "x86-64-v3"], ["c", "--cpu", "generic"], ["c", "--cpu", "native", "--optimise", "size"],
           ["c", "--cpu", "x86-64-v3", "--threads", "2"], ["c", "--cpu", "x86-64-v3,l1=8k,l2=32k"], ["jit"], ["cuda-emulated"]]
TARGETS = [target for target in TARGETS if "--cpu" not in target or target[2].split(",")[0] in cpus()]
WORK_MOST = 3e7                           # multiply-adds of a case: the interpreter runs it too
EMULATED_MOST = 2e6
AT_ONCE = 64                              # cases whose files are there


class Graph:
    """Nodes, inputs and constants as they are drawn."""
    def __init__(self, draw):
        self.draw, self.nodes, self.inputs, self.constants, self.lists, self.work, self.made = draw, [], {}, {}, {}, 0, 0

    def input(self, dims):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = list(dims)
        return name

    def constant(self, dims):
        name = f"w{len(self.constants)}"
        self.constants[name] = list(dims)
        return name

    def integers(self, *values):
        name = f"i{len(self.lists)}"
        self.lists[name] = values
        return name

    def node(self, op, *inputs, **attributes):
        self.made += 1
        said = ", ".join(f"{k} = {list(v) if isinstance(v, (list, tuple)) else v}" for k, v in attributes.items())
        self.nodes.append(f"t{self.made} = {op}{f' <{said}>' if said else ''} ({', '.join(inputs)})")
        return f"t{self.made}"

    def text(self, outputs, given=False):
        """`given`: constants are inputs too."""
        shape = lambda d: f"float[{','.join(map(str, d))}]"
        lists = {n: f"int64[{len(v)}] {n}" for n, v in self.lists.items()}
        inputs = ", ".join([f"{shape(d)} {n}" for n, d in (self.inputs | (self.constants if given else {})).items()] + (list(lists.values()) if given else []))
        constants = ", ".join([f'{shape(d)} {n} = ["location": "{n}.bin", "offset": "0", "length": "{4 * numpy.prod(d)}"]' for n, d in self.constants.items()]
                              + [f"{lists[n]} = {{{', '.join(map(str, v))}}}" for n, v in self.lists.items()])
        said = ", ".join(f"{shape(d)} y{i}" for i, (_, d) in enumerate(outputs))
        ends = "".join(f"\n\ty{i} = Identity ({name})" for i, (name, _) in enumerate(outputs))
        constants = "" if given or not constants else f"<{constants}>\n"
        return (f'<ir_version: 8, opset_import: ["" : 17]>\ng ({inputs}) => ({said})\n{constants}{{\n\t'
                + "\n\t".join(self.nodes) + ends + "\n}\n")


def size(draw, most):
    """Mostly small; now and then large, odd or a power of two."""
    kind = draw.random()
    top = most if kind > 0.85 else min(most, 70) if kind > 0.5 else min(most, 18)
    n = draw.randint(1, max(1, top))
    return 1 << (n.bit_length() - 1) if draw.random() < 0.25 else n


def ending(g, value, dims, channel):
    """What may be an epilogue: a bias, a residual, an activation."""
    draw = g.draw
    if draw.random() < 0.5:
        shape = [1] * len(dims)
        shape[channel] = dims[channel]
        value = g.node("Add", value, g.constant(shape))
    if draw.random() < 0.3:
        value = g.node("Add", value, g.input(dims))
    if draw.random() < 0.6:
        value = g.node(draw.choice(["Relu", "Sigmoid", "Tanh", "Erf"]), value)
    return value


def product(g):
    """MatMul of two inputs or with a constant, either side transposed; batches."""
    draw = g.draw
    batches = [draw.randint(1, 4) for _ in range(draw.choice([0, 0, 0, 1, 2]))]
    m, k, n = size(draw, 300), size(draw, 5000), size(draw, 2000)
    while numpy.prod(batches, initial=1) * m * k * n > WORK_MOST:
        m, k, n = (max(1, x * 2 // 3) for x in (m, k, n))
    g.work = numpy.prod(batches, initial=1) * m * k * n
    transposed = lambda rows, columns, make, dims: (make([*dims, rows, columns]) if draw.random() < 0.7 else
        g.node("Transpose", make([*dims, columns, rows]), perm=[*range(len(dims)), len(dims) + 1, len(dims)]))
    a = transposed(m, k, g.input, batches)
    constant = draw.random() < 0.7
    b = transposed(k, n, g.constant if constant else g.input, [] if constant or draw.random() < 0.2 else batches)
    dims = [*batches, m, n]
    value = ending(g, g.node("MatMul", a, b), dims, len(dims) - 1)
    if draw.random() < 0.2:
        value = g.node("Softmax", value, axis=-1)
    return [(value, dims)]


def convolution(g):
    """Conv in n c h w or n h w c; strides, pads, dilations, groups; perhaps a maximum behind it."""
    draw = g.draw
    depthwise, groups, images = draw.random() < 0.15, draw.choice([1, 1, 1, 1, 2, 4]), draw.choice([1, 1, 1, 2, 3])
    kernel = [draw.choice([1, 1, 3, 3, 3, 2, 5]) for _ in range(2)]
    stride, dilation = [draw.choice([1, 1, 2]) for _ in range(2)], [draw.choice([1, 1, 1, 2]) for _ in range(2)]
    image = [size(draw, 60), size(draw, 60)]
    c_in, c_out = (size(draw, 300) for _ in range(2))
    if draw.random() < 0.3:                               # where Winograd is chosen
        kernel, stride, dilation, groups, depthwise = [3, 3], [1, 1], [1, 1], 1, False
        c_in, c_out = draw.choice([16, 32, 48]), draw.choice([16, 32, 40])
    if draw.random() < 0.1:                               # tiles with taps that lie in the pads
        kernel, dilation, groups, depthwise = [3, 3], [draw.choice([1, 4, 9]), draw.choice([1, 3, 6, 12])], 1, False
        c_in, image = draw.choice([16, 24, 70]), [size(draw, 40), size(draw, 40)]
    pads = [draw.randint(0, (k - 1) * d) for k, d in zip(kernel, dilation)] + [draw.randint(0, (k - 1) * d) for k, d in zip(kernel, dilation)]
    image = [max(x, (k - 1) * d + 1 - pads[i] - pads[i + 2]) for i, (x, k, d) in enumerate(zip(image, kernel, dilation))]
    out = [(x + pads[i] + pads[i + 2] - (kernel[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i, x in enumerate(image)]
    while c_in * c_out * numpy.prod(kernel) * numpy.prod(out) > WORK_MOST:
        c_in, c_out = max(1, c_in // 2), max(1, c_out // 2)
    if depthwise:
        groups, c_out = c_in, c_in * draw.choice([1, 1, 2])
    else:
        c_in, c_out = (c + -c % groups for c in (c_in, c_out))
    g.work = c_in // groups * c_out * numpy.prod(kernel) * numpy.prod(out)
    last = draw.random() < 0.5
    x = g.node("Transpose", g.input([images, *image, c_in]), perm=[0, 3, 1, 2]) if last else g.input([images, c_in, *image])
    value = g.node("Conv", x, g.constant([c_out, c_in // groups, *kernel]), kernel_shape=kernel, strides=stride, dilations=dilation, pads=pads, group=groups)
    dims = [images, c_out, *out]
    value = ending(g, value, dims, 1)
    if draw.random() < 0.3 and min(out) > 1:
        value = g.node(draw.choice(["MaxPool", "AveragePool"]), value, kernel_shape=[2, 2], strides=[2, 2])
        dims[2:] = [(n - 2) // 2 + 1 for n in out]
    return [(g.node("Transpose", value, perm=[0, 2, 3, 1]), [dims[0], dims[2], dims[3], dims[1]]) if last else (value, dims)]


def recurrent(g):
    """LSTM over some steps, in either direction, with and without a start."""
    draw = g.draw
    steps, batch, width, hidden = draw.randint(1, 12), draw.randint(1, 3), size(draw, 60), size(draw, 60)
    direction = draw.choice(["forward", "forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    g.work = steps * batch * ways * 4 * hidden * (hidden + width)
    rest = [g.constant([ways, 8 * hidden])] if draw.random() < 0.6 else []
    if draw.random() < 0.5:
        rest = (rest or [""]) + ["", g.input([ways, batch, hidden]), g.input([ways, batch, hidden])]
    x = g.node("Tanh", g.input([steps, batch, width])) if draw.random() < 0.3 else g.input([steps, batch, width])
    g.made += 3
    all_steps, last, cell = (f"t{g.made - i}" for i in (2, 1, 0))
    inputs = ", ".join(i or '""' for i in [x, g.constant([ways, 4 * hidden, width]), g.constant([ways, 4 * hidden, hidden]), *rest])
    g.nodes.append(f'{all_steps}, {last}, {cell} = LSTM <hidden_size = {hidden}, direction = "{direction}"> ({inputs})')
    outputs = [(all_steps, [steps, ways, batch, hidden]), (last, [ways, batch, hidden]), (cell, [ways, batch, hidden])]
    return [one for one in outputs if draw.random() < 0.7] or outputs[:1]


def dense(g):
    """Gemm with its factors and either side transposed, one or two of them."""
    draw = g.draw
    m, k, n = size(draw, 100), size(draw, 600), size(draw, 300)
    transposed = [draw.random() < 0.3, draw.random() < 0.5]
    g.work = m * k * n
    c = [[g.constant(draw.choice([[n], [1, n], [m, n], [m, 1], [1]]))], []][draw.random() < 0.3]
    value = g.node("Gemm", g.input([k, m] if transposed[0] else [m, k]), g.constant([n, k] if transposed[1] else [k, n]), *c, transA=int(transposed[0]), transB=int(transposed[1]),
                   alpha=draw.choice([1.0, 0.5]), beta=draw.choice([1.0, 1.0, 0.25]))
    value = ending(g, value, [m, n], 1)
    return [(value, [m, n])]


def unary(g, value, dims):
    return g.node(g.draw.choice(["Relu", "Sigmoid", "Tanh", "Erf", "Elu"]), value), dims


def binary(g, value, dims):
    other = [n if g.draw.random() < 0.6 else 1 for n in dims][g.draw.choice([0, 0, 1]):]
    return g.node(g.draw.choice(["Add", "Mul", "Sub"]), value, g.draw.choice([g.input, g.constant])(other or [1])), dims


def turn(g, value, dims):
    order = g.draw.sample(range(len(dims)), len(dims))
    return g.node("Transpose", value, perm=order), [dims[i] for i in order]


def softmax(g, value, dims):
    return g.node("Softmax", value, axis=g.draw.randrange(len(dims))), dims


def layer_norm(g, value, dims):
    axis = g.draw.randrange(len(dims))
    return g.node("LayerNormalization", value, g.constant(dims[axis:]), axis=axis), dims


def mean(g, value, dims):
    axes = sorted(g.draw.sample(range(len(dims)), g.draw.randint(1, len(dims))))
    means = g.node("ReduceMean", value, axes=axes, keepdims=1)
    return (g.node("Sub", value, means), dims) if g.draw.random() < 0.6 else (means, [1 if i in axes else n for i, n in enumerate(dims)])


def pool(g, value, dims):
    if len(dims) != 4 or min(dims[2:]) < 3:
        return unary(g, value, dims)
    kernel, stride, pad = g.draw.choice([2, 3]), g.draw.choice([1, 2]), g.draw.choice([0, 1])
    out = [(n + 2 * pad - kernel) // stride + 1 for n in dims[2:]]
    return g.node(g.draw.choice(["MaxPool", "AveragePool"]), value, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4), [*dims[:2], *out]


def join(g, value, dims):
    axis = g.draw.randrange(len(dims))
    other = list(dims)
    other[axis] = g.draw.randint(1, 20)
    return g.node("Concat", value, g.input(other), axis=axis), [n + other[i] if i == axis else n for i, n in enumerate(dims)]


def cut(g, value, dims):
    axis = g.draw.randrange(len(dims))
    step = g.draw.choice([1, 1, 1, 2, 3, -1])
    low = g.draw.randrange(dims[axis])
    high = g.draw.randint(low + 1, dims[axis])
    start, end = (low, high) if step > 0 else (high - 1, low - 1 if low else -dims[axis] - 1)
    bounds = [g.integers(n) for n in (start, end, axis, step)]
    return g.node("Slice", value, *bounds), [-(-(high - low) // abs(step)) if i == axis else n for i, n in enumerate(dims)]


def pick(g, value, dims):
    axis = g.draw.randrange(len(dims))
    at = [g.draw.randrange(-dims[axis], dims[axis]) for _ in range(g.draw.randint(1, 30))]
    return g.node("Gather", value, g.integers(*at), axis=axis), [len(at) if i == axis else n for i, n in enumerate(dims)]


def run_along(g, value, dims):
    return g.node("CumSum", value, g.integers(g.draw.randrange(-len(dims), len(dims))), exclusive=g.draw.choice([0, 0, 1]), reverse=g.draw.choice([0, 1])), dims


def indices(g, dims, most):
    """As many in [-most, most): some are there twice."""
    return g.node("Reshape", g.integers(*[g.draw.randrange(-most, most) for _ in range(numpy.prod(dims))]), g.integers(*dims))


def scatter(g, value, dims):
    reduction = g.draw.choice(['"none"', '"add"', '"mul"'])
    axis = g.draw.randrange(len(dims))
    if g.draw.random() < 0.5:                             # whole rows
        count = g.draw.randint(1, 40)
        return g.node("ScatterND", value, indices(g, [count, 1], dims[0]), g.input([count, *dims[1:]]), reduction=reduction), dims
    at = [g.draw.choice([n, n, g.draw.randint(1, n)]) for n in dims]
    while numpy.prod(at) > 400:
        at[g.draw.randrange(len(at))] = 1
    return g.node("ScatterElements", value, indices(g, at, dims[axis]), g.input(at), axis=axis, reduction=reduction), dims


def top(g, value, dims):
    axis = g.draw.randrange(len(dims))
    k = g.draw.choice([1, dims[axis], g.draw.randint(1, dims[axis])])
    g.made += 1
    g.nodes.append(f"t{g.made}, p{g.made} = TopK <axis = {axis}, largest = {g.draw.choice([0, 1])}> ({value}, {g.integers(k)})")
    name, dims = f"t{g.made}", [k if i == axis else n for i, n in enumerate(dims)]
    if g.draw.random() < 0.5:
        name = g.node("Add", name, g.node("Cast", f"p{g.made}", to=1))
    return name, dims


def regroup(g, value, dims):
    """A reshape: neighbouring dims become one, or one becomes two."""
    dims, axis = list(dims), g.draw.randrange(len(dims))
    factors = [n for n in range(2, 33) if dims[axis] % n == 0]
    if factors and len(dims) < 5 and g.draw.random() < 0.6:
        n = g.draw.choice(factors)
        dims[axis:axis + 1] = [dims[axis] // n, n]
    elif len(dims) > 1:
        axis = min(axis, len(dims) - 2)
        dims[axis:axis + 2] = [dims[axis] * dims[axis + 1]]
    return g.node("Reshape", value, g.integers(*dims)), dims


def weigh(g, value, dims):
    return g.node("MatMul", value, g.constant([dims[-1], 24])), [*dims[:-1], 24]


def generic(g):
    """What rows, maps, windows and copies are made of, one after the other; now and then what is on the way is wanted too, or read again."""
    draw = g.draw
    dims = [size(draw, 200) for _ in range(draw.choice([2, 3, 4, 4]))]
    while numpy.prod(dims) > 200000:
        dims = [max(1, n // 2) for n in dims]
    value, on_the_way = g.input(dims), []
    for _ in range(draw.randint(2, 9)):
        if numpy.prod(dims) > 400000:
            break
        value, dims = draw.choice([unary, binary, binary, turn, turn, softmax, layer_norm, mean, pool, join, cut, pick, run_along, scatter, top, regroup, regroup, weigh])(g, value, dims)
        again = [name for name, d in on_the_way if d == dims]
        if again and draw.random() < 0.4:
            value = g.node("Add", value, draw.choice(again))
        on_the_way.append((value, list(dims)))
        g.work += numpy.prod(dims) * 20
    more = [one for one in on_the_way[:-1] if draw.random() < 0.12]
    return [(value, dims)] + more


def draw_graph(g):
    return g.draw.choice([product, convolution, generic, generic, dense, recurrent])(g)


def numbers_of(g, seed, folder):
    """Writes the constants and the inputs, by name; returns them with the options that give the inputs."""
    numbers, arrays, given = numpy.random.default_rng(seed), {}, []
    for name, dims in g.constants.items():
        arrays[name] = numbers.standard_normal(dims).astype("f4") / 8
        arrays[name].tofile(os.path.join(folder, f"{name}.bin"))
    for name, dims in g.inputs.items():
        arrays[name] = numbers.standard_normal(dims).astype("f4")
        numpy.save(os.path.join(folder, f"{name}.npy"), arrays[name])
        given += ["--input", f"{name}={os.path.join(folder, name)}.npy"]
    return arrays, given


def outputs_to(paths):
    return [word for name, path in paths.items() for word in ("--output", f"{name}={path}")]


def run(program, model, given, paths, target):
    """The outputs, whose files `paths` tells by name; None where there is no such target."""
    done = subprocess.run([program, "run", model, *given, *outputs_to(paths), "--target", *target], capture_output=True, text=True)
    if done.returncode == ENVIRONMENT and target[0] == "jit" and "libtcc" in done.stderr:
        return None
    assert done.returncode == 0, f"{' '.join(target)}: exit {done.returncode}: {done.stderr.strip()[:400]}"
    return [numpy.load(path) for path in paths.values()]


class Together:
    """Runs whose outputs are judged later: those of --target c are compiled together, of one CPU at a time."""
    def __init__(self, program):
        self.program, self.runs = program, {}

    def add(self, case, target, given, paths, right, words=()):
        """A run of the case's model, whose outputs are to be `right`; `words`: options of its own."""
        self.runs.setdefault(tuple(target), []).append((case, [*given, *words], paths, right))

    def outputs(self, target, runs):
        if target[0] != "c":
            return [run(self.program, case.model, given, paths, target) for case, given, paths, _ in runs]
        found = run_all(self.program, [[case.model, *given, *outputs_to(paths)] for case, given, paths, _ in runs], target[1:])
        return [why or [numpy.load(path) for path in paths.values()] for (_, _, paths, _), why in zip(runs, found)]

    def wrong(self):
        """(case, why it is wrong) of each that is."""
        for target, runs in self.runs.items():
            for first in range(0, len(runs), MOST):            # some at a time, as other runs write the same files
                some = runs[first:first + MOST]
                for (case, given, paths, right), got in zip(some, self.outputs(list(target), some)):
                    for name, a, b in zip(paths, got or [], right):
                        if isinstance(got, str) or not same(a, b):
                            yield case, f"{' '.join(target)}: " + (got if isinstance(got, str) else f"{name} has other bits: {a.ravel()[:4]}, {b.ravel()[:4]} is right")
                            break


class Case:
    """A drawn graph, and its files in a folder."""
    def __init__(self, seed, folder):
        self.draw = random.Random(seed)
        self.graph = Graph(self.draw)
        self.outputs = draw_graph(self.graph)
        self.text = self.graph.text(self.outputs)
        self.model = os.path.join(folder, "g.onnxtxt")
        self.paths = {f"y{i}": os.path.join(folder, f"y{i}.npy") for i in range(len(self.outputs))}
        with open(self.model, "w") as file:
            file.write(self.text)
        self.arrays, self.given = numbers_of(self.graph, self.draw.randint(0, 1 << 30), folder)

    def run(self, program, *target):
        return run(program, self.model, self.given, self.paths, target)


def check(program, case, together):
    rights = {a: case.run(program, "interpreter", "--algorithms", a) for a in ("fast", "direct")}
    targets = [t for t in TARGETS if t[0] != "cuda-emulated" or case.graph.work < EMULATED_MOST]
    for target in case.draw.sample(targets, 3) if not os.environ.get("INGOT_LONG") else targets:
        algorithms = case.draw.choice(["fast", "fast", "direct"])
        together.add(case, target, case.given, case.paths, rights[algorithms], ["--algorithms", algorithms])


def wrong_of(program, numbers, make, check):
    """(number, case, why) of each case that is wrong.  make(number, folder): a case, in a folder of its own; check(program, case, together) asserts what it sees at
    once, and gives `together` what is to be right."""
    for first in range(0, len(numbers), AT_ONCE):
        with tempfile.TemporaryDirectory() as folder:
            together, cases, wrong = Together(program), {}, {}
            for number in numbers[first:first + AT_ONCE]:
                own = os.path.join(folder, str(number))
                os.mkdir(own)
                case = make(number, own)
                cases[case] = number
                try:
                    check(program, case, together)
                except AssertionError as why:
                    wrong[case] = why
            for case, why in together.wrong():
                wrong.setdefault(case, why)
            yield from ((cases[case], case, why) for case, why in wrong.items())


def main(check, right, make=Case):
    program, first, count, bad = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), 0
    for seed, case, why in wrong_of(program, range(first, first + count), make, check):
        print(f"seed {seed}: {why}\n{case.text}")
        bad += 1
    print(f"{count - bad} of {count} graphs from seed {first} on {right}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(check, "have equal bits"))
