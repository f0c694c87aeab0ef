"""same.py: what "the same bits" is to every test: type, shape and bits, 0 and -0 apart; but a NaN is a NaN, whatever its sign and
payload, as CPUs and compilers differ in them and nobody is promised any."""
import numpy


def is_nan(a):
    return numpy.isnan(a.astype("f4") if a.dtype.kind == "V" else a)


def same(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind not in "fcV" or a.dtype.type is numpy.void:
        return a.tobytes() == b.tobytes()
    if a.dtype.kind == "c":
        return same(a.real.copy(), b.real.copy()) and same(a.imag.copy(), b.imag.copy())
    bits = "u%d" % a.dtype.itemsize                   # kind V: what ml_dtypes adds
    equal = numpy.ascontiguousarray(a).view(bits) == numpy.ascontiguousarray(b).view(bits)
    return bool((equal | (is_nan(a) & is_nan(b))).all())
