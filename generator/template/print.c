/* print.c: values -> text, as Python's str() and repr() write them. */
#include "template/engine.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEEPEST = 800 }; /* lists inside lists */

/* The lists and dicts around, those of objects too: one that holds itself prints as "[...]". */
struct around {
	const struct around *outer;
	const void *list;
	int depth;
};

static bool inside(const struct renderer *r, const void *list)
{
	for (const struct around *around = r->around; around; around = around->outer)
		if (around->list == list)
			return true;
	return false;
}

/* The shortest digits that read back as the same number.  Up to 15 digits survive the way through a double, so the
 * rounding to 15, less its zeros, is the shortest where it reads back; else 16, else 17 digits.  Below a power of two
 * the doubles lie closer: there the next larger number of 16 digits may read back where the nearest one does not. */
static void shortest_digits(double value, char digits[40])
{
	for (int precision = value < 1e-300 ? 0 : 14; precision < 17; precision++) { /* denormals have fewer digits */
		snprintf(digits, 40, "%.*e", precision, value);
		if (strtod(digits, NULL) == value)
			return;
		if (precision == 15) {
			char up[40];
			memcpy(up, digits, sizeof up);
			char *e = strchr(up, 'e'), *last = e - 1;
			if (*last < '9') {
				++*last;
				if (strtod(up, NULL) == value) {
					memcpy(digits, up, sizeof up);
					return;
				}
			}
		}
	}
}

void print_float(double value, struct text *out)
{
	char digits[40], mantissa[40];
	if (isnan(value) || isinf(value)) {
		text_adds(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
		return;
	}
	if (signbit(value))
		text_addc(out, '-');
	value = fabs(value);
	shortest_digits(value, digits);
	int exponent = atoi(strchr(digits, 'e') + 1), n = 0;
	for (const char *p = digits; *p != 'e'; p++)
		if (*p != '.')
			mantissa[n++] = *p;
	while (n > 1 && mantissa[n - 1] == '0')
		n--;
	mantissa[n] = 0;
	if (exponent < -4 || exponent >= 16)
		text_printf(out, "%c%s%se%c%02d", mantissa[0], n > 1 ? "." : "", mantissa + 1, exponent < 0 ? '-' : '+',
		        abs(exponent));
	else if (exponent < 0)
		text_printf(out, "0.%.*s%s", -exponent - 1, "0000", mantissa);
	else if (n <= exponent + 1)
		text_printf(out, "%s%.*s.0", mantissa, exponent + 1 - n, "0000000000000000");
	else
		text_printf(out, "%.*s.%s", exponent + 1, mantissa, mantissa + exponent + 1);
}

static void print_int(int64_t value, struct text *out)
{
	char digits[24], *p = digits + sizeof digits;
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
	do
		*--p = (char)('0' + rest % 10);
	while (rest /= 10);
	if (value < 0)
		*--p = '-';
	text_add(out, p, (size_t)(digits + sizeof digits - p));
}

static void print_escape(unsigned c, struct text *out)
{
	text_printf(out, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
}

void print_string_repr(const char *bytes, size_t count, struct text *out)
{
	char quote = memchr(bytes, '\'', count) && !memchr(bytes, '"', count) ? '"' : '\'';
	text_addc(out, quote);
	for (const char *at = bytes, *end = bytes + count; at < end;) {
		const char *from = at;
		unsigned c = text_decode(&at, end);
		if (c == (unsigned char)quote || c == '\\')
			text_printf(out, "\\%c", c);
		else if (c == '\n' || c == '\r' || c == '\t')
			text_adds(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
		else if (point_is_printable(c))
			text_add(out, from, (size_t)(at - from));
		else
			print_escape(c, out);
	}
	text_addc(out, quote);
}

static struct around within(const struct renderer *r, const void *list)
{
	return (struct around){ r->around, list, r->around ? r->around->depth + 1 : 1 };
}

static void print_items(struct renderer *r, const struct list *list, struct text *out)
{
	FOR (i, list->count) {
		if (i)
			text_adds(out, ", ");
		print_repr(r, list->at[i], out);
	}
}

static void print_list(struct renderer *r, struct value value, struct text *out)
{
	static const char *const open[] = { "[", "dict_items([", "dict_keys([", "dict_values([", "<generator object" };
	bool tuple = value.kind == VALUE_TUPLE;
	const struct around own = within(r, value.list);
	if (inside(r, value.list)) {
		text_adds(out, tuple ? "(...)" : "[...]");
		return;
	}
	r->around = &own;
	text_adds(out, tuple ? "(" : open[value.view]);
	if (tuple || value.view != VIEW_LAZY)
		print_items(r, value.list, out);
	r->around = own.outer;
	text_adds(out,
	        tuple                             ? value.list->count == 1 ? ",)" : ")"
	                : value.view == VIEW_LAZY ? ">"
	                : value.view              ? "])"
	                                          : "]");
}

static void print_dict(struct renderer *r, const struct dict *dict, struct text *out)
{
	const struct around own = within(r, dict);
	if (inside(r, dict)) {
		text_adds(out, "{...}");
		return;
	}
	r->around = &own;
	text_addc(out, '{');
	FOR (i, dict->count) {
		if (i)
			text_adds(out, ", ");
		print_repr(r, dict->at[i].key, out);
		text_adds(out, ": ");
		print_repr(r, dict->at[i].value, out);
	}
	text_addc(out, '}');
	r->around = own.outer;
}

static void print_object(struct renderer *r, struct value value, struct text *out)
{
	const struct object *object = value.object;
	struct template_call call = { .environment = r->environment,
		.build = r->build,
		.arena = r->arena,
		.user = object->user,
		.name = object->class->name,
		.renderer = r };
	if (!object->class->print || !object->class->print(&call, object->user, out))
		text_printf(out, "<%s>", object->class->name);
}

void print_repr(struct renderer *r, struct value value, struct text *out)
{
	if (r->around && r->around->depth > DEEPEST)
		render_fail(r, "a value of more than %d lists or dicts inside each other cannot be printed", DEEPEST);
	switch (value.kind) {
	case VALUE_STRING: print_string_repr(value.bytes, value.count, out); break;
	case VALUE_LIST:
	case VALUE_TUPLE: print_list(r, value, out); break;
	case VALUE_DICT: print_dict(r, value.dict, out); break;
	case VALUE_UNDEFINED: text_adds(out, "Undefined"); break;
	default: print_value(r, value, out);
	}
}

struct value value_to_repr(struct renderer *r, struct value value, bool ascii)
{
	size_t mark;
	capture_begin(r, &mark);
	print_repr(r, value, r->out);
	value = capture_end(r, mark);
	if (!ascii)
		return value;
	capture_begin(r, &mark);
	for (const char *at = value.bytes, *end = at + value.count; at < end;) {
		unsigned c = text_decode(&at, end);
		if (c < 0x80)
			text_addc(r->out, (char)c);
		else
			print_escape(c, r->out);
	}
	return capture_end(r, mark);
}

void print_value(struct renderer *r, struct value value, struct text *out)
{
	switch (value.kind) {
	case VALUE_STRING: text_add(out, value.bytes, value.count); break;
	case VALUE_INT: print_int(value.integer, out); break;
	case VALUE_FLOAT: print_float(value.real, out); break;
	case VALUE_BOOL: text_adds(out, value.truth ? "True" : "False"); break;
	case VALUE_NONE: text_adds(out, "None"); break;
	case VALUE_UNDEFINED: undefined_use(r, value); break;
	case VALUE_RANGE:
		text_printf(out, value.range->step == 1 ? "range(%lld, %lld)" : "range(%lld, %lld, %lld)",
		        (long long)value.range->start, (long long)value.range->stop, (long long)value.range->step);
		break;
	case VALUE_FUNCTION:
		if (!value.function->macro)
			text_printf(out, "<function %s>", value.function->builtin->name);
		else if (value.function->macro->name == r->environment->words.caller)
			text_adds(out, "<Macro anonymous>");
		else
			text_printf(out, "<Macro '%s'>", value.function->macro->name);
		break;
	case VALUE_OBJECT: print_object(r, value, out); break;
	default: print_repr(r, value, out);
	}
}

/* Blocks of copies, as fields may be a GiB wide. */
void text_repeat(struct text *out, const char *point, size_t count, size_t times)
{
	char block[256];
	const size_t many = sizeof block / count;
	for (size_t i = 0; i < many && i < times; i++)
		memcpy(block + i * count, point, count);
	for (; times > many; times -= many)
		text_add(out, block, many * count);
	text_add(out, block, times * count);
}

void capture_begin(struct renderer *r, size_t *mark) { *mark = r->out->count; }

struct value capture_end(struct renderer *r, size_t mark)
{
	struct value value = value_copy(r->arena, r->out->count > mark ? r->out->at + mark : "", r->out->count - mark);
	if (r->out->at)
		r->out->at[r->out->count = mark] = 0;
	return value;
}

struct value value_to_string(struct renderer *r, struct value value)
{
	size_t mark;
	if (value.kind == VALUE_STRING)
		return value;
	capture_begin(r, &mark);
	print_value(r, value, r->out);
	return capture_end(r, mark);
}
