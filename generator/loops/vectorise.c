/* vectorise.c: one variable of each nest is taken target->lanes at a time.
 *
 * A nest of maps gives the variable along which most of what it loads and stores lies side by side; it becomes the
 * innermost. A sum in 64 lanes is either taken along its terms, in 64 / lanes registers, or, where the outputs lie
 * better, of as many outputs as there are lanes.  Vectors are of any type that has lanes (definitions.h), each of
 * target->lanes elements; where lanes are threads, of float alone.  With one lane the same with scalars. */
#include "loops/loops.h"
#include <assert.h>

/* ---- what a variable costs as the lane ---- */
static const double LANE_GATHER = 1.2; /* of a lane that is loaded from a place of its own */

static const double SQUARE = 0.2; /* of an element that is transposed in registers, in loads of a vector */

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

static bool is_typed(const struct loops *loops) { return !loops->target->lanes_are_threads; }

static void judge_leaf(void *user, struct stmt *stmt, double rounds)
{
	struct judging *j = user;
	j->rounds = rounds;
	bool typed = is_typed(j->loops);
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
static double judge(const struct loops *loops, const struct block *inside, int var, int64_t extent)
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

/* ---- sums in 64 lanes ---- */
static struct stmt *set_new(struct loops *loops, struct cell *cell, const struct expr *value, bool declare)
{
	struct stmt *stmt = stmt_new(loops, STMT_SET);
	stmt->cell = cell;
	stmt->value = value;
	stmt->declare = declare;
	return stmt;
}

static struct stmt *count_new(struct loops *loops, const char *like, int64_t extent, int64_t step)
{
	struct stmt *loop = for_new(loops, var_new(loops, like, extent), extent, ROLE_SERIAL);
	loop->step = step;
	return loop;
}

static const struct index *count_index(struct loops *loops, const struct stmt *loop)
{
	return index_var(loops->arena, loop->var, loop->extent);
}

/* Where a loop of those rounds ends that stands for the first of this one; NULL: behind them all. */
static const struct index *end_before(struct loops *loops, const struct stmt *loop, int64_t rounds)
{
	return !loop->count || rounds == loop->extent
	        ? loop->count
	        : index_value(loops->arena, expr_index(loops->arena, loop->count), 0, rounds);
}

/* What the rounds behind them stand in. */
static struct stmt *rest_new(struct loops *loops, const struct stmt *loop, int64_t rounds)
{
	struct stmt *rest = stmt_new(loops, loop->count ? STMT_IF : STMT_SCOPE);
	if (loop->count) {
		struct range *behind = arena_new(loops->arena, struct range);
		*behind = (struct range){ loop->count, rounds + 1, loop->extent + 1 };
		rest->ranges = behind;
		rest->range_count = 1;
	}
	return rest;
}

/* Marks a copied body as vectors along a variable. */
struct marking {
	int var, left;
	bool bytes;
};
static enum visit mark_stmt(void *user, struct stmt *stmt)
{
	const struct marking *m = user;
	if (stmt->kind == STMT_SET || stmt->kind == STMT_STORE) {
		stmt->lane = m->var;
		stmt->left = m->left;
		stmt->bytes = m->bytes;
	}
	if (stmt->kind == STMT_SET || stmt->kind == STMT_ARRAY) {
		stmt->cell->vector = true;
		stmt->cell->bytes = m->bytes;
	}
	return VISIT_PARTS;
}
static void mark(const struct block *block, int var, int left, bool bytes)
{
	block_visit(block, mark_stmt, &(struct marking){ var, left, bytes });
}

/* The loop's body for one term, on registers of this part. */
static void group_term(
        struct loops *loops, const struct stmt *loop, struct cell **part, const struct index *at, struct block *out)
{
	struct copying copying;
	copying_init(&copying, loops, true);
	copying_put(&copying, loop->var, at);
	FOR (s, loop->sum_count) {
		push(loops->arena, &copying.old_cells, loop->sums[s]);
		push(loops->arena, &copying.new_cells, part[s]);
	}
	copy_block(&copying, &loop->body, out);
}

static void add_part(struct loops *loops, const struct stmt *loop, struct cell **parts, const struct index *at,
        int lane, int left, struct block *out)
{
	struct block body = { 0 };
	group_term(loops, loop, parts, at, &body);
	mark(&body, lane, left, false);
	FOR_ALL (i, body)
		if (body.at[i]->kind == STMT_SET && !body.at[i]->declare)
			body.at[i]->keep = left > 0;
	block_add_all(loops, out, &body);
}

static void along_terms(struct loops *loops, const struct stmt *loop, struct block *out)
{
	int lanes = loops->target->lanes, count = SUMS / lanes;
	struct cell *parts[SUMS][SUMS_MAX];
	int64_t main = loop->extent / SUMS * SUMS, rest = loop->extent - main;
	for (int p = 0; p < count; p++)
		FOR (s, loop->sum_count) {
			enum dtype type = loop->sums[s]->of.type;
			parts[p][s] = cell_new(loops, CELL_REGISTER, loop->sums[s]->of.name, type, 1);
			parts[p][s]->vector = true;
			struct stmt *begin =
			        set_new(loops, parts[p][s], reduce_start(loops->arena, loop->reduce[s], type), true);
			begin->lane = loop->var;
			block_add(loops, out, begin);
		}
	if (main) {
		struct stmt *terms = count_new(loops, "t", main, SUMS);
		terms->count = end_before(loops, loop, main);
		FOR (p, count)
			add_part(loops, loop, parts[p],
			        index_plus(loops->arena, count_index(loops, terms), (int64_t)p * lanes), terms->var, 0,
			        &terms->body);
		block_add(loops, out, terms);
	}
	if (rest) {
		struct stmt *scope = rest_new(loops, loop, main);
		int first = index_new(loops, "t", loop->extent, index_constant(loops->arena, main), &scope->body);
		for (int p = 0; (int64_t)p * lanes < rest; p++) {
			int64_t left = rest - (int64_t)p * lanes;
			const struct index *at = index_plus(
			        loops->arena, index_var(loops->arena, first, loop->extent), (int64_t)p * lanes);
			add_part(loops, loop, parts[p], at, first, left < lanes ? (int)left : 0, &scope->body);
		}
		block_add(loops, out, scope);
	}
	FOR (s, loop->sum_count) {
		for (int half = count / 2; half; half /= 2)
			FOR (p, half) {
				struct stmt *join = set_new(loops, parts[p][s],
				        reduce_join(loops, loop->reduce[s], cell_load(loops, parts[p][s], NULL),
				                cell_load(loops, parts[p + half][s], NULL)),
				        false);
				join->lane = loop->var;
				block_add(loops, out, join);
			}
		struct stmt *join = stmt_new(loops, STMT_JOIN);
		join->cell = loop->sums[s];
		join->from = parts[0][s];
		join->reduce[0] = loop->reduce[s];
		block_add(loops, out, join);
	}
}

/* Otherwise the 64 partial results are taken some at a time, z, z + 8, … in registers, joined as far as they go, and
 * the rest through an array.  What is a vector is for the nest around to say. */
enum { GROUP = 8, GROUP_LEAST = 2, BESIDE = 6 }; /* at a time; vectors that then lie side by side */

static const struct expr *part_of_array(
        struct loops *loops, enum reduce reduce, struct cell *array, int from, int count, int step)
{
	if (count == 1)
		return cell_load(loops, array, index_constant(loops->arena, from));
	return reduce_join(loops, reduce, part_of_array(loops, reduce, array, from, count / 2, 2 * step),
	        part_of_array(loops, reduce, array, from + step, count / 2, 2 * step));
}

static void join_parts(
        struct loops *loops, const struct stmt *loop, struct cell *part[][SUMS_MAX], int parts, struct block *out)
{
	FOR (s, loop->sum_count)
		for (int half = parts / 2; half; half /= 2)
			FOR (k, half)
				block_add(loops, out,
				        set_new(loops, part[k][s],
				                reduce_join(loops, loop->reduce[s], cell_load(loops, part[k][s], NULL),
				                        cell_load(loops, part[k + half][s], NULL)),
				                false));
}

static void begin_parts(
        struct loops *loops, const struct stmt *loop, struct cell *part[][SUMS_MAX], int parts, struct block *out)
{
	FOR (k, parts)
		FOR (s, loop->sum_count) {
			enum dtype type = loop->sums[s]->of.type;
			part[k][s] = cell_new(loops, CELL_REGISTER, loop->sums[s]->of.name, type, 1);
			block_add(loops, out,
			        set_new(loops, part[k][s], reduce_start(loops->arena, loop->reduce[s], type), true));
		}
}

/* Integers are exact in any order: terms as they lie, eight at a time.  A check's bit waits for nothing: one result,
 * which stays in a register. */
static void as_they_lie(struct loops *loops, const struct stmt *loop, struct block *out)
{
	struct cell *part[GROUP][SUMS_MAX];
	int64_t main = loop->extent / GROUP * GROUP;
	int parts = loops->kernel->root->check ? 1 : GROUP;
	begin_parts(loops, loop, part, parts, out);
	struct stmt *terms = count_new(loops, "t", main, GROUP);
	FOR (k, GROUP)
		group_term(loops, loop, part[k % parts], index_plus(loops->arena, count_index(loops, terms), k),
		        &terms->body);
	block_add(loops, out, terms);
	for (int64_t k = main; k < loop->extent; k++)
		group_term(loops, loop, part[(k - main) % parts], index_constant(loops->arena, k), out);
	join_parts(loops, loop, part, parts, out);
	FOR (s, loop->sum_count)
		block_add(loops, out, set_new(loops, loop->sums[s], cell_load(loops, part[0][s], NULL), true));
}

static bool is_exact(const struct stmt *loop)
{
	FOR (s, loop->sum_count)
		if (dtypes[loop->sums[s]->of.type].class == CLASS_FLOAT)
			return false;
	return loop->extent >= GROUP;
}

/* `group` partial results at a time. */
static void in_groups(struct loops *loops, const struct stmt *loop, int group, struct block *out)
{
	if (is_exact(loop)) {
		as_they_lie(loops, loop, out);
		return;
	}
	const int groups = SUMS / group;
	struct cell *array[SUMS_MAX], *part[GROUP][SUMS_MAX];
	int64_t main = loop->extent / SUMS * SUMS, rest = loop->extent - main;
	struct stmt *each = count_new(loops, "z", groups, 1);
	const struct index *z = count_index(loops, each);
	struct block *body = &each->body;
	FOR (s, loop->sum_count) {
		struct stmt *begin = stmt_new(loops, STMT_ARRAY);
		array[s] = begin->cell = cell_new(loops, CELL_ARRAY, "sums", loop->sums[s]->of.type, groups);
		block_add(loops, out, begin);
	}
	block_add(loops, out, each);
	begin_parts(loops, loop, part, group, body);
	if (main) {
		struct stmt *terms = count_new(loops, "t", main, SUMS);
		terms->count = end_before(loops, loop, main);
		FOR (k, group)
			group_term(loops, loop, part[k],
			        index_add(loops->arena, count_index(loops, terms),
			                index_plus(loops->arena, z, k * groups)),
			        &terms->body);
		block_add(loops, body, terms);
	}
	struct stmt *behind = rest_new(loops, loop, main);
	struct block *left = loop->count ? &behind->body : body;
	for (int k = 0; k * groups < rest; k++) {
		const struct index *at = index_plus(loops->arena, z, main + k * groups);
		struct stmt *some = stmt_new(loops, rest - k * groups < groups ? STMT_IF : STMT_SCOPE);
		struct range *range = arena_new(loops->arena, struct range);
		*range = (struct range){ z, 0, rest - k * groups };
		some->ranges = some->kind == STMT_IF ? range : NULL;
		some->range_count = some->kind == STMT_IF;
		if (some->kind == STMT_IF) /* inside, z is known to be below: no term past the end */
			at = index_plus(loops->arena, index_var(loops->arena, each->var, range->to), main + k * groups);
		group_term(loops, loop, part[k], at, some->kind == STMT_IF ? &some->body : left);
		if (some->kind == STMT_IF)
			block_add(loops, left, some);
	}
	if (loop->count && rest)
		block_add(loops, body, behind);
	join_parts(loops, loop, part, group, body);
	FOR (s, loop->sum_count) {
		struct stmt *store = stmt_new(loops, STMT_STORE);
		store->cell = array[s];
		store->at = z;
		store->value = cell_load(loops, part[0][s], NULL);
		block_add(loops, body, store);
	}
	FOR (s, loop->sum_count)
		block_add(loops, out,
		        set_new(loops, loop->sums[s], part_of_array(loops, loop->reduce[s], array[s], 0, groups, 1),
		                true));
}

/* ---- nests ---- */
static void vectorise_block(struct loops *, struct block *);

static enum visit is_of_role(void *user, struct stmt *stmt)
{
	return stmt->kind == STMT_FOR && stmt->role == *(const enum role *)user ? VISIT_END : VISIT_PARTS;
}
static bool has(const struct block *block, enum role role) { return block_visit(block, is_of_role, &role); }

static enum visit is_store(void *user, struct stmt *stmt)
{
	(void)user;
	return stmt->kind == STMT_STORE ? VISIT_END : VISIT_PARTS;
}
static bool has_store(const struct block *block) { return block_visit(block, is_store, NULL); }

/* Does a chain store each of its partial results?  Rows of them that run side by side would be gathered and scattered.
 */
static bool stores_in_serial(const struct block *block)
{
	FOR (i, block->count)
		if (block->at[i]->kind == STMT_FOR && block->at[i]->role == ROLE_SERIAL
		        && has_store(&block->at[i]->body))
			return true;
	return false;
}

/* The least cost of the sums inside along their own terms; < 0: one of them cannot. */
static double judge_terms(const struct loops *loops, const struct block *block)
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
			double inner = judge_terms(loops, &stmt->body);
			if (inner < 0)
				return -1;
			cost += inner;
		}
	}
	return cost;
}

/* Of sums whose vectors lie side by side: few partial results at a time leave registers for neighbours, of which whole
 * lines of the cache are read, and few streams. */
static int group_beside(const struct target *target, int64_t extent)
{
	int group = GROUP;
	while (group > GROUP_LEAST && !target->lanes_are_threads && extent >= (int64_t)target->lanes * BESIDE
	        && target->registers * 3 / 4 / group < BESIDE)
		group /= 2;
	return group;
}

static void expand_sums(struct loops *loops, struct block *block, int group)
{
	struct block old = block_take(block);
	FOR_EACH (struct stmt *stmt, old) {
		expand_sums(loops, &stmt->body, group);
		expand_sums(loops, &stmt->other, group);
		if (stmt->kind != STMT_FOR || stmt->role != ROLE_LANES)
			block_add(loops, block, stmt);
		else
			in_groups(loops, stmt, group, block);
	}
}

/* Does anything loaded lie side by side along `other`, but apart along the lanes? */
struct crossing {
	int lane, other;
	bool crosses;
};
static void see_crossing(void *user, const struct index *index, bool address)
{
	struct crossing *c = user;
	int64_t factor = index_factor(index, c->lane);
	c->crosses |= address && factor != 0 && factor != 1 && index_factor(index, c->other) == 1;
}

static bool crosses(const struct block *body, int lane, int other)
{
	struct crossing c = { lane, other, false };
	block_indices(body, see_crossing, &c);
	return c.crosses;
}

/* ---- bytes ---- */
/* A map of bytes alone, whose vectors have four times as many of them. */
struct byting {
	struct arena *arena;
	int var;
	bool bytes;
};
static bool is_byte(enum dtype type) { return dtypes[type].bits == 8 && dtype_has_lanes(type); }
static enum visit is_no_byte(void *user, const struct expr *expr)
{
	const struct byting *b = user;
	int64_t factor = 0;
	const struct expr *byte = expr_looked_up(expr, b->var);
	if (byte)
		return is_no_byte(user, byte);
	const struct index *step =
	        expr->kind == EXPR_LOAD && expr->of->rank ? index_step(b->arena, expr->at[0], b->var) : NULL;
	bool lies = expr->kind != EXPR_LOAD || !expr->of->rank
	        || (step && index_is_constant(step, &factor) && (factor == 0 || factor == 1));
	return is_byte(expr->type) && lies && expr_node_has_bytes(expr, b->var) ? VISIT_PARTS : VISIT_END;
}
static void see_bytes(void *user, struct stmt *stmt, double rounds)
{
	struct byting *b = user;
	(void)rounds;
	b->bytes &= stmt->kind != STMT_JOIN && is_byte(stmt->cell->of.type)
	        && (stmt->kind == STMT_SET || (stmt->cell->kind == CELL_BUFFER && index_factor(stmt->at, b->var) == 1))
	        && !expr_visit(stmt->value, is_no_byte, b);
}
static bool are_bytes(const struct loops *loops, const struct stmt *loop, const struct block *body)
{
	struct byting b = { loops->arena, loop->var, true };
	block_leaves(body, see_bytes, &b);
	return b.bytes && is_typed(loops) && loop->extent >= (int64_t)LANE_BYTES * loops->target->lanes;
}

/* ---- transpositions ---- */
static bool makes_squares(const struct loops *loops, struct stmt **loop, int count, int k, const struct block *body)
{
	int lanes = loops->target->lanes;
	bool makes = false;
	for (int n = 0; n < count && body->count == 1 && loop[k]->extent >= lanes && !loops->target->options.small; n++)
		makes |= loops_transposes(loops, body->at[0], loop[k]->var, loop[n]);
	return makes;
}

/* May a round run twice?  What it stores is loaded nowhere in the kernel, where it would wait for both stores. */
static enum visit stores_loaded(void *user, struct stmt *stmt)
{
	(void)user;
	return stmt->kind == STMT_STORE && stmt->cell->loaded ? VISIT_END : VISIT_PARTS;
}
static bool may_run_twice(const struct loops *loops, const struct block *body)
{
	return !loops->target->lanes_are_threads && !block_visit(body, stores_loaded, NULL);
}

/* ---- rows of partial results ---- */
/* The one load from a buffer of what a chain adds, of neighbours along the chain. */
struct running {
	struct arena *arena;
	const struct stmt *rows, *chain;
	const struct cell *sum;
	const struct expr *load;
	bool plain;
};
static bool lies_along(const struct running *r, const struct index *at)
{
	const struct index *apart = index_step(r->arena, at, r->rows->var);
	int64_t low, high;
	if (!apart || index_factor(at, r->chain->var) != 1 || index_bends(at, r->chain->var))
		return false;
	index_range(apart, &low, &high);
	return low > 1;
}
static void see_running(void *user, const struct expr *load)
{
	struct running *r = user;
	bool buffer = cell_of_load(load)->kind == CELL_BUFFER;
	if (cell_of_load(load) == r->sum || (buffer && index_is_constant(load->at[0], &(int64_t){ 0 })))
		return;
	r->plain &= buffer && (!r->load || r->load == load) && load->type == DTYPE_F32 && lies_along(r, load->at[0]);
	r->load = load;
}

static struct stmt *store_new(struct loops *loops, struct cell *cell, const struct index *at, const struct expr *value,
        int lane, const struct index *square)
{
	struct stmt *stmt = stmt_new(loops, STMT_STORE);
	stmt->cell = cell;
	stmt->at = at;
	stmt->value = value;
	stmt->lane = lane;
	stmt->square = square;
	return stmt;
}

static const struct index *at_term(struct loops *loops, const struct running *r, const struct index *at,
        const struct index *row, const struct index *term)
{
	struct copying copying;
	copying_init(&copying, loops, false);
	copying_put(&copying, r->rows->var, row);
	copying_put(&copying, r->chain->var, term);
	return index_substitute(loops->arena, at, copying.with);
}

/* A loop over the chain by squares: the next terms of the rows, first + lane `row`, transposed, and in it a loop over
 * them that adds; what is left of the chain is not in it. */
static struct stmt *add_by_squares(struct loops *loops, const struct running *r, const struct stmt *step,
        const struct index *first, int row, struct cell *square, struct stmt **term, struct block *out)
{
	struct arena *arena = loops->arena;
	int64_t lanes = loops->target->lanes;
	const struct index *lane = index_var(arena, row, lanes);
	struct stmt *array = stmt_new(loops, STMT_ARRAY),
	            *each = count_new(loops, "t", r->chain->extent / lanes * lanes, lanes);
	array->cell = square;
	block_add(loops, out, array);
	*term = count_new(loops, "u", lanes, 1);
	block_add(loops, &each->body,
	        store_new(loops, square, lane,
	                cell_load(loops, cell_of_load(r->load),
	                        at_term(loops, r, r->load->at[0], index_add(arena, first, lane),
	                                count_index(loops, each))),
	                row, index_constant(arena, lanes)));
	struct stmt *add = set_new(loops, step->cell,
	        expr_replace(loops->arena, step->value, r->load,
	                cell_load(loops, square,
	                        index_add(arena, index_scale(arena, count_index(loops, *term), lanes), lane))),
	        false);
	add->lane = row;
	block_add(loops, &(*term)->body, add);
	block_add(loops, &each->body, *term);
	block_add(loops, out, each);
	return each;
}

/* Lanes are rows, whose terms lie side by side: as far as they fill squares, these are transposed; the others are
 * gathered. */
static bool terms_in_squares(struct loops *loops, const struct stmt *rows, const struct stmt *chain, struct block *out)
{
	struct arena *arena = loops->arena;
	int64_t lanes = loops->target->lanes, rest = chain->extent % lanes;
	const struct stmt *step = chain->body.count == 1 ? chain->body.at[0] : NULL;
	if (!step || (kernel_counted(loops->kernel) >= 0 && !loops_end_exactly(loops)) || lanes < 4
	        || loops->target->lanes_are_threads || loops->target->options.small || chain->kind != STMT_FOR
	        || chain->role != ROLE_SERIAL || chain->step != 1 || chain->count || chain->extent < lanes
	        || step->kind != STMT_SET || step->cell->of.type != DTYPE_F32)
		return false;
	struct running r = { arena, rows, chain, step->cell, NULL, true };
	expr_loads(step->value, see_running, &r);
	if (!r.plain || !r.load)
		return false;
	int row = index_new(loops, "r", lanes, index_constant(arena, 0), out);
	struct stmt *term, *left = count_new(loops, "t", rest, 1);
	add_by_squares(loops, &r, step, index_var(arena, rows->var, rows->extent), row,
	        cell_new(loops, CELL_ARRAY, "square", DTYPE_F32, lanes * lanes), &term, out);
	if (!rest)
		return true;
	struct copying copying;
	copying_init(&copying, loops, false);
	copying_put(&copying, chain->var, index_plus(arena, count_index(loops, left), chain->extent - rest));
	copy_block(&copying, &chain->body, &left->body);
	block_add(loops, out, left);
	return true;
}

static void rows_in_squares(struct loops *loops, struct stmt *rows)
{
	struct block old = rows->body;
	memset(&rows->body, 0, sizeof rows->body);
	FOR_ALL (i, old)
		if (terms_in_squares(loops, rows, old.at[i], &rows->body))
			rows->role = ROLE_SERIAL;
		else
			block_add(loops, &rows->body, old.at[i]);
}

/* The nest's innermost content, `body`, along loop[k]: the others around it in their order, but one that it crosses
 * inside. What is left over are the last whole lanes, some of them again, or else a part of a vector. */
static struct block along(struct loops *loops, struct stmt **loop, int count, int k, const struct block *body)
{
	bool bytes = are_bytes(loops, loop[k], body);
	int64_t lanes = loops->target->lanes * (bytes ? LANE_BYTES : 1), extent = loop[k]->extent,
	        main = extent / lanes * lanes;
	int var = loop[k]->var;
	bool again = main && may_run_twice(loops, body);
	struct block out = { 0 }, *inner = &out, crossed = { 0 };
	FOR (n, count) {
		if (n == k)
			continue;
		if (!crossed.count && crosses(body, var, loop[n]->var)) {
			struct stmt *inside = for_new(loops, loop[n]->var, loop[n]->extent, loop[n]->role);
			block_add_all(loops, &inside->body, body);
			block_add(loops, &crossed, inside);
			continue;
		}
		struct stmt *around = for_new(loops, loop[n]->var, loop[n]->extent, loop[n]->role);
		block_add(loops, inner, around);
		inner = &around->body;
	}
	if (crossed.count)
		body = &crossed;
	if (main) {
		struct stmt *whole = for_new(loops, var, main, ROLE_MAP);
		whole->step = lanes;
		whole->count = end_before(loops, loop[k], main);
		struct copying copying;
		copying_init(&copying, loops, true);
		copy_block(&copying, body, &whole->body);
		mark(&whole->body, var, 0, bytes);
		rows_in_squares(loops, whole);
		block_add(loops, inner, whole);
	}
	if (extent > main) {
		struct stmt *scope = stmt_new(loops, STMT_SCOPE);
		int first = index_new(loops, loops->vars.at[var].name, extent,
		        index_constant(loops->arena, again ? extent - lanes : main), &scope->body);
		struct copying copying;
		struct block rest = { 0 };
		copying_init(&copying, loops, true);
		copying_put(&copying, var, index_var(loops->arena, first, extent));
		copy_block(&copying, body, &rest);
		mark(&rest, first, again ? 0 : (int)(extent - main), bytes);
		block_add_all(loops, &scope->body, &rest);
		block_add(loops, inner, scope);
	}
	return out;
}

/* As many rows as lanes, each with a sum of its own that is stored as it grows: lanes are the rows.  What is loaded and
 * what is stored lies along the chain, so both go through a square that is transposed. */
static bool in_squares(struct loops *loops, const struct stmt *rows, struct block *out)
{
	const struct stmt *begin = rows->body.count == 2 ? rows->body.at[0] : NULL,
	                  *chain = begin ? rows->body.at[1] : NULL;
	int64_t lanes = loops->target->lanes;
	if (!chain || rows->extent != lanes || begin->kind != STMT_SET || begin->cell->of.type != DTYPE_F32
	        || begin->value->kind != EXPR_NUMBER || chain->kind != STMT_FOR || chain->role != ROLE_SERIAL
	        || chain->step != 1 || chain->extent < lanes || chain->body.count != 2)
		return false;
	const struct stmt *step = chain->body.at[0], *store = chain->body.at[1];
	struct running r = { loops->arena, rows, chain, begin->cell, NULL, true };
	if (step->kind != STMT_SET || step->cell != begin->cell || store->kind != STMT_STORE
	        || store->cell->kind != CELL_BUFFER || store->cell->of.type != DTYPE_F32
	        || store->value->kind != EXPR_LOAD || cell_of_load(store->value) != begin->cell
	        || !lies_along(&r, store->at))
		return false;
	expr_loads(step->value, see_running, &r);
	if (!r.plain || !r.load || cell_of_load(r.load) == store->cell
	        || !loops_can_vector(expr_replace(loops->arena, step->value, r.load, begin->value), rows->var, false))
		return false;

	struct arena *arena = loops->arena;
	struct cell *square = cell_new(loops, CELL_ARRAY, "square", DTYPE_F32, lanes * lanes), *sum = begin->cell;
	int row = index_new(loops, "r", lanes, index_constant(arena, 0), out);
	const struct index *lane = index_var(arena, row, lanes);
	struct stmt *start = set_new(loops, sum, begin->value, true), *term;
	sum->vector = true;
	start->lane = row;
	block_add(loops, out, start);
	struct stmt *each = add_by_squares(loops, &r, step, index_constant(arena, 0), row, square, &term, out);
	block_add(loops, &term->body,
	        store_new(loops, square, index_add(arena, index_scale(arena, count_index(loops, term), lanes), lane),
	                cell_load(loops, sum, NULL), row, NULL));
	int along = index_new(loops, "v", lanes, index_constant(arena, 0), &each->body);
	const struct index *from = index_add(arena, index_scale(arena, index_var(arena, along, lanes), lanes), lane);
	block_add(loops, &each->body,
	        store_new(loops, store->cell,
	                at_term(loops, &r, store->at, lane,
	                        index_add(arena, count_index(loops, each), index_var(arena, along, lanes))),
	                cell_load(loops, square, from), along, index_step(arena, store->at, rows->var)));

	if (chain->extent % lanes) {
		struct stmt *left = count_new(loops, "t", chain->extent % lanes, 1);
		int behind = index_new(loops, "t", chain->extent, index_constant(arena, each->extent), out);
		struct copying copying;
		copying_init(&copying, loops, false);
		copying_put(&copying, rows->var, index_var(arena, row, lanes));
		copying_put(&copying, chain->var,
		        index_add(arena, count_index(loops, left), index_var(arena, behind, chain->extent)));
		copy_block(&copying, &chain->body, &left->body);
		mark(&left->body, row, 0, false);
		block_add(loops, out, left);
	}
	loops->tile = arena_printf(arena, "%d x %d", (int)lanes, (int)lanes);
	return true;
}

static void vectorise_nest(struct loops *loops, struct stmt *nest, struct block *out)
{
	struct nest all = nest_of(nest);
	struct stmt **loop = all.loop;
	int count = all.count, best = -1;
	double least = -1;
	struct block *body = all.body;
	if (nest->together && count == 1 && loops->target->lanes > 1 && in_squares(loops, nest, out))
		return;
	if (loops->target->lanes > 1 && !has(body, ROLE_MAP))
		FOR (k, count) {
			if (loop[k]->together && count == 1 && stores_in_serial(body))
				continue;
			double cost = makes_squares(loops, loop, count, k, body)
			        ? SQUARE
			        : judge(loops, body, loop[k]->var, loop[k]->extent);
			if (cost >= 0 && (least < 0 || cost <= least))
				least = cost, best = k;
		}
	if (best >= 0 && has(body, ROLE_LANES)) {
		double terms = judge_terms(loops, body);
		if (terms >= 0 && terms <= 1.5 * least)
			best = -1;
	}
	if (best < 0) {
		vectorise_block(loops, body);
		block_add(loops, out, nest);
		return;
	}
	expand_sums(loops, body, group_beside(loops->target, loop[best]->extent));
	struct block done = along(loops, loop, count, best, body);
	block_add_all(loops, out, &done);
}

/* ---- rows that data end ---- */
/* Neighbours go one by one up to where data say, to places of their own, and are made of what lies elsewhere. */
static bool goes_along(const struct loops *loops, const struct stmt *loop)
{
	const struct stmt *store = loop->body.count == 1 ? loop->body.at[0] : NULL;
	return loop->kind == STMT_FOR && loop->role == ROLE_SERIAL && loop->count && loop->step == 1 && store
	        && store->kind == STMT_STORE && loops->target->lanes > 1 && is_typed(loops)
	        && dtype_has_lanes(store->cell->of.type) && !store->cell->loaded
	        && index_factor(store->at, loop->var) == 1 && judge(loops, &loop->body, loop->var, loop->extent) >= 0;
}

/* Each vector asks how many are left: of whole ones compilers make a copy by eight bytes a step.  In long rows vectors
 * that are all there come first, some at once. */
enum { ROW_VECTORS = 4 };
static void along_row(struct loops *loops, struct stmt *loop, struct block *out)
{
	struct arena *arena = loops->arena;
	const bool bytes = are_bytes(loops, loop, &loop->body);
	const int lanes = loops->target->lanes * (bytes ? LANE_BYTES : 1), wide = lanes * ROW_VECTORS;
	int64_t from = 0;
	if ((!loop->first || (index_is_constant(loop->first, &from) && !from)) && loop->extent >= 2 * wide
	        && !loops->target->options.small) {
		struct stmt *whole = for_new(loops, loop->var, loop->extent / wide * wide, ROLE_SERIAL);
		int end = index_new(loops, "m", loop->extent + 1,
		        index_scale(arena, index_div(arena, loop->count, wide), wide), out);
		struct copying copying;
		copying_init(&copying, loops, true);
		copy_block(&copying, &loop->body, &whole->body);
		mark(&whole->body, loop->var, 0, bytes);
		whole->step = lanes;
		whole->tile = ROW_VECTORS;
		whole->count = loop->first = index_var(arena, end, loop->extent + 1);
		block_add(loops, out, whole);
	}
	mark(&loop->body, loop->var, 1, bytes);
	loop->body.at[0]->some = index_add(arena, loop->count, index_scale(arena, count_index(loops, loop), -1));
	loop->step = lanes;
	loop->extent = ceil_div(loop->extent, lanes) * lanes;
	block_add(loops, out, loop);
}

static void vectorise_block(struct loops *loops, struct block *block)
{
	struct block old = block_take(block);
	FOR_ALL (i, old) {
		struct stmt *stmt = old.at[i];
		if (stmt->kind == STMT_FOR && stmt->role == ROLE_MAP) {
			vectorise_nest(loops, stmt, block);
			continue;
		}
		if (stmt->kind == STMT_FOR && stmt->role == ROLE_LANES) {
			struct block alone = { .at = &old.at[i], .count = 1 };
			bool by_terms = loops->target->lanes > 1 && judge_terms(loops, &alone) >= 0;
			if (by_terms)
				along_terms(loops, stmt, block);
			else
				in_groups(loops, stmt, GROUP, block);
			continue;
		}
		vectorise_block(loops, &stmt->body);
		vectorise_block(loops, &stmt->other);
		if (goes_along(loops, stmt))
			along_row(loops, stmt, block);
		else
			block_add(loops, block, stmt);
	}
}

void loops_vectorise(struct loops *loops)
{
	FOR_ALL (c, loops->cells)
		loops->cells.at[c]->loaded = cell_is_loaded(&loops->body, loops->cells.at[c]);
	vectorise_block(loops, &loops->body);
}
