/* algorithms.c: which convolutions become Winograd's, or a product and a sum over taps.  A rule on a layer's shape and bytes alone, never on the target,
 * the batch or other layers: so every target computes the same bits. */
#include "kernels/kernels.h"
#include "definitions/winograd.h"

/* m of F(m x m, 3x3), or 0. */
static int winograd_size(const struct definition *conv)
{
	if (conv->rank != 4 || conv->reduced != 3 || conv->reduced_extents[0] != 3 || conv->reduced_extents[1] != 3)
		return 0;
	const struct expr *w = conv->body->arg[1];
	bool run_time = w && w->kind == EXPR_LOAD && w->of->source != SOURCE_CONSTANT;
	return winograd_best(conv->reduced_extents[2], conv->extents[1], conv->extents[2], conv->extents[3], run_time);
}

void choose_algorithms(struct program *program, enum algorithms algorithms)
{
	if (algorithms == ALGORITHMS_DIRECT)
		return;
	FOR_EACH (struct definition *d, program->all) {
		if (definition_repeats(d) == d && d->loop.repeat)
			choose_algorithms(d->loop.repeat->body, algorithms);
		if (d->source != SOURCE_COMPUTED || d->reduce != REDUCE_SUM || definition_scatters(d))
			continue;
		int m = winograd_size(d);
		if (!rewrite_col2im(program, d) && m)
			rewrite_winograd(program, d, m); /* false where it is no plain 3x3 of stride 1 */
	}
}
