/* graph.h: the model as a graph of nodes over tensors, as ONNX has it.
 *
 * Everything lives in the build's arena.  Names are interned: compare pointers.  Nodes stand in topological order
 * once graph_check has passed.  A subgraph (If, Loop, Scan) is a graph whose `outer` is the one around it; a name that it
 * does not define is looked up there.  Constant data is borrowed: from the mapped model, external data, or the arena. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H
#include "base/base.h"
#include "tables/tables.h"

enum { MAX_RANK = 16 };

/* One dimension: extent >= 0 is known; else `symbol` names it, or is NULL where nothing is known.  After binding, a
 * symbol may stand beside a known extent: it tells where the extent came from. */
struct dim { int64_t extent; const char *symbol; };

struct tensor {
	const char *name;                 /* interned; unique within its graph */
	enum dtype type;                  /* DTYPE_NONE: not known yet */
	int rank;                         /* -1: not known yet */
	struct dim dims[MAX_RANK];
	const void *data;                 /* constant: elements in C order, host endian, packed below 8 bits; else NULL */
	size_t bytes;                     /* of data */
	struct node *producer;            /* NULL: input, initialiser, or of the outer graph */
	struct graph *graph;
	bool is_input, is_output, is_initializer;
	const char *const *strings;       /* data of a string tensor: its elements */
};

enum attribute_kind {                     /* numbers as AttributeProto.AttributeType */
	ATTRIBUTE_FLOAT = 1, ATTRIBUTE_INT, ATTRIBUTE_STRING, ATTRIBUTE_TENSOR, ATTRIBUTE_GRAPH,
	ATTRIBUTE_FLOATS, ATTRIBUTE_INTS, ATTRIBUTE_STRINGS, ATTRIBUTE_TENSORS, ATTRIBUTE_GRAPHS,
	ATTRIBUTE_SPARSE_TENSOR, ATTRIBUTE_SPARSE_TENSORS, ATTRIBUTE_TYPE, ATTRIBUTE_TYPES,
};
struct bytes { const char *at; size_t count; };   /* not ended by a 0 */
struct attribute {
	const char *name;                 /* interned */
	enum attribute_kind kind;
	const char *ref;                  /* inside a function body: the attribute of the caller that it stands for; else NULL */
	float f;
	int64_t i;
	struct bytes s;
	struct tensor *t;                 /* a constant without a graph */
	struct graph *g;
	size_t count;                     /* of the list that the kind says */
	const float *floats;
	const int64_t *ints;
	const struct bytes *strings;
	struct tensor **tensors;
	struct graph **graphs;
};

struct node {
	const char *type, *domain;        /* interned; domain "" is ONNX's own (also written ai.onnx) */
	const char *name;                 /* interned; "" where it has none */
	const char *where;                /* "file: node NAME (Type)" or "file: node #3 (Type)": the first part of messages */
	struct graph *graph;
	struct tensor **in, **out;        /* NULL: an optional one that is absent */
	int ins, outs;
	struct attribute *attributes;
	int attribute_count;
	int since;                        /* version of the domain in force: the model's opset import */
};

struct opset { const char *domain; int64_t version; };

struct graph {
	struct build *build;
	const char *name;                 /* interned */
	const char *file;                 /* for messages */
	struct graph *outer;              /* NULL: the main graph */
	int64_t ir_version;
	VECTOR(struct opset) opsets;
	VECTOR(struct tensor *) tensors;  /* all, in order of appearance */
	VECTOR(struct tensor *) inputs;   /* without initialisers, unless kept by --keep-input */
	VECTOR(struct tensor *) outputs;
	VECTOR(struct node *) nodes;
};

/* ---- build.c ---- */
struct graph  *graph_new(struct build *, const char *name, const char *file, struct graph *outer);
struct tensor *graph_tensor(struct graph *, const char *name);         /* finds, here or in the outer ones; NULL: none */
struct tensor *graph_tensor_new(struct graph *, const char *name);     /* type and rank unknown; fails where the name is taken */
struct tensor *graph_tensor_fresh(struct graph *, const char *like);   /* a new name made of `like` */
struct tensor *graph_constant(struct graph *, const char *like, enum dtype, int rank, const int64_t *extents, const void *data);
struct node   *graph_node_new(struct graph *, const char *domain, const char *type, const char *name, int ins, int outs);

const struct attribute *node_attribute(const struct node *, const char *name);     /* NULL: absent */
int64_t       node_int(const struct node *, const char *name, int64_t otherwise);  /* fails (EXIT_INVALID) on another kind */
float         node_float(const struct node *, const char *name, float otherwise);
const char   *node_string(const struct node *, const char *name, const char *otherwise);
/* The list, or NULL and count 0 where absent. */
const int64_t *node_ints(const struct node *, const char *name, size_t *count);

/* Elements of a tensor whose extents are all known; fails with EXIT_LIMIT on overflow. -1 where one is not known. */
int64_t tensor_elements(struct build *, const struct tensor *);
bool    tensor_is_known(const struct tensor *);                        /* type, rank and all extents */

/* ---- check.c: names unique, producers right, topological order (sorted where the file was not), attributes well-formed ---- */
void graph_check(struct graph *);

/* ---- print.c: ONNX's textual syntax; frontends/onnx_text.c reads it back ---- */
/* Constants of more than `elements` elements are printed by name, type and shape only where elements >= 0 (for people). */
void graph_print(const struct graph *, int64_t elements, struct text *out);

#endif
