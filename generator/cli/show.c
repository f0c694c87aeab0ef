/* show.c: ingot show: any stage as text. */
#include "cli/cli.h"
#include "emit/emit.h"
#include "frontends/frontends.h"
#include "jit/jit.h"
#include <stdio.h>

const char *const show_stages[] = { "graph", "definitions", "kernels", "loops", "plan", "source", "glue", NULL };

/* only: one kernel, by the code of another where that is its own. */
static void print_source(struct model *model, bool only, struct text *out)
{
	struct build *build = model->build;
	struct emit emit = { .build = build,
		.arena = build->arena,
		.target = model->options->target,
		.templates = model_templates(model),
		.name = model->name };
	struct text kernels;
	text_init(&kernels, build);
	FOR_EACH (const struct kernel *kernel, model->lowered->kernels) {
		emit_kernel(&emit, only && kernel->same ? kernel->same : kernel, &kernels);
		text_addc(&kernels, '\n');
	}
	text_add(out, kernels.at, kernels.count);
	text_release(&kernels);
}

static void run(struct cli *cli)
{
	struct build *build = cli->build;
	struct text out;
	const char *stage = cli->stage ? cli->stage : "graph";
	int s = 0;
	while (strcmp(stage, show_stages[s]))
		s++;
	if (cli->options.weights && s)
		fail(build, EXIT_USAGE, NULL, "--weights is for --stage graph");
	if (cli->kernel && strcmp(stage, "kernels") && strcmp(stage, "loops") && strcmp(stage, "source"))
		fail(build, EXIT_USAGE, NULL, "--kernel is for --stage kernels, loops or source");
	const char *ending = cli->output ? strrchr(cli->output, '.') : NULL;
	bool cuda = cli_takes_cuda(cli), as_onnx = !s && ending && !strcmp(ending, ".onnx");
	if (cuda && s == 6)
		fail(build, EXIT_USAGE, NULL, "--stage glue is not for --target cuda");
	struct model *model = model_read(build, &cli->options);
	model_prepare(model);
	text_init(&out, build);
	if (s > 0)
		model_define(model);
	if (s > 1)
		(s == 6 ? jit_lower : model_lower)(model);
	if (cli->kernel)
		model_only(model, cli->kernel);
	if (as_onnx)
		graph_write_onnx(model->graph, &out);
	else
		model_print(model, stage, &out);
	if (s == 5)
		print_source(model, cli->kernel != NULL, &out);
	if (s == 6)
		jit_text(&(struct jit_program){ .name = model->name,
		                 .written = templates_shapes(build, model->options->templates) },
		        build, model->lowered, model_templates(model), &out);
	cli_write(build, cli->output, &out);
	text_release(&out);
}

const struct command command_show = { "show", "MODEL", "print a stage of a model",
	"The graph stage prints ONNX text, which with --weights reads back as a model, and with -o FILE.onnx is an "
	"ONNX file; glue is what --target jit of "
	"run gives to libtcc.\n"
	"--target c (default) or cuda: for which of them kernels, loops, plan and source are.",
	IN_SHOW, 1, 1, run };
