#!/usr/bin/env python3
"""make.py FOLDER: front.onnxtxt and front_int16.onnxtxt, an audio front end as a graph, and sound.wav, a second of a made sound, 16 kHz.

One call of a front end hears 20 ms: with 10 ms of before that is a window of 480 samples, of which a DFT, 40 mel bands, a logarithm and a
cosine transform make 10 numbers; the last 49 of those frames are what the network sees.  The one computes in floats, the other in integers:
products of 16 bits, sums of 32, of 64 from the spectrum's squares to the logarithm."""
import math
import os
import struct
import sys
import wave

RATE, WINDOW, HOP, BANDS, FEATURES, FRAMES = 16000, 480, 320, 40, 10, 49
BINS = WINDOW // 2 + 1
SCALE, ZERO = 0.5846, 83  # of the network's input
HANN = [0.5 - 0.5 * math.cos(2 * math.pi * i / WINDOW) for i in range(WINDOW)]
COSINES = [math.sqrt(2 / BANDS) * math.cos(math.pi / BANDS * (b + 0.5) * f) for b in range(BANDS) for f in range(FEATURES)]


def mel(hertz):
    return 1127 * math.log(1 + hertz / 700)


def bands():
    """Triangles that are even on the mel scale, from 20 to 4000 Hz: of each the bins that are in it, and their weights; the shorter ones end in
    weights of 0."""
    edges = [mel(20) + (mel(4000) - mel(20)) * i / (BANDS + 1) for i in range(BANDS + 2)]
    made = []
    for low, middle, high in zip(edges, edges[1:], edges[2:]):
        weights = [min((at - low) / (middle - low), (high - at) / (high - middle)) for at in (mel(i * RATE / WINDOW) for i in range(BINS))]
        made.append([(i, w) for i, w in enumerate(weights) if w > 0])
    most = max(map(len, made))
    return [band + [(0, 0)] * (most - len(band)) for band in made]


def constant(kind, name, shape, values):
    of = "[%s]" % ", ".join(map(str, shape)) if shape else ""
    return "%s%s %s = {%s}" % (kind, of, name, ", ".join("%.9g" % v if kind == "float" else "%d" % round(v) for v in values))


def graph(before, constants, nodes):
    """A front end: what is said makes `now`, the features of this call, of `heard`."""
    shared = [constant("int64", name, [1], [value]) for name, value in (("zeroth", 0), ("one", 1), ("hop", HOP), ("window", WINDOW), ("frame_count", FRAMES))]
    shared += [constant("int64", "image", [4], [1, FRAMES, FEATURES, 1]), constant("int32", "places", [BANDS, len(bands()[0])], [i for band in bands() for i, _ in band])]
    last = ["before_next = Slice (heard, hop, window, one)", "all = Concat <axis = 0> (frames, now)",
            "frames_next = Slice (all, one, frame_count, zeroth)", "input = Reshape (all, image)"]
    return '<ir_version: 10, opset_import: ["" : 18]>\nfront (int16[1,%d] samples, %s[1,%d] before, int8[%d,%d] frames) => (int8[1,%d,%d,1] input, %s[1,%d] before_next, int8[%d,%d] frames_next)\n<%s>\n{\n%s\n}\n' % (
        HOP, before, WINDOW - HOP, FRAMES - 1, FEATURES, FRAMES, FEATURES, before, WINDOW - HOP, FRAMES - 1, FEATURES, ",\n".join(shared + constants), "\n".join(nodes + last))


def front():
    return graph("float", [
        constant("float", "hann", [1, WINDOW], HANN), constant("float", "weights", [BANDS, len(bands()[0])], [w for band in bands() for _, w in band]),
        constant("float", "cosines", [BANDS, FEATURES], COSINES),
        "float tiny = {1e-6}, float scale = {%g}, int8 zero = {%d}, float unit = {%g}" % (SCALE, ZERO, 1 / 32768),
        "int64[3] signal = {1, %d, 1}, int64[1] pair = {2}, int64[1] terms = {2}" % WINDOW], [
        "sound = Cast <to = 1> (samples)", "quiet = Mul (sound, unit)", "heard = Concat <axis = 1> (before, quiet)",
        "faded = Mul (heard, hann)", "faded_3 = Reshape (faded, signal)", "waves = DFT <onesided = 1, axis = 1> (faded_3)",
        "power = ReduceSumSquare <keepdims = 0> (waves, pair)", "picked = Gather <axis = 1> (power, places)", "weighed = Mul (picked, weights)",
        "energy = ReduceSum <keepdims = 0> (weighed, terms)", "positive = Add (energy, tiny)",
        "loud = Log (positive)", "features = MatMul (loud, cosines)", "now = QuantizeLinear (features, scale, zero)"])


# ---- the same in integers ----
ROWS, COLUMNS = 24, 20  # the DFT: of 24 samples that lie 20 apart, then of 20 of its waves
TURNS = ROWS // 2 + 1  # the others are mirror images
LOG = [1.44182512, -0.70867494, 0.41539777, -0.19439043, 0.04587075]  # log2(1 + t) by powers of t, within 3e-5
HALVINGS = 32, 16, 8, 4, 2, 1


def turn(part, turns, of):
    """The real (0) or the imaginary part (1) of so many turns backwards, of `of` in a circle."""
    return (math.cos, math.sin)[part](-2 * math.pi * turns / of)


def wave_constants():
    """The waves of the two DFTs and what turns the first ones' results, scaled so that no sum of 32 bits overflows, whatever is heard."""
    whole = range(COLUMNS)
    turned = [[turn(p, n * k, WINDOW) for n in whole for k in range(TURNS)] for p in (0, 1)]
    last = [(1, (-1, 1)[out])[part] * turn(part ^ out, n * k, COLUMNS) for part in (0, 1) for n in whole for out in (0, 1) for k in whole]
    return [constant("int16", "first_waves", [ROWS, 2 * TURNS], [turn(p, n * k, ROWS) * 2 ** 13 for n in range(ROWS) for p in (0, 1) for k in range(TURNS)]),
            constant("int16", "turn_re", [COLUMNS, TURNS], [v * 2 ** 14 for v in turned[0]]), constant("int16", "turn_im", [COLUMNS, TURNS], [v * 2 ** 14 for v in turned[1]]),
            constant("int16", "last_waves", [2 * COLUMNS, 2 * COLUMNS], [v * 2 ** 12 for v in last])]


def spectrum():
    """The squares of the window's waves, as they come: bin k1 + 24 k2 stands at 20 k1 + k2.  A quiet window is doubled until it fills 30 bits."""
    nodes = ["heard = Concat <axis = 1> (before, samples)", "heard_32 = Cast <to = 6> (heard)", "hann_32 = Cast <to = 6> (hann)", "faded = Mul (heard_32, hann_32)",
             "size = Abs (faded)", "peak = ReduceMax <keepdims = 0> (size)", "is_below = Less (peak, limits)", "quieter = Cast <to = 6> (is_below)",
             "doublings = ReduceSum <keepdims = 0> (quieter)", "louder = Gather (powers, doublings)", "loudest = Mul (faded, louder)"]
    nodes += narrowed("signal", "loudest", 17) + [
        "rows = Reshape (signal, table)", "columns = Transpose <perm = [1, 0]> (rows)", "first_32 = Cast <to = 6> (first_waves)", "first = MatMul (columns, first_32)"]
    nodes += narrowed("waves", "first", 15) + [
        "re = Slice (waves, zeroth, turns, one)", "im = Slice (waves, turns, turns_2, one)", "c = Cast <to = 6> (turn_re)", "s = Cast <to = 6> (turn_im)",
        "re_c = Mul (re, c)", "im_s = Mul (im, s)", "re_s = Mul (re, s)", "im_c = Mul (im, c)",
        "new_re = Sub (re_c, im_s)", "new_im = Add (re_s, im_c)", "both = Concat <axis = 0> (new_re, new_im)"]
    nodes += narrowed("turned", "both", 15) + [
        "turned_t = Transpose <perm = [1, 0]> (turned)", "last_32 = Cast <to = 6> (last_waves)", "last = MatMul (turned_t, last_32)",
        "last_less = Div (last, two_10)", "last_64 = Cast <to = 7> (last_less)", "squares = Mul (last_64, last_64)",
        "square_re = Slice (squares, zeroth, half, one)", "square_im = Slice (squares, half, full, one)", "power = Add (square_re, square_im)", "bins = Reshape (power, flat)"]
    return nodes


def narrowed(name, wide, bits):
    """Numbers below 2^30 without so many bits, rounded, as int16; they are multiplied as int32.  A quotient is cut, so what is divided is made positive."""
    return ["%s_positive = Add (%s, raised_%d)" % (name, wide, bits), "%s_less = Div (%s_positive, two_%d)" % (name, name, bits),
            "%s_wide = Sub (%s_less, lowered_%d)" % (name, name, bits), "%s_16 = Cast <to = 5> (%s_wide)" % (name, name), "%s = Cast <to = 6> (%s_16)" % (name, name)]


def logarithm():
    """log2 of energy + tiny: how often it is doubled up to 62 bits, by halves, and a polynomial of what is behind the first bit."""
    nodes, v, e = ["tiny = Gather (tinies, doublings)", "v = Add (energy, tiny)", "e = Gather (exponents, doublings)"], "v", "e"
    for b in HALVINGS:
        nodes += ["small_%d = Less (%s, below_%d)" % (b, v, b), "doubled_%d = Mul (%s, power_%d)" % (b, v, b), "v_%d = Where (small_%d, doubled_%d, %s)" % (b, b, b, v),
                  "down_%d = Where (small_%d, exponent_%d, none)" % (b, b, b), "e_%d = Sub (%s, down_%d)" % (b, e, b)]
        v, e = "v_%d" % b, "e_%d" % b
    nodes += ["first_64 = Div (%s, two_46)" % v, "first_bits = Cast <to = 6> (first_64)", "t = Sub (first_bits, two_15)"]
    p = "log_5"
    for i in range(len(LOG) - 1, -1, -1):
        nodes += ["product_%d = Mul (%s, t)" % (i, p), "term_%d = Div (product_%d, two_15)" % (i, i), "p_%d = Add (term_%d, %s)" % (i, i, "log_%d" % i if i else e)]
        p = "p_%d" % i
    return nodes + narrowed("loud", p, 6)


def front_int16():
    places = {min(k, WINDOW - k): k1 * COLUMNS + k2 for k1 in range(TURNS) for k2 in range(COLUMNS) for k in [k1 + ROWS * k2]}
    least, most, step = (-128 - ZERO) << 23, (127 - ZERO) << 23, 1 << 23  # of the features, in 1 / 2^23
    numbers = [row for n in (6, 15, 17) for row in (("int32", "two_%d" % n, 2 ** n), ("int32", "raised_%d" % n, 2 ** 30 + 2 ** (n - 1)), ("int32", "lowered_%d" % n, 2 ** (30 - n)))]
    numbers += [("int32", "two_10", 2 ** 10), ("int64", "two_46", 2 ** 46), ("int32", "none", 0)]
    numbers += [("int32", "log_%d" % (i + 1), v * 2 ** 15) for i, v in enumerate(LOG)]
    numbers += [row for b in HALVINGS for row in (("int64", "below_%d" % b, 2 ** (62 - b)), ("int64", "power_%d" % b, 2 ** b), ("int32", "exponent_%d" % b, b << 15))]
    numbers += [("int32", "least", least), ("int32", "most", most), ("int32", "up", step // 2 - least), ("int32", "step", step), ("int32", "zero", 128)]
    constants = [constant(kind, name, [], [value]) for kind, name, value in numbers] + wave_constants() + [
        constant("int16", "hann", [1, WINDOW], [32767 * v for v in HANN]), constant("int32", "limits", [15], [2 ** (29 - i) for i in range(15)]),
        constant("int32", "powers", [16], [2 ** i for i in range(16)]), constant("int32", "spots", [BINS], [places[k] for k in range(BINS)]),
        constant("int16", "weights", [BANDS, len(bands()[0])], [32767 * w for band in bands() for _, w in band]),
        constant("int64", "tinies", [16], [1e-6 * 2 ** (39 + 2 * i) for i in range(16)]), constant("int32", "exponents", [16], [(22 - 2 * i) << 15 for i in range(16)]),
        constant("int16", "cosines", [BANDS, FEATURES], [2 ** 14 * math.log(2) / SCALE * v for v in COSINES])] + [
        constant("int64", name, [1], [value]) for name, value in (("turns", TURNS), ("turns_2", 2 * TURNS), ("half", COLUMNS), ("full", 2 * COLUMNS), ("flat", -1))] + [
        constant("int64", "table", [2], [ROWS, COLUMNS]), constant("int64", "line", [2], [1, BANDS])]
    return graph("int16", constants, spectrum() + [
        "spot = Gather (spots, places)", "picked = Gather (bins, spot)", "weights_64 = Cast <to = 7> (weights)", "weighed = Mul (picked, weights_64)",
        "energy = ReduceSum <keepdims = 0> (weighed, one)"] + logarithm() + [
        "loud_row = Reshape (loud, line)", "cosines_32 = Cast <to = 6> (cosines)", "features = MatMul (loud_row, cosines_32)",
        "clipped = Clip (features, least, most)", "raised = Add (clipped, up)", "steps = Div (raised, step)", "centred = Sub (steps, zero)", "now = Cast <to = 3> (centred)"])


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
    for name, made in ("front", front()), ("front_int16", front_int16()):
        with open(os.path.join(folder, name + ".onnxtxt"), "w") as f:
            f.write(made)
    with wave.open(os.path.join(folder, "sound.wav"), "wb") as f:
        f.setparams((1, 2, RATE, 0, "NONE", ""))
        f.writeframes(b"".join(struct.pack("<h", s) for s in sound()))


if __name__ == "__main__":
    main()
