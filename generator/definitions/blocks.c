/* blocks.c: definitions -> definitions.  A long sum of elements becomes sums of blocks of its terms, and a sum of those.
 *
 *     y = sum(k0 < 64, k1 < 112, k2 < 112) x[k0, k1, k2]
 *     b[i] = sum(k0 < 8, k1 < 112) x[i/14, 8*(i%14) + k0, k1],  y = sum(k0 < 896) b[k0]
 *
 * Threads and warps share blocks, and what rounding adds grows with a sum's length in blocks, not in terms.  Blocks are
 * rounds of one reduced axis, with all axes inside it: as many as divide it, where they are half a block at least; else
 * what is left over of all rounds is a sum of its own, which the sum of the blocks starts from.  A rule on the terms
 * alone, so that every target computes the same bits, in any batch. */
#include "definitions/definitions.h"

enum { TERMS_MOST = 4096, BLOCK_TERMS = 1024 };

/* A sum of floats that are no products of matrices: squares are elements. */
static bool is_long(const struct definition *d)
{
	return d->source == SOURCE_COMPUTED && d->reduce == REDUCE_SUM && d->order == ORDER_LANES
	        && (d->type == DTYPE_F32 || d->type == DTYPE_F64) && d->rank < MAX_RANK && definition_elements(d) > 0
	        && definition_terms(d) > TERMS_MOST
	        && (!d->sum.products || expr_equal(d->body->arg[0], d->body->arg[1]));
}

/* Rounds of an axis that make a block, each of so many terms: best of whole lanes. */
static int64_t rounds_of(int64_t extent, int64_t terms)
{
	int64_t most = BLOCK_TERMS / terms;
	for (int lanes = LANE_TERMS; lanes; lanes = lanes == 1 ? 0 : 1)
		for (int64_t rounds = most; rounds * terms * 2 >= BLOCK_TERMS; rounds--)
			if (extent % rounds == 0 && rounds * terms % lanes == 0)
				return rounds;
	return most;
}

/* The terms of d whose variable `axis` is in [from, from + rounds * blocks), for each block of the axes before it and
 * of `rounds` of its own: one output variable more; blocks of all that where `blocks` is 0. */
static struct definition *part_of(
        struct program *program, const struct definition *d, int axis, int64_t from, int64_t rounds, int64_t blocks)
{
	struct arena *arena = program->arena;
	const struct index *with[MAX_VARS] = { 0 };
	int64_t extents[MAX_RANK], terms[MAX_RANK], outer[MAX_RANK];
	int rank = d->rank + (blocks > 0), first = blocks ? axis : 0, count = d->reduced - first;
	memcpy(extents, d->extents, sizeof extents);
	memcpy(outer, d->reduced_extents, sizeof outer);
	outer[axis] = blocks;
	if (blocks) {
		int64_t all = 1;
		for (int r = 0; r <= axis; r++)
			all *= outer[r];
		extents[d->rank] = all;
		index_unflatten(arena, index_var(arena, d->rank, all), axis + 1, outer, with + d->rank);
	}
	for (int r = first; r < d->reduced; r++) {
		terms[r - first] = r == axis ? rounds : d->reduced_extents[r];
		const struct index *term = index_var(arena, rank + r - first, terms[r - first]);
		if (r != axis)
			with[d->rank + r] = term;
		else
			with[d->rank + r] = blocks
			        ? index_add(arena, index_scale(arena, with[d->rank + r], rounds), term)
			        : index_plus(arena, term, from);
	}
	struct definition *part =
	        define_reduction(program, arena_printf(arena, "%s_%s", d->name, blocks ? "blocks" : "rest"), rank,
	                extents, REDUCE_SUM, count, terms, NULL, expr_substitute(arena, d->body, with));
	if (d->reduced == 1)
		part->count.reduced[0] = d->count.reduced[0];
	keep_origin(part, d);
	mark_batch(part, d->batch);
	return part;
}

/* d becomes the sum of its blocks. */
static void block_sum(struct program *program, struct definition *d)
{
	struct arena *arena = program->arena;
	size_t before = program->all.count;
	int axis = d->reduced - 1;
	int64_t terms = 1;
	while (terms * d->reduced_extents[axis] <= BLOCK_TERMS)
		terms *= d->reduced_extents[axis--];
	int64_t extent = d->reduced_extents[axis], rounds = rounds_of(extent, terms), left = extent % rounds;
	struct definition *blocks = part_of(program, d, axis, 0, rounds, extent / rounds),
	                  *rest = left ? part_of(program, d, axis, extent - left, left, 0) : NULL;
	const struct index *at[MAX_RANK];
	index_vars(arena, at, d->rank + 1, blocks->extents);
	keep_original(arena, d);
	d->sum.products = false;
	d->batch = (1u << d->rank) - 1;
	d->reduced = 1;
	d->reduced_extents[0] = blocks->extents[d->rank];
	memset(d->count.reduced, 0, sizeof d->count.reduced);
	d->body = expr_load(arena, blocks, at);
	if (rest) {
		const struct expr *load = expr_load(arena, rest, at);
		d->start = d->start ? expr_scalar(arena, SCALAR_add, load, d->start, NULL) : load;
	}
	d->order = definition_order(d);
	program_move(program, before, d);
}

void block_sums(struct program *program)
{
	FOR_ALL (i, program->all) {
		struct definition *d = program->all.at[i];
		if (definition_repeats(d) == d && d->loop.repeat)
			block_sums(d->loop.repeat->body);
		if (is_long(d))
			block_sum(program, program->all.at[i--]);
	}
}
