#!/usr/bin/env python3
"""windows.py INGOT [SEED]: convolutions, pools and what stands around them (BatchNormalization, Pad, Gemm) along axes whose extents a call or data say: what is behind the count is a pad, and the result ends where the last window does;
on every target, beside onnxruntime; equal bits.  77 where onnxruntime is not there."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from judged import drawn, judged
from told import expect, finish, told
import numpy as np

HEAD = '<ir_version: 8, opset_import: ["" : 19]>\n'
# Stacked: windows of all kinds behind each other; a row of each kind of pad.
STACK = HEAD + """stack (float[B,3,H,W] x) => (y, all, most, norm, mean)
<float[8,3,3,3] w1 = {%s}, float[8] b1 = {1,2,3,4,-5,-6,-7,-8}, float[16,8,3,3] w2 = {%s}, float[8,1,3,3] w3 = {%s}, float[4,16,1,1] w4 = {%s}, float[4,2,3,2] w5 = {%s}>
{
	c1 = Conv <pads = [1,1,1,1]> (x, w1, b1)
	r1 = Relu (c1)
	d = Conv <pads = [1,1,1,1], group = 8> (r1, w3)
	s = Add (r1, d)
	p1 = MaxPool <kernel_shape = [2,2], strides = [2,2]> (s)
	c2 = Conv <pads = [0,1,2,1], strides = [2,1], dilations = [1,2]> (p1, w2)
	r2 = Tanh (c2)
	c4 = Conv (r2, w4)
	y = ConvTranspose <strides = [2,1], pads = [1,0,0,1]> (c4, w5)
	all = GlobalAveragePool (c4)
	most = GlobalMaxPool (c4)
	p2 = MaxPool <kernel_shape = [3,2], pads = [1,0,1,1], strides = [2,1], ceil_mode = 1> (c4)
	p3 = LpPool <kernel_shape = [2,3], pads = [0,1,1,1]> (c4)
	norm = GlobalLpPool (p3)
	mean = ReduceMean (p2)
}
"""
POOLS = HEAD + """pools (float[1,2,N] x, float[1,3,N] z, double[1,2,N] wide) => (a, b, c, d, e, f, g, h, i, j, k, l, m)
<float[3,3,3] w = {%s}, float[4,3,5] v = {%s}, int64[6] around = {1,0,3,0,1,4}, int64[6] sides = {0,0,3,0,0,4}, int64[6] less = {0,0,-2,0,0,3}>
{
	a = AveragePool <kernel_shape = [3], pads = [1,1]> (x)
	b = AveragePool <kernel_shape = [3], pads = [1,1], count_include_pad = 1> (x)
	c = AveragePool <kernel_shape = [4], strides = [3], ceil_mode = 1> (x)
	d = AveragePool <kernel_shape = [3], strides = [2], pads = [1,1], ceil_mode = 1, count_include_pad = 0, dilations = [2]> (x)
	e = MaxPool <kernel_shape = [3], strides = [2], auto_pad = "VALID"> (x)
	f = Conv <auto_pad = "SAME_UPPER"> (z, w)
	g = Conv <strides = [3], pads = [4,3]> (z, v)
	wn = Neg (wide)
	h = MaxPool <kernel_shape = [5], pads = [2,2]> (wn)
	t = MaxPool <kernel_shape = [2], pads = [0,1]> (z)
	u = Conv <pads = [2,2]> (t, v)
	i = Softmax <axis = -1> (u)
	j = Pad <mode = "reflect"> (x, sides)
	k = Pad <mode = "edge"> (wide, around)
	l = Pad <mode = "wrap"> (z, around)
	m = Pad <mode = "edge"> (z, less)
}
"""
BYTES = HEAD + """bytes (int8[1,2,N] x, uint8[1,2,N] z, uint8[3,2,3] w) => (a, b, c)
{
	a = MaxPool <kernel_shape = [3], pads = [1,1]> (x)
	b = MaxPool <kernel_shape = [2], strides = [2], pads = [0,1]> (z)
	c = ConvInteger <pads = [1,1]> (z, w)
}
"""
HEADS = HEAD + """heads (float[B,3,N] x, float[N,5] w, float[5,B] z) => (y, p, q, r, s, l, e)
<float[3] scale = {1,2,3}, float[3] bias = {0.5,0,-1}, float[3] mean = {0,1,2}, float[3] variance = {1,2,3}, float[6,4] u = {%s}, float[4] c = {%s}, float[1,5] d = {%s}, int64[6] pads = {0,0,2,0,0,1},
 int64[6] less = {0,0,-1,1,0,-2}, float two = {2}>
{
	n = BatchNormalization (x, scale, bias, mean, variance)
	p = Pad (n, pads, two)
	q = Pad (x, less)
	m = GlobalAveragePool (p)
	f = Flatten (m)
	turned = Transpose <perm = [0, 2, 1]> (x)
	s = GlobalAveragePool (turned)
	l = GlobalMaxPool (turned)
	e = GlobalLpPool (turned)
	g = Concat <axis = 1> (f, f)
	y = Gemm (g, u, c)
	t = ReduceSum <keepdims = 0> (x, one)
	one = Constant <value_ints = [1]> ()
	h = Gemm <alpha = 0.5> (t, w, d)
	r = Gemm <transA = 1, transB = 1, beta = 2.0> (z, h, k)
	k = Reshape (v, row)
	v = ReduceSum <keepdims = 0> (x, last)
	last = Constant <value_ints = [1, 2]> ()
	row = Constant <value_ints = [1, -1]> ()
}
"""
SOME = HEAD + """some (float[1,2,9] x, bool[9] keep) => (y)
<float[3,2,3] w = {%s}>
{
	few = Compress <axis = 2> (x, keep)
	c = Conv <pads = [1,1]> (few, w)
	y = MaxPool <kernel_shape = [2], pads = [0,1]> (c)
}
"""


with tempfile.TemporaryDirectory(prefix="test-windows.") as folder:
    os.chdir(folder)
    seed, bits = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")), {}
    random = np.random.default_rng(seed)
    texts = {name: drawn(random, text) for name, text in (("stack", STACK), ("pools", POOLS), ("bytes", BYTES), ("some", SOME), ("heads", HEADS))}
    for name, text in texts.items():
        open(name + ".onnxtxt", "w").write(text)
    for target in ("interpreter", "jit", "c", "cuda-emulated"):
        few = target in ("c", "cuda-emulated")
        random, wrong = np.random.default_rng(seed), []
        for b, h, w in ((1, 12, 10), (2, 20, 17), (1, 13, 24), (2, 24, 11))[:1 if few else 4]:
            judged(wrong, bits, (b, h, w), "stack.onnxtxt", texts["stack"], {"x": random.standard_normal((b, 3, h, w), np.float32)}, target, "--dim", "B=1..2", "--dim", "H=11..24", "--dim", "W=8..24")
        expect("a stack by " + target, not wrong, "; ".join(wrong))
        random, wrong = np.random.default_rng(seed + 1), []
        for n in (7, 12, 5, 16, 9)[:1 if few else 5]:
            given = {"x": random.standard_normal((1, 2, n), np.float32) - 3, "z": random.standard_normal((1, 3, n), np.float32) - 3, "wide": random.standard_normal((1, 2, n))}
            judged(wrong, bits, ("pools", n), "pools.onnxtxt", texts["pools"], given, target, "--dim", "N=5..16")
            given = {"x": random.integers(-128, -3, (1, 2, n)).astype("i1"), "z": random.integers(0, 256, (1, 2, n)).astype("u1"), "w": random.integers(0, 256, (3, 2, 3)).astype("u1")}
            judged(wrong, bits, ("bytes", n), "bytes.onnxtxt", texts["bytes"], given, target, "--dim", "N=1..16")
            b = n % 3 + 1
            given = {"x": random.standard_normal((b, 3, n), np.float32), "w": random.standard_normal((n, 5), np.float32), "z": random.standard_normal((5, b), np.float32)}
            judged(wrong, bits, ("heads", n), "heads.onnxtxt", texts["heads"], given, target, "--dim", "N=5..16", "--dim", "B=0..3")
            given = {"x": random.standard_normal((1, 2, 9), np.float32) - 3, "keep": np.arange(9) % (n % 3 + 1) == 0}
            judged(wrong, bits, ("some", n), "some.onnxtxt", texts["some"], given, target)
        expect("pools by " + target, not wrong, "; ".join(wrong))

    # what depends on more than how many windows there are
    for name, node, part in (("pads of a stride", 'y = MaxPool <kernel_shape = [3], strides = [2], auto_pad = "SAME_UPPER"> (x)', "MaxPool: data decide dimension 2 of x"),
                             ("places", "y, z = MaxPool <kernel_shape = [3]> (x)", "MaxPool: data decide dimension 2 of x"),
                             ("channels", "t = Transpose <perm = [0,2,1]> (x)  y = AveragePool <kernel_shape = [2]> (t)", "AveragePool: data decide dimension 1 of t")):
        open("other.onnxtxt", "w").write(HEAD + "other (float[1,2,N] x) => (y) { %s }\n" % node)
        told(name, 4, part, "build", "other.onnxtxt", "-o", "not", "--dim", "N=1..9")
    open("none.onnxtxt", "w").write(HEAD + 'none (float[N] x) => (y) <int64[2] pads = {1,2}> { y = Pad <mode = "edge"> (x, pads) }\n')
    np.savez("none.npz", x=np.zeros(0, "f4"))
    for target in ("interpreter", "jit"):
        told("the edge of nothing by " + target, 3, "dimension 0 has no element to take for its pads", "run", "none.onnxtxt", "--input", "none.npz", "--dim", "N=0..3", "--target", target)
finish()
