/* words.c: a prelude with just the words that a text needs.  The prelude's templates ask uses("word"); it is rendered
 * with the words seen so far, its own text is looked through for more, and so on until no word is new. */
#include "emit/emit.h"

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* How many names were new.  Of a word a_b, "a_*" is seen, too: so a template may ask whether any such word is there. */
static int see_words(struct arena *arena, struct names *seen, const char *text, size_t count)
{
	int fresh = 0;
	for (const char *p = text, *stop = text + count; p < stop;) {
		const char *q = p;
		while (q < stop && is_letter(*q))
			q++;
		if (q > p && !name_find(seen, p, (size_t)(q - p))) {
			const char *name = name_of(seen, p, (size_t)(q - p)), *family = strchr(name, '_');
			if (family)
				name_is(seen, arena_printf(arena, "%.*s_*", (int)(family - name), name));
			fresh++;
		}
		p = q > p ? q : p + 1;
	}
	return fresh;
}

static struct value call_uses(struct template_call *call)
{
	const char *name = call_string(call, 0, "");
	return value_bool(name_find(call->user, name, strlen(name)) != NULL);
}

struct value emit_target_value(struct emit *emit)
{
	struct value target = value_dict(emit->arena);
	value_dict_set(target, "name", value_string(emit->target->name));
	value_dict_set(target, "lanes", value_int(emit->target->lanes));
	value_dict_set(target, "small", value_bool(emit->target->small));
	value_dict_set(target, "shared", value_string(emit->target->shared ? emit->target->shared : ""));
	value_dict_set(target, "barrier", value_string(emit->target->barrier ? emit->target->barrier : ""));
	value_dict_set(target, "has_fma", value_bool(emit->target->has_fma));
	value_dict_set(target, "helium", value_bool(emit->target->exact_lanes));
	return target;
}

void emit_prelude(struct emit *emit, const char *text, size_t count, struct text *out)
{
	struct names *seen = names_new(emit->arena);
	size_t start = out->count;
	see_words(emit->arena, seen, text, count);
	for (int fresh = 1; fresh;) {
		struct value globals = value_dict(emit->arena);
		out->count = start;
		value_dict_set(globals, "uses", value_function(emit->arena, "uses", "word", call_uses, seen));
		value_dict_set(globals, "target", emit_target_value(emit));
		template_render(emit->templates, emit->target->prelude, globals, out);
		fresh = see_words(emit->arena, seen, out->at + start, out->count - start);
	}
}
