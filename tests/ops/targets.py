#!/usr/bin/env python3
"""Runs the graphs of tests/ops/files on a target and compares bit for bit with the interpreter.

    targets.py INGOT TARGET [FILE...]

TARGET is a --target of `ingot run`; of c many files are compiled together.  NaN equals NaN, 0 and -0 differ.  Ends with 77
where the target or NumPy is not there."""
import glob, os, re, subprocess, sys, tempfile

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from same import same
from together import run_all
TYPES = {"float": "f4", "double": "f8", "int64": "i8", "uint64": "u8", "int32": "i4", "int16": "i2", "int8": "i1", "uint8": "u1", "bool": "?",
         "float16": "f2", "int4": "i1", "uint2": "u1"}
ENVIRONMENT, SKIPPED = 5, 77


def inputs_of(text, data, folder):
    """Options of `ingot run` for the inputs that the comments of a file give."""
    signature = re.search(r"^\w+ \((.*?)\) =>", text, re.M | re.S).group(1)
    for type, dims, name in re.findall(r"(\w+)(?:\[([\d,]*)\])? (\w+)", signature):
        number = float if "float" in type or type == "double" else int
        array = numpy.array([number(x) for x in data[name].split()], dtype="f8" if number is float else "u8" if type == "uint64" else "i8")
        path = os.path.join(folder, f"in_{name}.npy")
        if type == "float6e2m3":                                      # by their codes, as NumPy has no word for them
            array = numpy.array([(x < 0 or str(x) == "-0.0") * 32 + (int(abs(x) * 8) if abs(x) < 2 else int(8 * abs(x) / 2 ** (e := 1 + (abs(x) >= 4))) + 8 * e) for x in array.tolist()])
        array = array.astype(TYPES.get(type, "u1"))
        if type in ("int4", "uint2", "float6e2m3"):
            array = array.view("V1")
        numpy.save(path, array.reshape([int(n) for n in dims.split(",") if n]))
        yield from ("--input", f"{name}={path}")


def arrays_of(path):
    """What was written of an output: an array, those of a sequence, or none of an optional without a value."""
    if os.path.isdir(path):
        return [numpy.load(os.path.join(path, f"{i}.npy")) for i in range(len(os.listdir(path)))]
    return [numpy.load(path)] if os.path.exists(path) else []


class Case:
    """A file: its inputs and where its outputs go, by a runner."""
    def __init__(self, path, folder):
        with open(path) as file:
            text = file.read()
        data = dict(re.findall(r"^# (\w+) =(.*)$", text, re.M))
        self.path, self.folder = path, folder
        self.names = [o.split()[-1] for o in re.search(r"=> \((.*?)\) *[<{\n]", text, re.S).group(1).split(", ")]
        self.given = list(inputs_of(text, data, folder))

    def words(self, runner):
        return [self.path, *self.given, *(word for name, path in self.paths(runner) for word in ("--output", f"{name}={path}"))]

    def paths(self, runner):
        return [(name, os.path.join(self.folder, f"{runner}_{name}.npy")) for name in self.names]

    def run(self, ingot, runner):
        """Why it is not right, or None; raises where the target is not there."""
        done = subprocess.run([ingot, "run", *self.words(runner), "--target", runner], capture_output=True, text=True, errors="replace")
        if done.returncode == ENVIRONMENT and runner != "interpreter":
            raise EnvironmentError(done.stderr.strip())
        return f"{runner} ends with {done.returncode}: {done.stderr.strip()}" if done.returncode else None

    def compare(self, target):
        for (name, path), (_, right) in zip(self.paths(target), self.paths("interpreter")):
            a, b = arrays_of(right), arrays_of(path)
            if len(a) != len(b) or not all(same(x, y) for x, y in zip(a, b)):
                return f"{name}: {[y.ravel()[:6] for y in b]}, {[x.ravel()[:6] for x in a]} is right"
        return None


def main():
    ingot, target = sys.argv[1:3]
    paths = sys.argv[3:] or sorted(glob.glob(os.path.join(HERE, "files", "*.onnxtxt")))
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        cases = []
        for i, path in enumerate(paths):
            os.mkdir(os.path.join(folder, str(i)))
            cases.append(Case(path, os.path.join(folder, str(i))))
        try:
            if target == "c":
                found = run_all(ingot, [case.words("c") for case in cases])
            else:
                found = [case.run(ingot, target) for case in cases]
        except EnvironmentError as missing:
            print(f"skipped: {missing}")
            return SKIPPED
        for case, why in zip(cases, found):
            why = why or case.run(ingot, "interpreter") or case.compare(target)
            if why:
                print(f"{os.path.basename(case.path)}: {why}")
                bad += 1
    print(f"{len(paths) - bad} of {len(paths)} files have equal bits on {target}")
    return bool(bad) or not paths


sys.exit(main())
