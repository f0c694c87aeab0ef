/* kernels.c: cases -> programs: maps, copies, windows, rows, lanes, other types, each in odd extents and both layouts.
 */
#include "kernels.h"

#define A made->arena

static const struct index *var(struct made *made, int v, int64_t extent) { return index_var(A, v, extent); }
static const struct index *sum2(struct made *made, const struct index *a, int64_t f, const struct index *b, int64_t c)
{
	return index_plus(A, index_add(A, index_scale(A, a, f), b), c);
}
static const struct expr *load(struct made *made, struct definition *of, const struct index *a, const struct index *b,
        const struct index *c, const struct index *d)
{
	const struct index *at[] = { a, b, c, d };
	return expr_load(A, of, at);
}
/* An element at the same variables; dimensions of extent 1 at 0; trailing dimensions aligned. */
static const struct expr *same(struct made *made, struct definition *of, int rank)
{
	const struct index *at[MAX_RANK];
	for (int d = 0; d < of->rank; d++)
		at[d] = index_var(A, d + rank - of->rank, of->extents[d]);
	return expr_load(A, of, at);
}
static const struct expr *row1(struct made *made, enum scalar s, const struct expr *a)
{
	return expr_scalar(A, s, a, NULL, NULL);
}
static const struct expr *row2(struct made *made, enum scalar s, const struct expr *a, const struct expr *b)
{
	return expr_scalar(A, s, a, b, NULL);
}
static const struct expr *number(struct made *made, double n) { return expr_number(A, DTYPE_F32, n); }

static struct definition *input(
        struct made *made, const char *name, enum dtype type, int rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
	const int64_t extents[] = { a, b, c, d };
	return define_input(made->program, name, type, rank, extents);
}
static struct definition *map(struct made *made, const char *name, int rank, int64_t a, int64_t b, int64_t c, int64_t d,
        const struct expr *body)
{
	const int64_t extents[] = { a, b, c, d };
	return define_map(made->program, name, rank, extents, body);
}
static struct definition *reduction(struct made *made, const char *name, int rank, const int64_t *extents,
        enum reduce reduce, int reduced, const int64_t *terms, const struct expr *start, const struct expr *body)
{
	struct definition *d =
	        define_reduction(made->program, name, rank, extents, reduce, reduced, terms, start, body);
	d->order = definition_order(d);
	return d;
}
static void output(struct made *made, struct definition *d)
{
	d->port.is_output = true;
	push(A, &made->program->outputs, d);
	push(A, &made->program->output_names, d->name);
}

/* ---- maps and copies ---- */
static void make_flat(struct made *made, const int64_t *n)
{
	struct definition *x = input(made, "x", DTYPE_F32, 1, n[0], 0, 0, 0),
	                  *r = input(made, "r", DTYPE_F32, 1, n[0], 0, 0, 0);
	const struct expr *a = same(made, x, 1), *s = row2(made, SCALAR_mul, a, row1(made, SCALAR_sigmoid, a));
	output(made,
	        map(made, "y", 1, n[0], 0, 0, 0, row1(made, SCALAR_relu, row2(made, SCALAR_add, s, same(made, r, 1)))));
}
static void make_copy(struct made *made, const int64_t *n)
{
	output(made, map(made, "y", 1, n[0], 0, 0, 0, same(made, input(made, "x", DTYPE_F32, 1, n[0], 0, 0, 0), 1)));
}
static void make_gelu(struct made *made, const int64_t *n)
{
	output(made,
	        map(made, "y", 1, n[0], 0, 0, 0,
	                row1(made, SCALAR_gelu, same(made, input(made, "x", DTYPE_F32, 1, n[0], 0, 0, 0), 1))));
}
static void make_bias(struct made *made, const int64_t *n)
{
	struct definition *x = input(made, "x", DTYPE_F32, 4, n[0], n[1], n[2], n[3]),
	                  *b = input(made, "b", DTYPE_F32, 1, n[1], 0, 0, 0);
	const struct index *c = var(made, 1, n[1]);
	made->channels_last = n[4];
	output(made,
	        map(made, "y", 4, n[0], n[1], n[2], n[3],
	                row1(made, SCALAR_relu,
	                        row2(made, SCALAR_add, same(made, x, 4), load(made, b, c, NULL, NULL, NULL)))));
}
static void make_transpose(struct made *made, const int64_t *n)
{
	struct definition *x = input(made, "x", DTYPE_F32, 3, n[0], n[1], n[2], 0);
	output(made,
	        map(made, "y", 3, n[0], n[2], n[1], 0,
	                load(made, x, var(made, 0, n[0]), var(made, 2, n[1]), var(made, 1, n[2]), NULL)));
}
static void make_concat(struct made *made, const int64_t *n)
{
	struct definition *a = input(made, "a", DTYPE_F32, 4, n[0], n[1], n[3], n[3]),
	                  *b = input(made, "b", DTYPE_F32, 4, n[0], n[2], n[3], n[3]);
	int64_t c = n[1] + n[2];
	const struct index *i = var(made, 0, n[0]), *k = var(made, 1, c), *h = var(made, 2, n[3]),
	                   *w = var(made, 3, n[3]);
	struct range first = { k, 0, n[1] };
	made->channels_last = n[4];
	output(made,
	        map(made, "y", 4, n[0], c, n[3], n[3],
	                expr_select(A, &first, 1, load(made, a, i, k, h, w),
	                        row1(made, SCALAR_neg, load(made, b, i, index_plus(A, k, -n[1]), h, w)))));
}
static void make_many(struct made *made, const int64_t *n)
{
	struct definition *x = input(made, "x", DTYPE_F32, 1, n[0], 0, 0, 0);
	const struct index *i = var(made, 0, n[0] * n[1]);
	const struct expr *value = number(made, 7);
	for (int64_t k = 0; k < n[1]; k++) { /* the parts in turn, every other one backwards */
		const struct index *at = index_plus(A, i, -k * n[0]);
		if (k % 2)
			at = index_plus(A, index_scale(A, at, -1), n[0] - 1);
		struct range part = { at, 0, n[0] };
		value = expr_select(A, &part, 1, load(made, x, at, NULL, NULL, NULL), value);
	}
	output(made, map(made, "y", 1, n[0] * n[1], 0, 0, 0, value));
}
static void make_pad(struct made *made, const int64_t *n)
{
	struct definition *x = input(made, "x", DTYPE_F32, 4, 1, n[0], n[1], n[2]);
	int64_t h = n[1] + 3, w = n[2] + 3;
	const struct index *i = index_plus(A, var(made, 2, h), -2), *j = index_plus(A, var(made, 3, w), -1);
	struct range inside[] = { { i, 0, n[1] }, { j, 0, n[2] } };
	made->channels_last = n[4];
	output(made,
	        map(made, "y", 4, 1, n[0], h, w,
	                expr_select(A, inside, 2, load(made, x, var(made, 0, 1), var(made, 1, n[0]), i, j),
	                        number(made, 0.25))));
}
static void make_resize(struct made *made, const int64_t *n)
{
	struct definition *x = input(made, "x", DTYPE_F32, 4, n[0], n[1], n[2], n[2]);
	const struct index *i = index_div(A, var(made, 2, 2 * n[2]), 2), *j = index_div(A, var(made, 3, 2 * n[2]), 2);
	made->channels_last = n[4];
	output(made,
	        map(made, "y", 4, n[0], n[1], 2 * n[2], 2 * n[2],
	                load(made, x, var(made, 0, n[0]), var(made, 1, n[1]), i, j)));
}
static void make_functions(struct made *made, const int64_t *n)
{
	static const enum scalar opcodes[] = { SCALAR_exp, SCALAR_log, SCALAR_tanh, SCALAR_erf, SCALAR_gelu,
		SCALAR_sqrt, SCALAR_abs, SCALAR_neg };
	struct definition *x = input(made, "x", DTYPE_F32, 1, n[0], 0, 0, 0);
	const struct expr *sum = same(made, x, 1);
	for (size_t i = 0; i < COUNT(opcodes); i++)
		sum = row2(made, i % 2 ? SCALAR_max : SCALAR_add, row1(made, opcodes[i], same(made, x, 1)), sum);
	sum = expr_scalar(A, SCALAR_where, row2(made, SCALAR_less, same(made, x, 1), number(made, 0.5)), sum,
	        row2(made, SCALAR_div, sum, same(made, x, 1)));
	output(made, map(made, "y", 1, n[0], 0, 0, 0, sum));
}

/* A pad of which nothing is left, a tensor without elements, a sum without terms, a long chain. */
static void make_outside(struct made *made, const int64_t *n)
{
	struct definition *x = input(made, "x", DTYPE_F32, 1, n[0], 0, 0, 0);
	const struct index *i = index_plus(A, var(made, 0, n[0]), n[0]);
	struct range inside = { i, 0, n[0] };
	output(made,
	        map(made, "y", 1, n[0], 0, 0, 0,
	                expr_select(A, &inside, 1, load(made, x, i, NULL, NULL, NULL), number(made, 3))));
}
static void make_empty(struct made *made, const int64_t *n)
{
	const int64_t extents[] = { n[0] }, terms[] = { n[1] };
	input(made, "x", DTYPE_F32, 1, 3, 0, 0, 0);
	output(made, reduction(made, "y", 1, extents, REDUCE_SUM, 1, terms, number(made, 2), number(made, 1)));
}
static void make_long(struct made *made, const int64_t *n)
{
	struct definition *x = input(made, "x", DTYPE_F32, 1, n[0], 0, 0, 0);
	const struct expr *sum = same(made, x, 1);
	for (int64_t i = 0; i < n[1]; i++)
		sum = row2(made, i % 2 ? SCALAR_add : SCALAR_mul, sum, i % 3 ? same(made, x, 1) : number(made, 0.5));
	output(made, map(made, "y", 1, n[0], 0, 0, 0, sum));
}

/* ---- windows: n = channels, height, width, kernel, stride | channels last << 8, pad ---- */
struct window {
	int64_t c, h, w, k, stride, pad, oh, ow;
};
static struct window window_of(struct made *made, const int64_t *n)
{
	struct window w = { n[0], n[1], n[2], n[3], n[4] & 255, n[5], 0, 0 };
	w.oh = (w.h + 2 * w.pad - w.k) / w.stride + 1;
	w.ow = (w.w + 2 * w.pad - w.k) / w.stride + 1;
	made->channels_last = n[4] >> 8;
	return w;
}
static const struct expr *tap(struct made *made, const struct window *w, struct definition *x, double outside)
{
	const struct index *i = sum2(made, var(made, 2, w->oh), w->stride, var(made, 4, w->k), -w->pad);
	const struct index *j = sum2(made, var(made, 3, w->ow), w->stride, var(made, 5, w->k), -w->pad);
	struct range inside[] = { { i, 0, w->h }, { j, 0, w->w } };
	return expr_select(
	        A, inside, 2, load(made, x, var(made, 0, 1), var(made, 1, w->c), i, j), number(made, outside));
}
static void make_maxpool(struct made *made, const int64_t *n)
{
	struct window w = window_of(made, n);
	struct definition *x = input(made, "x", DTYPE_F32, 4, 1, w.c, w.h, w.w);
	const int64_t extents[] = { 1, w.c, w.oh, w.ow }, terms[] = { w.k, w.k };
	made->may_select = w.k > 4;
	output(made, reduction(made, "y", 4, extents, REDUCE_MAX, 2, terms, NULL, tap(made, &w, x, -1.0 / 0.0)));
}
static void make_avgpool(struct made *made, const int64_t *n)
{
	struct window w = window_of(made, n);
	struct definition *x = input(made, "x", DTYPE_F32, 4, 1, w.c, w.h, w.w);
	const int64_t extents[] = { 1, w.c, w.oh, w.ow }, terms[] = { w.k, w.k };
	struct definition *sum = reduction(made, "sum", 4, extents, REDUCE_SUM, 2, terms, NULL, tap(made, &w, x, 0));
	made->outer = 4;
	made->may_select = w.k > 4;
	output(made,
	        map(made, "y", 4, 1, w.c, w.oh, w.ow,
	                row2(made, SCALAR_mul, same(made, sum, 4), number(made, 1. / (double)(w.k * w.k)))));
}
static void make_depthwise(struct made *made, const int64_t *n)
{
	struct window w = window_of(made, n);
	struct definition *x = input(made, "x", DTYPE_F32, 4, 1, w.c, w.h, w.w),
	                  *f = input(made, "f", DTYPE_F32, 4, w.c, 1, w.k, w.k);
	struct definition *b = input(made, "b", DTYPE_F32, 1, w.c, 0, 0, 0);
	const int64_t extents[] = { 1, w.c, w.oh, w.ow }, terms[] = { w.k, w.k };
	const struct index *c = var(made, 1, w.c);
	const struct expr *weight = load(made, f, c, var(made, 0, 1), var(made, 4, w.k), var(made, 5, w.k));
	struct definition *sum = reduction(made, "sum", 4, extents, REDUCE_SUM, 2, terms,
	        load(made, b, c, NULL, NULL, NULL), row2(made, SCALAR_mul, tap(made, &w, x, 0), weight));
	made->outer = 4;
	made->may_select = w.k > 4;
	output(made, map(made, "y", 4, 1, w.c, w.oh, w.ow, row1(made, SCALAR_relu, same(made, sum, 4))));
}
static void make_conv(struct made *made, const int64_t *n)
{
	struct window w = window_of(made, n);
	struct definition *x = input(made, "x", DTYPE_F32, 4, 1, w.c, w.h, w.w),
	                  *f = input(made, "f", DTYPE_F32, 4, 5, w.c, w.k, w.k);
	const int64_t extents[] = { 1, 5, w.oh, w.ow }, terms[] = { w.k, w.k, w.c };
	const struct index *i = sum2(made, var(made, 2, w.oh), w.stride, var(made, 4, w.k), -w.pad);
	const struct index *j = sum2(made, var(made, 3, w.ow), w.stride, var(made, 5, w.k), -w.pad);
	const struct index *c = var(made, 6, w.c);
	struct range inside[] = { { i, 0, w.h }, { j, 0, w.w } };
	const struct expr *a = expr_select(A, inside, 2, load(made, x, var(made, 0, 1), c, i, j), number(made, 0));
	made->may_select = true;
	output(made,
	        reduction(made, "y", 4, extents, REDUCE_SUM, 3, terms, NULL,
	                row2(made, SCALAR_mul, a,
	                        load(made, f, var(made, 1, 5), c, var(made, 4, w.k), var(made, 5, w.k)))));
}
static void make_global(struct made *made, const int64_t *n)
{
	struct definition *x = input(made, "x", DTYPE_F32, 4, n[0], n[1], n[2], n[3]);
	const int64_t extents[] = { n[0], n[1], 1, 1 }, terms[] = { n[2], n[3] };
	struct definition *sum = reduction(made, "sum", 4, extents, n[5] ? REDUCE_MAX : REDUCE_SUM, 2, terms, NULL,
	        load(made, x, var(made, 0, n[0]), var(made, 1, n[1]), var(made, 4, n[2]), var(made, 5, n[3])));
	made->channels_last = n[4];
	made->outer = 2;
	output(made,
	        map(made, "y", 4, n[0], n[1], 1, 1,
	                row2(made, SCALAR_mul, same(made, sum, 4), number(made, 1. / (double)(n[2] * n[3])))));
}

/* ---- rows ---- */
static void make_softmax(struct made *made, const int64_t *n)
{
	struct definition *x = input(made, "x", DTYPE_F32, 3, n[0], n[1], n[2], 0);
	const int64_t row[] = { n[0], 1, n[2] }, terms[] = { n[1] };
	const struct index *i = var(made, 0, n[0]), *t = var(made, 3, n[1]), *k = var(made, 2, n[2]);
	struct definition *largest =
	        reduction(made, "max", 3, row, REDUCE_MAX, 1, terms, NULL, load(made, x, i, t, k, NULL));
	struct definition *power = map(made, "exp", 3, n[0], n[1], n[2], 0,
	        row1(made, SCALAR_exp_below, row2(made, SCALAR_sub, same(made, x, 3), same(made, largest, 3))));
	struct definition *sum =
	        reduction(made, "sum", 3, row, REDUCE_SUM, 1, terms, NULL, load(made, power, i, t, k, NULL));
	struct definition *scale =
	        map(made, "scale", 3, n[0], 1, n[2], 0, row2(made, SCALAR_div, number(made, 1), same(made, sum, 3)));
	made->outer = 1;
	output(made,
	        map(made, "y", 3, n[0], n[1], n[2], 0,
	                row2(made, SCALAR_mul, same(made, power, 3), same(made, scale, 3))));
}
static void make_norm(struct made *made, const int64_t *n)
{
	struct definition *x = input(made, "x", DTYPE_F32, 2, n[0], n[1], 0, 0),
	                  *g = input(made, "g", DTYPE_F32, 1, n[1], 0, 0, 0);
	struct definition *s = input(made, "s", DTYPE_F32, 1, n[1], 0, 0, 0);
	const int64_t row[] = { n[0], 1 }, terms[] = { n[1] };
	const struct index *i = var(made, 0, n[0]), *t = var(made, 2, n[1]);
	const struct expr *each = number(made, 1. / (double)n[1]);
	struct definition *sum =
	        reduction(made, "sum", 2, row, REDUCE_SUM, 1, terms, NULL, load(made, x, i, t, NULL, NULL));
	struct definition *mean = map(made, "mean", 2, n[0], 1, 0, 0, row2(made, SCALAR_mul, same(made, sum, 2), each));
	struct definition *centred = map(
	        made, "centred", 2, n[0], n[1], 0, 0, row2(made, SCALAR_sub, same(made, x, 2), same(made, mean, 2)));
	const struct expr *d = load(made, centred, i, t, NULL, NULL);
	struct definition *squares =
	        reduction(made, "squares", 2, row, REDUCE_SUM, 1, terms, NULL, row2(made, SCALAR_mul, d, d));
	struct definition *inverse = map(made, "inverse", 2, n[0], 1, 0, 0,
	        row2(made, SCALAR_div, number(made, 1),
	                row1(made, SCALAR_sqrt,
	                        expr_scalar(A, SCALAR_fma, same(made, squares, 2), each, number(made, 1e-5f)))));
	made->outer = 1;
	output(made,
	        map(made, "y", 2, n[0], n[1], 0, 0,
	                expr_scalar(A, SCALAR_fma,
	                        row2(made, SCALAR_mul, same(made, centred, 2), same(made, inverse, 2)),
	                        same(made, g, 2), same(made, s, 2))));
}
static void make_dense(struct made *made, const int64_t *n)
{
	struct definition *x = input(made, "x", DTYPE_F32, 1, n[1], 0, 0, 0),
	                  *b = input(made, "b", DTYPE_F32, 1, n[0], 0, 0, 0);
	struct definition *w = n[2] ? input(made, "w", DTYPE_F32, 2, n[1], n[0], 0, 0)
	                            : input(made, "w", DTYPE_F32, 2, n[0], n[1], 0, 0);
	const int64_t extents[] = { n[0] }, terms[] = { n[1] };
	const struct index *o = var(made, 0, n[0]), *k = var(made, 1, n[1]);
	output(made,
	        reduction(made, "y", 1, extents, REDUCE_SUM, 1, terms, load(made, b, o, NULL, NULL, NULL),
	                row2(made, SCALAR_mul, load(made, x, k, NULL, NULL, NULL),
	                        n[2] ? load(made, w, k, o, NULL, NULL) : load(made, w, o, k, NULL, NULL))));
}
static void make_reduce(struct made *made, const int64_t *n)
{
	struct definition *x = input(made, "x", (enum dtype)n[2], 2, n[0], n[1], 0, 0);
	const int64_t extents[] = { n[0] }, terms[] = { n[1] };
	const struct expr *body = load(made, x, var(made, 0, n[0]), var(made, 1, n[1]), NULL, NULL);
	output(made,
	        reduction(made, "y", 1, extents, (enum reduce)n[3], 1, terms, NULL,
	                n[4] ? row2(made, SCALAR_mul, body, body) : body));
}
static void make_lstm(struct made *made, const int64_t *n)
{
	struct definition *gates = input(made, "gates", DTYPE_F32, 2, 4, n[0], 0, 0),
	                  *c = input(made, "c", DTYPE_F32, 1, n[0], 0, 0, 0);
	const struct expr *g[4];
	for (int i = 0; i < 4; i++)
		g[i] = row1(made, i == 2 ? SCALAR_tanh : SCALAR_sigmoid,
		        load(made, gates, index_constant(A, i), var(made, 0, n[0]), NULL, NULL));
	struct definition *cell = map(made, "cell", 1, n[0], 0, 0, 0,
	        row2(made, SCALAR_add, row2(made, SCALAR_mul, g[1], same(made, c, 1)),
	                row2(made, SCALAR_mul, g[0], g[2])));
	output(made, cell);
	output(made,
	        map(made, "h", 1, n[0], 0, 0, 0,
	                row2(made, SCALAR_mul, g[3], row1(made, SCALAR_tanh, same(made, cell, 1)))));
}

/* ---- other types ---- */
static void make_types(struct made *made, const int64_t *n)
{
	enum dtype type = (enum dtype)n[1];
	struct definition *x = input(made, "x", type, 1, n[0], 0, 0, 0), *y = input(made, "y", type, 1, n[0], 0, 0, 0);
	const struct expr *a = same(made, x, 1), *b = same(made, y, 1);
	const struct expr *value = row2(made, SCALAR_max,
	        row2(made, SCALAR_add, row2(made, SCALAR_mul, a, b), row2(made, SCALAR_div, a, b)),
	        row2(made, SCALAR_sub, row1(made, SCALAR_neg, a), row1(made, SCALAR_abs, b)));
	output(made, map(made, "z", 1, n[0], 0, 0, 0, value));
	output(made, map(made, "less", 1, n[0], 0, 0, 0, expr_cast(A, DTYPE_BOOL, row2(made, SCALAR_less, a, b))));
	output(made,
	        map(made, "real", 1, n[0], 0, 0, 0,
	                row2(made, SCALAR_mul, expr_cast(A, DTYPE_F32, a), number(made, 0.1f))));
	output(made, map(made, "small", 1, n[0], 0, 0, 0, expr_cast(A, DTYPE_I8, expr_cast(A, DTYPE_F32, b))));
}
static void make_gather(struct made *made, const int64_t *n)
{
	struct definition *x = input(made, "x", DTYPE_F32, 2, n[0], n[1], 0, 0),
	                  *i = input(made, "i", DTYPE_I64, 1, n[2], 0, 0, 0);
	const struct expr *value = load(made, i, var(made, 0, n[2]), NULL, NULL, NULL);
	value = row2(made, SCALAR_max, row2(made, SCALAR_min, value, expr_integer(A, DTYPE_I64, n[0] - 1)),
	        expr_integer(A, DTYPE_I64, 0));
	const struct expr *taken = load(made, x, index_value(A, value, 0, n[0] - 1), var(made, 1, n[1]), NULL, NULL);
	output(made,
	        map(made, "y", 2, n[2], n[1], 0, 0,
	                row2(made, SCALAR_add, taken, expr_cast(A, DTYPE_F32, expr_index(A, var(made, 1, n[1]))))));
}

/* ---- by chance ---- */
static uint64_t chance(struct made *made, uint64_t below)
{
	uint64_t z = made->seed += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % below;
}
static int64_t some_extent(struct made *made)
{
	static const int64_t extents[] = { 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 18, 31, 33 };
	return extents[chance(made, COUNT(extents))];
}

/* A load of a tensor (a new input where `of` is NULL) over the variables: each dim a variable, permuted, shifted,
 * strided or backwards, two in one, a quotient, or a constant; sometimes clipped by a select. */
static const struct expr *some_load(
        struct made *made, struct definition *of, int vars, const int64_t *extents, int number_of)
{
	const struct index *at[4];
	struct range inside[4];
	int64_t dims[4];
	int rank = of ? of->rank : 1 + (int)chance(made, 4), clipped = 0;
	for (int d = 0; d < rank; d++) {
		int v = (int)chance(made, (uint64_t)vars);
		int64_t low, high;
		const struct index *x = var(made, v, extents[v]);
		switch (chance(made, 9)) {
		case 0: x = index_constant(A, (int64_t)chance(made, 3)); break;
		case 1: x = index_plus(A, index_scale(A, x, 2), 1); break;
		case 2: x = index_plus(A, index_scale(A, x, -1), extents[v] - 1); break;
		case 3: x = index_add(A, x, var(made, (v + 1) % vars, extents[(v + 1) % vars])); break;
		case 4: x = index_div(A, x, 2); break;
		default: break;
		}
		index_range(x, &low, &high);
		int64_t extent = of ? of->extents[d] : high + 1, shift = 0;
		if (!of && chance(made, 4) == 0)
			shift = -(int64_t)chance(made, 3),
			extent = extent - (int64_t)chance(made, 3) + shift > 1 ? extent + shift : extent;
		x = index_plus(A, x, shift);
		index_range(x, &low, &high);
		if (low < 0 || high >= extent)
			inside[clipped++] = (struct range){ x, 0, extent };
		at[d] = x;
		dims[d] = extent;
	}
	if (!of) {
		static const char *const names[] = { "p", "q", "o", "h" };
		of = define_input(made->program, names[number_of % 4], DTYPE_F32, rank, dims);
	}
	const struct expr *loaded = expr_load(A, of, at);
	return clipped ? expr_select(A, inside, clipped, loaded, number(made, (double)chance(made, 3) - 1)) : loaded;
}

static const struct expr *some_value(struct made *made, const struct expr *const *loads, int count, int depth)
{
	static const enum scalar ones[] = { SCALAR_relu, SCALAR_neg, SCALAR_abs, SCALAR_exp, SCALAR_sigmoid };
	static const enum scalar twos[] = { SCALAR_add, SCALAR_mul, SCALAR_sub, SCALAR_max, SCALAR_less };
	if (!depth || chance(made, 4) == 0)
		return chance(made, 6) ? loads[chance(made, (uint64_t)count)]
		                       : number(made, (double)chance(made, 5) * 0.25);
	if (chance(made, 3) == 0)
		return row1(made, ones[chance(made, COUNT(ones))], some_value(made, loads, count, depth - 1));
	const struct expr *a = some_value(made, loads, count, depth - 1);
	return row2(made, twos[chance(made, COUNT(twos))], a, some_value(made, loads, count, depth - 1));
}

void make_random(struct made *made, const int64_t *seed)
{
	static const enum reduce reduces[] = { REDUCE_NONE, REDUCE_NONE, REDUCE_SUM, REDUCE_SUM, REDUCE_MAX,
		REDUCE_MIN };
	made->seed = (uint64_t)seed[0];
	int64_t extents[8], terms[3];
	int rank = 1 + (int)chance(made, 4), members = 1 + (int)chance(made, 3);
	struct definition *last = NULL;
	made->shuffled = true;
	made->may_select = true;
	made->outer = members > 1 ? (int)chance(made, (uint64_t)rank + 1) : 0;
	for (int v = 0; v < rank; v++)
		extents[v] = some_extent(made);
	for (int m = 0; m < members; m++) {
		/* members share the first `outer` variables; the others are their own */
		for (int v = made->outer; v < rank; v++)
			extents[v] = some_extent(made);
		enum reduce reduce = reduces[chance(made, COUNT(reduces))];
		int reduced = reduce == REDUCE_NONE ? 0 : 1 + (int)chance(made, 2), vars = rank + reduced;
		for (int r = 0; r < reduced; r++)
			extents[rank + r] = terms[r] =
			        r == 0 && chance(made, 3) == 0 ? 62 + (int64_t)chance(made, 80) : some_extent(made);
		const struct expr *loads[3];
		int count = 1 + (int)chance(made, 2);
		for (int i = 0; i < count; i++)
			loads[i] = some_load(made, NULL, vars, extents, m * 2 + i);
		if (last && made->program->inputs.count < 5) {
			/* of the member before, at the same outer variables; inside, anywhere */
			const struct index *at[4];
			for (int d = 0; d < rank; d++) {
				int v = d < made->outer ? d : (int)chance(made, (uint64_t)vars);
				at[d] = d >= made->outer && extents[v] > last->extents[d]
				        ? index_mod(A, var(made, v, extents[v]), last->extents[d])
				        : var(made, v, extents[v]);
			}
			loads[count++] = expr_load(A, last, at);
		}
		const struct expr *value = some_value(made, loads, count, 3);
		const struct expr *start = NULL;
		const char *name = m == 0 ? "d0" : m == 1 ? "d1" : "d2";
		if (reduce == REDUCE_SUM && chance(made, 2))
			value = row2(made, SCALAR_mul, value, loads[0]);
		if (reduce == REDUCE_SUM && chance(made, 3) == 0)
			start = number(made, 0.5);
		if (value->kind != EXPR_SELECT && value->kind != EXPR_SCALAR && value->kind != EXPR_LOAD)
			value = row2(made, SCALAR_add, value, loads[count - 1]);
		last = reduce == REDUCE_NONE
		        ? define_map(made->program, name, rank, extents, value)
		        : reduction(made, name, rank, extents, reduce, reduced, terms, start, value);
		if (m == members - 1 || chance(made, 3) == 0 || made->program->inputs.count >= 5)
			output(made, last);
	}
}

#define LAST 256
const struct kernel_case kernel_cases[] = {
	{ "flat1", make_flat, { 1 } },
	{ "flat7", make_flat, { 7 } },
	{ "flat15", make_flat, { 15 } },
	{ "flat17", make_flat, { 17 } },
	{ "flat63", make_flat, { 63 } },
	{ "flat64", make_flat, { 64 } },
	{ "flat129", make_flat, { 129 } },
	{ "flat10007", make_flat, { 10007 } },
	{ "flat16384", make_flat, { 16384 } },
	{ "bias_nchw", make_bias, { 2, 5, 7, 9 } },
	{ "bias_nhwc", make_bias, { 2, 19, 7, 9, 1 } },
	{ "bias_big", make_bias, { 2, 33, 17, 31, 1 } },
	{ "copy", make_copy, { 1000 } },
	{ "gelu", make_gelu, { 100 } },
	{ "transpose", make_transpose, { 2, 17, 33 } },
	{ "transpose_big", make_transpose, { 3, 65, 63 } },
	{ "transpose_squares", make_transpose, { 2, 48, 96 } },
	{ "concat", make_concat, { 2, 5, 9, 7 } },
	{ "concat_last", make_concat, { 1, 17, 16, 15, 1 } },
	{ "concat_many", make_concat, { 3, 40, 24, 9 } },
	{ "many", make_many, { 17, 60 } },
	{ "pad", make_pad, { 3, 15, 17 } },
	{ "pad_last", make_pad, { 20, 9, 7, 0, 1 } },
	{ "resize", make_resize, { 1, 3, 17 } },
	{ "resize_last", make_resize, { 2, 17, 5, 0, 1 } },
	{ "outside", make_outside, { 19 } },
	{ "no_terms", make_empty, { 19, 0 } },
	{ "no_elements", make_empty, { 0, 5 } },
	{ "long", make_long, { 33, 2000 } },
	{ "functions", make_functions, { 65 } },
	{ "maxpool", make_maxpool, { 3, 15, 17, 3, 2, 1 } },
	{ "maxpool_last", make_maxpool, { 20, 15, 17, 3, 2 | LAST, 1 } },
	{ "maxpool_small", make_maxpool, { 8, 3, 5, 2, 2 | LAST, 1 } },
	{ "maxpool_plain", make_maxpool, { 16, 16, 16, 2, 2 | LAST, 0 } },
	{ "maxpool_wide", make_maxpool, { 17, 15, 13, 5, 1 | LAST, 2 } },
	{ "maxpool_wide_nchw", make_maxpool, { 2, 15, 33, 5, 1, 2 } },
	{ "maxpool_one", make_maxpool, { 3, 8, 17, 3, 1, 1 } },
	{ "avgpool", make_avgpool, { 64, 9, 7, 3, 1 | LAST, 0 } },
	{ "avgpool_pad", make_avgpool, { 7, 9, 17, 3, 1, 1 } },
	{ "avgpool_7", make_avgpool, { 17, 15, 14, 7, 7 | LAST, 0 } },
	{ "avgpool_8", make_avgpool, { 17, 16, 17, 8, 8 | LAST, 0 } },
	{ "depthwise", make_depthwise, { 32, 12, 21, 3, 1 | LAST, 1 } },
	{ "depthwise_2", make_depthwise, { 17, 13, 15, 3, 2 | LAST, 1 } },
	{ "depthwise_5", make_depthwise, { 33, 11, 13, 5, 1 | LAST, 2 } },
	{ "depthwise_nchw", make_depthwise, { 3, 12, 37, 3, 1, 1 } },
	{ "depthwise_tiny", make_depthwise, { 64, 5, 3, 3, 1 | LAST, 1 } },
	{ "conv", make_conv, { 3, 9, 17, 3, 1, 1 } },
	{ "conv_last", make_conv, { 5, 9, 9, 3, 2 | LAST, 1 } },
	{ "global_7", make_global, { 1, 17, 7, 7 } },
	{ "global_8", make_global, { 2, 5, 8, 9 } },
	{ "global_last_7", make_global, { 1, 33, 7, 7, 1 } },
	{ "global_last_25", make_global, { 1, 64, 25, 5, 1 } },
	{ "global_last_8", make_global, { 2, 17, 8, 8, 1 } },
	{ "global_max", make_global, { 1, 7, 13, 11, 0, 1 } },
	{ "global_max_last", make_global, { 1, 19, 13, 11, 1, 1 } },
	{ "softmax_1", make_softmax, { 3, 1, 1 } },
	{ "softmax_7", make_softmax, { 3, 7, 1 } },
	{ "softmax_63", make_softmax, { 3, 63, 1 } },
	{ "softmax_64", make_softmax, { 3, 64, 1 } },
	{ "softmax_65", make_softmax, { 5, 65, 1 } },
	{ "softmax_129", make_softmax, { 3, 129, 1 } },
	{ "softmax_1000", make_softmax, { 3, 1000, 1 } },
	{ "softmax_row", make_softmax, { 1, 129, 1 } },
	{ "softmax_rows_8", make_softmax, { 16, 48, 1 } },
	{ "softmax_rows_4", make_softmax, { 8, 100, 1 } },
	{ "softmax_middle", make_softmax, { 2, 10, 17 } },
	{ "softmax_middle_100", make_softmax, { 2, 100, 17 } },
	{ "norm_7", make_norm, { 3, 7 } },
	{ "norm_64", make_norm, { 3, 64 } },
	{ "norm_129", make_norm, { 5, 129 } },
	{ "norm_768", make_norm, { 7, 768 } },
	{ "dense_64", make_dense, { 10, 64 } },
	{ "dense_129", make_dense, { 7, 129 } },
	{ "dense_640", make_dense, { 1, 640 } },
	{ "dense_across", make_dense, { 17, 100, 1 } },
	{ "dense_chain", make_dense, { 33, 63 } },
	{ "sum_63", make_reduce, { 5, 63, DTYPE_F32, REDUCE_SUM } },
	{ "sum_rows", make_reduce, { 129, 65, DTYPE_F32, REDUCE_SUM } },
	{ "squares", make_reduce, { 9, 200, DTYPE_F32, REDUCE_SUM, 1 } },
	{ "largest", make_reduce, { 5, 129, DTYPE_F32, REDUCE_MAX } },
	{ "smallest", make_reduce, { 5, 129, DTYPE_F32, REDUCE_MIN } },
	{ "product", make_reduce, { 5, 70, DTYPE_F32, REDUCE_PROD } },
	{ "sum_i64", make_reduce, { 5, 70, DTYPE_I64, REDUCE_SUM, 1 } },
	{ "max_i32", make_reduce, { 5, 70, DTYPE_I32, REDUCE_MAX } },
	{ "min_u8", make_reduce, { 5, 70, DTYPE_U8, REDUCE_MIN } },
	{ "sum_f64", make_reduce, { 5, 70, DTYPE_F64, REDUCE_SUM, 1 } },
	{ "lstm", make_lstm, { 65 } },
	{ "lstm_128", make_lstm, { 128 } },
	{ "types_i64", make_types, { 33, DTYPE_I64 } },
	{ "types_i32", make_types, { 33, DTYPE_I32 } },
	{ "types_i8", make_types, { 33, DTYPE_I8 } },
	{ "types_u8", make_types, { 33, DTYPE_U8 } },
	{ "types_f64", make_types, { 33, DTYPE_F64 } },
	{ "gather", make_gather, { 9, 17, 5 } },
};
const int kernel_case_count = (int)COUNT(kernel_cases);

struct kernel *kernel_of(struct made *made, const char *name)
{
	struct kernel *kernel = arena_new(A, struct kernel);
	const struct program *program = made->program = program_copy(made->program, sizeof(struct scheduled));
	kernel->name = name;
	kernel->shape = SHAPE_LOOPS;
	kernel->outer = made->outer;
	for (size_t i = 0; i < program->all.count; i++) {
		struct definition *d = program->all.at[i];
		bool computed = d->source == SOURCE_COMPUTED;
		scheduled(d)->mode = !computed || d->port.is_output ? MODE_HOSTED : MODE_LOCAL;
		/* n h w c: the channels' stride is 1, the others' grow from the last */
		int64_t step = 1;
		bool last = made->channels_last && d->rank == 4 && strcmp(d->name, "f");
		if (last) {
			scheduled(d)->stride[1] = 1;
			step = d->extents[1];
		}
		for (int v = d->rank - 1; v >= 0; v--) {
			if (last && v == 1)
				continue;
			scheduled(d)->stride[v] = step;
			step *= d->extents[v];
		}
		if (made->shuffled) {
			int order[4] = { 0, 1, 2, 3 };
			step = 1;
			for (int v = d->rank - 1; v > 0 && chance(made, 2); v--) {
				int other = (int)chance(made, (uint64_t)v + 1), kept = order[v];
				order[v] = order[other];
				order[other] = kept;
			}
			for (int v = d->rank - 1; v >= 0; step *= d->extents[order[v]], v--)
				scheduled(d)->stride[order[v]] = step;
		}
		/* the filter of a depthwise convolution likewise: kh kw c */
		if (made->channels_last && !strcmp(d->name, "f")) {
			scheduled(d)->stride[0] = 1, scheduled(d)->stride[1] = d->extents[0];
			scheduled(d)->stride[3] = d->extents[0] * d->extents[1];
			scheduled(d)->stride[2] = scheduled(d)->stride[3] * d->extents[3];
		}
		if (computed) {
			push(A, &kernel->members, d);
			kernel->root = kernel->root ? kernel->root : d;
		}
		if (scheduled(d)->mode != MODE_LOCAL)
			kernel_add_param(A, kernel, d, computed);
	}
	return kernel;
}
