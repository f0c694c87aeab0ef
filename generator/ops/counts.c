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

bool tensor_lies_in_bounds(const struct tensor *tensor)
{
	bool outermost = true;
	for (int d = 0; d < tensor->rank; d++) {
		if (tensor->dims[d].count && !outermost)
			return false;
		outermost &= tensor->dims[d].extent == 1;
	}
	return true;
}

NORETURN static void refuse(const struct node *node, const struct tensor *tensor)
{
	int d = 0;
	if (!tensor)
		node_fail(node, EXIT_UNSUPPORTED, "%s: what its operands make of the dimensions at run time is not supported here", node->type);
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
	infer_made(node);
	infer_counts(node, 2, 3, 1);
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
	const struct expr *value = node_in(definer->node, 2) ? expr_cast(definer->arena, x->type, definer_element(definer, 2, 0))
		: expr_number(definer->arena, x->type, attribute_float(definer->node, "value"));
	definer_out_map(definer, 0, there_or(definer, x, at, definer->node->in[1], (int)attribute_int(definer->node, "axis"), value));
}

static bool is_there(const struct tensor *tensor, int axis)
{
	const struct node *made = tensor->producer;
	return made && !strcmp(made->domain, "ingot") && !strcmp(made->type, "There") && attribute_int(made, "axis") == axis;
}

/* Input i becomes one that holds `value`, or the one element of a tensor, behind the count of that axis. */
static void there_or_element(struct node *node, int i, int axis, float value, struct tensor *element)
{
	struct graph *graph = node->graph;
	struct arena *arena = graph->build->arena;
	struct tensor *x = node->in[i];
	if (is_there(x, axis))
		return;
	struct node *there = size_node(node, "There", element ? 3 : 2, (struct tensor *[]){ x, x->dims[axis].count, element }, 1);
	there->attributes = new_array(arena, struct attribute, 2);
	there->attribute_count = 2;
	there->attributes[0] = (struct attribute){ .name = name_is(graph->build->names, "axis"), .kind = ATTRIBUTE_INT, .i = axis };
	there->attributes[1] = (struct attribute){ .name = name_is(graph->build->names, "value"), .kind = ATTRIBUTE_FLOAT, .f = value };
	there->out[0] = graph_tensor_fresh(graph, x->name);
	there->out[0]->producer = there;
	infer_output_like(there, 0, x);
	node->in[i] = there->out[0];
}

static void only_there(struct node *node, int i, int axis, float value) { there_or_element(node, i, axis, value, NULL); }

/* ---- two counts that a call has to say as one ---- */
void infer_agree(struct node *node, const struct op *op)
{
	struct dim dims[MAX_RANK];
	(void)op;
	infer_made(node);
	infer_counts(node, 3, 3, 1);
	const struct tensor *x = node->in[0];
	memcpy(dims, x->dims, sizeof dims);
	dims[attribute_int(node, "axis")].count = node->in[2];
	infer_output(node, 0, x->type, x->rank, dims);
}

void define_agree(struct definer *definer, const struct op *op)
{
	const struct node *node = definer->node;
	(void)op;
	definer_require(definer, EXIT_INVALID, 0, NULL, whole_of(definer, SCALAR_equal, definer_size(definer, node->in[1]), definer_size(definer, node->in[2])),
		"dimension %" PRId64 " of %s is not as large as what stands beside it", attribute_int(node, "axis"), node->in[0]->name);
	definer_out(definer, 0, definer_in_stored(definer, 0));
}

/* Where a call says both, of one bound, a check asks that they are the same, and input i has the other from here on. */
static void agree(struct node *node, int i, int axis, struct tensor *count, int64_t extent)
{
	struct graph *graph = node->graph;
	struct arena *arena = graph->build->arena;
	struct tensor *x = node->in[i], *own = x->dims[axis].count;
	if (!own || !count || own == count || x->dims[axis].extent != extent || !size_is_said(own) || !size_is_said(count))
		return;
	struct node *made = size_node(node, "Agree", 3, (struct tensor *[]){ x, own, count }, 1);
	made->attributes = new_array(arena, struct attribute, 1);
	made->attribute_count = 1;
	made->attributes[0] = (struct attribute){ .name = name_is(graph->build->names, "axis"), .kind = ATTRIBUTE_INT, .i = axis };
	made->out[0] = graph_tensor_fresh(graph, x->name);
	made->out[0]->producer = made;
	infer_agree(made, NULL);
	node->in[i] = made->out[0];
}

/* Dims that lie beside each other, from the last on, but for one (-1: none). */
static void all_agree(struct node *node, int but)
{
	for (int back = 1; back <= MAX_RANK; back++) {
		const struct dim *first = NULL;
		for (int i = 0; i < node->ins; i++) {
			int d = node->in[i] ? node->in[i]->rank - back : -1;
			if (d < 0 || d == but || !node->in[i]->dims[d].count)
				continue;
			if (first)
				agree(node, i, d, first->count, first->extent);
			else
				first = &node->in[i]->dims[d];
		}
	}
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

/* All of the first input's, but for one that is another, or none: -1. */
static void like_first(const struct node *node, int but)
{
	for (int d = 0; d < node->in[0]->rank; d++)
		if (d != but)
			give(node, d, node->in[0]->dims[d].count);
}

/* Nothing but the first input has such dims. */
static void want_first(const struct node *node)
{
	for (int i = 1; i < node->ins; i++)
		if (tensor_counted(node->in[i]))
			refuse(node, node->in[i]);
}

/* ---- indices: of what is not there, 0 ---- */
static void indices_there(struct node *node, int i)
{
	for (int d = 0; d < node->in[i]->rank; d++)
		if (node->in[i]->dims[d].count)
			only_there(node, i, d, 0);
}

static void gather_there(struct node *node, const struct op *op)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	int axis = (int)node_axis(node, op->infer == infer_gather_nd ? 0 : attribute_int(node, "axis"), x->rank);
	if (op->infer == infer_gather_nd && (at->rank < 1 || at->dims[at->rank - 1].count))
		refuse(node, at);
	for (int d = 0; op->infer == infer_gather_elements && d < x->rank; d++)
		if (d != axis && x->dims[d].count != at->dims[d].count)
			refuse(node, counted_one(node));
	for (int d = 0; op->infer == infer_gather_nd && d < (int)attribute_int(node, "batch_dims"); d++)
		if (x->dims[d].count != at->dims[d].count)
			refuse(node, counted_one(node));
	indices_there(node, 1);
}

static void gathered(const struct node *node, const struct op *op)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	int n = 0, axis, batch;
	if (op->infer == infer_gather_elements) {
		for (int d = 0; d < at->rank; d++)
			give(node, d, at->dims[d].count);
		return;
	}
	if (op->infer == infer_gather) {
		axis = (int)node_axis(node, attribute_int(node, "axis"), x->rank);
		for (int d = 0; d < axis; d++)
			give(node, n++, x->dims[d].count);
		for (int d = 0; d < at->rank; d++)
			give(node, n++, at->dims[d].count);
		axis++;
	} else {
		batch = (int)attribute_int(node, "batch_dims");
		for (int d = 0; d < at->rank - 1; d++)
			give(node, n++, at->dims[d].count);
		axis = batch + (int)at->dims[at->rank - 1].extent;
	}
	for (int d = axis; d < x->rank; d++)
		give(node, n++, x->dims[d].count);
}

static int one_hot_axis(const struct node *node) { return (int)node_axis(node, attribute_int(node, "axis"), node->in[0]->rank + 1); }

static void one_hot(const struct node *node)
{
	int axis = one_hot_axis(node);
	for (int d = 0; d < node->in[0]->rank; d++)
		give(node, d + (d >= axis), node->in[0]->dims[d].count);
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
	agree(node, 1, l, a->dims[k].count, a->dims[k].extent);
	b = node->in[1];
	if (a->dims[k].count != b->dims[l].count)
		refuse(node, counted_one(node));
	if (!a->dims[k].count)
		return;
	const struct node *made = a->producer;                  /* a softmax has put 0 there */
	if (!(made && op_of(made)->infer == infer_softmax && is_there(made->in[0], k)))
		only_there(node, 0, k, 0);
	only_there(node, 1, l, 0);
}

/* ---- the same elements in other dims ---- */
bool reshape_stays(const struct tensor *x, const struct tensor *y)
{
	int64_t before = 1;
	int counted = 0;
	if (tensor_lies_in_bounds(x) && tensor_lies_in_bounds(y))
		return true;
	for (int d = 0; d < x->rank; before *= x->dims[d++].extent) {
		int64_t own = 1;
		int to = 0;
		if (!x->dims[d].count)
			continue;
		while (to < y->rank && (own != before || y->dims[to].extent != x->dims[d].extent || y->dims[to].count != x->dims[d].count))
			own *= y->dims[to++].extent;
		if (to == y->rank)
			return false;
		counted++;
	}
	for (int d = 0; d < y->rank; d++)
		counted -= y->dims[d].count != NULL;
	return counted == 0;
}

static struct tensor *elements(const struct node *node, const struct tensor *x, int from, int to)
{
	struct tensor *size = size_number(node, 1);
	for (int d = from; d < to; d++)
		size = size_product(node, size, size_of_dim(node, &x->dims[d]));
	return size;
}

static void give_size(const struct node *node, int d, struct tensor *size) { give(node, d, size->data ? NULL : size); }

/* What operands at run time make of the dims is there, and the definition asks for it; or a range may yet bound it. */
static bool may_come(const struct node *node)
{
	return tensor_is_known(node->out[0]) || (node->graph->asked.count && !node->graph->bounded);
}

/* The numbers of a shape as sizes; NULL: not known. */
static struct tensor *const *shape_of(const struct node *node, int64_t *count)
{
	if (node->since >= 5)
		return node_in_sizes(node, 1, count);
	size_t given;
	const int64_t *ints = node_ints(node, "shape", &given);
	struct tensor **shape = new_array(node->graph->build->arena, struct tensor *, given + 1);
	for (size_t d = 0; d < given; d++)
		shape[d] = size_number(node, ints[d]);
	*count = (int64_t)given;
	return shape;
}

/* -1 takes what the other numbers leave. */
static void reshaped(const struct node *node)
{
	const struct tensor *x = node->in[0], *y = node->out[0];
	int64_t count;
	struct tensor *const *shape = shape_of(node, &count);
	bool zero_is_zero = attribute_int(node, "allowzero") != 0;
	struct tensor *others = size_number(node, 1), *all = elements(node, x, 0, x->rank);
	int left = -1;
	if (!shape && may_come(node))
		return;
	if (!shape || !tensor_is_known(y))
		refuse(node, counted_one(node));
	for (int d = 0; d < y->rank; d++) {
		if (size_is(shape[d], -1)) {
			left = d;
			continue;
		}
		struct tensor *size = size_is(shape[d], 0) && !zero_is_zero ? size_of_dim(node, &x->dims[d]) : shape[d];
		others = size_product(node, others, size);
		give_size(node, d, size);
	}
	if (left < 0 ? !size_equal(all, others) : size_is(others, 0))
		refuse(node, counted_one(node));
	if (left >= 0)
		give_size(node, left, size_quotient(node, all, others));
}

/* A 1 becomes what the shape says, and what the shape says 1 of stays. */
static void expanded(const struct node *node)
{
	const struct tensor *x = node->in[0], *y = node->out[0];
	int64_t count;
	struct tensor *const *shape = node_in_sizes(node, 1, &count);
	if (!shape && may_come(node))
		return;
	if (!shape)
		refuse(node, counted_one(node));
	for (int d = 0; d < y->rank; d++) {
		int own = d - y->rank + x->rank, said = d - y->rank + (int)count;
		struct tensor *have = own < 0 ? size_number(node, 1) : size_of_dim(node, &x->dims[own]), *size = said < 0 ? size_number(node, 1) : shape[said];
		if (!size_is(have, 1) && !size_is(size, 1) && !size_equal(have, size))
			refuse(node, counted_one(node));
		give_size(node, d, size_is(have, 1) ? size : have);
	}
}

static void flattened(const struct node *node)
{
	const struct tensor *x = node->in[0];
	int64_t axis = attribute_int(node, "axis");
	if (!tensor_is_known(x))
		refuse(node, x);
	axis += axis < 0 ? x->rank : 0;
	give_size(node, 0, elements(node, x, 0, (int)axis));
	give_size(node, 1, elements(node, x, (int)axis, x->rank));
}

/* How many there are of parts side by side; NULL: no part is counted. */
static struct tensor *together(const struct node *node, int axis)
{
	struct tensor *sum = size_number(node, 0);
	for (int i = 0; i < node->ins; i++)
		sum = size_sum(node, sum, size_of_dim(node, &node->in[i]->dims[axis]));
	return sum->data ? NULL : sum;
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

/* ---- windows ---- */
static bool is_window(const struct op *op)
{
	return op->infer == infer_convolution || op->infer == infer_convolution_integer || op->infer == infer_convolution_transposed || op->infer == infer_max_pool
		|| op->infer == infer_average_pool || op->infer == infer_lp_pool;
}

static bool is_global_pool(const struct op *op)
{
	return op->infer == infer_global_average_pool || op->infer == infer_global_max_pool || op->infer == infer_global_lp_pool;
}

static void window_of_node(const struct node *node, const struct op *op, struct window *window)
{
	const struct tensor *x = node->in[0];
	int64_t kernel[MAX_RANK];
	bool weighted = op->infer == infer_convolution || op->infer == infer_convolution_integer || op->infer == infer_convolution_transposed;
	for (int d = 2; weighted && d < x->rank; d++)
		kernel[d - 2] = d < node->in[1]->rank ? node->in[1]->dims[d].extent : -1;
	if (op->infer == infer_convolution_transposed)
		window_transposed_of(node, x, kernel, window);
	else
		window_of(node, x, weighted ? kernel : NULL, window);
}

static struct tensor *windows(const struct node *node, const struct op *op, const struct window *window, int d)
{
	struct tensor *in = node->in[0]->dims[2 + d].count;
	return op->infer == infer_convolution_transposed ? window_transposed_size(node, window, d, in) : window_size(node, window, d, in);
}

/* What a pad is, in front of the reduction. */
static float neutral_of(const struct node *node, const struct op *op)
{
	const struct dtype_row *type = &dtypes[node->in[0]->type];
	if (op->infer != infer_max_pool && op->infer != infer_global_max_pool)
		return 0;
	return type->class == CLASS_FLOAT ? -INFINITY : type->class == CLASS_INT ? -(float)((uint64_t)1 << (type->bits - 1)) : 0;
}

/* What is not there is a pad to windows that reach behind the data. */
static void slide(struct node *node, const struct op *op)
{
	struct window window;
	const struct tensor *x = node->in[0];
	bool indices = node_has_out(node, 1);
	struct tensor *zero = op->infer == infer_convolution_integer ? node_in(node, 2) : NULL;
	for (int i = 1; i < node->ins; i++)
		if (tensor_counted(node->in[i]))
			refuse(node, node->in[i]);
	if (x->rank < 2 || x->dims[1].count)
		refuse(node, x);
	if (is_window(op) && x->rank > 2)
		window_of_node(node, op, &window);
	for (int d = 2; d < x->rank; d++) {
		if (!x->dims[d].count)
			continue;
		if (is_window(op) && (indices || (zero && !tensor_is_scalar_like(zero)) || !windows(node, op, &window, d - 2)))
			refuse(node, x);
		if (is_global_pool(op) || op->infer == infer_convolution_transposed || window_hangs_over(node, &window, d - 2))
			there_or_element(node, 0, d, neutral_of(node, op), zero);
	}
}

static void slid(const struct node *node, const struct op *op)
{
	const struct tensor *x = node->in[0];
	struct window window;
	give(node, 0, x->dims[0].count);
	if (is_window(op))
		window_of_node(node, op, &window);
	for (int d = 2; d < x->rank && is_window(op); d++)
		if (x->dims[d].count)
			give_size(node, d, windows(node, op, &window, d - 2));
}

/* ---- Gemm, and what stands around data ---- */
static void gemm_there(struct node *node)
{
	const struct tensor *a = node->in[0], *b = node->in[1], *c = node_in(node, 2);
	int a_terms = !attribute_int(node, "transA"), b_terms = attribute_int(node, "transB") != 0;
	const struct dim *made[2] = { &a->dims[!a_terms], &b->dims[!b_terms] };
	if (a->rank != 2 || b->rank != 2 || a->dims[a_terms].count != b->dims[b_terms].count)
		refuse(node, counted_one(node));
	for (int d = 0; c && d < c->rank; d++) {
		const struct dim *dim = made[2 - c->rank + d];
		if (c->dims[d].count != dim->count && (c->dims[d].count || c->dims[d].extent != 1))
			refuse(node, counted_one(node));
	}
	if (a->dims[a_terms].count) {
		only_there(node, 0, a_terms, 0);
		only_there(node, 1, b_terms, 0);
	}
}

static void pad_there(struct node *node)
{
	const struct tensor *x = node->in[0];
	int64_t before[MAX_RANK], after[MAX_RANK];
	float fill;
	if (counted_one(node) != x || !pad_of_counted(node, before, after, &fill))
		refuse(node, counted_one(node));
	for (int d = 0; d < x->rank; d++)
		if (x->dims[d].count && after[d] > 0)
			only_there(node, 0, d, fill);
}

static void padded(const struct node *node)
{
	const struct tensor *x = node->in[0];
	int64_t before[MAX_RANK], after[MAX_RANK];
	float fill;
	pad_of_counted(node, before, after, &fill);
	for (int d = 0; d < x->rank; d++)
		give(node, d, x->dims[d].count ? size_not_below_zero(node, size_plus(node, x->dims[d].count, before[d] + after[d])) : NULL);
}

/* ---- recurrences: sequences end where their steps do ---- */
static bool is_recurrent(const struct op *op) { return op->infer == infer_lstm || op->infer == infer_gru || op->infer == infer_rnn; }

static void end_sequences(struct node *node)
{
	struct arena *arena = node->graph->build->arena;
	const struct tensor *x = node->in[0];
	int first = attribute_int(node, "layout") != 0;
	struct tensor *lengths = node_in(node, 4), *steps = x->rank == 3 ? x->dims[first].count : NULL, *batch = x->rank == 3 ? x->dims[!first].count : NULL;
	for (int i = 0; i < node->ins; i++)
		for (int d = 0; node->in[i] && d < node->in[i]->rank; d++) {
			bool is_batch = i == 4 || ((i == 0 || i == 5 || i == 6) && d == !first);
			struct tensor *count = node->in[i]->dims[d].count;
			if (count != (is_batch ? batch : NULL) && !(i == 0 && d == first))
				refuse(node, counted_one(node));
		}
	if (x->rank != 3 || x->dims[2].count)
		refuse(node, x);
	if (!steps || (lengths && lengths->producer && !strcmp(lengths->producer->type, "Lengths")))
		return;
	struct tensor **in = new_array(arena, struct tensor *, (size_t)node->ins + 5);
	memcpy(in, node->in, sizeof *in * (size_t)node->ins);
	in[4] = size_made(node, "Lengths", (int)x->dims[!first].extent, 1 + (lengths != NULL), (struct tensor *[]){ steps, lengths });
	node->in = in;
	node->ins = node->ins < 5 ? 5 : node->ins;
}

/* ---- quantised numbers: of one scale, or one for each place of an axis that is whole ---- */
static void scaled_there(const struct node *node)
{
	const struct tensor *x = node->in[0], *scale = node->in[1];
	want_first(node);
	if (!tensor_is_scalar_like(scale) && (attribute_int(node, "block_size") || x->dims[node_axis(node, attribute_int(node, "axis"), x->rank)].count))
		refuse(node, x);
}

/* ---- Einsum: of labels that are summed, what is not there is 0 ---- */
static void labels_there(struct node *node)
{
	int labels[MAX_RANK], rank;
	for (int i = 0; i < node->ins; i++) {
		rank = einsum_labels(node, i, labels);
		for (int d = 0; d < rank; d++) {
			if (!einsum_agrees(node, labels[d]))
				refuse(node, counted_one(node));
			if (node->in[i]->dims[d].count && !einsum_keeps(node, labels[d]))
				only_there(node, i, d, 0);
		}
	}
}

static void labelled(const struct node *node)
{
	int labels[MAX_RANK], rank = einsum_labels(node, -1, labels);
	for (int d = 0; d < rank; d++)
		give(node, d, einsum_count(node, labels[d]));
}

static bool is_gather(const struct op *op) { return op->infer == infer_gather || op->infer == infer_gather_elements || op->infer == infer_gather_nd; }
static bool is_scaled(const struct op *op) { return op->infer == infer_quantise || op->infer == infer_dequantise; }

/* By operands that are known as sizes it makes dims that are counted, whatever its data are. */
static bool sizes_come(const struct node *node, const struct op *op)
{
	int64_t count;
	return op->infer == infer_reshape && node->since >= 5 && node_in(node, 0) && node_in(node, 1) && !node->in[1]->data && node_in_sizes(node, 1, &count);
}

static bool is_map(const struct op *op)
{
	return op->infer == infer_mean || op->infer == infer_bitwise || op->infer == infer_bitwise_not || op->infer == infer_shift || op_keeps_shape(op) || op_broadcasts(op) || op->infer == infer_where || op->infer == infer_clip || op->infer == infer_gelu || op->infer == infer_mod
		|| op->infer == infer_variadic || op->infer == infer_power || op->infer == infer_prelu || op->infer == infer_logical || op->infer == infer_logical_not
		|| op->infer == infer_comparison || op->infer == infer_test;
}

static bool is_move(const struct op *op)
{
	return op->infer == infer_transpose || op->infer == infer_unsqueeze || op->infer == infer_squeeze
		|| op->infer == infer_there || op->infer == infer_agree || op->infer == infer_fit || op->infer == infer_slice || op->infer == infer_split;
}

static bool is_softmax(const struct op *op) { return op->infer == infer_softmax || op->infer == infer_log_softmax; }

void counts_whole(const struct node *node)
{
	const struct tensor *counted = counted_one(node);
	if (counted)
		refuse(node, counted);
}

/* What an operator cannot be without: inference refuses the node. */
static bool lacks_inputs(const struct node *node, const struct op *op)
{
	bool two = is_gather(op) || is_scaled(op) || op->infer == infer_matmul || op->infer == infer_matmul_integer || op->infer == infer_gemm || op->infer == infer_top_k
		|| op->infer == infer_convolution || op->infer == infer_convolution_integer || op->infer == infer_convolution_transposed;
	for (int i = 0; op->infer == infer_einsum && i < node->ins; i++)
		if (!node->in[i])
			return true;
	return !node_in(node, 0) || (two && !node_in(node, 1));
}

bool counts_come(struct node *node, const struct op *op)
{
	const struct tensor *counted = counted_one(node);
	if (!counted)
		return sizes_come(node, op);
	if (op->text || lacks_inputs(node, op))                 /* a text says so itself: text.c */
		return true;
	for (int i = 0; i < node->ins; i++)                     /* nothing is said of what comes beside */
		if (node->in[i] && node->in[i]->rank < 0 && op->infer != infer_shape)
			refuse(node, counted);
	if (is_map(op) && !op_keeps_shape(op))
		all_agree(node, -1);
	if (op->infer == infer_concat && counted->rank > 0)
		all_agree(node, (int)node_axis(node, node_int(node, "axis", 1), counted->rank));
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
	} else if (op->infer == infer_matmul_integer) {
		if (node->in[0]->rank < 2 || node->in[1]->rank < 2 || node->in[0]->dims[node->in[0]->rank - 1].count || node->in[1]->dims[node->in[1]->rank - 2].count
			|| tensor_counted(node_in(node, 2)) || tensor_counted(node_in(node, 3)))
			refuse(node, counted);
	} else if (is_scaled(op)) {
		scaled_there(node);
	} else if (op->infer == infer_einsum) {
		labels_there(node);
	} else if (op->infer == infer_lrn) {
		want_whole(node, 0, 1, 2);
	} else if (op->infer == infer_trilu || op->infer == infer_tile) {
		want_first(node);
	} else if (op->infer == infer_dropout) {
		if (dropout_trains(node) || counted != node->in[0])
			refuse(node, counted);
	} else if (op->infer == infer_one_hot) {
		want_first(node);
		indices_there(node, 0);
	} else if (op->infer == infer_top_k) {
		int64_t axis = node_axis(node, attribute_int(node, "axis"), node->in[0]->rank);
		want_first(node);
		want_whole(node, 0, (int)axis, (int)axis + 1);
	} else if (op->infer == infer_gemm) {
		gemm_there(node);
	} else if (op->infer == infer_pad) {
		pad_there(node);
	} else if (op->infer == infer_batch_normalization) {
		want_whole(node, 0, 1, counted->rank > 1 ? 2 : 1);
		if (counted != node->in[0] || batch_normalization_trains(node))
			refuse(node, counted);
	} else if (op->infer == infer_resize) {
		if (counted != node->in[0] || !resize_of_counted(node))
			refuse(node, counted);
	} else if (is_recurrent(op)) {
		end_sequences(node);
	} else if (is_window(op) || is_global_pool(op)) {
		slide(node, op);
	} else if (is_reduction(op) || op->infer == infer_running) {
		bool reduced[MAX_RANK];
		if (counted != node_in(node, 0) || (is_reduction(op) && !reduced_axes(node, op, reduced)))
			refuse(node, counted);
	} else if (is_gather(op)) {
		gather_there(node, op);
	} else if (!is_map(op) && !is_move(op) && op->infer != infer_shape && op->infer != infer_select && op->infer != infer_reshape && op->infer != infer_flatten
		&& op->infer != infer_concat && op->infer != infer_expand && op->infer != infer_size) {
		refuse(node, counted);
	}
	return true;
}

void counts_go(struct node *node, const struct op *op)
{
	const struct tensor *out = node->out[0];
	if (op->infer == infer_shape || op->infer == infer_select || op->infer == infer_gemm || op->infer == infer_batch_normalization || op->infer == infer_tile
		|| is_recurrent(op))     /* they hand the dims on, counts and all */
		return;
	if (op->infer == infer_slice && slice_comes_late(node)) {
		if (!may_come(node))
			refuse(node, counted_one(node));
	} else if (op->infer == infer_slice && tensor_counted(node->in[0]) && tensor_is_known(out)) {
		return;
	} else if (is_move(op))
		moved(node);
	else if (is_gather(op))
		gathered(node, op);
	else if (op->infer == infer_expand)
		expanded(node);
	else if (op->infer == infer_one_hot)
		one_hot(node);
	else if (op->infer == infer_einsum)
		labelled(node);
	else if (op->infer == infer_top_k)
		like_first(node, (int)node_axis(node, attribute_int(node, "axis"), out->rank));
	else if (op_keeps_shape(op) || is_scaled(op) || op->infer == infer_trilu || op->infer == infer_lrn || op->infer == infer_dropout)
		like_first(node, -1);
	else if (op->infer == infer_matmul || op->infer == infer_matmul_integer)
		product(node);
	else if (op->infer == infer_reshape)
		reshaped(node);
	else if (op->infer == infer_pad)
		padded(node);
	else if (is_window(op) || is_global_pool(op))
		slid(node, op);
	else if (op->infer == infer_resize)
		for (int d = 0; d < out->rank; d++)
			give(node, d, node->in[0]->dims[d].count ? resize_size(node, d) : NULL);
	else if (op->infer == infer_flatten)
		flattened(node);
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
	for (int i = 0; i < node->outs && !op_chooses(op) && !op_sizes(op); i++)
		for (int d = 0; node->out[i] && d < node->out[i]->rank; d++)
			if (node->out[i]->dims[d].count)
				give_one(node, node->out[i], d, NULL);
}
