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
		fail(reader->build, EXIT_UNSUPPORTED, reader->file, "ir_version %lld is newer than %d, the newest known",
		     (long long)version, NEWEST_IR);
	reader->ir_version = version;
}

void reader_opset(struct reader *reader, const char *domain, int64_t version)
{
	struct build *build = reader->build;
	domain = name_is(build->names, !strcmp(domain, "ai.onnx") ? "" : domain);
	if (version < 1 || version > INT32_MAX)
		fail(build, EXIT_INVALID, reader->file, "opset_import: version %lld of domain \"%.60s\"", (long long)version,
		     domain);
	if (!*domain && version > NEWEST_OPSET)
		fail(build, EXIT_UNSUPPORTED, reader->file, "opset %lld is newer than %d, the newest known", (long long)version,
		     NEWEST_OPSET);
	for (size_t i = 0; i < reader->opsets.count; i++)
		if (reader->opsets.at[i].domain == domain) {
			if (reader->opsets.at[i].version != version)
				fail(build, EXIT_INVALID, reader->file, "opset_import names the domain \"%.60s\" twice", domain);
			return;
		}
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

void reader_dim(struct reader *reader, const char *where, struct tensor *tensor, int64_t extent, const char *symbol)
{
	if (tensor->rank == MAX_RANK)
		fail(reader->build, EXIT_LIMIT, where, "more than %d dimensions", MAX_RANK);
	if (extent < 0 && extent != -1)
		fail(reader->build, EXIT_INVALID, where, "dimension %d is %lld", tensor->rank, (long long)extent);
	tensor->dims[tensor->rank++] = (struct dim){ extent, symbol };
}

/* Without this a bool constant of 7 would be neither true nor false to code that compares or adds bools. */
static void check_bools(struct reader *reader, const char *where, const uint8_t *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (at[i] > 1)
			fail(reader->build, EXIT_INVALID, where, "element %zu of a bool tensor is %d", i, at[i]);
}

void reader_data(struct reader *reader, const char *where, struct tensor *tensor, const void *at, size_t bytes)
{
	size_t elements = (size_t)tensor_elements(reader->build, tensor), want = dtype_bytes(tensor->type, elements);
	size_t align = (size_t)dtypes[tensor->type].bits / 8;
	if (bytes != want)
		fail(reader->build, EXIT_INVALID, where, "holds %zu bytes where %zu elements of %s take %zu", bytes, elements,
		     dtypes[tensor->type].text, want);
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

void reader_default(struct reader *reader, struct tensor *input, const struct tensor *value)
{
	const char *where = reader_where(reader, "initialiser", input->name);
	if (input->type != DTYPE_NONE && input->type != value->type)
		fail(reader->build, EXIT_INVALID, where, "is %s, but the input of that name is %s", dtypes[value->type].text,
		     dtypes[input->type].text);
	if (input->rank >= 0 && input->rank != value->rank)
		fail(reader->build, EXIT_INVALID, where, "has %d dimensions, but the input of that name has %d", value->rank,
		     input->rank);
	for (int i = 0; i < input->rank; i++)
		if (input->dims[i].extent >= 0 && input->dims[i].extent != value->dims[i].extent)
			fail(reader->build, EXIT_INVALID, where, "is %lld wide in dimension %d, but the input of that name is %lld",
			     (long long)value->dims[i].extent, i, (long long)input->dims[i].extent);
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
	bool *seen = new_array(build->arena, bool, (size_t)kept);
	size_t n = 0;
	for (size_t i = 0; i < graph->inputs.count; i++) {
		struct tensor *tensor = graph->inputs.at[i];
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
		tensor_elements(build, tensor);               /* fails where no memory could hold it */
		graph->inputs.at[n++] = tensor;
	}
	graph->inputs.count = n;
	for (int i = 0; i < kept; i++)
		if (!seen[i])
			fail(build, EXIT_USAGE, reader->file, "--keep-input %s: the model has no input of that name",
			     reader->options->keep_inputs[i]);
}
