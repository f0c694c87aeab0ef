/* options.c: every option of every command, a row each, and what a row does with its value. */
#include "cli/cli.h"
#include "backends/backends.h"
#include "base/npz.h"
#include "emit/emit.h"
#include "ingot/mode.h"
#include "tables/board.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void *member(struct cli *cli, const struct option_row *row) { return (char *)cli + row->offset; }

static NORETURN void wrong(struct cli *cli, const struct option_row *row, const char *value, const char *why)
{
	fail(cli->build, EXIT_USAGE, NULL, "--%s: \"%.300s\" %s", row->name, value, why);
}

/* ---- what rows do ---- */
static void set_flag(struct cli *cli, const struct option_row *row, const char *value)
{
	(void)value;
	*(bool *)member(cli, row) = true;
}

static void set_text(struct cli *cli, const struct option_row *row, const char *value)
{
	*(const char **)member(cli, row) = value;
}

static void set_bytes(struct cli *cli, const struct option_row *row, const char *value)
{
	if (!*value)
		fail(cli->build, EXIT_USAGE, NULL, "--%s needs bytes", row->name);
	set_text(cli, row, value);
}

static void add_text(struct cli *cli, const struct option_row *row, const char *value)
{
	word_list *list = member(cli, row);
	push(cli->build->arena, list, value);
}

static void add_keep(struct cli *cli, const struct option_row *row, const char *value)
{
	(void)row;
	push(cli->build->arena, &cli->options.keep_inputs, value);
}

static void add_cuts(struct cli *cli, const struct option_row *row, const char *value)
{
	(void)row;
	for (const char *word = value, *end; word; word = *end ? end + 1 : NULL) {
		end = word + strcspn(word, ",");
		push(cli->build->arena, &cli->options.cuts, arena_copy(cli->build->arena, word, (size_t)(end - word)));
	}
}

static void add_after(struct cli *cli, const struct option_row *row, const char *value)
{
	(void)row;
	push(cli->build->arena, &cli->options.after, value);
}

/* NAME=REST, split at the last = before the rest (names may hold any byte but that). */
static struct bound_file pair_of(struct cli *cli, const struct option_row *row, const char *text)
{
	const char *equals = strrchr(text, '=');
	if (!equals || equals == text || !equals[1])
		wrong(cli, row, text, arena_printf(cli->build->arena, "should be %s", row->argument));
	return (struct bound_file){ arena_copy(cli->build->arena, text, (size_t)(equals - text)), equals + 1 };
}

static void add_pair(struct cli *cli, const struct option_row *row, const char *value)
{
	bound_files *list = member(cli, row);
	struct bound_file pair = pair_of(cli, row, value);
	FOR (i, list->count)
		if (list->at[i].name && !strcmp(list->at[i].name, pair.name))
			fail(cli->build, EXIT_USAGE, NULL, "--%s %s is given twice, with %s and %s", row->name,
			        pair.name, list->at[i].path, pair.path);
	push(cli->build->arena, list, pair);
}

static void add_state(struct cli *cli, const struct option_row *row, const char *value)
{
	struct bound_file pair = pair_of(cli, row, value);
	FOR_ALL (i, cli->options.states)
		if (!strcmp(cli->options.states.at[i].input, pair.name))
			fail(cli->build, EXIT_USAGE, NULL, "--%s %s is given twice, with %s and %s", row->name,
			        pair.name, cli->options.states.at[i].output, pair.path);
	push(cli->build->arena, &cli->options.states, (struct state_pair){ pair.name, pair.path });
}

static void add_section(struct cli *cli, const struct option_row *row, const char *value)
{
	struct bound_file pair = pair_of(cli, row, value);
	for (const char *p = pair.path; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._$", *p))
			wrong(cli, row, value, "has no name of a section: letters, digits, '.', '_' and '$'");
	add_pair(cli, row, value);
}

/* NAME=FILE, or an archive that names its members itself. */
static void add_file(struct cli *cli, const struct option_row *row, const char *value)
{
	bound_files *list = member(cli, row);
	if (!npz_is(value) || strchr(value, '='))
		add_pair(cli, row, value);
	else
		push(cli->build->arena, list, (struct bound_file){ NULL, value });
}

static void add_rename(struct cli *cli, const struct option_row *row, const char *value)
{
	struct bound_file pair = pair_of(cli, row, value);
	push(cli->build->arena, &cli->options.renames, (struct renaming){ pair.name, pair.path, false });
}

static void add_share(struct cli *cli, const struct option_row *row, const char *value)
{
	(void)row;
	push(cli->build->arena, &cli->options.shares, value);
}

static int64_t number_of(struct cli *cli, const struct option_row *row, const char *text, int64_t most)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (!*text || *end || errno || value < 1 || value > most)
		wrong(cli, row, text,
		        arena_printf(cli->build->arena, "is not a number from 1 to %lld", (long long)most));
	return value;
}

/* "65536", "64k", "1m" */
/* Bytes, as 65536, 64k or 1m. */
static int64_t memory_of(struct cli *cli, const struct option_row *row, const char *value)
{
	size_t digits = strspn(value, "0123456789");
	int shift = value[digits] == 'k' ? 10 : value[digits] == 'm' ? 20 : 0;
	if (value[digits + (shift > 0)])
		wrong(cli, row, value, "should be bytes, as 65536, 64k or 1m");
	return number_of(cli, row, arena_copy(cli->build->arena, value, digits), INT64_MAX >> 20) << shift;
}
static void set_memory(struct cli *cli, const struct option_row *row, const char *value)
{
	*(int64_t *)member(cli, row) = memory_of(cli, row, value);
}

/* A field of the context beside others, and part of a macro: NAME_DTCM_BYTES. */
static void check_pool(struct cli *cli, const struct option_row *row, const char *name)
{
	static const char *const taken[] = { "weights", "state", "stack", "stream", "parallel", "log", "in", "out",
		"step", "call", "parts", "context" };
	if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789") != strlen(name) || isdigit((unsigned char)*name))
		wrong(cli, row, name, "is no name of a pool: small letters, then digits");
	emit_name_check(cli->build, name);
	FOR (i, COUNT(taken))
		if (!strcmp(taken[i], name))
			wrong(cli, row, name, "is a word of the library's header: another name");
	FOR_ALL (i, cli->options.memories)
		if (!strcmp(cli->options.memories.at[i].name, name))
			wrong(cli, row, name, "is given twice");
}

static void add_pools(struct cli *cli, const struct option_row *row, const char *value)
{
	struct arena *arena = cli->build->arena;
	for (const char *p = value, *end; p; p = *end ? end + 1 : NULL) {
		end = p + strcspn(p, ",");
		struct bound_file pair = pair_of(cli, row, arena_copy(arena, p, (size_t)(end - p)));
		check_pool(cli, row, pair.name);
		push(arena, &cli->options.memories,
		        (struct named_memory){ pair.name, memory_of(cli, row, pair.path), NULL });
	}
}

static void set_threads(struct cli *cli, const struct option_row *row, const char *value)
{
	bool range = !strncmp(value, "1..", 3); /* N is the most either way */
	cli->options.threads = (int)number_of(cli, row, value + (range ? 3 : 0), THREADS_MOST);
}
static void set_rounds(struct cli *cli, const struct option_row *row, const char *value)
{
	cli->timing.rounds = (int)number_of(cli, row, value, BENCH_ROUNDS);
}
static void set_pool_cap(struct cli *cli, const struct option_row *row, const char *value)
{
	cli->options.pool_cap = number_of(cli, row, value, INT64_MAX);
}

static void set_name(struct cli *cli, const struct option_row *row, const char *value)
{
	for (const char *p = value; *p; p++)
		if (!(*p == '_' || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')
		            || (p > value && *p >= '0' && *p <= '9')))
			wrong(cli, row, value, "is not a C identifier");
	if (!*value || strlen(value) > 100)
		fail(cli->build, EXIT_USAGE, NULL, "--name: should have 1 to 100 characters");
	emit_name_check(cli->build, value);
	cli->options.name = value;
}

/* No flag may change what a number is. */
static void set_cflags(struct cli *cli, const struct option_row *row, const char *value)
{
	static const char *const bad[] = { "-ffast-math", "-Ofast", "-funsafe-math-optimizations", "-fassociative-math",
		"-freciprocal-math", "-ffinite-math-only", "-fno-signed-zeros", "-ffp-contract=fast",
		"-ffp-contract=on", "-mfpmath=387", "-fsingle-precision-constant", "-fshort-double" };
	const char *words[CC_WORDS_MOST];
	int count = cc_words(cli->build, value, words);
	FOR (i, count)
		FOR (k, COUNT(bad))
			if (!strcmp(words[i], bad[k]))
				fail(cli->build, EXIT_USAGE, NULL,
				        "--cflags: %s changes the numbers, which are the same on every target", bad[k]);
	set_text(cli, row, value);
}

/* Several of one library: best first, in the order of `ingot targets`. */
static void sort_cpus(struct cli *cli, const struct option_row *row, const char *value)
{
	struct build *build = cli->build;
	VECTOR(const struct target *) asked = { 0 };
	FOR_EACH (const struct target *target, cli->cpus) {
		if (cli->command->bit != IN_BUILD)
			wrong(cli, row, value, "names several CPUs, which only a library that is built can have");
		if (*target->needs && strncmp(target->needs, "x86-64", 6))
			fail(build, EXIT_USAGE, NULL,
			        "--cpu %s: one library takes x86-64-v4, x86-64-v3 and generic, and %s is of another "
			        "kind",
			        value, target->name);
		FOR_ALL (i, asked)
			if (!strcmp(asked.at[i]->name, target->name) && !strcmp(asked.at[i]->needs, target->needs))
				fail(build, EXIT_USAGE, NULL, "--cpu %s: %s is there twice", value, target->name);
		push(build->arena, &asked, target);
	}
	cli->cpus.count = 0;
	for (size_t i = 1; i < asked.count; i++) /* of one row: what needs more includes what needs less */
		for (size_t k = i; k > 0 && strlen(asked.at[k]->needs) > strlen(asked.at[k - 1]->needs); k--) {
			const struct target *more = asked.at[k];
			asked.at[k] = asked.at[k - 1];
			asked.at[k - 1] = more;
		}
	for (int t = 0; target_at(t); t++)
		FOR_ALL (i, asked)
			if (!strcmp(asked.at[i]->name, target_at(t)->name))
				push(build->arena, &cli->cpus, asked.at[i]);
}

/* CPU[,FACT]…[,CPU…]: facts stand behind the CPU that they are of. */
static void set_cpus(struct cli *cli, const struct option_row *row, const char *value)
{
	struct arena *arena = cli->build->arena;
	word_list words = { 0 };
	set_text(cli, row, value);
	cli->cpus.count = 0;
	for (const char *word = value, *end; word; word = *end ? end + 1 : NULL) {
		end = word + strcspn(word, ",");
		push(arena, &words, arena_copy(arena, word, (size_t)(end - word)));
	}
	for (size_t i = 0, facts; i < words.count; i += 1 + facts) {
		option_check_word(cli, row, words.at[i]);
		for (facts = 0; i + 1 + facts < words.count && target_is_fact(words.at[i + 1 + facts]); facts++)
			;
		const struct target *target = target_find(words.at[i]);
		push(arena, &cli->cpus, facts ? target_with(cli->build, target, words.at + i + 1, (int)facts) : target);
	}
	if (cli->cpus.count > 1)
		sort_cpus(cli, row, value);
}

static void set_board(struct cli *cli, const struct option_row *row, const char *value)
{
	(void)row;
	cli->image.board = board_find(value);
}

static int by_number(const void *a, const void *b)
{
	const char *one = *(const char *const *)a, *other = *(const char *const *)b;
	int order = atoi(one + 3) - atoi(other + 3);
	return order ? order : strcmp(one, other);
}

/* "sm_90,sm_80": in ascending order; "sm_90a" behind "sm_90". */
static void set_archs(struct cli *cli, const struct option_row *row, const char *value)
{
	struct build *build = cli->build;
	char *rest, *copy = arena_copy(build->arena, value, strlen(value)), *end;
	cli->cuda.archs.count = 0;
	for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		long number =
		        strncmp(word, "sm_", 3) || !isdigit((unsigned char)word[3]) ? 0 : strtol(word + 3, &end, 10);
		if (number < 10 || number > 999 || (*end && end[1]))
			wrong(cli, row, value, "should be as sm_80,sm_90");
		if (cli->cuda.archs.count == IMAGES_MOST - 1)
			fail(build, EXIT_USAGE, NULL, "--arch: more than %d", IMAGES_MOST - 1);
		push(build->arena, &cli->cuda.archs, word);
	}
	if (!cli->cuda.archs.count)
		wrong(cli, row, value, "should be as sm_80,sm_90");
	qsort(cli->cuda.archs.at, cli->cuda.archs.count, sizeof *cli->cuda.archs.at, by_number);
	for (size_t i = 1; i < cli->cuda.archs.count; i++)
		if (!by_number(&cli->cuda.archs.at[i - 1], &cli->cuda.archs.at[i]))
			fail(build, EXIT_USAGE, NULL, "--arch %s: %s is there twice", value, cli->cuda.archs.at[i]);
}

/* "128x64x16": rows, columns and terms of a block; "warps": none; "each": of each image its own. */
static void set_tile(struct cli *cli, const struct option_row *row, const char *value)
{
	struct block_tile *tile = &cli->cuda.tile;
	int end = 0;
	cli->cuda.tile_each = !strcmp(value, "each");
	if (cli->cuda.tile_each)
		*tile = (struct block_tile){ 0 };
	else if (!strcmp(value, "warps"))
		*tile = (struct block_tile){ .rows = -1 };
	else if (strspn(value, "0123456789x") != strlen(value) || strlen(value) > 16
	        || sscanf(value, "%dx%dx%d%n", &tile->rows, &tile->columns, &tile->terms, &end) != 3 || value[end]
	        || tile->rows < 1)
		wrong(cli, row, value, "should be as 128x64x16 (rows, columns, terms), warps, or each");
}

static void set_optimise(struct cli *cli, const struct option_row *row, const char *value)
{
	(void)row;
	cli->options.optimise = !strcmp(value, "size") ? OPTIMISE_SIZE : OPTIMISE_SPEED;
	cli->flags.optimise_given = true;
}

static void set_numeric(struct cli *cli, const struct option_row *row, const char *value)
{
	numerics_set(&cli->options.numerics, row->name, value);
}

/* double is the interpreter's. */
static void set_math(struct cli *cli, const struct option_row *row, const char *value)
{
	set_text(cli, row, value);
	if (!numerics_set(&cli->options.numerics, row->name, value))
		cli->options.numerics.factors = FACTORS_FLOAT32;
}

static void add_strict(struct cli *cli, const struct option_row *row, const char *value)
{
	(void)row;
	push(cli->build->arena, &cli->options.strict, (struct strict_layer){ value, false });
}

static const char *const mode_words[] = { "virtual", "local", "on_device", "hosted", NULL };
static void add_mode(struct cli *cli, const struct option_row *row, const char *value)
{
	static const struct {
		uint32_t mode;
		bool outputs;
	} modes[] = { { INGOT_VIRTUAL, false }, { INGOT_LOCAL, false }, { INGOT_ON_DEVICE, true },
		{ INGOT_HOSTED, true } };
	struct build *build = cli->build;
	struct bound_file pair = pair_of(cli, row, value);
	struct choices choices = choices_for(build, pair.path);
	for (int m = 0; mode_words[m]; m++) {
		if (!strcmp(mode_words[m], pair.path)) {
			push(build->arena, &cli->options.modes,
			        (struct mode_choice){ name_is(build->names, pair.name), modes[m].mode, modes[m].outputs,
			                false, false });
			return;
		}
		choices_add(&choices, mode_words[m]);
	}
	fail(build, EXIT_USAGE, NULL, "--mode %s: no mode \"%s\"%s", pair.name, pair.path, choices_text(&choices));
}

static void add_dim(struct cli *cli, const struct option_row *row, const char *value)
{
	(void)row;
	push(cli->build->arena, &cli->options.dims, binding_parse(cli->build, value));
}

static void add_elements(struct cli *cli, const struct option_row *row, const char *value)
{
	(void)row;
	push(cli->build->arena, &cli->options.elements, holding_parse(cli->build, value));
}

static void add_value(struct cli *cli, const struct option_row *row, const char *value)
{
	(void)row;
	push(cli->build->arena, &cli->options.values, saying_parse(cli->build, value));
}

static void set_folder(struct cli *cli, const struct option_row *row, const char *value)
{
	struct stat info;
	if (stat(value, &info))
		wrong(cli, row, value, strerror(errno));
	if (!S_ISDIR(info.st_mode))
		wrong(cli, row, value, "is not a folder");
	set_text(cli, row, value);
}

static void set_check(struct cli *cli, const struct option_row *row, const char *value)
{
	(void)row, (void)value;
	cli->build->check = true;
}

static void set_undefined(struct cli *cli, const struct option_row *row, const char *value)
{
	(void)row;
	cli->render.lenient = *value == 'l';
}

static void set_newline(struct cli *cli, const struct option_row *row, const char *value)
{
	static const char *const forms[][2] = { { "\\n", "\n" }, { "\\r\\n", "\r\n" }, { "\\r", "\r" }, { "\n", "\n" },
		{ "\r\n", "\r\n" }, { "\r", "\r" } };
	FOR (i, COUNT(forms))
		if (!strcmp(value, forms[i][0])) {
			cli->render.newline = forms[i][1];
			return;
		}
	wrong(cli, row, value, "should be \\n, \\r\\n or \\r");
}

/* ---- the words that some know ---- */
static const char *cpu_word(const struct command *command, int i)
{
	(void)command;
	const struct target *target = target_at(i);
	return target ? target->name : i > 0 && target_at(i - 1) ? "native" : NULL;
}

static const char *board_word(const struct command *command, int i)
{
	(void)command;
	return board_at(i) ? board_at(i)->name : NULL;
}

static const char *package_word(const struct command *command, int i)
{
	(void)command;
	return project_word(i);
}

static const char *target_word(const struct command *command, int i)
{
	if (command->bit & (IN_BUILD | IN_SHOW))
		return i == 0 ? "c" : i == 1 ? target_cuda.name : NULL;
	return engine_at(i) ? engine_at(i)->name : NULL;
}

const char *option_word(const struct option_row *row, const struct command *command, int i)
{
	return row->words ? row->words[i] : row->word ? row->word(command, i) : NULL;
}

#define LIST(...) \
	(const char *const[]) { __VA_ARGS__, NULL }
#define AT(member) offsetof(struct cli, member)
/* In the order of --help. */
const struct option_row option_rows[] = {
	{ "output-dir", NULL, 'o', "DIR", IN_BUILD, set_text, AT(output), NULL, NULL,
	        "where the library goes (default out/NAME)" },
	{ "name", NULL, 0, "NAME", IN_BUILD | IN_SHOW | IN_REPORT, set_name, 0, NULL, NULL,
	        "prefix of files and symbols (default: the file's stem)" },
	{ "target", NULL, 0, "WORD", IN_MODEL & ~IN_SIZE, set_text, AT(target), NULL, target_word,
	        "what it is made for, or what runs it" },
	{ "profile", NULL, 0, "WORD", IN_BUILD, set_text, AT(profile), LIST("bare", "managed"), NULL,
	        "bare (default), or managed: with a module for the runtime, and the runtime" },
	{ "schedule", NULL, 0, "WORD", IN_BUILD, set_text, AT(schedule), LIST("call", "steps"), NULL,
	        "of the module's routines: call (default), or steps: kernel by kernel" },
	{ "mode", NULL, 0, "NAME=WORD", IN_BUILD | IN_SHOW, add_mode, 0, NULL, NULL,
	        "where a tensor lives: virtual, local, on_device or hosted; may be given again" },
	{ "rename", NULL, 0, "OLD=NEW", IN_BUILD, add_rename, 0, NULL, NULL,
	        "a tensor's name in all that is made, before any other option; GRAPH.OLD=NEW: of one graph of several; "
	        "may be given again" },
	{ "share", NULL, 0, "NAME", IN_BUILD, add_share, 0, NULL, NULL,
	        "of several models, an input that is one with whatever another has of that name: an input, a constant, "
	        "what it computes on its way; outputs of one are inputs of another without; may be given again" },
	{ "apart", NULL, 0, NULL, IN_BUILD, set_flag, AT(options.apart), NULL, NULL,
	        "of several models, each computes for itself: none inlines what another left virtual" },
	{ "after", NULL, 0, "MODEL", IN_BUILD, add_after, 0, NULL, NULL,
	        "a model that a library was made of before: what it has virtual can be computed again here; may be "
	        "given again" },
	{ "cut", NULL, 0, "TENSOR[,TENSOR]", IN_BUILD, add_cuts, 0, NULL, NULL,
	        "a library for each part of the model: NAME_0 computes the first of these, and so on, NAME_N the rest; "
	        "NAME_parts.json says what lies between them; may be given again" },
	{ "no-hosted", NULL, 0, NULL, IN_BUILD, set_flag, AT(flags.no_hosted), NULL, NULL,
	        "no tensor has a host array: transfers alone go in and out" },
	{ "merge", NULL, 0, "NAME", IN_BUILD, add_text, AT(merges), NULL, NULL,
	        "an input that is read from the stream's merge buffer; one for each model" },
	{ "state", NULL, 0, "IN=OUT", IN_BUILD | IN_SHOW | IN_SIZE, add_state, AT(options.states), NULL, NULL,
	        "an input that keeps its value; output OUT is its next one; may be given again" },
	{ "dump", NULL, 0, NULL, IN_BUILD, set_flag, AT(options.dump), NULL, NULL,
	        "also what each stage made, as NAME.STAGE.txt: graph, definitions, kernels, loops, plan" },
	{ "log", NULL, 0, NULL, IN_BUILD, set_flag, AT(flags.log), NULL, NULL,
	        "code that appends each assignment to the context's log file: slow, for looking" },
	{ "io", NULL, 0, "WORD", IN_BUILD | IN_SHOW | IN_SIZE, set_text, AT(options.io), LIST("caller", "workspace"),
	        NULL,
	        "where inputs and outputs lie: caller (default), memory of the caller's; or workspace: at offsets in "
	        "it "
	        "that the header says, an input only until it is read, an output until the next call" },
	{ "large-models", NULL, 0, NULL, IN_BUILD, set_flag, AT(flags.large), NULL, NULL,
	        "tensors and pools may have more than 4 GiB" },
	{ "pool-cap", NULL, 0, "BYTES", IN_BUILD, set_pool_cap, 0, NULL, NULL,
	        "the largest pool, and the largest tensor, of a module (default 4 GiB)" },
	{ "flash", NULL, 0, "BYTES", IN_SIZE, set_memory, AT(image.flash), NULL, NULL,
	        "how much there is for code and weights, as 256k or 1m: exit 6 beyond it" },
	{ "ram", NULL, 0, "BYTES", IN_SIZE, set_memory, AT(image.ram), NULL, NULL,
	        "how much there is for workspace, states, stack, inputs and outputs: exit 6 beyond it" },
	{ "pool", NULL, 0, "NAME=BYTES[,NAME=BYTES]", IN_BUILD | IN_SIZE | IN_SHOW | IN_REPORT, add_pools, 0, NULL,
	        NULL,
	        "for microcontrollers: the memories that the workspace lies in, nearest first, as dtcm=64k,sram=256k; "
	        "the hottest tensors go to the nearest, and each call is given all of them" },
	{ "cpu", NULL, 0, "CPU[,FACT][,CPU]", IN_BUILD, set_cpus, AT(cpu), NULL, cpu_word,
	        "the processor; of several x86-64 ones and generic, each call takes the best that runs.  Behind each "
	        "what is known of it, so tiles fit: l1=, l2=, l3=32k, pipes=2, vnni, bf16, amx, avxvnni, avxvnniint8" },
	{ "cpu", NULL, 0, "CPU[,FACT]", IN_MODEL & ~IN_BUILD, set_cpus, AT(cpu), NULL, cpu_word,
	        "the processor, and what is known of it: l1=, l2=, l3=32k (a core's caches), pipes=2 (vectors of "
	        "multiply-adds a cycle), vnni, bf16, amx (AVX512-VNNI; AVX512-BF16 as well; AMX as well), of x86-64-v3 "
	        "avxvnni, avxvnniint8" },
	{ "board", NULL, 0, "BOARD", IN_BUILD | IN_SIZE, set_board, 0, NULL, board_word,
	        "a microcontroller's board: its CPU, and its flash and RAM as limits (exit 6 beyond them)" },
	{ "package", NULL, 0, "WORD", IN_BUILD, set_text, AT(image.project), NULL, package_word,
	        "for microcontrollers: also a program that runs the network once, and what arduino, cmake, make "
	        "(both with --board) or zephyr wants beside it" },
	{ "dim", NULL, 0, "NAME=N", IN_MODEL | IN_INFO, add_dim, 0, NULL, NULL,
	        "binds a symbolic dimension, by its name or as INPUT:AXIS; may be given again.  Of a range, N=1..32, "
	        "each call says how many there "
	        "are, by one more input; of a dimension that outputs alone have, the run does.  Of an int64 without "
	        "dims, its value, so how many rounds a Loop has" },
	{ "elements", NULL, 0, "NAME=N", IN_MODEL | IN_INFO, add_elements, 0, NULL, NULL,
	        "how many tensors an input holds that is a sequence; or their shapes, NAME=[2,3],[4], as of an output, "
	        "too; NAME=none: an optional without a value" },
	{ "declared", NULL, 0, "WORD", IN_MODEL | IN_INFO, set_text, AT(options.declared), LIST("hint", "exact"), NULL,
	        "a shape that the file declares and the graph contradicts: hint (default), a warning, what the graph "
	        "makes counts; or exact: refused" },
	{ "value", NULL, 0, "NAME=N,N", IN_MODEL | IN_INFO, add_value, 0, NULL, NULL,
	        "an input of integers always comes with these elements: what depends on them is known when the model "
	        "is compiled; a run with others ends with a status" },
	{ "threads", NULL, 0, "N", IN_MODEL, set_threads, 0, NULL, NULL,
	        "kernels are shared over threads, N at most (default 1; 1..N says the same): of a parallel-for of "
	        "yours, or of the pool that build puts beside the library, ingot_threads.h and .c; run, check and "
	        "bench have one of their own" },
	{ "rounds", NULL, 0, "N", IN_BENCH, set_rounds, 0, NULL, NULL,
	        "time at most N rounds (default 201, the most)" },
	{ "compare", NULL, 0, "FILE", IN_BENCH | IN_REPORT, set_text, AT(timing.compare), NULL, NULL,
	        "beside another build: what bench --json or report --json said of it" },
	{ "no-run", NULL, 0, NULL, IN_REPORT, set_flag, AT(flags.no_run), NULL, NULL,
	        "nothing is compiled and run: times are reckoned from facts of the processor, in cycles" },
	{ "calls-only", NULL, 0, NULL, IN_BENCH, set_flag, AT(timing.calls_only), NULL, NULL,
	        "time whole calls alone, as many as two seconds hold: no kernel apart, no limit" },
	{ "optimise", "optimize", 0, "WORD", IN_MODEL, set_optimise, 0, LIST("speed", "size"), NULL,
	        "speed (default, but on microcontrollers) or size: smallest library and RAM; of code alone, no bit "
	        "depends on "
	        "it" },
	{ "algorithms", NULL, 0, "WORD", IN_MODEL, set_numeric, 0, algorithms_words, NULL,
	        "fast (default, but on microcontrollers): 3x3 convolutions by Winograd's, and those with few results a "
	        "place by GEMM and col2im; or direct.  Bits depend on it" },
	{ "quantised", NULL, 0, "WORD", IN_MODEL, set_numeric, 0, quantised_words, NULL,
	        "integers (default): what is dequantised, multiplied and quantised again stays integers; or literal, "
	        "floats as the operators are defined.  Bits depend on it" },
	{ "denormals", NULL, 0, "WORD", IN_MODEL, set_numeric, 0, denormals_words, NULL,
	        "keep (default), or zero: constants of products that are denormal (float32: below 2^-126) count as 0, "
	        "which some CPUs need a hundred cycles for.  Bits depend on it" },
	{ "store-weights", NULL, 0, "WORD", IN_MODEL, set_numeric, 0, weights_words, NULL,
	        "keep (default); f16, bf16 or int8 (a scale for each column): weights of float32 products that take a "
	        "MB or more are rounded to that, and stay so in libraries for GPUs and CPUs with vectors; ingot check "
	        "tells the "
	        "error of each layer.  Bits depend on it" },
	{ "math", NULL, 0, "WORD", IN_MODEL, set_math, AT(math), LIST("strict", "bf16", "f16", "tf32", "double"), NULL,
	        "strict (default); bf16, f16 or tf32: factors of float32's sums of products are rounded to that type, "
	        "and each sum is as it is defined, or with --algorithms fast, where Winograd's take a 3x3 convolution, "
	        "strict; or double (run, check): the interpreter in "
	        "float64, of what is quantised as --quantised literal.  Bits depend on it" },
	{ "store", NULL, 0, "WORD", IN_MODEL, set_numeric, 0, stored_words, NULL,
	        "float32 (default); or bf16, beside --math bf16: what weights multiply is stored in 16 bits, and all "
	        "that "
	        "reads it reads it so, but inputs and outputs.  Bits depend on it" },
	{ "keep-strict", NULL, 0, "LAYER", IN_MODEL, add_strict, 0, NULL, NULL,
	        "beside --math: factors of this node, or of the sum of this name, are not rounded" },
	{ "keep-input", NULL, 0, "NAME", IN_MODEL | IN_INFO, add_keep, 0, NULL, NULL,
	        "an initialiser that is also an input stays an input" },
	{ "templates", NULL, 0, "DIR", IN_MODEL | IN_INFO | IN_OPS, set_folder, AT(options.templates), NULL, NULL,
	        "templates of your own, before the built-in ones: of kernels, and of operators, which may be new" },
	{ "cc", NULL, 0, "COMMAND", IN_BUILD | IN_SIZE, set_text, AT(cc), NULL, NULL,
	        "the C compiler, arguments may follow (default $CC, else cc, gcc, clang)" },
	{ "cflags", NULL, 0, "FLAGS", IN_BUILD | IN_SIZE, set_cflags, AT(cflags), NULL, NULL,
	        "flags for it behind those of the CPU: \"-mcpu=cortex-m3 -mthumb\"" },
	{ "shared", NULL, 0, NULL, IN_BUILD, set_flag, AT(flags.shared), NULL, NULL,
	        "also libNAME.so, which exports the functions of the header alone" },
	{ "arch", NULL, 0, "ARCH[,ARCH]", IN_BUILD | IN_SHOW | IN_RUN | IN_CHECK | IN_BENCH, set_archs, 0, NULL, NULL,
	        "of --target cuda: what code is made for, and of the lowest PTX (default sm_80,sm_90,sm_100); tiles "
	        "are chosen for the one in the middle, and sm_90a alone has wgmma, and no PTX; of run, check and bench "
	        "one (default the GPU's own, and sm_90a of 9.0)" },
	{ "tile", NULL, 0, "TILE", IN_BUILD | IN_SHOW, set_tile, 0, NULL, NULL,
	        "of --target cuda: large products by blocks of this tile, as 128x64x16 (rows, columns, terms), or by "
	        "warps; those that cannot have it as reckoned; each: by tiles of their own for each of --arch" },
	{ "nvrtc", NULL, 0, "FILE", IN_BUILD, set_text, AT(cuda.nvrtc), NULL, NULL,
	        "NVIDIA's runtime compiler (default below $CUDA_HOME, the loader's path, $VIRTUAL_ENV)" },
	{ "no-compile", NULL, 0, NULL, IN_BUILD | IN_SIZE, set_flag, AT(flags.no_compile), NULL, NULL, "sources only" },
	{ "stage", NULL, 0, "WORD", IN_SHOW, set_text, AT(stage), show_stages, NULL,
	        "graph (default), definitions, kernels, loops, plan, source or glue" },
	{ "kernel", NULL, 0, "NAME", IN_SHOW, set_text, AT(kernel), NULL, NULL,
	        "of --stage kernels, loops or source: that kernel alone" },
	{ "weights", NULL, 0, "WORD", IN_BUILD, set_text, AT(weights), LIST("linked", "c", "beside"), NULL,
	        "linked into the library by the assembler (default up to 1 GiB); c: as an array of C (default on "
	        "microcontrollers up to 4 MiB); or beside it: each call is given NAME_weights.bin, mapped or loaded" },
	{ "section", NULL, 0, "WHAT=SECTION", IN_BUILD, add_section, AT(sections), NULL, NULL,
	        "where the linker puts what is linked in, in ELF objects: weights=.ext_flash; or a pool of --pool, "
	        "as --package has it: dtcm=.dtcm" },
	{ "libc", NULL, 0, "WORD", IN_BUILD, set_text, AT(image.libc), LIST("system", "none"), NULL,
	        "system (default): memcpy, memset and, for doubles, libm may be called; none: nothing is, not even "
	        "those" },
	{ "stepwise", NULL, 0, NULL, IN_BUILD, set_flag, AT(flags.stepwise), NULL, NULL,
	        "also NAME_step(context), which runs one kernel and says whether more come" },
	{ "weights", NULL, 0, NULL, IN_SHOW, set_flag, AT(options.weights), NULL, NULL,
	        "of --stage graph: every value, not the first 16 of each tensor; it then reads back as a model" },
	{ "input", NULL, 0, "NAME=FILE", IN_RUN, add_file, AT(inputs), NULL, NULL,
	        "an input, as .npy; FILE.npz alone: all inputs, by their names" },
	{ "output", NULL, 0, "NAME=FILE", IN_RUN, add_file, AT(outputs), NULL, NULL,
	        "where an output goes, as .npy; FILE.npz alone: all outputs, by their names" },
	{ "engines", NULL, 0, NULL, IN_TARGETS, set_flag, AT(flags.engines), NULL, NULL,
	        "what --target of run, check and bench names, instead" },
	{ "verbose", NULL, 'v', NULL, IN_MODEL, set_flag, AT(flags.verbose), NULL, NULL,
	        "a line for each stage, to standard error; on a terminal long work is shown anyway" },
	{ "check", NULL, 0, NULL, IN_MODEL, set_check, 0, NULL, NULL,
	        "each stage's checker runs after every step (so does $INGOT_CHECK)" },
	{ "output", NULL, 'o', "FILE", IN_REPORT, set_text, AT(output), NULL, NULL,
	        "where the page goes (default out/NAME.html; -: standard output)" },
	{ "output", NULL, 'o', "FILE", IN_SHOW, set_text, AT(output), NULL, NULL,
	        "where the text goes (default, and -: standard output); of --stage graph, a name that ends in .onnx: "
	        "the "
	        "prepared graph as an ONNX file" },
	{ "output", NULL, 'o', "FILE", IN_RENDER, set_text, AT(output), NULL, NULL,
	        "where the text goes (default, and -: standard output)" },
	{ "path", NULL, 0, "DIR", IN_RENDER, add_text, AT(paths), NULL, NULL,
	        "where templates, and what they include, are looked for before the template's own folder; may be given "
	        "again" },
	{ "undefined", NULL, 0, "WORD", IN_RENDER, set_undefined, 0, LIST("strict", "lenient"), NULL,
	        "strict (default): an undefined value is an error; lenient: it prints as nothing and is false" },
	{ "trim-blocks", NULL, 0, NULL, IN_RENDER, set_flag, AT(render.trim_blocks), NULL, NULL,
	        "the newline behind a block goes" },
	{ "lstrip-blocks", NULL, 0, NULL, IN_RENDER, set_flag, AT(render.lstrip_blocks), NULL, NULL,
	        "blanks before a block that begins its line go" },
	{ "keep-trailing-newline", NULL, 0, NULL, IN_RENDER, set_flag, AT(render.keep_trailing_newline), NULL, NULL,
	        "the template's last newline stays" },
	{ "newline", NULL, 0, "BYTES", IN_RENDER, set_newline, 0, NULL, NULL,
	        "what ends a line: \\n (default), \\r\\n or \\r" },
	{ "line-statement-prefix", NULL, 0, "BYTES", IN_RENDER, set_bytes, AT(render.line_statement), NULL, NULL,
	        "begins a line that is a statement" },
	{ "line-comment-prefix", NULL, 0, "BYTES", IN_RENDER, set_bytes, AT(render.line_comment), NULL, NULL,
	        "begins a comment that its line ends" },
	{ "block-start", NULL, 0, "BYTES", IN_RENDER, set_bytes, AT(render.block_start), NULL, NULL, "instead of {%" },
	{ "block-end", NULL, 0, "BYTES", IN_RENDER, set_bytes, AT(render.block_end), NULL, NULL, "instead of %}" },
	{ "variable-start", NULL, 0, "BYTES", IN_RENDER, set_bytes, AT(render.variable_start), NULL, NULL,
	        "instead of {{" },
	{ "variable-end", NULL, 0, "BYTES", IN_RENDER, set_bytes, AT(render.variable_end), NULL, NULL,
	        "instead of }}" },
	{ "comment-start", NULL, 0, "BYTES", IN_RENDER, set_bytes, AT(render.comment_start), NULL, NULL,
	        "instead of {#" },
	{ "comment-end", NULL, 0, "BYTES", IN_RENDER, set_bytes, AT(render.comment_end), NULL, NULL, "instead of #}" },
	{ "json", NULL, 0, NULL, (IN_MODEL & ~IN_SHOW) | IN_INFO | IN_OPS | IN_TARGETS | IN_DOCTOR | IN_HELP, set_flag,
	        AT(flags.json), NULL, NULL, "output for programs" },
	{ "help", NULL, 'h', NULL, ~0u, set_flag, AT(flags.help), NULL, NULL, "this text" },
};
const int option_row_count = COUNT(option_rows);
