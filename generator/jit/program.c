/* program.c: a lowered program -> one C text -> code.  Kernels without a form of their own become scalar loops. */
#include "jit/jit.h"
#include <inttypes.h>
#include <stdlib.h>

struct writing {
	struct jit_program *program;
	struct build *build;
	const struct lowered *lowered;
	struct environment *templates;
	const char *name;
	struct target plain;              /* one lane: what libtcc can compile */
	struct arena arena;               /* of one kernel */
	struct text kernels, words;       /* words: of the kernels of scalar loops */
	VECTOR(struct used) used;
	struct value schedule;
	int64_t *blocks;                  /* of each kernel's function, by number */
	int64_t scratch;
};

/* A kernel's place in messages: what a string of C may hold. */
static const char *place_of(struct arena *arena, const struct kernel *kernel)
{
	const char *node = kernel->root->node && kernel->root->node->name ? kernel->root->node->name : kernel->root->name;
	char *text = arena_printf(arena, "%s (%.200s)", kernel->name, node);
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < 32 || (unsigned char)*p > 126 || *p == '"' || *p == '\\' || *p == '?' || *p == ':')
			*p = '_';
	return text;
}

static const char *argument_of(struct writing *w, const struct param *param)
{
	struct arena *arena = w->build->arena;
	const struct definition *d = param->of;
	const struct program *program = w->lowered->program;
	const char *type = dtypes[d->type].c, *qualifier = param->written ? "" : "const ";
	if (d->placed->mode == MODE_CONSTANT)
		return arena_printf(arena, "(const %s *)(weights + %" PRId64 ")", type, d->placed->offset);
	if (d->placed->mode == MODE_DEVICE)
		return arena_printf(arena, "(%s%s *)(workspace + %" PRId64 ")", qualifier, type, d->placed->offset);
	for (size_t i = 0; i < program->inputs.count; i++)
		if (program->inputs.at[i] == d)
			return arena_printf(arena, "inputs[%zu]", i);
	for (size_t i = 0; i < program->outputs.count; i++)
		if (program->outputs.at[i] == d)
			return arena_printf(arena, "outputs[%zu]", i);
	fail(w->build, EXIT_LIMIT, d->name, "has no place");
}

static void add_schedule(struct writing *w, const struct kernel *kernel, int64_t blocks, bool scalar)
{
	struct arena *arena = w->build->arena;
	struct value entry = value_dict(arena);
	const char *arguments = "", *code = (kernel->same ? kernel->same : kernel)->name;
	w->blocks[kernel->number] = blocks;
	for (size_t i = 0; i < kernel->params.count; i++)
		arguments = arena_printf(arena, "%s%s%s", arguments, i ? ", " : "", argument_of(w, &kernel->params.at[i]));
	value_dict_set(entry, "name", value_string(arena_printf(arena, "%s_%s", w->name, code)));
	value_dict_set(entry, "number", value_int(kernel->number));
	value_dict_set(entry, "arguments", value_string(arguments));
	value_dict_set(entry, "blocks", value_int(blocks));
	value_dict_set(entry, "scalar", value_bool(scalar));
	value_list_add(w->schedule, entry);
}

/* `restrict` says nothing to libtcc, and values that are read and written in place would break it. */
static struct value constants_of(struct blocks *b)
{
	struct value list = value_list(b->arena);
	for (size_t i = 0; i < b->constants.count; i++)
		value_list_add(list, value_string(b->constants.at[i]));
	return list;
}

static bool add_blocks(struct writing *w, const struct kernel *kernel, const char **why)
{
	struct blocks blocks = { .build = w->build, .arena = &w->arena, .kernel = kernel };
	struct emit emit = { .build = w->build, .arena = &w->arena, .target = w->lowered->target, .templates = w->templates, .name = w->name };
	struct jit_kernel made = { .value = value_dict(&w->arena) };
	const char *template = "c/jit_kernel.jinja";
	bool can = false;
	if (kernel->params.count > JIT_PARAMS_MOST)           /* libtcc's own limit is a little higher */
		fail(w->build, EXIT_LIMIT, place_of(w->build->arena, kernel), "the JIT cannot run it: it reads and writes %zu tensors, %d at most",
			kernel->params.count, JIT_PARAMS_MOST);
	if (kernel->shape == SHAPE_LOOPS) {
		can = jit_window(&blocks, w->lowered->target, &made);
		template = can ? "c/jit_window.jinja" : template;
		if (!can) {
			blocks = (struct blocks){ .build = w->build, .arena = &w->arena, .kernel = kernel };
			made.value = value_dict(&w->arena);
			can = jit_loops(&blocks, w->lowered->target, &made);
		}
	}
	else if (kernel->shape == SHAPE_CONTRACTION) {
		can = jit_contraction(&blocks, &emit, &made);
		template = "c/jit_contraction.jinja";
	} else if (kernel->shape == SHAPE_WINOGRAD) {
		can = jit_winograd(&blocks, &emit, &made);
		template = "c/jit_winograd.jinja";
	} else
		blocks_cannot(&blocks, "the menu has nothing for its shape");
	*why = blocks.cannot;
	if (!can)
		return false;
	value_dict_set(made.value, "kernel", emit_kernel_value(&emit, kernel));
	value_dict_set(made.value, "place", value_string(place_of(&w->arena, kernel)));
	value_dict_set(made.value, "constants", constants_of(&blocks));
	value_dict_set(made.value, "term_list", value_int(blocks.terms ? JIT_TERMS_MOST : 0));
	value_dict_set(made.value, "blocks", value_int(kernel->blocks));
	template_render(w->templates, template, made.value, &w->kernels);
	for (size_t i = 0; i < blocks.used.count; i++) {
		bool known = false;
		for (size_t k = 0; k < w->used.count; k++)
			known |= !strcmp(w->used.at[k].name, blocks.used.at[i].name);
		if (!known)
			push(w->build->arena, &w->used, (struct used){ arena_copy(w->build->arena, blocks.used.at[i].name, strlen(blocks.used.at[i].name)),
				blocks.used.at[i].signature });
	}
	w->scratch = made.scratch > w->scratch ? made.scratch : w->scratch;
	add_schedule(w, kernel, kernel->blocks, false);
	return true;
}

static void add_scalar(struct writing *w, const struct kernel *kernel, const char *why)
{
	struct emit emit = { .build = w->build, .arena = &w->arena, .target = &w->plain, .templates = w->templates, .name = w->name };
	if (kernel->shape != SHAPE_LOOPS)
		fail(w->build, EXIT_UNSUPPORTED, place_of(w->build->arena, kernel), "the JIT cannot run it: %s", why);
	size_t from = w->kernels.count;
	struct loops *loops = loops_lower(w->build, &w->arena, &w->plain, kernel);
	loops_emit(&emit, kernel, &w->kernels);
	text_add(&w->words, w->kernels.at + from, w->kernels.count - from);
	add_schedule(w, kernel, loops->blocks, true);
	w->program->scalar[kernel->number] = true;
	w->program->scalar_kernels++;
}

void jit_text(struct jit_program *program, struct build *build, const struct lowered *lowered, struct environment *templates, const char *name, struct text *out)
{
	struct writing w = { .program = program, .build = build, .lowered = lowered, .templates = templates, .name = name,
		.plain = *lowered->target, .schedule = value_list(build->arena) };
	struct text prelude;
	struct value globals = value_dict(build->arena), entries = value_list(build->arena);
	w.blocks = new_array(build->arena, int64_t, lowered->kernels.count + 1);
	program->scalar = new_array(build->arena, bool, lowered->kernels.count + 1);
	w.plain.lanes = 1;
	w.plain.prelude = "c/prelude_scalar.jinja";
	text_init(&w.kernels, build);
	text_init(&w.words, build);
	text_init(&prelude, build);
	for (size_t k = 0; k < lowered->kernels.count; k++) {
		const struct kernel *kernel = lowered->kernels.at[k], *same = kernel->same;
		const char *why = NULL;
		if (same) {
			program->scalar[kernel->number] = program->scalar[same->number];
			program->scalar_kernels += program->scalar[same->number];
			add_schedule(&w, kernel, w.blocks[same->number], program->scalar[same->number]);
			continue;
		}
		arena_init(&w.arena, build);
		if (!add_blocks(&w, kernel, &why))
			add_scalar(&w, kernel, why);
		arena_release(&w.arena);
		text_addc(&w.kernels, '\n');
	}
	/* Indices that are values are clamped by a word, in kernels of either kind. */
	bool clamps = w.kernels.count && strstr(w.kernels.at, "i_clamp(");
	if (w.words.count || clamps) {
		struct emit emit = { .build = build, .arena = build->arena, .target = &w.plain, .templates = templates, .name = name };
		emit_prelude(&emit, clamps ? w.kernels.at : w.words.at, clamps ? w.kernels.count : w.words.count, &prelude);
	}
	for (size_t i = 0; i < w.used.count; i++) {
		struct value entry = value_dict(build->arena);
		value_dict_set(entry, "name", value_string(w.used.at[i].name));
		value_dict_set(entry, "signature", value_string(w.used.at[i].signature));
		value_list_add(entries, entry);
	}
	value_dict_set(globals, "entries", entries);
	value_dict_set(globals, "prelude", value_string_of(prelude.count ? prelude.at : "", prelude.count));
	value_dict_set(globals, "kernels", value_string_of(w.kernels.count ? w.kernels.at : "", w.kernels.count));
	value_dict_set(globals, "schedule", w.schedule);
	value_dict_set(globals, "profile", value_bool(program->profiled));
	template_render(templates, "c/jit_program.jinja", globals, out);
	program->scratch_bytes = w.scratch * 4;
	text_release(&prelude);
	text_release(&w.words);
	text_release(&w.kernels);
}

static int by_name(const void *key, const void *symbol) { return strcmp(key, ((const struct jit_symbol *)symbol)->name); }

/* The entries that the text calls, and the words of the plain dialect. */
static struct jit_symbol *bind(struct build *build, const char *cpu, const char *text, size_t *count)
{
	static const char *const words[][2] = { { "fmaf", "m_word_fma" }, { "sqrtf", "m_word_sqrt" } };
	VECTOR(struct jit_symbol) bound = { 0 };
	size_t size;
	const struct jit_symbol *menu = jit_menu(cpu, &size), *found;
	if (!menu)
		fail(build, EXIT_ENVIRONMENT, NULL, "--target jit: this build has no menu for %s", cpu);
	for (const char *p = text; (p = strstr(p, "\nvoid m_")); ) {
		const char *end = strchr(p, '('), *start = p + strlen("\nvoid ");
		const char *name = arena_copy(build->arena, start, (size_t)(end - start));
		found = bsearch(name, menu, size, sizeof *menu, by_name);
		if (!found)
			fail(build, EXIT_LIMIT, name, "the menu of %s lacks it", cpu);
		push(build->arena, &bound, *found);
		p = end;
	}
	for (size_t i = 0; i < COUNT(words); i++)
		if ((found = bsearch(words[i][1], menu, size, sizeof *menu, by_name)))
			push(build->arena, &bound, (struct jit_symbol){ words[i][0], found->at });
	*count = bound.count;
	return bound.at;
}

void jit_build(struct jit_program *program, struct build *build, const struct lowered *lowered, struct environment *templates, const char *name)
{
	struct text text;
	size_t count;
	char message[512] = "";
	enum jit_status status = jit_probe();
	if (status == JIT_OK) {
		text_init(&text, build);
		jit_text(program, build, lowered, templates, name, &text);
		program->text = arena_copy(build->arena, text.at, text.count);
		text_release(&text);
		struct jit_symbol *symbols = bind(build, lowered->target->name, program->text, &count);
		status = jit_compile(&program->code, program->text, symbols, count, message, sizeof message);
	}
	switch (status) {
	case JIT_OK:
		break;
	case JIT_ABSENT:
		fail(build, EXIT_ENVIRONMENT, NULL, "--target jit: this build has no libtcc");
	case JIT_FORBIDDEN:
		fail(build, EXIT_ENVIRONMENT, NULL, "--target jit: this process may make no executable memory");
	case JIT_MEMORY:
		fail(build, EXIT_LIMIT, NULL, "--target jit: not enough memory to compile");
	case JIT_REFUSED:
		fail(build, EXIT_ENVIRONMENT, NULL, "libtcc refused the generated code: %s", *message ? message : "it does not say why");
	}
	*(void **)&program->run = jit_function(program->code, "run");
	if (!program->run) {
		jit_release(program->code);
		program->code = NULL;
		fail(build, EXIT_ENVIRONMENT, NULL, "libtcc made no function \"run\"");
	}
	*(void **)&program->profile = program->profiled ? jit_function(program->code, "profile") : NULL;
}
