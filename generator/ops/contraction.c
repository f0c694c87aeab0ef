/* contraction.c: sums of products: Conv, MatMul, Gemm.  The order of a sum's terms is part of its meaning: ascending k;
 * for a convolution kh, kw, then the channel. */
#include "ops/ops.h"
#include <inttypes.h>

/* ---- Conv ---- */
struct convolution { struct window window; int64_t group; };

static void convolution_of(const struct node *node, struct convolution *conv)
{
	const struct tensor *x = node->in[0], *w = node->in[1];
	int64_t kernel[MAX_RANK];
	if (w->rank != x->rank)
		node_fail(node, EXIT_INVALID, "Conv: data has %d dimensions, the weights have %d", x->rank, w->rank);
	for (int d = 2; d < w->rank; d++)
		kernel[d - 2] = w->dims[d].extent;
	window_of(node, x, kernel, &conv->window);
	conv->group = node_int(node, "group", 1);
	if (conv->group < 1)
		node_fail(node, EXIT_INVALID, "Conv: group is %" PRId64 ", at least 1 is right", conv->group);
	int64_t channels = x->dims[1].extent, outs = w->dims[0].extent, each = w->dims[1].extent;
	if (outs >= 0 && outs % conv->group)
		node_fail(node, EXIT_INVALID, "Conv: %" PRId64 " output channels do not divide into %" PRId64 " groups",
		          outs, conv->group);
	if (channels >= 0 && each >= 0 && (channels % conv->group || channels / conv->group != each))
		node_fail(node, EXIT_INVALID, "Conv: the weights have %" PRId64 " input channels in each of %" PRId64
			" groups, data has %" PRId64 " in all", each, conv->group, channels);
}

static void infer_bias(const struct node *node, int i, struct dim outs)
{
	const struct tensor *bias = node_in(node, i);
	if (bias && bias->rank >= 0 && (bias->rank != 1
		|| (dim_is_known(outs) && dim_is_known(bias->dims[0]) && bias->dims[0].extent != outs.extent)))
		node_fail(node, EXIT_INVALID,
		          "%s: the bias has %d dimensions of %" PRId64 ", one of %" PRId64 " is right", node->type,
		          bias->rank, bias->rank ? bias->dims[0].extent : 0, outs.extent);
}

void infer_convolution(struct node *node, const struct op *op)
{
	struct convolution conv;
	struct dim dims[MAX_RANK];
	(void)op;
	infer_counts(node, 2, 3, 1);
	enum dtype type = infer_float_type(node, 0);
	infer_same_type(node, 1, type);
	infer_same_type(node, 2, type);
	if (node->in[0]->rank < 0 || node->in[1]->rank < 0) {
		infer_output_unknown(node, 0, type);
		return;
	}
	convolution_of(node, &conv);
	dims[0] = node->in[0]->dims[0];
	dims[1] = node->in[1]->dims[0];
	for (int d = 0; d < conv.window.count; d++)
		dims[2 + d] = dim_of(conv.window.out[d]);
	infer_bias(node, 2, dims[1]);
	infer_output(node, 0, type, node->in[0]->rank, dims);
}

void define_convolution(struct definer *definer, const struct op *op)
{
	struct arena *arena = definer->arena;
	struct convolution conv;
	struct definition *x = definer_in(definer, 0), *w = definer_in(definer, 1), *bias = definer_in(definer, 2);
	const struct index *at[MAX_RANK], *x_at[MAX_RANK], *w_at[MAX_RANK];
	int64_t extents[MAX_RANK], reduced[MAX_RANK];
	(void)op;
	convolution_of(definer->node, &conv);
	int rank = definer_shape(definer, 0, extents, at), count = conv.window.count;
	for (int d = 0; d < count; d++)
		reduced[d] = conv.window.kernel[d];
	reduced[count] = w->extents[1];
	const struct index *channel = index_var(arena, rank + count, reduced[count]);
	w_at[0] = at[1];
	w_at[1] = channel;
	for (int d = 0; d < count; d++)
		w_at[2 + d] = index_var(arena, rank + d, reduced[d]);
	x_at[0] = at[0];
	x_at[1] = channel;
	if (conv.group > 1 && extents[1])
		x_at[1] =
		        index_add(arena, channel,
		                  index_scale(arena, index_div(arena, at[1], extents[1] / conv.group), reduced[count]));
	const struct expr *data = window_load(definer, &conv.window, x, x_at, 2, rank, expr_number(arena, x->type, 0));
	const struct expr *start = bias ? expr_load(arena, bias, &at[1]) : NULL;
	definer_out(definer, 0,
	            definer_reduction(definer, definer->node->out[0]->name, rank, extents, REDUCE_SUM, count + 1,
	                              reduced, start, expr2(definer, SCALAR_mul, data, expr_load(arena, w, w_at))));
}

/* ---- MatMul: NumPy's, a vector is a row on the left, a column on the right ---- */
struct matmul { int a_batch, b_batch, batch; bool a_vector, b_vector; };

static struct matmul matmul_of(int a_rank, int b_rank)
{
	struct matmul m = { .a_vector = a_rank == 1, .b_vector = b_rank == 1 };
	m.a_batch = a_rank > 2 ? a_rank - 2 : 0;
	m.b_batch = b_rank > 2 ? b_rank - 2 : 0;
	m.batch = m.a_batch > m.b_batch ? m.a_batch : m.b_batch;
	return m;
}

void infer_matmul(struct node *node, const struct op *op)
{
	struct dim dims[MAX_RANK];
	struct tensor batch[2] = { { 0 }, { 0 } }, *const both[2] = { &batch[0], &batch[1] };
	infer_counts(node, 2, *op->domain ? 3 : 2, 1);
	enum dtype type = infer_number_type(node, 0);
	infer_number_type(node, 1);
	infer_same_type(node, 1, type);
	infer_same_type(node, 2, type);
	const struct tensor *a = node->in[0], *b = node->in[1];
	if (a->rank < 0 || b->rank < 0) {
		infer_output_unknown(node, 0, type);
		return;
	}
	if (a->rank == 0 || b->rank == 0)
		node_fail(node, EXIT_INVALID, "MatMul: a scalar is no matrix");
	struct matmul m = matmul_of(a->rank, b->rank);
	struct dim k = a->dims[a->rank - 1], l = b->dims[m.b_vector ? 0 : b->rank - 2];
	if (dim_is_known(k) && dim_is_known(l) && k.extent != l.extent)
		node_fail(node, EXIT_INVALID, "MatMul: rows of %" PRId64 " against columns of %" PRId64, k.extent,
		          l.extent);
	for (int d = 0; d < (batch[0].rank = m.a_batch); d++)
		batch[0].dims[d] = a->dims[d];
	for (int d = 0; d < (batch[1].rank = m.b_batch); d++)
		batch[1].dims[d] = b->dims[d];
	int rank = infer_broadcast(node, 2, both, dims);
	if (!m.a_vector)
		dims[rank++] = a->dims[a->rank - 2];
	if (!m.b_vector)
		dims[rank++] = b->dims[b->rank - 1];
	if (node_in(node, 2) && m.b_vector)
		node_fail(node, EXIT_INVALID, "MatMul: a bias needs columns");
	infer_bias(node, 2, b->dims[b->rank - 1]);
	infer_output(node, 0, type, rank, dims);
}

void define_matmul(struct definer *definer, const struct op *op)
{
	struct arena *arena = definer->arena;
	struct definition *a = definer_in(definer, 0), *b = definer_in(definer, 1), *bias = definer_in(definer, 2);
	struct matmul m = matmul_of(a->rank, b->rank);
	const struct index *at[MAX_RANK], *a_at[MAX_RANK], *b_at[MAX_RANK];
	int64_t extents[MAX_RANK], terms = a->extents[a->rank - 1];
	(void)op;
	int rank = definer_shape(definer, 0, extents, at);
	const struct index *k = index_var(arena, rank, terms);
	for (int d = 0; d < m.a_batch; d++)
		a_at[d] = at[m.batch - m.a_batch + d];
	for (int d = 0; d < m.b_batch; d++)
		b_at[d] = at[m.batch - m.b_batch + d];
	if (!m.a_vector)
		a_at[a->rank - 2] = at[m.batch];
	a_at[a->rank - 1] = b_at[m.b_vector ? 0 : b->rank - 2] = k;
	if (!m.b_vector)
		b_at[b->rank - 1] = at[rank - 1];
	const struct expr *start = bias ? expr_load(arena, bias, &at[rank - 1]) : NULL;
	definer_out(definer, 0,
	            definer_reduction(definer, definer->node->out[0]->name, rank, extents, REDUCE_SUM, 1, &terms, start,
	                              expr2(definer, SCALAR_mul, definer_load(definer, a, a->rank, a_at),
	                                    definer_load(definer, b, b->rank, b_at))));
}

/* ---- Gemm: alpha A' B' + beta C ---- */
void infer_gemm(struct node *node, const struct op *op)
{
	(void)op;
	infer_counts(node, node->since < 11 ? 3 : 2, 3, 1);
	enum dtype type = infer_number_type(node, 0);
	infer_same_type(node, 1, type);
	infer_same_type(node, 2, type);
	const struct tensor *a = node->in[0], *b = node->in[1], *c = node_in(node, 2);
	bool a_turned = node_int(node, "transA", 0) != 0, b_turned = node_int(node, "transB", 0) != 0;
	if ((a->rank >= 0 && a->rank != 2) || (b->rank >= 0 && b->rank != 2))
		node_fail(node, EXIT_INVALID, "Gemm: A has %d dimensions, B has %d, 2 are right", a->rank, b->rank);
	struct dim m = a->rank == 2 ? a->dims[a_turned] : dim_unknown,
	           k = a->rank == 2 ? a->dims[!a_turned] : dim_unknown;
	struct dim l = b->rank == 2 ? b->dims[b_turned] : dim_unknown,
	           n = b->rank == 2 ? b->dims[!b_turned] : dim_unknown;
	if (dim_is_known(k) && dim_is_known(l) && k.extent != l.extent)
		node_fail(node, EXIT_INVALID, "Gemm: rows of %" PRId64 " against columns of %" PRId64, k.extent,
		          l.extent);
	struct dim dims[2] = { m, n };
	if (c && c->rank > 2)
		node_fail(node, EXIT_INVALID, "Gemm: C has %d dimensions, at most 2 are right", c->rank);
	for (int d = 0; c && d < c->rank; d++) {
		struct dim want = dims[2 - c->rank + d];
		if (dim_is_known(want) && dim_is_known(c->dims[d]) && c->dims[d].extent != want.extent &&
		    c->dims[d].extent != 1)
			node_fail(node, EXIT_INVALID, "Gemm: C has %" PRId64 " where %" PRId64 " or 1 is right",
			          c->dims[d].extent, want.extent);
	}
	infer_output(node, 0, type, 2, dims);
}

void define_gemm(struct definer *definer, const struct op *op)
{
	struct arena *arena = definer->arena;
	const struct node *node = definer->node;
	struct definition *a = definer_in(definer, 0), *b = definer_in(definer, 1), *c = definer_in(definer, 2);
	double alpha = node_float(node, "alpha", 1), beta = node_float(node, "beta", 1);
	bool a_turned = node_int(node, "transA", 0) != 0, b_turned = node_int(node, "transB", 0) != 0;
	const struct index *at[MAX_RANK];
	int64_t extents[MAX_RANK], terms = a->extents[!a_turned];
	(void)op;
	int rank = definer_shape(definer, 0, extents, at);
	const struct index *k = index_var(arena, rank, terms);
	const struct index *a_at[2] = {a_turned ? k : at[0], a_turned ? at[0] : k},
	                   *b_at[2] = {b_turned ? at[1] : k, b_turned ? k : at[1]};
	const struct expr *start = NULL;
	if (c && beta != 0) {
		start = definer_load(definer, c, rank, at);
		if (beta != 1)
			start = expr2(definer, SCALAR_mul, expr_number(arena, c->type, beta), start);
	}
	const struct expr *product = expr2(definer, SCALAR_mul, expr_load(arena, a, a_at), expr_load(arena, b, b_at));
	const char *name = node->out[0]->name;
	struct definition *sum = definer_reduction(definer, alpha == 1 ? name : definer_name(definer, "product"), rank,
	                                           extents, REDUCE_SUM, 1, &terms, alpha == 1 ? start : NULL, product);
	if (alpha == 1) {
		definer_out(definer, 0, sum);
		return;
	}
	const struct expr *y = expr_load(arena, sum, at), *factor = expr_number(arena, a->type, alpha);
	bool is_float = dtypes[a->type].class == CLASS_FLOAT;
	if (!start)
		y = expr2(definer, SCALAR_mul, factor, y);
	else if (is_float)
		y = expr3(definer, SCALAR_fma, factor, y, start);
	else
		y = expr2(definer, SCALAR_add, expr2(definer, SCALAR_mul, factor, y), start);
	definer_out_map(definer, 0, y);
}
