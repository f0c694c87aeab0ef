/* simplify_shapes.c: two steps that only move elements become one, or none.  What turns out to do nothing becomes an
 * Identity. */
#include "passes/simplify.h"
#include "ops/ops.h"

static bool same_shape(const struct tensor *a, const struct tensor *b)
{
	if (!tensor_is_known(a) || !tensor_is_known(b) || a->rank != b->rank)
		return false;
	FOR (d, a->rank)
		if (a->dims[d].extent != b->dims[d].extent || a->dims[d].count != b->dims[d].count)
			return false;
	return true;
}

static bool become_identity(struct node *node, struct tensor *x)
{
	node->outs = 1;
	become(node, "", "Identity", 1, &x);
	return true;
}

/* ---- Transpose ---- */
static bool permutation(const struct node *node, int64_t *perm)
{
	size_t given;
	const int64_t *ints = node_ints(node, "perm", &given);
	int rank = node->in[0]->rank;
	if (rank < 0 || (ints && given != (size_t)rank))
		return false;
	FOR (d, rank)
		perm[d] = ints ? ints[d] : rank - 1 - d;
	return true;
}

bool join_transposes(struct node *node)
{
	int64_t outer[MAX_RANK], inner[MAX_RANK];
	bool nothing = true;
	if (!permutation(node, outer))
		return false;
	struct arena *arena = node->graph->build->arena;
	struct node *before = node->in[0]->producer;
	int rank = node->in[0]->rank;
	struct tensor *x = node->in[0];
	bool joined = is_op(before, "Transpose") && permutation(before, inner);
	int64_t *perm = arena_new_array(arena, int64_t, (size_t)rank + 1);
	FOR (d, rank) {
		perm[d] = joined ? inner[outer[d]] : outer[d];
		nothing &= perm[d] == d;
	}
	if (joined)
		x = before->in[0];
	if (nothing)
		return become_identity(node, x);
	if (!joined)
		return false;
	struct attribute *attribute = arena_new(arena, struct attribute);
	*attribute = (struct attribute){ .name = name_is(node->graph->build->names, "perm"),
		.kind = ATTRIBUTE_INTS,
		.count = (size_t)rank,
		.ints = perm };
	become(node, "", "Transpose", 1, &x);
	node->attributes = attribute;
	node->attribute_count = 1;
	return true;
}

/* ---- Reshape and its kin ---- */
/* With an operand that comes at run time it stays: it checks that. */
static bool keeps_order(const struct node *node)
{
	bool late = node && node->ins > 1 && node->in[1] && !node->in[1]->data;
	return !late
	        && (is_op(node, "Reshape") || is_op(node, "Flatten") || is_op(node, "Squeeze")
	                || is_op(node, "Unsqueeze"));
}

enum { SHAPE_IS_INPUT = 5 }; /* the opset from which Reshape takes its shape as an input */

bool join_reshapes(struct node *node)
{
	struct tensor *x = node->in[0], *y = node->out[0];
	if (!keeps_order(node))
		return false;
	if (same_shape(x, y))
		return become_identity(node, x);
	if (!keeps_order(x->producer) || !tensor_is_known(y))
		return false;
	x = x->producer->in[0];
	if (same_shape(x, y))
		return become_identity(node, x);
	if (tensor_counted(x) || tensor_counted(node->in[0]) || tensor_counted(y))
		return false; /* what is left of what is there may have to be asked */
	int64_t shape[MAX_RANK], rank = y->rank;
	FOR (d, y->rank)
		if ((shape[d] = y->dims[d].extent) == 0)
			return false; /* a 0 in a shape means something else */
	if (node->since < SHAPE_IS_INPUT)
		return false;
	struct tensor *constant = graph_constant(node->graph, "shape", DTYPE_I64, 1, &rank, shape);
	become(node, "", "Reshape", 2, (struct tensor *[]){ x, constant });
	return true;
}

/* In inference the mask alone is more than the data. */
bool drop_dropout(struct node *node)
{
	return (node->outs == 1 || !node->out[1]) && node->out[0] && !dropout_trains(node)
	        && become_identity(node, node->in[0]);
}
