/* columns.c: sums in 64 lanes of what lies apart, whose neighbours are other sums': columns.  A warp takes 32 columns
 * side by side, eight warps the 64 partial results of each, eight a warp; they meet in shared memory.  Where blocks are
 * few and columns long it is 32 warps, two a warp.
 *
 *     for t < 256    threads:   sums[t] = partial results t/32, t/32 + 8, … of column t%32, joined
 *     for t < 32     threads:   y[…] = sums[t], sums[t + 32], …, joined */
#include "loops/building.h"

enum { COLUMNS = 32, WARPS = 8, PARTS_MOST = SUMS / WARPS, WARPS_MOST = 32, LONG = 8 * SUMS, COLUMNS_LEAST = 16 };
struct columns {
	struct building *b;
	const struct definition *d;
	int unit, warps;
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

/* Threads t < all, and in them what is inside of the tensor at column t % COLUMNS. */
static struct block *column_threads(struct columns *c, int64_t all, const struct index **with, const struct index **t)
{
	struct loops *loops = c->b->loops;
	struct block *out = building_threads(loops, all, t);
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

static void add_term(
        struct columns *c, struct cell *part, const struct index *term, const struct index **with, struct block *out)
{
	struct loops *loops = c->b->loops;
	const struct definition *d = c->d;
	index_unflatten(loops->arena, term, d->reduced, d->reduced_extents, with + d->rank);
	building_set(loops, part,
	        reduce_step(loops, d, cell_load(loops, part, NULL), building_whole(c->b, d->body, with)), false, out);
}

/* The partial results z, z + 8, … of a column, joined. */
static const struct expr *add_parts(struct columns *c, int z, const struct index **with, struct block *out)
{
	struct loops *loops = c->b->loops;
	struct arena *arena = loops->arena;
	struct cell *part[PARTS_MOST];
	const struct definition *d = c->d;
	const int parts = SUMS / c->warps;
	int64_t terms = definition_terms(d), main = terms / SUMS * SUMS, rest = terms - main;
	FOR (k, parts) {
		part[k] = cell_new(loops, CELL_REGISTER, "sum", d->type, 1);
		building_set(loops, part[k], reduce_start(loops->arena, d->reduce, d->type), true, out);
	}
	struct stmt *loop = for_new(loops, var_new(loops, "u", main), main, ROLE_SERIAL);
	loop->step = SUMS;
	FOR (k, parts)
		add_term(c, part[k],
		        index_add(arena, index_var(arena, loop->var, main),
		                index_plus(arena, index_var(arena, z, c->warps), k * c->warps)),
		        with, &loop->body);
	block_add(loops, out, loop);
	for (int k = 0; k * c->warps < rest; k++) {
		int64_t left = rest - k * c->warps < c->warps ? rest - k * c->warps : c->warps;
		struct stmt *some = stmt_new(loops, left < c->warps ? STMT_IF : STMT_SCOPE);
		struct range *range = arena_new(arena, struct range);
		*range = (struct range){ index_var(arena, z, c->warps), 0, left };
		some->ranges = left < c->warps ? range : NULL;
		some->range_count = left < c->warps;
		add_term(c, part[k], index_plus(arena, index_var(arena, z, left), main + k * c->warps), with,
		        &some->body);
		block_add(loops, out, some);
	}
	for (int half = parts / 2; half; half /= 2)
		FOR (k, half)
			building_set(loops, part[k],
			        reduce_join(loops, d->reduce, cell_load(loops, part[k], NULL),
			                cell_load(loops, part[k + half], NULL)),
			        false, out);
	return cell_load(loops, part[0], NULL);
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
	struct cell *sums = cell_new(loops, CELL_ARRAY, "sums", c->d->type, COLUMNS * c->warps);
	building_array(loops, sums);
	memcpy(with, first, sizeof with);
	struct block *out = column_threads(c, COLUMNS * c->warps, with, &t);
	int low = index_new(loops, "z", c->warps, index_div(loops->arena, t, COLUMNS), out);
	building_put(loops, sums, t, add_parts(c, low, with, out), out);
	memcpy(with, first, sizeof with);
	out = column_threads(c, COLUMNS, with, &t);
	building_sum(c->b, c->d, with, building_joined(loops, c->d->reduce, sums, t, COLUMNS, c->warps), out);
	define_rest(c, with, out);
}

/* A sum of columns first, then what is made of it, element by element. */
static bool are_columns(const struct building *b)
{
	const struct kernel *kernel = b->kernel;
	const struct definition *d = kernel->members.at[0];
	bool are = d->reduce != REDUCE_NONE && d->order == ORDER_LANES && !definition_scatters(d)
	        && definition_terms(d) >= SUMS && !b->loops->target->share.warps && kernel_counted(kernel) < 0;
	for (size_t m = 0; m < kernel->members.count && kernel->members.count > 1; m++) {
		const struct definition *member = kernel->members.at[m];
		are &= definition_row(member, kernel->outer) == 1 && definition_elements(member) > 0
		        && (!m || (member->reduce == REDUCE_NONE && !member->lies && !definition_scatters(member)));
	}
	return are;
}

bool loops_columns(struct building *b)
{
	struct loops *loops = b->loops;
	const struct definition *d = b->kernel->members.at[0];
	int order[MAX_RANK], count = order_by_stride(d, 0, d->rank, order);
	struct columns c = { .b = b, .d = d, .unit = count ? order[count - 1] : 0 };
	int64_t extents[MAX_RANK], blocks = 1;
	const struct index *with[MAX_VARS] = { 0 };
	if (!are_columns(b) || !count || d->extents[c.unit] < COLUMNS_LEAST)
		return false;
	expr_loads(d->body, see_column, &c);
	if (!c.loads || c.along)
		return false;
	building_cells(b);
	FOR (n, count)
		extents[n] = order[n] == c.unit ? ceil_div(d->extents[c.unit], COLUMNS) : d->extents[order[n]];
	blocks = extents_product(count, extents);
	c.warps = blocks < loops->target->gpu->processors && definition_terms(d) >= LONG ? WARPS_MOST : WARPS;
	building_blocks(loops, order, count, extents, c.warps, "32 columns", with);
	with[c.unit] = index_scale(loops->arena, with[c.unit], COLUMNS);
	define_columns(&c, with);
	return true;
}
