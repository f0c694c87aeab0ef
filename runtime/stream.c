/* stream.c: requests -> commands in queues -> done.
 *
 * A command starts when it is the first of its queue and everything it has an edge from is done.  Edges come from hazards
 * and waits and always point at commands submitted before, so they cannot form a circle; only a promise, which somebody
 * keeps later, could, and that is looked for when the keeper is submitted.  No thread is parked for a wait: the last
 * predecessor to finish wakes the queue. */
#include <stdlib.h>
#include "inside.h"

static _Thread_local struct stream *running;           /* the stream whose command this thread is in */

bool inside_task(void) { return running != NULL; }
bool command_done(const struct ingot_command *command) { return atomic_load_explicit(&command->state, memory_order_acquire) == COMMAND_DONE; }
void command_keep(struct ingot_command *command) { command->refs++; }

void command_drop(struct ingot_command *command)
{
	if (!command || --command->refs)
		return;
	failure_drop(command->runtime, command->failure);
	failure_drop(command->runtime, command->cause);
	memory_free(command->runtime, command);
}

static bool startable(const struct stream *stream)
{
	const struct ingot_command *head = stream->head;
	return head && !head->pending && atomic_load_explicit(&head->state, memory_order_relaxed) == COMMAND_QUEUED;
}

/* Runs one command of some stream that has no thread of its own; whoever waits does that, as it may wait for just this. */
static bool run_inline(struct ingot_runtime *runtime)
{
	for (uint32_t i = 0; i < runtime->handle_count; i++) {
		struct stream *stream = (struct stream *)runtime->handles[i].object;
		if (!stream || stream->object.kind != KIND_STREAM || !stream->device || !stream->device->backend->table->waits_inline || !startable(stream))
			continue;
		object_keep(&stream->object);
		leave(runtime);
		struct ingot_command *next = ingot_queue_next(&stream->queue);
		if (next)
			ingot_command_finish(next, ingot_command_run(next));
		enter(runtime);
		object_drop(&stream->object);
		return true;
	}
	return false;
}

static bool progress(struct ingot_runtime *runtime)
{
	bool progressed = false;
	for (struct backend *backend = runtime->backends; backend; backend = backend->next) {
		if (backend->table->waits_inline)
			progressed = run_inline(runtime) || progressed;
		if (!backend->table->progress)
			continue;
		leave(runtime);
		progressed = backend->table->progress(backend->state) || progressed;
		enter(runtime);
	}
	return progressed;
}

void command_wait(struct ingot_command *command)
{
	struct ingot_runtime *runtime = command->runtime;
	command_keep(command);
	/* Most work is short: look for a moment before sleeping. */
	if (!command_done(command)) {
		leave(runtime);
		for (int i = 0; i < 200 && !command_done(command); i++)
			pause_briefly();
		enter(runtime);
	}
	while (!command_done(command)) {
		bool progressed = progress(runtime);
		if (progressed || command_done(command))
			continue;
		runtime->waiting++;
		pthread_cond_wait(&runtime->change, &runtime->lock);
		runtime->waiting--;
	}
	command_drop(command);
}

static void changed(struct ingot_runtime *runtime)
{
	if (runtime->waiting)
		pthread_cond_broadcast(&runtime->change);
}

static void wake(struct stream *stream)
{
	if (startable(stream))
		stream->device->backend->table->wake(stream->raw);
}

/* ---- submitting ---- */

enum ingot_status stream_room(struct stream *stream)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	enum ingot_status status = INGOT_OK;
	object_keep(&stream->object);
	for (;;) {
		if (stream->closing || !stream->object.generation)
			status = say(INGOT_STALE, "%s is being closed", stream->name);
		else if (stream->failure && !stream->reported) {
			stream->reported = true;
			status = say_failure(stream->failure);
		} else if (stream->failure)
			status = say(INGOT_STOPPED, "%s stopped: %s", stream->name, stream->failure->text);
		else if (stream->count < runtime->options.queue_capacity)
			break;
		else if (running)
			status = say(INGOT_WOULD_BLOCK, "%s is full, and a task must not wait for room", stream->name);
		if (status)
			break;
		command_wait(stream->head);
	}
	object_drop(&stream->object);
	return status;
}

static void edge_add(struct ingot_command *command, struct ingot_command *from, bool carries)
{
	struct ingot_runtime *runtime = command->runtime;
	if (from == command)
		return;
	if (command_done(from)) {
		if (carries && from->failure && !command->cause)
			command->cause = failure_keep(from->failure);
		return;
	}
	struct edge *edge = command->edges + command->edge_count++;
	*edge = (struct edge){ from, command, from->successors, carries };
	from->successors = edge;
	command_keep(from);
	command->pending++;
	(void)runtime;
}

/* The edges that the accesses ask for.  A read takes over the failure of what should have written. */
static void accesses_link(struct ingot_command *command, const struct request *request)
{
	struct ingot_runtime *runtime = command->runtime;
	for (uint32_t i = 0; i < request->access_count; i++) {
		const struct access *access = request->accesses + i;
		struct hazard *hazard = access->hazard;
		if (access->read && hazard->taint && !command->cause)
			command->cause = failure_keep(hazard->taint);
		if (hazard->writer)
			edge_add(command, hazard->writer, access->read);
		for (uint32_t k = 0; access->write && k < hazard->reader_count; k++)
			edge_add(command, hazard->readers[k], false);
	}
	for (uint32_t i = 0; i < request->access_count; i++) {
		struct hazard *hazard = request->accesses[i].hazard;
		/* The same place twice, as when two arguments are parts of one: one entry says it. */
		if (hazard->writer == command)
			continue;
		if (!request->accesses[i].write && hazard->reader_count && hazard->readers[hazard->reader_count - 1] == command)
			continue;
		command_keep(command);
		runtime->hazards++;
		if (!request->accesses[i].write) {
			hazard->readers[hazard->reader_count++] = command;
			continue;
		}
		for (uint32_t k = 0; k < hazard->reader_count; k++, runtime->hazards--)
			command_drop(hazard->readers[k]);
		hazard->reader_count = 0;
		if (hazard->writer) {
			command_drop(hazard->writer);
			runtime->hazards--;
		}
		failure_drop(runtime, hazard->taint);
		hazard->taint = NULL;
		hazard->writer = command;
	}
}

enum ingot_status submit(const struct request *request, struct ingot_command **out)
{
	struct stream *stream = request->stream;
	struct ingot_runtime *runtime = stream->object.runtime;
	size_t edges = request->after_count, bytes = sizeof(struct ingot_command);
	for (uint32_t i = 0; i < request->access_count; i++) {
		hazard_prune(runtime, request->accesses[i].hazard);
		edges += 1 + (request->accesses[i].write ? request->accesses[i].hazard->reader_count : 0);
		if (!hazard_reserve(runtime, request->accesses[i].hazard))
			return say(INGOT_MEMORY, "no memory to submit %s to %s", request->name, stream->name);
	}
	size_t at_edges = bytes, at_slabs = at_edges + edges * sizeof(struct edge);
	size_t at_payload = (at_slabs + request->slab_count * sizeof(struct slab *) + 15) & ~(size_t)15;
	struct ingot_command *command = memory_new(runtime, at_payload + request->payload_bytes, 1);
	if (!command)
		return say(INGOT_MEMORY, "no memory to submit %s to %s", request->name, stream->name);
	command->runtime = runtime;
	command->stream = stream;
	command->refs = 1;
	command->run = request->run;
	command->destroy = request->destroy;
	command->edges = (struct edge *)((char *)command + at_edges);
	command->slabs = (struct slab **)((char *)command + at_slabs);
	command->payload = (char *)command + at_payload;
	command->number = runtime->next_command++;
	command->stream_number = stream->number;
	command->device_id = stream->device->properties.id;
	snprintf(command->name, sizeof command->name, "%s", request->name);
	for (uint32_t i = 0; i < request->slab_count; i++) {
		command->slabs[i] = request->slabs[i];
		slab_keep(request->slabs[i]);
	}
	command->slab_count = request->slab_count;
	if ((command->keeps = request->keeps))
		object_keep(request->keeps);
	for (uint32_t i = 0; i < request->after_count; i++)
		edge_add(command, request->after[i], true);
	accesses_link(command, request);
	command->previous = stream->tail;
	if (stream->tail)
		stream->tail->next = command;
	else
		stream->head = command;
	stream->tail = command;
	stream->count++;
	object_keep(&stream->object);
	if (stream->head == command)
		wake(stream);
	if (out)
		*out = command;
	return INGOT_OK;
}

/* On devices that run in place the submitter runs the queue, until its own command is done. */
void leave_after(struct stream *stream, struct ingot_command *command)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	if (!stream->device->backend->table->waits_inline || !command) {
		leave(runtime);
		return;
	}
	object_keep(&stream->object);
	command_keep(command);
	for (;;) {
		if (startable(stream)) {
			leave(runtime);
			struct ingot_command *next = ingot_queue_next(&stream->queue);
			if (next)
				ingot_command_finish(next, ingot_command_run(next));
			enter(runtime);
		} else if (command_done(command) || running)
			break;                          /* inside a task the one who runs this queue goes on with it */
		else
			command_wait(stream->head);
	}
	command_drop(command);
	object_drop(&stream->object);
	leave(runtime);
}

/* ---- running ---- */

struct ingot_command *ingot_queue_next(struct ingot_queue *queue)
{
	struct stream *stream = queue->stream;
	struct ingot_runtime *runtime = stream->object.runtime;
	struct ingot_command *command = NULL;
	enter(runtime);
	if (startable(stream)) {
		command = stream->head;
		atomic_store_explicit(&command->state, COMMAND_RUNNING, memory_order_relaxed);
		/* Decided here, under the lock: what has begun cannot be cancelled. */
		if (stream->failure && !command->cause)
			command->cause = failure_keep(stream->failure);
		if (runtime->trace)
			command->began = clock_nanoseconds();
	}
	leave(runtime);
	return command;
}

enum ingot_status ingot_command_run(struct ingot_command *command)
{
	char text[TEXT_ROOM] = "";
	struct stream *before = running;
	if (command->cancelled || command->cause)
		return INGOT_CANCELLED;                 /* finish finds out why */
	if (!command->run)
		return INGOT_OK;
	running = command->stream;
	enum ingot_status status = command->run(command, text);
	running = before;
	if (status) {
		enter(command->runtime);
		command->failure = failure_new(command->runtime, status, "%s: %s: %s", command->stream->name, command->name,
					       text[0] ? text : ingot_status_text(status));
		leave(command->runtime);
	}
	return status;
}

/* What a command that was not run, or that failed, passes on. */
static struct failure *failure_find(struct ingot_command *command, enum ingot_status status)
{
	struct ingot_runtime *runtime = command->runtime;
	struct stream *stream = command->stream;
	if (command->failure || !status)
		return command->failure;
	if (command->cancelled)
		return failure_new(runtime, INGOT_CANCELLED, "%s: %s was cancelled", stream->name, command->name);
	if (!command->cause)
		return failure_new(runtime, status, "%s: %s: %s", stream->name, command->name, ingot_status_text(status));
	if (command->cause == stream->failure)
		return failure_keep(stream->failure);
	if (command->cause->cancelled)
		return failure_new(runtime, INGOT_CANCELLED, "%s: %s was cancelled: it waits for: %.120s", stream->name, command->name,
				   command->cause->text);
	return failure_new(runtime, INGOT_DEPENDENCY, "%s: %s was not run: it waits for: %.120s", stream->name, command->name, command->cause->text);
}

static void successors_free(struct ingot_command *command)
{
	struct edge *next;
	for (struct edge *edge = command->successors; edge; edge = next) {
		struct ingot_command *to = edge->to;
		next = edge->next;
		if (edge->carries && command->failure && !to->cause)
			to->cause = failure_keep(command->failure);
		if (!--to->pending && to->stream && to->stream->head == to)
			wake(to->stream);
	}
	command->successors = NULL;
}

static void done(struct ingot_command *command)
{
	atomic_store_explicit(&command->state, COMMAND_DONE, memory_order_release);
	successors_free(command);
	for (uint32_t i = 0; i < command->edge_count; i++)
		command_drop(command->edges[i].from);
	command->edge_count = 0;
}

static void trace_add(struct ingot_command *command)
{
	struct ingot_runtime *runtime = command->runtime;
	if (!runtime->trace || !command->began)
		return;
	struct trace_entry *entry = runtime->trace + runtime->trace_count++ % runtime->trace_room;
	*entry = (struct trace_entry){ .device = command->device_id, .stream = command->stream_number, .began = command->began,
				       .ended = clock_nanoseconds(), .failed = command->failure != NULL };
	memcpy(entry->name, command->name, sizeof entry->name);
}

void ingot_command_finish(struct ingot_command *command, enum ingot_status status)
{
	struct ingot_runtime *runtime = command->runtime;
	struct stream *stream = command->stream;
	if (command->destroy)
		command->destroy(command->payload);
	enter(runtime);
	command->failure = failure_find(command, status);
	if (command->failure && !command->failure->cancelled && !stream->failure)
		stream->failure = failure_keep(command->failure);
	trace_add(command);
	stream->head = command->next;
	if (command->next)
		command->next->previous = NULL;
	else
		stream->tail = NULL;
	stream->count--;
	command->next = NULL;
	for (uint32_t i = 0; i < command->slab_count; i++)
		slab_drop(command->slabs[i]);
	if (command->promise) {
		promise_keep_or_break(command->promise, failure_keep(command->failure));
		command_drop(command->promise);
		command->promise = NULL;
	}
	command->stream = NULL;
	if (command->keeps)
		object_drop(command->keeps);
	done(command);
	wake(stream);
	changed(runtime);
	command_drop(command);
	object_drop(&stream->object);
	leave(runtime);
}

/* ---- promises ---- */

struct ingot_command *promise_new(struct ingot_runtime *runtime)
{
	struct ingot_command *promise = memory_new(runtime, 1, sizeof *promise);
	if (!promise)
		return NULL;
	promise->runtime = runtime;
	promise->refs = 1;
	snprintf(promise->name, sizeof promise->name, "a promised event");
	return promise;
}

void promise_keep_or_break(struct ingot_command *promise, struct failure *failure)
{
	if (command_done(promise)) {
		failure_drop(promise->runtime, failure);
		return;
	}
	promise->failure = failure;
	promise->signaller = NULL;
	done(promise);
	changed(promise->runtime);
}

/* Whether `from` comes after `promise`: through edges, its queue, and what keeps other promises. */
static bool comes_after(struct ingot_command *from, struct ingot_command *promise)
{
	uint64_t visit = ++from->runtime->visit;
	struct ingot_command *todo = from;
	from->visited = visit;
	from->to_visit = NULL;
	while (todo) {
		struct ingot_command *command = todo;
		todo = command->to_visit;
		for (uint32_t i = 0; i < command->edge_count + 2; i++) {
			struct ingot_command *before = i < command->edge_count ? command->edges[i].from
						       : i == command->edge_count ? command->previous : command->signaller;
			if (!before || before->visited == visit || command_done(before))
				continue;
			if (before == promise)
				return true;
			before->visited = visit;
			before->to_visit = todo;
			todo = before;
		}
	}
	return false;
}

enum ingot_status ingot_stream_signal(struct ingot_stream handle, struct ingot_event event_handle)
{
	struct stream *stream = ENTER(stream, handle, KIND_STREAM);
	if (!stream)
		return INGOT_STALE;
	struct ingot_runtime *runtime = stream->object.runtime;
	struct ingot_command *command = NULL;
	enum ingot_status status = stream_room(stream);
	struct event *event = status ? NULL : FIND(event, runtime, event_handle, KIND_EVENT);
	if (!status && !event)
		status = INGOT_STALE;
	else if (!status && (!event->promise || command_done(event->command)))
		status = say(INGOT_PRESENT, "this event is not promised, or is signalled already");
	else if (!status && event->command->signaller)
		status = say(INGOT_PRESENT, "this event is signalled by %s already", event->command->signaller->name);
	/* The command would come after all that is queued here, so it is enough to look from the last of them. */
	else if (!status && stream->tail && comes_after(stream->tail, event->command))
		status = say(INGOT_CYCLE, "%s waits for the event that it would signal", stream->name);
	else if (!status && !(status = submit(&(struct request){ .stream = stream, .name = "signal" }, &command))) {
		command->promise = event->command;
		command_keep(event->command);
		event->command->signaller = command;
	}
	if (status)
		leave(runtime);
	else
		leave_after(stream, command);
	return status;
}

/* ---- tasks ---- */

struct task_payload {
	struct ingot_task task;
};

static enum ingot_status task_run(struct ingot_command *command, char *text)
{
	const struct ingot_task *task = &((struct task_payload *)command->payload)->task;
	static const char *const parts[] = { "before", "run", "after" };
	int (*const run[])(void *) = { task->before, task->run, task->after };
	for (size_t i = 0; i < COUNT(run); i++) {
		int code = run[i] ? run[i](task->argument) : 0;
		if (code) {
			snprintf(text, TEXT_ROOM, "%s answered %d", parts[i], code);
			return INGOT_FAILED;
		}
	}
	return INGOT_OK;
}

static void task_destroy(void *payload)
{
	const struct ingot_task *task = &((struct task_payload *)payload)->task;
	if (task->destroy)
		task->destroy(task->argument);
}

static bool unkept(const struct ingot_command *command)
{
	return !command_done(command) && !command->stream && !command->signaller;
}

static enum ingot_status task_submit_locked(struct stream *stream, const struct ingot_task *task, struct ingot_command **out)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	struct ingot_command *few[8], **after = few;
	uint32_t count = 0;
	enum ingot_status status = INGOT_OK;
	if (task->wait_count > COUNT(few) && !(after = memory_new(runtime, task->wait_count, sizeof *after)))
		return say(INGOT_MEMORY, "no memory to submit %s to %s", task->name ? task->name : "task", stream->name);
	struct failure *cause = NULL;
	for (uint32_t i = 0; i < task->wait_count && !status; i++) {
		struct event *event = FIND(event, runtime, task->waits[i], KIND_EVENT);
		if (!event)
			status = INGOT_STALE;
		else if (event->command && unkept(event->command) && stream->device->backend->table->waits_inline)
			status = say(INGOT_WOULD_BLOCK, "%s runs in place, and nobody has signalled the event it should wait for", stream->name);
		else if (event->command)
			after[count++] = event->command;
		else if (!cause)
			cause = event->failure;
	}
	if (!status)
		status = submit(&(struct request){ .stream = stream, .name = task->name ? task->name : "task", .run = task_run,
						   .destroy = task_destroy, .payload_bytes = sizeof(struct task_payload),
						   .after = after, .after_count = count }, out);
	if (!status) {
		((struct task_payload *)(*out)->payload)->task = *task;
		if (cause && !(*out)->cause)
			(*out)->cause = failure_keep(cause);
	}
	if (after != few)
		memory_free(runtime, after);
	return status;
}

enum ingot_status ingot_task_submit(struct ingot_stream handle, const struct ingot_task *task, struct ingot_event *done_event)
{
	struct event *event = NULL;
	struct ingot_command *command = NULL;
	if (!task)
		return say(INGOT_INVALID, "ingot_task_submit: no task");
	struct stream *stream = ENTER(stream, handle, KIND_STREAM);
	if (!stream) {
		if (task->destroy)
			task->destroy(task->argument);
		return INGOT_STALE;
	}
	struct ingot_runtime *runtime = stream->object.runtime;
	object_keep(&stream->object);
	enum ingot_status status = task->wait_count && !task->waits ? say(INGOT_INVALID, "ingot_task_submit: no waits") : stream_room(stream);
	if (!status)
		status = event_reserve(stream->device, runtime, done_event, &event);
	if (!status)
		status = task_submit_locked(stream, task, &command);
	if (!status)
		event_bind(event, command, done_event);
	else
		event_unreserve(event);
	if (status) {
		object_drop(&stream->object);
		leave(runtime);
		if (task->destroy)
			task->destroy(task->argument);
		return status;
	}
	leave_after(stream, command);
	enter(runtime);
	object_drop(&stream->object);
	leave(runtime);
	return INGOT_OK;
}

/* ---- streams ---- */

enum ingot_status stream_new(struct device *device, struct stream **out)
{
	struct ingot_runtime *runtime = device->object.runtime;
	char text[INGOT_BACKEND_TEXT] = "";
	uint32_t number = 0;
	while (number < device->stream_count && device->streams[number])
		number++;
	if (number == device->stream_count && !memory_grow(runtime, &device->streams, device->stream_count, &device->stream_room, sizeof *device->streams))
		return say(INGOT_MEMORY, "no memory for a stream");
	struct stream *stream = memory_new(runtime, 1, sizeof *stream);
	if (!stream)
		return say(INGOT_MEMORY, "no memory for a stream");
	stream->device = device;
	stream->number = number;
	stream->queue.stream = stream;
	snprintf(stream->name, sizeof stream->name, "%s:%d:%u.%u", device->properties.backend, device->properties.ordinal, device->properties.id, number);
	enum ingot_status status = handle_new(runtime, &stream->object, KIND_STREAM);
	if (status) {
		memory_free(runtime, stream);
		return status;
	}
	status = device->backend->table->queue_open(device->raw, &stream->queue, &stream->raw, text);
	if (status) {
		stream->raw = NULL;
		stream->device = NULL;
		handle_close(&stream->object);
		return say(status, "%s: no queue: %s", stream->name, text[0] ? text : ingot_status_text(status));
	}
	device->streams[number] = stream;
	if (number == device->stream_count)
		device->stream_count++;
	object_keep(&device->object);
	*out = stream;
	return INGOT_OK;
}

void stream_finish(struct stream *stream)
{
	object_keep(&stream->object);
	while (stream->head)
		command_wait(stream->tail);
	object_drop(&stream->object);
}

void stream_release(struct object *object)
{
	struct stream *stream = (struct stream *)object;
	struct ingot_runtime *runtime = object->runtime;
	failure_drop(runtime, stream->failure);
	if (stream->device)
		object_drop(&stream->device->object);
	memory_free(runtime, stream);
}

/* The lock is held, the stream has no more work; gives the lock up while the backend ends its thread. */
static void stream_end(struct stream *stream)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	struct device *device = stream->device;
	struct merge *merge = &stream->merge;
	hazard_release(runtime, &merge->hazard);
	slab_drop(merge->owned);
	location_drop(merge->streaming);
	command_drop(merge->update);
	if (merge->node)
		object_drop(&merge->node->object);
	*merge = (struct merge){ 0 };
	for (uint32_t i = 0; i < device->location_count; i++)
		if (device->locations[i]->owner == stream)
			device->locations[i]->owner = NULL;
	object_keep(&stream->object);
	leave(runtime);
	device->backend->table->queue_close(stream->raw);
	enter(runtime);
	device->streams[stream->number] = NULL;
	handle_close(&stream->object);
	object_drop(&stream->object);
}

enum ingot_status ingot_stream_close(struct ingot_stream handle)
{
	struct stream *stream = ENTER(stream, handle, KIND_STREAM);
	if (!stream)
		return INGOT_STALE;
	struct ingot_runtime *runtime = stream->object.runtime;
	enum ingot_status status = INGOT_OK;
	if (stream->closing)
		status = say(INGOT_STALE, "%s is being closed", stream->name);
	else if (running)
		status = say(INGOT_WOULD_BLOCK, "a task cannot close a stream");
	else if (stream->contexts)
		status = say(INGOT_BUSY, "%s has %u contexts", stream->name, stream->contexts);
	else if (stream == stream->device->main && !stream->device->closing)
		status = runtime->options.single_stream ? INGOT_OK : say(INGOT_BUSY, "%s is its device's default stream", stream->name);
	else {
		stream->closing = true;
		stream_finish(stream);
		stream_end(stream);
	}
	leave(runtime);
	return status;
}

enum ingot_status ingot_stream_open(struct ingot_device handle, struct ingot_stream *out)
{
	struct device *device = ENTER(device, handle, KIND_DEVICE);
	struct stream *stream = NULL;
	if (!device)
		return INGOT_STALE;
	struct ingot_runtime *runtime = device->object.runtime;
	enum ingot_status status = INGOT_OK;
	if (!out)
		status = say(INGOT_INVALID, "ingot_stream_open: no place for the stream");
	else if (device->closing)
		status = say(INGOT_STALE, "the device is being closed");
	else if (runtime->options.single_stream)
		stream = device->main;
	else
		status = stream_new(device, &stream);
	if (!status)
		*out = HANDLE(ingot_stream, stream);
	leave(runtime);
	return status;
}

enum ingot_status ingot_stream_default(struct ingot_device handle, struct ingot_stream *out)
{
	struct device *device = ENTER(device, handle, KIND_DEVICE);
	if (!device)
		return INGOT_STALE;
	*out = HANDLE(ingot_stream, device->main);
	leave(device->object.runtime);
	return INGOT_OK;
}

enum ingot_status ingot_stream_await(struct ingot_stream handle)
{
	struct stream *stream = ENTER(stream, handle, KIND_STREAM);
	if (!stream)
		return INGOT_STALE;
	struct ingot_runtime *runtime = stream->object.runtime;
	enum ingot_status status = INGOT_OK;
	if (running == stream)
		status = say(INGOT_WOULD_BLOCK, "a task of %s cannot wait for all of it", stream->name);
	else {
		object_keep(&stream->object);
		stream_finish(stream);
		if (stream->failure) {
			status = stream->reported ? say(INGOT_STOPPED, "%s stopped: %s", stream->name, stream->failure->text) : say_failure(stream->failure);
			stream->reported = true;
		}
		object_drop(&stream->object);
	}
	leave(runtime);
	return status;
}

enum ingot_status ingot_stream_idle(struct ingot_stream handle, bool *idle)
{
	struct stream *stream = ENTER(stream, handle, KIND_STREAM);
	if (!stream)
		return INGOT_STALE;
	*idle = !stream->head;
	leave(stream->object.runtime);
	return INGOT_OK;
}

enum ingot_status ingot_stream_failure(struct ingot_stream handle, char *text, size_t room)
{
	struct stream *stream = ENTER(stream, handle, KIND_STREAM);
	if (!stream)
		return INGOT_STALE;
	enum ingot_status status = stream->failure ? stream->failure->status : INGOT_OK;
	if (text && room)
		snprintf(text, room, "%s", stream->failure ? stream->failure->text : "");
	leave(stream->object.runtime);
	return status;
}

enum ingot_status ingot_stream_restart(struct ingot_stream handle)
{
	struct stream *stream = ENTER(stream, handle, KIND_STREAM);
	if (!stream)
		return INGOT_STALE;
	struct ingot_runtime *runtime = stream->object.runtime;
	enum ingot_status status = INGOT_OK;
	if (running == stream)
		status = say(INGOT_WOULD_BLOCK, "a task of %s cannot restart it", stream->name);
	else {
		stream_finish(stream);                   /* what was queued behind the failure stays skipped */
		failure_drop(runtime, stream->failure);
		stream->failure = NULL;
		stream->reported = false;
	}
	leave(runtime);
	return status;
}

enum ingot_status ingot_stream_cancel(struct ingot_stream handle)
{
	struct stream *stream = ENTER(stream, handle, KIND_STREAM);
	if (!stream)
		return INGOT_STALE;
	for (struct ingot_command *command = stream->head; command; command = command->next)
		if (atomic_load_explicit(&command->state, memory_order_relaxed) == COMMAND_QUEUED)
			command->cancelled = true;
	leave(stream->object.runtime);
	return INGOT_OK;
}

enum ingot_status ingot_stream_device(struct ingot_stream handle, struct ingot_device *out)
{
	struct stream *stream = ENTER(stream, handle, KIND_STREAM);
	if (!stream)
		return INGOT_STALE;
	*out = HANDLE(ingot_device, stream->device);
	leave(stream->object.runtime);
	return INGOT_OK;
}

bool ingot_stream_equal(struct ingot_stream a, struct ingot_stream b)
{
	return a.runtime == b.runtime && a.index == b.index && a.generation == b.generation;
}

int ingot_stream_number(struct ingot_stream handle)
{
	struct stream *stream = ENTER(stream, handle, KIND_STREAM);
	if (!stream)
		return -1;
	int number = (int)stream->number;
	leave(stream->object.runtime);
	return number;
}

uint32_t ingot_stream_queued(struct ingot_stream handle)
{
	struct stream *stream = ENTER(stream, handle, KIND_STREAM);
	if (!stream)
		return 0;
	uint32_t count = stream->count;
	leave(stream->object.runtime);
	return count;
}

size_t ingot_stream_name(struct ingot_stream handle, char *text, size_t room)
{
	struct stream *stream = ENTER(stream, handle, KIND_STREAM);
	struct sink sink = { text, room, 0 };
	if (!stream)
		return 0;
	sink_printf(&sink, "%s", stream->name);
	leave(stream->object.runtime);
	return sink_end(&sink);
}
