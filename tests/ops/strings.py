#!/usr/bin/env python3
"""Strings and maps where they come in and go out, beside onnxruntime: .npy, .npz and JSON of `ingot run`, a library called from C, what is refused.

    strings.py INGOT

Ends with 77 where there is no onnxruntime."""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from fractions import Fraction

try:
    import numpy, onnx, onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
from onnx import TensorProto, helper, parser

INGOT = os.path.abspath(sys.argv[1])
BAD, RAN = [], []
WORDS = ["ab", "Färberdistel", "𝄞 x", "", "ab "]


def model(text, opset=20):
    return parser.parse_model(f'<ir_version: 9, opset_import: ["": {opset}, "ai.onnx.ml": 3, "com.microsoft": 1]>\n{text}')


def check(name, right, got):
    RAN.append(name)
    if not right:
        BAD.append(name)
        print(f"{name}: {got}")


def run(*arguments):
    return subprocess.run([INGOT, *arguments], capture_output=True, text=True, timeout=600)


def session(made):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1                    # others wait by spinning
    return onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])


def beside(name, made, feeds, engines=("jit", "interpreter")):
    """What onnxruntime makes of it, by each engine; maps as rows."""
    want = session(made).run(
        None, {k: v.astype(object) if v.dtype.kind == "U" else v for k, v in feeds.items()})
    onnx.save(made, "m.onnx")
    numpy.savez("in.npz", **feeds)
    for engine in engines:
        done = run("run", "m.onnx", "--target", engine, "--input", "in.npz", "--output", "out.npz")
        got = dict(numpy.load("out.npz")) if not done.returncode else {}
        for info, right in zip(made.graph.output, want):
            y = got.get(info.name)
            if isinstance(right, list):
                keys = made.graph.node[-1].attribute[0]
                right = numpy.array([[row[k] for k in keys.ints or [s.decode() for s in keys.strings]] for row in right], "f4")
            right = right.astype(str) if right.dtype == object else right
            same = y is not None and y.shape == right.shape and (numpy.allclose(y, right, rtol=1e-5) if right.dtype.kind == "f" else (y == right).all())
            check(f"{name}, {engine}, {info.name}", same, done.stderr if done.returncode else f"{y!r}, {right!r} is right")


def moves():
    x, z = numpy.array(WORDS), numpy.array([["ab"], ["längeres"]])
    beside("moved", model("""g (string[5] x, string[2,1] z) => (string[] a, string[] b, string[] c, string[] d, string[] e, string[] f, string[] h)
    {
        k = Constant <value_strings = ["ab", "grün"]> ()
        one = Constant <value_ints = [-1]> ()
        a = Concat <axis = 0> (k, x)
        at = Constant <value_ints = [1, -1, 0]> ()
        b = Gather (x, at)
        c = Unsqueeze (x, one)
        d = Transpose (z)
        first, h = Split <axis = 0, num_outputs = 2> (x)
        start = Constant <value_ints = [-2]> ()
        stop = Constant <value_ints = [9]> ()
        e = Slice (x, start, stop)
        f = Squeeze (z, one)
    }"""), {"x": x, "z": z})
    beside("shaped, compared, chosen", model("""g (string[5] x, string[2,1] z) => (string[] a, string[] b, bool[] c, string[] d, int64[] e)
    {
        shape = Constant <value_ints = [0, 1, -1]> ()
        a = Reshape (z, shape)
        two = Constant <value_ints = [2, 3]> ()
        b = Expand (z, two)
        c = Equal (z, x)
        k = Constant <value_strings = ["eine andere"]> ()
        d = Where (c, z, k)
        e = Shape (d)
    }"""), {"x": x, "z": z})


def onnx_ops():
    """The operators that ONNX has for strings."""
    x, z = numpy.array(WORDS), numpy.array([["!"], [""], ["é𝄞"]])
    beside("StringConcat", model("g (string[5] x, string[3,1] z) => (string[] a, string[] b) { a = StringConcat (x, z) b = StringConcat (z, a) }"), {"x": x, "z": z})
    lines = numpy.array([[" a bc  d ", "", "\t\n", "x"], ["a, b,,c,", ",", "ab", "ä ö"]])
    numpy.save("x.npy", lines)
    for name, more in (("white space", ""), ("as many as there are", "<maxsplit = 9223372036854775807>"), ("white space, 1", "<maxsplit = 1>"), ("comma", '<delimiter = ",">'), ("comma, 2", '<delimiter = ",", maxsplit = 2>'), ("two", '<delimiter = ", ">'),
                       ("none of them", '<delimiter = "ß">'), ("0", '<delimiter = ",", maxsplit = 0>')):
        made = model(f"g (string[2,4] x) => (string[] y, int64[] n) {{ y, n = StringSplit {more} (x) }}")
        onnx.save(made, "m.onnx")
        given = {a.name: helper.get_attribute_value(a) for a in made.graph.node[0].attribute}
        parts = [[s.split(given["delimiter"].decode() if "delimiter" in given else None, given.get("maxsplit", -1)) for s in row] for row in lines]    # as ONNX has it
        most = max(len(p) for row in parts for p in row)
        want = numpy.array([[p + [""] * (most - len(p)) for p in row] for row in parts])
        done = run("run", "m.onnx", "--target", "c" if name == "comma" else "jit", "--input", "x=x.npy", "--output", "y=y.npy", "--output", "n=n.npy")
        same = done.returncode == 0 and (numpy.load("n.npy") == [[len(p) for p in row] for row in parts]).all() and numpy.load("y.npy").tolist() == want.tolist()
        check(f"StringSplit, {name}", same, done)
    sizes = [int(re.search(r"workspace (\d+)", run("show", "m.onnx", "--stage", "plan", "--dim", f"x_bytes={width}").stdout).group(1)) for width in (100, 800)]
    check("StringSplit with maxsplit has room for no more parts", sizes[1] < 12 * sizes[0], sizes)
    rng = numpy.random.default_rng(7)
    words = numpy.array(["a", "bb", "ä", "d"])
    grams = "min_gram_length = 1, max_gram_length = 3, ngram_counts = [0, 2, 6], ngram_indexes = [3, 0, 4, 1, 2], weights = [0.5, 2.0, 1.0, 3.0, 0.25]"
    for mode in ("TF", "IDF", "TFIDF"):
        for skip in (0, 2):
            beside(f"TfIdfVectorizer, strings, {mode}, {skip}", model(f"""g (string[3,9] x) => (float[] y)
            {{ y = TfIdfVectorizer <mode = "{mode}", max_skip_count = {skip}, {grams}, pool_strings = ["bb", "a", "a", "a", "ä", "bb", "d", "a", "bb"]> (x) }}"""),
                   {"x": rng.choice(words, (3, 9))}, ["jit"])
    beside("TfIdfVectorizer, integers", model(f"""g (int64[9] x) => (float[] y)
    {{ y = TfIdfVectorizer <mode = "TF", max_skip_count = 1, {grams}, pool_int64s = [2, 1, 1, 1, 3, 2, 4, 1, 2]> (x) }}"""), {"x": rng.integers(1, 5, 9)}, ["jit"])
    text = numpy.array(["ÄBC Straße ÿ", "дом ЁЖ", "Σίγμα ά", "Ǆx ԱԲ", "ŁÓDŹ Ÿ"])
    numpy.save("x.npy", text)
    for action, other in (("LOWER", str.lower), ("UPPER", str.upper)):
        onnx.save(model(f'g (string[5] x) => (string[] y) {{ y = StringNormalizer <case_change_action = "{action}"> (x) }}'), "m.onnx")
        done = run("run", "m.onnx", "--target", "jit", "--input", "x=x.npy", "--output", "y=y.npy")
        got = numpy.load("y.npy") if not done.returncode else []
        alone = "ßÿŸǄάΆ"                                                    # whose other case is no letter of two bytes, or none that is told
        same = all(len(a) == len(b) and all(p == q or c in alone for p, q, c in zip(a, map(other, b), b)) for a, b in zip(got, text))
        check(f"StringNormalizer, {action}", len(got) == 5 and same, done if done.returncode else got)
    for sensitive, right in ((1, ["ja", "Nein"]), (0, ["Nein"])):
        numpy.save("x.npy", numpy.array(["JA", "ja", "Nein"][1 - sensitive:] if not sensitive else ["JA", "ja", "Nein"]))
        onnx.save(model(f'g (string[N] x) => (string[] y) {{ y = StringNormalizer <is_case_sensitive = {sensitive}, stopwords = ["JA", "x"]> (x) }}'), "m.onnx")
        done = run("run", "m.onnx", "--target", "jit", "--input", "x=x.npy", "--output", "y=y.npy")
        check(f"stopwords, {sensitive}", done.returncode == 0 and numpy.load("y.npy").tolist() == right, done)


# In RE2's syntax, which onnxruntime has, too: what it matches decides.
PATTERNS = (r"(\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$)", r"a*", r"(ab|a)(c|bcd)*", r"[a-c]{2,3}", r"[^ab]+", r".", r".*", r"(?s).*", r"\w+", r"\W+", r"\s*\d+\s*", r"ä", r"[ä-ü]+", r"[^a]", r"\pL+", r"\p{Lu}.*",
            r"\p{Greek}+", r"(?i)straße", r"(?i)[a-k]+", r"(?i:A)b", r"\bab\b.*", r"a\b", r"a\B.*", r"^ab$", r"(?m)^a$\n^b$", r"a\nb", r"𝄞 x", r"\x{1D11E}.*", r"\x61\142c", r"\Qa.c\E", r"a{2", r"[]a]+", r"[a-]+", r"",
            r"|a", r"(a|b)*?b(a|b){3}", r"(?:)", r"[[:alpha:]]+", r"[[:^alpha:]\d]*", r"\C\C", r"(?P<name>a)b+", r"\D\S", r"a{0}b", r"(a*)*", r"(a?){4}", r"\Aab\z", r"(?i)k+", r"[\d\pL]+", r"\P{L}")


def expressions():
    """RegexFullMatch: an automaton that is made with the library."""
    rng = numpy.random.default_rng(5)
    texts = WORDS + ["a", "b", "abc", "abcd", "aabb", "a.c", "a\nb", "ABAB", "STRASSE", "straße", "STRAßE", "Äü", "λόγος", "12 ", " 7\t", "]a", "a-", "\n", "K", "K", "k", "a{2", "Ab", "ab c", "abaab", "x@gmail.com", "x@hotmail.com"]
    texts += ["".join(rng.choice(list("ab. ä1\n"), rng.integers(1, 7))) for _ in range(40)]
    for pattern in PATTERNS:
        node = helper.make_node("RegexFullMatch", ["x"], ["y"], pattern=pattern)
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.STRING, ["N"])], [helper.make_tensor_value_info("y", TensorProto.BOOL, ["N"])])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        beside(f"RegexFullMatch {pattern}", made, {"x": numpy.array(texts)}, ("jit", "interpreter", "c") if pattern == PATTERNS[0] else ("jit",))
    for pattern, code, message in ((r"(a", 3, "the pattern (a: a ( has no )"), (r"a**", 3, "a repetition of a repetition"), (r"*a", 3, "nothing to repeat"), (r"\1", 3, "an escape that RE2 does not know"), (r"(?=a)", 3, "RE2 does not know"),
                                   (r"[b-a]", 3, "ends before it begins"), (r"\p{Nothing}", 3, "neither a category nor a script"), (r"(a|b)*a(a|b){20}", 6, "its automaton has more than")):
        node = helper.make_node("RegexFullMatch", ["x"], ["y"], pattern=pattern)
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.STRING, [2])], [helper.make_tensor_value_info("y", TensorProto.BOOL, [2])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), "m.onnx")
        done = run("info", "m.onnx", "--dim", "x_bytes=9")
        check(f"RegexFullMatch {pattern}", done.returncode == code and message in done.stderr and "RegexFullMatch" in done.stderr, done)


def cast(x, to):
    """The node alone; what it says where it fails."""
    kind = TensorProto.STRING if x.dtype.kind == "U" else helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=to)], "g", [helper.make_tensor_value_info("x", kind, x.shape)], [helper.make_tensor_value_info("y", to, None)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), "m.onnx")
    numpy.save("x.npy", x)
    done = run("run", "m.onnx", "--target", "jit", "--input", "x=x.npy", "--output", "y=y.npy")
    return done if done.returncode else numpy.load("y.npy")


def nearest(text, digits, least, most):
    """What a number is as a float of so many bits, by fractions."""
    if math.isnan(float(text)) or "inf" in text.lower():
        return float(text)
    exact = abs(Fraction(text))
    power = exact.numerator.bit_length() - exact.denominator.bit_length()
    step = Fraction(2) ** max(power - (exact < Fraction(2) ** power) - digits + 1, least)
    rounded = round(exact / step) * step
    return math.copysign(math.inf if rounded >= 2 ** most else float(rounded), -1 if text.strip()[0] == "-" else 1)


def numbers():
    """Cast to strings and from them: floats as "%.8g" of C has them, and the nearest float of what is read."""
    rng = numpy.random.default_rng(3)
    for kind in "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64".split():
        ends = numpy.iinfo(kind) if kind != "bool" else None
        x = numpy.array([True, False]) if kind == "bool" else numpy.append(numpy.array([0, 9, 10, 99, 100, ends.min, ends.max], kind), rng.integers(ends.min, ends.max, 20, kind))
        text = numpy.array([str(int(v)) for v in x])
        got, back = cast(x, TensorProto.STRING), cast(numpy.array([" " + v + "." for v in text]), helper.np_dtype_to_tensor_dtype(x.dtype))
        check(f"{kind} to text and back", isinstance(got, numpy.ndarray) and (got == text).all() and isinstance(back, numpy.ndarray) and (back == x).all(), (got, back))
    said = lambda v: "NaN" if math.isnan(v) else "%sINF" % ("-" * (v < 0)) if math.isinf(v) else "%.8g" % v
    some = [0, -0.0, 1.5, 0.1, 1e-4, 1e-5, 0.00012345678, 12345678, 123456789, 100000005, 100000015, 99999999.5, 9999999.95, 1e22, 1e23, 5e-324, 1e308, -1e-310, math.nan, math.inf, -math.inf]
    for kind, bits in (("f8", "u8"), ("f4", "u4"), ("f2", "u2")):
        with numpy.errstate(over="ignore", invalid="ignore"):
            x = numpy.concatenate([rng.integers(0, numpy.iinfo(bits).max, 500, bits).view(kind), numpy.array(some).astype(kind), rng.standard_normal(200).astype(kind)])
        got, right = cast(x, TensorProto.STRING), numpy.array([said(float(v)) for v in x])
        check(f"{kind} to text", isinstance(got, numpy.ndarray) and (got == right).all(), got)
    texts = [repr(float(v)) for v in rng.integers(0, 2 ** 64, 500, "u8").view("f8")] + ["%.*g" % (int(rng.integers(1, 19)), v) for v in numpy.exp(rng.standard_normal(300) * 60)]
    texts += "0 -0 1. +.5 1E-5 infinity -INF nAn 0.000 000123.4500 1e-400 1e400 9007199254740993 9007199254740992.9 2.4703282292062327e-324 2.4703282292062328e-324 2.2250738585072011e-308 1e-0005".split()
    texts += "1e00000000000000005 16777217 16777219 3.4028235677973366e38 7.0e-46 7.1e-46 65519.9 65520 1e23".split() + [" 2 ", "\t-3"] + [repr(2.0 ** -1074 * int(v)) for v in rng.integers(1, 1000, 50)]
    for to, kind, (digits, least, most) in ((11, "f8", (53, -1074, 1024)), (1, "f4", (24, -149, 128)), (10, "f2", (11, -24, 16))):
        got, right = cast(numpy.array(texts), to), numpy.array([nearest(v, digits, least, most) for v in texts]).astype(kind)
        bits = kind.replace("f", "u")
        same = isinstance(got, numpy.ndarray) and ((got.view(bits) == right.view(bits)) | (numpy.isnan(got) & numpy.isnan(right))).all()
        check(f"text to {kind}", same, got)
    for text in ("x", "", "1e", "--1", "1 2", "0x10", "1_0"):
        done = cast(numpy.array(["1", text]), 1)
        check(f'"{text}" is no number', not isinstance(done, numpy.ndarray) and done.returncode == 3 and "whether it is a number" in done.stderr, done)
    beside("Cast, beside onnxruntime", model("g (float[N,2] x, string[N] z) => (string[N,2] s, double[N] d, int64[N] i) { s = Cast <to = 8> (x) d = Cast <to = 11> (z) i = Cast <to = 7> (z) }"),
           {"x": numpy.array([[1.25, -3e-9], [1e10, 7]], "f4"), "z": numpy.array(["12", "-3.5"])}, ("jit", "interpreter", "c"))
    beside("CastLike", model("""g (float[N,2] x, string[N] z) => (string[N,2] s, float[N] f, string[N] t)
    { word = Constant <value_strings = ["q"]> () one = Constant <value_float = 1.0> () s = CastLike (x, word) f = CastLike (z, one) t = CastLike (z, word) }"""),
           {"x": numpy.array([[1.25, -3e-9], [1e10, 7]], "f4"), "z": numpy.array(["12", "-3.5"])}, ("jit", "interpreter", "c"))


def learnt():
    keys = ["ab", "Färberdistel", "b"]
    def one(op, inputs, outputs, **attributes):
        return helper.make_model(helper.make_graph([helper.make_node(op, [i.name for i in inputs], [o.name for o in outputs], domain="ai.onnx.ml", **attributes)], "g", inputs, outputs),
                                 ir_version=9, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)])
    def tensor(name, kind, dims):
        return helper.make_tensor_value_info(name, kind, dims)
    x = {"x": numpy.array([["ab", "c"], ["Färberdistel", "ab "]])}
    text, to = tensor("x", TensorProto.STRING, ["N", 2]), lambda kind: tensor("y", kind, None)
    beside("OneHotEncoder", one("OneHotEncoder", [text], [to(TensorProto.FLOAT)], cats_strings=keys), x)
    exact = one("OneHotEncoder", [text], [to(TensorProto.FLOAT)], cats_strings=["c", "ab", "d"], zeros=0)
    beside("OneHotEncoder of categories alone", exact, {"x": numpy.array([["ab", "c"], ["d", "ab"]])})
    numpy.savez("in.npz", **x)
    done = run("run", "m.onnx", "--target", "jit", "--input", "in.npz")
    check("OneHotEncoder of what is no category", done.returncode == 3 and "whether it is a category" in done.stderr, done)
    beside("LabelEncoder, integers", one("LabelEncoder", [text], [to(TensorProto.INT64)], keys_strings=keys, values_int64s=[3, 1, 2], default_int64=-7), x)
    beside("LabelEncoder, floats", one("LabelEncoder", [text], [to(TensorProto.FLOAT)], keys_strings=keys, values_floats=[3.0, 1.5, 2.0], default_float=0.25), x)
    beside("LabelEncoder, strings", one("LabelEncoder", [text], [to(TensorProto.STRING)], keys_strings=keys, values_strings=["ä", "b", "ccc"], default_string="sonst"), x)
    pairs = {"cats_strings": keys, "cats_int64s": [4, 1, 9]}
    beside("CategoryMapper, integers", one("CategoryMapper", [text], [to(TensorProto.INT64)], default_int64=-7, **pairs), x)
    for more in ({}, {"default_string": "sonst"}):
        beside(f"CategoryMapper, strings, {len(more)}", one("CategoryMapper", [tensor("x", TensorProto.INT64, ["N"])], [to(TensorProto.STRING)], **pairs, **more), {"x": numpy.array([1, 3, 9])})
    rows = {"x": numpy.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]], "f4")}
    for name, key, names in (("strings", TensorProto.STRING, {"classlabels_strings": ["ja", "nein"]}), ("int64", TensorProto.INT64, {"classlabels_int64s": [7, -3]})):
        maps = helper.make_value_info("y", helper.make_sequence_type_proto(helper.make_map_type_proto(key, helper.make_tensor_type_proto(TensorProto.FLOAT, []))))
        beside(f"ZipMap, {name}", one("ZipMap", [tensor("x", TensorProto.FLOAT, ["N", 2])], [maps], **names), rows)
    numpy.save("x.npy", rows["x"])
    told = run("run", "m.onnx", "--target", "interpreter", "--input", "x=x.npy", "--json")
    check("keys in JSON", told.returncode == 0 and json.loads(told.stdout)["outputs"][0]["keys"] == [7, -3], told)
    onnx.save(one("ZipMap", [tensor("x", TensorProto.FLOAT, [3, 2])], [maps], classlabels_strings=["ja", b"\xff"]), "bytes.onnx")
    bytes_told = run("run", "bytes.onnx", "--target", "interpreter", "--input", "x=x.npy", "--json")
    check("a key that is no UTF-8", json.loads(bytes_told.stdout)["outputs"][0]["keys"] == ["ja", "\\xff"], bytes_told)
    check("keys as text", "y float[3,2] of 7 -3: 0.25" in run("run", "m.onnx", "--target", "interpreter", "--input", "x=x.npy").stdout, told)


def maps_in():
    """Maps that come in: keys beside values, in any order; onnxruntime's Python takes those to floats alone."""
    def one(op, key, value, made, **attributes):
        of = helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, []))
        graph = helper.make_graph([helper.make_node(op, ["m"], ["y"], domain="ai.onnx.ml", **attributes)], "g", [helper.make_value_info("m", of)], [helper.make_tensor_value_info("y", made, None)])
        return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)])
    def made_of(name, model, given, want, engines=("jit", "interpreter", "c"), more=(), says=None):
        keys, values = numpy.array(list(given)), numpy.array(list(given.values()))
        if values.dtype == numpy.float64 and "double" not in name:
            values = values.astype("f4")
        if not says and values.dtype == numpy.float32:
            right = session(model).run(None, {"m": given})[0]
            check(f"{name}, the judge", right.tolist() == want, right)
        onnx.save(model, "m.onnx")
        numpy.savez("in.npz", m_keys=keys, m_values=values)
        for engine in engines:
            done = run("run", "m.onnx", "--target", engine, "--input", "in.npz", "--output", "out.npz", *more)
            if says:
                check(f"{name}, {engine}", done.returncode == 3 and says in done.stderr, done)
                continue
            got = numpy.load("out.npz")["y"] if not done.returncode else done
            check(f"{name}, {engine}", not done.returncode and got.tolist() == want, got)
    I, F, D, S = TensorProto.INT64, TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.STRING
    some, words = {3: 1.5, 1: 2.75, 5: -3.5}, {3: "1.5", 1: "27", 5: "-3e2"}
    for kind, to, dense in (("TO_FLOAT", F, [2.75, 1.5, -3.5]), ("TO_INT64", I, [2, 1, -3])):
        row = [0, dense[0], 0, dense[1], 0]
        made_of(f"CastMap {kind}, dense", one("CastMap", I, F, to, cast_to=kind), some, [dense])
        made_of(f"CastMap {kind}, sparse", one("CastMap", I, F, to, cast_to=kind, map_form="SPARSE", max_map=5), some, [row])
    made_of("CastMap of strings", one("CastMap", I, S, F, cast_to="TO_FLOAT", map_form="SPARSE", max_map=6), words, [[0, 27, 0, 1.5, 0, -300]])
    made_of("CastMap to strings", one("CastMap", I, S, S, cast_to="TO_STRING"), words, [["27", "1.5", "-3e2"]])
    made_of("CastMap to strings, sparse", one("CastMap", I, S, S, cast_to="TO_STRING", map_form="SPARSE", max_map=4), words, [["0.f", "27", "0.f", "1.5"]])
    made_of("CastMap, a key below 0", one("CastMap", I, F, F, map_form="SPARSE", max_map=4), {-1: 1.5, 2: 1.0}, None, says="the least key, 0 or more is right")
    letters, numbers = ["ab", "q", "b", "ab", "längeres"], [7, -2, 9]
    for name, kind, values in (("floats", F, (1.5, 2.0, -0.25)), ("doubles", D, (1.5, 2.0, -0.25)), ("integers", I, (1, 2, 3)), ("strings", S, ("x", "yy", ""))):
        no, (a, b, c) = ("" if kind == S else 0), values
        made_of(f"DictVectorizer, {name} of strings", one("DictVectorizer", S, kind, kind, string_vocabulary=letters), dict(zip(("b", "ab", "längeres"), values)), [[b, no, a, b, c]])
        if kind != I:
            made_of(f"DictVectorizer, {name} of integers", one("DictVectorizer", I, kind, kind, int64_vocabulary=numbers), dict(zip((4, -2, 7), values)), [[c, b, no]])
    made_of("a map of as many as a call says", one("DictVectorizer", S, F, F, string_vocabulary=letters), {"b": 1.5, "none": 3.0}, [[0, 0, 1.5, 0, 0]], more=("--dim", "m_count=0..5", "--dim", "m_keys_bytes=9"))
    made_of("sorted, of as many as a call says", one("CastMap", I, F, F), some, [[2.75, 1.5, -3.5]], more=("--dim", "m_count=1..5"))
    numpy.savez("in.npz", m_keys=numpy.zeros(0, "i8"), m_values=numpy.zeros(0, "f4"))
    onnx.save(one("DictVectorizer", I, F, F, int64_vocabulary=numbers), "m.onnx")
    for more in ((), ("--dim", "m_count=0..5")):
        done = run("run", "m.onnx", "--target", "jit", "--input", "in.npz", "--output", "out.npz", *more)
        check(f"a map of nothing {more}", done.returncode == 0 and numpy.load("out.npz")["y"].tolist() == [[0, 0, 0]], done)
    for name, kinds, node, code, says in (
            ("a map where none is right", "int64, float", "Identity (m)", 3, "input 0, 'm', is map(int64, float), a tensor is right"),
            ("a map is no sequence", "int64, float", "SequenceLength (m)", 3, "input 0, 'm', is map(int64, float), a sequence is right"),
            ("keys that are no numbers", "string, float", "ai.onnx.ml.CastMap (m)", 3, "the keys are string, int64 is right"),
            ("no vocabulary of such keys", "string, float", "ai.onnx.ml.DictVectorizer <int64_vocabulary = [1]> (m)", 3, "the keys are string, and there is no vocabulary of such"),
            ("floats as strings", "int64, float", 'ai.onnx.ml.CastMap <cast_to = "TO_STRING"> (m)', 4, "numbers to strings are not supported")):
        open("m.onnxtxt", "w").write(f'<ir_version: 9, opset_import: ["": 20, "ai.onnx.ml": 3]>\ng (map({kinds}) m) => (float[] y) {{ y = {node} }}')
        done = run("build", "m.onnxtxt", "-o", "no", "--target", "c", "--dim", "m_count=2", *(["--dim", "m_keys_bytes=4"] if "string" in kinds else []))
        check(name, done.returncode == code and says in done.stderr, done)
    told = run("info", "m.onnx").stdout
    check("info of a map", "m_keys int64[m_count]" in told and "ai.onnx.ml DictVectorizer" in told.replace(".DictVectorizer", " DictVectorizer"), told)


def tokens():
    said = numpy.array(["the cat sat", " a  b_c d9,e ", "", "ü äb cd", "xx,"])
    made = lambda more, dims: model(f"g (string[{dims}] x) => (string[] y) {{ y = com.microsoft.Tokenizer <{more}> (x) }}")
    for more in ('tokenexp = "[a-zA-Z0-9_]+"', 'tokenexp = "[a-zA-Z0-9_]+", mincharnum = 2', 'tokenexp = "[a-z]+", mincharnum = 3, pad_value = "ein langes Polster"', 'tokenexp = "[^ ]+"',
                 'tokenexp = "."', 'tokenexp = "[a-z]"', 'separators = [" "]', 'separators = [" ", ",", "[.]"]', 'separators = [""]', 'separators = ["[^a-z]"], mincharnum = 2'):
        beside(f"Tokenizer, {more}", made(f'mark = 0, {more}' + ("" if "pad_value" in more else ', pad_value = "#"') + ("" if "mincharnum" in more else ", mincharnum = 1"), "N"), {"x": said})
    plain = 'mark = 0, mincharnum = 1, pad_value = "#", tokenexp = "[a-z]+"'
    beside("Tokenizer of rows", made(plain, "N,2"), {"x": said[:4].reshape(2, 2)}, ("jit", "interpreter", "c"))
    beside("Tokenizer of nothing", made(plain, "N"), {"x": said[2:3]})
    for name, rank in (("rows", "N,1"), ("list", "1")):
        beside(f"how often words are there, {name}", model(f"""g (string[{rank}] x) => (float[] y)
        {{ parts = com.microsoft.Tokenizer <{plain}> (x) flat = Flatten <axis = 1> (parts)
           y = TfIdfVectorizer <mode = "TF", min_gram_length = 1, max_gram_length = 2, max_skip_count = 1, ngram_counts = [0, 3], ngram_indexes = [1, 0, 2, 3], pool_strings = ["a", "cat", "sat", "b", "d"]> (flat) }}"""),
               {"x": numpy.array(["a cat sat", "a b d", "", "sat d"][:4 if name == "rows" else 1]).reshape([-1, 1] if name == "rows" else [-1])}, ("jit", "interpreter", "c"))
    for name, more, code, says in (("a pattern", 'tokenexp = "ab|c"', 4, "ab|c is not supported"), ("letters of several bytes", 'tokenexp = "[a-zäöü]+"', 4, "is not supported"),
                                   ("marks", 'tokenexp = "[a-z]+", mark = 1', 4, "marks are not supported"), ("both", 'tokenexp = "[a-z]+", separators = [" "]', 3, "has tokenexp and separators, or neither"),
                                   ("no pad_value", 'tokenexp = "[a-z]+"', 3, "has no pad_value")):
        onnx.save(made(more + ("" if name == "no pad_value" else ', pad_value = "#"'), "2"), "m.onnx")
        done = run("build", "m.onnx", "-o", "no", "--target", "c", "--dim", "x_bytes=8")
        check(f"Tokenizer, {name}", done.returncode == code and says in done.stderr, done)


def shared_nodes():
    """Where several nodes lead to one, there are more ways than nodes: as many as memory holds are no way to end."""
    n, lists = 60, {"modes": [], "truenodeids": [], "falsenodeids": []}
    for i in range(n):
        for kind, yes, no in (("BRANCH_LEQ", 3 * i + 1, 3 * i + 2), ("BRANCH_LEQ", 3 * i + 3, 3 * n), ("BRANCH_LEQ", 3 * i + 3, 3 * n)):
            for key, value in zip(lists, (kind, yes, no)):
                lists[key].append(value)
    for key, value in zip(lists, ("LEAF", 0, 0)):
        lists[key].append(value)
    count = 3 * n + 1
    text = "g (float[1,1] x) => (float[1,1] y) { y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, nodes_treeids = %s, nodes_nodeids = %s, nodes_featureids = %s, nodes_values = %s, nodes_modes = %s, nodes_truenodeids = %s, nodes_falsenodeids = %s, target_treeids = [0], target_nodeids = [%d], target_ids = [0], target_weights = [1.0]> (x) }" % (
        [0] * count, list(range(count)), [0] * count, [0.5] * count, json.dumps(lists["modes"]), lists["truenodeids"], lists["falsenodeids"], 3 * n)
    open("m.onnxtxt", "w").write(f'<ir_version: 9, opset_import: ["": 20, "ai.onnx.ml": 3]>\n{text}')
    done = run("build", "m.onnxtxt", "-o", "no", "--target", "c")
    check("more ways than nodes", done.returncode == 6 and "several lead to some" in done.stderr, done)


def files():
    """NumPy's other forms, what is not there, what is too long."""
    onnx.save(model("g (string[N] x) => (string[N] y) { y = Identity (x) }"), "m.onnx")
    for name, array in (("bytes", numpy.array(WORDS[:2]).astype("U").astype(object)), ("big-endian", numpy.array(WORDS).astype(">U20")), ("S", numpy.array([b"q", b"", b"uvw"])),
                        ("S, bytes that are no UTF-8", numpy.array([b"\xff\xe4b", b"\xe4"]))):
        numpy.save("x.npy", array, allow_pickle=True)
        done = run("run", "m.onnx", "--target", "interpreter", "--input", "x=x.npy", "--output", "y=y.npy", "--json")
        if array.dtype == object:
            check(name, done.returncode == 4 and "astype(str)" in done.stderr, done)
            continue
        want = [s.decode(errors="replace") if isinstance(s, bytes) else s for s in array.tolist()]
        check(name, done.returncode == 0 and numpy.load("y.npy").tolist() == want, done)
    numpy.save("x.npy", numpy.array([], "U3"))
    check("none", run("run", "m.onnx", "--target", "interpreter", "--input", "x=x.npy", "--output", "y=y.npy").returncode == 0 and numpy.load("y.npy").shape == (0,), "")
    numpy.save("x.npy", numpy.array(WORDS))
    long = run("run", "m.onnx", "--target", "interpreter", "--dim", "x_bytes=4", "--input", "x=x.npy")
    check("too long", long.returncode == 2 and "string 1 has 13 bytes, the model is compiled for 4; --dim x_bytes=13" in long.stderr, long)
    numpy.save("x.npy", numpy.zeros(3, "f4"))
    wrong = run("run", "m.onnx", "--target", "interpreter", "--input", "x=x.npy")
    check("numbers", wrong.returncode == 2 and "float32 [3]" in wrong.stderr and "x is str [N]" in wrong.stderr, wrong)
    broken = bytearray(open("x.npy", "rb").read())
    broken = bytes(broken).replace(b"<f4", b"<U1")
    broken = broken[:-12] + b"\xff\xff\xff\xff" * 3
    open("x.npy", "wb").write(broken)
    wrong = run("run", "m.onnx", "--target", "interpreter", "--input", "x=x.npy")
    check("no character", wrong.returncode == 3 and "which Unicode has not" in wrong.stderr, wrong)
    told = run("info", "m.onnx").stdout
    check("info", "x string[N], as uint8[N,x_bytes]" in told and "ingot.Text" not in told, told)


def ranges():
    """How many rows there are, a call says: as where it is a number."""
    text = """g (string[N,2] x) => (string[N] label, seq(map(string, float)) scores, int64[N,2] places)
    {
        row = Constant <value_ints = [0, -1]> ()
        is = ai.onnx.ml.OneHotEncoder <cats_strings = ["ab", "b"]> (x)
        flat = Reshape (is, row)
        label, all = ai.onnx.ml.LinearClassifier <coefficients = [1.0, 0.5, 0.0, 2.0, 0.0, 2.0, 1.0, 1.0], classlabels_strings = ["ja", "nein"]> (flat)
        scores = ai.onnx.ml.ZipMap <classlabels_strings = ["ja", "nein"]> (all)
        two = Concat <axis = 1> (x, x)
        at = Constant <value_ints = [1, 2]> ()
        some = Gather <axis = 1> (two, at)
        places = ai.onnx.ml.LabelEncoder <keys_strings = ["ab", "b"], values_int64s = [5, 6]> (some)
    }"""
    open("m.onnxtxt", "w").write(f'<ir_version: 9, opset_import: ["": 20, "ai.onnx.ml": 3]>\n{text}')
    x = numpy.array([["ab", "b"], ["b", "zz"], ["", "ab"]])
    for rows in (1, 3):
        numpy.savez("in.npz", x=x[:rows])
        got = []
        for more in ([], ["--dim", "N=1..5", "--dim", "x_bytes=4"]):
            done = run("run", "m.onnxtxt", "--target", "jit", "--input", "in.npz", "--output", "out.npz", *more)
            got.append(dict(numpy.load("out.npz")) if not done.returncode else done)
        same = all(isinstance(g, dict) for g in got) and all((got[0][k] == got[1][k]).all() and got[0][k].shape[0] == rows for k in got[0])
        check(f"{rows} rows of a range", same, got)


CALLER = r"""
#include "m.h"
#include <stdio.h>
static unsigned char workspace[M_WORKSPACE_BYTES + M_WORKSPACE_ALIGN];
int main(void)
{
	static const char *const keys[] = M_SCORES_KEYS;
	static const unsigned char x[2][8] = { "b", "ab" };
	unsigned char label[2][5];
	float scores[2][2];
	const struct m_inputs in = { .x = x[0] };
	const struct m_outputs out = { .label = label[0], .scores = scores[0] };
	size_t at = (size_t)workspace % M_WORKSPACE_ALIGN;
	const struct m_context context = { .workspace = workspace + (at ? M_WORKSPACE_ALIGN - at : 0) };
	int status = m_run(&in, &out, &context);
	for (int i = 0; i < 2; i++)
		printf("%s %s=%g %s=%g\n", (const char *)label[i], keys[0], (double)scores[i][0], keys[1], (double)scores[i][1]);
	return status;
}
"""


def library():
    text = """g (string[2,1] x) => (string[2] label, seq(map(string, float)) scores)
    {
        is = ai.onnx.ml.OneHotEncoder <cats_strings = ["ab", "b"]> (x)
        row = Constant <value_ints = [2, 2]> ()
        flat = Reshape (is, row)
        label, all = ai.onnx.ml.LinearClassifier <coefficients = [1.0, 0.0, 0.0, 2.0], classlabels_strings = ["ja", "nein"]> (flat)
        scores = ai.onnx.ml.ZipMap <classlabels_strings = ["ja", "ne\\"in"]> (all)
    }"""
    open("m.onnxtxt", "w").write(f'<ir_version: 9, opset_import: ["": 20, "ai.onnx.ml": 3]>\n{text}')
    open("caller.c", "w").write(CALLER)
    unbound = run("build", "m.onnxtxt", "-o", "out", "--target", "c")
    check("how long strings are is asked", unbound.returncode == 2 and "--dim x_bytes=" in unbound.stderr, unbound)
    made = run("build", "m.onnxtxt", "-o", "out", "--dim", "x_bytes=8")
    check("a library", made.returncode == 0, made)
    manifest = json.load(open("out/m.json"))
    check("its manifest", manifest["inputs"][0].get("strings") is True and manifest["outputs"][1].get("keys") == ["ja", 'ne"in'], manifest["outputs"])
    compiled = subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Iout", "-o", "caller", "caller.c", "out/libm.a", "-lm"], capture_output=True, text=True)
    said = subprocess.run(["./caller"], capture_output=True, text=True) if not compiled.returncode else compiled
    check("its caller", said.stdout == 'nein ja=0 ne"in=2\nja ja=1 ne"in=0\n', said)


def refused():
    vectors = "g (float[2,3] x) => (int64[2] y, float[2,2] z) { y, z = ai.onnx.ml.SVMClassifier <classlabels_ints = [1, 2], "
    for name, text, code, says in (
            ("no coefficients", vectors + "vectors_per_class = [1, 1]> (x) }", 3, "0 coefficients and 0 numbers of rho, of 2 support vectors of 2 classes"),
            ("no support vectors", vectors + "vectors_per_class = [1, 1], coefficients = [1.0, 2.0], rho = [0.5]> (x) }", 3, "0 numbers of 2 support vectors of 3 features"),
            ("prob_a alone", vectors + "vectors_per_class = [1, 1], coefficients = [1.0, 2.0], rho = [0.5], prob_a = [1.0]> (x) }", 3, "prob_a and prob_b have 1 and 0 numbers"),
            ("fewer than none", vectors + "vectors_per_class = [3, -1]> (x) }", 3, "2 classes, and support vectors of 2"),
            ("no columns", "g (float[2,0] x) => (int64[2] y, float[2,2] z) { y, z = ai.onnx.ml.LinearClassifier <classlabels_ints = [1, 2], coefficients = [1.0]> (x) }", 3, "X is float[2, 0]"),
            ("keys of another type", "g (int64[2] x) => (int64[2] y) { y = ai.onnx.ml.LabelEncoder <keys_strings = [\"a\"], values_int64s = [1]> (x) }", 3, "X is int64, and the keys are string"),
            ("a map of lists", "g (map(int64, seq(float)) x) => (float y) { y = Identity (x) }", 4, "is of type map(int64, seq(float))"),
            ("a map goes out", "g (float[2] x) => (map(int64, float) y) { y = Identity (x) }", 4, "is of type map(int64, float)"),
            ("no map where one is right", "g (float[2] x) => (float[1,2] y) { y = ai.onnx.ml.CastMap (x) }", 3, "X is a tensor, a map that comes in is right"),
            ("maps come in", "g (seq(map(int64, float)) x) => (float y) { y = Identity (x) }", 4, "is of type seq(map(int64, float))"),
            ("maps that nothing makes", "g (float[2,2] x) => (seq(map(int64, float)) y) { y = Relu (x) }", 4, "y is a sequence of maps that no ZipMap makes"),
            ("too few keys", "g (float[2,2] x) => (seq(map(int64, float)) y) { y = ai.onnx.ml.ZipMap <classlabels_int64s = [1]> (x) }", 3, "input 0 is float[2,2], and there are 1 keys"),
            ("keys without values", 'g (int64[2] x) => (string[2] y) { y = ai.onnx.ml.LabelEncoder <keys_int64s = [1, 2, 3], values_strings = ["a", "b"]> (x) }', 3, "3 keys and 2 values"),
            ("no keys", "g (float[2,2] x) => (seq(map(int64, float)) y) { y = ai.onnx.ml.ZipMap (x) }", 3, "one of both is right"),
            ("a number of a string", "g (float[2] x) => (float[2] y) { k = Constant <value_strings = [\"a\", \"b\"]> () y = Add (x, k) }", 3, "input 1 is string, float is right"),
            ("one string of two", 'g (float[2] x) => (string[2] y) { k = Constant <value_strings = ["a"]> () y = StringConcat (k) }', 3, "StringConcat lacks input 1 of at least 2"),
            ("no axis", 'g (float[2] x) => (string[2] y) { k = Constant <value_strings = ["a"]> () y = Concat (k, k) }', 3, 'lacks the attribute "axis"'),
            ("an axis outside", "g (float[2] x) => (string[2] y) { k = Constant <value_strings = [\"a\", \"b\"]> () y = Concat <axis = 1> (k, k) }", 3, "axis 1 of 1 dimensions"),
    ):
        open("m.onnxtxt", "w").write(f'<ir_version: 9, opset_import: ["": 20, "ai.onnx.ml": 3]>\n{text}')
        done = run("build", "m.onnxtxt", "-o", "no", "--target", "c")
        check(name, done.returncode == code and says in done.stderr and not os.path.exists("no"), done)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for part in (moves, onnx_ops, expressions, numbers, learnt, maps_in, tokens, shared_nodes, files, ranges, library, refused):
        part()
    os.chdir("/")
print(f"{len(RAN)} checks, {len(BAD)} wrong")
sys.exit(bool(BAD or not RAN))
