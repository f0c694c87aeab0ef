/* command.c: commands in queues -> done.
 *
 * A command starts when it is the first of its queue and everything it has an edge from is done.  Edges come from
 * hazards and waits (submit.c) and always point at commands submitted before, so they cannot form a circle; only a
 * promise, which somebody keeps later, could (promise.c), and that is looked for when the keeper is submitted.  No
 * thread is parked for a wait: the last predecessor to finish wakes the queue. */
#include <stdlib.h>
#include "futex.h"
#include "inside.h"

static THREAD_LOCAL struct stream *running; /* the stream whose command this thread is in */

bool inside_task(void) { return running != NULL; }
enum ingot_status task_refuses(const char *what)
{
	return running ? say(INGOT_WOULD_BLOCK,
	               "a task %s: its stream stands meanwhile; submit it behind the event instead", what)
	               : INGOT_OK;
}

/* ---- memory: blocks of one size go from command to command, and from event to event ---- */

/* Holds a task with some waits; more than that is allocated for the one command. */
#define BLOCK_BYTES (sizeof(void *) == 8 ? 512 : 384)

struct spare {
	struct spare *next;
};

void *spare_take(struct spares *spares, size_t cleared)
{
	struct spare *spare = spares->first;
	if (!spare)
		return NULL;
	spares->first = spare->next;
	spares->count--;
	return memset(spare, 0, cleared);
}

void spare_give(struct ingot_runtime *runtime, struct spares *spares, void *block)
{
	if (spares->count >= runtime->options.spare_commands) {
		memory_free(runtime, block);
		return;
	}
	struct spare *spare = block;
	spare->next = spares->first;
	spares->first = spare;
	spares->count++;
}

struct ingot_command *command_new(struct ingot_runtime *runtime, size_t bytes, size_t cleared)
{
	struct ingot_command *command = bytes <= BLOCK_BYTES ? spare_take(&runtime->commands, cleared) : NULL;
	if (!command && !(command = memory_new(runtime, 1, bytes < BLOCK_BYTES ? BLOCK_BYTES : bytes)))
		return NULL;
	command->runtime = runtime;
	command->refs = 1;
	command->reusable = bytes <= BLOCK_BYTES;
	return command;
}

static void befores_drop(struct ingot_command *command)
{
	for (uint32_t i = 0; i < command->before_count; i++)
		held_drop(command->runtime, command->befores + i);
	command->before_count = 0;
}

void command_drop(struct ingot_command *command)
{
	if (!command || --command->refs)
		return;
	struct ingot_runtime *runtime = command->runtime;
	failure_drop(runtime, command->failure);
	failure_drop(runtime, command->cause);
	befores_drop(command);
	if (command->reusable)
		spare_give(runtime, &runtime->commands, command);
	else
		memory_free(runtime, command);
}

void spares_release(struct ingot_runtime *runtime, struct spares *spares)
{
	for (void *spare; (spare = spare_take(spares, 0));)
		memory_free(runtime, spare);
}

/* The command that its backend gets next. */
static struct ingot_command *next_of(const struct stream *stream)
{
	return OVERLAPS(stream) ? stream->issue : stream->head;
}

static bool startable(const struct stream *stream)
{
	const struct ingot_command *next = next_of(stream);
	return next && !next->pending && atomic_load_explicit(&next->state, memory_order_relaxed) == COMMAND_QUEUED
	        && (!next->on_host || next == stream->head);
}

/* Runs one command of some stream that has no thread of its own; whoever waits does that, as it may wait for just
 * this. */
static bool run_one(struct stream *);

static bool run_inline(struct ingot_runtime *runtime)
{
	if (!runtime->in_place_queued)
		return false;
	for (EACH(stream, stream, runtime)) {
		if (!stream->device || !stream->in_place || !startable(stream))
			continue;
		object_keep(&stream->object);
		run_one(stream);
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

/* Whether nothing depends on those who wait: all streams with work have threads of their own. */
static bool runs_by_itself(const struct ingot_runtime *runtime)
{
	for (const struct backend *backend = runtime->backends; backend; backend = backend->next)
		if (backend->table->progress)
			return false;
	return !runtime->in_place_queued;
}

static bool past(uint64_t until) { return INGOT_THREADS && until != NO_DEADLINE && clock_nanoseconds() >= until; }

/* Locked before and behind.  Whoever ends the command has the lock, so it sees the sleeper, or the sleeper the end. */
static void command_sleep(struct ingot_command *command, enum command_state wanted, uint64_t until)
{
	uint32_t state;
	command->sleepers++;
	leave(command->runtime);
	while ((state = atomic_load(&command->state)) < (uint32_t)wanted && !past(until))
		futex_wait_until(&command->state, state, until);
	enter(command->runtime);
	command->sleepers--;
}

static bool reached(const struct ingot_command *command, enum command_state wanted)
{
	return atomic_load_explicit(&command->state, memory_order_acquire) >= (uint32_t)wanted;
}

/* False: the moment came first. */
static bool wait_for(struct ingot_command *command, enum command_state wanted, uint64_t until)
{
	struct ingot_runtime *runtime = command->runtime;
	command_keep(command);
	/* Most work is short: look for a moment before sleeping. */
	if (INGOT_THREADS && !reached(command, wanted)) {
		leave(runtime);
		for (int i = 0; i < 200 && !reached(command, wanted); i++)
			i % 16 == 15 ? yield_briefly() : pause_briefly();
		enter(runtime);
	}
	while (!reached(command, wanted) && !past(until)) {
		/* What ends while progress has given the lock up is not missed. */
		uint32_t seen = atomic_load(&runtime->change);
		runtime->waiting++;
		bool progressed = progress(runtime);
		runtime->waiting--;
		if (progressed || reached(command, wanted) || atomic_load(&runtime->change) != seen)
			continue;
		if (INGOT_THREADS && runs_by_itself(runtime)) {
			command_sleep(command, wanted, until);
			continue;
		}
		change_wait_until(runtime, until);
	}
	bool there = reached(command, wanted);
	command_drop(command);
	return there;
}

void command_wait(struct ingot_command *command) { wait_for(command, COMMAND_FORGONE, NO_DEADLINE); }
void command_wait_done(struct ingot_command *command) { wait_for(command, COMMAND_DONE, NO_DEADLINE); }
bool command_wait_until(struct ingot_command *command, uint64_t until)
{
	return wait_for(command, COMMAND_FORGONE, until);
}

void stream_wake(struct stream *stream)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	if (!INGOT_THREADS || stream->in_place || stream->to_wake || !startable(stream))
		return;
	stream->to_wake = true;
	stream->next_to_wake = runtime->to_wake;
	runtime->to_wake = stream;
}

void command_wake(const struct ingot_command *command)
{
	if (command->stream && next_of(command->stream) == command)
		stream_wake(command->stream);
}

void edge_settle(struct edge *edge)
{
	const struct stream *to = edge->to->stream, *from = edge->from->stream;
	if (edge->on_device || !to || !from || !OVERLAPS(to) || edge->to->on_host
	        || to->device->backend != from->device->backend
	        || atomic_load_explicit(&edge->from->state, memory_order_relaxed) != COMMAND_ISSUED)
		return;
	edge->on_device = true;
	edge->to->pending--;
}

/* The command was skipped, and those that wrote before it are done: what its places hold is what these left. */
static void befores_settle(struct ingot_command *command)
{
	for (uint32_t i = 0; i < command->edge_count; i++) {
		const struct edge *edge = command->edges + i;
		if (!edge->from || edge->place == NO_PLACE)
			continue;
		struct held *before = command->befores + edge->place;
		if (edge->from->skipped)
			held_set(command->runtime, before, edge->from->befores + edge->from_place);
		else
			taint_set(command->runtime, before, edge->from->failure);
	}
}

/* On devices that run in place the submitter runs the queue, until its own command is over; inside a task the one who
 * runs this queue goes on with it. */
static void run_through(struct stream *stream, struct ingot_command *command)
{
	command_keep(command);
	while (stream->head) {
		if (run_one(stream))
			continue;
		if (command_over(command) || running)
			break;
		command_wait(stream->head);
	}
	command_drop(command);
}

void leave_dropping(struct stream *stream)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	if (stream->in_place && stream->tail)
		run_through(stream, stream->tail);
	object_drop(&stream->object);
	leave(runtime);
}

/* ---- running ---- */

/* The streams whose work the device has to end first; they stay until it was told. */
static void waits_find(struct ingot_command *command)
{
	for (uint32_t i = 0; i < command->edge_count; i++) {
		struct edge *edge = command->edges + i;
		struct stream *from = edge->from ? edge->from->stream : NULL;
		if (!from || from == command->stream || command_done(edge->from))
			continue;
		for (uint32_t k = 0; k < i && from; k++)
			if (command->edges[k].waits == from)
				from = NULL;
		if (!from)
			continue;
		atomic_fetch_add(&from->wakers, 1);
		edge->waits = from;
	}
}

static enum ingot_status waits_issue(struct ingot_command *command, void *queue, char *text)
{
	enum ingot_status status = INGOT_OK;
	for (uint32_t i = 0; i < command->edge_count; i++) {
		struct stream *from = command->edges[i].waits;
		if (!from)
			continue;
		const struct ingot_backend *table = from->device->backend->table;
		enter(command->runtime);
		if (!status && !from->mark && (status = table->event_open(from->device->raw, &from->mark, text)))
			from->mark = NULL;
		void *mark = from->mark;
		leave(command->runtime);
		if (!status)
			status = table->event_record(from->raw, mark, text);
		if (!status)
			status = table->event_wait(queue, mark, text);
		command->edges[i].waits = NULL;
		atomic_fetch_sub(&from->wakers, 1);
	}
	return status;
}

/* The device could not be told to wait, so the host does: who comes later relies on that order. */
static void waits_end(struct ingot_command *command)
{
	struct ingot_runtime *runtime = command->runtime;
	enter(runtime);
	for (uint32_t i = 0; i < command->edge_count; i++)
		if (command->edges[i].on_device && command->edges[i].from->stream != command->stream)
			command_wait(command->edges[i].from);
	leave(runtime);
}

/* The first of the queue, if it may start; now it has. */
static struct ingot_command *take(struct stream *stream)
{
	if (!startable(stream))
		return NULL;
	struct ingot_command *command = next_of(stream);
	atomic_store_explicit(&command->state, COMMAND_RUNNING, memory_order_relaxed);
	/* Decided here, under the lock: what has begun cannot be cancelled. */
	if (!command->cause && (stream->device->lost || stream->failure))
		command->cause = failure_keep(stream->device->lost ? stream->device->lost : stream->failure);
	if (OVERLAPS(stream))
		waits_find(command);
	if (stream->object.runtime->trace)
		command->began = clock_nanoseconds();
	return command;
}

struct ingot_command *ingot_queue_next(struct ingot_queue *queue)
{
	enter(queue->stream->object.runtime);
	struct ingot_command *command = take(queue->stream);
	leave(queue->stream->object.runtime);
	return command;
}

void command_ask_to_end(struct ingot_command *command)
{
	atomic_store_explicit(&command->to_end, 1, memory_order_relaxed);
}

/* Known at once, so that what is not issued yet is not. */
static enum ingot_status command_fails(struct ingot_command *command, enum ingot_status status, const char *text)
{
	struct ingot_runtime *runtime = command->runtime;
	struct stream *stream = command->stream;
	enter(runtime);
	if (INGOT_THREADS && status == INGOT_FAILED && atomic_load_explicit(&command->to_end, memory_order_relaxed))
		status = INGOT_CANCELLED;
	command->failure = failure_new(
	        runtime, status, "%s: %s: %s", stream->name, command->name, text[0] ? text : ingot_status_text(status));
	if (OVERLAPS(stream) && !stream->failure && status != INGOT_CANCELLED)
		stream->failure = failure_keep(command->failure);
	if (status == INGOT_LOST)
		device_lost(stream->device, command->failure->text);
	leave(runtime);
	return status;
}

void ingot_command_failed(struct ingot_command *command, enum ingot_status status, const char *text)
{
	if (!command->failure && !command->cause)
		command_fails(command, status, text);
}

enum ingot_status ingot_command_run(struct ingot_command *command)
{
	char text[TEXT_ROOM];
	struct stream *before = running, *stream = command->stream;
	text[0] = '\0';
	enum ingot_status status = OVERLAPS(stream) ? waits_issue(command, stream->raw, text) : INGOT_OK;
	if (OVERLAPS(stream) && status)
		waits_end(command);
	if (!status && (command->cancelled || command->cause)) {
		command->skipped = true;
		return INGOT_CANCELLED; /* finish finds out why */
	}
	if (!status && !command->run)
		return INGOT_OK;
	running = stream;
	status = status ? status : command->run(command, text);
	if (!status && command->ended && !OVERLAPS(stream))
		status = command->ended(command, text);
	running = before;
	return status ? command_fails(command, status, text) : status;
}

/* The backend has the command: what comes behind it may be issued, and does not wait for the host. */
void ingot_queue_inside(struct ingot_queue *queue) { running = queue ? queue->stream : NULL; }

void ingot_queue_issued(struct ingot_queue *queue)
{
	struct stream *stream = queue->stream;
	struct ingot_runtime *runtime = stream->object.runtime;
	enter(runtime);
	struct ingot_command *command = stream->issue;
	/* Where it is finished already, the next one, which has not begun, stands here. */
	if (command && OVERLAPS(stream)
	        && atomic_load_explicit(&command->state, memory_order_relaxed) == COMMAND_RUNNING) {
		atomic_store_explicit(&command->state, COMMAND_ISSUED, memory_order_release);
		stream->issue = command->next;
		for (struct edge *edge = command->successors; edge; edge = edge->next) {
			edge_settle(edge);
			command_wake(edge->to);
		}
		stream_wake(stream);
	}
	leave(runtime);
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
		return failure_new(
		        runtime, status, "%s: %s: %s", stream->name, command->name, ingot_status_text(status));
	if (command->cause == stream->failure)
		return failure_keep(stream->failure);
	if (command->cause->cancelled)
		return failure_new(runtime, INGOT_CANCELLED, "%s: %s was cancelled: it waits for: %.120s", stream->name,
		        command->name, command->cause->text);
	return failure_new(runtime, INGOT_DEPENDENCY, "%s: %s was not run: it waits for: %.120s", stream->name,
	        command->name, command->cause->text);
}

/* Of who wrote the place before a command that was skipped. */
static struct failure *failure_before(const struct ingot_command *command, uint16_t place)
{
	for (uint32_t i = 0; i < command->edge_count; i++)
		if (command->edges[i].from && command->edges[i].place == place)
			return command->edges[i].from->failure;
	return command->befores[place].taint;
}

/* ready: takes those that were forgone, and wait for nothing any more. */
static void successors_free(struct ingot_command *command, struct ingot_command **ready)
{
	struct edge *next;
	for (struct edge *edge = command->successors; edge; edge = next) {
		struct ingot_command *to = edge->to;
		next = edge->next;
		struct failure *failure = edge->carries ? command->failure
		        : INGOT_THREADS && edge->before ? failure_before(command, edge->from_place)
		                                        : NULL;
		if (failure && !to->cause)
			to->cause = failure_keep(failure);
		if (edge->on_device || --to->pending)
			continue;
		if (INGOT_THREADS && command_over(to)) {
			to->next = *ready;
			*ready = to;
		} else
			command_wake(to);
	}
	command->successors = NULL;
}

void command_reach(struct ingot_command *command, enum command_state state)
{
	atomic_store_explicit(&command->state, state, memory_order_release);
	if (command->sleepers)
		futex_wake(&command->state, INT_MAX);
}

void command_end(struct ingot_command *command)
{
	struct ingot_command *ready = command;
	while ((command = ready)) {
		bool forgone = INGOT_THREADS && command_over(command);
		ready = command->next;
		command->next = NULL;
		if (command->skipped)
			befores_settle(command);
		else
			befores_drop(command);
		command_reach(command, COMMAND_DONE);
		successors_free(command, &ready);
		for (uint32_t i = 0; i < command->edge_count; i++)
			command_drop(command->edges[i].from);
		command->edge_count = 0;
		if (forgone)
			command_drop(command);
	}
}

void trace_add(struct ingot_command *command, const char *name, uint64_t began)
{
	struct ingot_runtime *runtime = command->runtime;
	if (!runtime->trace)
		return;
	struct trace_entry *entry = runtime->trace + runtime->trace_count++ % runtime->trace_room;
	*entry = (struct trace_entry){ .device = command->stream->device->properties.id,
		.stream = command->stream->number,
		.began = began,
		.ended = clock_nanoseconds(),
		.failed = command->failure != NULL };
	snprintf(entry->name, sizeof entry->name, "%s", name);
}

void command_destroy(struct ingot_command *command)
{
	if (!command->destroy)
		return;
	struct stream *before = running;
	running = command->stream;
	command->destroy(command->payload);
	running = before;
}

void command_leave(struct ingot_command *command)
{
	struct stream *stream = command->stream;
	*(command->previous ? &command->previous->next : &stream->head) = command->next;
	*(command->next ? &command->next->previous : &stream->tail) = command->previous;
	if (stream->issue == command)
		stream->issue = command->next;
	stream->count--;
	if (stream->in_place)
		command->runtime->in_place_queued--;
	command->previous = command->next = NULL;
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
}

/* The lock is held.  The queue's references, to the command and of the command to its stream, end here. */
static void finish(struct ingot_command *command, enum ingot_status status)
{
	struct ingot_runtime *runtime = command->runtime;
	struct stream *stream = command->stream;
	/* It ran on the device behind something that failed there: what it made of that is worth nothing. */
	if (!status && !command->failure && OVERLAPS(stream) && !command->cause && stream->passed_failure)
		command->cause = failure_keep(stream->failure);
	if (!status && !command->failure && OVERLAPS(stream) && command->cause)
		status = INGOT_DEPENDENCY;
	if (status == INGOT_LOST)
		device_lost(stream->device, ingot_status_text(status));
	if (status || command->failure)
		command->failure = failure_find(command, status);
	if (command->failure && !command->failure->cancelled) {
		stream->passed_failure = true;
		if (!stream->failure)
			stream->failure = failure_keep(command->failure);
	}
	if (INGOT_THREADS && command->began)
		trace_add(command, command->name, command->began);
	command_leave(command);
	command_end(command);
	changed(runtime);
	command_drop(command);
	object_drop(&stream->object);
}

void ingot_command_finish(struct ingot_command *command, enum ingot_status status)
{
	struct ingot_runtime *runtime = command->runtime;
	struct stream *stream = command->stream;
	char text[TEXT_ROOM];
	text[0] = '\0';
	if (!status && OVERLAPS(stream) && command->ended && !command->skipped
	        && (status = command->ended(command, text)))
		command_fails(command, status, text);
	command_destroy(command);
	enter(runtime);
	object_keep(&stream->object);
	finish(command, status);
	stream_wake(stream);
	object_drop(&stream->object);
	leave(runtime);
}

/* Gives the lock up for the command itself; one end and the next beginning share a lock. */
static bool run_one(struct stream *stream)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	struct ingot_command *command = take(stream);
	if (!command)
		return false;
	leave(runtime);
	enum ingot_status status = ingot_command_run(command);
	command_destroy(command);
	enter(runtime);
	finish(command, status);
	return true;
}

bool ingot_queue_run(struct ingot_queue *queue, bool (*enough)(void *), void *argument)
{
	struct stream *stream = queue->stream;
	struct ingot_runtime *runtime = stream->object.runtime;
	enter(runtime);
	while (run_one(stream) && !(enough && enough(argument)))
		;
	bool more = startable(stream);
	leave(runtime);
	return more;
}
