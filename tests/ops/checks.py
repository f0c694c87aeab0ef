#!/usr/bin/env python3
"""Operands that come at run time: they compute what the same constants do, and wrong ones end a run with a status.

    checks.py INGOT codes           each wrong operand: exit 3 and why, by the interpreter, the JIT and the emulator; the code of the header, by gcc and clang, nothing read outside
    checks.py INGOT sweep SEED N    drawn operands, at run time and constant: equal bits, by the interpreter and the JIT, some by C and the emulator
    checks.py INGOT libraries       codes of libraries for several CPUs, of several graphs, with a state; of routines in the runtime, called and step by step
Ends with 77 where NumPy is not there."""
import os, random, shutil, subprocess, sys, tempfile

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from same import same

INVALID, ENVIRONMENT = 3, 5
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-pedantic", "-Werror", "-fsyntax-only"]
C = {"float": "float", "int64": "long long", "int32": "int"}


class Case:
    """A node: data, the operand (input 1, or 0 where there is no data) and what is right and wrong of it."""
    def __init__(self, node, data, operand, out, right, wrong, why, type="int64", more="", opset=18):
        self.node, self.data, self.operand, self.out, self.right, self.wrong, self.why = node, data, operand, out, right, wrong, why
        self.type, self.more, self.opset = type, more, opset

    def text(self, name, constant=None):
        dims = lambda d: ",".join(map(str, d))
        inputs = [f"float[{dims(self.data)}] x"] if self.data is not None else []
        if constant is None:
            inputs.append(f"{self.type}[{dims(self.operand)}] o" if self.operand else f"{self.type} o")
        shape = f"[{dims(self.operand)}]" if self.operand else ""
        body = f"o = Constant <value = {self.type}{shape} {{{', '.join(map(str, constant))}}}> ()\n" if constant is not None else ""
        extra = f"float[{self.more}] u" if self.more else ""
        return (f'<ir_version: 9, opset_import: ["" : {self.opset}]>\n{name} ({", ".join(inputs + [extra] * bool(extra))}) => (float[{dims(self.out)}] y)\n'
                f"{{\n{body}y = {self.node}\n}}\n")

    def arrays(self, values, draw=random.Random(5)):
        arrays = {"o": numpy.array(values, "i4" if self.type == "int32" else "i8").reshape(self.operand)}
        if self.data is not None:
            arrays["x"] = numpy.array([draw.choice([-0.0, 0.5, -1.75, 3.25, 1e-3]) + draw.random() for _ in range(int(numpy.prod(self.data)))], "f4").reshape(self.data)
        if self.more:
            dims = [int(d) for d in self.more.split(",")]
            arrays["u"] = numpy.arange(numpy.prod(dims), dtype="f4").reshape(dims)
        return arrays


BIG = 2 ** 62
CASES = [
    Case("Reshape (x, o)", [4, 6], [2], [3, 8], [[3, 8], [-1, 8], [3, -1]], [[2, 12], [-1, -1], [8, 3], [3, BIG], [0, 8], [-2, 8]], "the shape at run time is not [3, 8]"),
    Case("Reshape (x, o)", [4, 6], [3], [4, 3, 2], [[0, 3, 2], [0, -1, 2]], [[0, 0, 1], [-1, 0, 2]], "is not [4, 3, 2]"),
    Case("Reshape <allowzero = 1> (x, o)", [0, 6], [2], [0, 6], [[0, 6], [-1, 6]], [[0, -1], [6, 0]], "is not [0, 6]"),
    Case("Expand (x, o)", [3, 1], [3], [2, 3, 4], [[2, 3, 4], [2, 1, 4]], [[2, 3, 1], [1, 3, 4], [2, 3, -1], [2, 3, BIG]], "does not expand the data to [2, 3, 4]"),
    Case("Squeeze (x, o)", [1, 4, 1, 6, 1], [2], [1, 4, 6], [[2, 4], [-1, 2], [-1, -3]], [[0, 4], [1, 4], [2, 2], [4, -1], [5, 2], [-BIG, 2]], "do not make [1, 4, 6]"),
    Case("Unsqueeze (x, o)", [4, 6], [2], [1, 4, 1, 6], [[0, 2], [-2, 0], [-4, -2]], [[0, 1], [0, 0], [2, 4], [-5, 0]], "do not make [1, 4, 1, 6]"),
    Case("ConstantOfShape (o)", None, [2], [3, 2], [[3, 2]], [[2, 3], [3, -1], [3, BIG]], "is not [3, 2]"),
    Case("Gather <axis = 1> (x, o)", [2, 6], [3], [2, 3], [[0, -1, 5], [-6, 2, 2]], [[6, 0, 0], [0, 0, -7], [0, BIG, 0]], "is not in [-6, 5]"),
    Case("Gather (x, o)", [7, 3], [70], [70, 3], [[i % 14 - 7 for i in range(70)]], [[0] * 69 + [7]], "is not in [-7, 6]", type="int32"),
    Case("GatherElements (x, o)", [3, 2], [2, 2], [2, 2], [[2, -1, 0, 1]], [[0, 3, 0, 0], [0, 0, 0, -4]], "is not in [-3, 2]"),
    Case("GatherND (x, o)", [3, 2], [2, 2], [2], [[2, -1, 0, 1]], [[2, 2, 0, 0], [0, 0, 3, 0]], "an index at run time"),
    Case("ScatterElements (x, o, u)", [3, 2], [2, 2], [3, 2], [[2, -1, 0, 1]], [[0, 3, 0, 0], [-4, 0, 0, 0]], "is not in [-3, 2]", more="2,2"),
    Case("ScatterND (x, o, u)", [3, 2], [2, 1], [3, 2], [[2, -3]], [[3, 0], [0, -BIG]], "is not in [-3, 2]", more="2,2"),
    Case("TensorScatter (x, u, o)", [2, 1, 4, 2], [2], [2, 1, 4, 2], [[1, 2], [0, 0]], [[3, 0], [0, -1]], "is not in [0, 2]", more="2,1,2,2", opset=24),
    Case("ReverseSequence <batch_axis = 0, time_axis = 1> (x, o)", [2, 3], [2], [2, 3], [[1, 3]], [[4, 1], [1, -1]], "is not in [0, 3]"),
    Case("CumSum (x, o)", [2, 3], [], [2, 3], [[0], [-1], [1]], [[2], [-3]], "is not in [-2, 1]"),
    Case("ReduceSum (x, o)", [3, 2, 4], [2], [1, 2, 1], [[0, 2], [-1, 0], [2, -3]], [[0, 1], [0, 0], [0, 3], [1, 2]], "do not make [1, 2, 1]"),
    Case("ReduceL2 <keepdims = 0> (x, o)", [3, 3, 2], [1], [3, 2], [[0], [1], [-2], [-3]], [[2], [3], [-1], [-4]], "do not make [3, 2]"),
    Case("ReduceLogSumExp <keepdims = 0> (x, o)", [2, 1, 2, 3, 1], [2], [2, 3, 1], [[0, 1], [1, 2], [-3, 1]], [[0, 2], [0, 4], [1, 1]], "do not make [2, 3, 1]"),
    Case("Loop <body = b (int64 i, bool c) => (c, float[2] s) { f = Cast <to = 1> (i) s = Add (x, f) }> (o, )", [2], [], [3, 2], [[3]], [[0], [2], [4], [-1], [BIG]],
         "the rounds at run time are not 3"),
    # what a branch asks counts where the branch is taken
    Case("If (low) <then_branch = t () => (r) { r = Gather (x, o) }, else_branch = e () => (r) { r = Gather (x, zero) }>\nlow = Less (o, ten)\n"
         "ten = Constant <value = int64 {10}> ()\nzero = Constant <value = int64 {0}> ()", [4], [], [], [[3], [-4], [10], [BIG]], [[4], [9], [-5], [-BIG]], "is not in [-4, 3]"),
    Case("ReduceMean <keepdims = 1> (x, o)", [70, 1, 2], [2], [1, 1, 2], [[0, 1], [0, 0], [1, -3]], [[1, 1], [0, 2]], "do not make [1, 1, 2]"),
]


def run(ingot, folder, path, arrays, *options):
    """Its output, or (exit code, message)."""
    given = []
    for name, array in arrays.items():
        numpy.save(os.path.join(folder, f"{name}.npy"), array)
        given += ["--input", f"{name}={folder}/{name}.npy"]
    done = subprocess.run([ingot, "run", path, *given, "--output", f"y={folder}/y.npy", "--target", *options], capture_output=True, text=True)
    return numpy.load(os.path.join(folder, "y.npy")) if not done.returncode else (done.returncode, done.stderr)


def write(folder, name, text):
    path = os.path.join(folder, f"{name}.onnxtxt")
    with open(path, "w") as file:
        file.write(text)
    return path


def driver(cases):
    """C that runs each case with each operand, in memory of just their sizes: what is right gives 0, what is wrong a code of the header."""
    text = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    text += "static void *copy(const void *of, size_t bytes) { void *to = malloc(bytes + !bytes); if (!to) abort(); if (bytes) memcpy(to, of, bytes); return to; }\n"
    main = "int main(void)\n{\n\tint bad = 0, code;\n"
    for n, case in enumerate(cases):
        text += f'#include "c{n}/case{n}.h"\n'
        for k, values in enumerate(case.right + case.wrong):
            arrays, sets, frees = case.arrays(values), "", ""
            for name, array in arrays.items():
                type = "float" if array.dtype == "f4" else C[case.type]
                words = ", ".join(f"{float(v).hex()}f" if type == "float" else f"{v}" + ("ll" if type == "long long" else "") for v in array.ravel().tolist())
                main += f"\tstatic const {type} {name}_{n}_{k}[] = {{ {words or '0'} }};\n"
                sets += f"\t\tin.{name} = ({type} *)copy({name}_{n}_{k}, {array.size} * sizeof({type}));\n"
                frees += f"\t\tfree((void *)(size_t)in.{name});\n"
            size = int(numpy.prod(case.out)) * 4
            main += (f"\t{{\n\t\tstruct case{n}_inputs in = {{ 0 }};\n\t\tstruct case{n}_outputs out = {{ 0 }};\n\t\tstruct case{n}_context context = {{ 0 }};\n"
                     f"\t\tstatic _Alignas(64) unsigned char workspace[CASE{n}_WORKSPACE_BYTES + 1];\n\t\tcontext.workspace = workspace;\n{sets}"
                     f"\t\tout.y = (float *)malloc({size} + !{size});\n\t\tcode = case{n}_run(&in, &out, &context);\n"
                     f"\t\tif ({'code' if k < len(case.right) else f'code < CASE{n}_BAD_OPERAND'}) bad |= printf(\"case {n}, {values if len(values) < 9 else values[-1:]}: %d\\n\", code);\n"
                     f"{frees}\t\tfree(out.y);\n\t}}\n")
    return text + main + "\treturn bad != 0;\n}\n"


def codes(ingot):
    bad = 0
    emulated = set(random.Random(7).sample(range(len(CASES)), 4))
    with tempfile.TemporaryDirectory() as folder:
        for n, case in enumerate(CASES):
            path = write(folder, f"case{n}", case.text(f"case{n}"))
            for values in case.right + case.wrong:
                for target in ["interpreter", "jit"] + ["cuda-emulated"] * (n in emulated and values in (case.right[-1], case.wrong[-1])):
                    got = run(ingot, folder, path, case.arrays(values), target)
                    if isinstance(got, tuple) and got[0] == ENVIRONMENT and target != "interpreter":
                        continue
                    wrong = isinstance(got, tuple) and (got[0] != INVALID or case.why not in got[1] or (target == "interpreter" and len(values) < 16 and "o is" not in got[1]))
                    if wrong or isinstance(got, tuple) != (values in case.wrong):
                        print(f"{case.node} with {values} on {target}: {got}")
                        bad = 1
            out = os.path.join(folder, f"c{n}")
            subprocess.run([ingot, "build", path, "--no-compile", "--weights", "c", "--cpu", "generic", "-o", out], check=True, capture_output=True)
            header = open(os.path.join(out, f"case{n}.h")).read()
            if case.why not in header:
                print(f"{case.node}: its header does not say {case.why!r}")
                bad = 1
        with open(os.path.join(folder, "main.c"), "w") as file:
            file.write(driver(CASES))
        sources = [os.path.join(folder, f"c{n}", f) for n in range(len(CASES)) for f in sorted(os.listdir(os.path.join(folder, f"c{n}"))) if f.endswith(".c")]
        for compiler in filter(shutil.which, ("gcc", "clang")):
            made = subprocess.run([compiler, "-O1", "-g", "-ffp-contract=off", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o", "main", "main.c", *sources, "-lm"],
                                  cwd=folder, capture_output=True, text=True)
            done = subprocess.run([os.path.join(folder, "main")], capture_output=True, text=True) if not made.returncode else made
            if done.returncode:
                print(f"{compiler}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
                bad = 1
        strict = [["gcc", "-std=c99"]] + [["g++", "-x", "c++"]] * bool(shutil.which("g++"))
        for compile in strict:
            made = subprocess.run([*compile, *STRICT, *[s for s in sources if "_weights" not in s]], cwd=folder, capture_output=True, text=True)
            if made.returncode:
                print(f"{' '.join(compile)}: {made.stderr[:2000]}")
                bad = 1
    return bad


def drawn(draw):
    """A case whose operand is right."""
    dims = lambda n: [draw.choice([1, 1, 2, 3, 5]) for _ in range(n)]
    kind = draw.choice(["reshape", "expand", "squeeze", "unsqueeze", "gather", "scatter", "reduce", "reduce", "reduce"])
    data = dims(draw.randint(1, 4))
    rank = len(data)
    if kind == "reshape":
        flat, out = int(numpy.prod(data)), []
        while flat > 1 and draw.random() < 0.8:
            factor = draw.choice([f for f in range(1, flat + 1) if flat % f == 0])
            out.append(factor)
            flat //= factor
        out.append(flat)
        numbers = [0 if d < rank and data[d] == n and draw.random() < 0.3 else n for d, n in enumerate(out)]
        if draw.random() < 0.4:
            numbers[draw.randrange(len(numbers))] = -1
        return Case("Reshape (x, o)", data, [len(out)], out, [numbers], [], "")
    if kind == "expand":
        shape = [draw.choice([1, n]) if n > 1 else draw.choice([1, 4]) for n in data]
        shape = dims(draw.randint(0, 2)) + shape
        out = list(numpy.broadcast_shapes(data, shape))
        return Case("Expand (x, o)", data, [len(shape)], out, [shape], [], "")
    if kind == "squeeze":
        ones = [d for d in range(rank) if data[d] == 1]
        axes = draw.sample(ones, draw.randint(1, len(ones))) if ones else []
        if not axes:
            return drawn(draw)
        return Case("Squeeze (x, o)", data, [len(axes)], [n for d, n in enumerate(data) if d not in axes], [[a - draw.choice([0, rank]) for a in axes]], [], "")
    if kind == "unsqueeze":
        more = draw.randint(1, 2)
        axes, rest = draw.sample(range(rank + more), more), iter(data)
        out = [1 if d in axes else next(rest) for d in range(rank + more)]
        return Case("Unsqueeze (x, o)", data, [more], out, [[a - draw.choice([0, rank + more]) for a in axes]], [], "")
    if kind == "gather":
        axis, at = draw.randrange(rank), dims(draw.randint(0, 2))
        return Case(f"Gather <axis = {axis}> (x, o)", data, at, data[:axis] + at + data[axis + 1:],
                    [[draw.randrange(-data[axis], data[axis]) for _ in range(int(numpy.prod(at)))]], [], "", type=draw.choice(["int64", "int32"]))
    if kind == "scatter":
        at = [draw.randint(1, n) for n in data]
        axis = draw.randrange(rank)
        return Case(f'ScatterElements <axis = {axis}, reduction = "{draw.choice(["none", "add"])}"> (x, o, u)', data, at, data,
                    [[draw.randrange(-data[axis], data[axis]) for _ in range(int(numpy.prod(at)))]], [], "", more=",".join(map(str, at)))
    axes, keep = draw.sample(range(rank), draw.randint(1, rank)), draw.randrange(2)
    out = [1 if d in axes else n for d, n in enumerate(data) if keep or d not in axes]
    op = draw.choice(["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"])
    return Case(f"Reduce{op} <keepdims = {keep}> (x, o)", data, [len(axes)], out, [[a - draw.choice([0, rank]) for a in axes]], [], "")


def sweep(ingot, seed, count):
    draw, bad = random.Random(seed), 0
    for n in range(count):
        case = drawn(draw)
        with tempfile.TemporaryDirectory() as folder:
            late, fixed = write(folder, "late", case.text("late")), write(folder, "fixed", case.text("fixed", case.right[0]))
            arrays = case.arrays(case.right[0], draw)
            want = run(ingot, folder, fixed, {k: v for k, v in arrays.items() if k != "o"}, "interpreter")
            for target in ["interpreter"], ["jit"], *[["c", "--cpu", draw.choice(["native", "generic"])], ["cuda-emulated"]] * (n % 10 == 0):
                got = run(ingot, folder, late, arrays, *target)
                if isinstance(got, tuple) and got[0] == ENVIRONMENT and target[0] != "interpreter":
                    continue
                if isinstance(got, tuple) or isinstance(want, tuple) or not same(want, got):
                    print(f"seed {seed}, case {n}: {case.node} of {case.data} by {case.right[0]} on {' '.join(target)}: {got}, {want} is right")
                    bad = 1
    print(f"{count} operands at run time drawn")
    return bad


FIRST = 'first (float[4,6] x, int64[2] shape, float[3,8] h) => (float[3,8] y, float[3,8] n) {\n\ty = Reshape (x, shape)\n\tn = Add (h, y)\n}\n'
SECOND = 'second (float[3,8] y, int64[2] at) => (float[2,8] z) { z = Gather (y, at) }\n'

BARE = """#include "both.h"
#include <stdio.h>
#include <string.h>
static unsigned char workspace[1 << 12] __attribute__((aligned(64))), state[1 << 10] __attribute__((aligned(64)));
int main(void)
{
	static float x[24], y[24], z[16];
	static const long long right[] = { 3, 8 }, wrong[] = { 2, 12 }, at[] = { 2, -3 }, outside[] = { 0, 3 };
	struct both_first_inputs in = { 0 };
	struct both_first_outputs out = { 0 };
	struct both_first_context context = { 0 };
	struct both_second_inputs in2 = { 0 };
	struct both_second_outputs out2 = { 0 };
	struct both_second_context context2 = { 0 };
	unsigned char before[sizeof state];
	for (int i = 0; i < 24; i++)
		x[i] = (float)i + 1;
	in.x = x, in.shape = right, out.y = y;
	in2.y = y, in2.at = at, out2.z = z;
	context.workspace = context2.workspace = workspace;
	context.state = state;
	int codes[5] = { both_first_reset(&context), both_first_run(&in, &out, &context) };
	memcpy(before, state, sizeof state);
	in.shape = wrong;
	codes[2] = both_first_run(&in, &out, &context);
	int kept = !memcmp(before, state, sizeof state) && *(float *)(void *)state == 1;
	codes[3] = both_second_run(&in2, &out2, &context2);
	in2.at = outside;
	codes[4] = both_second_run(&in2, &out2, &context2);
	printf("%d %d %d %d %d, kept %d, apart %d\\n", codes[0], codes[1], codes[2] == BOTH_FIRST_BAD_OPERAND, codes[3], codes[4] == BOTH_SECOND_BAD_OPERAND, kept,
		BOTH_FIRST_BAD_OPERAND != BOTH_SECOND_BAD_OPERAND);
	return 0;
}
"""

MANAGED = """#include "both.h"
#include "ingot/context.h"
#include <stdio.h>
#include <string.h>
static const float x[24] = { 1, 2, 3 };
static struct ingot_node node(struct ingot_library library, const char *name)
{
	struct ingot_node found;
	if (ingot_library_node(library, name, &found))
		printf("no %s\\n", name);
	return found;
}
static void try(const char *backend, const long long *shape)
{
	struct ingot_runtime *runtime;
	struct ingot_device device;
	struct ingot_library library;
	struct ingot_stream stream;
	struct ingot_context base, linked;
	struct ingot_routine routine;
	struct ingot_event done;
	float n[24] = { 0 };
	if (ingot_runtime_open(&runtime, 0) || ingot_backend_init(runtime, backend, 0) || ingot_device_get(runtime, backend, 0, &device)
		|| ingot_library_load(runtime, &both_module, 0, &library) || ingot_stream_open(device, &stream) || ingot_context_new(stream, &base)
		|| ingot_link(base, library, "first", &routine) || ingot_routine_context(routine, &linked)
		|| ingot_write(linked, node(library, "x"), x, sizeof x, 0) || ingot_write(linked, node(library, "shape"), shape, 16, 0)) {
		printf("%s\\n", ingot_message());
		return;
	}
	enum ingot_status status = ingot_routine_run(routine, 0);
	if (!status)
		status = ingot_stream_await(stream);
	printf("%s %s: %s\\n", backend, ingot_status_name(status), status ? ingot_message() : "");
	if (status)
		ingot_stream_restart(stream);
	if (!ingot_read(linked, node(library, "h"), n, sizeof n, &done) && !ingot_event_sync(done))
		printf("state %g\\n", (double)n[0]);
	else
		printf("state 0\\n");                           /* it is not there: what would have written it failed */
	ingot_runtime_close(runtime);
}
int main(void)
{
	static const long long right[] = { 3, 8 }, wrong[] = { 2, 12 };
	try("sync", right);
	try("sync", wrong);
	try("multicore", right);
	try("multicore", wrong);
	return 0;
}
"""


def libraries(ingot):
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        head = '<ir_version: 9, opset_import: ["" : 18]>\n'
        paths = [write(folder, "first", head + FIRST), write(folder, "second", head + SECOND)]
        def built(name, *options):
            done = subprocess.run([ingot, "build", *options, "-o", os.path.join(folder, name)], capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"build {' '.join(options)}: {done.stderr}")
            return os.path.join(folder, name)
        def said(name, main, *more):
            with open(os.path.join(folder, name, "main.c"), "w") as file:
                file.write(main)
            made = subprocess.run(["gcc", "-Wall", "-Wextra", "-o", "main", "main.c", *more], cwd=os.path.join(folder, name), capture_output=True, text=True)
            return made.stderr if made.returncode else subprocess.run(["./main"], cwd=os.path.join(folder, name), capture_output=True, text=True).stdout
        both = [*paths, "--name", "both", "--state", "h=n", "--cpu", "generic"]
        built("bare", *both)
        text = said("bare", BARE, "libboth.a", "-lm")
        if text != "0 0 1 0 1, kept 1, apart 1\n":
            print(f"bare: {text}")
            bad = 1
        for schedule in "call", "steps":
            built(schedule, *both, "--profile", "managed", "--schedule", schedule)
            text = said(schedule, MANAGED, "-Iruntime/include", "libboth.a", "libingot_runtime.a", "-lm", "-pthread")
            lines = text.splitlines()
            if len(lines) != 8 or any("the shape at run time is not [3, 8]" not in lines[n] for n in (2, 6)) or [lines[n] for n in (1, 3, 5, 7)] != ["state 1", "state 0"] * 2:
                print(f"managed, {schedule}: {text}")
                bad = 1
        out = built("cpus", paths[0], "--cpu", "x86-64-v3,generic", "--name", "first", "--no-compile")
        with open(os.path.join(out, "first.json")) as file:
            manifest = file.read()
        if manifest.count('"code": 16') != 3 or "the shape at run time" not in open(os.path.join(out, "first.h")).read():
            print(f"for several CPUs: {manifest}")
            bad = 1
    return bad


sys.exit(codes(sys.argv[1]) if sys.argv[2] == "codes" else libraries(sys.argv[1]) if sys.argv[2] == "libraries" else sweep(sys.argv[1], int(sys.argv[3]), int(sys.argv[4])))
