/* own.c: an operator of the user's own, as a kernel that he wrote: every tensor lies in memory, row-major. */
#include "kernels/kernels.h"

bool own_runs(const struct lowered *lowered, const struct definition *d)
{
	const struct own *own = d->loop.repeat->own;
	for (size_t i = 0; own && own->families[i]; i++)
		if (!strcmp(own->families[i], lowered->target->family))
			return true;
	if (own && !own->told)
		fail(lowered->program->build, EXIT_UNSUPPORTED, own->node->where,
		        "has no kernel for this target: %s/%s.jinja in the folder of --templates would be one, "
		        "onnx/%s.jinja would say what it means on all",
		        lowered->target->family, own->name, own->name);
	return false;
}

const char *own_label(const struct kernel *kernel)
{
	(void)kernel;
	return "own";
}

void own_choose(struct lowered *lowered, struct kernel *kernel)
{
	const struct repeat *repeat = kernel->root->loop.repeat;
	size_t outs = repeat->body->outputs.count;
	struct own_tensors *tensors = arena_new(lowered->arena, struct own_tensors);
	tensors->operand = definition_repeats(kernel->root)->loop.operand;
	tensors->results = arena_new_array(lowered->arena, struct definition *, outs);
	FOR_EACH (struct definition *member, kernel->members) {
		if (!is_local(member))
			tensors->results[member->loop.part] = member;
	}
	FOR (k, outs) {
		const struct definition *of = repeat->body->outputs.at[k];
		if (!tensors->results[k]) /* the kernel writes it whether anybody wants it or not */
			tensors->results[k] = lowered_scratch(lowered, kernel,
			        arena_printf(lowered->arena, "unread%zu", k), of->type, of->rank, of->extents);
	}
	kernel->detail = tensors;
	kernel->blocks = repeat->own->blocks;
	kernel->blocks_of = "as its text says";
	kernel->tile = "";
}

void own_parameters(struct lowered *lowered, struct kernel *kernel)
{
	const struct own_tensors *tensors = kernel->detail;
	generic_parameters(lowered, kernel);
	FOR_ALL (k, kernel->root->loop.repeat->body->outputs)
		kernel_add_param(lowered->arena, kernel, tensors->results[k], true);
}
