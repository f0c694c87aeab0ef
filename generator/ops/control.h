/* control.h: what the expansions of If, Loop and Scan share; control.c says how. */
#ifndef CONTROL_H
#define CONTROL_H
#include "frontends/frontends.h"
#include "ops/ops.h"
#include <inttypes.h>

/* Rounds one after the other; rounds of a loop that stays one. */
enum { ROUNDS_MOST = 4096, REPEATED_MOST = INT32_MAX };

/* A node that holds graphs, while its nodes are being made. */
struct holder {
	struct bodies *bodies;
	struct node *node;
	struct graph *graph; /* that the new nodes go to */
	struct arena *arena;
	struct expansion expansion;
};
struct holder holder_of(struct bodies *, struct node *);
struct holder holder_inside(const struct holder *, const struct repeating *); /* the same, into a loop's body */

/* ---- nodes of our own between those of the graphs ---- */
/* out[0] of a node, inferred: without attributes; with one number, as `out` or (NULL) a fresh tensor. */
struct tensor *holder_add(struct holder *, const char *domain, const char *type, int ins, struct tensor *const *in);
struct tensor *holder_add_with(struct holder *, const char *domain, const char *type, int ins, struct tensor *const *in,
        const char *attribute, int64_t value, struct tensor *out);
struct tensor *holder_number(struct holder *, int rank, int64_t value); /* rank 0, or 1 of one element */
struct tensor *holder_truth(struct holder *, bool value);
/* Tensors side by side along a new axis; of none, the shape that parts as `like` would make. */
struct tensor *holder_stack(struct holder *, int64_t count, struct tensor *const *parts, int64_t axis);
struct tensor *holder_stack_none(struct holder *, const struct tensor *like, int64_t axis);
/* One of two of one rank, by a condition that comes at run time; of two lists, element by element. */
struct tensor *holder_select(struct holder *, struct tensor *condition, struct tensor *yes, struct tensor *no);
void holder_out(struct holder *, int k, struct tensor *); /* output k of the node, where it has one, is this */

/* ---- the graphs ---- */
struct graph *control_graph(const struct node *, const char *name);
void control_want_graph(/* more: outputs behind those */
        const struct node *, const char *name, const struct graph *, size_t ins, size_t outs, bool more);
void control_want_truth(const struct node *, int i);                               /* input i is a condition */
void holder_want_fit(const struct holder *, size_t i, const struct tensor *given); /* type and rank of its input i */
const char *holder_described(const struct holder *, const struct tensor *);        /* its type, for a message */
bool types_differ(const struct tensor *, const struct tensor *); /* false where one is not known, as for all of these */
bool extents_differ(const struct tensor *, const struct tensor *); /* of one rank */
bool shapes_differ(const struct tensor *, const struct tensor *);  /* ranks or extents, of a list's elements too */
/* The body's nodes, inferred; its outputs, those that the node has not too.  condition: they are needed where it is
 * `yes`; NULL: always. */
struct tensor **holder_expand(struct holder *, int ins, struct tensor **in, struct tensor *condition, bool yes);
struct tensor **holder_expand_none(struct holder *, int ins, struct tensor **in); /* for shapes alone: taken back */
void holder_find_steady(struct holder *); /* what no round changes is made by the first one alone */

/* ---- control_loop.c ---- */
NORETURN void control_refuse_loop(const struct node *); /* nothing bounds its rounds */

/* ---- control_grows.c ---- */
/* False: nothing grows, and all is as it was.  Else others stand in the place of the Loop, whose inputs, outputs and
 * body have been looked at. */
bool control_stack_growing(struct bodies *, struct node *);
#endif
