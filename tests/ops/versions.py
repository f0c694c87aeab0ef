#!/usr/bin/env python3
"""What each version of each operator does not have is refused (exit 3) with the node named: element types, inputs, attributes.

    versions.py INGOT SERVE_MODELS [--sample N] [--seed N] [--only OP...] [--update]

First, that generator/tables/versions.h is what onnx.defs says; --update writes it.  Then, for each version of each operator that `ingot ops` lists: each type that no input
of its has, each attribute of its other versions and one that none has, one input more and one less than are right; --sample of all, by seed; INGOT_LONG=1: all.
Ends with 77 where there is no onnx."""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys

try:
    import numpy, onnx, ml_dtypes                                                   # noqa: F401: those that the drawn cases need
    from onnx import TensorProto, helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "drawn"))
import drawn, judges
from drawing import RULES, TYPES, NotHere, ir_version

ONNX, SHOWN = "1.23.2", 5                    # the version that the table is of
TABLE = os.path.join(HERE, "..", "..", "generator", "tables", "versions.h")
VARIADIC = onnx.defs.OpSchema.FormalParameterOption.Variadic
OPTIONAL = onnx.defs.OpSchema.FormalParameterOption.Optional
LEFT_OUT = ("Resize", "roi"), ("Resize", "scales")                    # opset 11 wants them, no exporter writes all
LETTERS = {"h": "float16", "f": "float", "d": "double", "b": "bfloat16", "c": "int8", "s": "int16", "i": "int32", "l": "int64", "C": "uint8", "S": "uint16", "I": "uint32",
           "L": "uint64", "o": "bool", "t": "string", "z": "complex64", "Z": "complex128", "8": "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz", "e": "float8e8m0",
           "4": "int4 uint4", "2": "int2 uint2", "x": "float4e2m1", "6": "float6e2m3 float6e3m2"}
GROUPS = {"P": "hfdcsilCSILotzZ", "F": "hfd", "N": "csil", "U": "CSIL", "W": "ilIL"}
with open(os.path.join(os.path.dirname(TABLE), "dtypes.h")) as file:
    NAMES = {text: name for name, text in re.findall(r'^D\((\w+), +\d+, "(\w+)"', file.read(), re.M)}
HEAD = '''/* clang-format off */
/* versions.h: the inputs, outputs and element types that each version of each ONNX op has.  Made of ONNX's own definitions by
 * tests/ops/versions.py --update; a test compares.
 *
 *     V(domain, name, versions)      by domain and name, in the order of strcmp
 *
 * versions: "1 F =0; 7 FW =0; ...": from opset 1 on, from opset 7 on …, a word for each input.  A word is letters, each a type or a group of
 * them, or =K: of the type of input K.  ~ among them: sequences or optionals too, whose elements nobody asks for.  ? behind a word: an
 * input that need not be there; +: any number of inputs, all of one type; *: each of its own.  Behind > stands a word for each output, - where an input or the op says the type; without
 * it there is one output, of such a type.
 *
 *     L(letter, types)               B(type): its bit
 *
 * No include guard: define V, L and B, include, undefine. */
'''


def known_operators(ingot):
    listed = json.loads(subprocess.run([ingot, "ops", "--json"], capture_output=True, text=True, check=True).stdout)
    return {("" if o["domain"] == "ai.onnx" else o["domain"], o["name"]) for o in listed}


def versions_of(known):
    """{(domain, name): {version: schema}}"""
    made = collections.defaultdict(dict)
    for schema in onnx.defs.get_all_schemas_with_history():
        if (schema.domain, schema.name) in known:
            made[schema.domain, schema.name][schema.since_version] = schema
    return made


# ---- the table ----
def allowed(schema, type_str):
    for constraint in schema.type_constraints:
        if constraint.type_param_str == type_str:
            return list(constraint.allowed_type_strs)
    return [type_str]


def tensors(strings):
    return {s[7:-1] for s in strings if s.startswith("tensor(")}


def letters(strings):
    rest, word = tensors(strings), ""
    for letter, group in GROUPS.items():
        names = {n for g in group for n in LETTERS[g].split()}
        if names <= rest:
            rest -= names
            word += letter
    for letter, names in LETTERS.items():
        if set(names.split()) <= rest:
            rest -= set(names.split())
            word += letter
    assert not rest, rest
    return word + ("~" if len(tensors(strings)) < len(strings) else "")


def words_of(schema):
    first, words, made = {}, [], []
    for i, formal in enumerate(schema.inputs):
        of_many = "" if formal.option != VARIADIC else "+" if formal.is_homogeneous else "*"
        kinds = allowed(schema, formal.type_str)
        may_lack = "?" * (formal.option == OPTIONAL or (schema.name, formal.name) in LEFT_OUT and schema.since_version > 10)
        if formal.type_str in first and not of_many:
            words.append(f"={first[formal.type_str]}{may_lack}")
        else:
            first.setdefault(formal.type_str, i)
            words.append(letters(kinds) + of_many + may_lack)
    for formal in schema.outputs:
        of_many = "" if formal.option != VARIADIC else "+" if formal.is_homogeneous else "*"
        kinds = allowed(schema, formal.type_str)
        made.append("-" + of_many if formal.type_str in first and of_many != "*" or len(kinds) == 1 else letters(kinds) + of_many)
    return " ".join(words + [">", *made] * (made != ["-"]))


def table(operators):
    text = HEAD
    for letter, names in {**LETTERS, **GROUPS}.items():
        bits = [f"B({NAMES[n]})" for n in names.split()] if letter in LETTERS else [f"B({NAMES[LETTERS[g]]})" for g in names]
        text += f"L('{letter}', {' | '.join(bits)})\n"
    text += "\n"
    for (domain, name), versions in sorted(operators.items()):
        parts, before = [], None
        for since in sorted(versions):
            words = words_of(versions[since]) if not versions[since].deprecated else before
            if words != before:
                parts.append(f"{since} {words}".rstrip())
            before = words
        lines = [""]
        for part in parts:
            if len(lines[-1]) + len(part) > 110:
                lines.append("")
            lines[-1] += part + ("; " if part is not parts[-1] else "")
        text += f'V("{domain}", "{name}", ' + "\n\t".join(f'"{line}"' for line in lines) + ")\n"
    return text


# ---- what has to be refused ----
def value_info(name, type_str):
    if type_str.startswith("map("):                                       # nobody says how many keys; a tensor is refused behind all that is asked here
        type_str = "tensor(float)"
    return helper.make_tensor_value_info(name, getattr(TensorProto, type_str[len("tensor("):].rstrip(")").upper()), [2])


def model_of(schema, opset, kinds, attributes=(), outputs=1):
    """One node with an input of each of these kinds; nothing is said of its outputs."""
    names = [f"x{i}" for i in range(len(kinds))]
    node = helper.make_node(schema.name, names, [f"y{i}" for i in range(outputs)], name="asked", domain=schema.domain)
    node.attribute.extend(attributes)
    lists = [i for i, kind in enumerate(kinds) if "(tensor(" in kind and kind[:4] != "map("]                      # made of tensors: of inputs somebody had to say how many they hold
    made = [helper.make_node("SequenceConstruct", [f"t{i}"], [f"x{i}"]) for i in lists]
    inputs = [value_info(f"t{i}" if i in lists else f"x{i}", kind[kind.index("tensor"):] if i in lists else kind) for i, kind in enumerate(kinds)]
    text = TensorProto.STRING                                                             # constant, as nobody says how long it is
    words = [helper.make_tensor(i.name, text, [2], [b"a", b"b"]) for i in inputs if i.type.tensor_type.elem_type == text]
    inputs = [i for i in inputs if i.type.tensor_type.elem_type != text]
    graph = helper.make_graph([*made, node], "versions", inputs, [onnx.ValueInfoProto(name=n) for n in node.output], words)
    opsets = [helper.make_opsetid(schema.domain, opset)] + ([helper.make_opsetid("", 25)] if schema.domain else [])
    return helper.make_model(graph, ir_version=ir_version(opset if not schema.domain else 25), opset_imports=opsets)


def plain_kinds(schema):
    """A type that is right for each input, by type variable."""
    chosen = {}
    for formal in schema.inputs:
        kinds = allowed(schema, formal.type_str)
        chosen.setdefault(formal.type_str, "tensor(float)" if "tensor(float)" in kinds else min(kinds, key=lambda k: (not k.startswith("tensor("), k)))
    return [chosen[f.type_str] for f in schema.inputs]


def of_types(schema, opset):
    """(what, model, words that the message has) for each type that an input does not have."""
    kinds = plain_kinds(schema)
    for i, formal in enumerate(schema.inputs):
        right = tensors(allowed(schema, formal.type_str))
        for name in [n for n in TYPES if n not in right and right]:
            yield f"input {i} of {name}", model_of(schema, opset, [*kinds[:i], f"tensor({name})", *kinds[i + 1:]]), [f"input {i}", name]
        others = sorted(right - {kinds[i][7:-1]} & set(TYPES))
        if others and formal.type_str in [f.type_str for f in schema.inputs[:i]] and formal.type_str.startswith("T"):
            yield f"input {i} of another type", model_of(schema, opset, [*kinds[:i], f"tensor({others[0]})", *kinds[i + 1:]]), [f"input {i}", others[0]]


def of_attributes(schema, opset, versions):
    """Attributes that other versions have, one that none has, and those that are there, of another kind."""
    kinds = plain_kinds(schema)
    for name in sorted({n for s in versions.values() for n in s.attributes} - set(schema.attributes) | {"nonsense"}):
        if name != "consumed_inputs":                                    # says nothing, and is passed over up to opset 5
            yield f"attribute {name}", model_of(schema, opset, kinds, [helper.make_attribute(name, 1)]), [f'"{name}"']
    for name in schema.attributes:
        other = [1.5, 1.5] if schema.attributes[name].type != onnx.AttributeProto.FLOATS else "text"
        yield f"attribute {name} of another kind", model_of(schema, opset, kinds, [helper.make_attribute(name, other)]), [name]


def of_counts(schema, opset, seed):
    """A drawn case with one input or output more, and with one input or attribute less than it needs."""
    if schema.name not in RULES or schema.domain:
        return
    variable = drawn.main_variable(schema)
    try:
        case = drawn.draw_case(schema, opset, min(drawn.allowed(schema, variable)) if variable else None, f"{seed} {schema.name} {opset}")
    except NotHere:
        return
    for what in ["an input more", "an output more", *[f"without input {i}" for i, f in enumerate(schema.inputs[:schema.min_input]) if f.option != OPTIONAL], *[f"without {n}" for n, a in schema.attributes.items() if a.required]]:
        model = case.model()
        nodes = [n for n in model.graph.node if n.op_type == schema.name]
        if len(nodes) != 1 or case.at_run_time:
            return
        node, words = nodes[0], [schema.name]
        if what == "an input more":
            if len(node.input) == 0 or schema.inputs[-1].option == VARIADIC:
                continue
            node.input.extend([node.input[0]] * (len(schema.inputs) + 1 - len(node.input)))
        elif what == "an output more":
            if schema.outputs[-1].option == VARIADIC:
                continue
            node.output.extend([f"more{i}" for i in range(len(schema.outputs) + 1 - len(node.output))])
        elif what.startswith("without input"):
            node.input[int(what.split()[-1])] = ""
        else:
            kept = [a for a in node.attribute if a.name != what.split()[-1]]
            if len(kept) == len(node.attribute):
                continue
            del node.attribute[:]
            node.attribute.extend(kept)
        yield what, model, words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ingot")
    parser.add_argument("server")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("INGOT_SEED", "1")))
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--update", action="store_true")
    a = parser.parse_args()
    operators, bad = versions_of(known_operators(a.ingot)), 0
    if a.update:
        with open(TABLE, "w") as file:
            file.write(table(operators))
    with open(TABLE) as file:
        if file.read() != table(operators):
            print(f"{os.path.relpath(TABLE)} is not what onnx {onnx.__version__} says: --update writes it")
            bad += onnx.__version__ == ONNX
    asked = []
    for (domain, name), versions in sorted(operators.items()):
        for since, schema in versions.items():
            if schema.deprecated or a.only and name not in a.only:
                continue
            last = min([v for v in versions if v > since], default=max(since, onnx.defs.onnx_opset_version() if not domain else 1) + 1) - 1
            for what, model, words in [*of_types(schema, last), *of_attributes(schema, last, versions), *of_counts(schema, last, a.seed)]:
                asked.append((f"{name} of opset {last}, {what}", model, words))
    if a.sample and not os.environ.get("INGOT_LONG"):
        asked = random.Random(a.seed).sample(asked, min(a.sample, len(asked)))
    server, kinds = judges.Server(os.path.abspath(a.server)), collections.Counter()
    for what, model, words in asked:
        answer = server.run(model.SerializeToString(), [], 0)
        if answer.code != 3 or not all(w in answer.message for w in words):
            kinds[re.sub(r"\d+", "N", what.split(", ")[1])] += 1
            bad += 1
            if kinds[re.sub(r"\d+", "N", what.split(", ")[1])] <= SHOWN or a.only:
                print(f"{what}: {'taken, or a crash' if answer.code <= 0 else f'exit {answer.code}: {answer.message}'}")
    print(f"{len(asked)} nodes that their versions do not have, {bad} not refused as they should be" + "".join(f"; {n} {k}" for k, n in kinds.items()))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
