/* fuzz_template.c: bytes -> a template -> lexer, parser and renderer.  The first byte chooses settings; zero bytes
 * divide the rest into the templates main, b, c and d, which may include, import and extend each other.  Promises: it
 * ends, within the limits, with text or with a message that has a place; and a second rendering gives the same. */
#include "ingot/template.h"
#include <stdio.h>
#include <stdlib.h>

struct sources {
	const char *at[4];
	size_t count[4];
};

static bool load(void *user, struct build *build, const char *name, struct mapped *source)
{
	static const char *const names[] = { "main", "b", "c", "d" };
	const struct sources *sources = user;
	(void)build;
	for (size_t i = 0; i < COUNT(names); i++)
		if (!strcmp(name, names[i]) && sources->at[i]) {
			*source = (struct mapped){ .at = (const uint8_t *)sources->at[i], .bytes = sources->count[i] };
			return true;
		}
	return false;
}

static struct value add(struct template_call *call)
{
	return value_int(call_int(call, 0, 0) % 1000 + call_int(call, 1, 1) % 1000);
}

static struct value data(struct arena *arena)
{
	struct value globals = value_dict(arena), list = value_list(arena), dict = value_dict(arena),
	             words = value_list(arena);
	for (int i = 0; i < 4; i++)
		value_list_add(list, value_int(3 - i));
	value_set(dict, "k", value_float(1.5));
	value_set(dict, "items", value_none());
	value_list_add(words, value_string("b"));
	value_list_add(words, value_string("größe ✓"));
	value_set(globals, "x", value_int(1));
	value_set(globals, "s", value_string("Hello, World\n"));
	value_set(globals, "l", list);
	value_set(globals, "d", dict);
	value_set(globals, "w", words);
	value_set(globals, "f", value_function(arena, "f", "a b?", add, NULL));
	return globals;
}

static void broken(const char *promise, const struct build *build)
{
	fprintf(stderr, "broken promise: %s (code %d, %s)\n", promise, build->code, build->message);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sources sources = { { 0 }, { 0 } };
	struct build build;
	struct text text, again;
	uint8_t choice = size ? bytes[0] : 0;
	const char *at = size ? (const char *)bytes + 1 : "", *end = size ? (const char *)bytes + size : at;
	for (size_t i = 0; i < 4; i++) {
		const char *zero = i < 3 && at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
		sources.at[i] = at;
		sources.count[i] = (size_t)((zero ? zero : end) - at);
		at = zero ? zero + 1 : end;
	}
	struct template_settings settings = {
		.line_statement = choice & 1 ? "//%" : NULL,
		.line_comment = choice & 1 ? "//#" : NULL,
		.trim_blocks = choice & 2,
		.lstrip_blocks = choice & 4,
		.keep_trailing_newline = choice & 8,
		.lenient = choice & 16,
		.newline = choice & 32 ? "\r\n" : "\n",
		.output_limit = 1 << 18,
		.memory_limit = 1 << 23,
		.loop_limit = 5000,
		.depth_limit = 300,
	};
	build_init(&build);
	text_init(&text, &build);
	text_init(&again, &build);
	if (BUILD_TRY(&build)) {
		struct environment *environment = environment_new(&build, build.arena, &settings, load, &sources);
		template_render(environment, "main", data(build.arena), &text);
		template_render(environment, "main", data(build.arena), &again);
		if (text.count != again.count || (text.count && memcmp(text.at, again.at, text.count)))
			broken("the same text twice", &build);
	}
	if (build.code && build.code != EXIT_INVALID && build.code != EXIT_LIMIT)
		broken("EXIT_INVALID or EXIT_LIMIT", &build);
	if (build.code && (!build.message[0] || !strstr(build.message, ": ")))
		broken("a message with a place", &build);
	text_release(&text);
	text_release(&again);
	build_release(&build);
	return 0;
}
