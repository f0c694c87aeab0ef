/* automaton.c: a regular expression's tree -> tables of an automaton over bytes.  The tree becomes steps that each
 * take a byte of a range, go two ways, or go on where an assertion holds; sets of those, with what the last byte was,
 * are the automaton's states. */
#include "ops/regex.h"
#include <stdlib.h>

enum { PARTS_MOST = 1 << 18, BUCKETS = 1 << 12 };

enum part_kind { PART_BYTE, PART_TWO, PART_ASSERTION, PART_MATCH };
struct part {
	enum part_kind kind;
	unsigned char from, to;
	enum regex_assertion assertion;
	int next[2];
};

/* What stands before or behind a place in a string. */
enum beside { BESIDE_OTHER, BESIDE_LINE, BESIDE_WORD, BESIDE_EDGE };

struct state {
	int count, *parts; /* sorted, before what is reached without a byte */
	enum beside before;
	int same; /* the next in its bucket; -1: none */
};

struct maker {
	struct build *build;
	const struct regex *regex;
	struct automaton *into;
	VECTOR(struct part) parts;
	VECTOR(struct state) states;
	int buckets[BUCKETS];
	int *reached, reached_count; /* what a state comes to without a byte */
	int *seen, round;            /* parts that were met in a round are not met again */
	int *waiting;
	unsigned char of_class[256]; /* a byte of each */
};

/* ---- the tree as parts ---- */
static int part(struct maker *maker, struct part one)
{
	if (maker->parts.count >= PARTS_MOST)
		fail(maker->build, EXIT_LIMIT, maker->regex->where, "it becomes more than %d parts", PARTS_MOST);
	push(maker->build->arena, &maker->parts, one);
	return (int)maker->parts.count - 1;
}

static int byte_part(struct maker *maker, unsigned from, unsigned to, int next)
{
	return part(maker, (struct part){ PART_BYTE, (unsigned char)from, (unsigned char)to, 0, { next, -1 } });
}

static int either(struct maker *maker, int first, int second)
{
	return first < 0 ? second : part(maker, (struct part){ .kind = PART_TWO, .next = { first, second } });
}

/* The code points of a range, all of so many bytes, the first of which has `lead` above its bits: their last byte
 * first. */
static int encoded(struct maker *maker, unsigned from, unsigned to, int bytes, unsigned lead, int next)
{
	unsigned low = 0x3f;
	if (bytes == 1)
		return byte_part(maker, lead | from, lead | to, next);
	unsigned first = from >> 6, last = to >> 6, mark = 0x80;
	int all = -1;
	if (first == last)
		return encoded(maker, first, last, bytes - 1, lead,
		        byte_part(maker, mark | (from & low), mark | (to & low), next));
	if (from & low) {
		all = encoded(maker, first, first, bytes - 1, lead, byte_part(maker, mark | (from & low), 0xbf, next));
		first++;
	}
	if ((to & low) != low) {
		int end = encoded(maker, last, last, bytes - 1, lead, byte_part(maker, mark, mark | (to & low), next));
		all = either(maker, all, end);
		last--;
	}
	if (first <= last)
		all = either(
		        maker, all, encoded(maker, first, last, bytes - 1, lead, byte_part(maker, mark, 0xbf, next)));
	return all;
}

static int range_parts(struct maker *maker, struct regex_range range, int next)
{
	static const struct {
		unsigned most, lead;
	} lengths[] = { { 0x7f, 0 }, { 0x7ff, 0xc0 }, { 0xffff, 0xe0 }, { 0x10ffff, 0xf0 } };
	int all = -1;
	FOR (i, 4) {
		unsigned from = i ? lengths[i - 1].most + 1 : 0, to = lengths[i].most;
		from = range.from > from ? range.from : from;
		to = range.to < to ? range.to : to;
		if (from <= to)
			all = either(maker, all, encoded(maker, from, to, i + 1, lengths[i].lead, next));
	}
	return all;
}

static int tree_parts(struct maker *maker, const struct regex_node *node, int next);

static int repeated_parts(struct maker *maker, const struct regex_node *node, int next)
{
	int all = next;
	if (node->most < 0) {
		all = part(maker, (struct part){ .kind = PART_TWO, .next = { next, next } });
		int inner = tree_parts(maker, node->in[0], all);
		maker->parts.at[all].next[0] = inner;
	}
	for (int i = node->least; i < node->most; i++)
		all = either(maker, tree_parts(maker, node->in[0], all), next);
	FOR (i, node->least)
		all = tree_parts(maker, node->in[0], all);
	return all;
}

/* The part that it begins with; `next` comes behind it. */
static int tree_parts(struct maker *maker, const struct regex_node *node, int next)
{
	int all = -1;
	switch (node->kind) {
	case REGEX_EMPTY: return next;
	case REGEX_BYTE: return byte_part(maker, 0, 255, next);
	case REGEX_ASSERTION: return part(maker, (struct part){ PART_ASSERTION, 0, 0, node->assertion, { next, -1 } });
	case REGEX_THEN: return tree_parts(maker, node->in[0], tree_parts(maker, node->in[1], next));
	case REGEX_OR:
		all = tree_parts(maker, node->in[0], next);
		return either(maker, all, tree_parts(maker, node->in[1], next));
	case REGEX_REPEAT: return repeated_parts(maker, node, next);
	case REGEX_SET: break;
	}
	FOR_ALL (i, node->ranges)
		all = either(maker, all, range_parts(maker, node->ranges.at[i], next));
	return all < 0 ? byte_part(maker, 1, 0, next) : all; /* of no character */
}

/* ---- bytes ---- */
static enum beside beside_of(const struct maker *maker, int byte)
{
	bool is_word = (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z') || byte == '_';
	return !maker->regex->asserts ? BESIDE_OTHER
	        : byte == '\n'        ? BESIDE_LINE
	        : is_word             ? BESIDE_WORD
	                              : BESIDE_OTHER;
}

/* Bytes that no part and no assertion tells apart are one class. */
static void classes(struct maker *maker)
{
	bool begins[257] = { [1] = true };
	FOR_ALL (i, maker->parts)
		if (maker->parts.at[i].kind == PART_BYTE)
			begins[maker->parts.at[i].from] = begins[maker->parts.at[i].to + 1] = true;
	for (int byte = 1; byte < 256; byte++) {
		begins[byte] |= beside_of(maker, byte) != beside_of(maker, byte - 1);
		maker->into->classes += begins[byte];
		maker->into->class_of[byte] = maker->into->classes;
		maker->of_class[maker->into->classes] = (unsigned char)byte;
	}
	maker->into->classes++;
}

/* ---- states ---- */
static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int state_of(struct maker *maker, int *parts, int count, enum beside before)
{
	struct automaton *into = maker->into;
	qsort(parts, (size_t)count, sizeof *parts, by_number);
	size_t bytes = (size_t)count * sizeof *parts;
	int *bucket = &maker->buckets[hash_bytes(parts, bytes, (uint64_t)before) % BUCKETS];
	for (int i = *bucket; i >= 0; i = maker->states.at[i].same) {
		const struct state *state = &maker->states.at[i];
		if (state->count == count && state->before == before && !memcmp(state->parts, parts, bytes))
			return i;
	}
	if ((maker->states.count + 1) * (size_t)into->classes > AUTOMATON_STEPS_MOST)
		fail(maker->build, EXIT_LIMIT, maker->regex->where, "its automaton has more than %d steps",
		        AUTOMATON_STEPS_MOST);
	struct state state = { count, arena_new_array(maker->build->arena, int, count + 1), before, *bucket };
	memcpy(state.parts, parts, bytes);
	push(maker->build->arena, &maker->states, state);
	return *bucket = (int)maker->states.count - 1;
}

static bool holds(enum regex_assertion assertion, enum beside before, enum beside behind)
{
	bool at_word = (before == BESIDE_WORD) != (behind == BESIDE_WORD);
	switch (assertion) {
	case REGEX_BEGIN: return before == BESIDE_EDGE;
	case REGEX_END: return behind == BESIDE_EDGE;
	case REGEX_LINE_BEGIN: return before == BESIDE_EDGE || before == BESIDE_LINE;
	case REGEX_LINE_END: return behind == BESIDE_EDGE || behind == BESIDE_LINE;
	case REGEX_WORD: return at_word;
	default: return !at_word;
	}
}

static void reach(struct maker *maker, int part)
{
	if (maker->seen[part] != maker->round) {
		maker->seen[part] = maker->round;
		maker->reached[maker->reached_count++] = part;
	}
}

/* What the state comes to before a byte of that kind, or the end. */
static void reach_all(struct maker *maker, const struct state *state, enum beside behind)
{
	maker->round++;
	maker->reached_count = 0;
	FOR (i, state->count)
		reach(maker, state->parts[i]);
	FOR (i, maker->reached_count) {
		const struct part *part = &maker->parts.at[maker->reached[i]];
		if (part->kind == PART_TWO) {
			reach(maker, part->next[0]);
			reach(maker, part->next[1]);
		} else if (part->kind == PART_ASSERTION && holds(part->assertion, state->before, behind)) {
			reach(maker, part->next[0]);
		}
	}
}

/* By a byte of a class, from what is reached. */
static int step(struct maker *maker, int byte, enum beside behind)
{
	int count = 0;
	maker->round++;
	FOR (i, maker->reached_count) {
		const struct part *part = &maker->parts.at[maker->reached[i]];
		if (part->kind != PART_BYTE || byte < part->from || byte > part->to
		        || maker->seen[part->next[0]] == maker->round)
			continue;
		maker->seen[part->next[0]] = maker->round;
		maker->waiting[count++] = part->next[0];
	}
	return state_of(maker, maker->waiting, count, behind);
}

static void states(struct maker *maker, int first)
{
	struct arena *arena = maker->build->arena;
	struct automaton *into = maker->into;
	maker->waiting[0] = first;
	state_of(maker, maker->waiting, 1, maker->regex->asserts ? BESIDE_EDGE : BESIDE_OTHER);
	FOR_ALL (s, maker->states) {
		const struct state state = maker->states.at[s];
		bool ends = false;
		stop_if_asked(maker->build);
		reach_all(maker, &state, BESIDE_EDGE);
		FOR (i, maker->reached_count)
			ends |= maker->parts.at[maker->reached[i]].kind == PART_MATCH;
		push(arena, &into->ends, ends);
		push(arena, &into->steps, (int)s);
		for (int c = 1; c < into->classes; c++) {
			enum beside behind = beside_of(maker, maker->of_class[c]);
			reach_all(maker, &state, behind);
			push(arena, &into->steps, step(maker, maker->of_class[c], behind));
		}
	}
	into->states = (int)maker->states.count;
}

struct automaton *automaton_of(struct build *build, const struct regex *regex)
{
	struct arena *arena = build->arena;
	struct maker maker = { .build = build, .regex = regex, .into = arena_new(arena, struct automaton) };
	int first = tree_parts(&maker, regex->root, part(&maker, (struct part){ .kind = PART_MATCH }));
	maker.reached = arena_new_array(arena, int, maker.parts.count);
	maker.waiting = arena_new_array(arena, int, maker.parts.count);
	maker.seen = arena_new_array(arena, int, maker.parts.count);
	FOR (i, BUCKETS)
		maker.buckets[i] = -1;
	classes(&maker);
	states(&maker, first);
	return maker.into;
}
