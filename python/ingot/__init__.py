"""ingot: a model, from its file to its results.

    import ingot
    model = ingot.open("net.onnx")                 # a path, bytes or an onnx.ModelProto; engine="jit" (default), "c" or "interpreter"
    scores = model(pixels)                         # NumPy arrays, or what gives one by DLPack
    out = model.run({"image": pixels})             # by name -> by name
    ingot.build("net.onnx", "out", cpu="native")   # a library in C, as `ingot build` makes it

Everything that goes wrong is an ingot.Error with the program's exit code.  A model may be used from several threads; calls of one compiled model run one after
the other, without Python's lock."""
from ._error import Error
from ._library import program
from ._model import Model, Tensor

__all__ = ["Built", "Error", "Library", "Model", "Tensor", "bench", "build", "check", "from_torch", "info", "open", "ops", "program", "report"]
__version__ = "0.1.0"


def __getattr__(name):
    """What the program does is loaded when it is asked for: an import takes as long as it must."""
    if name in ("Built", "Library", "bench", "build", "check", "info", "ops", "report"):
        from . import _program
        return getattr(_program, name)
    raise AttributeError(f"module 'ingot' has no attribute '{name}'")


def open(source, *, engine="jit", threads=None, dims=None, values=None, elements=None, name=None, progress=None, **options):
    """Opens a model: a path, bytes or an onnx.ModelProto.  dims: {"N": 1}, else the arrays of a call say; threads: of engine "c"; values, elements and options as
    the program's --value, --elements and --algorithms, --quantised, --denormals, --math, --store, --store-weights, --keep-strict (keep_strict=[...]).
    progress(stage, done, count) is called while a model is compiled (0 of 0: unknown); what it raises ends that."""
    return Model(source, engine=engine, threads=threads, dims=dims, values=values, elements=elements, name=name, progress=progress, **options)


def from_torch(module, args, *, export=None, **options):
    """A torch.nn.Module by torch.onnx.export (export: its own options), opened as `open` does."""
    import io
    import torch                                   # the caller has it
    file = io.BytesIO()
    torch.onnx.export(module, args, file, **(export or {}))
    return open(file.getvalue(), name=type(module).__name__, **options)
