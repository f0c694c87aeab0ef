"""libingot.so.0 by ctypes: the functions of ingot/ingot.h as they are."""
import ctypes
import os

import numpy

from ._error import Error

USAGE, UNSUPPORTED, ENVIRONMENT, LIMIT = 2, 4, 5, 6
ENGINES = {"interpreter": 0, "c": 1, "jit": 2}
RANK_MOST = 16

# ONNX's numbers (TensorProto.DataType) -> NumPy's types; what NumPy has not is its bits.
TYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "object", 9: "bool", 10: "float16", 11: "float64", 12: "uint32",
         13: "uint64", 14: "complex64", 15: "complex128", 16: "uint16", 17: "uint8", 18: "uint8", 19: "uint8", 20: "uint8", 21: "uint8", 22: "uint8",
         23: "uint8", 24: "uint8", 25: "uint8", 26: "uint8"}
NAMES = {8: "string", 16: "bfloat16", 17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4_e2m1fn",
         24: "float8_e8m0fnu", 25: "uint2", 26: "int2"}


class CTensor(ctypes.Structure):
    """struct ingot_tensor"""
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("rank", ctypes.c_int), ("dims", ctypes.c_int64 * RANK_MOST), ("bytes", ctypes.c_size_t),
                ("strings", ctypes.c_int)]


def _find(name, variable):
    """A file of the wheel, or the one that an environment variable names."""
    return os.environ.get(variable) or os.path.join(os.path.dirname(__file__), name)


_MODEL, _SIZE, _TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _TEXT, _SIZE, _SIZE)
_FUNCTIONS = {
    "ingot_set_progress": (None, [_MODEL, PROGRESS, ctypes.c_void_p]),
    "ingot_open": (ctypes.c_int, [ctypes.POINTER(_MODEL), _TEXT]),
    "ingot_open_memory": (ctypes.c_int, [ctypes.POINTER(_MODEL), _TEXT, _SIZE, _TEXT]),
    "ingot_set_dim": (ctypes.c_int, [_MODEL, _TEXT, ctypes.c_int64]),
    "ingot_set_elements": (ctypes.c_int, [_MODEL, _TEXT, _TEXT]),
    "ingot_set_value": (ctypes.c_int, [_MODEL, _TEXT, _TEXT]),
    "ingot_set_option": (ctypes.c_int, [_MODEL, _TEXT, _TEXT]),
    "ingot_dim_name": (_TEXT, [_MODEL, _SIZE, ctypes.c_int]),
    "ingot_compile": (ctypes.c_int, [_MODEL, ctypes.c_int]),
    "ingot_input_count": (_SIZE, [_MODEL]),
    "ingot_output_count": (_SIZE, [_MODEL]),
    "ingot_input": (ctypes.POINTER(CTensor), [_MODEL, _SIZE]),
    "ingot_output": (ctypes.POINTER(CTensor), [_MODEL, _SIZE]),
    "ingot_set_input": (ctypes.c_int, [_MODEL, _SIZE, ctypes.c_void_p]),
    "ingot_set_output": (ctypes.c_int, [_MODEL, _SIZE, ctypes.c_void_p]),
    "ingot_run": (ctypes.c_int, [_MODEL]),
    "ingot_model_numbers": (_TEXT, [_MODEL]),
    "ingot_model_message": (_TEXT, [_MODEL]),
    "ingot_close": (None, [_MODEL]),
}
_loaded = None


def library():
    """The library, loaded at the first call of it."""
    global _loaded
    if _loaded is None:
        path = _find("libingot.so.0", "INGOT_LIBRARY")
        try:
            loaded = ctypes.CDLL(path)                       # calls release the interpreter's lock
        except OSError as why:
            raise Error(ENVIRONMENT, f"libingot cannot be loaded: {why}; INGOT_LIBRARY names another libingot.so.0") from None
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
        _loaded = loaded
    return _loaded


def program():
    """The path of the program `ingot`."""
    path = _find("bin/ingot", "INGOT_PROGRAM")
    if not os.path.isfile(path):
        raise Error(ENVIRONMENT, f"the program is not there: {path}; INGOT_PROGRAM names another one")
    return path


def numpy_type(number):
    """None: the file does not say the type, ingot_compile does."""
    if not number:
        return None
    if number not in TYPES:
        raise Error(UNSUPPORTED, f"NumPy has no arrays of ONNX's type {number}")
    return numpy.dtype(TYPES[number])


def text(value):
    return value.decode("utf-8", "replace") if value is not None else None
