/* engine_cuda.c: a model on a GPU: its .cu text through NVRTC, in memory, and NVIDIA's driver.  No C compiler, no folder, and never another engine in its stead. */
#include "engine.h"
#include "emit/package.h"
#include "backends/backends.h"
#include <stdlib.h>

enum { ARGUMENTS_MOST = 256 };
struct gpu {
	struct cuda *cuda;
	struct launch_list launches;
	void **kernels;
	uint64_t weights, workspace, *inputs, *outputs;
	uint8_t *held;                    /* of each check */
	bool captured;                    /* its kernels are a graph */
	void **events;                    /* around each kernel, and one behind the last; NULL: not yet */
};

static void gpu_close(struct engine *engine)
{
	struct gpu *gpu = engine->state;
	if (gpu)
		cuda_close(gpu->cuda);
	engine->state = NULL;
}

/* Kernels, and their code for this GPU's own architecture; where NVRTC does not know that yet, PTX. */
static const char *compile(struct engine *engine)
{
	struct model *model = engine->model;
	struct build *build = model->build;
	struct gpu *gpu = engine->state;
	struct nvrtc *nvrtc = nvrtc_find(build, NULL);
	struct image image = { 0 };
	struct emit emit = { .build = build, .arena = build->arena, .templates = model_templates(model), .name = model->name };
	struct package package = { .part_count = 1, .name = model->name, .threads = 1, .options = "loaded", .jobs = 1 };
	struct part part;
	const struct placing_options placing = { .refused = &model->refused };
	if (!nvrtc)
		fail(build, EXIT_ENVIRONMENT, NULL, NVRTC_LACKS);
	image.arch = nvrtc_arch(build, nvrtc, cuda_capability(gpu->cuda), &image.ptx);
	emit.target = target_for_gpu(build->arena, image.arch);
	do {
		model->lowered = lower(model->program, emit.target, model->options->optimise, &placing);
		part = model_part(model);
		package.parts = &part;
	} while (package_images(&emit, &package, nvrtc, &image, 1, &model->refused));
	gpu->launches = package_cuda_launches(&emit, &package);
	return image.bytes;
}

static void upload_weights(struct engine *engine)
{
	struct model *model = engine->model;
	struct gpu *gpu = engine->state;
	gpu->weights = cuda_memory(gpu->cuda, (size_t)model->lowered->weights_bytes);
	for (size_t i = 0; i < model->lowered->constants.count; i++) {
		const struct constant_item *item = &model->lowered->constants.at[i];
		uint64_t at = gpu->weights + (uint64_t)placed(item->of)->offset;
		size_t bytes;
		void *made;
		for (int64_t piece = 0; (made = constant_piece(model->build, item, piece, &bytes)); piece++, at += bytes) {
			cuda_upload(gpu->cuda, at, made, bytes);
			free(made);
		}
	}
}

static uint64_t *arrays_of(struct gpu *gpu, struct model *model, struct definition *const *all, size_t count)
{
	uint64_t *at = new_array(model->build->arena, uint64_t, count + 1);
	for (size_t i = 0; i < count; i++)
		at[i] = cuda_memory(gpu->cuda, (size_t)placed(all[i])->bytes);
	return at;
}

static void gpu_load(struct engine *engine)
{
	struct model *model = engine->model;
	struct gpu *gpu = engine->state;
	const char *image = compile(engine);
	const struct program *program = model->lowered->program;
	gpu->kernels = new_array(model->build->arena, void *, gpu->launches.rows.count + 1);
	cuda_enter(gpu->cuda);
	cuda_load(gpu->cuda, image);
	for (size_t k = 0; k < gpu->launches.rows.count; k++)
		gpu->kernels[k] = gpu->launches.rows.at[k].symbol ? cuda_kernel(gpu->cuda, gpu->launches.rows.at[k].symbol) : NULL;
	upload_weights(engine);
	gpu->workspace = cuda_memory(gpu->cuda, (size_t)model->lowered->workspace_bytes);
	gpu->inputs = arrays_of(gpu, model, program->inputs.at, program->inputs.count);
	gpu->outputs = arrays_of(gpu, model, program->outputs.at, program->outputs.count);
	gpu->held = new_array(model->build->arena, uint8_t, program->checks.count + 1);
	cuda_sync(gpu->cuda);
	cuda_leave(gpu->cuda);
}

static void gpu_open(struct engine *engine)
{
	struct model *model = engine->model;
	struct build *build = model->build;
	struct gpu *gpu = new(build->arena, struct gpu);
	jmp_buf *out = build->out, mine;
	gpu->cuda = cuda_open(build, 0);
	engine->state = gpu;
	build->out = &mine;
	if (setjmp(mine) == 0)
		gpu_load(engine);
	build->out = out;
	if (build->code) {
		gpu_close(engine);
		longjmp(*out, 1);
	}
}

static uint64_t address(const struct gpu *gpu, const struct launch_argument *a, const int64_t *rounds)
{
	struct place place = a->place;
	uint64_t at = place.kind == PLACE_WEIGHTS ? gpu->weights + (uint64_t)place.at : place.kind == PLACE_WORKSPACE ? gpu->workspace + (uint64_t)place.at
		: place.kind == PLACE_INPUT ? gpu->inputs[place.at] : gpu->outputs[place.at];
	at += (uint64_t)a->from;
	for (int d = 0; d < gpu->launches.depth; d++)
		at += (uint64_t)(a->step[d] * rounds[d] + (rounds[d] & 1 ? a->flip[d] : 0));
	return at;
}

/* Whether another round of the row's loop comes. */
static bool comes(const struct gpu *gpu, const struct launch *row, int64_t *rounds)
{
	uint8_t going = 1;
	int d = row->loop > 0 ? row->loop - 1 : -row->loop - 1;
	rounds[d] = row->loop > 0 ? 0 : rounds[d] + 1;
	if (rounds[d] < row->rounds && row->count) {
		cuda_download(gpu->cuda, &going, address(gpu, row->arguments, rounds), 1);
		cuda_sync(gpu->cuda);
	}
	return going && rounds[d] < row->rounds;
}

static void launch(struct engine *engine, size_t k, const int64_t *rounds)
{
	struct gpu *gpu = engine->state;
	const struct launch *one = &gpu->launches.rows.at[k];
	uint64_t values[ARGUMENTS_MOST];
	void *pointers[ARGUMENTS_MOST];
	if (one->count > ARGUMENTS_MOST)
		fail(engine->model->build, EXIT_LIMIT, one->symbol, "%d arguments, %d at most", one->count, ARGUMENTS_MOST);
	for (int i = 0; i < one->count; i++) {
		values[i] = address(gpu, &one->arguments[i], rounds);
		pointers[i] = &values[i];
	}
	cuda_launch(gpu->cuda, gpu->kernels[k], one->symbol, (unsigned)one->blocks, (unsigned)one->warps, pointers);
}

/* events: one is recorded behind each kernel, from the second on; NULL: none. */
static void launch_all(struct engine *engine, void *const *events)
{
	const struct gpu *gpu = engine->state;
	const struct launch_list *list = &gpu->launches;
	int64_t rounds[LOOPS_DEEP] = { 0 };
	for (size_t k = 0; k < list->rows.count; k++) {
		const struct launch *row = &list->rows.at[k];
		if (!row->loop)
			launch(engine, k, rounds);
		else if (comes(gpu, row, rounds) != (row->loop > 0))
			k = (size_t)row->other;
		if (events && (k + 1 == list->rows.count || list->rows.at[k + 1].number != row->number))
			cuda_record(gpu->cuda, events[row->number + 1]);
	}
}

static void gpu_run(struct engine *engine, const void *const *inputs, void *const *outputs)
{
	struct gpu *gpu = engine->state;
	const struct program *program = engine->model->lowered->program;
	cuda_enter(gpu->cuda);
	for (size_t i = 0; i < program->inputs.count; i++)
		cuda_upload(gpu->cuda, gpu->inputs[i], inputs[i], (size_t)placed(program->inputs.at[i])->bytes);
	launch_all(engine, NULL);
	for (size_t i = 0; i < program->outputs.count; i++)
		cuda_download(gpu->cuda, outputs[i], gpu->outputs[i], (size_t)placed(program->outputs.at[i])->bytes);
	for (size_t i = 0; i < program->checks.count; i++)
		cuda_download(gpu->cuda, gpu->held + i, gpu->workspace + (uint64_t)placed(program->checks.at[i])->offset, 1);
	cuda_sync(gpu->cuda);
	cuda_leave(gpu->cuda);
	for (size_t i = 0; i < program->checks.count; i++)
		if (!gpu->held[i])
			check_fail(program, program->checks.at[i], NULL);
}

static void gpu_again(struct engine *engine, bool graph)
{
	struct gpu *gpu = engine->state;
	graph &= gpu->launches.captured;
	cuda_enter(gpu->cuda);
	if (graph && !gpu->captured) {
		cuda_capture(gpu->cuda);
		launch_all(engine, NULL);
		cuda_captured(gpu->cuda);
		gpu->captured = true;
	}
	if (graph)
		cuda_replay(gpu->cuda);
	else
		launch_all(engine, NULL);
	cuda_sync(gpu->cuda);
	cuda_leave(gpu->cuda);
}

/* What the driver's queue holds is there before the first kernel ends; two events with nothing between them say what an event itself takes. */
static void gpu_times(struct engine *engine, double *kernels)
{
	struct gpu *gpu = engine->state;
	int count = (int)engine->model->lowered->kernels.count;
	cuda_enter(gpu->cuda);
	if (!gpu->events) {
		gpu->events = new_array(engine->model->build->arena, void *, (size_t)count + 2);
		for (int k = 0; k < count + 2; k++)
			gpu->events[k] = cuda_event(gpu->cuda);
	}
	cuda_record(gpu->cuda, gpu->events[0]);
	launch_all(engine, gpu->events);
	cuda_record(gpu->cuda, gpu->events[count + 1]);
	cuda_sync(gpu->cuda);
	double event = cuda_elapsed(gpu->cuda, gpu->events[count], gpu->events[count + 1]);
	for (int k = 0; k < count; k++)
		kernels[k] = cuda_elapsed(gpu->cuda, gpu->events[k], gpu->events[k + 1]) - event;
	cuda_leave(gpu->cuda);
}

const struct engine_kind engine_cuda = { .name = "cuda", .open = gpu_open, .run = gpu_run, .close = gpu_close, .again = gpu_again, .times = gpu_times };
