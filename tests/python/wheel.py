#!/usr/bin/env python3
"""The wheel: made, judged by auditwheel, installed beside NumPy alone in an environment of its own, used."""
import os, re, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
USE = """
import time, numpy
before = time.perf_counter(); import ingot; after = time.perf_counter()
model = ingot.open(%r)
made = model(numpy.zeros((1, 1, 28, 28), "f4"))
assert made.shape == (1, 10)
print("import %%.1f ms beyond NumPy's, the first result %%.1f ms later" %% ((after - before) * 1e3, (time.perf_counter() - after) * 1e3))
assert ingot.info(%r)["inputs"]
"""


def call(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode == 5:
        print(f"skipped: {done.stderr.strip()}")
        sys.exit(77)
    assert done.returncode == 0, f"{' '.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def main():
    digits = os.path.join(ROOT, "examples", "digits", "digits.onnx")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("INGOT_") and name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        wheel = call(os.path.join(ROOT, "python", "make_wheel"), folder).splitlines()[-1]
        told = re.search(r"py3-none-manylinux_2_(\d+)_x86_64\.whl$", wheel)
        assert told and int(told.group(1)) <= 34, wheel
        call(sys.executable, "-m", "venv", folder + "/bare")
        call(folder + "/bare/bin/pip", "install", "-q", "--disable-pip-version-check", wheel)
        print(call(folder + "/bare/bin/python", "-c", USE % (digits, digits), env=clean, cwd=folder), end="")
        assert call(folder + "/bare/bin/ingot", "--version", env=clean).startswith("ingot ")
    print("the wheel is made, installed and used")


if __name__ == "__main__":
    sys.exit(main())
