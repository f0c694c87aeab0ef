/* expression.c: scalar expressions -> C text in the words of a prelude.
 * What a line's expressions are made of is numbered first; what has more than one user is named by a let where it is
 * first needed.  Text is never put into a text that would repeat it. */
#include "emit/emit.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVEL_ANY, LEVEL_CHOICE, LEVEL_AND, LEVEL_ADD, LEVEL_MULTIPLY, LEVEL_CAST, LEVEL_PRIMARY };

/* What is known of a part of a line's expressions, besides what its numbering says. */
struct known {
	bool changes;     /* it, or something in it */
	bool sure;        /* somebody needs it, not only where a select has chosen it */
	const char *name; /* of its let; NULL: none yet */
};
struct sharing {
	struct numbering parts;
	VECTOR(struct known) all; /* by number */
};
enum { LONG_TEXT = 200 };

struct printed {
	const char *text;
	int level;
	/* Scalars of integers below 64 bits.  OWN: C takes the text for the expression's type as it stands.  WIDE: a
	 * long long of the right value.  RAW: a long long of which the low bits alone are right. */
	enum { OWN, WIDE, RAW } form;
};

static struct printed print(struct printer *, int number, bool branch);
static struct printed print_raw(struct printer *, int number, bool branch);
static struct printed print_root(struct printer *, const struct expr *, bool raw);

/* ---- vectors ---- */
struct lane_type lane_type_of(enum dtype type)
{
	switch (type) {
	case DTYPE_F32: return (struct lane_type){ "vec", "vec_", "", NULL, ", 0.f" };
	case DTYPE_F64: return (struct lane_type){ "dvec", "f64_", "", NULL, "" };
	case DTYPE_I8: return (struct lane_type){ "ivec", "i32_", "_i8", NULL, "" };
	case DTYPE_I16: return (struct lane_type){ "ivec", "i32_", "_i16", NULL, "" };
	case DTYPE_I32: return (struct lane_type){ "ivec", "i32_", "", NULL, ", 0" };
	case DTYPE_U32: return (struct lane_type){ "ivec", "u32_", "", "int", ", 0" };
	case DTYPE_I64: return (struct lane_type){ "lvec", "i64_", "", NULL, "" };
	case DTYPE_U64: return (struct lane_type){ "lvec", "u64_", "", "long long", "" };
	default: return (struct lane_type){ "ivec", "i32_", dtypes[type].bits == 16 ? "_u16" : "_u8", NULL, "" };
	}
}

static bool is_primary(const char *text)
{
	int depth = 0;
	for (const char *p = text; *p; p++) {
		depth += (*p == '(' || *p == '[') - (*p == ')' || *p == ']');
		if (!depth && (*p == ' ' || *p == '-'))
			return false;
	}
	return true;
}

/* The same value in each lane. */
static const char *set_text(struct arena *arena, enum dtype type, const char *scalar)
{
	struct lane_type t = lane_type_of(type);
	const char *cast = !strcmp(t.vector, "ivec") ? "(uint32_t)" : type == DTYPE_U64 ? "(long long)" : "";
	if (strspn(scalar, "0123456789") == strlen(scalar)) /* C converts a constant itself */
		cast = "";
	return arena_printf(
	        arena, *cast && !is_primary(scalar) ? "%s_set(%s(%s))" : "%s_set(%s%s)", t.vector, cast, scalar);
}

/* ---- indices ---- */

static struct printed print_long(struct printer *, const struct index *);

static const char *wrap(struct printer *printer, struct printed printed, int least)
{
	return printed.level >= least ? printed.text : arena_printf(printer->arena, "(%s)", printed.text);
}

/* min(max(…, low), high) says it already. */
static bool is_kept_inside(const struct atom *atom)
{
	const struct expr *most = atom->value,
	                  *least = most->kind == EXPR_SCALAR && most->row == SCALAR_min && most->type == DTYPE_I64
	        ? most->arg[0]
	        : NULL;
	return least && least->kind == EXPR_SCALAR && least->row == SCALAR_max && most->arg[1]->kind == EXPR_NUMBER
	        && least->arg[1]->kind == EXPR_NUMBER && least->arg[1]->integer >= atom->low
	        && most->arg[1]->integer >= least->arg[1]->integer && most->arg[1]->integer <= atom->high;
}

static struct printed print_atom(struct printer *printer, const struct atom *atom)
{
	struct arena *arena = printer->arena;
	if (atom->kind == ATOM_VAR)
		return (struct printed){ printer->names[atom->var], LEVEL_PRIMARY, OWN };
	if (atom->kind == ATOM_VALUE) {
		/* A scalar, also inside vectors; kept inside its range whatever the data says. */
		struct printer inner = *printer;
		inner.lane = -1;
		inner.sharing = NULL;
		struct printed value = print_root(&inner, atom->value, false);
		const char *text = value.text;
		printer->lets.at = inner.lets.at;
		printer->lets.count = inner.lets.count;
		printer->lets.room = inner.lets.room;
		printer->fresh = inner.fresh;
		if (is_kept_inside(atom))
			return (struct printed){ arena_printf(arena, "(long)%s", wrap(printer, value, LEVEL_CAST)),
				LEVEL_CAST, OWN };
		return (struct printed){ arena_printf(arena, "(long)i_clamp(%s, %" PRId64 "ll, %" PRId64 "ll)", text,
			                         atom->low, atom->high),
			LEVEL_CAST, OWN };
	}
	if (atom->kind == ATOM_SYMBOL)
		return atom->of->count
		        ? (struct printed){ arena_printf(arena, "%s[%d] * %s", printer->symbols, atom->symbol,
			                            wrap(printer, print_long(printer, atom->of), LEVEL_CAST)),
			          LEVEL_MULTIPLY, OWN }
		        : (struct printed){ arena_printf(arena, "%s[%d]", printer->symbols, atom->symbol),
			          LEVEL_PRIMARY, OWN };
	int64_t low, high;
	index_range(atom->of, &low, &high);
	if (low >= 0)
		return (struct printed){ arena_printf(arena, "%s %c %" PRId64,
			                         wrap(printer, print_long(printer, atom->of), LEVEL_CAST),
			                         atom->kind == ATOM_DIV ? '/' : '%', atom->by),
			LEVEL_MULTIPLY, OWN };
	/* C rounds to zero: shifted by whole multiples until it is not negative. */
	int64_t shift = (-low + atom->by - 1) / atom->by;
	const char *raised =
	        wrap(printer, print_long(printer, index_plus(arena, atom->of, shift * atom->by)), LEVEL_CAST);
	if (atom->kind == ATOM_DIV)
		return (struct printed){ arena_printf(arena, "%s / %" PRId64 " - %" PRId64, raised, atom->by, shift),
			LEVEL_ADD, OWN };
	return (struct printed){ arena_printf(arena, "%s %% %" PRId64, raised, atom->by), LEVEL_MULTIPLY, OWN };
}

static struct printed print_long(struct printer *printer, const struct index *index)
{
	struct arena *arena = printer->arena;
	const char *text = NULL;
	int level = LEVEL_PRIMARY;
	/* positive terms first: no unary minus where it can be helped */
	for (int sign = 1; sign >= -1; sign -= 2)
		for (int i = 0; i < index->count; i++) {
			int64_t f = index->terms[i].factor;
			if ((f > 0) != (sign > 0))
				continue;
			struct printed one = print_atom(printer, index->terms[i].atom);
			if (f != 1 && f != -1) {

				one.text = arena_printf(
				        arena, "%" PRId64 " * %s", f < 0 ? -f : f, wrap(printer, one, LEVEL_CAST));
				one.level = LEVEL_MULTIPLY;
			} else if (f < 0 || text)
				one.text = wrap(printer, one, LEVEL_MULTIPLY),
				one.level = one.level < LEVEL_MULTIPLY ? LEVEL_PRIMARY : one.level;
			if (!text)
				text = f < 0 ? arena_printf(arena, "-%s", one.text) : one.text,
				level = f < 0 ? LEVEL_ADD : one.level;
			else
				text = arena_printf(arena, "%s %c %s", text, f < 0 ? '-' : '+', one.text),
				level = LEVEL_ADD;
		}
	if (!text)
		return (struct printed){ arena_printf(arena, "%" PRId64, index->constant),
			index->constant < 0 ? LEVEL_ADD : LEVEL_PRIMARY, OWN };
	if (index->constant) {
		int64_t c = index->constant;
		text = arena_printf(arena, "%s %c %" PRId64, text, c < 0 ? '-' : '+', c < 0 ? -c : c);
		level = LEVEL_ADD;
	}
	return (struct printed){ text, level, OWN };
}

const char *printer_index(struct printer *printer, const struct index *index)
{
	return print_long(printer, index).text;
}

const char *printer_address(struct printer *printer, const struct definition *of, const struct index *address)
{
	const char *name = printer->buffer(printer->user, of);
	int64_t c;
	if (index_is_constant(address, &c) && c == 0)
		return name;
	const char *offset = printer_index(printer, address);
	return *offset == '-' ? arena_printf(printer->arena, "%s + (%s)", name, offset)
	                      : arena_printf(printer->arena, "%s + %s", name, offset);
}

const char *printer_element(struct printer *printer, const struct definition *of, const struct index *address)
{
	return arena_printf(
	        printer->arena, "%s[%s]", printer->buffer(printer->user, of), printer_index(printer, address));
}

/* ---- what is shared ---- */

static struct held held_of(struct printer *printer, const struct expr *load)
{
	return printer->held ? printer->held(printer->user, load) : (struct held){ 0 };
}

/* Is there a load in it whose value changes? */
static enum visit see_change(void *user, const struct expr *expr)
{
	return expr->kind == EXPR_LOAD && held_of(user, expr).changes ? VISIT_END : VISIT_PARTS;
}

static bool changes(struct printer *printer, const struct numbered *part)
{
	const struct expr *expr = part->expr;
	bool changes = expr->kind == EXPR_LOAD && held_of(printer, expr).changes;
	for (int i = 0; i < expr_index_count(expr) && !changes; i++)
		changes = index_visit(expr_index_at(expr, i), see_change, printer);
	for (int i = 0; i < 3 && !changes; i++)
		changes = part->arg[i] >= 0 && printer->sharing->all.at[part->arg[i]].changes;
	return changes;
}

/* The number of an expression that is printed whatever any select says.  In a branch of a select nothing may be
 * evaluated that the select has not chosen. */
static int number_of(struct printer *printer, const struct expr *expr)
{
	struct sharing *sharing = printer->sharing;
	int number = number_find(&sharing->parts, expr);
	if (number < 0)
		number = number_expr(&sharing->parts, expr);
	while (sharing->all.count < sharing->parts.all.count) {
		struct known one = { .changes = changes(printer, &sharing->parts.all.at[sharing->all.count]) };
		push(printer->arena, &sharing->all, one);
	}
	if (sharing->all.at[number].sure)
		return number;
	sharing->all.at[number].sure = true;
	for (int i = number; i >= 0; i--) { /* arguments come before */
		const struct numbered *part = &sharing->parts.all.at[i];
		for (int k = 0; sharing->all.at[i].sure && part->expr->kind != EXPR_SELECT && k < 3; k++)
			if (part->arg[k] >= 0)
				sharing->all.at[part->arg[k]].sure = true;
	}
	return number;
}

void printer_share(struct printer *printer, const struct expr *const *roots, size_t count)
{
	printer->sharing = arena_new(printer->arena, struct sharing);
	printer->sharing->parts.arena = printer->arena;
	for (size_t i = 0; i < count; i++)
		number_expr(&printer->sharing->parts, roots[i]);
	for (size_t i = 0; i < count; i++)
		number_of(printer, roots[i]);
}

/* ---- text ---- */

static const char *c_type(const struct printer *printer, const struct expr *expr)
{
	return printer->lane >= 0                                                    ? lane_type_of(expr->type).vector
	        : dtypes[expr->type].class == CLASS_FLOAT || expr->type == DTYPE_U64 ? dtypes[expr->type].c
	                                                                             : "long long";
}

/* Every second element: neighbours in the pairs [0, 1], [2, 3] … of the buffer, so that a window's taps share what they
 * load.  NULL where the pairs reach out of the buffer, or elements have 64 bits. */
static const char *print_pairs(struct printer *printer, const struct expr *load, const struct index *address)
{
	int64_t low, high, odd = address->constant & 1;
	struct lane_type t = lane_type_of(load->type);
	index_range(address, &low, &high);
	if (low - odd < 0 || high + 1 - odd >= definition_elements(load->of) || dtypes[load->type].bits == 64)
		return NULL;
	const char *from = printer_address(printer, load->of, index_plus(printer->arena, address, -odd));
	if (t.pointer)
		from = arena_printf(printer->arena, "(const %s *)(%s)", t.pointer, from);
	return arena_printf(printer->arena, "%s_%s%s(%s)", t.vector, odd ? "odd" : "even", t.memory, from);
}

static struct printed print_load(struct printer *printer, const struct expr *load)
{
	struct arena *arena = printer->arena;
	bool vector = printer->lane >= 0;
	struct lane_type t = lane_type_of(load->type);
	struct held held = held_of(printer, load);
	if (held.text)
		return (struct printed){ vector && !held.vector ? set_text(arena, load->type, held.text) : held.text,
			LEVEL_PRIMARY, OWN };
	const struct index *address = schedule_address(arena, load->of, load->at);
	const struct index *step = index_step(arena, address, printer->lane);
	int64_t factor = 0;
	const char *text;
	if (!step)
		return (struct printed){ printer_lane_gather(printer, load->of, address), LEVEL_PRIMARY, OWN };
	if (index_is_constant(step, &factor) && !factor) {
		text = printer_element(printer, load->of, address);
		return (struct printed){ vector ? set_text(arena, load->type, text) : text, LEVEL_PRIMARY, OWN };
	}
	if (factor == 2 && !printer->left && (text = print_pairs(printer, load, address)))
		return (struct printed){ text, LEVEL_PRIMARY, OWN };
	const char *from = printer_address(printer, load->of, address);
	if (t.pointer)
		from = arena_printf(arena, "(const %s *)(%s)", t.pointer, from);
	const char *stride = factor == 1 ? "" : arena_printf(arena, ", %s", printer_index(printer, step));
	const char *left = printer->left ? arena_printf(arena, ", %s%s", printer->left, t.fill) : "";
	text = arena_printf(arena, "%s_%s%s%s(%s%s%s)", t.vector, factor == 1 ? "load" : "gather", t.memory,
	        printer->left ? "_n" : "", from, stride, left);
	return (struct printed){ text, LEVEL_PRIMARY, OWN };
}

/* One row's text: its words get the prefix of their type, its letters the arguments. */
static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static int row_level(const char *row)
{
	int depth = 0, level = LEVEL_PRIMARY;
	for (const char *p = row; *p; p++) {
		depth += (*p == '(') - (*p == ')');
		if (!depth && (*p == '+' || *p == '-'))
			level = LEVEL_ADD;
		if (!depth && (*p == '*' || *p == '/') && level > LEVEL_MULTIPLY)
			level = LEVEL_MULTIPLY;
	}
	return level;
}

static int row_count(const char *row, char letter)
{
	int count = 0;
	for (const char *p = row; *p; p++)
		count += *p == letter && (p == row || !is_word(p[-1])) && !is_word(p[1]);
	return count;
}

/* Rows of integers whose result has the range of their operands; all others may leave it. */
static const bool stays[SCALAR_COUNT] = { [SCALAR_max] = true,
	[SCALAR_min] = true,
	[SCALAR_relu] = true,
	[SCALAR_less] = true,
	[SCALAR_equal] = true,
	[SCALAR_maximum] = true,
	[SCALAR_minimum] = true,
	[SCALAR_greater] = true,
	[SCALAR_less_equal] = true,
	[SCALAR_greater_equal] = true,
	[SCALAR_not] = true,
	[SCALAR_and] = true,
	[SCALAR_or] = true,
	[SCALAR_where] = true };
bool scalar_stays(enum scalar row) { return stays[row]; }

/* Rows whose low bits are those of their operands' low bits; of a shift those of the first.  No products: machines of
 * 32 bits multiply to 64 at a price. */
static const bool is_modular[SCALAR_COUNT] = { [SCALAR_add] = true,
	[SCALAR_sub] = true,
	[SCALAR_neg] = true,
	[SCALAR_and] = true,
	[SCALAR_or] = true,
	[SCALAR_xor] = true,
	[SCALAR_shl] = true };

/* What C computes in a wider type than its own: integers, and codes of floats. */
static bool is_wrapped(const struct printer *printer, const struct expr *expr)
{
	return printer->lane < 0 && expr->type != DTYPE_F32 && dtypes[expr->type].bits < 64;
}

/* As C takes it for the type, whatever its form. */
static struct printed own(struct printer *printer, const struct expr *expr, struct printed printed)
{
	if (printed.form == OWN || !is_wrapped(printer, expr))
		return printed;
	return (struct printed){ arena_printf(printer->arena, "(%s)%s", dtypes[expr->type].c,
		                         wrap(printer, printed, LEVEL_CAST)),
		LEVEL_CAST, OWN };
}

/* Integers below 32 bits wrap to their own type behind each row that may leave it. */
static const char *wrap_lanes(struct arena *arena, const struct expr *expr, const char *text)
{
	const char *memory = lane_type_of(expr->type).memory;
	return *memory && !stays[expr->row] ? arena_printf(arena, "ivec_wrap%s(%s)", memory, text) : text;
}

/* sum + a * b of ints, where code is scalar, as one word; NULL: it is something else. */
static const char *print_multiply_add(struct printer *printer, const struct numbered *it, bool branch)
{
	const struct numbered *mul = it->arg[1] >= 0 ? &printer->sharing->parts.all.at[it->arg[1]] : NULL;
	if (printer->lane >= 0 || printer->target->lanes > 1 || it->expr->type != DTYPE_I32
	        || it->expr->row != SCALAR_add || !mul || mul->uses > 1 || mul->expr->kind != EXPR_SCALAR
	        || mul->expr->row != SCALAR_mul)
		return NULL;
	struct printed sum = own(printer, it->expr->arg[0], print(printer, it->arg[0], branch)),
	               a = own(printer, mul->expr->arg[0], print(printer, mul->arg[0], branch)),
	               b = own(printer, mul->expr->arg[1], print(printer, mul->arg[1], branch));
	return arena_printf(printer->arena, "i_mla(%s, %s, %s)", sum.text, a.text, b.text);
}

/* raw: whoever asks takes RAW, too. */
static struct printed print_row(struct printer *printer, const struct numbered *it, bool branch, bool raw)
{
	const struct expr *expr = it->expr;
	const char *row = scalars[expr->row].text, *word = print_multiply_add(printer, it, branch);
	if (word)
		return (struct printed){ word, LEVEL_PRIMARY, OWN };
	enum dtype_class class = dtypes[expr->type].class;
	/* Integers wrap around, which C's operators on long long do not promise. */
	bool structs = printer->lane >= 0 && expr->type == DTYPE_F64;
	if ((class != CLASS_FLOAT || structs) && row_level(row) != LEVEL_PRIMARY)
		row = arena_printf(printer->arena, "k_%s(a, b)", scalars[expr->row].name);
	const char *prefix = printer->lane >= 0 && expr->type != DTYPE_F32 ? lane_type_of(expr->type).words
	        : expr->type == DTYPE_U64                                  ? "u_"
	        : class != CLASS_FLOAT                                     ? "i_"
	        : expr->type == DTYPE_F64                                  ? "d_"
	        : printer->lane >= 0 || printer->target->lanes == 1        ? "k_"
	                                                                   : "s_";
	int level = row_level(row);
	bool wrapped = is_wrapped(printer, expr), right = stays[expr->row];
	struct printed arg[3] = { { 0 } };
	for (int i = 0; i < 3; i++)
		if (it->arg[i] >= 0) {
			bool low = wrapped && is_modular[expr->row] && (i == 0 || expr->row != SCALAR_shl);
			arg[i] = (low ? print_raw : print)(printer, it->arg[i], branch);
			right &= arg[i].form != RAW;
			/* What the row says twice gets a name first; in a branch of a select it may not. */
			if (!branch && row_count(row, (char)('a' + i)) > 1 && strlen(arg[i].text) > 16) {
				struct let let = { c_type(printer, expr->arg[i]),
					arena_printf(printer->arena, "v%d", printer->fresh++), arg[i].text };
				push(printer->arena, &printer->lets, let);
				arg[i] = (struct printed){ let.name, LEVEL_PRIMARY, OWN };
			}
		}
	struct text out;
	text_init(&out, printer->arena->build);
	int depth = 0;
	for (const char *p = row; *p;) {
		bool start = p == row || !is_word(p[-1]);
		depth += (*p == '(') - (*p == ')');
		if (start && *p >= 'a' && *p <= 'c' && !is_word(p[1])) {
			struct printed a = arg[*p - 'a'];
			/* An operand on the right of an operator needs a level more: a - (b - c), and a + (b + c) keeps
			 * its order. */
			int least = depth                ? LEVEL_ANY
			        : level == LEVEL_PRIMARY ? LEVEL_ANY
			        : *p == 'a'              ? level
			                                 : level + 1;
			text_adds(&out, wrap(printer, a, least));
			p++;
		} else if (start && !strncmp(p, "k_", 2)) {
			text_adds(&out, prefix);
			p += 2;
		} else
			text_addc(&out, *p++);
	}
	const char *text = arena_copy(printer->arena, out.at, out.count);
	text_release(&out);
	if (printer->lane >= 0 && class != CLASS_FLOAT)
		return (struct printed){ wrap_lanes(printer->arena, expr, text), LEVEL_PRIMARY, OWN };
	if (wrapped) {
		struct printed wide = { text, level, right ? WIDE : RAW };
		return right || (raw && is_modular[expr->row]) ? wide : own(printer, expr, wide);
	}
	return (struct printed){ text, level, OWN };
}

const char *printer_range(struct printer *printer, const struct range *range)
{
	int64_t low, high;
	index_range(range->at, &low, &high);
	const char *at = wrap(printer, print_long(printer, range->at), LEVEL_ADD);
	if (low >= range->from)
		return arena_printf(printer->arena, "%s < %" PRId64, at, range->to);
	if (high < range->to)
		return arena_printf(printer->arena, "%s >= %" PRId64, at, range->from);
	return arena_printf(printer->arena, "%s >= %" PRId64 " && %s < %" PRId64, at, range->from, at, range->to);
}

/* ---- floats below 32 bits: tables/narrow.h as arguments of the words in common/narrow.jinja ---- */
static const char *wide_text(struct arena *arena, enum dtype from, const char *code)
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
		x = dtypes[from].bits < 32
		        ? arena_printf(arena, "(float)%s", wrap(printer, own(printer, expr->arg[0], a), LEVEL_CAST))
		        : arena_printf(arena, "n_odd_long(%s)", x);
	if (expr->type == DTYPE_F8E8M0)
		return (struct printed){ arena_printf(arena, "(%s)n_narrow_power(%s, %d, %d)", c, x,
			                         expr->cast & CAST_UP             ? 1
			                                 : expr->cast & CAST_DOWN ? -1
			                                                          : 0,
			                         (expr->cast & CAST_SATURATES) != 0),
			LEVEL_CAST, OWN };
	return (struct printed){ arena_printf(arena, "(%s)n_narrow(%s, %d, %d, %d, 0x%xu, 0x%xu, 0x%xu, %d)", c, x,
		                         row->exponent, row->mantissa, row->bias, row->top,
		                         expr->cast & CAST_SATURATES ? row->top : row->over, row->nan, row->one_zero),
		LEVEL_CAST, OWN };
}

/* A vector of float16 as floats: neighbours, or one for all. */
static const char *print_half(struct printer *printer, const struct expr *load)
{
	struct arena *arena = printer->arena;
	const struct index *address = schedule_address(arena, load->of, load->at);
	if (!index_factor(address, printer->lane))
		return arena_printf(
		        arena, "vec_set(%s)", wide_text(arena, DTYPE_F16, printer_element(printer, load->of, address)));
	const char *from = printer_address(printer, load->of, address);
	return printer->left ? arena_printf(arena, "vec_load_half_n(%s, %s)", from, printer->left)
	                     : arena_printf(arena, "vec_load_half(%s)", from);
}

/* Between integers and codes the bits are those of C's own conversion; between those and floats a word tells. */
static struct printed print_bits(struct printer *printer, enum dtype from, enum dtype to, struct printed a)
{
	struct arena *arena = printer->arena;
	bool floats[2] = { from == DTYPE_F32 || from == DTYPE_F64, to == DTYPE_F32 || to == DTYPE_F64 };
	if (floats[0] == floats[1] || (!floats[0] && !floats[1]))
		return (struct printed){ arena_printf(arena, "(%s)%s", dtypes[to].c, wrap(printer, a, LEVEL_CAST)),
			LEVEL_CAST, OWN };
	const char *word = floats[0] ? (from == DTYPE_F32 ? "n_bits" : "n_bits_double")
	        : to == DTYPE_F32    ? "n_float_of_bits"
	                             : "n_double_of_bits";
	const char *text = arena_printf(arena, "%s(%s%s)", word,
	        floats[0]                 ? ""
	                : to == DTYPE_F32 ? "(uint32_t)"
	                                  : "(unsigned long long)",
	        floats[0] ? a.text : wrap(printer, a, LEVEL_CAST));
	return floats[0] ? (struct printed){ arena_printf(arena, "(%s)%s", dtypes[to].c, text), LEVEL_CAST, OWN }
	                 : (struct printed){ text, LEVEL_PRIMARY, OWN };
}

/* Has the type every value of the other?  Unsigned integers of 64 bits are a C type of their own. */
static bool fits_in(enum dtype from, enum dtype to)
{
	enum dtype_class of = dtypes[from].class, into = dtypes[to].class;
	int bits = dtypes[from].bits, room = dtypes[to].bits;
	if (from == DTYPE_U64 || to == DTYPE_U64)
		return from == to;
	return of == CLASS_BOOL || (of == into && bits <= room)
	        || (of == CLASS_UINT && into == CLASS_INT && bits < room);
}

/* A cast between integers to no more bits looks at those alone. */
static bool takes_raw(const struct expr *cast)
{
	enum dtype from = cast->arg[0]->type, to = cast->type;
	return !cast->cast && dtypes[from].class != CLASS_FLOAT
	        && (dtypes[to].class == CLASS_INT || dtypes[to].class == CLASS_UINT) && !fits_in(from, to)
	        && dtypes[to].bits <= dtypes[from].bits;
}

static struct printed print_cast(struct printer *printer, const struct expr *expr, struct printed a)
{
	struct arena *arena = printer->arena;
	enum dtype from = expr->arg[0]->type;
	const struct dtype_row *to = &dtypes[expr->type];
	if (expr->cast & CAST_BITS)
		return print_bits(printer, from, expr->type, a);
	if (dtype_is_narrow(expr->type))
		return print_narrow(printer, expr, from, a);
	if (dtype_is_narrow(from))
		return (struct printed){ wide_text(arena, from, a.text), LEVEL_PRIMARY, OWN };
	if (to->class == CLASS_BOOL)
		return (struct printed){ arena_printf(arena, "(unsigned char)(%s != 0)", wrap(printer, a, LEVEL_ADD)),
			LEVEL_CAST, OWN };
	if (to->class != CLASS_FLOAT && dtypes[from].class != CLASS_FLOAT && fits_in(from, expr->type))
		return a;
	if (to->class == CLASS_FLOAT) /* of as few bits as it has */
		a = own(printer, expr->arg[0], a);
	if (to->class == CLASS_FLOAT || dtypes[from].class != CLASS_FLOAT)
		return (struct printed){ arena_printf(arena, "(%s)%s", to->c, wrap(printer, a, LEVEL_CAST)), LEVEL_CAST,
			OWN };
	/* A float becomes an integer by cutting; what does not fit is the nearest that does. */
	int bits = to->bits;
	if (expr->type == DTYPE_U64)
		return (struct printed){ arena_printf(arena, "u_of_float(%s)", a.text), LEVEL_PRIMARY, OWN };
	bool is_signed = to->class == CLASS_INT;
	int64_t most = is_signed || bits == 64 ? (int64_t)(UINT64_MAX >> (is_signed ? 65 - bits : 1))
	                                       : (int64_t)(UINT64_MAX >> (64 - bits));
	int64_t least = is_signed ? -most - 1 : 0;
	if (from == DTYPE_F32
	        && (bits <= 16 || expr->type == DTYPE_I32)) /* an int; floats have its bounds, or one more */
		return (struct printed){ arena_printf(arena, "(%s)i_of_f32(%s, %" PRId64 ", %" PRId64 ")", to->c,
			                         a.text, least, most),
			LEVEL_CAST, OWN };
	const char *text = arena_printf(arena, "i_of_float(%s, %s, %s, %s, %s)", a.text,
	        number_text(arena, DTYPE_F64, (double)least, 0), number_text(arena, DTYPE_F64, (double)most, 0),
	        number_text(arena, DTYPE_I64, 0, least), number_text(arena, DTYPE_I64, 0, most));
	return (struct printed){ to->bits == 64 ? text : arena_printf(arena, "(%s)%s", to->c, text), LEVEL_CAST, OWN };
}

/* The integer of a number, where it is one that floats beside it count exactly; false: it is none. */
static bool whole_number(const struct expr *e, int64_t *n)
{
	if (e->kind != EXPR_NUMBER || !(fabs(e->number) <= 1 << 20) || e->number != floor(e->number))
		return false;
	*n = (int64_t)e->number;
	return true;
}

/* What is quantised to 8 bits, bounds(round(x) + zero), in one word; NULL: it is something else. */
static const char *print_rounded(struct printer *printer, const struct expr *cast, bool branch)
{
	const struct expr *e = cast->arg[0];
	int64_t least = cast->type == DTYPE_I8 ? INT8_MIN : 0, most = least + UINT8_MAX, n, zero = 0;
	if (!(cast->cast & CAST_NUMBER))
		return NULL;
	for (; e->kind == EXPR_SCALAR && (e->row == SCALAR_max || e->row == SCALAR_min); e = e->arg[1]) {
		if (!whole_number(e->arg[0], &n))
			return NULL;
		least = e->row == SCALAR_max && n > least ? n : least;
		most = e->row == SCALAR_min && n < most ? n : most;
	}
	if (e->kind == EXPR_SCALAR && e->row == SCALAR_add && whole_number(e->arg[1], &zero))
		e = e->arg[0];
	if (least > most || e->kind != EXPR_SCALAR || e->row != SCALAR_round)
		return NULL;
	return arena_printf(printer->arena, "(%s)i_rounded(%s, %" PRId64 ", %" PRId64 ", %" PRId64 ")",
	        dtypes[cast->type].c, print(printer, number_of(printer, e->arg[0]), branch).text, zero, least, most);
}

/* One of two.  To gcc the sum of two __m256 is of another type than a __m256, which does not matter but here. */
static const char *print_choice(struct printer *printer, int number)
{
	struct printed one = print(printer, number, true);
	if (printer->lane >= 0 && one.level != LEVEL_PRIMARY && one.level != LEVEL_CHOICE)
		return arena_printf(printer->arena, "(%s)(%s)",
		        lane_type_of(printer->sharing->parts.all.at[number].expr->type).vector, one.text);
	return wrap(printer, one, LEVEL_AND);
}

/* Of a vector the lanes between bounds of its own variable. */
static const char *print_between(struct printer *printer, const struct expr *expr)
{
	const char *name = printer->lane >= 0 ? printer->names[printer->lane] : NULL, *left = printer->left;
	int64_t from, to;
	if (!expr_is_between(expr, printer->lane, &from, &to))
		return NULL;
	const struct expr *load = expr->arg[0];
	const char *at = printer_address(printer, load->of, schedule_address(printer->arena, load->of, load->at));
	const char *low = from == INT64_MIN ? "0" : arena_printf(printer->arena, "%" PRId64 " - %s", from, name);
	const char *high =
	        to == INT64_MAX ? left ? left : "LANES" : arena_printf(printer->arena, "%" PRId64 " - %s", to, name);
	if (left && to != INT64_MAX)
		high = arena_printf(printer->arena, "(%s < %s ? %s : %s)", high, left, high, left);
	return arena_printf(printer->arena, "vec_load_between(%s, %s, %s)", at, low, high);
}

/* Four bytes of a tensor side by side that are put into one word (kernels/products.c): a compiler sees no load in them
 * where their addresses are sums of loops' variables. */
enum { BYTES = 4, BYTE_ZERO = INT32_MIN, BYTE_ANY };
struct four_bytes {
	const struct definition *of;
	const struct index *at;
	int64_t byte[BYTES]; /* the lowest first: so far behind `at`, or one of the above */
};

static bool bytes_of(struct printer *printer, const struct expr *e, struct four_bytes *bytes)
{
	struct four_bytes high;
	int64_t by = e->kind == EXPR_SCALAR && e->arg[1] && e->arg[1]->kind == EXPR_NUMBER ? e->arg[1]->integer : -1;
	if (e->kind == EXPR_CAST && e->type == DTYPE_I32 && dtypes[e->arg[0]->type].bits == 8)
		return bytes_of(printer, e->arg[0], bytes);
	if (e->kind == EXPR_LOAD && (e->type == DTYPE_U8 || e->type == DTYPE_I8) && !held_of(printer, e).text) {
		int64_t above = e->type == DTYPE_U8 ? BYTE_ZERO : BYTE_ANY;
		*bytes = (struct four_bytes){ e->of, schedule_address(printer->arena, e->of, e->at),
			{ 0, above, above, above } };
		return true;
	}
	if (e->kind != EXPR_SCALAR || e->type != DTYPE_I32 || !bytes_of(printer, e->arg[0], bytes))
		return false;
	if (e->row == SCALAR_and && by >= 0)
		for (int i = 0; i < BYTES; i++) {
			int64_t mask = by >> 8 * i & 255;
			if (mask && mask != 255)
				return false;
			bytes->byte[i] = mask ? bytes->byte[i] : BYTE_ZERO;
		}
	else if (e->row == SCALAR_shl && by >= 0 && by < 8 * BYTES && by % 8 == 0)
		for (int i = BYTES - 1; i >= 0; i--)
			bytes->byte[i] = i >= by / 8 ? bytes->byte[i - by / 8] : BYTE_ZERO;
	else if (e->row == SCALAR_or && bytes_of(printer, e->arg[1], &high) && high.of == bytes->of) {
		const struct index *apart =
		        index_add(printer->arena, high.at, index_scale(printer->arena, bytes->at, -1));
		int64_t behind;
		for (int i = 0; i < BYTES; i++) {
			if (!index_is_constant(apart, &behind)
			        || (bytes->byte[i] != BYTE_ZERO && high.byte[i] != BYTE_ZERO))
				return false;
			if (high.byte[i] != BYTE_ZERO)
				bytes->byte[i] = high.byte[i] == BYTE_ANY ? BYTE_ANY : high.byte[i] + behind;
		}
	} else
		return false;
	return true;
}

/* NULL: they are not four side by side; of a vector, or its words are not. */
static const char *print_bytes(struct printer *printer, const struct expr *e)
{
	struct arena *arena = printer->arena;
	struct four_bytes bytes;
	if (e->row != SCALAR_or || e->type != DTYPE_I32 || !bytes_of(printer, e, &bytes))
		return NULL;
	for (int i = 0; i < BYTES; i++)
		if (bytes.byte[i] <= BYTE_ANY || bytes.byte[i] != bytes.byte[0] + i)
			return NULL;
	const char *from = printer_address(printer, bytes.of, index_plus(arena, bytes.at, bytes.byte[0]));
	int64_t step;
	if (printer->lane < 0)
		return arena_printf(arena, "(int)i_bytes(%s)", from);
	const struct index *apart = index_step(arena, bytes.at, printer->lane);
	if (!apart || !index_is_constant(apart, &step) || (step && step != BYTES))
		return NULL;
	return !step            ? arena_printf(arena, "ivec_set((uint32_t)i_bytes(%s))", from)
	        : printer->left ? arena_printf(arena, "ivec_bytes_n(%s, %s)", from, printer->left)
	                        : arena_printf(arena, "ivec_bytes(%s)", from);
}

/* Where another lane gather is of the element behind this one's, or before it, in each lane, both come at once.  NULL:
 * none is. */
static const char *print_one_of_two(struct printer *printer, int number)
{
	struct arena *arena = printer->arena;
	const struct numbered *it = &printer->sharing->parts.all.at[number];
	const struct known *shared = &printer->sharing->all.at[number];
	if (printer->lane < 0 || printer->left || !shared->sure || shared->changes || it->expr->type != DTYPE_F32
	        || held_of(printer, it->expr).text)
		return NULL;
	const struct definition *of = it->expr->of;
	const struct index *at = schedule_address(arena, of, it->expr->at);
	if (index_step(arena, at, printer->lane))
		return NULL;
	for (size_t i = 0; i < printer->sharing->all.count; i++) {
		const struct expr *load = printer->sharing->parts.all.at[i].expr;
		struct known *other = &printer->sharing->all.at[i];
		int64_t behind = 0;
		if (load->kind != EXPR_LOAD || load->of != of || other->name || !other->sure || other->changes
		        || !index_is_constant(
		                index_add(arena, schedule_address(arena, of, load->at), index_scale(arena, at, -1)),
		                &behind)
		        || (behind != 1 && behind != -1))
			continue;
		const char *text = printer_lane_gather_two(printer, of, behind < 0 ? index_plus(arena, at, -1) : at);
		if (!text)
			return NULL;
		const char *name = arena_printf(arena, "v%d", printer->fresh++);
		push(arena, &printer->lets, (struct let){ "vec2", name, text });
		other->name = arena_printf(arena, "%s.%s", name, behind < 0 ? "low" : "high");
		return arena_printf(arena, "%s.%s", name, behind < 0 ? "high" : "low");
	}
	return NULL;
}

/* ---- casts, comparisons and choices of vectors ---- */

static const char *number_lanes(struct arena *arena, enum dtype type, int number)
{
	return set_text(arena, type, number_text(arena, type, number, number));
}

static const char *print_index_lanes(struct printer *printer, const struct index *index)
{
	return arena_printf(printer->arena, "lvec_index(%s, %" PRId64 ")", printer_index(printer, index),
	        index_factor(index, printer->lane));
}

static bool is_comparison(const struct expr *expr)
{
	return expr->kind == EXPR_SCALAR
	        && (expr->row == SCALAR_less || expr->row == SCALAR_equal || expr->row == SCALAR_greater
	                || expr->row == SCALAR_less_equal || expr->row == SCALAR_greater_equal);
}

/* Are its values 0 and 1, or does a cast ask no more of it? */
static bool is_truth(const struct expr *expr) { return expr->type == DTYPE_BOOL || is_comparison(expr); }

/* The mask of the lanes where it is not 0. */
static const char *print_mask(struct printer *printer, int number, bool branch)
{
	struct arena *arena = printer->arena;
	const struct numbered it = printer->sharing->parts.all.at[number];
	const struct expr *expr = it.expr, *of = expr->arg[0];
	bool named = printer->sharing->all.at[number].name, scalar = expr->kind == EXPR_SCALAR && !named;
	if (!named && expr->kind == EXPR_CAST && !dtype_is_narrow(of->type)
	        && (is_truth(of) || expr->type == DTYPE_BOOL))
		return print_mask(printer, it.arg[0], branch);
	if (scalar && expr->type == DTYPE_BOOL && (expr->row == SCALAR_and || expr->row == SCALAR_or))
		return arena_printf(arena, "mask_%s(%s, %s)", expr->row == SCALAR_and ? "and" : "or",
		        print_mask(printer, it.arg[0], branch), print_mask(printer, it.arg[1], branch));
	if (scalar && expr->row == SCALAR_not)
		return arena_printf(arena, "mask_not(%s)", print_mask(printer, it.arg[0], branch));
	const char *words = lane_type_of(expr->type).words;
	if (named || !is_comparison(expr))
		return arena_printf(arena, "mask_not(%sequal(%s, %s))", words, print(printer, number, branch).text,
		        number_lanes(arena, expr->type, 0));
	const char *a = print(printer, it.arg[0], branch).text, *b = print(printer, it.arg[1], branch).text;
	bool turns = expr->row == SCALAR_greater || expr->row == SCALAR_greater_equal;
	const char *equal = arena_printf(arena, "%sequal(%s, %s)", words, a, b),
	           *less = arena_printf(arena, "%sless(%s, %s)", words, turns ? b : a, turns ? a : b);
	return expr->row == SCALAR_equal ? equal
	        : expr->row == SCALAR_less || expr->row == SCALAR_greater
	        ? less
	        : arena_printf(arena, "mask_or(%s, %s)", less, equal);
}

/* Where what is asked is a comparison or a bool, a choice by a mask; NULL: it is no such choice. */
static const char *print_where_lanes(struct printer *printer, const struct numbered *it, bool branch)
{
	const struct expr *expr = it->expr, *which = expr->arg[0];
	if (printer->lane < 0 || printer->target->lanes == 1 || printer->target->lanes_are_threads
	        || expr->row != SCALAR_where)
		return NULL;
	bool mask = is_comparison(which) || (which->kind == EXPR_CAST && is_truth(which->arg[0]));
	if (!mask && expr->type == DTYPE_F32)
		return NULL;
	return arena_printf(printer->arena, "%sselect(%s, %s, %s)", lane_type_of(expr->type).words,
	        print_mask(printer, it->arg[0], branch), print(printer, it->arg[1], branch).text,
	        print(printer, it->arg[2], branch).text);
}

/* The word between two classes of vectors, by the types' names there: "vec_of_ivec". */
static const char *class_name(enum dtype type)
{
	return type == DTYPE_U32 ? "uvec" : type == DTYPE_U64 ? "ulvec" : lane_type_of(type).vector;
}

static const char *cast_from_float(struct arena *arena, enum dtype from, enum dtype to, const char *text)
{
	const char *memory = lane_type_of(to).memory;
	if (to == DTYPE_F32 || to == DTYPE_F64)
		return from == to ? text : arena_printf(arena, "%s_of_%s(%s)", class_name(to), class_name(from), text);
	if (from == DTYPE_F32 && dtypes[to].bits <= 16) {
		int bits = dtypes[to].bits;
		bool is_signed = dtypes[to].class == CLASS_INT;
		return arena_printf(arena, "ivec_of_vec(%s, %d.f, %d.f)", text, is_signed ? -(1 << (bits - 1)) : 0,
		        (1 << (is_signed ? bits - 1 : bits)) - 1);
	}
	const char *suffix = to == DTYPE_I32 ? "_32" : to == DTYPE_U32 ? "_u32" : to == DTYPE_U64 ? "_u64" : memory;
	return arena_printf(arena, "%s_of_%s%s(%s)", lane_type_of(to).vector, class_name(from), suffix, text);
}

static const char *cast_from_integer(struct arena *arena, enum dtype from, enum dtype to, const char *text)
{
	if (to == DTYPE_F32 && from != DTYPE_U32 && dtypes[from].bits <= 32)
		return arena_printf(arena, "vec_from_int(%s)", text);
	if (to == DTYPE_F32 || to == DTYPE_F64)
		return arena_printf(arena, "%s_of_%s(%s)", class_name(to), class_name(from), text);
	if (dtypes[to].bits == 64)
		return dtypes[from].bits == 64 ? text : arena_printf(arena, "lvec_of_%s(%s)", class_name(from), text);
	if (dtypes[from].bits == 64)
		text = arena_printf(arena, "ivec_of_lvec(%s)", text);
	return dtypes[to].bits == 32 || fits_in(from, to)
	        ? text
	        : arena_printf(arena, "ivec_wrap%s(%s)", lane_type_of(to).memory, text);
}

/* Codes of 16 bits, as floats. */
static const char *print_wide_lanes(struct printer *printer, const struct numbered *it, bool branch)
{
	const struct expr *load = it->expr->arg[0];
	struct arena *arena = printer->arena;
	enum dtype from = load->type;
	if (from == DTYPE_F16 && load->kind == EXPR_LOAD && !held_of(printer, load).text) {
		const struct index *step =
		        index_step(arena, schedule_address(arena, load->of, load->at), printer->lane);
		int64_t factor;
		if (step && index_is_constant(step, &factor) && (factor == 0 || factor == 1))
			return print_half(printer, load);
	}
	const struct sharing *sharing = printer->sharing;
	int arg = it->arg[0];
	if (from == DTYPE_F16 && !sharing->all.at[arg].name && load->kind == EXPR_CAST)
		return arena_printf(
		        arena, "vec_half(%s)", print(printer, sharing->parts.all.at[arg].arg[0], branch).text);
	return arena_printf(
	        arena, "vec_of_%s(%s)", from == DTYPE_F16 ? "half" : "bfloat", print(printer, it->arg[0], branch).text);
}

/* A float, cut to an index within bounds that floats have and 0 lies between; NULL: it is none. */
enum { EXACT_MOST = 1 << 24 };
static const char *print_kept_index(struct printer *printer, const struct numbered *it, bool branch)
{
	const struct expr *min = it->expr->arg[0], *max = min->arg[0];
	if (it->expr->type != DTYPE_I32 || min->kind != EXPR_SCALAR || min->row != SCALAR_min || min->type != DTYPE_I64
	        || max->kind != EXPR_SCALAR || max->row != SCALAR_max || max->arg[0]->kind != EXPR_CAST
	        || max->arg[0]->cast || max->arg[0]->arg[0]->type != DTYPE_F32 || min->arg[1]->kind != EXPR_NUMBER
	        || max->arg[1]->kind != EXPR_NUMBER)
		return NULL;
	int64_t least = max->arg[1]->integer, most = min->arg[1]->integer;
	const struct numbered *all = printer->sharing->parts.all.at;
	const struct known *known = printer->sharing->all.at;
	int kept = it->arg[0], raised = all[kept].arg[0], cut = all[raised].arg[0];
	if (least > 0 || most < 0 || least < -EXACT_MOST || most > EXACT_MOST || known[kept].name || known[raised].name
	        || known[cut].name)
		return NULL;
	return arena_printf(printer->arena, "ivec_of_vec(%s, %" PRId64 ".f, %" PRId64 ".f)",
	        print(printer, all[cut].arg[0], branch).text, least, most);
}

static const char *print_cast_lanes(struct printer *printer, const struct numbered *it, bool branch)
{
	struct arena *arena = printer->arena;
	const struct expr *expr = it->expr;
	const char *kept = print_kept_index(printer, it, branch);
	if (kept)
		return kept;
	enum dtype from = expr->arg[0]->type, to = expr->type;
	if (dtype_is_narrow(from))
		return print_wide_lanes(printer, it, branch);
	if (dtype_is_narrow(to))
		return arena_printf(arena, "%s_of_vec(%s)", to == DTYPE_F16 ? "half" : "bfloat",
		        print(printer, it->arg[0], branch).text);
	if (from != DTYPE_BOOL && (to == DTYPE_BOOL || is_comparison(expr->arg[0]))) {
		const char *mask = print_mask(printer, it->arg[0], branch);
		return to == DTYPE_BOOL ? arena_printf(arena, "ivec_of_mask(%s)", mask)
		                        : arena_printf(arena, "%sselect(%s, %s, %s)", lane_type_of(to).words, mask,
		                                number_lanes(arena, to, 1), number_lanes(arena, to, 0));
	}
	const char *text = print(printer, it->arg[0], branch).text;
	return dtypes[from].class == CLASS_FLOAT ? cast_from_float(arena, from, to, text)
	                                         : cast_from_integer(arena, from, to, text);
}

/* What is stored narrow in one step: the value before its cast; else NULL. */
const char *printer_before_narrow(struct printer *printer, const struct expr *expr)
{
	if (printer->lane < 0 || expr->kind != EXPR_CAST || expr->type != DTYPE_F16 || expr->cast)
		return NULL;
	int number = number_of(printer, expr);
	const struct numbered it = printer->sharing->parts.all.at[number];
	return printer->sharing->all.at[number].name || it.uses > 1 ? NULL : print(printer, it.arg[0], false).text;
}

static struct printed print_fresh(struct printer *printer, int number, bool branch, bool raw)
{
	const struct numbered it = printer->sharing->parts.all.at[number];
	const struct expr *expr = it.expr;
	struct arena *arena = printer->arena;
	switch (expr->kind) {
	case EXPR_NUMBER: {
		const char *text = number_text(arena, expr->type, expr->number, expr->integer);
		if (printer->lane >= 0)
			return (struct printed){ set_text(arena, expr->type, text), LEVEL_PRIMARY, OWN };
		return (struct printed){ text, *text == '-' || *text == '(' ? LEVEL_CAST : LEVEL_PRIMARY, OWN };
	}
	case EXPR_LOAD: {
		const char *one = print_one_of_two(printer, number);
		return one ? (struct printed){ one, LEVEL_PRIMARY, OWN } : print_load(printer, expr);
	}
	case EXPR_SCALAR: {
		const char *chosen = print_where_lanes(printer, &it, branch);
		if (chosen)
			return (struct printed){ chosen, LEVEL_PRIMARY, OWN };
		const char *bytes = print_bytes(printer, expr);
		return bytes ? (struct printed){ bytes, LEVEL_CAST, OWN } : print_row(printer, &it, branch, raw);
	}
	case EXPR_SELECT: {
		const char *condition = print_between(printer, expr);
		if (condition)
			return (struct printed){ condition, LEVEL_PRIMARY, OWN };
		for (int i = 0; i < expr->range_count; i++) {
			const char *range = printer_range(printer, &expr->ranges[i]);
			condition = condition ? arena_printf(arena, "%s && %s", condition, range) : range;
		}
		const char *yes = print_choice(printer, it.arg[0]), *no = print_choice(printer, it.arg[1]);
		return (struct printed){ arena_printf(arena, "%s ? %s : %s", condition, yes, no), LEVEL_CHOICE, WIDE };
	}
	case EXPR_INDEX:
		if (printer->lane >= 0)
			return (struct printed){ print_index_lanes(printer, expr->index), LEVEL_PRIMARY, OWN };
		return (struct printed){ arena_printf(arena, "(long long)(%s)", printer_index(printer, expr->index)),
			LEVEL_CAST, OWN };
	case EXPR_CAST:
		if (printer->lane >= 0)
			return (struct printed){ print_cast_lanes(printer, &it, branch), LEVEL_PRIMARY, OWN };
		const char *rounded = print_rounded(printer, expr, branch);
		if (rounded)
			return (struct printed){ rounded, LEVEL_CAST, OWN };
		return print_cast(printer, expr, (takes_raw(expr) ? print_raw : print)(printer, it.arg[0], branch));
	}
	return (struct printed){ "0", LEVEL_PRIMARY, OWN };
}

static bool worth_a_name(struct printer *printer, int number)
{
	const struct numbered *it = &printer->sharing->parts.all.at[number];
	const struct known *shared = &printer->sharing->all.at[number];
	if (shared->changes || it->uses < 2 || !shared->sure || it->expr->kind == EXPR_NUMBER)
		return false;
	return it->expr->kind != EXPR_LOAD || !held_of(printer, it->expr).text;
}

static struct printed print_named(struct printer *printer, int number, bool branch, bool root, bool raw)
{
	const struct expr *expr = printer->sharing->parts.all.at[number].expr;
	struct known *it = &printer->sharing->all.at[number];
	const struct printed by_name = { it->name, LEVEL_PRIMARY, is_wrapped(printer, expr) ? WIDE : OWN };
	if (it->name)
		return by_name;
	bool shared = worth_a_name(printer, number);
	struct printed printed = print_fresh(printer, number, branch && !shared, raw && !shared);
	/* Long texts are cut: they would be copied at every level above. */
	bool cut = !root && !branch && expr->kind == EXPR_SCALAR && strlen(printed.text) > LONG_TEXT;
	if (!shared && !cut)
		return printed;
	if (printed.form == RAW)
		printed = own(printer, expr, printed);
	const char *name = arena_printf(printer->arena, "v%d", printer->fresh++);
	push(printer->arena, &printer->lets, (struct let){ c_type(printer, expr), name, printed.text });
	if (!it->changes)
		it->name = name;
	return (struct printed){ name, LEVEL_PRIMARY, by_name.form };
}

static struct printed print(struct printer *printer, int number, bool branch)
{
	return print_named(printer, number, branch, false, false);
}

static struct printed print_raw(struct printer *printer, int number, bool branch)
{
	return print_named(printer, number, branch, false, true);
}

static struct printed print_root(struct printer *printer, const struct expr *expr, bool raw)
{
	bool alone = !printer->sharing;
	if (alone)
		printer_share(printer, &expr, 1);
	struct printed printed = print_named(printer, number_of(printer, expr), false, true, raw);
	if (alone)
		printer->sharing = NULL;
	return printed;
}

const char *printer_value(struct printer *printer, const struct expr *expr)
{
	return own(printer, expr, print_root(printer, expr, true)).text;
}
