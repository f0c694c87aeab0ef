/* gather.c: elements at indices that are data: Gather.  A negative index counts from the end.  One outside the data is
 * refused where it is constant; else it is cut to the data, so that nothing outside is ever read. */
#include "ops/ops.h"
#include <inttypes.h>

static int gather_axis(const struct node *node)
{
	return (int)node_axis(node, node_int(node, "axis", 0), node->in[0]->rank);
}

static int64_t constant_at(const struct tensor *tensor, int64_t i)
{
	int64_t wide;
	int32_t narrow;
	if (tensor->type == DTYPE_I64)
		return memcpy(&wide, (const char *)tensor->data + i * 8, 8), wide;
	return memcpy(&narrow, (const char *)tensor->data + i * 4, 4), narrow;
}

void infer_gather(struct node *node, const struct op *op)
{
	struct dim dims[MAX_RANK * 2];
	int n = 0;
	(void)op;
	infer_counts(node, 2, 2, 1);
	const struct tensor *x = node->in[0], *at = node->in[1];
	if (at->type != DTYPE_NONE && at->type != DTYPE_I64 && at->type != DTYPE_I32)
		node_fail(node, EXIT_INVALID, "Gather: indices are %s, int64 or int32 is right", dtypes[at->type].text);
	if (x->rank < 0 || at->rank < 0) {
		infer_output_unknown(node, 0, x->type);
		return;
	}
	int axis = gather_axis(node);
	int64_t extent = x->dims[axis].extent;
	for (int64_t i = 0, count = at->data && extent >= 0 ? tensor_elements(node->graph->build, at) : 0; i < count;
	     i++)
		if (constant_at(at, i) < -extent || constant_at(at, i) >= extent)
			node_fail(node, EXIT_INVALID, "Gather: index %" PRId64 " of %" PRId64, constant_at(at, i),
			          extent);
	for (int d = 0; d < x->rank; d++)
		if (d != axis)
			dims[n++] = x->dims[d];
		else
			for (int k = 0; k < at->rank; k++)
				dims[n++] = at->dims[k];
	infer_output(node, 0, x->type, n, dims);
}

void define_gather(struct definer *definer, const struct op *op)
{
	struct arena *arena = definer->arena;
	struct definition *x = definer_in(definer, 0), *indices = definer_in(definer, 1);
	const struct index *at[MAX_RANK], *x_at[MAX_RANK];
	int64_t extents[MAX_RANK];
	(void)op;
	int axis = gather_axis(definer->node);
	definer_shape(definer, 0, extents, at);
	if (definition_elements(x) == 0) {
		definer_out_map(definer, 0, expr_number(arena, x->type, 0));
		return;
	}
	const struct expr *zero = expr_integer(arena, DTYPE_I64, 0),
	                  *last = expr_integer(arena, DTYPE_I64, x->extents[axis] - 1);
	const struct expr *index = expr_cast(arena, DTYPE_I64, expr_load(arena, indices, at + axis));
	index = expr2(definer, SCALAR_add, index, expr2(definer, SCALAR_mul, expr2(definer, SCALAR_less, index, zero),
		expr_integer(arena, DTYPE_I64, x->extents[axis])));
	index = expr2(definer, SCALAR_min, expr2(definer, SCALAR_max, index, zero), last);
	for (int d = 0, n = 0; d < x->rank; d++)
		if (d != axis) {
			x_at[d] = at[n++];
		} else {
			x_at[d] = index_value(arena, index, 0, x->extents[axis] - 1);
			n += indices->rank;
		}
	definer_out_map(definer, 0, expr_load(arena, x, x_at));
}
