/* rows_transfer.c: rows D: transfers and merge buffers. */
#include <sys/mman.h>
#include <unistd.h>
#include "mock.h"
#include "gpu.h"
#include "rows.h"

static void place(struct ingot_context context, struct ingot_node node) { OK(ingot_context_place(context, &node, 1)); }

static struct ingot_context elsewhere(struct trial *t, struct ingot_device *device)
{
	struct ingot_stream stream;
	struct ingot_context context;
	OK(ingot_device_another(t->runtime, t->device_name, 0, device));
	OK(ingot_stream_default(*device, &stream));
	OK(ingot_context_new(stream, &context));
	return context;
}

static void d1(struct trial *t)
{
	struct ingot_node a = node_f32(t, "a", 4), absent = node_f32(t, "absent", 4);
	double in[4] = { 1, 2, 3, 4 };
	float got[4];
	bool present = false;
	struct ingot_event event;
	place(t->context, a);
	OK(ingot_node_set_all(a, in, 4));
	OK(ingot_node_set_all(absent, in, 4));
	OK(ingot_from_host(t->context, a, &present, &event));
	CHECK(present);
	OK(ingot_event_sync(event));
	in[0] = 9; /* after the event the source may change */
	OK(ingot_node_set_all(a, in, 4));
	read_f32(t->context, a, got, 4);
	CHECK(got[0] == 1 && got[3] == 4);
	OK(ingot_from_host(t->context, absent, &present, NULL));
	CHECK(!present);
	FAILS(INGOT_MISSING, ingot_write(t->context, absent, got, 16, NULL));
	FAILS(INGOT_MISMATCH, ingot_write(t->context, a, got, 12, NULL));
}

static int slow_fill(const struct ingot_call *call)
{
	float *y = ingot_argument(call, 0);
	if (gpu_has(call))
		return gpu_launch(call, "row_slow", SMALL_COUNT, (const uint32_t[]){ 0 }, 1);
	for (int round = 0; round < 2000; round++)
		for (int i = 0; i < SMALL_COUNT; i++)
			y[i] = (float)round;
	return 0;
}

static void d2(struct trial *t)
{
	static const struct ingot_module_dim dims[] = { { SMALL_COUNT, -1 } };
	/* clang-format off */
	static const struct ingot_module_node nodes[] = {
		{ .name = "y", .dtype = INGOT_F32, .rank = 1, .dims = dims, .bytes = 64, .view_of = -1,
		  .flags = INGOT_NODE_HOSTED },
	};
	static const uint32_t out[] = { 0 };
	static const struct ingot_module_argument arguments[] = { { INGOT_FROM_NODE, 0, 0 } };
	static const struct ingot_module_routine routines[] = {
		{ .name = "slow", .outputs = out, .output_count = 1, .arguments = arguments, .argument_count = 1,
		  .merge_input = -1, .run = slow_fill },
	};
	static const struct ingot_module module = {
		.abi = INGOT_ABI, .name = "slow", .nodes = nodes, .node_count = 1, .routines = routines,
		.routine_count = 1, .images = row_images, .image_count = ROW_IMAGES };
	/* clang-format on */
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_context linked;
	struct ingot_node y;
	double got[SMALL_COUNT];
	bool present = true;
	OK(ingot_library_load(t->runtime, &module, NULL, &library));
	OK(ingot_link(t->context, library, "slow", &routine));
	OK(ingot_routine_context(routine, &linked));
	OK(ingot_library_node(library, "y", &y));
	OK(ingot_node_host_create(y));
	OK(ingot_to_host(t->context, y, &present, NULL)); /* the base context has it not */
	CHECK(!present);
	OK(ingot_routine_run(routine, NULL));
	OK(ingot_to_host(linked, y, &present, NULL)); /* no await */
	CHECK(present);
	OK(ingot_node_get_all(y, got, SMALL_COUNT));
	CHECK(got[0] == 1999 && got[SMALL_COUNT - 1] == 1999);
}

static void d3(struct trial *t)
{
	struct ingot_node a = node_f32(t, "a", 4);
	struct ingot_context child, again;
	struct ingot_location location;
	float in[4] = { 4, 3, 2, 1 }, got[4];
	OK(ingot_trace_begin(t->runtime, 16));
	OK(ingot_init_from_host(t->context, a, in, 16, &child));
	FAILS(INGOT_MISSING, ingot_context_location(t->context, a, &location));
	OK(ingot_stream_await(t->stream));
	char text[2048];
	ingot_trace_json(t->runtime, text, sizeof text);
	CHECK(strstr(text, "\"from_host\"") && !strstr(text, "\"fill\"")); /* nothing is zeroed before */
	ingot_trace_end(t->runtime);
	FAILS(INGOT_MISMATCH, ingot_init_from_host(t->context, node_f32(t, "b", 4), in, 12, &again));
	read_f32(child, a, got, 4);
	CHECK(!memcmp(in, got, 16));
	FAILS(INGOT_PRESENT, ingot_init_from_host(child, a, in, 16, &again));
	SAYS("n0");
	/* A value that the node has is not uploaded first. */
	struct ingot_node valued = node_f32(t, "valued", 4);
	uint64_t up, down;
	OK(ingot_node_set_all(valued, (double[]){ 9, 9, 9, 9 }, 4));
	OK(ingot_init_from_host(t->context, valued, in, 16, &again));
	read_f32(again, valued, got, 4);
	OK(ingot_node_transfers(valued, &up, &down));
	CHECK(!memcmp(in, got, 16) && !up);
}

static void d4(struct trial *t)
{
	struct ingot_device device;
	struct ingot_context there = elsewhere(t, &device), child, again;
	struct ingot_node a = node_f32(t, "a", 4), b = node_f32(t, "b", 4);
	float in[4] = { 4, 3, 2, 1 }, got[4];
	place(t->context, a);
	write_f32(t->context, a, in, 4);
	OK(ingot_device_sync(device));
	OK(ingot_trace_begin(t->runtime, 16));
	OK(ingot_init_from_device(there, a, t->context, &child));
	OK(ingot_device_sync(device));
	char text[2048];
	ingot_trace_json(t->runtime, text, sizeof text);
	CHECK(strstr(text, "\"device_to_device\"") && !strstr(text, "\"fill\""));
	read_f32(child, a, got, 4);
	CHECK(!memcmp(in, got, 16));
	FAILS(INGOT_MISSING, ingot_init_from_device(there, b, t->context, &again));
	FAILS(INGOT_PRESENT, ingot_init_from_device(child, a, t->context, &again));
	/* Nor is what the host has uploaded to where the other device's value comes. */
	struct ingot_node valued = node_f32(t, "valued", 4);
	uint64_t up, down;
	OK(ingot_node_set_all(valued, (double[]){ 9, 9, 9, 9 }, 4));
	place(t->context, valued);
	write_f32(t->context, valued, in, 4);
	OK(ingot_init_from_device(there, valued, t->context, &again));
	read_f32(again, valued, got, 4);
	OK(ingot_node_transfers(valued, &up, &down));
	CHECK(!memcmp(in, got, 16) && up == 1);
}

static void d5(struct trial *t)
{
	struct ingot_device device;
	struct ingot_context there = elsewhere(t, &device), child;
	struct ingot_node a = node_f32(t, "a", 4), b = node_f32(t, "b", 4);
	float in[4] = { 1, 2, 3, 4 }, got[4];
	bool moved = true;
	place(t->context, a);
	place(there, a);
	FAILS(INGOT_UNREADY, ingot_device_to_device(a, there, INGOT_MERGE_NONE, t->context, &moved, NULL));
	write_f32(t->context, a, in, 4);
	OK(ingot_device_to_device(a, there, INGOT_MERGE_NONE, t->context, &moved, NULL));
	CHECK(moved);
	read_f32(there, a, got, 4);
	CHECK(!memcmp(in, got, 16));
	OK(ingot_context_child(t->context, (struct ingot_stream){ 0 }, &child));
	OK(ingot_device_to_device(a, child, INGOT_MERGE_NONE, t->context, &moved, NULL)); /* the same buffer */
	CHECK(!moved);
	OK(ingot_device_to_device(b, there, INGOT_MERGE_NONE, t->context, &moved, NULL));
	CHECK(!moved);
	place(t->context, b);
	write_f32(t->context, b, in, 4);
	OK(ingot_device_to_device(b, there, INGOT_MERGE_NONE, t->context, &moved, NULL));
	CHECK(!moved);
}

static void d6(struct trial *t)
{
	/* The sum of a gradient over four devices, against one. */
	struct ingot_library library;
	struct ingot_routine merge;
	struct ingot_context linked, there[3];
	struct ingot_device devices[3];
	struct ingot_node grad, sum;
	float values[SMALL_COUNT], got[SMALL_COUNT];
	bool moved;
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_link(t->context, library, "merge", &merge));
	OK(ingot_routine_context(merge, &linked));
	OK(ingot_library_node(library, "grad", &grad));
	OK(ingot_library_node(library, "sum", &sum));
	for (int d = 0; d < 3; d++) {
		there[d] = elsewhere(t, devices + d);
		place(there[d], grad);
		for (int i = 0; i < SMALL_COUNT; i++)
			values[i] = (float)((d + 1) * 100 + i);
		write_f32(there[d], grad, values, SMALL_COUNT);
	}
	for (int d = 0; d < 3; d++) { /* no waits: each copy comes after the consumer of the one before */
		OK(ingot_device_to_device(grad, linked, INGOT_MERGE_COPY, there[d], &moved, NULL));
		CHECK(moved);
		OK(ingot_routine_run(merge, NULL));
	}
	read_f32(linked, sum, got, SMALL_COUNT);
	for (int i = 0; i < SMALL_COUNT; i++)
		CHECK(got[i] == (float)(600 + 3 * i));
	/* A larger node after a smaller one grows the buffer, also while work is queued that reads the old one. */
	struct ingot_node large = node_f32(t, "large", 5000);
	struct ingot_merge_state state;
	place(there[0], large);
	static float many[5000];
	write_f32(there[0], large, many, 5000);
	struct gate gate = { 0 };
	gate_hold(t, &gate, t->stream);
	OK(ingot_device_to_device(grad, linked, INGOT_MERGE_COPY, there[1], &moved, NULL));
	OK(ingot_routine_run(merge, NULL));
	OK(ingot_device_to_device(large, linked, INGOT_MERGE_COPY, there[0], &moved, NULL));
	gate_open(&gate);
	OK(ingot_stream_await(t->stream));
	OK(ingot_merge_buffer(t->stream, &state, NULL));
	CHECK(state.owned_bytes == 20000);
	read_f32(linked, sum, got, SMALL_COUNT);
	CHECK(got[0] == 800);
}

static void d7(struct trial *t)
{
	struct ingot_library library;
	struct ingot_routine merge;
	struct ingot_context source, linked;
	struct ingot_node grad, sum;
	struct ingot_stream other = other_stream(t);
	struct ingot_merge_state state;
	float values[SMALL_COUNT], next[SMALL_COUNT], got[SMALL_COUNT];
	uint64_t before, after;
	bool moved;
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_library_node(library, "grad", &grad));
	OK(ingot_library_node(library, "sum", &sum));
	OK(ingot_context_new(other, &source));
	place(source, grad);
	OK(ingot_link(t->context, library, "merge", &merge));
	OK(ingot_routine_context(merge, &linked));
	for (int i = 0; i < SMALL_COUNT; i++) {
		values[i] = (float)i;
		next[i] = 1000;
	}
	write_f32(source, grad, values, SMALL_COUNT);
	OK(ingot_device_used(t->device, &before));
	struct gate gate = { 0 };
	struct ingot_event overwritten;
	bool done = false;
	OK(ingot_device_to_device(grad, linked, INGOT_MERGE_STREAMING, source, &moved, NULL));
	CHECK(moved);
	OK(ingot_merge_buffer(t->stream, &state, NULL));
	CHECK(state.streaming && !state.updating && state.owned_bytes == 0);
	gate_hold(t, &gate, t->stream);
	OK(ingot_routine_run(merge, NULL));
	/* Behind the consumer, which stands at the gate. */
	OK(ingot_write(source, grad, next, sizeof next, &overwritten));
	for (int i = 0; i < 20 && t->threads; i++) {
		usleep(500);
		OK(ingot_event_done(overwritten, &done));
		CHECK(!done);
	}
	gate_open(&gate);
	OK(ingot_event_close(overwritten));
	OK(ingot_stream_await(other));
	read_f32(linked, sum, got, SMALL_COUNT);
	for (int i = 0; i < SMALL_COUNT; i++)
		CHECK(got[i] == (float)i);
	OK(ingot_device_used(t->device, &after));
	CHECK(before == after); /* nothing was copied anywhere */
	struct ingot_device device;
	struct ingot_context there = elsewhere(t, &device);
	place(there, grad);
	for (int i = 0; i < SMALL_COUNT; i++)
		next[i] = 3000; /* another value at another place than the first run read */
	write_f32(there, grad, next, SMALL_COUNT);
	OK(ingot_device_to_device(
	        grad, linked, INGOT_MERGE_STREAMING, there, &moved, NULL)); /* across devices: a copy */
	OK(ingot_merge_buffer(t->stream, &state, NULL));
	CHECK(moved && !state.streaming && state.owned_bytes == sizeof next);
	OK(ingot_routine_run(merge, NULL));
	read_f32(linked, sum, got, SMALL_COUNT);
	CHECK(got[1] == 3001);
}

static void d8(struct trial *t)
{
	struct ingot_device device;
	struct ingot_context there = elsewhere(t, &device), beside;
	struct ingot_stream other = other_stream(t);
	struct ingot_node a = node_f32(t, "a", 4);
	struct ingot_merge_state state;
	float v[4] = { 0 };
	struct gate gate = { 0 };
	OK(ingot_context_new(other, &beside));
	place(there, a);
	place(beside, a);
	write_f32(there, a, v, 4);
	write_f32(beside, a, v, 4);
	OK(ingot_merge_buffer(t->stream, &state, NULL));
	CHECK(!state.filled && !state.updating);
	struct ingot_event update = { t->runtime, 1, 1 };
	bool done = true;
	OK(ingot_merge_buffer(t->stream, &state, &update));
	CHECK(!update.runtime); /* nothing was scheduled: no event */
	gate_hold(t, &gate, t->stream);
	OK(ingot_device_to_device(a, t->context, INGOT_MERGE_COPY, there, NULL, NULL));
	OK(ingot_merge_buffer(t->stream, &state, &update));
	CHECK(state.filled && state.updating == !t->in_place && ingot_node_equal(state.node, a));
	CHECK(!update.runtime == t->in_place);
	/* The event is the copy's own: undone as long as that is, and done with it. */
	if (!t->in_place) {
		OK(ingot_event_done(update, &done));
		CHECK(!done);
	}
	gate_open(&gate);
	if (!t->in_place) {
		OK(ingot_event_sync(update));
		OK(ingot_merge_buffer(t->stream, &state, NULL));
		CHECK(!state.updating);
		OK(ingot_event_close(update));
	}
	OK(ingot_stream_await(t->stream));
	OK(ingot_merge_buffer(t->stream, &state, &update));
	CHECK(state.filled && !state.updating && !state.streaming && !update.runtime);
	OK(ingot_device_to_device(a, t->context, INGOT_MERGE_STREAMING, beside, NULL, NULL));
	OK(ingot_merge_buffer(t->stream, &state, &update));
	CHECK(state.streaming && !state.updating && state.owned_bytes == 16 && !update.runtime);
	/* While the consumer of a streaming buffer is in flight, the event is its: who waits for it may overwrite. */
	struct ingot_library library;
	struct ingot_routine merge;
	struct ingot_context linked;
	struct ingot_node grad;
	struct gate second = { 0 };
	float values[SMALL_COUNT] = { 0 };
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_library_node(library, "grad", &grad));
	OK(ingot_link(t->context, library, "merge", &merge));
	OK(ingot_routine_context(merge, &linked));
	place(beside, grad);
	write_f32(beside, grad, values, SMALL_COUNT);
	gate_hold(t, &second, t->stream);
	OK(ingot_device_to_device(grad, linked, INGOT_MERGE_STREAMING, beside, NULL, NULL));
	OK(ingot_routine_run(merge, NULL));
	CHECK(t->in_place || ingot_stream_queued(t->stream) >= 2);
	OK(ingot_merge_buffer(t->stream, &state, &update));
	CHECK(state.filled && state.streaming && state.updating == !t->in_place && !update.runtime == t->in_place
	        && ingot_node_equal(state.node, grad));
	if (!t->in_place) {
		OK(ingot_event_done(update, &done));
		CHECK(!done);
	}
	gate_open(&second);
	if (!t->in_place) {
		OK(ingot_event_sync(update));
		OK(ingot_event_close(update));
		OK(ingot_merge_buffer(t->stream, &state, &update));
		CHECK(state.streaming && !state.updating && !update.runtime);
	}
	OK(ingot_stream_await(t->stream));
	/* None before it is submitted, also after a copy that is under way. */
	struct gate third = { 0 };
	gate_hold(t, &third, t->stream);
	OK(ingot_device_to_device(a, t->context, INGOT_MERGE_COPY, there, NULL, NULL));
	OK(ingot_device_to_device(grad, linked, INGOT_MERGE_STREAMING, beside, NULL, NULL));
	OK(ingot_merge_buffer(t->stream, &state, &update));
	CHECK(state.streaming && !state.updating && !update.runtime);
	gate_open(&third);
	OK(ingot_routine_run(merge, NULL));
	OK(ingot_stream_await(t->stream));
	/* Overwritten behind its consumer, the buffer is empty. */
	OK(ingot_write(beside, grad, values, sizeof values, NULL));
	OK(ingot_merge_buffer(t->stream, &state, &update));
	CHECK(!state.filled && !state.streaming && !update.runtime);
	OK(ingot_device_sync(t->device)); /* reads `values` */
}

static void d9(struct trial *t)
{
	struct ingot_library library;
	struct ingot_routine merge;
	struct ingot_context linked;
	struct ingot_device device;
	struct ingot_context there = elsewhere(t, &device);
	struct ingot_node other = node_f32(t, "wrong_one", 4), grad, sum;
	float v[SMALL_COUNT] = { 5 }, got[SMALL_COUNT];
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_link(t->context, library, "merge", &merge));
	OK(ingot_routine_context(merge, &linked));
	FAILS(INGOT_MISMATCH, ingot_routine_run(merge, NULL));
	SAYS("nothing");
	place(there, other);
	write_f32(there, other, v, 4);
	OK(ingot_device_to_device(other, linked, INGOT_MERGE_COPY, there, NULL, NULL));
	FAILS(INGOT_MISMATCH, ingot_routine_run(merge, NULL));
	SAYS("wrong_one");
	SAYS("grad");
	SAYS(t->device_name);
	OK(ingot_library_node(library, "sum", &sum));
	read_f32(linked, sum, got, SMALL_COUNT);
	CHECK(got[0] == 0); /* nothing ran */
	OK(ingot_library_node(library, "grad", &grad));
	place(there, grad);
	write_f32(there, grad, v, SMALL_COUNT);
	OK(ingot_device_to_device(grad, linked, INGOT_MERGE_COPY, there, NULL, NULL));
	OK(ingot_routine_run(merge, NULL));
	OK(ingot_stream_await(t->stream));
	struct ingot_routine row; /* who expects nothing is not checked */
	OK(ingot_link(linked, library, "row", &row));
	OK(ingot_routine_run(row, NULL));
}

static void d10(struct trial *t)
{
	struct ingot_library library;
	struct ingot_routine transfer, merge, wrong;
	struct ingot_context after, node_context;
	struct ingot_device device;
	struct ingot_context there = elsewhere(t, &device);
	struct ingot_node grad, other = node_f32(t, "wrong_one", 4), found;
	float v[SMALL_COUNT] = { 5 };
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_library_node(library, "grad", &grad));
	place(there, grad);
	place(there, other);
	write_f32(there, grad, v, SMALL_COUNT);
	write_f32(there, other, v, 4);
	FAILS(INGOT_MISSING, ingot_context_merge_node(t->context, &found));
	OK(ingot_transfer_routine(other, t->context, INGOT_MERGE_COPY, there, &wrong));
	OK(ingot_routine_context(wrong, &node_context));
	FAILS(INGOT_MISMATCH, ingot_link(node_context, library, "merge", &merge));
	SAYS("wrong_one");
	SAYS("grad");
	OK(ingot_transfer_routine(grad, t->context, INGOT_MERGE_COPY, there, &transfer));
	OK(ingot_routine_context(transfer, &after));
	OK(ingot_context_merge_node(after, &found));
	CHECK(ingot_node_equal(found, grad));
	OK(ingot_link(after, library, "merge", &merge));
	OK(ingot_routine_run(transfer, NULL));
	OK(ingot_routine_run(merge, NULL));
	OK(ingot_stream_await(t->stream));
}

static void d11(struct trial *t)
{
	/* A descriptor whose routine reads another node from the merge buffer than it declares is refused at load. */
	static const struct ingot_module_argument two[] = { { INGOT_FROM_MERGE, 5, 0 }, { INGOT_FROM_MERGE, 6, 0 } };
	static struct ingot_module_routine routine = {
		.name = "two", .arguments = two, .argument_count = 2, .merge_input = 5, .run = slow_fill
	};
	static struct ingot_module module; /* stays as long as the library */
	struct ingot_library library;
	module = small_module;
	module.routines = &routine;
	module.routine_count = 1;
	FAILS(INGOT_INVALID, ingot_library_load(t->runtime, &module, NULL, &library));
	SAYS("merge");
	routine.argument_count = 1;
	OK(ingot_library_load(t->runtime, &module, NULL, &library));
}

static void d12(struct trial *t)
{
	struct ingot_device device;
	struct ingot_context there = elsewhere(t, &device), beside;
	struct ingot_stream other = other_stream(t);
	struct ingot_merge_state state;
	static const int64_t sizes[] = { 10, 100, 50 };
	static const uint64_t owned[] = { 40, 400, 400 }; /* grows, never shrinks */
	static float v[100];
	for (int i = 0; i < 3; i++) {
		struct ingot_node a = node_f32(t, "a", sizes[i]);
		place(there, a);
		write_f32(there, a, v, sizes[i]);
		OK(ingot_device_to_device(a, t->context, INGOT_MERGE_COPY, there, NULL, NULL));
		OK(ingot_merge_buffer(t->stream, &state, NULL));
		CHECK(state.owned_bytes == owned[i] && ingot_node_equal(state.node, a));
	}
	struct ingot_node b = node_f32(t, "b", 10);
	OK(ingot_context_new(other, &beside));
	place(beside, b);
	write_f32(beside, b, v, 10);
	OK(ingot_device_to_device(b, t->context, INGOT_MERGE_STREAMING, beside, NULL, NULL));
	OK(ingot_merge_buffer(t->stream, &state, NULL));
	CHECK(state.owned_bytes == 400 && state.streaming);
	OK(ingot_merge_buffer(other, &state, NULL));
	CHECK(!state.filled); /* each stream its own */
}

/* Large arrays of nodes' own are pinned by their first transfer, as long as the node lives; where they cannot be they
 * are copied all the same. */
static void d13_arrays(struct trial *t)
{
	enum { LARGE = 20000, SMALL = 100 };
	static double values[LARGE];
	struct ingot_context context;
	struct mock_counts before = { 0 }, now = { 0 };
	bool counted = !strcmp(t->device_name, "mock");
	for (int i = 0; i < LARGE; i++)
		values[i] = i;
	OK(ingot_device_sync(t->device));
	for (int round = 0; round < 3; round++) {
		struct ingot_node large = node_f32(t, "large", LARGE), small = node_f32(t, "small", SMALL);
		double got = 0;
		if (counted)
			before = mock_counts();
		if (round == 2)
			mock_fault(MOCK_PIN, 0);
		OK(ingot_context_new(round ? other_stream(t) : t->stream, &context));
		place(context, large);
		place(context, small);
		values[7] = 70 + round;
		OK(ingot_node_set_all(small, values, SMALL));
		OK(ingot_from_host(context, small, NULL, NULL));
		OK(ingot_device_sync(t->device));
		CHECK(!counted || mock_counts().pinned == before.pinned);
		for (int again = 0; again < 2; again++) {
			OK(ingot_node_set_all(large, values, LARGE));
			OK(ingot_from_host(context, large, NULL, NULL));
			OK(ingot_to_host(context, large, NULL, NULL));
			OK(ingot_device_sync(t->device));
			now = mock_counts();
			CHECK(!counted || now.pinned - before.pinned == (round < 2));
		}
		OK(ingot_node_get(large, (const int64_t[]){ 7 }, 1, &got));
		CHECK(got == 70 + round);
		OK(ingot_context_close(context));
		OK(ingot_node_close(large));
		OK(ingot_node_close(small));
		CHECK(!counted || mock_counts().pinned == before.pinned);
	}
	mock_fault(MOCK_NO_FAULT, 0);
}

/* False: a machine with one GPU. */
static bool second_device(struct trial *t, struct ingot_device *device)
{
	int count;
	OK(ingot_backend_devices(t->runtime, t->device_name, &count));
	if (count > 1)
		OK(ingot_device_get(t->runtime, t->device_name, 1, device));
	return count > 1;
}

/* CUDA: on one device a device copy, else a peer copy, each on the destination's stream. */
static void d13(struct trial *t)
{
	struct ingot_node a = node_f32(t, "a", 64);
	struct ingot_context here, there;
	struct ingot_device second;
	struct ingot_stream far;
	float values[64], got[64];
	bool moved = false;
	for (int i = 0; i < 64; i++)
		values[i] = (float)i;
	OK(ingot_context_new(other_stream(t), &here));
	place(t->context, a);
	place(here, a);
	write_f32(t->context, a, values, 64);
	struct mock_counts before = { 0 }, after = { 0 };
	bool counted = device_counts(t, &before);
	OK(ingot_device_to_device(a, here, INGOT_MERGE_NONE, t->context, &moved, NULL));
	read_f32(here, a, got, 64);
	device_counts(t, &after);
	CHECK(moved && !memcmp(got, values, sizeof got));
	CHECK(!counted
	        || (after.copies == before.copies + 1 && after.peer_copies == before.peer_copies
	                && after.last_copy_on == 0));
	memset(got, 0, sizeof got);
	if (!second_device(t, &second))
		return;
	OK(ingot_stream_default(second, &far));
	OK(ingot_context_new(far, &there));
	place(there, a);
	OK(ingot_device_to_device(a, there, INGOT_MERGE_NONE, here, &moved, NULL));
	read_f32(there, a, got, 64);
	before = after;
	device_counts(t, &after);
	CHECK(moved && !memcmp(got, values, sizeof got));
	CHECK(!counted
	        || (after.copies == before.copies && after.peer_copies == before.peer_copies + 1
	                && after.last_copy_on == 1));
}

/* There and back, a node that lies at an offset of the pools, or, where there are none, in a pool of its own. */
static void to_and_fro(
        struct trial *t, const struct ingot_device devices[2], const uint32_t pools[2], uint64_t offset, int from)
{
	enum { COUNT = 64 };
	struct ingot_node a = node_f32(t, "a", COUNT);
	struct ingot_context contexts[2];
	for (int d = 0; d < 2; d++) {
		struct ingot_stream stream;
		OK(ingot_stream_default(devices[d], &stream));
		OK(ingot_context_new(stream, &contexts[d]));
		if (pools)
			OK(ingot_context_bind(contexts[d], a,
			        (struct ingot_location){ .pool = pools[d], .offset = offset, .bytes = 4 * COUNT }));
		else
			place(contexts[d], a);
	}
	for (int d = 0; d < 2; d++) {
		float values[COUNT], got[COUNT];
		bool moved = false;
		for (int i = 0; i < COUNT; i++)
			values[i] = (float)(from + 100 * d + i);
		write_f32(contexts[d], a, values, COUNT);
		OK(ingot_device_to_device(a, contexts[!d], INGOT_MERGE_NONE, contexts[d], &moved, NULL));
		read_f32(contexts[!d], a, got, COUNT);
		CHECK(moved && !memcmp(got, values, sizeof got));
	}
	for (int d = 0; d < 2; d++)
		OK(ingot_context_close(contexts[d]));
	OK(ingot_node_close(a));
}

/* Two devices copy to each other without the host where the driver allows that: from memory that is a block and from
 * such as grows, before and after it did; and so does a device that was closed and is there again. */
static void d13_peers(struct trial *t)
{
	enum { MIB = 1 << 20, COPIES = 8 };
	const char *peers = getenv("STANDIN_PEERS");
	struct ingot_device devices[2] = { t->device };
	struct mock_counts first = { 0 }, before = { 0 }, after = { 0 };
	uint32_t pools[2] = { 0 };
	if (!second_device(t, &devices[1]))
		return;
	bool counted = device_counts(t, &first) && !strcmp(t->device_name, "cuda");
	to_and_fro(t, devices, NULL, 0, 0);
	for (int d = 0; d < 2; d++)
		OK(ingot_pool_ensure(devices[d], 2 * MIB, 0, &pools[d]));
	to_and_fro(t, devices, pools, 0, 1000);
	device_counts(t, &before);
	for (int d = 0; d < 2; d++)
		OK(ingot_pool_ensure(devices[d], 6 * MIB, 0, &pools[d]));
	device_counts(t, &after);
	CHECK(before.maps == first.maps || after.maps == before.maps + 2); /* where they are */
	to_and_fro(t, devices, pools, 5 * MIB, 2000);
	OK(ingot_device_close(devices[1]));
	OK(ingot_device_get(t->runtime, t->device_name, 1, &devices[1]));
	to_and_fro(t, devices, NULL, 0, 3000);
	device_counts(t, &after);
	CHECK(!counted || after.peer_copies == first.peer_copies + COPIES);
	CHECK(!counted || after.direct - first.direct == (peers && !atoi(peers) ? 0 : COPIES));
}

static void d14(struct trial *t)
{
	struct ingot_node a = node_f32(t, "a", 4);
	struct ingot_context child;
	float v[4] = { 1, 2, 3, 4 };
	bool moved = true;
	place(t->context, a);
	write_f32(t->context, a, v, 4);
	OK(ingot_context_child(t->context, other_stream(t), &child));
	OK(ingot_device_to_device(a, child, INGOT_MERGE_NONE, t->context, &moved, NULL));
	CHECK(!moved);
	if (t->host_memory) { /* host array and buffer are one: nothing is copied onto itself */
		static float mine[4] = { 4, 3, 2, 1 };
		struct ingot_node b;
		void *address;
		int64_t four = 4;
		OK(ingot_node_wrap(t->runtime,
		        &(struct ingot_node_options){ .dtype = INGOT_F32, .rank = 1, .dims = &four }, mine, 16, &b));
		OK(ingot_context_adopt(t->context, b, mine, 16));
		OK(ingot_context_address(t->context, b, &address));
		CHECK(address == mine);
		OK(ingot_from_host(t->context, b, NULL, NULL));
		OK(ingot_to_host(t->context, b, NULL, NULL));
		OK(ingot_stream_await(t->stream));
		CHECK(mine[0] == 4);
		/* Seen where memory can only be read: up, down, and between two contexts that adopted it. */
		size_t page = (size_t)sysconf(_SC_PAGESIZE);
		float *fixed = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct ingot_node c;
		struct ingot_context beside;
		CHECK(fixed != MAP_FAILED);
		memcpy(fixed, mine, 16);
		OK(ingot_node_wrap(t->runtime,
		        &(struct ingot_node_options){ .dtype = INGOT_F32, .rank = 1, .dims = &four }, fixed, 16, &c));
		OK(ingot_context_new(other_stream(t), &beside));
		OK(ingot_context_adopt(t->context, c, fixed, 16));
		OK(ingot_context_adopt(beside, c, fixed, 16));
		CHECK(!mprotect(fixed, page, PROT_READ));
		OK(ingot_from_host(t->context, c, NULL, NULL));
		OK(ingot_to_host(t->context, c, NULL, NULL));
		OK(ingot_device_to_device(c, beside, INGOT_MERGE_NONE, t->context, &moved, NULL));
		OK(ingot_device_sync(t->device));
		CHECK(moved && fixed[1] == 3);
	}
}

static void d15(struct trial *t)
{
	struct ingot_device device;
	struct ingot_context there = elsewhere(t, &device);
	struct ingot_node a = node_f32(t, "a", 4), b = node_f32(t, "b", 4);
	struct ingot_routine transfer;
	float v[4] = { 1, 2, 3, 4 }, got[4];
	char text[256];
	place(t->context, a);
	place(there, a);
	FAILS(INGOT_MISSING, ingot_transfer_routine(b, there, INGOT_MERGE_NONE, t->context, &transfer));
	OK(ingot_transfer_routine(a, there, INGOT_MERGE_NONE, t->context, &transfer));
	ingot_routine_json(transfer, text, sizeof text);
	json_parses(text);
	for (int i = 0; i < 3; i++) { /* linked once, run often */
		v[0] = (float)i;
		write_f32(t->context, a, v, 4);
		OK(ingot_routine_run(transfer, NULL));
		read_f32(there, a, got, 4);
		CHECK(got[0] == (float)i && got[3] == 4);
	}
}

static void d16(struct trial *t)
{
	const char *name = t->in_place ? "multicore" : "sync";
	struct ingot_device device;
	struct ingot_stream stream;
	struct ingot_context there;
	struct ingot_node a = node_f32(t, "a", 1000);
	static float v[1000], got[1000];
	struct gate gate = { 0 };
	bool moved;
	OK(ingot_backend_init(t->runtime, name, NULL));
	OK(ingot_device_get(t->runtime, name, 0, &device));
	OK(ingot_stream_default(device, &stream));
	OK(ingot_context_new(stream, &there));
	place(t->context, a);
	place(there, a);
	for (int turn = 0; turn < 20; turn++) {
		for (int i = 0; i < 1000; i++)
			v[i] = (float)(turn + i);
		write_f32(t->context, a, v, 1000);
		OK(ingot_device_to_device(a, there, INGOT_MERGE_NONE, t->context, &moved, NULL));
		CHECK(moved);
		read_f32(there, a, got, 1000);
		CHECK(!memcmp(v, got, sizeof v));
		memset(got, 0, sizeof got);
		OK(ingot_device_to_device(
		        a, t->context, turn % 2 ? INGOT_MERGE_COPY : INGOT_MERGE_NONE, there, &moved, NULL));
		read_f32(t->context, a, got, 1000);
		CHECK(!memcmp(v, got, sizeof v));
	}
	gate_open(&gate);
}

const struct row rows_transfer[] = {
	{ "D1", "ingot_from_host", "from_host", d1, NULL, NULL },
	{ "D2", "ingot_to_host", "to_host", d2, NULL, NULL },
	{ "D3", "ingot_init_from_host", "init_from_host", d3, NULL, NULL },
	{ "D4", "ingot_init_from_device", "init_from_device", d4, NULL, NULL },
	{ "D5", "ingot_device_to_device", "plain", d5, NULL, NULL },
	{ "D6", "INGOT_MERGE_COPY", "sum_over_four_devices", d6, NULL, NULL },
	{ "D7", "INGOT_MERGE_STREAMING", "streaming", d7, NULL, NULL },
	{ "D8", "ingot_merge_buffer", "merge_states", d8, NULL, NULL },
	{ "D9", "ingot_routine_run", "merge_check_at_run", d9, NULL, NULL },
	{ "D10", "ingot_context_merge_node", "merge_check_at_link", d10, NULL, NULL },
	{ "D11", "ingot_library_load", "one_merge_node", d11, NULL, NULL },
	{ "D12", "struct ingot_merge_state", "merge_capacity", d12, NULL, NULL },
	{ "D13", "struct ingot_backend.copy", "cuda_copies", d13, NULL, "mock cuda" },
	{ "D13", "struct ingot_backend.copy", "peers_reach_each_other", d13_peers, NULL, "mock cuda" },
	{ "D13", "struct ingot_backend.host_pin", "own_arrays_are_pinned", d13_arrays, NULL, "mock cuda" },
	{ "D14", "ingot_context_adopt", "no_copy_onto_itself", d14, NULL, NULL },
	{ "D15", "ingot_transfer_routine", "transfer_as_a_routine", d15, NULL, NULL },
	{ "D16", "ingot_device_to_device", "between_backends", d16, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
