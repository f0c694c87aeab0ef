/* pipeline.c: file -> graph -> definitions -> kernels: the stages in their order. */
#include "pipeline.h"
#include "base/embedded.h"
#include "emit/emit.h"
#include "frontends/frontends.h"
#include "loops/loops.h"
#include "ops/ops.h"

enum { WEIGHTS_SHOWN = 16 }; /* of a constant, unless all are asked for */

const char *model_stem(struct arena *arena, const char *path)
{
	const char *base = strrchr(path, '/'), *dot;
	if (!strcmp(path, "-"))
		return "model";
	base = base ? base + 1 : path;
	dot = strrchr(base, '.');
	return emit_name(arena, arena_copy(arena, base, dot && dot > base ? (size_t)(dot - base) : strlen(base)));
}

void model_computed(const struct model *model, struct choices *choices)
{
	FOR_ALL (i, model->graph->tensors)
		if (model->graph->tensors.at[i]->producer)
			choices_add(choices, model->graph->tensors.at[i]->name);
}

/* What shall outlive a run is an output. */
static void choose_modes(struct model *model)
{
	FOR_EACH (struct mode_choice choice, model->options->modes) {
		struct tensor *tensor = graph_tensor(model->graph, choice.name);
		if (!tensor && model->options->some)
			continue;
		if (!tensor || (!tensor->producer && !tensor->is_output)) {
			struct choices choices = choices_for(model->build, choice.name);
			model_computed(model, &choices);
			fail(model->build, EXIT_USAGE, model->options->model,
			        "--mode %s: the graph computes no tensor of that name%s", choice.name,
			        choices_text(&choices));
		}
		choice.outputs &= !tensor->is_output;
		if (choice.outputs) {
			tensor->is_output = true;
			push(model->build->arena, &model->graph->outputs, tensor);
		}
		push(model->build->arena, &model->choices, choice);
	}
}

static struct model *read_model(struct build *build, const struct options *options, const void *bytes, size_t count)
{
	struct model *model = arena_new(build->arena, struct model);
	progress(build, "read", 0, 0, 0);
	struct read_options read = { .keep_inputs = options->keep_inputs.at,
		.keep_input_count = (int)options->keep_inputs.count,
		.open = options->dims.count > 0 };
	model->build = build;
	model->options = options;
	model->name = options->name ? options->name : model_stem(build->arena, options->model);
	model->graph = bytes ? graph_read_memory(build, options->model, bytes, count, &read)
	                     : graph_read(build, options->model, &read);
	graph_check(model->graph);
	model_rename(model);
	pass_maps(model->graph);
	pass_strings(model->graph);
	templates_check(build, options->templates, options->some ? NULL : model->graph);
	model->graph->templates = options->templates;
	model->graph->exact = options->declared && !strcmp(options->declared, "exact");
	VECTOR(struct binding) dims = { 0 }, later = { 0 };
	FOR_ALL (i, options->dims)
		if (graph_has_dim(model->graph, options->dims.at[i].name))
			push(build->arena, &dims, options->dims.at[i]);
		else
			push(build->arena, &later, options->dims.at[i]);
	pass_bind(model->graph, dims.at,
	        (int)dims
	                .count); /* a dim of a sequence is that of all its elements, before they stand for themselves */
	pass_holdings(model->graph, options->elements.at, (int)options->elements.count, options->some);
	dims.count = 0;
	FOR_ALL (i, later)
		if (!options->some || graph_has_dim(model->graph, later.at[i].name))
			push(build->arena, &dims, later.at[i]);
	pass_bind(model->graph, dims.at, (int)dims.count);
	pass_values(model->graph, options->values.at, options->values.count, options->some);
	choose_modes(model);
	return model;
}

struct model *model_read(struct build *build, const struct options *options)
{
	return read_model(build, options, NULL, 0);
}

struct model *model_read_memory(struct build *build, const struct options *options, const void *bytes, size_t count)
{
	return read_model(build, options, bytes, count);
}

void model_prepare(struct model *model)
{
	static void (*const passes[])(struct graph *) = {
		pass_constants, pass_supported, /* what no option mends comes before what one does */
		pass_bound, pass_infer,         /* folds what depends on constants alone */
		pass_simplify,                  /* after infer: needs shapes */
		pass_merge,                     /* last: what was written in several ways may be the same now */
	};
	FOR (i, COUNT(passes)) {
		progress(model->build, "prepare", i, COUNT(passes), 0);
		passes[i](model->graph);
		if (model->build->check || i == COUNT(passes) - 1)
			graph_check(model->graph);
	}
}

static void check_step(const struct model *model)
{
	if (model->build->check)
		program_check(model->program);
}

static bool stays_strict(void *user, const struct definition *d)
{
	const struct model *model = user;
	bool strict = false;
	FOR_EACH_AT (struct strict_layer *layer, model->options->strict) {
		bool is = !strcmp(layer->name, d->name)
		        || (d->node && d->node->name && !strcmp(layer->name, d->node->name));
		layer->used |= is;
		strict |= is;
	}
	return strict;
}

static void model_round_factors(struct model *model)
{
	const struct options *options = model->options;
	if (options->numerics.stored == STORED_BF16 && options->numerics.factors != FACTORS_BF16)
		fail(model->build, EXIT_USAGE, options->model, "--store bf16 is for --math bf16");
	if (options->numerics.factors == FACTORS_FLOAT32)
		return;
	round_factors(model->program, options->numerics.factors, options->numerics.stored, stays_strict, model);
	for (size_t i = 0; !options->some && i < options->strict.count; i++)
		if (!options->strict.at[i].used) {
			struct choices choices = choices_for(model->build, options->strict.at[i].name);
			FOR_ALL (d, model->program->all)
				if (model->program->all.at[d]->sum.products)
					choices_add(&choices, model->program->all.at[d]->name);
			fail(model->build, EXIT_USAGE, options->model,
			        "--keep-strict %s: no sum of products is called so, and no node of one%s",
			        options->strict.at[i].name, choices_text(&choices));
		}
}

static void keep_states(const struct model *model)
{
	const struct options *options = model->options;
	const struct program *program = model->program;
	for (size_t s = 0; s < options->states.count && !options->managed; s++)
		FOR_ALL (i, program->inputs)
			FOR_ALL (o, program->outputs)
				if (!strcmp(model->input_names[i], options->states.at[s].input)
				        && !strcmp(model->output_names[o], options->states.at[s].output))
					program_keep(model->program, program->inputs.at[i], program->outputs.at[o]);
}

void model_define(struct model *model)
{
	struct arena *arena = model->build->arena;
	for (size_t i = 0; i < model->options->states.count && !model->options->managed; i++)
		pass_cache(model->graph, model->options->states.at[i].input, model->options->states.at[i].output);
	model->program = define_graph(model->graph);
	batch_inline(model);
	check_step(model);
	if (model->options->numerics.quantised == QUANTISED_INTEGERS)
		fold_quantised(model->program);
	check_step(model);
	if (model->options->numerics.quantised == QUANTISED_INTEGERS)
		fold_lookups(model->program);
	check_step(model);
	if (model->options->numerics.denormals == DENORMALS_ZERO)
		flush_denormals(model->program);
	check_step(model);
	separate_sums(model->program);
	check_step(model);
	block_sums(model->program);
	check_step(model);
	choose_algorithms(model->program, model->options->numerics.algorithms);
	check_step(model);
	if (model->options->numerics.weights != WEIGHTS_KEPT)
		store_weights(model->program, model->options->numerics.weights);
	check_step(model);
	model_round_factors(model);
	check_step(model);
	program_remove_dead(model->program);
	program_check(model->program);
	model->numbers = program_numbers(model->program, &model->options->numerics);
	model->input_names = arena_new_array(arena, const char *, model->graph->inputs.count + 1);
	model->output_names = arena_new_array(arena, const char *, model->program->outputs.count + 1);
	FOR_ALL (i, model->graph->inputs)
		model->input_names[i] = model->graph->inputs.at[i]->name;
	FOR_ALL (i, model->program->outputs)
		model->output_names[i] = model->program->output_names.at[i];
	keep_states(model);
}

void model_lower(struct model *model)
{
	const struct options *options = model->options;
	const struct placing_options placing = { model->choices.at, model->choices.count, options->pool_cap,
		options->io && !strcmp(options->io, "workspace"), options->keeps_apart, &model->refused,
		&options->memories };
	if (options->memories.count && !options->target->freestanding)
		fail(model->build, EXIT_USAGE, NULL,
		        "--pool is for microcontrollers: name one by --cpu, as cortex-m7, or by --board");
	progress(model->build, "lower", 0, 0, 0);
	do
		model->lowered = lower(model->program, options->target, options->optimise, &placing, loops_finish);
	while (options->judge && options->judge(model, options->judge_user));
	share(model->lowered, options->threads);
	if (options->target->options.tile.rows && !tiles_forced(model->lowered))
		fail(model->build, EXIT_USAGE, options->model,
		        model->refused.count
		                ? "--tile: the compiler refuses that tile: registers spill, or products wait for each "
		                  "other"
		                : "--tile: no product has that tile; `ingot show --stage kernels` lists those of each");
}

static void print_loops(const struct lowered *lowered, struct text *out)
{
	FOR_EACH (const struct kernel *kernel, lowered->kernels) {
		if (kernel_inside(kernel))
			print_loops(kernel_inside(kernel), out);
		else if (printed_shapes[kernel->shape].loops) {
			text_printf(out, "%s:\n", kernel->name);
			printed_shapes[kernel->shape].loops(kernel, out);
		}
	}
}

static struct kernel *find_kernel(const struct lowered *lowered, const char *name, struct choices *choices)
{
	struct kernel *found = NULL;
	for (size_t k = 0; !found && k < lowered->kernels.count; k++) {
		struct kernel *kernel = lowered->kernels.at[k];
		choices_add(choices, kernel->name);
		if (!strcmp(kernel->name, name))
			return kernel;
		if (kernel_inside(kernel))
			found = find_kernel(kernel_inside(kernel), name, choices);
	}
	return found;
}

void model_only(struct model *model, const char *name)
{
	struct choices choices = choices_for(model->build, name);
	struct kernel *kernel = find_kernel(model->lowered, name, &choices);
	if (!kernel)
		fail(model->build, EXIT_USAGE, model->options->model, "--kernel %s: no kernel is called so%s", name,
		        choices_text(&choices));
	model->lowered->kernels.count = 0;
	push(model->lowered->arena, &model->lowered->kernels, kernel);
}

bool model_print(struct model *model, const char *stage, struct text *out)
{
	if (!strcmp(stage, "graph"))
		graph_print(model->graph, model->options->weights ? -1 : WEIGHTS_SHOWN, out);
	else if (!strcmp(stage, "definitions"))
		program_print(model->program, out);
	else if (!strcmp(stage, "kernels"))
		kernels_print(model->lowered, out);
	else if (!strcmp(stage, "loops"))
		print_loops(model->lowered, out);
	else if (!strcmp(stage, "plan"))
		plan_print(model->lowered, out);
	else
		return false;
	return true;
}

struct part model_part(const struct model *model)
{
	const char *slash = strrchr(model->options->model, '/'), *by = lowered_order(model->lowered);
	return (struct part){
		.lowered = model->lowered,
		.name = model->name,
		.model = slash ? slash + 1 : model->options->model,
		.routine = model->options->routine ? model->options->routine : model->name,
		.input_names = model->input_names,
		.output_names = model->output_names,
		.graph = model->graph,
		.numbers = by ? arena_printf(model->build->arena, "%s by=%s", model->numbers, by) : model->numbers,
		.dumps = model->dumps.at,
		.dump_count = model->dumps.count,
		.apart = model->apart.at,
		.apart_count = model->apart.count,
		.shared = model->shared.at,
		.shared_count = model->shared.count,
	};
}

struct environment *options_templates(struct build *build, const struct options *options)
{
	struct template_folders *places = arena_new(build->arena, struct template_folders);
	places->directory = options->templates;
	return environment_new(build, build->arena, &template_settings_kernels, load_embedded, places);
}

struct environment *model_templates(struct model *model) { return options_templates(model->build, model->options); }
