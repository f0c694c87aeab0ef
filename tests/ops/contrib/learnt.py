"""Operators of ai.onnx.ml: what scikit-learn's, LightGBM's and XGBoost's converters write."""
import numpy
from onnx import TensorProto, helper, numpy_helper

from cases import case, random

F, L, S = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
R = random("learnt")


LABELS = ["setosa", "Färberdistel", "x"]


def draw(*shape, kind="f4", scale=1.0):
    return (R.standard_normal(shape) * scale).astype(kind)


# ---- trees ----
def forest(trees, features, depth, modes=("BRANCH_LEQ",), missing=False):
    """Drawn trees as nodes_ attributes, and (tree, node) of the leaves."""
    rows, leaves = [], []
    for tree in range(trees):
        nodes, todo = [], [(0, 0)]
        while todo:
            node, level = todo.pop(0)
            if level < depth and (level == 0 or R.random() < 0.8):
                yes, no = len(nodes) + len(todo) + 1, len(nodes) + len(todo) + 2
                nodes.append((tree, node, R.integers(features), R.choice(modes), numpy.float32(R.choice([-0.5, 0.0, 0.25, R.standard_normal()])), yes, no, int(missing and R.random() < 0.5)))
                todo += [(yes, level + 1), (no, level + 1)]
            else:
                nodes.append((tree, node, 0, "LEAF", 0.0, 0, 0, 0))
                leaves.append((tree, node))
        rows += nodes
    names = ["nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes", "nodes_values", "nodes_truenodeids", "nodes_falsenodeids", "nodes_missing_value_tracks_true"]
    made = {n: [r[i].item() if isinstance(r[i], numpy.generic) else r[i] for r in rows] for i, n in enumerate(names)}
    if not missing:
        del made["nodes_missing_value_tracks_true"]
    return made, leaves


def points(rows, features, kind="f4", missing=False):
    """Some lie on thresholds, some are missing."""
    x = draw(rows, features)
    x[R.random(x.shape) < 0.3] = 0.25
    if missing:
        x[R.random(x.shape) < 0.2] = numpy.nan
    return x.astype(kind)


def regressor(name, x, trees=5, depth=4, targets=1, base=None, modes=("BRANCH_LEQ",), missing=False, tensors=None, **more):
    nodes, leaves = forest(trees, x.shape[1], depth, modes, missing)
    votes = [(t, n, i, R.standard_normal()) for t, n in leaves for i in range(targets)]
    given = {"target_treeids": [v[0] for v in votes], "target_nodeids": [v[1] for v in votes], "target_ids": [v[2] for v in votes], "target_weights": [float(v[3]) for v in votes]}
    if base:
        given["base_values"] = base
    if tensors:
        for n in ("nodes_values", "target_weights", "base_values"):
            values = (nodes if n in nodes else given).pop(n, None)
            if values is not None:
                given[n + "_as_tensor"] = numpy_helper.from_array(numpy.array(values, tensors))
    case("TreeEnsembleRegressor", name, [x], domain="ai.onnx.ml", n_targets=targets, **nodes, **given, **more)


def classifier(name, x, classes, trees=6, depth=4, base=None, one=None, positive=True, missing=False, modes=("BRANCH_LEQ",), strings=False, **more):
    """one: the class that all leaves vote for."""
    nodes, leaves = forest(trees, x.shape[1], depth, modes, missing)
    votes = [(t, n, i, float(R.random() / trees if positive else R.standard_normal())) for t, n in leaves for i in ([one] if one is not None else range(classes))]
    given = {"class_treeids": [v[0] for v in votes], "class_nodeids": [v[1] for v in votes], "class_ids": [v[2] for v in votes], "class_weights": [v[3] for v in votes]}
    if base:
        given["base_values"] = base
    case("TreeEnsembleClassifier", name, [x], ["label", "scores"], domain="ai.onnx.ml", types=[S if strings else L, F], **nodes, **given, **more,
         **({"classlabels_strings": LABELS[:classes]} if strings else {"classlabels_int64s": [10 * i + 3 for i in range(classes)]}))


ALL = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
regressor("one row", points(1, 4))
regressor("rows, base", points(50, 4), base=[0.5])
regressor("all comparisons, missing values", points(60, 4, missing=True), modes=ALL, missing=True)
regressor("missing values go where the comparison says", points(30, 4, missing=True))
SHARED = dict(nodes_treeids=[0] * 7, nodes_nodeids=list(range(7)), nodes_featureids=[0, 0, 0, 1, 0, 0, 0], nodes_modes=["BRANCH_EQ"] * 3 + ["BRANCH_LEQ"] + ["LEAF"] * 3,
              nodes_values=[0.25, 1.0, -2.0, 0.0, 0.0, 0.0, 0.0], nodes_truenodeids=[3, 3, 3, 4, 0, 0, 0], nodes_falsenodeids=[1, 2, 6, 5, 0, 0, 0])
case("TreeEnsembleRegressor", "several nodes lead to one: is it one of these values", [R.choice(numpy.float32([0.25, 1.0, -2.0, 3.0]), (40, 2))], domain="ai.onnx.ml", n_targets=1,
     target_treeids=[0] * 3, target_nodeids=[4, 5, 6], target_ids=[0] * 3, target_weights=[1.5, -2.0, 4.0], **SHARED)
regressor("several targets, mean", points(20, 4), targets=3, base=[0.5, 1.0, -1.0], aggregate_function="AVERAGE")
regressor("least", points(20, 4), aggregate_function="MIN")
regressor("most", points(20, 4), aggregate_function="MAX")
regressor("logistic", points(20, 4), post_transform="LOGISTIC")
regressor("double", points(20, 4, "f8"), tensors="f8", base=[0.25])
regressor("a leaf alone", points(3, 4), trees=2, depth=0)
for transform in ("NONE", "SOFTMAX", "SOFTMAX_ZERO", "LOGISTIC"):
    classifier(f"three classes, {transform}", points(40, 4), 3, positive=False, post_transform=transform, base=[0.1, 0.2, -0.3] if transform == "NONE" else None)
classifier("two classes, both voted for", points(40, 4), 2)
classifier("two classes, votes above 0 for one", points(40, 4), 2, one=0, trees=8)
classifier("two classes, votes for the second", points(40, 4), 2, one=1, trees=8)
classifier("two classes, votes of any sign", points(40, 4), 2, one=0, positive=False)
classifier("two classes, logistic, base", points(40, 4), 2, one=0, positive=False, post_transform="LOGISTIC", base=[0.3])
classifier("two classes, votes for the second of any sign, base", points(40, 4), 2, one=1, positive=False, base=[0.3], post_transform="LOGISTIC")
classifier("missing values", points(40, 4, missing=True), 3, missing=True)
for classes in (2, 3):
    classifier(f"{classes} classes, strings", points(40, 4), classes, strings=True)
classifier("two classes, votes for one, strings", points(40, 4), 2, one=1, strings=True)


def ensemble(name, x, trees=4, depth=4, targets=1, kind="f4", members=False, missing=False, **more):
    """Nodes and leaves apart, as version 5 has them."""
    rows, leaves, sets, roots = [], [], [], []

    def grow(level):
        """(is it a leaf, its number)"""
        if level >= depth or (level and R.random() < 0.2):
            leaves.append((int(R.integers(targets)), R.standard_normal()))
            return 1, len(leaves) - 1
        at, mode = len(rows), int(R.integers(7 if members else 6))
        rows.append(None)
        if mode == 6:
            sets.append((at, [*R.choice([-1.0, 0.0, 1.0, 2.0], R.integers(1, 4), replace=False)]))
        yes, no = grow(level + 1), grow(level + 1)
        rows[at] = (int(R.integers(x.shape[1])), mode, R.choice([-0.5, 0.0, 0.25]), *yes, *no, int(missing and R.random() < 0.5))
        return 0, at

    for tree in range(trees):
        roots.append(grow(0)[1])
    feature, mode, split, yes_leaf, yes, no_leaf, no, tracks = zip(*rows)
    flat = [v for _, values in sorted(sets, key=lambda s: s[0]) for v in [*values, numpy.nan]]
    more |= {"membership_values": numpy_helper.from_array(numpy.array(flat, kind))} if members else {}
    more |= {"nodes_missing_value_tracks_true": tracks} if missing else {}
    case("TreeEnsemble", name, [x], domain="ai.onnx.ml", ml=5, types=[helper.np_dtype_to_tensor_dtype(numpy.dtype(kind))], n_targets=targets, tree_roots=roots, nodes_featureids=feature,
         nodes_modes=numpy_helper.from_array(numpy.array(mode, "u1")), nodes_splits=numpy_helper.from_array(numpy.array(split, kind)), nodes_truenodeids=yes, nodes_trueleafs=yes_leaf,
         nodes_falsenodeids=no, nodes_falseleafs=no_leaf, leaf_targetids=[t for t, _ in leaves], leaf_weights=numpy_helper.from_array(numpy.array([w for _, w in leaves], kind)), **more)


ensemble("float", points(20, 4))
ensemble("double, several targets", points(20, 4, "f8"), kind="f8", targets=3)
ensemble("one of several values", R.integers(-2, 4, (40, 4)).astype("f4"), members=True)
ensemble("missing values", points(40, 4, missing=True), missing=True)
ensemble("several targets, SOFTMAX_ZERO", points(20, 4), targets=3, post_transform=3)
ensemble("least", points(20, 4), aggregate_function=2)
ensemble("mean", points(20, 4), aggregate_function=0)


# ---- support vectors ----
def support(name, x, kernel, per_class=None, strings=False, chances=False, vectors=7, **more):
    kernels = {"kernel_type": kernel, "kernel_params": [0.4, 0.1, 3.0]}
    if per_class is None:
        case("SVMRegressor", name, [x], domain="ai.onnx.ml", n_supports=vectors, coefficients=[float(v) for v in draw(vectors or x.shape[1])], rho=[0.3],
             **({"support_vectors": [float(v) for v in draw(vectors * x.shape[1])]} if vectors else {}), **kernels, **more)
        return
    classes, vectors = len(per_class), sum(per_class)
    pairs = classes * (classes - 1) // 2
    if chances:
        more |= {"prob_a": [float(-1 - v * v) for v in draw(pairs)], "prob_b": [float(v / 4) for v in draw(pairs)]}
    more |= {"classlabels_strings": LABELS[:classes]} if strings else {"classlabels_ints": [4, 2, 9, 7][:classes]}
    case("SVMClassifier", name, [x], ["label", "scores"], domain="ai.onnx.ml", types=[S if strings else L, F], vectors_per_class=per_class, coefficients=[float(v) for v in draw((classes - 1) * vectors)],
         rho=[float(v) for v in draw(pairs, scale=0.2)], support_vectors=[float(v) for v in draw(vectors * x.shape[1])], **kernels, **more)


for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
    support(f"{kernel}", draw(6, 4, scale=0.5), kernel)
    support(f"three classes, {kernel}", draw(6, 4, scale=0.5), kernel, [3, 2, 4])
support("one class", draw(8, 4), "RBF", one_class=1)
support("coefficients alone", draw(8, 4), "LINEAR", vectors=0)
support("two classes", draw(8, 4), "RBF", [3, 4])
support("two classes, strings", draw(8, 4), "RBF", [3, 4], strings=True)
support("two classes, probabilities", draw(8, 4), "RBF", [3, 4], chances=True)
support("four classes, probabilities", draw(8, 4), "RBF", [3, 4, 1, 2], chances=True)
support("three classes, probabilities, one row of one dimension", draw(1, 4), "RBF", [3, 4, 1], chances=True, strings=True)

# ---- around them ----
def plain(op, name, inputs, outputs=("y",), types=None, **more):
    case(op, name, inputs, outputs, domain="ai.onnx.ml", types=types, **more)


plain("ArrayFeatureExtractor", "columns", [draw(5, 4), numpy.array([2, 0, 2], "i8")])
plain("ArrayFeatureExtractor", "int64, one row", [R.integers(0, 9, 4), numpy.array([[3, 1]], "i8")], types=[L])
for kind in ("f4", "f8", "i8"):
    plain("Scaler", f"columns {kind}", [points(5, 4, "f4").astype(kind) if kind != "i8" else R.integers(-9, 9, (5, 4))], offset=[0.5, -1.0, 2.0, 0.0], scale=[2.0, 0.5, 1.0, 3.0])
plain("Scaler", "one for all", [draw(5, 4)], offset=[0.5], scale=[2.0])
for norm in ("MAX", "L1", "L2"):
    plain("Normalizer", norm, [numpy.concatenate([draw(5, 4), numpy.zeros((1, 4), "f4")])], norm=norm)
plain("Binarizer", "float", [points(5, 4)], threshold=0.25)
plain("Imputer", "NaN", [points(6, 4, missing=True)], imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan"))
plain("Imputer", "a value, int64", [R.integers(0, 3, (6, 4))], types=[L], imputed_value_int64s=[7], replaced_value_int64=2)
plain("FeatureVectorizer", "two", [draw(5, 2), draw(5, 3)], inputdimensions=[2, 3])
plain("LinearRegressor", "one target", [draw(5, 4)], coefficients=[0.5, -1.0, 2.0, 0.25], intercepts=[0.75], targets=1)
plain("LinearRegressor", "three targets, softmax", [draw(5, 4)], coefficients=[float(v) for v in draw(12)], intercepts=[0.1, 0.2, 0.3], targets=3, post_transform="SOFTMAX")
for transform in ("NONE", "SOFTMAX", "LOGISTIC"):
    plain("LinearClassifier", f"three classes, {transform}", [draw(9, 4)], ["label", "scores"], [L, F], coefficients=[float(v) for v in draw(12)], intercepts=[0.1, 0.2, 0.3], classlabels_ints=[5, 7, 9],
          post_transform=transform, multi_class=1)
plain("LinearClassifier", "two classes", [draw(9, 4)], ["label", "scores"], [L, F], coefficients=[float(v) for v in draw(8)], intercepts=[0.1, -0.1], classlabels_ints=[0, 1], post_transform="LOGISTIC")
plain("LinearClassifier", "three classes, strings", [draw(9, 4)], ["label", "scores"], [S, F], coefficients=[float(v) for v in draw(12)], intercepts=[0.1, 0.2, 0.3], classlabels_strings=LABELS,
      post_transform="SOFTMAX")
for transform in ("NONE", "LOGISTIC"):
    plain("LinearClassifier", f"one row for two labels, {transform}", [draw(9, 4)], ["label", "scores"], [S, F], coefficients=[float(v) for v in draw(4)], intercepts=[0.1], classlabels_strings=LABELS[:2],
          post_transform=transform)
    plain("LinearClassifier", f"one row for two integers, {transform}", [draw(9, 4)], ["label", "scores"], [L, F], coefficients=[float(v) for v in draw(4)], intercepts=[-0.3], classlabels_ints=[4, 2],
          post_transform=transform)
plain("OneHotEncoder", "int64", [R.integers(0, 5, (6,))], cats_int64s=[1, 4, 2])
plain("OneHotEncoder", "int64, all known", [R.integers(1, 4, (6, 2))], cats_int64s=[1, 3, 2], zeros=0)
plain("LabelEncoder", "int64 to float", [R.integers(0, 6, (3, 4))], keys_int64s=[1, 2, 5], values_floats=[0.5, -1.0, 2.0], default_float=9.0)
plain("LabelEncoder", "float to int64", [R.choice(numpy.array([0.5, 1.5, numpy.nan], "f4"), (4, 4))], types=[L], keys_floats=[0.5, 2.5], values_int64s=[3, 4], default_int64=-7)
plain("LabelEncoder", "int64 to string", [R.integers(0, 6, (3, 4))], types=[S], keys_int64s=[1, 2, 5], values_strings=LABELS, default_string="?")
plain("LabelEncoder", "int64 to string, nothing said", [R.integers(0, 6, (3, 4))], types=[S], keys_int64s=[1, 2, 5], values_strings=LABELS)
