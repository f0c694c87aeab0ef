/* evaluate.c: expressions -> values; members, slices and what can be gone through. */
#include "template/engine.h"
#include <stdio.h>

/* ---- members ---- */
static bool macro_attribute(struct renderer *r, const struct node *macro, const char *name, struct value *out)
{
	static const struct {
		const char *name;
		uint8_t flag;
	} flags[] = { { "caller", FLAG_CALLER }, { "catch_kwargs", FLAG_KWARGS }, { "catch_varargs", FLAG_VARARGS } };
	FOR (i, COUNT(flags))
		if (!strcmp(name, flags[i].name)) {
			*out = value_bool(macro->flags & flags[i].flag);
			return true;
		}
	if (!strcmp(name, "name")) {
		*out = macro->name == r->environment->words.caller ? value_none() : value_string(macro->name);
		return true;
	}
	if (strcmp(name, "arguments"))
		return false;
	struct list *list = list_new(r->arena, macro->list.count);
	FOR_ALL (i, macro->list)
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
		struct template_call call = { .environment = r->environment,
			.build = r->build,
			.arena = r->arena,
			.user = of.object->user,
			.name = of.object->class->name,
			.renderer = r };
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
		FOR (i, 3)
			if (!strcmp(name, i == 0 ? "start" : i == 1 ? "stop" : "step")) {
				*out = value_int(i == 0 ? of.range->start : i == 1 ? of.range->stop : of.range->step);
				return true;
			}
	return false;
}

struct value value_attribute(struct renderer *r, struct value of, const char *name, size_t count, uint32_t hash)
{
	struct value out, *found;
	if (of.kind == VALUE_DICT && (found = dict_find_string(of.dict, name, count, hash))
	        && !method_find(of, name, count))
		return *found;
	if (of.kind == VALUE_UNDEFINED)
		undefined_fail(r, of);
	if (attribute(r, of, name, count, &out))
		return out;
	return undefined_member(r, of, name, count);
}

struct value value_getattr(struct renderer *r, struct value of, struct value name)
{
	struct value out;
	name = value_copy(r->arena, name.bytes, name.count); /* ends in a 0 */
	if (of.kind == VALUE_UNDEFINED)
		undefined_fail(r, of);
	return attribute(r, of, name.bytes, name.count, &out) ? out : undefined_member(r, of, name.bytes, name.count);
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
	if (!value_is_integer(key) || !(of.kind == VALUE_RANGE || value_is_sequence(of)))
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
	if (item(r, of, key, &out)
	        || (key.kind == VALUE_STRING
	                && attribute(r, of, value_copy(r->arena, key.bytes, key.count).bytes, key.count, &out)))
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
	for (const char *at = path.bytes, *end = at + path.count;; at++) {
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
	else if (value.kind == VALUE_OBJECT && value.object->class == &class_loop)
		return loop_length(r, value.object->user);
	else if (value.kind < VALUE_STRING || value.kind > VALUE_RANGE
	        || (value.kind == VALUE_LIST && value.view == VIEW_LAZY))
		render_fail(r, "%s has no length", value_a(value));
	return value_count(value);
}

static bool bound(struct renderer *r, struct value value, int64_t *out)
{
	if (value.kind == VALUE_NONE || value.kind == VALUE_ABSENT)
		return false;
	if (!value_is_integer(value))
		render_fail(r, "a slice is bounded by integers, not by %s", value_a(value));
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
	if (!value_is_sequence(of) && of.kind != VALUE_RANGE)
		render_fail(r, "%s cannot be sliced", value_a(of));
	if (bound(r, by, &step) && !step)
		render_fail(r, "a slice cannot step by zero");
	if (step < 0) {
		least = -1;
		most = count - 1;
	}
	start = bound(r, from, &start) ? clamp(start, count, least, most) : step < 0 ? most : least;
	stop = bound(r, to, &stop) ? clamp(stop, count, least, most) : step < 0 ? least : most;
	size_t taken = step > 0 ? start < stop ? (size_t)((stop - start - 1) / step + 1) : 0
	        : stop < start  ? (size_t)((uint64_t)(start - stop - 1) / -(uint64_t)step + 1)
	                        : 0;
	if (of.kind == VALUE_RANGE) {
		struct range *range = arena_new(r->arena, struct range);
		*range = (struct range){ of.range->start + start * of.range->step,
			of.range->start + stop * of.range->step, taken > 1 ? of.range->step * step : of.range->step,
			taken };
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
	FOR (i, list->count)
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
		render_fail(r, "%s is not iterable", value_a(value));
	if (value.kind == VALUE_LIST && value.view == VIEW_LAZY) {
		struct list *taken = arena_new(r->arena, struct list);
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
	default: return false;
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
	case COMPARE_EQ: return value_equal(r, a, b);
	case COMPARE_NE: return !value_equal(r, a, b);
	case COMPARE_LT: return value_less(r, a, b, "<", false);
	case COMPARE_LE: return value_less(r, a, b, "<=", true);
	case COMPARE_GT: return value_less(r, b, a, ">", false);
	case COMPARE_GE: return value_less(r, b, a, ">=", true);
	case COMPARE_IN: return value_in(r, a, b);
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
	struct value few[8],
	        *parts = node->list.count <= COUNT(few) ? few
	                                                : arena_new_array(r->arena, struct value, node->list.count);
	size_t mark;
	FOR_ALL (i, node->list)
		parts[i] = evaluate(r, node->list.at[i]);
	r->place = node;
	capture_begin(r, &mark);
	FOR_ALL (i, node->list)
		print_value(r, parts[i], r->out);
	return capture_end(r, mark);
}

static struct value make_list(struct renderer *r, const struct node *node)
{
	struct list *list = list_new(r->arena, node->list.count);
	FOR_ALL (i, node->list)
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
		FOR (i, 3)
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
	case NODE_ITEM: return get_item(r, node);
	case NODE_CALL: return evaluate_call(r, node, NULL);
	case NODE_FILTER: return evaluate_builtin(r, node, evaluate(r, node->a), "filter");
	case NODE_TEST: return evaluate_builtin(r, node, evaluate(r, node->a), "test");
	case NODE_NOT:
		a = evaluate(r, node->a);
		r->place = node;
		return value_bool(!value_truth(r, a));
	case NODE_NEGATIVE:
	case NODE_POSITIVE:
		a = evaluate(r, node->a);
		r->place = node;
		return value_sign(r, a, node->kind == NODE_POSITIVE);
	case NODE_AND:
	case NODE_OR:
		a = evaluate(r, node->a);
		r->place = node->a;
		return value_truth(r, a) == (node->kind == NODE_AND) ? evaluate(r, node->b) : a;
	case NODE_COMPARE: return compare(r, node);
	case NODE_CONCAT: return concat(r, node);
	case NODE_LIST:
	case NODE_TUPLE: return make_list(r, node);
	case NODE_DICT: return make_dict(r, node);
	case NODE_CONDITION:
		a = evaluate(r, node->a);
		r->place = node->a;
		if (value_truth(r, a))
			return evaluate(r, node->b);
		if (node->c)
			return evaluate(r, node->c);
		a = undefined_hint(r, "the inline if is false and has no else");
		((struct missing *)a.missing)->lenient = true;
		return a;
	case NODE_SLICE: render_fail(r, "a slice stands alone between its brackets");
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
	render_deeper(r);
	struct value value = evaluate_deep(r, node);
	r->depth--;
	return value;
}
