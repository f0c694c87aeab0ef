/* answers.c: bench/runtime: how long a call may keep its caller, or others, waiting: a line of name and nanoseconds for each.
 *     answers [PART]     only the rows with PART in their name
 * "beside" is what a second thread, which asks the runtime all the time, waits at the worst while the named work is done;
 * it needs a core of its own. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ingot/node.h"
#include "ingot/runtime.h"
#include "../../tests/runtime/overheads.h"

enum { VALUES = 10 * 1000 * 1000, HANDLES = 200 * 1000, ENTRIES = 500 * 1000, TRIES = 1000, DEADLINES = 20 };

static struct ingot_runtime *runtime;
static struct ingot_stream stream, other;
static struct ingot_event gate;
static struct ingot_event handles[HANDLES];
static float *values;
static char *text;

static int nothing(void *argument)
{
	(void)argument;
	return 0;
}

/* The stream stands until the gate is signalled. */
static void gate_close(void)
{
	MUST(ingot_event_open(runtime, &gate));
	MUST(ingot_stream_wait(stream, gate));
}

static void gate_open(void)
{
	MUST(ingot_event_signal(gate));
	MUST(ingot_event_close(gate));
	MUST(ingot_stream_await(stream));
}

/* The longest of many submits to a stream that is full and does not block. */
static double refused(void)
{
	double longest = 0;
	gate_close();
	MUST(ingot_stream_limit(stream, 8, false));
	while (ingot_task_submit(stream, &(struct ingot_task){ .run = nothing }, NULL) == INGOT_OK)
		;
	for (int i = 0; i < TRIES; i++) {
		double began = clock_now(CLOCK_MONOTONIC);
		MUST(ingot_task_submit(stream, &(struct ingot_task){ .run = nothing }, NULL) != INGOT_BUSY);
		double took = clock_now(CLOCK_MONOTONIC) - began;
		longest = took > longest ? took : longest;
	}
	MUST(ingot_stream_limit(stream, 0, true));
	gate_open();
	return longest;
}

/* How much later than its deadline of 2 ms a wait answers, the most of some. */
static double late(void)
{
	double longest = 0;
	struct ingot_event done;
	gate_close();
	MUST(ingot_task_submit(stream, &(struct ingot_task){ .run = nothing }, &done));
	for (int i = 0; i < DEADLINES; i++) {
		uint64_t deadline = ingot_clock() + 2000000;
		MUST(ingot_event_sync_until(done, deadline) != INGOT_TIMEOUT);
		double after = (double)(ingot_clock() - deadline);
		longest = after > longest ? after : longest;
	}
	gate_open();
	MUST(ingot_event_close(done));
	return longest;
}

static struct {
	atomic_bool runs, stops;
	double longest;
} asking;

static void *ask(void *unused)
{
	(void)unused;
	while (!atomic_load(&asking.stops)) {
		double began = clock_now(CLOCK_MONOTONIC);
		ingot_stream_queued(other);
		double took = clock_now(CLOCK_MONOTONIC) - began;
		asking.longest = took > asking.longest ? took : asking.longest;
		atomic_store(&asking.runs, true);
	}
	return NULL;
}

/* What a second thread's calls take at the longest while work() is done, and what it is to do behind it. */
static double beside(void (*work)(void))
{
	pthread_t thread;
	asking.longest = 0;
	atomic_store(&asking.stops, false);
	atomic_store(&asking.runs, false);
	MUST(pthread_create(&thread, NULL, ask, NULL));
	while (!atomic_load(&asking.runs))
		;
	work();
	atomic_store(&asking.stops, true);
	MUST(pthread_join(thread, NULL));
	return asking.longest;
}

static void reshape(void)
{
	struct ingot_node node;
	int64_t dims[2] = { 3202, 3127 }, margin[2] = { 1, 1 };
	struct ingot_node_options o = { .rank = 2, .dims = dims, .left = margin, .right = margin, .dtype = INGOT_F32 };
	MUST(ingot_node_reshape(runtime, &o, values, 3200 * 3125, &node));
	MUST(ingot_node_close(node));
}

static void host_array(void)
{
	struct ingot_node node;
	int64_t dims[2] = { 3202, 3127 }, margin[2] = { 1, 1 };
	struct ingot_node_options o = {
		.rank = 2, .dims = dims, .left = margin, .right = margin, .margin = 1, .dtype = INGOT_F32
	};
	MUST(ingot_node_new(runtime, &o, &node));
	MUST(ingot_node_host_create(node));
	MUST(ingot_node_close(node));
}

static void wait_among_handles(void)
{
	struct ingot_event done;
	MUST(ingot_task_submit(stream, &(struct ingot_task){ .run = nothing }, &done));
	MUST(ingot_event_sync(done));
	MUST(ingot_event_close(done));
}

static void trace(void) { ingot_trace_json(runtime, text, (size_t)ENTRIES * 200); }

static void trace_end(void) { ingot_trace_end(runtime); }

static void device_dump(void)
{
	struct ingot_device device;
	MUST(ingot_stream_device(stream, &device));
	ingot_device_json(device, text, (size_t)ENTRIES * 200);
	ingot_runtime_json(runtime, text, (size_t)ENTRIES * 200);
}

static double reshape_beside(void) { return beside(reshape); }

static double host_array_beside(void) { return beside(host_array); }

static double among_handles(void (*work)(void))
{
	for (int i = 0; i < HANDLES; i++)
		MUST(ingot_event_open(runtime, handles + i));
	double longest = beside(work);
	for (int i = 0; i < HANDLES; i++)
		MUST(ingot_event_close(handles[i]));
	return longest;
}

static double wait_beside(void) { return among_handles(wait_among_handles); }

static double dump_beside(void) { return among_handles(device_dump); }

static double trace_with(void (*work)(void))
{
	MUST(ingot_trace_begin(runtime, ENTRIES));
	for (int i = 0; i < ENTRIES; i++)
		MUST(ingot_task_submit(stream, &(struct ingot_task){ .run = nothing }, NULL));
	MUST(ingot_stream_await(stream));
	double longest = beside(work);
	ingot_trace_end(runtime);
	return longest;
}

static double trace_beside(void) { return trace_with(trace); }

static double trace_end_beside(void) { return trace_with(trace_end); }

static const struct measure {
	const char *name;
	double (*run)(void);
} measures[] = {
	{ "a full stream's submit is refused, the longest", refused },
	{ "a wait of 2 ms ends later by, the longest", late },
	{ "beside ingot_node_reshape of 10 M values", reshape_beside },
	{ "beside ingot_node_host_create of them", host_array_beside },
	{ "beside a wait among 200,000 events", wait_beside },
	{ "beside ingot_device_json with them", dump_beside },
	{ "beside ingot_trace_json of 500,000 entries", trace_beside },
	{ "beside ingot_trace_end of them", trace_end_beside },
};

int main(int argc, char **argv)
{
	struct ingot_device device;
	values = calloc(VALUES, sizeof *values);
	text = malloc((size_t)ENTRIES * 200);
	if (!values || !text)
		return 1;
	MUST(ingot_runtime_open(&runtime, NULL));
	MUST(ingot_backend_init(runtime, "sync", NULL)); /* whose streams run in the thread that waits */
	MUST(ingot_backend_init(runtime, "multicore", NULL));
	MUST(ingot_device_get(runtime, "multicore", 0, &device));
	MUST(ingot_stream_open(device, &stream));
	MUST(ingot_stream_open(device, &other));
	for (size_t m = 0; m < sizeof measures / sizeof *measures; m++) {
		if (argc > 1 && !strstr(measures[m].name, argv[1]))
			continue;
		printf("%s\t%.0f\n", measures[m].name, measures[m].run());
	}
	free(values);
	free(text);
	return ingot_runtime_close(runtime) ? 1 : 0;
}
