/* taps.c: whether tiles of a convolution leave out taps that lie in the pads for all of their rows.
 *
 * Such a tap adds 0 * w, so it changes no sum but -0, to which w decides: it stays where all of the column's weights of
 * the tap have a sign, and is 0 where one has none.  Weights that are known and finite show which: where each column
 * has one without a sign in each tap, the tap is +0, added once. */
#include "kernels/kernels.h"
#include <math.h>

/* Long sums alone hide what asking takes; and a part of them has to go that is worth the code. */
enum { TERMS_LEAST = 16, PART_LEAST = 32 };

/* The term along which a pad runs; -1: none. */
static int term_of(const struct contraction *c, const struct range *pad)
{
	for (int t = 0; t < c->terms; t++)
		if (index_uses(pad->at, c->column + 1 + t))
			return t;
	return -1;
}

/* The part of tiles and taps that reach beyond a pad. */
static double part_there(const struct contraction *c, const struct range *pad, int term)
{
	int64_t taps = c->extents[c->column + 1 + term], step = index_factor(pad->at, c->column + 1 + term),
	        tiles = pad_tiles(c, pad), out = 0, first, last;
	for (int64_t p = 0; p < tiles; p++) {
		pad_rows(c, pad, p, &first, &last);
		for (int64_t k = 0; k < taps; k++)
			out += first + step * k >= pad->to || last + step * k < pad->from;
	}
	return 1 - (double)out / (double)(tiles * taps);
}

/* Is there one without a sign among a column's weights of a tap? */
static bool has_plus(const struct contraction *c, const float *w, int64_t *at, int inner, int64_t terms)
{
	for (int64_t k = 0; k < terms; k++) {
		int64_t rest = k;
		for (int v = c->column + c->terms; v > c->column + inner; rest /= c->extents[v], v--)
			at[v] = rest % c->extents[v];
		if (!signbit(w[index_evaluate(c->b_at, at, NULL, NULL)]))
			return true;
	}
	return false;
}

static bool zero_is_known(const struct contraction *c, int inner, int64_t terms)
{
	const float *w = definition_data(c->b->of);
	int64_t count = definition_elements(c->b->of), others = 1, at[MAX_VARS] = { 0 };
	for (int64_t i = 0; i < count; i++)
		if (!isfinite(w[i]))
			return false;
	for (int v = 0; v <= c->column + inner; v++)
		others *= v < c->batches || v >= c->column ? c->extents[v] : 1;
	for (int64_t i = 0; i < others; i++) {
		int64_t rest = i;
		for (int v = c->column + inner; v >= 0; v--)
			if (v < c->batches || v >= c->column) {
				at[v] = rest % c->extents[v];
				rest /= c->extents[v];
			}
		if (!has_plus(c, w, at, inner, terms))
			return false;
	}
	return true;
}

void taps_choose(const struct target *target, struct contraction *c)
{
	int inner = 0; /* terms that pads run along, and those around them */
	int64_t terms = 1;
	double there = 1;
	c->taps = 0;
	if (target->small || target->hides_latency || c->warps || c->b_mode != B_PACKED || c->widened
	        || !product_is_fma(c->product))
		return;
	for (int i = 0; i < c->pad_count; i++) {
		int term = term_of(c, &c->arranged_pads[i]);
		inner = term >= inner ? term + 1 : inner;
		there *= term >= 0 ? part_there(c, &c->arranged_pads[i], term) : 1;
	}
	for (int t = inner; t < c->terms; t++)
		terms *= c->extents[c->column + 1 + t];
	if (terms >= TERMS_LEAST && (1 - there) * PART_LEAST >= 1 && zero_is_known(c, inner, terms))
		c->taps = inner;
}
