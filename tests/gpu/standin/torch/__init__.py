"""A PyTorch that is none, for the test of tests/gpu/net.py: its arrays are NumPy's, its GPU the CPU, its compiler nothing.  $TORCH_WRONG: it multiplies wrongly."""
import contextlib
import os
import time
import types

import numpy
from . import nn

float32, uint8, int8, int32 = numpy.float32, numpy.uint8, numpy.int8, numpy.int32


class Tensor(numpy.ndarray):
    """With the methods that net.py calls."""

    def to(self, where):
        return self if isinstance(where, str) else self.astype(where)

    def t(self):
        return self.T

    def permute(self, order):
        return self.transpose(order)

    def float(self):
        return self.astype(float32)

    def abs(self):
        return numpy.abs(self)

    def unsqueeze(self, axis):
        return numpy.expand_dims(self, axis)

    def narrow(self, axis, start, length):
        return self[(slice(None),) * axis + (slice(start, start + length),)]

    def split(self, sizes, axis):
        return tuple(numpy.split(self, numpy.cumsum(sizes)[:-1], axis))

    def new_zeros(self, dims):
        return tensor(numpy.zeros(dims, self.dtype))

    def __matmul__(self, other):
        y = tensor(numpy.matmul(numpy.asarray(self), numpy.asarray(other)))
        return y * 1.01 if os.environ.get("TORCH_WRONG") else y


def tensor(array):
    return numpy.asarray(array).view(Tensor)


def frombuffer(data, dtype):
    return tensor(numpy.frombuffer(data, getattr(numpy, dtype) if isinstance(dtype, str) else dtype))


def arange(*words):
    return tensor(numpy.arange(*words))


def stack(arrays):
    return tensor(numpy.stack(arrays))


def cat(arrays, axis):
    return tensor(numpy.concatenate(arrays, axis))


def relu(x):
    return numpy.maximum(x, float32(0))


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def tanh(x):
    return numpy.tanh(x)


def erf(x):
    import math
    return tensor(numpy.vectorize(math.erf, otypes=[numpy.float32])(x))


def softmax(x, axis):
    y = numpy.exp(x - x.max(axis, keepdims=True))
    return y / y.sum(axis, keepdims=True)


def compile(module, mode):
    return module


def no_grad():
    return contextlib.nullcontext()


class Event:
    def __init__(self, enable_timing):
        self.at = None

    def record(self):
        self.at = time.monotonic()

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return 1000 * (end.at - self.at)


cuda = types.SimpleNamespace(is_available=lambda: not os.environ.get("TORCH_WITHOUT"), Event=Event)
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()), cudnn=types.SimpleNamespace())
