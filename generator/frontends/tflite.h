/* tflite.h: what the reader of TensorFlow Lite files is made of. */
#ifndef FRONTENDS_TFLITE_H
#define FRONTENDS_TFLITE_H
#include "frontends/flatbuffer.h"
#include "frontends/reader.h"

/* A tensor of the file.  `value` is what it holds, `real` what that means: the same, or floats where it is quantised.
 * Each is made when it is first asked for. */
struct tfl_tensor {
	struct table table;
	struct tensor said; /* name, type and shape */
	struct vector scales, zeros;
	int axis; /* of the scales, where they are several */
	struct tensor *value, *real;
	struct tensor *first, *first_real; /* the same with channels first, as ONNX has them */
	struct tfl_variable *variable;     /* of a resource: which it names; of a tensor that outlives a run: itself */
};

/* What outlives a run: an input NAME and an output NAME_next, for --state.  State begins as zeros, so where a variable
 * begins as something else, those carry the difference. */
struct tfl_variable {
	const char *name; /* interned; unique among variables */
	struct tensor *initial, *input, *now;
	struct tfl_variable *next;
};

struct tfl {
	struct reader *reader;
	struct build *build;
	struct graph *graph;
	struct flat flat;
	struct vector buffers;
	struct tfl_tensor *tensors;
	size_t count;
	struct tfl_variable **variables; /* the last one first … */
	size_t *states;                  /* … and how many are outputs */
	bool is_initial;                 /* this is the subgraph that says how variables begin */
};

/* An operator of the file, while its nodes are made. */
struct tfl_op {
	struct tfl *tfl;
	const struct tfl_row *row;
	struct table table, options;
	const char *name, *where;
	struct vector in, out;
};

/* tables/tflite.h: the operators of the schema, those without a type too. */
struct tfl_row {
	const char *name;
	int options;      /* of the union BuiltinOptions */
	int newest;       /* version that is known */
	const char *type; /* NULL: ingot has none */
	int how;
	const char *attributes;
};

/* ---- tflite_ops.c ---- */
const struct tfl_row *tfl_row_of(int64_t code, const char *custom); /* NULL: the schema has none */
void tfl_make(struct tfl_op *);                                     /* the nodes of an operator, and its outputs */

/* ---- tflite.c: what an operator reads … ---- */
struct tfl_tensor *tfl_in(struct tfl_op *, size_t i); /* EXIT_INVALID where it is absent */
struct tfl_tensor *tfl_out(struct tfl_op *, size_t k);
bool tfl_has(struct tfl_op *, size_t i);
struct tensor *tfl_value(struct tfl_op *, struct tfl_tensor *);            /* as it is stored */
struct tensor *tfl_real(struct tfl_op *, struct tfl_tensor *);             /* what it means */
struct tensor *tfl_first(struct tfl_op *, struct tfl_tensor *, bool real); /* one of the two, its channels first */
struct tensor *tfl_int64(struct tfl_op *, size_t i);                       /* a list of int64, constant or not */
bool tfl_quantised(const struct tfl_tensor *);
bool tfl_same(const struct tfl_tensor *, const struct tfl_tensor *); /* do the same stored numbers mean the same? */
NORETURN void tfl_cannot(struct tfl_op *, const char *what);         /* EXIT_UNSUPPORTED */

/* … and what it makes: a node, of which output 0 is returned; attributes of the node that makes a tensor. */
struct tensor *tfl_node(
        struct tfl_op *, const char *domain, const char *type, int ins, struct tensor *const *in, int outs);
struct tensor *tfl_two(struct tfl_op *, const char *type, struct tensor *, struct tensor *); /* of one: NULL */
struct attribute *tfl_attribute(struct tensor *, const char *name, enum attribute_kind);
struct tensor *tfl_order(struct tfl_op *, struct tensor *, const int64_t *order); /* of 4 dims; it is kept */
struct tensor *tfl_dequantise(struct tfl_op *, const struct tfl_tensor *, struct tensor *value, int axis);
struct tensor *tfl_quantise(struct tfl_op *, const struct tfl_tensor *, struct tensor *real); /* as that is stored */
struct tensor *tfl_named(struct tfl_op *, struct tensor *made, const char *name);
void tfl_give(struct tfl_op *, size_t k, struct tensor *stored, bool first); /* output k; its channels are first */
void tfl_subgraph(struct tfl_op *, size_t index); /* the operators of another one, in its own place */

/* ---- tflite_state.c ---- */
struct tensor *tfl_state(struct tfl_op *, struct tfl_tensor *); /* of a tensor that outlives a run */
void tfl_hold(struct tfl_variable *, struct tensor *now);       /* what it holds from here on */
void tfl_give_states(struct tfl_op *, struct tensor **outputs);
void tfl_own(struct tfl_op *); /* an operator that a function says */

/* ---- tflite_sparse.c: the elements of a sparse constant, those that are not there too ---- */
struct bytes tfl_dense(const struct table *sparsity, const struct tensor *said, struct bytes values);
#endif
