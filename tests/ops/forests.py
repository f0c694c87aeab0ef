#!/usr/bin/env python3
"""Drawn forests: libraries for several CPUs, for speed and for size, the JIT and the CUDA emulator beside the interpreter, bit for bit, for one row and
for many; and the interpreter beside a walk written here.

    forests.py INGOT TARGET...

TARGET: c (for several CPUs and once for size), jit, cuda-emulated.  Ends with 77 where NumPy or onnx is not there."""
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from same import same

ENVIRONMENT, SKIPPED = 5, 77
HOLDS = {"BRANCH_LEQ": numpy.less_equal, "BRANCH_LT": numpy.less, "BRANCH_GTE": numpy.greater_equal, "BRANCH_GT": numpy.greater, "BRANCH_EQ": numpy.equal,
         "BRANCH_NEQ": numpy.not_equal}
SPECIAL = [-0.0, 0.0, 0.25, -1.0, numpy.inf, -numpy.inf, 1e-45, numpy.nan]
CPUS = ["native", "generic"]


def tree(draw, features, depth, leaves, modes, kind):
    """Nodes {id: (feature, mode, threshold, yes, no, missing)}; of a leaf None.  A random leaf is split until there are enough."""
    nodes, open_ones = {0: None}, [(0, 0)]
    while open_ones and len(nodes) < 2 * leaves - 1:
        at, level = open_ones.pop(int(draw.integers(len(open_ones))))
        if level == depth:
            continue
        yes, no = len(nodes), len(nodes) + 1
        threshold = draw.choice(SPECIAL) if len(modes) > 1 and draw.random() < 0.3 else draw.standard_normal()
        nodes[at] = (int(draw.integers(features)), str(draw.choice(modes)), float(numpy.dtype(kind).type(threshold)), yes, no, int(len(modes) > 1 and draw.random() < 0.5))
        nodes[yes] = nodes[no] = None
        open_ones += [(yes, level + 1), (no, level + 1)]
    return nodes


def model(draw, trees, targets, kind, rows, features):
    """TreeEnsembleRegressor of these trees, and what each leaf weighs."""
    number = lambda name, values: {name + "_as_tensor": numpy_helper.from_array(numpy.array(values, kind))}
    flat = [(t, i, node) for t, nodes in enumerate(trees) for i, node in nodes.items()]
    of = lambda k, none: [none if node is None else node[k] for _, _, node in flat]
    weights = {(t, i): [float(numpy.float32(w)) for w in draw.standard_normal(targets)] for t, i, node in flat if node is None}
    votes = [(t, i, k, w) for (t, i), each in weights.items() for k, w in enumerate(each)]
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=targets, nodes_treeids=[t for t, _, _ in flat], nodes_nodeids=[i for _, i, _ in flat],
        nodes_featureids=of(0, 0), nodes_modes=of(1, "LEAF"), nodes_truenodeids=of(3, 0), nodes_falsenodeids=of(4, 0), nodes_missing_value_tracks_true=of(5, 0),
        target_treeids=[v[0] for v in votes], target_nodeids=[v[1] for v in votes], target_ids=[v[2] for v in votes], **number("nodes_values", of(2, 0.0)),
        **number("target_weights", [v[3] for v in votes]))
    one = lambda name, kind, *dims: helper.make_tensor_value_info(name, kind, dims)
    of_x = helper.np_dtype_to_tensor_dtype(numpy.dtype(kind))
    made = helper.make_model(helper.make_graph([node], "forest", [one("x", of_x, rows, features)], [one("y", TensorProto.FLOAT, rows, targets)]),
                             opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)])
    made.ir_version = 9
    return made, weights


def leaf_of(nodes, row, kind):
    at = 0
    while nodes[at] is not None:
        feature, mode, threshold, yes, no, missing = nodes[at]
        holds = HOLDS[mode](row[feature], numpy.dtype(kind).type(threshold)) or (missing and numpy.isnan(row[feature]))
        at = yes if holds else no
    return at


def walked(trees, weights, x, targets, kind):
    """The sums in double: what float32 may differ from by rounding."""
    return numpy.array([numpy.sum([weights[t, leaf_of(nodes, row, kind)] for t, nodes in enumerate(trees)], axis=0) for row in x]).reshape(len(x), targets)


def run(ingot, path, x, folder, more, target):
    """The output of a run, or None where the target is not there."""
    given, out = os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy")
    numpy.save(given, x)
    done = subprocess.run([ingot, "run", path, "--input", f"x={given}", "--output", f"y={out}", *more, *target], capture_output=True, text=True)
    if done.returncode == ENVIRONMENT:
        return None
    assert not done.returncode, f"{path} {more} {target}: {done.stderr}"
    return numpy.load(out)


FORESTS = [  # trees, depth, leaves, targets, features, comparisons, type, rows, a range of rows
    (5, 3, 8, 1, 4, ["BRANCH_LEQ"], "f4", [1, 7, 8, 21], False),
    (70, 14, 40, 3, 11, list(HOLDS), "f4", [1, 19], True),
    (9, 6, 20, 2, 5, list(HOLDS), "f8", [12], False),
    (12, 0, 1, 1, 3, ["BRANCH_LEQ"], "f4", [9], False),
    (60, 9, 80, 1, 1 << 20, ["BRANCH_LT"], "f4", [2], False),          # too wide for nodes of 2 x 32 bits
]


def targets_of(words):
    for word in words:
        if word == "c":
            yield from (["--target", "c", "--cpu", cpu] for cpu in CPUS)
            yield ["--target", "c", "--optimise", "size"]
        else:
            yield ["--target", word]


def main():
    ingot, words = sys.argv[1], sys.argv[2:]
    draw, wrong, lacking = numpy.random.default_rng(31), [], set()
    with tempfile.TemporaryDirectory() as folder:
        for n, (count, depth, leaves, targets, features, modes, kind, all_rows, ranged) in enumerate(FORESTS):
            trees = [tree(draw, features, depth, leaves, modes, kind) for _ in range(count)]
            made, weights = model(draw, trees, targets, kind, "N", features)
            path = os.path.join(folder, f"forest{n}.onnx")
            onnx.save(made, path)
            shown = subprocess.run([ingot, "show", path, "--dim", "N=8", "--stage", "definitions"], capture_output=True, text=True).stdout
            if " = walk(" in shown and "less(" in shown:
                wrong.append(f"forest {n}: a leaf, which lies in its table, is asked whether it does")
            glue = subprocess.run([ingot, "show", path, "--dim", "N=8", "--stage", "glue"], capture_output=True, text=True)
            if targets > 1 and count > 64 and glue.returncode == 0 and "m_row_gather(scratch" not in glue.stdout:
                wrong.append(f"forest {n}: the JIT takes what leaves weigh one by one")
            for rows in all_rows:
                x = draw.standard_normal((rows, features)).astype(kind)
                special = draw.random(x.shape) < 0.3
                x[special] = draw.choice(SPECIAL[:-1] if len(modes) == 1 else SPECIAL, int(special.sum()))
                right = run(ingot, path, x, folder, ["--dim", f"N={rows}"], ["--target", "interpreter"])
                expected = walked(trees, weights, x, targets, kind)
                if not numpy.allclose(right, expected, rtol=1e-5, atol=1e-4):
                    wrong.append(f"forest {n}, {rows} rows: the interpreter differs from a walk")
                for dims in [f"N={rows}"] + ["N=1..40"] * ranged:
                    for target in targets_of(words):
                        y = run(ingot, path, x, folder, ["--dim", dims], target)
                        if y is None:
                            lacking.add(" ".join(target))
                        elif not same(right, y):
                            wrong.append(f"forest {n}, {rows} rows, {dims}, {' '.join(target)}: differs in {int((right != y).sum())} of {right.size}")
    print("\n".join(wrong) or f"{len(FORESTS)} forests are right")
    if lacking:
        print("skipped:", ", ".join(sorted(lacking)))
    sys.exit(1 if wrong else SKIPPED if lacking and len(lacking) == len(list(targets_of(words))) else 0)


main()
