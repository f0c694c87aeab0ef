/* apart.c: reductions over axes that lie apart -> the same over rows in one piece.
 *
 *     y[c] = sum(n < 8, h < 20, w < 20) x[n, c, h, w]
 *     rows[c, n, h, w] = x[n, c, h, w],  y[c] = sum(n < 8, h < 20, w < 20) rows[c, n, h, w]
 *
 * No vector's lanes of such a sum lie side by side, where the piece that does is no multiple of them.  A row is copied
 * piece by piece, stays near, and is added in the order that it was. */
#include "kernels/kernels.h"

enum { TERMS_LEAST = 128 };

/* Does the reduction read whole planes of it, each element once, whose terms follow on one another but for jumps? */
struct planes {
	struct arena *arena;
	const struct definition *d;
	const struct index *with[MAX_VARS];
	bool apart, fits;
};
static void see_planes(void *user, const struct expr *load)
{
	struct planes *p = user;
	const struct definition *of = load->of, *d = p->d;
	bool terms = false, inside = of->rank > 0;
	FOR (v, of->rank)
		for (int r = d->rank; r < d->rank + d->reduced; r++)
			terms |= index_uses(load->at[v], r);
	if (!terms)
		return;
	for (int v = 0; v < d->rank && inside; v++)
		inside = !index_uses(load->at[of->rank - 1], v);
	inside = inside && !load->at[of->rank - 1]->values
	        && index_factor(load->at[of->rank - 1], d->rank + d->reduced - 1) == 1;
	p->fits &= inside && definition_work(d) <= (double)definition_elements(of);
	const struct index *at[MAX_RANK];
	FOR (v, of->rank)
		at[v] = index_substitute(p->arena, load->at[v], p->with);
	p->apart |= index_bends(index_flatten(p->arena, of->rank, at, of->extents), d->rank);
}

static void read_rows(struct program *program, struct definition *d)
{
	struct arena *arena = program->arena;
	struct planes p = { .arena = arena, .d = d, .fits = true };
	int64_t terms = definition_terms(d);
	FOR (r, d->reduced)
		if (d->count.reduced[r])
			return;
	FOR (v, d->rank)
		if (d->place[v])
			return;
	index_unflatten(arena, index_var(arena, d->rank, terms), d->reduced, d->reduced_extents, p.with + d->rank);
	expr_loads(d->body, see_planes, &p);
	if (!p.fits || !p.apart)
		return;
	size_t from = program->all.count;
	const struct expr *term = d->sum.products ? d->body->arg[0] : d->body;
	int64_t extents[MAX_RANK];
	memcpy(extents, d->extents, sizeof extents);
	memcpy(extents + d->rank, d->reduced_extents, (size_t)d->reduced * sizeof *extents);
	struct definition *rows =
	        define_kept(program, arena_printf(arena, "%s_rows", d->name), d->rank + d->reduced, extents, term, d);
	term = expr_load_own(arena, rows); /* its variables are those of the sum, and then its terms' */
	d->body = d->sum.products ? expr_scalar(arena, SCALAR_mul, term, term, NULL) : term;
	program_move(program, from, d);
}

void rows_of_planes(struct program *program, const struct target *target)
{
	size_t count = program->all.count;
	if (target->options.small || !has_vectors(target) || target->options.log)
		return;
	FOR (i, count) {
		struct definition *d = program->all.at[i];
		if (d->source == SOURCE_COMPUTED && d->reduce >= REDUCE_SUM && d->reduce <= REDUCE_PROD
		        && (!d->sum.products || expr_equal(d->body->arg[0], d->body->arg[1])) && d->order == ORDER_LANES
		        && !d->lies && d->rank + d->reduced <= MAX_RANK && d->reduced > 1
		        && definition_terms(d) >= TERMS_LEAST && definition_elements(d) > 0)
			read_rows(program, d);
	}
}
