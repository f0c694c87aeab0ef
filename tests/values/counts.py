#!/usr/bin/env python3
"""counts.py INGOT [SEED]: outputs whose extents data decide: dense, with their actual dims beside them, on every target, drawn; what is refused behind such a node; a library
whose caller reads them.  77 where NumPy is not there."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from told import expect, finish, run

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
chosen (float[3,4] x, bool[5] keep, float[5,2] rows)
	=> (int64[A,B] places, float[B,A] scaled, float[C,2] kept, float[2,C] turned_kept, float[D] sorted, int64[E] first, int64[12] inverse, int64[F] counts, int64[2] shape)
{
	places = NonZero (x)
	turned = Transpose (places)
	half = Constant <value: tensor = float {0.5}> ()
	asfloat = Cast <to = 1> (turned)
	scaled = Mul (asfloat, half)
	kept = Compress <axis = 0> (rows, keep)
	kept_turned = Transpose (kept)
	double = Add (kept_turned, kept_turned)
	turned_kept = Where (flag, double, double)
	flag = Constant <value: tensor = bool {1}> ()
	sorted, first, inverse, counts = Unique (x)
	shape = Shape (scaled)
}
"""
REFUSED = """<ir_version: 8, opset_import: ["" : 18]>
refused (float[6] x, float[6] z) => (float y)
{
	places = NonZero (x)
	%s
}
"""
C = """#include "chosen.h"
#include <stdio.h>
static ALIGNED unsigned char workspace[CHOSEN_WORKSPACE_BYTES];
int main(void)
{
	static const float x[12] = { 0, 7, 0, 0, 7, 0, 0, 0, 0, 0, 0, 3 }, rows[10] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	static const unsigned char keep[5] = { 0, 1, 0, 1, 0 };
	long long places[24], first[12], inverse[12], counts[12], shape[2], places_dims[2], scaled_dims[2], kept_dims[2], turned_kept_dims[2], sorted_dims[1], first_dims[1], counts_dims[1];
	float scaled[24], kept[10], turned_kept[10], sorted[12];
	const struct chosen_inputs in = { x, keep, rows };
	const struct chosen_outputs out = { places, scaled, kept, turned_kept, sorted, first, inverse, counts, shape, places_dims, scaled_dims, kept_dims, turned_kept_dims, sorted_dims,
		first_dims, counts_dims };
	struct chosen_context context = { 0 };
	context.workspace = workspace;
	for (int i = 0; i < 24; i++)
		places[i] = turned_kept[i % 10] = -9;
	if (chosen_run(&in, &out, &context))
		return 1;
	for (int i = 6; i < 24; i++)               /* what is not there is not written */
		if (places[i] != -9 || turned_kept[4 + i % 6] != -9)
			return 2;
	printf("%lld %lld:", places_dims[0], places_dims[1]);
	for (int i = 0; i < places_dims[0] * places_dims[1]; i++)
		printf(" %lld", places[i]);
	printf(", %lld %lld:", turned_kept_dims[0], turned_kept_dims[1]);
	for (int i = 0; i < turned_kept_dims[0] * turned_kept_dims[1]; i++)
		printf(" %g", turned_kept[i]);
	printf(", %lld:", sorted_dims[0]);
	for (int i = 0; i < sorted_dims[0]; i++)
		printf(" %g", sorted[i]);
	return 0;
}
"""


def wanted(x, keep, rows):
    u, places = np.unique(x, return_index=True, return_inverse=True, return_counts=True), np.array(np.nonzero(x))
    return {"places": places, "scaled": (places.T * 0.5).astype(np.float32), "kept": rows[keep], "turned_kept": 2 * rows[keep].T, "sorted": u[0], "first": u[1],
            "inverse": u[2].reshape(-1), "counts": u[3], "shape": np.array(places.T.shape)}


with tempfile.TemporaryDirectory(prefix="test-counts.") as folder:
    os.chdir(folder)
    open("chosen.onnxtxt", "w").write(MODEL)
    random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")))
    for target in ("interpreter", "c", "jit", "cuda-emulated"):
        wrong = []
        for part in (0.5, 0, 1):
            x = (random.integers(-2, 3, (3, 4)) * (random.random((3, 4)) < part)).astype(np.float32)
            keep, rows = random.random(5) < part, random.random((5, 2), np.float32)
            np.savez("in.npz", x=x, keep=keep, rows=rows)
            code, out, message = run("run", "chosen.onnxtxt", "--input", "in.npz", "--output", "out.npz", "--target", target)
            if code:
                wrong.append(message)
                continue
            with np.load("out.npz") as made:
                want = wanted(x, keep, rows)
                wrong += ["%s: %s, not %s" % (k, made[k], v) for k, v in want.items() if made[k].shape != v.shape or not np.array_equal(made[k], v)]
                wrong += [k for k in made if k.endswith("_dims") and tuple(made[k]) != want[k[:-5]].shape]
        expect("by " + target, not wrong, "; ".join(wrong))
    os.makedirs("right")
    for i, array in enumerate((x, keep, rows)):
        np.save("right/in_%d.npy" % i, array)
    io = {"inputs": [{"name": n, "file": "in_%d.npy" % i} for i, n in enumerate(("x", "keep", "rows"))], "outputs": []}
    for i, (name, array) in enumerate(wanted(x, keep, rows).items()):
        np.save("right/out_%d.npy" % i, array)
        io["outputs"].append({"name": name, "file": "out_%d.npy" % i})
    json.dump(io, open("right/io.json", "w"))
    code, out, message = run("check", "chosen.onnxtxt", "right", "--target", "jit")
    expect("check", code == 0 and out.count("ok ") == 9, out + message)
    np.save("right/out_2.npy", np.zeros((4, 2), np.float32))
    code, out, message = run("check", "chosen.onnxtxt", "right", "--target", "jit")
    expect("another number of them", code == 1 and "DIFFERENT kept" in out, out + message)

    # a library: the most, and what says how many
    code, out, message = run("build", "chosen.onnxtxt", "-o", "lib", "--no-compile", "--weights", "c", "--cpu", "generic")
    header, manifest = open("lib/chosen.h").read(), json.load(open("lib/chosen.json"))
    expect("header", code == 0 and "/* [2,12] at most, dense in what places_dims says, places */" in header and "*places_dims;" in header, header)
    expect("manifest", {o["name"]: o.get("sizes") for o in manifest["outputs"]}["kept"] == "kept_dims", str(manifest["outputs"]))
    dense = "".join(open("lib/" + f).read() for f in sorted(os.listdir("lib")) if f.endswith(".c")).split(": places_dense.")[1].split("\n}\n")[0]
    expect("rows are stored whole", "i_div" not in dense and "if (" in dense, dense)
    if shutil.which("cc"):
        open("main.c", "w").write(C.replace("ALIGNED", "__attribute__((aligned(CHOSEN_WORKSPACE_ALIGN)))"))
        subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Ilib", "main.c", *["lib/" + f for f in os.listdir("lib") if f.endswith(".c")], "-o", "main", "-lm"], check=True)
        out = subprocess.run(["./main"], stdout=subprocess.PIPE, text=True).stdout
        expect("a caller", out == "2 3: 0 1 2 1 0 3, 2 2: 4 12 6 14, 3: 0 3 7", out)

    # what does not think of it is refused, and named
    for name, text, part in (("what is there once", "a = Cast <to = 1> (places)  y = Unique (a)", "Unique: data decide dimension 1 of a, which has at most 6 elements"),
                             ("another count", "o = NonZero (z)  a = Add (places, o)  y = Cast <to = 1> (a)", "Add: data decide dimension 1 of places"),
                             ("a text", "a = Cast <to = 1> (places)  s = Constant <value_ints = [1, 4]> ()  y = CenterCropPad (a, s)", "CenterCropPad: data decide dimension 1 of a")):
        open("refused.onnxtxt", "w").write(REFUSED.replace("(float y)", "(float[] y)") % text)
        code, out, message = run("build", "refused.onnxtxt", "-o", "not")
        expect(name, code == 4 and part in message and message.count("\n") == 1, "exit %d: %s" % (code, message))
    expect("nothing half written", not os.path.exists("not"))
finish()
