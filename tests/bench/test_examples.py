#!/usr/bin/env python3
"""The examples by themselves, without ingot: their models give their references, and main.c reads drawings as it says.

usage: test_examples.py DIGITS_PROGRAM      (examples/digits/main.c with digits/digits.h)
Needs numpy, onnx and onnxruntime; exit 77 (skipped) without.
"""
import filecmp
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXAMPLES = os.path.join(ROOT, "examples")
missing = [m for m in ("numpy", "onnx", "onnxruntime") if importlib.util.find_spec(m) is None]
if missing:
	print("skipped: no Python module " + ", ".join(missing))
	sys.exit(77)

import numpy as np
import onnx

sys.dont_write_bytecode = True
sys.path[:0] = [EXAMPLES, os.path.join(EXAMPLES, "digits")]
import make
import seeded

failures = 0


def expect(what, good):
	global failures
	failures += not good
	print("ok    " if good else "FAILED", what)


def draws(program, text):
	"""(exit code, the guess, the scores) for a drawing; None: the one built in."""
	with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
		f.write(text or "")
		f.flush()
		done = subprocess.run([program, *([f.name] if text is not None else [])], stdout=subprocess.PIPE,
		                      stderr=subprocess.PIPE, text=True)
	lines = done.stdout.splitlines()
	scores = [float(line.split()[1]) for line in lines if line[:3].strip().isdigit() and line[1:3] == "  "]
	guess = int(done.stdout.split("It is a ")[1][0]) if "It is a " in done.stdout else None
	return done.returncode, guess, scores


program = sys.argv[1]
folder = os.path.join(EXAMPLES, "digits")
with open(os.path.join(folder, "io.json")) as f:
	io = json.load(f)
image, want = np.load(os.path.join(folder, "in_0.npy")), np.load(os.path.join(folder, "out_0.npy"))
model = os.path.join(folder, "digits.onnx")
got = seeded.reference(model, {"image": image})[0]["scores"]
expect("digits.onnx gives its reference", np.abs(got - want).max() <= io["outputs"][0]["atol"])
expect("under 200 KB", os.path.getsize(model) < 200000)
expect("digit.txt is in_0.npy, and a 3", np.array_equal(make.picture(os.path.join(folder, "digit.txt")), image)
       and want.argmax() == 3)
images, answers = make.digits(1000, np.random.default_rng(99))
share = np.mean([seeded.reference(model, {"image": x[None, None, ..., 0]})[0]["scores"].argmax() == y
                 for x, y in zip(images[:100], answers[:100])])
expect(f"digits never seen before: {share:.0%} right", share > 0.95)

with open(os.path.join(folder, "digit.txt")) as f:
	built_in = draws(program, f.read())
expect("the drawing in main.c is digit.txt", draws(program, None) == built_in and built_in[0] == 0)
ink = [float(image[0, 0, 2 * i + 4:2 * i + 6].sum() / 56) for i in range(10)]
expect("main.c paints it as make.py does", np.allclose(built_in[2], ink, atol=1e-4))
expect("28 lines of 28 fit", draws(program, ("#" * 28 + "\n") * 28)[0] == 0)
expect("29 lines are exit 2", draws(program, "#\n" * 29)[0] == 2)
expect("29 columns are exit 2", draws(program, "#" * 29)[0] == 2)
expect("a comment is no line", draws(program, "; note\n" * 40 + "#\n")[0] == 0)
expect("nothing drawn is exit 0", draws(program, "")[0] == 0)
expect("no such file is exit 2", subprocess.run([program, "nowhere.txt"], stderr=subprocess.DEVNULL).returncode == 2)

with tempfile.TemporaryDirectory(prefix="test-examples.") as work:
	script = os.path.join(EXAMPLES, "transformer", "make.py")
	made = [os.path.join(work, name) for name in ("first", "second")]
	for place in made:
		subprocess.run([sys.executable, script, place], check=True)
	same = [n for n in os.listdir(made[0])
	        if filecmp.cmp(os.path.join(made[0], n), os.path.join(made[1], n), shallow=False)]
	expect("the transformer is made alike twice", sorted(same) == sorted(os.listdir(made[1])) and len(same) == 6)
	# The text names its weights as external data: with weights.bin beside it, it is the whole model.
	text = onnx.parser.parse_model(open(os.path.join(made[0], "transformer.onnxtxt")).read())
	onnx.save(text, os.path.join(made[0], "text.onnx"))
	x = np.load(os.path.join(made[0], "in_0.npy"))
	y = seeded.reference(os.path.join(made[0], "text.onnx"), {"x": x})[0]["y"]
	stored = np.load(os.path.join(made[0], "out_0.npy"))
	expect("transformer.onnxtxt with weights.bin is model.onnx", np.array_equal(y, stored))

print(f"{failures} failed")
sys.exit(failures > 0)
