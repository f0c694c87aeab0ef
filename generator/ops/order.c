/* order.c: TopK: the first positions of the order of each row, and what stands there. */
#include "ops/ops.h"
#include <inttypes.h>
#include <math.h>

static int order_axis(const struct node *node)
{
	return (int)node_axis(node, attribute_int(node, "axis"), node->in[0]->rank);
}

void infer_top_k(struct node *node)
{
	struct dim dims[MAX_RANK];
	int64_t count, many, k = -1;
	bool old = node->since < 10;
	struct tensor *const *said = NULL;
	infer_least(node, old ? 1 : 2);
	const struct tensor *x = node->in[0];
	if (!x->rank)
		node_fail(node, EXIT_INVALID, "%s: data has 0 dimensions, at least 1 is right", node->type);
	if (old) {
		const struct attribute *given = node_attribute(node, "k");
		if (!given)
			node_fail(node, EXIT_INVALID, "%s: attribute k is missing", node->type);
		k = given->i;
	} else {
		infer_scalar(node, 1);
		const int64_t *given = node_in_ints(node, 1, &count);
		k = given ? *given : -1;
		said = given ? NULL : node_in_sizes(node, 1, &many);
		if (given && k < 0)
			node_fail(node, EXIT_INVALID, "%s: k is %" PRId64 ", 0 or more is right", node->type, k);
	}
	if (x->rank < 0) {
		infer_output_unknown(node, 0, x->type);
		infer_output_unknown(node, 1, DTYPE_I64);
		return;
	}
	int axis = order_axis(node);
	int64_t n = x->dims[axis].extent;
	for (int o = 0; k < 0 && o < node->outs; o++) /* one that comes at run time: as the outputs are declared */
		if (node_has_out(node, o) && node->out[o]->rank == x->rank && !node->out[o]->dims[axis].count)
			k = node->out[o]->dims[axis].extent;
	if (n >= 0 && k > n)
		node_fail(node, EXIT_INVALID, "%s: k is %" PRId64 " of %" PRId64, node->type, k, n);
	memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
	dims[axis] = k >= 0 ? dim_of(k) : said && n >= 0 ? size_dim(said[0]) : dim_unknown;
	if (dims[axis].extent > n && n >= 0)
		dims[axis].extent = n;
	infer_output(node, 0, x->type, x->rank, dims);
	infer_output(node, 1, DTYPE_I64, x->rank, dims);
}

/* What comes last: of equal ones what stands first comes first. */
static const struct expr *last_of_all(struct arena *arena, enum dtype type, bool largest)
{
	bool is_signed = dtypes[type].class == CLASS_INT;
	int64_t most = (int64_t)(UINT64_MAX >> (64 - dtypes[type].bits + is_signed));
	if (dtypes[type].class == CLASS_FLOAT)
		return expr_number(arena, type, largest ? -INFINITY : NAN);
	return expr_integer(arena, type, !largest ? most : is_signed ? -most - 1 : 0);
}

/* As many as are wanted are there. */
static void require_many(struct definer *definer, const struct dim *have, const struct dim *want)
{
	const struct expr *k = definer_dim(definer, want),
	                  *many = integer_of(definer, SCALAR_add, definer_dim(definer, have), integer(definer, 1));
	if (!want->count && (!have->count || size_span(have->count).least >= want->extent))
		return;
	definer_require(definer, EXIT_INVALID, 0, NULL,
	        integer_of(definer, SCALAR_and, integer_of(definer, SCALAR_less, integer(definer, -1), k),
	                integer_of(definer, SCALAR_less, k, many)),
	        "a k of 0 to what there is of dimension %d of %s is right", order_axis(definer->node),
	        definer->node->in[0]->name);
}

void define_top_k(struct definer *definer)
{
	struct arena *arena = definer->arena;
	struct definition *x = definer_in(definer, 0);
	const struct node *node = definer->node;
	const struct index *at[MAX_RANK], *key_at[MAX_RANK], *order_at[MAX_RANK];
	int64_t extents[MAX_RANK], rows[MAX_RANK];
	int rank = definer_shape(definer, node_has_out(node, 0) ? 0 : 1, extents, at), axis = order_axis(node), row = 0;
	int64_t n = x->extents[axis];
	bool largest = node->since < 11 || attribute_int(node, "largest");
	if (extents[axis] > n)
		node_fail(node, EXIT_INVALID, "%s: %" PRId64 " of %" PRId64 " are declared", node->type, extents[axis],
		        n);
	const struct dim *have = &node->in[0]->dims[axis],
	                 *want = &node->out[node_has_out(node, 0) ? 0 : 1]->dims[axis];
	require_many(definer, have, want);
	if (node_in(node, 1) && !node->in[1]->data && !want->count)
		definer_require(definer, EXIT_INVALID, 0, NULL,
		        integer_is(definer, definer_element(definer, 1, 0), extents[axis]),
		        "k is %" PRId64 ", as declared, is right", extents[axis]);
	if (n > INT32_MAX)
		node_fail(node, EXIT_LIMIT, "%s: rows of %" PRId64 ", %d at most", node->type, n, INT32_MAX);
	for (int d = 0; d < rank; d++)
		if (d != axis) {
			order_at[row] = at[d];
			key_at[d] = index_var(arena, row, extents[d]);
			rows[row++] = extents[d];
		}
	order_at[row] = at[axis];
	rows[row] = extents[axis];
	key_at[axis] = index_var(arena, rank, n);
	bool own = axis == rank - 1 && node_has_out(node, 1);
	struct definition *there = definer_there(definer, x, have->count, axis, last_of_all(arena, x->type, largest));
	struct definition *order = definer_order(definer, own ? node->out[1]->name : definer_name(definer, "order"),
	        rank, rows, largest, n, definition_elements(x) ? expr_load(arena, there, key_at) : NULL, NULL);
	const struct expr *position = expr_load(arena, order, order_at);
	if (own)
		definer_out(definer, 1, order);
	else
		definer_out_map(definer, 1, position);
	at[axis] = index_value(arena, position, 0, n > 0 ? n - 1 : 0);
	definer_out_map(definer, 0, definition_elements(x) ? expr_load(arena, x, at) : expr_number(arena, x->type, 0));
}
