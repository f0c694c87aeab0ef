#!/usr/bin/env python3
"""emulator.py: the emulator runs right kernels right, and finds every planted fault: barriers that are missing or divergent, lanes that stay away
from a shuffle, accesses outside of shared and global memory, asynchronous copies that no one waits for or meets after; races between blocks and
in one; with its counters, bank conflicts.

    emulator.py        exit 0: right, 1: wrong, 77: no C++ compiler"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EMULATOR = os.path.join(HERE, "..", "..", "backends", "cuda", "emulator")
ASAN = ["-fsanitize=address", "-fsanitize-sections=emulated_shared"]


def line_of(words, after=0):
    """The line of kernels.cu with these words: the first, or `after` others."""
    with open(os.path.join(HERE, "kernels.cu")) as f:
        return [n for n, line in enumerate(f, 1) if words in line][after]


WATCHED = ["-fsanitize=thread"]                                # of the kernels alone, and races.cpp beside
COUNTED = WATCHED + ["-DCOUNTED"]                              # and counters.cpp
RACE = r"found: %s: block \d+,\d+,\d+: thread \d+: line \d+: a race in a block: it (reads|writes) what thread \d+ (reads|writes|copies) at line [\d<]+, no barrier between"
SLOWER = 4                                                     # times what the emulator alone takes
QUIET = range(1, 10)                                           # faults of the kernel `quiet`: no order shows them, the counters do
# (fault, more flags, exit status, what the output must say)
CASES = [
    (None, [], 0, r"^right$"),
    (None, ASAN, 0, r"^right$"),
    ("READ_EARLY", [], 1, r"matmul, order 0: \d+ wrong"),
    ("WRITE_EARLY", [], 1, r"matmul, order 0: \d+ wrong"),
    ("WARP_EARLY", [], 1, r"reverse, order 0: \d+ wrong"),
    ("DIVERGE", [], 2, r"found: reduce: block 0,0,0: divergent __syncthreads: thread 0 at line \d+, thread 128 at line \d+"),
    ("LEAVE", [], 2, r"found: reduce: .*divergent __syncthreads: thread 0 waits at line \d+, 128 threads have left"),
    ("WARP", [], 2, r"found: reduce: .*divergent warp: thread 0 waits at line \d+, thread 16 at line \d+"),
    ("COPY_ALIGN", [], 2, r"found: staged: block 0,0,0: thread 0: line \d+: an asynchronous copy is misaligned"),
    ("COPY_WAIT", [], 1, r"staged, order 0: \d+ wrong"),
    ("COPY_MEET", [], 1, r"staged, order 0: \d+ wrong"),
    ("COPY_REFILL", [], 1, r"staged, order 1: \d+ wrong"),
    ("COPY_LEFT", [], 2, r"found: staged: .*thread 0: line \d+: no one waited for this asynchronous copy"),
    (None, WATCHED, 0, r"^right$"),
    (None, COUNTED, 0, r"^right$"),
    ("BANKS", COUNTED, 0, r"^transpose\t%d\t8\t256\t32\t8$" % line_of("square[threadIdx.x][i]")),
    ("RACE_READ", WATCHED, 2, r"found: halo: block 1,0,0: thread 0: line %d: a race between blocks: it reads what block 0,0,0 writes" % line_of("i ? x[i - 1]")),
    ("RACE_WRITE", WATCHED, 2, r"found: halo: block 1,0,0: thread 0: line %d: a race between blocks: it writes what block 0,0,0 writes" % line_of("y[i] = x[i] + left")),
    ("RACE_LATE", WATCHED, 2, r"found: halo: block 7,0,0: thread 31: line %d: a race between blocks: it writes what block [0-6],0,0 reads" % line_of("x[255] = x[255]")),
    # Races between the threads of a block that an order of threads or copies shows, too.
    *((fault, WATCHED, 2, RACE % kernel) for fault, kernel in (("READ_EARLY", "matmul"), ("WRITE_EARLY", "matmul"), ("WARP_EARLY", "reverse"), ("COPY_WAIT", "staged"), ("COPY_MEET", "staged"),
                                                               ("COPY_REFILL", "staged"))),
    ("SHARED", ASAN, 1, r"AddressSanitizer: global-buffer-overflow[\s\S]*#0 .* in reduce .*kernels\.cu:\d+"),
    ("GLOBAL", ASAN, 1, r"AddressSanitizer: heap-buffer-overflow[\s\S]*#0 .* in matmul .*kernels\.cu:\d+"),
]


def cxx():
    """The C++ compiler, and whether it is g++; ends where there is none."""
    compiler = os.environ.get("CXX") or shutil.which("g++")
    if not compiler:
        print("skipped: no g++")
        sys.exit(77)
    return compiler, "Free Software Foundation" in subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout


def main():
    compiler, is_gnu = cxx()
    wrong, objects, times = 0, {}, []
    with tempfile.TemporaryDirectory(prefix="emulator.") as folder:
        for fault, flags, status, says in CASES:
            if flags and not is_gnu:
                print("%s under AddressSanitizer: skipped, -fsanitize-sections is g++'s" % fault)
                continue
            program, counts = os.path.join(folder, "test"), os.path.join(folder, "counts")
            more = ["-DBUG_" + fault] if fault else []
            common = [compiler, "-std=c++17", "-Wall", "-Wextra", "-O1", "-g", "-ffp-contract=off", "-I", EMULATOR]
            test, watched = os.path.join(HERE, "emulator_test.cpp"), flags in (WATCHED, COUNTED)
            parts = [os.path.join(EMULATOR, part) for part in ("emulator.cpp", "races.cpp", "counters.cpp")[:3 if flags == COUNTED else 2 if watched else 1]]
            beside = [] if watched else flags
            built = subprocess.run([*common, *more, *flags, "-c", test, "-o", program + ".o"], capture_output=True, text=True)
            for part in parts:                                     # once for each set of flags
                objects.setdefault((part, *beside), os.path.join(folder, "part%d.o" % len(objects)))
                if not built.returncode and not os.path.exists(objects[part, *beside]):
                    compiled = subprocess.run([*common, *beside, "-c", part, "-o", objects[part, *beside]], capture_output=True, text=True)
                    built.returncode, built.stderr = compiled.returncode, built.stderr + compiled.stderr
            if not built.returncode:
                linked = subprocess.run([*common, *beside, program + ".o", *[objects[part, *beside] for part in parts], "-o", program], capture_output=True, text=True)
                built.returncode, built.stderr = linked.returncode, built.stderr + linked.stderr
            if built.returncode or "warning" in built.stderr:
                print("%s: does not compile without a word:\n%s" % (fault, built.stderr[:2000]))
                wrong += 1
                continue
            done = subprocess.run([program], capture_output=True, text=True, timeout=120, env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0", INGOT_EMULATOR_COUNTS=counts))
            output = done.stdout + done.stderr
            if os.path.exists(counts):
                with open(counts) as f:
                    output += f.read()
                os.remove(counts)
            right = done.returncode == status and re.search(says, output, re.M)
            print("%-12s %s %s" % (fault or "no fault", "with AddressSanitizer" if flags == ASAN else "counted" if flags == COUNTED else "watched" if flags else "", "as expected" if right else "WRONG: exit %d\n%s" % (
                done.returncode, output[:3000])), flush=True)
            wrong += not right
            if not fault and flags in ([], WATCHED):
                times.append(min(int(subprocess.run([program, "0"], capture_output=True, text=True, timeout=120).stdout) for _ in range(3)))
            for number in QUIET if not fault and flags != ASAN else ():
                done = subprocess.run([program, str(number)], capture_output=True, text=True, timeout=120)
                if done.returncode != (2 if flags else 0) or not re.search(RACE % "quiet" if flags else "^right$", done.stdout, re.M):
                    print("quiet %d, %s: WRONG: exit %d\n%s" % (number, "watched" if flags else "in each order", done.returncode, done.stdout[:2000]))
                    wrong += 1
    if len(times) == 2:
        print("who watches takes %.1f times the CPU's time, at most %d are wanted" % (times[1] / times[0], SLOWER))
        wrong += times[1] > SLOWER * times[0]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
