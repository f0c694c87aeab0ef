/* fours.c: four expressions that are alike, but for what lies at even distances, as words of four lanes: the results of
 * four columns of a tile whose sums are single numbers, and the bytes of a dword. */
#include "emit/contraction.h"
#include "emit/expression.h"
#include <inttypes.h>
#include <math.h>

struct fours {
	struct printer *printer;
	const struct definition *root; /* its loads are `sums`; NULL: none are */
	const char *sums;
	int parts;                  /* that may be printed yet: no text grows without end */
	bool tiny;                  /* subnormals may be 0 */
	const struct expr *stored;  /* as a byte: the others of its word may be anything */
	const struct expr *rounded; /* where it is divided by a number, the sign of a 0 may differ */
};
enum { LANES_OF_FOUR = 4, PARTS_MOST = 48, BYTE = 255, HALF = 65535 };

static const char *print_four(struct fours *f, const struct expr *const *e);

static const char *print_part_of(struct fours *f, const struct expr *const *e, int part)
{
	const struct expr *parts[LANES_OF_FOUR];
	FOR (i, LANES_OF_FOUR)
		parts[i] = e[i]->arg[part];
	return print_four(f, parts);
}

/* Helium takes subnormals as 0: what is made of integers and a few numbers of such sizes is none. */
static bool is_normal(double x) { return x == 0 || (fabs(x) > 0x1p-30 && fabs(x) < 0x1p30); }

static bool are_normal(const struct definition *of)
{
	if (of->sum.exact || of->source != SOURCE_CONSTANT)
		return of->sum.exact;
	const float *x = definition_data(of);
	bool are = true;
	for (int64_t i = 0; are && i < definition_elements(of); i++)
		are = is_normal(x[i]);
	return are;
}

/* Of what lies in memory as that type; NULL: no word loads it. */
static const char *word(struct arena *arena, enum dtype type, const char *what)
{
	return type == DTYPE_I8     ? arena_printf(arena, "four_%s_i8", what)
	        : type == DTYPE_U8  ? arena_printf(arena, "four_%s_u8", what)
	        : type == DTYPE_I32 ? arena_printf(arena, "four_%s", what)
	        : type == DTYPE_F32 ? arena_printf(arena, "ffour_%s", what)
	                            : NULL;
}

static const char *print_four_loads(struct fours *f, const struct expr *const *load)
{
	struct arena *arena = f->printer->arena;
	const struct definition *of = load[0]->of;
	const struct index *first = schedule_address(arena, of, load[0]->at);
	int64_t apart = 0;
	if (of == f->root)
		return f->sums;
	for (int i = 1; i < LANES_OF_FOUR; i++) {
		const struct index *at = schedule_address(arena, of, load[i]->at);
		apart = i == 1 ? at->constant - first->constant : apart;
		if (load[i]->of != of || !index_equal(at, index_plus(arena, first, i * apart)))
			return NULL;
	}
	if (held_of(f->printer, load[0]).text || !word(arena, load[0]->type, "")
	        || (load[0]->type == DTYPE_F32 && !f->tiny && !are_normal(of)))
		return NULL;
	if (!apart)
		return arena_printf(arena, "%s_set(%s)", load[0]->type == DTYPE_F32 ? "ffour" : "four",
		        printer_element(f->printer, of, first));
	const char *address = printer_address(f->printer, of, first);
	return apart == 1
	        ? arena_printf(arena, "%s(%s)", word(arena, load[0]->type, "load"), address)
	        : arena_printf(arena, "%s(%s, %" PRId64 ")", word(arena, load[0]->type, "gather"), address, apart);
}

/* An integer times a number: where that is rounded, whatever was as small as to be 0 is 0. */
static bool is_scaled(const struct expr *e)
{
	const struct expr *i = expr_is(e, SCALAR_mul) ? e->arg[0] : NULL;
	return i && (e->arg[1]->kind == EXPR_LOAD || e->arg[1]->kind == EXPR_NUMBER)
	        && (i->kind == EXPR_CAST ? dtypes[i->arg[0]->type].class == CLASS_INT
	                                 : i->kind == EXPR_LOAD && i->of->sum.exact);
}

static const char *print_four_casts(struct fours *f, const struct expr *const *e)
{
	struct arena *arena = f->printer->arena;
	enum dtype from = e[0]->arg[0]->type, to = e[0]->type;
	const struct expr *of[LANES_OF_FOUR];
	const char *bounds = NULL, *text;
	bool stored = f->stored == e[0];
	FOR (i, LANES_OF_FOUR)
		if (e[i]->cast != e[0]->cast || e[i]->cast & CAST_BITS || e[i]->arg[0]->type != from)
			return NULL;
	bool exact = to == DTYPE_I32 && e[0]->arg[0]->kind == EXPR_LOAD && e[0]->arg[0]->of->sum.exact;
	if (exact)
		return (text = print_part_of(f, e, 0)) ? arena_printf(arena, "four_of_ffour(%s)", text) : NULL;
	for (int i = 0; from == DTYPE_F32 && i < LANES_OF_FOUR; i++) {
		const char *own =
		        to == DTYPE_I8 || to == DTYPE_U8 ? rounding_bounds(f->printer, e[i], 0, &of[i]) : NULL;
		if (!own || (bounds && strcmp(bounds, own) != 0))
			return NULL;
		bounds = own;
	}
	if (bounds) {
		f->tiny = is_scaled(of[0]);
		f->rounded = of[0];
		text = print_four(f, of);
		f->tiny = false;
		return text ? arena_printf(arena, "four_%s(%s%s)", stored ? "stored" : "rounded", text, bounds) : NULL;
	}
	if ((from != DTYPE_I8 && from != DTYPE_U8 && from != DTYPE_I32) || (to != DTYPE_I32 && to != DTYPE_F32))
		return NULL;
	text = print_part_of(f, e, 0);
	return text && to == DTYPE_F32 ? arena_printf(arena, "ffour_of_four(%s)", text) : text;
}

static const char *print_four_scalars(struct fours *f, const struct expr *const *e)
{
	bool floats = e[0]->type == DTYPE_F32, rounded = f->rounded == e[0];
	f->rounded = NULL;
	const char *name = e[0]->opcode == SCALAR_add   ? "add"
	        : e[0]->opcode == SCALAR_sub            ? "sub"
	        : e[0]->opcode == SCALAR_mul            ? "mul"
	        : e[0]->opcode == SCALAR_div && floats  ? "div"
	        : e[0]->opcode == SCALAR_relu && floats ? "relu"
	                                                : NULL;
	for (int i = 1; i < LANES_OF_FOUR; i++)
		if (e[i]->opcode != e[0]->opcode)
			return NULL;
	if (!name || (!floats && e[0]->type != DTYPE_I32))
		return NULL;
	const char *a = print_part_of(f, e, 0), *b = e[0]->opcode == SCALAR_relu ? "" : print_part_of(f, e, 1);
	if (a && b && rounded && e[0]->opcode == SCALAR_div && e[0]->arg[1]->kind == EXPR_NUMBER)
		return arena_printf(f->printer->arena, "ffour_quotient(%s, %s)", a,
		        number_text(f->printer->arena, DTYPE_F32, e[0]->arg[1]->number, 0));
	return !a || !b ? NULL
	                : arena_printf(f->printer->arena, "%s_%s(%s%s%s)", floats ? "ffour" : "four", name, a,
	                        *b ? ", " : "", b);
}

static const char *print_four(struct fours *f, const struct expr *const *e)
{
	if (--f->parts < 0)
		return NULL;
	for (int i = 1; i < LANES_OF_FOUR; i++)
		if (e[i]->kind != e[0]->kind || e[i]->type != e[0]->type)
			return NULL;
	switch (e[0]->kind) {
	case EXPR_NUMBER:
		for (int i = 1; i < LANES_OF_FOUR; i++)
			if (!expr_equal(e[i], e[0]))
				return NULL;
		return !word(f->printer->arena, e[0]->type, "")
		                || (e[0]->type == DTYPE_F32 && !f->tiny && !is_normal(e[0]->number))
		        ? NULL
		        : arena_printf(f->printer->arena, "%s_set(%s)", e[0]->type == DTYPE_F32 ? "ffour" : "four",
		                number_text(f->printer->arena, e[0]->type, e[0]->number, e[0]->integer));
	case EXPR_LOAD: return print_four_loads(f, e);
	case EXPR_CAST: return print_four_casts(f, e);
	case EXPR_SCALAR: return print_four_scalars(f, e);
	default: return NULL;
	}
}

const char *print_fours(struct printing *p, const struct expr *const *value, const struct index *at, const char *sums)
{
	struct printer printer = contraction_printer(p, NULL);
	struct fours f = { &printer, p->c->root, sums, PARTS_MOST, .stored = value[0] };
	const char *name = word(p->arena, p->c->result->type, "store"), *text;
	printer.lane = -1;
	if (!name || index_factor(at, p->c->column) != 1 || !(text = print_four(&f, value)))
		return NULL;
	return arena_printf(p->arena, "%s(%s, %s)", name, printer_address(&printer, p->c->result, at), text);
}

/* low & mask | (high & mask) << bits, as products.c puts numbers beside each other; false: it is something else. */
static bool is_beside(const struct expr *e, int64_t mask, int bits, const struct expr **low, const struct expr **high)
{
	const struct expr *l, *h;
	if (!expr_is(e, SCALAR_or) || (l = e->arg[0])->kind != EXPR_SCALAR || l->opcode != SCALAR_and
	        || (h = e->arg[1])->kind != EXPR_SCALAR || h->opcode != SCALAR_shl || l->arg[1]->kind != EXPR_NUMBER
	        || l->arg[1]->integer != mask || h->arg[1]->kind != EXPR_NUMBER || h->arg[1]->integer != bits)
		return false;
	*low = l->arg[0];
	*high = h->arg[0];
	if (mask == BYTE && (*high)->kind == EXPR_SCALAR && (*high)->opcode == SCALAR_and)
		*high = (*high)->arg[0];
	return true;
}

const char *print_dword(struct printer *printer, const struct expr *dword)
{
	const struct expr *half[2], *byte[LANES_OF_FOUR];
	struct fours f = { printer, .parts = PARTS_MOST };
	if (printer->lane >= 0 || !printer->target->exact.lanes || !is_beside(dword, HALF, 16, half, half + 1)
	        || !is_beside(half[0], BYTE, 8, byte, byte + 1) || !is_beside(half[1], BYTE, 8, byte + 2, byte + 3))
		return NULL;
	f.stored = byte[0];
	const char *text = print_four(&f, byte);
	return text ? arena_printf(printer->arena, "four_bytes(%s)", text) : NULL;
}
