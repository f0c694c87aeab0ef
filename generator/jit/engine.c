/* engine.c: the JIT as an engine: code in memory, weights, workspace and scratch beside it. */
#include "engine.h"
#include "jit/jit.h"
#include <limits.h>
#include <stdlib.h>

struct state {
	struct jit_program program;
	struct memory {
		void *at;
		size_t bytes;
	} weights, workspace, scratch;
};

static void allocate(struct build *build, const char *what, int64_t bytes, struct memory *memory)
{
	memory->bytes = (size_t)bytes + 64;
	memory->at = jit_data(memory->bytes);
	if (!memory->at)
		fail(build, EXIT_LIMIT, NULL, "out of memory: %lld bytes of %s", (long long)bytes, what);
}

static void jit_close(struct engine *engine)
{
	struct state *state = engine->state;
	if (!state)
		return;
	jit_release(state->program.code);
	jit_data_release(state->weights.at, state->weights.bytes);
	jit_data_release(state->workspace.at, state->workspace.bytes);
	jit_data_release(state->scratch.at, state->scratch.bytes);
	engine->state = NULL;
}

enum { FORGOTTEN_BYTES = 1 << 20 }; /* of one constant: less is not worth a system call */

static void fill(struct engine *engine, struct state *state)
{
	struct model *model = engine->model;
	struct build *build = model->build;
	const struct lowered *lowered = model->lowered;
	state->program.profiled = model->options->profile;
	state->program.name = model->name;
	state->program.written = templates_shapes(build, model->options->templates);
	jit_build(&state->program, build, lowered, model_templates(model));
	allocate(build, "weights", lowered->weights_bytes, &state->weights);
	allocate(build, "workspace", lowered->workspace_bytes, &state->workspace);
	allocate(build, "scratch", state->program.scratch_bytes + JIT_LANES_MOST * 4, &state->scratch);
	memset(state->scratch.at, 0, (size_t)state->program.scratch_bytes + JIT_LANES_MOST * 4);
	FOR_EACH_AT (const struct constant_item *item, lowered->constants) {
		constant_fill(item, (unsigned char *)state->weights.at + scheduled(item->of)->offset);
		if (scheduled(item->of)->bytes >= FORGOTTEN_BYTES)
			files_forget(build); /* weights stand in memory once */
	}
}

struct target *jit_target(struct arena *arena, const struct target *asked)
{
	struct target *target = arena_new(arena, struct target);
	const struct product *product;
	*target = *asked;
	target->products = "";
	for (size_t i = 0; (product = product_row(i)); i++)
		if (jit_multiplies(asked, product))
			target->products = arena_printf(arena, "%s %s", target->products, product->name);
	target->simple_epilogues = target->calls = true; /* of the menu */
	target->share.work = INT_MAX;                    /* one thread: blocks are as large as they go */
	return target;
}

void jit_lower(struct model *model)
{
	const struct options *asked = model->options;
	struct options options = *asked;
	uint32_t written = templates_shapes(model->build, asked->templates);
	bool wide = false; /* libtcc knows no vectors: what is made of them is made of scalars */
	FOR (s, SHAPE_COUNT)
		wide |= (written >> s & 1) && !printed_shapes[s].plain;
	struct target *target = jit_target(model->build->arena, wide ? target_find("generic") : asked->target);
	options.target = target;
	model->options = &options;
	model_lower(model);
	model->options = asked;
}

static void jit_open(struct engine *engine)
{
	struct build *build = engine->model->build;
	jmp_buf *out = build->out, mine;
	engine->state = arena_new(build->arena, struct state);
	build->out = &mine;
	if (setjmp(mine) == 0) {
		if (!engine->model->lowered)
			jit_lower(engine->model);
		progress(build, "libtcc", 0, 0, 0);
		fill(engine, engine->state);
	}
	build->out = out;
	if (build->code) {
		jit_close(engine);
		longjmp(*out, 1);
	}
}

static void jit_engine_run(struct engine *engine, const void *const *inputs, void *const *outputs)
{
	struct state *state = engine->state;
	engine_look(engine,
	        state->program.run(inputs, outputs, state->workspace.at, state->weights.at,
	                (float *)state->scratch.at + JIT_LANES_MOST));
}

static void jit_profile_run(
        struct engine *engine, const void *const *inputs, void *const *outputs, engine_mark *mark, void *user)
{
	struct state *state = engine->state;
	state->program.profile(inputs, outputs, state->workspace.at, state->weights.at,
	        (float *)state->scratch.at + JIT_LANES_MOST, mark, user);
}

static void *jit_limit(struct engine *engine, const char *name)
{
	const struct jit_symbol *found = jit_entry(
	        engine->model->options->target->name, arena_printf(engine->model->build->arena, "m_%s", name));
	return found ? (void *)(uintptr_t)found->at : NULL;
}

static const char *jit_form(struct engine *engine, const struct kernel *kernel)
{
	const struct jit_program *program = &((struct state *)engine->state)->program;
	return program->scalar[kernel->number] ? "scalar loops"
	        : program->few[kernel->number] ? "menu, few elements a call"
	                                       : "menu";
}

int engine_jit_scalar_kernels(struct engine *engine) { return ((struct state *)engine->state)->program.scalar_kernels; }

void *engine_jit_kernel(struct engine *engine, const struct kernel *kernel, const void *const *inputs,
        void *const *outputs, void **arguments)
{
	struct state *state = engine->state;
	const struct program *program = engine->model->lowered->program;
	FOR_ALL (i, kernel->params) {
		const struct definition *d = kernel->params.at[i].of;
		arguments[i] = scheduled(d)->mode == MODE_CONSTANT
		        ? (unsigned char *)state->weights.at + scheduled(d)->offset
		        : (unsigned char *)state->workspace.at + scheduled(d)->offset;
		FOR_ALL (k, program->inputs)
			if (program->inputs.at[k] == d)
				arguments[i] = (void *)(uintptr_t)inputs[k];
		FOR_ALL (k, program->outputs)
			if (program->outputs.at[k] == d)
				arguments[i] = outputs[k];
	}
	arguments[kernel->params.count] = (float *)state->scratch.at + JIT_LANES_MOST;
	return jit_function(state->program.code,
	        arena_printf(engine->model->build->arena, "%s_%s", engine->model->name,
	                (kernel->same ? kernel->same : kernel)->name));
}

const struct engine_kind engine_jit = { .name = "jit",
	.native = true,
	.open = jit_open,
	.run = jit_engine_run,
	.close = jit_close,
	.profile = jit_profile_run,
	.limit = jit_limit,
	.form = jit_form };
