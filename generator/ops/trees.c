/* trees.c: ingot.Trees, what a forest's leaves add up to -> ingot.Walk, which leaf each row comes to in each tree, a
 * Gather of what leaves weigh, and a reduction.  ingot.Walk is a definition over one table of nodes (struct tree_walk). */
#include "ops/words.h"
#include <math.h>
#include <stdlib.h>

static const int64_t weights_most = 1 << 26;

enum branch_mode { MODE_LEAF, MODE_LEQ, MODE_LT, MODE_GTE, MODE_GT, MODE_EQ, MODE_NEQ, MODE_COUNT };
static const char *const modes[MODE_COUNT] = { "LEAF", "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT",
	"BRANCH_EQ", "BRANCH_NEQ" };

struct place {
	int64_t tree, node;
	int32_t at;
};

struct forest {
	struct bodies *bodies;
	struct node *node;
	struct graph *graph;
	struct arena *arena;
	int64_t count, trees, features, leaves;
	struct place *places;                              /* sorted */
	int32_t *feature, *yes, *no, *mode, *roots, *leaf; /* leaf: its number, in the order of the list */
	bool *missing;
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

/* Numbers of a list, or of a tensor of its own name. */
static const double *numbers(const struct forest *f, const char *name, int64_t want)
{
	const struct attribute *list = node_attribute(f->node, name),
	                       *tensor = node_attribute(f->node, arena_printf(f->arena, "%s_as_tensor", name));
	int64_t count = tensor && tensor->t ? tensor_elements(f->graph->build, tensor->t)
	        : list                      ? (int64_t)list->count
	                                    : 0;
	if (count != want)
		node_fail(
		        f->node, EXIT_INVALID, "%s has %" PRId64 " numbers, %" PRId64 " are right", name, count, want);
	double *given = arena_new_array(f->arena, double, count + 1);
	FOR (i, count)
		given[i] = tensor && tensor->t ? tensor_float(tensor->t, (size_t)i) : list->floats[i];
	return given;
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
	FOR (m, MODE_COUNT)
		if (strlen(modes[m]) == name.count && !memcmp(modes[m], name.at, name.count))
			return (enum branch_mode)m;
	node_fail(
	        f->node, EXIT_INVALID, "nodes_modes: no mode %.*s", (int)(name.count < 40 ? name.count : 40), name.at);
}

/* ---- nodes as the lists have them ---- */
static void sort_places(struct forest *f, const int64_t *trees, const int64_t *ids)
{
	bool sorted = true;
	f->places = arena_new_array(f->arena, struct place, f->count);
	FOR (i, f->count) {
		f->places[i] = (struct place){ trees[i], ids[i], (int32_t)i };
		sorted = sorted && (!i || by_place(&f->places[i - 1], &f->places[i]) < 0);
	}
	if (!sorted)
		qsort(f->places, (size_t)f->count, sizeof *f->places, by_place);
	FOR_FROM (i, 1, f->count)
		if (!by_place(&f->places[i - 1], &f->places[i]))
			node_fail(f->node, EXIT_INVALID, "tree %" PRId64 " has node %" PRId64 " twice",
			        f->places[i].tree, f->places[i].node);
}

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
	int32_t **const lists[] = { &f->feature, &f->yes, &f->no, &f->mode, &f->leaf };
	FOR (i, COUNT(lists))
		*lists[i] = arena_new_array(f->arena, int32_t, count);
	f->missing = arena_new_array(f->arena, bool, count);
	sort_places(f, trees, ids);
	FOR (i, count) {
		f->mode[i] = (int32_t)mode_of(f, modes_of->strings[i]);
		if (f->mode[i] == MODE_LEAF) {
			f->leaf[i] = (int32_t)f->leaves++;
			continue;
		}
		if (features[i] < 0 || features[i] >= f->features)
			node_fail(f->node, EXIT_INVALID, "feature %" PRId64 " of %" PRId64, features[i], f->features);
		f->feature[i] = (int32_t)features[i];
		f->yes[i] = find(f, trees[i], yes[i]);
		f->no[i] = find(f, trees[i], no[i]);
		f->missing[i] = i < missing_count && missing[i];
	}
}

/* Roots are what no node leads to, one for each tree, in the order of the list.  Several may lead to another one: LightGBM's
 * converter says "one of these values" so. */
static void find_roots(struct forest *f)
{
	int32_t *parents = arena_new_array(f->arena, int32_t, f->count),
	        *queue = arena_new_array(f->arena, int32_t, f->count);
	int64_t first = 0, last = 0, distinct = 1;
	FOR (i, f->count)
		if (f->mode[i] != MODE_LEAF) {
			parents[f->yes[i]]++;
			parents[f->no[i]] += f->no[i] != f->yes[i];
		}
	FOR_FROM (i, 1, f->count)
		distinct += f->places[i].tree != f->places[i - 1].tree;
	FOR (i, f->count)
		if (!parents[i])
			queue[last++] = (int32_t)i;
	f->trees = last;
	f->roots = arena_new_array(f->arena, int32_t, last + 1);
	COPY(f->roots, queue, last);
	if (f->trees != distinct)
		node_fail(f->node, EXIT_INVALID,
		        "%" PRId64 " nodes that no other leads to, %" PRId64 " are right, one for each tree", f->trees,
		        distinct);
	for (; first < last; first++) {
		int32_t at = queue[first];
		for (int k = 0; f->mode[at] != MODE_LEAF && k < 1 + (f->no[at] != f->yes[at]); k++) {
			int32_t child = k ? f->no[at] : f->yes[at];
			if (!--parents[child])
				queue[last++] = child;
		}
	}
	if (last != f->count)
		node_fail(f->node, EXIT_INVALID, "nodes of a tree lead in a circle");
}

/* ---- the table of ingot.Walk ---- */
enum { WIDE_SHIFT = 32 };
/* A node of the table.  What leads to a node leads to its parent's first child, and that is it, or the one before. */
struct slot {
	double threshold; /* a row goes to the first child where its feature is not above it */
	int32_t feature;
	bool missing; /* … or is a NaN */
	int32_t leaf; /* its number; -1: it is none */
	int64_t next; /* the first child */
};
struct todo {
	int32_t node;
	int64_t at;
	int depth;
};
struct table {
	const struct forest *f;
	const double *values;
	bool narrow; /* thresholds are floats */
	VECTOR(struct slot) slots;
	VECTOR(struct todo) todo;
	bool missing;
	int depth, shift;
};

static int64_t add_pair(struct table *t)
{
	int64_t at = (int64_t)t->slots.count;
	FOR (i, 2)
		push(t->f->arena, &t->slots, ((struct slot){ .threshold = NAN, .leaf = -1 }));
	return at;
}

/* The number before: x < a is x <= below(a).  Nothing is below -inf, or a NaN. */
static double below(const struct table *t, double a)
{
	return isnan(a) || a == -INFINITY ? (double)NAN
	        : t->narrow               ? (double)nextafterf((float)a, -INFINITY)
	                                  : nextafter(a, -INFINITY);
}

static void later(struct table *t, int32_t node, int64_t at, int depth)
{
	push(t->f->arena, &t->todo, ((struct todo){ node, at, depth }));
}

/* x == a is x <= a, and not x <= below(a).  Where that does not hold a node whose threshold is a NaN leads on to
 * where x > a leads. */
static void add_equal(struct table *t, const struct todo *todo, struct slot *slot, int32_t yes, int32_t no)
{
	int64_t pair = add_pair(t), inner = add_pair(t), at = todo->at;
	double a = slot->threshold;
	slot->next = pair;
	t->slots.at[at] = *slot;
	t->slots.at[pair] =
	        (struct slot){ .threshold = below(t, a), .feature = slot->feature, .leaf = -1, .next = inner };
	t->slots.at[inner].next = pair;
	later(t, no, pair + 1, todo->depth + 3); /* by the longer way */
	later(t, yes, inner + 1, todo->depth + 2);
}

static void add_branch(struct table *t, const struct todo *todo)
{
	const struct forest *f = t->f;
	int32_t mode = f->mode[todo->node], yes = f->yes[todo->node], no = f->no[todo->node];
	double a = t->values[todo->node];
	struct slot slot = { t->narrow ? (float)a : a, f->feature[todo->node], f->missing[todo->node], -1, 0 };
	if (mode == MODE_NEQ) /* so is a NaN */
		slot.missing = false;
	if (mode == MODE_LT || mode == MODE_GTE)
		slot.threshold = below(t, slot.threshold);
	if (!isnan(a) && (mode == MODE_GT || mode == MODE_GTE))
		slot.missing = !slot.missing;
	if (mode == MODE_NEQ || (!isnan(a) && (mode == MODE_GT || mode == MODE_GTE))) {
		int32_t other = yes;
		yes = no;
		no = other;
	}
	t->missing |= slot.missing;
	if (!isnan(a) && (mode == MODE_EQ || mode == MODE_NEQ)) {
		add_equal(t, todo, &slot, yes, no);
		return;
	}
	slot.next = add_pair(t);
	t->slots.at[todo->at] = slot;
	later(t, no, slot.next + 1, todo->depth + 1);
	later(t, yes, slot.next, todo->depth + 1);
}

enum { SHARED_MOST = 1 << 22 }; /* copies of nodes to which several lead */
/* Depth first, so that a first child's children lie behind it.  Each root is a second of two: so nothing stands at 0. */
static void add_tree(struct table *t, int32_t node, int32_t *root)
{
	const struct forest *f = t->f;
	int64_t at = add_pair(t) + 1;
	root[0] = (int32_t)at;
	root[1] = INT32_MAX;
	root[2] = 0;
	later(t, node, at, 0);
	while (t->todo.count) {
		struct todo todo = t->todo.at[--t->todo.count];
		if (t->slots.count > INT32_MAX - 4 || (int64_t)t->slots.count > 4 * f->count + SHARED_MOST)
			node_fail(f->node, EXIT_LIMIT,
			        "more than 2^31 nodes, or 2^22 more than there are, as several lead to some");
		if (f->mode[todo.node] != MODE_LEAF) {
			add_branch(t, &todo);
			continue;
		}
		t->slots.at[todo.at] =
		        (struct slot){ .threshold = NAN, .leaf = f->leaf[todo.node], .next = todo.at - 1 };
		root[1] = todo.depth < root[1] ? todo.depth : root[1];
		root[2] = todo.depth > root[2] ? todo.depth : root[2];
	}
	t->depth = root[2] > t->depth ? root[2] : t->depth;
}

static struct tensor *build_table(struct table *t)
{
	const struct forest *f = t->f;
	int64_t extents[] = { f->trees, 3 };
	int32_t *roots = arena_new_array(f->arena, int32_t, 3 * (size_t)f->trees);
	FOR (i, f->trees)
		add_tree(t, f->roots[i], roots + 3 * i);
	return graph_constant_borrowed(f->graph, "roots", DTYPE_I32, 2, extents, roots);
}

static int bits_of(int64_t most)
{
	int bits = 0;
	while (most >> bits)
		bits++;
	return bits;
}

/* Nodes of 2 x 32 bits, where all fits; else of 2 x 64. */
static struct tensor *pack(struct table *t)
{
	const struct forest *f = t->f;
	int64_t count = (int64_t)t->slots.count, extents[2] = { count, 2 };
	t->shift = bits_of(f->features - 1) + t->missing;
	bool narrow = t->narrow && t->shift + bits_of(count) <= 32 && f->leaves <= 1 << WALK_LEAF_BITS;
	t->shift = narrow ? t->shift : WIDE_SHIFT;
	uint32_t *small = arena_new_array(f->arena, uint32_t, narrow ? 2 * (size_t)count : 1);
	uint64_t *large = arena_new_array(f->arena, uint64_t, narrow ? 1 : 2 * (size_t)count);
	FOR (i, count) {
		const struct slot *slot = &t->slots.at[i];
		uint64_t word = (uint64_t)slot->next << t->shift | (uint32_t)slot->feature;
		float threshold = (float)slot->threshold;
		word |= slot->missing ? (uint64_t)1 << (t->shift - 1) : 0;
		if (narrow) {
			memcpy(&small[2 * i], &threshold, sizeof threshold);
			if (isnan(threshold))
				small[2 * i] = 0x7fc00000u | (uint32_t)(slot->leaf < 0 ? 0 : slot->leaf);
			small[2 * i + 1] = (uint32_t)word;
			continue;
		}
		memcpy(&large[2 * i], &slot->threshold, sizeof slot->threshold);
		if (isnan(slot->threshold))
			large[2 * i] = (uint64_t)0x7ff8 << 48 | (uint32_t)(slot->leaf < 0 ? 0 : slot->leaf);
		large[2 * i + 1] = word;
	}
	return graph_constant_borrowed(
	        f->graph, "nodes", narrow ? DTYPE_U32 : DTYPE_U64, 2, extents, narrow ? (void *)small : (void *)large);
}

/* ---- nodes ---- */
/* What each leaf adds to each output. */
static struct tensor *weights_of(const struct forest *f, int64_t outputs)
{
	size_t count;
	const int64_t *nodes = node_ints(f->node, "leaf_nodeids", &count);
	const int64_t *trees = ints(f, "leaf_treeids", (int64_t)count), *ids = ints(f, "leaf_ids", (int64_t)count);
	const double *given = numbers(f, "leaf_weights", (int64_t)count);
	int64_t extents[2] = { f->leaves, outputs };
	bool wide = f->node->in[0]->type == DTYPE_F64;
	if (outputs < 1 || f->leaves > weights_most / outputs)
		node_fail(f->node, EXIT_LIMIT, "%" PRId64 " leaves of %" PRId64 " outputs", f->leaves, outputs);
	double *sums = arena_new_array(f->arena, double, f->leaves *outputs);
	FOR (i, count) {
		int32_t at = find(f, trees[i], nodes[i]);
		if (ids[i] < 0 || ids[i] >= outputs)
			node_fail(f->node, EXIT_INVALID, "a leaf of output %" PRId64 " of %" PRId64, ids[i], outputs);
		if (f->mode[at] == MODE_LEAF)
			sums[f->leaf[at] * outputs + ids[i]] += wide ? given[i] : (float)given[i];
	}
	float *narrow = arena_new_array(f->arena, float, wide ? 1 : (size_t)(f->leaves * outputs));
	FOR_WHILE (i, !wide, f->leaves * outputs)
		narrow[i] = (float)sums[i];
	return graph_constant_borrowed(f->graph, "weights", wide ? DTYPE_F64 : DTYPE_F32, outputs > 1 ? 2 : 1, extents,
	        wide ? (void *)sums : (void *)narrow);
}

/* From the roots to the leaves: [rows, trees] of leaves. */
static struct tensor *walk_down(const struct forest *f, struct tensor *x)
{
	struct table table = { .f = f, .narrow = x->type == DTYPE_F32 };
	table.values = numbers(f, "nodes_values", f->count);
	struct tensor *roots = build_table(&table), *in[] = { x, pack(&table), roots };
	const struct attribute of[] = {
		{ .name = "shift", .kind = ATTRIBUTE_INT, .i = table.shift },
		{ .name = "missing", .kind = ATTRIBUTE_INT, .i = table.missing },
		{ .name = "leaves", .kind = ATTRIBUTE_INT, .i = f->leaves },
		{ .name = "depth", .kind = ATTRIBUTE_INT, .i = table.depth },
	};
	return bodies_add(f->bodies, f->graph, f->node, "ingot", "Walk", COUNT(in), in, COUNT(of), of, NULL);
}

bool expand_trees(struct bodies *bodies, struct node *node, const struct op *op)
{
	static const char *const reductions[][2] = { { "SUM", "ReduceSum" }, { "AVERAGE", "ReduceMean" },
		{ "MIN", "ReduceMin" }, { "MAX", "ReduceMax" } };
	struct forest f = { .bodies = bodies, .node = node, .graph = node->graph, .arena = node_arena(node) };
	const char *reduce = node_string(node, "reduce", "SUM");
	int64_t outputs = node_int(node, "outputs", 1), axis = 1;
	(void)op;
	infer_counts(node, 1, 1, 1);
	struct tensor *x = node->in[0];
	if (!tensor_is_known(x))
		return false;
	FAIL_IF(x->rank != 2, EXIT_INVALID, "X has %d dimensions, 2 are right", x->rank);
	f.features = x->dims[1].extent;
	read_nodes(&f);
	find_roots(&f);
	struct tensor *gathered[] = { weights_of(&f, outputs), walk_down(&f, x) };
	const struct attribute rows = { .name = "axis", .kind = ATTRIBUTE_INT, .i = 0 },
	                       kept = { .name = "keepdims", .kind = ATTRIBUTE_INT, .i = outputs == 1 };
	struct tensor *summed[] = { bodies_add(bodies, f.graph, node, "", "Gather", 2, gathered, 1, &rows, NULL),
		graph_constant(f.graph, "axis", DTYPE_I64, 1, &axis, &axis) };
	FOR (i, COUNT(reductions))
		if (!strcmp(reduce, reductions[i][0]))
			bodies_add(bodies, f.graph, node, "", reductions[i][1], 2, summed, 1, &kept, node->out[0]);
	return true;
}

void infer_walk_down(struct node *node)
{
	infer_made(node);
	infer_counts(node, 3, 3, 1);
	if (tensor_is_known(node->in[0]))
		infer_output(node, 0, DTYPE_I32, 2, (struct dim[]){ node->in[0]->dims[0], node->in[2]->dims[0] });
}

/* What a copy is of. */
static struct definition *copied(struct definer *definer, struct definition *x)
{
	while (x->source == SOURCE_COMPUTED && !x->reduce && !x->lies && x->body->kind == EXPR_LOAD
	        && expr_equal(x->body, expr_load_own(definer->arena, x->body->of)))
		x = x->body->of;
	return x;
}

void define_walk_down(struct definer *definer)
{
	struct definition *x = copied(definer, STORED(0));
	struct tree_walk *walk = arena_new(definer->arena, struct tree_walk);
	index_ref at[] = { VAR(0, x->extents[0]), VAR(2, x->extents[1]) };
	*walk = (struct tree_walk){ (int)node_int(NODE, "shift", 0), node_int(NODE, "missing", 0) != 0,
		node_int(NODE, "leaves", 0), (int)node_int(NODE, "depth", 0) };
	GIVE(0,
	        define_walk(definer->program, NODE->out[0]->name, x->extents[0], x->extents[1], LOAD(x, at), walk,
	                STORED(1), STORED(2)));
}
