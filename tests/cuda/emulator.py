#!/usr/bin/env python3
"""emulator.py: the emulator runs right kernels right, and finds every planted fault: barriers that are missing or divergent, lanes that stay away
from a shuffle, accesses outside of shared and global memory, asynchronous copies that no one waits for or meets after.

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
    ("SHARED", ASAN, 1, r"AddressSanitizer: global-buffer-overflow[\s\S]*#0 .* in reduce .*kernels\.cu:\d+"),
    ("GLOBAL", ASAN, 1, r"AddressSanitizer: heap-buffer-overflow[\s\S]*#0 .* in matmul .*kernels\.cu:\d+"),
]


def main():
    compiler = os.environ.get("CXX") or shutil.which("g++")
    if not compiler:
        print("skipped: no g++")
        return 77
    is_gnu = "Free Software Foundation" in subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="emulator.") as folder:
        for fault, flags, status, says in CASES:
            if flags and not is_gnu:
                print("%s under AddressSanitizer: skipped, -fsanitize-sections is g++'s" % fault)
                continue
            program = os.path.join(folder, "test")
            more = ["-DBUG_" + fault] if fault else []
            built = subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-O1", "-g", "-ffp-contract=off", "-I", EMULATOR, *more, *flags,
                                    os.path.join(HERE, "emulator_test.cpp"), os.path.join(EMULATOR, "emulator.cpp"), "-o", program],
                                   capture_output=True, text=True)
            if built.returncode or "warning" in built.stderr:
                print("%s: does not compile without a word:\n%s" % (fault, built.stderr[:2000]))
                wrong += 1
                continue
            done = subprocess.run([program], capture_output=True, text=True, timeout=120, env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
            output = done.stdout + done.stderr
            right = done.returncode == status and re.search(says, output, re.M)
            print("%-12s %s %s" % (fault or "no fault", "with AddressSanitizer" if flags else "", "as expected" if right else "WRONG: exit %d\n%s" % (
                done.returncode, output[:3000])), flush=True)
            wrong += not right
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
