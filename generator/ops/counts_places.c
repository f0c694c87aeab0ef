/* counts_places.c: dims that are bounds, in families whose indices are data, or become data: Gather, Scatter, OneHot,
 * NonZero … (counts.c). */
#include "ops/ops.h"

/* ---- indices: of what is not there, 0 ---- */
static void put_zeros(struct node *node, int i)
{
	FOR (d, node->in[i]->rank)
		if (node->in[i]->dims[d].count)
			counts_put_number(node, i, d, 0);
}

void come_gather(struct node *node) { put_zeros(node, 1); }

void go_gather(const struct node *node)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	int n = 0, axis = attribute_axis(node, x->rank);
	FOR (d, axis)
		counts_give(node, n++, x->dims[d].count);
	FOR (d, at->rank)
		counts_give(node, n++, at->dims[d].count);
	FOR_FROM (d, axis + 1, x->rank)
		counts_give(node, n++, x->dims[d].count);
}

/* Regions, and which image each is of: what lies behind them makes regions that nobody looks at, of an image that is
 * there.  Channels come along. */
void come_regions(struct node *node)
{
	const struct tensor *x = node->in[0], *regions = node->in[1], *images = node->ins > 2 ? node->in[2] : NULL;
	counts_want_padded(node, 0, 0, 1);
	counts_want_padded(node, 0, 2, x->rank);
	counts_want_padded(node, 1, 1, regions->rank);
	if (images && images->rank == 1 && regions->rank == 2 && images->dims[0].count != regions->dims[0].count)
		counts_refuse_first(node);
}

void go_regions(const struct node *node)
{
	counts_give(node, 0, node->in[1]->dims[0].count);
	counts_give(node, 1, node->in[0]->dims[1].count);
}

void come_walk_down(struct node *node) { counts_want_padded(node, 0, 1, 2); }

void come_gather_elements(struct node *node)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	int axis = attribute_axis(node, x->rank);
	FOR (d, x->rank)
		if (d != axis && x->dims[d].count != at->dims[d].count)
			counts_refuse_first(node);
	put_zeros(node, 1);
}

void go_gather_elements(const struct node *node)
{
	FOR (d, node->in[1]->rank)
		counts_give(node, d, node->in[1]->dims[d].count);
}

void come_gather_nd(struct node *node)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	if (at->rank < 1 || at->dims[at->rank - 1].count)
		counts_refuse(node, at);
	FOR (d, (int)attribute_int(node, "batch_dims"))
		if (x->dims[d].count != at->dims[d].count)
			counts_refuse_first(node);
	put_zeros(node, 1);
}

void go_gather_nd(const struct node *node)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	int n = 0;
	FOR (d, at->rank - 1)
		counts_give(node, n++, at->dims[d].count);
	FOR_FROM (d, (int)attribute_int(node, "batch_dims") + (int)at->dims[at->rank - 1].extent, x->rank)
		counts_give(node, n++, x->dims[d].count);
}

/* ---- OneHot ---- */
void come_one_hot(struct node *node)
{
	counts_want_first(node);
	put_zeros(node, 0);
}

void go_one_hot(const struct node *node)
{
	int rank = node->in[0]->rank, axis = attribute_axis(node, rank + 1);
	FOR (d, rank)
		counts_give(node, d + (d >= axis), node->in[0]->dims[d].count);
}

/* ---- Scatter: what is not there goes nowhere ---- */
static void want_equal(struct node *node, int i, int axis, const struct dim *dim)
{
	counts_agree(node, i, axis, dim->count, dim->extent);
	if (node->in[i]->dims[axis].count != dim->count)
		counts_refuse_first(node);
}

void come_scatter_elements(struct node *node)
{
	const struct tensor *x = node->in[0];
	int rank = x->rank, axis = rank < 1 ? 0 : attribute_axis(node, rank);
	for (int d = 0; d < rank && d < node->in[1]->rank; d++)
		if (d != axis && x->dims[d].count)
			want_equal(node, 1, d, &x->dims[d]);
	for (int d = 0; d < node->in[1]->rank && d < node->in[2]->rank; d++)
		want_equal(node, 2, d, &node->in[1]->dims[d]);
	put_zeros(node, 1);
}

void come_scatter_nd(struct node *node)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	int rows = at->rank - 1;
	if (rows < 0 || at->dims[rows].count)
		counts_refuse_first(node);
	FOR (d, node->in[2]->rank) {
		int own = d < rows ? -1 : d - rows + (int)at->dims[rows].extent;
		if (d < rows || own < x->rank)
			want_equal(node, 2, d, d < rows ? &at->dims[d] : &x->dims[own]);
	}
	put_zeros(node, 1);
}

void come_tensor_scatter(struct node *node)
{
	const struct tensor *x = node->in[0];
	int axis = x->rank < 1 ? 0 : attribute_axis(node, x->rank);
	for (int d = 0; d < x->rank && d < node->in[1]->rank; d++)
		if (d != axis)
			want_equal(node, 1, d, &x->dims[d]);
	if (!node_in(node, 2) || node->in[2]->rank != 1)
		return;
	want_equal(node, 2, 0, &x->dims[0]);
	put_zeros(node, 2);
}

/* ---- GridSample: a place outside of what is there is padded ---- */
void come_grid_sample(struct node *node)
{
	const struct tensor *x = node->in[0], *grid = node->in[1];
	if (x->rank < 1 || grid->rank < 1)
		return;
	want_equal(node, 1, 0, &x->dims[0]);
	counts_want_padded(node, 1, grid->rank - 1, grid->rank);
}

/* ---- ReverseSequence: what is behind a length stays where it is, be it there or not ---- */
void come_reverse_sequence(struct node *node)
{
	const struct tensor *x = node->in[0];
	if (x->rank > 1 && node->in[1]->rank == 1)
		want_equal(node, 1, 0, &x->dims[node_axis(node, attribute_int(node, "batch_axis"), x->rank)]);
	put_zeros(node, 1);
}

/* ---- what data choose: nothing of what is not there ---- */
void come_compress(struct node *node)
{
	const struct tensor *x = node->in[0], *condition = node->in[1];
	if (condition->rank != 1)
		return;
	if (node_attribute(node, "axis")) {
		const struct dim *dim = &x->dims[attribute_axis(node, x->rank)];
		if (dim->count)
			want_equal(node, 1, 0, dim);
	} else if (tensor_counted(x)
	        && !(tensor_lies_in_bounds(x)
	                && size_equal(counts_elements(node, x, 0, x->rank), size_of_dim(node, &condition->dims[0])))) {
		counts_refuse(node, x);
	}
	put_zeros(node, 1);
}

void come_non_zero(struct node *node) { put_zeros(node, 0); }
