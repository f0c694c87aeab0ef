/* lock.h: a lock that is one word. */
#ifndef RUNTIME_LOCK_H
#define RUNTIME_LOCK_H

#include <stdbool.h>
#include "futex.h"

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
