/* strings.c: the methods of strings, and what filters share with them. */
#include "template/engine.h"

/* A string under work is what is appended to the output and taken back. */
#define OUT call->renderer->out

static struct value self_string(struct template_call *call) { return call->at[0]; }

static struct value string_argument(struct template_call *call, size_t i)
{
	if (call->at[i].kind == VALUE_UNDEFINED)
		undefined_use(call->renderer, call->at[i]);
	if (call->at[i].kind != VALUE_STRING)
		call_fail(call, "%s: a string is expected, not %s", call->name, value_a(call->at[i]));
	return call->at[i];
}

/* ---- case and kind of letters ---- */
#define CASE(method, casing) \
	static struct value str_##method(struct template_call *call) \
	{ \
		return string_case(call->renderer, self_string(call), casing); \
	}
CASE(upper, CASE_UPPER)
CASE(lower, CASE_LOWER)
CASE(swapcase, CASE_SWAP)
CASE(capitalize, CASE_CAPITALIZE)
CASE(title, CASE_TITLE)
CASE(casefold, CASE_FOLD)

/* Are all code points of that kind, and is there one? */
static bool all_points(struct value text, bool (*is)(unsigned))
{
	const char *at = text.bytes, *end = at + text.count;
	while (at < end)
		if (!is(text_decode(&at, end)))
			return false;
	return text.count;
}
#define ALL(method, is) \
	static struct value str_##method(struct template_call *call) \
	{ \
		return value_bool(all_points(self_string(call), is)); \
	}
ALL(isalpha, point_is_letter)
ALL(isalnum, point_is_alnum)
ALL(isdecimal, point_is_decimal)
ALL(isdigit, point_is_digit)
ALL(isnumeric, point_is_numeric)
ALL(isspace, point_is_space)

static bool ascii(unsigned c) { return c < 128; }
static struct value str_isascii(struct template_call *call)
{
	return value_bool(!call->at[0].count || all_points(call->at[0], ascii));
}
static struct value str_isprintable(struct template_call *call)
{
	return value_bool(!call->at[0].count || all_points(call->at[0], point_is_printable));
}

bool string_has_case(struct value text, bool wanted_upper)
{
	bool any = false;
	for (const char *at = text.bytes, *end = at + text.count; at < end;) {
		unsigned c = text_decode(&at, end);
		bool lower = point_is_lower(c), upper = point_is_upper(c);
		if (point_is_title(c) || (wanted_upper ? lower : upper))
			return false;
		any |= lower || upper;
	}
	return any;
}
static struct value str_islower(struct template_call *call) { return value_bool(string_has_case(call->at[0], false)); }
static struct value str_isupper(struct template_call *call) { return value_bool(string_has_case(call->at[0], true)); }

/* Capitals stand where words begin, and nowhere else. */
static struct value str_istitle(struct template_call *call)
{
	bool any = false, inside = false;
	for (const char *at = call->at[0].bytes, *end = at + call->at[0].count; at < end;) {
		unsigned c = text_decode(&at, end);
		bool lower = point_is_lower(c), capital = point_is_upper(c) || point_is_title(c);
		if (inside ? capital : lower && !capital)
			return value_bool(false);
		inside = lower || capital;
		any |= inside;
	}
	return value_bool(any);
}

static struct value str_isidentifier(struct template_call *call)
{
	const char *at = call->at[0].bytes, *end = at + call->at[0].count;
	bool good = at < end && point_begins_name(text_decode(&at, end));
	while (good && at < end)
		good = point_in_name(text_decode(&at, end));
	return value_bool(good);
}

/* ---- stripping ---- */
static bool in_set(struct value set, const char *at, size_t count)
{
	if (set.kind == VALUE_ABSENT || set.kind == VALUE_NONE)
		return point_is_space(text_decode(&at, at + count));
	for (const char *p = set.bytes, *end = p + set.count; p < end;) {
		const char *from = p;
		text_decode(&p, end);
		if ((size_t)(p - from) == count && !memcmp(from, at, count))
			return true;
	}
	return false;
}

struct value string_strip(struct value text, struct value set, bool left, bool right)
{
	const char *at = text.bytes, *end = at + text.count;
	while (left && at < end) {
		const char *next = at;
		text_decode(&next, end);
		if (!in_set(set, at, (size_t)(next - at)))
			break;
		at = next;
	}
	while (right && end > at) {
		const char *last = text_back(at, end);
		if (!in_set(set, last, (size_t)(end - last)))
			break;
		end = last;
	}
	return value_string_of(at, (size_t)(end - at));
}

static struct value set_argument(struct template_call *call)
{
	return call->at[1].kind == VALUE_ABSENT || call->at[1].kind == VALUE_NONE ? value_none()
	                                                                          : string_argument(call, 1);
}
static struct value str_strip(struct template_call *call)
{
	return string_strip(call->at[0], set_argument(call), true, true);
}
static struct value str_lstrip(struct template_call *call)
{
	return string_strip(call->at[0], set_argument(call), true, false);
}
static struct value str_rstrip(struct template_call *call)
{
	return string_strip(call->at[0], set_argument(call), false, true);
}

/* ---- searching ---- */
static const char *find(const char *at, size_t count, struct value what)
{
	return what.count ? memmem(at, count, what.bytes, what.count) : at;
}

/* From the end, by Knuth, Morris and Pratt: no text and no substring take more than a few steps for each byte. */
static const char *find_last(struct arena *arena, const char *at, size_t count, struct value what)
{
	if (!what.count || what.count > count)
		return what.count ? NULL : at + count;
	const char *last = what.bytes + what.count - 1; /* the substring is read from here to its begin */
	uint32_t *shorter = arena_new_array(arena, uint32_t, what.count), fits = 0;
	for (size_t i = 1; i < what.count; i++) {
		while (fits && last[-(ptrdiff_t)i] != last[-(ptrdiff_t)fits])
			fits = shorter[fits - 1];
		fits += last[-(ptrdiff_t)i] == last[-(ptrdiff_t)fits];
		shorter[i] = fits;
	}
	fits = 0;
	for (const char *p = at + count; p-- > at;) {
		while (fits && *p != last[-(ptrdiff_t)fits])
			fits = shorter[fits - 1];
		fits += *p == last[-(ptrdiff_t)fits];
		if (fits == what.count)
			return p;
	}
	return NULL;
}

/* Bounds in code points -> bytes of the string. */
static struct value bounded(struct template_call *call, size_t from, size_t *skipped)
{
	struct value text = self_string(call);
	int64_t points = (int64_t)text_points(text.bytes, text.count), start = 0, stop = points;
	if (from < call->count && call->at[from].kind != VALUE_NONE)
		start = call_int(call, from, 0);
	if (from + 1 < call->count && call->at[from + 1].kind != VALUE_NONE)
		stop = call_int(call, from + 1, points);
	start = start < 0 ? start + points < 0 ? 0 : start + points : start;
	stop = stop < 0 ? stop + points < 0 ? 0 : stop + points : stop > points ? points : stop;
	*skipped = (size_t)start;
	if (start > stop)
		return value_none();
	size_t a = text_offset(text.bytes, text.count, (size_t)start);
	return value_string_of(text.bytes + a, text_offset(text.bytes + a, text.count - a, (size_t)(stop - start)));
}

static struct value search(struct template_call *call, bool last, bool fails)
{
	size_t skipped;
	struct value what = string_argument(call, 1), text = bounded(call, 2, &skipped);
	const char *at = text.kind == VALUE_NONE ? NULL
	        : last                           ? find_last(call->arena, text.bytes, text.count, what)
	                                         : find(text.bytes, text.count, what);
	if (!at && fails)
		call_fail(call, "%s: the substring is not there", call->name);
	return value_int(at ? (int64_t)(skipped + text_points(text.bytes, (size_t)(at - text.bytes))) : -1);
}
static struct value str_find(struct template_call *call) { return search(call, false, false); }
static struct value str_rfind(struct template_call *call) { return search(call, true, false); }
static struct value str_index(struct template_call *call) { return search(call, false, true); }
static struct value str_rindex(struct template_call *call) { return search(call, true, true); }

static struct value str_count(struct template_call *call)
{
	size_t skipped;
	struct value what = string_argument(call, 1), text = bounded(call, 2, &skipped);
	int64_t n = 0;
	if (text.kind == VALUE_NONE)
		return value_int(0);
	if (!what.count)
		return value_int((int64_t)text_points(text.bytes, text.count) + 1);
	for (const char *at = text.bytes, *end = at + text.count, *next; (next = find(at, (size_t)(end - at), what));
	        at = next + what.count)
		n++;
	return value_int(n);
}

static bool at_edge(struct value text, struct value what, bool end)
{
	return what.count <= text.count
	        && !memcmp(end ? text.bytes + text.count - what.count : text.bytes, what.bytes, what.count);
}

static struct value edge(struct template_call *call, bool end)
{
	size_t skipped;
	struct value text = bounded(call, 2, &skipped), what = call->at[1];
	if (what.kind == VALUE_TUPLE) {
		FOR (i, what.list->count)
			if (what.list->at[i].kind != VALUE_STRING)
				call_fail(call, "%s: strings are expected, not %s", call->name,
				        value_a(what.list->at[i]));
			else if (text.kind != VALUE_NONE && at_edge(text, what.list->at[i], end))
				return value_bool(true);
		return value_bool(false);
	}
	return value_bool(text.kind != VALUE_NONE && at_edge(text, string_argument(call, 1), end));
}
static struct value str_startswith(struct template_call *call) { return edge(call, false); }
static struct value str_endswith(struct template_call *call) { return edge(call, true); }

static struct value str_removeprefix(struct template_call *call)
{
	struct value text = call->at[0], what = string_argument(call, 1);
	return at_edge(text, what, false) ? value_string_of(text.bytes + what.count, text.count - what.count) : text;
}

static struct value str_removesuffix(struct template_call *call)
{
	struct value text = call->at[0], what = string_argument(call, 1);
	return at_edge(text, what, true) ? value_string_of(text.bytes, text.count - what.count) : text;
}

/* ---- replacing, joining, splitting ---- */
struct value string_replace(struct renderer *r, struct value text, struct value old, struct value with, int64_t times)
{
	size_t mark;
	const char *at = text.bytes, *end = at + text.count, *next;
	capture_begin(r, &mark);
	while (times && (next = old.count || at < end ? find(at, (size_t)(end - at), old) : NULL)) {
		times--;
		text_add(r->out, at, (size_t)(next - at));
		text_add(r->out, with.bytes, with.count);
		at = next + old.count;
		if (!old.count) { /* between all code points */
			next = at;
			text_decode(&next, end);
			text_add(r->out, at, (size_t)(next - at));
			at = next;
			if (at == end && times)
				text_add(r->out, with.bytes, with.count);
		}
	}
	if (!text.count && !old.count && times)
		text_add(r->out, with.bytes, with.count);
	text_add(r->out, at, (size_t)(end - at));
	return capture_end(r, mark);
}

static struct value str_replace(struct template_call *call)
{
	return string_replace(
	        call->renderer, call->at[0], string_argument(call, 1), string_argument(call, 2), call_int(call, 3, -1));
}

static struct value str_join(struct template_call *call)
{
	struct renderer *r = call->renderer;
	struct iterator items = iterate(r, call->at[1]);
	size_t mark, n = 0;
	capture_begin(r, &mark);
	for (struct value item; iterate_next(r, &items, &item); n++) {
		if (item.kind == VALUE_UNDEFINED)
			undefined_use(r, item);
		if (item.kind != VALUE_STRING)
			call_fail(call, "join: item %zu is %s, not a string", n, value_a(item));
		if (n)
			text_add(r->out, call->at[0].bytes, call->at[0].count);
		text_add(r->out, item.bytes, item.count);
	}
	return capture_end(r, mark);
}

static void add_part(struct list *list, const char *at, const char *end)
{
	list_add(list, value_string_of(at, (size_t)(end - at)));
}

static struct value split_space(struct template_call *call, int64_t times)
{
	struct list *list = list_new(call->arena, 0);
	struct value rest = call->at[0];
	for (;;) {
		rest = string_strip(rest, value_none(), true, false);
		const char *at = rest.bytes, *end = at + rest.count, *next = at, *from;
		if (!rest.count)
			break;
		if (times-- == 0) {
			list_add(list, rest);
			break;
		}
		do
			from = next;
		while (next < end && !point_is_space(text_decode(&next, end)) && ((from = next), true));
		add_part(list, at, from);
		rest = value_string_of(from, (size_t)(end - from));
	}
	return list_value(list, VIEW_LIST);
}

static struct value rsplit_space(struct template_call *call, int64_t times)
{
	struct list *list = list_new(call->arena, 0);
	struct value rest = call->at[0];
	for (;;) {
		rest = string_strip(rest, value_none(), false, true);
		const char *from = rest.bytes, *end = from + rest.count;
		if (!rest.count)
			break;
		if (times-- == 0) {
			list_add(list, rest);
			break;
		}
		for (const char *last = end, *next; last > rest.bytes; last = from) {
			next = from = text_back(rest.bytes, last);
			if (point_is_space(text_decode(&next, end))) {
				from = next;
				break;
			}
		}
		add_part(list, from, end);
		rest = value_string_of(rest.bytes, (size_t)(from - rest.bytes));
	}
	FOR (i, list->count / 2) {
		struct value swap = list->at[i];
		list->at[i] = list->at[list->count - 1 - i];
		list->at[list->count - 1 - i] = swap;
	}
	return list_value(list, VIEW_LIST);
}

static struct value split(struct template_call *call, bool from_right)
{
	int64_t times = call_int(call, 2, -1);
	if (call->at[1].kind == VALUE_ABSENT || call->at[1].kind == VALUE_NONE)
		return from_right ? rsplit_space(call, times) : split_space(call, times);
	struct value by = string_argument(call, 1), text = call->at[0];
	struct list *list = list_new(call->arena, 0);
	const char *at = text.bytes, *end = at + text.count, *next;
	if (!by.count)
		call_fail(call, "split: the separator is empty");
	while (times) {
		size_t count = (size_t)(end - at);
		next = from_right ? find_last(call->arena, at, count, by) : find(at, count, by);
		if (!next)
			break;
		times--;
		if (from_right) {
			add_part(list, next + by.count, end);
			end = next;
		} else {
			add_part(list, at, next);
			at = next + by.count;
		}
	}
	add_part(list, at, end);
	for (size_t i = 0; from_right && i < list->count / 2; i++) {
		struct value swap = list->at[i];
		list->at[i] = list->at[list->count - 1 - i];
		list->at[list->count - 1 - i] = swap;
	}
	return list_value(list, VIEW_LIST);
}
static struct value str_split(struct template_call *call) { return split(call, false); }
static struct value str_rsplit(struct template_call *call) { return split(call, true); }

static bool line_end(unsigned c)
{
	return (c >= 10 && c <= 13) || (c >= 28 && c <= 30) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

struct list *string_lines(struct arena *arena, struct value text, bool keep)
{
	struct list *list = list_new(arena, 0);
	for (const char *at = text.bytes, *end = at + text.count; at < end;) {
		const char *p = at, *from = at;
		while (p < end && !line_end(text_decode(&p, end)))
			from = p;
		if (p > from && *from == '\r' && p < end && *p == '\n')
			p++;
		add_part(list, at, keep ? p : from);
		at = p;
	}
	return list;
}

static struct value str_splitlines(struct template_call *call)
{
	return list_value(string_lines(call->arena, call->at[0], call_bool(call, 1, false)), VIEW_LIST);
}

static struct value partition(struct template_call *call, bool from_right)
{
	struct value text = call->at[0], by = string_argument(call, 1), parts[3];
	if (!by.count)
		call_fail(call, "partition: the separator is empty");
	const char *at =
	        from_right ? find_last(call->arena, text.bytes, text.count, by) : find(text.bytes, text.count, by);
	FOR (i, 3)
		parts[i] = value_string("");
	if (!at)
		parts[from_right ? 2 : 0] = text;
	else {
		parts[0] = value_string_of(text.bytes, (size_t)(at - text.bytes));
		parts[1] = by;
		parts[2] = value_string_of(at + by.count, text.count - parts[0].count - by.count);
	}
	return value_tuple(call->arena, parts, 3);
}
static struct value str_partition(struct template_call *call) { return partition(call, false); }
static struct value str_rpartition(struct template_call *call) { return partition(call, true); }

/* ---- padding ---- */
struct value string_pad(struct renderer *r, struct value text, int64_t width, struct value fill, int where)
{
	int64_t points = (int64_t)text_points(text.bytes, text.count), pad = width > points ? width - points : 0;
	int64_t left = where < 0 ? 0 : where > 0 ? pad : pad / 2 + (pad & width & 1);
	size_t mark;
	if (pad > (int64_t)r->environment->settings.output_limit)
		render_limit(r, "a field of %lld is too wide", (long long)width);
	capture_begin(r, &mark);
	text_repeat(r->out, fill.bytes, fill.count, (size_t)left);
	text_add(r->out, text.bytes, text.count);
	text_repeat(r->out, fill.bytes, fill.count, (size_t)(pad - left));
	return capture_end(r, mark);
}

static struct value pad(struct template_call *call, int where)
{
	struct value fill = call->at[2].kind == VALUE_ABSENT ? value_string(" ") : string_argument(call, 2);
	if (text_points(fill.bytes, fill.count) != 1)
		call_fail(call, "%s: one character fills", call->name);
	return string_pad(call->renderer, call->at[0], call_int(call, 1, 0), fill, where);
}
static struct value str_ljust(struct template_call *call) { return pad(call, -1); }
static struct value str_center(struct template_call *call) { return pad(call, 0); }
static struct value str_rjust(struct template_call *call) { return pad(call, 1); }

static struct value str_zfill(struct template_call *call)
{
	struct value text = call->at[0];
	bool sign = text.count && (*text.bytes == '-' || *text.bytes == '+');
	struct value digits = value_string_of(text.bytes + sign, text.count - sign);
	digits = string_pad(call->renderer, digits, call_int(call, 1, 0) - sign, value_string("0"), 1);
	return sign ? value_printf(call->arena, "%c%s", *text.bytes, digits.bytes) : digits;
}

static struct value str_expandtabs(struct template_call *call)
{
	int64_t size = call_int(call, 1, 8), column = 0;
	size_t mark;
	if (size > 10000)
		call_fail(call, "expandtabs: a tab of %lld", (long long)size);
	capture_begin(call->renderer, &mark);
	for (const char *at = call->at[0].bytes, *end = at + call->at[0].count; at < end;) {
		const char *from = at;
		text_decode(&at, end);
		if (*from == '\t') {
			int64_t n = size > 0 ? size - column % size : 0;
			text_repeat(OUT, " ", 1, (size_t)n);
			column += n;
			continue;
		}
		text_add(OUT, from, (size_t)(at - from));
		column = *from == '\n' || *from == '\r' ? 0 : column + 1;
	}
	return capture_end(call->renderer, mark);
}

#define M(type, name, parameters) \
	{ \
#name, "self " parameters, type##_##name, NULL \
	}
const struct builtin string_methods[] = {
	M(str, capitalize, ""),
	M(str, center, "width fillchar?"),
	M(str, count, "sub start? end?"),
	M(str, endswith, "suffix start? end?"),
	M(str, expandtabs, "tabsize?"),
	M(str, find, "sub start? end?"),
	{ "format", "self * **", format_braces, NULL },
	M(str, index, "sub start? end?"),
	M(str, isalnum, ""),
	M(str, isalpha, ""),
	M(str, isascii, ""),
	M(str, isdecimal, ""),
	M(str, isdigit, ""),
	M(str, isidentifier, ""),
	M(str, islower, ""),
	M(str, isnumeric, ""),
	M(str, isprintable, ""),
	M(str, isspace, ""),
	M(str, istitle, ""),
	M(str, isupper, ""),
	M(str, join, "iterable"),
	M(str, ljust, "width fillchar?"),
	M(str, lower, ""),
	M(str, casefold, ""),
	M(str, lstrip, "chars?"),
	M(str, partition, "sep"),
	M(str, removeprefix, "prefix"),
	M(str, removesuffix, "suffix"),
	M(str, replace, "old new count?"),
	M(str, rfind, "sub start? end?"),
	M(str, rindex, "sub start? end?"),
	M(str, rjust, "width fillchar?"),
	M(str, rpartition, "sep"),
	M(str, rsplit, "sep? maxsplit?"),
	M(str, rstrip, "chars?"),
	M(str, split, "sep? maxsplit?"),
	M(str, splitlines, "keepends?"),
	M(str, startswith, "prefix start? end?"),
	M(str, strip, "chars?"),
	M(str, swapcase, ""),
	M(str, title, ""),
	M(str, upper, ""),
	M(str, zfill, "width"),
	{ 0 },
};
