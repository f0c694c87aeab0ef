/* simplify.h: the rules of simplify.c, a file for each kind, and the words that they share.
 * A rule gets a node of its type whose types and shapes are known and changes it, or returns false and leaves all as it
 * was. */
#ifndef PASSES_SIMPLIFY_H
#define PASSES_SIMPLIFY_H
#include "graph/graph.h"

/* ---- simplify.c ---- */
bool is_op(const struct node *, const char *type); /* of ONNX's own domain; NULL is none */
/* The producer of a tensor, if it is of this type and the tensor has one reader and is no output; else NULL. */
struct node *only_reader(const struct tensor *, const char *type);
void take_output(struct node *, struct node *after); /* makes what `after` made, which goes */
void become(struct node *, const char *domain, const char *type, int ins,
        struct tensor *const *in); /* without attributes */
void set_input(struct node *, int i, struct tensor *);

/* ---- simplify_bias.c: into the Conv, Gemm or MatMul before it ---- */
bool fold_normalization(struct node *); /* BatchNormalization whose statistics are constants */
bool fold_bias(struct node *);          /* Add of a constant for each channel or column */

/* ---- simplify_gelu.c ---- */
bool find_gelu(struct node *); /* x * 0.5 * (1 + erf(x / sqrt 2)), however it is written */

/* ---- simplify_shapes.c ---- */
bool join_transposes(struct node *);
bool join_reshapes(struct node *); /* Reshape, Flatten, Squeeze, Unsqueeze */
bool drop_dropout(struct node *);
#endif
