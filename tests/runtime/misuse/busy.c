/* busy.c: a device that has more than it has done, and fails: while issuing, while executing, for good; what a backend
 * may leave out; backends of another version. */
#include "misuse.h"
#include "../rows/mock.h"

static enum ingot_status fill(struct scene *t, struct ingot_stream stream, int byte, struct ingot_event *done)
{
	return ingot_pool_fill(stream, t->pool, 0, 64, byte, done);
}

/* ---- the mock's driver fails ---- */

/* The third of five cannot be issued: the two before it run, those behind it do not. */
static enum ingot_status busy_issue(struct scene *t)
{
	struct ingot_event done[5];
	MUST(ingot_stream_await(t->stream));
	int count = 0;
	mock_hold(true);
	mock_fault(MOCK_ISSUE, 2);
	for (; count < 5 && !fill(t, t->stream, count, done + count); count++)
		;
	mock_hold(false);
	if (count < 3 || ingot_event_sync(done[0]) || ingot_event_sync(done[1]))
		return INGOT_FAILED;
	for (int i = 3; i < count; i++)
		if (ingot_event_sync(done[i]) != INGOT_DEVICE)
			return INGOT_FAILED;
	return ingot_event_sync(done[2]);
}

/* The second of three that are all in flight fails on the device: it and what it was followed by count for nothing, on
 * another stream too, and the stream goes on after a restart. */
static enum ingot_status busy_execute(struct scene *t)
{
	struct ingot_event done[3], other;
	MUST(ingot_stream_await(t->stream));
	mock_hold(true);
	mock_fault(MOCK_EXECUTE, 1);
	for (int i = 0; i < 3; i++)
		MUST(fill(t, t->stream, i, done + i));
	MUST(ingot_pool_read(t->other, t->pool, 0, t->host, 64, &other));
	mock_hold(false);
	if (ingot_event_sync(done[0]) || ingot_event_sync(done[1]) != INGOT_DEVICE
	        || ingot_event_sync(done[2]) != INGOT_DEVICE || ingot_event_sync(other) != INGOT_DEPENDENCY)
		return INGOT_FAILED;
	ingot_stream_await(t->stream);
	ingot_stream_await(t->other);
	MUST(ingot_stream_restart(t->stream));
	MUST(ingot_stream_restart(t->other));
	MUST(fill(t, t->stream, 1, done));
	return ingot_event_sync(done[0]);
}

/* Lost is for good: on all streams of the device, also after a restart, and it can still be closed. */
static enum ingot_status busy_lost(struct scene *t)
{
	struct ingot_event done, other;
	MUST(ingot_device_sync(t->device));
	mock_fault(MOCK_LOST, 0);
	MUST(fill(t, t->stream, 1, &done));
	if (ingot_event_sync(done) != INGOT_LOST || fill(t, t->stream, 1, NULL) != INGOT_LOST
	        || fill(t, t->other, 1, &other) != INGOT_LOST || ingot_stream_restart(t->stream) != INGOT_LOST
	        || ingot_routine_run(t->dense, NULL) != INGOT_LOST)
		return INGOT_FAILED;
	MUST(ingot_device_close(t->device));
	return INGOT_OK;
}

/* One stream cannot be made to wait for another: what should have waited is not run. */
static enum ingot_status apart(struct scene *t, enum mock_fault fault)
{
	struct ingot_event done;
	MUST(ingot_device_sync(t->device));
	mock_hold(true);
	mock_fault(fault, 0);
	MUST(fill(t, t->stream, 1, NULL));
	MUST(ingot_pool_read(t->other, t->pool, 0, t->host, 64, &done));
	while (mock_fault_waits()) /* meanwhile there is something to wait for */
		usleep(500);
	mock_hold(false);
	enum ingot_status status = ingot_event_sync(done);
	ingot_stream_await(t->other);
	MUST(ingot_stream_restart(t->other)); /* the next time it can */
	MUST(fill(t, t->stream, 1, NULL));
	MUST(ingot_pool_read(t->other, t->pool, 0, t->host, 64, &done));
	MUST(ingot_event_sync(done));
	return status;
}
static enum ingot_status busy_record(struct scene *t) { return apart(t, MOCK_RECORD); }
static enum ingot_status busy_wait(struct scene *t) { return apart(t, MOCK_WAIT); }
static enum ingot_status busy_event(struct scene *t) { return apart(t, MOCK_EVENT); }

static enum ingot_status busy_module(struct scene *t)
{
	struct ingot_library pair;
	uint32_t before = mock_counts().modules;
	MUST(ingot_library_load(t->runtime, &small_pair_module, NULL, &pair));
	mock_fault(MOCK_MODULE, 0);
	enum ingot_status status = ingot_link(t->context, pair, "copy", &t->twice);
	MUST(ingot_link(t->context, pair, "copy", &t->twice)); /* the second time it can be loaded */
	if (mock_counts().modules != before + 1)
		return INGOT_FAILED;
	MUST(ingot_routine_close(t->twice));
	MUST(ingot_library_close(pair));
	return mock_counts().modules == before ? status : INGOT_FAILED;
}

/* A schedule goes whole; one of its steps fails. */
static enum ingot_status busy_schedule(struct scene *t)
{
	struct ingot_event done;
	uint32_t before = mock_counts().schedules;
	MUST(ingot_link(t->linked, t->library, "steps", &t->twice));
	MUST(ingot_routine_run(t->twice, &done));
	MUST(ingot_event_sync(done));
	if (mock_counts().schedules != before + 1)
		return INGOT_FAILED;
	mock_fault(MOCK_EXECUTE, 2);
	MUST(ingot_routine_run(t->twice, &done));
	return ingot_event_sync(done);
}

/* It cannot be issued whole: nothing of it runs, and after a restart it can. */
static enum ingot_status busy_capture(struct scene *t)
{
	struct ingot_event done;
	MUST(ingot_link(t->linked, t->library, "steps", &t->twice));
	MUST(ingot_device_sync(t->device));
	mock_fault(MOCK_CAPTURE, 0);
	MUST(ingot_routine_run(t->twice, &done));
	enum ingot_status status = ingot_event_sync(done);
	ingot_stream_await(t->stream);
	MUST(ingot_stream_restart(t->stream));
	MUST(ingot_routine_run(t->twice, &done));
	MUST(ingot_event_sync(done));
	return status;
}

/* Memory that copies to the host need not stop for: the mode reaches the backend, and what replaces it. */
static enum ingot_status busy_pinned_slab(struct scene *t)
{
	uint32_t pool;
	MUST(ingot_pool_open(t->device, 4096, 0, INGOT_SLAB_PINNED, &pool));
	if (mock_counts().pinned_slabs != 1)
		return INGOT_FAILED;
	MUST(ingot_pool_replace(t->device, pool, 8192, 0, INGOT_SLAB_PRIVATE));
	if (mock_counts().pinned_slabs)
		return INGOT_FAILED;
	MUST(ingot_pool_replace(t->device, pool, 4096, 0, INGOT_SLAB_PINNED));
	MUST(ingot_pool_close(t->device, pool));
	return THAT(mock_counts().pinned_slabs == 0);
}

static enum ingot_status busy_pin(struct scene *t)
{
	MUST(ingot_host_pin(t->device, t->host, 64));
	if (mock_counts().pinned != 1)
		return INGOT_FAILED;
	MUST(ingot_host_unpin(t->device, t->host));
	mock_fault(MOCK_PIN, 0);
	enum ingot_status status = ingot_host_pin(t->device, t->host, 64);
	return mock_counts().pinned ? INGOT_FAILED : status;
}

/* Without a way between the devices it goes through the host, and arrives. */
static enum ingot_status busy_peer(struct scene *t)
{
	struct ingot_device second;
	struct ingot_stream stream;
	struct ingot_context there;
	struct ingot_event done;
	float now[16] = { 0 };
	bool peer = false;
	MUST(ingot_device_get(t->runtime, "mock", 1, &second));
	MUST(ingot_stream_default(second, &stream));
	MUST(ingot_context_new(stream, &there));
	MUST(ingot_context_place(there, &t->node, 1));
	MUST(ingot_device_peer(second, t->device, &peer));
	if (!peer)
		return INGOT_FAILED;
	for (int i = 0; i < 16; i++)
		t->host[i] = 5;
	MUST(ingot_write(t->context, t->node, t->host, 64, NULL));
	MUST(ingot_device_sync(t->device));
	uint32_t before = mock_counts().peer_copies;
	mock_fault(MOCK_PEER, 0);
	MUST(ingot_device_to_device(t->node, there, INGOT_MERGE_NONE, t->context, NULL, NULL));
	MUST(ingot_read(there, t->node, now, 64, &done));
	MUST(ingot_event_sync(done));
	if (now[0] != 5 || mock_counts().peer_copies != before)
		return INGOT_FAILED;
	MUST(ingot_device_to_device(t->node, there, INGOT_MERGE_NONE, t->context, NULL, NULL));
	MUST(ingot_device_sync(second));
	return THAT(mock_counts().peer_copies == before + 1);
}

/* A task runs when what is before it is done, however much is in flight. */
static int look(void *argument)
{
	struct scene *t = argument;
	return mock_counts().in_flight != 0 && t->scratch == NULL;
}
static enum ingot_status busy_task(struct scene *t)
{
	struct ingot_event done;
	MUST(ingot_device_sync(t->device));
	mock_hold(true);
	for (int i = 0; i < 50; i++)
		MUST(fill(t, t->stream, i, NULL));
	MUST(ingot_task_submit(t->stream, &(struct ingot_task){ .run = look, .argument = t }, &done));
	mock_hold(false);
	return ingot_event_sync(done);
}

/* ---- every backend ---- */

static enum ingot_status busy_version(struct scene *t)
{
	static struct ingot_backend old;
	struct ingot_runtime *runtime;
	old = *backend_named(t->device_name);
	old.version = 1;
	old.name = "old";
	MUST(ingot_runtime_open(&runtime,
	        &(struct ingot_runtime_options){ .backends = (const struct ingot_backend *const[]){ &old, NULL } }));
	enum ingot_status status = ingot_backend_init(runtime, "old", NULL);
	ingot_runtime_close(runtime);
	return status;
}

WAY(busy, pin_null, ingot_host_pin(t->device, NULL, 64))
WAY(busy, peer_null, ingot_device_peer(t->device, t->device, NULL))
WAY(busy, peer_itself, ({
	bool peer = false;
	enum ingot_status status = ingot_device_peer(t->device, t->device, &peer);
	status ? status : THAT(peer);
}))

/* ---- tasks say what they read and write ---- */

struct summing {
	float *from, sum;
	_Atomic int ran;
};
static int sum_all(void *argument)
{
	struct summing *summing = argument;
	summing->sum = 0;
	for (int i = 0; i < 16; i++)
		summing->sum += summing->from[i];
	atomic_fetch_add(&summing->ran, 1);
	return 0;
}

/* Another library's call between two transfers of other streams, with no event written by hand: it reads what was
 * written before it, and what is written behind it comes too late for it. */
static enum ingot_status task_reads(struct scene *t)
{
	if (!t->host_memory)
		return INGOT_OK;
	struct ingot_context there;
	struct summing summing = { 0 };
	void *address;
	float twos[16], nines[16];
	struct ingot_event done, written;
	for (int i = 0; i < 16; i++)
		twos[i] = 2, nines[i] = 9;
	MUST(ingot_context_child(t->context, t->other, &there));
	MUST(ingot_context_address(t->context, t->node, &address));
	summing.from = address;
	for (int round = 0; round < 200; round++) {
		MUST(ingot_write(t->context, t->node, twos, 64, NULL));
		MUST(ingot_task_submit(t->other,
		        &(struct ingot_task){ .run = sum_all,
		                .argument = &summing,
		                .use_count = 1,
		                .uses = &(struct ingot_use){ .context = there, .node = t->node } },
		        &done));
		MUST(ingot_write(t->context, t->node, nines, 64, &written));
		MUST(ingot_event_sync(done));
		MUST(ingot_event_sync(written));
		MUST(ingot_event_close(done));
		MUST(ingot_event_close(written));
		if (summing.sum != 32)
			return INGOT_FAILED;
	}
	return INGOT_OK;
}

static int set_all(void *argument)
{
	for (int i = 0; i < 16; i++)
		((float *)argument)[i] = 7;
	return 0;
}

/* What a task writes counts as written, and a routine that reads it comes behind it. */
static enum ingot_status task_writes(struct scene *t)
{
	if (!t->host_memory)
		return INGOT_OK;
	void *address;
	float now[16] = { 0 };
	struct ingot_event done;
	struct ingot_context fresh, below;
	MUST(ingot_context_new(t->stream, &fresh));
	MUST(ingot_context_place(fresh, &t->node, 1));
	MUST(ingot_context_address(fresh, t->node, &address));
	if (ingot_read(fresh, t->node, now, 64, NULL) != INGOT_UNREADY)
		return INGOT_FAILED;
	MUST(ingot_task_submit(t->other,
	        &(struct ingot_task){ .run = set_all,
	                .argument = address,
	                .use_count = 1,
	                .uses = &(struct ingot_use){ fresh, t->node, true, false } },
	        NULL));
	MUST(ingot_context_child(fresh, t->stream, &below));
	MUST(ingot_read(below, t->node, now, 64, &done));
	MUST(ingot_event_sync(done));
	return THAT(now[15] == 7);
}

static struct ingot_use use_of(struct ingot_context context, struct ingot_node node, bool write)
{
	return (struct ingot_use){ context, node, write, false };
}
#define T(name, ...) \
	static enum ingot_status task_##name(struct scene *t) \
	{ \
		struct ingot_use use = __VA_ARGS__; \
		return ingot_task_submit(t->stream, &(struct ingot_task){ .uses = &use, .use_count = 1 }, NULL); \
	}
T(uses_stale, use_of(t->context, (struct ingot_node){ 0 }, false))
T(uses_missing, use_of(t->context, t->y, false))
T(uses_constant, use_of(t->linked, t->w, true))
T(uses_unwritten, ({
	struct ingot_context fresh;
	MUST(ingot_context_new(t->stream, &fresh));
	MUST(ingot_context_place(fresh, &t->node, 1));
	use_of(fresh, t->node, false);
}))
T(uses_empty_merge, (struct ingot_use){ .context = t->context, .merge = true })
static enum ingot_status task_uses_null(struct scene *t)
{
	return ingot_task_submit(t->stream, &(struct ingot_task){ .use_count = 2 }, NULL);
}

#define M(name, status) \
	{ \
		"busy", #name, status, status, busy_##name, "mock" \
	}
#define R(group, name, status) \
	{ \
#group, #name, status, status, group##_##name, NULL \
	}
const struct way ways_busy[] = { M(issue, INGOT_DEVICE), M(execute, INGOT_OK), M(lost, INGOT_OK),
	M(record, INGOT_DEVICE), M(wait, INGOT_DEVICE), M(event, INGOT_MEMORY), M(module, INGOT_DEVICE),
	M(schedule, INGOT_DEVICE), M(capture, INGOT_DEVICE), M(pinned_slab, INGOT_OK), M(pin, INGOT_MEMORY),
	M(peer, INGOT_OK), M(task, INGOT_OK), R(busy, version, INGOT_UNSUPPORTED), R(busy, pin_null, INGOT_INVALID),
	R(busy, peer_null, INGOT_INVALID), R(busy, peer_itself, INGOT_OK), R(task, reads, INGOT_OK),
	R(task, writes, INGOT_OK), R(task, uses_stale, INGOT_STALE), R(task, uses_missing, INGOT_MISSING),
	R(task, uses_constant, INGOT_CONFLICT), R(task, uses_unwritten, INGOT_UNREADY),
	R(task, uses_empty_merge, INGOT_MISMATCH), R(task, uses_null, INGOT_INVALID), { 0 } };
