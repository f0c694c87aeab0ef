/* squares.c: blocks of warps whose rounds are dealt to all their threads, where lanes are threads.  A transposition
 * goes through squares in shared memory: what lies side by side in what is loaded and what lies side by side in what is
 * stored are both a warp's neighbours.
 *
 *     for t < 1024    threads:   square[33*(t/32) + t%32] = x[…]      along `across`
 *     for t < 1024    threads:   y[…] = f(square[33*(t%32) + t/32])   along the output */
#include "loops/building.h"

enum { SIDE = 32, SQUARES_MOST = 4, WARPS = 8 };
struct squares {
	struct building *b;
	const struct definition *d;
	int unit, across;
	const struct expr *load[SQUARES_MOST];
	int count;
	bool fits;
};

static void see_crossing(void *user, const struct expr *load)
{
	struct squares *s = user;
	const struct index *at = schedule_address(s->b->loops->arena, load->of, load->at);
	int64_t factor = index_factor(at, s->unit);
	if (index_factor(at, s->across) != 1 || !factor || factor == 1)
		return;
	FOR (i, s->count)
		if (s->load[i] == load)
			return;
	s->fits &= load->type == DTYPE_F32 && s->count < SQUARES_MOST && !index_bends(at, s->across)
	        && !index_bends(at, s->unit);
	if (s->fits)
		s->load[s->count++] = load;
}

/* A loop over the places of a square, and in it what is inside of the tensor: the variables at row and column of it. */
static struct block *places_in(
        struct squares *s, const struct index **with, int row, int column, const struct index **t)
{
	struct loops *loops = s->b->loops;
	struct stmt *all = for_new(loops, var_new(loops, "t", SIDE * SIDE), SIDE * SIDE, ROLE_THREADS);
	const int var[2] = { row, column };
	struct range *ranges = arena_new_array(loops->arena, struct range, 2);
	int count = 0;
	*t = index_var(loops->arena, all->var, SIDE * SIDE);
	FOR (k, 2) {
		with[var[k]] =
		        index_add(loops->arena, with[var[k]], (k ? index_mod : index_div)(loops->arena, *t, SIDE));
		if (s->d->extents[var[k]] % SIDE)
			ranges[count++] = (struct range){ with[var[k]], 0, s->d->extents[var[k]] };
	}
	struct block *out = &s->b->loops->body.at[0]->body;
	block_add(loops, out, all);
	if (!count)
		return &all->body;
	struct stmt *inside = stmt_new(loops, STMT_IF);
	inside->ranges = ranges;
	inside->range_count = count;
	block_add(loops, &all->body, inside);
	return &inside->body;
}

static const struct index *square_place(struct arena *arena, const struct index *t, bool turned)
{
	const struct index *row = index_div(arena, t, SIDE), *column = index_mod(arena, t, SIDE);
	return index_add(arena, index_scale(arena, turned ? column : row, SIDE + 1), turned ? row : column);
}

struct taking {
	const struct expr *from[SQUARES_MOST], *to[SQUARES_MOST];
	int count;
};
static const struct expr *taken(void *user, const struct expr *load)
{
	const struct taking *t = user;
	FOR (i, t->count)
		if (t->from[i] == load)
			return t->to[i];
	return load;
}

static void define_squares(struct squares *s, const struct index *const *first)
{
	struct loops *loops = s->b->loops;
	struct arena *arena = loops->arena;
	struct cell *square[SQUARES_MOST];
	const struct index *with[MAX_VARS], *t;
	FOR (i, s->count) {
		struct stmt *array = stmt_new(loops, STMT_ARRAY);
		array->cell = square[i] = cell_new(loops, CELL_ARRAY, "square", DTYPE_F32, SIDE * (SIDE + 1));
		block_add(loops, &loops->body.at[0]->body, array);
	}
	memcpy(with, first, sizeof with);
	struct block *in = places_in(s, with, s->unit, s->across, &t);
	FOR (i, s->count) {
		struct stmt *store = stmt_new(loops, STMT_STORE);
		store->cell = square[i];
		store->at = square_place(arena, t, false);
		store->value = building_whole(s->b, s->load[i], with);
		block_add(loops, in, store);
	}
	struct taking taking = { .count = s->count };
	memcpy(with, first, sizeof with);
	struct block *out = places_in(s, with, s->across, s->unit, &t);
	FOR (i, s->count) {
		taking.from[i] = building_whole(s->b, s->load[i], with);
		taking.to[i] = cell_load(loops, square[i], square_place(arena, t, true));
	}
	building_define(s->b, (struct definition *)(uintptr_t)s->d, with, out);
	FOR (i, out->count)
		if (out->at[i]->value)
			out->at[i]->value = expr_map_loads(arena, out->at[i]->value, taken, &taking);
}

bool loops_squares(struct building *b, int across, const int *order, int count)
{
	struct loops *loops = b->loops;
	const struct definition *d = b->kernel->members.at[0];
	building_cells(b);
	struct squares s = { .b = b, .d = d, .unit = order[count - 1], .across = across, .fits = true };
	int64_t extents[MAX_RANK], blocks = 1;
	const struct index *at[MAX_RANK], *with[MAX_VARS] = { 0 };
	if (loops->target->share.warps || kernel_counted(b->kernel) >= 0 || d->extents[across] < SIDE / 2
	        || d->extents[s.unit] < SIDE / 2)
		return false;
	expr_loads(d->body, see_crossing, &s);
	if (!s.fits || !s.count)
		return false;
	FOR (n, count) {
		bool side = order[n] == across || order[n] == s.unit;
		extents[n] = side ? (d->extents[order[n]] + SIDE - 1) / SIDE : d->extents[order[n]];
		blocks *= extents[n];
	}
	struct stmt *loop = for_new(loops, var_new(loops, "b", blocks), blocks, ROLE_BLOCKS);
	loops->blocks = blocks;
	loops->warps = WARPS;
	loops->blocks_of = loops->tile = "squares of 32 x 32";
	block_add(loops, &loops->body, loop);
	index_unflatten(loops->arena, index_var(loops->arena, loop->var, blocks), count, extents, at);
	FOR (n, count) {
		at[n] = building_named(loops, order[n], at[n], &loop->body);
		bool side = order[n] == across || order[n] == s.unit;
		with[order[n]] = side ? index_scale(loops->arena, at[n], SIDE) : at[n];
	}
	FOR (v, d->rank)
		if (!with[v])
			with[v] = index_constant(loops->arena, 0);
	define_squares(&s, with);
	return true;
}
