/* parts.c: Split and Concat: parts that lie side by side along an axis. */
#include "ops/words.h"

/* ---- Split ---- */
/* Extents of the parts; false where they are not known yet. */
static bool parts_of(const struct node *node, int64_t extent, int64_t *parts)
{
	int64_t count = 0, sum = 0;
	const int64_t *given;
	bool is_input = (node->since == 1 || node->since >= 13) && node_in(node, 1);
	if (!(given = node_numbers(node, is_input, 1, "split", &count)) && is_input)
		return false;
	if (given) {
		INVALID_IF(count != node->outs, "%" PRId64 " parts for %d outputs", count, node->outs);
		FOR (i, node->outs) {
			parts[i] = given[i];
			INVALID_IF(parts[i] < 0 || __builtin_add_overflow(sum, parts[i], &sum), "a part of %" PRId64,
			        parts[i]);
		}
		INVALID_IF(extent >= 0 && sum != extent, "the parts sum to %" PRId64 ", the data has %" PRId64, sum,
		        extent);
		return true;
	}
	int64_t outs = node_int(node, "num_outputs", node->outs);
	INVALID_IF(outs != node->outs, "num_outputs is %" PRId64 " with %d outputs", outs, node->outs);
	if (extent < 0)
		return false;
	int64_t each = ceil_div(extent, outs); /* from opset 18 on the last may be smaller */
	INVALID_IF(node->since < 18 && extent % outs, "%" PRId64 " does not divide into %" PRId64 " equal parts",
	        extent, outs);
	FOR (i, node->outs) {
		parts[i] = each < extent ? each : extent;
		extent -= parts[i];
	}
	return true;
}

static int split_axis(const struct node *node) { return attribute_axis(node, node->in[0]->rank); }

/* ---- parts of which a call or data say how many elements they have ---- */
/* Equal parts; where that leaves a rest, from opset 18 on, the last that have elements are smaller. */
static void equal_parts(const struct node *node, struct tensor *have, struct tensor **parts)
{
	struct tensor *outs = size_number(node, node->outs), *each = size_quotient(node, have, outs);
	bool rest = size_may_not_divide(each) && node->since >= 18;
	if (rest)
		each = size_quotient(node, size_plus(node, have, node->outs - 1), outs);
	FOR (i, node->outs)
		parts[i] = !rest || !i
		        ? each
		        : size_least(node, each,
		                size_not_below_zero(node,
		                        size_difference(node, have, size_product(node, each, size_number(node, i)))));
}

/* False: the parts are numbers, or not known. */
static bool said_parts(const struct node *node, int axis, struct tensor **parts)
{
	const struct dim *dim = &node->in[0]->dims[axis];
	bool given = node_in(node, 1) != NULL;
	int64_t count, *numbers = arena_new_array(node_arena(node), int64_t, node->outs);
	struct tensor *const *sizes = given ? node_in_sizes(node, 1, &count) : NULL;
	if (!dim_is_known(*dim) || (given && !sizes) || !(dim->count || (given && !node->in[1]->data)))
		return false;
	INVALID_IF(given && count != node->outs, "%" PRId64 " parts for %d outputs", count, node->outs);
	if (given && !node->in[1]->data)
		COPY(parts, sizes, count);
	else if (parts_of(node, -1, numbers))
		FOR (i, node->outs)
			parts[i] = size_number(node, numbers[i]);
	else
		equal_parts(node, dim->count, parts);
	return true;
}

/* Each output is there, so that it says where the next one begins. */
static void infer_said_parts(struct node *node, int axis, struct tensor *const *parts)
{
	struct dim dims[MAX_RANK];
	const struct tensor *x = node->in[0];
	FOR (i, node->outs) {
		if (!node->out[i]) {
			node->out[i] = graph_tensor_fresh(node->graph, "part");
			node->out[i]->producer = node;
		}
		memcpy(dims, x->dims, sizeof dims);
		dims[axis] = size_dim(parts[i]);
		INVALID_IF(!dims[axis].count && dims[axis].extent > x->dims[axis].extent,
		        "a part of %" PRId64 ", the data has %" PRId64 " at most", dims[axis].extent,
		        x->dims[axis].extent);
		if (dims[axis].extent > x->dims[axis].extent)
			dims[axis].extent = x->dims[axis].extent;
		infer_output(node, i, x->type, x->rank, dims);
	}
}

void infer_split(struct node *node)
{
	struct dim dims[MAX_RANK];
	const struct tensor *x = node->in[0];
	int64_t *parts = arena_new_array(node_arena(node), int64_t, node->outs);
	if (x->rank < 0) {
		FOR (i, node->outs)
			infer_type(node, i, x->type);
		return;
	}
	int axis = split_axis(node);
	struct tensor **sizes = arena_new_array(node_arena(node), struct tensor *, node->outs);
	if (said_parts(node, axis, sizes)) {
		infer_said_parts(node, axis, sizes);
		return;
	}
	bool known = parts_of(node, x->dims[axis].extent, parts);
	FOR (i, node->outs) {
		memcpy(dims, x->dims, sizeof dims);
		dims[axis] = known ? dim_of(parts[i]) : dim_unknown;
		infer_output(node, i, x->type, x->rank, dims);
	}
}

/* Parts that come at run time are those that the outputs are declared with. */
static void declared_parts(struct definer *definer, int axis, int64_t extent, int64_t *parts)
{
	const struct node *node = NODE;
	expr_ref right = I(1);
	int64_t extents[MAX_RANK], sum = 0;
	INVALID_IF(ELEMENTS(1) != node->outs, "%" PRId64 " parts for %d outputs", ELEMENTS(1), node->outs);
	FOR (i, node->outs) {
		UNSUPPORTED_IF(!node_has_out(node, i),
		        "parts that are not constant, with an output that is absent, are not supported");
		definer_shape(definer, i, extents, NULL);
		sum += parts[i] = extents[axis];
		right = I_AND(right, I_IS(ELEMENT(1, i), parts[i]));
	}
	INVALID_IF(sum != extent, "the declared parts sum to %" PRId64 ", the data has %" PRId64, sum, extent);
	REQUIRE(right, "the declared parts of dimension %d are right", axis);
}

/* Does a call or do data say how many elements a part has, or all of them? */
static bool has_said_parts(const struct node *node, int axis)
{
	bool counted = node->in[0]->dims[axis].count;
	FOR (i, node->outs)
		counted |= node_has_out(node, i) && node->out[i]->dims[axis].count;
	return counted;
}

static void define_said_parts(struct definer *definer, int axis)
{
	struct definition *x = IN(0);
	expr_ref from = I(0), right = I(1);
	index_ref at[MAX_RANK];
	int64_t extents[MAX_RANK], n = x->extents[axis], most = 0;
	FOR (i, NODE->outs) {
		expr_ref size = DIM(&NODE->out[i]->dims[axis]);
		definer_shape(definer, i, extents, at);
		if (most + extents[axis] <= n) /* wherever it begins, it ends inside */
			at[axis] = SUM(at[axis], INDEX(from, 0, most));
		else
			at[axis] = INDEX(I_ADD(from, POSITION(at[axis])), 0, n - 1);
		OUT(i, n ? LOAD(x, at) : LIKE(x, 0));
		right = I_AND(right, I_LESS(I(-1), size));
		from = KEPT(FORMAT("from_%d", i + 1), I_ADD(from, size));
		most = most + extents[axis] < n ? most + extents[axis] : n;
	}
	REQUIRE(I_AND(right, I_EQUAL(from, DIM(&NODE->in[0]->dims[axis]))),
	        "parts that sum to what there is of dimension %d of %s are right", axis, NODE->in[0]->name);
}

void define_split(struct definer *definer)
{
	struct definition *x = IN(0);
	int64_t *parts = arena_new_array(definer->arena, int64_t, NODE->outs), from = 0, extents[MAX_RANK];
	index_ref at[MAX_RANK];
	int axis = split_axis(NODE);
	if (has_said_parts(NODE, axis)) {
		define_said_parts(definer, axis);
		return;
	}
	if (!parts_of(NODE, x->extents[axis], parts))
		declared_parts(definer, axis, x->extents[axis], parts);
	FOR (i, NODE->outs) {
		if (node_has_out(NODE, i)) {
			definer_shape(definer, i, extents, at);
			at[axis] = PLUS(at[axis], from);
			OUT(i, LOAD(x, at));
		}
		from += parts[i];
	}
}

/* ---- Concat: a select on ranges of the axis ---- */

static int concat_axis(const struct node *node, int rank)
{
	INVALID_IF(node->since >= 4 && !node_attribute(node, "axis"), " lacks the attribute \"axis\"");
	return attribute_axis(node, rank);
}

void infer_concat(struct node *node)
{
	struct dim dims[MAX_RANK], sum = dim_of(0);
	const struct tensor *first = node->in[0];
	FOR (i, node->ins) {
		if (node->in[i]->rank < 0 || first->rank < 0) {
			infer_type(node, 0, first->type);
			return;
		}
		INVALID_IF(node->in[i]->rank != first->rank, "input %d has %d dimensions, the first has %d", i,
		        node->in[i]->rank, first->rank);
	}
	int axis = concat_axis(node, first->rank);
	memcpy(dims, first->dims, sizeof dims);
	FOR (i, node->ins) {
		FOR (d, first->rank) {
			struct dim dim = node->in[i]->dims[d];
			if (d == axis) {
				if (!dim_is_known(dim) || !dim_is_known(sum))
					sum = dim_unknown;
				else
					LIMIT_IF(__builtin_add_overflow(sum.extent, dim.extent, &sum.extent),
					        "the sum of the dimensions overflows");
			} else if (dims_differ(dim, dims[d])) {
				node_invalid(node, "dimension %d of input %d has %" PRId64 ", %" PRId64 " is right", d,
				        i, dim.extent, dims[d].extent);
			} else if (dim_is_known(dim)) {
				dims[d] = dim;
			}
		}
	}
	dims[axis] = sum;
	infer_output(node, 0, first->type, first->rank, dims);
}

/* Where data say how many each part has: a part begins where those before it end. */
static expr_ref counted_parts(struct definer *definer, const index_ref *at, const int64_t *extents, int axis)
{
	struct arena *arena = definer->arena;
	expr_ref *before = arena_new_array(arena, expr_ref, NODE->ins + 1), body = NULL;
	before[0] = I(0);
	FOR (i, NODE->ins) {
		const struct dim *dim = &NODE->in[i]->dims[axis];
		before[i + 1] = KEPT("end", I_ADD(before[i], DIM(dim)));
	}
	for (int i = NODE->ins; i-- > 0;) {
		struct definition *x = IN(i);
		index_ref x_at[MAX_RANK];
		if (definition_elements(x) == 0)
			continue;
		memcpy(x_at, at, sizeof x_at);
		x_at[axis] = INDEX(I_SUB(POSITION(at[axis]), before[i]), 0, x->extents[axis] - 1);
		index_ref end = INDEX(before[i + 1], 0, extents[axis]);
		const struct range range = { SUM(at[axis], SCALE(end, -1)), -extents[axis], 0 };
		expr_ref part = LOAD(x, x_at);
		body = body ? SELECT(&range, 1, part, body) : part;
	}
	return body;
}

void define_concat(struct definer *definer)
{
	int64_t to;
	SHAPE(0, rank, extents, at);
	int axis = concat_axis(NODE, rank);
	expr_ref body = NULL;
	to = extents[axis];
	if (NODE->in[0]->cache == NODE->out[0] && NODE->out[0]->is_cache) {
		define_appended(definer, axis);
		return;
	}
	if (NODE->out[0]->dims[axis].count)
		body = counted_parts(definer, at, extents, axis);
	else
		for (int i = NODE->ins; i-- > 0;) { /* the last stands innermost: i < n0 ? x0 : i < n1 ? x1 : … */
			struct definition *x = IN(i);
			index_ref x_at[MAX_RANK];
			if (definition_elements(x) == 0)
				continue;
			int64_t from = to - x->extents[axis];
			memcpy(x_at, at, sizeof x_at);
			x_at[axis] = x->extents[axis] == 1 ? CONSTANT(0) : PLUS(at[axis], -from);
			expr_ref part = LOAD(x, x_at);
			struct range range = { at[axis], from, to };
			body = body ? SELECT(&range, 1, part, body) : part;
			to = from;
		}
	if (!body)
		body = NUMBER(IN(0)->type, 0);
	OUT(0, body);
}
