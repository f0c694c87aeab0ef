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

const char *generated_line(struct build *build, const char *message, const char *text, size_t count)
{
	static const char ending[] = ".jinja";
	const char *end = text + count, *made = NULL;
	size_t made_count = 0;
	for (long line = line_of(message); line > 0 && text < end; line--) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((stop ? stop : end) - text);
		for (size_t i = sizeof ending - 1; length > 2 && !memcmp(text, "/*", 2) && i <= length; i++)
			if (!memcmp(text + i - (sizeof ending - 1), ending,
			            sizeof ending - 1)) { /* a kernel's comment */
				made = text + i;
				for (made_count = 0; made > text && made[-1] != ' '; made_count++)
					made--;
				break;
			}
		while (line == 1 && length && (*text == ' ' || *text == '\t')) {
			text++;
			length--;
		}
		if (line == 1 && made)
			return arena_printf(build->arena, "; %.*s made this line: %.*s", (int)made_count, made,
			        (int)(length < 200 ? length : 200), text);
		text = stop ? stop + 1 : end;
	}
	return "";
}
