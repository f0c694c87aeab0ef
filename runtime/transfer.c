/* transfer.c: tensors between host, devices and merge buffers; all of them commands, ordered by hazards. */
#include "inside.h"

/* ---- host ---- */

enum direction { UP, DOWN, UP_OWN, DOWN_OWN }; /* the caller's array, or the node's own */

static enum ingot_status host_move(struct submission *submission, struct context *context, struct node *node,
        enum direction direction, void *host, uint64_t bytes, bool *present, struct ingot_command **out)
{
	struct entry entry;
	uint64_t needed = node_bytes(node);
	bool own = direction == UP_OWN || direction == DOWN_OWN;
	enum ingot_status status;
	*present = context_find(context, node, &entry) != NULL;
	if (!*present)
		return own ? INGOT_OK : context_has(context, node, &entry);
	struct node *base;
	void *own_host = node_host(node, &base);
	if (own && !own_host)
		return say(INGOT_MISSING, "n%u has no array on the host", node->id);
	if (!own && bytes != needed)
		return say(INGOT_MISMATCH, "%llu bytes for the %llu of n%u", (unsigned long long)bytes,
		        (unsigned long long)needed, node->id);
	host = own ? own_host : host;
	struct location *location = entry.location;
	if (direction == UP || direction == UP_OWN) {
		/* A constant goes up once: what the device has is what the host has. */
		if (own && ingot_mode_known_constant(&base->mode) && host_version(base)
		        && location_held(location)->version == host_version(base))
			return INGOT_OK;
		status = location_refuses(location, context->stream, node);
		if (!status && base != node && location->node)
			status = rest_fetch(submission, context, base, location);
		return status
		        ? status
		        : context_upload(context, node, &entry, host, needed, own ? UPLOAD_HOST : UPLOAD_CALLER, out);
	}
	struct access accesses[2] = { location_access(location, node, false),
		{ .hazard = &base->host_hazard, .write = true, .node = base, .gives = GIVES_PART } };
	/* A part makes no whole that is as new. */
	if (base == node || location_held(location)->version == host_version(base)) {
		accesses[1].gives = GIVES_VALUE;
		accesses[1].version = location_held(location)->version;
	}
	if (!hazard_valued(node->object.runtime, &location->hazard))
		return say(INGOT_UNREADY, "n%u was not written on %s", node->id, context->stream->name);
	if (own && ingot_mode_known_volatile(&node->mode))
		return say(INGOT_CONFLICT, "n%u is volatile (by %u): its host copy does not change by downloads",
		        node->id, node->mode.provenance);
	status = submit_move(context->stream, "to_host",
	        (struct move){ .from = location->slab,
	                .from_offset = location->offset + entry.offset,
	                .to_host = host,
	                .bytes = needed },
	        accesses, own ? 2 : 1, &node->object, out);
	if (!status && own) {
		move_pins(*out, base);
		node->downloads++;
	}
	return status;
}

enum ingot_status host_download(struct context *context, struct node *node)
{
	bool present;
	struct ingot_command *command;
	return host_move(NULL, context, node, DOWN_OWN, NULL, 0, &present, &command);
}

static enum ingot_status host_transfer(struct ingot_context handle, struct ingot_node node_handle,
        enum direction direction, void *host, uint64_t bytes, bool *present, struct ingot_event *done)
{
	NEED_OPEN(context, handle);
	struct submission submission;
	struct ingot_command *command = NULL;
	bool unasked;
	object_keep(&context->object);
	enum ingot_status status = submission_begin(&submission, context->stream, done);
	struct node *node = status ? NULL : FIND(node, handle.runtime, node_handle);
	if (!status && node && (direction == UP_OWN || direction == DOWN_OWN || node->parent)) {
		object_keep(&node->object);
		node_host_settle(node);
		object_drop(&node->object);
		status = stream_refuses(context->stream);
		node = status ? NULL : FIND(node, handle.runtime, node_handle);
	}
	if (!status)
		status = node ? context_lives(context) : INGOT_STALE;
	if (!status)
		status = host_move(
		        &submission, context, node, direction, host, bytes, present ? present : &unasked, &command);
	object_drop(&context->object);
	return submission_end(&submission, status, command);
}

enum ingot_status ingot_from_host(
        struct ingot_context context, struct ingot_node node, bool *present, struct ingot_event *done)
{
	return host_transfer(context, node, UP_OWN, NULL, 0, present, done);
}

enum ingot_status ingot_to_host(
        struct ingot_context context, struct ingot_node node, bool *present, struct ingot_event *done)
{
	return host_transfer(context, node, DOWN_OWN, NULL, 0, present, done);
}

enum ingot_status ingot_write(struct ingot_context context, struct ingot_node node, const void *data, uint64_t bytes,
        struct ingot_event *done)
{
	NEED(data || !bytes);
	return host_transfer(context, node, UP, (void *)(uintptr_t)data, bytes, NULL, done);
}

enum ingot_status ingot_read(
        struct ingot_context context, struct ingot_node node, void *data, uint64_t bytes, struct ingot_event *done)
{
	NEED(data || !bytes);
	return host_transfer(context, node, DOWN, data, bytes, NULL, done);
}

/* ---- between devices ---- */

struct through_host {
	struct ingot_runtime *runtime;
	void *memory;
};

static void through_host_free(void *payload)
{
	struct through_host *through = payload;
	memory_free(through->runtime, through->memory);
}

/* Two backends know nothing of each other: down on the source's stream, up on the target's, through memory that the
 * last of the two commands frees. */
static enum ingot_status copy_through_host(struct stream *target, struct slab *to, uint64_t to_offset,
        const struct access *write, struct stream *source, struct slab *from, uint64_t from_offset,
        const struct access *read, uint64_t bytes, struct ingot_command **out)
{
	struct ingot_runtime *runtime = target->object.runtime;
	struct hazard between = { 0 };
	void *memory = memory_new(runtime, 1, bytes);
	struct ingot_command *last = NULL;
	if (!memory)
		return say(INGOT_MEMORY, "no memory to move %llu bytes through the host", (unsigned long long)bytes);
	struct access down[2] = { *read, { .hazard = &between, .write = true } };
	struct access up[2] = { { .hazard = &between, .read = true }, *write };
	enum ingot_status status = submit_move(source, "through host",
	        (struct move){ .from = from, .from_offset = from_offset, .to_host = memory, .bytes = bytes }, down, 2,
	        NULL, NULL);
	if (status) {
		hazard_release(runtime, &between);
		memory_free(runtime, memory);
		return status;
	}
	status = submit_move(target, "through host",
	        (struct move){ .to = to, .to_offset = to_offset, .from_host = memory, .bytes = bytes }, up, 2, NULL,
	        out);
	/* The memory goes with a last command on the target's stream; where there is none, when the download is
	 * done. */
	enum ingot_status freed = submit(&(struct request){ .stream = target,
	                                         .name = "through host",
	                                         .destroy = through_host_free,
	                                         .payload_bytes = sizeof(struct through_host),
	                                         .accesses = &(struct access){ .hazard = &between, .write = true },
	                                         .access_count = 1 },
	        &last);
	if (!freed)
		*(struct through_host *)last->payload = (struct through_host){ runtime, memory };
	else {
		while (hazard_busy(runtime, &between, true))
			command_wait_done(between.writer ? between.writer : between.readers[0]);
		memory_free(runtime, memory);
	}
	hazard_release(runtime, &between);
	return status;
}

static enum ingot_status copy_between(struct submission *submission, struct slab *to, uint64_t to_offset,
        const struct access *write, struct stream *source, struct entry *from, struct node *node,
        struct ingot_command **out)
{
	struct stream *target = submission->stream;
	uint64_t bytes = node_bytes(node);
	struct access read = location_access(from->location, node, false);
	struct slab *slab = from->location->slab;
	uint64_t offset = from->location->offset + from->offset;
	if (INGOT_THREADS && !device_reaches(target->device, source->device)) {
		submission_with(submission, source);
		return copy_through_host(target, to, to_offset, write, source, slab, offset, &read, bytes, out);
	}
	struct access accesses[2] = { read, *write };
	return submit_move(target, "device_to_device",
	        (struct move){ .to = to, .from = slab, .to_offset = to_offset, .from_offset = offset, .bytes = bytes },
	        accesses, 2, NULL, out);
}

/* Into the target's own place.  What is moved in part leaves the place as old as its rest. */
static enum ingot_status move_between(struct submission *submission, struct node *node, struct context *target,
        struct context *source, struct entry *from, struct entry *to, struct ingot_command **out)
{
	struct node *base = to->location->node;
	enum ingot_status status = location_refuses(to->location, target->stream, node);
	if (!status && base && node->parent)
		status = rest_fetch(submission, target, base, to->location);
	if (status)
		return status;
	struct access write = location_access(to->location, node, true);
	uint64_t version = location_held(from->location)->version;
	if (!node->parent || version == location_held(to->location)->version) {
		write.gives = GIVES_VALUE;
		write.version = version;
	}
	return copy_between(submission, to->location->slab, to->location->offset + to->offset, &write, source->stream,
	        from, node, out);
}

/* storage: that was made for the merge buffer before, or NULL. */
static enum ingot_status transfer_run(struct submission *submission, struct node *node, struct context *target,
        enum ingot_merge merge, struct context *source, struct slab *storage, bool *moved, struct ingot_command **out)
{
	struct entry from, to;
	struct stream *stream = target->stream;
	enum ingot_status status = INGOT_OK;
	*moved = false;
	*out = NULL;
	if (!context_find(source, node, &from))
		return INGOT_OK;
	if (!hazard_valued(node->object.runtime, &from.location->hazard))
		return say(INGOT_UNREADY, "n%u was not written on %s", node->id, source->stream->name);
	if (merge == INGOT_MERGE_NONE) {
		if (!context_find(target, node, &to) || (to.location == from.location && to.offset == from.offset))
			return INGOT_OK;
		status = move_between(submission, node, target, source, &from, &to, out);
	} else if (merge == INGOT_MERGE_STREAMING && stream->device == source->stream->device)
		status = merge_stream(stream, node, from.location, from.offset);
	else if ((storage = merge_storage(stream, storage, node_bytes(node), false, &status))) {
		struct access write;
		struct content *content = merge_copy(stream, node, storage, &write);
		status = content ? copy_between(submission, storage, 0, &write, source->stream, &from, node, out)
		                 : INGOT_MEMORY;
		if (content)
			merge_copied(node->object.runtime, content, *out);
		slab_drop(storage);
	}
	*moved = !status;
	return status;
}

enum ingot_status rest_fetch(
        struct submission *submission, struct context *context, struct node *base, struct location *location)
{
	struct ingot_runtime *runtime = base->object.runtime;
	uint64_t newest = node_newest(base);
	struct entry from, to = { base, location, 0 };
	struct ingot_command *command;
	if (runtime->options.automatic_transfers && location_held(location)->version != newest) {
		if (host_version(base) == newest)
			return context_upload(context, base, &to, base->host, node_bytes(base), UPLOAD_HOST, NULL);
		struct context *source = newest_context(base);
		if (source && context_find(source, base, &from))
			return move_between(submission, base, context, source, &from, &to, &command);
	}
	return location_held(location)->holds == HOLDS_NOTHING ? location_clear(context, location) : INGOT_OK;
}

/* Both contexts, with the lock taken. */
static struct context *contexts_enter(struct ingot_context target, struct ingot_context source,
        struct ingot_node node_handle, struct context **from, struct node **node, enum ingot_status *status)
{
	struct context *to = ENTER(context, target);
	*status = INGOT_STALE;
	if (!to)
		return NULL;
	*from = FIND(context, target.runtime, source);
	*node = *from ? FIND(node, target.runtime, node_handle) : NULL;
	if (*node && (to->finalized || (*from)->finalized)) {
		say(INGOT_STALE, "a context of the transfer is finalized");
		*node = NULL;
	}
	if (*node) {
		*status = INGOT_OK;
		return to;
	}
	leave(target.runtime);
	return NULL;
}

enum ingot_status ingot_device_to_device(struct ingot_node node_handle, struct ingot_context target,
        enum ingot_merge merge, struct ingot_context source, bool *moved, struct ingot_event *done)
{
	enum ingot_status status;
	struct context *from;
	struct node *node;
	struct submission submission;
	struct ingot_command *command = NULL;
	struct slab *storage = NULL;
	struct entry room;
	bool unasked;
	if ((unsigned)merge > INGOT_MERGE_STREAMING)
		return say(INGOT_INVALID, "%d is no way to merge", (int)merge);
	struct context *to = contexts_enter(target, source, node_handle, &from, &node, &status);
	if (!to)
		return status;
	struct stream *stream = to->stream, *other = from->stream;
	object_keep(&to->object);
	object_keep(&from->object);
	object_keep(&node->object);
	object_keep(&other->object);
	status = submission_begin(&submission, stream, done);
	if (!status && other->device->backend != stream->device->backend)
		status = stream_room(other); /* the way through the host uses both */
	/* Room in the merge buffer is made before, where something will be moved, as it may take long. */
	if (!status && (merge == INGOT_MERGE_COPY || (merge && stream->device != other->device))
	        && context_find(from, node, &room) && hazard_valued(target.runtime, &room.location->hazard)) {
		placing_begin(stream->device);
		storage = merge_storage(stream, NULL, node_bytes(node), true, &status);
		placing_end(stream->device);
	}
	if (!status && merge == INGOT_MERGE_NONE && node->parent)
		node_host_settle(node);
	if (!status)
		status = stream_refuses(stream);
	if (!status && !(status = context_lives(to)) && !(status = context_lives(from)))
		status = transfer_run(&submission, node, to, merge, from, storage, moved ? moved : &unasked, &command);
	slab_drop(storage);
	object_drop(&node->object);
	object_drop(&from->object);
	object_drop(&to->object);
	object_drop(&other->object);
	return submission_end(&submission, status, command);
}

static enum ingot_status routine_transfer(
        struct submission *submission, struct routine *routine, struct ingot_command **out)
{
	bool moved;
	return transfer_run(
	        submission, routine->node, routine->context, routine->merge, routine->source, NULL, &moved, out);
}

enum ingot_status ingot_transfer_routine(struct ingot_node node_handle, struct ingot_context target,
        enum ingot_merge merge, struct ingot_context source, struct ingot_routine *out)
{
	enum ingot_status status;
	struct context *from, *context = NULL;
	struct node *node;
	struct entry room;
	NEED(out);
	if ((unsigned)merge > INGOT_MERGE_STREAMING)
		return say(INGOT_INVALID, "%d is no way to merge", (int)merge);
	struct context *to = contexts_enter(target, source, node_handle, &from, &node, &status);
	if (!to)
		return status;
	struct ingot_runtime *runtime = target.runtime;
	if (!context_find(from, node, &room) || (merge == INGOT_MERGE_NONE && !context_find(to, node, &room)))
		status = say(INGOT_MISSING, "n%u is missing on a side of the transfer", node->id);
	else
		status = context_new(to->stream, to, &context);
	struct routine *routine = status ? NULL : memory_new(runtime, 1, sizeof *routine);
	if (!status && !routine)
		status = say(INGOT_MEMORY, "no memory for a transfer");
	if (!status && (status = handle_new(runtime, &routine->object, KIND_ROUTINE)))
		memory_free(runtime, routine);
	if (!status) {
		routine->context = context;
		routine->node = node;
		routine->source = from;
		routine->merge = merge;
		routine->transfer = routine_transfer;
		object_keep(&context->object);
		object_keep(&node->object);
		object_keep(&from->object);
		if (merge != INGOT_MERGE_NONE)
			context_merges(context, node);
		*out = HANDLE(ingot_routine, routine);
	} else if (context)
		handle_close(&context->object);
	leave(runtime);
	return status;
}

/* ---- contexts that begin with a value ---- */

enum ingot_status ingot_init_from_host(struct ingot_context handle, struct ingot_node node_handle, const void *data,
        uint64_t bytes, struct ingot_context *out)
{
	NEED(out && (data || !bytes));
	NEED_OPEN(context, handle);
	struct context *child = NULL;
	struct submission submission;
	struct entry entry, room;
	const uint8_t first = FIRST_WRITTEN;
	struct stream *stream = context->stream;
	object_keep(&context->object);
	enum ingot_status status = submission_begin(&submission, stream, NULL);
	struct node *node = status ? NULL : FIND(node, handle.runtime, node_handle);
	if (!status)
		status = node ? context_lives(context) : INGOT_STALE;
	if (node)
		object_keep(&node->object);
	placing_begin(stream->device);
	if (node && node->parent)
		node_host_settle(node);
	if (!status)
		status = context_lives(context);
	if (!status && context_find(context, node, &room))
		status = say(INGOT_PRESENT, "n%u is in the context on %s already", node->id, stream->name);
	if (!status && node_bytes(node) != bytes)
		status = say(INGOT_MISMATCH, "%llu bytes for the %llu of n%u", (unsigned long long)bytes,
		        (unsigned long long)node_bytes(node), node->id);
	if (!status)
		status = context_new(stream, context, &child);
	if (!status)
		status = context_place_nodes(child, &node, &first, 1);
	if (!status && context_find(child, node, &entry))
		status = location_refuses(entry.location, stream, node);
	if (!status && node->parent)
		status = rest_fetch(&submission, child, entry.location->node, entry.location);
	if (!status)
		status = context_upload(child, node, &entry, data, bytes, UPLOAD_CALLER, NULL);
	if (status && child)
		handle_close(&child->object);
	else if (!status)
		*out = HANDLE(ingot_context, child);
	placing_end(stream->device);
	if (node)
		object_drop(&node->object);
	object_drop(&context->object);
	return submission_end(&submission, status, NULL);
}

enum ingot_status ingot_init_from_device(struct ingot_context handle, struct ingot_node node_handle,
        struct ingot_context source, struct ingot_context *out)
{
	NEED(out);
	enum ingot_status status;
	struct context *from, *child = NULL;
	struct node *node;
	struct entry room;
	const uint8_t first = FIRST_WRITTEN;
	struct context *context = contexts_enter(handle, source, node_handle, &from, &node, &status);
	if (!context)
		return status;
	struct stream *stream = context->stream;
	object_keep(&stream->object);
	object_keep(&context->object);
	object_keep(&from->object);
	object_keep(&node->object);
	placing_begin(stream->device);
	if ((status = context_lives(context)) || (status = context_lives(from))
	        || (status = context_has(from, node, &room)))
		;
	else if (context_find(context, node, &room))
		status = say(INGOT_PRESENT, "n%u is in the context on %s already", node->id, stream->name);
	else if (!(status = stream->failure ? stream_report(stream) : context_new(stream, context, &child)))
		status = context_place_nodes(child, &node, &first, 1);
	struct ingot_context made = { 0 };
	if (!status)
		made = HANDLE(ingot_context, child);
	else if (child)
		handle_close(&child->object);
	placing_end(stream->device);
	object_drop(&node->object);
	object_drop(&from->object);
	object_drop(&context->object);
	leave_dropping(stream);
	if (!status && (status = ingot_device_to_device(node_handle, made, INGOT_MERGE_NONE, source, NULL, NULL))) {
		char kept[TEXT_ROOM];
		snprintf(kept, sizeof kept, "%s", ingot_message());
		ingot_context_close(made);
		say(status, "%s", kept);
	}
	if (!status)
		*out = made;
	return status;
}
