/* versions.c: what inputs, of which element types, a version of an op has: tables/versions.h, read where a node asks.
 */
#include <stdlib.h>
#include "ops/ops.h"

#define B(type) 1u << DTYPE_##type
#define L(letter, types) { letter, types },
#define V(...)
static const struct {
	char letter;
	uint32_t types;
} letters[] = {
#include "tables/versions.h"
};
#undef L
#undef V
#define L(...)
#define V(domain, name, versions) { domain, name, versions },
static const struct row {
	const char *domain, *name, *versions;
} rows[] = {
#include "tables/versions.h"
};
#undef L
#undef V
#undef B

static int by_name(const void *key, const void *row)
{
	const struct node *node = key;
	int order = strcmp(node->domain, ((const struct row *)row)->domain);
	return order ? order : strcmp(node->type, ((const struct row *)row)->name);
}

/* What the row says from the opset of the node on; NULL: nothing. */
static const char *entry_of(const struct node *node)
{
	const struct row *row = bsearch(node, rows, COUNT(rows), sizeof *rows, by_name);
	const char *entry = NULL;
	for (const char *at = row ? row->versions : NULL; at; at = strchr(at, ';')) {
		char *end;
		at += strspn(at, "; ");
		if (strtol(at, &end, 10) > node->since)
			break;
		entry = end;
	}
	return entry;
}

/* A word of an entry. */
struct word {
	const char *at;
	size_t length;
};

/* The next word from *at on; length 0 where there is no other, or they are those of outputs. */
static struct word next_word(const char **at)
{
	*at += strspn(*at, " ");
	struct word word = { *at, strcspn(*at, " ;>") };
	*at += word.length;
	return word;
}

static bool has(struct word word, char letter) { return memchr(word.at, letter, word.length); }

static uint32_t types_of(struct word word)
{
	uint32_t types = 0;
	FOR (i, COUNT(letters))
		types |= has(word, letters[i].letter) ? letters[i].types : 0;
	return types;
}

static const char *list_of(struct arena *arena, uint32_t types)
{
	const char *list = "";
	int count = 0;
	FOR (t, DTYPE_COUNT)
		if (types >> t & 1u)
			list = arena_printf(arena, "%s%s%s", list, count++ ? ", " : "", dtypes[t].text);
	return count > 1 ? arena_printf(arena, "one of %s", list) : list;
}

static void check_type(const struct node *node, const char *what, int i, const struct tensor *tensor, struct word word)
{
	uint32_t types = types_of(word);
	bool any = !types || (!node->is_given && has(word, 'P')); /* what only moves data is made of all types */
	if (!tensor || tensor->form || tensor->type == DTYPE_NONE || any || types >> tensor->type & 1u)
		return;
	node_invalid(node, " of opset %d: %s %d is %s, %s is right", node->since, what, i, dtypes[tensor->type].text,
	        list_of(node_arena(node), types));
}

/* All inputs but those that need not be there, and an output. */
static void want_inputs(const struct node *node, const char *at)
{
	int least = 0;
	struct word word = next_word(&at);
	for (; word.length && !has(word, '?') && !has(word, '+') && !has(word, '*'); word = next_word(&at))
		least++;
	infer_least(node, !has(word, '+') ? least : node->ins > least ? node->ins : least + 1);
}

void version_check_inputs(const struct node *node)
{
	const char *at = entry_of(node);
	struct word word = { "", 0 };
	if (at)
		want_inputs(node, at);
	FOR_WHILE (i, at, node->ins) {
		struct word next = has(word, '+') || has(word, '*') ? word : next_word(&at);
		INVALID_IF(!next.length, " of opset %d has no input %d", node->since, i);
		word = next;
		bool said = *word.at != '=';
		int like = said ? has(word, '+') ? 0 : i : word.at[1] - '0';
		if (said)
			check_type(node, "input", i, node->in[i], word);
		infer_same_type(node, i, node->in[like] ? node->in[like]->type : DTYPE_NONE);
	}
}

void version_check_outputs(const struct node *node)
{
	const char *at = entry_of(node);
	if (!at)
		return;
	at += strcspn(at, ">;");
	at = *at == '>' ? at + 1 : "-";
	struct word word = { "", 0 };
	FOR (i, node->outs) {
		struct word next = has(word, '+') || has(word, '*') ? word : next_word(&at);
		INVALID_IF(!next.length, " of opset %d has no output %d", node->since, i);
		word = next;
		check_type(node, "output", i, node->out[i], word);
	}
}
