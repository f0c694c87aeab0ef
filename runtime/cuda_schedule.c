/* cuda_schedule.c: a schedule -> calls of NVIDIA's driver, step by step, or, of one that was seen before, one graph of
 * the driver's. */
#include "common/alone.h"
#if INGOT_THREADS
#include "cuda_inside.h"

/* ---- step by step ---- */

/* Where an argument is by these rounds: of the loops around it, and, of what comes out of one, of that. */
static void *moved(void *at, const struct ingot_module_move *move, const int64_t *rounds)
{
	int64_t bytes = move->from;
	for (uint32_t d = 0; d < INGOT_LOOPS_DEEP; d++)
		bytes += move->step[d] * rounds[d] + (rounds[d] & 1 ? move->flip[d] : 0);
	return (void *)((uintptr_t)at + (uintptr_t)bytes);
}

/* The rounds so far of the loops around a step, and of those that have ended at a depth. */
struct going {
	int64_t rounds[INGOT_LOOPS_DEEP];
	uint32_t depth;
};

/* Whether another round comes: the host waits for the byte. */
static enum ingot_status comes(const struct cuda_queue *queue, const struct ingot_issue *step,
        const struct going *going, bool *another, char *text)
{
	unsigned char byte = 1;
	enum ingot_status status = INGOT_OK;
	*another = (uint64_t)going->rounds[going->depth - 1] < step->bytes;
	if (!*another || !step->to)
		return status;
	void *at = step->moves ? moved(step->arguments[0], step->moves[0], going->rounds) : step->arguments[0];
	status = CALL(queue->device, text, cuMemcpyDtoHAsync_v2, &byte, (uintptr_t)at, 1, queue->stream);
	enum ingot_status waited = CALL(queue->device, text, cuStreamSynchronize, queue->stream);
	*another = byte != 0;
	return status ? status : waited;
}

static enum ingot_status issue_kernel(struct cuda_queue *queue, void *module, const struct ingot_issue *step,
        const struct going *going, int *code, char *text)
{
	void *arguments[CUDA_ARGUMENTS_MOST];
	if (!step->moves || step->kernel->argument_count > CUDA_ARGUMENTS_MOST)
		return ingot_backend_cuda.launch(
		        queue, module, step->kernel, step->groups, step->threads, step->arguments, code, text);
	for (uint32_t i = 0; i < step->kernel->argument_count; i++)
		arguments[i] = moved(step->arguments[i], step->moves[i], going->rounds);
	return ingot_backend_cuda.launch(
	        queue, module, step->kernel, step->groups, step->threads, arguments, code, text);
}

/* Of one lane: each step behind the one before, in the stream of the queue. */
static enum ingot_status issue_steps(
        struct cuda_queue *queue, void *module, const struct ingot_schedule *schedule, char *text)
{
	struct going going = { .rounds = { 0 }, .depth = 0 };
	enum ingot_status status = INGOT_OK;
	for (uint32_t i = 0; i < schedule->count && !status; i++) {
		const struct ingot_issue *step = schedule->steps + i;
		bool another;
		switch (step->kind) {
		case INGOT_STEP_KERNEL: status = issue_kernel(queue, module, step, &going, schedule->code, text); break;
		case INGOT_STEP_HOST:
			if (!*schedule->code)
				status = ingot_backend_cuda.call(
				        queue, step->host, schedule->call, schedule->code, text);
			break;
		case INGOT_STEP_COPY:
			if (step->bytes && (step->to != step->from || step->to_offset != step->from_offset))
				status = ingot_backend_cuda.copy(queue, step->to, step->to_offset, step->from,
				        step->from_offset, step->bytes, text);
			break;
		case INGOT_STEP_CLEAR:
			if (step->bytes)
				status =
				        ingot_backend_cuda.fill(queue, step->to, step->to_offset, 0, step->bytes, text);
			break;
		case INGOT_STEP_CHECK:
			status = ingot_backend_cuda.copy_out(
			        queue, schedule->checks + step->check, step->to, step->to_offset, 1, text);
			break;
		case INGOT_STEP_LOOP:
			going.rounds[going.depth++] = 0;
			status = comes(queue, step, &going, &another, text);
			if (!another) {
				going.depth--;
				i = step->other;
			}
			break;
		case INGOT_STEP_ROUND:
			going.rounds[going.depth - 1]++;
			status = comes(queue, step, &going, &another, text);
			if (another)
				i = step->other;
			else
				going.depth--;
			break;
		default: break; /* WAIT: of one lane nothing */
		}
	}
	return status;
}

/* ---- graphs ---- */

/* The steps as a graph: of a stream that no queue knows, as other threads record events in those.  *graph NULL and
 * INGOT_OK: the driver makes none of these. */
static enum ingot_status capture(const struct cuda_queue *queue, struct cuda_module *module,
        const struct ingot_schedule *schedule, void **graph, char *text)
{
	struct cuda_device *device = queue->device;
	const struct functions *call = &device->cuda->call;
	enum ingot_status status = module->capturing
	        ? INGOT_OK
	        : CALL(device, text, cuStreamCreate, &module->capturing, CUDA_NON_BLOCKING);
	struct cuda_queue beside = { .device = device, .stream = module->capturing };
	*graph = NULL;
	if (status || (status = CALL(device, text, cuStreamBeginCapture_v2, module->capturing, CUDA_CAPTURE_THREAD)))
		return status;
	status = issue_steps(&beside, module, schedule, text);
	int code = call->cuStreamEndCapture(module->capturing, graph);
	if (code >= CUDA_CAPTURE_FIRST && code <= CUDA_CAPTURE_LAST)
		return INGOT_OK;
	if (!status)
		status = cuda_answer(device, code, "cuStreamEndCapture", text);
	if (code
	        && call->cuStreamEndCapture(module->capturing,
	                graph)) /* a driver that failed before it ended: the next capture needs the stream */
		*graph = NULL;
	if (status && *graph)
		call->cuGraphDestroy(*graph);
	return status;
}

/* The oldest of the same shape takes the new addresses, where the driver can; else it is made anew. */
static enum ingot_status make_graph(const struct cuda_queue *queue, struct cuda_module *module,
        const struct ingot_schedule *schedule, struct recorded *one, char *text)
{
	const struct functions *call = &queue->device->cuda->call;
	void *graph, *why[4];
	enum ingot_status status = capture(queue, module, schedule, &graph, text);
	if (status)
		return status;
	if (!graph) {
		module->one_by_one = true;
		return INGOT_OK;
	}
	if (one->made && (!call->cuGraphExecUpdate_v2 || call->cuGraphExecUpdate_v2(one->made, graph, why))) {
		call->cuGraphExecDestroy(one->made);
		one->made = NULL;
	}
	if (!one->made && (status = CALL(queue->device, text, cuGraphInstantiateWithFlags, &one->made, graph, 0)))
		one->made = NULL;
	call->cuGraphDestroy(graph);
	return status;
}

/* Seen for the first time the steps go one by one, as many are run once; from the second time on they are a graph.
 * Moved addresses update the oldest of eight. */
static enum ingot_status recall(const struct cuda_queue *queue, struct cuda_module *module,
        const struct ingot_schedule *schedule, struct recorded **found, char *text)
{
	enum ingot_status status = INGOT_OK;
	bool same;
	if (module->one_by_one || !records_read(&module->graphs, schedule->steps, schedule->count))
		return status;
	struct recorded *one = records_find(&module->graphs);
	if (!one) {
		one = records_oldest(&module->graphs, &same);
		if (!same && one->made) {
			queue->device->cuda->call.cuGraphExecDestroy(one->made);
			one->made = NULL;
		}
		if (!records_keep(&module->graphs, one)) {
			one->turn = 0;
			return status;
		}
		if (one->made)
			status = make_graph(queue, module, schedule, one, text);
	} else if (!one->made)
		status = make_graph(queue, module, schedule, one, text);
	one->number = schedule->number;
	if (status)
		one->turn = 0; /* its graph, if it has one, is of other addresses */
	*found = one;
	return status;
}

/* One whose number is known is not even read. */
static enum ingot_status replay(struct cuda_queue *queue, struct cuda_module *module,
        const struct ingot_schedule *schedule, bool *launched, char *text)
{
	struct recorded *one = records_numbered(&module->graphs, schedule->number);
	enum ingot_status status = one && one->made ? INGOT_OK : recall(queue, module, schedule, &one, text);
	if (status || !one || !one->made)
		return status;
	*launched = true;
	return CALL(queue->device, text, cuGraphLaunch, one->made, queue->stream);
}

enum ingot_status cuda_schedule(void *raw, void *loaded, const struct ingot_schedule *schedule, char *text)
{
	const struct cuda_queue *queue = raw;
	struct cuda_module *module = loaded;
	bool launched = false;
	enum ingot_status status = INGOT_OK;
	if (schedule->count > 1 && module && !queue->device->cuda->wait_for_kernels) {
		pthread_mutex_lock(&module->lock);
		status = replay(raw, module, schedule, &launched, text);
		pthread_mutex_unlock(&module->lock);
	}
	return status || launched ? status : issue_steps(raw, module, schedule, text);
}

void cuda_graphs_release(struct cuda_device *device, struct cuda_module *module)
{
	for (int i = 0; i < RECORDED_MOST; i++)
		if (module->graphs.at[i].made)
			device->cuda->call.cuGraphExecDestroy(module->graphs.at[i].made);
	if (module->capturing)
		device->cuda->call.cuStreamDestroy_v2(module->capturing);
}
#endif
