/* regex.c: a regular expression in RE2's syntax -> a tree over code points.  automaton.c makes tables of it.  What no
 * automaton could know (references to groups, looking ahead or behind) RE2 has not either. */
#include "ops/regex.h"
#include <unicase.h>
#include <unictype.h>

enum { POINTS = 0x110000, DEPTH_MOST = 200, REPEAT_MOST = 1000 };

struct reader {
	const char *at, *end;
	struct build *build;
	struct regex *into;
	bool any_case, dot_all, lines, ungreedy;
	int depth;
};

NORETURN static void wrong(struct reader *reader, const char *what)
{
	fail(reader->build, EXIT_INVALID, reader->into->where, "%s", what);
}

/* ---- sets of code points: a bit for each ---- */
static unsigned char *set_new(struct reader *reader) { return arena_alloc(reader->build->arena, POINTS / 8); }

static bool has(const unsigned char *set, unsigned c) { return set[c / 8] >> (c % 8) & 1; }

static void set_add(unsigned char *set, unsigned from, unsigned to)
{
	for (unsigned c = from; c <= to && c < POINTS; c++)
		set[c / 8] |= (unsigned char)(1 << (c % 8));
}

static void set_invert(unsigned char *set)
{
	FOR (i, POINTS / 8)
		set[i] = (unsigned char)~set[i];
}

static void set_join(unsigned char *set, const unsigned char *other, bool inverted)
{
	FOR (i, POINTS / 8)
		set[i] |= inverted ? (unsigned char)~other[i] : other[i];
}

/* With the letters of the other case.  Twice, as a letter may be the other case of two (K, k and the Kelvin sign). */
static void set_fold(unsigned char *set)
{
	FOR (round, 2)
		for (unsigned c = 0; c < 0x20000; c++) {
			unsigned lower = uc_tolower(c), upper = uc_toupper(c);
			if (has(set, c)) {
				set_add(set, lower, lower);
				set_add(set, upper, upper);
			} else if (has(set, lower) || has(set, upper)) {
				set_add(set, c, c);
			}
		}
}

/* ---- nodes ---- */
static struct regex_node *node_new(struct reader *reader, enum regex_kind kind)
{
	struct regex_node *node = arena_new(reader->build->arena, struct regex_node);
	node->kind = kind;
	return node;
}

static struct regex_node *pair(
        struct reader *reader, enum regex_kind kind, struct regex_node *first, struct regex_node *second)
{
	if (kind == REGEX_THEN && first->kind == REGEX_EMPTY)
		return second;
	struct regex_node *node = node_new(reader, kind);
	node->in[0] = first;
	node->in[1] = second;
	return node;
}

static struct regex_node *asserted(struct reader *reader, enum regex_assertion what)
{
	struct regex_node *node = node_new(reader, REGEX_ASSERTION);
	node->assertion = what;
	reader->into->asserts = true;
	return node;
}

/* The code points of a set, as ranges. */
static struct regex_node *set_node(struct reader *reader, unsigned char *set)
{
	struct regex_node *node = node_new(reader, REGEX_SET);
	if (reader->any_case)
		set_fold(set);
	for (unsigned c = 0; c < POINTS; c++) {
		if (!set[c / 8] && c % 8 == 0) {
			c += 7;
			continue;
		}
		if (!has(set, c))
			continue;
		unsigned from = c;
		while (c + 1 < POINTS && has(set, c + 1))
			c++;
		push(reader->build->arena, &node->ranges, (struct regex_range){ from, c });
	}
	return node;
}

static struct regex_node *point_node(struct reader *reader, unsigned point)
{
	struct regex_node *node = node_new(reader, REGEX_SET);
	if (reader->any_case) {
		unsigned char *set = set_new(reader);
		set_add(set, point, point);
		return set_node(reader, set);
	}
	push(reader->build->arena, &node->ranges, (struct regex_range){ point, point });
	return node;
}

/* ---- characters ---- */
static bool starts(const struct reader *reader, const char *text)
{
	size_t length = strlen(text);
	return (size_t)(reader->end - reader->at) >= length && !memcmp(reader->at, text, length);
}

static bool take(struct reader *reader, const char *text)
{
	bool there = starts(reader, text);
	reader->at += there ? strlen(text) : 0;
	return there;
}

static unsigned next_point(struct reader *reader)
{
	if (reader->at == reader->end)
		wrong(reader, "it ends too early");
	unsigned point = text_decode(&reader->at, reader->end);
	if (point >= 0xdc80 && point < 0xdd00)
		wrong(reader, "it is no UTF-8");
	return point;
}

static int digit_of(unsigned c)
{
	return c >= '0' && c <= '9' ? (int)c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (int)(c | 32) - 'a' + 10 : 99;
}

/* Up to `most` digits of a base. */
static unsigned number(struct reader *reader, int base, int most)
{
	unsigned value = 0;
	int count = 0;
	for (; count < most && reader->at < reader->end && digit_of((unsigned char)*reader->at) < base; count++)
		value = value * (unsigned)base + (unsigned)digit_of((unsigned char)*reader->at++);
	if (!count || value >= POINTS)
		wrong(reader, "an escape has no number, or one too large");
	return value;
}

/* Behind a backslash, what is one character. */
static unsigned escaped(struct reader *reader)
{
	static const char letters[] = "afnrtv", codes[] = "\a\f\n\r\t\v";
	unsigned c = next_point(reader);
	const char *place = c < 128 ? memchr(letters, (int)c, sizeof letters - 1) : NULL;
	if (place)
		return (unsigned)codes[place - letters];
	if (c == 'x' && take(reader, "{")) {
		unsigned value = number(reader, 16, 8);
		if (!take(reader, "}"))
			wrong(reader, "\\x{ has no }");
		return value;
	}
	if (c == 'x') {
		if (reader->end - reader->at < 2)
			wrong(reader, "\\x needs two digits");
		return number(reader, 16, 2);
	}
	if (c >= '0' && c <= '7'
	        && (c == '0' || (reader->at < reader->end && digit_of((unsigned char)*reader->at) < 8))) {
		reader->at--;
		return number(reader, 8, 3);
	}
	if (c >= 128 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'))
		wrong(reader, "an escape that RE2 does not know");
	return c;
}

/* ---- classes ---- */
static const struct {
	const char *name;
	struct regex_range ranges[4];
} classes[] = {
	/* clang-format off */
	{ "alnum", { { '0', '9' }, { 'A', 'Z' }, { 'a', 'z' } } },
	{ "alpha", { { 'A', 'Z' }, { 'a', 'z' } } },
	{ "ascii", { { 0, 127 } } },
	{ "blank", { { '\t', '\t' }, { ' ', ' ' } } },
	{ "cntrl", { { 0, 31 }, { 127, 127 } } },
	{ "digit", { { '0', '9' } } },
	{ "graph", { { '!', '~' } } },
	{ "lower", { { 'a', 'z' } } },
	{ "print", { { ' ', '~' } } },
	{ "punct", { { '!', '/' }, { ':', '@' }, { '[', '`' }, { '{', '~' } } },
	{ "space", { { '\t', '\r' }, { ' ', ' ' } } },
	{ "upper", { { 'A', 'Z' } } },
	{ "word", { { '0', '9' }, { 'A', 'Z' }, { 'a', 'z' }, { '_', '_' } } },
	{ "xdigit", { { '0', '9' }, { 'A', 'F' }, { 'a', 'f' } } },
	/* of \d, \s and \w */
	{ "d", { { '0', '9' } } },
	{ "s", { { '\t', '\n' }, { '\f', '\r' }, { ' ', ' ' } } },
	{ "w", { { '0', '9' }, { 'A', 'Z' }, { 'a', 'z' }, { '_', '_' } } },
	/* clang-format on */
};

static bool add_class(struct reader *reader, unsigned char *into, const char *name, size_t length, bool inverted)
{
	unsigned char *set = set_new(reader);
	FOR (i, COUNT(classes)) {
		if (strlen(classes[i].name) != length || memcmp(classes[i].name, name, length))
			continue;
		set_add(set, classes[i].ranges[0].from, classes[i].ranges[0].to);
		for (size_t k = 1; k < COUNT(classes[i].ranges) && classes[i].ranges[k].to; k++)
			set_add(set, classes[i].ranges[k].from, classes[i].ranges[k].to);
		if (reader->any_case)
			set_fold(set);
		set_join(into, set, inverted);
		return true;
	}
	return false;
}

/* \pL, \p{Greek}, \P{^Lu}: a general category, a script, or Any. */
static void add_property(struct reader *reader, unsigned char *into, bool inverted)
{
	const char *from = reader->at;
	size_t length = 1;
	if (take(reader, "{")) {
		inverted ^= take(reader, "^");
		from = reader->at;
		while (reader->at < reader->end && *reader->at != '}')
			reader->at++;
		length = (size_t)(reader->at - from);
		if (!take(reader, "}"))
			wrong(reader, "\\p{ has no }");
	} else {
		next_point(reader);
	}
	const char *name = arena_copy(reader->build->arena, from, length);
	uc_general_category_t category = length <= 2 ? uc_general_category_byname(name) : UC_CATEGORY_Cn;
	const uc_script_t *script = length > 2 ? uc_script_byname(name) : NULL;
	unsigned char *set = set_new(reader);
	if (!strcmp(name, "Any"))
		set_add(set, 0, POINTS - 1);
	else if (length > 2 ? !script : !category.bitmask)
		wrong(reader, "\\p names neither a category nor a script");
	else
		for (unsigned c = 0; c < POINTS; c++)
			if (script ? uc_is_script(c, script) : uc_is_general_category(c, category))
				set_add(set, c, c);
	if (reader->any_case)
		set_fold(set);
	set_join(into, set, inverted);
}

/* \d, \D, \s, \S, \w, \W, \p, \P; false: another escape. */
static bool add_escape(struct reader *reader, unsigned char *set)
{
	if (reader->end - reader->at < 2 || *reader->at != '\\')
		return false;
	char letter = reader->at[1], low = (char)(letter | 32);
	bool inverted = letter != low;
	if (low != 'p' && low != 'd' && low != 's' && low != 'w')
		return false;
	reader->at += 2;
	if (low == 'p')
		add_property(reader, set, inverted);
	else
		add_class(reader, set, &low, 1, inverted);
	return true;
}

static void add_named(struct reader *reader, unsigned char *set)
{
	bool inverted = take(reader, "^");
	const char *from = reader->at;
	while (reader->at < reader->end && !starts(reader, ":]"))
		reader->at++;
	if (!add_class(reader, set, from, (size_t)(reader->at - from), inverted) || reader->at - from < 3
	        || !take(reader, ":]"))
		wrong(reader, "[: names no class");
}

static struct regex_node *bracket(struct reader *reader)
{
	unsigned char *set = set_new(reader);
	bool inverted = take(reader, "^"), first = true;
	for (; first || !starts(reader, "]"); first = false) {
		if (take(reader, "[:")) {
			add_named(reader, set);
			continue;
		}
		if (add_escape(reader, set))
			continue;
		unsigned from = take(reader, "\\") ? escaped(reader) : next_point(reader), to = from;
		if (starts(reader, "-") && !starts(reader, "-]")) {
			reader->at++;
			to = take(reader, "\\") ? escaped(reader) : next_point(reader);
		}
		if (to < from)
			wrong(reader, "a range of characters ends before it begins");
		set_add(set, from, to);
	}
	reader->at++;
	if (reader->any_case)
		set_fold(set);
	if (inverted)
		set_invert(set);
	bool any_case = reader->any_case;
	reader->any_case = false;
	struct regex_node *node = set_node(reader, set);
	reader->any_case = any_case;
	return node;
}

/* ---- the grammar ---- */
static struct regex_node *alternatives(struct reader *reader);

static void flags(struct reader *reader)
{
	bool on = true, any = false;
	for (; reader->at < reader->end && *reader->at != ')' && *reader->at != ':'; reader->at++, any = true) {
		switch (*reader->at) {
		case '-': on = false; break;
		case 'i': reader->any_case = on; break;
		case 's': reader->dot_all = on; break;
		case 'm': reader->lines = on; break;
		case 'U': reader->ungreedy = on; break;
		default: wrong(reader, "(? is followed by what RE2 does not know");
		}
	}
	if (reader->at == reader->end || (!any && *reader->at == ')'))
		wrong(reader, "(? is followed by what RE2 does not know");
}

/* Behind an opening parenthesis. */
static struct regex_node *group(struct reader *reader)
{
	struct reader before = *reader;
	if (take(reader, "?P<") || take(reader, "?<")) {
		while (reader->at < reader->end && *reader->at != '>')
			if (!(digit_of((unsigned char)*reader->at) < 10 || *reader->at == '_'
			            || ((*reader->at | 32) >= 'a' && (*reader->at | 32) <= 'z')))
				wrong(reader, "a group has no right name");
			else
				reader->at++;
		reader->at++;
	} else if (take(reader, "?")) {
		flags(reader);
		if (*reader->at++ == ')')
			return node_new(reader, REGEX_EMPTY);
	}
	if (reader->at > reader->end || ++reader->depth > DEPTH_MOST)
		wrong(reader, "groups that do not end, or stand too deep in each other");
	struct regex_node *inner = alternatives(reader);
	if (!take(reader, ")"))
		wrong(reader, "a ( has no )");
	before.at = reader->at;
	*reader = before;
	return inner;
}

static struct regex_node *quoted(struct reader *reader)
{
	struct regex_node *all = node_new(reader, REGEX_EMPTY);
	while (reader->at < reader->end && !take(reader, "\\E"))
		all = pair(reader, REGEX_THEN, all, point_node(reader, next_point(reader)));
	return all;
}

static struct regex_node *atom(struct reader *reader)
{
	static const struct {
		const char *text;
		enum regex_assertion is;
	} assertions[] = { { "\\A", REGEX_BEGIN }, { "\\z", REGEX_END }, { "\\b", REGEX_WORD },
		{ "\\B", REGEX_NO_WORD } };
	FOR (i, COUNT(assertions))
		if (take(reader, assertions[i].text))
			return asserted(reader, assertions[i].is);
	if (take(reader, "("))
		return group(reader);
	if (take(reader, "["))
		return bracket(reader);
	if (take(reader, "^"))
		return asserted(reader, reader->lines ? REGEX_LINE_BEGIN : REGEX_BEGIN);
	if (take(reader, "$"))
		return asserted(reader, reader->lines ? REGEX_LINE_END : REGEX_END);
	if (take(reader, "\\Q"))
		return quoted(reader);
	unsigned char *set = set_new(reader);
	bool any_case = reader->any_case;
	if (take(reader, "\\C"))
		return node_new(reader, REGEX_BYTE);
	if (take(reader, ".")) {
		set_invert(set);
		set['\n' / 8] &= reader->dot_all ? 0xff : (unsigned char)~(1 << '\n' % 8);
	} else if (!add_escape(reader, set)) {
		return point_node(reader, take(reader, "\\") ? escaped(reader) : next_point(reader));
	}
	reader->any_case = false; /* such sets are folded already, or have no case */
	struct regex_node *node = set_node(reader, set);
	reader->any_case = any_case;
	return node;
}

/* {n}, {n,} or {n,m}; false, and nothing taken: it is no such thing, but characters. */
static bool counted(struct reader *reader, int *least, int *most)
{
	const char *at = reader->at + 1;
	long numbers[2] = { -1, -1 };
	int which = 0;
	if (reader->at == reader->end || *reader->at != '{')
		return false;
	for (; at < reader->end && *at != '}'; at++) {
		if (*at == ',' && !which && numbers[0] >= 0)
			which = 1;
		else if (*at >= '0' && *at <= '9')
			numbers[which] = numbers[which] < 0    ? *at - '0'
			        : numbers[which] > REPEAT_MOST ? numbers[which]
			                                       : numbers[which] * 10 + *at - '0';
		else
			return false;
	}
	if (at == reader->end || numbers[0] < 0)
		return false;
	*least = (int)numbers[0];
	*most = which ? (int)numbers[1] : *least;
	if (*least > REPEAT_MOST || *most > REPEAT_MOST || (*most >= 0 && *most < *least))
		wrong(reader, "a number of repetitions above 1000, or of which the second is below the first");
	reader->at = at + 1;
	return true;
}

/* How often what stands before comes; false: once. */
static bool repetition(struct reader *reader, int *least, int *most)
{
	*least = 0;
	*most = -1;
	if (counted(reader, least, most))
		return true;
	if (take(reader, "+"))
		*least = 1;
	else if (take(reader, "?"))
		*most = 1;
	else if (!take(reader, "*"))
		return false;
	return true;
}

static struct regex_node *sequence(struct reader *reader)
{
	struct regex_node *all = node_new(reader, REGEX_EMPTY);
	int least, most;
	while (reader->at < reader->end && !starts(reader, "|") && !starts(reader, ")")) {
		if (repetition(reader, &least, &most))
			wrong(reader, "a repetition has nothing to repeat");
		struct regex_node *one = atom(reader);
		if (repetition(reader, &least, &most)) {
			struct regex_node *inner = one;
			one = node_new(reader, REGEX_REPEAT);
			one->in[0] = inner;
			one->least = least;
			one->most = most;
			take(reader, "?"); /* which of several ways it prefers does not count for a whole string */
			if (repetition(reader, &least, &most))
				wrong(reader, "a repetition of a repetition");
		}
		all = pair(reader, REGEX_THEN, all, one);
	}
	return all;
}

static struct regex_node *alternatives(struct reader *reader)
{
	struct regex_node *all = sequence(reader);
	while (take(reader, "|"))
		all = pair(reader, REGEX_OR, all, sequence(reader));
	return all;
}

struct regex *regex_read(struct build *build, const char *pattern)
{
	struct regex *regex = arena_new(build->arena, struct regex);
	struct reader reader = { .at = pattern, .end = pattern + strlen(pattern), .build = build, .into = regex };
	regex->where = arena_printf(build->arena, "the pattern %s", text_clean(build->arena, pattern));
	regex->root = alternatives(&reader);
	if (reader.at < reader.end)
		wrong(&reader, "a ) has no (");
	return regex;
}
