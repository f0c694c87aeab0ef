#!/usr/bin/env python3
"""Operands that come at run time: drawn nodes whose starts, pads, scales … are inputs have the bits of those with the same numbers as constants, on each
target; operands that contradict the declared shape are refused.  Compress, NonZero, Unique and NonMaxSuppression, whose data say how many elements there are: as NumPy has them.

    operands.py INGOT SEED COUNT [TARGET...]

COUNT cases of each operator; TARGETs besides the interpreter, "jit" where none is named.  What is declared is what the constants make.  Ends with 77 where
NumPy is not there."""
import os, random, subprocess, sys, tempfile

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from same import same

INVALID, UNSUPPORTED, ENVIRONMENT, SKIPPED = 3, 4, 5, 77
WORDS = {"f4": "float", "f8": "double", "f2": "float16", "i8": "int64", "i4": "int32", "i2": "int16", "b1": "bool", "u1": "uint8"}


def ints(*values):
    return numpy.array(values, dtype="i8")


class Case:
    """One node: its data stay inputs; operands are inputs or constants.  wrong: operands (name: array) that contradict what is declared."""
    def __init__(self, op, opset, data, operands, outs=1, wrong=(), **attributes):
        self.op, self.opset, self.data, self.operands, self.outs, self.wrong, self.attributes = op, opset, data, operands, outs, list(wrong), attributes

    def text(self, declared, constant, order):
        said = ", ".join(f'{k} = {list(v) if isinstance(v, (list, tuple)) else chr(34) + v + chr(34) if isinstance(v, str) else v}' for k, v in self.attributes.items())
        typed = lambda name, a: f"{WORDS[a.dtype.str[1:]]}{'[' + ','.join(map(str, a.shape)) + ']' if a.ndim else ''} {name}"
        number = lambda x: str(int(x)) if x == int(x) else repr(float(x))
        inputs = self.data | ({} if constant else self.operands)
        held = ", ".join(f"{typed(n, a)} = {{{', '.join(str(x) if a.dtype.kind == 'i' else number(x) for x in a.ravel().tolist())}}}" for n, a in self.operands.items())
        return (f'<ir_version: 8, opset_import: ["" : {self.opset}]>\n'
                f"g ({', '.join(typed(n, a) for n, a in inputs.items())}) => ({', '.join(f'{t} y{i}' for i, t in enumerate(declared))})\n"
                + (f"<{held}>\n" if constant and held else "")
                + f"{{\n\t{', '.join(f'y{i}' for i in range(self.outs))} = {self.op}{f' <{said}>' if said else ''} ({', '.join(order)})\n}}\n")


def data(draw, dims, type="f4"):
    few = numpy.random.default_rng(draw.randrange(1 << 30))
    return (few.standard_normal(dims) * 4).round(2).astype(type)


def dims_of(draw, least=1, most=4):
    return [draw.choice([1, 2, 3, 5, 7]) for _ in range(draw.randint(least, most))]


def some_axes(draw, rank):
    axes = draw.sample(range(rank), draw.randint(1, rank))
    return [a - rank if draw.random() < 0.4 else a for a in axes]


def slice_(draw):
    dims = dims_of(draw)
    axes = some_axes(draw, len(dims))
    steps = [draw.choice([1, 1, 1, 2, -1, -2, 3]) for _ in axes]
    ends = [draw.choice([draw.randint(-n - 2, n + 2), 2**62, -2**62]) for n in (dims[a] for a in axes)]
    operands = {"starts": ints(*[draw.randint(-dims[a] - 1, dims[a] + 1) for a in axes]), "ends": ints(*ends)}
    order = ["x", "starts", "ends"]
    if draw.random() < 0.7 or axes != list(range(len(axes))):
        operands["axes"] = ints(*axes)
        order.append("axes")
    if draw.random() < 0.6:
        operands["steps"] = ints(*steps)
        order += ([""] if "axes" not in operands else []) + ["steps"]
    wrong = [{"steps": ints(*[0] * len(axes))}] if "steps" in operands else []
    wrong += [{"axes": ints(*[len(dims)] * len(axes))}] if "axes" in operands else []
    return Case("Slice", 18, {"x": data(draw, dims)}, operands, wrong=wrong), order


def pad(draw):
    dims, mode = dims_of(draw), draw.choice(["constant", "reflect", "edge", "wrap"])
    axes = some_axes(draw, len(dims)) if draw.random() < 0.5 else None
    count = len(axes or dims)
    some = [dims[a] for a in axes] if axes else dims
    before, after = [draw.randint(-1, 4) for _ in some], [draw.randint(-1, 4) for _ in some]
    after = [max(a, -b - n) for a, b, n in zip(after, before, some)]
    operands = {"pads": ints(*before, *after)}
    order = ["x", "pads"]
    if axes:
        operands["axes"] = ints(*axes)
        order += ["", "axes"]
    return Case("Pad", 19, {"x": data(draw, dims, draw.choice(["f4", "i4", "f2"]))}, operands, mode=mode,
                wrong=[{"pads": ints(*before[:-1], before[-1] + 1, *after)}, {"pads": ints(*[2**62] * count, *[-2**62] * count)}]), order


def tile(draw):
    dims = dims_of(draw)
    repeats = [draw.randint(0 if draw.random() < 0.1 else 1, 3) for _ in dims]
    return Case("Tile", 13, {"x": data(draw, dims)}, {"r": ints(*repeats)}, wrong=[{"r": ints(*[r + 1 for r in repeats])}, {"r": ints(*[-1] * len(dims))}]), ["x", "r"]


def split(draw):
    dims = dims_of(draw)
    axis = draw.randrange(len(dims))
    cuts = sorted(draw.randint(0, dims[axis]) for _ in range(draw.randint(0, 2)))
    parts = [b - a for a, b in zip([0, *cuts], [*cuts, dims[axis]])]
    return Case("Split", 13, {"x": data(draw, dims)}, {"parts": ints(*parts)}, outs=len(parts), axis=axis - len(dims) * draw.randint(0, 1),
                wrong=[{"parts": ints(*[p + 1 for p in parts])}]), ["x", "parts"]


def trilu(draw):
    dims = dims_of(draw, 2)
    k = draw.choice([draw.randint(-8, 8), 2**62, -2**62])
    return Case("Trilu", 14, {"x": data(draw, dims, draw.choice(["f4", "i8"]))}, {"k": numpy.array(k, dtype="i8")}, upper=draw.randint(0, 1)), ["x", "k"]


def range_(draw):
    type = draw.choice(["f4", "f8", "i8", "i4", "i2"])
    whole = type[0] == "i"
    number = lambda a, b: draw.randint(a, b) if whole else round(draw.uniform(a, b), 2)
    start, delta = number(-9, 9), number(1, 4) * draw.choice([1, -1])
    made = {n: numpy.array(v, dtype=type) for n, v in (("start", start), ("limit", start + delta * number(0, 9)), ("delta", delta))}
    return Case("Range", 27, {}, made, wrong=[{"delta": numpy.array(0, dtype=type)}, {"limit": numpy.array(start + delta * 40, dtype=type)}]), ["start", "limit", "delta"]


def one_hot(draw):
    depth = draw.randint(1, 6)
    return Case("OneHot", 11, {"x": numpy.array(draw.choices(range(-8, 8), k=5), dtype="i8"), "v": data(draw, [2])},
                {"depth": numpy.array(depth, dtype=draw.choice(["i8", "i4", "f4"]))}, axis=draw.choice([0, -1]),
                wrong=[{"depth": numpy.array(depth + 1)}]), ["x", "depth", "v"]


def col2im(draw):
    n, c = draw.randint(1, 2), draw.randint(1, 3)
    image, block = [draw.randint(3, 6) for _ in range(2)], [draw.randint(1, 3) for _ in range(2)]
    strides, pads = [draw.randint(1, 2) for _ in range(2)], [draw.randint(0, 1) for _ in range(4)]
    blocks = [(image[d] + pads[d] + pads[2 + d] - block[d]) // strides[d] + 1 for d in range(2)]
    return Case("Col2Im", 18, {"x": data(draw, [n, c * block[0] * block[1], blocks[0] * blocks[1]])}, {"image": ints(*image), "block": ints(*block)},
                strides=strides, pads=pads, wrong=[{"image": ints(image[0] + 1, image[1])}, {"block": ints(0, block[1])}]), ["x", "image", "block"]


def dft(draw):
    rank = draw.randint(2, 4)
    dims = [draw.choice([2, 4, 5, 6]) for _ in range(rank - 1)] + [draw.choice([1, 2])]
    axis = draw.randrange(rank - 1)
    inverse = draw.randint(0, 1)
    operands = {"axis": numpy.array(axis - draw.randint(0, 1) * rank, dtype="i8")}
    if draw.random() < 0.5:
        operands["length"] = numpy.array(draw.randint(1, 8), dtype="i8")
    return Case("DFT", 20, {"x": data(draw, dims)}, operands, inverse=inverse, onesided=int(dims[-1] == 1 and not inverse and draw.random() < 0.5),
                wrong=[{"axis": numpy.array(rank - 1, dtype="i8")}]), ["x", "length" if "length" in operands else "", "axis"]


def top_k(draw):
    dims = dims_of(draw)
    k = draw.randint(0, dims[-1])
    return Case("TopK", 11, {"x": data(draw, dims)}, {"k": ints(k)}, outs=2, wrong=[{"k": ints(k + 1)}]), ["x", "k"]


def cum_sum(draw):
    dims = dims_of(draw)
    return Case("CumSum", 14, {"x": data(draw, dims)}, {"axis": numpy.array(draw.randrange(-len(dims), len(dims)), dtype="i8")}, reverse=draw.randint(0, 1),
                wrong=[{"axis": numpy.array(len(dims), dtype="i8")}] if len(dims) > 1 else []), ["x", "axis"]


def resize(draw):
    dims = dims_of(draw, 1, 4)
    mode = draw.choice(["nearest", "linear", "linear", "cubic"])
    coordinates = draw.choice(["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize", "half_pixel_symmetric"])
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    axes = draw.sample(range(len(dims)), draw.randint(1, len(dims)))
    if draw.random() < 0.6:
        attributes["axes"] = axes
    else:
        axes = list(range(len(dims)))
    operands, wrong = {}, []
    if mode == "nearest":
        attributes["nearest_mode"] = draw.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    elif draw.random() < 0.5:
        attributes["antialias"] = 1
    if mode == "cubic":
        attributes["exclude_outside"] = draw.randint(0, 1)
    if coordinates == "tf_crop_and_resize":
        region = [draw.choice([0, 0, 0.2, -0.3]) for _ in axes] + [draw.choice([1, 1, 0.8, 1.4, 0]) for _ in axes]
        operands["region"] = numpy.array(region, dtype="f4")
        attributes["extrapolation_value"] = 10.5
        wrong.append({"region": numpy.array([float("nan")] * len(region), dtype="f4")})
    if draw.random() < 0.6:
        scales = [draw.choice([1, 2, 0.5, 0.34, 0.26, 1.5, 2.6, 0.8, round(draw.uniform(0.2, 3), 3)]) for _ in axes]
        operands["scales"] = numpy.array(scales, dtype="f4")
        wrong += [{"scales": numpy.array([s * 2 + 1 for s in scales], dtype="f4")}, {"scales": numpy.array([float("nan")] * len(axes), dtype="f4")},
                  {"scales": numpy.zeros(len(axes), dtype="f4")}]
    else:
        operands["sizes"] = ints(*[draw.randint(1, 9) for _ in axes])
        attributes["keep_aspect_ratio_policy"] = draw.choice(["stretch", "not_larger", "not_smaller"])
        wrong.append({"sizes": ints(*[-1] * len(axes))})
    order = ["x", "region" if "region" in operands else "", "scales" if "scales" in operands else ""] + (["sizes"] if "sizes" in operands else [])
    return Case("Resize", 19, {"x": data(draw, dims, draw.choice(["f4", "f4", "f8", "f2"]))}, operands, wrong=wrong, **attributes), order


def crop(draw):
    dims = dims_of(draw)
    axes = draw.sample(range(len(dims)), draw.randint(1, len(dims)))
    shape = [draw.randint(1, 9) for _ in axes]
    return Case("CenterCropPad", 18, {"x": data(draw, dims)}, {"shape": ints(*shape)}, wrong=[{"shape": ints(*[n + 1 for n in shape])}], axes=axes), ["x", "shape"]


# ---- as many elements as data say, against NumPy ----
def compress(draw):
    x, axis = data(draw, dims_of(draw)), None
    if draw.random() < 0.7:
        axis = draw.randrange(-x.ndim, x.ndim)
    n = x.size if axis is None else x.shape[axis]
    condition = numpy.array([draw.random() < 0.5 for _ in range(draw.randint(1, n))])
    return "Compress", {} if axis is None else {"axis": axis}, {"x": x, "c": condition}, [numpy.compress(condition, x, axis)], axis or 0


def non_zero(draw):
    x = data(draw, dims_of(draw), draw.choice(["f4", "i4"]))
    x[x < 0] = 0
    return "NonZero", {}, {"x": x}, [numpy.array(numpy.nonzero(x), dtype="i8")], 1


def unique(draw):
    x = numpy.array(numpy.random.default_rng(draw.randrange(1 << 30)).integers(-2, 3, dims_of(draw, 1, 3)), dtype=draw.choice(["f4", "i8"]))
    axis = draw.randrange(-x.ndim, x.ndim) if draw.random() < 0.6 else None
    y, first, back, count = numpy.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    sorted, back = draw.randint(0, 1), back.reshape(-1)
    if not sorted:
        order = numpy.argsort(first)
        y, first, count, back = numpy.take(y, order, axis or 0), first[order], count[order], numpy.argsort(order)[back]
    return "Unique", {"sorted": sorted} | ({} if axis is None else {"axis": axis}), {"x": x}, [y, *(a.astype("i8") for a in (first, back, count))], axis or 0


def boxes(draw):
    """A greedy walk over the boxes of each class, from the best score down; of equal scores the first box."""
    random, (batch, classes, n) = numpy.random.default_rng(draw.randrange(1 << 30)), (draw.randint(1, 2), draw.randint(1, 3), draw.randint(1, 9))
    at, scores = random.random((batch, n, 4)).astype("f4"), random.random((batch, classes, n)).astype("f4")
    if draw.random() < 0.3:
        at, scores = numpy.round(4 * at).astype("f4") / 4, numpy.round(4 * scores).astype("f4") / 4
    centred, limit = draw.randint(0, 1), draw.randint(0, n + 1)
    overlap, least = numpy.float32(draw.choice([0, 0.1, 0.3, 0.5])), numpy.float32(draw.choice([-1, 0.2, 0.5]))
    one, other = (at[..., :2] - at[..., 2:] / 2, at[..., :2] + at[..., 2:] / 2) if centred else (at[..., :2], at[..., 2:])
    low, high, rows = numpy.minimum(one, other) if not centred else one, numpy.maximum(one, other) if not centred else other, []
    for b in range(batch):
        for c in range(classes):
            taken = []
            for i in numpy.argsort(-scores[b, c], kind="stable"):
                if len(taken) == limit or not scores[b, c, i] > least:
                    continue
                shared = [numpy.prod(numpy.maximum(numpy.minimum(high[b, i], high[b, k]) - numpy.maximum(low[b, i], low[b, k]), numpy.float32(0))) for k in taken]
                area = [numpy.prod(high[b, k] - low[b, k]) for k in [*taken, i]]
                if all(not s > 0 or not s / (area[-1] + area[k] - s) > overlap for k, s in enumerate(shared)):
                    taken.append(i)
            rows += [[b, c, i] for i in taken]
    inputs = {"x": at, "s": scores, "l": ints(limit), "o": numpy.array([overlap]), "t": numpy.array([least])}
    return "NonMaxSuppression", {"center_point_box": centred}, inputs, [numpy.array(rows, dtype="i8").reshape(-1, 3)], 0


CHOSEN = [compress, non_zero, unique, boxes]


def check_chosen(ingot, make, draw, targets, folder, states):
    """Why data that choose are not right, or None; one more than they choose is refused."""
    op, attributes, inputs, right, axis = make(draw)
    for more in 0, 1, None:                             # None: nobody declares how many
        told = []
        for i, a in enumerate(right):
            dims = list(a.shape)
            if more is not None:
                dims[axis if i == 0 else 0] += more and i != 2
            elif i != 2:
                dims[axis if i == 0 else 0] = "?"
            told.append(f"{WORDS[a.dtype.str[1:]]}[{','.join(map(str, dims))}] y{i}")
        said = ", ".join(f"{k} = {v}" for k, v in attributes.items())
        text = (f'<ir_version: 8, opset_import: ["" : 13]>\ng ({", ".join(f"{declared(a)} {n}" for n, a in inputs.items())}) => ({", ".join(told)})\n'
                f"{{\n\t{', '.join(f'y{i}' for i in range(len(right)))} = {op}{f' <{said}>' if said else ''} ({', '.join(inputs)})\n}}\n")
        path = os.path.join(folder, "chosen.onnxtxt")
        with open(path, "w") as file:
            file.write(text)
        for target in ("interpreter", *targets):
            code, message, got = run(ingot, path, inputs, len(right), folder, target)
            if more and (code != INVALID or op not in message):
                return f"{target}: one element too many ends with {code}, {INVALID} is right: {message}\n{text}"
            if not more and code:
                return f"{target} ends with {code}: {message}\n{text}"
            for i in range(0 if more else len(right)):
                if not same(right[i], got[i]):
                    return f"{target}, y{i}: {got[i].ravel()[:8]}, {right[i].ravel()[:8]} is right; {inputs}\n{text}"
    states["right"] += 1
    return None


CASES = [slice_, pad, tile, split, trilu, range_, one_hot, col2im, dft, top_k, cum_sum, resize, crop]


def run(ingot, path, inputs, outs, folder, target):
    given = []
    for name, array in inputs.items():
        file = os.path.join(folder, f"in_{name}.npy")
        numpy.save(file, array)
        given += ["--input", f"{name}={file}"]
    paths = [os.path.join(folder, f"out_{i}.npy") for i in range(outs)]
    wanted = [word for i, p in enumerate(paths) for word in ("--output", f"y{i}={p}")]
    done = subprocess.run([ingot, "run", path, *given, *wanted, "--target", target], capture_output=True, text=True, errors="replace", timeout=300)
    return done.returncode, done.stderr.strip(), [numpy.load(p) for p in paths] if done.returncode == 0 else None


def declared(array):
    return f"{WORDS[array.dtype.str[1:]]}{'[' + ','.join(map(str, array.shape)) + ']' if array.ndim else ''}"


def check(ingot, case, order, targets, folder, states):
    """Why the case is not right, or None."""
    paths = {name: os.path.join(folder, f"{name}.onnxtxt") for name in ("constant", "told")}
    kept = case.operands
    unknown = [WORDS[a.dtype.str[1:]] for a in [(case.data or case.operands)[next(iter(case.data or case.operands))]] * case.outs]
    if case.op == "TopK":
        unknown[1] = "int64"
    if case.op == "OneHot":
        unknown = ["float"]
    with open(paths["constant"], "w") as file:
        file.write(case.text([f"{t}[]" for t in unknown], True, order))
    code, message, right = run(ingot, paths["constant"], case.data, case.outs, folder, "interpreter")
    if code in (INVALID, UNSUPPORTED) and message:                       # drawn wrong: not this test's
        states["not drawn well"] += 1
        return None
    if code:
        return f"constant operands end with {code}: {message}"
    text = case.text([declared(a) for a in right], False, order)
    with open(paths["told"], "w") as file:
        file.write(text)
    for target in ("interpreter", *targets):
        code, message, got = run(ingot, paths["told"], case.data | case.operands, case.outs, folder, target)
        if code == ENVIRONMENT and target != "interpreter" and "refused" not in message:
            raise EnvironmentError(message)
        if code == UNSUPPORTED and "not constant" in message and target == "interpreter":
            states["refused"] += 1
            return None
        if code:
            return f"{target} ends with {code}: {message}\n{text}"
        for i, (a, b) in enumerate(zip(right, got)):
            if not same(a, b):
                return f"{target}, y{i}: {b.ravel()[:8]}, {a.ravel()[:8]} is right; {case.operands}\n{text}"
    states["right"] += 1
    for wrong in case.wrong:
        if any(not same(wrong[n].astype(kept[n].dtype).reshape(kept[n].shape), kept[n]) for n in wrong):
            given = {n: wrong[n].astype(a.dtype).reshape(a.shape) if n in wrong else a for n, a in kept.items()}
            with open(paths["constant"], "w") as file:                    # what is right by luck is right
                case.operands = given
                finite = all(numpy.isfinite(a).all() for a in given.values())
                if finite:
                    file.write(case.text([declared(a) for a in right], True, order))
                case.operands = kept
            if finite and run(ingot, paths["constant"], case.data, case.outs, folder, "interpreter")[0] == 0:
                continue
            for target in ("interpreter", *targets):
                code, message, _ = run(ingot, paths["told"], case.data | given, case.outs, folder, target)
                if code != INVALID or case.op not in message:
                    return f"{target} with {wrong} ends with {code}, {INVALID} is right: {message}\n{text}"
            states["refused operands"] += 1
    return None


def main():
    ingot, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    targets = sys.argv[4:] or ["jit"]
    bad, states = 0, {"right": 0, "refused": 0, "refused operands": 0, "not drawn well": 0}
    for make in CASES + CHOSEN:
        for i in range(count):
            draw = random.Random(f"{seed} {make.__name__} {i}")
            with tempfile.TemporaryDirectory() as folder:
                try:
                    why = check_chosen(ingot, make, draw, targets, folder, states) if make in CHOSEN else check(ingot, *make(draw), targets, folder, states)
                except EnvironmentError as missing:
                    print(f"skipped: {missing}")
                    return SKIPPED
            if why:
                print(f"{make.__name__} {i}: {why}")
                bad += 1
    print(f"seed {seed}: " + ", ".join(f"{n} {name}" for name, n in states.items()) + f", {bad} wrong")
    return bool(bad) or states["right"] < states["not drawn well"] or not states["refused operands"]


sys.exit(main())
