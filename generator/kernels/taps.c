/* taps.c: whether tiles of a convolution leave out taps that lie in the pads, for all of their rows or for some.
 *
 * Such a tap adds 0 * w, so it changes no sum but -0, to which w decides: it stays where all of the column's weights of
 * the tap have a sign, and is 0 where one has none.  Weights that are known and finite show which: where each column
 * has one without a sign in each tap, the tap is +0, added once. */
#include "kernels/kernels.h"
#include <math.h>

/* Long sums alone hide what asking takes; and a part of them has to go that is worth the code. */
enum { TERMS_LEAST = 16, PART_LEAST = 40 };

int contraction_term_of(const struct contraction *c, const struct range *pad)
{
	FOR (t, c->terms)
		if (index_uses(pad->at, c->column + 1 + t))
			return t;
	return -1;
}

/* The part of the taps of all rows that are there. */
static double part_there(const struct contraction *c, const struct range *pad, int term)
{
	int row = contraction_row(c);
	int64_t taps = c->extents[c->column + 1 + term], step = index_factor(pad->at, c->column + 1 + term),
	        each = row < 0 ? 0 : index_factor(pad->at, row), all = 0, there = 0, first, last;
	FOR (p, pad_tiles(c, pad)) {
		pad_rows(c, pad, p, &first, &last);
		for (; first <= last; first += each ? each : 1)
			for (int64_t k = 0; k < taps; k++, all++)
				there += first + step * k >= pad->from && first + step * k < pad->to;
	}
	return (double)there / (double)all;
}

/* Variables [from, to) that w uses, at round `rest` of them. */
static void place_at(const struct index *w_at, const int64_t *extents, int from, int to, int64_t rest, int64_t *at)
{
	for (int v = to; v-- > from;)
		if (index_uses(w_at, v)) {
			at[v] = rest % extents[v];
			rest /= extents[v];
		}
}
static int64_t rounds_of(const struct index *w_at, const int64_t *extents, int from, int to)
{
	int64_t rounds = 1;
	for (int v = from; v < to; v++)
		rounds *= index_uses(w_at, v) ? extents[v] : 1;
	return rounds;
}

bool zero_is_known(const struct definition *w, const struct index *w_at, const int64_t *extents, int inner, int end)
{
	const float *data = definition_data(w);
	int64_t count = definition_elements(w), at[MAX_VARS] = { 0 };
	FOR (i, count)
		if (!isfinite(data[i]))
			return false;
	int64_t taps = rounds_of(w_at, extents, 0, inner), terms = rounds_of(w_at, extents, inner, end);
	for (int64_t i = 0, k; i < taps; i++) {
		place_at(w_at, extents, 0, inner, i, at);
		for (k = 0; k < terms; k++) {
			place_at(w_at, extents, inner, end, k, at);
			if (!signbit(data[index_evaluate(w_at, at, NULL, NULL)]))
				break;
		}
		if (k == terms)
			return false;
	}
	return true;
}

void taps_choose(const struct target *target, struct contraction *c)
{
	int inner = 0; /* terms that pads run along, and those around them */
	double there = 1;
	c->taps = 0;
	if (target->options.small || target->hides_latency || c->block.warps || c->b_mode != B_PACKED
	        || c->roles.widened || !product_is_fma(c->product))
		return;
	FOR (i, c->pad_count) {
		int term = contraction_term_of(c, &c->arranged.pads[i]);
		inner = term >= inner ? term + 1 : inner;
		there *= term >= 0 ? part_there(c, &c->arranged.pads[i], term) : 1;
	}
	int64_t terms = extents_product(c->terms - inner, c->extents + c->column + 1 + inner);
	if (terms >= TERMS_LEAST && (1 - there) * PART_LEAST >= 1
	        && zero_is_known(c->b->of, c->b_at, c->extents, c->column + 1 + inner, c->column + 1 + c->terms))
		c->taps = inner;
}
