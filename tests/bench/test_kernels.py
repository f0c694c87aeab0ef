#!/usr/bin/env python3
"""Drives bench/kernels, bench/memory and bench/limits without ingot: every peer must run and be right.

Needs numpy, onnx, onnxruntime, openvino, and for the kernels libdnnl-dev; exit 77 (skipped) without.
"""
import importlib.util
import json
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

failures = 0


def expect(what, good):
	global failures
	failures += not good
	print("ok    " if good else "FAILED", what)


def bench(name, *words):
	command = [sys.executable, os.path.join(ROOT, "bench", name), *words]
	environment = {**os.environ, "INGOT_PYTHON": sys.executable, "INGOT_BENCH_CACHE": os.path.join(work, "cache"),
	               "INGOT": "no-such-program"}
	done = subprocess.run(command, env=environment, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
	                      text=True)
	print(f"{name} {' '.join(words)}: exit {done.returncode}\n{done.stdout}")
	return done.returncode, done.stdout


def written(name):
	with open(os.path.join(work, name)) as f:
		return json.load(f)


with tempfile.TemporaryDirectory(prefix="test-kernels.") as work:
	code, names = bench("kernels", "--list")
	expect("--list is exit 0 and names the kernels", code == 0
	       and {"gemm_256", "softmax", "lstm_step"} <= set(names.split()))
	expect("--only takes patterns", bench("kernels", "--list", "--only", "gemm_128x*", "--only", "copy")[1].split() == ["gemm_128x3072x768", "gemm_128x4096x4096", "copy"])
	expect("an unknown kernel is exit 2", bench("kernels", "--peers-only", "--only", "gemm")[0] == 2)
	expect("no program is exit 5", bench("kernels", "--only", "softmax")[0] == 5)
	code, names = bench("layers", "--list")
	expect("layers --list names each layer once, with weights that are constant and that are not", code == 0
	       and len(set(names.split())) == len(names.split()) and all(name + "_run_time" in names.split() for name in names.split() if "run_time" not in name))
	expect("no layers of a network: exit 2", bench("layers", "--peers-only", "--network", "vgg")[0] == 2)
	some = ("bert_1_768_768", "densenet121_1x1s1_64_128_56_run_time")
	code, said = bench("layers", "--peers-only", "--cpu", "x86-64-v3", "--rounds", "3", "--json", "l.json", *(w for name in some for w in ("--only", name)))
	expect("layers: exit 0", code == 0)
	for row in written("l.json")["networks"] if code == 0 else []:
		expect(f"{row['name']}: every peer is right", all(row[e]["median"] > 0 for e in ("onnxruntime", "openvino")))
	# One of each way into oneDNN: plain, channels last with a copy back, constants rearranged.
	some = ("conv3x3_winograd_nhwc", "softmax", "lstm_step", "copy")
	code, said = bench("kernels", "--peers-only", "--rounds", "3", "--json", "k.json",
	                   *(w for name in some for w in ("--only", name)))
	if code == 5 and "libdnnl-dev" in said:
		print("skipped: no libdnnl-dev")
		sys.exit(77)
	expect("kernels: exit 0", code == 0)
	rows = written("k.json")["networks"] if code == 0 else []
	expect("kernels: all of them", sorted(row["name"] for row in rows) == sorted(some))
	for row in rows:
		expect(f"{row['name']}: every peer is right", all(row[e]["median"] > 0 for e in ("onnxruntime", "openvino")))
		expect(f"{row['name']}: oneDNN where it has the kernel", ("onednn" in row) == (row["name"] != "copy"))
		expect(f"{row['name']}: a share of bandwidth", row["share"]["bandwidth"] > 0)
	expect("multiply-adds of the convolution", rows and rows[0]["macs"] == 56 * 56 * 64 * 64 * 9)

	from_here = os.path.join(ROOT, "examples", "digits")
	os.makedirs(os.path.join(work, "none"))
	os.makedirs(os.path.join(work, "one", "digits"))
	for name, inner in (("digits.onnx", "model.onnx"), ("in_0.npy",) * 2, ("out_0.npy",) * 2, ("io.json",) * 2):
		os.symlink(os.path.join(from_here, name), os.path.join(work, "one", "digits", inner))
	code, said = bench("memory", "one", "--peers-only", "--json", "m.json")
	expect("memory: onnxruntime's arena holds at least the largest layer", code == 0
	       and written("m.json")[0]["onnxruntime_exact"] >= 28 * 28 * 8 * 4)
	expect("memory: no case is exit 2", bench("memory", "none", "--peers-only")[0] == 2)

print(f"{failures} failed")
sys.exit(failures > 0)
