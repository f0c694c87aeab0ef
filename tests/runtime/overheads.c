/* overheads.c: what the runtime costs beside its peers, in one run; figures, not a test, as they depend on time.
 *     runtime-overheads [ROUNDS]   bests and medians over rounds, in nanoseconds
 * Peers: the work queue of libuv; parallel regions, sections and dependent tasks of OpenMP.  A round measures each row
 * once, so that what else runs on the machine meets all of them alike. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <time.h>
#include <omp.h>
#include <uv.h>
#include "ingot/context.h"
#include "ingot/threads.h"
#include "overheads.h"

#define MOST_ROUNDS 1001

static struct ingot_stream stream, other, in_place;
static struct ingot_routine routine, routine_in_place;
static const struct ingot_parallel *parallel;
static void nothing_indexed(void *argument, int index) { (void)argument, (void)index; }

static int empty(void *argument)
{
	(void)argument;
	return 0;
}
static int empty_routine(const struct ingot_call *call)
{
	(void)call;
	return 0;
}
static const struct ingot_module_routine routines[] = { { .name = "empty", .merge_input = -1, .run = empty_routine } };
static const struct ingot_module module = {
	.abi = INGOT_ABI, .name = "empty", .routines = routines, .routine_count = 1
};

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

static void routine_throughput(int repeat)
{
	while (repeat--)
		MUST(ingot_routine_run(routine, NULL));
	MUST(ingot_stream_await(stream));
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

/* Both threads must have come: a caller that finds its helper late cannot do the work alone. */
static _Atomic uint32_t met;
static void meet(void *argument, int index)
{
	uint32_t mine = atomic_fetch_add(&met, 1) / 2 * 2 + 2;
	(void)argument, (void)index;
	while ((int32_t)(atomic_load(&met) - mine) < 0)
		;
}

static void fork_meet_join(int repeat)
{
	while (repeat--)
		parallel->run(parallel->pool, meet, NULL, 2);
}

static void openmp_meet(int repeat)
{
	while (repeat--) {
#pragma omp parallel num_threads(2)
		meet(NULL, omp_get_thread_num());
	}
}

static void openmp_region(int repeat)
{
	while (repeat--) {
#pragma omp parallel num_threads(2)
		nothing_indexed(NULL, omp_get_thread_num());
	}
}

/* What an event between two streams is: one task, and another that waits for it. */
static int made;
static void openmp_depend(int repeat)
{
#pragma omp parallel num_threads(2)
#pragma omp single
	for (int i = 0; i < repeat; i++) {
#pragma omp task depend(out : made)
		nothing_indexed(NULL, 0);
#pragma omp task depend(in : made)
		nothing_indexed(NULL, 1);
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
			MUST(ingot_task_submit(
			        stream, &(struct ingot_task){ .run = busy, .argument = (void *)k }, NULL));
	MUST(ingot_stream_await(stream));
}
static void on_two(int repeat)
{
	while (repeat--)
		for (size_t k = 0; k < 2; k++)
			MUST(ingot_task_submit(
			        k ? other : stream, &(struct ingot_task){ .run = busy, .argument = (void *)k }, NULL));
	MUST(ingot_stream_await(stream));
	MUST(ingot_stream_await(other));
}

static void openmp_two(int repeat)
{
#pragma omp parallel num_threads(2)
#pragma omp for schedule(static)
	for (size_t k = 0; k < 2; k++)
		for (int i = 0; i < repeat; i++)
			busy((void *)k);
}

/* libuv's pool has one size in a process, so that of two workers is a child's: a byte asks for a measure. */
static int ask[2], answer[2];
static void uv_busy(uv_work_t *request) { busy(request->data); }
static void uv_busy_after(uv_work_t *request, int status) { (void)request, (void)status; }
static void uv_child(void)
{
	uv_work_t work[64];
	char repeat;
	setenv("UV_THREADPOOL_SIZE", "2", 1);
	uv_loop_init(&loop);
	while (read(ask[0], &repeat, 1) == 1) {
		double begin = clock_now(CLOCK_MONOTONIC);
		for (int i = 0; i < 2 * repeat; i++) {
			work[i].data = (void *)(size_t)(i % 2);
			uv_queue_work(&loop, work + i, uv_busy, uv_busy_after);
		}
		uv_run(&loop, UV_RUN_DEFAULT);
		double took = clock_now(CLOCK_MONOTONIC) - begin;
		if (write(answer[1], &took, sizeof took) != sizeof took)
			break;
	}
	_exit(0);
}
static double uv_two(int repeat)
{
	char byte = (char)repeat;
	double took = 0;
	if (write(ask[1], &byte, 1) != 1 || read(answer[0], &took, sizeof took) != sizeof took)
		exit(1);
	return took;
}

/* ---- the table: a peer stands below what it is a peer of ---- */
struct measure {
	const char *name;
	void (*run)(int repeat);
	int repeat;
	double (*elsewhere)(int repeat); /* measured by itself */
};
static const struct measure measures[] = {
	{ "empty routine on sync: run", routine_sync, 2000, NULL },
	{ "empty routines on multicore, in a row, then await", routine_throughput, 3000, NULL },
	{ "empty tasks on multicore, in a row, then await", throughput, 3000, NULL },
	{ "  peer: libuv work queue, one worker, 256 in flight", uv_throughput, 3000, NULL },
	{ "empty routine on multicore: run, wait for its event", routine_round_trip, 300, NULL },
	{ "empty task on multicore: submit, wait for its event", round_trip, 300, NULL },
	{ "  peer: libuv work queue, one worker, one at a time", uv_round_trip, 300, NULL },
	{ "event between two streams: a task and its waiter", event_between_streams, 1000, NULL },
	{ "  peer: OpenMP, two tasks with depend", openmp_depend, 1000, NULL },
	{ "fork and join, 2 threads", fork_join, 5000, NULL },
	{ "  peer: OpenMP parallel region, 2 threads", openmp_region, 5000, NULL },
	{ "fork, both meet, join, 2 threads", fork_meet_join, 100, NULL },
	{ "  peer: OpenMP parallel region, both meet", openmp_meet, 100, NULL },
	{ "two busy tasks on one stream", on_one, 4, NULL },
	{ "two busy tasks on two streams", on_two, 4, NULL },
	{ "  peer: OpenMP parallel for, 2 threads", openmp_two, 4, NULL },
	{ "  peer: libuv work queue, two workers", NULL, 4, uv_two },
};
#define MEASURES ((int)(sizeof measures / sizeof *measures))
static double times[MEASURES][MOST_ROUNDS];

static double measure_once(const struct measure *measure)
{
	usleep(3000); /* threads of the row before may spin for a while */
	if (measure->elsewhere)
		return measure->elsewhere(measure->repeat) / measure->repeat;
	measure->run(measure->repeat / 8 + 1); /* and its own are awake now */
	double begin = clock_now(CLOCK_MONOTONIC);
	measure->run(measure->repeat);
	return (clock_now(CLOCK_MONOTONIC) - begin) / measure->repeat;
}

/* A runtime that is closed with so many events left open; milliseconds. */
static double closing(int events)
{
	struct ingot_runtime *runtime;
	struct ingot_device device;
	struct ingot_stream own;
	struct ingot_event left_open;
	MUST(ingot_runtime_open(&runtime, NULL));
	MUST(ingot_backend_init(runtime, "multicore", NULL));
	MUST(ingot_device_get(runtime, "multicore", 0, &device));
	MUST(ingot_stream_default(device, &own));
	for (int i = 0; i < events; i++)
		MUST(ingot_event_record(own, &left_open));
	MUST(ingot_stream_await(own));
	double begin = clock_now(CLOCK_MONOTONIC);
	ingot_runtime_close(runtime);
	return (clock_now(CLOCK_MONOTONIC) - begin) / 1e6;
}

int main(int argc, char **argv)
{
	struct ingot_runtime *runtime;
	struct ingot_device device, sync;
	struct ingot_context context;
	struct ingot_library library;
	int rounds = argc > 1 ? atoi(argv[1]) : 41;
	rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
	if (pipe(ask) || pipe(answer))
		return 1;
	pid_t child = fork();
	if (!child) {
		close(ask[1]);
		uv_child();
	}
	setenv("UV_THREADPOOL_SIZE", "1", 1); /* one worker, as a stream has */
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
	for (int round = -1; round < rounds; round++) /* the first warms up */
		for (int m = 0; m < MEASURES; m++)
			times[m][round < 0 ? 0 : round] = measure_once(measures + m);
	printf("nanoseconds each; %d interleaved rounds\n", rounds);
	for (int m = 0; m < MEASURES; m++) {
		qsort(times[m], (size_t)rounds, sizeof **times, compare_times);
		printf("%-52s best %9.0f   median %9.0f\n", measures[m].name, times[m][0], times[m][rounds / 2]);
	}
	close(ask[1]);
	waitpid(child, NULL, 0);
	ingot_runtime_close(runtime);
	for (int events = 125000; events <= 1000000; events *= 2)
		printf("closing with %7d events left open %31.0f ms\n", events, closing(events));
	return 0;
}
