#!/usr/bin/env python3
"""places.py INGOT [SEED]: what goes to places that are data, where data, indices or updates have axes whose extents a call says (ScatterElements, ScatterND, TensorScatter, ReverseSequence, GridSample),
and what data choose of such axes (Compress, NonZero); on every target, beside onnxruntime (TensorScatter: NumPy); equal bits.  77 where onnxruntime is not there."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from judged import judged
from told import expect, finish, run, told
import numpy as np

HEAD = '<ir_version: 10, opset_import: ["" : %d]>\n'
SCATTERED = HEAD % 18 + """scattered (float[2,N] x, int64[2,N] at, float[2,N] u, float[P,3] cache, int64[M,1] rows, float[M,3] new, float[9,2] fixed, int64[M,2] few, float[M,2] ups, int64[M,2] cells)
	=> (a, b, c, d, e, f, g, sum)
{
	a = ScatterElements <axis = 1> (x, at, u)
	b = ScatterElements <axis = -1, reduction = "add"> (x, at, u)
	c = ScatterND (cache, rows, new)
	d = ScatterND <reduction = "max"> (cache, rows, new)
	e = ScatterElements <axis = 0, reduction = "mul"> (fixed, few, ups)
	zero = Constant <value_ints = [0]> ()
	one = Constant <value_ints = [1]> ()
	least = Min (few, one)
	f = ScatterElements <axis = 1, reduction = "add"> (fixed, least, ups)
	flat = ReduceSum <keepdims = 0> (new, one)
	g = ScatterND <reduction = "add"> (cache, cells, flat)
	sum = ReduceSum <keepdims = 0> (c, zero)
}
"""
CHOSEN = HEAD % 18 + """chosen (float[2,N] x, bool[N] keep, float[N,3] rows, int64[B] lengths, float[6,B,2] steps, float[N,B] z) => (a, b, c, d, e, f, g, h, i, j, k)
{
	a = Compress <axis = 1> (x, keep)
	b = NonZero (keep)
	c = Compress <axis = 0> (rows, keep)
	half = Constant <value = float {0.5}> ()
	above = Greater (x, half)
	d = NonZero (above)
	apart = Greater (z, half)
	e = NonZero (apart)
	f = ReverseSequence <time_axis = 0, batch_axis = 1> (steps, lengths)
	column = Slice (rows, none, one, one)
	none = Constant <value_ints = [0]> ()
	one = Constant <value_ints = [1]> ()
	list = Squeeze (column, one)
	g = Compress (list, keep)
	turned = Transpose (d)
	h = GatherND (x, turned)
	parts = Concat <axis = 1> (a, a)
	i = ReduceSum <keepdims = 0> (parts, one)
	axis = Constant <value = int64 {0}> ()
	j = CumSum <reverse = 1> (c, axis)
	whole = Reshape (z, minus)
	minus = Constant <value_ints = [-1]> ()
	k = NonZero (whole)
}
"""
GRIDS = HEAD % 20 + """grids (float[B,2,H,W] x, float[B,N,3,2] at) => (a, b, c, d, e)
{
	a = GridSample (x, at)
	b = GridSample <align_corners = 1, padding_mode = "reflection"> (x, at)
	c = GridSample <mode = "nearest", padding_mode = "border"> (x, at)
	d = GridSample <mode = "cubic", padding_mode = "reflection"> (x, at)
	e = GridSample <align_corners = 1> (x, at)
}
"""
STEPS = HEAD % 18 + """steps (float[T,B,2] x, int64[B] lengths) => (y, z)
{
	y = ReverseSequence (x, lengths)
	turned = Transpose <perm = [1,0,2]> (x)
	z = ReverseSequence <time_axis = 1, batch_axis = 0> (turned, lengths)
}
"""
CACHE = HEAD % 24 + """cache (float[B,2,T,3] past, float[B,2,N,3] new, int64[B] from) => (float[B,2,T,3] y, float[B,2,T,3] circle, float[B,2,T,3] first)
{
	y = TensorScatter (past, new, from)
	circle = TensorScatter <mode = "circular"> (past, new, from)
	first = TensorScatter (past, new)
}
"""
PRODUCTS = HEAD % 26 + "products (double[N,2] x, int64 axis) => (double[N,2] y, double[N,2] z) { y = CumProd (x, no)  no = Constant <value = int64 {0}> ()  z = CumProd <exclusive = 1, reverse = 1> (x, no) }\n"
ONE = HEAD % 18 + "one (float[N] x, int64[K] i, float[K] u) => (y) { y = ScatterElements (x, i, u) }\n"


def cached(past, new, start):
    out = [past.copy() for _ in range(3)]
    for b in range(len(past)):
        for r in range(new.shape[2]):
            out[0][b, :, start[b] + r], out[1][b, :, (start[b] + r) % past.shape[2]], out[2][b, :, r] = (new[b, :, r],) * 3
    return dict(zip(("y", "circle", "first"), out))


def same(wrong, bits, key, file, given, want, target, *more):
    np.savez("in.npz", **given)
    code, _, message = run("run", file, "--input", "in.npz", "--output", "out.npz", "--target", target, *more)
    if code:
        wrong.append(message)
        return
    with np.load("out.npz") as made:
        wrong += ["%s: %s is %s, not %s" % (key, k, made[k], v) for k, v in want.items() if made[k].shape != v.shape or not np.allclose(made[k], v, rtol=1e-12)]
        now = {k: made[k].tobytes() for k in made}
        wrong += ["%s: other bits" % (key,)] if bits.setdefault(key, now) != now else []


with tempfile.TemporaryDirectory(prefix="test-places.") as folder:
    os.chdir(folder)
    seed, bits = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")), {}
    for name, text in (("scattered", SCATTERED), ("chosen", CHOSEN), ("steps", STEPS), ("grids", GRIDS), ("cache", CACHE), ("products", PRODUCTS), ("one", ONE)):
        open(name + ".onnxtxt", "w").write(text)
    for target in ("interpreter", "jit", "c", "cuda-emulated"):
        random, wrong = np.random.default_rng(seed), []
        floats = lambda *shape: random.standard_normal(shape, np.float32)
        places = lambda *shape: random.permuted(np.tile(np.arange(shape[0]), (shape[1], 1)), axis=1).T.copy()
        for n, p, m, b in ((7, 8, 5, 2), (0, 3, 0, 1), (12, 8, 8, 3), (1, 1, 1, 3))[:4 if target in ("interpreter", "jit") else 2]:
            at = np.stack([random.permutation(n) for _ in range(2)]).reshape(2, n)
            given = {"x": floats(2, n), "at": at - n * random.integers(0, 2, at.shape), "u": floats(2, n), "cache": floats(p, 3), "rows": random.permutation(p)[:m].reshape(m, 1), "new": floats(m, 3),
                     "fixed": floats(9, 2), "few": places(9, 2)[:m], "ups": floats(m, 2), "cells": np.stack([random.integers(-p, p, m), random.integers(0, 3, m)], 1)}
            given["rows"] -= p * (given["rows"] % 2)
            judged(wrong, bits, ("scattered", n), "scattered.onnxtxt", SCATTERED, given, target, "--dim", "N=0..12", "--dim", "P=1..8", "--dim", "M=0..8")
            given = {"x": floats(2, n), "keep": random.random(n) < 0.6, "rows": floats(n, 3), "lengths": random.integers(1, 7, b), "steps": floats(6, b, 2), "z": floats(n, b)}
            judged(wrong, bits, ("chosen", n), "chosen.onnxtxt", CHOSEN, given, target, "--dim", "N=0..12", "--dim", "B=1..3")
            t = n + 1
            judged(wrong, bits, ("steps", n), "steps.onnxtxt", STEPS, {"x": floats(t, b, 2), "lengths": random.integers(1, t + 1, b)}, target, "--dim", "T=1..13", "--dim", "B=1..3")
            given = {"x": floats(b, 2, t, 2 * b), "at": random.uniform(-1.3, 1.3, (b, n, 3, 2)).astype("f4")}
            judged(wrong, bits, ("grids", n), "grids.onnxtxt", GRIDS, given, target, "--dim", "H=0..13", "--dim", "W=2..8", "--dim", "B=1..3", "--dim", "N=0..12")
            new = t - int(random.integers(0, t))
            given = {"past": floats(b, 2, t, 3), "new": floats(b, 2, new, 3), "from": random.integers(0, t - new + 1, b)}
            same(wrong, bits, ("cache", n), "cache.onnxtxt", given, cached(given["past"], given["new"], given["from"]), target, "--dim", "T=1..13", "--dim", "N=1..13", "--dim", "B=1..3")
            x = random.standard_normal((n, 2))
            none = np.concatenate([x[1:], np.ones((min(n, 1), 2))])
            same(wrong, bits, ("products", n), "products.onnxtxt", {"x": x, "axis": np.array(0)}, {"y": x.cumprod(0), "z": none[::-1].cumprod(0)[::-1]}, target, "--dim", "N=0..12")
        expect("by " + target, not wrong, "; ".join(wrong))

        # outside of what is there, not of what may be there, is a status
        for name, i, code in (("inside", [0, -3], 0), ("behind the last", [3, 0], 3), ("before the first", [0, -4], 3)):
            np.savez("in.npz", x=floats(3), i=np.array(i), u=floats(2))
            got, _, message = run("run", "one.onnxtxt", "--input", "in.npz", "--target", target, "--dim", "N=0..9", "--dim", "K=0..4")
            expect("%s by %s" % (name, target), got == code and (not code or "an index at run time is outside of dimension 0" in message), "exit %d: %s" % (got, message))
        np.savez("in.npz", x=floats(3, 1, 2), lengths=np.array([4]))
        told("a length of more by " + target, 3, "a length at run time is not in what there is of dimension 0", "run", "steps.onnxtxt", "--input", "in.npz", "--target", target,
             "--dim", "T=1..13", "--dim", "B=1..3")
        np.savez("in.npz", x=floats(1, 2, 0, 2), at=floats(1, 4, 3, 2))
        told("data without elements by " + target, 3, "GridSample: dimension 2 of the data has no element", "run", "grids.onnxtxt", "--input", "in.npz", "--target", target,
             "--dim", "H=0..13", "--dim", "W=2..8", "--dim", "B=1..3", "--dim", "N=0..12")
        np.savez("in.npz", **{"past": floats(1, 2, 4, 3), "new": floats(1, 2, 2, 3), "from": np.array([3])})
        told("rows behind the cache by " + target, 3, "a row at run time is not one from which all that come fit", "run", "cache.onnxtxt", "--input", "in.npz", "--target", target,
             "--dim", "T=1..13", "--dim", "N=1..13", "--dim", "B=1..3")

    # whose counts are not each other's
    for name, text, part in (("a condition of others", "float[N] x, bool[4] keep) => (y) { y = Compress <axis = 0> (x, keep) }", "Compress: data decide dimension 0 of x"),
                             ("all of several", "float[2,N] x, bool[8] keep) => (y) { y = Compress (x, keep) }", "Compress: data decide dimension 1 of x"),
                             ("updates of others", "float[9] x, int64[N] i, float[4] u) => (y) { y = ScatterElements (x, i, u) }", "ScatterElements: data decide dimension 0 of i"),
                             ("other columns", "float[4,N] x, int64[2,4] i, float[2,4] u) => (y) { y = ScatterElements (x, i, u) }", "ScatterElements: data decide dimension 1 of x"),
                             ("rows of others", "float[9,2] x, int64[N,1] i, float[4,2] u) => (y) { y = ScatterND (x, i, u) }", "ScatterND: data decide dimension 0 of i"),
                             ("other batches", "float[N,3,2] x, int64[4] lengths) => (y) { y = ReverseSequence <batch_axis = 0, time_axis = 1> (x, lengths) }", "ReverseSequence: data decide dimension 0 of x")):
        open("other.onnxtxt", "w").write(HEAD % 18 + "other (" + text + "\n")
        told(name, 4, part, "build", "other.onnxtxt", "-o", "not", "--dim", "N=1..4")
finish()
