/* module.c: the parts of a package -> a module descriptor in memory: the JIT's kernels and the text of
 * package/module.jinja in one program of libtcc, with the weights beside it. */
#include "jit/jit.h"
#include "base/embedded.h"
#include "emit/package.h"
#include <stdlib.h>

struct jit_module {
	struct jit_program program;
	unsigned char *weights;
	const struct ingot_module *descriptor;
};

/* abi.h for a compiler that has no headers: its own includes are these types. */
static const char *interface_text(struct emit *emit)
{
	const struct embedded_file *file = embedded_runtime_files;
	struct text text;
	while (file->name && strcmp(file->name, "include/ingot/abi.h"))
		file++;
	if (!file->name)
		fail(emit->build, EXIT_ENVIRONMENT, NULL, "this program has no runtime in it");
	text_init(&text, emit->build);
	for (const char *line = (const char *)file->at, *end; *line; line = end) {
		end = strchr(line, '\n') + 1;
		if (strncmp(line, "#include", 8))
			text_add(&text, line, (size_t)(end - line));
	}
	const char *kept = arena_copy(emit->arena, text.at, text.count);
	text_release(&text);
	return kept;
}

/* Which kernels are scalar loops, and over how many blocks those run. */
static void mark_scalar(struct value kernels, const struct jit_part *parts, int count)
{
	size_t k = 0;
	for (int p = 0; p < count; p++)
		for (size_t i = 0; i < value_count(parts[p].schedule) && k < value_count(kernels); i++, k++) {
			struct value kernel = value_at(kernels, k), entry = value_at(parts[p].schedule, i);
			value_set(kernel, "scalar", value_dict_get(entry, "scalar"), "blocks",
			        value_dict_get(entry, "blocks"));
		}
}

static void add_scratch(struct value routines, const struct jit_part *parts, int count)
{
	FOR (p, count) {
		struct value routine = value_at(routines, (size_t)p);
		int64_t scratch = (value_dict_get(routine, "workspace_bytes").integer + 63) & ~(int64_t)63;
		value_set(routine, "run", parts[p].run, "scratch", scratch, "workspace_bytes",
		        scratch + JIT_LANES_MOST * 4 + parts[p].scratch_bytes);
	}
}

static void print_module(
        struct emit *emit, const struct package *package, struct jit_part *parts, struct writing *w, struct text *out)
{
	package_begin(w); /* first: it says where the parts' constants are */
	jit_parts_text(&(struct jit_program){ 0 }, emit->build, parts, package->part_count, emit->templates, out);
	package_describe(w);
	add_scratch(value_dict_get(w->globals, "routines"), parts, package->part_count);
	mark_scalar(value_dict_get(w->globals, "kernels"), parts, package->part_count);
	value_set(w->globals, "jit", value_bool(true), "lanes", JIT_LANES_MOST, "interface", interface_text(emit));
	template_render(emit->templates, "package/module.jinja", w->globals, out);
}

static void compile(struct jit_module *module, struct emit *emit, const struct package *package)
{
	struct arena *arena = emit->arena;
	struct jit_part *parts = arena_new_array(arena, struct jit_part, (size_t)package->part_count);
	struct writing w = { .emit = emit, .package = package, .scratch = true };
	struct text text;
	FOR (p, package->part_count)
		parts[p] = (struct jit_part){ .lowered = package->parts[p].lowered,
			.name = emit_part_prefix(arena, p),
			.run = arena_printf(arena, "schedule_%d", p),
			.first_check = package_first_check(package, p) };
	text_init(&text, emit->build);
	print_module(emit, package, parts, &w, &text);
	module->weights = aligned_alloc(64, ((size_t)w.weights_bytes + 64) & ~(size_t)63);
	if (!module->weights)
		fail(emit->build, EXIT_LIMIT, NULL, "out of memory: %lld bytes of weights", (long long)w.weights_bytes);
	memset(module->weights, 0, ((size_t)w.weights_bytes + 64) & ~(size_t)63);
	FOR_ALL (i, w.items)
		constant_fill(w.items.at[i].item, module->weights + w.items.at[i].offset);
	struct jit_symbol weights = { "weights_of", module->weights };
	jit_compile_text(&module->program, emit->build, emit->target->name, &text, &weights, 1);
	text_release(&text);
	module->descriptor = jit_function(module->program.code, "module_of");
	if (!module->descriptor)
		fail(emit->build, EXIT_ENVIRONMENT, NULL, "libtcc made no module");
}

struct jit_module *jit_module_open(struct emit *emit, const struct package *package)
{
	struct build *build = emit->build;
	struct jit_module *module = calloc(1, sizeof *module);
	jmp_buf *out = build->out, mine;
	if (!module)
		fail(build, EXIT_LIMIT, NULL, "out of memory");
	build->out = &mine;
	if (setjmp(mine) == 0)
		compile(module, emit, package);
	build->out = out;
	if (build->code) {
		jit_module_close(module);
		longjmp(*out, 1);
	}
	return module;
}

const struct ingot_module *jit_module_descriptor(const struct jit_module *module) { return module->descriptor; }

void jit_module_close(struct jit_module *module)
{
	if (!module)
		return;
	jit_release(module->program.code);
	free(module->weights);
	free(module);
}
