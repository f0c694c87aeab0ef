/* build.c: kernel -> the loop over its blocks, and in that its definitions' own (define.c).
 * A kernel of several members has its common outer loops there; one definition alone gives as many of its outermost
 * loops (by address) as leave a block worth starting. */
#include "loops/building.h"
#include <limits.h>

enum { BLOCK_WORK = 2048 }; /* elements or terms below which a block is not worth a thread */
static int64_t block_work(const struct loops *loops)
{
	return loops->target->share.work ? loops->target->share.work : BLOCK_WORK;
}

/* No block is worth a thread: the JIT's kernels, which one runs. */
static bool is_alone(const struct loops *loops) { return block_work(loops) == INT_MAX; }

static struct loops *loops_new(
        struct build *build, struct arena *arena, const struct target *target, const struct kernel *kernel)
{
	struct loops *loops = arena_new(arena, struct loops);
	loops->build = build;
	loops->arena = arena;
	loops->target = target;
	loops->kernel = kernel;
	loops->blocks = 1;
	loops->blocks_of = "all";
	return loops;
}

static struct stmt *block_loop(struct loops *loops, int64_t extent)
{
	int var = var_new(loops, "b", extent);
	struct stmt *loop = for_new(loops, var, extent, ROLE_BLOCKS);
	loops->blocks = extent;
	block_add(loops, &loops->body, loop);
	return loop;
}

static const char *names_of(struct loops *loops, const int *order, int count)
{
	const char *names = NULL;
	FOR (n, count)
		names = arena_printf(loops->arena, "%s%s%s", names ? names : "", names ? " " : "",
		        output_names[order[n] % OUTPUT_NAMES]);
	return names ? names : "all";
}

/* The counted variable becomes the outermost of the `taken`, or one more of them, as far as `inside` allows. */
enum { LANES_LEAST = 64 };
static int take_counted(const struct building *b, int *order, int count, int taken, int inside)
{
	const struct kernel *kernel = b->kernel;
	int v = kernel_counted(kernel), at = 0;
	const struct definition *last = kernel->members.at[kernel->members.count - 1];
	while (at < count && order[at] != v)
		at++;
	if (kernel->members.count == 1 && last->reduce == REDUCE_NONE && taken && at && at < count - 1
	        && ends_by_lanes(b->loops->target))
		return taken; /* loops inside end by themselves */
	if (inside > 1 && count && order[count - 1] != v && last->extents[order[count - 1]] >= LANES_LEAST)
		inside = 1; /* tiles of lanes side by side */
	if (at >= count - (at >= taken ? inside : 0))
		return taken;
	memmove(order + 1, order, (size_t)at * sizeof *order);
	order[0] = v;
	return taken + (at >= taken);
}

/* The outermost loop of the blocks ends at its count: `by` blocks for each `per` rounds of it. */
static void end_blocks(struct loops *loops, const struct definition *d, int v, int64_t by, int64_t per)
{
	if (kernel_counted(loops->kernel) != v)
		return;
	loops->count = d->count.of[v];
	loops->most = d->extents[v];
	loops->ends_by = by;
	loops->ends_per = per;
}

/* Variable v of the output, as a variable of its own where it is computed from the block's number. */
static const struct index *named_index(
        struct loops *loops, int v, const struct index *at, int64_t extent, struct block *out)
{
	int64_t value;
	if (index_is_constant(at, &value) || index_is_var(at, &(int){ 0 }))
		return at;
	return index_var(loops->arena, index_new(loops, output_names[v % OUTPUT_NAMES], extent, at, out), extent);
}

/* The loops order[0 … count-1] over blocks of `together` rounds of the last of them, which run side by side.  `named`:
 * each variable is computed by an INDEX, else it is a quotient inside the addresses, which add up again where the
 * buffers are dense. */
static struct block *outer_loops(struct building *b, const struct definition *d, const int *order, int count,
        int64_t together, bool named, const struct index **with)
{
	struct loops *loops = b->loops;
	int64_t extents[MAX_RANK] = { 0 }, blocks = 1;
	const struct index *at[MAX_RANK];
	FOR (n, count)
		blocks *= extents[n] = d->extents[order[n]];
	bool apart =
	        count && extents[count - 1] % together == 0; /* else they go on in the next round of those around */
	if (apart)
		extents[count - 1] /= together;
	struct stmt *loop = block_loop(loops, blocks / together);
	if (count)
		end_blocks(
		        loops, d, order[0], count == 1 ? 1 : blocks / together / extents[0], count == 1 ? together : 1);
	loops->blocks_of = names_of(loops, order, count);
	const struct index *block = index_var(loops->arena, loop->var, blocks / together);
	if (apart || !count)
		index_unflatten(loops->arena, block, count, extents, at);
	for (int n = 0; named && n < count; n++)
		at[n] = named_index(loops, order[n], at[n], extents[n], &loop->body);
	if (together > 1) {
		struct stmt *rows = for_new(loops, var_new(loops, "r", together), together, ROLE_MAP);
		const struct index *row = index_var(loops->arena, rows->var, together);
		rows->together = true;
		loops->beside = (int)together;
		loops->beside_var = rows->var;
		block_add(loops, &loop->body, rows);
		if (apart)
			at[count - 1] =
			        index_add(loops->arena, index_scale(loops->arena, at[count - 1], together), row);
		else
			index_unflatten(loops->arena,
			        index_add(loops->arena, index_scale(loops->arena, block, together), row), count,
			        extents, at);
		loops->blocks_of = arena_printf(loops->arena, "%lld of %s", (long long)together, loops->blocks_of);
		loop = rows;
	}
	FOR (n, count)
		with[order[n]] = at[n];
	return &loop->body;
}

/* The loops order[0 … taken-1] over blocks, and `share` rounds of order[taken] for each. */
static struct block *shared_out(struct building *b, const struct definition *d, const int *order, int taken,
        int64_t share, bool named, const struct index **with)
{
	struct loops *loops = b->loops;
	int64_t extents[MAX_RANK], blocks = 1;
	const struct index *at[MAX_RANK];
	for (int n = 0; n <= taken; n++)
		blocks *= extents[n] = n < taken ? d->extents[order[n]] : d->extents[order[n]] / share;
	struct stmt *loop = block_loop(loops, blocks);
	loops->blocks_of = names_of(loops, order, taken + 1);
	index_unflatten(loops->arena, index_var(loops->arena, loop->var, blocks), taken + 1, extents, at);
	for (int n = 0; named && n <= taken; n++)
		at[n] = named_index(loops, order[n], at[n], extents[n], &loop->body);
	FOR (n, taken)
		with[order[n]] = at[n];
	b->shared = order[taken];
	b->share = share;
	b->share_from = index_scale(loops->arena, at[taken], share);
	return &loop->body;
}

/* How many of the loops, outermost first, a block is one round of.  `inside` of them stay: lanes, and neighbours for
 * tiles. */
static int outer_count(
        const struct loops *loops, const struct definition *d, double work, const int *order, int count, int inside)
{
	int taken = 0;
	while (taken < count - inside && work / (double)d->extents[order[taken]] >= (double)block_work(loops))
		work /= (double)d->extents[order[taken++]];
	return taken;
}

/* Where lanes are threads blocks are warps, and few of them leave the machine idle: then neighbours do not stay
 * together. */
static int inside_of(
        const struct loops *loops, const struct definition *d, double work, const int *order, int count, int inside)
{
	int64_t blocks = 1;
	for (int n = outer_count(loops, d, work, order, count, inside) - 1; n >= 0; n--)
		blocks *= d->extents[order[n]];
	return inside > 1 && loops->target->lanes_are_threads && blocks < loops->target->share.tiles ? 1 : inside;
}

static double work_of(const struct definition *d)
{
	return (double)definition_elements(d) * (double)definition_terms(d);
}

/* How many rows run side by side: short ones wait for their own sums, one after the other. */
enum { ROW_MOST = 1024, PAIR_MOST = 2048, FUSED_TOGETHER = 8, CALLED_TOGETHER = 128, CALLED_FLOATS = 4096 };
static int64_t rows_together(const struct building *b, int64_t rows)
{
	const struct target *target = b->loops->target;
	int64_t most = 1, largest = 1;
	FOR_EACH (const struct definition *d, b->kernel->members) {
		if (terms_are_narrowed(b, d))
			return 1;
		int64_t size = definition_row(d, b->outer);
		largest = size > largest ? size : largest;
		if (d->reduce == REDUCE_NONE)
			continue;
		if (size > 1)
			return 1;
		int64_t registers = SUMS / target->lanes,
		        fit = d->order != ORDER_SERIAL ? target->registers / 2 / registers
		        : is_alone(b->loops)           ? CALLED_TOGETHER
		                                       : FUSED_TOGETHER;
		most = most == 1 || fit < most ? fit : most;
	}
	if (largest > PAIR_MOST || target->lanes == 1)
		return 1;
	if (largest > ROW_MOST && most > 2) /* two hide each other's sums; more would not stay in L1 */
		most = 2;
	while (most > 1
	        && (rows % most || (is_alone(b->loops) && most > FUSED_TOGETHER && most * largest > CALLED_FLOATS)))
		most--;
	return most < 1 ? 1 : most;
}

/* Windows that overlap share part of what neighbouring rows load: some rows side by side load it once.  A
 * straight line of them must fit, and enough blocks must be left to share out. */
enum { WINDOW_TERMS = 16, BLOCKS_LEAST = 4 };
struct sliding {
	struct arena *arena;
	const struct definition *d;
	int row;
	bool shares;
};
static void see_sliding(void *user, const struct expr *load)
{
	struct sliding *s = user;
	const struct index *address = schedule_address(s->arena, load->of, load->at);
	int64_t factor = index_factor(address, s->row);
	for (int r = 0; r < s->d->reduced && factor; r++) {
		int64_t tap = index_factor(address, s->d->rank + r),
		        step = tap > 0 && factor % tap == 0 ? factor / tap : 0;
		s->shares |= step && s->d->reduced_extents[r] > 2 && s->d->reduced_extents[r] > step;
	}
}

static bool slides_along(const struct building *b, const struct definition *d, int row)
{
	struct sliding s = { b->loops->arena, d, row, false };
	expr_loads(d->body, see_sliding, &s);
	return s.shares;
}

static int64_t windows_together(const struct building *b, const struct definition *last, const int *order, int taken)
{
	static const int many[] = { 4, 5, 3, 2 }, few[] = { 2, 3, 0, 0 }; /* rows for 32 registers; for 16 */
	const struct target *target = b->loops->target;
	const int *best = target->registers >= 32 ? many : few;
	const struct definition *first = b->kernel->members.at[0];
	if (!taken || !has_vectors(target) || first->reduce == REDUCE_NONE || first->order != ORDER_SERIAL
	        || definition_terms(first) > WINDOW_TERMS || terms_are_narrowed(b, first))
		return 1;
	for (size_t i = 1; i < b->kernel->members.count; i++)
		if (b->kernel->members.at[i]->reduce != REDUCE_NONE)
			return 1;
	int64_t rows = slides_along(b, first, order[taken - 1]) ? last->extents[order[taken - 1]] : 0;
	for (size_t i = 0; rows && i < COUNT(many) && best[i]; i++)
		if (rows % best[i] == 0 && rows / best[i] >= BLOCKS_LEAST)
			return best[i];
	return 1;
}

/* One loop more where its rows are windows to run side by side, and lanes lie along such windows too: planes of
 * channels, each by rows. */
static int windows_taken(
        const struct building *b, const struct definition *last, const int *order, int taken, int count)
{
	return taken == count - 2 && slides_along(b, b->kernel->members.at[0], order[count - 1])
	                && windows_together(b, last, order, taken) == 1
	                && windows_together(b, last, order, taken + 1) > 1
	        ? taken + 1
	        : taken;
}

/* Rounds of the one loop that is left where lanes are threads: warps for parts of it, as long as the machine is not
 * full; 0: all of them. */
static int64_t lanes_share(const struct building *b, const struct definition *d, const int *order, int count, int taken)
{
	const struct target *target = b->loops->target;
	int64_t blocks = 1, share = target->lanes;
	if (taken != count - 1 || d->extents[order[taken]] % share)
		return 0;
	FOR (n, taken)
		blocks *= d->extents[order[n]];
	while (share < d->extents[order[taken]]
	        && (d->extents[order[taken]] % share
	                || blocks * d->extents[order[taken]] / share > target->share.tiles))
		share += target->lanes;
	return share < d->extents[order[taken]] ? share : 0;
}

/* Does what is added lie side by side along that variable?  Lanes lie there then. */
struct lying {
	struct arena *arena;
	int var;
	bool along;
};
static void see_lying(void *user, const struct expr *load)
{
	struct lying *l = user;
	l->along |= index_factor(schedule_address(l->arena, load->of, load->at), l->var) == 1;
}
static bool lies_along(const struct building *b, const struct definition *d, int var)
{
	struct lying l = { b->loops->arena, var, false };
	expr_loads(d->body, see_lying, &l);
	return l.along;
}

/* Lanes of sums of rows lie along what is added, not along the rows. */
static bool lanes_lie_along(const struct building *b, int var)
{
	FOR_EACH (const struct definition *d, b->kernel->members)
		if (d->reduce != REDUCE_NONE)
			return lies_along(b, d, var);
	return true;
}

/* Rounds of a loop that make a block, where its rounds are none and all of it is more than a fork: the largest divisor
 * that leaves some blocks, best of whole tiles of 2, 3 or 4 vectors; of lanes no block is less than two vectors; 0: it
 * stays whole.  What is made of calls (the JIT) has one thread. */
enum { FORK_BLOCKS = 8, TILE_VECS = 4, ANY_TILE_VECS = 12, BLOCKS_WANTED = 8, BLOCKS_MOST = 1024 };
static int64_t rounds_share(const struct building *b, int64_t extent, bool lanes, int64_t around, double work)
{
	const struct target *target = b->loops->target;
	double least = (double)block_work(b->loops);
	if (target->options.small || target->lanes == 1 || target->calls || work * (double)around < FORK_BLOCKS * least)
		return 0;
	int64_t any = (int64_t)target->lanes * ANY_TILE_VECS, tile = (int64_t)target->lanes * TILE_VECS,
	        wanted = work * (double)around < 4 * FORK_BLOCKS * least ? BLOCKS_WANTED / 2 : BLOCKS_WANTED;
	for (int64_t unit = any; unit; unit = unit == any ? tile : unit / 2)
		for (int64_t blocks = wanted / (unit == any ? 2 : 1); blocks <= BLOCKS_MOST
		        && (!lanes || unit >= target->lanes || blocks * 2 * target->lanes <= extent);
		        blocks++)
			if (extent % (blocks * unit) == 0 && work / (double)blocks >= least)
				return extent / blocks;
	return 0;
}

/* Where the outer loops are fewer blocks than are wanted: rounds of the loop inside them that make one, too, if that is
 * none of its lanes, and if no select of a map is decided along it: split.c cuts the loop there (a pad, a Concat). */
static int64_t block_share(
        const struct building *b, const struct definition *d, const int *order, int count, int taken, double work)
{
	int64_t around = 1;
	if (kernel_counted(b->kernel) >= 0 || taken == count)
		return 0;
	FOR (n, taken)
		around *= d->extents[order[n]];
	return b->loops->target->lanes_are_threads ? lanes_share(b, d, order, count, taken)
	        : (taken && (around >= BLOCKS_WANTED || taken == count - 1))
	                || (d->reduce == REDUCE_NONE && expr_selects_on(d->body, order[taken]))
	        ? 0
	        : rounds_share(b, d->extents[order[taken]], taken == count - 1 && lanes_lie_along(b, order[taken]),
	                around, work / (double)around);
}

/* Several definitions under common loops.  Where none has loops of its own, lanes and tiles lie along the common ones.
 */
static struct loops *build_members(struct building *b, bool named)
{
	const struct kernel *kernel = b->kernel;
	struct loops *loops = b->loops;
	const struct definition *last = kernel->members.at[kernel->members.count - 1];
	int order[MAX_RANK], count = 0, inside = 1;
	double work = 0;
	bool own = false;
	building_cells(b);
	FOR_EACH (const struct definition *d, kernel->members) {
		work += work_of(d);
		own |= definition_row(d, kernel->outer) > 1;
		if (d->reduce != REDUCE_NONE)
			inside = d->order == ORDER_SERIAL ? 2 : inside;
	}
	count = order_by_stride(last, 0, kernel->outer, order);
	inside = inside_of(loops, last, work, order, count, inside);
	int taken = own ? count
	                : windows_taken(b, last, order, outer_count(loops, last, work, order, count, inside), count);
	taken = take_counted(b, order, count, taken, inside);
	const struct index *with[MAX_VARS] = { 0 };
	int64_t share = own ? 0 : block_share(b, last, order, count, taken, work), rows = 1;
	for (int n = named || kernel_counted(kernel) >= 0 ? count - 1 : 0; n < count && n >= 0; n++)
		rows *= last->extents[order[n]];
	int64_t together = own && count && (!ends_by_lanes(loops->target) || order[count - 1] != kernel_counted(kernel))
	        ? rows_together(b, rows)
	        : own ? 1
	              : windows_together(b, last, order, taken);
	struct block *out = share ? shared_out(b, last, order, taken, share, named, with)
	                          : outer_loops(b, last, order, taken, together, named, with);
	for (int n = taken; n < count; n++)
		out = building_map(b, last, order[n], with, out);
	FOR_EACH (struct definition *d, kernel->members) {
		const struct index *at[MAX_VARS] = { 0 };
		memcpy(at, with, (size_t)kernel->outer * sizeof *at);
		FOR_ALL (c, loops->owners)
			if (loops->owners.at[c] == d && loops->cells.at[c]->kind == CELL_ARRAY) {
				struct stmt *array = stmt_new(loops, STMT_ARRAY);
				array->cell = loops->cells.at[c];
				block_add(loops, out, array);
			}
		building_define(b, d, at, out);
	}
	return loops;
}

/* A transposition: neighbours of the output lie apart in what is loaded, and neighbours there lie apart in the output,
 * along variable `across`.  A block is then some rounds of `across`, which vectorise.c puts innermost: each line of
 * memory is used whole. */
struct crossing {
	const struct definition *d;
	struct arena *arena;
	int unit, across;
};
static void see_crossing(void *user, const struct expr *load)
{
	struct crossing *c = user;
	const struct index *address = schedule_address(c->arena, load->of, load->at);
	int64_t factor = index_factor(address, c->unit);
	for (int v = 0; v < c->d->rank && (factor > 1 || factor < -1); v++)
		if (v != c->unit && c->d->extents[v] > 1 && index_factor(address, v) == 1)
			c->across = v;
}

static int crossed(struct building *b, const struct definition *d, const int *order, int count)
{
	struct crossing c = { d, b->loops->arena, count ? order[count - 1] : -1, -1 };
	if (!is_alone(b->loops) && d->reduce == REDUCE_NONE && d->type == DTYPE_F32 && count > 1
	        && !expr_has(d->body, 1u << EXPR_SELECT))
		expr_loads(d->body, see_crossing, &c);
	return c.across;
}

/* The largest divisor of the extent that is no more than a block's share of it: a line of what is loaded, so that each
 * of a square's rows is stored from its start to its end. */
enum { LINE_FLOATS = 16, SHARE_MOST = 64 };
static int64_t share_of(const struct target *target, int64_t extent)
{
	int64_t share = has_vectors(target) && extent % LINE_FLOATS == 0 ? LINE_FLOATS
	        : SHARE_MOST < extent                                    ? SHARE_MOST
	                                                                 : extent;
	while (extent % share)
		share--;
	return share < 16 ? extent : share;
}

/* Loops order[0 … count-1]: all but the last and `across` are outer, and so are shares of `across`. */
static struct loops *build_crossed(struct building *b, int across, const int *order, int count, bool named)
{
	struct definition *d = b->kernel->members.at[0];
	struct loops *loops = b->loops;
	int64_t extents[MAX_RANK], share = share_of(loops->target, d->extents[across]), blocks = 1;
	const struct index *at[MAX_RANK], *with[MAX_VARS] = { 0 };
	int outer = 0;
	FOR (n, count - 1) {
		extents[outer] = order[n] == across ? d->extents[across] / share : d->extents[order[n]];
		blocks *= extents[outer++];
	}
	struct stmt *loop = block_loop(loops, blocks);
	if (outer && order[0] != across)
		end_blocks(loops, d, order[0], blocks / extents[0], 1);
	loops->blocks_of = names_of(loops, order, outer);
	index_unflatten(loops->arena, index_var(loops->arena, loop->var, blocks), outer, extents, at);
	FOR (n, outer)
		with[order[n]] = named ? named_index(loops, order[n], at[n], extents[n], &loop->body) : at[n];
	int var = var_new(loops, output_names[across % OUTPUT_NAMES], share);
	struct stmt *inner = for_new(loops, var, share, ROLE_MAP);
	block_add(loops, &loop->body, inner);
	with[across] = index_add(
	        loops->arena, index_scale(loops->arena, with[across], share), index_var(loops->arena, var, share));
	building_define(b, d, with, &inner->body);
	return loops;
}

/* Rounds of one variable that a block has, where its loop is shared out: a divisor, best of whole vectors. */
enum { VECS_TOGETHER = 4 };
static int64_t places_share(const struct loops *loops, const struct definition *d, int64_t extent, double work)
{
	const struct target *target = loops->target;
	int64_t unit = 1,
	        half = target->registers / 2; /* rows of sums so long lie side by side: they come as they lie */
	if (d->running && has_vectors(target) && extent % (target->lanes * half) == 0)
		unit = target->lanes * half;
	for (int64_t lanes = target->lanes; unit == 1 && lanes > 1;
	        lanes /= 2) /* rows are apart: some vectors of each together */
		unit = extent % (lanes * VECS_TOGETHER) == 0 ? lanes * VECS_TOGETHER : 1;
	int64_t share = unit;
	while (share < extent && (extent % share || work / (double)extent * (double)share < (double)block_work(loops)))
		share += unit;
	return share;
}

static int64_t divisor_below(int64_t n, int64_t most)
{
	while (n % most)
		most--;
	return most;
}

/* Rows that run along what lies side by side, in what they load and what they store: with as many as lanes, each lane
 * is a row (vectorise.c). */
struct rowing {
	struct building *b;
	const struct definition *d;
	int loads;
	bool along;
};
static void see_rowing(void *user, const struct expr *load)
{
	struct rowing *r = user;
	const struct index *at = schedule_address(r->b->loops->arena, load->of, load->at);
	if (index_is_constant(at, &(int64_t){ 0 }))
		return;
	r->loads++;
	r->along &= load->type == DTYPE_F32 && index_factor(at, r->d->rank) == 1;
}

static bool rows_are_lanes(struct building *b, const struct definition *d, int64_t rows)
{
	const struct target *target = b->loops->target;
	struct rowing r = { b, d, 0, true };
	if (target->lanes < 4 || target->options.small || d->type != DTYPE_F32 || rows % target->lanes
	        || d->reduced != 1 || d->reduced_extents[0] < target->lanes
	        || !scatter_covers(b->loops->arena, d, NULL))
		return false;
	FOR (v, d->rank)
		r.along &= !d->place[v] || d->extents[v] == 1
		        || (index_factor(d->place[v]->index, d->rank) == 1 && stride_of(d, v) == 1);
	expr_loads(d->body, see_rowing, &r);
	return r.loads == 1 && r.along;
}

/* Rows of a block side by side where all of them are there; else those that are, one after the other. */
static void define_rows(struct building *b, struct definition *d, int v, const struct index **with, struct block *out)
{
	struct loops *loops = b->loops;
	struct arena *arena = loops->arena;
	struct block *block = &loops->body.at[0]->body;
	const struct index *row = index_var(arena, loops->beside_var, loops->beside),
	                   *first = index_add(arena, with[v], index_scale(arena, row, -1)), *there;
	building_define(b, d, with, out);
	loops->rows_end = true;
	struct stmt *which = stmt_new(loops, STMT_IF), *rows = block->at[--block->count];
	struct range *all = arena_new(arena, struct range);
	there = building_there(b, d->count.of[v], first, loops->beside, with);
	there = index_var(arena, index_new(loops, "there", loops->beside + 1, there, block), loops->beside + 1);
	*all = (struct range){ there, loops->beside, loops->beside + 1 };
	which->ranges = all;
	which->range_count = 1;
	block_add(loops, &which->body, rows);
	rows = for_new(loops, var_new(loops, "r", loops->beside), loops->beside, ROLE_SERIAL);
	rows->count = there;
	block_add(loops, &which->other, rows);
	with[v] = index_add(arena, first, index_var(arena, rows->var, loops->beside));
	building_define(b, d, with, &rows->body);
	block_add(loops, block, which);
}

/* Terms with places: blocks are rounds of the variables that have none, the outermost first; of one that runs inside
 * the terms, or along lanes, shares. Rows that each run along themselves do so side by side: each waits for its own
 * sum. */
static struct loops *build_places(struct building *b, bool named)
{
	struct definition *d = b->kernel->members.at[0];
	struct loops *loops = b->loops;
	const struct index *with[MAX_VARS] = { 0 };
	int order[MAX_RANK], own[MAX_RANK + 1], count = order_by_stride(d, 0, d->rank, order), free = 0, inner = 0;
	building_cells(b);
	FOR (n, count) {
		inner = d->place[order[n]] ? 0 : inner + 1;
		if (!d->place[order[n]])
			own[free++] = order[n];
	}
	double work = definition_work(d);
	bool rows = d->running && free && !inner && !loops->target->lanes_are_threads;
	int inside = d->running ? free && !rows : inner, taken = outer_count(loops, d, work, own, free, inside);
	bool ends = free && own[0] == kernel_counted(b->kernel) && ends_by_lanes(loops->target);
	if (ends && !taken && free > 1)
		taken = 1;
	FOR (n, taken)
		work /= (double)d->extents[own[n]];
	int64_t last = rows ? d->extents[own[free - 1]] : 1, together = 1;
	if (rows && taken >= free - 1)
		together = rows_are_lanes(b, d, last)  ? loops->target->lanes
		        : loops->target->options.small ? 1
		                                       : divisor_below(last, FUSED_TOGETHER);
	if (rows && taken == free - 1
	        && (taken < ends || work / (double)last * (double)together >= (double)block_work(loops)))
		taken++;
	int64_t share = inside && taken == free - inside ? places_share(loops, d, d->extents[own[taken]], work) : 0;
	if (!share || share == d->extents[own[taken]]) {
		struct block *out = outer_loops(b, d, own, taken, taken == free ? together : 1, named, with);
		if (loops->beside > 1 && ends && taken == 1)
			define_rows(b, d, own[0], with, out);
		else
			building_define(b, d, with, out);
		return loops;
	}
	building_define(b, d, with, shared_out(b, d, own, taken, share, named, with));
	return loops;
}

static struct loops *build_alone(struct building *b, bool named)
{
	struct definition *d = b->kernel->members.at[0];
	const struct index *with[MAX_VARS] = { 0 };
	int order[MAX_RANK], count = loop_order(b, d, order);
	if (definition_scatters(d))
		return build_places(b, named);
	building_cells(b);
	int across = crossed(b, d, order, count);
	if (across >= 0)
		return build_crossed(b, across, order, count, named);
	int inside = d->reduce == REDUCE_NONE ? 1
	        : d->order == ORDER_SERIAL    ? 2
	                                      : count > 1 || (count && lies_along(b, d, order[0]));
	inside = inside_of(b->loops, d, work_of(d), order, count, inside);
	int taken = windows_taken(b, d, order, outer_count(b->loops, d, work_of(d), order, count, inside), count);
	taken = take_counted(b, order, count, taken, inside);
	int64_t share = block_share(b, d, order, count, taken, work_of(d));
	building_define(b, d, with,
	        share ? shared_out(b, d, order, taken, share, named, with)
	              : outer_loops(b, d, order, taken, windows_together(b, d, order, taken), named, with));
	return b->loops;
}

/* A map whose loops are all one, by address: blocks of `chunk` elements, the last one shorter where it must be. */
static int64_t chunk_of(int64_t elements, int64_t most)
{
	for (int64_t chunk = most; chunk >= most / 8; chunk -= 64)
		if (elements % chunk == 0)
			return chunk;
	return most / 2;
}

enum { COUNTED_LEAST = 512 };
static struct loops *build_flat(struct building *b)
{
	struct definition *d = b->kernel->members.at[0];
	struct loops *loops = b->loops;
	int order[MAX_RANK], count = order_by_stride(d, 0, d->rank, order);
	int64_t elements = definition_elements(d), extents[MAX_RANK];
	building_cells(b);
	FOR (n, count)
		extents[n] = d->extents[order[n]];
	int64_t most = 4 * block_work(loops); /* of a map that is one loop */
	/* rows of a number that a call says: blocks are whole ones, or parts of one, so that they end there */
	int64_t unit = kernel_counted(b->kernel) >= 0 && elements / extents[0] >= COUNTED_LEAST ? elements / extents[0]
	                                                                                        : elements,
	        chunk = unit > most ? chunk_of(unit, most) : unit, blocks = ceil_div(elements, chunk),
	        whole_blocks = elements / chunk;
	struct stmt *loop = block_loop(loops, blocks);
	if (count)
		end_blocks(loops, d, order[0], elements / extents[0], chunk);
	loops->blocks_of = arena_printf(loops->arena, "%lld elements", (long long)chunk);
	struct block *out = &loop->body;
	struct stmt *which = NULL;
	if (whole_blocks < blocks) {
		struct range *range = arena_new(loops->arena, struct range);
		*range = (struct range){ index_var(loops->arena, loop->var, blocks), 0, whole_blocks };
		which = stmt_new(loops, STMT_IF);
		which->ranges = range;
		which->range_count = 1;
		block_add(loops, out, which);
	}
	for (int last = 0; last <= (which != NULL); last++) {
		int64_t extent = last ? elements % chunk : chunk;
		int var = var_new(loops, "i", extent);
		struct stmt *inner = for_new(loops, var, extent, ROLE_MAP);
		const struct index *at[MAX_RANK], *with[MAX_VARS] = { 0 };
		const struct index *first = last
		        ? index_constant(loops->arena, whole_blocks * chunk)
		        : index_scale(loops->arena, index_var(loops->arena, loop->var, blocks), chunk);
		const struct index *flat = index_add(loops->arena, first, index_var(loops->arena, var, extent));
		index_unflatten(loops->arena, flat, count, extents, at);
		FOR (n, count)
			with[order[n]] = at[n];
		block_add(loops, which ? last ? &which->other : &which->body : out, inner);
		building_define(b, d, with, &inner->body);
	}
	return loops;
}

/* Blocks of elements, whatever they are, end at a count of the outermost loop alone. */
static bool counts_outermost(const struct kernel *kernel)
{
	int order[MAX_RANK], v = kernel_counted(kernel);
	return v < 0
	        || (order_by_stride(kernel->members.at[0], 0, kernel->members.at[0]->rank, order) && order[0] == v);
}

static bool bends_anywhere(const struct loops *loops)
{
	FOR_ALL (v, loops->vars)
		if (block_bends(&loops->body, (int)v))
			return true;
	return false;
}

struct loops *loops_build(
        struct build *build, struct arena *arena, const struct target *target, const struct kernel *kernel)
{
	struct building b = { .kernel = kernel, .outer = kernel->members.count == 1 ? 0 : kernel->outer };
	const struct definition *d = kernel->members.at[0];
	bool any = false;
	FOR_EACH (struct definition *member, kernel->members) {
		any |= definition_elements(member) > 0;
	}
	b.loops = loops_new(build, arena, target, kernel);
	if (!any) { /* nothing to compute: an empty block */
		building_cells(&b);
		block_loop(b.loops, 1);
		return b.loops;
	}
	bool by_threads = loops_by_threads(target, kernel);
	int order[MAX_RANK], count = order_by_stride(d, 0, d->rank, order);
	if (kernel->members.count == 1 && d->reduce == REDUCE_NONE && !d->lies && !by_threads
	        && !expr_has(d->body, 1u << EXPR_SELECT) && counts_outermost(kernel)
	        && crossed(&b, d, order, count) < 0) {
		build_flat(&b);
		if (!bends_anywhere(b.loops))
			return b.loops;
	}
	int across = by_threads && kernel->members.count == 1 ? crossed(&b, d, order, count) : -1;
	if (across >= 0 && loops_squares(&b, across, order, count))
		return b.loops;
	if (target->thread && (loops_columns(&b) || loops_rows(&b)))
		return b.loops;
	FOR (named, 2) {
		b.loops = by_threads ? loops_threads(build, arena, target, kernel, named)
		                     : loops_new(build, arena, target, kernel);
		if (!by_threads && kernel->members.count == 1)
			build_alone(&b, named);
		else if (!by_threads)
			build_members(&b, named);
		int block_var = b.loops->body.at[0]->var;
		if (!block_bends(&b.loops->body, block_var))
			break;
	}
	return b.loops;
}
