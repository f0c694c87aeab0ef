/* chain.c: the values of c/chain.jinja, cuda/chain.jinja and c/jit_chain.jinja: the loops around the steps and what each step is called with. */
#include "emit/emit.h"
#include <inttypes.h>

static const char *moved(struct emit *emit, const struct kernel *kernel, const struct chain_tensor *tensor, const char *const *axes)
{
	const char *at = emit_buffer((void *)(uintptr_t)kernel, tensor->outside);
	for (int x = 0; x < ((const struct chain *)kernel->detail)->axes; x++)
		if (tensor->step[x])
			at = arena_printf(emit->arena, "%s + %" PRId64 " * %s", at, tensor->step[x], axes[x]);
	return at;
}

static const char *arguments_of(struct emit *emit, const struct kernel *kernel, const struct kernel *step, const char *const *axes)
{
	const char *all = "";
	for (size_t i = 0; i < step->params.count; i++) {
		const struct definition *of = step->params.at[i].of;
		const struct chain_tensor *tensor = chain_tensor(kernel->detail, of);
		all = arena_printf(emit->arena, "%s%s%s", all, i ? ", " : "", tensor ? moved(emit, kernel, tensor, axes)
			: placed(of)->mode == MODE_CONSTANT ? emit_buffer((void *)(uintptr_t)kernel, of)
			: arena_printf(emit->arena, "scratch + %" PRId64, placed(of)->offset / 4));
	}
	return all;
}

/* The loops around the steps; axes: the names of what they run over. */
static struct value loops_of(struct emit *emit, const struct kernel *kernel, const char **axes)
{
	const struct chain *chain = kernel->detail;
	struct value loops = value_dict(emit->arena), outer = value_list(emit->arena);
	int64_t units = chain_units(chain), step = units;
	int last = chain->axes - 1;
	for (int x = last - 1; x >= 0; x--) {
		struct value axis = value_dict(emit->arena);
		axes[x] = arena_printf(emit->arena, "n%d", x);
		value_dict_set(axis, "name", value_string(axes[x]));
		value_dict_set(axis, "value", value_printf(emit->arena, x ? "block / %" PRId64 " %% %" PRId64 : "block / %" PRId64, step, chain->extents[x]));
		value_list_add(outer, axis);
		step *= chain->extents[x];
	}
	axes[last] = "i";
	value_dict_set(loops, "outer", outer);
	value_dict_set(loops, "row", value_string(axes[last]));
	value_dict_set(loops, "units", value_int(units));
	value_dict_set(loops, "rows", value_int(chain->rows));
	value_dict_set(loops, "extent", value_int(chain->extents[last]));
	return loops;
}

struct value chain_values(struct emit *emit, const struct kernel *kernel, const char *const *more)
{
	const struct chain *chain = kernel->detail;
	const char *axes[MAX_RANK];
	struct value globals = value_dict(emit->arena), steps = value_list(emit->arena);
	value_dict_set(globals, "kernel", emit_kernel_value(emit, kernel));
	value_dict_set(globals, "loops", loops_of(emit, kernel, axes));
	value_dict_set(globals, "scratch", value_int(chain_scratch(chain)));
	value_dict_set(globals, "shared", value_int(chain->shared));
	value_dict_set(globals, "lanes", value_int(emit->target->lanes));
	value_dict_set(globals, "warps", value_int(kernel->warps));
	for (size_t s = 0; s < chain->body->kernels.count; s++) {
		const struct kernel *step = chain->body->kernels.at[s];
		struct value value = value_dict(emit->arena);
		value_dict_set(value, "name", value_string(emit_symbol(emit, step)));
		value_dict_set(value, "arguments", value_string(arguments_of(emit, kernel, step, axes)));
		value_dict_set(value, "more", more ? value_string(more[s]) : value_printf(emit->arena, "0, %" PRId64, step->blocks));
		value_dict_set(value, "tiles", value_int(kernel_tiles(step)));
		value_dict_set(value, "together", value_bool(step->warps > 0));
		value_list_add(steps, value);
	}
	value_dict_set(globals, "steps", steps);
	return globals;
}

void chain_emit(struct emit *emit, const struct kernel *kernel, struct text *out)
{
	const struct chain *chain = kernel->detail;
	for (size_t s = 0; s < chain->body->kernels.count; s++) {
		emit_kernel(emit, chain->body->kernels.at[s], out);
		text_addc(out, '\n');
	}
	template_render(emit->templates, kernel->template_name, chain_values(emit, kernel, NULL), out);
}
