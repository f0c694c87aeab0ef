/* main.c: bench/runtime: tasks on streams of multicore beside those of OpenMP, each once: a line of name and nanoseconds.
 *     tasks [PART]       only the rows with PART in their name
 * What is 600 tasks has some 54 ms of work, in lengths that are drawn, the same in each run. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ingot/runtime.h"
#include "../../tests/runtime/overheads.h"

enum { TASKS = 600, STREAMS = 32, EMPTY = 20000, TRIPS = 300, REACH = 64 };

static struct task {
	int loops, before[2]; /* in the graph: earlier ones, or -1 */
	volatile double result;
} tasks[TASKS];
static struct ingot_stream streams[STREAMS];

static int work(void *argument)
{
	struct task *task = argument;
	double x = 1;
	for (int i = 0; i < task->loops; i++)
		x = x * 1.0000001 + 1e-9;
	task->result = x;
	return 0;
}

static int nothing(void *argument)
{
	(void)argument;
	return 0;
}

static void draw(void)
{
	uint32_t state = 1;
	for (int i = 0; i < TASKS; i++) {
		uint32_t drawn[3];
		for (int k = 0; k < 3; k++)
			drawn[k] = (state = state * 1664525 + 1013904223) >> 8;
		tasks[i].loops = 27000 + (int)(drawn[0] % 54000);
		for (int k = 0; k < 2; k++)
			tasks[i].before[k] = i ? i - 1 - (int)(drawn[1 + k] % (uint32_t)(i < REACH ? i : REACH)) : -1;
	}
}

static void awaited(int count)
{
	for (int s = 0; s < count; s++)
		MUST(ingot_stream_await(streams[s]));
}

static void on_streams(int count)
{
	for (int i = 0; i < TASKS; i++)
		MUST(ingot_task_submit(
		        streams[i % count], &(struct ingot_task){ .run = work, .argument = tasks + i }, NULL));
	awaited(count);
}

static void graph_on_streams(int count)
{
	static struct ingot_event done[TASKS];
	for (int i = 0; i < TASKS; i++) {
		struct ingot_event waits[2];
		uint32_t wait_count = 0;
		for (int k = 0; k < 2 && i; k++)
			waits[wait_count++] = done[tasks[i].before[k]];
		MUST(ingot_task_submit(streams[i % count],
		        &(struct ingot_task){
		                .run = work, .argument = tasks + i, .waits = waits, .wait_count = wait_count },
		        done + i));
	}
	awaited(count);
	for (int i = 0; i < TASKS; i++)
		MUST(ingot_event_close(done[i]));
}

static void openmp(int unused)
{
	(void)unused;
#pragma omp parallel
#pragma omp single
	for (int i = 0; i < TASKS; i++) {
#pragma omp task firstprivate(i)
		work(tasks + i);
	}
}

static void openmp_graph(int unused)
{
	static char done[TASKS];
	(void)unused;
#pragma omp parallel
#pragma omp single
	for (int i = 0; i < TASKS; i++) {
		int a = i ? tasks[i].before[0] : 0, b = i ? tasks[i].before[1] : 0;
#pragma omp task firstprivate(i) depend(in : done[a], done[b]) depend(inout : done[i])
		work(tasks + i);
	}
}

static void empty(int count)
{
	for (int i = 0; i < EMPTY; i++)
		MUST(ingot_task_submit(streams[i % count], &(struct ingot_task){ .run = nothing }, NULL));
	awaited(count);
}

static void trips(int unused)
{
	(void)unused;
	for (int i = 0; i < TRIPS; i++) {
		struct ingot_event done;
		MUST(ingot_task_submit(streams[0], &(struct ingot_task){ .run = nothing }, &done));
		MUST(ingot_event_sync(done));
		MUST(ingot_event_close(done));
	}
}

static const struct measure {
	const char *name;
	void (*run)(int argument);
	int argument, parts;
} measures[] = {
	{ "empty tasks on a stream, in a row", empty, 1, EMPTY },
	{ "empty tasks on two streams, by turns", empty, 2, EMPTY },
	{ "empty task, waited for", trips, 0, TRIPS },
	{ "600 tasks on 2 streams", on_streams, 2, 1 },
	{ "600 tasks on 32 streams", on_streams, STREAMS, 1 },
	{ "600 tasks of OpenMP", openmp, 0, 1 },
	{ "600 tasks of a graph on 2 streams", graph_on_streams, 2, 1 },
	{ "600 tasks of a graph on 32 streams", graph_on_streams, STREAMS, 1 },
	{ "600 tasks of a graph, OpenMP's depend", openmp_graph, 0, 1 },
};

int main(int argc, char **argv)
{
	struct ingot_runtime *runtime;
	struct ingot_device device;
	MUST(ingot_runtime_open(&runtime, NULL));
	MUST(ingot_backend_init(runtime, "multicore", NULL));
	MUST(ingot_device_get(runtime, "multicore", 0, &device));
	for (int s = 0; s < STREAMS; s++)
		MUST(ingot_stream_open(device, streams + s));
	draw();
	for (size_t m = 0; m < sizeof measures / sizeof *measures; m++) {
		if (argc > 1 && !strstr(measures[m].name, argv[1]))
			continue;
		measures[m].run(measures[m].argument); /* its threads are awake now */
		double began = clock_now(CLOCK_MONOTONIC);
		measures[m].run(measures[m].argument);
		printf("%s\t%.0f\n", measures[m].name, (clock_now(CLOCK_MONOTONIC) - began) / measures[m].parts);
	}
	return ingot_runtime_close(runtime) ? 1 : 0;
}
