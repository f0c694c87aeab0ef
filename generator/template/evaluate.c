/* evaluate.c: expressions -> values, with Python's meaning of every operator. */
#include "template/engine.h"
#include <math.h>
#include <stdio.h>

/* ---- undefined ---- */
struct value undefined_name(struct renderer *r, const char *name)
{
	struct missing *missing = new(r->arena, struct missing);
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
	((struct missing *)value.missing)->hint = arena_copy(r->arena, hint, n < (int)sizeof hint ? (size_t)n : sizeof hint - 1);
	return value;
}

static struct value undefined_member(struct renderer *r, struct value owner, const char *name, size_t count)
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
			for (size_t i = 0; i < scope->count; i++)
				nearest_try(&nearest, scope->at[i].name, strlen(scope->at[i].name));
		try_dict(&nearest, r->context->globals);
		try_dict(&nearest, r->environment->globals);
	}
	char near[120] = "";
	if (nearest.best)
		snprintf(near, sizeof near, "; did you mean '%.*s'?", (int)(nearest.best_length > 80 ? 80 : nearest.best_length), nearest.best);
	if (missing->owner.kind)
		render_fail(r, "a %s has no member '%.100s'%s", value_type(missing->owner), missing->name, near);
	render_fail(r, "'%.100s' is undefined%s", missing->name, near);
}

void undefined_use(struct renderer *r, struct value value)
{
	if (!r->environment->settings.lenient)
		undefined_fail(r, value);
}

/* ---- truth, equality, order ---- */
bool value_truth(struct renderer *r, struct value value)
{
	switch (value.kind) {
	case VALUE_BOOL:      return value.truth;
	case VALUE_INT:       return value.integer != 0;
	case VALUE_FLOAT:     return value.real != 0;
	case VALUE_STRING:    return value.count != 0;
	case VALUE_LIST:      return value.view == VIEW_LAZY || value.list->count;
	case VALUE_TUPLE:     return value.list->count != 0;
	case VALUE_DICT:      return value.dict->count != 0;
	case VALUE_RANGE:     return value.range->count != 0;
	case VALUE_UNDEFINED: undefined_use(r, value); return false;
	case VALUE_NONE:      return false;
	default:              return true;
	}
}

static void enter(struct renderer *r)
{
	if (++r->depth > r->environment->settings.depth_limit)
		render_limit(r, "nested more than %zu deep", r->environment->settings.depth_limit);
}

static bool lists_equal(struct renderer *r, const struct list *a, const struct list *b)
{
	bool equal = a->count == b->count;
	enter(r);
	for (size_t i = 0; equal && i < a->count && i < b->count; i++)
		equal = value_identical(a->at[i], b->at[i]) || value_equal(r, a->at[i], b->at[i]);
	r->depth--;
	return equal;
}

static bool dicts_equal(struct renderer *r, const struct dict *a, const struct dict *b)
{
	bool equal = a->count == b->count;
	enter(r);
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
	case VALUE_TUPLE:
		return lists_equal(r, a.list, b.list);
	case VALUE_DICT:
		return dicts_equal(r, a.dict, b.dict);
	case VALUE_RANGE:
		return a.range->count == b.range->count && (!a.range->count || (a.range->start == b.range->start &&
			(a.range->count == 1 || a.range->step == b.range->step)));
	default:
		return value_identical(a, b);
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
		enter(r);
		while (i < a.list->count && i < b.list->count &&
		       (value_identical(a.list->at[i], b.list->at[i]) || value_equal(r, a.list->at[i], b.list->at[i])))
			i++;
		bool both = i < a.list->count && i < b.list->count;
		bool less = both ? value_less(r, a.list->at[i], b.list->at[i], sign, or_equal)
			: or_equal ? a.list->count <= b.list->count : a.list->count < b.list->count;
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
		render_fail(r, "a %s cannot be a key: it may change", value_type(value));
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
			render_fail(r, "only a string can be in a string, not a %s", value_type(value));
		return !value.count || memmem(container.bytes, container.count, value.bytes, value.count);
	case VALUE_DICT:
		return dict_find(container.dict, value, value_hash_or_fail(r, value)) != NULL;
	case VALUE_RANGE:
		if (value.kind == VALUE_FLOAT && value.real == floor(value.real) && fabs(value.real) < 9e18)
			value = value_int((int64_t)value.real);
		if (!value_is_integer(value) || !container.range->count)
			return false;
		int64_t i = value_integer(value), first = container.range->start, step = container.range->step, away;
		int64_t last = first + (int64_t)(container.range->count - 1) * step;
		return i >= (step > 0 ? first : last) && i <= (step > 0 ? last : first) &&
		       !__builtin_sub_overflow(i, first, &away) && away % step == 0;
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
		if (kind == NODE_FLOORDIV)        /* a - rest may pass the 64 bits */
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
	for (size_t i = 0; i < a.list->count; i++)
		list_add(list, a.list->at[i]);
	for (size_t i = 0; i < b.list->count; i++)
		list_add(list, b.list->at[i]);
	return (struct value){ .kind = a.kind, .list = list };
}

static bool is_plain_sequence(struct value v) { return v.kind == VALUE_STRING || (value_is_list(v) && (v.kind == VALUE_TUPLE || !v.view)); }

struct value value_arithmetic(struct renderer *r, enum node_kind kind, struct value a, struct value b)
{
	if (a.kind == VALUE_INT && b.kind == VALUE_INT)
		return integer_arithmetic(r, kind, a.integer, b.integer);
	if (value_is_number(a) && value_is_number(b))
		return a.kind == VALUE_FLOAT || b.kind == VALUE_FLOAT ? real_arithmetic(r, kind, value_real(a), value_real(b))
			: integer_arithmetic(r, kind, value_integer(a), value_integer(b));
	if (kind == NODE_ADD && a.kind == b.kind && is_plain_sequence(a) && is_plain_sequence(b))
		return join_two(r, a, b);
	if (kind == NODE_MUL && is_plain_sequence(a) && value_is_integer(b))
		return repeat(r, a, value_integer(b));
	if (kind == NODE_MUL && is_plain_sequence(b) && value_is_integer(a))
		return repeat(r, b, value_integer(a));
	if (kind == NODE_MOD && a.kind == VALUE_STRING)
		return format_percent(r, a, b);
	operands_fail(r, kind, a, b);
}

static struct value negative(struct renderer *r, struct value value, bool plus)
{
	int64_t result;
	if (value.kind == VALUE_UNDEFINED)
		undefined_fail(r, value);
	if (!value_is_number(value))
		render_fail(r, "a %s has no sign", value_type(value));
	if (value.kind == VALUE_FLOAT)
		return value_float(plus ? value.real : -value.real);
	if (plus)
		return value_int(value_integer(value));
	if (__builtin_sub_overflow(0, value_integer(value), &result))
		overflow_fail(r);
	return value_int(result);
}

/* ---- members ---- */
static bool macro_attribute(struct renderer *r, const struct node *macro, const char *name, struct value *out)
{
	static const struct { const char *name; uint8_t flag; } flags[] = {
		{ "caller", FLAG_CALLER }, { "catch_kwargs", FLAG_KWARGS }, { "catch_varargs", FLAG_VARARGS } };
	for (size_t i = 0; i < COUNT(flags); i++)
		if (!strcmp(name, flags[i].name)) {
			*out = value_bool(macro->flags & flags[i].flag);
			return true;
		}
	if (!strcmp(name, "name")) {
		*out = value_string(macro->name);
		return true;
	}
	if (strcmp(name, "arguments"))
		return false;
	struct list *list = list_new(r->arena, macro->list.count);
	for (size_t i = 0; i < macro->list.count; i++)
		list_add(list, value_string(macro->list.at[i]->name));
	*out = value_tuple(r->arena, list->at, list->count);
	return true;
}

/* Python's getattr(); false where there is no such attribute. */
static bool attribute(struct renderer *r, struct value of, const char *name, size_t count, struct value *out)
{
	const struct builtin *method = method_find(of, name, count);
	if (method) {
		*out = function_of(r, method, of);
		return true;
	}
	if (of.kind == VALUE_OBJECT && of.object->class->get) {
		struct template_call call = { .environment = r->environment, .build = r->build, .arena = r->arena,
			.user = of.object->user, .name = of.object->class->name, .renderer = r };
		const char *ended = name[count] ? arena_copy(r->arena, name, count) : name;
		return of.object->class->get(&call, of.object->user, ended, out);
	}
	if (of.kind == VALUE_FUNCTION && of.function->macro)
		return macro_attribute(r, of.function->macro, name, out);
	if (of.kind == VALUE_TUPLE && of.view == VIEW_GROUP && (!strcmp(name, "grouper") || !strcmp(name, "list"))) {
		*out = of.list->at[*name == 'l'];
		return true;
	}
	if (of.kind == VALUE_RANGE)
		for (int i = 0; i < 3; i++)
			if (!strcmp(name, i == 0 ? "start" : i == 1 ? "stop" : "step")) {
				*out = value_int(i == 0 ? of.range->start : i == 1 ? of.range->stop : of.range->step);
				return true;
			}
	return false;
}

struct value value_attribute(struct renderer *r, struct value of, const char *name, size_t count, uint32_t hash)
{
	struct value out, *found;
	if (of.kind == VALUE_DICT && (found = dict_find_string(of.dict, name, count, hash)) && !method_find(of, name, count))
		return *found;
	if (of.kind == VALUE_UNDEFINED)
		undefined_fail(r, of);
	if (attribute(r, of, name, count, &out))
		return out;
	return undefined_member(r, of, name, count);
}

/* Python's of[key]; false where that would be a KeyError, an IndexError or a TypeError. */
static bool item(struct renderer *r, struct value of, struct value key, struct value *out)
{
	uint32_t hash;
	struct value *found;
	if (of.kind == VALUE_DICT) {
		if (key.kind == VALUE_UNDEFINED)
			undefined_use(r, key);
		if (!value_hash(key, &hash) || !(found = dict_find(of.dict, key, hash)))
			return false;
		*out = *found;
		return true;
	}
	if (!value_is_integer(key) || !(of.kind == VALUE_RANGE || is_plain_sequence(of)))
		return false;
	int64_t i = value_integer(key), count = (int64_t)value_count(of);
	i += i < 0 ? count : 0;
	if (i < 0 || i >= count)
		return false;
	if (of.kind == VALUE_STRING) {
		const char *at = of.bytes + text_offset(of.bytes, of.count, (size_t)i), *next = at;
		text_decode(&next, of.bytes + of.count);
		*out = value_string_of(at, (size_t)(next - at));
	} else
		*out = of.kind == VALUE_RANGE ? value_int(of.range->start + i * of.range->step) : of.list->at[i];
	return true;
}

struct value value_item(struct renderer *r, struct value of, struct value key)
{
	struct value out;
	size_t mark;
	if (of.kind == VALUE_UNDEFINED)
		undefined_fail(r, of);
	if (item(r, of, key, &out) || (key.kind == VALUE_STRING && attribute(r, of, value_copy(r->arena, key.bytes, key.count).bytes, key.count, &out)))
		return out;
	capture_begin(r, &mark);
	if (key.kind == VALUE_STRING)
		print_value(r, key, r->out);
	else
		print_repr(r, key, r->out);
	struct value name = capture_end(r, mark);
	return undefined_member(r, of, name.bytes, name.count);
}

struct value value_path(struct renderer *r, struct value value, struct value path)
{
	if (path.kind != VALUE_STRING)
		return path.kind == VALUE_NONE || path.kind == VALUE_ABSENT ? value : value_item(r, value, path);
	for (const char *at = path.bytes, *end = at + path.count; ; at++) {
		const char *dot = memchr(at, '.', (size_t)(end - at));
		size_t count = (size_t)((dot ? dot : end) - at);
		int64_t number = 0;
		bool digits = count > 0 && count < 18;
		for (size_t i = 0; i < count && digits; i++) {
			digits = at[i] >= '0' && at[i] <= '9';
			number = number * 10 + at[i] - '0';
		}
		value = value_item(r, value, digits ? value_int(number) : value_string_of(at, count));
		if (!dot)
			return value;
		at = dot;
	}
}

size_t value_length(struct renderer *r, struct value value)
{
	if (value.kind == VALUE_UNDEFINED)
		undefined_use(r, value);
	else if (value.kind < VALUE_STRING || value.kind > VALUE_RANGE || (value.kind == VALUE_LIST && value.view == VIEW_LAZY))
		render_fail(r, "a %s has no length", value_type(value));
	return value_count(value);
}

static bool bound(struct renderer *r, struct value value, int64_t *out)
{
	if (value.kind == VALUE_NONE || value.kind == VALUE_ABSENT)
		return false;
	if (!value_is_integer(value))
		render_fail(r, "a slice is bounded by integers, not by a %s", value_type(value));
	*out = value_integer(value);
	return true;
}

/* `least` and `most` are the places an end may have: one before the first for steps down. */
static int64_t clamp(int64_t i, int64_t count, int64_t least, int64_t most)
{
	if (i < 0)
		i += count;
	return i < least ? least : i > most ? most : i;
}

struct value value_slice(struct renderer *r, struct value of, struct value from, struct value to, struct value by)
{
	int64_t start, stop, step = 1, count = (int64_t)value_count(of), least = 0, most = count;
	if (of.kind == VALUE_UNDEFINED)
		undefined_fail(r, of);
	if (!is_plain_sequence(of) && of.kind != VALUE_RANGE)
		return undefined_hint(r, "a %s cannot be sliced", value_type(of));
	if (bound(r, by, &step) && !step)
		render_fail(r, "a slice cannot step by zero");
	if (step < 0) {
		least = -1;
		most = count - 1;
	}
	start = bound(r, from, &start) ? clamp(start, count, least, most) : step < 0 ? most : least;
	stop = bound(r, to, &stop) ? clamp(stop, count, least, most) : step < 0 ? least : most;
	size_t taken = step > 0 ? start < stop ? (size_t)((stop - start - 1) / step + 1) : 0
		: stop < start ? (size_t)((uint64_t)(start - stop - 1) / -(uint64_t)step + 1) : 0;
	if (of.kind == VALUE_RANGE) {
		struct range *range = new(r->arena, struct range);
		*range = (struct range){ of.range->start + start * of.range->step, of.range->start + stop * of.range->step,
			taken > 1 ? of.range->step * step : of.range->step, taken };
		return (struct value){ .kind = VALUE_RANGE, .range = range };
	}
	if (of.kind == VALUE_STRING && step == 1) {
		size_t a = text_offset(of.bytes, of.count, (size_t)start);
		return value_string_of(of.bytes + a, taken ? text_offset(of.bytes + a, of.count - a, taken) : 0);
	}
	struct list *list = list_new(r->arena, taken);
	for (size_t i = 0; i < taken; i++, start += i < taken ? step : 0) {
		struct value out = { 0 };
		item(r, of, value_int(start), &out);
		list_add(list, out);
	}
	if (of.kind != VALUE_STRING)
		return (struct value){ .kind = of.kind, .list = list };
	size_t mark;
	capture_begin(r, &mark);
	for (size_t i = 0; i < list->count; i++)
		print_value(r, list->at[i], r->out);
	return capture_end(r, mark);
}

/* ---- going through ---- */
struct iterator iterate(struct renderer *r, struct value value)
{
	if (value.kind == VALUE_UNDEFINED) {
		undefined_use(r, value);
		return (struct iterator){ .of = value };
	}
	if (value.kind < VALUE_STRING || value.kind > VALUE_RANGE)
		render_fail(r, "a %s is not iterable", value_type(value));
	if (value.kind == VALUE_LIST && value.view == VIEW_LAZY) {
		struct list *taken = new(r->arena, struct list);
		*taken = *value.list;
		value.list->count = 0;
		return (struct iterator){ .of = list_value(taken, VIEW_LIST) };
	}
	return (struct iterator){ .of = value };
}

bool iterate_next(struct renderer *r, struct iterator *items, struct value *out)
{
	size_t i = items->i;
	if (++r->rounds > r->environment->settings.loop_limit)
		render_limit(r, "more than %zu rounds of loops", r->environment->settings.loop_limit);
	switch (items->of.kind) {
	case VALUE_LIST:
	case VALUE_TUPLE:
		if (i >= items->of.list->count)
			return false;
		*out = items->of.list->at[items->i++];
		return true;
	case VALUE_RANGE:
		if (i >= items->of.range->count)
			return false;
		*out = value_int(items->of.range->start + (int64_t)items->i++ * items->of.range->step);
		return true;
	case VALUE_DICT:
		if (i >= items->of.dict->count)
			return false;
		*out = items->of.dict->at[items->i++].key;
		return true;
	case VALUE_STRING: {
		if (i >= items->of.count)
			return false;
		const char *at = items->of.bytes + i, *next = at;
		text_decode(&next, items->of.bytes + items->of.count);
		*out = value_string_of(at, (size_t)(next - at));
		items->i += (size_t)(next - at);
		return true;
	}
	default:
		return false;
	}
}

struct list *list_of(struct renderer *r, struct value value)
{
	struct iterator items = iterate(r, value);
	struct list *list = list_new(r->arena, 0);
	for (struct value item; iterate_next(r, &items, &item);)
		list_add(list, item);
	return list;
}

/* ---- nodes ---- */
static bool compare_one(struct renderer *r, enum compare op, struct value a, struct value b)
{
	switch (op) {
	case COMPARE_EQ:     return value_equal(r, a, b);
	case COMPARE_NE:     return !value_equal(r, a, b);
	case COMPARE_LT:     return value_less(r, a, b, "<", false);
	case COMPARE_LE:     return value_less(r, a, b, "<=", true);
	case COMPARE_GT:     return value_less(r, b, a, ">", false);
	case COMPARE_GE:     return value_less(r, b, a, ">=", true);
	case COMPARE_IN:     return value_in(r, a, b);
	case COMPARE_NOT_IN: return !value_in(r, a, b);
	}
	return false;
}

static struct value compare(struct renderer *r, const struct node *node)
{
	struct value left = evaluate(r, node->a);
	bool truth = true;
	for (size_t i = 0; truth && i < node->list.count; i++) {
		const struct node *operand = node->list.at[i];
		struct value right = evaluate(r, operand->a);
		r->place = operand;
		truth = compare_one(r, operand->op, left, right);
		left = right;
	}
	return value_bool(truth);
}

static struct value concat(struct renderer *r, const struct node *node)
{
	struct value few[8], *parts = node->list.count <= COUNT(few) ? few : new_array(r->arena, struct value, node->list.count);
	size_t mark;
	for (size_t i = 0; i < node->list.count; i++)
		parts[i] = evaluate(r, node->list.at[i]);
	r->place = node;
	capture_begin(r, &mark);
	for (size_t i = 0; i < node->list.count; i++)
		print_value(r, parts[i], r->out);
	return capture_end(r, mark);
}

static struct value make_list(struct renderer *r, const struct node *node)
{
	struct list *list = list_new(r->arena, node->list.count);
	for (size_t i = 0; i < node->list.count; i++)
		list_add(list, evaluate(r, node->list.at[i]));
	return (struct value){ .kind = node->kind == NODE_LIST ? VALUE_LIST : VALUE_TUPLE, .list = list };
}

static struct value make_dict(struct renderer *r, const struct node *node)
{
	struct value dict = value_dict(r->arena);
	for (size_t i = 0; i < node->list.count; i += 2) {
		struct value key = evaluate(r, node->list.at[i]), value = evaluate(r, node->list.at[i + 1]);
		r->place = node->list.at[i];
		dict_set(dict.dict, key, value_hash_or_fail(r, key), value);
	}
	return dict;
}

static struct value get_item(struct renderer *r, const struct node *node)
{
	struct value of = evaluate(r, node->a);
	if (node->b->kind == NODE_SLICE) {
		const struct node *parts[] = { node->b->a, node->b->b, node->b->c };
		struct value values[3];
		for (int i = 0; i < 3; i++)
			values[i] = parts[i] ? evaluate(r, parts[i]) : value_none();
		r->place = node;
		return value_slice(r, of, values[0], values[1], values[2]);
	}
	struct value key = evaluate(r, node->b);
	r->place = node;
	return value_item(r, of, key);
}

static struct value evaluate_deep(struct renderer *r, const struct node *node)
{
	struct value a, b;
	switch ((enum node_kind)node->kind) {
	case NODE_ATTRIBUTE:
		a = evaluate(r, node->a);
		r->place = a.kind == VALUE_UNDEFINED ? node->a : node;
		return value_attribute(r, a, node->name, node->value.count, node->hash);
	case NODE_ITEM:
		return get_item(r, node);
	case NODE_CALL:
		return evaluate_call(r, node, NULL);
	case NODE_FILTER:
		return evaluate_builtin(r, node, evaluate(r, node->a), "filter");
	case NODE_TEST:
		return evaluate_builtin(r, node, evaluate(r, node->a), "test");
	case NODE_NOT:
		a = evaluate(r, node->a);
		r->place = node;
		return value_bool(!value_truth(r, a));
	case NODE_NEGATIVE:
	case NODE_POSITIVE:
		a = evaluate(r, node->a);
		r->place = node;
		return negative(r, a, node->kind == NODE_POSITIVE);
	case NODE_AND:
	case NODE_OR:
		a = evaluate(r, node->a);
		r->place = node->a;
		return value_truth(r, a) == (node->kind == NODE_AND) ? evaluate(r, node->b) : a;
	case NODE_COMPARE:
		return compare(r, node);
	case NODE_CONCAT:
		return concat(r, node);
	case NODE_LIST:
	case NODE_TUPLE:
		return make_list(r, node);
	case NODE_DICT:
		return make_dict(r, node);
	case NODE_CONDITION:
		a = evaluate(r, node->a);
		r->place = node->a;
		if (value_truth(r, a))
			return evaluate(r, node->b);
		return node->c ? evaluate(r, node->c) : undefined_hint(r, "the inline if is false and has no else");
	case NODE_SLICE:
		render_fail(r, "a slice stands alone between its brackets");
	default:
		a = evaluate(r, node->a);
		b = evaluate(r, node->b);
		r->place = a.kind == VALUE_UNDEFINED ? node->a : b.kind == VALUE_UNDEFINED ? node->b : node;
		return value_arithmetic(r, node->kind, a, b);
	}
}

struct value evaluate(struct renderer *r, const struct node *node)
{
	if (node->kind == NODE_CONST)
		return node->value;
	r->place = node;
	if (node->kind == NODE_NAME)
		return name_value(r, node);
	enter(r);
	struct value value = evaluate_deep(r, node);
	r->depth--;
	return value;
}
