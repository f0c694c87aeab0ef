"""file.py: TensorFlow Lite files, written field by field; numbers of fields and operators are those of schema.fbs.

A table is a dict {field: value}; a value is I8(n), I32(n), U32(n), F32(x), a str, a dict, or a list: of dicts, of I32..., or numpy's array."""
import struct

import numpy as np

TYPES = {"float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9, "resource": 13, "int4": 17}
SAME, VALID = 0, 1


class Number:
    def __init__(self, form, value):
        self.bytes = struct.pack("<" + form, value)


def I8(n):
    return Number("b", n)


def U8(n):
    return Number("B", n)


def I32(n):
    return Number("i", n)


def U32(n):
    return Number("I", n)


def U64(n):
    return Number("Q", n)


def F32(x):
    return Number("f", x)


class Writer:
    """Parents come before what they point to, so that every offset counts upwards."""

    def __init__(self):
        self.out = bytearray(8)
        self.later = []
        self.places = {}                                 # name of a kind -> where each of them begins, for tests that break them

    def align(self, width, more=0):
        while (len(self.out) + more) % width:
            self.out.append(0)

    def point(self, at):
        struct.pack_into("<I", self.out, at, len(self.out) - at)

    def table(self, fields, kind):
        fields = {k: v for k, v in fields.items() if v is not None}
        count = max(fields, default=-1) + 1
        at, places = 4, {}
        for k, v in sorted(fields.items(), key=lambda item: -len(item[1].bytes) if isinstance(item[1], Number) else -4):
            width = len(v.bytes) if isinstance(v, Number) else 4
            at += -at % width
            places[k] = at
            at += width
        self.align(2)
        vtable = len(self.out)
        self.out += struct.pack("<HH", 4 + 2 * count, at) + b"".join(struct.pack("<H", places.get(k, 0)) for k in range(count))
        self.align(8)
        start = len(self.out)
        self.places.setdefault(kind, []).append(start)
        self.out += struct.pack("<i", start - vtable) + bytes(at - 4)
        for k, v in fields.items():
            if isinstance(v, Number):
                self.out[start + places[k]:start + places[k] + len(v.bytes)] = v.bytes
            else:
                self.later.append((start + places[k], v, "%s.%d" % (kind, k)))
        return start

    def value(self, at, v, kind):
        if isinstance(v, dict):
            # the vtable comes first: the offset is to the table behind it
            start = self.table(v, kind)
            struct.pack_into("<I", self.out, at, start - at)
            return
        ends = isinstance(v, str)                        # a text has a 0 behind it, which does not count
        v = v.encode() if ends else v
        raw = v if isinstance(v, bytes) else v.tobytes() if isinstance(v, np.ndarray) else None
        width = v.itemsize if isinstance(v, np.ndarray) else 1
        if kind == "Model.4.0":                          # constants
            width = 16
        if raw is None and v and isinstance(v[0], Number):
            raw, width, count = b"".join(n.bytes for n in v), len(v[0].bytes), len(v)
        else:
            count = v.size if isinstance(v, np.ndarray) else len(v)
        self.align(max(width, 4), 4)
        self.point(at)
        self.out += struct.pack("<I", count)
        if raw is not None:
            self.out += raw + bytes(ends)
            self.align(4)
            return
        first = len(self.out)
        self.out += bytes(4 * len(v))
        for i, one in enumerate(v):
            self.later.append((first + 4 * i, one, kind))

    def file(self, root):
        start = self.table(root, "Model")
        struct.pack_into("<I", self.out, 0, start)
        self.out[4:8] = b"TFL3"
        while self.later:
            self.value(*self.later.pop(0))
        return bytes(self.out)


def ints(values):
    return np.array(values, np.int32)


class Net:
    """A model of one subgraph: tensors by number, operators in order."""

    def __init__(self):
        self.buffers, self.tensors, self.codes, self.operators, self.inputs, self.outputs = [{}], [], [], [], [], []
        self.behind = False                              # whether constants lie behind all tables
        self.signature, self.before = None, None         # of a subgraph that CALL_ONCE calls: its tensors and operators

    def tensor(self, name, shape, kind="float32", data=None, scale=None, zero=None, axis=0, signature=None, sparsity=None, variable=False):
        fields = {0: ints(shape), 1: I8(TYPES[kind]), 2: U32(0), 3: name}
        if data is not None:
            self.buffers.append({0: np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)})
            fields[2] = U32(len(self.buffers) - 1)
        if scale is not None:
            scale = np.atleast_1d(np.array(scale, np.float32))
            fields[4] = {2: scale, 3: np.broadcast_to(np.array(zero or 0, np.int64), scale.shape).copy(), 6: I32(axis)}
        if signature is not None:
            fields[7] = ints(signature)
        if variable:
            fields[5] = I8(1)
        if sparsity is not None:
            fields[6] = sparsity
        self.tensors.append(fields)
        return len(self.tensors) - 1

    def constant(self, data, **more):
        data = np.asarray(data)
        return self.tensor("c%d" % len(self.tensors), data.shape, data.dtype.name, data, **more)

    def operator(self, code, inputs, outputs, options=None, kind=0, version=1, custom=None, bytes_of=None):
        key = (code, version, custom)
        if key not in self.codes:
            self.codes.append(key)
        self.operators.append({0: U32(self.codes.index(key)), 1: ints(inputs), 2: ints(outputs), 3: U8(kind) if options is not None else None, 4: options, 5: bytes_of})

    def root(self):
        codes = [{0: I8(min(c, 127)), 1: custom, 2: I32(v), 3: I32(c)} for c, v, custom in self.codes]
        graph = {0: self.tensors, 1: ints(self.inputs), 2: ints(self.outputs), 3: self.operators, 4: "main"}
        first = [{0: self.before[0], 1: ints([]), 2: ints([]), 3: self.before[1], 4: "first"}] if self.before else []
        root = {0: U32(3), 1: codes, 2: [graph] + first, 3: "ingot's tests", 4: self.buffers}
        if self.signature:
            maps = [[{0: name, 1: U32(i)} for name, i in zip(names, ends)] for names, ends in zip(self.signature, (self.inputs, self.outputs))]
            root[7] = [{0: maps[0], 1: maps[1], 2: "serve", 4: U32(0)}]
        return root

    def bytes(self):
        return self.bytes_behind() if self.behind else Writer().file(self.root())

    def bytes_behind(self):
        """With the constants behind all tables, as files above 2 GiB have them."""
        kept = self.buffers
        for pass_ in range(2):                           # the places do not change the length
            end, out, self.buffers = len(whole) if pass_ else 0, b"", [{}]
            for one in kept[1:]:
                out += bytes(-len(out) % 16)
                self.buffers.append({1: U64(16 * (end // 16 + 1) + len(out)), 2: U64(one[0].size)})
                out += one[0].tobytes()
            whole = Writer().file(self.root())
        self.buffers = kept
        return whole + bytes(16 * (len(whole) // 16 + 1) - len(whole)) + out
