/* graph.h: the model as a graph of nodes over tensors, as ONNX has it.
 *
 * Everything lives in the build's arena.  Names are interned: compare pointers.  Nodes stand in topological order
 * once graph_check has passed.  A subgraph (If, Loop, Scan) is a graph whose `outer` is the one around it; a name that
 * it does not define is looked up there.  Constant data is borrowed: from the mapped model, external data, or the
 * arena. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H
#include "base/base.h"
#include "tables/tables.h"

enum {
	MAX_RANK = 16,
	MAX_DEPTH = 64, /* graphs within graphs; real models use 1 to 4 */
};

/* One dimension: extent >= 0 is known; else `symbol` names it, or is NULL where nothing is known.  After binding, a
 * symbol may stand beside a known extent: it tells where the extent came from.  Where data decide an extent, it is a
 * bound, and `count`, a scalar of int64 of the graph, says how many are there: what lies behind them is anything. */
struct dim {
	int64_t extent;
	const char *symbol;
	struct tensor *count;
};

enum { TENSOR_ALIGNED = 65536 };

/* What a name stands for: a tensor, a sequence of tensors, an optional tensor, or both: an optional sequence.  Type,
 * rank and dims are those of the elements then, as far as the model says them of all. */
enum { FORM_SEQUENCE = 1, FORM_OPTIONAL = 2, FORM_MAP = 4 };
/* What a sequence holds, in order, an optional (one tensor, or those of its sequence), or a map (its keys, its values):
 * tensors of this graph or of one around it. */
struct list {
	size_t count;
	struct tensor **at;
	bool nothing; /* an optional without a value */
};
enum { LIST_MOST = 1 << 14 }; /* elements of a list: each has nodes, names and code of its own */

struct tensor {
	const char *name;        /* interned; unique within its graph */
	int form;                /* FORM_…; 0: a tensor */
	const struct list *list; /* of another form, once inference knows it: passes/infer.c; else NULL */
	const struct list
	        *said;   /* of an output of another form: what somebody says that it holds, by shapes; else NULL */
	enum dtype type; /* DTYPE_NONE: not known yet */
	int rank;        /* -1: not known yet */
	struct dim dims[MAX_RANK];
	/* Constant: elements in C order, host endian, packed below 8 bits; else NULL (a constant without elements has
	 * data too).  Up to TENSOR_ALIGNED bytes are aligned for their type; more may be borrowed from a file at any
	 * address: read them by memcpy, or by tensor_int and tensor_float. */
	const void *data;
	struct late *late;     /* such data as are computed when tensor_data asks: `data` points nowhere; else NULL */
	const void *unpacked;  /* data of below 8 bits in bytes, once somebody asked; else NULL */
	size_t bytes;          /* of data; of a string tensor: 0 */
	struct node *producer; /* NULL: input, initialiser, or of the outer graph */
	struct graph *graph;
	bool is_input, is_output, is_initializer;
	bool is_hint;         /* rank and dims are what the file says of what a node makes: it may be wrong */
	bool is_whole;        /* behind its counts lies what a reader counts on */
	bool is_cache;        /* an output that an input lies in; what a call says of its dims are rows of the buffer */
	struct tensor *cache; /* of an input: that output, of more rows (passes/caches.c) */
	const struct node *widened; /* of a constant: its map, which folded, where that made floats of integers, or more
	                               bytes; else NULL */
	const char *const *strings; /* data of a string tensor: its elements; `data` is the same pointer */
	struct tensor
	        *utf8; /* of a string tensor, once inference has it: its bytes, uint8 with one more dim; else NULL */
	bool is_utf8;  /* of an input or output of uint8: the model has strings there, whose bytes, with zeros behind
	                 shorter ones, the last dim holds */
	bool is_maps;  /* of an output: the model has a sequence of maps there, a row of it each … */
	const struct tensor *keys; /* … whose columns have these keys, int64 or strings; of a map: one of their type */
	struct tensor *const *sizes; /* of a few whole numbers that come at run time, as a graph makes them of Shape:
	                                each as a size (ops/sizes.c); else NULL */
	bool is_spanned;             /* a size that somebody asked for … */
	bool is_said;                /* … whether a call says all that it is made of, and … */
	int64_t least, most; /* … what it lies between; of one that data decide, `most` is its dim's extent from the
	                        beginning */
	int mark;            /* scratch of the pass that runs; means nothing between passes */
};

enum attribute_kind { /* numbers as AttributeProto.AttributeType */
	ATTRIBUTE_FLOAT = 1,
	ATTRIBUTE_INT,
	ATTRIBUTE_STRING,
	ATTRIBUTE_TENSOR,
	ATTRIBUTE_GRAPH,
	ATTRIBUTE_FLOATS,
	ATTRIBUTE_INTS,
	ATTRIBUTE_STRINGS,
	ATTRIBUTE_TENSORS,
	ATTRIBUTE_GRAPHS,
	ATTRIBUTE_SPARSE_TENSOR,
	ATTRIBUTE_SPARSE_TENSORS,
	ATTRIBUTE_TYPE,
	ATTRIBUTE_TYPES,
};
struct bytes {
	const char *at;
	size_t count;
}; /* not ended by a 0 */
struct attribute {
	const char *name; /* interned */
	enum attribute_kind kind;
	const char *ref; /* inside a function body: the attribute of the caller that it stands for; else NULL */
	float f;
	int64_t i;
	struct bytes s;   /* a string; of a type: its text, as seq(float[N]) */
	struct tensor *t; /* a constant without a graph */
	struct graph *g;
	size_t count; /* of the list that the kind says */
	const float *floats;
	const int64_t *ints;
	const struct bytes *strings; /* strings, types */
	struct tensor **tensors;
	struct graph **graphs;
};

/* What a node computes is needed where the condition, a bool that comes at run time, is true, or is not, and the outer
 * ones hold too: a branch, or a round of a loop. */
struct guard {
	struct tensor *condition;
	bool yes;
	const struct guard *outer;
};

struct node {
	const char *type, *domain; /* interned; domain "" is ONNX's own (also written ai.onnx) */
	const char *name;          /* interned; "" where it has none */
	const char *where;         /* "file: node NAME (Type)" or "file: node #3 (Type)": the first part of messages */
	struct graph *graph;
	const struct guard *guard; /* NULL: always */
	struct tensor **in, **out; /* NULL: an optional one that is absent */
	int ins, outs;
	struct attribute *attributes;
	int attribute_count;
	int since;            /* version of the domain in force: the model's opset import; 0: not imported */
	const char *overload; /* of a model function that it calls; else "" */
	bool is_given; /* the model has it; else it was made in the place of one, and may take types that no version has
	                */
	const struct own *own; /* a kernel of the user's that computes it (definitions.h); NULL: none */
	int mark;              /* scratch of the pass that runs; means nothing between passes */
};

struct opset {
	const char *domain;
	int64_t version;
};

/* A name read before what it names: `slot` is filled by graph_close. */
struct use {
	struct tensor **slot;
	const char *name, *where;
};
struct tensor_index;

/* An input or output under the model's name: a tensor, or what has a list. */
struct whole {
	const char *name;
	struct tensor *tensor;
};
/* An input that is the constant `value` wherever it was read. */
struct fixed {
	struct tensor *input, *value;
};
/* An input, int64 without dims, that says how many there are of a symbol: between these. */
struct bounded {
	struct tensor *size;
	int64_t least, most;
};
/* A symbol that outputs alone have: who makes a dim of it says how many there are, between these; `first` is the output
 * that says it to all others. */
struct asked {
	const char *symbol;
	int64_t least, most;
	struct tensor *first;
	int dim;
};

struct graph {
	struct build *build;
	const char *name;    /* interned */
	const char *file;    /* for messages */
	struct graph *outer; /* NULL: the main graph */
	int64_t ir_version;
	bool exact;           /* of a main graph: a declared shape that the graph contradicts is refused */
	const char *producer; /* what wrote the model, name and version; "" where it does not say */
	VECTOR(struct opset) opsets;
	VECTOR(const char *)
	external; /* the files that it was read from besides its own, below the model's folder; of a main graph */
	VECTOR(struct tensor *) tensors; /* all, in order of appearance */
	VECTOR(struct tensor *) inputs;  /* without initialisers, unless kept by --keep-input */
	VECTOR(struct tensor *) outputs;
	/* As the model has them, where some are no tensors; the tensors of such a one stand in its place in `inputs`
	 * and `outputs`.  Else empty. */
	VECTOR(struct whole) whole_inputs, whole_outputs;
	VECTOR(struct fixed) fixed; /* each is asked when it runs */
	VECTOR(struct bounded)
	sizes; /* of symbols that are bound to a range: what the dims with it have as their count */
	VECTOR(struct bounded)
	said; /* inputs, integers without dims, whose values are said to be between two: how many rounds a loop has */
	VECTOR(struct asked) asked; /* symbols of outputs that are bound to a range */
	bool bounded;               /* extents that data decide and nobody declares are bounds, with counts */
	VECTOR(struct node *) nodes;
	VECTOR(struct use) uses;    /* while the graph is read: names without a tensor yet */
	struct tensor_index *index; /* name -> tensor; of `tensors` alone */
	int depth;                  /* 0: the main graph */
	const struct guard *guard;  /* of the nodes that are added now */
	const char *templates; /* of the main graph: folder whose texts of operators come before those in the program;
	                          NULL: none */
};

/* ---- build.c ---- */
/* `file` and names are kept (interned where they are names); EXIT_LIMIT beyond MAX_DEPTH. */
struct graph *graph_new(struct build *, const char *name, const char *file, struct graph *outer);
struct tensor *graph_tensor(struct graph *, const char *name); /* finds, here or in the outer ones; NULL: none */
struct tensor *graph_tensor_new(
        struct graph *, const char *name); /* type and rank unknown; fails where the name is taken */
struct tensor *graph_tensor_fresh(struct graph *, const char *like); /* a new name made of `like` */
/* A constant of known extents under a fresh name; `data` is copied (graph_constant) or must live as long as the build.
 */
struct tensor *graph_constant(
        struct graph *, const char *like, enum dtype, int rank, const int64_t *extents, const void *data);
struct tensor *graph_constant_borrowed(
        struct graph *, const char *like, enum dtype, int rank, const int64_t *extents, const void *data);
void graph_reindex(struct graph *);                           /* after tensors were taken out of `tensors` */
void graph_cut(struct graph *, size_t nodes, size_t tensors); /* takes out what is behind so many */
/* A node at the end of `nodes`, with its inputs and outputs NULL.  node_output makes output k and its tensor. */
struct node *graph_node_new(struct graph *, const char *domain, const char *type, const char *name, int ins, int outs);
struct tensor *node_output(struct node *, int k, const char *name);

/* For readers: fills *slot with the tensor of that name, at once or in graph_close, when the names of this graph and of
 * the outer ones are all there; `where` is for the message that nothing has that name.  Inner names go first.
 * graph_close hands what it cannot resolve to the outer graph, and fails with EXIT_INVALID in the outermost. */
void graph_use(struct graph *, struct tensor **slot, const char *name, const char *where);
void graph_close(struct graph *);

const struct attribute *node_attribute(const struct node *, const char *name); /* NULL: absent */
int64_t node_int(const struct node *, const char *name, int64_t otherwise); /* fails (EXIT_INVALID) on another kind */
float node_float(const struct node *, const char *name, float otherwise);
const char *node_string(const struct node *, const char *name, const char *otherwise);
/* The list, or NULL and count 0 where absent. */
const int64_t *node_ints(const struct node *, const char *name, size_t *count);

/* Elements of a tensor whose extents are all known; fails with EXIT_LIMIT on overflow. -1 where one is not known. */
int64_t tensor_elements(struct build *, const struct tensor *);
const void *tensor_data(const struct tensor *); /* of a constant; definitions/late.c */
/* One element of a constant of an integer type or bool (also below 8 bits) / of F32 and F64; asserts otherwise. */
int64_t tensor_int(const struct tensor *, size_t i);
/* Of bytes that stand for strings: type and rank as the model has them; else the tensor. */
struct tensor tensor_told(const struct tensor *);
double tensor_float(const struct tensor *, size_t i);
struct graph *graph_main(const struct graph *);                      /* the one that holds all others */
struct asked *graph_asked(const struct graph *, const char *symbol); /* NULL: it is none of those */
bool tensor_is_known(const struct tensor *); /* type, rank and all extents; of a list: its elements', all */

/* ---- rewrite.c: for passes, over a main graph and its subgraphs ---- */
/* Every tensor gets its place in the list as its mark; the list maps each to itself.  A pass puts another tensor there,
 * and graph_substitute puts that one, or the one it stands for in turn, wherever the first was read or was an output.
 */
struct tensor **graph_number(struct graph *);
void graph_substitute(struct graph *, struct tensor **instead);
/* Removes nodes no output depends on, and tensors nobody makes or reads.  Needs topological order. */
void graph_sweep(struct graph *);

/* ---- check.c: names unique, producers right, topological order (sorted where the file was not), attributes
 * well-formed ---- */
void graph_check(struct graph *);

/* ---- print.c: ONNX's textual syntax; frontends/onnx_text.c reads it back ---- */
/* Of a constant `elements` elements at most are printed, then …, where elements >= 0: for people; it does not read back
 * then. */
void graph_print(const struct graph *, int64_t elements, struct text *out);
const char *name_text(struct build *, const char *name); /* as it is, or in quotes where it is no identifier */
const char *type_of_tensor(
        struct build *, const struct tensor *); /* float[1,N,?]; float: rank 0; float[]: rank unknown; seq(float[2]) */

#endif
