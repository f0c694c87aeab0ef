/* nearest.c: a wrong word and the right ones -> which of them was meant, and a list of them for a message. */
#include "base/base.h"

/* Edits (a letter added, dropped, changed, or two swapped) from one word to another; `limit` + 1 where it is more. */
static size_t distance(const char *a, size_t n, const char *b, size_t m, size_t limit)
{
	enum { LONGEST = 40 };
	size_t rows[3][LONGEST + 1];
	if (n > LONGEST || m > LONGEST || (n > m ? n - m : m - n) > limit)
		return limit + 1;
	for (size_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t cost = above[j - 1] + (a[i - 1] != b[j - 1]);
			cost = above[j] + 1 < cost ? above[j] + 1 : cost;
			cost = row[j - 1] + 1 < cost ? row[j - 1] + 1 : cost;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < cost)
				cost = before[j - 2] + 1;
			row[j] = cost;
		}
	}
	return rows[n % 3][m];
}

void nearest_try(struct nearest *nearest, const char *candidate, size_t count)
{
	size_t limit = nearest->length < 3 ? 1 : nearest->length < 7 ? 2 : 3;
	size_t edits = distance(nearest->name, nearest->length, candidate, count, limit);
	if (edits > limit || edits >= nearest->length || (nearest->best && edits >= nearest->distance))
		return;
	nearest->best = candidate;
	nearest->best_length = count;
	nearest->distance = edits;
}

struct choices choices_for(struct build *build, const char *wrong)
{
	return (struct choices){ .arena = build->arena, .nearest = { .name = wrong, .length = strlen(wrong) } };
}

void choices_add(struct choices *choices, const char *word)
{
	enum { LONGEST_LIST = 500 };
	nearest_try(&choices->nearest, word, strlen(word));
	if (choices->list && strlen(choices->list) > LONGEST_LIST)
		choices->left_out++;
	else
		choices->list = choices->list ? arena_printf(choices->arena, "%s, %.80s", choices->list, word)
		                              : arena_printf(choices->arena, "%.80s", word);
}

const char *choices_text(const struct choices *choices)
{
	const struct nearest *nearest = &choices->nearest;
	const char *meant = nearest->best ? arena_printf(choices->arena,
	                            "; did you mean %.*s?  Known are: ", (int)nearest->best_length, nearest->best)
	                                  : "; known are: ";
	const char *more = choices->left_out ? arena_printf(choices->arena, " and %zu more", choices->left_out) : "";
	return arena_printf(choices->arena, "%s%s%s", meant, choices->list ? choices->list : "none", more);
}
