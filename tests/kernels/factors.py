#!/usr/bin/env python3
"""--math bf16, f16 and tf32: factors of sums of products are rounded as NumPy rounds them, and sums are as near to the exact ones as float32's are; each target's
bits are the interpreter's; --keep-strict; --store bf16; what is refused.

    factors.py INGOT SEED COUNT

Ends with 77 where NumPy is not there."""
import json, os, re, subprocess, sys, tempfile

from sweep import Case, EMULATED_MOST, TARGETS, main, numpy, outputs_to
from here import bf16
from same import same

# Bits of a factor, the exponent of the last bit of the smallest one, and the largest one.
PAIRS, CC = "x86-64-v4,bf16", os.environ.get("CC", "cc")
MATHS = {"bf16": (8, -133, 2.0 ** 128 - 2.0 ** 120), "f16": (11, -24, 65504), "tf32": (11, -136, 2.0 ** 128 - 2.0 ** 117)}
TERMS = {"product": 41, "conv": 27}
LAYERS = """<ir_version: 10, opset_import: ["" : 22]>
g (float[5,41] x, float[1,3,9,8] p) => (float[5,50] product, float[1,4,9,8] conv, float[5,1] square)
<float[41,50] w = ["location": "w.bin"], float[4,3,3,3] f = ["location": "f.bin"], int64[1] one = {1}> {
	product = MatMul(x, w)
	conv = Conv<pads = [1, 1, 1, 1]>(p, f)
	square = ReduceSumSquare(x, one)
}
"""
SHAPES = {"x": (5, 41), "p": (1, 3, 9, 8), "w": (41, 50), "f": (4, 3, 3, 3)}


def rounded(x, math):
    """By doubles: to a number of bits, halves to even."""
    bits, last, most = MATHS[math]
    wide = x.astype("f8")
    step = numpy.maximum(numpy.frexp(wide)[1] - bits, last)
    wide = numpy.ldexp(numpy.rint(numpy.ldexp(wide, -step)), step)
    if math != "f16":
        wide = numpy.where(numpy.abs(x) < 2.0 ** -126, 0, wide)
    return numpy.where(numpy.abs(wide) > most, numpy.copysign(numpy.inf, wide), wide)


def exact(arrays, math, of=lambda x: x):
    """Products and convolutions of what `of` makes of the rounded factors, in double."""
    x, w, p, f = (of(rounded(arrays[name], math)) for name in "xwpf")
    padded = numpy.pad(p[0], ((0, 0), (1, 1), (1, 1)))
    windows = numpy.stack([padded[:, a:a + 9, b:b + 8] for a in range(3) for b in range(3)], 1)
    return {"product": x @ w, "conv": numpy.einsum("ckhw,ock->ohw", windows, f.reshape(4, 3, 9))[None]}


class Layers:
    """Files of the layers above."""
    def __init__(self, ingot, folder, draw):
        self.ingot, self.arrays = ingot, {name: draw(shape).astype("f4") for name, shape in SHAPES.items()}
        self.model, self.given = os.path.join(folder, "g.onnxtxt"), []
        self.paths = {name: os.path.join(folder, name + ".npy") for name in ("product", "conv", "square")}
        with open(self.model, "w") as file:
            file.write(LAYERS)
        for name, array in self.arrays.items():
            array.tofile(os.path.join(folder, name + ".bin"))
            numpy.save(os.path.join(folder, name + ".npy"), array)
            self.given += ["--input", f"{name}={folder}/{name}.npy"] if name in "xp" else []

    def call(self, *words, **variables):
        return subprocess.run([self.ingot, "run", self.model, *self.given, *outputs_to(self.paths), *words], capture_output=True, text=True, env=os.environ | variables)

    def run(self, target, *words, **variables):
        done = self.call("--target", target, *words, **variables)
        assert done.returncode == 0, done.stderr
        return {name: numpy.load(path) for name, path in self.paths.items()}


def wrong_sums(layers, math, target):
    """Sums that lie too far from the exact ones of rounded factors, and squares that are not strict."""
    got, right, sizes = layers.run(target, "--math", math), exact(layers.arrays, math), exact(layers.arrays, math, numpy.abs)
    for name, terms in TERMS.items():
        if not (numpy.abs(got[name] - right[name]) <= 2.0 ** -22 * terms * sizes[name] + terms * 2.0 ** -126).all():
            yield f"{math} by {target}: {name} is {numpy.abs(got[name] - right[name]).max()} from the sum of rounded factors"
    if not same(got["square"], layers.run(target)["square"]):
        yield f"{math} by {target}: squares are rounded"


def wrong_report(layers, folder):
    """What `check` says of each layer: its largest difference from the strict one, of its largest value."""
    data, strict, got = os.path.join(folder, "data"), layers.run("interpreter"), layers.run("interpreter", "--math", "bf16")
    os.mkdir(data)
    for i, name in enumerate("xp"):
        numpy.save(f"{data}/in_{i}.npy", layers.arrays[name])
    for i, name in enumerate(layers.paths):
        numpy.save(f"{data}/out_{i}.npy", strict[name])
    tensor = lambda name, file, array: {"name": name, "dims": list(array.shape), "type": "float32", "file": file, "atol": 1e30}
    with open(f"{data}/io.json", "w") as file:
        json.dump({"inputs": [tensor(n, f"in_{i}.npy", layers.arrays[n]) for i, n in enumerate("xp")],
                   "outputs": [tensor(n, f"out_{i}.npy", strict[n]) for i, n in enumerate(layers.paths)]}, file)
    done = subprocess.run([layers.ingot, "check", layers.model, data, "--math", "bf16", "--target", "jit", "--json"], capture_output=True, text=True)
    said = {layer["layer"]: layer["error"] for layer in json.loads(done.stdout)["layers"]} if done.returncode == 0 else {}
    for name in "product", "conv":
        error = numpy.abs(got[name].astype("f8") - strict[name]).max() / numpy.abs(strict[name]).max()
        if not error or abs(said.get(name, 0) - error) > 1e-12:
            yield f"check says {said} of layers, {name} is moved by {error}: {done.stderr}"


def wrong_pairs(layers, numbers):
    """The instruction of two terms a step, and the same as plain C: bits of the interpreter, whose sums are chains."""
    source = subprocess.run([layers.ingot, "show", layers.model, "--stage", "source", "--cpu", PAIRS, "--math", "bf16"], capture_output=True, text=True).stdout
    if len(set(re.findall(r"(\w+)\(a0\w*, b0\w*, s0_0\)", source))) != 1 or "vec_fma_bf16(" not in source or "by=vdpbf16ps" not in numbers_of(layers, PAIRS) or "by=" in numbers_of(layers, "x86-64-v3"):
        yield "a product and a convolution of bfloat16 take no pairs of terms, or NUMBERS does not say so"
    right = layers.run("interpreter", "--math", "bf16") if bf16() else {}
    for name, compiler in (("vdpbf16ps", CC), ("plain C", CC + " -DINGOT_SOFT")):
        got = layers.run("c", "--cpu", PAIRS, "--math", "bf16", CC=compiler) if bf16() else {}
        for output in got:
            if not same(got[output], right[output]):
                yield f"{output} of {numbers} numbers by {name} is not the interpreter's"


def wrong_rounding(ingot, folder, draw):
    """Any numbers by 1: what they are rounded to, by an instruction where there is one; sixteen columns are worth it."""
    any_number = lambda shape: draw.integers(0, 1 << 32, shape, dtype="u4").view("f4")
    finite = lambda shape: numpy.where(numpy.isfinite(x := any_number(shape)), x, numpy.float32(2.0 ** -127))
    layers = Layers(ingot, folder, lambda shape: numpy.eye(*shape) if shape == SHAPES["w"] else finite(shape))
    want = rounded(layers.arrays["x"], "bf16") + 0.0
    for name, compiler in (("instruction", CC), ("plain C", CC + " -DINGOT_SOFT")) if bf16() else (("float32", CC),):
        got = layers.run("c", "--cpu", PAIRS if bf16() else "x86-64-v3", "--math", "bf16", CC=compiler)["product"][:, :want.shape[1]]
        if not (got == want).all():
            yield f"{(got != want).sum()} numbers are rounded wrongly by {name}"
    show = lambda stage: subprocess.run([ingot, "show", layers.model, "--stage", stage, "--cpu", PAIRS, "--math", "bf16"], capture_output=True, text=True).stdout
    if "vec_rounded_bf16(" not in show("source"):
        yield "no instruction rounds"
    with open(layers.model, "w") as file:
        file.write('<ir_version: 10, opset_import: ["" : 22]>\ng (float[5,41] x) => (float[5,16] y) <float[41,16] w = ["location": "w.bin"]> { y = MatMul(x, w) }\n')
    if ".dwords" not in show("kernels"):
        yield "16 columns take no pairs"


def numbers_of(layers, cpu):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([layers.ingot, "build", layers.model, "-o", folder, "--cpu", cpu, "--math", "bf16", "--no-compile"], capture_output=True, check=True)
        return open(os.path.join(folder, "g.h")).read()


WINOGRAD = """<ir_version: 10, opset_import: ["" : 22]>
g (float[1,32,24,24] p, float[1,32] x) => (float[1,32,24,24] conv, float[1,64] product)
<float[32,32,3,3] f = ["location": "f.bin"], float[32,64] w = ["location": "w.bin"]> {
	conv = Conv<pads = [1, 1, 1, 1]>(p, f)
	product = MatMul(x, w)
}
"""


def wrong_winograd(ingot, folder, draw):
    """--algorithms fast beside --math: what Winograd's takes is strict, all else as with --math alone."""
    arrays = {"p": (1, 32, 24, 24), "x": (1, 32), "f": (32, 32, 3, 3), "w": (32, 64)}
    for name, shape in arrays.items():
        arrays[name] = draw.standard_normal(shape).astype("f4")
        arrays[name].tofile(os.path.join(folder, name + ".bin"))
        numpy.save(os.path.join(folder, name + ".npy"), arrays[name])
    with open(os.path.join(folder, "w.onnxtxt"), "w") as file:
        file.write(WINOGRAD)
    def run(*words):
        paths = {name: f"{folder}/{name}_out.npy" for name in ("conv", "product")}
        done = subprocess.run([ingot, "run", f"{folder}/w.onnxtxt", "--target", "jit", "--input", f"p={folder}/p.npy", "--input", f"x={folder}/x.npy", *outputs_to(paths), *words],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return {name: numpy.load(path) for name, path in paths.items()}
    strict, both, alone = run(), run("--math", "bf16", "--algorithms", "fast"), run("--math", "bf16")
    if not same(both["conv"], strict["conv"]) or not same(both["product"], alone["product"]) or same(alone["conv"], strict["conv"]) or same(alone["product"], strict["product"]):
        yield "--algorithms fast beside --math rounds what it should not, or does not what it should"


STORED = """<ir_version: 10, opset_import: ["" : 22]>
g (float[5,41] x, float[2,8,9,10] p) => (float[5,32] z, float[5,32] out, float[5,32] q, float[2,12,9,10] c, float[2,8,8,9] most)
<float[41,32] w = ["location": "w.bin"], float[32,32] v = ["location": "v.bin"], float[8,8,1,1] f = ["location": "f.bin"], float[12,8,3,3] k = ["location": "k.bin"]> {
	h0 = MatMul(x, w)
	h = Relu(h0)
	y = MatMul(h, v)
	z = Add(y, h)
	out = MatMul(x, w)
	o = MatMul(out, v)
	q = Add(o, out)
	image = Conv(p, f)
	c = Conv<pads = [1, 1, 1, 1]>(image, k)
	most = MaxPool<kernel_shape = [2, 2]>(image)
}
"""


def wrong_stored(ingot, folder, draw):
    """--store bf16: what weights multiply is rounded for all its readers, but for outputs and beside a strict reader; the memory that it takes is halved where pairs are
    multiplied.  Of integers whose sums are exact, so each engine has NumPy's bits."""
    a = {name: draw.integers(-9, 10, shape).astype("f4") for name, shape in {"x": (5, 41), "p": (2, 8, 9, 10), "w": (41, 32), "v": (32, 32), "f": (8, 8, 1, 1), "k": (12, 8, 3, 3)}.items()}
    for name, array in a.items():
        array.tofile(f"{folder}/{name}.bin")
        numpy.save(f"{folder}/{name}.npy", array)
    model = f"{folder}/s.onnxtxt"
    with open(model, "w") as file:
        file.write(STORED)
    round = lambda x: rounded(x, "bf16").astype("f4")
    h, image = numpy.maximum(a["x"] @ a["w"], 0), numpy.einsum("nchw,oc->nohw", a["p"], a["f"][..., 0, 0])
    padded = numpy.pad(round(image), ((0, 0), (0, 0), (1, 1), (1, 1)))
    most = numpy.maximum.reduce([round(image)[:, :, i:i + 8, j:j + 9] for i in (0, 1) for j in (0, 1)])
    right = {"z": round(h) @ a["v"] + round(h), "out": a["x"] @ a["w"], "c": sum(numpy.einsum("nchw,oc->nohw", padded[:, :, i:i + 9, j:j + 10], a["k"][:, :, i, j]) for i in range(3) for j in range(3)), "most": most}
    right["q"] = round(right["out"]) @ a["v"] + right["out"]
    call = lambda *words, **variables: subprocess.run([ingot, *words], capture_output=True, text=True, env=os.environ | variables)
    def run(*words, **variables):
        paths = {name: f"{folder}/{name}_out.npy" for name in right}
        done = call("run", model, "--input", f"x={folder}/x.npy", "--input", f"p={folder}/p.npy", *outputs_to(paths), *words, **variables)
        assert done.returncode == 0, done.stderr
        return {name: numpy.load(path) for name, path in paths.items()}
    store = ("--math", "bf16", "--store", "bf16")
    engines = [("interpreter",), ("jit",), ("c", "--cpu", "generic"), ("c", "--cpu", "x86-64-v3"), ("cuda-emulated",)] + [("c", "--cpu", PAIRS)] * bf16()
    for target, *words in engines:
        got = run("--target", target, *words, *store)
        yield from (f"{name} by --store bf16 for {target} {' '.join(words)} is not of rounded tensors" for name in right if not same(got[name], right[name]))
    kept = run("--target", "jit", *store, "--keep-strict", "y")
    if not same(kept["z"], h @ a["v"] + h) or not same(kept["c"], right["c"]):
        yield "--store bf16 rounds what --keep-strict reads, or nothing else"
    with tempfile.TemporaryDirectory() as out:
        call("build", model, "-o", out, "--cpu", PAIRS, "--no-compile", *store)
        header = open(f"{out}/s.h").read()
    kernels = call("show", model, "--stage", "kernels", "--cpu", PAIRS, *store).stdout
    if " store=bf16" not in header or any(not re.search(f"(?m)writes.* {name}\\S* .* {bytes} bytes", kernels) for name, bytes in (("h.bf16", 320), ("image.bf16", 2880))):
        yield f"--store bf16 is not in NAME_NUMBERS, or does not store 16 bits: {kernels}"
    for words in ("--store", "bf16"), ("--store", "bf16", "--math", "f16"):
        done = call("show", model, *words, "--stage", "definitions")
        if done.returncode != 2 or "--store bf16 is for --math bf16" not in done.stderr:
            yield f"{' '.join(words)}: exit {done.returncode}: {done.stderr}"


def wrong_layers(ingot):
    draw = numpy.random.default_rng(33)
    wide = lambda shape: draw.standard_normal(shape) * 2.0 ** draw.integers(-20, 4, shape)
    halves = lambda shape: (1 + draw.integers(0, 1 << 16, shape) * 2.0 ** -16) * 2.0 ** draw.integers(-3, 3, shape)
    tiny = lambda shape: draw.standard_normal(shape) * (2.0 ** -124 if len(shape) == 2 and shape[0] == 5 or shape[0] == 1 else 2.0 ** 20)
    with tempfile.TemporaryDirectory() as folder:
        for numbers in wide, halves, tiny:
            layers = Layers(ingot, folder, numbers)
            for math in MATHS if numbers != tiny else ["bf16", "tf32"]:               # which float16 has not
                for target in "interpreter", "jit":
                    yield from wrong_sums(layers, math, target)
            if numbers != tiny:                                                          # of which sums are below 2^-126
                yield from wrong_pairs(layers, numbers.__name__)
        yield from wrong_report(layers, folder)
        yield from wrong_rounding(ingot, folder, draw)
        yield from wrong_winograd(ingot, folder, draw)
        yield from wrong_stored(ingot, folder, draw)
        layers = Layers(ingot, folder, lambda shape: draw.integers(-8, 9, shape))
        strict = layers.run("interpreter")
        for math, cpu in [(math, cpu) for math in MATHS for cpu in ("native", "generic")]:
            if any(not same(a, strict[name]) for name, a in layers.run("c", "--math", math, "--cpu", cpu).items()):
                yield f"{math} for {cpu}: sums of small integers are not exact"
        layers = Layers(ingot, folder, wide)
        strict, kept = layers.run("jit", "--algorithms", "direct"), layers.run("jit", "--math", "bf16", "--keep-strict", "product")
        if not same(kept["product"], strict["product"]) or same(kept["conv"], strict["conv"]):
            yield "--keep-strict keeps another layer than its own"
        for words, code, said in ((("--math", "bf16", "--keep-strict", "produkt"), 2, 'did you mean product'), (("--keep-strict", "conv"), 2, "--math"),
                                  (("--math", "fp16"), 2, "did you mean f16")):
            done = layers.call("--target", "interpreter", *words)
            if done.returncode != code or said not in done.stderr:
                yield f"{' '.join(words)}: exit {done.returncode}: {done.stderr}"


def check(program, case, together):
    math = ["--math", case.draw.choice(sorted(MATHS))]
    math += ["--store", "bf16"] * (math[1] == "bf16" and case.draw.random() < 0.5)
    right = case.run(program, "interpreter", *math)
    # Tensor cores add bfloat16 in an order of their own: tests/cuda/shapes.py judges them by integers.
    targets = [t for t in TARGETS if t[0] != "cuda-emulated" or (case.graph.work < EMULATED_MOST and math[1] != "bf16")]
    for target in case.draw.sample(targets, 2) if not os.environ.get("INGOT_LONG") else targets:
        together.add(case, target, case.given, case.paths, right, math)


if __name__ == "__main__":
    found = list(wrong_layers(sys.argv[1]))
    print("\n".join(found) if found else "factors are rounded as they should be")
    sys.exit(main(check, "have equal bits with --math", Case) or bool(found))
