/* streams.c: streams, events, captures and graphs. */
#include <stdlib.h>
#include <string.h>
#include "driver.h"

/* ---- streams ---- */
EXPORT int cuStreamCreate(void **handle, unsigned flags)
{
	BEGIN(true);
	int i = 0;
	while (i < STREAMS_MOST && streams[i])
		i++;
	if (i == STREAMS_MOST || flags > 1)
		return end(i == STREAMS_MOST ? OUT_OF_MEMORY : INVALID_VALUE);
	streams[i] = calloc(1, sizeof *streams[i]);
	streams[i]->magic = STREAM;
	streams[i]->device = (int)(current[depth - 1] - devices);
	streams[i]->blocking = !flags;
	streams[i]->last = &streams[i]->first;
	*handle = streams[i];
	return end(OK);
}

EXPORT int cuStreamDestroy_v2(void *stream)
{
	BEGIN(true);
	if (!is_stream(&stream))
		return end(INVALID_HANDLE);
	wait_for(stream);
	for (int i = 0; i < STREAMS_MOST; i++)
		if (streams[i] == stream)
			streams[i] = NULL;
	free(stream);
	return end(OK);
}

EXPORT int cuStreamSynchronize(void *stream)
{
	BEGIN(true);
	if (!is_stream(&stream))
		return end(INVALID_HANDLE);
	if (uncaptured(__func__, stream))
		return end(CAPTURE_UNSUPPORTED);
	wait_for(stream);
	return end(sick);
}

/* ---- events ---- */
static bool is_event(struct event *event)
{
	if (event && event->magic == EVENT)
		return true;
	complain("%p is no event", (void *)event);
	return false;
}

EXPORT int cuEventCreate(void **handle, unsigned flags)
{
	BEGIN(true);
	if (flags & ~3u)
		return end(INVALID_VALUE);
	struct event *event = calloc(1, sizeof *event);
	event->magic = EVENT;
	event->timed = !(flags & 2);
	events++;
	*handle = event;
	return end(OK);
}

EXPORT int cuEventDestroy_v2(void *handle)
{
	BEGIN(true);
	struct event *event = handle;
	if (!is_event(event))
		return end(INVALID_HANDLE);
	event->magic = GONE; /* what is queued goes on */
	event_free(event);
	events--;
	return end(OK);
}

EXPORT int cuEventQuery(void *handle)
{
	BEGIN(true);
	struct event *event = handle;
	if (is_event(event) && event->executed < event->issued) {
		asked = true;
		pthread_cond_broadcast(&changed);
	}
	return end(!is_event(event)                       ? INVALID_HANDLE
	                : event->capture                  ? CAPTURED_EVENT
	                : event->executed < event->issued ? NOT_READY
	                                                  : OK);
}

static struct graph *capture_of(long number)
{
	for (int i = 0; i < STREAMS_MOST; i++)
		if (streams[i] && streams[i]->graph && streams[i]->graph->capture == number)
			return streams[i]->graph;
	return NULL;
}

/* A stream that waits for what a captured one recorded is captured with it; what it waits for is before all that it is
 * given from now on. */
static int wait_captured(struct stream *stream, const struct event *event)
{
	struct graph *graph = event->capture ? capture_of(event->capture) : NULL;
	int code = !graph                                        ? (event->capture ? CAPTURED_EVENT : CAPTURE_ISOLATION)
	        : stream->graph && stream->graph != graph        ? CAPTURE_MERGE
	        : !stream->graph && graph->members == FORKS_MOST ? OUT_OF_MEMORY
	                                                         : OK;
	if (code) {
		complain("cuStreamWaitEvent: a wait of one capture for what is not of it (%d)", code);
		if (stream->graph)
			stream->graph->broken = true;
		if (graph)
			graph->broken = true;
		return code;
	}
	if (!stream->graph) {
		stream->graph = graph;
		stream->member = graph->members++;
		stream->before = event->before;
		stream->before.done[stream->member] =
		        ++graph->all.done[stream->member]; /* to be joined even if it does nothing */
	}
	for (int i = 0; i < graph->members; i++)
		if (stream->before.done[i] < event->before.done[i])
			stream->before.done[i] = event->before.done[i];
	return OK;
}

EXPORT int cuStreamWaitEvent(void *stream, void *handle, unsigned flags)
{
	BEGIN(true);
	struct event *event = handle;
	if (!is_stream(&stream) || !is_event(event) || flags)
		return end(flags ? INVALID_VALUE : INVALID_HANDLE);
	if (((struct stream *)stream)->graph || event->capture)
		return end(wait_captured(stream, event));
	event->waited++;
	return end(enqueue(stream, (struct operation){ .kind = WAIT, .event = event, .until = event->issued }));
}

EXPORT int cuEventRecord(void *handle, void *stream)
{
	BEGIN(true);
	struct event *event = handle;
	if (!is_event(event) || !is_stream(&stream))
		return end(INVALID_HANDLE);
	const struct stream *from = stream;
	event->capture = from->graph ? from->graph->capture : 0;
	if (from->graph) {
		event->before = from->before;
		return end(OK);
	}
	event->issued++;
	return end(enqueue(stream, (struct operation){ .kind = RECORD, .event = event }));
}

EXPORT int cuEventElapsedTime(float *milliseconds, void *from, void *to)
{
	BEGIN(true);
	struct event *one = from, *other = to;
	if (!is_event(one) || !is_event(other) || !one->issued || !other->issued || !one->timed || !other->timed)
		return end(INVALID_HANDLE);
	if (one->executed < one->issued || other->executed < other->issued)
		return end(NOT_READY);
	*milliseconds = (float)(other->at - one->at);
	return end(OK);
}

/* ---- graphs ---- */
EXPORT int cuThreadExchangeStreamCaptureMode(int *mode)
{
	BEGIN(false);
	int before = capture_mode;
	if (!mode || *mode < MODE_GLOBAL || *mode > MODE_RELAXED)
		return end(INVALID_VALUE);
	capture_mode = *mode;
	*mode = before;
	return end(OK);
}

/* Which calls are unsafe the driver does not list; these are more than are known to be. */
int prohibited(const char *name)
{
	static const char *const unsafe[] = { "cuEventQuery", "cuStreamSynchronize", "cuStreamCreate",
		"cuStreamDestroy_v2", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost",
		"cuMemHostRegister_v2", "cuMemHostUnregister", "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap",
		"cuMemSetAccess", "cuMemAddressReserve", "cuMemAddressFree", "cuMemcpyHtoD_v2", "cuModuleLoadDataEx",
		"cuModuleUnload", "cuCtxEnablePeerAccess" };
	int code = OK;
	bool is_unsafe = false;
	for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++)
		is_unsafe |= !strcmp(name, unsafe[i]);
	for (int i = 0; is_unsafe && capture_mode != MODE_RELAXED && i < STREAMS_MOST; i++) {
		struct graph *graph = streams[i] && !streams[i]->member ? streams[i]->graph : NULL;
		if (!graph || graph->mode == MODE_RELAXED)
			continue;
		if (pthread_equal(graph->thread, pthread_self()) || (graph->mode == capture_mode && !capture_mode)) {
			complain("%s: unsafe while a stream is captured", name);
			graph->broken = true;
			code = CAPTURE_UNSUPPORTED;
		}
	}
	return code;
}

EXPORT int cuStreamBeginCapture_v2(void *handle, int mode)
{
	BEGIN(true);
	static long captures;
	if (!is_stream(&handle) || mode < 0 || mode > 2)
		return end(INVALID_VALUE);
	struct stream *stream = handle;
	if (uncaptured(__func__, stream))
		return end(CAPTURE_UNSUPPORTED);
	if (stream->legacy) {
		complain("cuStreamBeginCapture_v2: the NULL stream cannot be captured");
		return end(CAPTURE_UNSUPPORTED);
	}
	stream->graph = calloc(1, sizeof *stream->graph);
	stream->graph->magic = GRAPH;
	stream->graph->mode = mode;
	stream->graph->thread = pthread_self();
	stream->graph->last = &stream->graph->first;
	stream->graph->capture = ++captures;
	stream->graph->members = 1;
	stream->member = 0;
	stream->before = (struct forks){ 0 };
	graphs++;
	return end(OK);
}

static void graph_free(struct graph *graph)
{
	for (struct operation *one = graph->first, *next; one; one = next) {
		next = one->next;
		operation_free(one);
	}
	graph->magic = GONE;
	free(graph);
}

EXPORT int cuStreamEndCapture(void *handle, void **graph)
{
	BEGIN(true);
	if (!is_stream(&handle))
		return end(INVALID_HANDLE);
	struct stream *stream = handle;
	if (!stream->graph || stream->member)
		return end(CAPTURE_UNMATCHED);
	struct graph *made = stream->graph;
	wrong = made->broken ? CAPTURE_INVALIDATED : OK;
	for (int i = 0; i < made->members && !wrong; i++)
		if (stream->before.done[i] < made->all.done[i]) {
			complain("cuStreamEndCapture: a stream that was forked into the capture is not joined");
			wrong = CAPTURE_UNJOINED;
		}
	for (int i = 0; i < STREAMS_MOST; i++)
		if (streams[i] && streams[i]->graph == made)
			streams[i]->graph = NULL;
	*graph = wrong ? NULL : made;
	if (wrong) {
		graph_free(made);
		graphs--;
	}
	return end(wrong);
}

EXPORT int cuGraphInstantiateWithFlags(void **executable, void *handle, unsigned long long flags)
{
	BEGIN(true);
	struct graph *graph = handle, *made;
	if (!graph || graph->magic != GRAPH || flags)
		return end(INVALID_VALUE);
	made = calloc(1, sizeof *made);
	made->magic = EXECUTABLE;
	made->last = &made->first;
	for (struct operation *one = graph->first; one; one = one->next) {
		*made->last = malloc(sizeof *one);
		**made->last = again(one);
		made->last = &(*made->last)->next;
	}
	*made->last = NULL;
	executables++;
	counts.graphs++;
	*executable = made;
	return end(OK);
}

static int destroy(struct graph *graph, int magic, int *left)
{
	if (!graph || graph->magic != magic)
		return INVALID_VALUE;
	graph_free(graph);
	--*left;
	return OK;
}

EXPORT int cuGraphDestroy(void *graph)
{
	BEGIN(true);
	return end(destroy(graph, GRAPH, &graphs));
}

EXPORT int cuGraphUpload(void *handle, void *stream)
{
	BEGIN(true);
	struct graph *graph = handle;
	return end(!graph || graph->magic != EXECUTABLE || !is_stream(&stream) ? INVALID_VALUE : OK);
}

/* The operations of a graph in an order that is drawn of those that what was captured allows. */
static void enqueue_drawn(struct stream *stream, const struct graph *graph)
{
	struct forks done = { { 0 } };
	size_t count = 0, left;
	for (const struct operation *one = graph->first; one; one = one->next)
		count++;
	const struct operation **all = malloc((count + 1) * sizeof *all), **ready = malloc((count + 1) * sizeof *all);
	left = 0;
	for (const struct operation *one = graph->first; one; one = one->next)
		all[left++] = one;
	for (int member = 1; member < FORKS_MOST; member++)
		done.done[member] = 1; /* that it was forked */
	while (left) {
		size_t ready_count = 0, at = 0;
		for (size_t i = 0; i < left; i++) {
			bool is_ready = true;
			for (int member = 0; member < FORKS_MOST; member++)
				is_ready &= all[i]->before.done[member] <= done.done[member];
			if (is_ready)
				ready[ready_count++] = all[i];
		}
		draw = draw * 1664525u + 1013904223u;
		const struct operation *one = ready[(draw >> 8) % (unsigned)ready_count];
		enqueue(stream, again(one));
		done.done[one->member] = one->before.done[one->member] + 1;
		while (all[at] != one)
			at++;
		memmove(all + at, all + at + 1, (--left - at) * sizeof *all);
	}
	free(all);
	free(ready);
}

EXPORT int cuGraphLaunch(void *handle, void *stream)
{
	BEGIN(true);
	struct graph *graph = handle;
	if (!graph || graph->magic != EXECUTABLE || !is_stream(&stream))
		return end(INVALID_VALUE);
	if (uncaptured(__func__, stream))
		return end(CAPTURE_UNSUPPORTED);
	enqueue_drawn(stream, graph);
	counts.launches++;
	return end(OK);
}

EXPORT int cuGraphExecDestroy(void *executable)
{
	BEGIN(true);
	return end(destroy(executable, EXECUTABLE, &executables));
}

EXPORT int cuGraphExecUpdate_v2(void *executable, void *handle, void *why)
{
	BEGIN(true);
	struct graph *made = executable, *graph = handle;
	(void)why;
	if (!made || made->magic != EXECUTABLE || !graph || graph->magic != GRAPH)
		return end(INVALID_VALUE);
	struct operation *to = made->first;
	for (const struct operation *from = graph->first; from || to; from = from->next, to = to->next)
		if (!from || !to || from->kind != to->kind || from->function != to->function)
			return end(UPDATE_FAILURE);
	to = made->first;
	for (const struct operation *from = graph->first; from; from = from->next, to = to->next) {
		struct operation *next = to->next;
		free(to->values);
		*to = again(from);
		to->next = next;
	}
	counts.updates++;
	return end(OK);
}
