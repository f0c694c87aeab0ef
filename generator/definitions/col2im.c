/* col2im.c: one definition -> two.  A convolution with few results a place becomes a product of matrices, whose columns
 * are the results of each tap at each place of the data, and a sum over the taps.
 *
 *     y[o, i] = sum(k < 3, c < 64 from b[o]) x[c, i + k - 1] * w[o, c, k]
 *     t[j, m] = sum(c < 64) x[c, j] * columns[m, c],  y[o, i] = sum(k < 3 from b[o]) t[i + k - 1, 3*o + k]
 *
 * Vectors that run along one or three results are idle; those of a product run along places, and what is loaded of x
 * serves all taps.  So do libraries that compute a transposed convolution by GEMM and col2im. */
#include "definitions/definitions.h"

struct col2im {
	struct arena *arena;
	struct definition *d;
	const struct expr *padded, *x, *w; /* padded: x, or a select around it that is 0 in the pads */
	int channel, axis;                 /* the reduced variable, and the axis of x */
	int own[MAX_VARS], own_count;      /* variables that move w alone: results, and taps */
	int64_t columns, first;            /* of the product's, and which is the first of them */
};
/* Those of one x (the phases of a transposed convolution) are columns of one product. */
struct group {
	struct program *program;
	VECTOR(struct col2im) all;
	int64_t columns, channels;
};

/* An axis of x: the channel, fixed, one variable, or one that a tap moves. */
static bool match_axis(struct col2im *c, int v)
{
	const struct definition *d = c->d, *x = c->x->of;
	const struct index *at = c->x->at[v];
	int64_t constant;
	int var, moving = 0;
	if (index_is_var(at, &var) && var >= d->rank && d->reduced_extents[var - d->rank] == x->extents[v]
	        && c->channel < 0) {
		c->channel = var, c->axis = v;
		return true;
	}
	if (!index_is_affine(at))
		return false;
	FOR (u, d->rank + d->reduced) {
		if (!index_uses(at, u))
			continue;
		moving += u < d->rank;
		if (u < d->rank && (index_factor(at, u) != 1 || expr_uses(c->w, u)))
			return false;
	}
	return moving == 1 || (index_is_constant(at, &constant) && x->extents[v] == 1);
}

static bool ranges_are_pads(const struct col2im *c)
{
	for (int i = 0; c->padded != c->x && i < c->padded->range_count; i++) {
		bool own = false;
		FOR (v, c->x->rank)
			own |= v != c->axis && index_equal(c->padded->ranges[i].at, c->x->at[v]);
		if (!own)
			return false;
	}
	return c->padded == c->x || (c->padded->arg[1]->kind == EXPR_NUMBER && c->padded->arg[1]->number == 0);
}

static bool match(struct col2im *c)
{
	const struct definition *d = c->d;
	if (d->source != SOURCE_COMPUTED || d->reduce != REDUCE_SUM || d->type != DTYPE_F32 || !d->sum.products
	        || d->check || d->order != ORDER_SERIAL || definition_scatters(d) || definition_elements(d) <= 0)
		return false;
	c->padded = d->body->arg[0];
	c->x = c->padded->kind == EXPR_SELECT ? c->padded->arg[0] : c->padded;
	c->w = d->body->arg[1];
	c->channel = -1;
	if (c->x->kind != EXPR_LOAD || c->w->kind != EXPR_LOAD || c->w->of->source != SOURCE_CONSTANT
	        || c->x->of->source == SOURCE_CONSTANT || c->x->of->type != DTYPE_F32 || c->w->of->type != DTYPE_F32)
		return false;
	FOR (r, d->reduced)
		if (d->count.reduced[r])
			return false;
	FOR (v, c->x->rank)
		if (!match_axis(c, v))
			return false;
	if (c->channel < 0 || !ranges_are_pads(c))
		return false;
	c->columns = 1;
	FOR (v, d->rank + d->reduced) {
		int64_t extent = definition_extent(d, v);
		if (v == c->channel || (v < d->rank && expr_uses(c->x, v)))
			continue;
		c->own[c->own_count++] = v;
		c->columns *= extent;
	}
	return true;
}

/* Phases of a transposed convolution are variables of its results, or sums of the same data and weights. */
static bool is_phase(const struct program *program, const struct col2im *c)
{
	int variables = 0;
	FOR (i, c->own_count)
		variables += c->own[i] < c->d->rank && c->d->extents[c->own[i]] > 1;
	for (size_t i = 0; i < program->all.count && variables < 2; i++) {
		struct col2im other = { .arena = c->arena, .d = program->all.at[i] };
		if (other.d != c->d && match(&other) && other.x->of == c->x->of && other.w->of == c->w->of)
			return true;
	}
	return variables > 1;
}

/* Results of a place that fill no vector, of so many channels that what is stored of each tap takes less than the
 * product does.  More results are as fast by lanes along rows, but where these are those of a phase. */
enum { CHANNELS_EACH = 4, RESULTS_MOST = 4, PHASE_CHANNELS = 16, PHASE_TAPS = 16, PHASE_RESULTS = 12, TAPS_LEAST = 2 };
static bool pays(const struct program *program, const struct col2im *c)
{
	int64_t channels = c->d->reduced_extents[c->channel - c->d->rank], taps = definition_terms(c->d) / channels,
	        elements = c->columns;
	for (int v = 0, var; v < c->x->rank; v++)
		if (v != c->axis && !(index_is_var(c->x->at[v], &var) && c->d->batch & var_bit(var)))
			elements *= c->x->of->extents[v];
	if (channels >= LANE_TERMS && elements <= FEW_OUTPUTS)
		return false; /* its product would add in another order alone than beside others */
	int64_t results = c->columns / taps;
	bool few = results <= RESULTS_MOST && channels >= CHANNELS_EACH * results
	        && taps * results <= CHANNELS_EACH * channels,
	     phase = channels >= PHASE_CHANNELS && taps <= PHASE_TAPS && results <= PHASE_RESULTS;
	return taps >= TAPS_LEAST && (few || phase) && (is_phase(program, c) ? phase : few);
}

/* Which column: the variables that move w alone, of these extents. */
static int extents_of(const struct col2im *c, int64_t *extents)
{
	FOR (i, c->own_count)
		extents[i] = c->own[i] < c->d->rank ? c->d->extents[c->own[i]]
		                                    : c->d->reduced_extents[c->own[i] - c->d->rank];
	return c->own_count;
}

static const struct expr *column_of(const struct col2im *c, const struct index *column, const struct index *channel)
{
	const struct index *with[MAX_VARS] = { 0 }, *own[MAX_VARS];
	int64_t of[MAX_VARS];
	index_unflatten(c->arena, column, extents_of(c, of), of, own);
	FOR (i, c->own_count)
		with[c->own[i]] = own[i];
	with[c->channel] = channel;
	return expr_substitute(c->arena, c->w, with);
}

static struct definition *define_columns(const struct group *g)
{
	const struct col2im *c = &g->all.at[0];
	int64_t extents[] = { g->columns, g->channels };
	const struct index *at = index_var(c->arena, 0, g->columns), *channel = index_var(c->arena, 1, g->channels);
	const struct expr *body = NULL;
	for (size_t i = g->all.count; i-- > 0;) {
		c = &g->all.at[i];
		struct range *range = arena_new(c->arena, struct range);
		*range = (struct range){ at, c->first, c->first + c->columns };
		const struct expr *own = column_of(c, index_plus(c->arena, at, -c->first), channel);
		body = body ? expr_select(c->arena, range, 1, own, body) : own;
	}
	struct definition *columns =
	        define_map(g->program, arena_printf(c->arena, "%s_columns", c->d->name), 2, extents, body);
	definition_fold(g->program, columns);
	return columns;
}

/* At each place of x. */
static struct definition *define_taps(const struct group *g, struct definition *columns)
{
	const struct col2im *c = &g->all.at[0];
	const struct definition *d = c->d, *x = c->x->of;
	const struct index *x_at[MAX_RANK], *w_at[2];
	int64_t extents[MAX_RANK];
	int rank = 0;
	FOR (v, x->rank)
		if (v != c->axis) {
			extents[rank] = x->extents[v];
			x_at[v] = index_var(c->arena, rank++, x->extents[v]);
		}
	extents[rank] = g->columns;
	w_at[0] = index_var(c->arena, rank++, g->columns);
	x_at[c->axis] = w_at[1] = index_var(c->arena, rank, g->channels);
	struct definition *taps = define_reduction(g->program, arena_printf(c->arena, "%s_taps", d->name), rank,
	        extents, REDUCE_SUM, 1, &g->channels, NULL,
	        expr_scalar(c->arena, SCALAR_mul, expr_load(c->arena, c->x->of, x_at),
	                expr_load(c->arena, columns, w_at), NULL));
	keep_origin(taps, d);
	FOR (v, x->rank)
		if (v != c->axis)
			taps->count.ends[v - (v > c->axis)] = x->count.ends[v];
	for (int v = 0, var; v < x->rank; v++)
		if (v != c->axis && index_is_var(c->x->at[v], &var) && d->batch & 1u << var)
			mark_batch(taps, 1u << (v - (v > c->axis)));
	return taps;
}

static void sum_taps(const struct col2im *c, struct definition *taps)
{
	struct definition *d = c->d;
	keep_original(c->arena, d);
	const struct index *with[MAX_VARS] = { 0 }, *own[MAX_VARS], *at[MAX_RANK];
	int64_t of[MAX_VARS];
	int reduced = 0, rank = 0;
	index_vars(c->arena, with, d->rank, d->extents);
	FOR (r, d->reduced)
		if (d->rank + r != c->channel) {
			int64_t extent = d->reduced_extents[r];
			with[d->rank + r] = index_var(c->arena, d->rank + reduced, extent);
			d->reduced_extents[reduced++] = extent;
		}
	extents_of(c, of);
	FOR (i, c->own_count)
		own[i] = with[c->own[i]];
	FOR (v, c->x->rank)
		if (v != c->axis)
			at[rank++] = index_substitute(c->arena, c->x->at[v], with);
	at[rank] = index_plus(c->arena, index_flatten(c->arena, c->own_count, own, of), c->first);
	const struct expr *load = expr_load(c->arena, taps, at);
	struct range *ranges = arena_new_array(c->arena, struct range, (size_t)c->padded->range_count + 1);
	for (int i = 0; c->padded != c->x && i < c->padded->range_count; i++) {
		ranges[i] = c->padded->ranges[i];
		ranges[i].at = index_substitute(c->arena, ranges[i].at, with);
	}
	d->body = c->padded == c->x
	        ? load
	        : expr_select(c->arena, ranges, c->padded->range_count, load, expr_number(c->arena, d->type, 0));
	d->reduced = reduced;
	d->sum.products = false;
	d->chain = true;
	d->order = definition_order(d);
}

/* Those that read what the first reads. */
static void add_like(struct group *g, size_t from)
{
	const struct program *program = g->program;
	for (size_t i = from; i < program->all.count; i++) {
		struct col2im c = { .arena = program->arena, .d = program->all.at[i] }, *first = g->all.at;
		if (!match(&c) || !pays(program, &c)
		        || (g->all.count
		                && (c.x->of != first->x->of || c.axis != first->axis || c.d->batch != first->d->batch
		                        || !branch_equal(c.d->branch, first->d->branch))))
			continue;
		c.first = g->columns;
		g->columns += c.columns;
		push(program->arena, &g->all, c);
	}
}

bool rewrite_col2im(struct program *program, struct definition *d)
{
	struct group g = { .program = program };
	size_t before = program->all.count, at = (size_t)d->number;
	struct col2im c = { .arena = program->arena, .d = d };
	if (!match(&c) || !pays(program, &c))
		return false;
	add_like(&g, at);
	g.channels = d->reduced_extents[c.channel - d->rank];
	struct definition *taps = define_taps(&g, define_columns(&g));
	if (taps->order != ORDER_SERIAL) {
		program->all.count = before;
		return false;
	}
	FOR_ALL (i, g.all)
		sum_taps(&g.all.at[i], taps);
	program_move(program, before, d);
	return true;
}
