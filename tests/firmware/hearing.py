#!/usr/bin/env python3
"""hearing.py: examples/keyword on emulated boards: audio front end and network in one library, a sound heard 20 ms at a time.

    hearing.py INGOT          exit 0: right, 1: wrong, 77: a tool or the network is missing

Of the front end in floats and of the one in integers: what the board prints, words and a hash of all features and scores, is what this machine
prints; the features are numpy's, but for one step of a byte.  Printed: instructions for a second of sound, RAM.  INGOT_LONG=1: on every CPU."""
import os
import re
import sys
import tempfile
import wave

from boards import ARM, BOARDS, CASES, ROOT, call, link, make_counter, missing, run_board, symbols

import numpy as np

sys.dont_write_bytecode = True  # make.py is the example's
EXAMPLE = os.path.join(ROOT, "examples", "keyword")
NETWORK = os.path.join(CASES, "models", "mlperf_kws_i8", "model.onnx")
PRINT = """#define print board_print
#define print_number board_number
#include "semihost.h"
#undef print
#undef print_number
void print(const char *text);
void print_number(uint32_t number);
void print(const char *text) { board_print(text); }
void print_number(uint32_t number) { board_number(number); }
"""
STATES = ("--state", "before=before_next", "--state", "frames=frames_next")
FPU = ("cortex-m4", "size"), ("cortex-m4", "speed")
RUNS = {"front": FPU, "front_int16": FPU + (("cortex-m3", "size"),)}  # floats without an FPU take thirty times as long


def build(ingot, folder, front, name, *options):
    made = os.path.join(folder, front + "_" + name)
    call(ingot, "build", "front=" + os.path.join(folder, front + ".onnxtxt"), "words=" + NETWORK, "--name", "keyword", *STATES, *options, "-o", made)
    return made


def features_wrong(ingot, folder, front, at):
    """How many features of the hop are more than a step from numpy's."""
    sys.path.insert(0, EXAMPLE)
    import make
    with wave.open(os.path.join(folder, "sound.wav")) as f:
        samples = np.frombuffer(f.readframes(make.RATE), np.int16)
    heard = samples[(at + 1) * make.HOP - make.WINDOW:(at + 1) * make.HOP]
    before = heard[:-make.HOP] if front == "front_int16" else (heard[:-make.HOP] / 32768).astype(np.float32)
    for name, array in ("samples", heard[None, -make.HOP:]), ("before", before[None]), ("frames", np.zeros((make.FRAMES - 1, make.FEATURES), np.int8)):
        np.save(os.path.join(folder, name + ".npy"), array)
    call(ingot, "run", front + ".onnxtxt", *(word for name in ("samples", "before", "frames") for word in ("--input", "%s=%s.npy" % (name, name))),
                  "--output", "input=input.npy", cwd=folder)
    power = abs(np.fft.rfft(heard / 32768 * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(make.WINDOW) / make.WINDOW)))) ** 2
    energy = np.array([sum(power[i] * weight for i, weight in band) for band in make.bands()]) + 1e-6
    cosines = np.sqrt(2 / make.BANDS) * np.cos(np.pi / make.BANDS * np.outer(np.arange(make.BANDS) + 0.5, np.arange(make.FEATURES)))
    wanted = np.clip(np.round(np.log(energy) @ cosines / make.SCALE) + make.ZERO, -128, 127)
    return int(np.sum(abs(np.load(os.path.join(folder, "input.npy")).reshape(make.FRAMES, make.FEATURES)[-1] - wanted) > 1))


def hear(ingot, folder, front, cpu, optimise, said):
    """Whether a board says the same; what it takes is printed."""
    made, elf = build(ingot, folder, front, cpu + optimise, "--cpu", cpu, "--optimise", optimise), os.path.join(folder, optimise + ".elf")
    link(BOARDS[cpu], folder, elf, os.path.join(EXAMPLE, "main.c"), made, ["print.c", os.path.join(made, "libkeyword.a")])
    code, text, by_symbol = run_board(BOARDS[cpu], folder, elf, os.path.join(folder, optimise + ".counts"))
    if code or text.strip() != said.strip():
        print("WRONG %s %s --optimise %s: exit %d\n%s" % (front, cpu, optimise, code, text))
    defined = symbols(os.path.join(made, "libkeyword.a"))[0]
    all_of, words = (sum(n for s, n in by_symbol.items() if (s in defined and s.startswith(part)) or (part == "keyword_" and s.startswith("__"))) for part in ("keyword_", "keyword_words"))
    headers = "".join(open(os.path.join(made, file)).read() for file in sorted(os.listdir(made)) if file.endswith(".h"))
    takes = re.findall(r"^#define KEYWORD_(\w*(?:WORKSPACE|FRONT_WEIGHTS|STATE|STACK)_BYTES) (\d+)", headers, re.M)
    text_bytes = sum(int(line.split()[0]) for line in call(BOARDS[cpu][0] + "size", os.path.join(made, "libkeyword.a")).splitlines()[1:])
    print("%s, %s, %s: %d instructions for a second of sound, %d for each of 50 frames, %d for each of 5 words; %d bytes of text, %s" % (
        front, cpu, optimise, all_of, (all_of - words) // 50, words // 5, text_bytes, ", ".join("%s %s" % one for one in takes)))
    return code or text.strip() != said.strip()


def main():
    ingot, wrong = os.path.abspath(sys.argv[1]), 0
    if missing(ARM + "gcc", "qemu-system-arm", "gcc"):
        return 77
    if not os.path.exists(NETWORK):
        print("skipped: no " + NETWORK)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        make_counter(folder)
        call(sys.executable, os.path.join(EXAMPLE, "make.py"), folder)
        for name, text in ("print.c", PRINT), ("case.S", ""):
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        for front in RUNS:
            far = sum(features_wrong(ingot, folder, front, at) for at in (6, 30))
            if far:
                print("WRONG %s: %d of 20 features are more than a step from numpy's" % (front, far))
                wrong = 1
            host = build(ingot, folder, front, "host")
            call("gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-DHOSTED", "-I" + host, os.path.join(EXAMPLE, "main.c"), os.path.join(host, "libkeyword.a"),
                          "-o", "hosted", cwd=folder)
            said = call(os.path.join(folder, "hosted"))
            print(said.strip())
            for cpu, optimise in [(cpu, optimise) for cpu in BOARDS for optimise in ("size", "speed")] if os.environ.get("INGOT_LONG") else RUNS[front]:
                wrong |= hear(ingot, folder, front, cpu, optimise, said)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
