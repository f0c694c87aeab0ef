/* lazy.c: a third backend, written against the public table alone.  It has three devices whose memory is not the
 * host's, and no thread: work runs when somebody waits, one command of a random stream at a time.  So whatever order
 * the runtime allows does happen, and a missing wait shows, the same way for the same seed. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "rows.h"

#define LARGEST_SLAB ((size_t)1 << 30)

struct lazy_queue {
	struct lazy *lazy;
	struct ingot_queue *ours;
	struct lazy_queue *next;
	int users; /* threads that are in it: it is not freed under them */
};

struct lazy {
	pthread_mutex_t lock;
	pthread_cond_t left;
	struct lazy_queue *queues;
	uint64_t random;
};

struct lazy_device {
	struct lazy *lazy;
	int ordinal;
};

/* A slab is not its address: what mixes them up crashes. */
struct lazy_slab {
	char mark[8];
	void *memory;
	size_t bytes;
};

static enum ingot_status lazy_open(const struct ingot_backend_options *options, void **state, char *text)
{
	struct lazy *lazy = calloc(1, sizeof *lazy);
	(void)text;
	if (!lazy)
		return INGOT_MEMORY;
	pthread_mutex_init(&lazy->lock, NULL);
	pthread_cond_init(&lazy->left, NULL);
	lazy->random = options->seed * 2654435761u + 88172645463325252u;
	*state = lazy;
	return INGOT_OK;
}

static void lazy_close(void *state)
{
	struct lazy *lazy = state;
	pthread_mutex_destroy(&lazy->lock);
	pthread_cond_destroy(&lazy->left);
	free(lazy);
}

static int lazy_devices(void *state)
{
	(void)state;
	return 3;
}

static enum ingot_status lazy_device_open(void *state, int ordinal, void **device, char *text)
{
	struct lazy_device *made = calloc(1, sizeof *made);
	(void)text;
	if (!made)
		return INGOT_MEMORY;
	*made = (struct lazy_device){ state, ordinal };
	*device = made;
	return INGOT_OK;
}

static void lazy_device_close(void *device) { free(device); }

static void lazy_properties(void *device, struct ingot_properties *properties)
{
	(void)device;
	*properties = (struct ingot_properties){ .host_memory = false,
		.slab_align = 256,
		.compute_units = 8,
		.copy_engines = 2,
		.shared_bytes = 48 * 1024,
		.group_threads = 1024,
		.group_size = { 1024, 512, 64 },
		.memory_bytes = LARGEST_SLAB };
}

static bool lazy_supports(void *device, enum ingot_dtype dtype)
{
	(void)device;
	return dtype == INGOT_F32 || dtype == INGOT_F16 || dtype == INGOT_I32;
}

static enum ingot_status lazy_slab_alloc(
        void *device, size_t bytes, size_t align, enum ingot_slab_mode mode, void **out, char *text)
{
	struct lazy_slab *slab = calloc(1, sizeof *slab);
	(void)device, (void)mode;
	if (!slab)
		return INGOT_MEMORY;
	if (bytes > LARGEST_SLAB || posix_memalign(&slab->memory, align < 16 ? 16 : align, bytes)) {
		snprintf(text, INGOT_BACKEND_TEXT, "lazy memory is full");
		free(slab);
		return INGOT_MEMORY;
	}
	memcpy(slab->mark, "LAZYSLAB", 8);
	memset(slab->memory, 0xA5, bytes);
	slab->bytes = bytes;
	*out = slab;
	return INGOT_OK;
}

static struct lazy_slab *slab_of(void *raw)
{
	struct lazy_slab *slab = raw;
	if (memcmp(slab->mark, "LAZYSLAB", 8))
		abort();
	return slab;
}

static void lazy_slab_free(void *device, void *raw)
{
	struct lazy_slab *slab = slab_of(raw);
	(void)device;
	memset(slab->memory, 0x5A, slab->bytes);
	free(slab->memory);
	memset(slab, 0, sizeof *slab);
	free(slab);
}

static void *lazy_slab_base(void *raw) { return slab_of(raw)->memory; }

static enum ingot_status lazy_queue_open(void *device, struct ingot_queue *ours, void **out, char *text)
{
	struct lazy_queue *queue = calloc(1, sizeof *queue);
	(void)text;
	if (!queue)
		return INGOT_MEMORY;
	struct lazy *lazy = ((struct lazy_device *)device)->lazy;
	queue->lazy = lazy;
	queue->ours = ours;
	pthread_mutex_lock(&lazy->lock);
	queue->next = lazy->queues;
	lazy->queues = queue;
	pthread_mutex_unlock(&lazy->lock);
	*out = queue;
	return INGOT_OK;
}

static void lazy_queue_close(void *raw)
{
	struct lazy_queue *queue = raw, **link = &queue->lazy->queues;
	struct lazy *lazy = queue->lazy;
	pthread_mutex_lock(&lazy->lock);
	while (*link != queue)
		link = &(*link)->next;
	*link = queue->next;
	while (queue->users)
		pthread_cond_wait(&lazy->left, &lazy->lock);
	pthread_mutex_unlock(&lazy->lock);
	free(queue);
}

static void lazy_wake(void *queue) { (void)queue; }

static struct lazy_queue *queue_at(struct lazy *lazy, int index)
{
	struct lazy_queue *queue = lazy->queues;
	while (queue && index--)
		queue = queue->next;
	return queue;
}

static bool lazy_progress(void *state)
{
	struct lazy *lazy = state;
	struct ingot_command *command = NULL;
	int count = 0;
	pthread_mutex_lock(&lazy->lock);
	for (struct lazy_queue *queue = lazy->queues; queue; queue = queue->next)
		count++;
	lazy->random ^= lazy->random << 13, lazy->random ^= lazy->random >> 7, lazy->random ^= lazy->random << 17;
	int skip = count ? (int)((lazy->random >> 33) % (uint64_t)count) : 0;
	for (int turn = 0; turn < count && !command; turn++) {
		struct lazy_queue *queue = queue_at(lazy, (skip + turn) % count);
		if (!queue)
			continue;
		queue->users++;
		pthread_mutex_unlock(&lazy->lock);
		if ((command = ingot_queue_next(queue->ours)))
			ingot_command_finish(command, ingot_command_run(command));
		pthread_mutex_lock(&lazy->lock);
		if (!--queue->users)
			pthread_cond_broadcast(&lazy->left);
	}
	pthread_mutex_unlock(&lazy->lock);
	return command != NULL;
}

static enum ingot_status range(struct lazy_slab *slab, size_t offset, size_t bytes)
{
	return offset > slab->bytes || bytes > slab->bytes - offset ? INGOT_DEVICE : INGOT_OK;
}

static enum ingot_status lazy_copy(
        void *queue, void *to, size_t to_offset, void *from, size_t from_offset, size_t bytes, char *text)
{
	(void)queue, (void)text;
	if (range(slab_of(to), to_offset, bytes) || range(slab_of(from), from_offset, bytes))
		return INGOT_DEVICE;
	memmove((char *)slab_of(to)->memory + to_offset, (char *)slab_of(from)->memory + from_offset, bytes);
	return INGOT_OK;
}

static enum ingot_status lazy_copy_in(
        void *queue, void *to, size_t to_offset, const void *host, size_t bytes, char *text)
{
	(void)queue, (void)text;
	if (range(slab_of(to), to_offset, bytes))
		return INGOT_DEVICE;
	memcpy((char *)slab_of(to)->memory + to_offset, host, bytes);
	return INGOT_OK;
}

static enum ingot_status lazy_copy_out(
        void *queue, void *host, void *from, size_t from_offset, size_t bytes, char *text)
{
	(void)queue, (void)text;
	if (range(slab_of(from), from_offset, bytes))
		return INGOT_DEVICE;
	memcpy(host, (char *)slab_of(from)->memory + from_offset, bytes);
	return INGOT_OK;
}

static enum ingot_status lazy_fill(void *queue, void *to, size_t to_offset, int byte, size_t bytes, char *text)
{
	(void)queue, (void)text;
	if (range(slab_of(to), to_offset, bytes))
		return INGOT_DEVICE;
	memset((char *)slab_of(to)->memory + to_offset, byte, bytes);
	return INGOT_OK;
}

static enum ingot_status lazy_call(
        void *queue, int (*run)(const struct ingot_call *), struct ingot_call *call, int *code, char *text)
{
	(void)text;
	call->stream = queue;
	*code = run(call);
	return INGOT_OK;
}

static enum ingot_status lazy_launch(void *queue, void *module, const struct ingot_module_kernel *kernel,
        const uint32_t groups[3], const uint32_t threads[3], void *const *arguments, int *code, char *text)
{
	(void)queue, (void)module, (void)text;
	struct ingot_group group = { .groups = { groups[0], groups[1], groups[2] },
		.threads = { threads[0], threads[1], threads[2] } };
	*code = 0;
	if (!kernel->run)
		return INGOT_UNSUPPORTED;
	for (group.index[2] = 0; group.index[2] < groups[2]; group.index[2]++)
		for (group.index[1] = 0; group.index[1] < groups[1]; group.index[1]++)
			for (group.index[0] = 0; group.index[0] < groups[0] && !*code; group.index[0]++)
				*code = kernel->run(&group, arguments);
	return INGOT_OK;
}

const struct ingot_backend backend_lazy = {
	.version = INGOT_BACKEND_VERSION,
	.name = "lazy",
	.open = lazy_open,
	.close = lazy_close,
	.devices = lazy_devices,
	.device_open = lazy_device_open,
	.device_close = lazy_device_close,
	.properties = lazy_properties,
	.supports = lazy_supports,
	.slab_alloc = lazy_slab_alloc,
	.slab_free = lazy_slab_free,
	.slab_base = lazy_slab_base,
	.queue_open = lazy_queue_open,
	.queue_close = lazy_queue_close,
	.wake = lazy_wake,
	.progress = lazy_progress,
	.copy = lazy_copy,
	.copy_in = lazy_copy_in,
	.copy_out = lazy_copy_out,
	.fill = lazy_fill,
	.call = lazy_call,
	.launch = lazy_launch,
};
