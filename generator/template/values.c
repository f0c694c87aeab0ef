/* values.c: values as C makes and reads them: strings, lists, dicts, and what needs no renderer. */
#include "template/engine.h"
#include <math.h>
#include <stdio.h>

struct value value_string(const char *borrowed) { return value_string_of(borrowed, strlen(borrowed)); }

struct value value_string_of(const char *borrowed, size_t count)
{
	return (struct value){ .kind = VALUE_STRING, .count = (uint32_t)count, .bytes = borrowed };
}

struct value value_copy(struct arena *arena, const char *bytes, size_t count)
{
	if (count >= UINT32_MAX)
		fail(arena->build, EXIT_LIMIT, NULL, "a string of 4 GiB or more");
	return value_string_of(arena_copy(arena, bytes, count), count);
}

struct value value_printf(struct arena *arena, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int n = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	char *text = arena_alloc(arena, (size_t)n + 1);
	va_start(arguments, format);
	vsnprintf(text, (size_t)n + 1, format, arguments);
	va_end(arguments);
	return value_string_of(text, (size_t)n);
}

struct list *list_new(struct arena *arena, size_t room)
{
	struct list *list = arena_new(arena, struct list);
	list->arena = arena;
	list->room = room;
	list->at = room ? arena_new_array(arena, struct value, room) : NULL;
	return list;
}

struct value list_value(struct list *list, enum list_view view)
{
	return (struct value){ .kind = VALUE_LIST, .view = (uint8_t)view, .list = list };
}

struct value value_list(struct arena *arena) { return list_value(list_new(arena, 0), VIEW_LIST); }

struct value value_tuple(struct arena *arena, const struct value *at, size_t count)
{
	struct list *list = list_new(arena, count);
	if (count)
		memcpy(list->at, at, count * sizeof *at);
	list->count = count;
	return (struct value){ .kind = VALUE_TUPLE, .list = list };
}

void value_list_add(struct value list, struct value value)
{
	assert(list.kind == VALUE_LIST);
	list_add(list.list, value);
}

struct value value_numbers(struct arena *arena, const int64_t *at, int count)
{
	struct value list = value_list(arena);
	FOR (i, count)
		value_list_add(list, value_int(at[i]));
	return list;
}

size_t value_count(struct value value)
{
	switch (value.kind) {
	case VALUE_LIST:
	case VALUE_TUPLE: return value.list->count;
	case VALUE_DICT: return value.dict->count;
	case VALUE_RANGE: return value.range->count;
	case VALUE_STRING: return text_points(value.bytes, value.count);
	default: return 0;
	}
}

struct value value_at(struct value list, size_t i)
{
	assert(value_is_list(list) && i < list.list->count);
	return list.list->at[i];
}

double value_real(struct value value) { return value.kind == VALUE_FLOAT ? value.real : (double)value_integer(value); }

const char *value_type(struct value value)
{
	static const char *const names[] = {
		[VALUE_ABSENT] = "nothing",
		[VALUE_UNDEFINED] = "undefined",
		[VALUE_NONE] = "none",
		[VALUE_BOOL] = "bool",
		[VALUE_INT] = "int",
		[VALUE_FLOAT] = "float",
		[VALUE_STRING] = "str",
		[VALUE_LIST] = "list",
		[VALUE_TUPLE] = "tuple",
		[VALUE_DICT] = "dict",
		[VALUE_RANGE] = "range",
		[VALUE_FUNCTION] = "function",
	};
	static const char *const views[] = { "list", "dict_items", "dict_keys", "dict_values", "generator" };
	if (value.kind == VALUE_OBJECT)
		return value.object->class->name;
	return value.kind == VALUE_LIST ? views[value.view] : names[value.kind];
}

const char *value_a(struct value value)
{
	static _Thread_local char text[80];
	const char *type = value_type(value);
	if (value.kind == VALUE_UNDEFINED || value.kind == VALUE_NONE)
		return value.kind == VALUE_NONE ? "none" : "an undefined value";
	snprintf(text, sizeof text, "%s %s", strchr("aeio", *type) ? "an" : "a", type);
	return text;
}

bool value_identical(struct value a, struct value b)
{
	if (a.kind != b.kind)
		return false;
	switch (a.kind) {
	case VALUE_BOOL: return a.truth == b.truth;
	case VALUE_INT: return a.integer == b.integer;
	case VALUE_FLOAT: return !memcmp(&a.real, &b.real, sizeof a.real);
	case VALUE_STRING: return a.count == b.count && !memcmp(a.bytes, b.bytes, a.count);
	case VALUE_NONE:
	case VALUE_ABSENT: return true;
	case VALUE_UNDEFINED: return a.missing && a.missing == b.missing;
	default: return a.list == b.list;
	}
}

bool value_text_is(struct value value, const char *string)
{
	return value.kind == VALUE_STRING && value.count == strlen(string) && !memcmp(value.bytes, string, value.count);
}

/* ---- dicts: entries in order, and an open hash table of their numbers once there are more than a few ---- */
uint32_t string_hash(const char *bytes, size_t count)
{
	uint64_t hash = hash_bytes(bytes, count, 0);
	return (uint32_t)(hash ^ hash >> 32);
}

static uint32_t mix(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15u;
	return (uint32_t)(x ^ x >> 32);
}

/* Tuples of more than 500 tuples inside each other are refused, as what is built in a loop could end the stack. */
static bool hash_deep(struct value value, uint32_t *hash, int depth)
{
	uint32_t part;
	switch (value.kind) {
	case VALUE_STRING: *hash = string_hash(value.bytes, value.count); return true;
	case VALUE_BOOL:
	case VALUE_INT: *hash = mix((uint64_t)value_integer(value)); return true;
	case VALUE_FLOAT: /* 1.0 and 1 are one key */
		*hash = value.real >= -9e18 && value.real <= 9e18 && value.real == floor(value.real)
		        ? mix((uint64_t)(int64_t)value.real)
		        : mix((uint64_t)value.integer + 1);
		return true;
	case VALUE_TUPLE:
		*hash = 7;
		FOR (i, value.list->count) {
			if (depth > 500 || !hash_deep(value.list->at[i], &part, depth + 1))
				return false;
			*hash = mix((uint64_t)*hash << 32 | part);
		}
		return true;
	case VALUE_LIST:
	case VALUE_DICT: return false;
	case VALUE_NONE:
	case VALUE_ABSENT:
	case VALUE_UNDEFINED: *hash = value.kind; return true;
	default: *hash = mix((uint64_t)(uintptr_t)value.list); return true;
	}
}

bool value_hash(struct value value, uint32_t *hash) { return hash_deep(value, hash, 0); }

/* Equality of hashable values; it cannot fail. */
static bool same_key(struct value a, struct value b)
{
	if (value_is_number(a) && value_is_number(b))
		return a.kind == VALUE_FLOAT || b.kind == VALUE_FLOAT ? value_real(a) == value_real(b)
		                                                      : value_integer(a) == value_integer(b);
	if (a.kind != b.kind)
		return false;
	if (a.kind == VALUE_UNDEFINED)
		return true;
	if (a.kind != VALUE_TUPLE)
		return value_identical(a, b);
	for (size_t i = 0; i < a.list->count && a.list->count == b.list->count; i++)
		if (!same_key(a.list->at[i], b.list->at[i]))
			return false;
	return a.list->count == b.list->count;
}

static void index_add(struct dict *dict, uint32_t hash, size_t number)
{
	size_t i = hash & (dict->slots - 1);
	while (dict->index[i])
		i = (i + 1) & (dict->slots - 1);
	dict->index[i] = (uint32_t)number + 1;
}

static void index_build(struct dict *dict, size_t slots)
{
	if (slots > dict->slots || !dict->index)
		dict->index = arena_new_array(dict->arena, uint32_t, slots);
	else
		memset(dict->index, 0, slots * sizeof *dict->index);
	dict->slots = slots;
	FOR (i, dict->count)
		index_add(dict, dict->at[i].hash, i);
}

struct value *dict_find(const struct dict *dict, struct value key, uint32_t hash)
{
	if (!dict->slots) {
		FOR (i, dict->count)
			if (dict->at[i].hash == hash && same_key(dict->at[i].key, key))
				return &dict->at[i].value;
		return NULL;
	}
	for (size_t i = hash & (dict->slots - 1); dict->index[i]; i = (i + 1) & (dict->slots - 1)) {
		struct entry *entry = &dict->at[dict->index[i] - 1];
		if (entry->hash == hash && same_key(entry->key, key))
			return &entry->value;
	}
	return NULL;
}

struct value *dict_find_string(const struct dict *dict, const char *bytes, size_t count, uint32_t hash)
{
	return dict_find(dict, value_string_of(bytes, count), hash);
}

void dict_set(struct dict *dict, struct value key, uint32_t hash, struct value value)
{
	struct value *there = dict_find(dict, key, hash);
	if (there) {
		*there = value;
		return;
	}
	push(dict->arena, dict, (struct entry){ key, value, hash });
	if (dict->count > 8 && dict->count * 2 > dict->slots)
		index_build(dict, dict->slots ? dict->slots * 4 : 64);
	else if (dict->slots)
		index_add(dict, hash, dict->count - 1);
}

void dict_remove(struct dict *dict, size_t i)
{
	memmove(dict->at + i, dict->at + i + 1, (dict->count - i - 1) * sizeof *dict->at);
	dict->count--;
	if (dict->slots)
		index_build(dict, dict->slots);
}

struct value dict_value(struct dict *dict) { return (struct value){ .kind = VALUE_DICT, .dict = dict }; }

struct value value_dict(struct arena *arena)
{
	struct dict *dict = arena_new(arena, struct dict);
	dict->arena = arena;
	return dict_value(dict);
}

struct value value_set_pairs(struct value dict, const struct value_pair *pairs)
{
	assert(dict.kind == VALUE_DICT);
	for (; pairs->key; pairs++)
		dict_set(
		        dict.dict, value_string(pairs->key), string_hash(pairs->key, strlen(pairs->key)), pairs->value);
	return dict;
}

struct value value_dict_get(struct value dict, const char *key)
{
	assert(dict.kind == VALUE_DICT);
	size_t count = strlen(key);
	struct value *value = dict_find_string(dict.dict, key, count, string_hash(key, count));
	return value ? *value : (struct value){ 0 };
}

/* ---- functions and objects ---- */
struct value value_function(
        struct arena *arena, const char *name, const char *parameters, template_function *function, void *user)
{
	struct function *made = arena_new(arena, struct function);
	made->own = (struct builtin){ name, parameters, function, user };
	made->builtin = &made->own;
	return (struct value){ .kind = VALUE_FUNCTION, .function = made };
}

struct value value_object(struct arena *arena, const struct object_class *class, void *user)
{
	struct object *object = arena_new(arena, struct object);
	object->class = class;
	object->user = user;
	return (struct value){ .kind = VALUE_OBJECT, .object = object };
}
