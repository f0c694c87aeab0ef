/* stream.c: streams and tasks: what programs see of command.c. */
#include "inside.h"

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

static enum ingot_status task_submit_locked(struct stream *stream, const struct ingot_task *task,
                                            struct ingot_command **out)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	struct ingot_command *few[8], **after = few;
	uint32_t count = 0;
	enum ingot_status status = INGOT_OK;
	if (task->wait_count > COUNT(few) && !(after = memory_new(runtime, task->wait_count, sizeof *after)))
		return say(INGOT_MEMORY, "no memory to submit %s to %s", task->name ? task->name : "task",
		           stream->name);
	struct failure *cause = NULL;
	for (uint32_t i = 0; i < task->wait_count && !status; i++) {
		struct event *event = FIND(event, runtime, task->waits[i], KIND_EVENT);
		if (!event)
			status = INGOT_STALE;
		else if (event->command && unkept(event->command) && stream->in_place)
			status = say(INGOT_WOULD_BLOCK,
			             "%s runs in place, and nobody has signalled the event it should wait for",
			             stream->name);
		else if (event->command)
			after[count++] = event->command;
		else if (!cause)
			cause = event->failure;
	}
	if (!status)
		status = submit(&(struct request){.stream = stream,
		                                  .name = task->name ? task->name : "task",
		                                  .run = task_run,
		                                  .destroy = task_destroy,
		                                  .payload_bytes = sizeof(struct task_payload),
		                                  .after = after,
		                                  .after_count = count},
		                out);
	if (!status) {
		((struct task_payload *)(*out)->payload)->task = *task;
		if (cause && !(*out)->cause)
			(*out)->cause = failure_keep(cause);
	}
	if (after != few)
		memory_free(runtime, after);
	return status;
}

enum ingot_status ingot_task_submit(struct ingot_stream handle, const struct ingot_task *task,
                                    struct ingot_event *done_event)
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
	enum ingot_status status = task->wait_count && !task->waits ? say(INGOT_INVALID, "ingot_task_submit: no waits")
	                                                            : stream_room(stream);
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
	leave_dropping(stream, command);
	return INGOT_OK;
}

/* ---- signalling ---- */

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

/* ---- streams ---- */

enum ingot_status stream_new(struct device *device, struct stream **out)
{
	struct ingot_runtime *runtime = device->object.runtime;
	char text[INGOT_BACKEND_TEXT] = "";
	uint32_t number = 0;
	while (number < device->stream_count && device->streams[number])
		number++;
	if (number == device->stream_count && !memory_grow(runtime, &device->streams, device->stream_count,
	                                                   &device->stream_room, sizeof *device->streams))
		return say(INGOT_MEMORY, "no memory for a stream");
	struct stream *stream = memory_new(runtime, 1, sizeof *stream);
	if (!stream)
		return say(INGOT_MEMORY, "no memory for a stream");
	stream->device = device;
	stream->number = number;
	stream->queue.stream = stream;
	stream->in_place = device->backend->table->waits_inline;
	snprintf(stream->name, sizeof stream->name, "%s:%d:%u.%u", device->properties.backend,
	         device->properties.ordinal, device->properties.id, number);
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
	while (atomic_load(&stream->wakers))
		sched_yield();
	device->backend->table->queue_close(stream->raw);
	enter(runtime);
	device->streams[stream->number] = NULL;
	handle_close(&stream->object);
	object_drop(&stream->object);
}

static enum ingot_status stream_close(struct object *object)
{
	struct stream *stream = (struct stream *)object;
	if (stream->closing)
		return say(INGOT_STALE, "%s is being closed", stream->name);
	if (inside_task())
		return say(INGOT_WOULD_BLOCK, "a task cannot close a stream");
	if (stream->contexts)
		return say(INGOT_BUSY, "%s has %u contexts", stream->name, stream->contexts);
	if (stream == stream->device->main && !stream->device->closing)
		return object->runtime->options.single_stream
		               ? INGOT_OK
		               : say(INGOT_BUSY, "%s is its device's default stream", stream->name);
	stream->closing = true;
	stream_finish(stream);
	stream_end(stream);
	return INGOT_OK;
}

enum ingot_status ingot_stream_close(struct ingot_stream handle)
{
	return DO(handle, KIND_STREAM, stream_close);
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

static enum ingot_status stream_await(struct object *object)
{
	struct stream *stream = (struct stream *)object;
	if (running_stream() == stream)
		return say(INGOT_WOULD_BLOCK, "a task of %s cannot wait for all of it", stream->name);
	stream_finish(stream);
	return stream_report(stream);
}

enum ingot_status ingot_stream_await(struct ingot_stream handle)
{
	return DO(handle, KIND_STREAM, stream_await);
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

static enum ingot_status stream_restart(struct object *object)
{
	struct stream *stream = (struct stream *)object;
	if (running_stream() == stream)
		return say(INGOT_WOULD_BLOCK, "a task of %s cannot restart it", stream->name);
	stream_finish(stream);                           /* what was queued behind the failure stays skipped */
	failure_drop(object->runtime, stream->failure);
	stream->failure = NULL;
	stream->reported = false;
	return INGOT_OK;
}

enum ingot_status ingot_stream_restart(struct ingot_stream handle)
{
	return DO(handle, KIND_STREAM, stream_restart);
}

static enum ingot_status stream_cancel(struct object *object)
{
	for (struct ingot_command *command = ((struct stream *)object)->head; command; command = command->next)
		if (atomic_load_explicit(&command->state, memory_order_relaxed) == COMMAND_QUEUED)
			command->cancelled = true;
	return INGOT_OK;
}

enum ingot_status ingot_stream_cancel(struct ingot_stream handle)
{
	return DO(handle, KIND_STREAM, stream_cancel);
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
