/* methods.c: the methods of lists, tuples and dicts, and how the methods of all types are found. */
#include "template/engine.h"

/* ---- lists ---- */
static struct list *own_list(struct template_call *call) { return call->at[0].list; }

static struct value list_append(struct template_call *call)
{
	list_add(own_list(call), call->at[1]);
	return value_none();
}

static struct value list_extend(struct template_call *call)
{
	struct list *more = list_of(call->renderer, call->at[1]);
	FOR (i, more->count)
		list_add(own_list(call), more->at[i]);
	return value_none();
}

static struct value list_insert(struct template_call *call)
{
	struct list *list = own_list(call);
	int64_t i = call_int(call, 1, 0), count = (int64_t)list->count;
	i = i < 0 ? i + count < 0 ? 0 : i + count : i > count ? count : i;
	list_add(list, value_none());
	memmove(list->at + i + 1, list->at + i, (size_t)(count - i) * sizeof *list->at);
	list->at[i] = call->at[2];
	return value_none();
}

static struct value take(struct list *list, size_t i)
{
	struct value item = list->at[i];
	memmove(list->at + i, list->at + i + 1, (list->count - i - 1) * sizeof *list->at);
	list->count--;
	return item;
}

static struct value list_pop(struct template_call *call)
{
	struct list *list = own_list(call);
	int64_t i = call_int(call, 1, -1);
	i += i < 0 ? (int64_t)list->count : 0;
	if (i < 0 || i >= (int64_t)list->count)
		call_fail(call, "pop: the list has no item there");
	return take(list, (size_t)i);
}

static size_t position(struct template_call *call)
{
	size_t i = 0;
	while (i < own_list(call)->count && !value_identical(own_list(call)->at[i], call->at[1])
	        && !value_equal(call->renderer, own_list(call)->at[i], call->at[1]))
		i++;
	return i;
}

static struct value list_index(struct template_call *call)
{
	size_t i = position(call);
	if (i == own_list(call)->count)
		call_fail(call, "%s: the item is not in the list", call->name);
	return value_int((int64_t)i);
}

static struct value list_remove(struct template_call *call)
{
	take(own_list(call), (size_t)list_index(call).integer);
	return value_none();
}

static struct value list_count(struct template_call *call)
{
	int64_t n = 0;
	FOR (i, own_list(call)->count)
		n += value_identical(own_list(call)->at[i], call->at[1])
		        || value_equal(call->renderer, own_list(call)->at[i], call->at[1]);
	return value_int(n);
}

static struct value list_clear(struct template_call *call)
{
	own_list(call)->count = 0;
	return value_none();
}

static struct value list_copy(struct template_call *call)
{
	return list_value(list_of(call->renderer, call->at[0]), VIEW_LIST);
}

static struct value list_reverse(struct template_call *call)
{
	struct list *list = own_list(call);
	FOR (i, list->count / 2) {
		struct value swap = list->at[i];
		list->at[i] = list->at[list->count - 1 - i];
		list->at[list->count - 1 - i] = swap;
	}
	return value_none();
}

static struct value list_sort(struct template_call *call)
{
	list_sort_by(call->renderer, own_list(call), own_list(call), call_bool(call, 1, false));
	return value_none();
}

/* ---- dicts ---- */
static struct value dict_view(struct template_call *call, enum list_view view)
{
	const struct dict *dict = call->at[0].dict;
	struct list *list = list_new(call->arena, dict->count);
	FOR (i, dict->count)
		list_add(list,
		        view == VIEW_KEYS ? dict->at[i].key
		                : view == VIEW_VALUES
		                ? dict->at[i].value
		                : value_tuple(call->arena, (struct value[]){ dict->at[i].key, dict->at[i].value }, 2));
	return list_value(list, view);
}
static struct value dict_items(struct template_call *call) { return dict_view(call, VIEW_ITEMS); }
static struct value dict_keys(struct template_call *call) { return dict_view(call, VIEW_KEYS); }
static struct value dict_values(struct template_call *call) { return dict_view(call, VIEW_VALUES); }

static struct value dict_get(struct template_call *call)
{
	struct value *found = dict_find(call->at[0].dict, call->at[1], value_hash_or_fail(call->renderer, call->at[1]));
	return found ? *found : call->at[2].kind == VALUE_ABSENT ? value_none() : call->at[2];
}

static struct value dict_setdefault(struct template_call *call)
{
	uint32_t hash = value_hash_or_fail(call->renderer, call->at[1]);
	struct value *found = dict_find(call->at[0].dict, call->at[1], hash);
	if (found)
		return *found;
	struct value value = call->at[2].kind == VALUE_ABSENT ? value_none() : call->at[2];
	dict_set(call->at[0].dict, call->at[1], hash, value);
	return value;
}

static struct value dict_pop(struct template_call *call)
{
	struct dict *dict = call->at[0].dict;
	struct value *found = dict_find(dict, call->at[1], value_hash_or_fail(call->renderer, call->at[1])), value;
	if (!found && call->at[2].kind == VALUE_ABSENT)
		call_fail(call, "pop: the dict has no such key");
	if (!found)
		return call->at[2];
	value = *found;
	dict_remove(dict, (size_t)((struct entry *)(void *)((char *)found - offsetof(struct entry, value)) - dict->at));
	return value;
}

static struct value dict_popitem(struct template_call *call)
{
	struct dict *dict = call->at[0].dict;
	if (!dict->count)
		call_fail(call, "popitem: the dict is empty");
	struct value pair[2] = { dict->at[dict->count - 1].key, dict->at[dict->count - 1].value };
	dict_remove(dict, dict->count - 1);
	return value_tuple(call->arena, pair, 2);
}

static struct value dict_update(struct template_call *call)
{
	struct dict *dict = call->at[0].dict;
	const struct value from = call->at[1];
	if (from.kind == VALUE_DICT)
		FOR (i, from.dict->count)
			dict_set(dict, from.dict->at[i].key, from.dict->at[i].hash, from.dict->at[i].value);
	else if (from.kind != VALUE_ABSENT) {
		struct iterator items = iterate(call->renderer, from);
		for (struct value pair; iterate_next(call->renderer, &items, &pair);) {
			struct list *two = list_of(call->renderer, pair);
			if (two->count != 2)
				call_fail(call, "a dict is made of pairs, not of %zu", two->count);
			dict_set(dict, two->at[0], value_hash_or_fail(call->renderer, two->at[0]), two->at[1]);
		}
	}
	FOR (i, call->named_count)
		dict_set(dict, call->named[i].name, value_hash_or_fail(call->renderer, call->named[i].name),
		        call->named[i].value);
	return value_none();
}

static struct value dict_clear(struct template_call *call)
{
	struct dict *dict = call->at[0].dict;
	*dict = (struct dict){ .arena = dict->arena };
	return value_none();
}

static struct value dict_copy(struct template_call *call)
{
	struct dict *copy = value_dict(call->arena).dict;
	FOR (i, call->at[0].dict->count)
		dict_set(
		        copy, call->at[0].dict->at[i].key, call->at[0].dict->at[i].hash, call->at[0].dict->at[i].value);
	return dict_value(copy);
}

#define M(type, name, parameters) \
	{ \
#name, "self " parameters, type##_##name, NULL \
	}
static const struct builtin list_methods[] = {
	M(list, append, "item"),
	M(list, clear, ""),
	M(list, copy, ""),
	M(list, count, "item"),
	M(list, extend, "items"),
	M(list, index, "item"),
	M(list, insert, "i item"),
	M(list, pop, "i?"),
	M(list, remove, "item"),
	M(list, reverse, ""),
	M(list, sort, "reverse?"),
	{ 0 },
};
static const struct builtin tuple_methods[] = { M(list, count, "item"), M(list, index, "item"), { 0 } };
static const struct builtin dict_methods[] = {
	M(dict, clear, ""),
	M(dict, copy, ""),
	M(dict, get, "key default?"),
	M(dict, items, ""),
	M(dict, keys, ""),
	M(dict, pop, "key default?"),
	M(dict, popitem, ""),
	M(dict, setdefault, "key default?"),
	M(dict, update, "from? **"),
	M(dict, values, ""),
	{ 0 },
};

const struct builtin *method_find(struct value value, const char *name, size_t count)
{
	static const struct builtin *const types[] = {
		[VALUE_STRING] = string_methods,
		[VALUE_LIST] = list_methods,
		[VALUE_TUPLE] = tuple_methods,
		[VALUE_DICT] = dict_methods,
	};
	if (value.kind >= COUNT(types) || !types[value.kind] || (value.kind == VALUE_LIST && value.view))
		return NULL;
	for (const struct builtin *method = types[value.kind]; method->name; method++)
		if (method->name[0] == name[0] && strlen(method->name) == count && !memcmp(method->name, name, count))
			return method;
	return NULL;
}
