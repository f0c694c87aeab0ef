/* errors.c: a place in a template and a message -> the way out of the build, with the line, a caret and the chain. */
#include "template/engine.h"
#include <stdio.h>

void template_folder(const struct template *template, uint32_t position, size_t *line, size_t *column)
{
	size_t at = position < template->length ? position : template->length, start = 0;
	*line = 1;
	FOR (i, at)
		if (template->source[i] == '\n') {
			++*line;
			start = i + 1;
		}
	*column = text_points(template->source + start, at - start) + 1;
}

/* The line of the source, cut to what fits, and a caret below. */
static void add_line(struct build *build, const struct template *template, uint32_t position)
{
	enum { WIDTH = 110 };
	size_t at = position < template->length ? position : template->length, start = at, end = at, line, column;
	template_folder(template, position, &line, &column);
	while (start && template->source[start - 1] != '\n' && at - start < WIDTH / 2)
		start--;
	while (end < template->length && template->source[end] != '\n' && end - start < WIDTH)
		end++;
	while (start < at && ((unsigned char)template->source[start] & 0xc0) == 0x80) /* no half letters */
		start++;
	while (end > at && end < template->length && ((unsigned char)template->source[end] & 0xc0) == 0x80)
		end--;
	int n = 0;
	char number[24], blanks[4 * WIDTH];
	int digits = snprintf(number, sizeof number, "%5zu", line);
	for (size_t i = start; i < at && n < (int)sizeof blanks - 1; i++)
		if (template->source[i] == '\t' || ((unsigned char)template->source[i] & 0xc0) != 0x80)
			blanks[n++] = template->source[i] == '\t' ? '\t' : ' ';
	blanks[n] = 0;
	fail_detail(build, "%s | %.*s\n%*s | %s^\n", number, (int)(end - start), template->source + start, digits, "",
	        blanks);
}

void template_detail(
        struct environment *environment, const struct template *template, uint32_t position, const struct trace *trace)
{
	size_t line, column;
	int shown = 0;
	add_line(environment->build, template, position);
	for (; trace; trace = trace->outer) {
		if (++shown > 12) {
			fail_detail(environment->build, "      ...\n");
			break;
		}
		template_folder(trace->template, trace->place ? trace->place->position : 0, &line, &column);
		fail_detail(environment->build, "      in %s%s%s, from %s:%zu:%zu\n", trace->what,
		        *trace->name ? " " : "", trace->name, trace->template->name, line, column);
	}
}

void template_fail_at(struct environment *environment, const struct template *template, uint32_t position,
        const struct trace *trace, enum exit_code code, const char *message)
{
	size_t line, column;
	const struct renderer *running = environment->running;
	struct trace opened;
	if (running && template != running->template
	        && !trace) { /* a template that does not compile, opened by another */
		opened = (struct trace){ .outer = running->trace,
			.what = "template",
			.name = template->name,
			.template = running->template,
			.place = running->place };
		trace = &opened;
	}
	template_folder(template, position, &line, &column);
	fail_detail(environment->build, NULL);
	template_detail(environment, template, position, trace);
	environment->told = true;
	fail(environment->build, code, NULL, "%.200s:%zu:%zu: %s", template->name, line, column, message);
}

static NORETURN void fail_here(struct renderer *r, enum exit_code code, const char *format, va_list arguments)
{
	char message[900];
	vsnprintf(message, sizeof message, format, arguments);
	template_fail_at(r->environment, r->template, r->place ? r->place->position : 0, r->trace, code, message);
}

void render_fail(struct renderer *r, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fail_here(r, EXIT_INVALID, format, arguments);
}

void render_limit(struct renderer *r, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fail_here(r, EXIT_LIMIT, format, arguments);
}
