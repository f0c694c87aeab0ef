/* copied.c: what a kernel copies that only copies, from neighbours to neighbours, on from block to block. */
#include "loops/loops.h"

struct seeing {
	struct loops *loops;
	copied_parts *parts;
	const struct index **with; /* variables, as the blocks' says them */
	size_t first;              /* the first part that may grow */
};

/* factor * block + constant */
static bool is_line(const struct seeing *s, const struct index *at, int64_t *factor, int64_t *constant)
{
	*factor = index_factor(at, s->loops->body.at[0]->var);
	*constant = at->constant;
	return at->count == (*factor != 0);
}

static void add(struct seeing *s, struct copied part)
{
	struct copied *last = s->parts->count > s->first ? &s->parts->at[s->parts->count - 1] : NULL;
	int64_t behind = last ? part.to - last->to : -1;
	if (behind >= 0 && behind <= last->count && part.from - last->from == behind && part.step == last->step
	        && part.first == last->first && part.store->cell == last->store->cell
	        && part.store->value->of == last->store->value->of)
		last->count = last->count > behind + part.count ? last->count : behind + part.count;
	else
		push(s->loops->arena, s->parts, part);
}

static bool see_store(struct seeing *s, const struct stmt *store, struct copied part)
{
	if (store->kind != STMT_STORE || store->lane < 0 || store->square || store->some
	        || store->cell->kind != CELL_BUFFER || store->value->kind != EXPR_LOAD || !store->value->of->rank
	        || cell_of_load(store->value)->kind != CELL_BUFFER || dtypes[store->value->type].bits < 8
	        || index_factor(store->at, store->lane) != 1 || index_factor(store->value->at[0], store->lane) != 1)
		return false;
	int64_t step;
	part.store = store;
	part.count = store->left ? store->left : loops_width(s->loops, store);
	struct arena *arena = s->loops->arena;
	if (!is_line(s, index_substitute(arena, store->at, s->with), &part.step, &part.to)
	        || !is_line(s, index_substitute(arena, store->value->at[0], s->with), &step, &part.from)
	        || step != part.step)
		return false;
	add(s, part);
	return true;
}

/* In the blocks that `part` says. */
static bool see_copies(struct seeing *s, const struct block *block, struct copied part)
{
	struct arena *arena = s->loops->arena;
	bool all = true;
	for (size_t i = 0; all && i < block->count; i++) {
		const struct stmt *stmt = block->at[i];
		struct copied in = part, behind = part;
		size_t first = s->first;
		int64_t factor, constant = 0;
		switch (stmt->kind) {
		case STMT_STORE: all = see_store(s, stmt, part); break;
		case STMT_SCOPE: all = see_copies(s, &stmt->body, part); break;
		case STMT_INDEX: s->with[stmt->var] = index_substitute(arena, stmt->at, s->with); break;
		case STMT_IF:
			all = stmt->range_count == 1
			        && is_line(s, index_substitute(arena, stmt->ranges->at, s->with), &factor, &constant)
			        && factor == 1 && stmt->ranges->from - constant <= part.first;
			in.end = behind.first = stmt->ranges->to - constant;
			all = all && in.end > in.first && in.end < part.end && see_copies(s, &stmt->body, in)
			        && see_copies(s, &stmt->other, behind);
			break;
		case STMT_FOR:
			s->first = s->parts->count;
			s->with[stmt->var] = index_constant(arena, 0);
			all = !stmt->first && !stmt->count && see_copies(s, &stmt->body, part)
			        && s->parts->count == s->first + 1;
			s->first = first;
			if (!all)
				break;
			in = s->parts->at[--s->parts->count];
			all = in.store->lane == stmt->var && in.count == stmt->step;
			in.count = stmt->extent;
			add(s, in);
			break;
		default: all = false;
		}
	}
	return all;
}

enum { LEAST = 1 << 18 }; /* bytes, from which on memcpy is faster than vectors */
bool loops_copies(struct loops *loops, copied_parts *parts)
{
	const struct stmt *blocks = loops->body.at[0];
	struct seeing s = { loops, parts, arena_new_array(loops->arena, const struct index *, loops->vars.count), 0 };
	int64_t bytes = 0;
	bool all = !loops->count && !loops->symbols && blocks->role == ROLE_BLOCKS
	        && see_copies(&s, &blocks->body, (struct copied){ .end = loops->blocks });
	FOR (i, all ? parts->count : 0) {
		const struct copied *part = &parts->at[i];
		all &= part->step == part->count || part->end - part->first == 1;
		bytes += (part->end - part->first) * part->count * dtypes[part->store->value->type].bits / 8;
	}
	return all && bytes >= LEAST;
}
