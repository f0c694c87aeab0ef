/* engine_emulated.c: CUDA sources on the CPU: the .cu text of `build --target cuda`, compiled with the emulator by the
 * system's C++ compiler and loaded. */
#include "engine.h"
#include "base/embedded.h"
#include "emit/emit.h"
#include "loops/loops.h"
#include "backends/backends.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct emulated {
	char *folder;
	void *handle, *workspace, *weights;
	int (*run)(const void *const *inputs, void *const *outputs, void *workspace, const void *weights);
	const char *(*message)(void);
};

static void emulated_close(struct engine *engine)
{
	struct emulated *emulated = engine->state;
	if (!emulated)
		return;
	if (emulated->handle)
		dlclose(emulated->handle);
	free(emulated->workspace);
	free(emulated->weights);
	engine_remove_folder(emulated->folder);
	engine->state = NULL;
}

static void *memory_of(struct engine *engine, int64_t bytes)
{
	void *memory = aligned_alloc(256, ((size_t)bytes + 256) & ~(size_t)255);
	if (!memory)
		fail(engine->model->build, EXIT_LIMIT, engine->model->name, "out of memory: %lld bytes",
		        (long long)bytes);
	return memory;
}

static void *symbol_of(struct engine *engine, const char *name)
{
	struct emulated *emulated = engine->state;
	void *symbol = dlsym(emulated->handle, name);
	if (!symbol)
		fail(engine->model->build, EXIT_ENVIRONMENT, engine->model->name, "the compiled emulator lacks %s",
		        name);
	return symbol;
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);
	return value && *value;
}

/* The emulator's own files are the same for every graph: their objects are kept. */
static void compile_own(struct build *build, struct cc_job job)
{
	struct text text;
	text_init(&text, build);
	for (size_t i = 0; i < embedded_count; i++)
		if (!strncmp(embedded_files[i].name, "emulator/", strlen("emulator/")))
			text_adds(&text, (const char *)embedded_files[i].at);
	for (int left = job.count; left--; job.sources++, job.objects++) {
		struct image object = { .log = "" };
		const char *file = arena_printf(build->arena, "%s/%s", job.directory, *job.objects),
		           *path = cache_path(build, text.at,
		                   arena_printf(build->arena, "%s %s %s", job.cc, job.flags, *job.sources));
		bool kept = cache_take(build, path, &object);
		job.count = 1;
		if (!kept) {
			cc_compile(build, &job);
			struct mapped made = file_map(build, file);
			object.bytes = arena_copy(build->arena, (const char *)made.at, made.bytes);
			object.count = made.bytes;
			file_unmap(made);
			cache_give(build, path, &object);
			continue;
		}
		FILE *to = fopen(file, "wb");
		if (!to || fwrite(object.bytes, 1, object.count, to) != object.count || fclose(to))
			fail(build, EXIT_ENVIRONMENT, file, "cannot be written");
	}
	text_release(&text);
}

static void emulated_load(struct engine *engine)
{
	struct model *model = engine->model;
	struct build *build = model->build;
	struct lowered *lowered = model->lowered;
	struct emulated *emulated = engine->state;
	struct emit emit = { .build = build,
		.arena = build->arena,
		.target = lowered->target,
		.templates = model_templates(model),
		.name = model->name };
	struct part part = model_part(model);
	struct package package = {
		.parts = &part, .part_count = 1, .name = model->name, .threads = 1, .options = "loaded", .shared = true
	};
	package_write(&emit, &package, emulated->folder);
	const char *library = arena_printf(build->arena, "lib%s.so", model->name), *fma = "";
#if defined(__x86_64__)
	__builtin_cpu_init();
	fma = __builtin_cpu_supports("fma") ? "-mfma" : ""; /* else the C library's fmaf: as exact, slower */
#endif
	/* The macro is libstdc++'s: <math.h> is C's and not all of <cmath>, half of the time that a small graph takes.
	 * $INGOT_EMULATOR_FLAGS: more flags, for a look from inside: "-g -fsanitize=address
	 * -fsanitize-sections=emulated_shared". */
	const char *more = getenv("INGOT_EMULATOR_FLAGS"), *cxx = cxx_find(build);
	const char *plain = arena_printf(build->arena,
	        "-std=c++17 -O1 -w -fPIC -ffp-contract=off -fno-math-errno -D_GLIBCXX_INCLUDE_NEXT_C_HEADERS %s", fma);
	const char *flags = arena_printf(build->arena, "%s %s", plain, more ? more : "");
	/* $INGOT_EMULATOR_RACES, $INGOT_EMULATOR_COUNTS: the kernels alone call what watches them, and nothing of the
	 * sanitizer is linked.  Each file is an object of its own. */
	const bool counted = is_set("INGOT_EMULATOR_COUNTS"), watched = counted || is_set("INGOT_EMULATOR_RACES");
	const bool groups = lowered->target->gpu->group_dot8s;
	const char *const sources[] = { arena_printf(build->arena, "%s_emulated.cpp", model->name), "emulator.cpp",
		groups ? "hopper.cpp" : "races.cpp", groups ? "races.cpp" : "counters.cpp", "counters.cpp" };
	const char *const objects[] = { "kernels.o", "emulator.o", groups ? "hopper.o" : "races.o",
		groups ? "races.o" : "counters.o", "counters.o" };
	struct cc_job job = { .cc = cxx,
		.directory = emulated->folder,
		.flags = watched ? arena_printf(build->arena, "%s -g -fsanitize=thread", plain) : flags,
		.sources = sources,
		.objects = objects,
		.count = 1,
		.jobs = 1 };
	cc_compile(build, &job);
	job.flags = arena_printf(build->arena, "%s -O2", flags);
	job.sources++, job.objects++;
	job.count = (counted ? 3 : watched ? 2 : 1) + groups;
	compile_own(build, job);
	const char *link[2 * CC_WORDS_MOST + 8] = { NULL };
	int words = cc_words(build, cxx, link);
	words += cc_words(build, flags, link + words);
	link[words++] = "-shared";
	link[words++] = "-o";
	link[words++] = library;
	FOR (i, job.count + 1)
		link[words++] = objects[i];
	cc_run(build, emulated->folder, link);
	emulated->handle =
	        dlopen(arena_printf(build->arena, "%s/%s", emulated->folder, library), RTLD_NOW | RTLD_LOCAL);
	if (!emulated->handle)
		fail(build, EXIT_ENVIRONMENT, model->name, "the compiled emulator cannot be loaded: %s", dlerror());
	*(void **)&emulated->run = symbol_of(engine, arena_printf(build->arena, "%s_emulate", model->name));
	*(void **)&emulated->message = symbol_of(engine, "emulator_message");
	emulated->workspace = memory_of(engine, lowered->workspace_bytes);
	emulated->weights = memory_of(engine, lowered->weights_bytes);
	memset(emulated->workspace, 0xff, (size_t)lowered->workspace_bytes);
	FOR_ALL (i, lowered->constants)
		constant_fill(&lowered->constants.at[i],
		        (char *)emulated->weights + scheduled(lowered->constants.at[i].of)->offset);
}

static void emulated_open(struct engine *engine)
{
	struct model *model = engine->model;
	struct build *build = model->build;
	struct emulated *emulated = arena_new(build->arena, struct emulated);
	jmp_buf *out = build->out, mine;
	const struct target *target = model->options->target->gpu ? model->options->target : &target_cuda;
	model->lowered = lower(model->program, target, model->options->optimise, NULL, loops_finish);
	emulated->folder = folder_temporary(build, build->arena);
	engine->state = emulated;
	build->out = &mine;
	if (setjmp(mine) == 0)
		emulated_load(engine);
	build->out = out;
	if (build->code) {
		emulated_close(engine);
		longjmp(*out, 1);
	}
}

static void emulated_run(struct engine *engine, const void *const *inputs, void *const *outputs)
{
	struct emulated *emulated = engine->state;
	int status = emulated->run(inputs, outputs, emulated->workspace, emulated->weights);
	engine_look(engine, status);
	if (status)
		fail(engine->model->build, EXIT_LIMIT, engine->model->name, "the emulator: %s", emulated->message());
}

const struct engine_kind engine_cuda_emulated = {
	.name = "cuda-emulated", .open = emulated_open, .run = emulated_run, .close = emulated_close
};
