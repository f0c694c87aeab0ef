"""Rules for normalisations, attention, quantisation, losses, random numbers and the functions of signals."""
import numpy

from drawing import DTYPES, NotHere, Operand, is_float, rule


# ---- normalisations ----
@rule("BatchNormalization")
def batch_norm(d):
    if d.chance(0.8):                                                  # all of one type, which judges know
        d.types |= {name: d.types[d.schema.inputs[0].type_str] for name in ("T1", "T2", "U") if name in d.types}
    dims = [d.extent(), d.pick(1, 2, 3, 5), *d.dims(0 if d.version >= 9 else 1, 3, 0)]
    c = dims[1]
    put = lambda i, low=-2, high=2: d.array(d.dtype(i), [c], low, high)
    attributes = {"epsilon": d.maybe(0.01), "momentum": d.maybe(0.8), "is_test": 1, "spatial": d.maybe(1)}
    outputs = [True]
    if d.version >= 14 and d.chance(0.3) and dims[0]:
        attributes["training_mode"], outputs = 1, [True, True, True]
    return d.case([d.array(d.dtype(), dims), put(1), put(2), put(3), put(4, 0.1, 3)], attributes, outputs)


@rule("InstanceNormalization", "GroupNormalization")
def instance_norm(d):
    groups = d.pick(1, 2, 3)
    dims = [d.extent(), groups * d.pick(1, 2), *[d.pick(1, 2, 3, 5) for _ in range(d.whole(1, 3))]]
    put = lambda: d.array(d.dtype(), [groups if d.op == "GroupNormalization" and d.version < 21 else dims[1]], -2, 2)
    return d.case([d.array(d.dtype(), dims), put(), put()], {"epsilon": d.maybe(0.01), "num_groups": groups})


@rule("LayerNormalization", "RMSNormalization")
def layer_norm(d):
    dims = d.dims(1)
    axis = d.axis(len(dims))
    said = d.maybe(axis) if axis % len(dims) == len(dims) - 1 else axis
    scale = dims[axis % len(dims):]
    if d.op == "RMSNormalization":
        d.types["V"] = d.types["T"]
        return d.case([d.array(d.dtype(), dims), d.array(d.dtype(), scale)], {"axis": said, "epsilon": d.maybe(0.01)})
    d.types["U"] = "float"
    return d.case([d.array(d.dtype(), dims), d.array(d.dtype(), scale), d.maybe(d.array(d.dtype(), scale))], {"axis": said, "epsilon": d.maybe(0.01)}, [True, d.chance(0.3), d.chance(0.3)])


@rule("LpNormalization")
def lp_norm(d):
    dims = d.dims(1)
    return d.case([d.array(d.dtype(), dims)], {"axis": d.maybe(d.axis(len(dims))), "p": d.maybe(d.whole(1, 2))})


@rule("MeanVarianceNormalization")
def mean_variance(d):
    dims = [d.pick(1, 2, 3) for _ in range(4)]
    axes = d.maybe(d.axes(4, 1, d.version >= 13))
    return d.case([d.array(d.dtype(), dims)], {"axes": axes})


@rule("LRN")
def lrn(d):
    dims = [d.extent(), d.pick(1, 2, 5, 7), d.pick(1, 3), d.pick(1, 2)]
    return d.case([d.array(d.dtype(), dims)], {"size": d.pick(1, 3, 5), "alpha": d.maybe(0.01), "beta": d.maybe(0.5), "bias": d.maybe(2.0)})


# ---- attention ----
@rule("Attention")
def attention(d):
    d.types["T2"] = d.types["T1"]
    b, heads, share, q, k, size, v = d.pick(1, 2), d.pick(1, 2), d.pick(1, 1, 2), d.pick(1, 2, 3, 5), d.pick(1, 2, 3, 5), d.pick(1, 2, 4), d.pick(1, 2, 3)
    three = d.chance(0.3)
    past = d.pick(1, 2) if d.chance(0.2) else 0
    put = lambda *dims: d.array(d.dtype(), dims, -1, 1)
    inputs = [put(b, q, heads * share * size), put(b, k, heads * size), put(b, k, heads * v)] if three else [put(b, heads * share, q, size), put(b, heads, k, size), put(b, heads, k, v)]
    mask = None
    if d.chance(0.4):
        shape = d.pick([q, k + past], [1, 1, q, k + past], [b, heads * share, q, k + past])
        d.types["U"] = d.pick("bool", d.types["T1"])
        mask = d.array(d.types["U"], shape, -2, 2)
        if mask.dtype == numpy.bool_:
            mask[..., 0] = True
    inputs.append(mask)
    if past:
        inputs += [put(b, heads, past, size), put(b, heads, past, v)]
    attributes = {"is_causal": d.maybe(d.whole(0, 1)), "scale": d.maybe(0.4), "softcap": d.maybe(2.0, 0.2), "qk_matmul_output_mode": d.maybe(d.whole(0, 3), 0.3)}
    if three:
        attributes |= {"q_num_heads": heads * share, "kv_num_heads": heads}
    return d.case(inputs, attributes, [True, bool(past), bool(past), d.chance(0.3)] if past or d.chance(0.3) else [True])


@rule("RotaryEmbedding")
def rotary(d):
    b, heads, steps, size = d.pick(1, 2), d.pick(1, 2, 3), d.pick(1, 2, 3, 5), d.pick(2, 4, 6)
    part = d.maybe(size - 2, 0.3) if size > 2 else None
    three = d.chance(0.4)
    half = (part or size) // 2
    if d.chance():
        caches, ids = [7, half], d.numbers.integers(0, 7, [b, steps]).astype("i8")
    else:
        caches, ids = [b, steps, half], None
    return d.case([d.array(d.dtype(), [b, steps, heads * size] if three else [b, heads, steps, size], -2, 2), d.array(d.dtype(), caches, -1, 1), d.array(d.dtype(), caches, -1, 1), ids],
                  {"interleaved": d.maybe(d.whole(0, 1)), "num_heads": heads if three else None, "rotary_embedding_dim": part})


@rule("CausalConvWithState")
def causal_conv(d):
    b, c, n, k = d.pick(1, 2), d.pick(1, 2, 3), d.pick(1, 2, 5), d.pick(2, 3, 4)
    put = lambda *dims: d.array(d.dtype(), dims, -2, 2)
    return d.case([put(b, c, n), put(c, 1, k), d.maybe(put(c)), d.maybe(put(b, c, k - 1))], {"activation": d.maybe(d.pick("none", "silu", "swish"))}, [True, True])


@rule("LinearAttention")
def linear_attention(d):
    d.types["S"] = d.types["T"]
    b, heads, share, n, size, v = d.pick(1, 2), d.pick(1, 2), d.pick(1, 1, 2), d.pick(1, 2, 3), d.pick(1, 2), d.pick(1, 2, 3)
    rule_ = d.pick("linear", "gated", "delta", "gated_delta")
    put = lambda *dims: d.array(d.dtype(), dims, -1, 1)
    decay = d.array(d.dtype(), d.pick([b, n, heads * size], [b, n, heads]), -1, 0) if "gated" in rule_ else None
    beta = d.array(d.dtype(), d.pick([b, n, heads], [b, n, 1]), 0, 1) if "delta" in rule_ else None
    return d.case([put(b, n, heads * share * size), put(b, n, heads * size), put(b, n, heads * v), d.maybe(put(b, heads, size, v)), decay, beta],
                  {"update_rule": rule_, "q_num_heads": heads * share, "kv_num_heads": heads, "scale": d.maybe(0.5)}, [True, True])


# ---- quantisation ----
@rule("QuantizeLinear", "DequantizeLinear")
def quantize(d):
    dims = d.dims(1 if d.version >= 13 else 0)
    to = "T3" if d.op == "QuantizeLinear" and "T3" in d.types else "T2" if d.op == "QuantizeLinear" else d.schema.inputs[0].type_str
    kind = DTYPES[d.types[to]]
    parted = d.version >= 13 and d.chance() and dims
    axis = d.axis(len(dims)) if parted else None
    shape = [dims[axis]] if parted else []
    blocks = None
    if parted and d.has("block_size") and d.chance(0.4) and dims[axis]:
        blocks = d.pick(*[n for n in range(1, dims[axis] + 1) if dims[axis] % n == 0])
        shape = list(dims)
        shape[axis] = dims[axis] // blocks
    scale_type = "float"
    formal = d.schema.inputs[1]
    if formal.type_str in d.types:
        scale_type = d.types[formal.type_str]
        if d.op == "QuantizeLinear" and d.version < 23 or scale_type == "float8e8m0":
            scale_type = d.types[formal.type_str] = d.types[d.schema.inputs[0].type_str] if d.op == "QuantizeLinear" else "float"
            if scale_type == "int32":
                scale_type = d.types[formal.type_str] = "float"
    scale = d.array(scale_type, shape, 0.05, 2) if d.chance() else d.array(scale_type, shape, 0.25, 0.25)
    zero = None
    float_kind = is_float(kind)
    if d.chance(0.7):
        zero = numpy.zeros(shape, kind) if float_kind or kind == numpy.int32 else d.array(kind, shape, -3, 9)
    attributes = {"axis": axis if axis is not None and (d.version < 13 or axis not in (1,) or d.chance()) else None, "block_size": blocks}
    if blocks is not None:
        attributes["axis"] = axis
    if d.op == "DequantizeLinear":
        if kind == numpy.int32 and d.chance():
            zero = None
        types = [d.types["T3"] if "T3" in d.types else scale_type]
        if "T3" in d.types:
            d.types["T3"] = types[0] = scale_type
        if d.has("output_dtype") and d.chance(0.3):
            types = [d.rng.choice(sorted(d.allowed("T3")))]
            attributes["output_dtype"] = d.number(types[0])
        return d.case([d.array(kind, dims, -200, 300), scale, zero], attributes, types=types)
    if zero is None:
        if d.has("output_dtype") and d.types[to] != "uint8":
            attributes["output_dtype"] = d.number(d.types[to])
        else:
            d.types[to] = "uint8"
    attributes["saturate"] = d.maybe(d.whole(0, 1)) if d.types[to].startswith("float8") else None
    return d.case([d.array(d.dtype(), dims, *d.pick((-9, 9), (-300, 300)), special=0.1), scale, zero], attributes, types=[d.types[to]])


@rule("DynamicQuantizeLinear")
def dynamic_quantize(d):
    return d.case([d.array(d.dtype(), d.dims(0, 4, 0), *d.pick((-9, 9), (1, 9), (-9, -1)))], {}, [True, True, True])


# ---- losses ----
@rule("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(d):
    dims = [d.pick(1, 2, 3), d.pick(2, 3, 5), *d.dims(0, 2, 0)]
    target = d.numbers.integers(0, dims[1], [dims[0], *dims[2:]]).astype(d.dtype(1))
    ignored = d.whole(0, dims[1] - 1) if d.chance(0.3) else None
    attributes = {"reduction": d.maybe(d.pick("none", "mean", "sum")), "ignore_index": ignored}
    weights = d.maybe(d.array(d.dtype(), dims[1:2], 0.2, 2))
    return d.case([d.array(d.dtype(), dims, -3, 3), target, weights], attributes, [True, d.chance(0.4)] if d.op == "SoftmaxCrossEntropyLoss" else [True])


# ---- random numbers: type and shape alone ----
@rule("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial")
def random_numbers(d):
    attributes = {a: d.maybe(float(v)) for a, v in (("mean", 1), ("scale", 2), ("low", -1), ("high", 3), ("seed", 5))}
    like = "T2" if "T2" in d.types else "T"
    if d.op in ("RandomNormal", "RandomUniform"):
        to = d.types[like] if d.types[like] != "float" or d.chance() else None
        return d.case([], attributes | {"shape": d.dims(), "dtype": d.number(to) if to else None}, compare="shape", types=[to or "float"])
    if d.op == "Multinomial":
        to = d.maybe(d.types[like])
        return d.case([d.array(d.dtype(), [d.pick(1, 2), d.pick(1, 3, 5)])], attributes | {"sample_size": d.whole(1, 4), "dtype": d.number(to) if to else None}, compare="shape", types=[to or "int32"])
    to = d.maybe(d.types[like])
    if to is None and d.types["T1"] not in d.allowed("T2"):
        to = "float"
    x = d.array(d.dtype(), d.dims(), 0, 1)
    return d.case([x], attributes | {"dtype": d.number(to) if to else None}, compare="shape", types=[to or d.types["T1"]])


# ---- signals, boxes ----
@rule("HannWindow", "HammingWindow", "BlackmanWindow")
def signal_window(d):
    to = d.maybe(d.types["T2"])
    return d.case([Operand(numpy.array(d.pick(1, 2, 3, 5, 8, 13), d.dtype()))], {"periodic": d.maybe(d.whole(0, 1)), "output_datatype": d.number(to) if to else None}, types=[to or "float"])


@rule("MelWeightMatrix")
def mel(d):
    to = d.maybe(d.types["T3"])
    put = lambda value, i: Operand(numpy.array(value).astype(d.dtype(i)))
    return d.case([put(d.pick(2, 4, 8), 0), put(d.pick(16, 32), 1), put(d.pick(8000, 16000), 2), put(d.pick(0, 20), 3), put(d.pick(3000, 4000), 4)], {"output_datatype": d.number(to) if to else None}, types=[to or "float"])


@rule("NonMaxSuppression")
def boxes(d):
    batch, classes, n = d.pick(1, 2), d.pick(1, 2), d.pick(1, 3, 5, 7)
    scores = d.numbers.permutation(batch * classes * n).astype("f4").reshape(batch, classes, n) / 50
    return d.case([d.numbers.random([batch, n, 4]).astype("f4"), scores, d.maybe(d.integers(d.whole(0, n)), 0.9), d.maybe(numpy.array([d.pick(0.1, 0.3, 0.5)], "f4")),
                   d.maybe(numpy.array([d.pick(0.05, 0.2)], "f4"))], {"center_point_box": d.maybe(d.whole(0, 1))})
