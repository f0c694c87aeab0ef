/* copy.c: statements again in another arena: those that count, without what was tried on the way. */
#include "loops/loops.h"

struct taking {
	struct arena *arena;
	const struct loops *from;
	struct loops *made;
	struct cell **cells; /* by their numbers before; NULL: not met yet */
};

static struct cell *take_cell(const struct taking *t, const struct cell *cell)
{
	struct cell **known = cell ? &t->cells[cell->of.number] : NULL;
	if (!known || *known)
		return known ? *known : NULL;
	struct cell *made = *known = arena_new(t->arena, struct cell);
	*made = *cell;
	made->of.name = arena_copy(t->arena, cell->of.name, strlen(cell->of.name));
	made->of.number = (int)t->made->cells.count;
	push(t->arena, &t->made->cells, made);
	push(t->arena, &t->made->owners, t->from->owners.at[cell->of.number]);
	return made;
}

static struct definition *taken(const void *taking, struct definition *of)
{
	return &take_cell(taking, (const struct cell *)of)->of;
}

static const struct index *take_index(const struct taking *t, const struct index *index)
{
	return index ? index_move(t->arena, index, taken, t) : NULL;
}

static struct block take_block(const struct taking *, const struct block *);
static struct stmt *take_stmt(const struct taking *t, const struct stmt *stmt)
{
	struct stmt *made = arena_new(t->arena, struct stmt);
	struct range *ranges = arena_new_array(t->arena, struct range, (size_t)stmt->range_count);
	*made = *stmt;
	FOR (i, stmt->range_count) {
		ranges[i] = stmt->ranges[i];
		ranges[i].at = take_index(t, ranges[i].at);
	}
	made->ranges = ranges;
	made->first = take_index(t, stmt->first);
	made->count = take_index(t, stmt->count);
	made->at = take_index(t, stmt->at);
	made->some = take_index(t, stmt->some);
	made->square = take_index(t, stmt->square);
	made->cell = take_cell(t, stmt->cell);
	made->from = take_cell(t, stmt->from);
	FOR (i, stmt->sum_count)
		made->sums[i] = take_cell(t, stmt->sums[i]);
	made->value = stmt->value ? expr_move(t->arena, stmt->value, taken, t) : NULL;
	made->body = take_block(t, &stmt->body);
	made->other = take_block(t, &stmt->other);
	return made;
}

static struct block take_block(const struct taking *t, const struct block *block)
{
	struct block made = { NULL, block->count, block->count };
	made.at = arena_new_array(t->arena, struct stmt *, block->count);
	FOR (i, block->count)
		made.at[i] = take_stmt(t, block->at[i]);
	return made;
}

struct loops *loops_copy(const struct loops *loops, struct arena *arena)
{
	struct loops *made = arena_new(arena, struct loops);
	struct taking t = { arena, loops, made, arena_new_array(loops->arena, struct cell *, loops->cells.count) };
	*made = *loops;
	made->arena = arena;
	memset(&made->vars, 0, sizeof made->vars);
	memset(&made->cells, 0, sizeof made->cells);
	memset(&made->owners, 0, sizeof made->owners);
	FOR_EACH (struct variable var, loops->vars) {
		var.name = arena_copy(arena, var.name, strlen(var.name));
		push(arena, &made->vars, var);
	}
	FOR_ALL (c, loops->cells) /* in their order, whether statements name them or not */
		if (loops->cells.at[c]->kind == CELL_BUFFER)
			take_cell(&t, loops->cells.at[c]);
	made->body = take_block(&t, &loops->body);
	made->blocks_of = arena_copy(arena, loops->blocks_of, strlen(loops->blocks_of));
	made->tile = loops->tile ? arena_copy(arena, loops->tile, strlen(loops->tile)) : "";
	return made;
}
