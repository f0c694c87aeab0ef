/* fused.c: the values of c/fused.jinja, cuda/fused.jinja and c/jit_fused.jinja: the loops around the steps and what
 * each step is called with. */
#include "emit/emit.h"
#include <inttypes.h>

static const char *moved(
        struct emit *emit, const struct kernel *kernel, const struct fused_tensor *tensor, const char *const *axes)
{
	const char *at = emit_buffer((void *)(uintptr_t)kernel, tensor->outside);
	FOR (x, ((const struct fused *)kernel->detail)->axes)
		if (tensor->step[x])
			at = arena_printf(emit->arena, "%s + %" PRId64 " * %s", at, tensor->step[x], axes[x]);
	return at;
}

static const char *arguments_of(
        struct emit *emit, const struct kernel *kernel, const struct kernel *step, const char *const *axes)
{
	const char *all = "";
	FOR_ALL (i, step->params) {
		const struct definition *of = step->params.at[i].of;
		const struct fused_tensor *tensor = fused_tensor(kernel->detail, of);
		all = arena_printf(emit->arena, "%s%s%s", all, i ? ", " : "",
		        tensor                                         ? moved(emit, kernel, tensor, axes)
		                : scheduled(of)->mode == MODE_CONSTANT ? emit_buffer((void *)(uintptr_t)kernel, of)
		                : scheduled(of)->offset
		                ? arena_printf(emit->arena, "scratch + %" PRId64, scheduled(of)->offset / 4)
		                : "scratch");
	}
	return all;
}

static const char *value_text(struct emit *emit, int64_t value) { return arena_printf(emit->arena, "%" PRId64, value); }

/* The loops around the steps; axes: the names of what they run over. */
static struct value loops_of(struct emit *emit, const struct kernel *kernel, const char **axes)
{
	const struct fused *fused = kernel->detail;
	struct value loops = value_dict(emit->arena), outer = value_list(emit->arena);
	int64_t units = fused_units(fused), step = units;
	int last = fused->axes - 1;
	const char *by = value_text(emit, units), *ends[MAX_RANK] = { 0 }; /* the step as text */
	bool counted = false;
	struct value lets = value_list(emit->arena);
	for (int x = 0; x <= last; x++) {
		if (!fused->counts[x])
			continue;
		const char *name = arena_printf(emit->arena, x == last ? "rows_end" : "n%d_end", x);
		value_list_add(lets,
		        value_dict_of(emit->arena, "name", name, "value",
		                emit_count(emit, kernel, fused->counts[x], fused->extents[x])));
		ends[x] = name;
		counted = true;
	}
	if (ends[last]) { /* what is left over goes with the last unit */
		value_list_add(lets,
		        value_dict_of(emit->arena, "name", "units_most", "value",
		                value_printf(emit->arena, "(%s + %" PRId64 ") / %" PRId64, ends[last], fused->rows - 1,
		                        fused->rows)));
		value_list_add(lets,
		        value_dict_of(emit->arena, "name", "units", "value",
		                value_printf(emit->arena, "units_most < %" PRId64 " ? units_most : %" PRId64, units,
		                        units)));
		by = "units";
	}
	value_set(loops, "units_there", by);
	bool ended = false;
	FOR_ALL (s, fused->body->kernels)
		ended |= fused->body->kernels.at[s]->ends;
	value_set(loops, "rows_end", ended ? value_string(ends[last]) : value_none());
	for (int x = last - 1; x >= 0; x--) {
		struct value axis = value_dict(emit->arena);
		axes[x] = arena_printf(emit->arena, "n%d", x);
		value_set(axis, "name", axes[x]);
		const char *extent = ends[x] ? ends[x] : value_text(emit, fused->extents[x]);
		bool grown = counted && (strcmp(by, value_text(emit, step)) || ends[x]);
		value_set(axis, "value",
		        x ? value_printf(
		                emit->arena, grown && step != 1 ? "block / (%s) %% %s" : "block / %s %% %s", by, extent)
		          : value_printf(emit->arena, counted ? "block / (%s)" : "block / %s", by));
		value_list_add(outer, axis);
		step *= fused->extents[x];
		by = grown ? arena_printf(emit->arena, "%s * %s", by, extent) : value_text(emit, step);
	}
	value_set(loops, "ends", value_none());
	if (counted) {
		struct value known = value_dict_of(emit->arena, "lets", lets, "there", by, "blocks", step);
		value_set(loops, "ends", known);
	}
	axes[last] = "i";
	value_set(loops, "outer", outer, "row", axes[last], "units", units, "rows", fused->rows, "extent",
	        fused->extents[last]);
	return loops;
}

struct value fused_values(struct emit *emit, const struct kernel *kernel, const char *const *more)
{
	const struct fused *fused = kernel->detail;
	const char *axes[MAX_RANK];
	struct value globals = value_dict(emit->arena), steps = value_list(emit->arena);
	value_set(globals, "kernel", emit_kernel_value(emit, kernel), "loops", loops_of(emit, kernel, axes), "scratch",
	        fused_scratch(fused), "shared", fused->shared, "lanes", emit->target->lanes, "warps", kernel->warps);
	FOR_ALL (s, fused->body->kernels) {
		const struct kernel *step = fused->body->kernels.at[s];
		struct value value = value_dict_of(emit->arena, "name", emit_symbol(emit, step), "arguments",
		        arguments_of(emit, kernel, step, axes));
		bool ends = step->ends && !(more && strchr(more[s], ',')); /* which blocks it runs is said there */
		const char *blocks = !ends
		        ? value_text(emit, step->blocks)
		        : arena_printf(emit->arena,
		                "rows < %" PRId64 " ? (rows * %" PRId64 " + %" PRId64 ") / %" PRId64 " : %" PRId64,
		                fused->rows, step->blocks, fused->rows - 1, fused->rows, step->blocks);
		value_set(value, "more",
		        !more          ? value_printf(emit->arena, "0, %s", blocks)
		                : ends ? value_printf(emit->arena, "%s, %s", more[s], blocks)
		                       : value_string(more[s]),
		        "tiles", kernel_tiles(step), "together", value_bool(step->warps > 0));
		value_list_add(steps, value);
	}
	value_set(globals, "steps", steps);
	return globals;
}

void fused_emit(struct emit *emit, const struct kernel *kernel, struct text *out)
{
	const struct fused *fused = kernel->detail;
	FOR_ALL (s, fused->body->kernels) {
		emit_kernel(emit, fused->body->kernels.at[s], out);
		text_addc(out, '\n');
	}
	emit_render(emit, kernel, fused_values(emit, kernel, NULL), out);
}
