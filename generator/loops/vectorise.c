/* vectorise.c: one variable of each nest is taken target->lanes at a time.
 *
 * A nest of maps gives the variable along which most of what it loads and stores lies side by side; it becomes the innermost.
 * A sum in 64 lanes is either taken along its terms, in 64 / lanes registers, or, where the outputs lie better, of as many
 * outputs as there are lanes.  With one lane, or types that are not float, the same with scalars. */
#include "loops/loops.h"
#include <assert.h>

enum { NEST_MOST = MAX_VARS };

/* ---- what a variable costs as the lane ---- */
static const double PICK = 1.2;           /* of a lane that is loaded from a place of its own */

struct judging {
	const struct loops *loops;
	int var;
	bool possible;
	double cost;                      /* of one round, in loads of a vector, for lanes elements */
	double rounds;
	const struct block *inside;       /* cells that begin here become vectors */
};

static bool begins_inside(const struct block *block, const struct cell *cell)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct stmt *stmt = block->at[i];
		if ((stmt->kind == STMT_ARRAY || stmt->declare || stmt->kind == STMT_JOIN) && stmt->cell == cell)
			return true;
		for (int s = 0; s < stmt->sum_count; s++)
			if (stmt->sums[s] == cell)
				return true;
		if (begins_inside(&stmt->body, cell) || begins_inside(&stmt->other, cell))
			return true;
	}
	return false;
}

static double access_cost(const struct judging *j, const struct index *at, bool store)
{
	int64_t factor = index_factor(at, j->var);
	double lanes = j->loops->target->lanes;
	if (index_bends(at, j->var))
		return PICK * lanes;
	return factor == 1 ? 1 : factor == 0 ? 0.5 : store ? 1.5 * lanes : 1.2 * lanes;
}

static void judge_load(void *user, const struct expr *load)
{
	struct judging *j = user;
	if (load->of->rank && (load->type == DTYPE_F32 || load->type == DTYPE_F16))
		j->cost += j->rounds * access_cost(j, load->at[0], false);
	if (load->type == DTYPE_F16)
		j->possible &= load->of->rank && (index_factor(load->at[0], j->var) & ~1) == 0;
}

static void judge_leaf(void *user, struct stmt *stmt, double rounds)
{
	struct judging *j = user;
	j->rounds = rounds;
	bool halves = stmt->kind == STMT_STORE && stmt->cell->of.type == DTYPE_F16 && stmt->cell->kind == CELL_BUFFER && index_factor(stmt->at, j->var) == 1;
	if (stmt->kind == STMT_JOIN || (stmt->cell->of.type != DTYPE_F32 && !halves)
		|| !loops_can_vector(stmt->value, j->var, !j->loops->target->lanes_are_threads)) {
		j->possible = false;
		return;
	}
	if (stmt->kind == STMT_STORE) {
		bool own = stmt->cell->kind == CELL_ARRAY && begins_inside(j->inside, stmt->cell);
		if (index_bends(stmt->at, j->var) || (own ? index_factor(stmt->at, j->var) != 0 : index_factor(stmt->at, j->var) == 0))
			j->possible = false;
		j->cost += rounds * access_cost(j, stmt->at, true);
	} else if (!begins_inside(j->inside, stmt->cell))
		j->possible = false;              /* a register from outside would have to be joined */
	expr_loads(stmt->value, judge_load, j);
	j->cost += rounds * 0.25 * expr_cost(stmt->value);
}

static bool conditions_use(const struct block *block, int var)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct stmt *stmt = block->at[i];
		for (int r = 0; r < stmt->range_count; r++)
			if (index_uses(stmt->ranges[r].at, var))
				return true;
		if (stmt->kind == STMT_INDEX && index_uses(stmt->at, var))
			return true;
		if (conditions_use(&stmt->body, var) || conditions_use(&stmt->other, var))
			return true;
	}
	return false;
}

/* Cost for one element; < 0: it cannot be. */
static double judge(const struct loops *loops, const struct block *inside, int var, int64_t extent)
{
	int64_t lanes = loops->target->lanes;
	struct judging j = { .loops = loops, .var = var, .possible = true, .inside = inside };
	block_leaves(inside, judge_leaf, &j);
	if (!j.possible || conditions_use(inside, var) || extent < 2)
		return -1;
	return j.cost * (double)((extent + lanes - 1) / lanes) / (double)extent;
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
	struct stmt *loop = stmt_new(loops, STMT_FOR);
	loop->var = var_new(loops, like, extent);
	loop->extent = extent;
	loop->step = step;
	loop->role = ROLE_CHAIN;
	return loop;
}

static const struct index *count_index(struct loops *loops, const struct stmt *loop) { return index_var(loops->arena, loop->var, loop->extent); }

/* Marks a copied body as vectors along `var`. */
static void mark(struct block *block, int var, int left)
{
	for (size_t i = 0; i < block->count; i++) {
		struct stmt *stmt = block->at[i];
		if (stmt->kind == STMT_SET || stmt->kind == STMT_STORE) {
			stmt->lane = var;
			stmt->left = left;
			if (stmt->kind == STMT_SET)
				stmt->cell->vector = true;
		}
		if (stmt->kind == STMT_ARRAY)
			stmt->cell->vector = true;
		mark(&stmt->body, var, left);
		mark(&stmt->other, var, left);
	}
}

static void add_part(struct loops *loops, const struct stmt *loop, struct cell **parts, const struct index *at, int lane, int left, struct block *out)
{
	struct copying copying;
	struct block body = { 0 };
	copying_init(&copying, loops, true);
	copying_put(&copying, loop->var, at);
	for (int s = 0; s < loop->sum_count; s++) {
		push(loops->arena, &copying.old_cells, loop->sums[s]);
		push(loops->arena, &copying.new_cells, parts[s]);
	}
	copy_block(&copying, &loop->body, &body);
	mark(&body, lane, left);
	for (size_t i = 0; i < body.count; i++)
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
		for (int s = 0; s < loop->sum_count; s++) {
			parts[p][s] = cell_new(loops, CELL_REGISTER, loop->sums[s]->of.name, DTYPE_F32, 1);
			parts[p][s]->vector = true;
			struct stmt *begin = set_new(loops, parts[p][s], reduce_start(loops, loop->reduce[s], DTYPE_F32), true);
			begin->lane = loop->var;
			block_add(loops, out, begin);
		}
	if (main) {
		struct stmt *terms = count_new(loops, "t", main, SUMS);
		for (int p = 0; p < count; p++)
			add_part(loops, loop, parts[p], index_plus(loops->arena, count_index(loops, terms), (int64_t)p * lanes), terms->var, 0, &terms->body);
		block_add(loops, out, terms);
	}
	if (rest) {
		struct stmt *scope = stmt_new(loops, STMT_SCOPE), *is = stmt_new(loops, STMT_INDEX);
		is->var = var_new(loops, "t", loop->extent);
		is->at = index_constant(loops->arena, main);
		block_add(loops, &scope->body, is);
		for (int p = 0; (int64_t)p * lanes < rest; p++) {
			int64_t left = rest - (int64_t)p * lanes;
			const struct index *at = index_plus(loops->arena, index_var(loops->arena, is->var, loop->extent), (int64_t)p * lanes);
			add_part(loops, loop, parts[p], at, is->var, left < lanes ? (int)left : 0, &scope->body);
		}
		block_add(loops, out, scope);
	}
	for (int s = 0; s < loop->sum_count; s++) {
		for (int half = count / 2; half; half /= 2)
			for (int p = 0; p < half; p++) {
				struct stmt *join = set_new(loops, parts[p][s], reduce_join(loops, loop->reduce[s], cell_load(loops, parts[p][s], NULL),
					cell_load(loops, parts[p + half][s], NULL)), false);
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

/* Otherwise the 64 partial results are taken eight at a time, z, z + 8, … in registers, joined as far as they go, and the rest
 * through an array of eight.  What is a vector is for the nest around to say. */
enum { GROUP = 8, GROUPS = SUMS / GROUP };

/* The loop's body for one term, on registers of this part. */
static void group_term(struct loops *loops, const struct stmt *loop, struct cell **part, const struct index *at, struct block *out)
{
	struct copying copying;
	copying_init(&copying, loops, true);
	copying_put(&copying, loop->var, at);
	for (int s = 0; s < loop->sum_count; s++) {
		push(loops->arena, &copying.old_cells, loop->sums[s]);
		push(loops->arena, &copying.new_cells, part[s]);
	}
	copy_block(&copying, &loop->body, out);
}

static const struct expr *part_of_array(struct loops *loops, enum reduce reduce, struct cell *array, int from, int count, int step)
{
	if (count == 1)
		return cell_load(loops, array, index_constant(loops->arena, from));
	return reduce_join(loops, reduce, part_of_array(loops, reduce, array, from, count / 2, 2 * step),
		part_of_array(loops, reduce, array, from + step, count / 2, 2 * step));
}

static void join_parts(struct loops *loops, const struct stmt *loop, struct cell *part[][SUMS_MAX], struct block *out)
{
	for (int s = 0; s < loop->sum_count; s++)
		for (int half = GROUP / 2; half; half /= 2)
			for (int k = 0; k < half; k++)
				block_add(loops, out, set_new(loops, part[k][s], reduce_join(loops, loop->reduce[s],
					cell_load(loops, part[k][s], NULL), cell_load(loops, part[k + half][s], NULL)), false));
}

static void begin_parts(struct loops *loops, const struct stmt *loop, struct cell *part[][SUMS_MAX], struct block *out)
{
	for (int k = 0; k < GROUP; k++)
		for (int s = 0; s < loop->sum_count; s++) {
			enum dtype type = loop->sums[s]->of.type;
			part[k][s] = cell_new(loops, CELL_REGISTER, loop->sums[s]->of.name, type, 1);
			block_add(loops, out, set_new(loops, part[k][s], reduce_start(loops, loop->reduce[s], type), true));
		}
}

/* Integers are exact in any order: terms as they lie, eight at a time. */
static void as_they_lie(struct loops *loops, const struct stmt *loop, struct block *out)
{
	struct cell *part[GROUP][SUMS_MAX];
	int64_t main = loop->extent / GROUP * GROUP;
	begin_parts(loops, loop, part, out);
	struct stmt *terms = count_new(loops, "t", main, GROUP);
	for (int k = 0; k < GROUP; k++)
		group_term(loops, loop, part[k], index_plus(loops->arena, count_index(loops, terms), k), &terms->body);
	block_add(loops, out, terms);
	for (int64_t k = main; k < loop->extent; k++)
		group_term(loops, loop, part[k - main], index_constant(loops->arena, k), out);
	join_parts(loops, loop, part, out);
	for (int s = 0; s < loop->sum_count; s++)
		block_add(loops, out, set_new(loops, loop->sums[s], cell_load(loops, part[0][s], NULL), true));
}

static bool is_exact(const struct stmt *loop)
{
	for (int s = 0; s < loop->sum_count; s++)
		if (dtypes[loop->sums[s]->of.type].class == CLASS_FLOAT)
			return false;
	return loop->extent >= GROUP;
}

static void in_groups(struct loops *loops, const struct stmt *loop, struct block *out)
{
	if (is_exact(loop)) {
		as_they_lie(loops, loop, out);
		return;
	}
	struct cell *array[SUMS_MAX], *part[GROUP][SUMS_MAX];
	int64_t main = loop->extent / SUMS * SUMS, rest = loop->extent - main;
	struct stmt *each = count_new(loops, "z", GROUPS, 1);
	const struct index *z = count_index(loops, each);
	struct block *body = &each->body;
	for (int s = 0; s < loop->sum_count; s++) {
		struct stmt *begin = stmt_new(loops, STMT_ARRAY);
		array[s] = begin->cell = cell_new(loops, CELL_ARRAY, "sums", loop->sums[s]->of.type, GROUPS);
		block_add(loops, out, begin);
	}
	block_add(loops, out, each);
	begin_parts(loops, loop, part, body);
	if (main) {
		struct stmt *terms = count_new(loops, "t", main, SUMS);
		for (int k = 0; k < GROUP; k++)
			group_term(loops, loop, part[k], index_add(loops->arena, count_index(loops, terms), index_plus(loops->arena, z, k * GROUPS)), &terms->body);
		block_add(loops, body, terms);
	}
	for (int k = 0; k * GROUPS < rest; k++) {
		const struct index *at = index_plus(loops->arena, z, main + k * GROUPS);
		struct stmt *some = stmt_new(loops, rest - k * GROUPS < GROUPS ? STMT_IF : STMT_SCOPE);
		struct range *range = new(loops->arena, struct range);
		*range = (struct range){ z, 0, rest - k * GROUPS };
		some->ranges = some->kind == STMT_IF ? range : NULL;
		some->range_count = some->kind == STMT_IF;
		if (some->kind == STMT_IF)                /* inside, z is known to be below: no term past the end */
			at = index_plus(loops->arena, index_var(loops->arena, each->var, range->to), main + k * GROUPS);
		group_term(loops, loop, part[k], at, some->kind == STMT_IF ? &some->body : body);
		if (some->kind == STMT_IF)
			block_add(loops, body, some);
	}
	join_parts(loops, loop, part, body);
	for (int s = 0; s < loop->sum_count; s++) {
		struct stmt *store = stmt_new(loops, STMT_STORE);
		store->cell = array[s];
		store->at = z;
		store->value = cell_load(loops, part[0][s], NULL);
		block_add(loops, body, store);
	}
	for (int s = 0; s < loop->sum_count; s++)
		block_add(loops, out, set_new(loops, loop->sums[s], part_of_array(loops, loop->reduce[s], array[s], 0, GROUPS, 1), true));
}

/* ---- nests ---- */
static void vectorise_block(struct loops *, struct block *);

static bool has(const struct block *block, enum role role)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct stmt *stmt = block->at[i];
		if ((stmt->kind == STMT_FOR && stmt->role == role) || has(&stmt->body, role) || has(&stmt->other, role))
			return true;
	}
	return false;
}

static bool has_store(const struct block *block)
{
	for (size_t i = 0; i < block->count; i++)
		if (block->at[i]->kind == STMT_STORE || has_store(&block->at[i]->body) || has_store(&block->at[i]->other))
			return true;
	return false;
}

/* Does a chain store each of its partial results?  Rows of them that run side by side would be gathered and scattered. */
static bool stores_in_chain(const struct block *block)
{
	for (size_t i = 0; i < block->count; i++)
		if (block->at[i]->kind == STMT_FOR && block->at[i]->role == ROLE_CHAIN && has_store(&block->at[i]->body))
			return true;
	return false;
}

/* The least cost of the sums inside along their own terms; < 0: one of them cannot. */
static double judge_terms(const struct loops *loops, const struct block *block)
{
	double cost = 0;
	for (size_t i = 0; i < block->count; i++) {
		const struct stmt *stmt = block->at[i];
		if (stmt->kind == STMT_FOR && stmt->role == ROLE_LANES) {
			/* the sums themselves begin at the loop */
			struct block alone = { .at = (struct stmt **)&block->at[i], .count = 1 };
			struct judging j = { .loops = loops, .var = stmt->var, .possible = true, .inside = &alone };
			block_leaves(&stmt->body, judge_leaf, &j);
			if (!j.possible || conditions_use(&stmt->body, stmt->var))
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

static void expand_sums(struct loops *loops, struct block *block, bool by_terms)
{
	struct block old = *block;
	memset(block, 0, sizeof *block);
	for (size_t i = 0; i < old.count; i++) {
		struct stmt *stmt = old.at[i];
		expand_sums(loops, &stmt->body, by_terms);
		expand_sums(loops, &stmt->other, by_terms);
		if (stmt->kind != STMT_FOR || stmt->role != ROLE_LANES)
			block_add(loops, block, stmt);
		else if (by_terms)
			along_terms(loops, stmt, block);
		else
			in_groups(loops, stmt, block);
	}
}

/* Does anything loaded lie side by side along `other`, but apart along the lanes? */
struct crossing { int lane, other; bool crosses; };
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

/* The nest's innermost content, `body`, along loop[k]: the others around it in their order, but one that it crosses inside. */
static struct block along(struct loops *loops, struct stmt **loop, int count, int k, const struct block *body)
{
	int64_t lanes = loops->target->lanes, extent = loop[k]->extent, main = extent / lanes * lanes;
	int var = loop[k]->var;
	struct block out = { 0 }, *inner = &out, crossed = { 0 };
	for (int n = 0; n < count; n++) {
		if (n == k)
			continue;
		if (!crossed.count && crosses(body, var, loop[n]->var)) {
			struct stmt *inside = stmt_new(loops, STMT_FOR);
			inside->var = loop[n]->var;
			inside->extent = loop[n]->extent;
			inside->role = loop[n]->role;
			block_add_all(loops, &inside->body, body);
			block_add(loops, &crossed, inside);
			continue;
		}
		struct stmt *around = stmt_new(loops, STMT_FOR);
		around->var = loop[n]->var;
		around->extent = loop[n]->extent;
		around->role = loop[n]->role;
		block_add(loops, inner, around);
		inner = &around->body;
	}
	if (crossed.count)
		body = &crossed;
	if (main) {
		struct stmt *whole = stmt_new(loops, STMT_FOR);
		whole->var = var;
		whole->extent = main;
		whole->step = lanes;
		whole->role = ROLE_MAP;
		struct copying copying;
		copying_init(&copying, loops, true);
		copy_block(&copying, body, &whole->body);
		mark(&whole->body, var, 0);
		block_add(loops, inner, whole);
	}
	if (extent > main) {
		struct stmt *scope = stmt_new(loops, STMT_SCOPE), *is = stmt_new(loops, STMT_INDEX);
		is->var = var_new(loops, loops->vars.at[var].name, extent);
		is->at = index_constant(loops->arena, main);
		block_add(loops, &scope->body, is);
		struct copying copying;
		struct block rest = { 0 };
		copying_init(&copying, loops, true);
		copying_put(&copying, var, index_var(loops->arena, is->var, extent));
		copy_block(&copying, body, &rest);
		mark(&rest, is->var, (int)(extent - main));
		block_add_all(loops, &scope->body, &rest);
		block_add(loops, inner, scope);
	}
	return out;
}

static void vectorise_nest(struct loops *loops, struct stmt *nest, struct block *out)
{
	struct stmt *loop[NEST_MOST];
	int count = 0, best = -1;
	double least = -1;
	struct block *body = NULL;
	for (struct stmt *s = nest;; s = s->body.at[0]) {
		loop[count++] = s;
		body = &s->body;
		if (s->body.count != 1 || s->body.at[0]->kind != STMT_FOR || s->body.at[0]->role != ROLE_MAP || count == NEST_MOST)
			break;
	}
	if (loops->target->lanes > 1 && !has(body, ROLE_MAP))
		for (int k = 0; k < count; k++) {
			if (loop[k]->together && count == 1 && stores_in_chain(body))
				continue;
			double cost = judge(loops, body, loop[k]->var, loop[k]->extent);
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
	expand_sums(loops, body, false);
	struct block done = along(loops, loop, count, best, body);
	block_add_all(loops, out, &done);
}

static void vectorise_block(struct loops *loops, struct block *block)
{
	struct block old = *block;
	memset(block, 0, sizeof *block);
	for (size_t i = 0; i < old.count; i++) {
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
				in_groups(loops, stmt, block);
			continue;
		}
		vectorise_block(loops, &stmt->body);
		vectorise_block(loops, &stmt->other);
		block_add(loops, block, stmt);
	}
}

void loops_vectorise(struct loops *loops) { vectorise_block(loops, &loops->body); }
