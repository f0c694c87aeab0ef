#!/usr/bin/env python3
"""bits.py: builds bits.c for every prelude and compiler that is here, runs it, and compares: all must print the same.

    bits.py [--work DIR] [--quick]      exit 0: all the same, 1: not, 77: nothing could be compared

--quick: one level and standard of C each, -O1 by clang and in C++, which each prelude meets by one compiler, as neon does; by clang the widest and what has no FMA; emulated and tcc's, which run slowly, take a seventh of the elements."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import words

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from here import flags, v3, v4                                # noqa: E402

STRICT = ["-D_DEFAULT_SOURCE", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-pedantic", "-Werror"]


def builds(quick):
    """name, target, command, how to run"""
    has = {"avx512": v4(), "avx2": v3(), "scalar_fma": "fma" in flags(), "scalar_libm": True, "scalar_soft": True}
    for name, target in words.TARGETS.items():
        if name == "neon":
            for cc in (["aarch64-linux-gnu-gcc"], ["clang", "--target=aarch64-linux-gnu"])[:1 if quick else 2]:
                if shutil.which(cc[0]) and shutil.which("qemu-aarch64-static") and shutil.which("aarch64-linux-gnu-gcc"):
                    yield "neon " + cc[0], target, cc + ["-O2", "-std=c11", "-static"] + STRICT, ["qemu-aarch64-static"]
            if not shutil.which("qemu-aarch64-static") or not shutil.which("aarch64-linux-gnu-gcc"):
                print("skipped: neon (needs gcc-aarch64-linux-gnu, qemu-user-static)")
            continue
        if not has[name]:
            print("skipped: %s (this CPU lacks it)" % name)
            continue
        for cc in "gcc", "clang":
            for level in ["-O1" if cc == "clang" else "-O2"] if quick else ["-O0", "-O2", "-O3"]:
                for standard in ["-std=c99"] if quick else ["-std=c99", "-std=c11"]:
                    if shutil.which(cc) and not (quick and cc == "clang" and name not in ("avx512", "scalar_soft")):
                        yield "%s %s %s %s" % (name, cc, level, standard), target, [cc, level, standard] + STRICT + target.flags, []
        if name.startswith("scalar") and name != "scalar_fma" and shutil.which("tcc"):
            yield name + " tcc", target, ["tcc"], []
    for name in "avx512", "avx2", "scalar_soft":
        for cc in "g++", "clang++":
            if has[name] and shutil.which(cc) and not (quick and (cc == "clang++") != (name == "avx2")):
                yield "%s %s" % (name, cc), words.TARGETS[name], [cc, "-x", "c++", "-O1" if quick else "-O2", "-std=c++17"] + STRICT + words.TARGETS[name].flags, []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    work = os.path.abspath(options.work) if options.work else tempfile.mkdtemp(prefix="words.")
    os.makedirs(work, exist_ok=True)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "bits.c")) as file:
        body = file.read()
    first, wrong, count = None, [], 0
    for name, target, command, run in builds(options.quick):
        base = os.path.join(work, name.replace(" ", "_").replace("=", ""))
        with open(base + ".c", "w") as file:
            file.write(words.prelude(body, target) + body)
        own = os.path.basename(base)                          # in its folder: ccache knows a file by the name that it is given
        built = subprocess.run(command + [own + ".c", "-o", own, "-lm"], capture_output=True, text=True, cwd=work)
        if built.returncode:
            print("%s does not build:\n%s" % (name, built.stderr[:3000]))
            wrong.append(name)
            continue
        few = options.quick and (run or command[0] == "tcc")
        ran = subprocess.run(run + [base] + ["few"] * bool(few), capture_output=True, text=True)
        lines = ran.stdout.splitlines()
        count += 1
        if first is None:
            first, first_name, first_few = lines, name, few
        ours = [line for line in first if not (few and line.startswith("all "))]
        lines = [line for line in lines if not (first_few and line.startswith("all "))]
        differ = [b for a, b in zip(ours, lines) if a != b]
        if ran.returncode or differ or len(lines) != len(ours) or not lines:
            wrong.append(name)
            print("%s: exit %d, %d of %d lines differ from %s: %s" % (name, ran.returncode, len(differ), len(ours), first_name, "; ".join(differ[:8])))
    if not options.work:
        shutil.rmtree(work)
    print("%d builds, %d lines each, wrong: %s" % (count, len(first or []), ", ".join(wrong) or "none"))
    sys.exit(1 if wrong else 0 if count > 1 else 77)


main()
