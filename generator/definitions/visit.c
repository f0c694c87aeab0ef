/* visit.c: the one way to look through expressions and the one to rewrite them.  Both remember what they have met, as
 * far as a small table holds it: an expression that shares its parts is walked as what it is, not as the tree that it
 * stands for.  What falls out of the table is met again, which changes nothing. */
#include "definitions/definitions.h"

enum { REMEMBERED = 16 };

/* ---- looking ---- */
struct looking {
	visit_expr *visit;
	void *user;
	bool inside;
	const struct expr **seen; /* REMEMBERED of them; NULL: each place counts */
};

static bool look(struct looking *, const struct expr *);

static bool look_inside(struct looking *l, const struct index *index)
{
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		if (atom->value ? look(l, atom->value) : atom->of && atom->of->values && look_inside(l, atom->of))
			return true;
	}
	return false;
}

static bool look_at_parts(struct looking *l, const struct expr *expr)
{
	for (int i = 0; l->inside && i < expr_index_count(expr); i++)
		if (expr_index_at(expr, i)->values && look_inside(l, expr_index_at(expr, i)))
			return true;
	for (int i = 0; i < 3 && expr->arg[i]; i++)
		if (look(l, expr->arg[i]))
			return true;
	return false;
}

static bool look(struct looking *l, const struct expr *expr)
{
	const struct expr **seen = l->seen && expr->arg[0] ? &l->seen[expr->hash % REMEMBERED] : NULL;
	if (seen && *seen == expr)
		return false;
	enum visit says = l->visit(l->user, expr);
	if (says == VISIT_END || (says == VISIT_PARTS && look_at_parts(l, expr)))
		return true;
	if (seen) /* behind its parts, which may lie in its place: where it stands next it is known */
		*seen = expr;
	return false;
}

static bool look_once(const struct expr *expr, visit_expr *visit, void *user, bool inside)
{
	const struct expr *seen[REMEMBERED] = { NULL };
	return expr && look(&(struct looking){ visit, user, inside, seen }, expr);
}

bool expr_visit(const struct expr *expr, visit_expr *visit, void *user) { return look_once(expr, visit, user, false); }

bool expr_visit_inside(const struct expr *expr, visit_expr *visit, void *user)
{
	return look_once(expr, visit, user, true);
}

bool index_visit(const struct index *index, visit_expr *visit, void *user)
{
	const struct expr *seen[REMEMBERED] = { NULL };
	return index->values && look_inside(&(struct looking){ visit, user, true, seen }, index);
}

struct visiting {
	void (*visit)(void *user, const struct expr *load);
	void *user;
};
static enum visit visit_load(void *user, const struct expr *expr)
{
	const struct visiting *v = user;
	if (expr->kind == EXPR_LOAD)
		v->visit(v->user, expr);
	return VISIT_PARTS;
}

void expr_loads(const struct expr *expr, void (*visit)(void *user, const struct expr *load), void *user)
{
	struct visiting v = { visit, user };
	look(&(struct looking){ .visit = visit_load, .user = &v, .inside = true }, expr);
}

void expr_loads_outside(const struct expr *expr, void (*visit)(void *user, const struct expr *load), void *user)
{
	struct visiting v = { visit, user };
	look(&(struct looking){ .visit = visit_load, .user = &v }, expr);
}

/* ---- rewriting ---- */
struct memo {
	struct {
		const void *of, *is;
	} at[REMEMBERED];
};

/* Do any of its variables become something else, or what is loaded in it? */
static bool index_changes(const struct rewriter *r, const struct index *index)
{
	if (index->values && (r->expr || r->with))
		return true;
	if (!r->with || index->vars >> VARS_LAST)
		return r->with;
	for (uint64_t vars = index->vars; vars; vars &= vars - 1)
		if (r->with[__builtin_ctzll(vars)])
			return true;
	return false;
}

static const struct index *rewrite_value(struct rewriter *r, struct atom atom)
{
	const struct expr *value = rewrite_expr(r, atom.value);
	if (!atom.by)
		return index_value(r->arena, value, atom.low, atom.high);
	atom.value = value;
	return index_of_atom(r->arena, atom, 1);
}

static const struct index *rewrite_atom(struct rewriter *r, const struct atom *atom)
{
	switch (atom->kind) {
	case ATOM_DIV: return index_div(r->arena, rewrite_index(r, atom->of), atom->by);
	case ATOM_MOD: return index_mod(r->arena, rewrite_index(r, atom->of), atom->by);
	case ATOM_SYMBOL: return index_symbol(r->arena, atom->symbol, atom->by, rewrite_index(r, atom->of));
	case ATOM_VALUE: return rewrite_value(r, *atom);
	case ATOM_VAR: break;
	}
	return r->with && r->with[atom->var] ? r->with[atom->var] : index_of_atom(r->arena, *atom, 1);
}

const struct index *rewrite_index(struct rewriter *r, const struct index *index)
{
	if (!index_changes(r, index))
		return index;
	size_t slot = index->hash % REMEMBERED;
	if (r->memo && r->memo->at[slot].of == index)
		return r->memo->at[slot].is;
	const struct index *sum = index_constant(r->arena, index->constant);
	FOR (i, index->count)
		sum = index_add(r->arena, sum,
		        index_scale(r->arena, rewrite_atom(r, index->terms[i].atom), index->terms[i].factor));
	if (r->memo) {
		r->memo->at[slot].of = index;
		r->memo->at[slot].is = sum;
	}
	return sum;
}

static const struct index *rewrite_held(struct rewriter *r, const struct index *index)
{
	return r->index ? r->index(r, index) : rewrite_index(r, index);
}

const struct expr *rewrite_load(struct rewriter *r, const struct expr *load, struct definition *of)
{
	const struct index *at[MAX_VARS] = { 0 };
	bool same = of == load->of;
	FOR (d, load->rank)
		same &= (at[d] = rewrite_held(r, load->at[d])) == load->at[d];
	return same ? load : expr_load(r->arena, of, at);
}

static const struct expr *rewrite_select(struct rewriter *r, const struct expr *expr, const struct expr *const *arg)
{
	struct range few[MAX_VARS],
	        *ranges = expr->range_count <= MAX_VARS
	        ? few
	        : arena_new_array(r->arena, struct range, (size_t)expr->range_count);
	FOR (i, expr->range_count)
		ranges[i] =
		        (struct range){ rewrite_held(r, expr->ranges[i].at), expr->ranges[i].from, expr->ranges[i].to };
	return expr_select(r->arena, ranges, expr->range_count, arg[0], arg[1]);
}

static const struct expr *rewrite_parts(struct rewriter *r, const struct expr *expr)
{
	const struct expr *arg[3] = { NULL };
	bool same = true;
	FOR (i, 3)
		if (expr->arg[i])
			same &= (arg[i] = rewrite_expr(r, expr->arg[i])) == expr->arg[i];
	switch (expr->kind) {
	case EXPR_NUMBER: break;
	case EXPR_LOAD: return rewrite_load(r, expr, expr->of);
	case EXPR_SCALAR: return same ? expr : expr_scalar(r->arena, expr->opcode, arg[0], arg[1], arg[2]);
	case EXPR_SELECT: return rewrite_select(r, expr, arg);
	case EXPR_INDEX: return expr_index(r->arena, rewrite_held(r, expr->index));
	case EXPR_CAST: return same ? expr : expr_cast_as(r->arena, expr->type, expr->cast, arg[0]);
	}
	return expr;
}

const struct expr *rewrite_expr(struct rewriter *r, const struct expr *expr)
{
	if (!r->memo) {
		struct memo memo = { 0 };
		r->memo = &memo;
		const struct expr *made = rewrite_expr(r, expr);
		r->memo = NULL;
		return made;
	}
	size_t slot = expr->hash % REMEMBERED;
	if (r->memo->at[slot].of == expr)
		return r->memo->at[slot].is;
	const struct expr *made = r->expr ? r->expr(r, expr) : NULL;
	made = made ? made : rewrite_parts(r, expr);
	r->memo->at[slot].of = expr;
	r->memo->at[slot].is = made;
	return made;
}

const struct index *index_substitute(struct arena *arena, const struct index *index, const struct index *const *with)
{
	return rewrite_index(&(struct rewriter){ .arena = arena, .with = with }, index);
}

const struct expr *expr_substitute(struct arena *arena, const struct expr *expr, const struct index *const *with)
{
	return rewrite_expr(&(struct rewriter){ .arena = arena, .with = with }, expr);
}

/* Does a load read each element at its own variables?  Then its body needs no substitution, and is shared. */
static bool at_own_variables(const struct definition *of, const struct index *const *at)
{
	for (int d = 0, var; d < of->rank; d++)
		if (of->extents[d] != 1
		        && !(index_is_var(at[d], &var) && var == d && at[d]->terms[0].atom->high == of->extents[d] - 1))
			return false;
	return true;
}

static const struct expr *inlined(struct rewriter *r, const struct expr *expr)
{
	const struct definition *of = *(const struct definition *const *)r->user;
	if (expr->kind != EXPR_LOAD || expr->of != of)
		return NULL;
	const struct expr *load = rewrite_load(r, expr, expr->of);
	return at_own_variables(of, load->at) ? of->body : expr_substitute(r->arena, of->body, load->at);
}

const struct expr *expr_inline(struct arena *arena, const struct expr *expr, const struct definition *of)
{
	return rewrite_expr(&(struct rewriter){ .arena = arena, .expr = inlined, .user = &of }, expr);
}

static const struct expr *replaced(struct rewriter *r, const struct expr *expr)
{
	const struct expr *const *pair = r->user;
	return expr == pair[0] ? pair[1] : NULL;
}

const struct expr *expr_replace(
        struct arena *arena, const struct expr *expr, const struct expr *old, const struct expr *with)
{
	const struct expr *pair[] = { old, with };
	return rewrite_expr(
	        &(struct rewriter){ .arena = arena, .expr = replaced, .index = index_stays, .user = pair }, expr);
}

struct redirecting {
	struct definition *(*to)(const void *user, struct definition *of);
	const void *user;
};
static const struct expr *redirected(struct rewriter *r, const struct expr *expr)
{
	const struct redirecting *d = r->user;
	return expr->kind == EXPR_LOAD ? rewrite_load(r, expr, d->to(d->user, expr->of)) : NULL;
}

const struct expr *expr_redirect(struct arena *arena, const struct expr *expr,
        struct definition *(*to)(const void *user, struct definition *of), const void *user)
{
	struct redirecting d = { to, user };
	return rewrite_expr(&(struct rewriter){ .arena = arena, .expr = redirected, .user = &d }, expr);
}

struct mapping {
	const struct expr *(*map)(void *user, const struct expr *load);
	void *user;
};
static const struct expr *mapped(struct rewriter *r, const struct expr *expr)
{
	const struct mapping *m = r->user;
	return expr->kind == EXPR_LOAD ? m->map(m->user, expr) : NULL;
}

const struct index *index_stays(struct rewriter *r, const struct index *index)
{
	(void)r;
	return index;
}

const struct expr *expr_map_loads(struct arena *arena, const struct expr *expr,
        const struct expr *(*map)(void *user, const struct expr *load), void *user)
{
	struct mapping m = { map, user };
	return rewrite_expr(
	        &(struct rewriter){ .arena = arena, .expr = mapped, .index = index_stays, .user = &m }, expr);
}
