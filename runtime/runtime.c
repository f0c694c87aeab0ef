/* runtime.c: memory, handles and backends of one isolated runtime. */
#include <stdlib.h>
#include "inside.h"
#include "lock.h"

/* ---- memory: every block is counted, so that a test can see that all came back ---- */

void *memory_new(struct ingot_runtime *runtime, size_t count, size_t bytes)
{
	size_t total;
	if (__builtin_mul_overflow(count, bytes, &total))
		return NULL;
	total = total ? total : 1;
	void *memory =
	        runtime->options.allocate ? runtime->options.allocate(runtime->options.user, total) : calloc(1, total);
	if (memory)
		atomic_fetch_add_explicit(&runtime->live, 1, memory_order_relaxed);
	return memory;
}

void memory_free(struct ingot_runtime *runtime, void *memory)
{
	if (!memory)
		return;
	atomic_fetch_sub_explicit(&runtime->live, 1, memory_order_relaxed);
	if (runtime->options.release)
		runtime->options.release(runtime->options.user, memory);
	else if (!runtime->options.allocate)
		free(memory);
}

char *memory_copy(struct ingot_runtime *runtime, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = memory_new(runtime, bytes, 1);
	return copy ? memcpy(copy, text, bytes) : NULL;
}

bool memory_grow(struct ingot_runtime *runtime, void *array, uint32_t count, uint32_t *room, size_t bytes)
{
	void *old, *grown;
	if (count < *room)
		return true;
	if (*room >= UINT32_MAX / 2)
		return false;
	uint32_t wanted = *room ? *room * 2 : 4;
	memcpy(&old, array, sizeof old);
	if (!(grown = memory_new(runtime, wanted, bytes)))
		return false;
	if (old)
		memcpy(grown, old, count * bytes);
	memory_free(runtime, old);
	memcpy(array, &grown, sizeof grown);
	*room = wanted;
	return true;
}

/* ---- failures ---- */

struct failure *failure_new(struct ingot_runtime *runtime, enum ingot_status status, const char *format, ...)
{
	struct failure *failure = memory_new(runtime, 1, sizeof *failure);
	va_list arguments;
	if (!failure) /* the failure itself must not be lost, only its words */
		return failure_keep(&runtime->no_memory);
	failure->refs = 1;
	failure->status = status;
	failure->cancelled = status == INGOT_CANCELLED;
	va_start(arguments, format);
	vsnprintf(failure->text, sizeof failure->text, format, arguments);
	va_end(arguments);
	return failure;
}

struct failure *failure_keep(struct failure *failure)
{
	if (failure)
		failure->refs++;
	return failure;
}

void failure_drop(struct ingot_runtime *runtime, struct failure *failure)
{
	if (failure && !--failure->refs)
		memory_free(runtime, failure);
}

/* ---- handles: an index whose generation moves on when its object is closed ---- */

#define NO_INDEX UINT32_MAX

void (*const object_release[KIND_COUNT])(struct object *) = {
	[KIND_DEVICE] = device_release,
	[KIND_STREAM] = stream_release,
	[KIND_EVENT] = event_release,
	[KIND_CONTEXT] = context_release,
	[KIND_NODE] = node_release,
	[KIND_LIBRARY] = library_release,
	[KIND_ROUTINE] = routine_release,
};

static const char *const kind_names[KIND_COUNT] = {
	"",
	"device",
	"stream",
	"event",
	"context",
	"node",
	"library",
	"routine",
};

/* ---- the lock ---- */

void enter(struct ingot_runtime *runtime) { lock_take(&runtime->lock); }

static void unlock(struct ingot_runtime *runtime)
{
	if (!lock_give(&runtime->lock))
		atomic_store(&runtime->unlocked, true);
}

void change_wait(struct ingot_runtime *runtime) { change_wait_until(runtime, NO_DEADLINE); }

void change_wait_until(struct ingot_runtime *runtime, uint64_t until)
{
	uint32_t seen = atomic_load(&runtime->change);
	runtime->waiting++;
	leave(runtime);
	futex_wait_until(&runtime->change, seen, until);
	enter(runtime);
	runtime->waiting--;
}

void changed(struct ingot_runtime *runtime)
{
	if (!runtime->waiting)
		return;
	atomic_fetch_add(&runtime->change, 1);
	futex_wake(&runtime->change, INT_MAX);
}

/* A worker that is woken under the lock would only wait for it.  `wakers` keeps the queue until it was woken. */
void leave(struct ingot_runtime *runtime)
{
	struct stream *list = runtime->to_wake, *next;
	struct dead dead = runtime->dead;
	bool frees = dead.slabs || (INGOT_THREADS && dead.nodes);
	runtime->to_wake = NULL;
	runtime->dead = (struct dead){ NULL, NULL };
	runtime->freeing += INGOT_THREADS && frees;
	for (struct stream *stream = list; stream; stream = stream->next_to_wake) {
		stream->to_wake = false;
		atomic_fetch_add(&stream->wakers, 1);
	}
	if (!INGOT_THREADS || !list) {
		unlock(runtime);
		if (frees)
			dead_free(runtime, dead);
		return;
	}
	struct stream *few[8];
	uint32_t count = 0;
	for (; list && count < COUNT(few); list = next) {
		next = list->next_to_wake;
		few[count++] = list;
	}
	for (; list; list = next) { /* more than that at once: the others under the lock */
		next = list->next_to_wake;
		list->device->backend->table->wake(list->raw);
		atomic_fetch_sub(&list->wakers, 1);
	}
	unlock(runtime);
	for (uint32_t i = 0; i < count; i++) {
		few[i]->device->backend->table->wake(few[i]->raw);
		atomic_fetch_sub(&few[i]->wakers, 1);
	}
	if (frees)
		dead_free(runtime, dead);
}

enum ingot_status handle_new(struct ingot_runtime *runtime, struct object *object, enum kind kind)
{
	uint32_t index = runtime->first_free;
	if (index == NO_INDEX) {
		if (!memory_grow(runtime, &runtime->handles, runtime->handle_count, &runtime->handle_room,
		            sizeof *runtime->handles))
			return say(INGOT_MEMORY, "no memory for the handle of a %s", kind_names[kind]);
		index = runtime->handle_count++;
		runtime->handles[index].generation = runtime->first_generation;
	} else
		runtime->first_free = runtime->handles[index].next_free;
	struct handle_entry *entry = runtime->handles + index;
	entry->object = object;
	*object = (struct object){ runtime, index, entry->generation, kind, 1, NULL, NULL };
	if (kind != KIND_EVENT) {
		object->link = runtime->end[kind] ? runtime->end[kind] : runtime->first + kind;
		*object->link = object;
		runtime->end[kind] = &object->next;
	}
	runtime->open[kind]++;
	return INGOT_OK;
}

void handle_close(struct object *object)
{
	struct ingot_runtime *runtime = object->runtime;
	struct handle_entry *entry = runtime->handles + object->index;
	if (!object->generation)
		return;
	entry->object = NULL;
	if (object->link) {
		*object->link = object->next;
		*(object->next ? &object->next->link : runtime->end + object->kind) = object->link;
	}
	if (++entry->generation) { /* an index whose generations are used up is never used again */
		entry->next_free = runtime->first_free;
		runtime->first_free = object->index;
	}
	object->generation = 0;
	runtime->open[object->kind]--;
	object_drop(object);
}

void object_drop(struct object *object)
{
	if (object && !--object->refs)
		object_release[object->kind](object);
}

struct object *object_of(struct ingot_runtime *runtime, uint32_t index, uint32_t generation, enum kind kind)
{
	if (index < runtime->handle_count && generation && runtime->handles[index].generation == generation) {
		struct object *object = runtime->handles[index].object;
		if (object && object->kind == kind)
			return object;
	}
	say(INGOT_STALE, "the handle of this %s is stale", kind_names[kind]);
	return NULL;
}

struct object *object_enter(struct ingot_runtime *runtime, uint32_t index, uint32_t generation, enum kind kind)
{
	if (!runtime) {
		say(INGOT_STALE, "the handle of this %s is zeros", kind_names[kind]);
		return NULL;
	}
	if (!runtime_lives(runtime))
		return NULL;
	enter(runtime);
	struct object *object = object_of(runtime, index, generation, kind);
	if (!object)
		leave(runtime);
	return object;
}

enum ingot_status object_do(struct ingot_runtime *runtime, uint32_t index, uint32_t generation, enum kind kind,
        enum ingot_status (*work)(struct object *))
{
	struct object *object = object_enter(runtime, index, generation, kind);
	if (!object)
		return INGOT_STALE;
	object_keep(object);
	enum ingot_status status = work(object);
	object_drop(object);
	leave(runtime);
	return status;
}

/* ---- the runtime ---- */

enum ingot_status ingot_runtime_open(struct ingot_runtime **out, const struct ingot_runtime_options *options)
{
	struct ingot_runtime first = { .first_free = NO_INDEX, .next_node = 0 }, *runtime;
	NEED(out);
	*out = NULL;
	if (options)
		first.options = *options;
#if INGOT_THREADS
	if (first.options.block)
		return say(INGOT_UNSUPPORTED, "this build takes its memory from the system; see allocate and release");
#else
	if (!first.options.allocate && !alone_block(first.options.block, first.options.block_bytes))
		return say(INGOT_INVALID, "no block of memory, or it is too small, or a runtime has it");
#endif
	if (first.options.default_dtype && !ingot_dtype_bits(first.options.default_dtype))
		return say(INGOT_INVALID, "the default type %u is none of numbers", first.options.default_dtype);
	if ((unsigned)first.options.name_style > INGOT_NAME_DOT_GRAD)
		return say(INGOT_INVALID, "the name style %d is none", (int)first.options.name_style);
	first.options.queue_capacity = first.options.queue_capacity ? first.options.queue_capacity : 4096;
	if (first.options.spare_commands == INGOT_NO_SPARES)
		first.options.spare_commands = 0;
	else if (!first.options.spare_commands)
		first.options.spare_commands = first.options.queue_capacity;
	first.options.default_dtype = first.options.default_dtype ? first.options.default_dtype : INGOT_F32;
	if (!first.options.pool_cap)
		first.options.pool_cap = INGOT_PLAN_CAP_32;
	if (first.options.large_models)
		first.options.pool_cap = 0;
	if (!(runtime = memory_new(&first, 1, sizeof *runtime)))
		return say(INGOT_MEMORY, "no memory for a runtime");
	memcpy(runtime, &first, sizeof first);
	atomic_store(&runtime->live, 0); /* the runtime itself does not count */
	if (!lives_add(runtime)) {
		memory_free(&first, runtime);
		return say(INGOT_MEMORY, "no memory for a runtime");
	}
	runtime->no_memory =
	        (struct failure){ .refs = 1, .status = INGOT_MEMORY, .text = "no memory to say what failed" };
	*out = runtime;
	return INGOT_OK;
}

enum ingot_status ingot_runtime_close(struct ingot_runtime *runtime)
{
	char left[160] = "";
	size_t used = 0;
	if (!runtime)
		return INGOT_OK;
	NEED_LIVING(runtime);
	enum ingot_status refused = task_refuses("cannot close its runtime");
	if (refused)
		return refused;
	enter(runtime);
	runtime->closing = true;
	/* Devices and their default streams are opened by asking for them. */
	for (enum kind kind = KIND_EVENT; kind < KIND_COUNT; kind++)
		if (runtime->open[kind] && used < sizeof left)
			used += (size_t)snprintf(left + used, sizeof left - used, "%s%u %s%s", used ? ", " : "",
			        runtime->open[kind], kind_names[kind], runtime->open[kind] > 1 ? "s" : "");
	for (uint32_t i = 0; i < runtime->handle_count; i++) {
		struct object *object = runtime->handles[i].object;
		if (!object || object->kind != KIND_DEVICE)
			continue;
		struct ingot_device device = { runtime, object->index, object->generation };
		leave(runtime);
		ingot_device_close(device);
		enter(runtime);
	}
	static const enum kind order[] = { KIND_ROUTINE, KIND_LIBRARY, KIND_EVENT, KIND_CONTEXT, KIND_NODE };
	for (size_t k = 0; k < COUNT(order); k++)
		for (uint32_t i = 0; i < runtime->handle_count; i++)
			if (runtime->handles[i].object && runtime->handles[i].object->kind == order[k])
				handle_close(runtime->handles[i].object);
	leave(runtime); /* the last slabs go back, and their devices with them */
	enter(runtime);
	while (INGOT_THREADS && runtime->freeing) /* by a backend's thread, which its backend waits for */
		change_wait(runtime);
	for (struct backend *backend; (backend = runtime->backends);) {
		runtime->backends = backend->next;
		backend->table->close(backend->state);
		memory_free(runtime, backend->used);
		memory_free(runtime, backend->first);
		memory_free(runtime, backend);
	}
	spares_release(runtime, &runtime->commands);
	spares_release(runtime, &runtime->events);
	memory_free(runtime, runtime->trace);
	memory_free(runtime, runtime->handles);
	leave(runtime);
	lives_remove(runtime);
	uint64_t live = atomic_load(&runtime->live);
	bool unlocked = atomic_load(&runtime->unlocked);
	struct ingot_runtime_options options = runtime->options;
	if (options.release)
		options.release(options.user, runtime);
	else if (!options.allocate)
		free(runtime);
	/* Our own mistakes, if ever: reported rather than hidden, and what the tests look at. */
	if (INGOT_THREADS && unlocked)
		return say(INGOT_LEFT_OPEN, "the lock of the runtime was given back where nobody had it");
	if (used)
		return say(INGOT_LEFT_OPEN, "left open: %s", left);
	return live ? say(INGOT_LEFT_OPEN, "%llu blocks of the runtime were not given back", (unsigned long long)live)
	            : INGOT_OK;
}

uint64_t ingot_runtime_live(const struct ingot_runtime *runtime)
{
	return !runtime_lives(runtime) ? 0 : atomic_load(&((struct ingot_runtime *)(uintptr_t)runtime)->live);
}

/* ---- backends ---- */

static const struct ingot_backend *backend_table(struct ingot_runtime *runtime, const char *name)
{
	static const struct ingot_backend *const built_in[] = {
		&ingot_backend_sync,
#if INGOT_THREADS
		&ingot_backend_multicore,
#endif
	};
	for (const struct ingot_backend *const *own = runtime->options.backends; own && *own; own++)
		if (!strcmp((*own)->name, name))
			return *own;
	for (size_t i = 0; i < COUNT(built_in); i++)
		if (!strcmp(built_in[i]->name, name))
			return built_in[i];
	return NULL;
}

static struct backend *backend_find(struct ingot_runtime *runtime, const char *name)
{
	for (struct backend *backend = runtime->backends; backend; backend = backend->next)
		if (!strcmp(backend->table->name, name))
			return backend;
	return NULL;
}

static enum ingot_status backend_open(
        struct ingot_runtime *runtime, const struct ingot_backend *table, const struct ingot_backend_options *options)
{
	char text[INGOT_BACKEND_TEXT] = "";
	if (table->version != INGOT_BACKEND_VERSION)
		return say(INGOT_UNSUPPORTED, "backend %s has version %u of the table; this runtime has %u",
		        table->name, table->version, INGOT_BACKEND_VERSION);
	struct backend *backend = memory_new(runtime, 1, sizeof *backend), **link = &runtime->backends;
	if (!backend)
		return say(INGOT_MEMORY, "no memory for backend %s", table->name);
	if (options)
		backend->options = *options;
	backend->table = table;
	leave(runtime);
	enum ingot_status status = table->open(&backend->options, &backend->state, text);
	enter(runtime);
	if (status) {
		memory_free(runtime, backend);
		return say(status, "backend %s: %s", table->name, text[0] ? text : ingot_status_text(status));
	}
	backend->devices = table->devices(backend->state);
	backend->used = memory_new(runtime, (size_t)backend->devices, sizeof *backend->used);
	backend->first = memory_new(runtime, (size_t)backend->devices, sizeof *backend->first);
	if (!backend->used || !backend->first) {
		table->close(backend->state);
		memory_free(runtime, backend->used);
		memory_free(runtime, backend->first);
		memory_free(runtime, backend);
		return say(INGOT_MEMORY, "no memory for backend %s", table->name);
	}
	while (*link)
		link = &(*link)->next;
	*link = backend;
	return INGOT_OK;
}

enum ingot_status ingot_backend_init(
        struct ingot_runtime *runtime, const char *name, const struct ingot_backend_options *options)
{
	static const char *const automatic[] = { "cuda", "multicore", "sync" };
	enum ingot_status status = INGOT_MISSING;
	NEED(runtime && name);
	NEED_LIVING(runtime);
	if (options && (unsigned)options->parallelism > INGOT_MOST_STREAMS)
		return say(INGOT_INVALID, "ingot_backend_init: %d is no parallelism", (int)options->parallelism);
	enter(runtime);
	while (runtime->opening)
		change_wait(runtime);
	runtime->opening = true;
	if (!strcmp(name, "auto")) {
		if (runtime->backends)
			status = INGOT_OK;
		for (size_t i = 0; status && i < COUNT(automatic); i++) {
			const struct ingot_backend *table = backend_table(runtime, automatic[i]);
			status = table ? backend_open(runtime, table, options) : INGOT_MISSING;
		}
	} else if (backend_find(runtime, name))
		status = INGOT_OK;
	else {
		const struct ingot_backend *table = backend_table(runtime, name);
		status = table ? backend_open(runtime, table, options)
		               : say(INGOT_MISSING, "there is no backend \"%s\" in this build", name);
	}
	runtime->opening = false;
	changed(runtime);
	leave(runtime);
	return status;
}

bool ingot_backend_ready(struct ingot_runtime *runtime, const char *name)
{
	if (!runtime_lives(runtime) || !name)
		return false;
	enter(runtime);
	bool ready = backend_find(runtime, name) != NULL;
	leave(runtime);
	return ready;
}

struct backend *backend_ready(struct ingot_runtime *runtime, const char *name)
{
	struct backend *backend = backend_find(runtime, name);
	if (!backend)
		say(INGOT_UNREADY, "backend \"%s\" was not initialised", name);
	return backend;
}

enum ingot_status ingot_backend_devices(struct ingot_runtime *runtime, const char *name, int *count)
{
	NEED(runtime && name && count);
	NEED_LIVING(runtime);
	enter(runtime);
	struct backend *backend = backend_ready(runtime, name);
	if (backend)
		*count = backend->devices;
	leave(runtime);
	return backend ? INGOT_OK : INGOT_UNREADY;
}
