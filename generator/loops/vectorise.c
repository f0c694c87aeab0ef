/* vectorise.c: one variable of each nest is taken target->lanes at a time.
 *
 * A nest of maps gives the variable along which most of what it loads and stores lies side by side; it becomes the
 * innermost. A sum in 64 lanes is either taken along its terms, in 64 / lanes registers, or, where the outputs lie
 * better, of as many outputs as there are lanes.  Vectors are of any type that has lanes (definitions.h), each of
 * target->lanes elements; where lanes are threads, of float alone.  With one lane the same with scalars. */
#include "loops/vectorising.h"

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
	return b.bytes && loops_are_typed(loops) && loop->extent >= (int64_t)LANE_BYTES * loops->target->lanes;
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
		whole->count = for_ends_before(loops, loop[k], main);
		struct copying copying;
		copying_init(&copying, loops, true);
		copy_block(&copying, body, &whole->body);
		block_mark(&whole->body, var, 0, bytes);
		rows_turn_terms(loops, whole);
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
		block_mark(&rest, first, again ? 0 : (int)(extent - main), bytes);
		block_add_all(loops, &scope->body, &rest);
		block_add(loops, inner, scope);
	}
	return out;
}

static const double SQUARE = 0.2; /* of an element that is transposed in registers, in loads of a vector */
static void vectorise_nest(struct loops *loops, struct stmt *nest, struct block *out)
{
	struct nest all = nest_of(nest);
	struct stmt **loop = all.loop;
	int count = all.count, best = -1;
	double least = -1;
	struct block *body = all.body;
	if (nest->together && count == 1 && loops->target->lanes > 1 && rows_turn(loops, nest, out))
		return;
	if (loops->target->lanes > 1 && !has(body, ROLE_MAP))
		FOR (k, count) {
			if (loop[k]->together && count == 1 && stores_in_serial(body))
				continue;
			double cost = rows_make_squares(loops, loop, count, k, body)
			        ? SQUARE
			        : lane_cost(loops, body, loop[k]->var, loop[k]->extent);
			if (cost >= 0 && (least < 0 || cost <= least))
				least = cost, best = k;
		}
	if (best >= 0 && has(body, ROLE_LANES)) {
		double terms = lane_cost_of_terms(loops, body);
		if (terms >= 0 && terms <= 1.5 * least)
			best = -1;
	}
	if (best < 0) {
		vectorise_block(loops, body);
		block_add(loops, out, nest);
		return;
	}
	sums_expand(loops, body, loop[best]->extent);
	struct block done = along(loops, loop, count, best, body);
	block_add_all(loops, out, &done);
}

/* ---- rows that data end ---- */
/* Neighbours go one by one up to where data say, to places of their own, and are made of what lies elsewhere. */
static bool goes_along(const struct loops *loops, const struct stmt *loop)
{
	const struct stmt *store = loop->body.count == 1 ? loop->body.at[0] : NULL;
	return loop->kind == STMT_FOR && loop->role == ROLE_SERIAL && loop->count && loop->step == 1 && store
	        && store->kind == STMT_STORE && loops->target->lanes > 1 && loops_are_typed(loops)
	        && dtype_has_lanes(store->cell->of.type) && !store->cell->loaded
	        && index_factor(store->at, loop->var) == 1
	        && lane_cost(loops, &loop->body, loop->var, loop->extent) >= 0;
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
		block_mark(&whole->body, loop->var, 0, bytes);
		whole->step = lanes;
		whole->tile = ROW_VECTORS;
		whole->count = loop->first = index_var(arena, end, loop->extent + 1);
		block_add(loops, out, whole);
	}
	block_mark(&loop->body, loop->var, 1, bytes);
	loop->body.at[0]->some = index_add(arena, loop->count, index_scale(arena, for_index(loops, loop), -1));
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
			bool by_terms = loops->target->lanes > 1 && lane_cost_of_terms(loops, &alone) >= 0;
			if (by_terms)
				sums_along_terms(loops, stmt, block);
			else
				sums_in_groups(loops, stmt, GROUP, block);
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
