#!/usr/bin/env python3
"""--denormals zero: constants of products that are denormal count as 0, on every target, and nothing else does.

    denormals.py INGOT

A network of a 3x3 convolution, a product of bfloat16's weights, one of double's and an RNN; half of each weight is denormal.  With the option each
target gives the bits of the same network with zeros there; without it, those of the interpreter as before.  A denormal bias stays.  Ends with 77
where onnx is not there."""
import os, subprocess, sys, tempfile

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("no onnx and numpy here")
    sys.exit(77)

INGOT = sys.argv[1]
OUTPUTS = ("c", "d", "f", "l", "b")
ENGINES = [["interpreter"], ["c"], ["c", "--cpu", "generic"], ["c", "--threads", "2"], ["jit"], ["cuda-emulated"]]
DRAW = numpy.random.default_rng(7)


def weights(zero, *shape, axis, kind=numpy.float32):
    """Of every other output (along `axis`) all are denormal, or with `zero` a 0 of their sign."""
    plain = DRAW.uniform(-0.5, 0.5, shape)
    small = plain * numpy.finfo(kind).tiny
    odd = (numpy.indices(shape)[axis] % 2).astype(bool)
    return numpy.where(odd, plain, numpy.copysign(0, plain) if zero else small).astype(kind)


def bfloat16(values):
    return (values.reshape(-1).view(numpy.uint32) >> 16).astype(numpy.uint16)


def network(path, zero):
    global DRAW
    DRAW = numpy.random.default_rng(7)
    tiny = numpy.float32(1e-40)
    narrow = weights(zero, 40, 24, axis=1)
    made = [numpy_helper.from_array(weights(zero, 16, 16, 3, 3, axis=0), "wc"), numpy_helper.from_array(weights(zero, 24, 8, axis=1, kind=numpy.float64), "wd"),
            numpy_helper.from_array(weights(zero, 1, 3, 24, axis=1), "wl"), numpy_helper.from_array(weights(zero, 1, 3, 3, axis=1), "rl"),
            numpy_helper.from_array(numpy.full(4, tiny), "bias"),
            helper.make_tensor("wb", TensorProto.BFLOAT16, [40, 24], bfloat16(narrow).tobytes(), raw=True)]
    nodes = [helper.make_node("Conv", ["x", "wc"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("Cast", ["s"], ["sb"], to=TensorProto.BFLOAT16), helper.make_node("MatMul", ["sb", "wb"], ["mb"]),
             helper.make_node("Cast", ["mb"], ["md"], to=TensorProto.DOUBLE), helper.make_node("MatMul", ["md", "wd"], ["d"]),
             helper.make_node("Cast", ["mb"], ["f"], to=TensorProto.FLOAT), helper.make_node("Unsqueeze", ["f", "one"], ["u"]),
             helper.make_node("RNN", ["u", "wl", "rl"], ["l"], hidden_size=3, activations=["Relu"]), helper.make_node("Mul", ["z", "bias"], ["b"])]
    made.append(numpy_helper.from_array(numpy.array([1], numpy.int64), "one"))
    float_of = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [float_of("x", [1, 16, 14, 14]), float_of("s", [5, 40]), float_of("z", [4])],
                              [float_of("c", [1, 16, 14, 14]), helper.make_tensor_value_info("d", TensorProto.DOUBLE, [5, 8]), float_of("f", [5, 24]), float_of("l", [5, 1, 1, 3]), float_of("b", [4])], made)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), path)


def call(*words):
    done = subprocess.run([INGOT, *words], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        print(" ".join(words), "\n" + done.stderr)
        sys.exit(1)
    return done


def run(folder, model, engine, *options):
    """The outputs' bytes."""
    outputs = [word for name in OUTPUTS for word in ("--output", "%s=%s" % (name, os.path.join(folder, name + ".npy")))]
    words = [word for name in ("x", "s", "z") for word in ("--input", "%s=%s" % (name, os.path.join(folder, name + ".npy")))]
    call("run", os.path.join(folder, model), *words, *outputs, "--target", *engine, *options)
    return {name: numpy.load(os.path.join(folder, name + ".npy")) for name in OUTPUTS}


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        network(os.path.join(folder, "small.onnx"), False)
        network(os.path.join(folder, "zeros.onnx"), True)
        for name, shape in (("x", (1, 16, 14, 14)), ("s", (5, 40)), ("z", (4,))):
            numpy.save(os.path.join(folder, name + ".npy"), DRAW.uniform(1, 2, shape).astype(numpy.float32))
        zeros, kept = run(folder, "zeros.onnx", ["interpreter"]), run(folder, "small.onnx", ["interpreter"])
        if not (zeros["b"] > 0).all() or numpy.finfo(numpy.float32).tiny < zeros["b"].max():
            wrong += 1
            print("the bias is to be denormal: %s" % zeros["b"])
        for name in OUTPUTS[:-1]:
            if zeros[name].tobytes() == kept[name].tobytes():
                wrong += 1
                print("%s does not depend on denormals" % name)
        for engine in ENGINES:
            for options, want in ((["--denormals", "zero"], zeros), ([], kept), (["--denormals", "keep"], kept)):
                got = run(folder, "small.onnx", engine, *options)
                for name, value in want.items():
                    if value.tobytes() != got[name].tobytes():
                        wrong += 1
                        print("%s %s: %s has other bits" % (" ".join(engine), " ".join(options), name))
        # The texts: what bits depend on, and who is told that it would pay.
        made = call("build", os.path.join(folder, "small.onnx"), "--denormals", "zero", "--no-compile", "-o", os.path.join(folder, "made"))
        with open(os.path.join(folder, "made", "small.json"), encoding="utf-8") as file:
            if "denormals=zero" not in file.read():
                wrong += 1
                print("NAME_NUMBERS does not say denormals=zero")
        for options, told in (([], True), (["--denormals", "zero"], False)):
            made = call("bench", os.path.join(folder, "small.onnx"), "--target", "interpreter", "--rounds", "1", *options)
            if ("--denormals zero" in made.stderr) != told:
                wrong += 1
                print("bench %s says:\n%s" % (" ".join(options), made.stderr))
    print("%d of %d targets wrong" % (wrong, len(ENGINES)) if wrong else "%d targets" % len(ENGINES))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
