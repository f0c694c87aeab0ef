/* exact.c: sums of products of small integers -> the same sums in floats, which have every integer up to 2^24.
 *
 * What no instruction of the target multiplies as words (products.c) then takes the tiles and windows of floats: i is
 * int32(sum(k) float(x - zx) * float(w - zw)), where the constants show that no sum can be larger.  Whoever reads
 * float(i) reads the sum itself. */
#include "kernels/kernels.h"

enum { EXACT_MOST = 1 << 24 };

/* The largest sum of magnitudes of a factor's terms that an element has. */
static int64_t magnitude_of(struct program *program, const struct definition *sum, const struct expr *factor)
{
	const struct index *with[MAX_VARS] = { 0 };
	int64_t extents[MAX_RANK], most = 0;
	int rank = 0;
	size_t before = program->all.count;
	if (!expr_is_constant(factor))
		return expr_magnitude(factor) * definition_terms(sum);
	for (int v = 0; v < sum->rank; v++)
		if (expr_uses(factor, v)) {
			extents[rank] = sum->extents[v];
			with[v] = index_var(program->arena, rank, extents[rank]);
			rank++;
		}
	for (int k = 0; k < sum->reduced; k++)
		with[sum->rank + k] = index_var(program->arena, rank + k, sum->reduced_extents[k]);
	struct definition *sums = define_reduction(program, arena_printf(program->arena, "%s.most", sum->name), rank,
	        extents, REDUCE_SUM, sum->reduced, sum->reduced_extents, NULL,
	        expr_scalar(program->arena, SCALAR_abs, expr_substitute(program->arena, factor, with), NULL, NULL));
	definition_fold(program, sums);
	for (int64_t i = 0, n = definition_elements(sums); i < n; i++) {
		int64_t one = ((const int32_t *)sums->data)[i];
		most = one > most ? one : most;
	}
	program->all.count = before;
	return most;
}

/* starts: with what it starts from, too. */
static bool is_exact(struct program *program, const struct definition *sum, bool *starts)
{
	const struct expr *const *factor = (const struct expr *const *)sum->body->arg;
	double least = EXACT_MOST, start = sum->start ? EXACT_MOST : 0;
	if (sum->start && expr_is_constant(sum->start))
		start = (double)expr_magnitude(sum->start);
	for (int i = 0; i < 2 && least >= EXACT_MOST; i++)
		least = (double)magnitude_of(program, sum, factor[i]) * (double)expr_magnitude(factor[1 - i]);
	*starts = sum->start && least + start < EXACT_MOST;
	return least < EXACT_MOST;
}

/* ---- a factor in floats ---- */
struct widening {
	struct program *program;
	const struct expr *load; /* the only one that moves */
	bool one;
};
static void see_load(void *user, const struct expr *load)
{
	struct widening *w = user;
	if (!load->vars)
		return;
	w->one &= !w->load || w->load == load;
	w->load = load;
}

static const struct expr *at_own(void *user, const struct expr *load)
{
	const struct widening *w = user;
	return load == w->load ? expr_load_own(w->program->arena, load->of) : load;
}

/* A map of the tensor that it loads, which several layers may share; NULL: it is of more than one. */
static const struct expr *widened(struct program *program, const struct expr *factor)
{
	struct arena *arena = program->arena;
	struct widening w = { program, NULL, true };
	if (factor->kind == EXPR_SELECT) {
		const struct expr *inner = factor->arg[1]->kind == EXPR_NUMBER && !factor->arg[1]->integer
		        ? widened(program, factor->arg[0])
		        : NULL;
		return inner ? expr_select(
		               arena, factor->ranges, factor->range_count, inner, expr_number(arena, DTYPE_F32, 0))
		             : NULL;
	}
	expr_loads(factor, see_load, &w);
	if (!w.load || !w.one || expr_has(factor, 1u << EXPR_SELECT | 1u << EXPR_INDEX))
		return NULL;
	struct definition *of = w.load->of, *made = NULL;
	const struct expr *body = expr_cast(arena, DTYPE_F32, expr_map_loads(arena, factor, at_own, &w));
	for (size_t i = 0; i < program->all.count && !made; i++) {
		struct definition *d = program->all.at[i];
		const struct expr *is = d->source == SOURCE_COMPUTED && d->reduce == REDUCE_NONE ? d->body
		        : d->source == SOURCE_CONSTANT && d->original                            ? d->original->body
		                                                                                 : NULL;
		if (is == body && d->rank == of->rank && !d->is_output && branch_equal(d->branch, of->branch))
			made = d;
	}
	if (!made) {
		made = define_map(program, arena_printf(arena, "%s.floats", of->name), of->rank, of->extents, body);
		made->branch = of->branch;
		if (expr_is_constant(body))
			definition_fold(program, made);
	}
	return expr_load(arena, made, w.load->at);
}

/* ---- the sum ---- */

struct reading {
	const struct definition *sum;
	struct definition *floats;
};
static const struct expr *read_floats(struct rewriter *r, const struct expr *e)
{
	const struct reading *reading = r->user;
	const struct expr *load = e->kind == EXPR_CAST && e->type == DTYPE_F32 ? e->arg[0] : NULL;
	return load && load->kind == EXPR_LOAD && load->of == reading->sum
	        ? expr_load(r->arena, reading->floats, load->at)
	        : NULL;
}
static const struct expr *read_all(void *user, const struct expr *e) { return rewrite_expr(user, e); }

bool sum_in_floats(struct program *program, struct definition *sum)
{
	struct arena *arena = program->arena;
	size_t before = program->all.count;
	bool starts;
	if (!is_exact(program, sum, &starts))
		return false;
	const struct expr *a = widened(program, sum->body->arg[0]), *b = a ? widened(program, sum->body->arg[1]) : NULL;
	if (!b) {
		program->all.count = before;
		return false;
	}
	const struct expr *start = NULL, *offset = starts ? NULL : sum->start;
	if (starts) /* a load, as products want it */
		start = expr_settle(program, arena_printf(arena, "%s.start", sum->name), sum,
		        expr_cast(arena, DTYPE_F32, sum->start));
	struct definition *floats = define_sum_like(program, arena_printf(arena, "%s.exact", sum->name), sum, start,
	        expr_scalar(arena, SCALAR_mul, a, b, NULL));
	program_move(program, before, sum);
	become_map(sum, expr_cast(arena, DTYPE_I32, expr_load_own(arena, floats)));
	if (offset) {
		sum->body = expr_scalar(arena, SCALAR_add, sum->body, offset, NULL);
		return true;
	}
	struct reading reading = { sum, floats };
	struct rewriter rewriter = { .arena = arena, .expr = read_floats, .user = &reading };
	for (size_t i = (size_t)sum->number + 1; i < program->all.count; i++)
		definition_map(program->all.at[i], read_all, &rewriter);
	return true;
}
