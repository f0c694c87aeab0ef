/* columns.c: sums in 64 lanes of what lies apart, whose neighbours are other sums': columns.  A warp takes 32 columns
 * side by side, eight warps the 64 partial results of each, eight a warp; they meet in shared memory.
 *
 *     for t < 256    threads:   sums[t] = partial results t/32, t/32 + 8, … of column t%32, joined
 *     for t < 32     threads:   y[…] = sums[t], sums[t + 32], …, joined */
#include "loops/building.h"

enum { COLUMNS = 32, WARPS = 8, PARTS = SUMS / WARPS, COLUMNS_LEAST = 16 };
struct columns {
	struct building *b;
	const struct definition *d;
	int unit;
	int loads, along; /* of neighbouring columns apart along the terms; of others that depend on the terms */
};

static void see_column(void *user, const struct expr *load)
{
	struct columns *c = user;
	const struct index *at = schedule_address(c->b->loops->arena, load->of, load->at);
	int terms = c->d->rank + c->d->reduced - 1;
	while (terms > c->d->rank && c->d->reduced_extents[terms - c->d->rank] == 1)
		terms--;
	int64_t step = index_factor(at, terms);
	bool column = index_factor(at, c->unit) == 1 && !index_bends(at, c->unit) && step != 1;
	c->loads += column;
	c->along += !column && step;
}

/* Threads t < all. */
static struct block *threads_of(struct columns *c, int64_t all, const struct index **t)
{
	struct loops *loops = c->b->loops;
	struct stmt *loop = for_new(loops, var_new(loops, "t", all), all, ROLE_THREADS);
	block_add(loops, &loops->body.at[0]->body, loop);
	*t = index_var(loops->arena, loop->var, all);
	return &loop->body;
}

/* Threads t < all, and in them what is inside of the tensor at column t % COLUMNS. */
static struct block *column_threads(struct columns *c, int64_t all, const struct index **with, const struct index **t)
{
	struct loops *loops = c->b->loops;
	struct block *out = threads_of(c, all, t);
	with[c->unit] = index_add(loops->arena, with[c->unit], index_mod(loops->arena, *t, COLUMNS));
	if (c->d->extents[c->unit] % COLUMNS == 0)
		return out;
	struct stmt *inside = stmt_new(loops, STMT_IF);
	struct range *range = arena_new(loops->arena, struct range);
	*range = (struct range){ with[c->unit], 0, c->d->extents[c->unit] };
	inside->ranges = range;
	inside->range_count = 1;
	block_add(loops, out, inside);
	return &inside->body;
}

static void set(struct loops *loops, struct cell *cell, const struct expr *value, bool declare, struct block *out)
{
	struct stmt *stmt = stmt_new(loops, STMT_SET);
	stmt->cell = cell;
	stmt->value = value;
	stmt->declare = declare;
	block_add(loops, out, stmt);
}

static void store(
        struct columns *c, struct cell *array, const struct index *at, const struct expr *value, struct block *out)
{
	struct stmt *stmt = stmt_new(c->b->loops, STMT_STORE);
	stmt->cell = array;
	stmt->at = at;
	stmt->value = value;
	block_add(c->b->loops, out, stmt);
}

static void add_term(
        struct columns *c, struct cell *part, const struct index *term, const struct index **with, struct block *out)
{
	struct loops *loops = c->b->loops;
	const struct definition *d = c->d;
	index_unflatten(loops->arena, term, d->reduced, d->reduced_extents, with + d->rank);
	set(loops, part, reduce_step(loops, d, cell_load(loops, part, NULL), building_whole(c->b, d->body, with)),
	        false, out);
}

/* The partial results z, z + 8, … of a column, joined. */
static const struct expr *add_parts(struct columns *c, int z, const struct index **with, struct block *out)
{
	struct loops *loops = c->b->loops;
	struct arena *arena = loops->arena;
	struct cell *part[PARTS];
	const struct definition *d = c->d;
	int64_t terms = definition_terms(d), main = terms / SUMS * SUMS, rest = terms - main;
	for (int k = 0; k < PARTS; k++) {
		part[k] = cell_new(loops, CELL_REGISTER, "sum", d->type, 1);
		set(loops, part[k], reduce_start(loops, d->reduce, d->type), true, out);
	}
	struct stmt *loop = for_new(loops, var_new(loops, "u", main), main, ROLE_SERIAL);
	loop->step = SUMS;
	for (int k = 0; k < PARTS; k++)
		add_term(c, part[k],
		        index_add(arena, index_var(arena, loop->var, main),
		                index_plus(arena, index_var(arena, z, WARPS), k * WARPS)),
		        with, &loop->body);
	block_add(loops, out, loop);
	for (int k = 0; k * WARPS < rest; k++) {
		int64_t left = rest - k * WARPS < WARPS ? rest - k * WARPS : WARPS;
		struct stmt *some = stmt_new(loops, left < WARPS ? STMT_IF : STMT_SCOPE);
		struct range *range = arena_new(arena, struct range);
		*range = (struct range){ index_var(arena, z, WARPS), 0, left };
		some->ranges = left < WARPS ? range : NULL;
		some->range_count = left < WARPS;
		add_term(c, part[k], index_plus(arena, index_var(arena, z, left), main + k * WARPS), with, &some->body);
		block_add(loops, out, some);
	}
	for (int half = PARTS / 2; half; half /= 2)
		for (int k = 0; k < half; k++)
			set(loops, part[k],
			        reduce_join(loops, d->reduce, cell_load(loops, part[k], NULL),
			                cell_load(loops, part[k + half], NULL)),
			        false, out);
	return cell_load(loops, part[0], NULL);
}

static const struct expr *joined(
        struct columns *c, struct cell *sums, const struct index *first, int apart, int from, int count, int step)
{
	struct loops *loops = c->b->loops;
	if (count == 1)
		return cell_load(loops, sums, index_plus(loops->arena, first, (int64_t)apart * from));
	return reduce_join(loops, c->d->reduce, joined(c, sums, first, apart, from, count / 2, 2 * step),
	        joined(c, sums, first, apart, from + step, count / 2, 2 * step));
}

/* What is made of a result, element by element. */
static void define_rest(struct columns *c, const struct index *const *at, struct block *out)
{
	for (size_t m = 1; m < c->b->kernel->members.count; m++) {
		const struct index *own[MAX_VARS] = { 0 };
		memcpy(own, at, MAX_RANK * sizeof *own);
		building_define(c->b, c->b->kernel->members.at[m], own, out);
	}
}

static void define_columns(struct columns *c, const struct index *const *first)
{
	struct loops *loops = c->b->loops;
	const struct index *with[MAX_VARS], *t;
	struct stmt *array = stmt_new(loops, STMT_ARRAY);
	array->cell = cell_new(loops, CELL_ARRAY, "sums", c->d->type, COLUMNS * WARPS);
	block_add(loops, &loops->body.at[0]->body, array);
	memcpy(with, first, sizeof with);
	struct block *out = column_threads(c, COLUMNS * WARPS, with, &t);
	int low = index_new(loops, "z", WARPS, index_div(loops->arena, t, COLUMNS), out);
	store(c, array->cell, t, add_parts(c, low, with, out), out);
	memcpy(with, first, sizeof with);
	out = column_threads(c, COLUMNS, with, &t);
	building_sum(c->b, c->d, with, joined(c, array->cell, t, COLUMNS, 0, WARPS, 1), out);
	define_rest(c, with, out);
}

/* A sum of columns first, then what is made of it, element by element. */
static bool are_columns(const struct building *b)
{
	const struct kernel *kernel = b->kernel;
	const struct definition *d = kernel->members.at[0];
	bool are = d->reduce != REDUCE_NONE && d->order == ORDER_LANES && dtypes[d->type].class == CLASS_FLOAT
	        && !definition_scatters(d) && definition_terms(d) >= SUMS && !b->loops->target->block_warps
	        && kernel_counted(kernel) < 0;
	for (size_t m = 0; m < kernel->members.count && kernel->members.count > 1; m++) {
		const struct definition *member = kernel->members.at[m];
		are &= local_size(member, kernel->outer) == 1 && definition_elements(member) > 0
		        && (!m || (member->reduce == REDUCE_NONE && !member->lies && !definition_scatters(member)));
	}
	return are;
}

/* The loop over the blocks, each of so many warps; where each stands. */
static void begin_blocks(struct columns *c, const int *order, int count, const int64_t *extents, int warps,
        const char *of, const struct index **with)
{
	struct loops *loops = c->b->loops;
	const struct index *at[MAX_RANK];
	int64_t blocks = 1;
	for (int n = 0; n < count; n++)
		blocks *= extents[n];
	struct stmt *loop = for_new(loops, var_new(loops, "b", blocks), blocks, ROLE_BLOCKS);
	loops->blocks = blocks;
	loops->warps = warps;
	loops->blocks_of = loops->tile = of;
	block_add(loops, &loops->body, loop);
	index_unflatten(loops->arena, index_var(loops->arena, loop->var, blocks), count, extents, at);
	for (int v = 0; v < c->d->rank; v++)
		with[v] = index_constant(loops->arena, 0);
	for (int n = 0; n < count; n++)
		with[order[n]] = building_named(loops, order[n], at[n], &loop->body);
}

bool loops_columns(struct building *b)
{
	struct loops *loops = b->loops;
	const struct definition *d = b->kernel->members.at[0];
	int order[MAX_RANK], count = order_by_stride(d, 0, d->rank, order);
	struct columns c = { .b = b, .d = d, .unit = count ? order[count - 1] : 0 };
	int64_t extents[MAX_RANK];
	const struct index *with[MAX_VARS] = { 0 };
	if (!are_columns(b) || !count || d->extents[c.unit] < COLUMNS_LEAST)
		return false;
	expr_loads(d->body, see_column, &c);
	if (!c.loads || c.along)
		return false;
	building_cells(b);
	for (int n = 0; n < count; n++)
		extents[n] = order[n] == c.unit ? (d->extents[c.unit] + COLUMNS - 1) / COLUMNS : d->extents[order[n]];
	begin_blocks(&c, order, count, extents, WARPS, "32 columns", with);
	with[c.unit] = index_scale(loops->arena, with[c.unit], COLUMNS);
	define_columns(&c, with);
	return true;
}

/* ---- maxima ---- */
/* A long row's maximum by a block of up to 32 warps: up to 16 threads go along each of the 64 lanes, one behind the
 * other, so that of equal zeros the one is kept that the definition keeps. */
enum { CHUNKS_MOST = 16, AT_ONCE_MOST = 32, ROW_LEAST = 4096 };
struct chunks {
	int count, at_once; /* threads along a lane; terms that each asks for at once */
	int64_t rounds;     /* of those */
	bool ragged;        /* not all of the last ones are there */
};

static struct chunks chunks_of(int64_t terms)
{
	int64_t lane = (terms + SUMS - 1) / SUMS;
	for (int count = CHUNKS_MOST; count >= CHUNKS_MOST / 2 && terms % SUMS == 0; count--)
		for (int at_once = AT_ONCE_MOST; at_once >= AT_ONCE_MOST / 2; at_once--)
			if (lane % count == 0 && lane / count % at_once == 0)
				return (struct chunks){ count, at_once, lane / count / at_once, false };
	int64_t step = (int64_t)CHUNKS_MOST * (AT_ONCE_MOST / 2);
	return (struct chunks){ CHUNKS_MOST, AT_ONCE_MOST / 2, (lane + step - 1) / step, true };
}

static void add_chunk(
        struct columns *c, const struct index *thread, const struct index **with, struct cell *sum, struct block *out)
{
	struct loops *loops = c->b->loops;
	struct arena *arena = loops->arena;
	const struct definition *d = c->d;
	const struct chunks chunks = chunks_of(definition_terms(d));
	int64_t each = chunks.rounds * chunks.at_once * SUMS, last = each * (chunks.count - 1) + SUMS;
	const struct index *first = index_add(
	        arena, index_mod(arena, thread, SUMS), index_scale(arena, index_div(arena, thread, SUMS), each));
	first = index_var(arena, index_new(loops, "first", last, first, out), last);
	struct stmt *loop = for_new(loops, var_new(loops, "u", chunks.rounds), chunks.rounds, ROLE_SERIAL);
	set(loops, sum, reduce_start(loops, d->reduce, d->type), true, out);
	block_add(loops, out, loop);
	first = index_add(arena, first,
	        index_scale(arena, index_var(arena, loop->var, chunks.rounds), (int64_t)SUMS * chunks.at_once));
	for (int k = 0; k < chunks.at_once; k++) {
		const struct index *term = index_plus(arena, first, k * SUMS);
		struct range there = { term, 0, definition_terms(d) };
		index_unflatten(arena, term, d->reduced, d->reduced_extents, with + d->rank);
		const struct expr *value = building_whole(c->b, d->body, with);
		if (chunks.ragged)
			value = expr_select(arena, &there, 1, value, reduce_start(loops, d->reduce, d->type));
		set(loops, sum, reduce_step(loops, d, cell_load(loops, sum, NULL), value), false, &loop->body);
	}
}

static void define_maximum(struct columns *c, const struct index **with)
{
	struct loops *loops = c->b->loops;
	struct stmt *array = stmt_new(loops, STMT_ARRAY);
	int64_t chunks = chunks_of(definition_terms(c->d)).count;
	struct cell *lanes = array->cell = cell_new(loops, CELL_ARRAY, "lanes", c->d->type, SUMS * chunks),
	            *sum = cell_new(loops, CELL_REGISTER, "sum", c->d->type, 1),
	            *lane = cell_new(loops, CELL_REGISTER, "sum", c->d->type, 1);
	const struct index *t;
	block_add(loops, &loops->body.at[0]->body, array);
	struct block *out = threads_of(c, SUMS * chunks, &t);
	add_chunk(c, t, with, sum, out);
	store(c, lanes, t, cell_load(loops, sum, NULL), out);
	out = threads_of(c, SUMS, &t);
	set(loops, lane, cell_load(loops, lanes, t), true, out);
	for (int64_t k = 1; k < chunks; k++)
		set(loops, lane,
		        reduce_join(loops, c->d->reduce, cell_load(loops, lane, NULL),
		                cell_load(loops, lanes, index_plus(loops->arena, t, k * SUMS))),
		        false, out);
	store(c, lanes, t, cell_load(loops, lane, NULL), out);
	out = threads_of(c, 1, &t);
	building_sum(c->b, c->d, with, joined(c, lanes, index_constant(loops->arena, 0), 1, 0, SUMS, 1), out);
	define_rest(c, with, out);
}

bool loops_maximum(struct building *b)
{
	const struct definition *d = b->kernel->members.at[0];
	int order[MAX_RANK], count = order_by_stride(d, 0, d->rank, order);
	struct columns c = { .b = b, .d = d };
	const struct index *with[MAX_VARS] = { 0 };
	if (!are_columns(b) || (d->reduce != REDUCE_MAX && d->reduce != REDUCE_MIN) || d->start
	        || definition_terms(d) < ROW_LEAST || definition_elements(d) >= b->loops->target->tiles_least)
		return false;
	building_cells(b);
	int64_t extents[MAX_RANK];
	for (int n = 0; n < count; n++)
		extents[n] = d->extents[order[n]];
	int warps = SUMS / COLUMNS * chunks_of(definition_terms(d)).count;
	begin_blocks(&c, order, count, extents, warps, "rows", with);
	define_maximum(&c, with);
	return true;
}
