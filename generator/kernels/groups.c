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
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		if (atom->kind == ATOM_DIV && index_is(atom->of, u->var) && (!u->by || u->by == atom->by))
			u->by = atom->by;
		else if (atom->kind == ATOM_VAR            ? atom->var == u->var
		                : atom->kind == ATOM_VALUE ? expr_uses(atom->value, u->var)
		                                           : index_uses(atom->of, u->var))
			u->otherwise = true;
	}
}

static enum visit see_expr(void *user, const struct expr *expr)
{
	FOR (i, expr_index_count(expr))
		see_index(user, expr_index_at(expr, i));
	return VISIT_PARTS;
}

/* The variable to be taken apart, and the extent of its inner part; -1: there is none. */
static int grouped_variable(const struct definition *d, const struct expr *const *factor, int64_t *columns)
{
	FOR (v, d->rank)
		FOR (i, 2) {
			struct using u = { .var = v };
			expr_visit(factor[i], see_expr, &u);
			*columns = u.by;
			if (!u.otherwise && u.by >= COLUMNS_LEAST && u.by < d->extents[v] && d->extents[v] % u.by == 0
			        && expr_uses(factor[1 - i], v))
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
	FOR (v, load->rank)
		l->along &= !index_uses(load->at[v], l->var)
		        || (v == load->rank - 1 && index_factor(load->at[v], l->var) == 1);
}

/* So few columns that vectors of them would be a quarter full, where rows of the image fill vectors better: such a
 * group stays a window, as a depthwise convolution does. */
static bool lies_along_image(const struct definition *d, int64_t columns, const struct target *target)
{
	struct lying l = { d->rank - 1, true };
	if (!has_vectors(target) || target->options.small || columns * 4 > target->lanes
	        || d->extents[d->rank - 1] * 4 < target->lanes * 3)
		return false;
	expr_loads(d->body, see_lying, &l);
	return l.along;
}

/* d over two variables where `v` was, of which the inner one has `columns`: `body` is d's.  d becomes a map of that. */
static struct definition *take_apart(
        struct program *program, struct definition *d, int v, int64_t columns, const struct expr *body)
{
	struct arena *arena = program->arena;
	int64_t extents[MAX_RANK];
	const struct index *with[MAX_VARS] = { 0 }, *at[MAX_RANK];
	FOR (k, d->rank)
		extents[k + (k > v)] = d->extents[k];
	extents[v] = d->extents[v] / columns;
	extents[v + 1] = columns;
	FOR (k, d->rank + d->reduced)
		with[k] = index_var(arena, k + (k > v), definition_extent(d, k));
	with[v] = index_add(
	        arena, index_scale(arena, index_var(arena, v, extents[v]), columns), index_var(arena, v + 1, columns));
	const char *name = arena_printf(arena, "%s_groups", d->name);
	body = expr_substitute(arena, body, with);
	struct definition *made = d->reduce == REDUCE_NONE
	        ? define_map(program, name, d->rank + 1, extents, body)
	        : define_reduction(program, name, d->rank + 1, extents, d->reduce, d->reduced, d->reduced_extents,
	                d->start ? expr_substitute(arena, d->start, with) : NULL, body);
	mark_batch(made, (d->batch & ((1u << v) - 1)) | d->batch >> v << (v + 1));
	if (made->order != d->order) { /* another order is another meaning */
		program->all.count--;
		return NULL;
	}
	memcpy(made->count.reduced, d->count.reduced, sizeof made->count.reduced);
	keep_origin(made, d);
	FOR (k, d->rank)
		at[k + (k > v)] = index_var(arena, k, d->extents[k]);
	at[v] = index_div(arena, index_var(arena, v, d->extents[v]), columns);
	at[v + 1] = index_mod(arena, index_var(arena, v, d->extents[v]), columns);
	become_map(d, expr_load(arena, made, at));
	program_move(program, program->all.count - 1, d);
	return made;
}

static bool has_room(const struct definition *d)
{
	return d->source == SOURCE_COMPUTED && !definition_stands_alone(d) && d->rank + 1 <= MAX_RANK
	        && d->rank + d->reduced + 1 <= MAX_VARS;
}

/* What only moves, as what it moves. */
static bool moves(const struct definition *of)
{
	return of->source == SOURCE_COMPUTED && of->reduce == REDUCE_NONE && of->body->kind == EXPR_LOAD && !of->lies
	        && !of->port.is_output && !of->check;
}
static const struct expr *moved(void *user, const struct expr *load)
{
	while (load->kind == EXPR_LOAD && moves(load->of))
		load = expr_inline(user, load, load->of);
	return load;
}

/* The same behind what puts 0 in the place of terms that are not there. */
static const struct expr *factor_behind(struct arena *arena, const struct expr *factor)
{
	factor = moved(arena, factor);
	const struct definition *of = factor->kind == EXPR_LOAD ? factor->of : NULL;
	const struct expr *body = of && of->source == SOURCE_COMPUTED && !of->port.is_output ? of->body : NULL;
	if (!body || of->reduce != REDUCE_NONE || body->kind != EXPR_SCALAR || body->opcode != SCALAR_where
	        || body->arg[0]->kind != EXPR_LOAD || !body->arg[0]->of->count.masks)
		return factor;
	return expr_map_loads(arena, expr_inline(arena, factor, of), moved, arena);
}

/* The same behind what widens floats of 16 bits that are moved: those as they lie. */
static const struct expr *halves_behind(struct arena *arena, const struct expr *factor)
{
	const struct definition *of = factor->kind == EXPR_LOAD ? factor->of : NULL;
	const struct expr *body = of && of->source == SOURCE_COMPUTED && !of->port.is_output ? of->body : NULL;
	if (!body || of->reduce != REDUCE_NONE || !expr_converts(body) || body->arg[0]->kind != EXPR_LOAD
	        || !dtype_is_narrow(body->arg[0]->type) || !moves(body->arg[0]->of))
		return factor;
	return moved(arena, expr_substitute(arena, body->arg[0], factor->at));
}
/* … as floats, which are made once for all heads that share them. */
static const struct expr *widened(struct program *program, const struct expr *factor, const struct definition *before)
{
	size_t count = program->all.count;
	struct definition *of = factor->of, *made;
	if (factor->type == DTYPE_F32)
		return factor;
	made = define_map(program, arena_printf(program->arena, "%s_shared", of->name), of->rank, of->extents,
	        expr_cast(program->arena, DTYPE_F32, expr_load_own(program->arena, of)));
	memcpy(made->count.of, of->count.of, sizeof made->count.of);
	keep_origin(made, of);
	program_move(program, count, before);
	return expr_load(program->arena, made, factor->at);
}

/* Keys and values that several heads share are repeated (Expand, Reshape): the group is in both factors, behind what
 * moves them.  What follows the sum element by element, or along a row (a softmax), gets the group's variable, too. */
struct following {
	int var; /* -1: none */
	int64_t by;
};
static void see_following(void *user, const struct expr *load)
{
	struct following *f = user;
	for (int k = 0, var; scheduled(load->of)->grouped && k < load->rank && f->var < 0; k++) {
		const struct atom *atom = load->at[k]->count == 1 ? load->at[k]->terms[0].atom : NULL;
		if (atom && atom->kind == ATOM_DIV && index_is_var(atom->of, &var))
			*f = (struct following){ var, atom->by };
	}
}

static void follow(struct program *program, struct definition *d)
{
	struct following f = { -1, 0 };
	if (!has_room(d) || d->sum.products || d->port.is_output || d->check || d->lies || moves(d))
		return;
	const struct expr *body = expr_map_loads(program->arena, d->body, moved, program->arena);
	expr_loads(body, see_following, &f);
	struct definition *made = f.var >= 0 && f.var < d->rank && d->extents[f.var] % f.by == 0
	        ? take_apart(program, d, f.var, f.by, body)
	        : NULL;
	if (made)
		scheduled(made)->grouped = true;
}

static bool split_group(struct program *program, struct definition *d, const struct target *target)
{
	int64_t columns;
	if (!has_room(d) || !d->sum.products || d->order != ORDER_SERIAL)
		return false;
	const struct expr *factor[2] = { d->body->arg[0], d->body->arg[1] };
	int v = grouped_variable(d, factor, &columns);
	if (v >= 0)
		return !lies_along_image(d, columns, target) && take_apart(program, d, v, columns, d->body);
	FOR (i, 2) {
		factor[i] = halves_behind(program->arena, factor_behind(program->arena, factor[i]));
		if (factor[i]->kind == EXPR_LOAD && factor[i]->of->source == SOURCE_CONSTANT)
			return false;
	}
	v = target->calls || target->lanes_are_threads ? -1 : grouped_variable(d, factor, &columns);
	for (int i = 0; v >= 0 && i < 2; i++)
		factor[i] = widened(program, factor[i], d);
	struct definition *made = v < 0 ? NULL
	                                : take_apart(program, d, v, columns,
	                                        expr_scalar(program->arena, SCALAR_mul, factor[0], factor[1], NULL));
	if (made)
		scheduled(made)->grouped = true;
	return made;
}

void split_groups(struct program *program, const struct target *target)
{
	size_t before = program->all.count;
	FOR_EACH (struct definition *d, program->all) {
		if (!split_group(program, d, target))
			follow(program, d);
	}
	if (program->all.count > before)
		program_remove_dead(program); /* what moved them, and what they were */
}
