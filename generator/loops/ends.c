/* ends.c: loops inside a kernel's blocks end at counts, too.  Rounds behind a count are left out where all that they store
 * lies along a dim behind whose count nobody looks, and all that they add up is masked by what a sum is not changed by.
 * After the last pass: a loop is judged by the addresses and masks in it, whatever it was made of. */
#include "loops/loops.h"
#include <math.h>

struct ending {
	struct loops *loops;
	struct stmt *loop;
	VECTOR(const struct cell *) own; /* that begin inside */
	const struct definition *count;  /* of all that is stored and added so far; NULL: nothing yet */
	int64_t by;
	bool possible;
};

static void end_at(struct ending *e, const struct definition *count, int64_t by)
{
	e->possible &= count && (!e->count || (e->count == count && e->by == by));
	e->count = count;
	e->by = by;
}

/* ---- what is stored ---- */
/* Whose elements they are: another member's that lie there end where they do. */
static bool ends_alike(const struct loops *loops, const struct definition *d)
{
	FOR_EACH (const struct definition *member, loops->kernel->members) {
		for (int v = 0; v < d->rank && scheduled(member)->lies_in == d; v++)
			if (member->rank != d->rank || member->count.of[v] != d->count.of[v]
			        || member->extents[v] != d->extents[v])
				return false;
	}
	return true;
}

/* The dim that the loop goes along: a part of it, or all of it and of dims inside it as one. */
static void end_store(struct ending *e, const struct definition *d, const struct index *at)
{
	int64_t step = index_is_affine(at) ? index_factor(at, e->loop->var) : 0, by = 0;
	const int64_t *stride = scheduled(d)->stride;
	const struct definition *count = NULL;
	for (int v = 0; v < d->rank && step > 0; v++)
		if (d->count.of[v] && d->extents[v] > 1 && stride[v] % step == 0
		        && (step * e->loop->extent == stride[v] * d->extents[v]
		                || (step == stride[v]
		                        && index_factor(
		                                   index_mod(e->loops->arena, at, step * d->extents[v]), e->loop->var)
		                                == step)))
			count = d->count.of[v], by = stride[v] / step;
	end_at(e, count, by);
}

/* ---- what is added up ---- */
struct outside {
	const struct stmt *loop;
	const struct cell *cell;
	const struct expr *start; /* where it begins */
	bool loaded;
};

static void see_load(void *user, const struct expr *load)
{
	struct outside *o = user;
	o->loaded |= load->of == &o->cell->of;
}

static enum visit look_outside(void *user, struct stmt *stmt)
{
	struct outside *o = user;
	if (stmt == o->loop)
		return VISIT_PAST;
	if (stmt->kind == STMT_SET && stmt->declare && stmt->cell == o->cell)
		o->start = stmt->value;
	if (stmt->value)
		expr_loads(stmt->value, see_load, o);
	o->loaded |= stmt->kind == STMT_JOIN && stmt->from == o->cell;
	return VISIT_PARTS;
}

static bool is_neutral(enum scalar opcode, const struct expr *e)
{
	return e && e->kind == EXPR_NUMBER
	        && (opcode == SCALAR_add               ? e->number == 0 && !signbit(e->number)
	                        : opcode == SCALAR_max ? e->number == -INFINITY
	                        : opcode == SCALAR_min ? e->number == INFINITY
	                                               : false);
}

/* A mask at the loop's variable, or at how often a number goes into it. */
static int64_t rounds_each(const struct ending *e, const struct index *at)
{
	const struct atom *atom = at->count == 1 ? at->terms[0].atom : NULL;
	int64_t by = 1;
	if (atom && atom->kind == ATOM_DIV && at->terms[0].factor == 1 && at->constant == 0) {
		by = atom->by;
		at = atom->of;
	}
	return at->count == 1 && at->constant >= 0 && index_factor(at, e->loop->var) == 1 ? by : 0;
}

static const struct definition *mask_of(const struct ending *e, const struct expr *term)
{
	return e->loops->owners.at[cell_of_load(term->arg[0])->of.number];
}

static bool is_masked(const struct ending *e, enum scalar opcode, const struct expr *term)
{
	return term->kind == EXPR_SCALAR && term->opcode == SCALAR_where && term->arg[0]->kind == EXPR_LOAD
	        && is_neutral(opcode, term->arg[2]) && mask_of(e, term);
}

static int64_t rounds_of_mask(const struct ending *e, const struct expr *term)
{
	return mask_of(e, term)->count.masks ? rounds_each(e, term->arg[0]->at[0]) : 0;
}

/* register = op(register, where(mask, …, what op is not changed by)), begun with that */
static void end_sum(struct ending *e, const struct stmt *set)
{
	struct outside o = { .loop = e->loop, .cell = set->cell };
	block_visit(&e->loops->body, look_outside, &o);
	if (!o.loaded)
		return;
	const struct expr *value = set->value, *term = value->kind == EXPR_SCALAR ? value->arg[1] : NULL;
	e->possible &= term && value->arg[0]->kind == EXPR_LOAD && value->arg[0]->of == &set->cell->of
	        && is_neutral(value->opcode, o.start);
	for (; e->possible && is_masked(e, value->opcode, term); term = term->arg[1]) {
		int64_t by = rounds_of_mask(e, term);
		if (by && by * mask_of(e, term)->extents[0] == e->loop->extent) {
			end_at(e, mask_of(e, term)->count.masks, by);
			return;
		}
	}
	e->possible = false;
}

static bool begins_inside(const struct ending *e, const struct cell *cell)
{
	FOR_ALL (i, e->own)
		if (e->own.at[i] == cell)
			return true;
	return false;
}

/* Where each step lies in one round of the mask, those up to the count have no term that it leaves out: what they add
 * up is not masked by it. */
static bool is_whole(const struct ending *e, const struct expr *term)
{
	const struct index *at = term->arg[0]->at[0];
	int64_t by = rounds_of_mask(e, term);
	if (by && at->terms[0].atom->kind == ATOM_DIV)
		at = at->terms[0].atom->of;
	return by == e->by && mask_of(e, term)->count.masks == e->count && by % e->loop->step == 0
	        && at->constant < e->loop->step;
}

static const struct expr *unmasked(struct ending *e, enum scalar opcode, const struct expr *term)
{
	if (!is_masked(e, opcode, term))
		return term;
	const struct expr *inner = unmasked(e, opcode, term->arg[1]);
	return is_whole(e, term) ? inner
	                         : expr_scalar(e->loops->arena, SCALAR_where, term->arg[0], inner, term->arg[2]);
}

static enum visit unmask(void *user, struct stmt *stmt)
{
	struct ending *e = user;
	const struct expr *value = stmt->value;
	if (stmt->kind == STMT_SET && value->kind == EXPR_SCALAR && value->arg[1]
	        && is_masked(e, value->opcode, value->arg[1]) && !begins_inside(e, stmt->cell))
		stmt->value = expr_scalar(e->loops->arena, value->opcode, value->arg[0],
		        unmasked(e, value->opcode, value->arg[1]), value->arg[2]);
	return VISIT_PARTS;
}

static enum visit see(void *user, struct stmt *stmt)
{
	struct ending *e = user;
	if (stmt->kind == STMT_ARRAY || (stmt->kind == STMT_SET && stmt->declare))
		push(e->loops->arena, &e->own, (const struct cell *)stmt->cell);
	FOR (i, stmt->sum_count)
		push(e->loops->arena, &e->own, (const struct cell *)stmt->sums[i]);
	if (stmt->kind != STMT_STORE && stmt->kind != STMT_SET && stmt->kind != STMT_JOIN)
		return VISIT_PARTS;
	const struct definition *owner = e->loops->owners.at[stmt->cell->of.number];
	if (begins_inside(e, stmt->cell))
		return VISIT_PARTS;
	if (stmt->kind == STMT_STORE && stmt->cell->kind == CELL_BUFFER && owner && !owner->lies && !stmt->square
	        && ends_alike(e->loops, owner))
		end_store(e, owner, stmt->at);
	else if (stmt->kind == STMT_SET && e->loop->role == ROLE_SERIAL)
		end_sum(e, stmt);
	else
		e->possible = false;
	return e->possible ? VISIT_PARTS : VISIT_END;
}

/* As many as there can be: of a dim that is stored, or of a mask. */
static int64_t bound_of(const struct loops *loops, const struct definition *count)
{
	FOR_EACH (const struct definition *owner, loops->owners) {
		if (owner && owner->count.masks == count)
			return owner->extents[0];
		for (int v = 0; owner && v < owner->rank; v++)
			if (owner->count.of[v] == count)
				return owner->extents[v];
	}
	return loops->most;
}

/* How many there are, as numbers that stand in front of all loops: a variable for each cell that is such a count. */
struct there {
	struct loops *loops;
	int *vars; /* by cells; -1: none yet */
	struct block front;
};

/* NULL: the kernel does not know. */
static const struct index *there_of(struct there *t, const struct definition *count)
{
	struct loops *loops = t->loops;
	for (size_t i = 0; count && i < loops->owners.count; i++) {
		int64_t extent = bound_of(loops, count) + 1;
		if (loops->owners.at[i] != count)
			continue;
		const struct expr *many = cell_load(loops, loops->cells.at[i], index_constant(loops->arena, 0));
		if (t->vars[i] < 0)
			t->vars[i] = index_new(loops, "there", extent,
			        index_value(loops->arena, expr_cast(loops->arena, DTYPE_I64, many), 0, extent - 1),
			        &t->front);
		return index_var(loops->arena, t->vars[i], extent);
	}
	return NULL;
}

static enum visit end_loop(void *user, struct stmt *stmt)
{
	struct there *there = user;
	struct ending e = { .loops = there->loops, .loop = stmt, .possible = true };
	if (stmt->kind != STMT_FOR || (stmt->role != ROLE_MAP && stmt->role != ROLE_SERIAL) || stmt->first
	        || stmt->count || stmt->together)
		return VISIT_PARTS;
	block_visit(&stmt->body, see, &e);
	const struct index *end = e.possible ? there_of(there, e.count) : NULL;
	if (end) {
		struct arena *arena = e.loops->arena;
		int64_t least, most;
		stmt->count = index_scale(arena, end, e.by);
		index_range(stmt->count, &least, &most);
		if (most > stmt->extent) /* a part of the dim */
			stmt->count = index_value(arena, expr_index(arena, stmt->count), 0, stmt->extent);
		if (stmt->role == ROLE_SERIAL)
			block_visit(&stmt->body, unmask, &e);
	}
	return VISIT_PARTS;
}

void loops_end(struct loops *loops)
{
	if (!ends_by_lanes(loops->target))
		return;
	struct there there = { loops, arena_new_array(loops->arena, int, loops->cells.count), { 0 } };
	FOR_ALL (i, loops->cells)
		there.vars[i] = -1;
	block_visit(&loops->body, end_loop, &there);
	block_add_all(loops, &there.front, &loops->body);
	loops->body = there.front;
}

bool loops_end_exactly(const struct loops *loops)
{
	return loops->count && (loops->rows_end || loops->ends_by % loops->ends_per == 0);
}
