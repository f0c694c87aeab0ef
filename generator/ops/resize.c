/* resize.c: Resize, axis by axis: a table of places and weights, and a sum of taps over it.  The table is a
 * definition of scales, sizes and the region; where those are constant it is computed at once.  Formulae as ONNX has
 * them, in double; what lies outside the data is its edge. */
#include "ops/words.h"
#include <math.h>

enum { INPUTS_OF_11 = 11, AXES = 18, SYMMETRIC = 19, TAPS_UNROLLED = 4 };
static const double entries_most = 0x1p24; /* of one axis' table */

enum mode { NEAREST, LINEAR, CUBIC };
enum coordinates {
	HALF_PIXEL,
	PYTORCH_HALF_PIXEL,
	ALIGN_CORNERS,
	ASYMMETRIC,
	TF_HALF_PIXEL,
	TF_CROP,
	HALF_PIXEL_SYMMETRIC
};
enum nearest_mode { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL };
enum policy { STRETCH, NOT_LARGER, NOT_SMALLER };

struct resize {
	enum mode mode;
	enum coordinates coordinates;
	enum nearest_mode nearest;
	bool antialias, exclude_outside;
	double a;                                               /* of cubic weights */
	double scale[MAX_RANK], begin[MAX_RANK], end[MAX_RANK]; /* begin, end: the region, 0 to 1 is all */
	int64_t out[MAX_RANK];                                  /* -1: not known */
	expr_ref have[MAX_RANK], made[MAX_RANK]; /* how many elements the data and the result have of an axis
	                                                       that is counted, doubles; else NULL */
	expr_ref scale_at[MAX_RANK], begin_at[MAX_RANK],
	        end_at[MAX_RANK]; /* of an axis where one comes at run time, doubles; else NULL */
};

static void modes_of(const struct node *node, struct resize *r)
{
	bool first = node->since < INPUTS_OF_11;
	r->mode = (enum mode)attribute_word(node, "mode", first ? "nearest linear" : "nearest linear cubic");
	r->coordinates = ASYMMETRIC;
	r->nearest = FLOOR;
	if (!first) {
		r->coordinates = (enum coordinates)attribute_word(node, "coordinate_transformation_mode",
		        node->since < SYMMETRIC
		                ? "half_pixel pytorch_half_pixel align_corners asymmetric tf_half_pixel_for_nn "
		                  "tf_crop_and_resize"
		                : "half_pixel pytorch_half_pixel align_corners asymmetric tf_half_pixel_for_nn "
		                  "tf_crop_and_resize half_pixel_symmetric");
		r->nearest = (enum nearest_mode)attribute_word(
		        node, "nearest_mode", "round_prefer_floor round_prefer_ceil floor ceil");
	}
	r->a = first ? 0 : (double)attribute_float(node, "cubic_coeff_a");
	r->exclude_outside = !first && attribute_int(node, "exclude_outside") && r->mode == CUBIC;
	r->antialias = node->since >= AXES && attribute_int(node, "antialias") && r->mode != NEAREST;
}

/* Elements of a constant float32 input; NULL where it is absent, empty or not constant. */
static const float *floats_of(const struct node *node, int i, int64_t *count)
{
	const struct tensor *tensor = node_in(node, i);
	*count = 0;
	if (tensor && tensor->type != DTYPE_NONE && tensor->type != DTYPE_F32)
		node_fail(node,
		        tensor->type == DTYPE_F64 || tensor->type == DTYPE_F16 ? EXIT_UNSUPPORTED : EXIT_INVALID,
		        "%s: input %d of %s is not supported", node->type, i, dtypes[tensor->type].text);
	if (!tensor || !tensor->data)
		return NULL;
	*count = node_elements(node, tensor);
	float *floats = arena_new_array(node_arena(node), float, *count + 1);
	memcpy(floats, tensor_data(tensor), (size_t)*count * sizeof *floats);
	return *count ? floats : NULL;
}

static bool is_there(const struct node *node, int i) /* and not empty */
{
	const struct tensor *tensor = node_in(node, i);
	return tensor && !(tensor->rank == 1 && tensor->dims[0].extent == 0);
}

static enum policy policy_of(const struct node *node)
{
	return node->since < AXES
	        ? STRETCH
	        : (enum policy)attribute_word(node, "keep_aspect_ratio_policy", "stretch not_larger not_smaller");
}

/* Which axes scales, sizes and the region are of. */
static int64_t axes_of(const struct node *node, int64_t *axes)
{
	size_t given = 0;
	bool touched[MAX_RANK] = { false };
	const struct tensor *x = node->in[0];
	const int64_t *chosen = node->since < AXES ? NULL : node_ints(node, "axes", &given);
	INVALID_IF(given > (size_t)x->rank, "%zu axes of %d dimensions", given, x->rank);
	int64_t count = given ? (int64_t)given : x->rank;
	FOR (i, count) {
		axes[i] = given ? node_axis(node, chosen[i], x->rank) : i;
		INVALID_IF(touched[axes[i]], "axis %" PRId64 " twice", axes[i]);
		touched[axes[i]] = true;
	}
	return count;
}

/* False where scales, sizes or the region are not constant. */
static bool resize_of(const struct node *node, struct resize *r)
{
	const struct tensor *x = node->in[0];
	int64_t scale_count, size_count = 0, region_count, axes[MAX_RANK];
	bool first = node->since < INPUTS_OF_11;
	const float *scales = floats_of(node, first ? 1 : 2, &scale_count);
	const int64_t *sizes = is_there(node, 3) ? node_in_ints(node, 3, &size_count) : NULL;
	const float *region = r->coordinates == TF_CROP ? floats_of(node, 1, &region_count) : NULL;
	INVALID_IF(is_there(node, first ? 1 : 2) == is_there(node, 3), " takes scales or sizes, one of both is right");
	INVALID_IF(r->coordinates == TF_CROP && !is_there(node, 1), "tf_crop_and_resize needs a region (input 1)");
	if ((!scales && !sizes) || (r->coordinates == TF_CROP && !region))
		return false;
	int64_t count = axes_of(node, axes);
	INVALID_IF((scales ? scale_count : size_count) != count, "%" PRId64 " %s for %" PRId64 " dimensions",
	        scales ? scale_count : size_count, scales ? "scales" : "sizes", count);
	INVALID_IF(region && region_count != 2 * count, "a region of %" PRId64 " numbers, %" PRId64 " are right",
	        region_count, 2 * count);
	FOR (d, x->rank) {
		r->scale[d] = r->end[d] = 1;
		r->begin[d] = 0;
		r->out[d] = x->dims[d].extent;
	}
	enum policy policy = policy_of(node);
	double common = -1;
	FOR (i, count) {
		int64_t d = axes[i], extent = x->dims[d].extent;
		INVALID_IF(scales ? !(scales[i] > 0) || !(scales[i] < 0x1p32f)
		                  : sizes[i] < 0 || sizes[i] > (int64_t)1 << 40,
		        "a %s of %g", scales ? "scale" : "size", scales ? (double)scales[i] : (double)sizes[i]);
		if (region)
			r->begin[d] = (double)region[i], r->end[d] = (double)region[count + i];
		INVALID_IF(region && !(fabs(r->begin[d]) < 0x1p32 && fabs(r->end[d]) < 0x1p32),
		        "a region from %g to %g", r->begin[d], r->end[d]);
		r->out[d] = extent < 0 ? -1 : scales ? (int64_t)floorf((float)extent * scales[i]) : sizes[i];
		r->scale[d] = scales ? (double)scales[i] : extent > 0 ? (double)sizes[i] / (double)extent : 1;
		common = common < 0 || (policy == NOT_LARGER ? r->scale[d] < common : r->scale[d] > common)
		        ? r->scale[d]
		        : common;
	}
	FOR_WHILE (i, policy != STRETCH && sizes, count) {
		r->scale[axes[i]] = common;
		if (r->out[axes[i]] >= 0)
			r->out[axes[i]] = (int64_t)(common * (double)x->dims[axes[i]].extent + 0.5);
	}
	FOR (d, x->rank)
		INVALID_IF(x->dims[d].extent == 0 && r->out[d] > 0, "dimension %d has no element to take", d);
	return true;
}

static struct tensor *size_at_axis(const struct node *node, int d)
{
	int64_t axes[MAX_RANK], count = axes_of(node, axes), at = 0;
	while (at < count && axes[at] != d)
		at++;
	return size_made(node, "SizeElement", (int)at, 1, &node->in[3]);
}

/* The axes of sizes that come at run time and that dims may be counted by; 0: they are none. */
static int64_t axes_by_sizes(const struct node *node, int64_t *axes)
{
	struct resize r = { .a = 0 };
	modes_of(node, &r);
	if (!is_there(node, 3) || node->in[3]->data || !tensor_is_known(node->in[0]) || r.antialias
	        || r.coordinates == TF_CROP || policy_of(node) != STRETCH || node->in[3]->rank != 1)
		return 0;
	int64_t count = axes_of(node, axes);
	return node->in[3]->dims[0].extent == count ? count : 0;
}

/* Dims by sizes that are known as such, or that a range bounds. */
static void dims_by_sizes(struct node *node, struct dim *dims)
{
	int64_t axes[MAX_RANK], count = axes_by_sizes(node, axes);
	FOR (i, count) {
		struct tensor *size = node_in_size(node, 3, i);
		if (size)
			dims[axes[i]] = size_dim(size);
	}
	if (count)
		infer_asked_dims(node, node->in[0]->rank, dims, size_at_axis);
}

void infer_resize(struct node *node)
{
	struct resize r;
	struct dim dims[MAX_RANK];
	const struct tensor *sizes = node_in(node, 3);
	FAIL_IF(sizes && sizes->type != DTYPE_NONE && sizes->type != DTYPE_I64, EXIT_INVALID,
	        "sizes is %s, int64 is right", dtypes[sizes->type].text);
	enum dtype type = infer_number_type(node, 0);
	modes_of(node, &r);
	UNSUPPORTED_IF(type == DTYPE_BOOL && r.mode != NEAREST, " of %s is not supported", dtypes[type].text);
	const struct tensor *x = node->in[0];
	if (!infer_ranks(node, 1, type))
		return;
	if (!resize_of(node, &r)) {
		int64_t axes[MAX_RANK], count = axes_of(node, axes);
		memcpy(dims, x->dims, sizeof dims);
		FOR (i, count)
			dims[axes[i]] = dim_unknown;
		dims_by_sizes(node, dims);
		infer_output(node, 0, type, x->rank, dims);
		return;
	}
	FOR (d, x->rank)
		dims[d] = r.out[d] == x->dims[d].extent && (r.out[d] >= 0 || r.scale[d] == 1)
		                && !(x->dims[d].count && is_there(node, 3))
		        ? x->dims[d]
		        : r.out[d] < 0 ? dim_unknown
		                       : dim_of(r.out[d]);
	infer_output(node, 0, type, x->rank, dims);
}

/* ---- axes that are counted ---- */
void infer_size_scaled(struct node *node) { infer_as_size(node, 1, 1); }

void define_size_scaled(struct definer *definer)
{
	expr_ref number = CAST(DTYPE_F32, ELEMENT(0, 0));
	number = FLOOR(MUL(number, NUMBER(DTYPE_F32, (double)attribute_float(NODE, "scale"))));
	OUT(0, CAST(DTYPE_I64, number));
}

bool resize_of_counted(const struct node *node)
{
	struct resize r;
	int64_t axes[MAX_RANK];
	modes_of(node, &r);
	if (axes_by_sizes(node, axes))
		return true;
	return resize_of(node, &r) && !(is_there(node, 3) && (r.antialias || policy_of(node) != STRETCH));
}

/* By a whole number, or one half, a quarter …: the sizes are those of windows and phases that take the same, so that a skip connection's are equal. */
static struct tensor *scaled_exactly(const struct node *node, struct tensor *count, int64_t most, double scale)
{
	int exponent;
	if ((double)most * fmax(scale, 1) >= 1 << 24) /* float32 rounds there */
		return NULL;
	if (scale == floor(scale))
		return size_product(node, count, size_number(node, (int64_t)scale));
	return scale >= 0x1p-24 && frexp(scale, &exponent) == 0.5
	        ? size_quotient(node, count, size_number(node, (int64_t)1 << (1 - exponent)))
	        : NULL;
}

struct tensor *resize_size(const struct node *node, int d)
{
	struct resize r;
	struct tensor *count = node->in[0]->dims[d].count, *size;
	int64_t axes[MAX_RANK];
	modes_of(node, &r);
	if (axes_by_sizes(node, axes)) /* inference has said it */
		return node->out[0]->dims[d].count;
	if (!resize_of(node, &r) || is_there(node, 3))
		return NULL;
	if (r.out[d] == node->in[0]->dims[d].extent)
		return count;
	if ((size = scaled_exactly(node, count, node->in[0]->dims[d].extent, r.scale[d])))
		return size;
	const struct tensor *before = node->out[0]->dims[d].count;
	if (before && before->producer && !strcmp(before->producer->type, "SizeScaled")
	        && before->producer->in[0] == count)
		return node->out[0]->dims[d].count;
	size = size_made(node, "SizeScaled", d, 1, &count);
	size_says_float(size->producer, "scale", (float)r.scale[d]);
	return size;
}

/* ---- scales, sizes or a region at run time ---- */
enum { TAPS_MOST = 63 }; /* of a scale that is not constant: more would add in lanes, or not, as the scale has it */

#define REAL(number) NUMBER(DTYPE_F64, number)

/* Of a counted axis, as many as there are; of none, nobody looks at what is taken. */
static expr_ref have_of(struct definer *definer, const struct resize *r, int d, int64_t n)
{
	return r->have[d] ? r->have[d] : REAL((double)n);
}

static expr_ref last_of(struct definer *definer, const struct resize *r, int d, int64_t n)
{
	return r->have[d] ? SUB(r->have[d], REAL(1)) : REAL((double)(n - 1));
}

/* The tables of constant scales or sizes along axes that are counted. */
static void tell_counted(struct definer *definer, struct resize *r)
{
	const struct tensor *x = NODE->in[0], *y = NODE->out[0];
	FOR (d, x->rank) {
		if (!x->dims[d].count || (!is_there(NODE, 3) && r->scale[d] == 1 && r->begin[d] == 0 && r->end[d] == 1))
			continue;
		expr_ref have = KEPT("have", integer_cut(definer, DIM(&x->dims[d]), 1, x->dims[d].extent));
		r->have[d] = CAST(DTYPE_F64, have);
		r->made[d] = CAST(DTYPE_F64, DIM(&y->dims[d]));
		r->scale_at[d] = is_there(NODE, 3) ? DIV(REAL((double)r->out[d]), r->have[d]) : REAL(r->scale[d]);
		r->begin_at[d] = REAL(r->begin[d]);
		r->end_at[d] = REAL(r->end[d]);
	}
}

/* Sizes at run time that the output's dims are counted by: so many, of what is there. */
static bool tell_sizes(struct definer *definer, struct resize *r)
{
	const struct tensor *x = NODE->in[0], *y = NODE->out[0];
	int64_t axes[MAX_RANK], count = axes_by_sizes(NODE, axes);
	if (!count || !tensor_counted(y))
		return false;
	definer_require_dims(definer);
	FOR (d, x->rank) {
		r->out[d] = y->dims[d].extent;
		r->scale[d] = r->end[d] = 1;
		r->begin[d] = 0;
		if (x->dims[d].extent == 0 && r->out[d] > 0)
			node_invalid(NODE, "dimension %d has no element to take", d);
	}
	FOR (i, count) {
		int d = (int)axes[i];
		if (!y->dims[d].count)
			REQUIRE(I_IS(ELEMENT(3, i), y->dims[d].extent),
			        "sizes[%d] that makes the %lld of the declared shape is right", (int)i,
			        (long long)y->dims[d].extent);
		if (x->dims[d].extent == y->dims[d].extent && x->dims[d].count == y->dims[d].count)
			continue;
		expr_ref have = KEPT("have", integer_cut(definer, DIM(&x->dims[d]), 1, x->dims[d].extent));
		r->have[d] = CAST(DTYPE_F64, have);
		r->made[d] = CAST(DTYPE_F64, DIM(&y->dims[d]));
		r->scale_at[d] = DIV(r->made[d], r->have[d]);
		r->begin_at[d] = REAL(0);
		r->end_at[d] = REAL(1);
	}
	return true;
}

/* `coordinate`. */
static expr_ref coordinate(struct definer *definer, const struct resize *r, int d, int64_t n, expr_ref at)
{
	expr_ref scale = r->scale_at[d], begin = r->begin_at[d], span = SUB(r->end_at[d], begin);
	expr_ref length = MUL(scale, have_of(definer, r, d, n)), last = last_of(definer, r, d, n), half = REAL(0.5);
	expr_ref before = SUB(length, REAL(1)), is_one = EQUAL(length, REAL(1));
	expr_ref middle = DIV(ADD(at, half), scale);
	switch (r->coordinates) {
	case ALIGN_CORNERS: return WHERE(is_one, REAL(0), DIV(MUL(at, last), before));
	case ASYMMETRIC: return DIV(at, scale);
	case TF_HALF_PIXEL: return middle;
	case TF_CROP:
		return ADD(MUL(begin, last),
		        WHERE(is_one, DIV(MUL(span, last), REAL(2)), DIV(MUL(MUL(at, span), last), before)));
	case PYTORCH_HALF_PIXEL:
		if (r->made[d])
			return WHERE(LESS(REAL(1), r->made[d]), SUB(middle, half), REAL(0));
		return r->out[d] > 1 ? SUB(middle, half) : REAL(0);
	case HALF_PIXEL_SYMMETRIC:
		return SUB(ADD(MUL(r->have[d] ? DIV(r->have[d], REAL(2)) : REAL((double)n / 2),
		                       SUB(REAL(1), DIV(r->made[d] ? r->made[d] : REAL((double)r->out[d]), length))),
		                   middle),
		        half);
	default: return SUB(middle, half);
	}
}

static expr_ref nearest(struct definer *definer, enum nearest_mode how, expr_ref at)
{
	expr_ref floor_of = FLOOR(at), part = SUB(at, floor_of), half = REAL(0.5);
	switch (how) {
	case PREFER_FLOOR: return ADD(floor_of, LESS(half, part));
	case PREFER_CEIL: return ADD(floor_of, LESS_EQUAL(half, part));
	case CEIL: return ADD(floor_of, LESS(REAL(0), part));
	default: return floor_of;
	}
}

/* Of an element at distance x. */
static expr_ref weight_of(struct definer *definer, const struct resize *r, expr_ref x)
{
	expr_ref one = REAL(1), none = REAL(0);
	if (r->mode == LINEAR)
		return WHERE(LESS(x, one), SUB(one, x), none);
	expr_ref near = SUB(MUL(REAL(r->a + 2), x), REAL(r->a + 3));
	near = ADD(MUL(MUL(near, x), x), one);
	expr_ref next = ADD(MUL(SUB(x, REAL(5)), x), REAL(8));
	next = SUB(MUL(MUL(next, x), REAL(r->a)), REAL(4 * r->a));
	return WHERE(LESS_EQUAL(x, one), near, WHERE(LESS(x, REAL(2)), next, none));
}

static double taps_of(const struct resize *r, double scale)
{
	double shrunk = r->antialias && scale < 1 ? scale : 1, reach = r->mode == LINEAR ? 1 : 2;
	return r->mode == NEAREST ? 1 : 2 - 2 * (floor(-reach / shrunk) + 1);
}

struct table {
	int axis;
	bool constant;                       /* scale and region are: so are all its parts */
	int64_t least, most;                 /* taps */
	index_ref taps;                      /* how many there are */
	struct definition *places, *weights; /* [most, out] */
	struct definition *inside;           /* [out]: 1 where it lies in the data */
};

/* A part of a table; its numbers, where they are known. */
static struct definition *settled(struct definer *definer, const struct table *table, struct definition *part)
{
	if (table->constant) {
		definition_fold(definer->program, part);
		part->original = NULL; /* they are doubles already */
	}
	return part;
}

static expr_ref scalar_of(struct definer *definer, const char *part, expr_ref value)
{
	return LOAD(PART(part, 0, NULL, value), NULL);
}

/* A part of the table as a definition of its own: what reads it several times is one load longer. */
static expr_ref row_of(struct definer *definer, const struct table *table, const char *part, int rank,
        const int64_t *extents, expr_ref value)
{
	index_ref at[2] = { VAR(0, extents[0]), rank > 1 ? VAR(1, extents[1]) : NULL };
	return LOAD(settled(definer, table, PART(part, rank, extents, value)), at);
}

/* A table's value for place and tap, variables 0 and 1, as the definition that taps read: neighbours of the output lie
 * side by side. */
static struct definition *transposed(
        struct definer *definer, const struct table *table, const char *part, int64_t out, expr_ref value)
{
	index_ref with[MAX_VARS] = { VAR(1, out), VAR(0, table->most) };
	part = table->constant ? FORMAT("%s_%d", part, table->axis) : part;
	return settled(definer, table,
	        PART(part, 2, (int64_t[]){ table->most, out }, expr_substitute(definer->arena, value, with)));
}

/* The scale is a value, or a number, which makes all of it numbers. */
static void fill_table(struct definer *definer, const struct resize *r, struct table *table, int64_t n, enum dtype type)
{
	int d = table->axis;
	int64_t out = r->out[d], most = table->most, extents[2] = { out, most };
	index_ref i = VAR(0, out), t = VAR(1, most), entry[2] = { i, t };
	expr_ref last = last_of(definer, r, d, n), none = REAL(0);
	expr_ref at = coordinate(definer, r, d, n, CAST(DTYPE_F64, POSITION(i)));
	at = row_of(definer, table, "coordinates", 1, extents, at);
	expr_ref in = MUL(LESS_EQUAL(none, at), LESS_EQUAL(at, last));
	table->inside = settled(definer, table, PART("inside", 1, extents, CAST(DTYPE_I64, in)));
	expr_ref far_behind = r->have[d] ? ADD(r->have[d], REAL(4)) : REAL((double)n + 4);
	at = WHERE(LESS(far_behind, at), far_behind, at);
	at = row_of(definer, table, "clear", 1, extents, WHERE(LESS(at, REAL(-4)), REAL(-4), at));

	expr_ref scale = r->scale_at[d], one = REAL(1), shrunk = one, taps = REAL((double)most);
	if (r->antialias && table->constant)
		shrunk = REAL(r->scale[d] < 1 ? r->scale[d] : 1);
	else if (r->antialias) {
		shrunk = scalar_of(definer, "shrunk", WHERE(LESS(scale, one), scale, one));
		taps = FLOOR(DIV(REAL(r->mode == LINEAR ? -1 : -2), shrunk));
		taps = scalar_of(definer, "taps", SUB(REAL(2), MUL(REAL(2), ADD(taps, one))));
	}
	table->taps = INDEX(CAST(DTYPE_I64, taps), table->least, most);
	expr_ref first =
	        r->mode == NEAREST ? nearest(definer, r->nearest, at) : SUB(ADD(FLOOR(at), one), DIV(taps, REAL(2)));
	expr_ref tap = CAST(DTYPE_F64, POSITION(t)),
	         place = ADD(row_of(definer, table, "first", 1, extents, first), tap);
	expr_ref before = LESS(place, none), behind = LESS(last, place);
	table->places = transposed(
	        definer, table, "places", out, CAST(DTYPE_I32, WHERE(before, none, WHERE(behind, last, place))));
	if (r->mode == NEAREST)
		return;
	expr_ref far = ABS(MUL(SUB(place, at), shrunk));
	expr_ref weight = weight_of(definer, r, row_of(definer, table, "far", 2, extents, far));
	if (r->exclude_outside)
		weight = WHERE(ADD(before, behind), none, weight);
	if (table->least < most)
		weight = WHERE(LESS(tap, taps), weight, none);
	if (r->antialias || r->exclude_outside) {
		struct definition *raw = settled(definer, table, PART("raw", 2, extents, weight));
		index_ref of[2] = { i, VAR(1, most) };
		struct definition *sums = REDUCTION("sums", 1, extents, REDUCE_SUM, 1, &most, NULL, LOAD(raw, of));
		if (table->constant) /* however many taps there are */
			sums->order = ORDER_SERIAL;
		expr_ref sum = LOAD(settled(definer, table, sums), &i);
		weight = LOAD(raw, entry);
		weight = WHERE(EQUAL(sum, none), weight, DIV(weight, sum));
	}
	table->weights = transposed(definer, table, "weights", out, CAST(type, weight));
}

static struct table table_of(struct definer *definer, const struct resize *given, int d, int64_t n, enum dtype type)
{
	struct resize with = *given, *r = &with;
	int64_t out = r->out[d];
	const double slack = 0x1p-20;
	struct table table = { .axis = d, .constant = !r->scale_at[d] };
	double least = taps_of(r, r->scale[d]), most = least;
	if (table.constant) {
		r->scale_at[d] = REAL(r->scale[d]);
		r->begin_at[d] = REAL(r->begin[d]);
		r->end_at[d] = REAL(r->end[d]);
		if (most * (double)out > entries_most || n > INT32_MAX)
			node_limit(NODE,
			        "dimension %d from %" PRId64 " to %" PRId64
			        " takes a table of %g entries, at most %g are supported",
			        d, n, out, most * (double)out, entries_most);
	} else {
		least = taps_of(r, (double)(out + 1) / (double)n * (1 + slack));
		most = taps_of(r, ((double)out - 0.5) / (double)n * (1 - slack));
		if (most > TAPS_MOST || most * (double)out > entries_most)
			node_unsupported(NODE,
			        "a scale that is not constant is not supported where it takes more than %d taps "
			        "(dimension %d from %" PRId64 " to %" PRId64 ")",
			        TAPS_MOST, d, n, out);
	}
	table.least = (int64_t)least;
	table.most = (int64_t)most;
	fill_table(definer, r, &table, n, type);
	return table;
}

static index_ref place_of(struct definer *definer, const struct table *table, index_ref at, index_ref t, int64_t n)
{
	return VALUE(CAST(DTYPE_I64, LOAD(table->places, AT(t, at))), 0, n - 1);
}

static expr_ref load_at(struct definer *definer, struct definition *x, const index_ref *at, int d, index_ref place)
{
	index_ref own[MAX_RANK];
	COPY(own, at, x->rank);
	own[d] = place;
	return LOAD(x, own);
}

static expr_ref tap(struct definer *definer, struct definition *x, const struct table *table, const index_ref *at,
        int d, index_ref t)
{
	return load_at(definer, x, at, d, place_of(definer, table, at[d], t, x->extents[d]));
}

/* The place of `at` where a constant table has one tap: i/k or i*k where it is that, so that the address stays affine. */
static index_ref nearest_place(struct definer *definer, const struct table *table, int64_t out, int64_t n, index_ref at)
{
	const int32_t *places = table->places->data;
	int64_t up = n && out % n == 0 ? out / n : 0, down = out && n % out == 0 ? n / out : 0;
	bool is_up = up > 0, is_down = down > 0;
	FOR_WHILE (i, table->constant, out) {
		is_up = is_up && places[i] == i / up;
		is_down = is_down && places[i] == i * down;
	}
	if (table->constant && (is_up || is_down))
		return is_up ? QUOTIENT(at, up) : SCALE(at, down);
	return place_of(definer, table, at, CONSTANT(0), n);
}

/* As many taps as the table has, or as a chain of so many: those that the scale has not do not count. */
static expr_ref taps_along(struct definer *definer, struct definition *x, const struct table *table,
        const index_ref *at, int d, const int64_t *extents, int64_t most)
{
	expr_ref y = NULL;
	if (most > TAPS_UNROLLED) {
		index_ref t = VAR(x->rank, most), entry[2] = { t, at[d] };
		const struct range there = { SUM(table->taps, SCALE(t, -1)), 1, most + 1 };
		expr_ref value = SELECT(&there, 1, tap(definer, x, table, at, d, t), LIKE(x, 0));
		return LOAD(REDUCTION("taps", x->rank, extents, REDUCE_SUM, 1, &most, NULL,
		                    MUL(value, LOAD(table->weights, entry))),
		        at);
	}
	FOR (t, most) {
		index_ref entry[2] = { CONSTANT(t), at[d] };
		expr_ref weight = LOAD(table->weights, entry), value = tap(definer, x, table, at, d, entry[0]);
		const struct range there = { table->taps, t + 1, table->most + 1 };
		y = y ? SELECT(&there, 1, FMA(value, weight, y), y) : MUL(value, weight);
	}
	return y;
}

/* Which places lie in the data; elsewhere is the extrapolation value. */
static struct range inside_of(struct definer *definer, const struct table *table, index_ref at, int64_t out)
{
	const int64_t *in = table->inside->data;
	int64_t from = 0, to = out;
	if (!table->constant)
		return (struct range){ VALUE(LOAD(table->inside, &at), 0, 1), 1, 2 };
	while (from < to && !in[from])
		from++;
	while (to > from && !in[to - 1])
		to--;
	return (struct range){ at, from, to };
}

static struct definition *along(
        struct definer *definer, const struct resize *r, struct definition *x, int d, struct range *inside)
{
	struct table table = table_of(definer, r, d, x->extents[d], x->type);
	index_ref at[MAX_RANK];
	int64_t extents[MAX_RANK];
	expr_ref y;
	FOR (k, x->rank)
		extents[k] = k == d ? r->out[d] : x->extents[k];
	VARS(at, x->rank, extents);
	if (r->mode == NEAREST)
		y = load_at(definer, x, at, d, nearest_place(definer, &table, r->out[d], x->extents[d], at[d]));
	else if (table.most <= TAPS_UNROLLED || table.least > TAPS_UNROLLED)
		y = taps_along(definer, x, &table, at, d, extents, table.most);
	else {
		const struct range few = { table.taps, table.least, TAPS_UNROLLED + 1 };
		y = SELECT(&few, 1, taps_along(definer, x, &table, at, d, extents, TAPS_UNROLLED),
		        taps_along(definer, x, &table, at, d, extents, table.most));
	}
	if (!table.constant && r->out[d] == x->extents[d]) { /* an axis that stays as it is takes no taps */
		expr_ref same = EQUAL(r->scale_at[d], REAL(1));
		same = MUL(same, EQUAL(r->begin_at[d], REAL(0)));
		same = MUL(same, EQUAL(r->end_at[d], REAL(1)));
		const struct range stays = { INDEX(scalar_of(definer, "same", CAST(DTYPE_I64, same)), 0, 1), 1, 2 };
		y = SELECT(&stays, 1, LOAD(x, at), y);
	}
	*inside = inside_of(definer, &table, at[d], r->out[d]);
	return PART(FORMAT("resized_%d", d), x->rank, extents, y);
}

/* What a float operand says, as a double; `right` takes in that it lies in (least, 2^32). */
static expr_ref runtime_float(struct definer *definer, int input, int64_t i, double least, expr_ref *right)
{
	expr_ref value = CAST(DTYPE_F64, ELEMENT(input, i));
	expr_ref is = MUL(LESS(REAL(least), value), LESS(value, REAL(0x1p32)));
	*right = MUL(*right, is);
	return value;
}

/* Scales, sizes and region as values, such that they make what is declared.  Sizes alone are what is declared. */
static void runtime_resize(
        struct definer *definer, struct resize *r, const struct definition *x, const int64_t *extents)
{
	const struct node *node = NODE;
	int64_t axes[MAX_RANK], count = axes_of(node, axes);
	bool first = node->since < INPUTS_OF_11, by_size = is_there(node, 3), region = r->coordinates == TF_CROP;
	int scales = first ? 1 : 2;
	enum policy policy = policy_of(node);
	expr_ref right = REAL(1), common = NULL, wanted[MAX_RANK];
	INVALID_IF(ELEMENTS(by_size ? 3 : scales) != count, "%" PRId64 " %s for %" PRId64 " dimensions",
	        ELEMENTS(by_size ? 3 : scales), by_size ? "sizes" : "scales", count);
	INVALID_IF(region && ELEMENTS(1) != 2 * count, "a region of %" PRId64 " numbers, %" PRId64 " are right",
	        ELEMENTS(1), 2 * count);
	FOR (d, x->rank) {
		r->out[d] = extents[d];
		r->scale[d] = r->end[d] = 1;
		r->begin[d] = 0;
		r->scale_at[d] = r->begin_at[d] = r->end_at[d] = NULL;
		INVALID_IF(x->extents[d] == 0 && extents[d] > 0, "dimension %d has no element to take", d);
	}
	FOR (i, count) {
		int64_t d = axes[i], n = x->extents[d];
		expr_ref made;
		if (by_size) {
			expr_ref size = ELEMENT(3, i);
			wanted[i] = n ? DIV(CAST(DTYPE_F64, size), REAL((double)n)) : REAL(1);
			common = !common
			        ? wanted[i]
			        : expr2(definer, policy == NOT_LARGER ? SCALAR_min : SCALAR_max, wanted[i], common);
			made = size;
			right = MUL(right, CAST(DTYPE_F64, I_BETWEEN(size, 0, (int64_t)1 << 40)));
		} else {
			wanted[i] = runtime_float(definer, scales, i, 0, &right);
			made = CAST(DTYPE_I64, FLOOR(MUL(NUMBER(DTYPE_F32, (double)n), ELEMENT(scales, i))));
		}
		if (!by_size || policy == STRETCH)
			right = MUL(right, CAST(DTYPE_F64, I_IS(made, extents[d])));
		if (by_size && policy == STRETCH && n)
			r->scale[d] = (double)extents[d] / (double)n;
		r->begin_at[d] = region ? runtime_float(definer, 1, i, -0x1p32, &right) : REAL(0);
		r->end_at[d] = region ? runtime_float(definer, 1, count + i, -0x1p32, &right) : REAL(1);
		r->scale_at[d] = by_size && policy == STRETCH ? region ? REAL(r->scale[d]) : NULL : wanted[i];
	}
	if (by_size && policy != STRETCH && common)
		common = scalar_of(definer, "scale", common);
	FOR_WHILE (i, by_size && policy != STRETCH, count) {
		int64_t d = axes[i];
		r->scale_at[d] = common;
		expr_ref made = ADD(MUL(common, REAL((double)x->extents[d])), REAL(0.5));
		right = MUL(right, CAST(DTYPE_F64, I_IS(CAST(DTYPE_I64, made), extents[d])));
	}
	REQUIRE(right, "%s%s that make the declared %s are right", by_size ? "sizes" : "scales",
	        region ? " and a region" : "", SHAPE_TEXT(x->rank, extents));
}

void define_resize(struct definer *definer)
{
	struct definition *x = IN(0);
	struct range inside[MAX_RANK];
	struct resize r = { .a = 0 };
	SHAPE(0, rank, extents, at);
	int count = 0;
	modes_of(NODE, &r);
	if (resize_of(NODE, &r))
		tell_counted(definer, &r);
	else if (!tell_sizes(definer, &r))
		runtime_resize(definer, &r, x, extents);
	enum dtype type = x->type;
	if (!dtype_is_float(type) && r.mode != NEAREST) /* integers: in a float, rounded to even */
		x = definer_as(definer, x, dtypes[type].bits > 16 ? DTYPE_F64 : DTYPE_F32);
	FOR (d, rank)
		if (definition_elements(x) && extents[d]
		        && (r.scale_at[d] || extents[d] != x->extents[d] || r.scale[d] != 1 || r.begin[d] != 0
		                || r.end[d] != 1))
			x = along(definer, &r, x, d, &inside[count++]);
	expr_ref y = LOAD(x, at);
	if (r.coordinates == TF_CROP)
		y = SELECT(inside, count, y, LIKE(x, (double)attribute_float(NODE, "extrapolation_value")));
	OUT(0, y->type == type ? y : CAST(type, expr1(definer, SCALAR_round, y)));
}
