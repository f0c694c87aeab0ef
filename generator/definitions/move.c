/* move.c: expressions and indices again in another arena, which outlives the one that they were made in. */
#include "definitions/intern.h"

struct moving {
	struct definition *(*to)(const void *user, struct definition *of);
	const void *user;
};

static const struct atom *move_atom(struct rewriter *r, const struct atom *atom)
{
	struct atom made = *atom;
	made.of = atom->of ? r->index(r, atom->of) : NULL;
	made.value = atom->value ? rewrite_expr(r, atom->value) : NULL;
	return intern_atom(r->arena, made);
}

static const struct index *moved_index(struct rewriter *r, const struct index *index)
{
	const struct atom *few[MAX_VARS],
	        **atoms = index->count <= MAX_VARS
	        ? few
	        : arena_new_array(r->arena, const struct atom *, (size_t)index->count);
	size_t bytes = sizeof *index + (size_t)index->count * sizeof *index->terms;
	FOR (i, index->count)
		atoms[i] = move_atom(r, index->terms[i].atom);
	struct index *made = arena_alloc(r->arena, bytes);
	memcpy(made, index, bytes);
	FOR (i, index->count)
		made->terms[i].atom = atoms[i];
	return intern_index(r->arena, made);
}

static const struct expr *moved(struct rewriter *r, const struct expr *expr)
{
	const struct moving *m = r->user;
	const struct index *at[MAX_VARS];
	struct expr made = *expr;
	struct range *ranges = arena_new_array(r->arena, struct range, (size_t)expr->range_count);
	FOR (i, 3)
		made.arg[i] = expr->arg[i] ? rewrite_expr(r, expr->arg[i]) : NULL;
	FOR (d, expr->rank)
		at[d] = r->index(r, expr->at[d]);
	FOR (i, expr->range_count) {
		ranges[i] = expr->ranges[i];
		ranges[i].at = r->index(r, ranges[i].at);
	}
	made.of = expr->of ? m->to(m->user, expr->of) : NULL;
	made.index = expr->index ? r->index(r, expr->index) : NULL;
	made.at = at;
	made.ranges = ranges;
	return intern_expr(r->arena, &made);
}

const struct expr *expr_move(struct arena *arena, const struct expr *expr,
        struct definition *(*to)(const void *user, struct definition *of), const void *user)
{
	struct moving m = { to, user };
	return rewrite_expr(
	        &(struct rewriter){ .arena = arena, .expr = moved, .index = moved_index, .user = &m }, expr);
}

const struct index *index_move(struct arena *arena, const struct index *index,
        struct definition *(*to)(const void *user, struct definition *of), const void *user)
{
	struct moving m = { to, user };
	return moved_index(
	        &(struct rewriter){ .arena = arena, .expr = moved, .index = moved_index, .user = &m }, index);
}
