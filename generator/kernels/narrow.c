/* narrow.c: definitions -> definitions.  What reads a constant that a map made of fewer bytes reads those instead, and
 * the map is part of it: quantised weights, and float16, stand in flash as the model has them.  The map is the one that
 * the constant was computed by, so no bit changes. */
#include "kernels/kernels.h"

/* The constant that the original has an element of for each of its own, and of fewer bytes; NULL: there is none, or it
 * costs more than a few instructions. */
struct sought {
	const struct definition *wide;
	struct definition *narrow;
	bool others;
};
static void look(void *user, const struct expr *load)
{
	struct sought *s = user;
	s->others |= load->of->source != SOURCE_CONSTANT;
	if (definition_elements(load->of) == definition_elements(s->wide)
	        && dtypes[load->of->type].bits < dtypes[s->wide->type].bits)
		s->narrow = load->of;
}

enum { COST_MOST = 8 };
static bool was_narrow(const struct definition *d)
{
	struct sought s = { .wide = d };
	if (d->source != SOURCE_CONSTANT || !d->original || d->port.is_output || d->original->reduce != REDUCE_NONE
	        || definition_elements(d) < 2)
		return false;
	definition_loads(d->original, look, &s);
	return s.narrow && !s.others && expr_cost(d->original->body) <= COST_MOST;
}

/* A constant of the original, which may stand outside the program, in front of all that may read it. */
struct keeping {
	struct program *program;
	const struct definition *wide;
};
static struct definition *inside(const void *user, struct definition *of)
{
	struct program *program = ((const struct keeping *)user)->program;
	size_t before = program->all.count;
	struct definition *constant = program_constant(program, of);
	program_move(program, before, program->all.at[0]);
	return constant;
}

static const struct expr *widen(void *user, const struct expr *load)
{
	const struct keeping *k = user;
	return load->of == k->wide ? expr_substitute(k->program->arena, k->wide->original->body, load->at) : load;
}
static const struct expr *widen_all(void *user, const struct expr *expr)
{
	return expr_map_loads(((const struct keeping *)user)->program->arena, expr, widen, user);
}

/* Of a sum of products only as far as it stays one that a kernel's shape has. */
static void widen_in(struct keeping *keeping, struct definition *reader)
{
	const struct definition before = *reader;
	definition_map(reader, widen_all, keeping);
	for (int i = 0; reader->sum.products && i < 2; i++)
		if (reader->body->arg[i] != before.body->arg[i] && !contraction_widened(reader, reader->body->arg[i]))
			*reader = before;
}

void keep_narrow(struct program *program)
{
	VECTOR(struct definition *) wide = { 0 };
	FOR_EACH (struct definition *each, program->all) {
		if (was_narrow(each))
			push(program->arena, &wide, each);
	}
	FOR_ALL (w, wide) {
		struct keeping keeping = { program, wide.at[w] };
		struct definition *d = wide.at[w];
		d->original->body = expr_redirect(program->arena, d->original->body, inside, &keeping);
		FOR_EACH (struct definition *one, program->all) {
			if (one->source == SOURCE_COMPUTED && one->reduce != REDUCE_REPEAT)
				widen_in(&keeping, one);
		}
	}
}

/* ---- large weights of 16, 8, 4 or 2 bits ---- */
enum { LARGE_LEAST = 1 << 20 }; /* bytes, as floats */

/* What a tensor's elements are of a constant of 16 bits, or of codes, over its own variables; NULL: it is no such
 * thing. */
static const struct expr *narrow_of(struct arena *arena, const struct definition *d)
{
	const struct definition *from = d->source == SOURCE_CONSTANT ? d->original : d;
	if (!from || from->source != SOURCE_COMPUTED || from->reduce != REDUCE_NONE || from->lies || d->port.is_output
	        || d->type != DTYPE_F32)
		return NULL;
	const struct expr *body = from->body;
	if (body->kind == EXPR_LOAD) { /* moved */
		const struct expr *inner = narrow_of(arena, body->of);
		return inner ? expr_substitute(arena, inner, body->at) : NULL;
	}
	struct code_loads codes;
	if (codes_match(body, &codes))
		return body;
	const struct expr *load = body->kind == EXPR_CAST && !(body->cast & CAST_BITS) ? body->arg[0] : NULL;
	return load && load->kind == EXPR_LOAD && load->of->source == SOURCE_CONSTANT
	                && (load->type == DTYPE_F16 || load->type == DTYPE_BF16)
	        ? body
	        : NULL;
}

/* A sum that reads it as its second factor in a tile, and not in another way; the factor's place, or -1. */
static int factor_of(const struct program *program, const struct target *target, struct definition *sum,
        const struct definition *wide)
{
	const struct product *product = product_of(target, sum);
	if (!product || !product_is_fma(product) || program_rewrite(program, sum))
		return -1;
	FOR (i, 2)
		if (sum->body->arg[i]->kind == EXPR_LOAD && sum->body->arg[i]->of == wide
		        && !(sum->body->arg[1 - i]->kind == EXPR_LOAD && sum->body->arg[1 - i]->of == wide))
			return i;
	return -1;
}

struct reading {
	const struct definition *of;
	bool reads;
};
static void see_reading(void *user, const struct expr *load)
{
	struct reading *r = user;
	r->reads |= load->of == r->of;
}

/* The JIT's tiles that widen have few rows: of more rows weights are floats there. */
enum { JIT_ROWS_LESS = 12 };
static bool has_tile(const struct target *target, const struct definition *sum, int factor)
{
	int64_t rows = 1;
	FOR (v, sum->rank)
		rows *= expr_uses(sum->body->arg[factor], v) ? 1 : sum->extents[v];
	return !target->calls || rows < JIT_ROWS_LESS;
}

/* What reads that instead: the sum is changed.  False: it has no such tile, and is as it was. */
static bool reads_narrow(struct program *program, const struct target *target, struct definition *sum,
        const struct definition *wide, const struct expr *body)
{
	struct code_loads codes;
	int f = factor_of(program, target, sum, wide);
	if (f < 0 || !has_tile(target, sum, f))
		return false;
	const struct definition before = *sum;
	const struct expr *factor[2] = { sum->body->arg[0], sum->body->arg[1] };
	factor[f] = expr_substitute(program->arena, body, factor[f]->at);
	sum->body = expr_scalar(program->arena, SCALAR_mul, factor[0], factor[1], NULL);
	if (product_b(sum) == f
	        && (codes_match(factor[f], &codes) ? codes_split(program, sum, f)
	                                           : contraction_widened(sum, factor[f]) != NULL))
		return true;
	*sum = before;
	return false;
}

/* All its readers read that, or none does. */
static void narrow_readers(struct program *program, const struct target *target, struct definition *wide)
{
	struct keeping keeping = { program, wide };
	const struct expr *body = narrow_of(program->arena, wide);
	struct changed {
		struct definition *sum, before;
	};
	VECTOR(struct changed) changed = { 0 };
	bool all = true;
	for (size_t i = 0; all && i < program->all.count; i++) {
		struct definition *d = program->all.at[i];
		struct reading reading = { wide, d->source == SOURCE_COMPUTED && d->reduce == REDUCE_REPEAT };
		if (d->source != SOURCE_COMPUTED || d == wide)
			continue;
		definition_loads(d, see_reading, &reading);
		if (!reading.reads)
			continue;
		push(program->arena, &changed, (struct changed){ d, *d });
		all = reads_narrow(program, target, d, wide, body);
	}
	FOR_ALL (i, changed)
		if (all)
			changed.at[i].sum->body =
			        expr_redirect(program->arena, changed.at[i].sum->body, inside, &keeping);
		else
			*changed.at[i].sum = changed.at[i].before;
}

void keep_large(struct program *program, const struct target *target)
{
	VECTOR(struct definition *) wide = { 0 };
	FOR_EACH (struct definition *d, program->all) {
		if (definition_elements(d) * 4 >= LARGE_LEAST && narrow_of(program->arena, d))
			push(program->arena, &wide, d);
	}
	FOR_ALL (w, wide)
		narrow_readers(program, target, wide.at[w]);
	program_remove_dead(program);
}

/* ---- codes of 16 bits ---- */

/* They alone are stored, where an instruction takes pairs of them; of bfloat16 the upper halves:
 *
 *     x.bf16 = round(x)      becomes      x.codes = uint16(bits(round(x)) >> 16), x.bf16 = float(x.codes << 16) */
void keep_codes(struct program *program, struct definition *d)
{
	struct arena *arena = program->arena;
	const struct expr *bits = expr_integer(arena, DTYPE_I32, 16);
	bool half = d->rounded == FACTORS_F16;
	size_t before = program->all.count;
	struct definition *codes = define_map(program, arena_printf(arena, "%s.codes", d->name), d->rank, d->extents,
	        half ? expr_cast_as(arena, DTYPE_U16, CAST_BITS, expr_cast(arena, DTYPE_F16, d->body))
	             : expr_cast(arena, DTYPE_U16,
	                     expr_scalar(arena, SCALAR_shr, expr_cast_as(arena, DTYPE_I32, CAST_BITS, d->body), bits,
	                             NULL)));
	memcpy(codes->count.of, d->count.of, sizeof d->count.of);
	memcpy(codes->count.ends, d->count.ends, sizeof d->count.ends);
	keep_origin(codes, d);
	program_move(program, before, d);
	scheduled(d)->widens = true;
	const struct expr *code = expr_load_own(arena, codes);
	d->body = half ? expr_cast(arena, DTYPE_F32, expr_cast_as(arena, DTYPE_F16, CAST_BITS, code))
	               : expr_cast_as(arena, DTYPE_F32, CAST_BITS,
	                       expr_scalar(arena, SCALAR_shl, expr_cast(arena, DTYPE_I32, code), bits, NULL));
}
