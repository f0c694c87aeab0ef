/* values.c: what a graph makes of Shape on its way to a Reshape, an Expand or a Slice: tensors of a few whole numbers,
 * which are known element by element as sizes are (sizes.c) where they come at run time.  So dims that such operands
 * say are counted as the dims are that they were made of, and what turns out to be numbers is a constant. */
#include "ops/ops.h"
#include <math.h>

enum { VALUES_MOST = 64 };                 /* elements */
static const double integer_most = 0x1p24; /* of floats: every whole number up to there is one */

static bool may_be_sizes(enum dtype type)
{
	return type == DTYPE_I64 || type == DTYPE_I32 || type == DTYPE_BOOL || type == DTYPE_F32 || type == DTYPE_F64;
}

struct tensor *const *node_in_sizes(const struct node *node, int i, int64_t *count)
{
	struct build *build = node->graph->build;
	const struct tensor *tensor = node_in(node, i);
	*count = tensor && tensor_is_known(tensor) && !tensor->form && !tensor_counted(tensor)
	        ? tensor_elements(build, tensor)
	        : -1;
	if (*count < 0 || *count > VALUES_MOST || tensor->sizes || !tensor->data || !may_be_sizes(tensor->type))
		return *count >= 0 ? tensor->sizes : NULL;
	struct tensor **sizes = arena_new_array(build->arena, struct tensor *, *count + 1);
	FOR (k, *count) {
		double number = dtype_is_float(tensor->type) ? tensor_float(tensor, (size_t)k) : 0;
		if (!(fabs(number) <= integer_most) || floor(number) != number || (number == 0 && signbit(number)))
			return NULL;
		sizes[k] = size_number(
		        node, dtype_is_float(tensor->type) ? (int64_t)number : tensor_int(tensor, (size_t)k));
	}
	return sizes;
}

struct tensor *node_in_size(const struct node *node, int i, int64_t k)
{
	int64_t count;
	struct tensor *const *sizes = node_in_sizes(node, i, &count);
	const struct node *from = node->in[i]->producer;
	const struct op *op = from ? op_find(from->domain, from->type) : NULL;
	if (sizes || !op || op->infer != infer_concat || node->in[i]->rank != 1)
		return sizes ? sizes[k] : NULL;
	for (int at = 0; at < from->ins && dim_is_known(from->in[at]->dims[0]); at++) {
		if (k < from->in[at]->dims[0].extent)
			return node_in_size(from, at, k);
		k -= from->in[at]->dims[0].extent;
	}
	return NULL;
}

bool node_in_is_late(const struct node *node, int i)
{
	int64_t count;
	return node_in(node, i) && !node->in[i]->data && !node_in_sizes(node, i, &count);
}

/* ---- what is made of them; NULL: not known ---- */
typedef struct tensor *const *sizes;
struct made {
	const struct node *node;
	struct tensor **at;
	int64_t count;
};

static bool make_room(struct made *made, int64_t count)
{
	made->count = count;
	made->at = count < 0 || count > VALUES_MOST
	        ? NULL
	        : arena_new_array(node_arena(made->node), struct tensor *, count + 1);
	return made->at;
}

static void of_shape(struct made *made)
{
	const struct node *node = made->node;
	const struct tensor *x = node->in[0];
	int64_t from = attribute_int(node, "start"), count = node->out[0]->dims[0].extent;
	from += from < 0 ? x->rank : 0;
	from = from < 0 ? 0 : from;
	if (!make_room(made, count))
		return;
	FOR (k, count) {
		struct dim dim = x->dims[from + k];
		if (!dim_is_known(dim)) {
			made->at = NULL;
			return;
		}
		if (dim.count && !dim.count->most && !dim.count->is_spanned)
			dim.count->most = dim.extent;
		made->at[k] = size_of_dim(node, &dim);
	}
}

static void of_same(struct made *made)
{
	int64_t count;
	sizes x = node_in_sizes(made->node, 0, &count);
	if (x && make_room(made, count))
		COPY(made->at, x, count);
}

static void of_negated(struct made *made)
{
	of_same(made);
	FOR_WHILE (k, made->at, made->count)
		made->at[k] = size_difference(made->node, size_number(made->node, 0), made->at[k]);
}

static void of_parts(struct made *made)
{
	const struct node *node = made->node;
	int64_t count, at = 0;
	if (node->out[0]->rank != 1 || !dim_is_known(node->out[0]->dims[0])
	        || !make_room(made, node->out[0]->dims[0].extent))
		return;
	FOR_WHILE (i, made->at, node->ins) {
		sizes x = node_in_sizes(node, i, &count);
		if (!x || at + count > made->count) {
			made->at = NULL;
			return;
		}
		memcpy(made->at + at, x, sizeof *x * (size_t)count);
		at += count;
	}
}

/* Elements of a list by numbers: from, and by how many. */
static void of_some(struct made *made, sizes x, int64_t count, int64_t from, int64_t step)
{
	for (int64_t k = 0; made->at && k < made->count; k++, from += step) {
		if (from < 0 || from >= count) {
			made->at = NULL;
			return;
		}
		made->at[k] = x[from];
	}
}

static void of_gather(struct made *made)
{
	const struct node *node = made->node;
	int64_t count, which;
	sizes x = node_in_sizes(node, 0, &count);
	const int64_t *at = node_in_ints(node, 1, &which);
	if (!x || !at || node->in[0]->rank != 1 || !make_room(made, which))
		return;
	FOR (k, which) {
		if (at[k] < -count || at[k] >= count) {
			made->at = NULL;
			return;
		}
		made->at[k] = x[at[k] < 0 ? at[k] + count : at[k]];
	}
}

static void of_slice(struct made *made)
{
	const struct node *node = made->node;
	int64_t count, start, step;
	sizes x = node_in_sizes(node, 0, &count);
	if (x && node->in[0]->rank == 1 && slice_of_list(node, &start, &step) && dim_is_known(node->out[0]->dims[0])
	        && !node->out[0]->dims[0].count && make_room(made, node->out[0]->dims[0].extent))
		of_some(made, x, count, start, step);
}

static bool is_positive(struct tensor *size, int64_t least) { return size_span(size).least >= least; }

static struct tensor *of_two(const struct node *node, int scalar, struct tensor *a, struct tensor *b)
{
	switch (scalar) {
	case SCALAR_add: return size_sum(node, a, b);
	case SCALAR_sub: return size_difference(node, a, b);
	case SCALAR_mul: return size_product(node, a, b);
	case SCALAR_div: /* of floats a quotient that leaves nothing */
		if (!is_positive(a, 0) || !is_positive(b, 1))
			return NULL;
		a = size_quotient(node, a, b);
		return dtype_is_float(node->in[0]->type) && size_may_not_divide(a) ? NULL : a;
	case SCALAR_maximum:
	case SCALAR_max: return size_most(node, a, b);
	case SCALAR_minimum:
	case SCALAR_min: return size_least(node, a, b);
	default: break;
	}
	struct span apart = size_span(size_difference(node, a, b));
	switch (scalar) {
	case SCALAR_equal:
		return apart.least > 0 || apart.most < 0 ? size_number(node, 0)
		        : size_equal(a, b)               ? size_number(node, 1)
		                                         : NULL;
	case SCALAR_less: return apart.most < 0 ? size_number(node, 1) : apart.least >= 0 ? size_number(node, 0) : NULL;
	case SCALAR_greater:
		return apart.least > 0 ? size_number(node, 1) : apart.most <= 0 ? size_number(node, 0) : NULL;
	default: return NULL;
	}
}

/* Of operands of one shape, or of one element. */
static void of_elements(struct made *made, const struct op *op)
{
	const struct node *node = made->node;
	int64_t count[3], most = node->ins ? 1 : 0;
	sizes in[3];
	if (node->ins < 2 || node->ins > 3 || node->out[0]->rank > 1)
		return;
	FOR (i, node->ins) {
		if (!(in[i] = node_in_sizes(node, i, &count[i])))
			return;
		most = count[i] != 1 ? count[i] : most;
	}
	FOR (i, node->ins)
		if (count[i] != most && count[i] != 1)
			return;
	if (!make_room(made, most))
		return;
	FOR (k, most) {
		struct tensor *each[3];
		FOR (i, node->ins)
			each[i] = in[i][count[i] == 1 ? 0 : k];
		if (op->infer == infer_where)
			made->at[k] = each[0]->data ? each[tensor_int(each[0], 0) ? 1 : 2] : NULL;
		else
			made->at[k] = node->ins == 2 ? of_two(node, op->scalar, each[0], each[1]) : NULL;
	}
}

/* All elements as one: how many there are in all, or the least of a number and what is there. */
static void of_all(struct made *made)
{
	static const struct {
		const char *type;
		int scalar;
	} rows[] = { { "ReduceProd", SCALAR_mul }, { "ReduceSum", SCALAR_add }, { "ReduceMin", SCALAR_min },
		{ "ReduceMax", SCALAR_max } };
	int64_t count;
	bool reduced[MAX_RANK];
	int scalar = -1;
	sizes x = node_in_sizes(made->node, 0, &count);
	FOR (i, COUNT(rows))
		if (!strcmp(made->node->type, rows[i].type))
			scalar = rows[i].scalar;
	if (!x || !count || scalar < 0 || made->node->in[0]->rank != 1 || !reduced_axes(made->node, reduced)
	        || !reduced[0] || !make_room(made, 1))
		return;
	made->at[0] = x[0];
	for (int64_t k = 1; made->at[0] && k < count; k++)
		made->at[0] = of_two(made->node, scalar, made->at[0], x[k]);
}

/* A number of each is a constant. */
static bool become_constant(struct tensor *out, const struct made *made)
{
	struct arena *arena = out->graph->build->arena;
	int bytes = dtypes[out->type].bits / 8;
	FOR (k, made->count)
		if (!made->at[k]->data)
			return false;
	char *data = arena_alloc(arena, (size_t)(made->count * bytes) + 1);
	FOR (k, made->count) {
		int64_t number = tensor_int(made->at[k], 0);
		float single = (float)number;
		double twice = (double)number;
		memcpy(data + k * bytes,
		        out->type == DTYPE_F32           ? (const void *)&single
		                : out->type == DTYPE_F64 ? (const void *)&twice
		                                         : (const void *)&number,
		        (size_t)bytes);
	}
	out->data = data;
	out->bytes = (size_t)(made->count * bytes);
	return true;
}

/* That no type cuts them, nor wraps them around. */
static bool fits(const struct tensor *out, const struct made *made)
{
	const int64_t limit = out->type == DTYPE_BOOL ? 1
	        : dtype_is_float(out->type)           ? (int64_t)integer_most
	        : out->type == DTYPE_I32              ? INT32_MAX
	                                              : (int64_t)1 << 59;
	FOR (k, made->count) {
		if (!made->at[k])
			return false;
		struct span span = size_span(made->at[k]);
		if (span.least < (out->type == DTYPE_BOOL ? 0 : -limit) || span.most > limit)
			return false;
	}
	return true;
}

void values_follow(struct node *node, const struct op *op)
{
	struct tensor *out = node_has_out(node, 0) ? node->out[0] : NULL;
	struct made made = { .node = node };
	bool comes = op->infer == infer_shape;
	if (!out || out->form || out->data || !may_be_sizes(out->type) || !tensor_is_known(out) || tensor_counted(out)
	        || node_elements(node, out) > VALUES_MOST)
		return;
	FOR (i, node->ins)
		comes |= node->in[i] && node->in[i]->sizes;
	if (!comes)
		return;
	if (op->infer == infer_shape)
		of_shape(&made);
	else if (op->infer == infer_identity || op->infer == infer_cast || op->infer == infer_squeeze
	        || op->infer == infer_unsqueeze || op->infer == infer_reshape || op->infer == infer_flatten)
		of_same(&made);
	else if (op->infer == infer_unary && op->scalar == SCALAR_neg)
		of_negated(&made);
	else if (op->infer == infer_concat)
		of_parts(&made);
	else if (op->infer == infer_gather)
		of_gather(&made);
	else if (op->infer == infer_slice)
		of_slice(&made);
	else if (op->infer == infer_reduce)
		of_all(&made);
	else if (op->infer == infer_binary || op->infer == infer_variadic || op->infer == infer_comparison
	        || op->infer == infer_where)
		of_elements(&made, op);
	if (made.at && made.count == node_elements(node, out) && fits(out, &made) && !become_constant(out, &made))
		out->sizes = made.at;
}
