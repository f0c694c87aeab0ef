/* fours.c: the results of four columns of a tile whose sums are single numbers, as words of four lanes: what stands
 * behind a sum of bytes is a quarter of its instructions then. */
#include "emit/contraction.h"
#include "emit/expression.h"

/* Lanes along the column, which is also the variable of what is loaded side by side. */
struct fours {
	struct printing *p;
	struct printer printer;
	const char *sums;
	int parts; /* that may be printed yet: no text grows without end */
};
enum { PARTS_MOST = 48 };

static const char *print_four(struct fours *f, const struct expr *e);

/* The bytes of memory are their numbers; NULL: no word loads them. */
static const char *suffix_of(enum dtype type)
{
	return type == DTYPE_I8     ? "four_%s_i8"
	        : type == DTYPE_U8  ? "four_%s_u8"
	        : type == DTYPE_I32 ? "four_%s"
	        : type == DTYPE_F32 ? "ffour_%s"
	                            : NULL;
}

static const char *word(struct arena *arena, enum dtype type, const char *what)
{
	const char *suffix = suffix_of(type), *rest = suffix ? strchr(suffix, '%') + 2 : NULL;
	return suffix ? arena_printf(arena, "%.*s%s%s", (int)(rest - 2 - suffix), suffix, what, rest) : NULL;
}

static const char *print_load(struct fours *f, const struct expr *load)
{
	const struct contraction *c = f->p->c;
	struct arena *arena = f->p->arena;
	if (load->of == c->root)
		return f->sums;
	const struct index *at = schedule_address(arena, load->of, load->at);
	const char *name = word(arena, load->type, "load");
	if (!index_is_affine(at) || !name)
		return NULL;
	if (!index_uses(at, c->column))
		return arena_printf(arena, "%s_set(%s)", load->type == DTYPE_F32 ? "ffour" : "four",
		        printer_element(&f->printer, load->of, at));
	return index_factor(at, c->column) == 1
	        ? arena_printf(arena, "%s(%s)", name, printer_address(&f->printer, load->of, at))
	        : NULL;
}

static const char *print_four_cast(struct fours *f, const struct expr *e)
{
	struct arena *arena = f->p->arena;
	enum dtype from = e->arg[0]->type, to = e->type;
	const struct expr *of;
	const char *bounds, *text;
	if (e->cast & CAST_BITS)
		return NULL;
	if (from == DTYPE_F32) {
		bounds = to == DTYPE_I8 || to == DTYPE_U8 ? rounding_bounds(arena, e, &of) : NULL;
		text = bounds ? print_four(f, of) : NULL;
		return text ? arena_printf(arena, "four_rounded(%s%s)", text, bounds) : NULL;
	}
	if ((from != DTYPE_I8 && from != DTYPE_U8 && from != DTYPE_I32) || (to != DTYPE_I32 && to != DTYPE_F32))
		return NULL;
	text = print_four(f, e->arg[0]);
	return text && to == DTYPE_F32 ? arena_printf(arena, "ffour_of_four(%s)", text) : text;
}

static const char *print_four_scalar(struct fours *f, const struct expr *e)
{
	struct arena *arena = f->p->arena;
	bool floats = e->type == DTYPE_F32;
	const char *name = e->opcode == SCALAR_add   ? "add"
	        : e->opcode == SCALAR_sub            ? "sub"
	        : e->opcode == SCALAR_mul            ? "mul"
	        : e->opcode == SCALAR_div && floats  ? "div"
	        : e->opcode == SCALAR_relu && floats ? "relu"
	                                             : NULL;
	if (!name || (!floats && e->type != DTYPE_I32))
		return NULL;
	const char *a = print_four(f, e->arg[0]), *b = e->opcode == SCALAR_relu ? "" : print_four(f, e->arg[1]);
	return !a || !b ? NULL
	                : arena_printf(arena, "%s_%s(%s%s%s)", floats ? "ffour" : "four", name, a, *b ? ", " : "", b);
}

static const char *print_four(struct fours *f, const struct expr *e)
{
	struct arena *arena = f->p->arena;
	if (--f->parts < 0)
		return NULL;
	switch (e->kind) {
	case EXPR_NUMBER:
		return !suffix_of(e->type) ? NULL
		                           : arena_printf(arena, "%s_set(%s)", e->type == DTYPE_F32 ? "ffour" : "four",
		                                   number_text(arena, e->type, e->number, e->integer));
	case EXPR_LOAD: return print_load(f, e);
	case EXPR_CAST: return print_four_cast(f, e);
	case EXPR_SCALAR: return print_four_scalar(f, e);
	default: return NULL;
	}
}

const char *print_fours(struct printing *p, const struct expr *value, const struct index *at, const char *sums)
{
	struct fours f = { p, contraction_printer(p, NULL), sums, PARTS_MOST };
	const char *name = word(p->arena, p->c->result->type, "store"), *text;
	f.printer.lane = -1;
	if (!name || !index_is_affine(at) || index_factor(at, p->c->column) != 1 || !(text = print_four(&f, value)))
		return NULL;
	return arena_printf(p->arena, "%s(%s, %s)", name, printer_address(&f.printer, p->c->result, at), text);
}
