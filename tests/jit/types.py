#!/usr/bin/env python3
"""types.py JIT_BENCH INGOT: layers of other types than float, of drawn sizes: the interpreter's bits by the menu of each class of this CPU, and none of their kernels is left
to scalar loops.  77 without libtcc."""
import random
import sys
import tempfile

import layers

CODES = {"float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "double": 11}
INTEGERS = [t for t in CODES if "int" in t]
SIGNED = [t for t in INTEGERS if t[0] == "i"]


def drawn(draw):
    """(inputs, outputs, constants, nodes) of each: N and C are sizes."""
    for a in CODES:
        b, c = draw.choice(list(CODES)), draw.choice(INTEGERS)
        yield f"{a}[N,C] x", f"{b}[N,C] y", "", f"y = Cast<to={CODES[b]}>(x)"
        yield f"{a}[C,N] x", f"{c}[N,C] y", "", f"t = Transpose<perm=[1,0]>(x)\ny = Cast<to={CODES[c]}>(t)"
    for op in ("Add", "Sub", "Mul", "Max", "Min", "Mod", "Div"):
        kind = draw.choice(INTEGERS)
        yield f"{kind}[N,C] x, {kind}[{draw.choice(('N,C', 'C', 'N,1', '1,1'))}] w", f"{kind}[N,C] y", "", f"y = {op}(x, w)"
    for op in ("Less", "Equal", "GreaterOrEqual", "Greater", "LessOrEqual"):
        kind, of = draw.choice(list(CODES)[:-2]), draw.choice(list(CODES))
        yield (f"{kind}[N,C] x, {kind}[{draw.choice(('N,C', 'C', 'N,1'))}] w, {of}[N,C] v, {of}[1,C] u", f"{of}[N,C] y", "",
               f"t = {op}(x, w)\ny = Where(t, v, u)")
    for op in ("And", "Or", "Xor"):
        yield "bool[N,C] x, bool[C] w", "bool[N,C] y", "", f"t = {op}(x, w)\ny = Not(t)"
    for kind in ("uint8", "int8", "bool"):
        op = "Xor" if kind == "bool" else draw.choice(("Max", "Min"))
        yield f"{kind}[C,N] x, {kind}[{draw.choice(('N,C', 'C', 'N,1'))}] w", f"{kind}[N,C] y", "", f"t = Transpose<perm=[1,0]>(x)\ny = {op}(t, w)"
        yield f"{kind}[2,C,N] x", f"{kind}[2,N,C] y", "", "y = Transpose<perm=[0,2,1]>(x)"
    for kind in ("float16", "bfloat16", "int16", "double"):    # moved as they lie
        yield f"{kind}[C,N] x", f"{kind}[N,C] y", "", "y = Transpose<perm=[1,0]>(x)"
        yield f"{kind}[N,C] x, {kind}[N,C] t", f"{kind}[?,?] y", "", f"y = Concat<axis={draw.choice((0, 1))}>(x, t)"
    for kind in ("float", "float16", "int64"):
        yield (f"{kind}[N,C] x", f"{kind}[N,C] y", "int64[1] s = {-1}, int64[1] e = {-100000}, int64[1] a = {1}, int64[1] p = {-1}",
               "y = Slice(x, s, e, a, p)")
    for op in ("Abs", "Neg", "Sign", "Relu"):
        kind = draw.choice(SIGNED + ["double"])
        yield f"{kind}[N,C] x", f"{kind}[N,C] y", "", f"y = {op}(x)"
    for kind in ("uint8", "int8"):
        zero = f"{kind} z = {{3}}"
        yield "float[N,C] x", f"{kind}[N,C] y", f"float s = {{0.05}}, {zero}", "y = QuantizeLinear(x, s, z)"
        yield f"{kind}[N,C] x", "float[N,C] y", f"float s = {{0.05}}, {zero}", "y = DequantizeLinear(x, s, z)"
    yield "float[N,C] x, float[N,C] r", "int8[N,C] y", "float s = {0.05}, int8 z = {3}", (
        "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\na = Add(d, r)\ny = QuantizeLinear(a, s, z)")
    for op in ("ArgMax", "ArgMin"):
        for axis in (0, 1):
            yield "float[N,C] x", "int64[?,?] y", "", f"y = {op}<axis={axis}, select_last_index={draw.choice((0, 1))}>(x)"
    for kind in ("float", "double", "int32", "uint8"):
        for k in (1, 5, 17):
            yield (f"{kind}[N,C] x", f"{kind}[N,{k}] v, int64[N,{k}] p", f"int64[1] k = {{{k}}}",
                   f"v, p = TopK<axis={draw.choice((1, -1))}, largest={draw.choice((0, 1))}>(x, k)")
    for kind in ("uint8", "int8"):    # chains of bytes side by side, and of every second
        for stride in (1, 2):
            yield f"{kind}[N,C,4,{draw.choice((7, 18, 40, 70))}] x", f"{kind}[?,?,?,?] y", "", f"y = MaxPool<kernel_shape=[2,{draw.choice((2, 3))}], strides=[2,{stride}]>(x)"
    for most, least in ((0, "0"), (3, "0.2"), (40, "-1")):
        yield ("float[2,C,4] b, float[2,3,C] s", "int64[?,3] y", f"int64[1] m = {{{most}}}, float[1] i = {{{draw.choice((0.1, 0.5))}}}, float[1] l = {{{least}}}",
               "y = NonMaxSuppression<center_point_box=1>(b, s, m, i, l)")
    yield ("float[1,C,4] b, float[1,3,C] s", "int64[?,3] y", "int64[1] m = {3}, float[1] i = {0.5}, float[1] l = {0.2}",   # boxes are the same for all rows
           "y = NonMaxSuppression(b, s, m, i, l)")
    for kind in ("int32", "int64", "double"):
        for op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"):
            axis = draw.choice((0, 1))
            axes = (f"int64[1] axes = {{{axis}}}", "y = ReduceSum(x, axes)") if op == "ReduceSum" else ("", f"y = {op}<axes=[{axis}]>(x)")
            yield f"{kind}[N,C] x", f"{kind}[?,?] y", *axes
    for kind in ("int32", "double"):
        yield f"{kind}[N,C] x, {kind}[C,48] w", f"{kind}[N,48] y", "", "y = MatMul(x, w)"
    for kind in ("float", "int32", "int64"):                  # side by side: what is interleaved, and what is turned and narrow
        for many in (2, 3, 4):
            names = ["abcd"[i] for i in range(many)]
            lines = [f"{n}1 = Unsqueeze({n}, i)" for n in names] + [f"t = Concat<axis=2>({', '.join(n + '1' for n in names)})", "y = Reshape(t, s)"]
            yield ", ".join(f"{kind}[N,C] {n}" for n in names), f"{kind}[?] y", "int64[1] i = {2}, int64[1] s = {-1}", "\n".join(lines)
        yield f"{kind}[N,C,5] x", f"{kind}[N,5,C] y", "", "y = Transpose<perm=[0,2,1]>(x)"
        yield f"{kind}[5,C,N] x", f"{kind}[N,5,C] y", "", "y = Transpose<perm=[2,0,1]>(x)"
    for op in ("IsNaN", "IsInf"):
        yield "float[N,C] x", "bool[N,C] y", "", f"y = {op}(x)"
    yield "uint8[1,N,16,20] x", "uint8[1,N,8,10] y", "", "y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)"
    yield "float[N,C] x", "float[N,C] y", "", "y = Hardmax<axis=1>(x)"
    yield "float[1,N,30,29] x", "float[1,N,20,19] y", "", "y = AveragePool<kernel_shape=[11,11]>(x)"
    for mode, nearest in (("linear", ""), ("cubic", ""), ("nearest", ", nearest_mode=\"floor\"")):
        yield ("float[1,2,N,C] x", "float[1,2,?,?] y", f"float[4] s = {{1, 1, {draw.choice((0.7, 1.6, 2))}, {draw.choice((0.6, 1.7, 2))}}}",
               f"y = Resize<mode=\"{mode}\"{nearest}>(x, , s)")
    for kind in ("float", "int32", "int64", "double"):
        yield f"{kind}[3,N,C] x, {kind}[N,C] e", f"{kind}[3,N,C] y", "int64 k = {%d}" % draw.choice((-2, 0, 3)), (
            f"t = Trilu<upper={draw.choice((0, 1))}>(x, k)\ni = EyeLike(e)\ny = Add(t, i)")
        places = "int64 c = {17}", "p = Mod(x, c)\n"
        for op, dims in (("GatherElements<axis=0>", "N,C"), ("GatherElements<axis=1>", "N,C"), ("Gather<axis=1>", "C")):
            yield f"int64[{dims}] x, {kind}[N,C] v", f"{kind}[N,C] y", places[0], f"{places[1]}y = {op}(v, p)"
        for axis in (0, 1):
            dims, reduction = draw.choice(("N,C", "16,C", "N,7")), draw.choice(("none", "add", "mul"))
            yield (f"{kind}[N,C] x, int32[{dims}] i, {kind}[{dims}] u", f"{kind}[N,C] y", "",
                   f"y = ScatterElements<axis={axis}, reduction=\"{reduction}\">(x, i, u)")
            yield (f"{kind}[N,C] x", f"{kind}[N,C] y", f"int64 a = {{{axis}}}",
                   f"y = CumSum<exclusive={draw.choice((0, 1))}, reverse={draw.choice((0, 1))}>(x, a)")
        yield f"{kind}[N,C,9] x, int32[C,2] i", f"{kind}[C,9] y", "", "p = Cast<to=7>(i)\ny = GatherND(x, p)"
        yield f"{kind}[N,4,9] x, int32[C,2] i, {kind}[C,9] u", f"{kind}[N,4,9] y", "", "p = Cast<to=7>(i)\ny = ScatterND(x, p, u)"
    for kind in ("float", "int32"):
        yield (f"{kind}[C] x, {kind}[C] t", f"{kind}[?] y", "int64[1] i = {1}, int64[1] s = {-1}",
               "a = Unsqueeze(x, i)\nb = Unsqueeze(t, i)\nc = Concat<axis=1>(a, b)\ny = Reshape(c, s)")
    yield "int8[N,C] x, int32[N,C] i, int8[N,C] u", "int8[N,C] y", "", "y = ScatterElements(x, i, u)"
    yield "bool[N,C] x", "int64[2,?] y", "", "y = NonZero(x)"
    yield "float[N,C] x, bool[N] c", "float[?,C] y", "", "y = Compress<axis=0>(x, c)"
    yield "float[N,C] x", "float[?] y", "", "y = Unique(x)"
    yield "float[1,N,16,18] x", "float[1,N,16,18] y", "", "t, p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)\ny = MaxUnpool<kernel_shape=[2,2], strides=[2,2]>(t, p)"


# Scalar loops, once wrong: words of uint64 that only an index says, and bytes of 6 bits that are no word of four beside each other.
LOOPS = (("float[1,1,2] x", "float[1,1,2] y", "", "t, p = MaxPool<kernel_shape=[2], strides=[2]>(x)\ny = MaxUnpool<kernel_shape=[2], strides=[2]>(t, p)"),
         ("float6e2m3[1,3,7] x, float s, float6e2m3 z", "float[1,3,7] y", "", "y = DequantizeLinear(x, s, z)", 28))


def main():
    bench, ingot = sys.argv[1:3]
    draw = random.Random(15)
    with tempfile.TemporaryDirectory() as folder:
        cases = [(layer, {"N": draw.choice((17, 24, 40)), "C": draw.choice((20, 33, 64, 100, 1100))}) for layer in drawn(draw)]
        paths = [layers.written(folder, i, *(layers.sized(types, **sizes) for types in layer[:2]), *layer[2:]) for i, (layer, sizes) in enumerate(cases)]
        layers.same_bits(bench, paths + [layers.written(folder, "loops%d" % i, *layer) for i, layer in enumerate(LOOPS)])
        left = ["%s %s %s: scalar loops" % (layer[0], layer[3], sizes) for path, (layer, sizes) in zip(paths, cases)
                if any(", long from, long to)" in line for line in layers.glue(ingot, path).split("\n"))]
        left += ["%s %s: lanes ask for their places" % (layer[0], layer[3]) for path, (layer, sizes) in zip(paths, cases)
                 if "Unsqueeze" in layer[3] and any(word in line for word in ("m_parts(", "m_lane_gather") for line in layers.glue(ingot, path).split("\n") if line.startswith("\t"))]
        print("\n".join(left) or "%d layers, same bits" % len(paths))
        return bool(left)


if __name__ == "__main__":
    sys.exit(main())
