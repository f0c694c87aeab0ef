#!/usr/bin/env python3
"""Facts of the machine, given behind a CPU's name: tiles, panels, groups and passes follow from them, bits and NAME_NUMBERS do not.

    facts.py INGOT

Each case is run by the interpreter, then as a library and by the JIT for caches from the least to ones that hold everything, and for narrow units (for two or
three of these, by turns; with INGOT_LONG=1 for all); the sources have to differ somewhere, or facts would do nothing.  What `--cpu native` is made for is in its
manifest: a library for that text has the same files.  Ends with 77 where NumPy is not there."""
import json, os, re, subprocess, sys, tempfile

import sweep                              # ends with 77 where NumPy is not there
import numpy
from here import cpus

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
LONG = bool(os.environ.get("INGOT_LONG"))
FACTS = ["l1=1k,l2=1k,l3=1k", "l1=16k,l2=128k,l3=128k", "l1=32k,l2=1m", "l1=192k,l2=16m,l3=64m", "l1=1g,l2=8g,l3=1024g", "pipes=1", "pipes=4,l1=8k"]


def external(name, *dims):
    return f'float[{",".join(map(str, dims))}] {name} = ["location": "{name}.bin", "offset": "0", "length": "{4 * numpy.prod(dims)}"]'


CASES = {
    "product": (f"float[70,1100] x", "float[70,200] y", "s = MatMul (x, w) t = Add (s, b) y = Relu (t)", [external("w", 1100, 200), external("b", 200)]),
    "two": ("float[70,100] x", "float[70,100] y", "s = MatMul (x, v) y = MatMul (s, w)", [external("v", 100, 200), external("w", 200, 100)]),
    "whole_rows": ("float[700,32] x", "float[700,192] y", "y = MatMul (x, w)", [external("w", 32, 192)]),
    "run_time": ("float[40,600] x, float[600,150] w", "float[40,150] y", "y = MatMul (x, w)", []),
    "attention": ("float[2,90,28] q, float[2,28,300] k, float[2,300,32] v", "float[2,90,32] y", "s = MatMul (q, k) w = Softmax (s) y = MatMul (w, v)", []),
    "winograd": ("float[1,64,17,19] x", "float[1,48,17,19] y", "y = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w, b)", [external("w", 48, 64, 3, 3), external("b", 48)]),
    "strided": ("float[2,24,29,31] x", "float[2,40,15,16] y", "y = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (x, w, b)",
                [external("w", 40, 24, 3, 3), external("b", 40)]),
    "dilated": ("float[1,32,20,33] x", "float[1,48,20,33] y", "y = Conv <kernel_shape = [3, 3], pads = [6, 12, 6, 12], dilations = [6, 12]> (x, w, b)",
                [external("w", 48, 32, 3, 3), external("b", 48)]),
    "strided_run_time": ("float[1,24,14,14] x, float[64,24,3,3] w", "float[1,64,7,7] y", "y = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)", []),
    "rows": ("float[1,64,28,28] x", "float[1,96,28,28] y", "n = BatchNormalization (x, g, h, m, v) r = Relu (n) y = Conv <kernel_shape = [1, 1]> (r, w)",
             [external(one, 64) for one in "ghmv"] + [external("w", 96, 64, 1, 1)]),
}

# What is said of a schedule where L2 is small, and is not where it is large.
WHY = {
    "product": [("so in k blocks of", "l2=1m", "l2=256k")],                      # 1100 terms of 24 columns: 103 KB
    "two": [("is fetched meanwhile", "l2=256k", "l2=128k")],                   # each 80 KB
    "dilated": [("a row, copied whole", "l2=32k", "l2=1m")],                   # 21 KB
    "whole_rows": [("the results of a group", "l2=4m", "l2=256k")],            # b 24 KB, results 525
}


def files_of(program, model, cpu, folder):
    """What a library is made of, by name, without its options; those, and the numbers that bits depend on."""
    out = os.path.join(folder, "out")
    subprocess.run([program, "build", model, "--cpu", cpu, "--no-compile", "-o", out], check=True, capture_output=True)
    files = {name: open(os.path.join(out, name), "rb").read() for name in os.listdir(out)}
    subprocess.run(["rm", "-r", out], check=True)
    manifest = json.loads(files["g.json"])
    return files, manifest["options"], manifest["numbers"]


def check(program, name, folder):
    inputs, output, body, constants = CASES[name]
    model, given, random, paths = os.path.join(folder, "g.onnxtxt"), [], numpy.random.default_rng(len(name)), {"y": os.path.join(folder, "y.npy")}
    with open(model, "w") as file:
        file.write(f"{HEAD}g ({inputs}) => ({output}) {'<' + ', '.join(constants) + '>' if constants else ''} {{ {body} }}")
    for tensor, length in re.findall(r'(\w+) = \["location": "\w+\.bin", "offset": "0", "length": "(\d+)"', " ".join(constants)):
        (random.random(int(length) // 4).astype("f4") + 0.25).tofile(os.path.join(folder, f"{tensor}.bin"))
    for dims, tensor in re.findall(r"float\[([\d,]+)\] (\w+)", inputs):
        numpy.save(os.path.join(folder, f"{tensor}.npy"), random.standard_normal([int(n) for n in dims.split(",")]).astype("f4"))
        given += ["--input", f"{tensor}={os.path.join(folder, tensor)}.npy"]
    right, = sweep.run(program, model, given, paths, ["interpreter"])
    base = "x86-64-v3" if "x86-64-v3" in cpus() else "generic"
    plain, _, numbers = files_of(program, model, base, folder)
    others = 0
    for n, facts in enumerate(FACTS):
        cpu = f"{base},{facts}"
        made, _, of_facts = files_of(program, model, cpu, folder)
        assert of_facts == numbers, f"{cpu}: {of_facts}, {numbers} is right"
        others += any(made[one] != plain[one] for one in plain if one.endswith(".c"))
        if (n + len(name)) % 3 and not LONG:
            continue
        native = ["c", "--cpu", f"native,{facts}"]
        for target in [["jit", "--cpu", cpu], native if n % 2 == len(name) % 2 else ["c", "--cpu", cpu]]:
            for got in sweep.run(program, model, given, paths, target) or []:
                assert sweep.same(got, right), f"{' '.join(target)}: other bits: {got.ravel()[:4]}, {right.ravel()[:4]} is right"
    assert others or base == "generic", f"no fact changes the sources for {base}"
    for words, large, small in WHY.get(name, []) if base != "generic" else []:
        for facts, there in (large, False), (small, True):
            shown = subprocess.run([program, "show", model, "--stage", "kernels", "--cpu", f"{base},{facts}"], check=True, capture_output=True, text=True).stdout
            assert "a step of k takes" in shown and (words in shown) == there, f"{base},{facts}: {shown}"
    native, options, _ = files_of(program, model, "native", folder)
    again, same, _ = files_of(program, model, re.search(r"--cpu (\S+)", options).group(1), folder)
    assert options == same and native == again, f"{options}: another library than native's"


def check_tiles(program, folder):
    """What tiles are reckoned to take on a GPU is what --tile chooses from: the same whatever it says, also of warps alone."""
    model = os.path.join(folder, "g.onnxtxt")
    with open(model, "w") as file:
        file.write(HEAD + "g (float[512,512] a, float[512,512] b) => (float[512,512] y) { y = MatMul (a, b) }")
    said = {}
    for tile in None, "warps", "64x64x16", "32x32x32":
        shown = subprocess.run([program, "show", model, "--target", "cuda", "--stage", "kernels", *(["--tile", tile] if tile else [])], check=True, capture_output=True, text=True).stdout
        said[tile] = [line for line in shown.splitlines() if line.startswith("    tiles ")]
        assert re.search(r", warps: [1-9]", "".join(said[tile])) and said[tile] == said[None], f"--tile {tile}: {said}"


def check_groups(program, folder):
    """Winograd's values and products of a group of tiles stay in the part of L2 that they may take, filled by half at least, however large it is."""
    model = os.path.join(folder, "g.onnxtxt")
    with open(os.path.join(folder, "w.bin"), "wb") as file:
        file.truncate(64 * 64 * 9 * 4)
    with open(model, "w") as file:
        file.write(f"{HEAD}g (float[1,64,112,112] x) => (float[1,64,112,112] y) <{external('w', 64, 64, 3, 3)}> {{ y = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w) }}")
    for l2 in "256k", "512k", "1m":
        shown = subprocess.run([program, "show", model, "--stage", "kernels", "--cpu", f"x86-64-v3,l2={l2}"], check=True, capture_output=True, text=True).stdout
        takes = re.search(r"(\d+) KB of the (\d+) KB it may take, \d+ of 784 tiles", shown)
        assert takes and 2 * int(takes[1]) >= int(takes[2]), f"l2={l2}: {shown}"


def check_k_blocks(program, folder):
    """Of a packed group of k blocks the terms of each lie side by side: the next block is so many terms of a tile's rows further."""
    model = os.path.join(folder, "g.onnxtxt")
    for name in "vw":
        with open(os.path.join(folder, f"{name}.bin"), "wb") as file:
            file.truncate(512 * 512 * 4)
    with open(model, "w") as file:
        file.write(f"{HEAD}g (float[1,512,28,28] x) => (float[1,512,30,30] y) <{external('v', 512, 512, 1, 1)}, {external('w', 512, 512, 1, 1)}>"
                   " { c = Conv (x, v) r = Relu (c) y = Conv <pads = [1, 1, 1, 1]> (r, w) }")
    shown = subprocess.run([program, "show", model, "--stage", "source", "--cpu", "x86-64-v3,l2=256k"], check=True, capture_output=True, text=True).stdout
    blocks = re.findall(r"packed_a \+ \d+ \* \(block - first\) \+ (\d+) \* k_block;", shown)
    rows = re.findall(r"tile (\d+) x \d+, 8 lanes", shown)
    assert blocks and blocks[0] == rows[-1], f"k blocks {blocks} of tiles of {rows} rows"


def check_crowded(program, folder):
    """Planes of 64 x 64 lie in few places of L1: a row of the image is copied for its tiles, where of 60 x 60 those inside read it where it lies."""
    model = os.path.join(folder, "g.onnxtxt")
    with open(os.path.join(folder, "w.bin"), "wb") as file:
        file.truncate(16 * 96 * 25 * 4)
    for side, copied in (64, True), (60, False):
        with open(model, "w") as file:
            file.write(f"{HEAD}g (float[1,96,{side},{side}] x) => (float[1,16,{side},{side}] y) <{external('w', 16, 96, 5, 5)}> {{ y = Conv <pads = [2, 2, 2, 2]> (x, w) }}")
        shown = subprocess.run([program, "show", model, "--stage", "source", "--cpu", "x86-64-v4,l1=48k"], check=True, capture_output=True, text=True).stdout
        assert bool(re.search(r"\ba = x\d \+", shown)) != copied and "packed_a" in shown, f"{side} x {side}: rows are {'not ' * copied}copied"


def check_streams(program, folder):
    """Sums of rows a page apart run side by side, two of them where the rows leave L2."""
    model = os.path.join(folder, "g.onnxtxt")
    with open(model, "w") as file:
        file.write(f"{HEAD}g (float[60,1100] x) => (float[60,1] y) {{ y = ReduceMean <axes = [1]> (x) }}")
    for facts, tile in ("l2=1m", "4 i"), ("l2=64k", "2 i"):
        shown = subprocess.run([program, "show", model, "--stage", "kernels", "--cpu", f"x86-64-v4,{facts}"], check=True, capture_output=True, text=True).stdout
        assert f", tile {tile}," in shown, f"{facts}: {shown}"


def check_short(program, folder):
    """Of a vector of places lanes run along those where sums are long, along channels where they are short or of taps."""
    model = os.path.join(folder, "g.onnxtxt")
    for channels, side, exchanged in (128, 4, True), (32, 5, False):
        with open(os.path.join(folder, "w.bin"), "wb") as file:
            file.truncate(48 * channels * 4)
        with open(model, "w") as file:
            file.write(f"{HEAD}g (float[1,{channels},{side},{side}] x) => (float[1,48,{side},{side}] y) <{external('w', 48, channels, 1, 1)}> {{ y = Conv (x, w) }}")
        shown = subprocess.run([program, "show", model, "--stage", "kernels", "--cpu", "x86-64-v4"], check=True, capture_output=True, text=True).stdout
        assert ("reads     w0 = w" in shown) == exchanged, f"{channels} terms: {shown}"


def check_loops(program, folder):
    """Elements that data place are one loop, whatever dims they have; pads that would make a window's data too large are kept along rows."""
    model = os.path.join(folder, "g.onnxtxt")
    for text, stage, there in (("(float[1,8,28,28] x, int64[1,8,28,28] at) => (float[1,8,56,56] y) { y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, at) }", "source", "< 6272; "),
                               ("(float[2,48,10,9,10] x, float[48,1,5,5,5] w) => (float[2,48,10,9,10] y)"
                                " { y = Conv <group = 48, dilations = [2, 2, 2], pads = [4, 4, 4, 4, 4, 4]> (x, w) }", "kernels", "nodes x_pads\n")):
        with open(model, "w") as file:
            file.write(f"{HEAD}g {text}")
        shown = subprocess.run([program, "show", model, "--stage", stage, "--cpu", "x86-64-v4"], check=True, capture_output=True, text=True).stdout
        assert there in shown, f"{there}: {shown}"


def check_packed(program, folder):
    """What is packed at run time goes by squares, the last of which overlap, or where terms are fewer by gathers; its bits are the interpreter's."""
    model, shapes = os.path.join(folder, "g.onnxtxt"), ((3, 20, 300), (5, 100, 49), (17, 33, 31), (9, 16, 16), (33, 7, 50), (6, 40, 15))
    names, given, paths = range(len(shapes)), [], {}
    for i, (m, k, n) in enumerate(shapes):
        for name, dims in ("x", (m, k)), ("w", (n, k)):
            numpy.save(f"{folder}/{name}{i}.npy", numpy.random.default_rng(i).standard_normal(dims).astype("f4"))
            given += ["--input", f"{name}{i}={folder}/{name}{i}.npy"]
        paths[f"y{i}"] = f"{folder}/y{i}.npy"
    with open(model, "w") as file:
        file.write(f"{HEAD}g ({', '.join(f'float[{m},{k}] x{i}, float[{n},{k}] w{i}' for i, (m, k, n) in enumerate(shapes))}) => ({', '.join(paths)})\n{{\n"
                   + "\n".join(f"y{i} = Gemm <transB = 1> (x{i}, w{i})" for i in names) + "\n}\n")
    want = sweep.run(program, model, given, paths, ["interpreter"])
    for target in sweep.TARGETS:
        for i, got in enumerate(sweep.run(program, model, given, paths, target)):
            assert sweep.same(got, want[i]), f"{' '.join(target)}: {shapes[i]} has other bits than the interpreter"
    shown = subprocess.run([program, "show", model, "--stage", "source", "--cpu", "x86-64-v4"], check=True, capture_output=True, text=True).stdout
    assert "q - back * width" in shown and "gather(line + 7 * q, 7)" in shown, shown


def main(program):
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        check_tiles(program, folder)
        check_groups(program, folder)
        check_k_blocks(program, folder)
        check_streams(program, folder)
        check_crowded(program, folder)
        check_loops(program, folder)
        check_short(program, folder)
        check_packed(program, folder)
    for name in CASES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(program, name, folder)
            except AssertionError as wrong:
                print(f"{name}: {wrong}")
                bad += 1
    print(f"{len(CASES) - bad} of {len(CASES)} cases are right")
    return bool(bad)


sys.exit(main(sys.argv[1]))
