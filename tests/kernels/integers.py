#!/usr/bin/env python3
"""Random MatMulInteger and ConvInteger: every target has NumPy's numbers, which are exact.

    integers.py INGOT SEED COUNT

Signed and unsigned bytes; zero points of all kinds, given or constant; factors given or constant; sizes on either side of words, vectors, tiles and
panels; now and then only the least and the largest bytes.  Libraries for Arm run under QEMU where it is there, a drawn one for each case; with INGOT_LONG=1
each case runs on every target.  Ends with 77 where NumPy is not there."""
import os, random, subprocess, sys, tempfile

import batch                              # ends with 77 where NumPy is not there
import sweep
import numpy

LONG = bool(os.environ.get("INGOT_LONG"))
BOARDS = [cpu for one in batch.BOARDS for cpu in ([one, "armv8.2-a"] if one == "armv8-a" else [one])]
TARGETS = [["interpreter"]] + sweep.TARGETS + [["c", "--cpu", cpu] for cpu in sweep.cpus() if cpu == "x86-64-v4"]
WORK_MOST, BOARD_MOST, BOARD_BYTES = 3e6, 4e5, 200000
TYPES = {"uint8": (0, 255), "int8": (-128, 127)}


class Case:
    def __init__(self, seed, folder):
        self.draw, self.folder, self.numbers = random.Random(seed), folder, numpy.random.default_rng(seed)
        self.inputs, self.constants, self.arrays = [], [], {}
        op, operands, attributes, dims = (self.convolution if self.draw.random() < 0.5 else self.product)()
        while operands[-1] is None:
            operands.pop()
        said = ", ".join(f"{k} = {v}" for k, v in attributes.items())
        self.text = (f'<ir_version: 8, opset_import: ["" : 17]>\ng ({", ".join(self.inputs)}) => (int32[{",".join(map(str, dims))}] y0)\n'
                     + (f"<{', '.join(self.constants)}>\n" if self.constants else "") + f"{{\n\ty0 = {op} <{said}> ({', '.join(o or chr(34) * 2 for o in operands)})\n}}\n")
        self.text = self.text.replace(" <> (", "(")
        self.model = os.path.join(folder, "g.onnxtxt")
        with open(self.model, "w") as file:
            file.write(self.text)
        self.given = [word for name in self.arrays if not os.path.exists(os.path.join(folder, name + ".bin"))
                      for word in ("--input", f"{name}={os.path.join(folder, name)}.npy")]

    def tensor(self, name, type, dims, constant):
        low, high = TYPES[type]
        ends = self.draw.random() < 0.15
        data = self.numbers.choice([low, high], dims) if ends else self.numbers.integers(low, high + 1, dims)
        self.arrays[name] = data = numpy.asarray(data, numpy.dtype(type))
        shape = f"{type}[{','.join(map(str, dims))}] {name}" if dims else f"{type} {name}"
        path = os.path.join(self.folder, name)
        if constant:
            data.tofile(path + ".bin")
            self.constants.append(f'{shape} = ["location": "{name}.bin", "offset": "0", "length": "{data.nbytes}"]')
        else:
            numpy.save(path + ".npy", data)
            self.inputs.append(shape)
        return name

    def zero(self, name, type, kinds):
        """A zero point of one of these shapes, or none; often the one that makes a byte signed or keeps it as it is."""
        if self.draw.random() < 0.3:
            return None
        tensor = self.tensor(name, type, self.draw.choice(kinds), self.draw.random() < 0.6)
        if self.draw.random() < 0.3:
            same = self.draw.choice([0, 128 if type == "uint8" else 0])
            self.arrays[name][...] = same
            constant = os.path.join(self.folder, name + ".bin")
            self.arrays[name].tofile(constant) if os.path.exists(constant) else numpy.save(os.path.join(self.folder, name + ".npy"), self.arrays[name])
        return tensor

    def less(self, name, zero, along=None):
        data = self.arrays[name].astype(numpy.int64)
        if zero is None:
            return data
        z = self.arrays[zero].astype(numpy.int64)
        if z.ndim == 1 and z.size > 1 and along is not None:
            z = z.reshape([-1 if d == along else 1 for d in range(data.ndim)])
        return data - (z.reshape(()) if z.size == 1 else z)

    def product(self):
        draw = self.draw
        batches = [draw.randint(1, 3) for _ in range(draw.choice([0, 0, 0, 1, 2]))]
        m, k, n = sweep.size(draw, 100), sweep.size(draw, 600), sweep.size(draw, 300)
        while numpy.prod(batches, initial=1) * m * k * n > WORK_MOST:
            m, k, n = (max(1, x * 2 // 3) for x in (m, k, n))
        self.work = numpy.prod(batches, initial=1) * m * k * n
        types, shared = [draw.choice(list(TYPES)) for _ in range(2)], draw.random() < 0.3
        a_dims = [k] if not batches and draw.random() < 0.1 else [*batches, m, k]
        b_dims = [k, n] if shared else [*batches, k, n]
        if len(a_dims) > 1 and not batches and draw.random() < 0.1:
            b_dims = [k]
        a, b = self.tensor("a", types[0], a_dims, draw.random() < 0.1), self.tensor("b", types[1], b_dims, draw.random() < 0.7)
        kinds = lambda dims, rows: [[], [], [1]] + ([[dims[-2 if rows else -1]], [*dims[:-2], dims[-2] if rows else 1, 1 if rows else dims[-1]]] if len(dims) > 1 else [])
        za, zb = self.zero("za", types[0], kinds(a_dims, True)), self.zero("zb", types[1], kinds(b_dims, False))
        right = numpy.matmul(self.less(a, za, len(a_dims) - 2), self.less(b, zb, len(b_dims) - 1))
        self.right = numpy.asarray(right.astype(numpy.int32))
        return "MatMulInteger", [a, b, za, zb], {}, self.right.shape

    def convolution(self):
        draw = self.draw
        groups, images = draw.choice([1, 1, 1, 1, 2, 4]), draw.choice([1, 1, 2])
        kernel = [draw.choice([1, 1, 3, 3, 2, 5]) for _ in range(2)]
        stride, dilation = [draw.choice([1, 1, 2, 3]) for _ in range(2)], [draw.choice([1, 1, 1, 2]) for _ in range(2)]
        image, c_in, c_out = [sweep.size(draw, 30), sweep.size(draw, 30)], sweep.size(draw, 80), sweep.size(draw, 80)
        pads = [draw.randint(0, (k - 1) * d) for k, d in zip(kernel * 2, dilation * 2)]
        image = [max(x, (k - 1) * d + 1) for x, k, d in zip(image, kernel, dilation)]
        out = [(x + pads[i] + pads[i + 2] - (kernel[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i, x in enumerate(image)]
        while images * c_in * c_out * numpy.prod(kernel) * numpy.prod(out) > WORK_MOST:
            c_in, c_out = max(1, c_in // 2), max(1, c_out // 2)
        if draw.random() < 0.1:
            groups = c_in
        c_in, c_out = (c + -c % groups for c in (c_in, c_out))
        self.work = images * c_in * c_out * numpy.prod(kernel) * numpy.prod(out)
        types = [draw.choice(list(TYPES)) for _ in range(2)]
        x, w = self.tensor("a", types[0], [images, c_in, *image], False), self.tensor("b", types[1], [c_out, c_in // groups, *kernel], draw.random() < 0.8)
        zx, zw = self.zero("za", types[0], [[]]), self.zero("zb", types[1], [[], [1], [c_out]])
        data = numpy.pad(self.less(x, zx), [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
        filters, right = self.less(w, zw, 0), numpy.zeros([images, c_out, *out], numpy.int64)
        each, per = c_out // groups, c_in // groups
        for g in range(groups):
            for i in range(kernel[0]):
                for j in range(kernel[1]):
                    part = data[:, g * per:(g + 1) * per, i * dilation[0]:, j * dilation[1]:][:, :, ::stride[0], ::stride[1]][:, :, :out[0], :out[1]]
                    right[:, g * each:(g + 1) * each] += numpy.einsum("nchw,oc->nohw", part, filters[g * each:(g + 1) * each, :, i, j])
        self.right = right.astype(numpy.int32)
        return "ConvInteger", [x, w, zx, zw], dict(kernel_shape=kernel, strides=stride, dilations=dilation, pads=pads, group=groups), self.right.shape


def check(program, case, together):
    targets = [t for t in TARGETS if t[0] != "cuda-emulated" or case.work < sweep.EMULATED_MOST]
    for target in targets if LONG else case.draw.sample(targets, 4):
        together.add(case, target, case.given, {"y0": os.path.join(case.folder, "y0.npy")}, [case.right])
    if case.work > BOARD_MOST or sum(a.nbytes for a in case.arrays.values()) + case.right.nbytes > BOARD_BYTES:
        return
    for cpu in BOARDS if LONG else case.draw.sample(BOARDS, len(BOARDS) > 0):
        code = batch.on_board(program, case.folder, case.model, cpu, case.arrays.get, case.right, "--optimise", case.draw.choice(["speed", "speed", "size"]))[2]
        assert code == 0, f"{cpu}: exit {code}, a number differs"


# What a product is on each CPU, where b is as signed as it likes, and where it is not.
WORDS = [("x86-64-v3", "_mm256_madd_epi16", 0), ("x86-64-v3,avxvnni", "vpdpbusd", 128), ("x86-64-v4", "_mm512_madd_epi16", 0), ("armv8-a", "vmull_s16", 0), ("armv8.2-a", "vdotq_s32", 128),
         ("armv8.6-a", "vusmmlaq_s32", 128), ("armv8.2-a", "vmull_s16", 100), ("cortex-m4", "smlad", 0), ("generic", "ivec_mul", 0)]
if sweep.vnni() and not os.environ.get("INGOT_NATIVE"):
    WORDS += [("native", "vpdpbusd", 128), ("native", "vpdpwssd", 100)]


def check_words(program):
    """Each CPU multiplies by the instruction that its row names, in a contraction."""
    for cpu, word, zero in WORDS:
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "g.onnxtxt")
            with open(model, "w") as file:
                file.write('<ir_version: 8, opset_import: ["" : 17]>\ng (uint8[1,8,9,9] x, uint8 za) => (int32[1,40,9,9] y)\n<uint8[40,8,3,3] w = ["location": "w.bin", '
                           f'"offset": "0", "length": "2880"], uint8 zb = {{{zero}}}>\n{{\n\ty = ConvInteger <pads = [1, 1, 1, 1]> (x, w, za, zb)\n}}\n')
            numpy.resize(numpy.arange(256, dtype="u1"), 2880).tofile(os.path.join(folder, "w.bin"))
            made = os.path.join(folder, "made")
            batch.boards.call(program, "build", model, "--cpu", cpu, "--optimise", "speed", "--no-compile", "-o", made)
            shown = "".join(open(os.path.join(made, file)).read() for file in os.listdir(made) if file.endswith("_kernels.c"))
            assert word in shown and "convolution_" in shown, f"{cpu}: zero point {zero}: no {word}"


def check_loads(program):
    """Four bytes side by side are one load; of a row that ends within a word the last ones are loads of their own."""
    for terms in 64, 63:
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "g.onnxtxt")
            with open(model, "w") as file:
                file.write(f'<ir_version: 8, opset_import: ["" : 17]>\ng (int8[20,{terms}] x, int8[{terms},40] w) => (int32[20,40] y) {{ y = MatMulInteger (x, w) }}\n')
            shown = subprocess.run([program, "show", model, "--cpu", "armv8.2-a", "--stage", "source"], check=True, capture_output=True, text=True).stdout
            assert "ivec_bytes(x0 + " in shown and (f"x0[{terms} * i + 62]" in shown) == (terms == 63), f"{terms} terms: {shown}"


if __name__ == "__main__":
    check_words(sys.argv[1])
    check_loads(sys.argv[1])
    sys.exit(sweep.main(check, "have NumPy's numbers", Case))
