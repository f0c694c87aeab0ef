#!/usr/bin/env python3
"""shapes.py: products that blocks of warps make (128 x 128 x 16 and smaller), with borders, batches, epilogues and each way to stage a and b: the bits of the C
library, or the JIT, in three orders of threads and copies, and, where NVRTC is there, no spill.  Products of bytes are fragments of tensor cores: their sums are exact,
so that bits say whether each fragment lies where it should; IMMA is in their loop, and of 128 x 128 an SM holds two blocks.

    shapes.py INGOT [NAME…]        exit 0: right, 1: wrong, 77: no C++ compiler or no NumPy.  All of them, and every planted fault, with INGOT_LONG=1"""
import concurrent.futures
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
try:
    import numpy
    from here import by_turns
    from same import same
except ImportError as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
ATTENTION = "t = Transpose <perm = [0, 1, 3, 2]> (k) s = MatMul(q, t) p = Softmax <axis = -1> (s) y = MatMul(p, v)"
WIDENED = "v = Cast <to = 1> (w) "                              # of weights that stay as they are stored
BLOCKS = "v = DequantizeLinear <axis = 0, block_size = %d> (w, s, c) "
# name: (tile, inputs, constants, dims of the result, nodes).  The tile is what the reckoning says today: each size has to be among them.
BYTES = {"x": "int8", "w": "int8", "y": "int32", "z": "int8", "v": "int8", "b": "int32"}
GROUPS = {"arch": "sm_90a"}                                     # which has products of warpgroups
HALVES, FLOAT16, TF32 = ({"math": word} for word in ("bf16", "f16", "tf32"))       # of floats that are integers: every sum is exact, in any order
MOST = {"bf16": 255, "f16": 1023, "tf32": 1023}                # of one factor: all its bits, and what has fewer makes another sum of them
CHAIN = "t = Conv <pads = [1, 1, 1, 1]> (x, w, b) r = Relu(t) c = Constant <value_float = 8.0> () m = Min(r, c) y = Conv <pads = [0, 1, 2, 1], strides = [1, 2]> (m, v)"
SHAPES = {
    "large": ("128 x 128 x 16", {"x": (2048, 32)}, {"w": (32, 2048)}, (2048, 2048), "y = MatMul(x, w)"),
    "whole": ("32 x 64 x 16", {"x": (512, 512)}, {"w": (512, 512)}, (512, 512), "y = MatMul(x, w)"),
    "borders": ("64 x 64 x 16", {"x": (515, 130)}, {"w": (130, 810)}, (515, 810), "y = MatMul(x, w)"),
    "quads": ("64 x 64 x 16", {"x": (700, 132), "w": (132, 520)}, {}, (700, 520), "y = MatMul(x, w)"),
    "inputs": ("64 x 64 x 16", {"x": (600, 101), "w": (101, 603)}, {}, (600, 603), "y = MatMul(x, w)"),
    "transposed": ("64 x 64 x 16", {"x": (600, 100), "w": (603, 100)}, {}, (600, 603), "y = Gemm <transB = 1> (x, w)"),
    "transposed_a": ("64 x 64 x 16", {"x": (100, 600)}, {"w": (100, 603), "b": (603,)}, (600, 603), "y = Gemm <transA = 1> (x, w, b)"),
    "batches": ("64 x 64 x 16", {"x": (6, 200, 72), "w": (6, 72, 200)}, {}, (6, 200, 200), "y = MatMul(x, w)"),
    "epilogue": ("64 x 64 x 16", {"x": (520, 512), "z": (520, 512)}, {"w": (512, 512), "b": (512,)}, (520, 512), "t = MatMul(x, w) u = Add(t, b) v = Add(u, z) y = Relu(v)"),
    "heavy": ("64 x 64 x 16", {"x": (530, 512)}, {"w": (512, 500), "b": (500,)}, (530, 500), "t = MatMul(x, w) u = Add(t, b) v = Sigmoid(u) y = Mul(u, v)"),
    "heavy_large": ("128 x 128 x 16", {"x": (4000, 32)}, {"w": (32, 2000)}, (4000, 2000), "t = MatMul(x, w) v = Sigmoid(t) y = Mul(t, v)"),
    "roots": ("8 x 32 x 64", {"x": (100, 64)}, {"w": (64, 96)}, (100, 96), "t = MatMul(x, w) y = Sqrt(t)"),              # half of them NaN
    "one_row": ("4 x 32 x 64", {"x": (1, 515)}, {"w": (515, 1000), "b": (1000,)}, (1, 1000), "t = Gemm(x, w, b) y = Relu(t)"),
    "few_rows": ("8 x 32 x 64", {"x": (5, 256)}, {"w": (1000, 256)}, (5, 1000), "y = Gemm <transB = 1> (x, w)"),
    "few_transposed": ("4 x 32 x 64", {"x": (3, 300), "w": (1000, 300)}, {}, (3, 1000), "t = Gemm <transB = 1> (x, w) y = Sigmoid(t)"),
    "conv_1x1": ("64 x 128 x 16", {"x": (1, 64, 56, 56)}, {"w": (256, 64, 1, 1), "b": (256,)}, (1, 256, 56, 56), "y = Conv(x, w, b)"),
    "conv_5x5": ("64 x 64 x 16", {"x": (2, 20, 30, 31)}, {"w": (130, 20, 5, 5), "b": (130,)}, (2, 130, 30, 31), "y = Conv <pads = [2, 2, 2, 2]> (x, w, b)"),
    "conv_odd": ("32 x 64 x 16", {"x": (1, 3, 120, 121)}, {"w": (64, 3, 7, 7), "b": (64,)}, (1, 64, 60, 61), "y = Conv <pads = [3, 3, 3, 3], strides = [2, 2]> (x, w, b)"),
    "conv_few": ("8 x 32 x 64", {"x": (1, 96, 14, 13)}, {"w": (120, 96, 3, 3), "b": (120,)}, (1, 120, 7, 7), "t = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w, b) y = Relu(t)"),
    "conv_quarter": ("32 x 32 x 32", {"x": (1, 64, 56, 56)}, {"w": (128, 64, 3, 3), "b": (128,)}, (1, 128, 28, 28), "y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w, b)"),
    "winograd": ("F(4), 4 x 32", {"x": (1, 40, 28, 28)}, {"v": (64, 40, 1, 1), "w": (64, 64, 3, 3), "b": (64,), "u": (64, 64, 1, 1)}, (1, 64, 28, 28),
                 "t = Conv(x, v) s = Conv <pads = [1, 1, 1, 1]> (t, w, b) r = Relu(s) y = Conv(r, u)"),
    "winograd_8": ("F(4), 8 x 32", {"x": (3, 64, 56, 56)}, {"w": (64, 64, 3, 3), "b": (64,)}, (3, 64, 56, 56), "s = Conv <pads = [1, 1, 1, 1]> (x, w, b) y = Relu(s)"),
    "winograd_16": ("F(4), 16 x 32", {"x": (16, 48, 31, 29)}, {"w": (96, 48, 3, 3), "b": (96,)}, (16, 96, 31, 29), "s = Conv <pads = [1, 1, 1, 1]> (x, w, b) y = Relu(s)"),
    "winograd_left": ("F(4), 4 x 32", {"x": (1, 37, 28, 28), "z": (1, 20, 28, 28)}, {"w": (20, 37, 3, 3), "b": (20,)}, (1, 20, 28, 28),
                      "s = Conv <pads = [1, 1, 1, 1]> (x, w, b) t = Add(s, z) y = Relu(t)"),
    "winograd_2": ("F(2), 4 x 32", {"x": (2, 16, 33, 30)}, {"w": (16, 16, 3, 3)}, (2, 16, 31, 28), "s = Conv (x, w) y = Sigmoid(s)"),
    "winograd_run_time": ("F(4), 4 x 32", {"x": (1, 37, 28, 28), "w": (20, 37, 3, 3)}, {"b": (20,)}, (1, 20, 28, 28), "s = Conv <pads = [1, 1, 1, 1]> (x, w, b) y = Relu(s)"),
    "attention": ("16 rows: 16 x 128 x 16, 32 lanes, 16 x 64 x 16", {"q": (1, 4, 128, 64), "k": (1, 4, 128, 64), "v": (1, 4, 128, 64)}, {}, (1, 4, 128, 64), ATTENTION),
    "attention_odd": ("13 rows: 16 x 128 x 16, 32 lanes, 16 x 32 x 16", {"q": (1, 3, 37, 30), "k": (1, 3, 197, 30), "v": (1, 3, 197, 30)}, {}, (1, 3, 37, 30), ATTENTION),
    "attention_few": ("16 rows: 16 x 64 x 16, 32 lanes and scalars, 16 x 32 x 16", {"q": (1, 12, 16, 20), "k": (1, 12, 40, 20), "v": (1, 12, 40, 20)}, {}, (1, 12, 16, 20), ATTENTION),
    "attention_wide": ("15 rows: 16 x 64 x 16, 32 lanes, 16 x 64 x 16", {"q": (1, 2, 100, 33), "k": (1, 2, 64, 33), "v": (1, 2, 64, 40)}, {}, (1, 2, 100, 40), ATTENTION),
    "conv_deep": ("32 x 64 x 16", {"x": (1, 32, 40, 40)}, {"w": (128, 32, 5, 5), "b": (128,), "v": (96, 128, 1, 1)}, (1, 96, 40, 40), "t = Conv <pads = [2, 2, 2, 2]> (x, w, b) u = Relu(t) y = Conv(u, v)"),
    "bytes_huge": ("256 x 128 x 16", {"x": (4350, 68)}, {"w": (68, 1010)}, (4350, 1010), "y = MatMulInteger(x, w)", BYTES),
    "bytes_large": ("128 x 128 x 16", {"x": (1030, 68)}, {"w": (68, 1016)}, (1030, 1016), "y = MatMulInteger(x, w)", BYTES),
    "bytes_64": ("128 x 64 x 16", {"x": (900, 96)}, {"w": (96, 1016)}, (900, 1016), "y = MatMulInteger(x, w)", BYTES),
    "bytes_borders": ("64 x 64 x 16", {"x": (515, 130)}, {"w": (130, 810)}, (515, 810), "y = MatMulInteger(x, w)", BYTES),
    "bytes_inputs": ("64 x 32 x 16", {"x": (300, 132), "w": (132, 520)}, {}, (300, 520), "y = MatMulInteger(x, w)", BYTES),
    "bytes_batches": ("64 x 64 x 16", {"x": (6, 200, 72), "w": (6, 72, 200)}, {}, (6, 200, 200), "y = MatMulInteger(x, w)", BYTES),
    "bytes_one_row": ("64 x 32 x 16", {"x": (1, 515)}, {"w": (515, 1000)}, (1, 1000), "y = MatMulInteger(x, w)", BYTES),
    "bytes_zero": ("64 x 32 x 16", {"x": (70, 333)}, {"w": (333, 97), "z": ()}, (70, 97), "y = MatMulInteger(x, w, z)", dict(BYTES, x="uint8", z="uint8")),
    "bytes_conv": ("64 x 64 x 16", {"x": (2, 20, 30, 31)}, {"w": (130, 20, 5, 5), "z": ()}, (2, 130, 30, 31), "y = ConvInteger <pads = [2, 2, 2, 2]> (x, w, z)", dict(BYTES, x="uint8", z="uint8")),
    "bytes_quantised": ("64 x 32 x 16", {"x": (1, 64, 28, 28)}, {"w": (96, 64, 3, 3), "b": (96,), "z": (), "v": ()}, (1, 96, 28, 28),
                        "s = Constant <value_float = 0.02> () t = Constant <value_float = 0.01> () u = Constant <value_float = 0.9> () "
                        "y = QLinearConv <pads = [1, 1, 1, 1], strides = [1, 1]> (x, s, z, w, t, v, u, z, b)", dict(BYTES, y="int8")),
    "bytes_parts": ("64 x 32 x 16", {"x": (1, 256, 7, 7)}, {"w": (200, 256, 3, 3), "z": ()}, (1, 200, 7, 7), "y = ConvInteger <pads = [1, 1, 1, 1]> (x, w, z)", dict(BYTES, x="uint8", z="uint8")),
    "halves_parts": ("64 x 64 x 16", {"x": (40, 1040), "z": (40, 330)}, {"w": (1040, 330), "b": (330,), "v": (330, 40)}, (40, 40),
                     "t = MatMul(x, w) u = Add(t, b) s = Add(u, z) r = Relu(s) c = Constant <value_float = 8.0> () m = Min(r, c) y = MatMul(m, v)", HALVES),
    "halves_large": ("128 x 128 x 16", {"x": (1030, 68)}, {"w": (68, 1016)}, (1030, 1016), "t = MatMul(x, w) y = Relu(t)", HALVES),
    "halves_borders": ("64 x 64 x 16", {"x": (515, 131)}, {"w": (131, 810), "b": (810,)}, (515, 810), "t = MatMul(x, w) y = Add(t, b)", HALVES),
    "halves_inputs": ("32 x 32 x 32", {"x": (32, 1030), "w": (1000, 1030)}, {}, (32, 1000), "y = Gemm <transB = 1> (x, w)", HALVES),
    "halves_conv": ("64 x 64 x 16", {"x": (2, 20, 30, 31), "z": (2, 130, 15, 16)}, {"w": (130, 20, 5, 5), "b": (130,)}, (2, 130, 15, 16),
                    "t = Conv <pads = [2, 2, 2, 2], strides = [2, 2]> (x, w, b) u = Add(t, z) y = Relu(u)", HALVES),
    "halves_chain": ("128 x 96 x 16", {"x": (4, 20, 60, 61)}, {"w": (74, 20, 3, 3), "b": (74,), "v": (130, 74, 3, 3)}, (4, 130, 60, 31), CHAIN, HALVES),
    "residual_chain": ("64 x 32 x 16", {"x": (520, 128), "z": (520, 202)}, {"w": (128, 202), "v": (202, 202)}, (520, 202),
                       "t = MatMul(x, w) u = Add(t, z) r = Relu(u) c = Constant <value_float = 8.0> () m = Min(r, c) s = MatMul(m, v) y = Add(s, m)", HALVES),
    "residual_parts": ("64 x 128 x 16", {"x": (40, 32)}, {"w": (32, 1040), "v": (1040, 1040)}, (40, 1040),
                       "t = MatMul(x, w) r = Relu(t) c = Constant <value_float = 8.0> () m = Min(r, c) s = MatMul(m, v) y = Add(s, m)", HALVES),
    "residual_steps": ("64 x 32 x 16", {"x": (4, 40, 64)}, {"w": (64, 64), "v": (64, 64)}, (1, 40, 64),          # of equal code, each on its slice of p
                       "p = MatMul(x, v) c = Constant <value_float = 8.0> () h, i, j, k = Split <axis = 0, num_outputs = 4> (p) r = Relu(h) a = Min(r, c) "
                       + "".join("m%d = MatMul(%s, w) n%d = Add(m%d, %s) o%d = Add(n%d, %s) q%d = Relu(o%d) %s = Min(q%d, c) " % (n, h, n, n, x, n, n, h, n, n, y, n) for n, (h, x, y) in enumerate(("aid", "dje", "ekf")))
                       + "y = Add(f, e)", HALVES),
    "float16_chain": ("128 x 96 x 16", {"x": (4, 20, 60, 61)}, {"w": (74, 20, 3, 3), "b": (74,), "v": (130, 74, 3, 3)}, (4, 130, 60, 31), CHAIN, FLOAT16),
    "bytes_chain": ("64 x 32 x 16", {"x": (2, 20, 40, 41)}, {"w": (76, 20, 3, 3), "b": (76,), "z": (), "v": (130, 76, 1, 1)}, (2, 130, 40, 41),
                    "s = Constant <value_float = 0.02> () t = Constant <value_float = 0.01> () u = Constant <value_float = 0.9> () "
                    "m = QLinearConv <pads = [1, 1, 1, 1]> (x, s, z, w, t, z, u, z, b) y = QLinearConv (m, u, z, v, t, z, s, z)", dict(BYTES, y="int8")),
    "float16_large": ("128 x 128 x 16", {"x": (1030, 68)}, {"w": (68, 1016)}, (1030, 1016), "t = MatMul(x, w) y = Relu(t)", FLOAT16),
    "float16_borders": ("64 x 64 x 16", {"x": (515, 131)}, {"w": (131, 810), "b": (810,)}, (515, 810), "t = MatMul(x, w) y = Add(t, b)", FLOAT16),
    "float16_conv": ("64 x 64 x 16", {"x": (2, 20, 30, 31), "z": (2, 130, 15, 16)}, {"w": (130, 20, 5, 5), "b": (130,)}, (2, 130, 15, 16),
                     "t = Conv <pads = [2, 2, 2, 2], strides = [2, 2]> (x, w, b) u = Add(t, z) y = Relu(u)", FLOAT16),
    "tf32_large": ("128 x 128 x 16", {"x": (1030, 68)}, {"w": (68, 1016)}, (1030, 1016), "t = MatMul(x, w) y = Relu(t)", TF32),
    "tf32_borders": ("64 x 64 x 16", {"x": (515, 131)}, {"w": (131, 810), "b": (810,)}, (515, 810), "t = MatMul(x, w) y = Add(t, b)", TF32),
    "tf32_inputs": ("64 x 32 x 16", {"x": (101, 300), "w": (203, 101)}, {}, (300, 203), "y = Gemm <transA = 1, transB = 1> (x, w)", TF32),
    "tf32_row": ("32 x 32 x 32", {"x": (1, 515)}, {"w": (515, 1000)}, (1, 1000), "y = MatMul(x, w)", TF32),
    "tf32_conv": ("64 x 64 x 16", {"x": (2, 20, 30, 31), "z": (2, 130, 15, 16)}, {"w": (130, 20, 5, 5), "b": (130,)}, (2, 130, 15, 16),
                  "t = Conv <pads = [2, 2, 2, 2], strides = [2, 2]> (x, w, b) u = Add(t, z) y = Relu(u)", TF32),
    "groups_borders": ("64 x 64 x 32", {"x": (515, 328)}, {"w": (328, 810), "b": (810,)}, (515, 810), "t = MatMul(x, w) y = Add(t, b)", {**FLOAT16, **GROUPS}),
    "groups_wide": ("128 x 256 x 32", {"x": (1030, 72)}, {"w": (72, 4050)}, (1030, 4050), "y = MatMul(x, w)", {**HALVES, **GROUPS}),
    "groups_inputs": ("64 x 64 x 32", {"x": (300, 264), "w": (1000, 264)}, {}, (300, 1000), "y = Gemm <transB = 1> (x, w)", {**HALVES, **GROUPS}),
    "groups_bytes": ("128 x 128 x 32", {"x": (1030, 720)}, {"w": (720, 1016)}, (1030, 1016), "y = MatMulInteger(x, w)", {**BYTES, **GROUPS}),
    "groups_tf32": ("64 x 64 x 32", {"x": (515, 132)}, {"w": (132, 810), "b": (810,)}, (515, 810), "t = MatMul(x, w) y = Add(t, b)", {**TF32, **GROUPS}),
    "groups_conv": ("64 x 64 x 32", {"x": (2, 24, 30, 31), "z": (2, 130, 15, 16)}, {"w": (130, 24, 5, 5), "b": (130,)}, (2, 130, 15, 16),
                    "t = Conv <pads = [2, 2, 2, 2], strides = [2, 2]> (x, w, b) u = Add(t, z) y = Relu(u)", {**HALVES, **GROUPS}),
    "groups_parts": ("128 x 192 x 32", {"x": (200, 4096), "w": (520, 4096)}, {}, (200, 520), "y = Gemm <transB = 1> (x, w)", {**HALVES, **GROUPS}),
    "groups_batches": ("64 x 64 x 32", {"x": (6, 300, 264), "w": (6, 264, 200)}, {}, (6, 300, 200), "y = MatMul(x, w)", {**HALVES, **GROUPS}),
    "groups_odd": ("128 x 128 x 16", {"x": (1030, 68)}, {"w": (68, 1016)}, (1030, 1016), "t = MatMul(x, w) y = Relu(t)", {**HALVES, **GROUPS}),         # 34 dwords: no quads
    "stored_row": ("4 x 32 x 128", {"x": (1, 515)}, {"w": (515, 1000), "b": (1000,)}, (1, 1000), WIDENED + "t = Gemm(x, v, b) y = Relu(t)", {"w": "float16"}),
    "stored_rows": ("8 x 32 x 128", {"x": (5, 264)}, {"w": (1000, 264)}, (5, 1000), WIDENED + "y = Gemm <transB = 1> (x, v)", {"w": "bfloat16"}),
    "stored_large": ("64 x 128 x 16", {"x": (1030, 68)}, {"w": (68, 4000)}, (1030, 4000), WIDENED + "t = MatMul(x, v) y = Relu(t)", {"w": "float16"}),
    "stored_borders": ("64 x 64 x 16", {"x": (515, 330)}, {"w": (330, 810)}, (515, 810), WIDENED + "y = MatMul(x, v)", {"w": "bfloat16"}),
    "stored_batches": ("64 x 64 x 16", {"x": (6, 200, 232)}, {"w": (6, 232, 200)}, (6, 200, 200), WIDENED + "y = MatMul(x, v)", {"w": "float16"}),
    "stored_conv": ("64 x 64 x 16", {"x": (2, 100, 30, 31)}, {"w": (130, 100, 5, 5), "b": (130,)}, (2, 130, 30, 31), WIDENED + "y = Conv <pads = [2, 2, 2, 2]> (x, v, b)", {"w": "float16"}),
    "codes_row": ("4 x 32 x 256", {"x": (1, 516)}, {"w": (516, 1000)}, (1, 1000), "s = Constant <value_float = 0.02> () v = DequantizeLinear (w, s) y = MatMul(x, v)", {"w": "int8"}),
    "codes_groups": ("8 x 32 x 256", {"x": (5, 608)}, {"w": (608, 1000), "s": (19, 1000), "c": (19, 1000)}, (5, 1000), BLOCKS % 32 + "y = MatMul(x, v)", {"w": "uint8", "c": "uint8", "bits": 2}),
    "codes_blocks": ("128 x 64 x 16", {"x": (515, 256)}, {"w": (256, 1600), "s": (8, 1600), "c": (8, 1600)}, (515, 1600), BLOCKS % 32 + "t = MatMul(x, v) y = Relu(t)", {"w": "int8", "c": "int8", "bits": 4}),
    "codes_float8": ("4 x 32 x 256", {"x": (2, 512)}, {"w": (512, 1000), "s": (4, 1000)}, (2, 1000), BLOCKS.replace(", c", "") % 128 + "y = MatMul(x, v)", {"w": "float8e4m3fn"}),
    "stored_alone": ("1 x 64", {"x": (1, 16)}, {"w": (16, 20000)}, (1, 20000), WIDENED + "y = MatMul(x, v)", {"w": "bfloat16"}),
}
EVERYWHERE = [name for name, shape in SHAPES.items() if "arch" not in dict(*shape[5:])]             # the others are for one GPU
PLANTED = ("bytes_zero", "float16_borders", "tf32_inputs", "groups_borders", "groups_bytes", "groups_conv")
# Without INGOT_LONG others stand for these, of the same tile, and NVRTC compiles each text for one architecture, by turns.
LONG = bool(os.environ.get("INGOT_LONG"))
LONG_ALONE = """batches conv_few halves_large halves_borders quads inputs transposed epilogue heavy_large few_rows conv_1x1 conv_5x5 attention conv_deep bytes_borders bytes_inputs bytes_batches bytes_one_row bytes_conv halves_inputs
halves_chain float16_large float16_conv tf32_large tf32_borders tf32_row tf32_conv stored_large stored_borders stored_conv""".split()


def is_first(name):
    """Of its tile, of those that are compiled: what has a tile spills, or does not, whatever is around."""
    return "Sigmoid" in SHAPES[name][4] or name == next((one for one in SHAPES if one not in LONG_ALONE and SHAPES[one][0] == SHAPES[name][0]), name)


def options_of(name):
    types = dict(*SHAPES.get(name, ())[5:])
    return [word for option in ("math", "arch") if option in types for word in ("--" + option, types[option])]


def dtype_of(name, types):
    return numpy.dtype({"float": "float32", "bfloat16": "uint16", "float8e4m3fn": "uint8"}.get(types.get(name, "float"), types.get(name)))


def text_of(inputs, constants, dims, nodes, types={}):
    shape = lambda n, d: types.get(n, "float") + ("[%s]" % ",".join(map(str, d)) if d else "")
    given = ", ".join("%s %s" % (shape(n, d), n) for n, d in inputs.items())
    kept = ", ".join('%s %s = ["location": "%s.bin", "offset": "0", "length": "%d"]' % (shape(n, d), n, n, dtype_of(n, types).itemsize * numpy.prod(d)) for n, d in constants.items())
    return "%sg (%s) => (%s y)\n%s{ %s }\n" % (HEAD, given, shape("y", dims), "<%s>\n" % kept if kept else "", nodes)


def drawn(random, name, dims, types):
    dtype = dtype_of(name, types)
    if name in types and types[name].endswith("float16"):      # any bits that are numbers
        codes = random.integers(0, 1 << 16, dims).astype("uint16")
        top = 0x7c00 if types[name] == "float16" else 0x7f80
        return numpy.where((codes & top) == top, codes & 0x81ff, numpy.where(random.random(dims) < 0.1, codes, codes & 0x83ff | top // 4 * 2)).astype("uint16").view(dtype)
    if types.get(name) == "float8e4m3fn":
        return random.integers(0, 127, dims).astype(dtype) | random.integers(0, 2, dims).astype(dtype) << 7
    if "bits" in types and name in types:
        return (random.integers(0, 1 << types["bits"], dims) - (dtype.kind == "i") * (1 << types["bits"] - 1)).astype(dtype)
    if dtype.kind == "f":
        most = MOST[types["math"]] if name == "w" and "math" in types else 8
        return (random.integers(-most, most + 1, dims) if "math" in types else random.standard_normal(dims)).astype(dtype)
    if not dims:                                               # the zero point of x, or of w
        return numpy.array({"z": 7}.get(name, 0), dtype)
    return random.integers(-999, 999, dims).astype(dtype) if dtype.itemsize > 1 else random.integers(numpy.iinfo(dtype).min, numpy.iinfo(dtype).max + 1, dims).astype(dtype)


def run(ingot, folder, model, inputs, target, environment, *more):
    out = os.path.join(folder, "y.npy")
    command = [ingot, "run", model, "--target", target, "--output", "y=" + out, *more]
    for name in inputs:
        command += ["--input", "%s=%s" % (name, os.path.join(folder, name + ".npy"))]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, **environment))
    return (numpy.load(out), "") if not done.returncode else (None, done.stderr.strip())


@functools.cache
def by_whom(ingot):
    """Whose bits are right: the JIT's, where it is there, which compiles nothing."""
    return "c" if LONG or "jit" not in subprocess.run([ingot, "targets", "--engines"], capture_output=True, text=True).stdout.split() else "jit"


def write(folder, name):
    """The shape's model and the data beside it; its path."""
    _, inputs, constants, dims, nodes, types = *SHAPES[name], *[{}][len(SHAPES[name]) - 5:]
    random = numpy.random.default_rng(7)
    for n, d in inputs.items():
        x = drawn(random, n, d, types)
        x[random.random(d) < 0.1] = -0.0
        numpy.save(os.path.join(folder, n + ".npy"), x)
    for n, d in constants.items():
        drawn(random, n, d, types).tofile(os.path.join(folder, n + ".bin"))
    model = os.path.join(folder, name + ".txt")
    with open(model, "w") as f:
        f.write(text_of(inputs, constants, dims, nodes, types))
    return model


def wrongs_of(ingot, folder, name, nvrtc):
    tile, inputs, constants, dims, nodes = SHAPES[name][:5]
    exact, math, stored = len(SHAPES[name]) > 5 and not re.search("Cast|DequantizeLinear", nodes), options_of(name), name.startswith(("stored", "codes"))
    model = write(folder, name)
    out = os.path.join(folder, name)
    done = subprocess.run([ingot, "build", model, "--target", "cuda", "--no-compile", "--name", "g", "-o", out, *math], capture_output=True, text=True)
    if done.returncode:
        yield done.stderr.strip()
        return
    text = open(os.path.join(out, "g.cu")).read()
    tiles, kernels = re.findall(r"tile ([^;]+?)(?:, 32 lanes)?;", re.sub(" lanes of (float|int)32", " lanes", text)), re.findall("__global__", text)
    if name.endswith("_parts") and ".parts" not in text:
        yield "its terms are not split"
    if name.endswith("_chain") and len(kernels) != (4 if "z" in constants else 3):
        yield "%d kernels: the first product stores what the second one multiplies; x needs one of its own, and a zero point's sums" % len(kernels)
    if stored and os.path.getsize(os.path.join(out, "g_weights.bin")) > 2.6 * numpy.prod(constants["w"]):
        yield "its weights are floats"
    if name == "one_row" and not re.search(r"if \(m >= 1\) .*\n\t+continue;", text):
        yield "warps without rows multiply"
    if tile and tile not in tiles:
        yield "no block of %s; tiles are %s" % (tile, tiles)
    if not exact and len(kernels) != (1 if nodes == ATTENTION else nodes.count("Conv") + nodes.count("MatMul") + nodes.count("Gemm") + (name == "winograd_run_time")):         # its filters are a kernel's
        yield "%d kernels" % len(kernels)
    told = subprocess.run([ingot, "show", model, "--target", "cuda", "--stage", "kernels", *math], capture_output=True, text=True).stdout
    if nodes != ATTENTION and tile.count(" x ") > 1 and not re.search(r"why +\d+ cycles of a multiprocessor by blocks, bound by .*; by warps alone \d+", told):
        yield "show does not say why"
    want, said = run(ingot, folder, model, inputs, by_whom(ingot), {})
    if want is None:
        yield said
        return
    in_orders = ("whole", "conv_5x5", "winograd_left", "attention_odd", "bytes_conv", "halves_conv", "groups_borders", "groups_conv")
    for order in by_turns(["forward", "backward"], in_orders.index(name), 1) + ["random"] if name in in_orders else ["random"]:
        got, said = run(ingot, folder, model, inputs, "cuda-emulated", {"INGOT_EMULATOR_ORDER": order, **({"INGOT_EMULATOR_RACES": "1"} if name in ("groups_borders", "groups_bytes") else {})}, *math)
        if got is None:
            yield "%s: %s" % (order, said)
        elif not same(got, want):
            yield "%s: %d of %d differ" % (order, (got.view(numpy.uint8) != want.view(numpy.uint8)).sum(), want.size)
    for architecture in [] if not nvrtc or not (LONG or exact or is_first(name)) else ["sm_90a"] if "sm_90a" in math else nvrtc.ARCHITECTURES[0 if LONG else len(name) % 2:][:2 if LONG else 1]:
        status, log, cubin = nvrtc.of_this.compile(text, name + ".cu", architecture)
        spills = {k: v for k, v in nvrtc.functions(log).items() if v.get("stores") or v.get("loads")}
        if status or spills or "warning" in log:
            yield "%s: %s" % (architecture, spills or log[:1000])
        elif exact and tile in tiles:
            yield from wrongs_of_fragments(nvrtc, log, cubin, tile, out, architecture, name)


def groups_come(name):
    """By TMA: of warpgroups whose factors are dense."""
    return name.startswith("groups_") and name not in ("groups_conv", "groups_odd")


def wrongs_of_fragments(nvrtc, log, cubin, tile, out, architecture, name):
    """Of the product: the loop that multiplies does by IMMA or HMMA, and loads a by LDSM; of 128 x 128 two blocks are an SM's, by registers and shared memory."""
    import sass
    launch = next(kernel for kernel in json.load(open(os.path.join(out, "g.json")))["kernels"] if kernel.get("tile") == tile and re.search("_(contraction|convolution)$", kernel["symbol"]))
    symbol, said = launch["symbol"], nvrtc.functions(log)[launch["symbol"]]
    registers, shared = -(-said["registers"] // 8) * 8 * launch["threads"], said["shared"] + launch["shared_bytes"] + 1024
    if tile == "128 x 128 x 16" and (2 * registers > 65536 or 2 * shared > 164 << 10):
        yield "%s: %d registers, %d bytes: one block an SM" % (architecture, registers, shared)
    if sass.program():
        listing = sass.kernels(cubin)[symbol]
        words = {sass.kind(one) for one in listing}
        if groups_come(name) != ("UTMALDG" in words and "LDGSTS" not in words):
            yield "its factors come by %s" % sorted(words & {"UTMALDG", "LDGSTS"})
        mma = next(word for word in ("HGMMA", "IGMMA", "IMMA", "HMMA") if word in words)
        groups = mma in ("HGMMA", "IGMMA")
        words_of = lambda span: [sass.kind(one) for one in listing[span[0]:span[1] + 1]]
        span = max(sass.innermost([span for span in sass.spans(listing) if mma in words_of(span)]), key=lambda span: words_of(span).count(mma), default=(0, -1))
        words, inside = words_of(span), any(one != span and span[0] <= one[0] and one[1] <= span[1] for one in sass.spans(listing))
        rows, columns, terms = map(int, tile.split(" x "))
        wanted = terms / 8 if groups else rows * columns * terms / (16 * 8 * 8) / (launch["threads"] / 32)
        if words.count(mma) != wanted or not groups and "LDSM" not in words or {"LDL", "STL"} & set(words):
            yield "%s: %d %s in the loop, %d LDSM" % (architecture, words.count(mma), mma, words.count("LDSM"))
        elif "LDGSTS" in words and not inside and not groups and words.count("BRA") > 1:
            yield "%s: a branch stands around what is copied next, so that nothing of it goes among what multiplies" % architecture


# In the templates: (what, text, another)
FAULTS = [("columns of b", "LANE % 4 + 4) + LANE / 4)", "LANE % 4 + 4) + LANE % 8)"), ("dwords of b", "(row) * (LANE % 4 + 4)", "(row) * (LANE % 4)"), ("rows of a", "(LANE % 16) + 4 * (LANE / 16)", "(LANE / 2) + 4 * (LANE % 2)"),
          ("rows of sums", "2 * (LANE % 4), 8 * (row))", "2 * (LANE % 4), 4 * (row))"), ("columns of sums", "matrix_pair(p, c[0], c[1])", "matrix_pair(p, c[1], c[0])")]

# Of warpgroups: what fails, or gives other sums.  Their factors come by copies, or by boxes.
COPY_FAULTS = [("no fence for copies", "proxy_fence() emulator_proxy_fence()", "proxy_fence()"), ("another swizzle", ">> 3 & 28", ">> 3 & 24")]
GROUP_FAULTS = [("no fence for registers", "group_begin() emulator_wgmma_fence()", "group_begin()"),
                ("no wait", "group_wait(n) emulator_wgmma_wait(n)", "group_wait(n)"), ("a wait too late", "emulator_wgmma_wait(n)", "emulator_wgmma_wait(2 * (n))"),
                ("no commit", "group_commit() emulator_wgmma_commit()", "group_commit()"), ("eight rows apart", "(uint64_t)64 << 32", "(uint64_t)32 << 32"),
                ("type of sums", "k16.f32.f16.f16", "k16.f32.bf16.bf16"), ("columns of sums", "matrix_pair(p, c[0], c[1])", "matrix_pair(p, c[1], c[0])")]
FULL, INIT, EMPTY = "mbarrier_wait(full + (unsigned)chunk % {{ block.stages }}, ", "mbarrier_init(empty + i, {{ block.warps }})", "mbarrier_arrive(empty + (unsigned)(chunk - 1)"
BOX_FAULTS = [("no wait for boxes", FULL, "(void)(0, "), ("another phase of what is full", FULL, FULL + "1 ^ "), ("another phase of what is empty", "& 1) ^ 1)", "& 1))"),
              ("few bytes", "{{ 4 * block.stage }})", "{{ 4 * block.stage }} - 16)"), ("many bytes", "{{ 4 * block.stage }})", "{{ 4 * block.stage }} + 16)"),
              ("given back early", EMPTY, "mbarrier_arrive(empty + (unsigned)chunk"), ("not given back", EMPTY, "if (chunk < 1) " + EMPTY), ("given back twice", EMPTY, "mbarrier_arrive(empty + (unsigned)(chunk - 1) % {{ block.stages }}), " + EMPTY),
              ("by fewer warps", INIT, INIT[:-1] + " / 2)"), ("no fence behind barriers", "\t\tmbarrier_fence();\n", ""), ("no meeting behind barriers", "\tblock_barrier();\n\tif (threadIdx.y == {{ block.warps }})", "\tif (threadIdx.y == {{ block.warps }})"),
              ("no meeting in front of sums", "warps_meet(%s)", "(void)%s"), ("rows of a", "{{ boxes[0].row }} + m0", "{{ boxes[0].row }} + m0 + 1"), ("terms", "{{ boxes[1].term }}", "{{ boxes[1].term }} + 1")]
OF_GROUPS = {"groups_conv": COPY_FAULTS, "groups_borders": GROUP_FAULTS, "groups_bytes": BOX_FAULTS}        # the last has two groups of warps

KINDS = {"bf16": "m16n8k16.row.col.f32.bf16.bf16.f32", "f16": "m16n8k16.row.col.f32.f16.f16.f32", "tf32": "m16n8k8.row.col.f32.tf32.tf32.f32"}


def wrongs_planted(ingot, folder, name):
    """Fragments that lie elsewhere, or are of another type, are seen by the bits, and rows that are not swizzled by the counts."""
    from conflicts import counted
    model, inputs, math = write(folder, name), SHAPES[name][1], options_of(name)
    want, _ = run(ingot, folder, model, inputs, by_whom(ingot), {})
    planted, counts, texts = os.path.join(folder, "planted"), os.path.join(folder, "counts"), {}
    for part in "cuda/prelude.jinja", "cuda/contraction.jinja", "common/contraction.jinja":
        with open(os.path.join(os.path.dirname(os.path.dirname(HERE)), "templates", part)) as f:
            texts[part] = f.read()
    for what, before, after in by_turns(OF_GROUPS[name], int(os.environ.get("INGOT_SEED", "1")), 6) if "sm_90a" in math else FAULTS[:1] + [("type of fragments", KINDS[math[1]], KINDS["bf16"])] if math else FAULTS + [("no swizzle", ">> 3 & 28", ">> 3 & 0")]:
        if sum(text.count(before) for text in texts.values()) != 1:
            yield "the text of a fault: %s" % what
        for part, text in texts.items():
            os.makedirs(os.path.dirname(os.path.join(planted, part)), exist_ok=True)
            with open(os.path.join(planted, part), "w") as f:
                f.write(text.replace(before, after))
        watched = {"INGOT_EMULATOR_RACES": "1"} if (what, before, after) in BOX_FAULTS else {}
        got, said = run(ingot, folder, model, inputs, "cuda-emulated", {"INGOT_EMULATOR_COUNTS": counts} if what == "no swizzle" else {"INGOT_EMULATOR_ORDER": "random", **watched} if "sm_90a" in math else {}, "--templates", planted, *math)
        if "sm_90a" in math and got is None and re.search("fence|waited|no one|race|mbarrier|deadlock", said):
            continue
        if got is None or (not same(got, want)) != (what != "no swizzle") or (what == "no swizzle" and not counted(counts)[0]):
            yield "planted, and not seen: %s %s" % (what, said)


def wrongs_by_arch(ingot, folder):
    """Tiles are for the architecture in the middle of --arch, and one text serves all."""
    model, text = write(folder, "whole"), {}
    show = lambda *more: subprocess.run([ingot, "show", model, "--stage", "kernels", *more], capture_output=True, text=True)
    for archs in "", "sm_90", "sm_80,sm_90,sm_100", "sm_80", "sm_75,sm_80,sm_120a":
        out = os.path.join(folder, "by_arch")
        subprocess.run([ingot, "build", model, "--target", "cuda", "--no-compile", "--name", "g", "-o", out, *(["--arch", archs] if archs else [])], check=True, stdout=subprocess.PIPE)
        with open(os.path.join(out, "g.cu")) as f:
            text[archs] = f.read()
        shutil.rmtree(out)
    if text[""] != text["sm_90"] or text[""] != text["sm_80,sm_90,sm_100"] or text["sm_80"] != text["sm_75,sm_80,sm_120a"] or text["sm_80"] == text["sm_90"]:
        yield "--arch: tiles are not those of the one in the middle"
    for archs, example in ("sm_80", "A100"), ("sm_87", "A40"), ("sm_100a", "B200"), ("sm_121", "RTX 5090"):
        said = show("--target", "cuda", "--arch", archs).stdout
        if not re.search(r"why +.* by warps alone \d+ \(%s\)" % example, said):
            yield "--arch %s: not reckoned for %s" % (archs, example)
    refused = show("--arch", "sm_80")
    if refused.returncode != 2 or "--arch is for --target cuda" not in refused.stderr:
        yield "--arch without --target cuda: %s" % refused.stderr


def main():
    ingot = sys.argv[1]
    if not shutil.which(os.environ.get("CXX", "g++")):
        print("skipped: no C++ compiler")
        return 77
    import nvrtc
    dll, wrong = nvrtc.library(), 0
    nvrtc.of_this = dll and nvrtc.Nvrtc(dll)
    if not dll:
        print("without NVRTC: spills are not looked for")
    def said(name):
        own = os.path.join(folder, name + ".case")
        os.makedirs(own)
        more = wrongs_by_arch(ingot, own) if name == "whole" else wrongs_planted(ingot, own, name) if name in PLANTED else []
        return name, [*wrongs_of(ingot, own, name, nvrtc if dll else None), *more]
    with tempfile.TemporaryDirectory(prefix="shapes.") as folder, concurrent.futures.ThreadPoolExecutor(2) as two:
        for name, wrongs in two.map(said, sys.argv[2:] or [one for one in SHAPES if LONG or one not in LONG_ALONE]):
            wrong += len(wrongs)
            print("%-16s %s" % (name, "; ".join(wrongs) or "right"), flush=True)
    print("%d wrong" % wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
