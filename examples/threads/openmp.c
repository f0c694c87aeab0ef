/* openmp.c: OpenMP's threads as the parallel-for. */
#include "measure.h"
#include <omp.h>

static void run(void *pool, void (*task)(void *argument, int index), void *argument, int count)
{
	(void)pool;
#pragma omp parallel for schedule(dynamic, 1)
	for (int i = 0; i < count; i++)
		task(argument, i);
}

int main(void)
{
	const struct ingot_parallel parallel = { run, NULL, omp_get_max_threads() };
	return measure(&parallel);
}
