/* ways.c: network -> the generated library with each parallel-for that a program may have: the pool beside the
 * library, its workers where the system puts them; OpenMP's; the first that one writes by hand, a mutex and two
 * conditions, without and with its price. */
#include "engine.h"
#include "runtime/futex.h"

#include <pthread.h>
#include <time.h>

enum { SPINS = 2000, FORKS = 200, TASK_NS = 10000, PRICED = 0x10000 };

static bool open_with(struct engine *engine, const struct ingot_parallel *own)
{
	bool good = library_open(engine);
	engine->pooled = false;
	engine->parallel = own;
	return good;
}

bool pool_open(struct engine *engine)
{
	struct ingot_threads *threads;
	if (ingot_threads_open(&threads, engine->threads))
		return engine_fail("%s", ingot_message());
	return open_with(engine, ingot_threads_parallel(threads));
}

/* ---- OpenMP, where it is compiled so ---- */
static void openmp_run(void *pool, void (*task)(void *argument, int index), void *argument, int count)
{
	const int *threads = pool;
	(void)threads;
#pragma omp parallel for schedule(dynamic, 1) num_threads(*threads)
	for (int i = 0; i < count; i++)
		task(argument, i);
}

bool openmp_open(struct engine *engine)
{
	static struct ingot_parallel openmp;
#ifndef _OPENMP
	return engine_fail("compiled without OpenMP");
#endif
	openmp = (struct ingot_parallel){ openmp_run, &engine->threads, engine->threads };
	return open_with(engine, &openmp);
}

/* ---- by hand: a worker spins, then sleeps; one caller ---- */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t asked, done;
	void (*task)(void *argument, int index);
	void *argument;
	int next, count, left;
	_Atomic int asks; /* read without the mutex, too */
	struct ingot_parallel parallel;
} hand = { .mutex = PTHREAD_MUTEX_INITIALIZER, .asked = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

static void hand_take(void)
{
	while (hand.next < hand.count) {
		int index = hand.next++;
		pthread_mutex_unlock(&hand.mutex);
		hand.task(hand.argument, index);
		pthread_mutex_lock(&hand.mutex);
		if (!--hand.left)
			pthread_cond_broadcast(&hand.done);
	}
}

static void *hand_worker(void *unused)
{
	int seen = 0;
	for (;;) {
		for (int i = 0; i < SPINS && hand.asks == seen; i++)
			pause_briefly();
		pthread_mutex_lock(&hand.mutex);
		while (hand.asks == seen)
			pthread_cond_wait(&hand.asked, &hand.mutex);
		seen = hand.asks;
		hand_take();
		pthread_mutex_unlock(&hand.mutex);
	}
	return unused;
}

static void hand_run(void *pool, void (*task)(void *argument, int index), void *argument, int count)
{
	(void)pool;
	pthread_mutex_lock(&hand.mutex);
	hand.task = task;
	hand.argument = argument;
	hand.next = 0;
	hand.count = hand.left = count;
	hand.asks++;
	pthread_cond_broadcast(&hand.asked);
	hand_take();
	while (hand.left)
		pthread_cond_wait(&hand.done, &hand.mutex);
	pthread_mutex_unlock(&hand.mutex);
}

/* Both that are by hand have the same workers. */
static bool hand_start(int threads)
{
	pthread_t thread;
	for (int i = hand.parallel.workers ? threads : 1; i < threads; i++)
		if (pthread_create(&thread, NULL, hand_worker, NULL))
			return engine_fail("no thread");
	hand.parallel = (struct ingot_parallel){ hand_run, NULL, threads };
	return true;
}

bool mutex_open(struct engine *engine) { return hand_start(engine->threads) && open_with(engine, &hand.parallel); }

/* ---- what a fork and a join cost beyond the tasks ---- */
static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void task_of_a_while(void *argument, int index)
{
	double end = now_ns() + TASK_NS;
	(void)argument, (void)index;
	while (now_ns() < end)
		;
}

bool priced_open(struct engine *engine)
{
	static struct {
		struct ingot_parallel parallel;
		unsigned fork_ns;
	} priced; /* struct ingot_parallel_priced of the library's header */
	double best = 1e9;
	if (!hand_start(engine->threads))
		return false;
	for (int round = 0; round < 5; round++) {
		double begun = now_ns();
		for (int i = 0; i < FORKS; i++)
			hand_run(NULL, task_of_a_while, NULL, engine->threads);
		double mean = (now_ns() - begun) / FORKS - TASK_NS;
		best = mean < best ? mean : best;
	}
	priced.parallel = hand.parallel;
	priced.parallel.workers += PRICED;
	priced.fork_ns = best < 1 ? 1 : (unsigned)best;
	return open_with(engine, &priced.parallel);
}
