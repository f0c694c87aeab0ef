/* counts_shapes.c: dims that are bounds, in families that put elements elsewhere: Reshape, Expand, Concat, Slice, Pad …
 * (counts.c). */
#include "ops/ops.h"
#include <math.h>

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
		while (to < y->rank
		        && (own != before || y->dims[to].extent != x->dims[d].extent
		                || y->dims[to].count != x->dims[d].count))
			own *= y->dims[to++].extent;
		if (to == y->rank)
			return false;
		counted++;
	}
	FOR (d, y->rank)
		counted -= y->dims[d].count != NULL;
	return counted == 0;
}

struct tensor *counts_elements(const struct node *node, const struct tensor *x, int from, int to)
{
	struct tensor *size = size_number(node, 1);
	FOR_FROM (d, from, to)
		size = size_product(node, size, size_of_dim(node, &x->dims[d]));
	return size;
}

void counts_give_size(const struct node *node, int d, struct tensor *size)
{
	counts_give(node, d, size->data ? NULL : size);
}

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
	struct tensor **shape = arena_new_array(node_arena(node), struct tensor *, given + 1);
	FOR (d, given)
		shape[d] = size_number(node, ints[d]);
	*count = (int64_t)given;
	return shape;
}

/* -1 takes what the other numbers leave. */
void go_reshape(const struct node *node)
{
	const struct tensor *x = node->in[0], *y = node->out[0];
	int64_t count;
	struct tensor *const *shape = shape_of(node, &count);
	bool zero_is_zero = attribute_int(node, "allowzero") != 0;
	struct tensor *others = size_number(node, 1), *all = counts_elements(node, x, 0, x->rank);
	int left = -1;
	if (!shape && may_come(node))
		return;
	if (!shape || !tensor_is_known(y))
		counts_refuse_first(node);
	FOR (d, y->rank) {
		if (size_is(shape[d], -1)) {
			left = d;
			continue;
		}
		struct tensor *size = size_is(shape[d], 0) && !zero_is_zero ? size_of_dim(node, &x->dims[d]) : shape[d];
		others = size_product(node, others, size);
		counts_give_size(node, d, size);
	}
	if (left < 0 ? !size_equal(all, others) : size_is(others, 0))
		counts_refuse_first(node);
	if (left >= 0)
		counts_give_size(node, left, size_quotient(node, all, others));
}

/* A 1 becomes what the shape says, and what the shape says 1 of stays. */
void go_expand(const struct node *node)
{
	const struct tensor *x = node->in[0], *y = node->out[0];
	int64_t count;
	struct tensor *const *shape = node_in_sizes(node, 1, &count);
	if (!shape && may_come(node))
		return;
	if (!shape)
		counts_refuse_first(node);
	FOR (d, y->rank) {
		int own = d - y->rank + x->rank, said = d - y->rank + (int)count;
		struct tensor *have = own < 0 ? size_number(node, 1) : size_of_dim(node, &x->dims[own]),
		              *size = said < 0 ? size_number(node, 1) : shape[said];
		if (!size_is(have, 1) && !size_is(size, 1) && !size_equal(have, size))
			counts_refuse_first(node);
		counts_give_size(node, d, size_is(have, 1) ? size : have);
	}
}

void go_flatten(const struct node *node)
{
	const struct tensor *x = node->in[0];
	int64_t axis = attribute_int(node, "axis");
	if (!tensor_is_known(x))
		counts_refuse(node, x);
	axis += axis < 0 ? x->rank : 0;
	counts_give_size(node, 0, counts_elements(node, x, 0, (int)axis));
	counts_give_size(node, 1, counts_elements(node, x, (int)axis, x->rank));
}

/* How many there are of parts side by side; NULL: no part is counted. */
static struct tensor *together(const struct node *node, int axis)
{
	struct tensor *sum = size_number(node, 0);
	FOR (i, node->ins)
		sum = size_sum(node, sum, size_of_dim(node, &node->in[i]->dims[axis]));
	return sum->data ? NULL : sum;
}

/* Beside a dim that is known a count has to be all of its bound, where that is as large. */
void come_concat(struct node *node)
{
	int rank = node->in[0]->rank, axis = rank > 0 ? attribute_axis(node, rank) : 0;
	FOR (d, rank)
		FOR_WHILE (k, d != axis, node->ins) {
			struct dim known = node->in[k]->dims[d];
			FOR_WHILE (i, dim_is_known(known) && !known.count, node->ins)
				counts_must_be(node, i, d, size_number(node, known.extent), known.extent);
		}
	if (rank > 0)
		counts_all_agree(node, axis);
}

void go_concat(const struct node *node)
{
	const struct tensor *first = node->in[0], *out = node->out[0];
	int axis = attribute_axis(node, first->rank);
	if (!dim_is_known(out->dims[axis]))
		counts_refuse_first(node);
	FOR (i, node->ins)
		FOR (d, first->rank)
			if (d != axis && node->in[i]->dims[d].count != first->dims[d].count)
				counts_refuse_first(node);
	FOR (d, first->rank)
		counts_give(node, d, d == axis ? together(node, d) : first->dims[d].count);
}

/* ---- what stands around data, and between them ---- */
void come_pad(struct node *node)
{
	const struct tensor *x = node->in[0];
	int64_t before[MAX_RANK], after[MAX_RANK];
	float fill;
	if (counts_first(node) != x || !pad_of_counted(node, before, after, &fill))
		counts_refuse_first(node);
	FOR (d, x->rank)
		if (x->dims[d].count && after[d] > 0 && !isnan(fill))
			counts_put_number(node, 0, d, fill);
}

void go_pad(const struct node *node)
{
	const struct tensor *x = node->in[0];
	int64_t before[MAX_RANK], after[MAX_RANK];
	float fill;
	if (pad_has_sizes(node)) /* inference has said the dims */
		return;
	pad_of_counted(node, before, after, &fill);
	FOR (d, x->rank)
		if (x->dims[d].count && (before[d] || after[d]))
			counts_give(node, d,
			        size_not_below_zero(node, size_plus(node, x->dims[d].count, before[d] + after[d])));
}

void come_resize(struct node *node)
{
	counts_want_first(node);
	if (!resize_of_counted(node))
		counts_refuse(node, node->in[0]);
}

void go_resize(const struct node *node)
{
	FOR (d, node->out[0]->rank)
		counts_give(node, d, node->in[0]->dims[d].count ? resize_size(node, d) : NULL);
}

/* ---- Slice ---- */
void go_slice(const struct node *node)
{
	if (slice_comes_late(node)) {
		if (!may_come(node))
			counts_refuse_first(node);
	} else if (!tensor_is_known(node->out[0])) {
		counts_move(node);
	}
}

/* ---- Split ---- */
void come_split(struct node *node)
{
	const struct tensor *x = node->in[0];
	int64_t count;
	counts_want_first(node);
	if (node_in(node, 1) && x->dims[attribute_axis(node, x->rank)].count && !node_in_sizes(node, 1, &count))
		counts_refuse(node, x);
}
