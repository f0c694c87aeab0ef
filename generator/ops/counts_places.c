/* counts_places.c: dims that are bounds, in families whose indices are data, or become data: Gather, OneHot, TopK … (counts.c). */
#include "ops/ops.h"

/* ---- indices: of what is not there, 0 ---- */
void counts_put_zeros(struct node *node, int i)
{
	for (int d = 0; d < node->in[i]->rank; d++)
		if (node->in[i]->dims[d].count)
			counts_put_number(node, i, d, 0);
}

void come_gather(struct node *node) { counts_put_zeros(node, 1); }

void go_gather(const struct node *node)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	int n = 0, axis = (int)node_axis(node, attribute_int(node, "axis"), x->rank);
	for (int d = 0; d < axis; d++)
		counts_give(node, n++, x->dims[d].count);
	for (int d = 0; d < at->rank; d++)
		counts_give(node, n++, at->dims[d].count);
	for (int d = axis + 1; d < x->rank; d++)
		counts_give(node, n++, x->dims[d].count);
}

void come_gather_elements(struct node *node)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	int axis = (int)node_axis(node, attribute_int(node, "axis"), x->rank);
	for (int d = 0; d < x->rank; d++)
		if (d != axis && x->dims[d].count != at->dims[d].count)
			counts_refuse(node, counts_first(node));
	counts_put_zeros(node, 1);
}

void go_gather_elements(const struct node *node)
{
	for (int d = 0; d < node->in[1]->rank; d++)
		counts_give(node, d, node->in[1]->dims[d].count);
}

void come_gather_nd(struct node *node)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	if (at->rank < 1 || at->dims[at->rank - 1].count)
		counts_refuse(node, at);
	for (int d = 0; d < (int)attribute_int(node, "batch_dims"); d++)
		if (x->dims[d].count != at->dims[d].count)
			counts_refuse(node, counts_first(node));
	counts_put_zeros(node, 1);
}

void go_gather_nd(const struct node *node)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	int n = 0;
	for (int d = 0; d < at->rank - 1; d++)
		counts_give(node, n++, at->dims[d].count);
	for (int d = (int)attribute_int(node, "batch_dims") + (int)at->dims[at->rank - 1].extent; d < x->rank; d++)
		counts_give(node, n++, x->dims[d].count);
}

/* ---- OneHot ---- */
void come_one_hot(struct node *node)
{
	counts_want_first(node);
	counts_put_zeros(node, 0);
}

void go_one_hot(const struct node *node)
{
	int rank = node->in[0]->rank, axis = (int)node_axis(node, attribute_int(node, "axis"), rank + 1);
	for (int d = 0; d < rank; d++)
		counts_give(node, d + (d >= axis), node->in[0]->dims[d].count);
}
