/* repeat.c: a program that runs round after round, as one kernel.  Its body is lowered by these very stages; the body's
 * workspace lies in one buffer of the program around it.  What is carried has two places that change roles with each
 * round: the result's own, where there is one, and one in that buffer.  Of a GPU the host goes round (emit/launches.c),
 * and both are in the buffer. */
#include "kernels/kernels.h"

enum { ALIGN = 64 };

const char *repeat_label(const struct kernel *kernel)
{
	(void)kernel;
	return "rounds";
}

const struct lowered *repeat_inside(const struct kernel *kernel)
{
	return ((const struct rounds *)kernel->detail)->body;
}

/* Names are unique in the library: the kernels inside are called after the one that holds them. */
static void name_inside(struct lowered *lowered, const struct kernel *kernel)
{
	const struct lowered *inside = kernel_inside(kernel);
	for (size_t s = 0; inside && s < inside->kernels.count; s++) {
		struct kernel *step = inside->kernels.at[s];
		step->name = arena_printf(lowered->arena, "%s_%zu", kernel->name, s);
		step->inner = true;
		name_inside(lowered, step);
	}
}

/* A place in the buffer. */
static int64_t take(int64_t *bytes, const struct definition *of)
{
	int64_t at = *bytes;
	*bytes += (scheduled(of)->bytes + ALIGN - 1) & ~(int64_t)(ALIGN - 1);
	return at;
}

static int number_of(const struct definition *of, struct definition *const *at, size_t count)
{
	FOR (i, count)
		if (at[i] == of)
			return (int)i;
	return -1;
}

int repeat_input(const struct rounds *rounds, const struct definition *of)
{
	return number_of(of, rounds->body->program->inputs.at, rounds->body->program->inputs.count);
}
int repeat_output(const struct rounds *rounds, const struct definition *of)
{
	return number_of(of, rounds->body->program->outputs.at, rounds->body->program->outputs.count);
}

void repeat_choose(struct lowered *lowered, struct kernel *kernel)
{
	const struct repeat *repeat = kernel->root->loop.repeat;
	struct rounds *rounds = arena_new(lowered->arena, struct rounds);
	size_t outs = repeat->body->outputs.count;
	if (lowered->target->options.log)
		fail(lowered->program->build, EXIT_UNSUPPORTED,
		        kernel->root->node ? kernel->root->node->where : kernel->root->name,
		        "a loop of %lld rounds is not supported with --log", (long long)repeat->rounds);
	rounds->repeat = repeat;
	rounds->body = lower(repeat->body, lowered->target, lowered->optimise, NULL, lowered->finish);
	rounds->operand = definition_repeats(kernel->root)->loop.operand;
	rounds->results = arena_new_array(lowered->arena, struct definition *, outs);
	rounds->place = arena_new_array(lowered->arena, int64_t, outs);
	rounds->other = arena_new_array(lowered->arena, int64_t, outs);
	FOR_EACH (struct definition *member, kernel->members) {
		if (!is_local(member))
			rounds->results[member->loop.part] = member;
	}
	int64_t bytes = (rounds->body->workspace_bytes + ALIGN - 1) & ~(int64_t)(ALIGN - 1);
	FOR (k, outs) {
		const struct definition *output = rounds->body->program->outputs.at[k];
		bool carried = repeat->out[k].moves == REPEAT_CARRIED,
		     own = rounds->results[k] && !(carried && lowered->target->lanes_are_threads);
		rounds->place[k] = own ? -1 : take(&bytes, output); /* the host of a GPU moves both by one distance */
		rounds->other[k] = carried ? take(&bytes, output) : -1;
	}
	if (bytes)
		rounds->scratch = lowered_scratch(lowered, kernel, "scratch", DTYPE_U8, 1, &bytes);
	kernel->detail = rounds;
	kernel->blocks = 1;
	name_inside(lowered, kernel);
	kernel->tile = arena_printf(
	        lowered->arena, "%s%lld rounds", repeat->going < 0 ? "" : "up to ", (long long)repeat->rounds);
}

void repeat_parameters(struct lowered *lowered, struct kernel *kernel)
{
	const struct rounds *rounds = kernel->detail;
	generic_parameters(lowered, kernel);
	FOR_ALL (i, rounds->body->constants) { /* the blob is one */
		push(lowered->arena, &lowered->constants, rounds->body->constants.at[i]);
		kernel_add_param(lowered->arena, kernel, rounds->body->constants.at[i].of, false);
	}
	if (rounds->scratch)
		kernel_add_param(lowered->arena, kernel, rounds->scratch, true);
	FOR_EACH (struct kernel *one, rounds->body->kernels) {
		kernel->flops += (double)rounds->repeat->rounds * one->flops;
	}
}

bool repeat_same(const struct kernel *a, const struct kernel *b)
{
	(void)a, (void)b;
	return false; /* nobody looks into bodies */
}
