/* counts_sums.c: dims that are bounds, in families that sum or go along an axis: what is not there says nothing
 * (counts.c). */
#include "ops/ops.h"
#include <math.h>

/* A product of matrices: rows of a, columns of b; of terms that are not there, both are 0. */
void go_matmul(const struct node *node)
{
	const struct tensor *a = node->in[0], *b = node->in[1], *out = node->out[0];
	int batch = out->rank - (a->rank > 1) - (b->rank > 1);
	if (a->rank < 2 || b->rank < 2)
		counts_refuse_first(node);
	counts_broadcast(node, 2, batch, 2);
	counts_give(node, batch, a->dims[a->rank - 2].count);
	counts_give(node, batch + 1, b->dims[b->rank - 1].count);
}

void come_matmul(struct node *node)
{
	const struct tensor *a = node->in[0], *b = node->in[1];
	if (a->rank < 2 || b->rank < 2)
		counts_refuse_first(node);
	int k = a->rank - 1, l = b->rank - 2;
	counts_agree(node, 1, l, a->dims[k].count, a->dims[k].extent);
	b = node->in[1];
	if (a->dims[k].count != b->dims[l].count)
		counts_refuse_first(node);
	if (!a->dims[k].count)
		return;
	const struct node *made = a->producer; /* a softmax has put 0 there */
	if (made && op_of(made)->infer == infer_softmax && counts_are_put(made->in[0], k))
		node->in[0]->is_whole = true;
	else
		counts_put_number(node, 0, k, 0);
	counts_put_number(node, 1, l, 0);
}

void come_matmul_integer(struct node *node)
{
	const struct tensor *a = node->in[0], *b = node->in[1];
	if (a->rank < 2 || b->rank < 2 || a->dims[a->rank - 1].count || b->dims[b->rank - 2].count
	        || tensor_counted(node_in(node, 2)) || tensor_counted(node_in(node, 3)))
		counts_refuse_first(node);
}

/* A spectrum along an axis that is whole; the last one holds the parts of numbers. */
void come_dft(struct node *node)
{
	int axis = dft_axis(node), rank = node->in[0]->rank;
	counts_want_padded(node, 0, axis < 0 ? 0 : axis, axis < 0 ? rank : axis + 1);
	counts_want_padded(node, 0, rank - 1, rank);
}

/* ---- Gemm ---- */
void come_gemm(struct node *node)
{
	const struct tensor *a = node->in[0], *b = node->in[1], *c = node_in(node, 2);
	int a_terms = !attribute_int(node, "transA"), b_terms = attribute_int(node, "transB") != 0;
	const struct dim *made[2] = { &a->dims[!a_terms], &b->dims[!b_terms] };
	if (a->rank != 2 || b->rank != 2 || a->dims[a_terms].count != b->dims[b_terms].count)
		counts_refuse_first(node);
	FOR_WHILE (d, c, c->rank) {
		const struct dim *dim = made[2 - c->rank + d];
		if (c->dims[d].count != dim->count && (c->dims[d].count || c->dims[d].extent != 1))
			counts_refuse_first(node);
	}
	if (a->dims[a_terms].count) {
		counts_put_number(node, 0, a_terms, 0);
		counts_put_number(node, 1, b_terms, 0);
	}
}

/* ---- quantised numbers: of one scale, or one for each place of an axis that is whole ---- */
void come_scaled(struct node *node)
{
	const struct tensor *x = node->in[0], *scale = node->in[1];
	counts_want_first(node);
	if (!tensor_is_scalar_like(scale)
	        && (attribute_int(node, "block_size") || x->dims[attribute_axis(node, x->rank)].count))
		counts_refuse(node, x);
}

/* ---- Einsum: of labels that are summed, what is not there is 0 ---- */
void come_einsum(struct node *node)
{
	int labels[MAX_RANK], rank;
	FOR (i, node->ins) {
		rank = einsum_labels(node, i, labels);
		FOR (d, rank) {
			if (!einsum_agrees(node, labels[d]))
				counts_refuse_first(node);
			if (node->in[i]->dims[d].count && !einsum_keeps(node, labels[d]))
				counts_put_number(node, i, d, 0);
		}
	}
}

void go_einsum(const struct node *node)
{
	int labels[MAX_RANK], rank = einsum_labels(node, -1, labels);
	FOR (d, rank)
		counts_give(node, d, einsum_count(node, labels[d]));
}

/* ---- recurrences: sequences end where their steps do ---- */
void come_recurrent(struct node *node)
{
	struct arena *arena = node_arena(node);
	const struct tensor *x = node->in[0];
	int first = attribute_int(node, "layout") != 0;
	struct tensor *lengths = node_in(node, 4), *steps = x->rank == 3 ? x->dims[first].count : NULL,
	              *batch = x->rank == 3 ? x->dims[!first].count : NULL;
	FOR (i, node->ins)
		FOR_WHILE (d, node->in[i], node->in[i]->rank) {
			bool is_batch = i == 4 || ((i == 0 || i == 5 || i == 6) && d == !first);
			struct tensor *count = node->in[i]->dims[d].count;
			if (count != (is_batch ? batch : NULL) && !(i == 0 && d == first))
				counts_refuse_first(node);
		}
	if (x->rank != 3 || x->dims[2].count)
		counts_refuse(node, x);
	if (!steps || (lengths && lengths->producer && !strcmp(lengths->producer->type, "Lengths")))
		return;
	struct tensor **in = arena_new_array(arena, struct tensor *, node->ins + 5);
	COPY(in, node->in, node->ins);
	in[4] = size_made(node, "Lengths", (int)x->dims[!first].extent, 1 + (lengths != NULL),
	        (struct tensor *[]){ steps, lengths });
	node->in = in;
	node->ins = node->ins < 5 ? 5 : node->ins;
}

/* ---- along an axis ---- */
void come_softmax(struct node *node)
{
	const struct tensor *x = node->in[0];
	int axis = attribute_axis(node, x->rank);
	if (node->since < 13 && !*node->domain && axis != x->rank - 1)
		counts_want_padded(node, 0, axis, x->rank);
	if (x->dims[axis].count)
		counts_put_number(node, 0, axis, -INFINITY);
}

void come_layer_normalization(struct node *node)
{
	FOR (i, node->ins)
		if (node->in[i])
			counts_want_padded(node, i, i ? 0 : attribute_axis(node, node->in[0]->rank), node->in[i]->rank);
}

void come_lrn(struct node *node) { counts_want_padded(node, 0, 1, 2); }

void come_batch_normalization(struct node *node)
{
	counts_want_first(node);
	counts_want_padded(node, 0, 1, node->in[0]->rank > 1 ? 2 : 1);
	if (batch_normalization_trains(node))
		counts_refuse(node, node->in[0]);
}

void come_dropout(struct node *node)
{
	counts_want_first(node);
	if (dropout_trains(node))
		counts_refuse(node, node->in[0]);
}

/* ---- reductions: their definitions put what changes no result in the place of what is not there ---- */
void come_reduce(struct node *node)
{
	bool reduced[MAX_RANK];
	counts_want_first(node);
	if (!reduced_axes(node, reduced))
		counts_refuse(node, node->in[0]);
}

void go_reduce(const struct node *node)
{
	const struct tensor *x = node->in[0];
	bool reduced[MAX_RANK], keep = node_int(node, "keepdims", 1) != 0;
	int out = 0;
	reduced_axes(node, reduced);
	FOR (d, x->rank)
		if (!reduced[d] || keep)
			counts_give(node, out++, reduced[d] ? NULL : x->dims[d].count);
}
