/* counts.c: extents that are bounds: which elements nobody looks at.  Outputs say so.  A reader's variable that ends at
 * a count ends what it reads there, if the count is there before; what other readers want to the bound is made to the
 * bound.  What a mask puts something else in the place of is not looked at behind the mask's count.  So what lies
 * behind a count, and is not made, reaches nothing that is looked at; kernels end their loops there as far as their
 * shape allows, and may go on to the bound. */
#include "kernels/kernels.h"

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

/* The count at which the reader's index ends: terms with places that are not there go nowhere, and nobody looks at
 * them; masked: behind that one nothing of what is loaded is looked at. */
static struct definition *count_of(const struct definition *reader, const struct index *at, int64_t extent,
        int var_masked, struct definition *masked)
{
	int var;
	if (!index_is_var(at, &var))
		return NULL;
	if (var < reader->rank ? reader->extents[var] != extent : reader->reduced_extents[var - reader->rank] != extent)
		return NULL;
	if (var >= reader->rank && var != var_masked)
		return definition_scatters(reader) ? reader->reduced_counts[var - reader->rank] : NULL;
	return var == var_masked ? masked : reader->counts[var];
}

struct masking {
	const struct looking *l;
	int var;
	struct definition *count;
};
static void look_load(void *user, const struct expr *load)
{
	const struct masking *m = user;
	for (int d = 0; d < load->of->rank; d++)
		want(&m->l->of[load->of->number][d],
		        count_of(m->l->reader, load->at[d], load->of->extents[d], m->var, m->count));
}

/* One value, or one index, with all that is loaded in it. */
static enum visit look_at(void *user, const struct expr *expr)
{
	struct masking *m = user, inner = *m;
	int var;
	if (expr->kind == EXPR_SCALAR && expr->opcode == SCALAR_where && expr->arg[0]->kind == EXPR_LOAD
	        && expr->arg[0]->of->masks && index_is_var(expr->arg[0]->at[0], &var)) {
		inner.var = var;
		inner.count = expr->arg[0]->of->masks;
		expr_visit(expr->arg[0], look_at, m);
		expr_visit(expr->arg[1], look_at, &inner);
		expr_visit(expr->arg[2], look_at, m);
		return VISIT_PAST;
	}
	if (expr->kind == EXPR_SCALAR || expr->kind == EXPR_CAST)
		return VISIT_PARTS;
	expr_loads(expr, look_load, m);
	return VISIT_PAST;
}

static void look(const struct looking *l, const struct expr *expr)
{
	expr_visit(expr, look_at, &(struct masking){ l, -1, NULL });
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
	for (size_t i = 0; i < program->all.count; i++) {
		const struct definition *d = program->all.at[i];
		for (int v = 0; v < MAX_RANK; v++) {
			keep(lowered, d->counts[v]);
			keep(lowered, d->reduced_counts[v]);
		}
		keep(lowered, d->masks);
	}
}

bool definition_is_counted(const struct definition *d)
{
	bool counted = false;
	for (int v = 0; v < MAX_RANK; v++)
		counted |= d->counts[v] || d->reduced_counts[v];
	return counted;
}

void find_counts(struct lowered *lowered)
{
	struct program *program = lowered->program;
	if (!lowered->counted)
		return;
	struct wanted(*of)[MAX_RANK] = arena_array(lowered->arena, program->all.count + 1, sizeof *of);
	for (size_t i = program->all.count; i-- > 0;) {
		struct definition *d = program->all.at[i];
		struct looking l = { d, of };
		for (int v = 0; v < d->rank; v++) {
			struct wanted *wanted = &of[i][v];
			if (d->is_output)
				want(wanted, d->counts[v]);
			/* what says which are there is whole: a loop that does not end there asks it */
			d->counts[v] = d->source == SOURCE_COMPUTED && !d->check && !d->masks && wanted->seen
			                && !wanted->whole && wanted->count->number < d->number
			        ? wanted->count
			        : NULL;
		}
		if (d->source != SOURCE_COMPUTED || scheduled(d)->mode == MODE_VIRTUAL)
			continue;
		if (definition_stands_alone(d))
			definition_loads(d, look_load, &(struct masking){ &l, -1, NULL });
		else {
			look(&l, d->body);
			look(&l, d->start);
		}
	}
}

int kernel_counted(const struct kernel *kernel)
{
	const struct definition *last = kernel->members.at[kernel->members.count - 1];
	for (int v = 0; v < (kernel->members.count == 1 ? last->rank : kernel->outer); v++) {
		bool all = last->counts[v] && last->extents[v] > 1;
		for (size_t m = 0; m < kernel->members.count; m++)
			all &= kernel->members.at[m]->counts[v] == last->counts[v]
			        && (kernel->shape == SHAPE_WALK || !definition_stands_alone(kernel->members.at[m]));
		if (all)
			return v;
	}
	return -1;
}
