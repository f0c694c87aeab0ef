/* rows_memory.c: rows B: pools, planning, placing. */
#include <unistd.h>
#include "mock.h"
#include "gpu.h"
#include "rows.h"

static void b1(struct trial *t)
{
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_context context;
	char first[2048], second[2048];
	for (int turn = 0; turn < 2; turn++) {
		trial_reopen(t);
		OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
		OK(ingot_link(t->context, library, "dense", &routine));
		OK(ingot_routine_context(routine, &context));
		ingot_context_json(context, turn ? second : first, sizeof first);
	}
	json_parses(first);
	CHECK(strstr(first, "\"nodes\"")
	        && !strcmp(strstr(first, "\"nodes\""), strstr(second, "\"nodes\""))); /* but for the device's id */
	/* x, w, s, y: one pool of the context in the order of need; the constants are a pool of the device */
	const char *align = t->host_memory ? "64" : "256", *twice = t->host_memory ? "128" : "512";
	char wanted[400];
	snprintf(wanted, sizeof wanted,
	        "{\"node\":\"n0_x\",\"pool\":2,\"offset\":0,\"inherited\":false},{\"node\":\"n1_w\",\"pool\":1,"
	        "\"offset\":0,\"inherited\":false},"
	        "{\"node\":\"n2_s\",\"pool\":2,\"offset\":%s,\"inherited\":false},{\"node\":\"n3_y\",\"pool\":2,"
	        "\"offset\":%s,\"inherited\":false}]",
	        align, twice);
	CHECK(strstr(first, wanted));
}

static void b2(struct trial *t)
{
	uint32_t pool, other;
	uint64_t used, bytes;
	struct ingot_node node = node_f32(t, "a", 1);
	void *address;
	FAILS(INGOT_INVALID, ingot_pool_open(t->device, 10, 3, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_pool_open(t->device, 0, 0, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_pool_bytes(t->device, pool, &bytes));
	CHECK(bytes == 0);
	OK(ingot_device_used(t->device, &used));
	OK(ingot_pool_replace(t->device, 77, 1000, 0, INGOT_SLAB_SHARED));
	OK(ingot_pool_replace(t->device, 77, 3000, 0, INGOT_SLAB_SHARED)); /* the old one is freed first */
	OK(ingot_device_used(t->device, &bytes));
	CHECK(bytes == used + 3000);
	OK(ingot_pool_open(t->device, 1, 0, INGOT_SLAB_PRIVATE, &other));
	CHECK(other == 78);
	/* The new pool does not wait for what is queued on the old one. */
	struct gate gate = { 0 };
	struct ingot_stream beside = other_stream(t);
	gate_hold(t, &gate, t->stream);
	OK(ingot_pool_fill(t->stream, 77, 0, 3000, 1, NULL));
	OK(ingot_pool_replace(t->device, 77, 3000, 0, INGOT_SLAB_SHARED));
	OK(ingot_pool_fill(beside, 77, 0, 3000, 2, NULL));
	OK(ingot_stream_await(beside));
	gate_open(&gate);
	OK(ingot_stream_await(t->stream));
	FAILS(INGOT_INVALID, ingot_pool_replace(t->device, 0, 10, 0, INGOT_SLAB_PRIVATE));
	FAILS(INGOT_MEMORY, ingot_pool_open(t->device, UINT64_MAX, 0, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_context_place(t->context, &node, 1));
	if (t->host_memory) {
		OK(ingot_context_address(t->context, node, &address));
		CHECK((uintptr_t)address % 64 == 0);
	}
}

/* Alignment is seen where addresses are: in a kernel. */
static int look(const struct ingot_group *group, void *const *arguments)
{
	(void)group;
	*(uint64_t *)arguments[1] = (uintptr_t)arguments[0];
	return 0;
}
static const struct ingot_module_kernel looks = {
	.name = "look", .argument_count = 2, .run = look, .device_name = "row_look"
};

/* On a GPU a kernel is a module's; elsewhere it may be nobody's. */
static uint64_t address_of(struct trial *t, uint32_t pool, uint64_t bytes)
{
	/* clang-format off */
	static const struct ingot_module module = {
		.abi = INGOT_ABI, .name = "looks", .kernels = &looks, .kernel_count = 1, .images = row_images,
		.image_count = ROW_IMAGES };
	/* clang-format on */
	struct ingot_library library = { 0 };
	struct ingot_buffer buffers[2] = { { .pool = pool, .bytes = bytes } };
	uint64_t seen = 0;
	if (on_gpu)
		OK(ingot_library_load(t->runtime, &module, NULL, &library));
	OK(ingot_buffer_open(t->device, INGOT_U64, 1, buffers + 1));
	OK(ingot_kernel_launch(t->stream, &looks, (const uint32_t[]){ 1, 1, 1 }, NULL, buffers, 2, NULL));
	OK(ingot_buffer_read(t->stream, buffers + 1, 0, &seen, 8, 0, 8));
	OK(ingot_buffer_close(t->device, buffers + 1));
	if (on_gpu)
		OK(ingot_library_close(library));
	return seen;
}

static void b2_alignment(struct trial *t)
{
	uint32_t pool, filler;
	for (uint32_t align = 1; align <= 4096; align *= 2)
		for (int turn = 0; turn < 4; turn++) {
			OK(ingot_pool_open(t->device, 40 + 24 * (uint64_t)turn, 1, INGOT_SLAB_PRIVATE, &filler));
			OK(ingot_pool_open(t->device, 10, align, INGOT_SLAB_PRIVATE, &pool));
			CHECK(address_of(t, pool, 10) % align == 0);
		}
}

static void b3(struct trial *t)
{
	uint32_t pool;
	uint64_t before, used;
	char byte = 1;
	struct gate gate = { 0 };
	OK(ingot_device_used(t->device, &before));
	OK(ingot_pool_open(t->device, 500, 0, INGOT_SLAB_PRIVATE, &pool));
	gate_hold(t, &gate, t->stream);
	OK(ingot_pool_fill(t->stream, pool, 0, 500, 9, NULL));
	OK(ingot_pool_close(t->device, pool)); /* queued work keeps its memory */
	FAILS(INGOT_MISSING, ingot_pool_read(t->stream, pool, 0, &byte, 1, NULL));
	gate_open(&gate);
	OK(ingot_stream_await(t->stream));
	OK(ingot_device_used(t->device, &used));
	CHECK(used == before);
	OK(ingot_pool_close(t->device, pool));
	OK(ingot_pool_close(t->device, 4711));
	FAILS(INGOT_MISSING, ingot_pool_fill(t->stream, pool, 0, 1, 0, NULL));
}

static void b4(struct trial *t)
{
	uint32_t pool;
	unsigned char bytes[100], got[100];
	struct gate gate = { 0 };
	memset(bytes, 7, sizeof bytes);
	OK(ingot_pool_open(t->device, 100, 0, INGOT_SLAB_PRIVATE, &pool));
	gate_hold(t, &gate, t->stream);
	OK(ingot_pool_write(t->stream, pool, 0, bytes, 100, NULL)); /* queued first, so it must come first */
	OK(ingot_pool_fill(t->stream, pool, 10, 20, 0, NULL));
	OK(ingot_pool_read(t->stream, pool, 0, got, 100, NULL));
	gate_open(&gate);
	OK(ingot_stream_await(t->stream));
	for (int i = 0; i < 100; i++)
		CHECK(got[i] == (i >= 10 && i < 30 ? 0 : 7));
	/* And behind what another stream does with these bytes. */
	struct ingot_stream other = other_stream(t);
	for (int i = 0; i < 20; i++) {
		struct gate late = { 0 };
		gate_hold(t, &late, t->stream);
		OK(ingot_pool_write(t->stream, pool, 0, bytes, 100, NULL));
		OK(ingot_pool_fill(other, pool, 10, 20, 9, NULL));
		usleep(t->threads ? 500 : 0); /* time for a fill that does not wait, if there is one */
		gate_open(&late);
		OK(ingot_stream_await(t->stream));
		OK(ingot_stream_await(other));
		OK(ingot_pool_read(t->stream, pool, 0, got, 100, NULL));
		OK(ingot_stream_await(t->stream));
		CHECK(got[9] == 7 && got[10] == 9 && got[30] == 7);
	}
	FAILS(INGOT_RANGE, ingot_pool_fill(t->stream, pool, 90, 11, 0, NULL));
	FAILS(INGOT_RANGE, ingot_pool_fill(t->stream, pool, 101, 0, 0, NULL));
	FAILS(INGOT_RANGE, ingot_pool_fill(t->stream, pool, 8, UINT64_MAX - 4, 0, NULL));
	OK(ingot_pool_fill(t->stream, pool, 100, 0, 0, NULL));
}

static void b5(struct trial *t)
{
	struct ingot_device twin;
	struct ingot_stream stream;
	uint32_t a, b;
	char name[64], one = 1, two = 2, got;
	FAILS(INGOT_MISSING, ingot_pool_read(t->stream, 55, 3, &got, 1, NULL));
	ingot_device_name(t->device, name, sizeof name);
	SAYS(name);
	SAYS("55");
	OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
	OK(ingot_stream_default(twin, &stream));
	OK(ingot_pool_open(t->device, 16, 0, INGOT_SLAB_PRIVATE, &a));
	OK(ingot_pool_open(twin, 16, 0, INGOT_SLAB_PRIVATE, &b));
	CHECK(a == b);
	OK(ingot_pool_write(t->stream, a, 0, &one, 1, NULL));
	OK(ingot_pool_write(stream, b, 0, &two, 1, NULL));
	OK(ingot_pool_read(t->stream, a, 0, &got, 1, NULL));
	OK(ingot_stream_await(stream));
	OK(ingot_stream_await(t->stream));
	CHECK(got == 1);
}

static void b6(struct trial *t)
{
	uint32_t pools[3];
	struct ingot_location location;
	struct ingot_node node = node_f32(t, "a", 4);
	for (uint32_t i = 0; i < 3; i++) {
		OK(ingot_pool_open(t->device, 8, 0, INGOT_SLAB_PRIVATE, pools + i));
		CHECK(pools[i] == i + 1); /* 0 is the merge buffer */
	}
	OK(ingot_context_place(t->context, &node, 1));
	OK(ingot_context_location(t->context, node, &location));
	CHECK(location.pool == 4 && location.offset == 0);
}

static void b7(struct trial *t)
{
	struct ingot_plan_item items[200];
	uint64_t used[200], seed = 3;
	uint32_t segments, bad;
	for (int run = 0; run < 200; run++) {
		uint32_t count = 1 + (uint32_t)(seed % 200);
		for (uint32_t i = 0; i < count; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			items[i] = (struct ingot_plan_item){ .bytes = (seed >> 40) % 1000,
				.align = UINT64_C(1) << (seed >> 33) % 9 };
		}
		CHECK(ingot_plan_segments(items, count, 1024, used, &segments, &bad) == INGOT_PLAN_OK);
		for (uint32_t i = 0; i < count; i++) {
			CHECK(items[i].offset % items[i].align == 0 && items[i].offset + items[i].bytes <= 1024);
			CHECK(items[i].offset + items[i].bytes <= used[items[i].segment]
			        && items[i].segment < segments);
			/* in order: each behind the one before, or in the next segment */
			if (i && items[i].segment == items[i - 1].segment)
				CHECK(items[i].offset >= items[i - 1].offset + items[i - 1].bytes);
			else if (i)
				CHECK(items[i].segment == items[i - 1].segment + 1);
		}
	}
	items[0] = (struct ingot_plan_item){ .bytes = 1025, .align = 1 };
	CHECK(ingot_plan_segments(items, 1, 1024, used, &segments, &bad) == INGOT_PLAN_OVERFLOW && bad == 0);
	t->options.pool_cap = 1024;
	trial_reopen(t);
	struct ingot_node nodes[4];
	struct ingot_location a, b;
	const char *const labels[] = { "a", "b", "c" };
	for (int i = 0; i < 3; i++)
		nodes[i] = node_f32(t, labels[i], 100);
	OK(ingot_context_place(t->context, nodes, 3)); /* two fit a pool, the third opens one */
	OK(ingot_context_location(t->context, nodes[1], &a));
	OK(ingot_context_location(t->context, nodes[2], &b));
	CHECK(b.pool == a.pool + 1 && b.offset == 0);
	nodes[3] = node_f32(t, "too_large", 257);
	FAILS(INGOT_RANGE, ingot_context_place(t->context, nodes + 3, 1));
	SAYS("too_large");
}

static void b9(struct trial *t)
{
	struct ingot_library library;
	struct ingot_routine one, two;
	struct ingot_context linked;
	uint64_t first, second;
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_link(t->context, library, "dense", &one));
	OK(ingot_device_used(t->device, &first));
	OK(ingot_routine_context(one, &linked));
	OK(ingot_link(linked, library, "dense", &two));
	OK(ingot_device_used(t->device, &second));
	CHECK(first == second && first > 0);
	char text[4096];
	ingot_device_json(t->device, text, sizeof text);
	json_parses(text);
	CHECK(json_number(text, "constants") == 1); /* of the device; x, s, y, the workspace are the context's */
}

static void b10(struct trial *t)
{
	struct ingot_library library, again;
	struct ingot_routine one, two;
	struct ingot_context a, b, c;
	struct ingot_node w;
	struct ingot_location x, y;
	uint64_t before, after;
	float got[SMALL_COUNT];
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_library_load(t->runtime, &small_module, NULL, &again));
	OK(ingot_context_new(t->stream, &a));
	OK(ingot_context_new(t->stream, &b));
	OK(ingot_link(a, library, "dense", &one));
	OK(ingot_device_used(t->device, &before));
	OK(ingot_link(b, again, "dense", &two));
	OK(ingot_device_used(t->device, &after));
	OK(ingot_routine_context(one, &a));
	OK(ingot_routine_context(two, &c));
	OK(ingot_library_node(library, "w", &w));
	OK(ingot_context_location(a, w, &x));
	struct ingot_node w2;
	OK(ingot_library_node(again, "w", &w2));
	OK(ingot_context_location(c, w2, &y));
	CHECK(x.pool == y.pool && x.offset == y.offset);
	OK(ingot_routine_close(one));
	read_f32(c, w2, got, SMALL_COUNT);
	CHECK(!memcmp(got, small_weights, sizeof got));
	OK(ingot_routine_close(two));
	OK(ingot_context_new(t->stream, &a));
	OK(ingot_link(a, library, "dense", &one)); /* still there: nothing is uploaded again */
	OK(ingot_routine_context(one, &a));
	OK(ingot_context_location(a, w, &y));
	CHECK(x.pool == y.pool);
	/* A thousand contexts, one copy. */
	uint64_t each = after - before;
	OK(ingot_device_used(t->device, &before));
	static struct ingot_routine many[1000];
	for (int i = 0; i < 1000; i++) {
		struct ingot_context context;
		OK(ingot_context_new(t->stream, &context));
		OK(ingot_link(context, library, "dense", many + i));
	}
	OK(ingot_device_used(t->device, &after));
	CHECK(after - before == 1000 * each);
	struct ingot_properties p;
	OK(ingot_device_properties(t->device, &p));
	CHECK(each < 6 * (uint64_t)(p.slab_align > 128 ? p.slab_align : 128));
}

static int nothing(const struct ingot_call *call)
{
	(void)call;
	return 0;
}

static void b11(struct trial *t)
{
	float got[4];
	t->options.poison = true;
	trial_reopen(t);
	struct ingot_node a = node_f32(t, "a", 4), b = node_f32(t, "b", 4);
	double values[4] = { 1, 2, 3, 4 };
	OK(ingot_node_set_all(b, values, 4));
	struct ingot_node both[] = { a, b };
	OK(ingot_context_place(t->context, both, 2));
	FAILS(INGOT_UNREADY, ingot_read(t->context, a, got, 16, NULL));
	struct ingot_location location;
	OK(ingot_context_location(t->context, a, &location));
	OK(ingot_pool_read(t->stream, location.pool, location.offset, got, 16, NULL));
	OK(ingot_stream_await(t->stream));
	CHECK(got[0] == 0 && got[3] == 0);
	read_f32(t->context, b, got, 4);
	CHECK(got[0] == 1 && got[3] == 4);
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_context linked;
	struct ingot_node s;
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_link(t->context, library, "dense", &routine));
	OK(ingot_routine_context(routine, &linked));
	OK(ingot_library_node(library, "s", &s));
	float state[SMALL_COUNT];
	read_f32(linked, s, state, SMALL_COUNT);
	CHECK(state[0] == 0 && state[SMALL_COUNT - 1] == 0);
	/* What the code clears itself is left as it came, beside others that are zeroed. */
	static const struct ingot_module_dim dims[] = { { 4, -1 } };
	static struct ingot_module_node nodes[] = {
		{ .name = "p", .dtype = INGOT_F32, .rank = 1, .dims = dims, .bytes = 16, .view_of = -1 },
		{ .name = "q",
		        .dtype = INGOT_F32,
		        .rank = 1,
		        .dims = dims,
		        .bytes = 16,
		        .view_of = -1,
		        .flags = INGOT_NODE_CLEARED },
		{ .name = "r", .dtype = INGOT_F32, .rank = 1, .dims = dims, .bytes = 16, .view_of = -1 },
		{ .name = "all",
		        .dtype = INGOT_F32,
		        .rank = 1,
		        .dims = dims,
		        .bytes = 16,
		        .view_of = -1,
		        .flags = INGOT_NODE_CLEARED | INGOT_NODE_SHARED }
	};
	static const uint32_t out[] = { 0, 1, 2, 3 };
	static const struct ingot_module_routine routines[] = {
		{ .name = "clears", .outputs = out, .output_count = 4, .merge_input = -1, .run = nothing }
	};
	/* clang-format off */
	static const struct ingot_module module = {
		.abi = INGOT_ABI, .name = "clears", .nodes = nodes, .node_count = 4, .routines = routines,
		.routine_count = 1, .images = row_images, .image_count = ROW_IMAGES };
	/* clang-format on */
	OK(ingot_trace_begin(t->runtime, 16));
	OK(ingot_library_load(t->runtime, &module, NULL, &library));
	OK(ingot_link(t->context, library, "clears", &routine));
	OK(ingot_routine_context(routine, &linked));
	OK(ingot_device_sync(t->device));
	char text[4096];
	int fills = 0;
	ingot_trace_json(t->runtime, text, sizeof text);
	for (const char *at = text; (at = strstr(at, "\"fill\"")); at++)
		fills++;
	CHECK(fills == 2); /* p and r, which are no neighbours */
	for (int i = 0; i < 4; i++) {
		struct ingot_node one;
		OK(ingot_library_node(library, nodes[i].name, &one));
		OK(ingot_context_location(linked, one, &location));
		OK(ingot_pool_read(t->stream, location.pool, location.offset, got, 16, NULL));
		OK(ingot_stream_await(t->stream));
		uint32_t bits;
		memcpy(&bits, &got[3], 4);
		if (i % 2 == 0)
			CHECK(bits == 0);
		else if (t->host_memory)
			CHECK(bits == 0xCDCDCDCD);
	}
}

static void b12(struct trial *t)
{
	struct ingot_device twin;
	struct ingot_stream stream;
	struct ingot_context context;
	struct ingot_node a = node_f32(t, "a", 3);
	double values[3] = { 5, 6, 7 };
	float got[3];
	OK(ingot_node_set_all(a, values, 3));
	OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
	OK(ingot_stream_default(twin, &stream));
	OK(ingot_context_new(stream, &context));
	OK(ingot_context_place(t->context, &a, 1));
	OK(ingot_context_place(context, &a, 1));
	read_f32(t->context, a, got, 3);
	CHECK(got[2] == 7);
	read_f32(context, a, got, 3);
	CHECK(got[0] == 5 && got[2] == 7);
	/* Initial data of a module is such a source too. */
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_node y, table;
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	OK(ingot_library_node(library, "y", &y));
	OK(ingot_library_node(library, "table", &table));
	float out[SMALL_COUNT];
	struct ingot_context bases[] = { t->context, context };
	for (int i = 0; i < 2; i++) {
		OK(ingot_link(bases[i], library, "look", &routine));
		OK(ingot_routine_run(routine, NULL));
		OK(ingot_routine_context(routine, &context));
		read_f32(context, y, out, SMALL_COUNT);
		CHECK(out[0] == 1 && out[SMALL_COUNT - 1] == 1);
	}
}

static void b13(struct trial *t)
{
	struct ingot_library library;
	struct ingot_routine dense, row;
	struct ingot_context linked, below;
	struct ingot_node x, y, view, slice;
	struct ingot_location a, b;
	float in[SMALL_COUNT] = { 0 }, out[SMALL_COUNT], part[4];
	uint64_t before, after;
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_link(t->context, library, "dense", &dense));
	OK(ingot_routine_context(dense, &linked));
	OK(ingot_device_used(t->device, &before));
	OK(ingot_link(linked, library, "row", &row));
	OK(ingot_device_used(t->device, &after));
	CHECK(before == after); /* a view has no buffer */
	OK(ingot_routine_context(row, &below));
	OK(ingot_library_node(library, "x", &x));
	OK(ingot_library_node(library, "y", &y));
	OK(ingot_library_node(library, "y_row", &view));
	OK(ingot_context_location(below, y, &a));
	OK(ingot_context_location(below, view, &b));
	CHECK(a.pool == b.pool && b.offset == a.offset + 16 && b.bytes == 16);
	write_f32(below, x, in, SMALL_COUNT);
	OK(ingot_routine_set(dense, "n", SMALL_COUNT));
	OK(ingot_routine_run(dense, NULL));
	OK(ingot_routine_run(row, NULL));
	read_f32(below, y, out, SMALL_COUNT);
	CHECK(out[4] == 100 && out[7] == 103 && out[3] == 0 && out[8] == 0);
	read_f32(below, view, part, 4);
	CHECK(part[1] == 101);
	OK(ingot_node_slice(y, 6, 3, &slice));
	read_f32(below, slice, part, 3);
	CHECK(part[0] == 102 && part[1] == 103 && part[2] == 0);
	part[0] = 9;
	write_f32(below, slice, part, 3);
	read_f32(below, y, out, SMALL_COUNT);
	CHECK(out[6] == 9);
	FAILS(INGOT_RANGE, ingot_node_slice(y, 15, 2, &slice));
}

static void b14(struct trial *t)
{
	/* Four values of a chain in two places, and the answer of a run that never reuses: equal. */
	enum { STEPS = 8 };
	struct ingot_plan_buffer buffers[STEPS];
	struct ingot_plan_slab slab;
	uint32_t pool;
	for (uint32_t i = 0; i < STEPS; i++)
		buffers[i] = (struct ingot_plan_buffer){
			.bytes = 64, .align = 64, .first = i, .last = i + 1, .in_place_of = -1
		};
	struct ingot_plan plan = { .buffers = buffers, .buffer_count = STEPS, .slabs = &slab, .slab_count = 1 };
	CHECK(ingot_plan_place(&plan) == INGOT_PLAN_OK && ingot_plan_check(&plan) == INGOT_PLAN_OK);
	CHECK(slab.peak == 128 && slab.bound == 128);
	OK(ingot_pool_open(t->device, slab.peak, 64, INGOT_SLAB_PRIVATE, &pool));
	unsigned char now[64], next[64];
	memset(now, 1, 64);
	OK(ingot_pool_write(t->stream, pool, buffers[0].offset, now, 64, NULL));
	for (int i = 1; i < STEPS; i++) {
		OK(ingot_pool_read(t->stream, pool, buffers[i - 1].offset, now, 64, NULL));
		OK(ingot_stream_await(t->stream));
		for (int k = 0; k < 64; k++)
			next[k] = (unsigned char)(now[k] + k);
		OK(ingot_pool_write(t->stream, pool, buffers[i].offset, next, 64, NULL));
		OK(ingot_pool_fill(t->stream, pool, buffers[i - 1].offset, 64, 0xCD, NULL)); /* its last use is over */
		OK(ingot_stream_await(t->stream));
	}
	OK(ingot_pool_read(t->stream, pool, buffers[STEPS - 1].offset, now, 64, NULL));
	OK(ingot_stream_await(t->stream));
	for (int k = 0; k < 64; k++)
		CHECK(now[k] == (unsigned char)(1 + 7 * k));
	/* Another stream reads the first value without a wait: its place is not free, although the step is earlier. */
	const struct ingot_plan_step steps[] = { { .lane = 0 }, { .lane = 1 }, { .lane = 0 } };
	const uint32_t uses[] = { 1 };
	struct ingot_plan_buffer two[] = {
		{ .bytes = 64, .align = 64, .first = 1, .last = 1, .uses = uses, .use_count = 1, .in_place_of = -1 },
		{ .bytes = 64, .align = 64, .first = 2, .last = 2, .in_place_of = -1 }
	};
	plan = (struct ingot_plan){ .buffers = two,
		.buffer_count = 2,
		.slabs = &slab,
		.slab_count = 1,
		.steps = steps,
		.step_count = 3,
		.lane_count = 2 };
	CHECK(ingot_plan_place(&plan) == INGOT_PLAN_OK && slab.peak == 128);
}

static uintptr_t seen;
static int look_here(const struct ingot_call *call)
{
	seen = (uintptr_t)ingot_argument(call, 0);
	return 0;
}

/* What is large grows where it is, where the device can; not while work is queued on it, for who has it grow does not
 * wait. */
static void b15_in_place(struct trial *t)
{
	enum { MIB = 1 << 20 };
	struct mock_counts first = { 0 }, before = { 0 }, now = { 0 };
	struct gate gate = { 0 };
	uint32_t pool = 0;
	uint64_t used, at, bytes;
	unsigned char byte = 0;
	OK(ingot_device_used(t->device, &used));
	device_counts(t, &first);
	OK(ingot_pool_ensure(t->device, 2 * MIB, 0, &pool));
	OK(ingot_pool_fill(t->stream, pool, 0, 2 * MIB, 7, NULL));
	OK(ingot_stream_await(t->stream));
	at = address_of(t, pool, 10);
	device_counts(t, &before);
	OK(ingot_pool_ensure(t->device, 3 * MIB, 0, &pool));
	device_counts(t, &now);
	if (before.maps > first.maps) {
		uint32_t aligned; /* as coarsely as it is made of anyway */
		OK(ingot_pool_open(t->device, 2 * MIB, 2 * MIB, INGOT_SLAB_PRIVATE, &aligned));
		struct mock_counts more = now;
		device_counts(t, &more);
		CHECK(more.maps == now.maps + 1);
		OK(ingot_pool_close(t->device, aligned));
		CHECK(now.maps == before.maps + 1 && address_of(t, pool, 10) == at);
		OK(ingot_pool_ensure(t->device, 4 * MIB, 0, &pool)); /* whole granules are there already */
		OK(ingot_pool_read(t->stream, pool, 2 * MIB - 1, &byte, 1, NULL));
		OK(ingot_stream_await(t->stream));
		device_counts(t, &now);
		CHECK(byte == 7 && now.maps == more.maps && address_of(t, pool, 10) == at);
		OK(ingot_pool_ensure(t->device, 17 * MIB, 0, &pool)); /* more than its addresses: another */
		CHECK(address_of(t, pool, 10) != at);
	}
	OK(ingot_pool_ensure(t->device, 18 * MIB, 0, &pool));
	OK(ingot_pool_bytes(t->device, pool, &bytes));
	CHECK(bytes == 18 * MIB);
	OK(ingot_device_used(t->device, &bytes));
	CHECK(bytes == used + 18 * MIB);
	OK(ingot_pool_fill(t->stream, pool, 18 * MIB - 1, 1, 9, NULL));
	OK(ingot_pool_read(t->stream, pool, 18 * MIB - 1, &byte, 1, NULL));
	OK(ingot_stream_await(t->stream));
	CHECK(byte == 9);
	at = address_of(t, pool, 10);
	gate_hold(t, &gate, t->stream);
	OK(ingot_pool_fill(t->stream, pool, 0, 10, 1, NULL));
	OK(ingot_pool_ensure(t->device, 42 * MIB, 0, &pool));
	gate_open(&gate);
	OK(ingot_stream_await(t->stream));
	CHECK(address_of(t, pool, 10) != at);
}

static void b15(struct trial *t)
{
	uint32_t pool = 0, kept;
	uint64_t bytes;
	OK(ingot_pool_ensure(t->device, 100, 0, &pool));
	kept = pool;
	OK(ingot_pool_fill(t->stream, pool, 0, 100, 5, NULL));
	OK(ingot_pool_ensure(t->device, 60, 0, &pool));
	CHECK(pool == kept);
	OK(ingot_pool_bytes(t->device, pool, &bytes));
	CHECK(bytes == 100); /* reused, not made anew */
	unsigned char byte = 0;
	OK(ingot_pool_read(t->stream, pool, 99, &byte, 1, NULL));
	OK(ingot_stream_await(t->stream));
	CHECK(byte == 5);
	OK(ingot_pool_ensure(t->device, 200, 0, &pool));
	OK(ingot_pool_bytes(t->device, pool, &bytes));
	CHECK(bytes == 200);
	/* What is reused is as aligned as asked, and the same memory only then. */
	uint32_t pools[8] = { 0 };
	for (int i = 0; i < 8; i++) {
		OK(ingot_pool_ensure(t->device, 100, 1, pools + i));
		uint64_t before = address_of(t, pools[i], 10);
		for (uint32_t align = 2; align <= 8192; align *= 2) {
			uint64_t last = address_of(t, pools[i], 10);
			OK(ingot_pool_ensure(t->device, 90, align, pools + i));
			CHECK(address_of(t, pools[i], 10) % align == 0);
			CHECK(last % align || address_of(t, pools[i], 10) == last);
		}
		OK(ingot_pool_ensure(t->device, 100, 8192, pools + i));
		CHECK(before % 8192 == 0 || address_of(t, pools[i], 10) != before);
		FAILS(INGOT_INVALID, ingot_pool_ensure(t->device, 10, 3, pools + i));
	}
	/* So does the workspace of a routine that links below another. */
	static const struct ingot_module_argument arguments[] = { { INGOT_FROM_WORKSPACE, 0, 0 } };
	static struct ingot_module_routine routines[] = { { .name = "small",
		                                                  .arguments = arguments,
		                                                  .argument_count = 1,
		                                                  .merge_input = -1,
		                                                  .workspace_bytes = 1000,
		                                                  .run = look_here },
		{ .name = "less",
		        .arguments = arguments,
		        .argument_count = 1,
		        .merge_input = -1,
		        .workspace_bytes = 500,
		        .run = look_here },
		{ .name = "aligned",
		        .arguments = arguments,
		        .argument_count = 1,
		        .merge_input = -1,
		        .workspace_bytes = 500,
		        .workspace_align = 1 << 20,
		        .run = look_here },
		{ .name = "more",
		        .arguments = arguments,
		        .argument_count = 1,
		        .merge_input = -1,
		        .workspace_bytes = 2000,
		        .run = look_here } };
	/* clang-format off */
	static const struct ingot_module module = {
		.abi = INGOT_ABI, .name = "scratch", .routines = routines, .routine_count = 4, .images = row_images,
		.image_count = ROW_IMAGES };
	/* clang-format on */
	struct ingot_library library;
	struct ingot_routine made[4];
	struct ingot_context last;
	uintptr_t places[4];
	OK(ingot_library_load(t->runtime, &module, NULL, &library));
	OK(ingot_link_all(t->context, library, NULL, NULL, made, &last));
	for (int i = 0; i < 4; i++) {
		OK(ingot_routine_run(made[i], NULL));
		OK(ingot_stream_await(t->stream));
		places[i] = seen;
	}
	/* Another one for the routine that asks for more alignment, where the first does not happen to have it. */
	CHECK(places[1] == places[0] && places[2] % (1 << 20) == 0);
	CHECK(places[0] % (1 << 20) == 0 || places[2] != places[0]);
	CHECK(places[3] != places[0] && places[3] != places[2]);
}

static void b16(struct trial *t)
{
	struct ingot_node empty = node_f32(t, "empty", 0);
	struct ingot_buffer a, b;
	struct ingot_event done;
	float nothing;
	OK(ingot_context_place(t->context, &empty, 1));
	OK(ingot_write(t->context, empty, &nothing, 0, NULL));
	OK(ingot_read(t->context, empty, &nothing, 0, &done));
	OK(ingot_event_sync(done));
	OK(ingot_buffer_open(t->device, INGOT_F32, 0, &a));
	OK(ingot_buffer_open(t->device, INGOT_F32, 0, &b));
	CHECK(a.pool != b.pool);
	uint64_t first = address_of(t, a.pool, 0), second = address_of(t, b.pool, 0);
	CHECK(first && second && first != second); /* each has an address of its own */
}

static void b17(struct trial *t)
{
	struct ingot_library library;
	const struct ingot_module_kernel *many;
	struct ingot_buffer buffers[300];
	const uint32_t groups[3] = { 1, 1, 1 };
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_library_kernel(library, "many", &many));
	for (int i = 0; i < 300; i++)
		OK(ingot_buffer_open(t->device, INGOT_F32, 1, buffers + i));
	OK(ingot_kernel_launch(t->stream, many, groups, NULL, buffers, 300, NULL));
	for (int i = 0; i < 300; i += 37) {
		float value;
		OK(ingot_buffer_read(t->stream, buffers + i, 0, &value, 4, 0, 4));
		CHECK(value == (float)i);
	}
}

static void b18(struct trial *t)
{
	struct ingot_buffer buffer;
	char text[64];
	float four[4] = { 1, 2, 3, 4 };
	OK(ingot_buffer_open(t->device, INGOT_F32, 4, &buffer));
	CHECK(buffer.bytes == 16);
	ingot_buffer_text(&buffer, text, sizeof text);
	CHECK(!strcmp(text, "f32[4] pool 1"));
	OK(ingot_buffer_write(t->stream, &buffer, four, 16, 0, 16));
	FAILS(INGOT_RANGE, ingot_buffer_write(t->stream, &buffer, four, 20, 0, 20));
	FAILS(INGOT_RANGE, ingot_buffer_read(t->stream, &buffer, 4, four, 16, 0, 16));
	OK(ingot_buffer_close(t->device, &buffer));
	CHECK(buffer.bytes == 0);
}

static void b19(struct trial *t)
{
	uint32_t pool;
	char byte = 0, text[2048];
	OK(ingot_pool_open(t->device, 32, 0, INGOT_SLAB_PRIVATE, &pool));
	FAILS(INGOT_RANGE, ingot_pool_read(t->stream, pool, 30, &byte, 5, NULL));
	char wanted[100];
	snprintf(wanted, sizeof wanted, "%s:0:0: pool 1 has 32 bytes, not 5 at offset 30", t->device_name);
	SAYS(wanted);
	struct ingot_node node = node_f32(t, "a", 4);
	OK(ingot_context_place(t->context, &node, 1));
	ingot_context_json(t->context, text, sizeof text);
	json_parses(text);
	CHECK(strstr(text, "{\"node\":\"n0_a\",\"pool\":2,\"offset\":0,\"inherited\":false}"));
}

static int looked;
static int look_there(const struct ingot_group *group, void *const *arguments)
{
	(void)group, (void)arguments;
	looked++;
	return 0;
}

static void b20(struct trial *t)
{
	/* Slab tables, contexts and retrieval are the runtime's: the lazy backend gives raw memory, copies, fill and
	 * calls only. */
	struct ingot_node node = node_f32(t, "a", 8);
	double in[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, out[8];
	struct ingot_context child;
	OK(ingot_node_set_all(node, in, 8));
	OK(ingot_context_child(t->context, (struct ingot_stream){ 0 }, &child));
	OK(ingot_context_place(child, &node, 1));
	OK(ingot_to_host(child, node, NULL, NULL));
	OK(ingot_node_get_all(node, out, 8));
	CHECK(!memcmp(in, out, sizeof in));
	CHECK(backend_lazy.slab_alloc && backend_lazy.copy && backend_lazy.fill && backend_lazy.launch
	        && backend_lazy.call);
	/* Compile and load: one entry of the table, with the code of the device; without it kernels are the host's. */
	static struct ingot_module_kernel kernel = {
		.name = "look", .argument_count = 1, .run = look_there, .device_name = "look_k"
	};
	static const struct ingot_module_argument arguments[] = { { INGOT_FROM_WORKSPACE, 0, 0 } };
	static const struct ingot_module_step step = {
		.kind = INGOT_STEP_KERNEL, .argument_count = 1, .groups = { 1, 1, 1 }
	};
	/* clang-format off */
	static const struct ingot_module_routine routine = {
		.name = "one", .arguments = arguments, .argument_count = 1, .merge_input = -1, .workspace_bytes = 64,
		.steps = &step, .step_count = 1, .lane_count = 1 };
	/* clang-format on */
	static struct ingot_module module = { .abi = INGOT_ABI,
		.name = "coded",
		.kernels = &kernel,
		.kernel_count = 1,
		.routines = &routine,
		.routine_count = 1 };
	static const char *const codes[] = { "entry other\nentry look_k\n", "entry other\n", "entry look_k\nretrun\n" };
	bool compiles = !strcmp(t->device_name, "mock");
	for (int i = 0; i < 3; i++) {
		struct ingot_library library;
		struct ingot_routine made;
		struct ingot_context context;
		uint32_t before = compiles ? mock_counts().modules : 0;
		const struct ingot_module_image image = {
			.data = codes[i], .capability = 10, .flags = INGOT_IMAGE_TEXT
		};
		module.images = &image;
		module.image_count = 1;
		looked = 0;
		OK(ingot_library_load(t->runtime, &module, NULL, &library));
		OK(ingot_context_new(t->stream, &context));
		enum ingot_status status = ingot_link(context, library, "one", &made);
		if (!strcmp(t->device_name, "cuda")) { /* the driver's words: that is no image */
			CHECK(status == INGOT_DEVICE);
			SAYS("module coded: cuModuleLoadDataEx: ");
			continue;
		}
		if (i == 2 && compiles) { /* the compiler's words */
			CHECK(status == INGOT_DEVICE && mock_counts().modules == before);
			SAYS("module coded: line 2: expected an entry before \"retrun\"");
			continue;
		}
		OK(status);
		CHECK(!compiles || mock_counts().modules == before + 1);
		OK(ingot_routine_run(made, NULL));
		status = ingot_stream_await(t->stream);
		CHECK(!status == !(i == 1 && compiles) && looked == (i != 1 || !compiles));
		if (status) {
			SAYS("the module has no kernel look");
			OK(ingot_stream_restart(t->stream));
		}
		OK(ingot_routine_close(made));
		OK(ingot_library_close(library)); /* unloaded with it */
		CHECK(!compiles || mock_counts().modules == before);
	}
}

/* A node that the host has too asks its backend for memory that both share; one of the device alone does not. */
static void b2_modes(struct trial *t)
{
	const enum ingot_mode modes[] = { INGOT_ON_DEVICE, INGOT_HOSTED_CHANGED, INGOT_HOSTED_VOLATILE };
	int64_t four = 4;
	for (int i = 0; i < 3; i++) {
		struct ingot_context context;
		uint32_t before = mock_counts().shared_slabs;
		struct ingot_node nodes[2];
		OK(ingot_context_new(t->stream, &context));
		for (int k = 0; k < 2; k++)
			OK(ingot_node_new(t->runtime,
			        &(struct ingot_node_options){ .dtype = INGOT_F32,
			                .rank = 1,
			                .dims = &four,
			                .mode = k ? modes[i] : INGOT_ON_DEVICE },
			        nodes + k));
		OK(ingot_context_place(context, nodes, 1));
		CHECK(mock_counts().shared_slabs == before);
		OK(ingot_context_place(context, nodes + 1, 1));
		CHECK(mock_counts().shared_slabs == before + (i > 0));
		OK(ingot_context_close(context));
	}
}

const struct row rows_memory[] = {
	{ "B1", "struct ingot_location", "locations_are_the_same_each_time", b1, NULL, NULL },
	{ "B2", "ingot_pool_replace", "pools_grow", b2, NULL, NULL },
	{ "B2", "ingot_pool_open", "alignment_is_kept", b2_alignment, NULL, NULL },
	{ "B2", "ingot_context_place", "modes_reach_the_backend", b2_modes, NULL, "mock" },
	{ "B3", "ingot_pool_close", "close_pools", b3, NULL, NULL },
	{ "B4", "ingot_pool_fill", "fill_is_ordered", b4, NULL, NULL },
	{ "B5", "ingot_pool_read", "unknown_pool", b5, NULL, NULL },
	{ "B6", "ingot_pool_open", "pool_ids", b6, NULL, NULL },
	{ "B7", "ingot_plan_segments", "segments", b7, NULL, NULL },
	{ "B8", "-", "index_width", NULL, "lives in the generator; the plan of 5 GiB is in test_plan.c", NULL },
	{ "B9", "ingot_link", "second_link_places_nothing", b9, NULL, NULL },
	{ "B10", "struct ingot_module_constants", "one_copy_of_constants", b10, NULL, NULL },
	{ "B11", "ingot_runtime_options.poison", "zeroed_at_first", b11, NULL, NULL },
	{ "B12", "ingot_node_set_all", "host_initial_data", b12, NULL, NULL },
	{ "B13", "ingot_node_slice", "views", b13, NULL, NULL },
	{ "B14", "ingot_plan_place", "reuse_by_liveness", b14, NULL, NULL },
	{ "B15", "ingot_pool_ensure", "reuse_if_it_fits", b15, NULL, NULL },
	{ "B15", "ingot_pool_ensure", "grows_in_place", b15_in_place, NULL, NULL },
	{ "B16", "ingot_buffer_open", "zero_size", b16, NULL, NULL },
	{ "B17", "struct ingot_call", "300_arguments", b17, NULL, NULL },
	{ "B18", "struct ingot_buffer", "sized_buffers", b18, NULL, NULL },
	{ "B19", "ingot_message", "locations_in_messages", b19, NULL, NULL },
	{ "B20", "struct ingot_backend", "layers", b20, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
