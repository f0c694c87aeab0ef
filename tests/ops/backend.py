#!/usr/bin/env python3
"""ONNX's own backend tests of the ops that ingot knows, by the interpreter, against the stored outputs.

    backend.py INTERPRET_MODEL [--verbose] [--ingot INGOT] [NAME...]

The tests come with PyPI's onnx.  One whose op takes a shape, axes or the like as an input has it as an input of the
graph; where ingot wants a constant there, all inputs but the first are made constants.  unsupported.txt names the tests
that must end with exit 4; every other one must be right.  With --simplify the passes run too.  With --ingot each model that is right also
becomes source for two CPUs and glue for the JIT, with every checker on: what the generator ends with must be 0, or 4 or 6 with a message.
Ends with 77 where there is no onnx."""
import fnmatch, os, shutil, subprocess, sys, tempfile

try:
    import numpy, onnx
    from onnx import numpy_helper
    from onnx.backend.test import loader
    from onnx.backend.test.case.node import collect_testcases
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from judge import UNSUPPORTED, differs, interpret, listed

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 6


def stored(folder):
    """Input and output tensors of test_data_set_N, as protobufs; None where a file is no tensor."""
    sets = []
    for entry in sorted(os.listdir(folder)):
        if not entry.startswith("test_data_set_"):
            continue
        both = []
        for kind in ("input", "output"):
            tensors, i = [], 0
            while os.path.exists(path := os.path.join(folder, entry, f"{kind}_{i}.pb")):
                t = onnx.TensorProto()
                with open(path, "rb") as file:
                    t.ParseFromString(file.read())
                tensors.append(t)
                i += 1
            both.append(tensors)
        sets.append(both)
    return sets


def tests():
    for case in collect_testcases(None):
        sets = []
        for inputs, outputs in case.data_sets:
            plain = (numpy.ndarray, numpy.generic, onnx.TensorProto)
            if not all(isinstance(x, plain) for x in list(inputs) + list(outputs)):
                break
            as_proto = lambda x: x if isinstance(x, onnx.TensorProto) else numpy_helper.from_array(numpy.asarray(x))
            sets.append([[as_proto(x) for x in inputs], [as_proto(x) for x in outputs]])
        else:
            yield case.name, case.model, sets
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        folder = os.path.join(loader.DATA_DIR, kind)
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name, "model.onnx")
            if os.path.exists(path):
                yield name, onnx.load(path), stored(os.path.join(folder, name))


def with_constants(model, inputs):
    """The model with every input but the first as an initialiser."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    initialised = {t.name for t in made.graph.initializer}
    free = [i for i in made.graph.input if i.name not in initialised]
    for value, data in list(zip(free, inputs))[1:]:
        constant = made.graph.initializer.add()
        constant.CopyFrom(data)
        constant.name = value.name
        made.graph.input.remove(value)
    return made


def run(program, folder, model, sets, options):
    """(exit code, message) of the worst data set; 1: numbers differ."""
    for inputs, outputs in sets:
        for again in (False, True):
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
            path, paths = os.path.join(folder, "model.onnx"), []
            given = inputs[:1] if again else inputs
            onnx.save(with_constants(model, inputs) if again else model, path)
            for i, tensor in enumerate(given):
                paths.append(os.path.join(folder, f"input_{i}.pb"))
                with open(paths[-1], "wb") as file:
                    file.write(tensor.SerializeToString())
            code, message, got = interpret(program, path, paths, os.path.join(folder, "out"), *options)
            if code != UNSUPPORTED or len(inputs) < 2:
                break
        if code:
            return code, message
        for i, (a, b) in enumerate(zip(got, outputs)):
            why = differs(a, numpy_helper.to_array(b), 1e-5, 1e-3)
            if why:
                return 1, f"output {i}: {why}"
    return 0, ""


STAGES = (("source", "x86-64-v3"), ("source", "generic"), ("glue", "x86-64-v3"))


def generate(ingot, path):
    """Why the generator may not end so on this model, or None."""
    for stage, cpu in STAGES:
        done = subprocess.run([ingot, "show", path, "--stage", stage, "--cpu", cpu, "--check"], capture_output=True, text=True,
                              errors="replace")
        if done.returncode not in (0, UNSUPPORTED, LIMIT):
            return f"--stage {stage} --cpu {cpu} ends with {done.returncode}: {done.stderr.strip()}"
    return None


def main():
    program, arguments, ingot = sys.argv[1], sys.argv[2:], None
    if "--ingot" in arguments:
        at = arguments.index("--ingot")
        ingot = arguments[at + 1]
        del arguments[at:at + 2]
    verbose, options = "--verbose" in arguments, [a for a in arguments if a == "--simplify"]
    names = [a for a in arguments if not a.startswith("--")]
    known = set(subprocess.run([program, "--ops"], capture_output=True, text=True, check=True).stdout.split())
    unsupported = listed(os.path.join(HERE, "unsupported.txt"))
    bad, right, refused = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, model, sets in tests():
            if names and name not in names:
                continue
            nodes = model.graph.node
            if not nodes or model.functions or not all(n.op_type in known and n.domain in ("", "ai.onnx") for n in nodes):
                continue
            code, message = run(program, os.path.join(folder, "test"), model, sets, options)
            wanted = UNSUPPORTED if any(fnmatch.fnmatchcase(name, pattern) for pattern in unsupported) else 0
            right += code == 0
            refused += code == UNSUPPORTED
            if code != wanted or verbose:
                print(f"{name}: exit {code}{', ' + str(wanted) + ' is right' if code != wanted else ''}: {message}")
            why = generate(ingot, os.path.join(folder, "test", "model.onnx")) if ingot and code == 0 else None
            if why:
                print(f"{name}: {why}")
            if code != wanted or why:
                bad.append(name)
    print(f"{right} right, {refused} not supported, {len(bad)} otherwise than they must be")
    return bool(bad) or not (right or names)


sys.exit(main())
