#!/usr/bin/env python3
"""layering.py: who may look into whom, and that C text lives in templates only.  Exit 0: the house is in order."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GENERATOR = os.path.join(ROOT, "generator")
# Each folder sees those before it; a few see less.
ORDER = ["tables", "base", "template", "graph", "frontends", "passes", "definitions", "ops", "kernels", "loops", "emit", "jit", "cli"]
SEES = {"template": {"base", "template"}, "base": {"base", "tables"}, "tables": {"tables"}}
# passes fold constants and infer by the functions of ops; layouts and kernels ask loops what they would do.
ALSO = {("passes", "ops"), ("passes", "definitions"), ("kernels", "loops"), ("ops", "passes"), ("loops", "emit")}


def folder(path):
    part = os.path.relpath(path, GENERATOR).split(os.sep)
    return part[0] if len(part) > 1 else ""


def includes(text):
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M)


def main():
    wrong = []
    for base, _, names in os.walk(GENERATOR):
        for name in sorted(names):
            path = os.path.join(base, name)
            if not name.endswith((".c", ".h")):
                continue
            text = open(path, encoding="utf-8").read()
            here, shown = folder(path), os.path.relpath(path, ROOT)
            for target in includes(text):
                there = target.split("/")[0]
                if here and there in ORDER and here in ORDER:
                    allowed = there in SEES[here] if here in SEES else ORDER.index(there) <= ORDER.index(here) or (here, there) in ALSO
                    if not allowed:
                        wrong.append("%s: %s/ may not look into %s" % (shown, here, target))
                if here in ORDER and here not in ("cli", "jit") and there == "runtime":
                    wrong.append("%s: looks into the runtime: %s" % (shown, target))
            if here == "template" or shown.endswith("graph/print.c"):   # ONNX text has braces of its own
                continue
            for number, line in enumerate(text.split("\n"), 1):
                if re.search(r'"(?:[^"\\]|\\.)*[;{]\s*\\n', line):
                    wrong.append("%s:%d: C text belongs into templates/: %s" % (shown, number, line.strip()[:80]))
    for base, _, names in os.walk(os.path.join(ROOT, "runtime")):
        for name in names:
            if name.endswith((".c", ".h")):
                for target in includes(open(os.path.join(base, name), encoding="utf-8").read()):
                    if target.split("/")[0] in ORDER:
                        wrong.append("%s: the runtime sees only itself: %s" % (name, target))
    print("\n".join(wrong) or "in order")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
