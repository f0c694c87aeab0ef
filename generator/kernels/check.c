/* check.c: what must hold of kernels before they are printed. */
#include "kernels/kernels.h"
#include <assert.h>

struct checking { const struct lowered *lowered; const struct kernel *kernel; };

static void check_load(void *user, const struct expr *load)
{
	const struct checking *c = user;
	const struct placed *placed = load->of->placed;
	assert(placed->mode != MODE_VIRTUAL);
	if (placed->mode == MODE_LOCAL)
		assert(placed->kernel == c->kernel);
	else if (load->of->source == SOURCE_COMPUTED)
		assert(placed->kernel && placed->kernel->number <= c->kernel->number);
}

void lowered_check(const struct lowered *lowered)
{
	for (size_t k = 0; k < lowered->kernels.count; k++) {
		struct checking c = { lowered, lowered->kernels.at[k] };
		assert(c.kernel->number == (int)k && c.kernel->blocks > 0 && c.kernel->members.count > 0);
		for (size_t m = 0; m < c.kernel->members.count; m++) {
			const struct definition *d = c.kernel->members.at[m];
			assert(d->placed->kernel == c.kernel);
			expr_loads(d->body, check_load, &c);
			if (d->start)
				expr_loads(d->start, check_load, &c);
		}
		for (size_t p = 0; p < c.kernel->params.count; p++) {
			const struct placed *placed = c.kernel->params.at[p].of->placed;
			assert(placed->mode == MODE_DEVICE || placed->mode == MODE_HOSTED || placed->mode == MODE_CONSTANT);
			if (placed->mode == MODE_DEVICE)
				assert(placed->offset >= 0 && placed->offset + placed->bytes <= lowered->workspace_bytes);
		}
	}
}
