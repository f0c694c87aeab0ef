#!/usr/bin/env python3
"""menu.py INGOT_MENU: what the build asks ingot-menu for is what it prints: a list has a table for each CPU that is named, be it one, and a CPU that there is none of
is a message, no hang; and the menus of 64-bit Arm are C, where its compiler is there."""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARM = "aarch64-linux-gnu-gcc"


def ask(*words):
    return subprocess.run([sys.argv[1], *words], capture_output=True, text=True, timeout=600)


def main():
    for cpus in ["generic"], ["x86-64-v4", "generic"]:
        listed = ask("--list", *cpus)
        for cpu in cpus:
            assert f'if (!strcmp(cpu, "{cpu}"))' in listed.stdout, f"--list {' '.join(cpus)}: {listed.stdout!r}"
    flags = ask("--flags", "generic")
    assert flags.returncode == 0 and flags.stdout.startswith("-O2 "), f"--flags generic: {flags.stdout!r}"
    for words in [], ["nonsense"], ["--flags", "nonsense"], ["--else", "generic"]:
        wrong = ask(*words)
        assert wrong.returncode == 2 and not wrong.stdout and "usage: ingot-menu" in wrong.stderr, f"{words}: exit {wrong.returncode}, {wrong.stderr!r}, {wrong.stdout[:80]!r}"
    if shutil.which(ARM):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "menu.c")
            with open(source, "w", encoding="utf-8") as out:
                out.write(ask("armv8-a").stdout)
            looked = subprocess.run([ARM, *ask("--flags", "armv8-a").stdout.split(), "-fsyntax-only", "-Werror=implicit-function-declaration", "-I", ROOT, "-I", os.path.join(ROOT, "generator"), source],
                                    capture_output=True, text=True, timeout=300)
            assert not looked.returncode, "armv8-a: " + looked.stderr[-2000:]
    print("lists, flags and usage are right")


main()
