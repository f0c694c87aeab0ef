/* rows_traces.c: what is refused, cancelled, skipped or partial leaves no trace; what comes may go again. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fault.h"
#include "gpu.h"
#include "rows.h"

static struct ingot_context context_on(struct ingot_stream stream)
{
	struct ingot_context context;
	OK(ingot_context_new(stream, &context));
	return context;
}

static struct ingot_routine link_at(
        struct ingot_context base, struct ingot_library library, const char *name, struct ingot_context *linked)
{
	struct ingot_routine routine;
	OK(ingot_link(base, library, name, &routine));
	OK(ingot_routine_context(routine, linked));
	return routine;
}

static struct ingot_node node_of(struct ingot_library library, const char *name)
{
	struct ingot_node node;
	OK(ingot_library_node(library, name, &node));
	return node;
}

static uint64_t used(struct trial *t)
{
	uint64_t bytes;
	OK(ingot_device_used(t->device, &bytes));
	return bytes;
}

/* ---- constants ---- */

/* y = w for x = 1: what the library that has these weights computes. */
static struct ingot_module module_of(const float *weights, uint64_t hash)
{
	struct ingot_module module = small_module;
	module.constants.data = weights;
	module.constants.hash = hash;
	return module;
}

static struct ingot_routine dense_at(struct ingot_context base, struct ingot_library library)
{
	struct ingot_context linked;
	struct ingot_routine routine = link_at(base, library, "dense", &linked);
	OK(ingot_routine_set(routine, "n", SMALL_COUNT));
	return routine;
}

static bool computes(struct ingot_routine routine, struct ingot_library library, const float *weights)
{
	struct ingot_context linked;
	float x[SMALL_COUNT], y[SMALL_COUNT], zeros[SMALL_COUNT] = { 0 };
	for (int i = 0; i < SMALL_COUNT; i++)
		x[i] = 1;
	OK(ingot_routine_context(routine, &linked));
	write_f32(linked, node_of(library, "x"), x, SMALL_COUNT);
	write_f32(linked, node_of(library, "s"), zeros, SMALL_COUNT);
	OK(ingot_routine_run(routine, NULL));
	read_f32(linked, node_of(library, "y"), y, SMALL_COUNT);
	return !memcmp(y, weights, sizeof y);
}

/* Loads, links, runs and closes all again. */
static bool comes_and_goes(struct trial *t, const struct ingot_module *module, const float *weights)
{
	struct ingot_library library;
	OK(ingot_library_load(t->runtime, module, NULL, &library));
	struct ingot_routine routine = dense_at(t->context, library);
	bool right = computes(routine, library, weights);
	OK(ingot_routine_close(routine));
	OK(ingot_library_close(library));
	return right;
}

static void constants_end(struct trial *t)
{
	enum { PAGE = 4096 };
	float *maps[2];
	static _Alignas(64) float own[SMALL_COUNT + 1];
	for (int i = 0; i < 2; i++) {
		maps[i] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(maps[i] != MAP_FAILED);
		memcpy(maps[i], small_weights, sizeof small_weights);
	}
	/* The same weights, mapped elsewhere; beside them a library that has them by their hash. */
	struct ingot_library first, second;
	static struct ingot_module modules[2], module; /* they stay, whatever a check that fails leaves open */
	modules[0] = module_of(maps[0], 0x77);
	modules[1] = module_of(maps[1], 0x77);
	OK(ingot_library_load(t->runtime, &modules[0], NULL, &first));
	struct ingot_routine one = dense_at(t->context, first);
	CHECK(computes(one, first, small_weights));
	OK(ingot_library_load(t->runtime, &modules[1], NULL, &second));
	struct ingot_routine two = dense_at(t->context, second);
	OK(ingot_routine_close(one));
	OK(ingot_library_close(first));
	munmap(maps[0], PAGE);
	CHECK(computes(two, second, small_weights));
	OK(ingot_routine_close(two));
	CHECK(computes(two = dense_at(t->context, second), second, small_weights));
	OK(ingot_routine_close(two));
	OK(ingot_library_close(second));
	munmap(maps[1], PAGE);
	/* Two at once that have no hash, and are copied: each its own. */
	static _Alignas(64) float others[2][SMALL_COUNT + 1];
	static struct ingot_module unhashed[2];
	struct ingot_library pair[2];
	struct ingot_routine runs[2];
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < SMALL_COUNT; i++)
			others[k][i + 1] = (float)(50 * k + i);
		unhashed[k] = module_of(others[k] + 1, 0);
		OK(ingot_library_load(t->runtime, &unhashed[k], NULL, &pair[k]));
		runs[k] = dense_at(t->context, pair[k]);
	}
	for (int k = 0; k < 2; k++)
		CHECK(computes(runs[k], pair[k], others[k] + 1));
	for (int k = 0; k < 2; k++) {
		OK(ingot_routine_close(runs[k]));
		OK(ingot_library_close(pair[k]));
	}
	/* Other weights each time, at one address, without a hash: copied, as they lie where no device takes them. */
	uint64_t before = used(t);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < SMALL_COUNT; i++)
			own[i + 1] = (float)(10 * round + i);
		module = module_of(own + 1, 0);
		CHECK(comes_and_goes(t, &module, own + 1));
		module.constants.hash = (uint64_t)round + 100;
		CHECK(comes_and_goes(t, &module, own + 1));
		CHECK(used(t) == before);
	}
}

/* Of a node with initial data, which two contexts share. */
static void nodes_end(struct trial *t)
{
	struct ingot_context other = context_on(other_stream(t));
	uint64_t before = 0;
	for (int round = 0; round < 4; round++) {
		struct ingot_library library;
		struct ingot_context a, b;
		OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
		struct ingot_routine one = link_at(t->context, library, "look", &a), two;
		if (round % 2)
			two = link_at(other, library, "look", &b);
		OK(ingot_routine_run(one, NULL));
		OK(ingot_routine_close(one));
		if (round % 2)
			OK(ingot_routine_close(two));
		OK(ingot_library_close(library));
		CHECK(!round || used(t) == before);
		before = used(t);
	}
}

static void constants_uploaded(struct trial *t)
{
	static _Alignas(64) float own[SMALL_COUNT + 1];
	struct ingot_library library;
	memcpy(own + 1, small_weights, sizeof small_weights);
	static struct ingot_module module;
	module = module_of(own + 1, 0x78);
	struct ingot_context other = context_on(other_stream(t));
	OK(ingot_library_load(t->runtime, &module, NULL, &library));
	struct gate gate = { 0 };
	gate_hold(t, &gate, t->stream);
	struct ingot_routine one = dense_at(t->context, library), beside = dense_at(other, library);
	OK(ingot_stream_cancel(t->stream)); /* with the upload that the first link queued */
	gate_open(&gate);
	OK(ingot_stream_await(t->stream));
	struct ingot_routine two = dense_at(other, library);
	CHECK(computes(two, library, small_weights));
	CHECK(computes(beside, library, small_weights));
	CHECK(t->in_place || !one.runtime || ingot_routine_close(one) == INGOT_OK);
}

/* ---- merge buffers ---- */

struct merging {
	struct ingot_library library;
	struct ingot_node grad, sum, big;
	struct ingot_context from, linked;
	struct ingot_routine merge;
	float in[SMALL_COUNT];
};

static void merging_open(struct trial *t, struct merging *m)
{
	*m = (struct merging){ .from = context_on(other_stream(t)) };
	OK(ingot_library_load(t->runtime, &small_module, NULL, &m->library));
	m->grad = node_of(m->library, "grad");
	m->sum = node_of(m->library, "sum");
	m->big = node_f32(t, "big", 64);
	m->merge = link_at(t->context, m->library, "merge", &m->linked);
	OK(ingot_context_place(m->from, &m->grad, 1));
	for (int i = 0; i < SMALL_COUNT; i++)
		m->in[i] = 5;
	write_f32(m->from, m->grad, m->in, SMALL_COUNT);
}

/* The routine's sum, which was zero, after it ran once more. */
static float merged(struct merging *m)
{
	float got[SMALL_COUNT], zeros[SMALL_COUNT] = { 0 };
	write_f32(m->linked, m->sum, zeros, SMALL_COUNT);
	OK(ingot_routine_run(m->merge, NULL));
	read_f32(m->linked, m->sum, got, SMALL_COUNT);
	return got[SMALL_COUNT - 1];
}

static void merge_kept(struct trial *t)
{
	struct merging m;
	struct ingot_merge_state state;
	struct ingot_event done;
	bool moved = true;
	float many[64] = { 9 };
	merging_open(t, &m);
	OK(ingot_device_to_device(m.grad, m.linked, INGOT_MERGE_COPY, m.from, &moved, NULL));
	CHECK(moved && merged(&m) == 5);
	uint64_t before = used(t);
	/* Of a node that the source has not, or that nobody wrote there: larger than what the buffer holds. */
	OK(ingot_device_to_device(m.big, m.linked, INGOT_MERGE_COPY, m.from, &moved, &done));
	OK(ingot_event_close(done));
	CHECK(!moved && used(t) == before && merged(&m) == 5);
	OK(ingot_context_place(m.from, &m.big, 1));
	before = used(t);
	FAILS(INGOT_UNREADY, ingot_device_to_device(m.big, m.linked, INGOT_MERGE_COPY, m.from, &moved, NULL));
	CHECK(used(t) == before && merged(&m) == 5);
	/* Cancelled before it began. */
	write_f32(m.from, m.big, many, 64);
	for (int streaming = 0; streaming < 2; streaming++) {
		struct gate gate = { 0 };
		if (streaming)
			OK(ingot_device_to_device(m.grad, m.linked, INGOT_MERGE_STREAMING, m.from, NULL, NULL));
		gate_hold(t, &gate, t->stream);
		OK(ingot_device_to_device(m.big, m.linked, INGOT_MERGE_COPY, m.from, NULL, NULL));
		OK(ingot_device_to_device(m.big, m.linked, INGOT_MERGE_COPY, m.from, NULL, NULL));
		OK(ingot_merge_buffer(t->stream, &state, NULL));
		CHECK(ingot_node_equal(state.node, m.big));
		OK(ingot_stream_cancel(t->stream));
		gate_open(&gate);
		OK(ingot_stream_await(t->stream));
		if (t->in_place)
			return;
		OK(ingot_merge_buffer(t->stream, &state, NULL));
		CHECK(ingot_node_equal(state.node, m.grad) && state.streaming == streaming && !state.updating);
		CHECK(merged(&m) == 5 && used(t) == before);
	}
}

/* What was refused has taken nothing, and who wrote nothing owns nothing. */
static void refused_takes_nothing(struct trial *t)
{
	struct merging m;
	float new[SMALL_COUNT] = { 0 };
	merging_open(t, &m);
	struct ingot_use uses[] = { { m.linked, m.grad, .merge = true }, { m.linked, m.big, .write = true } };
	OK(ingot_device_to_device(m.grad, m.linked, INGOT_MERGE_STREAMING, m.from, NULL, NULL));
	FAILS(INGOT_MISSING, ingot_task_submit(t->stream, &(struct ingot_task){ .uses = uses, .use_count = 2 }, NULL));
	write_f32(m.from, m.grad, new, SMALL_COUNT); /* the source is overwritten, and the buffer keeps its value */
	CHECK(merged(&m) == 5);
	/* The same of a reader that was cancelled. */
	OK(ingot_device_to_device(m.grad, m.linked, INGOT_MERGE_STREAMING, m.from, NULL, NULL));
	struct gate gate = { 0 };
	gate_hold(t, &gate, t->stream);
	if (!t->in_place) {
		OK(ingot_routine_run(m.merge, NULL));
		OK(ingot_stream_cancel(t->stream));
	}
	gate_open(&gate);
	OK(ingot_stream_await(t->stream));
	write_f32(m.from, m.grad, m.in, SMALL_COUNT);
	CHECK(merged(&m) == 0);
}

static bool owned(struct trial *t, struct ingot_node node)
{
	struct ingot_stream owner;
	return ingot_owner_stream(t->device, node, &owner) == INGOT_OK;
}

static void writers_own(struct trial *t)
{
	struct ingot_library library;
	struct ingot_stream other = other_stream(t);
	struct ingot_context base = context_on(other), a, b, c;
	struct ingot_node missing = node_f32(t, "missing", 1);
	float zeros[SMALL_COUNT] = { 0 }, got[SMALL_COUNT];
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	struct ingot_node shared = node_of(library, "shared");
	struct ingot_routine get = link_at(t->context, library, "get", &a);
	/* Linked and closed, never run. */
	struct ingot_routine set = link_at(base, library, "set", &b);
	CHECK(!owned(t, shared));
	OK(ingot_routine_close(set));
	/* Refused. */
	set = link_at(base, library, "set", &b);
	struct ingot_use uses[] = { { b, shared, .write = true }, { b, missing, .write = true } };
	FAILS(INGOT_MISSING, ingot_task_submit(other, &(struct ingot_task){ .uses = uses, .use_count = 2 }, NULL));
	FAILS(INGOT_UNREADY, ingot_routine_run(set, NULL));
	CHECK(!owned(t, shared));
	/* Cancelled. */
	struct gate gate = { 0 };
	gate_hold(t, &gate, other);
	if (!t->in_place) {
		OK(ingot_write(b, shared, zeros, sizeof zeros, NULL));
		CHECK(owned(t, shared));
		OK(ingot_stream_cancel(other));
	}
	gate_open(&gate);
	OK(ingot_stream_await(other));
	CHECK(!owned(t, shared));
	/* So another stream may be the one. */
	struct ingot_routine mine = link_at(t->context, library, "set", &c);
	write_f32(c, shared, zeros, SMALL_COUNT);
	CHECK(owned(t, shared));
	OK(ingot_routine_run(mine, NULL));
	OK(ingot_routine_run(get, NULL));
	read_f32(a, node_of(library, "y"), got, SMALL_COUNT);
	CHECK(got[3] == 1);
	FAILS(INGOT_CONFLICT, ingot_routine_run(set, NULL));
}

static void host_write_ends_sharing(struct trial *t)
{
	struct ingot_stream other = other_stream(t);
	for (int late = 0; late < 2; late++) {
		struct ingot_library library;
		struct ingot_context a, b;
		float seven[SMALL_COUNT], got[SMALL_COUNT];
		bool candidate = true;
		OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
		struct ingot_node table = node_of(library, "table"), y = node_of(library, "y");
		struct ingot_routine one = link_at(t->context, library, "look", &a);
		for (int i = 0; i < SMALL_COUNT; i++)
			seven[i] = 7;
		if (late) { /* by a host's array */
			OK(ingot_node_host_create(table));
			OK(ingot_node_set(table, (int64_t[]){ 0 }, 1, 7));
			OK(ingot_from_host(a, table, NULL, NULL));
		} else
			write_f32(a, table, seven, SMALL_COUNT);
		OK(ingot_sharing_candidate(t->device, table, &candidate));
		CHECK(!candidate);
		struct ingot_routine two = link_at(context_on(other), library, "look", &b);
		OK(ingot_routine_run(one, NULL));
		OK(ingot_routine_run(two, NULL));
		read_f32(a, y, got, SMALL_COUNT);
		CHECK(got[0] == 7);
		read_f32(b, y, got, SMALL_COUNT);
		CHECK(got[0] == (late ? 7 : 1)); /* what the host has is each context's first value */
		CHECK(ingot_node_mode(table).sharing == INGOT_PER_STREAM);
	}
	if (t->in_place)
		return;
	/* A write that was cancelled has ended nothing. */
	struct ingot_library library;
	struct ingot_context a;
	bool candidate = false;
	float zeros[SMALL_COUNT] = { 0 };
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	link_at(t->context, library, "look", &a);
	OK(ingot_stream_await(t->stream));
	struct gate gate = { 0 };
	gate_hold(t, &gate, t->stream);
	OK(ingot_write(a, node_of(library, "table"), zeros, sizeof zeros, NULL));
	OK(ingot_stream_cancel(t->stream));
	gate_open(&gate);
	OK(ingot_stream_await(t->stream));
	OK(ingot_sharing_candidate(t->device, node_of(library, "table"), &candidate));
	CHECK(candidate);
}

/* ---- parts ---- */

static bool host_reads(struct ingot_node node, double a, double b, double c, double d)
{
	double got[4];
	OK(ingot_node_get_all(node, got, 4));
	return got[0] == a && got[1] == b && got[2] == c && got[3] == d;
}

static int sets_90(void *row)
{
	((float *)row)[0] = 90;
	((float *)row)[1] = 91;
	return 0;
}

static void parts_keep_the_rest(struct trial *t)
{
	float whole[4] = { 1, 2, 3, 4 }, second[4] = { 5, 6, 7, 8 }, part[2] = { 90, 91 };
	double values[4] = { 1, 2, 3, 4 };
	struct ingot_device twin, devices[4];
	struct ingot_stream far;
	struct ingot_node a, s;
	uint32_t count = 9;
	for (int automatic = 1; automatic >= 0; automatic--) {
		t->options.automatic_transfers = automatic;
		trial_reopen(t);
		OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
		OK(ingot_stream_default(twin, &far));
		struct ingot_context there = context_on(far);
		/* A part of what another device has. */
		OK(ingot_node_slice(a = node_f32(t, "a", 4), 0, 2, &s));
		OK(ingot_context_place(there, &a, 1));
		OK(ingot_context_place(t->context, &a, 1));
		OK(ingot_node_set_all(a, values, 4));
		OK(ingot_from_host(t->context, a, NULL, NULL));
		OK(ingot_device_to_device(s, there, INGOT_MERGE_NONE, t->context, NULL, NULL));
		OK(ingot_node_devices(a, devices, 4, &count));
		CHECK(count == (automatic ? 2 : 1));
		if (!automatic)
			return;
		write_f32(t->context, a, whole, 4);
		OK(ingot_device_to_device(s, there, INGOT_MERGE_NONE, t->context, NULL, NULL));
		OK(ingot_context_close(t->context));
		CHECK(host_reads(a, 1, 2, 3, 4));
		/* A part from the program, the rest from the host. */
		OK(ingot_node_slice(a = node_f32(t, "b", 4), 0, 2, &s));
		OK(ingot_context_place(there, &a, 1));
		OK(ingot_node_set_all(a, values, 4));
		OK(ingot_write(there, s, part, sizeof part, NULL));
		CHECK(host_reads(a, 90, 91, 3, 4));
		/* The rest from another device. */
		t->context = context_on(t->stream);
		OK(ingot_context_place(t->context, &a, 1));
		write_f32(t->context, a, second, 4);
		OK(ingot_write(there, s, part, sizeof part, NULL));
		OK(ingot_device_sync(twin));
		CHECK(host_reads(a, 90, 91, 7, 8));
		/* By a task, on devices whose memory it can write. */
		write_f32(t->context, a, whole, 4);
		void *row;
		if (ingot_context_address(there, s, &row))
			continue;
		struct ingot_use use = { there, s, .write = true };
		OK(ingot_task_submit(far,
		        &(struct ingot_task){ .run = sets_90, .argument = row, .uses = &use, .use_count = 1 }, NULL));
		OK(ingot_stream_await(far));
		CHECK(host_reads(a, 90, 91, 3, 4));
	}
}

/* By a routine whose output is a view. */
static void routines_write_parts(struct trial *t)
{
	t->options.automatic_transfers = true;
	trial_reopen(t);
	struct ingot_library library;
	struct ingot_context linked;
	double values[SMALL_COUNT], got[SMALL_COUNT];
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	struct ingot_node y = node_of(library, "y");
	for (int i = 0; i < SMALL_COUNT; i++)
		values[i] = i;
	struct ingot_routine row = link_at(t->context, library, "row", &linked);
	OK(ingot_node_set_all(y, values, SMALL_COUNT));
	OK(ingot_routine_run(row, NULL));
	OK(ingot_node_get_all(y, got, SMALL_COUNT));
	CHECK(got[3] == 3 && got[4] == 100 && got[7] == 103 && got[8] == 8 && got[15] == 15);
}

/* ---- paths, pools ---- */

static char told[2][64]; /* by each run */
static _Atomic int runs_told;

static int tells(const struct ingot_call *call)
{
	snprintf(told[runs_told++], sizeof *told, "%s", call->log ? call->log : "");
	return 0;
}

/* A path may be told at any time: each run has its own, which lives as long. */
static void log_beside_runs(struct trial *t)
{
	static const struct ingot_module_routine routines[] = { { .name = "tells", .merge_input = -1, .run = tells } };
	/* clang-format off */
	static const struct ingot_module module = {
		.abi = INGOT_ABI, .name = "m", .routines = routines, .routine_count = 1, .images = row_images,
		.image_count = ROW_IMAGES };
	/* clang-format on */
	struct ingot_library library;
	struct ingot_context linked;
	struct gate gate = { 0 };
	OK(ingot_library_load(t->runtime, &module, NULL, &library));
	struct ingot_routine routine = link_at(t->context, library, "tells", &linked);
	runs_told = 0;
	gate_hold(t, &gate, t->stream);
	OK(ingot_routine_log(routine, "the first"));
	OK(ingot_routine_run(routine, NULL));
	OK(ingot_routine_log(routine, "a second one, which is longer"));
	OK(ingot_routine_run(routine, NULL));
	OK(ingot_routine_log(routine, NULL));
	gate_open(&gate);
	OK(ingot_stream_await(t->stream));
	CHECK(!strcmp(told[0], "the first") && !strcmp(told[1], "a second one, which is longer"));
}

static void bound_pools_stay(struct trial *t)
{
	uint32_t pool = 0;
	uint64_t bytes;
	float in[4] = { 1, 2, 3, 4 }, got[4];
	struct ingot_context other = context_on(t->stream);
	struct ingot_node a = node_f32(t, "a", 4);
	OK(ingot_pool_ensure(t->device, 128, 0, &pool));
	OK(ingot_context_bind(other, a, (struct ingot_location){ pool, 64, 16 }));
	write_f32(other, a, in, 4);
	FAILS(INGOT_BUSY, ingot_pool_replace(t->device, pool, 8, 0, INGOT_SLAB_PRIVATE));
	FAILS(INGOT_BUSY, ingot_pool_ensure(t->device, 1 << 20, 0, &pool));
	OK(ingot_pool_ensure(t->device, 128, 0, &pool)); /* nothing to replace */
	OK(ingot_pool_bytes(t->device, pool, &bytes));
	read_f32(other, a, got, 4);
	CHECK(bytes == 128 && !memcmp(in, got, sizeof in));
	OK(ingot_context_close(other));
	OK(ingot_pool_replace(t->device, pool, 8, 0, INGOT_SLAB_PRIVATE));
}

/* Queued work keeps all its memory, not only the first of it. */
static void all_memory_is_kept(struct trial *t)
{
	struct ingot_library library;
	const struct ingot_module_kernel *kernel;
	struct ingot_buffer buffers[3];
	struct gate gate = { 0 };
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_library_kernel(library, "multiply", &kernel));
	for (int i = 0; i < 3; i++)
		OK(ingot_buffer_open(t->device, INGOT_F32, SMALL_COUNT, buffers + i));
	uint64_t before = used(t);
	gate_hold(t, &gate, t->stream);
	OK(ingot_kernel_launch(t->stream, kernel, (uint32_t[]){ SMALL_COUNT, 1, 1 }, NULL, buffers, 3, NULL));
	for (int i = 0; i < 3; i++)
		OK(ingot_buffer_close(t->device, buffers + i));
	CHECK(t->in_place || used(t) == before);
	gate_open(&gate);
	OK(ingot_stream_await(t->stream));
	CHECK(used(t) + 3 * SMALL_COUNT * sizeof(float) == before);
}

/* ---- closing behind an event that nobody signals ---- */

static int counts_up(void *count)
{
	++*(_Atomic int *)count;
	return 0;
}

static struct ingot_task counting(_Atomic int *count, const struct ingot_event *wait)
{
	return (struct ingot_task){
		.run = counts_up, .destroy = NULL, .argument = count, .waits = wait, .wait_count = wait != NULL
	};
}

static void counts_destroyed(void *count) { ++*(_Atomic int *)count; }

/* A context and a routine end, and what is theirs; a task of the same stream is left alone. */
static void contexts_close(struct trial *t)
{
	struct ingot_library library;
	struct ingot_context linked, own = context_on(t->stream);
	struct ingot_event promise, mine;
	struct ingot_node a = node_f32(t, "a", 4);
	_Atomic int count = 0;
	float in[4] = { 1, 2, 3, 4 };
	uint64_t before;
	if (t->in_place) /* there such a wait is refused */
		return;
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	struct ingot_routine row = link_at(t->context, library, "row", &linked);
	OK(ingot_stream_await(t->stream));
	OK(ingot_event_open(t->runtime, &promise));
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ 0 }, NULL));
	struct ingot_task task = counting(&count, &promise);
	OK(ingot_task_submit(t->stream, &task, NULL));
	before = used(t);
	OK(ingot_context_place(own, &a, 1));
	OK(ingot_write(own, a, in, sizeof in, &mine));
	OK(ingot_routine_run(row, NULL));
	OK(ingot_context_close(own));
	FAILS(INGOT_CANCELLED, ingot_event_sync(mine));
	OK(ingot_event_close(mine));
	CHECK(used(t) == before);
	OK(ingot_routine_close(row));
	OK(ingot_library_close(library));
	OK(ingot_event_signal(promise));
	OK(ingot_event_close(promise));
	OK(ingot_stream_await(t->stream));
	CHECK(count == 1);
}

struct submitter {
	struct ingot_stream stream;
	struct ingot_event wait;
	_Atomic int over;
	enum ingot_status submitted, ended;
};

static void *submits_in_place(void *argument)
{
	struct submitter *own = argument;
	struct ingot_event done;
	own->submitted =
	        ingot_task_submit(own->stream, &(struct ingot_task){ .waits = &own->wait, .wait_count = 1 }, &done);
	if (!own->submitted) {
		own->ended = ingot_event_sync(done);
		ingot_event_close(done);
	}
	own->over = 1;
	return NULL;
}

/* A thread stands in its submit, whose task waits for another device's: closing the stream cancels the task, and lets
 * the thread go. */
static void in_place_stream_closes(struct trial *t)
{
	struct ingot_device beside;
	struct ingot_stream other;
	struct ingot_event promise;
	struct submitter submitter = { .stream = other_stream(t) };
	pthread_t thread;
	_Atomic int count = 0;
	OK(ingot_backend_init(t->runtime, "multicore", NULL));
	OK(ingot_device_get(t->runtime, "multicore", 0, &beside));
	OK(ingot_stream_default(beside, &other));
	OK(ingot_event_open(t->runtime, &promise));
	struct ingot_task task = counting(&count, &promise);
	OK(ingot_task_submit(other, &task, &submitter.wait));
	CHECK(!pthread_create(&thread, NULL, submits_in_place, &submitter));
	while (!submitter.over && !ingot_stream_queued(submitter.stream))
		usleep(1000);
	enum ingot_status closed = ingot_stream_close(submitter.stream);
	pthread_join(thread, NULL);
	OK(submitter.submitted);
	OK(closed);
	CHECK(submitter.ended == INGOT_CANCELLED && !count);
	OK(ingot_event_signal(promise));
	OK(ingot_stream_await(other));
	CHECK(count == 1);
	OK(ingot_event_close(submitter.wait));
	OK(ingot_event_close(promise));
}

/* A stream's work waits for another stream's, which waits for an event: closing it cancels its own alone. */
static void streams_close(struct trial *t)
{
	if (t->in_place) {
		in_place_stream_closes(t);
		return;
	}
	struct ingot_stream other = other_stream(t);
	struct ingot_event promise, first, last, behind;
	_Atomic int count = 0, destroyed = 0;
	OK(ingot_context_place(t->context, (struct ingot_node[]){ node_f32(t, "b", 4) }, 1));
	struct ingot_node a = node_f32(t, "a", 4);
	struct ingot_context there;
	float in[4] = { 1, 2, 3, 4 }, got[4] = { 0 };
	OK(ingot_context_place(t->context, &a, 1));
	OK(ingot_stream_await(t->stream));
	OK(ingot_event_open(t->runtime, &promise));
	struct ingot_task task = counting(&count, &promise);
	OK(ingot_task_submit(t->stream, &task, &first));
	OK(ingot_write(t->context, a, in, sizeof in, NULL)); /* behind it */
	/* On the other stream: a task that waits for the first one, a write of what that stream writes. */
	task = (struct ingot_task){
		.argument = &destroyed, .destroy = counts_destroyed, .waits = &first, .wait_count = 1
	};
	OK(ingot_task_submit(other, &task, &last));
	OK(ingot_context_child(t->context, other, &there));
	OK(ingot_write(there, a, (float[4]){ 9 }, sizeof in, NULL));
	OK(ingot_event_record(other, &behind));
	OK(ingot_context_close(there));
	OK(ingot_stream_close(other));
	CHECK(destroyed == 1);
	FAILS(INGOT_CANCELLED, ingot_event_sync(last));
	FAILS(INGOT_CANCELLED, ingot_event_sync(behind));
	OK(ingot_read(
	        t->context, a, got, sizeof got, NULL)); /* behind the write that was cancelled: what was before it */
	OK(ingot_event_signal(promise));
	OK(ingot_event_sync(first));
	OK(ingot_stream_await(t->stream));
	CHECK(count == 1 && !memcmp(in, got, sizeof in));
	OK(ingot_event_close(first));
	OK(ingot_event_close(last));
	OK(ingot_event_close(behind));
	OK(ingot_event_close(promise));
}

/* ---- runtimes that are gone ---- */

/* Whether a call of each kind says that it is. */
static bool all_stale(struct ingot_runtime *runtime, struct ingot_device device, struct ingot_stream stream,
        struct ingot_context context, struct ingot_node node)
{
	struct ingot_event event;
	struct ingot_library library;
	struct ingot_device other;
	uint64_t bytes;
	char text[64];
	return ingot_stream_await(stream) == INGOT_STALE
	        && ingot_task_submit(stream, &(struct ingot_task){ 0 }, NULL) == INGOT_STALE
	        && ingot_device_used(device, &bytes) == INGOT_STALE && ingot_context_close(context) == INGOT_STALE
	        && ingot_node_bytes(node, &bytes) == INGOT_STALE && ingot_event_open(runtime, &event) == INGOT_STALE
	        && ingot_library_load(runtime, &small_module, NULL, &library) == INGOT_STALE
	        && ingot_backend_init(runtime, "sync", NULL) == INGOT_STALE
	        && ingot_device_get(runtime, "sync", 0, &other) == INGOT_STALE
	        && !ingot_runtime_json(runtime, text, sizeof text) && !ingot_backend_ready(runtime, "sync")
	        && ingot_runtime_close(runtime) == INGOT_STALE;
}

static void dead_runtimes(struct trial *t)
{
	int ended = 0;
	struct ingot_node node = node_f32(t, "a", 4);
	OK(ingot_context_place(t->context, &node, 1));
	OK(ingot_stream_await(t->stream));
	usleep(20000); /* the threads of the stream rest */
	pid_t child = fork();
	if (!child) {
		struct ingot_runtime *own = NULL;
		fault_forget();
		alarm(20); /* only ends what hangs */
		bool right = all_stale(t->runtime, t->device, t->stream, t->context, node)
		        && !ingot_runtime_open(&own, NULL) && !ingot_backend_init(own, "sync", NULL)
		        && !ingot_runtime_close(own);
		_exit(!right);
	}
	CHECK(child > 0 && waitpid(child, &ended, 0) == child && WIFEXITED(ended) && !WEXITSTATUS(ended));
	OK(ingot_stream_await(t->stream));
	/* Of a runtime that was closed, also where another one lies in its place. */
	struct ingot_runtime *old = t->runtime;
	struct ingot_device device = t->device;
	struct ingot_stream stream = t->stream;
	struct ingot_context context = t->context;
	t->runtime = NULL;
	ingot_runtime_close(old);
	CHECK(all_stale(old, device, stream, context, node));
	trial_reopen(t);
	for (int i = 0; i < 20 && t->runtime != old; i++)
		trial_reopen(t);
	FAILS(INGOT_STALE, ingot_stream_await(stream));
	FAILS(INGOT_STALE, ingot_context_finalize(context));
	OK(ingot_stream_await(t->stream));
}

const struct row rows_traces[] = {
	{ "B10", "ingot_library_close", "constants_end", constants_end, NULL, NULL },
	{ "B10", "ingot_stream_cancel", "constants_uploaded", constants_uploaded, NULL, NULL },
	{ "E3", "ingot_library_close", "nodes_end", nodes_end, NULL, NULL },
	{ "D8", "ingot_device_to_device", "merge_kept", merge_kept, NULL, NULL },
	{ "D7", "ingot_task_submit", "refused_takes_nothing", refused_takes_nothing, NULL, NULL },
	{ "E4", "ingot_owner_stream", "writers_own", writers_own, NULL, NULL },
	{ "E2", "ingot_write", "host_write_ends_sharing", host_write_ends_sharing, NULL, NULL },
	{ "F28", "ingot_node_slice", "parts_keep_the_rest", parts_keep_the_rest, NULL, NULL },
	{ "F28", "ingot_routine_run", "routines_write_parts", routines_write_parts, NULL, NULL },
	{ "G9", "ingot_routine_log", "log_beside_runs", log_beside_runs, NULL, NULL },
	{ "B2", "ingot_pool_replace", "bound_pools_stay", bound_pools_stay, NULL, NULL },
	{ "A6", "ingot_context_close", "contexts_close", contexts_close, NULL, NULL },
	{ "C9", "ingot_stream_close", "streams_close", streams_close, NULL, NULL },
	{ "H1", "ingot_runtime_close", "dead_runtimes", dead_runtimes, NULL, NULL },
	{ "B3", "ingot_kernel_launch", "all_memory_is_kept", all_memory_is_kept, NULL, "sync multicore lazy mock" },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
