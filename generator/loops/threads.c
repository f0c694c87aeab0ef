/* threads.c: kernels of which each thread makes elements of its own, where lanes are threads: maps of any type.  A
 * round of the blocks' loop is a thread then, and scalar; the neighbours that it makes are what one access of 16 bytes
 * holds, and the compiler joins them.  Wherever elements lie, neighbouring threads have neighbouring ones. */
#include "loops/building.h"
#include <stdlib.h>

enum { ACCESS_BYTES = 16, NEIGHBOURS_COST = 64, NEIGHBOURS_DEAR = 4, WARPS_BUSY = 8 };
static bool is_map(const struct definition *d)
{
	return d->reduce == REDUCE_NONE && !d->lies && !definition_scatters(d);
}

/* A sum whose terms follow each other: a thread's as well as a lane's. */
static bool is_chain(const struct definition *d)
{
	return d->reduce != REDUCE_NONE && d->order == ORDER_SERIAL && !d->lies && !definition_scatters(d);
}

/* Is each member one element of a thread? */
static bool is_whole(const struct kernel *kernel)
{
	size_t last = kernel->members.count - 1;
	return !last || definition_row(kernel->members.at[last], kernel->outer) == 1;
}

/* Terms that find their places: a thread goes along a row, or some places of it; results so far, where there are several
 * rows of them. */
static bool runs_by_threads(const struct definition *d)
{
	int64_t rows = 1;
	FOR (v, d->rank)
		rows *= d->place[v] ? 1 : d->extents[v];
	return (rows > 1 || !d->running) && definition_elements(d) > 0;
}

/* Elements by themselves, chains of terms among them; or rows, where all but the last have no loops of their own: maps,
 * and sums of few terms that are made again for each thread (kernels/fuse.c). */
bool loops_by_threads(const struct target *target, const struct kernel *kernel)
{
	size_t last = kernel->members.count - 1;
	bool whole = is_whole(kernel);
	if (!has_own_threads(target))
		return false;
	if (!last && definition_scatters(kernel->members.at[0]))
		return runs_by_threads(kernel->members.at[0]);
	for (size_t i = 0; i <= last; i++) {
		const struct definition *d = kernel->members.at[i];
		bool again = is_local(d) && is_chain(d) && definition_terms(d) <= AGAIN_TERMS
		        && definition_elements(d) <= AGAIN_ELEMENTS;
		if (!definition_elements(d) || !(is_map(d) || (whole ? is_chain(d) : again && i < last))
		        || (last && i < last && definition_row(d, kernel->outer) > 1))
			return false;
	}
	/* What is not made again is stored, by the thread of its element. */
	for (size_t i = 0; i < last && !whole; i++)
		if (!is_local(kernel->members.at[i]))
			return false;
	return true;
}

/* The variables of the kernel's elements, as one of them is made; each is a number of its own where it would bend an
 * address. */
struct elements {
	struct building *b;
	const struct target *target; /* whose threads they are */
	const struct definition *last;
	int order[MAX_RANK], count;
	int kept; /* of terms with places: each thread has some places of order[0]; 0: there are threads enough */
	bool named, begun, chains;            /* chains: a thread has several sums, term by term */
	struct copying registers;             /* of the element before */
	const struct index *before[MAX_RANK]; /* where the element before stood */
};

/* Do neighbours along the last variable share terms?  Windows that overlap. */
struct sharing {
	struct arena *arena;
	const struct definition *d;
	int unit;
	bool shares;
};
static void see_shared(void *user, const struct expr *load)
{
	struct sharing *s = user;
	const struct index *at = schedule_address(s->arena, load->of, load->at);
	int64_t step = llabs(index_factor(at, s->unit));
	for (int r = 0; r < s->d->reduced && step; r++) {
		int64_t term = llabs(index_factor(at, s->d->rank + r));
		s->shares |= term && step % term == 0 && term * (s->d->reduced_extents[r] - 1) >= step;
	}
}

/* How many neighbours a thread makes, at most: what fills an access and four at least, fewer of what costs much, one
 * where those are few, or chains of terms that share none. */
static int neighbours_of(const struct elements *e, int64_t all)
{
	const struct target *target = e->target;
	const struct kernel *kernel = e->b->kernel;
	int bits = 8, cost = 0, unit = e->count ? e->order[e->count - 1] : 0;
	struct sharing sharing = { e->b->loops->arena, NULL, unit, false };
	FOR_EACH (struct definition *member, kernel->members) {
		sharing.d = member;
		cost += expr_cost(sharing.d->body) * (int)definition_terms(sharing.d);
		if (!is_local(sharing.d) && dtypes[sharing.d->type].bits > bits)
			bits = dtypes[sharing.d->type].bits;
		if (is_chain(sharing.d))
			expr_loads(sharing.d->body, see_shared, &sharing);
	}
	int each = ACCESS_BYTES * 8 / bits > NEIGHBOURS_DEAR ? ACCESS_BYTES * 8 / bits : NEIGHBOURS_DEAR;
	int64_t busy = (int64_t)each * target->lanes * target->gpu->processors;
	if (e->chains && (each > NEIGHBOURS_DEAR || e->last->extents[unit] % each || !sharing.shares)
	        && all < busy * WARPS_BUSY)
		return 1;
	if (cost * each > NEIGHBOURS_COST && all < busy && !sharing.shares)
		return 1; /* who is alone on its processor takes the longest */
	return each > NEIGHBOURS_DEAR && cost * each > 2 * NEIGHBOURS_COST ? NEIGHBOURS_DEAR : each;
}

/* Rounds of such a variable that threads share out. */
static int64_t rounds_of(const struct elements *e, int n)
{
	return e->last->extents[e->order[n]] / (e->kept && !n ? e->kept : 1);
}

static void define_at(struct elements *e, const struct index **at, struct block *out)
{
	struct building *b = e->b;
	size_t last = b->kernel->members.count - 1;
	bool again = true; /* the others are as they were for the element before */
	for (int n = 0; n < e->count && last; n++) {
		again &= e->order[n] >= b->outer || e->before[n] == at[n];
		e->before[n] = at[n];
	}
	/* Each element has registers of its own; what is not made again lies in those of the one before. */
	struct block made = { 0 };
	for (size_t i = again && e->begun ? last : 0; i <= last; i++) {
		const struct index *with[MAX_VARS] = { 0 };
		FOR (n, e->count)
			if ((i == last || e->order[n] < b->outer) && (n || !e->kept))
				with[e->order[n]] = at[n];
		if (e->kept)
			b->share_from = index_scale(b->loops->arena, at[0], e->kept);
		building_define(b, b->kernel->members.at[i], with, &made);
	}
	if (!again || !e->begun)
		copying_init(&e->registers, b->loops, true);
	e->registers.vars = (int)b->loops->vars.count;
	e->registers.with = arena_new_array(b->loops->arena, const struct index *, b->loops->vars.count + 1);
	copy_block(&e->registers, &made, out);
	e->begun = true;
}

/* Elements [from, from + count) of all, as far as each has a place of its own. */
static void add_flat(struct elements *e, const struct index *from, int count, struct block *out)
{
	struct loops *loops = e->b->loops;
	int64_t extents[MAX_RANK];
	FOR (n, e->count)
		extents[n] = rounds_of(e, n);
	e->begun = false;
	FOR (each, count) {
		const struct index *at[MAX_RANK];
		index_unflatten(loops->arena, index_plus(loops->arena, from, each), e->count, extents, at);
		for (int n = 0; e->named && n < e->count; n++)
			at[n] = building_named(loops, e->order[n], at[n], out);
		define_at(e, at, out);
	}
}

/* Neighbours along the last variable, of which there are whole ones. */
static void add_along(struct elements *e, const struct index *from, int count, struct block *out)
{
	struct loops *loops = e->b->loops;
	int64_t extents[MAX_RANK];
	const struct index *at[MAX_RANK], *first;
	FOR (n, e->count)
		extents[n] = e->last->extents[e->order[n]] / (n == e->count - 1 ? count : 1);
	index_unflatten(loops->arena, from, e->count, extents, at);
	FOR (n, e->count)
		at[n] = building_named(loops, e->order[n], at[n], out);
	first = index_scale(loops->arena, at[e->count - 1], count);
	if (e->chains) {
		struct stmt *side = for_new(loops, var_new(loops, "e", count), count, ROLE_MAP);
		side->tile = count;
		at[e->count - 1] = index_add(loops->arena, first, index_var(loops->arena, side->var, count));
		define_at(e, at, &side->body);
		block_add(loops, out, side);
		return;
	}
	FOR (each, count) {
		at[e->count - 1] = index_plus(loops->arena, first, each);
		define_at(e, at, out);
	}
}

static void add_elements(struct elements *e, int64_t all, int each)
{
	struct loops *loops = e->b->loops;
	int64_t whole = all / each, threads = whole + (all % each != 0);
	int var = var_new(loops, "b", threads);
	struct stmt *loop = for_new(loops, var, threads, ROLE_BLOCKS);
	struct block *out = &loop->body;
	loops->blocks = threads;
	loops->elements = each;
	loops->blocks_of = arena_printf(loops->arena, "threads, each %d of all elements", each);
	block_add(loops, &loops->body, loop);
	const struct index *thread = index_var(loops->arena, var, threads);
	if (e->named && e->count && all % each == 0 && e->last->extents[e->order[e->count - 1]] % each == 0) {
		add_along(e, thread, each, out);
		return;
	}
	if (all % each) {
		struct range *range = arena_new(loops->arena, struct range);
		struct stmt *which = stmt_new(loops, STMT_IF);
		*range = (struct range){ thread, 0, whole };
		which->ranges = range;
		which->range_count = 1;
		block_add(loops, out, which);
		add_flat(e, index_constant(loops->arena, whole * each), (int)(all % each), &which->other);
		thread = index_var(loops->arena, var, whole);
		out = &which->body;
	}
	if (whole)
		add_flat(e, index_scale(loops->arena, thread, each), each, out);
}

/* The counted variable is the outermost; blocks end at its count. */
static void end_elements(struct elements *e, int64_t all, int each)
{
	struct loops *loops = e->b->loops;
	int v = kernel_counted(e->b->kernel), at = 0;
	if (v < 0)
		return;
	while (at < e->count && e->order[at] != v)
		at++;
	if (at == e->count)
		return;
	memmove(e->order + 1, e->order, (size_t)at * sizeof *e->order);
	e->order[0] = v;
	loops->count = e->last->count.of[v];
	loops->most = e->last->extents[v];
	loops->ends_by = all / loops->most;
	loops->ends_per = each;
}

/* Of terms that find places and have too few rows for the GPU, each thread keeps a place of the outermost variables, or
 * some of one, and passes by the terms that go elsewhere.  How many threads there are then. */
static int64_t keep_places(struct elements *e, int64_t rows)
{
	const struct definition *d = e->last;
	int order[MAX_RANK], count = order_by_stride(d, 0, d->rank, order);
	int64_t busy = (int64_t)e->target->lanes * e->target->share.tiles;
	for (int n = 0; n < count && definition_scatters(d) && !d->running && kernel_counted(e->b->kernel) < 0; n++) {
		const int64_t extent = d->extents[order[n]];
		int share = 1;
		if (!d->place[order[n]])
			continue;
		while (share < extent && (extent % share || rows * extent / share > busy))
			share++;
		if (share == extent)
			break;
		memmove(e->order + 1, e->order, (size_t)e->count++ * sizeof *e->order);
		e->order[0] = order[n];
		rows *= extent / share;
		if (share == 1)
			continue;
		e->b->shared = order[n];
		e->b->share = e->kept = share;
		break;
	}
	return rows;
}

struct loops *loops_threads(
        struct build *build, struct arena *arena, const struct target *target, const struct kernel *kernel, bool named)
{
	struct building b = { .kernel = kernel, .outer = kernel->members.count == 1 ? 0 : kernel->outer };
	struct loops *loops = b.loops = arena_new(arena, struct loops);
	*loops = (struct loops){ .build = build, .arena = arena, .target = target->thread, .kernel = kernel };
	struct elements e = {
		.b = &b, .target = target, .last = kernel->members.at[kernel->members.count - 1], .named = named
	};
	for (size_t i = 0; i < kernel->members.count && is_whole(kernel); i++)
		e.chains |= is_chain(kernel->members.at[i]);
	int64_t all = 1;
	for (int n = 0, count = order_by_stride(e.last, 0, e.last->rank, e.order); n < count; n++)
		if (!e.last->place[e.order[n]])
			all *= e.last->extents[e.order[e.count++] = e.order[n]];
	all = keep_places(&e, all);
	int each = definition_scatters(e.last) ? 1 : neighbours_of(&e, all);
	building_cells(&b);
	end_elements(&e, all, each);
	add_elements(&e, all, each);
	return loops;
}
