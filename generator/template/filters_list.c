/* filters_list.c: filters on lists, dicts and whatever else can be gone through. */
#include "template/engine.h"

#define FILTER(name) static struct value filter_##name(struct template_call *call)

static bool given(struct template_call *call, size_t i)
{
	return call->at[i].kind != VALUE_ABSENT && call->at[i].kind != VALUE_NONE;
}

/* As sort and its kin compare: strings in lower case unless case matters. */
static struct value folded(struct template_call *call, struct value value, bool case_sensitive)
{
	return value.kind == VALUE_STRING && !case_sensitive ? string_case(call->renderer, value, CASE_LOWER) : value;
}

/* ---- whole and parts ---- */
FILTER(length) { return value_int((int64_t)value_length(call->renderer, call->at[0])); }
FILTER(list) { return list_value(list_of(call->renderer, call->at[0]), VIEW_LIST); }

FILTER(first)
{
	struct renderer *r = call->renderer;
	struct value item;
	if (call->at[0].kind == VALUE_LIST && call->at[0].view == VIEW_LAZY && call->at[0].list->count) {
		struct list *list = call->at[0].list;
		item = list->at[0];
		memmove(list->at, list->at + 1, --list->count * sizeof item);
		return item;
	}
	struct iterator items = iterate(r, call->at[0]);
	return iterate_next(r, &items, &item) ? item : undefined_hint(r, "no first item: the sequence is empty");
}

FILTER(last)
{
	struct renderer *r = call->renderer;
	if (call->at[0].kind == VALUE_LIST && call->at[0].view == VIEW_LAZY)
		call_fail(call,
		        "last: what select, map and their kin give is taken from the front only; `| list | last` "
		        "works");
	struct list *list = list_of(r, call->at[0]);
	return list->count ? list->at[list->count - 1] : undefined_hint(r, "no last item: the sequence is empty");
}

FILTER(reverse)
{
	struct renderer *r = call->renderer;
	if (call->at[0].kind == VALUE_STRING)
		return value_slice(r, call->at[0], value_none(), value_none(), value_int(-1));
	if (call->at[0].kind == VALUE_UNDEFINED)
		undefined_use(r, call->at[0]);
	struct list *list = list_of(r, call->at[0]);
	FOR (i, list->count / 2) {
		struct value swap = list->at[i];
		list->at[i] = list->at[list->count - 1 - i];
		list->at[list->count - 1 - i] = swap;
	}
	bool lazy = call->at[0].kind == VALUE_LIST && call->at[0].view == VIEW_LAZY;
	return list_value(list, lazy || call->at[0].kind == VALUE_UNDEFINED ? VIEW_LIST : VIEW_LAZY);
}

FILTER(items)
{
	if (call->at[0].kind == VALUE_UNDEFINED)
		return list_value(list_new(call->arena, 0), VIEW_LAZY);
	if (call->at[0].kind != VALUE_DICT)
		call_fail(call, "items: a dict is expected, not %s", value_a(call->at[0]));
	const struct dict *dict = call->at[0].dict;
	struct list *list = list_new(call->arena, dict->count);
	FOR (i, dict->count)
		list_add(list, value_tuple(call->arena, (struct value[]){ dict->at[i].key, dict->at[i].value }, 2));
	return list_value(list, VIEW_LAZY);
}

FILTER(batch)
{
	struct renderer *r = call->renderer;
	struct list *batches = list_new(call->arena, 0), *row = NULL;
	struct iterator items = iterate(r, call->at[0]);
	int64_t count = call_int(call, 1, 0);
	for (struct value item; iterate_next(r, &items, &item); list_add(row, item)) {
		if (!row && !count) /* Python's batches of 0 begin with an empty one */
			list_add(batches, list_value(list_new(call->arena, 0), VIEW_LIST));
		if (!row || (int64_t)row->count == count) {
			row = list_new(call->arena, 0);
			list_add(batches, list_value(row, VIEW_LIST));
		}
	}
	if (row && given(call, 2) && count > (int64_t)r->environment->settings.loop_limit)
		render_limit(r, "batch: rows of %lld", (long long)count);
	while (row && given(call, 2) && (int64_t)row->count < count)
		list_add(row, call->at[2]);
	return list_value(batches, VIEW_LAZY);
}

FILTER(slice)
{
	struct renderer *r = call->renderer;
	int64_t slices = call_int(call, 1, 0);
	if (slices == 0)
		call_fail(call, "slice: into no slices");
	if (slices > (int64_t)r->environment->settings.loop_limit)
		render_limit(r, "slice: into %lld slices", (long long)slices);
	struct list *all = list_of(r, call->at[0]), *out = list_new(call->arena, 0);
	size_t at = 0, each = slices > 0 ? all->count / (size_t)slices : 0,
	       extra = slices > 0 ? all->count % (size_t)slices : 0;
	FOR (i, slices) {
		size_t count = each + ((size_t)i < extra);
		struct list *part = list_new(call->arena, 0);
		FOR (k, count)
			list_add(part, all->at[at++]);
		if (given(call, 2) && (size_t)i >= extra)
			list_add(part, call->at[2]);
		list_add(out, list_value(part, VIEW_LIST));
	}
	return list_value(out, VIEW_LAZY);
}

FILTER(join)
{
	struct renderer *r = call->renderer;
	struct value by = call->at[1].kind == VALUE_ABSENT ? value_string("") : value_to_string(r, call->at[1]);
	struct iterator items = iterate(r, call->at[0]);
	bool any = false;
	size_t mark;
	capture_begin(r, &mark);
	for (struct value item; iterate_next(r, &items, &item); any = true) {
		if (any)
			text_add(r->out, by.bytes, by.count);
		print_value(r, given(call, 2) ? value_path(r, item, call->at[2]) : item, r->out);
	}
	return capture_end(r, mark);
}

/* ---- order ---- */
/* Merge sort of numbers of items: stable, and a failing comparison leaves no harm. */
static void merge_sort(
        struct renderer *r, const struct value *keys, uint32_t *at, uint32_t *spare, size_t count, bool reverse)
{
	if (count < 2)
		return;
	size_t half = count / 2, i = 0, j = half;
	merge_sort(r, keys, at, spare, half, reverse);
	merge_sort(r, keys, at + half, spare, count - half, reverse);
	FOR (n, count) {
		bool second = j < count
		        && (i == half
		                || (reverse ? value_less(r, keys[at[i]], keys[at[j]], "<", false)
		                            : value_less(r, keys[at[j]], keys[at[i]], "<", false)));
		spare[n] = second ? at[j++] : at[i++];
	}
	memcpy(at, spare, count * sizeof *at);
}

void list_sort_by(struct renderer *r, struct list *list, struct list *keys, bool reverse)
{
	size_t count = list->count;
	uint32_t *order = arena_new_array(r->arena, uint32_t, count),
	         *spare = arena_new_array(r->arena, uint32_t, count);
	struct value *sorted = arena_new_array(r->arena, struct value, count);
	FOR (i, count)
		order[i] = (uint32_t)i;
	merge_sort(r, keys->at, order, spare, count, reverse);
	FOR (i, count)
		sorted[i] = list->at[order[i]];
	if (count)
		memcpy(list->at, sorted, count * sizeof *sorted);
}

/* Keys by "a,b.c": a list of the members of each item. */
static struct list *sort_keys(
        struct template_call *call, const struct list *list, struct value path, bool case_sensitive)
{
	struct list *keys = list_new(call->arena, list->count);
	FOR (i, list->count) {
		if (path.kind != VALUE_STRING || !memchr(path.bytes, ',', path.count)) {
			list_add(keys, folded(call, value_path(call->renderer, list->at[i], path), case_sensitive));
			continue;
		}
		struct list *parts = list_new(call->arena, 4);
		for (const char *at = path.bytes, *end = at + path.count, *comma; at <= end; at = comma + 1) {
			comma = memchr(at, ',', (size_t)(end - at));
			comma = comma ? comma : end;
			struct value part =
			        value_path(call->renderer, list->at[i], value_string_of(at, (size_t)(comma - at)));
			list_add(parts, folded(call, part, case_sensitive));
		}
		list_add(keys, list_value(parts, VIEW_LIST));
	}
	return keys;
}

FILTER(sort)
{
	struct list *list = list_of(call->renderer, call->at[0]);
	list_sort_by(call->renderer, list, sort_keys(call, list, call->at[3], call_bool(call, 2, false)),
	        call_bool(call, 1, false));
	return list_value(list, VIEW_LIST);
}

FILTER(dictsort)
{
	if (call->at[0].kind == VALUE_UNDEFINED)
		undefined_fail(call->renderer, call->at[0]);
	if (call->at[0].kind != VALUE_DICT)
		call_fail(call, "dictsort: a dict is expected, not %s", value_a(call->at[0]));
	const struct dict *dict = call->at[0].dict;
	const char *by = call_string(call, 2, "key");
	bool case_sensitive = call_bool(call, 1, false);
	if (strcmp(by, "key") && strcmp(by, "value"))
		call_fail(call, "dictsort: by key or by value");
	struct list *list = list_new(call->arena, dict->count), *keys = list_new(call->arena, dict->count);
	FOR (i, dict->count) {
		list_add(list, value_tuple(call->arena, (struct value[]){ dict->at[i].key, dict->at[i].value }, 2));
		list_add(keys, folded(call, *by == 'k' ? dict->at[i].key : dict->at[i].value, case_sensitive));
	}
	list_sort_by(call->renderer, list, keys, call_bool(call, 3, false));
	return list_value(list, VIEW_LIST);
}

static struct value extreme(struct template_call *call, bool most)
{
	struct renderer *r = call->renderer;
	struct iterator items = iterate(r, call->at[0]);
	struct value item, best, key, best_key;
	bool case_sensitive = call_bool(call, 1, false), any = false;
	while (iterate_next(r, &items, &item)) {
		key = folded(call, value_path(r, item, call->at[2]), case_sensitive);
		if (!any
		        || (most ? value_less(r, best_key, key, ">", false)
		                 : value_less(r, key, best_key, "<", false))) {
			best = item;
			best_key = key;
		}
		any = true;
	}
	return any ? best : undefined_hint(r, "no %s item: the sequence is empty", most ? "largest" : "smallest");
}
FILTER(min) { return extreme(call, false); }
FILTER(max) { return extreme(call, true); }

FILTER(unique)
{
	struct renderer *r = call->renderer;
	struct iterator items = iterate(r, call->at[0]);
	struct dict *seen = value_dict(call->arena).dict;
	struct list *list = list_new(call->arena, 0);
	bool case_sensitive = call_bool(call, 1, false);
	for (struct value item; iterate_next(r, &items, &item);) {
		struct value key = folded(call, value_path(r, item, call->at[2]), case_sensitive);
		uint32_t hash = value_hash_or_fail(r, key);
		if (dict_find(seen, key, hash))
			continue;
		dict_set(seen, key, hash, value_none());
		list_add(list, item);
	}
	return list_value(list, VIEW_LAZY);
}

FILTER(groupby)
{
	struct renderer *r = call->renderer;
	struct list *list = list_of(r, call->at[0]), *keys = list_new(call->arena, list->count),
	            *groups = list_new(call->arena, 0);
	struct list *plain = list_new(call->arena, list->count), *order = list_new(call->arena, list->count),
	            *group = NULL;
	bool case_sensitive = call_bool(call, 3, false);
	FOR (i, list->count) {
		struct value key = value_path(r, list->at[i], call->at[1]);
		if (key.kind == VALUE_UNDEFINED && given(call, 2))
			key = call->at[2];
		list_add(plain, key);
		list_add(keys, folded(call, key, case_sensitive));
		list_add(order, value_int((int64_t)i));
	}
	list_sort_by(r, order, keys, false);
	struct value last = { 0 };
	FOR (n, order->count) {
		size_t i = (size_t)order->at[n].integer;
		if (!group || !value_equal(r, keys->at[i], last)) {
			group = list_new(call->arena, 0);
			struct value pair = value_tuple(
			        call->arena, (struct value[]){ plain->at[i], list_value(group, VIEW_LIST) }, 2);
			pair.view = VIEW_GROUP;
			list_add(groups, pair);
			last = keys->at[i];
		}
		list_add(group, list->at[i]);
	}
	return list_value(groups, VIEW_LIST);
}

FILTER(sum)
{
	struct renderer *r = call->renderer;
	struct iterator items = iterate(r, call->at[0]);
	struct value total = call->at[2].kind == VALUE_ABSENT ? value_int(0) : call->at[2];
	if (total.kind == VALUE_STRING)
		call_fail(call, "sum: strings are joined, not summed");
	for (struct value item; iterate_next(r, &items, &item);)
		total = value_arithmetic(r, NODE_ADD, total, given(call, 1) ? value_path(r, item, call->at[1]) : item);
	return total;
}

FILTER(random)
{
	(void)call;
	call_fail(call, "random: generated code is the same each time");
}

/* ---- each item ---- */
static bool is_empty(struct template_call *call) { return !value_truth(call->renderer, call->at[0]); }

/* Calls the filter or test named by the argument with number `i` on an item; the arguments behind it go along. */
static struct value apply(
        struct template_call *call, size_t i, const struct dict *known, const char *what, struct value item)
{
	struct value name = call->at[i];
	if (name.kind != VALUE_STRING)
		call_fail(call, "%s: the name of a %s is expected, not %s", call->name, what, value_a(name));
	const struct builtin *builtin = builtin_find(known, name.bytes, name.count);
	if (!builtin)
		call_fail(call, "%s: there is no %s named '%.*s'", call->name, what,
		        (int)(name.count > 100 ? 100 : name.count), name.bytes);
	return call_builtin(call->renderer, builtin, item, call->at + i + 1, call->count - i - 1, call->named,
	        call->named_count, what);
}

FILTER(map)
{
	struct renderer *r = call->renderer;
	struct list *list = list_new(call->arena, 0);
	struct value path = { 0 }, other = { 0 };
	if (is_empty(call))
		return list_value(list, VIEW_LAZY);
	for (size_t i = 0; i < call->named_count && call->count == 1; i++)
		if (value_text_is(call->named[i].name, "attribute"))
			path = call->named[i].value;
		else if (value_text_is(call->named[i].name, "default"))
			other = call->named[i].value;
		else
			call_fail(call, "map: has no argument named %.*s", (int)call->named[i].name.count,
			        call->named[i].name.bytes);
	if (call->count == 1 && path.kind == VALUE_ABSENT)
		call_fail(call, "map: the name of a filter is missing");
	struct iterator items = iterate(r, call->at[0]);
	for (struct value item; iterate_next(r, &items, &item);) {
		if (call->count > 1)
			item = apply(call, 1, r->environment->filters, "filter", item);
		else {
			item = value_path(r, item, path);
			if (item.kind == VALUE_UNDEFINED && other.kind != VALUE_ABSENT && other.kind != VALUE_NONE)
				item = other;
		}
		list_add(list, item);
	}
	return list_value(list, VIEW_LAZY);
}

static struct value choose(struct template_call *call, bool member, bool wanted)
{
	struct renderer *r = call->renderer;
	struct list *list = list_new(call->arena, 0);
	size_t test = member ? 2 : 1;
	if (is_empty(call))
		return list_value(list, VIEW_LAZY);
	if (member && call->count < 2)
		call_fail(call, "%s: the name of a member is missing", call->name);
	struct iterator items = iterate(r, call->at[0]);
	for (struct value item; iterate_next(r, &items, &item);) {
		struct value looked = member ? value_path(r, item, call->at[1]) : item;
		if (call->count > test)
			looked = apply(call, test, r->environment->tests, "test", looked);
		if (value_truth(r, looked) == wanted)
			list_add(list, item);
	}
	return list_value(list, VIEW_LAZY);
}
FILTER(select) { return choose(call, false, true); }
FILTER(reject) { return choose(call, false, false); }
FILTER(selectattr) { return choose(call, true, true); }
FILTER(rejectattr) { return choose(call, true, false); }

FILTER(attr)
{
	struct value of = call->at[0], name = call->at[1];
	if (name.kind != VALUE_STRING)
		call_fail(call, "attr: a name is expected, not %s", value_a(name));
	return value_getattr(call->renderer, of, name);
}

const struct builtin filters_list[] = {
	{ "attr", "obj name", filter_attr, NULL },
	{ "batch", "value linecount fill_with?", filter_batch, NULL },
	{ "count", "value", filter_length, NULL },
	{ "dictsort", "value case_sensitive? by? reverse?", filter_dictsort, NULL },
	{ "first", "seq", filter_first, NULL },
	{ "groupby", "value attribute default? case_sensitive?", filter_groupby, NULL },
	{ "items", "value", filter_items, NULL },
	{ "join", "value d? attribute?", filter_join, NULL },
	{ "last", "seq", filter_last, NULL },
	{ "length", "value", filter_length, NULL },
	{ "list", "value", filter_list, NULL },
	{ "map", "value * **", filter_map, NULL },
	{ "max", "value case_sensitive? attribute?", filter_max, NULL },
	{ "min", "value case_sensitive? attribute?", filter_min, NULL },
	{ "random", "seq", filter_random, NULL },
	{ "reject", "value * **", filter_reject, NULL },
	{ "rejectattr", "value * **", filter_rejectattr, NULL },
	{ "reverse", "value", filter_reverse, NULL },
	{ "select", "value * **", filter_select, NULL },
	{ "selectattr", "value * **", filter_selectattr, NULL },
	{ "slice", "value slices fill_with?", filter_slice, NULL },
	{ "sort", "value reverse? case_sensitive? attribute?", filter_sort, NULL },
	{ "sum", "iterable attribute? start?", filter_sum, NULL },
	{ "tojson", "value indent?", filter_tojson, NULL },
	{ "unique", "value case_sensitive? attribute?", filter_unique, NULL },
	{ 0 },
};
