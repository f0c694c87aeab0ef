/* device.c: devices: the one of an ordinal, further logical ones, their end. */
#include "inside.h"

static _Atomic uint32_t next_id; /* of all runtimes of the process */

static const struct ingot_backend *table_of(const struct device *device) { return device->backend->table; }

struct device *device_enter(struct ingot_device handle, enum ingot_status *status)
{
	struct device *device = ENTER(device, handle);
	*status = device ? INGOT_OK : INGOT_STALE;
	if (device && device->closing) {
		*status = say(INGOT_STALE, "the device is being closed");
		leave(handle.runtime);
		return NULL;
	}
	return device;
}

void device_lost(struct device *device, const char *text)
{
	struct ingot_runtime *runtime = device->object.runtime;
	if (!device->lost)
		device->lost = failure_new(runtime, INGOT_LOST, "%s is lost: %s", device->name, text);
}

const char *device_words(struct device *device, enum ingot_status status, const char *text)
{
	text = text[0] ? text : ingot_status_text(status);
	if (status != INGOT_LOST)
		return text;
	device_lost(device, text);
	return device->lost->text;
}

void placing_wait(struct device *device)
{
	while (INGOT_THREADS && device->placing)
		change_wait(device->object.runtime);
}

void placing_begin(struct device *device)
{
	placing_wait(device);
	device->placing = true;
}

void placing_end(struct device *device)
{
	device->placing = false;
	changed(device->object.runtime);
}

static enum ingot_status device_new(
        struct ingot_runtime *runtime, struct backend *backend, int ordinal, struct device **out)
{
	char text[INGOT_BACKEND_TEXT] = "";
	struct device *device = memory_new(runtime, 1, sizeof *device);
	if (!device)
		return say(INGOT_MEMORY, "no memory for a device");
	enum ingot_status status = handle_new(runtime, &device->object, KIND_DEVICE);
	if (status) {
		memory_free(runtime, device);
		return status;
	}
	device->backend = backend;
	device->next_pool = 1; /* pool 0 is the merge buffer */
	leave(runtime);
	status = backend->table->device_open(backend->state, ordinal, &device->raw, text);
	enter(runtime);
	if (status) {
		device->raw = NULL;
		handle_close(&device->object);
		return say(
		        status, "%s:%d: %s", backend->table->name, ordinal, text[0] ? text : ingot_status_text(status));
	}
	backend->table->properties(device->raw, &device->properties);
	device->properties.backend = backend->table->name;
	device->properties.ordinal = ordinal;
	device->properties.id = next_id++;
	snprintf(device->name, sizeof device->name, "%s:%d:%u", backend->table->name, ordinal, device->properties.id);
	status = stream_new(device, &device->main);
	if (status) {
		handle_close(&device->object);
		return status;
	}
	*out = device;
	return INGOT_OK;
}

void device_release(struct object *object)
{
	struct device *device = (struct device *)object;
	struct ingot_runtime *runtime = object->runtime;
	if (device->raw)
		table_of(device)->device_close(device->raw);
	failure_drop(runtime, device->lost);
	memory_free(runtime, device->streams);
	memory_free(runtime, device->pools);
	memory_free(runtime, device->constants);
	memory_free(runtime, device->locations);
	memory_free(runtime, device);
}

static enum ingot_status device_ask(
        struct ingot_runtime *runtime, const char *name, int ordinal, bool another, struct ingot_device *out)
{
	struct device *device = NULL;
	enum ingot_status status = INGOT_OK;
	NEED(runtime && name && out);
	NEED_LIVING(runtime);
	enter(runtime);
	while (runtime->opening)
		change_wait(runtime);
	runtime->opening = true;
	struct backend *backend = backend_ready(runtime, name);
	if (!backend)
		status = INGOT_UNREADY;
	else if (ordinal < 0 || ordinal >= backend->devices)
		status = say(INGOT_RANGE, "%s has no device %d; it has %d", name, ordinal, backend->devices);
	else if (!another && backend->first[ordinal])
		device = backend->first[ordinal];
	else {
		status = device_new(runtime, backend, ordinal, &device);
		if (!status && !another)
			backend->first[ordinal] = device;
	}
	if (!status)
		*out = HANDLE(ingot_device, device);
	runtime->opening = false;
	changed(runtime);
	leave(runtime);
	return status;
}

enum ingot_status ingot_device_get(
        struct ingot_runtime *runtime, const char *backend, int ordinal, struct ingot_device *out)
{
	return device_ask(runtime, backend, ordinal, false, out);
}

enum ingot_status ingot_device_another(
        struct ingot_runtime *runtime, const char *backend, int ordinal, struct ingot_device *out)
{
	return device_ask(runtime, backend, ordinal, true, out);
}

enum ingot_status ingot_device_default(struct ingot_runtime *runtime, struct ingot_device *out)
{
	NEED(runtime && out);
	NEED_LIVING(runtime);
	enter(runtime);
	const char *name = runtime->backends ? runtime->backends->table->name : NULL;
	leave(runtime);
	return name ? ingot_device_get(runtime, name, 0, out) : say(INGOT_UNREADY, "no backend was initialised");
}

/* Contexts and routines of the device, children first. */
static void device_contexts_close(struct device *device)
{
	struct ingot_runtime *runtime = device->object.runtime;
	for (uint32_t i = 0; i < runtime->handle_count; i++) {
		struct object *object = runtime->handles[i].object;
		if (object && object->kind == KIND_ROUTINE
		        && ((struct routine *)object)->context->stream->device == device)
			handle_close(object);
	}
	/* From each that has no children up to the first that still has some: each is looked at once. */
	for (uint32_t i = 0; i < runtime->handle_count; i++) {
		struct context *context = (struct context *)runtime->handles[i].object;
		if (!context || context->object.kind != KIND_CONTEXT || context->stream->device != device)
			continue;
		for (struct context *parent; context && !context->children; context = parent) {
			/* One whose handle is open outlives its child; the others go with it. */
			parent = context->parent && context->parent->object.generation ? context->parent : NULL;
			context_finalize_locked(context);
			handle_close(&context->object);
		}
	}
}

static void device_tables_release(struct device *device)
{
	struct ingot_runtime *runtime = device->object.runtime;
	for (EACH(library, library, runtime))
		library_leave(library, device);
	entries_release(runtime, &device->candidates);
	entries_release(runtime, &device->shared);
	while (device->pool_count)
		pool_remove(device, device->pools[device->pool_count - 1].id);
}

enum ingot_status ingot_device_close(struct ingot_device handle)
{
	enum ingot_status status;
	struct device *device = device_enter(handle, &status);
	if (!device)
		return status;
	struct ingot_runtime *runtime = handle.runtime;
	if ((status = task_refuses("cannot close a device"))) {
		leave(runtime);
		return status;
	}
	device->closing = true;
	object_keep(&device->object);
	placing_wait(device);
	/* First all of them refuse work and contexts; one that somebody else closes is left to him. */
	for (uint32_t i = 0; i < device->stream_count; i++)
		if (device->streams[i] && !device->streams[i]->closing)
			device->streams[i]->closing = device->streams[i]->with_device = true;
	for (uint32_t i = 0; i < runtime->handle_count; i++) {
		struct context *context = (struct context *)runtime->handles[i].object;
		if (context && context->object.kind == KIND_CONTEXT && context->stream->device == device)
			context_keep_newest(context);
	}
	for (uint32_t i = 0; i < device->stream_count; i++)
		if (device->streams[i] && device->streams[i]->with_device) {
			struct stream *stream = device->streams[i];
			stream_forgo(stream, NULL, NULL);
			stream_finish(stream);
		}
	device_contexts_close(device);
	for (uint32_t i = 0; i < device->stream_count; i++)
		while (device->streams[i]) {
			if (device->streams[i]->with_device)
				stream_end(device->streams[i]);
			else
				change_wait(runtime);
		}
	device_tables_release(device);
	if (device->backend->first[device->properties.ordinal] == device)
		device->backend->first[device->properties.ordinal] = NULL;
	handle_close(&device->object);
	object_drop(&device->object);
	leave(runtime);
	return INGOT_OK;
}

enum ingot_status ingot_device_sync(struct ingot_device handle)
{
	NEED_OPEN(device, handle);
	enum ingot_status status = INGOT_OK;
	struct ingot_runtime *runtime = handle.runtime;
	object_keep(&device->object);
	for (uint32_t i = 0; i < device->stream_count; i++) {
		if (!device->streams[i])
			continue;
		struct ingot_stream stream = HANDLE(ingot_stream, device->streams[i]);
		leave(runtime);
		enum ingot_status one = ingot_stream_await(stream);
		enter(runtime);
		status = status ? status : one == INGOT_STALE ? INGOT_OK : one;
	}
	for (uint32_t i = 0; i < device->location_count; i++)
		hazard_prune(runtime, &device->locations[i]->hazard);
	for (uint32_t i = 0; i < device->pool_count; i++)
		hazard_prune(runtime, &device->pools[i].hazard);
	for (uint32_t i = 0; i < device->stream_count; i++)
		if (device->streams[i])
			hazard_prune(runtime, &device->streams[i]->merge);
	object_drop(&device->object);
	leave(runtime);
	return status;
}

enum ingot_status ingot_device_properties(struct ingot_device handle, struct ingot_properties *out)
{
	ANSWER(device, handle, out, device->properties);
}

enum ingot_status ingot_device_used(struct ingot_device handle, uint64_t *bytes)
{
	NEED(bytes);
	NEED_OPEN(device, handle);
	enum ingot_status status = INGOT_OK;
	if (table_of(device)->used)
		status = table_of(device)->used(device->raw, bytes);
	else
		*bytes = device->backend->used[device->properties.ordinal];
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_device_suggested_streams(struct ingot_device handle, int *count)
{
	NEED(count);
	NEED_OPEN(device, handle);
	const struct ingot_properties *properties = &device->properties;
	const int policies[] = { [INGOT_ONLY_DEVICES] = 1,
		[INGOT_FOR_COPYING] = 1 + (int)properties->copy_engines,
		[INGOT_MOST_STREAMS] = (int)properties->compute_units };
	/* Streams that are host threads: two cores stay for the program and the system, whatever the policy; in place
	 * one is all. */
	*count = table_of(device)->waits_inline ? 1
	        : properties->host_memory       ? (int)properties->compute_units - 2
	                                        : policies[device->backend->options.parallelism];
	if (*count < 1)
		*count = 1;
	leave(handle.runtime);
	return INGOT_OK;
}

bool ingot_device_supports(struct ingot_device handle, enum ingot_dtype dtype)
{
	struct device *device = ENTER(device, handle);
	if (!device)
		return false;
	bool supports = ingot_dtype_bits(dtype) && table_of(device)->supports(device->raw, dtype);
	leave(handle.runtime);
	return supports;
}

bool device_reaches(struct device *device, struct device *other)
{
	const struct ingot_backend *table = table_of(device);
	return device == other || !INGOT_THREADS
	        || (device->backend == other->backend && (!table->peer || table->peer(device->raw, other->raw)));
}

enum ingot_status ingot_device_peer(struct ingot_device handle, struct ingot_device second, bool *peer)
{
	NEED(peer);
	NEED_OPEN(device, handle);
	struct device *other = FIND(device, handle.runtime, second);
	if (other)
		*peer = device_reaches(device, other);
	leave(handle.runtime);
	return other ? INGOT_OK : INGOT_STALE;
}

static enum ingot_status host_pin(struct ingot_device handle, void *memory, uint64_t bytes, bool pin)
{
	char text[INGOT_BACKEND_TEXT] = "";
	enum ingot_status status;
	struct device *device = device_enter(handle, &status);
	if (!device)
		return status;
	const struct ingot_backend *table = table_of(device);
	object_keep(&device->object);
	leave(handle.runtime); /* may take long, and touches nothing of ours */
	if (device->properties.host_memory)
		status = INGOT_OK;
	else if (!table->host_pin || !table->host_unpin)
		status = say(INGOT_UNSUPPORTED, "%s pins no memory", table->name);
	else if (!pin)
		table->host_unpin(device->raw, memory);
	else if ((status = table->host_pin(device->raw, memory, (size_t)bytes, text)))
		say(status, "%s: %llu bytes cannot be pinned: %s", table->name, (unsigned long long)bytes, text);
	enter(handle.runtime);
	object_drop(&device->object);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_host_pin(struct ingot_device device, void *memory, uint64_t bytes)
{
	NEED(memory && bytes);
	return host_pin(device, memory, bytes, true);
}

enum ingot_status ingot_host_unpin(struct ingot_device device, void *memory)
{
	NEED(memory);
	return host_pin(device, memory, 0, false);
}

bool ingot_device_equal(struct ingot_device a, struct ingot_device b)
{
	return a.runtime == b.runtime && a.index == b.index && a.generation == b.generation;
}

size_t ingot_device_name(struct ingot_device handle, char *text, size_t room)
{
	struct device *device = ENTER(device, handle);
	struct sink sink = { text, room, 0 };
	if (!device)
		return 0;
	sink_printf(&sink, "%s", device->name);
	leave(handle.runtime);
	return sink_end(&sink);
}

const struct ingot_parallel *ingot_device_parallel(struct ingot_device handle)
{
	struct device *device = ENTER(device, handle);
	if (!device)
		return NULL;
	const struct ingot_parallel *parallel =
	        table_of(device)->parallel ? table_of(device)->parallel(device->raw) : NULL;
	leave(handle.runtime);
	return parallel;
}
