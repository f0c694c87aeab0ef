/* values.c: the host array of a node: its values by logical index, its margins, and what a host access waits for. */
#include "inside.h"

static enum ingot_status host_create(struct ingot_runtime *runtime, struct node *node)
{
	uint64_t bytes, count;
	enum ingot_status status = node_bytes(node, &bytes);
	if (status || node->host)
		return status;
	if (bytes > SIZE_MAX / 2 || !(node->host = memory_new(runtime, 1, (size_t)bytes)))
		return say(INGOT_MEMORY, "no memory for the %llu bytes of n%u on the host", (unsigned long long)bytes,
		           node->id);
	node->host_owned = true;
	node_count(node, &count);
	bool margins = false;
	for (uint32_t i = 0; i < node->rank; i++)
		margins = margins || node->left[i] || node->right[i];
	for (uint64_t i = 0; margins && i < count; i++)
		ingot_dtype_set(node_dtype(node), node->host, i, node->margin);
	return INGOT_OK;
}

/* ---- walking the logical indices ---- */

struct walk {
	const struct node *node;
	int64_t index[INGOT_MAX_RANK];
	bool over;
};

static int64_t extent(const struct node *node, uint32_t axis)
{
	return node->dims[axis] - node->left[axis] - node->right[axis];
}

static uint64_t logical_count(const struct node *node)
{
	uint64_t count = 1;
	for (uint32_t i = 0; i < node->rank; i++)
		count *= (uint64_t)extent(node, i);
	return count;
}

static uint64_t place(const struct node *node, const int64_t *index)
{
	uint64_t at = 0;
	for (uint32_t i = 0; i < node->rank; i++)
		at = at * (uint64_t)node->dims[i] + (uint64_t)(index[i] + node->left[i]);
	return at;
}

static void walk_begin(struct walk *walk, const struct node *node)
{
	*walk = (struct walk){ .node = node, .over = logical_count(node) == 0 };
}

static void walk_next(struct walk *walk)
{
	for (uint32_t i = walk->node->rank; i-- > 0; ) {
		if (++walk->index[i] < extent(walk->node, i))
			return;
		walk->index[i] = 0;
	}
	walk->over = true;
}

enum ingot_status ingot_node_reshape(struct ingot_runtime *runtime, const struct ingot_node_options *options,
                                     void *data, uint64_t count, struct ingot_node *out)
{
	if (!runtime || !options || !data || !out)
		return say(INGOT_INVALID, "ingot_node_reshape: NULL");
	struct ingot_node handle;
	enum ingot_status status = ingot_node_new(runtime, options, &handle);
	if (status)
		return status;
	uint64_t padded, bytes;
	enter(runtime);
	struct node *node = FIND(node, runtime, handle, KIND_NODE);
	node_count(node, &padded);
	uint64_t logical = logical_count(node);
	status = node_bytes(node, &bytes);
	leave(runtime);
	ingot_node_close(handle);
	if (status)
		return status;
	if (count == padded)
		return ingot_node_wrap(runtime, options, data, bytes, out);
	if (count != logical)
		return say(INGOT_MISMATCH, "%llu elements for a node of %llu, or %llu with its margins",
		           (unsigned long long)count, (unsigned long long)logical, (unsigned long long)padded);
	status = ingot_node_new(runtime, options, &handle);
	if (status)
		return status;
	enter(runtime);
	node = FIND(node, runtime, handle, KIND_NODE);
	status = host_create(runtime, node);
	if (!status) {
		struct walk walk;
		uint64_t i = 0;
		for (walk_begin(&walk, node); !walk.over; walk_next(&walk), i++)
			ingot_dtype_set(node_dtype(node), node->host, place(node, walk.index),
			                ingot_dtype_get(node_dtype(node), data, i));
		node->host_version = ++node->newest;
		char why[200];
		if (!ingot_mode_update(&node->mode, INGOT_HOSTED, INGOT_BY_WRAPPED, why))
			status = say(INGOT_CONFLICT, "%s", why);
	}
	if (status)
		handle_close(&node->object);
	else
		*out = handle;
	leave(runtime);
	return status;
}

/* ---- access ---- */

bool ingot_node_has_host(struct ingot_node handle)
{
	struct node *node = ENTER(node, handle, KIND_NODE);
	if (!node)
		return false;
	bool has = node->host != NULL;
	leave(handle.runtime);
	return has;
}

enum ingot_status ingot_node_host(struct ingot_node handle, void **data, uint64_t *bytes)
{
	struct node *node = ENTER(node, handle, KIND_NODE);
	enum ingot_status status;
	if (!node)
		return INGOT_STALE;
	if (!node->host)
		status = say(INGOT_MISSING, "n%u has no array on the host", node->id);
	else {
		*data = node->host;
		status = node_bytes(node, bytes);
	}
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_node_host_create(struct ingot_node handle)
{
	struct node *node = ENTER(node, handle, KIND_NODE);
	if (!node)
		return INGOT_STALE;
	enum ingot_status status = host_create(handle.runtime, node);
	leave(handle.runtime);
	return status;
}

/* Waits for the transfers that are in the way: those that write the host array; for a host write also those that read it. */
static void host_wait(struct node *node, bool readers_too)
{
	struct ingot_runtime *runtime = node->object.runtime;
	while (hazard_busy(runtime, &node->host_hazard, readers_too))
		command_wait(node->host_hazard.writer ? node->host_hazard.writer : node->host_hazard.readers[0]);
}

/* Among all contexts, the one whose location has the newest value. */
static struct context *newest_context(struct ingot_runtime *runtime, struct node *node)
{
	for (uint32_t i = 0; i < runtime->handle_count; i++) {
		struct context *context = (struct context *)runtime->handles[i].object;
		struct entry room, *entry;
		if (!context || context->object.kind != KIND_CONTEXT || context->finalized ||
		    !(entry = context_find(context, node, &room)))
			continue;
		if (entry->location->version == node->newest)
			return context;
	}
	return NULL;
}

static enum ingot_status node_read(struct object *object)
{
	struct node *node = (struct node *)object;
	struct ingot_runtime *runtime = node->object.runtime;
	enum ingot_status status = INGOT_OK;
	if (!node->host)
		return say(INGOT_MISSING, "n%u has no array on the host", node->id);
	if (inside_task() && hazard_busy(runtime, &node->host_hazard, false))
		return say(INGOT_WOULD_BLOCK, "a task must not wait for a transfer");
	struct context *context = runtime->options.automatic_transfers && node->host_version != node->newest
	                                  ? newest_context(runtime, node)
	                                  : NULL;
	if (context) {
		struct ingot_context from = HANDLE(ingot_context, context);
		struct ingot_node handle = HANDLE(ingot_node, node);
		leave(runtime);
		status = ingot_to_host(from, handle, NULL, NULL);
		enter(runtime);
	}
	host_wait(node, false);
	if (!status && node->host_hazard.taint)
		status = say_failure(node->host_hazard.taint);
	return status;
}

enum ingot_status ingot_node_read(struct ingot_node handle)
{
	return DO(handle, KIND_NODE, node_read);
}

static enum ingot_status node_write(struct object *object)
{
	struct node *node = (struct node *)object;
	struct ingot_runtime *runtime = node->object.runtime;
	char why[200];
	if (inside_task() && hazard_busy(runtime, &node->host_hazard, true))
		return say(INGOT_WOULD_BLOCK, "a task must not wait for a transfer");
	host_wait(node, true);
	/* The first write of a constant is its initialisation. */
	if (ingot_mode_known_constant(&node->mode) && node->host_version)
		return say(INGOT_CONFLICT, "n%u is constant (by %u) and has its value", node->id,
		           node->mode.provenance);
	if (!ingot_mode_known_constant(&node->mode) &&
	    !ingot_mode_update(&node->mode, INGOT_HOSTED_NONCONSTANT, INGOT_BY_SET_VALUES, why))
		return say(INGOT_CONFLICT, "n%u: %s", node->id, why);
	enum ingot_status status = host_create(runtime, node);
	if (!status) {
		node->host_version = ++node->newest;
		failure_drop(runtime, node->host_hazard.taint);
		node->host_hazard.taint = NULL;
	}
	return status;
}

enum ingot_status ingot_node_write(struct ingot_node handle)
{
	return DO(handle, KIND_NODE, node_write);
}

static enum ingot_status index_check(const struct node *node, const int64_t *index, uint32_t rank)
{
	char text[160];
	struct sink sink = { text, sizeof text, 0 };
	bool fits = rank == node->rank;
	if (!node->rank && rank == 1 && index[0] == 0)
		return INGOT_OK;                          /* a scalar takes [0] too */
	for (uint32_t i = 0; fits && i < rank; i++)
		fits = index[i] >= 0 && index[i] < extent(node, i);
	if (fits)
		return INGOT_OK;
	sink_printf(&sink, "[");
	for (uint32_t i = 0; i < rank; i++)
		sink_printf(&sink, "%s%lld", i ? "," : "", (long long)index[i]);
	sink_printf(&sink, "] of n%u with dims [", node->id);
	for (uint32_t i = 0; i < node->rank; i++)
		sink_printf(&sink, "%s%lld", i ? "," : "", (long long)extent(node, i));
	return say(INGOT_RANGE, "%s]", text);
}

enum ingot_status ingot_node_get(struct ingot_node handle, const int64_t *index, uint32_t rank, double *value)
{
	struct node *node = ENTER(node, handle, KIND_NODE);
	if (!node)
		return INGOT_STALE;
	object_keep(&node->object);
	enum ingot_status status = index_check(node, index, rank);
	if (!status)
		status = node_read(&node->object);
	if (!status)
		*value = ingot_dtype_get(node_dtype(node), node->host, node->rank ? place(node, index) : 0);
	object_drop(&node->object);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_node_set(struct ingot_node handle, const int64_t *index, uint32_t rank, double value)
{
	struct node *node = ENTER(node, handle, KIND_NODE);
	if (!node)
		return INGOT_STALE;
	object_keep(&node->object);
	enum ingot_status status = index_check(node, index, rank);
	if (!status && node->host)
		status = node_read(&node->object);                 /* the other elements keep their newest values */
	if (!status)
		status = node_write(&node->object);
	if (!status)
		ingot_dtype_set(node_dtype(node), node->host, node->rank ? place(node, index) : 0, value);
	object_drop(&node->object);
	leave(handle.runtime);
	return status;
}

static enum ingot_status count_check(const struct node *node, uint64_t count)
{
	uint64_t logical = logical_count(node);
	return count == logical ? INGOT_OK
	                        : say(INGOT_MISMATCH, "%llu values for the %llu elements of n%u",
	                              (unsigned long long)count, (unsigned long long)logical, node->id);
}

enum ingot_status ingot_node_get_all(struct ingot_node handle, double *values, uint64_t count)
{
	struct node *node = ENTER(node, handle, KIND_NODE);
	struct walk walk;
	if (!node)
		return INGOT_STALE;
	object_keep(&node->object);
	enum ingot_status status = count_check(node, count);
	if (!status)
		status = node_read(&node->object);
	if (!status)
		for (walk_begin(&walk, node); !walk.over; walk_next(&walk))
			*values++ = ingot_dtype_get(node_dtype(node), node->host, place(node, walk.index));
	object_drop(&node->object);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_node_set_all(struct ingot_node handle, const double *values, uint64_t count)
{
	struct node *node = ENTER(node, handle, KIND_NODE);
	struct walk walk;
	if (!node)
		return INGOT_STALE;
	object_keep(&node->object);
	enum ingot_status status = count_check(node, count);
	if (!status)
		status = node_write(&node->object);
	if (!status)
		for (walk_begin(&walk, node); !walk.over; walk_next(&walk))
			ingot_dtype_set(node_dtype(node), node->host, place(node, walk.index), *values++);
	object_drop(&node->object);
	leave(handle.runtime);
	return status;
}

static bool in_margin(const struct node *node, uint64_t at)
{
	for (uint32_t i = node->rank; i-- > 0; ) {
		int64_t index = (int64_t)(at % (uint64_t)node->dims[i]);
		at /= (uint64_t)node->dims[i];
		if (index < node->left[i] || index >= node->dims[i] - node->right[i])
			return true;
	}
	return false;
}

enum ingot_status ingot_node_reset_margins(struct ingot_node handle, double value)
{
	struct node *node = ENTER(node, handle, KIND_NODE);
	uint64_t count;
	if (!node)
		return INGOT_STALE;
	object_keep(&node->object);
	enum ingot_status status = INGOT_OK;
	if (!node->margin_open && value != node->margin)
		status = say(INGOT_CONFLICT, "the margins of n%u hold %g", node->id, node->margin);
	if (!status && node->host)
		status = node_read(&node->object);
	if (!status)
		status = node_write(&node->object);
	node_count(node, &count);
	for (uint64_t i = 0; !status && i < count; i++)
		if (in_margin(node, i))
			ingot_dtype_set(node_dtype(node), node->host, i, value);
	object_drop(&node->object);
	leave(handle.runtime);
	return status;
}

static enum ingot_status points(struct ingot_node handle, int axis, int64_t x, int64_t y, double *xs, double *ys,
                                uint64_t room, uint64_t *count)
{
	struct node *node = ENTER(node, handle, KIND_NODE);
	struct walk walk;
	enum ingot_status status = INGOT_OK;
	if (!node)
		return INGOT_STALE;
	object_keep(&node->object);
	axis = axis < 0 ? (int)node->rank - 1 : axis;
	if (!node->rank || axis >= (int)node->rank)
		status = say(INGOT_RANGE, "n%u has no axis %d", node->id, axis);
	else if (x < 0 || x >= extent(node, (uint32_t)axis) || (ys && (y < 0 || y >= extent(node, (uint32_t)axis))))
		status = say(INGOT_RANGE, "coordinates %lld and %lld of an axis of %lld", (long long)x, (long long)y,
		             (long long)extent(node, (uint32_t)axis));
	if (!status)
		status = node_read(&node->object);
	if (!status) {
		*count = 0;
		for (walk_begin(&walk, node); !walk.over; walk_next(&walk)) {
			if (walk.index[axis] != 0)
				continue;
			int64_t index[INGOT_MAX_RANK];
			memcpy(index, walk.index, sizeof index);
			index[axis] = x;
			if (*count < room)
				xs[*count] = ingot_dtype_get(node_dtype(node), node->host, place(node, index));
			index[axis] = y;
			if (ys && *count < room)
				ys[*count] = ingot_dtype_get(node_dtype(node), node->host, place(node, index));
			++*count;
		}
	}
	object_drop(&node->object);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_node_points_1d(struct ingot_node node, int axis, int64_t x, double *xs, uint64_t room,
                                       uint64_t *count)
{
	return points(node, axis, x, x, xs, NULL, room, count);
}

enum ingot_status ingot_node_points_2d(struct ingot_node node, int axis, int64_t x, int64_t y, double *xs, double *ys,
                                       uint64_t room, uint64_t *count)
{
	return points(node, axis, x, y, xs, ys, room, count);
}
