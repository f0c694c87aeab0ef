/* pool.c: (task, count) -> task(0) ... task(count - 1), over the calling thread and its helpers.
 *
 * One 64-bit word holds the number of the loop and how many indices are left; whoever takes an index does so by a
 * compare-and-swap of that word.  So the caller never waits for a helper that has not come: where another process holds
 * the second core, the caller does the work alone.  A helper late by a loop fails its swap: the number has changed. */
#define _GNU_SOURCE
#include "engine.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS = 4000 };                                /* about 100 us of pause instructions */

/* The caller's word and the helpers' word on lines of their own: sharing one makes a join five times slower. */
static struct {
	_Alignas(128) _Atomic uint64_t left;          /* loop number << 32 | indices left */
	_Alignas(128) atomic_int finished;
	_Alignas(128) atomic_uint loop, asleep;       /* `loop` is what sleepers wait on */
	_Alignas(128) _Atomic(void (*)(void *, int)) task;
	_Atomic(void *) argument;
} team;

static inline void pause_core(void)
{
#if defined __x86_64__
	__builtin_ia32_pause();
#else
	__asm__ volatile("yield" ::: "memory");
#endif
}

/* Takes indices of loop `number` until none is left. */
static void work(uint32_t number)
{
	uint64_t left = atomic_load_explicit(&team.left, memory_order_acquire);
	while (left >> 32 == number && (uint32_t)left) {
		void (*task)(void *, int) = atomic_load_explicit(&team.task, memory_order_relaxed);
		void *argument = atomic_load_explicit(&team.argument, memory_order_relaxed);
		if (!atomic_compare_exchange_weak_explicit(&team.left, &left, left - 1, memory_order_acq_rel,
		                                           memory_order_acquire))
			continue;
		task(argument, (int)(uint32_t)left - 1);
		atomic_fetch_add_explicit(&team.finished, 1, memory_order_release);
		left = atomic_load_explicit(&team.left, memory_order_acquire);
	}
}

/* The core with this number among those that the process may use; -1 where there are not so many. */
static int core_of(int number)
{
	cpu_set_t allowed;
	sched_getaffinity(0, sizeof allowed, &allowed);
	for (int core = 0; core < CPU_SETSIZE; core++)
		if (CPU_ISSET(core, &allowed) && number-- == 0)
			return core;
	return -1;
}

void pool_pin(int number)
{
	int core = core_of(number);
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(core < 0 ? 0 : core, &one);
	if (core >= 0)
		sched_setaffinity(0, sizeof one, &one);
}

static void *helper(void *number)
{
	pool_pin((int)(intptr_t)number);              /* else it may be woken on the caller's core, and stay there */
	for (uint32_t seen = 0;;) {
		uint32_t number = atomic_load(&team.loop);
		for (int spins = 0; number == seen; spins++) {
			if (spins < SPINS) {
				pause_core();
			} else {
				atomic_store(&team.asleep, 1);
				syscall(SYS_futex, &team.loop, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
			}
			number = atomic_load(&team.loop);
		}
		seen = number;
		work(number);
	}
	return NULL;
}

void pool_start(int workers)
{
	for (int i = 1; i < workers; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, helper, (void *)(intptr_t)i))
			abort();
		pthread_detach(thread);
	}
}

void pool_run(void *pool, void (*task)(void *argument, int index), void *argument, int count)
{
	(void)pool;
	if (count <= 0)
		return;
	uint32_t number = atomic_load_explicit(&team.loop, memory_order_relaxed) + 1;
	atomic_store_explicit(&team.task, task, memory_order_relaxed);
	atomic_store_explicit(&team.argument, argument, memory_order_relaxed);
	atomic_store_explicit(&team.finished, 0, memory_order_relaxed);
	atomic_store(&team.left, (uint64_t)number << 32 | (uint32_t)count);
	atomic_store(&team.loop, number);
	if (atomic_load(&team.asleep) && atomic_exchange(&team.asleep, 0))
		syscall(SYS_futex, &team.loop, FUTEX_WAKE_PRIVATE, 64, NULL, NULL, 0);
	work(number);
	while (atomic_load_explicit(&team.finished, memory_order_acquire) < count)
		pause_core();
}
