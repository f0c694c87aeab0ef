/* execute.c: the thread of the device: the next operation of a stream that is drawn; what is queued for it, and who
 * waits. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "driver.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The memory that an operation is given, and no other. */
static void protect(const struct operation *one, int how)
{
	if (one->kind == LAUNCH)
		for (int i = 0; i < one->function->row->parameters; i++)
			protect_at(one->values[i], how);
	else
		protect_at(one->at, how);
	if (one->kind == COPY)
		protect_at(one->from, how);
}

int values_of(const struct function *function) { return function->parameters + MAP_VALUES * function->row->maps; }

void execute(struct operation *one)
{
	if (one->kind == RECORD || one->kind == WAIT) {
		one->event->at = one->kind == RECORD ? now() : one->event->at;
		return;
	}
	if (one->kind == LAUNCH)
		for (int i = 0; i < one->function->row->parameters; i++)
			if (!allocation_of(one->values[i], 1)) {
				complain("%s: parameter %d is no device memory", one->function->name, i);
				sick = ILLEGAL_ADDRESS;
				return;
			}
	protect(one, PROT_READ | PROT_WRITE);
	if (one->kind == COPY_IN)
		memcpy((void *)(uintptr_t)one->at, one->host, one->bytes);
	else if (one->kind == COPY_OUT)
		memcpy(one->host, (const void *)(uintptr_t)one->at, one->bytes);
	else if (one->kind == COPY)
		memmove((void *)(uintptr_t)one->at, (const void *)(uintptr_t)one->from, one->bytes);
	else if (one->kind == FILL)
		memset((void *)(uintptr_t)one->at, one->byte, one->bytes);
	else {
		void *pointers[PARAMETERS_MOST];
		const struct kernel_row *row = one->function->row;
		for (int i = 0; i < row->parameters; i++)
			pointers[i] = (void *)(uintptr_t)one->values[i];
		for (int i = 0; i < row->maps; i++)
			pointers[row->parameters - row->maps + i] = &one->values[row->parameters + MAP_VALUES * i];
		const struct text *text = one->function->module->text;
		if (text->launch(one->function->name, one->function->row->thunk, pointers, one->grid, one->block,
		            one->shared)) {
			complain("%s", text->message());
			sick = LAUNCH_FAILED;
		}
	}
	protect(one, PROT_NONE);
}

void operation_free(struct operation *one)
{
	if (one->taken)
		free(one->host);
	free(one->values);
	free(one);
}

/* As another one, which a graph keeps or launches. */
struct operation again(const struct operation *one)
{
	struct operation made = *one;
	size_t bytes = one->kind == LAUNCH ? sizeof *one->values * (size_t)values_of(one->function) : 0;
	made.values = bytes ? memcpy(malloc(bytes), one->values, bytes) : NULL;
	return made;
}

void event_free(struct event *event)
{
	if (event->magic == GONE && !event->waited && event->executed == event->issued)
		free(event);
}

/* The NULL stream waits for what streams that block were given before, and they for it. */
static bool ordered(const struct stream *stream)
{
	for (int i = 0; i < STREAMS_MOST && (stream->legacy || stream->blocking); i++) {
		const struct stream *other = streams[i];
		if (other && other->first && other->device == stream->device
		        && other->first->number < stream->first->number
		        && (stream->legacy ? other->blocking : other->legacy))
			return false;
	}
	return true;
}

static bool executable(const struct stream *stream, bool late)
{
	const struct operation *one = stream ? stream->first : NULL;
	return one && !held && one->late == late && (one->kind != WAIT || one->event->executed >= one->until)
	        && ordered(stream);
}

void *work(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		int ready[STREAMS_MOST], count = 0;
		for (int late = 0; late <= (waiting || asked) && !count; late++)
			for (int i = 0; i < STREAMS_MOST; i++)
				if (executable(streams[i], late))
					ready[count++] = i;
		if (!count) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		draw = draw * 1664525u + 1013904223u;
		struct stream *stream = streams[ready[(draw >> 8) % (unsigned)count]];
		struct operation *one = stream->first;
		asked = asked && !one->late;
		if (!sick)
			execute(one);
		counts.completed++;
		counts.records_pending -= one->kind == RECORD;
		counts.waits_pending -= one->kind == WAIT;
		if (one->kind == RECORD)
			one->event->executed++;
		if (one->kind == WAIT)
			one->event->waited--;
		if (one->kind == RECORD || one->kind == WAIT)
			event_free(one->event);
		stream->first = one->next;
		if (!stream->first)
			stream->last = &stream->first;
		operation_free(one);
		pthread_cond_broadcast(&changed);
	}
	return unused;
}

static bool lives(const struct stream *stream)
{
	for (int i = 0; i < STREAMS_MOST; i++)
		if (streams[i] && streams[i] == stream)
			return true;
	return false;
}

/* For what was issued by now; others go on issuing. */
void wait_for(struct stream *stream)
{
	long until = issued;
	waiting++;
	pthread_cond_broadcast(&changed);
	while (lives(stream) && stream->first && stream->first->number <= until)
		pthread_cond_wait(&changed, &lock);
	waiting--;
}

bool is_queued(uint64_t at, size_t bytes)
{
	for (int s = 0; s < STREAMS_MOST; s++)
		for (const struct operation *one = streams[s] ? streams[s]->first : NULL; one; one = one->next) {
			bool uses = one->kind <= FILL
			        && (one->at - at < bytes || (one->kind == COPY && one->from - at < bytes));
			for (int i = 0; one->kind == LAUNCH && i < one->function->parameters; i++)
				uses |= one->values[i] - at < bytes;
			if (uses)
				return true;
		}
	return false;
}

struct stream *legacy_stream(void)
{
	int device = (int)(current[depth - 1] - devices), empty = 0;
	for (int i = 0; i < STREAMS_MOST; i++)
		if (streams[i] && streams[i]->legacy && streams[i]->device == device)
			return streams[i];
		else if (!streams[i])
			empty = i;
	struct stream *made = streams[empty] = calloc(1, sizeof *made);
	*made = (struct stream){ .magic = STREAM, .device = device, .legacy = true };
	made->last = &made->first;
	return made;
}

bool is_stream(void **of)
{
	void *handle = *of = *of ? *of : legacy_stream();
	if (!lives(handle)) {
		complain("%p is no stream", handle);
		return false;
	}
	if (current[depth - 1] != &devices[((struct stream *)handle)->device])
		complain("a stream of device %d in the context of another", ((struct stream *)handle)->device);
	return true;
}

/* What the NULL stream is given would wait for a stream that blocks and is captured. */
static bool implicit(const struct stream *stream)
{
	for (int i = 0; i < STREAMS_MOST; i++)
		if (streams[i] && streams[i]->blocking && streams[i]->graph && streams[i]->device == stream->device) {
			complain("the NULL stream would wait for one that is captured");
			streams[i]->graph->broken = true;
			return true;
		}
	return false;
}

int enqueue(struct stream *stream, struct operation made)
{
	if (stream->legacy && implicit(stream))
		return CAPTURE_IMPLICIT;
	struct operation *one = malloc(sizeof *one);
	*one = made;
	one->next = NULL;
	if (stream->graph) { /* one list, in the order of their issue, and what each comes behind */
		one->member = stream->member;
		one->before = stream->before;
		stream->before.done[stream->member] = ++stream->graph->all.done[stream->member];
		*stream->graph->last = one;
		stream->graph->last = &one->next;
		return OK;
	}
	one->number = ++issued;
	counts.issued++;
	counts.records += made.kind == RECORD;
	counts.records_pending += made.kind == RECORD;
	counts.waits += made.kind == WAIT;
	counts.waits_pending += made.kind == WAIT;
	*stream->last = one;
	stream->last = &one->next;
	pthread_cond_broadcast(&changed);
	return OK;
}

/* What a stream that is captured cannot do; it breaks the capture. */
int uncaptured(const char *name, struct stream *stream)
{
	if (!stream->graph)
		return OK;
	complain("%s: the stream is captured", name);
	stream->graph->broken = true;
	return CAPTURE_UNSUPPORTED;
}
