/* branch.c: kernels that one branch alone needs: the schedule asks the condition before it runs them.
 *
 * A reduction is worth asking for.  Its condition is stored, by a kernel of its own, and what is needed elsewhere does
 * not join its kernel; a map that costs little stays with its readers, and a select computes one side of it alone in
 * any case. */
#include "kernels/kernels.h"

static bool is_of(const struct program *program, const struct definition *d)
{
	return (size_t)d->number < program->all.count && program->all.at[d->number] == d;
}

/* The conditions that steer: the others are not asked, nor those within them. */
static const struct branch *steering(const struct branch *branch)
{
	const struct branch *kept = branch;
	for (const struct branch *one = branch; one; one = one->outer)
		if (!scheduled(one->condition)->steers)
			kept = one->outer;
	return kept;
}

void find_branches(struct lowered *lowered)
{
	struct program *program = lowered->program;
	bool none = lowered->target->options.log || lowered->target->kernels_apart;
	program_number(program);
	FOR_EACH (struct definition *d, program->all) {
		if (none)
			d->branch = NULL;
		bool known = true;
		for (const struct branch *branch = d->branch; branch; branch = branch->outer)
			known &= is_of(program, branch->condition) && branch->condition->source != SOURCE_CONSTANT
			        && branch->condition->type == DTYPE_BOOL && definition_elements(branch->condition) == 1
			        && branch->condition->number < d->number;
		if (!known)
			d->branch = NULL;
		for (const struct branch *branch = d->reduce == REDUCE_NONE || d->check ? NULL : d->branch; branch;
		        branch = branch->outer)
			scheduled(branch->condition)->steers = true;
	}
	FOR_EACH (struct definition *one, program->all) {
		one->branch = steering(one->branch);
	}
}

const struct branch *kernel_branch(const struct kernel *kernel)
{
	return kernel->root->check ? NULL : kernel->root->branch;
}

int kernel_check(const struct lowered *lowered, const struct kernel *kernel)
{
	int number = 0;
	if (!kernel->root->check)
		return -1;
	while (lowered->program->checks.at[number] != kernel->root)
		number++;
	return number;
}
