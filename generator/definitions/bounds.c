/* bounds.c: where the values of an integer expression lie, whatever the inputs are: what a check need not ask.  A place
 * in a row that was computed (the largest of it, the order of it) lies in that row; indices know their ranges; a
 * constant is looked at.  And how large floats may be that were made of integers. */
#include "definitions/evaluate.h"
#include <assert.h>
#include <float.h>
#include <math.h>

enum { DEPTH = 12 }; /* of definitions and expressions that are looked through */
struct bounds {
	int64_t low, high;
};

static struct bounds of_type(enum dtype type)
{
	int bits = dtypes[type].bits;
	if (type == DTYPE_BOOL)
		return (struct bounds){ 0, 1 };
	if (bits >= 64 || dtypes[type].class == CLASS_FLOAT)
		return (struct bounds){ INT64_MIN, INT64_MAX };
	if (dtypes[type].class == CLASS_INT)
		return (struct bounds){ -((int64_t)1 << (bits - 1)), ((int64_t)1 << (bits - 1)) - 1 };
	return (struct bounds){ 0, ((int64_t)1 << bits) - 1 };
}

static bool lies_in(struct bounds a, struct bounds b) { return a.low >= b.low && a.high <= b.high; }

static struct bounds join(struct bounds a, struct bounds b)
{
	return (struct bounds){ a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high };
}

static struct bounds bounds_of(const struct expr *, int depth);

static struct bounds of_constant(const struct definition *d)
{
	struct bounds b = { INT64_MAX, INT64_MIN };
	int64_t values[CHUNK], n = definition_elements(d);
	for (int64_t from = 0; from < n; from += CHUNK) {
		int some = n - from < CHUNK ? (int)(n - from) : CHUNK;
		values_load(SYSTEM_INTEGER, values, definition_data(d), d->type, from, some);
		FOR (i, some)
			b = join(b, (struct bounds){ values[i], values[i] });
	}
	return b;
}

static struct bounds of_definition(const struct definition *d, int depth)
{
	if (d->source == SOURCE_CONSTANT && d->type != DTYPE_U64 && dtypes[d->type].class != CLASS_FLOAT
	        && (uintptr_t)definition_data(d) % (size_t)(dtypes[d->type].bits / 8) == 0)
		return of_constant(d);
	if (d->source != SOURCE_COMPUTED)
		return of_type(d->type);
	if (definition_is_order(d))
		return (struct bounds){ definition_chooses(d) ? -1 : 0, d->reduced_extents[0] - 1 };
	if (d->trees.walk)
		return (struct bounds){ 0, d->trees.walk->leaves - 1 };
	bool extreme = (d->reduce == REDUCE_MAX || d->reduce == REDUCE_MIN) && !definition_scatters(d);
	if (d->reduce != REDUCE_NONE && (!extreme || definition_terms(d) == 0))
		return of_type(d->type);
	struct bounds b = bounds_of(d->body, depth - 1);
	return d->start ? join(b, bounds_of(d->start, depth - 1)) : b;
}

static struct bounds of_scalar(const struct expr *expr, int depth)
{
	struct bounds a = bounds_of(expr->arg[0], depth - 1), all = of_type(expr->type), y = all;
	struct bounds b = expr->arg[1] ? bounds_of(expr->arg[1], depth - 1) : all;
	switch (expr->opcode) {
	case SCALAR_less:
	case SCALAR_equal:
	case SCALAR_greater:
	case SCALAR_less_equal:
	case SCALAR_greater_equal:
	case SCALAR_not: return (struct bounds){ 0, 1 };
	case SCALAR_min:
	case SCALAR_minimum: return (struct bounds){ a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high };
	case SCALAR_max:
	case SCALAR_maximum: return (struct bounds){ a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high };
	case SCALAR_where: return join(b, bounds_of(expr->arg[2], depth - 1));
	case SCALAR_add:
		if (__builtin_add_overflow(a.low, b.low, &y.low) || __builtin_add_overflow(a.high, b.high, &y.high))
			return all;
		return lies_in(y, all) ? y : all;
	case SCALAR_sub:
		if (__builtin_sub_overflow(a.low, b.high, &y.low) || __builtin_sub_overflow(a.high, b.low, &y.high))
			return all;
		return lies_in(y, all) ? y : all;
	default: return all;
	}
}

static struct bounds bounds_of(const struct expr *expr, int depth)
{
	struct bounds b = of_type(expr->type), of;
	if (dtypes[expr->type].class == CLASS_FLOAT || expr->type == DTYPE_U64 || depth <= 0)
		return b;
	switch (expr->kind) {
	case EXPR_NUMBER: return (struct bounds){ expr->integer, expr->integer };
	case EXPR_INDEX: index_range(expr->index, &b.low, &b.high); return b;
	case EXPR_LOAD: return of_definition(expr->of, depth);
	case EXPR_SELECT: return join(bounds_of(expr->arg[0], depth - 1), bounds_of(expr->arg[1], depth - 1));
	case EXPR_CAST:
		of = bounds_of(expr->arg[0], depth - 1);
		return expr->type != DTYPE_BOOL && !(expr->cast & CAST_BITS)
		                && dtypes[expr->arg[0]->type].class != CLASS_FLOAT && lies_in(of, b)
		        ? of
		        : b;
	case EXPR_SCALAR: return of_scalar(expr, depth);
	}
	return b;
}

void expr_bounds(const struct expr *expr, int64_t *low, int64_t *high)
{
	struct bounds b = bounds_of(expr, DEPTH);
	*low = b.low;
	*high = b.high;
}

int64_t expr_magnitude(const struct expr *expr)
{
	struct bounds b = bounds_of(expr, DEPTH);
	assert(dtypes[expr->type].bits <= 32);
	return -b.low > b.high ? -b.low : b.high;
}

/* ---- sums of products of integers ---- */
void part_variables(struct arena *arena, const struct definition *sum, const struct sum_part *part, int gone,
        const struct index **with)
{
	FOR (k, sum->reduced) {
		bool parted = k == part->v;
		int64_t extent = parted ? part->count : sum->reduced_extents[k];
		with[sum->rank + k] =
		        index_plus(arena, index_var(arena, sum->rank - gone + k, extent), parted ? part->from : 0);
	}
}

static int64_t part_terms(const struct definition *sum, const struct sum_part *part)
{
	int64_t terms = 1;
	FOR (k, sum->reduced)
		terms *= k == part->v ? part->count : sum->reduced_extents[k];
	return terms;
}

/* The largest sum of magnitudes of a factor's terms that an element has. */
static int64_t magnitude_of(
        struct program *program, const struct definition *sum, const struct expr *factor, const struct sum_part *part)
{
	const struct index *with[MAX_VARS] = { 0 };
	int64_t extents[MAX_RANK], terms[MAX_RANK], most = 0;
	int rank = 0;
	size_t before = program->all.count;
	if (!expr_is_constant(factor))
		return expr_magnitude(factor) * part_terms(sum, part);
	FOR (v, sum->rank)
		if (expr_uses(factor, v)) {
			extents[rank] = sum->extents[v];
			with[v] = index_var(program->arena, rank, extents[rank]);
			rank++;
		}
	part_variables(program->arena, sum, part, sum->rank - rank, with);
	memcpy(terms, sum->reduced_extents, sizeof terms);
	terms[part->v] = part->count;
	struct definition *sums = define_reduction(program, arena_printf(program->arena, "%s.most", sum->name), rank,
	        extents, REDUCE_SUM, sum->reduced, terms, NULL,
	        expr_scalar(program->arena, SCALAR_abs, expr_substitute(program->arena, factor, with), NULL, NULL));
	definition_fold(program, sums);
	for (int64_t i = 0, n = definition_elements(sums); i < n; i++) {
		int64_t one = ((const int32_t *)definition_data(sums))[i];
		most = one > most ? one : most;
	}
	program->all.count = before;
	return most;
}

double sum_most(struct program *program, const struct definition *sum, const struct sum_part *part)
{
	const struct expr *const *factor = (const struct expr *const *)sum->body->arg;
	double least = 0;
	for (int i = 0; i < 2 && (!i || least >= EXACT_MOST); i++) {
		double one =
		        (double)magnitude_of(program, sum, factor[i], part) * (double)expr_magnitude(factor[1 - i]);
		least = i && least < one ? least : one;
	}
	return least;
}

/* ---- floats ---- */
static double most_of(const struct expr *, int depth);

static double most_of_definition(const struct definition *d, int depth)
{
	double most = 0;
	if (d->source == SOURCE_CONSTANT) {
		const float *data = definition_data(d);
		for (int64_t i = 0, n = definition_elements(d); i < n; i++) {
			double x = fabs((double)data[i]);
			most = x <= most ? most : isnan(x) ? INFINITY : x;
		}
		return most;
	}
	bool sum = d->reduce == REDUCE_SUM && !definition_scatters(d);
	if (d->source != SOURCE_COMPUTED || !(sum || d->reduce == REDUCE_NONE) || d->lies)
		return INFINITY;
	double terms = sum ? (double)definition_terms(d) : 1;
	most = terms * most_of(d->body, depth - 1) + (d->start ? most_of(d->start, depth - 1) : 0);
	return most * (1 + terms * 0x1p-22); /* each addition rounds */
}

static double most_of_scalar(const struct expr *e, int depth)
{
	double a = most_of(e->arg[0], depth - 1), b = e->arg[1] ? most_of(e->arg[1], depth - 1) : 0;
	switch (e->opcode) {
	case SCALAR_mul: return a * b;
	case SCALAR_div: return e->arg[1]->kind == EXPR_NUMBER && b > 0 ? a / b : INFINITY;
	case SCALAR_add:
	case SCALAR_sub: return a + b;
	case SCALAR_round: return a + 1;
	case SCALAR_neg:
	case SCALAR_abs:
	case SCALAR_relu: return a;
	case SCALAR_max:
	case SCALAR_min: return a > b ? a : b;
	default: return INFINITY;
	}
}

static double most_of(const struct expr *e, int depth)
{
	double most = INFINITY, other;
	enum dtype_class class = dtypes[e->type].class;
	if ((class == CLASS_INT || class == CLASS_UINT) && dtypes[e->type].bits <= 32)
		return (double)expr_magnitude(e);
	if (e->type != DTYPE_F32 || depth <= 0)
		return INFINITY;
	switch (e->kind) {
	case EXPR_NUMBER: most = fabs(e->number); break;
	case EXPR_LOAD: most = most_of_definition(e->of, depth); break;
	case EXPR_SELECT:
		most = most_of(e->arg[0], depth - 1);
		other = most_of(e->arg[1], depth - 1);
		most = other > most ? other : most;
		break;
	case EXPR_CAST:
		most = e->cast || e->arg[0]->type == DTYPE_F32 ? INFINITY : most_of(e->arg[0], depth - 1);
		break;
	case EXPR_SCALAR: most = most_of_scalar(e, depth); break;
	default: break;
	}
	most *= 1 + 0x1p-20; /* each step rounds */
	return most < FLT_MAX / 2 ? most : INFINITY;
}

double expr_most(const struct expr *expr) { return most_of(expr, DEPTH); }
