#!/usr/bin/env python3
"""reductions.py INGOT [SEED]: reductions, ArgMax, ArgMin and running sums along an axis whose extent a call or data say: what is behind the count changes nothing, on every
target, for every number of elements, 0 among them; equal bits.  77 where NumPy is not there."""
import os
import sys
import tempfile
import warnings

try:
    import numpy as np
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from told import expect, finish, run, told

np.seterr(all="ignore")
warnings.simplefilter("ignore")                             # the mean of none
REDUCTIONS = {
    "Sum": lambda x, **k: x.sum(**k, dtype=x.dtype), "Prod": lambda x, **k: x.prod(**k, dtype=x.dtype),
    "Max": lambda x, **k: x.max(**k, initial=ends(x.dtype)[0]), "Min": lambda x, **k: x.min(**k, initial=ends(x.dtype)[1]),
    "Mean": lambda x, **k: x.mean(**k), "SumSquare": lambda x, **k: (x * x).sum(**k, dtype=x.dtype), "L1": lambda x, **k: (x if x.dtype.kind == "u" else abs(x)).sum(**k, dtype=x.dtype),
    "L2": lambda x, **k: np.sqrt((x * x).sum(**k)), "LogSum": lambda x, **k: np.log(x.sum(**k)), "LogSumExp": lambda x, **k: np.log(np.exp(x.astype(np.float64)).sum(**k)),
}
TYPES = {"float": np.float32, "double": np.float64, "float16": np.float16, "int32": np.int32, "int64": np.int64, "uint64": np.uint64, "uint8": np.uint8, "int8": np.int8, "bool": np.bool_}
OF_INTEGERS = ("Sum", "Prod", "Max", "Min", "SumSquare", "L1")


def ends(dtype):
    if dtype == np.bool_:
        return False, True
    return (-np.inf, np.inf) if np.issubdtype(dtype, np.floating) else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def rows_of(name):
    return [r for r in REDUCTIONS if name in ("float", "double", "float16") or (r in ("Max", "Min") if name in ("bool", "int8", "uint8") else r in OF_INTEGERS)]


def model(name, chosen, places=True):
    """Each reduction of x [2,N,3] along axis 1; of all its axes; what runs along and where the extremes are.  chosen: of what Compress leaves of x."""
    outs, text = [], "axis = Constant <value_ints = [1]> ()  along = Constant <value_int = 1> ()  "
    text += "c = Compress <axis = 1> (x, keep)  " if chosen else "c = Identity (x)  "
    for r in rows_of(name):
        outs += ["%s[2,1,3] one_%s" % (name, r), "%s all_%s" % (name, r)]
        text += "one_%s = Reduce%s (c, axis)  all_%s = Reduce%s <keepdims = 0> (c)  " % (r, r, r, r)
    if name != "bool" and places:
        for op in ("ArgMax", "ArgMin"):
            for last in (0, 1):
                outs.append("int64[2,3] %s_%d" % (op, last))
                text += "%s_%d = %s <axis = -2, keepdims = 0, select_last_index = %d> (c)  " % (op, last, op, last)
        if name in ("float", "double", "int32", "int64"):
            for reverse in (0, 1):
                outs.append("%s[2,%s,3] runs_%d" % (name, "K" if chosen else "N", reverse))
                text += "runs_%d = CumSum <reverse = %d, exclusive = %d> (c, along)  " % (reverse, reverse, reverse)
    return '<ir_version: 8, opset_import: ["" : 20]>\nreductions (%s[2,%s,3] x%s) => (%s)\n{ %s}\n' % (
        name, "9" if chosen else "N", ", bool[9] keep" if chosen else "", ", ".join(outs), text)


def wanted(name, x, places=True):
    want = {}
    for r in rows_of(name):
        wide = x.astype(np.float32) if name == "float16" else x
        want["one_" + r] = REDUCTIONS[r](wide, axis=1, keepdims=True).astype(x.dtype)
        want["all_" + r] = np.asarray(REDUCTIONS[r](wide)).astype(x.dtype)
    if name == "bool" or not places:
        return want
    n = x.shape[1]
    for op, find in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
        want[op + "_0"] = find(x, axis=1)
        want[op + "_1"] = n - 1 - find(x[:, ::-1], axis=1)
    if name in ("float", "double", "int32", "int64"):
        want["runs_0"] = np.cumsum(x, axis=1, dtype=x.dtype)
        behind = np.concatenate([x, np.zeros_like(x[:, :1])], 1)[:, 1:] if n else x
        want["runs_1"] = np.cumsum(behind[:, ::-1], axis=1, dtype=x.dtype)[:, ::-1]
    return want


def drawn(random, name, n):
    if name == "bool":
        return random.random((2, n, 3)) < 0.5
    if name in ("float", "double", "float16"):
        x = random.standard_normal((2, n, 3)).astype(TYPES[name])
        x[:, :, 1] = -abs(x[:, :, 1]) - 1                   # less than what zeros would make
        x[0, :, 2] = -np.inf
        return x
    low = 1 if name[0] == "u" else -4
    x = random.integers(low, 5, (2, n, 3)).astype(TYPES[name])
    x[:, :, 1] = np.iinfo(x.dtype).max if name[0] == "u" else -3      # above what zeros make the least, below what they make the largest
    return x


def differences(made, want, name):
    tolerance = {"float16": 2e-3, "double": 1e-12}.get(name, 1e-5)
    return ["%s: %s, not %s" % (k, made[k].tolist(), v.tolist()) for k, v in want.items()
            if made[k].shape != v.shape or not np.allclose(made[k], v, rtol=tolerance, atol=tolerance, equal_nan=True)]


with tempfile.TemporaryDirectory(prefix="test-reductions.") as folder:
    os.chdir(folder)
    random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("INGOT_SEED", "1")))
    for name in TYPES:
        for chosen in (False, True):
            file = "%s_%d.onnxtxt" % (name, chosen)
            open(file, "w").write(model(name, chosen))
            wrong = []
            for n in (1, 5, 9):
                x, bits = drawn(random, name, 9 if chosen else n), {}
                keep = np.arange(9) < n
                random.shuffle(keep)
                np.savez("in.npz", **({"x": x, "keep": keep} if chosen else {"x": x}))
                for target in ("interpreter", "jit", "c", "cuda-emulated"):
                    if target in ("c", "cuda-emulated") and (n != 5 or name not in ("float", "int8", "bool")):
                        continue
                    code, out, message = run("run", file, "--input", "in.npz", "--output", "out.npz", "--target", target, *([] if chosen else ["--dim", "N=0..9"]))
                    if code:
                        wrong.append(target + ": " + message)
                        continue
                    with np.load("out.npz") as made:
                        wrong += ["%d by %s: %s" % (n, target, d) for d in differences(made, wanted(name, x[:, keep] if chosen else x), name)]
                        wrong += ["%d by %s: other bits of %s" % (n, target, k) for k in made if bits.setdefault(k, made[k].tobytes()) != made[k].tobytes()]
            expect("%s%s" % (name, ", chosen" if chosen else ""), not wrong, "; ".join(wrong[:5]))

    # no element at all: what is left is the neutral element; there is no largest one's place
    for name in ("float", "int32", "int8", "bool"):
        open("none.onnxtxt", "w").write(model(name, True, False))
        x = drawn(random, name, 9)
        np.savez("in.npz", x=x, keep=np.zeros(9, bool))
        if name == "float":
            np.savez("none.npz", x=x, keep=np.zeros(9, bool))
        for target in ("interpreter", "jit"):
            code, out, message = run("run", "none.onnxtxt", "--input", "in.npz", "--output", "out.npz", "--target", target)
            wrong = [message]
            if code == 0:
                with np.load("out.npz") as made:
                    wrong = differences(made, wanted(name, x[:, :0], False), name)
            expect("none of %s by %s" % (name, target), not wrong, "; ".join(wrong))
    told("the largest of none", 3, "ArgMax: dimension 1 has no element", "run", "float_1.onnxtxt", "--input", "none.npz", "--target", "jit")

    # axes that come at run time are refused, and named
    open("late.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 18]>\nlate (float[2,N] x, int64[1] axes) => (float[A] y) { y = ReduceSum <keepdims = 0> (x, axes) }\n')
    told("axes at run time", 4, "ReduceSum: data decide dimension 1 of x", "build", "late.onnxtxt", "-o", "not", "--dim", "N=1..8")
    expect("nothing half written", not os.path.exists("not"))
finish()
