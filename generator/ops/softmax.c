/* softmax.c: Softmax: the largest of a row, e^(x - largest), their sum, its reciprocal, the product.  Up to opset 12 a
 * row is all dimensions from `axis` on; later it is the one dimension.  A row of -inf alone gives NaN, and 0 by ingot's
 * own Softmax: of attention, whose masks may leave a row nothing. */
#include "ops/words.h"
#include <float.h>

static void row_of(const struct node *node, int *from, int *to)
{
	int rank = node->in[0]->rank;
	bool tail = node->since < 13;
	*from = attribute_axis(node, rank);
	*to = tail ? rank : *from + 1;
}

void infer_softmax(struct node *node)
{
	int from, to;
	infer_least(node, 1);
	if (node->in[0]->rank > 1 || (node->in[0]->rank >= 0 && node->since >= 13))
		row_of(node, &from, &to);
	infer_output_like(node, 0, node->in[0]);
}

/* Behind the count there is -inf (counts_sums.c), so nothing for the largest, and 0 for the sum. */
static void ends_at_count(struct definer *definer, struct definition *row, int from, int to)
{
	if (to == from + 1 && row->reduced)
		row->count.reduced[0] = definer_count(definer, NODE->in[0]->dims[from].count);
}

static void define_either(struct definer *definer, bool logarithm, bool masked)
{
	struct definition *x = IN(0);
	index_ref term_at[MAX_RANK];
	int64_t row_extents[MAX_RANK], terms[MAX_RANK];
	SHAPE(0, rank, extents, at);
	int from = 0, to = x->rank;
	if (rank > 1 || NODE->since >= 13)
		row_of(NODE, &from, &to);
	FOR (d, rank) {
		bool inside = from <= d && d < to;
		row_extents[d] = inside ? 1 : extents[d];
		term_at[d] = inside ? VAR(rank + d - from, extents[d]) : at[d];
		if (inside)
			terms[d - from] = extents[d];
	}
	struct definition *largest =
	        REDUCTION("max", rank, row_extents, REDUCE_MAX, to - from, terms, NULL, LOAD(x, term_at));
	ends_at_count(definer, largest, from, to);
	if (masked)
		largest = PART("least", rank, row_extents,
		        MAX(BROADCAST(largest, rank, at), LIKE(x, x->type == DTYPE_F64 ? -DBL_MAX : -FLT_MAX)));
	struct definition *power = PART(
	        "exp", rank, extents, expr1(definer, SCALAR_exp_below, SUB(LOAD(x, at), BROADCAST(largest, rank, at))));
	struct definition *sum =
	        REDUCTION("sum", rank, row_extents, REDUCE_SUM, to - from, terms, NULL, LOAD(power, term_at));
	ends_at_count(definer, sum, from, to);
	if (logarithm) { /* what is taken off a row, at once: its sum is from 1 up */
		struct definition *off =
		        PART("log", rank, row_extents, expr1(definer, SCALAR_log, BROADCAST(sum, rank, at)));
		OUT(0, SUB(SUB(LOAD(x, at), BROADCAST(largest, rank, at)), BROADCAST(off, rank, at)));
		return;
	}
	expr_ref one = LIKE(x, 1), divisor = BROADCAST(sum, rank, at);
	if (masked) /* from 1 up, or 0 */
		divisor = MAX(divisor, one);
	struct definition *scale = PART("scale", rank, row_extents, DIV(one, divisor));
	OUT(0, MUL(LOAD(power, at), BROADCAST(scale, rank, at)));
}

void define_softmax(struct definer *definer) { define_either(definer, false, *NODE->domain); }

void infer_log_softmax(struct node *node) { infer_softmax(node); }
void define_log_softmax(struct definer *definer) { define_either(definer, true, false); }
