/* lanes.c: which variable of a nest may lie along the lanes of a block, which along its rows, what a value costs there,
 * and how far the blocks inside reach. */
#include "jit/walking.h"
#include <stdlib.h>

enum { STRIDES_MOST = 4 };

bool lane_is_inner(const struct stmt *stmt)
{
	return stmt->kind == STMT_FOR && (stmt->role == ROLE_MAP || stmt->role == ROLE_LANES);
}

static enum visit see_inner(void *user, struct stmt *stmt)
{
	(void)user;
	return lane_is_inner(stmt) ? VISIT_END : VISIT_PARTS;
}
bool lane_leaf_body(const struct block *block) { return !block_visit(block, see_inner, NULL); }

static enum visit condition_uses(void *user, struct stmt *stmt)
{
	int var = *(const int *)user;
	return stmt->range_count || (stmt->kind == STMT_INDEX && index_uses(stmt->at, var))
	                || (stmt->value && expr_selects_on(stmt->value, var))
	        ? VISIT_END
	        : VISIT_PARTS;
}

bool lane_may_lie(const struct block *body, int var, int64_t extent)
{
	return extent > 1 && !block_bends(body, var) && !block_visit(body, condition_uses, &var);
}

/* Also where lanes find the places of what they load. */
static enum visit bends_beside_loads(void *user, const struct expr *expr)
{
	int var = *(const int *)user;
	bool loads = expr->kind == EXPR_LOAD
	        && (cell_of_load(expr)->kind != CELL_BUFFER || lanes_lie(expr->type) || expr_looked_up(expr, var));
	for (int i = 0; expr->kind == EXPR_LOAD && !loads && i < expr_index_count(expr); i++)
		if (index_bends(expr_index_at(expr, i), var))
			return VISIT_END;
	return VISIT_PARTS;
}
static enum visit stmt_bends(void *user, struct stmt *stmt)
{
	int var = *(const int *)user;
	return (stmt->at && index_bends(stmt->at, var))
	                || (stmt->value && expr_visit(stmt->value, bends_beside_loads, user))
	        ? VISIT_END
	        : VISIT_PARTS;
}
static enum visit uncut(void *user, const struct expr *expr)
{
	return expr->kind == EXPR_SELECT && !blocks_cuts(expr->ranges, expr->range_count, *(const int *)user)
	                && !blocks_masks(expr)
	        ? VISIT_END
	        : VISIT_PARTS;
}
/* Also what cuts a block along its lanes. */
static enum visit condition_bends(void *user, struct stmt *stmt)
{
	int var = *(const int *)user;
	bool cuts = blocks_cuts(stmt->ranges, stmt->range_count, var);
	FOR (r, stmt->range_count)
		if (index_uses(stmt->ranges[r].at, var) && (!cuts || stmt->other.count))
			return VISIT_END;
	return (stmt->kind == STMT_INDEX && index_uses(stmt->at, var))
	                || (stmt->value && expr_visit(stmt->value, uncut, user))
	        ? VISIT_END
	        : VISIT_PARTS;
}
bool lane_may_gather(const struct block *body, int var, int64_t extent)
{
	return extent > 1 && !block_visit(body, stmt_bends, &var) && !block_visit(body, condition_bends, &var);
}

/* May each row find its place, the same for all lanes? */
struct finding {
	struct arena *arena;
	int row, lane;
};
static enum visit load_finds(void *user, const struct expr *expr)
{
	const struct finding *f = user;
	for (int i = 0; expr->kind == EXPR_LOAD && i < expr_index_count(expr); i++) {
		const struct index *at = expr_index_at(expr, i);
		if (index_bends(at, f->row) && (cell_of_load(expr)->kind != CELL_BUFFER || !lanes_lie(expr->type)))
			return VISIT_END;
		FOR (t, at->count) {
			const struct index *one = index_of_atom(f->arena, *at->terms[t].atom, 1);
			if (index_bends(one, f->row) && index_uses(one, f->lane))
				return VISIT_END;
		}
	}
	return VISIT_PARTS;
}
static enum visit row_bends(void *user, struct stmt *stmt)
{
	const struct finding *f = user;
	return (stmt->at && index_bends(stmt->at, f->row)) || (stmt->value && expr_visit(stmt->value, load_finds, user))
	        ? VISIT_END
	        : VISIT_PARTS;
}
bool lane_may_find(struct arena *arena, const struct block *body, int row, int64_t extent, int lane)
{
	struct finding f = { arena, row, lane };
	return extent > 1 && !block_bends(body, lane) && !block_visit(body, row_bends, &f)
	        && !block_visit(body, condition_uses, &row);
}

struct judging {
	struct arena *arena;
	int var;
	double cost;
	double rounds;
};
/* paired: every second, third or fourth of its elements is taken by permutations (m_gather). */
static void judge_address(struct judging *j, const struct cell *cell, const struct index *at, bool stored, bool paired)
{
	bool bends = cell->kind != CELL_REGISTER && at && index_bends(at, j->var), once = true;
	for (int i = 0; bends && i < at->count; i++) {
		const struct index *one = index_of_atom(j->arena, *at->terms[i].atom, 1);
		once &= !index_bends(one, j->var) || one->vars == var_bit(j->var);
	}
	int64_t factor = cell->kind == CELL_REGISTER || !at ? 1 : index_factor(at, j->var);
	j->cost += j->rounds
	        * (bends                                                          ? (stored        ? 40
	                                                                                    : once ? 6
	                                                                                           : 8)
	                        : factor == 1                                     ? 1
	                        : factor == 0                                     ? 0.7
	                        : factor >= 2 && factor <= STRIDES_MOST && paired ? 2
	                                                                          : 10);
}
static void judge_load(void *user, const struct expr *load)
{
	judge_address(user, cell_of_load(load), load->of->rank ? load->at[0] : NULL, false, load->type == DTYPE_F32);
}
static void judge_leaf(void *user, struct stmt *stmt, double rounds)
{
	struct judging *j = user;
	j->rounds = rounds;
	judge_address(j, stmt->cell, stmt->at, true, false);
	if (stmt->value)
		expr_loads(stmt->value, judge_load, j);
}

/* Less is better: what a value costs, with a short row's overhead. */
double call_cost(struct arena *arena, const struct block *body, int var, int64_t extent)
{
	struct judging j = { .arena = arena, .var = var };
	block_leaves(body, judge_leaf, &j);
	return j.cost * (1 + 8.0 / (double)extent);
}

/* Do lanes that lie apart have neighbours along the row?  Then blocks of both turn in registers. */
struct turning {
	int lane, row;
	bool turns;
};
static void see_turn(struct turning *t, const struct cell *cell, const struct index *at)
{
	t->turns |= cell->kind == CELL_BUFFER && at && llabs(index_factor(at, t->lane)) > STRIDES_MOST
	        && index_factor(at, t->row) == 1;
}
static void turning_load(void *user, const struct expr *load)
{
	see_turn(user, cell_of_load(load), load->of->rank ? load->at[0] : NULL);
}
static void turning_leaf(void *user, struct stmt *stmt, double rounds)
{
	(void)rounds;
	see_turn(user, stmt->cell, stmt->at);
	if (stmt->value)
		expr_loads(stmt->value, turning_load, user);
}
bool lane_turns(const struct block *body, int lane, const struct stmt *row, int lanes)
{
	struct turning t = { lane, row->var, false };
	if (row->extent >= lanes)
		block_leaves(body, turning_leaf, &t);
	return t.turns;
}

/* ---- how far blocks reach ---- */
/* How far the loops inside reach: the lanes of the blocks in them. */
static enum visit see_length(void *user, struct stmt *stmt)
{
	int64_t *most = user,
	        length = lane_is_inner(stmt) ? stmt->extent
	        : stmt->kind == STMT_ARRAY   ? stmt->cell->size
	                                     : 1;
	*most = length > *most ? length : *most;
	return VISIT_PARTS;
}
int64_t lane_longest(const struct block *block)
{
	int64_t most = 1;
	block_visit(block, see_length, &most);
	return most;
}
