"""What rules draw with: extents, axes and values by seed, and the case that they make, a node with its operands."""
import copy
import random

import ml_dtypes
import numpy
import onnx
from onnx import TensorProto as T, helper, numpy_helper

TYPES = {"float": T.FLOAT, "double": T.DOUBLE, "float16": T.FLOAT16, "bfloat16": T.BFLOAT16, "bool": T.BOOL, "float8e4m3fn": T.FLOAT8E4M3FN, "float8e4m3fnuz": T.FLOAT8E4M3FNUZ,
         "float8e5m2": T.FLOAT8E5M2, "float8e5m2fnuz": T.FLOAT8E5M2FNUZ, "float8e8m0": T.FLOAT8E8M0, "float4e2m1": T.FLOAT4E2M1, "int4": T.INT4, "uint4": T.UINT4, "int2": T.INT2, "uint2": T.UINT2,
         **{f"{u}int{bits}": getattr(T, f"{u.upper()}INT{bits}") for u in ("", "u") for bits in (8, 16, 32, 64)}}
TYPES |= {name: getattr(T, name.upper()) for name in ("float6e2m3", "float6e3m2") if hasattr(T, name.upper())}
DTYPES = {name: numpy.dtype(helper.tensor_dtype_to_np_dtype(number)) for name, number in TYPES.items()}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
PLAIN = {numpy.dtype(t) for t in ("f4", "f8", "f2", "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")}       # those of NumPy itself


def is_float(dtype):
    return dtype.kind == "f" or dtype not in PLAIN and "float" in dtype.name


def info(dtype):
    return ml_dtypes.finfo(dtype) if is_float(dtype) else ml_dtypes.iinfo(dtype)


class NotHere(Exception):
    """The rule has nothing to draw for this version or type."""


class Operand:
    """An input that decides shapes or is asked for its value: a constant, or at run time with the outputs' shapes declared."""

    def __init__(self, array, constant=False):
        self.array, self.constant = array, constant


class Case:
    """One node, or `nodes` around the one that is drawn; inputs are x0, x1 …, outputs y0, y1 …"""

    modern = None                             # of an old version: (inputs that are other for opset 7, attributes)

    def __init__(self, draw, inputs, attributes, outputs, compare, types, nodes):
        self.op, self.opset, self.inputs, self.attributes, self.compare, self.nodes = draw.op, draw.opset, inputs, attributes, compare, nodes
        while not outputs[-1]:
            outputs.pop()
        self.outputs, self.types = outputs, types
        rng = draw.rng
        while self.inputs and self.inputs[-1] is None:
            self.inputs.pop()
        at_run_time = rng.random() < 0.4
        self.arrays, self.held = {}, set()
        for i, given in enumerate(self.inputs):
            if given is None:
                continue
            array = numpy.asarray(given.array if isinstance(given, Operand) else given)
            self.arrays[f"x{i}"] = array
            if isinstance(given, Operand) and (given.constant or not (at_run_time and rng.random() < 0.8)):
                self.held.add(f"x{i}")
            elif not isinstance(given, Operand) and i and rng.random() < 0.15:
                self.held.add(f"x{i}")                                 # weights that are constant
        self.at_run_time = any(isinstance(g, Operand) and f"x{i}" not in self.held for i, g in enumerate(self.inputs))

    def model(self, shapes=None, hold=(), opset=None):
        """The node alone; `shapes` of the outputs, where they are declared; inputs in `hold` become constants too."""
        opset = opset or self.opset
        names = ["" if given is None else f"x{i}" for i, given in enumerate(self.inputs)]
        outs = [f"y{i}" if there else "" for i, there in enumerate(self.outputs)]
        node = helper.make_node(self.op, names, outs)
        for name, value in self.attributes.items():
            empty = isinstance(value, list) and not value
            node.attribute.append(helper.make_attribute(name, value, attr_type=onnx.AttributeProto.INTS if empty else None))
        held = self.held | set(hold)
        values = [helper.make_tensor_value_info(n, TYPES[NAMES[a.dtype]], a.shape) for n, a in self.arrays.items() if n not in held]
        made = [helper.make_tensor_value_info(n, TYPES[t], shapes[n] if shapes else None) for n, t in zip(outs, self.types) if n]
        graph = helper.make_graph(self.nodes or [node], "drawn", values, made, [numpy_helper.from_array(a, n) for n, a in self.arrays.items() if n in held])
        return helper.make_model(graph, ir_version=ir_version(opset), opset_imports=[helper.make_opsetid("", opset)])

    def in_opset_7(self):
        """What judges that lack the old version are asked."""
        if self.modern is None:
            return self
        other = copy.copy(self)
        changed, other.attributes = self.modern
        other.arrays = self.arrays | {n: a.reshape(dims) for n, dims in changed.items() for a in [self.arrays[n]]}
        return other

    def told(self):
        """The case in a line: what an engineer needs to see."""
        arrays = ", ".join(f"{n}: {NAMES[a.dtype]}{list(a.shape)}" + (f" = {a.ravel().tolist()}" if a.size < 9 else "") + (" held" if n in self.held else "") for n, a in self.arrays.items())
        plain = {k: (v if not isinstance(v, (onnx.TensorProto, onnx.GraphProto)) else "...") for k, v in self.attributes.items()}
        around = " " + "; ".join(f"{', '.join(n.output)} = {n.op_type}({', '.join(n.input)})" for n in self.nodes) if self.nodes else ""
        return f"{self.op} opset {self.opset} {plain} ({arrays}){around}"


def ir_version(opset):
    return 8 if opset < 19 else 10 if opset < 23 else 11 if opset < 25 else 13


class Draw:
    """One case's numbers.  types: the element type of each type variable of the schema."""

    def __init__(self, seed, schema, opset, types):
        self.rng, self.schema, self.op, self.version, self.opset, self.types = random.Random(seed), schema, schema.name, schema.since_version, opset, types
        self.numbers = numpy.random.default_rng(self.rng.randrange(1 << 40))

    # ---- what the schema says ----
    def has(self, attribute):
        return attribute in self.schema.attributes

    @property
    def most(self):
        return len(self.schema.inputs)

    def type_of(self, formal):
        said = formal.type_str
        return self.types[said] if said in self.types else said[len("tensor("):-1]

    def dtype(self, i=0):
        return DTYPES[self.type_of(self.schema.inputs[min(i, self.most - 1)])]

    def case(self, inputs, attributes=None, outputs=None, compare="values", types=None, nodes=None):
        formal = self.schema.outputs
        outputs = outputs or [True]
        types = types or [self.type_of(formal[min(i, len(formal) - 1)]) for i in range(len(outputs))]
        kept = {k: v for k, v in (attributes or {}).items() if v is not None and self.has(k)}
        return Case(self, list(inputs), kept, outputs, compare, types, nodes)

    # ---- numbers ----
    def chance(self, p=0.5):
        return self.rng.random() < p

    def pick(self, *some):
        return self.rng.choice(some)

    def whole(self, low, high):
        return self.rng.randint(low, high)

    def extent(self, zero=0.04):
        return 0 if self.rng.random() < zero else self.rng.choice((1, 1, 2, 3, 3, 5, 7))

    def dims(self, least=0, most=4, zero=0.04):
        return [self.extent(zero) for _ in range(self.whole(least, most))]

    def axis(self, rank, extra=0):
        """An axis, from either end where the version knows that."""
        axis = self.whole(0, rank + extra - 1)
        return axis - rank - extra if self.version >= 11 and self.chance(0.4) else axis

    def axes(self, rank, least=1, negative=None):
        some = self.rng.sample(range(rank), self.whole(min(least, rank), rank))
        negative = self.version >= 11 if negative is None else negative
        return [a - rank if negative and self.chance(0.4) else a for a in some]

    def maybe(self, value, p=0.6):
        return value if self.chance(p) else None

    def integers(self, *values):
        return numpy.array(values, "i8")

    def array(self, dtype, dims, low=-5, high=5, special=0.0):
        """Numbers of a type; with the chance `special` some that are NaN, infinite, zero or the ends of the type."""
        dtype = DTYPES.get(dtype, dtype) if isinstance(dtype, str) else numpy.dtype(dtype)
        if dtype == numpy.bool_:
            return self.numbers.random(dims) < 0.5
        if is_float(dtype):
            values = numpy.asarray(self.numbers.uniform(low, high, dims))
            if self.chance(0.3):
                values = numpy.clip(numpy.round(values * 2) / 2, low, high)
            values = values.astype(dtype)
            if dtype.name == "float8_e8m0fnu":
                values = numpy.abs(self.numbers.uniform(0.01, max(high, 1), dims)).astype(dtype)
            some = [0.0, -0.0, 1.0] + ([numpy.nan, numpy.inf, -numpy.inf] if dtype.name not in ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e8m0fnu") else [])
        else:
            low, high = max(int(numpy.ceil(low)), int(info(dtype).min)), min(int(high), int(info(dtype).max))
            values = self.numbers.integers(low, max(high, low), dims, endpoint=True).astype(dtype)
            some = [int(info(dtype).min), int(info(dtype).max), 0, 1]
        if special and values.size and self.chance(special):
            flat = values.reshape(-1)
            for _ in range(self.whole(1, 3)):
                flat[self.whole(0, flat.size - 1)] = numpy.array(self.rng.choice(some)).astype(dtype)
            values = flat.reshape(dims)
        return values

    def like(self, dims, ndim=None):
        """Dims that broadcast with `dims`: the last of them, some 1."""
        kept = list(dims)[self.whole(0, len(dims)):] if ndim is None else list(dims)[len(dims) - ndim:]
        return [1 if self.chance(0.3) else n for n in kept]


RULES = {}


def rule(*names):
    def put(function):
        for name in names:
            RULES[name] = function
        return function
    return put
