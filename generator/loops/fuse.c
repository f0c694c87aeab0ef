/* fuse.c: neighbouring loops of equal length become one where the second reads of what the first stores only the
 * element of the same round, which it then takes from a register.  So do a loop and blocks that together are as long.
 * An array that nobody loads any more goes. */
#include "loops/loops.h"

static bool can_follow(const struct stmt *first, const struct stmt *second)
{
	return first->kind == STMT_FOR && second->kind == STMT_FOR && first->role == ROLE_MAP
	        && first->extent == second->extent && (second->role == ROLE_MAP || second->role == ROLE_LANES)
	        && first->step == 1 && second->step == 1
	        && (first->count && second->count ? index_equal(first->count, second->count)
	                                          : first->count == second->count);
}

static bool is_flat(const struct stmt *loop)
{
	FOR_ALL (i, loop->body)
		if (loop->body.at[i]->kind != STMT_SET && loop->body.at[i]->kind != STMT_STORE)
			return false;
	return true;
}

/* Loads of a cell, in expressions. */
struct loading {
	const struct cell *cell;
	const struct index *at;
	bool any, elsewhere;
};
static void see_load(void *user, const struct expr *load)
{
	struct loading *l = user;
	if (load->of != &l->cell->of)
		return;
	l->any = true;
	l->elsewhere |= !l->at || load->of->rank == 0 || !index_equal(load->at[0], l->at);
}

static enum visit loads_of_stmt(void *user, struct stmt *stmt)
{
	if (stmt->value)
		expr_loads(stmt->value, see_load, user);
	return VISIT_PARTS;
}

bool cell_is_loaded(const struct block *block, const struct cell *cell)
{
	struct loading l = { .cell = cell };
	block_visit(block, loads_of_stmt, &l);
	return l.any;
}

static bool is_of_cell(const void *cell, const struct stmt *stmt) { return stmt->cell == cell; }

static enum visit stores(void *user, struct stmt *stmt)
{
	return is_of_cell(*(const struct cell *const *)user, stmt) ? VISIT_END : VISIT_PARTS;
}
bool cell_is_stored(const struct block *block, const struct cell *cell) { return block_visit(block, stores, &cell); }

/* Loads of the stored element become loads of the register. */
struct taking {
	struct loops *loops;
	const struct stmt *store;
	struct cell *value;
};
static const struct expr *take(void *user, const struct expr *load)
{
	const struct taking *t = user;
	return load->of == &t->store->cell->of && index_equal(load->at[0], t->store->at)
	        ? cell_load(t->loops, t->value, NULL)
	        : load;
}

/* The statements of both in one loop over the second's variable; NULL where that would change what is loaded. */
static struct stmt *fused(struct loops *loops, const struct stmt *first, const struct stmt *second)
{
	struct copying copying;
	struct stmt *one = stmt_new(loops, STMT_FOR);
	struct block before = { 0 };
	copying_init(&copying, loops, false);
	copying_put(&copying, first->var, index_var(loops->arena, second->var, second->extent));
	copy_block(&copying, &first->body, &before);
	FOR_EACH (const struct stmt *store, before) {
		if (store->kind != STMT_STORE)
			continue;
		struct loading l = { .cell = store->cell, .at = store->at };
		block_visit(&second->body, loads_of_stmt, &l);
		if (l.elsewhere || index_factor(store->at, second->var) == 0
		        || cell_is_stored(&second->body, store->cell))
			return NULL;
	}
	FOR_ALL (i, second->body)
		if (second->body.at[i]->kind == STMT_STORE && cell_is_loaded(&before, second->body.at[i]->cell))
			return NULL;
	struct block body = { 0 }, after = second->body;
	FOR_EACH (struct stmt *store, before) {
		if (store->kind == STMT_STORE && cell_is_loaded(&after, store->cell)) {
			struct stmt *let = stmt_new(loops, STMT_SET);
			struct block taken = { 0 };
			let->cell = cell_new(loops, CELL_REGISTER, "one", store->value->type, 1);
			let->declare = true;
			let->value = store->value;
			block_add(loops, &body, let);
			store->value = cell_load(loops, let->cell, NULL);
			FOR_ALL (k, after) {
				struct stmt *stmt = stmt_new(loops, after.at[k]->kind);
				*stmt = *after.at[k];
				stmt->value = expr_map_loads(
				        loops->arena, stmt->value, take, &(struct taking){ loops, store, let->cell });
				block_add(loops, &taken, stmt);
			}
			after = taken;
		}
		block_add(loops, &body, store);
	}
	block_add_all(loops, &body, &after);
	*one = *second;
	one->body = body;
	return one;
}

/* As many rounds of a loop, `from` (an index) being the first. */
static struct stmt *rounds_of(struct loops *loops, const struct stmt *loop, const struct index *from, int64_t extent)
{
	struct stmt *part = for_new(loops, var_new(loops, loops->vars.at[loop->var].name, extent), extent, loop->role);
	struct copying copying;
	copying_init(&copying, loops, false);
	copying_put(&copying, loop->var, index_add(loops->arena, from, index_var(loops->arena, part->var, extent)));
	copy_block(&copying, &loop->body, &part->body);
	return part;
}

/* Does a statement load what the block stores? */
static bool loads_stored(const struct block *block, struct stmt *stmt)
{
	FOR (i, block->count)
		if (block->at[i]->kind == STMT_STORE
		        && cell_is_loaded(&(struct block){ .at = &stmt, .count = 1 }, block->at[i]->cell))
			return true;
	return false;
}

/* A map over all elements, and a loop over blocks of them whose first statement is the loop over one block, become
 * one over blocks; what the map has behind the last of them is *left, or NULL.  NULL: they stay. */
static struct stmt *fused_blocks(
        struct loops *loops, const struct stmt *first, const struct stmt *blocks, struct stmt **left)
{
	if (first->kind != STMT_FOR || first->role != ROLE_MAP || first->step != 1 || !is_flat(first)
	        || blocks->kind != STMT_FOR || blocks->role != ROLE_MAP || blocks->step != 1 || blocks->together
	        || !blocks->body.count || blocks->body.at[0]->kind != STMT_FOR || !is_flat(blocks->body.at[0]))
		return NULL;
	const struct stmt *second = blocks->body.at[0];
	int64_t covered = blocks->extent * second->extent;
	if (covered > first->extent || second->role != ROLE_LANES)
		return NULL;
	struct stmt *part = rounds_of(loops, first,
	        index_scale(loops->arena, index_var(loops->arena, blocks->var, blocks->extent), second->extent),
	        second->extent);
	part->count = first->count ? second->count : NULL;
	struct stmt *inner = can_follow(part, second) ? fused(loops, part, second) : NULL, *one;
	for (size_t i = 1; inner && i < blocks->body.count; i++) {
		struct stmt *behind = blocks->body.at[i];
		if (loads_stored(&first->body, behind)
		        || loads_stored(&(struct block){ .at = &behind, .count = 1 }, (struct stmt *)(uintptr_t)first))
			return NULL;
	}
	if (!inner)
		return NULL;
	one = for_new(loops, blocks->var, blocks->extent, blocks->role);
	block_add(loops, &one->body, inner);
	for (size_t i = 1; i < blocks->body.count; i++)
		block_add(loops, &one->body, blocks->body.at[i]);
	if (covered < first->extent)
		*left = rounds_of(loops, first, index_constant(loops->arena, covered), first->extent - covered);
	return one;
}

/* May `stmt` be done after the loop behind it?  Arrays may be declared earlier, registers are others'. */
static bool is_passive(const struct stmt *stmt) { return stmt->kind == STMT_ARRAY; }

static void fuse_block(void *user, struct block *block)
{
	struct loops *loops = user;
	for (size_t i = 0; i < block->count;) {
		size_t next = i + 1;
		while (next < block->count && is_passive(block->at[next]))
			next++;
		struct stmt *first = block->at[i], *second = next < block->count ? block->at[next] : NULL, *one = NULL,
		            *left = NULL;
		if (second && can_follow(first, second) && is_flat(first) && is_flat(second))
			one = fused(loops, first, second);
		else if (second)
			one = fused_blocks(loops, first, second, &left);
		if (!one) {
			i++;
			continue;
		}
		/* arrays in between move up, then the one loop, which is looked at again, and what is left */
		for (size_t k = i; k + 1 < next; k++)
			block->at[k] = block->at[k + 1];
		block->at[next - 1] = one;
		if (left) {
			block->at[next] = left;
			i = next;
			continue;
		}
		for (size_t k = next; k + 1 < block->count; k++)
			block->at[k] = block->at[k + 1];
		block->count--;
		i = next - 1;
	}
}

void loops_fuse(struct loops *loops)
{
	block_each(&loops->body, fuse_block, loops);
	FOR_ALL (i, loops->cells)
		if (loops->cells.at[i]->kind == CELL_ARRAY && !cell_is_loaded(&loops->body, loops->cells.at[i]))
			block_drop(&loops->body, is_of_cell, loops->cells.at[i]);
}
