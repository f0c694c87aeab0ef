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
#include <dirent.h>
#include <dlfcn.h>
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
static bool tried; /* to make the library */
static void *library;

/* ---- one file of C of many ---- */
typedef VECTOR(uint64_t) hash_list;

static bool is_new(struct arena *arena, hash_list *seen, const char *item, size_t length)
{
	const uint64_t hash = hash_bytes(item, length, 0);
	for (size_t i = 0; i < seen->count; i++)
		if (seen->at[i] == hash)
			return false;
	push(arena, seen, hash);
	return true;
}

/* Whether a line ends what stands outside of functions: by ; or }, a comment behind it or not. */
static bool ends_item(const char *line, const char *end)
{
	while (end > line && strchr(" \t\n", end[-1]))
		end--;
	if (end - line > 2 && !memcmp(end - 2, "*/", 2)) {
		do
			end--;
		while (end > line && memcmp(end, "/*", 2));
		return end == line || ends_item(line, end);
	}
	return end > line && (end[-1] == ';' || end[-1] == '}');
}

/* The end of what begins at `at`: lines from #if to its #endif, a comment, a declaration, a function; as the generator
 * prints them, whose bodies end with a line that begins with }. */
static const char *item_end(const char *at)
{
	int depth = 0;
	bool body = false, comment = false;
	for (const char *line = at, *next; *line; line = next) {
		next = strchr(line, '\n') ? strchr(line, '\n') + 1 : line + strlen(line);
		if (*line == '#' && !body && !comment) {
			depth += !strncmp(line, "#if", 3) - !strncmp(line, "#endif", 6);
			if (!depth && !(next - line > 2 && next[-2] == '\\'))
				return next;
			continue;
		}
		comment = comment || !strncmp(line, "/*", 2);
		if (comment && !body) {
			comment = !memmem(line, (size_t)(next - line), "*/", 2);
			if (!comment && !depth)
				return next;
			continue;
		}
		body = (body || *line == '{' || (next - line > 2 && next[-2] == '{')) && *line != '}';
		if (!body && !depth && (*line == '}' || *line == '\n' || ends_item(line, next)))
			return next;
	}
	return at + strlen(at);
}

/* What is in several of the files, as the words of a prelude are, is there once. */
static void join(struct build *build, const char *folder, const char *const *files, size_t count, const char *joined)
{
	hash_list seen = { 0 };
	FILE *to = fopen(joined, "w");
	if (!to)
		fail(build, EXIT_ENVIRONMENT, joined, "cannot be written");
	for (size_t i = 0; i < count; i++) {
		struct mapped file = file_map(build, arena_printf(build->arena, "%s/%s", folder, files[i]));
		const char *end;
		for (const char *at = arena_copy(build->arena, (const char *)file.at, file.bytes); *at; at = end) {
			end = item_end(at);
			if (is_new(build->arena, &seen, at, (size_t)(end - at)))
				fwrite(at, 1, (size_t)(end - at), to);
		}
	}
	fclose(to);
}

/* Kernels first: a header that is compiled before helps only ahead of all else. */
static int in_order(const void *a, const void *b)
{
	const char *one = *(char *const *)a, *other = *(char *const *)b;
	const int ahead = !strstr(one, "_kernels") - !strstr(other, "_kernels");
	return ahead ? ahead : strcmp(one, other);
}

/* The package's sources of C, but those of its weights, and their name in assembler; NULL: it has none. */
static const char *sources_of(struct build *build, const char *folder, word_list *sources)
{
	const char *weights = NULL;
	DIR *directory = opendir(folder);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		const char *name = arena_copy(build->arena, entry->d_name, strlen(entry->d_name)),
		           *ending = strrchr(name, '.');
		if (!strcmp(ending, ".S"))
			weights = name;
		else if (!strcmp(ending, ".c") && !strstr(name, "_weights"))
			push(build->arena, sources, name);
	}
	if (directory)
		closedir(directory);
	qsort(sources->at, sources->count, sizeof *sources->at, in_order);
	return weights;
}

/* Of schedules for several threads each has names of its own that others have, too: these are files of their own. */
static void compile(struct build *build, const struct options *options, const char *folder)
{
	const char *words[2 * CC_WORDS_MOST + RUNS_MOST + 16];
	word_list sources = { 0 };
	const char *weights = sources_of(build, folder, &sources);
	size_t joined = sources.count;
	while (options->threads > 1 && joined && !strstr(sources.at[joined - 1], "_kernels"))
		joined--;
	join(build, folder, sources.at, joined, arena_printf(build->arena, "%s/all.c", folder));
	const int own = cc_words(build, cc_find(build, NULL), words);
	int n = own + cc_words(build, options->target->cc_flags, words + own);
	memcpy(words + n, (const char *[]){ "-fPIC", "-c", "all.c", "-o", "all.o", NULL }, 6 * sizeof *words);
	cc_run(build, folder, words);
	memcpy(words + n, (const char *[]){ "-fPIC", "-shared", "-o", "libtogether.so", "all.o" }, 5 * sizeof *words);
	n += 5;
	for (; joined < sources.count; joined++)
		words[n++] = sources.at[joined];
	words[n++] = weights;
	words[n] = NULL;
	cc_run(build, folder, words);
}

/* ---- the library ---- */
/* All that were lowered, as one library. */
static void load(struct model *any, const char *folder)
{
	struct build *build = any->build;
	struct part *parts = arena_new_array(build->arena, struct part, RUNS_MOST);
	int count = 0;
	for (int i = 0; i < run_count; i++)
		if (runs[i].model)
			parts[count++] = model_part(runs[i].model);
	struct emit emit = { .build = build,
		.arena = build->arena,
		.target = any->options->target,
		.templates = model_templates(any),
		.name = "together" };
	struct package package = { .parts = parts,
		.part_count = count,
		.name = "together",
		.threads = any->options->threads,
		.options = "loaded" };
	package_write(&emit, &package, folder);
	compile(build, any->options, folder);
	library = dlopen(arena_printf(build->arena, "%s/libtogether.so", folder), RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail(build, EXIT_ENVIRONMENT, NULL, "the compiled library cannot be loaded: %s", dlerror());
}

static void make(struct model *any)
{
	struct build *build = any->build;
	const char *folder = folder_temporary(build, build->arena);
	jmp_buf *out = build->out, mine;
	tried = true;
	build->out = &mine;
	if (setjmp(mine) == 0)
		load(any, folder);
	build->out = out;
	engine_remove_folder(folder);
	if (build->code)
		longjmp(*out, 1);
}

static int call(struct one *one, const struct data *data, void **outputs)
{
	struct build *build = one->model->build;
	const struct program *program = one->model->program;
	const void **inputs = arena_new_array(build->arena, const void *, program->inputs.count + 1);
	struct {
		void *workspace;
		const void *weights, *parallel;
		void *stream;
	} context = { 0 };
	int (*function)(const void *, const void *, const void *);
	*(void **)&function = dlsym(library, arena_printf(build->arena, "%s_run", one->name));
	if (!function)
		fail(build, EXIT_ENVIRONMENT, NULL, "the compiled library lacks %s_run", one->name);
	for (size_t i = 0; i < program->inputs.count; i++)
		inputs[i] = data->inputs.at[i].data;
	for (size_t i = 0; i < program->outputs.count; i++)
		outputs[i] = arena_alloc(build->arena,
		        dtype_bytes(program->outputs.at[i]->type, (size_t)definition_elements(program->outputs.at[i]))
		                + 64);
	context.workspace = aligned_alloc(64, ((size_t)one->model->lowered->workspace_bytes + 64) & ~(size_t)63);
	int status = function(inputs, outputs, &context);
	free(context.workspace);
	return status;
}

/* A run: its model, then all runs behind it, so that its model is still there when the last of them makes the library
 * of all. */
static void collect(struct cli *), run_next(void);
static const struct command command_one = { "run", "MODEL", "", NULL, IN_RUN, 1, 1, collect };

static void collect(struct cli *cli)
{
	struct build *build = cli->build;
	struct one *one = &runs[begun - 1];
	struct data data;
	cli->options.name = one->name;
	struct model *model = data_compile(cli, compiled, &data);
	model_lower(model);
	one->model = model;
	while (begun < run_count)
		run_next();
	if (!tried)
		make(one->model);
	if (!library)
		fail(build, EXIT_ENVIRONMENT, NULL, "there is no library");
	void **outputs = arena_new_array(build->arena, void *, one->model->program->outputs.count + 1);
	int status = call(one, &data, outputs);
	if (status)
		fail(build, EXIT_LIMIT, NULL, "the library returned %d", status);
	write_outputs(cli, one->model, outputs);
}

static void run_next(void)
{
	struct one *one = &runs[begun++];
	one->status = cli_main(&command_one, one->argc, one->argv);
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
	read_runs(argc, argv);
	while (begun < run_count)
		run_next();
	for (int i = 0; i < run_count; i++)
		printf("%d\n", runs[i].status);
	return 0;
}
