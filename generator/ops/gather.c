/* gather.c: elements at indices that are data: Gather, GatherElements, GatherND, ReverseSequence.  A negative index
 * counts from the end.  One outside the data is refused, where it is constant at once, else by a check; it is cut to
 * the data as well, so that nothing outside is ever read. */
#include "ops/words.h"

static int gather_axis(const struct node *node) { return attribute_axis(node, node->in[0]->rank); }

/* A place in dimension d of the data: an index below 0 counts from the end, one outside is cut. */
static index_ref place(struct definer *definer, expr_ref index, int d)
{
	const struct dim *dim = &NODE->in[0]->dims[d];
	expr_ref zero = I(0), last = I(dim->extent - 1);
	int64_t low, high;
	index = CAST(DTYPE_I64, index);
	expr_bounds(index, &low, &high);
	if (low >= 0 && high < dim->extent)
		return VALUE(index, 0, dim->extent - 1);
	index = ADD(index, MUL(LESS(index, zero), DIM(dim)));
	return VALUE(MIN(MAX(index, zero), last), 0, dim->extent - 1);
}

/* The place that indices name.  A single constant is a number of the address, which stays affine: a product of what is
 * picked is a contraction. */
static index_ref place_of(struct definer *definer, const index_ref *at, int d)
{
	const struct tensor *indices = NODE->in[1];
	const struct dim *dim = &NODE->in[0]->dims[d];
	if (indices->data && !dim->count && tensor_elements(NODE->graph->build, indices) == 1) {
		int64_t index = infer_constant_at(indices, 0);
		index += index < 0 ? dim->extent : 0;
		return CONSTANT(index < 0 ? 0 : index < dim->extent ? index : dim->extent - 1);
	}
	return place(definer, LOAD(IN(1), at), d);
}

/* Constant indices, or their column, that are inside however few there are. */
static bool always_inside(const struct node *node, int64_t column, int64_t least)
{
	const struct tensor *at = node->in[1];
	int64_t count = at->data ? node_elements(node, at) : -1, step = column < 0 ? 1 : at->dims[at->rank - 1].extent;
	for (int64_t i = column < 0 ? 0 : column; i < count; i += step)
		if (infer_constant_at(at, i) < -least || infer_constant_at(at, i) >= least)
			return false;
	return count >= 0;
}

void definer_require_index(struct definer *definer, int64_t column, int d)
{
	const struct dim *dim = &NODE->in[0]->dims[d];
	struct definition *indices = IN(1);
	index_ref own[MAX_RANK];
	int rank = indices->rank - (column >= 0);
	if (!dim->count) {
		definer_require_inside(definer, 1, column, dim->extent);
		return;
	}
	if (always_inside(NODE, column, size_span(dim->count).least))
		return;
	VARS(own, rank, indices->extents);
	if (column >= 0)
		own[rank] = CONSTANT(column);
	expr_ref at = CAST(DTYPE_I64, LOAD(indices, own)), most = DIM(dim);
	if (tensor_counted(NODE->in[1]))
		most = I_MAX(most, I(1));
	expr_ref least = KEPT("least", I_SUB(I(-1), most));
	definer_require(definer, EXIT_INVALID, rank, indices->extents, I_AND(I_LESS(at, most), I_LESS(least, at)),
	        "an index at run time is outside of dimension %d", d);
}

/* ---- Gather ---- */
void infer_gather(struct node *node)
{
	struct dim dims[MAX_RANK * 2];
	int n = 0;
	const struct tensor *x = node->in[0], *at = node->in[1];
	if (!infer_ranks(node, 2, x->type))
		return;
	int axis = gather_axis(node);
	int64_t extent = x->dims[axis].extent;
	infer_constant_indices(node, 0, 1, extent);
	FOR (d, x->rank)
		if (d != axis)
			dims[n++] = x->dims[d];
		else
			FOR (k, at->rank)
				dims[n++] = at->dims[k];
	infer_output(node, 0, x->type, n, dims);
}

void define_gather(struct definer *definer)
{
	struct definition *x = IN(0), *indices = IN(1);
	index_ref x_at[MAX_RANK];
	int axis = gather_axis(NODE);
	SHAPE(0, rank, extents, at);
	if (definer_is_empty(definer, x))
		return;
	definer_require_index(definer, -1, axis);
	index_ref index = place_of(definer, at + axis, axis);
	for (int d = 0, n = 0; d < x->rank; d++)
		if (d != axis) {
			x_at[d] = at[n++];
		} else {
			x_at[d] = index;
			n += indices->rank;
		}
	OUT(0, LOAD(x, x_at));
}

/* ---- GatherElements: y[i, j] = x[at[i, j], j] ---- */
void infer_gather_elements(struct node *node)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	if (!infer_ranks(node, 2, x->type))
		return;
	INVALID_IF(x->rank < 1 || x->rank != at->rank,
	        "data has %d dimensions, the indices have %d, as many and at least 1 are right", x->rank, at->rank);
	int axis = gather_axis(node);
	FOR (d, x->rank)
		INVALID_IF(d != axis && dim_is_known(x->dims[d]) && dim_is_known(at->dims[d])
		                && at->dims[d].extent > x->dims[d].extent,
		        "dimension %d of the indices is %" PRId64 ", data has %" PRId64, d, at->dims[d].extent,
		        x->dims[d].extent);
	infer_constant_indices(node, 0, 1, x->dims[axis].extent);
	infer_output(node, 0, x->type, at->rank, at->dims);
}

void define_gather_elements(struct definer *definer)
{
	struct definition *x = IN(0), *indices = IN(1);
	int axis = gather_axis(NODE);
	SHAPE(0, rank, extents, at);
	if (definer_is_empty(definer, x))
		return;
	definer_require_index(definer, -1, axis);
	at[axis] = place(definer, LOAD(indices, at), axis);
	OUT(0, LOAD(x, at));
}

/* ---- GatherND: the last dimension of the indices is a place in `count` dimensions of data, behind the batch's ---- */
struct places {
	int batch, count;
};

static struct places places_of(const struct node *node)
{
	const struct tensor *x = node->in[0], *at = node->in[1];
	int64_t batch = attribute_int(node, "batch_dims"), count = at->dims[at->rank - 1].extent;
	INVALID_IF(batch < 0 || batch >= x->rank || batch >= at->rank,
	        "batch_dims is %" PRId64 ", below the dimensions of data (%d) and indices (%d) is right", batch,
	        x->rank, at->rank);
	INVALID_IF(count < 1 || count > x->rank - batch,
	        "the indices name %" PRId64 " dimensions, 1 to %" PRId64 " are right", count, x->rank - batch);
	return (struct places){ (int)batch, (int)count };
}

void infer_gather_nd(struct node *node)
{
	struct dim dims[MAX_RANK * 2];
	int n = 0;
	const struct tensor *x = node->in[0], *at = node->in[1];
	INVALID_IF(!x->rank || !at->rank, "data has %d dimensions, the indices have %d, at least 1 are right", x->rank,
	        at->rank);
	if (x->rank < 0 || at->rank < 0 || !dim_is_known(at->dims[at->rank - 1])) {
		infer_type(node, 0, x->type);
		return;
	}
	struct places places = places_of(node);
	FOR (d, places.batch)
		INVALID_IF(dims_differ(x->dims[d], at->dims[d]),
		        "dimension %d of the batch is %" PRId64 " in data and %" PRId64 " in the indices", d,
		        x->dims[d].extent, at->dims[d].extent);
	FOR (i, places.count)
		infer_constant_indices(node, i, places.count, x->dims[places.batch + i].extent);
	FOR (d, at->rank - 1)
		dims[n++] = at->dims[d];
	FOR_FROM (d, places.batch + places.count, x->rank)
		dims[n++] = x->dims[d];
	infer_output(node, 0, x->type, n, dims);
}

void define_gather_nd(struct definer *definer)
{
	struct definition *x = IN(0), *indices = IN(1);
	index_ref x_at[MAX_RANK], place_at[MAX_RANK];
	struct places places = places_of(NODE);
	SHAPE(0, rank, extents, at);
	if (definer_is_empty(definer, x))
		return;
	FOR (d, indices->rank - 1)
		place_at[d] = at[d];
	FOR (d, x->rank) {
		int i = d - places.batch;
		if (i < 0) {
			x_at[d] = at[d];
		} else if (i < places.count) {
			definer_require_index(definer, i, d);
			place_at[indices->rank - 1] = CONSTANT(i);
			x_at[d] = place(definer, LOAD(indices, place_at), d);
		} else {
			x_at[d] = at[indices->rank - 1 + i - places.count];
		}
	}
	OUT(0, LOAD(x, x_at));
}

/* ---- ReverseSequence: the first elements of each sequence, as many as its length says, in reverse ---- */
struct sequences {
	int time, batch;
};

static struct sequences sequences_of(const struct node *node)
{
	int rank = node->in[0]->rank;
	struct sequences s = { (int)node_axis(node, attribute_int(node, "time_axis"), rank),
		(int)node_axis(node, attribute_int(node, "batch_axis"), rank) };
	INVALID_IF(s.time == s.batch || s.time > 1 || s.batch > 1,
	        "time_axis is %d, batch_axis is %d, 0 and 1 are right", s.time, s.batch);
	return s;
}

void infer_reverse_sequence(struct node *node)
{
	const struct tensor *x = node->in[0], *lengths = node->in[1];
	INVALID_IF(x->rank >= 0 && x->rank < 2, "data has %d dimensions, at least 2 are right", x->rank);
	if (x->rank >= 0 && lengths->rank >= 0) {
		struct sequences s = sequences_of(node);
		INVALID_IF(lengths->rank != 1 || (dims_differ(lengths->dims[0], x->dims[s.batch])),
		        "the lengths have %d dimensions of %" PRId64 ", one of %" PRId64 " is right", lengths->rank,
		        lengths->rank ? lengths->dims[0].extent : 0, x->dims[s.batch].extent);
		for (int64_t i = 0,
		             n = lengths->data && dim_is_known(x->dims[s.time]) ? node_elements(node, lengths) : 0;
		        i < n; i++)
			INVALID_IF(infer_constant_at(lengths, i) < 0
			                || infer_constant_at(lengths, i) > x->dims[s.time].extent,
			        "a length of %" PRId64 " of %" PRId64, infer_constant_at(lengths, i),
			        x->dims[s.time].extent);
	}
	infer_output_like(node, 0, x);
}

void define_reverse_sequence(struct definer *definer)
{
	struct definition *x = IN(0), *lengths = IN(1);
	struct sequences s = sequences_of(NODE);
	const struct dim *steps = &NODE->in[0]->dims[s.time];
	SHAPE(0, rank, extents, at);
	if (definer_is_empty(definer, x))
		return;
	int64_t last = extents[s.time] - 1;
	index_ref sequence = VAR(0, lengths->extents[0]);
	if (steps->count)
		definer_require(definer, EXIT_INVALID, 1, lengths->extents,
		        I_AND(I_LESS(I(-1), LOAD(lengths, &sequence)),
		                I_LESS(LOAD(lengths, &sequence), I_ADD(DIM(steps), I(1)))),
		        "a length at run time is not in what there is of dimension %d", s.time);
	else
		definer_require_within(definer, EXIT_INVALID, 1, lengths->extents, LOAD(lengths, &sequence), 0,
		        last + 1, "a length at run time is not in [0, %" PRId64 "]", last + 1);
	expr_ref zero = I(0), most = I(last + 1), time = POSITION(at[s.time]);
	expr_ref length = MIN(MAX(LOAD(lengths, &at[s.batch]), zero), most);
	expr_ref back = SUB(SUB(length, I(1)), time);
	at[s.time] = VALUE(WHERE(LESS(time, length), back, time), 0, last);
	OUT(0, LOAD(x, at));
}
