/* modules.c: the libraries of sets.txt: compiled ahead of time by the build, or here by the JIT. */
#include "rows.h"
#include "emit/emit.h"
#include "jit/jit.h"
#include "pipeline.h"

extern const struct made {
	const char *name;
	const struct ingot_module *module;
} made[]; /* the build writes it */

/* ---- by the JIT: the words of a line of sets.txt, as the program would read them ---- */
struct wanted {
	struct build build;
	struct options options;
	struct package package;
	VECTOR(const char *) files, merges;
	VECTOR(struct state_pair) states;
	struct jit_module *module;
};

static const char *pair(struct build *build, const char *word, const char **rest)
{
	const char *equals = strchr(word, '=');
	*rest = equals + 1;
	return name_is(build->names, arena_copy(build->arena, word, (size_t)(equals - word)));
}

static void read_words(struct wanted *w, char *words)
{
	struct arena *arena = w->build.arena;
	const char *rest;
	char *left;
	for (char *word = strtok_r(words, " ", &left); word; word = strtok_r(NULL, " ", &left)) {
		char *value = *word == '-' && strcmp(word, "--apart") && strcmp(word, "--no-hosted")
		        ? strtok_r(NULL, " ", &left)
		        : NULL;
		if (!strcmp(word, "--apart"))
			w->options.apart = true;
		else if (!strcmp(word, "--no-hosted"))
			w->package.no_hosted = true;
		else if (!strcmp(word, "--schedule"))
			w->package.steps = !strcmp(value, "steps");
		else if (!strcmp(word, "--pool-cap"))
			w->options.pool_cap = atoll(value);
		else if (!strcmp(word, "--after"))
			push(arena, &w->options.after, arena_printf(arena, "%s/graphs/%s.onnxtxt", TESTS, value));
		else if (!strcmp(word, "--share"))
			push(arena, &w->options.shares, value);
		else if (!strcmp(word, "--merge"))
			push(arena, &w->merges, value);
		else if (!strcmp(word, "--state")) {
			const char *name = pair(&w->build, value, &rest);
			push(arena, &w->states, (struct state_pair){ name, rest });
		} else if (!strcmp(word, "--mode")) {
			const char *name = pair(&w->build, value, &rest);
			push(arena, &w->options.modes,
			        (struct mode_choice){ .name = name,
			                .mode = !strcmp(rest, "virtual") ? INGOT_VIRTUAL
			                        : !strcmp(rest, "local") ? INGOT_LOCAL
			                                                 : INGOT_ON_DEVICE,
			                .outputs = !strcmp(rest, "on_device") });
		} else
			push(arena, &w->files, arena_printf(arena, "%s/graphs/%s.onnxtxt", TESTS, word));
	}
}

static void jit_open(struct wanted *w, const char *name, char *words)
{
	read_words(w, words);
	w->options.name = name;
	w->options.target = jit_target(w->build.arena, target_native());
	w->options.threads = 1;
	struct part *parts = batch_lower(&w->build, &w->options, w->files.at, (int)w->files.count);
	struct emit emit = { .build = &w->build,
		.arena = w->build.arena,
		.target = w->options.target,
		.templates = options_templates(&w->build, &w->options),
		.name = name };
	w->package.parts = parts;
	w->package.part_count = (int)w->files.count;
	w->package.name = name;
	w->package.threads = 1;
	w->package.options = "in memory";
	w->package.managed = true;
	w->package.merges = w->merges.at;
	w->package.merge_count = w->merges.count;
	w->package.states = w->states.at;
	w->package.state_count = w->states.count;
	w->module = jit_module_open(&emit, &w->package);
}

static const struct ingot_module *jit_module(const char *name)
{
	static struct wanted wanted[16]; /* stay until the process ends: runtimes hold them */
	static int used;
	char *sets = file_text("%s/sets.txt", TESTS), *left, *words = NULL;
	for (int i = 0; i < used; i++)
		if (!strcmp(wanted[i].package.name, name))
			return jit_module_descriptor(wanted[i].module);
	CHECK(sets && used < 16);
	struct wanted *w = &wanted[used++];
	for (char *line = strtok_r(sets, "\n", &left); line; line = strtok_r(NULL, "\n", &left))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ' ')
			words = line + strlen(name) + 1;
	CHECK(words);
	build_init(&w->build);
	if (BUILD_TRY(&w->build))
		jit_open(w, name, words);
	if (w->build.code)
		check_failed(__FILE__, __LINE__, w->build.message);
	return jit_module_descriptor(w->module);
}

/* ---- by name ---- */
const struct ingot_module *module_of(struct trial *t, const char *name)
{
	if (t->jit)
		return jit_module(name);
	for (const struct made *one = made; one->name; one++)
		if (!strcmp(one->name, name))
			return one->module;
	check_failed(__FILE__, __LINE__, name);
}

struct ingot_library load_library(struct trial *t, const char *name)
{
	struct ingot_library library;
	OK(ingot_library_load(t->runtime, module_of(t, name), NULL, &library));
	return library;
}

struct ingot_node node_of(struct ingot_library library, const char *name)
{
	struct ingot_node node;
	OK(ingot_library_node(library, name, &node));
	return node;
}

const struct ingot_module_routine *routine_of(const struct ingot_module *module, const char *name)
{
	for (uint32_t i = 0; i < module->routine_count; i++)
		if (!strcmp(module->routines[i].name, name))
			return module->routines + i;
	check_failed(__FILE__, __LINE__, name);
}

const struct ingot_module_tensor *tensor_of(const struct ingot_module *module, const char *name, const char *routine)
{
	for (uint32_t i = 0; i < module->tensor_count; i++)
		if (!strcmp(module->tensors[i].name, name)
		        && !strcmp(module->routines[module->tensors[i].routine].name, routine))
			return module->tensors + i;
	return NULL;
}

const struct ingot_module_node *module_node(const struct ingot_module *module, const char *name)
{
	for (uint32_t i = 0; i < module->node_count; i++)
		if (!strcmp(module->nodes[i].name, name))
			return module->nodes + i;
	return NULL;
}

void write_f32(struct ingot_context context, struct ingot_node node, const float *values, size_t count)
{
	struct ingot_event done;
	OK(ingot_write(context, node, values, count * 4, &done));
	OK(ingot_event_sync(done));
	OK(ingot_event_close(done));
}

void read_f32(struct ingot_context context, struct ingot_node node, float *values, size_t count)
{
	struct ingot_event done;
	OK(ingot_read(context, node, values, count * 4, &done));
	OK(ingot_event_sync(done));
	OK(ingot_event_close(done));
}

void link_routine(struct ingot_context context, struct ingot_library library, const char *name,
        struct ingot_routine *routine, struct ingot_context *linked)
{
	OK(ingot_link(context, library, name, routine));
	OK(ingot_routine_context(*routine, linked));
}
