/* overheads.c: what the runtime costs beside its peers, in one run; figures, not a test, as they depend on time.
 *     runtime-overheads            medians and bests over rounds, in nanoseconds
 * Peers: the work queue of libuv, a parallel region of OpenMP. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <omp.h>
#include <uv.h>
#include "ingot/context.h"
#include "ingot/threads.h"

#define ROUNDS 41

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* `repeat` times in each round. */
static void measure(const char *name, void (*run)(int repeat), int repeat)
{
	double times[ROUNDS];
	run(repeat);
	for (int i = 0; i < ROUNDS; i++) {
		double begin = now();
		run(repeat);
		times[i] = (now() - begin) / repeat;
	}
	qsort(times, ROUNDS, sizeof *times, compare);
	printf("%-58s best %9.1f   median %9.1f\n", name, times[0], times[ROUNDS / 2]);
}

static struct ingot_stream stream, other, in_place;
static struct ingot_routine routine, routine_in_place;
static const struct ingot_parallel *parallel;
static void nothing_indexed(void *argument, int index) { (void)argument, (void)index; }

static int empty(void *argument) { (void)argument; return 0; }
static int empty_routine(const struct ingot_call *call) { (void)call; return 0; }
static const struct ingot_module_routine routines[] = { { .name = "empty", .merge_input = -1, .run = empty_routine } };
static const struct ingot_module module = {.abi = INGOT_ABI, .name = "empty", .routines = routines, .routine_count = 1};

#define MUST(call) do { if (call) { fprintf(stderr, "%s: %s\n", #call, ingot_message()); exit(1); } } while (0)

static void round_trip(int repeat)
{
	while (repeat--) {
		struct ingot_event done;
		MUST(ingot_task_submit(stream, &(struct ingot_task){ .run = empty }, &done));
		MUST(ingot_event_sync(done));
		MUST(ingot_event_close(done));
	}
}

static void routine_round_trip(int repeat)
{
	while (repeat--) {
		struct ingot_event done;
		MUST(ingot_routine_run(routine, &done));
		MUST(ingot_event_sync(done));
		MUST(ingot_event_close(done));
	}
}

static void routine_sync(int repeat)
{
	while (repeat--)
		MUST(ingot_routine_run(routine_in_place, NULL));
}

static void throughput(int repeat)
{
	while (repeat--)
		MUST(ingot_task_submit(stream, &(struct ingot_task){ .run = empty }, NULL));
	MUST(ingot_stream_await(stream));
}

static void event_between_streams(int repeat)
{
	while (repeat--) {
		struct ingot_event made;
		MUST(ingot_task_submit(stream, &(struct ingot_task){ .run = empty }, &made));
		MUST(ingot_stream_wait(other, made));
		MUST(ingot_event_close(made));
	}
	MUST(ingot_stream_await(other));
}

static void fork_join(int repeat)
{
	while (repeat--)
		parallel->run(parallel->pool, nothing_indexed, NULL, parallel->workers);
}

static void openmp(int repeat)
{
	while (repeat--) {
#pragma omp parallel num_threads(2)
		nothing_indexed(NULL, omp_get_thread_num());
	}
}

/* ---- libuv ---- */
static uv_loop_t loop;
static int left, in_flight;
static uv_work_t requests[256];
static void uv_nothing(uv_work_t *request) { (void)request; }
static void uv_after(uv_work_t *request, int status)
{
	(void)status;
	in_flight--;
	if (left > 0) {
		left--;
		in_flight++;
		uv_queue_work(&loop, request, uv_nothing, uv_after);
	}
}
static void uv_run_with(int repeat, int window)
{
	left = repeat;
	for (int i = 0; i < window && left > 0; i++, left--, in_flight++)
		uv_queue_work(&loop, requests + i, uv_nothing, uv_after);
	uv_run(&loop, UV_RUN_DEFAULT);
}
static void uv_round_trip(int repeat) { uv_run_with(repeat, 1); }
static void uv_throughput(int repeat) { uv_run_with(repeat, 256); }

/* ---- two streams ---- */
static volatile double sink[2][8];
static int busy(void *argument)
{
	double x = 1;
	for (int i = 0; i < 400000; i++)
		x = x * 1.0000001 + 1e-9;
	sink[(size_t)argument][0] = x;
	return 0;
}
static void on_one(int repeat)
{
	while (repeat--)
		for (size_t k = 0; k < 2; k++)
			MUST(ingot_task_submit(stream, &(struct ingot_task){.run = busy, .argument = (void *)k}, NULL));
	MUST(ingot_stream_await(stream));
}
static void on_two(int repeat)
{
	while (repeat--)
		for (size_t k = 0; k < 2; k++)
			MUST(ingot_task_submit(k ? other : stream,
			                       &(struct ingot_task){.run = busy, .argument = (void *)k}, NULL));
	MUST(ingot_stream_await(stream));
	MUST(ingot_stream_await(other));
}

int main(void)
{
	struct ingot_runtime *runtime;
	struct ingot_device device, sync;
	struct ingot_context context;
	struct ingot_library library;
	setenv("UV_THREADPOOL_SIZE", "1", 1);                 /* one worker, as a stream has */
	MUST(ingot_runtime_open(&runtime, NULL));
	MUST(ingot_backend_init(runtime, "multicore", &(struct ingot_backend_options){ .intra_op_threads = 2 }));
	MUST(ingot_backend_init(runtime, "sync", NULL));
	MUST(ingot_device_get(runtime, "multicore", 0, &device));
	MUST(ingot_device_get(runtime, "sync", 0, &sync));
	MUST(ingot_stream_open(device, &stream));
	MUST(ingot_stream_open(device, &other));
	MUST(ingot_stream_default(sync, &in_place));
	MUST(ingot_library_load(runtime, &module, NULL, &library));
	MUST(ingot_context_new(stream, &context));
	MUST(ingot_link(context, library, "empty", &routine));
	MUST(ingot_context_new(in_place, &context));
	MUST(ingot_link(context, library, "empty", &routine_in_place));
	parallel = ingot_device_parallel(device);
	uv_loop_init(&loop);
	printf("nanoseconds each; %d rounds\n", ROUNDS);
	measure("empty routine, sync device: run", routine_sync, 2000);
	measure("empty routine, multicore: run, event, sync", routine_round_trip, 500);
	measure("empty task, multicore: submit, event, sync", round_trip, 500);
	measure("  peer: libuv work queue, one worker, one at a time", uv_round_trip, 500);
	measure("empty task, multicore: submitted in a row, then await", throughput, 3000);
	measure("  peer: libuv work queue, one worker, 256 in flight", uv_throughput, 3000);
	measure("event between two streams: submit, wait", event_between_streams, 1000);
	measure("fork and join, 2 threads", fork_join, 5000);
	measure("  peer: OpenMP parallel region, 2 threads", openmp, 5000);
	measure("two busy tasks on one stream", on_one, 4);
	measure("two busy tasks on two streams", on_two, 4);
	ingot_runtime_close(runtime);
	return 0;
}
