#!/usr/bin/env python3
"""make.py FOLDER: front.onnxtxt, an audio front end as a graph, and sound.wav, a second of a made sound, 16 kHz.

One call of the front end hears 20 ms: with 10 ms of before that is a window of 480 samples, of which a DFT, 40 mel bands, a logarithm and a
cosine transform make 10 numbers; the last 49 of those frames are what the network sees."""
import math
import os
import struct
import sys
import wave

RATE, WINDOW, HOP, BANDS, FEATURES, FRAMES = 16000, 480, 320, 40, 10, 49
BINS = WINDOW // 2 + 1
SCALE, ZERO = 0.5846, 83  # of the network's input


def mel(hertz):
    return 1127 * math.log(1 + hertz / 700)


def bands():
    """Triangles that are even on the mel scale, from 20 to 4000 Hz: a row for each bin."""
    edges = [mel(20) + (mel(4000) - mel(20)) * i / (BANDS + 1) for i in range(BANDS + 2)]
    return [max(0, min((at - edges[b]) / (edges[b + 1] - edges[b]), (edges[b + 2] - at) / (edges[b + 2] - edges[b + 1])))
            for at in (mel(i * RATE / WINDOW) for i in range(BINS)) for b in range(BANDS)]


def floats(name, shape, values):
    return "float[%s] %s = {%s}" % (", ".join(map(str, shape)), name, ", ".join("%.9g" % v for v in values))


def front():
    constants = [
        floats("hann", (1, WINDOW), [0.5 - 0.5 * math.cos(2 * math.pi * i / WINDOW) for i in range(WINDOW)]),
        floats("mel", (BINS, BANDS), bands()),
        floats("cosines", (BANDS, FEATURES), [math.sqrt(2 / BANDS) * math.cos(math.pi / BANDS * (b + 0.5) * f) for b in range(BANDS) for f in range(FEATURES)]),
        "float tiny = {1e-6}, float scale = {%g}, int8 zero = {%d}, float unit = {%g}" % (SCALE, ZERO, 1 / 32768),
        "int64[1] first = {%d}, int64[1] last = {%d}, int64[1] one = {1}, int64[1] end = {%d}, int64[1] time = {1}" % (HOP, WINDOW, FRAMES),
        "int64[3] signal = {1, %d, 1}, int64[2] row = {1, %d}, int64[1] pair = {2}, int64[4] image = {1, %d, %d, 1}, int64 along = {1}" % (WINDOW, BINS, FRAMES, FEATURES)]
    nodes = [
        "sound = Cast <to = 1> (samples)", "hop = Mul (sound, unit)",
        "heard = Concat <axis = 1> (before, hop)", "before_next = Slice (heard, first, last, time)",
        "faded = Mul (heard, hann)", "faded_3 = Reshape (faded, signal)", "waves = DFT <onesided = 1, axis = 1> (faded_3)",
        "power = ReduceSumSquare <keepdims = 0> (waves, pair)", "energy = MatMul (power, mel)", "positive = Add (energy, tiny)",
        "loud = Log (positive)", "features = MatMul (loud, cosines)", "now = QuantizeLinear (features, scale, zero)",
        "all = Concat <axis = 0> (frames, now)", "first_row = Identity (one)", "frames_next = Slice (all, one, end, rows)", "input = Reshape (all, image)"]
    constants.append("int64[1] rows = {0}")
    nodes.remove("first_row = Identity (one)")
    return '<ir_version: 10, opset_import: ["" : 18]>\nfront (int16[1,%d] samples, float[1,%d] before, int8[%d,%d] frames) => (int8[1,%d,%d,1] input, float[1,%d] before_next, int8[%d,%d] frames_next)\n<%s>\n{\n%s\n}\n' % (
        HOP, WINDOW - HOP, FRAMES - 1, FEATURES, FRAMES, FEATURES, WINDOW - HOP, FRAMES - 1, FEATURES, ",\n".join(constants), "\n".join(nodes))


def sound():
    """Two vowels of a few harmonics, with some noise: nobody's voice."""
    seed, samples = 1, []
    for i in range(RATE):
        t = i / RATE
        pitch, shape = (130, (1, 0.7, 0.3, 0.5)) if t < 0.5 else (160, (0.4, 1, 0.6, 0.1))
        seed = (1103515245 * seed + 12345) % 2 ** 31
        level = math.sin(math.pi * (t * 2 % 1)) * sum(a * math.sin(2 * math.pi * pitch * (n + 1) * t) for n, a in enumerate(shape))
        samples.append(int(8000 * level + (seed >> 16) % 200 - 100))
    return samples


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "front.onnxtxt"), "w") as f:
        f.write(front())
    with wave.open(os.path.join(folder, "sound.wav"), "wb") as f:
        f.setparams((1, 2, RATE, 0, "NONE", ""))
        f.writeframes(b"".join(struct.pack("<h", s) for s in sound()))


if __name__ == "__main__":
    main()
