"""Where things are: the peers' Python environment, the cache, ingot, the cases.  What is lacking is exit 5."""
import fnmatch
import glob
import importlib.util
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NEEDED = ("numpy", "onnx", "onnxruntime", "openvino")
EXIT_DIFFER, EXIT_USAGE, EXIT_LACK = 1, 2, 5


def lack(what):
	print(what, file=sys.stderr)
	sys.exit(EXIT_LACK)


def usage(what):
	print(what, file=sys.stderr)
	sys.exit(EXIT_USAGE)


def cache():
	"""The folder for what is made once: the environment, the light models' weights, the examples' cases."""
	folder = os.path.abspath(os.environ.get("INGOT_BENCH_CACHE") or os.path.join(ROOT, "build", "bench"))
	os.makedirs(folder, exist_ok=True)
	return folder


def has_all(python):
	words = [python, "-c",
	         "import sys, importlib.util as u; sys.exit(any(u.find_spec(m) is None for m in sys.argv[1:]))"]
	try:
		return subprocess.run([*words, *NEEDED], stderr=subprocess.DEVNULL).returncode == 0
	except OSError:
		return False


def enter():
	"""Goes on in a Python that has the peers: this one, $INGOT_PYTHON, the bench's own (made where it is absent)."""
	if all(importlib.util.find_spec(module) for module in NEEDED):
		return
	own = os.path.join(cache(), "environment", "bin", "python")
	for python in (os.environ.get("INGOT_PYTHON"), own):
		if python and has_all(python):
			break
	else:
		print("making the environment of the bench (onnxruntime, openvino) ...", file=sys.stderr)
		made = subprocess.run([os.path.join(ROOT, "bench", "setup")], stdout=sys.stderr)
		python = own
		if made.returncode or not has_all(own):
			lack("no environment with " + ", ".join(NEEDED) + ": bench/setup makes it")
	os.execv(python, [python, *sys.argv])


def package_file(package, pattern):
	spec = importlib.util.find_spec(package)
	found = spec and sorted(glob.glob(os.path.join(spec.submodule_search_locations[0], pattern)))
	return found[0] if found else lack(f"{package}: no {pattern} in it")


def wanted(name, patterns):
	"""Whether --only asks for it: by a pattern, as a shell has them; without any for all."""
	return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def ingot(jit=False):
	"""The words that start ingot: $INGOT, else the build folder's; jit: its functions have to be as users have them."""
	named = os.environ.get("INGOT")
	path = shutil.which(named) if named else os.path.join(ROOT, "build", "ingot")
	if not path or not os.access(path, os.X_OK):
		lack(f"no program {named or path}: build ingot, or name it with INGOT")
	folder = os.path.dirname(os.path.abspath(path))
	settings = os.path.join(folder, "CMakeCache.txt")
	if jit and os.path.exists(settings) and "INGOT_MENU_FLAGS:STRING=-Og" in open(settings).read():
		lack(f"{path} has the JIT's functions as ./check compiles them, by -Og: cmake {folder} -DINGOT_MENU_FLAGS= && cmake --build {folder}")
	return os.path.abspath(path)


def shared_library():
	"""libingot: $INGOT_LIBRARY, else the build folder's."""
	path = os.environ.get("INGOT_LIBRARY") or os.path.join(ROOT, "build", "generator", "shared", "libingot.so.0")
	return os.path.abspath(path) if os.path.exists(path) else lack(f"no library {path}: build ingot, or name it with INGOT_LIBRARY")


def compiler():
	words = os.environ.get("CC", "cc").split()
	return words if shutil.which(words[0]) else lack(f"no C compiler {words[0]}")


def cases(*inner):
	"""A folder of the cases: $INGOT_CASES, else shared/cases beside the repository or in it."""
	places = [os.environ.get("INGOT_CASES"), os.path.join(ROOT, "..", "shared", "cases"),
	          os.path.join(ROOT, "shared", "cases")]
	for place in filter(None, places):
		path = os.path.abspath(os.path.join(place, *inner))
		if os.path.exists(path):
			return path
	return lack(f"no {os.path.join('cases', *inner)}: name the folder of the cases with INGOT_CASES")


def manual(text):
	"""A program's docstring less its usage, which is its second paragraph: for --help."""
	parts = text.split("\n\n")
	return "\n\n".join(parts[:1] + parts[2:])
