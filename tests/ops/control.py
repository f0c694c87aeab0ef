#!/usr/bin/env python3
"""Draws graphs with Ifs, Loops and Scans, in each other too, and compares the interpreter with onnxruntime, and targets with the interpreter bit for bit.

    control.py INGOT SEED COUNT [TARGET...]

Ends with 77 where onnxruntime, NumPy or a target is not there."""
import os, random, subprocess, sys, tempfile

try:
    import numpy, onnx, onnx.parser, onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from same import same

WIDTH, DEEPEST, ENVIRONMENT, SKIPPED = 3, 3, 5, 77


class Drawing:
    """A graph whose values are float[WIDTH], but for the weights w, the conditions c0 and c1, the counts m0 and m1 and what is scanned, x0 and x1."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0
        self.trips = [self.random.randrange(4) for _ in range(2)]

    def name(self, like):
        self.names += 1
        return f"{like}_{self.names}"

    def constant(self, lines, kind, value):
        name = self.name("k")
        lines.append(f"{name} = Constant <value = {kind} {{{value}}}> ()")
        return name

    def plain(self, lines, there):
        name, pick = self.name("v"), self.random.choice
        kind = self.random.random()
        if kind < 0.15:                                                # what is worth asking a condition for
            lines.append(f"{name} = MatMul ({pick(there)}, w)")
        elif kind < 0.5:
            lines.append(f"{name} = {pick(['Neg', 'Tanh', 'Relu', 'Abs', 'Sigmoid', 'Identity'])} ({pick(there)})")
        else:
            lines.append(f"{name} = {pick(['Add', 'Sub', 'Max', 'Min'])} ({pick(there)}, {pick(there)})")
        return name

    def body(self, there, depth, count):
        """Lines, and `count` values that they made."""
        lines, there = [], list(there)
        for _ in range(self.random.randrange(1, 4)):
            there += self.value(lines, there, depth)
        outs = []
        for _ in range(count):
            outs.append(self.name("o"))
            lines.append(f"{outs[-1]} = Identity ({self.random.choice(there[-3:])})")
        return " ".join(lines), outs

    def condition(self, lines):
        return self.random.choice(["c0", "c1"]) if self.random.random() < 0.7 else self.constant(lines, "bool", self.random.randrange(2))

    def value(self, lines, there, depth):
        kind = self.random.random() if depth < DEEPEST else 1
        if kind < 0.15:
            return self.branches(lines, there, depth)
        if kind < 0.3:
            return self.loop(lines, there, depth)
        if kind < 0.45:
            return self.scan(lines, there, depth)
        return [self.plain(lines, there)]

    def branches(self, lines, there, depth):
        count = self.random.randrange(1, 3)
        if self.random.random() < 0.3:
            return self.rows(lines, there, depth)
        graphs = []
        for name in ("then_branch", "else_branch"):
            text, outs = self.body(there, depth + 1, count)
            graphs.append(f"{name} = {self.name('g')} () => ({', '.join(f'float[{WIDTH}] {o}' for o in outs)}) {{ {text} }}")
        made = [self.name("v") for _ in range(count)]
        lines.append(f"{', '.join(made)} = If <{', '.join(graphs)}> ({self.condition(lines)})")
        return made

    def rows(self, lines, there, depth):
        """Branches of one to three rows, or none; then what is there of them, weighed and added."""
        graphs = []
        for name in ("then_branch", "else_branch"):
            rows, out, axes = self.random.randrange(4), self.name("o"), self.name("k")
            text, outs = self.body(there, depth + 1, rows)
            parts = [self.name("u") for _ in outs]
            text += f" {axes} = Constant <value_ints = [0]> () " + " ".join(f"{part} = Unsqueeze ({o}, {axes})" for part, o in zip(parts, outs))
            text += f" {out} = Concat <axis = 0> ({', '.join(parts)})" if rows else f" {out} = Constant <value = float[0,{WIDTH}] {{}}> ()"
            graphs.append(f"{name} = {self.name('g')} () => (float[{rows},{WIDTH}] {out}) {{ {text} }}")
        made, most, across, sums, axes, value = [self.name(like) for like in "jmtskv"]
        lines.append(f"{made} = If <{', '.join(graphs)}> ({self.condition(lines)})")
        lines.append(f"{most} = ReduceMax <axes = [1], keepdims = 1> ({made}) {across} = Transpose ({most}) {sums} = MatMul ({across}, {made})")
        lines.append(f"{axes} = Constant <value_ints = [0]> () {value} = Squeeze ({sums}, {axes})")
        return [value]

    def loop(self, lines, there, depth):
        count, scans = self.random.randrange(1, 3), self.random.randrange(2)
        known = self.random.random() < 0.6 or scans
        trips = self.constant(lines, "int64", self.random.randrange(1, 4)) if known else self.constant(lines, "int64", 3)
        given, i, go, on = [self.name("a") for _ in range(count)], self.name("i"), self.name("g"), self.name("n")
        text, outs = self.body(there + given, depth + 1, count + scans)
        tests = f"{on} = Identity ({go})"
        if not known:                                                 # until a sum is large, which comes at run time
            least, total = self.name("l"), self.name("s")
            tests = f"{least} = Constant <value = float {{{self.random.uniform(-1, 3)}}}> () {total} = ReduceSum <keepdims = 0> ({outs[0]}) {on} = Less ({total}, {least})"
        made = [self.name("v") for _ in range(count + scans)]
        start = "" if known or self.random.random() < 0.5 else "c0"
        heads = f"int64 {i}, bool {go}, " + ", ".join(f"float[{WIDTH}] {a}" for a in given)
        lines.append(f"{', '.join(made)} = Loop <body = {self.name('g')} ({heads}) => (bool {on}, {', '.join(f'float[{WIDTH}] {o}' for o in outs)}) "
                     f"{{ {text} {tests} }}> ({trips}, {start}, {', '.join(self.random.choice(there) for _ in range(count))})")
        return self.folded(lines, made, count, 0)

    def scan(self, lines, there, depth):
        count, scans, axis, back, out, out_back = self.random.randrange(3), self.random.randrange(1, 3), *(self.random.randrange(2) for _ in range(4))
        given, part = [self.name("a") for _ in range(count)], self.name("p")
        text, outs = self.body(there + given + [part], depth + 1, count + scans)
        made = [self.name("v") for _ in range(count + scans)]
        heads = ", ".join(f"float[{WIDTH}] {a}" for a in given + [part])
        lines.append(f"{', '.join(made)} = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}], scan_input_directions = [{back}], scan_output_axes = {[out] * scans}, "
                     f"scan_output_directions = {[out_back] * scans}, body = {self.name('g')} ({heads}) => ({', '.join(f'float[{WIDTH}] {o}' for o in outs)}) {{ {text} }}> "
                     f"({', '.join([self.random.choice(there) for _ in range(count)] + [f'x{axis}'])})")
        return self.folded(lines, made, count, out)

    def folded(self, lines, made, count, axis):
        """What a loop stacks, back to values: the sums along that axis, weighted so that its order shows."""
        values = made[:count]
        for stack in made[count:]:
            running, at, name = self.name("r"), self.constant(lines, "int64", axis), self.name("v")
            lines.append(f"{running} = CumSum ({stack}, {at})")
            lines.append(f"{name} = ReduceMean <axes = [{axis}], keepdims = 0> ({running})")
            values.append(name)
        return values

    def text(self):
        lines, there = [], ["a", "b"]
        for _ in range(self.random.randrange(2, 5)):
            there += self.value(lines, there, 0)
        outs = []
        for i in range(2):
            lines.append(f"y{i} = Identity ({self.random.choice(there[-4:])})")
        body = "\n\t".join(lines)
        return (f'<ir_version: 8, opset_import: ["" : 17]>\ndrawn (float[{WIDTH}] a, float[{WIDTH}] b, float[{WIDTH},{WIDTH}] w, float[2,{WIDTH}] x0, float[{WIDTH},4] x1, bool c0, bool c1) => '
                f"(float[{WIDTH}] y0, float[{WIDTH}] y1)\n{{\n\t{body}\n}}\n")

    def inputs(self):
        numbers = numpy.random.default_rng(self.random.randrange(1 << 30))
        draw = lambda *shape: numbers.uniform(-2, 2, shape).astype("f4")
        return {"a": draw(WIDTH), "b": draw(WIDTH), "w": draw(WIDTH, WIDTH) / 2, "x0": draw(2, WIDTH), "x1": draw(WIDTH, 4), "c0": numpy.array(bool(numbers.integers(2))),
                "c1": numpy.array(bool(numbers.integers(2)))}


def run(ingot, path, inputs, target, folder):
    options = []
    for name, value in inputs.items():
        numpy.save(os.path.join(folder, name), value)
        options += ["--input", f"{name}={os.path.join(folder, name)}.npy"]
    for i in range(2):
        options += ["--output", f"y{i}={os.path.join(folder, f'y{i}')}.npy"]
    done = subprocess.run([ingot, "run", path, *options, "--target", target], capture_output=True, text=True)
    if done.returncode == ENVIRONMENT and target != "interpreter":
        print(f"skipped: {done.stderr.strip()}")
        sys.exit(SKIPPED)
    if done.returncode:
        return done.stderr.strip()
    return [numpy.load(os.path.join(folder, f"y{i}.npy")) for i in range(2)]


def main():
    ingot, seed, count, targets = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    bad = compared = 0
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1                    # others wait by spinning
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    with tempfile.TemporaryDirectory() as folder:
        for case in range(seed, seed + count):
            drawing = Drawing(case)
            text, inputs = drawing.text(), drawing.inputs()
            path = os.path.join(folder, "drawn.onnxtxt")
            with open(path, "w") as file:
                file.write(text)
            right = onnxruntime.InferenceSession(onnx.parser.parse_model(text).SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {
                k: v for k, v in inputs.items()})
            ours = run(ingot, path, inputs, "interpreter", folder)
            why = ours if isinstance(ours, str) else None
            for a, b in zip(right, ours) if not why else ():
                if a.shape != b.shape or not numpy.allclose(a, b, rtol=1e-4, atol=1e-5):
                    why = f"{b}, {a} is right"
            for target in targets if not why else ():
                theirs = run(ingot, path, inputs, target, folder)
                if isinstance(theirs, str) or not all(same(a, b) for a, b in zip(ours, theirs)):
                    why = f"{target}: {theirs}, {ours} is right"
            compared += 1
            if why:
                print(f"seed {case}: {why}\n{text}")
                bad += 1
    print(f"{compared - bad} of {compared} drawn graphs are right" + "".join(f", on {t} with equal bits" for t in targets))
    return bool(bad) or not compared


sys.exit(main())
