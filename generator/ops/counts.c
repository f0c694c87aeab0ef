/* counts.c: dims that data decide.  The extent is a bound then, and `count` of struct dim says how many are there; what lies behind them is anything.  So a node that reads such
 * a tensor is one of those that are thought of here, and every other is refused. */
#include "ops/ops.h"
#include <inttypes.h>
#include <math.h>

const struct tensor *tensor_counted(const struct tensor *tensor)
{
	for (int d = 0; tensor && d < tensor->rank; d++)
		if (tensor->dims[d].count)
			return tensor->dims[d].count;
	return NULL;
}

NORETURN static void refuse(const struct node *node, const struct tensor *tensor)
{
	int d = 0;
	while (!tensor->dims[d].count)
		d++;
	node_fail(node, EXIT_UNSUPPORTED, "%s: data decide dimension %d of %s, which has at most %" PRId64 " elements; that is not supported here", node->type, d, tensor->name,
		tensor->dims[d].extent);
}

static const struct tensor *counted_one(const struct node *node)
{
	for (int i = 0; i < node->ins; i++)
		if (tensor_counted(node->in[i]))
			return node->in[i];
	return NULL;
}

/* ---- what is there, and a value behind it ---- */
void infer_there(struct node *node, const struct op *op)
{
	(void)op;
	infer_counts(node, 2, 2, 1);
	infer_output_like(node, 0, node->in[0]);
}

/* Of one variable along an axis of this count: 1 where it is there, 0 behind. */
struct definition *definer_mask(struct definer *definer, const struct tensor *count, int64_t extent, enum dtype type)
{
	struct arena *arena = definer->arena;
	const struct index *i = index_var(arena, 0, extent), *size = definer_index(definer, definer_size(definer, count), 0, extent);
	const struct range before = { index_add(arena, i, index_scale(arena, size, -1)), -extent, 0 };
	struct definition *there = definer_map(definer, definer_name(definer, "there"), 1, &extent,
		expr_select(arena, &before, 1, expr_number(arena, type, 1), expr_number(arena, type, 0)));
	there->masks = definer_count(definer, count);
	return there;
}

static const struct expr *there_or(struct definer *definer, struct definition *x, const struct index *const *at, const struct tensor *count, int axis, const struct expr *value)
{
	const struct expr *there = expr_load(definer->arena, definer_mask(definer, count, x->extents[axis], x->type), &at[axis]);
	return expr3(definer, SCALAR_where, there, expr_load(definer->arena, x, at), value);
}

struct definition *definer_there(struct definer *definer, struct definition *x, const struct tensor *count, int axis, const struct expr *value)
{
	const struct index *at[MAX_RANK];
	for (int d = 0; d < x->rank; d++)
		at[d] = index_var(definer->arena, d, x->extents[d]);
	return !count ? x : definer_map(definer, definer_name(definer, "terms"), x->rank, x->extents, there_or(definer, x, at, count, axis, value));
}

void define_there(struct definer *definer, const struct op *op)
{
	struct definition *x = definer_in(definer, 0);
	const struct index *at[MAX_RANK];
	int64_t extents[MAX_RANK];
	(void)op;
	definer_shape(definer, 0, extents, at);
	definer_out_map(definer, 0, there_or(definer, x, at, definer->node->in[1], (int)attribute_int(definer->node, "axis"),
		expr_number(definer->arena, x->type, attribute_float(definer->node, "value"))));
}

static bool is_there(const struct tensor *tensor, int axis)
{
	const struct node *made = tensor->producer;
	return made && !strcmp(made->domain, "ingot") && !strcmp(made->type, "There") && attribute_int(made, "axis") == axis;
}

/* Input i becomes one that holds `value` behind the count of that axis. */
static void only_there(struct node *node, int i, int axis, float value)
{
	struct graph *graph = node->graph;
	struct arena *arena = graph->build->arena;
	struct tensor *x = node->in[i];
	if (is_there(x, axis))
		return;
	struct node *there = graph_node_new(graph, name_is(graph->build->names, "ingot"), name_is(graph->build->names, "There"), node->name, 2, 1);
	there->since = 1;
	there->where = node->where;
	there->in[0] = x;
	there->in[1] = x->dims[axis].count;
	there->attributes = new_array(arena, struct attribute, 2);
	there->attribute_count = 2;
	there->attributes[0] = (struct attribute){ .name = name_is(graph->build->names, "axis"), .kind = ATTRIBUTE_INT, .i = axis };
	there->attributes[1] = (struct attribute){ .name = name_is(graph->build->names, "value"), .kind = ATTRIBUTE_FLOAT, .f = value };
	there->out[0] = graph_tensor_fresh(graph, x->name);
	there->out[0]->producer = there;
	infer_output_like(there, 0, x);
	node->in[i] = there->out[0];
}

/* ---- which dim of an output is which of the inputs' ---- */
static void give_one(const struct node *node, struct tensor *out, int d, struct tensor *count)
{
	struct dim *dim = &out->dims[d];
	if (dim->count && dim->count != count)
		node_fail(node, EXIT_UNSUPPORTED, "%s: dimension %d of %s is declared as %s, which is not what its inputs make of it; that is not supported", node->type, d, out->name,
			dim->symbol ? dim->symbol : dim->count->name);
	dim->count = count;
}

static void give(const struct node *node, int d, struct tensor *count)
{
	for (int i = 0; i < node->outs; i++)
		if (node->out[i] && d < node->out[i]->rank)
			give_one(node, node->out[i], d, count);
}

/* Input i has no such dim from axis `from` on, up to `to`. */
static void want_whole(const struct node *node, int i, int from, int to)
{
	for (int d = from; d < to; d++)
		if (node->in[i]->dims[d].count)
			refuse(node, node->in[i]);
}

/* Element by element, from dim 0 of the output up to `rank`: a count goes with itself, and with a 1 that is broadcast; `less`: how many dims at their end are no part of it. */
static void broadcast(const struct node *node, int inputs, int rank, int less)
{
	for (int d = 0; d < rank; d++) {
		struct tensor *count = NULL;
		const struct tensor *whose = NULL;
		for (int pass = 0; pass < 2; pass++)
			for (int i = 0; i < inputs; i++) {
				const struct tensor *in = node->in[i];
				int own = in ? d - (rank - (in->rank - less)) : -1;
				if (own < 0)
					continue;
				if (pass == 0 && in->dims[own].count && !whose) {
					count = in->dims[own].count;
					whose = in;
				}
				if (pass == 1 && whose && in->dims[own].count != count && (in->dims[own].count || in->dims[own].extent != 1))
					refuse(node, whose);
			}
		give(node, d, count);
	}
}

/* They come along where infer_ hands dims on: all of the inputs' are then each output's. */
static void moved(const struct node *node)
{
	int in = 0;
	for (int i = 0; i < node->ins; i++)
		for (int d = 0; node->in[i] && d < node->in[i]->rank; d++)
			in += node->in[i]->dims[d].count != NULL;
	for (int i = 0, out; i < node->outs; i++) {
		if (!node->out[i])
			continue;
		out = 0;
		for (int d = 0; d < node->out[i]->rank; d++)
			out += node->out[i]->dims[d].count != NULL;
		if (in != out)
			refuse(node, counted_one(node));
	}
}

/* A product of matrices: rows of a, columns of b; of terms that are not there, both are 0. */
static void product(const struct node *node)
{
	const struct tensor *a = node->in[0], *b = node->in[1], *out = node->out[0];
	int batch = out->rank - (a->rank > 1) - (b->rank > 1);
	if (a->rank < 2 || b->rank < 2)
		refuse(node, counted_one(node));
	broadcast(node, 2, batch, 2);
	give(node, batch, a->dims[a->rank - 2].count);
	give(node, batch + 1, b->dims[b->rank - 1].count);
}

static void terms_there(struct node *node)
{
	const struct tensor *a = node->in[0], *b = node->in[1];
	if (a->rank < 2 || b->rank < 2)
		refuse(node, counted_one(node));
	int k = a->rank - 1, l = b->rank - 2;
	if (a->dims[k].count != b->dims[l].count)
		refuse(node, counted_one(node));
	if (!a->dims[k].count)
		return;
	const struct node *made = a->producer;                  /* a softmax has put 0 there */
	if (!(made && op_of(made)->infer == infer_softmax && is_there(made->in[0], k)))
		only_there(node, 0, k, 0);
	only_there(node, 1, l, 0);
}

/* A dim goes where as many elements come before and behind it. */
static void reshaped(const struct node *node)
{
	const struct tensor *x = node->in[0], *y = node->out[0];
	int64_t count, before = 1;
	const int64_t *shape = node->since < 5 || !tensor_is_known(y) ? NULL : node_in_ints(node, 1, &count);
	struct tensor *counts[MAX_RANK] = { 0 };
	for (int d = 0; d < x->rank; before *= x->dims[d++].extent) {
		int64_t own = 1;
		int to = 0;
		if (!x->dims[d].count)
			continue;
		while (shape && to < y->rank && (own != before || y->dims[to].extent != x->dims[d].extent))
			own *= y->dims[to++].extent;
		if (!shape || to == y->rank || shape[to] > 0 || counts[to])
			refuse(node, x);
		counts[to] = x->dims[d].count;
	}
	for (int d = 0; d < y->rank; d++)
		give(node, d, counts[d]);
}

/* The sum of two counts, one tensor for all that have it. */
static struct tensor *plus(const struct node *node, struct tensor *a, struct tensor *b)
{
	struct graph *graph = node->graph;
	for (size_t i = 0; i < graph->nodes.count; i++) {
		const struct node *made = graph->nodes.at[i];
		if (made->guard == graph->guard && op_of(made)->infer == infer_counts_sum && made->in[0] == a
		    && (made->in[1] == b || (b->data && made->in[1]->data && tensor_int(made->in[1], 0) == tensor_int(b, 0))))
			return made->out[0];
	}
	struct node *sum = graph_node_new(graph, name_is(graph->build->names, "ingot"), name_is(graph->build->names, "CountsSum"), node->name, 2, 1);
	sum->since = 1;
	sum->where = node->where;
	sum->in[0] = a;
	sum->in[1] = b;
	sum->out[0] = graph_tensor_fresh(graph, "count");
	sum->out[0]->producer = sum;
	infer_output_like(sum, 0, a);
	return sum->out[0];
}

void infer_counts_sum(struct node *node, const struct op *op)
{
	(void)op;
	infer_counts(node, 2, 2, 1);
	infer_output_like(node, 0, node->in[0]);
}

void define_counts_sum(struct definer *definer, const struct op *op)
{
	(void)op;
	definer_out_map(definer, 0, whole_of(definer, SCALAR_add, definer_element(definer, 0, 0), definer_element(definer, 1, 0)));
}

/* How many there are of parts side by side; NULL: no part is counted. */
static struct tensor *together(const struct node *node, int axis)
{
	struct tensor *sum = NULL;
	int64_t whole = 0;
	for (int i = 0; i < node->ins; i++) {
		const struct dim *dim = &node->in[i]->dims[axis];
		if (dim->count)
			sum = sum ? plus(node, sum, dim->count) : dim->count;
		else
			whole += dim->extent;
	}
	return sum && whole ? plus(node, sum, graph_constant(node->graph, "whole", DTYPE_I64, 0, NULL, &whole)) : sum;
}

static void side_by_side(const struct node *node)
{
	const struct tensor *first = node->in[0], *out = node->out[0];
	int axis = (int)node_axis(node, node_int(node, "axis", 1), first->rank);
	if (!dim_is_known(out->dims[axis]))
		refuse(node, counted_one(node));
	for (int i = 0; i < node->ins; i++)
		for (int d = 0; d < first->rank; d++)
			if (d != axis && node->in[i]->dims[d].count != first->dims[d].count)
				refuse(node, counted_one(node));
	for (int d = 0; d < first->rank; d++)
		give(node, d, d == axis ? together(node, d) : first->dims[d].count);
}

/* Their definitions put what changes no result in the place of what is not there. */
static bool is_reduction(const struct op *op) { return op->infer == infer_reduce || op->infer == infer_arg_extreme; }

/* What a reduction leaves of the dims. */
static void left(const struct node *node, const struct op *op)
{
	const struct tensor *x = node->in[0];
	bool reduced[MAX_RANK], keep = attribute_int(node, "keepdims") != 0;
	int out = 0;
	reduced_axes(node, op, reduced);
	for (int d = 0; d < x->rank; d++)
		if (!reduced[d] || keep)
			give(node, out++, reduced[d] ? NULL : x->dims[d].count);
}

static bool is_map(const struct op *op)
{
	return op_keeps_shape(op) || op_broadcasts(op) || op->infer == infer_where || op->infer == infer_clip || op->infer == infer_gelu || op->infer == infer_mod
		|| op->infer == infer_variadic || op->infer == infer_power || op->infer == infer_prelu || op->infer == infer_logical || op->infer == infer_logical_not
		|| op->infer == infer_comparison || op->infer == infer_test;
}

static bool is_move(const struct op *op)
{
	return op->infer == infer_transpose || op->infer == infer_unsqueeze || op->infer == infer_squeeze || op->infer == infer_gather
		|| op->infer == infer_there || op->infer == infer_slice || op->infer == infer_split;
}

static bool is_softmax(const struct op *op) { return op->infer == infer_softmax || op->infer == infer_log_softmax; }

bool counts_come(struct node *node, const struct op *op)
{
	const struct tensor *counted = counted_one(node);
	if (!counted)
		return false;
	for (int i = 0; i < node->ins; i++)                     /* nothing is said of what comes beside */
		if (node->in[i] && node->in[i]->rank < 0 && op->infer != infer_shape)
			refuse(node, counted);
	if (is_softmax(op)) {
		int rank = counted->rank, axis = (int)node_axis(node, attribute_int(node, "axis"), rank);
		if (node->since < 13 && !*node->domain && axis != rank - 1)
			want_whole(node, 0, axis, rank);
		if (counted->dims[axis].count)
			only_there(node, 0, axis, -INFINITY);
	} else if (op->infer == infer_layer_normalization) {
		for (int i = 0; i < node->ins; i++)
			if (node->in[i])
				want_whole(node, i, i ? 0 : (int)node_axis(node, attribute_int(node, "axis"), node->in[0]->rank), node->in[i]->rank);
	} else if (op->infer == infer_matmul) {
		terms_there(node);
	} else if (is_reduction(op) || op->infer == infer_running) {
		bool reduced[MAX_RANK];
		if (counted != node_in(node, 0) || (is_reduction(op) && !reduced_axes(node, op, reduced)))
			refuse(node, counted);
	} else if (op->infer == infer_gather) {
		for (int d = 0; d < node->in[1]->rank; d++)
			if (node->in[1]->dims[d].count)
				only_there(node, 1, d, 0);
	} else if (!is_map(op) && !is_move(op) && op->infer != infer_shape && op->infer != infer_select && op->infer != infer_reshape && op->infer != infer_concat) {
		refuse(node, counted);
	}
	return true;
}

void counts_go(struct node *node, const struct op *op)
{
	const struct tensor *out = node->out[0];
	if (op->infer == infer_shape || op->infer == infer_select)
		return;
	if (is_move(op))
		moved(node);
	else if (op->infer == infer_matmul)
		product(node);
	else if (op->infer == infer_reshape)
		reshaped(node);
	else if (op->infer == infer_concat)
		side_by_side(node);
	else if (is_reduction(op))
		left(node, op);
	else if (is_softmax(op) || op->infer == infer_layer_normalization || op->infer == infer_running)
		for (int d = 0; d < out->rank; d++)
			give(node, d, node->in[0]->dims[d].count);
	else
		broadcast(node, node->ins, out->rank, 0);
}

void counts_none(const struct node *node, const struct op *op)
{
	for (int i = 0; i < node->outs && !op_chooses(op); i++)
		for (int d = 0; node->out[i] && d < node->out[i]->rank; d++)
			if (node->out[i]->dims[d].count)
				give_one(node, node->out[i], d, NULL);
}
