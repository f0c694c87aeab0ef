/* merge.c: what is in a stream's merge buffer: its own storage, or the source itself. */
#include "inside.h"

static enum ingot_status merges_settle(struct location *, struct stream *writer);

void content_drop(struct ingot_runtime *runtime, struct content *content)
{
	if (!content || --content->refs)
		return;
	if (content->streaming)
		content->streaming->streaming--;
	location_drop(content->streaming);
	slab_drop(content->storage);
	command_drop(content->update);
	command_drop(content->consumer);
	if (content->node)
		object_drop(&content->node->object);
	memory_free(runtime, content);
}

static struct content *content_new(
        struct stream *stream, struct node *node, struct slab *storage, struct location *streaming, uint64_t offset)
{
	struct content *content = memory_new(stream->object.runtime, 1, sizeof *content);
	if (!content) {
		say(INGOT_MEMORY, "%s: no memory for its merge buffer", stream->name);
		return NULL;
	}
	*content = (struct content){
		.refs = 1, .node = node, .storage = storage, .streaming = streaming, .offset = offset
	};
	object_keep(&node->object);
	if (storage)
		slab_keep(storage);
	if (streaming) {
		content->written = location_held(streaming)->written;
		content->retired = streaming->retired;
		streaming->streaming++;
		streaming->settle = merges_settle;
		location_keep(streaming);
	}
	return content;
}

static struct content *held_content(struct stream *stream)
{
	return hazard_held(stream->object.runtime, &stream->merge)->content;
}

struct content *merge_now(struct stream *stream)
{
	struct content *content = held_content(stream);
	struct location *source = content ? content->streaming : NULL;
	if (!source)
		return content && content->node ? content : NULL;
	if (location_held(source)->written == content->written && source->retired == content->retired)
		return content;
	/* Overwritten behind its consumer.  Where that may still be skipped, it streams again then. */
	if (!source->hazard.writer && content->refs == 1) {
		struct node *node = content->node;
		source->streaming--;
		content->streaming = NULL;
		content->node = NULL;
		location_drop(source);
		object_drop(&node->object);
	}
	return NULL;
}

struct access merge_read(struct stream *stream, struct slab **slab)
{
	struct content *content = merge_now(stream);
	struct access access = { .hazard = &stream->merge, .read = true };
	if (content->streaming)
		access = location_access(content->streaming, content->node, false);
	*slab = content->streaming ? content->streaming->slab : content->storage;
	access.content = content;
	return access;
}

struct slab *merge_storage(
        struct stream *stream, struct slab *made, uint64_t bytes, bool unlocked, enum ingot_status *status)
{
	struct content *content = held_content(stream);
	struct slab *storage = content ? content->storage : NULL;
	storage = made && made->bytes >= bytes ? made : storage;
	*status = INGOT_OK;
	if (INGOT_THREADS && storage)
		slab_grow(storage, bytes);
	if (storage && storage->bytes >= bytes) {
		slab_keep(storage);
		return storage;
	}
	return unlocked ? slab_new(stream->device, bytes, 0, INGOT_SLAB_PRIVATE, status)
	                : slab_new_locked(stream->device, bytes, 0, status);
}

enum ingot_status merge_stream(struct stream *stream, struct node *node, struct location *source, uint64_t offset)
{
	struct content *before = held_content(stream),
	               *content = content_new(stream, node, before ? before->storage : NULL, source, offset);
	if (!content)
		return INGOT_MEMORY;
	stream->merge.held.content = content;
	stream->merge.place = NO_PLACE; /* a copy that is queued, and skipped later, brings nothing back */
	content_drop(stream->object.runtime, before);
	return INGOT_OK;
}

struct content *merge_copy(struct stream *stream, struct node *node, struct slab *storage, struct access *write)
{
	struct content *content = content_new(stream, node, storage, NULL, 0);
	*write = (struct access){ .hazard = &stream->merge, .write = true, .gives = GIVES_VALUE, .content = content };
	return content;
}

void merge_copied(struct ingot_runtime *runtime, struct content *content, struct ingot_command *update)
{
	if ((content->update = update))
		command_keep(update);
	content_drop(runtime, content);
}

/* It stays what it was when it was filled: as if it had been copied then. */
static enum ingot_status settle(struct stream *stream, struct content *content, struct stream *writer)
{
	struct location *source = content->streaming;
	struct ingot_command *update = NULL;
	enum ingot_status status;
	uint64_t bytes = node_bytes(content->node);
	struct slab *storage = merge_storage(stream, NULL, bytes, false, &status);
	if (!storage)
		return status;
	struct access accesses[2] = { location_access(source, content->node, false) };
	struct content *copy = merge_copy(stream, content->node, storage, accesses + 1);
	status = copy ? submit_move(writer, "merge",
	                 (struct move){ .to = storage,
	                         .from = source->slab,
	                         .from_offset = source->offset + content->offset,
	                         .bytes = bytes },
	                 accesses, 2, NULL, &update)
	              : INGOT_MEMORY;
	if (copy)
		merge_copied(stream->object.runtime, copy, update);
	slab_drop(storage);
	return status;
}

/* Each merge buffer that is the place copies it, but where its consumer is submitted. */
static enum ingot_status merges_settle(struct location *location, struct stream *writer)
{
	struct device *device = location->device;
	enum ingot_status status = INGOT_OK;
	for (uint32_t i = 0; i < device->stream_count && !status; i++) {
		struct content *content = device->streams[i] ? merge_now(device->streams[i]) : NULL;
		if (!content || content->streaming != location)
			continue;
		const struct ingot_command *consumer = content->consumer;
		if (!consumer || (command_over(consumer) && consumer->skipped))
			status = settle(device->streams[i], content, writer);
	}
	return status;
}

enum ingot_status ingot_merge_buffer(
        struct ingot_stream handle, struct ingot_merge_state *out, struct ingot_event *update)
{
	NEED(out);
	NEED_OPEN(stream, handle);
	const struct content *held = held_content(stream), *content = merge_now(stream);
	struct ingot_command *latest = !content ? NULL : content->streaming ? content->consumer : content->update;
	bool updating = latest && !command_over(latest);
	*out = (struct ingot_merge_state){ .filled = content != NULL,
		.streaming = content && content->streaming,
		.updating = updating,
		.owned_bytes = held && held->storage ? held->storage->bytes : 0 };
	if (content)
		out->node = HANDLE(ingot_node, content->node);
	if (update)
		*update = (struct ingot_event){ 0 };
	enum ingot_status status =
	        updating && update ? event_new(stream->device, handle.runtime, latest, update) : INGOT_OK;
	leave(handle.runtime);
	return status;
}
