"""compare.py: every case of cases_*.py, rendered by ingot and by Jinja2: the same bytes, or an error in both."""
import glob
import importlib
import os
import sys

folder = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, folder)
try:
    import oracle
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

total = wrong = 0
for path in sorted(glob.glob(os.path.join(folder, "cases_*.py"))):
    name = os.path.basename(path)[:-3]
    cases = list(importlib.import_module(name).cases())
    different, rendered = oracle.compare(cases)
    print(f"{name}: {len(cases)} cases, {rendered} render and {len(cases) - rendered} are errors in Jinja2, {different} differ")
    total += len(cases)
    wrong += different
print(f"{total} cases, {wrong} differ")
sys.exit(wrong != 0)
