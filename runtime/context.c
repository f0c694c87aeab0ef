/* context.c: contexts: which node lies where, for one stream. */
#include <stdlib.h>
#include "inside.h"

/* ---- locations ---- */

struct location *location_new(
        struct device *device, struct node *node, struct slab *slab, uint32_t pool, uint64_t offset, uint64_t bytes)
{
	struct ingot_runtime *runtime = device->object.runtime;
	if (!memory_grow(runtime, &device->locations, device->location_count, &device->location_room,
	            sizeof *device->locations))
		return NULL;
	struct location *location = memory_new(runtime, 1, sizeof *location);
	if (!location)
		return NULL;
	*location = (struct location){ .device = device,
		.slab = slab,
		.pool = pool,
		.refs = 1,
		.offset = offset,
		.bytes = bytes,
		.node = node,
		.index = device->location_count };
	slab_keep(slab);
	if (node) {
		object_keep(&node->object);
		if ((location->next_place = node->places))
			node->places->place_link = &location->next_place;
		location->place_link = &node->places;
		node->places = location;
	}
	device->locations[device->location_count++] = location;
	return location;
}

void location_keep(struct location *location) { location->refs++; }

void location_drop(struct location *location)
{
	if (!location || --location->refs)
		return;
	struct device *device = location->device;
	struct ingot_runtime *runtime = device->object.runtime;
	struct location *last = device->locations[--device->location_count];
	device->locations[location->index] = last;
	last->index = location->index;
	struct node *node = location->node;
	if (node) {
		uint64_t version = location_held(location)->version;
		node->lost = version > node->lost ? version : node->lost;
		if ((*location->place_link = location->next_place))
			location->next_place->place_link = location->place_link;
	}
	for (uint32_t i = 0; location->slab->constant && i < device->constant_count; i++)
		if (device->constants[i].location == location)
			device->constants[i] = device->constants[--device->constant_count];
	hazard_release(runtime, &location->hazard);
	if (location->owns_pool)
		pool_remove(device, location->pool);
	struct slab *slab = location->slab;
	memory_free(runtime, location);
	if (node)
		object_drop(&node->object);
	slab_drop(slab); /* perhaps the last that keeps the device */
}

struct access location_access(struct location *location, const struct node *node, bool write)
{
	return (struct access){ .hazard = &location->hazard,
		.location = location,
		.read = !write,
		.write = write,
		.node = location->node,
		.gives = !write        ? GIVES_NOTHING
		        : node->parent ? GIVES_PART
		                       : GIVES_NEW };
}

/* All of the slab, whose reference it takes; NULL: the slab was not to be had, and *status says so. */
static struct location *location_whole(struct node *node, struct slab *slab, enum ingot_status *status)
{
	uint32_t pool;
	struct location *location = NULL;
	if (!slab)
		return NULL;
	struct device *device = slab->device;
	slab_keep(slab);
	if (!(*status = pool_add_inner(device, slab, &pool))
	        && !(location = location_new(device, node, slab, pool, 0, slab->bytes))) {
		*status = say(INGOT_MEMORY, "no memory for a location");
		pool_remove(device, pool);
	}
	if (location)
		location->owns_pool = true;
	slab_drop(slab);
	return location;
}

/* What the host has too is shared with it, where the backend has such memory. */
enum ingot_slab_mode node_slab_mode(const struct node *node)
{
	return node && ingot_mode_known_hosted(&node->mode) ? INGOT_SLAB_SHARED : INGOT_SLAB_PRIVATE;
}

struct location *location_alone(
        struct device *device, struct node *node, uint64_t bytes, uint32_t align, enum ingot_status *status)
{
	return location_whole(node, slab_new(device, bytes, align, node_slab_mode(node), status), status);
}

struct location *location_adopt(
        struct device *device, struct node *node, void *memory, uint64_t bytes, enum ingot_status *status)
{
	struct slab *slab = slab_adopt(device, memory, bytes);
	if (!slab)
		*status = say(INGOT_MEMORY, "no memory for a location");
	return location_whole(node, slab, status);
}

/* By another stream.  Handles tell a closed owner from a stream that has its number now. */
bool location_owned(struct location *location, const struct stream *stream)
{
	const struct held *held = location_held(location);
	return held->owner_generation && !(location->node && location->node->by_hand)
	        && (held->owner != stream->object.index || held->owner_generation != stream->object.generation);
}

enum ingot_status location_refuses(struct location *location, struct stream *stream, const struct node *node)
{
	uint64_t offset;
	const struct node *base = node_base((struct node *)(uintptr_t)node, &offset);
	if (location->slab->constant
	        || (ingot_mode_known_constant(&base->mode) && hazard_valued(stream->object.runtime, &location->hazard)))
		return node_conflict(node, "it is constant, and has its value");
	if (location_owned(location, stream)) {
		const struct held *held = location_held(location);
		const struct object *owner =
		        object_of(stream->object.runtime, held->owner, held->owner_generation, KIND_STREAM);
		char why[160];
		snprintf(why, sizeof why, "%s writes it, so %s cannot",
		        owner ? ((const struct stream *)owner)->name : "a closed stream", stream->name);
		return node_conflict(node, why);
	}
	return INGOT_OK;
}

/* ---- tables of nodes ---- */

static uint32_t entry_place(const struct entries *entries, uint32_t id)
{
	uint32_t low = 0, high = entries->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (entries->at[middle].node->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct entry *entries_find(struct entries *entries, const struct node *node)
{
	uint32_t at = entry_place(entries, node->id);
	return at < entries->count && entries->at[at].node == node ? entries->at + at : NULL;
}

enum ingot_status entries_add(struct ingot_runtime *runtime, struct entries *entries, struct node *node,
        struct location *location, uint64_t offset)
{
	if (!memory_grow(runtime, &entries->at, entries->count, &entries->room, sizeof *entries->at))
		return say(INGOT_MEMORY, "no memory to place n%u", node->id);
	uint32_t at = entry_place(entries, node->id);
	memmove(entries->at + at + 1, entries->at + at, (entries->count - at) * sizeof *entries->at);
	entries->at[at] = (struct entry){ node, location, offset };
	entries->count++;
	location_keep(location);
	object_keep(&node->object);
	return INGOT_OK;
}

void entries_remove(struct entries *entries, const struct node *node)
{
	struct entry *entry = entries_find(entries, node);
	if (!entry)
		return;
	struct entry kept = *entry;
	entries->count--;
	memmove(entry, entry + 1, (size_t)(entries->at + entries->count - entry) * sizeof *entry);
	location_drop(kept.location);
	object_drop(&kept.node->object);
}

void entries_release(struct ingot_runtime *runtime, struct entries *entries)
{
	while (entries->count)
		entries_remove(entries, entries->at[entries->count - 1].node);
	memory_free(runtime, entries->at);
	*entries = (struct entries){ 0 };
}

struct entry *context_find(struct context *context, const struct node *node, struct entry *room)
{
	uint64_t offset;
	struct node *base = node_base((struct node *)(uintptr_t)node, &offset);
	for (; context; context = context->parent) {
		struct entry *entry = context->finalized ? NULL : entries_find(&context->entries, base);
		if (!entry)
			continue;
		*room = *entry;
		room->offset += offset;
		return room;
	}
	return NULL;
}

enum ingot_status context_has(struct context *context, const struct node *node, struct entry *room)
{
	return context_find(context, node, room)
	        ? INGOT_OK
	        : say(INGOT_MISSING, "n%u is not in the context on %s", node->id, context->stream->name);
}

struct context *entry_enter(
        struct ingot_context handle, struct ingot_node node_handle, struct entry *room, enum ingot_status *status)
{
	struct context *context = context_enter(handle, status);
	const struct node *node = context ? FIND(node, handle.runtime, node_handle) : NULL;
	if (context && !(*status = node ? context_has(context, node, room) : INGOT_STALE))
		return context;
	if (context)
		leave(handle.runtime);
	return NULL;
}

/* ---- life ---- */

void context_merges(struct context *context, struct node *node)
{
	struct node *old = context->merge_node;
	if ((context->merge_node = node))
		object_keep(&node->object);
	if (old)
		object_drop(&old->object);
}

enum ingot_status context_new(struct stream *stream, struct context *parent, struct context **out)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	if (stream_refuses(stream))
		return INGOT_STALE;
	struct context *context = memory_new(runtime, 1, sizeof *context);
	if (!context)
		return say(INGOT_MEMORY, "no memory for a context");
	enum ingot_status status = handle_new(runtime, &context->object, KIND_CONTEXT);
	if (status) {
		memory_free(runtime, context);
		return status;
	}
	context->stream = stream;
	object_keep(&stream->object);
	stream->contexts++;
	if ((context->parent = parent)) {
		object_keep(&parent->object);
		parent->children++;
		context_merges(context, parent->merge_node);
	}
	*out = context;
	return INGOT_OK;
}

/* The host gets what nobody else has, as a read of the node would fetch it now and cannot later. */
void context_keep_newest(struct context *context)
{
	struct ingot_runtime *runtime = context->object.runtime;
	if (!runtime->options.automatic_transfers || runtime->closing || context->finalized || context->children)
		return;
	for (uint32_t i = 0; i < context->entries.count; i++) {
		struct node *node = context->entries.at[i].node;
		if (node->host && host_version(node) != node_newest(node) && !context->stream->failure
		        && location_held(context->entries.at[i].location)->version == node_newest(node)
		        && !ingot_mode_known_volatile(&node->mode) && !ingot_mode_known_shared(&node->mode))
			host_download(context, node);
	}
}

/* Whether it touches memory that the context alone has, or is a run of its routine. */
struct owner {
	const struct context *context;
	const struct routine *routine;
};

static bool is_own(const struct ingot_command *command, const void *argument)
{
	const struct owner *owner = argument;
	const struct context *context = owner->context;
	if (owner->routine && command->keeps == &owner->routine->object)
		return true;
	for (uint32_t i = 0; i < command->slab_count; i++) {
		const struct slab *slab = command->slabs[i];
		if (context->workspace && context->workspace->slab == slab)
			return true;
		for (uint32_t k = 0; k < context->pool_count; k++) {
			const struct pool *pool = pool_find(context->stream->device, context->pools[k]);
			if (pool && pool->slab == slab)
				return true;
		}
		for (uint32_t k = 0; k < context->entries.count && slab->adopted && !slab->constant; k++)
			if (context->entries.at[k].location->slab == slab)
				return true;
	}
	return false;
}

void context_finish(struct context *context, const struct routine *routine)
{
	stream_forgo(context->stream, is_own, &(struct owner){ context, routine });
	stream_finish_unblocked(context->stream);
}

/* The stream has no work of this context any more, or its commands keep what they need themselves. */
enum ingot_status context_finalize_locked(struct context *context)
{
	struct ingot_runtime *runtime = context->object.runtime;
	if (context->finalized)
		return INGOT_OK;
	if (context->children)
		return say(INGOT_BUSY, "the context has %u live children", context->children);
	context->finalized = true;
	/* The caller's memory may go now, so nothing streams from it any more. */
	for (uint32_t i = 0; i < context->entries.count; i++)
		context->entries.at[i].location->retired += context->entries.at[i].location->slab->adopted;
	entries_release(runtime, &context->entries);
	location_drop(context->workspace);
	context->workspace = NULL;
	for (uint32_t i = 0; i < context->pool_count; i++)
		pool_remove(context->stream->device, context->pools[i]);
	context->pool_count = 0;
	context->stream->contexts--;
	if (context->parent)
		context->parent->children--;
	return INGOT_OK;
}

void context_release(struct object *object)
{
	struct context *context = (struct context *)object;
	struct ingot_runtime *runtime = object->runtime;
	context->children = 0;
	context_finalize_locked(context);
	memory_free(runtime, context->pools);
	if (context->merge_node)
		object_drop(&context->merge_node->object);
	if (context->parent)
		object_drop(&context->parent->object);
	object_drop(&context->stream->object);
	memory_free(runtime, context);
}

enum ingot_status ingot_context_new(struct ingot_stream handle, struct ingot_context *out)
{
	NEED(out);
	NEED_OPEN(stream, handle);
	struct context *context;
	enum ingot_status status = context_new(stream, NULL, &context);
	if (!status)
		*out = HANDLE(ingot_context, context);
	leave(handle.runtime);
	return status;
}

enum ingot_status context_lives(const struct context *context)
{
	return context->finalized ? say(INGOT_STALE, "the context is finalized") : INGOT_OK;
}

struct context *context_enter(struct ingot_context handle, enum ingot_status *status)
{
	struct context *context = ENTER(context, handle);
	*status = context ? context_lives(context) : INGOT_STALE;
	if (context && *status) {
		leave(handle.runtime);
		return NULL;
	}
	return context;
}

/* merges: NULL: as the parent. */
static enum ingot_status context_child(
        struct ingot_context handle, struct ingot_stream on, const struct ingot_node *merges, struct ingot_context *out)
{
	NEED(out);
	enum ingot_status status;
	struct context *parent = context_enter(handle, &status), *context;
	if (!parent)
		return status;
	struct stream *stream = on.runtime ? FIND(stream, handle.runtime, on) : parent->stream;
	struct node *node = stream && merges && merges->runtime ? FIND(node, handle.runtime, *merges) : NULL;
	if (!stream || (merges && merges->runtime && !node))
		status = INGOT_STALE;
	else if (stream->device != parent->stream->device)
		status = say(INGOT_MISMATCH, "%s is on another device than the parent context", stream->name);
	else if (!(status = context_new(stream, parent, &context))) {
		if (merges)
			context_merges(context, node);
		*out = HANDLE(ingot_context, context);
	}
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_context_child(struct ingot_context parent, struct ingot_stream on, struct ingot_context *out)
{
	return context_child(parent, on, NULL, out);
}

enum ingot_status ingot_context_child_merging(
        struct ingot_context parent, struct ingot_stream on, struct ingot_node node, struct ingot_context *out)
{
	return context_child(parent, on, &node, out);
}

enum ingot_status ingot_context_finalize(struct ingot_context handle)
{
	NEED_OPEN(context, handle);
	enum ingot_status status = INGOT_OK;
	object_keep(&context->object);
	placing_wait(context->stream->device);
	context_keep_newest(context);
	if (!context->finalized && !context->children && !inside_task())
		context_finish(context, NULL);
	status = context_finalize_locked(context);
	object_drop(&context->object);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_context_close(struct ingot_context handle)
{
	enum ingot_status status = ingot_context_finalize(handle);
	if (status)
		return status;
	NEED_OPEN(context, handle);
	handle_close(&context->object);
	leave(handle.runtime);
	return INGOT_OK;
}

bool ingot_context_finalized(struct ingot_context handle)
{
	struct context *context = ENTER(context, handle);
	if (!context)
		return true;
	bool finalized = context->finalized;
	leave(handle.runtime);
	return finalized;
}

enum ingot_status ingot_context_parent(struct ingot_context handle, struct ingot_context *out)
{
	NEED(out);
	NEED_OPEN(context, handle);
	enum ingot_status status = context->parent ? INGOT_OK : say(INGOT_MISSING, "the context has no parent");
	if (context->parent)
		*out = HANDLE(ingot_context, context->parent);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_context_stream(struct ingot_context handle, struct ingot_stream *out)
{
	ANSWER(context, handle, out, HANDLE(ingot_stream, context->stream));
}

enum ingot_status ingot_context_merge_node(struct ingot_context handle, struct ingot_node *out)
{
	NEED(out);
	NEED_OPEN(context, handle);
	enum ingot_status status =
	        context->merge_node ? INGOT_OK : say(INGOT_MISSING, "no transfer left a node for the merge buffer");
	if (context->merge_node)
		*out = HANDLE(ingot_node, context->merge_node);
	leave(handle.runtime);
	return status;
}

/* ---- questions ---- */

enum ingot_status ingot_context_location(
        struct ingot_context handle, struct ingot_node node, struct ingot_location *out)
{
	NEED(out);
	enum ingot_status status;
	struct entry at;
	if (!entry_enter(handle, node, &at, &status))
		return status;
	*out = (struct ingot_location){ at.location->pool, at.location->offset + at.offset,
		node_bytes(FIND(node, handle.runtime, node)) };
	leave(handle.runtime);
	return INGOT_OK;
}

enum ingot_status ingot_context_address(struct ingot_context handle, struct ingot_node node, void **out)
{
	NEED(out);
	enum ingot_status status;
	struct entry at;
	if (!entry_enter(handle, node, &at, &status))
		return status;
	const struct ingot_properties *properties = &at.location->device->properties;
	if (properties->host_memory)
		*out = (char *)at.location->slab->base + at.location->offset + at.offset;
	else
		status = say(INGOT_UNSUPPORTED, "%s does not use host memory", properties->backend);
	leave(handle.runtime);
	return status;
}
