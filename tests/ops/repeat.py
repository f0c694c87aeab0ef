#!/usr/bin/env python3
"""Loops that are one node (ingot.Repeat), by numpy and on every target: the bits of the interpreter; what ends them; how large they are.

    repeat.py INGOT PART...     exit 0: right, 1: wrong, 77: NumPy or a target is not there.  PART: numbers, ends, text, libraries, unrolled, recurrent, endless"""
import json, os, shutil, subprocess, sys, tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
INGOT, ENVIRONMENT = os.path.abspath(sys.argv[1]), 5
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Wshadow", "-Wundef", "-Werror", "-fsyntax-only"]
TARGETS = ["interpreter", "jit", "c", "cuda-emulated"]
wrong = 0


def expect(what, right, said=""):
    global wrong
    if not right:
        wrong += 1
        print(f"wrong: {what} {said}")


def model(folder, name, signature, body):
    path = os.path.join(folder, name + ".onnxtxt")
    open(path, "w").write(f'<ir_version: 8, opset_import: ["" : 17]>\n{name} {signature}\n{{\n{body}\n}}\n')
    return path


def run(folder, path, inputs, outputs, target, **environment):
    words = [INGOT, "run", path, "--target", target]
    for name, value in inputs.items():
        np.save(os.path.join(folder, name), value)
        words += ["--input", f"{name}={os.path.join(folder, name)}.npy"]
    for name in outputs:
        words += ["--output", f"{name}={os.path.join(folder, name)}_out.npy"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env={**os.environ, **environment})
    if done.returncode == ENVIRONMENT:
        print(f"skipped: {done.stderr.strip()}")
        sys.exit(77)
    return done.returncode, done.stderr, [np.load(os.path.join(folder, f"{name}_out.npy")) for name in outputs] if not done.returncode else None


RECURRENT = """	y, s, r = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0], scan_input_directions = [1, 0], scan_output_axes = [1, 0], scan_output_directions = [0, 1],
		body = g (float[3] h, float[3] p, double[2] q) => (float[3] n, float[3] t, double[2] u) {
			m = MatMul (h, w) a = Add (m, p) n = Tanh (a) t = Identity (n) u = Neg (q) }> (h0, x, z)"""


def recurrent(inputs):
    h, w, x, z = (inputs[name] for name in ("h0", "w", "x", "z"))
    steps = []
    for t in range(x.shape[1]):
        h = np.tanh(h @ w + x[:, x.shape[1] - 1 - t]).astype("f4")
        steps.append(h)
    return h, np.stack(steps, 1), -z[::-1]


COLLATZ = """	zero = Constant <value = int64 {0}> ()
	last, steps = Loop <body = g (int64 i, bool c, int64 x, int64 k) => (bool on, int64 y, int64 n) {
		one = Constant <value = int64 {1}> () two = Constant <value = int64 {2}> () three = Constant <value = int64 {3}> ()
		odd = Mod (x, two) is = Cast <to = 9> (odd) half = Div (x, two) t = Mul (x, three) up = Add (t, one) y = Where (is, up, half) n = Add (k, one) on = Greater (y, one) }>
		(, go, start, zero)"""

NESTED = """	m = Constant <value = int64 {20}> ()
	y, s = Loop <body = outer (int64 i, bool c, float16[2] x) => (bool on, float16[2] z, float16[2] part) {
		on = Identity (c) k = Constant <value = int64 {15}> ()
		z, parts = Loop <body = inner (int64 j, bool d, float16[2] v) => (bool go, float16[2] w, float16[2] p) {
			t = Add (i, j) f = Cast <to = 10> (t) g = Mul (v, half) w = Add (g, f) p = Sub (w, x) less = Constant <value = int64 {9}> () go = Identity (d) }> (k, , x)
		part = ReduceMax <axes = [0], keepdims = 0> (parts) }> (m, , a)"""

LOOKED_UP = """	m = Constant <value = int64 {300}> ()
	y = Loop <body = g (int64 i, bool c, float x) => (bool on, float z) {
		v = Gather (table, at) row = Gather (v, i) z = Add (x, row) most = Constant <value = float {40}> () on = Less (z, most) }> (m, , zero)"""


def numbers(folder):
    """Against numpy by the interpreter, and its bits on each target."""
    draw = np.random.default_rng(3)
    scan = model(folder, "scan", "(float[3] h0, float[3,3] w, float[3,90] x, double[90,2] z) => (float[3] y, float[3,90] s, double[90,2] r)", RECURRENT)
    inputs = {"h0": draw.uniform(-1, 1, 3).astype("f4"), "w": draw.uniform(-1, 1, (3, 3)).astype("f4"), "x": draw.uniform(-1, 1, (3, 90)).astype("f4"), "z": draw.uniform(-1, 1, (90, 2))}
    collatz = model(folder, "collatz", "(int64 start, bool go) => (int64 steps, int64 last)", COLLATZ)
    nested = model(folder, "nested", "(float16[2] a, float16 half) => (float16[2] y, float16[20,2] s)", NESTED)
    cases = [(scan, inputs, ["y", "s", "r"], recurrent(inputs), 1e-5), (collatz, {"start": np.array(837799), "go": np.array(True)}, ["steps", "last"], (524, 1), 0),
             (collatz, {"start": np.array(837799), "go": np.array(False)}, ["steps", "last"], (0, 837799), 0),
             (nested, {"a": np.array([1, -2], "f2"), "half": np.array(0.5, "f2")}, ["y", "s"], None, 0)]
    for path, given, outs, right, tolerance in cases:
        code, said, want = run(folder, path, given, outs, "interpreter")
        expect(path, code == 0, said)
        for name, value, one in zip(outs, want or [], right or []):
            expect(f"{path}: {name}", np.allclose(value, one, rtol=tolerance, atol=tolerance), f"{value} is not {one}")
        code, said, other = run(folder, path, given, outs, "interpreter", INGOT_REPEAT="1e12")       # round after round, where that can be
        if path != collatz:
            expect(f"{path}: unrolled", code == 0 and all(a.tobytes() == b.tobytes() for a, b in zip(want, other)), said)
        for target in TARGETS[1:]:
            code, said, got = run(folder, path, given, outs, target)
            expect(f"{path} on {target}", code == 0 and all(a.tobytes() == b.tobytes() for a, b in zip(want, got)), said)


def ends(folder):
    """An operand of a round that comes is asked for, with its status; one of a round that does not come is not.  More rounds than are stacked are refused."""
    looked = model(folder, "looked", "(float[4,2] table, int64 at, float zero) => (float y)", LOOKED_UP.replace("Gather (v, i)", "Gather (v, j)").replace(
        "v = Gather", "two = Constant <value = int64 {2}> () j = Mod (i, two) v = Gather"))
    table = np.array([[1, 2], [9, 9], [30, 0], [0, 0]], "f4")
    for target in TARGETS:
        code, said, got = run(folder, looked, {"table": table, "at": np.array(2), "zero": np.array(0, "f4")}, ["y"], target)
        expect(f"an end on {target}", code == 0 and got[0] == 60, f"{code} {said} {got}")
        code, said, _ = run(folder, looked, {"table": table, "at": np.array(4), "zero": np.array(0, "f4")}, ["y"], target)
        expect(f"an index outside on {target}", code == 3 and "an index at run time is not in [-4, 3]" in said, f"{code} {said}")
    # what no round changes goes before the loop, and is asked where a round comes
    steady = model(folder, "steady", "(float[4] table, int64 at, bool go, float x) => (float y)", """	m = Constant <value = int64 {300}> ()
	y = Loop <body = g (int64 i, bool c, float v) => (bool on, float z) { e = Exp (table) row = Gather (e, at) z = Add (v, row) on = Identity (c) }> (m, go, x)""")
    shown = subprocess.run([INGOT, "show", steady, "--stage", "graph"], capture_output=True, text=True).stdout
    expect("what no round changes stands before the loop", 0 < shown.index("Exp (") < shown.index("Gather (") < shown.index("ingot.Repeat ("), shown)
    for target in TARGETS:
        for at, go, status in (1, True, 0), (9, True, 3), (9, False, 0):
            code, said, got = run(folder, steady, {"table": np.zeros(4, "f4"), "at": np.array(at), "go": np.array(go), "x": np.array(2, "f4")}, ["y"], target)
            expect(f"steady {at} {go} on {target}", code == status and (code or got[0] == (302 if go else 2)), f"{code} {said} {got}")
    late = model(folder, "late", "(float[4] table, int64 most, float zero) => (float y, float[300] s)", """	y, s = Loop <body = g (int64 i, bool c, float x) => (bool on, float z, float q) {
		k = Constant <value = int64 {75}> () j = Div (i, k) v = Gather (table, j) z = Add (x, v) q = Identity (z) on = Identity (c) }> (most, , zero)""")
    for target in TARGETS[:3]:
        code, said, got = run(folder, late, {"table": table[2, :1].repeat(4), "most": np.array(300), "zero": np.array(0, "f4")}, ["y", "s"], target)
        expect(f"as many as are stacked on {target}", code == 0 and got[0] == 9000 and got[1][-1] == 9000, f"{code} {said}")
        for most in 0, 299, 301, 1 << 62:
            code, said, _ = run(folder, late, {"table": table[2, :1].repeat(4), "most": np.array(most), "zero": np.array(0, "f4")}, ["y", "s"], target)
            expect(f"{most} rounds of 300 on {target}", code == 3 and "the rounds at run time are not 300" in said, f"{code} {said}")


def endless(folder):
    """What never ends has a status behind 2^20 rounds."""
    path = model(folder, "endless", "(int64 start) => (int64 last)", """	last = Loop <body = g (int64 i, bool c, int64 x) => (bool on, int64 y) {
		one = Constant <value = int64 {1}> () y = BitwiseOr (x, one) zero = Constant <value = int64 {0}> () on = Greater (y, zero) }> (, , start)""".replace("BitwiseOr", "Max"))
    for target in TARGETS[:3]:
        code, said, _ = run(folder, path, {"start": np.array(3)}, ["last"], target)
        expect(f"no end on {target}", code == 6 and "the loop goes on behind 1048576 rounds" in said, f"{code} {said}")
        code, said, got = run(folder, path, {"start": np.array(-5)}, ["last"], target)
        expect(f"no end on {target}", code == 6, f"{code} {said}")


def text(folder):
    """Rounds are a number in the text: nothing grows with them."""
    sizes = {}
    for rounds in 4000, 1000000:
        path = model(folder, f"large{rounds}", "(float[4] a) => (float[4] y)", f"""	m = Constant <value = int64 {{{rounds}}}> ()
	y = Loop <body = g (int64 i, bool c, float[4] x) => (bool on, float[4] z) {{ on = Identity (c) h = Constant <value = float {{0.5}}> () p = Mul (x, h) z = Add (p, a) }}> (m, , a)""")
        done = subprocess.run([INGOT, "show", path, "--stage", "source"], capture_output=True, text=True)
        sizes[rounds] = done.stdout.count("\n")
        for target in TARGETS[:3]:
            code, said, got = run(folder, path, {"a": np.arange(4, dtype="f4")}, ["y"], target)
            expect(f"{rounds} rounds on {target}", code == 0 and np.array_equal(got[0], 2 * np.arange(4)), said)
    expect("lines of 4000 and of 10^6 rounds", sizes[4000] == sizes[1000000] > 0, sizes)


def libraries(folder):
    """C99 and C++ without a warning; the managed profile, as one call and as a schedule of kernels, has the bits of the bare one; the manifest fits its schema."""
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), "managed"))
    sys.argv = [sys.argv[0], INGOT]
    import managed
    packages = managed.packages
    packages.INGOT = INGOT
    scan = model(folder, "scan", "(float[3] h0, float[3,3] w, float[3,90] x, double[90,2] z) => (float[3] y, float[3,90] s, double[90,2] r)", RECURRENT)
    bare = os.path.join(folder, "bare")
    manifest = packages.build(scan, "scan", bare, "--cpu", "generic")
    for words in ["gcc", "-std=c99"], ["g++", "-std=c++17", "-x", "c++"], ["clang", "-std=c99"]:
        for file in ("scan.c", "scan_kernels.c") if shutil.which(words[0]) else ():
            done = subprocess.run([*words, *STRICT, file], cwd=bare, capture_output=True, text=True)
            expect(f"{' '.join(words)} {file}", done.returncode == 0, done.stderr)
    draw = np.random.default_rng(4)
    for i, one in enumerate(manifest["inputs"]):
        draw.uniform(-1, 1, one["dims"]).astype({"float": "f4", "double": "f8"}[one["type"]]).tofile(os.path.join(bare, f"in{i}"))
    main = packages.driver(manifest, bare)
    packages.call(["gcc", "-o", os.path.join(bare, "program"), main, "-I", bare, os.path.join(bare, manifest["library"]), "-lm", "-pthread"])
    packages.answer(manifest, os.path.join(bare, "program"), bare)
    for schedule in "call", "steps":
        made = os.path.join(folder, schedule)
        other = packages.build(scan, "scan" + schedule, made, "--profile", "managed", "--threads", "2", "--schedule", schedule)
        packages.call([managed.program_of(other, made)], cwd=bare)
    try:
        import jsonschema
    except ImportError as missing:
        print(f"the manifest is not held against its schema: {missing}")
    else:
        jsonschema.validate(manifest, json.load(open(os.path.join(HERE, "..", "..", "docs", "manifest.schema.json"))))
    expect("the manifest tells the body", any("body" in kernel and kernel["rounds"] == 90 for kernel in manifest["kernels"]))


def unrolled(folder):
    """What cannot be one node is unrolled, and where that is too much the message says why."""
    grows = "	m = Constant <value = int64 {%d}> ()\n" \
            "	y = Loop <body = g (int64 i, bool c, float[n] x) => (bool on, float[k] z) { on = Identity (c) z = Concat <axis = 0> (x, a) }> (m, , a)"
    path = model(folder, "grows", "(float[2] a) => (float[602] y)", grows % 300)
    code, said, got = run(folder, path, {"a": np.array([1, 2], "f4")}, ["y"], "interpreter")
    expect("a tensor that grows", code == 0 and got[0].shape == (602,), said)
    code, said, _ = run(folder, model(folder, "grows_much", "(float[2] a) => (float[n] y)", grows % 5000), {"a": np.array([1, 2], "f4")}, [], "interpreter")
    expect("a tensor that grows for ever", code == 6 and "more than 4096 rounds" in said and "a shape changes from round to round" in said, f"{code} {said}")


def recurrent_nodes(folder):
    """LSTM, GRU and RNN as a loop have the bits of the unrolled ones; and more steps than anybody unrolls."""
    draw = np.random.default_rng(5)
    steps, batch, size, wide = 9, 3, 5, 4
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}
    for kind, more, lengths, state in [("LSTM", "", False, False), ("LSTM", "direction = \"bidirectional\", ", True, True), ("GRU", "direction = \"reverse\", ", True, False),
                                       ("GRU", "linear_before_reset = 1, ", False, True), ("RNN", "direction = \"bidirectional\", ", True, True), ("LSTM", "peep", False, True)]:
        dirs, n, peep = 2 if "bi" in more else 1, gates[kind], more == "peep"
        shapes = {"x": (steps, batch, wide), "w": (dirs, n * size, wide), "r": (dirs, n * size, size), "b": (dirs, 2 * n * size)}
        inputs = {name: draw.uniform(-1, 1, shape).astype("f4") for name, shape in shapes.items()}
        operands = ["x", "w", "r", "b", "", "", "", ""]
        if lengths:
            inputs["lens"], operands[4] = np.array([9, 4, 1], "i4"), "lens"
        if state:
            inputs["h0"], operands[5] = draw.uniform(-1, 1, (dirs, batch, size)).astype("f4"), "h0"
        if peep:
            inputs["c0"], inputs["p"], operands[6], operands[7] = draw.uniform(-1, 1, (dirs, batch, size)).astype("f4"), draw.uniform(-1, 1, (dirs, 3 * size)).astype("f4"), "c0", "p"
        while not operands[-1]:
            operands.pop()
        types = ", ".join(f"{'int32' if value.dtype == np.int32 else 'float'}{list(value.shape)} {name}" for name, value in inputs.items())
        outs = ["y", "yh", "yc"][:3 if kind == "LSTM" else 2]
        path = model(folder, "net", f"({types}) => (float[{steps},{dirs},{batch},{size}] y, " + ", ".join(f"float[{dirs},{batch},{size}] {o}" for o in outs[1:]) + ")",
                     f"\t{', '.join(outs)} = {kind} <{'' if peep else more}hidden_size = {size}> ({', '.join(operands)})")
        code, said, want = run(folder, path, inputs, outs, "interpreter", INGOT_REPEAT="1e12")
        expect(f"{kind} {more}: unrolled", code == 0, said)
        for target in TARGETS if kind != "RNN" else TARGETS[:2]:
            code, said, got = run(folder, path, inputs, outs, target, INGOT_REPEAT="0")
            expect(f"{kind} {more}on {target}", code == 0 and all(a.tobytes() == b.tobytes() for a, b in zip(want, got)), said or [np.argwhere(a != b)[:4] for a, b in zip(want, got)])
        shown = subprocess.run([INGOT, "show", path, "--stage", "definitions"], capture_output=True, text=True, env={**os.environ, "INGOT_REPEAT": "0"}).stdout
        expect(f"{kind} {more}is a loop", shown.count(" of repeat(8 rounds") == dirs)
    long = model(folder, "long", "(float[100000,1,2] x) => (float[1,1,2] yh)", """	w = Constant <value = float[1,2,2] {0.5, 0.25, -0.25, 0.5}> () r = Constant <value = float[1,2,2] {0.5, 0, 0, 0.5}> ()
	, yh = RNN <hidden_size = 2> (x, w, r)""")
    x = draw.uniform(-1, 1, (100000, 1, 2)).astype("f4")
    h = np.zeros(2)
    for t in range(99900, 100000):                                      # what was before is forgotten
        h = np.tanh(np.array([[0.5, 0.25], [-0.25, 0.5]]) @ x[t, 0] + 0.5 * h)
    for target in TARGETS[:3]:
        code, said, got = run(folder, long, {"x": x}, ["yh"], target)
        expect(f"100000 steps on {target}", code == 0 and np.allclose(got[0].ravel(), h, atol=1e-4), f"{said} {got} {h}")


PARTS = {"endless": endless, "recurrent": recurrent_nodes, "numbers": numbers, "ends": ends, "text": text, "libraries": libraries, "unrolled": unrolled}
for part in sys.argv[2:]:
    with tempfile.TemporaryDirectory() as folder:
        PARTS[part](folder)
print("loops are right" if not wrong else f"{wrong} wrong")
sys.exit(wrong > 0)
