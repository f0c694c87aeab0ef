/* filters_text.c: filters on strings and numbers. */
#include "template/engine.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FILTER(name) static struct value filter_##name(struct template_call *call)

/* str() of the value that is filtered. */
static struct value text_of(struct template_call *call, size_t i)
{
	return value_to_string(call->renderer, call->at[i]);
}

/* The value as a string that a method is called on: other types have no such method. */
static struct value string_of(struct template_call *call, size_t i)
{
	if (call->at[i].kind == VALUE_UNDEFINED)
		undefined_fail(call->renderer, call->at[i]);
	if (call->at[i].kind != VALUE_STRING)
		call_fail(call, "%s: a string is expected, not %s", call->name, value_a(call->at[i]));
	return call->at[i];
}

FILTER(upper) { return string_case(call->renderer, text_of(call, 0), CASE_UPPER); }
FILTER(lower) { return string_case(call->renderer, text_of(call, 0), CASE_LOWER); }
FILTER(capitalize) { return string_case(call->renderer, text_of(call, 0), CASE_CAPITALIZE); }
FILTER(string) { return text_of(call, 0); }

static bool begins_word(unsigned c) { return point_is_space(c) || (c < 128 && c && strchr("-({[<", (int)c)); }

/* Every word begins with a capital; words begin after blanks and opening brackets.  Each is a string by itself. */
FILTER(title)
{
	struct renderer *r = call->renderer;
	struct value text = text_of(call, 0);
	size_t mark;
	capture_begin(r, &mark);
	for (const char *at = text.bytes, *end = at + text.count, *next, *last; at < end; at = last) {
		next = at;
		bool space = begins_word(text_decode(&next, end));
		for (const char *p = last = next; p < end && begins_word(text_decode(&p, end)) == space;)
			last = p;
		struct value first = string_case(r, value_string_of(at, (size_t)(next - at)), CASE_UPPER),
		             rest = string_case(r, value_string_of(next, (size_t)(last - next)), CASE_LOWER);
		text_add(r->out, first.bytes, first.count);
		text_add(r->out, rest.bytes, rest.count);
	}
	return capture_end(r, mark);
}

FILTER(trim)
{
	struct value set =
	        call->at[1].kind == VALUE_ABSENT || call->at[1].kind == VALUE_NONE ? value_none() : string_of(call, 1);
	return string_strip(text_of(call, 0), set, true, true);
}

FILTER(replace)
{
	int64_t times = call->at[3].kind == VALUE_NONE ? -1 : call_int(call, 3, -1);
	return string_replace(call->renderer, text_of(call, 0), text_of(call, 1), text_of(call, 2), times);
}

FILTER(center) { return string_pad(call->renderer, text_of(call, 0), call_int(call, 1, 80), value_string(" "), 0); }

FILTER(indent)
{
	struct renderer *r = call->renderer;
	struct value text = string_of(call, 0), by;
	bool first = call_bool(call, 2, false), blank = call_bool(call, 3, false);
	if (call->at[1].kind == VALUE_STRING)
		by = call->at[1];
	else
		by = value_arithmetic(r, NODE_MUL, value_string(" "), value_int(call_int(call, 1, 4)));
	size_t mark;
	struct value whole = value_arithmetic(r, NODE_ADD, text, value_string("\n"));
	struct list *lines = string_lines(call->arena, whole, false);
	capture_begin(r, &mark);
	FOR (i, lines->count) {
		if (i)
			text_addc(r->out, '\n');
		if (i ? blank || lines->at[i].count : first)
			text_add(r->out, by.bytes, by.count);
		text_add(r->out, lines->at[i].bytes, lines->at[i].count);
	}
	return capture_end(r, mark);
}

FILTER(format)
{
	if (call->count > 1 && call->named_count)
		call_fail(call, "format: either positions or names, not both");
	if (!call->named_count)
		return format_percent(
		        call->renderer, text_of(call, 0), value_tuple(call->arena, call->at + 1, call->count - 1));
	struct value names = value_dict(call->arena);
	FOR (i, call->named_count)
		dict_set(names.dict, call->named[i].name, value_hash_or_fail(call->renderer, call->named[i].name),
		        call->named[i].value);
	return format_percent(call->renderer, text_of(call, 0), names);
}

FILTER(wordcount)
{
	struct value text = text_of(call, 0);
	int64_t n = 0;
	bool inside = false;
	for (const char *at = text.bytes, *end = at + text.count; at < end;) {
		bool word = point_is_word(text_decode(&at, end));
		n += word && !inside;
		inside = word;
	}
	return value_int(n);
}

FILTER(truncate)
{
	struct renderer *r = call->renderer;
	struct value text = call->at[0].kind == VALUE_STRING ? call->at[0] : string_of(call, 0);
	struct value end = call->at[3].kind == VALUE_ABSENT ? value_string("...") : string_of(call, 3);
	int64_t length = call_int(call, 1, 255), leeway = call->at[4].kind == VALUE_NONE ? 5 : call_int(call, 4, 5);
	int64_t ends = (int64_t)text_points(end.bytes, end.count),
	        points = (int64_t)text_points(text.bytes, text.count);
	if (length < ends || leeway < 0)
		call_fail(call, "truncate: a length of at least %lld and a leeway of at least 0 are expected",
		        (long long)ends);
	if (points <= length || points - length <= leeway)
		return text;
	struct value cut = value_string_of(text.bytes, text_offset(text.bytes, text.count, (size_t)(length - ends)));
	if (!call_bool(call, 2, false)) {
		const char *space = memrchr(cut.bytes, ' ', cut.count);
		cut.count = space ? (uint32_t)(space - cut.bytes) : cut.count;
	}
	return value_arithmetic(r, NODE_ADD, cut, end);
}

FILTER(default)
{
	bool replace = call->at[0].kind == VALUE_UNDEFINED
	        || (call_bool(call, 2, false) && !value_truth(call->renderer, call->at[0]));
	return !replace ? call->at[0] : call->at[1].kind == VALUE_ABSENT ? value_string("") : call->at[1];
}

/* ---- numbers ---- */
/* What int() and float() read: no blanks around, and the digits of other scripts made ASCII's. */
static struct value plain_digits(struct arena *arena, struct value text)
{
	text = string_strip(text, value_none(), true, true);
	char *copy = arena_alloc(arena, text.count + 1), *to = copy;
	for (const char *at = text.bytes, *end = at + text.count; at < end;) {
		const char *from = at;
		int digit = point_decimal(text_decode(&at, end));
		if (digit >= 0)
			*to++ = (char)('0' + digit);
		else
			to = mempcpy(to, from, (size_t)(at - from));
	}
	*to = 0;
	return value_string_of(copy, (size_t)(to - copy));
}

/* Python's int(text, base): a sign, a prefix that fits the base, single underscores between digits. */
static bool read_int(struct template_call *call, struct value text, int64_t base, int64_t *out)
{
	text = plain_digits(call->arena, text);
	const char *at = text.bytes, *end = at + text.count;
	bool negative = at < end && *at == '-', any = false, under = false;
	uint64_t value = 0;
	if (at < end && (*at == '-' || *at == '+'))
		at++;
	if (end - at > 2 && *at == '0') {
		int prefix = (at[1] | 32) == 'x' ? 16 : (at[1] | 32) == 'o' ? 8 : (at[1] | 32) == 'b' ? 2 : 0;
		if (prefix && (base == prefix || base == 0)) {
			base = prefix;
			at += 2;
			at += *at == '_';
		}
	}
	bool zeros_only = base == 0 && at < end && *at == '0';
	base = base ? base : 10;
	for (; at < end; at++) {
		int digit = *at >= '0' && *at <= '9'             ? *at - '0'
		        : (*at | 32) >= 'a' && (*at | 32) <= 'z' ? (*at | 32) - 'a' + 10
		                                                 : 99;
		if (*at == '_' && any && !under) {
			under = true;
			continue;
		}
		if (digit >= base || (zeros_only && digit) || __builtin_mul_overflow(value, (uint64_t)base, &value)
		        || __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
		any = true;
		under = false;
	}
	if (!any || under || value > (uint64_t)INT64_MAX + negative)
		return false;
	*out = negative ? (int64_t)-value : (int64_t)value;
	return true;
}

static bool digit_at(struct value text, size_t i)
{
	return i < text.count && text.bytes[i] >= '0' && text.bytes[i] <= '9';
}

/* Python's float(text). */
static bool read_float(struct template_call *call, struct value text, double *out)
{
	text = plain_digits(call->arena, text);
	char *digits = arena_alloc(call->arena, text.count + 1), *end = digits;
	FOR_ALL (i, text) {
		char c = text.bytes[i];
		if (c == '_' && i && digit_at(text, i - 1) && digit_at(text, i + 1))
			continue;
		if (!c || c == '(' || (c | 32) == 'x' || (c | 32) == 'p') /* what only C reads */
			return false;
		*end++ = c;
	}
	*end = 0;
	char *read;
	*out = strtod(digits, &read);
	return read == end && read > digits;
}

FILTER(int)
{
	struct value value = call->at[0], other = call->at[1].kind == VALUE_ABSENT ? value_int(0) : call->at[1];
	int64_t base = call_int(call, 2, 10), whole;
	double real;
	if (value.kind == VALUE_UNDEFINED)
		undefined_fail(call->renderer, value);
	if (value.kind == VALUE_STRING) {
		if (base && (base < 2 || base > 36))
			return other;
		if (read_int(call, value, base, &whole))
			return value_int(whole);
		if (!read_float(call, value, &real))
			return other;
	} else if (value.kind == VALUE_FLOAT)
		real = value.real;
	else
		return value_is_integer(value) ? value_int(value_integer(value)) : other;
	if (isnan(real) || (isinf(real) && value.kind == VALUE_STRING))
		return other;
	if (!(fabs(real) < 9223372036854775808.0))
		call_fail(call, "int: the number needs more than 64 bits");
	return value_int((int64_t)real);
}

FILTER(float)
{
	struct value value = call->at[0];
	double real;
	if (value.kind == VALUE_UNDEFINED)
		undefined_fail(call->renderer, value);
	if (value_is_number(value))
		return value_float(value_real(value));
	if (value.kind == VALUE_STRING && read_float(call, value, &real))
		return value_float(real);
	return call->at[1].kind == VALUE_ABSENT ? value_float(0) : call->at[1];
}

FILTER(abs)
{
	struct value value = call->at[0];
	if (value.kind == VALUE_UNDEFINED)
		undefined_fail(call->renderer, value);
	if (!value_is_number(value))
		call_fail(call, "abs: a number is expected, not %s", value_a(value));
	if (value.kind == VALUE_FLOAT)
		return value_float(fabs(value.real));
	return value_integer(value) < 0 ? value_arithmetic(call->renderer, NODE_SUB, value_int(0), value)
	                                : value_int(value_integer(value));
}

/* To even, by the decimal digits that the number really has: as printf rounds. */
static double round_to(double value, int64_t digits)
{
	char text[400];
	if (!isfinite(value) || digits > 323)
		return value;
	if (digits < -308)
		return copysign(0, value);
	if (digits >= 0) {
		snprintf(text, sizeof text, "%.*f", (int)digits, value);
		return strtod(text, NULL);
	}
	double scale = pow(10, (double)-digits), quotient = value / scale, whole = nearbyint(quotient);
	return whole * scale;
}

FILTER(round)
{
	struct value value = call->at[0];
	int64_t digits = call_int(call, 1, 0);
	const char *method = call_string(call, 2, "common");
	if (value.kind == VALUE_UNDEFINED)
		undefined_fail(call->renderer, value);
	bool up = !strcmp(method, "ceil"), down = !strcmp(method, "floor");
	if (!up && !down && strcmp(method, "common"))
		call_fail(call, "round: the method is common, ceil or floor");
	if (!value_is_number(value))
		call_fail(call, "round: a number is expected, not %s", value_a(value));
	if (digits > 400 || digits < -400)
		call_fail(call, "round: to %lld digits", (long long)digits);
	if (!up && !down) {
		if (value.kind == VALUE_FLOAT)
			return value_float(round_to(value.real, digits));
		int64_t whole = value_integer(value), scale = 1;
		for (; digits < 0 && scale <= INT64_MAX / 10; digits++)
			scale *= 10;
		if (digits < 0)
			return value_int(0);
		int64_t rest = whole % scale, twice = 2 * (rest < 0 ? -rest : rest);
		whole -= rest;
		if (twice > scale || (twice == scale && whole / scale % 2))
			return value_arithmetic(
			        call->renderer, NODE_ADD, value_int(whole), value_int(rest < 0 ? -scale : scale));
		return value_int(whole);
	}
	double scale = pow(10, (double)digits), scaled = value_real(value) * scale,
	       whole = up ? ceil(scaled) : floor(scaled);
	if (!isfinite(scaled))
		call_fail(call, "round: the number is too large");
	return value_float(whole / scale == 0 ? 0.0 : whole / scale);
}

FILTER(filesizeformat)
{
	static const char letters[] = "kMGTPEZY";
	double bytes;
	bool binary = call_bool(call, 1, false);
	if (call->at[0].kind == VALUE_STRING ? !read_float(call, call->at[0], &bytes) : !value_is_number(call->at[0]))
		call_fail(call, "filesizeformat: a number is expected, not %s", value_a(call->at[0]));
	if (call->at[0].kind != VALUE_STRING)
		bytes = value_real(call->at[0]);
	double base = binary ? 1024 : 1000, unit = base;
	if (bytes == 1)
		return value_string("1 Byte");
	if (bytes < base)
		return value_printf(call->arena, "%lld Bytes", (long long)bytes);
	int i = 0;
	for (unit = base * base; i < 7 && bytes >= unit; i++)
		unit *= base;
	return value_printf(
	        call->arena, "%.1f %c%sB", base * bytes / unit, binary && !i ? 'K' : letters[i], binary ? "i" : "");
}

/* ---- ours ---- */
FILTER(hex)
{
	int64_t value = call_int(call, 0, 0), width = call_int(call, 1, 0);
	if (width < 0 || width > 64)
		call_fail(call, "hex: a width of 0 to 64 digits");
	uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
	return value_printf(
	        call->arena, "%s0x%0*llx", value < 0 ? "-" : "", width ? (int)width : 1, (unsigned long long)magnitude);
}

/* A C string literal of the bytes, quotes included.  Octal escapes of three digits end by themselves. */
FILTER(cstring)
{
	struct value text = text_of(call, 0);
	size_t mark;
	struct text *out = call->renderer->out;
	capture_begin(call->renderer, &mark);
	text_addc(out, '"');
	FOR_ALL (i, text) {
		unsigned char c = (unsigned char)text.bytes[i];
		if (c == '"' || c == '\\')
			text_printf(out, "\\%c", c);
		else if (c == '\n' || c == '\t')
			text_adds(out, c == '\n' ? "\\n" : "\\t");
		else if (c < 32 || c >= 127 || (c == '?' && i && text.bytes[i - 1] == '?')) /* no trigraphs */
			text_printf(out, "\\%03o", c);
		else
			text_addc(out, (char)c);
	}
	text_addc(out, '"');
	return capture_end(call->renderer, mark);
}

/* The next multiple. */
FILTER(align)
{
	int64_t to = call_int(call, 1, 1);
	if (to <= 0)
		call_fail(call, "align: to a multiple of %lld", (long long)to);
	struct value up =
	        value_arithmetic(call->renderer, NODE_ADD, value_int(call_int(call, 0, 0)), value_int(to - 1));
	return value_arithmetic(call->renderer, NODE_MUL,
	        value_arithmetic(call->renderer, NODE_FLOORDIV, up, value_int(to)), value_int(to));
}

const struct builtin filters_text[] = {
	{ "abs", "value", filter_abs, NULL },
	{ "align", "value to", filter_align, NULL },
	{ "capitalize", "s", filter_capitalize, NULL },
	{ "center", "value width?", filter_center, NULL },
	{ "cstring", "value", filter_cstring, NULL },
	{ "d", "value default_value? boolean?", filter_default, NULL },
	{ "default", "value default_value? boolean?", filter_default, NULL },
	{ "filesizeformat", "value binary?", filter_filesizeformat, NULL },
	{ "float", "value default?", filter_float, NULL },
	{ "format", "value * **", filter_format, NULL },
	{ "hex", "value width?", filter_hex, NULL },
	{ "indent", "s width? first? blank?", filter_indent, NULL },
	{ "int", "value default? base?", filter_int, NULL },
	{ "lower", "s", filter_lower, NULL },
	{ "replace", "s old new count?", filter_replace, NULL },
	{ "pprint", "value", filter_pprint, NULL },
	{ "round", "value precision? method?", filter_round, NULL },
	{ "string", "object", filter_string, NULL },
	{ "title", "s", filter_title, NULL },
	{ "trim", "value chars?", filter_trim, NULL },
	{ "truncate", "s length? killwords? end? leeway?", filter_truncate, NULL },
	{ "upper", "s", filter_upper, NULL },
	{ "wordcount", "s", filter_wordcount, NULL },
	{ "wordwrap", "s width? break_long_words? wrapstring? break_on_hyphens?", filter_wordwrap, NULL },
	{ 0 },
};
