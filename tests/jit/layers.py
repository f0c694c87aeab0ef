"""layers.py: what tests of drawn layers share: files, the interpreter's bits by the menus, the text that the JIT runs."""
import os
import platform
import subprocess
import sys

# The classes of CPUs whose menus run here; None: this CPU's.
CLASSES = (None, "x86-64-v3", "generic") if platform.machine() == "x86_64" else (None, "generic")


def sized(text, **sizes):
    """Types of a graph with numbers for the names of their dims."""
    for dim, size in sizes.items():
        for before in "[,":
            for after in ",]":
                for _ in range(2):                    # neighbours share a comma
                    text = text.replace(before + dim + after, "%s%d%s" % (before, size, after))
    return text


def written(folder, name, inputs, outputs, constants, body, opset=17):
    """The path of a graph."""
    path = os.path.join(folder, "layer_%s.onnxtxt" % name)
    with open(path, "w", encoding="utf-8") as f:
        f.write('<ir_version: 8, opset_import: ["" : %d]>\nlayer (%s) => (%s)\n' % (opset, inputs, outputs)
                + ("<%s>\n" % constants if constants else "") + "{\n%s\n}\n" % body)
    return path


def same_bits(bench, paths, classes=CLASSES):
    """Ends where the JIT's bits are not the interpreter's (1), or where there is no libtcc (77)."""
    for cpu in classes:
        environment = dict(os.environ, **({"INGOT_NATIVE": cpu} if cpu else {}))
        bits = subprocess.run([bench, "--bits", *paths], capture_output=True, text=True, check=False, env=environment)
        print(bits.stdout, bits.stderr, end="")
        if bits.returncode:
            sys.exit(bits.returncode)


def glue(ingot, path):
    """What libtcc compiles."""
    shown = subprocess.run([ingot, "show", path, "--stage", "glue", "--cpu", "native"], capture_output=True, text=True, check=False)
    if shown.returncode:
        sys.exit("%s: %s" % (path, shown.stderr.strip()))
    return shown.stdout
