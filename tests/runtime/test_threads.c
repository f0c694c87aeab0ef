/* test_threads.c: the intra-op pool takes each index once: in short loops, in long ones, from inside a task, from two
 * callers at once, who share the workers out, after its workers slept, and with workers on cores of their own. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "ingot/status.h"
#include "ingot/threads.h"

enum { MOST = 1000, LONG = (1 << 20) + 5000 };

static struct ingot_threads *threads;
static const struct ingot_parallel *parallel;

struct tally {
	_Atomic unsigned char taken[LONG];
	int count;
	const struct ingot_parallel *inner; /* each index runs a loop of its own, of 3 */
	_Atomic int inner_taken, outside;
};

static void take_inner(void *argument, int index)
{
	(void)index;
	atomic_fetch_add(&((struct tally *)argument)->inner_taken, 1);
}

static void take(void *argument, int index)
{
	struct tally *tally = argument;
	if (index < 0 || index >= tally->count)
		atomic_store(&tally->outside, 1);
	else
		atomic_fetch_add(&tally->taken[index], 1);
	if (tally->inner)
		tally->inner->run(tally->inner->pool, take_inner, tally, 3);
}

static void loop(struct tally *tally, int count, const struct ingot_parallel *inner)
{
	memset(tally, 0, sizeof *tally);
	tally->count = count;
	tally->inner = inner;
	parallel->run(parallel->pool, take, tally, count);
	assert_false(tally->outside);
	for (int i = 0; i < count; i++)
		if (tally->taken[i] != 1)
			fail_msg("index %d of %d was taken %d times", i, count, tally->taken[i]);
	assert_int_equal(tally->inner_taken, inner ? 3 * count : 0);
}

static struct tally *fresh(void)
{
	struct tally *tally = malloc(sizeof *tally);
	assert_non_null(tally);
	return tally;
}

static void each_index_once(void **state)
{
	struct tally *tally = fresh();
	(void)state;
	for (int count = 0; count <= MOST; count += count < 10 ? 1 : 99)
		loop(tally, count, NULL);
	for (int i = 0; i < 200; i++)
		loop(tally, 1 + i % 4, NULL);
	loop(tally, LONG, NULL); /* more than one word counts */
	loop(tally, 50, parallel);
	free(tally);
}

static void short_loops(void **state)
{
	_Atomic int sum = 0;
	struct tally *tally = fresh();
	(void)state;
	memset(tally, 0, sizeof *tally);
	for (int i = 0; i < 20000; i++)
		parallel->run(parallel->pool, take_inner, tally, 1 + i % 4);
	sum = tally->inner_taken;
	assert_int_equal(sum, 20000 / 4 * (1 + 2 + 3 + 4));
	free(tally);
}

static void after_sleep(void **state)
{
	struct tally *tally = fresh();
	(void)state;
	ingot_threads_spin(threads, 0);
	for (int i = 0; i < 20; i++) {
		usleep(2000);
		loop(tally, 3, NULL);
	}
	ingot_threads_spin(threads, 4000);
	free(tally);
}

static void *second_caller(void *argument)
{
	for (int i = 0; i < 500; i++)
		parallel->run(parallel->pool, take_inner, argument, 5);
	return NULL;
}

static void two_callers(void **state)
{
	pthread_t other;
	struct tally *mine = fresh(), *theirs = fresh();
	(void)state;
	memset(mine, 0, sizeof *mine);
	memset(theirs, 0, sizeof *theirs);
	assert_int_equal(pthread_create(&other, NULL, second_caller, theirs), 0);
	second_caller(mine);
	pthread_join(other, NULL);
	assert_int_equal(mine->inner_taken, 2500);
	assert_int_equal(theirs->inner_taken, 2500);
	free(mine);
	free(theirs);
}

struct shared {
	_Atomic int *here, *there; /* callers that are in their jobs; all other indices taken */
	_Atomic int helped, alone;
};

/* The first index, which is the caller's, waits until the other caller is in its job too, and for a worker. */
static void wait_for_worker(void *argument, int index)
{
	struct shared *shared = argument;
	time_t began = time(NULL);
	if (index) {
		atomic_fetch_add(&shared->helped, 1);
		return;
	}
	atomic_fetch_add(shared->here, 1);
	while ((!atomic_load(shared->there) || !atomic_load(&shared->helped)) && time(NULL) - began < 20)
		sched_yield();
	if (!atomic_load(&shared->helped))
		atomic_store(&shared->alone, 1);
}

static void *share(void *argument)
{
	parallel->run(parallel->pool, wait_for_worker, argument, 2);
	return NULL;
}

static void workers_are_shared_out(void **state)
{
	_Atomic int a = 0, b = 0;
	struct shared mine = { .here = &a, .there = &b }, theirs = { .here = &b, .there = &a };
	pthread_t other;
	(void)state;
	assert_int_equal(pthread_create(&other, NULL, share, &theirs), 0);
	share(&mine);
	pthread_join(other, NULL);
	assert_false(mine.alone || theirs.alone);
}

#if defined __linux__
struct places {
	pthread_t caller;
	_Atomic int met, wrong;
	cpu_set_t seen; /* of the worker */
	int workers;
};

/* All of them meet, so that each runs on a thread of its own. */
static void where(void *argument, int index)
{
	struct places *places = argument;
	cpu_set_t mine;
	(void)index;
	atomic_fetch_add(&places->met, 1);
	while (atomic_load(&places->met) < places->workers)
		sched_yield();
	if (pthread_equal(pthread_self(), places->caller))
		return;
	sched_getaffinity(0, sizeof mine, &mine);
	if (CPU_COUNT(&mine) != 1)
		atomic_store(&places->wrong, 1);
	places->seen = mine;
}

static void workers_on_cores(void **state)
{
	struct ingot_threads *two, *many;
	struct places places = { .caller = pthread_self(), .workers = 2 };
	cpu_set_t allowed;
	int first = 0;
	(void)state;
	sched_getaffinity(0, sizeof allowed, &allowed);
	assert_int_equal(ingot_threads_open(&many, CPU_COUNT(&allowed) + 1), INGOT_OK);
	assert_int_equal(ingot_threads_pin(many), INGOT_RANGE);
	ingot_threads_close(many);
	if (CPU_COUNT(&allowed) < 2)
		skip();
	assert_int_equal(ingot_threads_open(&two, 2), INGOT_OK);
	assert_int_equal(ingot_threads_pin(two), INGOT_OK);
	ingot_threads_parallel(two)->run(two, where, &places, 2);
	while (!CPU_ISSET(first, &allowed))
		first++;
	assert_false(places.wrong);
	assert_int_equal(CPU_COUNT(&places.seen), 1);
	assert_false(CPU_ISSET(first, &places.seen)); /* that is the caller's */
	ingot_threads_close(two);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_index_once),
		cmocka_unit_test(short_loops),
		cmocka_unit_test(after_sleep),
		cmocka_unit_test(two_callers),
		cmocka_unit_test(workers_are_shared_out),
#if defined __linux__
		cmocka_unit_test(workers_on_cores),
#endif
	};
	if (ingot_threads_open(&threads, 3))
		return 1;
	parallel = ingot_threads_parallel(threads);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	ingot_threads_close(threads);
	return failed;
}
