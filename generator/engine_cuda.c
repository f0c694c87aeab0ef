/* engine_cuda.c: a model on a GPU: its .cu text through NVRTC, in memory, and NVIDIA's driver.  No C compiler, no
 * folder, and never another engine in its stead. */
#include "engine.h"
#include "emit/contraction.h"
#include "emit/package.h"
#include "loops/loops.h"
#include "backends/backends.h"
#include <stdlib.h>

enum { ARGUMENTS_MOST = 256, DEVICE_ALIGN = 256, SETS_MOST = 1024, GRAPH_KERNELS_MOST = 1 << 16 };
/* A tensor, or the workspace: one for each set, `bytes` apart. */
struct array {
	uint64_t at;
	int64_t bytes;
};
struct gpu {
	struct cuda *cuda;
	struct cuda_facts facts;
	const struct nvrtc *nvrtc;
	const char *arch;
	bool ptx;
	struct launch_list launches;
	void **kernels;
	uint64_t weights;
	struct array workspace, *inputs, *outputs;
	/* Of inputs, outputs and workspace.  For bench as many as together are more than L2 holds, so that each call
	 * finds its own in memory; else 1. */
	int sets, set; /* how many; the current one */
	int64_t set_bytes;
	bool filled;   /* all sets have inputs */
	bool waits;    /* for each kernel, so that one that fails is named: in run and check, and in the first call of
	                  bench */
	uint8_t *held; /* of each check */
	void **graphs; /* of each set; NULL: not yet */
	void **events; /* around each kernel, and one behind the last; NULL: not yet */
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
	const struct nvrtc *nvrtc = gpu->nvrtc = nvrtc_find(build, NULL);
	struct image image = { 0 };
	struct emit emit = {
		.build = build, .arena = build->arena, .templates = model_templates(model), .name = model->name
	};
	struct package package = { .part_count = 1, .name = model->name, .threads = 1, .options = "loaded", .jobs = 1 };
	struct part part;
	const struct placing_options placing = { .refused = &model->refused };
	if (!nvrtc)
		fail(build, EXIT_ENVIRONMENT, NULL, NVRTC_LACKS);
	image.arch = model->options->arch;
	if (image.arch)
		nvrtc_check(build, nvrtc, image.arch);
	else
		image.arch = nvrtc_arch(build, nvrtc, cuda_capability(gpu->cuda), &image.ptx);
	gpu->arch = image.arch;
	gpu->ptx = image.ptx;
	emit.target = target_for_gpu(build->arena, image.arch);
	do {
		model->lowered = lower(model->program, emit.target, model->options->optimise, &placing, loops_finish);
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
	FOR_EACH_AT (const struct constant_item *item, model->lowered->constants) {
		uint64_t at = gpu->weights + (uint64_t)scheduled(item->of)->offset;
		size_t bytes;
		void *made;
		for (int64_t piece = 0; (made = constant_piece(model->build, item, piece, &bytes));
		        piece++, at += bytes) {
			cuda_upload(gpu->cuda, at, made, bytes);
			free(made);
		}
	}
}

static int64_t rounded(int64_t bytes) { return (bytes + DEVICE_ALIGN - 1) / DEVICE_ALIGN * DEVICE_ALIGN; }

/* Past the end of one set's lies, where there is one alone, nobody's memory. */
static struct array array_of(struct gpu *gpu, int64_t bytes)
{
	int64_t apart = rounded(bytes);
	return (struct array){ cuda_memory(gpu->cuda, (size_t)((gpu->sets - 1) * apart + bytes)), apart };
}

static struct array *arrays_of(struct gpu *gpu, struct model *model, struct definition *const *all, size_t count)
{
	struct array *arrays = arena_new_array(model->build->arena, struct array, count + 1);
	FOR (i, count)
		arrays[i] = array_of(gpu, scheduled(all[i])->bytes);
	return arrays;
}

static uint64_t array_at(const struct gpu *gpu, const struct array *array)
{
	return array->at + (uint64_t)(gpu->set * array->bytes);
}

/* Sets by turns: when one comes again, more than L2 holds has been touched since. */
static void choose_sets(struct engine *engine)
{
	struct gpu *gpu = engine->state;
	const struct lowered *lowered = engine->model->lowered;
	const struct program *program = lowered->program;
	int64_t bytes = rounded(lowered->workspace_bytes),
	        most = GRAPH_KERNELS_MOST / ((int64_t)gpu->launches.rows.count + 1);
	FOR_ALL (i, program->inputs)
		bytes += rounded(scheduled(program->inputs.at[i])->bytes);
	FOR_ALL (i, program->outputs)
		bytes += rounded(scheduled(program->outputs.at[i])->bytes);
	int64_t sets = engine->model->options->profile ? gpu->facts.l2_bytes / (bytes + 1) + 2 : 1;
	sets = sets > SETS_MOST ? SETS_MOST : sets;
	sets = sets > most ? most : sets;
	gpu->sets = sets < 1 ? 1 : (int)sets;
	gpu->set_bytes = bytes;
}

static void gpu_load(struct engine *engine)
{
	struct model *model = engine->model;
	struct gpu *gpu = engine->state;
	const char *image = compile(engine);
	const struct program *program = model->lowered->program;
	gpu->kernels = arena_new_array(model->build->arena, void *, gpu->launches.rows.count + 1);
	cuda_enter(gpu->cuda);
	gpu->facts = cuda_facts(gpu->cuda);
	choose_sets(engine);
	void *module = cuda_load(gpu->cuda, image);
	FOR_ALL (k, gpu->launches.rows)
		gpu->kernels[k] = gpu->launches.rows.at[k].symbol ? cuda_kernel(gpu->cuda, module,
		                          gpu->launches.rows.at[k].symbol, (unsigned)gpu->launches.rows.at[k].shared)
		                                                  : NULL;
	upload_weights(engine);
	gpu->workspace = array_of(gpu, model->lowered->workspace_bytes);
	gpu->inputs = arrays_of(gpu, model, program->inputs.at, program->inputs.count);
	gpu->outputs = arrays_of(gpu, model, program->outputs.at, program->outputs.count);
	gpu->held = arena_new_array(model->build->arena, uint8_t, program->checks.count + 1);
	cuda_sync(gpu->cuda);
	cuda_leave(gpu->cuda);
}

static void gpu_open(struct engine *engine)
{
	struct model *model = engine->model;
	struct build *build = model->build;
	struct gpu *gpu = arena_new(build->arena, struct gpu);
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
	uint64_t at = place.kind == PLACE_WEIGHTS ? gpu->weights + (uint64_t)place.at
	        : place.kind == PLACE_WORKSPACE
	        ? array_at(gpu, &gpu->workspace) + (uint64_t)place.at
	        : array_at(gpu, place.kind == PLACE_INPUT ? &gpu->inputs[place.at] : &gpu->outputs[place.at]);
	at += (uint64_t)a->from;
	FOR (d, gpu->launches.depth)
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
	struct {
		_Alignas(64) char bytes[128];
	} maps[BOXES_MOST], *map = maps;
	if (one->count > ARGUMENTS_MOST)
		fail(engine->model->build, EXIT_LIMIT, one->symbol, "%d arguments, %d at most", one->count,
		        ARGUMENTS_MOST);
	FOR (i, one->count) {
		values[i] = address(gpu, &one->arguments[i], rounds);
		pointers[i] = &values[i];
		const struct launch_box *box = one->arguments[i].box;
		if (box) {
			cuda_map(gpu->cuda, map, values[i] + 4 * (uint64_t)box->lies.at, box->lies.extent,
			        4 * box->lies.pitch, box->size);
			pointers[i] = map++;
		}
	}
	cuda_launch(gpu->cuda, gpu->kernels[k], one->symbol, (unsigned)one->blocks, (unsigned)one->warps,
	        (unsigned)one->shared, pointers);
	if (gpu->waits)
		cuda_finish(gpu->cuda, one->symbol);
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

static void upload_inputs(struct engine *engine, const void *const *inputs)
{
	struct gpu *gpu = engine->state;
	const struct program *program = engine->model->lowered->program;
	FOR_ALL (i, program->inputs)
		cuda_upload(gpu->cuda, array_at(gpu, &gpu->inputs[i]), inputs[i],
		        (size_t)scheduled(program->inputs.at[i])->bytes);
}

static void next_set(struct gpu *gpu) { gpu->set = (gpu->set + 1) % gpu->sets; }

static void gpu_run(struct engine *engine, const void *const *inputs, void *const *outputs)
{
	struct gpu *gpu = engine->state;
	const struct program *program = engine->model->lowered->program;
	cuda_enter(gpu->cuda);
	for (int i = 1; !gpu->filled && i < gpu->sets; i++) {
		next_set(gpu);
		upload_inputs(engine, inputs);
	}
	next_set(gpu);
	gpu->waits = !gpu->filled || !engine->model->options->profile;
	gpu->filled = true;
	upload_inputs(engine, inputs);
	launch_all(engine, NULL);
	FOR_ALL (i, program->outputs)
		cuda_download(gpu->cuda, outputs[i], array_at(gpu, &gpu->outputs[i]),
		        (size_t)scheduled(program->outputs.at[i])->bytes);
	FOR_ALL (i, program->checks)
		cuda_download(gpu->cuda, gpu->held + i,
		        array_at(gpu, &gpu->workspace) + (uint64_t)scheduled(program->checks.at[i])->offset, 1);
	cuda_sync(gpu->cuda);
	gpu->waits = false;
	cuda_leave(gpu->cuda);
	FOR_ALL (i, program->checks)
		if (!gpu->held[i])
			check_fail(program, program->checks.at[i], NULL);
}

/* Of each set, as addresses are part of it. */
static void capture(struct engine *engine)
{
	struct gpu *gpu = engine->state;
	gpu->graphs = arena_new_array(engine->model->build->arena, void *, (size_t)gpu->sets);
	for (int i = 0; i < gpu->sets; i++, next_set(gpu)) {
		cuda_capture(gpu->cuda);
		launch_all(engine, NULL);
		gpu->graphs[gpu->set] = cuda_captured(gpu->cuda);
	}
}

static void gpu_again(struct engine *engine, bool graph)
{
	struct gpu *gpu = engine->state;
	graph &= gpu->launches.captured;
	cuda_enter(gpu->cuda);
	if (graph && !gpu->graphs)
		capture(engine);
	if (graph)
		cuda_replay(gpu->cuda, gpu->graphs[gpu->set]);
	else
		launch_all(engine, NULL);
	cuda_sync(gpu->cuda);
	next_set(gpu);
	cuda_leave(gpu->cuda);
}

/* What the driver's queue holds is there before the first kernel ends; two events with nothing between them say what an
 * event itself takes. */
static void gpu_times(struct engine *engine, double *kernels)
{
	struct gpu *gpu = engine->state;
	int count = (int)engine->model->lowered->kernels.count;
	cuda_enter(gpu->cuda);
	if (!gpu->events) {
		gpu->events = arena_new_array(engine->model->build->arena, void *, (size_t)count + 2);
		FOR (k, count + 2)
			gpu->events[k] = cuda_event(gpu->cuda);
	}
	cuda_record(gpu->cuda, gpu->events[0]);
	launch_all(engine, gpu->events);
	cuda_record(gpu->cuda, gpu->events[count + 1]);
	cuda_sync(gpu->cuda);
	double event = cuda_elapsed(gpu->cuda, gpu->events[count], gpu->events[count + 1]);
	FOR (k, count)
		kernels[k] = cuda_elapsed(gpu->cuda, gpu->events[k], gpu->events[k + 1]) - event;
	next_set(gpu);
	cuda_leave(gpu->cuda);
}

static struct device_turns gpu_limits(struct engine *engine, struct device_limits *limits)
{
	struct gpu *gpu = engine->state;
	cuda_enter(gpu->cuda);
	*limits = device_limits_measure(engine->model, gpu->cuda, gpu->nvrtc, gpu->arch, gpu->ptx);
	cuda_leave(gpu->cuda);
	return (struct device_turns){ gpu->facts.name, gpu->sets, gpu->set_bytes, gpu->facts.l2_bytes };
}

const struct engine_kind engine_cuda = { .name = "cuda",
	.open = gpu_open,
	.run = gpu_run,
	.close = gpu_close,
	.again = gpu_again,
	.times = gpu_times,
	.limits = gpu_limits };
