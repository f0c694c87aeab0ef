#!/usr/bin/env python3
"""Random networks over a batch: on every target, row i of any batch has the bits of a batch of one, and libraries with equal NAME_NUMBERS have equal bits.

    batch.py INGOT SEED COUNT

The batch is axis 0 of every input and output.  Sizes fall on either side of the rules that count outputs and terms, and the batch on either side of
tiles.  Engines run by `ingot run`; armv8-a, armv8.6-a and cortex-m4 are libraries, run by QEMU where it is there.  A drawn sample of batches and targets for each
network; with INGOT_LONG=1 batches 1 to 9 on all of them.  Ends with 77 where NumPy is not there."""
import json, os, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "firmware"))
import sweep                              # ends with 77 where NumPy is not there
from sweep import same
import boards
import numpy

LONG, ROWS = bool(os.environ.get("INGOT_LONG")), 9
ENGINES = [["interpreter"], ["c", "--cpu", "native"], ["c", "--cpu", "x86-64-v3"], ["c", "--cpu", "generic"], ["c", "--cpu", "native", "--optimise", "size"],
           ["c", "--cpu", "native", "--threads", "2"], ["jit"], ["cuda-emulated"]]
ENGINES = [engine for engine in ENGINES if "--cpu" not in engine or engine[2] in sweep.cpus()]
QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
BOARDS = (["armv8-a", "armv8.6-a"] if QEMU and shutil.which("aarch64-linux-gnu-gcc") else []) + (
    ["cortex-m4"] if shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm") else [])
HOSTED = """#include "case.h"
#include <stdint.h>
extern const uint32_t expected[];
static _Alignas(WORKSPACE_ALIGN) unsigned char workspace[WORKSPACE_BYTES + 1];
static union { float number[OUTPUT_WORDS]; uint32_t bits[OUTPUT_WORDS]; } out;
int main(void)
{
	int wrong = case_run(out.number, workspace) != 0;
	for (int i = 0; i < OUTPUT_WORDS; i++)
		wrong |= out.bits[i] != expected[i];
	return wrong;
}
"""


def on_board(program, folder, model, cpu, input_of, want, *options):
    """A library of model g for that CPU, run under QEMU beside what is wanted: its folder, manifest, exit code."""
    made = os.path.join(folder, cpu)
    boards.call(program, "build", model, "--cpu", cpu, *options, "-o", made)
    with open(os.path.join(made, "g.json")) as file:
        manifest = json.load(file)
    boards.write_case(folder, manifest, [input_of(one["name"]) for one in manifest["inputs"]], want)
    elf, library = os.path.join(folder, cpu + ".elf"), os.path.join(made, manifest["library"])
    if cpu in boards.BOARDS:
        boards.link(boards.BOARDS[cpu], folder, elf, "main.c", made, [library])
        run = ["qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none", "-serial", "none", "-semihosting-config",
               "enable=on,target=native", "-kernel", elf]
    else:
        with open(os.path.join(folder, "hosted.c"), "w") as file:
            file.write(HOSTED)
        boards.call("aarch64-linux-gnu-gcc", "-static", "-I" + folder, "-I" + made, "hosted.c", "case.S", library, "-o", elf, cwd=folder)
        run = [QEMU, "-cpu", "max", elf]
    return made, manifest, subprocess.run(run, capture_output=True, timeout=300).returncode


# ---- networks: dims are those of one row ----
def few(draw):
    """Columns: around the number at which a sum's order changes."""
    return draw.choice([1, 2, 3, 8, 10, 16, 23, 24, 25, 32, 33, 40])


def terms(draw, most=200):
    return min(most, draw.choice([3, 17, 63, 64, 64, 65, 100, 128, 130, 200]))


def full(dims):
    return ["N", *dims]


def activation(g, value):
    return g.node(g.draw.choice(["Relu", "Sigmoid", "Tanh", "Erf"]), value) if g.draw.random() < 0.6 else value


def bias(g, value, dims, axis):
    if g.draw.random() < 0.6:
        shape = [1] * (len(dims) + 1)
        shape[axis] = dims[axis - 1]
        value = g.node("Add", value, g.constant(shape[g.draw.choice([0, axis]):]))
    return value


def product(g, value, dims):
    """With weights: of two dims, or of three of which the first is 1, or of a matrix for each group."""
    m, rank = few(g.draw), len(dims) + 1
    shape = g.draw.choice([[dims[-1], m]] * 3 + [[1, dims[-1], m]] + ([[dims[0], dims[-1], m]] if rank == 4 else []))
    shape = shape if len(shape) <= rank else shape[1:]
    out = [*dims[:-1], m]
    return activation(g, bias(g, g.node("MatMul", value, g.constant(shape)), out, rank - 1)), out


def vector(g, value, dims):
    return (g.node("MatMul", value, g.constant([dims[-1]])), dims[:-1]) if len(dims) > 1 else product(g, value, dims)


def gemm(g, value, dims):
    value, k, m = flat(g, value, dims), int(numpy.prod(dims)), few(g.draw)
    turned = g.draw.random() < 0.5
    rest = [g.constant([m])] if g.draw.random() < 0.6 else []
    value = g.node("Gemm", value, g.constant([m, k] if turned else [k, m]), *rest, transB=int(turned), alpha=g.draw.choice([1.0, 0.5]))
    return activation(g, value), [m]


def attention(g, value, dims):
    """Two products of what is computed, softmax between them."""
    if len(dims) != 2:
        return product(g, value, dims)
    q, k, v = (g.node("MatMul", value, g.constant([dims[1], d])) for d in [terms(g.draw, 70)] * 2 + [few(g.draw)])
    last = int(g.constants[f"w{len(g.constants) - 1}"][1])
    scores = g.node("Softmax", g.node("MatMul", q, g.node("Transpose", k, perm=[0, 2, 1])), axis=-1)
    return g.node("MatMul", scores, v), [dims[0], last]


def convolution(g, value, dims):
    draw = g.draw
    if len(dims) not in (2, 3):
        return product(g, value, dims)
    c, image, n = dims[0], dims[1:], len(dims) - 1
    groups = draw.choice([1, 1, 1, c, 2 if c % 2 == 0 else 1])
    kernel = [draw.choice([1, 3, 3, min(5, x)]) if x >= 3 else 1 for x in image] if draw.random() < 0.8 else list(image)
    out_c = few(draw) if groups == 1 else groups * draw.choice([1, 2])
    pads = [k // 2 if draw.random() < 0.6 else 0 for k in kernel] * 2
    out = [x + 2 * p - k + 1 for x, k, p in zip(image, kernel, pads)]
    if out_c * c // groups * numpy.prod(kernel) * numpy.prod(out) > 6e5:
        return pool(g, value, dims)
    value = g.node("Conv", value, g.constant([out_c, c // groups, *kernel]), *([g.constant([out_c])] if draw.random() < 0.5 else []),
                   kernel_shape=kernel, pads=pads, group=groups)
    return activation(g, value), [out_c, *out]


def winograd(g, value, dims):
    if len(dims) != 3 or min(dims) < 8:
        return convolution(g, value, dims)
    c = g.draw.choice([16, 32])
    value = g.node("Conv", value, g.constant([c, dims[0], 3, 3]), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    return activation(g, value), [c, *dims[1:]]


def pool(g, value, dims):
    if len(dims) != 3 or min(dims[1:]) < 3:
        return row_op(g, value, dims)
    if g.draw.random() < 0.4:
        return g.node("GlobalAveragePool", value), [dims[0], 1, 1]
    return g.node(g.draw.choice(["MaxPool", "AveragePool"]), value, kernel_shape=[2, 2], strides=[2, 2]), [dims[0], *[(x - 2) // 2 + 1 for x in dims[1:]]]


def row_op(g, value, dims):
    draw, axis = g.draw, g.draw.randrange(1, len(dims) + 1)
    kind = draw.randrange(5)
    if kind == 0:
        return g.node("Softmax", value, axis=axis), dims
    if kind == 1:
        return g.node("LayerNormalization", value, g.constant(dims[axis - 1:]), axis=axis), dims
    if kind == 2:
        return g.node("ReduceMean", value, axes=[axis], keepdims=1), [1 if i == axis - 1 else n for i, n in enumerate(dims)]
    if kind == 3:
        return g.node(draw.choice(["Add", "Mul"]), value, g.input(full(dims)) if draw.random() < 0.5 else g.constant(dims)), dims
    return g.node("Concat", value, g.input(full(dims)), axis=axis), [2 * n if i == axis - 1 else n for i, n in enumerate(dims)]


def flat(g, value, dims):
    return value if len(dims) == 1 else g.node("Reshape", value, g.integers(-1, int(numpy.prod(dims))))


def around(g, value, dims):
    """The batch elsewhere for a while: behind the others, or one axis with the next."""
    if len(dims) == 1 or g.draw.random() < 0.5:
        order = [*range(1, len(dims) + 1), 0]
        back = [len(dims), *range(len(dims))]
        other = g.node("Tanh", g.node("Transpose", value, perm=order))
        return g.node("Transpose", other, perm=back), dims
    m = few(g.draw)
    rows = g.node("Reshape", value, g.integers(-1, dims[-1]))
    rows = bias(g, g.node("MatMul", rows, g.constant([dims[-1], m])), [m], 1)
    return g.node("Reshape", rows, g.integers(-1, *dims[:-1], m)), [*dims[:-1], m]


def recurrent(g, value, dims):
    if len(dims) != 2 or dims[0] > 12:
        return product(g, value, dims)
    hidden = g.draw.choice([3, 6, 8, 64])
    x = g.node("Transpose", value, perm=[1, 0, 2])
    g.made += 1
    name = f"t{g.made}"
    g.nodes.append(f'{name} = LSTM <hidden_size = {hidden}> ({x}, {g.constant([1, 4 * hidden, dims[1]])}, {g.constant([1, 4 * hidden, hidden])})')
    return g.node("Transpose", g.node("Squeeze", name, g.integers(1)), perm=[1, 0, 2]), [dims[0], hidden]


class Network:
    def __init__(self, seed, folder):
        self.draw = draw = sweep.random.Random(seed)
        self.graph = g = sweep.Graph(draw)
        dims = draw.choice([[terms(draw)], [draw.randint(2, 12), terms(draw)], [draw.randint(60, 70), draw.choice([8, 16])], [draw.choice([8, 16, 20]), 12, 12],
                            [draw.choice([3, 4, 16]), draw.randint(4, 9), draw.randint(4, 9)]])
        steps = [product, product, vector, gemm, attention, convolution, convolution, winograd, pool, row_op, row_op, around, recurrent]
        if seed % 3 == 0:                                     # a layer whose order a rule that counts the batch gets wrong
            dims = [draw.randint(64, 200)]
        value = g.input(full(dims))
        for i in range(draw.randint(1, 4)):
            value, dims = draw.choice([product, gemm] if seed % 3 == 0 and i == 0 else steps)(g, value, dims)
            if numpy.prod(dims) > 8000:
                break
        self.text, self.model = g.text([(value, full(dims))]), os.path.join(folder, "g.onnxtxt")
        with open(self.model, "w") as file:
            file.write(self.text)
        numbers = numpy.random.default_rng(seed)
        for name, shape in g.constants.items():
            (numbers.standard_normal(shape).astype("f4") / 8).tofile(os.path.join(folder, f"{name}.bin"))
        self.rows = {name: numbers.standard_normal([ROWS, *shape[1:]]).astype("f4") for name, shape in g.inputs.items()}
        self.folder = folder

    def given(self, rows):
        words = []
        for name, data in self.rows.items():
            path = os.path.join(self.folder, f"{name}.npy")
            numpy.save(path, data[rows])
            words += ["--input", f"{name}={path}"]
        return words

    def run(self, program, rows, *target):
        got = sweep.run(program, self.model, self.given(rows), {"y0": os.path.join(self.folder, "y0.npy")}, target)
        return got and got[0]

    def library(self, program, rows, cpu, algorithms, want):
        """Builds for that CPU, runs it under QEMU beside what is wanted; returns its NUMBERS."""
        count = rows.stop - rows.start
        made, manifest, code = on_board(program, self.folder, self.model, cpu, lambda name: self.rows[name][rows], want,
                                        "--algorithms", algorithms, "--dim", f"N={count}")
        assert code == 0, f"{cpu} --algorithms {algorithms}, batch of {count}: exit {code}, a bit differs"
        with open(os.path.join(made, "g.h")) as file:
            assert f'#define G_NUMBERS "{manifest["numbers"]}"' in file.read(), "header and manifest differ"
        return manifest["numbers"]


def check(program, network, together):
    draw, numbers = network.draw, set()
    algorithms = draw.choice(["fast", "fast", "direct"])
    one = [network.run(program, slice(i, i + 1), "interpreter", "--algorithms", algorithms)[0] for i in range(ROWS)]
    batches = range(1, ROWS + 1) if LONG else draw.sample(range(2, ROWS + 1), 2)
    for count in batches:
        for target in ENGINES if LONG else ENGINES[:1] + draw.sample(ENGINES[1:], 2):
            got = network.run(program, slice(0, count), *target, "--algorithms", algorithms)
            for i in range(count if got is not None else 0):
                assert same(got[i], one[i]), \
                    f"{' '.join(target)} --algorithms {algorithms}: row {i} of {count} has other bits: {got[i].ravel()[:4]}, {one[i].ravel()[:4]} is right"
    for count in batches if LONG else draw.sample(list(batches), 1):
        for cpu in BOARDS if LONG else draw.sample(BOARDS, len(BOARDS) > 0):
            numbers.add(network.library(program, slice(0, count), cpu, algorithms, numpy.stack(one[:count])))
    assert len(numbers) <= 1 and all(f"algorithms={algorithms}" in text for text in numbers), f"NUMBERS of one model and its options: {numbers}"


if __name__ == "__main__":
    sys.exit(sweep.main(check, "have no row whose bits depend on the batch", Network))
