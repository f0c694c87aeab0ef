/* stream.c: streams and tasks: what programs see of command.c. */
#include "inside.h"

/* ---- tasks ---- */

static enum ingot_status task_run(struct ingot_command *command, char *text)
{
	const struct ingot_task *task = command->payload;
	const char *part = "before";
	int code = task->before ? task->before(task->argument) : 0;
	if (!code && task->run) {
		part = "run";
		code = task->run(task->argument);
	}
	if (!code && task->after) {
		part = "after";
		code = task->after(task->argument);
	}
	if (!code)
		return INGOT_OK;
	snprintf(text, TEXT_ROOM, "%s answered %d", part, code);
	return INGOT_FAILED;
}

static void task_destroy(void *payload)
{
	const struct ingot_task *task = payload;
	task->destroy(task->argument);
}

/* What the task says it reads and writes: accesses of its command, which keeps the memory. */
static enum ingot_status use_find(
        struct stream *stream, const struct ingot_use *use, struct access *access, struct slab **slab)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	struct context *context = FIND(context, runtime, use->context);
	struct node *node = !context || use->merge ? NULL : FIND(node, runtime, use->node);
	struct entry found;
	if (!context || (!use->merge && !node))
		return INGOT_STALE;
	enum ingot_status status = context_lives(context);
	if (status)
		return status;
	if (use->merge) {
		if (use->write || !merge_now(context->stream))
			return say(INGOT_MISMATCH,
			        use->write ? "%s: tasks do not write the merge buffer"
			                   : "%s: there is nothing in the merge buffer",
			        context->stream->name);
		*access = merge_read(context->stream, slab);
		return INGOT_OK;
	}
	status = context_has(context, node, &found);
	if (status)
		return status;
	if (!use->write && !hazard_valued(runtime, &found.location->hazard))
		return say(INGOT_UNREADY, "n%u was not written on %s", node->id, context->stream->name);
	*access = location_access(found.location, node, use->write);
	*slab = found.location->slab;
	return use->write ? location_refuses(found.location, stream, node) : INGOT_OK;
}

/* Of what the task writes in part.  It was found already. */
static enum ingot_status rests_fetch(
        struct submission *submission, const struct ingot_task *task, struct access *accesses)
{
	struct ingot_runtime *runtime = submission->stream->object.runtime;
	enum ingot_status status = INGOT_OK;
	for (uint32_t i = 0; i < task->use_count && !status; i++)
		if (accesses[i].gives == GIVES_PART)
			status = rest_fetch(submission, FIND(context, runtime, task->uses[i].context), accesses[i].node,
			        accesses[i].location);
	return status;
}

/* No thread writes the host arrays whose rest may go up. */
static void uses_settle(struct ingot_runtime *runtime, const struct ingot_task *task)
{
	for (uint32_t i = 0; INGOT_THREADS && i < task->use_count; i++) {
		struct node *node = task->uses[i].write ? FIND(node, runtime, task->uses[i].node) : NULL;
		struct node *base;
		if (!node || !node->parent)
			continue;
		node_host(node, &base);
		if (base->host_busy) {
			object_keep(&base->object);
			node_host_settle(base);
			object_drop(&base->object);
			i = UINT32_MAX; /* others may be by now */
		}
	}
}

/* What the task waits for: commands into `after`; or a failure that is known. */
static enum ingot_status waits_find(struct stream *stream, const struct ingot_task *task, struct ingot_command **after,
        uint32_t *count, struct failure **cause)
{
	for (uint32_t i = 0; i < task->wait_count; i++) {
		struct event *event = FIND(event, stream->object.runtime, task->waits[i]);
		if (!event)
			return INGOT_STALE;
		struct ingot_command *command = event->command;
		/* What was forgone has answered, and will not be waited for. */
		if (command && command_over(command) && !command_done(command)) {
			*cause = *cause ? *cause : command->failure;
			continue;
		}
		if (command && stream->in_place && command->promised && !command->signaller && !command_done(command))
			return say(INGOT_WOULD_BLOCK,
			        "%s runs in place, and nobody has signalled the event it should wait for",
			        stream->name);
		if (command)
			after[(*count)++] = command;
		else if (!*cause)
			*cause = event->failure;
	}
	return INGOT_OK;
}

static enum ingot_status task_submit_locked(
        struct submission *submission, const struct ingot_task *task, struct ingot_command **out)
{
	struct stream *stream = submission->stream;
	struct ingot_runtime *runtime = stream->object.runtime;
	struct ingot_command *few[8], **after = few;
	size_t letters = 0;
	while (task->name && letters < NAME_ROOM - 1 && task->name[letters])
		letters++;
	struct request request = { .stream = stream,
		.name = task->name ? task->name : "task",
		.run = task_run,
		.destroy = task->destroy ? task_destroy : NULL,
		.on_host = task->before || task->run || task->after,
		.payload_bytes = sizeof *task + letters + 1 };
	struct failure *cause = NULL;
	struct access *accesses = NULL;
	struct slab **slabs = NULL;
	char *room = NULL;
	uint32_t count = task->use_count, many = task->wait_count > COUNT(few) ? task->wait_count : 0;
	enum ingot_status status = INGOT_OK;
	if (many || count) {
		size_t each = sizeof *accesses + sizeof *slabs + sizeof *after;
		if (!(room = memory_new(runtime, (size_t)count + many, each)))
			return say(INGOT_MEMORY, "no memory to submit %s to %s", request.name, stream->name);
		accesses = (struct access *)room;
		slabs = (struct slab **)(accesses + count);
		after = many ? (struct ingot_command **)(slabs + count) : few;
	}
	status = waits_find(stream, task, after, &request.after_count, &cause);
	for (uint32_t i = 0; i < count && !status; i++)
		status = use_find(stream, task->uses + i, accesses + i, slabs + i);
	status = status || !count ? status : rests_fetch(submission, task, accesses);
	request.after = after;
	request.accesses = accesses;
	request.slabs = slabs;
	request.access_count = request.slab_count = count;
	if (!status && !(status = submit(&request, out))) {
		struct ingot_task *copy = (*out)->payload;
		*copy = *task;
		if (task->name)
			(*out)->name = memcpy(copy + 1, task->name, letters);
		if (cause && !(*out)->cause)
			(*out)->cause = failure_keep(cause);
	}
	memory_free(runtime, room);
	return status;
}

enum ingot_status ingot_task_submit(
        struct ingot_stream handle, const struct ingot_task *task, struct ingot_event *done_event)
{
	struct submission submission;
	struct ingot_command *command = NULL;
	NEED(task);
	struct stream *stream = ENTER(stream, handle);
	enum ingot_status status = INGOT_STALE;
	if (stream) {
		status = submission_begin(&submission, stream, done_event);
		if (!status && ((task->wait_count && !task->waits) || (task->use_count && !task->uses)))
			status = say(INGOT_INVALID, "ingot_task_submit: no waits, or no uses");
		if (!status && task->use_count) {
			uses_settle(handle.runtime, task);
			status = stream_refuses(stream);
		}
		if (!status)
			status = task_submit_locked(&submission, task, &command);
		submission_end(&submission, status, command);
	}
	if (status && task->destroy)
		task->destroy(task->argument);
	return status;
}

/* ---- signalling ---- */

enum ingot_status ingot_stream_signal(struct ingot_stream handle, struct ingot_event event_handle)
{
	NEED_OPEN(stream, handle);
	struct submission submission;
	struct ingot_command *command = NULL;
	enum ingot_status status = submission_begin(&submission, stream, NULL);
	struct event *event = status ? NULL : FIND(event, handle.runtime, event_handle);
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
	return submission_end(&submission, status, command);
}

/* ---- streams ---- */

enum ingot_status stream_new(struct device *device, struct stream **out)
{
	struct ingot_runtime *runtime = device->object.runtime;
	char text[INGOT_BACKEND_TEXT] = "";
	uint32_t number = 0;
	while (number < device->stream_count && device->streams[number])
		number++;
	if (number == device->stream_count
	        && !memory_grow(
	                runtime, &device->streams, device->stream_count, &device->stream_room, sizeof *device->streams))
		return say(INGOT_MEMORY, "no memory for a stream");
	struct stream *stream = memory_new(runtime, 1, sizeof *stream);
	if (!stream)
		return say(INGOT_MEMORY, "no memory for a stream");
	stream->device = device;
	stream->number = number;
	stream->room = runtime->options.queue_capacity;
	stream->queue.stream = stream;
	stream->in_place = device->backend->table->waits_inline;
	stream->overlaps = device->backend->table->event_record && device->backend->table->event_wait;
	snprintf(stream->name, sizeof stream->name, "%s.%u", device->name, number);
	enum ingot_status status = handle_new(runtime, &stream->object, KIND_STREAM);
	if (status) {
		memory_free(runtime, stream);
		return status;
	}
	device->streams[number] = stream;
	if (number == device->stream_count)
		device->stream_count++;
	object_keep(&device->object);
	leave(runtime);
	status = device->backend->table->queue_open(device->raw, &stream->queue, &stream->raw, text);
	enter(runtime);
	if (status) {
		say(status, "%s: no queue: %s", stream->name, device_words(device, status, text));
		device->streams[number] = NULL;
		handle_close(&stream->object);
		return status;
	}
	*out = stream;
	return INGOT_OK;
}

/* What was submitted by now; work that others go on submitting is not waited for. */
void stream_finish(struct stream *stream)
{
	if (!stream->tail)
		return;
	object_keep(&stream->object);
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
void stream_end(struct stream *stream)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	struct device *device = stream->device;
	hazard_release(runtime, &stream->merge);
	object_keep(&stream->object);
	leave(runtime);
	while (atomic_load(&stream->wakers))
		yield_briefly();
	if (stream->mark)
		device->backend->table->event_close(device->raw, stream->mark);
	stream->mark = NULL;
	device->backend->table->queue_close(stream->raw);
	enter(runtime);
	device->streams[stream->number] = NULL;
	changed(runtime);
	handle_close(&stream->object);
	object_drop(&stream->object);
}

static enum ingot_status stream_close(struct object *object)
{
	struct stream *stream = (struct stream *)object;
	enum ingot_status status = stream_refuses(stream);
	status = status ? status : task_refuses("cannot close a stream");
	if (status)
		return status;
	if (stream->contexts)
		return say(INGOT_BUSY, "%s has %u contexts", stream->name, stream->contexts);
	if (stream == stream->device->main)
		return object->runtime->options.single_stream
		        ? INGOT_OK
		        : say(INGOT_BUSY, "%s is its device's default stream", stream->name);
	stream->closing = true;
	stream_forgo(stream, NULL, NULL);
	stream_finish(stream);
	stream_end(stream);
	return INGOT_OK;
}

enum ingot_status ingot_stream_close(struct ingot_stream handle) { return DO(stream, handle, stream_close); }

enum ingot_status ingot_stream_open(struct ingot_device handle, struct ingot_stream *out)
{
	NEED(out);
	enum ingot_status status;
	struct device *device = device_enter(handle, &status);
	struct stream *stream = NULL;
	if (!device)
		return status;
	struct ingot_runtime *runtime = device->object.runtime;
	if (runtime->options.single_stream)
		stream = device->main;
	else {
		object_keep(&device->object);
		placing_begin(device);
		status = device->closing ? say(INGOT_STALE, "the device is being closed") : stream_new(device, &stream);
		placing_end(device);
		object_drop(&device->object);
	}
	if (!status)
		*out = HANDLE(ingot_stream, stream);
	leave(runtime);
	return status;
}

enum ingot_status ingot_stream_default(struct ingot_device handle, struct ingot_stream *out)
{
	NEED(out);
	enum ingot_status status;
	struct device *device = device_enter(handle, &status);
	if (!device)
		return status;
	*out = HANDLE(ingot_stream, device->main);
	leave(handle.runtime);
	return INGOT_OK;
}

static enum ingot_status stream_await(struct object *object)
{
	struct stream *stream = (struct stream *)object;
	enum ingot_status status = stream->head ? task_refuses("must not wait for a stream") : INGOT_OK;
	if (status)
		return status;
	stream_finish(stream);
	return stream_report(stream);
}

enum ingot_status ingot_stream_await(struct ingot_stream handle) { return DO(stream, handle, stream_await); }

enum ingot_status ingot_stream_idle(struct ingot_stream handle, bool *idle)
{
	ANSWER(stream, handle, idle, !stream->head);
}

enum ingot_status ingot_stream_failure(struct ingot_stream handle, char *text, size_t room)
{
	NEED_OPEN(stream, handle);
	enum ingot_status status = stream->failure ? stream->failure->status : INGOT_OK;
	if (text && room)
		snprintf(text, room, "%s", stream->failure ? stream->failure->text : "");
	leave(stream->object.runtime);
	return status;
}

static enum ingot_status stream_restart(struct object *object)
{
	struct stream *stream = (struct stream *)object;
	enum ingot_status status = stream_refuses(stream);
	status = status                ? status
	        : stream->device->lost ? say_failure(stream->device->lost)
	        : stream->head         ? task_refuses("cannot restart a stream")
	                               : INGOT_OK;
	if (status)
		return status;
	stream_finish(stream); /* what was queued behind the failure stays skipped */
	failure_drop(object->runtime, stream->failure);
	stream->failure = NULL;
	stream->reported = stream->passed_failure = false;
	return INGOT_OK;
}

enum ingot_status ingot_stream_restart(struct ingot_stream handle) { return DO(stream, handle, stream_restart); }

static enum ingot_status stream_cancel(struct object *object)
{
	for (struct ingot_command *command = ((struct stream *)object)->head; command; command = command->next)
		if (atomic_load_explicit(&command->state, memory_order_relaxed) == COMMAND_QUEUED)
			command_cancel(command);
		else if (INGOT_THREADS)
			command_ask_to_end(command);
	changed(object->runtime);
	return INGOT_OK;
}

enum ingot_status ingot_stream_limit(struct ingot_stream handle, uint32_t commands, bool blocks)
{
	NEED_OPEN(stream, handle);
	stream->room = commands ? commands : handle.runtime->options.queue_capacity;
	stream->refuses = !blocks;
	leave(handle.runtime);
	return INGOT_OK;
}

enum ingot_status ingot_stream_cancel(struct ingot_stream handle) { return DO(stream, handle, stream_cancel); }

enum ingot_status ingot_stream_device(struct ingot_stream handle, struct ingot_device *out)
{
	ANSWER(stream, handle, out, HANDLE(ingot_device, stream->device));
}

bool ingot_stream_equal(struct ingot_stream a, struct ingot_stream b)
{
	return a.runtime == b.runtime && a.index == b.index && a.generation == b.generation;
}

int ingot_stream_number(struct ingot_stream handle)
{
	struct stream *stream = ENTER(stream, handle);
	if (!stream)
		return -1;
	int number = (int)stream->number;
	leave(stream->object.runtime);
	return number;
}

uint32_t ingot_stream_queued(struct ingot_stream handle)
{
	struct stream *stream = ENTER(stream, handle);
	if (!stream)
		return 0;
	uint32_t count = stream->count;
	leave(stream->object.runtime);
	return count;
}

size_t ingot_stream_name(struct ingot_stream handle, char *text, size_t room)
{
	struct stream *stream = ENTER(stream, handle);
	struct sink sink = { text, room, 0 };
	if (!stream)
		return 0;
	sink_printf(&sink, "%s", stream->name);
	leave(stream->object.runtime);
	return sink_end(&sink);
}
