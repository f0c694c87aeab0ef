/* lower.c: kernel -> statements, through all passes. */
#include "loops/loops.h"

void loops_pass(struct loops *loops, bool vectors)
{
	static void (*const passes[])(struct loops *) = {
		loops_collapse_terms,        /* before they are unrolled */
		loops_unroll,                /* before split: a window's selects are decided tap by tap */
		loops_split, loops_collapse, /* after split: its parts are often dense */
		loops_fuse, loops_vectorise, loops_open_scopes,
		loops_choose_tiles, /* last: neighbours of whole vectors */
	};
	enum { SCALAR = 5 }; /* of them */
	FOR (i, (vectors ? COUNT(passes) : SCALAR)) {
		if (loops->build->check)
			loops_check(loops);
		if (!loops->warps && (!loops->elements || passes[i] != loops_split)) /* a thread has no range to cut */
			passes[i](loops);
	}
	loops_come_early(loops);
	loops_check(loops);
}

struct loops *loops_lower(
        struct build *build, struct arena *arena, const struct target *target, const struct kernel *kernel)
{
	struct loops *loops = loops_build(build, arena, target, kernel);
	loops_pass(loops, !target->calls);
	return loops;
}

struct counting {
	const struct loops *loops;
	int widths[DTYPE_COUNT];              /* lanes of the last of them */
	double vectors[DTYPE_COUNT], scalars; /* statements that run, by their type */
};
static void count_leaf(void *user, struct stmt *stmt, double rounds)
{
	struct counting *c = user;
	if (stmt->kind == STMT_JOIN)
		return;
	if (stmt->lane >= 0)
		c->widths[stmt->cell->of.type] = loops_width(c->loops, stmt);
	*(stmt->lane < 0 ? &c->scalars : &c->vectors[stmt->cell->of.type]) += rounds;
}

/* As the statements are: not as the target could. */
static struct kernel_lanes loops_lanes(const struct loops *loops)
{
	struct kernel_lanes lanes = { .count = !loops->target->calls };
	struct counting c = { .loops = loops };
	double all = 0;
	block_leaves(&loops->body, count_leaf, &c);
	FOR (type, DTYPE_COUNT) {
		all += c.vectors[type];
		if (c.vectors[type] > (lanes.count > 1 ? c.vectors[lanes.type] : 0))
			lanes = (struct kernel_lanes){ c.widths[type], (enum dtype)type, false };
	}
	lanes.scalars = c.scalars > all;
	return lanes;
}

/* Of a block of threads that work alone: few threads are spread over all of the machine. */
enum { WARPS_MOST = 4 };
static int warps_of(const struct target *target, int64_t threads)
{
	int warps = WARPS_MOST;
	while (warps > 1 && threads < (int64_t)warps * target->lanes * target->gpu->processors)
		warps /= 2;
	return warps;
}

static void see_place(void *user, const struct expr *load)
{
	bool *plain = user;
	FOR (d, load->of->rank)
		*plain &= index_is_affine(load->at[d]);
}

/* A sum of exact floats, of elements that are floats where they lie. */
static bool is_exact(const struct definition *d)
{
	bool plain = d->sum.exact && !expr_has(d->body, 1u << EXPR_CAST) && (!d->start || d->start->kind == EXPR_LOAD);
	if (plain)
		expr_loads(d->body, see_place, &plain);
	return plain;
}

void loops_finish(struct lowered *lowered, struct kernel *kernel)
{
	struct arena *arena = lowered->arena, scratch;
	arena_init(&scratch, arena->build);
	if (kernel->members.count == 1 && is_exact(kernel->members.at[0]))
		kernel->target = lowered->exact;
	struct loops *loops =
	        loops_lower(arena->build, &scratch, kernel->target ? kernel->target : lowered->target, kernel);
	loops = kernel->loops = loops_copy(loops, arena);
	arena_release(&scratch);
	kernel->blocks = loops->blocks;
	FOR_ALL (c, loops->cells)
		kernel->arrays |=
		        loops->cells.at[c]->kind == CELL_ARRAY && cell_is_loaded(&loops->body, loops->cells.at[c]);
	if (loops_end_exactly(loops))
		kernel->within = loops->count;
	kernel->blocks_of = loops->blocks_of;
	kernel->tile = loops->tile;
	kernel->lanes = loops_lanes(loops);
	kernel->elements = loops->elements;
	kernel->warps = loops->elements ? warps_of(lowered->target, loops->blocks)
	        : loops->warps          ? loops->warps
	                                : kernel->warps;
	if (loops->elements)
		kernel->lanes.type = kernel->members.at[kernel->members.count - 1]->type;
}

struct loops *loops_of(const struct kernel *kernel, struct arena *arena)
{
	struct loops *loops = loops_copy(kernel->loops, arena);
	loops_tile(loops);
	loops_end(loops);
	loops_check(loops);
	loops_name(loops);
	return loops;
}

void loops_print_kernel(const struct kernel *kernel, struct text *out)
{
	struct arena arena;
	arena_init(&arena, out->build);
	loops_print(loops_of(kernel, &arena), out);
	arena_release(&arena);
}
