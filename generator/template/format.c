/* format.c: "%d of %s" % values, as Python does it, and str.format with its little language. */
#include "template/engine.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDEST = 1 << 20 };                        /* of a field, and of a precision */

struct spec {
	char fill[5], align, sign, kind;          /* kind: the letter at the end, 0 where there is none */
	bool alternate, zero, comma;
	char grouping;                            /* ',' or '_' */
	int width, precision;                     /* precision -1: none */
};

/* `text` in a field; `sign_length` bytes of sign or prefix stay left of zeros. */
static void put_field(struct text *out, const struct spec *spec, const char *text, size_t count, size_t sign_length, char align)
{
	size_t points = text_points(text, count), pad = (size_t)spec->width > points ? (size_t)spec->width - points : 0;
	size_t left = align == '<' ? 0 : align == '^' ? pad / 2 : pad;
	if (align == '=') {
		text_add(out, text, sign_length);
		text += sign_length;
		count -= sign_length;
	}
	for (size_t i = 0; i < left; i++)
		text_adds(out, spec->fill);
	text_add(out, text, count);
	for (size_t i = left; i < pad; i++)
		text_adds(out, spec->fill);
}

/* Digits of a number with a separator between groups, and zeros to the width where they are wanted. */
static size_t group(char *to, size_t room, const char *digits, size_t count, char separator, size_t every, size_t width)
{
	size_t n = 0, whole = 0, total = 0;
	while (whole < count && ((digits[whole] >= '0' && digits[whole] <= '9') || (digits[whole] | 32) >= 'a') && (digits[whole] | 32) != 'e')
		whole++;
	if (every == 4)
		whole = count;
	size_t zeros = 0;
	for (total = whole; total + (total - 1) / every + (count - whole) < width && total + 2 < room / 2; total++)
		zeros++;
	for (size_t i = 0; i < total && n + 2 < room; i++) {
		if (i && (total - i) % every == 0)
			to[n++] = separator;
		to[n++] = i < zeros ? '0' : digits[i - zeros];
	}
	for (size_t i = whole; i < count && n + 1 < room; i++)
		to[n++] = digits[i];
	return n;
}

static size_t integer_digits(char *to, uint64_t value, unsigned base, bool capital)
{
	char reversed[72];
	size_t n = 0;
	do
		reversed[n++] = (capital ? "0123456789ABCDEF" : "0123456789abcdef")[value % base];
	while (value /= base);
	for (size_t i = 0; i < n; i++)
		to[i] = reversed[n - 1 - i];
	return n;
}

static void format_number(struct renderer *r, struct text *out, const struct spec *spec, bool negative, const char *prefix,
                          const char *digits, size_t count, size_t every, char align)
{
	char *text = arena_alloc(r->arena, count * 2 + (size_t)spec->width * 2 + 32);
	size_t n = 0, prefix_length;
	if (negative || spec->sign == '+' || spec->sign == ' ')
		text[n++] = negative ? '-' : spec->sign;
	memcpy(text + n, prefix, strlen(prefix));
	prefix_length = n += strlen(prefix);
	if (spec->grouping)
		n += group(text + n, count * 2 + (size_t)spec->width * 2 + 8, digits, count, spec->grouping, every,
			align == '=' && spec->fill[0] == '0' && (size_t)spec->width > n ? (size_t)spec->width - n : 0);
	else {
		memcpy(text + n, digits, count);
		n += count;
	}
	put_field(out, spec, text, n, prefix_length, align);
}

static void format_integer(struct renderer *r, struct text *out, const struct spec *spec, int64_t value, char align)
{
	char digits[80];
	char kind = spec->kind;
	unsigned base = kind == 'x' || kind == 'X' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
	const char *prefix = !spec->alternate ? "" : kind == 'x' ? "0x" : kind == 'X' ? "0X" : kind == 'o' ? "0o" : kind == 'b' ? "0b" : "";
	size_t n = integer_digits(digits, value < 0 ? -(uint64_t)value : (uint64_t)value, base, kind == 'X');
	if (spec->precision > (int)n) {                   /* of % only: at least so many digits */
		char *wide = arena_alloc(r->arena, (size_t)spec->precision + 1);
		memset(wide, '0', (size_t)spec->precision - n);
		memcpy(wide + spec->precision - n, digits, n);
		format_number(r, out, spec, value < 0, prefix, wide, (size_t)spec->precision, base == 10 ? 3 : 4, align);
		return;
	}
	format_number(r, out, spec, value < 0, prefix, digits, n, base == 10 ? 3 : 4, align);
}

static void format_real(struct renderer *r, struct text *out, const struct spec *spec, double value, char align)
{
	char format[16], kind = spec->kind;
	int precision = spec->precision < 0 ? 6 : spec->precision;
	double magnitude = fabs(value);
	bool percent = kind == '%';
	if (isnan(value) || isinf(value)) {
		struct spec plain = *spec;
		plain.grouping = 0;
		const char *word = isnan(value) ? "nan" : "inf";
		char text[8];
		snprintf(text, sizeof text, "%s%s", kind == 'F' || kind == 'E' || kind == 'G' ? isnan(value) ? "NAN" : "INF" : word, percent ? "%" : "");
		format_number(r, out, &plain, value < 0, "", text, strlen(text), 3, align);
		return;
	}
	if (percent)
		magnitude *= 100;
	snprintf(format, sizeof format, "%%%s.*%c", spec->alternate ? "#" : "", percent ? 'f' : kind);
	int n = snprintf(NULL, 0, format, precision, magnitude);
	char *digits = arena_alloc(r->arena, (size_t)n + 2);
	snprintf(digits, (size_t)n + 1, format, precision, magnitude);
	if (percent)
		digits[n++] = '%';
	format_number(r, out, spec, signbit(value), "", digits, (size_t)n, 3, align);
}

/* ---- % ---- */
struct percent { struct renderer *r; struct value arguments; const struct list *list; size_t next; };

static struct value percent_next(struct percent *p)
{
	if (p->list && p->next < p->list->count)
		return p->list->at[p->next++];
	if (!p->list && !p->next++)
		return p->arguments;
	render_fail(p->r, "the format wants more values than it is given");
}

static int percent_number(struct percent *p, const char **at, const char *end)
{
	int number = 0;
	if (*at < end && **at == '*') {
		struct value value = percent_next(p);
		++*at;
		if (!value_is_integer(value))
			render_fail(p->r, "a * in a format wants an integer");
		if (value_integer(value) > WIDEST || value_integer(value) < -WIDEST)
			render_limit(p->r, "a field is too wide");
		return (int)value_integer(value);
	}
	for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
		number = number * 10 + (**at - '0');
		if (number > WIDEST)
			render_limit(p->r, "a field is too wide");
	}
	return number;
}

static void percent_one(struct percent *p, const struct spec *parsed, bool left, bool zero, struct value value)
{
	struct renderer *r = p->r;
	struct spec spec = *parsed;
	size_t mark;
	char align = left ? '<' : zero ? '=' : '>';
	strcpy(spec.fill, zero && !left ? "0" : " ");
	switch (spec.kind) {
	case 's': case 'r': case 'a': {
		struct value text;
		capture_begin(r, &mark);
		if (spec.kind == 's')
			print_value(r, value, r->out);
		else
			print_repr(r, value, r->out);
		text = capture_end(r, mark);
		size_t count = spec.precision >= 0 ? text_offset(text.bytes, text.count, (size_t)spec.precision) : text.count;
		strcpy(spec.fill, " ");
		put_field(r->out, &spec, text.bytes, count, 0, left ? '<' : '>');
		return;
	}
	case 'c':
		if (value.kind == VALUE_STRING && text_points(value.bytes, value.count) == 1)
			put_field(r->out, &spec, value.bytes, value.count, 0, left ? '<' : '>');
		else if (value_is_integer(value) && value_integer(value) >= 0 && value_integer(value) < 128)
			put_field(r->out, &spec, (char[]){ (char)value_integer(value) }, 1, 0, left ? '<' : '>');
		else
			render_fail(r, "%%c wants one character or an ASCII code");
		return;
	case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
		if (value.kind == VALUE_UNDEFINED)
			undefined_fail(r, value);
		if (value.kind == VALUE_FLOAT && (spec.kind == 'd' || spec.kind == 'i' || spec.kind == 'u')) {
			if (!(fabs(value.real) < 9.2e18))
				render_fail(r, "%%d wants a number of 64 bits");
			value = value_int((int64_t)value.real);
		}
		if (!value_is_integer(value))
			render_fail(r, "%%%c wants an integer, not a %s", spec.kind, value_type(value));
		format_integer(r, r->out, &spec, value_integer(value), align);
		return;
	case 'e': case 'E': case 'f': case 'F': case 'g': case 'G':
		if (value.kind == VALUE_UNDEFINED)
			undefined_fail(r, value);
		if (!value_is_number(value))
			render_fail(r, "%%%c wants a number, not a %s", spec.kind, value_type(value));
		format_real(r, r->out, &spec, value_real(value), align);
		return;
	default:
		render_fail(r, "'%c' is no conversion of a format", spec.kind);
	}
}

struct value format_percent(struct renderer *r, struct value format, struct value arguments)
{
	struct percent p = { .r = r, .arguments = arguments, .list = arguments.kind == VALUE_TUPLE ? arguments.list : NULL };
	size_t mark;
	bool named = false;
	if (arguments.kind == VALUE_UNDEFINED)
		undefined_use(r, arguments);
	capture_begin(r, &mark);
	for (const char *at = format.bytes, *end = at + format.count; at < end;) {
		const char *percent = memchr(at, '%', (size_t)(end - at));
		text_add(r->out, at, (size_t)((percent ? percent : end) - at));
		if (!percent)
			break;
		struct spec spec = { .precision = -1 };
		struct value value = { 0 };
		bool left = false, zero = false;
		at = percent + 1;
		if (at < end && *at == '(') {
			const char *close = memchr(at, ')', (size_t)(end - at));
			if (!close || arguments.kind != VALUE_DICT)
				render_fail(r, close ? "a format with names wants a dict" : "a name in a format has no end");
			struct value key = value_string_of(at + 1, (size_t)(close - at - 1));
			struct value *found = dict_find(arguments.dict, key, value_hash_or_fail(r, key));
			if (!found)
				render_fail(r, "the format wants '%.*s', which the dict has not", (int)key.count, key.bytes);
			value = *found;
			named = true;
			at = close + 1;
		}
		for (; at < end && strchr("#0- +", *at) && *at; at++)
			switch (*at) {
			case '#': spec.alternate = true; break;
			case '0': zero = true; break;
			case '-': left = true; break;
			default:  spec.sign = spec.sign == '+' ? '+' : *at;
			}
		spec.width = percent_number(&p, &at, end);
		if (spec.width < 0) {
			left = true;
			spec.width = -spec.width;
		}
		if (at < end && *at == '.') {
			at++;
			spec.precision = percent_number(&p, &at, end);
			spec.precision = spec.precision < 0 ? 0 : spec.precision;
		}
		while (at < end && (*at == 'l' || *at == 'h' || *at == 'L'))
			at++;
		if (at == end)
			render_fail(r, "the format ends inside a conversion");
		spec.kind = *at++;
		if (spec.kind == '%') {
			text_addc(r->out, '%');
			continue;
		}
		percent_one(&p, &spec, left, zero, value.kind == VALUE_ABSENT ? percent_next(&p) : value);
	}
	bool all = named || arguments.kind == VALUE_DICT || (p.list ? p.next >= p.list->count : p.next > 0);
	if (!all && !(arguments.kind == VALUE_LIST && !p.next))
		render_fail(r, "the format wants fewer values than it is given");
	return capture_end(r, mark);
}

/* ---- str.format ---- */
struct value format_braces(struct template_call *call)
{
	call_fail(call, "str.format is not there yet; use %% or the format filter");
}
