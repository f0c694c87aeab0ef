#!/usr/bin/env python3
"""Writes models that no exporter writes all of: every element type in every encoding, numbers packed and one by one, every kind
of attribute, sparse and external constants, nodes in any order, old headers, shadowed names.

    make_models.py FOLDER"""
import os, sys
import numpy, onnx, onnx.parser
from onnx import AttributeProto as A, TensorProto as T, helper as H

BITS = {T.FLOAT: 32, T.UINT8: 8, T.INT8: 8, T.UINT16: 16, T.INT16: 16, T.INT32: 32, T.INT64: 64, T.BOOL: 8, T.FLOAT16: 16,
        T.DOUBLE: 64, T.UINT32: 32, T.UINT64: 64, T.COMPLEX64: 64, T.COMPLEX128: 128, T.BFLOAT16: 16, T.FLOAT8E4M3FN: 8,
        T.FLOAT8E4M3FNUZ: 8, T.FLOAT8E5M2: 8, T.FLOAT8E5M2FNUZ: 8, T.UINT4: 4, T.INT4: 4, T.FLOAT4E2M1: 4, T.FLOAT8E8M0: 8,
        T.UINT2: 2, T.INT2: 2}
SIGNED = (T.INT8, T.INT16, T.INT32)


def model(nodes, inputs=("x",), outputs=("y",), constants=(), sparse=(), functions=(), ir=10, opsets=(("", 17),), **more):
    graph = H.make_graph(list(nodes), "g", [H.make_tensor_value_info(n, T.FLOAT, [2]) for n in inputs],
                         [H.make_tensor_value_info(n, T.FLOAT, [2]) for n in outputs], list(constants),
                         sparse_initializer=list(sparse), **more)
    made = H.make_model(graph, opset_imports=[H.make_opsetid(*o) for o in opsets], functions=list(functions))
    made.ir_version = ir
    return made


def raw_bytes(type, count, seed):
    data = numpy.random.default_rng(seed).integers(0, 256, (count * BITS[type] + 7) // 8).astype("u1")
    if type == T.BOOL:
        data &= 1
    rest = count * BITS[type] % 8
    if rest:
        data[-1] &= (1 << rest) - 1
    return data.tobytes()


def typed(type, dims, raw, name):
    """The same elements in the typed field."""
    t = T(name=name, data_type=type, dims=dims)
    if type in (T.FLOAT, T.COMPLEX64):
        t.float_data.extend(numpy.frombuffer(raw, "<f4").tolist())
    elif type in (T.DOUBLE, T.COMPLEX128):
        t.double_data.extend(numpy.frombuffer(raw, "<f8"))
    elif type == T.INT64:
        t.int64_data.extend(numpy.frombuffer(raw, "<i8"))
    elif type in (T.UINT64, T.UINT32):
        t.uint64_data.extend(numpy.frombuffer(raw, "<u8" if type == T.UINT64 else "<u4"))
    else:
        width = max(BITS[type] // 8, 1)
        t.int32_data.extend(numpy.frombuffer(raw, f"<{'i' if type in SIGNED else 'u'}{width}").tolist())
    return t


def encodings(out):
    for type, bits in BITS.items():
        for dims in ([], [0], [5], [2, 3, 1]):
            count = int(numpy.prod(dims))
            raw = raw_bytes(type, count, type * 10 + len(dims))
            if type in (T.FLOAT, T.COMPLEX64):                          # NaN through Python loses its payload
                raw = numpy.random.default_rng(type).standard_normal(len(raw) // 4).astype("<f4").tobytes()
            if type in (T.DOUBLE, T.COMPLEX128):
                raw = numpy.random.default_rng(type).standard_normal(len(raw) // 8).tobytes()
            r = T(name="r", data_type=type, dims=dims, raw_data=raw)
            t = typed(type, dims, raw, "t")
            e = T(name="e", data_type=type, dims=dims, data_location=T.EXTERNAL)
            name = f"type{type}_{'x'.join(map(str, dims))}"
            with open(os.path.join(out, name + ".bin"), "wb") as file:
                file.write(b"pad" + raw + b"more")
            for key, value in (("location", name + ".bin"), ("offset", "3"), ("length", str(len(raw)))):
                e.external_data.add(key=key, value=value)
            yield name, model([H.make_node("Foo", ["x", "r", "t", "e"], ["y"])], constants=[r, t, e])
    strings = T(name="s", data_type=T.STRING, dims=[3], string_data=[b"", b"a\"b\\c\n", b"\xff\xfe"])
    yield "strings", model([H.make_node("Foo", ["x", "s"], ["y"])], constants=[strings])


def varint(n):
    n &= (1 << 64) - 1
    made = b""
    while n > 127:
        made, n = made + bytes([n & 127 | 128]), n >> 7
    return made + bytes([n])


def field(number, type, content):
    return varint(number << 3 | type) + (varint(len(content)) if type == 2 else b"") + content


def by_hand():
    """Numbers packed where onnx does not pack, one by one where it does, and mixed; the fields of a tensor backwards."""
    ints = [1, -2, 3 << 40]
    one = b"".join(field(8, 0, varint(i)) for i in ints)
    packed = field(8, 2, b"".join(map(varint, ints)))
    floats = numpy.array([1.5, -2.25], "<f4")
    def attribute(name, kind, content):
        return field(5, 2, field(1, 2, name) + content + field(20, 0, varint(kind)))
    node = field(1, 2, b"x") + field(1, 2, b"t") + field(2, 2, b"y") + field(4, 2, b"Foo")
    node += attribute(b"one", A.INTS, one) + attribute(b"packed", A.INTS, packed) + attribute(b"mixed", A.INTS, one + packed + one)
    node += attribute(b"floats", A.FLOATS, field(7, 2, floats.tobytes()) + field(7, 5, floats[:1].tobytes()))
    tensor = field(8, 2, b"t") + b"".join(field(4, 5, f.tobytes()) for f in floats) + field(4, 2, floats.tobytes())
    tensor += field(2, 0, varint(1)) + field(1, 2, varint(2)) + field(1, 0, varint(2)) + field(99, 2, b"unknown") + field(98, 5, b"1234")
    def value(name):
        return field(1, 2, name) + field(2, 2, field(1, 2, field(1, 0, varint(1)) + field(2, 2, field(1, 2, field(1, 0, varint(2))))))
    graph = field(12, 2, value(b"y")) + field(1, 2, node) + field(5, 2, tensor) + field(11, 2, value(b"x")) + field(2, 2, b"g")
    yield "by_hand", field(8, 2, field(2, 0, varint(17))) + field(7, 2, graph) + field(1, 0, varint(8))


def attributes():
    inner = H.make_graph([H.make_node("Relu", ["x"], ["q"])], "inner", [], [H.make_tensor_value_info("q", T.FLOAT, [2])])
    node = H.make_node("Foo", ["x"], ["y"], name="n", f=1.5, i=-(1 << 63), s=b"a\"\\\n\xff", t=H.make_tensor("q", T.INT8, [2], [1, -2]),
                       g=inner, fs=[1.0, 0.1, 3e38, 1e-45, -0.0], ints=[1, (1 << 63) - 1], ss=["a", "", "b\""], gs=[inner, inner],
                       ts=[H.make_tensor("", T.FLOAT, [], [0.5]), H.make_tensor("", T.STRING, [1], ["x"])],
                       tp=H.make_sequence_type_proto(H.make_tensor_type_proto(T.FLOAT, [1, "N", None])))
    for name, kind in (("no_ints", A.INTS), ("no_floats", A.FLOATS), ("no_strings", A.STRINGS), ("no_tensors", A.TENSORS)):
        node.attribute.add(name=name, type=kind)
    types = node.attribute.add(name="tps", type=A.TYPE_PROTOS)
    types.type_protos.append(H.make_tensor_type_proto(T.INT4, []))
    types.type_protos.append(H.make_tensor_type_proto(T.BFLOAT16, None))
    types.type_protos.append(H.make_optional_type_proto(H.make_tensor_type_proto(T.FLOAT, ["a b"])))
    special = node.attribute.add(name="special", type=A.FLOATS)
    special.floats.extend([float("inf"), float("-inf"), float("nan"), -float("nan")])
    yield "attributes", model([node], ir=8)
    old = H.make_node("Foo", ["x"], ["y"], i=3, f=2.5, s=b"t", ints=[1, 2])
    for a in old.attribute:
        a.ClearField("type")
    yield "untyped_attributes", model([old], ir=1, opsets=())
    yield "old", model([H.make_node("Relu", ["x"], ["y"])], ir=2, opsets=())


def graphs():
    values, indices = H.make_tensor("s", T.FLOAT, [2], [1.5, -2.5]), H.make_tensor("", T.INT64, [2], [1, 4])
    yield "sparse", model([H.make_node("Foo", ["x", "s"], ["y"])], sparse=[H.make_sparse_tensor(values, indices, [2, 3])])
    pairs = H.make_tensor("", T.INT64, [2, 2], [0, 1, 1, 2])
    dense = H.make_node("Constant", [], ["c"], sparse_value=H.make_sparse_tensor(H.make_tensor("", T.INT32, [2], [7, 8]), pairs, [2, 3]))
    yield "sparse_pairs", model([dense, H.make_node("Foo", ["x", "c"], ["y"])])
    chain = [H.make_node("Relu", [f"v{i}" if i else "x"], [f"v{i + 1}" if i < 199 else "y"]) for i in range(200)]
    yield "backwards", model(chain[::-1])
    inner = H.make_graph([H.make_node("Add", ["a", "x"], ["q"]), H.make_node("Relu", ["x"], ["a"])], "then", [],
                         [H.make_tensor_value_info("q", T.FLOAT, [2])], [])
    hides = H.make_graph([H.make_node("Neg", ["x"], ["late"])], "hides", [], [H.make_tensor_value_info("late", T.FLOAT, [2])])
    branch = H.make_node("If", ["p"], ["y"], then_branch=inner, else_branch=hides)
    yield "nested", model([branch, H.make_node("Less", ["x", "late"], ["p"]), H.make_node("Exp", ["x"], ["late"])])
    absent = H.make_node("Foo", ["", "x", ""], ["", "y", "z", ""])
    yield "absent", model([absent, H.make_node("Foo", [], ["w"])])
    both = H.make_tensor("w", T.FLOAT, [2], [1, 2])
    yield "default", model([H.make_node("Add", ["x", "w"], ["y"])], inputs=("x", "w"), constants=[both], ir=3)
    yield "names", model([H.make_node("Re lu", ["x y"], ["float"], name="seq"), H.make_node("Op.2", ["float"], ["1:0"], domain="com.my-x.9")],
                         inputs=("x y",), outputs=("1:0",), opsets=(("", 17), ("com.my-x.9", 1)))
    of_floats, of_any = H.make_tensor_type_proto(T.FLOAT, ["N", 3, None]), H.make_tensor_type_proto(T.INT64, None)
    lists = H.make_graph([H.make_node("SequenceAt", ["x", "p"], ["y"]), H.make_node("OptionalGetElement", ["o"], ["z"]), H.make_node("Identity", ["s"], ["w"])], "lists",
                         [H.make_value_info("x", H.make_sequence_type_proto(of_floats)), H.make_value_info("o", H.make_optional_type_proto(H.make_sequence_type_proto(of_any))),
                          H.make_value_info("s", H.make_optional_type_proto(of_floats)), H.make_tensor_value_info("p", T.INT64, [])],
                         [H.make_tensor_value_info("y", T.FLOAT, None), H.make_value_info("z", H.make_sequence_type_proto(of_any)),
                          H.make_value_info("w", H.make_optional_type_proto(of_floats))])
    yield "lists", H.make_model(lists, ir_version=8, opset_imports=[H.make_opsetid("", 17)])
    yield "metadata", model([H.make_node("Relu", ["x"], ["y"], doc_string="doc")], doc_string="graph doc",
                            value_info=[H.make_tensor_value_info("nobody", T.FLOAT, [3])])


HEAD = '<ir_version: 10, opset_import: ["" : 18, "f" : 1]>\n'
_F = '<domain: "f", opset_import: ["" : 18, "f" : 1]>\n'

# Calls of model functions; functions.py checks what they compute.
FUNCTIONS = {
    "one": HEAD + "g (float[4] x) => (float[4] y) { y = f.Twice (x) }\n"
           + _F + "Twice (a) => (b) { b = Add (a, a) }",
    "nested": HEAD + "g (float[4] x) => (float[4] y) { t = f.Outer (x)  y = f.Outer (t) }\n"
              + _F + "Outer (a) => (c) { t = f.Inner (a)  c = f.Inner (t) }\n"
              + _F + "Inner (a) => (b) { t = Neg (a)  b = Exp (t) }",
    "attributes": HEAD + "g (float[4] x) => (float[4] y, float[4] z, float[4] w) {\n"
                  "y = f.Leak <alpha = 0.5> (x)  z = f.Leak (x)  w = f.Both <slope = 0.25> (x) }\n"
                  + _F + "Both <slope> (a) => (b) { t = f.Leak <alpha: float = @slope> (a)  b = f.Leak (t) }\n"
                  + _F + "Leak <alpha: float = 0.125> (a) => (b) { b = LeakyRelu <alpha: float = @alpha> (a) }",
    "absent_attribute": HEAD + "g (float[4] x) => (float[4] y) { y = f.Elu2 (x) }\n"
                        + _F + "Elu2 <alpha> (a) => (b) { b = Elu <alpha: float = @alpha> (a) }",
    "subgraph_in_function": HEAD + "g (float[4] x) => (float[4] y) { y = f.Pick (x) }\n"
                            + _F + "Pick (a) => (b) { s = ReduceSum <keepdims = 0> (a)  zero = Constant <value_float = 0.0> ()\n"
                            "p = Less (s, zero)  half = Constant <value_float = 0.5> ()\n"
                            "b = If (p) <then_branch = t () => (float[4] q) { r = Neg (a)  q = f.Scale (r, half) }, "
                            "else_branch = e () => (float[4] q) { q = Mul (a, half) }> }\n"
                            + _F + "Scale (x, by) => (y) { y = Mul (x, by) }",
    "call_in_subgraph": HEAD + "g (bool p, float[4] x) => (float[4] y) { t = Neg (x)\n"
                        "y = If (p) <then_branch = t () => (float[4] q) { q = f.Twice (t) }, "
                        "else_branch = e () => (float[4] q) { b = Exp (t)  q = f.Twice (b) }> }\n"
                        + _F + "Twice (a) => (b) { t = Add (a, a)  b = Add (t, a) }",
    "outputs": HEAD + "g (float[4] x) => (float[4] y, float[4] z, float[4] w, float[4] v) { y, z, w, v = f.Many (x) }\n"
               + _F + "Many (a) => (b, c, b2, a2) { b = Neg (a)  c = Exp (b)  b2 = Identity (b)  a2 = Identity (a) }",
    "first_outputs": HEAD + "g (float[4] x) => (float[4] y) { y = f.Two (x) }\n"
                     + _F + "Two (a) => (b, c) { b = Neg (a)  c = Exp (b) }",
    "absent_input": HEAD + "g (float[4] x) => (float[4] y) { m = Constant <value_float = 0.5> ()  y = f.Bound (x, \"\", m) }\n"
                    + _F + "Bound (a, low, high) => (b) { b = Clip (a, low, high) }",
    "clashing_names": HEAD + "g (float[4] a) => (float[4] y) { b = f.F (a)  t = f.F (b)  y = Add (t, b) }\n"
                      + _F + "F (b) => (a) { t = Neg (b)  y = Exp (t)  a = Add (y, t) }",
    "given_graph": HEAD + "g (bool p, float[4] x) => (float[4] y) { t = Neg (x)\n"
                   "y = f.Choose <yes = h () => (float[4] q) { q = Exp (t) }> (p, x) }\n"
                   + _F + "Choose <yes> (p, a) => (b) {\n"
                   "b = If (p) <then_branch: graph = @yes, else_branch = e () => (float[4] q) { q = Neg (a) }> }",
    "overloads": HEAD + "g (float[4] x) => (float[4] y) { t = f.F:neg (x)  y = f.F:exp (t) }\n"
                 '<domain: "f", overload: "neg", opset_import: ["" : 18]>\nF (a) => (b) { b = Neg (a) }\n'
                 '<domain: "f", overload: "exp", opset_import: ["" : 18]>\nF (a) => (b) { b = Exp (a) }',
}


# What the passes work on.
PASSES = {
    "constants": HEAD + "g (float[4] x) => (float[4] y, float[4] z) { a = Constant <value_float = 1.5> ()  b = Constant <value_ints = [1, 2]> ()\n"
                 "c = Constant <value_strings = [\"s\"]> ()  d = Constant <value = float[2] {1, 2}> ()  e = Constant <value_string = \"t\"> ()\n"
                 "f = Constant <value_floats = [0.5]> ()  h = Constant <value_int = 3> ()  y = Foo (x, a, b, c, d, e, f, h)  z = Identity (y) }",
    "identities": HEAD + "g (bool p, float[4] x) => (float[4] y, float[4] z) { a = Identity (x)  b = Relu (a)  c = Identity (b)  z = Identity (c)\n"
                  "y = If (p) <then_branch = t () => (float[4] q) { d = Identity (c)  q = Identity (d) }, "
                  "else_branch = e () => (float[4] r) { u = Identity (a)  v = Neg (u)  r = Identity (v)  dead = Neg (v) }> }",
}


def texts(out):
    for name, text in {**FUNCTIONS, **PASSES}.items():
        with open(os.path.join(out, f"text_{name}.txt"), "w") as file:
            file.write(text)
        yield f"text_{name}", onnx.parser.parse_model(text)


def main(out):
    os.makedirs(out, exist_ok=True)
    n = 0
    for made in (encodings(out), by_hand(), attributes(), graphs(), texts(out)):
        for name, m in made:
            with open(os.path.join(out, name + ".onnx"), "wb") as file:
                file.write(m if isinstance(m, bytes) else m.SerializeToString())
            n += 1
    return n


if __name__ == "__main__":
    print(main(sys.argv[1]), "models")
