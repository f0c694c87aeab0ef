/* questions.c: who works on a node, who owns it, what is shared: the hazards and sharing tables as answers. */
#include "inside.h"

enum question { ASK_UPDATING, ASK_WRITERS, ASK_READERS, ASK_HOST_READERS, ASK_HOST_WRITERS };

static struct ingot_stream stream_of(struct ingot_command *command)
{
	return command->stream ? HANDLE(ingot_stream, command->stream) : (struct ingot_stream){ 0 };
}

static void list_streams(struct hazard *hazard, bool writers, struct ingot_stream *streams, uint32_t room,
                         uint32_t *count)
{
	*count = 0;
	for (uint32_t i = 0; i < (writers ? hazard->writer != NULL : hazard->reader_count); i++) {
		struct ingot_command *command = writers ? hazard->writer : hazard->readers[i];
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

static enum ingot_status hazard_question(struct ingot_context handle, struct ingot_node node_handle,
                                         enum question question, struct ingot_stream *streams, uint32_t room,
                                         uint32_t *count)
{
	NEED(count && (streams || !room));
	enum ingot_status status;
	struct entry found;
	struct context *context = context_enter(handle, &status);
	if (!context)
		return status;
	struct node *node = FIND(node, handle.runtime, node_handle, KIND_NODE);
	if (!node)
		status = INGOT_STALE;
	else if (!context_find(context, node, &found))
		status = say(INGOT_MISSING, "n%u is not in the context on %s", node->id, context->stream->name);
	else {
		hazard_prune(handle.runtime, &found.location->hazard);
		list_streams(&found.location->hazard, question != ASK_READERS, streams, room, count);
	}
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_updating(struct ingot_context context, struct ingot_node node, bool *updating)
{
	NEED(updating);
	uint32_t count = 0;
	enum ingot_status status = hazard_question(context, node, ASK_UPDATING, NULL, 0, &count);
	*updating = count != 0;
	return status;
}

enum ingot_status ingot_writer_streams(struct ingot_context context, struct ingot_node node,
                                       struct ingot_stream *streams, uint32_t room, uint32_t *count)
{
	return hazard_question(context, node, ASK_WRITERS, streams, room, count);
}

enum ingot_status ingot_reader_streams(struct ingot_context context, struct ingot_node node,
                                       struct ingot_stream *streams, uint32_t room, uint32_t *count)
{
	return hazard_question(context, node, ASK_READERS, streams, room, count);
}

static enum ingot_status host_question(struct ingot_node handle, bool writers, struct ingot_stream *streams,
                                       uint32_t room, uint32_t *count)
{
	NEED(count && (streams || !room));
	struct node *node = ENTER(node, handle, KIND_NODE);
	if (!node)
		return INGOT_STALE;
	struct node *base;
	node_host(node, &base);
	hazard_prune(handle.runtime, &base->host_hazard);
	list_streams(&base->host_hazard, writers, streams, room, count);
	leave(handle.runtime);
	return INGOT_OK;
}

enum ingot_status ingot_host_reading_streams(struct ingot_node node, struct ingot_stream *streams, uint32_t room,
                                             uint32_t *count)
{
	return host_question(node, false, streams, room, count);
}

enum ingot_status ingot_host_writing_streams(struct ingot_node node, struct ingot_stream *streams, uint32_t room,
                                             uint32_t *count)
{
	return host_question(node, true, streams, room, count);
}

enum ingot_status ingot_owner_stream(struct ingot_device handle, struct ingot_node node_handle,
                                     struct ingot_stream *out)
{
	NEED(out);
	struct device *device = ENTER(device, handle, KIND_DEVICE);
	if (!device)
		return INGOT_STALE;
	struct node *node = FIND(node, handle.runtime, node_handle, KIND_NODE);
	struct entry *entry = node ? entries_find(&device->shared, node) : NULL;
	enum ingot_status status = !node ? INGOT_STALE : INGOT_OK;
	if (!status && (!entry || !entry->location->owner.runtime))
		status = say(INGOT_MISSING, "nobody owns n%u", node->id);
	else if (!status)
		*out = entry->location->owner;
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_sharing_candidate(struct ingot_device handle, struct ingot_node node_handle, bool *candidate)
{
	NEED(candidate);
	struct device *device = ENTER(device, handle, KIND_DEVICE);
	if (!device)
		return INGOT_STALE;
	struct node *node = FIND(node, handle.runtime, node_handle, KIND_NODE);
	*candidate = node && entries_find(&device->candidates, node);
	leave(handle.runtime);
	return node ? INGOT_OK : INGOT_STALE;
}

static uint32_t hazard_entries(const struct hazard *hazard) { return hazard->reader_count + (hazard->writer != NULL); }

enum ingot_status ingot_hazard_entries(struct ingot_device handle, uint64_t *count)
{
	NEED(count);
	struct device *device = ENTER(device, handle, KIND_DEVICE);
	if (!device)
		return INGOT_STALE;
	*count = 0;
	for (uint32_t i = 0; i < device->location_count; i++)
		*count += hazard_entries(&device->locations[i]->hazard);
	for (uint32_t i = 0; i < device->pool_count; i++)
		*count += hazard_entries(&device->pools[i].hazard);
	for (uint32_t i = 0; i < device->stream_count; i++)
		*count += device->streams[i] ? hazard_entries(&device->streams[i]->merge.hazard) : 0;
	leave(handle.runtime);
	return INGOT_OK;
}
