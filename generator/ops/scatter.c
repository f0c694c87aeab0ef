/* scatter.c: elements at indices that are data: ScatterElements (Scatter), ScatterND, TensorScatter, MaxUnpool.  A
 * negative index counts from the end.  One outside the data is refused, where it is constant at once, else by a check;
 * and what it stands for goes nowhere, so that nothing outside is ever written. */
#include "ops/words.h"

/* What becomes of an element and what comes to it. */
static enum reduce reduction_of(const struct node *node)
{
	static const struct {
		const char *name;
		enum reduce reduce;
		int since;
	} words[] = {
		{ "none", REDUCE_LAST, 0 },
		{ "add", REDUCE_SUM, 0 },
		{ "mul", REDUCE_PROD, 0 },
		{ "max", REDUCE_MAX, 18 },
		{ "min", REDUCE_MIN, 18 },
	};
	const char *name = "none";
	for (const struct attribute_row *row = op_of(node)->attributes; row->name; row++)
		if (!strcmp(row->name, "reduction"))
			name = attribute_string(node, row->name);
	FOR (i, COUNT(words)) {
		if (strcmp(words[i].name, name) || node->since < words[i].since)
			continue;
		UNSUPPORTED_IF(node->in[0]->type == DTYPE_BOOL && words[i].reduce != REDUCE_LAST,
		        " of bool with reduction %s is not supported", name);
		return words[i].reduce;
	}
	node_invalid(node, "reduction is %s, none, add, mul%s is right", name, node->since >= 18 ? ", max or min" : "");
}

static void same_dims(const struct node *node, int i, int rank, const struct dim *dims)
{
	const struct tensor *x = node_in(node, i);
	INVALID_IF(x->rank >= 0 && x->rank != rank, "input %d has %d dimensions, %d are right", i, x->rank, rank);
	FOR (d, x->rank)
		INVALID_IF(dims_differ(x->dims[d], dims[d]),
		        "dimension %d of input %d is %" PRId64 ", %" PRId64 " is right", d, i, x->dims[d].extent,
		        dims[d].extent);
}

/* The place that an index names: below 0 it counts from the end. */
static expr_ref place(struct definer *definer, expr_ref index, const struct dim *dim)
{
	index = CAST(DTYPE_I64, index);
	return ADD(index, MUL(LESS(index, I(0)), DIM(dim)));
}

/* The place of an update that is there along that dim; any other goes nowhere. */
static expr_ref if_there(struct definer *definer, const struct dim *dim, index_ref term, expr_ref place)
{
	return !dim->count
	        ? place
	        : WHERE(LOAD(definer_mask(definer, dim->count, dim->extent, DTYPE_I64), &term), place, I(-1));
}

/* ---- ScatterElements: y[at[i, j], j] = updates[i, j] ---- */
void infer_scatter_elements(struct node *node)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	infer_number_type(node, 0);
	reduction_of(node);
	if (x->rank >= 0 && at->rank >= 0) {
		INVALID_IF(x->rank < 1 || x->rank != at->rank,
		        "data has %d dimensions, the indices have %d, as many and at least 1 are right", x->rank,
		        at->rank);
		int axis = attribute_axis(node, x->rank);
		FOR (d, x->rank)
			INVALID_IF(d != axis && dim_is_known(x->dims[d]) && dim_is_known(at->dims[d])
			                && at->dims[d].extent > x->dims[d].extent,
			        "dimension %d of the indices is %" PRId64 ", data has %" PRId64, d, at->dims[d].extent,
			        x->dims[d].extent);
		same_dims(node, 2, at->rank, at->dims);
		infer_constant_indices(node, 0, 1, x->dims[axis].extent);
	}
	infer_output_like(node, 0, x);
}

void define_scatter_elements(struct definer *definer)
{
	struct definition *x = IN(0), *indices = IN(1), *updates = IN(2);
	index_ref term[MAX_RANK];
	expr_ref to[MAX_RANK] = { NULL };
	int64_t terms[MAX_RANK];
	SHAPE(0, rank, extents, at);
	int count = 0, axis = attribute_axis(NODE, rank);
	const struct dim *dims = NODE->in[0]->dims, *told = NODE->in[1]->dims;
	for (int d = 0; d < rank;
	        d++) { /* along a dimension that all of the data have, elements know nothing of each other */
		bool whole = d != axis && indices->extents[d] == extents[d] && told[d].count == dims[d].count;
		term[d] = whole ? at[d] : VAR(rank + count, indices->extents[d]);
		if (whole)
			continue;
		terms[count++] = indices->extents[d];
		to[d] = POSITION(term[d]);
	}
	definer_require_index(definer, -1, axis);
	to[axis] = place(definer, LOAD(indices, term), &dims[axis]);
	FOR (d, rank)
		if (to[d])
			to[axis] = if_there(definer, &told[d], term[d], to[axis]);
	definer_out_scatter(definer, 0, reduction_of(NODE), to, count, terms, LOAD(x, at), LOAD(updates, term));
}

/* ---- ScatterND: the last dimension of the indices is a place in the first `count` dimensions of data ---- */
static int count_of(const struct node *node)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	int64_t count = at->dims[at->rank - 1].extent;
	INVALID_IF(count < 1 || count > x->rank, "the indices name %" PRId64 " dimensions, 1 to %d are right", count,
	        x->rank);
	return (int)count;
}

void infer_scatter_nd(struct node *node)
{
	struct dim dims[2 * MAX_RANK];
	int n = 0;
	const struct tensor *x = node->in[0], *at = node->in[1];
	infer_number_type(node, 0);
	reduction_of(node);
	INVALID_IF(!x->rank || !at->rank, "data has %d dimensions, the indices have %d, at least 1 are right", x->rank,
	        at->rank);
	if (x->rank > 0 && at->rank > 0 && dim_is_known(at->dims[at->rank - 1])) {
		int count = count_of(node);
		FOR (d, at->rank - 1)
			dims[n++] = at->dims[d];
		FOR_FROM (d, count, x->rank)
			dims[n++] = x->dims[d];
		UNSUPPORTED_IF(n > MAX_RANK, "updates of %d dimensions, %d at most are supported", n, MAX_RANK);
		same_dims(node, 2, n, dims);
		FOR (i, count)
			infer_constant_indices(node, i, count, x->dims[i].extent);
	}
	infer_output_like(node, 0, x);
}

void define_scatter_nd(struct definer *definer)
{
	struct definition *x = IN(0), *indices = IN(1), *updates = IN(2);
	index_ref index_at[MAX_RANK], update_at[MAX_RANK];
	expr_ref to[MAX_RANK] = { NULL };
	int64_t terms[MAX_RANK];
	SHAPE(0, rank, extents, at);
	int rows = indices->rank - 1, count = count_of(NODE);
	FOR (r, rows) {
		terms[r] = indices->extents[r];
		index_at[r] = update_at[r] = VAR(rank + r, terms[r]);
	}
	FOR_FROM (d, count, rank)
		update_at[rows + d - count] = at[d];
	FOR (d, count) {
		definer_require_index(definer, d, d);
		index_at[rows] = CONSTANT(d);
		to[d] = place(definer, LOAD(indices, index_at), &NODE->in[0]->dims[d]);
	}
	FOR (r, rows)
		to[0] = if_there(definer, &NODE->in[1]->dims[r], index_at[r], to[0]);
	definer_out_scatter(definer, 0, reduction_of(NODE), to, rows, terms, LOAD(x, at), LOAD(updates, update_at));
}

/* ---- TensorScatter: the rows of a cache from write_indices[batch] on ---- */
static int cache_axis(const struct node *node)
{
	int axis = attribute_axis(node, node->in[0]->rank);
	INVALID_IF(!axis, "axis is 0, the batch; another is right");
	return axis;
}

static bool is_circular(const struct node *node) { return attribute_word(node, "mode", "linear circular"); }

void infer_tensor_scatter(struct node *node)
{
	struct dim dims[MAX_RANK];
	const struct tensor *x = node->in[0], *update = node->in[1], *from = node_in(node, 2);
	infer_any_type(node, 0);
	is_circular(node);
	if (x->rank >= 0) {
		int axis = cache_axis(node);
		COPY(dims, x->dims, x->rank);
		if (update->rank == x->rank) {
			dims[axis] = update->dims[axis];
			INVALID_IF(dim_is_known(x->dims[axis]) && dim_is_known(dims[axis])
			                && dims[axis].extent > x->dims[axis].extent,
			        "%" PRId64 " rows for a cache of %" PRId64, dims[axis].extent, x->dims[axis].extent);
		}
		same_dims(node, 1, x->rank, dims);
		if (from)
			same_dims(node, 2, 1, x->dims);
	}
	infer_output_like(node, 0, x);
}

/* Rows of which a call or data say how many there are, or of such a cache, fit from each place on, if there is none
 * from the first. */
static void require_rows(struct definer *definer, const struct dim *have, const struct dim *rows)
{
	struct definition *from = is_circular(NODE) ? NULL : IN(2);
	index_ref row = VAR(0, from ? from->extents[0] : 1);
	expr_ref at = from ? LOAD(from, &row) : I(0);
	expr_ref ends = KEPT("ends", I_ADD(I_SUB(DIM(have), DIM(rows)), I(1)));
	definer_require(definer, EXIT_INVALID, from != NULL, from ? from->extents : NULL,
	        I_AND(I_LESS(I(-1), at), I_LESS(at, ends)),
	        "a row at run time is not one from which all that come fit");
}

/* Rows of input 1, as many as are there, go to these places along the axis. */
static void write_rows(struct definer *definer, expr_ref *to, int axis, expr_ref start, expr_ref row)
{
	const struct dim *rows = &NODE->in[1]->dims[axis];
	SHAPE(0, rank, extents, at);
	index_ref term = VAR(rank, rows->extent);
	to[axis] = if_there(definer, rows, term, to[axis]);
	struct definition *written = definer_scatter(
	        definer, NODE->out[0]->name, rank, extents, REDUCE_LAST, false, to, 1, &rows->extent, start, row);
	if (written->reduced)
		written->count.reduced[0] = definer_count(definer, rows->count);
	GIVE(0, written);
}

void define_tensor_scatter(struct definer *definer)
{
	struct definition *x = STORED(0), *update = STORED(1), *from = IN(2);
	index_ref term[MAX_RANK];
	expr_ref to[MAX_RANK] = { NULL };
	int64_t terms[1];
	SHAPE(0, rank, extents, at);
	int axis = cache_axis(NODE);
	COPY(term, at, rank);
	terms[0] = update->extents[axis];
	term[axis] = VAR(rank, terms[0]);
	to[axis] = POSITION(term[axis]);
	if (from)
		to[axis] = ADD(LOAD(from, at), to[axis]);
	const struct dim *have = &NODE->in[0]->dims[axis], *rows = &NODE->in[1]->dims[axis];
	bool counted = have->count || rows->count;
	if (counted)
		require_rows(definer, have, rows);
	if (from && !is_circular(NODE) && !counted) { /* a circle has a place for every row */
		index_ref row = VAR(0, from->extents[0]);
		definer_require_within(definer, EXIT_INVALID, 1, from->extents, LOAD(from, &row), 0,
		        extents[axis] - terms[0],
		        "a row at run time is not in [0, %" PRId64 "], from which %" PRId64 " rows fit",
		        extents[axis] - terms[0], terms[0]);
	}
	if (from && is_circular(NODE) && extents[axis])
		to[axis] = expr2(definer, SCALAR_mod, to[axis], DIM(have));
	write_rows(definer, to, axis, LOAD(x, at), LOAD(update, term));
}

/* ---- Concat(past, new rows), of a past that lies in a buffer with room for them: they are written behind it ---- */
void define_appended(struct definer *definer, int axis)
{
	struct definition *cache = definer_cache(definer, NODE->in[0]), *rows = STORED(1);
	index_ref term[MAX_RANK];
	expr_ref to[MAX_RANK] = { NULL };
	int64_t terms[1] = { rows->extents[axis] };
	SHAPE(0, rank, extents, at);
	COPY(term, at, rank);
	term[axis] = VAR(rank, terms[0]);
	to[axis] = ADD(DIM(&NODE->in[0]->dims[axis]), POSITION(term[axis]));
	write_rows(definer, to, axis, LOAD(cache, at), LOAD(rows, term));
}

/* ---- MaxUnpool: what MaxPool left, back at the offsets that it told; elsewhere 0 ---- */
/* The extents that the offsets are of; false where one is not known. */
static bool unpooled(const struct node *node, struct dim *dims)
{
	const struct tensor *x = node->in[0];
	int64_t axes = x->rank - 2, count;
	const struct attribute *kernel = node_attribute(node, "kernel_shape"),
	                       *strides = node_attribute(node, "strides"), *pads = node_attribute(node, "pads");
	bool known = true;
	count = kernel ? (int64_t)kernel->count : 0;
	INVALID_IF(count != axes || (strides && (int64_t)strides->count != axes)
	                || (pads && (int64_t)pads->count != 2 * axes),
	        "kernel_shape has %" PRId64 " numbers, one for each of %" PRId64
	        " axes is right, as of strides and twice of pads",
	        count, axes);
	FOR (d, x->rank) {
		dims[d] = x->dims[d];
		known &= dim_is_known(dims[d]);
		if (d < 2 || !dim_is_known(dims[d]))
			continue;
		int64_t stride = strides ? strides->ints[d - 2] : 1, size = kernel->ints[d - 2],
		        pad = pads ? pads->ints[d - 2] + pads->ints[d - 2 + axes] : 0;
		INVALID_IF(
		        stride < 1 || size < 1 || stride > INT32_MAX || size > INT32_MAX || pad < 0 || pad > INT32_MAX,
		        "kernel %" PRId64 ", stride %" PRId64 ", pads %" PRId64 " of axis %d", size, stride, pad,
		        d - 2);
		int64_t extent = (dims[d].extent - 1) * stride + size - pad;
		INVALID_IF(dims[d].extent > INT32_MAX || extent < 0, "axis %d would have %" PRId64 " elements", d - 2,
		        extent);
		dims[d] = dim_of(extent);
	}
	return known;
}

void infer_max_unpool(struct node *node)
{
	struct dim dims[MAX_RANK];
	int64_t count;
	const struct tensor *x = node->in[0], *shape = node_in(node, 2);
	if (!infer_ranks(node, 1, x->type))
		return;
	INVALID_IF(x->rank < 3, "data has %d dimensions, at least 3 are right", x->rank);
	same_dims(node, 1, x->rank, x->dims);
	unpooled(node, dims);
	const int64_t *extents = node_in_ints(node, 2, &count);
	if (shape && !extents)
		FOR_FROM (d, 2, x->rank)
			dims[d] = dim_unknown;
	INVALID_IF(extents && count != x->rank, "output_shape has %" PRId64 " numbers, %d are right", count, x->rank);
	FOR_WHILE (d, extents, x->rank) {
		INVALID_IF(extents[d] < 0
		                || (dim_is_known(dims[d])
		                        && (d < 2 ? extents[d] != dims[d].extent : extents[d] < dims[d].extent)),
		        "output_shape has %" PRId64 " at %d, %s%" PRId64 " is right", extents[d], d,
		        d < 2 ? "" : "at least ", dims[d].extent);
		dims[d] = dim_of(extents[d]);
	}
	infer_output(node, 0, x->type, x->rank, dims);
}

void define_max_unpool(struct definer *definer)
{
	struct definition *x = IN(0), *offsets = IN(1);
	struct dim dims[MAX_RANK];
	index_ref term[MAX_RANK], told[MAX_RANK], own[MAX_RANK];
	expr_ref to[MAX_RANK] = { NULL };
	int64_t extents[MAX_RANK], from[MAX_RANK], total = 1;
	int rank = definer_shape(definer, 0, extents, NULL);
	unpooled(NODE, dims);
	expr_ref right = I(1);
	FOR (d, ELEMENTS(2)) /* where it comes at run time: as declared */
		right = I_AND(right, I_IS(ELEMENT(2, d), extents[d]));
	REQUIRE(right, "an output_shape as declared, %s, is right", SHAPE_TEXT(rank, extents));
	FOR (d, rank) {
		from[d] = dims[d].extent;
		total *= from[d];
		term[d] = VAR(rank + d, x->extents[d]);
	}
	if (!total) {
		OUT(0, LIKE(x, 0));
		return;
	}
	VARS(own, rank, x->extents);
	definer_require_within(definer, EXIT_INVALID, rank, x->extents, LOAD(offsets, own), 0, total - 1,
	        "an offset at run time is not in [0, %" PRId64 "]", total - 1);
	/* Outside in all, on either side, is outside in the first dimension. */
	expr_ref offset = MIN(CAST(DTYPE_U64, LOAD(offsets, term)), WHOLE(DTYPE_U64, total));
	index_ref flat = VALUE(CAST(DTYPE_I64, offset), 0, total);
	int64_t step = total;
	FOR (d, rank) {
		step /= from[d];
		told[d] = QUOTIENT(flat, step);
		to[d] = POSITION(d ? REST(told[d], from[d]) : told[d]);
	}
	definer_out_scatter(definer, 0, REDUCE_LAST, to, rank, x->extents, LIKE(x, 0), LOAD(x, term));
}
