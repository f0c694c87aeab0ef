/* text.c: a string that grows by doubling. */
#include "base/base.h"
#include <stdio.h>
#include <stdlib.h>

void text_init(struct text *text, struct build *build) { *text = (struct text){ .build = build }; }

void text_release(struct text *text)
{
	free(text->at);
	text->at = NULL;
	text->count = text->room = 0;
}

static void reserve(struct text *text, size_t more)
{
	size_t need;
	if (!size_add(text->count, more, &need) || !size_add(need, 1, &need) || (text->limit && need > text->limit))
		fail(text->build, EXIT_LIMIT, NULL, "text of more than %zu bytes",
		        text->limit ? text->limit : text->count);
	if (need <= text->room)
		return;
	size_t room = text->room < 256 ? 256 : text->room * 2;
	room = room < need ? need : room;
	char *at = allocation_fails() ? NULL : realloc(text->at, room);
	if (!at)
		fail(text->build, EXIT_LIMIT, NULL, "out of memory: text of %zu bytes", room);
	text->at = at;
	text->room = room;
}

void text_add(struct text *text, const char *bytes, size_t count)
{
	reserve(text, count);
	if (count)
		memcpy(text->at + text->count, bytes, count);
	text->at[text->count += count] = 0;
}

void text_adds(struct text *text, const char *string) { text_add(text, string, strlen(string)); }
void text_addc(struct text *text, char c) { text_add(text, &c, 1); }

void text_printf(struct text *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int n = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	reserve(text, (size_t)n);
	va_start(arguments, format);
	vsnprintf(text->at + text->count, (size_t)n + 1, format, arguments);
	va_end(arguments);
	text->count += (size_t)n;
}
