/* options.c: the options that commands share, a row each; parsing, help, and the frame that runs a command as a build. */
#include "cli/cli.h"
#include "ingot/mode.h"
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPT_TARGET = 256, OPT_CPU, OPT_DIM, OPT_THREADS, OPT_OPTIMISE, OPT_JSON, OPT_TEMPLATES, OPT_KEEP, OPT_OUTPUT, OPT_NAME, OPT_NO_COMPILE,
	OPT_CC, OPT_STAGE, OPT_IN_FILE, OPT_OUT_FILE, OPT_MATH, OPT_ENGINES, OPT_CHECK,
	OPT_PROFILE, OPT_SCHEDULE, OPT_MODE, OPT_APART, OPT_NO_HOSTED, OPT_MERGE, OPT_STATE, OPT_DUMP, OPT_LOG, OPT_LARGE, OPT_POOL_CAP, OPT_HELP };

static const struct row {
	const char *name, *argument;
	int code, takes;
	const char *help;
} rows[] = {
	{ "output-dir", "DIR", OPT_OUTPUT, TAKES_OUTPUT, "-o DIR: where the library goes (default out/NAME)" },
	{ "name", "NAME", OPT_NAME, TAKES_NAME, "prefix of files and symbols (default: the file's stem)" },
	{ "target", "WORD", OPT_TARGET, TAKES_TARGET, "what it is made for, or what runs it" },
	{ "profile", "WORD", OPT_PROFILE, TAKES_PROFILE, "bare (default), or managed: with a module for the runtime, and the runtime" },
	{ "schedule", "WORD", OPT_SCHEDULE, TAKES_PROFILE, "of the module's routines: call (default), or steps: kernel by kernel" },
	{ "mode", "NAME=WORD", OPT_MODE, TAKES_MODE, "where a tensor lives: virtual, local, on_device or hosted; may be given again" },
	{ "apart", NULL, OPT_APART, TAKES_PROFILE, "of several models, each computes for itself: none inlines what another left virtual" },
	{ "no-hosted", NULL, OPT_NO_HOSTED, TAKES_PROFILE, "no tensor has a host array: transfers alone go in and out" },
	{ "merge", "NAME", OPT_MERGE, TAKES_PROFILE, "an input that is read from the stream's merge buffer; one for each model" },
	{ "state", "IN=OUT", OPT_STATE, TAKES_PROFILE, "an input that keeps its value; output OUT is its next one; may be given again" },
	{ "dump", NULL, OPT_DUMP, TAKES_PROFILE, "also what each stage made, as NAME.STAGE.txt: graph, definitions, kernels, loops, plan" },
	{ "log", NULL, OPT_LOG, TAKES_PROFILE, "code that appends each assignment to the context's log file: slow, for looking" },
	{ "large-models", NULL, OPT_LARGE, TAKES_PROFILE, "tensors and pools may have more than 4 GiB" },
	{ "pool-cap", "BYTES", OPT_POOL_CAP, TAKES_PROFILE, "the largest pool, and the largest tensor, of a module (default 4 GiB)" },
	{ "cpu", "CPU", OPT_CPU, TAKES_CPU, "x86-64-v3, x86-64-v4, native, armv8-a, cortex-m4, generic" },
	{ "dim", "NAME=N", OPT_DIM, TAKES_DIM, "binds a symbolic dimension; may be given again.  A range, N=1..32, is not supported yet: exit 4" },
	{ "threads", "N", OPT_THREADS, TAKES_THREADS, "kernels are shared over N threads of the caller's (default 1)" },
	{ "optimise", "WORD", OPT_OPTIMISE, TAKES_OPTIMISE, "speed (default, but on cortex-m4) or size: smallest library and RAM" },
	{ "math", "WORD", OPT_MATH, TAKES_MATH, "strict (default), or double: the interpreter in float64" },
	{ "keep-input", "NAME", OPT_KEEP, TAKES_KEEP, "an initialiser that is also an input stays an input" },
	{ "templates", "DIR", OPT_TEMPLATES, TAKES_TEMPLATES, "templates of your own, before the built-in ones" },
	{ "cc", "PROGRAM", OPT_CC, TAKES_CC, "the C compiler (default $CC, else cc, gcc, clang)" },
	{ "no-compile", NULL, OPT_NO_COMPILE, TAKES_NO_COMPILE, "sources only" },
	{ "stage", "WORD", OPT_STAGE, TAKES_STAGE, "graph, definitions, kernels, loops, plan, source or glue" },
	{ "input", "NAME=FILE", OPT_IN_FILE, TAKES_FILES, "an input, as .npy" },
	{ "output", "NAME=FILE", OPT_OUT_FILE, TAKES_FILES, "where an output goes, as .npy" },
	{ "engines", NULL, OPT_ENGINES, TAKES_ENGINES, "what --target of run, check and bench names, instead" },
	{ "check", NULL, OPT_CHECK, TAKES_MODEL_OPTIONS, "each stage's checker runs after every step (so does $INGOT_CHECK)" },
	{ "json", NULL, OPT_JSON, TAKES_JSON, "output for programs" },
	{ "help", NULL, OPT_HELP, ~0, "this text" },
};

static void print_help(const struct command *command, int takes, const char *more)
{
	printf("usage: ingot %s %s%s[OPTIONS]\n%s.\n\n", command->name, command->arguments, *command->arguments ? " " : "", command->summary);
	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].takes & takes) {
			char left[40];
			snprintf(left, sizeof left, "--%s%s%s", rows[i].name, rows[i].argument ? " " : "", rows[i].argument ? rows[i].argument : "");
			printf("  %-22s %s\n", left, rows[i].help);
		}
	if (more)
		printf("\n%s\n", more);
}

static int64_t number_of(struct build *build, const char *option, const char *text, int64_t least, int64_t most)
{
	char *end;
	long long value = strtoll(text, &end, 10);
	if (!*text || *end || value < least || value > most)
		fail(build, EXIT_USAGE, NULL, "--%s: \"%s\" is not a number from %lld to %lld", option, text, (long long)least, (long long)most);
	return value;
}

static const char *one_of(struct build *build, const char *option, const char *value, const char *a, const char *b)
{
	if (strcmp(value, a) && strcmp(value, b))
		fail(build, EXIT_USAGE, NULL, "--%s: \"%s\" should be %s or %s", option, value, a, b);
	return value;
}

/* NAME=REST, split at the last = before the rest (names may hold any byte but that). */
static const char *pair_of(struct build *build, const char *option, const char *text, const char **rest)
{
	const char *equals = strrchr(text, '=');
	if (!equals || equals == text || !equals[1])
		fail(build, EXIT_USAGE, NULL, "--%s: \"%s\" should be NAME=FILE", option, text);
	*rest = equals + 1;
	return arena_copy(build->arena, text, (size_t)(equals - text));
}

static void set_option(struct cli *cli, int code, const char *value)
{
	struct build *build = cli->build;
	const char *rest;
	switch (code) {
	case OPT_TARGET: cli->target = value; break;
	case OPT_CPU: cli->cpu = value; break;
	case OPT_OUTPUT: cli->output = value; break;
	case OPT_NAME: {
		const char *made = value;
		for (const char *p = made; *p; p++)
			if (!(*p == '_' || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (p > made && *p >= '0' && *p <= '9')))
				fail(build, EXIT_USAGE, NULL, "--name: \"%s\" is not a C identifier", value);
		if (!*made || strlen(made) > 100)
			fail(build, EXIT_USAGE, NULL, "--name: should have 1 to 100 characters");
		cli->options.name = value;
		break;
	}
	case OPT_DIM: push(build->arena, &cli->options.dims, binding_parse(build, value)); break;
	case OPT_THREADS: cli->options.threads = (int)number_of(build, "threads", value, 1, 256); break;
	case OPT_OPTIMISE:
		if (strcmp(value, "speed") && strcmp(value, "size"))
			fail(build, EXIT_USAGE, NULL, "--optimise: \"%s\" should be speed or size", value);
		cli->options.optimise = !strcmp(value, "size") ? OPTIMISE_SIZE : OPTIMISE_SPEED;
		cli->optimise_given = true;
		break;
	case OPT_MATH:
		if (strcmp(value, "strict") && strcmp(value, "double"))
			fail(build, EXIT_USAGE, NULL, "--math: \"%s\" should be strict or double", value);
		cli->math = value;
		break;
	case OPT_PROFILE: cli->profile = one_of(build, "profile", value, "bare", "managed"); break;
	case OPT_SCHEDULE: cli->schedule = one_of(build, "schedule", value, "call", "steps"); break;
	case OPT_LOG: cli->log = true; break;
	case OPT_LARGE: cli->large = true; break;
	case OPT_POOL_CAP: cli->options.pool_cap = number_of(build, "pool-cap", value, 1, INT64_MAX); break;
	case OPT_DUMP: cli->options.dump = true; break;
	case OPT_NO_HOSTED: cli->no_hosted = true; break;
	case OPT_MERGE: push(build->arena, &cli->merges, value); break;
	case OPT_STATE: {
		const char *name = pair_of(build, "state", value, &rest);
		push(build->arena, &cli->states, (struct bound_file){ name, rest });
		break;
	}
	case OPT_APART: cli->options.apart = true; break;
	case OPT_MODE: {
		static const struct { const char *word; uint32_t mode; bool outputs; } modes[] = { { "virtual", INGOT_VIRTUAL, false },
			{ "local", INGOT_LOCAL, false }, { "on_device", INGOT_ON_DEVICE, true }, { "hosted", INGOT_HOSTED, true } };
		const char *name = pair_of(build, "mode", value, &rest);
		size_t m = 0;
		while (m < COUNT(modes) && strcmp(modes[m].word, rest))
			m++;
		if (m == COUNT(modes))
			fail(build, EXIT_USAGE, NULL, "--mode %s: \"%s\" should be virtual, local, on_device or hosted", name, rest);
		push(build->arena, &cli->options.modes, (struct mode_choice){ name_is(build->names, name), modes[m].mode, modes[m].outputs, false, false });
		break;
	}
	case OPT_KEEP: push(build->arena, &cli->options.keep_inputs, value); break;
	case OPT_TEMPLATES: cli->options.templates = value; break;
	case OPT_CC: cli->cc = value; break;
	case OPT_NO_COMPILE: cli->no_compile = true; break;
	case OPT_STAGE: cli->stage = value; break;
	case OPT_CHECK: build->check = true; break;
	case OPT_ENGINES: cli->engines = true; break;
	case OPT_JSON: cli->json = true; break;
	case OPT_IN_FILE: {
		const char *name = pair_of(build, "input", value, &rest);
		push(build->arena, &cli->inputs, (struct bound_file){ name, rest });
		break;
	}
	case OPT_OUT_FILE: {
		const char *name = pair_of(build, "output", value, &rest);
		push(build->arena, &cli->outputs, (struct bound_file){ name, rest });
		break;
	}
	}
}

void cli_parse(struct cli *cli, struct build *build, const struct command *command, int takes, const char *more_help, int argc, char **argv,
	int least, int most)
{
	struct option longs[COUNT(rows) + 1];
	int n = 0, code;
	memset(cli, 0, sizeof *cli);
	memset(longs, 0, sizeof longs);
	cli->build = build;
	cli->command = command->name;
	cli->options.threads = 1;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].takes & takes)
			longs[n++] = (struct option){ rows[i].name, rows[i].argument ? required_argument : no_argument, NULL, rows[i].code };
	optind = 0;
	opterr = 0;
	while ((code = getopt_long(argc, argv, takes & TAKES_OUTPUT ? ":ho:" : ":h", longs, NULL)) != -1) {
		if (code == 'h' || code == OPT_HELP) {
			print_help(command, takes, more_help);
			exit(EXIT_RIGHT);
		}
		if (code == '?' || code == ':')
			fail(build, EXIT_USAGE, NULL, code == ':' ? "%s needs a value; see `ingot %s --help`" : "no option %s; see `ingot %s --help`",
				argv[optind - 1], command->name);
		set_option(cli, code == 'o' ? OPT_OUTPUT : code, optarg);
	}
	while (optind < argc) {
		if (cli->argument_count == most)
			fail(build, EXIT_USAGE, NULL, "\"%s\" is one argument too many; see `ingot %s --help`", argv[optind], command->name);
		cli->arguments[cli->argument_count++] = argv[optind++];
	}
	if (cli->argument_count < least)
		fail(build, EXIT_USAGE, NULL, "usage: ingot %s %s; see `ingot %s --help`", command->name, command->arguments, command->name);
	if (takes & TAKES_CPU) {
		cli->options.model = cli->arguments[0];
		const char *cpu = cli->cpu ? cli->cpu : !strcmp(command->name, "build") ? "x86-64-v3" : "native";
		if (!(cli->options.target = target_find(cpu)))
			fail(build, EXIT_USAGE, NULL, "--cpu: no \"%s\"; `ingot targets` lists them", cpu);
		if (!strcmp(cli->options.target->name, "cortex-m4") && !cli->optimise_given)
			cli->options.optimise = OPTIMISE_SIZE;
		if (cli->options.optimise == OPTIMISE_SIZE)
			cli->options.target = target_small(build->arena, cli->options.target);
	}
}

bool cli_takes_cuda(struct cli *cli)
{
	bool cuda = cli->target && !strcmp(cli->target, target_cuda.name);
	if (cli->target && !cuda && strcmp(cli->target, "c"))
		fail(cli->build, EXIT_USAGE, NULL, "--target: \"%s\" is not there; c and cuda are", cli->target);
	if (cuda && (cli->cpu || cli->options.threads > 1))
		fail(cli->build, EXIT_USAGE, NULL, "--target cuda goes without --cpu and --threads");
	if (cuda)
		cli->options.target = &target_cuda;
	return cuda;
}

int cli_main(const struct command *command, int argc, char **argv, void (*body)(struct build *, int argc, char **argv))
{
	struct build build;
	volatile bool json = false;
	for (int i = 1; i < argc; i++)
		json = json || !strcmp(argv[i], "--json");
	build_init(&build);
	if (BUILD_TRY(&build))
		body(&build, argc, argv);
	int code = build.code;
	if (code && *build.message) {
		fprintf(stderr, "ingot %s: %s\n", command->name, build.message);
		if (json) {
			json_t *error = json_pack("{s:i,s:s}", "exit", code, "error", build.message);
			json_dumpf(error, stdout, JSON_COMPACT);
			putchar('\n');
			json_decref(error);
		}
	}
	build_release(&build);
	return code;
}
