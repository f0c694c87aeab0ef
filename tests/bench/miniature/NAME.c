/* NAME.c: each MODE computes, and all fail where the parallel-for leaves out an index or takes one twice.  WRONG is off
 * by 1 in the last element, CRASH ends the process, STATUS returns 3, POOLED wants a pool of two where it is given one
 * at all. */
#include "NAME.h"

#include <string.h>

enum { COUNT = 4096, PARTS = 4, RIGHT, WRONG, CRASH, STATUS, POOLED };

struct part {
	const float *x;
	float *scratch;
	int done[PARTS];
};

static void run_part(void *argument, int index)
{
	struct part *part = argument;
	part->done[index]++;
	for (int i = index * COUNT / PARTS; i < (index + 1) * COUNT / PARTS; i++) {
		float sum = 2 * part->x[i] + 1;
		part->scratch[i] = sum < 0 ? 0 : sum;
	}
}

int NAME_run(const struct NAME_inputs *in, const struct NAME_outputs *out, const struct NAME_context *context)
{
	struct part part = { .x = in->x, .scratch = context->workspace };
	if (context->parallel)
		context->parallel->run(context->parallel->pool, run_part, &part, PARTS);
	else
		for (int i = 0; i < PARTS; i++)
			run_part(&part, i);
	for (int i = 0; i < PARTS; i++)
		if (part.done[i] != 1)
			return 9;
	memcpy(out->y, part.scratch, COUNT * sizeof *out->y);
	if (MODE == WRONG)
		out->y[COUNT - 1] += 1;
	if (MODE == CRASH)
		__builtin_trap();
	if (MODE == POOLED && context->parallel && context->parallel->workers != 2)
		return 8;
	return MODE == STATUS ? 3 : 0;
}
