/* ensemble.c: ingot.Ensemble, the forest of ai.onnx.ml.TreeEnsemble, whose nodes and leaves are lists of their own ->
 * ingot.Trees, whose leaves are nodes.  A node that asks for one of several values becomes one for each value. */
#include "ops/ops.h"
#include <math.h>

enum { MODE_MEMBER = 6, NODES_MOST = 1 << 20 };
static const char *const modes[] = { "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ" };

typedef VECTOR(int64_t) numbers;
typedef VECTOR(double) reals;

struct ensemble {
	struct node *node;
	struct arena *arena;
	int64_t nodes, leaves;
	const int64_t *feature, *yes, *no, *yes_leaf, *no_leaf, *missing, *target;
	const struct tensor *mode, *split, *weight, *members;
	int64_t *sets; /* of a node that asks for one of several: where those begin in `members` */
	numbers trees, ids, features, trues, falses, tracks, leaf_trees, leaf_ids, leaf_targets;
	reals values, weights;
	VECTOR(struct bytes) words;
};

/* A part of a tree that has its number, and is not in the lists yet. */
struct part {
	bool leaf;
	int64_t at, id;
};
typedef VECTOR(struct part) parts;

static const int64_t *integers(const struct ensemble *e, const char *name, int64_t want, bool optional)
{
	size_t count;
	const int64_t *list = node_ints(e->node, name, &count);
	if (optional && !count)
		return NULL;
	if ((int64_t)count != want)
		node_fail(e->node, EXIT_INVALID, "%s has %zu numbers, %" PRId64 " are right", name, count, want);
	return list;
}

static const struct tensor *tensor_of(const struct ensemble *e, const char *name, int64_t want, bool is_float)
{
	const struct attribute *a = node_attribute(e->node, name);
	bool right =
	        a && a->t && (is_float ? a->t->type == DTYPE_F32 || a->t->type == DTYPE_F64 : a->t->type == DTYPE_U8);
	if (!right || (want >= 0 && tensor_elements(e->node->graph->build, a->t) != want))
		node_fail(e->node, EXIT_INVALID, "%s is no tensor of %s%s", name,
		        is_float ? "float or double" : "uint8",
		        want >= 0 ? arena_printf(e->arena, " of %" PRId64 " numbers", want) : "");
	return a->t;
}

/* Each node that asks for one of several has the next of the sets, which NaNs are between. */
static void find_sets(struct ensemble *e)
{
	const struct attribute *given = node_attribute(e->node, "membership_values");
	int64_t count = 0, at = 0;
	if (given) {
		e->members = tensor_of(e, "membership_values", -1, true);
		count = tensor_elements(e->node->graph->build, e->members);
	}
	e->sets = arena_new_array(e->arena, int64_t, e->nodes + 1);
	FOR (i, e->nodes) {
		if (tensor_int(e->mode, (size_t)i) > MODE_MEMBER)
			node_fail(
			        e->node, EXIT_INVALID, "nodes_modes: no mode %" PRId64, tensor_int(e->mode, (size_t)i));
		if (tensor_int(e->mode, (size_t)i) != MODE_MEMBER)
			continue;
		if (at >= count)
			node_fail(e->node, EXIT_INVALID,
			        "membership_values has fewer sets than there are nodes of BRANCH_MEMBER");
		e->sets[i] = at;
		while (at < count && !isnan(tensor_float(e->members, (size_t)at)))
			at++;
		at++;
	}
}

static int64_t fresh(int64_t *next) { return (*next)++; }

static void add_node(struct ensemble *e, int64_t tree, int64_t id, const char *word, int64_t feature, double value,
        int64_t yes, int64_t no, int64_t tracks)
{
	if (e->ids.count >= NODES_MOST)
		node_fail(e->node, EXIT_LIMIT, "more than %d nodes, or a circle of them", NODES_MOST);
	push(e->arena, &e->trees, tree);
	push(e->arena, &e->ids, id);
	push(e->arena, &e->features, feature);
	push(e->arena, &e->trues, yes);
	push(e->arena, &e->falses, no);
	push(e->arena, &e->tracks, tracks);
	push(e->arena, &e->values, value);
	push(e->arena, &e->words, (struct bytes){ word, strlen(word) });
}

static void add_leaf(struct ensemble *e, int64_t tree, const struct part *part)
{
	if (part->at < 0 || part->at >= e->leaves)
		node_fail(e->node, EXIT_INVALID, "leaf %" PRId64 " of %" PRId64, part->at, e->leaves);
	add_node(e, tree, part->id, "LEAF", 0, 0, part->id, part->id, 0);
	push(e->arena, &e->leaf_trees, tree);
	push(e->arena, &e->leaf_ids, part->id);
	push(e->arena, &e->leaf_targets, e->target[part->at]);
	push(e->arena, &e->weights, tensor_float(e->weight, (size_t)part->at));
}

static int64_t later(struct ensemble *e, parts *todo, int64_t i, bool yes, int64_t *next)
{
	struct part part = { (yes ? e->yes_leaf : e->no_leaf)[i], (yes ? e->yes : e->no)[i], fresh(next) };
	push(e->arena, todo, part);
	return part.id;
}

/* One of several values: is it the first, else is it the second … */
static void add_members(struct ensemble *e, parts *todo, int64_t tree, const struct part *part, int64_t *next)
{
	int64_t i = part->at, id = part->id, count = tensor_elements(e->node->graph->build, e->members),
	        at = e->sets[i];
	bool first = true, last;
	do {
		double value = at < count ? tensor_float(e->members, (size_t)at) : (double)NAN;
		last = isnan(value) || at + 1 >= count || isnan(tensor_float(e->members, (size_t)at + 1));
		int64_t yes = later(e, todo, i, true, next), no = last ? later(e, todo, i, false, next) : fresh(next);
		add_node(e, tree, id, "BRANCH_EQ", e->feature[i], value, yes, no,
		        first && e->missing ? e->missing[i] : 0);
		id = no;
		first = false;
		at++;
	} while (!last);
}

static void add_tree(struct ensemble *e, int64_t tree, int64_t root)
{
	parts todo = { 0 };
	int64_t next = 1;
	push(e->arena, &todo, (struct part){ false, root, 0 });
	while (todo.count) {
		struct part part = todo.at[--todo.count];
		if (part.leaf) {
			add_leaf(e, tree, &part);
			continue;
		}
		if (part.at < 0 || part.at >= e->nodes)
			node_fail(e->node, EXIT_INVALID, "node %" PRId64 " of %" PRId64, part.at, e->nodes);
		int64_t mode = tensor_int(e->mode, (size_t)part.at);
		if (mode == MODE_MEMBER) {
			add_members(e, &todo, tree, &part, &next);
			continue;
		}
		int64_t yes = later(e, &todo, part.at, true, &next), no = later(e, &todo, part.at, false, &next);
		add_node(e, tree, part.id, modes[mode], e->feature[part.at], tensor_float(e->split, (size_t)part.at),
		        yes, no, e->missing ? e->missing[part.at] : 0);
	}
}

static struct attribute ints_named(const char *name, const numbers *list)
{
	return (struct attribute){ .name = name, .kind = ATTRIBUTE_INTS, .ints = list->at, .count = list->count };
}

static struct attribute reals_named(struct ensemble *e, const char *name, const reals *list)
{
	struct tensor *tensor = arena_new(e->arena, struct tensor);
	*tensor = (struct tensor){ .name = name,
		.type = DTYPE_F64,
		.rank = 1,
		.dims = { dim_of((int64_t)list->count) },
		.data = list->at,
		.bytes = list->count * sizeof *list->at };
	return (struct attribute){ .name = name, .kind = ATTRIBUTE_TENSOR, .t = tensor };
}

bool expand_ensemble(struct bodies *bodies, struct node *node, const struct op *op)
{
	struct ensemble e = { .node = node, .arena = node_arena(node) };
	size_t count, roots;
	(void)op;
	infer_made(node);
	infer_counts(node, 1, 1, 1);
	if (!tensor_is_known(node->in[0]))
		return false;
	e.feature = node_ints(node, "nodes_featureids", &count);
	e.nodes = (int64_t)count;
	e.target = node_ints(node, "leaf_targetids", &count);
	e.leaves = (int64_t)count;
	e.yes = integers(&e, "nodes_truenodeids", e.nodes, false);
	e.no = integers(&e, "nodes_falsenodeids", e.nodes, false);
	e.yes_leaf = integers(&e, "nodes_trueleafs", e.nodes, false);
	e.no_leaf = integers(&e, "nodes_falseleafs", e.nodes, false);
	e.missing = integers(&e, "nodes_missing_value_tracks_true", e.nodes, true);
	e.mode = tensor_of(&e, "nodes_modes", e.nodes, false);
	e.split = tensor_of(&e, "nodes_splits", e.nodes, true);
	e.weight = tensor_of(&e, "leaf_weights", e.leaves, true);
	find_sets(&e);
	const int64_t *root = node_ints(node, "tree_roots", &roots);
	FOR (i, roots)
		add_tree(&e, (int64_t)i, root[i]);
	const char *reduce = node_string(node, "reduce", "SUM");
	const struct attribute given[] = {
		{ .name = "outputs", .kind = ATTRIBUTE_INT, .i = node_int(node, "outputs", 1) },
		{ .name = "reduce", .kind = ATTRIBUTE_STRING, .s = { reduce, strlen(reduce) } },
		ints_named("nodes_treeids", &e.trees),
		ints_named("nodes_nodeids", &e.ids),
		ints_named("nodes_featureids", &e.features),
		ints_named("nodes_truenodeids", &e.trues),
		ints_named("nodes_falsenodeids", &e.falses),
		ints_named("nodes_missing_value_tracks_true", &e.tracks),
		{ .name = "nodes_modes", .kind = ATTRIBUTE_STRINGS, .strings = e.words.at, .count = e.words.count },
		reals_named(&e, "nodes_values_as_tensor", &e.values),
		ints_named("leaf_treeids", &e.leaf_trees),
		ints_named("leaf_nodeids", &e.leaf_ids),
		ints_named("leaf_ids", &e.leaf_targets),
		reals_named(&e, "leaf_weights_as_tensor", &e.weights),
	};
	bodies_add(bodies, node->graph, node, "ingot", "Trees", 1, node->in, (int)COUNT(given), given, node->out[0]);
	return true;
}
