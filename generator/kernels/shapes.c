/* shapes.c: the shapes that kernels have: what is chosen about each, a row of functions (emit/shapes.c: what is printed). */
#include "kernels/kernels.h"

/* clang-format off */
const struct shape_row shapes[SHAPE_COUNT] = {
	[SHAPE_CONTRACTION] = { .name = "contraction", .label = contraction_label, .arrange = contraction_arrange, .viewed = true,
		.choose = contraction_choose, .parameters = contraction_parameters, .same = contraction_same,
		.tiles = contraction_tiles },
	[SHAPE_WINOGRAD] = { .name = "winograd", .label = winograd_label, .arrange = winograd_arrange, .choose = winograd_choose,
		.parameters = winograd_parameters, .same = contraction_same },
	[SHAPE_LOOPS] = { .name = "loops", .label = generic_label, .viewed = true, .parameters = generic_parameters,
		.statements = true },
	[SHAPE_FUSED] = { .name = "fused", .label = fused_label, .choose = fused_choose, .parameters = fused_parameters,
		.inside = fused_inside, .viewed = true },
	[SHAPE_STRIPS] = { .name = "strips", .label = strips_label, .choose = strips_choose, .parameters = strips_parameters,
		.inside = strips_inside, .same = strips_same },
	[SHAPE_ORDER] = { .name = "order", .label = order_label, .choose = order_choose, .parameters = order_parameters },
	[SHAPE_REPEAT] = { .name = "repeat", .label = repeat_label, .choose = repeat_choose, .parameters = repeat_parameters,
		.inside = repeat_inside, .same = repeat_same },
	[SHAPE_OWN] = { .name = "own", .label = own_label, .choose = own_choose, .parameters = own_parameters,
		.same = repeat_same },
	[SHAPE_WALK] = { .name = "walk", .label = walk_label, .choose = walk_choose, .parameters = generic_parameters },
};
/* clang-format on */

const char *kernel_template(struct arena *arena, const struct target *target, const struct kernel *kernel)
{
	if (kernel->shape == SHAPE_REPEAT && target->lanes_are_threads)
		return "";
	return arena_printf(arena, "%s/%s.jinja", target->family,
	        kernel->shape == SHAPE_OWN ? kernel->root->loop.repeat->own->name : shapes[kernel->shape].name);
}
