/* submit.c: a request -> a command at the end of its stream's queue, with edges from all that it comes after: what the
 * caller names, and who touched the places it reads and writes. */
#include "inside.h"

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
	return stream->closing ? say(INGOT_STALE, "%s is being closed", stream->name) : INGOT_OK;
}

enum ingot_status stream_room(struct stream *stream)
{
	enum ingot_status status = INGOT_OK;
	if (INGOT_THREADS && !stream->closing && !stream->device->lost && !stream->failure
	        && stream->count < stream->room)
		return INGOT_OK;
	object_keep(&stream->object);
	for (;;) {
		if ((status = stream_refuses(stream)))
			break;
		if (stream->device->lost)
			status = say_failure(stream->device->lost);
		else if (stream->failure)
			status = stream_report(stream);
		else if (stream->count < stream->room)
			break;
		else if (INGOT_THREADS && stream->refuses)
			status = say(INGOT_BUSY, "%s holds %u commands, as many as it may", stream->name, stream->room);
		else if (inside_task())
			status = say(INGOT_WOULD_BLOCK, "%s is full, and a task must not wait for room", stream->name);
		if (status)
			break;
		command_wait(stream->head);
	}
	object_drop(&stream->object);
	return status;
}

/* ---- edges ---- */

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
	object_keep(&stream->object);
	if (stream->in_place)
		runtime->in_place_queued++;
	else
		command_wake(command);
	if (out)
		*out = command;
	return INGOT_OK;
}
