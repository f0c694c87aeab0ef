/* rows_device.c: rows A: devices, streams, contexts. */
#include <unistd.h>
#include "fault.h"

static void a1(struct trial *t)
{
	struct ingot_device twin, other;
	struct ingot_properties p, q;
	uint64_t used, twin_used;
	uint32_t pool;
	OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
	OK(ingot_backend_init(t->runtime, t->in_place ? "multicore" : "sync", NULL));
	OK(ingot_device_get(t->runtime, t->in_place ? "multicore" : "sync", 0, &other));
	OK(ingot_device_properties(t->device, &p));
	OK(ingot_device_properties(twin, &q));
	CHECK(p.id != q.id && p.ordinal == 0 && q.ordinal == 0);
	OK(ingot_device_properties(other, &q));
	CHECK(p.id != q.id && q.ordinal == 0);
	OK(ingot_pool_open(twin, 12345, 0, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_device_used(t->device, &used));
	OK(ingot_device_used(twin, &twin_used));
	CHECK(used == twin_used && used >= 12345);
	/* Ids are the process's: another runtime has others. */
	struct ingot_runtime *beside;
	OK(ingot_runtime_open(&beside, &t->options));
	second_runtime(beside);
	OK(ingot_backend_init(beside, t->device_name, NULL));
	OK(ingot_device_get(beside, t->device_name, 0, &other));
	OK(ingot_device_properties(other, &q));
	CHECK(q.ordinal == 0 && q.id > p.id);
	struct ingot_device all[] = { t->device, twin, other };
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < i; k++) {
			OK(ingot_device_properties(all[i], &p));
			OK(ingot_device_properties(all[k], &q));
			CHECK(p.id != q.id);
		}
	second_runtime(NULL);
	OK(ingot_runtime_close(beside));
}

static void a2(struct trial *t)
{
	struct ingot_device device;
	const char *told = getenv("STANDIN_DEVICES");
	int count;
	OK(ingot_backend_devices(t->runtime, t->device_name, &count));
	if (!strcmp(t->device_name, "cuda"))
		CHECK(told ? count == atoi(told) : count >= 1); /* a machine has as many GPUs as it has */
	else
		CHECK(count == (t->lazy ? 3 : t->host_memory ? 1 : 2));
	FAILS(INGOT_RANGE, ingot_device_get(t->runtime, t->device_name, -1, &device));
	FAILS(INGOT_RANGE, ingot_device_get(t->runtime, t->device_name, count, &device));
	SAYS(t->device_name);
	OK(ingot_device_get(t->runtime, t->device_name, 0, &device));
	CHECK(ingot_device_equal(device, t->device));
}

static int fail_7(void *argument)
{
	(void)argument;
	return 7;
}

static void a3(struct trial *t)
{
	char name[64], wanted[64];
	CHECK(ingot_device_name(t->device, name, sizeof name) == strlen(name));
	snprintf(wanted, sizeof wanted, "%s:0:0", t->device_name);
	CHECK(!strcmp(name, wanted));
	ingot_stream_name(t->stream, name, sizeof name);
	strcat(wanted, ".0");
	CHECK(!strcmp(name, wanted));
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ .name = "breaker", .run = fail_7 }, NULL));
	FAILS(INGOT_FAILED, ingot_stream_await(t->stream));
	SAYS(wanted);
	SAYS("breaker");
	SAYS("7");
	CHECK(ingot_device_name(t->device, name, 4) > 4 && strlen(name) == 3);
}

/* The table is enough: the lazy backend is written against backend.h alone, and all rows run on it. */
static void a4(struct trial *t)
{
	float in[4] = { 1, 2, 3, 4 }, out[4] = { 0 };
	struct ingot_node node = node_f32(t, "v", 4);
	OK(ingot_context_place(t->context, &node, 1));
	write_f32(t->context, node, in, 4);
	read_f32(t->context, node, out, 4);
	CHECK(!memcmp(in, out, sizeof in));
}

static void a5(struct trial *t)
{
	struct ingot_context child, parent;
	struct ingot_node a = node_f32(t, "a", 4), b = node_f32(t, "b", 4);
	struct ingot_location mine, theirs;
	struct ingot_stream stream;
	FAILS(INGOT_MISSING, ingot_context_parent(t->context, &parent));
	OK(ingot_context_place(t->context, &a, 1));
	OK(ingot_context_child(t->context, (struct ingot_stream){ 0 }, &child));
	OK(ingot_context_location(t->context, a, &mine));
	OK(ingot_context_location(child, a, &theirs));
	CHECK(mine.pool == theirs.pool && mine.offset == theirs.offset);
	OK(ingot_context_place(child, &b, 1));
	OK(ingot_context_location(child, b, &theirs));
	FAILS(INGOT_MISSING, ingot_context_location(t->context, b, &mine));
	OK(ingot_context_parent(child, &parent));
	CHECK(parent.index == t->context.index);
	OK(ingot_context_stream(child, &stream));
	CHECK(ingot_stream_equal(stream, t->stream)); /* what is not overridden is the parent's */
	struct ingot_stream other = other_stream(t);
	struct ingot_context moved;
	OK(ingot_context_child(t->context, other, &moved));
	OK(ingot_context_stream(moved, &stream));
	CHECK(ingot_stream_equal(stream, other));
	OK(ingot_context_location(moved, a, &theirs));
	CHECK(mine.pool == theirs.pool && mine.offset == theirs.offset);
	/* The merge node too goes from parent to child and further down, and not up. */
	struct ingot_routine transfer;
	struct ingot_context after, below;
	struct ingot_node merged;
	float values[4] = { 0 };
	OK(ingot_context_place(moved, &b, 1));
	write_f32(t->context, a, values, 4);
	FAILS(INGOT_MISSING, ingot_context_merge_node(child, &merged));
	OK(ingot_transfer_routine(a, child, INGOT_MERGE_COPY, t->context, &transfer));
	OK(ingot_routine_context(transfer, &after));
	OK(ingot_context_child(after, (struct ingot_stream){ 0 }, &below));
	OK(ingot_context_child(below, other, &below));
	OK(ingot_context_merge_node(below, &merged));
	CHECK(ingot_node_equal(merged, a));
	OK(ingot_context_location(below, b, &theirs)); /* and all else is as it was */
	OK(ingot_context_location(child, b, &mine));
	CHECK(mine.pool == theirs.pool && mine.offset == theirs.offset);
	FAILS(INGOT_MISSING, ingot_context_merge_node(child, &merged));
	/* Overridden: the child's own; the parent keeps his. */
	write_f32(child, b, values, 4);
	OK(ingot_transfer_routine(b, after, INGOT_MERGE_COPY, child, &transfer));
	OK(ingot_routine_context(transfer, &below));
	OK(ingot_context_merge_node(below, &merged));
	CHECK(ingot_node_equal(merged, b));
	OK(ingot_context_merge_node(after, &merged));
	CHECK(ingot_node_equal(merged, a));
}

/* The merge node of a child alone: what is linked there has to read it. */
static void a5_merging(struct trial *t)
{
	struct ingot_library library;
	struct ingot_node grad, other = node_f32(t, "other", 4), merged;
	struct ingot_context child, none, below;
	struct ingot_routine merge;
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_library_node(library, "grad", &grad));
	OK(ingot_context_child_merging(t->context, (struct ingot_stream){ 0 }, other, &child));
	OK(ingot_context_merge_node(child, &merged));
	CHECK(ingot_node_equal(merged, other));
	FAILS(INGOT_MISSING, ingot_context_merge_node(t->context, &merged));
	FAILS(INGOT_MISMATCH, ingot_link(child, library, "merge", &merge));
	OK(ingot_context_child_merging(child, other_stream(t), grad, &below));
	OK(ingot_link(below, library, "merge", &merge));
	OK(ingot_context_child_merging(child, (struct ingot_stream){ 0 }, (struct ingot_node){ 0 }, &none));
	FAILS(INGOT_MISSING, ingot_context_merge_node(none, &merged));
	OK(ingot_context_merge_node(child, &merged)); /* the parent's stays */
	CHECK(ingot_node_equal(merged, other));
	OK(ingot_node_close(other));
	FAILS(INGOT_STALE, ingot_context_child_merging(child, (struct ingot_stream){ 0 }, other, &none));
}

static void a6(struct trial *t)
{
	uint64_t before, after;
	struct ingot_context child, grandchild;
	struct ingot_node a = node_f32(t, "a", 100), b = node_f32(t, "b", 200);
	float value[100] = { 3 }, got[100];
	OK(ingot_context_place(t->context, &a, 1));
	write_f32(t->context, a, value, 100);
	OK(ingot_device_used(t->device, &before));
	OK(ingot_context_child(t->context, (struct ingot_stream){ 0 }, &child));
	OK(ingot_context_place(child, &b, 1));
	OK(ingot_context_child(child, (struct ingot_stream){ 0 }, &grandchild));
	FAILS(INGOT_BUSY, ingot_context_finalize(child)); /* what lives in it must not be freed under the grandchild */
	CHECK(!ingot_context_finalized(child));
	struct ingot_location location;
	OK(ingot_context_location(grandchild, b, &location));
	OK(ingot_context_finalize(grandchild));
	OK(ingot_context_finalize(child));
	OK(ingot_context_finalize(child));
	CHECK(ingot_context_finalized(child));
	OK(ingot_device_used(t->device, &after));
	CHECK(before == after);
	read_f32(t->context, a, got, 100);
	CHECK(got[0] == 3);
	FAILS(INGOT_STALE, ingot_context_location(child, a, &location));
}

static void a7(struct trial *t)
{
	struct ingot_context one, two, child;
	struct ingot_node a = node_f32(t, "a", 2);
	float first[2] = { 1, 2 }, second[2] = { 3, 4 }, got[2];
	OK(ingot_context_new(t->stream, &one));
	OK(ingot_context_new(t->stream, &two));
	OK(ingot_context_place(one, &a, 1));
	OK(ingot_context_place(two, &a, 1));
	write_f32(one, a, first, 2);
	write_f32(two, a, second, 2);
	read_f32(one, a, got, 2);
	CHECK(got[0] == 1); /* unrelated: each its own */
	OK(ingot_context_child(one, (struct ingot_stream){ 0 }, &child));
	OK(ingot_context_place(child, &a, 1)); /* seen already: nothing is placed */
	write_f32(child, a, second, 2);
	read_f32(one, a, got, 2);
	CHECK(got[0] == 3);
}

static int count_up(void *argument)
{
	atomic_fetch_add((_Atomic int *)argument, 1);
	return 0;
}

static void a8(struct trial *t)
{
	_Atomic int done = 0;
	struct ingot_stream stream = other_stream(t);
	uint64_t used;
	struct ingot_library library;
	struct ingot_routine routine;
	for (int i = 0; i < 500; i++)
		OK(ingot_task_submit(
		        i % 2 ? stream : t->stream, &(struct ingot_task){ .run = count_up, .argument = &done }, NULL));
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_link(t->context, library, "dense", &routine));
	OK(ingot_device_close(t->device));
	CHECK(done == 500);
	FAILS(INGOT_STALE, ingot_device_used(t->device, &used));
	FAILS(INGOT_STALE, ingot_stream_await(stream));
	OK(ingot_device_get(t->runtime, t->device_name, 0, &t->device));
	OK(ingot_device_used(t->device, &used));
	CHECK(used == 0); /* constants were freed, once */
}

static void a9(struct trial *t)
{
	uint64_t base, used;
	uint32_t a, b, c;
	OK(ingot_device_used(t->device, &base));
	OK(ingot_pool_open(t->device, 1000, 64, INGOT_SLAB_PRIVATE, &a));
	OK(ingot_pool_open(t->device, 24, 64, INGOT_SLAB_PRIVATE, &b));
	OK(ingot_device_used(t->device, &used));
	CHECK(used == base + 1024);
	OK(ingot_pool_close(t->device, a));
	OK(ingot_device_used(t->device, &used));
	CHECK(used == base + 24);
	static char mine[64];
	if (t->host_memory) {
		OK(ingot_pool_adopt(t->device, mine, sizeof mine, &c));
		OK(ingot_device_used(t->device, &used));
		CHECK(used == base + 24); /* the caller's memory is not ours */
	}
	OK(ingot_pool_close(t->device, b));
	OK(ingot_device_used(t->device, &used));
	CHECK(used == base);
}

static void a10(struct trial *t)
{
	char text[8192];
	struct ingot_event event, closed;
	struct gate gate = { 0 };
	CHECK(ingot_device_json(t->device, text, sizeof text) < sizeof text);
	json_parses(text);
	CHECK(json_number(text, "total") == 0 && json_number(text, "unreleased") == 0
	        && json_number(text, "unfinished") == 0);
	gate_hold(t, &gate, t->stream);
	OK(ingot_event_record(t->stream, &closed));
	OK(ingot_event_record(t->stream, &event));
	OK(ingot_event_close(closed));
	ingot_device_json(t->device, text, sizeof text);
	json_parses(text);
	CHECK(json_number(text, "total") == 2 && json_number(text, "unreleased") == 1);
	CHECK(json_number(text, "unfinished") == (t->in_place ? 0 : 1));
	CHECK(json_number(text, "queued") == (t->in_place ? 0 : 3));
	gate_open(&gate);
	OK(ingot_event_sync(event));
	ingot_device_json(t->device, text, sizeof text);
	CHECK(json_number(text, "unfinished") == 0 && json_number(text, "unreleased") == 1);
	OK(ingot_event_close(event));
	ingot_device_json(t->device, text, sizeof text);
	CHECK(json_number(text, "unreleased") == 0 && json_number(text, "total") == 2);
	/* Live streams, what failed on them, their merge buffers; pools, the caller's among them; what is shared. */
	struct ingot_stream gone = other_stream(t), other = other_stream(t);
	struct ingot_context beside;
	struct ingot_node a = node_f32(t, "a", 4);
	float values[4] = { 0 };
	static _Alignas(16) char mine[64];
	uint32_t pool;
	OK(ingot_stream_close(gone));
	OK(ingot_context_new(other, &beside));
	OK(ingot_context_place(t->context, &a, 1));
	write_f32(t->context, a, values, 4);
	OK(ingot_device_to_device(a, beside, INGOT_MERGE_COPY, t->context, NULL, NULL));
	OK(ingot_stream_await(other));
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ .name = "breaker", .run = fail_7 }, NULL));
	ingot_stream_await(t->stream);
	OK(ingot_pool_open(t->device, 77, 0, INGOT_SLAB_PRIVATE, &pool));
	if (t->host_memory)
		OK(ingot_pool_adopt(t->device, mine, sizeof mine, &pool));
	ingot_device_json(t->device, text, sizeof text);
	json_parses(text);
	CHECK(strstr(text, "{\"number\":0,") && strstr(text, "{\"number\":2,") && !strstr(text, "\"number\":1"));
	CHECK(strstr(text, "\"contexts\":1,\"merge_bytes\":16,\"failure\":null}]"));
	CHECK(strstr(text, "breaker: run answered 7\"}"));
	CHECK(strstr(text, "{\"pool\":2,\"bytes\":77,\"adopted\":false}"));
	CHECK(!strstr(text, "{\"pool\":3,\"bytes\":64,\"adopted\":true}") == !t->host_memory);
	CHECK(json_number(text, "candidates") == 0 && json_number(text, "shared") == 0
	        && json_number(text, "constants") == 0 && json_number(text, "locations") == 1);
	uint64_t used;
	char wanted[200];
	OK(ingot_device_used(t->device, &used));
	CHECK(json_number(text, "used") == (double)used);
	ingot_runtime_json(t->runtime, text, sizeof text);
	json_parses(text);
	snprintf(wanted, sizeof wanted, "{\"backends\":[{\"name\":\"%s\",\"devices\":", t->device_name);
	CHECK(!strncmp(text, wanted, strlen(wanted)));
	snprintf(wanted, sizeof wanted, "\"used\":[%llu", (unsigned long long)used);
	CHECK(strstr(text, wanted));
	CHECK(strstr(text,
	        "\"open\":{\"devices\":1,\"streams\":2,\"events\":0,\"contexts\":2,\"nodes\":1,\"libraries\":0,"
	        "\"routines\":0}"));
	CHECK(json_number(text, "blocks") == (double)ingot_runtime_live(t->runtime));
	/* The properties, each as the call says it. */
	struct ingot_properties p;
	OK(ingot_device_properties(t->device, &p));
	ingot_properties_json(t->device, text, sizeof text);
	json_parses(text);
	snprintf(wanted, sizeof wanted,
	        "{\"backend\":\"%s\",\"ordinal\":%d,\"id\":%u,\"host_memory\":%s,\"slab_align\":%u,", p.backend,
	        p.ordinal, p.id, p.host_memory ? "true" : "false", p.slab_align);
	CHECK(!strncmp(text, wanted, strlen(wanted)) && p.host_memory == t->host_memory);
	CHECK(json_number(text, "compute_units") == p.compute_units
	        && json_number(text, "copy_engines") == p.copy_engines
	        && json_number(text, "shared_bytes") == (double)p.shared_bytes
	        && json_number(text, "group_threads") == p.group_threads
	        && json_number(text, "memory_bytes") == (double)p.memory_bytes);
	/* Too little room: cut, ended, and the whole length told. */
	size_t whole = strlen(text);
	CHECK(ingot_properties_json(t->device, text, 10) == whole && strlen(text) == 9);
	CHECK(ingot_properties_json(t->device, NULL, 0) == whole);
}

/* Each task waits until the other has begun: they end only if both run at once. */
struct meeting {
	_Atomic int *mine, *theirs;
};
static int meet(void *argument)
{
	struct meeting *meeting = argument;
	atomic_store(meeting->mine, 1);
	while (!atomic_load(meeting->theirs) && !fault_happened()) /* the other may not have been submitted then */
		usleep(50);
	return 0;
}

static void a11(struct trial *t)
{
	_Atomic int a = 0, b = 0;
	struct meeting one = { &a, &b }, two = { &b, &a };
	struct ingot_stream other = other_stream(t);
	struct ingot_merge_state state;
	struct ingot_device device;
	if (t->threads) {
		OK(ingot_task_submit(t->stream, &(struct ingot_task){ .run = meet, .argument = &one }, NULL));
		OK(ingot_task_submit(other, &(struct ingot_task){ .run = meet, .argument = &two }, NULL));
	}
	OK(ingot_stream_await(t->stream));
	OK(ingot_stream_await(other));
	OK(ingot_merge_buffer(other, &state, NULL));
	CHECK(!state.filled);
	OK(ingot_stream_device(other, &device));
	CHECK(ingot_device_equal(device, t->device) && !ingot_stream_equal(other, t->stream));
}

struct crowd {
	_Atomic uint32_t come;
	uint32_t wanted;
};

static int wait_for_all(void *argument)
{
	struct crowd *crowd = argument;
	atomic_fetch_add(&crowd->come, 1);
	while (atomic_load(&crowd->come) < crowd->wanted && !fault_happened()) /* one thread may be missing then */
		usleep(100);
	return 0;
}

/* Whatever stands, each stream goes on: tasks of more streams than there are cores, and each waits for all others. */
static void a11_crowd(struct trial *t)
{
	struct ingot_properties properties;
	OK(ingot_device_properties(t->device, &properties));
	struct crowd crowd = { 0, (properties.compute_units < 8 ? properties.compute_units : 8) + 5 };
	struct ingot_stream streams[16];
	uint32_t closed = crowd.wanted / 2;
	for (uint32_t i = 0; i < crowd.wanted; i++)
		streams[i] = other_stream(t);
	for (uint32_t i = 0; i < crowd.wanted && t->threads; i++)
		OK(ingot_task_submit(
		        streams[i], &(struct ingot_task){ .run = wait_for_all, .argument = &crowd }, NULL));
	for (uint32_t i = 0; i < closed; i++)
		OK(ingot_stream_close(streams[i]));
	for (uint32_t i = closed; i < crowd.wanted; i++)
		OK(ingot_stream_await(streams[i]));
	CHECK(!t->threads || crowd.come == crowd.wanted);
}

static void a12(struct trial *t)
{
	struct ingot_stream a = other_stream(t), b = other_stream(t), c = other_stream(t), d;
	CHECK(ingot_stream_number(a) == 1 && ingot_stream_number(b) == 2 && ingot_stream_number(c) == 3);
	OK(ingot_stream_close(a));
	d = other_stream(t);
	CHECK(ingot_stream_number(d) == 1 && !ingot_stream_equal(a, d));
	CHECK(ingot_stream_number(a) == -1);
	t->options.single_stream = true;
	trial_reopen(t);
	OK(ingot_stream_open(t->device, &a));
	CHECK(ingot_stream_equal(a, t->stream));
}

static void a13(struct trial *t)
{
	struct ingot_stream stream = other_stream(t), next;
	struct ingot_event event;
	bool done = false, idle;
	_Atomic int count = 0;
	OK(ingot_task_submit(stream, &(struct ingot_task){ .run = count_up, .argument = &count }, &event));
	OK(ingot_stream_close(stream));
	OK(ingot_event_done(event, &done)); /* of a stream that is no more */
	CHECK(done && count == 1);
	OK(ingot_event_sync(event));
	next = other_stream(t); /* has its number, not its handle */
	FAILS(INGOT_STALE, ingot_stream_idle(stream, &idle));
	FAILS(INGOT_STALE,
	        ingot_task_submit(stream, &(struct ingot_task){ .run = count_up, .argument = &count }, NULL));
	CHECK(count == 1);
	OK(ingot_task_submit(next, &(struct ingot_task){ .run = count_up, .argument = &count }, NULL));
	OK(ingot_device_sync(t->device));
	CHECK(count == 2);
}

static void a14(struct trial *t)
{
	static const enum ingot_parallelism policies[] = { INGOT_ONLY_DEVICES, INGOT_FOR_COPYING, INGOT_MOST_STREAMS };
	for (int i = 0; i < 5; i++) { /* 3: options that leave it open; 4: no options */
		struct ingot_runtime *runtime;
		struct ingot_device device;
		struct ingot_properties p;
		int count = -1;
		OK(ingot_runtime_open(&runtime, &t->options));
		second_runtime(runtime);
		OK(ingot_backend_init(runtime, t->device_name,
		        i == 4           ? NULL
		                : i == 3 ? &(struct ingot_backend_options){ .intra_op_threads = 1 }
		                         : &(struct ingot_backend_options){
		                                 .parallelism = policies[i], .intra_op_threads = 1 }));
		OK(ingot_device_get(runtime, t->device_name, 0, &device));
		OK(ingot_device_properties(device, &p));
		OK(ingot_device_suggested_streams(device, &count));
		int cores = (int)p.compute_units;
		CHECK(!strcmp(t->device_name, "cuda") ? p.copy_engines >= 1 && cores > 3
		                : !t->host_memory     ? p.copy_engines == 2 && cores > 3
		                                      : cores == sysconf(_SC_NPROCESSORS_ONLN));
		if (t->in_place) /* it has no second to run anything */
			CHECK(count == 1);
		else if (t->host_memory) /* threads: whatever the policy */
			CHECK(count == (cores > 3 ? cores - 2 : 1));
		else
			CHECK(count == (i == 0 ? 1 : i == 2 ? cores : 1 + (int)p.copy_engines));
		second_runtime(NULL);
		OK(ingot_runtime_close(runtime));
	}
	FAILS(INGOT_INVALID,
	        ingot_backend_init(t->runtime, "sync", &(struct ingot_backend_options){ .parallelism = 99 }));
}

static void a15(struct trial *t)
{
	struct ingot_runtime *runtime;
	struct ingot_device device;
	OK(ingot_runtime_open(&runtime, &t->options));
	second_runtime(runtime);
	CHECK(!ingot_backend_ready(runtime, t->device_name));
	FAILS(INGOT_UNREADY, ingot_device_get(runtime, t->device_name, 0, &device));
	SAYS(t->device_name);
	OK(ingot_backend_init(runtime, t->device_name, NULL));
	OK(ingot_backend_init(runtime, t->device_name, NULL));
	CHECK(ingot_backend_ready(runtime, t->device_name));
	OK(ingot_device_get(runtime, t->device_name, 0, &device));
	second_runtime(NULL);
	OK(ingot_runtime_close(runtime));
}

static void run_small(struct ingot_runtime *runtime, const char *name, float *y)
{
	struct ingot_device device;
	struct ingot_stream stream;
	struct ingot_context context;
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_node x;
	struct ingot_node out;
	float in[SMALL_COUNT];
	OK(ingot_backend_init(runtime, name, &(struct ingot_backend_options){ .intra_op_threads = 2 }));
	OK(ingot_device_get(runtime, name, 0, &device));
	OK(ingot_stream_default(device, &stream));
	OK(ingot_context_new(stream, &context));
	OK(ingot_library_load(runtime, &small_module, NULL, &library));
	OK(ingot_link(context, library, "dense", &routine));
	OK(ingot_routine_context(routine, &context));
	OK(ingot_library_node(library, "x", &x));
	OK(ingot_library_node(library, "y", &out));
	for (int i = 0; i < SMALL_COUNT; i++)
		in[i] = 0.1f * (float)i;
	OK(ingot_routine_set(routine, "n", SMALL_COUNT));
	write_f32(context, x, in, SMALL_COUNT);
	for (int i = 0; i < 3; i++)
		OK(ingot_routine_run(routine, NULL));
	read_f32(context, out, y, SMALL_COUNT);
}

/* The device in place is the oracle: the same program gives the same bits. */
static void a17(struct trial *t)
{
	float mine[SMALL_COUNT], oracle[SMALL_COUNT];
	struct ingot_runtime *runtime;
	struct ingot_event event;
	bool done = false, idle = false;
	run_small(t->runtime, t->device_name, mine);
	OK(ingot_runtime_open(&runtime,
	        &(struct ingot_runtime_options){ .allocate = t->options.allocate, .release = t->options.release }));
	second_runtime(runtime);
	run_small(runtime, "sync", oracle);
	struct ingot_device device;
	struct ingot_stream stream;
	OK(ingot_device_get(runtime, "sync", 0, &device));
	OK(ingot_stream_default(device, &stream));
	_Atomic int count = 0;
	OK(ingot_task_submit(stream, &(struct ingot_task){ .run = count_up, .argument = &count }, &event));
	CHECK(count == 1); /* done when submit returns */
	OK(ingot_event_done(event, &done));
	OK(ingot_stream_idle(stream, &idle));
	CHECK(done && idle);
	second_runtime(NULL);
	ingot_runtime_close(runtime);
	CHECK(!memcmp(mine, oracle, sizeof mine));
}

static void a18(struct trial *t)
{
	struct ingot_runtime *runtimes[2];
	struct ingot_device devices[2];
	struct ingot_runtime *old = t->runtime;
	t->runtime = NULL;
	ingot_runtime_close(old);
	uint32_t pools[2][2];
	uint64_t bytes;
	for (int i = 0; i < 2; i++) {
		OK(ingot_runtime_open(runtimes + i, &t->options));
		if (i == 0)
			t->runtime = runtimes[0]; /* closed with the trial, whatever happens */
		else
			second_runtime(runtimes[1]);
		OK(ingot_backend_init(runtimes[i], t->device_name, NULL));
		OK(ingot_device_get(runtimes[i], t->device_name, 0, devices + i));
		OK(ingot_pool_open(devices[i], 100 + 100 * (uint64_t)i, 0, INGOT_SLAB_PRIVATE, &pools[i][0]));
		OK(ingot_pool_open(devices[i], 10, 0, INGOT_SLAB_PRIVATE, &pools[i][1]));
	}
	CHECK(pools[0][0] == pools[1][0] && pools[0][1] == pools[1][1]);
	OK(ingot_pool_bytes(devices[0], pools[0][0], &bytes));
	CHECK(bytes == 100);
	OK(ingot_device_used(devices[0], &bytes));
	CHECK(bytes == 110);
	FAILS(INGOT_MISSING, ingot_backend_init(t->runtime, "metal", NULL));
	SAYS("metal");
	t->runtime = NULL;
	OK(ingot_runtime_close(runtimes[0]));
	OK(ingot_pool_bytes(devices[1], pools[1][0], &bytes));
	CHECK(bytes == 200);
	t->runtime = runtimes[1];
	second_runtime(NULL);
}

static void a19(struct trial *t)
{
	struct ingot_runtime *runtime;
	struct ingot_device device;
	struct ingot_properties p;
	struct ingot_library library;
	struct ingot_routine routines[6];
	struct ingot_context last;
	struct ingot_node x;
	char text[2048];
	bool can = true;
	OK(ingot_runtime_open(&runtime, NULL));
	FAILS(INGOT_UNREADY, ingot_device_default(runtime, &device));
	OK(ingot_backend_init(runtime, "auto", NULL)); /* no GPU here: the next in the list */
	OK(ingot_device_default(runtime, &device));
	OK(ingot_device_properties(device, &p));
	CHECK(!strcmp(p.backend, "multicore") || !strcmp(p.backend, "cuda"));
	OK(ingot_runtime_close(runtime));
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_link_all(t->context, library, NULL, NULL, routines, &last));
	OK(ingot_routine_can_run(routines[1], &can));
	CHECK(!can);
	FAILS(INGOT_UNREADY,
	        ingot_routine_run(routines[1], NULL)); /* the consumer before its producer: both are named */
	SAYS("twice reads n3_y, which nobody has written; dense would");
	OK(ingot_routine_set(routines[0], "n", 4));
	FAILS(INGOT_UNREADY, ingot_routine_run(routines[0], NULL)); /* nobody has written x */
	CHECK(!strcmp(ingot_message(), "dense reads n0_x, which nobody has written"));
	OK(ingot_library_node(library, "x", &x));
	float in[SMALL_COUNT] = { 0 };
	write_f32(last, x, in, SMALL_COUNT);
	OK(ingot_routine_run(routines[0], NULL));
	OK(ingot_routine_can_run(routines[1], &can));
	CHECK(can);
	OK(ingot_routine_run(routines[1], NULL));
	ingot_routine_json(routines[1], text, sizeof text);
	json_parses(text);
	CHECK(strstr(text, "{\"reads_after\":\"dense\"}"));
	ingot_routine_json(routines[0], text, sizeof text);
	CHECK(strstr(text, "{\"overwrites_after_read\":\"twice\"}") && strstr(text, "{\"overwrites\":\"steps\"}"));
}

static void a20(struct trial *t)
{
	struct ingot_device other, twin;
	struct ingot_stream stream, mine = other_stream(t), copy = mine;
	OK(ingot_backend_init(t->runtime, t->in_place ? "multicore" : "sync", NULL));
	OK(ingot_device_get(t->runtime, t->in_place ? "multicore" : "sync", 0, &other));
	OK(ingot_stream_open(other, &stream));
	CHECK(ingot_stream_number(stream) == ingot_stream_number(mine));
	CHECK(!ingot_stream_equal(stream, mine)); /* equal numbers, equal ordinals, unequal backends */
	CHECK(ingot_stream_equal(copy, mine));
	CHECK(!ingot_device_equal(other, t->device));
	OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
	CHECK(!ingot_device_equal(twin, t->device));
}

const struct row rows_device[] = {
	{ "A1", "ingot_device_another", "device_record", a1, NULL, NULL },
	{ "A2", "ingot_device_get", "get_device", a2, NULL, NULL },
	{ "A3", "ingot_device_name", "names_in_errors", a3, NULL, NULL },
	{ "A4", "struct ingot_backend", "third_backend", a4, NULL, NULL },
	{ "A5", "ingot_context_child", "parent_and_child", a5, NULL, NULL },
	{ "A5", "ingot_context_child_merging", "merge_node_of_a_child", a5_merging, NULL, NULL },
	{ "A6", "ingot_context_finalize", "finalize", a6, NULL, NULL },
	{ "A7", "ingot_context_new", "unrelated_contexts", a7, NULL, NULL },
	{ "A8", "ingot_device_close", "device_lifetime", a8, NULL, NULL },
	{ "A9", "ingot_device_used", "used_memory", a9, NULL, NULL },
	{ "A10", "ingot_device_json", "debug_dumps", a10, NULL, NULL },
	{ "A11", "ingot_stream_open", "streams_run_at_once", a11, NULL, NULL },
	{ "A11", "ingot_stream_open", "all_streams_go_on", a11_crowd, NULL, NULL },
	{ "A12", "ingot_stream_number", "stream_ids", a12, NULL, NULL },
	{ "A13", "ingot_device_sync", "dead_streams", a13, NULL, NULL },
	{ "A14", "ingot_device_suggested_streams", "suggested_streams", a14, NULL, NULL },
	{ "A15", "ingot_backend_init", "explicit_init", a15, NULL, NULL },
	{ "A16", "-", "optimizer_context", NULL, "lives in the generator", NULL },
	{ "A17", "ingot_backend_sync", "same_as_the_oracle", a17, NULL, NULL },
	{ "A18", "ingot_runtime_open", "isolated_runtimes", a18, NULL, NULL },
	{ "A19", "ingot_routine_can_run", "ledger", a19, NULL, NULL },
	{ "A20", "ingot_stream_equal", "equality", a20, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
