/* casts.c: casts of scalars -> C text, with floats below 32 bits. */
#include <inttypes.h>
#include <math.h>
#include "emit/expression.h"

/* ---- floats below 32 bits: tables/narrow.h as arguments of the words in common/narrow.jinja ---- */
const char *wide_text(struct arena *arena, enum dtype from, const char *code)
{
	const struct narrow_row *row = &narrows[from];
	if (from == DTYPE_F8E8M0)
		return arena_printf(arena, "n_wide_power(%s)", code);
	return arena_printf(arena, "n_wide(%s, %d, %d, %d, 0x%xu, 0x%xu, %d)", code, row->exponent, row->mantissa,
	        row->bias, row->top, row->nan, row->one_zero);
}

static struct printed print_narrow(struct printer *printer, const struct expr *expr, enum dtype from, struct printed a)
{
	struct arena *arena = printer->arena;
	const struct narrow_row *row = &narrows[expr->type];
	const char *x = a.text, *c = dtypes[expr->type].c;
	if (from == DTYPE_U64)
		x = arena_printf(arena, "n_odd_whole(%s)", x);
	else if (from == DTYPE_F64)
		x = arena_printf(arena, "n_odd(%s)", x);
	else if (dtypes[from].class != CLASS_FLOAT)
		x = dtypes[from].bits < 32 ? arena_printf(arena, "(float)%s",
		            printed_wrap(printer, printed_own(printer, expr->arg[0], a), LEVEL_CAST))
		                           : arena_printf(arena, "n_odd_long(%s)", x);
	if (expr->type == DTYPE_F8E8M0)
		return printed_as(arena, LEVEL_CAST, "(%s)n_narrow_power(%s, %d, %d)", c, x,
		        expr->cast & CAST_UP             ? 1
		                : expr->cast & CAST_DOWN ? -1
		                                         : 0,
		        (expr->cast & CAST_SATURATES) != 0);
	return printed_as(arena, LEVEL_CAST, "(%s)n_narrow(%s, %d, %d, %d, 0x%xu, 0x%xu, 0x%xu, %d)", c, x,
	        row->exponent, row->mantissa, row->bias, row->top, expr->cast & CAST_SATURATES ? row->top : row->over,
	        row->nan, row->one_zero);
}

/* Between integers and codes the bits are those of C's own conversion; between those and floats a word tells. */
static struct printed print_bits(struct printer *printer, enum dtype from, enum dtype to, struct printed a)
{
	struct arena *arena = printer->arena;
	bool floats[2] = { from == DTYPE_F32 || from == DTYPE_F64, to == DTYPE_F32 || to == DTYPE_F64 };
	if (floats[0] == floats[1] || (!floats[0] && !floats[1]))
		return printed_as(arena, LEVEL_CAST, "(%s)%s", dtypes[to].c, printed_wrap(printer, a, LEVEL_CAST));
	const char *word = floats[0] ? (from == DTYPE_F32 ? "n_bits" : "n_bits_double")
	        : to == DTYPE_F32    ? "n_float_of_bits"
	                             : "n_double_of_bits";
	const char *text = arena_printf(arena, "%s(%s%s)", word,
	        floats[0]                 ? ""
	                : to == DTYPE_F32 ? "(uint32_t)"
	                                  : "(unsigned long long)",
	        floats[0] ? a.text : printed_wrap(printer, a, LEVEL_CAST));
	return floats[0] ? printed_as(arena, LEVEL_CAST, "(%s)%s", dtypes[to].c, text)
	                 : printed_text(LEVEL_PRIMARY, text);
}

/* Has the type every value of the other?  Unsigned integers of 64 bits are a C type of their own. */
bool fits_in(enum dtype from, enum dtype to)
{
	enum dtype_class of = dtypes[from].class, into = dtypes[to].class;
	int bits = dtypes[from].bits, room = dtypes[to].bits;
	if (from == DTYPE_U64 || to == DTYPE_U64)
		return from == to;
	return of == CLASS_BOOL || (of == into && bits <= room)
	        || (of == CLASS_UINT && into == CLASS_INT && bits < room);
}

/* A cast between integers to no more bits looks at those alone. */
bool takes_raw(const struct expr *cast)
{
	enum dtype from = cast->arg[0]->type, to = cast->type;
	return !cast->cast && dtypes[from].class != CLASS_FLOAT
	        && (dtypes[to].class == CLASS_INT || dtypes[to].class == CLASS_UINT) && !fits_in(from, to)
	        && dtypes[to].bits <= dtypes[from].bits;
}

struct printed print_cast(struct printer *printer, const struct expr *expr, struct printed a)
{
	struct arena *arena = printer->arena;
	enum dtype from = expr->arg[0]->type;
	const struct dtype_row *to = &dtypes[expr->type];
	if (expr->cast & CAST_BITS)
		return print_bits(printer, from, expr->type, a);
	if (dtype_is_narrow(expr->type))
		return print_narrow(printer, expr, from, a);
	if (dtype_is_narrow(from))
		return printed_text(LEVEL_PRIMARY, wide_text(arena, from, a.text));
	if (to->class == CLASS_BOOL)
		return printed_as(arena, LEVEL_CAST, "(unsigned char)(%s != 0)", printed_wrap(printer, a, LEVEL_ADD));
	if (to->class != CLASS_FLOAT && dtypes[from].class != CLASS_FLOAT && fits_in(from, expr->type))
		return a;
	if (to->class == CLASS_FLOAT) /* of as few bits as it has */
		a = printed_own(printer, expr->arg[0], a);
	if (to->class == CLASS_FLOAT || dtypes[from].class != CLASS_FLOAT)
		return printed_as(arena, LEVEL_CAST, "(%s)%s", to->c, printed_wrap(printer, a, LEVEL_CAST));
	/* A float becomes an integer by cutting; what does not fit is the nearest that does. */
	int bits = to->bits;
	if (expr->type == DTYPE_U64)
		return printed_as(arena, LEVEL_PRIMARY, "u_of_float(%s)", a.text);
	bool is_signed = to->class == CLASS_INT;
	int64_t most = is_signed || bits == 64 ? (int64_t)(UINT64_MAX >> (is_signed ? 65 - bits : 1))
	                                       : (int64_t)(UINT64_MAX >> (64 - bits));
	int64_t least = is_signed ? -most - 1 : 0;
	if (from == DTYPE_F32
	        && (bits <= 16 || expr->type == DTYPE_I32)) /* an int; floats have its bounds, or one more */
		return printed_as(
		        arena, LEVEL_CAST, "(%s)i_of_f32(%s, %" PRId64 ", %" PRId64 ")", to->c, a.text, least, most);
	const char *text = arena_printf(arena, "i_of_float(%s, %s, %s, %s, %s)", a.text,
	        number_text(arena, DTYPE_F64, (double)least, 0), number_text(arena, DTYPE_F64, (double)most, 0),
	        number_text(arena, DTYPE_I64, 0, least), number_text(arena, DTYPE_I64, 0, most));
	return printed_text(LEVEL_CAST, to->bits == 64 ? text : arena_printf(arena, "(%s)%s", to->c, text));
}

/* The integer of a number, where it is one that floats beside it count exactly; false: it is none. */
static bool whole_number(const struct expr *e, int64_t *n)
{
	if (e->kind != EXPR_NUMBER || !(fabs(e->number) <= 1 << 20) || e->number != floor(e->number))
		return false;
	*n = (int64_t)e->number;
	return true;
}

/* bounds(round(of) + zero), which a cast takes to 8 or 16 bits. */
struct rounding {
	const struct expr *of, *zero; /* zero: a float, or NULL */
	int64_t least, most;
};
/* e, or e / n and e * n of a number above 0, without the relu in e; NULL: there is none. */
static const struct expr *without_relu(struct arena *arena, const struct expr *e)
{
	if (e->kind != EXPR_SCALAR)
		return NULL;
	if (e->opcode == SCALAR_relu)
		return e->arg[0];
	const struct expr *by = e->opcode == SCALAR_div || e->opcode == SCALAR_mul ? e->arg[1] : NULL,
	                  *of = by && by->kind == EXPR_NUMBER && by->number > 0 ? without_relu(arena, e->arg[0]) : NULL;
	return of ? expr_scalar(arena, e->opcode, of, by, NULL) : NULL;
}

static bool find_rounding(const struct printer *printer, const struct expr *cast, struct rounding *r)
{
	const struct expr *e = cast->arg[0];
	int64_t n;
	const struct dtype_row *type = &dtypes[cast->type];
	*r = (struct rounding){ .least = type->class == CLASS_INT ? -(INT64_C(1) << (type->bits - 1)) : 0 };
	r->most = r->least + (INT64_C(1) << type->bits) - 1;
	for (; e->kind == EXPR_SCALAR && (e->opcode == SCALAR_max || e->opcode == SCALAR_min); e = e->arg[1]) {
		if (!whole_number(e->arg[0], &n))
			return false;
		r->least = e->opcode == SCALAR_max && n > r->least ? n : r->least;
		r->most = e->opcode == SCALAR_min && n < r->most ? n : r->most;
	}
	if (expr_is(e, SCALAR_add)) {
		r->zero = e->arg[1];
		e = e->arg[0];
	}
	if (!expr_is(e, SCALAR_round) || r->least > r->most)
		return false;
	r->of = e->arg[0];
	const struct expr *of = printer->target->has_fma ? without_relu(printer->arena, r->of) : NULL;
	if (of
	        && (!r->zero
	                || whole_number(r->zero,
	                        &n))) { /* what is below 0 is the zero point; by calls a quotient of 0 is soon found */
		r->of = of;
		n = r->zero ? n : 0;
		r->least = n > r->least ? n < r->most ? n : r->most : r->least;
	}
	return true;
}

const char *rounding_bounds(struct printer *printer, const struct expr *cast, int64_t less, const struct expr **of)
{
	struct rounding r;
	int64_t zero = 0;
	if (!(cast->cast & CAST_NUMBER) || !find_rounding(printer, cast, &r)
	        || (r.zero && !whole_number(r.zero, &zero)))
		return NULL;
	*of = r.of;
	return arena_printf(
	        printer->arena, ", %" PRId64 ", %" PRId64 ", %" PRId64, zero - less, r.least - less, r.most - less);
}

static bool is_shared(struct printer *printer, const struct expr *e)
{
	int number = number_of(printer, e);
	return printer->sharing->all.at[number].name || printer->sharing->parts.all.at[number].uses > 1;
}

/* Vectors of what was rounded to a byte and is dequantised in the same breath: less the zero point from the beginning
 * on.  NULL: it is something else, or the byte has a name. */
const char *print_rounded_less(struct printer *printer, const struct expr *e, bool branch)
{
	const struct expr *cast = e->arg[0], *less = e->arg[1], *of;
	int64_t n;
	if (printer->lane < 0 || e->opcode != SCALAR_sub || e->type != DTYPE_I32 || cast->kind != EXPR_CAST
	        || cast->arg[0]->kind != EXPR_CAST || cast->cast
	        || !whole_number(less->kind == EXPR_CAST && !less->cast ? less->arg[0] : less, &n)
	        || is_shared(printer, cast) || is_shared(printer, cast->arg[0]))
		return NULL;
	const char *bounds = rounding_bounds(printer, cast->arg[0], n, &of);
	return bounds ? arena_printf(printer->arena, "ivec_rounded(%s%s)",
	               print_part(printer, number_of(printer, of), branch).text, bounds)
	              : NULL;
}

/* What is quantised to 8 bits in one word, of a vector too; NULL: it is something else. */
const char *print_rounded(struct printer *printer, const struct expr *cast, bool branch)
{
	const struct expr *e;
	const char *bounds = rounding_bounds(printer, cast, 0, &e);
	if (!bounds)
		return NULL;
	bool vector = printer->lane >= 0;
	const char *word = vector ? "ivec_rounded" : "i_rounded", *value = NULL;
	if (!vector && !printer->target->has_fma && dtypes[cast->type].bits == 8 && expr_is(e, SCALAR_mul)
	        && expr_converts(e->arg[0]) && e->arg[0]->arg[0]->type == DTYPE_I32) {
		const struct expr *sum = e->arg[0]->arg[0];
		struct printed x = print_part(printer, number_of(printer, sum), branch);
		value = arena_printf(printer->arena, "%s, %s", printed_own(printer, sum, x).text,
		        print_part(printer, number_of(printer, e->arg[1]), branch).text);
		word = "i_requantised";
	} else
		value = print_part(printer, number_of(printer, e), branch).text;
	const char *type = vector ? "" : arena_printf(printer->arena, "(%s)", dtypes[cast->type].c);
	return arena_printf(printer->arena, "%s%s(%s%s)", type, word, value, bounds);
}

/* A factor of --math bf16, where an instruction rounds vectors of them; NULL: it is something else. */
const char *print_bfloat(struct printer *printer, const struct expr *e, bool branch)
{
	const struct expr *of = printer->lane >= 0 && target_multiplies(printer->target, "bf16") ? bfloat_of(e) : NULL;
	return of ? arena_printf(
	               printer->arena, "vec_rounded_bf16(%s)", print_part(printer, number_of(printer, of), branch).text)
	          : NULL;
}

/* The same of a vector of any floats, by an integer zero point of 8 bits, one for all lanes. */
const char *print_rounded_lanes(struct printer *printer, const struct expr *cast, bool branch)
{
	struct rounding r;
	enum dtype type = cast->type;
	const char *zero = "0";
	if (dtypes[type].bits != 8 || dtypes[type].class == CLASS_BOOL || cast->arg[0]->type != DTYPE_F32
	        || printer->target->lanes_are_threads || !find_rounding(printer, cast, &r) || r.of->type != DTYPE_F32)
		return NULL;
	const struct expr *of = r.zero && r.zero->kind == EXPR_CAST ? r.zero->arg[0] : NULL;
	int64_t number;
	if (r.zero && whole_number(r.zero, &number) && number >= INT8_MIN && number <= UINT8_MAX)
		zero = arena_printf(printer->arena, "%" PRId64, number);
	else if (r.zero && (!of || dtypes[of->type].bits != 8 || dtypes[of->type].class == CLASS_FLOAT))
		return NULL;
	if (of && of->kind == EXPR_NUMBER)
		zero = arena_printf(printer->arena, "%" PRId64, of->integer);
	else if (of && of->kind == EXPR_LOAD && !held_of(printer, of).text) {
		const struct index *at = schedule_address(printer->arena, of->of, of->at);
		if (index_uses(at, printer->lane))
			return NULL;
		zero = printer_element(printer, of->of, at);
	} else if (of)
		return NULL;
	return arena_printf(printer->arena, "ivec_quantised(%s, %s, %" PRId64 ", %" PRId64 ")",
	        print_part(printer, number_of(printer, r.of), branch).text, zero, r.least, r.most);
}
