#!/usr/bin/env python3
"""tflite.py: TensorFlow Lite files.

    tflite.py INGOT cases | layers | bad | ends [--long]        exit 0: right, 1: wrong, 77: what it needs is missing

cases: MLPerf Tiny's networks by interpreter, C and JIT against LiteRT's outputs; the quantised ones have the bits, the workspace and the kernels of
their ONNX twins on a cortex-m4.  The drawn input of ic meets a tie that LiteRT's reference kernels round twice: that one has its twin's bits alone.
layers: each operator with a body, in each type, drawn: the JIT has the interpreter's bits, and LiteRT's kernels the numbers where PyPI's ai-edge-litert is there:
float within 1e-4 of the largest, int8 within 1; sums of int8, of which LiteRT has others, those that NumPy has.  With --long three of each, and by C.
bad: files that are broken: exit 3, byte and table named; what is not supported: exit 4, all of it listed with counts.
ends: names of inputs and outputs, open dims, state."""
import json
import os
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy here (INGOT_PYTHON names a Python that has it)")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests")]
import layers
from file import F32, I8, I32, U32, Net, Writer, ints
from same import same

CASES = os.environ.get("INGOT_CASES", os.path.join(ROOT, "..", "shared", "cases"))
NETWORKS = {"kws_float": None, "kws_int8": "mlperf_kws_i8", "ad_int8": "mlperf_ad_i8", "ic_int8": "mlperf_ic_i8", "vww_int8": "mlperf_vww_i8"}
layers.learn(os.path.join(ROOT, "generator", "tables", "tflite.h"))


class Wrong(Exception):
    pass


def call(*command, code=0):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != code:
        raise Wrong("%s: exit %d, not %d: %s" % (" ".join(command[:3]), done.returncode, code, done.stderr.strip()[:300]))
    return done.stdout if code == 0 else done.stderr


def run(ingot, folder, model, names, arrays, outputs, engine):
    """The outputs of a model by an engine."""
    command = [ingot, "run", model, "--target", engine]
    for k, (name, array) in enumerate(zip(names, arrays)):
        path = os.path.join(folder, "in_%d.npy" % k)
        np.save(path, array)
        command += ["--input", "%s=%s" % (name, path)]
    for k, name in enumerate(outputs):
        command += ["--output", "%s=%s" % (name, os.path.join(folder, "out_%d.npy" % k))]
    call(*command)
    return [np.load(os.path.join(folder, "out_%d.npy" % k)) for k in range(len(outputs))]


def board(ingot, model):
    """Kernels, arithmetic and workspace on a cortex-m4."""
    kernels = call(ingot, "show", model, "--stage", "kernels", "--cpu", "cortex-m4").splitlines()
    plan = call(ingot, "show", model, "--stage", "plan", "--cpu", "cortex-m4")
    workspace = int(plan[plan.index("workspace "):].split()[1])
    return sum(line.startswith("k") for line in kernels), [line.split()[1:] for line in kernels if line.startswith("    cost")], workspace


def cases(ingot, long):
    root = os.path.join(CASES, "tflite")
    if not os.path.isdir(root):
        print("skipped: no cases at %s" % root)
        return 77
    for name, twin in NETWORKS.items():
        folder = os.path.join(root, name)
        model, io = os.path.join(folder, "model.tflite"), json.load(open(os.path.join(folder, "io.json")))
        names, outputs = [one["name"] for one in io["inputs"]], [one["name"] for one in io["outputs"]]
        arrays = [np.load(os.path.join(folder, one["file"])) for one in io["inputs"]]
        with tempfile.TemporaryDirectory() as made:
            first = run(ingot, made, model, names, arrays, outputs, "interpreter")
            for engine in ("c", "jit"):
                if not all(map(same, first, run(ingot, made, model, names, arrays, outputs, engine))):
                    raise Wrong("%s: %s has other bits than the interpreter" % (name, engine))
            if twin:
                other = os.path.join(CASES, "models", twin, "model.onnx")
                if not all(map(same, first, run(ingot, made, other, ["input"], arrays, ["output"], "interpreter"))):
                    raise Wrong("%s: %s has other bits" % (name, twin))
                if board(ingot, model) != board(ingot, other):
                    raise Wrong("%s: kernels or workspace are not those of %s: %s, %s" % (name, twin, board(ingot, model), board(ingot, other)))
        for one, y in zip(io["outputs"], first):
            far = np.abs(y.astype(np.float64) - np.load(os.path.join(folder, one["file"])).astype(np.float64)).max()
            if far > one["atol"] and name != "ic_int8":
                raise Wrong("%s: %s is off by %g" % (name, one["name"], far))
        print("%s: right" % name)


def judge(layer, model, runs=1):
    """The outputs of the last of some runs by LiteRT; None where it has no such kernel."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    for kernels in (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        try:
            it = Interpreter(model, experimental_op_resolver_type=kernels)
            it.allocate_tensors()
        except (ValueError, RuntimeError):
            continue
        for one, array in zip(it.get_input_details(), layer.data):
            it.set_tensor(one["index"], array)
        for _ in range(runs):
            it.invoke()
        return [it.get_tensor(one["index"]) for one in it.get_output_details()]
    return None


def one_layer(ingot, folder, what, layer, engines, judged):
    model = os.path.join(folder, "layer.tflite")
    with open(model, "wb") as f:
        f.write(layer.bytes())
    names, outputs, data = ["x%d" % k for k in range(len(layer.inputs))], ["y%d" % k for k in range(len(layer.outputs))], list(layer.data)
    info = json.loads(call(ingot, "info", model, "--json"))
    states, runs = info["inputs"][len(names):], 3
    if states:                                               # each run's are the next one's; they begin as zeros
        given, names = names, names + [one["name"] for one in states]
        data += [np.zeros(one["dims"], {"float": "float32"}.get(one["type"], one["type"])) for one in states]
        outputs += [one["name"] + "_next" for one in states]
        for _ in range(runs - 1):
            data[len(given):] = run(ingot, folder, model, names, data, outputs, "interpreter")[len(layer.outputs):]
    first = run(ingot, folder, model, names, data, outputs, "interpreter")
    for engine in engines:
        if not all(map(same, first, run(ingot, folder, model, names, data, outputs, engine))):
            raise Wrong("%s: %s has other bits than the interpreter" % (what, engine))
    right = [layer.exact] if layer.exact is not None else judge(layer, model, runs if states else 1) if judged else None
    for y, r in zip(first, right or ()):
        if y.shape != r.shape or y.dtype != r.dtype:
            raise Wrong("%s: %s %s, the judge has %s %s" % (what, y.dtype, y.shape, r.dtype, r.shape))
        far = np.abs(y.astype(np.float64) - r.astype(np.float64)).max()
        if not far <= (1e-4 * np.abs(r).max() if r.dtype == np.float32 else 0 if r.dtype.kind not in "iu" or r.itemsize > 2 else 1):
            raise Wrong("%s: off by %g from what is right" % (what, far))
    return right is not None


def all_layers(ingot, long):
    try:
        import ai_edge_litert.interpreter  # noqa: F401
        judged = True
    except ImportError:
        judged = False
        print("LiteRT judges nothing: PyPI's ai-edge-litert is not there")
    count = beside = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in layers.CODES:
            for kind, draw in layers.draw(name).items():
                for seed in range(3 if long else 1):
                    layer = draw(np.random.default_rng(seed))
                    beside += one_layer(ingot, folder, "%s, %s, seed %d" % (name, kind, seed), layer, ["jit", "c"] if long else ["jit"], judged)
                    count += 1
    print("%d layers of %d operators: right, %d of them by a judge: LiteRT, or NumPy for sums of int8, where the two differ" % (count, len(layers.CODES), beside))


def small():
    """A network whose file the tests break: a convolution, a residual, a constant list."""
    rng = np.random.default_rng(7)
    layer = layers.conv(rng, "int8")
    shape = tuple(layer.tensors[layer.outputs[0]][0])
    y = layer.outputs.pop()
    out = layer.output((int(np.prod(shape)),), like=(0.11, 3))
    layer.op("RESHAPE", [y, layer.constant(ints([-1]))], [out], {0: ints([-1])}, 1)
    return layer


def broken():
    """(what, bytes) of each broken file."""
    def changed(what, change):
        layer = small()
        root = layer.root()
        change(layer, root)
        return what, Writer().file(root)

    def graph(root):
        return root[2][0]
    writer = Writer()
    whole = writer.file(small().root())
    places = writer.places
    for count in (9, 12, 40, 100, 300, len(whole) // 2, len(whole) - 64):
        yield "cut to %d bytes" % count, whole[:count]

    def at(offset, form, value):
        data = bytearray(whole)
        struct.pack_into("<" + form, data, offset, value)
        return bytes(data)
    yield "a root outside", at(0, "I", len(whole) + 5)
    yield "a root of 0", at(0, "I", 0)
    for kind, starts in places.items():
        start = starts[-1]
        back = struct.unpack_from("<i", whole, start)[0]
        vtable = start - back
        yield "%s: a vtable before the file" % kind, at(start, "i", start + 4)
        yield "%s: a vtable behind the file" % kind, at(start, "i", start - len(whole))
        yield "%s: a vtable of an odd size" % kind, at(vtable, "H", 7)
        yield "%s: a vtable of no size" % kind, at(vtable, "H", 0)
        yield "%s: a vtable beyond the file" % kind, at(vtable, "H", 0xfffe)
        yield "%s: a table beyond the file" % kind, at(vtable + 2, "H", 0xffff)
        for field in range((struct.unpack_from("<H", whole, vtable)[0] - 4) // 2):
            if struct.unpack_from("<H", whole, vtable + 4 + 2 * field)[0]:
                yield "%s: field %d outside of its table" % (kind, field), at(vtable + 4 + 2 * field, "H", 0xfff0)
    first = lambda kind, field: places[kind][0] + struct.unpack_from("<H", whole, places[kind][0] - struct.unpack_from("<i", whole, places[kind][0])[0] + 4 + 2 * field)[0]
    for kind, field in (("Model", 1), ("Model", 2), ("Model", 4), ("Model.2", 0), ("Model.2", 1), ("Model.2", 3), ("Model.2.0", 0), ("Model.2.0", 3), ("Model.2.3", 1), ("Model.2.3", 4)):
        place = first(kind, field)
        yield "%s: field %d leads outside" % (kind, field), at(place, "I", len(whole))
        if (kind, field) != ("Model.2.3", 4):
            vector = place + struct.unpack_from("<I", whole, place)[0]
            yield "%s: field %d has too many elements" % (kind, field), at(vector, "I", 0x7fffffff)
    yield changed("a tensor that is not there", lambda l, r: graph(r)[3][0].update({1: ints([99, 1, 2])}))
    yield changed("a negative tensor", lambda l, r: graph(r)[3][0].update({1: ints([-2, 1, 2])}))
    yield changed("an operator code that is not there", lambda l, r: graph(r)[3][0].update({0: U32(9)}))
    yield changed("an output that is not there", lambda l, r: graph(r).update({2: ints([77])}))
    yield changed("operators in a loop", lambda l, r: graph(r)[3][0].update({1: ints([l.outputs[0], 1, 2])}))
    yield changed("operators out of order", lambda l, r: graph(r).update({3: graph(r)[3][::-1]}))
    yield changed("a tensor made twice", lambda l, r: graph(r).update({3: graph(r)[3] + graph(r)[3][1:]}))
    yield changed("a constant that is made", lambda l, r: graph(r)[3][0].update({2: ints([1])}))
    yield changed("a shape that is not the buffer's", lambda l, r: graph(r)[0][2].update({0: ints([1000])}))
    yield changed("a negative dimension", lambda l, r: graph(r)[0][0].update({0: ints([1, -7, 3, 3])}))
    yield changed("a buffer that is not there", lambda l, r: graph(r)[0][1].update({2: U32(200)}))
    yield changed("a type that is not known", lambda l, r: graph(r)[0][0].update({1: I8(99)}))
    yield changed("a scale that is no number", lambda l, r: graph(r)[0][0].update({4: {2: np.array([np.nan], np.float32), 3: np.array([0])}}))
    yield changed("a zero point outside of its type", lambda l, r: graph(r)[0][0].update({4: {2: np.array([1], np.float32), 3: np.array([300])}}))
    yield changed("scales that are not as many", lambda l, r: graph(r)[0][0].update({4: {2: np.ones(17, np.float32), 3: np.zeros(17, np.int64)}}))
    yield changed("options of another operator", lambda l, r: graph(r)[3][0].update({3: I8(8)}))
    yield changed("a stride of 0", lambda l, r: graph(r)[3][0].update({4: {0: I8(0), 1: I32(0), 2: I32(0)}}))
    yield changed("padding that is not known", lambda l, r: graph(r)[3][0].update({4: {0: I8(9), 1: I32(1), 2: I32(1)}}))
    yield changed("an activation that is not known", lambda l, r: graph(r)[3][0].update({4: {0: I8(0), 1: I32(1), 2: I32(1), 3: I8(77)}}))
    yield changed("no subgraph", lambda l, r: r.update({2: []}))
    yield changed("an input with a value", lambda l, r: graph(r).update({1: ints([1])}))


def bad(ingot, long):
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bad.tflite")

        def refused(what, data, code, *words):
            with open(path, "wb") as f:
                f.write(data)
            said = call(ingot, "info", path, code=code).strip()
            if "\n" in said or not all(word in said for word in words):
                raise Wrong("%s: %s" % (what, said))
        with open(path, "wb") as f:
            f.write(small().bytes())
        call(ingot, "info", path)
        for what, data in broken():
            try:
                refused(what, data, 3, "byte ")
            except Wrong as wrong:
                raise Wrong("%s: %s" % (what, wrong))
            count += 1
        net = Net()
        x, y = net.tensor("x", (2, 3)), net.tensor("y", (2, 3))
        net.inputs, net.outputs = [x], [y]
        net.operator(119, [x], [y], {}, 93)
        net.operator(32, [x], [y], custom="TransformLandmarks")
        net.operator(32, [x], [y], custom="TransformLandmarks")
        net.operator(19, [x], [y], version=99)
        net.operator(999, [x], [y])
        refused("operators that are not there", net.bytes(), 4, "1 WHILE", "2 TransformLandmarks", "1 RELU of version 99", "1 operator 999")
    print("%d broken files: exit 3, byte and table named" % count)


def custom(ingot, folder):
    """MediaPipe's Convolution2DTransposeBias has the bits of TRANSPOSE_CONV with a bias."""
    for seed in range(8):
        answers = []
        for own in True, False:
            layer = layers.Layer(np.random.default_rng(seed), "float32")
            k, s, cut = 1 + seed % 4, 1 + seed % 3, seed % 2
            x = layer.input((1, 4, 5, 3))
            w, b = layer.weights((2, k, k, 3), 0)
            sizes = [(n - 1) * s + k - (cut and max(0, k - (n - 1) % s - 1)) for n in (4, 5)]
            y = layer.output((1, *sizes, 2))
            if own:
                layer.operator(32, [x, w, b], [y], custom="Convolution2DTransposeBias", bytes_of=np.frombuffer(np.array([1 if cut else 2, s, s], "<i4").tobytes(), np.uint8))
            else:
                layer.op("TRANSPOSE_CONV", [layer.constant(ints((1, *sizes, 2))), w, x, b], [y], {0: I8(0 if cut else 1), 1: I32(s), 2: I32(s)}, 3)
            model, given, made = (os.path.join(folder, name) for name in ("custom.tflite", "x.npy", "y.npy"))
            with open(model, "wb") as f:
                f.write(layer.bytes())
            np.save(given, layer.data[0])
            call(ingot, "run", model, "--target", "interpreter", "--input", "x0=" + given, "--output", "y0=" + made)
            answers.append(np.load(made))
        if not same(*answers):
            raise Wrong("Convolution2DTransposeBias, seed %d: other bits" % seed)


def ends(ingot, long):
    """What inputs and outputs are called, dims that are open, state in a library."""
    def info(folder, net, *options):
        path = os.path.join(folder, "net.tflite")
        with open(path, "wb") as f:
            f.write(net.bytes())
        told = json.loads(call(ingot, "info", path, "--json", *options))
        return [(one["name"], one["dims"]) for one in told["inputs"] + told["outputs"]]

    def is_right(what, found, right):
        if found != right:
            raise Wrong("%s: %s, %s is right" % (what, found, right))
    with tempfile.TemporaryDirectory() as folder:
        net = Net()
        net.inputs, net.outputs = [net.tensor("a:0", (2, 3))], [net.tensor("b", (2, 3))]
        net.operator(19, [0], [1])
        is_right("names of tensors", info(folder, net), [("a:0", [2, 3]), ("b", [2, 3])])
        net.signature = (["image"], ["scores"])
        is_right("names of a signature", info(folder, net), [("image", [2, 3]), ("scores", [2, 3])])
        net.signature = (["x"], ["x"])
        is_right("one name for both ends", [dims for _, dims in info(folder, net)], [[2, 3]] * 2)
        net.signature, net.outputs = None, [1, 1, 0]
        is_right("an output twice, and one that is the input", len(set(name for name, _ in info(folder, net))), 4)
        net.outputs = [1]
        for one in net.tensors:
            one[0], one[3] = ints([-1, 3]), ""
        is_right("an open dim, no names", info(folder, net), [("input_0", ["input_0_0", 3]), (info(folder, net)[1][0], ["input_0_0", 3])])
        is_right("a dim that is bound", info(folder, net, "--dim", "input_0_0=7")[0], ("input_0", [7, 3]))
        for one in net.tensors:
            one[0], one[7] = ints([1, 3]), ints([-1, 3])
        is_right("a dim that the signature leaves open", info(folder, net)[0], ("input_0", [1, 3]))
        is_right("and that is bound", [dims for _, dims in info(folder, net, "--dim", "input_0_0=7")], [[7, 3]] * 2)
        model, made = os.path.join(folder, "window.tflite"), os.path.join(folder, "made")
        with open(model, "wb") as f:
            f.write(layers.variables(np.random.default_rng(1)).bytes())
        call(ingot, "build", model, "--no-compile", "--cpu", "cortex-m4", "--state", "window=window_next", "-o", made)
        manifest = json.load(open(os.path.join(made, "window.json")))
        is_right("state in a library", (manifest["state_bytes"] >= 12, [one["name"] for one in manifest["inputs"]]), (True, ["x0"]))
        custom(ingot, folder)
    print("names, dims, state and MediaPipe's operator: right")


def main():
    try:
        return {"cases": cases, "layers": all_layers, "bad": bad, "ends": ends}[sys.argv[2]](os.path.abspath(sys.argv[1]), "--long" in sys.argv or os.environ.get("INGOT_LONG") == "1") or 0
    except Wrong as wrong:
        print("WRONG %s" % wrong)
        return 1


if __name__ == "__main__":
    sys.exit(main())
