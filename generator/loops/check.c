/* check.c: what every pass must leave behind: variables and registers begin before they are used, vectors are vectors. */
#include "loops/loops.h"
#include <assert.h>

struct checking {
	const struct loops *loops;
	bool *var_lives, *cell_lives;
	bool exact;                       /* no loop steps by more than 1: the ranges of indices are those of the loops */
};

static void check_index(void *user, const struct index *index, bool address)
{
	struct checking *c = user;
	(void)address;
	for (int i = 0; i < index->count; i++) {
		const struct atom *atom = index->terms[i].atom;
		assert(atom->kind != ATOM_VAR || c->var_lives[atom->var]);
		if (atom->kind == ATOM_DIV || atom->kind == ATOM_MOD)
			check_index(user, atom->of, false);
	}
}

static void check_load(void *user, const struct expr *load)
{
	struct checking *c = user;
	const struct cell *cell = cell_of_load(load);
	assert(cell->kind == CELL_BUFFER || c->cell_lives[cell->of.number]);
	if (cell->kind == CELL_ARRAY && c->exact) {
		int64_t low, high;
		index_range(load->at[0], &low, &high);
		assert(low >= 0 && high < cell->size + 64);         /* a loop that steps is bounded by its extent */
	}
}

static void check_block(struct checking *, const struct block *);

static void check_stmt(struct checking *c, const struct stmt *stmt)
{
	struct block alone = { .at = (struct stmt *[]){ &(struct stmt){ 0 } }, .count = 1 };
	*alone.at[0] = *stmt;
	memset(&alone.at[0]->body, 0, sizeof alone.at[0]->body);
	memset(&alone.at[0]->other, 0, sizeof alone.at[0]->other);
	block_indices(&alone, check_index, c);
	if (stmt->value)
		expr_loads(stmt->value, check_load, c);
	switch (stmt->kind) {
	case STMT_FOR:
		assert(stmt->extent > 0 && stmt->step > 0 && stmt->extent % stmt->step == 0);
		c->var_lives[stmt->var] = true;
		c->exact &= stmt->step == 1;
		for (int s = 0; s < stmt->sum_count; s++)
			c->cell_lives[stmt->sums[s]->of.number] = true;
		break;
	case STMT_INDEX:
		c->var_lives[stmt->var] = true;
		break;
	case STMT_ARRAY:
		assert(stmt->cell->kind == CELL_ARRAY && stmt->cell->size > 0);
		c->cell_lives[stmt->cell->of.number] = true;
		break;
	case STMT_JOIN:
		assert(stmt->from->vector && !stmt->cell->vector && c->cell_lives[stmt->from->of.number]);
		c->cell_lives[stmt->cell->of.number] = true;
		break;
	case STMT_SET:
		assert(stmt->cell->kind == CELL_REGISTER && stmt->cell->vector == (stmt->lane >= 0));
		assert(stmt->declare || c->cell_lives[stmt->cell->of.number]);
		assert(stmt->cell->of.type == stmt->value->type);
		c->cell_lives[stmt->cell->of.number] = true;
		break;
	case STMT_STORE:
		assert(stmt->cell->kind != CELL_REGISTER && (stmt->cell->kind == CELL_ARRAY || stmt->cell->written));
		assert(stmt->cell->of.type == stmt->value->type);
		assert(stmt->lane < 0 || stmt->cell->of.type == DTYPE_F32);
		break;
	case STMT_IF:
	case STMT_SCOPE:
		break;
	}
	check_block(c, &stmt->body);
	check_block(c, &stmt->other);
}

static void check_block(struct checking *c, const struct block *block)
{
	for (size_t i = 0; i < block->count; i++)
		check_stmt(c, block->at[i]);
}

void loops_check(const struct loops *loops)
{
	struct checking c = { loops, new_array(loops->arena, bool, loops->vars.count), new_array(loops->arena, bool, loops->cells.count), true };
	check_block(&c, &loops->body);
}

/* ---- selects that are left ---- */
static bool selects_on(const struct expr *expr, int var)
{
	for (int i = 0; expr->kind == EXPR_SELECT && i < expr->range_count; i++)
		if (index_uses(expr->ranges[i].at, var))
			return true;
	for (int i = 0; i < 3; i++)
		if (expr->arg[i] && selects_on(expr->arg[i], var))
			return true;
	return false;
}

static bool block_selects(const struct block *block, int var)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct stmt *stmt = block->at[i];
		if (stmt->value && (selects_on(stmt->value, var) || (stmt->lane >= 0 && selects_on(stmt->value, stmt->lane))))
			return true;
		if (block_selects(&stmt->body, var) || block_selects(&stmt->other, var))
			return true;
	}
	return false;
}

static bool has_loop(const struct block *block)
{
	for (size_t i = 0; i < block->count; i++)
		if (block->at[i]->kind == STMT_FOR || has_loop(&block->at[i]->body) || has_loop(&block->at[i]->other))
			return true;
	return false;
}

static bool is_split(const struct block *block)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct stmt *stmt = block->at[i];
		if (stmt->kind == STMT_FOR && !has_loop(&stmt->body) && block_selects(&stmt->body, stmt->var))
			return false;
		if (!is_split(&stmt->body) || !is_split(&stmt->other))
			return false;
	}
	return true;
}

bool loops_are_split(const struct loops *loops) { return is_split(&loops->body); }
