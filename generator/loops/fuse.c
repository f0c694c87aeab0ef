/* fuse.c: neighbouring loops of equal length become one where the second reads of what the first stores only the
 * element of the same round, which it then takes from a register.  An array that nobody loads any more goes. */
#include "loops/loops.h"

static bool can_follow(const struct stmt *first, const struct stmt *second)
{
	return first->kind == STMT_FOR && second->kind == STMT_FOR && first->role == ROLE_MAP
	        && first->extent == second->extent && (second->role == ROLE_MAP || second->role == ROLE_LANES)
	        && first->step == 1 && second->step == 1;
}

static bool is_flat(const struct stmt *loop)
{
	for (size_t i = 0; i < loop->body.count; i++)
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
	for (size_t i = 0; i < before.count; i++) {
		const struct stmt *store = before.at[i];
		if (store->kind != STMT_STORE)
			continue;
		struct loading l = { .cell = store->cell, .at = store->at };
		block_visit(&second->body, loads_of_stmt, &l);
		if (l.elsewhere || index_factor(store->at, second->var) == 0
		        || cell_is_stored(&second->body, store->cell))
			return NULL;
	}
	for (size_t i = 0; i < second->body.count; i++)
		if (second->body.at[i]->kind == STMT_STORE && cell_is_loaded(&before, second->body.at[i]->cell))
			return NULL;
	struct block body = { 0 }, after = second->body;
	for (size_t i = 0; i < before.count; i++) {
		struct stmt *store = before.at[i];
		if (store->kind == STMT_STORE && cell_is_loaded(&after, store->cell)) {
			struct stmt *let = stmt_new(loops, STMT_SET);
			struct block taken = { 0 };
			let->cell = cell_new(loops, CELL_REGISTER, "one", store->value->type, 1);
			let->declare = true;
			let->value = store->value;
			block_add(loops, &body, let);
			store->value = cell_load(loops, let->cell, NULL);
			for (size_t k = 0; k < after.count; k++) {
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

/* May `stmt` be done after the loop behind it?  Arrays may be declared earlier, registers are others'. */
static bool is_passive(const struct stmt *stmt) { return stmt->kind == STMT_ARRAY; }

static void fuse_block(void *user, struct block *block)
{
	struct loops *loops = user;
	for (size_t i = 0; i < block->count;) {
		size_t next = i + 1;
		while (next < block->count && is_passive(block->at[next]))
			next++;
		struct stmt *first = block->at[i], *second = next < block->count ? block->at[next] : NULL, *one = NULL;
		if (second && can_follow(first, second) && is_flat(first) && is_flat(second))
			one = fused(loops, first, second);
		if (!one) {
			i++;
			continue;
		}
		/* arrays in between move up, then the one loop, which is looked at again */
		for (size_t k = i; k + 1 < next; k++)
			block->at[k] = block->at[k + 1];
		block->at[next - 1] = one;
		for (size_t k = next; k + 1 < block->count; k++)
			block->at[k] = block->at[k + 1];
		block->count--;
		i = next - 1;
	}
}

void loops_fuse(struct loops *loops)
{
	block_each(&loops->body, fuse_block, loops);
	for (size_t i = 0; i < loops->cells.count; i++)
		if (loops->cells.at[i]->kind == CELL_ARRAY && !cell_is_loaded(&loops->body, loops->cells.at[i]))
			block_drop(&loops->body, is_of_cell, loops->cells.at[i]);
}
