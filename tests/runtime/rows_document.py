"""rows_document.py: the answer of runtime-rows --json, the number of planted faults, and figures.md -> docs/runtime.md.

    rows_document.py BUILD/runtime-rows docs/runtime.md        writes the page
    rows_document.py FOLDER docs/runtime.md                    the same, from the answers kept in FOLDER
    rows_document.py FOLDER docs/runtime.md --check            fails when a row is missing or failing, or the page is not what the tests kept in FOLDER
                                                               give; 77: no NVRTC, so no kernels
    rows_document.py --keep FILE PROGRAM WORD...               runs the rows (--json is added), says what fails and keeps the answers
"""
import collections
import json
import os
import subprocess
import sys
import textwrap

from faults import FAULTS

PARTS = [("A", 20, "Device, stream, context"), ("B", 20, "Slab pools and memory planning"), ("C", 17, "Events and scheduling"),
         ("D", 16, "Transfers and merge buffers"), ("E", 10, "Cross-stream sharing"),
         ("F", 38, "Tensor node: modes, precision, padding, host access, names"), ("G", 12, "Routines, compile, link"),
         ("H", 19, "Kernels, buffers, schedules")]
HEAD = ["""Written by `tests/runtime/rows_document.py` from a run of `runtime-rows --json`; not by hand. A row is an id of the list of
features, the header symbol that carries it, the test that shows it and the devices on which that test passed. `lazy` is a
third backend in `tests/runtime/rows/lazy.c`, written against `ingot/backend.h` alone: its memory is not the host's, and its
work runs in random order when somebody waits. Rows that live in the generator are shown by generated libraries
(`tests/managed/rows`): compiled ahead of time on `sync` and `multicore`, and by libtcc on `jit`. A star marks rows that have
no test that runs here yet, and say why.""",
        """`mock` has the shape of a CUDA backend (`tests/runtime/rows/mock.c`): its queues only issue, its device finishes later, from a
thread of its own. `cuda` is `runtime/cuda.c` over the driver that stands in for NVIDIA's (`tests/cuda/driver`), with the kernels of
`tests/runtime/rows/kernels.cu`. `faults` counts what `tests/runtime/faults.py` plants for the row."""]
# What the tests keep: by device, as the page names them.
KEPT = ["sync", "multicore", "lazy", "mock", "cuda", "generator-sync", "generator-multicore", "generator-jit"]


def page(results):
    rows = {}
    for one in results:
        tests = rows.setdefault(one["row"], {})
        entry = tests.setdefault(one["test"], {"symbol": one["symbol"], "pass": [], "fail": [], "skip": []})
        entry[one["result"]].append((one["device"], one.get("reason", "")))
    lines = ["# The runtime, row by row", ""] + [line for text in HEAD for line in [*textwrap.wrap(text, 120, break_on_hyphens=False), ""]]
    faults = collections.Counter(fault[0] for fault in FAULTS)
    missing, failing = [], []
    for letter, count, title in PARTS:
        lines += [f"## {letter}. {title}", "", "| row | symbol | test | passed on | faults | not run |", "|---|---|---|---|---|---|"]
        for number in range(1, count + 1):
            name = f"{letter}{number}"
            if name not in rows:
                missing.append(name)
                continue
            for test, entry in rows[name].items():
                failing += [name] if entry["fail"] else []
                passed = ", ".join(device for device, _ in entry["pass"])
                skipped = "; ".join(reason if device == "all" else f"{device}: {reason}" for device, reason in entry["skip"])
                symbol = "" if entry["symbol"] == "-" else f"`{entry['symbol']}`"
                lines.append(f"| {name}{'' if passed else ' *'} | {symbol} | {test} | {passed} | {faults[name] or ''} | {skipped} |")
        lines.append("")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "figures.md")) as file:
        lines.append(file.read())
    return "\n".join(lines), missing, failing


def answers(*command):
    return json.loads(subprocess.run([*command, "--json"], stdout=subprocess.PIPE, text=True).stdout)


def keep(path, *command):
    """The rows, once a check: the page is made of what is kept."""
    results = answers(*command)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        json.dump(results, out)
    counts = collections.Counter(one["result"] for one in results)
    for one in results:
        if one["result"] == "fail":
            print("fail", one["row"], one["device"], one["test"] + ":", one.get("reason", ""))
    print(", ".join(f"{counts[word]} {word}" for word in ("pass", "fail", "skip")))
    sys.exit(counts["fail"] > 0 or not results)


def main():
    if sys.argv[1] == "--keep":
        keep(*sys.argv[2:])
    program, path = sys.argv[1:3]
    if os.path.isdir(program):
        results = []
        for name in KEPT:
            with open(os.path.join(program, name + ".json")) as file:
                results += json.load(file)
    else:
        results = answers(program)
    text, missing, failing = page(results)
    for what, names in ("missing", missing), ("failing", failing):
        if names:
            sys.exit(f"rows {what}: {' '.join(names)}")
    without = {one["reason"] for one in results if one["result"] == "skip" and one["device"] == "cuda"}
    if without:
        print("skipped: cuda: " + "; ".join(without))
        sys.exit(77)
    if "--check" not in sys.argv:
        with open(path, "w") as out:
            out.write(text)
    elif sorted(open(path).read().split("\n")) != sorted(text.split("\n")):              # a row's tests may come in another order
        sys.exit(f"{path} is not what this run gives: write it with {sys.argv[0]}")


main()
