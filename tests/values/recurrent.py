#!/usr/bin/env python3
"""recurrent.py INGOT [SEED]: LSTM, GRU and RNN of sequences whose steps, and batch, a call or data say: each ends where its steps do; on every target, beside onnxruntime;
equal bits.  77 where onnxruntime is not there."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from judged import drawn, judged
from told import expect, finish
import numpy as np

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
ALL = HEAD + """all (float[S,B,3] x, float[1,B,4] h, int32[B] lens) => (l, lh, lc, g, gh, r, e, eh, z)
<float[2,16,3] lw = {%s}, float[2,16,4] lr = {%s}, float[2,32] lb = {%s}, float[1,12,3] gw = {%s}, float[1,12,4] gr = {%s}, float[1,4,8] rw = {%s}, float[1,4,4] rr = {%s}>
{
	l, lh, lc = LSTM <hidden_size = 4, direction = "bidirectional"> (x, lw, lr, lb)
	g, gh = GRU <hidden_size = 4, direction = "reverse"> (x, gw, gr, , , h)
	flat = Reshape (l, joined)
	r = RNN <hidden_size = 4> (flat, rw, rr)
	e, eh = GRU <hidden_size = 4> (x, gw, gr, , lens)
	n = Softmax <axis = 0> (r)
	z = ReduceSum <keepdims = 0> (n, zero)
	joined = Constant <value_ints = [0, 0, 8]> ()
	zero = Constant <value_ints = [0]> ()
}
"""
# Two directions side by side, as [steps, batch, 2 x hidden].
ALL = ALL.replace("flat = Reshape (l, joined)", "lt = Transpose <perm = [0,2,1,3]> (l)\n\tflat = Reshape (lt, joined)")
CHOSEN = HEAD + """chosen (float[9,1,3] x, bool[9] keep) => (y, last)
<float[1,16,3] w = {%s}, float[1,16,4] r = {%s}>
{
	few = Compress <axis = 0> (x, keep)
	y, last = LSTM <hidden_size = 4, direction = "reverse"> (few, w, r)
}
"""


with tempfile.TemporaryDirectory(prefix="test-recurrent.") as folder:
    os.chdir(folder)
    random, bits = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1"))), {}
    texts = {"all": drawn(random, ALL), "chosen": drawn(random, CHOSEN)}
    for name, text in texts.items():
        open(name + ".onnxtxt", "w").write(text)
    cases = []
    for s, b in ((5, 2), (1, 1), (7, 3)):
        cases.append(({"x": random.standard_normal((s, b, 3), np.float32), "h": random.standard_normal((1, b, 4), np.float32), "lens": random.integers(1, s + 1, b).astype("i4")},
                      {"x": random.standard_normal((9, 1, 3), np.float32), "keep": np.arange(9) % 4 < s % 4 + (s > 5)}))
    for target in ("interpreter", "jit", "c", "cuda-emulated"):
        wrong = []
        for i, (given, chosen) in enumerate(cases if target in ("interpreter", "jit") else cases[:1]):
            judged(wrong, bits, i, "all.onnxtxt", texts["all"], given, target, "--dim", "S=1..7", "--dim", "B=1..3", atol=1e-5)
            judged(wrong, bits, ("chosen", i), "chosen.onnxtxt", texts["chosen"], chosen, target, atol=1e-5)
        expect("sequences by " + target, not wrong, "; ".join(wrong))
finish()
