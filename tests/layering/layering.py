#!/usr/bin/env python3
"""layering.py: who may look into whom, and that C text lives in templates only.  Exit 0: the house is in order."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Folders of generator/, in a line: each sees itself and those before it; a few see less.  Files in generator/ itself see all.
ORDER = ["tables", "base", "template", "graph", "frontends", "definitions", "ops", "passes", "kernels", "loops", "emit", "jit", "cli"]
SEES = {"template": {"base", "template"}, "base": {"base", "tables"}, "tables": {"tables"}}
# ingot/NAME.h of the runtime: what is compiled into the generator too, or said by both sides; and from which folder on.
SHARED, SHARED_FROM = {"abi", "mode", "names", "plan"}, "kernels"
# ingot/NAME.h of the generator's own library.
OWN = {"template": {"template", "ops", "emit", "jit", "cli", ""}, "ingot": {""}}
# What lies in the project's own folder; other files there were left by a test or by hand.
AT_ROOT = {".clang-format", ".gitignore", "CHANGELOG.md", "CMakeLists.txt", "CONTRIBUTING.md", "LICENSE", "README.md", "check", "demo", "mkdocs.yml", "setup"}
# What backends/ see: facts and base; the compilers' own headers; what the runtime has too.
BACKENDS = {"tables", "base", "backends", "common"}


def folder(path):
    part = os.path.relpath(path, os.path.join(ROOT, "generator")).split(os.sep)
    return part[0] if len(part) > 1 else ""


def includes(text):
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M)


def sources(root):
    for base, _, names in os.walk(os.path.join(ROOT, root)):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                path = os.path.join(base, name)
                yield path, os.path.relpath(path, ROOT), open(path, encoding="utf-8").read()


def of_public(here, name):
    """May a folder of the generator look into ingot/NAME.h?"""
    if name in OWN:
        return here in OWN[name]
    return name in SHARED and (not here or ORDER.index(here) >= ORDER.index(SHARED_FROM))


def allowed(here, target):
    there = target.split("/")[0]
    if there == "ingot":
        return of_public(here, os.path.splitext(target)[0][len("ingot/"):])
    if there == "runtime":
        return False
    if here and "/" not in target and os.path.isfile(os.path.join(ROOT, "generator", target)):      # the pipeline and its engines see all
        return here in ("cli", "jit")
    if there in ORDER and here:
        return there in SEES[here] if here in SEES else ORDER.index(there) <= ORDER.index(here)
    return True


def main():
    wrong = []
    for path, shown, text in sources("generator"):
        here = folder(path)
        if here and here not in ORDER and here != "include":
            wrong.append("%s: the folder has no place in the line" % shown)
            continue
        wrong += ["%s: may not look into %s" % (shown, target) for target in includes(text) if here != "include" and not allowed(here, target)]
        if here == "template" or shown.endswith("graph/print.c"):   # ONNX text has braces of its own
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if re.search(r'"(?:[^"\\]|\\.)*[;{]\s*\\n', line):
                wrong.append("%s:%d: C text belongs into templates/: %s" % (shown, number, line.strip()[:80]))
            if here in ("emit", "jit") and re.search(r"(?<!const )\bstruct (?:lowered|kernel) \*(?!const )\w", line) and "arena_new(" not in line:
                wrong.append("%s:%d: who prints decides nothing: %s" % (shown, number, line.strip()[:80]))
    for _, shown, text in sources("backends"):
        wrong += ["%s: backends see facts alone: %s" % (shown, target) for target in includes(text)
                  if "/" in target and target.split("/")[0] not in BACKENDS]
    for _, shown, text in sources("runtime"):
        wrong += ["%s: the runtime sees only itself: %s" % (shown, target) for target in includes(text)
                  if target.split("/")[0] in ORDER or target in ("ingot/template.h", "ingot/ingot.h")]
    for _, shown, text in sources("common"):                        # what generator and runtime compile alike
        wrong += ["%s: sees only what both have: %s" % (shown, target) for target in includes(text)
                  if target != "alone.h" and target not in ["ingot/%s.h" % name for name in SHARED]]
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False)  # no answer in a tarball
    wrong += ["%s: the project's own folder has no such file" % name for name in listed.stdout.split("\n")
              if name and "/" not in name and name not in AT_ROOT]
    print("\n".join(wrong) or "in order")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
