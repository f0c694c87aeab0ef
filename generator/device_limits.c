/* device_limits.c: what a GPU does at most: templates/cuda/limits.jinja, compiled and timed as a model's kernels are.
 */
#include "engine.h"
#include "backends/backends.h"
#include "ingot/template.h"

/* As limits.jinja has them. */
enum {
	WARPS = 8,
	THREADS = 32 * WARPS,
	BLOCKS_A_PROCESSOR = 8,
	SUMS = 16,
	PRODUCTS = 4,
	PRODUCT = 16 * 8 * 8,
	COPIES = 4,
	QUAD = 16
};
enum { TRIES = 5, ROUNDS_MOST = 1 << 20, MMA_FROM = 80 };
static const double LONG_ENOUGH = 100; /* microseconds, of which an event's resolution is little */

struct limits_run {
	struct cuda *cuda;
	void *module, *events[3];
	unsigned blocks;
	uint64_t to, from, rounds;
};

static double time_of(struct limits_run *run, const char *name, void *kernel, unsigned blocks, void **arguments)
{
	cuda_record(run->cuda, run->events[0]);
	cuda_launch(run->cuda, kernel, name, blocks, blocks == 1 ? 1 : WARPS, 0, arguments);
	cuda_record(run->cuda, run->events[1]);
	cuda_record(run->cuda, run->events[2]);
	cuda_sync(run->cuda);
	return cuda_elapsed(run->cuda, run->events[0], run->events[1])
	        - cuda_elapsed(run->cuda, run->events[1], run->events[2]);
}

static double best_of(struct limits_run *run, const char *name, void *kernel, unsigned blocks, void **arguments)
{
	double best = 1e18;
	FOR (i, TRIES) {
		double time = time_of(run, name, kernel, blocks, arguments);
		best = time < best ? time : best;
	}
	return best > 1e-3 ? best : 1e-3;
}

/* Rounds a microsecond. */
static double rate_of(struct limits_run *run, const char *name, int64_t quads)
{
	void *kernel = cuda_kernel(run->cuda, run->module, name, 0),
	     *arguments[] = { &run->to, &run->from, &run->rounds };
	int64_t rounds[2] = { 1, quads };
	for (double time = 0; rounds[0] < ROUNDS_MOST && time < LONG_ENOUGH; rounds[0] *= 2) {
		cuda_upload(run->cuda, run->rounds, rounds, sizeof rounds);
		time = time_of(run, name, kernel, run->blocks, arguments);
	}
	rounds[0] /= 2;
	return (double)rounds[0] / best_of(run, name, kernel, run->blocks, arguments);
}

/* Bytes read and written, as many in all as there are at least, a microsecond. */
static double copy_rate(struct limits_run *run, int64_t bytes)
{
	int64_t unit = (int64_t)COPIES * run->blocks * THREADS, quads = (bytes / 2 / QUAD + unit - 1) / unit * unit;
	return rate_of(run, "limit_copy", quads) * (double)(2 * QUAD * quads);
}

static const char *image_of(struct model *model, const struct nvrtc *nvrtc, const char *arch, bool ptx)
{
	struct image image = { .arch = arch, .ptx = ptx };
	struct text text;
	text_init(&text, model->build);
	template_render(model_templates(model), "cuda/limits.jinja", value_dict(model->build->arena), &text);
	text_addc(&text, '\n');
	const char *made = arena_copy(model->build->arena, text.at, text.count);
	text_release(&text);
	nvrtc_compile(model->build, nvrtc, made, "limits.cu", &image, 1, 1);
	return image.bytes;
}

struct device_limits device_limits_measure(
        struct model *model, struct cuda *cuda, const struct nvrtc *nvrtc, const char *arch, bool ptx)
{
	const struct cuda_facts facts = cuda_facts(cuda);
	struct limits_run run = { .cuda = cuda, .blocks = (unsigned)facts.processors * BLOCKS_A_PROCESSOR };
	const int64_t near = facts.l2_bytes / 2, far = 4 * facts.l2_bytes, threads = (int64_t)run.blocks * THREADS;
	const size_t most = (size_t)(far / 2 + (int64_t)QUAD * COPIES * threads);
	static const float factors[] = { 0.5f, 0.25f };
	struct device_limits limits = { 0 };
	run.module = cuda_load(cuda, image_of(model, nvrtc, arch, ptx));
	FOR (i, COUNT(run.events))
		run.events[i] = cuda_event(cuda);
	run.to = cuda_memory(cuda, most);
	run.from = cuda_memory(cuda, most);
	run.rounds = cuda_memory(cuda, 2 * sizeof(int64_t));
	cuda_upload(cuda, run.from, factors, sizeof factors);
	limits.launch = best_of(&run, "limit_empty", cuda_kernel(cuda, run.module, "limit_empty", 0), 1, NULL);
	limits.fma = rate_of(&run, "limit_fma", 0) * (double)(threads * SUMS);
	if (cuda_capability(cuda) >= MMA_FROM)
		limits.mma = rate_of(&run, "limit_mma", 0) * (double)(threads / 32 * PRODUCTS * PRODUCT);
	limits.near_bytes = near;
	limits.near = copy_rate(&run, near);
	limits.far = copy_rate(&run, far);
	return limits;
}
