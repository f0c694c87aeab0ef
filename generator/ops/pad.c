/* pad.c: tensors with more around or beside their elements, or with some taken to 0: Pad, Tile, Trilu. */
#include "ops/words.h"
#include <math.h>

/* ---- Pad ---- */
enum mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };
enum { PADS_ARE_INPUT = 11, WRAPS = 19 };
enum { PAD_MOST = 1 << 30 }; /* at run time */

static enum mode mode_of(const struct node *node)
{
	return (enum mode)attribute_word(
	        node, "mode", node->since < WRAPS ? "constant reflect edge" : "constant reflect edge wrap");
}

/* How many elements come before and behind each dimension, below 0: go.  False where they are not constant. */
static bool pads_of(const struct node *node, int rank, int64_t *before, int64_t *after)
{
	int64_t count, axes_count = 0;
	bool inputs = node->since >= PADS_ARE_INPUT;
	const int64_t *pads = node_numbers(node, inputs, 1, node->since < 2 ? "paddings" : "pads", &count),
	              *axes = inputs ? node_in_ints(node, 3, &axes_count) : NULL;
	if ((inputs && !pads) || (node_in(node, 3) && !axes))
		return false;
	int64_t dims = axes ? axes_count : rank;
	INVALID_IF(count != 2 * dims, "%" PRId64 " pads for %" PRId64 " dimensions, %" PRId64 " are right", count, dims,
	        2 * dims);
	FOR (d, rank)
		before[d] = after[d] = 0;
	FOR (i, dims) {
		int64_t d = axes ? node_axis(node, axes[i], rank) : i;
		LIMIT_IF(pads[i] < -((int64_t)1 << 40) || pads[i] > (int64_t)1 << 40
		                || pads[dims + i] < -((int64_t)1 << 40) || pads[dims + i] > (int64_t)1 << 40,
		        "pads of %" PRId64 " and %" PRId64 " elements", pads[i], pads[dims + i]);
		before[d] = pads[i];
		after[d] = pads[dims + i];
	}
	return true;
}

/* Of pads that come at run time and are known as sizes (sizes.c), but numbers before each dimension: how many come
 * behind.  NULL: they are not. */
static struct tensor *const *pads_in_sizes(const struct node *node, int64_t *before)
{
	const struct tensor *x = node->in[0];
	int64_t count;
	if (node->since < PADS_ARE_INPUT || node_in(node, 3) || node->in[1]->data || !tensor_is_known(x)
	        || mode_of(node) != PAD_CONSTANT)
		return NULL;
	struct tensor *const *sizes = node_in_sizes(node, 1, &count);
	if (!sizes || count != 2 * x->rank)
		return NULL;
	FOR (d, x->rank) {
		struct span behind = size_span(sizes[x->rank + d]);
		if (!sizes[d]->data || behind.least < -PAD_MOST || behind.most > PAD_MOST)
			return NULL;
		before[d] = tensor_int(sizes[d], 0);
		if (before[d] < -PAD_MOST || before[d] > PAD_MOST)
			return NULL;
	}
	return sizes + x->rank;
}

static void sized_dims(const struct node *node, const int64_t *before, struct tensor *const *after, struct dim *dims)
{
	const struct tensor *x = node->in[0];
	FOR (d, x->rank)
		dims[d] = size_dim(size_not_below_zero(
		        node, size_sum(node, size_plus(node, size_of_dim(node, &x->dims[d]), before[d]), after[d])));
}

void infer_pad(struct node *node)
{
	struct dim dims[MAX_RANK];
	int64_t before[MAX_RANK], after[MAX_RANK];
	infer_counts(node, node->since < PADS_ARE_INPUT ? 1 : 2, node->since < PADS_ARE_INPUT ? 1 : 4, 1);
	enum dtype type = infer_any_type(node, 0);
	enum mode mode = mode_of(node);
	const struct tensor *x = node->in[0];
	if (node->since >= PADS_ARE_INPUT) {
		infer_same_type(node, 2, type);
		infer_scalar(node, 2);
	}
	dims_unknown(dims);
	struct tensor *const *behind = pads_in_sizes(node, before);
	if (behind) {
		sized_dims(node, before, behind, dims);
		infer_output(node, 0, type, x->rank, dims);
		return;
	}
	if (x->rank < 0 || !pads_of(node, x->rank, before, after)) {
		infer_output(node, 0, type, x->rank, dims);
		return;
	}
	FOR (d, x->rank) {
		int64_t extent = x->dims[d].extent;
		dims[d] = before[d] || after[d] ? dim_unknown : x->dims[d];
		if (extent < 0 || !(before[d] || after[d]))
			continue;
		INVALID_IF(extent + before[d] + after[d] < 0,
		        "pads %" PRId64 " and %" PRId64 " take more than the %" PRId64 " elements of dimension %d",
		        before[d], after[d], extent, d);
		INVALID_IF(mode != PAD_CONSTANT && extent == 0 && extent + before[d] + after[d] > 0,
		        "dimension %d has no element to take for its pads", d);
		dims[d] = dim_of(extent + before[d] + after[d]);
	}
	infer_output(node, 0, type, x->rank, dims);
}

bool pad_has_sizes(const struct node *node)
{
	int64_t before[MAX_RANK];
	return pads_in_sizes(node, before) != NULL;
}

bool pad_of_counted(const struct node *node, int64_t *before, int64_t *after, float *fill)
{
	const struct tensor *given = node->since < PADS_ARE_INPUT ? NULL : node_in(node, 2);
	enum dtype type = node->in[0]->type;
	struct tensor *const *behind = pads_in_sizes(node, before);
	FOR_WHILE (d, behind, node->in[0]->rank)
		after[d] = size_span(behind[d]).most;
	if (!behind && !pads_of(node, node->in[0]->rank, before, after))
		return false;
	*fill = NAN;
	if (mode_of(node) != PAD_CONSTANT)
		return true;
	if ((given && !given->data) || type == DTYPE_BOOL || dtypes[type].bits < 8)
		return false;
	bool is_float = type == DTYPE_F32 || type == DTYPE_F64;
	if (given && !is_float && dtypes[type].class != CLASS_INT && dtypes[type].class != CLASS_UINT)
		return false;
	double value = !given ? node->since < PADS_ARE_INPUT ? (double)node_float(node, "value", 0) : 0
	        : is_float    ? tensor_float(given, 0)
	                      : (double)tensor_int(given, 0);
	*fill = (float)value;
	return (double)*fill == value && (is_float || fabs(value) < 0x1p24);
}

/* The same as a number, among as many elements of dimension d as there are. */
static expr_ref beside_counted(struct definer *definer, enum mode mode, int d, expr_ref from)
{
	expr_ref n = SIZE(NODE->in[0]->dims[d].count), last = I_SUB(n, I(1));
	REQUIRE(I_BETWEEN(n, 1, INT64_MAX), "dimension %d has no element to take for its pads", d);
	if (mode == PAD_WRAP)
		return integer_of(definer, SCALAR_mod, from, n);
	if (mode == PAD_EDGE)
		return I_MIN(I_MAX(from, I(0)), last);
	expr_ref period = I_MAX(I_ADD(last, last), I(1)), m = integer_of(definer, SCALAR_mod, from, period);
	return I_MIN(m, I_SUB(period, m));
}

/* Where rows that wrap are shorter, an index finds their elements: several rows are a vector. */
enum { WRAPPED_IN_PARTS = 16 };

/* x at these indices but for dimension d, which lies `from` before x's own */
static expr_ref beside(
        struct definer *definer, struct definition *x, enum mode mode, index_ref *at, int d, index_ref from)
{
	index_ref own[MAX_RANK];
	int64_t n = x->extents[d], period = 2 * (n - 1);
	COPY(own, at, x->rank);
	if (NODE->in[0]->dims[d].count) {
		own[d] = INDEX(beside_counted(definer, mode, d, POSITION(from)), 0, n - 1);
		return LOAD(x, own);
	}
	int64_t low, high;
	index_range(from, &low, &high);
	if ((mode == PAD_WRAP && (x->extents[x->rank - 1] < WRAPPED_IN_PARTS || low < -n || high >= 2 * n))
	        || (mode == PAD_REFLECT && n == 1)) {
		own[d] = REST(from, n);
		return LOAD(x, own);
	}
	if (mode == PAD_REFLECT) {
		index_ref m = REST(from, period), back = PLUS(SCALE(m, -1), period);
		own[d] = m;
		expr_ref there = LOAD(x, own);
		own[d] = back;
		expr_ref reflected = LOAD(x, own);
		own[d] = CONSTANT(0); /* never: one of both lies inside, which a range has to say of each */
		return SELECT(&(struct range){ m, 0, n }, 1, there,
		        SELECT(&(struct range){ back, 0, n }, 1, reflected, LOAD(x, own)));
	}
	own[d] = from;
	expr_ref inside = LOAD(x, own);
	own[d] = mode == PAD_WRAP ? PLUS(from, n) : CONSTANT(0);
	expr_ref first = LOAD(x, own);
	own[d] = mode == PAD_WRAP ? PLUS(from, -n) : CONSTANT(n - 1);
	expr_ref last = LOAD(x, own);
	own[d] = CONSTANT(0);
	if (mode == PAD_WRAP)
		last = SELECT(&(struct range){ from, n, 2 * n }, 1, last, LOAD(x, own));
	return SELECT(&(struct range){ from, 0, n }, 1, inside,
	        SELECT(&(struct range){ from, mode == PAD_WRAP ? -n : INT64_MIN / 2, 0 }, 1, first, last));
}

/* Of pads that come at run time: how many come before each dimension, as an index. */
static void pads_at_run_time(
        struct definer *definer, const struct definition *x, const int64_t *extents, index_ref *before)
{
	const struct node *node = NODE;
	struct axes axes = { node_in(node, 3) ? 3 : -1, x->rank, node_in(node, 3) ? ELEMENTS(3) : x->rank };
	INVALID_IF(axes.count > x->rank || ELEMENTS(1) != 2 * axes.count,
	        "%" PRId64 " pads for %" PRId64 " of %d dimensions", ELEMENTS(1), axes.count, x->rank);
	expr_ref right = axes_right(definer, &axes);
	FOR (d, x->rank) {
		expr_ref first = axes_say(definer, &axes, d, 1, 0, 0),
		         last = axes_say(definer, &axes, d, 1, axes.count, 0);
		first = KEPT(FORMAT("before_%d", d), first);
		right = I_AND(right,
		        I_AND(I_BETWEEN(first, -PAD_MOST, PAD_MOST),
		                I_IS(I_ADD(first, last), extents[d] - x->extents[d])));
		before[d] = INDEX(first, -PAD_MOST, PAD_MOST);
	}
	REQUIRE(right, "pads that make the declared %s are right", SHAPE_TEXT(x->rank, extents));
}

void define_pad(struct definer *definer)
{
	const struct node *node = NODE;
	struct definition *x = IN(0), *fill = node->since < PADS_ARE_INPUT ? NULL : IN(2);
	int64_t first[MAX_RANK], last[MAX_RANK];
	index_ref before[MAX_RANK];
	struct range ranges[MAX_RANK];
	enum mode mode = mode_of(node);
	SHAPE(0, rank, extents, at);
	int count = 0;
	bool constant =
	        pads_in_sizes(node, first) || pads_of(node, rank, first, last); /* what comes behind, the extents say */
	FOR_WHILE (d, constant, rank)
		before[d] = CONSTANT(first[d]);
	if (!constant)
		pads_at_run_time(definer, x, extents, before);
	if (mode != PAD_CONSTANT) { /* a dimension at a time: what they do does not depend on each other */
		FOR (d, rank)
			if (constant ? first[d] || last[d] : extents[d] > 0) {
				int64_t some[MAX_RANK];
				index_ref here[MAX_RANK];
				FOR (k, rank) {
					some[k] = k <= d ? extents[k] : x->extents[k];
					here[k] = VAR(k, some[k]);
				}
				INVALID_IF(x->extents[d] == 0, "dimension %d has no element to take for its pads", d);
				x = PART("padded", rank, some,
				        beside(definer, x, mode, here, d, SUM(here[d], SCALE(before[d], -1))));
			}
		OUT(0, LOAD(x, at));
		return;
	}
	expr_ref outside = fill ? BROADCAST(fill, 0, NULL)
	                        : LIKE(x, node->since < PADS_ARE_INPUT ? (double)attribute_float(node, "value") : 0);
	FOR (d, rank) {
		at[d] = SUM(at[d], SCALE(before[d], -1));
		ranges[count++] = (struct range){ at[d], 0, x->extents[d] };
	}
	OUT(0, definition_elements(x) ? SELECT(ranges, count, LOAD(x, at), outside) : outside);
}

/* ---- Tile ---- */
enum { TILE_BY_REPEATS = 6 };
static const double tiles_most = 0x1p40;

/* How often along each axis; NULL: that comes at run time.  Before opset 6 two numbers of the data's type say it: how
 * often, and along which axis. */
static const int64_t *repeats_of(const struct node *node, int64_t *count)
{
	if (node->since >= TILE_BY_REPEATS)
		return node_in_ints(node, 1, count);
	const struct tensor *x = node->in[0];
	double given[2];
	FOR (i, 2) {
		const struct tensor *number = node->in[1 + i];
		UNSUPPORTED_IF(!number->data, " before opset %d: %s that is not constant is not supported",
		        TILE_BY_REPEATS, i ? "an axis" : "a number of tiles");
		INVALID_IF(node_elements(node, number) != 1, "input %d has %" PRId64 " elements, one is right", 1 + i,
		        node_elements(node, number));
		uint16_t half = 0;
		if (number->type == DTYPE_F16)
			memcpy(&half, number->data, sizeof half);
		else
			INVALID_IF(number->type != DTYPE_F32 && number->type != DTYPE_F64,
			        "input %d is %s, a floating-point type is right", 1 + i, dtypes[number->type].text);
		given[i] = number->type == DTYPE_F16 ? (double)narrow_value(DTYPE_F16, half) : tensor_float(number, 0);
		INVALID_IF(!(given[i] >= 0 && given[i] < tiles_most), "input %d is %g", 1 + i, given[i]);
	}
	if (x->rank < 0)
		return NULL;
	int64_t *repeats = arena_new_array(node_arena(node), int64_t, x->rank + 1);
	FOR (d, x->rank)
		repeats[d] = 1;
	repeats[node_axis(node, (int64_t)given[1], x->rank)] = (int64_t)given[0];
	*count = x->rank;
	return repeats;
}

void infer_tile(struct node *node)
{
	struct dim dims[MAX_RANK];
	int64_t count;
	enum dtype type = infer_number_type(node, 0);
	const struct tensor *x = node->in[0];
	const int64_t *repeats = repeats_of(node, &count);
	struct tensor *const *sizes = node->since < TILE_BY_REPEATS ? NULL : node_in_sizes(node, 1, &count);
	dims_unknown(dims);
	if (tensor_is_known(x) && sizes && count == x->rank && (!repeats || tensor_counted(x))) {
		FOR (d, x->rank)
			dims[d] = size_is(sizes[d], 1)
			        ? x->dims[d]
			        : size_dim(size_product(node, size_of_dim(node, &x->dims[d]), sizes[d]));
		infer_output(node, 0, type, x->rank, dims);
		return;
	}
	if (x->rank < 0 || !repeats) {
		infer_output(node, 0, type, x->rank, dims);
		return;
	}
	INVALID_IF(count != x->rank, "%" PRId64 " repeats for %d dimensions", count, x->rank);
	FOR (d, x->rank) {
		int64_t extent;
		INVALID_IF(repeats[d] < 0, "%" PRId64 " repeats of dimension %d", repeats[d], d);
		LIMIT_IF(x->dims[d].extent >= 0 && __builtin_mul_overflow(x->dims[d].extent, repeats[d], &extent),
		        "%" PRId64 " repeats of dimension %d", repeats[d], d);
		dims[d] = repeats[d] == 1 || x->dims[d].extent < 0 ? x->dims[d] : dim_of(extent);
		if (repeats[d] != 1 && x->dims[d].extent < 0)
			dims[d] = dim_unknown;
	}
	infer_output(node, 0, type, x->rank, dims);
}

/* Repeats that come at run time are those that make what is declared. */
static void declared_repeats(struct definer *definer, const struct definition *x, const int64_t *extents)
{
	expr_ref right = I(1);
	if (ELEMENTS(1) != x->rank)
		node_invalid(NODE, "%" PRId64 " repeats for %d dimensions", ELEMENTS(1), x->rank);
	FOR (d, x->rank) {
		int64_t n = x->extents[d];
		if (n ? extents[d] % n != 0 : extents[d] != 0)
			node_invalid(NODE, "dimension %d is declared as %" PRId64 ", no multiple of %" PRId64, d,
			        extents[d], n);
		expr_ref times = ELEMENT(1, d);
		right = I_AND(right, n ? I_IS(times, extents[d] / n) : I_BETWEEN(times, 0, INT64_MAX));
	}
	REQUIRE(right, "repeats that make the declared %s are right", SHAPE_TEXT(x->rank, extents));
}

/* In a tile that is counted by what is there. */
static index_ref tile_at(struct definer *definer, index_ref at, const struct dim *dim, int64_t extent)
{
	if (!dim->count || extent <= dim->extent)
		return REST(at, dim->extent);
	expr_ref place = POSITION(at), have = I_MAX(DIM(dim), I(1));
	expr_ref whole = I_MUL(I_DIV(place, have), have);
	return INDEX(I_SUB(place, whole), 0, dim->extent - 1);
}

void define_tile(struct definer *definer)
{
	struct definition *x = IN(0);
	int64_t count;
	SHAPE(0, rank, extents, at);
	if (!repeats_of(NODE, &count) && node_in_is_late(NODE, 1))
		declared_repeats(definer, x, extents);
	if (definer_is_empty(definer, x))
		return;
	FOR (d, rank)
		at[d] = tile_at(definer, at[d], &NODE->in[0]->dims[d], extents[d]);
	OUT(0, LOAD(x, at));
}

/* ---- Trilu ---- */
void infer_trilu(struct node *node)
{
	infer_number_type(node, 0);
	INVALID_IF(node->in[0]->rank >= 0 && node->in[0]->rank < 2, "data has %d dimensions, at least 2 are right",
	        node->in[0]->rank);
	infer_output_like(node, 0, node->in[0]);
}

void define_trilu(struct definer *definer)
{
	struct definition *x = IN(0);
	int64_t k;
	SHAPE(0, rank, extents, at);
	int64_t far = extents[rank - 1] + extents[rank - 2];
	index_ref diagonal = ELEMENTS(1) ? INDEX(ELEMENT(1, 0), -far, far) : CONSTANT(0);
	index_ref beyond = SUM(at[rank - 1], SCALE(at[rank - 2], -1));
	if (!index_is_constant(diagonal, &k)) {
		beyond = SUM(beyond, SCALE(diagonal, -1));
		far *= 2;
		k = 0;
	}
	struct range range = { beyond, -far, k + 1 };
	if (attribute_int(NODE, "upper"))
		range = (struct range){ beyond, k, far + 1 };
	OUT(0, SELECT(&range, 1, LOAD(x, at), LIKE(x, 0)));
}
