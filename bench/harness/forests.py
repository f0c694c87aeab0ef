"""Drawn forests, as a node that scikit-learn's or LightGBM's exporters write."""


def node(features, trees, leaves, depth, classes=0):
	"""TreeEnsembleRegressor; of `classes` above 0 TreeEnsembleClassifier, each leaf of which votes for every class.  Random leaves are split until a tree
	has so many of them, where what comes to them is halved if inputs are drawn evenly from -2 to 2."""
	import numpy as np
	from onnx import helper
	draw = np.random.default_rng(trees * leaves + depth)
	rows, votes = [], []
	for tree in range(trees):
		nodes, open_ones = [None], [(0, 0, {})]
		while open_ones and len(nodes) < 2 * leaves - 1:
			at, level, spans = open_ones.pop(int(draw.integers(len(open_ones))))
			if level == depth:
				continue
			feature = int(draw.integers(features))
			low, high = spans.get(feature, (-2.0, 2.0))
			threshold = float(np.float32((low + high) / 2 + (high - low) * draw.uniform(-0.2, 0.2)))
			nodes[at] = (feature, "BRANCH_LEQ", threshold, len(nodes), len(nodes) + 1)
			open_ones += [(len(nodes), level + 1, {**spans, feature: (low, threshold)}), (len(nodes) + 1, level + 1, {**spans, feature: (threshold, high)})]
			nodes += [None, None]
		for at, one in enumerate(nodes):
			rows.append((tree, at, *(one or (0, "LEAF", 0.0, 0, 0))))
			if one is None:
				votes += [(tree, at, k, float(np.float32(draw.random() / trees))) for k in range(classes or 1)]
	of = "class" if classes else "target"
	names = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")
	given = {"nodes_" + name: list(values) for name, values in zip(names, zip(*rows))}
	given |= {f"{of}_{name}": list(values) for name, values in zip(("treeids", "nodeids", "ids", "weights"), zip(*votes))}
	if classes:
		return helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", classlabels_int64s=list(range(classes)), **given)
	return helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **given)
