/* regions.c: reductions whose ends data say -> the same over data that lie for vectors.
 *
 * Where data say which rows and columns a result has (regions of images), no lanes lie along what those ends depend on.
 * They lie along what is left: channels.  layout.c puts those side by side; what a caller gives is copied for it. */
#include "kernels/kernels.h"

/* The widest output variable that no end depends on; -1: d is no such reduction, or there is none. */
int lane_of_region(const struct definition *d)
{
	bool values = false;
	int widest = -1;
	if (d->source != SOURCE_COMPUTED || (d->reduce != REDUCE_MAX && d->reduce != REDUCE_MIN)
	        || d->body->kind != EXPR_SELECT || d->body->arg[0]->kind != EXPR_LOAD)
		return -1;
	FOR (i, d->body->range_count)
		values |= d->body->ranges[i].at->values;
	for (int v = 0; v < d->rank && values; v++)
		if (d->extents[v] > 1 && !expr_selects_on(d->body, v)
		        && (widest < 0 || d->extents[v] > d->extents[widest]))
			widest = v;
	return widest;
}

static void transpose(struct program *program, struct definition *d, int lanes)
{
	struct arena *arena = program->arena;
	int lane = lane_of_region(d);
	if (lane < 0 || d->extents[lane] < lanes || definition_elements(d) == 0)
		return;
	const struct expr *body = d->body, *load = body->arg[0];
	struct definition *x = load->of;
	if ((x->source != SOURCE_INPUT && !x->port.is_output) || !expr_uses(load, lane)
	        || index_uses(load->at[x->rank - 1], lane))
		return;
	size_t from = program->all.count;
	struct definition *transposed = define_kept(program, arena_printf(arena, "%s_transposed", x->name), x->rank,
	        x->extents, expr_load_own(arena, x), d);
	d->body = expr_select(
	        arena, body->ranges, body->range_count, expr_load(arena, transposed, load->at), body->arg[1]);
	program_move(program, from, d);
}

void transpose_regions(struct program *program, const struct target *target)
{
	size_t count = program->all.count;
	if (target->options.small || !has_vectors(target) || target->options.log)
		return;
	FOR (i, count)
		transpose(program, program->all.at[i], target->lanes);
}
