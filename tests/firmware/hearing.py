#!/usr/bin/env python3
"""hearing.py: examples/keyword on an emulated cortex-m4: audio front end and network in one library, a sound heard 20 ms at a time.

    hearing.py INGOT          exit 0: right, 1: wrong, 77: a tool or the network is missing

What the board prints, words and a hash of all features and scores, is what this machine prints; with `--optimise speed`, too.  The front end's
features are numpy's, but for one step of a byte.  Printed: instructions for a second of sound, RAM."""
import os
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


def build(ingot, folder, name, *options):
    made = os.path.join(folder, name)
    call(ingot, "build", os.path.join(folder, "front.onnxtxt"), "words=" + NETWORK, "--name", "keyword", *STATES, *options, "-o", made)
    return made


def features_wrong(ingot, folder):
    """How many features of the first hop are more than a step from numpy's."""
    sys.path.insert(0, EXAMPLE)
    import make
    with wave.open(os.path.join(folder, "sound.wav")) as f:
        samples = np.frombuffer(f.readframes(make.RATE), np.int16)
    hop, before = samples[6 * make.HOP:7 * make.HOP], samples[6 * make.HOP - (make.WINDOW - make.HOP):6 * make.HOP] / np.float32(32768)
    for name, array in ("samples", hop[None]), ("before", before[None].astype(np.float32)), ("frames", np.zeros((make.FRAMES - 1, make.FEATURES), np.int8)):
        np.save(os.path.join(folder, name + ".npy"), array)
    call(ingot, "run", "front.onnxtxt", *(word for name in ("samples", "before", "frames") for word in ("--input", "%s=%s.npy" % (name, name))),
                  "--output", "input=input.npy", cwd=folder)
    window = np.concatenate([before, hop / 32768]) * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(make.WINDOW) / make.WINDOW))
    energy = (abs(np.fft.rfft(window)) ** 2) @ np.array(make.bands()).reshape(make.BINS, make.BANDS) + 1e-6
    cosines = np.sqrt(2 / make.BANDS) * np.cos(np.pi / make.BANDS * np.outer(np.arange(make.BANDS) + 0.5, np.arange(make.FEATURES)))
    wanted = np.clip(np.round(np.log(energy) @ cosines / make.SCALE) + make.ZERO, -128, 127)
    return int(np.sum(abs(np.load(os.path.join(folder, "input.npy")).reshape(make.FRAMES, make.FEATURES)[-1] - wanted) > 1))


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
        far = features_wrong(ingot, folder)
        if far:
            print("WRONG: %d of 10 features are more than a step from numpy's" % far)
            wrong = 1
        host = build(ingot, folder, "host")
        call("gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-DHOSTED", "-I" + host, os.path.join(EXAMPLE, "main.c"), os.path.join(host, "libkeyword.a"),
                      "-o", "hosted", cwd=folder)
        said = call(os.path.join(folder, "hosted"))
        print(said.strip())
        for optimise in "size", "speed":
            made, elf = build(ingot, folder, optimise, "--cpu", "cortex-m4", "--optimise", optimise), os.path.join(folder, optimise + ".elf")
            link(BOARDS["cortex-m4"], folder, elf, os.path.join(EXAMPLE, "main.c"), made, ["print.c", os.path.join(made, "libkeyword.a")])
            code, text, by_symbol = run_board(BOARDS["cortex-m4"], folder, elf, os.path.join(folder, optimise + ".counts"))
            if code or text.strip() != said.strip():
                print("WRONG --optimise %s: exit %d\n%s" % (optimise, code, text))
                wrong = 1
            defined = symbols(os.path.join(made, "libkeyword.a"))[0]
            hearing, saying = (sum(n for s, n in by_symbol.items() if s in defined and s.startswith("keyword_" + part)) for part in ("front", "words"))
            print("--optimise %s: %d instructions for a second of sound, %d for each of 50 frames, %d for each of 5 words" % (
                optimise, hearing + saying, hearing // 50, saying // 5))
    return wrong


if __name__ == "__main__":
    sys.exit(main())
