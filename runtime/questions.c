/* questions.c: who works on a node, who owns it, what is shared: the hazards and sharing tables as answers. */
#include "inside.h"

static struct ingot_stream stream_of(struct ingot_command *command)
{
	return command->stream ? HANDLE(ingot_stream, command->stream) : (struct ingot_stream){ 0 };
}

/* Those who touch a place: its readers, or its undone writers from the last one back, of which each comes after the
 * one before it. */
struct touching {
	const struct hazard *hazard;
	bool writers;
	uint32_t readers;                   /* so many were looked at */
	const struct ingot_command *writer; /* the latest that was looked at, … */
	uint16_t place;                     /* … and which of the places that it writes this one is */
};

static struct ingot_command *toucher_next(struct touching *t)
{
	const struct hazard *hazard = t->hazard;
	struct ingot_command *before = NULL;
	if (!t->writers)
		return t->readers < hazard->reader_count ? hazard->readers[t->readers++] : NULL;
	if (!t->writer) {
		before = hazard->writer;
		t->place = hazard->place;
	}
	for (uint32_t i = 0; t->writer && !before && i < t->writer->edge_count && t->place != NO_PLACE; i++) {
		const struct edge *edge = t->writer->edges + i;
		if (edge->from && edge->place == t->place && !command_over(edge->from)) {
			before = edge->from;
			t->place = edge->from_place;
		}
	}
	t->writer = before;
	return before;
}

static void list_streams(
        const struct hazard *hazard, bool writers, struct ingot_stream *streams, uint32_t room, uint32_t *count)
{
	struct touching touching = { .hazard = hazard, .writers = writers };
	struct ingot_command *command;
	*count = 0;
	while ((command = toucher_next(&touching))) {
		struct ingot_stream stream = stream_of(command);
		bool twice = !stream.runtime;
		for (uint32_t k = 0; k < *count && k < room && !twice; k++)
			twice = ingot_stream_equal(streams[k], stream);
		if (twice)
			continue;
		if (*count < room)
			streams[*count] = stream;
		++*count;
	}
}

/* With the lock: the context and the hazard of the node's place in it; NULL: the lock is not held. */
static struct context *hazard_enter(
        struct ingot_context handle, struct ingot_node node_handle, struct hazard **hazard, enum ingot_status *status)
{
	struct entry found;
	struct context *context = entry_enter(handle, node_handle, &found, status);
	if (context) {
		*hazard = &found.location->hazard;
		hazard_prune(handle.runtime, *hazard);
	}
	return context;
}

static enum ingot_status hazard_question(struct ingot_context handle, struct ingot_node node_handle, bool writers,
        struct ingot_stream *streams, uint32_t room, uint32_t *count)
{
	NEED(count && (streams || !room));
	enum ingot_status status;
	struct hazard *hazard;
	if (!hazard_enter(handle, node_handle, &hazard, &status))
		return status;
	list_streams(hazard, writers, streams, room, count);
	leave(handle.runtime);
	return INGOT_OK;
}

static enum ingot_status hazard_events(struct ingot_context handle, struct ingot_node node_handle, bool writers,
        struct ingot_event *events, uint32_t room, uint32_t *count)
{
	NEED(count && (events || !room));
	enum ingot_status status;
	struct hazard *hazard;
	struct context *context = hazard_enter(handle, node_handle, &hazard, &status);
	if (!context)
		return status;
	struct touching touching = { .hazard = hazard, .writers = writers };
	struct ingot_command *command;
	for (*count = 0; !status && (command = toucher_next(&touching)); ++*count) {
		if (*count < room)
			status = event_new(context->stream->device, handle.runtime, command, events + *count);
		for (uint32_t k = *count; status && k--;)
			event_close(FIND(event, handle.runtime, events[k]));
	}
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_writer_events(struct ingot_context context, struct ingot_node node, struct ingot_event *events,
        uint32_t room, uint32_t *count)
{
	return hazard_events(context, node, true, events, room, count);
}

enum ingot_status ingot_reader_events(struct ingot_context context, struct ingot_node node, struct ingot_event *events,
        uint32_t room, uint32_t *count)
{
	return hazard_events(context, node, false, events, room, count);
}

static bool device_has(struct device *device, struct node *base)
{
	struct ingot_runtime *runtime = device->object.runtime;
	for (EACH(context, context, runtime)) {
		struct entry found;
		if (context->stream->device == device && !context->finalized && context_find(context, base, &found)
		        && location_held(found.location)->version >= host_version(base)
		        && hazard_valued(runtime, &found.location->hazard))
			return true;
	}
	return false;
}

enum ingot_status ingot_node_devices(
        struct ingot_node handle, struct ingot_device *devices, uint32_t room, uint32_t *count)
{
	NEED(count && (devices || !room));
	NEED_OPEN(node, handle);
	uint64_t offset;
	*count = 0;
	for (EACH(device, device, handle.runtime)) {
		if (!device_has(device, node_base(node, &offset)))
			continue;
		if (*count < room)
			devices[*count] = HANDLE(ingot_device, device);
		++*count;
	}
	leave(handle.runtime);
	return INGOT_OK;
}

enum ingot_status ingot_device_streams(
        struct ingot_device handle, struct ingot_stream *streams, uint32_t room, uint32_t *count)
{
	NEED(count && (streams || !room));
	NEED_OPEN(device, handle);
	*count = 0;
	for (uint32_t i = 0; i < device->stream_count; i++) {
		const struct stream *stream = device->streams[i];
		if (!stream || stream->closing || !stream->object.generation)
			continue;
		if (*count < room)
			streams[*count] = HANDLE(ingot_stream, stream);
		++*count;
	}
	leave(handle.runtime);
	return INGOT_OK;
}

enum ingot_status ingot_updating(struct ingot_context handle, struct ingot_node node, bool *updating)
{
	NEED(updating);
	enum ingot_status status;
	struct hazard *hazard;
	*updating = false;
	if (!hazard_enter(handle, node, &hazard, &status))
		return status;
	*updating = hazard->writer != NULL;
	leave(handle.runtime);
	return INGOT_OK;
}

enum ingot_status ingot_writer_streams(struct ingot_context context, struct ingot_node node,
        struct ingot_stream *streams, uint32_t room, uint32_t *count)
{
	return hazard_question(context, node, true, streams, room, count);
}

enum ingot_status ingot_reader_streams(struct ingot_context context, struct ingot_node node,
        struct ingot_stream *streams, uint32_t room, uint32_t *count)
{
	return hazard_question(context, node, false, streams, room, count);
}

static enum ingot_status host_question(
        struct ingot_node handle, bool writers, struct ingot_stream *streams, uint32_t room, uint32_t *count)
{
	NEED(count && (streams || !room));
	NEED_OPEN(node, handle);
	struct node *base;
	node_host(node, &base);
	hazard_prune(handle.runtime, &base->host_hazard);
	list_streams(&base->host_hazard, writers, streams, room, count);
	leave(handle.runtime);
	return INGOT_OK;
}

enum ingot_status ingot_host_reading_streams(
        struct ingot_node node, struct ingot_stream *streams, uint32_t room, uint32_t *count)
{
	return host_question(node, false, streams, room, count);
}

enum ingot_status ingot_host_writing_streams(
        struct ingot_node node, struct ingot_stream *streams, uint32_t room, uint32_t *count)
{
	return host_question(node, true, streams, room, count);
}

enum ingot_status ingot_owner_stream(
        struct ingot_device handle, struct ingot_node node_handle, struct ingot_stream *out)
{
	NEED(out);
	NEED_OPEN(device, handle);
	struct node *node = FIND(node, handle.runtime, node_handle);
	struct entry *entry = node ? entries_find(&device->shared, node) : NULL;
	enum ingot_status status = !node ? INGOT_STALE : INGOT_OK;
	const struct held *held = entry ? location_held(entry->location) : NULL;
	if (!status && (!held || !held->owner_generation || node->by_hand))
		status = say(INGOT_MISSING, "nobody owns n%u", node->id);
	else if (!status)
		*out = (struct ingot_stream){ handle.runtime, held->owner, held->owner_generation };
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_sharing_candidate(struct ingot_device handle, struct ingot_node node_handle, bool *candidate)
{
	NEED(candidate);
	NEED_OPEN(device, handle);
	struct node *node = FIND(node, handle.runtime, node_handle);
	const struct entry *entry = node ? entries_find(&device->candidates, node) : NULL;
	*candidate = entry && !location_rewritten(entry->location);
	leave(handle.runtime);
	return node ? INGOT_OK : INGOT_STALE;
}

static uint32_t hazard_entries(const struct hazard *hazard) { return hazard->reader_count + (hazard->writer != NULL); }

enum ingot_status ingot_hazard_entries(struct ingot_device handle, uint64_t *count)
{
	NEED(count);
	NEED_OPEN(device, handle);
	*count = 0;
	for (uint32_t i = 0; i < device->location_count; i++)
		*count += hazard_entries(&device->locations[i]->hazard);
	for (uint32_t i = 0; i < device->pool_count; i++)
		*count += hazard_entries(&device->pools[i].hazard);
	for (uint32_t i = 0; i < device->stream_count; i++)
		*count += device->streams[i] ? hazard_entries(&device->streams[i]->merge) : 0;
	leave(handle.runtime);
	return INGOT_OK;
}
