/* multicore.c: workers that take what may start from all streams, and one intra-op pool for all of them.
 *
 * A stream of which something may start stands in a list.  A worker takes the first, runs its commands in their order,
 * and puts it back where others have waited for a while.  As many run at once as there are cores.  But a command may
 * stand, even for what another stream would do: so while streams wait an idle worker watches, and where none was taken
 * for a while takes one beyond that number.  Thus each stream goes on, as if it had a thread of its own. */
#include "common/alone.h"
#if INGOT_THREADS
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#include "host.h"
#include "inside.h"
#include "lock.h"

#define SLICE_NANOSECONDS 1000000 /* that a stream keeps a worker for which others wait */
#define STAND_NANOSECONDS 5000000 /* without a stream taken, though one waits: what runs may stand */

enum worker_state { WORKER_WORKS, WORKER_SPINS, WORKER_SLEEPS };

struct worker {
	struct multicore *multicore;
	struct worker *next, *next_idle;
	struct multicore_queue *queue; /* given by who calls it; NULL: it is to look itself */
	pthread_t thread;
	_Atomic uint32_t state; /* a futex; who calls an idle one writes WORKER_WORKS */
};

struct multicore {
	/* What each command may write, on one line of memory. */
	_Alignas(64) _Atomic uint32_t lock; /* of what follows */
	_Atomic uint32_t listed;            /* queues in the list */
	_Atomic uint32_t spinning;          /* workers that spin */
	uint32_t running, taken;            /* queues: now, and so far */
	bool watched, closing;
	struct multicore_queue *first, **end;
	struct worker *idle;                    /* the latest first */
	_Alignas(64) struct host_device device; /* one is enough: all logical devices share the threads */
	struct worker *workers;
	uint32_t cores, worker_count, queue_count;
	_Atomic uint32_t left; /* a futex: a queue that is closing was left by a worker; all workers ended */
	struct ingot_threads *threads;
};

struct multicore_queue {
	struct host_queue base;
	struct multicore *multicore;
	struct ingot_queue *ours;
	struct multicore_queue *next;
	bool listed, closing;
	uint32_t users; /* workers that are at it: one, or another one that just leaves it */
};

static enum ingot_status multicore_open(const struct ingot_backend_options *options, void **state, char *text)
{
	struct multicore *multicore;
	if (posix_memalign((void **)&multicore, 64, sizeof *multicore))
		return INGOT_MEMORY;
	memset(multicore, 0, sizeof *multicore);
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	multicore->cores = cores > 0 ? (uint32_t)cores : 1;
	multicore->end = &multicore->first;
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

/* ---- workers: all functions have the lock, but for those that say otherwise ---- */

static void left_wait(struct multicore *multicore)
{
	uint32_t seen = atomic_load(&multicore->left);
	lock_give(&multicore->lock);
	futex_wait(&multicore->left, seen);
	lock_take(&multicore->lock);
}

static void left_tell(struct multicore *multicore)
{
	atomic_fetch_add(&multicore->left, 1);
	futex_wake(&multicore->left, INT_MAX);
}

/* Written with the lock, so not as one operation, which costs more. */
static void listed_add(struct multicore *multicore, int32_t more)
{
	uint32_t count = atomic_load_explicit(&multicore->listed, memory_order_relaxed);
	atomic_store_explicit(&multicore->listed, count + (uint32_t)more, memory_order_relaxed);
}

static void unlist(struct multicore_queue *queue)
{
	struct multicore *multicore = queue->multicore;
	struct multicore_queue **link = &multicore->first;
	while (*link && *link != queue)
		link = &(*link)->next;
	if (!*link)
		return;
	if (!(*link = queue->next))
		multicore->end = link;
	queue->listed = false;
	listed_add(multicore, -1);
}

/* The first of the list, which is a worker's from now on. */
static struct multicore_queue *first_take(struct multicore *multicore)
{
	struct multicore_queue *queue = multicore->first;
	unlist(queue);
	queue->users++;
	multicore->taken++;
	multicore->running++;
	return queue;
}

/* Gives the first of the list to an idle worker, or makes one watch the list; whom to call; NULL: nobody. */
static struct worker *idle_take(struct multicore *multicore)
{
	struct worker *worker = multicore->idle;
	bool runs = multicore->running < multicore->cores;
	if (!worker || !multicore->first || (!runs && multicore->watched))
		return NULL;
	multicore->idle = worker->next_idle;
	worker->queue = runs ? first_take(multicore) : NULL;
	return worker;
}

/* Without the lock. */
static void call(struct worker *worker)
{
	if (worker && atomic_exchange(&worker->state, WORKER_WORKS) == WORKER_SLEEPS)
		futex_wake(&worker->state, 1);
}

/* At the end of the list; whom to call for it. */
static struct worker *list(struct multicore_queue *queue)
{
	struct multicore *multicore = queue->multicore;
	if (queue->listed || queue->closing)
		return NULL;
	queue->listed = true;
	queue->next = NULL;
	*multicore->end = queue;
	multicore->end = &queue->next;
	listed_add(multicore, 1);
	/* Who is at the queue found nothing to start any more, and looks at the list next. */
	return queue->users ? NULL : idle_take(multicore);
}

/* Gives the lock up until somebody calls; NULL: with the lock, else without it a queue that is to run.  Spins for a few
 * microseconds where a core is to spare, giving way to who was just woken on this one, then sleeps. */
static struct multicore_queue *rest(struct worker *worker)
{
	struct multicore *multicore = worker->multicore;
	uint32_t seen = WORKER_SPINS;
	worker->queue = NULL;
	worker->next_idle = multicore->idle;
	multicore->idle = worker;
	atomic_store_explicit(&worker->state, WORKER_SPINS, memory_order_relaxed);
	lock_give(&multicore->lock);
	if (atomic_fetch_add(&multicore->spinning, 1) + 1 < multicore->cores)
		for (int i = 0; i < 200 && atomic_load_explicit(&worker->state, memory_order_acquire) == seen; i++)
			i % 16 == 15 ? (void)sched_yield() : pause_briefly();
	atomic_fetch_sub(&multicore->spinning, 1);
	if (atomic_compare_exchange_strong(&worker->state, &seen, WORKER_SLEEPS))
		while (atomic_load(&worker->state) == WORKER_SLEEPS)
			futex_wait(&worker->state, WORKER_SLEEPS);
	if (!worker->queue)
		lock_take(&multicore->lock);
	return worker->queue;
}

struct turn {
	struct multicore *multicore;
	uint64_t until; /* 0: nobody has waited yet */
};

static bool turn_is_over(void *argument)
{
	struct turn *turn = argument;
	if (!atomic_load_explicit(&turn->multicore->listed, memory_order_relaxed))
		return false;
	uint64_t now = clock_nanoseconds();
	turn->until = turn->until ? turn->until : now + SLICE_NANOSECONDS;
	return now >= turn->until;
}

/* Runs what may start; begins without the lock, and ends with it. */
static void queue_run(struct multicore_queue *queue)
{
	struct multicore *multicore = queue->multicore;
	struct turn turn = { multicore, 0 };
	bool more = ingot_queue_run(queue->ours, turn_is_over, &turn);
	lock_take(&multicore->lock);
	multicore->running--;
	if (more)
		list(queue);
	if (!--queue->users && queue->closing)
		left_tell(multicore);
}

static bool worker_new(struct multicore *);

/* The first of the list, after which the lock is given up; whom else to call for the rest of it is called. */
static struct multicore_queue *take(struct multicore *multicore)
{
	struct multicore_queue *queue = first_take(multicore);
	/* All that there are run and may stand: one more is to watch.  Where there is no thread, one that runs comes. */
	if (!multicore->idle && multicore->running == multicore->worker_count
	        && multicore->worker_count < multicore->queue_count)
		worker_new(multicore);
	struct worker *other = idle_take(multicore);
	lock_give(&multicore->lock);
	call(other);
	return queue;
}

/* Gives the lock up for a while; NULL: with the lock, else without it the first of the list, of which none was taken
 * meanwhile. */
static struct multicore_queue *watch(struct worker *worker)
{
	struct multicore *multicore = worker->multicore;
	uint32_t taken = multicore->taken;
	uint64_t until = clock_nanoseconds() + STAND_NANOSECONDS;
	multicore->watched = true;
	atomic_store_explicit(&worker->state, WORKER_SLEEPS, memory_order_relaxed);
	lock_give(&multicore->lock);
	while (atomic_load(&worker->state) == WORKER_SLEEPS && clock_nanoseconds() < until)
		futex_wait_until(&worker->state, WORKER_SLEEPS, until);
	lock_take(&multicore->lock);
	multicore->watched = false;
	return multicore->first && multicore->taken == taken ? take(multicore) : NULL;
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	struct multicore *multicore = worker->multicore;
	lock_take(&multicore->lock);
	while (!multicore->closing) {
		struct multicore_queue *queue = multicore->first && multicore->running < multicore->cores
		        ? take(multicore)
		        : multicore->first && !multicore->watched ? watch(worker)
		                                                  : rest(worker);
		if (queue)
			queue_run(queue);
	}
	lock_give(&multicore->lock);
	return NULL;
}

static bool worker_new(struct multicore *multicore)
{
	struct worker *worker = calloc(1, sizeof *worker);
	if (!worker)
		return false;
	worker->multicore = multicore;
	if (pthread_create(&worker->thread, NULL, worker_main, worker)) {
		free(worker);
		return false;
	}
	worker->next = multicore->workers;
	multicore->workers = worker;
	multicore->worker_count++;
	return true;
}

/* ---- queues ---- */

static void multicore_wake(void *raw)
{
	struct multicore_queue *queue = raw;
	lock_take(&queue->multicore->lock);
	struct worker *worker = list(queue);
	lock_give(&queue->multicore->lock);
	call(worker);
}

/* A worker for each queue, up to one for each core and one that watches. */
static enum ingot_status multicore_queue_open(void *device, struct ingot_queue *ours, void **out, char *text)
{
	struct multicore *multicore = device;
	struct multicore_queue *queue = calloc(1, sizeof *queue);
	if (!queue)
		return INGOT_MEMORY;
	queue->base.device = &multicore->device;
	queue->multicore = multicore;
	queue->ours = ours;
	lock_take(&multicore->lock);
	while (multicore->closing)
		left_wait(multicore);
	bool enough = multicore->worker_count > multicore->cores || multicore->worker_count > multicore->queue_count
	        || worker_new(multicore);
	multicore->queue_count += enough;
	lock_give(&multicore->lock);
	if (!enough) {
		snprintf(text, INGOT_BACKEND_TEXT, "no thread for a stream");
		free(queue);
		return INGOT_MEMORY;
	}
	*out = queue;
	return INGOT_OK;
}

/* The last queue is closed: all workers end. */
static void workers_end(struct multicore *multicore)
{
	struct worker *list = multicore->workers, *next;
	multicore->closing = true;
	multicore->workers = multicore->idle = NULL;
	lock_give(&multicore->lock);
	for (struct worker *worker = list; worker; worker = worker->next)
		call(worker);
	for (; list; list = next) {
		next = list->next;
		pthread_join(list->thread, NULL);
		free(list);
	}
	lock_take(&multicore->lock);
	multicore->worker_count = 0;
	multicore->closing = false;
	left_tell(multicore);
}

static void multicore_queue_close(void *raw)
{
	struct multicore_queue *queue = raw;
	struct multicore *multicore = queue->multicore;
	lock_take(&multicore->lock);
	queue->closing = true;
	unlist(queue);
	while (queue->users)
		left_wait(multicore);
	if (!--multicore->queue_count)
		workers_end(multicore);
	lock_give(&multicore->lock);
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
