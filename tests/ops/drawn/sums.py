"""Rules for windows, products, transforms and recurrences."""
import numpy

from drawing import NotHere, Operand, is_float, rule


def window(d, axes, least=1):
    """Extents of the data, and attributes of a window that fits."""
    dims, kernel, strides, dilations, before, after = [], [], [], [], [], []
    dilate = d.has("dilations") and d.chance(0.3)
    for _ in range(axes):
        k = d.pick(1, 2, 3, 3, 5)
        dilation = d.whole(1, 2) if dilate else 1
        span = (k - 1) * dilation + 1
        b, a = d.whole(0, k - 1), d.whole(0, k - 1)
        dims.append(max(least, span - b - a) + d.pick(0, 1, 2, 4, 6))
        kernel.append(k), strides.append(d.pick(1, 1, 2, 3)), dilations.append(dilation), before.append(b), after.append(a)
    attributes = {"kernel_shape": kernel, "strides": d.maybe(strides), "dilations": dilations if dilate else None}
    kind = d.whole(0, 5)
    if kind < 3:
        attributes["pads"] = before + after
    elif kind < 5 and not dilate:
        attributes["auto_pad"] = d.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    if "pads" not in attributes and attributes.get("auto_pad", "VALID") == "VALID":
        dims = [n + b + a for n, b, a in zip(dims, before, after)]
    return dims, attributes


@rule("Conv", "ConvInteger")
def conv(d):
    group = d.pick(1, 1, 1, 2, 3)
    inside, outside = d.pick(1, 2, 3), d.pick(1, 2, 3)
    data, attributes = window(d, d.pick(1, 2, 2, 2, 3))
    kernel = attributes["kernel_shape"]
    if d.chance(0.3):
        del attributes["kernel_shape"]
    attributes["group"] = group if group > 1 else d.maybe(1)
    x, w = d.array(d.dtype(0), [d.extent(), group * inside, *data], 0 if d.op == "ConvInteger" else -3, 9 if d.op == "ConvInteger" else 3), d.array(d.dtype(1), [group * outside, inside, *kernel], -3, 3)
    if d.op == "ConvInteger":
        zero = d.array(d.dtype(0), [], 0, 5), d.array(d.dtype(1), d.pick([], [1]), 0, 3)
        return d.case([x, w, d.maybe(zero[0]), d.maybe(zero[1])], attributes)
    return d.case([x, w, d.maybe(d.array(d.dtype(), [group * outside]))], attributes)


@rule("QLinearConv")
def qlinear_conv(d):
    data, attributes = window(d, 2)
    kernel, c, m = attributes["kernel_shape"], d.pick(1, 2, 3), d.pick(1, 2, 3)
    scale = lambda: numpy.array(d.rng.uniform(0.01, 0.2), "f4")
    a, w, y = d.dtype(0), d.dtype(3), d.dtype(7)
    return d.case([d.array(a, [d.pick(1, 2), c, *data], -100, 200), scale(), d.array(a, [], 0, 9), d.array(w, [m, c, *kernel], -100, 200), scale(), d.array(w, [], 0, 0) if w.kind == "i" else d.array(w, [], 0, 9), scale(),
                   d.array(y, [], 0, 9), d.maybe(d.array("int32", [m], -90, 90))], attributes)


@rule("ConvTranspose")
def conv_transpose(d):
    group, inside, outside = d.pick(1, 1, 2), d.pick(1, 2, 3), d.pick(1, 2)
    data, attributes = window(d, d.pick(1, 2, 2, 3))
    kernel = attributes["kernel_shape"]
    if attributes.get("auto_pad", "VALID") != "VALID" and d.version < 11:
        del attributes["auto_pad"]
    strides = attributes.get("strides")
    if strides and any(s > 1 for s in strides) and d.chance(0.4):
        attributes["output_padding"] = [d.whole(0, s - 1) for s in strides]
    if "pads" in attributes:                                           # an output that is there
        dil = attributes["dilations"] or [1] * len(kernel)
        for i, k in enumerate(kernel):
            st = strides[i] if strides else 1
            if (data[i] - 1) * st + (k - 1) * dil[i] + 1 - attributes["pads"][i] - attributes["pads"][i + len(kernel)] < 1:
                del attributes["pads"]
                break
    attributes["group"] = group if group > 1 else d.maybe(1)
    return d.case([d.array(d.dtype(), [d.extent(), group * inside, *data], -3, 3), d.array(d.dtype(), [group * inside, outside, *kernel], -3, 3), d.maybe(d.array(d.dtype(), [group * outside]))], attributes)


@rule("DeformConv")
def deform_conv(d):
    data, attributes = window(d, 2, 2)
    attributes.pop("auto_pad", None)
    kernel, c, m = attributes["kernel_shape"], d.pick(1, 2), d.pick(1, 2)
    strides, dil, pads = attributes["strides"] or [1, 1], attributes["dilations"] or [1, 1], attributes.get("pads", [0] * 4)
    attributes["pads"] = pads
    out = [(data[i] + pads[i] + pads[i + 2] - (kernel[i] - 1) * dil[i] - 1) // strides[i] + 1 for i in range(2)]
    if min(out) < 1:
        raise NotHere
    n, offsets = d.pick(1, 2), d.pick(1, c)
    attributes["offset_group"] = offsets
    return d.case([d.array(d.dtype(), [n, c, *data]), d.array(d.dtype(), [m, c, *kernel], -2, 2), d.array(d.dtype(), [n, offsets * 2 * kernel[0] * kernel[1], *out], -1.4, 1.4),
                   d.maybe(d.array(d.dtype(), [m])), d.maybe(d.array(d.dtype(), [n, offsets * kernel[0] * kernel[1], *out], 0, 1))], attributes)


@rule("MaxPool", "AveragePool", "LpPool")
def pool(d):
    data, attributes = window(d, d.pick(1, 2, 2, 2, 3) if d.version > 1 or d.op != "LpPool" else 2)
    attributes |= {"ceil_mode": d.maybe(d.whole(0, 1), 0.4), "p": d.maybe(d.pick(1, 2, 3)) if d.version > 1 else None, "count_include_pad": d.maybe(d.whole(0, 1)), "storage_order": d.maybe(0)}
    x = d.array(d.dtype(), [d.extent(), d.pick(1, 2, 3), *data])
    both = d.op == "MaxPool" and d.version >= 8 and d.chance()
    return d.case([x], attributes, [True, True] if both else [True])


@rule("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(d):
    return d.case([d.array(d.dtype(), [d.extent(), d.pick(1, 2, 3), *d.dims(1, 3, 0)])], {"p": d.maybe(d.pick(1, 2, 3)) if d.version > 1 else None})


@rule("MaxUnpool")
def max_unpool(d):
    n, c, axes = d.pick(1, 2), d.pick(1, 2), d.pick(1, 2)
    small = [d.pick(1, 2, 3) for _ in range(axes)]
    kernel, strides = [2] * axes, [2] * axes
    large = [2 * s for s in small]
    x = d.array(d.dtype(), [n, c, *small])
    spots = int(numpy.prod(large))
    each = numpy.stack([d.numbers.permutation(spots)[:int(numpy.prod(small))] for _ in range(n * c)]) + numpy.arange(n * c)[:, None] * spots
    shape = Operand(d.integers(n, c, *large)) if d.chance(0.4) else None
    return d.case([x, each.reshape(x.shape).astype("i8"), shape], {"kernel_shape": kernel, "strides": strides})


@rule("Col2Im")
def col2im(d):
    axes = d.pick(1, 2, 2, 3)
    block = [d.pick(1, 2, 3) for _ in range(axes)]
    strides, dil, pads = [d.pick(1, 2) for _ in block], [d.pick(1, 2) for _ in block], [d.whole(0, 1) for _ in range(2 * axes)]
    image = [(b - 1) * k + 1 + d.whole(0, 4) for b, k in zip(block, dil)]
    said = [d.chance() for _ in range(3)]
    s, k, p = strides if said[0] else [1] * axes, dil if said[1] else [1] * axes, pads if said[2] else [0] * 2 * axes
    count = int(numpy.prod([(image[i] + p[i] + p[i + axes] - k[i] * (block[i] - 1) - 1) // s[i] + 1 for i in range(axes)]))
    if count < 1:
        raise NotHere
    x = d.array(d.dtype(), [d.pick(1, 2), d.pick(1, 2) * int(numpy.prod(block)), count])
    return d.case([x, Operand(d.integers(*image)), Operand(d.integers(*block))], {"strides": strides if said[0] else None, "dilations": dil if said[1] else None, "pads": pads if said[2] else None})


@rule("GridSample")
def grid_sample(d):
    axes = 2 if d.version < 20 else d.pick(2, 2, 3)
    x = d.array(d.dtype(), [d.pick(1, 2), d.pick(1, 2), *[d.pick(2, 3, 5) for _ in range(axes)]])
    grid = d.array(d.dtype(1), [x.shape[0], *[d.pick(1, 2, 3) for _ in range(axes)], axes], -1.4, 1.4)
    names = ("bilinear", "nearest", "bicubic") if d.version < 20 else ("linear", "nearest", "cubic") if axes == 2 else ("linear", "nearest")
    return d.case([x, grid], {"mode": d.maybe(d.pick(*names)), "padding_mode": d.maybe(d.pick("zeros", "border", "reflection")), "align_corners": d.maybe(d.whole(0, 1))})


@rule("RoiAlign", "MaxRoiPool")
def roi(d):
    n, c, h, w, count = d.pick(1, 2), d.pick(1, 2), d.pick(3, 5, 7), d.pick(3, 5, 7), d.whole(1, 4)
    x = d.array(d.dtype(), [n, c, h, w])
    x0, y0 = d.numbers.uniform(0, w / 2, count), d.numbers.uniform(0, h / 2, count)
    boxes = numpy.stack([x0, y0, x0 + d.numbers.uniform(0.5, w, count), y0 + d.numbers.uniform(0.5, h, count)], -1)
    batch = d.numbers.integers(0, n, count)
    if d.op == "MaxRoiPool":
        return d.case([x, numpy.concatenate([batch[:, None], numpy.round(boxes)], 1).astype(x.dtype)], {"pooled_shape": [d.whole(1, 3), d.whole(1, 3)], "spatial_scale": d.maybe(0.5)})
    return d.case([x, boxes.astype(x.dtype), batch.astype("i8")], {"mode": d.maybe(d.pick("avg", "max")), "output_height": d.whole(1, 3), "output_width": d.whole(1, 3), "sampling_ratio": d.whole(1, 3),
                  "spatial_scale": d.maybe(0.5), "coordinate_transformation_mode": d.maybe(d.pick("half_pixel", "output_half_pixel"))})


@rule("AffineGrid")
def affine_grid(d):
    axes = d.pick(2, 3)
    n = d.pick(1, 2)
    size = d.integers(n, d.pick(1, 3), *[d.pick(2, 3, 5) for _ in range(axes)])
    return d.case([d.array(d.dtype(), [n, axes, axes + 1], -1, 1), Operand(size)], {"align_corners": d.maybe(d.whole(0, 1))})


# ---- products ----
@rule("MatMul", "MatMulInteger")
def matmul(d):
    batch = d.dims(0, 2)
    m, k, n = d.extent(), d.extent(), d.extent()
    a, b = [*batch, m, k], [*d.like(batch), k, n]
    if d.chance(0.2):
        a = [k]
    elif d.chance(0.2):
        b = [k]
    x, y = d.array(d.dtype(0), a), d.array(d.dtype(1), b)
    if d.op == "MatMulInteger":
        return d.case([x, y, d.maybe(d.array(x.dtype, [], 0, 5)), d.maybe(d.array(y.dtype, [], 0, 5))])
    return d.case([x, y])


@rule("Gemm")
def gemm(d):
    m, k, n, ta, tb = d.extent(), d.extent(0), d.extent(), d.whole(0, 1), d.whole(0, 1)
    a, b = d.array(d.dtype(), [k, m] if ta else [m, k]), d.array(d.dtype(), [n, k] if tb else [k, n])
    c = [m, n] if d.version < 7 else d.pick([m, n], [n], [1, n], [m, 1], [1], [])
    factor = lambda: d.maybe(d.pick(2.0, 3.0, 1.0) if not is_float(a.dtype) else d.pick(0.5, 2.0, -1.5))
    given = d.array(d.dtype(), c) if d.version < 11 or d.chance() else None
    return d.case([a, b, given], {"transA": ta or d.maybe(0), "transB": tb or d.maybe(0), "alpha": factor(), "beta": factor(), "broadcast": 0})


@rule("QLinearMatMul")
def qlinear_matmul(d):
    m, k, n = d.pick(1, 2, 3), d.pick(1, 3, 5), d.pick(1, 2, 5)
    batch = d.dims(0, 1, 0)
    s = d.dtype(1)
    scale = lambda: numpy.array(d.rng.uniform(0.01, 0.1)).astype(s)
    a, b, y = d.dtype(0), d.dtype(3), d.dtype(7)
    low, high = (-20, 20) if is_float(a) else (-100, 200)
    return d.case([d.array(a, [*batch, m, k], low, high), scale(), d.array(a, [], 0, 5), d.array(b, [*batch, k, n], low, high), scale(), d.array(b, [], 0, 5), scale(), d.array(y, [], 0, 5)])


@rule("Einsum")
def einsum(d):
    equation = d.pick("ij,jk->ik", "ij,jk", "bij,bjk->bik", "ii->i", "ij->", "ij->ji", "i,j->ij", "bhqd,bhkd->bhqk", "...ij,...jk->...ik", "ij,j", "ii", "ij,ij->i", "i,ij,j->", "...i->...", " i j , j k -> k i ")
    extents = {c: d.extent(0.03) for c in "ijkbhqd"}
    wide = d.dims(0, 2, 0)
    said = equation.replace(" ", "")
    arrays = []
    for term in said.split("->")[0].split(","):
        dims = []
        rest = term
        if term.startswith("..."):
            dims, rest = list(wide), term[3:]
        arrays.append(d.array(d.dtype(), dims + [extents[c] for c in rest], -3, 3))
    return d.case(arrays, {"equation": equation})


@rule("DFT")
def dft(d):
    dims = [d.pick(1, 2), *[d.pick(1, 2, 3, 5, 7, 8) for _ in range(d.whole(1, 2))], 1]
    inverse, onesided = d.whole(0, 1), d.chance(0.3)
    axis = d.whole(1, len(dims) - 2)
    if not onesided and d.chance():
        dims[-1] = 2
    if onesided and inverse and d.version < 20:
        inverse = 0
    if onesided and inverse:
        onesided = False
    length = numpy.array(max(1, dims[axis] + d.pick(0, 0, 1, -1, 3)), d.dtype(1))
    given = Operand(length) if d.chance(0.4) else None
    attributes = {"inverse": inverse or d.maybe(0), "onesided": 1 if onesided else d.maybe(0)}
    if d.has("axis"):
        return d.case([d.array(d.dtype(), dims), given], attributes | {"axis": axis if axis != 1 else d.maybe(1)})
    return d.case([d.array(d.dtype(), dims), given, Operand(numpy.array(axis - (len(dims) if d.chance(0.4) else 0), "i8"))], attributes)


@rule("STFT")
def stft(d):
    signal, frame, step = d.pick(16, 23), d.pick(4, 7, 8), d.pick(2, 3, 4)
    x = d.array(d.dtype(), [d.pick(1, 2), signal, 1])
    kind = d.dtype(1)
    shaped = d.array(d.dtype(), [frame], 0, 1) if d.chance() else None
    length = None if shaped is not None and d.chance() else Operand(numpy.array(frame, kind), True)
    return d.case([x, Operand(numpy.array(step, kind), True), shaped, length], {"onesided": d.maybe(d.whole(0, 1))})


# ---- recurrences ----
@rule("LSTM", "GRU", "RNN")
def recurrent(d):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[d.op]
    steps, batch, size, hidden = d.pick(1, 2, 3, 5), d.pick(1, 2, 3), d.pick(1, 2, 3), d.pick(1, 2, 3, 5)
    direction = d.pick(None, "forward", "reverse", "bidirectional")
    both = 2 if direction == "bidirectional" else 1
    layout = d.whole(0, 1) if d.has("layout") and d.chance(0.2) else None
    x = [batch, steps, size] if layout else [steps, batch, size]
    state = [batch, both, hidden] if layout else [both, batch, hidden]
    put = lambda dims, low=-1, high=1: d.array(d.dtype(), dims, low, high)
    lens = d.numbers.integers(1, steps + 1, [batch]).astype("i4") if d.chance(0.25) else None
    inputs = [put(x), put([both, gates * hidden, size]), put([both, gates * hidden, hidden]), d.maybe(put([both, 2 * gates * hidden])), lens, d.maybe(put(state))]
    if d.op == "LSTM":
        inputs += [d.maybe(put(state)), d.maybe(put([both, 3 * hidden]), 0.4)]
    kinds = {"LSTM": ["Sigmoid", "Tanh", "Relu", "HardSigmoid"], "GRU": ["Sigmoid", "Tanh", "Relu"], "RNN": ["Tanh", "Relu", "Sigmoid"]}[d.op]
    activations = None
    if d.chance(0.2):
        activations = [d.pick(*kinds) for _ in range({"LSTM": 3, "GRU": 2, "RNN": 1}[d.op] * both)]
    attributes = {"hidden_size": hidden, "direction": direction, "clip": d.maybe(0.7, 0.15), "layout": layout, "activations": activations, "linear_before_reset": d.maybe(d.whole(0, 1)),
                  "input_forget": d.maybe(d.whole(0, 1), 0.2), "output_sequence": 1}
    return d.case(inputs, attributes, [True, d.chance(), d.chance()] if d.op == "LSTM" else [True, d.chance()])
