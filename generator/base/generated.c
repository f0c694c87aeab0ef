/* generated.c: a compiler's message about a generated text -> the line that it is about, and whose template made it. */
#include "base/base.h"
#include <stdlib.h>

/* The number behind the first ':' that has one; 0: there is none. */
static long line_of(const char *message)
{
	for (const char *at = message; (at = strchr(at, ':')); at++)
		if (at[1] >= '0' && at[1] <= '9')
			return strtol(at + 1, NULL, 10);
	return 0;
}

/* "c/my.Foo.jinja" of the comment that stands before a kernel; NULL: the line is none. */
static const char *template_of(struct arena *arena, const char *line, size_t length)
{
	static const char ending[] = ".jinja";
	const char *at = length > 2 && !memcmp(line, "/*", 2) ? memmem(line, length, ending, sizeof ending - 1) : NULL;
	const char *from = at;
	while (from && from > line && from[-1] != ' ')
		from--;
	return at ? arena_copy(arena, from, (size_t)(at - from) + sizeof ending - 1) : NULL;
}

const char *generated_line(struct build *build, const char *message, const char *text, size_t count)
{
	const char *end = text + count, *made = NULL;
	for (long line = line_of(message); line > 0 && text < end; line--) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		stop = stop ? stop : end;
		const char *template = template_of(build->arena, text, (size_t)(stop - text));
		made = template ? template : made;
		if (line == 1 && made) {
			while (text < stop && (*text == ' ' || *text == '\t'))
				text++;
			int length = stop - text < 200 ? (int)(stop - text) : 200;
			return arena_printf(build->arena, "; %s made this line: %.*s", made, length, text);
		}
		text = stop + (stop < end);
	}
	return "";
}
