/* slices.c: Slice: parts of tensors. */
#include "ops/words.h"

/* ---- Slice: y[i] = x[start + step*i] ---- */
struct cut {
	int64_t start, step, count;
};

/* ONNX's rules: negative positions count from the end, then both are cut to the data; any int64 is valid but a step of
 * 0. */
static struct cut cut_of(const struct node *node, int64_t start, int64_t end, int64_t step, int64_t extent)
{
	struct cut cut = { .step = step };
	INVALID_IF(step == 0, "a step of 0");
	int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
	start += start < 0 ? extent : 0;
	end += end < 0 ? extent : 0;
	start = start < 0 ? 0 : start > high ? high : start;
	end = end < low ? low : end > high ? high : end;
	uint64_t size = step > 0 ? (uint64_t)step : -(uint64_t)step, span = 0;
	if (extent > 0 && (step > 0 ? end > start : start > end))
		span = (uint64_t)(step > 0 ? end - start : start - end);
	cut.start = start;
	cut.count = span ? (int64_t)((span - 1) / size + 1) : 0;
	if (cut.count <= 1)
		cut.step = 1; /* not used; any int64 times 0 */
	return cut;
}

/* False where positions are not known yet; cuts[d] is set where the data's dim is known. */
static bool cuts_of(const struct node *node, struct cut *cuts, bool *touched)
{
	const struct tensor *x = node->in[0];
	const int64_t *numbers[4] = { NULL }; /* starts, ends, axes, steps */
	int64_t counts[4] = { 0 };
	static const char *const names[] = { "starts", "ends", "axes", "steps" };
	FOR (i, 4) {
		numbers[i] = node_numbers(node, node->since >= 10, 1 + i, names[i], &counts[i]);
		if (node->since >= 10 && node_in(node, 1 + i) && !numbers[i])
			return false;
	}
	int64_t count = counts[0];
	INVALID_IF(counts[1] != count || (numbers[2] && counts[2] != count) || (numbers[3] && counts[3] != count),
	        "%" PRId64 " starts, %" PRId64 " ends, %" PRId64 " axes, %" PRId64 " steps", count, counts[1],
	        counts[2], counts[3]);
	memset(touched, 0, MAX_RANK * sizeof *touched);
	FOR (i, count) {
		int64_t axis = node_axis(node, numbers[2] ? numbers[2][i] : i, x->rank);
		INVALID_IF(touched[axis], "axis %" PRId64 " twice", axis);
		touched[axis] = true;
		int64_t step = numbers[3] ? numbers[3][i] : 1, extent = x->dims[axis].extent;
		if (x->dims[axis].count && node->since >= 10)
			return false;
		cuts[axis] = cut_of(node, numbers[0][i], numbers[1][i], step, extent < 0 ? 0 : extent);
	}
	return true;
}

/* Of positions that come at run time: the axes that they may touch. */
static void touched_axes(const struct node *node, bool *touched)
{
	const struct tensor *x = node->in[0], *starts = node_in(node, 1);
	int64_t count, given = starts && starts->rank == 1 ? starts->dims[0].extent : -1;
	const int64_t *axes = node_in_ints(node, 3, &count);
	bool all = !axes && (node_in(node, 3) || given < 0);
	FOR (d, x->rank)
		touched[d] = all || (!axes && d < given);
	FOR_WHILE (i, axes, count)
		touched[node_axis(node, axes[i], x->rank)] = true;
}

static struct tensor *size_of_slice(const struct node *node, int d)
{
	const struct tensor *x = node->in[0];
	struct tensor *in[5] = { size_of_dim(node, &x->dims[d]) };
	memcpy(in + 1, node->in + 1, sizeof *in * (size_t)(node->ins - 1));
	struct tensor *size = size_made(node, "SizeSlice", d, node->ins, in);
	size_says(size->producer, "rank", x->rank);
	size_says(size->producer, "most", x->dims[d].extent);
	return size;
}

/* Where operands are known as sizes: how many elements each touched axis takes, in `taken`; false where one is not
 * known. */
static struct tensor *from_end_of(
        const struct node *node, struct tensor *position, struct tensor *have, struct tensor *low, struct tensor *high)
{
	struct span span = size_span(position);
	if (span.least < 0 && span.most >= 0)
		return NULL;
	if (position->data
	        && (span.least < -INT32_MAX || span.most > INT32_MAX)) /* all that there is, however that is written */
		return span.least < 0 ? low : high;
	position = span.most < 0 ? size_sum(node, have, position) : position;
	return size_least(node, size_most(node, position, low), high);
}

static struct tensor *size_taken(
        const struct node *node, struct tensor *have, struct tensor *start, struct tensor *end, struct tensor *step)
{
	if (!step->data || size_is(step, 0))
		return NULL;
	int64_t by = tensor_int(step, 0), size = by < 0 ? by == INT64_MIN ? INT64_MAX : -by : by;
	struct tensor *none = size_number(node, by < 0 ? -1 : 0), *last = size_plus(node, have, by < 0 ? -1 : 0);
	start = from_end_of(node, start, have, size_number(node, 0), last);
	end = from_end_of(node, end, have, none, last);
	if (!start || !end)
		return NULL;
	struct tensor *span = size_not_below_zero(
	        node, by < 0 ? size_difference(node, start, end) : size_difference(node, end, start));
	return size == 1           ? span
	        : size > INT32_MAX ? size_least(node, span, size_number(node, 1))
	                           : size_quotient(node, size_plus(node, span, size - 1), size_number(node, size));
}

static bool taken_of(const struct node *node, struct tensor **taken)
{
	const struct tensor *x = node->in[0];
	struct tensor *const *numbers[4];
	int64_t counts[4];
	FOR (i, 4)
		if (!(numbers[i] = node->since >= 10 ? node_in_sizes(node, 1 + i, &counts[i]) : NULL)
		        && (i < 2 || node_in(node, 1 + i)))
			return false;
	if (counts[0] > x->rank || counts[1] != counts[0] || (numbers[2] && counts[2] != counts[0])
	        || (numbers[3] && counts[3] != counts[0]))
		return false;
	memset(taken, 0, MAX_RANK * sizeof *taken);
	FOR (i, counts[0]) {
		if (numbers[2] && !numbers[2][i]->data)
			return false;
		int64_t axis = node_axis(node, numbers[2] ? tensor_int(numbers[2][i], 0) : i, x->rank);
		if (taken[axis]
		        || !(taken[axis] = size_taken(node, size_of_dim(node, &x->dims[axis]), numbers[0][i],
		                     numbers[1][i], numbers[3] ? numbers[3][i] : size_number(node, 1))))
			return false;
	}
	return true;
}

bool slice_of_list(const struct node *node, int64_t *start, int64_t *step)
{
	struct cut cuts[MAX_RANK];
	bool touched[MAX_RANK];
	if (node->in[0]->rank != 1 || !cuts_of(node, cuts, touched))
		return false;
	*start = touched[0] ? cuts[0].start : 0;
	*step = touched[0] ? cuts[0].step : 1;
	return true;
}

bool slice_comes_late(const struct node *node)
{
	struct cut cuts[MAX_RANK];
	bool touched[MAX_RANK];
	return !cuts_of(node, cuts, touched);
}

void infer_slice(struct node *node)
{
	struct cut cuts[MAX_RANK];
	bool touched[MAX_RANK];
	struct dim dims[MAX_RANK];
	const struct tensor *x = node->in[0];
	INVALID_IF(node->since < 10 && (!node_attribute(node, "starts") || !node_attribute(node, "ends")),
	        " lacks the attributes \"starts\" and \"ends\"");
	if (!infer_ranks(node, 1, x->type))
		return;
	bool known = cuts_of(node, cuts, touched);
	if (!known)
		touched_axes(node, touched);
	FOR (d, x->rank)
		dims[d] = !touched[d] && !known                               ? x->dims[d]
		        : !known || (touched[d] && !dim_is_known(x->dims[d])) ? dim_unknown
		        : touched[d]                                          ? dim_of(cuts[d].count)
		                                                              : x->dims[d];
	struct tensor *taken[MAX_RANK];
	if (!known && tensor_is_known(x) && taken_of(node, taken))
		FOR (d, x->rank) {
			dims[d] = taken[d] && taken[d] != x->dims[d].count ? size_dim(taken[d]) : x->dims[d];
			if (dims[d].extent > x->dims[d].extent)
				dims[d].extent = x->dims[d].extent;
		}
	else if (!known && tensor_is_known(x))
		infer_asked_dims(node, x->rank, dims, size_of_slice);
	infer_output(node, 0, x->type, x->rank, dims);
}

/* ---- positions at run time: their values are in the indices, and take what is declared ---- */
static expr_ref from_end(struct definer *definer, expr_ref position, expr_ref extent, expr_ref low, expr_ref high)
{
	position = I_ADD(position, I_WHERE(I_LESS(position, I(0)), extent, I(0)));
	return I_MIN(I_MAX(position, low), high);
}

/* How many elements an axis of `have`, at most n, takes, from where on and by what; *right: that is no 0. */
struct taking {
	expr_ref count, start, step, right;
};
static struct taking taking_of(struct definer *definer, const struct axes *axes, int d, expr_ref have, int64_t n)
{
	expr_ref step = node_in(NODE, 4) ? axes_say(definer, axes, d, 4, 0, 1) : I(1);
	expr_ref forward = I_LESS(I(0), step);
	expr_ref least = I_SUB(forward, I(1)), most = I_ADD(least, have);
	expr_ref start =
	        KEPT(FORMAT("start_%d", d), from_end(definer, axes_say(definer, axes, d, 1, 0, 0), have, I(0), most));
	expr_ref end = KEPT(
	        FORMAT("end_%d", d), from_end(definer, axes_say(definer, axes, d, 2, 0, INT64_MAX), have, least, most));
	expr_ref far = integer_cut(definer, step, -n, n);
	expr_ref size = KEPT(FORMAT("size_%d", d), I_WHERE(forward, far, I_SUB(I(0), far)));
	expr_ref span = I_WHERE(forward, I_SUB(end, start), I_SUB(start, end));
	expr_ref taken = I_SUB(I_ADD(I_MAX(span, I(0)), size), I(1));
	taken = n ? I_DIV(taken, size) : I(0);
	return (struct taking){ taken, start, step, I_IS(I_IS(step, 0), 0) };
}

/* The place of element `at` of axis d, which is cut to `dim`, of n elements; *right: whether starts, ends and steps
 * take as many. */
static index_ref cut_at(struct definer *definer, const struct axes *axes, int d, const struct dim *of,
        const struct dim *dim, index_ref at, expr_ref *right)
{
	int64_t n = of->extent, count = dim->extent;
	const struct taking taking = taking_of(definer, axes, d, DIM(of), n);
	expr_ref start = taking.start, step = taking.step;
	*right = I_AND(*right, I_AND(taking.right, I_EQUAL(taking.count, DIM(dim))));
	int64_t by;
	if (count == 0 || n == 0)
		return at;
	if (!definer_number(definer, step, &by) || dim->count || of->count)
		return INDEX(I_ADD(start, I_MUL(POSITION(at), step)), 0, n - 1);
	by = count > 1 ? by : 1;
	if (by == 0 || by > n || by < -n || (count - 1) * (by < 0 ? -by : by) > n - 1)
		node_invalid(NODE, "%" PRId64 " elements of dimension %d are declared, by %" PRId64 " of %" PRId64,
		        count, d, by, n);
	int64_t reach = (count - 1) * by;
	return SUM(INDEX(start, reach < 0 ? -reach : 0, n - 1 - (reach > 0 ? reach : 0)), SCALE(at, by));
}

static void slice_at_run_time(struct definer *definer)
{
	const struct node *node = NODE;
	struct definition *x = IN(0);
	SHAPE(0, rank, extents, at);
	struct axes axes = { node_in(node, 3) ? 3 : -1, rank, ELEMENTS(1) };
	FOR_FROM (i, 2, 5)
		INVALID_IF(node_in(node, i) && ELEMENTS(i) != axes.count,
		        "%" PRId64 " starts, but %" PRId64 " numbers in input %d", axes.count, ELEMENTS(i), i);
	INVALID_IF(axes.count > rank, "%" PRId64 " starts of %d dimensions", axes.count, rank);
	expr_ref right = axes_right(definer, &axes);
	FOR (d, rank) {
		INVALID_IF(extents[d] > x->extents[d], "dimension %d is declared as %" PRId64 ", data has %" PRId64, d,
		        extents[d], x->extents[d]);
		at[d] = cut_at(definer, &axes, d, &node->in[0]->dims[d], &node->out[0]->dims[d], at[d], &right);
	}
	definer_require_dims(definer);
	REQUIRE(right, "positions that take the declared %s are right", SHAPE_TEXT(rank, extents));
	OUT(0, LOAD(x, at));
}

void infer_size_slice(struct node *node) { infer_as_size(node, 3, 5); }

void define_size_slice(struct definer *definer)
{
	const struct axes axes = { node_in(NODE, 3) ? 3 : -1, (int)attribute_int(NODE, "rank"), ELEMENTS(1) };
	OUT(0,
	        taking_of(definer, &axes, (int)attribute_int(NODE, "at"), ELEMENT(0, 0), attribute_int(NODE, "most"))
	                .count);
}

void define_slice(struct definer *definer)
{
	struct cut cuts[MAX_RANK];
	bool touched[MAX_RANK];
	SHAPE(0, rank, extents, at);
	if (!cuts_of(NODE, cuts, touched)) {
		slice_at_run_time(definer);
		return;
	}
	FOR (d, rank)
		if (touched[d])
			at[d] = PLUS(SCALE(at[d], cuts[d].step), cuts[d].start);
	OUT(0, LOAD(IN(0), at));
}
