/* factors.c: definitions -> definitions.  --math bf16, f16, tf32: each factor of a sum of products of float32 is
 * rounded, to nearest and halves to even, to the bits that a matrix instruction takes; what an instruction multiplies
 * is exact then, and engines may differ in the order and rounding of sums alone.
 *
 *     y = sum(k) x[i, k] * w[k, j]      x.bf16 = round(x), w.bf16 = round(w), y = sum(k) x.bf16[i, k] * w.bf16[k, j]
 *
 * Sums start as they did, what Winograd's computes stays (its transforms would round twice), squares (norms,
 * variances) stay, and so does what is no sum of products.  A rule on the graph alone.  bfloat16 and tf32 are
 * rounded by integers, and as VCVTNEPS2BF16 and VDPBF16PS have it (Intel's instruction set reference): numbers below
 * 2^-126 count as 0 of their sign.
 *
 * --store bf16: what is multiplied by constants is stored so, and whatever else reads it (residuals, pools, windows)
 * reads it rounded, but for outputs and for what Winograd's or --keep-strict reads.
 *
 *     x.bf16 = round(x), y = sum(k) x.bf16[i, k] * w.bf16[k, j], z = y + x.bf16 */
#include "definitions/definitions.h"

struct rounded {
	const struct definition *of;
	struct definition *becomes;
};
struct rounding {
	struct program *program;
	struct arena *arena;
	enum factors factors;
	bool (*keep)(void *user, const struct definition *);
	void *user;
	bool inside; /* a body's steady and sliced inputs are rounded outside */
	VECTOR(struct rounded) made;
};

static const struct expr *number(struct rounding *r, int64_t n) { return expr_integer(r->arena, DTYPE_I32, n); }
static const struct expr *two(struct rounding *r, enum scalar opcode, const struct expr *a, const struct expr *b)
{
	return expr_scalar(r->arena, opcode, a, b, NULL);
}

/* Without its last `bits`: half of what they can be is added first, less one where the bit before them is 0. */
static const struct expr *rounded_bits(struct rounding *r, const struct expr *x, int bits)
{
	const struct expr *code = expr_cast_as(r->arena, DTYPE_I32, CAST_BITS, x);
	const struct expr *odd = two(r, SCALAR_and, two(r, SCALAR_shr, code, number(r, bits)), number(r, 1));
	const struct expr *up = two(r, SCALAR_add, code, two(r, SCALAR_add, odd, number(r, (1 << (bits - 1)) - 1)));
	const struct expr *cut =
	        expr_cast_as(r->arena, DTYPE_F32, CAST_BITS, two(r, SCALAR_and, up, number(r, -(INT64_C(1) << bits))));
	const struct expr *small = two(r, SCALAR_less, expr_scalar(r->arena, SCALAR_abs, x, NULL, NULL),
	        expr_number(r->arena, DTYPE_F32, 0x1p-126));
	const struct expr *zero =
	        expr_cast_as(r->arena, DTYPE_F32, CAST_BITS, two(r, SCALAR_and, code, number(r, INT32_MIN)));
	const struct expr *flushed = expr_scalar(r->arena, SCALAR_where, small, zero, cut);
	const struct expr *nan = expr_cast_as(r->arena, DTYPE_F32, CAST_BITS, /* whatever is cut off of it */
	        two(r, SCALAR_or, code, number(r, 1 << 22)));
	return expr_scalar(r->arena, SCALAR_where, two(r, SCALAR_equal, x, x), flushed, nan);
}

static const struct expr *scalar_of(const struct expr *e, enum scalar opcode, int arg)
{
	return e && expr_is(e, opcode) ? e->arg[arg] : NULL;
}
static const struct expr *bits_in(const struct expr *e)
{
	return e && e->kind == EXPR_CAST && e->cast & CAST_BITS ? e->arg[0] : NULL;
}
const struct expr *bfloat_of(const struct expr *e)
{
	const struct expr *x = scalar_of(scalar_of(e, SCALAR_where, 0), SCALAR_equal, 0),
	                  *flushed = scalar_of(scalar_of(e, SCALAR_where, 1), SCALAR_where, 2),
	                  *kept = scalar_of(bits_in(flushed), SCALAR_and, 1),
	                  *nan = scalar_of(bits_in(scalar_of(e, SCALAR_where, 2)), SCALAR_or, 1);
	return x && kept && kept->kind == EXPR_NUMBER && kept->integer == -(1 << 16) && nan && nan->kind == EXPR_NUMBER
	                && nan->integer == 1 << 22
	        ? x
	        : NULL;
}

static const struct expr *rounded(struct rounding *r, const struct expr *x)
{
	if (r->factors == FACTORS_F16)
		return expr_cast(r->arena, DTYPE_F32, expr_cast(r->arena, DTYPE_F16, x));
	return rounded_bits(r, x, r->factors == FACTORS_BF16 ? 16 : 13);
}

/* Its elements, rounded; made once for all that multiply it. */
static struct definition *rounded_tensor(struct rounding *r, struct definition *of)
{
	if (of->rounded)
		return of;
	FOR_ALL (i, r->made)
		if (r->made.at[i].of == of)
			return r->made.at[i].becomes;
	struct definition *d =
	        define_map(r->program, arena_printf(r->arena, "%s.%s", of->name, factors_words[r->factors]), of->rank,
	                of->extents, rounded(r, expr_load_own(r->arena, of)));
	memcpy(d->count.of, of->count.of, sizeof d->count.of);
	keep_origin(d, of);
	d->rounded = r->factors;
	if (of->source == SOURCE_CONSTANT)
		definition_fold(r->program, d);
	push(r->arena, &r->made, (struct rounded){ of, d });
	return d;
}

/* ---- --store bf16 ---- */

/* The tensor of a factor that is stored in 16 bits if the other one is constant; NULL: it is none. */
static struct definition *stored_factor(const struct expr *factor, const struct expr *other)
{
	if (factor->kind == EXPR_SELECT && factor->arg[1]->kind == EXPR_NUMBER)
		factor = factor->arg[0];
	return factor->kind == EXPR_LOAD && factor->of->source == SOURCE_COMPUTED && !factor->of->port.is_output
	                && expr_is_constant(other)
	        ? factor->of
	        : NULL;
}

static bool is_strict(const struct rounding *r, const struct definition *d)
{
	return program_rewrite(r->program, d) || (r->keep && r->keep(r->user, d));
}

static void see_strict(void *user, const struct expr *load) { ((bool *)user)[load->of->number] = false; }

static struct definition *as_stored(const void *user, struct definition *of)
{
	const struct rounding *r = user;
	FOR_ALL (i, r->made)
		if (r->made.at[i].of == of && r->made.at[i].becomes->is_stored)
			return r->made.at[i].becomes;
	return of;
}
static const struct expr *read_stored(void *user, const struct expr *expr)
{
	return expr_redirect(((struct rounding *)user)->arena, expr, as_stored, user);
}

static void store_factors(struct rounding *r)
{
	struct program *program = r->program;
	bool *stored = arena_new_array(r->arena, bool, program->all.count + 1);
	VECTOR(struct definition *) readers = { 0 };
	FOR_EACH (const struct definition *d, program->all) {
		const struct definition *of;
		for (int f = 0; d->sum.products && d->type == DTYPE_F32 && f < 2 && !is_strict(r, d); f++)
			if ((of = stored_factor(d->body->arg[f], d->body->arg[1 - f])))
				stored[of->number] = true;
	}
	FOR_ALL (i, program->all)
		if (program->all.at[i]->source == SOURCE_COMPUTED && is_strict(r, program->all.at[i]))
			definition_loads(program->all.at[i], see_strict, stored);
		else if (program->all.at[i]->source == SOURCE_COMPUTED)
			push(r->arena, &readers, program->all.at[i]);
	for (size_t i = program->all.count - 1; i-- > 0;) /* from behind: numbers in front stay */
		if (stored[i]) {
			size_t before = program->all.count;
			rounded_tensor(r, program->all.at[i])->is_stored = true;
			program_move(program, before, program->all.at[i + 1]);
		}
	FOR_ALL (i, readers)
		definition_map(readers.at[i], read_stored, r);
}

/* Is it rounded outside of the body? */
static bool comes_rounded(const struct rounding *r, const struct definition *of)
{
	return r->inside && of->source == SOURCE_INPUT && definition_is_factor(r->program, of);
}

static const struct expr *rounded_factor(struct rounding *r, const struct expr *factor)
{
	if (factor->kind == EXPR_SELECT && factor->arg[1]->kind == EXPR_NUMBER)
		return expr_select(r->arena, factor->ranges, factor->range_count, rounded_factor(r, factor->arg[0]),
		        factor->arg[1]);
	if (factor->kind != EXPR_LOAD)
		return rounded(r, factor);
	return comes_rounded(r, factor->of) ? factor : expr_load(r->arena, rounded_tensor(r, factor->of), factor->at);
}

static void round_sum(struct rounding *r, struct definition *sum)
{
	const struct expr *const *factor = (const struct expr *const *)sum->body->arg;
	if (factor[0] == factor[1])
		return;
	sum->body = two(r, SCALAR_mul, rounded_factor(r, factor[0]), rounded_factor(r, factor[1]));
	sum->sum.factors = r->factors;
}

static void round_program(struct rounding *r);

/* What runs round after round: operands that its body only multiplies are rounded once, but for those that rounds hand
 * on. */
static void round_repeat(struct rounding *r, struct definition *d)
{
	struct program *body = d->loop.repeat->body;
	struct rounding inner = *r;
	const struct expr **operand = arena_new_array(r->arena, const struct expr *, (size_t)d->loop.operands + 1);
	FOR (o, d->loop.operands) {
		const struct definition *input = body->inputs.at[o];
		operand[o] = d->loop.operand[o];
		if (d->loop.repeat->in[o].moves != REPEAT_CARRIED && input->type == DTYPE_F32
		        && definition_is_factor(body, input))
			operand[o] = expr_load(r->arena, rounded_tensor(r, operand[o]->of), operand[o]->at);
	}
	d->loop.operand = operand;
	inner.program = body;
	inner.arena = body->arena;
	inner.inside = true;
	memset(&inner.made, 0, sizeof inner.made);
	round_program(&inner);
}

static void round_program(struct rounding *r)
{
	FOR_ALL (i, r->program->all) {
		struct definition *d = r->program->all.at[i];
		size_t before = r->program->all.count;
		if (d->source != SOURCE_COMPUTED || is_strict(r, d))
			continue;
		if (definition_repeats(d) == d && d->loop.repeat)
			round_repeat(r, d);
		else if (d->sum.products && d->type == DTYPE_F32)
			round_sum(r, d);
		program_move(r->program, before, d);
		i = (size_t)d->number;
	}
}

void round_factors(struct program *program, enum factors factors, enum stored stored,
        bool (*keep)(void *user, const struct definition *), void *user)
{
	struct rounding r = {
		.program = program, .arena = program->arena, .factors = factors, .keep = keep, .user = user
	};
	if (stored == STORED_BF16 && program->all.count)
		store_factors(&r);
	round_program(&r);
}
