/* winograd.c: one definition -> six.  A 3x3 convolution of stride 1 becomes Winograd's F(m x m, 3x3), m = 2 or 4:
 * transforms of m + 2 points, a sum of products for each pair of points, and a transform back.
 *
 *     u  f32[p, p, o, c]            the filters: constants are transformed in double, those that come at run time in
 *        float
 *     t  f32[n, c, ty, p, x]        columns of the tiles forward: p points from m + 2 rows of x with its zeros around
 *     v  f32[n, c, ty, tx, p, p]    rows forward
 *     s  f32[n, o, ty, tx, p, p]    = sum(c from +0) v[n, c, ty, tx, i, j] * u[i, j, o, c]
 *     b  f32[n, o, ty, tx, m, p]    columns back
 *     y  f32[n, o, h, w]            rows back, and what the sum of the convolution starts from
 *
 * The points are 0, 1, -1, infinity, or 0, p1, -p1, p2, -p2, infinity with p1 = 5/8 and p2 = 3/2, whose squares and
 * products are floats.  templates/common/winograd.jinja computes these very roundings; templates and definitions change
 * together. */
#include "definitions/definitions.h"
#include "definitions/winograd.h"
#include <math.h>

struct winograd {
	struct program *program;
	struct arena *arena;
	const struct expr *x, *w; /* the loads of the convolution */
	struct definition *conv;
	int64_t pad_top, pad_left, channels, tiles_y, tiles_x, m, n;
};

/* ---- does it fit? ---- */
static bool is_zero(const struct expr *e) { return e->kind == EXPR_NUMBER && e->number == 0 && !signbit(e->number); }

static bool is_pad(const struct winograd *w, const struct range *range)
{
	for (int d = 2; d < 4; d++)
		if (index_equal(range->at, w->x->at[d]) && range->from <= 0 && range->to >= w->x->of->extents[d])
			return true;
	return false;
}

/* The index is plus(i + k, -pad), 0 <= pad <= 2. */
static bool slides(const struct winograd *w, int d, int64_t *pad)
{
	const struct definition *conv = w->conv;
	const struct index *i = index_var(w->arena, d, conv->extents[d]),
	                   *k = index_var(w->arena, conv->rank + d - 2, 3);
	*pad = -w->x->at[d]->constant;
	return *pad >= 0 && *pad <= 2
	        && index_equal(w->x->at[d], index_plus(w->arena, index_add(w->arena, i, k), -*pad));
}

static bool is_variable(const struct winograd *w, const struct index *at, int var, int64_t extent)
{
	return index_equal(at, index_var(w->arena, var, extent));
}

static bool match(struct winograd *w)
{
	const struct definition *conv = w->conv;
	if (conv->source != SOURCE_COMPUTED || conv->type != DTYPE_F32 || !conv->sum.products
	        || conv->order != ORDER_SERIAL || conv->rank != 4 || conv->reduced != 3 || conv->reduced_extents[0] != 3
	        || conv->reduced_extents[1] != 3 || definition_elements(conv) == 0)
		return false;
	const struct expr *data = conv->body->arg[0];
	bool select = data->kind == EXPR_SELECT;
	w->x = select ? data->arg[0] : data;
	w->w = conv->body->arg[1];
	if (w->x->kind != EXPR_LOAD || w->x->of->rank != 4 || w->w->kind != EXPR_LOAD || w->w->of->rank != 4
	        || w->w->of->type != DTYPE_F32 || w->x->type != DTYPE_F32
	        || (w->w->of->source == SOURCE_CONSTANT && !w->w->of->data))
		return false;
	for (int i = 0; select && i < data->range_count; i++)
		if (!is_zero(data->arg[1]) || !is_pad(w, &data->ranges[i]))
			return false;
	w->channels = conv->reduced_extents[2];
	return slides(w, 2, &w->pad_top) && slides(w, 3, &w->pad_left)
	        && is_variable(w, w->x->at[0], 0, conv->extents[0]) && is_variable(w, w->x->at[1], 6, w->channels)
	        && w->x->of->extents[1] == w->channels && is_variable(w, w->w->at[0], 1, conv->extents[1])
	        && is_variable(w, w->w->at[1], 6, w->channels) && is_variable(w, w->w->at[2], 4, 3)
	        && is_variable(w, w->w->at[3], 5, 3);
}

/* ---- building ---- */
static const struct expr *number(const struct winograd *w, double value)
{
	return expr_number(w->arena, DTYPE_F32, value);
}

static const struct expr *add(const struct winograd *w, const struct expr *a, const struct expr *b)
{
	return expr_scalar(w->arena, SCALAR_add, a, b, NULL);
}

static const struct expr *sub(const struct winograd *w, const struct expr *a, const struct expr *b)
{
	return expr_scalar(w->arena, SCALAR_sub, a, b, NULL);
}

static const struct expr *mul(const struct winograd *w, double a, const struct expr *b)
{
	return expr_scalar(w->arena, SCALAR_mul, number(w, a), b, NULL);
}

static const struct expr *fma_of(const struct winograd *w, double a, const struct expr *b, const struct expr *c)
{
	return expr_scalar(w->arena, SCALAR_fma, number(w, a), b, c);
}

static const double P1 = 0.625, P2 = 1.5, S1 = 0.390625, S2 = 2.25, SUM = 2.640625, PRODUCT = 0.87890625,
                    Q1 = 0.244140625, Q2 = 3.375;

/* m + 2 values forward: point `i` of d[0 … m+1]. */
static const struct expr *forward(const struct winograd *w, int i, const struct expr *const *d)
{
	if (w->m == 2)
		return i == 0    ? sub(w, d[2], d[0])
		        : i == 1 ? add(w, d[1], d[2])
		        : i == 2 ? sub(w, d[2], d[1])
		                 : sub(w, d[3], d[1]);
	if (i == 0 || i == 5)
		return fma_of(w, PRODUCT, d[i == 5], fma_of(w, -SUM, d[2 + (i == 5)], d[4 + (i == 5)]));
	double s = i < 3 ? S2 : S1, p = i < 3 ? P1 : P2;
	const struct expr *even = fma_of(w, -s, d[2], d[4]), *odd = fma_of(w, -s, d[1], d[3]);
	return fma_of(w, i == 1 || i == 3 ? p : -p, odd, even);
}

/* Output `r` of the points d[0 … m+1] back; the second time with what the sum starts from, first NULL. */
static const struct expr *back(const struct winograd *w, int r, const struct expr *const *d, const struct expr *start)
{
	const struct expr *first = d[0], *last = d[w->n - 1];
	if (start)
		first = add(w, first, start), last = add(w, last, start);
	if (w->m == 2)
		return r == 0   ? add(w, add(w, first, d[1]), d[2])
		        : start ? sub(w, add(w, last, d[1]), d[2])
		                : add(w, sub(w, d[1], d[2]), last);
	const struct expr *e = add(w, d[1], d[2]), *f = sub(w, d[1], d[2]), *g = add(w, d[3], d[4]),
	                  *h = sub(w, d[3], d[4]);
	if (r == 0)
		return add(w, add(w, first, e), g);
	if (r == 1)
		return fma_of(w, P2, h, start ? fma_of(w, P1, f, start) : mul(w, P1, f));
	if (r == 2)
		return fma_of(w, S2, g, start ? fma_of(w, S1, e, start) : mul(w, S1, e));
	return fma_of(w, Q2, h, fma_of(w, Q1, f, last));
}

/* of[0] where at is 0, of[1] where it is 1 … */
static const struct expr *one_of(
        const struct winograd *w, const struct index *at, const struct expr *const *of, int count)
{
	const struct expr *result = of[count - 1];
	for (int i = count - 1; i-- > 0;) {
		struct range *range = arena_new(w->arena, struct range);
		*range = (struct range){ at, i, i + 1 };
		result = expr_select(w->arena, range, 1, of[i], result);
	}
	return result;
}

static const struct expr *forwards(const struct winograd *w, const struct index *at, const struct expr *const *d)
{
	const struct expr *of[6];
	FOR (i, w->n)
		of[i] = forward(w, i, d);
	return one_of(w, at, of, (int)w->n);
}

static const struct expr *backs(
        const struct winograd *w, const struct index *at, const struct expr *const *d, const struct expr *start)
{
	const struct expr *of[4];
	FOR (r, w->m)
		of[r] = back(w, r, d, start);
	return one_of(w, at, of, (int)w->m);
}

static struct definition *define(
        const struct winograd *w, const char *what, int rank, const int64_t *extents, const struct expr *body)
{
	return define_map(w->program, arena_printf(w->arena, "%s.%s", w->conv->name, what), rank, extents, body);
}

/* Three values forward: point `i` of d[0 … 2], but for its scale. */
static const struct expr *filter_point(const struct winograd *w, int i, const struct expr *const *d)
{
	if (i == 0 || i == w->n - 1)
		return d[i ? 2 : 0];
	if (w->m == 2)
		return (i == 1 ? add : sub)(w, add(w, d[0], d[2]), d[1]);
	double s = i < 3 ? S1 : S2, p = i < 3 ? P1 : P2;
	return fma_of(w, i == 1 || i == 3 ? p : -p, d[1], fma_of(w, s, d[2], d[0]));
}

static const struct expr *filter_points(const struct winograd *w, const struct index *at, const struct expr *const *d)
{
	const struct expr *of[6];
	FOR (i, w->n)
		of[i] = filter_point(w, i, d);
	return one_of(w, at, of, (int)w->n);
}

/* Filters that come at run time: columns, rows, and one factor for each pair of points. */
static struct definition *define_run_time_filters(const struct winograd *w)
{
	int64_t extents[] = { w->n, w->n, w->conv->extents[1], w->channels };
	const struct index *var[4];
	const struct expr *d[3], *columns[3], *scales[6], *row[6];
	index_vars(w->arena, var, 4, extents);
	FOR (c, 3) {
		FOR (r, 3) {
			const struct index *at[] = { var[2], var[3], index_constant(w->arena, r),
				index_constant(w->arena, c) };
			d[r] = expr_load(w->arena, w->w->of, at);
		}
		columns[c] = filter_points(w, var[0], d);
	}
	FOR (i, w->n) {
		FOR (j, w->n)
			row[j] = number(w, winograd_scale((int)w->m, i, j));
		scales[i] = one_of(w, var[1], row, (int)w->n);
	}
	return define(w, "u", 4, extents,
	        expr_scalar(w->arena, SCALAR_mul, filter_points(w, var[1], columns),
	                one_of(w, var[0], scales, (int)w->n), NULL));
}

struct filters {
	int m;
	int64_t count;
	struct definition w; /* as it is here: rewrites change where data lie */
};

static void make_filters(const void *of, void *data)
{
	const struct filters *f = of;
	winograd_filters_of(f->m, f->count, definition_data(&f->w), 9, data, f->count);
}

static struct definition *define_filters(const struct winograd *w)
{
	if (w->w->of->source != SOURCE_CONSTANT)
		return define_run_time_filters(w);
	int64_t extents[] = { w->n, w->n, w->conv->extents[1], w->channels };
	struct filters *filters = arena_new(w->arena, struct filters);
	*filters = (struct filters){ (int)w->m, extents[2] * extents[3], *w->w->of };
	struct late *late =
	        late_new(w->arena, sizeof(float) * (size_t)(w->n * w->n * filters->count), make_filters, filters);
	struct definition *u =
	        define_constant(w->program, arena_printf(w->arena, "%s.u", w->conv->name), DTYPE_F32, 4, extents, late);
	u->late = late;
	return u;
}

static struct definition *define_forward_columns(const struct winograd *w)
{
	const struct definition *x = w->x->of;
	int64_t extents[] = { w->conv->extents[0], w->channels, w->tiles_y, w->n, w->tiles_x * w->m + 2 };
	const struct index *var[5];
	const struct expr *d[6];
	index_vars(w->arena, var, 5, extents);
	FOR (r, w->n) {
		const struct index *row = index_plus(w->arena, index_scale(w->arena, var[2], w->m), r - w->pad_top);
		const struct index *column = index_plus(w->arena, var[4], -w->pad_left),
		                   *at[] = { var[0], var[1], row, column };
		struct range *ranges = arena_new_array(w->arena, struct range, 2);
		ranges[0] = (struct range){ row, 0, x->extents[2] };
		ranges[1] = (struct range){ column, 0, x->extents[3] };
		d[r] = expr_select(w->arena, ranges, 2, expr_load(w->arena, w->x->of, at), number(w, 0));
	}
	return define(w, "t", 5, extents, forwards(w, var[3], d));
}

static struct definition *define_forward_rows(const struct winograd *w, struct definition *t)
{
	int64_t extents[] = { t->extents[0], w->channels, w->tiles_y, w->tiles_x, w->n, w->n };
	const struct index *var[6];
	const struct expr *d[6];
	index_vars(w->arena, var, 6, extents);
	FOR (c, w->n) {
		const struct index *at[] = { var[0], var[1], var[2], var[4],
			index_plus(w->arena, index_scale(w->arena, var[3], w->m), c) };
		d[c] = expr_load(w->arena, t, at);
	}
	return define(w, "v", 6, extents, forwards(w, var[5], d));
}

static struct definition *define_products(const struct winograd *w, struct definition *v, struct definition *u)
{
	int64_t extents[] = { v->extents[0], w->conv->extents[1], w->tiles_y, w->tiles_x, w->n, w->n };
	const struct index *var[6], *c = index_var(w->arena, 6, w->channels);
	index_vars(w->arena, var, 6, extents);
	const struct index *v_at[] = { var[0], c, var[2], var[3], var[4], var[5] },
	                   *u_at[] = { var[4], var[5], var[1], c };
	struct definition *s = define_reduction(w->program, arena_printf(w->arena, "%s.s", w->conv->name), 6, extents,
	        REDUCE_SUM, 1, &w->channels, NULL,
	        expr_scalar(w->arena, SCALAR_mul, expr_load(w->arena, v, v_at), expr_load(w->arena, u, u_at), NULL));
	mark_batch(s, w->conv->batch & 1); /* the images, where they are marked */
	return s;
}

static struct definition *define_back_columns(const struct winograd *w, struct definition *s)
{
	int64_t extents[] = { s->extents[0], s->extents[1], w->tiles_y, w->tiles_x, w->m, w->n };
	const struct index *var[6];
	const struct expr *d[6];
	index_vars(w->arena, var, 6, extents);
	FOR (i, w->n) {
		const struct index *at[] = { var[0], var[1], var[2], var[3], index_constant(w->arena, i), var[5] };
		d[i] = expr_load(w->arena, s, at);
	}
	return define(w, "b", 6, extents, backs(w, var[4], d, NULL));
}

static const struct expr *back_rows(const struct winograd *w, struct definition *b)
{
	const struct definition *conv = w->conv;
	const struct index *var[4];
	const struct expr *d[6];
	index_vars(w->arena, var, 4, conv->extents);
	FOR (i, w->n) {
		const struct index *at[] = { var[0], var[1], index_div(w->arena, var[2], w->m),
			index_div(w->arena, var[3], w->m), index_mod(w->arena, var[2], w->m),
			index_constant(w->arena, i) };
		d[i] = expr_load(w->arena, b, at);
	}
	return backs(w, index_mod(w->arena, var[3], w->m), d, conv->start ? conv->start : number(w, 0));
}

bool rewrite_winograd(struct program *program, struct definition *conv, int m)
{
	struct winograd w = { .program = program, .arena = program->arena, .conv = conv, .m = m, .n = m + 2 };
	size_t before = program->all.count;
	if (!match(&w))
		return false;
	w.tiles_y = ceil_div(conv->extents[2], m), w.tiles_x = ceil_div(conv->extents[3], m);
	/* The sum over the channels must be a chain too, whatever their number. */
	if (conv->extents[1] * w.tiles_y * w.tiles_x * w.n * w.n <= FEW_OUTPUTS)
		return false;
	struct rewrite *rewrite = arena_new(program->arena, struct rewrite);
	rewrite->m = m, rewrite->result = conv, rewrite->pad_top = w.pad_top, rewrite->pad_left = w.pad_left;
	rewrite->x = w.x->of, rewrite->w = w.w->of;
	struct definition *t = define_forward_columns(&w), *v = define_forward_rows(&w, t), *u = define_filters(&w);
	struct definition *s = define_products(&w, v, u), *b = define_back_columns(&w, s);
	const struct expr *body = back_rows(&w, b);
	struct definition *original = arena_new(program->arena, struct definition), *const parts[] = { t, v, u, s, b };
	*original = *conv;
	conv->original = original;
	become_map(conv, body);
	memcpy(rewrite->parts, parts, sizeof parts);
	push(program->arena, &program->rewrites, rewrite);
	program_move(program, before, conv);
	return true;
}

struct rewrite *program_rewrite(const struct program *program, const struct definition *definition)
{
	FOR_EACH (struct rewrite *rewrite, program->rewrites) {
		FOR (p, COUNT(rewrite->parts))
			if (rewrite->parts[p] == definition)
				return rewrite;
		if (rewrite->result == definition)
			return rewrite;
	}
	return NULL;
}
