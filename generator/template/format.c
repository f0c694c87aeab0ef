/* format.c: "%d of %s" % values, as Python does it, and str.format with its little language. */
#include "template/engine.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDEST = 1 << 20 }; /* of a field, and of a precision */

struct spec {
	char fill[5], align, sign, kind; /* kind: the letter at the end, 0 where there is none */
	bool alternate, zero;
	bool no_minus_zero;   /* "z": what rounds to zero has no sign */
	char grouping;        /* ',' or '_' */
	int width, precision; /* precision -1: none */
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
	text_repeat(out, spec->fill, strlen(spec->fill), left);
	text_add(out, text, count);
	text_repeat(out, spec->fill, strlen(spec->fill), pad - left);
}

/* Digits of a number with a separator between groups, and zeros to the width where they are wanted. */
static size_t group(char *to, size_t room, const char *digits, size_t count, char separator, size_t every, size_t width)
{
	size_t n = 0, whole = 0, total = 0;
	while (whole < count && ((digits[whole] >= '0' && digits[whole] <= '9') || (digits[whole] | 32) >= 'a')
	        && (digits[whole] | 32) != 'e')
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
	FOR (i, n)
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

/* `precision`, of % only: at least so many digits. */
static void format_digits(struct renderer *r, struct text *out, const struct spec *spec, bool negative,
        const char *prefix, const char *digits, size_t count, size_t every, char align)
{
	size_t least = spec->precision > 0 ? (size_t)spec->precision : 0;
	if (least > count) {
		char *wide = arena_alloc(r->arena, least + 1);
		memset(wide, '0', least - count);
		memcpy(wide + least - count, digits, count);
		digits = wide;
		count = least;
	}
	format_number(r, out, spec, negative, prefix, digits, count, every, align);
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
	format_digits(r, out, spec, value < 0, prefix, digits, n, base == 10 ? 3 : 4, align);
}

/* Digits as %g has them: `precision` of them, with an exponent where the number is small, or large for so few; zeros at
 * the end go unless `keep`.  With `shows_point` a whole number ends in ".0", and has an exponent sooner.  Not printf's,
 * as that of glibc 2.36 loses the zeros of "%#.6g" where rounding carries. */
static char *general_digits(
        struct arena *arena, double value, int precision, bool keep, bool shows_point, bool capital, size_t *count)
{
	precision = precision > 0 ? precision : 1;
	size_t room = (size_t)snprintf(NULL, 0, "%.*e", precision - 1, value) + 16;
	char *digits = arena_alloc(arena, room);
	snprintf(digits, room, "%.*e", precision - 1, value);
	char *e = strrchr(digits, 'e'), *last = e;
	int exponent = atoi(e + 1);
	bool has_exponent = exponent < -4 || exponent >= precision - shows_point;
	if (!has_exponent) {
		snprintf(digits, room, "%.*f", precision - 1 - exponent, value);
		last = e = digits + strlen(digits);
	}
	bool point = memchr(digits, '.', (size_t)(e - digits));
	while (point && !keep && last[-1] == '0')
		last--;
	last -= point && last[-1] == '.';
	point &= last > digits && memchr(digits, '.', (size_t)(last - digits));
	char tail[16];
	snprintf(tail, sizeof tail, "%s%s",
	        !point && keep                                   ? "."
	                : !point && shows_point && !has_exponent ? ".0"
	                                                         : "",
	        e);
	if (capital && strchr(tail, 'e'))
		*strchr(tail, 'e') = 'E';
	strcpy(last, tail);
	*count = strlen(digits);
	return digits;
}

static bool has_minus(const struct spec *spec, double value, const char *digits, size_t count)
{
	bool zero = spec->no_minus_zero;
	for (size_t i = 0; i < count && digits[i] != 'e' && digits[i] != 'E'; i++)
		zero &= strchr("123456789in", digits[i]) == NULL;
	return signbit(value) && !zero;
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
	char *digits;
	size_t n;
	if ((kind | 32) == 'g')
		digits = general_digits(r->arena, magnitude, precision, spec->alternate, false, kind == 'G', &n);
	else {
		snprintf(format, sizeof format, "%%%s.*%c", spec->alternate ? "#" : "", percent ? 'f' : kind);
		n = (size_t)snprintf(NULL, 0, format, precision, magnitude);
		digits = arena_alloc(r->arena, n + 2);
		snprintf(digits, n + 1, format, precision, magnitude);
	}
	if (percent)
		digits[n++] = '%';
	format_number(r, out, spec, has_minus(spec, value, digits, n), "", digits, n, 3, align);
}

static void put_point(struct renderer *r, const struct spec *spec, int64_t point, char align)
{
	char bytes[4];
	if (point < 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		render_fail(r, "%lld is no code point", (long long)point);
	put_field(r->out, spec, bytes, (size_t)(text_encode(bytes, (unsigned)point) - bytes), 0, align);
}

/* ---- % ---- */
struct percent {
	struct renderer *r;
	struct value arguments;
	const struct list *list;
	size_t next;
};

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
	char align = left ? '<' : zero ? '=' : '>';
	strcpy(spec.fill, zero && !left ? "0" : " ");
	switch (spec.kind) {
	case 's':
	case 'r':
	case 'a': {
		struct value text =
		        spec.kind == 's' ? value_to_string(r, value) : value_to_repr(r, value, spec.kind == 'a');
		size_t count =
		        spec.precision >= 0 ? text_offset(text.bytes, text.count, (size_t)spec.precision) : text.count;
		strcpy(spec.fill, " ");
		put_field(r->out, &spec, text.bytes, count, 0, left ? '<' : '>');
		return;
	}
	case 'c':
		strcpy(spec.fill, " ");
		if (value.kind == VALUE_STRING && text_points(value.bytes, value.count) == 1)
			put_field(r->out, &spec, value.bytes, value.count, 0, left ? '<' : '>');
		else if (value_is_integer(value))
			put_point(r, &spec, value_integer(value), left ? '<' : '>');
		else
			render_fail(r, "%%c wants one character or its code point");
		return;
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		if (value.kind == VALUE_UNDEFINED)
			undefined_fail(r, value);
		if (value.kind == VALUE_FLOAT && (spec.kind == 'd' || spec.kind == 'i' || spec.kind == 'u')) {
			if (isnan(value.real) || isinf(value.real))
				render_fail(r, "%%d wants a finite number");
			if (fabs(value.real) >= 9.2e18) { /* a float that large is a whole number */
				char digits[320];
				int n = snprintf(digits, sizeof digits, "%.0f", fabs(value.real));
				format_digits(r, r->out, &spec, value.real < 0, "", digits, (size_t)n, 3, align);
				return;
			}
			value = value_int((int64_t)value.real);
		}
		if (!value_is_integer(value))
			render_fail(r, "%%%c wants an integer, not %s", spec.kind, value_a(value));
		format_integer(r, r->out, &spec, value_integer(value), align);
		return;
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
		if (value.kind == VALUE_UNDEFINED)
			undefined_fail(r, value);
		if (!value_is_number(value))
			render_fail(r, "%%%c wants a number, not %s", spec.kind, value_a(value));
		format_real(r, r->out, &spec, value_real(value), align);
		return;
	default: render_fail(r, "'%c' is no conversion of a format", spec.kind);
	}
}

struct value format_percent(struct renderer *r, struct value format, struct value arguments)
{
	struct percent p = {
		.r = r, .arguments = arguments, .list = arguments.kind == VALUE_TUPLE ? arguments.list : NULL
	};
	static const struct list none;
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
			const char *close = at; /* brackets inside are the name's */
			int open = 0;
			do
				open += *close == '(' ? 1 : *close == ')' ? -1 : 0;
			while (open && ++close < end);
			if (open || arguments.kind != VALUE_DICT)
				render_fail(
				        r, open ? "a name in a format has no end" : "a format with names wants a dict");
			struct value key = value_string_of(at + 1, (size_t)(close - at - 1));
			struct value *found = dict_find(arguments.dict, key, value_hash_or_fail(r, key));
			if (!found)
				render_fail(r, "the format wants '%.*s', which the dict has not", (int)key.count,
				        key.bytes);
			value = *found;
			p.list = &none; /* what has no name finds nothing any more */
			named = true;
			at = close + 1;
		}
		for (; at < end && memchr("#0- +", *at, 5); at++)
			switch (*at) {
			case '#': spec.alternate = true; break;
			case '0': zero = true; break;
			case '-': left = true; break;
			default: spec.sign = spec.sign == '+' ? '+' : *at;
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
		at += at < end && (*at == 'l' || *at == 'h' || *at == 'L');
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
struct braces {
	struct template_call *call;
	struct renderer *r;
	size_t next;
	bool automatic, manual;
	int depth;
};

static NORETURN void braces_fail(struct braces *b, const char *what) { render_fail(b->r, "format: %s", what); }

/* [[fill]align][sign][z][#][0][width][,][.precision][kind] */
static struct spec read_spec(struct braces *b, struct value text)
{
	struct spec spec = { .fill = " ", .precision = -1 };
	const char *at = text.bytes, *end = at + text.count, *next = at;
	if (at < end) {
		text_decode(&next, end);
		if (next < end && memchr("<>=^", *next, 4)) {
			memcpy(spec.fill, at, (size_t)(next - at));
			spec.fill[next - at] = 0;
			spec.align = *next;
			at = next + 1;
		} else if (memchr("<>=^", *at, 4))
			spec.align = *at++;
	}
	if (at < end && (*at == '+' || *at == '-' || *at == ' '))
		spec.sign = *at++;
	if (at < end && *at == 'z') {
		spec.no_minus_zero = true;
		at++;
	}
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
	if (spec.zero && spec.fill[0] == ' ')
		strcpy(spec.fill, "0");
	return spec;
}

/* A float without a kind: as str() prints it, or as %g with a digit behind the point. */
static void format_plain_real(struct renderer *r, const struct spec *described, double value, char align)
{
	struct spec spec = *described;
	struct value text;
	size_t mark, count;
	bool finite = !isnan(value) && !isinf(value);
	if (finite && spec.precision >= 0) {
		char *digits =
		        general_digits(r->arena, fabs(value), spec.precision, spec.alternate, true, false, &count);
		format_number(r, r->out, &spec, has_minus(&spec, value, digits, count), "", digits, count, 3, align);
		return;
	}
	capture_begin(r, &mark);
	print_float(fabs(value), r->out);
	const char *e = finite ? strchr(r->out->at + mark, 'e') : NULL;
	if (spec.alternate && e && !strchr(r->out->at + mark, '.')) {
		text = value_copy(r->arena, e, strlen(e));
		r->out->count = (size_t)(e - r->out->at);
		text_printf(r->out, ".%s", text.bytes);
	}
	text = capture_end(r, mark);
	spec.grouping = finite ? spec.grouping : 0;
	format_number(r, r->out, &spec, !isnan(value) && has_minus(&spec, value, text.bytes, text.count), "",
	        text.bytes, text.count, 3, align);
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
		if ((spec.kind && spec.kind != 's') || spec.sign || spec.alternate || spec.grouping || spec.align == '='
		        || spec.no_minus_zero)
			braces_fail(b, "a string cannot be formatted so");
		size_t count = spec.precision >= 0 ? text_offset(value.bytes, value.count, (size_t)spec.precision)
		                                   : value.count;
		put_field(r->out, &spec, value.bytes, count, 0, spec.align ? spec.align : '<');
		return;
	}
	if (!value_is_number(value))
		render_fail(r, "format: %s has no such description of a field", value_a(value));
	if (spec.grouping && spec.kind == 'n')
		braces_fail(b, "n takes no separator");
	char align = spec.align ? spec.align : spec.zero ? '=' : '>';
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
	if (spec.precision >= 0 || spec.no_minus_zero || (spec.kind && !strchr("dbocxXn", spec.kind)))
		braces_fail(b, "an integer cannot be formatted so");
	if (spec.kind == 'c') {
		if (spec.sign || spec.alternate || spec.grouping)
			braces_fail(b, "c takes no sign");
		put_point(r, &spec, value_integer(value), align);
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
		FOR (i, call->named_count)
			if (call->named[i].name.count == (size_t)(at - name)
			        && !memcmp(call->named[i].name.bytes, name, (size_t)(at - name)))
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
		bool number = !*rest && key.bytes[0] >= '0' && key.bytes[0] <= '9';
		value = member ? value_getattr(b->r, value, key)
		               : value_item(b->r, value, number ? value_int(index) : key);
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
	if (conversion)
		value = conversion == 's' ? value_to_string(b->r, value)
		                          : value_to_repr(b->r, value, conversion == 'a');
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
