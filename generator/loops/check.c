/* check.c: what every pass must leave behind: variables and registers begin before they are used, vectors are vectors,
 * and what is read and written of an array lies inside it, given the selects and conditions around. */
#include "loops/loops.h"
#undef NDEBUG /* a checker checks, however it is built */
#include <assert.h>

enum { ROUNDS_MOST = 1 << 16 }; /* of variables tried one by one, where intervals do not decide */

/* What the selects and conditions around say: low <= at <= high. */
struct fact {
	const struct index *at;
	int64_t low, high;
	const struct fact *before;
};

struct checking {
	const struct loops *loops;
	struct arena *arena;
	bool *var_lives, *cell_lives;
	int64_t *low, *high, *step; /* of each variable that lives: the values that it takes */
	const struct index **says;  /* … and what it is, of one that an INDEX begins */
	const struct fact *facts;
	int lane; /* of the statement: its variable stands for `width` values at once; -1: scalar */
	int64_t width;
};

/* ---- where an index may point ---- */
static void range_of(const struct checking *c, const struct index *index, int64_t *low, int64_t *high)
{
	*low = *high = index->constant;
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		int64_t f = index->terms[i].factor, least = atom->low, most = atom->high;
		if (atom->kind == ATOM_VAR) {
			least = c->low[atom->var];
			most = c->high[atom->var] + (atom->var == c->lane ? c->width - 1 : 0);
		}
		*low += f * (f > 0 ? least : most);
		*high += f * (f > 0 ? most : least);
	}
}

/* index = f * at + rest, where f is given by a variable of `at`; 0 where it holds none of them. */
static int64_t multiple_of(const struct index *index, const struct index *at)
{
	FOR (i, at->count) {
		int64_t f = at->terms[i].atom->kind == ATOM_VAR ? index_factor(index, at->terms[i].atom->var) : 0;
		if (f && f % at->terms[i].factor == 0)
			return f / at->terms[i].factor;
	}
	return 0;
}

/* Bounds that take each fact once, from the innermost outwards. */
static bool lies_inside(const struct checking *c, const struct index *index, int64_t size)
{
	int64_t low, high, more_low = 0, more_high = 0;
	range_of(c, index, &low, &high);
	if (low >= 0 && high < size)
		return true;
	for (const struct fact *fact = c->facts; fact; fact = fact->before) {
		int64_t f = fact->low <= fact->high ? multiple_of(index, fact->at) : 0;
		if (!f)
			continue;
		index = index_add(c->arena, index, index_scale(c->arena, fact->at, -f));
		more_low += f * (f > 0 ? fact->low : fact->high);
		more_high += f * (f > 0 ? fact->high : fact->low);
	}
	range_of(c, index, &low, &high);
	return low + more_low >= 0 && high + more_high < size;
}

/* ---- the same by trying every round ---- */
struct trying {
	bool *uses;
	bool plain;
};
static void note_vars(struct trying *t, const struct index *index)
{
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		if (atom->kind == ATOM_VAR)
			t->uses[atom->var] = true;
		else if (atom->kind == ATOM_VALUE)
			t->plain = false;
		else
			note_vars(t, atom->of);
	}
}

static bool facts_hold(const struct fact *fact, const int64_t *vars)
{
	for (; fact; fact = fact->before) {
		int64_t at = index_evaluate(fact->at, vars, NULL, NULL);
		if (at < fact->low || at > fact->high)
			return false;
	}
	return true;
}

/* False where some round that the facts allow points outside; true also where there are too many rounds to try. */
static bool rounds_inside(const struct checking *c, const struct index *index, int64_t size)
{
	size_t count = c->loops->vars.count;
	struct trying t = { arena_new_array(c->arena, bool, count + 1), true };
	int64_t *vars = arena_new_array(c->arena, int64_t, count + 1), rounds = 1;
	note_vars(&t, index);
	for (const struct fact *fact = c->facts; fact; fact = fact->before)
		note_vars(&t, fact->at);
	for (size_t v = 0; v < count && rounds <= ROUNDS_MOST; v++)
		if (t.uses[v]) {
			vars[v] = c->low[v];
			rounds *= (c->high[v] - c->low[v]) / c->step[v] + 1;
		}
	if (!t.plain || rounds > ROUNDS_MOST)
		return true;
	FOR (round, rounds) {
		int64_t at = facts_hold(c->facts, vars) ? index_evaluate(index, vars, NULL, NULL) : 0, last = at;
		if (c->lane >= 0 && facts_hold(c->facts, vars))
			last += index_factor(index, c->lane) * (c->width - 1);
		if (at < 0 || at >= size || last < 0 || last >= size)
			return false;
		FOR (v, count) {
			if (!t.uses[v])
				continue;
			if ((vars[v] += c->step[v]) <= c->high[v])
				break;
			vars[v] = c->low[v];
		}
	}
	return true;
}

static void check_element(const struct checking *c, const struct cell *cell, const struct index *at)
{
	assert(cell->kind != CELL_ARRAY || lies_inside(c, at, cell->size) || rounds_inside(c, at, cell->size));
}

/* ---- expressions ---- */
static void check_index(void *user, const struct index *index, bool address)
{
	struct checking *c = user;
	(void)address;
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		assert(atom->kind != ATOM_VAR || c->var_lives[atom->var]);
		if (atom->kind == ATOM_DIV || atom->kind == ATOM_MOD)
			check_index(user, atom->of, false);
	}
}

static void add_facts(struct checking *c, const struct range *ranges, int count)
{
	FOR (i, count) {
		struct fact *fact = arena_new(c->arena, struct fact);
		*fact = (struct fact){ ranges[i].at, ranges[i].from, ranges[i].to - 1, c->facts };
		c->facts = fact;
	}
}

/* Outside of one range an index is below it or above it, where its variables leave only one of both. */
static void add_otherwise(struct checking *c, const struct range *ranges, int count)
{
	struct fact *fact = arena_new(c->arena, struct fact);
	int64_t low, high;
	if (count != 1)
		return;
	range_of(c, ranges->at, &low, &high);
	for (const struct fact *known = c->facts; known;
	        known = known->before) { /* of an index that differs by a constant */
		int64_t shift;
		if (!index_is_constant(index_add(c->arena, ranges->at, index_scale(c->arena, known->at, -1)), &shift))
			continue;
		low = known->low + shift > low ? known->low + shift : low;
		high = known->high + shift < high ? known->high + shift : high;
	}
	*fact = (struct fact){ ranges->at, low >= ranges->from ? ranges->to : low,
		high < ranges->to ? ranges->from - 1 : high, c->facts };
	c->facts = fact;
}

static enum visit check_expr(void *user, const struct expr *expr)
{
	struct checking *c = user;
	const struct fact *facts = c->facts;
	if (expr->kind == EXPR_LOAD) {
		const struct cell *cell = cell_of_load(expr);
		assert(cell->kind == CELL_BUFFER || c->cell_lives[cell->of.number]);
		if (expr->of->rank)
			check_element(c, cell, expr->at[0]);
	}
	if (expr->kind != EXPR_SELECT)
		return VISIT_PARTS;
	FOR (i, 2) {
		(i ? add_otherwise : add_facts)(c, expr->ranges, expr->range_count);
		expr_visit_inside(expr->arg[i], check_expr, c);
		c->facts = facts;
	}
	return VISIT_PAST;
}

/* What an end of a loop is where it lies between the loop's own; NULL: nothing but data says that. */
static const struct index *end_said(const struct checking *c, const struct index *end)
{
	int var;
	const struct index *says = end && index_is_var(end, &var) ? c->says[var] : NULL;
	const struct expr *value =
	        says && says->count == 1 && says->terms->atom->kind == ATOM_VALUE ? says->terms->atom->value : NULL;
	return value && value->kind == EXPR_INDEX ? value->index : NULL;
}

/* Rounds lie between a loop's ends. */
static void add_ends(struct checking *c, const struct stmt *loop)
{
	const struct index *first = end_said(c, loop->first), *count = end_said(c, loop->count);
	if (!first && !count)
		return;
	struct fact *fact = arena_new(c->arena, struct fact);
	int64_t most;
	fact->at = index_add(c->arena, index_var(c->arena, loop->var, loop->extent),
	        index_scale(c->arena, first ? first : count, -1));
	range_of(c, fact->at, &fact->low, &fact->high);
	fact->low = first ? 0 : fact->low;
	if (!first)
		fact->high = -1;
	else if (count && index_is_constant(index_add(c->arena, count, index_scale(c->arena, first, -1)), &most))
		fact->high = most - 1;
	fact->before = c->facts;
	c->facts = fact;
}

static void check_block(struct checking *, const struct block *);

/* What a statement says, without what stands inside it. */
static void check_alone(struct checking *c, const struct stmt *stmt)
{
	struct stmt bare = *stmt;
	struct block alone = { .at = (struct stmt *[]){ &bare }, .count = 1 };
	memset(&bare.body, 0, sizeof bare.body);
	memset(&bare.other, 0, sizeof bare.other);
	block_indices(&alone, check_index, c);
	c->lane = stmt->lane;
	c->width = stmt->lane < 0 ? 1 : stmt->left ? stmt->left : loops_width(c->loops, stmt);
	expr_visit_inside(stmt->value, check_expr, c);
	if (stmt->kind == STMT_STORE)
		check_element(c, stmt->cell, stmt->at);
	c->lane = -1;
	c->width = 1;
}

static void begin_var(struct checking *c, int var, int64_t low, int64_t high, int64_t step)
{
	c->var_lives[var] = true;
	c->low[var] = low;
	c->high[var] = high;
	c->step[var] = step;
}

static void check_stmt(struct checking *c, const struct stmt *stmt)
{
	const struct fact *facts = c->facts;
	check_alone(c, stmt);
	switch (stmt->kind) {
	case STMT_FOR:
		assert(stmt->extent > 0 && stmt->step > 0 && stmt->extent % stmt->step == 0);
		begin_var(c, stmt->var, 0, stmt->extent - stmt->step, stmt->step);
		FOR (s, stmt->sum_count)
			c->cell_lives[stmt->sums[s]->of.number] = true;
		add_ends(c, stmt);
		break;
	case STMT_INDEX: {
		int64_t low, high;
		range_of(c, stmt->at, &low, &high);
		/* behind a condition a part of it, as its extent says */
		int64_t extent = c->loops->vars.at[stmt->var].extent;
		begin_var(c, stmt->var, low > 0 ? low : 0, high < extent ? high : extent - 1, 1);
		c->says[stmt->var] = stmt->at;
		break;
	}
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
		assert(stmt->lane < 0 || dtype_has_lanes(stmt->cell->of.type));
		break;
	case STMT_IF:
	case STMT_SCOPE: break;
	}
	if (stmt->kind == STMT_IF)
		add_facts(c, stmt->ranges, stmt->range_count);
	check_block(c, &stmt->body);
	c->facts = facts;
	if (stmt->kind == STMT_IF)
		add_otherwise(c, stmt->ranges, stmt->range_count);
	check_block(c, &stmt->other);
	c->facts = facts;
}

static void check_block(struct checking *c, const struct block *block)
{
	FOR (i, block->count)
		check_stmt(c, block->at[i]);
}

void loops_check(const struct loops *loops)
{
	struct arena arena;
	size_t vars = loops->vars.count + 1;
	arena_init(&arena, loops->build);
	struct checking c = { .loops = loops,
		.arena = &arena,
		.var_lives = arena_new_array(&arena, bool, vars),
		.cell_lives = arena_new_array(&arena, bool, loops->cells.count + 1),
		.low = arena_new_array(&arena, int64_t, vars),
		.high = arena_new_array(&arena, int64_t, vars),
		.step = arena_new_array(&arena, int64_t, vars),
		.says = arena_new_array(&arena, const struct index *, vars),
		.lane = -1,
		.width = 1 };
	check_block(&c, &loops->body);
	arena_release(&arena);
}

/* ---- selects that are left ---- */
static enum visit selects(void *user, const struct expr *expr)
{
	int64_t from, to;
	int var = *(const int *)user;
	if (expr_is_between(expr, var, &from, &to))
		return VISIT_PAST;
	FOR (i, expr->range_count)
		if (index_uses(expr->ranges[i].at, var))
			return VISIT_END;
	return VISIT_PARTS;
}

static bool selects_on(const struct expr *expr, int var) { return expr_visit(expr, selects, &var); }

static enum visit selects_along(void *user, struct stmt *stmt)
{
	int var = *(const int *)user;
	return stmt->value && (selects_on(stmt->value, var) || (stmt->lane >= 0 && selects_on(stmt->value, stmt->lane)))
	        ? VISIT_END
	        : VISIT_PARTS;
}

static enum visit is_loop(void *user, struct stmt *stmt)
{
	(void)user;
	return stmt->kind == STMT_FOR ? VISIT_END : VISIT_PARTS;
}

static enum visit is_unsplit(void *user, struct stmt *stmt)
{
	(void)user;
	return stmt->kind == STMT_FOR && !block_visit(&stmt->body, is_loop, NULL)
	                && block_visit(&stmt->body, selects_along, &stmt->var)
	        ? VISIT_END
	        : VISIT_PARTS;
}

bool loops_are_split(const struct loops *loops) { return !block_visit(&loops->body, is_unsplit, NULL); }
