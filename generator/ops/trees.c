/* trees.c: ingot.Trees -> nodes over tables: what a forest's leaves add up to, for all rows of a batch at once.  A
 * table has a row for each node of all trees: feature, threshold, where to go.  A leaf leads to itself, so all rows and
 * trees take as many steps as the deepest tree has. */
#include "ops/ops.h"
#include <inttypes.h>
#include <stdlib.h>

enum { STEPS_MOST = 512 };
static const int64_t weights_most = 1 << 26;

enum branch_mode { MODE_LEAF, MODE_LEQ, MODE_LT, MODE_GTE, MODE_GT, MODE_EQ, MODE_NEQ, MODE_COUNT };
static const struct {
	const char *name, *op; /* NEQ is not EQ */
} modes[MODE_COUNT] = {
	[MODE_LEAF] = { "LEAF", NULL },
	[MODE_LEQ] = { "BRANCH_LEQ", "LessOrEqual" },
	[MODE_LT] = { "BRANCH_LT", "Less" },
	[MODE_GTE] = { "BRANCH_GTE", "GreaterOrEqual" },
	[MODE_GT] = { "BRANCH_GT", "Greater" },
	[MODE_EQ] = { "BRANCH_EQ", "Equal" },
	[MODE_NEQ] = { "BRANCH_NEQ", NULL },
};

struct place {
	int64_t tree, node;
	int32_t at;
};

struct forest {
	struct bodies *bodies;
	struct node *node;
	struct graph *graph;
	struct arena *arena;
	int64_t count, trees, features, outputs;
	struct place *places; /* sorted */
	int32_t *feature, *yes, *no, *mode, *roots;
	uint8_t *missing;
	bool used[MODE_COUNT], any_missing;
	enum dtype type; /* of thresholds and weights */
	int depth;
};

/* ---- attributes ---- */
static const int64_t *ints(const struct forest *f, const char *name, int64_t want)
{
	size_t count;
	const int64_t *list = node_ints(f->node, name, &count);
	if ((int64_t)count != want)
		node_fail(f->node, EXIT_INVALID, "%s has %zu numbers, %" PRId64 " are right", name, count, want);
	return list;
}

/* A constant in the type of the forest. */
static struct tensor *typed(
        const struct forest *f, const char *name, int rank, const int64_t *extents, const double *given)
{
	int64_t count = 1;
	if (f->type == DTYPE_F64)
		return graph_constant_borrowed(f->graph, name, f->type, rank, extents, given);
	for (int d = 0; d < rank; d++)
		count *= extents[d];
	float *narrow = arena_new_array(f->arena, float, (size_t)count + 1);
	for (int64_t i = 0; i < count; i++)
		narrow[i] = (float)given[i];
	return graph_constant_borrowed(f->graph, name, f->type, rank, extents, narrow);
}

/* Numbers of a list, or of a tensor of its own name. */
static struct tensor *numbers(const struct forest *f, const char *name, int64_t want)
{
	const struct attribute *list = node_attribute(f->node, name),
	                       *tensor = node_attribute(f->node, arena_printf(f->arena, "%s_as_tensor", name));
	int64_t count = tensor && tensor->t ? tensor_elements(f->graph->build, tensor->t)
	        : list                      ? (int64_t)list->count
	                                    : 0;
	if (count != want)
		node_fail(
		        f->node, EXIT_INVALID, "%s has %" PRId64 " numbers, %" PRId64 " are right", name, count, want);
	double *given = arena_new_array(f->arena, double, (size_t)count + 1);
	for (int64_t i = 0; i < count; i++)
		given[i] = tensor && tensor->t ? tensor_float(tensor->t, (size_t)i) : list->floats[i];
	return typed(f, name, 1, &count, given);
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return x->tree != y->tree ? (x->tree > y->tree) - (x->tree < y->tree)
	                          : (x->node > y->node) - (x->node < y->node);
}

static int32_t find(const struct forest *f, int64_t tree, int64_t node)
{
	const struct place wanted = { tree, node, 0 },
	                   *place = bsearch(&wanted, f->places, (size_t)f->count, sizeof wanted, by_place);
	if (!place)
		node_fail(f->node, EXIT_INVALID, "tree %" PRId64 " has no node %" PRId64, tree, node);
	return place->at;
}

static enum branch_mode mode_of(const struct forest *f, struct bytes name)
{
	for (int m = 0; m < MODE_COUNT; m++)
		if (strlen(modes[m].name) == name.count && !memcmp(modes[m].name, name.at, name.count))
			return (enum branch_mode)m;
	node_fail(
	        f->node, EXIT_INVALID, "nodes_modes: no mode %.*s", (int)(name.count < 40 ? name.count : 40), name.at);
}

/* ---- tables ---- */
static void read_nodes(struct forest *f)
{
	const struct attribute *modes_of = node_attribute(f->node, "nodes_modes");
	size_t count, missing_count;
	const int64_t *ids = node_ints(f->node, "nodes_nodeids", &count);
	f->count = (int64_t)count;
	if (!count || count > INT32_MAX || !modes_of || modes_of->count != count)
		node_fail(f->node, EXIT_INVALID,
		        "nodes_nodeids has %zu numbers, nodes_modes %zu, as many, above 0, are right", count,
		        modes_of ? modes_of->count : 0);
	const int64_t *trees = ints(f, "nodes_treeids", f->count), *features = ints(f, "nodes_featureids", f->count),
	              *yes = ints(f, "nodes_truenodeids", f->count), *no = ints(f, "nodes_falsenodeids", f->count),
	              *missing = node_ints(f->node, "nodes_missing_value_tracks_true", &missing_count);
	f->places = arena_new_array(f->arena, struct place, count);
	f->feature = arena_new_array(f->arena, int32_t, count);
	f->yes = arena_new_array(f->arena, int32_t, count);
	f->no = arena_new_array(f->arena, int32_t, count);
	f->mode = arena_new_array(f->arena, int32_t, count);
	f->missing = arena_new_array(f->arena, uint8_t, count);
	for (size_t i = 0; i < count; i++)
		f->places[i] = (struct place){ trees[i], ids[i], (int32_t)i };
	qsort(f->places, count, sizeof *f->places, by_place);
	for (size_t i = 1; i < count; i++)
		if (!by_place(&f->places[i - 1], &f->places[i]))
			node_fail(f->node, EXIT_INVALID, "tree %" PRId64 " has node %" PRId64 " twice",
			        f->places[i].tree, f->places[i].node);
	for (size_t i = 0; i < count; i++) {
		f->mode[i] = (int32_t)mode_of(f, modes_of->strings[i]);
		f->used[f->mode[i]] = true;
		f->yes[i] = f->no[i] = (int32_t)i;
		if (f->mode[i] == MODE_LEAF)
			continue;
		if (features[i] < 0 || features[i] >= f->features)
			node_fail(f->node, EXIT_INVALID, "feature %" PRId64 " of %" PRId64, features[i], f->features);
		f->feature[i] = (int32_t)features[i];
		f->yes[i] = find(f, trees[i], yes[i]);
		f->no[i] = find(f, trees[i], no[i]);
		f->missing[i] = i < missing_count && missing[i];
		f->any_missing |= f->missing[i];
	}
}

/* Roots are what no node leads to, one for each tree, in the order of the list; and how deep the deepest tree is. */
static void find_roots(struct forest *f)
{
	int32_t *parents = arena_new_array(f->arena, int32_t, (size_t)f->count),
	        *depth = arena_new_array(f->arena, int32_t, (size_t)f->count),
	        *queue = arena_new_array(f->arena, int32_t, (size_t)f->count);
	int64_t first = 0, last = 0, distinct = 1;
	for (int64_t i = 0; i < f->count; i++)
		if (f->mode[i] != MODE_LEAF) {
			parents[f->yes[i]]++;
			parents[f->no[i]] += f->no[i] != f->yes[i];
		}
	for (int64_t i = 1; i < f->count; i++)
		distinct += f->places[i].tree != f->places[i - 1].tree;
	for (int64_t i = 0; i < f->count; i++) {
		if (parents[i] > 1)
			node_fail(f->node, EXIT_INVALID, "two nodes lead to node %" PRId64 " of the list", i);
		if (!parents[i])
			queue[last++] = (int32_t)i;
	}
	f->trees = last;
	f->roots = arena_new_array(f->arena, int32_t, (size_t)last + 1);
	memcpy(f->roots, queue, (size_t)last * sizeof *queue);
	if (f->trees != distinct)
		node_fail(f->node, EXIT_INVALID,
		        "%" PRId64 " nodes that no other leads to, %" PRId64 " are right, one for each tree", f->trees,
		        distinct);
	for (; first < last; first++) {
		int32_t at = queue[first];
		f->depth = depth[at] > f->depth ? depth[at] : f->depth;
		for (int k = 0; f->mode[at] != MODE_LEAF && k < 1 + (f->no[at] != f->yes[at]); k++) {
			int32_t next = k ? f->no[at] : f->yes[at];
			depth[next] = depth[at] + 1;
			queue[last++] = next;
		}
	}
	if (last != f->count)
		node_fail(f->node, EXIT_INVALID, "nodes of a tree lead in a circle");
	if (f->depth > STEPS_MOST)
		node_fail(f->node, EXIT_UNSUPPORTED, "a tree %d nodes deep is not supported, %d are", f->depth,
		        STEPS_MOST);
}

/* What each leaf adds to each output. */
static struct tensor *weights_of(struct forest *f)
{
	size_t count;
	const int64_t *nodes = node_ints(f->node, "leaf_nodeids", &count);
	const int64_t *trees = ints(f, "leaf_treeids", (int64_t)count), *ids = ints(f, "leaf_ids", (int64_t)count);
	const struct tensor *given = numbers(f, "leaf_weights", (int64_t)count);
	int64_t extents[2] = { f->count, f->outputs };
	if (f->outputs < 1 || f->count > weights_most / f->outputs)
		node_fail(f->node, EXIT_LIMIT, "%" PRId64 " nodes of %" PRId64 " outputs", f->count, f->outputs);
	double *sums = arena_new_array(f->arena, double, (size_t)(f->count * f->outputs));
	for (size_t i = 0; i < count; i++) {
		int32_t at = find(f, trees[i], nodes[i]);
		if (ids[i] < 0 || ids[i] >= f->outputs)
			node_fail(
			        f->node, EXIT_INVALID, "a leaf of output %" PRId64 " of %" PRId64, ids[i], f->outputs);
		if (f->mode[at] == MODE_LEAF)
			sums[at * f->outputs + ids[i]] += tensor_float(given, i);
	}
	return typed(f, "weights", f->outputs > 1 ? 2 : 1, extents, sums);
}

/* ---- nodes ---- */
static struct tensor *make(struct forest *f, const char *type, int ins, struct tensor *const *in, const char *attribute,
        int64_t value, struct tensor *out)
{
	const struct attribute number = { .name = attribute, .kind = ATTRIBUTE_INT, .i = value };
	return bodies_add(f->bodies, f->graph, f->node, "", type, ins, in, attribute != NULL, &number, out);
}

static struct tensor *one(struct forest *f, const char *type, struct tensor *a)
{
	return make(f, type, 1, &a, NULL, 0, NULL);
}

static struct tensor *two(struct forest *f, const char *type, struct tensor *a, struct tensor *b)
{
	return make(f, type, 2, (struct tensor *[]){ a, b }, NULL, 0, NULL);
}

static struct tensor *where(struct forest *f, struct tensor *is, struct tensor *yes, struct tensor *no)
{
	return make(f, "Where", 3, (struct tensor *[]){ is, yes, no }, NULL, 0, NULL);
}

static struct tensor *table(struct forest *f, const char *name, enum dtype type, const void *data)
{
	return graph_constant_borrowed(f->graph, name, type, 1, &f->count, data);
}

/* Whether a row goes where `yes` says: by the one comparison that there is, or by the node's. */
static struct tensor *compared(
        struct forest *f, struct tensor *value, struct tensor *threshold, struct tensor *mode_table, struct tensor *at)
{
	struct tensor *is = NULL, *mode = NULL;
	for (int m = MODE_LEQ; m < MODE_COUNT; m++) {
		if (!f->used[m])
			continue;
		struct tensor *holds = m == MODE_NEQ ? one(f, "Not", two(f, "Equal", value, threshold))
		                                     : two(f, modes[m].op, value, threshold);
		if (is) {
			int32_t number = m;
			mode = mode ? mode : two(f, "Gather", mode_table, at);
			struct tensor *word = graph_constant(f->graph, "mode", DTYPE_I32, 0, NULL, &number);
			is = where(f, two(f, "Equal", mode, word), holds, is);
		} else
			is = holds;
	}
	return is;
}

/* From the roots to the leaves: [rows, trees] of nodes. */
static struct tensor *walk_down(struct forest *f, struct tensor *x)
{
	int64_t shape[2] = { x->dims[0].extent, f->trees }, two_of = 2;
	struct tensor *roots = graph_constant_borrowed(f->graph, "roots", DTYPE_I32, 1, &f->trees, f->roots),
	              *feature = table(f, "feature", DTYPE_I32, f->feature),
	              *threshold = numbers(f, "nodes_values", f->count), *yes = table(f, "yes", DTYPE_I32, f->yes),
	              *no = table(f, "no", DTYPE_I32, f->no), *mode = table(f, "mode", DTYPE_I32, f->mode),
	              *missing = table(f, "missing", DTYPE_BOOL, f->missing);
	struct tensor *at = two(f, "Expand", roots, graph_constant(f->graph, "shape", DTYPE_I64, 1, &two_of, shape));
	for (int step = 0; step < f->depth; step++) {
		struct tensor *value = make(f, "GatherElements", 2,
		        (struct tensor *[]){ x, two(f, "Gather", feature, at) }, "axis", 1, NULL);
		struct tensor *is = compared(f, value, two(f, "Gather", threshold, at), mode, at);
		if (f->any_missing)
			is = two(f, "Or", is, two(f, "And", one(f, "IsNaN", value), two(f, "Gather", missing, at)));
		at = where(f, is, two(f, "Gather", yes, at), two(f, "Gather", no, at));
	}
	return at;
}

bool expand_trees(struct bodies *bodies, struct node *node, const struct op *op)
{
	struct forest f = { .bodies = bodies, .node = node, .graph = node->graph, .arena = node->graph->build->arena };
	const char *reduce = node_string(node, "reduce", "SUM");
	int64_t one_axis = 1;
	(void)op;
	infer_counts(node, 1, 1, 1);
	struct tensor *x = node->in[0];
	if (!tensor_is_known(x))
		return false;
	if (x->rank != 2)
		node_fail(node, EXIT_INVALID, "X has %d dimensions, 2 are right", x->rank);
	f.type = x->type;
	f.features = x->dims[1].extent;
	f.outputs = node_int(node, "outputs", 1);
	read_nodes(&f);
	find_roots(&f);
	struct tensor *weights =
	        make(&f, "Gather", 2, (struct tensor *[]){ weights_of(&f), walk_down(&f, x) }, "axis", 0, NULL);
	make(&f,
	        !strcmp(reduce, "MIN")           ? "ReduceMin"
	                : !strcmp(reduce, "MAX") ? "ReduceMax"
	                : !strcmp(reduce, "SUM") ? "ReduceSum"
	                                         : "ReduceMean",
	        2, (struct tensor *[]){ weights, graph_constant(f.graph, "axis", DTYPE_I64, 1, &one_axis, &one_axis) },
	        "keepdims", f.outputs == 1, node->out[0]);
	return true;
}
