/* threads.h: the intra-op pool: a parallel-for for kernels.
 *
 *     struct ingot_threads *threads;
 *     ingot_threads_open(&threads, 4);
 *     context.parallel = ingot_threads_parallel(threads);        // of a generated library, or by hand:
 *     parallel->run(parallel->pool, task, argument, 64);
 *     ingot_threads_close(threads);
 *
 * The caller works too, so `workers` of 1 starts no thread.  Idle workers spin for a short while, then sleep on a
 * futex.  Callers at the same time, up to 16, share the workers out; a call from inside a task runs on its own thread. */
#ifndef INGOT_THREADS_H
#define INGOT_THREADS_H

#include "ingot/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ingot_threads;

/* workers 0: one for each core.  0, or as enum ingot_status says it: INGOT_MEMORY (1), INGOT_INVALID (2: no place for
 * the pool), INGOT_RANGE (4: more than 4096 workers, or fewer than 0). */
int ingot_threads_open(struct ingot_threads **, int workers);
void ingot_threads_close(struct ingot_threads *); /* not while it runs a job; NULL is fine */
/* The pool's own, which lives as long; NULL for NULL. */
const struct ingot_parallel *ingot_threads_parallel(struct ingot_threads *);
/* Puts each worker but the caller on a core of its own, leaving it the first of the cores that the calling thread may
 * use: else the system may wake a worker on its caller's core and leave it there.  For programs that have the machine
 * for themselves.  INGOT_RANGE: fewer cores than workers; INGOT_UNSUPPORTED (16): the system cannot do it. */
int ingot_threads_pin(struct ingot_threads *);
/* How long idle workers spin, in loops of a pause instruction; 0: they sleep at once. */
void ingot_threads_spin(struct ingot_threads *, uint32_t loops);

/* For debug builds: a parallel-for that asks yours and sees whether that calls each index once, and returns when all are
 * done.  Where not, `wrong` is told in a line, from the thread that found it, and the call is not made; NULL: the line
 * goes to standard error, and the program aborts.  It has no price, so that every kernel that can be shared is.  0,
 * INGOT_MEMORY, or INGOT_INVALID where yours is none. */
struct ingot_checked;
int ingot_checked_open(struct ingot_checked **, const struct ingot_parallel *yours,
        void (*wrong)(void *user, const char *what), void *user);
const struct ingot_parallel *ingot_checked_parallel(const struct ingot_checked *);
void ingot_checked_close(struct ingot_checked *); /* once yours runs nothing; NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
