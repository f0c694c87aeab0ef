#!/usr/bin/env python3
"""pasted.py INGOT [SEED]: a detector's last loop, as torchvision writes Mask R-CNN's and Keypoint R-CNN's: each round resizes a small picture to a size that data say, cuts it to the
image and puts zeros around it, and appends it; `--dim` bounds what data make.  On every target beside onnxruntime; equal bits.  77 where it is not there."""
import os
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from told import expect, finish, run, told

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
PASTE = HEAD + """paste (int64 n, float[3,1,4,4] masks, int64[3,4] boxes, float[3,2] halves) => (float[N,8,8] y, float[N,2] best)
<bool on = {1}, float[0,8,8] none = {}, float[0,2] nothing = {}>
{
	y, best = Loop <body = round (int64 i, bool c, float[A,8,8] given, float[A,2] found) => (d, float[B,8,8] all, float[B,2] founds)
	<int64[1] l0 = {0}, int64[1] l1 = {1}, int64[1] two = {2}, int64[1] three = {3}, int64[2] both = {0,1}, int64[2] ones = {1,1}, int64[2] one_two = {1,2},
	int64[1] size = {8}, int64[2] flat = {2,-1}, int64[1] last = {-1}>
	{
		d = Identity (c)
		small = Gather <axis = 0> (masks, i)
		mask = Unsqueeze (small, l0)
		box = Gather <axis = 0> (boxes, i)
		left = Gather <axis = 0> (box, l0)
		top = Gather <axis = 0> (box, l1)
		right = Gather <axis = 0> (box, two)
		bottom = Gather <axis = 0> (box, three)
		width = Sub (right, left)
		height = Sub (bottom, top)
		w = Max (width, l1)
		h = Max (height, l1)
		sizes = Concat <axis = 0> (ones, h, w)
		resized = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (mask, , , sizes)
		whole = Squeeze (resized, both)
		x0 = Max (left, l0)
		x1 = Min (right, size)
		y0 = Max (top, l0)
		y1 = Min (bottom, size)
		from_y = Sub (y0, top)
		to_y = Sub (y1, top)
		rows = Slice (whole, from_y, to_y, l0)
		from_x = Sub (x0, left)
		to_x = Sub (x1, left)
		cut = Slice (rows, from_x, to_x, l1)
		cut_shape = Shape (cut)
		cut_w = Gather <axis = 0> (cut_shape, l1)
		above_shape = Concat <axis = 0> (y0, cut_w)
		above = ConstantOfShape (above_shape)
		left_y = Sub (size, y1)
		below_shape = Concat <axis = 0> (left_y, cut_w)
		below = ConstantOfShape (below_shape)
		tall = Concat <axis = 0> (above, cut, below)
		column = Slice (tall, l0, size, l0)
		column_shape = Shape (column)
		column_h = Gather <axis = 0> (column_shape, l0)
		before_shape = Concat <axis = 0> (column_h, x0)
		before = ConstantOfShape (before_shape)
		left_x = Sub (size, x1)
		behind_shape = Concat <axis = 0> (column_h, left_x)
		behind = ConstantOfShape (behind_shape)
		wide = Concat <axis = 1> (before, column, behind)
		image = Slice (wide, l0, size, l1)
		part = Unsqueeze (image, l0)
		all = Concat <axis = 0> (given, part)
		half = Gather <axis = 0> (halves, i)
		up = Ceil (half)
		wanted = Cast <to = 7> (up)
		two_maps = Concat <axis = 1> (mask, mask)
		heat_sizes = Concat <axis = 0> (one_two, wanted)
		heat = Resize <mode = "cubic", coordinate_transformation_mode = "half_pixel"> (two_maps, , , heat_sizes)
		maps = Reshape (heat, flat)
		place = ArgMax <axis = 1, keepdims = 1> (maps)
		value = GatherElements <axis = 1> (maps, place)
		flat_value = Reshape (value, last)
		one = Unsqueeze (flat_value, l0)
		founds = Concat <axis = 0> (found, one)
	}> (n, on, none, nothing)
}
"""
RANGES = "n=0..3 resized:2=0..12 resized:3=0..12 rows:0=0..8 cut:1=0..8 above:0=0..8 below:0=0..8 before:1=0..8 behind:1=0..8 heat:2=1..6 heat:3=1..6".split()
DIMS = [word for one in RANGES for word in ("--dim", one)]


with tempfile.TemporaryDirectory(prefix="test-pasted.") as folder:
    os.chdir(folder)
    open("paste.onnxtxt", "w").write(PASTE)
    random, bits = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1"))), {}
    judge = onnxruntime.InferenceSession(onnx.parser.parse_model(PASTE).SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = []
    for n in (3, 1):
        corner = random.integers(-2, 6, (3, 2))
        feeds.append({"n": np.array(n, np.int64), "masks": random.random((3, 1, 4, 4), np.float32), "halves": random.uniform(.5, 6, (3, 2)).astype(np.float32),
                      "boxes": np.concatenate([corner, np.maximum(corner + random.integers(1, 10, (3, 2)), 1)], 1).astype(np.int64)})
    for target in ("interpreter", "jit", "c", "cuda-emulated"):
        wrong = []
        for i, feed in enumerate(feeds if target in ("interpreter", "jit") else feeds[:1]):
            np.savez("in.npz", **feed)
            code, out, message = run("run", "paste.onnxtxt", "--input", "in.npz", "--output", "out.npz", "--target", target, *DIMS)
            if code:
                wrong.append(message)
                continue
            with np.load("out.npz") as file:
                made = {k: file[k] for k in file}
            for name, right in zip(("y", "best"), judge.run(None, feed)):
                if made[name].shape != right.shape or not np.allclose(made[name], right, atol=1e-5):
                    wrong.append("%s: %s, not %s" % (name, made[name].ravel()[:12], right.ravel()[:12]))
            now = {k: v.tobytes() for k, v in made.items()}
            wrong += ["other bits of %s" % [k for k in now if now[k] != bits[i][k]]] if bits.setdefault(i, now) != now else []
        expect("by " + target, not wrong, "; ".join(wrong))
    far = dict(feeds[0], boxes=np.array([[0, 0, 13, 3]] * 3, np.int64))
    np.savez("far.npz", **far)
    told("a size outside", 6, "resized:3 is not in [0, 12], for which the model is compiled", "run", "paste.onnxtxt", "--input", "far.npz", "--output", "not.npz", "--target", "jit", *DIMS)
    told("no range", 4, "resized", "build", "paste.onnxtxt", "-o", "not", "--dim", "n=0..3")
finish()
