#!/usr/bin/env python3
"""audit.py: what MISRA's rules and an abstract interpreter say of the sources for a cortex-m4: MLPerf Tiny's quantised networks, and digits.

    audit.py INGOT          exit 0: right, 1: wrong, 77: a tool is missing

cppcheck reads every source without defines, and its addon for MISRA C 2012 raises the alarms that misra.tsv has, rule by rule and no other
(of half the networks; with INGOT_LONG=1 of all; INGOT_UPDATE=1 writes that file; docs/firmware.md says why each kind stays).  With INGOT_LONG=1 and Debian's frama-c-base, Eva proves of each
kernel, whatever it reads, that no access lies outside of the tensor, and what it has for itself is written before it is read: no alarm."""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

from boards import CASES, HERE, ROOT, call, np
from firmware import QUANTISED

GOLDEN = os.path.join(HERE, "misra.tsv")
TYPES = {"int8": "signed char", "uint8": "unsigned char", "bool": "unsigned char", "int16": "short", "int32": "int", "int64": "long long", "float": "float"}
KERNEL = re.compile(r"/\* k\d+\w*: .*?(c/\w+\.jinja).*\n((?: \* .*\n)+) \*/\nvoid (\w+)\(")
ARGUMENT = re.compile(r"^ \* (\w+) (<=|=>) .*? (\w+)\[([\d,]*)\]$", re.M)


def misra(folder, sources):
    """The alarms by rule, and what cppcheck says besides."""
    done = subprocess.run(["cppcheck", "--quiet", "--std=c99", "--max-configs=1", "--suppress=toomanyconfigs", "--suppress=missingIncludeSystem",
                           "--enable=warning,portability,information", "--addon=misra", *sources], cwd=folder, capture_output=True, text=True)
    said = re.findall(r"^\S+: (\w+: .*) \[(\S+)\]$", done.stderr, re.M)
    return collections.Counter(rule[len("misra-c2012-"):] for _, rule in said if rule.startswith("misra")), [what for what, rule in said if not rule.startswith("misra")]


def driver(header, name, arguments, call):
    """Arrays of their own for all that the kernel reads and writes, what is read being anything."""
    text, lines = '#include "%s"\n' % header, ""
    for field, way, kind, dims in arguments:
        count = int(np.prod([int(one) for one in dims.split(",") if one]))
        text += "static %s %s[%d];\nextern volatile %s any_%s;\n" % (TYPES[kind], field, count, TYPES[kind], field)
        if way == "<=":
            lines += "\tfor (int i = 0; i < %d; i++)\n\t\t%s[i] = any_%s;\n" % (count, field, field)
    return text + "void main(void)\n{\n%s\t%s(%s, %s);\n}\n" % (lines, name, ", ".join(one[0] for one in arguments), call)


def eva(folder, sources):
    """How many kernels, and Eva's alarms.  Gauges tell how a pointer walks with its loop; the rounds of a kernel of strips are told apart, as are short loops
    over elements that stay with a kernel."""
    texts = {source: open(os.path.join(folder, source)).read() for source in sources}
    calls = {name: blocks for text in texts.values() for name, blocks in re.findall(r"^\t(\w+_k\d+\w*)\(.*, (\d+, \d+)\);$", text, re.M)}
    header, alarms, kernels = next(one for one in os.listdir(folder) if one.endswith("_kernels.h")), [], len(calls)
    for source, text in texts.items():
        for template, lines, name in KERNEL.findall(text):
            with open(os.path.join(folder, "driver.c"), "w") as f:
                f.write(driver(header, name, ARGUMENT.findall(lines), calls.pop(name)))
            told_apart = {"c/strips.jinja": ["-eva-slevel-function", name + ":5000"], "c/loops.jinja": ["-eva-auto-loop-unroll", "16"]}.get(template, [])
            said = call_eva(folder, source, told_apart)
            alarms += ["%s: %s" % (name, alarm) for alarm in re.findall(r"\[eva:alarm\] (.*\n.*)", said)]
    return kernels, alarms + ["%s was not looked at" % name for name in calls]


def call_eva(folder, source, options):
    return call("frama-c", "-eva", "-eva-precision", "0", "-eva-domains", "gauges", *options, "-eva-no-show-progress", "-warn-special-float", "none",
                "-machdep", "gcc_x86_32", "-cpp-extra-args=-D__cppcheck__ -I" + folder, *(os.path.join(folder, one) for one in ("driver.c", source)), seconds=1500)


def main():
    ingot, wrong, table = os.path.abspath(sys.argv[1]), 0, ""
    if not shutil.which("cppcheck"):
        print("skipped: no cppcheck")
        return 77
    networks = {"digits": os.path.join(ROOT, "examples", "digits", "digits.onnx")}
    all_of = "INGOT_LONG" in os.environ or "INGOT_UPDATE" in os.environ
    networks.update((name, os.path.join(CASES, "models", name, "model.onnx")) for name in QUANTISED if all_of or name in ("mlperf_ic_i8", "mlperf_ad_i8"))
    version = call("cppcheck", "--version").strip()
    golden = open(GOLDEN).read().splitlines()
    for name, model in networks.items():
        if not os.path.exists(model):
            print("%s is left out: no %s" % (name, model))
            continue
        with tempfile.TemporaryDirectory() as folder:
            call(ingot, "build", model, "--name", name, "--cpu", "cortex-m4", "--no-compile", "-o", folder)
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
            if name in QUANTISED and shutil.which("frama-c") and os.environ.get("INGOT_LONG"):
                kernels, alarms = eva(folder, [one for one in sources if "_weights" not in one])
                print("%s: Eva: %d kernels, %d alarms" % (name, kernels, len(alarms)))
                if alarms:
                    print("WRONG %s: %s" % (name, alarms))
                    wrong = 1
    if os.environ.get("INGOT_UPDATE"):
        with open(GOLDEN, "w") as f:
            f.write(version + "\n" + table)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
