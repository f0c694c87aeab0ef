/* facts.c: what --cpu says behind a CPU's name: facts of the machine that its row only guesses.
 * "x86-64-v3,l1=32k,l2=1m" is the row with two of them. Tiles, panels and passes follow from them, bits never. */
#include "base/base.h"
#include "facts.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- bytes ---- */
enum { CACHE_LEAST = 1 << 10 };
static const int64_t cache_most = (int64_t)1 << 40;
static const struct {
	const char *name;
	size_t offset;
} caches[] = {
	{ "l1", offsetof(struct target, l1_bytes) },
	{ "l2", offsetof(struct target, l2_bytes) },
	{ "l3", offsetof(struct target, l3_bytes) },
};
static int64_t bytes_of(const struct target *target, size_t cache)
{
	return *(const int64_t *)(const void *)((const char *)target + caches[cache].offset);
}
static void set_bytes(struct target *target, size_t cache, int64_t bytes)
{
	*(int64_t *)(void *)((char *)target + caches[cache].offset) = bytes;
}

static const char *spell_bytes(int64_t bytes, char out[24])
{
	const char *unit = "";
	for (const char *const *next = (const char *const[]){ "k", "m", "g", NULL }; *next && bytes % 1024 == 0;
	        next++, bytes /= 1024)
		unit = *next;
	snprintf(out, 24, "%" PRId64 "%s", bytes, unit);
	return out;
}

/* 0: no number of bytes. */
static int64_t read_bytes(const char *text)
{
	char *end;
	if (*text < '0' || *text > '9')
		return 0;
	errno = 0;
	long long bytes = strtoll(text, &end, 10);
	const char *units = "kmg", *unit = *end ? strchr(units, *end | 32) : NULL;
	int shift = unit ? 10 * (int)(unit - units + 1) : 0;
	return errno || (*end && !unit) || (unit && end[1]) || bytes > cache_most >> shift ? 0
	                                                                                   : (int64_t)bytes << shift;
}

/* ---- facts ---- */
void facts_pipes(struct target *target, const struct target *row, int pipes)
{
	target->units.pipes = pipes;
	target->units.load = row->units.load * pipes / row->units.pipes;
	target->units.store = row->units.store * pipes / row->units.pipes;
}

void facts_spell(const struct target *target, const struct target *row, char out[FACTS_MOST])
{
	char bytes[24];
	const char *level = facts_level_of(target);
	int n = snprintf(out, FACTS_MOST, "%s%s%s", row->name, level ? "," : "", level ? level : "");
	for (size_t i = 0; i < COUNT(caches); i++)
		if (bytes_of(target, i) != bytes_of(row, i))
			n += snprintf(out + n, FACTS_MOST - (size_t)n, ",%s=%s", caches[i].name,
			        spell_bytes(bytes_of(target, i), bytes));
	if (target->units.pipes != row->units.pipes)
		snprintf(out + n, FACTS_MOST - (size_t)n, ",pipes=%d", target->units.pipes);
}

/* -1: it is none. */
static int level_number(const char *word)
{
	for (int i = 0; facts_level(i); i++)
		if (!strcmp(word, facts_level(i)))
			return i;
	return -1;
}

bool target_is_fact(const char *word) { return level_number(word) >= 0 || strchr(word, '='); }

static void read_fact(struct build *build, struct target *target, const struct target *row, const char *word)
{
	enum { PIPES_MOST = 4 };
	size_t length = strcspn(word, "=");
	const char *value = word[length] ? word + length + 1 : "";
	for (size_t i = 0; i < COUNT(caches); i++)
		if (length == strlen(caches[i].name) && !memcmp(word, caches[i].name, length)) {
			int64_t bytes = read_bytes(value);
			if (bytes < CACHE_LEAST)
				fail(build, EXIT_USAGE, NULL,
				        "--cpu %s,%.100s: a cache has 1k to 1024g bytes, as in %s=512k", row->name,
				        word, caches[i].name);
			set_bytes(target, i, bytes);
			return;
		}
	int level = level_number(word);
	if (level >= 0) {
		if (!facts_add_level(target, word))
			fail(build, EXIT_USAGE, NULL, "--cpu %s,%s: %s alone can have it", row->name, word,
			        facts_level_row(level));
	} else if (length == strlen("pipes") && !memcmp(word, "pipes", length)) {
		if (value[0] < '1' || value[0] > '0' + PIPES_MOST || value[1])
			fail(build, EXIT_USAGE, NULL,
			        "--cpu %s,%.100s: a CPU starts 1 to %d vectors of multiply-adds a cycle, as in pipes=2",
			        row->name, word, PIPES_MOST);
		facts_pipes(target, row, value[0] - '0');
	} else {
		struct choices choices = choices_for(build, arena_copy(build->arena, word, length));
		for (size_t i = 0; i < COUNT(caches); i++)
			choices_add(&choices, caches[i].name);
		choices_add(&choices, "pipes");
		for (int i = 0; facts_level(i); i++)
			choices_add(&choices, facts_level(i));
		fail(build, EXIT_USAGE, NULL, "--cpu %s: no fact \"%.100s\"%s", row->name, choices.nearest.name,
		        choices_text(&choices));
	}
}

const struct target *target_with(struct build *build, const struct target *from, const char *const *words, int count)
{
	const struct target *row = target_row(from);
	struct target *target = arena_new(build->arena, struct target);
	char bytes[24], larger[24];
	*target = *from;
	for (int i = 0; i < count; i++)
		read_fact(build, target, row, words[i]);
	for (size_t i = 1; i < COUNT(caches); i++)
		if (bytes_of(target, i) < bytes_of(target, i - 1))
			fail(build, EXIT_USAGE, NULL,
			        "--cpu %s: %s has %s, and %s %s: the nearer cache is the smaller one", row->name,
			        caches[i].name, spell_bytes(bytes_of(target, i), bytes), caches[i - 1].name,
			        spell_bytes(bytes_of(target, i - 1), larger));
	char *facts = arena_alloc(build->arena, FACTS_MOST);
	facts_spell(target, row, facts);
	target->facts = facts;
	return target;
}
