/* pool.c: (pool, offset) -> slabs of a backend.  Slabs count references, so queued work keeps its memory. */
#include "inside.h"

/* ---- slabs ---- */

struct slab *slab_adopt(struct device *device, void *memory, uint64_t bytes)
{
	struct slab *slab = memory_new(device->object.runtime, 1, sizeof *slab);
	if (!slab)
		return NULL;
	*slab = (struct slab){
		.device = device, .raw = memory, .base = memory, .bytes = bytes, .refs = 1, .adopted = true
	};
	object_keep(&device->object);
	return slab;
}

static struct slab *slab_make(struct device *device, uint64_t bytes, uint32_t align, enum ingot_slab_mode mode,
        bool unlocked, enum ingot_status *status)
{
	struct ingot_runtime *runtime = device->object.runtime;
	const struct ingot_backend *table = device->backend->table;
	char text[INGOT_BACKEND_TEXT] = "";
	const char *name = device->name;
	align = align ? align : device->properties.slab_align;
	if (align & (align - 1)) {
		*status = say(INGOT_INVALID, "%s: an alignment of %u is no power of two", name, align);
		return NULL;
	}
	if ((unsigned)mode > INGOT_SLAB_PINNED) {
		*status = say(INGOT_INVALID, "%s: %d is no kind of slab", name, (int)mode);
		return NULL;
	}
	if (bytes > SIZE_MAX / 2) {
		*status = say(INGOT_MEMORY, "%s: a slab of %llu bytes", name, (unsigned long long)bytes);
		return NULL;
	}
	struct slab *slab = memory_new(runtime, 1, sizeof *slab);
	if (!slab) {
		*status = say(INGOT_MEMORY, "%s: no memory for a slab", name);
		return NULL;
	}
	object_keep(&device->object);
	if (unlocked)
		leave(runtime);
	/* One byte at least, so that every slab has an address of its own. */
	*status = table->slab_alloc(device->raw, bytes ? (size_t)bytes : 1, align, mode, &slab->raw, text);
	if (!*status) {
		slab->base = table->slab_base(slab->raw);
		if (runtime->options.poison && device->properties.host_memory)
			memset(slab->base, 0xCD, bytes);
	}
	if (unlocked)
		enter(runtime);
	if (*status) {
		say(*status, "%s: a slab of %llu bytes: %s", name, (unsigned long long)bytes,
		        device_words(device, *status, text));
		object_drop(&device->object);
		memory_free(runtime, slab);
		return NULL;
	}
	slab->device = device;
	slab->bytes = bytes;
	slab->refs = 1;
	device->backend->used[device->properties.ordinal] += bytes ? bytes : 1;
	return slab;
}

struct slab *slab_new(
        struct device *device, uint64_t bytes, uint32_t align, enum ingot_slab_mode mode, enum ingot_status *status)
{
	return slab_make(device, bytes, align, mode, true, status);
}

struct slab *slab_new_locked(struct device *device, uint64_t bytes, uint32_t align, enum ingot_status *status)
{
	return slab_make(device, bytes, align, INGOT_SLAB_PRIVATE, false, status);
}

void slab_grow(struct slab *slab, uint64_t bytes)
{
	struct device *device = slab->device;
	const struct ingot_backend *table = device->backend->table;
	char text[INGOT_BACKEND_TEXT] = "";
	if (!OPTIONAL(table, slab_grow) || slab->adopted || !slab->bytes || bytes <= slab->bytes || bytes > SIZE_MAX / 2
	        || table->slab_grow(device->raw, slab->raw, (size_t)bytes, text))
		return;
	device->backend->used[device->properties.ordinal] += bytes - slab->bytes;
	slab->bytes = bytes;
}

void slab_keep(struct slab *slab) { slab->refs++; }

bool slab_aligned(const struct slab *slab, uint64_t align)
{
	return !((uintptr_t)slab->base & ((uintptr_t)(align ? align : slab->device->properties.slab_align) - 1));
}

void slab_drop(struct slab *slab)
{
	if (!slab || --slab->refs)
		return;
	struct device *device = slab->device;
	struct ingot_runtime *runtime = device->object.runtime;
	if (!slab->adopted)
		device->backend->used[device->properties.ordinal] -= slab->bytes ? slab->bytes : 1;
	slab->next = runtime->dead.slabs;
	runtime->dead.slabs = slab;
}

static void slab_free(const struct slab *slab)
{
	struct device *device = slab->device;
	if (slab->adopted)
		return;
	if (device->object.runtime->options.poison && device->properties.host_memory)
		memset(slab->base, 0xCD, slab->bytes);
	device->backend->table->slab_free(device->raw, slab->raw);
}

void dead_free(struct ingot_runtime *runtime, struct dead dead)
{
	for (const struct slab *slab = dead.slabs; slab; slab = slab->next)
		slab_free(slab);
	for (const struct node *node = dead.nodes; INGOT_THREADS && node; node = node->next_dead)
		node_host_free(node);
	enter(runtime);
	for (struct slab *slab; (slab = dead.slabs);) {
		struct device *device = slab->device;
		dead.slabs = slab->next;
		memory_free(runtime, slab);
		object_drop(&device->object);
	}
	for (struct node *node; INGOT_THREADS && (node = dead.nodes);) {
		dead.nodes = node->next_dead;
		if (node->pinned)
			object_drop(&node->pinned->object);
		memory_free(runtime, node);
	}
	if (INGOT_THREADS && !--runtime->freeing)
		changed(runtime);
	leave(runtime);
}

/* ---- pools ---- */

static uint32_t pool_place(const struct device *device, uint32_t id)
{
	uint32_t low = 0, high = device->pool_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (device->pools[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct pool *pool_find(struct device *device, uint32_t id)
{
	uint32_t at = pool_place(device, id);
	return at < device->pool_count && device->pools[at].id == id ? device->pools + at : NULL;
}

static enum ingot_status pool_insert(struct device *device, uint32_t id, struct slab *slab)
{
	struct ingot_runtime *runtime = device->object.runtime;
	if (!memory_grow(runtime, &device->pools, device->pool_count, &device->pool_room, sizeof *device->pools)) {
		slab_drop(slab);
		return say(INGOT_MEMORY, "no memory for a pool");
	}
	uint32_t at = pool_place(device, id);
	memmove(device->pools + at + 1, device->pools + at, (device->pool_count - at) * sizeof *device->pools);
	device->pools[at] = (struct pool){ .id = id, .slab = slab };
	device->pool_count++;
	return INGOT_OK;
}

static enum ingot_status pool_add(struct device *device, struct slab *slab, uint32_t *id)
{
	/* Ids that the caller chose are passed over; behind the last one come those that are free again. */
	while (!device->next_pool || pool_find(device, device->next_pool))
		device->next_pool++;
	enum ingot_status status = pool_insert(device, device->next_pool, slab);
	if (!status)
		*id = device->next_pool++;
	return status;
}

enum ingot_status pool_add_inner(struct device *device, struct slab *slab, uint32_t *id)
{
	enum ingot_status status = pool_add(device, slab, id);
	if (!status)
		pool_find(device, *id)->inner = true;
	return status;
}

void pool_remove(struct device *device, uint32_t id)
{
	uint32_t at = pool_place(device, id);
	if (at >= device->pool_count || device->pools[at].id != id)
		return;
	struct pool pool = device->pools[at];
	device->pool_count--;
	memmove(device->pools + at, device->pools + at + 1, (device->pool_count - at) * sizeof *device->pools);
	hazard_release(device->object.runtime, &pool.hazard);
	slab_drop(pool.slab);
}

static struct pool *pool_range(
        struct device *device, uint32_t id, uint64_t offset, uint64_t bytes, enum ingot_status *status)
{
	struct pool *pool = pool_find(device, id);
	if (!pool)
		*status = say(
		        INGOT_MISSING, "%s has no pool %u (offset %llu)", device->name, id, (unsigned long long)offset);
	else if (offset > pool->slab->bytes || bytes > pool->slab->bytes - offset)
		*status = say(INGOT_RANGE, "%s: pool %u has %llu bytes, not %llu at offset %llu", device->name, id,
		        (unsigned long long)pool->slab->bytes, (unsigned long long)bytes, (unsigned long long)offset);
	else
		return pool;
	return NULL;
}

enum ingot_status ingot_pool_open(
        struct ingot_device handle, uint64_t bytes, uint32_t align, enum ingot_slab_mode mode, uint32_t *id)
{
	NEED(id);
	enum ingot_status status;
	struct device *device = device_enter(handle, &status);
	if (!device)
		return status;
	struct slab *slab = slab_new(device, bytes, align, mode, &status);
	if (slab && device->closing) {
		slab_drop(slab);
		status = say(INGOT_STALE, "the device is being closed");
	} else if (slab)
		status = pool_add(device, slab, id);
	leave(handle.runtime);
	return status;
}

/* The pool if programs may end it, or there is none. */
static enum ingot_status pool_yields(struct device *device, uint32_t id)
{
	const struct pool *pool = pool_find(device, id);
	return pool && pool->inner ? say(INGOT_BUSY, "%s: pool %u is a context's, or holds constants", device->name, id)
	                           : INGOT_OK;
}

/* Nodes that are bound there would lie in memory that their location names no more. */
static enum ingot_status pool_gives_way(struct device *device, uint32_t id)
{
	if (device->closing)
		return say(INGOT_STALE, "the device is being closed");
	for (uint32_t i = 0; i < device->location_count; i++)
		if (device->locations[i]->pool == id && !device->locations[i]->owns_pool)
			return say(INGOT_BUSY, "%s: pool %u has nodes in it", device->name, id);
	return pool_yields(device, id);
}

enum ingot_status ingot_pool_replace(
        struct ingot_device handle, uint32_t id, uint64_t bytes, uint32_t align, enum ingot_slab_mode mode)
{
	enum ingot_status status;
	struct device *device = device_enter(handle, &status);
	if (!device)
		return status;
	status = id ? pool_gives_way(device, id) : say(INGOT_INVALID, "pool 0 is the merge buffer");
	struct slab *slab = status ? NULL : slab_new(device, bytes, align, mode, &status);
	if (slab && (status = pool_gives_way(device, id))) {
		slab_drop(slab);
		slab = NULL;
	}
	struct pool *old = slab ? pool_find(device, id) : NULL;
	if (old) {
		hazard_release(handle.runtime, &old->hazard);
		slab_drop(old->slab);
		old->slab = slab;
	} else if (slab)
		status = pool_insert(device, id, slab);
	if (slab && !status && id >= device->next_pool)
		device->next_pool = id + 1; /* 0 behind the last: pool_add begins again */
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_pool_adopt(struct ingot_device handle, void *memory, uint64_t bytes, uint32_t *id)
{
	NEED(memory && id);
	enum ingot_status status;
	struct device *device = device_enter(handle, &status);
	if (!device)
		return status;
	if (bytes > SIZE_MAX / 2 || (uintptr_t)memory % ADOPT_ALIGN)
		status = say(INGOT_INVALID, "memory to adopt is aligned to %d bytes and no more than the half of all",
		        ADOPT_ALIGN);
	else if (!device->properties.host_memory)
		status = say(INGOT_UNSUPPORTED, "%s does not use host memory", device->properties.backend);
	else {
		struct slab *slab = slab_adopt(device, memory, bytes);
		status = slab ? pool_add(device, slab, id) : say(INGOT_MEMORY, "no memory for a pool");
	}
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_pool_close(struct ingot_device handle, uint32_t id)
{
	NEED_OPEN(device, handle);
	enum ingot_status status = pool_yields(device, id);
	if (!status)
		pool_remove(device, id);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_pool_bytes(struct ingot_device handle, uint32_t id, uint64_t *bytes)
{
	NEED(bytes);
	NEED_OPEN(device, handle);
	enum ingot_status status = INGOT_OK;
	struct pool *pool = pool_range(device, id, 0, 0, &status);
	if (pool)
		*bytes = pool->slab->bytes;
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_pool_ensure(struct ingot_device handle, uint64_t bytes, uint32_t align, uint32_t *id)
{
	NEED(id);
	if (!*id)
		return ingot_pool_open(handle, bytes, align, INGOT_SLAB_PRIVATE, id);
	enum ingot_status status;
	struct device *device = device_enter(handle, &status);
	if (!device)
		return status;
	const struct pool *pool = pool_find(device, *id);
	/* What is queued keeps its slab, and who replaces that does not wait for it: it grows where nothing is queued
	 * alone. */
	if (INGOT_THREADS && pool && !pool->inner && pool->slab->refs == 1)
		slab_grow(pool->slab, bytes);
	bool fits = pool && !pool->inner && pool->slab->bytes >= bytes && slab_aligned(pool->slab, align)
	        && !(align & (align - 1));
	leave(handle.runtime);
	return fits ? INGOT_OK : ingot_pool_replace(handle, *id, bytes, align, INGOT_SLAB_PRIVATE);
}

/* ---- moving bytes: one payload, four ways ---- */

static const void *address(const struct slab *slab, uint64_t offset) { return (const char *)slab->base + offset; }

#define PINNED_LEAST 65536 /* what is smaller is copied sooner than pinned */

/* Without the lock: that takes long.  Where it cannot be pinned copies go the way of any memory. */
static void array_pin(const struct move *move, struct device *device)
{
	struct ingot_runtime *runtime = device->object.runtime;
	struct node *node = move->pins;
	char text[INGOT_BACKEND_TEXT];
	enter(runtime);
	bool mine = !node->pinning;
	node->pinning = true;
	leave(runtime);
	if (!mine || move->table->host_pin(device->raw, node->host, (size_t)move->pin_bytes, text))
		return;
	enter(runtime);
	node->pinned = device;
	object_keep(&device->object);
	leave(runtime);
}

void move_pins(struct ingot_command *command, struct node *base)
{
	struct move *move = command->payload;
	if (!OPTIONAL(move->table, host_pin) || !OPTIONAL(move->table, host_unpin) || !base->host_owned || base->pinning
	        || node_bytes(base) < PINNED_LEAST)
		return;
	move->pins = base;
	move->pin_bytes = node_bytes(base);
}

static enum ingot_status move_run(struct ingot_command *command, char *text)
{
	const struct move *move = command->payload;
	if (!move->bytes)
		return INGOT_OK;
	if (INGOT_THREADS && move->pins)
		array_pin(move, (move->to ? move->to : move->from)->device);
	if (move->to_host)
		return move->table->copy_out(
		        move->queue, move->to_host, move->from->raw, move->from_offset, move->bytes, text);
	if (move->from_host)
		return move->table->copy_in(
		        move->queue, move->to->raw, move->to_offset, move->from_host, move->bytes, text);
	if (!move->from)
		return move->table->fill(move->queue, move->to->raw, move->to_offset, move->byte, move->bytes, text);
	if (move->to->device == move->from->device
	        && address(move->to, move->to_offset) == address(move->from, move->from_offset))
		return INGOT_OK; /* also where two contexts adopted the same memory */
	return move->table->copy(
	        move->queue, move->to->raw, move->to_offset, move->from->raw, move->from_offset, move->bytes, text);
}

enum ingot_status submit_move(struct stream *stream, const char *name, struct move move, const struct access *accesses,
        uint32_t access_count, struct object *keeps, struct ingot_command **out)
{
	struct slab *slabs[2];
	struct ingot_command *command;
	uint32_t count = 0;
	if (move.to)
		slabs[count++] = move.to;
	if (move.from)
		slabs[count++] = move.from;
	enum ingot_status status = submit(&(struct request){ .stream = stream,
	                                          .name = name,
	                                          .run = move_run,
	                                          .payload_bytes = sizeof move,
	                                          .accesses = accesses,
	                                          .access_count = access_count,
	                                          .slabs = slabs,
	                                          .slab_count = count,
	                                          .keeps = keeps },
	        &command);
	if (status)
		return status;
	move.queue = stream->raw;
	move.table = stream->device->backend->table;
	memcpy(command->payload, &move, sizeof move);
	if (out)
		*out = command;
	return INGOT_OK;
}

static enum ingot_status pool_move(struct ingot_stream handle, const char *name, bool reads, uint32_t id,
        uint64_t offset, struct move move, struct ingot_event *done)
{
	NEED_OPEN(stream, handle);
	struct submission submission;
	struct ingot_command *command = NULL;
	enum ingot_status status = submission_begin(&submission, stream, done);
	struct pool *pool = status ? NULL : pool_range(stream->device, id, offset, move.bytes, &status);
	if (pool && !reads && pool->slab->constant)
		status = say(INGOT_CONFLICT, "%s: pool %u holds constants", stream->name, id);
	if (!status) {
		struct access access = { .hazard = &pool->hazard, .read = reads, .write = !reads };
		*(reads ? &move.from : &move.to) = pool->slab;
		move.to_offset = move.from_offset = offset;
		status = submit_move(stream, name, move, &access, 1, NULL, &command);
	}
	return submission_end(&submission, status, command);
}

enum ingot_status ingot_pool_fill(
        struct ingot_stream stream, uint32_t pool, uint64_t offset, uint64_t bytes, int byte, struct ingot_event *done)
{
	return pool_move(stream, "fill", false, pool, offset, (struct move){ .bytes = bytes, .byte = byte }, done);
}

enum ingot_status ingot_pool_write(struct ingot_stream stream, uint32_t pool, uint64_t offset, const void *host,
        uint64_t bytes, struct ingot_event *done)
{
	NEED(host || !bytes);
	return pool_move(
	        stream, "pool write", false, pool, offset, (struct move){ .from_host = host, .bytes = bytes }, done);
}

enum ingot_status ingot_pool_read(struct ingot_stream stream, uint32_t pool, uint64_t offset, void *host,
        uint64_t bytes, struct ingot_event *done)
{
	NEED(host || !bytes);
	return pool_move(
	        stream, "pool read", true, pool, offset, (struct move){ .to_host = host, .bytes = bytes }, done);
}

/* ---- typed buffers and single kernels ---- */

enum ingot_status ingot_buffer_open(
        struct ingot_device device, enum ingot_dtype dtype, uint64_t count, struct ingot_buffer *buffer)
{
	uint64_t bytes;
	NEED(buffer);
	if (!ingot_dtype_bits(dtype))
		return say(INGOT_INVALID, "%d is no type of numbers", (int)dtype);
	if (!ingot_dtype_bytes(dtype, count, &bytes))
		return say(INGOT_RANGE, "%llu elements of %s overflow", (unsigned long long)count,
		        ingot_dtype_name(dtype));
	*buffer = (struct ingot_buffer){ .dtype = dtype, .bytes = bytes };
	return ingot_pool_open(device, bytes, 0, INGOT_SLAB_PRIVATE, &buffer->pool);
}

enum ingot_status ingot_buffer_close(struct ingot_device device, struct ingot_buffer *buffer)
{
	NEED(buffer);
	enum ingot_status status = ingot_pool_close(device, buffer->pool);
	*buffer = (struct ingot_buffer){ 0 };
	return status;
}

/* The copy may use the caller's memory till it is done, so where it could not be waited for it is not begun. */
static enum ingot_status host_range(uint64_t room, uint64_t offset, uint64_t bytes)
{
	if (offset > room || bytes > room - offset)
		return say(INGOT_RANGE, "%llu bytes at %llu of a host array of %llu", (unsigned long long)bytes,
		        (unsigned long long)offset, (unsigned long long)room);
	return task_refuses("must not wait for a copy");
}

static enum ingot_status event_finish(enum ingot_status status, struct ingot_event done)
{
	if (status)
		return status;
	status = ingot_event_sync(done);
	ingot_event_close(done);
	return status;
}

enum ingot_status ingot_buffer_write(struct ingot_stream stream, const struct ingot_buffer *buffer, const void *host,
        uint64_t host_room, uint64_t host_offset, uint64_t bytes)
{
	NEED(buffer && (host || !bytes));
	struct ingot_event done = { 0 };
	enum ingot_status status = host_range(host_room, host_offset, bytes);
	if (!status)
		status = ingot_pool_write(
		        stream, buffer->pool, 0, host ? (const char *)host + host_offset : NULL, bytes, &done);
	return event_finish(status, done);
}

enum ingot_status ingot_buffer_read(struct ingot_stream stream, const struct ingot_buffer *buffer, uint64_t offset,
        void *host, uint64_t host_room, uint64_t host_offset, uint64_t bytes)
{
	NEED(buffer && (host || !bytes));
	struct ingot_event done = { 0 };
	enum ingot_status status = host_range(host_room, host_offset, bytes);
	if (!status)
		status = ingot_pool_read(
		        stream, buffer->pool, offset, host ? (char *)host + host_offset : NULL, bytes, &done);
	return event_finish(status, done);
}

size_t ingot_buffer_text(const struct ingot_buffer *buffer, char *text, size_t room)
{
	struct sink sink = { text, room, 0 };
	if (!buffer)
		return 0;
	uint32_t bits = ingot_dtype_bits(buffer->dtype);
	sink_printf(&sink, "%s[%llu] pool %u", ingot_dtype_name(buffer->dtype),
	        (unsigned long long)(bits ? buffer->bytes * 8 / bits : 0), buffer->pool);
	return sink_end(&sink);
}

struct launch {
	const struct ingot_module_kernel *kernel;
	const struct ingot_backend *table;
	void *queue, *module;
	uint32_t groups[3], threads[3];
	int code;
	void *arguments[];
};

static enum ingot_status launch_run(struct ingot_command *command, char *text)
{
	struct launch *launch = command->payload;
	return launch->table->launch(launch->queue, launch->module, launch->kernel, launch->groups, launch->threads,
	        launch->arguments, &launch->code, text);
}

static enum ingot_status launch_ended(struct ingot_command *command, char *text)
{
	return code_ended(NULL, ((struct launch *)command->payload)->code, text);
}

enum ingot_status code_ended(const struct ingot_module *module, int code, char *text)
{
	const char *words = code && module && module->message ? module->message(code) : NULL;
	if (code)
		snprintf(text, TEXT_ROOM, words ? "answered %d: %s" : "answered %d", code, words);
	return code ? INGOT_FAILED : INGOT_OK;
}

/* The device's choice where the caller makes none: along x, as many as a group holds, in whole warps of 32. */
enum ingot_status launch_shape(
        const struct device *device, const uint32_t groups[3], const uint32_t *threads, uint32_t chosen[3])
{
	uint64_t total = 1, grid = 1;
	for (int i = 0; i < 3; i++) {
		if (!groups[i] || __builtin_mul_overflow(grid, groups[i], &grid) || grid > INGOT_MOST_GROUPS)
			return say(INGOT_RANGE, "a launch of %u x %u x %u groups; it is 1 to %llu", groups[0],
			        groups[1], groups[2], (unsigned long long)INGOT_MOST_GROUPS);
		chosen[i] = threads ? threads[i] : 1;
	}
	if (!threads || !(threads[0] | threads[1] | threads[2])) {
		chosen[0] = device->properties.group_size[0] < 256 ? device->properties.group_size[0] : 256;
		chosen[1] = chosen[2] = 1;
	}
	const uint32_t *most = device->properties.group_size;
	for (int i = 0; i < 3; i++) {
		if (!chosen[i] || chosen[i] > most[i])
			return say(INGOT_RANGE, "a group of %u x %u x %u threads; the device has at most %u x %u x %u",
			        chosen[0], chosen[1], chosen[2], most[0], most[1], most[2]);
		total *= chosen[i];
	}
	if (total > device->properties.group_threads)
		return say(INGOT_RANGE, "a group of %llu threads; the device holds %u", (unsigned long long)total,
		        device->properties.group_threads);
	return INGOT_OK;
}

static enum ingot_status launch_submit(struct stream *stream, const struct ingot_module_kernel *kernel,
        const uint32_t groups[3], const uint32_t *threads, const struct ingot_buffer *arguments, uint32_t count,
        struct ingot_command **out)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	uint32_t shape[3];
	void *module = NULL;
	enum ingot_status status = launch_shape(stream->device, groups, threads, shape);
	const char *name = kernel->name ? kernel->name : "?";
	if (!status && count != kernel->argument_count)
		status = say(
		        INGOT_MISMATCH, "kernel %s takes %u arguments, not %u", name, kernel->argument_count, count);
	struct access *accesses = memory_new(runtime, count, sizeof *accesses);
	struct slab **slabs = memory_new(runtime, count, sizeof *slabs);
	if (!accesses || !slabs)
		status = say(INGOT_MEMORY, "no memory to launch %s", name);
	if (!status)
		status = kernel_module(stream->device, kernel, &module);
	if (!status)
		status = stream_refuses(stream); /* the lock may have been given up */
	for (uint32_t i = 0; i < count && !status; i++) {
		struct pool *pool = pool_range(stream->device, arguments[i].pool, 0, arguments[i].bytes, &status);
		if (!pool)
			break;
		if (kernel->dtypes && kernel->dtypes[i] != arguments[i].dtype)
			status = say(INGOT_MISMATCH, "kernel %s: argument %u is %s, not %s", name, i,
			        ingot_dtype_name(kernel->dtypes[i]), ingot_dtype_name(arguments[i].dtype));
		else if (pool->slab->constant)
			status = say(INGOT_CONFLICT, "kernel %s: argument %u, pool %u, holds constants", name, i,
			        arguments[i].pool);
		/* A kernel does not say what it writes: each argument counts as written. */
		accesses[i] = (struct access){ .hazard = &pool->hazard, .read = true, .write = true };
		slabs[i] = pool->slab;
	}
	if (!status)
		status = submit(&(struct request){ .stream = stream,
		                        .name = name,
		                        .run = launch_run,
		                        .ended = launch_ended,
		                        .accesses = accesses,
		                        .access_count = count,
		                        .slabs = slabs,
		                        .slab_count = count,
		                        .payload_bytes = sizeof(struct launch) + count * sizeof(void *) },
		        out);
	if (!status) {
		struct launch *launch = (*out)->payload;
		launch->kernel = kernel;
		launch->table = stream->device->backend->table;
		launch->queue = stream->raw;
		launch->module = module;
		memcpy(launch->groups, groups, sizeof launch->groups);
		memcpy(launch->threads, shape, sizeof launch->threads);
		for (uint32_t i = 0; i < count; i++)
			launch->arguments[i] = slabs[i]->base;
	}
	memory_free(runtime, accesses);
	memory_free(runtime, slabs);
	return status;
}

enum ingot_status ingot_kernel_launch(struct ingot_stream handle, const struct ingot_module_kernel *kernel,
        const uint32_t groups[3], const uint32_t *threads, const struct ingot_buffer *arguments, uint32_t count,
        struct ingot_event *done)
{
	NEED(kernel && groups && (arguments || !count));
	NEED_OPEN(stream, handle);
	struct submission submission;
	struct ingot_command *command = NULL;
	enum ingot_status status = submission_begin(&submission, stream, done);
	if (!status)
		status = launch_submit(stream, kernel, groups, threads, arguments, count, &command);
	return submission_end(&submission, status, command);
}
