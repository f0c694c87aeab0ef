#!/usr/bin/env python3
"""Random quantised layers: DequantizeLinear, a convolution or product, what may stand behind it, QuantizeLinear.

    quantised.py INGOT SEED COUNT

Each target's integers are the interpreter's.  Beside `--quantised literal` and onnxruntime a layer's integers are at most one apart, and few of them.
Ends with 77 where NumPy is not there."""
import os, random, re, shutil, subprocess, sys, tempfile

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
try:
    import onnx.parser, onnxruntime
except ImportError:
    onnxruntime = None

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from same import same
from sweep import run
from typed import CPUS, EMULATOR, compiled, targets

LOW = {"int8": -128, "uint8": 0, "int16": -(1 << 15), "uint16": 0}
HIGH = {"int8": 127, "uint8": 255, "int16": (1 << 15) - 1, "uint16": (1 << 16) - 1}
WIDE = ("int16", "uint16")
SIZES = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 24, 31, 33, 40]


class Layer:
    def __init__(self, seed):
        self.draw, self.numbers = random.Random(seed), numpy.random.default_rng(seed)
        self.constants, self.nodes = [], []
        self.kind, self.weights, self.ends = self.draw.choice(["int8", "uint8"]), self.draw.choice(["int8", "int8", "uint8"]), self.draw.choice(["int8", "uint8"])
        self.sx, self.sw, self.sy = (float(numpy.float32(self.draw.uniform(*ends))) for ends in ((0.004, 0.1), (0.001, 0.02), (0.01, 0.4)))
        if self.draw.random() < 0.25:                     # 16 bits times 8
            self.kind, self.weights, self.ends = self.draw.choice(["int16", "int16", "int16", "uint16"]), "int8", self.draw.choice(["int16", "int16", "uint16", "int8"])
            self.sx /= 256
            self.sy /= 64 if self.ends in WIDE else 1
        (self.convolution if self.draw.random() < 0.65 else self.product)()
        self.ending()

    def constant(self, kind, dims, values):
        name = f"c{len(self.constants)}"
        text = lambda v: repr(float(v)) if kind == "float" else str(int(v))
        shape = f"[{','.join(map(str, dims))}]" if dims is not None else ""
        self.constants.append(f"{kind}{shape} {name} = {{{', '.join(map(text, numpy.ravel(values)))}}}")
        return name

    def zero(self, kind):
        return self.draw.choice([0, 3, 128 if LOW[kind] == 0 else -128, LOW[kind], self.draw.randint(LOW[kind], HIGH[kind])])

    def dequantised(self, name, value, scale, zero, kind, axis=None):
        """zero None: there is none."""
        some = numpy.ndim(scale) > 0
        parts = [self.constant("float", [len(scale)] if some else None, scale)]
        if zero is not None:
            parts.append(self.constant(kind, [len(scale)] if some else None, numpy.broadcast_to(zero, numpy.shape(scale))))
        self.nodes.append(f"{name} = DequantizeLinear{f' <axis = {axis}>' if some else ''} ({value}, {', '.join(parts)})")

    def factors(self, dims, shape, channels, axis):
        """x and w as floats, and a bias: of the sums' scale, of another, or of floats."""
        self.x_zero, w_zero = self.zero(self.kind), 0 if self.weights == "int8" else self.draw.choice([0, 128, 100])
        self.dims = dims
        self.dequantised("x", "q", self.sx, self.x_zero, self.kind)
        sw = self.sw * self.numbers.uniform(0.2, 1, channels).astype("f4") if self.draw.random() < 0.5 else numpy.float32(self.sw)
        if self.draw.random() < 0.06:                     # no scale to fold: the literal it is
            sw = numpy.broadcast_to(sw, channels).copy()
            sw[self.draw.randrange(channels)] = self.draw.choice([-0.01, 1e-41])
        w = self.numbers.integers(LOW[self.weights], HIGH[self.weights] + 1, shape)
        self.dequantised("w", self.constant(self.weights, shape, w), sw, w_zero or self.draw.choice([0, None]), self.weights, axis)
        if self.draw.random() < 0.4:
            return "x, w", ""
        bias = self.numbers.integers(-20000, 20000, channels)
        scale = numpy.float32(self.sx) * numpy.asarray(sw, "f4")
        how = self.draw.random()
        if how < 0.2:
            bias = self.constant("float", [channels], (bias * scale).astype("f4"))
        else:
            if how < 0.35:
                scale = scale * numpy.float32(1.25)
            elif how < 0.45:
                bias[0] = 1 << 30
            self.dequantised("b", self.constant("int32", [channels], bias), scale, self.draw.choice([0, None]), "int32", 0)
            bias = "b"
        return "x, w", bias

    def convolution(self):
        groups, size = self.draw.choice([1, 1, 1, 2, 5, 8]), self.draw.choice([1, 1, 3, 3, 5])
        each, out = self.draw.choice([1, 1, 2, 3, 4, 8, 16, 20]), self.draw.choice([1, 2, 3, 4, 8, 16])
        stride, pads = self.draw.choice([1, 1, 2]), [self.draw.randint(0, size // 2) for _ in range(4)]
        h, w = (max(1, size - pads[i] - pads[i + 2], self.draw.choice([1, 3, 5, 8, 11, 17])) for i in range(2))      # of 1: a window that is all but one border
        dims = [self.draw.choice([1, 1, 2]), groups * each, h, w]
        channels = groups * out
        operands, bias = self.factors(dims, [channels, each, size, size], channels, 0)
        self.nodes.append(f"s = Conv <pads = {pads}, strides = [{stride}, {stride}], group = {groups}> ({operands}{', ' + bias if bias else ''})")
        self.out = [dims[0], channels, (h + pads[0] + pads[2] - size) // stride + 1, (w + pads[1] + pads[3] - size) // stride + 1]
        self.outputs_axis = 1

    def product(self):
        rows, terms, columns = self.draw.choice([1, 1, 2, 5, 13]), self.draw.choice(SIZES + [64, 130, 300]), self.draw.choice(SIZES)
        batch = self.draw.choice([[], [], [2]])
        dims = [*batch, rows, terms]
        operands, bias = self.factors(dims, [terms, columns], columns, 1)
        self.nodes.append(f"{'m' if bias else 's'} = MatMul ({operands})")
        if bias:
            self.nodes.append(f"s = Add (m, {bias})")
        self.out = [*batch, rows, columns]

    def ending(self):
        last = "s"
        what = self.draw.choice(["", "Relu", "Clip", "Relu Clip", "Transpose", "Residual", "Sigmoid"])
        if "Relu" in what:
            self.nodes.append(f"r = Relu ({last})")
            last = "r"
        if "Clip" in what:
            low, high = self.draw.choice([(0, 6), (-1.3, 2.7), (0, 0.9)])
            self.nodes.append(f"p = Clip ({last}, {self.constant('float', None, low)}, {self.constant('float', None, high)})")
            last = "p"
        if what == "Transpose":
            order = list(range(len(self.out)))
            order[-1], order[-2] = order[-2], order[-1]
            self.nodes.append(f"p = Transpose <perm = {order}> ({last})")
            self.out = [self.out[i] for i in order]
            last = "p"
        if what == "Residual":
            self.nodes.append(f"p = Add ({last}, more)")
            last = "p"
        if what == "Sigmoid":
            self.nodes.append(f"p = Sigmoid ({last})")
            last = "p"
        self.more = what == "Residual"
        self.nodes.append(f"y = QuantizeLinear ({last}, {self.constant('float', None, self.sy)}, {self.constant(self.ends, None, self.zero(self.ends))})")

    def text(self):
        shape = lambda d: ",".join(map(str, d))
        inputs = [f"{self.kind}[{shape(self.dims)}] q"] + [f"float[{shape(self.out)}] more"] * self.more
        body = "\n\t".join(self.nodes)
        versions = 'ir_version: 10, opset_import: ["" : 21]' if self.kind in WIDE else 'ir_version: 8, opset_import: ["" : 17]'
        return (f'<{versions}>\ng ({", ".join(inputs)}) => ({self.ends}[{shape(self.out)}] y)\n'
                f'<{", ".join(self.constants)}>\n{{\n\t{body}\n}}\n')

    def arrays(self):
        made = {"q": self.numbers.integers(LOW[self.kind], HIGH[self.kind] + 1, self.dims).astype(self.kind)}
        if self.more:
            made["more"] = self.numbers.standard_normal(self.out).astype("f4")
        return made


def apart(what, a, b):
    """Where a quotient lies by a tie, roundings may differ, by one; of 16 bits floats' sums show too."""
    far = numpy.abs(a.astype(int) - b.astype(int))
    assert far.max(initial=0) <= 1 and far.sum() <= 1 + far.size // (200 if a.itemsize == 1 else 8), f"{what}: {far.sum()} of {far.size} differ, by up to {far.max()}"


def check(program, seed, folder, count):
    layer = Layer(seed)
    model, text, arrays = os.path.join(folder, "g.onnxtxt"), layer.text(), layer.arrays()
    given, paths = [], {"y": os.path.join(folder, "y.npy")}
    with open(model, "w") as file:
        file.write(text)
    for name, data in arrays.items():
        numpy.save(os.path.join(folder, name + ".npy"), data)
        given += ["--input", f"{name}={os.path.join(folder, name)}.npy"]
    try:
        right, = run(program, model, given, paths, ["interpreter"])
        for target in targets(seed) + [["cuda-emulated"]] * (seed % 4 == 0):
            have = run(program, model, given, paths, target)
            assert not have or same(right, have[0]), f"{' '.join(target)}: {int((right != have[0]).sum())} of {right.size} differ, at {numpy.argwhere(right != have[0])[:3].tolist()}"
        apart("literal", right, run(program, model, given, paths, ["interpreter", "--quantised", "literal"])[0])
        if onnxruntime:
            parsed = onnx.parser.parse_model(text)
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1              # others wait by spinning
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL     # its u8 times s8 saturates without VNNI
            apart("onnxruntime", right, onnxruntime.InferenceSession(parsed.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, arrays)[0])
        shown = subprocess.run([program, "show", model, "--stage", "definitions"], capture_output=True, text=True).stdout
        count["folded" if ".sums int32" in shown else "literal"] += 1
        count["wide"] += (layer.kind in WIDE and ".sums int32" in shown)
        assert (".sums int32" in shown) != ("in floats: " in shown), "no sum of integers, and no word why"
    except AssertionError as wrong:
        print(f"seed {seed}: {wrong}\n{text}")
        return 1
    return 0


# A zero point that shifts bytes, borders and a bias: the sum starts from all of them, and is one of words of four.
SHIFTED = """<ir_version: 8, opset_import: ["" : 17]>
g (int8[1,16,9,9] q) => (int8[1,32,9,9] y)
<float s = {0.05}, float t = {0.01}, float u = {0.3}, float v = {0.0005}, int8 z = {-3}, int8 none = {0}, int32[32] bias = {%s}, int8[32,16,3,3] c = {%s}>
{
\tx = DequantizeLinear (q, s, z)
\tw = DequantizeLinear (c, t, none)
\tb = DequantizeLinear (bias, v)
\tr = Conv <pads = [1, 1, 1, 1]> (x, w, b)
\ty = QuantizeLinear (r, u, z)
}
"""


# Two whole vectors of columns and a part of one; what is quantised between product and sum is dequantised at once.
SIDE_BY_SIDE = """<ir_version: 8, opset_import: ["" : 17]>
g (uint8[6,16] q, uint8[6,40] r) => (uint8[6,40] y)
<float s = {0.02}, uint8 k = {103}, float t = {0.01}, int8 none = {0}, float u = {0.5}, int8[16,40] c = {%s}>
{
\tx = DequantizeLinear (q, s, k)
\tw = DequantizeLinear (c, t, none)
\tm = MatMul (x, w)
\tn = QuantizeLinear (m, u, k)
\to = DequantizeLinear (n, u, k)
\tp = DequantizeLinear (r, s, k)
\tsum = Add (o, p)
\ty = QuantizeLinear (sum, u, k)
}
"""


def by_words(program, folder):
    model = os.path.join(folder, "shifted.onnxtxt")
    with open(model, "w") as file:
        file.write(SHIFTED % (", ".join(str(37 * i - 500) for i in range(32)), ", ".join(str(i * 7919 % 255 - 127) for i in range(32 * 144))))
    source = subprocess.run([program, "show", model, "--stage", "source", "--cpu", "x86-64-v4,vnni"], capture_output=True, text=True).stdout
    with open(model, "w") as file:
        file.write(SIDE_BY_SIDE % ", ".join(str(i * 7919 % 255 - 127) for i in range(16 * 40)))
    beside = subprocess.run([program, "show", model, "--stage", "source", "--cpu", "x86-64-v4,vnni"], capture_output=True, text=True).stdout
    if "ivec_store_two_u8(" not in beside or "i32_sub(ivec_rounded(" in beside:
        print("bytes of two vectors that lie side by side are not stored at once, or a byte is rounded and then less its zero point")
        return False
    right = "ivec_dot8u(" in source and "ivec_store_two_i8(transposed_store" in source and "k_round(" not in source
    if not right:
        print("bytes that are shifted, padded and have a bias are not multiplied as words of four, or not rounded in one step and turned in squares")
    return right


# Weights with a zero point of their own, more than signed bytes are, are bytes all the same: less a number, whose share is that of the rows' sums.
LOWERED = """<ir_version: 8, opset_import: ["" : 17]>
g (uint8[1,64,9,9] q, uint8[5,130] r) => (uint8[1,48,9,9] y, uint8[5,33] v)
<float s = {{0.02}}, uint8 k = {{103}}, float t = {{0.01}}, uint8 l = {{111}}, float u = {{0.5}}, uint8[48,64,3,3] c = {{{windows}}}, uint8[130,33] d = {{{plain}}}>
{{
\tx = DequantizeLinear (q, s, k)
\tw = DequantizeLinear (c, t, l)
\te = Conv <pads = [1, 1, 1, 1]> (x, w)
\ty = QuantizeLinear (e, u, k)
\ta = DequantizeLinear (r, s, k)
\tb = DequantizeLinear (d, t, l)
\tm = MatMul (a, b)
\tv = QuantizeLinear (m, u, k)
}}
"""


def by_lowering(program, folder):
    model, given, right = os.path.join(folder, "lowered.onnxtxt"), [], True
    paths, numbers = {name: os.path.join(folder, f"{name}.npy") for name in "yv"}, numpy.random.default_rng(2)
    with open(model, "w") as file:
        file.write(LOWERED.format(windows=", ".join(map(str, numbers.integers(0, 256, 48 * 64 * 9))), plain=", ".join(map(str, numbers.integers(0, 256, 130 * 33)))))
    for name, dims in (("q", [1, 64, 9, 9]), ("r", [5, 130])):
        numpy.save(os.path.join(folder, name + ".npy"), numbers.integers(0, 256, dims).astype("u1"))
        given += ["--input", f"{name}={os.path.join(folder, name)}.npy"]
    expected = run(program, model, given, paths, ["interpreter"])
    for target in [["c", "--cpu", "native"], *CPUS, ["jit"], ["cuda-emulated"]]:
        have = run(program, model, given, paths, target)
        if have and not all(map(same, expected, have)):
            print(f"{' '.join(target)}: sums of lowered weights differ")
            right = False
    shown = subprocess.run([program, "show", model, "--stage", "kernels", "--cpu", "x86-64-v4,vnni"], capture_output=True, text=True).stdout
    if len(re.findall(r"nodes \w+\.sums\.lowered", shown)) != 2:
        print("weights of a zero point of their own are not multiplied as bytes")
        right = False
    return right


# A depthwise window whose border is a zero point is one of floats, the range of what a convolution makes has lanes.
WINDOW = """<ir_version: 8, opset_import: ["" : 17]>
g (uint8[1,32,9,9] q) => (uint8[1,32,9,9] y, uint8[1,32,9,9] z)
<float s = {{0.05}}, uint8 k = {{7}}, float t = {{0.01}}, int8 none = {{0}}, float u = {{0.3}}, int8[32,1,3,3] c = {{{depthwise}}}, int8[32,32,1,1] d = {{{plain}}}>
{{
\ty = QLinearConv <group = 32, pads = [1, 1, 1, 1]> (q, s, k, c, t, none, u, k)
\ti = ConvInteger (q, d, k)
\tf = Cast <to = 1> (i)
\tz, scale, zero = DynamicQuantizeLinear (f)
}}
"""


def by_windows(program, folder):
    model = os.path.join(folder, "window.onnxtxt")
    with open(model, "w") as file:
        file.write(WINDOW.format(depthwise=", ".join(str(i % 17 - 8) for i in range(288)), plain=", ".join(str(i % 13 - 6) for i in range(1024))))
    shown = subprocess.run([program, "show", model, "--stage", "kernels", "--cpu", "x86-64-v4,vnni"], capture_output=True, text=True).stdout
    ranges = re.findall(r"nodes (?:high|low)est_each\S*\n.*?template  ([^\n]*)", shown, re.DOTALL)
    right = ".exact" in shown and len(ranges) == 2 and all("16 lanes of float32" in one for one in ranges)
    if not right:
        print("a window over bytes with a border of zero points is not one of floats, or a range is found in scalars")
    return right


# An activation of bytes is a table that vectors of bytes, and of floats, are looked up in: of each sign, with what is left of a vector.
LOOKED_UP = """<ir_version: 9, opset_import: ["" : 20]>
g ({of}[3,5,29] q, {of}[7,67] r) => ({to}[3,5,29] y, float[3,5,29] z, {to}[7,67] v)
<float s = {{0.05}}, float t = {{0.03}}, {of} k = {{3}}, {to} l = {{-7}}>
{{
\tx = DequantizeLinear (q, s, k)
\tg = Sigmoid (x)
\tp = Mul (x, g)
\ty = QuantizeLinear (p, t, l)
\tw = DequantizeLinear (y, t, l)
\tz = Add (w, x)
\tu = DequantizeLinear (r, s, k)
\te = Gelu <approximate = "tanh"> (u)
\tv = QuantizeLinear (e, t, l)
}}
"""


def by_tables(program, folder):
    model, given, wrong = os.path.join(folder, "looked_up.onnxtxt"), [], 0
    paths = {name: os.path.join(folder, f"{name}.npy") for name in "yzv"}
    for name in "qr":
        given += ["--input", f"{name}={os.path.join(folder, name)}.npy"]
    for of in ("int8", "uint8"):
        for to in ("int8", "uint8"):
            with open(model, "w") as file:
                file.write(LOOKED_UP.format(of=of, to=to).replace("-7", "7" if to == "uint8" else "-7"))
            for name, dims in (("q", [3, 5, 29]), ("r", [7, 67])):
                every = numpy.random.default_rng(1).permutation(numpy.arange(numpy.prod(dims)) % 256)
                numpy.save(os.path.join(folder, name + ".npy"), every.astype("u1").view(of).reshape(dims))
            right = run(program, model, given, paths, ["interpreter"])
            for target in [["c", "--cpu", "native"], *CPUS, ["jit"]]:
                have = run(program, model, given, paths, target)
                if have and not all(map(same, right, have)):
                    print(f"{' '.join(target)}: {of} to {to} by a table differ")
                    wrong += 1
            if EMULATOR and shutil.which("aarch64-linux-gnu-gcc") and of == "int8":
                arrays = {name: numpy.load(os.path.join(folder, name + ".npy")) for name in "qr"}
                have = [numpy.fromfile(path, a.dtype).reshape(a.shape) for path, a in zip(compiled(model, folder, arrays, "armv8-a", "aarch64-linux-gnu-gcc"), right)]
                if not all(map(same, right, have)):
                    print(f"armv8-a: {of} to {to} by a table differ")
                    wrong += 1
            source = subprocess.run([program, "show", model, "--stage", "source", "--cpu", "x86-64-v3"], capture_output=True, text=True).stdout
            glue = subprocess.run([program, "show", model, "--stage", "glue"], capture_output=True, text=True).stdout
            if "bvec_lookup(" not in source or "ivec_lookup(" not in source or glue.count("\tm_lookup(") != 2:
                print(f"{of} to {to}: no vector is looked up in a table")
                wrong += 1
    return not wrong


# File of tests/ops, stage, what it has, what it has not; a CPU that is another.
SHOWN = [("quantised_chain", "kernels", "b.dwords", "nodes b.dwords"), ("quantised_again", "definitions", "silu.table[at(q", "sigmoid_q"),
         ("quantised_again", "definitions", "= q[i1, i0]", "across"), ("quantised_between", "definitions", "= pool.bytes[", "round(pool"),
         ("quantised_meeting", "kernels", "nodes one.sums one_q\n", "nodes one.sums\n"), ("quantised_meeting", "kernels", "loops  nodes scaled_q\n    blocks", "scaled_q silu"),
         ("shorts_chain", "source", "ivec_dot16(", "ivec_mul("), ("shorts_chain", "source", "_dot16(", "_mul(a", "cortex-m4"), ("shorts_chain", "source", ", 65536)", "part", "cortex-m4")]


def by_text(program):
    """Dwords are the bytes that lie so, an activation is a table, what is quantised as it was is itself, a maximum too; what two products add is narrow,
    what a table is looked up by has lanes, 16 bits are multiplied two and two, on a small machine too, and what divides them is a number."""
    files, right = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ops", "files"), True
    for name, stage, has, lacks, *cpu in SHOWN:
        text = subprocess.run([program, "show", os.path.join(files, name + ".onnxtxt"), "--stage", stage, "--cpu", *(cpu or ["x86-64-v4,vnni"])], capture_output=True, text=True).stdout
        if has not in text or lacks in text:
            print(f"{name}, {stage}: {has} is not there, or {lacks} is")
            right = False
    return right


def main(program, seed, many):
    count = {"folded": 0, "literal": 0, "wide": 0}
    if onnxruntime:
        onnxruntime.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as folder:
        wrong = sum(check(program, one, folder, count) for one in range(seed, seed + many))
        words = by_words(program, folder) and by_text(program) and by_lowering(program, folder) and by_windows(program, folder) and by_tables(program, folder)
    print(f"{many - wrong} of {many} layers from seed {seed} on are right; {count['folded']} are sums of integers, {count['wide']} of them of 16 bits, {count['literal']} stay literal")
    return 1 if wrong or not words or count["folded"] < many // 2 or (many >= 10 and not count["wide"]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
