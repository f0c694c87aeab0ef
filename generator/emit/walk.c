/* walk.c: rows that go down trees -> the values of c/walk.jinja, c/jit_walk.jinja and cuda/walk.jinja. */
#include "emit/emit.h"
#include "ingot/template.h"

/* How many rows there are where that is counted: the blocks of so many. */
static struct value ends_of(struct emit *emit, const struct kernel *kernel, const struct walk_blocks *walking)
{
	const struct definition *d = kernel->root;
	if (kernel_counted(kernel) != 0)
		return value_none();
	struct value ends = emit_ends(emit, kernel, d->count.of[0], d->extents[0]);
	value_set(ends, "there",
	        value_printf(emit->arena, "(many + %lld) / %lld * %lld", (long long)walking->per - 1,
	                (long long)walking->per, (long long)walking->blocks_of_row),
	        "blocks", kernel->blocks);
	return ends;
}

const char *walk_word(struct arena *arena, const struct definition *d)
{
	return arena_printf(arena, "walk_%s_%d%s", d->body->type == DTYPE_F64 ? "f64" : "f32",
	        dtypes[d->trees.nodes->of->type].bits, d->trees.walk->missing ? "_missing" : "");
}

struct value walk_values(struct emit *emit, const struct kernel *kernel)
{
	const struct walk_blocks *walking = kernel->detail;
	const struct definition *d = kernel->root;
	void *user = (void *)(uintptr_t)kernel;
	return value_dict_of(emit->arena, "x", emit_buffer(user, d->body->of), "nodes",
	        emit_buffer(user, d->trees.nodes->of), "roots", emit_buffer(user, d->trees.roots->of), "y",
	        emit_buffer(user, d), "rows", d->extents[0], "trees", d->extents[1], "features", d->reduced_extents[0],
	        "block", walking->rows, "per", walking->per, "blocks_of_row", walking->blocks_of_row, "blocks",
	        kernel->blocks, "shift", d->trees.walk->shift, "word", walk_word(emit->arena, d), "ends",
	        ends_of(emit, kernel, walking), "kernel", emit_kernel_value(emit, kernel), "target",
	        emit_target_value(emit));
}

void walk_emit(struct emit *emit, const struct kernel *kernel, struct text *out)
{
	emit_render(emit, kernel, walk_values(emit, kernel), out);
}
