"""What the program `ingot` does for Python: libraries, checks, times, facts; each its JSON as Python's values."""
import ctypes
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading

import numpy

from ._error import Error
from ._library import LIMIT, NAMES, TYPES, USAGE, numpy_type, program
from ._model import array_of, fitting

# ONNX's names of types, as a manifest has them.
_ONNX = {**TYPES, **NAMES, 1: "float", 11: "double"}


def _words(options):
    """threads=2, keep_strict=["a", "b"], shared=True -> --threads 2 --keep-strict a --keep-strict b --shared; a dict: --dim N=1."""
    words = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, dict):
                words += [word for key, of in one.items() for word in (option, f"{key}={of}")]
            elif one is True:
                words.append(option)
            elif one is not None and one is not False:
                words += [option, os.fspath(one) if isinstance(one, os.PathLike) else str(one)]
    return words


def _run(words, progress):
    """The program's output and messages; with progress, that is called for each stage."""
    if progress is None:
        done = subprocess.run(words, capture_output=True)
        return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")
    messages = []
    with tempfile.TemporaryFile() as out, subprocess.Popen([*words, "--verbose"], stdout=out, stderr=subprocess.PIPE) as running:
        try:
            for line in running.stderr:
                line = line.decode("utf-8", "replace")
                stage = re.fullmatch(r"ingot \w+: (\w+)(?:: (\d+))?\n", line)
                if stage:
                    progress(stage[1], 0, int(stage[2] or 0))
                else:
                    messages.append(line)
        except BaseException:
            running.terminate()
            running.stderr.read()            # until it has tidied up
            raise
        code = running.wait()
        out.seek(0)
        return code, out.read(), "".join(messages)


def _call(*words, answers=(0,), progress=None):
    """The program's JSON; its message as an Error."""
    code, out, messages = _run([program(), *words, "--json"], progress)
    try:
        said = json.loads(out or b"{}")
    except ValueError:
        said = {}
    if code not in answers:
        error = said.get("error", {}) if isinstance(said, dict) else {}
        message = error.get("message") if isinstance(error, dict) else error
        raise Error(code, message or messages.strip() or f"ingot ended with {code}")
    return said


class _Path:
    """The model as a file, for the program."""
    def __init__(self, source, name):
        self.folder = None
        if isinstance(source, (str, os.PathLike)):
            self.path = os.fspath(source)
            return
        content = bytes(source) if isinstance(source, (bytes, bytearray, memoryview)) else source.SerializeToString()
        self.folder = tempfile.TemporaryDirectory(prefix="ingot.")
        self.path = os.path.join(self.folder.name, (name or "model") + ".onnx")
        with open(self.path, "wb") as file:
            file.write(content)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        if self.folder:
            self.folder.cleanup()


class Built:
    """A folder that `build` made: paths, and the manifest (NAME.json)."""
    def __init__(self, folder, name):
        self.folder, self.name = pathlib.Path(folder), name
        with open(self.folder / f"{name}.json", encoding="utf-8") as file:
            self.manifest = json.load(file)
        self.paths = sorted(path for path in self.folder.rglob("*") if path.is_file())

    def load(self):
        """The shared library (build it with shared=True), callable."""
        return Library(self)

    def __repr__(self):
        return f"<ingot.Built {self.folder}: {len(self.paths)} files>"


class _Port:
    """An input or output of a manifest."""
    def __init__(self, of):
        number = next((number for number, name in _ONNX.items() if name == of["type"]), None)
        self.name, self.shape, self.dtype = of["name"], tuple(of["dims"]), numpy_type(number)
        self.type = NAMES.get(number, TYPES.get(number))

    def __repr__(self):
        return f"{self.name}: {self.type}{list(self.shape)}"


class Library:
    """libNAME.so of a folder, loaded: called with arrays in the order of the model's inputs; one call at a time."""
    def __init__(self, built):
        manifest, path = built.manifest, built.folder / f"lib{built.name}.so"
        if not path.is_file() or "run" not in manifest.get("symbols", {}):
            raise Error(USAGE, f"{path} is no library of one model: build it with shared=True")
        self.inputs, self.outputs = [_Port(of) for of in manifest["inputs"]], [_Port(of) for of in manifest["outputs"]]
        self.function = getattr(ctypes.CDLL(str(path)), manifest["symbols"]["run"])
        self.function.restype, self.function.argtypes = ctypes.c_int, [ctypes.c_void_p] * 3
        align = max(int(manifest.get("workspace_align", 64)), 1)
        self.workspace = numpy.empty(int(manifest["workspace_bytes"]) + align, numpy.uint8)
        at, weights = -(-self.workspace.ctypes.data // align) * align, None
        if manifest["weights_bytes"] and "weights" not in manifest["symbols"]:
            self.weights = numpy.memmap(built.folder / f"{built.name}_weights.bin", numpy.uint8, "r")
            weights = self.weights.ctypes.data
        self.context, self.lock = (ctypes.c_void_p * 4)(at, weights, None, None), threading.Lock()

    def __call__(self, *given):
        if len(given) != len(self.inputs):
            raise Error(USAGE, f"{len(given)} inputs, the library has {len(self.inputs)}: {', '.join(map(repr, self.inputs))}")
        arrays = [fitting(port, value) for port, value in zip(self.inputs, given)]
        made = [numpy.empty(port.shape, port.dtype) for port in self.outputs]
        pointers = [(ctypes.c_void_p * max(len(some), 1))(*(array.ctypes.data for array in some)) for some in (arrays, made)]
        with self.lock:
            status = self.function(*pointers, self.context)
        if status:
            raise Error(LIMIT, f"the library returned {status}: its header says what that is")
        return made[0] if len(made) == 1 else tuple(made)


def build(model, folder, *, name=None, progress=None, **options):
    """Makes a library of the model in the folder, as `ingot build MODEL -o FOLDER` with the program's options does.  progress(stage, done, count) is
    called for each stage, here and in the functions below."""
    with _Path(model, name) as path:
        said = _call("build", path, "-o", os.fspath(folder), *_words({"name": name, **options}), progress=progress)
    return Built(folder, said["name"])


def check(model, data, *, progress=None, **options):
    """Runs the model on reference data (a folder or an .npz file, or {"inputs": {...}, "outputs": {...}} of arrays by name) and compares: a dict whose "right"
    says whether all outputs are within tolerance."""
    with _Path(model, None) as path, tempfile.TemporaryDirectory(prefix="ingot.") as folder:
        if isinstance(data, dict):
            arrays = {of: array_of(value) for part in ("inputs", "outputs") for of, value in data[part].items()}
            data = os.path.join(folder, "data.npz")
            numpy.savez(data, **arrays)
        return _call("check", path, os.fspath(data), *_words(options), answers=(0, 1), progress=progress)


def bench(model, *, progress=None, **options):
    """Times the model's kernels and whole calls, as `ingot bench` does."""
    with _Path(model, None) as path:
        return _call("bench", path, *_words(options), progress=progress)


def report(model, page, *, run=True, progress=None, **options):
    """Writes a page about the model and what it becomes, as `ingot report` does (run=False: nothing is timed); what it says, as a dict."""
    with _Path(model, None) as path:
        return _call("report", path, "-o", os.fspath(page), *_words({"no_run": not run, **options}), progress=progress)


def info(model, **options):
    """Inputs, outputs, operators, work and memory, and whether it can be built."""
    with _Path(model, None) as path:
        return _call("info", path, *_words(options), answers=(0, 4))


def ops(*names, **options):
    """The operators that ingot has."""
    return _call("ops", *names, *_words(options))
