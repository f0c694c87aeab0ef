/* algorithms.c: which convolutions become Winograd's.  A rule on shapes and packed bytes alone, never on the target: so every
 * target computes the same bits. */
#include "kernels/kernels.h"

enum { F4_BYTES = 10 << 20, F2_BYTES = 20 << 20, LEAST_CHANNELS = 12 };

/* m of F(m x m, 3x3), or 0.  F(4x4) takes a quarter of the direct products and 36/9 of the weights, F(2x2) 4/9 and 16/9: from some
 * megabytes on the weights decide.  Few channels leave the transforms more work than they save. */
static int winograd_size(const struct definition *conv)
{
	if (conv->rank != 4 || conv->reduced != 3 || conv->reduced_extents[0] != 3 || conv->reduced_extents[1] != 3)
		return 0;
	int64_t ci = conv->reduced_extents[2], co = conv->extents[1];
	if (ci < LEAST_CHANNELS || co < LEAST_CHANNELS || conv->extents[2] < 4 || conv->extents[3] < 4 || ci > 1 << 14 || co > 1 << 14)
		return 0;
	return 36 * ci * co * 4 <= F4_BYTES ? 4 : 16 * ci * co * 4 <= F2_BYTES ? 2 : 0;
}

void choose_algorithms(struct program *program, enum optimise optimise)
{
	if (optimise == OPTIMISE_SIZE)
		return;
	for (size_t i = 0; i < program->all.count; i++) {
		struct definition *d = program->all.at[i];
		if (d->source != SOURCE_COMPUTED || d->reduce != REDUCE_SUM || d->rewrite)
			continue;
		int m = winograd_size(d);
		if (m)
			rewrite_winograd(program, d, m);              /* false where it is no plain 3x3 of stride 1 */
	}
}
