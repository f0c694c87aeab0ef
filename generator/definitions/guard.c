/* guard.c: program -> program.  A check is asked only where what it stands before is needed.  Where selects on scalar
 * conditions choose between definitions (the branches of an If, the rounds behind a loop's end), one that is not chosen
 * is computed for nothing, and its operands may be anything.
 *
 * From the end: what a definition is needed for are its readers, each where it is needed itself and where the selects
 * around the load choose it.  A need is a list of facts, all of which hold; several readers leave the facts that they
 * share. */
#include "definitions/definitions.h"

struct fact {
	const struct index *at;
	int64_t from, to;
	bool inside;
}; /* from <= at < to, or not */
struct need {
	bool known;
	size_t count;
	struct fact *facts;
}; /* not known: nobody reads it */
struct guarding {
	struct program *program;
	struct need *needs;         /* by number */
	VECTOR(struct fact) around; /* of the expression that is looked at */
};

enum {
	FACTS_MOST = 32
}; /* a longer list forgets the rest, which follow from those before or make a check be asked once too often */

static bool is_scalar(const struct index *at)
{
	FOR (v, MAX_VARS)
		if (index_uses(at, v))
			return false;
	return true;
}

static bool same(const struct fact *a, const struct fact *b)
{
	return a->from == b->from && a->to == b->to && a->inside == b->inside && index_equal(a->at, b->at);
}

/* As ops/ asks a bool of the caller, which may be any byte. */
static struct fact is_true(struct arena *arena, const struct expr *condition)
{
	while (condition->kind == EXPR_CAST)
		condition = condition->arg[0];
	return (struct fact){ index_value(arena, expr_cast(arena, DTYPE_I64, condition), 0, UINT8_MAX), 1,
		UINT8_MAX + 1, true };
}

/* The two conditions that follow from a fact: that a condition is true which is both of them.  False: it is no such
 * fact. */
static bool parts_of(struct arena *arena, const struct fact *fact, struct fact *parts)
{
	const struct atom *atom = fact->at->count == 1 && !fact->at->constant && fact->at->terms[0].factor == 1
	        ? fact->at->terms[0].atom
	        : NULL;
	if (!fact->inside || fact->from != 1 || !atom || atom->kind != ATOM_VALUE || atom->high >= fact->to)
		return false;
	const struct expr *whole = atom->value;
	while (whole->kind == EXPR_CAST)
		whole = whole->arg[0];
	const struct expr *body = whole->kind == EXPR_LOAD && whole->of->source == SOURCE_COMPUTED && !whole->of->reduce
	                && !whole->of->rank
	        ? whole->of->body
	        : NULL;
	while (body && body->kind == EXPR_CAST)
		body = body->arg[0];
	if (!body || !expr_is(body, SCALAR_and))
		return false;
	parts[0] = is_true(arena, body->arg[0]);
	parts[1] = is_true(arena, body->arg[1]);
	return true;
}

static void add(struct guarding *g, struct fact fact)
{
	struct fact parts[2];
	if (g->around.count >= FACTS_MOST || !is_scalar(fact.at))
		return;
	FOR_ALL (i, g->around)
		if (same(&g->around.at[i], &fact))
			return;
	push(g->program->arena, &g->around, fact);
	if (parts_of(g->program->arena, &fact, parts)) {
		add(g, parts[0]);
		add(g, parts[1]);
	}
}

static void note(struct guarding *g, struct need *need)
{
	if (!need->known) {
		need->known = true;
		need->count = g->around.count;
		need->facts = arena_new_array(g->program->arena, struct fact, need->count + 1);
		if (need->count)
			memcpy(need->facts, g->around.at, need->count * sizeof *need->facts);
		return;
	}
	size_t kept = 0;
	FOR (i, need->count) {
		bool shared = false;
		for (size_t k = 0; k < g->around.count && !shared; k++)
			shared = same(&need->facts[i], &g->around.at[k]);
		if (shared)
			need->facts[kept++] = need->facts[i];
	}
	need->count = kept;
}

static enum visit see(void *user, const struct expr *expr);

static void look(struct guarding *g, const struct expr *expr) { expr_visit_inside(expr, see, g); }

/* What a choice says holds where its part is looked at. */
static enum visit see(void *user, const struct expr *expr)
{
	struct guarding *g = user;
	size_t around = g->around.count;
	bool both = expr_is(expr, SCALAR_and) && expr->type == DTYPE_BOOL;
	if (expr->kind == EXPR_LOAD)
		note(g, &g->needs[expr->of->number]);
	if (expr->kind != EXPR_SELECT && !both)
		return VISIT_PARTS;
	FOR (i, expr->range_count)
		index_visit(expr->ranges[i].at, see, g);
	FOR (i, 2) {
		for (int r = 0; r < expr->range_count && (i == 0 || expr->range_count == 1); r++)
			add(g, (struct fact){ expr->ranges[r].at, expr->ranges[r].from, expr->ranges[r].to, i == 0 });
		if (i == 1 && both) /* where the first is false the second does not matter */
			add(g, is_true(g->program->arena, expr->arg[0]));
		look(g, expr->arg[i]);
		g->around.count = around;
	}
	return VISIT_PAST;
}

/* What its node makes behind it is what it stands before. */
static struct need *need_of_check(struct guarding *g, const struct definition *check)
{
	struct need *need = &g->needs[check->number];
	for (size_t i = (size_t)check->number + 1; i < g->program->all.count; i++) {
		const struct definition *d = g->program->all.at[i];
		if (!check->node || d->node != check->node || d->check || !g->needs[i].known)
			continue;
		g->around.count = 0;
		FOR_ALL (f, g->needs[i])
			push(g->program->arena, &g->around, g->needs[i].facts[f]);
		note(g, need);
	}
	return need;
}

static const struct expr *guarded(struct arena *arena, const struct need *need, const struct expr *holds)
{
	const struct expr *fine = expr_integer(arena, DTYPE_BOOL, 1);
	FOR (i, need->count) {
		const struct fact *fact = &need->facts[i];
		struct fact parts[2];
		bool follows = false;
		for (size_t k = 0; k < need->count && !follows; k++)
			follows = parts_of(arena, &need->facts[k], parts)
			        && (same(&parts[0], fact) || same(&parts[1], fact));
		if (follows)
			continue;
		const struct range range = { fact->at, fact->from, fact->to };
		holds = fact->inside ? expr_select(arena, &range, 1, holds, fine)
		                     : expr_select(arena, &range, 1, fine, holds);
	}
	return holds;
}

void program_guard_checks(struct program *program)
{
	struct guarding g = { .program = program,
		.needs = arena_new_array(program->arena, struct need, program->all.count + 1) };
	if (!program->checks.count)
		return;
	program_number(program);
	FOR_ALL (i, program->outputs)
		g.needs[program->outputs.at[i]->number].known = true;
	for (size_t i = program->all.count; i-- > 0;) {
		struct definition *d = program->all.at[i];
		struct need *need = &g.needs[i];
		if (d->check && d->source == SOURCE_COMPUTED) {
			need = need_of_check(&g, d);
			d->body = guarded(program->arena, need, d->body);
			need->known = true;
		}
		if (d->source != SOURCE_COMPUTED || !need->known)
			continue;
		g.around.count = 0;
		FOR (f, need->count)
			push(program->arena, &g.around, need->facts[f]);
		FOR_PARTS(part, d)
		look(&g, *part);
	}
}
