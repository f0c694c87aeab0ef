/* tflite_ops.c: the bodies of operators that compute: what each is in ONNX. */
#include "frontends/tflite_bodies.h"
#include <math.h>
#include <stdlib.h>

const struct tfl_row tfl_rows[TFL_OPERATORS] = {
#define O(number, name) [number] = { #name, 0, 0, NULL, "" },
#define P(number, name, options, newest, body, word) [number] = { #name, options, newest, tfl_##body, word },
#include "tables/tflite.h"
#undef O
#undef P
};

static void tfl_deconv_bias(struct tfl_op *);
static const struct tfl_row customs[] = { { "Convolution2DTransposeBias", 0, 1, tfl_deconv_bias, "" } };

const struct tfl_row *tfl_row_of(int64_t code, const char *custom)
{
	for (size_t i = 0; *custom && i < COUNT(customs); i++)
		if (!strcmp(customs[i].name, custom))
			return &customs[i];
	return code < TFL_OPERATORS ? &tfl_rows[code] : NULL;
}

static const int64_t to_nchw[] = { 0, 3, 1, 2 };

/* Floats that meet quantised weights are rounded to 8 bits first, all of the dims from `from` on alike: to [-127, 127] of the largest magnitude,
 * or to [-128, 127] of what lies between the smallest, the largest and 0. */
static struct tensor *rounded_rows(struct tfl_op *op, struct tensor *x, int from, int rank, bool around_zero)
{
	int64_t axes[MAX_RANK];
	for (int d = from; d < rank; d++)
		axes[d - from] = d;
	struct tensor *list = tfl_list(op, (size_t)(rank - from), axes), *none = tfl_number(op, 0), *zero = NULL;
	struct tensor *high = tfl_two(op, "ReduceMax", around_zero ? tfl_one(op, "Abs", x) : x, list), *range = high;
	if (!around_zero) {
		struct tensor *low = tfl_two(op, "Min", tfl_two(op, "ReduceMin", x, list), none);
		range = tfl_two(op, "Sub", tfl_two(op, "Max", high, none), low);
		zero = low;
	}
	range = tfl_two(op, "Max", range, tfl_number(op, 1e-30f)); /* of zeros alone it does not count */
	struct tensor *scale = tfl_two(op, "Div", range, tfl_number(op, around_zero ? 127 : 255));
	struct tensor *q = tfl_two(op, "Div", x, scale), *least = tfl_number(op, around_zero ? -127 : -128);
	if (zero) {
		zero = tfl_one(op, "Round", tfl_two(op, "Sub", least, tfl_two(op, "Div", zero, scale)));
		q = tfl_two(op, "Add", q, zero);
	}
	q = tfl_node(op, "Clip", 3, (struct tensor *[]){ tfl_one(op, "Round", q), least, tfl_number(op, 127) });
	return tfl_two(op, "Mul", zero ? tfl_two(op, "Sub", q, zero) : q, scale);
}

static struct tensor *channels_first(struct tfl_op *op, size_t i, size_t weights)
{
	struct tfl_tensor *x = tfl_in(op, i), *w = weights ? tfl_in(op, weights) : NULL;
	struct tensor *real = tfl_first(op, x, true);
	return w && x->type == DTYPE_F32 && tfl_quantised(w) ? rounded_rows(op, real, 1, 4, w->axis < 0) : real;
}

static void give_channels_last(struct tfl_op *op, struct tensor *y, int64_t activation)
{
	tfl_give_first(op, 0, tfl_activate(op, y, activation), true);
}

/* Weights in ONNX's order; what is stored moves, so that it stays integers. */
static struct tensor *weights(struct tfl_op *op, size_t i, const int64_t *order)
{
	struct tfl_tensor *t = tfl_in(op, i);
	int axis = 0;
	tfl_invalid(op, t->rank != 4, "its weights have not 4 dimensions");
	if (!tfl_quantised(t))
		return tfl_order(op, tfl_real(op, t), 4, order);
	while (t->axis >= 0 && order[axis] != t->axis)
		axis++;
	return tfl_dequantise(op, t, tfl_order(op, tfl_value(op, t), 4, order), axis);
}

static struct tensor *with_padding(struct tfl_op *op, struct tensor *node)
{
	int64_t padding = table_byte(&op->options, 0, 0);
	tfl_invalid(op, padding != 0 && padding != 1, "its padding is not known");
	return tfl_set_text(node, "auto_pad", padding ? "VALID" : "SAME_UPPER");
}

/* Two options as a list, the height's first. */
static struct tensor *with_pair(
        struct tfl_op *op, struct tensor *node, const char *name, int height, int width, int64_t otherwise)
{
	int64_t pair[] = { table_int(&op->options, height, otherwise), table_int(&op->options, width, otherwise) };
	tfl_invalid(op, pair[0] < 1 || pair[1] < 1, "a stride, dilation or window is below 1");
	return tfl_set_ints(node, name, 2, pair);
}

static void convolve(struct tfl_op *op, const int64_t *order, int dilations, bool depthwise)
{
	struct tensor *in[] = { channels_first(op, 0, 1), weights(op, 1, order),
		tfl_has(op, 2) ? tfl_real(op, tfl_in(op, 2)) : NULL };
	int64_t channels = tfl_in(op, 0)->extents[3], each = depthwise ? 1 : tfl_in(op, 1)->extents[3];
	tfl_invalid(op, channels < 1 || each < 1 || channels % each, "its channels are not those of its weights");
	struct tensor *y = with_padding(op, tfl_node(op, "Conv", in[2] ? 3 : 2, in));
	with_pair(op, y, "strides", 2, 1, 0);
	with_pair(op, y, "dilations", dilations + 1, dilations, 1);
	tfl_set_int(y, "group", channels / each);
	give_channels_last(op, y, table_byte(&op->options, depthwise ? 4 : 3, 0));
}

void tfl_conv(struct tfl_op *op) { convolve(op, to_nchw, 4, false); }

void tfl_depthwise(struct tfl_op *op)
{
	static const int64_t order[] = { 3, 0, 1, 2 };
	convolve(op, order, 5, true);
}

/* Input `data` by weights o h w i: of each of two dims `shape` says how many come out.  That decides what is cut off or
 * stays 0, as TensorFlow has it: half of it before, the rest behind. */
static struct tensor *transposed(
        struct tfl_op *op, size_t data, size_t bias, const int64_t *shape, const int64_t *stride)
{
	static const int64_t order[] = { 3, 0, 1, 2 }; /* o h w i -> i o h w */
	struct tfl_tensor *w = tfl_in(op, 1), *x = tfl_in(op, data);
	struct tensor *in[] = { channels_first(op, data, 1), weights(op, 1, order),
		tfl_has(op, bias) ? tfl_real(op, tfl_in(op, bias)) : NULL };
	struct tensor *y = tfl_node(op, "ConvTranspose", in[2] ? 3 : 2, in);
	int64_t pads[4], more[2];
	for (int d = 0; d < 2; d++) {
		tfl_invalid(op, stride[d] < 1, "a stride, dilation or window is below 1");
		int64_t all = (x->extents[1 + d] - 1) * stride[d] + w->extents[1 + d], over = all - shape[d];
		tfl_invalid(op, over < -stride[d] || over >= all, "its output's shape does not fit its strides");
		pads[d] = over > 0 ? over / 2 : 0;
		pads[2 + d] = over > 0 ? over - over / 2 : 0;
		more[d] = over < 0 ? -over : 0;
	}
	tfl_set_ints(y, "pads", 4, pads);
	tfl_set_ints(y, "output_padding", 2, more);
	return tfl_set_ints(y, "strides", 2, stride);
}

void tfl_deconv(struct tfl_op *op)
{
	size_t count;
	const int64_t *shape = tfl_ints(op, 0, &count);
	if (!shape || count != 4)
		tfl_cannot(op, "its output's shape is no constant of 4 numbers");
	int64_t stride[] = { table_int(&op->options, 2, 0), table_int(&op->options, 1, 0) };
	give_channels_last(op, transposed(op, 2, 3, shape + 1, stride), table_byte(&op->options, 3, 0));
}

/* MediaPipe's: the options are three int32, padding (1: SAME, 2: VALID), stride across, stride down. */
static void tfl_deconv_bias(struct tfl_op *op)
{
	struct vector bytes = table_vector(&op->table, 5, 1);
	struct tfl_tensor *x = tfl_in(op, 0), *w = tfl_in(op, 1);
	int64_t shape[2], stride[2];
	tfl_invalid(op, bytes.count < 12, "its options are not 12 bytes");
	tfl_invalid(op, x->rank != 4 || w->rank != 4, "its data or weights have not 4 dimensions");
	bytes.count /= 4;
	for (int d = 0; d < 2; d++) {
		stride[d] = vector_int(&bytes, d ? 1 : 2);
		tfl_invalid(op, stride[d] < 1, "a stride, dilation or window is below 1");
		int64_t k = w->extents[1 + d], same = k - (x->extents[1 + d] - 1) % stride[d] - 1;
		shape[d] =
		        (x->extents[1 + d] - 1) * stride[d] + k - (vector_int(&bytes, 0) == 1 && same > 0 ? same : 0);
	}
	give_channels_last(op, transposed(op, 0, 2, shape, stride), 0);
}

void tfl_pool(struct tfl_op *op)
{
	struct tfl_tensor *x = tfl_in(op, 0);
	bool stored =
	        !strcmp(op->row->word, "MaxPool") && tfl_same(x, tfl_out(op, 0)) && !table_byte(&op->options, 5, 0);
	struct tensor *y = with_padding(op, tfl_one(op, op->row->word, tfl_first(op, x, !stored)));
	with_pair(op, y, "strides", 2, 1, 0);
	with_pair(op, y, "kernel_shape", 4, 3, 0);
	tfl_give_first(op, 0, tfl_activate(op, y, table_byte(&op->options, 5, 0)), !stored);
}

/* Rows of x by rows of the weights; x of other ranks is flattened, and the result gets their dimensions back. */
void tfl_product(struct tfl_op *op)
{
	struct tfl_tensor *x = tfl_in(op, 0), *w = tfl_in(op, 1), *y = tfl_out(op, 0);
	tfl_invalid(op, w->rank != 2 || w->extents[1] < 1, "its weights are no matrix");
	struct tensor *in[] = { tfl_real(op, x), tfl_real(op, w), tfl_has(op, 2) ? tfl_real(op, tfl_in(op, 2)) : NULL };
	if (x->rank != 2 || x->extents[1] != w->extents[1])
		in[0] = tfl_reshape_to(op, in[0], 2, (int64_t[]){ -1, w->extents[1] });
	if (x->type == DTYPE_F32 && tfl_quantised(w))
		in[0] = rounded_rows(op, in[0], 1, 2, !table_byte(&op->options, 3, 0));
	if (table_byte(&op->options, 1, 0))
		tfl_cannot(op, "has weights in a shuffled format");
	struct tensor *made = tfl_set_int(tfl_node(op, "Gemm", in[2] ? 3 : 2, in), "transB", 1);
	made = tfl_activate(op, made, table_byte(&op->options, 0, 0));
	if (y->rank != 2 && y->rank > 0) {
		int64_t extents[MAX_RANK];
		memcpy(extents, y->extents, sizeof extents);
		tfl_give(op, 0, tfl_reshape_to(op, made, y->rank, extents));
	} else
		tfl_give(op, 0, made);
}

void tfl_batch_matmul(struct tfl_op *op)
{
	struct tensor *side[2];
	for (size_t i = 0; i < 2; i++) {
		int rank = tfl_in(op, i)->rank;
		int64_t order[MAX_RANK] = { 0 };
		tfl_invalid(op, rank < 2, "a factor has less than 2 dimensions");
		side[i] = tfl_real(op, tfl_in(op, i));
		for (int d = 0; d < rank; d++)
			order[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
		if (table_byte(&op->options, (int)i, 0))
			side[i] = tfl_order(op, side[i], rank, order);
		if (!i && tfl_in(op, 0)->type == DTYPE_F32 && tfl_quantised(tfl_in(op, 1)))
			side[i] = rounded_rows(op, side[i], rank - 1, rank, !table_byte(&op->options, 2, 0));
	}
	tfl_give(op, 0, tfl_two(op, "MatMul", side[0], side[1]));
}

/* ---- elementwise ---- */
static int64_t activation_of(const struct tfl_op *op)
{
	enum { ADD = 11, MUL = 21, SUB = 28, DIV = 29 };
	int kind = op->row->options;
	return kind == ADD || kind == MUL || kind == SUB || kind == DIV ? table_byte(&op->options, 0, 0) : 0;
}

static struct tensor *side(struct tfl_op *op, size_t i) { return tfl_real(op, tfl_in(op, i)); }

/* Where all inputs have been made with channels first, the output is, too. */
static bool all_first(struct tfl_op *op)
{
	bool all = tfl_out(op, 0)->rank == 4;
	for (size_t i = 0; i < op->in.count; i++) {
		struct tfl_tensor *t = tfl_in(op, i);
		all &= t->first && !memcmp(t->extents, tfl_in(op, 0)->extents, sizeof t->extents);
	}
	return all;
}

void tfl_binary(struct tfl_op *op)
{
	bool first = all_first(op);
	struct tensor *in[2];
	for (size_t i = 0; i < 2; i++)
		in[i] = first ? tfl_first(op, tfl_in(op, i), true) : side(op, i);
	struct tensor *y = tfl_activate(op, tfl_two(op, op->row->word, in[0], in[1]), activation_of(op));
	if (first)
		tfl_give_first(op, 0, y, true);
	else
		tfl_give(op, 0, y);
}

void tfl_not_equal(struct tfl_op *op)
{
	tfl_give(op, 0, tfl_one(op, "Not", tfl_two(op, "Equal", side(op, 0), side(op, 1))));
}

void tfl_squared_difference(struct tfl_op *op)
{
	struct tensor *d = tfl_two(op, "Sub", side(op, 0), side(op, 1));
	tfl_give(op, 0, tfl_two(op, "Mul", d, d));
}

void tfl_select(struct tfl_op *op)
{
	struct tfl_tensor *a = tfl_in(op, 1), *b = tfl_in(op, 2);
	int more = tfl_out(op, 0)->rank - tfl_in(op, 0)->rank;
	struct tensor *condition = side(op, 0);
	if (!strcmp(op->row->name, "SELECT") && tfl_in(op, 0)->rank == 1 && more > 0) { /* of rows */
		int64_t extents[MAX_RANK] = { -1 };
		for (int d = 1; d <= more; d++)
			extents[d] = 1;
		condition = tfl_reshape_to(op, condition, more + 1, extents);
	}
	struct tensor *in[] = { condition, tfl_real(op, a), tfl_real(op, b) };
	tfl_give(op, 0, tfl_node(op, "Where", 3, in));
}

void tfl_unary(struct tfl_op *op)
{
	if (all_first(op))
		tfl_give_first(op, 0, tfl_one(op, op->row->word, tfl_first(op, tfl_in(op, 0), true)), true);
	else
		tfl_give(op, 0, tfl_one(op, op->row->word, side(op, 0)));
}

void tfl_clip(struct tfl_op *op) { tfl_give(op, 0, tfl_activate(op, side(op, 0), atoi(op->row->word))); }

void tfl_unit(struct tfl_op *op)
{
	struct tensor *in[] = { side(op, 0), tfl_number(op, 0), tfl_number(op, 1) };
	tfl_give(op, 0, tfl_node(op, "Clip", 3, in));
}

void tfl_rsqrt(struct tfl_op *op) { tfl_give(op, 0, tfl_one(op, "Reciprocal", tfl_one(op, "Sqrt", side(op, 0)))); }
void tfl_square(struct tfl_op *op) { tfl_give(op, 0, tfl_two(op, "Mul", side(op, 0), side(op, 0))); }

void tfl_gelu(struct tfl_op *op)
{
	bool tanh = table_byte(&op->options, 0, 0);
	tfl_give(op, 0, tfl_set_text(tfl_one(op, "Gelu", side(op, 0)), "approximate", tanh ? "tanh" : "none"));
}

void tfl_leaky_relu(struct tfl_op *op)
{
	struct tensor *y = tfl_one(op, "LeakyRelu", side(op, 0));
	tfl_give(op, 0, tfl_set_float(y, "alpha", table_float(&op->options, 0, 0)));
}

void tfl_softmax(struct tfl_op *op)
{
	bool log = *op->row->word;
	float beta = log ? 1 : table_float(&op->options, 0, 0);
	struct tensor *x = side(op, 0);
	if (beta != 1)
		x = tfl_two(op, "Mul", x, tfl_number(op, beta));
	tfl_give(op, 0, tfl_set_int(tfl_one(op, log ? "LogSoftmax" : "Softmax", x), "axis", -1));
}

void tfl_requantise(struct tfl_op *op)
{
	struct tfl_tensor *x = tfl_in(op, 0), *y = tfl_out(op, 0);
	if (tfl_same(x, y))
		tfl_give_stored(op, 0, tfl_value(op, x));
	else if (x->type == DTYPE_F16 && y->type == DTYPE_F32)
		tfl_give(op, 0, tfl_set_int(tfl_one(op, "Cast", tfl_value(op, x)), "to", DTYPE_F32));
	else {
		tfl_invalid(op, !tfl_quantised(x) && !tfl_quantised(y), "neither side says how it is quantised");
		tfl_give(op, 0, tfl_real(op, x));
	}
}

void tfl_cast(struct tfl_op *op)
{
	tfl_give_stored(
	        op, 0, tfl_set_int(tfl_one(op, "Cast", tfl_value(op, tfl_in(op, 0))), "to", tfl_out(op, 0)->type));
}

void tfl_reduce(struct tfl_op *op)
{
	struct tensor *y = tfl_two(op, op->row->word, side(op, 0), tfl_int64(op, 1));
	tfl_give(op, 0, tfl_set_int(y, "keepdims", table_byte(&op->options, 0, 0) != 0));
}

void tfl_arg(struct tfl_op *op)
{
	size_t count;
	const int64_t *axis = tfl_ints(op, 1, &count);
	if (!axis || count != 1)
		tfl_cannot(op, "its axis is no constant");
	struct tensor *y = tfl_set_int(tfl_one(op, op->row->word, tfl_value(op, tfl_in(op, 0))), "axis", *axis);
	tfl_set_int(y, "keepdims", 0);
	tfl_give_stored(op, 0, tfl_set_int(tfl_one(op, "Cast", y), "to", tfl_out(op, 0)->type));
}

void tfl_resize(struct tfl_op *op)
{
	size_t count;
	const int64_t *size = tfl_ints(op, 1, &count);
	bool nearest = !strcmp(op->row->word, "nearest");
	int first = nearest ? 0 : 2;
	bool corners = table_byte(&op->options, first, 0), half = table_byte(&op->options, first + 1, 0);
	struct tfl_tensor *x = tfl_in(op, 0);
	if (!size || count != 2 || !x->known)
		tfl_cannot(op, "its size is no constant of 2 numbers, or its data is of unknown shape");
	struct tensor *in[] = { channels_first(op, 0, 0), NULL, NULL,
		tfl_list(op, 4, (int64_t[]){ x->extents[0], x->extents[3], size[0], size[1] }) };
	struct tensor *y = tfl_set_text(tfl_node(op, "Resize", 4, in), "mode", op->row->word);
	tfl_set_text(y, "coordinate_transformation_mode",
	        corners        ? "align_corners"
	                : half ? "half_pixel"
	                       : "asymmetric");
	if (nearest)
		tfl_set_text(y, "nearest_mode", corners || half ? "round_prefer_ceil" : "floor");
	give_channels_last(op, y, 0);
}
