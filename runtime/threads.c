/* threads.c: the intra-op pool: a job of each caller, its indices handed out from one word.
 *
 * `claim` holds the job's number and the indices that are left, so a thread that comes late cannot take an index of a
 * job that is over: it takes one of the job that is there, whatever that is, and only then reads what to do.  The
 * fields it reads cannot change before the index is done, as the caller waits for all of them.  The caller takes the
 * first one that is left, workers the last: so of several jobs over the same data each has the same end of it.
 *
 * Several callers have a slot each.  A worker looks at each slot that was ever used, beginning with one that is its
 * own: so of two jobs each has half of the workers, and of one all of them.
 *
 * A line of memory takes some 70 ns from core to core, longer where both have it.  So all that a worker waits for and
 * then reads is one line for each caller, the caller has the first index before anybody can ask, and when he waits, the
 * line of `done` is his. */
#include "common/alone.h"
#if INGOT_THREADS
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "futex.h"
#include "ingot/threads.h"
#include "said.h"

#define INDEX_BITS 20
#define INDEX_MASK ((UINT64_C(1) << INDEX_BITS) - 1)
#define SPIN_DEFAULT 4000

#define MOST_SLOTS 16 /* callers that have workers at once; more run on their own threads */

struct slot {
	_Alignas(64) _Atomic uint64_t claim;     /* job << 40 | end << 20 | next: what idle workers look at */
	void (*task)(void *argument, int index); /* NULL: who takes an index of this job ends */
	void *argument;
	int first; /* of the block of indices at hand */
	atomic_flag taken;
	_Alignas(64) _Atomic uint32_t done; /* indices that are, of all jobs */
	_Atomic uint32_t caller_sleeps;
};

struct ingot_threads {
	struct slot slots[MOST_SLOTS];
	_Alignas(64) _Atomic uint32_t slot_count; /* that were ever used */
	_Atomic uint32_t asleep; /* some may sleep; taken back by who wakes them, so that he does it once */
	_Atomic uint32_t spin;
	_Alignas(64) _Atomic uint32_t woken;   /* raised by who wakes workers: what they sleep on */
	_Alignas(64) _Atomic uint32_t started; /* workers */
	struct ingot_parallel parallel;
	pthread_t *threads;
	int thread_count;
};

static _Thread_local bool inside;

static uint64_t claim_next(uint64_t claim) { return claim & INDEX_MASK; }
static uint64_t claim_end(uint64_t claim) { return claim >> INDEX_BITS & INDEX_MASK; }

static bool is_open(uint64_t claim) { return claim_next(claim) < claim_end(claim); }

/* Takes an index, the first or the last; false: none is left. */
static bool take(struct slot *slot, bool last, int *index)
{
	uint64_t claim = atomic_load_explicit(&slot->claim, memory_order_acquire);
	while (is_open(claim))
		if (atomic_compare_exchange_weak_explicit(&slot->claim, &claim,
		            last ? claim - (UINT64_C(1) << INDEX_BITS) : claim + 1, memory_order_acq_rel,
		            memory_order_acquire)) {
			*index = slot->first + (int)(last ? claim_end(claim) - 1 : claim_next(claim));
			return true;
		}
	return false;
}

/* With indices left, the worker's own before others; NULL: none has. */
static struct slot *slot_open(struct ingot_threads *threads, uint32_t own)
{
	uint32_t count = atomic_load(&threads->slot_count);
	for (uint32_t i = 0, at = count > 1 ? own % count : 0; i < count; i++, at = at + 1 < count ? at + 1 : 0)
		if (is_open(atomic_load(&threads->slots[at].claim)))
			return threads->slots + at;
	return NULL;
}

static void *worker(void *argument)
{
	struct ingot_threads *threads = argument;
	uint32_t own = atomic_fetch_add(&threads->started, 1);
	int index;
	inside = true;
	for (;;) {
		uint32_t spin = atomic_load_explicit(&threads->spin, memory_order_relaxed);
		uint32_t woken = atomic_load(&threads->woken);
		struct slot *slot;
		while (!(slot = slot_open(threads, own)) && spin--)
			pause_briefly();
		if (!slot) {
			atomic_store(&threads->asleep, 1);
			if (!slot_open(threads, own))
				futex_wait(&threads->woken, woken);
			continue;
		}
		/* Another one where that is more its own, as soon as there is. */
		while (slot && take(slot, true, &index)) {
			if (!slot->task)
				return NULL;
			slot->task(slot->argument, index);
			/* After this the caller may go on and the fields may change. */
			atomic_fetch_add(&slot->done, 1);
			if (atomic_load(&slot->caller_sleeps))
				futex_wake(&slot->done, 1);
			slot = slot_open(threads, own);
		}
	}
}

/* A new job, of which `next` indices are taken. */
static void publish(struct ingot_threads *threads, struct slot *slot, uint32_t count, uint32_t next)
{
	uint64_t job = atomic_load_explicit(&slot->claim, memory_order_relaxed) >> 2 * INDEX_BITS;
	atomic_store(&slot->claim, (job + 1) << 2 * INDEX_BITS | (uint64_t)count << INDEX_BITS | next);
	if (atomic_load(&threads->asleep) && atomic_exchange(&threads->asleep, 0)) {
		atomic_fetch_add(&threads->woken, 1);
		futex_wake(&threads->woken, INT_MAX);
	}
}

static void block_run(struct ingot_threads *threads, struct slot *slot, uint32_t count)
{
	uint32_t target = atomic_load_explicit(&slot->done, memory_order_relaxed) + count, own = 0, done;
	int index = slot->first;
	publish(threads, slot, count, 1);
	do {
		slot->task(slot->argument, index);
		own++;
	} while (take(slot, false, &index));
	atomic_fetch_add(&slot->done, own);
	uint32_t spin = atomic_load_explicit(&threads->spin, memory_order_relaxed);
	while ((done = atomic_load_explicit(&slot->done, memory_order_acquire)) != target && spin--)
		pause_briefly();
	if (done == target)
		return;
	atomic_store(&slot->caller_sleeps, 1);
	while ((done = atomic_load(&slot->done)) != target)
		futex_wait(&slot->done, done);
	atomic_store(&slot->caller_sleeps, 0);
}

/* The first that is free, so that as few are looked at as there ever were callers at once; NULL: all are taken. */
static struct slot *slot_take(struct ingot_threads *threads)
{
	for (uint32_t i = 0; i < MOST_SLOTS; i++) {
		if (atomic_flag_test_and_set_explicit(&threads->slots[i].taken, memory_order_acquire))
			continue;
		uint32_t count = atomic_load(&threads->slot_count);
		while (count <= i && !atomic_compare_exchange_weak(&threads->slot_count, &count, i + 1))
			;
		return threads->slots + i;
	}
	return NULL;
}

static void run(void *pool, void (*task)(void *argument, int index), void *argument, int count)
{
	struct ingot_threads *threads = pool;
	struct slot *slot;
	if (count <= 0)
		return;
	if (count == 1 || inside || !threads->thread_count || !(slot = slot_take(threads))) {
		for (int i = 0; i < count; i++)
			task(argument, i);
		return;
	}
	inside = true;
	slot->task = task;
	slot->argument = argument;
	for (int first = 0; first < count;) {
		uint32_t block =
		        (uint32_t)(count - first) < INDEX_MASK ? (uint32_t)(count - first) : (uint32_t)INDEX_MASK;
		slot->first = first;
		block_run(threads, slot, block);
		first += (int)block;
	}
	inside = false;
	atomic_flag_clear_explicit(&slot->taken, memory_order_release);
}

int ingot_threads_open(struct ingot_threads **out, int workers)
{
	NEED(out);
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct ingot_threads *threads;
	*out = NULL;
	if (workers < 0 || workers > 4096)
		return say(INGOT_RANGE, "%d workers", workers);
	if (!workers)
		workers = cores > 0 && cores <= 4096 ? (int)cores : 1;
	if (posix_memalign((void **)&threads, 64, sizeof *threads))
		return say(INGOT_MEMORY, "no memory for a thread pool");
	memset(threads, 0, sizeof *threads);
	for (size_t i = 0; i < MOST_SLOTS; i++)
		atomic_flag_clear(&threads->slots[i].taken);
	atomic_store(&threads->slot_count, 1);
	threads->parallel = (struct ingot_parallel){ run, threads, workers };
	/* With more threads than cores, spinning only keeps the others from their work. */
	atomic_store(&threads->spin, workers <= cores ? SPIN_DEFAULT : 0);
	threads->threads = calloc((size_t)workers, sizeof *threads->threads);
	if (!threads->threads) {
		free(threads);
		return say(INGOT_MEMORY, "no memory for a thread pool");
	}
	for (; threads->thread_count < workers - 1; threads->thread_count++)
		if (pthread_create(threads->threads + threads->thread_count, NULL, worker, threads)) {
			ingot_threads_close(threads);
			return say(INGOT_MEMORY, "no thread for a thread pool");
		}
	*out = threads;
	return INGOT_OK;
}

void ingot_threads_close(struct ingot_threads *threads)
{
	if (!threads)
		return;
	threads->slots[0].task = NULL;
	publish(threads, threads->slots, (uint32_t)threads->thread_count, 0);
	for (int i = 0; i < threads->thread_count; i++)
		pthread_join(threads->threads[i], NULL);
	free(threads->threads);
	free(threads);
}

const struct ingot_parallel *ingot_threads_parallel(struct ingot_threads *threads)
{
	return threads ? &threads->parallel : NULL;
}

int ingot_threads_pin(struct ingot_threads *threads)
{
#if defined __linux__
	NEED(threads);
	cpu_set_t allowed, one;
	int worker = 0;
	if (sched_getaffinity(0, sizeof allowed, &allowed))
		return say(INGOT_UNSUPPORTED, "the system does not say which cores there are");
	if (CPU_COUNT(&allowed) <= threads->thread_count)
		return say(INGOT_RANGE, "%d workers on %d cores", threads->thread_count + 1, CPU_COUNT(&allowed));
	for (int core = 0; core < CPU_SETSIZE && worker <= threads->thread_count; core++) {
		if (!CPU_ISSET(core, &allowed))
			continue;
		CPU_ZERO(&one);
		CPU_SET(core, &one);
		if (worker && pthread_setaffinity_np(threads->threads[worker - 1], sizeof one, &one))
			return say(INGOT_UNSUPPORTED, "a worker cannot be put on core %d", core);
		worker++;
	}
	return INGOT_OK;
#else
	(void)threads;
	return say(INGOT_UNSUPPORTED, "threads cannot be put on cores here");
#endif
}

void ingot_threads_spin(struct ingot_threads *threads, uint32_t loops)
{
	if (threads)
		atomic_store(&threads->spin, loops);
}
#endif
