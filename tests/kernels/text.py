"""text.py: a model as text whose constants lie in files beside it, run by the interpreter and by what else is here.  Ends with 77 where NumPy is not."""
import json, os, resource, subprocess, sys

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from here import cpus
from same import same


class Text:
    def __init__(self, ingot, folder, options=()):
        self.ingot, self.folder, self.options = ingot, folder, options
        self.inputs, self.outputs, self.constants, self.nodes, self.given = [], [], [], [], []
        self.path = os.path.join(folder, "g.onnxtxt")

    def name(self, of):
        return f"{of}{len(self.inputs) + len(self.constants)}"

    def constant(self, name, type, shape, data):
        data.tofile(os.path.join(self.folder, f"{name}.bin"))
        self.constants.append(f'{type}[{",".join(map(str, shape))}] {name} = ["location": "{name}.bin"]'.replace("[] ", " "))
        return name

    def input(self, name, type, array):
        numpy.save(f"{self.folder}/{name}.npy", array)
        self.given += ["--input", f"{name}={self.folder}/{name}.npy"]
        self.inputs.append(f'{type}[{",".join(map(str, array.shape))}] {name}')
        return name

    def output(self, name, type, shape):
        self.outputs.append(f'{type}[{",".join(map(str, shape))}] {name}')

    def write(self):
        with open(self.path, "w") as file:
            file.write(f'<ir_version: 13, opset_import: ["" : 25, "com.microsoft" : 1]>\ng ({", ".join(self.inputs)}) => ({", ".join(self.outputs)})\n<{", ".join(self.constants)}> {{\n')
            file.writelines(f"\t{node}\n" for node in self.nodes)
            file.write("}\n")

    def run(self, *words):
        paths = {name: f"{self.folder}/{name}.npy" for name in (text.split()[-1] for text in self.outputs)}
        done = subprocess.run([self.ingot, "run", self.path, *self.options, *self.given, *[w for n, p in paths.items() for w in ("--output", f"{n}={p}")], *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return {name: numpy.load(path) for name, path in paths.items()}

    def wrong(self, what, *engines):
        """Against the interpreter: by C on every CPU row here, and by these engines."""
        right = self.run("--target", "interpreter")
        rows = [cpu for cpu in cpus() if cpu != "native" or "x86-64-v4" not in cpus()]      # of floats native has the same kernels
        for words in [("--target", "c", "--cpu", cpu) for cpu in rows] + [("--target", engine) for engine in engines]:
            got = self.run(*words)
            yield from (f"{what}, {' '.join(words[1:])}: {name} is not the interpreter's" for name in right if not same(got[name], right[name]))

    def ask(self, command, *words):
        return subprocess.run([self.ingot, command, self.path, *self.options, *words], capture_output=True, text=True).stdout

    def show(self, stage):
        return self.ask("show", "--stage", stage, "--cpu", "x86-64-v3")

    def weights(self):
        """Bytes of them in a library, and the most memory in bytes that making one took so far."""
        subprocess.run([self.ingot, "build", self.path, *self.options, "-o", f"{self.folder}/out", "--no-compile", "--cpu", "x86-64-v4"], capture_output=True, check=True)
        with open(f"{self.folder}/out/g.json") as file:
            return json.load(file)["weights_bytes"], resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def end(found, right):
    print("\n".join(found) if found else right)
    sys.exit(bool(found))
