/* expr.c: scalar expressions over loads: made, simplified on the way, substituted, compared. */
#include "definitions/intern.h"
#include <math.h>

const struct expr *expr_number(struct arena *arena, enum dtype type, double number)
{
	if (dtype_is_narrow(type))
		return expr_cast(arena, type, expr_number(arena, DTYPE_F32, number));
	return intern_expr(arena,
	        &(struct expr){ .kind = EXPR_NUMBER,
	                .type = type,
	                .number = number,
	                .integer = number > -0x1p63 && number < 0x1p63 ? (int64_t)number : 0 });
}

const struct expr *expr_integer(struct arena *arena, enum dtype type, int64_t integer)
{
	return intern_expr(arena,
	        &(struct expr){ .kind = EXPR_NUMBER, .type = type, .integer = integer, .number = (double)integer });
}

const struct expr *expr_load(struct arena *arena, struct definition *of, const struct index *const *at)
{
	return intern_expr(
	        arena, &(struct expr){ .kind = EXPR_LOAD, .type = of->type, .of = of, .rank = of->rank, .at = at });
}

const struct expr *expr_load_first(struct arena *arena, struct definition *of)
{
	const struct index *first[MAX_RANK];
	FOR (d, MAX_RANK)
		first[d] = index_constant(arena, 0);
	return expr_load(arena, of, first);
}

const struct expr *expr_load_own(struct arena *arena, struct definition *of)
{
	const struct index *own[MAX_RANK];
	index_vars(arena, own, of->rank, of->extents);
	return expr_load(arena, of, own);
}

const struct expr *expr_scalar(
        struct arena *arena, enum scalar opcode, const struct expr *a, const struct expr *b, const struct expr *c)
{
	return intern_expr(
	        arena, &(struct expr){ .kind = EXPR_SCALAR, .type = a->type, .opcode = opcode, .arg = { a, b, c } });
}

const struct expr *expr_select(
        struct arena *arena, const struct range *ranges, int count, const struct expr *yes, const struct expr *no)
{
	struct range few[MAX_VARS],
	        *kept = count <= MAX_VARS ? few : arena_new_array(arena, struct range, (size_t)count);
	int n = 0;
	FOR (i, count) {
		int64_t low, high;
		index_range(ranges[i].at, &low, &high);
		if (low >= ranges[i].to || high < ranges[i].from)
			return no;
		if (low < ranges[i].from || high >= ranges[i].to)
			kept[n++] = ranges[i];
	}
	if (!n || yes == no)
		return yes;
	return intern_expr(arena,
	        &(struct expr){
	                .kind = EXPR_SELECT, .type = yes->type, .ranges = kept, .range_count = n, .arg = { yes, no } });
}

const struct expr *expr_index(struct arena *arena, const struct index *index)
{
	int64_t value;
	if (index_is_constant(index, &value))
		return expr_integer(arena, DTYPE_I64, value);
	return intern_expr(arena, &(struct expr){ .kind = EXPR_INDEX, .type = DTYPE_I64, .index = index });
}

const struct expr *expr_cast(struct arena *arena, enum dtype type, const struct expr *a)
{
	return expr_cast_as(arena, type, 0, a);
}

/* Whether what a narrow type has is the same behind a cast to it: an infinity that saturates is not. */
static bool keeps_all(enum dtype type, int cast)
{
	const struct narrow_row *row = &narrows[type];
	return !(cast & CAST_SATURATES) || row->over == row->nan || row->over == row->top;
}

/* Is an integer on its way to a narrow float a float32 without being rounded, or beyond what a float16 holds? */
static bool is_exact_float(enum dtype from, enum dtype to)
{
	return dtype_is_narrow(to) && dtypes[from].class != CLASS_FLOAT && (dtypes[from].bits <= 16 || to == DTYPE_F16);
}

const struct expr *expr_cast_as(struct arena *arena, enum dtype type, int cast, const struct expr *a)
{
	if (a->type == type)
		return a;
	if (!(cast & CAST_BITS) && type != DTYPE_F32 && (dtype_is_narrow(a->type) || is_exact_float(a->type, type)))
		a = expr_cast(arena, DTYPE_F32, a);
	if (!(cast & CAST_BITS) && dtype_is_narrow(type) && a->kind == EXPR_CAST && !(a->cast & CAST_BITS)
	        && a->arg[0]->type == type && keeps_all(type, cast))
		return a->arg[0];
	return intern_expr(arena, &(struct expr){ .kind = EXPR_CAST, .type = type, .cast = cast, .arg = { a } });
}

#define BY(what) \
	do { \
		if (a->what != b->what) \
			return a->what < b->what ? -1 : 1; \
	} while (0)
int expr_compare(const struct expr *a, const struct expr *b)
{
	int order;
	if (a == b || !a || !b)
		return (a != NULL) - (b != NULL);
	BY(kind);
	BY(type);
	BY(integer);
	BY(opcode);
	BY(cast);
	BY(range_count);
	if ((order = memcmp(&a->number, &b->number, sizeof a->number)))
		return order;
	if (a->kind == EXPR_LOAD && a->of != b->of) /* any order will do; of tensors of one name, in two programs, that
	                                               of their addresses */
		return (order = strcmp(a->of->name, b->of->name)) ? order : a->of < b->of ? -1 : 1;
	for (int d = 0; a->kind == EXPR_LOAD && d < a->of->rank && d < b->of->rank; d++)
		if ((order = index_compare(a->at[d], b->at[d])))
			return order;
	FOR (i, a->range_count) {
		BY(ranges[i].from);
		BY(ranges[i].to);
		if ((order = index_compare(a->ranges[i].at, b->ranges[i].at)))
			return order;
	}
	if (a->kind == EXPR_INDEX)
		return index_compare(a->index, b->index);
	FOR (i, 3)
		if ((order = expr_compare(a->arg[i], b->arg[i])))
			return order;
	return 0;
}
#undef BY

bool expr_equal(const struct expr *a, const struct expr *b) { return expr_compare(a, b) == 0; }

static enum visit uses(void *user, const struct expr *expr)
{
	int var = *(const int *)user;
	FOR (i, expr_index_count(expr))
		if (index_uses(expr_index_at(expr, i), var))
			return VISIT_END;
	return VISIT_PARTS;
}

bool expr_uses(const struct expr *expr, int var)
{
	if (var < VARS_LAST || !(expr->vars & var_bit(var)))
		return expr->vars & var_bit(var);
	return expr_visit(expr, uses, &var);
}

bool ranges_use(const struct range *ranges, int count, int var)
{
	FOR (i, count)
		if (index_uses(ranges[i].at, var))
			return true;
	return false;
}

/* Some select asks for the variable. */
static enum visit selects(void *user, const struct expr *expr)
{
	return ranges_use(expr->ranges, expr->range_count, *(const int *)user) ? VISIT_END : VISIT_PARTS;
}

bool expr_selects_on(const struct expr *expr, int var)
{
	return expr_has(expr, 1u << EXPR_SELECT) && expr_visit(expr, selects, &var);
}

static enum visit see_computed(void *user, const struct expr *expr)
{
	(void)user;
	return expr->kind == EXPR_LOAD && expr->of->source != SOURCE_CONSTANT ? VISIT_END : VISIT_PARTS;
}

/* Does the index run along a variable, from where one value says that comes at run time? */
static bool runs_from_value(const struct index *at)
{
	bool runs = false, value = false;
	FOR (i, at->count) {
		const struct atom *atom = at->terms[i].atom;
		runs |= atom->kind == ATOM_VAR;
		value |= atom->kind == ATOM_VALUE && !atom->value->vars
		        && expr_visit_inside(atom->value, see_computed, NULL);
	}
	return runs && value;
}

static enum visit selects_by_value(void *user, const struct expr *expr)
{
	(void)user;
	FOR (i, expr->range_count)
		if (runs_from_value(expr->ranges[i].at))
			return VISIT_END;
	return VISIT_PARTS;
}

bool expr_selects_by_value(const struct expr *expr) { return expr_visit(expr, selects_by_value, NULL); }

bool expr_is_between(const struct expr *expr, int lane, int64_t *from, int64_t *to)
{
	if (expr->kind != EXPR_SELECT || expr->type != DTYPE_F32 || lane < 0 || expr->arg[0]->kind != EXPR_LOAD
	        || expr->arg[1]->kind != EXPR_NUMBER || expr->arg[1]->number != 0 || signbit(expr->arg[1]->number))
		return false;
	*from = INT64_MIN;
	*to = INT64_MAX;
	FOR (i, expr->range_count) {
		const struct range *range = &expr->ranges[i];
		const struct index *at = range->at;
		if (at->count != 1 || at->terms[0].atom->kind != ATOM_VAR || at->terms[0].atom->var != lane
		        || at->terms[0].factor != 1)
			return false;
		*from = range->from - at->constant > *from ? range->from - at->constant : *from;
		*to = range->to - at->constant < *to ? range->to - at->constant : *to;
	}
	return expr->range_count > 0;
}

/* Floats alone: what a product's tile and a window's registers hold. */
static enum visit cannot_vector(void *user, const struct expr *expr)
{
	int lane = *(const int *)user;
	if (expr->type != DTYPE_F32 || expr->kind == EXPR_INDEX || expr->kind == EXPR_CAST)
		return VISIT_END;
	FOR (i, expr_index_count(expr))
		if ((expr->kind == EXPR_LOAD ? index_bends : index_uses)(expr_index_at(expr, i), lane))
			return VISIT_END;
	return VISIT_PARTS;
}

bool expr_can_vector(const struct expr *expr, int lane) { return !expr_visit(expr, cannot_vector, &lane); }

bool dtype_has_lanes(enum dtype type)
{
	return type == DTYPE_F32 || type == DTYPE_F64 || type == DTYPE_F16 || type == DTYPE_BF16
	        || (dtypes[type].bits >= 8 && dtypes[type].bits <= 64
	                && (dtypes[type].class == CLASS_INT || dtypes[type].class == CLASS_UINT
	                        || dtypes[type].class == CLASS_BOOL));
}

/* Between floats of 16 bits and float32, and between all wider types; the bits of 32 alone. */
static bool cast_has_lanes(const struct expr *expr)
{
	enum dtype from = expr->arg[0]->type, to = expr->type;
	if (dtype_is_narrow(from) || dtype_is_narrow(to))
		return !(expr->cast & ~CAST_NUMBER) && (from == DTYPE_F32 || to == DTYPE_F32);
	return !(expr->cast & CAST_BITS) || (dtypes[from].bits == 32 && dtypes[to].bits == 32);
}

static bool scalar_has_lanes(const struct expr *expr)
{
	switch (expr->opcode) {
	case SCALAR_dot16:
	case SCALAR_dot8:
	case SCALAR_dot8u: return false;
	case SCALAR_softsign:
	case SCALAR_shrink:
	case SCALAR_is_inf: return expr->type == DTYPE_F32; /* rows with signs of C inside */
	default: return !dtype_is_narrow(expr->type);
	}
}

static enum visit loads_outside(void *user, const struct expr *expr)
{
	(void)user;
	for (int d = 0; expr->kind == EXPR_LOAD && d < expr->of->rank; d++) {
		int64_t low, high;
		index_range(expr->at[d], &low, &high);
		if (low < 0 || high >= expr->of->extents[d])
			return VISIT_END;
	}
	return VISIT_PARTS;
}

/* Lanes that choose for themselves compute both: nothing may lie where only one of them may look. */
static bool select_has_lanes(const struct expr *expr, int lane)
{
	bool own = false;
	FOR (i, expr->range_count) {
		const struct index *at = expr->ranges[i].at;
		int64_t low, high;
		index_range(at, &low, &high);
		if (index_bends(at, lane) || low <= INT32_MIN / 2 || high >= INT32_MAX / 2)
			return false;
		own |= index_uses(at, lane);
	}
	return !own
	        || (!expr_visit(expr->arg[0], loads_outside, NULL) && !expr_visit(expr->arg[1], loads_outside, NULL));
}

const struct expr *expr_looked_up(const struct expr *expr, int lane)
{
	const struct expr *byte = expr->kind == EXPR_LOAD && expr->of->rank == 1 && dtypes[expr->type].bits == 8
	        ? index_looked_up(expr->at[0])
	        : NULL;
	for (int d = 0; byte && d < byte->of->rank; d++)
		if (index_bends(byte->at[d], lane))
			return NULL;
	return byte;
}

bool expr_node_has_lanes(const struct expr *expr, int lane)
{
	if (!dtype_has_lanes(expr->type))
		return false;
	switch (expr->kind) {
	case EXPR_LOAD:
		FOR (d, expr->of->rank)
			if (index_bends(expr->at[d], lane) && !index_lane_gathers(expr->at[d], lane))
				return expr_looked_up(expr, lane);
		return true;
	case EXPR_SELECT: return select_has_lanes(expr, lane);
	case EXPR_INDEX: return expr->type == DTYPE_I64 && !index_bends(expr->index, lane);
	case EXPR_CAST: return cast_has_lanes(expr);
	case EXPR_SCALAR: return scalar_has_lanes(expr);
	case EXPR_NUMBER: return true;
	}
	return false;
}

bool expr_says_truth(const struct expr *expr)
{
	return expr->kind == EXPR_SCALAR
	        && (expr->opcode == SCALAR_less || expr->opcode == SCALAR_equal || expr->opcode == SCALAR_greater
	                || expr->opcode == SCALAR_less_equal || expr->opcode == SCALAR_greater_equal);
}

bool expr_node_has_bytes(const struct expr *expr, int lane)
{
	switch (expr->kind) {
	case EXPR_LOAD:
	case EXPR_NUMBER: return true;
	case EXPR_SELECT: return !ranges_use(expr->ranges, expr->range_count, lane);
	case EXPR_CAST: return expr->type != DTYPE_BOOL || expr_says_truth(expr->arg[0]); /* bytes as they are */
	case EXPR_SCALAR:
		switch (expr->opcode) { /* what has no word there */
		case SCALAR_div:
		case SCALAR_pow:
		case SCALAR_mod:
		case SCALAR_fmod:
		case SCALAR_shl:
		case SCALAR_shr:
		case SCALAR_random: return false;
		default: return scalar_has_lanes(expr);
		}
	case EXPR_INDEX: return false;
	}
	return false;
}

const struct expr *expr_kept_index(const struct expr *expr, int64_t *least, int64_t *most)
{
	if (expr->kind != EXPR_CAST || expr->type != DTYPE_I32)
		return NULL;
	const struct expr *min = expr->arg[0], *max = min->arg[0];
	if (!expr_is(min, SCALAR_min) || min->type != DTYPE_I64 || !expr_is(max, SCALAR_max)
	        || max->arg[0]->kind != EXPR_CAST || max->arg[0]->cast || max->arg[0]->arg[0]->type != DTYPE_F32
	        || min->arg[1]->kind != EXPR_NUMBER || max->arg[1]->kind != EXPR_NUMBER)
		return NULL;
	*least = max->arg[1]->integer;
	*most = min->arg[1]->integer;
	return *least > 0 || *most < 0 || *least < -EXACT_MOST || *most > EXACT_MOST ? NULL : max->arg[0]->arg[0];
}
