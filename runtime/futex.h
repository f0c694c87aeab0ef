/* futex.h: sleeping until a number changes.  On Linux a futex; elsewhere a short sleep in a loop. */
#ifndef RUNTIME_FUTEX_H
#define RUNTIME_FUTEX_H

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include "common/alone.h"

#if !INGOT_THREADS /* nobody else could change the number */
static inline void futex_wait(_Atomic uint32_t *at, uint32_t seen) { (void)at, (void)seen; }
static inline void futex_wake(_Atomic uint32_t *at, int count) { (void)at, (void)count; }
#elif defined __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
static inline void futex_wait(_Atomic uint32_t *at, uint32_t seen)
{
	syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}
static inline void futex_wake(_Atomic uint32_t *at, int count)
{
	syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}
#else
#include <time.h>
static inline void futex_wait(_Atomic uint32_t *at, uint32_t seen)
{
	struct timespec moment = { 0, 50000 };
	if (atomic_load(at) == seen)
		nanosleep(&moment, NULL);
}
static inline void futex_wake(_Atomic uint32_t *at, int count) { (void)at, (void)count; }
#endif
#endif
