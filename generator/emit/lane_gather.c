/* lane_gather.c: loads of a vector whose lanes lie each at a place of its own (index_lane_gathers) -> C text. */
#include "emit/emit.h"
#include <inttypes.h>

static const struct index *index_of_term(struct arena *arena, struct index_term term)
{
	return index_of_atom(arena, *term.atom, term.factor);
}

/* An affine index as an ivec. */
static const char *print_line(struct printer *printer, const struct index *index)
{
	return arena_printf(printer->arena, "ivec_set((uint32_t)(%s)) + ivec_iota() * (uint32_t)%" PRId64,
	        printer_index(printer, index), index_factor(index, printer->lane));
}

static const char *print_gathered(struct printer *printer, const struct atom *atom)
{
	struct arena *arena = printer->arena;
	if (atom->kind == ATOM_VALUE) {
		int64_t from_end;
		const struct expr *load = atom_gathered(atom, &from_end);
		const struct index *address = schedule_address(arena, load->of, load->at);
		const char *from = printer_address(printer, load->of, address);
		int64_t factor = index_factor(address, printer->lane);
		const char *apart = factor == 1 ? "" : arena_printf(arena, ", %" PRId64, factor),
		           *word = factor == 1 ? "load" : "gather";
		const char *text = load->type == DTYPE_I64 ? printer->left
		                ? arena_printf(arena, "ivec_%s_long_n(%s%s, %s)", word, from, apart, printer->left)
		                : arena_printf(arena, "ivec_%s_long(%s%s)", word, from, apart)
		        : factor == 1 ? printer->left
		                ? arena_printf(arena, "ivec_load_n(%s, %s, 0)", from, printer->left)
		                : arena_printf(arena, "ivec_load(%s)", from)
		        : printer->left
		        ? arena_printf(arena, "ivec_gather_n(%s, %" PRId64 ", %s, 0)", from, factor, printer->left)
		        : arena_printf(arena, "ivec_gather(%s, %" PRId64 ")", from, factor);
		if (from_end)
			text = arena_printf(arena, "ivec_from_end(%s, %" PRId64 ")", text, from_end);
		return atom->by
		        ? text
		        : arena_printf(arena, "ivec_clamp(%s, %" PRId64 ", %" PRId64 ")", text, atom->low, atom->high);
	}
	/* Shifted by whole multiples until it is not negative. */
	int64_t low, high, shift = 0;
	int bits = 0;
	index_range(atom->of, &low, &high);
	while ((int64_t)1 << bits < atom->by)
		bits++;
	shift = low < 0 ? ceil_div(-low, atom->by) : 0;
	const char *line = print_line(printer, index_plus(arena, atom->of, shift * atom->by));
	if (atom->kind == ATOM_MOD)
		return arena_printf(arena, "((%s) & %" PRId64 "u)", line, atom->by - 1);
	return arena_printf(arena, "(((%s) >> %d) - (uint32_t)%" PRId64 ")", line, bits, shift);
}

/* ---- lanes near the first one: one vector is loaded, and its floats are put in their places ---- */

/* A constant table that climbs, read along its rows, none of which a collapsed loop goes past: the lanes' elements are
 * at most as far apart as the lanes. */
static bool climbs(const struct printer *printer, const struct atom *atom)
{
	int64_t from_end;
	const struct expr *load = atom_gathered(atom, &from_end);
	int64_t row = load ? definition_climbs(load->of) : 0;
	if (!row || from_end)
		return false;
	const struct index *address = schedule_address(printer->arena, load->of, load->at);
	FOR (i, address->count) {
		struct index_term term = address->terms[i];
		bool is_lane = term.atom->kind == ATOM_VAR && term.atom->var == printer->lane;
		if (is_lane ? term.factor != 1 || term.atom->high >= row
		            : term.factor % row || index_uses(index_of_term(printer->arena, term), printer->lane))
			return false;
	}
	return index_factor(address, printer->lane) == 1;
}

/* How much larger a term of an address is in the last lane than in the first; -1: it may be smaller in one between, or
 * that is not known. */
static int64_t term_span(const struct printer *printer, struct index_term term)
{
	int64_t lanes = printer->target->lanes,
	        step = term.atom->kind == ATOM_DIV ? index_factor(term.atom->of, printer->lane) : 1, span = -1;
	if (term.factor <= 0 || step <= 0)
		return -1;
	if (term.atom->kind == ATOM_VAR)
		span = lanes - 1;
	else if (term.atom->kind == ATOM_DIV)
		span = (step * (lanes - 1) + term.atom->by - 1) / term.atom->by;
	else if (term.atom->kind == ATOM_VALUE)
		span = climbs(printer, term.atom) ? lanes - 1 : -1;
	return span < 0 ? -1 : span * term.factor;
}

static bool moves(const struct printer *printer, struct arena *arena, struct index_term term)
{
	return index_bends(index_of_term(arena, term), printer->lane)
	        || (term.atom->kind == ATOM_VAR && term.atom->var == printer->lane);
}

/* Whether all lanes lie in the vector that begins with the first one.  With few lanes nothing is gained. */
enum { NEAR_LANES = 8 };
static bool lies_near(const struct printer *printer, const struct index *address)
{
	int64_t span = 0;
	FOR (i, address->count)
		if (moves(printer, printer->arena, address->terms[i])) {
			int64_t own = term_span(printer, address->terms[i]);
			if (own < 0)
				return false;
			span += own;
		}
	return !printer->left && printer->target->lanes >= NEAR_LANES && span < printer->target->lanes;
}

/* What is between the first lane and the last is loaded, no more. */
static const char *print_near(struct printer *printer, const struct definition *of, const struct index *address)
{
	struct arena *arena = printer->arena;
	const struct index *with[MAX_VARS] = { 0 };
	const char *text = NULL;
	with[printer->lane] = index_plus(arena, index_var(arena, printer->lane, INT32_MAX), printer->target->lanes - 1);
	const struct index *count = index_plus(
	        arena, index_add(arena, index_substitute(arena, address, with), index_scale(arena, address, -1)), 1);
	FOR (i, address->count) {
		struct index_term term = address->terms[i];
		const struct atom *atom = term.atom;
		if (!moves(printer, arena, term))
			continue;
		int bits = 0;
		while ((int64_t)1 << bits < atom->by)
			bits++;
		const char *one = atom->kind == ATOM_VAR ? "ivec_iota()"
		        : atom->kind == ATOM_VALUE
		        ? arena_printf(arena, "(%s - ivec_set((uint32_t)(%s)))", print_gathered(printer, atom),
		                printer_index(printer, index_of_term(arena, (struct index_term){ 1, atom })))
		        : arena_printf(arena,
		                "((ivec_set((uint32_t)((%s) & %" PRId64 ")) + ivec_iota() * (uint32_t)%" PRId64
		                ") >> %d)",
		                printer_index(printer, atom->of), atom->by - 1, index_factor(atom->of, printer->lane),
		                bits);
		if (term.factor != 1)
			one = arena_printf(arena, "%s * (uint32_t)%" PRId64, one, term.factor);
		text = text ? arena_printf(arena, "%s + %s", text, one) : one;
	}
	return arena_printf(arena, "vec_near(%s, %s, %s)", printer_address(printer, of, address), text,
	        printer_index(printer, count));
}

/* ---- lanes anywhere ---- */

/* The lanes' distances from `base`, the address of the first lane less what bends. */
static const char *gathered(struct printer *printer, const struct index *address, const struct index **base)
{
	struct arena *arena = printer->arena;
	const char *text = NULL;
	*base = index_constant(arena, address->constant);
	FOR (i, address->count) {
		struct index_term term = address->terms[i];
		const struct index *alone = index_of_term(arena, term);
		bool bends = index_bends(alone, printer->lane),
		     is_lane = term.atom->kind == ATOM_VAR && term.atom->var == printer->lane;
		if (!bends)
			*base = index_add(arena, *base, alone);
		if (!bends && !is_lane)
			continue;
		const char *one = is_lane ? "ivec_iota()" : print_gathered(printer, term.atom);
		if (term.factor != 1)
			one = arena_printf(arena, "%s * (uint32_t)%" PRId64, one, term.factor);
		text = text ? arena_printf(arena, "%s + %s", text, one) : one;
	}
	return text;
}

/* Of a row of two vectors at most both are loaded, and its elements permuted: no gather is as fast.  How many elements
 * from where no lane is on; 0: that is more, or not known, or, with few lanes, there is no such word. */
static int64_t small_row(const struct printer *printer, const struct index *address)
{
	int64_t row = 1;
	FOR (i, address->count) {
		struct index_term term = address->terms[i];
		if (!moves(printer, printer->arena, term))
			continue;
		if (term.atom->kind == ATOM_VAR || term.factor < 0 || term.atom->low < 0)
			return 0;
		row += term.factor * term.atom->high;
	}
	return !printer->symbols && printer->target->lanes >= NEAR_LANES && row <= 2 * printer->target->lanes ? row : 0;
}

static const char *print_small(
        struct printer *printer, const struct definition *of, const struct index *address, int64_t row)
{
	struct arena *arena = printer->arena;
	const struct index *base;
	const char *at = gathered(printer, address, &base);
	const char *text =
	        arena_printf(arena, "vec_lookup(%s, %" PRId64 ", %s)", printer_address(printer, of, base), row, at);
	return printer->left ? arena_printf(arena, "vec_first(%s, vec_set(0.f), %s)", text, printer->left) : text;
}

const char *printer_lane_gather(struct printer *printer, const struct definition *of, const struct index *address)
{
	struct arena *arena = printer->arena;
	struct lane_type type = lane_type_of(of->type);
	bool floats = of->type == DTYPE_F32;
	int64_t row = floats ? small_row(printer, address) : 0;
	if (row)
		return print_small(printer, of, address, row);
	if (floats && lies_near(printer, address))
		return print_near(printer, of, address);
	const struct index *base;
	const char *at = gathered(printer, address, &base), *from = printer_address(printer, of, base);
	if (type.pointer)
		from = arena_printf(arena, "(const %s *)(%s)", type.pointer, from);
	return printer->left ? arena_printf(arena, "%s_lane_gather%s_n(%s, %s, %s%s)", type.vector, type.memory, from,
	               at, printer->left, floats ? type.fill : "")
	                     : arena_printf(arena, "%s_lane_gather%s(%s, %s)", type.vector, type.memory, from, at);
}

const char *printer_lane_gather_two(struct printer *printer, const struct definition *of, const struct index *address)
{
	if (small_row(printer, address) || lies_near(printer, address) || printer->target->lanes < NEAR_LANES)
		return NULL;
	const struct index *base;
	const char *at = gathered(printer, address, &base);
	return arena_printf(printer->arena, "vec_lane_gather_two(%s, %s)", printer_address(printer, of, base), at);
}
