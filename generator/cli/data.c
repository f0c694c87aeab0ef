/* data.c: reads a test's data and compares outputs with it. */
#include "cli/data.h"
#include "base/npz.h"
#include "definitions/narrow.h"
#include "frontends/frontends.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_there(const char *path) { return access(path, F_OK) == 0; }

/* "float64 [1,16]", as people who come from NumPy say it */
static const char *tensor_text(struct build *build, enum dtype type, const struct tensor *shape)
{
	const char *dims = shape->rank > 0 ? strchr(type_of_tensor(build, shape), '[')
	        : shape->rank              ? "of any shape"
	                                   : "[]";
	return arena_printf(build->arena, "%s %s",
	        type == DTYPE_NONE             ? "items"
	                : type == DTYPE_STRING ? "str"
	                                       : dtype_numpy(type),
	        dims);
}

struct array array_of_npy(struct build *build, const char *path, const char *name)
{
	struct npy npy = npz_is(path) ? npz_read(build, path, name) : npy_read(build, path);
	struct array array = { .name = name,
		.path = path,
		.type = npy.type,
		.item = npy.type == DTYPE_STRING ? npy.width : npy.item,
		.rank = npy.rank,
		.data = npy.data,
		.bytes = npy.bytes,
		.atol = -1 };
	memcpy(array.extents, npy.extents, sizeof *npy.extents * (size_t)npy.rank);
	return array;
}

/* ---- sequences and optionals ---- */
static bool has_name(const struct npz_names *names, const char *name)
{
	FOR (i, names->count)
		if (!strcmp(names->at[i], name))
			return true;
	return false;
}

struct array array_of_files(struct build *build, const char *path, const char *name, int form)
{
	struct arena *arena = build->arena;
	struct array list = { .name = name, .path = path, .form = form, .atol = -1 };
	VECTOR(struct array) elements = { 0 };
	struct stat info;
	if (!form)
		return array_of_npy(build, path, name);
	bool archive = path && npz_is(path);
	const struct npz_names names = archive ? npz_names(build, path) : (struct npz_names){ 0 };
	list.nothing = !path || (archive && form == FORM_OPTIONAL && !has_name(&names, name));
	if (list.nothing)
		return list;
	if (!(form & FORM_SEQUENCE)) {
		list.count = 1;
		list.elements = arena_new(arena, struct array);
		*list.elements = array_of_npy(build, path, name);
		return list;
	}
	if (!archive && (stat(path, &info) || !S_ISDIR(info.st_mode)))
		fail(build, EXIT_USAGE, path, "is not a folder: a sequence is a folder of 0.npy, 1.npy, …");
	for (size_t i = 0; i <= LIST_MOST; i++) {
		const char *member = arena_printf(arena, "%s_%zu", name, i),
		           *file = archive ? path : arena_printf(arena, "%s/%zu.npy", path, i);
		if (archive ? !has_name(&names, member) : !is_there(file))
			break;
		push(arena, &elements, array_of_npy(build, file, member));
	}
	list.count = elements.count;
	list.elements = elements.at;
	return list;
}

void data_says(const struct graph *graph)
{
	FOR_ALL (i, graph->whole_inputs)
		if (graph->whole_inputs.at[i].tensor->list)
			fail(graph->build, EXIT_USAGE, graph->file,
			        "--elements %.100s: what an input holds is said by its data",
			        graph->whole_inputs.at[i].name);
}

/* Of input or output i, before lists give way to what they hold. */
static int input_form(const struct graph *graph, size_t i)
{
	return i < graph->inputs.count ? graph->inputs.at[i]->form : 0;
}
static int output_form(const struct graph *graph, size_t i)
{
	return i < graph->outputs.count ? graph->outputs.at[i]->form : 0;
}

static void read_list(struct build *build, const char *directory, json_t *io, const char *key,
        const struct graph *graph, struct data *data)
{
	size_t i;
	json_t *one, *list = json_object_get(io, key);
	bool inputs = !strcmp(key, "inputs");
	json_array_foreach(list, i, one)
	{
		const char *file = json_string_value(json_object_get(one, "file")),
		           *name = json_string_value(json_object_get(one, "name"));
		json_t *atol = json_object_get(one, "atol");
		int form = inputs ? input_form(graph, i) : output_form(graph, i);
		bool nothing = (form & FORM_OPTIONAL) && json_is_null(json_object_get(one, "file"));
		if ((!file && !nothing) || !name)
			fail(build, EXIT_USAGE, directory, "io.json: %s %zu lacks \"name\" or \"file\"", key, i);
		struct array array =
		        array_of_files(build, nothing ? NULL : arena_printf(build->arena, "%s/%s", directory, file),
		                arena_copy(build->arena, name, strlen(name)), form);
		array.atol = json_is_number(atol) ? json_number_value(atol) : -1;
		FOR_ALL (k, array)
			array.elements[k].atol = array.atol;
		if (inputs)
			push(build->arena, &data->inputs, array);
		else
			push(build->arena, &data->outputs, array);
	}
}

static struct data read_npy_folder(struct build *build, const char *directory, const struct graph *graph)
{
	struct data data = { .path = directory };
	json_error_t error;
	json_t *io = json_load_file(arena_printf(build->arena, "%s/io.json", directory), 0, &error);
	if (!io)
		fail(build, EXIT_USAGE, directory, "io.json: %s", error.text);
	jmp_buf *out = build->out, mine;
	build->out = &mine;
	if (setjmp(mine) == 0) {
		read_list(build, directory, io, "inputs", graph, &data);
		read_list(build, directory, io, "outputs", graph, &data);
	}
	build->out = out;
	json_decref(io);
	if (build->code)
		longjmp(*out, 1);
	return data;
}

enum { ALIGNED = 16 }; /* of any element, and as the arena gives */

/* Strings as data of other files have them: one beside the other, as wide as the longest. */
static void array_of_strings(struct build *build, struct array *array, const struct tensor *t)
{
	size_t count = (size_t)tensor_elements(build, t), width = 1;
	FOR (i, count)
		width = strlen(t->strings[i]) > width ? strlen(t->strings[i]) : width;
	char *data = arena_array(build->arena, count + 1, width);
	FOR (i, count)
		memcpy(data + i * width, t->strings[i], strlen(t->strings[i]));
	array->data = data;
	array->item = width;
	array->bytes = count * width;
}

static struct array array_of_tensor(struct build *build, const char *path, const struct tensor *t)
{
	struct array array = { .name = t->name,
		.path = path,
		.type = t->type,
		.rank = t->rank,
		.data = t->data,
		.bytes = t->bytes,
		.atol = -1,
		.form = t->form };
	if (t->type == DTYPE_STRING && !t->form)
		array_of_strings(build, &array, t);
	else if ((uintptr_t)t->data % ALIGNED) /* in a file's bytes it stands anywhere */
		array.data = memcpy(arena_array(build->arena, t->bytes + 1, 1), t->data, t->bytes);
	FOR (d, t->rank)
		array.extents[d] = t->dims[d].extent;
	if (t->form) {
		array.nothing = t->list->nothing;
		array.count = t->list->count;
		array.elements = arena_new_array(build->arena, struct array, array.count + 1);
		FOR_ALL (i, array)
			array.elements[i] = array_of_tensor(build, path, t->list->at[i]);
	}
	return array;
}

static struct array array_of_proto(struct build *build, const char *path, int form)
{
	return array_of_tensor(build, path, value_read_proto(build, path, form));
}

static struct data read_proto_folder(struct build *build, const char *directory, const struct graph *graph)
{
	struct data data = { .path = directory, .backend = true };
	for (int i = 0;; i++) {
		const char *path = arena_printf(build->arena, "%s/input_%d.pb", directory, i);
		if (!is_there(path))
			break;
		push(build->arena, &data.inputs, array_of_proto(build, path, input_form(graph, (size_t)i)));
	}
	for (int i = 0;; i++) {
		const char *path = arena_printf(build->arena, "%s/output_%d.pb", directory, i);
		if (!is_there(path))
			break;
		push(build->arena, &data.outputs, array_of_proto(build, path, output_form(graph, (size_t)i)));
	}
	if (!data.outputs.count)
		fail(build, EXIT_USAGE, directory, "holds no output_0.pb");
	return data;
}

/* One archive: inputs and outputs by their names in the model. */
static struct data read_archive(struct build *build, const char *path, const struct graph *graph)
{
	struct data data = { .path = path };
	FOR_ALL (i, graph->inputs)
		if (!graph_is_size(graph, graph->inputs.at[i]))
			push(build->arena, &data.inputs,
			        array_of_files(build, path, graph->inputs.at[i]->name, graph->inputs.at[i]->form));
	FOR_ALL (i, graph->outputs)
		push(build->arena, &data.outputs,
		        array_of_files(build, path, graph->outputs.at[i]->name, graph->outputs.at[i]->form));
	return data;
}

struct data_sets *data_read(struct build *build, const char *directory, const struct graph *graph)
{
	struct data_sets *sets = arena_new(build->arena, struct data_sets);
	struct stat info;
	if (npz_is(directory)) {
		push(build->arena, &sets->all, read_archive(build, directory, graph));
		return sets;
	}
	if (stat(directory, &info) || !S_ISDIR(info.st_mode))
		fail(build, EXIT_USAGE, directory, "is not a folder");
	if (is_there(arena_printf(build->arena, "%s/io.json", directory)))
		push(build->arena, &sets->all, read_npy_folder(build, directory, graph));
	else if (is_there(arena_printf(build->arena, "%s/output_0.pb", directory)))
		push(build->arena, &sets->all, read_proto_folder(build, directory, graph));
	else
		for (int i = 0;; i++) {
			const char *path = arena_printf(build->arena, "%s/test_data_set_%d", directory, i);
			if (!is_there(path))
				break;
			push(build->arena, &sets->all, read_proto_folder(build, path, graph));
		}
	if (!sets->all.count)
		fail(build, EXIT_USAGE, directory, "holds neither io.json nor output_0.pb nor test_data_set_0");
	return sets;
}

static const char *array_text(struct build *build, const struct array *array)
{
	struct tensor shape = { .type = DTYPE_NONE, .rank = array->rank };
	FOR (d, array->rank)
		shape.dims[d].extent = array->extents[d];
	return tensor_text(build, array->type, &shape);
}

/* NumPy's byte for each element below 8 bits. */
static void pack(struct build *build, struct array *array, int bits)
{
	const uint8_t *from = array->data;
	uint8_t *to = arena_array(build->arena, (array->bytes * (size_t)bits + 7) / 8 + 1, 1);
	FOR (i, array->bytes)
		for (size_t b = 0, at = i * (size_t)bits; b < (size_t)bits; b++)
			to[(at + b) / 8] |= (uint8_t)((from[i] >> b & 1u) << ((at + b) % 8));
	array->data = to;
	array->bytes = (array->bytes * (size_t)bits + 7) / 8;
}

/* Of an input that is strings: their bytes, as wide as the input has them, where it says so. */
static void fit_strings(struct build *build, struct array *array, const struct tensor *input)
{
	if (!input->is_utf8 || array->type != DTYPE_STRING || array->rank == MAX_RANK || array->form)
		return;
	size_t width = array->item, count = width ? array->bytes / width : 0;
	int64_t wide = input->rank > 0 ? input->dims[input->rank - 1].extent : -1;
	if (wide >= 0 && (size_t)wide != width) {
		char *data = arena_array(build->arena, count + 1, (size_t)wide + 1);
		FOR (i, count) {
			const char *from = (const char *)array->data + i * width;
			size_t length = string_length(from, width);
			if (length > (size_t)wide)
				fail(build, EXIT_USAGE, array->path,
				        "string %zu has %zu bytes, the model is compiled for %lld; --dim %s_bytes=%zu",
				        i, length, (long long)wide, input->name, length);
			memcpy(data + i * (size_t)wide, from, length);
		}
		array->data = data;
		width = (size_t)wide;
	}
	array->extents[array->rank++] = (int64_t)width;
	array->type = DTYPE_U8;
	array->bytes = count * width;
}

void data_fit(struct build *build, enum exit_code code, struct array *array, const struct tensor *input)
{
	fit_strings(build, array, input);
	const struct dtype_row *row = &dtypes[input->type];
	bool raw = array->type == DTYPE_NONE && !*row->numpy && row->bits && (size_t)(row->bits + 7) / 8 == array->item;
	if (raw && row->bits < 8)
		pack(build, array, row->bits);
	array->type = raw ? input->type : array->type; /* NumPy has no word for it */
	bool same = array->type == input->type && (input->rank < 0 || array->rank == input->rank);
	for (int d = 0; same && d < array->rank && input->rank >= 0; d++)
		same = input->dims[d].extent < 0 || array->extents[d] == input->dims[d].extent
		        || (input->dims[d].count && array->extents[d] < input->dims[d].extent);
	const struct tensor told = tensor_told(input);
	if (!same)
		fail(build, code, NULL, "%.300s holds %s, %.200s is %s", array->path, array_text(build, array),
		        input->name, tensor_text(build, told.type, &told));
}

static const char *holding_text(struct build *build, bool nothing, size_t count)
{
	return nothing ? "nothing" : arena_printf(build->arena, "%zu tensor%s", count, count == 1 ? "" : "s");
}

/* How many there are of a symbol, as the data of the inputs that have it say. */
static struct array size_of(const struct graph *graph, const struct data *data, const struct tensor *size)
{
	struct build *build = graph->build;
	int64_t *count = arena_new(build->arena, int64_t);
	const struct tensor *said = NULL;
	for (size_t i = 0; i < graph->inputs.count && i < data->inputs.count; i++)
		for (int d = 0; d < graph->inputs.at[i]->rank && d < data->inputs.at[i].rank; d++) {
			if (graph->inputs.at[i]->dims[d].count != size)
				continue;
			if (said && *count != data->inputs.at[i].extents[d])
				fail(build, EXIT_USAGE, data->path,
				        "dim %d of input %.60s is %lld, but %s is %lld in input %.60s", d,
				        graph->inputs.at[i]->name, (long long)data->inputs.at[i].extents[d], size->name,
				        (long long)*count, said->name);
			*count = data->inputs.at[i].extents[d];
			said = graph->inputs.at[i];
		}
	return (struct array){ .name = size->name,
		.path = data->path,
		.type = DTYPE_I64,
		.data = count,
		.bytes = sizeof *count,
		.atol = -1 };
}

void data_bind(struct graph *graph, struct data *data, bool first)
{
	struct build *build = graph->build;
	__typeof__(data->inputs) arrays = { 0 };
	VECTOR(struct tensor *) wholes = { 0 };
	FOR_ALL (i, graph->whole_inputs)
		push(build->arena, &wholes, graph->whole_inputs.at[i].tensor);
	for (size_t i = 0, only = !wholes.count; only && i < graph->inputs.count; i++)
		if (!graph_is_size(graph, graph->inputs.at[i]))
			push(build->arena, &wholes, graph->inputs.at[i]);
	for (size_t i = 0; i < wholes.count && i < data->inputs.count; i++) {
		struct array *array = &data->inputs.at[i];
		struct tensor *input = wholes.at[i];
		if (!input->form) {
			fit_strings(build, array, input);
			if (first)
				pass_bind_input(graph, input, array->rank, array->extents);
			push(build->arena, &arrays, *array);
			continue;
		}
		if (!input->list)
			pass_whole_input(graph, input, array->count, array->nothing);
		if (input->list->count != array->count || input->list->nothing != array->nothing)
			fail(build, EXIT_DIFFERENT, data->path, "input %zu holds %s, but the model is compiled for %s",
			        i, holding_text(build, array->nothing, array->count),
			        holding_text(build, input->list->nothing, input->list->count));
		FOR (k, array->count) {
			if (first)
				pass_bind_input(
				        graph, input->list->at[k], array->elements[k].rank, array->elements[k].extents);
			push(build->arena, &arrays, array->elements[k]);
		}
	}
	for (size_t i = wholes.count; i < data->inputs.count; i++)
		push(build->arena, &arrays, data->inputs.at[i]); /* too many: who runs the model says so */
	data->inputs = arrays;
	FOR_ALL (i, graph->sizes)
		push(build->arena, &data->inputs, size_of(graph, data, graph->sizes.at[i].size));
}

void data_say(struct graph *graph, const struct data *data)
{
	for (size_t i = 0; i < graph->outputs.count && i < data->outputs.count; i++) {
		const struct array *array = &data->outputs.at[i];
		struct tensor *shapes = arena_new_array(graph->build->arena, struct tensor, array->count + 1);
		FOR (k, array->count)
			for (shapes[k].rank = 0; shapes[k].rank < array->elements[k].rank; shapes[k].rank++)
				shapes[k].dims[shapes[k].rank].extent = array->elements[k].extents[shapes[k].rank];
		if (array->form == FORM_SEQUENCE && !graph->outputs.at[i]->said)
			pass_say_output(graph, graph->outputs.at[i], array->count, shapes);
	}
}

void data_expect(const struct graph *graph, struct data *data)
{
	struct build *build = graph->build;
	__typeof__(data->outputs) arrays = { 0 };
	FOR_ALL (i, data->outputs) {
		struct array *array = &data->outputs.at[i];
		const struct whole *whole = i < graph->whole_outputs.count ? &graph->whole_outputs.at[i] : NULL;
		if (!array->form) {
			push(build->arena, &arrays, *array);
			continue;
		}
		const struct list *list = whole ? whole->tensor->list : NULL;
		if (!list || list->count != array->count || list->nothing != array->nothing)
			fail(build, EXIT_DIFFERENT, data->path, "output %.60s should hold %s, it holds %s",
			        whole ? whole->name : array->name, holding_text(build, array->nothing, array->count),
			        holding_text(build, !list || list->nothing, list ? list->count : 0));
		FOR (k, array->count)
			push(build->arena, &arrays, array->elements[k]);
	}
	data->outputs = arrays;
}

/* ---- values that decide what the model is ---- */
enum { HELD_MOST = 64 }; /* elements: of shapes, axes, counts and conditions, not of data */

void data_hold(struct graph *graph, const struct data_sets *sets)
{
	const struct data *first = &sets->all.at[0];
	for (size_t i = 0; i < graph->inputs.count && i < first->inputs.count; i++) {
		struct tensor *input = graph->inputs.at[i];
		int64_t values[HELD_MOST], count = 1;
		const struct array *array = &first->inputs.at[i];
		bool small = tensor_can_be_held(input) && !graph_is_size(graph, input) && array->type == input->type
		        && array->rank == input->rank && array->rank <= 1;
		if (small && array->rank)
			count = array->extents[0];
		small &= count <= HELD_MOST;
		for (size_t k = 0; k < sets->all.count && small; k++) {
			const struct array *other =
			        i < sets->all.at[k].inputs.count ? &sets->all.at[k].inputs.at[i] : array;
			small = other->bytes == array->bytes && !memcmp(other->data, array->data, array->bytes);
		}
		for (int64_t k = 0; k < count && small; k++)
			values[k] = tensor_int(&(struct tensor){ .type = array->type, .data = array->data }, (size_t)k);
		if (small)
			pass_hold(graph, input, (size_t)count, values);
	}
}

struct model *data_compile(struct cli *cli, struct model *(*compiled)(struct cli *, bool, void *), void *user)
{
	struct build *build = cli->build;
	char message[sizeof build->message];
	jmp_buf *out = build->out, mine;
	struct model *volatile model = NULL;
	volatile bool hold = false;
	build->out = &mine;
	if (setjmp(mine) == 0 || ((build->code == EXIT_UNSUPPORTED || build->code == EXIT_USAGE) && !hold)) {
		if (build->code) {
			hold = true;
			memcpy(message, build->message, sizeof message);
			build->code = EXIT_RIGHT;
		}
		model = compiled(cli, hold, user);
	}
	build->out = out;
	if ((build->code == EXIT_UNSUPPORTED || build->code == EXIT_USAGE) && hold)
		memcpy(build->message, message, sizeof message); /* of the model, not of what was tried */
	if (build->code)
		longjmp(*out, 1);
	return model;
}

json_t *data_held_json(const struct graph *graph)
{
	json_t *values = json_object();
	FOR_ALL (i, graph->fixed) {
		const struct tensor *value = graph->fixed.at[i].value;
		json_t *list = json_array();
		FOR (k, tensor_elements(graph->build, value))
			json_array_append_new(list, json_integer(tensor_int(value, (size_t)k)));
		json_object_set_new(values, text_clean(graph->build->arena, graph->fixed.at[i].input->name), list);
	}
	return values;
}

void data_held_print(const struct graph *graph)
{
	FOR_ALL (i, graph->fixed) {
		const struct tensor *value = graph->fixed.at[i].value;
		printf("compiled for %s =", text_clean(graph->build->arena, graph->fixed.at[i].input->name));
		FOR (k, tensor_elements(graph->build, value))
			printf("%s%lld", k ? "," : " ", (long long)tensor_int(value, (size_t)k));
		printf("\n");
	}
}

/* ---- comparing ---- */
unsigned data_packed(const void *data, int64_t i, int bits)
{
	const uint8_t *at = data;
	unsigned value = 0;
	FOR (b, bits)
		value |= (unsigned)(at[(i * bits + b) / 8] >> ((i * bits + b) % 8) & 1) << b;
	return value;
}

double data_element(enum dtype type, const void *data, int64_t i)
{
	int bits = dtypes[type].bits;
	switch (type) {
	case DTYPE_F32:
	case DTYPE_C64: return ((const float *)data)[i];
	case DTYPE_F64:
	case DTYPE_C128: return ((const double *)data)[i];
	case DTYPE_I8: return ((const int8_t *)data)[i];
	case DTYPE_U8:
	case DTYPE_BOOL: return ((const uint8_t *)data)[i];
	case DTYPE_I16: return ((const int16_t *)data)[i];
	case DTYPE_U16: return ((const uint16_t *)data)[i];
	case DTYPE_I32: return ((const int32_t *)data)[i];
	case DTYPE_U32: return ((const uint32_t *)data)[i];
	case DTYPE_I64: return (double)((const int64_t *)data)[i];
	case DTYPE_U64: return (double)((const uint64_t *)data)[i];
	case DTYPE_U4:
	case DTYPE_U2: return data_packed(data, i, bits);
	case DTYPE_I4:
	case DTYPE_I2: return (int)(data_packed(data, i, bits) << (32 - bits)) >> (32 - bits);
	default: break;
	}
	if (dtype_is_narrow(type))
		return (double)narrow_value(type,
		        bits == 16          ? ((const uint16_t *)data)[i]
		                : bits == 8 ? ((const uint8_t *)data)[i]
		                            : data_packed(data, i, bits));
	return NAN;
}

uint64_t data_hash(struct build *build, enum dtype type, const void *elements, int64_t count)
{
	size_t bytes = dtype_bytes(type, (size_t)count);
	uint8_t *copy = arena_alloc(build->arena, bytes + 1);
	memcpy(copy, elements, bytes);
	if (type == DTYPE_F32 || type == DTYPE_F64 || dtype_is_narrow(type))
		for (int64_t i = 0; i < count && dtypes[type].bits >= 8; i++)
			if (isnan(data_element(type, elements, i)))
				memset(copy + (size_t)i * (size_t)dtypes[type].bits / 8, 0xff,
				        (size_t)dtypes[type].bits / 8);
	return hash_bytes(copy, bytes, 0);
}

const char *data_element_text(struct build *build, enum dtype type, const void *data, int64_t i)
{
	char text[40];
	double value;
	switch (type) {
	case DTYPE_BOOL: return ((const uint8_t *)data)[i] ? "true" : "false";
	case DTYPE_I64: return arena_printf(build->arena, "%lld", (long long)((const int64_t *)data)[i]);
	case DTYPE_U64: return arena_printf(build->arena, "%llu", (unsigned long long)((const uint64_t *)data)[i]);
	case DTYPE_C64:
	case DTYPE_C128: {
		enum dtype part = type == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
		return arena_printf(build->arena, "(%s,%s)", data_element_text(build, part, data, 2 * i),
		        data_element_text(build, part, data, 2 * i + 1));
	}
	default: break;
	}
	value = data_element(type, data, i);
	if (isnan(value))
		return "nan";
	int digits = 6, most = type == DTYPE_F64 ? 17 : 9;
	do
		snprintf(text, sizeof text, "%.*g", digits, value);
	while (digits++ < most
	        && (type == DTYPE_F64 ? strtod(text, NULL) != value : strtof(text, NULL) != (float)value));
	return arena_copy(build->arena, text, strlen(text));
}

/* Type, shape and bytes: what has to be equal before numbers are looked at. */
static bool same_kind(
        struct build *build, const struct array *want, const struct shown *shown, int64_t count, struct comparison *c)
{
	bool same = want->rank == shown->rank;
	if (want->type != shown->type) {
		c->why = arena_printf(
		        build->arena, "type %s, should be %s", dtypes[shown->type].text, dtypes[want->type].text);
		return c->right = false;
	}
	for (int d = 0; same && d < shown->rank; d++)
		same = want->extents[d] == shown->extents[d];
	if (!same) {
		c->why = "its shape differs from the reference's";
		return c->right = false;
	}
	if (dtype_bytes(want->type, (size_t)count) != want->bytes) {
		c->why = "the reference's data is incomplete";
		return c->right = false;
	}
	return true;
}

size_t data_sizes(const struct program *program)
{
	size_t count = 0;
	FOR_ALL (i, program->outputs)
		count += program->outputs.at[i]->port.sizes != NULL;
	return count;
}

struct comparison data_compare_drawn(
        struct build *build, const struct array *want, const struct definition *made, const void *got, bool backend)
{
	struct comparison c = { .right = true, .why = "" };
	const struct shown shown = definition_shown(made);
	int64_t count = shown_elements(&shown);
	double sum = 0, square = 0, own = 0, low = INFINITY, high = -INFINITY;
	(void)backend;
	if (!same_kind(build, want, &shown, count, &c) || !count)
		return c;
	FOR (i, count) {
		double y = data_element(want->type, want->data, i);
		sum += y, square += y * y, own += data_element(shown.type, got, i);
		low = fmin(low, y), high = fmax(high, y);
	}
	double n = (double)count, mean = sum / n, spread = sqrt(fmax(0, square / n - mean * mean)),
	       wide = high - low + 1e-6;
	c.worst = fabs(own / n - mean);
	c.allowed = 6 * (spread * sqrt(2 / n) + (high - low) / n);
	if (!(c.worst <= c.allowed)) {
		c.right = false;
		c.why = arena_printf(build->arena, "the mean is %g, should be near %g", own / n, mean);
	}
	for (int64_t i = 0; c.right && i < count; i++) {
		double x = data_element(shown.type, got, i);
		if (!(x >= low - wide && x <= high + wide)) {
			c.right = false;
			c.why = arena_printf(build->arena, "element %lld is %g, the reference's are in [%g, %g]",
			        (long long)i, x, low, high);
		}
	}
	return c;
}

static struct comparison compare_strings(
        struct build *build, const struct array *want, const struct shown *shown, const char *got)
{
	bool same = shown->type == DTYPE_U8 && shown->rank == want->rank + 1;
	for (int d = 0; same && d < want->rank; d++)
		same = want->extents[d] == shown->extents[d];
	if (!same)
		return (struct comparison){ .why = "its shape differs from the reference's" };
	size_t width = (size_t)shown->extents[want->rank], count = want->item ? want->bytes / want->item : 0;
	FOR (i, count) {
		const char *a = (const char *)want->data + i * want->item, *b = got + i * width;
		size_t length = string_length(a, want->item);
		if (length != string_length(b, width) || memcmp(a, b, length))
			return (struct comparison){ .why = arena_printf(build->arena,
				                            "string %zu is \"%.*s\", should be \"%.*s\"", i,
				                            (int)string_length(b, width), b, (int)length, a) };
	}
	return (struct comparison){ .right = true, .why = "" };
}

struct comparison data_compare(
        struct build *build, const struct array *want, const struct definition *made, const void *got, bool backend)
{
	struct comparison c = { .right = true, .why = "" };
	const struct shown shown = definition_shown(made);
	int64_t count = shown_elements(&shown);
	bool complex = want->type == DTYPE_C64 || want->type == DTYPE_C128,
	     floats = complex || dtypes[shown.type].class == CLASS_FLOAT;
	if (want->type == DTYPE_STRING)
		return compare_strings(build, want, &shown, got);
	if (!same_kind(build, want, &shown, count, &c))
		return c;
	if (!floats && want->atol < 0) {
		c.right = memcmp(want->data, got, want->bytes) == 0;
		c.why = c.right ? "" : "integers differ";
		return c;
	}
	double largest = 0;
	count *= complex ? 2 : 1;
	FOR (i, count) {
		double y = fabs(data_element(want->type, want->data, i));
		if (isfinite(y) && y > largest)
			largest = y;
	}
	double flat = (want->type == DTYPE_F16 ? 1e-2 : 1e-4) * largest + (largest >= 1e-3 ? 1e-6 : 0);
	FOR (i, count) {
		double y = data_element(want->type, want->data, i), x = data_element(shown.type, got, i),
		       d = fabs(x - y);
		double allowed = backend
		        ? dtype_is_narrow(want->type) && want->type != DTYPE_F16 && want->type != DTYPE_BF16 ? 0
		                                                                                             : 1e-5
		                        + (want->type == DTYPE_BF16                 ? 0x1p-6
		                                          : want->type == DTYPE_F16 ? 0x1p-9
		                                                                    : 1e-3)
		                                * fabs(y)
		        : want->atol >= 0 ? want->atol
		                          : flat;
		if (!isfinite(y) || !isfinite(x)) {
			if (isnan(y) ? !isnan(x) : x != y) {
				c.right = false;
				c.why = arena_printf(
				        build->arena, "element %lld is %g, should be %g", (long long)i, x, y);
			}
			c.nonfinite++;
			continue;
		}
		if (d > c.worst) {
			c.worst = d;
			c.allowed = allowed;
		}
		if (d > allowed && c.right) {
			c.right = false;
			c.why = arena_printf(build->arena, "element %lld is %.9g, should be %.9g within %.3g",
			        (long long)i, x, y, allowed);
		}
	}
	return c;
}
