/* limits_main.c: prints the limits of this machine, parted by tabs, for bench/limits.
 *
 * usage: limits THREADS
 *
 *     rate NAME VALUE             10^9 floating operations (or cycles) per second, all threads together
 *     bytes LEVEL BYTES READ WRITE PAST COPY    10^9 bytes per second, all threads together; BYTES are those of one
 *                                 thread, a copy counts what it reads and what it writes
 *     join NANOSECONDS            an empty loop over the threads, begun and ended
 * Every figure is the best of several tries: a limit, not an average. */
#include "engine.h"
#include "limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIES = 25, THREADS_MOST = 64, READ, WRITE, PAST, COPY, WAYS };
static const double try_seconds = 4e-3;
static int threads;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct job {
	const struct fma_loop *loop; /* NULL: bytes */
	int way;
	char *from[THREADS_MOST], *to[THREADS_MOST];
	size_t bytes;
	long times;
};

static void work(void *argument, int index)
{
	const struct job *job = argument;
	if (job->loop) {
		job->loop->run(job->times);
		return;
	}
	for (long i = 0; i < job->times; i++) {
		switch (job->way) {
		case READ: stream_read(job->from[index], job->bytes); break;
		case WRITE: stream_write(job->to[index], job->bytes); break;
		case PAST: stream_write_past(job->to[index], job->bytes); break;
		default: stream_copy(job->to[index], job->from[index], job->bytes / 2); break;
		}
	}
}

static void call(struct job *job)
{
	if (threads > 1)
		parallel->run(parallel->pool, work, job, threads);
	else
		work(job, 0);
}

/* Seconds of one time, the least of all tries. */
static double best_seconds(struct job *job)
{
	double best = 1e9;
	job->times = 1;
	call(job);
	for (double t = 0; t < try_seconds; job->times *= 2) {
		t = now();
		call(job);
		t = now() - t;
	}
	for (int i = 0; i < TRIES; i++) {
		double t = now();
		call(job);
		t = (now() - t) / (double)job->times;
		if (t < best)
			best = t;
	}
	return best;
}

static void nothing(void *argument, int index) { (void)argument, (void)index; }

int main(int argc, char **argv)
{
	static const struct {
		const char *level;
		size_t bytes;
	} levels[] = {
		{ "L1", 24 << 10 },
		{ "L2", 512 << 10 },
		{ "L2", 768 << 10 },
		{ "L3", 4 << 20 },
		{ "L3", 12 << 20 },
		{ "L3", 24 << 20 },
		{ "memory", 64 << 20 },
		{ "memory", 512 << 20 },
	};
	threads = argc == 2 ? atoi(argv[1]) : 0;
	if (threads < 1 || threads > THREADS_MOST) {
		fprintf(stderr, "usage: limits THREADS\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	team_start(threads);
	team_pin();
	struct job job = { 0 };
	for (job.loop = fma_loops; job.loop->name; job.loop++)
		if (job.loop->present())
			printf("rate\t%s\t%.2f\n", job.loop->name,
			        job.loop->flops * threads / best_seconds(&job) * 1e-9);
	job.loop = NULL;
	size_t most = levels[sizeof levels / sizeof *levels - 1].bytes;
	for (int i = 0; i < threads; i++) {
		job.from[i] = stream_buffer(most);
		job.to[i] = stream_buffer(most);
		if (!job.from[i] || !job.to[i]) {
			fprintf(stderr, "limits: no memory for %zu bytes\n", most);
			return 5;
		}
	}
	for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
		job.bytes = levels[k].bytes;
		printf("bytes\t%s\t%zu", levels[k].level, job.bytes);
		for (job.way = READ; job.way < WAYS; job.way++)
			printf("\t%.1f", (double)job.bytes * threads / best_seconds(&job) * 1e-9);
		printf("\n");
	}
	if (threads > 1) {
		double best = 1e9;
		for (int i = 0; i < TRIES; i++) {
			double t = now();
			for (int k = 0; k < 1000; k++)
				parallel->run(parallel->pool, nothing, NULL, threads);
			t = (now() - t) / 1000;
			if (t < best)
				best = t;
		}
		printf("join\t%.0f\n", best * 1e9);
	}
	return 0;
}
