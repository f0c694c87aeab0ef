/* lane_cost.c: what a variable costs as the lane: of a nest, the one that costs least is taken. */
#include "loops/vectorising.h"
static const double LANE_GATHER = 1.2; /* of a lane that is loaded from a place of its own */

struct judging {
	const struct loops *loops;
	int var;
	bool possible;
	double cost;   /* of one round, in loads of a vector, for lanes elements */
	double scalar; /* of one round, for one element without vectors */
	bool floats;   /* of float and float16 alone: those are vectors wherever they can be */
	double rounds;
	const struct block *inside; /* cells that begin here become vectors */
};

static enum visit begins(void *user, struct stmt *stmt)
{
	const struct cell *cell = *(const struct cell *const *)user;
	if ((stmt->kind == STMT_ARRAY || stmt->declare || stmt->kind == STMT_JOIN) && stmt->cell == cell)
		return VISIT_END;
	FOR (s, stmt->sum_count)
		if (stmt->sums[s] == cell)
			return VISIT_END;
	return VISIT_PARTS;
}
static bool begins_inside(const struct block *block, const struct cell *cell)
{
	return block_visit(block, begins, &cell);
}

static double access_cost(const struct judging *j, const struct index *at, bool store)
{
	int64_t factor = index_factor(at, j->var);
	double lanes = j->loops->target->lanes;
	if (index_bends(at, j->var))
		return LANE_GATHER * lanes;
	return factor == 1 ? 1 : factor == 0 ? 0.5 : store ? 1.5 * lanes : 1.2 * lanes;
}

enum { STRIDED = 1 };        /* of a vector of strided floats, beside the lines that it lies in: their permutations */
enum { ACCESSES = 2 };       /* single elements that are loaded in the time of a vector */
enum { LOOKED_UP = 2 };      /* lanes that are looked up in a table of bytes in the time of a vector */
enum { PAIRS = 2 };          /* the cost of every second element, where those are narrow */
enum { BY_LANE_DOUBLE = 8 }; /* rows of double that cost this have no instruction */

/* Rows and casts that a vector leaves to its lanes (common/lanes.jinja): each is stored, computed by itself and
 * loaded. */
static bool by_lane(const struct target *target, const struct expr *expr)
{
	if (expr->kind == EXPR_CAST) {
		enum dtype from = expr->arg[0]->type, to = expr->type;
		bool floats[2] = { dtypes[from].class == CLASS_FLOAT, dtypes[to].class == CLASS_FLOAT };
		enum dtype integer = floats[0] ? to : from;
		if (floats[0] == floats[1] || dtypes[to].class == CLASS_BOOL)
			return false;
		return integer == DTYPE_U32 || (floats[0] && integer == DTYPE_U64)
		        || (dtypes[integer].bits == 64 && !target->casts_64);
	}
	if (expr->kind != EXPR_SCALAR || expr->type == DTYPE_F32)
		return false;
	if (expr->type == DTYPE_F64)
		return scalars[expr->opcode].cost >= BY_LANE_DOUBLE;
	return expr->opcode == SCALAR_pow || expr->opcode == SCALAR_random;
}

/* What indices load is part of the gather that they are for. */
static void judge_loads(struct judging *j, const struct expr *expr)
{
	j->floats &= expr->type == DTYPE_F32 || expr->type == DTYPE_F16;
	const struct expr *kept = expr_kept_index(expr, &(int64_t){ 0 }, &(int64_t){ 0 });
	if (kept) {
		judge_loads(j, kept);
		return;
	}
	if (expr->kind == EXPR_LOAD && expr->of->rank) {
		int64_t step = index_factor(expr->at[0], j->var);
		bool pairs = step == 2 && dtypes[expr->type].bits < 32;
		bool strided = expr->type == DTYPE_F32 && step > 1 && step <= j->loops->target->strides
		        && !index_bends(expr->at[0], j->var);
		j->cost += j->rounds
		        * (expr_looked_up(expr, j->var) ? j->loops->target->lanes / LOOKED_UP
		                        : pairs         ? PAIRS
		                        : strided       ? STRIDED + (double)step
		                                        : access_cost(j, expr->at[0], false));
		j->scalar += j->rounds / ACCESSES;
	}
	if (by_lane(j->loops->target, expr))
		j->cost += j->rounds * j->loops->target->lanes
		        * ((expr->kind == EXPR_CAST ? 1 : 0.25 * scalars[expr->opcode].cost)
		                + (double)(ACCESSES + 1) / ACCESSES);
	FOR (i, 3)
		if (expr->arg[i])
			judge_loads(j, expr->arg[i]);
}

/* A register or an array of vectors says no address: those are scalars, or lie in memory. */
struct addressing {
	const struct cell *cell;
	bool used;
};
static enum visit loads_cell(void *user, const struct expr *expr)
{
	return expr->kind == EXPR_LOAD && cell_of_load(expr) == ((const struct addressing *)user)->cell ? VISIT_END
	                                                                                                : VISIT_PARTS;
}
static void see_address(void *user, const struct index *index, bool address)
{
	struct addressing *a = user;
	(void)address;
	a->used |= index_visit(index, loads_cell, a);
}
static bool says_addresses(const struct block *block, const struct cell *cell)
{
	struct addressing a = { cell, false };
	if (dtypes[cell->of.type].class != CLASS_FLOAT)
		block_indices(block, see_address, &a);
	return a.used;
}

static void judge_leaf(void *user, struct stmt *stmt, double rounds)
{
	struct judging *j = user;
	j->rounds = rounds;
	bool typed = loops_are_typed(j->loops);
	if (stmt->kind == STMT_JOIN || !stmt->value
	        || (typed ? !dtype_has_lanes(stmt->cell->of.type) : stmt->cell->of.type != DTYPE_F32)
	        || !loops_can_vector(stmt->value, j->var, typed)) {
		j->possible = false;
		return;
	}
	if (stmt->kind == STMT_STORE) {
		bool own = stmt->cell->kind == CELL_ARRAY && begins_inside(j->inside, stmt->cell);
		if (index_bends(stmt->at, j->var)
		        || (own ? index_factor(stmt->at, j->var) != 0 : index_factor(stmt->at, j->var) == 0)
		        || (own && says_addresses(j->inside, stmt->cell)))
			j->possible = false;
		j->cost += rounds * access_cost(j, stmt->at, true);
		j->scalar += rounds / ACCESSES;
	} else if (!begins_inside(j->inside, stmt->cell) || says_addresses(j->inside, stmt->cell))
		j->possible = false; /* a register from outside would have to be joined */
	judge_loads(j, stmt->value);
	j->cost += rounds * 0.25 * expr_cost(stmt->value);
	j->scalar += rounds * 0.25 * expr_cost(stmt->value);
}

static bool pays(const struct judging *j)
{
	return j->possible && (j->floats || j->cost < j->scalar * j->loops->target->lanes);
}

static enum visit condition_uses(void *user, struct stmt *stmt)
{
	int var = *(const int *)user;
	FOR (r, stmt->range_count)
		if (index_uses(stmt->ranges[r].at, var))
			return VISIT_END;
	return (stmt->kind == STMT_INDEX && index_uses(stmt->at, var)) || (stmt->first && index_uses(stmt->first, var))
	                || (stmt->count && index_uses(stmt->count, var))
	        ? VISIT_END
	        : VISIT_PARTS;
}
static bool conditions_use(const struct block *block, int var) { return block_visit(block, condition_uses, &var); }

/* Cost for one element; < 0: it cannot be. */
double lane_cost(const struct loops *loops, const struct block *inside, int var, int64_t extent)
{
	int64_t lanes = loops->target->lanes;
	struct judging j = { .loops = loops, .var = var, .possible = true, .floats = true, .inside = inside };
	block_leaves(inside, judge_leaf, &j);
	if (!pays(&j) || conditions_use(inside, var) || extent < 2)
		return -1;
	if (extent < lanes && j.cost > j.scalar * (double)extent) /* most of its lanes idle, and gathered besides */
		return -1;
	return j.cost * (double)ceil_div(extent, lanes) / (double)extent;
}

/* The least cost of the sums inside along their own terms; < 0: one of them cannot. */
double lane_cost_of_terms(const struct loops *loops, const struct block *block)
{
	double cost = 0;
	FOR (i, block->count) {
		const struct stmt *stmt = block->at[i];
		if (stmt->kind == STMT_FOR && stmt->role == ROLE_LANES) {
			/* the sums themselves begin at the loop */
			struct block alone = { .at = (struct stmt **)&block->at[i], .count = 1 };
			struct judging j = {
				.loops = loops, .var = stmt->var, .possible = true, .floats = true, .inside = &alone
			};
			block_leaves(&stmt->body, judge_leaf, &j);
			if (!pays(&j) || conditions_use(&stmt->body, stmt->var))
				return -1;
			cost += j.cost * ((double)stmt->extent / loops->target->lanes + 6);
		} else {
			double inner = lane_cost_of_terms(loops, &stmt->body);
			if (inner < 0)
				return -1;
			cost += inner;
		}
	}
	return cost;
}
