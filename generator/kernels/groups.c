/* groups.c: sums of products in groups -> the same sums with the group as a variable of its own.
 *
 * A grouped convolution reads its data at channel c / n, its weights at channel c.  With c = n*g + o the group g is in
 * both factors and o in the weights alone: a batch and a column, so contraction.c finds a matrix multiply for each
 * group where it would see none.  The terms and their order stay, and so does every bit. */
#include "kernels/kernels.h"

enum { COLUMNS_LEAST = 2 }; /* of a group: a depthwise convolution stays what it is */

/* How a factor depends on a variable: not at all, through v / by alone, or otherwise. */
struct using
{
	int var;
	int64_t by;
	bool otherwise;
};

static void see_index(struct using *u, const struct index *index)
{
	for (int i = 0; i < index->count; i++) {
		const struct atom *atom = index->terms[i].atom;
		int var;
		if (atom->kind == ATOM_DIV && index_is_var(atom->of, &var) && var == u->var
		        && (!u->by || u->by == atom->by))
			u->by = atom->by;
		else if (atom->kind == ATOM_VAR            ? atom->var == u->var
		                : atom->kind == ATOM_VALUE ? expr_uses(atom->value, u->var)
		                                           : index_uses(atom->of, u->var))
			u->otherwise = true;
	}
}

static enum visit see_expr(void *user, const struct expr *expr)
{
	for (int i = 0; i < expr_index_count(expr); i++)
		see_index(user, expr_index_at(expr, i));
	return VISIT_PARTS;
}

/* The variable to be taken apart, and the extent of its inner part; -1: there is none. */
static int grouped_variable(const struct definition *d, int64_t *columns)
{
	for (int v = 0; v < d->rank; v++)
		for (int i = 0; i < 2; i++) {
			struct using u = { .var = v };
			expr_visit(d->body->arg[i], see_expr, &u);
			*columns = u.by;
			if (!u.otherwise && u.by >= COLUMNS_LEAST && u.by < d->extents[v] && d->extents[v] % u.by == 0
			        && expr_uses(d->body->arg[1 - i], v))
				return v;
		}
	return -1;
}

struct lying {
	int var;
	bool along;
};
static void see_lying(void *user, const struct expr *load)
{
	struct lying *l = user;
	for (int v = 0; v < load->rank; v++)
		l->along &= !index_uses(load->at[v], l->var)
		        || (v == load->rank - 1 && index_factor(load->at[v], l->var) == 1);
}

/* So few columns that vectors of them would be a quarter full, where rows of the image fill vectors better: such a
 * group stays a window, as a depthwise convolution does. */
static bool lies_along_image(const struct definition *d, int64_t columns, const struct target *target)
{
	struct lying l = { d->rank - 1, true };
	if (target->lanes == 1 || target->lanes_are_threads || target->small || columns * 4 > target->lanes
	        || d->extents[d->rank - 1] * 4 < target->lanes * 3)
		return false;
	expr_loads(d->body, see_lying, &l);
	return l.along;
}

static bool split_group(struct program *program, struct definition *d, const struct target *target)
{
	struct arena *arena = program->arena;
	int64_t extents[MAX_RANK], columns;
	const struct index *with[MAX_VARS] = { 0 }, *at[MAX_RANK];
	if (d->source != SOURCE_COMPUTED || !d->products || d->order != ORDER_SERIAL || d->rank + 1 > MAX_RANK
	        || d->rank + d->reduced + 1 > MAX_VARS)
		return false;
	int v = grouped_variable(d, &columns);
	if (v < 0 || lies_along_image(d, columns, target))
		return false;
	for (int k = 0; k < d->rank; k++)
		extents[k + (k > v)] = d->extents[k];
	extents[v] = d->extents[v] / columns;
	extents[v + 1] = columns;
	for (int k = 0; k < d->rank + d->reduced; k++)
		with[k] = index_var(arena, k + (k > v), k < d->rank ? d->extents[k] : d->reduced_extents[k - d->rank]);
	with[v] = index_add(
	        arena, index_scale(arena, index_var(arena, v, extents[v]), columns), index_var(arena, v + 1, columns));
	struct definition *sum = define_reduction(program, arena_printf(arena, "%s_groups", d->name), d->rank + 1,
	        extents, REDUCE_SUM, d->reduced, d->reduced_extents,
	        d->start ? expr_substitute(arena, d->start, with) : NULL, expr_substitute(arena, d->body, with));
	mark_batch(sum, (d->batch & ((1u << v) - 1)) | d->batch >> v << (v + 1));
	if (sum->order != d->order) { /* another order is another meaning */
		program->all.count--;
		return false;
	}
	sum->node = d->node;
	sum->branch = d->branch;
	for (int k = 0; k < d->rank; k++)
		at[k + (k > v)] = index_var(arena, k, d->extents[k]);
	at[v] = index_div(arena, index_var(arena, v, d->extents[v]), columns);
	at[v + 1] = index_mod(arena, index_var(arena, v, d->extents[v]), columns);
	become_map(d, expr_load(arena, sum, at));
	program_move(program, program->all.count - 1, d);
	return true;
}

void split_groups(struct program *program, const struct target *target)
{
	for (size_t i = 0; i < program->all.count; i++)
		split_group(program, program->all.at[i], target);
}
