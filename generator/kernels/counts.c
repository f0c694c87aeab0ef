/* counts.c: extents that are bounds: which elements nobody looks at.  Outputs say so.  A reader's variable that ends at
 * a count ends what it reads there, if the count is there before; what other readers want to the bound is made to the
 * bound.  What a mask puts something else in the place of is not looked at behind the mask's count.  Where readers'
 * indices do not say it (windows, places that are data), an operator has: what it makes ends where its dims' counts do.
 * So what lies behind a count, and is not made, reaches nothing that is looked at; kernels end their loops there as far
 * as their shape allows, and may go on to the bound; but sums and maxima that end by whole lanes do end there. */
#include "kernels/kernels.h"

/* ---- sums and maxima end behind a count, by whole lanes ---- */
/* What of each load's index is not the term itself: terms are read from there on.  One that stands alone is where an
 * index says, since no variable does. */
struct running {
	struct arena *arena;
	const struct definition *sum;
	const struct index *from; /* NULL: not seen yet */
	bool possible;
};
static bool is_term(const struct definition *sum, const struct index *at)
{
	int64_t alone;
	return index_uses(at, sum->rank)
	        || (sum->reduced_extents[0] == 1 && index_is_constant(at, &alone) && alone > 0);
}
static void see_run(void *user, const struct expr *load)
{
	struct running *r = user;
	FOR (d, load->of->rank) {
		const struct index *at = load->at[d];
		if (!is_term(r->sum, at))
			continue;
		int term = r->sum->rank;
		const struct index *from = index_add(
		        r->arena, at, index_scale(r->arena, index_var(r->arena, term, r->sum->reduced_extents[0]), -1));
		r->possible &=
		        !index_uses(from, term) && !index_bends(at, term) && (!r->from || index_equal(r->from, from));
		r->from = from;
	}
}

static bool by_lanes(const struct index *from)
{
	bool whole = from->constant % LANE_TERMS == 0;
	FOR (i, from->count)
		whole &= from->terms[i].factor % LANE_TERMS == 0;
	return whole;
}

const struct index *definition_runs_from(struct arena *arena, const struct definition *d)
{
	struct running r = { .arena = arena, .sum = d, .possible = true };
	if (d->reduced != 1 || !d->count.reduced[0] || definition_stands_alone(d))
		return NULL;
	expr_loads(d->body, see_run, &r);
	return r.possible && r.from && by_lanes(r.from) ? r.from : NULL;
}

/* The count by whole lanes, one term that is not there among them: behind the number that it is made of. */
static struct definition *whole_count(struct lowered *lowered, struct definition *count)
{
	struct arena *arena = lowered->arena;
	struct program *program = lowered->program;
	const struct expr *lanes = expr_integer(arena, DTYPE_I64, LANE_TERMS), *many = expr_load(arena, count, NULL),
	                  *left = expr_scalar(arena, SCALAR_mod, many, lanes, NULL),
	                  *whole = expr_scalar(
	                          arena, SCALAR_sub, expr_scalar(arena, SCALAR_add, many, lanes, NULL), left, NULL);
	for (size_t i = (size_t)count->number; i < program->all.count; i++)
		if (scheduled(program->all.at[i])->whole && expr_equal(program->all.at[i]->body, whole))
			return program->all.at[i];
	size_t from = program->all.count;
	struct definition *made = define_map(program, arena_printf(arena, "%s_whole", count->name), 0, NULL, whole);
	made->branch = count->branch;
	scheduled(made)->whole = count;
	program_move(program, from, program->all.at[count->number + 1]);
	return made;
}

/* x[k], where the term k is there, else 0: x[k]. */
const struct expr *factor_there(const struct definition *sum, const struct expr *factor)
{
	struct definition *ends = sum->reduced == 1 ? sum->count.reduced[0] : NULL;
	bool masked = ends && scheduled(ends)->whole && sum->type == DTYPE_F32 && factor->kind == EXPR_SCALAR
	        && factor->opcode == SCALAR_where && factor->arg[0]->kind == EXPR_LOAD
	        && factor->arg[0]->of->count.masks == scheduled(ends)->whole && factor->arg[1]->kind == EXPR_LOAD
	        && factor->arg[2]->kind == EXPR_NUMBER && factor->arg[2]->number == 0
	        && index_is(factor->arg[0]->at[0], sum->rank);
	return masked ? factor->arg[1] : NULL;
}

bool ends_by_lanes(const struct target *target) { return !target->calls && !target->lanes_are_threads; }

/* ---- what is looked at ---- */
struct wanted {
	bool seen, whole;
	struct definition *count;
};
struct looking {
	const struct definition *reader;
	struct wanted (*of)[MAX_RANK];
};

static void want(struct wanted *wanted, struct definition *count)
{
	wanted->whole |= !count || (wanted->seen && wanted->count != count);
	wanted->seen = true;
	wanted->count = count;
}

/* What is loaded at an index at which a mask is looked at is not looked at behind the mask's count. */
struct masking {
	const struct looking *l;
	const struct index *at[MAX_VARS];
	struct definition *counts[MAX_VARS];
	int count;
};

/* The count at which the reader's index ends: terms with places that are not there go nowhere, and nobody looks at them. */
static struct definition *count_of(const struct masking *m, const struct index *at, int64_t extent)
{
	int var;
	const struct definition *reader = m->l->reader;
	if (reader->count.reduced[0] && scheduled(reader->count.reduced[0])->whole && is_term(reader, at))
		return reader->count.reduced[0];
	for (int i = m->count; i-- > 0;)
		if (m->counts[i] && index_equal(m->at[i], at))
			return m->counts[i];
	if (!index_is_var(at, &var) || definition_extent(reader, var) != extent)
		return NULL;
	if (var >= reader->rank)
		return definition_scatters(reader) ? reader->count.reduced[var - reader->rank] : NULL;
	return reader->count.of[var];
}

static void look_load(void *user, const struct expr *load)
{
	const struct masking *m = user;
	FOR (d, load->of->rank)
		want(&m->l->of[load->of->number][d], count_of(m, load->at[d], load->of->extents[d]));
}

/* One value, or one index, with all that is loaded in it. */
static enum visit look_at(void *user, const struct expr *expr)
{
	struct masking *m = user, inner = *m;
	if (expr->kind == EXPR_SCALAR && expr->opcode == SCALAR_where && expr->arg[0]->kind == EXPR_LOAD
	        && expr->arg[0]->of->count.masks && m->count < MAX_VARS) {
		int var;
		struct definition *own = index_is_var(expr->arg[0]->at[0], &var) && var < m->l->reader->rank
		        ? m->l->reader->count.of[var]
		        : NULL;
		inner.at[inner.count] = expr->arg[0]->at[0];
		inner.counts[inner.count++] = own && scheduled(own)->whole ? own : expr->arg[0]->of->count.masks;
		expr_visit(expr->arg[0], look_at, m);
		expr_visit(expr->arg[1], look_at, &inner);
		expr_visit(expr->arg[2], look_at, m);
		return VISIT_PAST;
	}
	if (expr->kind == EXPR_SCALAR || expr->kind == EXPR_CAST
	        || (expr->kind == EXPR_SELECT && !expr_selects_by_value(expr)))
		return VISIT_PARTS;
	expr_loads(expr, look_load, m);
	return VISIT_PAST;
}

static void look(const struct looking *l, const struct expr *expr)
{
	expr_visit(expr, look_at, &(struct masking){ .l = l });
}

static void keep(struct lowered *lowered, struct definition *count)
{
	if (count && count->source == SOURCE_COMPUTED)
		scheduled(count)->steers = true;
	lowered->counted |= count != NULL;
}

void store_counts(struct lowered *lowered)
{
	struct program *program = lowered->program;
	for (size_t i = 0; i < program->all.count && ends_by_lanes(lowered->target); i++) {
		struct definition *d = program->all.at[i];
		const struct index *from = definition_runs_from(lowered->arena, d);
		if (from && (from->count || from->constant + d->reduced_extents[0] > LANE_TERMS)
		        && !scheduled(d->count.reduced[0])->whole)
			d->count.reduced[0] = whole_count(lowered, d->count.reduced[0]);
	}
	FOR_EACH (const struct definition *d, program->all) {
		FOR (v, MAX_RANK) {
			keep(lowered, d->count.of[v]);
			keep(lowered, d->count.ends[v]);
			keep(lowered, d->count.reduced[v]);
		}
		keep(lowered, d->count.masks);
	}
}

bool definition_is_counted(const struct definition *d)
{
	bool counted = false;
	FOR (v, MAX_RANK)
		counted |= d->count.of[v] || d->count.reduced[v];
	return counted;
}

void find_counts(struct lowered *lowered)
{
	struct program *program = lowered->program;
	if (!lowered->counted)
		return;
	FOR_EACH (struct definition *one, program->all) { /* bodies have changed since */
		struct definition *d = one;
		if (d->count.reduced[0] && scheduled(d->count.reduced[0])->whole
		        && !definition_runs_from(lowered->arena, d))
			d->count.reduced[0] = NULL;
	}
	struct wanted(*of)[MAX_RANK] = arena_array(lowered->arena, program->all.count + 1, sizeof *of);
	for (size_t i = program->all.count; i-- > 0;) {
		struct definition *d = program->all.at[i];
		struct looking l = { d, of };
		FOR (v, d->rank) {
			struct wanted *wanted = &of[i][v];
			if (d->port.is_output)
				want(wanted, d->count.of[v]);
			/* what says which are there is whole: a loop that does not end there asks it */
			bool ends = d->source == SOURCE_COMPUTED && !d->check && !d->count.masks;
			struct definition *count = wanted->seen && !wanted->whole && wanted->count->number < d->number
			        ? wanted->count
			        : d->count.ends[v];
			if (count && d->count.ends[v] && scheduled(count)->whole == d->count.ends[v])
				count = d->count.ends[v]; /* whole lanes of what may be anything */
			d->count.of[v] = ends ? count : NULL;
		}
		if (d->source != SOURCE_COMPUTED || scheduled(d)->mode == MODE_VIRTUAL)
			continue;
		if (definition_stands_alone(d))
			definition_loads(d, look_load, &(struct masking){ .l = &l });
		else {
			look(&l, d->body);
			look(&l, d->start);
		}
	}
}

/* Its elements along v are made on their own; an order's rows follow each other as its variables do, and so do those that
 * are copied. */
static bool is_apart(const struct definition *d, int v)
{
	for (int u = 0; u < v && (d->row || definition_is_order(d)); u++)
		if (d->extents[u] > 1)
			return false;
	return !d->place[v] && !d->lies && d->reduce != REDUCE_REPEAT && !(definition_is_order(d) && v == d->rank - 1);
}

int kernel_counted(const struct kernel *kernel)
{
	const struct definition *last = kernel->members.at[kernel->members.count - 1];
	FOR (v, (kernel->members.count == 1 ? last->rank : kernel->outer)) {
		bool all = last->count.of[v] && last->extents[v] > 1;
		FOR_EACH (struct definition *member, kernel->members) {
			all &= member->count.of[v] == last->count.of[v] && is_apart(member, v);
		}
		if (all)
			return v;
	}
	return -1;
}
