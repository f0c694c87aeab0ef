/* frontends.h: a file becomes a graph. */
#ifndef FRONTENDS_FRONTENDS_H
#define FRONTENDS_FRONTENDS_H
#include "graph/graph.h"

enum { NEWEST_OPSET = 28 }; /* of ai.onnx */

struct read_options {
	const char *const *keep_inputs; /* names of initialisers that stay inputs (with a default nobody uses) */
	int keep_input_count;
	bool open; /* of a .tflite: what its signatures leave open is a symbol, not of the extent that the shape says */
};
/* Reads an .onnx file (protobuf) or ONNX text, told apart by content.  Model functions are inlined.  The file stays
 * mapped as long as the build, as constants borrow from it.  EXIT_USAGE: missing; EXIT_INVALID: broken, also
 * external data missing or outside the model's folder; EXIT_LIMIT. */
struct graph *graph_read(struct build *, const char *path, const struct read_options *);

/* The same from memory, which must stay as long as the build.  `file` is for messages; external data is refused. */
struct graph *graph_read_memory(
        struct build *, const char *file, const void *at, size_t count, const struct read_options *);

/* The bytes of an ONNX file that says the same, with every constant.  EXIT_UNSUPPORTED where nodes are of several
 * versions of a domain; EXIT_LIMIT beyond 2 GiB. */
void graph_write_onnx(const struct graph *, struct text *out);

/* `text` is a function in ONNX text, without a header and of the newest opset; its body takes the place of the node:
 * its nodes, which name the node in messages, are put behind those of the node's graph.  Nodes `graph.NAME (…)` stand
 * for the body of the node's attribute NAME.  The text must live as long as the build; `file` is for messages. `copied`
 * adds up over calls: EXIT_LIMIT where all of them together have no sane size. */
void function_expand(struct node *, const char *file, const char *text, size_t count, size_t *copied);

/* The head of a function in ONNX text, `Foo (float[N,M] x) => (float[N,M] y)`, without a body: a graph that has these
 * inputs and outputs, and no nodes. */
struct graph *read_head(struct build *, const char *file, const char *text, size_t count);

/* A value of this form in a file (ONNX's test data, input_0.pb): a TensorProto, SequenceProto or OptionalProto; of a
 * list, `list` holds its elements. EXIT_INVALID where it holds something else. */
struct tensor *value_read_proto(struct build *, const char *path, int form);
struct tensor *value_read_memory(struct build *, const char *file, const void *at, size_t count, int form);

/* A graph that a node holds as an attribute, put in the node's place, once or round after round.  Its nodes, which name
 * themselves in messages, are put behind those of the node's graph. */
struct expansion {
	struct node *owner;
	struct graph *body;
	const bool *once; /* of each of the body's nodes: the first round makes what the others read too; NULL: none is
	                     so */
	struct tensor **kept; /* made by the first round: what each of the body's tensors became that all rounds share,
	                         constants among them */
	size_t *copied;       /* adds up, as that of function_expand */
};
/* The body's first `ins` inputs become these; its first `outs` outputs are made under the names of these, which have no
 * producer yet. */
void graph_expand(struct expansion *, int ins, struct tensor **in, int outs, struct tensor **out);
#endif
