#!/usr/bin/env python3
"""winograd.py: prints c/winograd.jinja for many shapes and every CPU that is here, runs the kernels (winograd_test.c), and
compares: the bits must be the same for every prelude, compiler, tile, group and panel.

    winograd.py [--work DIR] [--long] [--interpreter PATH]     exit 0: right, 1: wrong, 77: nothing could run"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "words"))
sys.path.insert(0, os.path.join(HERE, ".."))
import words                                                  # noqa: E402  (skips where Jinja2 is missing)
from here import by_turns, v3, v4                             # noqa: E402

SOURCES = [os.path.join(os.path.abspath(words.ROOT), "generator", name) for name in ("kernels/winograd.c", "definitions/winograd_filters.c")]
NOINLINE = "#define NOINLINE __attribute__((noinline))\n"
PRODUCT = ["-O2", "-fPIC", "-fno-tree-vectorize", "-fno-trapping-math"]          # as `ingot build` has them
STRICT = ["-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-pedantic", "-Werror"]


def kernel(target, m, height, width, ci, co, tile, groups, panels=None, pads=(1, 1, 1, 1), batch=1, prefetch=False, planes=False, name="k0", epilogue=None):
    """C text of the kernel, and the values it was printed from."""
    lanes = target.lanes
    top, left, bottom, right = pads
    out_height, out_width = height + top + bottom - 2, width + left + right - 2
    vecs = -(-co // lanes)
    panels = panels or -(-vecs // tile[1])
    tiles = -(-out_height // m) * -(-out_width // m)
    load = lambda p, left: "vec_load_n(%s, %s, 0.f)" % (p, left) if left else "vec_load(%s)" % p
    def result(value, image, row, column, channel, left, at=None):
        assert not at                                          # nothing is turned here: the result's channels are neighbours
        at = "((%s * %d + %s) * %d + %s) * %d + %s" % (image, out_height, row, out_width, column, co, channel)
        text = epilogue(value, at, load) if epilogue else "k_relu(%s + v0)" % value
        store = "vec_store_n(y + %s, %s, %d)" % (at, text, left) if left else "vec_store(y + %s, %s)" % (at, text)
        return dict(lets=[] if epilogue else [dict(type="vec", name="v0", value=load("x1 + " + at, left))], store=store)

    strides, run = dict(image=height * width * ci, row=width * ci, pixel=ci, channel=1), 0
    if planes and height * width > 1:
        strides = dict(image=height * width * ci, row=width, pixel=1, channel=height * width)
        run = min(30 // m, -(-out_width // m)) if 4 <= lanes <= ci else 0          # through strips
    values = dict(
        target=target, lanes=lanes, m=m, batch=batch, height=height, width=width, channels_in=ci, channels_out=co,
        out_height=out_height, out_width=out_width, pad_top=top, pad_left=left, x=dict(strides, name="x0", run=run), y=dict(run=0),
        weights="w0", filters=None, ends=None, tile=dict(rows=tile[0], vecs=tile[1]), prefetch=prefetch, panels=panels, groups=min(groups, tiles),
        start=lambda channel, left: load("w1 + " + channel, left), result=result,
        kernel=dict(name=name, inner=False, comment="/* F(%dx%d,3x3), tile %d x %d */" % (m, m, *tile), params="const float *restrict x0, "
                    "const float *restrict w0, const float *restrict w1, const float *restrict x1, float *restrict y"))
    text = words.environment().get_template("c/winograd.jinja").render(**values)
    return text, values


def defines(v, m, special=0):
    names = dict(M=m, BATCH=v["batch"], HEIGHT=v["height"], WIDTH=v["width"], CI=v["channels_in"], CO=v["channels_out"],
                 OUT_HEIGHT=v["out_height"], OUT_WIDTH=v["out_width"], PAD_TOP=v["pad_top"], PAD_LEFT=v["pad_left"],
                 PANELS=v["panels"], GROUPS=v["groups"], SPECIAL=special, PLANES=int(v["x"]["channel"] != 1), KERNEL=v["kernel"]["name"])
    return "".join("#define %s %s\n" % item for item in names.items())


def builds():
    """name, target, compiler, register tile"""
    for cc in "gcc", "clang":
        if shutil.which(cc):
            if v4():
                yield "avx512 " + cc, words.TARGETS["avx512"], [cc], (6, 4)
            if v3():
                yield "avx2 " + cc, words.TARGETS["avx2"], [cc], (6, 2)
    if shutil.which("gcc"):
        yield "scalar gcc", words.TARGETS["scalar_soft"], ["gcc"], (2, 4)


#    m  height width ci  co   groups pads          batch special
SHAPES = [
    (2, 8, 8, 16, 16, 3, (1, 1, 1, 1), 1, 0),
    (4, 8, 8, 16, 16, 2, (1, 1, 1, 1), 1, 0),
    (2, 7, 9, 5, 3, 4, (0, 0, 0, 0), 2, 0),
    (4, 7, 9, 5, 3, 2, (0, 1, 2, 0), 2, 0),
    (4, 13, 11, 19, 21, 5, (1, 1, 1, 1), 1, 0),
    (2, 13, 11, 33, 70, 1, (1, 2, 0, 3), 1, 0),
    (4, 5, 3, 48, 80, 1, (2, 2, 2, 2), 3, 0),
    (2, 3, 3, 1, 1, 1, (0, 0, 0, 0), 1, 0),
    (4, 1, 1, 7, 130, 1, (1, 1, 1, 1), 1, 0),
    (4, 14, 14, 64, 144, 3, (1, 1, 1, 1), 1, 0),
    (2, 9, 10, 17, 24, 2, (1, 1, 1, 1), 1, 1),
    (4, 9, 10, 17, 24, 2, (1, 1, 1, 1), 1, 1),
]

SHORT = SHAPES[1:4] + SHAPES[5:7] + SHAPES[10:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work")
    parser.add_argument("--long", action="store_true", help="every shape in every way; else every other one in three, by turns")
    parser.add_argument("--interpreter", help="winograd_interpret: its bits must be the kernels'")
    options = parser.parse_args()
    work = os.path.abspath(options.work) if options.work else tempfile.mkdtemp(prefix="winograd.")
    os.makedirs(work, exist_ok=True)
    with open(os.path.join(HERE, "winograd_test.c")) as file:
        body = file.read()
    wrong, count = 0, 0
    # another tile and grouping: the same bits
    ways = [(*build, variant) for build in builds() for variant in range(2 if build[2] == ["gcc"] else 1)]
    for turn, (m, height, width, ci, co, groups, pads, batch, special) in enumerate(SHAPES if options.long else SHORT):
        first = None
        if options.interpreter and co > 1:                    # with 24 outputs or fewer the sum over channels is no chain: no rewrite
            numbers = [m, batch, height, width, ci, co, *pads, special]
            ran = subprocess.run([options.interpreter] + [str(v) for v in numbers], capture_output=True, text=True)
            if ran.returncode:
                wrong += 1
                print("WRONG: the interpreter, %s: %s" % (numbers, ran.stdout))
            else:
                first = ran.stdout.split()[1]
        for name, target, command, tile, variant in ways if options.long else by_turns(ways, turn, 3):
            text, v = kernel(target, m, height, width, ci, co, tile if variant == 0 else (5, 1), groups + variant, pads=pads, batch=batch,
                             prefetch=variant == 1, planes=variant == 1)
            base = os.path.join(work, "k")
            with open(base + ".c", "w") as file:
                file.write(words.prelude(text, target) + NOINLINE + defines(v, m, special) + text + body)
            compiler = command + PRODUCT + STRICT + target.flags + ["-I" + os.path.join(os.path.abspath(words.ROOT), "generator")]
            folder = os.path.join(work, name.replace(" ", "_"))
            objects = [os.path.join(folder, os.path.basename(source)[:-1] + "o") for source in SOURCES]
            if not os.path.isdir(folder):
                os.mkdir(folder)
                subprocess.run(compiler + ["-c", *SOURCES], cwd=folder, check=True)
            built = subprocess.run(compiler + ["k.c", *objects, "-o", "k", "-lm"], capture_output=True, text=True, cwd=work)        # so ccache knows it
            if built.returncode:
                print(name, built.stderr[:3000])
                sys.exit(1)
            ran = subprocess.run([base], capture_output=True, text=True)
            bits = ran.stdout.split()[1] if "bits" in ran.stdout else None
            first = first or bits
            count += 1
            if ran.returncode or bits != first:
                wrong += 1
                print("WRONG F(%d) %dx%d %d->%d pads %s: %s (exit %d), first had %s" % (m, height, width, ci, co, pads, name, ran.returncode, first))
                print(ran.stdout)
        print("F(%d) %dx%d %d->%d batch %d: %s" % (m, height, width, ci, co, batch, ran.stdout.strip()))
    if not options.work:
        shutil.rmtree(work)
    print("%d kernels, %d wrong" % (count, wrong))
    sys.exit(1 if wrong else 0 if count else 77)


if __name__ == "__main__":
    main()
