/* rows_limits.c: what a server asks: streams that refuse what they have no room for, waits with a deadline, runs that
 * are cancelled while they run. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include "rows.h"

static int add_one(void *argument)
{
	atomic_fetch_add((_Atomic int *)argument, 1);
	return 0;
}

static void add_hundred(void *argument) { atomic_fetch_add((_Atomic int *)argument, 100); }

static void rooms(struct trial *t)
{
	_Atomic int count = 0;
	struct gate gate = { 0 };
	struct ingot_library library;
	struct ingot_context linked;
	struct ingot_routine dense;
	struct ingot_node x;
	float values[SMALL_COUNT] = { 0 };
	struct ingot_task task = { .run = add_one, .argument = &count, .destroy = add_hundred };
	uint32_t accepted = 0;
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_library_node(library, "x", &x));
	OK(ingot_link(t->context, library, "dense", &dense));
	OK(ingot_routine_context(dense, &linked));
	OK(ingot_routine_set(dense, "n", 4));
	write_f32(linked, x, values, SMALL_COUNT);
	OK(ingot_stream_await(t->stream));
	OK(ingot_stream_limit(t->stream, 4, false));
	gate_hold(t, &gate, t->stream);
	enum ingot_status status = INGOT_OK;
	while (accepted < 50 && !(status = ingot_task_submit(t->stream, &task, NULL)))
		accepted++;
	if (t->threads) {
		CHECK(accepted == 3 && status == INGOT_BUSY); /* the gate is the fourth */
		SAYS("holds 4 commands");
		CHECK(ingot_stream_queued(t->stream) == 4 && atomic_load(&count) == 100); /* the refused one's end */
		FAILS(INGOT_BUSY, ingot_routine_run(dense, NULL));
	} else
		CHECK(t->in_place ? accepted == 50 && !status : accepted < 50 && status == INGOT_BUSY);
	gate_open(&gate);
	OK(ingot_stream_await(t->stream));
	OK(ingot_routine_run(dense, NULL));
	OK(ingot_stream_limit(t->stream, 0, true));
	for (int i = 0; i < 20; i++)
		OK(ingot_task_submit(t->stream, &task, NULL));
	OK(ingot_stream_await(t->stream));
	CHECK(atomic_load(&count) == (int)(accepted + 20) * 101 + (status ? 100 : 0));
}

static void deadlines(struct trial *t)
{
	enum { SHORT = 3000000 };
	struct ingot_event promise, recorded;
	struct gate gate = { 0 };
	uint64_t began = ingot_clock();
	OK(ingot_event_open(t->runtime, &promise));
	FAILS(INGOT_TIMEOUT, ingot_event_sync_until(promise, began)); /* the past: a look */
	FAILS(INGOT_TIMEOUT, ingot_event_sync_until(promise, began + SHORT));
	CHECK(ingot_clock() >= began + SHORT);
	gate_hold(t, &gate, t->stream);
	OK(ingot_event_record(t->stream, &recorded));
	if (t->threads) {
		FAILS(INGOT_TIMEOUT, ingot_event_sync_until(recorded, ingot_clock() + SHORT));
		SAYS("not done by then");
	}
	gate_open(&gate);
	OK(ingot_event_sync_until(recorded, UINT64_MAX));
	OK(ingot_event_signal(promise));
	OK(ingot_event_sync_until(promise, 0)); /* what is done needs no time */
	OK(ingot_event_close(promise));
	FAILS(INGOT_STALE, ingot_event_sync_until(promise, 0));
}

static _Atomic int spinning;
static int spin(const struct ingot_call *call)
{
	float *y = ingot_argument(call, 0);
	y[0] = 1;
	atomic_store(&spinning, 1);
	while (atomic_load(&spinning) && !ingot_call_cancelled(call))
		sched_yield();
	return ingot_call_cancelled(call) ? 7 : 0;
}

/* A run that ends early since it was cancelled is no failure of its stream, and its outputs are not written. */
static void cancelled_runs(struct trial *t)
{
	/* clang-format off */
	static const struct ingot_module_dim dims[] = { { 4, -1 } };
	static const struct ingot_module_node nodes[] = {
		{ .name = "y", .dtype = INGOT_F32, .rank = 1, .dims = dims, .bytes = 16, .view_of = -1,
		  .flags = INGOT_NODE_HOSTED },
	};
	static const uint32_t outputs[] = { 0 };
	static const struct ingot_module_argument arguments[] = { { INGOT_FROM_NODE, 0, 0 } };
	static const struct ingot_module_routine routines[] = {
		{ .name = "spin", .outputs = outputs, .output_count = 1, .arguments = arguments, .argument_count = 1,
		  .merge_input = -1, .run = spin },
	};
	static const struct ingot_module module = {
		.abi = INGOT_ABI, .name = "spinning", .nodes = nodes, .node_count = 1, .routines = routines,
		.routine_count = 1 };
	/* clang-format on */
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_context linked;
	struct ingot_node y;
	struct ingot_event done;
	float got[4];
	OK(ingot_library_load(t->runtime, &module, NULL, &library));
	OK(ingot_library_node(library, "y", &y));
	OK(ingot_link(t->context, library, "spin", &routine));
	OK(ingot_routine_context(routine, &linked));
	for (int by_stream = 0; by_stream < 2; by_stream++) {
		atomic_store(&spinning, 0);
		OK(ingot_routine_run(routine, &done));
		while (!atomic_load(&spinning))
			sched_yield();
		if (by_stream)
			OK(ingot_stream_cancel(t->stream));
		else
			FAILS(INGOT_BUSY, ingot_event_cancel(done));
		FAILS(INGOT_CANCELLED, ingot_event_sync(done));
		SAYS("spin");
		FAILS(INGOT_CANCELLED, ingot_read(linked, y, got, sizeof got, &done) ?: ingot_event_sync(done));
	}
	atomic_store(&spinning, 0);
	OK(ingot_routine_run(routine, &done)); /* the next one is not */
	while (!atomic_load(&spinning))
		sched_yield();
	atomic_store(&spinning, 0);
	OK(ingot_event_sync(done));
	read_f32(linked, y, got, 4);
	CHECK(got[0] == 1);
}

const struct row rows_limits[] = {
	{ "C3", "ingot_event_sync_until", "deadlines", deadlines, NULL, NULL },
	{ "C7", "ingot_stream_limit", "rooms", rooms, NULL, NULL },
	{ "C8", "ingot_call_cancelled", "cancelled_while_they_run", cancelled_runs, NULL, "multicore" },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
