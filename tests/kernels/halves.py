#!/usr/bin/env python3
"""Large weights of float16 and bfloat16 stay so: products widen them while they read them, with the bits of the interpreter, in half the bytes.

    halves.py INGOT

Ends with 77 where NumPy is not there."""
import json, os, re, subprocess, sys, tempfile

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from here import cpus
from same import same

K, N = 601, 530                           # 1.3 MB of floats; columns leave a part of a vector
SHAPES = {"row": (1, K), "rows": (7, K), "turned": (3, N), "image": (1, N, 5, 4)}
MODEL = """<ir_version: 10, opset_import: ["" : 22]>
g (float[1,%(k)d] row, float[7,%(k)d] rows, float[3,%(n)d] turned, float[1,%(n)d,5,4] image) => (float[1,%(n)d] one, float[7,%(n)d] many, float[3,%(k)d] back, float[1,%(k)d,5,4] conv)
<%(type)s[%(k)d,%(n)d] w = ["location": "w.bin"], %(type)s[%(k)d,%(n)d,1,1] f = ["location": "f.bin"]> {
	wide = Cast<to = 1>(w)
	one = MatMul(row, wide)
	many = MatMul(rows, wide)
	turn = Transpose(wide)
	back = MatMul(turned, turn)
	kernel = Cast<to = 1>(f)
	conv = Conv(image, kernel)
}
"""


def wrong(ingot, folder, kind, draw):
    numbers = draw.standard_normal((2, K, N)) * 2.0 ** draw.integers(-24, 6, (2, K, N))      # float16 has denormals among them
    codes = numbers.astype("f2") if kind == "float16" else (numbers.astype("f4").view("u4") >> 16).astype("u2")
    codes[0].tofile(os.path.join(folder, "w.bin"))
    codes[1].tofile(os.path.join(folder, "f.bin"))
    model, given = os.path.join(folder, "g.onnxtxt"), []
    with open(model, "w") as file:
        file.write(MODEL % {"k": K, "n": N, "type": kind})
    for name, shape in SHAPES.items():
        numpy.save(f"{folder}/{name}.npy", draw.standard_normal(shape).astype("f4"))
        given += ["--input", f"{name}={folder}/{name}.npy"]

    def run(*words):
        paths = {name: f"{folder}/{name}.npy" for name in ("one", "many", "back", "conv")}
        done = subprocess.run([ingot, "run", model, *given, *[w for n, p in paths.items() for w in ("--output", f"{n}={p}")], *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return {name: numpy.load(path) for name, path in paths.items()}

    right = run("--target", "interpreter")
    for cpu in cpus():
        got = run("--target", "c", "--cpu", cpu)
        yield from (f"{kind} for {cpu}: {name} is not the interpreter's" for name in right if not same(got[name], right[name]))
    subprocess.run([ingot, "build", model, "-o", f"{folder}/out", "--no-compile"], capture_output=True, check=True)
    with open(f"{folder}/out/g.json") as file:
        manifest = json.load(file)
    source = subprocess.run([ingot, "show", model, "--stage", "source", "--cpu", "x86-64-v3"], capture_output=True, text=True).stdout
    # Panels of the first weights for one row, for many and turned, and of the second: 4 of 2 bytes, whose last vectors are padded.
    if manifest["weights_bytes"] > 1.05 * 4 * 2 * K * N or not re.search("vec_load_half\\(w" if kind == "float16" else "vec_of_bfloat\\(ivec_load_u16\\(w", source):
        yield f"{kind}: {manifest['weights_bytes']} bytes of weights"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        found = [text for kind in ("float16", "bfloat16") for text in wrong(sys.argv[1], scratch, kind, numpy.random.default_rng(33))]
    print("\n".join(found) if found else "weights of 16 bits stay so")
    sys.exit(bool(found))
