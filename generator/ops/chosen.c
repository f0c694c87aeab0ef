/* chosen.c: as many elements as data say: Compress, NonZero, Unique.  How many there are is what is declared, and a
 * check asks it; where nobody declares it, the extent is a bound, and the node, of the domain `ingot` then, has the
 * count as one more output.  What is chosen is counted along, and its position placed at the count. */
#include "ops/words.h"

/* ---- shared ---- */
/* counts[i]: how many of flags[0] … flags[i], an I64 of 0 or 1, are set. */
static struct definition *counts_of(struct definer *definer, const char *part, struct definition *flags)
{
	int64_t n = flags->extents[0];
	index_ref term = VAR(1, n);
	expr_ref to[1] = { POSITION(term) };
	return definer_scatter(
	        definer, NAMED(part), 1, &n, REDUCE_SUM, true, to, 1, &n, NULL, n ? LOAD(flags, &term) : I(0));
}

static bool counts_on(const struct node *node) { return !strcmp(node->domain, "ingot"); }

/* How many there are, which is said once of all that choose by the same input; by < 0: it is not one input that does.
 */
static struct tensor *chosen_count(const struct node *node, int outs, int by)
{
	const struct graph *graph = node->graph;
	for (size_t i = 0; by >= 0 && i < graph->nodes.count && graph->nodes.at[i] != node; i++) {
		const struct node *other = graph->nodes.at[i];
		if (other->type == node->type && other->domain == node->domain && other->guard == node->guard
		        && other->outs > outs && other->in[by] == node->in[by])
			return other->out[outs];
	}
	return node->out[outs];
}

/* The dimension of a node of `outs` outputs whose extent data, input `by`, decide: at most `bound`, -1 where that is
 * not known yet. */
static struct dim chosen_dim(struct node *node, int outs, int by, int64_t bound)
{
	struct graph *graph = node->graph;
	if (!counts_on(node)) {
		if (!graph->bounded || bound < 0)
			return dim_unknown;
		struct tensor **out = arena_new_array(graph->build->arena, struct tensor *, outs + 1);
		COPY(out, node->out, node->outs);
		out[outs] = graph_tensor_fresh(graph, "count");
		out[outs]->producer = node;
		node->out = out;
		node->outs = outs + 1;
		node->domain = name_is(graph->build->names, "ingot");
		node->since = 1;
	}
	infer_output(node, outs, DTYPE_I64, 0, NULL);
	struct tensor *count = chosen_count(node, outs, by);
	count->most = bound;
	return (struct dim){ bound, NULL, count };
}

/* How many there are: what is declared, or output `out`. */
static void say_count(struct definer *definer, struct definition *counts, int64_t count, int out)
{
	index_ref last = CONSTANT(counts->extents[0] - 1);
	expr_ref all = counts->extents[0] ? LOAD(counts, &last) : I(0);
	if (counts_on(NODE))
		OUT(out, all);
	else
		REQUIRE(I_IS(all, count), "%" PRId64 " elements are declared, data choose another number", count);
}

/* The positions of the first `count` flags that are set.  Each position goes where as many are set before it: the last
 * one that goes there is set, so nothing asks which are.  Behind those that are set is anything. */
static struct definition *positions_of(
        struct definer *definer, const char *part, struct definition *flags, struct definition *counts, int64_t count)
{
	int64_t n = flags->extents[0];
	index_ref term = VAR(1, n);
	expr_ref to[1] = { n ? SUB(LOAD(counts, &term), LOAD(flags, &term)) : NULL };
	return definer_scatter(definer, NAMED(part), 1, &count, REDUCE_LAST, false, to, 1, &n, I(0), POSITION(term));
}

static expr_ref flag(struct definer *definer, expr_ref x) { return CAST(DTYPE_I64, CAST(DTYPE_BOOL, x)); }

static index_ref at_value(struct definer *definer, struct definition *of, index_ref at, int64_t extent)
{
	return INDEX(LOAD(of, &at), 0, extent - 1);
}

/* ---- Compress: what a condition chooses along an axis, or of all elements ---- */
static int64_t chosen_by(const struct tensor *condition, int64_t extent)
{
	int64_t count = 0, n = condition->dims[0].extent;
	for (int64_t i = 0; i < n && i < extent; i++)
		count += ((const uint8_t *)condition->data)[i] != 0;
	return count;
}

void infer_compress(struct node *node)
{
	struct dim dims[MAX_RANK];
	infer_least(node, 2);
	infer_first(node);
	const struct tensor *x = node->in[0], *condition = node->in[1];
	infer_any_type(node, 0);
	INVALID_IF(condition->rank >= 0 && condition->rank != 1, "the condition has %d dimensions, 1 is right",
	        condition->rank);
	if (!infer_ranks(node, 1, x->type))
		return;
	bool whole = !node_attribute(node, "axis");
	int rank = whole ? 1 : x->rank, axis = whole ? 0 : attribute_axis(node, x->rank);
	int64_t extent = whole ? node_elements(node, x) : x->dims[axis].extent;
	if (!whole)
		COPY(dims, x->dims, rank);
	INVALID_IF(extent >= 0 && condition->rank == 1 && condition->dims[0].extent > extent,
	        "a condition of %" PRId64 " for %" PRId64 " elements", condition->dims[0].extent, extent);
	bool constant = condition->data && extent >= 0 && tensor_is_known(condition);
	struct dim declared = node->out[0]->rank == rank ? node->out[0]->dims[axis] : dim_unknown;
	dims[axis] = constant ? dim_of(chosen_by(condition, extent))
	        : dim_is_known(declared) && !declared.count
	        ? dim_unknown
	        : chosen_dim(node, 1, 1, extent < 0 || condition->rank != 1 ? -1 : condition->dims[0].extent);
	infer_output(node, 0, x->type, rank, dims);
}

void define_compress(struct definer *definer)
{
	struct definition *x = STORED(0), *condition = IN(1);
	index_ref at[MAX_RANK], own[MAX_RANK], i = VAR(0, condition->extents[0]);
	int64_t extents[MAX_RANK];
	bool whole = !node_attribute(NODE, "axis");
	int rank = definer_shape(definer, 0, extents, at), axis = whole ? 0 : attribute_axis(NODE, x->rank);
	int64_t n = whole ? definition_elements(x) : x->extents[axis];
	struct definition *flags = PART("flags", 1, condition->extents, CAST(DTYPE_I64, LOAD(condition, &i)));
	struct definition *counts = counts_of(definer, "counts", flags);
	say_count(definer, counts, extents[axis], 1);
	if (extents[axis] > n)
		node_invalid(NODE, "%" PRId64 " elements of %" PRId64 " are declared", extents[axis], n);
	FOR (d, rank)
		if (extents[d] == 0) {
			OUT(0, LIKE(x, 0));
			return;
		}
	index_ref place =
	        at_value(definer, positions_of(definer, "positions", flags, counts, extents[axis]), at[axis], n);
	COPY(own, at, rank);
	if (whole)
		UNFLATTEN(place, x->rank, x->extents, own);
	else
		own[axis] = place;
	OUT(0, LOAD(x, own));
}

/* ---- NonZero: the indices of what is not 0, a column for each ---- */
void infer_non_zero(struct node *node)
{
	infer_least(node, 1);
	infer_first(node);
	infer_number_type(node, 0);
	const struct tensor *x = node->in[0];
	UNSUPPORTED_IF(x->rank == 0, " of a scalar is not supported");
	if (x->rank < 0)
		infer_type(node, 0, DTYPE_I64);
	else {
		struct dim declared = node->out[0]->rank == 2 ? node->out[0]->dims[1] : dim_unknown;
		infer_output(node, 0, DTYPE_I64, 2,
		        (struct dim[2]){ dim_of(x->rank),
		                dim_is_known(declared) && !declared.count
		                        ? dim_unknown
		                        : chosen_dim(node, 1, 0, node_elements(node, x)) });
	}
}

void define_non_zero(struct definer *definer)
{
	struct definition *x = IN(0);
	int64_t extents[2], n = definition_elements(x);
	index_ref at[2], own[MAX_RANK], i = VAR(0, n);
	expr_ref body = NULL;
	definer_shape(definer, 0, extents, at);
	if (extents[1] > n)
		node_invalid(NODE, "%" PRId64 " elements of %" PRId64 " are declared", extents[1], n);
	if (n)
		UNFLATTEN(i, x->rank, x->extents, own);
	struct definition *flags = PART("flags", 1, &n, n ? flag(definer, LOAD(x, own)) : I(0));
	struct definition *counts = counts_of(definer, "counts", flags);
	say_count(definer, counts, extents[1], 1);
	if (extents[1] == 0) {
		OUT(0, I(0));
		return;
	}
	UNFLATTEN(at_value(definer, positions_of(definer, "positions", flags, counts, extents[1]), at[1], n), x->rank,
	        x->extents, own);
	for (int d = x->rank - 1; d >= 0; d--) {
		expr_ref one = POSITION(own[d]);
		body = body ? SELECT(&(struct range){ at[0], d, d + 1 }, 1, one, body) : one;
	}
	OUT(0, body);
}

/* ---- Unique: each element, or slice along an axis, once; ordered, or as they come first ---- */
enum { COLUMNS_MOST = 64 }; /* of slices: each takes an order of its own */

void infer_unique(struct node *node)
{
	struct dim dims[MAX_RANK];
	infer_least(node, 1);
	infer_number_type(node, 0);
	const struct tensor *x = node->in[0];
	int64_t count = -1;
	if (x->rank < 0) {
		for (int i = 0; i < node->outs && i < 4; i++)
			infer_type(node, i, i ? DTYPE_I64 : x->type);
		return;
	}
	bool whole = !node_attribute(node, "axis");
	int rank = whole ? 1 : x->rank, axis = whole ? 0 : attribute_axis(node, x->rank);
	int64_t n = whole ? node_elements(node, x) : x->dims[axis].extent;
	for (int i = 0; i < node->outs && i < 4; i++) /* whichever output says how many there are */
		if (node_has_out(node, i) && i != 2 && node->out[i]->rank == (i ? 1 : rank) && count < 0
		        && !node->out[i]->dims[i ? 0 : axis].count)
			count = node->out[i]->dims[i ? 0 : axis].extent;
	memcpy(dims, x->dims, sizeof dims);
	dims[axis] = count < 0 ? chosen_dim(node, 4, -1, n) : dim_of(count);
	infer_output(node, 0, x->type, rank, dims);
	infer_output(node, 1, DTYPE_I64, 1, &dims[axis]);
	infer_output(node, 2, DTYPE_I64, 1, (struct dim[]){ n < 0 ? dim_unknown : dim_of(n) });
	infer_output(node, 3, DTYPE_I64, 1, &dims[axis]);
}

/* x as rows [n, columns] of what is compared. */
static struct definition *rows_of(struct definer *definer, struct definition *x, int axis, bool whole)
{
	int64_t extents[2] = { whole ? definition_elements(x) : x->extents[axis], 1 }, others[MAX_RANK];
	index_ref own[MAX_RANK], rest[MAX_RANK];
	int count = 0;
	FOR_WHILE (d, !whole, x->rank)
		if (d != axis)
			extents[1] *= others[count++] = x->extents[d];
	index_ref i = VAR(0, extents[0]), j = VAR(1, extents[1]);
	if (extents[0] == 0 || extents[1] == 0)
		return NULL;
	if (whole)
		UNFLATTEN(i, x->rank, x->extents, own);
	else {
		UNFLATTEN(j, count, others, rest);
		for (int d = 0, k = 0; d < x->rank; d++)
			own[d] = d == axis ? i : rest[k++];
	}
	return PART("rows", 2, extents, LOAD(x, own));
}

/* The positions that sort rows: by each column, the last first, stably. */
static struct definition *row_order(struct definer *definer, struct definition *rows)
{
	int64_t n = rows->extents[0];
	struct definition *order = NULL;
	for (int64_t j = rows->extents[1] - 1; j >= 0; j--) {
		index_ref term = VAR(1, n), t = VAR(0, n);
		index_ref own[2] = { order ? at_value(definer, order, term, n) : term, CONSTANT(j) };
		struct definition *next =
		        definer_order(definer, NAMED("order"), 1, &n, false, n, LOAD(rows, own), NULL);
		order = order ? PART("sorted", 1, &n, LOAD(order, AT(at_value(definer, next, t, n)))) : next;
	}
	return order;
}

/* Of row t in order, t above 0: whether it is that before it. */
static expr_ref is_repeated(struct definer *definer, struct definition *order, struct definition *rows)
{
	int64_t n = order->extents[0];
	index_ref t = VAR(0, n), before = INDEX(POSITION(PLUS(t, -1)), 0, n - 1), own = at_value(definer, order, t, n),
	          previous = INDEX(LOAD(order, &before), 0, n - 1);
	expr_ref same = NULL;
	FOR (j, rows->extents[1]) {
		index_ref a[2] = { own, CONSTANT(j) }, b[2] = { previous, a[1] };
		expr_ref equal = flag(definer, EQUAL(LOAD(rows, a), LOAD(rows, b)));
		same = same ? expr2(definer, SCALAR_and, same, equal) : equal;
	}
	return same;
}

void define_unique(struct definer *definer)
{
	const struct node *node = NODE;
	struct definition *x = IN(0);
	bool whole = !node_attribute(node, "axis"), sorted = attribute_int(node, "sorted") != 0;
	int axis = whole ? 0 : attribute_axis(node, x->rank), first_out = 0;
	int64_t extents[MAX_RANK], count, n = whole ? definition_elements(x) : x->extents[axis];
	while (!node_has_out(node, first_out))
		first_out++;
	if (first_out == 2)
		first_out = node_has_out(node, 3) ? 3 : 2;
	definer_shape(definer, first_out, extents, NULL);
	count = extents[first_out ? 0 : axis];
	struct definition *rows = rows_of(definer, x, axis, whole);
	FAIL_IF(!rows || first_out == 2 || rows->extents[1] > COLUMNS_MOST || n > INT32_MAX, EXIT_UNSUPPORTED,
	        !rows                    ? "%s of no elements is not supported"
	                : first_out == 2 ? "%s of which only the inverse is taken is not supported"
	                                 : "%s of slices of more than %d elements is not supported",
	        node->type, COLUMNS_MOST);
	INVALID_IF(count < 1 || count > n, "%" PRId64 " of %" PRId64 " are declared", count, n);
	struct definition *order = row_order(definer, rows);
	index_ref t = VAR(0, n), term = VAR(1, n), k = VAR(0, count);

	/* In the order of rows: which are the first of their kind, the number of the kind that each is of. */
	expr_ref zero = I(0), one = I(1), same = n > 1 ? is_repeated(definer, order, rows) : NULL;
	const struct range begins = { t, 0, 1 };
	struct definition *firsts = PART("firsts", 1, &n, same ? SELECT(&begins, 1, one, SUB(one, same)) : one);
	struct definition *kinds = counts_of(definer, "kinds", firsts);
	say_count(definer, kinds, count, 4);
	struct definition *starts = positions_of(definer, "starts", firsts, kinds, count);
	struct definition *positions = PART("positions", 1, &count, LOAD(order, AT(at_value(definer, starts, k, n))));
	expr_ref kind = SUB(LOAD(kinds, &t), one);
	if (!sorted) { /* kinds in the order in which they come */
		expr_ref to[1] = { LOAD(order, &term) };
		struct definition *come = definer_scatter(
		        definer, NAMED("come"), 1, &n, REDUCE_LAST, false, to, 1, &n, zero, LOAD(firsts, &term));
		struct definition *numbers = counts_of(definer, "numbers", come);
		index_ref own = INDEX(kind, 0, count - 1);
		kind = SUB(LOAD(numbers, AT(at_value(definer, positions, own, n))), one);
		positions = positions_of(definer, "positions", come, numbers, count);
	}
	struct definition *numbered = PART("numbered", 1, &n, kind);
	if (node_has_out(node, 0)) {
		index_ref at[MAX_RANK], own[MAX_RANK];
		int rank = definer_shape(definer, 0, extents, at);
		index_ref place = at_value(definer, positions, at[axis], n);
		COPY(own, at, rank);
		if (whole)
			UNFLATTEN(place, x->rank, x->extents, own);
		else
			own[axis] = place;
		OUT(0, LOAD(x, own));
	}
	if (node_has_out(node, 1))
		OUT(1, LOAD(positions, &k));
	expr_ref to[1] = { LOAD(order, &term) };
	if (node_has_out(node, 2))
		definer_out_scatter(definer, 2, REDUCE_LAST, to, 1, &n, zero, LOAD(numbered, &term));
	to[0] = LOAD(numbered, &term);
	if (node_has_out(node, 3))
		definer_out_scatter(definer, 3, REDUCE_SUM, to, 1, &n, zero, one);
}
