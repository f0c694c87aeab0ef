/* within.c: an input whose outermost extent is a bound holds what is there and nothing else.  Where each kernel that reads
 * it ends at that count itself, and not a few rows behind it, it is read where the caller has it; else, and in
 * the JIT and on GPUs, a copy of it is made that goes to the bound, as the definitions say. */
#include "kernels/kernels.h"

struct within {
	const struct kernel *kernel;
	const struct definition *reader, *input;
	int along; /* the input's dim that is counted */
	bool all;
};

static int counted_dim(const struct definition *input)
{
	int d = 0;
	while (d < input->rank && input->extents[d] == 1)
		d++;
	return d;
}

static bool counts_input(const struct definition *count, const struct definition *input)
{
	return count && !strcmp(count->name, input->port.sizes);
}

static const struct expr *in_place(void *user, const struct expr *load)
{
	return load->of->count.spreads ? expr_load(user, load->of->count.spreads, load->at) : load;
}

static const struct expr *through(void *user, const struct expr *expr)
{
	return expr_map_loads(user, expr, in_place, user);
}

void read_in_place(struct program *program, const struct target *target, const bool *copied)
{
	bool any = false;
	FOR_EACH (struct definition *d, program->all) {
		size_t input = 0;
		while (d->count.spreads && program->inputs.at[input] != d->count.spreads)
			input++;
		if (d->count.spreads && (!ends_by_lanes(target) || d->port.is_output || copied[input]))
			d->count.spreads = NULL;
		any |= d->count.spreads != NULL;
	}
	for (size_t i = 0; any && i < program->all.count; i++)
		if (program->all.at[i]->source == SOURCE_COMPUTED && !program->all.at[i]->count.spreads)
			definition_map(program->all.at[i], through, program->arena);
	if (any)
		program_remove_dead(program);
}

/* Loops around tiles end there; a tile itself may have rows behind it. */
static bool contraction_keeps_within(const struct contraction *c, const struct definition *input)
{
	bool ends = contraction_is_counted(c) && contraction_counts_outer(c) && !c->pool.d;
	FOR (v, MAX_VARS)
		ends &= !c->counts[v] || (counts_input(c->counts[v], input) && c->arranged.each[v] == 1);
	return ends;
}

static void see_load(void *user, const struct expr *load)
{
	struct within *w = user;
	int v;
	if (load->of == w->input)
		w->all &= index_is_var(load->at[w->along], &v) && v < w->reader->rank
		        && counts_input(w->reader->count.of[v], w->input)
		        && (w->kernel->shape != SHAPE_LOOPS || v == kernel_counted(w->kernel));
}

static bool keeps_within(const struct kernel *kernel, const struct definition *input)
{
	struct within w = { .kernel = kernel, .input = input, .along = counted_dim(input), .all = true };
	if (kernel->shape == SHAPE_CONTRACTION ? !contraction_keeps_within(kernel->detail, input)
	                                       : !counts_input(kernel->within, input))
		return false;
	FOR_EACH (struct definition *member, kernel->members) {
		w.reader = member;
		definition_loads(w.reader, see_load, &w);
	}
	return w.all;
}

bool reads_behind(const struct lowered *lowered, bool *copied)
{
	bool any = false;
	FOR_ALL (i, lowered->program->inputs) {
		const struct definition *input = lowered->program->inputs.at[i];
		bool behind = false;
		for (size_t k = 0; k < lowered->kernels.count && input->port.sizes && !copied[i]; k++)
			FOR_ALL (p, lowered->kernels.at[k]->params)
				behind |= lowered->kernels.at[k]->params.at[p].of == input
				        && !keeps_within(lowered->kernels.at[k], input);
		copied[i] |= behind;
		any |= behind;
	}
	return any;
}
