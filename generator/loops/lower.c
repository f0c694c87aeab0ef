/* lower.c: kernel -> statements, through all passes. */
#include "loops/loops.h"

void loops_pass(struct loops *loops)
{
	static void (*const passes[])(struct loops *) = {
		loops_unroll,                            /* before split: a window's selects are decided tap by tap */
		loops_split, loops_collapse,             /* after split: its parts are often dense */
		loops_fuse, loops_vectorise, loops_tile, /* last: neighbours of whole vectors */
	};
	for (size_t i = 0; i < COUNT(passes); i++) {
		if (loops->build->check)
			loops_check(loops);
		passes[i](loops);
	}
	loops_check(loops);
}

struct loops *loops_lower(
        struct build *build, struct arena *arena, const struct target *target, const struct kernel *kernel)
{
	struct loops *loops = loops_build(build, arena, target, kernel);
	loops_pass(loops);
	return loops;
}

struct counting {
	struct kernel_lanes widest;
	int lanes;
	double vectors, scalars, most; /* statements that run; those of the widest */
};
static void count_leaf(void *user, struct stmt *stmt, double rounds)
{
	struct counting *c = user;
	if (stmt->kind == STMT_JOIN)
		return;
	if (stmt->lane < 0) {
		c->scalars += rounds;
		return;
	}
	c->vectors += rounds;
	if (rounds > c->most) {
		c->most = rounds;
		c->widest = (struct kernel_lanes){ c->lanes, stmt->cell->of.type, false };
	}
}

/* As the statements are: not as the target could. */
static struct kernel_lanes loops_lanes(const struct loops *loops)
{
	struct counting c = { .widest.count = 1, .lanes = loops->target->lanes };
	block_leaves(&loops->body, count_leaf, &c);
	c.widest.scalars = c.scalars > c.vectors;
	return c.widest;
}

void loops_finish(struct lowered *lowered, struct kernel *kernel)
{
	struct arena *arena = lowered->arena, scratch; /* statements are made again where they are printed */
	const struct target *target = lowered->target;
	arena_init(&scratch, arena->build);
	struct loops *loops = loops_lower(arena->build, &scratch, target, kernel);
	kernel->blocks = loops->blocks;
	for (size_t c = 0; c < loops->cells.count; c++)
		kernel->arrays |=
		        loops->cells.at[c]->kind == CELL_ARRAY && cell_is_loaded(&loops->body, loops->cells.at[c]);
	kernel->blocks_of = arena_copy(arena, loops->blocks_of, strlen(loops->blocks_of));
	kernel->tile = loops->tile ? arena_copy(arena, loops->tile, strlen(loops->tile)) : "";
	kernel->lanes = loops_lanes(loops);
	kernel->template_name = arena_printf(arena, "%s/loops.jinja", target->family);
	arena_release(&scratch);
}

void loops_print_kernel(const struct lowered *lowered, const struct kernel *kernel, struct text *out)
{
	loops_print(loops_lower(lowered->program->build, lowered->arena, lowered->target, kernel), out);
}
