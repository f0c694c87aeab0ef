/* quantised.c: definitions -> definitions.  A sum of products of integers that were only dequantised for it adds the
 * integers themselves, and what quantises its result again multiplies them by one float.
 *
 *     y = sum(k from b * (sx * sw)) ((x - zx) * sx) * ((w - zw) * sw)       i = sum(k from b) (x - zx) * (w - zw)
 *     q = int8(round(relu(y) / sy) + zy)                                    q = int8(max(zy, round(float(i) * m) + zy))
 *
 * with m = (sx * sw) / sy.  Sums of integers are exact in any order; y is float(i) * (sx * sw) for whoever else reads
 * it.  The maximum of dequantised bytes is that of the bytes.  A rule on the graph and its constants alone, so every
 * target computes the same. */
#include "definitions/definitions.h"
#include <float.h>
#include <math.h>

enum { DEPTH = 16 }; /* of maps that only move, or clip, on the way */

struct folding {
	struct program *program;
	struct arena *arena;
};

/* ---- constants that rewrites make ---- */
static bool is_constant(const struct expr *e)
{
	return !expr_has(e, 1u << EXPR_INDEX | 1u << EXPR_SELECT) && expr_is_constant(e);
}

/* The values of an expression of constants over the variables of `over`: a number, or an element of a constant that
 * has those of them that it depends on. */
static const struct expr *settled(
        struct folding *f, const struct definition *over, const char *part, const struct expr *e)
{
	FOR (v, over->rank)
		if (expr_uses(e, v))
			return expr_settle(f->program, arena_printf(f->arena, "%s.%s", over->name, part), over, e);
	return expr_fold(f->program, e);
}

/* Of what `settled` gave: does that hold for all values? */
static bool all_are(bool (*holds)(float), const struct expr *e)
{
	bool all = e->kind == EXPR_NUMBER ? holds((float)e->number) : e->kind == EXPR_LOAD && e->type == DTYPE_F32;
	for (int64_t i = 0, n = e->kind == EXPR_LOAD ? definition_elements(e->of) : 0; all && i < n; i++)
		all = holds(((const float *)definition_data(e->of))[i]);
	return all;
}

static bool is_scale(float x) { return x > 0 && isnormal(x); }
static bool are_scales(const struct expr *e) { return all_are(is_scale, e); }

/* ---- what was dequantised ---- */
struct dequantised {
	const struct expr *value; /* int32: the integer less its zero point */
	const struct expr *scale;
	const struct range *pads; /* outside it is 0 */
	int pad_count;
};

/* A constant that its original reads may stand outside the program. */
static struct definition *inside(const void *user, struct definition *of)
{
	return program_constant(((const struct folding *)user)->program, of);
}

/* What a load of a map is, said by what the map reads; NULL: it is of something else. */
static const struct expr *seen_through(struct folding *f, const struct expr *load)
{
	const struct definition *of = load->of;
	if (of->source == SOURCE_CONSTANT)
		of = of->original;
	if (!of || of->source != SOURCE_COMPUTED || of->reduce != REDUCE_NONE || of->lies || of->check)
		return NULL;
	const struct expr *body = of->body;
	if (load->of->source == SOURCE_CONSTANT)
		body = expr_redirect(f->arena, body, inside, f);
	return expr_substitute(f->arena, body, load->at);
}

/* Integers of 8 or 16 bits are what is quantised. */
static bool is_short(enum dtype type)
{
	return type == DTYPE_I8 || type == DTYPE_U8 || type == DTYPE_I16 || type == DTYPE_U16;
}
static int64_t least_of(enum dtype type)
{
	return dtypes[type].class == CLASS_INT ? -(INT64_C(1) << (dtypes[type].bits - 1)) : 0;
}
static int64_t most_of(enum dtype type) { return least_of(type) + (INT64_C(1) << dtypes[type].bits) - 1; }

static bool is_quantised(const struct expr *e) { return e->kind == EXPR_LOAD && is_short(e->type); }

/* int32(q) - int32(zero), or q alone. */
static const struct expr *less_zero(struct folding *f, const struct expr *e)
{
	if (is_quantised(e))
		return expr_cast(f->arena, DTYPE_I32, e);
	if (!expr_is(e, SCALAR_sub) || e->type != DTYPE_I32 || e->arg[0]->kind != EXPR_CAST
	        || !is_quantised(e->arg[0]->arg[0]) || !is_constant(e->arg[1]))
		return NULL;
	return expr_scalar(f->arena, SCALAR_sub, e->arg[0], expr_fold(f->program, e->arg[1]), NULL);
}

static bool open(struct folding *f, const struct expr *e, struct dequantised *d)
{
	*d = (struct dequantised){ 0 };
	FOR (depth, DEPTH) {
		if (e->kind == EXPR_LOAD) {
			if (!(e = seen_through(f, e)))
				return false;
		} else if (e->kind == EXPR_SELECT && !d->pads && e->arg[1]->kind == EXPR_NUMBER
		        && e->arg[1]->number == 0 && !signbit(e->arg[1]->number)) {
			d->pads = e->ranges;
			d->pad_count = e->range_count;
			e = e->arg[0];
		} else
			break;
	}
	if (!expr_is(e, SCALAR_mul) || e->type != DTYPE_F32 || !expr_converts(e->arg[0]))
		return false;
	d->value = less_zero(f, e->arg[0]->arg[0]);
	d->scale = e->arg[1];
	return d->value != NULL;
}

/* Of an image of one row a map reads row 0; inside the pads that is the row where the window stands, and a product finds
 * windows by that. */
struct standing {
	struct folding *f;
	const struct dequantised *d;
};
static const struct expr *stand(void *user, const struct expr *load)
{
	const struct standing *s = user;
	const struct index *at[MAX_RANK];
	int64_t zero;
	for (int k = 0, pad = 0; k < load->of->rank; k++) {
		at[k] = load->at[k];
		if (load->of->extents[k] != 1 || !index_is_constant(at[k], &zero))
			continue;
		while (pad < s->d->pad_count && (s->d->pads[pad].from || s->d->pads[pad].to != 1))
			pad++;
		if (pad < s->d->pad_count)
			at[k] = s->d->pads[pad++].at;
	}
	return load->of->source == SOURCE_CONSTANT ? load : expr_load(s->f->arena, load->of, at);
}

static const struct expr *padded(struct folding *f, const struct dequantised *d)
{
	struct standing s = { f, d };
	return d->pads ? expr_select(f->arena, d->pads, d->pad_count, expr_map_loads(f->arena, d->value, stand, &s),
	               expr_integer(f->arena, DTYPE_I32, 0))
	               : d->value;
}

/* ---- the sum ---- */
static bool moves_with_terms(const struct definition *sum, const struct expr *e)
{
	bool moves = false;
	FOR (k, sum->reduced)
		moves |= expr_uses(e, sum->rank + k);
	return moves;
}

static bool is_near(float far) { return far <= 0; }

/* The integers of a bias at this scale; NULL: it has another one, or none. */
enum { ULPS = 4 };
static const struct expr *bias_of(struct folding *f, const struct definition *sum, const struct expr *scale)
{
	const struct expr *e = sum->start;
	for (int depth = 0; e && e->kind == EXPR_LOAD && depth < DEPTH; depth++)
		e = seen_through(f, e);
	if (!e || !expr_is(e, SCALAR_mul) || e->type != DTYPE_F32 || !expr_converts(e->arg[0])
	        || e->arg[0]->arg[0]->kind != EXPR_LOAD || e->arg[0]->arg[0]->type != DTYPE_I32 || !is_constant(e))
		return NULL;
	const struct expr *apart = expr_scalar(
	        f->arena, SCALAR_abs, expr_scalar(f->arena, SCALAR_sub, e->arg[1], scale, NULL), NULL, NULL);
	const struct expr *far = settled(f, sum, "apart",
	        expr_scalar(f->arena, SCALAR_sub, apart,
	                expr_scalar(
	                        f->arena, SCALAR_mul, scale, expr_number(f->arena, DTYPE_F32, ULPS * 0x1p-24), NULL),
	                NULL));
	return all_are(is_near, far) ? e->arg[0]->arg[0] : NULL;
}

/* Could a sum of such products leave int32? */
static bool may_overflow(
        struct folding *f, const struct definition *sum, const struct expr *a, const struct expr *b, int64_t start)
{
	double most = (double)expr_magnitude(a) * (double)expr_magnitude(b) * (double)definition_terms(sum);
	if (most + (double)start < 0x1p31 || !sum->reduced)
		return most + (double)start >= 0x1p31;
	struct definition products = *sum;
	products.body = expr_scalar(f->arena, SCALAR_mul, a, b, NULL);
	return sum_most(f->program, &products, &(struct sum_part){ 0, 0, sum->reduced_extents[0] }) + (double)start
	        >= 0x1p31;
}

static void fold_sum(struct folding *f, struct definition *sum)
{
	struct arena *arena = f->arena;
	struct dequantised factor[2];
	const struct expr *scale[2];
	bool is[2];
	FOR (i, 2)
		is[i] = open(f, sum->body->arg[i], &factor[i]);
	if (!is[0] || !is[1]) {
		sum->literal = is[0] || is[1] ? "one factor is no dequantised tensor of 8 or 16 bits" : NULL;
		return;
	}
	FOR (i, 2) {
		if (moves_with_terms(sum, factor[i].scale)) {
			sum->literal = "a scale moves with the terms";
			return;
		}
		if (!is_constant(factor[i].scale)
		        || !are_scales(scale[i] = settled(f, sum, "scale", factor[i].scale))) {
			sum->literal = "a scale is no positive and normal number that is known";
			return;
		}
	}
	const struct expr *both = settled(f, sum, "scale", expr_scalar(arena, SCALAR_mul, scale[0], scale[1], NULL));
	const struct expr *bias = are_scales(both) && sum->start ? bias_of(f, sum, both) : NULL;
	if (!are_scales(both)) {
		sum->literal = "the product of its scales is no normal number";
		return;
	}
	if (may_overflow(f, sum, factor[0].value, factor[1].value, bias ? expr_magnitude(bias) : 0)) {
		sum->literal = "its sums may leave 32 bits";
		return;
	}
	const struct expr *term = expr_scalar(arena, SCALAR_mul, padded(f, &factor[0]), padded(f, &factor[1]), NULL);
	struct definition *sums =
	        define_sum_like(f->program, arena_printf(arena, "%s.sums", sum->name), sum, bias, term);
	const struct expr *value =
	        expr_scalar(arena, SCALAR_mul, expr_cast(arena, DTYPE_F32, expr_load_own(arena, sums)), both, NULL);
	if (sum->start && !bias)
		value = expr_scalar(arena, SCALAR_add, value, sum->start, NULL);
	become_map(sum, value);
}

/* ---- what quantises it ---- */
struct requantised {
	const struct expr *sum, *scale, *divisor, *zero; /* zero: a float; NULL: 0 */
	enum scalar opcode[DEPTH];                       /* bounds, the outermost first … */
	const struct expr *bound[DEPTH];                 /* … and what they are */
	int bounds;
};

static bool is_scaled_sum(const struct expr *e)
{
	const struct expr *sum = e->opcode == SCALAR_mul && expr_converts(e->arg[0]) ? e->arg[0]->arg[0] : NULL;
	return sum && sum->kind == EXPR_LOAD && sum->type == DTYPE_I32 && sum->of->reduce == REDUCE_SUM
	        && sum->of->sum.products && is_constant(e->arg[1]);
}

/* From the quotient inwards: bounds, and maps that only move, up to float(sum) * scale. */
static bool find_sum(struct folding *f, const struct expr *e, struct requantised *r)
{
	FOR (depth, DEPTH) {
		if (e->kind == EXPR_LOAD) {
			if (e->of->source != SOURCE_COMPUTED || !(e = seen_through(f, e)))
				return false;
			continue;
		}
		if (e->kind != EXPR_SCALAR || e->type != DTYPE_F32)
			return false;
		if (is_scaled_sum(e)) {
			r->sum = e->arg[0];
			r->scale = e->arg[1];
			return true;
		}
		bool clips = e->opcode == SCALAR_max || e->opcode == SCALAR_min;
		const struct expr *bound = e->opcode == SCALAR_relu ? expr_number(f->arena, DTYPE_F32, 0)
		        : clips                                     ? expr_fold(f->program, e->arg[0])
		                                                    : NULL;
		if (!bound || bound->kind != EXPR_NUMBER || !isfinite(bound->number))
			return false;
		r->opcode[r->bounds] = e->opcode == SCALAR_min ? SCALAR_min : SCALAR_max;
		r->bound[r->bounds++] = bound;
		e = e->arg[clips];
	}
	return false;
}

/* The type has nothing beyond the bound. */
static bool is_idle(enum dtype type, enum scalar opcode, const struct expr *bound)
{
	return bound->kind == EXPR_NUMBER
	        && (opcode == SCALAR_max ? bound->number <= (double)least_of(type)
	                                 : bound->number >= (double)most_of(type));
}

static const struct expr *rounded(struct folding *f, const struct requantised *r, const struct expr *quotient)
{
	const struct expr *e = expr_scalar(f->arena, SCALAR_round, quotient, NULL, NULL);
	return r->zero ? expr_scalar(f->arena, SCALAR_add, e, r->zero, NULL) : e;
}

/* The byte that was dequantised, where it is quantised again as it was: no byte times a scale over that scale is half a
 * step off. */
static const struct expr *same_byte(
        struct folding *f, const struct definition *d, const struct expr *e, const struct requantised *r)
{
	struct dequantised x;
	if (!open(f, e, &x) || x.pads || !is_constant(x.scale) || x.scale->vars || r->divisor->vars)
		return NULL;
	bool less = x.value->kind == EXPR_SCALAR;
	const struct expr *scale = expr_fold(f->program, x.scale),
	                  *byte = less ? x.value->arg[0]->arg[0] : x.value->arg[0];
	int64_t zero = less ? x.value->arg[1]->integer : 0;
	bool same = scale == expr_fold(f->program, r->divisor) && are_scales(scale)
	        && scale->number < FLT_MAX / UINT16_MAX && (!less || x.value->arg[1]->kind == EXPR_NUMBER)
	        && (!r->zero || r->zero->kind == EXPR_NUMBER) && (double)zero == (r->zero ? r->zero->number : 0);
	return same && byte->type == d->type ? byte : NULL;
}

static void fold_quantise(struct folding *f, struct definition *d)
{
	struct requantised r = { 0 };
	const struct expr *e = d->body;
	if (e->kind != EXPR_CAST || e->cast || !is_short(d->type))
		return;
	e = e->arg[0];
	if (expr_is(e, SCALAR_add) && e->type == DTYPE_F32 && is_constant(e->arg[1])) {
		r.zero = expr_fold(f->program, e->arg[1]);
		e = e->arg[0];
	}
	if (!expr_is(e, SCALAR_round) || e->type != DTYPE_F32 || !expr_is(e->arg[0], SCALAR_div)
	        || !is_constant(r.divisor = e->arg[0]->arg[1]))
		return;
	const struct expr *byte = same_byte(f, d, e->arg[0]->arg[0], &r);
	if (byte)
		d->body = byte;
	else if (!find_sum(f, e->arg[0]->arg[0], &r))
		d->body = expr_cast(f->arena, d->type, rounded(f, &r, e->arg[0]));
	if (byte || !r.sum)
		return;
	r.divisor = settled(f, d, "divisor", r.divisor);
	const struct expr *factor =
	        settled(f, d, "factor", expr_scalar(f->arena, SCALAR_div, r.scale, r.divisor, NULL));
	if (!are_scales(r.divisor) || !are_scales(factor))
		return;
	const struct expr *value = rounded(f, &r, expr_scalar(f->arena, SCALAR_mul, r.sum, factor, NULL));
	while (r.bounds--) {
		const struct expr *bound = settled(f, d, "bound",
		        rounded(f, &r, expr_scalar(f->arena, SCALAR_div, r.bound[r.bounds], r.divisor, NULL)));
		if (!is_idle(d->type, r.opcode[r.bounds], bound))
			value = expr_scalar(f->arena, r.opcode[r.bounds], bound, value, NULL);
	}
	d->body = expr_cast(f->arena, d->type, value);
}

/* ---- a maximum ---- */

/* Does every window have a place in the range?  Its place is s * variable + d * tap + c. */
static bool always_meets(const struct definition *d, const struct range *range)
{
	int var = -1, tap = -1;
	FOR (i, range->at->count) {
		const struct atom *atom = range->at->terms[i].atom;
		int *is = atom->kind == ATOM_VAR && atom->var < d->rank ? &var : &tap;
		if (atom->kind != ATOM_VAR || *is >= 0)
			return false;
		*is = atom->var;
	}
	int64_t results = var < 0 ? 1 : d->extents[var], taps = tap < 0 ? 1 : d->reduced_extents[tap - d->rank],
	        step = var < 0 ? 0 : index_factor(range->at, var), apart = tap < 0 ? 0 : index_factor(range->at, tap);
	FOR (r, results) {
		bool meets = false;
		for (int64_t t = 0; t < taps && !meets; t++) {
			int64_t at = step * r + apart * t + range->at->constant;
			meets = at >= range->from && at < range->to;
		}
		if (!meets)
			return false;
	}
	return true;
}

/* The maximum of dequantised bytes of one scale is that of the bytes, dequantised. */
static void fold_maximum(struct folding *f, struct definition *d)
{
	struct dequantised x;
	const struct expr *e = d->body;
	bool padded = e->kind == EXPR_SELECT && e->arg[1]->kind == EXPR_NUMBER && e->arg[1]->number == -INFINITY,
	     meets = true;
	for (int i = 0; padded && i < e->range_count; i++)
		meets &= always_meets(d, &e->ranges[i]);
	FOR (i, MAX_RANK)
		meets &= !d->count.of[i] && !d->count.reduced[i];
	if (!meets || !open(f, padded ? e->arg[0] : e, &x) || x.pads || !is_constant(x.scale) || x.scale->vars
	        || !are_scales(expr_fold(f->program, x.scale)))
		return;
	const struct expr *zero = x.value->kind == EXPR_SCALAR ? x.value->arg[1] : NULL,
	                  *byte = zero ? x.value->arg[0]->arg[0] : x.value->arg[0];
	if (zero && zero->kind != EXPR_NUMBER)
		return;
	struct definition *bytes = define_reduction(f->program, arena_printf(f->arena, "%s.bytes", d->name), d->rank,
	        d->extents, REDUCE_MAX, d->reduced, d->reduced_extents, NULL,
	        padded ? expr_select(f->arena, e->ranges, e->range_count, byte,
	                expr_integer(f->arena, byte->type, least_of(byte->type)))
	               : byte);
	keep_origin(bytes, d);
	const struct expr *value = expr_load_own(f->arena, bytes);
	if (zero)
		value = expr_scalar(f->arena, SCALAR_sub, expr_cast(f->arena, DTYPE_I32, value), zero, NULL);
	become_map(d, expr_scalar(f->arena, SCALAR_mul, expr_cast(f->arena, DTYPE_F32, value), x.scale, NULL));
}

/* ---- scales and zero points that stay ---- */
static void see_short(void *user, const struct expr *load)
{
	*(bool *)user |= dtypes[load->type].bits == 8 || is_short(load->type);
}

static const struct expr *one_number(void *user, const struct expr *load)
{
	const struct folding *f = user;
	bool one = load->of->source == SOURCE_CONSTANT && definition_elements(load->of) == 1;
	return one && !load->vars ? expr_fold(f->program, load) : load;
}
static const struct expr *one_integer(void *user, const struct expr *load)
{
	return dtypes[load->type].class == CLASS_FLOAT ? load : one_number(user, load);
}

/* Is it round(x) of a number that is not too large, with a zero point and bounds? */
static bool rounds_number(const struct expr *e)
{
	for (; e->kind == EXPR_SCALAR && (e->opcode == SCALAR_max || e->opcode == SCALAR_min); e = e->arg[1])
		if (e->arg[0]->kind != EXPR_NUMBER)
			return false;
	if (expr_is(e, SCALAR_add) && e->arg[1]->kind == EXPR_NUMBER)
		e = e->arg[0];
	return expr_is(e, SCALAR_round) && e->type == DTYPE_F32 && expr_most(e->arg[0]) < 1 << 30;
}

/* In maps a constant of one element is a number where it is an integer, from or to what is quantised a float, too. */
static void fold_numbers(struct folding *f, struct definition *d)
{
	bool quantised = dtypes[d->type].bits == 8 || is_short(d->type);
	expr_loads(d->body, see_short, &quantised);
	quantised &= d->type == DTYPE_F32 || is_short(d->type);
	d->body = expr_map_loads(f->arena, d->body, quantised ? one_number : one_integer, f);
	const struct expr *e = d->body;
	if (e->kind == EXPR_CAST && !e->cast && is_short(d->type) && rounds_number(e->arg[0]))
		d->body = expr_cast_as(f->arena, d->type, CAST_NUMBER, e->arg[0]);
}

void fold_quantised(struct program *program)
{
	struct folding f = { program, program->arena };
	FOR_ALL (i, program->all) {
		struct definition *d = program->all.at[i];
		size_t before = program->all.count;
		if (definition_repeats(d) == d && d->loop.repeat)
			fold_quantised(d->loop.repeat->body);
		if (d->source != SOURCE_COMPUTED || definition_stands_alone(d) || d->check)
			continue;
		if (d->reduce == REDUCE_SUM && d->sum.products && d->type == DTYPE_F32)
			fold_sum(&f, d);
		else if (d->reduce == REDUCE_MAX && d->type == DTYPE_F32 && !definition_scatters(d))
			fold_maximum(&f, d);
		else if (d->reduce == REDUCE_NONE) {
			fold_quantise(&f, d);
			fold_numbers(&f, d);
		}
		program_move(program, before, d);
		i = (size_t)d->number;
	}
}
