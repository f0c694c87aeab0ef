/* pipeline.c: file -> graph -> definitions -> kernels: the stages in their order. */
#include "pipeline.h"
#include "emit/embedded.h"
#include "emit/emit.h"
#include "frontends/frontends.h"
#include "ops/ops.h"

static const char *stem_of(struct arena *arena, const char *path)
{
	const char *base = strrchr(path, '/'), *dot;
	base = base ? base + 1 : path;
	dot = strrchr(base, '.');
	return emit_identifier(arena, arena_copy(arena, base, dot && dot > base ? (size_t)(dot - base) : strlen(base)));
}

static struct model *read_model(struct build *build, const struct options *options, const void *bytes, size_t count)
{
	struct model *model = new(build->arena, struct model);
	struct read_options read = { .keep_inputs = options->keep_inputs.at, .keep_input_count = (int)options->keep_inputs.count };
	model->build = build;
	model->options = options;
	model->name = options->name ? options->name : stem_of(build->arena, options->model);
	model->graph = bytes ? graph_read_memory(build, options->model, bytes, count, &read) : graph_read(build, options->model, &read);
	graph_check(model->graph);
	pass_bind(model->graph, options->dims.at, (int)options->dims.count);
	return model;
}

struct model *model_read(struct build *build, const struct options *options) { return read_model(build, options, NULL, 0); }

struct model *model_read_memory(struct build *build, const struct options *options, const void *bytes, size_t count)
{
	return read_model(build, options, bytes, count);
}

void model_prepare(struct model *model)
{
	pass_bound(model->graph);
	pass_constants(model->graph);
	pass_infer(model->graph);
	pass_simplify(model->graph);
	graph_check(model->graph);
}

void model_define(struct model *model)
{
	struct arena *arena = model->build->arena;
	model->program = define_graph(model->graph);
	choose_algorithms(model->program, model->options->optimise);
	program_remove_dead(model->program);
	program_check(model->program);
	model->input_names = new_array(arena, const char *, model->graph->inputs.count + 1);
	model->output_names = new_array(arena, const char *, model->graph->outputs.count + 1);
	for (size_t i = 0; i < model->graph->inputs.count; i++)
		model->input_names[i] = model->graph->inputs.at[i]->name;
	for (size_t i = 0; i < model->graph->outputs.count; i++)
		model->output_names[i] = model->graph->outputs.at[i]->name;
}

void model_lower(struct model *model)
{
	model->lowered = lower(model->program, model->options->target, model->options->optimise, !model->pools_apart);
}

struct part model_part(const struct model *model)
{
	const char *slash = strrchr(model->options->model, '/');
	return (struct part){ .lowered = model->lowered, .name = model->name, .routine = model->name, .model = slash ? slash + 1 : model->options->model,
		.input_names = model->input_names, .output_names = model->output_names };
}

struct environment *model_templates(struct model *model)
{
	struct template_places *places = new(model->build->arena, struct template_places);
	places->directory = model->options->templates;
	return environment_new(model->build, model->build->arena, &template_settings_kernels, load_embedded, places);
}
