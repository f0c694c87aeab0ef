/* names.c: names for variables and cells: the first of a kind in its scope is bare, further ones are numbered; scopes
 * beside each other use the same names again. */
#include "loops/loops.h"
#include <assert.h>

enum { KINDS_MOST = 64 };
struct naming {
	struct loops *loops;
	const char *kind[KINDS_MOST];
	int used[KINDS_MOST], kinds;
};

/* What a name is like: without the number at its end. */
static const char *kind_of(struct naming *n, const char *name)
{
	size_t length = strlen(name);
	while (length > 1 && name[length - 1] >= '0' && name[length - 1] <= '9')
		length--;
	return arena_copy(n->loops->arena, name, length);
}

static bool is_buffer(const struct loops *loops, const char *name)
{
	for (size_t i = 0; i < loops->cells.count; i++)
		if (loops->cells.at[i]->kind == CELL_BUFFER && !strcmp(loops->cells.at[i]->of.name, name))
			return true;
	return false;
}

static const char *take(struct naming *n, const char *like)
{
	const char *kind = kind_of(n, like), *name;
	int k = 0;
	while (k < n->kinds && strcmp(n->kind[k], kind))
		k++;
	if (k == n->kinds) {
		assert(n->kinds < KINDS_MOST);
		n->kind[n->kinds] = kind;
		n->used[n->kinds++] = 0;
	}
	do {
		name = n->used[k] ? arena_printf(n->loops->arena, "%s%d", kind, n->used[k]) : kind;
		n->used[k]++;
	} while (is_buffer(n->loops, name));
	return name;
}

static void name_block(struct naming *n, const struct block *block)
{
	int used[KINDS_MOST], kinds = n->kinds;
	memcpy(used, n->used, sizeof used);
	for (size_t i = 0; i < block->count; i++) {
		struct stmt *stmt = block->at[i];
		struct variable *var = &n->loops->vars.at[stmt->var];
		if (stmt->kind == STMT_INDEX)
			var->name = take(n, var->name);
		if (stmt->kind == STMT_ARRAY || stmt->kind == STMT_JOIN || (stmt->kind == STMT_SET && stmt->declare))
			stmt->cell->of.name = take(n, stmt->cell->of.name);
		for (int s = 0; s < stmt->sum_count; s++)
			stmt->sums[s]->of.name = take(n, stmt->sums[s]->of.name);
		if (stmt->kind == STMT_FOR) {
			int before[KINDS_MOST], known = n->kinds;
			memcpy(before, n->used, sizeof before);
			var->name = take(n, var->name);
			name_block(n, &stmt->body);
			memcpy(n->used, before, (size_t)known * sizeof *before);
			memset(n->used + known, 0, (size_t)(n->kinds - known) * sizeof *before);
			continue;
		}
		name_block(n, &stmt->body);
		name_block(n, &stmt->other);
	}
	memcpy(n->used, used, (size_t)kinds * sizeof *used);
	memset(n->used + kinds, 0, (size_t)(n->kinds - kinds) * sizeof *used);
}

void loops_name(struct loops *loops)
{
	struct naming n = { .loops = loops };
	name_block(&n, &loops->body);
}
