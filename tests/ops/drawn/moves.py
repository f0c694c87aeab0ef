"""Rules for what moves, chooses and makes elements."""
import numpy
from onnx import helper, numpy_helper

from drawing import DTYPES, NotHere, Operand, is_float, rule


def wide(d, dims, dtype=None, special=0.2):
    return d.array(d.dtype() if dtype is None else dtype, dims, -9, 9, special)


@rule("Reshape")
def reshape(d):
    dims = d.dims()
    count = int(numpy.prod(dims))
    to, left = [], count
    for _ in range(d.whole(0, 3)):
        factor = d.pick(*[n for n in range(1, max(left, 1) + 1) if left % n == 0][:8]) if left else d.pick(0, 1, 2)
        to.append(factor)
        left = left // factor if factor and left else left
    if count:
        to.append(left)
    elif 0 not in to:
        to.append(0)
    attributes = {}
    if count and d.chance(0.4):
        to[d.whole(0, len(to) - 1)] = -1
    for i in range(min(len(to), len(dims))):
        if to[i] == dims[i] and to[i] > 0 and d.chance(0.3):
            to[i] = 0
    if not count:
        if d.has("allowzero"):
            attributes["allowzero"] = 1
        else:
            raise NotHere
    if d.has("shape"):
        return d.case([wide(d, dims)], {"shape": to})
    return d.case([wide(d, dims), Operand(d.integers(*to))], attributes)


@rule("Flatten")
def flatten(d):
    dims = d.dims(1 if d.version < 9 else 0)
    if not dims:
        return d.case([wide(d, dims)], {"axis": 0})
    axis = d.whole(0, len(dims))
    return d.case([wide(d, dims)], {"axis": d.maybe(axis - len(dims) if d.version >= 11 and d.chance(0.4) and axis < len(dims) else axis) if len(dims) else 0})


@rule("Transpose")
def transpose(d):
    dims = d.dims(0, 5)
    return d.case([wide(d, dims)], {"perm": d.maybe(d.rng.sample(range(len(dims)), len(dims))) if dims else None})


@rule("Squeeze", "Unsqueeze")
def squeeze(d):
    dims = d.dims(1, 4)
    ones = sorted(d.axes(len(dims), negative=False))
    full = [1 if i in ones else n for i, n in enumerate(dims)]
    negative = d.version >= 11
    axes = [a - len(dims) if negative and d.chance(0.4) else a for a in ones]
    if d.op == "Unsqueeze":
        x = wide(d, [n for i, n in enumerate(dims) if i not in ones])
    else:
        x = wide(d, full)
        if d.chance(0.2):
            return d.case([x])
    if d.version >= 13 and d.chance():
        d.rng.shuffle(axes)
    return d.case([x], {"axes": axes}) if d.has("axes") else d.case([x, Operand(d.integers(*axes))])


@rule("Concat")
def concat(d):
    dims = d.dims(1)
    axis = d.axis(len(dims))
    some = []
    for _ in range(d.whole(1, 4)):
        each = list(dims)
        each[axis] = d.extent(0.1)
        some.append(wide(d, each))
    return d.case(some, {"axis": axis if d.version > 1 or axis != 1 else None})


@rule("Split")
def split(d):
    dims = d.dims(1)
    axis = d.axis(len(dims))
    n = dims[axis]
    count = d.whole(1, 4)
    cuts = sorted(d.whole(0, n) for _ in range(count - 1))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, n])]
    attributes = {"axis": axis if axis else d.maybe(0)}
    equal = [c for c in range(1, 5) if n and n % c == 0]
    if d.chance(0.4) and equal:
        count = d.pick(*equal)
        if d.version >= 18:
            count = d.whole(1, n)
            parts = -(-n // count)
            if parts * (count - 1) >= n:
                count = d.pick(*equal)
        return d.case([wide(d, dims)], attributes | {"num_outputs": count}, [True] * count)
    if d.has("split"):
        return d.case([wide(d, dims)], attributes | {"split": sizes}, [True] * count)
    if d.version == 1:
        return d.case([wide(d, dims), Operand(numpy.array(sizes).astype(d.dtype(1)))], attributes, [True] * count)
    return d.case([wide(d, dims), Operand(d.integers(*sizes))], attributes, [True] * count)


@rule("Slice")
def slice_(d):
    dims = d.dims(1)
    axes = d.axes(len(dims), negative=d.version >= 10)
    big = 2**31 - 1
    starts = [d.whole(-dims[a] - 1, dims[a] + 1) for a in axes]
    ends = [d.pick(d.whole(-dims[a] - 2, dims[a] + 2), big, -big) for a in axes]
    if d.has("starts"):
        plain = axes == list(range(len(axes)))
        return d.case([wide(d, dims)], {"starts": starts, "ends": ends, "axes": None if plain and d.chance() else axes})
    kind = d.dtype(1)
    steps = [d.pick(1, 1, 1, 2, -1, -2, 3) for _ in axes]
    given = [Operand(numpy.array(v, kind)) for v in (starts, ends)]
    plain = axes == list(range(len(axes)))
    middle = None if plain and d.chance() else Operand(numpy.array(axes, kind))
    return d.case([wide(d, dims), *given, middle, Operand(numpy.array(steps, kind)) if d.chance(0.7) else None])


@rule("Pad")
def pad(d):
    dims = d.dims(1)
    modes = ["constant", "constant", "reflect", "edge"] + (["wrap"] if d.version >= 19 else [])
    mode = d.pick(*modes)
    axes = d.axes(len(dims)) if d.most > 3 and d.chance(0.4) else None
    some = [dims[a] for a in axes] if axes else dims
    if mode != "constant" and 0 in dims:
        mode = "constant"
    most = lambda n: n - 1 if mode == "reflect" else n if mode == "wrap" else 3
    least = -1 if d.chance(0.3) else 0
    before = [d.whole(least, max(most(n), 0)) for n in some]
    after = [max(d.whole(least, max(most(n), 0)), -n - b) for n, b in zip(some, before)]
    if any(n + min(a, 0) + min(b, 0) < 1 and n for n, a, b in zip(some, before, after)):
        before, after = [max(b, 0) for b in before], [max(a, 0) for a in after]
    pads = before + after
    said = mode if mode != "constant" or d.chance() else None
    if d.most == 1:
        value = d.maybe(round(d.rng.uniform(-3, 3), 1)) if mode == "constant" else None
        return d.case([wide(d, dims)], {"pads": pads, "paddings": pads, "mode": said, "value": value})
    value = d.array(d.dtype(), [], -5, 5) if mode == "constant" and d.chance() else None
    last = [] if axes is None else [Operand(numpy.array(axes, d.dtype(3) if d.chance(0.2) else "i8"))]
    return d.case([wide(d, dims), Operand(d.integers(*pads)), value, *last], {"mode": said})


@rule("Tile")
def tile(d):
    dims = d.dims(0 if d.version >= 13 else 1)
    if d.version < 6:
        axis = d.whole(0, len(dims) - 1)
        return d.case([wide(d, dims), Operand(numpy.array(d.whole(1, 3)).astype(d.dtype())), Operand(numpy.array(axis).astype(d.dtype()))])
    return d.case([wide(d, dims), Operand(d.integers(*[d.pick(0, 1, 1, 2, 3) if d.chance(0.2) else d.whole(1, 3) for _ in dims]))])


@rule("Expand")
def expand(d):
    dims = d.dims()
    to = [d.pick(1, n) if n != 1 else d.pick(1, 2, 3) for n in dims]
    to = [d.extent() for _ in range(d.whole(0, 2))] + to if d.chance() else to[d.whole(0, len(to)):]
    return d.case([wide(d, dims), Operand(d.integers(*to))])


def places(d, dtype, dims, extent):
    """Indices into `extent` elements, some from the end."""
    low = -extent if d.version >= 11 and d.chance(0.4) else 0
    if not extent:
        dims = [0, *dims[1:]] if dims else [0]
    return d.numbers.integers(low, max(extent, low + 1), dims).astype(dtype)


@rule("Gather")
def gather(d):
    dims = d.dims(1)
    axis = d.axis(len(dims))
    return d.case([wide(d, dims), places(d, d.dtype(1), d.dims(0, 3), dims[axis])], {"axis": axis if axis else d.maybe(0)})


@rule("GatherElements")
def gather_elements(d):
    dims = d.dims(1)
    axis = d.axis(len(dims))
    to = [d.whole(min(1, n), n) for n in dims]
    to[axis] = d.extent() if dims[axis] else 0
    return d.case([wide(d, dims), d.numbers.integers(-dims[axis] if d.chance(0.3) else 0, max(dims[axis], 1), to).astype(d.dtype(1))], {"axis": axis if axis else d.maybe(0)})


@rule("GatherND")
def gather_nd(d):
    dims = d.dims(1, 4, 0)
    batch = d.whole(0, len(dims) - 1) if d.has("batch_dims") else 0
    last = d.whole(1, len(dims) - batch)
    to = dims[:batch] + d.dims(0, 2)
    columns = [places(d, "i8", [*to, 1], dims[batch + i]) for i in range(last)]
    return d.case([wide(d, dims), numpy.concatenate(columns, -1)], {"batch_dims": batch or None})


def reductions(d, dtype):
    some = [None, None] + (["add", "mul"] if d.version >= 16 else []) + (["max", "min"] if d.version >= 18 else [])
    return None if dtype == numpy.bool_ else d.pick(*some)


@rule("Scatter", "ScatterElements")
def scatter(d):
    dims = d.dims(1)
    axis = d.axis(len(dims))
    to = [d.whole(min(1, n), n) for n in dims]
    reduction = reductions(d, d.dtype()) if d.has("reduction") else None
    n = dims[axis]
    if reduction:
        to[axis] = d.extent() if n else 0
        index = d.numbers.integers(-n if d.chance(0.3) else 0, max(n, 1), to)
    else:                                                              # no element twice
        order = numpy.argsort(d.numbers.random([*to[:axis % len(dims)], n, *to[axis % len(dims) + 1:]]), axis)
        index = numpy.take(order, range(to[axis]), axis)
        index = index - n if d.version >= 11 and d.chance(0.3) else index
    return d.case([wide(d, dims, special=0), index.astype(d.dtype(1)), wide(d, to, special=0)], {"axis": axis if axis else d.maybe(0), "reduction": reduction or d.maybe("none")})


@rule("ScatterND")
def scatter_nd(d):
    dims = d.dims(1, 4, 0)
    last = d.whole(1, len(dims))
    reduction = reductions(d, d.dtype())
    spots = int(numpy.prod(dims[:last]))
    to = [d.whole(0, 4)] if reduction else [d.whole(0, spots)]
    flat = d.numbers.integers(0, spots, to) if reduction else d.numbers.permutation(spots)[:to[0]]
    index = numpy.stack(numpy.unravel_index(flat, dims[:last]), -1).reshape([*to, last])
    if d.chance(0.3):
        index = index - numpy.array(dims[:last])
    return d.case([wide(d, dims, special=0), index.astype("i8"), wide(d, to + dims[last:], special=0)], {"reduction": reduction or d.maybe("none")})


@rule("TensorScatter")
def tensor_scatter(d):
    dims = [d.pick(1, 2, 3), d.pick(1, 2), d.pick(3, 5, 7), d.pick(1, 2)][:d.whole(2, 4)]
    axis = d.whole(1, len(dims) - 1) if len(dims) > 2 else 1
    to = list(dims)
    to[axis] = d.whole(1, dims[axis])
    mode = d.pick(None, "linear", "circular")
    start = d.numbers.integers(0, (dims[axis] if mode == "circular" else dims[axis] - to[axis]) + (mode != "circular"), dims[:1])
    return d.case([wide(d, dims), wide(d, to), d.maybe(start.astype("i8"))], {"axis": axis - len(dims) if d.chance(0.4) else axis, "mode": mode})


@rule("OneHot")
def one_hot(d):
    dims = d.dims(0, 3)
    depth = d.whole(1, 5)
    index = d.numbers.integers(-depth, depth + 1, dims).astype(d.dtype())
    if not is_float(index.dtype) and index.dtype.kind == "u":
        index = d.numbers.integers(0, depth + 1, dims).astype(d.dtype())
    count = numpy.array(depth, d.dtype(1)).reshape(d.pick([], [1]))
    return d.case([index, Operand(count), d.array(d.dtype(2), [2])], {"axis": d.maybe(d.whole(-len(dims) - 1, len(dims)))})


@rule("EyeLike")
def eye_like(d):
    to = d.maybe(d.rng.choice(sorted(d.allowed("T2"))))
    return d.case([wide(d, [d.extent(), d.extent()])], {"k": d.maybe(d.whole(-4, 4)), "dtype": d.number(to) if to else None}, types=[to or d.types["T1"]])


@rule("Trilu")
def trilu(d):
    return d.case([wide(d, d.dims(2)), d.maybe(Operand(numpy.array(d.whole(-4, 4), "i8")))], {"upper": d.maybe(d.whole(0, 1))})


@rule("ReverseSequence")
def reverse_sequence(d):
    dims = d.dims(2, 4)
    batch = d.whole(0, 1)
    steps = dims[1 - batch]
    attributes = {"batch_axis": batch, "time_axis": 1 - batch} if batch == 0 or d.chance() else {}
    return d.case([wide(d, dims), d.numbers.integers(min(1, steps), steps + 1, [dims[batch]]).astype("i8")], attributes)


@rule("Range")
def range_(d):
    kind = d.dtype()
    step = d.pick(1, 2, 3, -1, -2) if not is_float(kind) else d.pick(0.5, 1, 1.25, -0.5, 3)
    start, count = d.whole(-5, 5), d.whole(0, 7)
    limit = start + step * count - (0.25 * step if is_float(kind) and count else 0)
    return d.case([Operand(numpy.array(v).astype(kind)) for v in (start, limit, step)])


@rule("ConstantOfShape")
def constant_of_shape(d):
    to = d.types["T2"]
    value = numpy_helper.from_array(d.array(to, [1], -9, 9), "v") if d.chance(0.8) or to != "float" else None
    return d.case([Operand(d.integers(*d.dims()))], {"value": value}, types=[to])


@rule("Constant")
def constant(d):
    name = next(iter(d.types.values()))
    return d.case([], {"value": numpy_helper.from_array(d.array(name, d.dims(), special=0.3), "v")}, types=[name])


@rule("Shape", "Size")
def shape(d):
    dims = d.dims()
    ends = {a: d.maybe(d.whole(-5, 5)) for a in ("start", "end")}
    return d.case([wide(d, dims)], ends)


@rule("DepthToSpace", "SpaceToDepth")
def depth(d):
    b, spread = d.whole(1, 3), d.extent
    n, c, h, w = spread(), d.pick(1, 2), d.pick(1, 2, 3), d.pick(1, 2, 5)
    dims = [n, c * b * b, h, w] if d.op == "DepthToSpace" else [n, c, h * b, w * b]
    return d.case([wide(d, dims)], {"blocksize": b, "mode": d.maybe(d.pick("DCR", "CRD"))})


@rule("CenterCropPad")
def center_crop_pad(d):
    dims = d.dims(1, 4, 0)
    axes = d.axes(len(dims)) if d.chance() else None
    return d.case([wide(d, dims), Operand(numpy.array([d.whole(1, 8) for _ in axes or dims], d.dtype(1)))], {"axes": axes})


@rule("Dropout")
def dropout(d):
    x = d.array(d.dtype(), d.dims(1))
    mask = [True, d.chance()] if d.version != 10 or d.chance() else [True]
    if d.most == 1:
        return d.case([x], {"ratio": d.maybe(0.4), "is_test": 1}, mask[:1])
    training = d.maybe(Operand(numpy.array(False), d.chance()))
    ratio = d.maybe(d.array(d.dtype(1), [], 0, 0.9))
    return d.case([x, ratio, training], {"seed": d.maybe(3)}, mask)


@rule("Resize", "Upsample")
def resize(d):
    rank = d.whole(2, 4)
    dims = [d.pick(1, 2), d.pick(1, 2), *[d.pick(1, 2, 3, 5, 7) for _ in range(rank - 2)]] if rank > 2 else [d.pick(1, 3, 5), d.pick(2, 3, 7)]
    mode = d.pick(None, "nearest", "linear" if d.version >= 7 or d.op == "Resize" else "bilinear", *(["cubic"] if d.version >= 11 else []))
    scaled = [d.pick(1, 1.5, 2, 0.5, 0.6, 3) for _ in dims]
    if mode not in (None, "nearest"):                                  # what both judges know: the last two axes
        scaled[:-2] = [1] * (rank - 2)
        if mode == "bilinear" and rank != 4:
            mode = "nearest"
    if d.op == "Upsample":
        scaled = [max(s, 1) for s in scaled]
    if d.has("height_scale"):
        dims = (dims + [3, 2])[:4] if rank < 4 else dims
        return d.case([wide(d, dims, special=0)], {"mode": mode, "height_scale": float(max(1, scaled[-2])), "width_scale": float(max(1, scaled[-1]))})
    if d.has("scales"):
        return d.case([wide(d, dims, special=0)], {"mode": mode, "scales": [float(s) for s in scaled]})
    sizes = [max(1, int(n * s)) for n, s in zip(dims, scaled)]
    scales = Operand(numpy.array(scaled, "f4"))
    if d.op == "Upsample" or d.version == 10:
        if any(int(n * s) < 1 for n, s in zip(dims, scaled)):
            scales = Operand(numpy.array([max(s, 1) for s in scaled], "f4"))
        return d.case([wide(d, dims, special=0), scales], {"mode": mode})
    if any(int(n * s) < 1 for n, s in zip(dims, scaled)):
        scales = Operand(numpy.array([max(s, 1) for s in scaled], "f4"))
    ways = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"] + (["half_pixel_symmetric"] if d.version >= 19 else [])
    attributes = {"mode": mode, "coordinate_transformation_mode": d.maybe(d.pick(*ways))}
    if mode in (None, "nearest"):
        attributes["nearest_mode"] = d.maybe(d.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    if mode == "cubic":
        attributes |= {"cubic_coeff_a": d.maybe(-0.5), "exclude_outside": d.maybe(d.whole(0, 1))}
    if d.version >= 18 and mode in ("linear", "cubic"):
        attributes["antialias"] = d.maybe(d.whole(0, 1), 0.4)
    region = None
    if d.version < 13 and d.version >= 11:
        region = Operand(numpy.array([], d.dtype(1)), True)
    if d.chance():
        return d.case([wide(d, dims, special=0), region, scales], attributes)
    empty = Operand(numpy.array([], "f4"), True) if d.version < 13 else None
    return d.case([wide(d, dims, special=0), region, empty, Operand(d.integers(*sizes))], attributes)
