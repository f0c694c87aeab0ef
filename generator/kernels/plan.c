/* plan.c: gives each stored tensor a place: in the workspace by its lifetime (runtime/plan.c does the placing), in the
 * weights blob one behind the other. */
#include "kernels/kernels.h"
#include "ingot/plan.h"

enum { ALIGN = 64 };

static void *plan_allocate(void *user, size_t bytes) { return arena_alloc(user, bytes); }

static void lifetimes(struct lowered *lowered)
{
	for (size_t k = 0; k < lowered->kernels.count; k++) {
		const struct kernel *kernel = lowered->kernels.at[k];
		for (size_t p = 0; p < kernel->params.count; p++) {
			const struct definition *of = kernel->params.at[p].of;
			struct placed *placed = of->placed->view_of ? of->placed->view_of->placed : of->placed;
			if (placed->first < 0)
				placed->first = kernel->number;
			placed->last = kernel->number;
		}
	}
}

void plan(struct lowered *lowered)
{
	struct program *program = lowered->program;
	VECTOR(struct ingot_plan_buffer) buffers = { 0 };
	VECTOR(struct definition *) owners = { 0 };
	lifetimes(lowered);
	for (size_t i = 0; i < program->all.count; i++) {
		struct definition *d = program->all.at[i];
		if (d->placed->mode != MODE_DEVICE || d->placed->first < 0)
			continue;
		push(lowered->arena, &buffers, (struct ingot_plan_buffer){ .bytes = (uint64_t)d->placed->bytes, .align = ALIGN,
			.first = (uint32_t)d->placed->first, .last = (uint32_t)d->placed->last, .in_place_of = -1 });
		push(lowered->arena, &owners, d);
	}
	struct ingot_plan_slab slab = { 0 };
	struct ingot_plan job = { .buffers = buffers.at, .buffer_count = (uint32_t)buffers.count, .slabs = &slab, .slab_count = 1,
		.allocate = plan_allocate, .user = lowered->arena };
	if (buffers.count && ingot_plan_place(&job) != INGOT_PLAN_OK)
		fail(program->build, EXIT_LIMIT, owners.at[job.bad]->name, "the workspace is larger than can be addressed");
	for (size_t i = 0; i < buffers.count; i++)
		owners.at[i]->placed->offset = (int64_t)buffers.at[i].offset;
	for (size_t i = 0; i < lowered->views.count; i++) {
		struct definition *d = lowered->views.at[i];
		d->placed->offset = d->placed->view_of->placed->offset + (int64_t)dtype_bytes(d->type, (size_t)d->placed->view_offset);
	}
	lowered->workspace_bytes = (int64_t)slab.peak;
	lowered->workspace_bound = (int64_t)slab.bound;
	lowered->workspace_align = ALIGN;
	int64_t at = 0;
	for (size_t i = 0; i < lowered->constants.count; i++) {
		struct placed *placed = lowered->constants.at[i].of->placed;
		placed->offset = at;
		at += (placed->bytes + ALIGN - 1) & ~(int64_t)(ALIGN - 1);
	}
	lowered->weights_bytes = at;
}
