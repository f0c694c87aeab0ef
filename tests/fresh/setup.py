#!/usr/bin/env python3
"""./setup on machines that lack something: one sentence with the command to type, and exit 5; a line for each package
where it can install them.  The machine is a folder of stand-ins for dpkg-query, apt-get, sudo and id."""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
TOOLS = ["sh", "dirname", "grep", "sed", "tee", "mktemp", "rm", "head", "tail", "env"]
NOTHING = "exit 1"                                    # dpkg-query of a system that has none of the packages
WORKS = 'case "$*" in *install*) echo "Setting up gcc (4:12.2.0-3) ..."; echo "Setting up libzip-dev (1) ...";; esac'
NO_NETWORK = 'case "$*" in *install*) echo "E: Unable to locate package gcc" >&2; exit 100;; esac; echo "W: Temporary failure resolving" >&2'
TYPE = "apt-get update && apt-get install -y --no-install-recommends gcc g++ cmake"

# name, stand-ins, exit code, what standard output holds, what the one line of standard error holds (None: it is empty)
CASES = [
    ("nothing lacks", {"dpkg-query": "echo install ok installed", "id": "echo 1000"}, 0, "", None),
    ("root", {"dpkg-query": NOTHING, "id": "echo 0", "apt-get": WORKS}, 0, "setup: gcc\nsetup: libzip-dev\n", None),
    ("sudo", {"dpkg-query": NOTHING, "id": "echo 1000", "apt-get": WORKS, "sudo": '[ "$1" = -n ] && shift; "$@"', "true": ""},
     0, "setup: gcc\n", None),
    ("no sudo", {"dpkg-query": NOTHING, "id": "echo 1000", "apt-get": WORKS}, 5, "", "no sudo; type as root: " + TYPE),
    ("sudo refuses", {"dpkg-query": NOTHING, "id": "echo 1000", "apt-get": WORKS, "sudo": "echo sudo: a password is required >&2; exit 1"},
     5, "", "sudo refuses; type as root: " + TYPE),
    ("no network", {"dpkg-query": NOTHING, "id": "echo 0", "apt-get": NO_NETWORK}, 5, "setup: installing gcc",
     "(Temporary failure resolving); with a network, type: " + TYPE),
    ("no Python packages", {"dpkg-query": "echo install ok installed", "id": "echo 0", "python": "exit 1",
     "pip": "echo 'WARNING: Retrying' >&2; echo 'ERROR: No matching distribution found for jinja2' >&2; exit 1"},
     5, "", "(No matching distribution found for jinja2); with a network, type: "),
    ("no Debian", {"id": "echo 0"}, 5, "", "here is no apt-get: gcc g++ cmake"),
]


def main():
    failures = 0
    for name, stand_ins, code, out, error in CASES:
        with tempfile.TemporaryDirectory(prefix="test-setup.") as folder:
            for tool in TOOLS:
                os.symlink(shutil.which(tool), os.path.join(folder, tool))
            for tool, text in stand_ins.items():
                path = os.path.join(folder, tool)
                with open(path, "w") as file:
                    file.write("#!/bin/sh\n%s\n" % text)
                os.chmod(path, 0o755)
            words = [os.path.join(ROOT, "setup")]
            if "pip" in stand_ins:                        # they stand in the tests' environment too
                os.symlink(folder, os.path.join(folder, "bin"))
                words += ["tests"]
            done = subprocess.run(words, env={"PATH": folder, "INGOT_VENV": folder}, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        right = done.returncode == code and out in done.stdout
        right = right and (done.stderr == "" if error is None else error in done.stderr and done.stderr.count("\n") == 1)
        failures += not right
        print("%s %s" % ("ok    " if right else "FAILED", name))
        if not right:
            print("exit %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
