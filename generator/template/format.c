/* format.c: "%d of %s" % values, as Python does it, and str.format with its little language. */
#include "template/engine.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDEST = 1 << 20 };                        /* of a field, and of a precision */

struct spec {
	char fill[5], align, sign, kind;          /* kind: the letter at the end, 0 where there is none */
	bool alternate, zero;
	char grouping;                            /* ',' or '_' */
	int width, precision;                     /* precision -1: none */
};

/* `text` in a field; `sign_length` bytes of sign or prefix stay left of zeros. */
static void put_field(
	struct text *out, const struct spec *spec, const char *text, size_t count, size_t sign_length, char align)
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
	while (whole < count && ((digits[whole] >= '0' && digits[whole] <= '9') || (digits[whole] | 32) >= 'a') &&
		(digits[whole] | 32) != 'e')
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

static void format_number(struct renderer *r, struct text *out, const struct spec *spec, bool negative,
	const char *prefix, const char *digits, size_t count, size_t every, char align)
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
	const char *prefix = !spec->alternate ? ""
		: kind == 'x'                 ? "0x"
		: kind == 'X'                 ? "0X"
		: kind == 'o'                 ? "0o"
		: kind == 'b'                 ? "0b"
					      : "";
	size_t n = integer_digits(digits, value < 0 ? -(uint64_t)value : (uint64_t)value, base, kind == 'X');
	if (spec->precision > (int)n) {                   /* of % only: at least so many digits */
		char *wide = arena_alloc(r->arena, (size_t)spec->precision + 1);
		memset(wide, '0', (size_t)spec->precision - n);
		memcpy(wide + spec->precision - n, digits, n);
		format_number(
			r, out, spec, value < 0, prefix, wide, (size_t)spec->precision, base == 10 ? 3 : 4, align);
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
		snprintf(text, sizeof text, "%s%s",
			kind == 'F' || kind == 'E' || kind == 'G' ? isnan(value) ? "NAN" : "INF" : word,
			percent ? "%" : "");
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
		size_t count =
			spec.precision >= 0 ? text_offset(text.bytes, text.count, (size_t)spec.precision) : text.count;
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
	struct percent p = {
		.r = r, .arguments = arguments, .list = arguments.kind == VALUE_TUPLE ? arguments.list : NULL
	};
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
				render_fail(r,
					close ? "a format with names wants a dict" : "a name in a format has no end");
			struct value key = value_string_of(at + 1, (size_t)(close - at - 1));
			struct value *found = dict_find(arguments.dict, key, value_hash_or_fail(r, key));
			if (!found)
				render_fail(r, "the format wants '%.*s', which the dict has not", (int)key.count,
					key.bytes);
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
struct braces { struct template_call *call; struct renderer *r; size_t next; bool automatic, manual; int depth; };

static NORETURN void braces_fail(struct braces *b, const char *what) { render_fail(b->r, "format: %s", what); }

/* [[fill]align][sign][#][0][width][,][.precision][kind] */
static struct spec read_spec(struct braces *b, struct value text)
{
	struct spec spec = { .fill = " ", .precision = -1 };
	const char *at = text.bytes, *end = at + text.count, *next = at;
	if (at < end) {
		text_decode(&next, end);
		if (next < end && strchr("<>=^", *next)) {
			memcpy(spec.fill, at, (size_t)(next - at));
			spec.fill[next - at] = 0;
			spec.align = *next;
			at = next + 1;
		} else if (strchr("<>=^", *at))
			spec.align = *at++;
	}
	if (at < end && (*at == '+' || *at == '-' || *at == ' '))
		spec.sign = *at++;
	if (at < end && *at == '#') {
		spec.alternate = true;
		at++;
	}
	if (at < end && *at == '0') {
		spec.zero = true;
		at++;
	}
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		if ((spec.width = spec.width * 10 + (*at - '0')) > WIDEST)
			render_limit(b->r, "a field is too wide");
	if (at < end && (*at == ',' || *at == '_'))
		spec.grouping = *at++;
	if (at < end && *at == '.') {
		if (++at == end || *at < '0' || *at > '9')
			braces_fail(b, "a precision is missing");
		for (spec.precision = 0; at < end && *at >= '0' && *at <= '9'; at++)
			if ((spec.precision = spec.precision * 10 + (*at - '0')) > WIDEST)
				render_limit(b->r, "a field is too wide");
	}
	if (at < end)
		spec.kind = *at++;
	if (at < end)
		braces_fail(b, "a broken description of a field");
	if (spec.zero && !spec.align) {
		strcpy(spec.fill, "0");
		spec.align = '=';
	} else if (spec.zero && spec.fill[0] == ' ')
		strcpy(spec.fill, "0");
	return spec;
}

/* A float without a kind: as str() prints it, or as %g with a digit behind the point. */
static void format_plain_real(struct renderer *r, const struct spec *spec, double value, char align)
{
	struct value text;
	size_t mark;
	char exponent[48];
	capture_begin(r, &mark);
	if (spec->precision < 0 || isnan(value) || isinf(value))
		print_float(fabs(value), r->out);
	else {
		int precision = spec->precision ? spec->precision : 1;
		snprintf(exponent, sizeof exponent, "%.*e", precision > 20 ? 20 : precision - 1, value);
		int power = atoi(strchr(exponent, 'e') + 1);
		if (value != 0 && (power < -4 || power >= precision - 1)) {
			int digits = precision - 1;
			text_printf(r->out, "%.*e", digits, fabs(value));
			char *e = strrchr(r->out->at, 'e'), *last = e;       /* %g drops zeros at the end */
			while (digits && last[-1] == '0')
				last--;
			if (digits && last[-1] == '.')
				last--;
			memmove(last, e, strlen(e) + 1);
			r->out->count = strlen(r->out->at + mark) + mark;
		} else {
			text_printf(r->out, "%.*g", precision, fabs(value));
			if (!strchr(r->out->at + mark, '.'))
				text_adds(r->out, ".0");
		}
	}
	text = capture_end(r, mark);
	format_number(r, r->out, spec, signbit(value) && !isnan(value), "", text.bytes, text.count, 3, align);
}

static void format_value(struct braces *b, struct value value, struct value description)
{
	struct renderer *r = b->r;
	if (!description.count) {
		print_value(r, value, r->out);
		return;
	}
	struct spec spec = read_spec(b, description);
	if (value.kind == VALUE_UNDEFINED)
		undefined_fail(r, value);
	if (value.kind == VALUE_STRING) {
		if ((spec.kind && spec.kind != 's') || spec.sign || spec.alternate || spec.grouping ||
			(spec.align == '=' && !spec.zero))
			braces_fail(b, "a string cannot be formatted so");
		size_t count = spec.precision >= 0 ? text_offset(value.bytes, value.count, (size_t)spec.precision)
						   : value.count;
		put_field(r->out, &spec, value.bytes, count, 0, spec.align && spec.align != '=' ? spec.align : '<');
		return;
	}
	if (!value_is_number(value))
		render_fail(r, "format: a %s has no such description of a field", value_type(value));
	char align = spec.align ? spec.align : '>';
	bool real_kind = spec.kind && strchr("eEfFgG%", spec.kind);
	if (value.kind == VALUE_FLOAT || real_kind) {
		if (spec.kind && !real_kind && spec.kind != 'n')
			braces_fail(b, "a float cannot be formatted so");
		if (spec.kind == 'n')
			spec.kind = 'g';
		if (!spec.kind)
			format_plain_real(r, &spec, value_real(value), align);
		else
			format_real(r, r->out, &spec, value_real(value), align);
		return;
	}
	if (spec.precision >= 0 || (spec.kind && !strchr("dbocxXn", spec.kind)))
		braces_fail(b, "an integer cannot be formatted so");
	if (spec.kind == 'c') {
		int64_t c = value_integer(value);
		if (c < 0 || c > 127 || spec.sign || spec.alternate)
			braces_fail(b, "c wants an ASCII code");
		put_field(r->out, &spec, (char[]){ (char)c }, 1, 0, spec.align ? spec.align : '<');
		return;
	}
	if (spec.grouping == ',' && spec.kind && strchr("bocxX", spec.kind))
		braces_fail(b, "commas group decimal digits");
	format_integer(r, r->out, &spec, value_integer(value), align);
}

/* name.member[item]: the value. */
static struct value field_value(struct braces *b, const char *at, const char *end)
{
	struct template_call *call = b->call;
	const char *name = at;
	struct value value = { 0 };
	bool digits = true;
	size_t number = 0;
	for (; at < end && *at != '.' && *at != '['; at++) {
		digits &= *at >= '0' && *at <= '9';
		number = digits && number < 100000 ? number * 10 + (size_t)(*at - '0') : number;
	}
	if (at == name || digits) {
		*(at == name ? &b->automatic : &b->manual) = true;
		if (b->automatic && b->manual)
			braces_fail(b, "numbered and unnumbered fields are mixed");
		number = at == name ? b->next++ : number;
		if (number + 1 >= call->count)
			braces_fail(b, "more values are wanted than are given");
		value = call->at[number + 1];
	} else
		for (size_t i = 0; i < call->named_count; i++)
			if (call->named[i].name.count == (size_t)(at - name) &&
				!memcmp(call->named[i].name.bytes, name, (size_t)(at - name)))
				value = call->named[i].value;
	if (value.kind == VALUE_ABSENT)
		render_fail(b->r, "format: there is no argument '%.*s'", (int)(at - name), name);
	while (at < end) {
		bool member = *at++ == '.';
		const char *from = at;
		while (at < end && (member ? *at != '.' && *at != '[' : *at != ']'))
			at++;
		if (at == from || (!member && at == end))
			braces_fail(b, "a broken name of a field");
		struct value key = value_copy(b->r->arena, from, (size_t)(at - from));
		char *rest;
		long long index = strtoll(key.bytes, &rest, 10);
		if (!member && !*rest && key.bytes[0] >= '0' && key.bytes[0] <= '9')
			key = value_int(index);
		value = member ? value_attribute(b->r, value, key.bytes, key.count, string_hash(key.bytes, key.count))
			       : value_item(b->r, value, key);
		if (value.kind == VALUE_UNDEFINED)
			undefined_fail(b->r, value);
		at += !member;
		if (!member && at < end && *at != '.' && *at != '[')
			braces_fail(b, "a broken name of a field");
	}
	return value;
}

static void braces_text(struct braces *b, const char *at, const char *end);

/* From behind the opening brace; returns what is behind the closing one. */
static const char *braces_field(struct braces *b, const char *at, const char *end)
{
	const char *name = at, *name_end, *close;
	int open = 1;
	char conversion = 0;
	bool in_brackets = false;
	while (at < end && (in_brackets || (*at != '!' && *at != ':' && *at != '}' && *at != '{'))) {
		in_brackets = *at == '[' || (in_brackets && *at != ']');
		at++;
	}
	name_end = at;
	if (at < end && *at == '!') {
		if (end - at < 3 || !memchr("rsa", at[1], 3) || (at[2] != ':' && at[2] != '}'))
			braces_fail(b, "after ! stands r, s or a");
		conversion = at[1];
		at += 2;
	}
	if (at < end && *at == ':')
		at++;
	for (close = at; close < end && open; close++)
		open += *close == '{' ? 1 : *close == '}' ? -1 : 0;
	if (open)
		braces_fail(b, "a { without its }");
	close--;
	if (*name_end == '{' || (at == name_end && close != at))
		braces_fail(b, "a broken name of a field");
	struct value value = field_value(b, name, name_end), description;
	size_t mark;
	if (conversion) {
		capture_begin(b->r, &mark);
		if (conversion == 's')
			print_value(b->r, value, b->r->out);
		else
			print_repr(b->r, value, b->r->out);
		value = capture_end(b->r, mark);
	}
	if (++b->depth > 2)
		braces_fail(b, "fields nested too deeply");
	capture_begin(b->r, &mark);
	braces_text(b, at, close);
	description = capture_end(b->r, mark);
	b->depth--;
	format_value(b, value, description);
	return close + 1;
}

static void braces_text(struct braces *b, const char *at, const char *end)
{
	while (at < end) {
		char c = *at++;
		if (c != '{' && c != '}') {
			text_addc(b->r->out, c);
			continue;
		}
		if (at < end && *at == c && !(b->depth && c == '}')) {
			text_addc(b->r->out, c);
			at++;
			continue;
		}
		if (c == '}')
			braces_fail(b, "a } without its {");
		at = braces_field(b, at, end);
	}
}

struct value format_braces(struct template_call *call)
{
	struct braces braces = { .call = call, .r = call->renderer };
	size_t mark;
	capture_begin(call->renderer, &mark);
	braces_text(&braces, call->at[0].bytes, call->at[0].bytes + call->at[0].count);
	return capture_end(call->renderer, mark);
}
