/* check.c: what must hold of kernels before they are printed, and of their parts after each step. */
#include "kernels/kernels.h"
#undef NDEBUG /* a checker checks, however it is built */
#include <assert.h>

struct checking {
	const struct lowered *lowered;
	const struct kernel *kernel;
};

static void check_load(void *user, const struct expr *load)
{
	const struct checking *c = user;
	const struct scheduled *p = scheduled(load->of);
	assert(p->mode != MODE_VIRTUAL);
	if (p->mode == MODE_LOCAL)
		assert(p->kernel == c->kernel);
	else if (load->of->source == SOURCE_COMPUTED)
		assert(p->kernel && p->kernel->number <= c->kernel->number);
}

static void check_readable(void *user, const struct expr *load)
{
	const struct definition *reader = user;
	assert(scheduled(load->of)->mode != MODE_VIRTUAL && load->of->number < reader->number);
}

/* What is not virtual reads nothing that is, and has a place for each element. */
void scheduled_check(const struct lowered *lowered)
{
	FOR_EACH (struct definition *d, lowered->program->all) {
		int64_t last = 0;
		if (scheduled(d)->mode == MODE_VIRTUAL) {
			assert(!d->port.is_output && (!d->reduce || !scheduled(d)->readers.count));
			continue;
		}
		FOR (v, d->rank) {
			assert(scheduled(d)->stride[v] >= 0);
			last += d->extents[v] > 0 ? (d->extents[v] - 1) * scheduled(d)->stride[v] : 0;
		}
		assert(definition_elements(d) == 0
		        || (int64_t)dtype_bytes(d->type, (size_t)last + 1) <= scheduled(d)->bytes);
		if (d->source != SOURCE_COMPUTED)
			continue;
		definition_loads(d, check_readable, d);
	}
}

/* Each definition that is stored belongs to one kernel, after those that it reads. */
void fused_check(const struct lowered *lowered)
{
	FOR_ALL (k, lowered->kernels) {
		struct checking c = { lowered, lowered->kernels.at[k] };
		assert(c.kernel->number == (int)k && c.kernel->members.count > 0 && c.kernel->root);
		FOR_EACH (const struct definition *d, c.kernel->members) {
			assert(scheduled(d)->kernel == c.kernel);
			definition_loads(d, check_load, &c);
		}
	}
	FOR_EACH (const struct definition *d, lowered->program->all) {
		assert(d->source != SOURCE_COMPUTED || scheduled(d)->mode == MODE_VIRTUAL || scheduled(d)->kernel);
	}
}

void lowered_check(const struct lowered *lowered)
{
	scheduled_check(lowered);
	fused_check(lowered);
	FOR_EACH (struct kernel *one, lowered->kernels) {
		struct checking c = { lowered, one };
		assert(c.kernel->blocks > 0);
		for (const struct branch *branch = kernel_branch(c.kernel); branch; branch = branch->outer)
			assert(scheduled(branch->condition)->mode == MODE_HOSTED
			        || (scheduled(branch->condition)->kernel->number < c.kernel->number
			                && scheduled(branch->condition)->last >= c.kernel->number));
		FOR_ALL (p, c.kernel->params) {
			const struct scheduled *of = scheduled(c.kernel->params.at[p].of);
			assert(of->mode == MODE_DEVICE || of->mode == MODE_HOSTED || of->mode == MODE_CONSTANT);
			if (of->mode == MODE_DEVICE)
				assert(of->offset >= 0 && of->offset + of->bytes <= lowered->workspace_bytes);
		}
	}
}
