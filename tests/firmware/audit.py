#!/usr/bin/env python3
"""audit.py: what MISRA's rules and an abstract interpreter say of the sources for a cortex-m4: MLPerf Tiny's quantised networks, and digits.

    audit.py INGOT          exit 0: right, 1: wrong, 77: a tool is missing

cppcheck reads every source without defines, and its addon for MISRA C 2012 raises the alarms that misra.tsv has, rule by rule and no other
(INGOT_UPDATE=1 writes that file; docs/firmware.md says why each kind stays).  With INGOT_LONG=1 and Debian's frama-c-base, Eva proves of any
input of PROVEN that no access lies outside its array and none reads what was not written: no alarm."""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

from boards import CASES, HERE, ROOT, call, manifest_of
from firmware import QUANTISED

PROVEN = {"mlperf_kws_i8": False, "mlperf_ad_i8": True}  # whether loops of tiles are long; the other networks take longer than a quarter of an hour
GOLDEN = os.path.join(HERE, "misra.tsv")
DRIVER = """#include "NAME.h"
static unsigned char workspace[UPPER_WORKSPACE_BYTES] __attribute__((aligned(UPPER_WORKSPACE_ALIGN)));
static TYPE given[UPPER_INPUT_ELEMENTS];
static MADE made[UPPER_OUTPUT_ELEMENTS];
extern volatile TYPE any;
int main(void)
{
	struct NAME_inputs in = { given };
	struct NAME_outputs out = { made };
	struct NAME_context context = { .workspace = workspace };
	for (int i = 0; i < UPPER_INPUT_ELEMENTS; i++)
		given[i] = any;
	return NAME_run(&in, &out, &context);
}
"""


def misra(folder, sources):
    """The alarms by rule, and what cppcheck says besides."""
    done = subprocess.run(["cppcheck", "--quiet", "--std=c99", "--max-configs=1", "--suppress=toomanyconfigs", "--suppress=missingIncludeSystem",
                           "--enable=warning,portability,information", "--addon=misra", *sources], cwd=folder, capture_output=True, text=True)
    said = re.findall(r"^\S+: (\w+: .*) \[(\S+)\]$", done.stderr, re.M)
    return collections.Counter(rule[len("misra-c2012-"):] for _, rule in said if rule.startswith("misra")), [what for what, rule in said if not rule.startswith("misra")]


def eva(folder, manifest, sources, long):
    """Loops of up to 16 rounds are unrolled; where they are long, all of the functions that make a tile, whose pointers walk."""
    name, words = manifest["prefix"], {"int8": "signed char", "uint8": "unsigned char", "float": "float"}
    text = DRIVER
    for word, value in (("TYPE", words[manifest["inputs"][0]["type"]]), ("MADE", words[manifest["outputs"][0]["type"]]), ("NAME", name), ("UPPER", name.upper()),
                        ("_INPUT_", "_%s_" % manifest["inputs"][0]["field"].upper()), ("_OUTPUT_", "_%s_" % manifest["outputs"][0]["field"].upper())):
        text = text.replace(word, value)
    with open(os.path.join(folder, "driver.c"), "w") as f:
        f.write(text)
    tiles = {tile for source in sources if long for tile in re.findall(r"^static NOINLINE void (\w+)\(", open(os.path.join(folder, source)).read(), re.M)}
    return re.findall(r"\[eva:alarm\] (.*\n.*)", call("frama-c", "-eva", "-eva-precision", "0", "-eva-auto-loop-unroll", "16", *(["-eva-slevel-function", ",".join(tile + ":3000" for tile in sorted(tiles))] if tiles else []),
                                                      "-eva-no-show-progress", "-warn-special-float", "none", "-machdep", "gcc_x86_32", "-cpp-extra-args=-D__cppcheck__",
                                                      *(os.path.join(folder, one) for one in ["driver.c", *sources]), seconds=1500))


def main():
    ingot, wrong, table = os.path.abspath(sys.argv[1]), 0, ""
    if not shutil.which("cppcheck"):
        print("skipped: no cppcheck")
        return 77
    networks = {"digits": os.path.join(ROOT, "examples", "digits", "digits.onnx")}
    networks.update((name, os.path.join(CASES, "models", name, "model.onnx")) for name in QUANTISED)
    version = call("cppcheck", "--version").strip()
    golden = open(GOLDEN).read().splitlines()
    for name, model in networks.items():
        if not os.path.exists(model):
            print("%s is left out: no %s" % (name, model))
            continue
        with tempfile.TemporaryDirectory() as folder:
            call(ingot, "build", model, "--name", name, "--cpu", "cortex-m4", "--no-compile", "-o", folder)
            manifest = manifest_of(folder)
            sources = sorted(one for one in os.listdir(folder) if one.endswith(".c"))
            found, besides = misra(folder, [one for one in sources if "_weights" not in one])
            rows = ["%s\t%s\t%d" % (name, rule, found[rule]) for rule in sorted(found, key=lambda rule: [int(part) for part in rule.split(".")])]
            table += "".join(row + "\n" for row in rows)
            if besides:
                print("WRONG %s: cppcheck: %s" % (name, besides))
                wrong = 1
            if version == golden[0] and rows != [row for row in golden if row.startswith(name + "\t")] and not os.environ.get("INGOT_UPDATE"):
                print("WRONG %s: these are not the alarms of misra.tsv: %s" % (name, sorted(set(rows) ^ {row for row in golden if row.startswith(name + "\t")})))
                wrong = 1
            print("%s: %d alarms of %d rules of MISRA's" % (name, sum(found.values()), len(found)))
            if name in PROVEN and shutil.which("frama-c") and os.environ.get("INGOT_LONG"):
                alarms = eva(folder, manifest, sources, PROVEN[name])
                print("%s: Eva: %d alarms" % (name, len(alarms)))
                if alarms:
                    print("WRONG %s: %s" % (name, alarms))
                    wrong = 1
    if os.environ.get("INGOT_UPDATE"):
        with open(GOLDEN, "w") as f:
            f.write(version + "\n" + table)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
