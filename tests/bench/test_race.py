#!/usr/bin/env python3
"""Drives bench/race with a program that stands in for ingot (miniature/), and looks at its exit codes and its JSON.

No figure is judged, only what is done with it.  Needs numpy, onnx, onnxruntime and openvino; exit 77 (skipped) without.
"""
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
missing = [m for m in ("numpy", "onnx", "onnxruntime", "openvino") if importlib.util.find_spec(m) is None]
if missing:
	print("skipped: no Python module " + ", ".join(missing))
	sys.exit(77)

import onnx
import onnx.parser

sys.path.insert(0, os.path.join(ROOT, "examples"))
sys.dont_write_bytecode = True
import seeded

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
affine (float[1,4096] x) => (float[1,4096] y) <float two = {2.0}, float one = {1.0}>
{ product = Mul (x, two)  sum = Add (product, one)  y = Relu (sum) }
"""
STRANGE = """<ir_version: 8, opset_import: ["" : 17, "nowhere" : 1]>
strange (float[1,4096] x) => (float[1,4096] y) { y = nowhere.Strange (x) }
"""


def write_case(folder, text):
	os.makedirs(folder)
	model = onnx.parser.parse_model(text)
	onnx.save(model, os.path.join(folder, "model.onnx"))
	x = seeded.tensor("x", [1, 4096], -2, 2)
	seeded.write_case(folder, {"x": x}, {"y": (2 * x + 1).clip(0)}, "numpy")


def race(*words, mode="right", program=os.path.join(HERE, "miniature", "ingot")):
	path = os.path.join(work, "race.json")
	if os.path.exists(path):
		os.remove(path)
	environment = {**os.environ, "INGOT": program, "MINIATURE": mode, "INGOT_PYTHON": sys.executable,
	               "INGOT_BENCH_CACHE": os.path.join(work, "cache")}
	command = [sys.executable, os.path.join(ROOT, "bench", "race"), *words]
	done = subprocess.run(command, env=environment, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
	                      text=True)
	print(f"{mode}: race {' '.join(words)}: exit {done.returncode}")
	print(done.stdout)
	written = None
	if os.path.exists(path):
		with open(path) as f:
			written = json.load(f)
	return done.returncode, done.stdout, written


def expect(what, good):
	global failures
	if not good:
		failures += 1
		print(f"FAILED: {what}")


failures = 0
with tempfile.TemporaryDirectory(prefix="test-race.") as work:
	write_case(os.path.join(work, "cases", "affine"), MODEL)
	write_case(os.path.join(work, "strange", "strange"), STRANGE)
	os.makedirs(os.path.join(work, "empty"))
	quick = ("cases", "--rounds", "6", "--json", "race.json")

	code, said, found = race(*quick)
	expect("a right library is exit 0", code == 0 and found)
	if found:
		row = found["networks"][0]
		expect("one network, by name", len(found["networks"]) == 1 and row["name"] == "affine")
		for engine in ("ingot", "onnxruntime", "openvino"):
			low, high = row[engine]["spread"]
			expect(f"{engine}: quartiles about its median", 0 < low <= row[engine]["median"] <= high)
		fastest = min(row["onnxruntime"]["median"], row["openvino"]["median"])
		expect("ratio = ingot / the faster peer", math.isclose(row["ratio"], row["ingot"]["median"] / fastest))
		expect("geomean of one", math.isclose(found["geomean"], row["ratio"]))
		expect("limits measured", row["limits"]["gflops"] > 0 and row["limits"]["bytes_us"] > 0)
		expect("the manifest is read", row["kernels"] == 1 and row["workspace_bytes"] == 16384)

	code, said, found = race(*quick, mode="wrong")
	row = found and found["networks"][0]
	expect("a wrong output is exit 1", code == 1)
	expect("it is told, and counts for no ratio", row
	       and row["ingot"]["problem"].startswith("wrong output: y is off by 1")
	       and row["ratio"] is None and found["geomean"] is None)
	expect("the peers have their times all the same", row and row["openvino"]["median"] > 0)
	for mode, word in (("crash", "crashed"), ("status", "it returned 3"), ("unsupported", "exit 4"),
	                   ("foreign", "does not fit")):
		code, said, found = race(*quick, mode=mode)
		row = found and found["networks"][0]
		expect(f"{mode}: exit 1 and {word!r}", code == 1 and row and word in row["ingot"]["problem"])
		expect(f"{mode}: the peers have their times", row and row["onnxruntime"]["median"] > 0
		       and row["openvino"]["median"] > 0)

	if len(os.sched_getaffinity(0)) > 1:
		code, said, found = race(*quick, "--threads", "2", mode="pooled")
		row = found and found["networks"][0]
		expect("two threads: exit 0, peers at one and two, ingot with a parallel-for",
		       code == 0 and row and all(row[e]["median"] > 0 for e in ("ingot", "ingot-1", "onnxruntime",
		                                                                "onnxruntime-1",
		                                                                "openvino", "openvino-1")))

	code, said, found = race("strange", "--rounds", "6", "--json", "race.json")
	expect("a peer that does not load is exit 5", code == 5 and "problem" in found["networks"][0]["onnxruntime"])
	expect("no program is exit 5", race("cases", program="no-such-program")[0] == 5)
	short = os.path.join(work, "short")
	os.makedirs(short)
	with open(os.path.join(short, "CMakeCache.txt"), "w") as f:
		f.write("INGOT_MENU_FLAGS:STRING=-Og\n")
	os.symlink(os.path.join(HERE, "miniature", "ingot"), os.path.join(short, "ingot"))
	code, said, found = race(*quick, program=os.path.join(short, "ingot"))
	expect("what ./check built is exit 5", code == 5 and "-DINGOT_MENU_FLAGS= && cmake --build" in said and not found)
	expect("no folder is exit 2", race("nowhere")[0] == 2)
	expect("no case in a folder is exit 2", race("empty")[0] == 2)
	expect("three threads are exit 2", race("cases", "--threads", "3")[0] == 2)
	expect("an unknown option is exit 2", race("cases", "--fast")[0] == 2)

print(f"{failures} failed")
sys.exit(failures > 0)
