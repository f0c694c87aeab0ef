"""Models that run in this process."""
import ctypes
import operator
import os
import threading

import numpy

from ._error import Error
from ._library import ENGINES, NAMES, PROGRESS, TYPES, USAGE, library, numpy_type, text

INSTANCES_MOST = 16                        # of a model, each compiled for its extents


class Tensor:
    """An input or output: its name; dtype, NumPy's (bits, where NumPy has not the type: `type` names it); shape, where None is an extent that each call decides,
    or, of an output that data decide, its bound; strings: whether the last dim holds the bytes of strings, which outputs give as `str` objects."""
    def __init__(self, of, symbols=()):
        self.name, self.dtype = text(of.name), numpy_type(of.type)
        self.type = NAMES.get(of.type, TYPES.get(of.type, "?"))
        self.shape = tuple(extent if extent >= 0 else None for extent in of.dims[:of.rank])
        self.symbols, self.strings = tuple(symbols) or (None,) * of.rank, bool(of.strings)

    def __repr__(self):
        dims = [str(symbol or "?") if extent is None else str(extent) for extent, symbol in zip(self.shape, self.symbols)]
        return f"{self.name}: {self.type}[{', '.join(dims)}]"


def _tensors(lib, handle, kind):
    count, get = getattr(lib, f"ingot_{kind}_count"), getattr(lib, f"ingot_{kind}")
    tensors = []
    for i in range(count(handle)):
        of = get(handle, i).contents
        symbols = [text(lib.ingot_dim_name(handle, i, axis)) for axis in range(of.rank)] if kind == "input" else ()
        tensors.append(Tensor(of, symbols))
    return tensors


class _Instance:
    """The model, compiled for certain extents; one call at a time."""
    def __init__(self, model):
        self.lib, self.handle, self.lock, self.keep = library(), ctypes.c_void_p(), threading.Lock(), None
        try:
            if model.path is not None:
                self.check(self.lib.ingot_open(ctypes.byref(self.handle), os.fsencode(model.path)))
            else:
                self.check(self.lib.ingot_open_memory(ctypes.byref(self.handle), model.bytes, len(model.bytes), model.name.encode()))
            self.bind(model.given)
            for call, said in (self.lib.ingot_set_elements, model.elements), (self.lib.ingot_set_value, model.values), (self.lib.ingot_set_option, model.options):
                for name, value in said:
                    self.check(call(self.handle, name.encode(), value.encode()))
            self.inputs, self.outputs = _tensors(self.lib, self.handle, "input"), _tensors(self.lib, self.handle, "output")
        except BaseException:
            self.close()
            raise

    def check(self, status):
        if status:
            raise Error(status, text(self.lib.ingot_model_message(self.handle)))

    def bind(self, dims):
        for name, extent in dims.items():
            self.check(self.lib.ingot_set_dim(self.handle, name.encode(), extent))

    def compile(self, engine, progress):
        raised = []

        def tell(_, stage, done, count):                             # what it raises ends the work
            try:
                progress(text(stage), done, count)
            except BaseException as why:
                raised.append(why)
            return len(raised)

        if progress:
            call = PROGRESS(tell)
            self.lib.ingot_set_progress(self.handle, call, None)
        status = self.lib.ingot_compile(self.handle, ENGINES[engine])
        if progress:
            self.lib.ingot_set_progress(self.handle, PROGRESS(), None)
        if raised:
            raise raised[0]
        self.check(status)
        self.inputs, self.outputs = _tensors(self.lib, self.handle, "input"), _tensors(self.lib, self.handle, "output")
        # Where data decide an output's extents, one more output of that name, behind the model's, says them.
        names = {tensor.name: i for i, tensor in enumerate(self.outputs)}
        self.counted = {i: names[tensor.name + "_dims"] for i, tensor in enumerate(self.outputs) if tensor.name + "_dims" in names}
        self.texts = any(tensor.strings for tensor in self.outputs)
        self.shown = [i for i in range(len(self.outputs)) if i not in self.counted.values()]
        return self

    def run(self, arrays, out):
        """Arrays that fit the inputs -> arrays of all outputs that the model has."""
        lib, handle = self.lib, self.handle
        made = [numpy.empty(tensor.shape, tensor.dtype) for tensor in self.outputs] if out is None else out
        with self.lock:
            if not handle:
                raise Error(USAGE, "the model is closed")
            for i, array in enumerate(arrays):
                lib.ingot_set_input(handle, i, array.__array_interface__["data"][0])
            for i, array in enumerate(made):
                lib.ingot_set_output(handle, i, array.__array_interface__["data"][0])
            status = lib.ingot_run(handle)
            if status:
                self.check(status)
        for i, dims in self.counted.items():
            shape = tuple(int(extent) for extent in made[dims])
            made[i] = made[i].reshape(-1)[:int(numpy.prod(shape, dtype=numpy.int64))].reshape(shape)
        if out is None and self.texts:
            made = [_strings_of_bytes(array) if tensor.strings else array for tensor, array in zip(self.outputs, made)]
        return [made[i] for i in self.shown] if self.counted else made

    def close(self):
        with self.lock:
            if self.handle:
                self.lib.ingot_close(self.handle)
                self.handle = ctypes.c_void_p()

    def __del__(self):
        if getattr(self, "lock", None):
            self.close()


def array_of(value):
    if isinstance(value, numpy.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        return numpy.from_dlpack(value)
    return numpy.asarray(value)


def _bytes_of_strings(array):
    """Strings as ingot has them: their bytes, as many for each, in one more dim."""
    encoded = numpy.char.encode(array, "utf-8") if array.dtype.kind == "U" else array.astype("S")
    wide = max(encoded.dtype.itemsize, 1)
    return numpy.ascontiguousarray(encoded).view(numpy.uint8).reshape(array.shape + (wide,))


def _strings_of_bytes(array):
    """The other way round: `str` objects.  What is no UTF-8 stays as os.fsdecode keeps it."""
    texts = [bytes(one).rstrip(b"\0").decode("utf-8", "surrogateescape") for one in array.reshape(-1, array.shape[-1])] if array.size else [""] * int(numpy.prod(array.shape[:-1]))
    made = numpy.empty(len(texts), object)
    made[:] = texts
    return made.reshape(array.shape[:-1])


def fitting(tensor, value):
    """The input as an array that C can read; what does not fit is refused here."""
    array = value if type(value) is numpy.ndarray else array_of(value)
    if array.dtype == tensor.dtype and array.shape == tensor.shape and array.flags.c_contiguous and array.flags.aligned:
        return array
    if array.dtype.kind in "USO" and tensor.type == "uint8":
        array = _bytes_of_strings(array.astype("U") if array.dtype.kind == "O" else array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype != tensor.dtype:
        if isinstance(value, numpy.ndarray) or array.dtype.kind not in "bif" or tensor.dtype.kind not in "bif":
            if tensor.type != array.dtype.name or array.dtype.itemsize != tensor.dtype.itemsize:
                raise Error(USAGE, f"input {tensor.name} is {tensor.type}, not {array.dtype}")
            array = array.view(tensor.dtype)                         # ml_dtypes.bfloat16 and such: the same bits
        else:
            array = array.astype(tensor.dtype)                       # a number or a list has no type of its own
    if len(array.shape) != len(tensor.shape) or any(want not in (None, got) for want, got in zip(tensor.shape, array.shape)):
        shape = ", ".join("?" if extent is None else str(extent) for extent in tensor.shape)
        raise Error(USAGE, f"input {tensor.name} is [{shape}], not {list(array.shape)}")
    return array if array.flags.c_contiguous and array.flags.aligned else numpy.array(array, order="C")


class Model:
    """A model, opened; compiled at its first call for the extents that come, and again for other ones."""
    def __init__(self, source, engine="jit", threads=None, dims=None, values=None, elements=None, name=None, progress=None, **options):
        if engine not in ENGINES:
            raise Error(USAGE, f'there is no engine "{engine}": jit, c or interpreter')
        self.path = self.bytes = None
        if isinstance(source, (str, os.PathLike)):
            self.path = os.fspath(source)
        elif isinstance(source, (bytes, bytearray, memoryview)):
            self.bytes = bytes(source)
        elif hasattr(source, "SerializeToString"):
            self.bytes = source.SerializeToString()
        else:
            raise Error(USAGE, f"a model is a path, bytes or an onnx.ModelProto, not {type(source).__name__}")
        self.progress = progress
        self.name, self.engine, self.given = name or "model", engine, dict(dims or {})
        for dim, extent in self.given.items():
            self.given[dim] = operator.index(extent)
        said = lambda value: ",".join(map(str, numpy.asarray(value).reshape(-1).tolist())) if not isinstance(value, str) else value
        self.values = [(of, said(value)) for of, value in (values or {}).items()]
        self.elements = [(of, str(value)) for of, value in (elements or {}).items()]
        self.options = [(of.replace("_", "-"), str(one)) for of, value in options.items() for one in (value if isinstance(value, (list, tuple)) else [value])]
        if threads is not None:
            self.options.append(("threads", str(operator.index(threads))))
        self.lock, self.instances, self.only, self.closed = threading.Lock(), {}, None, False
        self.opened = _Instance(self)                                # the first that is compiled
        self.inputs, self.outputs = self.opened.inputs, self.opened.outputs
        self.by_name = {tensor.name: i for i, tensor in enumerate(self.inputs)}
        self.fixed = all(None not in tensor.shape for tensor in self.inputs)

    def compile(self, **dims):
        """Compiles for these extents, before the first call does; returns the model."""
        self._instance({name: operator.index(extent) for name, extent in dims.items()})
        return self

    def _instance(self, dims):
        """dims: beyond those that were given when the model was opened."""
        key = tuple(sorted(dims.items()))
        with self.lock:
            if self.closed:
                raise Error(USAGE, "the model is closed")
            found = self.instances.pop(key, None)
            if found is None:
                while len(self.instances) >= INSTANCES_MOST:          # the one that was asked for longest ago
                    del self.instances[next(iter(self.instances))]
                instance, self.opened = self.opened or _Instance(self), None
                try:
                    instance.bind(dims)
                    found = instance.compile(self.engine, self.progress)
                except BaseException:
                    instance.close()
                    raise
            self.instances[key], self.outputs = found, found.outputs if self.fixed else self.outputs
            self.only = found if self.fixed else None
            return found

    def _dims_of(self, arrays):
        dims = {}
        for tensor, array in zip(self.inputs, arrays):
            for axis, symbol in enumerate(tensor.symbols):
                if symbol is not None and dims.setdefault(symbol, array.shape[axis]) != array.shape[axis]:
                    raise Error(USAGE, f"input {tensor.name}: dim {symbol} is {array.shape[axis]} there, {dims[symbol]} elsewhere")
        return dims

    def _run(self, given, out):
        if len(given) != len(self.inputs):
            raise Error(USAGE, f"{len(given)} inputs, the model has {len(self.inputs)}: {', '.join(map(repr, self.inputs))}")
        arrays = [fitting(tensor, value) for tensor, value in zip(self.inputs, given)]
        instance = self.only or self._instance({} if self.fixed else self._dims_of(arrays))
        if out is not None:
            out = self._checked_out(instance, arrays, out)
        return instance.run(arrays, out)

    def _checked_out(self, instance, arrays, out):
        outs = list(out) if isinstance(out, (list, tuple)) else [out]
        if instance.counted or len(outs) != len(instance.outputs):
            raise Error(USAGE, f"out: {len(outs)} arrays, the model has {len(instance.outputs)} outputs"
                        if not instance.counted else "out is for outputs whose extents no data decide")
        for tensor, array in zip(instance.outputs, outs):
            if not isinstance(array, numpy.ndarray) or array.dtype != tensor.dtype or array.shape != tensor.shape:
                raise Error(USAGE, f"out: {tensor.name} is an array of {tensor.type}{list(tensor.shape)}")
            if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned and array.dtype.isnative):
                raise Error(USAGE, f"out: the array for {tensor.name} is not writable, or does not lie in C order")
            if any(numpy.may_share_memory(array, other) for other in arrays) or any(numpy.may_share_memory(array, other) for other in outs if other is not array):
                raise Error(USAGE, f"out: the array for {tensor.name} overlaps another one")
        return outs

    def __call__(self, *given, out=None, **named):
        """Inputs in the model's order, or by name; the output, or a tuple of all."""
        if named:
            given = self._ordered(named, given)
        made = self._run(given, out)
        return made[0] if len(made) == 1 else tuple(made)

    def run(self, inputs, out=None):
        """Inputs by name -> outputs by name."""
        made = self._run(self._ordered(inputs), out)
        return {tensor.name: array for tensor, array in zip(self.outputs, made)}

    def _ordered(self, named, first=()):
        given = list(first) + [None] * (len(self.inputs) - len(first))
        for name, value in named.items():
            at = self.by_name.get(name, -1)
            if at < len(first):
                raise Error(USAGE, f'there is no input "{name}"' + (": " if at < 0 else " left: ") + ", ".join(map(repr, self.inputs)))
            given[at] = value
        for tensor, value in zip(self.inputs, given):
            if value is None:
                raise Error(USAGE, f"input {tensor.name} is not given")
        return given

    @property
    def numbers(self):
        """What bits depend on besides the model and its inputs; None before the first call."""
        with self.lock:
            some = next(iter(self.instances.values()), None)
            return text(some.lib.ingot_model_numbers(some.handle)) if some else None

    def close(self):
        with self.lock:
            self.closed = True
            instances = list(self.instances.values()) + ([self.opened] if self.opened else [])
            self.instances, self.opened, self.only = {}, None, None
        for instance in instances:
            instance.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<ingot.Model {self.path or self.name}: {', '.join(map(repr, self.inputs))} -> {', '.join(map(repr, self.outputs))}>"
