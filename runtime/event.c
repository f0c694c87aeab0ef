/* event.c: handles to the end of some work. */
#include "inside.h"

enum ingot_status event_reserve(
        struct device *device, struct ingot_runtime *runtime, const struct ingot_event *wanted, struct event **out)
{
	*out = NULL;
	if (!wanted)
		return INGOT_OK;
	struct event *event = spare_take(&runtime->events, sizeof *event);
	if (!event && !(event = memory_new(runtime, 1, sizeof *event)))
		return say(INGOT_MEMORY, "no memory for an event");
	enum ingot_status status = handle_new(runtime, &event->object, KIND_EVENT);
	if (status) {
		spare_give(runtime, &runtime->events, event);
		return status;
	}
	if ((event->device = device)) {
		device->events++;
		device->events_made++;
		object_keep(&device->object);
	}
	*out = event;
	return INGOT_OK;
}

void event_bind(struct event *event, struct ingot_command *command, struct ingot_event *handle)
{
	if (!event)
		return;
	event->command = command;
	if (command) {
		command_keep(command);
		command->events++;
	}
	*handle = HANDLE(ingot_event, event);
}

void event_unreserve(struct event *event)
{
	if (event)
		handle_close(&event->object);
}

void event_release(struct object *object)
{
	struct event *event = (struct event *)object;
	struct ingot_runtime *runtime = object->runtime;
	if (event->command)
		event->command->events--;
	command_drop(event->command);
	failure_drop(runtime, event->failure);
	if (event->device) {
		event->device->events--;
		object_drop(&event->device->object);
	}
	spare_give(runtime, &runtime->events, event);
}

enum ingot_status event_new(
        struct device *device, struct ingot_runtime *runtime, struct ingot_command *command, struct ingot_event *handle)
{
	struct event *event;
	enum ingot_status status = event_reserve(device, runtime, handle, &event);
	if (!status)
		event_bind(event, command, handle);
	return status;
}

enum ingot_status ingot_event_record(struct ingot_stream handle, struct ingot_event *out)
{
	NEED(out);
	NEED_OPEN(stream, handle);
	struct submission submission;
	struct ingot_command *command = NULL;
	enum ingot_status status = submission_begin_mark(&submission, stream, out);
	/* On a stream that stopped the mark carries its failure; the failure itself stays to be reported. */
	if (!status && stream->failure && !stream->head)
		submission.event->failure = failure_keep(stream->failure);
	else if (!status)
		status = submit(&(struct request){ .stream = stream, .name = "mark" }, &command);
	return submission_end(&submission, status, command);
}

enum ingot_status ingot_stream_wait(struct ingot_stream stream, struct ingot_event event)
{
	return ingot_task_submit(
	        stream, &(struct ingot_task){ .name = "wait", .waits = &event, .wait_count = 1 }, NULL);
}

enum ingot_status ingot_event_open(struct ingot_runtime *runtime, struct ingot_event *out)
{
	struct event *event = NULL;
	NEED(runtime && out);
	NEED_LIVING(runtime);
	enter(runtime);
	struct ingot_command *promise = promise_new(runtime);
	enum ingot_status status =
	        promise ? event_reserve(NULL, runtime, out, &event) : say(INGOT_MEMORY, "no memory for an event");
	if (!status) {
		event_bind(event, promise, out);
		event->promise = true;
	}
	command_drop(promise);
	leave(runtime);
	return status;
}

static enum ingot_status event_signal(struct object *object)
{
	struct event *event = (struct event *)object;
	if (!event->promise || command_done(event->command) || event->command->signaller)
		return say(INGOT_PRESENT, "this event is not promised, or is signalled already");
	promise_keep_or_break(event->command, NULL);
	return INGOT_OK;
}

enum ingot_status ingot_event_signal(struct ingot_event handle) { return DO(event, handle, event_signal); }

enum ingot_status ingot_event_done(struct ingot_event handle, bool *done)
{
	ANSWER(event, handle, done, !event->command || command_over(event->command));
}

static enum ingot_status sync_until(struct event *event, uint64_t until)
{
	enum ingot_status status = event->command && !command_over(event->command)
	        ? task_refuses("must not wait for other work")
	        : INGOT_OK;
	if (status)
		return status;
	if (!INGOT_THREADS && event->command && !event->command->stream && !event->command->signaller
	        && !command_over(event->command))
		return say(INGOT_WOULD_BLOCK, "there is no other thread that could signal the event");
	if (event->command && !command_wait_until(event->command, until))
		return say(INGOT_TIMEOUT, "the event's work was not done by then");
	const struct failure *failure = event->command ? event->command->failure : event->failure;
	return failure ? say_failure(failure) : INGOT_OK;
}

static enum ingot_status event_sync(struct object *object) { return sync_until((struct event *)object, NO_DEADLINE); }

enum ingot_status ingot_event_sync(struct ingot_event handle) { return DO(event, handle, event_sync); }

enum ingot_status ingot_event_sync_until(struct ingot_event handle, uint64_t deadline)
{
	NEED_OPEN(event, handle);
	object_keep(&event->object);
	enum ingot_status status = sync_until(event, deadline);
	object_drop(&event->object);
	leave(handle.runtime);
	return status;
}

uint64_t ingot_clock(void) { return clock_nanoseconds(); }

static enum ingot_status event_cancel(struct object *object)
{
	struct event *event = (struct event *)object;
	struct ingot_command *command = event->command;
	if (!command || atomic_load_explicit(&command->state, memory_order_relaxed) != COMMAND_QUEUED) {
		if (INGOT_THREADS && command)
			command_ask_to_end(command);
		return say(INGOT_BUSY, "it has begun already");
	}
	if (event->promise)
		promise_keep_or_break(
		        command, failure_new(object->runtime, INGOT_CANCELLED, "the event was cancelled"));
	else
		command_cancel(command);
	changed(object->runtime);
	return INGOT_OK;
}

enum ingot_status ingot_event_cancel(struct ingot_event handle) { return DO(event, handle, event_cancel); }

/* At once, not with the last reference: who waits for the promise holds one. */
void event_close(struct event *event)
{
	if (event->promise && event->command && !command_done(event->command) && !event->command->signaller)
		promise_keep_or_break(event->command,
		        failure_new(event->object.runtime, INGOT_CANCELLED,
		                "the event was closed before it was signalled"));
	handle_close(&event->object);
}

static enum ingot_status object_close(struct object *object)
{
	event_close((struct event *)object);
	return INGOT_OK;
}

enum ingot_status ingot_event_close(struct ingot_event handle) { return DO(event, handle, object_close); }
