/* rows_meaning.c: small faults of meaning that nothing else sees (semantic.py): an edge, a reference or a reader too few,
 * an early signal; each behind work that takes its time. */
#include <unistd.h>
#include "fault.h"
#include "rows.h"

static struct ingot_context context_on(struct ingot_stream stream)
{
	struct ingot_context context;
	OK(ingot_context_new(stream, &context));
	return context;
}

/* What a kernel does to a pool comes before what another stream reads there, though no kernel says what it writes. */
static void launch_then_read(struct trial *t)
{
	struct ingot_library library;
	const struct ingot_module_kernel *kernel;
	struct ingot_stream other = other_stream(t);
	struct ingot_buffer args[3];
	struct gate gate = { 0 };
	float a[4] = { 1, 2, 3, 4 }, none[4] = { 0 }, got[4] = { 0 };
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_library_kernel(library, "multiply", &kernel));
	for (int i = 0; i < 3; i++) {
		OK(ingot_buffer_open(t->device, INGOT_F32, 4, args + i));
		OK(ingot_buffer_write(t->stream, args + i, i < 2 ? a : none, 16, 0, 16));
	}
	gate_hold(t, &gate, t->stream);
	OK(ingot_kernel_launch(t->stream, kernel, (const uint32_t[]){ 4, 1, 1 }, NULL, args, 3, NULL));
	OK(ingot_pool_read(other, args[2].pool, 0, got, sizeof got, NULL));
	pthread_t thread = gate_open_soon(&gate);
	OK(ingot_stream_await(other));
	CHECK(got[0] == 1 && got[3] == 16);
	CHECK(!pthread_join(thread, NULL));
}

struct running {
	struct gate gate;
	struct ingot_use use;
	struct ingot_event done;
};

/* A task that writes the node, and has begun. */
static void begin(struct trial *t, struct running *r, struct ingot_context context, struct ingot_node node)
{
	*r = (struct running){ .use = { .context = context, .node = node, .write = true } };
	if (!t->threads)
		atomic_store(&r->gate.open, 1);
	OK(ingot_task_submit(t->stream,
	        &(struct ingot_task){ .run = gate_stand, .argument = &r->gate, .uses = &r->use, .use_count = 1 },
	        &r->done));
	while (t->threads && !atomic_load(&r->gate.entered))
		usleep(100);
}

/* Work that runs is not over: it is a writer, also behind a later one, and its event is unfinished. */
static void running_is_not_done(struct trial *t)
{
	static char text[8192];
	struct ingot_stream other = other_stream(t), streams[4];
	struct ingot_context there = context_on(other);
	const char *label = "shared";
	const int64_t dims = 4;
	struct ingot_node node;
	struct running r;
	uint32_t count = 9, undone = t->threads ? 2 : 0;
	float v[4] = { 1 };
	OK(ingot_node_new(t->runtime,
	        &(struct ingot_node_options){ .labels = &label,
	                .label_count = 1,
	                .dtype = INGOT_F32,
	                .rank = 1,
	                .dims = &dims,
	                .sharing = INGOT_SHARED,
	                .provenance = INGOT_BY_USER },
	        &node));
	OK(ingot_context_place(t->context, &node, 1));
	OK(ingot_context_child(t->context, other, &there));
	write_f32(t->context, node, v, 4);
	begin(t, &r, t->context, node);
	CHECK(ingot_device_json(t->device, text, sizeof text) < sizeof text);
	CHECK(!t->threads || json_number(text, "unfinished") == 1);
	OK(ingot_write(there, node, v, sizeof v, NULL));
	OK(ingot_writer_streams(t->context, node, streams, 4, &count));
	CHECK(!t->threads || count == undone);
	gate_open(&r.gate);
	OK(ingot_device_sync(t->device));
	OK(ingot_writer_streams(t->context, node, streams, 4, &count));
	CHECK(count == 0);
}

/* What is closed away between two others keeps their order. */
static void forgone_between(struct trial *t)
{
	struct ingot_stream middle = other_stream(t), last = other_stream(t);
	struct ingot_event nobody;
	struct gate gate = { 0 };
	uint32_t pool;
	unsigned char got[4] = { 0 };
	OK(ingot_pool_open(t->device, 4, 0, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_event_open(t->runtime, &nobody));
	OK(ingot_pool_fill(t->stream, pool, 0, 4, 1, NULL));
	OK(ingot_stream_await(t->stream));
	gate_hold(t, &gate, t->stream);
	OK(ingot_pool_fill(t->stream, pool, 0, 4, 7, NULL));
	OK(ingot_stream_wait(middle, nobody));
	OK(ingot_pool_fill(middle, pool, 0, 4, 9, NULL));
	OK(ingot_stream_close(middle));
	OK(ingot_pool_read(last, pool, 0, got, 1, NULL));
	OK(ingot_pool_read(last, pool, 0, got + 1, 1, NULL));
	pthread_t thread = gate_open_soon(&gate);
	OK(ingot_stream_await(last));
	CHECK(got[0] == 7 && got[1] == 7);
	CHECK(!pthread_join(thread, NULL));
	OK(ingot_event_signal(nobody));
}

/* Memory of the caller's keeps the device as often as it is taken. */
static void adopted_again(struct trial *t)
{
	static _Alignas(64) unsigned char memory[64];
	struct ingot_device device;
	struct ingot_stream stream;
	uint32_t pools[12];
	OK(ingot_device_another(t->runtime, t->device_name, 0, &device));
	OK(ingot_stream_default(device, &stream));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 12; i++)
			OK(ingot_pool_adopt(device, memory, sizeof memory, pools + i));
		for (int i = 0; i < 12; i++)
			OK(ingot_pool_close(device, pools[i]));
	}
	OK(ingot_pool_open(device, 64, 0, INGOT_SLAB_PRIVATE, pools));
	OK(ingot_pool_fill(stream, pools[0], 0, 64, 1, NULL));
	OK(ingot_stream_await(stream));
	OK(ingot_device_close(device));
}

/* Libraries that go while nobody signals what their constants wait for. */
static void closed_behind_nobody(struct trial *t)
{
	static _Alignas(64) float own[SMALL_COUNT + 1];
	static struct ingot_module modules[4];
	struct ingot_event nobody[4];
	struct ingot_stream stream = other_stream(t);
	memcpy(own + 1, small_weights, sizeof small_weights);
	for (int round = 0; round < 4; round++) {
		struct ingot_library library;
		struct ingot_routine routine;
		modules[round] = small_module;
		modules[round].constants.data = own + 1; /* not aligned: copied */
		modules[round].constants.hash = 0;
		OK(ingot_event_open(t->runtime, nobody + round));
		OK(ingot_stream_wait(stream, nobody[round]));
		OK(ingot_library_load(t->runtime, modules + round, NULL, &library));
		struct ingot_context context = context_on(stream);
		OK(ingot_link(context, library, "dense", &routine));
		OK(ingot_routine_close(routine));
		OK(ingot_library_close(library));
		OK(ingot_event_signal(nobody[round]));
		OK(ingot_event_close(nobody[round]));
		OK(ingot_context_close(context));
		(void)ingot_stream_await(stream);
		(void)ingot_stream_restart(stream);
	}
}

/* ---- another thread that is in a call, without the lock ---- */

struct placer {
	struct trial *t;
	struct gate gate;
	struct ingot_node node;
	enum ingot_status status;
	_Atomic bool over;
	pthread_t thread, opener;
};

static void *place(void *argument)
{
	struct placer *placer = argument;
	placer->status = ingot_context_place(placer->t->context, &placer->node, 1);
	atomic_store(&placer->over, true);
	return NULL;
}

/* It stands where it asks the device for memory, and goes on in a while. */
static void placer_begin(struct trial *t, struct placer *placer)
{
	*placer = (struct placer){ .t = t, .node = node_f32(t, "x", 16) };
	fault_stand_at_slab(&placer->gate);
	CHECK(!pthread_create(&placer->thread, NULL, place, placer));
	while (!atomic_load(&placer->gate.entered) && !atomic_load(&placer->over))
		usleep(100);
	fault_stand_at_slab(NULL);
	placer->opener = gate_open_soon(&placer->gate);
}

static void placer_end(struct placer *placer)
{
	CHECK(!pthread_join(placer->opener, NULL) && !pthread_join(placer->thread, NULL));
	CHECK(atomic_load(&placer->gate.entered));
}

/* A device goes when nobody places anything on it. */
static void closed_behind_placing(struct trial *t)
{
	struct placer placer;
	placer_begin(t, &placer);
	enum ingot_status status = ingot_device_close(t->device);
	bool placed = atomic_load(&placer.gate.left);
	placer_end(&placer);
	OK(status);
	CHECK(placed && (!placer.status || placer.status == INGOT_STALE));
}

/* A node that another thread is placing has a place already. */
static void adopted_behind_placing(struct trial *t)
{
	static _Alignas(64) float own[16];
	struct placer placer;
	placer_begin(t, &placer);
	enum ingot_status status = ingot_context_adopt(t->context, placer.node, own, sizeof own);
	placer_end(&placer);
	OK(placer.status);
	FAILS(INGOT_PRESENT, status);
}

enum { MANY = 1 << 20 };

struct setter {
	struct ingot_node node;
	double *values;
	enum ingot_status status;
	_Atomic bool over;
};

static void *set_all(void *argument)
{
	struct setter *setter = argument;
	setter->status = ingot_node_set_all(setter->node, setter->values, MANY);
	atomic_store(&setter->over, true);
	return NULL;
}

/* A task writes a part of what another thread just gives other values: what goes up of the rest is all of these. */
static void part_behind_values(struct trial *t)
{
	struct setter setter = { .values = malloc(MANY * sizeof(double)) };
	struct ingot_node part;
	float *got = calloc(MANY, sizeof *got);
	pthread_t thread;
	t->options.automatic_transfers = true;
	trial_reopen(t);
	setter.node = node_f32(t, "x", MANY);
	OK(ingot_node_slice(setter.node, 0, 4, &part));
	CHECK(setter.values && got);
	OK(ingot_context_place(t->context, &setter.node, 1));
	for (int round = 1; round < 4; round++) {
		struct ingot_use use = { .context = t->context, .node = part, .write = true };
		struct ingot_device device;
		uint32_t devices = 1;
		enum ingot_status status = INGOT_OK;
		OK(ingot_write(t->context, setter.node, got, MANY * sizeof *got, NULL));
		OK(ingot_stream_await(t->stream));
		for (int i = 0; i < MANY; i++)
			setter.values[i] = round;
		atomic_store(&setter.over, false);
		CHECK(!pthread_create(&thread, NULL, set_all, &setter));
		while (devices && !status && !atomic_load(&setter.over)) /* until the host has the newest */
			status = ingot_node_devices(setter.node, &device, 1, &devices);
		status = status
		        ? status
		        : ingot_task_submit(t->stream, &(struct ingot_task){ .uses = &use, .use_count = 1 }, NULL);
		CHECK(!pthread_join(thread, NULL));
		OK(status);
		OK(setter.status);
		OK(ingot_read(t->context, setter.node, got, MANY * sizeof *got, NULL));
		OK(ingot_stream_await(t->stream));
		CHECK(got[MANY / 2] == (float)round && got[MANY - 1] == (float)round);
	}
	free(setter.values);
	free(got);
}

/* ---- memory that goes back ---- */

static struct {
	struct trial *t;
	void (*release)(void *user, void *memory);
	const void *array;
	_Atomic bool went, answered;
	pthread_t asker;
} releasing;

static void *ask(void *unused)
{
	(void)unused;
	ingot_stream_queued(releasing.t->stream);
	atomic_store(&releasing.answered, true);
	return NULL;
}

/* While it gives back the array, which may take long, another thread is answered. */
static void release_watched(void *user, void *memory)
{
	if (memory && memory == releasing.array) {
		CHECK(!pthread_create(&releasing.asker, NULL, ask, NULL));
		for (int i = 0; i < 20000 && !atomic_load(&releasing.answered); i++)
			usleep(100);
		atomic_store(&releasing.went, true);
	}
	releasing.release(user, memory);
}

/* A node's array on the host is given back without the lock: of ten million values that takes milliseconds. */
static void arrays_go_unlocked(struct trial *t)
{
	void *array;
	uint64_t bytes;
	releasing.t = t;
	releasing.release = t->options.release;
	releasing.array = NULL;
	atomic_store(&releasing.went, false);
	atomic_store(&releasing.answered, false);
	t->options.release = release_watched;
	trial_reopen(t);
	struct ingot_node node = node_f32(t, "x", 4096);
	OK(ingot_node_host_create(node));
	OK(ingot_node_host(node, &array, &bytes));
	releasing.array = array;
	OK(ingot_node_close(node));
	releasing.array = NULL;
	CHECK(atomic_load(&releasing.went));
	bool answered = atomic_load(&releasing.answered);
	CHECK(!pthread_join(releasing.asker, NULL));
	CHECK(answered);
}

const struct row rows_meaning[] = {
	{ "H12", "ingot_kernel_launch", "launch_then_read", launch_then_read, NULL, "sync multicore lazy mock" },
	{ "E5", "ingot_writer_streams", "running_is_not_done", running_is_not_done, NULL, NULL },
	{ "A13", "ingot_stream_close", "forgone_between", forgone_between, NULL, "multicore mock cuda" },
	{ "B2", "ingot_pool_adopt", "adopted_again", adopted_again, NULL, "sync multicore" },
	{ "B10", "ingot_library_close", "closed_behind_nobody", closed_behind_nobody, NULL, "multicore mock" },
	{ "H14", "ingot_device_close", "closed_behind_placing", closed_behind_placing, NULL, NULL },
	{ "B12", "ingot_context_adopt", "adopted_behind_placing", adopted_behind_placing, NULL, "sync multicore" },
	{ "D10", "ingot_task_submit", "part_behind_values", part_behind_values, NULL, "sync multicore mock" },
	{ "F29", "ingot_node_close", "arrays_go_unlocked", arrays_go_unlocked, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
