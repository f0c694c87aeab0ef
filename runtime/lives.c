/* lives.c: which runtimes are open, so that a handle of one that is closed, or that was opened before a fork and has
 * its threads in the parent, answers INGOT_STALE and is not looked into.  Read by each call, without a lock. */
#include "common/alone.h"
#if INGOT_THREADS
#include <pthread.h>
#include <stdlib.h>
#include "inside.h"

#define PART 30

struct part {
	_Atomic(const struct ingot_runtime *) at[PART];
	_Atomic(struct part *) next; /* never freed: others may be reading it */
};

static struct part first;
static _Atomic uint32_t opened;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* In the child, whose only thread this is. */
static void forked(void)
{
	for (struct part *part = &first; part; part = atomic_load(&part->next))
		for (int i = 0; i < PART; i++)
			atomic_store(&part->at[i], NULL);
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, forked); }

bool runtime_lives(const struct ingot_runtime *runtime)
{
	for (struct part *part = &first; part && runtime; part = atomic_load(&part->next))
		for (int i = 0; i < PART; i++)
			if (atomic_load_explicit(&part->at[i], memory_order_acquire) == runtime)
				return true;
	say(INGOT_STALE, "the runtime is closed, or was opened before a fork");
	return false;
}

bool lives_add(struct ingot_runtime *runtime)
{
	pthread_once(&once, watch_forks);
	/* Of another runtime that lay there no handle has these. */
	runtime->first_generation = atomic_fetch_add(&opened, 1) << 16 | 1;
	for (struct part *part = &first, *more;; part = more) {
		for (int i = 0; i < PART; i++) {
			const struct ingot_runtime *none = NULL;
			if (atomic_compare_exchange_strong(&part->at[i], &none, runtime))
				return true;
		}
		if ((more = atomic_load(&part->next)))
			continue;
		struct part *made = calloc(1, sizeof *made), *there = NULL;
		if (!made)
			return false;
		more = made;
		if (!atomic_compare_exchange_strong(&part->next, &there, made)) {
			free(made);
			more = there;
		}
	}
}

void lives_remove(struct ingot_runtime *runtime)
{
	for (struct part *part = &first; part; part = atomic_load(&part->next))
		for (int i = 0; i < PART; i++) {
			const struct ingot_runtime *it = runtime;
			atomic_compare_exchange_strong(&part->at[i], &it, NULL);
		}
}
#endif
