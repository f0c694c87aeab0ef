#!/usr/bin/env python3
"""selected.py INGOT: few of many, in order: TopK, and the boxes of NonMaxSuppression, of rows so long that the best are selected; equal keys, NaN, rows that only rise, boxes with turned
corners; by NumPy, on every target, bit by bit.  Constants stay small, and the workspace is linear in the boxes."""
import os
import re
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from told import expect, finish, run

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'
TARGETS = (["interpreter"], ["jit"], ["c"], ["c", "--cpu", "x86-64-v3"])
OTHERS = (["c", "--cpu", "generic"], ["cuda-emulated"])
WORDS = {"f4": "float", "f8": "double", "i8": "int64", "i1": "int8"}


def order(x, k, largest):
    """The positions of the first k of each row, equal ones in their order; a NaN is above every number."""
    unknown, rest = np.isnan(x), np.nan_to_num(x, nan=0)
    keys = np.lexsort((np.broadcast_to(np.arange(x.shape[-1]), x.shape), -rest if largest else rest, ~unknown if largest else unknown), -1)
    return keys[..., :k]


def wild(random, *shape):
    x = random.standard_normal(shape).astype("f4")
    x[..., ::97], x[..., 5::89], x[..., 7::83], x[..., 11::101] = np.nan, 0, -0.0, np.inf
    return x


def best(random):
    """Nodes of TopK: name, data, k, axis, largest."""
    rises = np.arange(1500, dtype="f4")[None] // np.float32(3)
    return [("wild", wild(random, 3, 1200), 80, 1, 1), ("least", wild(random, 2, 1200), 100, 1, 0), ("rises", rises, 90, 1, 1), ("falls", -rises, 70, 1, 1),
            ("same", np.zeros((1, 800), "f4"), 75, 1, 1), ("whole", random.integers(-40, 40, (2, 900)).astype("i8"), 66, 1, 0), ("wide", wild(random, 2, 700).astype("f8"), 80, 1, 1),
            ("bytes", random.integers(-128, 128, (1, 1000)).astype("i1"), 70, 1, 1), ("across", wild(random, 600, 3), 70, 0, 1), ("few", wild(random, 2, 1100), 9, 1, 1),
            ("beside", random.integers(-4, 5, (37, 16)).astype("i8"), 5, 1, 1), ("beside_least", random.integers(-4, 5, (12, 33)).astype("f8"), 6, 0, 0),
            ("beside_wild", np.floor(wild(random, 40, 60)), 7, 1, 1)]


def boxes_of(random, batch, n):
    at = random.uniform(0, 60, (batch, n, 2))
    return np.concatenate([at, at + random.uniform(1, 9, (batch, n, 2))], -1).astype("f4")


def suppressed(boxes, scores, limit, overlap, least, centred):
    rows, float32 = [], np.float32
    one, other = (boxes[..., :2] - boxes[..., 2:] * float32(0.5), boxes[..., :2] + boxes[..., 2:] * float32(0.5)) if centred else (boxes[..., :2], boxes[..., 2:])
    low, high = (one, other) if centred else (np.minimum(one, other), np.maximum(one, other))
    size = high - low
    area = size[..., 0] * size[..., 1]
    for b in range(scores.shape[0]):
        for c in range(scores.shape[1]):
            taken = []
            for i in order(scores[b, c], scores.shape[2], True):
                if len(taken) >= limit:
                    break
                if least is not None and not scores[b, c, i] > float32(least):
                    continue
                side = np.maximum(np.minimum(high[b, i], high[b, taken]) - np.maximum(low[b, i], low[b, taken]), float32(0))
                shared = side[:, 0] * side[:, 1]
                with np.errstate(invalid="ignore", divide="ignore"):
                    if not ((shared > 0) & (shared / (area[b, i] + area[b, taken] - shared) > float32(overlap))).any():
                        taken.append(i)
            rows += [[b, c, i] for i in taken]
    return np.array(rows, "i8").reshape(-1, 3)


def chosen(random):
    """Nodes of NonMaxSuppression: name, boxes, scores, limit, whether it is a constant, overlap, least, centred."""
    many, few, turned = boxes_of(random, 1, 1100), boxes_of(random, 1, 700), boxes_of(random, 2, 400)
    turned[:, ::2] = turned[:, ::2][..., [2, 3, 0, 1]]
    turned[:, 3::7, 1] = np.nan
    odd = random.random((2, 3, 400)).astype("f4")
    odd[..., ::37], odd[..., 5::41] = np.nan, 0.5
    crowd = np.tile(boxes_of(random, 1, 40), (1, 20, 1))
    return [("enough", many, random.random((1, 2, 1100)).astype("f4"), 20, True, 0.3, None, 0), ("odd", turned, odd, 12, True, 0.2, 0.4, 0),
            ("crowd", crowd, random.random((1, 1, 800)).astype("f4"), 50, True, 0.4, None, 0), ("equal", few, np.round(random.random((1, 1, 700)) * 4).astype("f4") / 4, 600, False, 0.1, 0.3, 1),
            ("none", few, random.random((1, 1, 700)).astype("f4"), 0, True, 0.5, None, 0), ("below", few, random.random((1, 1, 700)).astype("f4"), -3, False, 0.5, None, 0)]


def model(folder, name, given, nodes, outputs):
    path = os.path.join(folder, name + ".onnxtxt")
    with open(path, "w") as file:
        dims = lambda a: f"{WORDS[a.dtype.str[1:]]}[{','.join(map(str, a.shape))}]"
        file.write(HEAD + f"{name} ({', '.join(f'{dims(a)} {n}' for n, a in given.items())}) => ({', '.join(outputs)})\n{{\n\t" + "\n\t".join(nodes) + "\n}\n")
    np.savez(os.path.join(folder, name + ".npz"), **given)
    return path


def check(folder, path, right, others=()):
    for target in (*TARGETS, *others):
        asked = [w for n in right for w in ("--output", f"{n}={os.path.join(folder, n)}.npy")]
        code, _, said = run("run", path, "--input", path.replace(".onnxtxt", ".npz"), *asked, "--target", *target)
        wrong = [n for n, a in right.items() if code == 0 and np.load(os.path.join(folder, n) + ".npy").tobytes() != a.tobytes()]
        expect(f"{os.path.basename(path)} on {' '.join(target)}", code == 0 and not wrong, said or ", ".join(wrong))


def topk(folder, random):
    given, nodes, right = {}, [], {}
    for name, x, k, axis, largest in best(random):
        given[name] = x
        nodes += [f"k_{name} = Constant <value_ints = [{k}]> ()", f"v_{name}, i_{name} = TopK <axis = {axis}, largest = {largest}> ({name}, k_{name})"]
        at = np.moveaxis(order(np.moveaxis(x, axis, -1), k, largest), -1, axis)
        right[f"i_{name}"], right[f"v_{name}"] = at.astype("i8"), np.take_along_axis(x, at, axis)
    check(folder, model(folder, "topk", given, nodes, [f"{n}" for n in right]), right)


def boxes(folder, random):
    given, nodes, right = {}, [], {}
    for name, at, scores, limit, constant, overlap, least, centred in chosen(random):
        given |= {f"b_{name}": at, f"s_{name}": scores}
        if not constant:
            given[f"l_{name}"] = np.array([limit])
        else:
            nodes.append(f"l_{name} = Constant <value = int64[1] {{{limit}}}> ()")
        nodes.append(f"o_{name} = Constant <value = float[1] {{{overlap}}}> ()")
        if least is not None:
            nodes.append(f"t_{name} = Constant <value = float[1] {{{least}}}> ()")
        nodes.append(f"y_{name} = NonMaxSuppression <center_point_box = {centred}> (b_{name}, s_{name}, l_{name}, o_{name}{f', t_{name}' if least is not None else ''})")
        right[f"y_{name}"] = suppressed(at, scores, limit, overlap, least, centred)
    check(folder, model(folder, "boxes", given, nodes, list(right)), right, OTHERS)


def sizes(folder):
    """Bytes of constants and workspace of 1,000 and of 8,000 boxes."""
    said = []
    for n in (1000, 8000):
        path = model(folder, f"boxes_{n}", {"b": np.zeros((1, n, 4), "f4"), "s": np.zeros((1, 80, n), "f4")},
                     ["limit = Constant <value = int64[1] {100}> ()", "y = NonMaxSuppression (b, s, limit)"], ["y"])
        _, shown, _ = run("show", path, "--stage", "plan")
        said.append([int(re.search(rf"\b{word} (\d+)", shown).group(1)) for word in ("workspace", "weights")])
    (small, few), (large, more) = said
    expect("constants of boxes are few", few == more <= 4096, said)
    expect("the workspace of boxes is linear in them", large <= 8 * small, said)


with tempfile.TemporaryDirectory() as folder:
    topk(folder, np.random.default_rng(int(os.environ.get("INGOT_SEED", "1"))))
    boxes(folder, np.random.default_rng(int(os.environ.get("INGOT_SEED", "1"))))
    sizes(folder)
finish()
