/* operators.c: what Python's operators mean: undefined values, truth, equality, order, arithmetic. */
#include "template/engine.h"
#include <math.h>
#include <stdio.h>

/* ---- undefined ---- */
struct value undefined_name(struct renderer *r, const char *name)
{
	struct missing *missing = arena_new(r->arena, struct missing);
	missing->name = name;
	return (struct value){ .kind = VALUE_UNDEFINED, .missing = missing };
}

struct value undefined_hint(struct renderer *r, const char *format, ...)
{
	char hint[400];
	va_list arguments;
	va_start(arguments, format);
	int n = vsnprintf(hint, sizeof hint, format, arguments);
	va_end(arguments);
	struct value value = undefined_name(r, NULL);
	((struct missing *)value.missing)->hint =
	        arena_copy(r->arena, hint, n < (int)sizeof hint ? (size_t)n : sizeof hint - 1);
	return value;
}

struct value undefined_member(struct renderer *r, struct value owner, const char *name, size_t count)
{
	struct value value = undefined_name(r, arena_copy(r->arena, name, count));
	((struct missing *)value.missing)->owner = owner;
	return value;
}

static void try_dict(struct nearest *nearest, const struct dict *dict)
{
	for (size_t i = 0; dict && i < dict->count; i++)
		if (dict->at[i].key.kind == VALUE_STRING)
			nearest_try(nearest, dict->at[i].key.bytes, dict->at[i].key.count);
}

void undefined_fail(struct renderer *r, struct value value)
{
	const struct missing *missing = value.missing;
	if (!missing || missing->hint)
		render_fail(r, "%s", missing ? missing->hint : "an undefined value is used");
	struct nearest nearest = { .name = missing->name, .length = strlen(missing->name) };
	if (missing->owner.kind == VALUE_DICT)
		try_dict(&nearest, missing->owner.dict);
	else if (!missing->owner.kind) {
		for (struct scope *scope = r->scope; scope; scope = scope->outer)
			FOR (i, scope->count)
				nearest_try(&nearest, scope->at[i].name, strlen(scope->at[i].name));
		try_dict(&nearest, r->context->globals);
		try_dict(&nearest, r->environment->globals);
	}
	char near[120] = "";
	if (nearest.best)
		snprintf(near, sizeof near, "; did you mean '%.*s'?",
		        (int)(nearest.best_length > 80 ? 80 : nearest.best_length), nearest.best);
	if (missing->owner.kind)
		render_fail(r, "%s has no member '%.100s'%s", value_a(missing->owner), missing->name, near);
	render_fail(r, "'%.100s' is undefined%s", missing->name, near);
}

void undefined_use(struct renderer *r, struct value value)
{
	if (!r->environment->settings.lenient && !(value.missing && value.missing->lenient))
		undefined_fail(r, value);
}

/* ---- truth, equality, order ---- */
bool value_truth(struct renderer *r, struct value value)
{
	switch (value.kind) {
	case VALUE_BOOL: return value.truth;
	case VALUE_INT: return value.integer != 0;
	case VALUE_FLOAT: return value.real != 0;
	case VALUE_STRING: return value.count != 0;
	case VALUE_LIST: return value.view == VIEW_LAZY || value.list->count;
	case VALUE_TUPLE: return value.list->count != 0;
	case VALUE_DICT: return value.dict->count != 0;
	case VALUE_RANGE: return value.range->count != 0;
	case VALUE_UNDEFINED: undefined_use(r, value); return false;
	case VALUE_NONE: return false;
	default: return true;
	}
}

void render_deeper(struct renderer *r)
{
	if (++r->depth > r->environment->settings.depth_limit)
		render_limit(r, "nested more than %zu deep", r->environment->settings.depth_limit);
}

static bool lists_equal(struct renderer *r, const struct list *a, const struct list *b)
{
	bool equal = a->count == b->count;
	render_deeper(r);
	for (size_t i = 0; equal && i < a->count && i < b->count; i++)
		equal = value_identical(a->at[i], b->at[i]) || value_equal(r, a->at[i], b->at[i]);
	r->depth--;
	return equal;
}

static bool dicts_equal(struct renderer *r, const struct dict *a, const struct dict *b)
{
	bool equal = a->count == b->count;
	render_deeper(r);
	for (size_t i = 0; equal && i < a->count; i++) {
		struct value *other = dict_find(b, a->at[i].key, a->at[i].hash);
		equal = other && value_equal(r, a->at[i].value, *other);
	}
	r->depth--;
	return equal;
}

/* -1, 0, 1; 2 for a NaN.  A long double holds every int64_t and every double. */
static int compare_numbers(struct value a, struct value b)
{
	if (a.kind != VALUE_FLOAT && b.kind != VALUE_FLOAT)
		return (value_integer(a) > value_integer(b)) - (value_integer(a) < value_integer(b));
	long double x = a.kind == VALUE_FLOAT ? a.real : (long double)value_integer(a);
	long double y = b.kind == VALUE_FLOAT ? b.real : (long double)value_integer(b);
	return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

static int compare_strings(struct value a, struct value b)
{
	size_t n = a.count < b.count ? a.count : b.count;
	int sign = n ? memcmp(a.bytes, b.bytes, n) : 0;
	return sign ? sign : (a.count > b.count) - (a.count < b.count);
}

bool value_equal(struct renderer *r, struct value a, struct value b)
{
	if (a.kind == VALUE_UNDEFINED || b.kind == VALUE_UNDEFINED) {
		undefined_use(r, a.kind == VALUE_UNDEFINED ? a : b);
		return a.kind == b.kind;
	}
	if (value_is_number(a) && value_is_number(b))
		return compare_numbers(a, b) == 0;
	if (a.kind != b.kind)
		return false;
	switch (a.kind) {
	case VALUE_LIST:
		return a.list == b.list || (a.view == b.view && a.view != VIEW_LAZY && lists_equal(r, a.list, b.list));
	case VALUE_TUPLE: return lists_equal(r, a.list, b.list);
	case VALUE_DICT: return dicts_equal(r, a.dict, b.dict);
	case VALUE_RANGE:
		return a.range->count == b.range->count
		        && (!a.range->count
		                || (a.range->start == b.range->start
		                        && (a.range->count == 1 || a.range->step == b.range->step)));
	default: return value_identical(a, b);
	}
}

bool value_less(struct renderer *r, struct value a, struct value b, const char *sign, bool or_equal)
{
	if (value_is_number(a) && value_is_number(b)) {
		int order = compare_numbers(a, b);
		return order < 0 || (or_equal && order == 0);
	}
	if (a.kind == VALUE_STRING && b.kind == VALUE_STRING) {
		int order = compare_strings(a, b);
		return order < 0 || (or_equal && order == 0);
	}
	if (value_is_list(a) && a.kind == b.kind && a.view != VIEW_LAZY && b.view != VIEW_LAZY) {
		size_t i = 0;
		render_deeper(r);
		while (i < a.list->count && i < b.list->count
		        && (value_identical(a.list->at[i], b.list->at[i])
		                || value_equal(r, a.list->at[i], b.list->at[i])))
			i++;
		bool both = i < a.list->count && i < b.list->count;
		bool less = both   ? value_less(r, a.list->at[i], b.list->at[i], sign, or_equal)
		        : or_equal ? a.list->count <= b.list->count
		                   : a.list->count < b.list->count;
		r->depth--;
		return less;
	}
	if (a.kind == VALUE_UNDEFINED || b.kind == VALUE_UNDEFINED)
		undefined_fail(r, a.kind == VALUE_UNDEFINED ? a : b);
	render_fail(r, "'%s' is not supported between %s and %s", sign, value_type(a), value_type(b));
}

uint32_t value_hash_or_fail(struct renderer *r, struct value value)
{
	uint32_t hash;
	if (value.kind == VALUE_UNDEFINED)
		undefined_use(r, value);
	if (!value_hash(value, &hash))
		render_fail(r,
		        value.kind == VALUE_TUPLE ? "%s cannot be a key: what is in it may change, or is too deep"
		                                  : "%s cannot be a key: it may change",
		        value_a(value));
	return hash;
}

bool value_in(struct renderer *r, struct value value, struct value container)
{
	struct iterator items;
	struct value item;
	switch (container.kind) {
	case VALUE_STRING:
		if (value.kind == VALUE_UNDEFINED)
			undefined_use(r, value);
		if (value.kind != VALUE_STRING)
			render_fail(r, "only a string can be in a string, not %s", value_a(value));
		return !value.count || memmem(container.bytes, container.count, value.bytes, value.count);
	case VALUE_DICT: return dict_find(container.dict, value, value_hash_or_fail(r, value)) != NULL;
	case VALUE_RANGE:
		if (value.kind == VALUE_UNDEFINED && container.range->count)
			undefined_use(r, value);
		if (value.kind == VALUE_FLOAT && value.real == floor(value.real) && fabs(value.real) < 9e18)
			value = value_int((int64_t)value.real);
		if (!value_is_integer(value) || !container.range->count)
			return false;
		int64_t i = value_integer(value), first = container.range->start, step = container.range->step, away;
		int64_t last = first + (int64_t)(container.range->count - 1) * step;
		return i >= (step > 0 ? first : last) && i <= (step > 0 ? last : first)
		        && !__builtin_sub_overflow(i, first, &away) && away % step == 0;
	default:
		items = iterate(r, container);
		while (iterate_next(r, &items, &item))
			if (value_identical(item, value) || value_equal(r, item, value))
				return true;
		return false;
	}
}

/* ---- arithmetic ---- */
static NORETURN void operands_fail(struct renderer *r, enum node_kind kind, struct value a, struct value b)
{
	static const char *const signs[] = { "+", "-", "*", "/", "//", "%", "**" };
	if (a.kind == VALUE_UNDEFINED || b.kind == VALUE_UNDEFINED)
		undefined_fail(r, a.kind == VALUE_UNDEFINED ? a : b);
	render_fail(r, "'%s' is not supported between %s and %s", signs[kind - NODE_ADD], value_type(a), value_type(b));
}

static NORETURN void overflow_fail(struct renderer *r) { render_fail(r, "the result needs more than 64 bits"); }

static struct value integer_power(struct renderer *r, int64_t a, int64_t b)
{
	int64_t result = 1;
	if (b < 0) {
		if (!a)
			render_fail(r, "0 to a negative power");
		return value_float(pow((double)a, (double)b));
	}
	for (bool over = false;; b >>= 1) {
		if (b & 1 && (over || __builtin_mul_overflow(result, a, &result)))
			overflow_fail(r);
		if (b <= 1)
			return value_int(result);
		over |= __builtin_mul_overflow(a, a, &a);
	}
}

static struct value integer_arithmetic(struct renderer *r, enum node_kind kind, int64_t a, int64_t b)
{
	int64_t result = 0, rest;
	bool over = false;
	switch (kind) {
	case NODE_ADD: over = __builtin_add_overflow(a, b, &result); break;
	case NODE_SUB: over = __builtin_sub_overflow(a, b, &result); break;
	case NODE_MUL: over = __builtin_mul_overflow(a, b, &result); break;
	case NODE_POW: return integer_power(r, a, b);
	default:
		if (!b)
			render_fail(r, kind == NODE_MOD ? "remainder of a division by zero" : "division by zero");
		if (kind == NODE_DIV)
			return value_float((double)((long double)a / (long double)b));
		if (b == -1) {
			over = kind == NODE_FLOORDIV && __builtin_sub_overflow(0, a, &result);
			break;
		}
		rest = a % b;
		if (rest && (rest < 0) != (b < 0))
			rest += b;
		result = kind == NODE_MOD ? rest : (a - rest) / b;
		if (kind == NODE_FLOORDIV) /* a - rest may pass the 64 bits */
			result = a / b - (a % b != 0 && (a < 0) != (b < 0));
	}
	if (over)
		overflow_fail(r);
	return value_int(result);
}

static struct value real_arithmetic(struct renderer *r, enum node_kind kind, double a, double b)
{
	double rest, quotient;
	switch (kind) {
	case NODE_ADD: return value_float(a + b);
	case NODE_SUB: return value_float(a - b);
	case NODE_MUL: return value_float(a * b);
	case NODE_POW:
		if (a == 0 && b < 0)
			render_fail(r, "0 to a negative power");
		if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b))
			render_fail(r, "a negative number to a fractional power");
		quotient = pow(a, b);
		if (isinf(quotient) && isfinite(a) && isfinite(b))
			render_fail(r, "the result is too large for a float");
		return value_float(quotient);
	default:
		if (b == 0)
			render_fail(r, kind == NODE_MOD ? "remainder of a division by zero" : "division by zero");
		if (kind == NODE_DIV)
			return value_float(a / b);
		rest = fmod(a, b);
		quotient = (a - rest) / b;
		if (rest != 0) {
			if ((b < 0) != (rest < 0)) {
				rest += b;
				quotient -= 1;
			}
		} else
			rest = copysign(0, b);
		if (kind == NODE_MOD)
			return value_float(rest);
		if (quotient != 0) {
			double whole = floor(quotient);
			return value_float(quotient - whole > 0.5 ? whole + 1 : whole);
		}
		return value_float(copysign(0, a / b));
	}
}

static struct value repeat(struct renderer *r, struct value value, int64_t times)
{
	size_t count = value.kind == VALUE_STRING ? value.count : value.list->count, total;
	if (times < 0)
		times = 0;
	if (!size_mul(count, (size_t)times, &total) || total > UINT32_MAX / sizeof(struct value))
		render_limit(r, "a repetition of %zu by %lld is too long", count, (long long)times);
	if (value.kind == VALUE_STRING) {
		char *bytes = arena_alloc(r->arena, total + 1);
		if (count == 1)
			memset(bytes, *value.bytes, total);
		else
			for (size_t i = 0; i < total; i += count)
				memcpy(bytes + i, value.bytes, count);
		return value_string_of(bytes, total);
	}
	struct list *list = list_new(r->arena, total);
	for (; list->count < total; list->count += count)
		memcpy(list->at + list->count, value.list->at, count * sizeof *list->at);
	return (struct value){ .kind = value.kind, .list = list };
}

static struct value join_two(struct renderer *r, struct value a, struct value b)
{
	if (a.kind == VALUE_STRING) {
		if ((size_t)a.count + b.count >= UINT32_MAX)
			render_limit(r, "a string of 4 GiB or more");
		char *bytes = arena_alloc(r->arena, (size_t)a.count + b.count + 1);
		memcpy(bytes, a.bytes, a.count);
		memcpy(bytes + a.count, b.bytes, b.count);
		return value_string_of(bytes, (size_t)a.count + b.count);
	}
	struct list *list = list_new(r->arena, a.list->count + b.list->count);
	FOR (i, a.list->count)
		list_add(list, a.list->at[i]);
	FOR (i, b.list->count)
		list_add(list, b.list->at[i]);
	return (struct value){ .kind = a.kind, .list = list };
}

bool value_is_sequence(struct value v)
{
	return v.kind == VALUE_STRING || (value_is_list(v) && (v.kind == VALUE_TUPLE || !v.view));
}

struct value value_arithmetic(struct renderer *r, enum node_kind kind, struct value a, struct value b)
{
	if (a.kind == VALUE_INT && b.kind == VALUE_INT)
		return integer_arithmetic(r, kind, a.integer, b.integer);
	if (value_is_number(a) && value_is_number(b))
		return a.kind == VALUE_FLOAT || b.kind == VALUE_FLOAT
		        ? real_arithmetic(r, kind, value_real(a), value_real(b))
		        : integer_arithmetic(r, kind, value_integer(a), value_integer(b));
	if (kind == NODE_ADD && a.kind == b.kind && value_is_sequence(a) && value_is_sequence(b))
		return join_two(r, a, b);
	if (kind == NODE_MUL && value_is_sequence(a) && value_is_integer(b))
		return repeat(r, a, value_integer(b));
	if (kind == NODE_MUL && value_is_sequence(b) && value_is_integer(a))
		return repeat(r, b, value_integer(a));
	if (kind == NODE_MOD && a.kind == VALUE_STRING)
		return format_percent(r, a, b);
	operands_fail(r, kind, a, b);
}

struct value value_sign(struct renderer *r, struct value value, bool plus)
{
	int64_t result;
	if (value.kind == VALUE_UNDEFINED)
		undefined_fail(r, value);
	if (!value_is_number(value))
		render_fail(r, "%s has no sign", value_a(value));
	if (value.kind == VALUE_FLOAT)
		return value_float(plus ? value.real : -value.real);
	if (plus)
		return value_int(value_integer(value));
	if (__builtin_sub_overflow(0, value_integer(value), &result))
		overflow_fail(r);
	return value_int(result);
}
