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
static enum ingot_slab_mode slab_mode(const struct node *node)
{
	return node && ingot_mode_known_hosted(&node->mode) ? INGOT_SLAB_SHARED : INGOT_SLAB_PRIVATE;
}

struct location *location_alone(
        struct device *device, struct node *node, uint64_t bytes, uint32_t align, enum ingot_status *status)
{
	return location_whole(node, slab_new(device, bytes, align, slab_mode(node), status), status);
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
	struct stream *stream = ENTER(stream, handle, KIND_STREAM);
	struct context *context;
	if (!stream)
		return INGOT_STALE;
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
	struct context *context = ENTER(context, handle, KIND_CONTEXT);
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
	struct stream *stream = on.runtime ? FIND(stream, handle.runtime, on, KIND_STREAM) : parent->stream;
	struct node *node = stream && merges && merges->runtime ? FIND(node, handle.runtime, *merges, KIND_NODE) : NULL;
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
	struct context *context = ENTER(context, handle, KIND_CONTEXT);
	if (!context)
		return INGOT_STALE;
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
	struct context *context = ENTER(context, handle, KIND_CONTEXT);
	if (!context)
		return INGOT_STALE;
	handle_close(&context->object);
	leave(handle.runtime);
	return INGOT_OK;
}

bool ingot_context_finalized(struct ingot_context handle)
{
	struct context *context = ENTER(context, handle, KIND_CONTEXT);
	if (!context)
		return true;
	bool finalized = context->finalized;
	leave(handle.runtime);
	return finalized;
}

enum ingot_status ingot_context_parent(struct ingot_context handle, struct ingot_context *out)
{
	NEED(out);
	struct context *context = ENTER(context, handle, KIND_CONTEXT);
	if (!context)
		return INGOT_STALE;
	enum ingot_status status = context->parent ? INGOT_OK : say(INGOT_MISSING, "the context has no parent");
	if (context->parent)
		*out = HANDLE(ingot_context, context->parent);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_context_stream(struct ingot_context handle, struct ingot_stream *out)
{
	NEED(out);
	struct context *context = ENTER(context, handle, KIND_CONTEXT);
	if (!context)
		return INGOT_STALE;
	*out = HANDLE(ingot_stream, context->stream);
	leave(handle.runtime);
	return INGOT_OK;
}

enum ingot_status ingot_context_merge_node(struct ingot_context handle, struct ingot_node *out)
{
	NEED(out);
	struct context *context = ENTER(context, handle, KIND_CONTEXT);
	if (!context)
		return INGOT_STALE;
	enum ingot_status status =
	        context->merge_node ? INGOT_OK : say(INGOT_MISSING, "no transfer left a node for the merge buffer");
	if (context->merge_node)
		*out = HANDLE(ingot_node, context->merge_node);
	leave(handle.runtime);
	return status;
}

/* ---- placing ---- */

enum ingot_status context_upload(struct context *context, struct node *node, struct entry *entry, const void *data,
        uint64_t bytes, enum upload kind, struct ingot_command **out)
{
	struct location *location = entry->location;
	struct ingot_command *command;
	struct node *base;
	node_host(node, &base);
	struct access accesses[2] = { location_access(location, node, true),
		{ .hazard = &base->host_hazard, .read = true } };
	/* The host's part in a place that has the host's value already makes no new one. */
	if (kind == UPLOAD_INITIAL
	        || (kind == UPLOAD_HOST && (base == node || location_held(location)->version == host_version(base)))) {
		accesses[0].gives = GIVES_VALUE;
		accesses[0].version = kind == UPLOAD_HOST ? host_version(base) : INITIAL_VERSION;
	}
	enum ingot_status status =
	        submit_write(context->stream, "from_host", location->slab, location->offset + entry->offset, data,
	                bytes, accesses, kind == UPLOAD_HOST ? 2 : 1, &node->object, &command);
	if (status)
		return status;
	if (kind == UPLOAD_HOST)
		move_pins(command, base);
	if (out)
		*out = command;
	node->uploads += kind == UPLOAD_HOST;
	return INGOT_OK;
}

enum ingot_status location_clear(struct context *context, struct location *location)
{
	return submit_fill(context->stream, location->slab, location->offset, location->bytes, 0,
	        &(struct access){ &location->hazard, .write = true, .gives = GIVES_ZEROS }, 1, NULL);
}

enum ingot_status location_begin(struct context *context, struct node *node, struct location *location, bool cleared)
{
	struct entry entry = { node, location, 0 };
	enum ingot_status status = INGOT_OK;
	bool host = host_version(node) != 0;
	if (node_has_value(node))
		status = context_upload(context, node, &entry, host ? node->host : node_initial(node), location->bytes,
		        host ? UPLOAD_HOST : UPLOAD_INITIAL, NULL);
	else if (!cleared)
		status = location_clear(context, location);
	if (!status)
		location->first = location_held(location)->written;
	return status;
}

struct placing {
	struct ingot_plan_item *items;
	struct node **nodes;
	struct location **locations;
	uint8_t *first;
	uint64_t *used;
	struct slab **slabs;
	uint32_t *pools;
	struct access *accesses;
	struct sharing *given;          /* of the nodes asked for, where the device has its place: as it was */
	uint32_t count, segments, made; /* nodes, pools, pools that are the context's */
};

static void placing_release(struct ingot_runtime *runtime, struct placing *placing)
{
	for (uint32_t i = 0; placing->locations && i < placing->count; i++)
		location_drop(placing->locations[i]);
	memory_free(runtime, placing->items);
	memory_free(runtime, placing->nodes);
	memory_free(runtime, placing->locations);
	memory_free(runtime, placing->first);
	memory_free(runtime, placing->used);
	memory_free(runtime, placing->slabs);
	memory_free(runtime, placing->pools);
	memory_free(runtime, placing->accesses);
	memory_free(runtime, placing->given);
}

static enum ingot_status pools_open(struct context *context, struct placing *placing)
{
	struct device *device = context->stream->device;
	struct ingot_runtime *runtime = device->object.runtime;
	for (; placing->made < placing->segments; placing->made++) {
		uint32_t align = 0, segment = placing->made;
		enum ingot_slab_mode mode = INGOT_SLAB_PRIVATE;
		enum ingot_status status;
		for (uint32_t i = 0; i < placing->count; i++) {
			if (placing->items[i].segment != segment)
				continue;
			if (placing->items[i].align > align)
				align = (uint32_t)placing->items[i].align;
			if (slab_mode(placing->nodes[i]) == INGOT_SLAB_SHARED)
				mode = INGOT_SLAB_SHARED;
		}
		if (!memory_grow(
		            runtime, &context->pools, context->pool_count, &context->pool_room, sizeof *context->pools))
			return say(INGOT_MEMORY, "no memory for a pool");
		struct slab *slab = slab_new(device, placing->used[segment], align, mode, &status);
		if (!slab || (status = pool_add_inner(device, slab, placing->pools + segment)))
			return status;
		placing->slabs[segment] = slab;
		context->pools[context->pool_count++] = placing->pools[segment];
	}
	return INGOT_OK;
}

/* No thread writes their host arrays: uploads read them. */
static void hosts_settle(struct placing *placing)
{
	for (uint32_t i = 0; INGOT_THREADS && i < placing->count; i++)
		if (placing->nodes[i]->host_busy) {
			node_host_settle(placing->nodes[i]);
			i = UINT32_MAX; /* others may be by now */
		}
}

static bool zeroed(const struct placing *placing, uint32_t i)
{
	struct node *node = placing->nodes[i];
	return !node_has_value(node) && placing->first[i] == FIRST_ZEROS;
}

/* One fill for neighbours that have to be zero; then what has a value gets it. */
static enum ingot_status values_begin(struct context *context, struct placing *placing)
{
	for (uint32_t i = 0; i < placing->count; i++) {
		const struct ingot_plan_item *first = placing->items + i, *last = first;
		uint32_t count = 0;
		for (; i < placing->count && placing->items[i].segment == first->segment && zeroed(placing, i); i++) {
			placing->accesses[count++] =
			        (struct access){ &placing->locations[i]->hazard, .write = true, .gives = GIVES_ZEROS };
			last = placing->items + i;
		}
		if (!count)
			continue;
		i--;
		enum ingot_status status = submit_fill(context->stream, placing->slabs[first->segment], first->offset,
		        last->offset + last->bytes - first->offset, 0, placing->accesses, count, NULL);
		if (status)
			return status;
	}
	enum ingot_status status = INGOT_OK;
	for (uint32_t i = 0; i < placing->count && !status; i++)
		if (placing->first[i] != FIRST_WRITTEN)
			status = location_begin(context, placing->nodes[i], placing->locations[i], true);
	return status;
}

static enum ingot_status place_all(struct context *context, struct placing *placing)
{
	struct device *device = context->stream->device;
	struct ingot_runtime *runtime = device->object.runtime;
	uint32_t bad;
	for (uint32_t i = 0; i < placing->count; i++) {
		struct node *node = placing->nodes[i];
		placing->items[i].bytes = node_bytes(node);
		placing->items[i].align =
		        node->align > device->properties.slab_align ? node->align : device->properties.slab_align;
	}
	enum ingot_plan_status planned = ingot_plan_segments(
	        placing->items, placing->count, runtime->options.pool_cap, placing->used, &placing->segments, &bad);
	if (planned) {
		char name[80];
		node_debug_name(placing->nodes[bad], name, sizeof name);
		return say(INGOT_RANGE, "%s has %llu bytes; a pool holds %llu (large_models lifts that)", name,
		        (unsigned long long)placing->items[bad].bytes, (unsigned long long)runtime->options.pool_cap);
	}
	enum ingot_status status = pools_open(context, placing);
	hosts_settle(placing);
	for (uint32_t i = 0; i < placing->count && !status; i++) {
		uint32_t segment = placing->items[i].segment;
		struct location *location = location_new(device, placing->nodes[i], placing->slabs[segment],
		        placing->pools[segment], placing->items[i].offset, placing->items[i].bytes);
		placing->locations[i] = location;
		status = location ? entries_add(runtime, &context->entries, placing->nodes[i], location, 0)
		                  : say(INGOT_MEMORY, "no memory for a location");
	}
	return status ? status : values_begin(context, placing);
}

enum ingot_status context_place_nodes(
        struct context *context, struct node *const *nodes, const uint8_t *first, uint32_t count)
{
	struct ingot_runtime *runtime = context->object.runtime;
	struct entry room;
	struct placing placing = { .items = memory_new(runtime, count, sizeof *placing.items),
		.nodes = memory_new(runtime, count, sizeof *placing.nodes),
		.locations = memory_new(runtime, count, sizeof *placing.locations),
		.first = memory_new(runtime, count, sizeof *placing.first),
		.used = memory_new(runtime, count, sizeof *placing.used),
		.slabs = memory_new(runtime, count, sizeof *placing.slabs),
		.pools = memory_new(runtime, count, sizeof *placing.pools),
		.accesses = memory_new(runtime, count, sizeof *placing.accesses),
		.given = memory_new(runtime, count, sizeof *placing.given) };
	bool lacking = !placing.items || !placing.nodes || !placing.locations || !placing.first || !placing.used
	        || !placing.slabs || !placing.pools || !placing.accesses || !placing.given;
	enum ingot_status status = lacking ? say(INGOT_MEMORY, "no memory to place %u nodes", count) : INGOT_OK;
	for (uint32_t i = 0; i < count && !status; i++) {
		uint64_t offset;
		struct node *base = node_base(nodes[i], &offset);
		bool twice = context_find(context, base, &room) != NULL;
		for (uint32_t k = 0; k < placing.count && !twice; k++)
			twice = placing.nodes[k] == base;
		if (twice)
			continue;
		struct location *given;
		sharing_note(context->stream->device, base, placing.given + i);
		if ((status = node_placeable(base)) || (status = location_given(context, base, &given, &offset)))
			break;
		if (given) {
			status = entries_add(runtime, &context->entries, base, given, offset);
			continue;
		}
		placing.first[placing.count] = first && base == nodes[i] ? first[i] : FIRST_ZEROS;
		placing.nodes[placing.count++] = base;
	}
	if (!status && placing.count)
		status = place_all(context, &placing);
	if (status && !lacking) { /* as it was */
		for (uint32_t i = 0; i < placing.count; i++) {
			struct entry *entry = entries_find(&context->entries, placing.nodes[i]);
			if (entry && entry->location == placing.locations[i])
				entries_remove(&context->entries, placing.nodes[i]);
		}
		for (uint32_t i = count; i-- > 0;)
			if (placing.given[i].node)
				entries_remove(&context->entries, placing.given[i].node);
		for (; placing.made; placing.made--)
			pool_remove(context->stream->device, context->pools[--context->pool_count]);
	}
	for (uint32_t i = count; !lacking && i-- > 0;)
		sharing_end(context->stream->device, placing.given + i, status != INGOT_OK);
	placing_release(runtime, &placing);
	return status;
}

enum ingot_status ingot_context_place(struct ingot_context handle, const struct ingot_node *handles, uint32_t count)
{
	NEED(handles || !count);
	enum ingot_status status;
	struct context *context = context_enter(handle, &status);
	struct submission submission;
	if (!context)
		return status;
	struct ingot_runtime *runtime = handle.runtime;
	struct node **nodes = memory_new(runtime, count, sizeof *nodes);
	object_keep(&context->object);
	status = submission_begin(&submission, context->stream, NULL);
	if (!status && !nodes)
		status = say(INGOT_MEMORY, "no memory to place %u nodes", count);
	if (!status)
		status = context_lives(context);
	for (uint32_t i = 0; i < count && !status; i++) {
		if (!(nodes[i] = FIND(node, runtime, handles[i], KIND_NODE)))
			status = INGOT_STALE;
		else
			object_keep(&nodes[i]->object);
	}
	placing_begin(context->stream->device);
	if (!status && !(status = context_lives(context)) && !(status = stream_refuses(context->stream)))
		status = context_place_nodes(context, nodes, NULL, count);
	placing_end(context->stream->device);
	for (uint32_t i = 0; nodes && i < count && nodes[i]; i++)
		object_drop(&nodes[i]->object);
	memory_free(runtime, nodes);
	object_drop(&context->object);
	return submission_end(&submission, status, NULL);
}

/* With the lock and a reference: the context, and a node that it may get a place for; another status says why not. */
static struct context *own_place_enter(struct ingot_context handle, struct ingot_node node_handle, struct node **node,
        uint64_t *bytes, enum ingot_status *status)
{
	struct context *context = context_enter(handle, status);
	struct entry room;
	if (!context)
		return NULL;
	object_keep(&context->object);
	placing_wait(context->stream->device);
	*node = FIND(node, handle.runtime, node_handle, KIND_NODE);
	if (!*node)
		*status = INGOT_STALE;
	else if ((*status = context_lives(context)))
		;
	else if ((*node)->parent)
		*status = say(INGOT_INVALID, "a view has no place of its own");
	else if ((*status = node_placeable(*node)))
		;
	else if (context_find(context, *node, &room))
		*status = say(INGOT_PRESENT, "n%u is in the context already", (*node)->id);
	else
		*bytes = node_bytes(*node);
	return context;
}

/* Takes the reference to the location; NULL: there was no memory for it.  fresh: it has the newest value from now
 * on. */
static enum ingot_status own_place(struct context *context, struct node *node, struct location *location, bool fresh)
{
	if (!location)
		return say(INGOT_MEMORY, "no memory to place n%u", node->id);
	enum ingot_status status = entries_add(context->object.runtime, &context->entries, node, location, 0);
	if (!status && fresh) {
		location->hazard.held.holds = HOLDS_VALUE;
		location->hazard.held.version = ++node->stamp;
	}
	location_drop(location);
	return status;
}

static enum ingot_status own_place_aligned(const struct node *node, const void *base, uint64_t offset)
{
	if (((uintptr_t)base + offset) % node_align(node))
		return say(INGOT_INVALID, "memory for n%u is aligned to %u bytes", node->id, node_align(node));
	return INGOT_OK;
}

enum ingot_status ingot_context_adopt(
        struct ingot_context handle, struct ingot_node node_handle, void *memory, uint64_t bytes)
{
	NEED(memory);
	enum ingot_status status;
	uint64_t needed;
	struct node *node = NULL;
	struct context *context = own_place_enter(handle, node_handle, &node, &needed, &status);
	if (!context)
		return status;
	struct device *device = context->stream->device;
	if (!status && !(status = own_place_aligned(node, memory, 0))) {
		if (!device->properties.host_memory)
			status = say(INGOT_UNSUPPORTED, "%s does not use host memory", device->properties.backend);
		else if (needed != bytes)
			status = say(INGOT_MISMATCH, "%llu bytes for the %llu of n%u", (unsigned long long)bytes,
			        (unsigned long long)needed, node->id);
	}
	if (!status) {
		struct location *location = location_adopt(device, node, memory, bytes, &status);
		if (location)
			status = own_place(context, node, location, true);
		/* The node's own host array: both copies are one, and neither is older. */
		if (!status && memory == node->host)
			node->host_hazard.held.version = node->stamp;
	}
	object_drop(&context->object);
	leave(handle.runtime);
	return status;
}

/* The node's place that is the range; else whether any other meets it.  Versions are a node's, so a place is one
 * node's, in however many contexts. */
static struct location *location_at(
        struct device *device, const struct slab *slab, const struct ingot_location *at, struct node *node, bool *meets)
{
	*meets = false;
	for (uint32_t i = 0; i < device->location_count; i++) {
		struct location *one = device->locations[i];
		if (one->slab != slab || one->offset >= at->offset + at->bytes
		        || at->offset >= one->offset + one->bytes)
			continue;
		if (one->offset == at->offset && one->bytes == at->bytes && one->node == node)
			return one;
		*meets = true;
	}
	return NULL;
}

enum ingot_status ingot_context_bind(
        struct ingot_context handle, struct ingot_node node_handle, struct ingot_location at)
{
	enum ingot_status status;
	uint64_t needed;
	bool meets = false;
	struct node *node = NULL;
	struct context *context = own_place_enter(handle, node_handle, &node, &needed, &status);
	if (!context)
		return status;
	struct device *device = context->stream->device;
	struct pool *pool = status ? NULL : pool_find(device, at.pool);
	if (!status && !pool)
		status = say(INGOT_MISSING, "%s has no pool %u", context->stream->name, at.pool);
	else if (!status && at.bytes != needed)
		status = say(INGOT_MISMATCH, "%llu bytes for the %llu of n%u", (unsigned long long)at.bytes,
		        (unsigned long long)needed, node->id);
	else if (!status && (at.offset > pool->slab->bytes || at.bytes > pool->slab->bytes - at.offset))
		status = say(INGOT_RANGE, "pool %u has %llu bytes, and n%u ends at %llu", at.pool,
		        (unsigned long long)pool->slab->bytes, node->id, (unsigned long long)(at.offset + at.bytes));
	else if (!status && pool->slab->constant)
		status = say(INGOT_CONFLICT, "pool %u holds constants", at.pool);
	else if (!status)
		status = own_place_aligned(node, pool->slab->base, at.offset);
	if (!status) {
		struct location *location = location_at(device, pool->slab, &at, node, &meets);
		bool fresh = !location;
		if (location)
			location_keep(location);
		else if (meets || pool->inner)
			status = say(INGOT_CONFLICT, "n%u at %llu of pool %u: %s", node->id,
			        (unsigned long long)at.offset, at.pool,
			        meets ? "another node lies there"
			              : "the pool is a context's, and the node does not lie there");
		else
			location = location_new(device, node, pool->slab, at.pool, at.offset, at.bytes);
		status = status ? status : own_place(context, node, location, fresh);
	}
	object_drop(&context->object);
	leave(handle.runtime);
	return status;
}

struct location *context_workspace(struct context *context, uint64_t bytes, uint32_t align, enum ingot_status *status)
{
	*status = INGOT_OK;
	for (struct context *one = context; one; one = one->parent)
		if (one->workspace && one->stream == context->stream && one->workspace->bytes >= bytes
		        && slab_aligned(one->workspace->slab, align))
			return one->workspace;
	return context->workspace = location_alone(
	               context->stream->device, NULL, bytes, align, status); /* a routine's context has one */
}

/* ---- questions ---- */

enum ingot_status ingot_context_location(
        struct ingot_context handle, struct ingot_node node_handle, struct ingot_location *out)
{
	NEED(out);
	enum ingot_status status;
	struct context *context = context_enter(handle, &status);
	struct entry room;
	if (!context)
		return status;
	struct node *node = FIND(node, handle.runtime, node_handle, KIND_NODE);
	if (!node)
		status = INGOT_STALE;
	else if (!context_find(context, node, &room))
		status = say(INGOT_MISSING, "n%u is not in the context on %s", node->id, context->stream->name);
	else
		*out = (struct ingot_location){ room.location->pool, room.location->offset + room.offset,
			node_bytes(node) };
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_context_address(struct ingot_context handle, struct ingot_node node_handle, void **out)
{
	NEED(out);
	enum ingot_status status;
	struct context *context = context_enter(handle, &status);
	struct entry room;
	if (!context)
		return status;
	struct node *node = FIND(node, handle.runtime, node_handle, KIND_NODE);
	if (!node)
		status = INGOT_STALE;
	else if (!context_find(context, node, &room))
		status = say(INGOT_MISSING, "n%u is not in the context on %s", node->id, context->stream->name);
	else if (!context->stream->device->properties.host_memory)
		status = say(
		        INGOT_UNSUPPORTED, "%s does not use host memory", context->stream->device->properties.backend);
	else
		*out = (char *)room.location->slab->base + room.location->offset + room.offset;
	leave(handle.runtime);
	return status;
}
