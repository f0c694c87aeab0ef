/* offsets.c: what a sum of products has more where a number is added to one factor: that number times the other factor's
 * sums.  Those of constants are folded; those of data have to be few additions beside the products. */
#include "kernels/kernels.h"

/* Those of the sum's output variables that are in it become the dims of a definition. */
static int own_dims(struct arena *arena, const struct definition *sum, const struct expr *e, const struct index **at,
        int64_t *extents, const struct index **with)
{
	int rank = 0;
	FOR (v, sum->rank)
		if (sum->extents[v] > 1 && expr_uses(e, v)) {
			at[rank] = index_var(arena, v, sum->extents[v]);
			extents[rank] = sum->extents[v];
			with[v] = index_var(arena, rank, extents[rank]);
			rank++;
		}
	return rank;
}

/* sum(k) factor; of the terms that it uses, or of all. */
static const struct expr *factor_summed(struct program *program, const struct definition *sum,
        const struct expr *factor, const char *what, bool all_terms)
{
	struct arena *arena = program->arena;
	const struct index *with[MAX_VARS] = { 0 }, *at[MAX_RANK];
	int64_t extents[MAX_RANK];
	int rank = own_dims(arena, sum, factor, at, extents, with);
	struct definition over = { .reduced = 0 };
	FOR (k, sum->reduced)
		if (all_terms || expr_uses(factor, sum->rank + k)) {
			with[sum->rank + k] = index_var(arena, rank + over.reduced, sum->reduced_extents[k]);
			over.count.reduced[over.reduced] = sum->count.reduced[k];
			over.reduced_extents[over.reduced++] = sum->reduced_extents[k];
		}
	if (!over.reduced)
		return factor;
	struct definition *summed = define_reduction(program, arena_printf(arena, "%s.%s", sum->name, what), rank,
	        extents, REDUCE_SUM, over.reduced, over.reduced_extents, NULL, expr_substitute(arena, factor, with));
	memcpy(summed->count.reduced, over.count.reduced, sizeof over.count.reduced);
	summed->branch = sum->branch;
	if (expr_is_constant(factor))
		definition_fold(program, summed);
	return expr_load(arena, summed, at);
}

/* -zero * sum(k) factor: what an offset of the other one has added; and what the sum starts from, if anything. */
const struct expr *offset_columns(
        struct program *program, const struct definition *sum, const struct expr *factor, const struct expr *zero)
{
	struct arena *arena = program->arena;
	const struct index *with[MAX_VARS] = { 0 }, *at[MAX_RANK];
	int64_t extents[MAX_RANK];
	const struct expr *body =
	        expr_scalar(arena, SCALAR_mul, factor_summed(program, sum, factor, "columns", true), zero, NULL);
	if (sum->start)
		body = expr_scalar(arena, SCALAR_add, body, sum->start, NULL);
	int rank = own_dims(arena, sum, body, at, extents, with);
	body = expr_substitute(arena, body, with);
	struct definition *start = define_map(program, arena_printf(arena, "%s.zero", sum->name), rank, extents, body);
	if (expr_is_constant(body))
		definition_fold(program, start);
	return expr_load(arena, start, at);
}

/* ---- sums of data: over the channels of each place first, which windows then share ---- */
/* The dim of what is loaded that a term runs along, and that alone, of whole vectors; -1: there is none. */
enum { SUMMED_LEAST = 64 };
static int dim_summed(const struct definition *sum, const struct expr *factor, const struct expr *load, int *term)
{
	FOR (d, load->of->rank) {
		bool alone = index_is_var(load->at[d], term) && *term >= sum->rank
		        && sum->reduced_extents[*term - sum->rank] == load->of->extents[d]
		        && load->of->extents[d] >= SUMMED_LEAST && !sum->count.reduced[*term - sum->rank];
		for (int other = 0; other < load->of->rank && alone; other++)
			alone = other == d || !index_uses(load->at[other], *term);
		for (int i = 0; factor->kind == EXPR_SELECT && i < factor->range_count && alone; i++)
			alone = !index_uses(factor->ranges[i].at, *term);
		if (alone)
			return d;
	}
	return -1;
}

/* The sums over one dim of what the load has, where the load looks. */
static const struct expr *places_of(struct program *program, const struct definition *sum, const struct expr *inner,
        const struct expr *load, int summed)
{
	struct arena *arena = program->arena;
	const struct definition *of = load->of;
	const struct index *own[MAX_RANK], *at[MAX_RANK];
	int64_t extents[MAX_RANK];
	int rank = 0;
	FOR (d, of->rank)
		if (d != summed) {
			own[d] = index_var(arena, rank, of->extents[d]);
			at[rank] = load->at[d];
			extents[rank++] = of->extents[d];
		}
	own[summed] = index_var(arena, rank, of->extents[summed]);
	struct definition *places =
	        define_reduction(program, arena_printf(arena, "%s.places", sum->name), rank, extents, REDUCE_SUM, 1,
	                &of->extents[summed], NULL, expr_replace(arena, inner, load, expr_load(arena, load->of, own)));
	places->branch = sum->branch;
	return expr_load(arena, places, at);
}

const struct expr *offset_rows(struct program *program, const struct definition *sum, const struct expr *factor)
{
	struct arena *arena = program->arena;
	const struct expr *load;
	int term = 0, summed;
	factor = expr_zeros_outside(arena, factor);
	bool pads = factor->kind == EXPR_SELECT;
	const struct expr *inner = pads ? factor->arg[0] : factor;
	if (!expr_single_load(inner, &load) || !load || expr_has(inner, 1u << EXPR_SELECT | 1u << EXPR_INDEX)
	        || (pads && !expr_is_zero(factor->arg[1])) || (summed = dim_summed(sum, factor, load, &term)) < 0)
		return NULL;
	const struct expr *place = places_of(program, sum, inner, load, summed);
	if (pads)
		place = expr_select(
		        arena, factor->ranges, factor->range_count, place, expr_integer(arena, DTYPE_I32, 0));
	return factor_summed(program, sum, place, "rows", false);
}
