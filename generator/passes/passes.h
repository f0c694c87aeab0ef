/* passes.h: graph -> graph, one file each.  pipeline.c says in which order they run. */
#ifndef PASSES_PASSES_H
#define PASSES_PASSES_H
#include "graph/graph.h"

/* ---- bind.c: symbolic dims of the inputs get extents; a symbol gets it wherever it stands ---- */
/* The name is a symbol, or INPUT:AXIS.  The symbol stays beside the extent. */
struct binding {
	const char *name;
	int64_t extent, least; /* of a range: the most and the least */
	bool ranged;           /* the graph gets an input of that name then: how many there are */
};
struct binding binding_parse(struct build *,
        const char *option); /* NAME=VALUE or NAME=LEAST..MOST, as --dim has it; EXIT_USAGE where it is not */
/* EXIT_USAGE: no input has a dim of that name (the known ones are listed), or it is bound to two extents. */
void pass_bind(struct graph *, const struct binding *, int count);
const char *name_of_dim(struct build *, const struct tensor *input, int axis); /* its symbol, or INPUT:AXIS */
/* All names that --dim may have: "N", "x:0". */
void graph_dims(struct graph *, struct choices *);
/* Whether an input has a dim that --dim calls so. */
bool graph_has_dim(struct graph *, const char *name);
/* Binds by the shape of an input's data; EXIT_USAGE where it does not fit the declared one. */
void pass_bind_input(struct graph *, struct tensor *input, int rank, const int64_t *extents);
/* The options that would bind what is not bound: " --dim N=1 --dim M=1"; "": all is. */
const char *unbound_dims(struct graph *);
/* Whether an input is none of the model's own: it says how many there are of a symbol. */
bool graph_is_size(const struct graph *, const struct tensor *);
/* EXIT_USAGE where dims of inputs are still unbound: all are named, with --dim. */
void pass_bound(struct graph *);

/* ---- lists.c: sequences and optionals that go in or out become the tensors that they hold: x_0, x_1 …; of an optional
 * tensor x itself ---- */
/* What --elements says of an input: NAME=COUNT, NAME=[2,3],[4] (a shape for each element), NAME=none (an optional
 * without a value); of an output shapes alone, where they depend on a value that comes at run time. */
struct holding {
	const char *name;
	int64_t count;
	bool nothing;
	const struct tensor *shapes;
};
struct holding holding_parse(struct build *, const char *option); /* EXIT_USAGE where it is none of these */
/* EXIT_USAGE: no input of that name, or one that is a tensor, said twice, or nothing where it is not optional.  With
 * `some`, the first is passed over. */
void pass_holdings(struct graph *, const struct holding *, int count, bool some);
/* The input becomes its elements, `count` of them, of the shapes that the model says; they stand in its place. */
void pass_whole_input(struct graph *, struct tensor *input, size_t count, bool nothing);
/* An output that is a sequence holds tensors of these shapes, `count` of them: what a value at run time decides is
 * checked to be so. */
void pass_say_output(struct graph *, struct tensor *output, size_t count, const struct tensor *shapes);
/* A new tensor under the tensor's name, which gets another. */
struct tensor *pass_renewed(struct graph *, struct tensor *);
/* Inputs that are maps become NAME_keys and NAME_values, of NAME_count elements each. */
void pass_maps(struct graph *);
/* Inputs that are strings become their bytes, uint8 with one more dim, NAME_bytes of them; ingot.Text makes strings of
 * those. */
void pass_strings(struct graph *);
/* Outputs become the elements that inference found; one of which it knows none stays. */
void pass_whole_outputs(struct graph *);

/* ---- values.c: an integer input whose value is known when the model is compiled ---- */
/* What --value says of an input: NAME=2,3,5, all its elements in C order. */
enum { VALUES_MOST = 4096 };
struct saying {
	const char *name;
	size_t count;
	const int64_t *values;
};
struct saying saying_parse(struct build *, const char *option); /* EXIT_USAGE where it is none */
bool tensor_can_be_held(const struct tensor *); /* an input of whole numbers or bools, a byte each at least */
/* The input is a constant of these values wherever it is read; a run that brings others ends with a status.  A tensor
 * of one dimension gets its extent so. EXIT_USAGE where they are not as many as it has elements, or one is none of its
 * type. */
void pass_hold(struct graph *, struct tensor *input, size_t count, const int64_t *values);
/* EXIT_USAGE: no such input, or said twice.  With `some`, the first is passed over. */
void pass_values(struct graph *, const struct saying *, size_t count, bool some);

/* ---- constants.c: Constant nodes become constants, Identity nodes nothing, what nobody uses goes; needs and keeps
 * order ---- */
void pass_constants(struct graph *);

/* ---- supported.c ---- */
/* EXIT_UNSUPPORTED where ingot does not know the op of a node: all such ops, with counts and nodes. */
void pass_supported(struct graph *);

/* ---- infer.c: types and shapes of all tensors; constants folded.  Symbolic dims stay symbolic. ---- */
/* EXIT_INVALID where a node is wrong, EXIT_UNSUPPORTED where ingot does not know its op, EXIT_LIMIT where a tensor is
 * too large. */
void pass_infer(struct graph *);

/* ---- simplify.c: fewer nodes of the same meaning (rounding apart): biases and norms into what they follow, Gelu found
 * ---- */
/* Needs types and shapes.  Keeps order.  Ops that ONNX lacks get the domain "ingot". */
void pass_simplify(struct graph *);

/* ---- merge.c: nodes of the main graph that compute the same of the same are one, and so are shapes and numbers.
 * Needs types and shapes.  Keeps order. ---- */
void pass_merge(struct graph *);

/* ---- caches.c: a state of as many rows as a call says, and the output that has new ones behind them ---- */
/* One buffer for both, where the output is Concat(input, new rows); else nothing.  Needs types and shapes. */
void pass_cache(struct graph *, const char *input, const char *output);

#endif
