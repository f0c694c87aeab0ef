/* together.c: runs of --target c, all compiled as one file of C: a compiler starts once for them, and reads what
 * kernels begin with (the prelude, the compiler's own header) once.
 *
 *     together OPTION... <LINES        --cpu and others of ingot run, for all of them
 *
 * A line is one run: a model and options of its own, as ingot run takes them, with tabs between.  A line of standard
 * output for each, in their order: its exit status, or -1 where it was not reached; what is written to files is what
 * ingot run writes.  tests/together.py is its other side. */
#include "cli/run.c"
#include "backends/backends.h"
#include <glob.h>
#include <stdlib.h>

enum { RUNS_MOST = 256, WORDS_MOST = 512, LINE_MOST = 1 << 16 };

const struct command *const commands[] = { &command_run, NULL };

struct one {
	int argc, status;
	char *argv[WORDS_MOST];
	char name[32];
	struct model *model; /* lowered; NULL: it was refused */
};
static struct one runs[RUNS_MOST];
static int run_count, begun;
static char *folder; /* of the library; NULL: nobody has made it yet */

/* ---- one file of C of many ---- */
/* The kernels of all files behind one prelude, of the words that any of them needs; then the schedules. */
static void write_source(struct emit *emit, const struct package *package)
{
	static const char behind_prelude[] = "\n#ifdef __cplusplus\nextern \"C\" {";
	struct build *build = emit->build;
	struct text text, kernels;
	glob_t files;
	text_init(&text, build);
	text_init(&kernels, build);
	glob(arena_printf(build->arena, "%s/*_kernels*.c", folder), 0, NULL, &files);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		struct mapped file = file_map(build, files.gl_pathv[i]);
		file_keep(build, file);
		text_adds(
		        &kernels, strstr(arena_copy(build->arena, (const char *)file.at, file.bytes), behind_prelude));
	}
	globfree(&files);
	/* What kernels.jinja has ahead of a prelude. */
	text_adds(&text, "#define NOINLINE __attribute__((noinline))\n");
	emit_prelude(emit, kernels.at, kernels.count, &text);
	text_add(&text, kernels.at, kernels.count);
	for (int p = 0; p < package->part_count; p++)
		text_printf(&text, "#include \"%s.c\"\n", package->parts[p].name);
	FILE *to = fopen(arena_printf(build->arena, "%s/all.c", folder), "w");
	if (!to || fwrite(text.at, 1, text.count, to) != text.count || fclose(to))
		fail(build, EXIT_ENVIRONMENT, folder, "cannot be written");
	text_release(&text);
	text_release(&kernels);
}

static void compile(struct build *build, const struct target *target, const char *weights)
{
	const char *words[2 * CC_WORDS_MOST + 8];
	int n = cc_words(build, cc_find(build, NULL), words);
	n += cc_words(build, target->cc_flags, words + n);
	memcpy(words + n, (const char *[]){ "-fPIC", "-shared", "-o", "libtogether.so", "all.c", weights, NULL },
	        7 * sizeof *words);
	cc_run(build, folder, words);
}

/* All that were lowered, as one library. */
static void make(struct model *any)
{
	struct build *build = any->build;
	struct part *parts = arena_new_array(build->arena, struct part, RUNS_MOST);
	int64_t weights_bytes;
	struct emit emit = { .build = build,
		.arena = build->arena,
		.target = any->options->target,
		.templates = model_templates(any),
		.name = "together" };
	struct package package = { .parts = parts,
		.name = "together",
		.threads = any->options->threads,
		.options = "loaded",
		.weights_bytes = &weights_bytes };
	for (int i = 0; i < run_count; i++)
		if (runs[i].model)
			parts[package.part_count++] = model_part(runs[i].model);
	package_write(&emit, &package, folder);
	write_source(&emit, &package);
	compile(build, emit.target, weights_bytes ? "together_weights.S" : NULL);
}

/* ---- runs ---- */
/* A run's engine: its model, then all runs behind it, so that its model is still there when the last of them makes the
 * library of all. */
static void run_next(void);
static void open_together(struct engine *engine)
{
	struct build *build = engine->model->build;
	struct one *one = &runs[begun - 1];
	model_lower(engine->model);
	one->model = engine->model;
	while (begun < run_count)
		run_next();
	if (!folder) {
		folder = strdup(folder_temporary(build, build->arena));
		make(engine->model);
	}
	engine_c_bind(engine, arena_printf(build->arena, "%s/libtogether.so", folder));
}

static void run_together(struct cli *cli)
{
	struct engine_kind kind = engine_c;
	kind.open = open_together;
	cli->options.name = runs[begun - 1].name;
	run_on(cli, &kind);
}

static void run_next(void)
{
	static const struct command command = { "run", "MODEL", "", NULL, IN_RUN, 1, 1, run_together };
	struct one *one = &runs[begun++];
	one->status = cli_main(&command, one->argc, one->argv);
}

/* Words of a line; those of the command are before them. */
static void read_runs(int argc, char **argv)
{
	static char line[LINE_MOST];
	while (run_count < RUNS_MOST && fgets(line, sizeof line, stdin)) {
		struct one *one = &runs[run_count];
		one->status = -1;
		snprintf(one->name, sizeof one->name, "together_m%d", run_count++);
		for (int i = 0; i < argc; i++)
			one->argv[one->argc++] = argv[i];
		char *rest = strdup(line);
		rest[strcspn(rest, "\n")] = 0;
		while (rest && one->argc < WORDS_MOST - 1)
			one->argv[one->argc++] = strsep(&rest, "\t");
	}
}

int main(int argc, char **argv)
{
	FILE *answer = fdopen(dup(STDOUT_FILENO), "w");
	if (!answer || !freopen("/dev/null", "w", stdout)) /* where the runs tell of their outputs */
		return EXIT_ENVIRONMENT;
	read_runs(argc, argv);
	while (begun < run_count)
		run_next();
	for (int i = 0; i < run_count; i++)
		fprintf(answer, "%d\n", runs[i].status);
	if (folder)
		engine_remove_folder(folder);
	return fclose(answer) != 0;
}
