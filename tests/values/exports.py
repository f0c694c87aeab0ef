#!/usr/bin/env python3
"""exports.py INGOT [SEED]: graphs as exporters write them, of dims that a call says: shapes that are read, taken apart and put together again (Shape, Gather, Concat, Reshape),
masks and positions that are as long as the data (Range, Slice, Expand, Trilu), a cache, sizes of a skipped connection; on every target, beside onnxruntime; equal bits.
77 where NumPy or onnxruntime is not there."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from judged import drawn, judged
from told import expect, finish, run, told
import numpy as np
import onnxruntime

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
NUMBERS = "int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {2}, int64 i3 = {3}, int64[1] l0 = {0}, int64[1] l1 = {1}, int64[1] l2 = {2}, int64[1] l3 = {3}, int64[1] last = {-1}"
# An encoder: words, positions 0 … N-1, a mask of the input, attention by heads, the first row alone, the last.
BERT = HEAD + """bert (int64[B,N] ids, int64[B,N] attention_mask) => (hidden, pooled, end)
<%s, float[30,8] words = {%%s}, int64[1,12] position_ids = {0,1,2,3,4,5,6,7,8,9,10,11}, float[12,8] positions = {%%s}, float[8] scale = {%%s}, float[8,8] wq = {%%s},
	float[8,8] wk = {%%s}, float[8,8] wv = {%%s}, int64[1] heads = {2}, int64[1] size = {4}, int64[1] all = {8}>
{
	shape = Shape (ids)
	n = Gather <axis = 0> (shape, i1)
	n1 = Unsqueeze (n, l0)
	used = Slice (position_ids, l0, n1, l1)
	place = Gather (positions, used)
	found = Gather (words, ids)
	sum = Add (found, place)
	x = LayerNormalization <axis = -1> (sum, scale)
	m1 = Unsqueeze (attention_mask, l1)
	m2 = Unsqueeze (m1, l2)
	m3 = Cast <to = 1> (m2)
	one = Constant <value = float {1}> ()
	low = Constant <value = float {-10000}> ()
	m4 = Sub (one, m3)
	m5 = Mul (m4, low)
	q0 = MatMul (x, wq)
	qs = Shape (q0)
	qb = Gather <axis = 0> (qs, i0)
	qn = Gather <axis = 0> (qs, i1)
	qb1 = Unsqueeze (qb, l0)
	qn1 = Unsqueeze (qn, l0)
	apart = Concat <axis = 0> (qb1, qn1, heads, size)
	q1 = Reshape (q0, apart)
	q = Transpose <perm = [0,2,1,3]> (q1)
	k0 = MatMul (x, wk)
	k1 = Reshape (k0, apart)
	k = Transpose <perm = [0,2,3,1]> (k1)
	v0 = MatMul (x, wv)
	v1 = Reshape (v0, apart)
	v = Transpose <perm = [0,2,1,3]> (v1)
	s0 = MatMul (q, k)
	root = Constant <value = float {2}> ()
	s1 = Div (s0, root)
	s2 = Add (s1, m5)
	p = Softmax <axis = -1> (s2)
	c0 = MatMul (p, v)
	c1 = Transpose <perm = [0,2,1,3]> (c0)
	cs = Shape (c1)
	cb = Gather <axis = 0> (cs, i0)
	cn = Gather <axis = 0> (cs, i1)
	cb1 = Unsqueeze (cb, l0)
	cn1 = Unsqueeze (cn, l0)
	joined = Concat <axis = 0> (cb1, cn1, all)
	c = Reshape (c1, joined)
	hidden = Add (c, x)
	first = Gather <axis = 1> (hidden, i0)
	pooled = Tanh (first)
	ends = Slice (hidden, last, most, l1)
	most = Constant <value_ints = [9223372036854775807]> ()
	end = Squeeze (ends, l1)
}
""" % NUMBERS
# A decoder with its cache, in parts: keys repeated for their heads by Expand, a triangle of the mask cut by where the rows stand, turned halves.
DECODER = HEAD + """decoder (float[B,N,8] x, float[B,1,P,4] past_key, float[B,1,P,4] past_value) => (y, key, value, logits, length)
<%s, float[8,8] wq = {%%s}, float[8,4] wk = {%%s}, float[8,4] wv = {%%s}, float[1,1,16,4] cosines = {%%s}, float[1,1,16,4] sines = {%%s}, float[8,8] out = {%%s},
	int64[4] qparts = {0,0,2,4}, int64[4] kparts = {0,0,1,4}, int64[1] heads = {2}, int64[1] size = {4}, int64[1] all = {8}, float[16,16] ones = {%%s}>
{
	xs = Shape (x)
	b = Gather <axis = 0> (xs, i0)
	n = Gather <axis = 0> (xs, i1)
	ps = Shape (past_key)
	p = Gather <axis = 0> (ps, i2)
	t = Add (p, n)
	p1 = Unsqueeze (p, l0)
	n1 = Unsqueeze (n, l0)
	t1 = Unsqueeze (t, l0)
	b1 = Unsqueeze (b, l0)
	q0 = MatMul (x, wq)
	q1 = Reshape (q0, qparts)
	q = Transpose <perm = [0,2,1,3]> (q1)
	k0 = MatMul (x, wk)
	k1 = Reshape (k0, kparts)
	k = Transpose <perm = [0,2,1,3]> (k1)
	v0 = MatMul (x, wv)
	v1 = Reshape (v0, kparts)
	v = Transpose <perm = [0,2,1,3]> (v1)
	cos = Slice (cosines, p1, t1, l2)
	sin = Slice (sines, p1, t1, l2)
	qa = Slice (q, l0, l2, l3)
	far = Constant <value_ints = [9223372036854775807]> ()
	qb = Slice (q, l2, far, l3)
	qn = Neg (qb)
	qr = Concat <axis = -1> (qn, qa)
	qc = Mul (q, cos)
	qd = Mul (qr, sin)
	qt = Add (qc, qd)
	ka, kb = Split <axis = 3> (k, halves)
	halves = Constant <value_ints = [2, 2]> ()
	kn = Neg (kb)
	kr = Concat <axis = -1> (kn, ka)
	kc = Mul (k, cos)
	kd = Mul (kr, sin)
	kt = Add (kc, kd)
	key = Concat <axis = 2> (past_key, kt)
	value = Concat <axis = 2> (past_value, v)
	wide = Concat <axis = 0> (b1, l1, heads, t1, size)
	none = Constant <value_ints = [-1]> ()
	minus = Expand (none, five)
	five = Constant <value_ints = [5]> ()
	is_minus = Equal (wide, minus)
	filled = ConstantOfShape <value = int64[1] {1}> (five)
	real = Where (is_minus, filled, wide)
	key5 = Unsqueeze (key, l2)
	keys5 = Expand (key5, real)
	value5 = Unsqueeze (value, l2)
	values5 = Expand (value5, real)
	flat = Concat <axis = 0> (b1, heads, t1, size)
	keys = Reshape (keys5, flat)
	values = Reshape (values5, flat)
	turned = Transpose <perm = [0,1,3,2]> (keys)
	s = MatMul (qt, turned)
	low = Trilu <upper = 0> (ones)
	zero = Constant <value = float {0}> ()
	seen = Equal (low, zero)
	from = Sub (t1, n1)
	rows = Slice (seen, from, t1, l0)
	mask = Slice (rows, l0, t1, l1)
	m1 = Unsqueeze (mask, both)
	both = Constant <value_ints = [0, 1]> ()
	infinite = Constant <value = float {-100000}> ()
	s1 = Where (m1, infinite, s)
	share = Softmax <axis = -1> (s1)
	o0 = MatMul (share, values)
	o1 = Transpose <perm = [0,2,1,3]> (o0)
	joined = Concat <axis = 0> (b1, n1, all)
	o2 = Reshape (o1, joined)
	y = MatMul (o2, out)
	end = Gather <axis = 1> (y, minus_one)
	minus_one = Constant <value_int = -1> ()
	logits = MatMul (end, out)
	length = Identity (t)
}
""" % NUMBERS
# A triangle that is as large as the data: Range, Less and a mask of ConstantOfShape; products by Einsum; the place of the largest.
CAUSAL = HEAD + """causal (float[B,N,6] x) => (y, top, places, hot, summed, tiled, count)
<%s>
{
	s = Shape (x)
	b = Gather <axis = 0> (s, i0)
	n = Gather <axis = 0> (s, i1)
	at = Range (i0, n, i1)
	column = Unsqueeze (at, l1)
	before = LessOrEqual (at, column)
	n1 = Unsqueeze (n, l0)
	square = Concat <axis = 0> (n1, n1)
	low = ConstantOfShape <value = float[1] {-100}> (square)
	zero = Constant <value = float {0}> ()
	mask = Where (before, zero, low)
	above = Trilu <upper = 1> (low, i1)
	products = Einsum <equation = "bid,bjd->bij"> (x, x)
	m0 = Add (mask, above)
	scores = Add (products, m0)
	p = Softmax <axis = -1> (scores)
	y = Einsum <equation = "bij,bjd->bid"> (p, x)
	three = Constant <value_ints = [3]> ()
	top, places = TopK <axis = -1> (y, three)
	depth = Constant <value = int64 {6}> ()
	pair = Constant <value = float[2] {0, 1}> ()
	best = ArgMax <axis = -1, keepdims = 0> (y)
	hot = OneHot <axis = -1> (best, depth, pair)
	summed = Einsum <equation = "bij->b"> (p)
	b1 = Unsqueeze (b, l0)
	times = Concat <axis = 0> (b1, l2, l1)
	row = ReduceSum (y, l0)
	tiled = Tile (row, times)
	count = Size (y)
}
""" % NUMBERS
# Up again to the size of what is skipped.
UNET = HEAD + """unet (float[B,3,H,W] x) => (y, back, pairs)
<%s, float[4,3,3,3] down = {%%s}, float[4,7,3,3] up = {%%s}, float[4] bias = {%%s}, float[2] g = {%%s}, float[4,1,1] g1 = {%%s}>
{
	d = Conv <pads = [1,1,1,1], strides = [2,2]> (x, down)
	r = Constant <value_ints = [0, 2, -1]> ()
	grouped = Reshape (d, r)
	normal = InstanceNormalization (grouped, g, g)
	ds = Shape (d)
	whole = Reshape (normal, ds)
	scaled = Mul (whole, g1)
	active = Sigmoid (scaled)
	xs = Shape (x)
	hw = Slice (xs, l2, four, l0)
	four = Constant <value_ints = [4]> ()
	as = Shape (active)
	bc = Slice (as, l0, l2, l0)
	sizes = Concat <axis = 0> (bc, hw)
	large = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (active, , , sizes)
	near = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (active, , , sizes)
	sum = Add (large, near)
	joined = Concat <axis = 1> (sum, x)
	y = Conv <pads = [1,1,1,1]> (joined, up, bias)
	h = Gather <axis = 0> (xs, i2)
	w = Gather <axis = 0> (xs, i3)
	area = Mul (h, w)
	area1 = Unsqueeze (area, l0)
	b1 = Slice (xs, l0, l1, l0)
	rows = Concat <axis = 0> (b1, area1, c)
	c = Constant <value_ints = [4]> ()
	lanes = Transpose <perm = [0,2,3,1]> (y)
	tokens = Reshape (lanes, rows)
	attended = MatMul (tokens, turned)
	turned = Transpose <perm = [0,2,1]> (tokens)
	p = Softmax <axis = -1> (attended)
	mixed = MatMul (p, tokens)
	h1 = Unsqueeze (h, l0)
	w1 = Unsqueeze (w, l0)
	image = Concat <axis = 0> (b1, h1, w1, c)
	lanes1 = Reshape (mixed, image)
	back = Transpose <perm = [0,3,1,2]> (lanes1)
	p0 = Slice (y, starts, ends, axes, twos)
	starts = Constant <value_ints = [0, 1]> ()
	ends = Constant <value_ints = [9223372036854775807, 9223372036854775807]> ()
	axes = Constant <value_ints = [2, 3]> ()
	twos = Constant <value_ints = [2, 2]> ()
	pairs = Neg (p0)
}
""" % NUMBERS
# Sound: convolutions, positions as many as frames, attention over them; what a detector's heads make side by side, and rows of it by number.
WHISPER = HEAD + """whisper (float[B,5,T] sound, int64[K] wanted) => (y, chosen, each, boxes)
<%s, float[8,5,3] c1 = {%%s}, float[8,8,3] c2 = {%%s}, float[16,8] positions = {%%s}, float[8] scale = {%%s}, float[8] bias = {%%s}, float[8,8] w = {%%s}, float[12,8,1] head = {%%s}>
{
	a = Conv <pads = [1,1]> (sound, c1)
	g = Sigmoid (a)
	d = Conv <pads = [1,1], strides = [2]> (g, c2)
	x0 = Transpose <perm = [0,2,1]> (d)
	s = Shape (x0)
	n = Gather <axis = 0> (s, i1)
	n1 = Unsqueeze (n, l0)
	place = Slice (positions, l0, n1, l0)
	x1 = Add (x0, place)
	x = LayerNormalization <axis = -1> (x1, scale, bias)
	q = MatMul (x, w)
	t = Transpose <perm = [0,2,1]> (x)
	m = MatMul (q, t)
	p = Softmax <axis = -1> (m)
	y = MatMul (p, x)
	chosen = Gather <axis = 1> (y, wanted)
	index = Unsqueeze (wanted, two)
	two = Constant <value_ints = [0, 2]> ()
	b = Gather <axis = 0> (s, i0)
	k = Shape (wanted)
	b1 = Unsqueeze (b, l0)
	eight = Constant <value_ints = [8]> ()
	wide = Concat <axis = 0> (b1, k, eight)
	indices = Expand (index, wide)
	each = GatherElements <axis = 1> (y, indices)
	h0 = Transpose <perm = [0,2,1]> (y)
	h1 = Conv (h0, head)
	parts = Constant <value_ints = [0, 3, 4, -1]> ()
	h2 = Reshape (h1, parts)
	h3 = Transpose <perm = [0,3,1,2]> (h2)
	rows = Constant <value_ints = [0, -1, 4]> ()
	h4 = Reshape (h3, rows)
	o2 = Reshape (d, other)
	other = Constant <value_ints = [0, 2, 4, -1]> ()
	o3 = Transpose <perm = [0,3,1,2]> (o2)
	o4 = Reshape (o3, rows)
	boxes = Concat <axis = 1> (h4, o4)
}
""" % NUMBERS
# A mask of as many keys as the cache and what comes have: a name of its own, which a call has to say as their sum.
MASKED = HEAD + """masked (float[B,N,4] x, float[B,P,4] past, float[B,T] mask) => (y, keys, more)
{
	keys = Concat <axis = 1> (past, x)
	t = Transpose <perm = [0,2,1]> (keys)
	s = MatMul (x, t)
	one = Constant <value_ints = [1]> ()
	m = Unsqueeze (mask, one)
	sm = Add (s, m)
	p = Softmax <axis = -1> (sm)
	y = MatMul (p, keys)
	more = MatMul (m, keys)
}
"""
# Speech: a transform of what lies inside an interval alone, as many frames as durations sum to (a range is said of what Range makes), a path from letters to frames, sound.
SPEECH = HEAD + """speech (int64[B,N] ids, float[B,N] noise) => (wave, moved, lengths)
<%s, float[9,1] long = {%%s}, float[9,4] letters = {%%s}, float[5,4,3] w1 = {%%s}, float[5,1,4] w2 = {%%s}, int64[2] there = {1,0}, int64[6] before = {0,1,0,0,0,0}, int64[6] around = {0,0,2,0,0,1}>
{
	one = Constant <value = float {1}> ()
	size = Abs (noise)
	inside = Less (size, one)
	rows0 = NonZero (inside)
	rows = Transpose (rows0)
	some = GatherND (noise, rows)
	some1 = Unsqueeze (some, l1)
	pads = Constant <value_ints = [0, 1, 0, 0]> ()
	zero = Constant <value = float {0}> ()
	two = Pad (some1, pads, zero)
	steps = CumSum (two, i1)
	bent0 = ReduceSum <keepdims = 0> (steps, l1)
	whole = Shape (noise)
	held = ConstantOfShape <value = float[1] {0}> (whole)
	moved = ScatterND (held, rows, bent0)
	d0 = Gather (long, ids)
	d1 = Squeeze (d0, l2)
	d2 = Add (d1, moved)
	d3 = Exp (d2)
	four = Constant <value = float {4}> ()
	d4 = Min (d3, four)
	d = Ceil (d4)
	total = ReduceSum <keepdims = 0> (d, l1)
	lengths = Cast <to = 7> (total)
	most = ReduceMax <keepdims = 0> (lengths)
	frames = Range (i0, most, i1)
	f = Cast <to = 1> (frames)
	ends = CumSum (d, i1)
	ends1 = Unsqueeze (ends, l2)
	below0 = Less (f, ends1)
	below = Cast <to = 1> (below0)
	behind = Pad (below, before, zero)
	far = Constant <value_ints = [-1]> ()
	earlier = Slice (behind, l0, far, l1)
	path = Sub (below, earlier)
	turned = Transpose <perm = [0,2,1]> (path)
	x = Gather (letters, ids)
	y = MatMul (turned, x)
	c0 = Transpose <perm = [0,2,1]> (y)
	c1 = Pad <mode = "edge"> (c0, around)
	c2 = Conv (c1, w1)
	c3 = Tanh (c2)
	wave = ConvTranspose <strides = [2], pads = [1,1]> (c3, w2)
}
""" % NUMBERS
# What is not 0 is known, and as many elements as there are is a number.
FOLDED = HEAD + """folded (float[2,N] x) => (y, z)
<int64[5] where = {0, 7, 0, -1, 3}>
{
	at = NonZero (where)
	rows = Transpose (at)
	s = Shape (rows)
	ones = ConstantOfShape <value = int64[1] {1}> (s)
	picked = Sub (rows, ones)
	z = Expand (picked, s)
	y = Gather <axis = 1> (x, z)
}
"""
# Memory of the actual extents alone: a sanitizer sees what reads or writes on.
CALLER = """#include "decoder.h"
#include <stdio.h>
#include <stdlib.h>
static unsigned char workspace[DECODER_WORKSPACE_BYTES] __attribute__((aligned(DECODER_WORKSPACE_ALIGN)));
static float *filled(long long count)
{
	float *data = malloc((size_t)count * sizeof *data + 1);
	for (long long i = 0; i < count; i++)
		data[i] = (float)(i % 7) - 3;
	return data;
}
int main(void)
{
	for (long long b = 1; b <= 2; b++)
		for (long long n = 1; n <= 4; n++)
			for (long long p = 0; p <= 12; p += 4) {
				float *x = filled(b * n * 8), *k = filled(b * p * 4), *v = filled(b * p * 4), *y = filled(DECODER_B_MOST * 4 * 8), *key = filled(DECODER_B_MOST * 16 * 4);
				float *value = filled(DECODER_B_MOST * 16 * 4), *logits = filled(DECODER_B_MOST * 8);
				long long length = 0, dims[4][4];
				struct decoder_context context = { 0 };
				context.workspace = workspace;
				const struct decoder_inputs in = { .x = x, .past_key = k, .past_value = v, .B = &b, .N = &n, .P = &p };
				const struct decoder_outputs out = { .y = y, .key = key, .value = value, .logits = logits, .length = &length, .y_dims = dims[0], .key_dims = dims[1],
					.value_dims = dims[2], .logits_dims = dims[3] };
				int status = decoder_run(&in, &out, &context);
				if (status || length != p + n || dims[0][1] != n || dims[1][2] != p + n || dims[3][0] != b)
					printf("%d: %lld %lld %lld\\n", status, b, n, p);
				float *all[] = { x, k, v, y, key, value, logits };
				for (int i = 0; i < 7; i++)
					free(all[i]);
			}
	puts("done");
	return 0;
}
"""


def floats(random, *shape):
    return random.standard_normal(shape, np.float32)


def bert(random, b, n):
    mask = (random.random((b, n)) < 0.8).astype(np.int64)
    mask[:, 0] = 1
    return {"ids": random.integers(0, 30, (b, n)), "attention_mask": mask}


GRAPHS = {
    "bert": (BERT, ("B=1..3", "N=1..12"), ((2, 5), (3, 12), (1, 1), (1, 9)), bert),
    "decoder": (DECODER, ("B=1..2", "N=1..4", "P=0..12"), ((1, 3, 5), (2, 1, 12), (2, 4, 0), (1, 1, 1)),
                lambda r, b, n, p: {"x": floats(r, b, n, 8), "past_key": floats(r, b, 1, p, 4), "past_value": floats(r, b, 1, p, 4)}),
    "causal": (CAUSAL, ("B=1..3", "N=1..9"), ((2, 5), (3, 9), (1, 1), (1, 8)), lambda r, b, n: {"x": floats(r, b, n, 6)}),
    "unet": (UNET, ("B=1..2", "H=2..9", "W=2..10"), ((1, 5, 7), (2, 9, 10), (1, 2, 3), (2, 8, 4)), lambda r, b, h, w: {"x": floats(r, b, 3, h, w)}),
    "whisper": (WHISPER, ("B=1..2", "T=1..20", "K=0..4"), ((2, 9, 3), (1, 20, 4), (1, 2, 1), (2, 13, 0)),
                lambda r, b, t, k: {"sound": floats(r, b, 5, t), "wanted": r.integers(-((t + 1) // 2), (t + 1) // 2, k)}),
    "speech": (SPEECH, ("B=1..2", "N=1..6", "frames:0=1..24"), ((2, 5), (1, 6), (1, 1), (2, 2)), lambda r, b, n: {"ids": r.integers(0, 9, (b, n)), "noise": floats(r, b, n)}),
    "folded": (FOLDED, ("N=4..6",), ((5,), (4,)), lambda r, n: {"x": floats(r, 2, n)}),
    "masked": (MASKED, ("B=1..2", "N=1..4", "P=0..12", "T=1..16"), ((1, 3, 5), (2, 4, 12), (1, 1, 0), (2, 1, 9)),
               lambda r, b, n, p: {"x": floats(r, b, n, 4), "past": floats(r, b, p, 4), "mask": floats(r, b, n + p)}),
}

onnxruntime.set_default_logger_severity(3)                  # constants that a graph does not read
with tempfile.TemporaryDirectory(prefix="test-exports.") as folder:
    os.chdir(folder)
    seed, bits = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")), {}
    texts = np.random.default_rng(seed)
    for name, (text, dims, cases, given) in GRAPHS.items():
        text = drawn(texts, text)
        open(name + ".onnxtxt", "w").write(text)
        ranges = [word for dim in dims for word in ("--dim", dim)]
        for target in ("interpreter", "jit", "c", "cuda-emulated"):
            random, wrong = np.random.default_rng(seed), []
            for case in cases[:4 if target in ("interpreter", "jit") else 1]:
                judged(wrong, bits, (name, *case), name + ".onnxtxt", text, given(random, *case), target, *ranges)
            expect("%s by %s" % (name, target), not wrong, "; ".join(wrong))
    np.savez("in.npz", x=np.zeros((1, 2, 4), "f4"), past=np.zeros((1, 3, 4), "f4"), mask=np.zeros((1, 4), "f4"))
    for target in ("interpreter", "jit"):
        told("a mask of fewer keys by " + target, 3, "is not as large as what stands beside it", "run", "masked.onnxtxt", "--input", "in.npz", "--target", target,
             *[word for dim in GRAPHS["masked"][1] for word in ("--dim", dim)])
    told("frames that nothing bounds", 4, "dimension 0 of frames depends on data; --dim frames:0=0..1024 may bound it", "build", "speech.onnxtxt", "-o", "not", "--dim", "B=1", "--dim", "N=4")
    told("a number of frames", 2, "what a node makes has a range, as in --dim frames:0=0..9", "build", "speech.onnxtxt", "-o", "not", "--dim", "B=1", "--dim", "N=4", "--dim", "frames:0=9")
    np.savez("in.npz", ids=np.zeros((2, 6), np.int64), noise=np.full((2, 6), 0.9, "f4"))
    for target in ("interpreter", "jit"):
        told("more frames than are bound by " + target, 6, "frames:0 is not in [1, 3], for which the model is compiled", "run", "speech.onnxtxt", "--input", "in.npz", "--dim", "frames:0=1..3", "--target", target)
    # what an operator cannot be without is refused as it is where no dim is counted
    for op, words in (("Reshape", "(x)"), ("Gather", "(x)"), ("Gather", "(, i)"), ("MatMul", "(x)"), ("MatMul", "(, x)"), ("OneHot", "(x)"),
                      ("Conv", "(x)"), ("Expand", "(x)"), ("TopK", "(x)"), ("GatherND", "(x)"), ("QuantizeLinear", "(x)"), ("Slice", "(x)"), ("Tile", "(x)")):
        text = op + (words.replace("(", " (", 1) if words[0] == "(" else " " + words)
        open("lacking.onnxtxt", "w").write(HEAD + "lacking (float[N,4,4] x, int64[N] i) => (y) { y = %s }\n" % text)
        told("without an operand: " + text, 3, "lacks input", "build", "lacking.onnxtxt", "-o", "not", "--dim", "N=1..4")
    if shutil.which("cc"):
        open("main.c", "w").write(CALLER)
        code, out, message = run("build", "decoder.onnxtxt", "--dim", "B=1..2", "--dim", "N=1..4", "--dim", "P=0..12", "-o", "lib", "--no-compile", "--weights", "c", "--cpu", "generic")
        sources = ["lib/" + f for f in os.listdir("lib") if f.endswith(".c")] if code == 0 else []
        for more in ([], ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]):
            if subprocess.run(["cc", "-O1", "-Wall", "-Wextra", *more, "-Ilib", "main.c", *sources, "-o", "main", "-lm"]).returncode and more:
                continue                                    # a compiler without it
            done = subprocess.run(["./main"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            expect("a caller" + " under a sanitizer" * bool(more), done.stdout == "done\n", message + done.stdout + done.stderr[:2000])
finish()
