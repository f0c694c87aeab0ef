/* keep.c: a state that is changed where it lies: an output of places that starts as an input, element by element, has
 * that input's memory, where nobody else reads the input.  So what no term goes to is neither read nor written. */
#include "definitions/definitions.h"

struct keeping {
	const struct definition *input;
	int loads;
};

static void count_load(void *user, const struct expr *load)
{
	struct keeping *k = user;
	k->loads += load->of == k->input;
}

bool program_keep(struct program *program, const struct definition *input, struct definition *output)
{
	struct keeping k = { .input = input };
	int var;
	const struct expr *start = output->start;
	if (!definition_scatters(output) || output->running || !start || start->kind != EXPR_LOAD || start->of != input
	        || output->type != input->type || output->rank != input->rank)
		return false;
	FOR (v, output->rank)
		if (output->extents[v] != input->extents[v]
		        || (output->extents[v] > 1 && (!index_is_var(start->at[v], &var) || var != v)))
			return false;
	FOR_ALL (i, program->all)
		definition_loads(program->all.at[i], count_load, &k);
	if (k.loads != 1)
		return false;
	output->start = NULL;
	output->in_place = true;
	return true;
}
