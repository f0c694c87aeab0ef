/* running.c: CumSum and CumProd: each element with all before it.  The axis is an operand; where it comes at run time,
 * every axis is run along and the operand picks one. */
#include "ops/words.h"

void infer_running(struct node *node)
{
	int64_t count;
	const struct tensor *x = node->in[0], *axis = node->in[1];
	INVALID_IF(infer_number_type(node, 0) == DTYPE_BOOL, "input 0 is bool, a number is right");
	INVALID_IF(axis->type != DTYPE_NONE && axis->type != DTYPE_I64 && axis->type != DTYPE_I32,
	        "the axis is %s, int64 or int32 is right", dtypes[axis->type].text);
	infer_scalar(node, 1);
	const int64_t *at = node_in_ints(node, 1, &count);
	INVALID_IF(!x->rank, "data has 0 dimensions, at least 1 is right");
	if (at && x->rank > 0)
		node_axis(node, *at, x->rank);
	infer_output_like(node, 0, x);
}

static struct definition *run_along(struct definer *definer, const char *name, int axis, enum reduce reduce)
{
	struct definition *x = IN(0);
	expr_ref to[MAX_RANK] = { NULL };
	bool exclusive = attribute_int(NODE, "exclusive"), reverse = attribute_int(NODE, "reverse");
	SHAPE(0, rank, extents, at);
	x = definer_there(definer, x, NODE->in[0]->dims[axis].count, axis, LIKE(x, reduce == REDUCE_PROD));
	int64_t last = extents[axis] - 1, terms = exclusive && last >= 0 ? last : last + 1;
	index_ref term = VAR(rank, terms), place = PLUS(term, exclusive);
	at[axis] = reverse ? PLUS(SCALE(term, -1), last) : term;
	to[axis] = POSITION(reverse ? PLUS(SCALE(place, -1), last) : place);
	return definer_scatter(
	        definer, name, rank, extents, reduce, true, to, 1, &terms, NULL, terms > 0 ? LOAD(x, at) : LIKE(x, 0));
}

void define_running(struct definer *definer)
{
	enum reduce reduce = op_of(NODE)->scalar == SCALAR_mul ? REDUCE_PROD : REDUCE_SUM;
	const char *name = NODE->out[0]->name;
	int64_t count;
	SHAPE(0, rank, extents, at);
	const int64_t *axis = node_in_ints(NODE, 1, &count);
	if (!axis)
		definer_require_inside(definer, 1, -1, rank);
	if (axis || rank == 1) {
		GIVE(0, run_along(definer, name, axis ? (int)node_axis(NODE, *axis, rank) : 0, reduce));
		return;
	}
	struct definition *told = IN(1);
	expr_ref value = CAST(DTYPE_I64, BROADCAST(told, 0, NULL)), zero = I(0), body = NULL;
	value = ADD(value, MUL(LESS(value, zero), I(rank)));
	value = MIN(MAX(value, zero), I(rank - 1));
	const struct range is = { VALUE(value, 0, rank - 1), 0, 1 };
	for (int d = rank - 1; d >= 0; d--) {
		expr_ref along = LOAD(run_along(definer, NAMED(FORMAT("along_%d", d)), d, reduce), at);
		body = body ? SELECT(&(struct range){ is.at, d, d + 1 }, 1, along, body) : along;
	}
	OUT(0, body);
}
