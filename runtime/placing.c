/* placing.c: nodes of a context -> places: in pools that are its own, or where the caller says; with their first values. */
#include "inside.h"

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
	enum ingot_status status = submit_move(context->stream, "from_host",
	        (struct move){ .to = location->slab,
	                .to_offset = location->offset + entry->offset,
	                .from_host = data,
	                .bytes = bytes },
	        accesses, kind == UPLOAD_HOST ? 2 : 1, &node->object, &command);
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
	return submit_move(context->stream, "fill",
	        (struct move){ .to = location->slab, .to_offset = location->offset, .bytes = location->bytes },
	        &(struct access){ &location->hazard, .write = true, .gives = GIVES_ZEROS }, 1, NULL, NULL);
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

/* ---- in pools of the context ---- */

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
			if (node_slab_mode(placing->nodes[i]) == INGOT_SLAB_SHARED)
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
		enum ingot_status status = submit_move(context->stream, "fill",
		        (struct move){ .to = placing->slabs[first->segment],
		                .to_offset = first->offset,
		                .bytes = last->offset + last->bytes - first->offset },
		        placing->accesses, count, NULL, NULL);
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
		if (!(nodes[i] = FIND(node, runtime, handles[i])))
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

/* ---- in memory of the caller ---- */

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
	*node = FIND(node, handle.runtime, node_handle);
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
