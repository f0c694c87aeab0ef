/* codes.c: weights of 8, 4 or 2 bits that a product widens while it reads them: (code - zero point) * scale, as
 * DequantizeLinear defines it; or floats of 8 bits, by a scale or by none.  The library has them panel by panel, and there block by block: the block's scales, its
 * zero points where they differ, then words of 32 bits, each with the codes of neighbouring terms of one column, the
 * first one lowest. */
#include <math.h>
#include "definitions/narrow.h"
#include "kernels/kernels.h"

/* ---- (float)(code - zero) * scale ---- */
static const struct expr *constant_load(const struct expr *e, enum dtype to)
{
	if (e->kind == EXPR_CAST && !e->cast && e->type == to)
		e = e->arg[0];
	return e->kind == EXPR_LOAD && e->of->source == SOURCE_CONSTANT ? e : NULL;
}

static const struct expr *byte_load(const struct expr *e, enum dtype to)
{
	const struct expr *load = constant_load(e, to);
	return load && (load->type == DTYPE_I8 || load->type == DTYPE_U8) ? load : NULL;
}

/* The bits of the exponent of a float of 8 bits; 0: it is no such thing. */
static int float8_exponent(enum dtype type) { return dtypes[type].bits == 8 ? narrows[type].exponent : 0; }

static const struct expr *float8_load(const struct expr *e)
{
	const struct expr *load = e->kind == EXPR_CAST && e->type == DTYPE_F32 ? constant_load(e, DTYPE_F32) : NULL;
	return load && float8_exponent(load->type) ? load : NULL;
}

bool codes_match(const struct expr *e, struct code_loads *l)
{
	*l = (struct code_loads){ NULL, NULL, NULL };
	if ((l->code = float8_load(e)))
		return true;
	if (e->kind != EXPR_SCALAR || e->opcode != SCALAR_mul || e->type != DTYPE_F32)
		return false;
	const struct expr *value = e->arg[0];
	l->code = float8_load(value);
	l->scale = constant_load(e->arg[1], DTYPE_F32);
	if (l->code || !l->scale || l->scale->type != DTYPE_F32 || value->kind != EXPR_CAST || value->cast)
		return l->code && l->scale && l->scale->type == DTYPE_F32;
	const struct expr *less = value->arg[0];
	if (less->kind == EXPR_SCALAR && less->opcode == SCALAR_sub && less->type == DTYPE_I32) {
		l->code = byte_load(less->arg[0], DTYPE_I32);
		l->zero = byte_load(less->arg[1], DTYPE_I32);
		return l->code && l->zero && l->zero->type == l->code->type;
	}
	l->code = byte_load(value, DTYPE_F32);
	return l->code;
}

static bool load_uses(const struct expr *load, int v) { return load && expr_uses(load, v); }

/* The only term that moves; -1: there are several, or none. */
static int only_term(const struct definition *sum)
{
	int term = -1;
	FOR (k, sum->reduced)
		if (sum->reduced_extents[k] > 1) {
			if (term >= 0 || sum->count.reduced[k])
				return -1;
			term = sum->rank + k;
		}
	return term;
}

/* Neighbouring terms that share a scale and a zero point, as many as divide all of them. */
static int64_t terms_alike(const struct code_loads *l, int term, int64_t terms)
{
	int64_t alike = terms, v[MAX_VARS] = { 0 };
	const struct expr *loads[] = { l->scale, l->zero };
	FOR (i, 2)
		for (int d = 0; loads[i] && d < loads[i]->rank; d++) {
			int64_t last = 0;
			for (v[term] = 0; index_uses(loads[i]->at[d], term) && v[term] < terms; v[term]++) {
				int64_t at = index_evaluate(loads[i]->at[d], v, NULL, NULL);
				for (int64_t a = v[term]; v[term] && at != last && a;) {
					int64_t rest = alike % a;
					alike = a;
					a = rest;
				}
				last = at;
			}
			v[term] = 0;
		}
	return alike;
}

static int64_t byte_at(const struct definition *d, int64_t i)
{
	return d->type == DTYPE_I8 ? ((const signed char *)definition_data(d))[i]
	                           : ((const unsigned char *)definition_data(d))[i];
}

/* As few as the codes take; what is signed lies half their range higher. */
static int bits_of(const struct definition *codes)
{
	int bits = float8_exponent(codes->type) ? 8 : 2;
	for (int64_t i = 0, n = definition_elements(codes); i < n && bits < 8; i++) {
		int64_t x = byte_at(codes, i);
		while (bits < 8
		        && (codes->type == DTYPE_I8 ? x < -(1 << (bits - 1)) || x >= 1 << (bits - 1) : x >= 1 << bits))
			bits *= 2;
	}
	return bits;
}

static int64_t half_of_range(const struct code_loads *l, int bits)
{
	return l->code->type == DTYPE_I8 ? INT64_C(1) << (bits - 1) : 0;
}

/* What the word that widens floats of 8 bits makes of one is that by a power of two, which is the scale's: no bit is
 * lost, as neither the code is NaN or an infinity nor the scale leaves float32. */
static int scale_power(enum dtype type)
{
	int exponent = float8_exponent(type);
	return exponent ? (1 << exponent) - 1 - narrows[type].bias : 0;
}

static bool floats_fit(const struct code_loads *l)
{
	const float *scales = l->scale ? definition_data(l->scale->of) : NULL;
	bool known[256] = { 0 };
	for (int64_t i = 0, n = definition_elements(l->code->of); i < n; i++)
		known[(unsigned char)byte_at(l->code->of, i)] = true;
	for (unsigned x = 0; float8_exponent(l->code->type) && x < 256; x++)
		if (known[x] && !isfinite(narrow_value(l->code->type, x)))
			return false;
	for (int64_t i = 0, n = scales ? definition_elements(l->scale->of) : 0; i < n; i++)
		if (isfinite(scales[i]) && !isfinite(ldexpf(scales[i], scale_power(l->code->type))))
			return false;
	return true;
}

bool codes_split(const struct program *program, struct definition *sum, int factor)
{
	struct code_loads l;
	int term = only_term(sum);
	if (term < 0 || !codes_match(sum->body->arg[factor], &l) || !load_uses(l.code, term))
		return false;
	int64_t terms = sum->reduced_extents[term - sum->rank], alike = terms_alike(&l, term, terms);
	if (alike % (32 / bits_of(l.code->of)) || !floats_fit(&l) || sum->rank + sum->reduced >= MAX_RANK)
		return false;
	if (alike < terms) {
		const struct index *with[MAX_VARS] = { 0 };
		for (int v = term + 1; v < sum->rank + sum->reduced; v++)
			with[v] = index_var(program->arena, v + 1, 1);
		with[term] = index_add(program->arena,
		        index_scale(program->arena, index_var(program->arena, term, terms / alike), alike),
		        index_var(program->arena, term + 1, alike));
		for (int k = sum->reduced++; k > term - sum->rank; k--)
			sum->reduced_extents[k] = sum->reduced_extents[k - 1];
		sum->reduced_extents[term - sum->rank] = terms / alike;
		sum->reduced_extents[term + 1 - sum->rank] = alike;
		sum->body = expr_substitute(program->arena, sum->body, with);
	}
	return codes_widened(sum, sum->body->arg[factor]);
}

const struct expr *codes_widened(const struct definition *sum, const struct expr *factor)
{
	struct code_loads l;
	int last = -1, terms = 0;
	for (int v = sum->rank; v < sum->rank + sum->reduced; v++)
		if (sum->reduced_extents[v - sum->rank] > 1) {
			last = v;
			terms++;
		}
	return last >= 0 && terms <= 2 && codes_match(factor, &l) && !load_uses(l.scale, last)
	                && !load_uses(l.zero, last)
	        ? l.code
	        : NULL;
}

/* ---- in panels ---- */

/* The zero point of all, as they are stored; -1: they differ. */
static int64_t zero_of_all(const struct code_loads *l, int bits)
{
	int64_t half = half_of_range(l, bits);
	for (int64_t i = 1, n = l->zero ? definition_elements(l->zero->of) : 0; i < n; i++)
		if (byte_at(l->zero->of, i) != byte_at(l->zero->of, 0))
			return -1;
	return (l->zero ? byte_at(l->zero->of, 0) : 0) + half;
}

void codes_choose(struct contraction *c)
{
	struct code_loads l;
	if (!c->roles.widened || !codes_match(c->roles.widened, &l))
		return;
	c->codes.bits = bits_of(l.code->of);
	c->codes.exponent = float8_exponent(l.code->type);
	int64_t zero = zero_of_all(&l, c->codes.bits);
	c->codes.zeros = zero < 0;
	c->codes.zero = zero < 0 ? 0 : zero;
}

int64_t codes_alike(const struct contraction *c) { return c->extents[c->column + c->terms]; }

static int64_t code_blocks(const struct contraction *c) { return c->terms > 1 ? c->extents[c->column + 1] : 1; }

static int64_t words_of(const struct contraction *c, int64_t terms)
{
	return 1 + c->codes.zeros + terms * c->codes.bits / 32;
}

int64_t codes_words(const struct contraction *c) { return code_blocks(c) * words_of(c, codes_alike(c)); }

bool codes_in_groups(const struct contraction *c)
{
	return c->codes.bits && code_blocks(c) > 1 && codes_alike(c) < c->block.depth;
}

int64_t codes_chunk(const struct contraction *c)
{
	int64_t alike = codes_alike(c), depth = c->block.depth;
	if (depth * c->codes.bits % 32 || (code_blocks(c) > 1 && alike % depth && depth % alike))
		return 0;
	return codes_in_groups(c) ? depth / alike * words_of(c, alike) : words_of(c, depth);
}

struct code_packing {
	const struct contraction *c;
	int lanes;
};

static int64_t element_of(const struct expr *load, const int64_t *v)
{
	int64_t element = 0;
	FOR (d, load->rank)
		element = element * load->of->extents[d] + index_evaluate(load->at[d], v, NULL, NULL);
	return element;
}

/* The words of a column in a block, `width` apart.  Zero points lie over 2^23, of which a code makes the last bits: one
 * subtraction makes a float of it, less its zero point. */
enum { OVER_CODES = 1 << 23 };
static void pack_column(
        const struct contraction *c, const struct code_loads *l, int64_t *v, int64_t width, uint32_t *to)
{
	int64_t inner = c->column + c->terms, alike = c->extents[inner], half = half_of_range(l, c->codes.bits);
	v[inner] = 0;
	float scale = l->scale ? ((const float *)definition_data(l->scale->of))[element_of(l->scale, v)] : 1;
	scale = ldexpf(scale, scale_power(l->code->type));
	memcpy(to, &scale, sizeof scale);
	to += width;
	if (c->codes.zeros) {
		float zero = (float)(OVER_CODES + byte_at(l->zero->of, element_of(l->zero, v)) + half);
		memcpy(to, &zero, sizeof zero);
		to += width;
	}
	bool affine = index_is_affine(c->b_at);
	int64_t first = index_evaluate(c->b_at, v, NULL, NULL), step = affine ? index_factor(c->b_at, (int)inner) : 0;
	for (int at = 0; v[inner] < alike; v[inner]++) {
		int64_t element = affine ? first + step * v[inner] : index_evaluate(c->b_at, v, NULL, NULL);
		*to |= (uint32_t)(byte_at(c->b->of, element) + half) << at;
		at += c->codes.bits;
		if (at == 32) {
			at = 0;
			to += width;
		}
	}
}

/* One panel of a batch. */
static size_t fill_codes(const struct constant_item *item, int64_t piece, void *out)
{
	const struct code_packing *p = item->detail;
	const struct contraction *c = p->c;
	int64_t v[MAX_VARS] = { 0 }, columns = c->extents[c->column], vecs = ceil_div(columns, p->lanes),
	        at = c->panels ? piece % c->panels : 0, rest = c->panels ? piece / c->panels : 1,
	        words = codes_words(c);
	for (int b = c->batches - 1; b >= 0; rest /= c->extents[b], b--)
		v[b] = rest % c->extents[b];
	if (rest)
		return 0;
	int64_t first = vecs * at / c->panels * p->lanes, width = vecs * (at + 1) / c->panels * p->lanes - first,
	        blocks = code_blocks(c);
	if (!out)
		return (size_t)(words * width) * 4;
	struct code_loads l;
	codes_match(c->arranged.wide, &l);
	memset(out, 0, (size_t)(words * width) * 4);
	FOR (block, blocks)
		for (int64_t j = 0; j < width && first + j < columns; j++) {
			v[c->column + 1] = block;
			v[c->column] = first + j;
			pack_column(c, &l, v, width, (uint32_t *)out + words / blocks * block * width + j);
		}
	return (size_t)(words * width) * 4;
}

struct definition *codes_pack(struct lowered *lowered, const struct contraction *c, int64_t columns)
{
	struct code_packing *packing = arena_new(lowered->arena, struct code_packing);
	*packing = (struct code_packing){ c, lowered->target->lanes };
	int64_t words = columns * codes_words(c) * extents_product(c->batches, c->extents);
	return lowered_constant(lowered, arena_printf(lowered->arena, "%s.packed", c->b->of->name), DTYPE_I32, words,
	        fill_codes, packing);
}
