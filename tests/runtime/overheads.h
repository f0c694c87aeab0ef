/* overheads.h: what programs that measure the runtime share: a clock, an order of times, a call that has to succeed. */
#ifndef RUNTIME_OVERHEADS_H
#define RUNTIME_OVERHEADS_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MUST(call) \
	do { \
		if (call) { \
			fprintf(stderr, "%s: %s\n", #call, ingot_message()); \
			exit(1); \
		} \
	} while (0)

/* Nanoseconds. */
static inline double clock_now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* For qsort. */
static inline int compare_times(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

#endif
