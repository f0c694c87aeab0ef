/* reader.c: what both readers check: versions, shapes, the data of constants, defaults of inputs. */
#include "frontends/reader.h"

struct reader reader_new(struct build *build, const char *file, const char *folder, const struct read_options *options)
{
	return (struct reader){ .build = build, .file = file, .folder = folder, .options = options };
}

const char *reader_where(struct reader *reader, const char *kind, const char *name)
{
	return arena_printf(reader->build->arena, "%s: %s %.100s", reader->file, kind, *name ? name : "without a name");
}

const char *reader_name(struct reader *reader, const char *at, size_t count)
{
	if (count && memchr(at, 0, count))
		fail(reader->build, EXIT_INVALID, reader->file, "the name %.100s… holds a NUL byte", at);
	return name_of(reader->build->names, count ? at : "", count);
}

void reader_ir(struct reader *reader, int64_t version)
{
	if (version < 1)
		fail(reader->build, EXIT_INVALID, reader->file, "ir_version is missing or below 1");
	if (version > NEWEST_IR)
		fail(reader->build, EXIT_UNSUPPORTED, reader->file,
		        "ir_version %lld is newer than %d, the newest known", (long long)version, NEWEST_IR);
	reader->ir_version = version;
}

void reader_producer(struct reader *reader, struct bytes name, struct bytes version)
{
	struct arena *arena = reader->build->arena;
	const char *one = name.count ? arena_copy(arena, name.at, name.count) : "",
	           *two = version.count ? arena_copy(arena, version.at, version.count) : "";
	reader->producer = text_clean(arena, arena_printf(arena, "%.100s%s%.100s", one, *one && *two ? " " : "", two));
}

void reader_opset(struct reader *reader, const char *domain, int64_t version)
{
	struct build *build = reader->build;
	domain = name_is(build->names, !strcmp(domain, "ai.onnx") ? "" : domain);
	if (version < 1 || version > INT32_MAX)
		fail(build, EXIT_INVALID, reader->file, "opset_import: version %lld of domain \"%.60s\"",
		        (long long)version, domain);
	if (!*domain && version > NEWEST_OPSET)
		fail(build, EXIT_UNSUPPORTED, reader->file, "opset %lld is newer than %d, the newest known",
		        (long long)version, NEWEST_OPSET);
	FOR_ALL (i, reader->opsets)
		if (reader->opsets.at[i].domain == domain) {
			if (reader->opsets.at[i].version != version)
				fail(build, EXIT_INVALID, reader->file, "opset_import names the domain \"%.60s\" twice",
				        domain);
			return;
		}
	if (reader->opsets.count == MAX_DOMAINS)
		fail(build, EXIT_LIMIT, reader->file, "opset_import names more than %d domains", MAX_DOMAINS);
	push(build->arena, &reader->opsets, (struct opset){ domain, version });
}

void reader_opsets_done(struct reader *reader)
{
	if (reader->opsets.count)
		return;
	if (reader->ir_version >= 3)
		fail(reader->build, EXIT_INVALID, reader->file, "opset_import is missing");
	reader_opset(reader, "", 1);
}

void reader_attributes(struct reader *reader, const char *where, size_t count)
{
	if (count > MAX_ATTRIBUTES)
		fail(reader->build, EXIT_LIMIT, where, "more than %d attributes", MAX_ATTRIBUTES);
}

void reader_dim(struct reader *reader, const char *where, struct tensor *tensor, int64_t extent, const char *symbol)
{
	if (tensor->rank == MAX_RANK)
		fail(reader->build, EXIT_LIMIT, where, "more than %d dimensions", MAX_RANK);
	if (extent < 0 && extent != -1)
		fail(reader->build, EXIT_INVALID, where, "dimension %d is %lld", tensor->rank, (long long)extent);
	if (symbol && !strcmp(symbol, "?"))
		symbol = NULL; /* exporters write it for what they do not know */
	tensor->dims[tensor->rank++] = (struct dim){ .extent = extent, .symbol = symbol };
}

/* Without this a bool constant of 7 would be neither true nor false to code that compares or adds bools. */
static void check_bools(struct reader *reader, const char *where, const uint8_t *at, size_t bytes)
{
	FOR (i, bytes)
		if (at[i] > 1)
			fail(reader->build, EXIT_INVALID, where, "element %zu of a bool tensor is %d", i, at[i]);
}

void reader_data(struct reader *reader, const char *where, struct tensor *tensor, const void *at, size_t bytes)
{
	size_t elements = (size_t)tensor_elements(reader->build, tensor), want = dtype_bytes(tensor->type, elements);
	size_t align = (size_t)dtypes[tensor->type].bits / 8;
	if (bytes != want)
		fail(reader->build, EXIT_INVALID, where, "holds %zu bytes where %zu elements of %s take %zu", bytes,
		        elements, dtypes[tensor->type].text, want);
	if (tensor->type == DTYPE_BOOL)
		check_bools(reader, where, at, bytes);
	align = align > 8 ? 8 : align ? align : 1;
	if (!bytes)
		at = "";
	else if (bytes <= TENSOR_ALIGNED && (uintptr_t)at % align)
		at = arena_copy(reader->build->arena, at, bytes);
	tensor->data = at;
	tensor->bytes = bytes;
}

const char *opaque_text(struct build *build, const char *domain, const char *name)
{
	name = *name || *domain ? name_text(build, name) : "";
	return *domain ? arena_printf(build->arena, "opaque(%s, %s)", name_text(build, domain), name)
	               : arena_printf(build->arena, "opaque(%s)", name);
}

/* ---- the parts of a graph ---- */
struct graph *reader_graph(struct reader *reader, const char *name)
{
	struct graph *graph = graph_new(reader->build, name, reader->file, NULL);
	graph->ir_version = reader->ir_version;
	graph->producer = reader->producer;
	memcpy(&graph->opsets, &reader->opsets, sizeof graph->opsets);
	return graph;
}

static void check_name(struct reader *reader, const struct graph *graph, const char *name, const char *what)
{
	if (!*name)
		fail(reader->build, EXIT_INVALID, reader->file, "%s of graph \"%.60s\" has no name", what, graph->name);
}

static struct tensor *own_tensor(struct graph *graph, const char *name)
{
	struct tensor *tensor = graph_tensor(graph, name);
	return tensor && tensor->graph == graph ? tensor : NULL;
}

static void take_type(struct tensor *tensor, const struct tensor *from)
{
	tensor->form = from->form;
	tensor->keys = from->keys;
	tensor->type = from->type;
	tensor->rank = from->rank;
	memcpy(tensor->dims, from->dims, sizeof from->dims);
}

void reader_input(struct reader *reader, struct graph *graph, const struct tensor *declared)
{
	check_name(reader, graph, declared->name, "an input");
	if (own_tensor(graph, declared->name))
		fail(reader->build, EXIT_INVALID, reader_where(reader, "input", declared->name), "is there twice");
	struct tensor *tensor = graph_tensor_new(graph, declared->name);
	take_type(tensor, declared);
	tensor->is_input = true;
	push(reader->build->arena, &graph->inputs, tensor);
}

/* An initialiser that is also an input: both say type and shape. */
static void check_default(struct reader *reader, const struct tensor *input, const struct tensor *value)
{
	const char *where = reader_where(reader, "initialiser", input->name);
	if (input->form)
		fail(reader->build, EXIT_INVALID, where, "is a tensor, but the input of that name is %.60s",
		        type_of_tensor(reader->build, input));
	if (input->type != DTYPE_NONE && input->type != value->type)
		fail(reader->build, EXIT_INVALID, where, "is %s, but the input of that name is %s",
		        dtypes[value->type].text, dtypes[input->type].text);
	if (input->rank >= 0 && input->rank != value->rank)
		fail(reader->build, EXIT_INVALID, where, "has %d dimensions, but the input of that name has %d",
		        value->rank, input->rank);
	FOR (i, input->rank)
		if (input->dims[i].extent >= 0 && input->dims[i].extent != value->dims[i].extent)
			fail(reader->build, EXIT_INVALID, where,
			        "is %lld wide in dimension %d, but the input of that name is %lld",
			        (long long)value->dims[i].extent, i, (long long)input->dims[i].extent);
}

void reader_constant(struct reader *reader, struct graph *graph, const struct tensor *value)
{
	check_name(reader, graph, value->name, "an initialiser");
	struct tensor *tensor = own_tensor(graph, value->name);
	if (tensor && tensor->is_initializer)
		fail(reader->build, EXIT_INVALID, reader_where(reader, "initialiser", value->name), "is there twice");
	if (tensor)
		check_default(reader, tensor, value);
	else
		tensor = graph_tensor_new(graph, value->name);
	/* An input of a subgraph is given by its node each time; a default is nobody's. */
	if (tensor->is_input && graph->outer)
		return;
	take_type(tensor, value);
	tensor->data = value->data;
	tensor->bytes = value->bytes;
	tensor->strings = value->strings;
	tensor->is_initializer = true;
}

/* Made in one piece, as graph_use keeps pointers to the places. */
void reader_outputs(struct graph *graph, size_t count)
{
	graph->outputs.count = graph->outputs.room = count;
	graph->outputs.at = arena_new_array(graph->build->arena, struct tensor *, count);
}

void reader_output(struct reader *reader, struct graph *graph, size_t k, const struct tensor *declared)
{
	const char *where = reader_where(reader, "output", declared->name);
	check_name(reader, graph, declared->name, "an output");
	graph_use(graph, &graph->outputs.at[k], declared->name, where);
	struct tensor *tensor = graph->outputs.at[k];
	if (!tensor)
		return; /* of an outer graph, or nothing: graph_close tells */
	if (tensor->is_output)
		fail(reader->build, EXIT_INVALID, where, "is there twice");
	tensor->is_output = true;
	reader_hint(graph, declared);
}

void reader_hint(struct graph *graph, const struct tensor *declared)
{
	struct tensor *tensor = own_tensor(graph, declared->name);
	if (!tensor || tensor->is_input || tensor->is_initializer)
		return;
	tensor->form |= declared->form;
	tensor->is_maps |= declared->is_maps;
	if (declared->type != DTYPE_NONE)
		tensor->type = declared->type;
	if (declared->rank >= 0) {
		tensor->rank = declared->rank;
		tensor->is_hint = true;
		memcpy(tensor->dims, declared->dims, sizeof declared->dims);
	}
}

struct function *function_new(struct reader *reader, const char *domain, const char *name, const char *overload)
{
	struct names *names = reader->build->names;
	struct function *function = arena_new(reader->build->arena, struct function);
	if (!*name)
		fail(reader->build, EXIT_INVALID, reader->file, "a function has no name");
	function->domain = name_is(names, !strcmp(domain, "ai.onnx") ? "" : domain);
	function->name = name_is(names, name);
	function->overload = name_is(names, overload);
	function->body = reader_graph(reader, name);
	return function;
}

static bool is_kept(struct reader *reader, const struct tensor *tensor, bool *seen)
{
	const struct read_options *options = reader->options;
	for (int i = 0; options && i < options->keep_input_count; i++)
		if (!strcmp(options->keep_inputs[i], tensor->name))
			return seen[i] = true;
	return false;
}

void reader_inputs_done(struct reader *reader, struct graph *graph)
{
	struct build *build = reader->build;
	int kept = reader->options ? reader->options->keep_input_count : 0;
	bool *seen = arena_new_array(build->arena, bool, (size_t)kept);
	struct tensor **all = arena_new_array(build->arena, struct tensor *, graph->inputs.count + 1);
	size_t n = 0, count = graph->inputs.count;
	FOR_ALL (i, graph->inputs) {
		struct tensor *tensor = all[i] = graph->inputs.at[i];
		const char *where = reader_where(reader, "input", tensor->name);
		if (is_kept(reader, tensor, seen)) {
			tensor->is_initializer = false;
			tensor->data = NULL;
			tensor->bytes = 0;
			tensor->strings = NULL;
		}
		if (tensor->is_initializer) {
			tensor->is_input = false;
			continue;
		}
		if (tensor->type == DTYPE_NONE)
			fail(build, EXIT_INVALID, where, "has no element type");
		tensor_elements(build, tensor); /* fails where no memory could hold it */
		graph->inputs.at[n++] = tensor;
	}
	graph->inputs.count = n;
	FOR (i, kept) {
		struct choices choices = choices_for(build, reader->options->keep_inputs[i]);
		for (size_t k = 0; !seen[i] && k < count; k++)
			choices_add(&choices, all[k]->name);
		if (!seen[i])
			fail(build, EXIT_USAGE, reader->file, "--keep-input %s: the model has no input of that name%s",
			        reader->options->keep_inputs[i], choices_text(&choices));
	}
}
