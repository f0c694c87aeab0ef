/* measure.h: what sharing digits over a parallel-for costs and gives; the same bits in any case. */
#include "digits.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { FORKS = 1000, RUNS = 2000, TASK_NS = 10000 };

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void busy(void *argument, int index)
{
	double end = now_ns() + TASK_NS;
	(void)argument, (void)index;
	while (now_ns() < end)
		;
}

/* Of a fork and a join: what tasks that take TASK_NS at the same time take beyond that; the best of ten means, as the
 * machine may have other work. */
static double fork_price(const struct ingot_parallel *parallel)
{
	double best = 1e12;
	for (int round = 0; round < 10; round++) {
		double before = now_ns();
		for (int i = 0; i < FORKS / 10; i++)
			parallel->run(parallel->pool, busy, NULL, parallel->workers);
		double mean = (now_ns() - before) / (FORKS / 10) - TASK_NS;
		best = mean < best ? mean : best;
	}
	return best;
}

/* Nanoseconds of a run; NULL: this thread alone. */
static double run_price(const struct ingot_parallel *parallel, float *scores)
{
	static unsigned char workspace[DIGITS_WORKSPACE_BYTES] __attribute__((aligned(DIGITS_WORKSPACE_ALIGN)));
	static float pixels[DIGITS_IMAGE_ELEMENTS];
	struct digits_inputs in;
	struct digits_outputs out;
	struct digits_context context;
	memset(&context, 0, sizeof context);
	in.image = pixels;
	out.scores = scores;
	context.workspace = workspace;
	context.parallel = parallel;
	for (int i = 0; i < DIGITS_IMAGE_ELEMENTS; i++)
		pixels[i] = (float)(i % 17) / 16;
	double best = 1e12;
	for (int round = 0; round < 10; round++) {
		double before = now_ns();
		for (int i = 0; i < RUNS / 10; i++)
			if (digits_run(&in, &out, &context))
				return -1;
		double mean = (now_ns() - before) / (RUNS / 10);
		best = mean < best ? mean : best;
	}
	return best;
}

/* Prints it all; 0: the bits are the same. */
static int measure(const struct ingot_parallel *parallel)
{
	static float alone[DIGITS_SCORES_ELEMENTS], shared[DIGITS_SCORES_ELEMENTS], priced[DIGITS_SCORES_ELEMENTS];
	double fork = fork_price(parallel);
	struct ingot_parallel_priced with_price;
	with_price.parallel = *parallel;
	with_price.parallel.workers += INGOT_PARALLEL_PRICED;
	with_price.fork_ns = fork < 1 ? 1 : (unsigned)fork;
	printf("a fork and a join: %.0f ns\n", fork);
	printf("a run alone: %.0f ns\n", run_price(NULL, alone));
	printf("shared: %.0f ns\n", run_price(parallel, shared));
	printf("shared, the price said: %.0f ns\n", run_price(&with_price.parallel, priced));
	return memcmp(alone, shared, sizeof alone) || memcmp(alone, priced, sizeof alone);
}
