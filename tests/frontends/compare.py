#!/usr/bin/env python3
"""Reads models with ingot and with PyPI's onnx, and compares everything that was read.

    compare.py READ_MODELS [--limit BYTES] [--made | PATH...]

READ_MODELS is the program tests/read_models of the build folder.  PATH: models, or folders searched for *.onnx; --made:
those of make_models.py; without any, the folders of $INGOT_CASES (or ../shared/cases beside the project).  For each model:

  wire     what ingot read = what onnx.load read: header, inputs, outputs, constants bit by bit, nodes, attributes, subgraphs
  again    what ingot printed as text and read back = what it read first
  parser   what onnx.parser made of that text, saved and read by ingot = the same
  printer  what ingot read of onnx.printer's text = the same
  pb       the TensorProtos beside it (test_data_set_*/*.pb) = what onnx reads

The last three only below --limit bytes (default 3000000), as text is long.  Ends with 77 where there are no cases or no onnx."""
import json, os, re, shutil, subprocess, sys, tempfile

try:
    import numpy, onnx, onnx.parser, onnx.printer
    from onnx import AttributeProto as A, TensorProto as T, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
BITS = {T.FLOAT: 32, T.UINT8: 8, T.INT8: 8, T.UINT16: 16, T.INT16: 16, T.INT32: 32, T.INT64: 64, T.BOOL: 8, T.FLOAT16: 16,
        T.DOUBLE: 64, T.UINT32: 32, T.UINT64: 64, T.COMPLEX64: 64, T.COMPLEX128: 128, T.BFLOAT16: 16, T.FLOAT8E4M3FN: 8,
        T.FLOAT8E4M3FNUZ: 8, T.FLOAT8E5M2: 8, T.FLOAT8E5M2FNUZ: 8, T.UINT4: 4, T.INT4: 4, T.FLOAT4E2M1: 4, T.FLOAT8E8M0: 8,
        T.UINT2: 2, T.INT2: 2}


def latin(value):
    return (value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")).decode("latin-1")


def tensor_bytes(t, folder):
    """Elements as raw_data has them, made from whichever field holds them."""
    if t.data_location == T.EXTERNAL:
        entry = {e.key: e.value for e in t.external_data}
        with open(os.path.join(folder, entry["location"]), "rb") as file:
            file.seek(int(entry.get("offset", 0)))
            return file.read(int(entry["length"])) if "length" in entry else file.read()
    if t.HasField("raw_data"):
        return t.raw_data
    wide = {T.FLOAT: (t.float_data, "<f4"), T.COMPLEX64: (t.float_data, "<f4"), T.DOUBLE: (t.double_data, "<f8"),
            T.COMPLEX128: (t.double_data, "<f8"), T.INT64: (t.int64_data, "<i8"), T.UINT64: (t.uint64_data, "<u8"),
            T.UINT32: (t.uint64_data, "<u4")}
    if t.data_type in wide:
        data, form = wide[t.data_type]
        return numpy.array(data, form).tobytes()
    width = max(BITS[t.data_type] // 8, 1)
    return (numpy.array(t.int32_data, "<i8") & (1 << 8 * width) - 1).astype(f"<u{width}").tobytes()


def data_of(t, folder):
    if t.data_type == T.STRING:
        return [latin(s) for s in t.string_data]
    raw = numpy.frombuffer(tensor_bytes(t, folder), "u1")
    weights = numpy.arange(len(raw), dtype="u8") % 65521 + 1
    return [len(raw), int((weights * raw).sum(dtype="u8"))]


def tensor(t, folder):
    return {"name": latin(t.name), "type": t.data_type, "dims": list(t.dims), "data": data_of(t, folder)}


def sparse(s, folder):
    values, indices = numpy_helper.to_array(s.values), numpy_helper.to_array(s.indices)
    dense = numpy.zeros(list(s.dims), values.dtype)
    for i, value in enumerate(values):
        dense[tuple(indices[i]) if indices.ndim == 2 else numpy.unravel_index(indices[i], list(s.dims))] = value
    made = numpy_helper.from_array(dense, s.values.name)
    return tensor(made, folder)


def dims_of(type):
    if not type.tensor_type.HasField("shape"):
        return None
    return [d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else latin(d.dim_param) for d in type.tensor_type.shape.dim]


def symbol(name):
    return name if name.isidentifier() else f'"{name}"' if name else "?"


def type_text(type):
    def tensor_text(t):
        text = next(k for k, v in onnx.TensorProto.DataType.items() if v == t.elem_type).lower()
        return {"float": "float"}.get(text, text) + ("[]" if not t.HasField("shape") else "" if not t.shape.dim else "[" + ",".join(
            str(d.dim_value) if d.HasField("dim_value") else symbol(d.dim_param) for d in t.shape.dim) + "]")
    which = type.WhichOneof("value")
    if which == "tensor_type":
        return tensor_text(type.tensor_type)
    if which == "sparse_tensor_type":
        return f"sparse_tensor({tensor_text(type.sparse_tensor_type)})"
    if which == "map_type":
        return f"map({onnx.TensorProto.DataType.Name(type.map_type.key_type).lower()}, {type_text(type.map_type.value_type)})"
    return ("seq" if which == "sequence_type" else "optional") + f"({type_text(getattr(type, which).elem_type)})"


def bits(f):
    return int(numpy.float32(f).view("u4"))


def attribute(a, folder):
    one = {A.FLOAT: lambda: bits(a.f), A.INT: lambda: a.i, A.STRING: lambda: latin(a.s), A.TENSOR: lambda: tensor(a.t, folder),
           A.GRAPH: lambda: graph(a.g, folder), A.TYPE_PROTO: lambda: type_text(a.tp),
           A.SPARSE_TENSOR: lambda: sparse(a.sparse_tensor, folder)}
    many = {A.FLOATS: lambda: map(bits, a.floats), A.INTS: lambda: a.ints, A.STRINGS: lambda: map(latin, a.strings),
            A.TENSORS: lambda: [tensor(t, folder) for t in a.tensors], A.GRAPHS: lambda: [graph(g, folder) for g in a.graphs],
            A.TYPE_PROTOS: lambda: map(type_text, a.type_protos)}
    kind = a.type or next(k for k, n in ((A.FLOAT, "f"), (A.INT, "i"), (A.STRING, "s"), (A.INTS, "ints")) if getattr(a, n))
    value = [one[kind]()] if kind in one else list(many[kind]())
    if kind == A.SPARSE_TENSOR:
        kind = A.TENSOR
    return [int(kind)] + value


def domain_of(name):
    return "" if name == "ai.onnx" else latin(name)


def node(n, folder, opsets):
    return {"op": latin(n.op_type), "domain": domain_of(n.domain), "name": latin(n.name), "since": opsets[domain_of(n.domain)],
            "in": [latin(x) for x in n.input], "out": [latin(x) for x in n.output],
            "attributes": {("value" if a.name == "sparse_value" else latin(a.name)): attribute(a, folder) for a in n.attribute}}


OPSETS = {}


def graph(g, folder, main=False):
    constants = {t.name for t in g.initializer} | {s.values.name for s in g.sparse_initializer}
    inputs = [v for v in g.input if not (main and v.name in constants)]
    made = {x for n in g.node for x in n.output} | {v.name for v in g.input}
    def declared(v):
        if v.type.WhichOneof("value") in ("sequence_type", "optional_type"):
            return {"name": latin(v.name), "list": type_text(v.type)}
        return {"name": latin(v.name), "type": v.type.tensor_type.elem_type, "dims": dims_of(v.type)}
    def out(v):
        return latin(v.name) if v.name in constants else declared(v)
    return {"name": latin(g.name),
            "inputs": [declared(v) for v in inputs],
            "outputs": [out(v) if v.name in made or v.name in constants else latin(v.name) for v in g.output],
            "constants": [tensor(t, folder) for t in g.initializer] + [sparse(s, folder) for s in g.sparse_initializer],
            "nodes": [node(n, folder, OPSETS) for n in g.node]}


def model(m, folder):
    OPSETS.clear()
    OPSETS.update({domain_of(o.domain): o.version for o in m.opset_import} or {"": 1})
    return {"ir": m.ir_version, "opsets": dict(OPSETS), "graph": graph(m.graph, folder, True)}


def plain(g, names=True):
    """A graph as JSON, in a form that does not depend on order or on what no one can see."""
    known = {t["name"] for t in g["constants"]}
    inputs = {t["name"]: t for t in g["inputs"]}
    def out(t):
        if isinstance(t, str) or t["name"] in known:
            return t if isinstance(t, str) else t["name"]
        t = {k: v for k, v in t.items() if k != "data"}
        return {**inputs[t["name"]], **{"data": None}} if t["name"] in inputs else t
    def value(a):
        def item(v):
            if isinstance(v, dict) and "nodes" in v:
                return plain(v, names)
            if isinstance(v, dict) and "dims" in v:
                return {**v, "name": ""}
            return v
        return [a[0]] + [item(v) for v in a[1:]]
    return {"name": g["name"] if names else "", "inputs": [{k: v for k, v in t.items() if k != "data"} for t in g["inputs"]],
            "outputs": [out(t) for t in g["outputs"]],
            "constants": sorted(g["constants"], key=lambda t: t["name"]),
            "nodes": sorted(({**n, "attributes": {k: value(v) for k, v in n["attributes"].items()}} for n in g["nodes"]),
                            key=lambda n: json.dumps(n["out"]))}


def difference(a, b, path=""):
    if type(a) != type(b):
        return f"{path}: {a!r:.200} against {b!r:.200}"
    if isinstance(a, dict):
        for k in list(a) + [k for k in b if k not in a]:
            if k not in a or k not in b:
                return f"{path}.{k}: only in the {'first' if k in a else 'second'}"
            found = difference(a[k], b[k], f"{path}.{k}")
            if found:
                return found
    elif isinstance(a, list):
        if len(a) != len(b):
            return f"{path}: {len(a)} items against {len(b)}"
        for i, (x, y) in enumerate(zip(a, b)):
            found = difference(x, y, f"{path}[{i}]")
            if found:
                return found
    elif a != b:
        return f"{path}: {a!r:.200} against {b!r:.200}"
    return None


class Reader:
    def __init__(self, program):
        self.program = program

    def json(self, path):
        done = subprocess.run([self.program, "--json", path], capture_output=True)
        if done.returncode:
            return done.returncode, done.stderr.decode("utf-8", "replace").strip()
        return 0, json.loads(done.stdout.decode("ascii"))

    def text(self, path):
        return subprocess.run([self.program, "--text", path], capture_output=True, check=True).stdout


# Types that onnx.parser does not pack as the specification says.
SUBBYTE = re.compile(rb"\b(u?int[24]|float4e2m1|float6\w+)(\[[0-9,]*\])? [^,>]*=")

# What onnx itself cannot read or print, of the models of make_models.py.
EXCUSED = {("attributes", "parser"): "takes text as UTF-8 only", ("strings", "parser"): "takes text as UTF-8 only",
           ("names", "parser"): "operators in quotes are our addition", ("names", "printer"): "prints an operator with a blank as it is",
           ("sparse", "printer"): "leaves out sparse constants", ("sparse_pairs", "printer"): "prints sparse_tensor attributes as nothing",
           ("untyped_attributes", "printer"): "prints attributes without a type as nothing"}


def names_matter(stage):
    return stage == "wire"


def compare(reader, path, limit, counts, folder):
    failures = []
    def same(stage, found, wanted):
        wanted = {**wanted, "graph": plain(wanted["graph"], names_matter(stage))}
        found = {**found, "graph": plain(found["graph"], names_matter(stage))}
        what = difference(wanted, found)
        counts[stage] = counts.get(stage, 0) + 1
        if what:
            failures.append(f"{stage}: {what}")
    code, first = reader.json(path)
    m = onnx.load(path, load_external_data=False)
    if code:
        return [f"code {code}: {first}"] if code != 4 else []
    if not m.functions:
        same("wire", first, model(m, os.path.dirname(path)))
    if os.path.getsize(path) > limit:
        return failures
    text = reader.text(path)
    printed = os.path.join(folder, "printed.txt")
    with open(printed, "wb") as file:
        file.write(text)
    code, again = reader.json(printed)
    if code:
        failures.append(f"again: {again}")
    else:
        same("again", again, first)
    if not SUBBYTE.search(text) and b"@" not in text:
        try:
            parsed = onnx.parser.parse_model(text.decode())
            onnx.save(parsed, os.path.join(folder, "parsed.onnx"))
            code, found = reader.json(os.path.join(folder, "parsed.onnx"))
            if code:
                failures.append(f"parser: {found}")
            else:
                same("parser", found, first)
        except (onnx.parser.ParseError, UnicodeDecodeError) as wrong:
            failures.append(f"parser: {str(wrong)[:300]}")
    if not m.functions:
        try:
            theirs = onnx.printer.to_text(m)
        except Exception as wrong:                       # it refuses what it cannot print
            theirs = "..."
        if "..." not in theirs:
            for t in m.graph.initializer:
                for entry in t.external_data:
                    if entry.key == "location":
                        shutil.copy(os.path.join(os.path.dirname(path), entry.value), folder)
            with open(os.path.join(folder, "theirs.txt"), "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(theirs)
            code, found = reader.json(os.path.join(folder, "theirs.txt"))
            if code:
                failures.append(f"printer: {found}")
            else:
                same("printer", found, first)
    return failures


def compare_protos(reader, path, counts):
    """Only tensors: the files of some tests hold sequences."""
    files = sorted(os.path.join(at, f) for at, _, found in os.walk(os.path.dirname(path)) for f in found if f.endswith(".pb"))
    wanted = []
    for file in files:
        with open(file, "rb") as content:
            try:
                t = T.FromString(content.read())
            except Exception:
                continue
        if t.data_type and t.data_type in BITS or t.data_type == T.STRING:
            wanted.append((file, tensor(t, "")))
    if not wanted:
        return []
    done = subprocess.run([reader.program, "--pb"] + [file for file, _ in wanted], capture_output=True)
    if done.returncode:
        return [f"pb: {done.stderr.decode()}"]
    counts["pb"] = counts.get("pb", 0) + len(wanted)
    found = [difference(want, json.loads(line)) for (_, want), line in zip(wanted, done.stdout.decode().splitlines())]
    return [f"pb: {file}: {what}" for (file, _), what in zip(wanted, found) if what]


def main():
    arguments = sys.argv[1:]
    limit = 3000000
    if "--limit" in arguments:
        i = arguments.index("--limit")
        limit = int(arguments[i + 1])
        del arguments[i:i + 2]
    reader, paths, counts = Reader(arguments[0]), [a for a in arguments[1:] if a != "--made"], {}
    made = "--made" in arguments
    if made:
        import make_models
        paths = [tempfile.mkdtemp()]
        make_models.main(paths[0])
    cases = os.environ.get("INGOT_CASES", os.path.join(HERE, "../../../shared/cases"))
    if not paths:
        if not os.path.isdir(cases):
            print(f"skipped: no cases at {cases}; INGOT_CASES names the folder")
            return 77
        paths = [os.path.join(cases, part) for part in ("models", "light", "burn", "onnx_new")]
    models = []
    for path in paths:
        if os.path.isdir(path):
            models += sorted(os.path.join(at, f) for at, _, files in os.walk(path) for f in files if f.endswith(".onnx"))
        else:
            models.append(path)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in models:
            stem = os.path.splitext(os.path.basename(path))[0]
            for failure in compare(reader, path, limit, counts, folder) + compare_protos(reader, path, counts):
                if made and (stem, failure.split(":")[0]) in EXCUSED:
                    continue
                print(f"{path}: {failure}")
                bad += 1
    if made:
        shutil.rmtree(paths[0])
    print(f"{len(models)} models;", ", ".join(f"{stage} {n}" for stage, n in counts.items()), f"compared; {bad} differences")
    return 1 if bad or not models else 0


sys.exit(main())
