/* multicore.c: a worker thread for each stream, and one intra-op pool for all of them. */
#include "common/alone.h"
#if INGOT_THREADS
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#include "futex.h"
#include "host.h"
#include "inside.h"

struct multicore {
	struct host_device device; /* one is enough: all logical devices share the threads */
	struct ingot_threads *threads;
	long cores;
	_Atomic int spinning; /* workers that spin, over all queues */
};

struct multicore_queue {
	struct host_queue base;
	struct multicore *multicore;
	struct ingot_queue *ours;
	pthread_t thread;
	_Atomic uint32_t signal; /* raised by each wake */
	_Atomic bool sleeps, closing;
};

static enum ingot_status multicore_open(const struct ingot_backend_options *options, void **state, char *text)
{
	struct multicore *multicore = calloc(1, sizeof *multicore);
	if (!multicore)
		return INGOT_MEMORY;
	multicore->cores = sysconf(_SC_NPROCESSORS_ONLN);
	multicore->device.parallel = options->parallel;
	if (!options->parallel && options->intra_op_threads != 1) {
		if (options->intra_op_threads > 4096
		        || ingot_threads_open(&multicore->threads, (int)options->intra_op_threads)) {
			snprintf(text, INGOT_BACKEND_TEXT, "no pool of %u threads", options->intra_op_threads);
			free(multicore);
			return INGOT_MEMORY;
		}
		multicore->device.parallel = ingot_threads_parallel(multicore->threads);
	}
	*state = multicore;
	return INGOT_OK;
}

static void multicore_close(void *state)
{
	struct multicore *multicore = state;
	ingot_threads_close(multicore->threads);
	free(multicore);
}

static int multicore_devices(void *state)
{
	(void)state;
	return 1;
}
static void multicore_device_close(void *device) { (void)device; }

static enum ingot_status multicore_device_open(void *state, int ordinal, void **device, char *text)
{
	(void)ordinal, (void)text;
	*device = state;
	return INGOT_OK;
}

static const struct ingot_parallel *multicore_parallel(void *device)
{
	return ((struct multicore *)device)->device.parallel;
}

/* Spins for a few microseconds where a core is to spare, giving way to who was just woken on this one, then sleeps.
 * `signal` is read before the queue was looked at, so a wake in between is not lost. */
static void wait_for_signal(struct multicore_queue *queue, uint32_t seen)
{
	struct multicore *multicore = queue->multicore;
	if (atomic_fetch_add(&multicore->spinning, 1) < multicore->cores - 1)
		for (int i = 0; i < 200 && atomic_load_explicit(&queue->signal, memory_order_acquire) == seen; i++)
			i % 16 == 15 ? (void)sched_yield() : pause_briefly();
	atomic_fetch_sub(&multicore->spinning, 1);
	/* Said anew before each sleep: who wakes a sleeper takes its word back, and may come late, with a signal that
	 * was seen already. */
	while (atomic_store(&queue->sleeps, true), atomic_load(&queue->signal) == seen)
		futex_wait(&queue->signal, seen);
	atomic_store_explicit(&queue->sleeps, false, memory_order_relaxed);
}

static void *worker(void *argument)
{
	struct multicore_queue *queue = argument;
	for (;;) {
		uint32_t seen = atomic_load(&queue->signal);
		if (ingot_queue_run(queue->ours))
			continue;
		if (atomic_load(&queue->closing))
			return NULL;
		wait_for_signal(queue, seen);
	}
}

static void multicore_wake(void *raw)
{
	struct multicore_queue *queue = raw;
	atomic_fetch_add(&queue->signal, 1);
	/* Taken back by who wakes it, so that while it comes nobody else does. */
	if (atomic_load(&queue->sleeps) && atomic_exchange(&queue->sleeps, false))
		futex_wake(&queue->signal, 1);
}

static enum ingot_status multicore_queue_open(void *device, struct ingot_queue *ours, void **out, char *text)
{
	struct multicore_queue *queue = calloc(1, sizeof *queue);
	if (!queue)
		return INGOT_MEMORY;
	queue->base.device = device;
	queue->multicore = device;
	queue->ours = ours;
	if (pthread_create(&queue->thread, NULL, worker, queue)) {
		snprintf(text, INGOT_BACKEND_TEXT, "no thread for a stream");
		free(queue);
		return INGOT_MEMORY;
	}
	*out = queue;
	return INGOT_OK;
}

static void multicore_queue_close(void *raw)
{
	struct multicore_queue *queue = raw;
	atomic_store(&queue->closing, true);
	multicore_wake(queue);
	pthread_join(queue->thread, NULL);
	free(queue);
}

const struct ingot_backend ingot_backend_multicore = {
	.version = INGOT_BACKEND_VERSION,
	.name = "multicore",
	.open = multicore_open,
	.close = multicore_close,
	.devices = multicore_devices,
	.device_open = multicore_device_open,
	.device_close = multicore_device_close,
	.parallel = multicore_parallel,
	.queue_open = multicore_queue_open,
	.queue_close = multicore_queue_close,
	.wake = multicore_wake,
	HOST_ROWS,
};
#endif
