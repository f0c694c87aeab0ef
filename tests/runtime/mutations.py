"""mutations.py: plants the faults of faults.py one by one; each time the tests of its row must fail.

    mutations.py SOURCE WORK [--jobs N] [--all | ROW ...]

Works in copies of the tree, WORK/0 to WORK/N-1, each with a build folder, so that a fault compiles what it changed and nothing else
(through ccache, where there is one); the sources themselves are not touched.  Without --all (or INGOT_LONG=1) and without rows it
only looks whether each text still stands where it should, so that the list cannot rot.  A fault that does not compile is one that
was not planted, and fails the run.
"""
import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import threading

from faults import FAULTS, PROGRAMS


def run(command, folder, **environment):
    without = {name: value for name, value in os.environ.items() if name != "INGOT_LONG"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=dict(without, **environment))


def places(text, old):
    return list(re.finditer(r"\s*".join(re.escape(c) for c in old if not c.isspace()), text))


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


class Copy:
    """A copy of the tree with a build folder.  Files that are the same already keep their times, so little is built again."""

    def __init__(self, source, folder):
        self.folder, self.build, self.ready = folder, os.path.join(folder, "build"), set()
        names = run(["git", "ls-files", "-co", "--exclude-standard"], source).stdout.split("\n")
        if len(names) < 2:                                          # not a checkout
            names = [os.path.relpath(os.path.join(at, name), source) for at, folders, files in os.walk(source)
                     for name in files if "build" not in os.path.relpath(at, source).split(os.sep)]
        for name in filter(None, names):
            there, here = os.path.join(source, name), os.path.join(folder, name)
            if not os.path.isfile(there):
                continue
            os.makedirs(os.path.dirname(here), exist_ok=True)
            if not os.path.exists(here) or open(there, "rb").read() != open(here, "rb").read():
                shutil.copy(there, here)
        launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        # As a compiler of that name, where it is installed so, ccache is also what ingot runs: each of the generator's libraries holds
        # the whole runtime.
        masked = shutil.which("cc", path="/usr/lib/ccache:/usr/lib64/ccache")
        if masked:
            launcher = [f"-DCMAKE_C_COMPILER={masked}", "-DCMAKE_C_COMPILER_LAUNCHER="]
        made = run(["cmake", "-S", folder, "-B", self.build, "-G", "Ninja"] + launcher, folder)
        if made.returncode:
            sys.exit(f"{folder}: {made.stderr}")

    def make(self, target):
        return run(["cmake", "--build", self.build, "-j", "1", "--target", target], self.folder, CCACHE_BASEDIR=self.folder,
                   CCACHE_NOHASHDIR="1", CCACHE_SLOPPINESS="include_file_ctime,include_file_mtime")    # ingot has just written them

    def fails(self, row, program):
        command = [part.format(row=row) for part in PROGRAMS[program][1]]
        return run(command, self.build, ROW_SECONDS="10").returncode != 0

    def prepare(self, program, rows):
        """Without a fault it builds, and its tests pass; else everything would seem to be caught."""
        if program in self.ready:
            return
        self.ready.add(program)
        made = self.make(PROGRAMS[program][0])
        if made.returncode:
            print(f"{self.folder}: does not build as it is: {made.stdout[-2000:]}", flush=True)
            os._exit(1)
        for row in rows:
            if self.fails(row, program):
                print(f"{row} fails as it is", flush=True)
                os._exit(1)

    def plant(self, row, name, old, new, program="runtime"):
        """What came of it: None where it was caught."""
        path = os.path.join(self.folder, name)
        text = read(path)
        found = places(text, old)
        write(path, text[:found[0].start()] + new + text[found[0].end():])
        try:
            made = self.make(PROGRAMS[program][0])
            if made.returncode:
                return "does not compile: " + " ".join(line for line in made.stdout.split("\n") if "error" in line)[:300]
            return None if self.fails(row, program) else "was not caught"
        finally:
            write(path, text)


def work(source, folder, todo, results, lock):
    copy = Copy(source, folder)
    while True:
        try:
            index = todo.get_nowait()
        except queue.Empty:
            return
        row, program = FAULTS[index][0], (FAULTS[index] + ("runtime",))[4]
        copy.prepare(program, sorted({f[0] for f in (FAULTS[k] for k in results) if (f + ("runtime",))[4] == program}))
        results[index] = copy.plant(*FAULTS[index])
        with lock:
            done = sum(r != "" for r in results.values())
            print(f"{done}/{len(results)} {row} {results[index] or 'caught'}: {FAULTS[index][1]} {FAULTS[index][2][:60]!r}", flush=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("source")
    options.add_argument("work")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--all", action="store_true", default=bool(os.environ.get("INGOT_LONG")))
    options.add_argument("rows", nargs="*")
    options = options.parse_intermixed_args()
    source = os.path.abspath(options.source)
    wanted = [i for i, fault in enumerate(FAULTS) if not options.rows or fault[0] in options.rows]
    missing = []
    for i in wanted:
        count = len(places(read(os.path.join(source, FAULTS[i][1])), FAULTS[i][2]))
        if count != 1:
            missing.append(f"{FAULTS[i][0]} {FAULTS[i][1]}: the text stands there {count} times: {FAULTS[i][2][:70]!r}")
    if missing or not (options.all or options.rows):
        print("\n".join(missing + [f"{len(wanted)} faults, {len(missing)} without their text"]))
        sys.exit(bool(missing))
    todo, results, lock = queue.Queue(), {i: "" for i in wanted}, threading.Lock()
    for i in wanted:
        todo.put(i)
    threads = [threading.Thread(target=work, args=(source, os.path.join(os.path.abspath(options.work), str(n)), todo, results, lock))
               for n in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bad = [i for i in wanted if results[i] is not None]
    for i in bad:
        print(f"{FAULTS[i][0]} {FAULTS[i][1]}: {results[i] or 'was not planted'}: {FAULTS[i][2][:90]!r}")
    print(f"{len(wanted) - len(bad)} planted faults caught, {len(bad)} not")
    sys.exit(bool(bad))


main()
