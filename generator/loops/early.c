/* early.c: a thread alone asks for all that it loads before it computes, and stores at the end: no branch stands
 * between the loads, so all are on their way at once, and neighbours are one access.  A load that a select may not
 * choose goes to element 0 where it does not. */
#include "loops/loops.h"

enum { CHOICES_MOST = 2, DEEP_MOST = 3, EARLY_MOST = 64 };
struct chosen { /* inside one arm of a select */
	const struct expr *select;
	bool yes;
	const struct chosen *outer;
};
struct early {
	struct loops *loops;
	int64_t each; /* neighbours that are one access */
	struct block *loads;
	VECTOR(const struct expr *) from; /* a load, as it stands in memory … */
	VECTOR(const struct expr *) to;   /* … and the register */
};
struct asking {
	struct early *early;
	const struct chosen *in;
	bool stays; /* its selects choose among too many */
};

static const struct expr *rewritten(struct early *, const struct expr *, const struct chosen *in, bool stays);

static const struct expr *register_of(struct early *e, const struct expr *load)
{
	FOR_ALL (i, e->from)
		if (e->from.at[i] == load)
			return e->to.at[i];
	struct stmt *set = stmt_new(e->loops, STMT_SET);
	set->cell = cell_new(e->loops, CELL_REGISTER, "x", load->type, 1);
	set->declare = true;
	set->value = load;
	block_add(e->loops, e->loads, set);
	push(e->loops->arena, &e->from, load);
	push(e->loops->arena, &e->to, cell_load(e->loops, set->cell, NULL));
	return e->to.at[e->to.count - 1];
}

/* The load's address where the selects around choose it, else 0. */
static const struct expr *kept_inside(struct early *e, const struct expr *load, const struct chosen *in)
{
	struct arena *arena = e->loops->arena;
	const struct cell *cell = cell_of_load(load);
	if (!in)
		return load;
	/* Of neighbours the whole quads are chosen, so that they stay neighbours. */
	int64_t past = (load->at[0]->constant % e->each + e->each) % e->each;
	past = past < cell->size ? past : 0;
	const struct expr *none = expr_integer(arena, DTYPE_I64, 0),
	                  *at = expr_index(arena, index_plus(arena, load->at[0], -past));
	for (; in; in = in->outer)
		at = expr_select(
		        arena, in->select->ranges, in->select->range_count, in->yes ? at : none, in->yes ? none : at);
	struct atom atom = { .kind = ATOM_VALUE, .value = at, .low = -past, .high = cell->size - 1 - past, .by = 1 };
	const struct index *address[] = { index_plus(arena, index_of_atom(arena, atom, 1), past) };
	return expr_load(arena, load->of, address);
}

static void count_load(void *user, const struct expr *load) { *(int *)user += cell_of_load(load)->kind == CELL_BUFFER; }

static const struct expr *early_expr(struct rewriter *r, const struct expr *expr)
{
	const struct asking *a = r->user;
	struct early *e = a->early;
	struct arena *arena = e->loops->arena;
	if (expr->kind == EXPR_LOAD) {
		const struct cell *cell = cell_of_load(expr);
		bool asks = cell->kind == CELL_BUFFER && !cell->written && cell->size > 0 && !a->stays
		        && !expr->at[0]->values && e->from.count < EARLY_MOST;
		return asks ? register_of(e, kept_inside(e, expr, a->in)) : expr;
	}
	if (expr->kind != EXPR_SELECT)
		return NULL;
	int loads = 0, deep = 0;
	for (const struct chosen *in = a->in; in; in = in->outer)
		deep++;
	expr_loads(expr, count_load, &loads);
	bool stays = a->stays || deep >= DEEP_MOST || (!a->in && loads > CHOICES_MOST);
	const struct chosen yes = { expr, true, a->in }, no = { expr, false, a->in };
	return expr_select(arena, expr->ranges, expr->range_count, rewritten(e, expr->arg[0], &yes, stays),
	        rewritten(e, expr->arg[1], &no, stays));
}

static const struct expr *rewritten(struct early *e, const struct expr *expr, const struct chosen *in, bool stays)
{
	struct asking asking = { e, in, stays };
	struct rewriter r = { .arena = e->loops->arena, .expr = early_expr, .index = index_stays, .user = &asking };
	return rewrite_expr(&r, expr);
}

/* Does the block load again what it stores? */
static bool reads_written(const struct block *block)
{
	FOR (i, block->count)
		if (block->at[i]->kind == STMT_STORE && cell_is_loaded(block, block->at[i]->cell))
			return true;
	return false;
}

static bool is_plain(const struct stmt *stmt)
{
	return stmt->kind == STMT_SET || (stmt->kind == STMT_STORE && stmt->cell->kind == CELL_BUFFER)
	        || (stmt->kind == STMT_INDEX && !stmt->at->values);
}

/* A line of statements: indices, loads, what is made of them, stores. */
static void add_line(struct loops *loops, int64_t each, const struct block *line, struct block *out)
{
	struct block loads = { 0 }, rest = { 0 }, stores = { 0 };
	struct early e = { .loops = loops, .each = each, .loads = &loads };
	FOR (i, line->count) {
		struct stmt *stmt = line->at[i];
		if (stmt->kind == STMT_INDEX) {
			block_add(loops, out, stmt);
			continue;
		}
		stmt->value = rewritten(&e, stmt->value, NULL, false);
		if (stmt->kind == STMT_STORE && stmt->value->kind != EXPR_LOAD && stmt->value->kind != EXPR_NUMBER) {
			struct stmt *set = stmt_new(loops, STMT_SET);
			set->cell = cell_new(loops, CELL_REGISTER, "one", stmt->value->type, 1);
			set->declare = true;
			set->value = stmt->value;
			stmt->value = cell_load(loops, set->cell, NULL);
			block_add(loops, &rest, set);
		}
		block_add(loops, stmt->kind == STMT_STORE ? &stores : &rest, stmt);
	}
	block_add_all(loops, out, &loads);
	block_add_all(loops, out, &rest);
	block_add_all(loops, out, &stores);
}

struct coming {
	struct loops *loops;
	int64_t each;
};
static void come_early(void *user, struct block *block)
{
	struct loops *loops = ((struct coming *)user)->loops;
	int64_t each = ((struct coming *)user)->each;
	struct block old = *block;
	if (reads_written(block))
		return;
	memset(block, 0, sizeof *block);
	for (size_t i = 0, end; i < old.count; i = end) {
		for (end = i; end < old.count && is_plain(old.at[end]);)
			end++;
		add_line(loops, each, &(struct block){ .at = old.at + i, .count = end - i }, block);
		if (end < old.count)
			block_add(loops, block, old.at[end++]);
	}
}

/* Neighbours that go along their terms together share what they load: that is said alike for all. */
static enum visit see_tile(void *user, struct stmt *stmt)
{
	(void)user;
	return stmt->tile ? VISIT_END : VISIT_PARTS;
}

void loops_come_early(struct loops *loops)
{
	bool alone = loops->elements && !block_visit(&loops->body, see_tile, NULL);
	struct coming coming = { loops, alone ? loops->elements : 1 };
	if (loops->elements || loops->warps)
		block_each(&loops->body, come_early, &coming);
}
