/* onednn.c: one kernel -> one primitive of oneDNN 2.x (Debian's libdnnl-dev), the best that its library has for it.
 *
 * network.onednn names the kernel and its numbers (`kinds` below has the list); inputs and constants come in the order
 * of the ONNX model.  Weights are packed and activations are laid out as oneDNN prefers before the race; only the
 * primitive is timed, and `finish` brings the output back into the model's layout to be checked. */
#include "engine.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MOST = 10, ARGUMENTS_MOST = 16 };

struct plan {
	dnnl_primitive_t primitive, back; /* back: the output into the model's layout, or NULL */
	int count;
	dnnl_exec_arg_t arguments[ARGUMENTS_MOST], back_arguments[2];
};

struct order { /* the kernel's words, taken apart */
	char kind[16], layout[8], algorithm[16];
	int n[NUMBERS_MOST], count;
};

static dnnl_engine_t cpu;
static dnnl_stream_t stream;

static bool good(dnnl_status_t status)
{
	return status == dnnl_success || engine_fail("oneDNN status %d", (int)status);
}

/* What cannot fail here but for lack of memory or a mistake of ours ends the race. */
static void must(dnnl_status_t status, const char *what)
{
	if (status != dnnl_success) {
		fprintf(stderr, "onednn: %s: status %d\n", what, (int)status);
		exit(2);
	}
}

static dnnl_memory_desc_t shape(dnnl_format_tag_t tag, int rank, const dnnl_dims_t dims)
{
	dnnl_memory_desc_t desc;
	must(dnnl_memory_desc_init_by_tag(&desc, rank, dims, dnnl_f32, tag), "shape");
	return desc;
}
#define SHAPE(tag, ...) \
	shape(tag, sizeof(dnnl_dim_t[]){ __VA_ARGS__ } / sizeof(dnnl_dim_t), \
	        (const dnnl_dim_t[DNNL_MAX_NDIMS]){ __VA_ARGS__ })

static dnnl_memory_t memory(const dnnl_memory_desc_t *desc, void *data)
{
	dnnl_memory_t memory;
	must(dnnl_memory_create(&memory, desc, cpu, data ? data : DNNL_MEMORY_ALLOCATE), "memory");
	return memory;
}

static void add(struct plan *plan, int argument, dnnl_memory_t memory)
{
	plan->arguments[plan->count++] = (dnnl_exec_arg_t){ argument, memory };
}

static dnnl_primitive_t reorder(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to)
{
	dnnl_primitive_desc_t desc;
	dnnl_primitive_t primitive;
	must(dnnl_reorder_primitive_desc_create(&desc, from, cpu, to, cpu, NULL), "reorder");
	must(dnnl_primitive_create(&primitive, desc), "reorder");
	return primitive;
}

/* `data`, which has the layout `plain`, in the layout `wanted`: the same memory where they are equal, else a copy. */
static dnnl_memory_t arrange(const dnnl_memory_desc_t *plain, void *data, const dnnl_memory_desc_t *wanted)
{
	dnnl_memory_t from = memory(plain, data);
	if (dnnl_memory_desc_equal(plain, wanted))
		return from;
	dnnl_memory_t to = memory(wanted, NULL);
	dnnl_exec_arg_t arguments[2] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };
	must(dnnl_primitive_execute(reorder(plain, wanted), stream, 2, arguments), "arrange");
	must(dnnl_stream_wait(stream), "arrange");
	return to;
}

/* Makes `data` the output: written at once where the layouts are equal, else by `finish`. */
static void deliver(
        struct plan *plan, int argument, const dnnl_memory_desc_t *plain, void *data, const dnnl_memory_desc_t *wanted)
{
	dnnl_memory_t to = memory(plain, data), from = to;
	if (!dnnl_memory_desc_equal(plain, wanted)) {
		from = memory(wanted, NULL);
		plan->back = reorder(wanted, plain);
		plan->back_arguments[0] = (dnnl_exec_arg_t){ DNNL_ARG_FROM, from };
		plan->back_arguments[1] = (dnnl_exec_arg_t){ DNNL_ARG_TO, to };
	}
	add(plan, argument, from);
}

static bool create(
        struct plan *plan, const_dnnl_op_desc_t op, const_dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t *desc)
{
	return good(dnnl_primitive_desc_create(desc, op, attributes, cpu, NULL))
	        && good(dnnl_primitive_create(&plan->primitive, *desc));
}

static const dnnl_memory_desc_t *wants(dnnl_primitive_desc_t desc, dnnl_query_t what)
{
	return dnnl_primitive_desc_query_md(desc, what, 0);
}

static dnnl_format_tag_t picture(const struct order *order)
{
	return !strcmp(order->layout, "nhwc") ? dnnl_nhwc : dnnl_nchw;
}

static void *input(int i) { return network.inputs[i].data; }
static void *constant(int i) { return network.constants[i].data; }

/* ---- the kernels ---- */

/* matmul M N K: constant 0 is the right factor */
static bool matmul(const struct order *o, struct plan *plan, void **out)
{
	int m = o->n[0], n = o->n[1], k = o->n[2];
	dnnl_memory_desc_t a = SHAPE(dnnl_ab, m, k), c = SHAPE(dnnl_ab, m, n);
	dnnl_memory_desc_t b = SHAPE(dnnl_ab, k, n), b_any = SHAPE(dnnl_format_tag_any, k, n);
	dnnl_matmul_desc_t op;
	dnnl_primitive_desc_t desc;
	if (!good(dnnl_matmul_desc_init(&op, &a, &b_any, NULL, &c)) || !create(plan, &op, NULL, &desc))
		return false;
	add(plan, DNNL_ARG_SRC, memory(&a, input(0)));
	add(plan, DNNL_ARG_WEIGHTS, arrange(&b, constant(0), wants(desc, dnnl_query_weights_md)));
	deliver(plan, DNNL_ARG_DST, &c, out[0], &c);
	return true;
}

/* conv C H W O KERNEL STRIDE PAD GROUPS, direct or winograd: constants are weights, bias */
static bool conv(const struct order *o, struct plan *plan, void **out)
{
	int c = o->n[0], h = o->n[1], w = o->n[2], f = o->n[3], k = o->n[4], stride = o->n[5], pad = o->n[6],
	    groups = o->n[7];
	int high = (h + 2 * pad - k) / stride + 1, wide = (w + 2 * pad - k) / stride + 1;
	dnnl_format_tag_t any = dnnl_format_tag_any;
	dnnl_memory_desc_t x = SHAPE(picture(o), 1, c, h, w), y = SHAPE(picture(o), 1, f, high, wide);
	dnnl_memory_desc_t x_any = SHAPE(any, 1, c, h, w), y_any = SHAPE(any, 1, f, high, wide),
	                   bias = SHAPE(dnnl_a, f);
	dnnl_memory_desc_t v =
	        groups > 1 ? SHAPE(dnnl_goihw, groups, f / groups, c / groups, k, k) : SHAPE(dnnl_oihw, f, c, k, k);
	dnnl_memory_desc_t v_any =
	        groups > 1 ? SHAPE(any, groups, f / groups, c / groups, k, k) : SHAPE(any, f, c, k, k);
	dnnl_alg_kind_t algorithm =
	        !strcmp(o->algorithm, "winograd") ? dnnl_convolution_winograd : dnnl_convolution_direct;
	dnnl_dims_t strides = { stride, stride }, pads = { pad, pad };
	dnnl_convolution_desc_t op;
	dnnl_primitive_desc_t desc;
	if (!good(dnnl_convolution_forward_desc_init(
	            &op, dnnl_forward_inference, algorithm, &x_any, &v_any, &bias, &y_any, strides, pads, pads))
	        || !create(plan, &op, NULL, &desc))
		return false;
	add(plan, DNNL_ARG_SRC, arrange(&x, input(0), wants(desc, dnnl_query_src_md)));
	add(plan, DNNL_ARG_WEIGHTS, arrange(&v, constant(0), wants(desc, dnnl_query_weights_md)));
	add(plan, DNNL_ARG_BIAS, memory(&bias, constant(1)));
	deliver(plan, DNNL_ARG_DST, &y, out[0], wants(desc, dnnl_query_dst_md));
	return true;
}

/* maxpool C H W KERNEL STRIDE PAD */
static bool maxpool(const struct order *o, struct plan *plan, void **out)
{
	int c = o->n[0], h = o->n[1], w = o->n[2], k = o->n[3], stride = o->n[4], pad = o->n[5];
	int high = (h + 2 * pad - k) / stride + 1, wide = (w + 2 * pad - k) / stride + 1;
	dnnl_memory_desc_t x = SHAPE(picture(o), 1, c, h, w), y = SHAPE(picture(o), 1, c, high, wide);
	dnnl_memory_desc_t x_blocks = SHAPE(dnnl_nChw16c, 1, c, h, w), y_blocks = SHAPE(dnnl_nChw16c, 1, c, high, wide);
	dnnl_dims_t strides = { stride, stride }, kernel = { k, k }, low = { pad, pad };
	dnnl_dims_t past = { (high - 1) * stride + k - h - pad, (wide - 1) * stride + k - w - pad };
	dnnl_pooling_desc_t op;
	dnnl_primitive_desc_t desc;
	if (!good(dnnl_pooling_forward_desc_init(
	            &op, dnnl_forward_inference, dnnl_pooling_max, &x_blocks, &y_blocks, strides, kernel, low, past))
	        || !create(plan, &op, NULL, &desc))
		return false;
	add(plan, DNNL_ARG_SRC, arrange(&x, input(0), &x_blocks));
	deliver(plan, DNNL_ARG_DST, &y, out[0], &y_blocks);
	return true;
}

/* chain C H W: relu(x * constant 0 + constant 1 + input 1), the constants per channel */
static bool chain(const struct order *o, struct plan *plan, void **out)
{
	int c = o->n[0], h = o->n[1], w = o->n[2];
	dnnl_memory_desc_t x = SHAPE(picture(o), 1, c, h, w), each = SHAPE(dnnl_nchw, 1, c, 1, 1);
	dnnl_post_ops_t after;
	dnnl_primitive_attr_t attributes;
	dnnl_binary_desc_t op;
	dnnl_primitive_desc_t desc;
	must(dnnl_post_ops_create(&after), "post ops");
	must(dnnl_post_ops_append_binary(after, dnnl_binary_add, &each), "post ops");
	must(dnnl_post_ops_append_binary(after, dnnl_binary_add, &x), "post ops");
	must(dnnl_post_ops_append_eltwise(after, 1, dnnl_eltwise_relu, 0, 0), "post ops");
	must(dnnl_primitive_attr_create(&attributes), "attributes");
	must(dnnl_primitive_attr_set_post_ops(attributes, after), "attributes");
	if (!good(dnnl_binary_desc_init(&op, dnnl_binary_mul, &x, &each, &x)) || !create(plan, &op, attributes, &desc))
		return false;
	add(plan, DNNL_ARG_SRC_0, memory(&x, input(0)));
	add(plan, DNNL_ARG_SRC_1, memory(&each, constant(0)));
	add(plan, DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, memory(&each, constant(1)));
	add(plan, DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1, memory(&x, input(1)));
	deliver(plan, DNNL_ARG_DST, &x, out[0], &x);
	return true;
}

static void move(struct plan *plan, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to, void *out)
{
	plan->primitive = reorder(from, to);
	add(plan, DNNL_ARG_FROM, memory(from, input(0)));
	add(plan, DNNL_ARG_TO, memory(to, out));
}

/* copy COUNT */
static bool copy(const struct order *o, struct plan *plan, void **out)
{
	dnnl_memory_desc_t flat = SHAPE(dnnl_a, o->n[0]);
	move(plan, &flat, &flat, out[0]);
	return true;
}

/* transpose ROWS COLUMNS */
static bool transpose(const struct order *o, struct plan *plan, void **out)
{
	dnnl_memory_desc_t rows = SHAPE(dnnl_ab, o->n[0], o->n[1]), columns = SHAPE(dnnl_ba, o->n[0], o->n[1]);
	move(plan, &rows, &columns, out[0]);
	return true;
}

/* softmax ROWS COLUMNS */
static bool softmax(const struct order *o, struct plan *plan, void **out)
{
	dnnl_memory_desc_t x = SHAPE(dnnl_ab, o->n[0], o->n[1]);
	dnnl_softmax_desc_t op;
	dnnl_primitive_desc_t desc;
	if (!good(dnnl_softmax_forward_desc_init(&op, dnnl_forward_inference, &x, 1))
	        || !create(plan, &op, NULL, &desc))
		return false;
	add(plan, DNNL_ARG_SRC, memory(&x, input(0)));
	deliver(plan, DNNL_ARG_DST, &x, out[0], &x);
	return true;
}

/* layernorm ROWS COLUMNS: constants are scale, bias */
static bool layernorm(const struct order *o, struct plan *plan, void **out)
{
	dnnl_memory_desc_t x = SHAPE(dnnl_ab, o->n[0], o->n[1]), row = SHAPE(dnnl_a, o->n[1]);
	dnnl_layer_normalization_desc_t op;
	dnnl_primitive_desc_t desc;
	if (!good(dnnl_layer_normalization_forward_desc_init(
	            &op, dnnl_forward_inference, &x, NULL, 1e-5f, dnnl_use_scale | dnnl_use_shift))
	        || !create(plan, &op, NULL, &desc))
		return false;
	add(plan, DNNL_ARG_SRC, memory(&x, input(0)));
	add(plan, DNNL_ARG_SCALE, memory(&row, constant(0)));
	add(plan, DNNL_ARG_SHIFT, memory(&row, constant(1)));
	deliver(plan, DNNL_ARG_DST, &x, out[0], &x);
	return true;
}

/* gelu COUNT */
static bool gelu(const struct order *o, struct plan *plan, void **out)
{
	dnnl_memory_desc_t x = SHAPE(dnnl_a, o->n[0]);
	dnnl_eltwise_desc_t op;
	dnnl_primitive_desc_t desc;
	if (!good(dnnl_eltwise_forward_desc_init(&op, dnnl_forward_inference, dnnl_eltwise_gelu_erf, &x, 0, 0))
	        || !create(plan, &op, NULL, &desc))
		return false;
	add(plan, DNNL_ARG_SRC, memory(&x, input(0)));
	deliver(plan, DNNL_ARG_DST, &x, out[0], &x);
	return true;
}

/* ONNX keeps the gates as rows i o f c of [4 H, width], oneDNN as columns i f c o of [width, 4, H]. */
static float *gates(const float *rows, int width, int hidden)
{
	static const int place[4] = { 0, 3, 1, 2 };
	float *out = engine_buffer(sizeof(float) * 4 * (size_t)hidden * (size_t)width);
	for (int g = 0; g < 4; g++)
		for (int h = 0; h < hidden; h++)
			for (int i = 0; i < width; i++)
				out[(i * 4 + place[g]) * hidden + h] = rows[(g * hidden + h) * width + i];
	return out;
}

/* lstm WIDTH HIDDEN: one step; inputs x, h, c; constants W, R, B as ONNX has them; outputs h, c */
static bool lstm(const struct order *o, struct plan *plan, void **out)
{
	int width = o->n[0], hidden = o->n[1];
	dnnl_memory_desc_t x = SHAPE(dnnl_tnc, 1, 1, width), h = SHAPE(dnnl_ldnc, 1, 1, 1, hidden),
	                   y = SHAPE(dnnl_tnc, 1, 1, hidden);
	dnnl_memory_desc_t w = SHAPE(dnnl_ldigo, 1, 1, width, 4, hidden),
	                   r = SHAPE(dnnl_ldigo, 1, 1, hidden, 4, hidden);
	dnnl_memory_desc_t w_any = SHAPE(dnnl_format_tag_any, 1, 1, width, 4, hidden);
	dnnl_memory_desc_t r_any = SHAPE(dnnl_format_tag_any, 1, 1, hidden, 4, hidden),
	                   bias = SHAPE(dnnl_ldgo, 1, 1, 4, hidden);
	dnnl_rnn_desc_t op;
	dnnl_primitive_desc_t desc;
	if (!good(dnnl_lstm_forward_desc_init(&op, dnnl_forward_inference, dnnl_unidirectional_left2right, &x, &h, &h,
	            &w_any, &r_any, &bias, &y, &h, &h, dnnl_rnn_flags_undef))
	        || !create(plan, &op, NULL, &desc))
		return false;
	const float *both = constant(2);
	float *sum = engine_buffer(sizeof(float) * 4 * (size_t)hidden);
	for (int i = 0; i < 4 * hidden; i++)
		sum[i] = both[i] + both[4 * hidden + i];
	add(plan, DNNL_ARG_SRC_LAYER, memory(&x, input(0)));
	add(plan, DNNL_ARG_SRC_ITER, memory(&h, input(1)));
	add(plan, DNNL_ARG_SRC_ITER_C, memory(&h, input(2)));
	add(plan, DNNL_ARG_WEIGHTS_LAYER,
	        arrange(&w, gates(constant(0), width, hidden), wants(desc, dnnl_query_weights_md)));
	add(plan, DNNL_ARG_WEIGHTS_ITER,
	        arrange(&r, gates(constant(1), hidden, hidden),
	                dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 1)));
	add(plan, DNNL_ARG_BIAS, memory(&bias, gates(sum, 1, hidden)));
	add(plan, DNNL_ARG_DST_LAYER, memory(&y, NULL));
	add(plan, DNNL_ARG_DST_ITER, memory(&h, out[0]));
	add(plan, DNNL_ARG_DST_ITER_C, memory(&h, out[1]));
	return true;
}

static const struct {
	const char *name;
	int numbers;
	bool (*open)(const struct order *, struct plan *, void **out);
} kinds[] = {
	{ "matmul", 3, matmul },
	{ "conv", 8, conv },
	{ "maxpool", 6, maxpool },
	{ "chain", 3, chain },
	{ "copy", 1, copy },
	{ "transpose", 2, transpose },
	{ "softmax", 2, softmax },
	{ "layernorm", 2, layernorm },
	{ "gelu", 1, gelu },
	{ "lstm", 2, lstm },
};

static bool run(struct engine *engine)
{
	struct plan *plan = engine->session;
	return good(dnnl_primitive_execute(plan->primitive, stream, plan->count, plan->arguments))
	        && good(dnnl_stream_wait(stream));
}

static bool finish(struct engine *engine)
{
	struct plan *plan = engine->session;
	return !plan->back
	        || (good(dnnl_primitive_execute(plan->back, stream, 2, plan->back_arguments))
	                && good(dnnl_stream_wait(stream)));
}

bool onednn_open(struct engine *engine)
{
	if (!network.onednn)
		return engine_fail("oneDNN runs single kernels only");
	if (!cpu) {
		must(dnnl_engine_create(&cpu, dnnl_cpu, 0), "engine");
		must(dnnl_stream_create(&stream, cpu, dnnl_stream_default_flags), "stream");
	}
	struct order order = { .count = 0 };
	struct plan *plan = calloc(1, sizeof *plan);
	char words[200], *rest;
	snprintf(words, sizeof words, "%s", network.onednn);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		if (!order.kind[0])
			snprintf(order.kind, sizeof order.kind, "%.15s", word);
		else if (*word >= '0' && *word <= '9' && order.count < NUMBERS_MOST)
			order.n[order.count++] = atoi(word);
		else if (!strcmp(word, "nchw") || !strcmp(word, "nhwc"))
			snprintf(order.layout, sizeof order.layout, "%.7s", word);
		else
			snprintf(order.algorithm, sizeof order.algorithm, "%.15s", word);
	}
	engine->session = plan;
	engine->run = run;
	engine->finish = finish;
	for (size_t k = 0; plan && k < sizeof kinds / sizeof *kinds; k++)
		if (!strcmp(kinds[k].name, order.kind))
			return order.count == kinds[k].numbers
			        ? kinds[k].open(&order, plan, engine->data)
			        : engine_fail("%s needs %d numbers", order.kind, kinds[k].numbers);
	return engine_fail("oneDNN: no kernel %s", order.kind);
}
