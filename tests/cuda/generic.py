#!/usr/bin/env python3
"""generic.py: kernels that are no products: what NVRTC makes of them at the size that counts, and their bits at a small one.

    generic.py INGOT [--bits] [NAME...]        exit 0: right, 1: wrong, 77: no C++ compiler or no NumPy

Of each case at its full size: no local memory, no spill, half of an SM's warps at once at least where blocks wait, 16 blocks at least where it makes more than 4096 elements, of maps that lie side by
side nine of ten accesses of 16 bytes, and no more than its microseconds (by report.py, an H200; weights and all else cold).  At the small size: the bits of --target c
on the emulator, threads in a drawn order, and no race.  Without NVRTC or nvdisasm, or with --bits, the bits alone."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import shapes                                                   # ends with 77 where NumPy is not there
import numpy
from same import same

WIDE, WARPS_LEAST, PROCESSORS = 0.9, 32, 132
# name: (us at most, does it lie side by side, inputs, constants, result, nodes, {small extent: for which}); letters are extents, small and full.
CASES = {
    "add_relu": (10, True, "x A,B,C  z A,B,C", "", "A,B,C", "t = Add(x, z) y = Relu(t)", {"A": (3, 64), "B": (5, 512), "C": (8, 100)}),
    "add_odd": (6, True, "x A  z A", "", "A", "y = Add(x, z)", {"A": (107, 999999)}),
    "bias": (8, True, "x A,B,C  z B,1", "", "A,B,C", "t = Add(x, z) y = Relu(t)", {"A": (2, 64), "B": (6, 512), "C": (12, 100)}),
    "sigmoid_pairs": (2, False, "x A,2  z 2", "", "A,2", "t = Mul(x, z) y = Sigmoid(t)", {"A": (33, 4420)}),
    "pad": (2, False, "x A,B,C", "int64[6] p = {0,1,1,0,1,2}", "A,D,E", "y = Pad(x, p)",
            {"A": (2, 64), "B": (5, 56), "C": (6, 56), "D": (7, 58), "E": (9, 59)}),
    "concat": (2, False, "x A,B,C  z A,D,C", "", "A,E,C", "y = Concat <axis = 1> (x, z)", {"A": (2, 4), "B": (4, 100), "C": (8, 64), "D": (3, 50), "E": (7, 150)}),
    "transposition": (42, False, "x A,B", "", "B,A", "y = Transpose <perm = [1, 0]> (x)", {"A": (100, 4096), "B": (70, 4096)}),
    "transposed_add": (7, False, "x A,B,C  z A,C,B", "", "A,C,B", "t = Transpose <perm = [0, 2, 1]> (x) u = Add(t, z) y = Exp(u)", {"A": (2, 8), "B": (33, 500), "C": (64, 300)}),
    "columns": (21, False, "x A,B", "int64[1] a = {0}", "1,B", "y = ReduceSum <keepdims = 1> (x, a)", {"A": (137, 4096), "B": (70, 4096)}),
    "column_means": (4, False, "x A,B,C", "", "A,1,C", "y = ReduceMean <axes = [1], keepdims = 1> (x)", {"A": (2, 16), "B": (71, 784), "C": (40, 256)}),
    "column_blocks": (5, False, "x A,B", "", "B", "y = ReduceL2 <axes = [0], keepdims = 0> (x)", {"A": (5000, 9000), "B": (33, 33)}),
    "sum": (30, False, "x A", "", "1", "y = ReduceSum <keepdims = 1> (x)", {"A": (5000, 16777216)}),
    "softmax": (6, False, "x 1,A", "", "1,A", "y = Softmax <axis = -1> (x)", {"A": (32000, 32000)}),
    "softmax_rows": (2.5, False, "x A,B", "", "A,B", "y = Softmax <axis = -1> (x)", {"A": (7, 16), "B": (100, 768)}),
    "softmax_many": (5.5, False, "x A,B", "", "A,B", "y = Softmax <axis = -1> (x)", {"A": (3, 2048), "B": (900, 1024)}),
    "layer_norm": (3, False, "x A,B  z B  w B", "", "A,B", "y = LayerNormalization <axis = -1> (x, z, w)", {"A": (3, 1), "B": (333, 4096)}),
    "layer_norm_many": (5.5, False, "x A,B  z B  w B", "", "A,B", "y = LayerNormalization <axis = -1> (x, z, w)", {"A": (3, 2048), "B": (1284, 1024)}),
    "instance_norm": (3.2, False, "x 1,A,B,C  z A  w A", "", "1,A,B,C", "y = InstanceNormalization (x, z, w)", {"A": (3, 64), "B": (13, 56), "C": (11, 56)}),
    "channels": (3, False, "x A,B,C", "", "A,B,C", "y = Softmax <axis = 1> (x)", {"A": (2, 4), "B": (16, 16), "C": (37, 2100)}),
    "windows": (8, False, "x 1,A,B,C", "", "1,A,B,C", "y = MaxPool <kernel_shape = [13, 13], pads = [6, 6, 6, 6]> (x)", {"A": (3, 256), "B": (9, 20), "C": (12, 20)}),
    "window_means": (3.5, False, "x 1,A,B,C", "", "1,A,B,C", "y = AveragePool <kernel_shape = [7, 7], pads = [3, 3, 3, 3]> (x)", {"A": (2, 32), "B": (9, 56), "C": (11, 56)}),
    "depthwise": (21, False, "x A,B,C,D  w B,1,7,7", "", "A,B,C,D", "y = Conv <kernel_shape = [7, 7], pads = [3, 3, 3, 3], group = GROUP> (x, w)",
                  {"A": (2, 8), "B": (3, 96), "C": (8, 56), "D": (12, 56), "GROUP": (3, 96)}),
    "one_channel": (100, False, "x 1,A,B,C  w 1,A,4,4", "", "1,1,D,E", "y = Conv <kernel_shape = [4, 4], pads = [1, 1, 1, 1]> (x, w)",
                    {"A": (5, 256), "B": (7, 31), "C": (8, 31), "D": (6, 30), "E": (7, 30)}),
    "scatter": (30, False, "x A,B  u C,B  z C,A", "", "A,B", 'i = ArgMax <axis = 1, keepdims = 1> (z) y = ScatterND <reduction = "add"> (x, i, u)', {"A": (23, 4096), "B": (70, 64), "C": (50, 2048)}),
    "scatter_elements": (30, False, "x A,B  u C,B  z C,B", "", "A,B", 'i = Cast <to = 7> (z) t = ScatterElements <axis = 0> (x, i, u) y = ScatterElements <axis = 0, reduction = "add"> (t, i, u)',
                         {"A": (23, 1024), "B": (70, 512), "C": (50, 512)}),
    "running": (60, False, "x A,B", "int64[1] a = {1}", "A,B", "y = CumSum (x, a)", {"A": (37, 1024), "B": (70, 1024)}),
    "quantised": (20, False, "x 1,A,B,C  w D,A,3,3", "float s = {0.05}, int8 z = {3}, float t = {0.02}, int8 k = {0}", "1,D,B,C",
                  """a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) m = QuantizeLinear(w, t, k) n = DequantizeLinear(m, t, k)
c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (b, n) r = Relu(c) e = QuantizeLinear(r, s, z) y = DequantizeLinear(e, s, z)""",
                  {"A": (8, 64), "B": (7, 28), "C": (6, 28), "D": (5, 64)}),
    "halves": (7, True, "x float16 A,B  z float16 A,B", "", "float16 A,B", "t = Add(x, z) y = Relu(t)", {"A": (9, 1024), "B": (88, 4096)}),
    "brain_floats": (10, True, "x A,B", "", "A,B", "h = Cast <to = 16> (x) t = Mul(h, h) u = Add(t, h) y = Cast <to = 1> (u)", {"A": (9, 1024), "B": (88, 4096)}),
    "half_rows": (4, False, "x float16 A,B", "", "float16 A,B", "y = Softmax <axis = -1> (x)", {"A": (9, 1024), "B": (200, 1024)}),
    "sine": (5, False, "x A", "float[1] s = {100000.0}", "A", "t = Mul(x, s) y = Sin(t)", {"A": (500, 1048576)}),
    "remainder": (8, False, "x A  z A", "float[1] s = {10000000.0}", "A", "t = Mul(x, s) y = Mod <fmod = 1> (t, z)", {"A": (500, 1048576)}),
    "means": (2.5, False, "x A,B", "", "A", "y = ReduceMean <axes = [1], keepdims = 0> (x)", {"A": (5, 1024), "B": (177, 1024)}),
    "minimum": (4, False, "x A,B", "", "A", "t = Relu(x) y = ReduceMin <axes = [1], keepdims = 0> (t)", {"A": (9, 4), "B": (5000, 32000)}),
    "columns_few": (5, False, "x A,B", "int64[1] a = {0}", "1,B", "y = ReduceSum <keepdims = 1> (x, a)", {"A": (600, 4096), "B": (37, 512)}),
    "maximum_of_all": (20, False, "x 1,A", "float[1] c = {0.0}", "1,1", "t = Min(x, c) y = ReduceMax <axes = [1], keepdims = 1> (t)", {"A": (140001, 16777216)}),        # of zeros of both signs
    "argmax_of_all": (10, False, "x 2,A", "", "2", "t = ArgMax <axis = 1, keepdims = 0> (x) y = Cast <to = 1> (t)", {"A": (131072, 1048576)}),
    "integers": (20, False, "x A", "float[1] s = {1000.0}", "1", "t = Mul(x, s) c = Cast <to = 6> (t) r = ReduceSum <keepdims = 1> (c) y = Cast <to = 1> (r)", {"A": (131900, 16777216)}),
    "top": (12, False, "x A,B", "int64[1] k = {7}", "A,7", "y, i = TopK <axis = 1> (x, k)", {"A": (3, 1), "B": (1001, 8400)}),
    "argmax": (2.5, False, "x A,B", "", "A", "t = ArgMax <axis = 1, keepdims = 0> (x) y = Cast <to = 1> (t)", {"A": (5, 8), "B": (333, 1000)}),
}


def graph_of(name, full):
    """(inputs {name: (type, dims)}, constants, result, its (type, dims), nodes), tensors named by the case."""
    _, _, inputs, constants, result, nodes, extents = CASES[name]
    dims = lambda text: tuple(extents[word][full] if word in extents else int(word) for word in text.split(","))
    typed = lambda text: (text.split()[0] if " " in text else "float", dims(text.split()[-1]))
    own = lambda text: re.sub(r"\b([a-z])\b", r"%s_\1" % name, text)              # tensors are single letters
    given = {"%s_%s" % (name, one.split()[0]): typed(one.split(" ", 1)[1]) for one in inputs.split("  ")}
    return given, own(constants), "%s_y" % name, typed(result), re.sub("GROUP", lambda _: str(extents["GROUP"][full]), own(nodes))


def text_of(names, full):
    parts = [graph_of(name, full) for name in names]
    shape = lambda of: "%s[%s]" % (of[0], ",".join(map(str, of[1])))
    inputs = ", ".join("%s %s" % (shape(d), n) for part in parts for n, d in part[0].items())
    constants = ", ".join(part[1] for part in parts if part[1])
    results = ", ".join("%s %s" % (shape(part[3]), part[2]) for part in parts)
    return '<ir_version: 8, opset_import: ["" : 17]>\ng (%s) => (%s)\n%s{ %s }\n' % (inputs, results, "<%s>\n" % constants if constants else "", " ".join(part[4] for part in parts))


def write(folder, names, full=True):
    path = os.path.join(folder, "%s.txt" % (names[0] if len(names) == 1 else "generic"))
    with open(path, "w") as f:
        f.write(text_of(names, full))
    return path


def halves(x, random):
    """As float16; some of any bits: numbers below the smallest normal one, infinities, NaNs."""
    any_bits = random.integers(0, 1 << 16, x.shape).astype(numpy.uint16)
    return numpy.where(random.random(x.shape) < 0.3, any_bits, x.astype(numpy.float16).view(numpy.uint16)).view(numpy.float16)


def bits(ingot, folder, names):
    """What differs, at the small size: all cases are one graph."""
    model, random, command = write(folder, names, False), numpy.random.default_rng(11), [ingot, "run"]
    command.append(model)
    for name in names:
        for tensor, (kind, dims) in graph_of(name, 0)[0].items():
            x = random.standard_normal(dims).astype(numpy.float32)
            x[random.random(dims) < 0.1] = -0.0
            numpy.save(os.path.join(folder, tensor + ".npy"), x if kind == "float" else halves(x, random))
            command += ["--input", "%s=%s" % (tensor, os.path.join(folder, tensor + ".npy"))]
    found = {}
    for target in "c", "cuda-emulated":
        outs = [word for name in names for word in ("--output", "%s_y=%s" % (name, os.path.join(folder, "%s.%s.npy" % (name, target))))]
        done = subprocess.run([*command, "--target", target, *outs], capture_output=True, text=True,
                              env=dict(os.environ, INGOT_EMULATOR_ORDER="random", INGOT_EMULATOR_RACES="1"))
        if done.returncode:
            yield "%s: %s" % (target, done.stderr.strip()[:500])
            return
    for name in names:
        want, got = (numpy.load(os.path.join(folder, "%s.%s.npy" % (name, target))) for target in ("c", "cuda-emulated"))
        if not same(got, want):
            yield "%s: %d of %d differ" % (name, (got.view(numpy.uint32) != want.view(numpy.uint32)).sum(), want.size)


def wrongs(name, rows, memory, elements):
    """What is wrong with a case, by its kernels: rows of report.py, {kernel: accesses by word and bytes}, {kernel: elements that it makes}."""
    most, lies, *_ = CASES[name]
    for row in rows:
        of = memory[row["kernel"]]
        local = sum(n for word, n in of.items() if word[:3] in ("LDL", "STL"))
        if row["spills"] or local:
            yield "%s: %d accesses of local memory, %d bytes spilled" % (row["kernel"], local, row["spills"])
        if row["resident"] * row["warps"] < WARPS_LEAST and row["blocks"] > row["resident"] * PROCESSORS:
            yield "%s: an SM holds %d warps (%d registers of each of %d threads)" % (row["kernel"], row["resident"] * row["warps"], row["registers"], 32 * row["warps"])
        if elements.get(row["kernel"], 0) > 4096 and row["blocks"] < 16:
            yield "%s: %d elements on %d blocks" % (row["kernel"], elements[row["kernel"]], row["blocks"])
        # a tensor's last elements have accesses of their own
        of = {word: n for word, n in of.items() if word[:3] in ("LDG", "STG")}
        wide = sum(n for word, n in of.items() if word.endswith(" 16"))
        scalars = 3 if name == "add_odd" else 1
        if lies and wide < WIDE * (sum(of.values()) - scalars * len([word for word in of if not word.endswith(" 16")])):
            yield "%s: accesses %s" % (row["kernel"], of)
    us = sum(row["us"] for row in rows)
    if us > most:
        yield "%.1f us, at most %s wanted" % (us, most)


PLANTED = r'''extern "C" __global__ void g_narrow(const float *x, float *y) { const int i = 4 * (blockIdx.x * 128 + threadIdx.x);
y[i] = x[i]; y[i + 1] = x[i + 1]; y[i + 2] = x[i + 2]; y[i + 3] = x[i + 3]; }
extern "C" __global__ void g_local(const int *at, float *y) { float a[64]; for (int i = 0; i < 64; i++) a[at[i] & 63] = i; y[threadIdx.x] = a[at[threadIdx.x] & 63]; }
'''


def planted(compiler, facts):
    """What has to be seen of kernels that are wrong: how many are not."""
    import sass
    _, _, cubin = compiler.compile(PLANTED, "planted.cu", facts.arch)
    listings, row = sass.kernels(cubin), {"spills": 0, "resident": 16, "warps": 4, "registers": 16, "blocks": 64, "us": 1}
    seen = lambda kernel, elements=64, **more: list(wrongs("add_relu", [dict(row, kernel=kernel, **more)], {kernel: sass.memory(listings[kernel])}, {kernel: elements}))
    found = [("narrow accesses", seen("g_narrow")), ("local memory", any("local" in one for one in seen("g_local"))), ("few warps", any("warps" in one for one in seen("g_narrow", resident=4, blocks=6400))),
             ("few blocks", any("blocks" in one for one in seen("g_narrow", 5000, blocks=15))), ("time", any("us" in one for one in seen("g_narrow", us=11)))]
    for what, there in found:
        if not there:
            print("planted: %s is not seen" % what)
    return sum(not there for _, there in found)


def judge(ingot, folder, names):
    """How many are wrong at the full size."""
    import nvrtc
    import report
    import sass
    dll = nvrtc.library()
    if not dll or not sass.program():
        print("without NVRTC and nvdisasm: bits alone")
        return 0
    compiler, facts = nvrtc.Nvrtc(dll), report.gpus(ingot)["sm_90"]
    wrong = planted(compiler, facts)
    for name in names:
        rows = report.judged(ingot, compiler, facts, name, write(folder, [name]), folder)
        memory = {row["kernel"]: row["all_memory"] for row in rows}
        said = list(wrongs(name, rows, memory, {rows[-1]["kernel"]: numpy.prod(graph_of(name, True)[3][1])}))
        wrong += len(said)
        print("%-16s %d kernels, %6.2f us: %s" % (name, len(rows), sum(row["us"] for row in rows), "; ".join(said) or "right"), flush=True)
    return wrong


def main():
    ingot, names = sys.argv[1], [name for name in sys.argv[2:] if name != "--bits"] or list(CASES)
    if not shutil.which(os.environ.get("CXX", "g++")):
        print("skipped: no C++ compiler")
        return 77
    with tempfile.TemporaryDirectory(prefix="generic.") as folder:
        said = list(bits(ingot, folder, names))
        print("bits: " + ("; ".join(said) or "right"), flush=True)
        wrong = len(said) + (0 if "--bits" in sys.argv else judge(ingot, folder, names))
    print("%d wrong" % wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
