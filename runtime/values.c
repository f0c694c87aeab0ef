/* values.c: the host array of a node: its values by logical index, its margins, and what a host access waits for. */
#include "inside.h"

/* The node's values are this thread's, and the lock is free, from begin to end. */
static void host_begin(struct node *base)
{
	object_keep(&base->object);
	base->host_busy = true;
	leave(base->object.runtime);
}

static void host_end(struct node *base)
{
	enter(base->object.runtime);
	base->host_busy = false;
	changed(base->object.runtime);
	object_drop(&base->object);
}

/* One thread makes it, and gives the lock up while it fills margins; others wait for it. */
static enum ingot_status host_create(struct ingot_runtime *runtime, struct node *node)
{
	uint64_t bytes = node_bytes(node), count = node_count(node);
	while (INGOT_THREADS && !node->host && node->host_busy)
		change_wait(runtime);
	if (node->host)
		return INGOT_OK;
	void *host = bytes > SIZE_MAX / 2 ? NULL : memory_new(runtime, 1, (size_t)bytes);
	if (!host)
		return say(INGOT_MEMORY, "no memory for the %llu bytes of n%u on the host", (unsigned long long)bytes,
		        node->id);
	bool margins = false;
	for (uint32_t i = 0; i < node->rank; i++)
		margins = margins || node->left[i] || node->right[i];
	if (margins) {
		enum ingot_dtype dtype = node_dtype(node);
		host_begin(node);
		for (uint64_t i = 0; i < count; i++)
			ingot_dtype_set(dtype, host, i, node->margin);
		host_end(node);
	}
	node->host = host;
	node->host_owned = true;
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
	for (uint32_t i = walk->node->rank; i-- > 0;) {
		if (++walk->index[i] < extent(walk->node, i))
			return;
		walk->index[i] = 0;
	}
	walk->over = true;
}

enum ingot_status ingot_node_reshape(struct ingot_runtime *runtime, const struct ingot_node_options *options,
        void *data, uint64_t count, struct ingot_node *out)
{
	NEED(runtime && options && data && out);
	NEED_LIVING(runtime);
	enum ingot_status status;
	enter(runtime);
	struct node *node = node_make(runtime, options, &status);
	if (!node) {
		leave(runtime);
		return status;
	}
	uint64_t logical = logical_count(node), padded = node_count(node);
	if (count == padded)
		status = node_wrap(node, data);
	else if (count != logical)
		status = say(INGOT_MISMATCH, "%llu elements for a node of %llu, or %llu with its margins",
		        (unsigned long long)count, (unsigned long long)logical, (unsigned long long)padded);
	else if (!(status = host_create(runtime, node))) {
		struct walk walk;
		uint64_t i = 0;
		enum ingot_dtype dtype = node_dtype(node);
		host_begin(node);
		for (walk_begin(&walk, node); !walk.over; walk_next(&walk), i++)
			ingot_dtype_set(dtype, node->host, place(node, walk.index), ingot_dtype_get(dtype, data, i));
		host_end(node);
		status = node_wrap(node, node->host);
	}
	if (status)
		handle_close(&node->object);
	else
		*out = HANDLE(ingot_node, node);
	leave(runtime);
	return status;
}

/* ---- access ---- */

bool ingot_node_has_host(struct ingot_node handle)
{
	struct node *node = ENTER(node, handle), *base;
	if (!node)
		return false;
	bool has = node_host(node, &base) != NULL;
	leave(handle.runtime);
	return has;
}

enum ingot_status ingot_node_host(struct ingot_node handle, void **data, uint64_t *bytes)
{
	NEED(data && bytes);
	NEED_OPEN(node, handle);
	struct node *base;
	void *host = node_host(node, &base);
	enum ingot_status status = host ? INGOT_OK : say(INGOT_MISSING, "n%u has no array on the host", node->id);
	if (!status) {
		*data = host;
		*bytes = node_bytes(node);
	}
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_node_host_create(struct ingot_node handle)
{
	NEED_OPEN(node, handle);
	struct node *base;
	node_host(node, &base);
	enum ingot_status status = host_create(handle.runtime, base);
	leave(handle.runtime);
	return status;
}

/* Waits for the transfers that are in the way: those that write the host array; for a host write also those that read
 * it. */
void host_wait(struct node *base, bool readers_too)
{
	struct ingot_runtime *runtime = base->object.runtime;
	while (hazard_busy(runtime, &base->host_hazard, readers_too))
		command_wait_done(base->host_hazard.writer ? base->host_hazard.writer : base->host_hazard.readers[0]);
}

/* Among all contexts, the one whose location has the newest value. */
struct context *newest_context(struct node *base)
{
	struct ingot_runtime *runtime = base->object.runtime;
	uint64_t newest = node_newest(base);
	for (EACH(context, context, runtime)) {
		struct entry room, *entry;
		if (context->finalized || !(entry = context_find(context, base, &room)))
			continue;
		if (location_held(entry->location)->version == newest
		        && hazard_valued(runtime, &entry->location->hazard))
			return context;
	}
	return NULL;
}

/* The newest value of the whole, of which the node may be a part, comes to the host. */
static enum ingot_status host_read(struct node *base)
{
	struct ingot_runtime *runtime = base->object.runtime;
	enum ingot_status status = INGOT_OK;
	if (!base->host)
		return say(INGOT_MISSING, "n%u has no array on the host", base->id);
	if (hazard_busy(runtime, &base->host_hazard, false) && (status = task_refuses("must not wait for a transfer")))
		return status;
	/* Where the last one failed it is fetched again. */
	if (runtime->options.automatic_transfers
	        && (host_version(base) != node_newest(base) || base->host_hazard.held.taint)) {
		struct context *context = newest_context(base);
		if (!context)
			return base->host_hazard.held.taint
			        ? say_failure(base->host_hazard.held.taint)
			        : say(INGOT_UNREADY, "the newest value of n%u went with the context it was in",
			                base->id);
		if ((status = task_refuses("must not wait for a transfer")))
			return status;
		struct ingot_context from = HANDLE(ingot_context, context);
		struct ingot_node handle = HANDLE(ingot_node, base);
		leave(runtime);
		status = ingot_to_host(from, handle, NULL, NULL);
		enter(runtime);
	}
	host_wait(base, false);
	if (!status && base->host_hazard.held.taint)
		status = say_failure(base->host_hazard.held.taint);
	return status;
}

static enum ingot_status node_read(struct object *object)
{
	struct node *base;
	node_host((struct node *)object, &base);
	enum ingot_status status = prepared_run(base, false);
	return status ? status : host_read(base);
}

enum ingot_status ingot_node_read(struct ingot_node handle) { return DO(node, handle, node_read); }

static enum ingot_status node_write(struct object *object)
{
	struct node *base;
	struct ingot_runtime *runtime = object->runtime;
	enum ingot_status status;
	char why[200];
	node_host((struct node *)object, &base);
	if ((status = prepared_run(base, true)))
		return status;
	if (hazard_busy(runtime, &base->host_hazard, true) && (status = task_refuses("must not wait for a transfer")))
		return status;
	host_wait(base, true);
	/* The first write of a constant is its initialisation. */
	if (ingot_mode_known_constant(&base->mode) && (host_version(base) || node_constants(base)))
		return node_conflict(base, "it is constant, and has its value");
	struct ingot_mode_state mode = base->mode;
	bool open = !ingot_mode_known_constant(&mode);
	if (open && !ingot_mode_update(&mode, INGOT_HOSTED_NONCONSTANT, INGOT_BY_SET_VALUES, why))
		return node_conflict(base, why);
	if ((status = host_create(runtime, base)))
		return status;
	/* The rest of what is written in part keeps its newest value. */
	if (&base->object != object && node_newest(base) && (status = host_read(base)))
		return status;
	if (open && !ingot_mode_update(&base->mode, INGOT_HOSTED_NONCONSTANT, INGOT_BY_SET_VALUES, why))
		return node_conflict(base, why); /* decided otherwise meanwhile */
	host_written(base);
	return INGOT_OK;
}

enum ingot_status ingot_node_write(struct ingot_node handle) { return DO(node, handle, node_write); }

/* ---- values: the host array is this thread's, and the lock is free, from begin to end ---- */

enum { READ = 1, WRITE = 2 };

static enum ingot_status values_begin(struct node *node, int how, char **host)
{
	struct node *base;
	enum ingot_status status = INGOT_OK;
	for (;;) {
		if (how & READ)
			status = node_read(&node->object);
		if (!status && how & WRITE)
			status = node_write(&node->object);
		*host = node_host(node, &base);
		if (status || !base->host_busy)
			break;
		node_host_settle(base);
	}
	if (status)
		return status;
	base->host_busy = true;
	node_dtype(node);
	leave(node->object.runtime);
	return INGOT_OK;
}

static void values_end(struct node *node)
{
	struct node *base;
	enter(node->object.runtime);
	node_host(node, &base);
	base->host_busy = false;
	changed(node->object.runtime);
}

static enum ingot_dtype type_of(const struct node *node) { return (enum ingot_dtype)node->precision.dtype; }

static enum ingot_status index_check(const struct node *node, const int64_t *index, uint32_t rank)
{
	char text[160];
	struct sink sink = { text, sizeof text, 0 };
	bool fits = rank == node->rank;
	if (!node->rank && rank == 1 && index[0] == 0)
		return INGOT_OK; /* a scalar takes [0] too */
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
	NEED(value && (index || !rank));
	NEED_OPEN(node, handle);
	char *host;
	object_keep(&node->object);
	enum ingot_status status = index_check(node, index, rank);
	if (!status && !(status = values_begin(node, READ, &host))) {
		*value = ingot_dtype_get(type_of(node), host, node->rank ? place(node, index) : 0);
		values_end(node);
	}
	object_drop(&node->object);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_node_set(struct ingot_node handle, const int64_t *index, uint32_t rank, double value)
{
	NEED(index || !rank);
	NEED_OPEN(node, handle);
	struct node *base;
	char *host;
	object_keep(&node->object);
	enum ingot_status status = index_check(node, index, rank);
	/* The other elements keep their newest values. */
	if (!status && !(status = values_begin(node, node_host(node, &base) ? READ | WRITE : WRITE, &host))) {
		ingot_dtype_set(type_of(node), host, node->rank ? place(node, index) : 0, value);
		values_end(node);
	}
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
	NEED(values || !count);
	NEED_OPEN(node, handle);
	struct walk walk;
	char *host;
	object_keep(&node->object);
	enum ingot_status status = count_check(node, count);
	if (!status && !(status = values_begin(node, READ, &host))) {
		for (walk_begin(&walk, node); !walk.over; walk_next(&walk))
			*values++ = ingot_dtype_get(type_of(node), host, place(node, walk.index));
		values_end(node);
	}
	object_drop(&node->object);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_node_set_all(struct ingot_node handle, const double *values, uint64_t count)
{
	NEED(values || !count);
	NEED_OPEN(node, handle);
	struct walk walk;
	char *host;
	object_keep(&node->object);
	enum ingot_status status = count_check(node, count);
	if (!status && !(status = values_begin(node, WRITE, &host))) {
		for (walk_begin(&walk, node); !walk.over; walk_next(&walk))
			ingot_dtype_set(type_of(node), host, place(node, walk.index), *values++);
		values_end(node);
	}
	object_drop(&node->object);
	leave(handle.runtime);
	return status;
}

static bool in_margin(const struct node *node, uint64_t at)
{
	for (uint32_t i = node->rank; i-- > 0;) {
		int64_t index = (int64_t)(at % (uint64_t)node->dims[i]);
		at /= (uint64_t)node->dims[i];
		if (index < node->left[i] || index >= node->dims[i] - node->right[i])
			return true;
	}
	return false;
}

enum ingot_status ingot_node_reset_margins(struct ingot_node handle, double value)
{
	NEED_OPEN(node, handle);
	struct node *base;
	uint64_t count;
	char *host;
	object_keep(&node->object);
	enum ingot_status status = INGOT_OK;
	if (!node->margin_open && value != node->margin)
		status = say(INGOT_CONFLICT, "the margins of n%u hold %g", node->id, node->margin);
	if (!status && !(status = values_begin(node, node_host(node, &base) ? READ | WRITE : WRITE, &host))) {
		count = node_count(node);
		for (uint64_t i = 0; i < count; i++)
			if (in_margin(node, i))
				ingot_dtype_set(type_of(node), host, i, value);
		values_end(node);
	}
	object_drop(&node->object);
	leave(handle.runtime);
	return status;
}

static enum ingot_status points(struct ingot_node handle, int axis, int64_t x, int64_t y, double *xs, double *ys,
        uint64_t room, uint64_t *count)
{
	NEED(count && (xs || !room));
	NEED_OPEN(node, handle);
	struct walk walk;
	char *host;
	enum ingot_status status = INGOT_OK;
	object_keep(&node->object);
	axis = axis < 0 ? (int)node->rank - 1 : axis;
	if (!node->rank || axis >= (int)node->rank)
		status = say(INGOT_RANGE, "n%u has no axis %d", node->id, axis);
	else if (x < 0 || x >= extent(node, (uint32_t)axis) || (ys && (y < 0 || y >= extent(node, (uint32_t)axis))))
		status = say(INGOT_RANGE, "coordinates %lld and %lld of an axis of %lld", (long long)x, (long long)y,
		        (long long)extent(node, (uint32_t)axis));
	if (!status && !(status = values_begin(node, READ, &host))) {
		*count = 0;
		for (walk_begin(&walk, node); !walk.over; walk_next(&walk)) {
			if (walk.index[axis] != 0)
				continue;
			int64_t index[INGOT_MAX_RANK];
			memcpy(index, walk.index, sizeof index);
			index[axis] = x;
			if (*count < room)
				xs[*count] = ingot_dtype_get(type_of(node), host, place(node, index));
			index[axis] = y;
			if (ys && *count < room)
				ys[*count] = ingot_dtype_get(type_of(node), host, place(node, index));
			++*count;
		}
		values_end(node);
	}
	object_drop(&node->object);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_node_points_1d(
        struct ingot_node node, int axis, int64_t x, double *xs, uint64_t room, uint64_t *count)
{
	return points(node, axis, x, x, xs, NULL, room, count);
}

enum ingot_status ingot_node_points_2d(
        struct ingot_node node, int axis, int64_t x, int64_t y, double *xs, double *ys, uint64_t room, uint64_t *count)
{
	NEED(ys || !room);
	return points(node, axis, x, y, xs, ys, room, count);
}
