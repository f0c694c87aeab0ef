/* expression.c: scalar expressions -> C text in the words of a prelude.
 * What a line's expressions are made of is numbered first; what has more than one user is named by a let where it is
 * first needed.  Text is never put into a text that would repeat it. */
#include <inttypes.h>
#include <math.h>
#include "emit/expression.h"

enum { LONG_TEXT = 200 };

static struct printed print_raw(struct printer *, int number, bool branch);
static struct printed print_root(struct printer *, const struct expr *, bool raw);

/* ---- indices ---- */

static struct printed print_long(struct printer *, const struct index *);

const char *printed_wrap(struct printer *printer, struct printed printed, int least)
{
	return printed.level >= least ? printed.text : arena_printf(printer->arena, "(%s)", printed.text);
}

/* min(max(…, low), high) says it already, or without a sign min(…, high). */
static bool is_kept_inside(const struct atom *atom)
{
	const struct expr *most = atom->value, *whole = most->kind == EXPR_CAST ? most->arg[0] : most;
	if (atom->by
	        || (whole->type == DTYPE_U64 && expr_is(whole, SCALAR_min) && whole->arg[1]->kind == EXPR_NUMBER
	                && whole->arg[1]->integer <= atom->high && atom->low <= 0))
		return true;
	const struct expr *least = expr_is(most, SCALAR_min) && most->type == DTYPE_I64 ? most->arg[0] : NULL;
	return least && expr_is(least, SCALAR_max) && most->arg[1]->kind == EXPR_NUMBER
	        && least->arg[1]->kind == EXPR_NUMBER && least->arg[1]->integer >= atom->low
	        && most->arg[1]->integer >= least->arg[1]->integer && most->arg[1]->integer <= atom->high;
}

static struct printed print_atom(struct printer *printer, const struct atom *atom)
{
	struct arena *arena = printer->arena;
	if (atom->kind == ATOM_VAR)
		return printed_text(LEVEL_PRIMARY, printer->names[atom->var]);
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
			return printed_as(arena, LEVEL_CAST, "(long)%s", printed_wrap(printer, value, LEVEL_CAST));
		return printed_as(arena, LEVEL_CAST, "(long)i_clamp(%s, %" PRId64 "ll, %" PRId64 "ll)", text, atom->low,
		        atom->high);
	}
	if (atom->kind == ATOM_SYMBOL)
		return atom->of->count ? printed_as(arena, LEVEL_MULTIPLY, "%s[%d] * %s", printer->symbols,
		               atom->symbol, printed_wrap(printer, print_long(printer, atom->of), LEVEL_CAST))
		                       : printed_as(arena, LEVEL_PRIMARY, "%s[%d]", printer->symbols, atom->symbol);
	int64_t low, high;
	index_range(atom->of, &low, &high);
	if (low >= 0)
		return printed_as(arena, LEVEL_MULTIPLY, "%s %c %" PRId64,
		        printed_wrap(printer, print_long(printer, atom->of), LEVEL_CAST),
		        atom->kind == ATOM_DIV ? '/' : '%', atom->by);
	/* C rounds to zero: shifted by whole multiples until it is not negative. */
	int64_t shift = ceil_div(-low, atom->by);
	const char *raised =
	        printed_wrap(printer, print_long(printer, index_plus(arena, atom->of, shift * atom->by)), LEVEL_CAST);
	if (atom->kind == ATOM_DIV)
		return printed_as(arena, LEVEL_ADD, "%s / %" PRId64 " - %" PRId64, raised, atom->by, shift);
	return printed_as(arena, LEVEL_MULTIPLY, "%s %% %" PRId64, raised, atom->by);
}

static struct printed print_long(struct printer *printer, const struct index *index)
{
	struct arena *arena = printer->arena;
	const char *text = NULL;
	int level = LEVEL_PRIMARY;
	/* positive terms first: no unary minus where it can be helped */
	for (int sign = 1; sign >= -1; sign -= 2)
		FOR (i, index->count) {
			int64_t f = index->terms[i].factor;
			if ((f > 0) != (sign > 0))
				continue;
			struct printed one = print_atom(printer, index->terms[i].atom);
			if (f != 1 && f != -1) {
				one.text = arena_printf(arena, "%" PRId64 " * %s", f < 0 ? -f : f,
				        printed_wrap(printer, one, LEVEL_CAST));
				one.level = LEVEL_MULTIPLY;
			} else if (f < 0 || text)
				one.text = printed_wrap(printer, one, LEVEL_MULTIPLY),
				one.level = one.level < LEVEL_MULTIPLY ? LEVEL_PRIMARY : one.level;
			if (!text)
				text = f < 0 ? arena_printf(arena, "-%s", one.text) : one.text,
				level = f < 0 ? LEVEL_ADD : one.level;
			else
				text = arena_printf(arena, "%s %c %s", text, f < 0 ? '-' : '+', one.text),
				level = LEVEL_ADD;
		}
	if (!text)
		return printed_as(arena, index->constant < 0 ? LEVEL_ADD : LEVEL_PRIMARY, "%" PRId64, index->constant);
	if (index->constant) {
		int64_t c = index->constant;
		text = arena_printf(arena, "%s %c %" PRId64, text, c < 0 ? '-' : '+', c < 0 ? -c : c);
		level = LEVEL_ADD;
	}
	return printed_text(level, text);
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

struct held held_of(struct printer *printer, const struct expr *load)
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
int number_of(struct printer *printer, const struct expr *expr)
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
	FOR (i, count)
		number_expr(&printer->sharing->parts, roots[i]);
	FOR (i, count)
		number_of(printer, roots[i]);
}

/* ---- text ---- */

static const char *c_type(const struct printer *printer, const struct expr *expr)
{
	return printer->lane >= 0 ? printer_lane_type(printer, expr->type).vector
	        : dtypes[expr->type].class == CLASS_FLOAT || expr->type == DTYPE_U64 ? dtypes[expr->type].c
	                                                                             : "long long";
}

static struct printed print_load(struct printer *printer, const struct expr *load)
{
	struct arena *arena = printer->arena;
	bool vector = printer->lane >= 0;
	struct lane_type t = printer_lane_type(printer, load->type);
	struct held held = held_of(printer, load);
	if (held.text)
		return printed_text(LEVEL_PRIMARY, vector && !held.vector ? lanes_set(arena, t, held.text) : held.text);
	const struct index *address = schedule_address(arena, load->of, load->at);
	const struct index *step = index_step(arena, address, printer->lane);
	int64_t factor = 0;
	const char *text;
	const struct expr *byte = step ? NULL : expr_looked_up(load, printer->lane);
	if (byte)
		return printed_text(
		        LEVEL_PRIMARY, print_looked_up(printer, load, print_load(printer, byte).text, byte->type));
	if (!step)
		return printed_text(LEVEL_PRIMARY, printer_lane_gather(printer, load->of, address));
	if (index_is_constant(step, &factor) && !factor) {
		text = printer_element(printer, load->of, address);
		return printed_text(LEVEL_PRIMARY, vector ? lanes_set(arena, t, text) : text);
	}
	if (factor == 2 && !printer->left && (text = print_pairs(printer, load, address)))
		return printed_text(LEVEL_PRIMARY, text);
	const char *from = printer_address(printer, load->of, address);
	if (t.pointer)
		from = arena_printf(arena, "(const %s *)(%s)", t.pointer, from);
	const char *stride = factor == 1 ? "" : arena_printf(arena, ", %s", printer_index(printer, step));
	const char *left = printer->left ? arena_printf(arena, ", %s%s", printer->left, t.fill) : "";
	text = arena_printf(arena, "%s_%s%s%s(%s%s%s)", t.vector, factor == 1 ? "load" : "gather", t.memory,
	        printer->left ? "_n" : "", from, stride, left);
	return printed_text(LEVEL_PRIMARY, text);
}

/* One row's text: its words get the prefix of their type, its letters the arguments. */
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
		count += *p == letter && (p == row || !is_letter(p[-1])) && !is_letter(p[1]);
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
bool scalar_stays(enum scalar opcode) { return stays[opcode]; }

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
struct printed printed_own(struct printer *printer, const struct expr *expr, struct printed printed)
{
	if (printed.form == OWN || !is_wrapped(printer, expr))
		return printed;
	return printed_as(
	        printer->arena, LEVEL_CAST, "(%s)%s", dtypes[expr->type].c, printed_wrap(printer, printed, LEVEL_CAST));
}

/* sum + a * b of ints, where code is scalar, as one word; NULL: it is something else. */
static const char *print_multiply_add(struct printer *printer, const struct numbered *it, bool branch)
{
	const struct numbered *mul = it->arg[1] >= 0 ? &printer->sharing->parts.all.at[it->arg[1]] : NULL;
	if (printer->lane >= 0 || printer->target->lanes > 1 || it->expr->type != DTYPE_I32
	        || it->expr->opcode != SCALAR_add || !mul || mul->uses > 1 || !expr_is(mul->expr, SCALAR_mul))
		return NULL;
	struct printed sum = printed_own(printer, it->expr->arg[0], print_part(printer, it->arg[0], branch)),
	               a = printed_own(printer, mul->expr->arg[0], print_part(printer, mul->arg[0], branch)),
	               b = printed_own(printer, mul->expr->arg[1], print_part(printer, mul->arg[1], branch));
	return arena_printf(printer->arena, "i_mla(%s, %s, %s)", sum.text, a.text, b.text);
}

/* raw: whoever asks takes RAW, too. */
static struct printed print_row(struct printer *printer, const struct numbered *it, bool branch, bool raw)
{
	const struct expr *expr = it->expr;
	const char *row = scalars[expr->opcode].text, *word = print_multiply_add(printer, it, branch);
	if (word)
		return printed_text(LEVEL_PRIMARY, word);
	enum dtype_class class = dtypes[expr->type].class;
	/* Integers wrap around, which C's operators on long long do not promise. */
	bool structs = printer->lane >= 0 && expr->type == DTYPE_F64;
	if ((class != CLASS_FLOAT || structs) && row_level(row) != LEVEL_PRIMARY)
		row = arena_printf(printer->arena, "k_%s(a, b)", scalars[expr->opcode].name);
	const char *prefix = printer->lane >= 0 && expr->type != DTYPE_F32
	        ? printer_lane_type(printer, expr->type).words
	        : expr->type == DTYPE_U64                           ? "u_"
	        : class != CLASS_FLOAT                              ? "i_"
	        : expr->type == DTYPE_F64                           ? "d_"
	        : printer->lane >= 0 || printer->target->lanes == 1 ? "k_"
	                                                            : "s_";
	int level = row_level(row);
	bool wrapped = is_wrapped(printer, expr), right = scalar_stays(expr->opcode);
	struct printed arg[3] = { { 0 } };
	FOR (i, 3)
		if (it->arg[i] >= 0) {
			bool low = wrapped && is_modular[expr->opcode] && (i == 0 || expr->opcode != SCALAR_shl);
			arg[i] = (low ? print_raw : print_part)(printer, it->arg[i], branch);
			right &= arg[i].form != RAW;
			/* What the row says twice gets a name first; in a branch of a select it may not. */
			if (!branch && row_count(row, (char)('a' + i)) > 1 && strlen(arg[i].text) > 16) {
				struct let let = { c_type(printer, expr->arg[i]),
					arena_printf(printer->arena, "v%d", printer->fresh++), arg[i].text };
				push(printer->arena, &printer->lets, let);
				arg[i] = printed_text(LEVEL_PRIMARY, let.name);
			}
		}
	struct text out;
	text_init(&out, printer->arena->build);
	int depth = 0;
	for (const char *p = row; *p;) {
		bool start = p == row || !is_letter(p[-1]);
		depth += (*p == '(') - (*p == ')');
		if (start && *p >= 'a' && *p <= 'c' && !is_letter(p[1])) {
			struct printed a = arg[*p - 'a'];
			/* An operand on the right of an operator needs a level more: a - (b - c), and a + (b + c) keeps
			 * its order. */
			int least = depth                ? LEVEL_ANY
			        : level == LEVEL_PRIMARY ? LEVEL_ANY
			        : *p == 'a'              ? level
			                                 : level + 1;
			text_adds(&out, printed_wrap(printer, a, least));
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
		return printed_text(LEVEL_PRIMARY, printer->bytes ? text : lanes_wrap(printer->arena, expr, text));
	if (wrapped) {
		struct printed wide = { text, level, right ? WIDE : RAW };
		return right || (raw && is_modular[expr->opcode]) ? wide : printed_own(printer, expr, wide);
	}
	return printed_text(level, text);
}

const char *printer_range(struct printer *printer, const struct range *range)
{
	int64_t low, high;
	index_range(range->at, &low, &high);
	const char *at = printed_wrap(printer, print_long(printer, range->at), LEVEL_ADD);
	if (low >= range->from)
		return arena_printf(printer->arena, "%s < %" PRId64, at, range->to);
	if (high < range->to)
		return arena_printf(printer->arena, "%s >= %" PRId64, at, range->from);
	return arena_printf(printer->arena, "%s >= %" PRId64 " && %s < %" PRId64, at, range->from, at, range->to);
}

/* One of two.  To gcc the sum of two __m256 is of another type than a __m256, which does not matter but here. */
static const char *print_choice(struct printer *printer, int number)
{
	struct printed one = print_part(printer, number, true);
	if (printer->lane >= 0 && one.level != LEVEL_PRIMARY && one.level != LEVEL_CHOICE)
		return arena_printf(printer->arena, "(%s)(%s)",
		        printer_lane_type(printer, printer->sharing->parts.all.at[number].expr->type).vector, one.text);
	return printed_wrap(printer, one, LEVEL_AND);
}

/* Four bytes of a tensor side by side that are put into one word (kernels/products.c): a compiler sees no load in them
 * where their addresses are sums of loops' variables. */
enum { BYTE_ANY = BYTE_ZERO + 1 };
static bool bytes_of(struct printer *printer, const struct expr *e, struct four_bytes *bytes)
{
	struct four_bytes high;
	int64_t by = e->kind == EXPR_SCALAR && e->arg[1] && e->arg[1]->kind == EXPR_NUMBER ? e->arg[1]->integer : -1;
	if (e->kind == EXPR_CAST && e->type == DTYPE_I32 && dtypes[e->arg[0]->type].bits == 8)
		return bytes_of(printer, e->arg[0], bytes);
	if (e->kind == EXPR_LOAD && (e->type == DTYPE_U8 || e->type == DTYPE_I8) && !held_of(printer, e).text) {
		int64_t above = e->type == DTYPE_U8 ? BYTE_ZERO : BYTE_ANY;
		*bytes = (struct four_bytes){ e, schedule_address(printer->arena, e->of, e->at),
			{ 0, above, above, above }, false };
		return true;
	}
	if (e->kind == EXPR_NUMBER && e->type == DTYPE_I32 && !e->integer) {
		*bytes = (struct four_bytes){ NULL, NULL, { BYTE_ZERO, BYTE_ZERO, BYTE_ZERO, BYTE_ZERO }, false };
		return true;
	}
	if (e->kind != EXPR_SCALAR || e->type != DTYPE_I32 || !bytes_of(printer, e->arg[0], bytes))
		return false;
	if (e->opcode == SCALAR_and && by >= 0)
		FOR (i, BYTES) {
			int64_t mask = by >> 8 * i & 255;
			if (mask && mask != 255)
				return false;
			bytes->byte[i] = mask ? bytes->byte[i] : BYTE_ZERO;
		}
	else if (e->opcode == SCALAR_shl && by >= 0 && by < 8 * BYTES && by % 8 == 0)
		for (int i = BYTES - 1; i >= 0; i--)
			bytes->byte[i] = i >= by / 8 ? bytes->byte[i - by / 8] : BYTE_ZERO;
	else if (e->opcode == SCALAR_or && bytes_of(printer, e->arg[1], &high)) {
		struct arena *arena = printer->arena;
		int64_t behind = 0;
		if (high.load
		        && (!bytes->load || high.load->of != bytes->load->of
		                || !index_is_constant(
		                        index_add(arena, high.at, index_scale(arena, bytes->at, -1)), &behind)))
			return false;
		FOR (i, BYTES) {
			if (high.byte[i] == BYTE_ZERO)
				continue;
			if (bytes->byte[i] != BYTE_ZERO)
				return false;
			bytes->byte[i] = high.byte[i] == BYTE_ANY ? BYTE_ANY : high.byte[i] + behind;
		}
	} else
		return false;
	return true;
}

bool printer_bytes(struct printer *printer, const struct expr *e, struct four_bytes *out)
{
	if (!expr_is(e, SCALAR_or) || e->type != DTYPE_I32 || !bytes_of(printer, e, out) || !out->load
	        || out->byte[0] == BYTE_ZERO)
		return false;
	int64_t first = out->byte[0];
	out->at = index_plus(printer->arena, out->at, first);
	out->beside = true;
	FOR (i, BYTES) {
		if (out->byte[i] == BYTE_ANY)
			return false;
		out->byte[i] -= out->byte[i] == BYTE_ZERO ? 0 : first;
		out->beside &= out->byte[i] == i;
	}
	return true;
}

/* NULL: they are not four side by side; of a vector, or its words are not. */
static const char *print_bytes(struct printer *printer, const struct expr *e)
{
	struct arena *arena = printer->arena;
	struct four_bytes bytes;
	if (!printer_bytes(printer, e, &bytes) || !bytes.beside)
		return NULL;
	const char *from = printer_address(printer, bytes.load->of, bytes.at);
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

/* What is stored narrow in one step: the value before its cast; else NULL. */
const char *printer_before_narrow(struct printer *printer, const struct expr *expr)
{
	if (printer->lane < 0 || expr->kind != EXPR_CAST || expr->type != DTYPE_F16 || expr->cast)
		return NULL;
	int number = number_of(printer, expr);
	const struct numbered it = printer->sharing->parts.all.at[number];
	return printer->sharing->all.at[number].name || it.uses > 1 ? NULL : print_part(printer, it.arg[0], false).text;
}

/* NVRTC divides by 0 at run time, the long way. */
static const char *print_number(const struct printer *printer, const struct expr *expr)
{
	const struct target *target = printer->target;
	bool wide = expr->type == DTYPE_F64;
	if (!target->words.float_of_bits || dtypes[expr->type].class != CLASS_FLOAT
	        || isfinite(wide ? expr->number : (float)expr->number))
		return number_text(printer->arena, expr->type, expr->number, expr->integer);
	uint64_t bits = isnan(expr->number) ? 0x7ff8ull << 48 : expr->number < 0 ? 0xfff0ull << 48 : 0x7ff0ull << 48;
	uint32_t narrow = isnan(expr->number) ? 0x7fc00000u : expr->number < 0 ? 0xff800000u : 0x7f800000u;
	return wide ? arena_printf(printer->arena, "%s(0x%" PRIx64 "ll)", target->words.double_of_bits, bits)
	            : arena_printf(printer->arena, "%s(0x%" PRIx32 "u)", target->words.float_of_bits, narrow);
}

static struct printed print_fresh(struct printer *printer, int number, bool branch, bool raw)
{
	const struct numbered it = printer->sharing->parts.all.at[number];
	const struct expr *expr = it.expr;
	struct arena *arena = printer->arena;
	switch (expr->kind) {
	case EXPR_NUMBER: {
		const char *text = print_number(printer, expr);
		if (printer->lane >= 0)
			return printed_text(
			        LEVEL_PRIMARY, lanes_set(arena, printer_lane_type(printer, expr->type), text));
		return printed_text(*text == '-' || *text == '(' ? LEVEL_CAST : LEVEL_PRIMARY, text);
	}
	case EXPR_LOAD: {
		const char *one = print_one_of_two(printer, number);
		return one ? printed_text(LEVEL_PRIMARY, one) : print_load(printer, expr);
	}
	case EXPR_SCALAR: {
		const char *chosen = print_bfloat(printer, expr, branch);
		chosen = chosen ? chosen : print_where_lanes(printer, &it, branch);
		if (chosen)
			return printed_text(LEVEL_PRIMARY, chosen);
		const char *less = print_rounded_less(printer, expr, branch);
		if (less)
			return printed_text(LEVEL_PRIMARY, less);
		const char *bytes = print_bytes(printer, expr);
		bytes = bytes ? bytes : print_dword(printer, expr);
		return bytes ? printed_text(LEVEL_CAST, bytes) : print_row(printer, &it, branch, raw);
	}
	case EXPR_SELECT: {
		const char *condition = print_between(printer, expr);
		if (condition)
			return printed_text(LEVEL_PRIMARY, condition);
		FOR (i, expr->range_count) {
			const char *range = printer_range(printer, &expr->ranges[i]);
			condition = condition ? arena_printf(arena, "%s && %s", condition, range) : range;
		}
		const char *yes = print_choice(printer, it.arg[0]), *no = print_choice(printer, it.arg[1]),
		           *lanes = print_select_lanes(printer, expr, yes, no);
		if (lanes)
			return printed_text(LEVEL_PRIMARY, lanes);
		return (struct printed){ arena_printf(arena, "%s ? %s : %s", condition, yes, no), LEVEL_CHOICE, WIDE };
	}
	case EXPR_INDEX:
		if (printer->lane >= 0)
			return printed_text(LEVEL_PRIMARY, print_index_lanes(printer, expr->index));
		return printed_as(arena, LEVEL_CAST, "(long long)(%s)", printer_index(printer, expr->index));
	case EXPR_CAST:
		if (printer->lane >= 0)
			return printed_text(LEVEL_PRIMARY, print_cast_lanes(printer, &it, branch));
		const char *rounded = print_rounded(printer, expr, branch);
		if (rounded)
			return printed_text(LEVEL_CAST, rounded);
		return print_cast(
		        printer, expr, (takes_raw(expr) ? print_raw : print_part)(printer, it.arg[0], branch));
	}
	return printed_text(LEVEL_PRIMARY, "0");
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
		printed = printed_own(printer, expr, printed);
	const char *name = arena_printf(printer->arena, "v%d", printer->fresh++);
	push(printer->arena, &printer->lets, (struct let){ c_type(printer, expr), name, printed.text });
	if (!it->changes)
		it->name = name;
	return (struct printed){ name, LEVEL_PRIMARY, by_name.form };
}

struct printed print_part(struct printer *printer, int number, bool branch)
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
	return printed_own(printer, expr, print_root(printer, expr, true)).text;
}
