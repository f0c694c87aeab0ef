#!/usr/bin/env python3
"""bench/making on the digits network: its table, and that it is within its limits: no build takes much longer than the C compiler.

    making.py INGOT            77: no Python module onnx"""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
missing = [module for module in ("numpy", "onnx") if importlib.util.find_spec(module) is None]
if missing:
    print("skipped: no Python module " + ", ".join(missing))
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="making.") as folder:
    shutil.copytree(os.path.join(ROOT, "examples", "digits"), os.path.join(folder, "digits"))
    os.rename(os.path.join(folder, "digits", "digits.onnx"), os.path.join(folder, "digits", "model.onnx"))
    done = subprocess.run([sys.executable, os.path.join(ROOT, "bench", "making"), folder, "--turns", "1", "--cpu", "generic", "--limits"], capture_output=True,
                          text=True, env=dict(os.environ, INGOT=os.path.abspath(sys.argv[1])))
print(done.stdout + done.stderr, end="")
sys.exit(done.returncode or not re.search(r"^\| digits( \| [\d.]+){8} \|$", done.stdout, re.M))
