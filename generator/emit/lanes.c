/* lanes.c: what is said of vectors in words of their own: loads of neighbours, comparisons, choices, casts. */
#include <inttypes.h>
#include "emit/expression.h"

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

struct lane_type lane_type_of_bytes(enum dtype type)
{
	return (struct lane_type){ "bvec", dtypes[type].class == CLASS_INT ? "i8_" : "u8_", "", NULL, "" };
}

struct lane_type printer_lane_type(const struct printer *printer, enum dtype type)
{
	return printer->bytes ? lane_type_of_bytes(type) : lane_type_of(type);
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
const char *lanes_set(struct arena *arena, struct lane_type t, const char *scalar)
{
	const char *cast = !strcmp(t.vector, "ivec") ? "(uint32_t)" : !strcmp(t.words, "u64_") ? "(long long)" : "";
	if (strspn(scalar, "0123456789") == strlen(scalar)) /* C converts a constant itself */
		cast = "";
	return arena_printf(
	        arena, *cast && !is_primary(scalar) ? "%s_set(%s(%s))" : "%s_set(%s%s)", t.vector, cast, scalar);
}

static const char *lanes_number(struct arena *arena, enum dtype type, int number)
{
	return lanes_set(arena, lane_type_of(type), number_text(arena, type, number, number));
}

/* Integers below 32 bits wrap to their own type behind each row that may leave it. */
const char *lanes_wrap(struct arena *arena, const struct expr *expr, const char *text)
{
	const char *memory = lane_type_of(expr->type).memory;
	return *memory && !scalar_stays(expr->opcode) ? arena_printf(arena, "ivec_wrap%s(%s)", memory, text) : text;
}

/* ---- loads and indices ---- */

const char *print_index_lanes(struct printer *printer, const struct index *index)
{
	return arena_printf(printer->arena, "lvec_index(%s, %" PRId64 ")", printer_index(printer, index),
	        index_factor(index, printer->lane));
}

/* Every second element: neighbours in the pairs [0, 1], [2, 3] … of the buffer, so that a window's taps share what they
 * load.  NULL where the pairs reach out of the buffer, or elements have 64 bits. */
const char *print_pairs(struct printer *printer, const struct expr *load, const struct index *address)
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

/* Of a table of 256 bytes those at a vector of others, as their type has them. */
const char *print_looked_up(struct printer *printer, const struct expr *load, const char *at, enum dtype type)
{
	const char *table = printer->buffer(printer->user, load->of);
	if (printer->bytes)
		return arena_printf(printer->arena,
		        type == DTYPE_I8 ? "bvec_lookup(%s, u8_xor(%s, bvec_set(128)))" : "bvec_lookup(%s, %s)", table,
		        at);
	const char *text = arena_printf(printer->arena,
	        type == DTYPE_I8 ? "ivec_lookup(%s, %s + ivec_set(128u))" : "ivec_lookup(%s, %s)", table, at);
	return load->type == DTYPE_I8 ? arena_printf(printer->arena, "ivec_wrap_i8(%s)", text) : text;
}

/* Of a vector the lanes between bounds of its own variable. */
const char *print_between(struct printer *printer, const struct expr *expr)
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

/* Where another lane gather is of the element behind this one's, or before it, in each lane, both come at once.  NULL:
 * none is. */
const char *print_one_of_two(struct printer *printer, int number)
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
	FOR_ALL (i, printer->sharing->all) {
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

/* ---- comparisons and choices ---- */

/* Are its values 0 and 1, or does a cast ask no more of it? */
static bool is_truth(const struct expr *expr) { return expr->type == DTYPE_BOOL || expr_says_truth(expr); }

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
	if (scalar && expr->type == DTYPE_BOOL && (expr->opcode == SCALAR_and || expr->opcode == SCALAR_or))
		return arena_printf(arena, "mask_%s(%s, %s)", expr->opcode == SCALAR_and ? "and" : "or",
		        print_mask(printer, it.arg[0], branch), print_mask(printer, it.arg[1], branch));
	if (scalar && expr->opcode == SCALAR_not)
		return arena_printf(arena, "mask_not(%s)", print_mask(printer, it.arg[0], branch));
	const char *words = lane_type_of(expr->type).words;
	if (named || !expr_says_truth(expr))
		return arena_printf(arena, "mask_not(%sequal(%s, %s))", words, print_part(printer, number, branch).text,
		        lanes_number(arena, expr->type, 0));
	const char *a = print_part(printer, it.arg[0], branch).text, *b = print_part(printer, it.arg[1], branch).text;
	bool turns = expr->opcode == SCALAR_greater || expr->opcode == SCALAR_greater_equal;
	const char *equal = arena_printf(arena, "%sequal(%s, %s)", words, a, b),
	           *less = arena_printf(arena, "%sless(%s, %s)", words, turns ? b : a, turns ? a : b);
	return expr->opcode == SCALAR_equal ? equal
	        : expr->opcode == SCALAR_less || expr->opcode == SCALAR_greater
	        ? less
	        : arena_printf(arena, "mask_or(%s, %s)", less, equal);
}

/* Where what is asked is a comparison or a bool, a choice by a mask; NULL: it is no such choice. */
const char *print_where_lanes(struct printer *printer, const struct numbered *it, bool branch)
{
	const struct expr *expr = it->expr, *which = expr->arg[0];
	if (printer->lane < 0 || printer->bytes || printer->target->lanes == 1 || printer->target->lanes_are_threads
	        || expr->opcode != SCALAR_where)
		return NULL;
	bool mask = expr_says_truth(which) || (which->kind == EXPR_CAST && is_truth(which->arg[0]));
	if (!mask && expr->type == DTYPE_F32)
		return NULL;
	return arena_printf(printer->arena, "%sselect(%s, %s, %s)", lane_type_of(expr->type).words,
	        print_mask(printer, it->arg[0], branch), print_part(printer, it->arg[1], branch).text,
	        print_part(printer, it->arg[2], branch).text);
}

/* An index as 32 bits. */
static const char *print_short_index(struct printer *printer, const struct index *index)
{
	int64_t factor = index_factor(index, printer->lane);
	const char *first = arena_printf(printer->arena, "ivec_set((uint32_t)(%s))", printer_index(printer, index));
	return factor == 0 ? first
	                   : arena_printf(printer->arena,
	                           factor == 1 ? "(%s + ivec_iota())" : "(%s + ivec_iota() * (uint32_t)%" PRId64 ")",
	                           first, factor);
}

/* A select whose lanes choose for themselves: where from <= at < to, one comparison without sign.  NULL: all lanes choose
 * the same. */
const char *print_select_lanes(struct printer *printer, const struct expr *expr, const char *yes, const char *no)
{
	struct arena *arena = printer->arena;
	const char *mask = NULL;
	if (printer->lane < 0 || !ranges_use(expr->ranges, expr->range_count, printer->lane)
	        || printer->target->lanes == 1) /* C's own choice says it */
		return NULL;
	FOR (i, expr->range_count) {
		const struct index *at = expr->ranges[i].at;
		int64_t low, high;
		index_range(at, &low, &high);
		low = low > expr->ranges[i].from ? low : expr->ranges[i].from;
		high = high < expr->ranges[i].to ? high + 1 : expr->ranges[i].to;
		const char *one = arena_printf(arena, "u32_less(%s, ivec_set(%" PRId64 "u))",
		        print_short_index(printer, index_plus(arena, at, -low)), high > low ? high - low : 0);
		mask = mask ? arena_printf(arena, "mask_and(%s, %s)", mask, one) : one;
	}
	return arena_printf(arena, "%sselect(%s, %s, %s)", lane_type_of(expr->type).words, mask, yes, no);
}

/* ---- casts ---- */

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
		        arena, "vec_half(%s)", print_part(printer, sharing->parts.all.at[arg].arg[0], branch).text);
	return arena_printf(arena, "vec_of_%s(%s)", from == DTYPE_F16 ? "half" : "bfloat",
	        print_part(printer, it->arg[0], branch).text);
}

/* A float, cut to an index within bounds (expr_kept_index); NULL: it is none. */
static const char *print_kept_index(struct printer *printer, const struct numbered *it, bool branch)
{
	int64_t least, most;
	if (!expr_kept_index(it->expr, &least, &most))
		return NULL;
	const struct numbered *all = printer->sharing->parts.all.at;
	const struct known *known = printer->sharing->all.at;
	int kept = it->arg[0], raised = all[kept].arg[0], cut = all[raised].arg[0];
	if (known[kept].name || known[raised].name || known[cut].name)
		return NULL;
	return arena_printf(printer->arena, "ivec_of_vec(%s, %" PRId64 ".f, %" PRId64 ".f)",
	        print_part(printer, all[cut].arg[0], branch).text, least, most);
}

const char *print_cast_lanes(struct printer *printer, const struct numbered *it, bool branch)
{
	struct arena *arena = printer->arena;
	const struct expr *expr = it->expr;
	if (printer->bytes) /* the same bits: expr_node_has_bytes */
		return print_part(printer, it->arg[0], branch).text;
	const char *kept = print_kept_index(printer, it, branch);
	if (!kept)
		kept = print_rounded(printer, expr, branch);
	if (!kept)
		kept = print_rounded_lanes(printer, expr, branch);
	if (kept)
		return kept;
	enum dtype from = expr->arg[0]->type, to = expr->type;
	if (expr->cast & CAST_BITS) {
		const char *text = print_part(printer, it->arg[0], branch).text;
		return from == DTYPE_F32  ? arena_printf(arena, "vec_bits(%s)", text)
		        : to == DTYPE_F32 ? arena_printf(arena, "vec_from_bits(%s)", text)
		                          : text;
	}
	if (dtype_is_narrow(from))
		return print_wide_lanes(printer, it, branch);
	if (dtype_is_narrow(to))
		return arena_printf(arena, "%s_of_vec(%s)", to == DTYPE_F16 ? "half" : "bfloat",
		        print_part(printer, it->arg[0], branch).text);
	if (from != DTYPE_BOOL && (to == DTYPE_BOOL || expr_says_truth(expr->arg[0]))) {
		const char *mask = print_mask(printer, it->arg[0], branch);
		return to == DTYPE_BOOL ? arena_printf(arena, "ivec_of_mask(%s)", mask)
		                        : arena_printf(arena, "%sselect(%s, %s, %s)", lane_type_of(to).words, mask,
		                                lanes_number(arena, to, 1), lanes_number(arena, to, 0));
	}
	if (expr->arg[0]->kind == EXPR_INDEX && (to == DTYPE_I32 || to == DTYPE_U32))
		return print_short_index(printer, expr->arg[0]->index);
	const char *text = print_part(printer, it->arg[0], branch).text;
	return dtypes[from].class == CLASS_FLOAT ? cast_from_float(arena, from, to, text)
	                                         : cast_from_integer(arena, from, to, text);
}
