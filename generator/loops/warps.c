/* warps.c: what kernels are said in whose blocks are warps that share rounds: squares.c, columns.c, rows.c. */
#include "loops/building.h"

/* The loop over the blocks, each of so many warps; where each stands. */
void building_blocks(struct loops *loops, const int *order, int count, const int64_t *extents, int warps,
        const char *of, const struct index **with)
{
	const struct index *at[MAX_RANK];
	int64_t blocks = extents_product(count, extents);
	struct stmt *loop = for_new(loops, var_new(loops, "b", blocks), blocks, ROLE_BLOCKS);
	loops->blocks = blocks;
	loops->warps = warps;
	loops->blocks_of = loops->tile = of;
	block_add(loops, &loops->body, loop);
	index_unflatten(loops->arena, index_var(loops->arena, loop->var, blocks), count, extents, at);
	FOR (v, MAX_RANK)
		with[v] = index_constant(loops->arena, 0);
	FOR (n, count)
		with[order[n]] = building_named(loops, order[n], at[n], &loop->body);
}

struct block *building_threads(struct loops *loops, int64_t all, const struct index **t)
{
	struct stmt *loop = for_new(loops, var_new(loops, "t", all), all, ROLE_THREADS);
	block_add(loops, &loops->body.at[0]->body, loop);
	*t = index_var(loops->arena, loop->var, all);
	return &loop->body;
}

void building_array(struct loops *loops, struct cell *cell)
{
	struct stmt *array = stmt_new(loops, STMT_ARRAY);
	array->cell = cell;
	block_add(loops, &loops->body.at[0]->body, array);
}

void building_set(struct loops *loops, struct cell *cell, const struct expr *value, bool declare, struct block *out)
{
	struct stmt *stmt = stmt_new(loops, STMT_SET);
	stmt->cell = cell;
	stmt->value = value;
	stmt->declare = declare;
	block_add(loops, out, stmt);
}

void building_put(
        struct loops *loops, struct cell *array, const struct index *at, const struct expr *value, struct block *out)
{
	struct stmt *stmt = stmt_new(loops, STMT_STORE);
	stmt->cell = array;
	stmt->at = at;
	stmt->value = value;
	block_add(loops, out, stmt);
}

static const struct expr *joined(struct loops *loops, enum reduce reduce, struct cell *array, const struct index *first,
        int apart, int from, int count, int step)
{
	if (count == 1)
		return cell_load(loops, array, index_plus(loops->arena, first, (int64_t)apart * from));
	return reduce_join(loops, reduce, joined(loops, reduce, array, first, apart, from, count / 2, 2 * step),
	        joined(loops, reduce, array, first, apart, from + step, count / 2, 2 * step));
}

const struct expr *building_joined(
        struct loops *loops, enum reduce reduce, struct cell *array, const struct index *first, int apart, int count)
{
	return joined(loops, reduce, array, first, apart, 0, count, 1);
}
