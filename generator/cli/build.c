/* build.c: ingot build: a model becomes a folder with a static library. */
#include "cli/cli.h"
#include "emit/emit.h"
#include "backends/backends.h"
#include "ingot/plan.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

static const struct command self = { "build", "MODEL…", "cast a model into a static library", cli_build };

static void progress(void *user, const char *step, int done, int count)
{
	(void)user;
	if (isatty(2))
		fprintf(stderr, "\r%s %d/%d\033[K%s", step, done, count, done == count ? "\r\033[K" : "");
}

/* The CPU that was asked for, in scalar loops that tell of each assignment.  Its bits are the same. */
static const struct target *logging_target(struct build *build, const struct cli *cli)
{
	struct target *target = new(build->arena, struct target);
	if (strcmp(cli->options.target->family, "c") || cli->options.target->freestanding)
		fail(build, EXIT_USAGE, NULL, "--log: needs a CPU with files, and %s has none", cli->options.target->name);
	if (cli->options.threads > 1 || (cli->schedule && !strcmp(cli->schedule, "steps")))
		fail(build, EXIT_USAGE, NULL, "--log goes without --threads and --schedule steps: assignments are told in their order");
	*target = *cli->options.target;
	target->log = target->parts = true;
	target->lanes = 1;
	target->prelude = "c/prelude_scalar.jinja";
	return target;
}

static const char *words_of(struct build *build, const struct cli *cli, bool cuda)
{
	const char *optimise = cli->options.optimise == OPTIMISE_SIZE ? "size" : "speed";
	if (cuda)
		return arena_printf(build->arena, "--target cuda --optimise %s", optimise);
	return arena_printf(build->arena, "--cpu %s --threads %d --optimise %s%s", cli->options.target->name,
		cli->options.threads, optimise, cli->log ? " --log" : "");
}

static void report(const struct cli *cli, const struct package *package, const char *directory)
{
	int64_t kernels = 0, workspace = 0, live = 0, weights = 0;
	for (int p = 0; p < package->part_count; p++) {
		const struct lowered *lowered = package->parts[p].lowered;
		kernels += (int64_t)lowered->kernels.count;
		workspace = lowered->workspace_bytes > workspace ? lowered->workspace_bytes : workspace;
		live = lowered->workspace_bound > live ? lowered->workspace_bound : live;
		weights += lowered->weights_bytes;
	}
	weights = package->weights_bytes ? *package->weights_bytes : weights;
	if (cli->json) {
		json_t *out = json_pack("{s:s,s:s,s:I,s:I,s:I,s:I}", "directory", directory, "name", package->name, "kernels", (json_int_t)kernels,
			"workspace_bytes", (json_int_t)workspace, "largest_live_set", (json_int_t)live, "weights_bytes", (json_int_t)weights);
		json_dumpf(out, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(out);
	} else
		printf("%s: %" PRId64 " kernels, workspace %" PRId64 " bytes, weights %" PRId64 " bytes, for %s\n", directory, kernels, workspace, weights,
			cli->options.target->name);
}

static void body(struct build *build, int argc, char **argv)
{
	struct cli cli;
	cli_parse(&cli, build, &self, TAKES_MODEL_OPTIONS | TAKES_OUTPUT | TAKES_NAME | TAKES_NO_COMPILE | TAKES_CC | TAKES_JSON
		| TAKES_TARGET | TAKES_PROFILE | TAKES_MODE,
		"--target c (default) writes C; the library is for x86-64-v3 unless --cpu says otherwise.\n"
		"--target cuda writes NAME.cu, NAME.h and the weights: sources, for NVRTC or nvcc -fmad=false.\n"
		"Several models become one library, NAME: tensors of one name are one tensor, equal weights are there once.", argc, argv, 1, 64);
	if (cli.large && cli.options.pool_cap)
		fail(build, EXIT_USAGE, NULL, "--large-models goes without --pool-cap");
	if (!cli.large && !cli.options.pool_cap)
		cli.options.pool_cap = (int64_t)INGOT_PLAN_CAP_32;
	bool cuda = cli_takes_cuda(&cli), managed = cli.profile && !strcmp(cli.profile, "managed");
	if (cuda && (managed || cli.argument_count > 1))
		fail(build, EXIT_USAGE, NULL, "--target cuda goes with one model, without --profile managed");
	if (managed && cli.options.target->freestanding)
		fail(build, EXIT_USAGE, NULL, "--profile managed: the runtime needs an operating system with threads, and %s has none", cli.options.target->name);
	if (!managed && (cli.schedule || cli.no_hosted || cli.merges.count || cli.states.count))
		fail(build, EXIT_USAGE, NULL, "--schedule, --no-hosted, --merge and --state are for --profile managed");
	if (cli.log)
		cli.options.target = logging_target(build, &cli);
	const struct part *parts = batch_lower(build, &cli.options, cli.arguments, cli.argument_count, cuda);
	const char *name = cli.argument_count > 1 ? cli.options.name : parts->name;
	const char *directory = cli.output ? cli.output : arena_printf(build->arena, "out/%s", name);
	struct state_pair *states = new_array(build->arena, struct state_pair, cli.states.count + 1);
	for (size_t i = 0; i < cli.states.count; i++)
		states[i] = (struct state_pair){ cli.states.at[i].name, cli.states.at[i].path };
	struct emit emit = { .build = build, .arena = build->arena, .target = cli.options.target, .name = name,
		.templates = options_templates(build, &cli.options) };
	int64_t weights_bytes = 0;
	struct package package = {
		.parts = parts, .part_count = cli.argument_count, .name = name, .threads = cli.options.threads,
		.options = words_of(build, &cli, cuda), .managed = managed, .no_hosted = cli.no_hosted, .large = cli.large,
		.steps = cli.schedule && !strcmp(cli.schedule, "steps"), .merges = cli.merges.at, .merge_count = cli.merges.count,
		.states = states, .state_count = cli.states.count, .jobs = 2, .progress = progress, .weights_bytes = &weights_bytes,
	};
	if (!cli.no_compile && !cuda)
		package.cc = cc_for_target(build, cli.options.target, cli.cc);
	package_write(&emit, &package, directory);
	report(&cli, &package, directory);
}

int cli_build(int argc, char **argv) { return cli_main(&self, argc, argv, body); }
