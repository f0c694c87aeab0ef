/* api.c: ingot.h over the pipeline and the engines: each call is a part of one build. */
#include "ingot/ingot.h"
#include "engine.h"
#include "jit/jit.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

enum state { STAGE_CLOSED, STAGE_OPEN, STAGE_DEFINED, STAGE_COMPILED };

struct port {
	struct ingot_tensor tensor;
	const void *input;
	void *output, *own;
};

struct ingot_model {
	struct build build;
	struct options options;
	struct model *model;
	struct engine *engine;
	struct jit_module *module;
	enum state stage;
	bool ran;
	int (*progress)(void *user, const char *stage, size_t done, size_t count);
	void *progress_user;
	locale_t plain, callers; /* "C", and what the calling thread had */
	VECTOR(struct port) inputs, outputs;
};

_Static_assert((int)INGOT_RANK_MOST >= (int)MAX_RANK, "a tensor's dims fit");
_Static_assert(INGOT_MODEL_USAGE == (int)EXIT_USAGE && INGOT_MODEL_INVALID == (int)EXIT_INVALID
                && INGOT_MODEL_UNSUPPORTED == (int)EXIT_UNSUPPORTED && INGOT_MODEL_ENVIRONMENT == (int)EXIT_ENVIRONMENT
                && INGOT_MODEL_LIMIT == (int)EXIT_LIMIT,
        "a status is an exit code");

static bool tell_progress(struct build *build, const struct progress *now)
{
	const struct ingot_model *m = build->user;
	return m->progress(m->progress_user, now->stage, now->done, now->count);
}

/* Begins a call: what the last one left is gone, and numbers are read and written as "C" has them, by this thread and
 * libtcc on it, until the call ends. */
static void begin(struct ingot_model *m)
{
	m->build.code = EXIT_RIGHT;
	m->build.user = m;
	m->build.told = m->progress ? tell_progress : NULL;
	*m->build.message = *m->build.detail = 0;
	m->callers = uselocale(m->plain);
}

static enum ingot_model_status end(struct ingot_model *m)
{
	uselocale(m->callers);
	return (enum ingot_model_status)m->build.code;
}

static enum ingot_model_status refuse(struct ingot_model *m, const char *message)
{
	begin(m);
	m->build.code = EXIT_USAGE;
	strncpy(m->build.message, message, sizeof m->build.message - 1);
	return end(m);
}

/* ---- ports ---- */
static void describe_tensor(struct port *port, const struct tensor *tensor)
{
	port->tensor.name = tensor->name;
	port->tensor.type = (int)tensor->type;
	port->tensor.rank = tensor->rank < 0 ? 0 : tensor->rank;
	port->tensor.strings = tensor->is_utf8;
	FOR (d, port->tensor.rank)
		port->tensor.dims[d] = tensor->dims[d].extent < 0 ? -1 : tensor->dims[d].extent;
}

static void describe(struct ingot_model *m)
{
	const struct graph *graph = m->model->graph;
	m->inputs.count = m->outputs.count = 0;
	FOR_ALL (i, graph->inputs) {
		struct port port = { 0 };
		describe_tensor(&port, graph->inputs.at[i]);
		push(m->build.arena, &m->inputs, port);
	}
	FOR_ALL (i, graph->outputs) {
		struct port port = { 0 };
		describe_tensor(&port, graph->outputs.at[i]);
		push(m->build.arena, &m->outputs, port);
	}
}

static void fix(struct port *port, const struct definition *d, const char *name)
{
	const struct shown shown = definition_shown(d);
	port->tensor = (struct ingot_tensor){ .name = name,
		.type = (int)shown.type,
		.rank = shown.rank,
		.strings = port->tensor.strings,
		.bytes = dtype_bytes(d->type, (size_t)definition_elements(d)) };
	FOR (v, shown.rank)
		port->tensor.dims[v] = shown.extents[v];
}

static void fix_ports(struct ingot_model *m)
{
	const struct program *program = m->model->program;
	FOR_ALL (i, m->inputs)
		fix(&m->inputs.at[i], program->inputs.at[i], m->model->input_names[i]);
	while (m->outputs.count < program->outputs.count) /* behind the graph's own: extents that data decide */
		push(m->build.arena, &m->outputs, (struct port){ 0 });
	FOR_ALL (i, m->outputs) {
		struct port *port = &m->outputs.at[i];
		fix(port, program->outputs.at[i], m->model->output_names[i]);
		port->output = port->own = arena_alloc(m->build.arena, port->tensor.bytes + 64);
	}
}

/* ---- opening ---- */
static enum ingot_model_status open_model(struct ingot_model **out, const char *name, const void *bytes, size_t count)
{
	struct ingot_model *m = *out = calloc(1, sizeof *m);
	if (!m)
		return INGOT_MODEL_LIMIT;
	build_init(&m->build);
	if (m->build.code)
		return (enum ingot_model_status)m->build.code;
	m->plain = newlocale(LC_ALL_MASK, "C", NULL);
	begin(m);
	if (BUILD_TRY(&m->build)) {
		if (!m->plain)
			fail(&m->build, EXIT_LIMIT, NULL, "out of memory");
		m->options.model = arena_copy(m->build.arena, name, strlen(name));
		target_native_check(&m->build);
		m->options.target = target_native();
		m->options.threads = 1;
		m->model = bytes ? model_read_memory(&m->build, &m->options, bytes, count)
		                 : model_read(&m->build, &m->options);
		describe(m);
		m->stage = STAGE_OPEN;
	}
	return end(m);
}

enum ingot_model_status ingot_open(struct ingot_model **model, const char *path)
{
	return open_model(model, path, NULL, 0);
}

enum ingot_model_status ingot_open_memory(struct ingot_model **model, const void *bytes, size_t count, const char *name)
{
	return open_model(model, name, bytes ? bytes : "", bytes ? count : 0);
}

enum ingot_model_status ingot_set_dim(struct ingot_model *m, const char *name, int64_t extent)
{
	if (m->stage != STAGE_OPEN)
		return refuse(
		        m, m->stage == STAGE_CLOSED ? "the model is not open" : "dims are bound before ingot_compile");
	if (extent < 0)
		return refuse(m, "an extent is 0 or more");
	begin(m);
	if (BUILD_TRY(&m->build)) {
		struct binding binding = { name_is(m->build.names, arena_copy(m->build.arena, name, strlen(name))),
			extent, extent, false };
		pass_bind(m->model->graph, &binding, 1);
		describe(m);
	}
	return end(m);
}

const char *ingot_dim_name(struct ingot_model *m, size_t i, int axis)
{
	const struct ingot_tensor *tensor = ingot_input(m, i);
	const char *name = NULL;
	if (!tensor || axis < 0 || axis >= tensor->rank || tensor->dims[axis] >= 0 || m->stage != STAGE_OPEN)
		return NULL;
	begin(m);
	if (BUILD_TRY(&m->build))
		name = name_of_dim(&m->build, m->model->graph->inputs.at[i], axis);
	return end(m) ? NULL : name;
}

enum ingot_model_status ingot_set_elements(struct ingot_model *m, const char *name, const char *holds)
{
	if (m->stage != STAGE_OPEN)
		return refuse(m,
		        m->stage == STAGE_CLOSED ? "the model is not open" : "elements are said before ingot_compile");
	begin(m);
	if (BUILD_TRY(&m->build)) {
		struct holding holding = holding_parse(&m->build, arena_printf(m->build.arena, "%s=%s", name, holds));
		pass_holdings(m->model->graph, &holding, 1, false);
		describe(m);
	}
	return end(m);
}

enum ingot_model_status ingot_set_value(struct ingot_model *m, const char *name, const char *values)
{
	if (m->stage != STAGE_OPEN)
		return refuse(
		        m, m->stage == STAGE_CLOSED ? "the model is not open" : "values are said before ingot_compile");
	begin(m);
	if (BUILD_TRY(&m->build)) {
		struct saying saying = saying_parse(&m->build, arena_printf(m->build.arena, "%s=%s", name, values));
		pass_values(m->model->graph, &saying, 1, false);
		describe(m);
	}
	return end(m);
}

/* Which words option `name` takes; "" for what is no option. */
static const char *option_words(struct ingot_model *m, const char *name)
{
	const char *const *words = numerics_words(name);
	const char *text = "";
	if (!strcmp(name, "threads"))
		return arena_printf(m->build.arena, "a number, 1 to %d", THREADS_MOST);
	if (!strcmp(name, "keep-strict"))
		return "a layer's name";
	for (int i = 0; words && words[i]; i++)
		text = arena_printf(m->build.arena, "%s%s%s", text, i ? ", " : "", words[i]);
	return text;
}

static bool set_option(struct ingot_model *m, const char *name, const char *value)
{
	struct options *options = &m->options;
	int threads, end = 0;
	if (!strcmp(name, "keep-strict")) {
		push(m->build.arena, &options->strict,
		        (struct strict_layer){ arena_copy(m->build.arena, value, strlen(value)), false });
		return true;
	}
	if (strcmp(name, "threads"))
		return numerics_set(&options->numerics, name, value);
	if (strlen(value) > 3 || sscanf(value, "%d%n", &threads, &end) != 1 || value[end] || threads < 1
	        || threads > THREADS_MOST)
		return false;
	options->threads = threads;
	return true;
}

enum ingot_model_status ingot_set_option(struct ingot_model *m, const char *name, const char *value)
{
	if (m->stage != STAGE_OPEN)
		return refuse(
		        m, m->stage == STAGE_CLOSED ? "the model is not open" : "options are set before ingot_compile");
	begin(m);
	if (BUILD_TRY(&m->build) && !set_option(m, name, value)) {
		const char *words = option_words(m, name);
		if (*words)
			fail(&m->build, EXIT_USAGE, NULL, "option %s: \"%s\" is not %s%s", name, value,
			        numerics_words(name) ? "one of " : "", words);
		fail(&m->build, EXIT_USAGE, NULL, "there is no option \"%s\"", name);
	}
	return end(m);
}

void ingot_set_progress(
        struct ingot_model *m, int (*progress)(void *user, const char *stage, size_t done, size_t count), void *user)
{
	m->progress = progress;
	m->progress_user = user;
}

const char *ingot_model_numbers(const struct ingot_model *m) { return m && m->model ? m->model->numbers : NULL; }

enum ingot_model_status ingot_compile(struct ingot_model *m, enum ingot_engine engine)
{
	static const struct engine_kind *const kinds[] = {
		[INGOT_INTERPRETER] = &engine_interpreter, [INGOT_C] = &engine_c, [INGOT_JIT] = &engine_jit
	};
	if (m->stage == STAGE_CLOSED || m->stage == STAGE_COMPILED)
		return refuse(m, m->stage == STAGE_CLOSED ? "the model is not open" : "the model is compiled already");
	if ((size_t)engine >= COUNT(kinds))
		return refuse(m, "no such engine");
	begin(m);
	if (BUILD_TRY(&m->build)) {
		if (m->stage == STAGE_OPEN) {
			pass_bound(m->model->graph);
			numerics_settle(&m->options.numerics);
			m->stage = STAGE_CLOSED; /* a pass that stops half-way leaves nothing to go on from */
			model_prepare(m->model);
			model_define(m->model);
			describe(m); /* outputs that were lists are what they hold now */
			fix_ports(m);
			m->stage = STAGE_DEFINED;
		}
		m->engine = engine_open(m->model, kinds[engine]);
		m->stage = STAGE_COMPILED;
	}
	return end(m);
}

/* ---- running ---- */
size_t ingot_input_count(const struct ingot_model *m) { return m ? m->inputs.count : 0; }
size_t ingot_output_count(const struct ingot_model *m) { return m ? m->outputs.count : 0; }

const struct ingot_tensor *ingot_input(const struct ingot_model *m, size_t i)
{
	return i < ingot_input_count(m) ? &m->inputs.at[i].tensor : NULL;
}
const struct ingot_tensor *ingot_output(const struct ingot_model *m, size_t i)
{
	return i < ingot_output_count(m) ? &m->outputs.at[i].tensor : NULL;
}

enum ingot_model_status ingot_set_input(struct ingot_model *m, size_t i, const void *data)
{
	if (m->stage != STAGE_COMPILED)
		return refuse(m, "inputs are set after ingot_compile");
	if (i >= m->inputs.count)
		return refuse(m, "the model has no such input");
	begin(m);
	m->inputs.at[i].input = data;
	return end(m);
}

enum ingot_model_status ingot_set_output(struct ingot_model *m, size_t i, void *data)
{
	if (m->stage != STAGE_COMPILED)
		return refuse(m, "outputs are set after ingot_compile");
	if (i >= m->outputs.count)
		return refuse(m, "the model has no such output");
	begin(m);
	m->outputs.at[i].output = data ? data : m->outputs.at[i].own;
	m->ran = false;
	return end(m);
}

enum ingot_model_status ingot_run(struct ingot_model *m)
{
	enum { FEW = 32 };
	const void *few_inputs[FEW], **inputs = few_inputs;
	void *few_outputs[FEW], **outputs = few_outputs;
	if (m->stage != STAGE_COMPILED)
		return refuse(m, "the model is not compiled");
	FOR_ALL (i, m->inputs)
		if (!m->inputs.at[i].input)
			return refuse(m, "an input is not set");
	begin(m);
	if (m->inputs.count > FEW || m->outputs.count > FEW) {
		inputs = calloc(m->inputs.count + 1, sizeof *inputs);
		outputs = calloc(m->outputs.count + 1, sizeof *outputs);
	}
	const void **volatile used_inputs = inputs;
	void **volatile used_outputs = outputs;
	if (BUILD_TRY(&m->build)) {
		if (!used_inputs || !used_outputs)
			fail(&m->build, EXIT_LIMIT, NULL, "out of memory");
		FOR_ALL (i, m->inputs)
			used_inputs[i] = m->inputs.at[i].input;
		FOR_ALL (i, m->outputs)
			used_outputs[i] = m->outputs.at[i].output;
		engine_run(m->engine, used_inputs, used_outputs);
	}
	if (used_inputs != few_inputs) {
		free(used_inputs);
		free(used_outputs);
	}
	m->ran = !m->build.code;
	return end(m);
}

const void *ingot_result(const struct ingot_model *m, size_t i)
{
	return m && m->ran && i < m->outputs.count ? m->outputs.at[i].output : NULL;
}

enum ingot_model_status ingot_model_module(struct ingot_model *m, const struct ingot_module **module)
{
	*module = NULL;
	if (m->stage != STAGE_COMPILED)
		return refuse(m, "the model is not compiled");
	begin(m);
	if (BUILD_TRY(&m->build)) {
		if (!m->module) {
			struct emit emit = { .build = &m->build,
				.arena = m->build.arena,
				.target = m->options.target,
				.templates = model_templates(m->model),
				.name = m->model->name };
			if (!m->model->lowered)
				jit_lower(m->model);
			struct part part = model_part(m->model);
			m->module = jit_module_open(&emit,
			        &(struct package){ .parts = &part,
			                .part_count = 1,
			                .name = m->model->name,
			                .threads = 1,
			                .options = "in memory",
			                .managed = true });
		}
		*module = jit_module_descriptor(m->module);
	}
	return end(m);
}

const char *ingot_model_message(const struct ingot_model *m) { return m ? m->build.message : "out of memory"; }

void ingot_close(struct ingot_model *m)
{
	if (!m)
		return;
	if (m->build.arena && BUILD_TRY(&m->build))
		engine_close(m->engine);
	jit_module_close(m->module);
	build_release(&m->build);
	if (m->plain)
		freelocale(m->plain);
	free(m);
}
