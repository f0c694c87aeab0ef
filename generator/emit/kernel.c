/* kernel.c: what all kernels' templates are given. */
#include "emit/emit.h"
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

const char *emit_symbol(struct emit *emit, const struct kernel *kernel)
{
	return arena_printf(emit->arena, "%s_%s", emit->name, (kernel->same ? kernel->same : kernel)->name);
}

const char *emit_only_where(struct arena *arena, const struct branch *branch,
        const char *(*condition)(void *user, struct definition *), void *user)
{
	if (!branch)
		return "";
	const char *outer = emit_only_where(arena, branch->outer, condition, user);
	return arena_printf(arena, "%s%s%s*%s", outer, *outer ? " && " : "", branch->yes ? "" : "!",
	        condition(user, branch->condition));
}

const char *emit_literal(struct arena *arena, const char *string)
{
	struct text out;
	text_init(&out, arena->build);
	text_addc(&out, '"');
	for (const unsigned char *c = (const unsigned char *)string; *c; c++)
		if (*c < 32 || *c > 126 || *c == '"' || *c == '\\' || *c == '?')
			text_printf(&out, "\\%03o", *c);
		else
			text_addc(&out, (char)*c);
	text_addc(&out, '"');
	const char *made = arena_copy(arena, out.at, out.count);
	text_release(&out);
	return made;
}

const char *emit_quiet(struct arena *arena, const char *name)
{
	char *made = arena_copy(arena, name, strlen(name));
	for (char *p = made; *p; p++)
		if ((unsigned char)*p < 32 || *p == 127 || *p == '\\' || (*p == '*' && p[1] == '/')
		        || (*p == '/' && (p[1] == '*' || p[1] == '/')))
			*p = '_';
	return made;
}

static void add_shape(struct text *out, const struct definition *d)
{
	text_printf(out, " %s[", dtypes[d->type].text);
	FOR (v, d->rank)
		text_printf(out, "%s%" PRId64, v ? "," : "", d->extents[v]);
	text_addc(out, ']');
}

void emit_render(struct emit *emit, const struct kernel *kernel, struct value values, struct text *out)
{
	template_render(emit->templates, kernel_template(emit->arena, emit->target, kernel), values, out);
}

const char *emit_kernel_comment(struct emit *emit, const struct kernel *kernel)
{
	struct text text;
	text_init(&text, emit->build);
	text_printf(&text, "/* %s:", kernel->name);
	FOR_ALL (m, kernel->members) {
		text_printf(&text, " %s", emit_quiet(emit->arena, kernel->members.at[m]->name));
	}
	const char *template = kernel_template(emit->arena, emit->target, kernel);
	text_printf(&text, ".  %s%s", template, *template ? ", " : "");
	kernel_tile_text(kernel, &text);
	text_printf(&text, "; blocks: %s\n", kernel->blocks_of ? kernel->blocks_of : "one");
	if (kernel->times > 1)
		text_printf(&text, " * The same code runs for %d kernels; the tensors are those of the first.\n",
		        kernel->times);
	FOR_EACH_AT (const struct param *param, kernel->params) {
		text_printf(&text, " * %s %s ", param->name, param->written ? "=>" : "<=");
		text_adds(&text, emit_quiet(emit->arena, param->of->name));
		add_shape(&text, param->of);
		text_addc(&text, '\n');
	}
	text_adds(&text, " */");
	const char *comment = arena_copy(emit->arena, text.at, text.count);
	text_release(&text);
	return comment;
}

const char *emit_node_name(const struct definition *d)
{
	return d->node && d->node->name && *d->node->name     ? d->node->name
	        : d->node && d->node->outs && d->node->out[0] ? d->node->out[0]->name
	                                                      : d->name;
}

const char *emit_kernel_nodes(struct arena *arena, const struct kernel *kernel)
{
	const struct node *last = NULL;
	const char *text = "";
	FOR_EACH (const struct definition *d, kernel->members) {
		const char *before = *text ? ", " : "";
		if (!d->node)
			text = *text ? text : d->name;
		else if (d->node != last)
			text = arena_printf(arena, "%s%s%s (%s)", text, before, emit_node_name(d), d->node->type);
		last = d->node;
	}
	return text;
}

struct value emit_lets(struct arena *arena, const struct printer *printer)
{
	struct value lets = value_list(arena);
	FOR_ALL (i, printer->lets)
		value_list_add(lets,
		        value_dict_of(arena, "type", printer->lets.at[i].type, "name", printer->lets.at[i].name,
		                "value", printer->lets.at[i].value));
	return lets;
}

const char *emit_vec_store(
        struct arena *arena, enum dtype type, const char *to, int64_t step, const char *value, const char *left)
{
	const char *apart = step == 1 ? "" : arena_printf(arena, ", %" PRId64, step),
	           *count = left ? arena_printf(arena, ", %s", left) : "";
	struct lane_type t = lane_type_of(type);
	if (t.pointer)
		to = arena_printf(arena, "(%s *)(%s)", t.pointer, to);
	return arena_printf(arena, "%s_%s%s%s(%s%s, %s%s)", t.vector, step == 1 ? "store" : "scatter", t.memory,
	        left ? "_n" : "", to, apart, value, count);
}

const char *emit_buffer(void *user, const struct definition *of)
{
	const struct kernel *kernel = user;
	FOR_ALL (i, kernel->params)
		if (kernel->params.at[i].of == of)
			return kernel->params.at[i].name;
	return scheduled(of)->lies_in ? emit_buffer(user, scheduled(of)->lies_in) : "?";
}

const char *emit_count(struct emit *emit, const struct kernel *kernel, const struct definition *count, int64_t most)
{
	const char *at = emit_buffer((void *)(uintptr_t)kernel, count);
	return arena_printf(
	        emit->arena, "*%s < 0 ? 0 : *%s < %" PRId64 " ? (long)*%s : %" PRId64, at, at, most, at, most);
}

struct value emit_ends(struct emit *emit, const struct kernel *kernel, const struct definition *count, int64_t most)
{
	struct value lets = value_list(emit->arena);
	value_list_add(
	        lets, value_dict_of(emit->arena, "name", "many", "value", emit_count(emit, kernel, count, most)));
	return value_dict_of(emit->arena, "lets", lets);
}

struct value emit_kernel_value(struct emit *emit, const struct kernel *kernel)
{
	struct value value = value_dict(emit->arena);
	struct text params;
	text_init(&params, emit->build);
	FOR_ALL (i, kernel->params) {
		const struct param *param = &kernel->params.at[i];
		text_printf(&params, "%s%s%s *restrict %s", i ? ", " : "", param->written ? "" : "const ",
		        dtypes[param->of->type].c, param->name);
	}
	if (kernel->line)
		text_adds(&params, ", long line");
	value_set(value, "name", emit_symbol(emit, kernel), "number", kernel->number, "ends", kernel->ends, "inner",
	        kernel->inner, "elements", value_bool(kernel->elements > 0), "warps", kernel->warps ? kernel->warps : 1,
	        "joined", kernel->joined, "params", value_copy(emit->arena, params.at, params.count), "comment",
	        emit_kernel_comment(emit, kernel));
	text_release(&params);
	return value;
}

const struct kernel *kernel_of_gpu(const struct kernel *kernel, int gpu)
{
	return gpu >= 0 && kernel->variants ? kernel->variants[gpu] : kernel;
}

int gpu_from(const struct target *target, int gpu)
{
	return atoi((gpu < 0 ? target->gpu : target->others[gpu])->arch + strlen("sm_"));
}

int gpu_below(const struct target *target, int from)
{
	int best = GPU_NONE;
	for (int i = -1; i < target->other_count; i++)
		if (gpu_from(target, i) < from && (best == GPU_NONE || gpu_from(target, i) > gpu_from(target, best)))
			best = i;
	return best;
}

/* The newest GPU's first; the oldest one's is for whatever is older. */
static void emit_variants(struct emit *emit, const struct kernel *kernel, struct text *out)
{
	const char *word = "#if";
	for (int gpu = gpu_below(emit->target, INT_MAX); gpu != GPU_NONE;) {
		const struct kernel *one = kernel_of_gpu(kernel, gpu);
		int below = gpu_below(emit->target, gpu_from(emit->target, gpu));
		if (below != GPU_NONE && kernel_of_gpu(kernel, below) == one) {
			gpu = below;
			continue;
		}
		if (below != GPU_NONE)
			text_printf(out, "%s __CUDA_ARCH__ >= %d\n", word, 10 * gpu_from(emit->target, gpu));
		else if (strcmp(word, "#if"))
			text_adds(out, "#else\n");
		struct kernel as = *one;
		as.params = kernel->params; /* which came behind the tile */
		printed_shapes[as.shape].emit(emit, &as, out);
		if (below == GPU_NONE && strcmp(word, "#if"))
			text_adds(out, "#endif\n");
		word = "#elif";
		gpu = below;
	}
}

void emit_kernel(struct emit *emit, const struct kernel *kernel, struct text *out)
{
	const struct target *target = emit->target;
	if (kernel->same)
		return;
	if (kernel->target)
		emit->target = kernel->target;
	if (kernel->variants)
		emit_variants(emit, kernel, out);
	else
		printed_shapes[kernel->shape].emit(emit, kernel, out);
	emit->target = target;
}
