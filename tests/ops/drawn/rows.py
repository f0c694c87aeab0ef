"""Rules for what goes element by element, for reductions, and for what sorts and adds along an axis."""
import numpy

from drawing import DTYPES, NotHere, Operand, is_float, rule

# op: the range of its numbers, -8 to 8 else
RANGES = {"Acos": (-1, 1), "Asin": (-1, 1), "Acosh": (1, 9), "Atanh": (-0.95, 0.95), "Log": (0, 9), "Sqrt": (0, 9), "Reciprocal": (0.1, 8), "Exp": (-8, 5), "Sinh": (-5, 5),
          "Cosh": (-5, 5), "Tan": (-1.4, 1.4)}


@rule("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "IsInf", "IsNaN",
      "LeakyRelu", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh",
      "ThresholdedRelu", "Identity")
def unary(d):
    low, high = RANGES.get(d.op, (-8, 8))
    attributes = {a: d.maybe(round(d.rng.uniform(0.1, 1.9), 2)) for a in ("alpha", "beta", "gamma", "lambd", "bias")}
    attributes |= {a: d.maybe(d.whole(0, 1)) for a in ("detect_negative", "detect_positive")} | {"approximate": d.maybe(d.pick("none", "tanh"))}
    return d.case([d.array(d.dtype(), d.dims(), low, high, special=0.6 if d.op in ("IsInf", "IsNaN") else 0.25)], attributes)


def two(d):
    """Dims of two operands and attributes, as the version broadcasts."""
    a = d.dims()
    if d.has("broadcast"):
        if d.chance() or not a:
            return a, a, {}
        start = d.whole(0, len(a) - 1)
        end = d.whole(start + 1, len(a))
        return a, a[start:end], {"broadcast": 1, "axis": start if end < len(a) or d.chance() else None}
    b = d.like(a)
    a = [1 if d.chance(0.2) else n for n in a]
    return (a, b, {}) if d.chance() else (b, a, {})


@rule("Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Mod", "BitShift", "SwiGLU")
def binary(d):
    a, b, attributes = two(d)
    if d.op == "SwiGLU":
        b = a
    low, high = (-3, 3) if d.op in ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual") else (-9, 9)
    x, y = d.array(d.dtype(0), a, low, high, special=0.25), d.array(d.dtype(1), b, low, high, special=0.25)
    if d.op in ("Div", "Mod") and not is_float(y.dtype):
        y = numpy.where(y == 0, numpy.array(3, y.dtype), y).astype(y.dtype)
    if d.op == "BitShift":
        x, y, attributes = d.array(d.dtype(0), a, 0, 250), d.array(d.dtype(1), b, 0, 7), {"direction": d.pick("LEFT", "RIGHT")}
    if d.op == "Mod":
        attributes = {"fmod": 1 if is_float(x.dtype) and d.version < 28 else d.maybe(d.whole(0, 1))}
    if d.op == "SwiGLU":
        attributes = {"alpha": d.maybe(1.5)}
    made = d.case([x, y], attributes)
    if d.has("broadcast"):
        made.modern = ({"x1": list(b) + [1] * (len(a) - len(b) - attributes["axis"]) if attributes.get("axis") is not None else b}, {})
    return made


@rule("Pow")
def power(d):
    a, b, attributes = two(d)
    base, exponent = d.dtype(0), d.dtype(1)
    whole = not is_float(base) or not is_float(exponent) or d.chance(0.4)
    y = d.array(exponent, b, 0 if not is_float(base) or d.chance() else -2, 3)
    if is_float(exponent) and whole:
        y = numpy.round(y.astype("f8")).astype(exponent)
    return d.case([d.array(base, a, -4 if whole else 0.1, 4), y if d.chance(0.7) else Operand(y)], attributes)


@rule("PRelu")
def prelu(d):
    a = d.dims(1)
    b = d.like(a) if d.version >= 7 else [d.pick(1, a[1] if len(a) > 1 else 1)]
    made = d.case([d.array(d.dtype(), a, special=0.2), d.array(d.dtype(), b, -2, 2)])
    if d.version < 7:
        made.modern = ({"x1": b + [1] * (len(a) - 2)}, {})
    return made


@rule("Max", "Min", "Mean", "Sum")
def variadic(d):
    a = d.dims()
    some = [d.array(d.dtype(), d.like(a) if d.version >= 8 and i else a, special=0.2) for i in range(d.whole(1, 4))]
    d.rng.shuffle(some)
    return d.case(some)


@rule("Where")
def where(d):
    a = d.dims()
    return d.case([d.array("bool", d.like(a)), d.array(d.dtype(1), a, special=0.2), d.array(d.dtype(1), d.like(a), special=0.2)])


@rule("Clip")
def clip(d):
    x = d.array(d.dtype(), d.dims(), -8, 8, special=0.2)
    low, high = d.maybe(d.array(x.dtype, [], -5, 1)), d.maybe(d.array(x.dtype, [], 1, 5))
    if d.has("min"):
        return d.case([x], {"min": None if low is None else float(low), "max": None if high is None else float(high)})
    return d.case([x, low if low is None or d.chance() else Operand(low), high if high is None or d.chance() else Operand(high)])


@rule("Cast", "CastLike", "BitCast")
def cast(d):
    to = d.types["T2"]
    x = d.array(d.dtype(), d.dims(), *d.pick((-9, 9), (-9, 9), (-300, 300), (0, 100)), special=0.3)
    if d.op == "BitCast":
        fits = [name for name in d.allowed("T2") if name in DTYPES and bits(name) == bits(d.types["T1"])]
        to = d.rng.choice(sorted(fits))
        return d.case([d.array(d.dtype(), d.dims(), 0.1, 9)], {"to": d.number(to)}, types=[to])
    saturate = d.maybe(d.whole(0, 1)) if to.startswith("float8") else None
    if d.op == "CastLike":
        return d.case([x, d.array(to, d.dims(0, 2))], {"saturate": saturate}, types=[to])
    return d.case([x], {"to": d.number(to) if d.version > 1 else to.upper(), "saturate": saturate}, types=[to])


def bits(name):
    return 1 if name == "bool" else int("".join(c for c in name.split("e")[0] if c.isdigit()) or {"float": 32, "double": 64}.get(name, 0))


# ---- along axes ----
@rule("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare")
def reduction(d):
    dims = d.dims(0 if d.version >= 18 else 1)
    if d.chance(0.1) and dims:
        dims[d.whole(0, len(dims) - 1)] = d.pick(67, 129)
    low, high = (0.1, 2) if d.op in ("ReduceLogSum",) else (-2, 2) if d.op == "ReduceProd" else (-5, 5)
    x = d.array(d.dtype(), dims, low, high)
    axes, keep = d.maybe(d.axes(len(dims)) if dims else None, 0.75), d.maybe(d.whole(0, 1))
    if d.has("axes"):
        return d.case([x], {"axes": axes, "keepdims": keep})
    noop = d.maybe(d.whole(0, 1), 0.3)
    if axes is None and d.chance(0.3):
        return d.case([x, Operand(d.integers())], {"keepdims": keep, "noop_with_empty_axes": noop})
    return d.case([x, None if axes is None else Operand(d.integers(*axes))], {"keepdims": keep, "noop_with_empty_axes": noop})


@rule("ArgMax", "ArgMin")
def arg(d):
    dims = d.dims(1)
    axis = d.axis(len(dims))
    dims[axis] = max(dims[axis], 1)
    return d.case([d.array(d.dtype(), dims, -4, 4)], {"axis": axis if axis % len(dims) or d.chance() else None, "keepdims": d.maybe(d.whole(0, 1)), "select_last_index": d.maybe(d.whole(0, 1))})


@rule("Softmax", "LogSoftmax", "Hardmax")
def softmax(d):
    dims = d.dims(1)
    default = 1 if d.version < 13 else -1
    return d.case([d.array(d.dtype(), dims)], {"axis": d.axis(len(dims)) if len(dims) < 2 and d.version < 13 or d.chance(0.7) else None if default < len(dims) else 0})


@rule("CumSum", "CumProd")
def running(d):
    dims = d.dims(1)
    axis = numpy.array(d.axis(len(dims)), d.dtype(1))
    low, high = (-2, 2) if d.op == "CumProd" else (-5, 5)
    return d.case([d.array(d.dtype(), dims, low, high), Operand(axis)], {"exclusive": d.maybe(d.whole(0, 1)), "reverse": d.maybe(d.whole(0, 1))})


@rule("TopK")
def top_k(d):
    dims = d.dims(1)
    axis = d.axis(len(dims))
    k = d.whole(0 if d.version >= 10 and d.chance(0.1) else min(1, dims[axis]), dims[axis])
    if d.has("k") and k == 0:
        raise NotHere
    x = d.array(d.dtype(), dims, -9, 9)
    attributes = {"axis": None if axis in (-1, len(dims) - 1) and d.chance() else axis, "largest": d.maybe(d.whole(0, 1)), "sorted": d.maybe(1), "k": k}
    return d.case([x] if d.has("k") else [x, Operand(d.integers(k))], attributes, [True, True])


@rule("Unique")
def unique(d):
    dims = d.dims(1, 3, 0)
    x = d.array(d.dtype(), dims, 0, 3)
    if is_float(x.dtype):
        x = numpy.round(x.astype("f8")).astype(x.dtype)
    return d.case([x], {"axis": d.maybe(d.axis(len(dims))), "sorted": d.maybe(d.whole(0, 1))}, [True, d.chance(), d.chance(), d.chance()])


@rule("NonZero")
def non_zero(d):
    return d.case([d.array(d.dtype(), d.dims(1, 3), -1, 1)])


@rule("Compress")
def compress(d):
    dims = d.dims(1, 3, 0)
    axis = d.maybe(d.axis(len(dims)))
    most = int(numpy.prod(dims)) if axis is None else dims[axis]
    return d.case([d.array(d.dtype(), dims), d.array("bool", [d.whole(1, most)])], {"axis": axis})


@rule("Det")
def det(d):
    n = d.whole(1, 4)
    return d.case([d.array(d.dtype(), d.dims(0, 2) + [n, n], -2, 2)])
