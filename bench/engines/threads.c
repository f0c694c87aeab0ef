/* threads.c: one network by turns on one thread and on each parallel-for that a program may have, in one process:
 * the pool beside the library, OpenMP's, and the first that one writes by hand, a mutex and two conditions, without and
 * with its price.  threads.h is made for the network: run(parallel), 0 if right, and the bytes of all outputs.
 *
 *     threads ROUNDS BUSY          BUSY 1: a core has other work all the while
 *
 * Prints a line for each: name, the least microseconds, whether its bits are those of one thread. */
#define _GNU_SOURCE
#include "threads.h"
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 2, SPINS = 2000, FORKS = 200, TASK_NS = 10000 };

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- OpenMP ---- */
static void openmp_run(void *pool, void (*task)(void *argument, int index), void *argument, int count)
{
	(void)pool;
#pragma omp parallel for schedule(dynamic, 1) num_threads(WORKERS)
	for (int i = 0; i < count; i++)
		task(argument, i);
}

/* ---- by hand: a worker spins, then sleeps; one caller ---- */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t asked, done;
	void (*task)(void *argument, int index);
	void *argument;
	int next, count, left;
	int asks; /* read without the mutex, atomically */
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
		for (int i = 0; i < SPINS && __atomic_load_n(&hand.asks, __ATOMIC_ACQUIRE) == seen; i++)
			__builtin_ia32_pause();
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
	__atomic_store_n(&hand.asks, hand.asks + 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&hand.asked);
	hand_take();
	while (hand.left)
		pthread_cond_wait(&hand.done, &hand.mutex);
	pthread_mutex_unlock(&hand.mutex);
}

/* ---- what a fork and a join cost beyond the tasks ---- */
static void task_of_a_while(void *argument, int index)
{
	double end = now_ns() + TASK_NS;
	(void)argument, (void)index;
	while (now_ns() < end)
		;
}

static struct ingot_parallel_priced priced(const struct ingot_parallel *parallel)
{
	struct ingot_parallel_priced with = { .parallel = *parallel };
	double best = 1e9;
	for (int round = 0; round < 5; round++) {
		double begun = now_ns();
		for (int i = 0; i < FORKS; i++)
			parallel->run(parallel->pool, task_of_a_while, NULL, parallel->workers);
		double mean = (now_ns() - begun) / FORKS - TASK_NS;
		best = mean < best ? mean : best;
	}
	with.parallel.workers += INGOT_PARALLEL_PRICED;
	with.fork_ns = best < 1 ? 1 : (unsigned)best;
	return with;
}

/* ---- a core that is taken ---- */
static void *spinner(void *unused)
{
	for (volatile unsigned i = 0;; i++)
		;
	return unused;
}

static void take_a_core(void)
{
	pthread_t thread;
	cpu_set_t last;
	CPU_ZERO(&last);
	CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &last);
	if (pthread_create(&thread, NULL, spinner, NULL) || pthread_setaffinity_np(thread, sizeof last, &last))
		exit(5);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 21, busy = argc > 2 && atoi(argv[2]);
	struct ingot_threads *threads;
	pthread_t thread;
	if (ingot_threads_open(&threads, WORKERS) || pthread_create(&thread, NULL, hand_worker, NULL))
		return 5;
	const struct ingot_parallel openmp = { openmp_run, NULL, WORKERS }, by_hand = { hand_run, NULL, WORKERS };
	const struct ingot_parallel_priced with = priced(&by_hand);
	const struct {
		const char *name;
		const struct ingot_parallel *parallel;
	} ways[] = { { "alone", NULL }, { "pool", ingot_threads_parallel(threads) }, { "openmp", &openmp },
		{ "mutex", &by_hand }, { "mutex, priced", &with.parallel } };
	enum { WAYS = sizeof ways / sizeof *ways };
	double least[WAYS];
	int right[WAYS];
	static unsigned char alone[OUTPUT_BYTES + 1];
	for (int w = 0; w < WAYS; w++) {
		if (run(ways[w].parallel)) /* warm */
			return 1;
		if (!w)
			memcpy(alone, output_bytes, OUTPUT_BYTES);
		right[w] = !memcmp(alone, output_bytes, OUTPUT_BYTES);
		least[w] = 1e18;
	}
	if (busy)
		take_a_core();
	for (int r = 0; r < rounds; r++)
		for (int w = 0; w < WAYS; w++) {
			int calls = 0;
			double begun = now_ns(), now;
			do
				if (run(ways[w].parallel))
					return 1;
			while (calls++, (now = now_ns()) < begun + 2e6); /* a turn: 2 ms, or a call */
			double mean = (now - begun) / calls;
			least[w] = mean < least[w] ? mean : least[w];
		}
	for (int w = 0; w < WAYS; w++)
		printf("%s\t%.3f\t%d\n", ways[w].name, least[w] * 1e-3, right[w]);
	printf("fork_ns\t%u\t1\n", with.fork_ns);
	fflush(stdout);
	_exit(0); /* threads are not joined */
}
