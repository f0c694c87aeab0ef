"""seeds.py DIR: the cases of cases_*.py as seeds for tests/fuzz/fuzz_template.c, each template once: it has data of its own."""
import glob
import importlib
import os
import sys

folder = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, folder)
seen = set()
for path in sorted(glob.glob(os.path.join(folder, "cases_*.py"))):
    for case in importlib.import_module(os.path.basename(path)[:-3]).cases():
        choice = sum(1 << bit for bit, name in enumerate(["line_statement", "trim_blocks", "lstrip_blocks", "keep_trailing_newline", "lenient"]) if case.settings.get(name))
        others = [text for name, text in case.templates.items() if name != "main"][:3]
        seed = bytes([choice]) + "\0".join([case.templates["main"]] + others).encode("utf-8", "replace")
        if seed not in seen:
            with open(os.path.join(sys.argv[1], f"{len(seen):05}"), "wb") as file:
                file.write(seed)
        seen.add(seed)
