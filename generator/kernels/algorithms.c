/* algorithms.c: which convolutions become Winograd's.  A rule on shapes and packed bytes alone, never on the target: so every
 * target computes the same bits. */
#include "kernels/kernels.h"
#include "definitions/winograd.h"

/* m of F(m x m, 3x3), or 0. */
static int winograd_size(const struct definition *conv, int64_t network_bytes)
{
	if (conv->rank != 4 || conv->reduced != 3 || conv->reduced_extents[0] != 3 || conv->reduced_extents[1] != 3)
		return 0;
	return winograd_best(conv->extents[0], conv->reduced_extents[2], conv->extents[1], conv->extents[2], conv->extents[3],
		network_bytes);
}

void choose_algorithms(struct program *program, enum optimise optimise)
{
	if (optimise == OPTIMISE_SIZE)
		return;
	int64_t bytes = 0;
	for (size_t i = 0; i < program->all.count; i++) {
		const struct definition *d = program->all.at[i];
		bytes += d->source == SOURCE_CONSTANT ? (int64_t)dtype_bytes(d->type, (size_t)definition_elements(d)) : 0;
	}
	for (size_t i = 0; i < program->all.count; i++) {
		struct definition *d = program->all.at[i];
		if (d->source != SOURCE_COMPUTED || d->reduce != REDUCE_SUM || d->rewrite)
			continue;
		int m = winograd_size(d, bytes);
		if (m)
			rewrite_winograd(program, d, m);              /* false where it is no plain 3x3 of stride 1 */
	}
}
