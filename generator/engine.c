/* engine.c: the kinds of engine; the interpreter and the compiled library. */
#include "engine.h"
#include "emit/emit.h"
#include "backends/backends.h"
#include <dlfcn.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct engine_kind *const kinds[] = { &engine_interpreter, &engine_c, &engine_jit, &engine_cuda,
	&engine_cuda_emulated };

const struct engine_kind *engine_at(int i) { return i >= 0 && i < (int)COUNT(kinds) ? kinds[i] : NULL; }

const struct engine_kind *engine_find(const char *name)
{
	FOR (i, COUNT(kinds))
		if (!strcmp(kinds[i]->name, name))
			return kinds[i];
	return NULL;
}

struct engine *engine_open(struct model *model, const struct engine_kind *kind)
{
	struct engine *engine = arena_new(model->build->arena, struct engine);
	engine->kind = kind;
	engine->model = model;
	if (kind->native)
		target_ask(model->build, model->options->target);
	kind->open(engine);
	return engine;
}

void engine_run(struct engine *engine, const void *const *inputs, void *const *outputs)
{
	stop_if_asked(engine->model->build);
	engine->kind->run(engine, inputs, outputs);
}

void engine_close(struct engine *engine)
{
	if (engine)
		engine->kind->close(engine);
}

void engine_with(struct model *model, const struct engine_kind *kind, void (*body)(struct engine *, void *), void *user)
{
	struct build *build = model->build;
	struct engine *engine = engine_open(model, kind);
	jmp_buf *out = build->out, mine;
	build->out = &mine;
	if (setjmp(mine) == 0)
		body(engine, user);
	build->out = out;
	engine_close(engine);
	if (build->code)
		longjmp(*out, 1);
}

/* ---- the interpreter ---- */
static void interpreter_open(struct engine *engine) { (void)engine; }
static void interpreter_close(struct engine *engine) { (void)engine; }
static void interpreter_run(struct engine *engine, const void *const *inputs, void *const *outputs)
{
	interpret(engine->model->program, MATH_STRICT, inputs, outputs);
}
const struct engine_kind engine_interpreter = {
	.name = "interpreter", .open = interpreter_open, .run = interpreter_run, .close = interpreter_close
};

/* ---- a library in a folder of its own, loaded ---- */
struct context {
	void *workspace;
	const void *weights;
	const void *parallel;
	void *stream;
};
struct loaded {
	char *folder;
	void *handle;
	int (*run)(const void *in, const void *out, const void *context);
	void (*profile)(const void *in, const void *out, const void *context, engine_mark *,
	        void *user); /* where it was asked for */
	struct context context;
	void *threads; /* the pool that is in a library made for several; NULL: none */
	void (*threads_close)(void *threads);
};

void engine_remove_folder(const char *folder)
{
	DIR *directory = opendir(folder);
	char path[4096];
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		if (entry->d_name[0] == '.' && (!entry->d_name[1] || (entry->d_name[1] == '.' && !entry->d_name[2])))
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		unlink(path);
	}
	if (directory)
		closedir(directory);
	rmdir(folder);
}

static void c_close(struct engine *engine)
{
	struct loaded *loaded = engine->state;
	if (!loaded)
		return;
	if (loaded->threads)
		loaded->threads_close(loaded->threads);
	if (loaded->handle)
		dlclose(loaded->handle);
	free(loaded->context.workspace);
	engine->state = NULL;
}

/* ingot_threads.h of a library that is made for several threads. */
static void open_threads(struct engine *engine)
{
	struct loaded *loaded = engine->state;
	int (*open)(void **threads, int workers);
	const void *(*parallel)(void *threads);
	*(void **)&open = dlsym(loaded->handle, "ingot_threads_open");
	*(void **)&parallel = dlsym(loaded->handle, "ingot_threads_parallel");
	*(void **)&loaded->threads_close = dlsym(loaded->handle, "ingot_threads_close");
	if (!open || !parallel || !loaded->threads_close)
		return;
	if (open(&loaded->threads, engine->model->options->threads))
		fail(engine->model->build, EXIT_ENVIRONMENT, engine->model->name, "%d threads cannot be started",
		        engine->model->options->threads);
	loaded->context.parallel = parallel(loaded->threads);
}

static void c_bind(struct engine *engine, const char *library)
{
	struct model *model = engine->model;
	struct build *build = model->build;
	struct loaded *loaded = engine->state;
	loaded->handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!loaded->handle)
		fail(build, EXIT_ENVIRONMENT, model->name, "the compiled library cannot be loaded: %s", dlerror());
	*(void **)&loaded->run = dlsym(loaded->handle, arena_printf(build->arena, "%s_run", model->name));
	if (!loaded->run)
		fail(build, EXIT_ENVIRONMENT, model->name, "the compiled library lacks %s_run", model->name);
	*(void **)&loaded->profile = dlsym(loaded->handle, arena_printf(build->arena, "%s_profile", model->name));
	if (model->lowered->workspace_bytes) {
		loaded->context.workspace =
		        aligned_alloc(64, ((size_t)model->lowered->workspace_bytes + 63) & ~(size_t)63);
		if (!loaded->context.workspace)
			fail(build, EXIT_LIMIT, model->name, "out of memory: a workspace of %lld bytes",
			        (long long)model->lowered->workspace_bytes);
	}
	open_threads(engine);
}

void engine_c_bind(struct engine *engine, const char *library)
{
	engine->state = arena_new(engine->model->build->arena, struct loaded);
	c_bind(engine, library);
}

static void c_load(struct engine *engine)
{
	struct model *model = engine->model;
	struct build *build = model->build;
	struct loaded *loaded = engine->state;
	struct emit emit = { .build = build,
		.arena = build->arena,
		.target = model->options->target,
		.templates = model_templates(model),
		.name = model->name };
	struct part part = model_part(model);
	struct package package = { .parts = &part,
		.part_count = 1,
		.name = model->name,
		.threads = model->options->threads,
		.options = "loaded",
		.cc = cc_find(build, NULL),
		.jobs = 2,
		.shared = true,
		.profile = model->options->profile };
	package_write(&emit, &package, loaded->folder);
	c_bind(engine, arena_printf(build->arena, "%s/lib%s.so", loaded->folder, model->name));
	if (model->lowered->weights_bytes > WEIGHTS_LINKED_MOST) {
		struct mapped weights =
		        file_map(build, arena_printf(build->arena, "%s/%s_weights.bin", loaded->folder, model->name));
		file_keep(build, weights);
		loaded->context.weights = weights.at;
	}
}

static void c_open(struct engine *engine)
{
	struct build *build = engine->model->build;
	struct loaded *loaded = arena_new(build->arena, struct loaded);
	jmp_buf *out = build->out, mine;
	if (!engine->model->lowered)
		model_lower(engine->model);
	loaded->folder = folder_temporary(build, build->arena);
	engine->state = loaded;
	build->out = &mine;
	if (setjmp(mine) == 0)
		c_load(engine);
	build->out = out;
	engine_remove_folder(
	        loaded->folder); /* what is loaded needs no file, and nothing is left behind however this ends */
	if (build->code) {
		c_close(engine);
		longjmp(*out, 1);
	}
}

/* The structs of a library's header hold nothing but pointers, in the order of the graph. */
void engine_look(struct engine *engine, int status)
{
	const struct program *program = engine->model->lowered->program;
	int check = status - CHECK_CODES;
	if (check >= 0 && (size_t)check < program->checks.count)
		check_fail(program, program->checks.at[check], NULL);
}

static void c_run(struct engine *engine, const void *const *inputs, void *const *outputs)
{
	struct loaded *loaded = engine->state;
	int status = loaded->run(inputs, outputs, &loaded->context);
	engine_look(engine, status);
	if (status)
		fail(engine->model->build, EXIT_LIMIT, engine->model->name, "the library returned %d", status);
}

void *engine_c_symbol(struct engine *engine, const char *name)
{
	return dlsym(((struct loaded *)engine->state)->handle, name);
}

static void c_profile(
        struct engine *engine, const void *const *inputs, void *const *outputs, engine_mark *mark, void *user)
{
	struct loaded *loaded = engine->state;
	loaded->profile(inputs, outputs, &loaded->context, mark, user);
}

static void *c_limit(struct engine *engine, const char *name)
{
	return engine_c_symbol(engine, arena_printf(engine->model->build->arena, "%s_%s", engine->model->name, name));
}

const struct engine_kind engine_c = { .name = "c",
	.native = true,
	.open = c_open,
	.run = c_run,
	.close = c_close,
	.profile = c_profile,
	.limit = c_limit };
