#!/usr/bin/env python3
"""Shapes of kernels that a rule chooses by sizes: each is there where it should be, and its bits are the interpreter's.

    kernels.py INGOT [EVERY]        each EVERYth case; all, where it is not given

Each runs by the JIT, for this machine and for one without vectors; the first of a kind, and every second one, by turns as C for this machine or
another with vectors, the others on one of the other targets, by turns.  With $INGOT_LONG on all of them.
A case is a graph in text, and how many kernels of its kind there are on a CPU of vectors.  Ends with 77 where NumPy is not there."""
import json, math, os, re, subprocess, sys

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import sweep

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


def graph(inputs, output, body, constants=""):
    return f"{HEAD}g ({inputs}) => ({output}) <{constants}> {{ {body} }}" if constants else f"{HEAD}g ({inputs}) => ({output}) {{ {body} }}"


def heads(n, s, h, d, mask="", constants=""):
    """Queries, keys and values side by side in rows of n, s, h, d; a mask is added to the scores."""
    t = f"float[{n},{s},{h},{d}]"
    scores = "scaled = Mul (s, scale) " + ("masked = Add (scaled, mask) w = Softmax (masked)" if mask else "w = Softmax (scaled)")
    return graph(f"{t} q, {t} k, {t} v" + (f", {mask} mask" if mask else ""), f"{t} y",
                 "qt = Transpose <perm = [0, 2, 1, 3]> (q) kt = Transpose <perm = [0, 2, 3, 1]> (k) vt = Transpose <perm = [0, 2, 1, 3]> (v) "
                 f"s = MatMul (qt, kt) {scores} yt = MatMul (w, vt) y = Transpose <perm = [0, 2, 1, 3]> (yt)",
                 "float scale = {0.25}" + constants)


def attention(q, k, more="", node="y = Attention (q, k, k)"):
    """The operator, which is a text."""
    return graph(f"float[{q}] q, float[{k}] k{more}", f"float[{q}] y", node).replace('"" : 17', '"" : 24')


def wide(rows, terms, columns, ending="y = Identity (s)", more=""):
    """A product of so many terms that they are taken in k blocks; `w` and `b` are constants."""
    return graph(f"float[{rows},{terms}] x{more}", f"float[{rows},{columns}] y", f"s = MatMul (x, w) {ending}",
                 f"{external('w', terms, columns)}, {external('b', columns)}, float sqrt_two = {{1.4142135}}, float one = {{1.0}}, float half = {{0.5}}")


def external(name, *dims):
    return f'float[{",".join(map(str, dims))}] {name} = ["location": "{name}.bin", "offset": "0", "length": "{4 * numpy.prod(dims)}"]'


ATTENTIONS = {
    "heads": (heads(2, 70, 3, 28), 1),                    # of 24 values and less, sums of 64 terms and more go through lanes: no attention
    "prime": (heads(1, 197, 2, 29), 1),                   # rows are left over
    "prime_narrow": (heads(1, 61, 1, 5), 1),
    "lanes": (heads(1, 131, 2, 16), 0),
    "mask": (heads(3, 20, 2, 8, "float[3,1,1,20]"), 1),
    "bias": (heads(1, 33, 2, 8, "float[1,2,33,33]"), 1),
    "one_row": (heads(1, 1, 4, 16), 0),
    "long": (heads(1, 600, 1, 32), 1),
    "cross": (graph("float[5,12] q, float[33,12] k, float[33,7] v", "float[5,7] y",
                    "kt = Transpose <perm = [1, 0]> (k) s = MatMul (q, kt) w = Softmax (s) y = MatMul (w, v)"), 1),
    "keys_dense": (graph("float[2,40,12] q, float[2,12,50] k, float[2,50,16] v", "float[2,40,16] y",
                         "s = MatMul (q, k) w = Softmax (s) y = MatMul (w, v)"), 1),
    "itself": (graph("float[2,40,24] x", "float[2,40,24] y",        # one tensor that moves in two ways
                     "t = Transpose <perm = [0, 2, 1]> (x) s = MatMul (x, t) w = Softmax (s) y = MatMul (w, x)"), 1),
    "packed": (graph("float[1,50,3,2,16] x", "float[1,2,50,16] y",
                     "q5, k5, v5 = Split <axis = 2> (x) q = Transpose <perm = [0, 2, 3, 1, 4]> (q5) k = Transpose <perm = [0, 2, 3, 4, 1]> (k5) "
                     "v = Transpose <perm = [0, 2, 3, 1, 4]> (v5) s = MatMul (q, k) w = Softmax (s) y5 = MatMul (w, v) y = Reshape (y5, shape)",
                     "int64[4] shape = {1, 2, 50, 16}"), 1),
    "ending": (graph("float[2,40,12] q, float[2,12,50] k, float[2,50,16] v, float[2,40,16] more", "float[2,40,16] y",
                     "s = MatMul (q, k) w = Softmax (s) h = MatMul (w, v) a = Add (h, more) y = Relu (a)"), 1),
    "two": (graph("float[2,40,16] x, float[2,16,40] k", "float[2,40,16] y",
                  "s = MatMul (x, k) w = Softmax (s) h = MatMul (w, x) s2 = MatMul (h, k) w2 = Softmax (s2) y = MatMul (w2, h)"), 2),
    "text": (attention("2,3,40,28", "2,3,50,28"), 1),
    "text_causal": (attention("1,2,61,32", "1,2,61,32", node="y = Attention <is_causal = 1> (q, k, k)"), 1),
    "text_masked": (attention("2,3,40,28", "2,3,50,28", ", float[2,1,40,50] m", "y = Attention <softcap = 2.0> (q, k, k, m)"), 1),
    "text_groups": (attention("2,6,40,28", "2,2,50,28", ", float[1,6,40,50] m", "y = Attention (q, k, k, m)"), 1),
    "text_groups_causal": (attention("1,8,33,16", "1,2,47,16", node="y = Attention <is_causal = 1> (q, k, k)"), 1),
    "mean": (graph("float[40,12] q, float[12,50] k, float[50,16] v", "float[40,16] y",       # rows that are no softmax
                   "s = MatMul (q, k) m = ReduceMean <axes = [1]> (s) c = Sub (s, m) e = Tanh (c) f = ReduceMean <axes = [1]> (e) w = Sub (e, f) y = MatMul (w, v)"), 1),
    # Weights take the scores' place, so four rows fit; not where a score is read when its place is taken, or from elsewhere in the row.
    "in_place": (graph("float[9,25] q, float[25,6000] k, float[6000,32] v", "float[9,32] y", "s = MatMul (q, k) w = Softmax (s) y = MatMul (w, v)"), 1),
    "again": (graph("float[40,12] q, float[12,70] k, float[70,32] v", "float[40,32] y",
                    "s = MatMul (q, k) p = Softmax (s) w = Add (p, s) y = MatMul (w, v)"), 1),
    "backwards": (graph("float[40,12] q, float[12,70] k, float[70,32] v", "float[40,32] y",
                        "s = MatMul (q, k) r = Slice (s, from, to, axis, step) w = Softmax (r) y = MatMul (w, v)",
                        "int64[1] from = {-1}, int64[1] to = {-100}, int64[1] axis = {1}, int64[1] step = {-1}"), 1),
    # Where scores or weights are wanted, or read by somebody else, they have to be there.
    "scores_out": (graph("float[40,12] q, float[12,50] k, float[50,16] v", "float[40,16] y, float[40,50] s",
                         "s = MatMul (q, k) w = Softmax (s) y = MatMul (w, v)"), 0),
    "weights_twice": (graph("float[40,12] q, float[12,50] k, float[50,16] v", "float[40,16] y, float[40,16] z",
                            "s = MatMul (q, k) w = Softmax (s) y = MatMul (w, v) z = MatMul (w, v)"), 0),
    "columns": (graph("float[40,12] q, float[12,50] k, float[16,40] v", "float[16,50] y",      # softmax down the columns
                      "s = MatMul (q, k) w = Softmax <axis = 0> (s) y = MatMul (v, w)"), 0),
    "too_long": (graph("float[8,4] q, float[4,40000] k, float[40000,4] v", "float[8,4] y",
                       "s = MatMul (q, k) w = Softmax (s) y = MatMul (w, v)"), 0),
}
def halves(text):
    """The same in float16, whose steps each round."""
    return text.replace("float scale = {0.25}", "float16[1] scale = {13312}").replace("float[", "float16[").replace('"" : 17', '"" : 24')


HALVES = {                                # what widens and narrows is part of the kernel
    "half_text": (halves(attention("2,3,40,28", "2,3,50,28")), 1),
    "half_text_rows": (halves(attention("1,2,197,32", "1,2,150,32")), 1),              # made again for each block; rows are left over
    "half_text_causal": (halves(attention("1,2,61,32", "1,2,61,32", node="y = Attention <is_causal = 1> (q, k, k)")), 1),
    "half_text_groups": (halves(attention("2,6,40,28", "2,2,50,28", ", float[2,2,50,28] v, float[1,6,40,50] m", "y = Attention (q, k, v, m)")), 2),        # heads of a group are put side by side by what narrows
    "half_keys_dense": (halves(ATTENTIONS["keys_dense"][0]), 1),
    "half_ending": (halves(ATTENTIONS["ending"][0]), 1),
    "half_heads": (halves(heads(1, 60, 2, 28)), 1),
    "half_again": (halves(ATTENTIONS["again"][0]), 1),
    "half_itself": (halves(ATTENTIONS["itself"][0]), 2),                # one tensor is widened for both
    "half_long": (halves(ATTENTIONS["too_long"][0]), 7),
    "half_softmax": (halves(graph("float[70,131] x", "float[70,131] y", "a = Mul (x, x) y = Softmax (a)")), 1),
}
K_BLOCKS = {
    "plain": (wide(64, 2048, 96), 1),
    "tails": (wide(61, 4096, 107), 1),
    "ending": (wide(64, 2048, 100, "t = Add (s, b) r = Relu (t) y = Add (r, more)", ", float[64,100] more"), 1),
    "addend_across": (wide(64, 2048, 100, "t = Transpose (more) y = Add (s, t)", ", float[100,64] more"), 1),        # the JIT's tiles add what lies in rows
    "heavy": (wide(50, 2048, 70, "t = Add (s, b) d = Div (t, sqrt_two) e = Erf (d) f = Add (e, one) g = Mul (t, f) y = Mul (g, half)"), 1),
    "window": (graph("float[1,9,9,520] x", "float[1,9,9,40] y", "i = Transpose <perm = [0, 3, 1, 2]> (x) c = Conv <kernel_shape = [5, 5], pads = [2, 2, 2, 2]> (i, w) "
                     "y = Transpose <perm = [0, 2, 3, 1]> (c)", external("w", 40, 520, 5, 5)), 1),
    "quantised": (graph("float[1,4,9,9] x", "float[1,16,9,9] y", "c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w) r = Relu (c) q = QuantizeLinear (r, s, z) "
                        "y = DequantizeLinear (q, s, z)", external("w", 16, 4, 3, 3) + ", float s = {0.05}, int8 z = {-3}"), 0),      # its epilogue rounds to bytes and back
    "compared": (graph("float[40,70] x, float[40,32] more", "float[40,32] y", "s = MatMul (x, w) g = Greater (s, more) y = Where (g, s, more)", external("w", 70, 32)), 0),
    "pooled_far": (graph("float[1,4,12,12] x", "float[1,600] y", "c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w) r = Relu (c) "
                         "p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r) f = Reshape (p, flat) y = MatMul (f, v)",      # all weights leave L2, those of the first kernel do not
                         external("w", 16, 4, 3, 3) + ", " + external("v", 576, 600) + ", int64[2] flat = {1, 576}"), 0),
    "short": (wide(64, 512, 96), 0),
    "few_rows": (wide(8, 4096, 96), 0),
    "prime": (wide(64, 2039, 96), 0),                     # no pass divides it
}
WINOGRADS = {
    "channels_apart": (graph("float[1,48,18,3] x", "float[1,32,17,2] y", "y = Conv <kernel_shape = [3, 3], pads = [0, 1, 1, 0]> (x, w)", external("w", 32, 48, 3, 3)), 1),
    "planes": (graph("float[2,41,18,37] x, float[2,35,18,37] more", "float[2,35,18,37] y", "c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w) d = Add (c, more) y = Relu (d)",
                     external("w", 35, 41, 3, 3)), 1),
    "planes_small": (graph("float[1,20,13,12] x", "float[1,32,13,12] y", "y = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w)", external("w", 32, 20, 3, 3)), 1),
}
def filtered(x, w, y, made="f = Identity (w)", start="", pads="[1, 1, 1, 1]"):
    """A 3x3 convolution whose filters come at run time, as they are or as nodes make them."""
    return graph(f"float[{x}] x, float[{w}] w", f"float[{y}] y", f"{made} c = Conv <kernel_shape = [3, 3], pads = {pads}> (x, f{start}) y = Relu (c)",
                 "int64[2] first = {-1, -1}, int64[2] last = {-9, -9}, int64[2] axes = {2, 3}, int64[4] as = {35, 41, 3, 3}, int64[2] flat = {315, 41}, float half = {0.5}, "
                 + external("b", int(y.split(",")[1])))


WINOGRADS |= {
    "run_time": (filtered("2,41,18,37", "35,41,3,3", "2,35,18,37", start=", b"), 1),                # lanes are left on both sides
    "run_time_k_blocks": (filtered("1,160,9,10", "176,160,3,3", "1,176,9,10"), 1),
    "run_time_f2": (filtered("1,20,13,12", "32,20,3,3", "1,32,11,12", pads="[0, 1, 0, 1]"), 1),
    "run_time_lanes": (filtered("1,41,12,15", "3,3,41,35", "1,35,12,15", "f = Transpose <perm = [3, 2, 0, 1]> (w)"), 1),        # columns are neighbours
    "run_time_backward": (filtered("1,41,12,15", "35,41,3,3", "1,35,12,15", "f = Slice (w, first, last, axes, first)"), 1),
    "run_time_made": (filtered("1,41,12,15", "35,41,3,3", "1,35,12,15", "f = Mul (w, half)"), 1),
    "mixed": (graph("float[1,41,180] x", "float[1,35,12,15] y", "t = Transpose <perm = [0, 2, 1]> (x) f = Reshape (t, as) c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (f, w) y = Relu (c)",
                    external("w", 35, 41, 3, 3) + ", int64[4] as = {1, 41, 12, 15}"), 0),
    "run_time_mixed": (filtered("1,41,12,15", "35,41,9", "1,35,12,15", "t = Transpose <perm = [0, 2, 1]> (w) u = Reshape (t, flat) f = Reshape (u, as)"), 0),   # no steps lead from tap to tap
}
def convolution(x, channels, terms, y, ending="y = Identity (c)", more="", window="kernel_shape = [1, 1]", size=(1, 1)):
    return graph(f"float[{x}] x{more}", f"float[{y}] y", f"c = Conv <{window}> (x, w, b) {ending}",
                 f"{external('w', channels, terms, *size)}, {external('b', channels)}, float sqrt_two = {{1.4142135}}, float one = {{1.0}}, float half = {{0.5}}")


STRIDED = dict(window="kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]", size=(3, 3))
THIRD = dict(window="kernel_shape = [1, 1], strides = [3, 3]")
HEAVY = "d = Div (c, sqrt_two) e = Erf (d) f = Add (e, one) g = Mul (c, f) y = Mul (g, half)"
TRANSPOSED_STORE = {                      # n c h w: rows side by side, columns apart
    "image": (convolution("1,3,37,41", 20, 3, "1,20,19,21", **STRIDED), 1),
    "images": (convolution("3,8,37,31", 70, 8, "3,70,13,11", **THIRD), 1),
    "images_strided": (convolution("2,24,9,33", 33, 24, "2,33,5,17", **STRIDED), 1),
    "volume": (convolution("2,4,13,16,19", 16, 4, "2,16,5,6,7", window="kernel_shape = [1, 1, 1], strides = [3, 3, 3]", size=(1, 1, 1)), 1),
    "groups": (convolution("1,16,25,28", 64, 8, "1,64,9,10", window="kernel_shape = [1, 1], strides = [3, 3], group = 2"), 1),
    "ending": (convolution("1,30,34,34", 40, 30, "1,40,12,12", "t = Add (c, more) y = Relu (t)", ", float[1,40,12,12] more", **THIRD), 1),
    "heavy": (convolution("1,30,34,34", 40, 30, "1,40,12,12", HEAVY, **THIRD), 1),
    "k_blocks": (convolution("1,2304,22,25", 48, 2304, "1,48,8,9", **THIRD), 1),
    "channels_few": (convolution("1,30,34,34", 6, 30, "1,6,12,12", **THIRD), 0),
    "pixels_few": (convolution("1,30,2,2", 64, 30, "1,64,2,2"), 0),
}
ACROSS = {                                # n c h w, all of an image's pixels side by side or every second of a row: lanes run along them, threads share panels
    "across_images": (convolution("3,8,13,11", 70, 8, "3,70,13,11"), 1),
    "across_volume": (convolution("2,4,5,6,7", 16, 4, "2,16,5,6,7", window="kernel_shape = [1, 1, 1]", size=(1, 1, 1)), 1),
    "across_groups": (convolution("1,16,9,10", 64, 8, "1,64,9,10", window="kernel_shape = [1, 1], group = 2"), 1),
    "across_ending": (convolution("1,30,12,12", 40, 30, "1,40,12,12", "t = Add (c, more) y = Relu (t)", ", float[1,40,12,12] more"), 1),
    "across_heavy": (convolution("1,30,12,12", 40, 30, "1,40,12,12", HEAVY), 1),
    "across_strided": (convolution("2,32,19,253", 96, 32, "2,96,10,127", window="kernel_shape = [1, 1], strides = [2, 2]"), 1),
    "across_weights": (graph("float[2,40,26,27] x, float[50,40,1,1] k", "float[2,50,26,27] y", "y = Conv (x, k)"), 1),
    "across_weights_far": (wide(24, 1024, 300, "t = Add (s, b) y = Relu (t)"), 1),                # more of weights than of x, from beyond L2
    "across_rows_many": (wide(64, 1024, 300), 0),             # more than a group
    "across_few": (convolution("1,30,3,3", 64, 30, "1,64,3,3"), 0),          # half of the vectors would be empty
}
PACKED_A = {                              # of several panels: their parts of a are packed in front of all
    "packed_a": (convolution("2,48,20,20", 200, 48, "2,200,10,10", **STRIDED), 1),
    "packed_a_last": (convolution("1,20,39,27", 50, 20, "1,50,20,14", **STRIDED), 1),
    "packed_a_far": (convolution("1,64,24,24", 200, 64, "1,200,12,12", window="kernel_shape = [1, 1], strides = [2, 2]"), 1),        # no pads: each term in a page of its own
    "packed_a_near": (convolution("1,64,12,12", 200, 64, "1,200,6,6", window="kernel_shape = [1, 1], strides = [2, 2]"), 0),
    "packed_a_k_blocks": (convolution("1,256,9,14", 112, 256, "1,112,5,7", **STRIDED), 1),
    "packed_a_k_blocks_far": (convolution("2,256,17,16", 104, 256, "2,104,9,8", **STRIDED), 1),
    "packed_a_k_blocks_run_time": (graph("float[1,384,14,15] x, float[104,384,3,3] k", "float[1,104,7,8] y", "y = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x, k)"), 1),
    "one_panel": (convolution("1,20,39,27", 20, 20, "1,20,20,14", **STRIDED), 0),
}
DILATED = dict(window="kernel_shape = [3, 3], pads = [6, 6, 6, 6], dilations = [6, 6]", size=(3, 3))
ROW_OF_A = {                              # windows of a row's tiles overlap: the row is copied once for all of them
    "row": (convolution("1,24,17,33", 40, 24, "1,40,17,33", **DILATED), 1),
    "row_panels": (convolution("2,33,9,40", 200, 33, "2,200,9,40", **DILATED), 1),
    "row_k_blocks": (convolution("1,256,7,30", 64, 256, "1,64,7,30", **DILATED), 1),
    "row_last": (graph("float[1,15,34,20] x", "float[1,15,34,50] y", "t = Transpose <perm = [0, 3, 1, 2]> (x) c = Conv <kernel_shape = [3, 3], pads = [4, 7, 4, 7], dilations = [4, 7]> (t, w) y = Transpose <perm = [0, 2, 3, 1]> (c)", external("w", 50, 20, 3, 3)), 1),
    "row_near": (convolution("1,24,33,33", 40, 24, "1,40,33,33", window="kernel_shape = [3, 3], pads = [1, 1, 1, 1]", size=(3, 3)), 0),
}
PACKED = {                                # b comes at run time, in rows that are far apart
    "rows_far": (graph("float[64,100] x, float[100,640] k", "float[64,640] y", "y = MatMul (x, k)"), 1),
    "rows_far_tail": (graph("float[61,100] x, float[100,533] k", "float[61,533] y", "y = MatMul (x, k)"), 1),
    "rows_far_k_blocks": (graph("float[48,2258] x, float[2258,520] k", "float[48,520] y", "y = MatMul (x, k)"), 1),
    "columns_apart_k_blocks": (graph("float[48,2304] x, float[72,2304] k", "float[48,72] y", "t = Transpose <perm = [1, 0]> (k) y = MatMul (x, t)"), 1),
    "weights": (graph("float[1,24,11,12] x, float[40,24,3,3] k", "float[1,40,11,12] y", "y = Conv <kernel_shape = [3, 3], dilations = [2, 2], pads = [2, 2, 2, 2]> (x, k)"), 1),
    "weights_left": (graph("float[2,37,9,9] x, float[45,37,3,3] k", "float[2,45,9,9] y", "y = Conv <kernel_shape = [3, 3], dilations = [2, 2], pads = [2, 2, 2, 2]> (x, k)"), 1),
    "rows_near": (graph("float[64,100] x, float[100,64] k", "float[64,64] y", "y = MatMul (x, k)"), 0),
    "once": (graph("float[5,100] x, float[100,640] k", "float[5,640] y", "y = MatMul (x, k)"), 0),
}
K_BLOCKED = {                             # or some of its rows at a time are read by all panels, where they lie
    "k_blocked": (graph("float[9,272] x, float[272,520] k", "float[9,520] y", "y = MatMul (x, k)"), 1),
    "k_blocked_ending": (graph("float[2,5,320] x, float[320,533] k, float[2,5,533] more", "float[2,5,533] y", "s = MatMul (x, k) t = Add (s, more) y = Relu (t)"), 1),
    "k_blocked_row": (graph("float[1,1040] x, float[1040,2056] k", "float[1,2056] y", "y = MatMul (x, k)"), 1),
    "k_blocked_near": (graph("float[1,272] x, float[272,520] k", "float[1,520] y", "y = MatMul (x, k)"), 0),           # one row, and its pages are found
    "k_blocked_prime": (graph("float[9,271] x, float[271,520] k", "float[9,520] y", "y = MatMul (x, k)"), 0),
    "k_blocked_sums": (graph("float[130,272] x, float[272,520] k", "float[130,520] y", "y = MatMul (x, k)"), 0),       # too many to wait
}
K_BLOCKED_ENDING = {                      # an ending that the JIT's tiles do not have: sums cannot wait there
    "k_blocked_heavy": (graph("float[17,272] x, float[272,520] k", "float[17,520] y", "c = MatMul (x, k) " + HEAVY,
                          "float sqrt_two = {1.4142135}, float one = {1.0}, float half = {0.5}"), 1),
}
ROWS = {                                  # local rows that together pass a warp's shared memory, on CUDA
    "many_rows": (graph("float[55,9,3,1] x, float[1,1,1,1] more", "float[3,495,1] y", "t1 = Softmax <axis = 2> (x) t2 = LayerNormalization <axis = 1> (t1, w) t3 = Elu (t2) "
                        "t4 = LayerNormalization <axis = 2> (t3, b) t5 = Softmax <axis = 1> (t4) t6 = Add (t5, more) t7 = Reshape (t6, shape) t8 = Sigmoid (t7) "
                        "y = Transpose <perm = [1, 0, 2]> (t8)", f"{external('w', 9, 3, 1)}, {external('b', 3, 1)}, int64[3] shape = {{495, 3, 1}}"), 1),
    "wide_rows": (graph("float[5,6000] x", "float[5,6000] y", "t = Softmax (x) y = Relu (t)"), 1),       # that need no scratch
    "wide_few": (graph("float[3,6000] x", "float[3,6000] y", "y = Softmax (x)"), 1),                      # too few to be shared by threads: the two sums alone
    "wide_scratch": (graph("float[5,6000] x", "float[5,6000] y", "t = Softmax (x) r = Slice (t, from, to, axis, step) y = Add (t, r)",
                           "int64[1] from = {-1}, int64[1] to = {-10000}, int64[1] axis = {1}, int64[1] step = {-1}"), 1),
    # A loop that stands in several branches, where its name would hide another's.
    "rows_of_names": (graph("float[1,16,4,4] x", "float[1,8,4,4] y", "a = Conv <kernel_shape = [1, 1]> (x, u) r = Relu (a) d = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], group = 240> (r, w) t = Relu (d) "
                            "c = Concat <axis = 1> (r, t) y = Conv <kernel_shape = [1, 1]> (c, v)", ", ".join((external("u", 240, 16, 1, 1), external("w", 240, 1, 3, 3), external("v", 8, 480, 1, 1)))), 1),
}
def pixels(body, w="32,48,1,1", size=28, more="", output=None):
    """Images with as many channels as a convolution's `w` takes, a factor and an offset for each."""
    c = int(w.split(",")[1])
    return graph(f"float[2,{c},{size},{size}] x{more}", output or f"float[2,{w.split(',')[0]},{size},{size}] y", body,
                 f"{external('w', *map(int, w.split(',')))}, {external('s', c, 1, 1)}, {external('t', c, 1, 1)}")


NORM = "m = Mul (x, s) n = Add (m, t) r = Relu (n) "
MAPPED = {                                # what a product's rows are made of, block by block
    "norm": (pixels(NORM + "y = Conv (r, w)"), 1),
    "norm_left": (pixels(NORM + "y = Conv (r, w)", w="35,45,1,1", size=150), 1),
    "norm_ending": (pixels(NORM + "c = Conv (r, w) d = Add (c, more) y = Sigmoid (d)", more=", float[2,32,28,28] more"), 1),
    "norm_kept": (pixels("k = Concat <axis = 1> (p, q) m = Mul (k, s) n = Add (m, t) r = Relu (n) c = Conv (r, w) f = GlobalAveragePool (k) y = Add (c, f)", w="48,48,1,1",
                         more=", float[2,20,28,28] p, float[2,28,28,28] q"), 1),
    "layer_norm": (graph("float[301,96] x", "float[301,70] y", "n = LayerNormalization <axis = 1> (x, s) y = MatMul (n, w)", f"{external('s', 96)}, {external('w', 96, 70)}"), 1),
    "weighted": (graph("float[3,64,50] x, float[3,50,40] v", "float[3,64,40] y", "n = Softmax (x) y = MatMul (n, v)"), 1),
    "chosen": (graph("float[2,60,48] x, float[2] more", "float[60,40] y", "i = ArgMax <axis = 0, keepdims = 0> (more) r = Gather <axis = 0> (x, i) y = MatMul (r, w)",
                     external("w", 48, 40)), 0),                  # a value in an index
    "pooled": (pixels("r = AveragePool <kernel_shape = [2, 2]> (x) y = Conv (r, w)", output="float[2,32,27,27] y"), 0),     # rows of windows share what they load
    "wide": (pixels(NORM + "y = Conv (r, w)", w="256,16,1,1"), 0),        # b would be read too often
    "window": (pixels(NORM + "y = Conv <pads = [2, 2, 2, 2]> (r, w)", w="32,16,5,5"), 0),
    "strided": (pixels(NORM + "y = Conv <strides = [2, 2]> (r, w)", output="float[2,32,14,14] y"), 0),
    "read_twice": (pixels(NORM + "c = Conv (r, w) d = GlobalAveragePool (r) y = Add (c, d)", w="48,48,1,1"), 0),
}
DEPTHWISE = "Conv <group = 24, kernel_shape = [5, 5], pads = [2, 2, 2, 2]>"
WINDOWS = {                               # a window over what a kernel makes is a kernel of its own, with what is made of it
    "windows": (graph("float[1,24,11,11] x", "float[1,24,11,11] y", f"a = {DEPTHWISE} (x, w) b = Relu (a) c = {DEPTHWISE} (b, v) y = Relu (c)",
                      f"{external('w', 24, 1, 5, 5)}, {external('v', 24, 1, 5, 5)}"), 3),       # what 25 taps read is stored with its pads
    "window_pooled": (graph("float[1,24,12,12] x", "float[1,24,6,6] y", f"a = {DEPTHWISE} (x, w) b = Relu (a) y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)",
                            external("w", 24, 1, 5, 5)), 3),
    "window_mean": (graph("float[1,24,12,12] x", "float[1,24,1,1] y", f"a = {DEPTHWISE} (x, w) y = GlobalAveragePool (a)", external("w", 24, 1, 5, 5)), 2),
    # maxima: the last axis, then the one before; 13 taps from 9, 9 from 5; with pads, in two steps, dilated, by three axes
    "maxima_nested": (graph("float[2,3,11,20] flat", "float[2,9,11,20] y", "a = MaxPool <kernel_shape = [5, 5], pads = [2, 2, 2, 2]> (flat) b = MaxPool <kernel_shape = [13, 13], pads = [6, 6, 6, 6]> (flat) "
                            "c = MaxPool <kernel_shape = [9, 9], pads = [4, 4, 4, 4]> (flat) y = Concat <axis = 1> (a, b, c)"), 8),
    "maxima_strided": (graph("float[1,5,17,19] flat", "float[1,5,6,7] y", "y = MaxPool <kernel_shape = [7, 7], strides = [3, 3], pads = [3, 3, 3, 3]> (flat)"), 1),         # planes as callers have them: one kernel
    "maxima_phases": (graph("float[2,3,21,70] flat", "float[2,3,11,18] y", "y = MaxPool <kernel_shape = [9, 7], strides = [2, 4], pads = [4, 3, 4, 2]> (flat)"), 1),     # rows in phases
    "maxima_hang": (graph("float[1,3,16,41] flat", "float[1,3,6,15] y", "y = MaxPool <kernel_shape = [8, 7], strides = [2, 3], pads = [1, 2, 1, 2], ceil_mode = 1> (flat)"), 1),
    "maxima_dilated": (graph("float[1,5,17,19] flat", "float[1,5,17,19] y", "y = MaxPool <kernel_shape = [5, 5], dilations = [2, 2], pads = [4, 4, 4, 4]> (flat)"), 2),
    "maxima_long": (graph("float[2,5,70] flat", "float[2,5,70] y", "y = MaxPool <kernel_shape = [31], pads = [20, 10]> (flat)"), 1),
    "maxima_of_three": (graph("float[1,2,7,8,20] flat", "float[1,2,7,6,20] y", "y = MaxPool <kernel_shape = [3, 7, 5], pads = [1, 2, 1, 1, 2, 3]> (flat)"), 1),
    "phases": (graph("float[2,6,5,7] x", "float[2,10,10,14] y", "y = ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1], group = 2> (x, w)", external("w", 6, 5, 3, 3)), 7),
    # few columns of a group: a window, with pads where its terms are many
    "multiplied": (graph("float[1,6,9,37] x", "float[1,12,9,37] y", "y = Conv <group = 6, kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w)", external("w", 12, 1, 3, 3)), 1),
    "narrow_groups": (graph("float[2,12,9,37] x", "float[2,6,5,37] y", "y = Conv <group = 3, kernel_shape = [3, 3], strides = [2, 1], pads = [1, 1, 1, 1]> (x, w)", external("w", 6, 4, 3, 3)), 2),
    "phases_dilated": (graph("float[2,3,5,7] x", "float[2,4,13,20] y", "y = ConvTranspose <strides = [2, 3], dilations = [2, 1], pads = [0, 1, 0, 0]> (x, w)", external("w", 3, 4, 3, 3)), 5),
    "long_line": (graph("float[1,24,70] x", "float[1,24,70] y", "y = Conv <group = 24, kernel_shape = [31], pads = [15, 15]> (x, w)", external("w", 24, 1, 31)), 1),
    # rows that overlap share what they load: vectors beside them, a stride, an axis around
    "rows_beside": (graph("float[1,3,23,59] x", "float[1,3,23,59] y", "y = Conv <group = 3, kernel_shape = [7, 7], pads = [3, 3, 3, 3]> (x, w)", external("w", 3, 1, 7, 7)), 2),
    "rows_strided": (graph("float[1,3,21,47] x", "float[1,3,9,22] y", "y = Conv <group = 3, kernel_shape = [5, 5], strides = [2, 2], pads = [0, 1, 0, 0]> (x, w)", external("w", 3, 1, 5, 5)), 2),
    "rows_straight": (graph("float[1,3,14,14] x", "float[1,3,7,7] y", "y = Conv <group = 3, kernel_shape = [5, 5], strides = [2, 2], pads = [2, 2, 2, 2]> (x, w)", external("w", 3, 1, 5, 5)), 2),        # none of their rounds is shared by all
    "rows_of_volumes": (graph("float[1,2,7,9,21] x", "float[1,2,7,9,21] y", "y = Conv <group = 2, kernel_shape = [3, 5, 3], pads = [1, 2, 1, 1, 2, 1]> (x, w)", external("w", 2, 1, 3, 5, 3)), 2),
    "rows_averaged": (graph("float[1,3,19,37] x", "float[1,3,16,34] y", "y = AveragePool <kernel_shape = [4, 4]> (x)"), 1),
    "axis_by_axis": (graph("float[1,3,19,37] x", "float[1,3,13,31] y", "y = AveragePool <kernel_shape = [7, 7]> (x)"), 2),
    # rows leave lanes idle for longer than it takes to turn what is read and made: lanes along channels
    "transposed": (graph("float[1,32,28,28] x", "float[1,32,28,28] y", "y = Conv <group = 32, kernel_shape = [9, 9], pads = [4, 4, 4, 4]> (x, w)", external("w", 32, 1, 9, 9)), 1),
    "transposed_left": (graph("float[2,20,9,13] wild", "float[2,20,9,13] y", "y = Conv <group = 20, kernel_shape = [11, 11], pads = [5, 5, 5, 5]> (wild, w)", external("w", 20, 1, 11, 11)), 1),
    "transposed_strided": (graph("float[1,16,25,25] x", "float[1,16,13,13] y", "y = Conv <group = 16, kernel_shape = [11, 11], strides = [2, 2], pads = [5, 5, 5, 5]> (x, w)", external("w", 16, 1, 11, 11)), 1),
    "transposed_volume": (graph("float[1,8,5,6,7] x", "float[1,8,5,6,7] y", "y = Conv <group = 8, kernel_shape = [5, 5, 5], pads = [2, 2, 2, 2, 2, 2]> (x, w)", external("w", 8, 1, 5, 5, 5)), 1),
    "pads_shared": (graph("float[1,3,19,37] wild", "float[1,3,19,37] y, float[1,3,7,13] z", "y = Conv <group = 3, kernel_shape = [7, 7], pads = [3, 3, 3, 3]> (wild, w) "
                          "z = Conv <group = 3, kernel_shape = [5, 5], strides = [3, 3], pads = [2, 3, 2, 2]> (wild, v)", f"{external('w', 3, 1, 7, 7)}, {external('v', 3, 1, 5, 5)}"), 3),
    "few_strided": (graph("float[1,8,9,128] x", "float[1,2,5,64] y", "y = Conv <kernel_shape = [3, 5], strides = [2, 2], pads = [1, 2, 1, 2]> (x, w)", external("w", 2, 8, 3, 5)), 2),     # with its pads
    "transposed_bare": (graph("float[1,40,9,20] x", "float[1,40,5,14] y", "y = Conv <group = 40, kernel_shape = [5, 7]> (x, w)", external("w", 40, 1, 5, 7)), 1),
    "transposed_few": (graph("float[2,32,7,7] wild", "float[2,32,4,4] y", "y = Conv <group = 32, kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (wild, w)", external("w", 32, 1, 3, 3)), 1),
    "transposed_not": (graph("float[1,32,28,28] x, float[32,1,9,9] k", "float[1,32,28,28] y", "y = Conv <group = 32, kernel_shape = [9, 9], pads = [4, 4, 4, 4]> (x, k)"), 2),   # weights come as they lie
    "transposed_read": (graph("float[1,32,7,7] x", "float[1,32,7,7] y, float[1,32,7,7] z", "y = Conv <group = 32, kernel_shape = [5, 5], pads = [2, 2, 2, 2]> (x, w) z = Relu (y)", external("w", 32, 1, 5, 5)), 2),
    "large_last": (graph("float[1,12,13,24] x", "float[1,12,13,24] y", "a = Transpose <perm = [0, 3, 1, 2]> (x) b = Conv <group = 24, kernel_shape = [7, 7], pads = [3, 3, 3, 3]> (a, w) "
                         "y = Transpose <perm = [0, 2, 3, 1]> (b)", external("w", 24, 1, 7, 7)), 2),
}


def chosen(dims, made, weights=""):
    """What one branch of an If makes."""
    return graph(f"float[{dims}] x", f"float[{dims}] y", f"s = ReduceSum <keepdims = 0> (x) c = Less (s, zero) "
                 f"y = If (c) <then_branch = t () => (float[{dims}] a) {{ a = {made} }}, else_branch = e () => (float[{dims}] b) {{ b = Relu (x) }}>",
                 "float zero = {0.0}" + (f", {weights}" if weights else ""))


BRANCHES = {                              # what a rewrite makes of a branch's reductions is that branch's, too
    "maxima_of_branch": (chosen("1,4,20,20", "MaxPool <kernel_shape = [13, 13], pads = [6, 6, 6, 6]> (x)"), 1),
    "pads_of_branch": (chosen("1,24,11,11", f"{DEPTHWISE} (x, w)", external("w", 24, 1, 5, 5)), 2),
    "groups_of_branch": (chosen("1,8,9,9", "Conv <group = 2, kernel_shape = [1, 1]> (x, w)", external("w", 8, 4, 1, 1)), 1),
}
def depthwise(n, c, h, w, window="kernel_shape = [3, 3], pads = [1, 1, 1, 1]", size=3):
    return graph(f"float[{n},{c},{h},{w}] x", f"float[{n},{c},{h},{w}] y", f"a = Conv <group = {c}, {window}> (x, w) y = Relu (a)", external("w", c, 1, size, size))


MASKED = {                                # short rows of n c h w stay whole
    "short_rows": (depthwise(1, 20, 7, 7), 1),
    "short_rows_left": (depthwise(2, 5, 9, 13), 1),
    "short_rows_dilated": (depthwise(1, 5, 9, 11, "kernel_shape = [3, 3], pads = [2, 2, 2, 2], dilations = [2, 2]"), 1),
    "long_rows": (depthwise(1, 5, 6, 40), 0),
}
AGAIN = {                                 # what begins again along an axis after whole vectors
    "tiled": (graph("float[2,5,21] x", "float[4,10,63] y", "y = Tile (x, times)", "int64[3] times = {2, 2, 3}"), 1),
    "tiled_lanes": (graph("float[2,5,7] x", "float[2,10,21] y", "y = Tile (x, times)", "int64[3] times = {1, 2, 3}"), 0),
    "tiled_short": (graph("float[2,5,3] x", "float[2,10,9] y", "y = Tile (x, times)", "int64[3] times = {1, 2, 3}"), 0),
    "tiled_again": (graph("float[3,40] x", "float[3,80] y", "t = Tile (x, times) r = Relu (t) y = Add (r, t)", "int64[2] times = {1, 2}"), 1),
}
def running(x, axis, made="y = CumSum (x, axis)"):
    return graph(f"float[{x}] x", f"float[{x}] y", made, f"int64 axis = {{{axis}}}, float half = {{0.5}}")


NEAR_ROWS = {                             # rows of less than a vector, which repeat what they are copied from
    "tiled_pairs": (graph("float[7,17,6,2] x", "float[14,34,18,4] y", "y = Tile (x, times)", "int64[4] times = {2, 2, 3, 2}"), 1),
}

WHOLE_VECTORS = {                         # a vector of sums is not shared out
    "products_of_16": (graph("float[11,24,7,16] x", "float[1,1,1,16] y", "y = ReduceProd <axes = [0, 1, 2]> (x)"), 1),
    "sums_of_40": (graph("float[3136,40] x", "float[1,40] y", "y = ReduceL1 <axes = [0]> (x)"), 1),
}

ROWS_BESIDE = {                           # short rows side by side, as many as divide all of them
    "rows_of_13": (graph("float[8,13,63] x", "float[8,13,63] y", "y = LogSoftmax <axis = 2> (x)"), 1),
    "rows_of_13_scaled": (graph("float[4,13,31] x, float[1,13,1] w", "float[4,13,31] y", "t = Mul (x, w) y = Softmax <axis = 2> (t)"), 0),  # one of them is not dense
}

RUNNING = {                               # as many rows as lanes, each with a sum that is stored as it grows: transposed in registers
    "running": (running("48,205", 1), 1),
    "running_scaled": (running("2,16,256", -1, "m = Mul (x, half) y = CumSum (m, axis)"), 1),
    "running_shown": (running("32,203", 1, "c = CumSum (x, axis) y = Relu (c)"), 1),
    "running_reverse": (running("48,205", 1, "y = CumSum <reverse = 1> (x, axis)"), 0),
    "running_exclusive": (running("48,205", 1, "y = CumSum <exclusive = 1> (x, axis)"), 0),
    "running_odd": (running("45,205", 1), 0),
    "running_short": (running("4800,5", 1), 0),
    "running_columns": (running("61,512", 0), 0),
}
RUNNING_BESIDE = {                        # neighbours are sums of their own: vectors, also where no term goes to the first or the last
    "beside_first": (running("7,203", 0, "y = CumSum <exclusive = 1> (x, axis)"), 1),
    "beside_last": (running("3,21,35", 1, "y = CumSum <exclusive = 1, reverse = 1> (x, axis)"), 1),
    "beside_all": (running("7,203", 0), 1),
}
def reduced(op, x, axes, before=""):
    y = ",".join("1" if i in axes else n for i, n in enumerate(x.split(",")))
    over = " (m, axes)" if op == "ReduceSum" else f" <axes = [{','.join(map(str, axes))}]> (m)"
    return graph(f"float[{x}] x", f"float[{y}] y", f"{before or 'm = Identity (x)'} y = {op}{over}", f"int64[{len(axes)}] axes = {{{','.join(map(str, axes))}}}")


CUT = {                                   # of one axis alone: its loop is cut where a select is decided, and nothing else
    "cut_pad": (graph("float[16000] x", "float[16400] y", "y = Pad (x, pads)", "int64[2] pads = {200, 200}"), 0),
    "cut_reflect": (graph("float[1,70001] x", "float[1,70401] y", 'y = Pad <mode = "reflect"> (x, pads)', "int64[4] pads = {0, 200, 0, 200}"), 0),
    "cut_wrap": (graph("float[3,700] x", "float[3,710] y", 'y = Pad <mode = "wrap"> (x, pads)', "int64[4] pads = {0, 4, 0, 6}").replace('"" : 17', '"" : 19'), 0),
    "cut_concat": (graph("float[6000] x, float[7003] z", "float[13003] y", "y = Concat <axis = 0> (x, z)"), 0),
}
TURNED = {                                # short rows that are summed in lanes: their terms are transposed in registers, not gathered
    "turned": (reduced("ReduceMax", "64,56", (1,), "m = Mul (x, x)"), 1),
    "turned_odd": (reduced("ReduceSum", "3,27,35", (2,)), 1),
    "turned_again": (graph("float[64,56] x", "float[64,1] y", "y = ReduceLogSumExp <axes = [1]> (x)"), 1),
    "turned_plane": (reduced("ReduceMean", "2,24,7,7", (2, 3)), 1),
    "turned_columns": (reduced("ReduceSum", "56,64", (0,)), 0),
    "turned_long": (reduced("ReduceMax", "64,100", (1,)), 0),
}
FOLLOWED = {                              # a window reads each element for each tap, so its result lies as that does, whatever few readers with one result a place want
    "followed": (graph("float[1,16,20,20] x", "float[1,4,20,20] y", "c = Conv (x, p) d = Conv <pads = [1, 1, 1, 1], group = 32> (c, q) r = Relu (d) " +
                       "".join(f"s{i} = Conv (r, u{i}) " for i in range(4)) + "y = Concat <axis = 1> (s0, s1, s2, s3)",
                       ", ".join([external("p", 32, 16, 1, 1), external("q", 32, 1, 3, 3)] + [external(f"u{i}", 1, 32, 1, 1) for i in range(4)])), 1),
}
ONE_PLACE = {                             # a transposed convolution of data of one place: a product, whose columns are results and taps
    "one_place": (graph("float[2,12,1,1] x", "float[2,7,4,3] y", "y = ConvTranspose <kernel_shape = [4, 3]> (x, w, b)", f"float[12,7,4,3] w = {{{', '.join(str(i % 11 - 5) for i in range(1008))}}}, float[7] b = {{1, 2, 3, 4, 5, 6, 7}}"), 1),
    "one_place_padded": (graph("float[1,12,1,1] x", "float[1,7,2,3] y", "y = ConvTranspose <kernel_shape = [4, 3], pads = [1, 0, 1, 0], strides = [2, 2]> (x, w)", f"float[12,7,4,3] w = {{{', '.join(str(i % 11 - 5) for i in range(1008))}}}"), 1),
    "one_place_grown": (graph("float[1,12,1,1] x", "float[1,7,5,3] y", "y = ConvTranspose <kernel_shape = [4, 3], output_padding = [1, 0], strides = [2, 1]> (x, w)", f"float[12,7,4,3] w = {{{', '.join(str(i % 11 - 5) for i in range(1008))}}}"), 0),
}
def few_outs(n, dims, outs, taps, attributes=""):
    x, spatial = f"float[{n},6,{dims}] x", dims.split(",")
    y = dims if "pads" in attributes else ",".join(str(int(d) - t + 1) for d, t in zip(spatial, taps))
    kernel, count = ", ".join(map(str, taps)), outs * 6 * math.prod(taps)
    return graph(x, f"float[{n},{outs},{y}] y", f"y = Conv <kernel_shape = [{kernel}]{attributes}> (x, w)",
                 f"float[{outs},6,{','.join(map(str, taps))}] w = {{{', '.join(str(i % 11 - 5) for i in range(count))}}}")


FEW_OUTS = {                              # of convolutions with few results a place: the columns of a product are places
    "few_outs_one": (few_outs(2, "9,21", 1, (5, 5), ", pads = [2, 2, 2, 2]"), 1),
    "few_outs_line": (few_outs(1, "203", 2, (7,), ", pads = [3, 3]"), 1),
    "few_outs_three": (few_outs(1, "7,40", 3, (5, 3), ", pads = [2, 1, 2, 1]"), 1),
    "few_outs_nine": (few_outs(1, "9,40", 2, (3, 3), ", pads = [1, 1, 1, 1]"), 1),
    "few_outs_many": (few_outs(1, "7,40", 24, (5, 3), ", pads = [2, 1, 2, 1]"), 1),          # of few channels, too
    "few_outs_inside": (graph("float[1,7,9,40] x", "float[1,2,9,40] y", "c = Conv <kernel_shape = [3, 5], pads = [1, 2, 1, 2]> (x, w) y = Softmax <axis = 1> (c)", external("w", 2, 7, 3, 5)), 1),   # no caller says how they lie
    "few_outs_space": (few_outs(1, "5,6,18", 1, (3, 3, 3), ", pads = [1, 1, 1, 1, 1, 1]"), 1),
}
APART = {                                 # axes that lie apart, in pieces that are no vectors: rows in one piece are read
    "apart": (reduced("ReduceSum", "8,6,14,14", (0, 2, 3)), 1),
    "apart_maximum": (reduced("ReduceMax", "32,5,20", (0, 2)), 1),
    "apart_squares": (reduced("ReduceSumSquare", "32,5,30", (0, 2)), 1),
    "apart_map": (reduced("ReduceMean", "9,4,5,20", (0, 3), "m = Sin (x)"), 1),
    "apart_few": (reduced("ReduceSum", "5,6,20", (0, 2)), 0),
    "apart_beside": (reduced("ReduceSum", "8,6,14,14", (1, 2, 3)), 0),
}


HALVES_SHARED = {                         # heads that share keys of float16 by Expand: what they read is widened once, and has no copy for each head
    "halves_shared": (graph("float16[1,6,9,32] q, float16[1,2,70,32] k, float16[1,2,70,32] v", "float16[1,6,9,32] y",
                            "k1 = Unsqueeze (k, two) k2 = Expand (k1, wide) k3 = Reshape (k2, all) k4 = Transpose <perm = [0, 1, 3, 2]> (k3) v1 = Unsqueeze (v, two) v2 = Expand (v1, wide) v3 = Reshape (v2, all) "
                            "s = MatMul (q, k4) p = Softmax (s) y = MatMul (p, v3)", "int64[1] two = {2}, int64[5] wide = {1, 2, 3, 70, 32}, int64[4] all = {1, 6, 70, 32}"), 2),
}
BARE = {                                  # what an index finds in a table is added to products: no epilogue of theirs, and they stay products
    "bare": (graph("float[5,40] x, float[5,24] u", "float[5,48] y", "s = MatMul (x, w) r = MatMul (u, v) t = Add (s, r) i = ArgMax <axis = 1, keepdims = 0> (x) e = Gather (table, i) y = Add (t, e)",
                   ", ".join([external("w", 40, 48), external("v", 24, 48), external("table", 40, 48)])), 2),
}


def sampled(mode, border):
    return graph("float[1,3,9,11] x, float[1,7,21,2] wild", "float[1,3,7,21] y", f'y = GridSample <mode = "{mode}", padding_mode = "{border}"> (x, wild)')


PLACED = {                                # places from floats, also from what is no number, by lanes
    "placed": (sampled("bilinear", "zeros"), 1),
    "placed_border": (sampled("nearest", "border"), 1),
}
PLACED_APART = {                          # both places of a picture's points, cut from floats to int64 and kept within bounds: a vector's instruction
    "placed_apart": (graph("float[1,3,30,110] x, float[1,40,110,2] wild", "float[1,3,40,110] y", "y = GridSample (x, wild)"), 2),
}
def resized(x, y, mode, more='coordinate_transformation_mode = "half_pixel"'):
    """Along the last dims, to those of y."""
    return graph(f"float[{x}] x", f"float[{y}] y", f'y = Resize <mode = "{mode}", {more}> (x, , , sizes)', f"int64[{y.count(',') + 1}] sizes = {{{y}}}")


FLOORED = 'coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'
NEARS = {                                 # lanes that lie near the first one: one load, and each float goes to its place
    "near": (resized("1,3,5,21", "1,3,10,42", "nearest", FLOORED), 1),
    "near_4": (resized("2,3,5,37", "2,3,5,148", "nearest", FLOORED), 1),
    "near_table": (resized("2,3,9,21", "2,3,11,50", "linear"), 1),
    "near_table_end": (resized("1,1,1,33", "1,1,1,352", "linear"), 1),
    "near_cubic": (resized("1,2,7,24", "1,2,7,48", "cubic"), 1),
    "far_table": (resized("1,3,9,64", "1,3,9,40", "linear"), 0),
    "far_apart": (graph("float[2,80] x", "float[2,2,40] y", "y = Gather <axis = 1> (x, at)", "int64[2,40] at = {%s}" % ",".join(str(i * 7 % 80) for i in range(80))), 0),
    "near_rows": (graph("float[3,80] x", "float[3,2,40] y", "y = Gather <axis = 1> (x, at)", "int64[2,40] at = {%s}" % ",".join(str((i % 40) * 2 // 3 + 30 * (i // 40)) for i in range(80))), 0),
}
LOOKUPS = {                               # of an array of two vectors at most: both are loaded, and permuted
    "lookup_few": (resized("1,1,1,3", "1,1,1,32", "linear"), 1),
    "lookup_two": (resized("1,2,4,13", "1,2,8,104", "linear"), 1),          # and what is left behind whole vectors
    "lookup_rest": (resized("1,2,4,13", "1,2,4,99", "cubic"), 1),
    "lookup_more": (resized("1,2,4,33", "1,2,4,330", "linear"), 0),
}
PHASES = {                                # of a transposed convolution: phases and few channels are the columns of one product
    "phases_few": (graph("float[1,32,12,12] x", "float[1,3,24,24] y", "y = ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w, b)", external("w", 32, 3, 4, 4) + ", float[3] b = {0.5, -1.5, 2.25}"), 1),
    "phases_line": (graph("float[2,24,30] x", "float[2,5,90] y", "y = ConvTranspose <strides = [3], pads = [1, 2]> (x, w, b)", external("w", 24, 5, 6) + ", float[5] b = {0.5, -1.5, 2.25, 0.0, -0.25}"), 1),
}
PHASES_FIRST = {                          # with an odd pad places are counted from the first result on: 12 of 24, not 13
    "phases_first": (graph("float[2,20,12,13] x", "float[2,32,24,26] y", "y = ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w, b)", external("w", 20, 32, 4, 4) + ", " + external("b", 32)), 1),
    "phases_odd": (graph("float[1,20,12,13] x", "float[1,32,23,25] y", "y = ConvTranspose <strides = [2, 2], pads = [1, 1, 2, 2]> (x, w)", external("w", 20, 32, 4, 4)), 1),
    "phases_even": (graph("float[1,20,12,12] x", "float[1,32,24,24] y", "y = ConvTranspose <strides = [2, 2]> (x, w)", external("w", 20, 32, 2, 2)), 1),
}
ROW = {                                   # one row of a product with a matrix that comes at run time: wide pieces of its rows
    "row": (graph("float[1,300] x, float[300,1536] w", "float[1,1536] y", "y = MatMul (x, w)"), 1),
    "row_odd": (graph("float[1,300] x, float[300,1533] w, float[1533] b", "float[1,1533] y", "s = MatMul (x, w) a = Add (s, b) y = Relu (a)"), 2),          # and its last panel
    "row_short": (graph("float[1,300] x, float[300,320] w", "float[1,320] y", "y = MatMul (x, w)"), 0),
    "rows_two": (graph("float[2,300] x, float[300,1536] w", "float[2,1536] y", "y = MatMul (x, w)"), 0),
}
TWO = {                                   # neighbours at places that data say: one load of both
    "two": (graph("float[1,20,9,2] x, float[1,24,35,2] wild", "float[1,20,24,35] y", 'y = GridSample <mode = "bilinear"> (x, wild)'), 1),
    "two_corners": (graph("float[1,20,6,7] x, float[1,16,33,2] wild", "float[1,20,16,33] y", 'y = GridSample <mode = "bilinear", align_corners = 1> (x, wild)'), 1),
    "two_one": (graph("float[1,2,5,1] x, float[1,9,16,2] wild", "float[1,2,9,16] y", 'y = GridSample <mode = "bilinear"> (x, wild)'), 0),
    "two_border": (sampled("bilinear", "border"), 0),
}
def largest(x, y, axis):
    return graph(f"float[{x}] x", f"float[{y}] y", f"y = ReduceMax (x, axes)", f"int64[1] axes = {{{axis}}}").replace('"" : 17', '"" : 18')


SHARED = {                                # no round of the outermost loop is a block, and all of them are more than a fork: blocks of some rounds
    "shared_rows": (largest("768,96", "768,1", 1), 1),
    "shared_columns": (largest("128,768", "1,768", 0), 1),
    "shared_channels": (graph("float[1,130,700] x, float[130,1,3] w", "float[1,130,700] y", "y = Conv <group = 130, pads = [1, 1]> (x, w)"), 1),
    "prime_rows": (largest("1031,96", "1031,1", 1), 0),
    "few_rows": (largest("96,96", "96,1", 1), 0),
}


def regions(x, cells, made="p = Identity (flat)", more=""):
    """Five regions of images, some of them outside, turned or empty, of the largest elements; the last channels may be few."""
    return graph(f"float[{x}] flat, float[5,5] wild", f"float[5,{cells}] y", f"{made} r = Mul (wild, scale) y = MaxRoiPool <pooled_shape = [{','.join(cells.split(',')[1:])}], spatial_scale = 0.7> (p, r)",
                 "float scale = {6.0}" + more)


REGIONS = {                               # data say which terms each result has: loops of those alone
    "regions": (regions("2,37,13,11", "37,3,5"), 2),                      # of whole vectors, and of what is left; what a caller gives is put in another order
    "regions_few": (regions("2,3,9,17", "3,7,2"), 1),
    "regions_made": (regions("2,8,9,17", "20,4,4", "c = Conv (flat, w) p = Relu (c)", f", {external('w', 20, 8, 1, 1)}"), 2),
    "regions_alone": (regions("1,1,9,70", "1,1,1"), 1),
}


def product(x, w, y):
    return graph(f"float[{x}] wild, float[{w}] w", f"float[{y}] y", "y = MatMul (wild, w)")


ONE_PRODUCT = {                           # one product is no sum: a map, which what reads it computes
    "outer": (product("70,1", "1,45", "70,45"), 1),
    "outer_read": (graph("float[70,1] wild, float[1,45] w, float[45,70] z", "float[45,70] y", "p = MatMul (wild, w) t = Transpose <perm = [1, 0]> (p) y = Add (t, z)"), 1),
    "one_channel": (graph("float[2,1,9,21] wild, float[5,1,1,1] w", "float[2,5,9,21] y", "y = Conv (wild, w)"), 1),
    "two_terms": (product("70,2", "2,45", "70,45"), 0),
}


PAIRS = {                                 # results in pairs, of few products: both vectors of a pair are stored together
    "points": (graph("float[70,3] wild, float[2,3] w", "float[70,2] y", "y = Gemm <transB = 1> (wild, w)"), 1),
    "points_batch": (graph("float[4,33,2] wild, float[4,2,2] w", "float[4,33,2] y", "t = Transpose <perm = [0, 2, 1]> (w) y = MatMul (wild, t)"), 1),
    "many_terms": (graph("float[70,4] wild, float[2,4] w", "float[70,2] y", "y = Gemm <transB = 1> (wild, w)"), 0),
    "beside": (graph("float[3,1,40] wild, float[3,1,40] w", "float[3,40,2] y", "c = Concat <axis = 1> (wild, w) y = Transpose <perm = [0, 2, 1]> (c)"), 1),
}


ZIPPED = {                                # phases of a stride of 2 lie along their places, and are stored in pairs, the last ones, too
    "phases_zipped": (graph("float[1,20,9,19] x", "float[1,24,18,38] y", "y = ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]> (x, w)", external("w", 20, 24, 3, 3)), 1),
    "phases_of_three": (graph("float[1,20,9,19] x", "float[1,24,26,57] y", "y = ConvTranspose <strides = [3, 3], pads = [1, 1, 1, 1], output_padding = [1, 2]> (x, w)", external("w", 20, 24, 3, 3)), 0),
}
PHASES_MOVED = {                          # of one result: lanes of the product run along places, and a copy moves what they are
    "phases_of_one": (graph("float[1,20,12,19] x", "float[1,1,24,38] y", "y = ConvTranspose <strides = [2, 2]> (x, w, b)", external("w", 20, 1, 2, 2) + ", float[1] b = {0.5}"), 1),
    "phases_of_one_long": (graph("float[2,70,12,19] x", "float[2,1,24,38] y", "y = ConvTranspose <strides = [2, 2]> (x, w, b)", external("w", 70, 1, 2, 2) + ", float[1] b = {0.5}"), 1),
    "phases_of_line": (graph("float[1,70,90] x", "float[1,1,180] y", "y = ConvTranspose <strides = [2]> (x, w)", external("w", 70, 1, 2)), 1),
    "phases_of_eight": (graph("float[1,20,12,19] x", "float[1,8,24,38] y", "y = ConvTranspose <strides = [2, 2]> (x, w)", external("w", 20, 8, 2, 2)), 0),
}
PATCHES = {                               # pairs of rows that leave lanes idle, steps of three and more for many results: patches are stored side by side, and are columns of all rows
    "patches": (graph("float[2,12,10,24] x", "float[2,20,5,12] y", "y = Conv <strides = [2, 2]> (x, w, b)", external("w", 20, 12, 2, 2) + ", " + external("b", 20)), 1),
    "patches_line": (graph("float[1,12,28] x", "float[1,20,14] y", "y = Conv <strides = [2]> (x, w)", external("w", 20, 12, 2)), 1),
    "patches_padded": (graph("float[1,12,9,23] x", "float[1,20,5,12] y", "y = Conv <strides = [2, 2], pads = [1, 1, 0, 0]> (x, w)", external("w", 20, 12, 2, 2)), 1),
    "patches_steps": (graph("float[2,1,100] x", "float[2,40,19] y", "y = Conv <strides = [5]> (x, w, b)", external("w", 40, 1, 10) + ", " + external("b", 40)), 1),
    "patches_steps_padded": (graph("float[1,1,34,40] x", "float[1,30,12,14] y", "y = Conv <strides = [3, 3], pads = [1, 2, 1, 2]> (x, w)", external("w", 30, 1, 3, 3)), 1),
    "patches_few": (graph("float[1,1,100] x", "float[1,24,19] y", "y = Conv <strides = [5]> (x, w)", external("w", 24, 1, 10)), 0),
    "patches_full": (graph("float[1,12,8,32] x", "float[1,20,4,16] y", "y = Conv <strides = [2, 2]> (x, w)", external("w", 20, 12, 2, 2)), 0),
}
DIGITS = {                                # several variables are columns, and who reads would have them apart: they stay one panel
    "digits": (graph("float[24,40] x, float[40,24,2] w", "float[576,2] y", "s = Einsum <equation = \"nk,kcd->ncd\"> (x, w) t = Transpose <perm = [1, 0, 2]> (s) y = Reshape (t, to)",
                     "int64[2] to = {576, 2}"), 1),
}


def bordered(dims, outs, channels, taps, attributes="", ending=""):
    return graph(f"float[{dims}] wild", "float[n,c,h,v] y",
                 f"{'s' if ending else 'y'} = Conv <kernel_shape = [{taps}, {taps}], pads = [{', '.join(4 * [str(taps // 2)])}]{attributes}> (wild, w, b) {ending}",
                 f"{external('w', outs, channels, taps, taps)}, {external('b', outs)}")


BORDERED = {                              # small planes of few channels are stored with their pads
    "bordered": (bordered("1,4,16,16", 24, 4, 3), 1),
    "bordered_maximum": (bordered("1,1,28,28", 16, 1, 5, ending="r = Relu (s) y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r)"), 1),
    "bordered_strided": (bordered("3,3,21,35", 20, 3, 3, ", strides = [2, 2]"), 1),
    "bordered_groups": (bordered("2,12,15,16", 26, 6, 5, ", group = 2"), 1),
    "bordered_channels": (bordered("1,12,16,16", 24, 12, 5), 0),
    "bordered_large": (bordered("1,3,210,210", 16, 3, 3), 0),
}


HEADS_APART = {                           # one query: heads read keys and values of their own, and are shared out
    "one_query": (attention("1,12,1,32", "1,12,200,32"), 1),
    "one_query_few": (attention("1,6,1,32", "1,6,200,32"), 0),
}


K_BLOCK_LOOP = r"k_block \+= \d+\)\n\tfor \(long panel = "
# kind: what `ingot show` prints once for each such kernel, and at which stage
KINDS = {"windows": (WINDOWS, "kernels", r"^k\d+_\w+  "), "branches": (BRANCHES, "kernels", r"^ +only +where "), "attention": (ATTENTIONS, "kernels", r"^k\d+_attention "), "halves": (HALVES, "kernels", r"^k\d+_[a-z]+  "), "k_blocks": (K_BLOCKS, "source", r"for \(long k_block = 0"),
         "winograd": (WINOGRADS, "kernels", r"^k\d+_winograd "), "rows": (ROWS, "kernels", r"^k\d+_rows "),
         "mapped": (MAPPED, "kernels", r"^k\d+_con\w+  fused "),
         "across": (ACROSS, "kernels", r"^ +blocks +\d+, panels of"), "row_of_a": (ROW_OF_A, "kernels", r": a row, copied whole$"), "packed_a": (PACKED_A, "source", r"float \*p = packed_a \+ "),
         "near_rows": (NEAR_ROWS, "loops", r"(?s)\A.*\)/4"), "whole_vectors": (WHOLE_VECTORS, "kernels", r"^ +blocks +[1-8], "), "rows_beside": (ROWS_BESIDE, "kernels", r"^ +blocks +\d+, [2-8] of "),
         "again": (AGAIN, "loops", r"(?s)\A.*along [jk]1, 8"), "masked": (MASKED, "source", r"(?s)\A.*vec_load_between"),
         "transposed_store": (TRANSPOSED_STORE, "source", r"float transposed_store\["), "packed": (PACKED, "source", r"float gathered\["), "k_blocked": (K_BLOCKED, "source", K_BLOCK_LOOP), "k_blocked_ending": (K_BLOCKED_ENDING, "source", K_BLOCK_LOOP),
         "two": (TWO, "source", r"(?s)\A.*vec_lane_gather_two"), "near": (NEARS, "source", r"(?s)\A.*vec_near"), "lookups": (LOOKUPS, "source", r"(?s)\A.*vec_lookup"), "phases": (PHASES, "kernels", r"^ +reads .*_biases "), "phases_first": (PHASES_FIRST, "definitions", r"_phases_2 float\[[12],12,2,1[23],2,32\] = sum"), "row": (ROW, "source", r"_1x64\w*\(const"),
         "heads_apart": (HEADS_APART, "kernels", r"^ +blocks +2, blocks of 6 rows"), "shared": (SHARED, "kernels", r"^ +blocks +\d\d?, [ij]$"), "regions": (REGIONS, "source", r"for \(long \w+ = first; "), "placed": (PLACED, "source", r"(?s)\A.*ivec_store[^\n]*ivec_of_vec"),
         "placed_apart": (PLACED_APART, "kernels", r"^ +template .* lanes of int32$"),
         "digits": (DIGITS, "kernels", r"^ +template +c/contraction.jinja, tile \d+ x (16|24|48),"),
         "halves_shared": (HALVES_SHARED, "kernels", r"^k\d+_\w+  loops  nodes [kv]_shared$"), "bare": (BARE, "kernels", r"^k\d+_\w+  contraction "), "one_product": (ONE_PRODUCT, "kernels", r"^k\d+_map "), "pairs": (PAIRS, "source", r"(?s)\A.*\tvec_zip\("), "zipped": (ZIPPED, "source", r"(?s)\A.*\tvec_zip\("), "patches": (PATCHES, "kernels", r"^k\d+_[a-z]+  \w+  nodes x_patches"), "phases_moved": (PHASES_MOVED, "kernels", r"^ +writes +y = y_phases_2 .* strides"),
         "running": (RUNNING, "source", r"^\t+vec_transpose\(square\d* \+"), "turned": (TURNED, "source", r"^\t+vec_transpose\(square\d* \+"), "running_beside": (RUNNING_BESIDE, "loops", r"(?s)\A.*sum = add\([^\n]*along"), "bordered": (BORDERED, "kernels", r"^k\d+_[a-z]+  \w+  nodes wild_pads"), "few_outs": (FEW_OUTS, "kernels", r"^k\d+_\w+  contraction [^\n]*\n[^\n]*\n[^\n]* = w\b.*\n[^\n]* = x_pads "), "followed": (FOLLOWED, "kernels", r"^ +writes +y = r .* strides 0 1"), "one_place": (ONE_PLACE, "definitions", r"^y_taps float\[\d,84\] = sum"), "cut": (CUT, "loops", r"select|%"), "apart": (APART, "kernels", r"^k\d+_\w+  loops  nodes .*y\w*_rows ")}
GLUE = {"transposed_store": r"^\t+m_transpose\(", "k_blocked": K_BLOCK_LOOP}  # the same in what the JIT runs
ALWAYS = [["jit"], ["jit", "--cpu", "generic"]]
VECTORS = [t for t in sweep.TARGETS if t in (["c", "--cpu", "native"], ["c", "--cpu", "x86-64-v3"])]
OTHERS = [t for t in sweep.TARGETS if "size" not in t and t not in ALWAYS + VECTORS and t != ["c", "--cpu", "generic"]]
SLOW = {"placed_apart", "long", "too_long", "half_long", "in_place", "window", "k_blocks", "rows_far_k_blocks", "columns_apart_k_blocks"}     # not on the emulator


def ingot(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr.strip()


def check_stack(program, name, model, folder):
    """The stack that the manifest tells of holds the scores of a block."""
    manifest = os.path.join(folder, name)
    code, _, message = ingot(program, "build", model, "-o", manifest, "--cpu", "x86-64-v3")
    assert code == 0, message
    with open(os.path.join(manifest, next(f for f in os.listdir(manifest) if f.endswith(".json")))) as file:
        stack = json.load(file)["stack_bytes"]
    scratch = [int(n) for n in re.findall(r"float scratch\[(\d+)\]", "".join(open(os.path.join(manifest, f)).read() for f in os.listdir(manifest) if f.endswith(".c")))]
    assert scratch and 4 * max(scratch) < stack < 4 * max(scratch) + 65536, f"stack {stack}, scratch {scratch}"


def targets_of(kind, name, number):
    others = [t for t in OTHERS if t[0] != "cuda-emulated" or name not in SLOW]
    if os.environ.get("INGOT_LONG"):
        return ALWAYS + VECTORS + others + [["c", "--cpu", "generic"]]
    return ALWAYS + [others[number // 2 % len(others)] if others and list(KINDS[kind][0]).index(name) % 2 else VECTORS[number // 2 % len(VECTORS)]]


class Case:
    """A case in a folder: its graph, its inputs, and the right outputs."""
    def __init__(self, program, number, kind, name, text, count, folder):
        self.program, self.number, self.kind, self.name, self.count, self.folder = program, number, kind, name, count, folder
        self.model, self.given = os.path.join(folder, name + ".onnxtxt"), []
        numbers = numpy.random.default_rng(len(name))
        with open(self.model, "w") as file:
            file.write(text)
        for name_of, length in re.findall(r'"location": "(\w+)\.bin", "offset": "0", "length": "(\d+)"', text):
            (numbers.standard_normal(int(length) // 4).astype("f4") / 16).tofile(os.path.join(folder, f"{name_of}.bin"))
        for half, dims, tensor in re.findall(r"float(16)?\[([\d,]+)\] (\w+)", re.search(r"g \((.*?)\) =>", text).group(1)):
            path = os.path.join(folder, f"{tensor}.npy")
            values = numbers.standard_normal([int(n) for n in dims.split(",")]).astype("f4")
            if tensor == "flat":                  # most are equal, but for the sign of zero; some are no numbers
                values = numpy.select([values < -1.5, values < -0.5, values < 1, values < 1.5], [numpy.nan, -1, 0, -0.0], 2).astype("f4")
            if tensor == "wild":
                values.ravel()[:6] = numpy.nan, numpy.inf, -numpy.inf, 1e30, -1e30, -0.0
            numpy.save(path, values.astype("f2") if half else values)
            self.given += ["--input", f"{tensor}={path}"]

    def shown(self, stage, pattern, who):
        code, shown, message = ingot(self.program, "show", self.model, "--stage", stage, "--cpu", "x86-64-v3")
        assert code == 0, message
        found = len(re.findall(pattern, shown, re.M))
        assert found == self.count, f"{found} of {self.kind}{who}, {self.count} are right:\n{shown}"


def check(program, case, together):
    _, stage, pattern = KINDS[case.kind]
    case.shown(stage, pattern, "")
    if case.kind in GLUE:
        case.shown("glue", GLUE[case.kind], " in what the JIT runs")
    paths = {"y": os.path.join(case.folder, "y.npy")}
    right = sweep.run(program, case.model, case.given, paths, ["interpreter"])
    for target in targets_of(case.kind, case.name, case.number):
        together.add(case, target, case.given, paths, right)
    if case.count and case.kind == "attention" and (case.number % 4 == 0 or os.environ.get("INGOT_LONG")):
        check_stack(program, case.name, case.model, case.folder)


def main():
    cases = [(kind, name, *case) for kind, (some, _, _) in KINDS.items() for name, case in some.items()][::int(sys.argv[2]) if len(sys.argv) > 2 else 1]
    bad = 0
    for _, case, why in sweep.wrong_of(sys.argv[1], range(len(cases)), lambda number, folder: Case(sys.argv[1], number, *cases[number], folder), check):
        print(f"{case.name}: {why}")
        bad += 1
    print(f"{len(cases) - bad} of {len(cases)} cases are right")
    return bool(bad)


sys.exit(main())
