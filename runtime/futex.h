/* futex.h: sleeping until a number changes, or until a moment of the monotonic clock in nanoseconds, and waiting for a
 * moment.  On Linux a futex; elsewhere a short sleep in a loop. */
#ifndef RUNTIME_FUTEX_H
#define RUNTIME_FUTEX_H

#include <limits.h>
#include <stdatomic.h>
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
#endif
