"""The processor's name, as the tables' headings have it."""
import platform


def name():
	try:
		with open("/proc/cpuinfo") as f:
			facts = dict(line.split(":", 1) for line in f.read().split("\n\n")[0].splitlines() if ":" in line)
		facts = {key.strip(): value.strip() for key, value in facts.items()}
		return f"{facts['model name']}, family {facts['cpu family']}, model {facts['model']}"
	except (OSError, KeyError):
		return platform.machine()
