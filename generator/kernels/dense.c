/* dense.c: what a call says the extents of comes and goes without gaps.  Where an output is made of such inputs element
 * for element, it reads them where the caller has them; and as far as all of its dims lie one behind the other there,
 * they are one row.  Of all others a copy goes to the bound, and of a result another from there. */
#include "kernels/kernels.h"

struct dense {
	struct arena *arena;
	const struct definition *d; /* the output */
	const struct expr *begin;   /* where its rows begin */
	const int *uses;            /* by number: how many definitions read it */
	const struct index *at;     /* where an element lies then; NULL: a number stands for each that lies so */
	bool possible;
};

static const struct index *clamped(struct arena *arena, const struct expr *value, int64_t most)
{
	const struct expr *zero = expr_integer(arena, DTYPE_I64, 0), *high = expr_integer(arena, DTYPE_I64, most);
	value = expr_scalar(arena, SCALAR_max, value, zero, NULL);
	return most ? index_value(arena, expr_scalar(arena, SCALAR_min, value, high, NULL), 0, most)
	            : index_constant(arena, 0);
}

/* Each range holds of all elements of the output. */
static bool is_there(const struct dense *s, const struct expr *select)
{
	const struct expr *lies = s->d->lies;
	const int last = s->d->rank - 1;
	int64_t extent = s->d->extents[last];
	const struct index *end = index_add(s->arena, index_var(s->arena, last, extent),
	        index_scale(s->arena, clamped(s->arena, s->d->row, extent), -1));
	FOR (i, select->range_count) {
		const struct range *range = &select->ranges[i];
		bool holds = index_equal(range->at, end) && range->from <= -extent && range->to >= 0;
		for (int k = 0; k < lies->range_count && !holds; k++)
			holds = index_equal(range->at, lies->ranges[k].at) && range->from <= lies->ranges[k].from
			        && range->to >= lies->ranges[k].to;
		if (!holds)
			return false;
	}
	return true;
}

/* What is computed for this output alone, or is little, and what is there of an input, is made where it is read. */
enum { CHEAP = 4 };
static const struct expr *read_through(void *user, const struct expr *load)
{
	struct dense *s = user;
	const struct definition *of = load->of;
	if (of->source != SOURCE_COMPUTED)
		return load;
	s->possible &= of->reduce == REDUCE_NONE && !of->port.is_output && !of->lies && !of->check && !of->count.masks
	        && branch_equal(of->branch, s->d->branch);
	if (!s->possible)
		return load;
	const struct expr *is = expr_inline(s->arena, load, of);
	bool there = is->kind == EXPR_SELECT && is_there(s, is),
	     once = s->uses[of->number] == 1 && definition_elements(of) == definition_elements(s->d);
	s->possible &= there || (!of->row && (once || expr_cost(is) <= CHEAP));
	return s->possible ? expr_map_loads(s->arena, there ? is->arg[0] : is, read_through, s) : load;
}

/* Rows of inputs go along the output's. */
static const struct expr *move(void *user, const struct expr *load)
{
	struct dense *s = user;
	const int last = s->d->rank - 1;
	const struct definition *of = load->of;
	if (of->rank != 1 || !of->port.sizes)
		return load;
	int64_t extent = s->d->extents[last];
	s->possible &= extent == 1 || (index_factor(load->at[0], last) == 1 && !index_bends(load->at[0], last));
	const struct index *own = index_add(
	        s->arena, index_var(s->arena, last, extent), clamped(s->arena, s->begin, of->extents[0] - extent));
	if (!index_equal(load->at[0], own))
		return load;
	return s->at ? expr_load(s->arena, load->of, &s->at) : expr_number(s->arena, of->type, 0);
}

/* The last of those that are there, along each dim from `first` on; along the others all of them. */
static void last_there(struct arena *arena, const struct definition *d, int first, const struct index **with)
{
	index_vars(arena, with, d->rank, d->extents);
	for (int v = first; v < d->rank; v++)
		with[v] = index_constant(arena, d->extents[v] - 1);
	FOR (i, d->lies->range_count)
		for (int v = first; v < d->rank; v++) {
			const struct index *at = d->lies->ranges[i].at, *own = index_var(arena, v, d->extents[v]);
			if (index_uses(at, v))
				with[v] = index_plus(arena, index_add(arena, own, index_scale(arena, at, -1)), -1);
		}
}

/* Dims from `first` on as one of blocks and one in them. */
enum { BLOCK = 4096 };
static void become_rows(struct dense *s, struct definition *d, int first)
{
	struct arena *arena = s->arena;
	const struct index *with[MAX_RANK], *vars[MAX_RANK];
	struct shown *shown = arena_new(arena, struct shown);
	int64_t inner = 1, all = definition_row(d, first), extents[MAX_RANK];
	int v = d->rank, count = 0;
	struct range leading[MAX_RANK];
	while (v > first && (inner == 1 || inner * d->extents[v - 1] <= BLOCK))
		inner *= d->extents[--v];
	*shown = definition_shown(d);
	memcpy(extents, d->extents, sizeof extents);
	extents[first] = all / inner;
	extents[first + 1] = inner;
	index_vars(arena, vars, first + 2, extents);

	last_there(arena, d, first, with);
	const struct expr *row = expr_scalar(arena, SCALAR_add, expr_substitute(arena, s->begin, with), d->row, NULL);
	for (v = first; v < d->rank; v++)
		with[v] = index_constant(arena, 0);
	const struct index *at = index_scale(arena, vars[first], inner);
	const struct expr *begin = expr_index(arena, at);
	if (first) {
		const struct expr *part = expr_substitute(arena, s->begin, with);
		begin = expr_scalar(arena, SCALAR_add, part, begin, NULL);
		at = index_add(arena, clamped(arena, part, definition_elements(d) - all), at);
	}
	row = expr_scalar(arena, SCALAR_sub, row, begin, NULL);
	FOR (i, d->lies->range_count) {
		bool leads = true;
		for (v = first; v < d->rank; v++)
			leads &= !index_uses(d->lies->ranges[i].at, v);
		if (leads)
			leading[count++] = d->lies->ranges[i];
	}
	s->at = index_add(arena, at, vars[first + 1]);
	d->body = expr_map_loads(arena, d->body, move, s);
	d->lies = expr_select(arena, leading, count, begin, expr_integer(arena, DTYPE_I64, -1));
	d->row = expr_index(arena, clamped(arena, row, inner));
	d->port.shown = d->port.shown ? d->port.shown : shown;
	d->rank = first + 2;
	memcpy(d->extents, extents, sizeof extents);
	memset(d->count.of + first, 0, sizeof d->count.of - (size_t)first * sizeof *d->count.of);
}

static void see_use(void *user, const struct expr *load) { ((int *)user)[load->of->number]++; }

void read_dense(struct program *program, const struct target *target)
{
	int *uses = arena_new_array(program->arena, int, program->all.count + 1);
	if (!ends_by_lanes(target) || target->options.log)
		return;
	FOR_EACH (struct definition *one, program->all) {
		definition_loads(one, see_use, uses);
	}
	FOR_EACH (struct definition *d, program->outputs) {
		if (!d->lies || d->reduce != REDUCE_NONE || d->rank == 0)
			continue;
		struct dense s = { .arena = program->arena, .d = d, .uses = uses, .possible = true };
		s.begin = d->lies->kind == EXPR_SELECT ? d->lies->arg[0] : d->lies;
		const struct expr *body = expr_map_loads(s.arena, d->body, read_through, &s),
		                  *others = s.possible ? expr_map_loads(s.arena, body, move, &s) : NULL;
		if (!s.possible)
			continue;
		d->body = body;
		int first = d->rank;
		while (first > 0 && !expr_uses(others, first - 1))
			first--;
		if (first + 2 <= d->rank)
			become_rows(&s, d, first);
	}
	program_remove_dead(program);
}
