/* build.c: ingot build: a model becomes a folder with a static library. */
#include "cli/cli.h"
#include "emit/emit.h"
#include "backends/backends.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

static const struct command self = { "build", "MODEL", "cast a model into a static library", cli_build };

static void progress(void *user, const char *step, int done, int count)
{
	(void)user;
	if (isatty(2))
		fprintf(stderr, "\r%s %d/%d\033[K%s", step, done, count, done == count ? "\r\033[K" : "");
}

static void body(struct build *build, int argc, char **argv)
{
	struct cli cli;
	cli_parse(&cli, build, &self, TAKES_MODEL_OPTIONS | TAKES_OUTPUT | TAKES_NAME | TAKES_NO_COMPILE | TAKES_CC | TAKES_JSON | TAKES_TARGET | TAKES_PROFILE,
		"--target c (default) writes C; the library is for x86-64-v3 unless --cpu says otherwise.\n"
		"--target cuda writes NAME.cu, NAME.h and the weights: sources, for NVRTC or nvcc -fmad=false.", argc, argv, 1, 1);
	bool cuda = cli.target && !strcmp(cli.target, target_cuda.name);
	if (cli.target && !cuda && strcmp(cli.target, "c"))
		fail(build, EXIT_USAGE, NULL, "--target: \"%s\" is not there; c and cuda are", cli.target);
	if (cuda && (cli.cpu || cli.options.threads > 1))
		fail(build, EXIT_USAGE, NULL, "--target cuda goes without --cpu and --threads");
	bool managed = cli.profile && !strcmp(cli.profile, "managed"), steps = cli.schedule && !strcmp(cli.schedule, "steps");
	if (cuda)
		cli.options.target = &target_cuda;
	struct model *model = model_read(build, &cli.options);
	model_prepare(model);
	model_define(model);
	model->pools_apart = cuda;
	model_lower(model);
	const char *directory = cli.output ? cli.output : arena_printf(build->arena, "out/%s", model->name);
	struct emit emit = { .build = build, .arena = build->arena, .target = cli.options.target, .templates = model_templates(model), .name = model->name };
	struct part part = model_part(model);
	struct package package = { .parts = &part, .part_count = 1, .name = model->name, .threads = cli.options.threads, .managed = managed, .steps = steps,
		.options = cuda ? arena_printf(build->arena, "--target cuda --optimise %s", cli.options.optimise == OPTIMISE_SIZE ? "size" : "speed")
			: arena_printf(build->arena, "--cpu %s --threads %d --optimise %s", cli.options.target->name, cli.options.threads,
			cli.options.optimise == OPTIMISE_SIZE ? "size" : "speed"),
		.cc = NULL, .jobs = 2, .progress = progress };
	if (!cli.no_compile && !cuda)
		package.cc = cc_for_target(build, cli.options.target, cli.cc);
	package_write(&emit, &package, directory);
	const struct lowered *lowered = model->lowered;
	if (cli.json) {
		json_t *out = json_pack("{s:s,s:s,s:i,s:I,s:I,s:I}", "directory", directory, "name", model->name, "kernels", (int)lowered->kernels.count,
			"workspace_bytes", (json_int_t)lowered->workspace_bytes, "largest_live_set", (json_int_t)lowered->workspace_bound,
			"weights_bytes", (json_int_t)lowered->weights_bytes);
		json_dumpf(out, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(out);
	} else
		printf("%s: %zu kernels, workspace %" PRId64 " bytes, weights %" PRId64 " bytes, for %s\n", directory, lowered->kernels.count,
			lowered->workspace_bytes, lowered->weights_bytes, cli.options.target->name);
}

int cli_build(int argc, char **argv) { return cli_main(&self, argc, argv, body); }
