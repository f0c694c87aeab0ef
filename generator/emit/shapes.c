/* shapes.c: the shapes that kernels have: what each prints (kernels/shapes.c: what is chosen about it). */
#include "emit/emit.h"
#include "loops/loops.h"

const struct printed_row printed_shapes[SHAPE_COUNT] = {
	[SHAPE_CONTRACTION] = { .emit = contraction_emit },
	[SHAPE_WINOGRAD] = { .emit = winograd_emit },
	[SHAPE_LOOPS] = { .plain = true, .loops = loops_print_kernel, .emit = loops_emit },
	[SHAPE_FUSED] = { .emit = fused_emit },
	[SHAPE_STRIPS] = { .emit = strips_emit },
	[SHAPE_ORDER] = { .plain = true, .emit = order_emit },
	[SHAPE_REPEAT] = { .emit = repeat_emit },
	[SHAPE_OWN] = { .plain = true, .emit = own_emit },
	[SHAPE_WALK] = { .plain = true, .emit = walk_emit },
};
