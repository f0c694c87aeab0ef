/* wrap.c: the filters wordwrap and pprint: text -> lines of a width, as Python's textwrap and pprint break them. */
#include "template/engine.h"

/* ---- wordwrap ---- */
static bool wrap_space(char c) { return c && strchr("\t\n\v\f\r ", c); }
static bool wrap_inner(unsigned c) { return point_is_word(c) || (c < 128 && c && strchr("!\"'&.,?", (int)c)); }
static bool wrap_letter(unsigned c) { return point_is_word(c) && !point_is_decimal(c); } /* textwrap's [^\d\W] */

struct wrap {
	struct renderer *r;
	unsigned *points;
	const char **at;
	size_t count;
};

/* Dashes from `i`, two or more, with a word behind: how many; else 0. */
static size_t dashes(const struct wrap *w, size_t i)
{
	size_t n = 0;
	while (i + n < w->count && w->points[i + n] == '-')
		n++;
	return n >= 2 && i + n < w->count && point_is_word(w->points[i + n]) ? n : 0;
}

static bool letter_at(const struct wrap *w, size_t i) { return i < w->count && wrap_letter(w->points[i]); }

/* A hyphen at `i` after which a line may be broken: letters on both sides. */
static bool breaks_after(const struct wrap *w, size_t i)
{
	bool before = (i >= 2 && letter_at(w, i - 1) && letter_at(w, i - 2))
	        || (i >= 3 && letter_at(w, i - 1) && w->points[i - 2] == '-' && letter_at(w, i - 3));
	bool after = letter_at(w, i + 1)
	        && (letter_at(w, i + 2) || (i + 2 < w->count && w->points[i + 2] == '-' && letter_at(w, i + 3)));
	return w->points[i] == '-' && before && after;
}

static bool space_at(const struct wrap *w, size_t i) { return w->points[i] < 128 && wrap_space((char)w->points[i]); }

/* The end of the chunk at `i`: white space, a dash between words, or a word up to where a line may break. */
static size_t chunk_end(const struct wrap *w, size_t i, bool hyphens)
{
	size_t end = i;
	if (space_at(w, i)) {
		while (end < w->count && space_at(w, end))
			end++;
		return end;
	}
	if (!hyphens) {
		while (end < w->count && !space_at(w, end))
			end++;
		return end;
	}
	if (i && wrap_inner(w->points[i - 1]) && dashes(w, i))
		return i + dashes(w, i);
	for (end = i + 1; end < w->count && !space_at(w, end); end++) {
		if (breaks_after(w, end))
			return end + 1;
		if (wrap_inner(w->points[end - 1]) && dashes(w, end))
			return end;
	}
	return end;
}

static bool chunk_blank(const struct wrap *w, size_t from, size_t to)
{
	while (from < to && point_is_space(w->points[from]))
		from++;
	return from == to;
}

/* How much of a word that is longer than a line goes on the line. */
static size_t cut_word(const struct wrap *w, size_t from, size_t to, size_t room, bool hyphens)
{
	size_t last = room;
	if (hyphens && to - from > room) {
		while (last && w->points[from + last - 1] != '-')
			last--;
		bool other = false; /* last - 1: where the last hyphen is */
		for (size_t i = from; last > 1 && i < from + last - 1; i++)
			other |= w->points[i] != '-';
		if (last > 1 && other)
			return last;
	}
	return room < to - from ? room : to - from;
}

static void wrap_paragraph(
        struct wrap *w, struct value text, size_t width, bool words, bool hyphens, struct value by, struct text *out)
{
	const char *at = text.bytes, *end = at + text.count;
	w->count = 0;
	w->points = arena_new_array(w->r->arena, unsigned, text.count + 1);
	w->at = arena_new_array(w->r->arena, const char *, text.count + 1);
	while (at < end) {
		w->at[w->count] = at;
		w->points[w->count++] = text_decode(&at, end);
	}
	w->at[w->count] = end;
	bool lines = false;
	size_t next = 0, chunk = next < w->count ? chunk_end(w, 0, hyphens) : 0; /* the chunk is [next, chunk) */
	while (next < w->count) {
		size_t from, length = 0;
		if (lines && chunk_blank(w, next, chunk)) {
			next = chunk;
			chunk = next < w->count ? chunk_end(w, next, hyphens) : next;
		}
		from = next;
		size_t last = from; /* where the last chunk on the line begins */
		while (next < w->count && length + (chunk - next) <= width) {
			length += chunk - next;
			last = next;
			next = chunk;
			chunk = next < w->count ? chunk_end(w, next, hyphens) : next;
		}
		if (next < w->count && chunk - next > width) {
			size_t taken = words   ? cut_word(w, next, chunk, width - length, hyphens)
			        : next == from ? chunk - next
			                       : 0;
			last = taken || words ? next : last;
			next += taken;
			if (next == chunk)
				chunk = next < w->count ? chunk_end(w, next, hyphens) : next;
		}
		size_t to = next;
		if (to > last && chunk_blank(w, last, to))
			to = last;
		if (to > from) {
			if (lines)
				text_add(out, by.bytes, by.count);
			text_add(out, w->at[from], (size_t)(w->at[to] - w->at[from]));
			lines = true;
		}
	}
}

struct value filter_wordwrap(struct template_call *call)
{
	struct renderer *r = call->renderer;
	struct value by = value_string(r->environment->settings.newline);
	if (call->at[3].kind == VALUE_STRING)
		by = call->at[3];
	else if (call->at[3].kind != VALUE_ABSENT && call->at[3].kind != VALUE_NONE)
		call_fail(call, "wordwrap: lines are joined by a string");
	if (call->at[0].kind == VALUE_UNDEFINED)
		undefined_fail(r, call->at[0]);
	if (call->at[0].kind != VALUE_STRING)
		call_fail(call, "wordwrap: a string is expected, not %s", value_a(call->at[0]));
	int64_t width = call_int(call, 1, 79);
	bool words = call_bool(call, 2, true), hyphens = call_bool(call, 4, true);
	struct list *lines = string_lines(call->arena, call->at[0], false);
	struct wrap wrap = { .r = r };
	size_t mark;
	if (width <= 0 && lines->count)
		call_fail(call, "wordwrap: lines of %lld", (long long)width);
	capture_begin(r, &mark);
	FOR (i, lines->count) {
		if (i)
			text_add(r->out, by.bytes, by.count);
		wrap_paragraph(&wrap, lines->at[i], (size_t)width, words, hyphens, by, r->out);
	}
	return capture_end(r, mark);
}

/* ---- pprint ---- */
enum { WIDTH = 80, DEEPEST = 100 };

struct pretty {
	struct renderer *r;
	struct text *out;
};

/* A copy with the members of dicts sorted, all the way down, for printing. */
static struct value sorted(struct pretty *p, struct value value, int depth)
{
	struct arena *arena = p->r->arena;
	if (depth > DEEPEST)
		render_fail(p->r, "pprint: more than %d lists or dicts inside each other", DEEPEST);
	if (value_is_list(value) && (value.kind == VALUE_TUPLE || !value.view)) {
		struct list *copy = list_new(arena, value.list->count);
		FOR (i, value.list->count)
			list_add(copy, sorted(p, value.list->at[i], depth + 1));
		return (struct value){ .kind = value.kind, .list = copy };
	}
	if (value.kind != VALUE_DICT)
		return value;
	struct list *keys = list_new(arena, value.dict->count), *order = list_new(arena, value.dict->count);
	bool numbers = true, strings = true;
	FOR (i, value.dict->count) {
		numbers &= value_is_number(value.dict->at[i].key);
		strings &= value.dict->at[i].key.kind == VALUE_STRING;
		list_add(keys, value.dict->at[i].key);
		list_add(order, value_int((int64_t)i));
	}
	if (!numbers && !strings) /* by the name of their type, as Python does where keys have no order */
		FOR (i, keys->count)
			keys->at[i] = value_string(value_type(keys->at[i]));
	list_sort_by(p->r, order, keys, false);
	struct value copy = value_dict(arena);
	FOR (i, order->count) {
		const struct entry *entry = &value.dict->at[order->at[i].integer];
		dict_set(copy.dict, entry->key, entry->hash, sorted(p, entry->value, depth + 1));
	}
	return copy;
}

static size_t repr_length(struct pretty *p, struct value value)
{
	struct value repr = value_to_repr(p->r, value, false);
	return text_points(repr.bytes, repr.count);
}

static void pretty_indent(struct pretty *p, size_t indent)
{
	text_addc(p->out, '\n');
	FOR (i, indent)
		text_addc(p->out, ' ');
}

/* A long string becomes several, one a line, each of them ending in white space. */
static void pretty_string(struct pretty *p, struct value text, size_t indent, size_t allowance, bool top)
{
	struct list *lines = string_lines(p->r->arena, text, true), *chunks = list_new(p->r->arena, 0);
	indent += top;
	allowance += top;
	int64_t width = WIDTH - (int64_t)indent;
	FOR (i, lines->count) {
		struct value line = lines->at[i];
		bool last_line = i + 1 == lines->count;
		if ((int64_t)repr_length(p, line) <= width - (last_line ? (int64_t)allowance : 0)) {
			list_add(chunks, line);
			continue;
		}
		const char *from = line.bytes, *end = from + line.count, *at = from;
		while (at < end) { /* words with the white space behind them */
			const char *next = at, *part;
			while (part = next, next < end && !point_is_space(text_decode(&next, end)))
				;
			next = part;
			while (part = next, next < end && point_is_space(text_decode(&next, end)))
				;
			next = part;
			int64_t room = width - (last_line && next == end ? (int64_t)allowance : 0);
			if ((int64_t)repr_length(p, value_string_of(from, (size_t)(next - from))) > room) {
				if (at > from)
					list_add(chunks, value_string_of(from, (size_t)(at - from)));
				from = at;
			}
			at = next;
		}
		if (end > from)
			list_add(chunks, value_string_of(from, (size_t)(end - from)));
	}
	if (top && chunks->count > 1)
		text_addc(p->out, '(');
	FOR (i, chunks->count) {
		if (i)
			pretty_indent(p, indent);
		print_repr(p->r, chunks->at[i], p->out);
	}
	if (top && chunks->count > 1)
		text_addc(p->out, ')');
}

static void pretty(struct pretty *p, struct value value, size_t indent, size_t allowance, bool top)
{
	struct value repr = value_to_repr(p->r, value, false);
	bool list = value_is_list(value) && (value.kind == VALUE_TUPLE || !value.view);
	if ((int64_t)text_points(repr.bytes, repr.count) <= WIDTH - (int64_t)indent - (int64_t)allowance
	        || !(list || value.kind == VALUE_DICT || value.kind == VALUE_STRING)) {
		text_add(p->out, repr.bytes, repr.count);
		return;
	}
	if (value.kind == VALUE_STRING) {
		pretty_string(p, value, indent, allowance, top);
		return;
	}
	size_t count = value_count(value), closing = value.kind == VALUE_TUPLE && count == 1 ? 2 : 1;
	text_addc(p->out, value.kind == VALUE_DICT ? '{' : value.kind == VALUE_TUPLE ? '(' : '[');
	indent++;
	FOR (i, count) {
		size_t behind = i + 1 == count ? allowance + closing : 1, column = indent;
		if (i)
			pretty_indent(p, indent);
		if (value.kind == VALUE_DICT) {
			print_repr(p->r, value.dict->at[i].key, p->out);
			text_adds(p->out, ": ");
			column += repr_length(p, value.dict->at[i].key) + 2;
		}
		pretty(p, value.kind == VALUE_DICT ? value.dict->at[i].value : value.list->at[i], column, behind,
		        false);
		if (i + 1 < count)
			text_addc(p->out, ',');
	}
	text_adds(p->out, value.kind == VALUE_DICT ? "}" : value.kind == VALUE_LIST ? "]" : closing == 2 ? ",)" : ")");
}

struct value filter_pprint(struct template_call *call)
{
	struct pretty p = { call->renderer, call->renderer->out };
	size_t mark;
	capture_begin(call->renderer, &mark);
	pretty(&p, sorted(&p, call->at[0], 0), 0, 0, true);
	return capture_end(call->renderer, mark);
}
