/* deform.c: DeformConv: a convolution whose taps lie where the data say, between elements; and Col2Im, windows added up
 * where they came from. */
#include "ops/words.h"

struct deform {
	struct convolution conv;
	int64_t offset_group, taps;
};

/* Needs the ranks of x and w. */
static void deform_of(const struct node *node, struct deform *f)
{
	int64_t channels = node->in[0]->dims[1].extent;
	convolution_of(node, &f->conv);
	f->offset_group = attribute_int(node, "offset_group");
	INVALID_IF(f->offset_group < 1 || (channels >= 0 && channels % f->offset_group),
	        "%" PRId64 " input channels do not divide into %" PRId64 " offset groups", channels, f->offset_group);
	f->taps = 1;
	FOR (d, f->conv.window.count) /* -1: not known */
		f->taps = f->taps < 0 || f->conv.window.kernel[d] < 0 ? -1 : f->taps * f->conv.window.kernel[d];
}

/* Input i, [n, channels, out...]. */
static void expect(const struct node *node, const struct deform *f, int i, int64_t channels)
{
	const struct tensor *x = node->in[0], *in = node_in(node, i);
	if (!in || in->rank < 0)
		return;
	bool fits = in->rank == x->rank;
	FOR_WHILE (d, fits, in->rank) {
		int64_t want = d == 0 ? x->dims[0].extent : d == 1 ? channels : f->conv.window.out[d - 2];
		fits = want < 0 || in->dims[d].extent < 0 || in->dims[d].extent == want;
	}
	INVALID_IF(!fits, "input %d does not have %" PRId64 " channels of the output's size", i, channels);
}

void infer_deform_conv(struct node *node)
{
	struct deform f;
	struct dim dims[MAX_RANK];
	enum dtype type = node->in[0]->type;
	const struct tensor *x = node->in[0], *w = node->in[1];
	if (!infer_ranks(node, 2, type))
		return;
	deform_of(node, &f);
	LIMIT_IF(2 * x->rank - 2 > MAX_RANK, "data has %d dimensions", x->rank);
	if (f.taps >= 0) {
		expect(node, &f, 2, f.offset_group * f.taps * f.conv.window.count);
		expect(node, &f, 4, f.offset_group * f.taps);
	}
	infer_bias(node, 3, w->dims[0]);
	dims[0] = x->dims[0];
	dims[1] = w->dims[0];
	FOR (d, f.conv.window.count)
		dims[2 + d] = f.conv.window.out[d] < 0 ? dim_unknown : dim_of(f.conv.window.out[d]);
	infer_output(node, 0, type, x->rank, dims);
}

/* The number of a tap, row-major over the kernel: at[1 ...] are its places. */
static index_ref tap_of(struct arena *arena, const struct deform *f, const index_ref *at)
{
	return index_flatten(arena, f->conv.window.count, at, f->conv.window.kernel);
}

/* Of dimension d: places and weights of the two elements around each tap, [n, offset group, kernel..., out..., 2];
 * outside the weight is 0. */
static void around(struct definer *definer, const struct deform *f, struct definition *x, struct definition *offset,
        int d, struct definition *made[2])
{
	struct arena *arena = definer->arena;
	enum dtype type = x->type;
	int count = f->conv.window.count, rank = 2 * count + 3;
	int64_t extents[MAX_RANK + 2], n = x->extents[2 + d];
	index_ref at[MAX_RANK + 2] = { NULL }, own[MAX_RANK];
	extents[0] = x->extents[0];
	extents[1] = f->offset_group;
	FOR (k, count) {
		extents[2 + k] = f->conv.window.kernel[k];
		extents[2 + count + k] = f->conv.window.out[k];
	}
	extents[rank - 1] = 2;
	VARS(at, rank, extents);
	own[0] = at[0];
	own[1] = PLUS(SCALE(SUM(SCALE(at[1], f->taps), tap_of(arena, f, at + 2)), count), d);
	FOR (k, count)
		own[2 + k] = at[2 + count + k];
	index_ref begin = PLUS(
	        SUM(SCALE(at[2 + count + d], f->conv.window.stride[d]), SCALE(at[2 + d], f->conv.window.dilation[d])),
	        -f->conv.window.before[d]);
	expr_ref place = ADD(CAST(type, POSITION(begin)), LOAD(offset, own));
	expr_ref low = FLOOR(place), far = SUB(place, low);
	const struct range first = { at[rank - 1], 0, 1 };
	expr_ref tap = SELECT(&first, 1, low, ADD(low, NUMBER(type, 1)));
	expr_ref outside = ADD(LESS(tap, NUMBER(type, 0)), LESS(NUMBER(type, (double)(n - 1)), tap));
	expr_ref kept = MIN(MAX(tap, NUMBER(type, 0)), NUMBER(type, (double)(n - 1)));
	made[0] = PART(FORMAT("places%d", d), rank, extents, CAST(DTYPE_I64, kept));
	made[1] = PART(FORMAT("weights%d", d), rank, extents,
	        WHERE(outside, NUMBER(type, 0), SELECT(&first, 1, SUB(NUMBER(type, 1), far), far)));
}

/* What each tap reads, [n, c, kernel..., out...]: a sum over the elements around its place, times its mask. */
static struct definition *patches(struct definer *definer, const struct deform *f)
{
	struct arena *arena = definer->arena;
	struct definition *x = IN(0), *offset = IN(2), *mask = IN(4), *made[2];
	int count = f->conv.window.count, rank = 2 * count + 2;
	int64_t extents[MAX_RANK], reduced[MAX_RANK];
	index_ref at[MAX_RANK] = { NULL }, own[MAX_RANK + 2], x_at[MAX_RANK];
	expr_ref weight = NULL;
	FOR (k, rank)
		extents[k] = k < 2      ? x->extents[k]
		        : k < 2 + count ? f->conv.window.kernel[k - 2]
		                        : f->conv.window.out[k - 2 - count];
	FOR (k, rank)
		own[k] = at[k] = VAR(k, extents[k]);
	own[1] = QUOTIENT(at[1], x->extents[1] / f->offset_group);
	x_at[0] = at[0];
	x_at[1] = at[1];
	FOR (d, count) {
		reduced[d] = 2;
		around(definer, f, x, offset, d, made);
		own[rank] = VAR(rank + d, 2);
		x_at[2 + d] = VALUE(LOAD(made[0], own), 0, x->extents[2 + d] - 1);
		expr_ref w = LOAD(made[1], own);
		weight = weight ? MUL(weight, w) : w;
	}
	struct definition *sum =
	        REDUCTION("sampled", rank, extents, REDUCE_SUM, count, reduced, NULL, MUL(LOAD(x, x_at), weight));
	if (!mask)
		return sum;
	index_ref m_at[MAX_RANK];
	m_at[0] = at[0];
	m_at[1] = SUM(SCALE(own[1], f->taps), tap_of(arena, f, at + 2));
	FOR (k, count)
		m_at[2 + k] = at[2 + count + k];
	return PART("masked", rank, extents, MUL(LOAD(sum, at), LOAD(mask, m_at)));
}

void define_deform_conv(struct definer *definer)
{
	struct deform f;
	struct definition *x = IN(0), *w = IN(1), *bias = IN(3);
	enum dtype type = x->type;
	int64_t reduced[MAX_RANK];
	index_ref p_at[MAX_RANK], w_at[MAX_RANK];
	deform_of(NODE, &f);
	SHAPE(0, rank, extents, at);
	int count = f.conv.window.count;
	bool empty = definition_elements(x) == 0 || definition_elements(w) == 0;
	FOR (d, rank)
		empty |= extents[d] == 0;
	if (empty) {
		OUT(0, bias ? LOAD(bias, &at[1]) : NUMBER(type, 0));
		return;
	}
	int64_t each = w->extents[1], outs = extents[1] / f.conv.group;
	struct definition *p = patches(definer, &f);
	p_at[0] = at[0];
	FOR (d, count) {
		reduced[d] = f.conv.window.kernel[d];
		w_at[2 + d] = p_at[2 + d] = VAR(rank + d, reduced[d]);
		p_at[2 + count + d] = at[2 + d];
	}
	reduced[count] = each;
	w_at[0] = at[1];
	w_at[1] = VAR(rank + count, each);
	p_at[1] = SUM(SCALE(QUOTIENT(at[1], outs), each), w_at[1]);
	struct definition *sum = REDUCE(NODE->out[0]->name, rank, extents, REDUCE_SUM, count + 1, reduced,
	        bias ? LOAD(bias, &at[1]) : NULL, MUL(LOAD(p, p_at), LOAD(w, w_at)));
	if (sum->reduce)
		mark_batch(sum, 1);
	GIVE(0, sum);
}

/* ---- Col2Im ---- */
struct columns {
	int count;
	int64_t image[MAX_RANK], kernel[MAX_RANK], stride[MAX_RANK], dilation[MAX_RANK], before[MAX_RANK],
	        after[MAX_RANK], blocks[MAX_RANK], taps, all;
};

/* How many blocks lie in the image, and in all; the dimension that has no room for one, -1: each has. */
static int count_blocks(struct columns *c)
{
	c->taps = c->all = 1;
	FOR (d, c->count) {
		int64_t room = c->image[d] + c->before[d] + c->after[d] - (c->kernel[d] - 1) * c->dilation[d] - 1;
		c->blocks[d] = room < 0 ? 0 : room / c->stride[d] + 1;
		if (room < 0 || __builtin_mul_overflow(c->taps, c->kernel[d], &c->taps)
		        || __builtin_mul_overflow(c->all, c->blocks[d], &c->all))
			return d;
	}
	return -1;
}

/* False where a shape is not constant, or its length not known (count: -1); image and kernel are 0 where they are not
 * constant. */
static bool columns_of(const struct node *node, struct columns *c)
{
	int64_t counts[2], pads[2 * MAX_RANK];
	const int64_t *shapes[2];
	*c = (struct columns){ .count = -1 };
	FOR (i, 2) {
		const struct tensor *shape = node->in[1 + i];
		shapes[i] = node_in_ints(node, 1 + i, &counts[i]);
		if (!shapes[i])
			counts[i] = shape->rank == 1 ? shape->dims[0].extent : -1;
	}
	if (counts[0] < 0 || counts[1] < 0)
		return false;
	INVALID_IF(counts[0] != counts[1] || counts[0] < 1 || counts[0] > (MAX_RANK - 2) / 2,
	        "an image of %" PRId64 " dimensions and blocks of %" PRId64, counts[0], counts[1]);
	c->count = (int)counts[0];
	window_numbers(node, "strides", c->count, 1, 1, c->stride);
	window_numbers(node, "dilations", c->count, 1, 1, c->dilation);
	window_numbers(node, "pads", 2 * c->count, 0, 0, pads);
	FOR (d, c->count) {
		c->image[d] = shapes[0] ? shapes[0][d] : 0;
		c->kernel[d] = shapes[1] ? shapes[1][d] : 0;
		c->before[d] = pads[d];
		c->after[d] = pads[c->count + d];
		INVALID_IF((shapes[0] && c->image[d] < 1) || (shapes[1] && c->kernel[d] < 1) || c->image[d] > INT32_MAX
		                || c->kernel[d] > INT32_MAX,
		        "an image of %" PRId64 " in blocks of %" PRId64, c->image[d], c->kernel[d]);
	}
	if (!shapes[0] || !shapes[1])
		return false;
	int narrow = count_blocks(c);
	INVALID_IF(narrow >= 0, "blocks of %" PRId64 " do not fit into an image of %" PRId64, c->kernel[narrow],
	        c->image[narrow]);
	return true;
}

void infer_col2im(struct node *node)
{
	struct columns c;
	struct dim dims[MAX_RANK];
	enum dtype type = infer_number_type(node, 0);
	const struct tensor *x = node->in[0];
	bool known = columns_of(node, &c);
	if (x->rank < 0 || c.count < 0) {
		infer_type(node, 0, type);
		return;
	}
	INVALID_IF(x->rank != 3, "data has %d dimensions, 3 are right", x->rank);
	dims[0] = x->dims[0];
	dims[1] = dim_unknown;
	FOR (d, c.count)
		dims[2 + d] = c.image[d] ? dim_of(c.image[d]) : dim_unknown;
	if (!known) {
		infer_output(node, 0, type, 2 + c.count, dims);
		return;
	}
	INVALID_IF((dim_is_known(x->dims[1]) && x->dims[1].extent % c.taps)
	                || (dim_is_known(x->dims[2]) && x->dims[2].extent != c.all),
	        "data is [%" PRId64 ", %" PRId64 "]; a multiple of %" PRId64 " and %" PRId64 " are right",
	        x->dims[1].extent, x->dims[2].extent, c.taps, c.all);
	dims[1] = dim_is_known(x->dims[1]) ? dim_of(x->dims[1].extent / c.taps) : dim_unknown;
	infer_output(node, 0, type, 2 + c.count, dims);
}

/* Element i of a dimension is in block b as tap k where i + before = stride b + dilation k. */
static struct definition *blocks_joined(
        struct definer *definer, const struct columns *c, struct definition *x, const int64_t *extents)
{
	int rank = 2 + c->count;
	index_ref at[MAX_RANK], tap[MAX_RANK], block[MAX_RANK];
	struct range there[2 * MAX_RANK];
	VARS(at, rank, extents);
	FOR (d, c->count) {
		tap[d] = VAR(rank + d, c->kernel[d]);
		index_ref from = PLUS(SUM(at[2 + d], SCALE(tap[d], -c->dilation[d])), c->before[d]);
		block[d] = QUOTIENT(from, c->stride[d]);
		there[2 * d] = (struct range){ REST(from, c->stride[d]), 0, 1 };
		there[2 * d + 1] = (struct range){ block[d], 0, c->blocks[d] };
	}
	/* the data as [n, c, taps..., blocks...]: a move */
	int64_t apart[MAX_RANK];
	index_ref var[MAX_RANK], from[MAX_RANK];
	FOR (k, 2 + 2 * c->count) {
		apart[k] = k < 2 ? extents[k] : k < 2 + c->count ? c->kernel[k - 2] : c->blocks[k - 2 - c->count];
		var[k] = VAR(k, apart[k]);
		from[k] = k < 2 ? at[k] : k < 2 + c->count ? tap[k - 2] : block[k - 2 - c->count];
	}
	index_ref own[3] = { var[0], SUM(SCALE(var[1], c->taps), FLATTEN(c->count, var + 2, c->kernel)),
		FLATTEN(c->count, var + 2 + c->count, c->blocks) };
	struct definition *windows = PART("windows", 2 + 2 * c->count, apart, LOAD(x, own));
	return REDUCE(NODE->out[0]->name, rank, extents, REDUCE_SUM, c->count, c->kernel, NULL,
	        SELECT(there, 2 * c->count, LOAD(windows, from), CAST(x->type, I(0))));
}

/* Blocks of dimensions from d on that have `taps` elements in all, and fit: each of the candidates, up to `most` and
 * one. */
static int blocks_that_fit(
        struct columns *c, int d, int64_t taps, int64_t all, struct columns *found, int count, int most)
{
	int64_t given = c->kernel[d];
	if (d == c->count) {
		if (taps == 1 && count_blocks(c) < 0 && c->all == all && count <= most)
			found[count++] = *c;
		return count;
	}
	for (int64_t k = 1; k <= taps && k <= c->image[d] + c->before[d] + c->after[d]; k++)
		if (taps % k == 0 && (!given || given == k)) {
			c->kernel[d] = k;
			count = blocks_that_fit(c, d + 1, taps / k, all, found, count, most);
		}
	c->kernel[d] = given;
	return count;
}

/* Shapes that come at run time: the image is the declared one, the block one of those that make what is declared. */
static struct definition *col2im_at_run_time(
        struct definer *definer, struct columns *c, struct definition *x, const int64_t *extents)
{
	const struct node *node = NODE;
	struct columns found[CANDIDATES_MOST + 1];
	expr_ref is[CANDIDATES_MOST];
	struct definition *each[CANDIDATES_MOST];
	expr_ref right = I(1);
	FOR (d, c->count) {
		c->image[d] = extents[2 + d];
		INVALID_IF(c->image[d] < 1 || c->image[d] > INT32_MAX, "an image of %" PRId64, c->image[d]);
		right = I_AND(right, I_IS(ELEMENT(1, d), c->image[d]));
	}
	REQUIRE(right, "an image shape as declared in %s is right", SHAPE_TEXT(2 + c->count, extents));
	int count = extents[1] < 1 || x->extents[1] % extents[1]
	        ? 0
	        : blocks_that_fit(c, 0, x->extents[1] / extents[1], x->extents[2], found, 0, CANDIDATES_MOST);
	INVALID_IF(count == 0, "no blocks make %s of data [%" PRId64 ", %" PRId64 ", %" PRId64 "]",
	        SHAPE_TEXT(2 + c->count, extents), x->extents[0], x->extents[1], x->extents[2]);
	UNSUPPORTED_IF(count > CANDIDATES_MOST,
	        "a block shape that is not constant is not supported where more than %d fit", CANDIDATES_MOST);
	FOR (i, count) {
		is[i] = I(1);
		FOR (d, c->count)
			is[i] = I_AND(is[i], I_IS(ELEMENT(2, d), found[i].kernel[d]));
		each[i] = blocks_joined(definer, &found[i], x, extents);
	}
	return definer_choose(definer, count, is, each, "a block shape that makes the declared %s is right",
	        SHAPE_TEXT(2 + c->count, extents));
}

void define_col2im(struct definer *definer)
{
	struct columns c;
	struct definition *x = IN(0);
	bool known = columns_of(NODE, &c);
	SHAPE(0, rank, extents, at);
	if (definition_elements(x) == 0)
		OUT(0, CAST(x->type, I(0)));
	else
		GIVE(0, known ? blocks_joined(definer, &c, x, extents) : col2im_at_run_time(definer, &c, x, extents));
}
