#!/usr/bin/env python3
"""symbols.py OBJECTS...: who calls whom, by the objects' symbols: what a folder of the generator asks for lies in itself, in folders before it, or outside of
the generator; and what a frontend defines is asked for by its row in frontends/read.c alone.  Exit 0: each folder up to loops/ links without those behind it, and
frontends/ without that frontend and its row.  77: there is no nm."""
import os
import shutil
import subprocess
import sys

from layering import ORDER

LAST = "loops"
# Files of a frontend, by how their names begin.
FRONTENDS = {"tflite": ("tflite", "flatbuffer")}
# Large constants are computed when somebody asks for them, also a graph that is printed; the files that the build embeds.
ASKED_BACK = {"tensor_data", "embedded_files", "embedded_count"}


def folder(path):
    """The folder of generator/ whose object this is; "": one of the files beside them; None: something else."""
    inside = os.path.normpath(path).split("ingot-parts.dir" + os.sep)[-1].split(os.sep)
    return None if inside[0] == "__" else inside[0] if len(inside) > 1 else ""


def main():
    if not shutil.which("nm"):
        sys.exit(77)
    defined, asked, made = {}, [], {}
    for line in subprocess.run(["nm", "-g", "-A", *sys.argv[1:]], capture_output=True, text=True, check=True).stdout.splitlines():
        path, symbol = line.split(":", 1)
        kind, name = symbol.split()[-2:]
        here = folder(path)
        if kind == "U":
            asked.append((here, path, name))
        elif here is not None:
            defined[name] = here
            made[name] = os.path.basename(path)
    place = lambda name: ORDER.index(name) if name in ORDER else len(ORDER)
    wrong = ["%s: %s is of %s" % (os.path.join(here, os.path.basename(path)), name, defined[name] or "generator/")
             for here, path, name in asked
             if here in ORDER and place(here) <= place(LAST) and name not in ASKED_BACK and name in defined and place(defined[name]) > place(here)]
    for frontend, files in FRONTENDS.items():
        row = {"is_" + frontend, "read_" + frontend}
        assert row <= set(made), "no frontend %s" % frontend
        wrong += ["%s: %s is of the frontend %s" % (path, name, frontend) for _, path, name in asked
                  if made.get(name, "").startswith(files) and not os.path.basename(path).startswith(files) and name not in row]
    assert any(here == LAST for here, _, _ in asked), "no object of %s/" % LAST
    print("\n".join(sorted(wrong)) or "each folder links without those behind it")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
