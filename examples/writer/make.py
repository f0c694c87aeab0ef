#!/usr/bin/env python3
"""Makes up little stories, trains a language model on their words, and writes writer.onnxtxt and writer.bin.

usage: make.py [DIR]            (default: this folder)

The model is a transformer of two layers, whose attention counts distances instead of places (ALiBi), so it may write on
for ever.  It is trained on whole windows; the graph that is written takes one word a call and keeps keys and values
of the last WINDOW words as its state.  Numpy alone; the same bytes on every machine (exact.py).
"""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import exact
import seeded

HOW, WHO = "old red small wise shy".split(), "fox owl cat bear crow mole hare".split()
DID, WHAT = "saw found took lost".split(), "nut fish hat key leaf ring".split()
WHERE = ["in the woods", "by the river", "on the hill"]
THEN = ["then the {how} {who} went home .", "the {who} hid the {what} there .", "no one else saw the {what} .",
        "the {what} was not there the next day .", "all the others ran after the {how} {who} ."]
WORDS = list(dict.fromkeys(". / the a".split() + HOW + WHO + DID + WHAT + " ".join(WHERE + THEN).replace("{", "|").replace("}", "|").split()))
WORDS = [word for word in WORDS if "|" not in word]         # / ends a story
WIDTH, HEADS, LAYERS, WINDOW, WIDE = 32, 4, 2, 32, 64
BATCH, STEPS, RATE = 16, 400, 8e-3
SLOPES = np.array([0.5, 0.125, 0.03125, 0.0])       # of each head: how much less a word counts, the farther it is


def stories(count):
	"""count stories: who and what are first seen are who and what it is about to its end."""
	text = []
	for u in seeded.uniform("stories", 7 * count).reshape(count, 7):
		def pick(n, words):
			return words[int(u[n] * len(words))]
		how, who, what, first = pick(0, HOW), pick(1, WHO), pick(3, WHAT), int(u[5] * len(THEN))
		text.append(f"the {how} {who} {pick(2, DID)} a {what} {pick(4, WHERE)} .")
		text += [THEN[i].format(how=how, who=who, what=what) for i in (first, (first + 1 + int(u[6] * (len(THEN) - 1))) % len(THEN))] + ["/"]
	return " ".join(text).split()


# ---- one word of it, as ONNX ----

STATE = "int64[1] time" + "".join(f", float[{HEADS},{WINDOW},{WIDTH // HEADS}] {kind}{n}" for n in range(LAYERS) for kind in ("keys", "values"))

MODEL = f"""<ir_version: 8, opset_import: ["" : 17], doc_string: "The chances of each word to be the next; heat below 1 prefers likely ones.">
writer (int64[1] word, float[1] heat, {STATE}) =>
	(float[1,{len(WORDS)}] chances, {STATE.replace("time", "time_next").replace("keys", "next_keys").replace("values", "next_values")})
<
@weights@,
	int64[{WINDOW}] slots = {{{", ".join(map(str, range(WINDOW)))}}},
	float[{HEADS},1,1] slopes = {{{", ".join(str(-slope) for slope in SLOPES)}}},
	int64[1] window = {{{WINDOW}}}, int64[1] one = {{1}},
	int64[2] column = {{{WINDOW}, 1}}, int64[2] row = {{1, {WIDTH}}}, int64[3] split = {{{HEADS}, 1, {WIDTH // HEADS}}},
	float scale = {{{float(1 / np.sqrt(WIDTH // HEADS))}}}, float small = {{0.00001}}, float never = {{-10000}}
>
{{
	time_next = Add (time, one)
	slot = Mod (time, window)
	here_row = Equal (slots, slot)
	here = Reshape (here_row, column)
	back = Sub (slot, slots)
	far = Mod (back, window)
	known = LessOrEqual (far, time)
	far_float = Cast <to = 1> (far)
	lessened = Mul (slopes, far_float)
	bias = Where (known, lessened, never)
	x0 = Gather (words, word)
@layers@
@last@
	logits = MatMul (seen{LAYERS}, answer)
	cooled = Div (logits, heat)
	chances = Softmax <axis = -1> (cooled)
}}
"""
NORM = """	square@ = Mul (IN, IN)
	mean@ = ReduceMean <axes = [-1]> (square@)
	above@ = Add (mean@, small)
	root@ = Sqrt (above@)
	even@ = Div (IN, root@)
	OUT = Mul (even@, SCALE)"""
LAYER = """	query_flat@ = MatMul (seen@, query@)
	query_heads@ = Reshape (query_flat@, split)
	key_flat@ = MatMul (seen@, key@)
	key_heads@ = Reshape (key_flat@, split)
	value_flat@ = MatMul (seen@, value@)
	value_heads@ = Reshape (value_flat@, split)
	next_keys@ = Where (here, key_heads@, keys@)
	next_values@ = Where (here, value_heads@, values@)
	keys_turned@ = Transpose <perm = [0, 2, 1]> (next_keys@)
	alike@ = MatMul (query_heads@, keys_turned@)
	scaled@ = Mul (alike@, scale)
	scores@ = Add (scaled@, bias)
	share@ = Softmax <axis = -1> (scores@)
	told_heads@ = MatMul (share@, next_values@)
	told@ = Reshape (told_heads@, row)
	joined@ = MatMul (told@, join@)
	middle@ = Add (x@, joined@)
@norm@
	wide@ = MatMul (thought@, widen@)
	wide_on@ = Relu (wide@)
	narrowed@ = MatMul (wide_on@, narrow@)
	x+ = Add (middle@, narrowed@)"""


def model():
	"""MODEL with its layers."""
	def norm(mark, x, out, scale):
		return NORM.replace("@", mark).replace("IN", x).replace("OUT", out).replace("SCALE", scale)
	layers = []
	for n in range(LAYERS):
		inner = norm(f"_far{n}", f"middle{n}", f"thought{n}", f"far{n}")
		layers += [norm(f"_near{n}", f"x{n}", f"seen{n}", f"near{n}"),
		           LAYER.replace("@norm@", inner).replace("@", str(n)).replace("x+", f"x{n + 1}")]
	return MODEL.replace("@layers@", "\n".join(layers)).replace("@last@", norm("_last", f"x{LAYERS}", f"seen{LAYERS}", "last"))


# ---- the network: each step returns its value and what leads back ----

def norm(x, scale):
	r = 1 / np.sqrt(exact.total(x * x, -1, True) / x.shape[-1] + 1e-5)
	return x * r * scale, (x, r, scale)


def norm_back(d, kept):
	x, r, scale = kept
	g = d * scale
	return r * g - x * (r * r * r) * exact.total(g * x, -1, True) / x.shape[-1], exact.total(d * x * r, (0, 1))


def heads(x):
	return x.reshape(*x.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)


def joined(x):
	return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def turned(x):
	return np.swapaxes(x, -1, -2)


def rows(x):
	return x.reshape(-1, x.shape[-1])


def layer(p, n, x, bias):
	seen, kept_seen = norm(x, p[f"near{n}"])
	q, k, v = (heads(exact.product(seen, p[f"{name}{n}"])) for name in ("query", "key", "value"))
	scores = exact.product(q, turned(k)) / np.sqrt(WIDTH // HEADS) + bias
	e = exact.exp(scores - scores.max(-1, keepdims=True))
	share = e / exact.total(e, -1, True)
	told = joined(exact.product(share, v))
	x = x + exact.product(told, p[f"join{n}"])
	thought, kept_thought = norm(x, p[f"far{n}"])
	wide = np.maximum(exact.product(thought, p[f"widen{n}"]), 0)
	return x + exact.product(wide, p[f"narrow{n}"]), (seen, kept_seen, q, k, v, share, told, thought, kept_thought, wide)


def layer_back(p, n, d, kept, g):
	seen, kept_seen, q, k, v, share, told, thought, kept_thought, wide = kept
	g[f"narrow{n}"] = exact.product(rows(wide).T, rows(d))
	dw = exact.product(d, p[f"narrow{n}"].T) * (wide > 0)
	g[f"widen{n}"] = exact.product(rows(thought).T, rows(dw))
	back, g[f"far{n}"] = norm_back(exact.product(dw, p[f"widen{n}"].T), kept_thought)
	d = d + back
	g[f"join{n}"] = exact.product(rows(told).T, rows(d))
	dt = heads(exact.product(d, p[f"join{n}"].T))
	ds = exact.product(dt, turned(v))
	ds = share * (ds - exact.total(ds * share, -1, True)) / np.sqrt(WIDTH // HEADS)
	parts = {"query": joined(exact.product(ds, k)), "key": joined(exact.product(turned(ds), q)), "value": joined(exact.product(turned(share), dt))}
	back = 0
	for name, part in parts.items():
		g[f"{name}{n}"] = exact.product(rows(seen).T, rows(part))
		back = back + exact.product(part, p[f"{name}{n}"].T)
	back, g[f"near{n}"] = norm_back(back, kept_seen)
	return d + back


def forward(p, text):
	"""The chances of what follows each word; text [batch, words]."""
	far = np.arange(text.shape[1])[:, None] - np.arange(text.shape[1])
	bias = np.where(far >= 0, -SLOPES[:, None, None] * far, -1e4)
	x, kept = p["words"][text], []
	for n in range(LAYERS):
		x, back = layer(p, n, x, bias)
		kept.append(back)
	last, kept_last = norm(x, p["last"])
	logits = exact.product(last, p["answer"])
	e = exact.exp(logits - logits.max(-1, keepdims=True))
	return e / exact.total(e, -1, True), (kept, last, kept_last)


def gradients(p, text):
	"""The loss in bits a word, and the gradients; text [batch, words + 1]."""
	d, (kept, last, kept_last) = forward(p, text[:, :-1])
	g, wanted = {}, np.eye(len(WORDS))[text[:, 1:]]
	loss = -np.log2((d * wanted).sum(-1) + 1e-12).mean()
	d = (d - wanted) / wanted[..., 0].size
	g["answer"] = exact.product(rows(last).T, rows(d))
	d, g["last"] = norm_back(exact.product(d, p["answer"].T), kept_last)
	for n in reversed(range(LAYERS)):
		d = layer_back(p, n, d, kept[n], g)
	g["words"] = exact.product(rows(np.eye(len(WORDS))[text[:, :-1]]).T, rows(d))
	return loss, g


def train():
	text = np.array([WORDS.index(word) for word in stories(8000)])
	p = {"words": exact.normal("words", (len(WORDS), WIDTH), 0.5)}
	for n in range(LAYERS):
		p |= {f"near{n}": np.ones(WIDTH), f"far{n}": np.ones(WIDTH)}
		p |= {f"{name}{n}": exact.normal(f"{name}{n}", (WIDTH, WIDTH), 1 / np.sqrt(WIDTH)) for name in ("query", "key", "value", "join")}
		p |= {f"widen{n}": exact.normal(f"widen{n}", (WIDTH, WIDE), 1 / np.sqrt(WIDTH)), f"narrow{n}": exact.normal(f"narrow{n}", (WIDE, WIDTH), 1 / np.sqrt(WIDE))}
	p |= {"last": np.ones(WIDTH), "answer": exact.normal("answer", (WIDTH, len(WORDS)), 1 / np.sqrt(WIDTH))}
	adam = exact.Adam(p)
	for step in range(STEPS):
		places = (seeded.uniform(f"step{step}", BATCH) * (len(text) - WINDOW - 1)).astype(int)
		loss, g = gradients(p, text[places[:, None] + np.arange(WINDOW + 1)])
		adam.step(p, g, RATE * min(1, (step + 1) / 20) * (1 - step / STEPS) + 1e-5)
		if step % 50 == 49:
			print(f"step {step + 1}: {loss:.3f} bits a word", flush=True)
	return p


def main():
	folder = sys.argv[1] if len(sys.argv) == 2 else HERE
	if len(sys.argv) > 2 or folder.startswith("-"):
		sys.exit(__doc__.split("\n\n")[1])
	exact.write(folder, "writer", model(), train())


if __name__ == "__main__":
	main()
