/* passes.h: graph -> graph, one file each.  pipeline.c says in which order they run. */
#ifndef PASSES_PASSES_H
#define PASSES_PASSES_H
#include "graph/graph.h"

/* infer.c: types and shapes of all tensors; constants folded.  Symbolic dims stay symbolic.  EXIT_INVALID where a node is wrong,
 * EXIT_UNSUPPORTED where ingot does not know its op, EXIT_LIMIT where a tensor is too large. */
void pass_infer(struct graph *);

#endif
