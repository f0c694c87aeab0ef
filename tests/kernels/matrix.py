#!/usr/bin/env python3
"""Products whose instruction makes m × n results (SMMLA, USMMLA, BFMMLA, AMX), by layers whose terms lie as those want them.

    matrix.py INGOT SEED COUNT

Armv8.6-a's run under QEMU where it is there, AMX's as plain C (-DINGOT_SOFT).  Integers are the interpreter's, by a library for a CPU without AMX as well, too.  With --math bf16 sums of small integers are exact,
other sums as near to the exact ones as float32's, and the rows of a batch have the bits of a batch of one.  Ends with 77 where NumPy is not there."""
import json, os, re, shutil, subprocess, sys, tempfile

import batch                              # ends with 77 where NumPy is not there
from factors import rounded
from here import flags, vnni
from quantised import Layer
from sweep import run
import numpy

MAIN = """#include "case.h"
#include <stdint.h>
#include <stdio.h>
static _Alignas(WORKSPACE_ALIGN) unsigned char workspace[WORKSPACE_BYTES + 1];
static float out[OUTPUT_WORDS];
int main(void)
{
	int status = case_run(out, workspace);
	return status ? status : fwrite(out, sizeof out, 1, stdout) != 1;
}
"""
BAD_CPU = 3
X86 = "x86-64-v4,amx"
# CPU: compiler and flags, how its code is run, words of bytes and of bfloat16, what NAME_NUMBERS says of those.
CPUS = {}
if batch.QEMU and shutil.which("aarch64-linux-gnu-gcc"):
    CPUS["armv8.6-a"] = (["aarch64-linux-gnu-gcc", "-static", "-march=armv8.6-a+dotprod"], [batch.QEMU, "-cpu", "max"], "vmmlaq_s32 vusmmlaq_s32", "vbfmmlaq_f32", "bfmmla")
if vnni() and "avx512vbmi" in flags():
    CPUS[X86] = (["cc", "-march=x86-64-v4", "-mavx512vnni", "-mavx512bf16", "-mavx512vbmi", "-mamx-tile", "-mamx-int8", "-mamx-bf16", "-DINGOT_SOFT"], [], "tdpbusd", "tdpbf16ps", "tdpbf16ps")


def built(program, model, cpu, *words):
    """The folder of a library that is not compiled, and its kernels' text."""
    made = os.path.join(os.path.dirname(model), "made_" + re.sub(r"\W", "_", cpu))
    shutil.rmtree(made, ignore_errors=True)
    batch.boards.call(program, "build", model, "--cpu", cpu, *words, "--no-compile", "-o", made)
    return made, "".join(open(os.path.join(made, name)).read() for name in os.listdir(made) if re.search(r"_kernels(_\w+)?\.c$", name))


def computed(made, cpu, arrays, soft=True):
    """Outputs by a library, as bytes; nothing where it answers that the CPU lacks its instructions."""
    folder, (compiler, by, *_) = os.path.dirname(made), CPUS[cpu]
    compiler = compiler if soft else [word for word in compiler if word != "-DINGOT_SOFT"]
    with open(os.path.join(made, "g.json")) as file:
        manifest = json.load(file)
    batch.boards.write_case(folder, manifest, [arrays[one["name"]] for one in manifest["inputs"]], numpy.zeros(1, "i4"))
    with open(os.path.join(folder, "main.c"), "w") as file:
        file.write(MAIN)
    sources = [os.path.join(made, name) for name in sorted(os.listdir(made)) if name.endswith((".c", ".S"))]
    batch.boards.call(*compiler, "-O2", "-ffp-contract=off", "-I" + folder, "-I" + made, "main.c", "case.S", *sources, "-o", "case", cwd=folder)
    done = subprocess.run([*by, os.path.join(folder, "case")], capture_output=True, timeout=300)
    assert done.returncode in (0, BAD_CPU), f"{cpu}: exit {done.returncode}"
    return done.stdout


# ---- bytes ----
class Wide(Layer):
    """Runs of 8 to 192 bytes, sizes on either side of tiles and of what makes two of them."""
    def convolution(self):
        size, each, out = self.draw.choice([1, 1, 3]), self.draw.choice([8, 16, 24, 32, 48, 64, 80]), self.draw.choice([5, 16, 17, 32, 40, 50])
        stride, pads = self.draw.choice([1, 1, 2]), [self.draw.randint(0, size // 2) for _ in range(4)]
        h, w = (max(size, self.draw.choice([3, 5, 8, 11, 17, 33])) for _ in range(2))
        dims = [self.draw.choice([1, 1, 2]), each, h, w]
        operands, bias = self.factors(dims, [out, each, size, size], out, 0)
        self.nodes.append(f"s = Conv <pads = {pads}, strides = [{stride}, {stride}]> ({operands}{', ' + bias if bias else ''})")
        self.out = [dims[0], out, (h + pads[0] + pads[2] - size) // stride + 1, (w + pads[1] + pads[3] - size) // stride + 1]

    def product(self):
        rows, terms, columns = self.draw.choice([2, 4, 7, 15, 16, 17, 31, 33, 50]), self.draw.choice([8, 16, 40, 64, 96, 128, 160, 192, 320]), self.draw.choice([3, 16, 17, 33, 70])
        dims = [*self.draw.choice([[], [], [2]]), rows, terms]
        operands, bias = self.factors(dims, [terms, columns], columns, 1)
        self.nodes.append(f"{'m' if bias else 's'} = MatMul ({operands})")
        if bias:
            self.nodes.append(f"s = Add (m, {bias})")
        self.out = [*dims[:-1], columns]


def judged(program, layer, folder):
    """A layer's model, its inputs, and the interpreter's answer."""
    model, given, arrays = os.path.join(folder, "g.onnxtxt"), [], layer.arrays()
    with open(model, "w") as file:
        file.write(layer.text())
    for name, data in arrays.items():
        numpy.save(os.path.join(folder, name + ".npy"), data)
        given += ["--input", f"{name}={os.path.join(folder, name)}.npy"]
    return model, arrays, *run(program, model, given, {"y": os.path.join(folder, "y.npy")}, ["interpreter"])


def check_bytes(program, seed, folder, seen):
    layer = Wide(seed)
    model, arrays, right = judged(program, layer, folder)
    for cpu, (_, _, word, *_) in CPUS.items():
        made, text = built(program, model, cpu, "--optimise", layer.draw.choice(["speed", "speed", "size"]))
        for one in word.split():
            seen[one] = seen.get(one, 0) + ("MATRIX_STORE(" in text and one in text)
        got = computed(made, cpu, arrays)[:right.nbytes]
        if got != right.tobytes():
            print(f"seed {seed}: {cpu}: {sum(a != b for a, b in zip(got, right.tobytes()))} bytes of {right.nbytes} differ\n{layer.text()}")
            return False
    return X86 not in CPUS or seed % 3 > 0 or by_this_cpu(program, model, arrays, right.tobytes())


def by_this_cpu(program, model, arrays, right):
    """Where it has no AMX a library for that alone says so, and one for less as well runs."""
    alone, both = (computed(built(program, model, cpus)[0], X86, arrays, False)[:len(right)] for cpus in (X86, X86 + ",x86-64-v4,vnni"))
    if both == right and (alone == right if "amx_int8" in flags() else alone in (b"", right)):
        return True
    print("where AMX is not there, or denied, nothing else runs")
    return False


# ---- bfloat16 ----
FLOATS = """<ir_version: 10, opset_import: ["" : 22]>
g (float[B,64] x, float[B,32,18,16] p) => (float[B,50] product, float[B,20,18,16] conv, float[B,40,18,16] near)
<float[64,50] w = ["location": "w.bin"], float[20,32,3,3] f = ["location": "f.bin"], float[40,32,1,1] h = ["location": "h.bin"], float[50] bias = ["location": "bias.bin"]> {
	t = MatMul(x, w)
	product = Add(t, bias)
	conv = Conv<pads = [1, 1, 1, 1]>(p, f)
	near = Conv(p, h)
}
"""
SHAPES = {"x": (3, 64), "p": (3, 32, 18, 16), "w": (64, 50), "f": (20, 32, 3, 3), "h": (40, 32, 1, 1), "bias": (50,)}
TERMS = 32 * 9 + 1


def sums(arrays, of=lambda x: x):
    x, w, p, f, h = (of(rounded(arrays[name], "bf16")) for name in "xwpfh")
    padded = numpy.pad(p, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = numpy.stack([padded[:, :, a:a + 18, b:b + 16] for a in range(3) for b in range(3)], 2)
    return [x @ w + of(arrays["bias"].astype("f8")), numpy.einsum("nckhw,ock->nohw", windows, f.reshape(20, 32, 9)), numpy.einsum("nchw,oc->nohw", p, h[:, :, 0, 0])]


def wrong_floats(program, folder, cpu, numbers, exactly):
    arrays, model = {name: numbers(shape).astype("f4") for name, shape in SHAPES.items()}, os.path.join(folder, "g.onnxtxt")
    for name in ("w", "f", "h", "bias"):
        arrays[name].tofile(os.path.join(folder, name + ".bin"))
    by_rows, (word, by), rows = [], CPUS[cpu][3:], arrays["x"].shape[0]
    for some in [slice(rows)] + [slice(i, i + 1) for i in range(rows)]:
        part = arrays | {name: arrays[name][some] for name in "xp"}
        with open(model, "w") as file:
            file.write(FLOATS.replace("B", str(len(part["x"]))))
        made, text = built(program, model, cpu, "--math", "bf16")
        if "vec_fma_bf16(" in text or word not in text or f"by={by}" not in open(os.path.join(made, "g.h")).read():
            yield f"{cpu}: not all sums are of {word}"
        by_rows.append(numpy.frombuffer(computed(made, cpu, part), "f4"))
    right, sizes = sums(arrays), sums(arrays, numpy.abs)
    got = [one.reshape(of.shape) for one, of in zip(numpy.split(by_rows[0], numpy.cumsum([one.size for one in right])[:-1]), right)]
    for one, of, size in zip(got, right, sizes):
        if not (numpy.abs(one - of) <= (0 if exactly else 2.0 ** -22 * TERMS * size + TERMS * 2.0 ** -126)).all():
            yield f"{cpu}: {numpy.abs(one - of).max()} from the sums of rounded factors"
    if any(numpy.concatenate([one[i].ravel() for one in got]).tobytes() != by_rows[1 + i].tobytes() for i in range(rows)):
        yield f"{cpu}: rows of a batch have other bits than a batch of one"


def wrong_numbers(program, folder):
    """A library for two CPUs, of which one runs: both texts."""
    made, _ = built(program, os.path.join(folder, "g.onnxtxt"), X86 + ",x86-64-v4,vnni", "--math", "bf16")
    if not re.search(r"by=tdpbf16ps \| numbers=[^|]*direct\"", open(os.path.join(made, "g.h")).read()):
        yield "NAME_NUMBERS does not say what either CPU computes"


def check_floats(program):
    draw = numpy.random.default_rng(33)
    wide = lambda shape: draw.standard_normal(shape) * 2.0 ** draw.integers(-20, 4, shape)
    with tempfile.TemporaryDirectory() as folder:
        found = [wrong for cpu in CPUS for numbers, exactly in ((wide, False), (lambda shape: draw.integers(-8, 9, shape), True))
                 for wrong in wrong_floats(program, folder, cpu, numbers, exactly)] + (list(wrong_numbers(program, folder)) if X86 in CPUS else [])
    print("\n".join(found) if found else f"sums of bfloat16 are as they should be: {', '.join(CPUS)}")
    return not found


# ---- loops ----
BYTES = """<ir_version: 8, opset_import: ["" : 17]>
g (TYPE[96,256] x) => (int32[96,64] y)
<int8[256,64] w = ["location": "w.bin"]>
{ y = MatMulInteger (x, w) }
"""


def check_loops(program):
    """What the compiler makes of the loop over terms: the instruction as often as the tile has parts, and nothing that goes to the stack."""
    right = True
    arm = (24, "[sp", "aarch64-linux-gnu-objdump")
    for cpu, word, kind, many, stack, objdump in ("armv8.6-a", "smmla", "int8", *arm), ("armv8.6-a", "usmmla", "uint8", *arm), (X86, "tdpbusd", "int8", 4, "(%rsp", "objdump"):
        if cpu not in CPUS or not shutil.which(objdump):
            continue
        with tempfile.TemporaryDirectory() as folder:
            model, made = os.path.join(folder, "g.onnxtxt"), os.path.join(folder, "made")
            with open(model, "w") as file:
                file.write(BYTES.replace("TYPE", kind))
            (numpy.arange(256 * 64) % 251 - 125).astype("i1").tofile(os.path.join(folder, "w.bin"))
            batch.boards.call(program, "build", model, "--cpu", cpu, "-o", made)
            text = subprocess.run([objdump, "-d", "--no-show-raw-insn", os.path.join(made, "libg.a")], check=True, capture_output=True, text=True).stdout
        lines = [line.split(":\t", 1) for line in text.splitlines() if ":\t" in line]
        places = {at.strip(): i for i, (at, _) in enumerate(lines)}
        loops = [lines[places[to]:i + 1] for i, (_, what) in enumerate(lines) for to in re.findall(r"^(?:b\.ne|jne)\s+([0-9a-f]+)", what) if places.get(to, i) < i]
        inner = [[what for _, what in loop] for loop in loops if any(what.startswith(word) for _, what in loop)]
        if not any(sum(what.startswith(word) for what in loop) == many for loop in inner) or any(stack in what for loop in inner for what in loop):
            print(f"{cpu}: no loop of {many} {word}, or one that goes to the stack:", *inner, sep="\n")
            right = False
    return right


def main(program, seed, many):
    if not CPUS:
        print("skipped: no QEMU and compiler for aarch64, no AVX512-VNNI")
        return 77
    seen, right = {}, 0
    for one in range(seed, seed + many):
        with tempfile.TemporaryDirectory() as folder:
            right += check_bytes(program, one, folder, seen)
    print(f"{right} of {many} layers from seed {seed} on are right; by matrices: {seen}")
    return 0 if check_floats(program) and check_loops(program) and right == many and all(seen.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
