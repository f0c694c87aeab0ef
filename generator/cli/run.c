/* run.c: ingot run: runs a model once on .npy files. */
#include "cli/cli.h"
#include "base/npy.h"
#include "cli/data.h"
#include <jansson.h>
#include <stdio.h>

static const struct command self = { "run", "MODEL", "run a model at once on .npy files", cli_run };

static struct data data_of_files(struct build *build, const struct cli *cli, const struct graph *graph)
{
	struct data data = { .path = cli->options.model };
	for (size_t i = 0; i < cli->inputs.count; i++) {
		bool known = false;
		for (size_t k = 0; k < graph->inputs.count; k++)
			known |= !strcmp(graph->inputs.at[k]->name, cli->inputs.at[i].name);
		if (!known)
			fail(build, EXIT_USAGE, cli->options.model, "--input: the model has no input \"%s\"", cli->inputs.at[i].name);
	}
	for (size_t k = 0; k < graph->inputs.count; k++) {
		const char *path = NULL;
		for (size_t i = 0; i < cli->inputs.count; i++)
			if (!strcmp(graph->inputs.at[k]->name, cli->inputs.at[i].name))
				path = cli->inputs.at[i].path;
		if (!path)
			fail(build, EXIT_USAGE, cli->options.model, "input \"%s\" is missing: --input %s=FILE.npy", graph->inputs.at[k]->name, graph->inputs.at[k]->name);
		struct npy npy = npy_read(build, path);
		struct array array = { .name = path, .type = npy.type, .rank = npy.rank, .data = npy.data, .bytes = npy.bytes };
		memcpy(array.extents, npy.extents, sizeof *npy.extents * (size_t)npy.rank);
		push(build->arena, &data.inputs, array);
	}
	return data;
}

static void body(struct build *build, int argc, char **argv)
{
	struct cli cli;
	cli_parse(&cli, build, &self, TAKES_MODEL_OPTIONS | TAKES_TARGET | TAKES_FILES | TAKES_JSON | TAKES_MATH,
		"--target interpreter, c (default), jit or cuda-emulated: just that one, no other in its stead.", argc, argv, 1, 1);
	const struct engine_kind *kind = engine_find(cli.target ? cli.target : "c");
	bool as_double = cli.math && !strcmp(cli.math, "double");
	if (!kind)
		fail(build, EXIT_USAGE, NULL, "--target: no \"%s\"", cli.target);
	if (as_double && kind != &engine_interpreter)
		fail(build, EXIT_USAGE, NULL, "--math double runs on --target interpreter");
	struct model *model = model_read(build, &cli.options);
	struct data data = data_of_files(build, &cli, model->graph);
	data_bind(model->graph, &data);
	model_prepare(model);
	model_define(model);
	const struct program *program = model->program;
	const void **inputs = new_array(build->arena, const void *, program->inputs.count + 1);
	void **outputs = new_array(build->arena, void *, program->outputs.count + 1);
	for (size_t i = 0; i < program->inputs.count; i++) {
		const struct definition *d = program->inputs.at[i];
		const struct array *a = &data.inputs.at[i];
		bool same = a->type == d->type && a->rank == d->rank;
		for (int k = 0; same && k < d->rank; k++)
			same = a->extents[k] == d->extents[k];
		if (!same)
			fail(build, EXIT_USAGE, a->name, "its type or shape is not that of input \"%s\"", model->input_names[i]);
		inputs[i] = a->data;
	}
	for (size_t i = 0; i < cli.outputs.count; i++) {
		bool known = false;
		for (size_t k = 0; k < program->outputs.count; k++)
			known |= !strcmp(model->output_names[k], cli.outputs.at[i].name);
		if (!known)
			fail(build, EXIT_USAGE, cli.options.model, "--output: the model has no output \"%s\"", cli.outputs.at[i].name);
	}
	for (size_t i = 0; i < program->outputs.count; i++)
		outputs[i] = arena_alloc(build->arena, dtype_bytes(program->outputs.at[i]->type, (size_t)definition_elements(program->outputs.at[i])) + 64);
	if (as_double)
		interpret(program, MATH_DOUBLE, inputs, outputs);
	else {
		struct engine *engine = engine_open(model, kind);
		engine_run(engine, inputs, outputs);
		engine_close(engine);
	}
	for (size_t i = 0; i < cli.outputs.count; i++)
		for (size_t k = 0; k < program->outputs.count; k++)
			if (!strcmp(model->output_names[k], cli.outputs.at[i].name))
				npy_write(build, cli.outputs.at[i].path, program->outputs.at[k]->type, program->outputs.at[k]->rank, program->outputs.at[k]->extents, outputs[k]);
	json_t *report = json_pack("{s:s,s:[]}", "target", kind->name, "kernels");
	for (size_t k = 0; model->lowered && k < model->lowered->kernels.count; k++)
		json_array_append_new(json_object_get(report, "kernels"), json_string(model->lowered->kernels.at[k]->name));
	if (cli.json) {
		json_dumpf(report, stdout, JSON_INDENT(2));
		putchar('\n');
	} else
		for (size_t i = 0; i < program->outputs.count; i++) {
			const struct definition *d = program->outputs.at[i];
			printf("%s:", model->output_names[i]);
			for (int64_t e = 0; e < definition_elements(d) && e < 8 && d->type == DTYPE_F32; e++)
				printf(" %g", ((const float *)outputs[i])[e]);
			printf("%s\n", definition_elements(d) > 8 ? " …" : "");
		}
	json_decref(report);
}

int cli_run(int argc, char **argv) { return cli_main(&self, argc, argv, body); }
