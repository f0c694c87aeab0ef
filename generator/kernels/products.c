/* products.c: the table of products, and sums of products of small integers -> the same sums over dwords.
 *
 * A dword is 32 bits in which the terms that one instruction multiplies lie side by side.  sum(k) a[i, k] * b[k, j]
 * becomes sum(k / 4) dot8(a', b') where a'[i, k / 4] and b'[k / 4, j] are definitions of their own: zero points and
 * borders are in them, constants are packed when the library is made, and what is left is a contraction as any other,
 * with an instruction of its own.  Sums of integers wrap around, so any order is exact. */
#include "kernels/kernels.h"

/* Best first; what makes a matrix of results takes the dwords of a row above it, and stands behind all of those. */
static const struct product products[] = {
	{ "bf16", 1, 1, 2, 0, 1, false, DTYPE_BF16, DTYPE_BF16, DTYPE_F32, SCALAR_mul, "vec_fma_bf16" },
	{ "f16", 1, 1, 2, 0, 1, false, DTYPE_F16, DTYPE_F16, DTYPE_F32, SCALAR_mul, "vec_fma_f16" },
	{ "fma", 1, 1, 1, 0, 1, false, DTYPE_F32, DTYPE_F32, DTYPE_F32, SCALAR_mul, "vec_fma" },
	{ "f64", 1, 1, 1, 0, 1, false, DTYPE_F64, DTYPE_F64, DTYPE_F64, SCALAR_mul, "f64_mul_add" },
	{ "dot8u", 1, 1, 4, 0, 1, false, DTYPE_U8, DTYPE_I8, DTYPE_I32, SCALAR_dot8u, "ivec_dot8u" },
	{ "dot8x4", 1, 1, 4, 0, 4, false, DTYPE_I8, DTYPE_I8, DTYPE_I32, SCALAR_dot8, "ivec_dot8" },
	{ "dot8", 1, 1, 4, 0, 1, false, DTYPE_I8, DTYPE_I8, DTYPE_I32, SCALAR_dot8, "ivec_dot8" },
	{ "dot16", 1, 1, 2, 1, 1, false, DTYPE_I16, DTYPE_I16, DTYPE_I32, SCALAR_dot16, "ivec_dot16" },
	{ "mul", 1, 1, 1, 1, 1, false, DTYPE_I32, DTYPE_I32, DTYPE_I32, SCALAR_mul, "ivec_mul" },
	{ "smmla", 2, 2, 4, 0, 2, MATRIX_VECTORS, DTYPE_I8, DTYPE_I8, DTYPE_I32, SCALAR_dot8, "MATRIX_DOT8" },
	{ "usmmla", 2, 2, 4, 0, 2, MATRIX_VECTORS, DTYPE_U8, DTYPE_I8, DTYPE_I32, SCALAR_dot8u, "MATRIX_DOT8U" },
	{ "tdpbusd", 16, 16, 4, 0, 16, MATRIX_TILES, DTYPE_U8, DTYPE_I8, DTYPE_I32, SCALAR_dot8u, "MATRIX_DOT8U" },
	{ "tdpbf16ps", 16, 16, 2, 0, 16, MATRIX_TILES, DTYPE_BF16, DTYPE_BF16, DTYPE_F32, SCALAR_mul, "MATRIX_BF16" },
	{ "wgmma_s8", 16, 8, 4, 0, 8, MATRIX_GROUPS, DTYPE_I8, DTYPE_I8, DTYPE_I32, SCALAR_dot8, "MATRIX_GROUP_DOT8" },
	{ "wgmma_bf16", 16, 8, 2, 0, 8, MATRIX_GROUPS, DTYPE_BF16, DTYPE_BF16, DTYPE_F32, SCALAR_mul,
	        "MATRIX_GROUP_BF16" },
	{ "wgmma_f16", 16, 8, 2, 0, 8, MATRIX_GROUPS, DTYPE_F16, DTYPE_F16, DTYPE_F32, SCALAR_mul, "MATRIX_GROUP_F16" },
	{ "wgmma_tf32", 16, 8, 1, 0, 8, MATRIX_GROUPS, DTYPE_F32, DTYPE_F32, DTYPE_F32, SCALAR_mul,
	        "MATRIX_GROUP_TF32" },
	{ "mma_s8", 16, 8, 4, 0, 8, MATRIX_FRAGMENTS, DTYPE_I8, DTYPE_I8, DTYPE_I32, SCALAR_dot8, "MATRIX_DOT8" },
	{ "mma_bf16", 16, 8, 2, 0, 8, MATRIX_FRAGMENTS, DTYPE_BF16, DTYPE_BF16, DTYPE_F32, SCALAR_mul, "MATRIX_BF16" },
	{ "mma_f16", 16, 8, 2, 0, 8, MATRIX_FRAGMENTS, DTYPE_F16, DTYPE_F16, DTYPE_F32, SCALAR_mul, "MATRIX_F16" },
	{ "mma_tf32", 16, 8, 1, 0, 8, MATRIX_FRAGMENTS, DTYPE_F32, DTYPE_F32, DTYPE_F32, SCALAR_mul, "MATRIX_TF32" },
	{ "bfmmla", 2, 2, 2, 0, 2, MATRIX_VECTORS, DTYPE_BF16, DTYPE_BF16, DTYPE_F32, SCALAR_mul, "MATRIX_BF16" },
};

bool target_multiplies(const struct target *target, const char *name)
{
	size_t n = strlen(name);
	for (const char *p = target->products; p && (p = strstr(p, name)); p += n)
		if ((p == target->products || p[-1] == ' ') && (!p[n] || p[n] == ' '))
			return true;
	return false;
}

const struct product *product_row(size_t i)
{
	return i < COUNT(products) && !product_is_matrix(&products[i]) ? &products[i] : NULL;
}

const struct product *product_of_matrix(
        const struct target *target, const struct product *lane, const struct definition *sum)
{
	bool strict = product_is_fma(lane) && sum->sum.factors != FACTORS_TF32;
	for (size_t i = 0; i < COUNT(products) && !strict; i++)
		if (product_is_matrix(&products[i]) && products[i].opcode == lane->opcode && products[i].a == lane->a
		        && target_multiplies(target, products[i].name))
			return &products[i];
	return NULL;
}

const struct product *product_of_warp(const struct product *group)
{
	const struct product *p = group;
	while (p->parts != MATRIX_FRAGMENTS || p->opcode != group->opcode || p->a != group->a)
		p++;
	return p;
}

static bool has_product(const struct target *target, const struct product *product)
{
	return product_is_fma(product) || target_multiplies(target, product->name);
}

/* Are its dwords two floats of 16 bits, and are factors that are rounded so such? */
static bool is_of_pairs(const struct product *product) { return product->sum == DTYPE_F32 && product->k == 2; }
static bool takes_factors(const struct product *product, enum factors factors)
{
	return product->a == (factors == FACTORS_BF16 ? DTYPE_BF16 : factors == FACTORS_F16 ? DTYPE_F16 : DTYPE_F32);
}

static const struct product *lane_of_pairs(const struct target *target, const struct definition *d)
{
	const struct product *lane;
	for (size_t i = 0; (lane = product_row(i)); i++)
		if (is_of_pairs(lane) && takes_factors(lane, d->sum.factors) && has_product(target, lane))
			return lane;
	return NULL;
}

const struct product *product_of(const struct target *target, const struct definition *d)
{
	if (d->source != SOURCE_COMPUTED || d->reduce != REDUCE_SUM || !d->sum.products || d->order != ORDER_SERIAL)
		return NULL;
	const struct product *product;
	for (size_t i = 0; (product = product_row(i)); i++)
		if (product->sum == d->type && product->opcode == d->body->opcode
		        && is_of_pairs(product) == d->sum.pairs
		        && (!d->sum.pairs || takes_factors(product, d->sum.factors)) && has_product(target, product))
			return product;
	return NULL;
}

/* ---- which values an integer expression has ---- */
struct interval {
	int64_t low, high;
};

static struct interval of_type(enum dtype type)
{
	int bits = dtypes[type].bits;
	bool is_signed = dtypes[type].class == CLASS_INT;
	return (struct interval){ is_signed ? -(INT64_C(1) << (bits - 1)) : 0, (INT64_C(1) << (bits - is_signed)) - 1 };
}

static bool lies_in(struct interval a, struct interval b) { return a.low >= b.low && a.high <= b.high; }

static struct interval interval_of(const struct expr *e)
{
	struct interval is;
	expr_bounds(e, &is.low, &is.high);
	return is;
}

static bool fits(const struct expr *e, enum dtype type)
{
	return type == DTYPE_I32 || lies_in(interval_of(e), of_type(type));
}

/* ---- a factor as a tensor of dwords ---- */
struct factor {
	struct arena *arena;
	const struct definition *sum;
	int v;                   /* the sum's variable that is taken in groups */
	int together;            /* dwords of v: a multiple of it … */
	int64_t dwords;          /* … and how many there are */
	const struct expr *load; /* what knows it: its dims are those of the dwords */
	int loads;
	bool fits;
	bool innermost;      /* v is the last dim, wherever the load has it, and neighbours lie side by side */
	bool codes;          /* it is a float of a code, of as many as there are dwords for */
	bool whole;          /* the other dims are the load's own: who reads the dwords says where there are none */
	bool windows;        /* v may be a window's: terms are repeated for each place of it */
	bool kept[MAX_VARS]; /* the sum's variables that are dims of it … */
	const struct index *with[MAX_VARS]; /* … and which; v: the term */
	const struct index *at[MAX_RANK];   /* load's indices over the dwords' dims … */
	const struct index *from[MAX_RANK]; /* … and the dwords' dims over the sum's variables */
	int rank;                           /* of the dwords */
	int64_t extents[MAX_RANK];
};

static void see_load(void *user, const struct expr *load)
{
	struct factor *f = user;
	bool uses = false;
	FOR (d, load->of->rank)
		uses |= index_uses(load->at[d], f->v);
	if (!uses)
		return;
	f->fits &= !f->loads++ || expr_equal(f->load, load);
	f->load = load;
}

/* A dim of the dwords: the sum's variable as it is, or, v, in groups of `each`. */
static void add_dim(struct factor *f, int v, int64_t extent, int64_t each)
{
	int d = f->rank++;
	f->extents[d] = extent;
	f->from[d] = index_var(f->arena, v, extent);
	f->with[v] = index_scale(f->arena, index_var(f->arena, d, extent), each);
	f->kept[v] = true;
}

/* Which variable counts the groups where the index is e of a group of as many as v has; -1: it is no such index. */
static int group_of(const struct factor *f, const struct index *at)
{
	int64_t terms = definition_extent(f->sum, f->v);
	for (int i = 0; i < at->count && at->count == 2 && !at->constant && index_factor(at, f->v) == 1; i++) {
		const struct atom *atom = at->terms[i].atom;
		if (atom->kind == ATOM_VAR && atom->var != f->v && at->terms[i].factor == terms && !f->kept[atom->var])
			return atom->var;
	}
	return -1;
}

/* Which variable moves the window whose index is that and v's alone; -1: it is no such index. */
static int place_of(const struct factor *f, const struct index *at)
{
	int place = -1;
	for (int i = 0; i < at->count && f->windows && at->count == 2; i++) {
		const struct atom *atom = at->terms[i].atom;
		if (atom->kind == ATOM_VAR && atom->var != f->v && atom->var < f->sum->rank && !f->kept[atom->var])
			place = atom->var;
	}
	return place;
}

/* The dims of the dwords: those of the load, of which one is v in groups of `each`; one that is v and a group of a
 * grouped convolution becomes two. */
static bool find_dims(struct factor *f, const struct expr *factor, int64_t each)
{
	bool grouped = false;
	f->fits = true;
	expr_loads(factor, see_load, f);
	if (!f->load || !f->fits)
		return false;
	for (int d = 0, v; d < f->load->of->rank; d++) {
		const struct index *at = f->load->at[d];
		const struct atom *atom = at->count == 1 ? at->terms[0].atom : NULL;
		int64_t low, high;
		if (index_uses(at, f->v)) {
			int group = group_of(f, at);
			group = group < 0 ? place_of(f, at) : group;
			if (grouped || (group < 0 && !index_is_var(at, &v)) || f->rank + 1 + (group >= 0) > MAX_RANK)
				return false;
			if (group >= 0)
				add_dim(f, group, definition_extent(f->sum, group), 1);
			grouped = true;
			f->dwords = ceil_div(definition_extent(f->sum, f->v), each);
			if (f->dwords > 4 || f->together < 4) /* what is shorter goes on in the next term, or ends */
				f->dwords += (f->together - f->dwords % f->together) % f->together;
			if (!f->innermost)
				add_dim(f, f->v, f->dwords, each);
		} else if (f->rank == MAX_RANK)
			return false;
		else if (f->whole && index_is_affine(at)) {
			f->extents[f->rank] = f->load->of->extents[d];
			f->from[f->rank] = at;
			f->at[d] = index_var(f->arena, f->rank, f->extents[f->rank]);
			f->rank++;
		} else if (atom && atom->kind == ATOM_VAR && !f->kept[atom->var])
			add_dim(f, atom->var, definition_extent(f->sum, atom->var), 1);
		else if (index_is_affine(at)) { /* a window: all that it sees, borders too */
			int n = f->rank++;
			index_range(at, &low, &high);
			f->extents[n] = high - low + 1;
			f->from[n] = index_plus(f->arena, at, -low);
			f->at[d] = index_plus(f->arena, index_var(f->arena, n, f->extents[n]), low);
		} else
			return false;
	}
	if (grouped && f->innermost && f->rank == MAX_RANK)
		return false;
	if (grouped && f->innermost)
		add_dim(f, f->v, f->dwords, each);
	return grouped;
}

static const struct index *moved_index(struct rewriter *r, const struct index *index)
{
	struct factor *f = r->user;
	FOR (d, f->load->of->rank)
		if (f->at[d] && index->count && index_equal(index, f->load->at[d]))
			return f->at[d];
	FOR (v, MAX_VARS)
		f->fits &= f->kept[v] || !index_uses(index, v);
	return f->fits ? rewrite_index(r, index) : index;
}

static const struct expr *moved(struct factor *f, const struct expr *e)
{
	f->fits &= !expr_has(e, 1u << EXPR_INDEX);
	return rewrite_expr(
	        &(struct rewriter){ .arena = f->arena, .with = f->with, .index = moved_index, .user = f }, e);
}

static const struct expr *number(struct arena *arena, int64_t n) { return expr_integer(arena, DTYPE_I32, n); }

/* Two numbers of `bits` side by side, the first one low; of the second the lowest bits count. */
static const struct expr *beside(struct arena *arena, const struct expr *low, const struct expr *high, int bits)
{
	return expr_scalar(arena, SCALAR_or, expr_scalar(arena, SCALAR_and, low, number(arena, (1 << bits) - 1), NULL),
	        expr_scalar(arena, SCALAR_shl,
	                bits == 8 ? expr_scalar(arena, SCALAR_and, high, number(arena, 255), NULL) : high,
	                number(arena, bits), NULL),
	        NULL);
}

const struct expr *dword_of_parts(struct arena *arena, const struct expr *const *part, int count)
{
	return count == 2 ? beside(arena, part[0], part[1], 16)
	                  : beside(arena, beside(arena, part[0], part[1], 8), beside(arena, part[2], part[3], 8), 16);
}

/* The dwords of factor + offset; NULL: it is no tensor of them.  128 more or less of four bytes is their highest bits
 * turned: what is added to them in the memory stays a load of a dword. */
enum { HIGHEST_BITS = -0x7f7f7f80 }; /* 0x80808080 */
static const struct expr *dword_of(
        struct factor *f, const struct expr *factor, int64_t offset, const struct product *product)
{
	const struct expr *part[4];
	const struct index *first = f->with[f->v];
	int64_t extent = definition_extent(f->sum, f->v);
	FOR (e, product->k) {
		f->with[f->v] = index_plus(f->arena, first, e);
		part[e] = moved(f, factor);
		if (!f->fits)
			return NULL;
		part[e] = expr_select(
		        f->arena, &(struct range){ f->with[f->v], 0, extent }, 1, part[e], number(f->arena, 0));
	}
	f->with[f->v] = first;
	if (product->k == 1)
		return part[0];
	const struct expr *dword = dword_of_parts(f->arena, part, product->k);
	return offset ? expr_scalar(f->arena, SCALAR_xor, dword, number(f->arena, HIGHEST_BITS), NULL) : dword;
}

/* Layers side by side read one tensor: its dwords are made once. */
enum { REMEMBERED = 8 };
struct rewriting {
	struct program *program;
	const struct target *target;
	struct definition *dwords[REMEMBERED];
	int made;
	struct exact_sums floats;
	bool bytes; /* constants of dwords are bytes: two dwords' share one */
};

static struct definition *dwords_alike(const struct rewriting *r, const struct factor *f, const struct expr *body)
{
	FOR (i, REMEMBERED) {
		struct definition *d = r->dwords[i];
		if (d && d->body && d->rank == f->rank
		        && !memcmp(d->extents, f->extents, sizeof *d->extents * (size_t)d->rank)
		        && expr_equal(d->body, body))
			return d;
	}
	return NULL;
}

/* The dwords at the sum's own variables. */
static const struct expr *dwords_of(struct rewriting *r, struct factor *f, const struct expr *body)
{
	struct program *program = r->program;
	struct definition *dwords = dwords_alike(r, f, body);
	if (!dwords) {
		dwords = define_map(program, arena_printf(program->arena, "%s.dwords", f->load->of->name), f->rank,
		        f->extents, body);
		scheduled(dwords)->dwords = dwords->type == DTYPE_I32;
		scheduled(dwords)->lane = f->innermost ? f->rank : 0;
		if (expr_is_constant(body))
			definition_fold(program, dwords);
		r->dwords[r->made++ % REMEMBERED] = dwords;
	}
	return expr_load(program->arena, dwords, f->from);
}

/* ---- the sum ---- */

/* Which factor contraction.c will take as b; -1: it will not match. */
int product_b(const struct definition *sum)
{
	const struct expr *const *factor = (const struct expr *const *)sum->body->arg;
	bool can[2] = { false, false };
	FOR (v, sum->rank + sum->reduced) {
		bool in[2] = { expr_uses(factor[0], v), expr_uses(factor[1], v) };
		if (definition_extent(sum, v) == 1)
			continue;
		if (v >= sum->rank && !(in[0] && in[1]))
			return -1;
		FOR (i, 2)
			can[i] |= v < sum->rank && in[i] && !in[1 - i];
	}
	if (!can[0] && !can[1])
		return -1;
	return can[1] && (!can[0] || expr_is_constant(factor[1]) || !expr_is_constant(factor[0])) ? 1 : 0;
}

static bool uses_variables(const struct expr *e, const struct definition *sum)
{
	bool uses = false;
	FOR (v, sum->rank + sum->reduced)
		uses |= expr_uses(e, v);
	return uses;
}

/* What a is made of: data - zero, of which data + offset fits the instruction; zero NULL: a fits as it is. */
struct shifted {
	const struct expr *data, *zero;
	int64_t offset;
};

/* a is data less the zero point that is answered; NULL: it has none, and is the data. */
static const struct expr *take_zero(
        struct arena *arena, const struct definition *sum, const struct expr *a, const struct expr **data)
{
	bool pads = a->kind == EXPR_SELECT && a->arg[1]->kind == EXPR_NUMBER && !a->arg[1]->integer;
	const struct expr *inner = pads ? a->arg[0] : a;
	bool less = inner->kind == EXPR_SCALAR && inner->opcode == SCALAR_sub && !uses_variables(inner->arg[1], sum);
	*data = !less  ? a
	        : pads ? expr_select(arena, a->ranges, a->range_count, inner->arg[0], inner->arg[1])
	               : inner->arg[0];
	return less ? inner->arg[1] : NULL;
}

static bool shift(struct arena *arena, const struct definition *sum, const struct expr *a,
        const struct product *product, struct shifted *s)
{
	struct interval is, most = of_type(product->a);
	*s = (struct shifted){ a, NULL, 0 };
	const struct expr *zero = take_zero(arena, sum, a, &s->data);
	bool turned = product->k == 4 && zero && zero->kind == EXPR_NUMBER
	        && zero->integer == (dtypes[product->a].class == CLASS_UINT ? -128 : 128);
	if (fits(a, product->a)) {
		s->data = turned ? s->data : a;
		s->offset = turned ? -zero->integer : 0; /* of the data that is all its zero point does */
		return true;
	}
	is = interval_of(s->data);
	if (is.low < INT32_MIN || is.high > INT32_MAX || is.high - is.low > most.high - most.low)
		return false;
	s->offset = lies_in(is, most) ? 0 : dtypes[product->a].class == CLASS_UINT ? 128 : -128;
	if (!lies_in((struct interval){ is.low + s->offset, is.high + s->offset }, most))
		return false;
	s->zero = zero ? expr_scalar(arena, SCALAR_sub, number(arena, -s->offset), zero, NULL)
	               : number(arena, -s->offset);
	return true;
}

static void see_bits(void *user, const struct expr *load)
{
	int *least = user, bits = dtypes[load->of->type].bits;
	*least = bits < *least ? bits : *least;
	if (load->of->original)
		definition_loads(load->of->original, see_bits, user);
}

/* Do dwords of a constant take no more than the elements that it was made of?  Of bytes two share one. */
static bool stays_narrow(const struct expr *constant, const struct product *product)
{
	int least = 32;
	expr_loads(constant, see_bits, &least);
	return product->k > 1 && (least == 16 || fits(constant, DTYPE_I8));
}

/* Has the target another product of as many terms, which takes the data as it is? */
static bool fits_another(const struct target *target, const struct expr *data, const struct product *product)
{
	const struct product *p;
	for (size_t i = 0; (p = product_row(i)); i++)
		if (p->k == product->k && p->sum == product->sum && has_product(target, p) && fits(data, p->a))
			return true;
	return false;
}

/* windows: of whole dwords, of terms that let themselves in no other way */
static bool rewrite(struct rewriting *r, struct definition *sum, const struct product *product, int v, bool windows)
{
	struct program *program = r->program;
	struct arena *arena = program->arena;
	struct factor fa = { .arena = arena,
		.sum = sum,
		.v = v,
		.together = product->k == 2 && r->bytes ? 2 : product->together,
		.windows = windows },
	              fb = fa;
	struct shifted s;
	int ib = product_b(sum);
	const struct expr *a = sum->body->arg[1 - (ib & 1)], *b = sum->body->arg[ib & 1];
	if (r->bytes && expr_is_constant(b) && !stays_narrow(b, product))
		return false;
	if (product->together > 1 && !expr_is_constant(b)) /* who packs it lays dwords side by side */
		return false;
	if (ib < 0 || !fits(b, product->b) || !shift(arena, sum, a, product, &s)
	        || (s.offset && fits_another(r->target, s.data, product)) || !find_dims(&fa, s.data, product->k)
	        || !find_dims(&fb, b, product->k))
		return false;
	const struct expr *a_dwords = dword_of(&fa, s.data, s.offset, product),
	                  *b_dwords = dword_of(&fb, b, 0, product);
	if (!a_dwords || !b_dwords)
		return false;
	size_t before = program->all.count;
	a_dwords = dwords_of(r, &fa, a_dwords);
	b_dwords = dwords_of(r, &fb, b_dwords);
	if (s.zero)
		sum->start = offset_columns(program, sum, b, s.zero);
	sum->body = expr_scalar(arena, product->opcode, a_dwords, b_dwords, NULL);
	sum->reduced_extents[v - sum->rank] = fa.dwords;
	program_move(program, before, sum);
	return true;
}

/* The term in groups: the last that lets itself. */
static bool rewrite_last(struct rewriting *r, struct definition *sum, const struct product *product)
{
	for (int windows = 0; windows <= (product->together > 1); windows++)
		for (int v = sum->rank + sum->reduced; v-- > sum->rank;)
			if (definition_extent(sum, v) > 1 && !(windows && definition_extent(sum, v) % product->k)
			        && rewrite(r, sum, product, v, windows))
				return true;
	return false;
}

/* Constants that fit the instruction less a number, as weights of a zero point of their own may: the sum is that of
 * those, and the number times a's, which has to be small beside the columns. */
enum { COLUMNS_LEAST = 32 };
static bool rewrite_lowered(struct rewriting *r, struct definition *sum, const struct product *product)
{
	struct program *program = r->program;
	struct arena *arena = program->arena;
	struct interval is, most = of_type(product->b);
	int ib = product_b(sum);
	int64_t columns = 1, less;
	const struct expr *const *factor = (const struct expr *const *)sum->body->arg;
	if (ib < 0 || product->k != 4 || r->target->lanes == 1 || !expr_is_constant(factor[ib]))
		return false;
	is = interval_of(factor[ib]);
	if (is.low < INT32_MIN || is.high > INT32_MAX || lies_in(is, most) || is.high - is.low > most.high - most.low)
		return false;
	FOR (v, sum->rank)
		columns *= expr_uses(factor[ib], v) && !expr_uses(factor[1 - ib], v) ? sum->extents[v] : 1;
	less = is.high > most.high ? is.high - most.high : is.low - most.low;
	const struct expr *low = expr_scalar(arena, SCALAR_sub, factor[ib], number(arena, less), NULL),
	                  *a = factor[1 - ib];
	size_t before = program->all.count;
	struct definition *lowered = define_sum_like(program, arena_printf(arena, "%s.lowered", sum->name), sum,
	        sum->start, expr_scalar(arena, SCALAR_mul, ib ? a : low, ib ? low : a, NULL));
	const struct expr *rows = columns < COLUMNS_LEAST ? NULL : offset_rows(program, sum, a);
	if (!rows || !rewrite_last(r, lowered, product)) {
		program->all.count = before;
		return false;
	}
	become_map(sum,
	        expr_scalar(arena, SCALAR_add, expr_load_own(arena, lowered),
	                expr_scalar(arena, SCALAR_mul, rows, number(arena, less), NULL), NULL));
	program_move(program, before, sum);
	return true;
}

/* ---- factors of 16 bits ---- */

/* A factor that --math has rounded, by what rounds it; NULL: it is none. */
static const struct expr *inline_rounded(void *user, const struct expr *load)
{
	struct arena *arena = user;
	return load->of->source == SOURCE_COMPUTED ? expr_substitute(arena, load->of->body, load->at) : load;
}
static const struct expr *rounded_factor(struct arena *arena, const struct expr *factor, enum factors factors)
{
	bool pads = factor->kind == EXPR_SELECT && factor->arg[1]->kind == EXPR_NUMBER && factor->arg[1]->number == 0;
	const struct expr *load = pads ? factor->arg[0] : factor;
	return load->kind == EXPR_LOAD && load->of->rounded == factors
	        ? expr_map_loads(arena, factor, inline_rounded, arena)
	        : NULL;
}

/* The code that a float is made of (keep_codes). */
static const struct expr *code_of(const struct expr *x)
{
	while (x->kind != EXPR_LOAD)
		x = x->arg[0];
	return x;
}

/* The bits of a float that is rounded, as 16 low ones. */
static const struct expr *bits_of(struct arena *arena, const struct expr *x, enum factors factors)
{
	if (factors == FACTORS_F16)
		return expr_cast(
		        arena, DTYPE_I32, expr_cast_as(arena, DTYPE_U16, CAST_BITS, expr_cast(arena, DTYPE_F16, x)));
	return expr_scalar(arena, SCALAR_shr, expr_cast_as(arena, DTYPE_I32, CAST_BITS, x), number(arena, 16), NULL);
}

/* Two terms as a dword of their bits, the first one uppermost: that is the order in which vdpbf16ps adds them.  On a GPU
 * as they lie in memory. */
static const struct expr *pair_of(struct factor *f, const struct expr *factor, bool as_they_lie)
{
	struct arena *arena = f->arena;
	const struct expr *bits[2];
	const struct index *first = f->with[f->v];
	FOR (e, 2) {
		f->with[f->v] = index_plus(arena, first, e);
		const struct expr *x = moved(f, factor);
		bits[e] = f->codes
		        ? expr_cast(arena, DTYPE_I32, code_of(x))
		        : bits_of(arena,
		                expr_select(arena, &(struct range){ f->with[f->v], 0, definition_extent(f->sum, f->v) },
		                        1, x, expr_number(arena, DTYPE_F32, 0)),
		                f->sum->sum.factors);
	}
	f->with[f->v] = first;
	return expr_cast_as(arena, DTYPE_F32, CAST_BITS, beside(arena, bits[!as_they_lie], bits[as_they_lie], 16));
}

/* A pair is made in about the time of so many steps of a vector. */
enum { STEPS_A_PAIR = 8 };
static bool pairs_pay(const struct definition *sum, const struct factor *f)
{
	return f->load->of->source == SOURCE_CONSTANT
	        || definition_work(sum) >= STEPS_A_PAIR * 2. * (double)definition_elements(f->load->of);
}

/* Padded along the terms, a pair may be half there. */
static bool pads_use(const struct expr *factor, int v)
{
	bool uses = false;
	FOR (i, factor->range_count)
		uses |= index_uses(factor->ranges[i].at, v);
	return uses;
}

/* The pairs of both factors; false: it has none, or they do not pay. */
static bool find_pairs(const struct rewriting *r, struct definition *sum, const struct product *lane, int v,
        struct factor *f, const struct expr **pair)
{
	struct arena *arena = r->program->arena;
	bool threads = r->target->lanes_are_threads;
	FOR (i, 2) {
		f[i] = (struct factor){ .arena = arena,
			.sum = sum,
			.v = v,
			.together = 1,
			.innermost = product_of_matrix(r->target, lane, sum) };
		const struct expr *factor = rounded_factor(arena, sum->body->arg[i], sum->sum.factors);
		const struct expr *load = sum->body->arg[i];
		bool pads = load->kind == EXPR_SELECT;
		f[i].codes = factor && threads && definition_extent(sum, v) % 2 == 0 && !pads_use(load, v)
		        && scheduled((pads ? load->arg[0] : load)->of)->widens;
		f[i].whole = f[i].codes && pads;
		if (f[i].whole)
			factor = factor->arg[0];
		if (!factor || !find_dims(&f[i], factor, 2) || !pairs_pay(sum, &f[i]))
			return false;
		pair[i] = pair_of(&f[i], factor, threads);
		if (!f[i].fits)
			return false;
	}
	return true;
}

static void see_made(void *user, const struct expr *load) { *(bool *)user |= load->of->source == SOURCE_COMPUTED; }
static bool is_made(const struct definition *rounded)
{
	bool made = false;
	if (rounded->source == SOURCE_COMPUTED)
		expr_loads(rounded->body, see_made, &made);
	return made;
}

/* What it reads of tensors that --store bf16 stores becomes codes, and on a GPU the rows that fragments take, whose
 * pairs lie side by side then: who makes those stores them, and no launch makes dwords.  True: there are some. */
static bool reads_codes(const struct rewriting *r, struct definition *sum, const struct product *lane, int v)
{
	bool any = false,
	     pairs = r->target->lanes_are_threads && definition_extent(sum, v) % 2 == 0
	        && product_of_matrix(r->target, lane, sum);
	FOR (i, 2) {
		const struct expr *factor = sum->body->arg[i];
		struct definition *of = (factor->kind == EXPR_SELECT ? factor->arg[0] : factor)->of;
		bool codes = of->is_stored || (pairs && i != product_b(sum) && is_made(of));
		any |= codes;
		if (codes && !scheduled(of)->widens)
			keep_codes(r->program, of);
	}
	return any;
}

/* Two of its innermost terms a step. */
static void pair_terms(struct rewriting *r, struct definition *sum, const struct product *lane)
{
	struct program *program = r->program;
	struct factor f[2];
	const struct expr *pair[2];
	int v = sum->rank + sum->reduced;
	while (v > sum->rank && definition_extent(sum, v - 1) == 1)
		v--;
	if (v-- == sum->rank || product_b(sum) < 0 || sum->count.reduced[v - sum->rank] || sum->order != ORDER_SERIAL
	        || !find_pairs(r, sum, lane, v, f, pair)
	        || (reads_codes(r, sum, lane, v) && !find_pairs(r, sum, lane, v, f, pair)))
		return;
	size_t before = program->all.count;
	FOR (i, 2) {
		const struct expr *factor = sum->body->arg[i];
		pair[i] = dwords_of(r, &f[i], pair[i]);
		scheduled(pair[i]->of)->pairs = true;
		if (f[i].whole)
			pair[i] = expr_select(
			        program->arena, factor->ranges, factor->range_count, pair[i], factor->arg[1]);
	}
	sum->body = expr_scalar(program->arena, SCALAR_mul, pair[0], pair[1], NULL);
	sum->sum.pairs = true;
	sum->reduced_extents[v - sum->rank] = f[0].dwords;
	program_move(program, before, sum);
}

/* Does the constant factor know no output variable alone?  Then it is a window that slides over data. */
static bool is_window(const struct definition *sum)
{
	const struct expr *const *factor = (const struct expr *const *)sum->body->arg;
	bool constant = expr_is_constant(factor[1]);
	return last_alone(sum, factor[constant], factor[1 - constant]) < 0;
}

/* A window over bytes stays one, of data whose zero point is in what it starts from. */
static void window_of_bytes(struct program *program, struct definition *sum)
{
	struct arena *arena = program->arena;
	const struct expr *data, *const *factor = (const struct expr *const *)sum->body->arg;
	int w = expr_is_constant(factor[1]);
	const struct expr *zero = take_zero(arena, sum, factor[1 - w], &data);
	if (!zero || !expr_is_constant(factor[w]))
		return;
	size_t before = program->all.count;
	sum->start =
	        offset_columns(program, sum, factor[w], expr_scalar(arena, SCALAR_sub, number(arena, 0), zero, NULL));
	sum->body = expr_scalar(arena, SCALAR_mul, w ? data : factor[0], w ? factor[1] : data, NULL);
	program_move(program, before, sum);
}

/* Where the target multiplies floats, those are faster than dwords of one term. */
static void choose_product(struct rewriting *r, struct definition *d, bool dwords)
{
	bool floats = !dwords || r->target->has_fma;
	if (r->bytes && is_window(d)) {
		window_of_bytes(r->program, d);
		return;
	}
	const struct product *product;
	for (size_t p = 0; dwords && (product = product_row(p)); p++) {
		if (product->k == 1 && floats && product->sum == d->type
		        && sum_in_floats(r->program, d, false, &r->floats))
			return;
		if (product->sum != d->type || !has_product(r->target, product))
			continue;
		if (rewrite_last(r, d, product) || rewrite_lowered(r, d, product))
			return;
	}
	if (!target_multiplies(r->target, "mul"))
		sum_in_floats(r->program, d, true, &r->floats);
}

const char *lowered_order(const struct lowered *lowered)
{
	const char *by = NULL;
	for (size_t i = 0; !by && i < lowered->program->all.count; i++) {
		const struct definition *d = lowered->program->all.at[i];
		const struct product *lane = d->sum.factors ? product_of(lowered->target, d) : NULL,
		                     *matrix = lane ? product_of_matrix(lowered->target, lane, d) : NULL;
		by = matrix ? matrix->name : d->sum.pairs ? "vdpbf16ps" : NULL;
	}
	for (size_t k = 0; !by && k < lowered->kernels.count; k++) {
		const struct lowered *inside = kernel_inside(lowered->kernels.at[k]);
		by = inside ? lowered_order(inside) : NULL;
	}
	return by;
}

/* Dwords of 16 bits would double weights that stay narrow. */
void choose_products(struct program *program, const struct target *target)
{
	struct rewriting r = { .program = program, .target = target, .bytes = weights_stay_narrow(target) };
	bool dwords = target->products;
	const struct product *lane;
	for (size_t i = 0; !target->options.log && i < program->all.count; i++) {
		struct definition *d = program->all.at[i];
		if (d->source == SOURCE_COMPUTED && d->reduce == REDUCE_SUM && d->sum.products && d->type == DTYPE_I32
		        && d->body->opcode == SCALAR_mul)
			choose_product(&r, d, dwords);
		else if ((lane = lane_of_pairs(target, d)) && d->source == SOURCE_COMPUTED && d->sum.products
		        && d->type == DTYPE_F32 && d->body->opcode == SCALAR_mul)
			pair_terms(&r, d, lane);
		i = (size_t)d->number; /* what it reads now stands before it */
	}
	exact_sums_read(program, &r.floats);
	program_remove_dead(program);
}
