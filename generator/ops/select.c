/* select.c: ingot.Select, one of two tensors of one rank, by a condition that comes at run time. */
#include "ops/words.h"

/* Whether the condition decides how many elements there are. */
static bool is_joined(struct dim yes, struct dim no) { return yes.extent != no.extent || yes.count != no.count; }

/* The larger extent is a bound then: the node has the counts of both as inputs behind its own, and how many there are
 * as one more output for each such dim. */
static void join_dims(struct node *node, struct dim *dims)
{
	struct graph *graph = node->graph;
	const struct tensor *yes = node->in[1], *no = node->in[2];
	struct tensor **in = arena_new_array(graph->build->arena, struct tensor *, 3 + 2 * MAX_RANK),
	              **out = arena_new_array(graph->build->arena, struct tensor *, 1 + MAX_RANK);
	int ins = 3, outs = 1;
	memcpy(in, node->in, 3 * sizeof *in);
	COPY(out, node->out, node->outs);
	FOR (d, yes->rank) {
		dims[d] = yes->dims[d];
		if (!is_joined(yes->dims[d], no->dims[d]))
			continue;
		FOR_FROM (i, 1, 3)
			if (node->in[i]->dims[d].count)
				in[ins++] = node->in[i]->dims[d].count;
		if (!out[outs])
			out[outs] = graph_tensor_fresh(graph, "count");
		out[outs]->producer = node;
		dims[d] = (struct dim){ yes->dims[d].extent > no->dims[d].extent ? yes->dims[d].extent
			                                                         : no->dims[d].extent,
			NULL, out[outs] };
		outs++;
	}
	INVALID_IF(node->outs > outs, " has %d outputs, %d %s right", node->outs, outs, outs == 1 ? "is" : "are");
	node->in = in;
	node->ins = ins;
	node->out = out;
	node->outs = outs;
	FOR_FROM (k, 1, outs)
		infer_output(node, k, DTYPE_I64, 0, NULL);
}

void infer_select(struct node *node)
{
	struct dim dims[MAX_RANK];
	infer_counts(node, 3, 3 + 2 * MAX_RANK, 1 + MAX_RANK);
	infer_first(node);
	const struct tensor *yes = node->in[1], *no = node->in[2];
	infer_scalar(node, 0);
	infer_any_type(node, 1);
	infer_same_type(node, 2, yes->type);
	enum dtype type = yes->type != DTYPE_NONE ? yes->type : no->type;
	FAIL_IF(ranks_differ(yes, no), EXIT_UNSUPPORTED,
	        "%s in one case and %s in the other; a number of dimensions that comes at run time is not "
	        "supported",
	        type_of_tensor(node->graph->build, yes), type_of_tensor(node->graph->build, no));
	if (yes->rank < 0 || no->rank < 0) {
		infer_type(node, 0, type);
		return;
	}
	if (tensor_is_known(yes) && tensor_is_known(no))
		join_dims(node, dims);
	else
		FOR (d, yes->rank) /* a bound that is not there yet may be one of either */
			dims[d] = is_joined(yes->dims[d], no->dims[d])
			                || (!dim_is_known(yes->dims[d]) && yes->dims[d].symbol != no->dims[d].symbol)
			        ? dim_unknown
			        : yes->dims[d];
	infer_output(node, 0, type, yes->rank, dims);
}

/* Input i where it has elements; else 0. */
static expr_ref of_branch(struct definer *definer, int i, int rank, const int64_t *extents, const index_ref *at)
{
	struct definition *x = IN(i);
	struct range there[MAX_RANK];
	int count = 0;
	FOR (d, rank) {
		if (x->extents[d] == 0)
			return LIKE(x, 0);
		if (x->extents[d] < extents[d])
			there[count++] = (struct range){ at[d], 0, x->extents[d] };
	}
	expr_ref load = BROADCAST(x, rank, at);
	return count ? SELECT(there, count, load, LIKE(x, 0)) : load;
}

/* What is inlined of the one that is not chosen is not computed. */
void define_select(struct definer *definer)
{
	SHAPE(0, rank, extents, at);
	expr_ref condition = CAST(DTYPE_I64, BROADCAST(IN(0), 0, NULL));
	struct range chosen = { VALUE(condition, 0, UINT8_MAX), 1,
		UINT8_MAX + 1 }; /* a bool of the caller may be any byte */
	for (int d = 0, in = 3, out = 1; d < rank; d++) {
		expr_ref many[3];
		if (!is_joined(NODE->in[1]->dims[d], NODE->in[2]->dims[d]))
			continue;
		FOR_FROM (i, 1, 3)
			many[i] = NODE->in[i]->dims[d].count ? ELEMENT(in++, 0) : I(NODE->in[i]->dims[d].extent);
		OUT(out++, SELECT(&chosen, 1, many[1], many[2]));
	}
	OUT(0, SELECT(&chosen, 1, of_branch(definer, 1, rank, extents, at), of_branch(definer, 2, rank, extents, at)));
}
