/* exact.c: sums of products of small integers -> the same sums in floats, which have every integer up to 2^24.
 *
 * What no instruction of the target multiplies as dwords (products.c) then takes the tiles and windows of floats: i is
 * int32(sum(k) float(x - zx) * float(w - zw)), where the constants show that no sum can be larger.  Whoever reads
 * float(i) reads the sum itself.  A sum that may be larger is that of a few parts of its terms, each of which may
 * not. */
#include "kernels/kernels.h"

enum { PARTS_MOST = 32 };

static struct sum_part nth_part(const struct definition *sum, int v, int64_t count, int n)
{
	int64_t from = count * n, left = sum->reduced_extents[v] - from;
	return (struct sum_part){ v, from, left < count ? left : count };
}

/* Into how many parts, `count` rounds of variable v each; 0: there is no such way. */
static int find_parts(struct program *program, const struct definition *sum, double whole, int *v, int64_t *count)
{
	for (int k = *v = 0; k < sum->reduced; k++)
		*v = sum->reduced_extents[k] >= sum->reduced_extents[*v] ? k : *v;
	int64_t extent = sum->reduced_extents[*v], least = (int64_t)(whole / EXACT_MOST) + 1;
	for (; least <= PARTS_MOST && least <= extent; least = least + (least + 3) / 4) {
		*count = ceil_div(extent, least);
		int parts = (int)((extent + *count - 1) / *count);
		bool exact = true;
		for (int n = 0; n < parts && exact; n++) {
			struct sum_part part = nth_part(sum, *v, *count, n);
			exact = sum_most(program, sum, &part) < EXACT_MOST;
		}
		if (exact)
			return parts;
	}
	return 0;
}

/* ---- a factor in floats ---- */
struct single_load {
	const struct expr *load;
	bool one;
};
static void see_load(void *user, const struct expr *load)
{
	struct single_load *s = user;
	if (!load->vars)
		return;
	s->one &= !s->load || s->load == load;
	s->load = load;
}

bool expr_single_load(const struct expr *expr, const struct expr **load)
{
	struct single_load single = { NULL, true };
	expr_loads(expr, see_load, &single);
	*load = single.load;
	return single.one;
}

struct choosing {
	const struct expr *select;
	bool one;
};
static enum visit see_select(void *user, const struct expr *e)
{
	struct choosing *c = user;
	if (e->kind != EXPR_SELECT)
		return VISIT_PARTS;
	c->one &= !c->select || c->select == e;
	c->select = e;
	return VISIT_PAST;
}

bool expr_is_zero(const struct expr *e)
{
	return e->kind == EXPR_NUMBER ? !e->integer && !e->number
	        : expr_converts(e)    ? expr_is_zero(e->arg[0])
	                              : e->kind == EXPR_SCALAR && e->opcode == SCALAR_sub && e->arg[0] == e->arg[1];
}

/* What is 0 outside of some ranges, as a select of that 0: a border of zero points, less those, is one. */
const struct expr *expr_zeros_outside(struct arena *arena, const struct expr *factor)
{
	struct choosing c = { .one = true };
	expr_visit(factor, see_select, &c);
	if (!c.select || !c.one || c.select == factor
	        || !expr_is_zero(expr_replace(arena, factor, c.select, c.select->arg[1])))
		return factor;
	return expr_select(arena, c.select->ranges, c.select->range_count,
	        expr_replace(arena, factor, c.select, c.select->arg[0]), expr_integer(arena, factor->type, 0));
}

/* A map of the tensor that it loads, which several layers may share; NULL: it is of more than one. */
static const struct expr *widened(
        struct program *program, const struct definition *sum, const struct expr *factor, bool roomy)
{
	struct arena *arena = program->arena;
	const struct expr *load;
	factor = expr_zeros_outside(arena, factor);
	if (factor->kind == EXPR_SELECT) {
		const struct expr *inner =
		        expr_is_zero(factor->arg[1]) ? widened(program, sum, factor->arg[0], roomy) : NULL;
		return inner ? expr_select(
		               arena, factor->ranges, factor->range_count, inner, expr_number(arena, DTYPE_F32, 0))
		             : NULL;
	}
	bool one = expr_single_load(factor, &load);
	if (!one && expr_is_constant(factor)) /* weights, less a zero point for each channel */
		return expr_settle(
		        program, arena_printf(arena, "%s.floats", sum->name), sum, expr_cast(arena, DTYPE_F32, factor));
	if (!load || !one || expr_has(factor, 1u << EXPR_SELECT | 1u << EXPR_INDEX))
		return NULL;
	struct definition *of = load->of, *made = NULL;
	const struct expr *body =
	        expr_cast(arena, DTYPE_F32, expr_replace(arena, factor, load, expr_load_own(arena, load->of)));
	for (size_t i = 0; i < program->all.count && !made; i++) {
		struct definition *d = program->all.at[i];
		const struct expr *is = d->source == SOURCE_COMPUTED && d->reduce == REDUCE_NONE ? d->body
		        : d->source == SOURCE_CONSTANT && d->original                            ? d->original->body
		                                                                                 : NULL;
		if (is == body && d->rank == of->rank && !d->port.is_output && branch_equal(d->branch, of->branch))
			made = d;
	}
	if (!made) {
		made = define_map(program, arena_printf(arena, "%s.floats", of->name), of->rank, of->extents, body);
		made->branch = of->branch;
		if (expr_is_constant(body))
			definition_fold(program, made);
	}
	return expr_load(arena, made, load->at);
}

/* ---- the sum ---- */

static const struct expr *read_floats(struct rewriter *r, const struct expr *e)
{
	const struct exact_sums *sums = r->user;
	const struct expr *load = expr_converts(e) && e->type == DTYPE_F32 ? e->arg[0] : NULL;
	struct definition *floats = load && load->kind == EXPR_LOAD ? sums->floats[load->of->number] : NULL;
	return floats ? rewrite_load(r, load, floats) : NULL;
}
static const struct expr *read_all(void *user, const struct expr *e) { return rewrite_expr(user, e); }

void exact_sums_read(struct program *program, struct exact_sums *sums)
{
	struct rewriter rewriter = { .arena = program->arena, .expr = read_floats, .user = sums };
	if (!sums->all.count)
		return;
	sums->floats = arena_new_array(program->arena, struct definition *, program->all.count);
	FOR_ALL (i, sums->all)
		sums->floats[sums->all.at[i].sum->number] = sums->all.at[i].floats;
	for (size_t i = (size_t)sums->all.at[0].sum->number + 1; i < program->all.count; i++)
		definition_map(program->all.at[i], read_all, &rewriter);
}

/* The sum of some terms, in floats. */
static struct definition *part_in_floats(struct program *program, const struct definition *sum,
        const struct sum_part *part, const struct expr *start, const struct expr *terms)
{
	struct arena *arena = program->arena;
	struct definition like = *sum;
	const struct index *with[MAX_VARS] = { 0 };
	part_variables(arena, sum, part, 0, with);
	if (part->count < sum->reduced_extents[part->v])
		like.count.reduced[part->v] = NULL;
	like.reduced_extents[part->v] = part->count;
	struct definition *floats = define_sum_like(
	        program, arena_printf(arena, "%s.exact", sum->name), &like, start, expr_substitute(arena, terms, with));
	floats->sum.exact = true;
	return floats;
}

bool sum_in_floats(struct program *program, struct definition *sum, bool roomy, struct exact_sums *sums)
{
	struct arena *arena = program->arena;
	size_t before = program->all.count;
	struct sum_part all = { 0, 0, sum->reduced_extents[0] };
	double whole = sum_most(program, sum, &all);
	int v = 0, count = 1;
	int64_t each = all.count;
	if (whole >= EXACT_MOST && !(roomy && (count = find_parts(program, sum, whole, &v, &each))))
		return false;
	const struct expr *const *factor = (const struct expr *const *)sum->body->arg;
	const struct expr *a = widened(program, sum, factor[0], roomy),
	                  *b = a ? widened(program, sum, factor[1], roomy) : NULL;
	if (!b) {
		program->all.count = before;
		return false;
	}
	const struct expr *terms = expr_scalar(arena, SCALAR_mul, a, b, NULL), *start = NULL, *offset = sum->start,
	                  *body = NULL;
	if (count == 1 && sum->start && expr_is_constant(sum->start)
	        && whole + (double)expr_magnitude(sum->start) < EXACT_MOST) { /* a load, as products want it */
		start = expr_settle(program, arena_printf(arena, "%s.start", sum->name), sum,
		        expr_cast(arena, DTYPE_F32, sum->start));
		offset = NULL;
	}
	struct definition *floats = NULL;
	FOR (n, count) {
		struct sum_part part = nth_part(sum, v, each, n);
		floats = part_in_floats(program, sum, &part, start, terms);
		const struct expr *one = expr_cast(arena, DTYPE_I32, expr_load_own(arena, floats));
		body = body ? expr_scalar(arena, SCALAR_add, body, one, NULL) : one;
	}
	if (count == 1 && !offset)
		push(arena, &sums->all, (struct exact_sum){ sum, floats });
	program_move(program, before, sum);
	become_map(sum, offset ? expr_scalar(arena, SCALAR_add, body, offset, NULL) : body);
	return true;
}
