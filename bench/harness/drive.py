"""A case and its engines -> times: writes network.c, builds the driver (bench/engines) with it and with what `ingot
build` made, runs it, and checks every engine's outputs."""
import glob
import json
import math
import os
import re
import shutil
import statistics
import subprocess

import numpy as np

from . import environment, networks

ENGINES = os.path.join(environment.ROOT, "bench", "engines")
RUNTIME = os.path.join(environment.ROOT, "runtime")                # the parallel-for is the runtime's
TIMEOUT = 900          # seconds for one command
QUIET_LEAST = 5        # batches
# numpy's name -> onnxruntime's number (its header is not in the wheel), OpenVINO's name (its header is)
TYPES = {"float32": "1, F32", "uint8": "2, U8", "int8": "3, I8", "uint16": "4, U16", "int16": "5, I16",
         "int32": "6, I32",
         "int64": "7, I64", "bool": "9, BOOLEAN", "float16": "10, F16", "float64": "11, F64"}


def run(words, folder=None):
	"""Runs a command; returns (exit code, the line that tells most)."""
	try:
		done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT)
	except subprocess.TimeoutExpired:
		return 124, f"no end after {TIMEOUT} s"
	except OSError as error:
		return 127, str(error)
	lines = done.stdout.decode(errors="replace").strip().splitlines()
	if done.returncode < 0:
		return done.returncode, f"signal {-done.returncode}: " + (lines[-1:] + [""])[0]
	return done.returncode, ([line for line in lines if "error" in line] + lines[-1:] + [""])[0]


def must(words, folder=None):
	code, said = run(words, folder)
	if code:
		environment.lack(f"{' '.join(words[:1])} exit {code}: {said}")


class Driver:
	"""The driver's objects, compiled once into `work`."""

	def __init__(self, work, cpu="native", onednn=False, jit=None, openmp=False):
		self.jit = jit                              # libingot's path, where its JIT races
		self.ort = environment.package_file("onnxruntime", "capi/libonnxruntime.so.*")
		self.openvino = environment.package_file("openvino", "libs/libopenvino_c.so*")
		include = environment.package_file("openvino", "include")
		self.compiler = environment.compiler()
		self.flags = ["-O2", f"-march={cpu}", "-std=gnu11", "-fno-pie", "-D_GNU_SOURCE", "-iquote", ENGINES,
		              "-I" + os.path.join(RUNTIME, "include"), "-I" + environment.ROOT, "-I" + include,
		              *["-fopenmp"] * openmp]
		self.libraries = ["-lm", "-ldl", "-pthread", *os.environ.get("LDLIBS", "").split()]
		self.work, self.objects, self.cpu = work, [], cpu
		if cpu != "native":                         # oneDNN's, OpenVINO's copy of it too; OpenVINO's products are not oneDNN's
			os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
		names = ["race", "team", "limits", "bounds", "ingot", "ways", "parts", "jit", "onnxruntime", "openvino"]
		names.append("onednn" if onednn else "onednn_absent")
		sources = [os.path.join(ENGINES, name) for name in names]
		sources += [os.path.join(RUNTIME, name) for name in ("threads", "status")]
		if onednn:
			self.libraries.insert(0, "-ldnnl")
			if run([*self.compiler, "-E", "-include", "oneapi/dnnl/dnnl.h", "-x", "c", os.devnull])[0]:
				environment.lack("oneDNN is not there: install libdnnl-dev")
		for source in sources:
			self.objects.append(os.path.join(work, os.path.basename(source) + ".o"))
			must([*self.compiler, *self.flags, "-c", source + ".c", "-o", self.objects[-1]])

	def link(self, folder, ingot):
		"""folder/network.c -> folder/race; returns what is wrong, or None."""
		code, said = run([*self.compiler, *self.flags, "-no-pie", *(["-I" + ingot.folder] if ingot else []),
		                  os.path.join(folder, "network.c"), *self.objects, *([ingot.library] if ingot else []),
		                  "-o", os.path.join(folder, "race"), *self.libraries])
		return f"the driver does not link: {said}" if code else None


class Library:
	"""What `ingot build` left in a folder: its manifest, and the C text that calls it."""

	def __init__(self, folder, io):
		manifests = {}
		for path in glob.glob(os.path.join(folder, "*.json")):
			with open(path) as f:
				manifests[path] = json.load(f)
		manifest = next((m for m in manifests.values() if isinstance(m, dict) and "prefix" in m), None)
		if not manifest:
			raise ValueError("no manifest with a prefix")
		self.folder, self.manifest = folder, manifest
		self.prefix, self.header = manifest["prefix"], manifest["header"]
		self.library = os.path.join(folder, manifest["library"])
		self.sets = {}
		for side, pointers in ("inputs", "in"), ("outputs", "out"):
			places = {t["name"]: i for i, t in enumerate(io[side])}
			for t in manifest[side]:
				place = places.get(t["name"])
				if place is None or t["bytes"] != io[side][place]["bytes"]:
					raise ValueError(f"manifest: {t['name']} of {t['bytes']} bytes does not fit io.json")
				self.sets.setdefault(side, []).append(f".{t['field']} = {pointers}[{place}]")

	def text(self):
		upper = self.prefix.upper()
		return f'''#include "{self.header}"
static void *workspace_new(void)
{{
	size_t align = {upper}_WORKSPACE_ALIGN < 64 ? 64 : {upper}_WORKSPACE_ALIGN;
	return aligned_alloc(align, ({upper}_WORKSPACE_BYTES / align + 1) * align);
}}
static int call(void *const *in, void *const *out, void *workspace, const struct ingot_parallel *parallel)
{{
	struct {self.prefix}_inputs its_inputs = {{ {', '.join(self.sets['inputs'])} }};
	struct {self.prefix}_outputs its_outputs = {{ {', '.join(self.sets['outputs'])} }};
	struct {self.prefix}_context context = {{ .workspace = workspace, .parallel = parallel }};
	return {self.prefix}_run(&its_inputs, &its_outputs, &context);
}}
'''


def code_bytes(archive):
	"""Bytes of code in an archive, as `size` counts them; None without it."""
	try:
		done = subprocess.run(["size", "-t", archive], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=TIMEOUT)
	except OSError:
		return None
	lines = done.stdout.decode().splitlines()
	return int(lines[-1].split()[0]) if not done.returncode and lines else None


def build(program, case, io, model, symbols, threads, cpu, folder):
	"""`ingot build` into a folder; returns (its Library or None, what is wrong or None)."""
	name = re.sub(r"\W", "_", case.name, flags=re.ASCII)
	name = "_" * name[0].isdigit() + name
	words = [program, "build", model, "-o", folder, "--name", name, "--target", "c", "--cpu", cpu]
	words += [w for symbol, n in symbols.items() for w in ("--dim", f"{symbol}={n}")]
	words += ["--threads", str(threads)] * (threads > 1) + case.options
	code, said = run(words)
	if code:
		return None, f"ingot build exit {code}: {said}"
	try:
		return Library(folder, io), None
	except (KeyError, TypeError, ValueError, OSError) as error:
		return None, f"manifest: {error!r}"


NARROW = 0.1                                        # of the largest value: with --math


def c_string(text):
	return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in text.encode()) + '"'


def write_network(folder, case, io, read, write, driver, library):
	"""Writes network.c, and the inputs and constants beside it."""
	text = ['#include "engine.h"', "#include <openvino/c/ov_common.h>", "#include <stdlib.h>"]
	arrays = {side: [(t["name"], t["array"]) for t in io[side]] for side in ("inputs", "outputs")}
	arrays["constants"] = [("", array) for array in case.constants]
	for side, stem in (("inputs", "in"), ("outputs", None), ("constants", "const")):
		rows = []
		for i, (name, array) in enumerate(arrays[side]):
			rows.append(f'{{ {c_string(name)}, {TYPES[array.dtype.name]}, {array.nbytes}, {array.ndim}, '
			            f'{{ {", ".join(map(str, array.shape)) or 0} }}, NULL }}')
			if stem:
				array.tofile(os.path.join(folder, f"{stem}_{i}.bin"))
		text.append(f"static struct tensor {side}[] = {{\n\t" + ",\n\t".join(rows or ["{ 0 }"]) + "\n};")
	if library:
		text.append(library.text())
	words = {side: side for side in arrays} | {f"{side[:-1]}_count": len(arrays[side]) for side in arrays} | {
	         "read_bytes": float(read), "write_bytes": float(write), "ort_library": c_string(driver.ort),
	         "ov_library": c_string(driver.openvino),
	         "ingot_library": c_string(driver.jit) if driver.jit else "NULL", "onednn": c_string(case.onednn) if case.onednn else "NULL"}
	if library:
		words |= {"ingot_workspace": "workspace_new", "ingot_call": "call"}
	text.append("const struct network network = {\n" + "".join(f"\t.{k} = {v},\n" for k, v in words.items()) + "};\n")
	with open(os.path.join(folder, "network.c"), "w") as f:
		f.write("\n".join(text))


def difference(engine, io, folder, part=0):
	"""What is wrong with an engine's outputs, or None.  part: of the largest value, by which all may be off."""
	for i, spec in enumerate(io["outputs"]):
		want = spec["array"]
		try:
			got = np.fromfile(os.path.join(folder, f"{engine}_{i}.bin"), want.dtype).reshape(want.shape)
		except (OSError, ValueError) as error:
			return f"wrong output: {spec['name']}: {error}"
		wide = np.float64 if want.dtype.kind == "f" else np.int64
		want, got = want.astype(wide), got.astype(wide)
		with np.errstate(invalid="ignore"):
			gap = np.where((got == want) | (np.isnan(got) & np.isnan(want)), 0, np.abs(got - want))
		most = max(spec.get("atol", 0), part * np.abs(want).max(initial=0))
		if not (gap <= most).all():
			return f"wrong output: {spec['name']} is off by {gap.max():.3g}, {most:.3g} allowed"
	return None


def outputs_of(engine, io, folder):
	"""The bytes of each; None: it left none."""
	paths = [os.path.join(folder, f"{engine}_{i}.bin") for i in range(len(io["outputs"]))]
	return [open(path, "rb").read() for path in paths] if all(map(os.path.exists, paths)) else None


def drive(folder, engines, threads, rounds, processes):
	"""Runs the driver till the engines left are through all processes.

	Returns a dictionary of the batches' (µs, switches, µs of CPU) per engine, and its other words.
	"""
	times, said, left = {}, {"failed": {}, "open": {}, "restless": {}, "flops": {}, "path": {}}, processes
	while engines and left:
		some, last = {}, None
		words = [os.path.join(folder, "race"), str(threads), str(math.ceil(rounds / processes)), *engines]
		settings = {**os.environ, "OMP_NUM_THREADS": str(threads)}       # oneDNN's
		try:
			done = subprocess.run(words, cwd=folder, env=settings, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
			                      timeout=TIMEOUT)
			code, text = done.returncode, done.stdout
		except subprocess.TimeoutExpired as late:
			code, text = 124, late.stdout or b""
		for line in text.decode(errors="replace").splitlines():
			word, engine, *rest = line.split("\t")
			if word == "try":
				last = engine
			elif word == "time":
				some.setdefault(engine, []).append((float(rest[0]) / 1e3, int(rest[1]), float(rest[2]) / 1e3))
			elif word in said:
				said[word][engine] = " ".join(rest)
		if code == 0:
			left -= 1
			times = {e: times.get(e, []) + some[e] for e in some}
		else:                                       # out it goes, the others run again
			for e in [last] if last in engines else engines:
				said["failed"].setdefault(e, f"crashed (exit {code})")
		engines = [e for e in engines if e not in said["failed"]]
	return times, said


def summary(batches, threads, busy=False):
	"""The median and the quartiles of the batches.

	Those during which another process took a core are disturbed.  With one thread their CPU time stands for them, which
	leaves out the other's; with more they are dropped, where enough are left.  All count on a core that is kept busy.
	"""
	quiet = [us for us, switches, _ in batches if not switches]
	if busy:
		used = [us for us, _, _ in batches]
	elif threads == 1:
		used = [min(us, cpu) if switches else us for us, switches, cpu in batches]
	else:
		used = quiet if len(quiet) >= QUIET_LEAST else [us for us, _, _ in batches]
	low, middle, high = statistics.quantiles(used, n=4) if len(used) > 1 else used * 3
	return {"median": middle, "least": min(used), "spread": [low, high], "batches": len(used), "disturbed": len(batches) - len(quiet)}


def race(case, options, driver, work):
	"""Races one case; returns its row for the JSON.

	options: `threads`, `rounds`, `program` (ingot's, or None), `engines` (the driver's names, each with its threads),
	`processes` (that share the rounds: each has its own layout in memory, which can make some per cent),
	`time` (what is compared: "median" where it lacks, or "least", which a busy machine disturbs least),
	`busy` (a core has other work all the while), `alike` (engines that have the bits of the first of them).
	"""
	folder = os.path.join(work, "race-" + case.name)
	shutil.rmtree(folder, ignore_errors=True)
	os.makedirs(folder)
	with open(os.path.join(case.folder, "io.json")) as f:
		io = json.load(f)
	for side in ("inputs", "outputs"):
		for t in io[side]:
			t["array"] = np.load(os.path.join(case.folder, t["file"]))
			t["bytes"] = t["array"].nbytes
	model, symbols, unnamed = networks.peer_copies(case.model, io, folder)
	read = networks.constant_bytes(model) + sum(t["bytes"] for t in io["inputs"])
	write = sum(t["bytes"] for t in io["outputs"])
	library, problems = None, {}
	mine = [e for e in options.engines if e.startswith("ingot-")]
	if mine:
		source = os.path.join(folder, "peer.onnx") if unnamed else case.model
		library, wrong = build(options.program, case, io, source, symbols, options.threads, driver.cpu,
		                       os.path.join(folder, "ingot"))
		if library:
			write_network(folder, case, io, read, write, driver, library)
			wrong = driver.link(folder, library)
		if wrong:
			library, problems = None, {e: wrong for e in mine}
	if not library:
		write_network(folder, case, io, read, write, driver, None)
		wrong = driver.link(folder, None)
		if wrong:
			environment.lack(wrong)
	bounds = [f"fma-{options.threads}", f"traffic-{options.threads}"]
	racing = [e for e in options.engines if e not in problems]
	times, said = drive(folder, bounds + racing, options.threads, options.rounds, options.processes)
	problems |= said["failed"]
	row = {"name": case.name, "kind": "int8" if networks.is_quantised(model) else "f32", "macs": networks.macs(model),
	       "bytes": read + write}
	busy, alike = getattr(options, "busy", False), getattr(options, "alike", [])
	plain = lambda e: e[:-len(f"-{options.threads}")] if e.endswith(f"-{options.threads}") else e
	for e in options.engines:
		problem = problems.get(e) or difference(e, io, folder, NARROW * bool(getattr(options, "math", None)))
		if not problem and e in alike and outputs_of(e, io, folder) != outputs_of(alike[0], io, folder):
			problem = f"wrong output: other bits than {alike[0]}"
		row[plain(e)] = {"problem": problem} if problem else summary(times[e], options.threads, busy)
		if e in said["path"] and not problem:
			nanoseconds, forks = said["path"][e].split()
			row[plain(e)] |= {"path": float(nanoseconds) / 1e3, "forks": int(forks)}
		if e in said["restless"] and not problem:
			row[plain(e)]["restless"] = True
		if e in said["open"] and not problem:
			row[plain(e)]["open_dimensions"] = said["open"][e]
	if library:
		row["kernels"] = len(library.manifest.get("kernels", []))
		row["workspace_bytes"] = library.manifest.get("workspace_bytes")
		row["weights_bytes"], row["code_bytes"] = library.manifest.get("weights_bytes"), code_bytes(library.library)
	time = getattr(options, "time", "median")
	good = {e: row[e][time] for e in map(plain, options.engines) if time in row[e]}
	peers = {e: us for e, us in good.items() if not e.startswith("ingot")}
	row["fastest"] = min(peers, key=peers.get) if peers else None
	row["ratio"] = good["ingot"] / peers[row["fastest"]] if "ingot" in good and peers else None
	if all(b in times for b in bounds):
		fma, traffic = (summary(times[b], options.threads)[time] for b in bounds)
		row["limits"] = {"gflops": float(said["flops"][bounds[0]]) / fma / 1e3, "bytes_us": traffic}
		whose = "ingot" if "ingot" in good else row["fastest"]
		if whose:
			rate = row["macs"] and 2e-3 * row["macs"] / good[whose]
			row["share"] = {"of": whose, "fma": rate and rate / row["limits"]["gflops"],
			                "bandwidth": traffic / good[whose]}
	if not os.environ.get("INGOT_BENCH_KEEP"):
		shutil.rmtree(folder, ignore_errors=True)
	return row
