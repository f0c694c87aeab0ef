/* read.c: a file -> a graph, by the reader its content asks for. */
#include "frontends/reader.h"

/* What people take for a model: said plainly instead of "byte 3: no such field". */
static const struct {
	const char *start, *what;
} strangers[] = {
	{ "version https://git-lfs", "is a git-lfs pointer, not the model: run git lfs pull" },
	{ "\x1f\x8b", "is compressed (gzip): unpack it first" },
	{ "PK\x03\x04",
	        "is an archive (zip; what torch.save and Keras write is one): unpack it, or export it to ONNX" },
	{ "\x89HDF", "is HDF5, as Keras saves models: export it to ONNX" },
	{ "\x80\x02", "is a Python pickle, as PyTorch and scikit-learn save models: export it to ONNX" },
	{ "\x80\x04", "is a Python pickle, as PyTorch and scikit-learn save models: export it to ONNX" },
	{ "\x80\x05", "is a Python pickle, as PyTorch and scikit-learn save models: export it to ONNX" },
	{ "GGUF", "is GGUF: export the model to ONNX" },
	{ "<!DOCTYPE", "is a web page, not the model: what should be downloaded was not" },
	{ "<html", "is a web page, not the model: what should be downloaded was not" },
	{ "\x28\xb5\x2f\xfd", "is compressed (zstd): unpack it first" },
	{ "BZh", "is compressed (bzip2): unpack it first" },
	{ "\xfd"
	  "7zXZ",
	        "is compressed (xz): unpack it first" },
};

/* Text begins with <, after blanks and comments; no protobuf does: '<' would end a group that nothing began, '#' begin
 * one. */
static bool is_text(const void *file, size_t count)
{
	const char *at = file;
	size_t i = 0;
	while (i < count && (strchr(" \t\r\n", at[i]) ? at[i] != 0 : at[i] == '#'))
		if (at[i++] == '#')
			while (i < count && at[i] != '\n')
				i++;
	return i < count && at[i] == '<';
}

/* Text without its header: what can be read. */
static bool is_headless(const char *at, size_t count)
{
	for (size_t i = 0; i < count && i < 256; i++) {
		unsigned char c = (unsigned char)at[i];
		if (c < 32 ? !strchr("\t\r\n", c) || !c : c == 127)
			return false;
	}
	return true;
}

static const char *folder_of(struct build *build, const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? arena_copy(build->arena, path, slash == path ? 1 : (size_t)(slash - path)) : ".";
}

/* How files begin, and who reads them. */
#define FRONTENDS(FRONTEND) FRONTEND(tflite)

#define FRONTEND(name) \
	bool is_##name(const void *at, size_t count); \
	struct graph *read_##name(struct reader *, const void *at, size_t count);
FRONTENDS(FRONTEND)
#undef FRONTEND
#define FRONTEND(name) { is_##name, read_##name },
static const struct frontend {
	bool (*is)(const void *at, size_t count); /* NULL: what is none of those before */
	struct graph *(*read)(struct reader *, const void *at, size_t count);
} frontends[] = { FRONTENDS(FRONTEND){ is_text, read_text }, { NULL, read_model } };
#undef FRONTEND

static struct graph *read_bytes(struct reader *reader, const void *at, size_t count)
{
	struct build *build = reader->build;
	if (!count)
		fail(build, EXIT_INVALID, reader->file, "is empty");
	FOR (i, COUNT(strangers))
		if (count >= strlen(strangers[i].start) && !memcmp(at, strangers[i].start, strlen(strangers[i].start)))
			fail(build, EXIT_INVALID, reader->file, "%s", strangers[i].what);
	const struct frontend *frontend = frontends;
	while (frontend->is && !frontend->is(at, count))
		frontend++;
	if (!frontend->is && is_headless(at, count))
		fail(build, EXIT_INVALID, reader->file,
		        "is text, but no ONNX text: that begins with <ir_version: 10, opset_import: [\"\" : %d]>",
		        NEWEST_OPSET);
	struct graph *graph = frontend->read(reader, at, count);
	FOR_ALL (i, reader->opened)
		push(build->arena, &graph->external, reader->opened.at[i].location);
	reader_inputs_done(reader, graph);
	functions_inline(reader, graph);
	graph_check(graph);
	return graph;
}

struct graph *graph_read(struct build *build, const char *path, const struct read_options *options)
{
	struct mapped mapped = file_map(build, path);
	file_keep(build, mapped);
	struct reader reader =
	        reader_new(build, arena_copy(build->arena, path, strlen(path)), folder_of(build, path), options);
	return read_bytes(&reader, mapped.at, mapped.bytes);
}

struct graph *graph_read_memory(
        struct build *build, const char *file, const void *at, size_t count, const struct read_options *options)
{
	struct reader reader = reader_new(build, arena_copy(build->arena, file, strlen(file)), NULL, options);
	return read_bytes(&reader, at, count);
}
