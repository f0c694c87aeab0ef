/* command.c: requests -> commands in queues -> done.
 *
 * A command starts when it is the first of its queue and everything it has an edge from is done.  Edges come from
 * hazards and waits and always point at commands submitted before, so they cannot form a circle; only a promise, which
 * somebody keeps later, could, and that is looked for when the keeper is submitted.  No thread is parked for a wait:
 * the last predecessor to finish wakes the queue. */
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

/* What is behind `cleared` bytes the caller fills. */
static struct ingot_command *command_new(struct ingot_runtime *runtime, size_t bytes, size_t cleared)
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

/* Runs one command of some stream that has no thread of its own; whoever waits does that, as it may wait for just this.
 */
static bool run_one(struct stream *);

static bool run_inline(struct ingot_runtime *runtime)
{
	if (!runtime->in_place_queued)
		return false;
	for (EACH(stream, stream, runtime, KIND_STREAM)) {
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

/* Locked before and behind.  Whoever ends the command has the lock, so it sees the sleeper, or the sleeper the end. */
static void command_sleep(struct ingot_command *command, enum command_state wanted)
{
	uint32_t state;
	command->sleepers++;
	leave(command->runtime);
	while ((state = atomic_load(&command->state)) < (uint32_t)wanted)
		futex_wait(&command->state, state);
	enter(command->runtime);
	command->sleepers--;
}

static bool reached(const struct ingot_command *command, enum command_state wanted)
{
	return atomic_load_explicit(&command->state, memory_order_acquire) >= (uint32_t)wanted;
}

static void wait_for(struct ingot_command *command, enum command_state wanted)
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
	while (!reached(command, wanted)) {
		/* What ends while progress has given the lock up is not missed. */
		uint32_t seen = atomic_load(&runtime->change);
		runtime->waiting++;
		bool progressed = progress(runtime);
		runtime->waiting--;
		if (progressed || reached(command, wanted) || atomic_load(&runtime->change) != seen)
			continue;
		if (INGOT_THREADS && runs_by_itself(runtime)) {
			command_sleep(command, wanted);
			continue;
		}
		change_wait(runtime);
	}
	command_drop(command);
}

void command_wait(struct ingot_command *command) { wait_for(command, COMMAND_FORGONE); }
void command_wait_done(struct ingot_command *command) { wait_for(command, COMMAND_DONE); }

/* What may be startable now is told to the backend once: only by what made it so. */
static void wake(struct stream *stream)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	if (!INGOT_THREADS || stream->in_place || stream->to_wake || !startable(stream))
		return;
	stream->to_wake = true;
	stream->next_to_wake = runtime->to_wake;
	runtime->to_wake = stream;
}

/* The command waits for less than before: for its stream that matters where it is the next. */
static void wake_for(const struct ingot_command *command)
{
	if (command->stream && next_of(command->stream) == command)
		wake(command->stream);
}

/* ---- submitting ---- */

/* Tells of the failure once; then says that the stream has stopped. */
enum ingot_status stream_report(struct stream *stream)
{
	bool told = stream->reported;
	if (!stream->failure)
		return INGOT_OK;
	stream->reported = true;
	return told ? say(INGOT_STOPPED, "%s stopped: %s", stream->name, stream->failure->text)
	            : say_failure(stream->failure);
}

enum ingot_status stream_refuses(const struct stream *stream)
{
	return stream->closing || !stream->object.generation ? say(INGOT_STALE, "%s is being closed", stream->name)
	                                                     : INGOT_OK;
}

enum ingot_status stream_room(struct stream *stream)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	enum ingot_status status = INGOT_OK;
	if (INGOT_THREADS && !stream->closing && stream->object.generation && !stream->device->lost && !stream->failure
	        && stream->count < runtime->options.queue_capacity)
		return INGOT_OK;
	object_keep(&stream->object);
	for (;;) {
		if ((status = stream_refuses(stream)))
			break;
		if (stream->device->lost)
			status = say_failure(stream->device->lost);
		else if (stream->failure)
			status = stream_report(stream);
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

/* What the backend has already it orders itself, for queues of its own; so the host need not wait till it is done. */
static void edge_settle(struct edge *edge)
{
	const struct stream *to = edge->to->stream, *from = edge->from->stream;
	if (edge->on_device || !to || !from || !OVERLAPS(to) || edge->to->on_host
	        || to->device->backend != from->device->backend
	        || atomic_load_explicit(&edge->from->state, memory_order_relaxed) != COMMAND_ISSUED)
		return;
	edge->on_device = true;
	edge->to->pending--;
}

static struct edge *edge_add(struct ingot_command *command, struct ingot_command *from, bool carries)
{
	if (command_done(from)) {
		if (carries && from->failure && !command->cause)
			command->cause = failure_keep(from->failure);
		return NULL;
	}
	struct edge *edge = command->edges + command->edge_count++;
	*edge = (struct edge){ .from = from,
		.to = command,
		.next = from->successors,
		.carries = carries,
		.place = NO_PLACE,
		.from_place = NO_PLACE };
	from->successors = edge;
	command_keep(from);
	command->pending++;
	if (OVERLAPS(command->stream))
		edge_settle(edge);
	return edge;
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

/* The last reader of a stream stands for those before it there, which end first: so a place that is only read costs
 * each of many runs the same. */
static void reader_add(struct hazard *hazard, struct ingot_command *command)
{
	uint32_t k = 0;
	while (k < hazard->reader_count && hazard->readers[k]->stream != command->stream)
		k++;
	if (k < hazard->reader_count)
		command_drop(hazard->readers[k]);
	else {
		hazard->reader_count++;
		command->runtime->hazards++;
	}
	hazard->readers[k] = command;
}

/* What the place will hold when the command is done. */
static void hold(struct ingot_command *command, const struct access *access)
{
	struct ingot_runtime *runtime = command->runtime;
	struct held *held = &access->hazard->held;
	struct node *node = access->node;
	if (access->gives == GIVES_NEW || (access->gives == GIVES_PART && held->version == node_newest(node)))
		held->version = ++node->stamp;
	else if (access->gives == GIVES_VALUE)
		held->version = access->version;
	if (access->gives)
		held->holds = access->gives == GIVES_ZEROS ? HOLDS_ZEROS : HOLDS_VALUE;
	held->written = ++runtime->writes;
	if (access->location && access->gives > GIVES_ZEROS && ingot_mode_known_shared(&node->mode)) {
		held->owner = command->stream->object.index;
		held->owner_generation = command->stream->object.generation;
	}
	taint_set(runtime, held, NULL);
	if (access->content)
		content_set(runtime, held, access->content);
}

/* The merge buffer's reader: whoever overwrites what it streams need not copy that for it. */
static void consume(struct ingot_command *command, struct content *content)
{
	command_keep(command);
	command_drop(content->consumer);
	content->consumer = command;
}

/* The edges that the accesses ask for.  A read takes over the failure of what should have written. */
static void accesses_link(struct ingot_command *command, const struct request *request)
{
	struct ingot_runtime *runtime = command->runtime;
	for (uint32_t i = 0; i < request->access_count; i++) {
		const struct access *access = request->accesses + i;
		struct hazard *hazard = access->hazard;
		if (access->read && hazard->held.taint && !command->cause)
			command->cause = failure_keep(hazard->held.taint);
		bool forgone = INGOT_THREADS && hazard->writer && command_over(hazard->writer);
		struct edge *edge = hazard->writer ? edge_add(command, hazard->writer, access->read && !forgone) : NULL;
		if (edge && forgone && access->read && hazard->place != NO_PLACE) {
			edge->before = true;
			edge->from_place = hazard->place;
		}
		if (access->write && command->before_count < NO_PLACE) {
			held_copy(command->befores + command->before_count, &hazard->held);
			if (edge) {
				edge->from_place = hazard->place;
				edge->place = hazard->place == NO_PLACE ? NO_PLACE : (uint16_t)command->before_count;
			}
			command->before_count++;
		}
		for (uint32_t k = 0; access->write && k < hazard->reader_count; k++)
			edge_add(command, hazard->readers[k], false);
	}
	for (uint32_t i = 0, places = 0; i < request->access_count; i++) {
		struct hazard *hazard = request->accesses[i].hazard;
		uint16_t place =
		        request->accesses[i].write && places < command->before_count ? (uint16_t)places++ : NO_PLACE;
		/* The same place twice, as when two arguments are parts of one: one entry says it. */
		if (hazard->writer == command)
			continue;
		command_keep(command);
		if (!request->accesses[i].write) {
			reader_add(hazard, command);
			if (request->accesses[i].content)
				consume(command, request->accesses[i].content);
			continue;
		}
		hold(command, request->accesses + i);
		runtime->hazards++;
		for (uint32_t k = 0; k < hazard->reader_count; k++, runtime->hazards--)
			command_drop(hazard->readers[k]);
		hazard->reader_count = 0;
		if (hazard->writer) {
			command_drop(hazard->writer);
			runtime->hazards--;
		}
		hazard->writer = command;
		hazard->place = place;
	}
}

enum ingot_status submit(const struct request *request, struct ingot_command **out)
{
	struct stream *stream = request->stream;
	struct ingot_runtime *runtime = stream->object.runtime;
	size_t edges = request->after_count, bytes = sizeof(struct ingot_command), places = 0;
	/* First, as it submits what other hazards get. */
	for (uint32_t i = 0; i < request->access_count; i++) {
		struct location *location = request->accesses[i].write ? request->accesses[i].location : NULL;
		enum ingot_status status =
		        location && location->streaming ? location->settle(location, stream) : INGOT_OK;
		if (status)
			return status;
	}
	for (uint32_t i = 0; i < request->access_count; i++) {
		const struct access *access = request->accesses + i;
		hazard_prune(runtime, access->hazard);
		edges += (access->hazard->writer != NULL) + (access->write ? access->hazard->reader_count : 0);
		places += access->write;
		if (!access->write && !hazard_reserve(runtime, access->hazard))
			return say(INGOT_MEMORY, "no memory to submit %s to %s", request->name, stream->name);
	}
	size_t at_payload = bytes, at_edges = at_payload + ((request->payload_bytes + 15) & ~(size_t)15);
	size_t at_befores = at_edges + edges * sizeof(struct edge),
	       at_slabs = at_befores + places * sizeof(struct held);
	struct ingot_command *command =
	        command_new(runtime, at_slabs + request->slab_count * sizeof(struct slab *), at_edges);
	if (!command)
		return say(INGOT_MEMORY, "no memory to submit %s to %s", request->name, stream->name);
	command->stream = stream;
	command->run = request->run;
	command->ended = request->ended;
	command->on_host = request->on_host;
	command->destroy = request->destroy;
	command->edges = (struct edge *)((char *)command + at_edges);
	command->befores = (struct held *)((char *)command + at_befores);
	command->slabs = (struct slab **)((char *)command + at_slabs);
	command->payload = (char *)command + at_payload;
	command->name = request->name;
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
	stream->issue = stream->issue ? stream->issue : command;
	stream->count++;
	if (stream->in_place)
		runtime->in_place_queued++;
	object_keep(&stream->object);
	wake_for(command);
	if (out)
		*out = command;
	return INGOT_OK;
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

/* Known at once, so that what is not issued yet is not. */
static enum ingot_status command_fails(struct ingot_command *command, enum ingot_status status, const char *text)
{
	struct ingot_runtime *runtime = command->runtime;
	struct stream *stream = command->stream;
	enter(runtime);
	command->failure = failure_new(
	        runtime, status, "%s: %s: %s", stream->name, command->name, text[0] ? text : ingot_status_text(status));
	if (OVERLAPS(stream) && !stream->failure)
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
			wake_for(edge->to);
		}
		wake(stream);
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
			wake_for(to);
	}
	command->successors = NULL;
}

/* The command is in no queue any more.  Those that were forgone and waited for nothing else are done with it. */
static void done(struct ingot_command *command)
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
		atomic_store_explicit(&command->state, COMMAND_DONE, memory_order_release);
		if (command->sleepers)
			futex_wake(&command->state, INT_MAX);
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

/* Part of the task: the stream stands until it is over. */
static void payload_destroy(struct ingot_command *command)
{
	struct stream *before = running;
	if (!command->destroy)
		return;
	running = command->stream;
	command->destroy(command->payload);
	running = before;
}

/* The command is in no queue any more, and needs nothing; its reference to its stream is the caller's now. */
static void queue_leave(struct ingot_command *command)
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
	queue_leave(command);
	done(command);
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
	payload_destroy(command);
	enter(runtime);
	object_keep(&stream->object);
	finish(command, status);
	wake(stream);
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
	payload_destroy(command);
	enter(runtime);
	finish(command, status);
	return true;
}

bool ingot_queue_run(struct ingot_queue *queue)
{
	struct stream *stream = queue->stream;
	bool any = false;
	enter(stream->object.runtime);
	while (run_one(stream))
		any = true;
	leave(stream->object.runtime);
	return any;
}

/* ---- promises ---- */

struct ingot_command *promise_new(struct ingot_runtime *runtime)
{
	struct ingot_command *promise = command_new(runtime, sizeof *promise, sizeof *promise);
	if (promise) {
		promise->name = "a promised event";
		promise->promised = true;
	}
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

/* An event that only a program can signal: no queue is to do it. */
static bool unkept(const struct ingot_command *command)
{
	return command->promised && !command->signaller && !command_done(command);
}

/* Looks at all that `from` comes after, through edges, its queue, and what keeps promises, until `look` says true; not
 * again at what was looked at in the same visit. */
static bool walk_back(
        struct ingot_command *from, uint64_t visit, bool (*look)(struct ingot_command *before, void *), void *argument)
{
	struct ingot_command *todo = from;
	from->visited = visit;
	from->to_visit = NULL;
	while (todo) {
		struct ingot_command *command = todo;
		struct ingot_command *others[2] = { command->previous, command->signaller };
		todo = command->to_visit;
		for (uint32_t i = 0; i < command->edge_count + 2; i++) {
			struct ingot_command *before =
			        i < command->edge_count ? command->edges[i].from : others[i - command->edge_count];
			if (!before || before->visited == visit || command_done(before))
				continue;
			if (look(before, argument))
				return true;
			before->visited = visit;
			before->to_visit = todo;
			todo = before;
		}
	}
	return false;
}

static bool is_it(struct ingot_command *before, void *promise) { return before == promise; }

bool comes_after(struct ingot_command *from, struct ingot_command *promise)
{
	return walk_back(from, ++from->runtime->visit, is_it, promise);
}

static void edge_cut(struct ingot_command *command, struct edge *edge)
{
	struct edge **link = &edge->from->successors;
	while (*link != edge)
		link = &(*link)->next;
	*link = edge->next;
	command_drop(edge->from);
	edge->from = NULL;
	command->pending--;
}

/* It waits for no promise any more; but for commands, as later ones rely on that order. */
void command_cancel(struct ingot_command *command)
{
	command->cancelled = true;
	for (uint32_t i = 0; i < command->edge_count; i++) {
		struct ingot_command *from = command->edges[i].from;
		if (from && from->promised && !command_done(from))
			edge_cut(command, command->edges + i);
	}
	wake(command->stream);
}

/* ---- closing: what waits for an event that nobody signals ---- */

static bool is_unkept(struct ingot_command *before, void *unused)
{
	(void)unused;
	return unkept(before);
}

/* All behind it in the queue wait, too. */
static struct ingot_command *blocked_first(struct stream *stream)
{
	uint64_t visit = ++stream->object.runtime->visit;
	struct ingot_command *command = stream->head;
	while (command && !walk_back(command, visit, is_unkept, NULL))
		command = command->next;
	return command;
}

/* What comes behind it relies on its order, so until the commands that it waits for are done it stays an edge. */
static void forgo(struct ingot_command *command)
{
	struct stream *stream = command->stream;
	command->cancelled = command->skipped = true;
	for (uint32_t i = 0; i < command->edge_count; i++) {
		struct edge *edge = command->edges + i;
		if (!edge->from || command_done(edge->from))
			continue;
		if (edge->from->promised)
			edge_cut(command, edge);
		else if (edge->on_device) {
			edge->on_device = false;
			command->pending++;
		}
	}
	failure_drop(command->runtime, command->failure);
	command->failure =
	        failure_new(command->runtime, INGOT_CANCELLED, "%s: %s was cancelled", stream->name, command->name);
	queue_leave(command);
	atomic_store_explicit(&command->state, COMMAND_FORGONE, memory_order_release);
	if (command->sleepers)
		futex_wake(&command->state, INT_MAX);
	if (!command->pending)
		done(command);
	object_drop(&stream->object);
}

void stream_forgo(struct stream *stream, bool (*own)(const struct ingot_command *, const void *), const void *argument)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	struct ingot_command *list = NULL, *command = INGOT_THREADS ? blocked_first(stream) : NULL, *next;
	for (; command; command = next) {
		next = command->next;
		if (own && !own(command, argument))
			continue;
		command_keep(command);
		command->to_destroy = list;
		list = command;
		forgo(command);
	}
	if (!list)
		return;
	wake(stream);
	changed(runtime);
	leave(runtime);
	for (command = list; command; command = command->to_destroy)
		payload_destroy(command);
	enter(runtime);
	for (; list; list = next) {
		next = list->to_destroy;
		command_drop(list);
	}
}

static bool is_the(const struct ingot_command *command, const void *other) { return command == other; }

bool command_forgo(struct ingot_command *command)
{
	if (!command->stream)
		return command_over(command);
	struct stream *stream = command->stream;
	object_keep(&stream->object);
	command_keep(command);
	stream_forgo(stream, is_the, command);
	bool over = command_over(command);
	command_drop(command);
	object_drop(&stream->object);
	return over;
}

void stream_finish_unblocked(struct stream *stream)
{
	struct ingot_command *blocked = INGOT_THREADS ? blocked_first(stream) : NULL,
	                     *last = blocked ? blocked->previous : stream->tail;
	if (!last)
		return;
	object_keep(&stream->object);
	command_wait(last);
	object_drop(&stream->object);
}
