/* separate.c: definitions -> definitions.  A sum over a window of several axes becomes one along its last axis, and a
 * sum of those along the others.
 *
 *     y[i, j] = sum(k0 < 11, k1 < 11) x[i + k0, j + k1]
 *     r[i, j] = sum(k0 < 11) x[i, j + k0],  y[i, j] = sum(k0 < 11) r[i + k0, j]
 *
 * Windows that overlap share what they add then: 22 terms for each result, not 121.  A window of one axis that moves by
 * one is a sum of sums of neighbours:
 *
 *     y[i] = sum(k < 25) x[i + k]
 *     r[j] = sum(k < 5) x[j + k],  y[i] = sum(k < 5) r[i + 5 k]
 *
 * A rule on taps and strides, so that every target computes the same bits, in any batch. */
#include "definitions/definitions.h"

enum { TAPS_FEW = 16, PASS_COST = 3 /* of a store and a load, in taps */ };

struct window {
	const struct expr *term, *load;   /* term: the load, or a select around it that is 0 where there is none */
	int tap[MAX_RANK], out[MAX_RANK]; /* the variables along each axis of the data; -1: none */
	int taps, last;                   /* how many axes have a tap, and the last that has */
};

static enum visit find_term(void *user, const struct expr *expr)
{
	struct window *w = user;
	const struct expr *load = expr->kind == EXPR_SELECT ? expr->arg[0] : expr;
	if (load->kind != EXPR_LOAD || !load->rank)
		return VISIT_PARTS;
	if ((w->term && w->term != expr)
	        || (load != expr && (expr->arg[1]->kind != EXPR_NUMBER || expr->arg[1]->number != 0)))
		return VISIT_END;
	w->term = expr;
	w->load = load;
	return VISIT_PAST;
}

/* Is it 0 where the term is 0? */
static bool vanishes(const struct expr *expr, const struct expr *term)
{
	if (expr == term)
		return true;
	bool scalar = expr->kind == EXPR_SCALAR;
	return scalar
	        && (expr->opcode == SCALAR_abs || expr->opcode == SCALAR_mul
	                || (expr->opcode == SCALAR_pow && expr->arg[1]->kind == EXPR_NUMBER
	                        && expr->arg[1]->number > 0))
	        && vanishes(expr->arg[0], term);
}

/* Along axis v: place stride * output + dilation * tap + constant, or the output variable itself. */
static bool match_axis(const struct definition *d, struct window *w, int v, uint64_t *used)
{
	const struct index *at = w->load->at[v];
	w->tap[v] = w->out[v] = -1;
	if (!index_is_affine(at))
		return false;
	FOR (var, d->rank + d->reduced) {
		int *mine = var < d->rank ? &w->out[v] : &w->tap[v];
		if (!index_uses(at, var))
			continue;
		if (*mine >= 0 || *used & var_bit(var) || index_factor(at, var) < 1)
			return false;
		*mine = var;
		*used |= var_bit(var);
	}
	int64_t extent = w->load->of->extents[v], constant = 0;
	int var;
	if (w->tap[v] >= 0)
		w->last = v;
	return w->tap[v] >= 0 || (index_is_constant(at, &constant) && extent == 1)
	        || (index_is_var(at, &var) && d->extents[var] == extent);
}

static bool ranges_are_pads(const struct window *w)
{
	for (int i = 0; w->term != w->load && i < w->term->range_count; i++) {
		bool own = false;
		FOR (v, w->load->rank)
			own |= w->tap[v] >= 0 && index_equal(w->term->ranges[i].at, w->load->at[v]);
		if (!own)
			return false;
	}
	return true;
}

/* Terms for each result along the last axis, at all rows that windows share, and behind it, beside those of now. */
static bool pays(const struct definition *d, const struct window *w)
{
	double all = (double)definition_terms(d), last = (double)d->reduced_extents[w->tap[w->last] - d->rank],
	       rows = 1;
	FOR (v, w->last)
		if (w->tap[v] >= 0)
			rows *= (double)(w->out[v] >= 0 ? index_factor(w->load->at[v], w->out[v])
			                                : d->reduced_extents[w->tap[v] - d->rank]);
	return all > TAPS_FEW && 3 * (last * rows + all / last + PASS_COST) < 2 * all;
}

/* Of a window along one axis that moves by one, how many neighbours are one sum; 1: those do not pay. */
static int64_t neighbours(const struct definition *d, const struct window *w)
{
	int out = w->out[w->last];
	int64_t taps = definition_terms(d), best = 1;
	if (taps <= TAPS_FEW || d->reduced != 1 || out < 0 || index_factor(w->load->at[w->last], out) != 1)
		return 1;
	for (int64_t n = 2; n * n <= taps; n++)
		if (taps % n == 0)
			best = n;
	return 3 * (best + taps / best + PASS_COST) < 2 * taps ? best : 1;
}

static bool match(const struct definition *d, struct window *w)
{
	*w = (struct window){ .last = -1 };
	if (d->source != SOURCE_COMPUTED || d->reduce != REDUCE_SUM || (d->type != DTYPE_F32 && d->type != DTYPE_F64)
	        || d->start || d->check || definition_scatters(d) || definition_elements(d) <= 0
	        || (d->sum.products && !expr_equal(d->body->arg[0], d->body->arg[1])))
		return false;
	if (expr_visit(d->body, find_term, w) || !w->term || !vanishes(d->body, w->term)
	        || w->load->rank > MAX_RANK - 1)
		return false;
	uint64_t used = 0;
	FOR (v, w->load->rank) {
		if (!match_axis(d, w, v, &used))
			return false;
		w->taps += w->tap[v] >= 0;
	}
	FOR (r, d->reduced)
		if (d->count.reduced[r] || (d->reduced_extents[r] > 1 && !(used & var_bit(d->rank + r))))
			return false;
	return w->taps > 0 && ranges_are_pads(w) && (w->taps > 1 ? pays(d, w) : neighbours(d, w) > 1);
}

/* The term of a load, with those of its ranges that are along the last axis, or the others. */
static const struct expr *with_ranges(
        struct arena *arena, const struct window *w, bool last, const struct index *const *at, const struct expr *load)
{
	struct range ranges[MAX_RANK];
	int count = 0;
	for (int i = 0; w->term != w->load && i < w->term->range_count; i++)
		FOR (v, w->load->rank)
			if (w->tap[v] >= 0 && (v == w->last) == last
			        && index_equal(w->term->ranges[i].at, w->load->at[v])) {
				ranges[count] = w->term->ranges[i];
				ranges[count++].at = at[v];
				break;
			}
	return count ? expr_select(arena, ranges, count, load, w->term->arg[1]) : load;
}

/* The sums along the last axis, at each place of the others. */
static struct definition *sum_along_last(struct program *program, const struct definition *d, const struct window *w)
{
	struct arena *arena = program->arena;
	const struct expr *load = w->load;
	const struct index *at[MAX_RANK], *of = load->at[w->last];
	int64_t extents[MAX_RANK], taps = d->reduced_extents[w->tap[w->last] - d->rank];
	int out = w->out[w->last];
	FOR (v, load->rank) {
		extents[v] = v != w->last ? load->of->extents[v] : out < 0 ? 1 : d->extents[out];
		at[v] = index_var(arena, v, extents[v]);
	}
	const struct index *with[MAX_VARS] = { 0 };
	if (out >= 0)
		with[out] = at[w->last];
	with[w->tap[w->last]] = index_var(arena, load->rank, taps);
	at[w->last] = index_substitute(arena, of, with);
	const struct expr *term = with_ranges(arena, w, true, at, expr_load(arena, load->of, at));
	struct definition *sums = define_reduction(program, arena_printf(arena, "%s_axis%d", d->name, w->last),
	        load->rank, extents, REDUCE_SUM, 1, &taps, NULL, expr_replace(arena, d->body, w->term, term));
	keep_origin(sums, d);
	mark_batch(sums, (1u << sums->rank) - 1);
	return sums;
}

/* The sums of `count` neighbours, at each place where a window takes one. */
static struct definition *sum_neighbours(
        struct program *program, const struct definition *d, const struct window *w, int64_t count)
{
	int out = w->out[w->last];
	const struct index *with[MAX_VARS] = { 0 };
	int64_t extents[MAX_RANK], dilation = index_factor(w->load->at[w->last], w->tap[w->last]);
	memcpy(extents, d->extents, sizeof extents);
	extents[out] += dilation * (definition_terms(d) - count);
	with[out] = index_var(program->arena, out, extents[out]);
	with[d->rank] = index_var(program->arena, d->rank, count);
	struct definition *sums = define_reduction(program, arena_printf(program->arena, "%s_neighbours", d->name),
	        d->rank, extents, REDUCE_SUM, 1, &count, NULL, expr_substitute(program->arena, d->body, with));
	keep_origin(sums, d);
	mark_batch(sums, d->batch & ~(1u << out));
	return sums;
}

static void share_neighbours(struct program *program, struct definition *d, const struct window *w)
{
	struct arena *arena = program->arena;
	size_t before = program->all.count;
	int out = w->out[w->last];
	int64_t count = neighbours(d, w), step = count * index_factor(w->load->at[w->last], w->tap[w->last]);
	struct definition *sums = sum_neighbours(program, d, w, count);
	const struct index *at[MAX_RANK];
	keep_original(arena, d);
	d->reduced_extents[0] /= count;
	index_vars(arena, at, d->rank, d->extents);
	at[out] = index_add(arena, at[out], index_scale(arena, index_var(arena, d->rank, d->reduced_extents[0]), step));
	d->body = expr_load(arena, sums, at);
	d->sum.products = false;
	d->order = definition_order(d);
	program_move(program, before, d);
}

static void separate(struct program *program, struct definition *d, const struct window *w)
{
	struct arena *arena = program->arena;
	size_t before = program->all.count;
	struct definition *sums = sum_along_last(program, d, w);
	const struct index *at[MAX_RANK], *with[MAX_VARS] = { 0 };
	int out = w->out[w->last], gone = w->tap[w->last] - d->rank, count = 0;
	keep_original(arena, d);
	FOR (r, d->reduced)
		if (r != gone) {
			d->reduced_extents[count] = d->reduced_extents[r];
			with[d->rank + r] = index_var(arena, d->rank + count++, d->reduced_extents[r]);
		}
	d->reduced = count;
	FOR (v, w->load->rank)
		at[v] = v != w->last ? index_substitute(arena, w->load->at[v], with)
		        : out >= 0   ? index_var(arena, out, d->extents[out])
		                     : index_constant(arena, 0);
	d->body = with_ranges(arena, w, false, at, expr_load(arena, sums, at));
	d->sum.products = false;
	d->batch = (1u << d->rank) - 1;
	d->order = definition_order(d);
	program_move(program, before, d);
}

void separate_sums(struct program *program)
{
	for (size_t i = 0; i < program->all.count; i++) {
		struct definition *d = program->all.at[i];
		struct window w;
		if (definition_repeats(d) == d && d->loop.repeat)
			separate_sums(d->loop.repeat->body);
		if (match(d, &w))
			(w.taps > 1 ? separate : share_neighbours)(program, program->all.at[i--], &w);
	}
}
