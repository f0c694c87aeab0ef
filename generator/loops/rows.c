/* rows.c: rows whose sums are in 64 lanes, where lanes are threads: a block of warps makes a row.  A thread takes four
 * neighbours of what a row holds.  64 threads make a sum; of a maximum, or of integers, up to 16 go along each of the 64 lanes, one
 * behind the other, so that of equal zeros the one is kept that the definition keeps.  Each warp joins the lanes.
 *
 *     for t < 64     threads:   lanes[t] = partial result t
 *     sum = lanes[0 … 31], lanes[32 … 63], joined
 *     for t < 192    threads:   row[4*t …] = x0[4*t …] - sum */
#include "loops/building.h"

enum { EACH = 4, CHUNKS_MOST = 16, AT_ONCE_MOST = 32, LANES = 32, EIGHTH = SUMS / 8 };
struct row {
	struct building *b;
	int axes;                         /* that members have in common: a row is a round of them */
	int chunks;                       /* threads for each of the 64 lanes */
	const struct index *at[MAX_RANK]; /* where the row stands along them */
};

/* Maxima, and integers: any number of threads may go along a lane. */
static bool in_chunks(const struct definition *d)
{
	return d->reduce == REDUCE_MAX || d->reduce == REDUCE_MIN || dtypes[d->type].class != CLASS_FLOAT;
}

/* How one thread goes through its terms, 64 apart. */
struct chunks {
	int64_t count, at_once, rounds,
	        left; /* threads along a lane; terms asked for at once, how often, and behind them */
	bool ragged;  /* with several: not all of the last ones are there */
};

static void see_width(void *user, const struct expr *load)
{
	int *bits = user;
	*bits = dtypes[load->type].bits > *bits ? dtypes[load->type].bits : *bits;
}

static struct chunks chunks_of(const struct row *r, const struct definition *d)
{
	int bits = 32; /* what is asked for at once takes registers */
	expr_loads(d->body, see_width, &bits);
	int64_t terms = definition_terms(d), lane = terms / SUMS, most = AT_ONCE_MOST * 32 / bits;
	struct chunks c = { .count = 1 };
	if (in_chunks(d)) {
		lane += terms % SUMS > 0;
		c.count = lane < r->chunks ? lane : r->chunks;
		for (int64_t fewer = c.count; fewer > c.count / 2; fewer--)
			if (lane % fewer == 0) {
				c.count = fewer;
				break;
			}
		lane = ceil_div(lane, c.count);
	}
	c.rounds = ceil_div(lane, most);
	if (in_chunks(d)) {
		c.at_once = ceil_div(lane, c.rounds);
		c.ragged = c.count * c.rounds * c.at_once * SUMS != terms;
		return c;
	}
	c.at_once = lane / c.rounds;
	c.left = lane - c.rounds * c.at_once;
	return c;
}

static void begin_row(const struct row *r, const struct definition *d, const struct index **with)
{
	memcpy(with, r->at, (size_t)r->axes * sizeof *with);
	for (int v = r->axes; v < d->rank; v++)
		with[v] = d->extents[v] == 1 ? index_constant(r->b->loops->arena, 0) : NULL;
}

/* One term more, where it is there. */
static void add_term(const struct row *r, const struct definition *d, struct cell *sum, const struct index *term,
        bool ragged, struct block *out)
{
	struct loops *loops = r->b->loops;
	const struct index *with[MAX_VARS] = { 0 };
	const struct range there = { term, 0, definition_terms(d) };
	begin_row(r, d, with);
	index_unflatten(loops->arena, term, d->reduced, d->reduced_extents, with + d->rank);
	const struct expr *value = building_whole(r->b, d->body, with);
	if (ragged)
		value = expr_select(loops->arena, &there, 1, value, reduce_start(loops->arena, d->reduce, d->type));
	building_set(loops, sum, reduce_step(loops, d, cell_load(loops, sum, NULL), value), false, out);
}

/* The partial results of the lanes, each by its threads. */
static void add_lanes(const struct row *r, const struct definition *d, const struct chunks *c, struct cell *lanes)
{
	struct loops *loops = r->b->loops;
	struct arena *arena = loops->arena;
	struct cell *sum = cell_new(loops, CELL_REGISTER, "sum", d->type, 1);
	int64_t each = c->rounds * c->at_once * SUMS, last = each * (c->count - 1) + SUMS,
	        rest = definition_terms(d) % SUMS;
	const struct index *t;
	struct block *out = building_threads(loops, SUMS * c->count, &t);
	const struct index *first = t;
	if (c->count > 1) {
		first = index_add(
		        arena, index_mod(arena, t, SUMS), index_scale(arena, index_div(arena, t, SUMS), each));
		first = index_var(arena, index_new(loops, "first", last, first, out), last);
	}
	building_set(loops, sum, reduce_start(loops->arena, d->reduce, d->type), true, out);
	struct stmt *loop = for_new(loops, var_new(loops, "u", c->rounds), c->rounds, ROLE_SERIAL);
	block_add(loops, out, loop);
	const struct index *from = index_scale(arena, index_var(arena, loop->var, c->rounds), SUMS * c->at_once);
	FOR (k, c->at_once)
		add_term(r, d, sum, index_plus(arena, index_add(arena, first, from), k * SUMS), c->ragged, &loop->body);
	FOR (k, c->left)
		add_term(r, d, sum, index_plus(arena, first, each + k * SUMS), false, out);
	if (rest && !in_chunks(d)) {
		struct stmt *some = stmt_new(loops, STMT_IF);
		struct range *range = arena_new(arena, struct range);
		*range = (struct range){ t, 0, rest };
		some->ranges = range;
		some->range_count = 1;
		add_term(r, d, sum, index_plus(arena, t, definition_terms(d) - rest), false, &some->body);
		block_add(loops, out, some);
	}
	building_put(loops, lanes, t, cell_load(loops, sum, NULL), out);
}

/* Of threads along one lane the first takes what the others have. */
static void join_chunks(const struct row *r, const struct definition *d, int64_t count, struct cell *lanes)
{
	struct loops *loops = r->b->loops;
	struct cell *lane = cell_new(loops, CELL_REGISTER, "sum", d->type, 1);
	const struct index *t;
	struct block *out = building_threads(loops, SUMS, &t);
	building_set(loops, lane, cell_load(loops, lanes, t), true, out);
	for (int64_t k = 1; k < count; k++)
		building_set(loops, lane,
		        reduce_join(loops, d->reduce, cell_load(loops, lane, NULL),
		                cell_load(loops, lanes, index_plus(loops->arena, t, k * SUMS))),
		        false, out);
	building_put(loops, lanes, t, cell_load(loops, lane, NULL), out);
}

static struct cell *vector_of(struct loops *loops, struct cell *from, int64_t first, int lane)
{
	struct cell *vector = cell_new(loops, CELL_REGISTER, "sum", from->of.type, 1);
	struct block *out = &loops->body.at[0]->body;
	const struct index *at = index_plus(loops->arena, index_var(loops->arena, lane, LANES), first);
	vector->vector = true;
	building_set(loops, vector, cell_load(loops, from, at), true, out);
	out->at[out->count - 1]->lane = lane;
	return vector;
}

/* All of the lanes: of floats each warp joins them, of others eight threads, and one. */
static const struct expr *join_lanes(struct loops *loops, enum reduce reduce, struct cell *lanes)
{
	struct block *out = &loops->body.at[0]->body;
	const struct index *zero = index_constant(loops->arena, 0), *t;
	if (lanes->of.type != DTYPE_F32) {
		out = building_threads(loops, EIGHTH, &t);
		building_put(loops, lanes, t, building_joined(loops, reduce, lanes, t, EIGHTH, SUMS / EIGHTH), out);
		out = building_threads(loops, 1, &t);
		building_put(loops, lanes, zero, building_joined(loops, reduce, lanes, zero, 1, EIGHTH), out);
		return cell_load(loops, lanes, zero);
	}
	int lane = index_new(loops, "t", LANES, zero, out);
	struct cell *lower = vector_of(loops, lanes, 0, lane), *upper = vector_of(loops, lanes, LANES, lane);
	building_set(loops, lower,
	        reduce_join(loops, reduce, cell_load(loops, lower, NULL), cell_load(loops, upper, NULL)), false, out);
	out->at[out->count - 1]->lane = lane;
	struct stmt *join = stmt_new(loops, STMT_JOIN);
	join->cell = cell_new(loops, CELL_REGISTER, "sum", DTYPE_F32, 1);
	join->from = lower;
	join->reduce[0] = reduce;
	block_add(loops, out, join);
	return cell_load(loops, join->cell, NULL);
}

/* Where later members look for what a row has once: a register of each thread, or memory, which one stores to. */
static struct block *once(const struct row *r, const struct definition *d)
{
	const struct index *t;
	return is_local(d) ? &r->b->loops->body.at[0]->body : building_threads(r->b->loops, 1, &t);
}

static void define_sum(const struct row *r, struct definition *d)
{
	struct loops *loops = r->b->loops;
	const struct chunks c = chunks_of(r, d);
	struct cell *lanes = cell_new(loops, CELL_ARRAY, "lanes", d->type, SUMS * c.count);
	const struct index *with[MAX_VARS] = { 0 };
	building_array(loops, lanes);
	add_lanes(r, d, &c, lanes);
	if (c.count > 1)
		join_chunks(r, d, c.count, lanes);
	begin_row(r, d, with);
	const struct expr *sum = join_lanes(loops, d->reduce, lanes);
	building_sum(r->b, d, with, sum, once(r, d));
}

/* All elements that a row has of it. */
static void define_elements(const struct row *r, struct definition *d)
{
	struct loops *loops = r->b->loops;
	const struct index *with[MAX_VARS] = { 0 }, *at[MAX_RANK], *t;
	int order[MAX_RANK], count = order_by_stride(d, r->axes, d->rank, order);
	int64_t extents[MAX_RANK], all = definition_row(d, r->axes), each = 1;
	begin_row(r, d, with);
	if (all == 1) {
		building_define(r->b, d, with, once(r, d));
		return;
	}
	FOR (n, count)
		extents[n] = d->extents[order[n]];
	if (extents[count - 1] % EACH == 0)
		extents[count - 1] /= each = EACH;
	struct block *out = building_threads(loops, all / each, &t);
	index_unflatten(loops->arena, t, count, extents, at);
	FOR (n, count)
		with[order[n]] = building_named(loops, order[n], at[n], out);
	const struct index *first = with[order[count - 1]];
	FOR (k, each) {
		with[order[count - 1]] = index_plus(loops->arena, index_scale(loops->arena, first, each), k);
		building_define(r->b, d, with, out);
	}
}

/* What one row of it is: a sum in 64 lanes, or elements.  How many its threads share; bytes in shared memory. */
static bool fits(const struct row *r, const struct definition *d, int64_t *shared, int64_t *bytes)
{
	bool sum = d->reduce != REDUCE_NONE;
	int64_t size = definition_row(d, r->axes), all = !sum ? size : in_chunks(d) ? definition_terms(d) : 1;
	*shared = all > *shared ? all : *shared;
	if (sum || (size > 1 && is_local(d)))
		*bytes += (sum ? SUMS * (in_chunks(d) ? CHUNKS_MOST : 1) : size) * dtypes[d->type].bits / 8;
	return size > 0 && !d->lies && !definition_scatters(d) && !scheduled(d)->lies_in
	        && (!sum || (size == 1 && d->order == ORDER_LANES && definition_terms(d) >= SUMS));
}

bool loops_rows(struct building *b)
{
	const struct kernel *kernel = b->kernel;
	const struct definition *last = kernel->members.at[kernel->members.count - 1];
	struct row r = { .b = b, .axes = kernel->members.count == 1 ? last->rank : kernel->outer };
	int64_t extents[MAX_RANK], shared = 1, bytes = 0;
	int order[MAX_RANK], count = order_by_stride(last, 0, r.axes, order);
	bool fit = !b->loops->target->share.warps && kernel_counted(kernel) < 0, sums = false;
	for (size_t m = 0; m < kernel->members.count && fit; m++) {
		fit = fits(&r, kernel->members.at[m], &shared, &bytes);
		sums |= kernel->members.at[m]->reduce != REDUCE_NONE;
	}
	FOR (n, count)
		extents[n] = last->extents[order[n]];
	if (!fit || !sums || bytes > b->loops->target->scratch_bytes)
		return false;
	shared = (shared + EACH * SUMS - 1) / (EACH * SUMS);
	r.chunks = shared < CHUNKS_MOST ? (int)shared : CHUNKS_MOST;
	building_cells(b);
	building_blocks(b->loops, order, count, extents, r.chunks * SUMS / LANES, "rows", r.at);
	FOR_ALL (c, b->loops->cells)
		if (b->loops->cells.at[c]->kind == CELL_ARRAY)
			building_array(b->loops, b->loops->cells.at[c]);
	FOR_EACH (struct definition *member, kernel->members) {
		(member->reduce ? define_sum : define_elements)(&r, member);
	}
	return true;
}
