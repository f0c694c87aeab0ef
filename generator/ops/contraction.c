/* contraction.c: sums of products: Conv, ConvTranspose, MatMul, Gemm; ConvInteger and MatMulInteger, of bytes in int32.
 * The order of a sum's terms is part of its meaning: ascending k; for a convolution kh, kw, then the channel. */
#include "ops/words.h"

/* An element as a factor: as it is, or with `widen` less its zero point (NULL: 0) in int32. */
static expr_ref factor(struct definer *definer, expr_ref element, bool widen, expr_ref zero)
{
	if (!widen)
		return element;
	element = CAST(DTYPE_I32, element);
	return zero ? SUB(element, CAST(DTYPE_I32, zero)) : element;
}

/* ---- Conv ---- */
void convolution_of(const struct node *node, struct convolution *conv)
{
	const struct tensor *x = node->in[0], *w = node->in[1];
	int64_t kernel[MAX_RANK];
	INVALID_IF(w->rank != x->rank, "data has %d dimensions, the weights have %d", x->rank, w->rank);
	FOR_FROM (d, 2, w->rank)
		kernel[d - 2] = w->dims[d].extent;
	window_of(node, x, kernel, &conv->window);
	conv->group = attribute_int(node, "group");
	INVALID_IF(conv->group < 1, "group is %" PRId64 ", at least 1 is right", conv->group);
	int64_t channels = x->dims[1].extent, outs = w->dims[0].extent, each = w->dims[1].extent;
	INVALID_IF(outs >= 0 && outs % conv->group, "%" PRId64 " output channels do not divide into %" PRId64 " groups",
	        outs, conv->group);
	INVALID_IF(channels >= 0 && each >= 0 && (channels % conv->group || channels / conv->group != each),
	        "the weights have %" PRId64 " input channels in each of %" PRId64 " groups, data has %" PRId64
	        " in all",
	        each, conv->group, channels);
}

void infer_bias(const struct node *node, int i, struct dim outs)
{
	const struct tensor *bias = node_in(node, i);
	INVALID_IF(bias && bias->rank >= 0 && (bias->rank != 1 || (dims_differ(outs, bias->dims[0]))),
	        "the bias has %d dimensions of %" PRId64 ", one of %" PRId64 " is right", bias->rank,
	        bias->rank ? bias->dims[0].extent : 0, outs.extent);
}

static void infer_conv(struct node *node, enum dtype type, bool has_bias)
{
	struct convolution conv;
	struct dim dims[MAX_RANK];
	if (!infer_ranks(node, 2, type))
		return;
	convolution_of(node, &conv);
	dims[0] = node->in[0]->dims[0];
	dims[1] = node->in[1]->dims[0];
	FOR (d, conv.window.count)
		dims[2 + d] = dim_of(conv.window.out[d]);
	if (has_bias)
		infer_bias(node, 2, dims[1]);
	infer_output(node, 0, type, node->in[0]->rank, dims);
}

void infer_convolution(struct node *node)
{
	enum dtype type = node->in[0]->type;
	infer_conv(node, type, true);
}

/* The channel of the data that a channel of an output's group is. */
static index_ref channel_of(struct arena *arena, const struct convolution *conv, index_ref out, int64_t outs,
        index_ref channel, int64_t each)
{
	if (conv->group == 1 || !outs)
		return channel;
	return index_add(arena, channel, index_scale(arena, index_div(arena, out, outs / conv->group), each));
}

/* zeros: of data and weights, for bytes. */
static void define_conv(struct definer *definer, struct definition *bias, struct definition *const *zeros)
{
	struct arena *arena = definer->arena;
	struct convolution conv;
	struct definition *x = IN(0), *w = IN(1);
	index_ref x_at[MAX_RANK], w_at[MAX_RANK];
	int64_t reduced[MAX_RANK];
	convolution_of(NODE, &conv);
	SHAPE(0, rank, extents, at);
	int count = conv.window.count;
	FOR (d, count)
		reduced[d] = conv.window.kernel[d];
	reduced[count] = w->extents[1];
	index_ref channel = VAR(rank + count, reduced[count]);
	w_at[0] = at[1];
	w_at[1] = channel;
	FOR (d, count)
		w_at[2 + d] = VAR(rank + d, reduced[d]);
	x_at[0] = at[0];
	x_at[1] = channel_of(arena, &conv, at[1], extents[1], channel, reduced[count]);
	expr_ref zero_x = zeros && zeros[0] ? BROADCAST(zeros[0], 0, NULL) : NULL;
	expr_ref zero_w = zeros && zeros[1] ? BROADCAST(zeros[1], 1, &at[1]) : NULL;
	expr_ref data = window_load(definer, &conv.window, x, x_at, 2, rank, zero_x ? zero_x : LIKE(x, 0));
	expr_ref start = bias ? LOAD(bias, &at[1]) : NULL;
	struct definition *sum = REDUCE(NODE->out[0]->name, rank, extents, REDUCE_SUM, count + 1, reduced, start,
	        MUL(factor(definer, data, zeros, zero_x), factor(definer, LOAD(w, w_at), zeros, zero_w)));
	mark_batch(sum, 1);
	GIVE(0, sum);
}

void define_convolution(struct definer *definer) { define_conv(definer, IN(2), NULL); }

/* ---- ConvInteger ---- */
void infer_convolution_integer(struct node *node)
{
	const struct tensor *w = node->in[1], *zero_w = node_in(node, 3);
	infer_scalar(node, 2);
	INVALID_IF(zero_w && zero_w->rank >= 0 && w->rank > 0 && !tensor_is_scalar_like(zero_w)
	                && (zero_w->rank != 1 || (dims_differ(w->dims[0], zero_w->dims[0]))),
	        "the zero point of the weights has %d dimensions of %" PRId64 ", one of %" PRId64 " is right",
	        zero_w->rank, zero_w->dims[0].extent, w->dims[0].extent);
	infer_conv(node, DTYPE_I32, false);
}

void define_convolution_integer(struct definer *definer)
{
	define_conv(definer, NULL, (struct definition *[]){ IN(2), IN(3) });
}

/* ---- ConvTranspose: y[o] = sum of x[i] w[k] with i*stride + k*dilation = o + before ---- */
static void transposed_of(const struct node *node, struct convolution *conv)
{
	const struct tensor *x = node->in[0], *w = node->in[1];
	int64_t kernel[MAX_RANK], channels = x->rank > 1 ? x->dims[1].extent : -1;
	INVALID_IF(w->rank != x->rank, "data has %d dimensions, the weights have %d", x->rank, w->rank);
	FOR_FROM (d, 2, w->rank)
		kernel[d - 2] = w->dims[d].extent;
	window_transposed_of(node, x, kernel, &conv->window);
	conv->group = attribute_int(node, "group");
	INVALID_IF(conv->group < 1 || (channels >= 0 && channels % conv->group),
	        "group is %" PRId64 ", which does not divide %" PRId64 " channels", conv->group, channels);
	INVALID_IF(channels >= 0 && w->dims[0].extent >= 0 && channels != w->dims[0].extent,
	        "data has %" PRId64 " channels, the weights have %" PRId64, channels, w->dims[0].extent);
}

void infer_convolution_transposed(struct node *node)
{
	struct convolution conv;
	struct dim dims[MAX_RANK];
	enum dtype type = node->in[0]->type;
	const struct tensor *x = node->in[0], *w = node->in[1];
	if (!infer_ranks(node, 2, type))
		return;
	transposed_of(node, &conv);
	int64_t outs = -1;
	LIMIT_IF(dim_is_known(w->dims[1]) && __builtin_mul_overflow(w->dims[1].extent, conv.group, &outs),
	        "%" PRId64 " groups of %" PRId64 " channels", conv.group, w->dims[1].extent);
	dims[0] = x->dims[0];
	dims[1] = outs < 0 ? dim_unknown : dim_of(outs);
	FOR (d, conv.window.count)
		dims[2 + d] = conv.window.out[d] < 0 ? dim_unknown : dim_of(conv.window.out[d]);
	infer_bias(node, 2, dims[1]);
	infer_output(node, 0, type, x->rank, dims);
}

/* A dimension: taps t ascend with the places of the data.  Those alone are tried that meet a place: tap k of result o
 * where k times the dilation is o + before modulo the stride, its phase; so of each phase that has taps every `phases`-th
 * from its first one on.  Without `apart`, of a stride and a dilation together, each is, and `meets` says which count. */
struct phases {
	int64_t taps, phases;
};

static struct phases phases_of(const struct window *window, int d, bool apart)
{
	int64_t stride = window->stride[d], dilation = window->dilation[d],
	        phases = apart || dilation == 1 ? stride / gcd(stride, dilation) : 1;
	return (struct phases){ ceil_div(window->kernel[d], phases), phases };
}

/* The first tap of a phase; -1: it has none. */
static int64_t first_tap(const struct window *window, int d, int64_t phase)
{
	for (int64_t k = 0; k < phases_of(window, d, true).phases && k < window->kernel[d]; k++)
		if (k * window->dilation[d] % window->stride[d] == phase)
			return k;
	return -1;
}

/* Weights as those of Conv, [outs, channels of a group, phase and tap...]; 0 where there is no such tap. */
static struct definition *phase_weights(
        struct definer *definer, const struct convolution *conv, struct definition *w, bool apart)
{
	index_ref at[MAX_RANK];
	struct range ranges[MAX_RANK];
	int64_t outs = w->extents[1], each = w->extents[0] / conv->group,
	        extents[MAX_RANK] = { outs * conv->group, each };
	index_ref out = VAR(0, extents[0]), channel = VAR(1, each);
	at[0] = SUM(outs ? SCALE(QUOTIENT(out, outs), each) : out, channel);
	at[1] = outs ? REST(out, outs) : out;
	FOR (d, conv->window.count) {
		struct phases phases = phases_of(&conv->window, d, apart);
		extents[2 + d] = phases.taps * phases.phases;
		index_ref place = VAR(2 + d, extents[2 + d]);
		at[2 + d] = SUM(QUOTIENT(place, phases.taps),
		        PLUS(SCALE(REST(place, phases.taps), -phases.phases), phases.phases * (phases.taps - 1)));
		ranges[d] = (struct range){ at[2 + d], 0, w->extents[2 + d] };
	}
	struct definition *made =
	        PART("phases", w->rank, extents, SELECT(ranges, conv->window.count, LOAD(w, at), LIKE(w, 0)));
	if (w->source
	        == SOURCE_CONSTANT) /* taps that are none make it larger, but a product packs what its phase has */
		definition_fold(definer->program, made);
	return made;
}

/* Places of the data that the results of a phase stand for: how many, and the first. */
static int64_t phase_places(const struct window *window, int d, int64_t *first)
{
	*first = window->before[d] / window->stride[d];
	return (window->before[d] + window->out[d] - 1) / window->stride[d] - *first + 1;
}

/* What a sum goes over: elements of the data where those are within all ranges, and weights beside them; `reduced` has
 * the taps of each dimension, and the channels of a group. */
struct taps {
	expr_ref start; /* NULL: the bias */
	index_ref x_at[MAX_RANK], w_at[MAX_RANK];
	int64_t reduced[MAX_RANK];
	struct range ranges[2 * MAX_RANK];
	int range_count;
};

/* The sum of products, from the bias of output channel w_at[0] on. */
static struct definition *sum_of_taps(struct definer *definer, const char *name, int rank, const int64_t *over,
        struct definition *w, const struct taps *taps)
{
	struct definition *x = IN(0), *bias = IN(2);
	expr_ref data = SELECT(taps->ranges, taps->range_count, LOAD(x, taps->x_at), LIKE(x, 0));
	struct definition *sum = REDUCE(name, rank, over, REDUCE_SUM, x->rank - 1, taps->reduced,
	        taps->start    ? taps->start
	                : bias ? LOAD(bias, &taps->w_at[0])
	                       : NULL,
	        MUL(data, LOAD(w, taps->w_at)));
	mark_batch(sum, 1);
	return sum;
}

/* Whether the results of each phase stand for places of the data: there are strides. */
static bool has_phases(const struct convolution *conv, int rank, const int64_t *extents)
{
	const struct window *window = &conv->window;
	bool strides = false;
	FOR (d, window->count) {
		if (window->before[d] < 0 || !extents[2 + d])
			return false;
		strides |= window->stride[d] > 1;
	}
	return strides && extents[0] && extents[1] && rank + window->count <= MAX_RANK;
}

enum { PHASES_MOST = 16 }; /* kernels */

static bool phases_are_few(const struct window *window)
{
	int64_t phases = 1;
	FOR (d, window->count)
		if (window->stride[d] > PHASES_MOST || (phases *= window->stride[d]) > PHASES_MOST)
			return false;
	return true;
}

/* Where every phase has all its taps, and the order of the terms is that of the sum below: a sum over places of the
 * data and phases, [batch, place and phase of each dimension, outs], a plain product of data that no phase moves and
 * weights that no place does; the output moves its elements. */
static bool phases_are_whole(const struct convolution *conv, const int64_t *extents, int64_t channels)
{
	const struct window *window = &conv->window;
	int64_t terms = channels, outs = extents[1], phases = 1;
	FOR (d, window->count) {
		if (window->kernel[d] % window->stride[d] || (window->stride[d] > 1 && window->dilation[d] > 1))
			return false;
		terms *= window->kernel[d] / window->stride[d];
		outs *= extents[2 + d];
		phases *= window->stride[d];
	}
	bool many = outs > FEW_OUTPUTS
	        && (extents[1] > 1 /* or each phase by itself adds in that order */
	                || (terms == channels && phases_are_few(window) && outs > FEW_OUTPUTS * phases));
	return conv->group == 1 && (terms < LANE_TERMS || many);
}

/* A constant bias once for each phase, [phase of each dimension, outs], loaded at these variables: phases and outs are
 * the columns of one product then. */
static expr_ref phase_biases(struct definer *definer, int columns, const int64_t *extents, const index_ref *at)
{
	struct definition *bias = IN(2);
	index_ref out = VAR(columns - 1, extents[columns - 1]);
	if (!bias || bias->source != SOURCE_CONSTANT)
		return NULL;
	struct definition *each = PART("biases", columns, extents, LOAD(bias, &out));
	return LOAD(each, at);
}

/* Whether places are counted from the first result on, not from the first that a phase stands for: with an odd pad both
 * ends of a dimension have a phase that no result is of, which is much of a small picture.  Data then moves with the
 * phase, so phases are no columns, and outs have to be enough by themselves. */
enum { OUTS_ALONE = 16 };
static bool phases_from_first(const struct convolution *conv, int64_t outs)
{
	bool odd = false;
	FOR (d, conv->window.count) {
		if (conv->window.stride[d] > 2)
			return false;
		odd |= conv->window.stride[d] == 2 && conv->window.before[d] % 2;
	}
	return odd && outs >= OUTS_ALONE;
}

/* How many places the results look at; NULL: all. */
static struct definition *places_there(
        struct definer *definer, const struct tensor *results, int64_t before, int64_t stride, int64_t most)
{
	if (!results)
		return NULL;
	expr_ref last = I_ADD(SIZE(results), I(before - 1)), places = I_ADD(I_DIV(last, I(stride)), I(1));
	return PART("places", 0, NULL, I_MIN(places, I(most)));
}

static void define_phases(struct definer *definer, const struct convolution *conv, struct definition *w,
        const int64_t *extents, const index_ref *at)
{
	const struct window *window = &conv->window;
	struct definition *x = IN(0);
	index_ref from_at[MAX_RANK], column_at[MAX_RANK];
	int64_t over[MAX_RANK] = { extents[0] }, each_column[MAX_RANK], first;
	int count = window->count, rank = 2 + count, columns = 0;
	bool from_first = phases_from_first(conv, extents[1]);
	struct taps taps = { .range_count = count };
	struct definition *ends[MAX_RANK] = { NULL };
	FOR (d, count)
		rank += window->stride[d] > 1;
	taps.reduced[count] = w->extents[1];
	taps.x_at[0] = VAR(0, extents[0]);
	from_at[0] = at[0];
	taps.x_at[1] = taps.w_at[1] = VAR(rank + count, w->extents[1]);
	for (int d = 0, v = 1; d < count; d++) {
		int64_t stride = window->stride[d], dilation = window->dilation[d], before = window->before[d],
		        each = phases_of(window, d, true).taps;
		over[v] = phase_places(window, d, &first);
		if (from_first)
			over[v] = ceil_div(extents[2 + d], stride);
		int64_t ahead = from_first ? 0 : before - first * stride;
		ends[v] = places_there(definer, NODE->out[0]->dims[2 + d].count, ahead, stride, over[v]);
		index_ref tap = VAR(rank + d, each), from = PLUS(at[2 + d], ahead),
		          place = PLUS(VAR(v, over[v]), first);
		taps.reduced[d] = each;
		from_at[v++] = QUOTIENT(from, stride);
		taps.w_at[2 + d] = tap;
		if (stride > 1) {
			index_ref phase = VAR(v, stride);
			each_column[columns] = over[v] = stride;
			column_at[columns++] = phase;
			from_at[v++] = REST(from, stride);
			if (from_first && before % 2) { /* results 0, 1: phases 1, 0; 1 is of the next place */
				place = SUM(place, phase);
				phase = PLUS(SCALE(phase, -1), 1);
			}
			taps.w_at[2 + d] = SUM(SCALE(phase, each), tap);
		}
		taps.x_at[2 + d] = SUM(PLUS(place, -dilation * (each - 1)), SCALE(tap, dilation));
		taps.ranges[d] = (struct range){ taps.x_at[2 + d], 0, x->extents[2 + d] };
	}
	over[rank - 1] = extents[1];
	from_at[rank - 1] = at[1];
	taps.w_at[0] = column_at[columns] = VAR(rank - 1, extents[1]);
	each_column[columns++] = extents[1];
	taps.start = from_first ? NULL : phase_biases(definer, columns, each_column, column_at);
	struct definition *sum = sum_of_taps(definer, NAMED("phases"), rank, over, w, &taps);
	memcpy(sum->count.ends, ends, sizeof ends);
	OUT(0, LOAD(sum, from_at));
}

/* ---- phases that differ in their taps: a sum for each ---- */
/* Places of the results of all phases, and the first of those of one: counted from the first result on, so that no
 * place is without one, where sums are of the same order as with more. */
struct places {
	bool from_first;
	int64_t count[MAX_RANK];
};

static struct places places_of(const struct window *window, const int64_t *extents)
{
	struct places places = { .from_first = false };
	int64_t all = 1, first;
	FOR (d, window->count)
		all *= places.count[d] = (extents[2 + d] + window->stride[d] - 1) / window->stride[d];
	places.from_first = all > 1 && all * extents[1] > FEW_OUTPUTS;
	FOR_WHILE (d, !places.from_first, window->count)
		places.count[d] = phase_places(window, d, &first);
	return places;
}

/* The first result of a phase, of those that neighbour each other. */
static int64_t first_result(const struct window *window, const struct places *places, int d, int64_t phase)
{
	int64_t stride = window->stride[d];
	return places->from_first ? (phase + stride - window->before[d] % stride) % stride : phase;
}

/* The sum of one phase, [batch, places, outs]; NULL: no tap meets it. */
static struct definition *phase_sum(struct definer *definer, const struct convolution *conv, const int64_t *phase,
        const struct places *places, struct definition *w, int64_t outs)
{
	struct arena *arena = definer->arena;
	const struct window *window = &conv->window;
	struct definition *x = IN(0);
	int count = window->count, rank = 2 + count;
	int64_t over[MAX_RANK] = { x->extents[0] };
	struct taps taps = { .range_count = count };
	over[rank - 1] = outs;
	taps.reduced[count] = w->extents[1];
	taps.w_at[0] = VAR(rank - 1, outs);
	taps.w_at[1] = VAR(rank + count, w->extents[1]);
	taps.x_at[0] = VAR(0, over[0]);
	taps.x_at[1] = channel_of(arena, conv, taps.w_at[0], outs, taps.w_at[1], w->extents[1]);
	FOR (d, count) {
		struct phases phases = phases_of(window, d, true);
		int64_t own = first_tap(window, d, phase[d]), dilation = window->dilation[d];
		if (own < 0)
			return NULL;
		int64_t each = (window->kernel[d] - own + phases.phases - 1) / phases.phases,
		        step = dilation * phases.phases / window->stride[d],
		        from = (phase[d] - own * dilation) / window->stride[d],
		        first = ((places->from_first ? first_result(window, places, d, phase[d]) : 0)
		                        + window->before[d])
		        / window->stride[d];
		taps.reduced[d] = each;
		over[1 + d] = places->count[d];
		index_ref tap = VAR(rank + d, each);
		taps.w_at[2 + d] = PLUS(tap, own * phases.taps + phases.taps - each);
		taps.x_at[2 + d] =
		        SUM(PLUS(VAR(1 + d, over[1 + d]), first + from - step * (each - 1)), SCALE(tap, step));
		taps.ranges[d] = (struct range){ taps.x_at[2 + d], 0, x->extents[2 + d] };
	}
	return sum_of_taps(definer, NAMED("phase"), rank, over, w, &taps);
}

/* The sums side by side, [batch, outs, place and phase of each dimension], of which the output moves its elements. */
static void define_each_phase(struct definer *definer, const struct convolution *conv, struct definition *w,
        const int64_t *extents, const index_ref *at)
{
	const struct window *window = &conv->window;
	struct definition *bias = IN(2);
	int count = window->count, rank = 2;
	const struct places places = places_of(window, extents);
	int64_t over[MAX_RANK] = { extents[0], extents[1] }, phase[MAX_RANK] = { 0 };
	index_ref sum_at[MAX_RANK], from_at[MAX_RANK] = { at[0], at[1] };
	struct range ranges[MAX_RANK];
	sum_at[0] = VAR(0, extents[0]);
	sum_at[count + 1] = VAR(1, extents[1]);
	FOR (d, count) {
		int64_t stride = window->stride[d];
		over[rank] = places.count[d];
		index_ref from = PLUS(at[2 + d], places.from_first ? 0 : window->before[d] % stride);
		sum_at[1 + d] = VAR(rank, over[rank]);
		from_at[rank++] = QUOTIENT(from, stride);
		ranges[d].at = VAR(rank, stride);
		over[rank] = stride;
		from_at[rank++] = REST(from, stride);
	}
	expr_ref none = bias ? LOAD(bias, &sum_at[count + 1]) : LIKE(w, 0), all = NULL;
	for (int d = count - 1; d >= 0;) {
		struct definition *sum = phase_sum(definer, conv, phase, &places, w, extents[1]);
		expr_ref own = sum ? LOAD(sum, sum_at) : none;
		FOR (k, count)
			ranges[k].to = (ranges[k].from = first_result(window, &places, k, phase[k])) + 1;
		all = all ? SELECT(ranges, count, own, all) : own;
		for (d = count - 1; d >= 0 && ++phase[d] == window->stride[d]; d--)
			phase[d] = 0;
	}
	struct definition *beside = PART("phases_beside", rank, over, all);
	OUT(0, LOAD(beside, from_at));
}

/* The sum itself, of each output over the taps that may meet it. */
static void define_taps(struct definer *definer, const struct convolution *conv, struct definition *w, int rank,
        const int64_t *extents, const index_ref *at)
{
	struct arena *arena = definer->arena;
	const struct window *window = &conv->window;
	struct definition *x = IN(0);
	int count = window->count;
	struct taps taps = { .range_count = 0 };
	taps.reduced[count] = w->extents[1];
	taps.w_at[0] = at[1];
	taps.w_at[1] = VAR(rank + count, w->extents[1]);
	taps.x_at[0] = at[0];
	taps.x_at[1] = channel_of(arena, conv, at[1], extents[1], taps.w_at[1], w->extents[1]);
	FOR (d, count) {
		struct phases phases = phases_of(window, d, false);
		int64_t stride = window->stride[d], dilation = window->dilation[d];
		taps.reduced[d] = phases.taps;
		index_ref tap = VAR(rank + d, phases.taps), from = PLUS(at[2 + d], window->before[d]);
		index_ref back = PLUS(SCALE(tap, dilation), -dilation * (phases.taps - 1));
		struct range *meets = &taps.ranges[taps.range_count];
		if (phases.phases < stride) {
			from = SUM(from, back);
			*meets = (struct range){ REST(from, stride), 0, 1 };
			taps.x_at[2 + d] = QUOTIENT(from, stride);
			taps.w_at[2 + d] = tap;
		} else {
			index_ref phase = REST(from, stride),
			          step = PLUS(SCALE(tap, -stride), stride * (phases.taps - 1));
			*meets = (struct range){ SUM(phase, step), 0, window->kernel[d] };
			taps.x_at[2 + d] = SUM(QUOTIENT(from, stride), back);
			taps.w_at[2 + d] = SUM(SCALE(phase, phases.taps), tap);
		}
		meets[1] = (struct range){ taps.x_at[2 + d], 0, x->extents[2 + d] };
		taps.range_count += 2;
	}
	GIVE(0, sum_of_taps(definer, NODE->out[0]->name, rank, extents, w, &taps));
}

/* ---- data of one place (a generator's first layer): each result has one tap ---- */
static bool is_one_place(const struct convolution *conv, const struct definition *x)
{
	bool one = conv->group == 1;
	FOR (d, conv->window.count)
		one &= x->extents[2 + d] == 1 && conv->window.dilation[d] == 1 && conv->window.before[d] >= 0
		        && conv->window.before[d] + conv->window.out[d] <= conv->window.kernel[d];
	return one && definition_elements(x) > 0;
}

/* A product of data [batch, channels] and weights [channels, outs and taps]; the output moves its elements. */
static void define_one_place(struct definer *definer, const struct convolution *conv, const index_ref *at)
{
	struct definition *x = IN(0), *w = IN(1), *bias = IN(2);
	index_ref x_at[MAX_RANK], w_at[MAX_RANK];
	int64_t over[2] = { x->extents[0], definition_elements(w) / w->extents[0] };
	index_ref column = VAR(1, over[1]);
	x_at[0] = VAR(0, over[0]);
	x_at[1] = w_at[0] = VAR(2, x->extents[1]);
	UNFLATTEN(column, w->rank - 1, w->extents + 1, w_at + 1);
	FOR (d, conv->window.count)
		x_at[2 + d] = CONSTANT(0);
	struct definition *each = NULL;
	if (bias) {
		index_ref out = QUOTIENT(VAR(0, over[1]), over[1] / w->extents[1]);
		each = PART("biases", 1, over + 1, LOAD(bias, &out));
	}
	struct definition *sum = REDUCTION("taps", 2, over, REDUCE_SUM, 1, &x->extents[1],
	        each ? LOAD(each, &column) : NULL, MUL(LOAD(x, x_at), LOAD(w, w_at)));
	mark_batch(sum, 1);
	w_at[1] = at[1];
	FOR (d, conv->window.count)
		w_at[2 + d] = PLUS(at[2 + d], conv->window.before[d]);
	index_ref own[] = { at[0], FLATTEN(w->rank - 1, w_at + 1, w->extents + 1) };
	OUT(0, LOAD(sum, own));
}

void define_convolution_transposed(struct definer *definer)
{
	struct convolution conv;
	transposed_of(NODE, &conv);
	struct definition *w = IN(1);
	SHAPE(0, rank, extents, at);
	if (is_one_place(&conv, IN(0))) {
		define_one_place(definer, &conv, at);
		return;
	}
	bool phases = has_phases(&conv, rank, extents),
	     whole = phases && phases_are_whole(&conv, extents, w->extents[0] / conv.group),
	     apart = whole || (phases && phases_are_few(&conv.window));
	w = phase_weights(definer, &conv, w, apart);
	if (whole)
		define_phases(definer, &conv, w, extents, at);
	else if (apart)
		define_each_phase(definer, &conv, w, extents, at);
	else
		define_taps(definer, &conv, w, rank, extents, at);
}

/* ---- MatMul: NumPy's, a vector is a row on the left, a column on the right ---- */
struct matmul {
	int a_batch, b_batch, batch;
	bool a_vector, b_vector;
};

static struct matmul matmul_of(int a_rank, int b_rank)
{
	struct matmul m = { .a_vector = a_rank == 1, .b_vector = b_rank == 1 };
	m.a_batch = a_rank > 2 ? a_rank - 2 : 0;
	m.b_batch = b_rank > 2 ? b_rank - 2 : 0;
	m.batch = m.a_batch > m.b_batch ? m.a_batch : m.b_batch;
	return m;
}

static void infer_product(struct node *node, enum dtype type, int bias)
{
	struct dim dims[MAX_RANK];
	struct tensor batch[2] = { { 0 }, { 0 } }, *const both[2] = { &batch[0], &batch[1] };
	const struct tensor *a = node->in[0], *b = node->in[1];
	if (!infer_ranks(node, 2, type))
		return;
	INVALID_IF(a->rank == 0 || b->rank == 0, "a scalar is no matrix");
	struct matmul m = matmul_of(a->rank, b->rank);
	struct dim k = a->dims[a->rank - 1], l = b->dims[m.b_vector ? 0 : b->rank - 2];
	INVALID_IF(dims_differ(k, l), "rows of %" PRId64 " against columns of %" PRId64, k.extent, l.extent);
	FOR (d, batch[0].rank = m.a_batch)
		batch[0].dims[d] = a->dims[d];
	FOR (d, batch[1].rank = m.b_batch)
		batch[1].dims[d] = b->dims[d];
	int rank = infer_broadcast(node, 2, both, dims);
	if (!m.a_vector)
		dims[rank++] = a->dims[a->rank - 2];
	if (!m.b_vector)
		dims[rank++] = b->dims[b->rank - 1];
	INVALID_IF(node_in(node, bias) && m.b_vector, "a bias needs columns");
	infer_bias(node, bias, b->dims[b->rank - 1]);
	infer_output(node, 0, type, rank, dims);
}

void infer_matmul(struct node *node)
{
	infer_least(node, 2);
	enum dtype type = node->in[0]->type;
	infer_product(node, type, 2);
}

static void define_product(struct definer *definer, struct definition *bias, struct definition *const *zeros)
{
	struct definition *a = IN(0), *b = IN(1);
	struct matmul m = matmul_of(a->rank, b->rank);
	index_ref a_at[MAX_RANK], b_at[MAX_RANK];
	int64_t terms = a->extents[a->rank - 1];
	SHAPE(0, rank, extents, at);
	index_ref k = VAR(rank, terms);
	FOR (d, m.a_batch)
		a_at[d] = at[m.batch - m.a_batch + d];
	FOR (d, m.b_batch)
		b_at[d] = at[m.batch - m.b_batch + d];
	if (!m.a_vector)
		a_at[a->rank - 2] = at[m.batch];
	a_at[a->rank - 1] = b_at[m.b_vector ? 0 : b->rank - 2] = k;
	if (!m.b_vector)
		b_at[b->rank - 1] = at[rank - 1];
	expr_ref start = bias ? LOAD(bias, &at[rank - 1]) : NULL;
	expr_ref zero_a = NULL, zero_b = zeros && zeros[1] ? BROADCAST(zeros[1], b->rank, b_at) : NULL;
	if (zeros && zeros[0]) /* one for each row, or as A has them */
		zero_a = zeros[0]->rank == 1 && !m.a_vector ? BROADCAST(zeros[0], 1, &a_at[a->rank - 2])
		                                            : BROADCAST(zeros[0], a->rank, a_at);
	struct definition *sum = REDUCE(NODE->out[0]->name, rank, extents, REDUCE_SUM, 1, &terms, start,
	        MUL(factor(definer, BROADCAST(a, a->rank, a_at), zeros, zero_a),
	                factor(definer, BROADCAST(b, b->rank, b_at), zeros, zero_b)));
	mark_batch(sum, (1u << (m.b_vector ? rank : rank - 1)) - 1); /* all but the columns */
	if (sum->reduced)                                            /* what is there of both, else 0: counts.c */
		sum->count.reduced[0] = definer_count(definer, NODE->in[0]->dims[a->rank - 1].count);
	GIVE(0, sum);
}

void define_matmul(struct definer *definer) { define_product(definer, IN(2), NULL); }

/* ---- MatMulInteger ---- */
/* One zero point, one for each row of A or column of B, or with A's or B's dimensions and 1 for the terms. */
static void infer_zero(const struct node *node, int i, const struct tensor *of, bool rows)
{
	const struct tensor *zero = node_in(node, i);
	if (!zero || zero->rank < 0 || of->rank < 0 || (tensor_is_scalar_like(zero) && zero->rank <= of->rank))
		return;
	int terms = rows ? of->rank - 1 : of->rank - 2, each = rows ? of->rank - 2 : of->rank - 1;
	bool fits = of->rank >= 2 && (zero->rank == 1 || zero->rank == of->rank);
	FOR_WHILE (d, fits, zero->rank) {
		int own = zero->rank == 1 ? each : d;
		struct dim want = own == terms ? dim_of(1) : of->dims[own];
		fits = !dims_differ(want, zero->dims[d]);
	}
	INVALID_IF(!fits, "the zero point (input %d) is neither one number nor one for each %s", i,
	        rows ? "row" : "column");
}

void infer_matmul_integer(struct node *node)
{
	infer_zero(node, 2, node->in[0], true);
	infer_zero(node, 3, node->in[1], false);
	infer_product(node, DTYPE_I32, node->ins);
}

void define_matmul_integer(struct definer *definer)
{
	define_product(definer, NULL, (struct definition *[]){ IN(2), IN(3) });
}

/* ---- Gemm: alpha A' B' + beta C ---- */
void infer_gemm(struct node *node)
{
	enum dtype type = node->in[0]->type;
	const struct tensor *a = node->in[0], *b = node->in[1], *c = node_in(node, 2);
	bool a_transposed = attribute_int(node, "transA") != 0, b_transposed = attribute_int(node, "transB") != 0;
	INVALID_IF((a->rank >= 0 && a->rank != 2) || (b->rank >= 0 && b->rank != 2),
	        "A has %d dimensions, B has %d, 2 are right", a->rank, b->rank);
	struct dim m = a->rank == 2 ? a->dims[a_transposed] : dim_unknown,
	           k = a->rank == 2 ? a->dims[!a_transposed] : dim_unknown;
	struct dim l = b->rank == 2 ? b->dims[b_transposed] : dim_unknown,
	           n = b->rank == 2 ? b->dims[!b_transposed] : dim_unknown;
	INVALID_IF(dims_differ(k, l), "rows of %" PRId64 " against columns of %" PRId64, k.extent, l.extent);
	struct dim dims[2] = { m, n };
	INVALID_IF(c && c->rank > 2, "C has %d dimensions, at most 2 are right", c->rank);
	FOR_WHILE (d, c, c->rank) {
		struct dim want = dims[2 - c->rank + d];
		INVALID_IF(dims_differ(want, c->dims[d]) && c->dims[d].extent != 1,
		        "C has %" PRId64 " where %" PRId64 " or 1 is right", c->dims[d].extent, want.extent);
	}
	infer_output(node, 0, type, 2, dims);
}

void define_gemm(struct definer *definer)
{
	struct definition *a = IN(0), *b = IN(1), *c = IN(2);
	double alpha = attribute_float(NODE, "alpha"), beta = attribute_float(NODE, "beta");
	bool a_transposed = attribute_int(NODE, "transA") != 0, b_transposed = attribute_int(NODE, "transB") != 0;
	int64_t terms = a->extents[!a_transposed];
	SHAPE(0, rank, extents, at);
	index_ref k = VAR(rank, terms);
	index_ref a_at[2] = { a_transposed ? k : at[0], a_transposed ? at[0] : k },
	          b_at[2] = { b_transposed ? at[1] : k, b_transposed ? k : at[1] };
	expr_ref start = NULL;
	if (c && beta != 0) {
		start = BROADCAST(c, rank, at);
		if (beta != 1)
			start = MUL(LIKE(c, beta), start);
	}
	expr_ref product = MUL(LOAD(a, a_at), LOAD(b, b_at));
	const char *name = NODE->out[0]->name;
	struct definition *sum = REDUCE(alpha == 1 ? name : NAMED("product"), rank, extents, REDUCE_SUM, 1, &terms,
	        alpha == 1 ? start : NULL, product);
	mark_batch(sum, 1);
	if (alpha == 1) {
		GIVE(0, sum);
		return;
	}
	expr_ref y = LOAD(sum, at), factor = LIKE(a, alpha);
	bool is_float = dtype_is_float(a->type);
	if (!start)
		y = MUL(factor, y);
	else if (is_float)
		y = FMA(factor, y, start);
	else
		y = ADD(MUL(factor, y), start);
	OUT(0, y);
}
