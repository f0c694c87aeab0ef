/* show.c: ingot show: any stage as text. */
#include "cli/cli.h"
#include "emit/emit.h"
#include "jit/jit.h"
#include <stdio.h>

static const struct command self = { "show", "MODEL", "print a stage of a model", cli_show };

static void print_source(struct model *model, struct text *out)
{
	struct build *build = model->build;
	struct emit emit = { .build = build, .arena = build->arena, .target = model->options->target, .templates = model_templates(model), .name = model->name };
	struct text kernels;
	text_init(&kernels, build);
	for (size_t k = 0; k < model->lowered->kernels.count; k++) {
		emit_kernel(&emit, model->lowered->kernels.at[k], &kernels);
		text_addc(&kernels, '\n');
	}
	text_add(out, kernels.at, kernels.count);
	text_release(&kernels);
}

static void body(struct build *build, int argc, char **argv)
{
	struct cli cli;
	struct text out;
	cli_parse(&cli, build, &self, TAKES_MODEL_OPTIONS | TAKES_TARGET | TAKES_STAGE | TAKES_NAME | TAKES_MODE,
		"The graph stage prints ONNX text, which reads back as a model; glue is what --target jit of run gives to libtcc.\n"
		"--target c (default) or cuda: for which of them kernels, loops, plan and source are.", argc, argv, 1, 1);
	const char *stage = cli.stage ? cli.stage : "graph";
	static const char *const stages[] = { "graph", "definitions", "kernels", "loops", "plan", "source", "glue" };
	size_t s = 0;
	while (s < COUNT(stages) && strcmp(stage, stages[s]))
		s++;
	if (s == COUNT(stages))
		fail(build, EXIT_USAGE, NULL, "--stage: no \"%s\"; graph, definitions, kernels, loops, plan, source and glue are there", stage);
	bool cuda = cli_takes_cuda(&cli);
	if (cuda && s == 6)
		fail(build, EXIT_USAGE, NULL, "--stage glue is not for --target cuda");
	struct model *model = model_read(build, &cli.options);
	model->kernels_apart = cuda;
	model_prepare(model);
	text_init(&out, build);
	if (s > 0)
		model_define(model);
	if (s > 1)
		model_lower(model);
	model_print(model, stage, &out);
	if (s == 5)
		print_source(model, &out);
	if (s == 6)
		jit_text(&(struct jit_program){ 0 }, build, model->lowered, model_templates(model), model->name, &out);
	fwrite(out.at, 1, out.count, stdout);
	text_release(&out);
}

int cli_show(int argc, char **argv) { return cli_main(&self, argc, argv, body); }
