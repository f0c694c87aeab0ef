/* futex.h: sleeping until a number changes, or until a moment of the monotonic clock in nanoseconds, and waiting for a
 * moment.  On Linux a futex; elsewhere a short sleep in a loop.  And a lock made of that. */
#ifndef RUNTIME_FUTEX_H
#define RUNTIME_FUTEX_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/alone.h"

#define NO_DEADLINE UINT64_MAX

#if !INGOT_THREADS /* nobody else could change the number */
static inline void futex_wait_until(_Atomic uint32_t *at, uint32_t seen, uint64_t until)
{
	(void)at, (void)seen, (void)until;
}
static inline void futex_wake(_Atomic uint32_t *at, int count) { (void)at, (void)count; }
#elif defined __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static inline void futex_wait_until(_Atomic uint32_t *at, uint32_t seen, uint64_t until)
{
	const struct timespec end = { (time_t)(until / 1000000000), (long)(until % 1000000000) };
	syscall(SYS_futex, at, FUTEX_WAIT_BITSET_PRIVATE, seen, until == NO_DEADLINE ? NULL : &end, NULL,
	        FUTEX_BITSET_MATCH_ANY);
}
static inline void futex_wake(_Atomic uint32_t *at, int count)
{
	syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}
#else
#include <time.h>
static inline void futex_wait_until(_Atomic uint32_t *at, uint32_t seen, uint64_t until)
{
	struct timespec moment = { 0, 50000 };
	(void)until; /* who waits looks at the clock */
	if (atomic_load(at) == seen)
		nanosleep(&moment, NULL);
}
static inline void futex_wake(_Atomic uint32_t *at, int count) { (void)at, (void)count; }
#endif
static inline void futex_wait(_Atomic uint32_t *at, uint32_t seen) { futex_wait_until(at, seen, NO_DEADLINE); }

static inline void pause_briefly(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ volatile("yield");
#else
	atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Free, taken, or taken with others asleep for it. */
enum lock_state { LOCK_FREE, LOCK_TAKEN, LOCK_WANTED };
#define LOCK_MOST_PAUSES 256 /* before sleeping; longer each time, so that whoever has the lock can work in peace */

static inline void lock_wait(_Atomic uint32_t *lock)
{
	for (int pauses = 1; pauses <= LOCK_MOST_PAUSES; pauses *= 2) {
		for (int i = 0; i < pauses; i++)
			pause_briefly();
		uint32_t seen = atomic_load_explicit(lock, memory_order_relaxed);
		if (seen == LOCK_FREE
		        && atomic_compare_exchange_weak_explicit(
		                lock, &seen, LOCK_TAKEN, memory_order_acquire, memory_order_relaxed))
			return;
	}
	while (atomic_exchange_explicit(lock, LOCK_WANTED, memory_order_acquire) != LOCK_FREE)
		futex_wait(lock, LOCK_WANTED);
}

static inline void lock_take(_Atomic uint32_t *lock)
{
	uint32_t seen = LOCK_FREE;
	if (!atomic_compare_exchange_strong_explicit(
	            lock, &seen, LOCK_TAKEN, memory_order_acquire, memory_order_relaxed))
		lock_wait(lock);
}

/* False: nobody had it. */
static inline bool lock_give(_Atomic uint32_t *lock)
{
	uint32_t seen = atomic_exchange_explicit(lock, LOCK_FREE, memory_order_release);
	if (seen == LOCK_WANTED)
		futex_wake(lock, 1);
	return !INGOT_THREADS || seen != LOCK_FREE;
}
#endif
