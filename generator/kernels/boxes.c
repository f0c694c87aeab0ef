/* boxes.c: factors of a product that TMA brings, a box of their rows at a time: where the terms of a row (a), or of a
 * column (b), follow each other, and rows lie a pitch apart, whatever they are numbered by. */
#include "kernels/kernels.h"

enum { QUAD = 4, CHUNK = 32 };

/* Variables first … first + count - 1 as one: neighbours of the innermost lie `step` apart, all others where it ends.
 * step 0: whatever the first of them says. */
static bool follow(const struct contraction *c, const struct index *at, int first, int count, int64_t *step)
{
	int64_t next = *step;
	for (int v = first + count - 1; v >= first; v--) {
		if (c->extents[v] == 1)
			continue;
		if (!next)
			next = *step = index_factor(at, v);
		if (index_factor(at, v) != next || next <= 0)
			return false;
		next *= c->extents[v];
	}
	return true;
}

/* rows: those that a block has side by side, from this variable on.  Batches are further rows, or further terms: of
 * those a chunk must not reach into the next ones'. */
static bool find_box(const struct contraction *c, const struct index *at, int rows, int count, struct tensor_box *box)
{
	int64_t one = 1, pitch = 0, terms = contraction_depth(c), last = 0, end = terms;
	if (!index_is_affine(at) || at->constant < 0 || at->constant % QUAD
	        || !follow(c, at, c->column + 1, c->terms, &one) || !follow(c, at, rows, count, &pitch))
		return false;
	pitch = pitch ? pitch : terms;
	for (int v = 0; v <= c->column; v++) {
		int64_t factor = index_factor(at, v);
		bool along = factor % pitch != 0;
		if (factor < 0 || (along && (factor > pitch || terms % CHUNK)))
			return false;
		*(along ? &end : &last) += (along ? factor : factor / pitch) * (c->extents[v] - 1);
	}
	*box = (struct tensor_box){ at->constant, { end, last + 1 }, pitch };
	return pitch >= end && pitch % QUAD == 0 && end <= INT32_MAX && last < INT32_MAX;
}

/* Packed columns of all batches follow each other. */
static struct tensor_box packed_box(const struct contraction *c, int lanes)
{
	int64_t terms = contraction_depth(c),
	        columns = extents_product(c->batches, c->extents) * ceil_div(c->extents[c->column], lanes) * lanes;
	return (struct tensor_box){ 0, { terms, columns }, terms };
}

bool find_boxes(const struct target *target, const struct contraction *c, struct tensor_box *a, struct tensor_box *b)
{
	bool packed = c->b->of->source == SOURCE_CONSTANT;
	if (packed)
		*b = packed_box(c, target->lanes);
	return !target->options.pointers && !c->pad_count && find_box(c, c->a_at, c->batches, c->rows, a)
	        && (packed ? b->extent[1] <= INT32_MAX : find_box(c, c->b_at, c->column, 1, b));
}

void box_begins(struct arena *arena, const struct contraction *c, const struct tensor_box *box, bool of_b,
        const struct index **at)
{
	int64_t packed = box->extent[1];
	at[0] = at[1] = index_constant(arena, 0);
	FOR (v, c->batches) {
		packed /= of_b ? c->extents[v] : 1;
		int64_t factor =
		        of_b && c->b_mode == B_PACKED ? packed * box->pitch : index_factor(of_b ? c->b_at : c->a_at, v);
		bool row = factor % box->pitch == 0;
		at[row] = index_add(arena, at[row],
		        index_scale(arena, index_var(arena, v, c->extents[v]), row ? factor / box->pitch : factor));
	}
}
