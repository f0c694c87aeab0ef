/* shapes.c: the same elements elsewhere: Identity, Reshape, Flatten, Squeeze, Unsqueeze, Transpose,
 * Expand (parts of tensors: slices.c, parts.c).  Each is a map whose body is one load; all that differs is the index.
 */
#include "ops/words.h"

/* ---- Identity: the same definition under another name ---- */
void infer_identity(struct node *node)
{
	FAIL_IF(node->in[0]->form == FORM_MAP, EXIT_INVALID, "input 0, '%s', is %s, a tensor is right",
	        node->in[0]->name, type_of_tensor(node->graph->build, node->in[0]));
	if (node->in[0]->form)
		infer_list(node, 0, node->in[0]->form, node->in[0]->type, node->in[0]->list);
	else
		infer_output_like(node, 0, node->in[0]);
}

void node_hands_on(struct node *node, struct tensor *tensor)
{
	struct build *build = node->graph->build;
	node->type = name_is(build->names, "Identity");
	node->domain = name_is(build->names, "");
	node->attribute_count = 0;
	node->in = arena_new_array(build->arena, struct tensor *, 1);
	node->in[0] = tensor;
	node->ins = 1;
}

void define_identity(struct definer *definer) { GIVE(0, IN(0)); }

/* ---- Reshape, Flatten, Squeeze, Unsqueeze: equal row-major offsets ---- */
/* -1 beside numbers that may not divide what is there. */
static void require_division(struct definer *definer)
{
	const struct tensor *tensors[2] = { NODE->in[0], NODE->out[0] };
	expr_ref elements[2] = { I(1), I(1) };
	bool divides = true;
	FOR (i, 2)
		FOR (d, tensors[i]->rank) {
			elements[i] = I_MUL(elements[i], DIM(&tensors[i]->dims[d]));
			divides &=
			        i == 0 || !tensors[i]->dims[d].count || !size_may_not_divide(tensors[i]->dims[d].count);
		}
	if (!divides)
		REQUIRE(I_EQUAL(elements[0], elements[1]), "the elements do not divide into the shape");
}

/* Which element of a dense tensor of `actual` extents, within `extents`, lies there. */
static void unflatten(
        struct definer *definer, expr_ref flat, int rank, const int64_t *extents, const expr_ref *actual, index_ref *at)
{
	for (int d = rank - 1; d >= 0; d--) {
		expr_ref next = d ? I_DIV(flat, actual[d]) : NULL;
		at[d] = INDEX(d ? I_SUB(flat, I_MUL(next, actual[d])) : flat, 0, extents[d] - 1);
		flat = next;
	}
}

/* Of dims that are counted: offsets are those of what is there. */
static void actual_offsets(struct definer *definer, const index_ref *at, index_ref *x_at)
{
	const struct tensor *tensors[2] = { NODE->in[0], NODE->out[0] };
	expr_ref actual[2][MAX_RANK];
	int64_t extents[MAX_RANK];
	FOR (i, 2)
		FOR (d, tensors[i]->rank)
			actual[i][d] = DIM(&tensors[i]->dims[d]);
	FOR (d, tensors[0]->rank)
		extents[d] = tensors[0]->dims[d].extent;
	unflatten(definer, definer_flatten(definer, tensors[1]->rank, at, actual[1]), tensors[0]->rank, extents,
	        actual[0], x_at);
}

/* With an operand that comes at run time it is a map of its own, however little that does: its check belongs to it. */
static void define_same_offsets(struct definer *definer)
{
	struct definition *x = IN(0);
	index_ref x_at[MAX_RANK];
	SHAPE(0, rank, extents, at);
	const struct tensor *const dense[2] = { NODE->in[0], NODE->out[0] };
	bool same = rank == x->rank && !node_in_is_late(NODE, 1);
	FOR_WHILE (d, same, rank)
		same = extents[d] == x->extents[d] && dense[0]->dims[d].count == dense[1]->dims[d].count;
	if (same) {
		GIVE(0, x);
		return;
	}
	if (definer_is_empty(definer, x))
		return;
	if (reshape_stays(NODE->in[0], NODE->out[0]))
		UNFLATTEN(FLATTEN(rank, at, extents), x->rank, x->extents, x_at);
	else
		actual_offsets(definer, at, x_at);
	OUT(0, LOAD(x, x_at));
}

/* Numbers of a shape with 0 (kept) and -1 (what is left) resolved as far as the data's dims are known. */
static void resolve(const struct node *node, const int64_t *shape, int rank, bool zero_is_zero, struct dim *dims)
{
	const struct tensor *x = node->in[0];
	int left = -1;
	FOR (d, rank) {
		INVALID_IF(shape[d] < -1, "%" PRId64 " in dimension %d", shape[d], d);
		INVALID_IF(shape[d] == -1 && left >= 0, "-1 in dimensions %d and %d, one is right", left, d);
		if (shape[d] == -1)
			left = d;
		INVALID_IF(shape[d] == 0 && !zero_is_zero && x->rank >= 0 && d >= x->rank,
		        "0 in dimension %d keeps one that the data lacks", d);
		dims[d] = shape[d] == 0 && !zero_is_zero ? x->rank < 0 ? dim_unknown : x->dims[d] : dim_of(shape[d]);
	}
	int64_t have = node_elements(node, x), want = 1;
	FOR (d, rank) {
		if (d == left)
			continue;
		if (!dim_is_known(dims[d]))
			have = -1;
		else
			INVALID_IF(__builtin_mul_overflow(want, dims[d].extent, &want),
			        "the product of the shape overflows");
	}
	if (left >= 0)
		dims[left] = dim_unknown;
	if (have < 0)
		return;
	if (left >= 0) {
		INVALID_IF(zero_is_zero && want == 0, "-1 beside a 0 has no value");
		INVALID_IF(want == 0 ? have != 0 : have % want != 0 && !tensor_counted(x),
		        "%" PRId64 " elements do not divide into rows of %" PRId64, have, want);
		dims[left] = dim_of(want == 0 ? 0 : have / want);
	} else if (have != want && !tensor_counted(x)) {
		node_invalid(node, "%" PRId64 " elements into a shape of %" PRId64, have, want);
	}
}

/* Dim d of what a shape that comes at run time makes of the data. */
static struct tensor *size_of_reshaped(const struct node *node, int d)
{
	const struct tensor *x = node->in[0];
	struct tensor *in[1 + MAX_RANK] = { node->in[1] };
	FOR (k, x->rank)
		in[1 + k] = size_of_dim(node, &x->dims[k]);
	struct tensor *size = size_made(node, "SizeReshape", d, 1 + x->rank, in);
	size_says(size->producer, "allowzero", attribute_int(node, "allowzero"));
	return size;
}

/* That shape: numbers[d] of `rank`; 0 keeps a dim of the data, -1 is what is left.  *right: -1 stands there once at
 * most, and all elements go somewhere. */
static void resolve_late(
        struct definer *definer, int input, int rank, int x_rank, const expr_ref *x, expr_ref *numbers, expr_ref *right)
{
	expr_ref none = I(0), all = I(1), others = all, open = none, made = all;
	bool zero_is_zero = attribute_int(NODE, "allowzero") != 0;
	FOR (d, x_rank)
		all = I_MUL(all, x[d]);
	FOR (d, rank) {
		expr_ref number = ELEMENT(input, d), is_open = I_IS(number, -1);
		numbers[d] = zero_is_zero || d >= x_rank ? number : I_WHERE(I_IS(number, 0), x[d], number);
		open = I_ADD(open, is_open);
		others = I_MUL(others, I_WHERE(is_open, I(1), numbers[d]));
	}
	expr_ref left = KEPT("left", I_WHERE(I_IS(others, 0), none, I_DIV(all, others)));
	*right = I_LESS(open, I(2));
	FOR (d, rank) {
		numbers[d] = KEPT("number", I_WHERE(I_IS(numbers[d], -1), left, numbers[d]));
		*right = I_AND(*right, integer_of(definer, SCALAR_less_equal, none, numbers[d]));
		made = I_MUL(made, numbers[d]);
	}
	*right = I_AND(*right, I_EQUAL(made, all));
}

void infer_size_reshape(struct node *node) { infer_as_size(node, 1, 1 + MAX_RANK); }

void define_size_reshape(struct definer *definer)
{
	expr_ref x[MAX_RANK], numbers[MAX_RANK], right;
	int rank = (int)ELEMENTS(0), x_rank = NODE->ins - 1;
	if (rank > MAX_RANK)
		node_limit(NODE, " to %d dimensions", rank);
	FOR (k, x_rank)
		x[k] = ELEMENT(1 + k, 0);
	resolve_late(definer, 0, rank, x_rank, x, numbers, &right);
	int64_t at = attribute_int(NODE, "at");
	if (at < 0 || at >= rank)
		node_invalid(NODE, "dimension %" PRId64 " of %d", at, rank);
	OUT(0, numbers[at]);
}

/* A shape that is known as sizes: what they are at most, for the dims of the bound. */
static const int64_t *bounds_of_shape(const struct node *node, int64_t *count)
{
	struct tensor *const *sizes = node->in[0]->rank < 0 ? NULL : node_in_sizes(node, 1, count);
	int64_t *bounds = sizes ? arena_new_array(node_arena(node), int64_t, *count + 1) : NULL;
	FOR_WHILE (d, sizes, *count) {
		bounds[d] = size_span(sizes[d]).most;
		if (!sizes[d]->data && bounds[d] < 1)
			return NULL;
	}
	return bounds;
}

void infer_reshape(struct node *node)
{
	struct dim dims[MAX_RANK];
	int64_t count;
	const int64_t *shape = node_numbers(node, node->since >= 5, 1, "shape", &count);
	INVALID_IF(node->since < 5 && !node_attribute(node, "shape"), " lacks the attribute \"shape\"");
	if (node->since >= 5 && !shape)
		shape = bounds_of_shape(node, &count);
	if (node->since >= 5 && !shape) {
		int rank = node_in_length(node, 1);
		dims_unknown(dims);
		if (tensor_is_known(node->in[0]))
			infer_asked_dims(node, rank, dims, size_of_reshaped);
		infer_output(node, 0, node->in[0]->type, rank, dims);
		return;
	}
	LIMIT_IF(count > MAX_RANK, " to %" PRId64 " dimensions, at most %d are supported", count, MAX_RANK);
	resolve(node, shape, (int)count, attribute_int(node, "allowzero") != 0, dims);
	infer_output(node, 0, node->in[0]->type, (int)count, dims);
}

/* The same where dims are counted: the shape makes what they say. */
static void require_sizes(struct definer *definer)
{
	const struct tensor *tensor = NODE->in[0], *y = NODE->out[0];
	expr_ref x[MAX_RANK], numbers[MAX_RANK], right;
	if (ELEMENTS(1) != y->rank)
		node_invalid(NODE, "the shape has %" PRId64 " numbers, the declared one has %d", ELEMENTS(1), y->rank);
	FOR (d, tensor->rank)
		x[d] = DIM(&tensor->dims[d]);
	resolve_late(definer, 1, y->rank, tensor->rank, x, numbers, &right);
	FOR (d, y->rank)
		right = I_AND(right, I_EQUAL(numbers[d], DIM(&y->dims[d])));
	definer_require_dims(definer);
	REQUIRE(right, "the shape at run time does not make the declared one of the data");
}

/* Each number is the declared extent, 0 for that of the data, or -1, once, for what is left. */
static void require_shape(struct definer *definer)
{
	const struct definition *x = IN(0);
	expr_ref all = I(1), left = I(0);
	bool zero_is_zero = attribute_int(NODE, "allowzero") != 0;
	int64_t extents[MAX_RANK];
	int rank = definer_shape(definer, 0, extents, NULL);
	if (ELEMENTS(1) != rank)
		node_invalid(NODE, "the shape has %" PRId64 " numbers, the declared one has %d", ELEMENTS(1), rank);
	FOR (d, rank) {
		expr_ref number = ELEMENT(1, d), is = I(0);
		int64_t others = 1;
		FOR (k, rank)
			others *= k == d ? 1 : extents[k];
		if (zero_is_zero || extents[d])
			is = I_OR(is, I_IS(number, extents[d]));
		if (!zero_is_zero && d < x->rank && x->extents[d] == extents[d])
			is = I_OR(is, I_IS(number, 0));
		if (others || (extents[d] == 0 && !zero_is_zero))
			is = I_OR(is, I_IS(number, -1));
		left = I_ADD(left, I_IS(number, -1));
		all = I_AND(all, is);
	}
	REQUIRE(I_AND(all, I_LESS(left, I(2))), "the shape at run time is not %s, the declared one",
	        SHAPE_TEXT(rank, extents));
}

void define_reshape(struct definer *definer)
{
	const struct tensor *y = NODE->out[0];
	if (tensor_is_known(y) && !tensor_counted(y)
	        && tensor_elements(definer->build, y) != tensor_elements(definer->build, NODE->in[0]))
		node_invalid(NODE, "%" PRId64 " elements into a declared shape of %" PRId64,
		        tensor_elements(definer->build, NODE->in[0]), tensor_elements(definer->build, y));
	bool late = NODE->since >= 5 && node_in_is_late(NODE, 1),
	     counted = tensor_counted(y) || tensor_counted(NODE->in[0]);
	if (late && counted)
		require_sizes(definer);
	else if (late)
		require_shape(definer);
	else if (counted)
		require_division(definer);
	define_same_offsets(definer);
}

static struct dim product_of(const struct tensor *x, int from, int to, struct node *node)
{
	int64_t n = 1;
	if (to - from == 1)
		return x->dims[from];
	FOR_FROM (d, from, to)
		if (x->dims[d].extent < 0)
			return dim_unknown;
		else
			FAIL_IF(__builtin_mul_overflow(n, x->dims[d].extent, &n), EXIT_LIMIT,
			        "the product of the dimensions overflows");
	return dim_of(n);
}

void infer_flatten(struct node *node)
{
	const struct tensor *x = node->in[0];
	int64_t axis = attribute_int(node, "axis");
	if (x->rank < 0) {
		infer_output(node, 0, x->type, 2, (struct dim[2]){ dim_unknown, dim_unknown });
		return;
	}
	if (axis != x->rank)
		axis = x->rank || axis ? node_axis(node, axis, x->rank) : 0;
	infer_output(node, 0, x->type, 2,
	        (struct dim[2]){ product_of(x, 0, (int)axis, node), product_of(x, (int)axis, x->rank, node) });
}

void define_flatten(struct definer *definer) { define_same_offsets(definer); }

/* Axes as an attribute up to opset 12, then as input 1; NULL and *given false where there are none; -1: not constant
 * yet. */
static int64_t axes_of(const struct node *node, const int64_t **axes)
{
	int64_t count;
	*axes = node_numbers(node, node->since >= 13, 1, "axes", &count);
	return node->since >= 13 && node_in(node, 1) && !*axes ? -1 : count;
}

static void mark_axes(const struct node *node, const int64_t *axes, int64_t count, int rank, bool *marked)
{
	memset(marked, 0, MAX_RANK * sizeof *marked);
	FOR (i, count) {
		int64_t axis = node_axis(node, axes[i], rank);
		INVALID_IF(marked[axis], "axis %" PRId64 " twice", axis);
		marked[axis] = true;
	}
}

/* Axes that are not constant: their count gives the rank, and the declared shape the rest. */
static void infer_axes(struct node *node, int sign)
{
	const struct tensor *x = node->in[0], *axes = node->since < 13 ? NULL : node_in(node, 1);
	struct dim dims[MAX_RANK];
	bool known = axes && axes->rank >= 0 && (axes->rank == 0 || (axes->rank == 1 && dim_is_known(axes->dims[0])));
	INVALID_IF(axes && axes->rank > 1, "input 1 has %d dimensions, 1 is right", axes->rank);
	int64_t count = known ? axes->rank ? axes->dims[0].extent : 1 : 0;
	if (x->rank < 0 || !known || x->rank + sign * count > MAX_RANK) {
		infer_type(node, 0, x->type);
		return;
	}
	INVALID_IF(x->rank + sign * count < 0, "%" PRId64 " axes of %d dimensions", count, x->rank);
	dims_unknown(dims);
	infer_output(node, 0, x->type, x->rank + sign * (int)count, dims);
}

/* Axes that come at run time, of a tensor that has them: dimensions of 1, between whose others stand as many as the
 * shape without them lacks. */
static void require_axes(
        struct definer *definer, int rank, const int64_t *with, int rank_without, const int64_t *without)
{
	const struct node *node = NODE;
	expr_ref all = I(1);
	int64_t count = ELEMENTS(1);
	int other = 0;
	INVALID_IF(count != rank - rank_without, "%" PRId64 " axes between %d and %d dimensions", count, rank,
	        rank_without);
	for (int d = 0; d <= rank; d++) {
		expr_ref named = I(0);
		int ones = 0;
		for (; d < rank && with[d] == 1; d++, ones++)
			FOR (i, count)
				FOR (from, 2)
					named = I_ADD(named, I_IS(ELEMENT(1, i), d - from * rank));
		for (; other < rank_without && without[other] == 1; other++)
			ones--;
		INVALID_IF(ones < 0
		                || (d < rank ? other == rank_without || with[d] != without[other++]
		                             : other < rank_without),
		        "no axes lead from %s to %s, which is declared", SHAPE_TEXT(IN(0)->rank, IN(0)->extents),
		        SHAPE_TEXT(node->out[0]->rank, rank == node->out[0]->rank ? with : without));
		all = I_AND(all, I_IS(named, ones));
	}
	REQUIRE(all, "the axes at run time do not make %s of the data, the declared shape",
	        SHAPE_TEXT(node->out[0]->rank, rank == node->out[0]->rank ? with : without));
}

static bool axes_come_late(const struct node *node)
{
	return node->since >= 13 && node_in(node, 1) && !node->in[1]->data;
}

void infer_squeeze(struct node *node)
{
	struct dim dims[MAX_RANK];
	bool marked[MAX_RANK];
	const int64_t *axes;
	int rank = 0;
	const struct tensor *x = node->in[0];
	int64_t count = axes_of(node, &axes);
	if (x->rank < 0 || count < 0) {
		infer_axes(node, -1);
		return;
	}
	bool all = count == 0 && (node->since < 13 ? !node_attribute(node, "axes") : !node_in(node, 1));
	mark_axes(node, axes, count, x->rank, marked);
	FOR (d, x->rank) {
		INVALID_IF(marked[d] && dim_is_known(x->dims[d]) && x->dims[d].extent != 1,
		        "dimension %d has %" PRId64 ", 1 is right", d, x->dims[d].extent);
		if (all && !dim_is_known(x->dims[d])) {
			infer_type(node, 0, x->type);
			return;
		}
		if (!(marked[d] || (all && x->dims[d].extent == 1)))
			dims[rank++] = x->dims[d];
	}
	infer_output(node, 0, x->type, rank, dims);
}

void define_squeeze(struct definer *definer)
{
	const struct definition *x = IN(0);
	SHAPE(0, rank, extents, at);
	if (axes_come_late(NODE))
		require_axes(definer, x->rank, x->extents, rank, extents);
	define_same_offsets(definer);
}

void infer_unsqueeze(struct node *node)
{
	struct dim dims[MAX_RANK];
	bool marked[MAX_RANK];
	const int64_t *axes;
	const struct tensor *x = node->in[0];
	INVALID_IF(node->since < 13 && !node_attribute(node, "axes"), " lacks the attribute \"axes\"");
	int64_t count = axes_of(node, &axes);
	if (x->rank < 0 || count < 0) {
		infer_axes(node, 1);
		return;
	}
	LIMIT_IF(x->rank + count > MAX_RANK, " to %" PRId64 " dimensions, at most %d are supported", x->rank + count,
	        MAX_RANK);
	int rank = x->rank + (int)count;
	mark_axes(node, axes, count, rank, marked);
	for (int d = 0, from = 0; d < rank; d++)
		dims[d] = marked[d] ? dim_of(1) : x->dims[from++];
	infer_output(node, 0, x->type, rank, dims);
}

void define_unsqueeze(struct definer *definer)
{
	const struct definition *x = IN(0);
	SHAPE(0, rank, extents, at);
	if (axes_come_late(NODE))
		require_axes(definer, rank, extents, x->rank, x->extents);
	define_same_offsets(definer);
}

/* ---- Transpose ---- */
static void permutation(const struct node *node, int rank, int *perm)
{
	size_t given;
	const int64_t *ints = node_ints(node, "perm", &given);
	bool seen[MAX_RANK] = { false };
	INVALID_IF(ints && given != (size_t)rank, "perm has %zu numbers, data has %d dimensions", given, rank);
	FOR (d, rank) {
		int64_t from = ints ? ints[d] : rank - 1 - d;
		INVALID_IF(from < 0 || from >= rank || seen[from], "perm is no permutation of 0 … %d", rank - 1);
		seen[from] = true;
		perm[d] = (int)from;
	}
}

void infer_transpose(struct node *node)
{
	struct dim dims[MAX_RANK];
	int perm[MAX_RANK];
	const struct tensor *x = node->in[0];
	if (!infer_ranks(node, 1, x->type))
		return;
	permutation(node, x->rank, perm);
	FOR (d, x->rank)
		dims[d] = x->dims[perm[d]];
	infer_output(node, 0, x->type, x->rank, dims);
}

void define_transpose(struct definer *definer)
{
	index_ref x_at[MAX_RANK];
	SHAPE(0, rank, extents, at);
	int perm[MAX_RANK];
	permutation(NODE, rank, perm);
	FOR (d, rank)
		x_at[perm[d]] = at[d];
	OUT(0, LOAD(IN(0), x_at));
}

/* ---- Expand ---- */
static struct tensor *size_of_expansion(const struct node *node, int d)
{
	return size_made(node, "SizeElement", d, 1, &node->in[1]);
}

void infer_expand(struct node *node)
{
	struct dim dims[MAX_RANK];
	struct tensor shape = { 0 };
	int64_t count;
	const int64_t *ints = node_in_ints(node, 1, &count);
	const struct tensor *x = node->in[0];
	int said = node_in_length(node, 1);
	struct tensor *const *sizes = ints || x->rank < 0 ? NULL : node_in_sizes(node, 1, &count);
	if (!ints && !sizes && x->rank >= 0 && said >= 0) {
		int rank = x->rank > said ? x->rank : said;
		FOR (d, rank) /* an extent of 1 may grow, others stay */
			dims[d] = d < rank - x->rank || x->dims[d - rank + x->rank].extent == 1
			        ? dim_unknown
			        : x->dims[d - rank + x->rank];
		if (rank == said)
			infer_asked_dims(node, rank, dims, size_of_expansion);
		infer_output(node, 0, x->type, rank, dims);
		return;
	}
	if ((!ints && !sizes) || node->in[0]->rank < 0) {
		infer_type(node, 0, node->in[0]->type);
		return;
	}
	LIMIT_IF(count > MAX_RANK, " to %" PRId64 " dimensions, at most %d are supported", count, MAX_RANK);
	shape.rank = (int)count;
	FOR (d, shape.rank) {
		INVALID_IF(ints && ints[d] < 0, "%" PRId64 " in dimension %d", ints[d], d);
		shape.dims[d] = ints ? dim_of(ints[d]) : size_dim(sizes[d]);
	}
	int rank = infer_broadcast(node, TENSORS(node->in[0], &shape), dims);
	infer_output(node, 0, node->in[0]->type, rank, dims);
}

/* Each number is the declared extent, or 1 where the data have that. */
static void require_expansion(struct definer *definer, int rank, const int64_t *extents)
{
	const struct definition *x = IN(0);
	expr_ref all = I(1);
	int64_t count = ELEMENTS(1);
	FOR (d, rank) {
		int64_t have = d < rank - x->rank ? 1 : x->extents[d - rank + x->rank], i = d - rank + count;
		const struct dim *dim = &NODE->out[0]->dims[d];
		if (have != 1 ? have != extents[d] : i < 0 && extents[d] != 1)
			node_invalid(
			        NODE, "dimension %d is declared %" PRId64 ", data has %" PRId64, d, extents[d], have);
		if (i < 0)
			continue;
		expr_ref number = ELEMENT(1, i), is = I_EQUAL(number, DIM(dim));
		all = I_AND(all, have == extents[d] ? I_OR(is, I_IS(number, 1)) : is);
	}
	if (count > rank || rank < x->rank)
		node_invalid(NODE, "the declared shape has %d dimensions, that at run time %" PRId64, rank, count);
	REQUIRE(all, "the shape at run time does not expand the data to %s, the declared one",
	        SHAPE_TEXT(rank, extents));
}

void define_expand(struct definer *definer)
{
	SHAPE(0, rank, extents, at);
	if (node_in_is_late(NODE, 1))
		require_expansion(definer, rank, extents);
	definer_require_dims(definer);
	OUT(0, BROADCAST(IN(0), rank, at));
}
