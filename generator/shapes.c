/* shapes.c: the shapes that kernels have, a row of functions for each. */
#include "emit/emit.h"
#include "kernels/kernels.h"
#include "loops/loops.h"

/* clang-format off */
const struct shape_row shapes[SHAPE_COUNT] = {
	[SHAPE_CONTRACTION] = { .name = "contraction", .label = contraction_label, .arrange = contraction_arrange, .viewed = true,
		.choose = contraction_choose, .parameters = contraction_parameters, .same = contraction_same,
		.tiles = contraction_tiles, .emit = contraction_emit },
	[SHAPE_WINOGRAD] = { .name = "winograd", .label = winograd_label, .arrange = winograd_arrange, .choose = winograd_choose,
		.parameters = winograd_parameters, .same = contraction_same, .emit = winograd_emit },
	[SHAPE_LOOPS] = { .name = "loops", .label = generic_label, .viewed = true, .parameters = generic_parameters,
		.finish = loops_finish, .plain = true, .loops = loops_print_kernel, .emit = loops_emit },
	[SHAPE_FUSED] = { .name = "fused", .label = fused_label, .choose = fused_choose, .parameters = fused_parameters,
		.inside = fused_inside, .viewed = true, .emit = fused_emit },
	[SHAPE_STRIPS] = { .name = "strips", .label = strips_label, .choose = strips_choose, .parameters = strips_parameters,
		.inside = strips_inside, .same = strips_same, .emit = strips_emit },
	[SHAPE_ORDER] = { .name = "order", .label = order_label, .choose = order_choose, .parameters = order_parameters,
		.plain = true, .emit = order_emit },
	[SHAPE_REPEAT] = { .name = "repeat", .label = repeat_label, .choose = repeat_choose, .parameters = repeat_parameters,
		.inside = repeat_inside, .same = repeat_same, .emit = repeat_emit },
	[SHAPE_OWN] = { .name = "own", .label = own_label, .choose = own_choose, .parameters = own_parameters,
		.same = repeat_same, .plain = true, .emit = own_emit },
	[SHAPE_WALK] = { .name = "walk", .label = walk_label, .choose = walk_choose, .parameters = generic_parameters,
		.plain = true, .emit = walk_emit },
};
