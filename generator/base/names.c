/* names.c: an open hash table of strings; equal names are equal pointers. */
#include "base/base.h"

struct names {
	struct arena *arena;
	const char **at;
	size_t count, room; /* room: a power of two */
};

struct names *names_new(struct arena *arena)
{
	struct names *names = arena_new(arena, struct names);
	names->arena = arena;
	names->room = 256;
	names->at = arena_new_array(arena, const char *, names->room);
	return names;
}

static size_t slot_of(const struct names *names, const char *text, size_t length)
{
	size_t i = hash_bytes(text, length, 0) & (names->room - 1);
	while (names->at[i] && (strncmp(names->at[i], text, length) || names->at[i][length]))
		i = (i + 1) & (names->room - 1);
	return i;
}

const char *name_of(struct names *names, const char *text, size_t length)
{
	size_t i = slot_of(names, text, length);
	if (names->at[i])
		return names->at[i];
	if (2 * ++names->count > names->room) {
		const char **old = names->at;
		size_t room = names->room;
		names->room *= 2;
		names->at = arena_new_array(names->arena, const char *, names->room);
		FOR (k, room)
			if (old[k])
				names->at[slot_of(names, old[k], strlen(old[k]))] = old[k];
		i = slot_of(names, text, length);
	}
	return names->at[i] = arena_copy(names->arena, text, length);
}

const char *name_is(struct names *names, const char *string) { return name_of(names, string, strlen(string)); }

const char *name_find(const struct names *names, const char *text, size_t length)
{
	return names->at[slot_of(names, text, length)];
}
