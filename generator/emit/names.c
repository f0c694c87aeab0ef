/* names.c: names of a user -> identifiers that meet none of ours, of the language or of the headers beside them.
 *
 * A library NAME owns NAME_… and its upper case; ours are ingot_… and INGOT_….  So a NAME may not begin like ours, nor
 * with an underscore (in upper case that is the compiler's), and a tensor's member may begin with neither INGOT_ nor
 * the library's own upper case. */
#include "emit/emit.h"
#include "ingot/names.h"
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

enum { NAME_MOST = 100 }; /* files are called after it, with more behind it */
enum taken { HEADER, WORD, MACRO, TARGET };
static const struct {
	enum taken what;
	const char *words;
} taken[] = {
#define T(what, words) { what, words },
#include "tables/taken.h"
#undef T
};

static bool is_word(const char *word, size_t length, const char *name, bool any_case)
{
	if (word[length - 1] == '*')
		return !strncmp(word, name, length - 1);
	return strlen(name) == length && !(any_case ? strncasecmp : strncmp)(word, name, length);
}

static bool is_taken(enum taken what, const char *name)
{
	FOR (i, COUNT(taken))
		for (const char *word = taken[i].words; taken[i].what == what && *word; word += strspn(word, " ")) {
			size_t length = strcspn(word, " ");
			if (is_word(word, length, name, what == HEADER))
				return true;
			word += length;
		}
	return false;
}

static bool is_ours(const char *name) { return !strncasecmp(name, "ingot", 5) && (!name[5] || name[5] == '_'); }

static char *letters(struct arena *arena, const char *name)
{
	char *made = arena_alloc(arena, strlen(name) + 4), *p = made;
	if (!*name || isdigit((unsigned char)*name))
		*p++ = 'x';
	for (const char *q = name; *q; q++)
		*p++ = isalnum((unsigned char)*q) ? *q : '_';
	return made;
}

const char *emit_member(struct arena *arena, const char *name, const char *upper)
{
	char *made = letters(arena, name);
	size_t own = strlen(upper);
	if (made[0] == '_' && (made[1] == '_' || isupper((unsigned char)made[1])))
		made = arena_printf(arena, "x%s", made);
	if (ingot_name_is_keyword(made) || is_taken(WORD, made) || is_taken(MACRO, made) || !strncmp(made, "INGOT_", 6)
	        || (!strncmp(made, upper, own) && made[own] == '_'))
		made = arena_printf(arena, "%s_", made);
	return made;
}

const char *emit_name(struct arena *arena, const char *name)
{
	char *made = letters(arena, name);
	if (strlen(made) > NAME_MOST)
		made[NAME_MOST] = 0;
	if (*made == '_' || is_ours(made))
		return arena_printf(arena, "x%s", made);
	return ingot_name_is_keyword(made) || is_taken(WORD, made) || is_taken(HEADER, made)
	        ? arena_printf(arena, "%s_", made)
	        : made;
}

void emit_name_check(struct build *build, const char *name)
{
	if (*name == '_')
		fail(build, EXIT_USAGE, NULL,
		        "--name: \"%s\" begins with an underscore, and in upper case such names are the compiler's",
		        name);
	if (is_ours(name))
		fail(build, EXIT_USAGE, NULL,
		        "--name: \"%s\" is one of ingot's own names: ingot and all that begins with ingot_", name);
	if (is_taken(HEADER, name))
		fail(build, EXIT_USAGE, NULL, "--name: \"%s\" is taken: its header %s.h would hide the C library's",
		        name, name);
}

const char *emit_cmake_target(struct arena *arena, const char *name)
{
	return is_taken(TARGET, name) ? arena_printf(arena, "%s_", name) : name;
}

/* <unistd.h> has F_OK, R_OK, W_OK and X_OK. */
const char *emit_ok(struct arena *arena, const char *upper)
{
	const char *word = arena_printf(arena, "%s_OK", upper);
	return is_taken(MACRO, word) ? arena_printf(arena, "%s_", word) : word;
}

const char *emit_part_prefix(struct arena *arena, int number) { return arena_printf(arena, "part%d", number); }

/* Files and symbols of one graph, NAME_log.c and the like, may not be those of another that is called so. */
static bool is_file_of(const char *name, const char *other)
{
	static const char *const ends[] = { "log", "profile", "kernels", "launches" };
	size_t length = strlen(other);
	if (strncasecmp(name, other, length) || name[length] != '_')
		return false;
	FOR (i, COUNT(ends))
		if (!strcasecmp(name + length + 1, ends[i]))
			return true;
	return !strncasecmp(name + length + 1, "kernels_", 8);
}

const char *emit_part_name(
        struct arena *arena, const char *library, const char *name, const char *const *others, int count)
{
	bool meets = !strcasecmp(name, "module") || !strcasecmp(name, "weights") || !strcasecmp(name, "weights_check");
	FOR (i, count)
		meets |= is_file_of(name, others[i]);
	return arena_printf(arena, "%s_%s%s", library, name, meets ? "_" : "");
}
