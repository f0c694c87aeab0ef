/* cases.c: JSON lines -> JSON lines.  Each line in is a case
 *
 *     {"templates": {"main": "...", ...}, "data": {...}, "settings": {"trim_blocks": true, ...}, "repeat": 1}
 *
 * and each line out what `main` renders to, {"text": "..."}, or {"code": 3, "message": "...", "detail": "..."}. With
 * "repeat" it is rendered so many times and "seconds" says how long one took, "compile_seconds" the first compilation.
 */
#include "cli/json_value.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static bool load(void *user, struct build *build, const char *name, struct mapped *source)
{
	const json_t *text = json_object_get(user, name);
	(void)build;
	if (!json_is_string(text))
		return false;
	*source = (struct mapped){ .at = (const uint8_t *)json_string_value(text), .bytes = json_string_length(text) };
	return true;
}

static struct template_settings settings_of(const json_t *json)
{
#define STRING(member) .member = json_string_value(json_object_get(json, #member))
#define BOOL(member) .member = json_is_true(json_object_get(json, #member))
	return (struct template_settings){
		STRING(block_start),
		STRING(block_end),
		STRING(variable_start),
		STRING(variable_end),
		STRING(comment_start),
		STRING(comment_end),
		STRING(line_statement),
		STRING(line_comment),
		STRING(newline),
		BOOL(trim_blocks),
		BOOL(lstrip_blocks),
		BOOL(keep_trailing_newline),
		BOOL(lenient),
	};
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static json_t *run(const json_t *one)
{
	struct build build;
	struct text text;
	struct template_settings settings = settings_of(json_object_get(one, "settings"));
	json_t *result = json_object();
	build_init(&build);
	text_init(&text, &build);
	if (BUILD_TRY(&build)) {
		struct environment *environment =
		        environment_new(&build, build.arena, &settings, load, json_object_get(one, "templates"));
		struct value data = data_of(&build, json_object_get(one, "data"));
		json_int_t repeat = json_integer_value(json_object_get(one, "repeat"));
		if (repeat) {
			double before = now();
			template_compile(environment, "main");
			json_object_set_new(result, "compile_seconds", json_real(now() - before));
		}
		template_render(environment, "main", data, &text);
		if (repeat) {
			double best = 1e9;
			for (json_int_t i = 0; i < repeat; i++) {
				struct arena arena;
				arena_init(&arena, &build);
				struct value globals = value_dict(&arena);
				const char *key;
				json_t *item;
				json_object_foreach(json_object_get(one, "data"), key, item)
				        value_set(globals, key, value_dict_get(data, key));
				double before = now();
				text.count = 0;
				template_render(environment, "main", globals, &text);
				double took = now() - before;
				best = took < best ? took : best;
				arena_release(&arena);
			}
			json_object_set_new(result, "seconds", json_real(best));
		}
		json_object_set_new(result, "text", json_stringn_nocheck(text.count ? text.at : "", text.count));
	} else {
		json_object_set_new(result, "code", json_integer(build.code));
		json_object_set_new(result, "message", json_string_nocheck(build.message));
		json_object_set_new(result, "detail", json_string_nocheck(build.detail));
	}
	text_release(&text);
	build_release(&build);
	return result;
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;
	for (ssize_t count; (count = getline(&line, &room, stdin)) > 0;) {
		json_error_t error;
		json_t *one = json_loadb(line, (size_t)count, JSON_ALLOW_NUL, &error);
		if (!one) {
			fprintf(stderr, "cases: %s\n", error.text);
			return 2;
		}
		json_t *result = run(one);
		json_dumpf(result, stdout, JSON_COMPACT);
		putchar('\n');
		fflush(stdout);
		json_decref(result);
		json_decref(one);
	}
	free(line);
	return 0;
}
