#!/usr/bin/env python3
"""resized.py INGOT [SEED]: Resize of axes whose extents a call says, by constant scales and sizes, of all modes and coordinates: the edge is that of what is there; on every
target, beside a model that is made for that extent; equal bits between targets.  77 where NumPy is not there."""
import os
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from told import expect, finish, run, told

HEAD = '<ir_version: 8, opset_import: ["" : 19]>\n'
WAYS = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric", "tf_crop_and_resize")


def model():
    outs, text = [], ""
    for i, way in enumerate(WAYS):
        for j, more in enumerate(('mode = "linear"', 'mode = "nearest"', 'mode = "cubic", exclude_outside = 1', 'mode = "linear", antialias = 1')):
            for k, scales in enumerate(("up", "down", "mixed")):
                if (i + j + k) % 2 and way != "half_pixel":
                    continue                                # half of them all
                outs.append("y%d%d%d" % (i, j, k))
                text += '\ty%d%d%d = Resize <coordinate_transformation_mode = "%s", %s> (x, %s, %s)\n' % (i, j, k, way, more, "region" if "crop" in way else "", scales)
        outs.append("s%d" % i)
        text += '\ts%d = Resize <coordinate_transformation_mode = "%s", mode = "linear"> (x, %s, , sizes)\n' % (i, way, "region" if "crop" in way else "")
    return HEAD + """resized (float[1,2,H,W] x) => (%s)
<float[8] region = {0,0,0.25,0.1,1,1,0.875,1.1}, float[4] up = {1,1,2,1.7}, float[4] down = {1,1,0.6,0.5}, float[4] mixed = {1,1,1,2.5}, int64[4] sizes = {1,2,7,9}>
{
%s}
""" % (", ".join(outs), text)


with tempfile.TemporaryDirectory(prefix="test-resized.") as folder:
    os.chdir(folder)
    open("resized.onnxtxt", "w").write(model())
    random, bits = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1"))), {}
    data = [random.standard_normal((1, 2, h, w), np.float32) for h, w in ((5, 9), (9, 4), (2, 3), (9, 9))]
    for target in ("interpreter", "jit", "c", "cuda-emulated"):
        wrong = []
        for i, x in enumerate(data if target in ("interpreter", "jit") else data[:1]):
            np.save("x.npy", x)
            made = []
            for more in (["--dim", "H=1..9", "--dim", "W=2..9"], []):
                if target in ("c", "cuda-emulated") and not more:
                    continue                                # the interpreter's stands for it
                code, out, message = run("run", "resized.onnxtxt", "--input", "x=x.npy", "--output", "out.npz", "--target", target, *more)
                if code:
                    wrong.append(message)
                    break
                with np.load("out.npz") as file:
                    made.append({k: file[k] for k in file})
            if not made or code:
                continue
            wrong += ["%s of %s: %s, not %s" % (k, x.shape, made[0][k].ravel()[:12], made[1][k].ravel()[:12]) for k in (made[1] if len(made) > 1 else ())
                      if made[0][k].shape != made[1][k].shape or not np.allclose(made[0][k], made[1][k], rtol=1e-5, atol=1e-6)]
            now = {k: v.tobytes() for k, v in made[0].items()}
            wrong += ["%d: other bits of %s" % (i, [k for k in now if now[k] != bits[i][k]])] if bits.setdefault(i, now) != now else []
        expect("by " + target, not wrong, "; ".join(wrong))

    for name, node in (("sizes of one shape of pixels", 'Resize <mode = "linear", keep_aspect_ratio_policy = "not_larger"> (x, , , sizes)'), ("scales that come", "Resize (x, , scales)")):
        open("other.onnxtxt", "w").write(HEAD + "other (float[1,2,H,5] x, float[4] scales) => (y) <int64[4] sizes = {1,2,4,4}> { y = %s }\n" % node)
        told(name, 4, "Resize: data decide dimension 2 of x", "build", "other.onnxtxt", "-o", "not", "--dim", "H=1..9")
finish()
