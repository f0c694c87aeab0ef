#!/usr/bin/env python3
"""texts.py INGOT [SEED]: operators that are texts over others, of dims that a call says: normalisations, attention with its cache, turned embeddings, pixels and channels,
quantised products; on every target, beside onnxruntime; equal bits.  77 where NumPy or onnxruntime is not there."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from judged import drawn, judged
from told import expect, finish, told
import numpy as np

NORMS = """<ir_version: 10, opset_import: ["" : 23]>
norms (float[B,N,8] x, float[B,4,H,W] z) => (rms, all, lp, own, instance, grouped, moved, three, hard)
<float[8] scale = {%s}, float[4] four = {%s}, float[4] other = {%s}>
{
	rms = RMSNormalization (x, scale)
	all = LpNormalization <axis = 1, p = 1> (x)
	lp = LpNormalization <axis = -1, p = 2> (x)
	own = MeanVarianceNormalization <axes = [1,2]> (x)
	instance = InstanceNormalization (z, four, other)
	grouped = GroupNormalization <num_groups = 2> (z, four, other)
	moved = MeanVarianceNormalization (z)
	turned = Transpose <perm = [0,2,1]> (x)
	three = InstanceNormalization (turned, scale, scale)
	hard = Hardmax <axis = 1> (x)
}
"""
ATTENTION = """<ir_version: 10, opset_import: ["" : 23]>
attention (float[B,N,24] q, float[B,N,12] k, float[B,N,12] v, float[B,2,P,6] past_key, float[B,2,P,6] past_value, float[B,M,16] x, float[B,S,8] m, bool[M,S] mask,
	int64[B,N] places) => (y, present_key, present_value, alone, crossed, masked, four)
<float[40,3] cosines = {%s}, float[40,3] sines = {%s}>
{
	qt = RotaryEmbedding <num_heads = 4> (q, cosines, sines, places)
	kt = RotaryEmbedding <num_heads = 2> (k, cosines, sines, places)
	y, present_key, present_value = Attention <is_causal = 1, q_num_heads = 4, kv_num_heads = 2> (qt, kt, v, , past_key, past_value)
	alone = Attention <is_causal = 1, q_num_heads = 4, kv_num_heads = 2> (q, k, v)
	crossed = Attention <q_num_heads = 4, kv_num_heads = 2, scale = 0.25> (x, m, m)
	masked = Attention <q_num_heads = 4, kv_num_heads = 2> (x, m, m, mask)
	shape = Constant <value_ints = [0,0,2,8]> ()
	apart = Reshape (x, shape)
	heads = Transpose <perm = [0,2,1,3]> (apart)
	one = Constant <value_ints = [1]> ()
	first = ReduceMax <keepdims = 0> (heads, one)
	from, to = Split <axis = 2, num_outputs = 2> (first)
	turned = RotaryEmbedding <interleaved = 1> (heads, from, to)
	four = Attention (turned, heads, heads)
}
"""
PIXELS = """<ir_version: 10, opset_import: ["" : 21]>
pixels (float[B,8,H,W] x) => (deep, other, back, flat, product, scale, convolved)
<uint8[4,8,2,1] k = {%s}>
{
	deep = DepthToSpace <blocksize = 2> (x)
	other = DepthToSpace <blocksize = 2, mode = "CRD"> (x)
	back = SpaceToDepth <blocksize = 2> (deep)
	flat, scale, zero = DynamicQuantizeLinear (x)
	half = Constant <value = float {0.05}> ()
	ten = Constant <value = uint8 {10}> ()
	rows = Transpose <perm = [0,2,3,1]> (flat)
	weights = Constant <value = uint8[8,3] {3,1,4,1,5,9,2,6,5,3,5,8,9,7,9,3,2,3,8,4,6,2,6,4}> ()
	product = QLinearMatMul (rows, scale, zero, weights, half, ten, scale, ten)
	convolved = QLinearConv (flat, scale, ten0, k, half, ten, scale, ten)
	ten0 = Constant <value = uint8 {0}> ()
}
"""


def floats(random, *shape):
    return random.standard_normal(shape, np.float32)


with tempfile.TemporaryDirectory(prefix="test-texts.") as folder:
    os.chdir(folder)
    seed, bits = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")), {}
    random = np.random.default_rng(seed)
    norms, attention, small = drawn(random, NORMS), drawn(random, ATTENTION), PIXELS.replace("%s", ",".join(str(n) for n in random.integers(0, 20, 64)))
    for name, text in (("norms", norms), ("attention", attention), ("pixels", small)):
        open(name + ".onnxtxt", "w").write(text)
    for target in ("interpreter", "jit", "c", "cuda-emulated"):
        few = 4 if target in ("interpreter", "jit") else 1
        random, wrong = np.random.default_rng(seed), []
        for b, n, h, w in ((2, 5, 4, 3), (3, 9, 6, 7), (1, 1, 2, 1), (1, 7, 2, 5))[:few]:
            given = {"x": floats(random, b, n, 8), "z": floats(random, b, 4, h, w)}
            judged(wrong, bits, ("norms", b, n, h, w), "norms.onnxtxt", norms, given, target, "--dim", "B=1..3", "--dim", "N=1..9", "--dim", "H=1..6", "--dim", "W=1..7", atol=3e-4)
        expect("normalisations by " + target, not wrong, "; ".join(wrong))
        random, wrong = np.random.default_rng(seed), []
        for b, n, p, m, s in ((2, 3, 4, 5, 2), (1, 1, 12, 1, 6), (2, 4, 0, 6, 6), (3, 4, 12, 2, 3))[:few]:
            given = {"q": floats(random, b, n, 24), "k": floats(random, b, n, 12), "v": floats(random, b, n, 12), "past_key": floats(random, b, 2, p, 6),
                     "past_value": floats(random, b, 2, p, 6), "x": floats(random, b, m, 16), "m": floats(random, b, s, 8), "mask": random.random((m, s)) < 0.7,
                     "places": random.integers(0, 40, (b, n))}
            given["mask"][:, 0] = True
            judged(wrong, bits, ("attention", b, n, p, m, s), "attention.onnxtxt", attention, given, target, "--dim", "B=1..3", "--dim", "N=1..4", "--dim", "P=0..12", "--dim", "M=1..6",
                   "--dim", "S=1..6")
        expect("attention by " + target, not wrong, "; ".join(wrong))
        random, wrong = np.random.default_rng(seed), []
        for b, h, w in ((2, 4, 3), (3, 5, 7), (1, 2, 1), (1, 2, 6))[:few]:
            judged(wrong, bits, ("pixels", b, h, w), "pixels.onnxtxt", small, {"x": floats(random, b, 8, h, w)}, target, "--dim", "B=1..3", "--dim", "H=2..6", "--dim", "W=1..7")
        expect("pixels by " + target, not wrong, "; ".join(wrong))

    # rows of pixels that do not divide; channels that a call says
    open("odd.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 18]>\nodd (float[1,2,H,4] x) => (y) { y = SpaceToDepth <blocksize = 2> (x) }\n')
    np.save("x.npy", np.zeros((1, 2, 3, 4), "f4"))
    for target in ("interpreter", "jit"):
        told("rows that do not divide by " + target, 3, "the elements do not divide into the shape", "run", "odd.onnxtxt", "--input", "x=x.npy", "--dim", "H=1..6", "--target", target)
    open("channels.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 18]>\nchannels (float[1,C,3,4] x, float[2] s) => (y) { y = GroupNormalization <num_groups = 2> (x, s, s) }\n')
    told("channels", 4, "a number of channels that a call says is not supported", "build", "channels.onnxtxt", "-o", "not", "--dim", "C=2..6")
    expect("nothing half written", not os.path.exists("not"))
finish()
