/* caches.c: graph -> graph.  A state that grows: `present` is Concat(past, new), and how many rows `past` has is what a
 * call says.  Both lie in one buffer then, of as many rows as `present` has at most, so that a row stays where it is
 * when others come behind it: `past` is read there, and the Concat writes the new rows alone (define_appended). */
#include "passes/passes.h"

/* The one dim of which a call says how many there are; -1: none, or several. */
static int counted_axis(const struct tensor *tensor)
{
	int axis = -1, counts = 0;
	FOR (d, tensor->rank)
		if (tensor->dims[d].count) {
			axis = d;
			counts++;
		}
	return counts == 1 ? axis : -1;
}

void pass_cache(struct graph *graph, const char *input, const char *output)
{
	struct tensor *past = graph_tensor(graph, input), *present = graph_tensor(graph, output);
	const struct node *node = present && present->is_output ? present->producer : NULL;
	if (!past || !past->is_input || !node || node->guard || strcmp(node->type, "Concat") || *node->domain
	        || node->ins != 2 || node->in[0] != past || node->in[1] == past || past->type != present->type
	        || dtype_bytes(past->type, 8) % 8)
		return;
	int axis = counted_axis(past);
	if (axis < 0 || axis != counted_axis(present))
		return;
	past->cache = present;
	present->is_cache = true;
}
