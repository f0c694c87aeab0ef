/* words.c: a prelude with just the words that a text needs.  What the prelude's templates define as a WORD is left out
 * where it was not seen, as all is for which they ask uses("word") in vain; it is rendered with the words seen so far,
 * its own text is looked through for more, and so on until no word is new. */
#include "emit/emit.h"

bool is_letter(char c)
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

static const char *line_after(const char *p, const char *stop)
{
	const char *end = memchr(p, '\n', (size_t)(stop - p));
	return end ? end + 1 : stop;
}

/* Behind a definition: its first line holds its body, or a line that begins with } ends it. */
static const char *definition_after(const char *p, const char *stop)
{
	const char *next = line_after(p, stop);
	if (memchr(p, '{', (size_t)(next - p)))
		return next;
	while (next < stop && *next != '}')
		next = line_after(next, stop);
	return line_after(next, stop);
}

/* WORD type name(: is it one that was seen? */
static bool is_seen(struct names *seen, const char *definition)
{
	const char *end = strchr(definition, '('), *name = end;
	while (is_letter(name[-1]))
		name--;
	return name_find(seen, name, (size_t)(end - name)) != NULL;
}

/* Definitions of words that were not seen leave the text from `start` on, with the comments that stand on them. */
static void leave_out(struct names *seen, struct text *text, size_t start)
{
	const char *stop = text->at + text->count;
	char *to = text->at + start, *comment = NULL;
	for (const char *p = to, *next; p < stop; p = next) {
		bool defines = !strncmp(p, "WORD ", 5) || !strncmp(p, "WORD_INLINE ", 12);
		next = defines ? definition_after(p, stop) : line_after(p, stop);
		if (defines && !is_seen(seen, p)) {
			to = comment ? comment : to;
			comment = NULL;
			continue;
		}
		comment = !strncmp(p, "/*", 2) ? to : !strncmp(p, " *", 2) ? comment : NULL;
		memmove(to, p, (size_t)(next - p));
		to += next - p;
	}
	text->count = (size_t)(to - text->at);
	*to = 0;
}

static struct value call_uses(struct template_call *call)
{
	const char *name = call_string(call, 0, "");
	return value_bool(name_find(call->user, name, strlen(name)) != NULL);
}

struct value emit_target_value(struct emit *emit)
{
	return value_dict_of(emit->arena, "name", emit->target->name, "lanes", emit->target->lanes, "small",
	        emit->target->options.small, "shared", emit->target->words.shared ? emit->target->words.shared : "",
	        "barrier", emit->target->words.barrier ? emit->target->words.barrier : "", "has_fma",
	        emit->target->has_fma, "helium", value_bool(emit->target->exact.lanes));
}

void emit_prelude(struct emit *emit, const char *text, size_t count, struct text *out)
{
	struct names *seen = names_new(emit->arena);
	size_t start = out->count;
	see_words(emit->arena, seen, text, count);
	for (int fresh = 1; fresh;) {
		struct value globals = value_dict(emit->arena);
		out->count = start;
		value_set(globals, "uses", value_function(emit->arena, "uses", "word", call_uses, seen), "target",
		        emit_target_value(emit));
		template_render(emit->templates, emit->target->prelude, globals, out);
		leave_out(seen, out, start);
		fresh = see_words(emit->arena, seen, out->at + start, out->count - start);
	}
}
