/* names.c: names for variables and cells: the first of a kind in its scope is bare, further ones are numbered; scopes
 * beside each other use the same names again. */
#include "loops/loops.h"
#include <assert.h>

enum { KINDS_MOST = 64 };
struct naming {
	struct loops *loops;
	const char *kind[KINDS_MOST];
	int used[KINDS_MOST], kinds;
	bool *named; /* variables, by their numbers */
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
	FOR_ALL (i, loops->cells)
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

/* Copies of a loop share its variable.  Where one of them stands in a scope that has other names, it gets a variable of
 * its own: the name of the first would hide one that is meant here. */
static void name_variable(struct naming *n, struct block *block, size_t i)
{
	struct loops *loops = n->loops;
	struct stmt *stmt = block->at[i];
	int var = stmt->var;
	const struct variable *known = &loops->vars.at[var];
	const char *name = take(n, known->name);
	if (!n->named[var] || !strcmp(name, known->name)) {
		n->named[var] = true;
		loops->vars.at[var].name = name;
		return;
	}
	struct copying copying;
	int64_t extent = known->extent > stmt->extent ? known->extent : stmt->extent;
	copying_init(&copying, loops, false);
	stmt->var = var_new(loops, name, extent);
	copying_put(&copying, var, index_var(loops->arena, stmt->var, extent));
	if (stmt->kind == STMT_FOR) {
		struct block body = { 0 };
		copy_block(&copying, &stmt->body, &body);
		stmt->body = body;
	} else {
		for (size_t k = i + 1; k < block->count; k++)
			block->at[k] = copy_stmt(&copying, block->at[k]);
	}
}

static void name_block(struct naming *n, struct block *block)
{
	int used[KINDS_MOST], kinds = n->kinds;
	memcpy(used, n->used, sizeof used);
	FOR (i, block->count) {
		struct stmt *stmt = block->at[i];
		if (stmt->kind == STMT_INDEX)
			name_variable(n, block, i);
		if (stmt->kind == STMT_ARRAY || stmt->kind == STMT_JOIN || (stmt->kind == STMT_SET && stmt->declare))
			stmt->cell->of.name = take(n, stmt->cell->of.name);
		FOR (s, stmt->sum_count)
			stmt->sums[s]->of.name = take(n, stmt->sums[s]->of.name);
		if (stmt->kind == STMT_FOR) {
			int before[KINDS_MOST], known = n->kinds;
			memcpy(before, n->used, sizeof before);
			name_variable(n, block, i);
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
	struct naming n = { .loops = loops, .named = arena_new_array(loops->arena, bool, loops->vars.count) };
	name_block(&n, &loops->body);
}
