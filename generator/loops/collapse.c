/* collapse.c: two loops, one in the other, become one where every address stays affine: dense rows are one long row. */
#include "loops/loops.h"

static bool is_pair(const struct stmt *outer)
{
	if (outer->kind != STMT_FOR || outer->together || outer->first || outer->count || outer->body.count != 1
	        || (outer->role != ROLE_MAP && outer->role != ROLE_SERIAL))
		return false;
	const struct stmt *inner = outer->body.at[0];
	return inner->kind == STMT_FOR && inner->role == outer->role && !inner->first && !inner->count;
}

static void see_step(void *user, struct stmt *stmt, double rounds)
{
	(void)rounds;
	*(bool *)user |= stmt->kind == STMT_SET && !stmt->declare;
}

/* A window keeps its two loops: neighbours of the outer one share what they load. */
static bool is_window(const struct loops *loops, const struct stmt *outer)
{
	bool steps = false;
	const struct stmt *inner = outer->body.at[0];
	FOR_ALL (i, inner->body)
		if (inner->body.at[i]->kind == STMT_FOR)
			return false;
	block_leaves(&inner->body, see_step, &steps);
	return steps && outer->role == ROLE_MAP && inner->extent >= loops->target->lanes;
}

/* Rounds in order, one element each: what an index loads may say where it goes, as its own address is seen besides. */
struct bending {
	int var;
	bool bends;
};
static void see_bend(void *user, const struct index *index, bool address)
{
	struct bending *b = user;
	(void)address;
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		b->bends |= atom->kind != ATOM_VAR && atom->kind != ATOM_VALUE && index_uses(atom->of, b->var);
	}
}
static bool keeps_apart(const struct stmt *one)
{
	struct bending b = { one->var, false };
	if (one->role != ROLE_SERIAL)
		return block_bends(&one->body, one->var);
	block_indices(&one->body, see_bend, &b);
	return b.bends;
}

/* Rows of less than a vector that repeat or leave out elements of what they are copied from: a vector of them is made
 * of near ones, and is stored whole. */
static bool moves_near(struct loops *loops, const struct stmt *inner, const struct stmt *one)
{
	const struct stmt *store = one->body.count == 1 ? one->body.at[0] : NULL;
	const int64_t lanes = loops->target->lanes;
	if (one->role != ROLE_MAP || loops->target->lanes_are_threads || loops->target->calls || inner->extent >= lanes
	        || one->extent < lanes || !store || store->kind != STMT_STORE || store->value->kind != EXPR_LOAD
	        || store->value->rank != 1 || index_factor(store->at, one->var) != 1 || index_bends(store->at, one->var)
	        || !index_lane_gathers(store->value->at[0], one->var))
		return false;
	struct copying copying;
	int64_t low, high;
	copying_init(&copying, loops, false);
	FOR_ALL (v, loops->vars)
		if ((int)v != one->var)
			copying_put(&copying, (int)v, index_constant(loops->arena, 0));
	index_range(index_substitute(loops->arena, store->value->at[0], copying.with), &low, &high);
	return high - low < one->extent;
}

static struct stmt *joined(struct loops *loops, const struct stmt *outer)
{
	const struct stmt *inner = outer->body.at[0];
	struct stmt *one = stmt_new(loops, STMT_FOR);
	struct copying copying;
	one->role = outer->role;
	one->extent = outer->extent * inner->extent;
	one->var = var_new(loops, loops->vars.at[inner->var].name, one->extent);
	copying_init(&copying, loops, false);
	const struct index *flat = index_var(loops->arena, one->var, one->extent);
	copying_put(&copying, outer->var, index_div(loops->arena, flat, inner->extent));
	copying_put(&copying, inner->var, index_mod(loops->arena, flat, inner->extent));
	copy_block(&copying, &inner->body, &one->body);
	return keeps_apart(one) && !moves_near(loops, inner, one) ? NULL : one;
}

static void collapse_block(void *user, struct block *block)
{
	struct loops *loops = user;
	FOR (i, block->count) {
		struct stmt *stmt = block->at[i];
		while (is_pair(stmt) && !is_window(loops, stmt)) {
			struct stmt *one = joined(loops, stmt);
			if (!one)
				break;
			block->at[i] = stmt = one;
		}
	}
}

/* A scope of vectors that are stored names nothing: they are neighbours of those beside it, and fill what is
 * between them (emit/loops.c). */
static void open_scopes(void *user, struct block *block)
{
	struct loops *loops = user;
	struct block opened = { 0 };
	FOR (i, block->count) {
		const struct block *body = &block->at[i]->body;
		bool opens = block->at[i]->kind == STMT_SCOPE;
		for (size_t n = 0; opens && n < body->count; n++)
			opens = body->at[n]->kind == STMT_STORE && body->at[n]->lane >= 0;
		for (size_t n = 0; opens && n < body->count; n++)
			block_add(loops, &opened, body->at[n]);
		if (!opens)
			block_add(loops, &opened, block->at[i]);
	}
	*block = opened;
}

void loops_open_scopes(struct loops *loops) { block_each(&loops->body, open_scopes, loops); }

void loops_collapse(struct loops *loops) { block_each(&loops->body, collapse_block, loops); }

/* Terms alone: a plane of them is one chain, however short its rows are. */
static void collapse_terms(void *user, struct block *block)
{
	struct loops *loops = user;
	FOR (i, block->count)
		for (struct stmt *one = block->at[i]; one && is_pair(one) && one->role == ROLE_SERIAL;)
			if ((one = joined(loops, one)))
				block->at[i] = one;
}

void loops_collapse_terms(struct loops *loops) { block_each(&loops->body, collapse_terms, loops); }
