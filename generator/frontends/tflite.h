/* tflite.h: what the reader of TensorFlow Lite files is made of: its tensors and operators, and what their bodies are
 * written with. */
#ifndef FRONTENDS_TFLITE_H
#define FRONTENDS_TFLITE_H
#include "frontends/flatbuffer.h"
#include "frontends/reader.h"

/* A tensor of the file.  `value` is what it holds, `real` what that means: the same, or floats where it is quantised.
 * Each is made when it is first asked for. */
struct tfl_tensor {
	struct table table;
	const char *name;
	enum dtype type;
	int rank;
	int64_t extents[MAX_RANK];
	bool known; /* all extents are */
	struct vector scales, zeros;
	int axis; /* of the scales, where they are several */
	struct tensor *value, *real;
	struct tensor *first, *first_real; /* the same with channels first, as ONNX has them */
	bool made;                         /* an operator before this one, the caller, or the file */
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
	struct tfl_variable **variables; /* the last one first */
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

/* tables/tflite.h: the operators of the schema, those without a body too. */
struct tfl_row {
	const char *name;
	int options; /* of the union BuiltinOptions */
	int newest;  /* version that is known */
	void (*body)(struct tfl_op *);
	const char *word; /* ONNX's operator, where the body serves several */
};
enum { TFL_OPERATORS = 210 };
extern const struct tfl_row tfl_rows[TFL_OPERATORS];
const struct tfl_row *tfl_row_of(int64_t code, const char *custom); /* NULL: the schema has none */

/* ---- tflite.c: what a body reads … ---- */
struct tfl_tensor *tfl_in(struct tfl_op *, size_t i); /* NULL: it is absent; EXIT_INVALID where it must not be */
struct tfl_tensor *tfl_out(struct tfl_op *, size_t k);
bool tfl_has(struct tfl_op *, size_t i);
struct tensor *tfl_value(struct tfl_op *, struct tfl_tensor *);    /* as it is stored */
struct tensor *tfl_real(struct tfl_op *, struct tfl_tensor *);     /* what it means */
const int64_t *tfl_ints(struct tfl_op *, size_t i, size_t *count); /* of a constant; NULL: it is none */
struct tensor *tfl_int64(struct tfl_op *, size_t i);               /* a list of int64, constant or not */
NORETURN void tfl_cannot(struct tfl_op *, const char *what);       /* EXIT_UNSUPPORTED */
void tfl_invalid(struct tfl_op *, bool wrong, const char *what);   /* EXIT_INVALID where `wrong` */

/* … and what it makes: a node, its attributes, its results. */
struct tensor *tfl_node(struct tfl_op *, const char *type, int ins, struct tensor *const *in);
struct tensor *tfl_one(struct tfl_op *, const char *type, struct tensor *);
struct tensor *tfl_two(struct tfl_op *, const char *type, struct tensor *, struct tensor *);
struct tensor *tfl_order(struct tfl_op *, struct tensor *, int rank, const int64_t *order);
struct tensor *tfl_reshape_to(struct tfl_op *, struct tensor *, int rank, const int64_t *extents);
struct tensor *tfl_list(struct tfl_op *, size_t count, const int64_t *);
struct tensor *tfl_number(struct tfl_op *, float);
/* Attributes of the node that makes a tensor. */
struct tensor *tfl_set_int(struct tensor *, const char *name, int64_t);
struct tensor *tfl_set_float(struct tensor *, const char *name, float);
struct tensor *tfl_set_text(struct tensor *, const char *name, const char *);
struct tensor *tfl_set_ints(struct tensor *, const char *name, size_t count, const int64_t *);
struct tensor *tfl_activate(struct tfl_op *, struct tensor *, int64_t activation);
void tfl_give(struct tfl_op *, size_t k, struct tensor *real);         /* output k, quantised where the file says so */
void tfl_give_stored(struct tfl_op *, size_t k, struct tensor *value); /* output k, as it is stored */
struct tensor *tfl_nodes(struct tfl_op *, const char *type, int ins, struct tensor *const *in, int outs); /* output 0 */
struct tensor *tfl_dequantise(struct tfl_op *, const struct tfl_tensor *, struct tensor *value, int axis);
struct tensor *tfl_zero(struct tfl_op *, const struct tfl_tensor *); /* what is stored for 0 */
/* What t means or is stored as, of 4 dimensions, with channels first; and output k made of such. */
struct tensor *tfl_first(struct tfl_op *, struct tfl_tensor *, bool real);
void tfl_give_first(struct tfl_op *, size_t k, struct tensor *, bool real);
bool tfl_quantised(const struct tfl_tensor *);
/* Do the same stored numbers mean the same? */
bool tfl_same(const struct tfl_tensor *, const struct tfl_tensor *);

struct tensor *tfl_named(struct tfl_op *, struct tensor *made, const char *name);
void tfl_subgraph(struct tfl_op *, size_t index); /* the operators of another one, in its own place */

/* ---- tflite_state.c ---- */
struct tensor *tfl_state(struct tfl_op *, struct tfl_tensor *);             /* of a tensor that outlives a run */
void tfl_state_next(struct tfl_op *, struct tfl_tensor *, struct tensor *); /* what it is from now on */
size_t tfl_states(const struct tfl *);                                      /* how many outputs they take … */
void tfl_give_states(struct tfl_op *, struct tensor **outputs);             /* … and those */

/* ---- tflite_sparse.c ---- */
/* The elements of a sparse constant, those that are not there too. */
struct bytes tfl_dense(const struct table *sparsity, const struct tfl_tensor *, struct bytes values);
#endif
