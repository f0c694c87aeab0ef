/* parse.c: a command line -> struct cli, by the table of options; and the frame that runs a command as a build. */
#include "cli/cli.h"
#include "tables/board.h"
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

static bool takes(const struct command *command, const struct option_row *row)
{
	return (row->commands & command->bit) != 0;
}

const struct command *command_find(struct build *build, const char *name)
{
	struct choices choices = choices_for(build, name);
	for (int i = 0; commands[i]; i++) {
		if (!strcmp(commands[i]->name, name))
			return commands[i];
		choices_add(&choices, commands[i]->name);
	}
	fail(build, EXIT_USAGE, NULL, "no command \"%.200s\"%s", name, choices_text(&choices));
}

static NORETURN void no_option(struct cli *cli, const char *word)
{
	struct choices choices = choices_for(cli->build, arena_copy(cli->build->arena, word, strcspn(word, "=")));
	FOR (i, option_row_count)
		if (takes(cli->command, &option_rows[i]))
			choices_add(&choices, arena_printf(cli->build->arena, "--%s", option_rows[i].name));
	fail(cli->build, EXIT_USAGE, NULL, "no option %.200s%s", choices.nearest.name, choices_text(&choices));
}

void option_check_word(struct cli *cli, const struct option_row *row, const char *value)
{
	struct choices choices = choices_for(cli->build, value ? value : "");
	const char *word = option_word(row, cli->command, 0);
	bool any = !word;
	for (int i = 0; (word = option_word(row, cli->command, i)) && !any; i++) {
		choices_add(&choices, word);
		any = !strcmp(word, value);
	}
	if (!any)
		fail(cli->build, EXIT_USAGE, NULL, "--%s: no \"%.200s\"%s", row->name, value, choices_text(&choices));
}

static void set(struct cli *cli, const struct option_row *row, const char *value)
{
	if (!row->argument || !strchr(row->argument, ',')) /* a list is checked word by word, by who takes it apart */
		option_check_word(cli, row, value);
	row->set(cli, row, value);
}

/* The word that getopt will look at next, for messages: it does not say which one was wrong when several letters stand
 * in one. */
static const char *next_word(int argc, char **argv)
{
	for (int i = optind ? optind : 1; i < argc; i++)
		if (argv[i][0] == '-' && argv[i][1])
			return argv[i];
	return "-";
}

static void read_options(struct cli *cli, int argc, char **argv)
{
	enum { LETTERS = 256 };
	struct option *longs = arena_new_array(cli->build->arena, struct option, (size_t)option_row_count * 2 + 1);
	const struct option_row *letters[LETTERS] = { NULL };
	char *shorts = arena_alloc(cli->build->arena, (size_t)option_row_count * 2 + 2), *end = shorts;
	int n = 0, code;
	*end++ = ':';
	FOR (i, option_row_count) {
		const struct option_row *row = &option_rows[i];
		if (!takes(cli->command, row))
			continue;
		longs[n++] = (struct option){ row->name, row->argument ? required_argument : no_argument, NULL,
			LETTERS + i };
		if (row->also)
			longs[n++] = (struct option){ row->also, row->argument ? required_argument : no_argument, NULL,
				LETTERS + i };
		if (row->letter) {
			letters[(int)row->letter] = row;
			*end++ = row->letter;
			if (row->argument)
				*end++ = ':';
		}
	}
	optind = 0; /* getopt begins anew */
	opterr = 0;
	for (;;) {
		const char *word = next_word(argc, argv);
		if ((code = getopt_long(argc, argv, shorts, longs, NULL)) == -1)
			break;
		if (code == ':')
			fail(cli->build, EXIT_USAGE, NULL, "%s needs a value; see `ingot help %s`", word,
			        cli->command->name);
		if (code == '?')
			no_option(cli, word);
		set(cli, code < LETTERS ? letters[code] : &option_rows[code - LETTERS], optarg);
	}
}

/* Without --cpu: what build makes; what runs here takes the machine as it is, but for bench and report, which time what
 * build makes wherever that runs. */
static const struct target *default_cpu(const struct cli *cli)
{
	const struct target *built = target_find("x86-64-v3");
	bool compiles = !cli->target || !strcmp(cli->target, engine_c.name);
	bool times = cli->command->bit & (IN_BENCH | IN_REPORT),
	     builds = cli->command->bit & (IN_BUILD | IN_SIZE) || cli->flags.no_run;
	return builds || (times && compiles && target_runs(built)) ? built : target_find("native");
}

static void choose_factors(struct cli *cli)
{
	struct options *options = &cli->options;
	bool rounds = options->numerics.factors != FACTORS_FLOAT32;
	if (options->strict.count && !rounds)
		fail(cli->build, EXIT_USAGE, NULL, "--keep-strict is for --math bf16, f16 and tf32");
	numerics_settle(&options->numerics);
}

static void choose_cpu(struct cli *cli)
{
	struct options *options = &cli->options;
	const struct target *of_board = cli->image.board ? target_find(cli->image.board->cpu) : NULL;
	if (of_board && cli->cpus.count && (cli->cpus.count > 1 || strcmp(cli->cpus.at[0]->name, of_board->name) != 0))
		fail(cli->build, EXIT_USAGE, NULL, "--cpu %s: --board %s has a %s", cli->cpu, cli->image.board->name,
		        of_board->name);
	options->target = cli->cpus.count ? cli->cpus.at[0] : of_board ? of_board : default_cpu(cli);
	if (options->target->short_flash && !cli->flags.optimise_given)
		options->optimise = OPTIMISE_SIZE;
	if (cli->math && !strcmp(cli->math, "double")) { /* definitions before any rewrite */
		if (!(cli->command->bit & (IN_RUN | IN_CHECK)))
			fail(cli->build, EXIT_USAGE, NULL, "--math double is for ingot run and ingot check");
		options->numerics.quantised = QUANTISED_LITERAL;
	}
	choose_factors(cli);
	if (options->target->short_stack && !options->numerics.algorithms_given)
		options->numerics.algorithms = ALGORITHMS_DIRECT;
	if (options->optimise == OPTIMISE_SIZE)
		options->target = target_small(cli->build->arena, options->target);
}

static void parse(struct cli *cli, int argc, char **argv)
{
	const struct command *command = cli->command;
	cli->options.threads = 1;
	read_options(cli, argc, argv);
	if (cli->flags.help)
		return;
	while (optind < argc) {
		if (cli->argument_count == command->most)
			fail(cli->build, EXIT_USAGE, NULL,
			        "\"%s\" is one argument too many; usage: ingot %s %s; see `ingot help %s`",
			        argv[optind], command->name, command->arguments, command->name);
		cli->arguments[cli->argument_count++] = argv[optind++];
	}
	if (cli->argument_count < command->least)
		fail(cli->build, EXIT_USAGE, NULL, "usage: ingot %s %s; see `ingot help %s`", command->name,
		        command->arguments, command->name);
	cli->options.model = cli->arguments[0];
	if (command->bit & IN_MODEL)
		choose_cpu(cli);
}

/* Where one text is for several, what one of them has alone ("sm_90a") is not in it. */
static const struct target *target_of_arch(struct cli *cli, size_t i)
{
	const char *arch = cli->cuda.archs.at[i];
	size_t plain = 3 + strspn(arch + 3, "0123456789");
	return target_for_gpu(
	        cli->build->arena, cli->cuda.archs.count > 1 ? arena_copy(cli->build->arena, arch, plain) : arch);
}

/* The GPUs of --arch but its own, each once. */
static void list_others(struct cli *cli, struct target *target)
{
	const struct gpu_facts **others =
	        arena_new_array(cli->build->arena, const struct gpu_facts *, cli->cuda.archs.count + 1);
	if (cli->cuda.archs.count < 2 || (cli->profile && !strcmp(cli->profile, "managed")))
		fail(cli->build, EXIT_USAGE, NULL,
		        "--tile each goes with several architectures in --arch, without --profile managed");
	FOR_ALL (i, cli->cuda.archs) {
		const struct gpu_facts *gpu = target_of_arch(cli, i)->gpu;
		if (gpu != target->gpu && !(target->other_count && others[target->other_count - 1] == gpu))
			others[target->other_count++] = gpu;
	}
	target->others = others;
}

bool cli_takes_cuda(struct cli *cli)
{
	bool cuda = cli->target && !strcmp(cli->target, target_cuda.name);
	if (cuda && (cli->cpu || cli->options.threads > 1))
		fail(cli->build, EXIT_USAGE, NULL, "--target cuda goes without --cpu and --threads");
	if (cli->cuda.archs.count && !cuda)
		fail(cli->build, EXIT_USAGE, NULL, "--arch is for --target cuda");
	if ((cli->cuda.tile.rows || cli->cuda.tile_each) && !cuda)
		fail(cli->build, EXIT_USAGE, NULL, "--tile is for --target cuda");
	if (cuda) { /* one text for all: its tiles are for the one in the middle */
		struct target *target = arena_new(cli->build->arena, struct target);
		*target = cli->cuda.archs.count ? *target_of_arch(cli, cli->cuda.archs.count / 2) : target_cuda;
		target->options.tile = cli->cuda.tile;
		target->options.pointers = cli->profile && !strcmp(cli->profile, "managed");
		if (cli->cuda.tile_each)
			list_others(cli, target);
		cli->options.target = target;
	}
	return cuda;
}

const struct engine_kind *cli_engine(struct cli *cli)
{
	const struct engine_kind *kind = engine_find(cli->target ? cli->target : "c");
	if (cli->cuda.archs.count && kind != &engine_cuda_emulated && kind != &engine_cuda)
		fail(cli->build, EXIT_USAGE, NULL, "--arch is for --target cuda and cuda-emulated here");
	if (cli->cuda.archs.count) {
		cli->options.target = target_of_arch(cli, 0);
		cli->options.arch = cli->cuda.archs.at[0];
	}
	if (kind->native)
		target_ask(cli->build, cli->options.target);
	return kind;
}

bool cli_as_double(struct cli *cli, const struct engine_kind *kind)
{
	bool as_double = cli->math && !strcmp(cli->math, "double");
	if (as_double && kind != &engine_interpreter)
		fail(cli->build, EXIT_USAGE, NULL, "--math double runs on --target interpreter");
	return as_double;
}

enum { DENORMALS_FEW = 1000 }; /* one in so many is not worth a word */
void cli_weigh_denormals(struct model *model)
{
	struct denormals found = program_denormals(model->program);
	if (found.denormals * DENORMALS_FEW > found.elements)
		warn(model->build, model->options->model,
		        "%" PRId64 " of %" PRId64
		        " constants of products are denormal; CPUs may take a hundred cycles for "
		        "each: --denormals zero counts them as 0",
		        found.denormals, found.elements);
}

void cli_print_json(json_t *report, FILE *to)
{
	json_dumpf(report, to, JSON_INDENT(2));
	fputc('\n', to);
	json_decref(report);
}

/* Each once, as a model may be read several times. */
static void tell_warning(struct build *build, const char *message)
{
	struct cli *cli = build->user;
	FOR_ALL (i, cli->warnings)
		if (!strcmp(cli->warnings.at[i], message))
			return;
	push(build->arena, &cli->warnings, arena_copy(build->arena, message, strlen(message)));
	progress_say(arena_printf(build->arena, "ingot %s: warning: %s\n", cli->command->name, message));
}

int cli_main(const struct command *command, int argc, char **argv)
{
	struct build build;
	struct cli cli = { .build = &build, .command = command };
	volatile bool json = false;
	for (int i = 1; i < argc; i++)
		json = json || !strcmp(argv[i], "--json");
	build_init(&build);
	build.warned = tell_warning;
	build.user = &cli;
	if (BUILD_TRY(&build)) {
		target_native_check(&build);
		parse(&cli, argc, argv);
		if (!cli.flags.help)
			progress_begin(&cli);
		if (cli.flags.help)
			help_command(command, stdout);
		else
			command->run(&cli);
	}
	progress_end();
	int code = build.code;
	if (code && *build.message) {
		fprintf(stderr, "ingot %s: %s\n%s", command->name, build.message, build.detail);
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
