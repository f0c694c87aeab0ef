/* plan.c: gives each stored tensor a place: in the workspace by its lifetime (common/plan.c does the placing), in the
 * weights blob one behind the other. */
#include "kernels/kernels.h"
#include "ingot/plan.h"
#include <stdlib.h>

enum { ALIGN = 64 };

static void *plan_allocate(void *user, size_t bytes) { return arena_alloc(user, bytes); }

/* In whose memory it lies. */
static struct scheduled *place_of(const struct definition *of)
{
	while (scheduled(of)->view_of || scheduled(of)->lies_in)
		of = scheduled(of)->view_of ? scheduled(of)->view_of : scheduled(of)->lies_in;
	return scheduled(of);
}

/* From when on a kernel may run where launches are lanes of a graph: behind what makes the last of its operands, so that
 * its results share no place with what the kernels in between use.  Of far ones memory would grow. */
enum { EARLY_MOST = 8 };
static int begins_at(const struct lowered *lowered, const struct kernel *kernel)
{
	int ready = kernel->number - EARLY_MOST;
	for (size_t p = 0; p < kernel->params.count && lowered->target->thread; p++) {
		const struct kernel *from =
		        kernel->params.at[p].written ? NULL : scheduled(kernel->params.at[p].of)->kernel;
		ready = from && from->number >= ready ? from->number + 1 : ready;
	}
	return lowered->target->thread && ready > 0 && ready < kernel->number ? ready : kernel->number;
}

static void lifetimes(struct lowered *lowered)
{
	FOR_EACH (const struct kernel *kernel, lowered->kernels) {
		FOR_ALL (p, kernel->params) {
			struct scheduled *buffer = place_of(kernel->params.at[p].of);
			if (buffer->first < 0)
				buffer->first = begins_at(lowered, kernel);
			buffer->last = kernel->number;
		}
		for (const struct branch *branch = kernel_branch(kernel); branch; branch = branch->outer)
			scheduled(branch->condition)->last = kernel->number;
	}
	for (size_t i = 0; lowered->io_in_workspace && i < lowered->program->outputs.count;
	        i++) /* until the caller has read it */
		scheduled(lowered->program->outputs.at[i])->last = (int)lowered->kernels.count - 1;
	for (size_t i = 0; lowered->target->checks_late && i < lowered->program->checks.count; i++)
		scheduled(lowered->program->checks.at[i])->last = (int)lowered->kernels.count - 1;
}

struct buffers {
	VECTOR(struct ingot_plan_buffer) at;
	VECTOR(struct definition *) owners;
};

static enum ingot_plan_status place_in(
        struct lowered *lowered, struct buffers *buffers, struct ingot_plan_slab *slabs, uint32_t count, uint32_t *bad)
{
	struct ingot_plan job = { .buffers = buffers->at.at,
		.buffer_count = (uint32_t)buffers->at.count,
		.slabs = slabs,
		.slab_count = count,
		.allocate = plan_allocate,
		.user = lowered->arena };
	enum ingot_plan_status status = buffers->at.count ? ingot_plan_place(&job) : INGOT_PLAN_OK;
	*bad = job.bad;
	return status;
}

/* The buffers as far as `count`, of one slab alone: the bytes they need. */
static uint64_t peak_of(struct lowered *lowered, const struct buffers *buffers, size_t count, uint32_t slab)
{
	struct buffers some = { 0 };
	struct ingot_plan_slab peak = { 0 };
	uint32_t bad;
	FOR (i, count)
		if (buffers->at.at[i].slab == slab) {
			struct ingot_plan_buffer one = buffers->at.at[i];
			one.slab = 0;
			push(lowered->arena, &some.at, one);
		}
	return place_in(lowered, &some, &peak, 1, &bad) == INGOT_PLAN_OK ? peak.peak : UINT64_MAX;
}

/* Each buffer goes to the first pool that stays below the cap with it. */
static uint32_t spread(struct lowered *lowered, struct buffers *buffers)
{
	uint32_t pools = 1;
	FOR_ALL (i, buffers->at) {
		buffers->at.at[i].slab = 0;
		while (peak_of(lowered, buffers, i + 1, buffers->at.at[i].slab) > (uint64_t)lowered->pool_cap)
			buffers->at.at[i].slab++; /* ends: no buffer is larger than the cap */
		pools = buffers->at.at[i].slab + 1 > pools ? buffers->at.at[i].slab + 1 : pools;
	}
	return pools;
}

/* ---- memories ---- */
/* A buffer, and the loads and stores for each of its bytes. */
struct heat {
	size_t buffer;
	double heat;
};
static int hotter(const void *a, const void *b)
{
	const struct heat *x = a, *y = b;
	return x->heat != y->heat ? (x->heat < y->heat) - (x->heat > y->heat)
	                          : (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

static struct heat *by_heat(const struct lowered *lowered, const struct buffers *buffers)
{
	struct heat *all = arena_new_array(lowered->arena, struct heat, buffers->at.count + 1);
	FOR_ALL (i, buffers->at)
		all[i].buffer = i;
	FOR_EACH (const struct kernel *kernel, lowered->kernels) {
		const double *traffic = kernel_traffic(lowered, kernel);
		FOR_ALL (p, kernel->params)
			FOR_ALL (i, buffers->at)
				if (scheduled(buffers->owners.at[i]) == place_of(kernel->params.at[p].of))
					all[i].heat += traffic[p] / (double)(buffers->at.at[i].bytes + 1);
	}
	qsort(all, buffers->at.count, sizeof *all, hotter);
	return all;
}

/* The hottest buffers first, each in the nearest memory that holds it beside those that are there.  What none holds
 * counts to the farthest, of which this is the need. */
static uint64_t place_near(struct lowered *lowered, struct buffers *buffers)
{
	const memories *memories = &lowered->memories;
	const struct heat *order = by_heat(lowered, buffers);
	uint32_t last = (uint32_t)memories->count - 1;
	FOR_ALL (i, buffers->at)
		buffers->at.at[i].slab = last + 1;
	FOR_ALL (i, buffers->at) {
		struct ingot_plan_buffer *buffer = &buffers->at.at[order[i].buffer];
		for (buffer->slab = 0; buffer->slab < last; buffer->slab++)
			if (peak_of(lowered, buffers, buffers->at.count, buffer->slab)
			        <= (uint64_t)memories->at[buffer->slab].bytes)
				break;
	}
	return peak_of(lowered, buffers, buffers->at.count, last);
}

static uint32_t use_memories(struct lowered *lowered, struct buffers *buffers)
{
	const struct named_memory *last = &lowered->memories.at[lowered->memories.count - 1];
	uint64_t need = place_near(lowered, buffers);
	if (need > (uint64_t)last->bytes)
		fail(lowered->program->build, EXIT_LIMIT, NULL,
		        "the workspace does not fit the pools: %s=%lld is too small, %s=%llu would fit", last->name,
		        (long long)last->bytes, last->name, (unsigned long long)need);
	return (uint32_t)lowered->memories.count;
}

bool lowered_has_memories(const struct lowered *lowered) { return lowered->memories.count; }

const struct workspace_pool *workspace_pool_at(const struct lowered *lowered, int64_t offset)
{
	const struct workspace_pool *pool = lowered->workspace_pools.at + lowered->workspace_pools.count;
	while ((--pool)->at > offset)
		;
	return pool;
}

static void check_sizes(const struct lowered *lowered)
{
	for (size_t i = 0; lowered->pool_cap && i < lowered->program->all.count; i++) {
		const struct definition *d = lowered->program->all.at[i];
		if (scheduled(d)->mode != MODE_VIRTUAL && !is_local(d) && scheduled(d)->bytes > lowered->pool_cap)
			fail(lowered->program->build, EXIT_LIMIT, d->name,
			        "has %lld bytes; a pool holds %lld (--large-models lifts that)",
			        (long long)scheduled(d)->bytes, (long long)lowered->pool_cap);
	}
}

static void plan_workspace(struct lowered *lowered, struct buffers *buffers)
{
	struct ingot_plan_slab one = { 0 }, *slabs = &one;
	uint32_t pools = 1, bad = 0;
	enum ingot_plan_status status = place_in(lowered, buffers, slabs, 1, &bad);
	bool named = lowered_has_memories(lowered);
	if (status == INGOT_PLAN_OK && (named || (lowered->pool_cap && one.peak > (uint64_t)lowered->pool_cap))) {
		pools = named ? use_memories(lowered, buffers) : spread(lowered, buffers);
		slabs = arena_new_array(lowered->arena, struct ingot_plan_slab, pools);
		status = place_in(lowered, buffers, slabs, pools, &bad);
	}
	if (status != INGOT_PLAN_OK)
		fail(lowered->program->build, EXIT_LIMIT, buffers->owners.at[bad]->name,
		        "the workspace is larger than can be addressed");
	for (uint32_t s = 0; s < pools; s++) {
		push(lowered->arena, &lowered->workspace_pools,
		        (struct workspace_pool){ lowered->workspace_bytes, (int64_t)slabs[s].peak,
		                named ? lowered->memories.at[s].name : "workspace" });
		lowered->workspace_bytes += s + 1 < pools ? ((int64_t)slabs[s].peak + ALIGN - 1) & ~(int64_t)(ALIGN - 1)
		                                          : (int64_t)slabs[s].peak;
	}
	lowered->workspace_bound = (int64_t)one.bound;
	FOR_ALL (i, buffers->at)
		scheduled(buffers->owners.at[i])->offset =
		        lowered->workspace_pools.at[buffers->at.at[i].slab].at + (int64_t)buffers->at.at[i].offset;
}

/* An input is there before the first kernel. */
static bool lies_in_workspace(const struct lowered *lowered, const struct definition *d)
{
	struct scheduled *p = scheduled(d);
	if (p->mode == MODE_HOSTED && d->source == SOURCE_INPUT && p->first > 0)
		p->first = 0;
	return p->first >= 0 && (p->mode == MODE_DEVICE || (p->mode == MODE_HOSTED && lowered->io_in_workspace));
}

void plan(struct lowered *lowered)
{
	struct program *program = lowered->program;
	struct buffers buffers = { 0 };
	lifetimes(lowered);
	check_sizes(lowered);
	FOR_EACH (struct definition *d, program->all) {
		if (!lies_in_workspace(lowered, d))
			continue;
		push(lowered->arena, &buffers.at,
		        (struct ingot_plan_buffer){ .bytes = (uint64_t)scheduled(d)->bytes,
		                .align = ALIGN,
		                .first = (uint32_t)scheduled(d)->first,
		                .last = (uint32_t)scheduled(d)->last,
		                .in_place_of = -1 });
		push(lowered->arena, &buffers.owners, d);
	}
	plan_workspace(lowered, &buffers);
	FOR_EACH (struct definition *d, lowered->views) {
		scheduled(d)->offset = scheduled(scheduled(d)->view_of)->offset
		        + (int64_t)dtype_bytes(d->type, (size_t)scheduled(d)->view_offset);
	}
	FOR_EACH (struct definition *one, program->all) {
		struct scheduled *d = scheduled(one);
		if (d->mode == MODE_DEVICE && d->lies_in)
			d->offset = place_of(d->lies_in)->offset;
	}
	lowered->workspace_align = ALIGN;
	int64_t at = 0;
	FOR_ALL (i, lowered->constants) {
		struct scheduled *constant = scheduled(lowered->constants.at[i].of);
		constant->offset = at;
		at += (constant->bytes + ALIGN - 1) & ~(int64_t)(ALIGN - 1);
	}
	lowered->weights_bytes = at;
}
