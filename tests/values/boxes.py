#!/usr/bin/env python3
"""boxes.py INGOT [SEED]: what stands behind a detector: scores above a threshold (NonZero, Gather), the best of them (TopK), NonMaxSuppression and what it chooses, regions of an image, rows padded to a number, a round of a Loop for each, where a call and data say how
many boxes there are; on every target, beside onnxruntime; equal bits.  77 where onnxruntime is not there."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from judged import judged
from told import expect, finish, told
import numpy as np

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'
OF_CALL = HEAD + """of_call (float[B,N,4] boxes, float[B,2,N] scores) => (y, z, c, kept)
{
	limit = Constant <value = int64[1] {3}> ()
	overlap = Constant <value = float[1] {0.4}> ()
	least = Constant <value = float[1] {0.3}> ()
	y = NonMaxSuppression (boxes, scores, limit, overlap, least)
	z = NonMaxSuppression <center_point_box = 1> (boxes, scores, limit, overlap)
	n = Shape <start = 2, end = 3> (scores)
	five = Constant <value_ints = [5]> ()
	k = Min (n, five)
	best, at = TopK (scores, k)
	zero = Constant <value_ints = [0]> ()
	one = Constant <value_ints = [1]> ()
	two = Constant <value_ints = [2]> ()
	three = Constant <value_ints = [3]> ()
	top = Slice (at, zero, one, one)
	first = Squeeze (top, one)
	row = Unsqueeze (first, two)
	four = Constant <value_ints = [1,1,4]> ()
	wide = Expand (row, four)
	some = GatherElements <axis = 1> (boxes, wide)
	few = Slice (best, zero, one, one)
	c = NonMaxSuppression (some, few, limit, overlap)
	column = Slice (c, two, three, one)
	flat = Squeeze (column, one)
	image = Slice (some, zero, one, zero)
	list = Squeeze (image, zero)
	kept = Gather (list, flat)
}
"""
OF_DATA = HEAD + """of_data (float[N,4] boxes, float[N] scores, float[1,2,5,5] pixels) => (kept, worth, scaled, regions, pooled, twice, padded, all_padded, sum, sums)
{
	half = Constant <value = float {0.5}> ()
	above = Greater (scores, half)
	found = NonZero (above)
	front = Constant <value_ints = [0]> ()
	one = Constant <value_ints = [1]> ()
	at = Squeeze (found, front)
	some = Gather (boxes, at)
	again = NonZero (above)
	at_again = Squeeze (again, front)
	few = Gather (scores, at_again)
	rows = Compress <axis = 0> (boxes, above)
	values = Compress <axis = 0> (scores, above)
	column = Unsqueeze (values, one)
	scaled = Mul (rows, column)
	image = Unsqueeze (some, front)
	both = Constant <value_ints = [0, 1]> ()
	class = Unsqueeze (few, both)
	limit = Constant <value = int64[1] {4}> ()
	overlap = Constant <value = float[1] {0.3}> ()
	chosen = NonMaxSuppression (image, class, limit, overlap)
	two = Constant <value = int64 {2}> ()
	which = Gather <axis = 1> (chosen, two)
	kept = Gather (some, which)
	worth = Gather (few, which)
	number = Constant <value = int64 {0}> ()
	of_image = Gather <axis = 1> (chosen, number)
	regions = RoiAlign <output_height = 2, output_width = 3, sampling_ratio = 2> (pixels, kept, of_image)
	of_row = Cast <to = 1> (of_image)
	of_column = Unsqueeze (of_row, one)
	described = Concat <axis = 1> (of_column, kept)
	pooled = MaxRoiPool <pooled_shape = [2, 2]> (pixels, described)
	times = Constant <value_ints = [2, 1]> ()
	twice = Tile (kept, times)
	room = Constant <value_ints = [12]> ()
	nothing = Constant <value = float {-1}> ()
	rows_kept = Shape <end = 1> (kept)
	room_left = Sub (room, rows_kept)
	behind_kept = Concat <axis = 0> (one, front, room_left, one)
	padded = Pad (kept, behind_kept, nothing)
	rows_there = Shape <end = 1> (boxes)
	room_there = Sub (room, rows_there)
	behind_there = Concat <axis = 0> (front, one, room_there, front)
	all_padded = Pad (boxes, behind_there)
	rounds = Gather (rows_kept, number)
	begin = Constant <value = float[4] {0, 0, 0, 0}> ()
	always = Constant <value = bool {1}> ()
	sum, sums = Loop (rounds, always, begin) <body = body (int64 i, bool on, float[4] a) => (more, b, c)
	{
		more = Identity (on)
		row = Gather (kept, i)
		b = Add (a, row)
		c = Identity (b)
	}>
}
"""
OTHERS = HEAD + "others (float[1,N,4] boxes, float[1,1,M] scores) => (y) { y = NonMaxSuppression (boxes, scores) }\n"

with tempfile.TemporaryDirectory(prefix="test-boxes.") as folder:
    os.chdir(folder)
    seed, bits = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")), {}
    for name, text in (("of_call", OF_CALL), ("of_data", OF_DATA), ("others", OTHERS)):
        open(name + ".onnxtxt", "w").write(text)
    for target in ("interpreter", "jit", "c", "cuda-emulated"):
        random, wrong = np.random.default_rng(seed), []
        corners = lambda *shape: np.concatenate([(at := random.uniform(0, 3, (*shape, 2))), at + random.uniform(0.5, 2, (*shape, 2))], -1).astype("f4")
        for n, b in ((9, 2), (0, 1), (12, 1), (1, 2), (4, 1))[:5 if target in ("interpreter", "jit") else 2]:
            given = {"boxes": corners(b, n), "scores": random.random((b, 2, n), np.float32)}
            judged(wrong, bits, ("call", n), "of_call.onnxtxt", OF_CALL, given, target, "--dim", "N=0..12", "--dim", "B=1..2")
            judged(wrong, bits, ("data", n), "of_data.onnxtxt", OF_DATA, {"boxes": corners(n), "scores": random.random(n, np.float32), "pixels": random.random((1, 2, 5, 5), np.float32)}, target, "--dim", "N=0..12")
        expect("boxes by " + target, not wrong, "; ".join(wrong))
        np.savez("in.npz", boxes=corners(1, 3), scores=random.random((1, 1, 4), np.float32))
        told("scores of others by " + target, 3, "is not as large as what stands beside it", "run", "others.onnxtxt", "--input", "in.npz", "--target", target, "--dim", "N=1..5", "--dim", "M=1..5")
finish()
