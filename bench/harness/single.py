"""What bench/kernels, bench/layers and bench/corners share: a table of small networks, each made, raced and printed."""
import argparse
import json
import os
import sys
import tempfile

from . import environment


def parser(name, text, kept=True):
	"""The options that races have; text: the program's own; kept: whether what was raced before can be."""
	p = argparse.ArgumentParser(prog=name, usage=text.split("usage: ")[1].split("\n\n")[0],
	                            description=environment.manual(text),
	                            formatter_class=argparse.RawDescriptionHelpFormatter)
	p.add_argument("--threads", type=int, choices=(1, 2), default=1)
	p.add_argument("--cpu", choices=("native", "x86-64-v3"), default="native",
	               help="x86-64-v3: ingot, the limits, oneDNN and OpenVINO's convolutions are held to AVX2; onnxruntime and OpenVINO's products take what the machine has")
	p.add_argument("--json", metavar="FILE", help="writes the figures there")
	p.add_argument("--only", action="append", default=[], metavar="PATTERN", help="races those alone whose names match, as a shell's patterns do")
	p.add_argument("--rounds", type=int, default=90, metavar="N", help="turns of each engine (%(default)s)")
	p.add_argument("--processes", type=int, default=3, metavar="N", help="that share the rounds (%(default)s)")
	p.add_argument("--peers-only", action="store_true", help="races without ingot")
	p.add_argument("--list", action="store_true", help="prints the names and ends")
	if kept:
		p.add_argument("--kept", metavar="FILE", help="keeps each figure there as soon as it is known, and races those alone that it lacks")
	return p


def read(p):
	"""The options as they were given, once what they need is there."""
	o = p.parse_args()
	if o.rounds < 1 or o.processes < 1:
		p.error("--rounds, --processes: at least 1")
	environment.enter()
	if len(os.sched_getaffinity(0)) < o.threads:
		environment.lack(f"fewer cores than {o.threads} threads")
	for path in filter(None, (o.json, getattr(o, "kept", None))):
		if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
			environment.usage(f"{path}: no such folder")
	return o


def engines(o, jit=False, onednn=False, alone=False):
	"""The names of those that race, ingot's first.  alone: with two threads they race with one as well, NAME-1,
	and the library tells its longest way through what it shares."""
	o.program = None if o.peers_only else environment.ingot(jit=True)
	both = lambda name: [name, *[f"{name}-1"] * (alone and o.threads > 1)]
	return [*([*both("ingot"), *["ingot_parts"] * (alone and o.threads > 1), *["ingot_jit"] * jit] if o.program else []), *both("onnxruntime"), *both("openvino"), *["onednn"] * onednn]


def kept(path):
	"""The figures of an earlier race, a line of JSON each."""
	figures = {}
	if path and os.path.exists(path):
		with open(path) as f:
			for line in f:
				try:
					row = json.loads(line)
					figures[row["name"]] = row
				except (ValueError, KeyError, TypeError):
					environment.usage(f"{path}: no figures of a race: {line[:60].rstrip()}")
	return figures


def race(o, names, rows, make, table):
	"""Races what make(folder, row) gives of each row, which begins with its name; returns those for the JSON, of which it tells the table.
	oneDNN takes part where a row has words for it."""
	from . import drive
	figures = kept(o.kept)
	with tempfile.TemporaryDirectory(prefix="kernels.") as scratch:
		work = os.path.abspath(os.environ.get("INGOT_BENCH_KEEP") or scratch)
		os.makedirs(work, exist_ok=True)
		driver = drive.Driver(work, o.cpu, onednn="onednn" in names, jit=environment.shared_library() if "ingot_jit" in names else None)
		raced = []
		for row in rows:
			if row[0] not in figures:
				with tempfile.TemporaryDirectory(prefix="kernel.") as place:
					case = make(os.path.join(place, row[0]), row)
					takes = lambda name: (name != "onednn" or case.onednn) and name.split("-")[0] not in getattr(case, "without", ())
					o.engines = [name if "-" in name else f"{name}-{1 if name == 'ingot_jit' else o.threads}" for name in names if takes(name)]
					figures[row[0]] = drive.race(case, o, driver, work)
				if o.kept:
					with open(o.kept, "a") as f:
						f.write(json.dumps(figures[row[0]]) + "\n")
			raced.append(figures[row[0]])
			table.row(raced[-1])
	print()
	return raced


def chosen(o, rows):
	"""The rows that --only names, or all."""
	unknown = [pattern for pattern in o.only if not any(environment.wanted(row[0], [pattern]) for row in rows)]
	if unknown:
		environment.usage("there is no " + ", ".join(unknown))
	return [row for row in rows if environment.wanted(row[0], o.only)]
