#!/usr/bin/env python3
"""texts.py INGOT [SEED]: operators that are texts over others, of dims that a call says: normalisations, attention with its cache, also onnxruntime's, turned embeddings, spectra,
pixels and channels, quantised products; on every target, beside onnxruntime; equal bits.  77 where NumPy or onnxruntime is not there."""
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
# heads that share keys and values: apart and plain, or packed with all that there is besides; into a cache that grows, or into one that is as long as it gets
GROUPS = """<ir_version: 10, opset_import: ["" : 23, "com.microsoft" : 1]>
groups (float[B,S,WQ] q, float[B,S,32] k, float[B,S,32] v, float[B,2,P,16] past_k, float[B,2,P,16] past_v, int32[B] lengths, int32 total, float[B,4,S,T] bias) =>
	(float[B,S,64] y, float[B,2,T,16] present_k, float[B,2,T,16] present_v)
<float[64,8] cosines = {%s}, float[64,8] sines = {%s}, float[4] sink = {%s}>
{
	y, present_k, present_v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, do_rotary = 1ATTRIBUTES> (q, KV, past_k, past_v, lengths, total, cosines, sines, MORE)
}
"""
KINDS = {"plain": (64, "", "k, v", ""), "packed": (128, ", softcap = 2.5, local_window_size = 4", ", ", ", , sink"), "biased": (64, ", smooth_softmax = 1", "k, v", ", bias"),
         "room": (64, ", causal = 0", "k, v", "")}
# heads of their own keys, turned from one place on
HEADS = """<ir_version: 10, opset_import: ["" : 20, "com.microsoft" : 1]>
heads (float[B,S,32] q, float[B,S,32] k, float[B,S,32] v, float[B,4,P,8] past_k, float[B,4,P,8] past_v, int32[B,T] mask, int64[1] place) =>
	(float[B,S,32] y, float[B,4,T,8] present_k, float[B,4,T,8] present_v, float[B,S,32] turned)
<float[40,4] cosines = {%s}, float[40,4] sines = {%s}, float[96] bias = {%s}>
{
	turned = com.microsoft.RotaryEmbedding (q, place, cosines, sines)
	kt = com.microsoft.RotaryEmbedding (k, place, cosines, sines)
	y, present_k, present_v = com.microsoft.MultiHeadAttention <num_heads = 4, unidirectional = 1> (turned, kt, v, bias, mask, , past_k, past_v)
}
"""
# sums over all of an axis, and of one whose length is a product; half of real numbers and back
SPECTRA = """<ir_version: 10, opset_import: ["" : 20]>
spectra (float[B,N,18,1] x, float[B,66,N,2] z) => (direct, half, two, back)
{
	direct = DFT (x, length, axis)
	length = Constant <value = int64 {20}> ()
	axis = Constant <value = int64 {2}> ()
	one = Constant <value = int64 {1}> ()
	half = DFT <onesided = 1> (x, , axis)
	two = DFT (z, , one)
	back = DFT <inverse = 1> (z, , one)
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


def groups_of(random, kind):
    """The text, without inputs that nothing reads."""
    width, attributes, kv, more = KINDS[kind]
    text = GROUPS if kind == "packed" else GROUPS.replace(", float[4] sink = {%s}", "")
    text = drawn(random, text).replace("WQ", str(width)).replace("ATTRIBUTES", attributes).replace("KV", kv).replace("MORE", more)
    text = text if kind == "biased" else text.replace(", float[B,4,S,T] bias", "")
    text = text if kind != "room" else text.replace(", float[B,2,T,16] present_k, float[B,2,T,16] present_v", "")
    return text if kind != "packed" else text.replace(" float[B,S,32] k, float[B,S,32] v,", "")


def of_groups(random, kind, b, s, p):
    """What a call is given: `p` rows are there, and the past is as long, or has room for 16, in which nothing is to be read."""
    given = {"q": floats(random, b, s, KINDS[kind][0]), "lengths": np.full(b, p + s - 1, "i4"), "total": np.array(p + s, "i4")}
    given.update({name: floats(random, b, 2, 16 if kind == "room" else p, 16) for name in ("past_k", "past_v")})
    for name in ("past_k", "past_v"):
        given[name][:, :, p:] = np.nan
    given.update({} if kind == "packed" else {name: floats(random, b, s, 32) for name in "kv"})
    given.update({"bias": floats(random, b, 4, s, p + s)} if kind == "biased" else {})
    return given


with tempfile.TemporaryDirectory(prefix="test-texts.") as folder:
    os.chdir(folder)
    seed, bits = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")), {}
    random = np.random.default_rng(seed)
    norms, attention, small = drawn(random, NORMS), drawn(random, ATTENTION), PIXELS.replace("%s", ",".join(str(n) for n in random.integers(0, 20, 64)))
    groups, heads = {kind: groups_of(random, kind) for kind in KINDS}, drawn(random, HEADS)
    for name, text in (("norms", norms), ("attention", attention), ("pixels", small), ("spectra", SPECTRA), ("heads", heads), *groups.items()):
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
        wrong = []
        for kind, text in groups.items():
            random, ranges = np.random.default_rng(seed), ["B=1..3", "S=1..4", *(["P=0..12"] if kind != "room" else []), *(["T=1..16"] if kind == "biased" else [])]
            for b, n, p in ((1, 3, 4), (2, 4, 0), (3, 1, 12), (1, 1, 1))[:few]:
                given = of_groups(random, kind, b, n, p)
                for dims in (ranges, [] if kind == "room" else ["T=%d" % (p + n)])[:few]:                         # fixed dims have the same bits
                    judged(wrong, bits, (kind, b, n, p), kind + ".onnxtxt", text, given, target, *[word for dim in dims for word in ("--dim", dim)])
        expect("heads that share keys by " + target, not wrong, "; ".join(wrong))
        random, wrong = np.random.default_rng(seed), []
        for b, n, p in ((2, 3, 4), (1, 1, 12), (3, 4, 0), (2, 1, 1))[:few]:
            given = {name: floats(random, b, n, 32) for name in "qkv"}
            given.update({"past_k": floats(random, b, 4, p, 8), "past_v": floats(random, b, 4, p, 8), "mask": random.integers(0, 3, (b, p + n), "i4").clip(0, 1), "place": np.array([p])})
            for dims in (("B=1..3", "S=1..4", "P=0..12", "T=1..16"), ())[:few]:
                judged(wrong, bits, ("heads", b, n, p), "heads.onnxtxt", heads, given, target, *[word for dim in dims for word in ("--dim", dim)])
        expect("heads by " + target, not wrong, "; ".join(wrong))
        random, wrong = np.random.default_rng(seed), []
        for b, n in ((2, 5), (3, 1), (1, 7), (3, 7))[:few]:
            given = {"x": floats(random, b, n, 18, 1), "z": floats(random, b, 66, n, 2)}
            for dims in (("--dim", "B=1..3", "--dim", "N=1..7"), ())[:few]:
                judged(wrong, bits, ("spectra", b, n), "spectra.onnxtxt", SPECTRA, given, target, *dims, atol=1e-3)                # onnxruntime's roots are not as near
        expect("spectra by " + target, not wrong, "; ".join(wrong))
        random, wrong = np.random.default_rng(seed), []
        for b, h, w in ((2, 4, 3), (3, 5, 7), (1, 2, 1), (1, 2, 6))[:few]:
            judged(wrong, bits, ("pixels", b, h, w), "pixels.onnxtxt", small, {"x": floats(random, b, 8, h, w)}, target, "--dim", "B=1..3", "--dim", "H=2..6", "--dim", "W=1..7")
        expect("pixels by " + target, not wrong, "; ".join(wrong))

    # a past that is not where the new rows begin
    np.savez("in.npz", **{**of_groups(np.random.default_rng(seed), "plain", 2, 1, 5), "lengths": np.array([5, 3], "i4")})
    for target in ("interpreter", "jit"):
        told("rows that begin inside the past by " + target, 3, "seqlens_k is rows of the past and of the query, less 1, or the past is empty", "run", "plain.onnxtxt", "--input", "in.npz",
             "--dim", "P=0..12", "--target", target)

    # rows of pixels that do not divide; channels that a call says
    open("odd.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 18]>\nodd (float[1,2,H,4] x) => (y) { y = SpaceToDepth <blocksize = 2> (x) }\n')
    np.save("x.npy", np.zeros((1, 2, 3, 4), "f4"))
    for target in ("interpreter", "jit"):
        told("rows that do not divide by " + target, 3, "the elements do not divide into the shape", "run", "odd.onnxtxt", "--input", "x=x.npy", "--dim", "H=1..6", "--target", target)
    open("channels.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 18]>\nchannels (float[1,C,3,4] x, float[2] s) => (y) { y = GroupNormalization <num_groups = 2> (x, s, s) }\n')
    open("length.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 20]>\nlength (float[1,N,1] x) => (y) { y = DFT (x) }\n')
    told("a spectrum of as many", 4, "data decide dimension 1 of x", "build", "length.onnxtxt", "-o", "not", "--dim", "N=2..6")
    told("channels", 4, "a number of channels that a call says is not supported", "build", "channels.onnxtxt", "-o", "not", "--dim", "C=2..6")
    expect("nothing half written", not os.path.exists("not"))
finish()
