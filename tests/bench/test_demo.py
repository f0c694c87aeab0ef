#!/usr/bin/env python3
"""examples/digits from model to program, as ./demo does it, for several CPUs: every library tells the digit, and within
the tolerance of io.json the scores are onnxruntime's.

usage: test_demo.py INGOT
Needs numpy; exit 77 (skipped) without.
"""
import json
import os
import subprocess
import sys
import tempfile

try:
	import numpy as np
except ImportError:
	print("skipped: no Python module numpy")
	sys.exit(77)

ingot = sys.argv[1]
DIGITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "digits")
with open(os.path.join(DIGITS, "io.json")) as f:
	allowed = json.load(f)["outputs"][0]["atol"] + 0.5e-4       # main.c prints four places
want = np.load(os.path.join(DIGITS, "out_0.npy"))[0]
failures, printed = 0, {}
with tempfile.TemporaryDirectory(prefix="test-demo.") as work:
	for options in (["--cpu", "native"], [], ["--cpu", "generic"], ["--cpu", "native", "--optimise", "size"]):
		out = os.path.join(work, "digits" + "".join(options))
		program = os.path.join(out, "program")
		steps = (
			[ingot, "build", os.path.join(DIGITS, "digits.onnx"), "--name", "digits", "-o", out, *options],
			[os.environ.get("CC", "cc"), "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I" + out,
			 os.path.join(DIGITS, "main.c"),
			 os.path.join(out, "libdigits.a"), "-o", program],
			[program],
		)
		for step in steps:
			done = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
			if done.returncode:
				break
		lines = [line.split() for line in done.stdout.splitlines()]
		scores = [float(words[1]) for words in lines if len(words) > 1 and words[0].isdigit()]
		good = done.returncode == 0 and "It is a 3." in done.stdout and len(scores) == 10
		good = good and np.abs(scores - want).max() <= allowed
		failures += not good
		print("ok    " if good else "FAILED", " ".join(options) or "the default CPU")
		print("" if good else done.stdout, end="")
print(f"{failures} failed")
sys.exit(failures > 0)
