/* reduce.c: whole axes reduced: ReduceMean. */
#include "ops/ops.h"
#include <inttypes.h>

/* Which axes; false where they are not known yet.  No axes: all, or none where noop_with_empty_axes says so. */
static bool axes_of(const struct node *node, bool *reduced)
{
	int rank = node->in[0]->rank;
	int64_t count = 0;
	const int64_t *axes;
	if (node->since < 18) {
		size_t given;
		axes = node_ints(node, "axes", &given);
		count = (int64_t)given;
	} else {
		axes = node_in_ints(node, 1, &count);
		if (node_in(node, 1) && !axes)
			return false;
	}
	bool all = !count && !(node->since >= 18 && node_int(node, "noop_with_empty_axes", 0));
	for (int d = 0; d < rank; d++)
		reduced[d] = all;
	for (int64_t i = 0; i < count; i++)
		reduced[node_axis(node, axes[i], rank)] = true;
	return true;
}

void infer_reduce_mean(struct node *node, const struct op *op)
{
	struct dim dims[MAX_RANK];
	bool reduced[MAX_RANK], keep = node_int(node, "keepdims", 1) != 0;
	int rank = 0;
	(void)op;
	infer_counts(node, 1, node->since < 18 ? 1 : 2, 1);
	enum dtype type = infer_number_type(node, 0);
	if (type != DTYPE_NONE && dtypes[type].class != CLASS_FLOAT)
		node_fail(node, EXIT_UNSUPPORTED, "ReduceMean of %s is not supported", dtypes[type].text);
	if (node->in[0]->rank < 0 || !axes_of(node, reduced)) {
		infer_output_unknown(node, 0, type);
		return;
	}
	for (int d = 0; d < node->in[0]->rank; d++)
		if (!reduced[d])
			dims[rank++] = node->in[0]->dims[d];
		else if (keep)
			dims[rank++] = dim_of(1);
	infer_output(node, 0, type, rank, dims);
}

void define_reduce_mean(struct definer *definer, const struct op *op)
{
	struct arena *arena = definer->arena;
	struct definition *x = definer_in(definer, 0);
	const struct index *at[MAX_RANK], *x_at[MAX_RANK];
	int64_t extents[MAX_RANK], terms[MAX_RANK];
	bool reduced[MAX_RANK], keep = node_int(definer->node, "keepdims", 1) != 0;
	double count = 1;
	int rank = definer_shape(definer, 0, extents, at), n = 0, out = 0;
	(void)op;
	if (!axes_of(definer->node, reduced))
		node_fail(definer->node, EXIT_UNSUPPORTED, "ReduceMean: axes that are not constant are not supported");
	for (int d = 0; d < x->rank; d++) {
		if (!reduced[d]) {
			x_at[d] = at[out++];
			continue;
		}
		x_at[d] = index_var(arena, rank + n, x->extents[d]);
		count *= (double)x->extents[d];
		terms[n++] = x->extents[d];
		out += keep;
	}
	if (!n) {
		definer_out(definer, 0, x);
		return;
	}
	struct definition *sum = definer_reduction(definer, definer_name(definer, "sum"), rank, extents, REDUCE_SUM, n,
	                                           terms, NULL, expr_load(arena, x, x_at));
	definer_out_map(definer, 0,
	                expr2(definer, SCALAR_mul, expr_load(arena, sum, at), expr_number(arena, x->type, 1 / count)));
}
