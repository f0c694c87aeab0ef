/* team.c: a number of threads -> the runtime's parallel-for over the calling thread and helpers, each on a core. */
#include "engine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

const struct ingot_parallel *parallel;
static cpu_set_t home;

void team_start(int count)
{
	struct ingot_threads *threads;
	sched_getaffinity(0, sizeof home, &home);
	if (count < 2)
		return;
	if (ingot_threads_open(&threads, count) || ingot_threads_pin(threads)) {
		fprintf(stderr, "bench: %s\n", ingot_message());
		exit(5);
	}
	parallel = ingot_threads_parallel(threads);
}

void team_pin(void)
{
	cpu_set_t one;
	int core = 0;
	while (core < CPU_SETSIZE - 1 && !CPU_ISSET(core, &home))
		core++;
	CPU_ZERO(&one);
	CPU_SET(core, &one);
	sched_setaffinity(0, sizeof one, &one);
}
