/* text_scan.c: characters -> words. */
#include "frontends/text_scan.h"
#include <errno.h>
#include <stdlib.h>

static const char *place(struct scan *s)
{
	size_t line = 1;
	const char *from = s->start;
	for (const char *at = s->start; at < s->at; at++)
		if (*at == '\n') {
			line++;
			from = at + 1;
		}
	return arena_printf(s->reader->build->arena, "%s:%zu:%zu", s->reader->file, line, (size_t)(s->at - from) + 1);
}

void scan_refuse(struct scan *s, const char *what) { fail(s->reader->build, EXIT_INVALID, place(s), "%s", what); }

void scan_fail(struct scan *s, const char *what)
{
	size_t n = 0;
	while (s->at + n < s->end && n < 20 && s->at[n] != '\n' && s->at[n])
		n++;
	if (!n)
		fail(s->reader->build, EXIT_INVALID, place(s), "%s, not the end of %s", what,
		        s->at < s->end ? "the line" : "the file");
	fail(s->reader->build, EXIT_INVALID, place(s), "%s, not \"%.*s\"", what, (int)n, s->at);
}

static void skip(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || (*s->at >= '\t' && *s->at <= '\r') || *s->at == '#'))
		if (*s->at++ == '#')
			while (s->at < s->end && *s->at != '\n')
				s->at++;
}

char scan_peek(struct scan *s)
{
	skip(s);
	return s->at < s->end ? *s->at : 0;
}

bool scan_take(struct scan *s, char c)
{
	bool there = scan_peek(s) == c && s->at < s->end;
	s->at += there;
	return there;
}

void scan_want(struct scan *s, char c)
{
	char what[] = "a ? belongs here";
	what[2] = c;
	if (!scan_take(s, c))
		scan_fail(s, what);
}

/* ---- names ---- */
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct bytes scan_peek_word(struct scan *s)
{
	skip(s);
	const char *at = s->at;
	if (at < s->end && (is_letter(*at) || *at == '_'))
		while (at < s->end && (is_letter(*at) || is_digit(*at) || *at == '_'))
			at++;
	return (struct bytes){ s->at, (size_t)(at - s->at) };
}

struct bytes scan_word(struct scan *s)
{
	struct bytes word = scan_peek_word(s);
	if (!word.count)
		scan_fail(s, "a word belongs here");
	s->at += word.count;
	return word;
}

const char *scan_name(struct scan *s)
{
	struct bytes word = scan_peek_word(s);
	if (scan_peek(s) == '"')
		word = scan_string(s);
	else if (!word.count)
		return NULL;
	else
		s->at += word.count;
	return reader_name(s->reader, word.at, word.count);
}

struct bytes scan_string(struct scan *s)
{
	size_t escapes = 0;
	scan_want(s, '"');
	const char *from = s->at;
	for (; s->at < s->end && *s->at != '"'; s->at++)
		if (*s->at == '\\' && s->at + 1 < s->end) {
			s->at++;
			escapes++;
		}
	if (s->at >= s->end) {
		s->at = from - 1;
		scan_fail(s, "a string that ends belongs here");
	}
	struct bytes string = { from, (size_t)(s->at++ - from) };
	if (!escapes)
		return string;
	char *copy = arena_alloc(s->reader->build->arena, string.count), *to = copy;
	for (const char *at = from; at < from + string.count; at++) {
		at += *at == '\\';
		*to++ = *at;
	}
	return (struct bytes){ copy, (size_t)(to - copy) };
}

/* ---- numbers ---- */
static bool is_float_word(struct bytes word)
{
	static const char *const words[] = { "nan", "inf", "infinity" };
	FOR (i, COUNT(words))
		if (word.count == strlen(words[i]) && !strncasecmp(word.at, words[i], word.count))
			return true;
	return false;
}

bool scan_at_float_word(struct scan *s) { return is_float_word(scan_peek_word(s)); }

struct number scan_number(struct scan *s)
{
	struct number number = { 0 };
	skip(s);
	const char *from = s->at;
	s->at += s->at < s->end && *s->at == '-';
	struct bytes word = { s->at, 0 };
	while (word.at + word.count < s->end && is_letter(word.at[word.count]))
		word.count++;
	if (word.count && is_float_word(word)) {
		s->at += word.count;
		number.is_float = true;
	} else {
		const char *digits = s->at;
		for (; s->at < s->end && (is_digit(*s->at) || (*s->at == '.' && !number.is_float && s->at > digits));
		        s->at++)
			number.is_float |= *s->at == '.';
		if (s->at == digits) {
			s->at = from;
			scan_fail(s, "a number belongs here");
		}
		if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
			number.is_float = true;
			s->at++;
			s->at += s->at < s->end && (*s->at == '+' || *s->at == '-');
			while (s->at < s->end && is_digit(*s->at))
				s->at++;
		}
	}
	if ((size_t)(s->at - from) >= sizeof number.text) {
		s->at = from;
		scan_fail(s, "a number of fewer digits belongs here");
	}
	memcpy(number.text, from, (size_t)(s->at - from));
	number.from = from;
	return number;
}

float scan_float(struct scan *s)
{
	struct number number = scan_number(s);
	return strtof(number.text, NULL);
}

double scan_double(struct scan *s)
{
	struct number number = scan_number(s);
	return strtod(number.text, NULL);
}

int64_t number_int(struct scan *s, const struct number *number)
{
	errno = 0;
	long long value = strtoll(number->text, NULL, 10);
	if (number->is_float || errno) {
		s->at = number->from;
		scan_fail(s, number->is_float ? "an integer belongs here" : "an integer of 64 bits belongs here");
	}
	return value;
}

int64_t scan_int(struct scan *s)
{
	struct number number = scan_number(s);
	return number_int(s, &number);
}

uint64_t scan_unsigned(struct scan *s)
{
	struct number number = scan_number(s);
	errno = 0;
	unsigned long long value = strtoull(number.text, NULL, 10);
	if (number.is_float || errno || *number.text == '-') {
		s->at = number.from;
		scan_fail(s, "an unsigned integer of 64 bits belongs here");
	}
	return value;
}
