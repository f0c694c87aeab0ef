/* reader.h: what the readers share: one read of a model, its external data, its functions. */
#ifndef FRONTENDS_READER_H
#define FRONTENDS_READER_H
#include "frontends/frontends.h"

enum {
	NEWEST_IR = 14,        /* onnx 1.23 */
	MAX_DOMAINS = 64,      /* imported by a model or a function; models have up to 5 */
	MAX_ATTRIBUTES = 1024, /* of a node; ONNX has up to 20.  Both are searched one by one. */
};

struct opened_file {
	const char *location;
	struct mapped mapped;
};

/* A model function: a body whose inputs and outputs are those of the calls. */
struct function {
	const char *domain, *name, *overload; /* interned */
	struct graph *body;                   /* its opsets are the function's own */
	VECTOR(const char *) parameters;      /* attributes without a default; interned */
	VECTOR(struct attribute) defaults;
	struct function *next; /* in the index of functions.c */
	bool open;             /* being expanded: meeting it again is recursion */
};

struct reader {
	struct build *build;
	const char *file;   /* for messages */
	const char *folder; /* of the model, where external data lies; NULL: external data is refused */
	const struct read_options *options;
	int64_t ir_version;
	const char *producer; /* name and version, "" where the model does not say */
	VECTOR(struct opset) opsets;
	VECTOR(struct opened_file) opened;
	VECTOR(struct function *) functions;
};

struct reader reader_new(struct build *, const char *file, const char *folder, const struct read_options *);

/* "FILE: KIND NAME", for messages; the name is cut where it is long. */
const char *reader_where(struct reader *, const char *kind, const char *name);

/* Interned; EXIT_INVALID where the bytes hold a NUL. */
const char *reader_name(struct reader *, const char *at, size_t count);

/* The header of a model: versions known, every domain once ("ai.onnx" is ""). */
void reader_ir(struct reader *, int64_t version);
void reader_producer(struct reader *, struct bytes name, struct bytes version);
void reader_opset(struct reader *, const char *domain, int64_t version);
void reader_opsets_done(struct reader *); /* none given: an error, or version 1 before IR 3 */

/* A node or a function with that many attributes: EXIT_LIMIT where they are too many. */
void reader_attributes(struct reader *, const char *where, size_t count);

/* A dimension of an input or a constant is added: EXIT_INVALID where it is negative, EXIT_LIMIT beyond MAX_RANK. */
void reader_dim(struct reader *, const char *where, struct tensor *, int64_t extent, const char *symbol);

/* Gives a tensor of known type and shape its data, `bytes` of them in the encoding of raw_data: the count must be
 * right. The data is borrowed, or copied where it is small and not aligned. */
void reader_data(struct reader *, const char *where, struct tensor *, const void *at, size_t bytes);

/* Element i of packed data, which begins as zeros. */
static inline void put_bits(unsigned char *data, size_t i, unsigned bits, unsigned value)
{
	size_t at = i * bits;
	data[at / 8] |= (unsigned char)(value << at % 8);
	if (at % 8 + bits > 8)
		data[at / 8 + 1] |= (unsigned char)(value >> (8 - at % 8));
}

/* A graph's parts, each checked: names there and not twice, an initialiser as its input was declared.  `declared` holds
 * name, type and shape, of which only the name must be known; a constant holds its data.  First the inputs, then
 * constants and nodes, then reader_outputs and each output, then hints: declared types of what has none yet. */
struct graph *reader_graph(struct reader *, const char *name); /* a main graph or a body, with the opsets in force */
void reader_input(struct reader *, struct graph *, const struct tensor *declared);
void reader_constant(struct reader *, struct graph *, const struct tensor *value);
void reader_outputs(struct graph *, size_t count);
void reader_output(struct reader *, struct graph *, size_t k, const struct tensor *declared);
void reader_hint(struct graph *, const struct tensor *declared);
struct function *function_new(struct reader *, const char *domain, const char *name, const char *overload);

/* After the initialisers of the main graph: takes those out of its inputs that are constants, checks what stays. */
void reader_inputs_done(struct reader *, struct graph *);

/* ---- external.c: data in files beside the model ---- */
struct external {
	const char *location;
	uint64_t offset, length;
	bool has_length;
};
/* One entry of TensorProto.external_data. */
void external_entry(struct reader *, const char *where, struct external *, struct bytes key, struct bytes value);
/* Gives the tensor its data.  The file is a regular one, reached from the model's folder without links. */
void external_data(struct reader *, const char *where, struct tensor *, const struct external *);

/* ---- onnx_tensor.c ---- */
struct wire;
/* A tensor without a graph, by value: the caller places it.  `where` may be NULL: then the tensor's name is used. */
struct tensor proto_tensor(struct reader *, struct wire, const char *where);
struct tensor proto_sparse(struct reader *, struct wire, const char *where);

/* Text of an opaque type: opaque(), opaque(NAME) or opaque(DOMAIN, NAME). */
const char *opaque_text(struct build *, const char *domain, const char *name);

/* ---- onnx.c, onnx_text.c: a model to a graph and the reader's functions ---- */
struct graph *read_model(struct reader *, const void *at, size_t bytes);
struct graph *read_text(struct reader *, const void *text, size_t count);
/* One function without a header, of the opsets that the reader has. */
struct function *read_text_function(struct reader *, const char *text, size_t count);

/* ---- functions.c ---- */
/* Replaces every call of a model function by its body, as often as needed, in subgraphs too.  EXIT_INVALID where
 * functions call each other in a circle; EXIT_LIMIT where the expansion has no sane size. */
void functions_inline(struct reader *, struct graph *);
#endif
