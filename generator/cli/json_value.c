/* json_value.c: JSON -> template values.  The parser bounds how deep JSON nests (2048), so recursion is bounded here.
 */
#include "cli/json_value.h"

struct value data_of(struct build *build, const json_t *json)
{
	struct arena *arena = build->arena;
	struct value value;
	const char *key;
	size_t i;
	json_t *item;
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		value = value_dict(arena);
		json_object_foreach((json_t *)json, key, item)
		        value_set(value, arena_copy(arena, key, strlen(key)), data_of(build, item));
		return value;
	case JSON_ARRAY:
		value = value_list(arena);
		json_array_foreach(json, i, item) value_list_add(value, data_of(build, item));
		return value;
	case JSON_STRING: return value_copy(arena, json_string_value(json), json_string_length(json));
	case JSON_INTEGER: return value_int(json_integer_value(json));
	case JSON_REAL: return value_float(json_real_value(json));
	case JSON_TRUE: return value_bool(true);
	case JSON_FALSE: return value_bool(false);
	default: return value_none();
	}
}
