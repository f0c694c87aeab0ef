#!/usr/bin/env python3
"""conflicts.py: the kernels of the networks and of shapes.py on the emulator with its counters: no race between blocks, and no more conflicts of shared memory's
banks than tests/cuda/conflicts.tsv allows.

    conflicts.py INGOT [--write] [NAME...]        exit 0: right, 1: wrong, 77: no g++, or nothing to run
NAME: a network of networks.py or a shape; else those of the short suite (INGOT_LONG=1: all).  A line of the table is a kernel: the most words that one request
wants of one bank, and how many percent more waves that makes of all its requests.  What has no line has none.  --write makes the lines of what is run anew."""
import argparse
import collections
import os
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "models")]
import models
import networks
import shapes

TABLE = os.path.join(HERE, "conflicts.tsv")
SHORT = ["bytes_borders", "tf32_inputs", "mlperf_ad_f32", "mlperf_kws_f32", "transposed", "one_row", "conv_1x1", "conv_few", "winograd_left", "winograd_2", "attention_odd"]
HEAD = """# network, kernel, most words of one bank in a request, percent of waves more than without conflicts.  Of the emulator's accesses (backends/cuda/emulator/counters.cpp).
# Written by tests/cuda/conflicts.py --write; what grows worse is a decision.
"""


def read():
    with open(TABLE) as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return {(network, kernel): (int(most), int(more)) for network, kernel, most, more in rows}


def counted(path):
    """{kernel: (most, percent more)} of those with conflicts, and how many kernels asked for shared memory at all."""
    waves, least, most = collections.Counter(), collections.Counter(), collections.Counter()
    with open(path) as f:
        for line in f:
            kernel, place, _, made, wanted, words = line.rstrip("\n").split("\t")
            if place == "all":
                waves[kernel] += int(made)
                least[kernel] += int(wanted)
                most[kernel] = max(most[kernel], int(words))
    return {kernel: (most[kernel], round(100 * (waves[kernel] - least[kernel]) / least[kernel])) for kernel in waves if waves[kernel] > least[kernel]}, \
        sum(waves[kernel] > 0 for kernel in waves)


def subjects(folder, named):
    """(name, what runs it: a function that returns what went wrong)"""
    for name, data in networks.cases(folder):
        if name in named:
            def network(ingot, environment, data=data):
                before = dict(os.environ)
                os.environ.update(environment)
                status, said = models.run(ingot, (os.path.join(data, "model.onnx"), data), "cuda-emulated", folder)
                os.environ.clear()
                os.environ.update(before)
                return said if status else ""
            yield name, network
    for name in shapes.EVERYWHERE:
        if name in named:
            def shape(ingot, environment, name=name):
                own = os.path.join(folder, name)
                os.makedirs(own)
                return shapes.run(ingot, own, shapes.write(own, name), shapes.SHAPES[name][1], "cuda-emulated", environment, *shapes.options_of(name))[1]
            yield name, shape


def main():
    parser = argparse.ArgumentParser(description="races between blocks, and bank conflicts")
    parser.add_argument("ingot")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    o = parser.parse_intermixed_args()
    if not shutil.which("g++") or os.environ.get("CXX", "g++") != "g++":
        print("skipped: no g++")
        return 77
    everything = networks.NAMES + ["transformer"] + shapes.EVERYWHERE
    unknown = set(o.names) - set(everything)
    if unknown:
        parser.error("no network and no shape: " + " ".join(sorted(unknown)))
    allowed = read() if os.path.exists(TABLE) else {}
    wrong = ran = 0
    with tempfile.TemporaryDirectory(prefix="conflicts.") as folder:
        for name, run in subjects(folder, o.names or (everything if o.write or os.environ.get("INGOT_LONG") else SHORT)):
            path = os.path.join(folder, name + ".counts")
            said = run(o.ingot, {"INGOT_EMULATOR_COUNTS": path})
            found, sharing = counted(path) if not said else ({}, 0)
            found = {re.search(r"k\d+_[a-z_]+$", kernel).group(): row for kernel, row in found.items()}
            if o.write:
                allowed = {key: row for key, row in allowed.items() if key[0] != name}
                allowed.update({(name, kernel): row for kernel, row in found.items()})
            over = ["%s: %d words of one bank, %d %% more waves; allowed are %d and %d" % (kernel, *row, *allowed.get((name, kernel), (1, 0)))
                    for kernel, row in found.items() if any(have > may for have, may in zip(row, allowed.get((name, kernel), (1, 0))))]
            print("%-16s %s" % (name, said or "; ".join(over) or "right: %d of %d kernels with shared memory have conflicts" % (len(found), sharing)), flush=True)
            wrong += bool(said) + len(over)
            ran += 1
    if o.write:
        with open(TABLE, "w") as f:
            f.write(HEAD + "".join("%s\t%s\t%d\t%d\n" % (*key, *allowed[key]) for key in sorted(allowed)))
    if not ran:
        print("skipped: no cases")
        return 77
    print("%d wrong" % wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
