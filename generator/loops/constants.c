/* constants.c: the layout of constants that one generic kernel alone reads: the dim along which its vectors run comes last.
 * Weights of a depthwise convolution become kh kw c, those of few outputs lie along the terms. */
#include "loops/loops.h"

struct placing { const struct kernel *kernel; int var; };

/* The variable along which vectors of this member will lie: its output's neighbours, or the last term of a sum in lanes. */
static int lane_of(const struct kernel *kernel, const struct definition *d)
{
	const struct definition *written = kernel->members.at[kernel->members.count - 1];
	if (d->reduce != REDUCE_NONE && d->order == ORDER_LANES)
		for (int r = d->reduced - 1; r >= 0; r--)
			if (d->reduced_extents[r] > 1)
				return d->rank + r;
	if (d->placed->mode == MODE_LOCAL && kernel->outer == d->rank && written->rank >= d->rank)
		d = written;
	for (int v = 0; v < d->rank; v++)
		if (d->extents[v] > 1 && d->placed->stride[v] == 1)
			return v;
	return -1;
}

static bool is_alone(const struct kernel *kernel, const struct definition *constant)
{
	if (!constant->placed->readers.count || constant->is_output)
		return false;
	for (size_t i = 0; i < constant->placed->readers.count; i++) {
		bool member = false;
		for (size_t m = 0; m < kernel->members.count; m++)
			member |= kernel->members.at[m] == constant->placed->readers.at[i];
		if (!member)
			return false;
	}
	return true;
}

static void place_load(void *user, const struct expr *load)
{
	struct placing *p = user;
	struct definition *of = load->of;
	int last = -1;
	if (of->source != SOURCE_CONSTANT || of->rank < 2 || !is_alone(p->kernel, of))
		return;
	for (int d = 0; d < of->rank; d++)
		if (of->extents[d] > 1 && index_factor(load->at[d], p->var))
			last = d;
	if (last < 0)
		return;
	int64_t step = of->extents[last];
	of->placed->stride[last] = 1;
	for (int d = of->rank - 1; d >= 0; d--)
		if (d != last) {
			of->placed->stride[d] = step;
			step *= of->extents[d];
		}
}

void loops_place_constants(const struct kernel *kernel)
{
	for (size_t m = 0; m < kernel->members.count; m++) {
		const struct definition *d = kernel->members.at[m];
		struct placing p = { kernel, lane_of(kernel, d) };
		if (p.var < 0)
			continue;
		expr_loads(d->body, place_load, &p);
		if (d->start)
			expr_loads(d->start, place_load, &p);
	}
}
