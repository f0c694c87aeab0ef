/* walk.c: which leaf of each tree a row comes to: a kernel of its own over the table of nodes. */
#include "kernels/kernels.h"

const char *walk_label(const struct kernel *kernel)
{
	(void)kernel;
	return "walk";
}

void walk_choose(struct lowered *lowered, struct kernel *kernel)
{
	const struct definition *d = kernel->root;
	const struct target *target = lowered->target;
	bool threads = target->lanes_are_threads;
	int64_t of_row = d->reduced_extents[0] * (dtypes[d->body->type].bits / 8), rows = target->l2_bytes / 4 / of_row;
	struct walk_blocks *walking = arena_new(lowered->arena, struct walk_blocks);
	walking->rows = rows > WALK_ROWS ? rows / WALK_ROWS * WALK_ROWS : WALK_ROWS;
	walking->per = threads ? 1 : WALK_ROWS;
	walking->blocks_of_row = threads ? ceil_div(d->extents[1], target->lanes) : 1;
	kernel->detail = walking;
	kernel->blocks = ceil_div(d->extents[0], walking->per) * walking->blocks_of_row;
	kernel->blocks_of = "rows";
	kernel->tile = threads          ? "a tree of each thread"
	        : target->options.small ? "one row"
	                                : arena_printf(lowered->arena, "%d rows", WALK_ROWS);
}
