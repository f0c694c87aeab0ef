/* program.c: a lowered program -> one C text -> code.  Kernels without a form of their own become scalar loops. */
#include "jit/jit.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct writing {
	struct jit_program *program;
	struct build *build;
	const struct lowered *lowered;
	struct environment *templates;
	const char *name;
	struct target plain;        /* one lane: what libtcc can compile */
	struct arena arena;         /* of one kernel */
	struct text kernels, words; /* words: of the kernels of scalar loops */
	VECTOR(struct used) used;
	struct value schedule;
	int64_t *blocks; /* of each kernel's function, by number */
	int first_check;
	int64_t scratch;
	bool few; /* a call of the kernel's has few lanes */
};

static bool is_written(const struct writing *w, const struct kernel *kernel)
{
	return w->program->written >> kernel->shape & 1;
}

/* Its function calls those of the kernels that it holds. */
static bool has_steps(const struct writing *w, const struct kernel *kernel)
{
	return kernel_inside(kernel) && !is_written(w, kernel);
}

/* For one kernel. */
static struct emit emit_of(struct writing *w, const struct target *target)
{
	return (struct emit){
		.build = w->build, .arena = &w->arena, .target = target, .templates = w->templates, .name = w->name
	};
}

/* A kernel's place in messages: what a string of C may hold. */
static const char *place_of(struct arena *arena, const struct kernel *kernel)
{
	const char *node =
	        kernel->root->node && kernel->root->node->name ? kernel->root->node->name : kernel->root->name;
	char *text = arena_printf(arena, "%s (%.200s)", kernel->name, node);
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < 32 || (unsigned char)*p > 126 || *p == '"' || *p == '\\' || *p == '?'
		        || *p == ':')
			*p = '_';
	return text;
}

static const char *argument_of(struct writing *w, const struct param *param)
{
	struct arena *arena = w->build->arena;
	const struct definition *d = param->of;
	const struct program *program = w->lowered->program;
	const char *type = dtypes[d->type].c, *qualifier = param->written ? "" : "const ";
	if (scheduled(d)->mode == MODE_CONSTANT)
		return arena_printf(arena, "(const %s *)(weights + %" PRId64 ")", type, scheduled(d)->offset);
	if (scheduled(d)->mode == MODE_DEVICE)
		return arena_printf(arena, "(%s%s *)(workspace + %" PRId64 ")", qualifier, type, scheduled(d)->offset);
	FOR_ALL (i, program->inputs)
		if (program->inputs.at[i] == d)
			return arena_printf(arena, "inputs[%zu]", i);
	FOR_ALL (i, program->outputs)
		if (program->outputs.at[i] == d)
			return arena_printf(arena, "outputs[%zu]", i);
	fail(w->build, EXIT_LIMIT, d->name, "has no place");
}

static const char *condition_of(void *raw, struct definition *d)
{
	struct writing *w = raw;
	return arena_printf(w->build->arena, "(const unsigned char *)%s", argument_of(w, &(struct param){ .of = d }));
}

static void add_schedule(struct writing *w, const struct kernel *kernel, int64_t blocks, bool scalar)
{
	struct arena *arena = w->build->arena;
	const char *arguments = "", *code = (kernel->same ? kernel->same : kernel)->name;
	w->blocks[kernel->number] = blocks;
	FOR_ALL (i, kernel->params)
		arguments =
		        arena_printf(arena, "%s%s%s", arguments, i ? ", " : "", argument_of(w, &kernel->params.at[i]));
	int number = kernel_check(w->lowered, kernel);
	struct value check = number < 0
	        ? value_none()
	        : value_dict_of(arena, "at", scheduled(kernel->root)->offset, "code", w->first_check + number);
	value_list_add(w->schedule,
	        value_dict_of(arena, "name", arena_printf(arena, "%s_%s", w->name, code), "number", kernel->number,
	                "arguments", arguments, "blocks", blocks, "scalar", scalar, "only",
	                emit_only_where(arena, kernel_branch(kernel), condition_of, w), "check", check));
}

/* `restrict` says nothing to libtcc, and values that are read and written in place would break it. */
static struct value constants_of(struct blocks *b)
{
	struct value list = value_list(b->arena);
	FOR_ALL (i, b->constants)
		value_list_add(list, value_string(b->constants.at[i]));
	return list;
}

/* What a shape is made of, the first that can; chains are of their steps. */
struct form {
	bool (*make)(struct blocks *, struct emit *, struct jit_kernel *);
	const char *template;
};
static const struct form forms[SHAPE_COUNT][4] = {
	[SHAPE_CONTRACTION] = { { jit_contraction, "c/jit_contraction.jinja" } },
	[SHAPE_WINOGRAD] = { { jit_winograd, "c/jit_winograd.jinja" } },
	[SHAPE_LOOPS] = { { jit_cast, "c/jit_cast.jinja" }, { jit_window, "c/jit_window.jinja" },
	        { jit_loops, "c/jit_kernel.jinja" } },
	[SHAPE_ORDER] = { { jit_order, "c/jit_order.jinja" } },
	[SHAPE_WALK] = { { jit_walk, "c/jit_walk.jinja" } },
};

/* The kernel's function made of calls of the menu, after `below` floats of scratch that somebody else holds.  False: it
 * has no such form. */
static bool add_blocks(struct writing *w, const struct kernel *kernel, int64_t below, const char **why)
{
	struct blocks blocks = { 0 };
	struct emit emit = emit_of(w, w->lowered->target);
	struct jit_kernel made = { .value = value_dict(&w->arena) };
	bool can = false;
	if (kernel->params.count > JIT_PARAMS_MOST) /* libtcc's own limit is a little higher */
		fail(w->build, EXIT_LIMIT, place_of(w->build->arena, kernel),
		        "the JIT cannot run it: it reads and writes %zu tensors, %d at most", kernel->params.count,
		        JIT_PARAMS_MOST);
	const struct form *form = forms[kernel->shape];
	for (; !can && form->make && !is_written(w, kernel); form += !can) {
		blocks = (struct blocks){
			.build = w->build, .arena = &w->arena, .kernel = kernel, .program = w->lowered->program
		};
		made.value = value_dict(&w->arena);
		can = form->make(&blocks, &emit, &made);
	}
	*why = blocks.cannot;
	if (!can)
		return false;
	value_set(made.value, "kernel", emit_kernel_value(&emit, kernel), "place", place_of(&w->arena, kernel));
	value_set(made.value, "constants", constants_of(&blocks));
	value_set(made.value, "term_list", blocks.terms ? JIT_TERMS_MOST : 0, "blocks", kernel->blocks);
	template_render(w->templates, form->template, made.value, &w->kernels);
	FOR_ALL (i, blocks.used) {
		bool known = false;
		FOR_ALL (k, w->used)
			known |= !strcmp(w->used.at[k].name, blocks.used.at[i].name);
		if (!known)
			push(w->build->arena, &w->used,
			        (struct used){ arena_copy(w->build->arena, blocks.used.at[i].name,
			                               strlen(blocks.used.at[i].name)),
			                blocks.used.at[i].signature });
	}
	w->few |= blocks.few;
	w->scratch = below + made.scratch > w->scratch ? below + made.scratch : w->scratch;
	return true;
}

/* Its function as scalar loops: how many blocks they have. */
static int64_t add_scalar(struct writing *w, const struct kernel *kernel, const char *why)
{
	struct emit emit = emit_of(w, &w->plain);
	if (!printed_shapes[kernel->shape].plain && !is_written(w, kernel))
		fail(w->build, EXIT_UNSUPPORTED, place_of(w->build->arena, kernel), "the JIT cannot run it: %s", why);
	text_printf(&w->kernels, "#line 1 \"%s\"\n", place_of(&w->arena, kernel));
	size_t from = w->kernels.count;
	struct kernel scalar = *kernel;
	struct lowered plain = { .arena = &w->arena, .target = &w->plain };
	if (shapes[kernel->shape].statements)
		loops_finish(&plain, &scalar);
	printed_shapes[kernel->shape].emit(&emit, &scalar, &w->kernels);
	text_add(&w->words, w->kernels.at + from, w->kernels.count - from);
	return scalar.blocks;
}

/* Steps over blocks of rows: their functions, and one that calls them.  True: one of them is scalar loops. */
static bool add_steps(struct writing *w, const struct kernel *kernel)
{
	const struct lowered *inside = kernel_inside(kernel);
	struct emit emit = emit_of(w, w->lowered->target);
	const char **more = arena_new_array(&w->arena, const char *, inside->kernels.count);
	int64_t scratch = fused_scratch(kernel->detail);
	bool any = false;
	FOR_ALL (s, inside->kernels) {
		const struct kernel *step = inside->kernels.at[s];
		const char *why = NULL;
		bool scalar = !add_blocks(w, step, scratch, &why);
		int64_t blocks = scalar ? add_scalar(w, step, why) : 0;
		/* Loops of one lane may have other blocks: all of them run then. */
		more[s] = !scalar                              ? arena_printf(&w->arena, "scratch + %" PRId64, scratch)
		        : step->ends && blocks == step->blocks ? "0"
		                                               : arena_printf(&w->arena, "0, %" PRId64, blocks);
		any |= scalar;
	}
	w->scratch = scratch > w->scratch ? scratch : w->scratch;
	struct value values = fused_values(&emit, kernel, more);
	value_set(values, "place", place_of(&w->arena, kernel), "blocks", kernel->blocks);
	template_render(w->templates, "c/jit_fused.jinja", values, &w->kernels);
	return any;
}

static bool add_rounds(struct writing *, const struct kernel *);

/* A kernel that holds others: their functions, and its own.  True: one of them is scalar loops. */
static bool add_inside(struct writing *w, const struct kernel *kernel)
{
	return kernel->shape == SHAPE_REPEAT ? add_rounds(w, kernel) : add_steps(w, kernel);
}

/* The kernels of a loop's body, and a function that calls them round after round. */
static bool add_rounds(struct writing *w, const struct kernel *kernel)
{
	const struct lowered *inside = kernel_inside(kernel);
	struct emit emit = emit_of(w, w->lowered->target);
	const char **more = arena_new_array(&w->arena, const char *, inside->kernels.count + 1), *why = NULL;
	bool any = false;
	FOR_ALL (s, inside->kernels) {
		const struct kernel *step = inside->kernels.at[s];
		if (step->same) {
			more[s] = more[step->same->number];
			continue;
		}
		bool steps = has_steps(w, step), scalar = steps ? add_inside(w, step) : !add_blocks(w, step, 0, &why);
		more[s] =
		        scalar && !steps ? arena_printf(&w->arena, "0, %" PRId64, add_scalar(w, step, why)) : "scratch";
		any |= scalar;
	}
	struct value values = repeat_values(&emit, kernel, more);
	value_set(values, "place", place_of(&w->arena, kernel));
	template_render(w->templates, "c/jit_repeat.jinja", values, &w->kernels);
	return any;
}

static void add_kernel(struct writing *w, const struct kernel *kernel)
{
	const char *why = NULL;
	w->few = false;
	bool steps = has_steps(w, kernel), scalar = steps ? add_inside(w, kernel) : !add_blocks(w, kernel, 0, &why);
	add_schedule(w, kernel, scalar && !steps ? add_scalar(w, kernel, why) : kernel->blocks, scalar && !steps);
	w->program->scalar[kernel->number] = scalar;
	w->program->few[kernel->number] = w->few;
	w->program->scalar_kernels += scalar;
}

/* The kernels of one graph, and their order. */
static void add_part(struct writing *w, const struct jit_part *part)
{
	assert(part->lowered->target->calls); /* jit_target */
	w->lowered = part->lowered;
	w->name = part->name;
	w->plain = *part->lowered->target;
	w->plain.lanes = 1;
	w->plain.calls = false;
	w->plain.prelude = "c/prelude_scalar.jinja";
	w->schedule = value_list(w->build->arena);
	w->scratch = 0;
	w->first_check = part->first_check;
	w->blocks = arena_new_array(w->build->arena, int64_t, w->lowered->kernels.count + 1);
	w->program->scalar = arena_new_array(w->build->arena, bool, w->lowered->kernels.count + 1);
	w->program->few = arena_new_array(w->build->arena, bool, w->lowered->kernels.count + 1);
	FOR_EACH (const struct kernel *kernel, w->lowered->kernels) {
		const struct kernel *same = kernel->same;
		if (same) {
			w->program->scalar[kernel->number] = w->program->scalar[same->number];
			w->program->few[kernel->number] = w->program->few[same->number];
			w->program->scalar_kernels += w->program->scalar[same->number];
			add_schedule(w, kernel, w->blocks[same->number],
			        w->program->scalar[same->number] && !has_steps(w, same));
			continue;
		}
		arena_init(&w->arena, w->build);
		add_kernel(w, kernel);
		arena_release(&w->arena);
		text_addc(&w->kernels, '\n');
	}
}

static struct value entries_of(const struct writing *w)
{
	struct value entries = value_list(w->build->arena);
	FOR_ALL (i, w->used)
		value_list_add(entries,
		        value_dict_of(
		                w->build->arena, "name", w->used.at[i].name, "signature", w->used.at[i].signature));
	return entries;
}

void jit_parts_text(struct jit_program *program, struct build *build, struct jit_part *parts, int count,
        struct environment *templates, struct text *out)
{
	struct writing w = { .program = program, .build = build, .templates = templates };
	struct text prelude;
	struct value globals = value_dict(build->arena), runs = value_list(build->arena);
	text_init(&w.kernels, build);
	text_init(&w.words, build);
	text_init(&prelude, build);
	FOR (p, count) {
		add_part(&w, &parts[p]);
		value_list_add(runs, value_dict_of(build->arena, "name", parts[p].run, "schedule", w.schedule));
		parts[p].schedule = w.schedule;
		parts[p].scratch_bytes = w.scratch * 4;
		program->scratch_bytes = parts[p].scratch_bytes > program->scratch_bytes ? parts[p].scratch_bytes
		                                                                         : program->scratch_bytes;
	}
	/* Indices that are values are words of integers, i_… and u_…, in kernels of either kind. */
	bool indices = w.kernels.count && (strstr(w.kernels.at, "i_") || strstr(w.kernels.at, "u_"));
	if (w.words.count || indices) {
		struct emit emit = { .build = build,
			.arena = build->arena,
			.target = &w.plain,
			.templates = templates,
			.name = w.name };
		emit_prelude(&emit, indices ? w.kernels.at : w.words.at, indices ? w.kernels.count : w.words.count,
		        &prelude);
	}
	value_set(globals, "entries", entries_of(&w), "prelude",
	        value_string_of(prelude.count ? prelude.at : "", prelude.count), "kernels",
	        value_string_of(w.kernels.count ? w.kernels.at : "", w.kernels.count), "runs", runs, "profile",
	        program->profiled);
	template_render(templates, "c/jit_program.jinja", globals, out);
	text_release(&prelude);
	text_release(&w.words);
	text_release(&w.kernels);
}

void jit_text(struct jit_program *program, struct build *build, const struct lowered *lowered,
        struct environment *templates, struct text *out)
{
	struct jit_part part = { .lowered = lowered, .name = program->name, .run = "run", .first_check = CHECK_CODES };
	jit_parts_text(program, build, &part, 1, templates, out);
}

/* The C library's functions that the words of doubles call. */
#define M(name) \
	{ \
#name, (const void *)(uintptr_t)name \
	}
static const struct jit_symbol libm[] = {
	M(sqrt),
	M(exp),
	M(log),
	M(tanh),
	M(erf),
	M(erfc),
	M(sin),
	M(cos),
	M(floor),
	M(ceil),
	M(nearbyint),
	M(fabs),
	M(expm1),
	M(log1p),
	M(tan),
	M(asin),
	M(acos),
	M(atan),
	M(sinh),
	M(cosh),
	M(asinh),
	M(acosh),
	M(atanh),
	M(pow),
	M(fmod),
	M(fma),
};
#undef M

/* The entries that the text calls, and the words of the plain dialect. */
static struct jit_symbol *bind(struct build *build, const char *cpu, const char *text, size_t *count)
{
	static const char *const words[][2] = { { "fmaf", "m_word_fma" }, { "sqrtf", "m_word_sqrt" } };
	VECTOR(struct jit_symbol) bound = { 0 };
	size_t size;
	const struct jit_symbol *found;
	if (!jit_menu(cpu, &size))
		fail(build, EXIT_ENVIRONMENT, NULL, "--target jit: this build has no menu for %s", cpu);
	for (const char *p = text; (p = strstr(p, "\nvoid m_"));) {
		const char *end = strchr(p, '('), *start = p + strlen("\nvoid "), *close = strchr(p, ')');
		if (!close || close[1] != ';') { /* a function of this text, of a model that is called m */
			p = end;
			continue;
		}
		const char *name = arena_copy(build->arena, start, (size_t)(end - start));
		found = jit_entry(cpu, name);
		if (!found)
			fail(build, EXIT_LIMIT, name, "the menu of %s lacks it", cpu);
		push(build->arena, &bound, *found);
		p = end;
	}
	FOR (i, COUNT(words))
		if ((found = jit_entry(cpu, words[i][1])))
			push(build->arena, &bound, (struct jit_symbol){ words[i][0], found->at });
	FOR (i, COUNT(libm))
		push(build->arena, &bound, libm[i]);
	*count = bound.count;
	return bound.at;
}

/* Lines count from what `#line 1 "NAME"` says, where the message begins with that name. */
static const char *line_refused(struct build *build, const char *text, const char *message)
{
	const char *from =
	        strstr(text, arena_printf(build->arena, "#line 1 \"%.*s\"\n", (int)strcspn(message, ":"), message));
	from = from ? strchr(from, '\n') + 1 : text;
	return generated_line(build, message, from, strlen(from));
}

void jit_compile_text(struct jit_program *program, struct build *build, const char *cpu, const struct text *text,
        const struct jit_symbol *more, size_t more_count)
{
	size_t count;
	char message[512] = "";
	enum jit_status status = jit_probe();
	if (status == JIT_OK) {
		program->text = arena_copy(build->arena, text->at, text->count);
		struct jit_symbol *bound = bind(build, cpu, program->text, &count),
		                  *symbols = arena_new_array(build->arena, struct jit_symbol, count + more_count + 1);
		memcpy(symbols, bound, count * sizeof *symbols);
		if (more_count)
			memcpy(symbols + count, more, more_count * sizeof *symbols);
		status = jit_compile(
		        &program->code, program->text, symbols, count + more_count, message, sizeof message);
	}
	switch (status) {
	case JIT_OK: return;
	case JIT_ABSENT: fail(build, EXIT_ENVIRONMENT, NULL, "--target jit: this build has no libtcc");
	case JIT_FORBIDDEN:
		fail(build, EXIT_ENVIRONMENT, NULL, "--target jit: this process may make no executable memory");
	case JIT_MEMORY: fail(build, EXIT_LIMIT, NULL, "--target jit: not enough memory to compile");
	case JIT_REFUSED:
		fail(build, EXIT_ENVIRONMENT, NULL, "libtcc refused the generated code: %s%s",
		        *message ? message : "it does not say why", line_refused(build, program->text, message));
	}
}

void jit_build(
        struct jit_program *program, struct build *build, const struct lowered *lowered, struct environment *templates)
{
	struct text text;
	text_init(&text, build);
	jit_text(program, build, lowered, templates, &text);
	jit_compile_text(program, build, lowered->target->name, &text, NULL, 0);
	text_release(&text);
	*(void **)&program->run = jit_function(program->code, "run");
	if (!program->run) {
		jit_release(program->code);
		program->code = NULL;
		fail(build, EXIT_ENVIRONMENT, NULL, "libtcc made no function \"run\"");
	}
	*(void **)&program->profile = program->profiled ? jit_function(program->code, "profile") : NULL;
}
