"""Rows of the race -> a table for people, the JSON for programs, the exit code."""
import importlib.metadata
import json
import statistics

from . import environment, processor

SLOWER = 1.05


def micro(us):
	return f"{us:.4g}" if us < 1000 else f"{us:.0f}"


def cell(entry):
	if not entry:
		return "-"
	if "problem" in entry:
		return "wrong" if entry["problem"].startswith("wrong") else "fails"
	low, high = entry["spread"]
	return f"{micro(entry['median'])} ({micro(low)}..{micro(high)})" + "!" * ("restless" in entry)


def percent(share):
	return f"{share:.0%}" if share else "-"


class Table:
	def __init__(self, what, names):
		self.names = names
		print(f"| {what} |", " | ".join(f"{name} µs (p25..p75)" for name in names),
		      "| fastest peer | ingot / fastest | of FMA | of bandwidth |")
		print("|---" * (5 + len(names)) + "|", flush=True)

	def row(self, row):
		share = row.get("share", {})
		cells = [row["name"], *(cell(row.get(name)) for name in self.names), row["fastest"] or "-",
		         f"{row['ratio']:.3f}" if row["ratio"] else "-", percent(share.get("fma")),
		         percent(share.get("bandwidth"))]
		print("|", " | ".join(cells), "|", flush=True)


def notes(rows, names):
	lines = []
	for row in rows:
		for name in names:
			text = row.get(name, {}).get("problem")
			if not text and "open_dimensions" in row.get(name, {}):
				text = "runs with open dimensions only: " + row[name]["open_dimensions"]
			if text:
				lines.append(f"{row['name']}, {name}: {text.split('detailed log:')[-1].strip()[:240]}")
	return lines


def geomean(rows):
	ratios = [row["ratio"] for row in rows if row["ratio"]]
	return statistics.geometric_mean(ratios) if ratios else None


def slower(rows):
	"""Prints those that take longer than the faster peer by more than a race is uncertain."""
	ratios = [(row["ratio"], row["name"]) for row in rows if row["ratio"]]
	above = sorted((one for one in ratios if one[0] > SLOWER), reverse=True)
	if ratios:
		print(f"above {SLOWER}: {len(above)} of {len(ratios)}", *("%s %.2f" % (name, ratio) for ratio, name in above), sep="\n  ")


def finish(rows, names, threads, path, peers_lack=False):
	"""Prints the notes and the mean, writes the JSON, returns the exit code.  peers_lack: what a peer does not run is right."""
	for line in notes(rows, names):
		print(line)
	mean = geomean(rows)
	if mean:
		ratios = [row["ratio"] for row in rows if row["ratio"]]
		above = sum(ratio > 1 for ratio in ratios)
		print(f"ingot / fastest peer, geometric mean of {len(ratios)}: {mean:.3f}; above 1.0: {above}")
	gains = [(row["name"], row["ingot-1"]["median"] / row["ingot"]["median"]) for row in rows
	         if "median" in row.get("ingot", {}) and "median" in row.get("ingot-1", {})]
	if gains:
		print("ingot's second thread: " + ", ".join(f"{name} {gain:.2f}" for name, gain in gains)
		      + " times as fast as one")
	if path:
		versions = {m: importlib.metadata.version(m) for m in ("onnxruntime", "openvino")}
		with open(path, "w") as f:
			json.dump({"geomean": mean, "threads": threads, "unit": "us", "processor": processor.name(),
			           "versions": versions,
			           "networks": rows}, f, indent=1)
			f.write("\n")
	problems = {name: [row[name]["problem"] for row in rows if "problem" in row.get(name, {})] for name in names}
	mine = {name for name in names if name.startswith("ingot")}
	# A peer that does not run is lacking; one that is wrong is told above and counts for no ratio.
	if not peers_lack and any(not problem.startswith("wrong") for name in names if name not in mine for problem in problems[name]):
		return environment.EXIT_LACK
	return environment.EXIT_DIFFER if any(problems[name] for name in mine) else 0
