/* norm.c: BatchNormalization (with given statistics, or in training with those of the batch), LayerNormalization, LRN.
 */
#include "ops/words.h"

/* ---- BatchNormalization: x * factor[c] + offset[c] ---- */
bool batch_normalization_trains(const struct node *node)
{
	if (node->since >= 14)
		return attribute_int(node, "training_mode") != 0;
	return node->since < 7 && !attribute_int(node, "is_test");
}

void infer_batch_normalization(struct node *node)
{
	static const char *const names[] = { "data", "scale", "bias", "mean", "variance" };
	const struct tensor *x = node->in[0];
	UNSUPPORTED_IF(node->since < 9 && !attribute_int(node, "spatial"), " with spatial = 0 is not supported");
	UNSUPPORTED_IF(batch_normalization_trains(node) && node->since < 14,
	        " of opset %d in training is not supported", node->since);
	for (int i = 1; node->outs > 1 && !batch_normalization_trains(node) && i < node->outs; i++)
		UNSUPPORTED_IF(node_has_out(node, i), "output %d exists only in training", i);
	FOR_FROM (i, 1, 5) {
		const struct tensor *tensor = node->in[i];
		INVALID_IF(tensor->rank >= 0 && tensor->rank != 1, "%s has %d dimensions, 1 is right", names[i],
		        tensor->rank);
		INVALID_IF(x->rank >= 2 && tensor->rank == 1 && dims_differ(tensor->dims[0], x->dims[1]),
		        "%s has %" PRId64 " channels, data has %" PRId64, names[i], tensor->dims[0].extent,
		        x->dims[1].extent);
	}
	INVALID_IF(x->rank == 0, "data is a scalar");
	infer_output_like(node, 0, x);
	FOR_FROM (i, 1, node->outs)
		if (node_has_out(node, i))
			infer_output_like(node, i, node->in[i + 2]);
}

/* The statistic in the type of the data. */
static expr_ref statistic(struct definer *definer, int i, enum dtype type, const index_ref *c)
{
	return CAST(type, LOAD(IN(i), c));
}

struct statistics {
	struct definition *mean, *variance;
};

/* Of the batch: over all but the channels. */
static struct statistics batch_statistics(struct definer *definer, struct definition *x)
{
	index_ref at[MAX_RANK], c = VAR(0, x->extents[1]);
	int64_t terms[MAX_RANK];
	double count = 1;
	int n = 0;
	struct statistics is;
	FOR (d, x->rank) {
		at[d] = d == 1 ? c : VAR(1 + n, x->extents[d]);
		if (d != 1) {
			count *= (double)x->extents[d];
			terms[n++] = x->extents[d];
		}
	}
	expr_ref each = LIKE(x, 1 / count);
	struct definition *sum = REDUCTION("sum", 1, &x->extents[1], REDUCE_SUM, n, terms, NULL, LOAD(x, at));
	is.mean = PART("mean", 1, &x->extents[1], MUL(LOAD(sum, &c), each));
	expr_ref d = SUB(LOAD(x, at), LOAD(is.mean, &c));
	struct definition *squares = REDUCTION("squares", 1, &x->extents[1], REDUCE_SUM, n, terms, NULL, MUL(d, d));
	is.variance = PART("variance", 1, &x->extents[1], MUL(LOAD(squares, &c), each));
	return is;
}

void define_batch_normalization(struct definer *definer)
{
	struct definition *x = IN(0);
	enum dtype type = x->type;
	int64_t channels = x->rank > 1 ? x->extents[1] : 1;
	SHAPE(0, rank, extents, at);
	index_ref c = VAR(0, channels), own = rank > 1 ? at[1] : CONSTANT(0);
	expr_ref mean = statistic(definer, 3, type, &c), variance = statistic(definer, 4, type, &c);
	if (batch_normalization_trains(NODE)) {
		/* running = running * momentum + batch * (1 - momentum) */
		float momentum = attribute_float(NODE, "momentum");
		struct statistics is = batch_statistics(definer, x);
		struct definition *const batch[2] = { is.mean, is.variance };
		FOR (i, 2) {
			struct definition *running = IN(3 + i);
			expr_ref fresh = CAST(running->type, LOAD(batch[i], &c));
			OUT(1 + i,
			        FMA(LOAD(running, &c), LIKE(running, momentum),
			                MUL(fresh, LIKE(running, 1 - momentum))));
		}
		mean = LOAD(is.mean, &c);
		variance = LOAD(is.variance, &c);
	}
	expr_ref epsilon = NUMBER(type, attribute_float(NODE, "epsilon"));
	struct definition *factor = PART("factor", 1, &channels,
	        DIV(statistic(definer, 1, type, &c), expr1(definer, SCALAR_sqrt, ADD(variance, epsilon))));
	struct definition *offset = PART("offset", 1, &channels,
	        FMA(expr1(definer, SCALAR_neg, mean), LOAD(factor, &c), statistic(definer, 2, type, &c)));
	OUT(0, FMA(LOAD(x, at), LOAD(factor, &own), LOAD(offset, &own)));
}

/* ---- LayerNormalization: two passes over the dimensions from `axis` on ---- */
void infer_layer_normalization(struct node *node)
{
	struct dim dims[MAX_RANK];
	const struct tensor *x = node->in[0];
	UNSUPPORTED_IF(attribute_int(node, "stash_type") != DTYPE_F32, "only stash_type = 1 (float) is supported");
	infer_output_like(node, 0, x);
	if (x->rank < 0)
		return;
	int axis = attribute_axis(node, x->rank);
	FOR_FROM (i, 1, 3) {
		const struct tensor *tensor = node_in(node, i);
		if (!tensor || tensor->rank < 0)
			continue;
		struct tensor *const both[2] = { node->in[0], node->in[i] };
		int rank = infer_broadcast(node, 2, both, dims);
		INVALID_IF(rank > x->rank, "input %d has %d dimensions, data has %d", i, tensor->rank, x->rank);
		FOR (d, rank)
			INVALID_IF(dims_differ(x->dims[d], dims[d]), "input %d does not broadcast to the data", i);
	}
	FOR (d, x->rank)
		dims[d] = d < axis ? x->dims[d] : dim_of(1);
	infer_output(node, 1, DTYPE_F32, x->rank, dims);
	infer_output(node, 2, DTYPE_F32, x->rank, dims);
}

void define_layer_normalization(struct definer *definer)
{
	struct definition *x = IN(0), *scale = IN(1), *bias = IN(2);
	index_ref term_at[MAX_RANK];
	int64_t row_extents[MAX_RANK], terms[MAX_RANK];
	SHAPE(0, rank, extents, at);
	int axis = attribute_axis(NODE, rank);
	double count = 1;
	FOR (d, rank) {
		row_extents[d] = d < axis ? extents[d] : 1;
		term_at[d] = d < axis ? at[d] : VAR(rank + d - axis, extents[d]);
		if (d >= axis) {
			terms[d - axis] = extents[d];
			count *= (double)extents[d];
		}
	}
	expr_ref each = LIKE(x, 1 / count);
	struct definition *sum =
	        REDUCTION("sum", rank, row_extents, REDUCE_SUM, rank - axis, terms, NULL, LOAD(x, term_at));
	struct definition *mean = PART("mean", rank, row_extents, MUL(BROADCAST(sum, rank, at), each));
	struct definition *centred = PART("centred", rank, extents, SUB(LOAD(x, at), BROADCAST(mean, rank, at)));
	expr_ref d = LOAD(centred, term_at);
	struct definition *squares =
	        REDUCTION("squares", rank, row_extents, REDUCE_SUM, rank - axis, terms, NULL, MUL(d, d));
	expr_ref variance = FMA(BROADCAST(squares, rank, at), each, LIKE(x, attribute_float(NODE, "epsilon")));
	struct definition *inverse =
	        PART("inverse", rank, row_extents, DIV(LIKE(x, 1), expr1(definer, SCALAR_sqrt, variance)));
	expr_ref normal = MUL(LOAD(centred, at), BROADCAST(inverse, rank, at));
	expr_ref factor = BROADCAST(scale, rank, at);
	OUT(0, bias ? FMA(normal, factor, BROADCAST(bias, rank, at)) : MUL(normal, factor));
	FOR_FROM (i, 1, 3) { /* in the type of `stash_type`, whatever the data's */
		struct definition *row = i == 1 ? mean : inverse;
		if (row->type == DTYPE_F32)
			GIVE(i, row);
		else
			OUT(i, CAST(DTYPE_F32, BROADCAST(row, rank, at)));
	}
}

/* ---- LRN: x / (bias + alpha / size * squares of neighbouring channels) ^ beta ---- */
enum { LRN_SIZE_MOST = 1 << 30 };

static int64_t lrn_size(const struct node *node)
{
	INVALID_IF(!node_attribute(node, "size"), " lacks size");
	int64_t size = node_int(node, "size", 0);
	INVALID_IF(size < 1 || size > LRN_SIZE_MOST, "size is %" PRId64 ", at least 1 is right", size);
	return size;
}

void infer_lrn(struct node *node)
{
	lrn_size(node);
	INVALID_IF(node->in[0]->rank >= 0 && node->in[0]->rank < 2, "data has %d dimensions, at least 2 are right",
	        node->in[0]->rank);
	infer_output_like(node, 0, node->in[0]);
}

void define_lrn(struct definer *definer)
{
	struct definition *x = IN(0);
	index_ref x_at[MAX_RANK];
	int64_t size = lrn_size(NODE), channels = x->extents[1];
	SHAPE(0, rank, extents, at);
	int64_t before = (size - 1) / 2, after = size - 1 - before;
	before = before < channels ? before : channels; /* what lies further away is outside for each */
	after = after < channels ? after : channels;
	int64_t terms = before + after + 1;
	memcpy(x_at, at, sizeof x_at);
	x_at[1] = PLUS(SUM(at[1], VAR(rank, terms)), -before);
	expr_ref near = SELECT(&(struct range){ x_at[1], 0, channels }, 1, LOAD(x, x_at), LIKE(x, 0));
	struct definition *squares = REDUCTION("squares", rank, extents, REDUCE_SUM, 1, &terms, NULL, MUL(near, near));
	expr_ref sum = FMA(LIKE(x, (double)attribute_float(NODE, "alpha") / (double)size), LOAD(squares, at),
	        LIKE(x, (double)attribute_float(NODE, "bias")));
	double beta = (double)attribute_float(NODE, "beta");
	expr_ref power = power_of(definer, sum, beta);
	if (!power)
		power = expr2(definer, SCALAR_pow, sum, LIKE(x, beta));
	OUT(0, DIV(LOAD(x, at), power));
}
