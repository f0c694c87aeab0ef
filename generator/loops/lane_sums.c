/* lane_sums.c: sums in 64 lanes: along their terms, in 64 / lanes registers; or some partial results at a time, of as many
 * outputs as there are lanes. */
#include "loops/vectorising.h"
struct stmt *stmt_set(struct loops *loops, struct cell *cell, const struct expr *value, bool declare)
{
	struct stmt *stmt = stmt_new(loops, STMT_SET);
	stmt->cell = cell;
	stmt->value = value;
	stmt->declare = declare;
	return stmt;
}

struct stmt *for_counted(struct loops *loops, const char *like, int64_t extent, int64_t step)
{
	struct stmt *loop = for_new(loops, var_new(loops, like, extent), extent, ROLE_SERIAL);
	loop->step = step;
	return loop;
}

const struct index *for_index(struct loops *loops, const struct stmt *loop)
{
	return index_var(loops->arena, loop->var, loop->extent);
}

const struct index *for_ends_before(struct loops *loops, const struct stmt *loop, int64_t rounds)
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
void block_mark(const struct block *block, int var, int left, bool bytes)
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
	block_mark(&body, lane, left, false);
	FOR_ALL (i, body)
		if (body.at[i]->kind == STMT_SET && !body.at[i]->declare)
			body.at[i]->keep = left > 0;
	block_add_all(loops, out, &body);
}

void sums_along_terms(struct loops *loops, const struct stmt *loop, struct block *out)
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
			        stmt_set(loops, parts[p][s], reduce_start(loops->arena, loop->reduce[s], type), true);
			begin->lane = loop->var;
			block_add(loops, out, begin);
		}
	if (main) {
		struct stmt *terms = for_counted(loops, "t", main, SUMS);
		terms->count = for_ends_before(loops, loop, main);
		FOR (p, count)
			add_part(loops, loop, parts[p],
			        index_plus(loops->arena, for_index(loops, terms), (int64_t)p * lanes), terms->var, 0,
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
				struct stmt *join = stmt_set(loops, parts[p][s],
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
enum { GROUP_LEAST = 2, BESIDE = 6 }; /* vectors that then lie side by side */

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
				        stmt_set(loops, part[k][s],
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
			        stmt_set(loops, part[k][s], reduce_start(loops->arena, loop->reduce[s], type), true));
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
	struct stmt *terms = for_counted(loops, "t", main, GROUP);
	FOR (k, GROUP)
		group_term(loops, loop, part[k % parts], index_plus(loops->arena, for_index(loops, terms), k),
		        &terms->body);
	block_add(loops, out, terms);
	for (int64_t k = main; k < loop->extent; k++)
		group_term(loops, loop, part[(k - main) % parts], index_constant(loops->arena, k), out);
	join_parts(loops, loop, part, parts, out);
	FOR (s, loop->sum_count)
		block_add(loops, out, stmt_set(loops, loop->sums[s], cell_load(loops, part[0][s], NULL), true));
}

static bool is_exact(const struct stmt *loop)
{
	FOR (s, loop->sum_count)
		if (dtypes[loop->sums[s]->of.type].class == CLASS_FLOAT)
			return false;
	return loop->extent >= GROUP;
}

/* `group` partial results at a time. */
void sums_in_groups(struct loops *loops, const struct stmt *loop, int group, struct block *out)
{
	if (is_exact(loop)) {
		as_they_lie(loops, loop, out);
		return;
	}
	const int groups = SUMS / group;
	struct cell *array[SUMS_MAX], *part[GROUP][SUMS_MAX];
	int64_t main = loop->extent / SUMS * SUMS, rest = loop->extent - main;
	struct stmt *each = for_counted(loops, "z", groups, 1);
	const struct index *z = for_index(loops, each);
	struct block *body = &each->body;
	FOR (s, loop->sum_count) {
		struct stmt *begin = stmt_new(loops, STMT_ARRAY);
		array[s] = begin->cell = cell_new(loops, CELL_ARRAY, "sums", loop->sums[s]->of.type, groups);
		block_add(loops, out, begin);
	}
	block_add(loops, out, each);
	begin_parts(loops, loop, part, group, body);
	if (main) {
		struct stmt *terms = for_counted(loops, "t", main, SUMS);
		terms->count = for_ends_before(loops, loop, main);
		FOR (k, group)
			group_term(loops, loop, part[k],
			        index_add(
			                loops->arena, for_index(loops, terms), index_plus(loops->arena, z, k * groups)),
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
		        stmt_set(loops, loop->sums[s], part_of_array(loops, loop->reduce[s], array[s], 0, groups, 1),
		                true));
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

static void expand(struct loops *loops, struct block *block, int group)
{
	struct block old = block_take(block);
	FOR_EACH (struct stmt *stmt, old) {
		expand(loops, &stmt->body, group);
		expand(loops, &stmt->other, group);
		if (stmt->kind != STMT_FOR || stmt->role != ROLE_LANES)
			block_add(loops, block, stmt);
		else
			sums_in_groups(loops, stmt, group, block);
	}
}

void sums_expand(struct loops *loops, struct block *block, int64_t extent)
{
	expand(loops, block, group_beside(loops->target, extent));
}
