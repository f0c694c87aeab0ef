/* fail.c: the one way out of a build.  The message is made, cleaned of unprintable bytes, and control returns to
 * the BUILD_TRY that runs the build. */
#include "base/base.h"
#include <stdio.h>
#include <stdlib.h>

void build_init(struct build *build)
{
	memset(build, 0, sizeof *build);
	build->check = getenv("INGOT_CHECK") != NULL;
	build->arena = malloc(sizeof *build->arena);
	if (!build->arena)
		abort();
	arena_init(build->arena, build);
	build->out = &build->first;
	if (BUILD_TRY(build))
		build->names = names_new(build->arena);
}

void build_release(struct build *build)
{
	if (!build->arena)
		return;
	files_release(build);
	arena_release(build->arena);
	free(build->arena);
	build->arena = NULL;
}

/* The bytes of the UTF-8 sequence at `from`; 0 where it is none: cut off, overlong, or no code point. */
static size_t sequence(const char *from)
{
	unsigned char c = (unsigned char)*from, next = (unsigned char)(c ? from[1] : 0);
	size_t count = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
	for (size_t i = 1; i < count; i++)
		if (((unsigned char)from[i] & 0xc0) != 0x80)
			return 0;
	bool broken = (c == 0xe0 && next < 0xa0) || (c == 0xed && next >= 0xa0) || (c == 0xf0 && next < 0x90)
	        || (c == 0xf4 && next >= 0x90);
	return broken ? 0 : count;
}

/* Keeps UTF-8 and printable ASCII, escapes control bytes and what is no UTF-8, so that a name from a file cannot steer
 * a terminal and a message is text whatever was cut off. */
static void clean(char *to, size_t room, const char *from, bool lines)
{
	size_t n = 0, count;
	for (; *from && n + 5 < room; from += count ? count : 1) {
		unsigned char c = (unsigned char)*from;
		count = sequence(from);
		if (!count || ((c < 32 || c == 127) && !(lines && (c == '\n' || c == '\t'))))
			n += (size_t)snprintf(to + n, room - n, "\\x%02x", c);
		else {
			memcpy(to + n, from, count);
			n += count;
		}
	}
	to[n] = 0;
}

char *text_clean(struct arena *arena, const char *text)
{
	size_t room = 4 * strlen(text) + 6; /* \xNN, and what clean() keeps free */
	char *made = arena_alloc(arena, room);
	clean(made, room, text, false);
	return made;
}

static void make_line(char *to, size_t room, const char *where, const char *format, va_list arguments)
{
	char raw[sizeof((struct build *)0)->message];
	int n = where ? snprintf(raw, sizeof raw, "%.400s: ", where) : 0;
	vsnprintf(raw + n, sizeof raw - (size_t)n, format, arguments);
	clean(to, room, raw, false);
}

static NORETURN void stop(struct build *build)
{
	build->stop = NULL; /* what cleans up may allocate */
	build->told = NULL;
	fail(build, EXIT_ENVIRONMENT, NULL, "stopped");
}

void stop_if_asked(struct build *build)
{
	if (is_stopping(build))
		stop(build);
}

void progress(struct build *build, const char *stage, size_t done, size_t count, size_t running)
{
	const struct progress now = { stage, done, count, running };
	stop_if_asked(build);
	if (build->told && build->told(build, &now))
		stop(build);
}

void warn(struct build *build, const char *where, const char *format, ...)
{
	char line[sizeof build->message];
	va_list arguments;
	if (!build->warned)
		return;
	va_start(arguments, format);
	make_line(line, sizeof line, where, format, arguments);
	va_end(arguments);
	build->warned(build, line);
}

void fail(struct build *build, enum exit_code code, const char *where, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	make_line(build->message, sizeof build->message, where, format, arguments);
	va_end(arguments);
	if (!build->detailed)
		build->detail[0] = 0;
	build->detailed = false;
	build->code = code;
	longjmp(*build->out, 1);
}

void fail_detail(struct build *build, const char *format, ...)
{
	char raw[1024];
	size_t used = strlen(build->detail);
	build->detailed = true;
	if (!format) {
		build->detail[0] = 0;
		return;
	}
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(raw, sizeof raw, format, arguments);
	va_end(arguments);
	clean(build->detail + used, sizeof build->detail - used, raw, true);
}
