"""Rules for what takes sequences, optionals and graphs: the node in the middle of others, so that tensors come in and go out."""
import numpy
import onnx
from onnx import helper

from drawing import NotHere, Operand, TYPES, is_float, rule

node = helper.make_node
SEQUENCES = {kind[len("tensor("):-1] for c in onnx.defs.get_schema("SequenceConstruct", 28).type_constraints for kind in c.allowed_type_strs}      # what they can be of


def some(d, count, alike=True):
    dims = d.dims(1, 3)
    return [d.array(main(d), dims if alike else d.dims(1, 3), special=0.1) for _ in range(count)]


def main(d):
    """The type of the elements."""
    for formal in [*d.schema.inputs, *d.schema.outputs]:
        if d.types.get(formal.type_str):
            return d.types[formal.type_str]
    raise NotHere


def position(d, count, extra=0):
    place = d.whole(0, count + extra - 1)
    return Operand(numpy.array(place - count if d.chance(0.4) and place < count else place, d.pick("i8", "i4")))


@rule("SequenceConstruct", "SequenceAt", "SequenceErase", "SequenceInsert", "SequenceLength", "ConcatFromSequence", "SequenceEmpty")
def sequences(d):
    count = d.whole(1, 4)
    xs = some(d, count)
    names = [f"x{i}" for i in range(count)]
    made, types = [node("SequenceConstruct", names, ["s"])], [main(d)]
    where = f"x{count}"
    if d.op in ("SequenceConstruct", "SequenceAt"):
        return d.case([*xs, position(d, count)], types=types, nodes=made + [node("SequenceAt", ["s", where], ["y0"])])
    if d.op == "SequenceLength":
        return d.case(xs, types=["int64"], nodes=made + [node("SequenceLength", ["s"], ["y0"])])
    if d.op == "SequenceEmpty":
        kind = d.number(types[0]) if types[0] != "float" or d.chance() else None
        empty = node("SequenceEmpty", [], ["e"], **({"dtype": kind} if kind else {}))
        return d.case(xs[:1], types=types + ["int64"], outputs=[True, True],
                      nodes=[empty, node("SequenceLength", ["e"], ["y1"]), node("SequenceInsert", ["e", "x0"], ["s"]), node("ConcatFromSequence", ["s"], ["y0"], axis=0)])
    if d.op == "ConcatFromSequence":
        new = d.whole(0, 1)
        rank = xs[0].ndim + new
        axis = d.whole(-rank, rank - 1)
        return d.case(xs, types=types, nodes=made + [node("ConcatFromSequence", ["s"], ["y0"], axis=axis, **({"new_axis": new} if new or d.chance() else {}))])
    if d.op == "SequenceErase" and count == 1:
        raise NotHere
    erase = d.op == "SequenceErase"
    given = position(d, count) if d.chance(0.7) else None
    changed = ["s"] if erase else ["s", "x0"]
    return d.case([*xs, given], types=types, nodes=made + [node(d.op, changed + ([where] if given else []), ["t"]), node("ConcatFromSequence", ["t"], ["y0"], axis=0, new_axis=1)])


@rule("SplitToSequence")
def split_to_sequence(d):
    if main(d) not in SEQUENCES:                              # nothing could take an element out again
        raise NotHere
    dims = d.dims(1, 3, 0)
    axis = d.axis(len(dims))
    kind = d.whole(0, 2)
    x = d.array(main(d), dims)
    keep = d.maybe(d.whole(0, 1)) if kind == 0 else None
    inputs, parts = [x], dims[axis]
    if kind == 1:
        step = d.whole(1, dims[axis])
        inputs.append(Operand(numpy.array(step, d.pick("i8", "i4")), True))
        parts = -(-dims[axis] // step)
    elif kind == 2:
        cut = d.whole(0, dims[axis])
        inputs.append(Operand(d.integers(cut, dims[axis] - cut), True))
        parts = 2
    attributes = {k: v for k, v in (("axis", axis), ("keepdims", keep)) if v is not None}
    at = helper.make_tensor("k", TYPES["int64"], [], [d.whole(-parts, parts - 1)])
    return d.case(inputs, types=[main(d), "int64"], outputs=[True, True],
                  nodes=[node("SplitToSequence", ["x0"] + ["x1"] * (kind > 0), ["s"], **attributes), node("Constant", [], ["k"], value=at), node("SequenceAt", ["s", "k"], ["y0"]),
                         node("SequenceLength", ["s"], ["y1"])])


def value_info(name, kind, dims=None):
    return helper.make_tensor_value_info(name, TYPES[kind], dims)


@rule("SequenceMap")
def sequence_map(d):
    count = d.whole(1, 3)
    xs = some(d, count)
    kind = main(d)
    body = helper.make_graph([node("Concat", ["a", "a"], ["b"], axis=0)], "body", [value_info("a", kind)], [value_info("b", kind)])
    return d.case(xs, types=[kind], nodes=[node("SequenceConstruct", [f"x{i}" for i in range(count)], ["s"]), node("SequenceMap", ["s"], ["t"], body=body), node("ConcatFromSequence", ["t"], ["y0"], axis=0)])


@rule("Optional", "OptionalGetElement", "OptionalHasElement")
def optionals(d):
    kind = main(d)
    x = some(d, 1)
    if d.op == "OptionalHasElement" and d.version >= 18 and d.chance(0.3):
        return d.case([], types=["bool"], nodes=[node("OptionalHasElement", [], ["y0"])])
    if d.opset >= 18 and d.chance(0.3) and d.op != "Optional":
        return d.case(x, types=["bool", kind], outputs=[True, True], nodes=[node("OptionalHasElement", ["x0"], ["y0"]), node("OptionalGetElement", ["x0"], ["y1"])])
    if kind in SEQUENCES and d.chance(0.4):
        return d.case(x, types=["bool", kind], outputs=[True, True], nodes=[node("SequenceConstruct", ["x0", "x0"], ["s"]), node("Optional", ["s"], ["o"]), node("OptionalHasElement", ["o"], ["y0"]),
                      node("OptionalGetElement", ["o"], ["t"]), node("ConcatFromSequence", ["t"], ["y1"], axis=0)])
    return d.case(x, types=["bool", kind], outputs=[True, True], nodes=[node("Optional", ["x0"], ["o"]), node("OptionalHasElement", ["o"], ["y0"]), node("OptionalGetElement", ["o"], ["y1"])])


# ---- graphs within ----
def step(d, kind, a, b, to):
    """A node that both type and version allow."""
    there = {s[7:-1] for s in onnx.defs.get_schema("Add", d.opset).type_constraints[0].allowed_type_strs}
    if kind in there and d.opset >= 7:
        return node("Add", [a, b], [to])
    return node("Identity", [b], [to])


@rule("If")
def if_(d):
    kind = main_value(d)
    dims = d.dims()
    a, b = d.array(kind, dims), d.array(kind, dims)
    branch = lambda name, made: helper.make_graph([made], name, [], [value_info(name, kind, dims)])
    then, other = branch("t", step(d, kind, "x1", "x2", "t")), branch("e", node("Identity", [d.pick("x1", "x2")], ["e"]))
    cond = Operand(numpy.array(d.chance()).reshape(d.pick([], [1]) if d.chance(0.3) else []))
    return d.case([cond, a, b], types=[kind], nodes=[node("If", ["x0"], ["y0"], then_branch=then, else_branch=other)])


def main_value(d):
    if not d.types.get("V"):
        raise NotHere
    return d.types["V"]


@rule("Loop")
def loop(d):
    kind = main_value(d)
    dims = d.dims()
    a, b = d.array(kind, dims, -2, 2), d.array(kind, dims, -2, 2)
    body = helper.make_graph([node("Identity", ["c"], ["d"]), step(d, kind, "a", "x3", "n"), node("Identity", ["a"], ["z"])], "body",
                             [value_info("i", "int64", []), value_info("c", "bool", []), value_info("a", kind, dims)],
                             [value_info("d", "bool", []), value_info("n", kind, dims), value_info("z", kind, dims)])
    trips = Operand(numpy.array(d.pick(0, 1, 2, 3, 5), "i8"))
    cond = Operand(numpy.array(d.chance(0.9)), True) if d.chance() else None
    return d.case([trips, cond, a, b], types=[kind, kind], outputs=[True, True], nodes=[node("Loop", ["x0", "x1" if cond else "", "x2"], ["y0", "y1"], body=body)])


@rule("Scan")
def scan(d):
    kind = main_value(d)
    dims = d.dims(0, 2)
    count = d.pick(1, 2, 3, 5)
    batch = d.pick(1, 2)
    body = helper.make_graph([step(d, kind, "a", "e", "n"), node("Identity", ["a"], ["z"])], "body", [value_info("a", kind, dims), value_info("e", kind, dims)],
                             [value_info("n", kind, dims), value_info("z", kind, dims)])
    if d.version == 8:
        a, x = d.array(kind, [batch, *dims], -2, 2), d.array(kind, [batch, count, *dims], -2, 2)
        back = d.maybe(d.whole(0, 1))
        return d.case([a, x], types=[kind, kind], outputs=[True, True],
                      nodes=[node("Scan", ["", "x0", "x1"], ["y0", "y1"], body=body, num_scan_inputs=1, **({} if back is None else {"directions": [back]}))])
    axis = d.whole(0, len(dims))
    where = list(dims)
    where.insert(axis, count)
    attributes = {"scan_input_axes": [axis - (len(where) if d.version >= 11 and d.chance(0.4) else 0)] if axis or d.chance() else None, "scan_input_directions": d.maybe([d.whole(0, 1)]),
                  "scan_output_directions": d.maybe([d.whole(0, 1)]), "scan_output_axes": d.maybe([d.whole(0, len(dims))])}
    return d.case([d.array(kind, dims, -2, 2), d.array(kind, where, -2, 2)], types=[kind, kind], outputs=[True, True],
                  nodes=[node("Scan", ["x0", "x1"], ["y0", "y1"], body=body, num_scan_inputs=1, **{k: v for k, v in attributes.items() if v is not None})])
