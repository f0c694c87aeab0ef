/* run.c: ingot run: runs a model once on .npy files, or on archives of them. */
#include "cli/cli.h"
#include "base/npz.h"
#include "cli/data.h"
#include "emit/package.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file that is for that tensor alone, else the last archive. */
static const struct bound_file *file_for(const struct bound_file *files, size_t count, const char *name)
{
	const struct bound_file *archive = NULL;
	FOR (i, count)
		if (!files[i].name)
			archive = &files[i];
		else if (!strcmp(files[i].name, name))
			return &files[i];
	return archive;
}

/* … of several archives the first that holds it. */
static const struct bound_file *input_file(struct build *build, const struct cli *cli, const char *name)
{
	const struct bound_file *file = file_for(cli->inputs.at, cli->inputs.count, name);
	for (size_t i = 0; file && !file->name && i < cli->inputs.count; i++) {
		struct npz_names names =
		        cli->inputs.at[i].name ? (struct npz_names){ 0 } : npz_names(build, cli->inputs.at[i].path);
		FOR_ALL (k, names)
			if (!strcmp(names.at[k], name))
				return &cli->inputs.at[i];
	}
	return file;
}

static void check_names(struct build *build, const struct cli *cli, const char *option, const struct bound_file *files,
        size_t count, struct tensor *const *tensors, size_t tensor_count)
{
	FOR (i, count) {
		if (!files[i].name)
			continue;
		struct choices choices = choices_for(build, files[i].name);
		bool known = false;
		FOR (k, tensor_count) {
			known |= !strcmp(tensors[k]->name, files[i].name);
			choices_add(&choices, tensors[k]->name);
		}
		if (!known)
			fail(build, EXIT_USAGE, cli->options.model, "--%s: the model has no %s \"%s\"%s", option,
			        option, files[i].name, choices_text(&choices));
	}
}

static struct data data_of_files(struct build *build, const struct cli *cli, const struct graph *graph)
{
	struct data data = { .path = cli->options.model };
	check_names(build, cli, "input", cli->inputs.at, cli->inputs.count, graph->inputs.at, graph->inputs.count);
	check_names(build, cli, "output", cli->outputs.at, cli->outputs.count, graph->outputs.at, graph->outputs.count);
	for (size_t k = 0; k < graph->inputs.count; k++) {
		const struct tensor *input = graph->inputs.at[k];
		if (graph_is_size(graph, input))
			continue;
		const struct bound_file *file = input_file(build, cli, input->name);
		if (!file && !(input->form & FORM_OPTIONAL))
			fail(build, EXIT_USAGE, cli->options.model, "input \"%s\" is missing: --input %s=%s",
			        input->name, input->name,
			        input->form ? "FOLDER, which holds 0.npy, 1.npy, …" : "FILE.npy");
		struct array array = array_of_files(build, file ? file->path : NULL, input->name, input->form);
		struct tensor element = *input;
		element.form = 0;
		if (!input->form)
			data_fit(build, EXIT_USAGE, &array, input);
		FOR_ALL (k, array)
			data_fit(build, EXIT_USAGE, &array.elements[k], &element);
		push(build->arena, &data.inputs, array);
	}
	return data;
}

/* ---- what came out ---- */
/* Output i of the program is that of the graph; behind those are extents. */
static bool is_strings(const struct model *model, size_t i)
{
	return i < model->graph->outputs.count && model->graph->outputs.at[i]->is_utf8;
}

static const struct tensor *keys_of(const struct model *model, size_t i)
{
	return i < model->graph->outputs.count ? model->graph->outputs.at[i]->keys : NULL;
}

/* NumPy has a byte for each element below 8 bits, signed ones with their sign, as ml_dtypes does. */
static struct npz_array array_for_file(const struct model *model, size_t i, const struct shown *d, const void *data)
{
	struct build *build = model->build;
	int64_t *extents = arena_new_array(build->arena, int64_t, MAX_RANK);
	memcpy(extents, d->extents, sizeof d->extents);
	struct npz_array array = { model->output_names[i], d->type, d->rank, extents, data };
	int64_t count = shown_elements(d);
	if (is_strings(model, i)) {
		array.type = DTYPE_STRING;
		array.rank--;
		return array;
	}
	if (dtypes[d->type].bits >= 8)
		return array;
	uint8_t *bytes = arena_alloc(build->arena, (size_t)count + 1);
	FOR (e, count)
		bytes[e] =
		        (uint8_t)(dtypes[d->type].class == CLASS_INT ? (int)data_element(d->type, data, e)
		                                                     : (int)data_packed(data, e, dtypes[d->type].bits));
	array.data = bytes;
	return array;
}

/* All that goes into one archive goes there at once. */
static void write_archive(const struct cli *cli, const struct model *model, void *const *outputs, const char *path)
{
	struct build *build = model->build;
	VECTOR(struct npz_array) arrays = { 0 };
	FOR_ALL (k, model->program->outputs) {
		const struct definition made = definition_actual(model->program, k, outputs);
		const struct shown d = definition_shown(&made);
		bool in = false;
		FOR_ALL (i, cli->outputs)
			in |= !strcmp(cli->outputs.at[i].path, path)
			        && (!cli->outputs.at[i].name
			                || !strcmp(cli->outputs.at[i].name, model->output_names[k]));
		if (in)
			push(build->arena, &arrays, array_for_file(model, k, &d, outputs[k]));
	}
	npz_write(build, path, arrays.at, arrays.count);
}

static void write_output(const struct model *model, void *const *outputs, const char *name, const char *path)
{
	FOR_ALL (k, model->program->outputs) {
		if (strcmp(model->output_names[k], name))
			continue;
		const struct definition made = definition_actual(model->program, k, outputs);
		const struct shown d = definition_shown(&made);
		const struct npz_array array = array_for_file(model, k, &d, outputs[k]);
		npy_write(model->build, path, array.type, array.rank, array.extents, array.data);
	}
}

/* A folder of 0.npy, 1.npy, … and none that an earlier run left behind them. */
static void write_sequence(const struct model *model, void *const *outputs, const struct list *list, const char *path)
{
	struct build *build = model->build;
	if (!strcmp(path, "-"))
		fail(build, EXIT_USAGE, NULL, "--output NAME=-: a sequence is a folder, which standard output is not");
	if (mkdir(path, 0777) && errno != EEXIST)
		fail(build, EXIT_ENVIRONMENT, path, "cannot be made: %s", strerror(errno));
	FOR (i, list->count)
		write_output(model, outputs, list->at[i]->name, arena_printf(build->arena, "%s/%zu.npy", path, i));
	for (size_t i = list->count; !unlink(arena_printf(build->arena, "%s/%zu.npy", path, i)); i++)
		;
}

static void write_outputs(const struct cli *cli, const struct model *model, void *const *outputs)
{
	const struct graph *graph = model->graph;
	FOR_ALL (i, cli->outputs) {
		const struct bound_file *file = &cli->outputs.at[i];
		size_t k = 0;
		while (k < i && strcmp(cli->outputs.at[k].path, file->path))
			k++;
		if (npz_is(file->path)) {
			if (k == i)
				write_archive(cli, model, outputs, file->path);
			continue;
		}
		const struct tensor *whole = NULL;
		for (k = 0; k < graph->whole_outputs.count; k++)
			if (!strcmp(graph->whole_outputs.at[k].name, file->name))
				whole = graph->whole_outputs.at[k].tensor;
		if (whole && whole->list && (whole->form & FORM_SEQUENCE) && !whole->list->nothing)
			write_sequence(model, outputs, whole->list, file->path);
		else
			write_output(model, outputs, file->name, file->path);
	}
}

/* Element e of strings. */
static const char *string_of(struct build *build, const struct shown *d, const void *data, int64_t e)
{
	size_t width = (size_t)d->extents[d->rank - 1];
	const char *at = (const char *)data + (size_t)e * width;
	return arena_copy(build->arena, at, string_length(at, width));
}

/* Element e, of strings or of numbers, as JSON has it: what JSON has no number for (nan, inf, more than its 63 bits) is
 * a string. */
static json_t *element_json(struct build *build, const struct shown *d, bool strings, const void *data, int64_t e)
{
	if (strings)
		return string_json(build->arena, string_of(build, d, data, e));
	double number = dtypes[d->type].class == CLASS_FLOAT ? data_element(d->type, data, e) : NAN;
	const char *text = data_element_text(build, d->type, data, e);
	json_t *value = isfinite(number) ? json_real(number) : json_loads(text, JSON_DECODE_ANY, NULL);
	return value ? value : json_string(text);
}

/* How many it has, the bytes of a string being one. */
static int64_t elements_of(const struct shown *d, bool strings)
{
	struct shown whole = *d;
	whole.rank -= strings;
	return shown_elements(&whole);
}

static void print_keys(struct build *build, const struct tensor *keys)
{
	enum { SHOWN = 8 };
	printf(" of");
	for (int64_t i = 0; i < keys->dims[0].extent && i < SHOWN; i++)
		if (keys->strings)
			printf(" \"%s\"", text_clean(build->arena, keys->strings[i]));
		else
			printf(" %lld", (long long)tensor_int(keys, (size_t)i));
	printf("%s", keys->dims[0].extent > SHOWN ? " …" : "");
}

static void print_output(const struct model *model, size_t i, void *const *outputs)
{
	enum { SHOWN = 8 };
	struct build *build = model->build;
	const void *data = outputs[i];
	const struct definition made = definition_actual(model->program, i, outputs);
	const struct shown d = definition_shown(&made);
	bool strings = is_strings(model, i);
	struct tensor shape = { .type = strings ? DTYPE_STRING : d.type, .rank = d.rank - strings };
	FOR (k, shape.rank)
		shape.dims[k].extent = d.extents[k];
	int64_t count = elements_of(&d, strings);
	printf("%s %s", text_clean(build->arena, model->output_names[i]), type_of_tensor(build, &shape));
	if (keys_of(model, i))
		print_keys(build, keys_of(model, i));
	printf(":");
	for (int64_t e = 0; e < count && e < SHOWN; e++)
		if (strings)
			printf(" \"%s\"", text_clean(build->arena, string_of(build, &d, data, e)));
		else
			printf(" %s", data_element_text(build, d.type, data, e));
	printf("%s\n", count > SHOWN ? " …" : "");
}

static json_t *values_json(struct build *build, const struct shown *d, bool strings, const void *data)
{
	json_t *list = json_array();
	FOR (e, elements_of(d, strings))
		json_array_append_new(list, element_json(build, d, strings, data, e));
	return list;
}

static json_t *outputs_json(const struct cli *cli, const struct model *model, void *const *data)
{
	json_t *list = json_array();
	FOR_ALL (i, model->program->outputs) {
		const struct definition made = definition_actual(model->program, i, data);
		const struct shown d = definition_shown(&made);
		const struct bound_file *file = file_for(cli->outputs.at, cli->outputs.count, model->output_names[i]);
		json_t *dims = json_array();
		bool strings = is_strings(model, i);
		FOR (k, d.rank - strings)
			json_array_append_new(dims, json_integer(d.extents[k]));
		json_t *one =
		        json_pack("{s:s,s:s,s:o}", "name", text_clean(model->build->arena, model->output_names[i]),
		                "type", dtypes[strings ? DTYPE_STRING : d.type].text, "dims", dims);
		if (keys_of(model, i))
			json_object_set_new(one, "keys", keys_json(model->build->arena, keys_of(model, i)));
		if (file)
			json_object_set_new(one, "file", json_string(text_clean(model->build->arena, file->path)));
		else
			json_object_set_new(one, "values", values_json(model->build, &d, strings, data[i]));
		json_array_append_new(list, one);
	}
	return list;
}

/* Of outputs that are sequences or optionals: the names of what they hold; null where that is nothing. */
static json_t *lists_json(const struct graph *graph)
{
	json_t *lists = json_object();
	FOR_ALL (i, graph->whole_outputs) {
		const struct list *list = graph->whole_outputs.at[i].tensor->list;
		if (!list)
			continue;
		json_t *names = list->nothing ? json_null() : json_array();
		FOR (k, list->count)
			json_array_append_new(names, json_string(text_clean(graph->build->arena, list->at[k]->name)));
		json_object_set_new(lists, text_clean(graph->build->arena, graph->whole_outputs.at[i].name), names);
	}
	return lists;
}

static void report(
        const struct cli *cli, const struct engine_kind *kind, const struct model *model, void *const *outputs)
{
	const struct graph *graph = model->graph;
	if (!cli->flags.json) {
		data_held_print(graph);
		FOR_ALL (i, model->program->outputs)
			print_output(model, i, outputs);
		FOR_ALL (i, graph->whole_outputs) {
			const struct tensor *whole = graph->whole_outputs.at[i].tensor;
			if (whole->list && !whole->list->count)
				printf("%s %s: %s\n", text_clean(model->build->arena, graph->whole_outputs.at[i].name),
				        type_of_tensor(model->build, whole), whole->list->nothing ? "none" : "empty");
		}
		return;
	}
	json_t *report = json_pack(
	        "{s:s,s:[],s:o}", "target", kind->name, "kernels", "outputs", outputs_json(cli, model, outputs));
	for (size_t k = 0; model->lowered && k < model->lowered->kernels.count; k++)
		json_array_append_new(
		        json_object_get(report, "kernels"), json_string(model->lowered->kernels.at[k]->name));
	if (graph->fixed.count)
		json_object_set_new(report, "values", data_held_json(graph));
	if (graph->whole_outputs.count)
		json_object_set_new(report, "lists", lists_json(graph));
	cli_print_json(report, stdout);
}

static struct model *compiled(struct cli *cli, bool hold, void *user)
{
	struct model *model = model_read(cli->build, &cli->options);
	struct data_sets sets = { 0 };
	struct data data;
	data_says(model->graph);
	data = data_of_files(cli->build, cli, model->graph);
	data_bind(model->graph, &data, true);
	push(cli->build->arena, &sets.all, data);
	if (hold)
		data_hold(model->graph, &sets);
	model_prepare(model);
	model_define(model);
	*(struct data *)user = data;
	return model;
}

struct arrays {
	const void **inputs;
	void **outputs;
};

/* One array alone can be standard output, and nothing else then. */
static bool check_standard(const struct cli *cli)
{
	int count = 0;
	FOR_ALL (i, cli->outputs)
		count += !strcmp(cli->outputs.at[i].path, "-");
	if (count > 1 || (count && cli->flags.json))
		fail(cli->build, EXIT_USAGE, NULL, "--output NAME=-: standard output takes one array%s",
		        cli->flags.json ? ", and goes without --json" : "");
	return count > 0;
}

static void run_once(struct engine *engine, void *user)
{
	const struct arrays *arrays = user;
	progress(engine->model->build, "run", 0, 0, 0);
	engine_run(engine, arrays->inputs, arrays->outputs);
}

static void run_on(struct cli *cli, const struct engine_kind *kind)
{
	struct build *build = cli->build;
	bool as_double = cli_as_double(cli, kind), standard = check_standard(cli);
	struct data data;
	struct model *model = data_compile(cli, compiled, &data);
	const struct program *program = model->program;
	const void **inputs = arena_new_array(build->arena, const void *, program->inputs.count + 1);
	void **outputs = arena_new_array(build->arena, void *, program->outputs.count + 1);
	FOR_ALL (i, program->inputs)
		inputs[i] = data.inputs.at[i].data;
	FOR_ALL (i, program->outputs)
		outputs[i] = arena_alloc(build->arena,
		        dtype_bytes(program->outputs.at[i]->type, (size_t)definition_elements(program->outputs.at[i]))
		                + 64);
	if (as_double)
		interpret(program, MATH_DOUBLE, inputs, outputs);
	else
		engine_with(model, kind, run_once, &(struct arrays){ inputs, outputs });
	write_outputs(cli, model, outputs);
	if (!standard)
		report(cli, kind, model, outputs);
}

static void run(struct cli *cli) { run_on(cli, cli_engine(cli)); }

const struct command command_run = { "run", "MODEL", "run a model at once on .npy or .npz files",
	"--target interpreter, c (default), jit, cuda or cuda-emulated: just that one, no other in its stead.\n"
	"- is standard input, as the model or as an array, and standard output as an array.\n"
	"A sequence is a folder of 0.npy, 1.npy, ... (in an archive: x_0, x_1, ...), read and written; an optional "
	"that is not given is none.",
	IN_RUN, 1, 1, run };
