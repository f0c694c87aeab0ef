/* rows_lines.c: what single lines of the runtime are for, where no other test stands on them: a fault drawn there would
 * live. */
#include <math.h>
#include <unistd.h>
#include "fault.h"
#include "gpu.h"
#include "mock.h"
#include "rows.h"

#define N SMALL_COUNT

static int nothing(void *unused)
{
	(void)unused;
	return 0;
}

static int read_it(const struct ingot_call *call)
{
	const float *w = ingot_argument(call, 0);
	float there[2];
	if (gpu_has(call) && gpu_read(call, 0, there, sizeof there))
		return GPU_FAILED;
	w = gpu_has(call) ? there : w;
	return w[1] != w[0] + 1;
}

static int count_one(void *count)
{
	atomic_fetch_add((_Atomic int *)count, 1);
	return 0;
}

/* ---- F9, F15: what texts and tables say at their ends ---- */

static void f9_words(struct trial *t)
{
	struct ingot_mode_state state = { 0 };
	struct ingot_node node;
	char why[200], text[100];
	uint8_t room[16] = { 0 };
	(void)t;
	CHECK(!ingot_mode_update(&state, 0, INGOT_BY_USER, why) && !strcmp(why, "0 is no mode"));
	CHECK(!ingot_mode_update(&state, 1u << 20, INGOT_BY_USER, why) && strstr(why, "1048576 is no mode"));
	CHECK(ingot_mode_update(&state, INGOT_VIRTUAL, INGOT_BY_USER, why));
	CHECK(!ingot_mode_update(&state, INGOT_LOCAL, INGOT_BY_WRAPPED, why) && strstr(why, "the mode is virtual by ")
	        && strstr(why, "cannot be local by 49"));
	CHECK(!ingot_sharing_update(&state, INGOT_SHARED, INGOT_BY_QUERY, why) && strstr(why, "the mode is virtual by ")
	        && strstr(why, "cannot be shared by 60"));
	/* the first who said it stays the one who did */
	state = (struct ingot_mode_state){ 0 };
	CHECK(ingot_sharing_update(&state, INGOT_PER_STREAM, INGOT_BY_OUTPUT, why)
	        && ingot_sharing_update(&state, INGOT_PER_STREAM, INGOT_BY_QUERY, why));
	CHECK(state.provenance == INGOT_BY_OUTPUT);
	/* no label: the text is empty, not what stood there */
	strcpy(text, "old");
	ingot_name_no_grad(NULL, 0, text, sizeof text);
	CHECK(!text[0]);
	strcpy(text, "old");
	CHECK(ingot_name_ident(INGOT_NAME_UNDER_GRAD, 7, NULL, 0, false, text, sizeof text) == 2
	        && !strcmp(text, "n7"));
	strcpy(text, "old");
	CHECK(ingot_name_ident(INGOT_NAME_UNDER_GRAD, 7, (const char *const[]){ "w" }, 1, false, text, sizeof text) == 1
	        && !strcmp(text, "w"));
	strcpy(text, "old");
	CHECK(!ingot_node_headers(t->runtime, NULL, NULL, INGOT_LOG_NAMES, text, sizeof text) && !text[0]);
	/* types that are none */
	CHECK(ingot_dtype_promote((enum ingot_dtype)99, INGOT_F32) == INGOT_F32
	        && ingot_dtype_promote(INGOT_F64, (enum ingot_dtype)99) == INGOT_F64);
	CHECK(ingot_dtype_get((enum ingot_dtype)99, room, 0) == 0 && ingot_dtype_get(INGOT_STRING, room, 0) == 0);
	ingot_dtype_set(INGOT_I64, room, 0, NAN);
	CHECK(ingot_dtype_get(INGOT_I64, room, 0) == 0);
	ingot_dtype_set(INGOT_U64, room, 0, NAN);
	CHECK(ingot_dtype_get(INGOT_U64, room, 0) == 0);
	/* who is meant */
	node = node_f32(t, "meant", 4);
	FAILS(INGOT_CONFLICT, ingot_node_dtype_update(node, INGOT_PRECISION_SPECIFIED, INGOT_F64, NULL));
	SAYS("_meant: ");
	FAILS(INGOT_RANGE, ingot_node_slice(node, 3, 2, &node));
	SAYS("2 rows from 3 of a node that has 4");
	OK(ingot_node_new(t->runtime, &(struct ingot_node_options){ .dtype = INGOT_F32 }, &node));
	FAILS(INGOT_RANGE, ingot_node_slice(node, 0, 1, &node));
	SAYS("that has 0");
}

/* ---- F22 to F24: values ---- */

static bool close_it(struct ingot_node node, void *other)
{
	const struct ingot_node *nodes = other;
	if (ingot_node_equal(node, nodes[0]) && ingot_node_id(nodes[1]) != UINT32_MAX)
		OK(ingot_node_close(nodes[1]));
	if (ingot_node_equal(node, nodes[2]))
		OK(ingot_node_close(node));
	return true;
}

static int get_inside(void *argument)
{
	double value = 0;
	return ingot_node_get(*(struct ingot_node *)argument, (int64_t[]){ 1 }, 1, &value) || value != 2;
}

static int prepare_inside(void *node)
{
	struct ingot_host_sync sync = { .sync = nothing };
	return ingot_node_prepare_read(*(struct ingot_node *)node, &sync) != INGOT_WOULD_BLOCK;
}

static bool counted_done(void *count)
{
	++*(int *)count;
	return true;
}

static void f23_values(struct trial *t)
{
	struct ingot_node node = node_f32(t, "a", 4), open, point, nodes[3];
	struct ingot_context context;
	double value, values[4] = { 1, 2, 3, 4 };
	float v[4] = { 9, 9, 9, 9 };
	uint64_t many;
	int64_t four = 4;
	char text[400];
	/* its type is decided with its values */
	OK(ingot_node_new(t->runtime, &(struct ingot_node_options){ .rank = 1, .dims = &four }, &open));
	OK(ingot_node_set_all(open, values, 4));
	FAILS(INGOT_CONFLICT, ingot_node_dtype_update(open, INGOT_PRECISION_SPECIFIED, INGOT_F64, NULL));
	OK(ingot_node_new(t->runtime, &(struct ingot_node_options){ .dtype = INGOT_F32 }, &point));
	FAILS(INGOT_RANGE, ingot_node_points_1d(point, -1, 0, &value, 1, &many));
	FAILS(INGOT_RANGE, ingot_node_points_1d(point, 0, 0, &value, 1, &many));
	FAILS(INGOT_RANGE, ingot_node_points_1d(node, 1, 0, &value, 1, &many));
	SAYS("has no axis 1");
	/* what has no array on the host is not moved there */
	OK(ingot_context_place(t->context, &node, 1));
	FAILS(INGOT_MISSING, ingot_to_host(t->context, node, NULL, NULL));
	FAILS(INGOT_MISSING, ingot_from_host(t->context, node, NULL, NULL));
	SAYS("has no array on the host");
	/* a task reads the host's values where nothing has to be waited for */
	OK(ingot_node_set_all(node, values, 4));
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ .run = get_inside, .argument = &node }, NULL));
	OK(ingot_stream_await(t->stream));
	/* without automatic transfers a context that closes keeps nothing for the host */
	OK(ingot_context_new(t->stream, &context));
	OK(ingot_context_place(context, &node, 1));
	write_f32(context, node, v, 4);
	OK(ingot_context_close(context));
	OK(ingot_node_get(node, (int64_t[]){ 0 }, 1, &value));
	CHECK(value == 1);
	/* what is done is forgotten when the next is prepared */
	int asked = 0;
	struct ingot_host_sync sync = { .done = counted_done, .sync = nothing, .user = &asked };
	OK(ingot_node_prepare_read(node, &sync));
	CHECK(asked == 0);
	OK(ingot_node_prepare_read(node, &sync));
	CHECK(asked == 1);
	OK(ingot_node_prepare_write(node, &sync));
	CHECK(asked == 1);
	OK(ingot_node_read(node));
	CHECK(asked == 2);
	OK(ingot_node_write(node));
	CHECK(asked == 3);
	OK(ingot_node_prepare_read(node, &(struct ingot_host_sync){ .sync = prepare_inside, .user = &node }));
	OK(ingot_node_read(node));
	FAILS(INGOT_STALE, ingot_node_prepare_read((struct ingot_node){ t->runtime, 9999, 1 }, &sync));
	/* an array whose type nobody said is of the default one, for good */
	static float plain[4];
	OK(ingot_node_reshape(t->runtime, &(struct ingot_node_options){ .rank = 1, .dims = &four }, plain, 4, &open));
	FAILS(INGOT_CONFLICT, ingot_node_dtype_update(open, INGOT_PRECISION_SPECIFIED, INGOT_F64, NULL));
	OK(ingot_node_header(open, false, text, sizeof text) ? INGOT_OK : INGOT_INVALID);
	CHECK(strstr(text, "f32"));
	/* a context that is finalized is no place for work */
	bool moved;
	OK(ingot_context_new(t->stream, &context));
	OK(ingot_context_place(context, &node, 1));
	write_f32(context, node, v, 4);
	OK(ingot_context_finalize(context));
	FAILS(INGOT_STALE, ingot_device_to_device(node, context, INGOT_MERGE_NONE, t->context, &moved, NULL));
	FAILS(INGOT_STALE, ingot_device_to_device(node, t->context, INGOT_MERGE_COPY, context, &moved, NULL));
	SAYS("a context of the transfer is finalized");
	FAILS(INGOT_STALE,
	        ingot_task_submit(t->stream,
	                &(struct ingot_task){
	                        .uses = &(struct ingot_use){ context, node, true, false }, .use_count = 1 },
	                NULL));
	FAILS(INGOT_STALE, ingot_node_devices((struct ingot_node){ t->runtime, 9999, 1 }, NULL, 0, &(uint32_t){ 0 }));
	FAILS(INGOT_STALE,
	        ingot_device_streams((struct ingot_device){ t->runtime, 9999, 1 }, NULL, 0, &(uint32_t){ 0 }));
	FAILS(INGOT_STALE,
	        ingot_context_bind(
	                (struct ingot_context){ t->runtime, 9999, 1 }, node, (struct ingot_location){ 1, 0, 16 }));
	if (t->host_memory) {
		uint32_t pool;
		FAILS(INGOT_MEMORY, ingot_pool_open(t->device, UINT64_C(1) << 46, 0, INGOT_SLAB_PRIVATE, &pool));
		SAYS("the host has no 70368744177664 bytes aligned to ");
	}
	/* nodes that are closed while they are listed */
	for (int i = 0; i < 3; i++)
		nodes[i] = node_f32(t, i == 1 ? "gone" : i ? "itself" : "stays", 4);
	ingot_node_headers(t->runtime, close_it, nodes, INGOT_LOG_NAMES, text, sizeof text);
	CHECK(strstr(text, "_stays") && !strstr(text, "_gone") && !strstr(text, "_itself"));
}

/* With automatic transfers the newest value comes to the host when its context is finalized, too. */
static void f27_finalized(struct trial *t)
{
	struct ingot_node node;
	double value = 0;
	float v[4] = { 9, 8, 7, 6 };
	t->options.automatic_transfers = true;
	trial_reopen(t);
	node = node_f32(t, "a", 4);
	OK(ingot_node_host_create(node));
	OK(ingot_context_place(t->context, &node, 1));
	write_f32(t->context, node, v, 4);
	OK(ingot_context_finalize(t->context));
	OK(ingot_node_get(node, (int64_t[]){ 3 }, 1, &value));
	CHECK(value == 6);
	/* What is adopted as the node's own array is never brought down. */
	uint64_t ups, downs;
	static _Alignas(64) float own[4] = { 1, 2, 3, 4 };
	int64_t four = 4;
	if (t->host_memory) {
		struct ingot_context adopting;
		OK(ingot_node_wrap(t->runtime,
		        &(struct ingot_node_options){ .dtype = INGOT_F32, .rank = 1, .dims = &four }, own, sizeof own,
		        &node));
		OK(ingot_context_new(t->stream, &adopting));
		OK(ingot_context_adopt(adopting, node, own, sizeof own));
		OK(ingot_node_get(node, (int64_t[]){ 3 }, 1, &value));
		OK(ingot_node_transfers(node, &ups, &downs));
		CHECK(value == 4 && !ups && !downs);
	}
	char text[2000];
	CHECK(ingot_context_json(t->context, text, sizeof text) && strstr(text, "\"finalized\":true"));
}

/* ---- C: queues ---- */

static void c7_spares(struct trial *t)
{
	struct gate gate = { 0 };
	/* as many blocks are kept as is said; none where that is said */
	for (int kept = 0; kept < 3; kept++) {
		t->options.spare_commands = kept == 0 ? INGOT_NO_SPARES : kept == 1 ? 4 : 0;
		trial_reopen(t);
		uint64_t before = ingot_runtime_live(t->runtime);
		gate = (struct gate){ 0 };
		if (!t->in_place)
			gate_hold(t, &gate, t->stream);
		for (int i = 0; i < 40; i++)
			OK(ingot_task_submit(t->stream, &(struct ingot_task){ .run = nothing }, NULL));
		gate_open(&gate);
		OK(ingot_stream_await(t->stream));
		/* by one: who ends the last command may still be at it */
		for (int i = 0; i < 20000 && ingot_runtime_live(t->runtime) > before + (kept == 1 ? 4 : 0) && kept < 2;
		        i++)
			usleep(1000);
		uint64_t more = ingot_runtime_live(t->runtime) - before;
		CHECK(kept == 0 ? more == 0 : kept == 1 ? more == (t->in_place ? 1 : 4) : more == 1 || more > 8);
	}
	t->options.spare_commands = 0;
}

/* More streams than are woken without the lock, all by one event; and they can be closed then. */
static void c3_many(struct trial *t)
{
	enum { MANY = 20 };
	struct ingot_stream streams[MANY];
	struct ingot_event promise;
	_Atomic int count = 0;
	OK(ingot_event_open(t->runtime, &promise));
	if (t->in_place)
		OK(ingot_event_signal(promise));
	for (int i = 0; i < MANY; i++) {
		OK(ingot_stream_open(t->device, streams + i));
		OK(ingot_task_submit(streams[i],
		        &(struct ingot_task){
		                .run = count_one, .argument = &count, .waits = &promise, .wait_count = 1 },
		        NULL));
	}
	if (!t->in_place)
		OK(ingot_event_signal(promise));
	OK(ingot_stream_close(streams[0]));
	OK(ingot_device_sync(t->device)); /* with a gap among its streams */
	CHECK(count == MANY);
	for (int i = 1; i < MANY; i++)
		OK(ingot_stream_close(streams[i]));
	OK(ingot_event_close(promise));
}

/* Work of a device that waits for what nobody signalled is cancelled when that is closed, by the program or with the
 * runtime. */
static void c8_forgone(struct trial *t)
{
	struct ingot_device twin;
	struct ingot_stream far;
	struct ingot_event promise, done;
	_Atomic int count = 0;
	if (t->in_place)
		return;
	for (int whole = 0; whole < 2; whole++) {
		OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
		OK(ingot_stream_default(twin, &far));
		OK(ingot_event_open(t->runtime, &promise));
		OK(ingot_task_submit(far,
		        &(struct ingot_task){ .name = "waits",
		                .run = count_one,
		                .argument = &count,
		                .waits = &promise,
		                .wait_count = 1 },
		        &done));
		if (whole)
			trial_reopen(t);
		else {
			OK(ingot_device_close(twin));
			FAILS(INGOT_CANCELLED, ingot_event_sync(done));
			SAYS("waits was cancelled");
		}
	}
	CHECK(count == 0);
}

/* What one command does with a place is one entry of its lists, however often it names it. */
static void e9_once(struct trial *t)
{
	struct ingot_node nodes[2] = { node_f32(t, "a", 4), node_f32(t, "b", 4) };
	struct ingot_use uses[9];
	struct ingot_stream other = other_stream(t);
	struct gate gate = { 0 };
	uint64_t before, after;
	float v[4] = { 1, 2, 3, 4 };
	OK(ingot_context_place(t->context, nodes, 2));
	for (int i = 0; i < 2; i++)
		write_f32(t->context, nodes[i], v, 4);
	OK(ingot_device_sync(t->device));
	gate_hold(t, &gate, other);
	for (int i = 0; i < 9; i++)
		uses[i] = (struct ingot_use){ t->context, nodes[i > 3], i == 1 || i == 2, false };
	OK(ingot_hazard_entries(t->device, &before));
	OK(ingot_task_submit(other, &(struct ingot_task){ .run = nothing, .uses = uses, .use_count = 9 }, NULL));
	OK(ingot_hazard_entries(t->device, &after));
	if (!t->in_place && !t->lazy)
		CHECK(after - before == 2); /* a written, b read */
	gate_open(&gate);
	OK(ingot_stream_await(other));
	OK(ingot_device_sync(t->device));
	OK(ingot_hazard_entries(t->device, &after));
	CHECK(after <= before);
}

/* Where a device orders by events of its own. */
static void c16_edges(struct trial *t)
{
	struct ingot_stream other = other_stream(t);
	struct ingot_event marks[3];
	struct mock_counts before, after;
	uint32_t pool;
	OK(ingot_pool_open(t->device, 64, 0, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_device_sync(t->device));
	/* One stream waits once for another, however many events of that it names. */
	before = mock_counts();
	mock_hold(true);
	for (int i = 0; i < 3; i++)
		OK(ingot_pool_fill(t->stream, pool, 0, 64, i, marks + i));
	OK(ingot_task_submit(other, &(struct ingot_task){ .waits = marks, .wait_count = 3 }, NULL));
	OK(ingot_pool_fill(other, pool, 0, 64, 9, NULL));
	for (int i = 0; i < 20000 && mock_counts().in_flight < 3; i++)
		usleep(500);
	CHECK(ingot_stream_queued(t->stream) == 3); /* nothing is done, yet they are issued */
	mock_hold(false);
	OK(ingot_device_sync(t->device));
	/* A task of the host's begins when what is before it on the device has ended, though nobody looks. */
	_Atomic int count = 0;
	mock_hold(true);
	OK(ingot_pool_fill(t->stream, pool, 0, 64, 7, NULL));
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ .run = count_one, .argument = &count }, NULL));
	usleep(20000);
	CHECK(count == 0);
	mock_hold(false);
	for (int i = 0; i < 10000 && !count; i++)
		usleep(500);
	CHECK(count == 1);
	struct ingot_buffer buffers[2] = { { 0 }, { 0 } };
	for (int i = 0; i < 2; i++)
		OK(ingot_buffer_open(t->device, INGOT_F32, 4, buffers + i));
	before = mock_counts();
	mock_hold(true);
	for (int i = 0; i < 2; i++)
		OK(ingot_pool_fill(t->stream, buffers[i].pool, 0, 16, 0, NULL));
	OK(ingot_kernel_launch(other, small_module.kernels + 1, (uint32_t[]){ 4, 1, 1 }, NULL, buffers, 2, NULL));
	for (int i = 0; i < 20000 && mock_counts().in_flight < before.in_flight + 3; i++)
		usleep(500);
	after = mock_counts();
	CHECK(after.waits - before.waits == 1);
	mock_hold(false);
	OK(ingot_device_sync(t->device));
	/* A queue that cannot be waited for is a failure of who waits. */
	mock_hold(true);
	struct ingot_stream third = other_stream(t);
	OK(ingot_pool_fill(third, pool, 0, 64, 1, marks));
	mock_fault(MOCK_EVENT, 0);
	OK(ingot_stream_wait(other, marks[0]));
	/* It ends behind what it should have waited for all the same, as who comes later relies on that order. */
	usleep(30000);
	CHECK(mock_counts().in_flight == 1);
	mock_hold(false);
	FAILS(INGOT_MEMORY, ingot_stream_await(other));
	mock_fault(MOCK_NO_FAULT, 0);
	OK(ingot_stream_restart(other));
	OK(ingot_stream_await(third));
	/* What fails while it is issued stops what is not issued, before the device comes there. */
	OK(ingot_device_sync(t->device));
	struct gate gate = { 0 };
	gate_hold(t, &gate, t->stream);
	OK(ingot_pool_fill(t->stream, pool, 0, 64, 3, NULL));
	OK(ingot_pool_fill(t->stream, pool, 0, 64, 4, NULL));
	before = mock_counts();
	mock_fault(MOCK_ISSUE, 0);
	mock_hold(true);
	gate_open(&gate);
	mock_hold(false);
	FAILS(INGOT_DEVICE, ingot_stream_await(t->stream));
	OK(ingot_stream_restart(t->stream));
	after = mock_counts();
	mock_fault(MOCK_NO_FAULT, 0);
	OK(ingot_device_sync(t->device));
	/* The same with the device standing: the second is skipped as soon as the first one could not be issued. */
	before = mock_counts();
	mock_hold(true);
	mock_fault(MOCK_ISSUE, 0);
	OK(ingot_pool_fill(t->stream, pool, 0, 64, 5, NULL));
	for (int i = 0; i < 20000 && mock_counts().events_made < before.events_made + 1; i++)
		usleep(500);
	FAILS(INGOT_DEVICE, ingot_pool_fill(t->stream, pool, 0, 64, 6, NULL)); /* known at once */
	mock_hold(false);
	FAILS(INGOT_STOPPED, ingot_stream_await(t->stream));
	OK(ingot_stream_restart(t->stream));
	after = mock_counts();
	CHECK(after.issued - before.issued == 1); /* its end alone */
}

/* A device that is lost while work is issued takes no more, at once. */
static void lost_at_once(struct trial *t)
{
	struct ingot_device twin;
	struct ingot_stream far, beside;
	uint32_t pool, there;
	OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
	OK(ingot_stream_default(twin, &far));
	OK(ingot_stream_open(twin, &beside));
	OK(ingot_pool_open(t->device, 64, 0, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_pool_open(twin, 64, 0, INGOT_SLAB_PRIVATE, &there));
	mock_fault(MOCK_LOST, 0);
	OK(ingot_pool_fill(t->stream, pool, 0, 64, 1, NULL));
	FAILS(INGOT_LOST, ingot_stream_await(t->stream));
	struct mock_counts before = mock_counts();
	mock_hold(true);
	OK(ingot_pool_fill(far, there, 0, 64, 1, NULL));
	for (int i = 0; i < 20000 && mock_counts().events_made == before.events_made; i++)
		usleep(500);
	FAILS(INGOT_LOST, ingot_pool_fill(far, there, 0, 64, 1, NULL));
	FAILS(INGOT_LOST, ingot_task_submit(beside, &(struct ingot_task){ .run = nothing }, NULL));
	mock_hold(false);
	/* One that is found to be lost when memory is asked for, too. */
	struct ingot_device third;
	OK(ingot_device_another(t->runtime, t->device_name, 0, &third));
	OK(ingot_stream_default(third, &far));
	FAILS(INGOT_LOST, ingot_pool_open(third, 64, 0, INGOT_SLAB_PRIVATE, &pool));
	FAILS(INGOT_LOST, ingot_task_submit(far, &(struct ingot_task){ .run = nothing }, NULL));
	SAYS("the device is lost");
}

/* A kernel of a library is looked up in that library's module, also where it is launched by hand. */
static int run_nothing(const struct ingot_group *group, void *const *arguments)
{
	(void)group, (void)arguments;
	return 0;
}

static void kernel_of_library(struct trial *t)
{
	static const struct ingot_module_kernel kernel = { .name = "k", .device_name = "k_there", .run = run_nothing };
	static struct ingot_module module = {
		.abi = INGOT_ABI, .name = "coded", .kernels = &kernel, .kernel_count = 1
	};
	for (int there = 0; there < 2; there++) {
		struct ingot_library library;
		const struct ingot_module_image image = {
			.data = there ? "entry k_there\n" : "entry other\n", .capability = 10, .flags = INGOT_IMAGE_TEXT
		};
		module.images = &image;
		module.image_count = 1;
		OK(ingot_library_load(t->runtime, &module, NULL, &library));
		OK(ingot_kernel_launch(t->stream, &kernel, (uint32_t[]){ 1, 1, 1 }, NULL, NULL, 0, NULL));
		FAILS(there ? INGOT_OK : INGOT_DEVICE, ingot_stream_await(t->stream));
		if (!there)
			SAYS("the module has no kernel k");
		OK(ingot_stream_restart(t->stream));
		OK(ingot_library_close(library));
	}
}

/* ---- A8, A15, B: what is closed, and what goes with it ---- */

static void a8_with_device(struct trial *t)
{
	struct ingot_device twin;
	struct ingot_stream far, more, again;
	struct ingot_context parent, child, other;
	struct ingot_library library;
	struct ingot_routine routine;
	OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
	OK(ingot_stream_default(twin, &far));
	OK(ingot_stream_open(twin, &more));
	OK(ingot_context_new(far, &parent));
	OK(ingot_context_child(parent, more, &child));
	OK(ingot_context_child(child, (struct ingot_stream){ 0 }, &other));
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_link(child, library, "row", &routine));
	OK(ingot_device_close(twin));
	FAILS(INGOT_STALE, ingot_context_stream(parent, &again));
	FAILS(INGOT_STALE, ingot_context_stream(child, &again));
	FAILS(INGOT_STALE, ingot_context_stream(other, &again));
	FAILS(INGOT_STALE, ingot_stream_await(more));
	FAILS(INGOT_STALE, ingot_routine_run(routine, NULL));
	OK(ingot_library_close(library));
	OK(ingot_device_sync(t->device));
}

static void a15_again(struct trial *t)
{
	struct ingot_device again;
	struct ingot_runtime *runtime;
	struct ingot_stream stream;
	struct ingot_context context;
	struct ingot_node node;
	bool of_others = ingot_backend_ready(t->runtime, "sync") && ingot_backend_ready(t->runtime, "multicore");
	OK(ingot_backend_init(t->runtime, t->device_name, NULL));
	OK(ingot_device_get(t->runtime, t->device_name, 0, &again));
	CHECK(ingot_device_equal(again, t->device));
	char text[4000], name[40];
	ingot_runtime_json(t->runtime, text, sizeof text);
	snprintf(name, sizeof name, "{\"name\":\"%s\"", t->device_name);
	CHECK(strstr(text, name) && !strstr(strstr(text, name) + 1, name)); /* and there is one of it */
	OK(ingot_backend_init(t->runtime, "auto", NULL));                   /* there is one */
	CHECK((ingot_backend_ready(t->runtime, "sync") && ingot_backend_ready(t->runtime, "multicore")) == of_others);
	/* what is left open is counted, by what it is */
	OK(ingot_runtime_open(&runtime, NULL));
	OK(ingot_backend_init(runtime, "sync", NULL));
	OK(ingot_device_get(runtime, "sync", 0, &again));
	OK(ingot_stream_default(again, &stream));
	OK(ingot_context_new(stream, &context));
	OK(ingot_context_new(stream, &context));
	for (int i = 0; i < 3; i++)
		OK(ingot_node_new(runtime, &(struct ingot_node_options){ .dtype = INGOT_F32 }, &node));
	OK(ingot_library_load(runtime, &small_module, NULL, &(struct ingot_library){ NULL, 0, 0 }));
	FAILS(INGOT_LEFT_OPEN, ingot_runtime_close(runtime));
	SAYS("left open: 2 contexts, 11 nodes, 1 library");
}

/* A routine that is linked and closed leaves its workspace to nobody; constants stay on their device. */
static void b3_workspaces(struct trial *t)
{
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_context linked;
	struct ingot_node w;
	void *address;
	uint64_t used[3];
	char text[3][6000];
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_library_node(library, "w", &w));
	for (int i = 0; i < 3; i++) {
		OK(ingot_link(t->context, library, "steps", &routine));
		OK(ingot_routine_context(routine, &linked));
		if (t->host_memory) { /* where they are the host's they are not copied */
			OK(ingot_context_address(linked, w, &address));
			CHECK(address == (void *)(uintptr_t)small_weights);
		}
		OK(ingot_routine_close(routine));
		OK(ingot_device_used(t->device, used + i));
		ingot_device_json(t->device, text[i], sizeof text[i]);
	}
	CHECK(used[1] == used[2]);
	const char *second = strstr(text[1], "\"pools\":"), *third = strstr(text[2], "\"pools\":");
	CHECK(second && third && strlen(second) == strlen(third));
}

/* Constants lie as aligned as they ask; where the host has them so, they are not copied, whether they ask or not. */
static void b10_aligned(struct trial *t)
{
	static const struct ingot_module_dim dims[] = { { 4, -1 } };
	static _Alignas(64) const float values[20] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	/* clang-format off */
	static const struct ingot_module_node nodes[] = {
		{ .name = "w", .dtype = INGOT_F32, .rank = 1, .dims = dims, .bytes = 16, .view_of = -1,
		  .flags = INGOT_NODE_CONSTANT, .offset = 16 },
	};
	/* clang-format on */
	static const struct ingot_module_argument arguments[] = { { INGOT_FROM_NODE, 0, 0 } };
	static const struct ingot_module_routine routine = {
		.name = "reads", .arguments = arguments, .argument_count = 1, .merge_input = -1, .run = read_it
	};
	static struct ingot_module module = { .abi = INGOT_ABI,
		.name = "aligned",
		.nodes = nodes,
		.node_count = 1,
		.routines = &routine,
		.routine_count = 1,
		.images = row_images,
		.image_count = ROW_IMAGES };
	for (int way = 0; way < 3; way++) {
		struct ingot_library library;
		struct ingot_routine reads;
		struct ingot_context linked;
		struct ingot_node w;
		void *address;
		float got[4];
		module.constants =
		        (struct ingot_module_constants){ values + (way == 1), 64, way == 2 ? 1 << 16 : 0, 0 };
		OK(ingot_library_load(t->runtime, &module, NULL, &library));
		OK(ingot_link(t->context, library, "reads", &reads));
		OK(ingot_routine_context(reads, &linked));
		OK(ingot_routine_run(reads, NULL));
		OK(ingot_stream_await(t->stream));
		OK(ingot_library_node(library, "w", &w));
		read_f32(linked, w, got, 4);
		CHECK(got[0] == 4 + (way == 1));
		if (t->host_memory) {
			OK(ingot_context_address(linked, w, &address));
			CHECK((address == (void *)(uintptr_t)(values + 4)) == (way == 0));
			CHECK(way != 2 || ((uintptr_t)address - 16) % (1 << 16) == 0);
		}
		OK(ingot_routine_close(reads));
		OK(ingot_library_close(library));
		trial_reopen(t);
	}
}

/* ---- G: modules ---- */

static void g4_modules(struct trial *t)
{
	struct ingot_library library, pair;
	struct ingot_routine dense, twice, row, other, transfer;
	struct ingot_context linked, child, context;
	struct ingot_stream second = other_stream(t);
	struct ingot_node x, z, y, shared;
	struct mock_counts before = mock_counts();
	int64_t extent;
	char text[6000];
	static const struct ingot_module_dim dims[] = { { 16, -1 } };
	static const struct ingot_module_node short_node = {
		.name = "a", .dtype = INGOT_F32, .rank = 1, .dims = dims, .bytes = 60, .view_of = -1
	};
	static const struct ingot_module too_short = {
		.abi = INGOT_ABI, .name = "short", .nodes = &short_node, .node_count = 1
	};
	FAILS(INGOT_INVALID, ingot_library_load(t->runtime, &too_short, NULL, &library));
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_library_node(library, "x", &x));
	OK(ingot_library_node(library, "z", &z));
	OK(ingot_library_node(library, "y", &y));
	CHECK(ingot_node_mode(x).mode == INGOT_HOSTED);
	ingot_library_json(library, text, sizeof text);
	json_parses(text);
	CHECK(strstr(text, "\"dense\"") && strstr(text, "\"twice\"") && strstr(text, "\"row\""));
	OK(ingot_link(t->context, library, "dense", &dense));
	OK(ingot_routine_context(dense, &linked));
	OK(ingot_link(linked, library, "twice", &twice));
	OK(ingot_routine_context(twice, &child));
	OK(ingot_link(child, library, "dense", &other));
	OK(ingot_link(t->context, library, "row", &row));
	/* each routine's module is loaded once on a device */
	if (!strcmp(t->device_name, "mock"))
		CHECK(mock_counts().modules == before.modules + 1);
	ingot_routine_json(twice, text, sizeof text);
	json_parses(text);
	/* twice reads y, which both dense write; dense writes it again, which it read */
	CHECK(strstr(text, "\"depends\":[{\"reads_after\":\"dense\"},{\"reads_after\":\"dense\"}]}"));
	ingot_routine_json(other, text, sizeof text);
	json_parses(text);
	const char *depends = strstr(text, "\"depends\":[");
	CHECK(depends && strstr(depends, "{\"overwrites\":\"dense\"}")
	        && strstr(depends, "{\"overwrites_after_read\":\"twice\"}")
	        && strstr(depends, "{\"reads_after\":\"dense\"}") && !strstr(depends, "row")
	        && !strstr(depends, "\"reads_after\":\"twice\""));
	/* transfers have no symbols and no extents */
	OK(ingot_context_new(t->stream, &context));
	OK(ingot_transfer_routine(y, context, INGOT_MERGE_COPY, linked, &transfer));
	FAILS(INGOT_MISSING, ingot_routine_symbol(transfer, "n", &extent));
	SAYS("a transfer has no symbol n");
	FAILS(INGOT_MISSING, ingot_routine_symbol(dense, "m", &extent));
	SAYS("dense has no symbol m");
	FAILS(INGOT_MISMATCH, ingot_routine_extents(transfer, &extent, 1));
	SAYS("reports 0");
	FAILS(INGOT_MISMATCH, ingot_routine_extents(dense, &extent, 3));
	SAYS("reports 1");
	ingot_routine_json(row, text, sizeof text);
	json_parses(text);
	CHECK(strstr(text, "\"inputs\":[]") && strstr(text, "\"depends\":[]"));
	/* what holds constants is no place for another node */
	struct ingot_node w, sixteen = node_f32(t, "sixteen", N);
	struct ingot_location at;
	OK(ingot_library_node(library, "w", &w));
	OK(ingot_context_location(linked, w, &at));
	FAILS(INGOT_CONFLICT, ingot_context_bind(context, sixteen, at));
	SAYS("holds constants");
	ingot_routine_json(transfer, text, sizeof text);
	json_parses(text);
	CHECK(strstr(text, "_y\",\"merge\":\"copy\""));
	/* a constant is not written, nor a volatile node by a routine */
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_library_node(library, "z", &z));
	OK(ingot_node_mode_update(z, INGOT_HOSTED_CONSTANT, INGOT_BY_USER));
	OK(ingot_context_new(t->stream, &context));
	FAILS(INGOT_CONFLICT, ingot_link(context, library, "steps", &other));
	SAYS("it is constant, and the routine writes it");
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &pair));
	OK(ingot_library_node(pair, "y", &y));
	OK(ingot_node_mode_update(y, INGOT_HOSTED_VOLATILE, INGOT_BY_USER));
	FAILS(INGOT_CONFLICT, ingot_link(context, pair, "copy", &other));
	/* a shared node that this stream writes is found, and another stream's routine cannot write it */
	OK(ingot_library_node(pair, "shared", &shared));
	OK(ingot_link(context, pair, "set", &other));
	OK(ingot_routine_context(other, &linked));
	write_f32(linked, shared, small_weights, N);
	OK(ingot_routine_run(other, NULL));
	OK(ingot_stream_await(t->stream));
	OK(ingot_context_child(linked, second, &child));
	FAILS(INGOT_CONFLICT, ingot_link(child, pair, "set", &row));
	SAYS("another stream writes it");
}

/* References: whoever is closed again and again takes along its own alone. */
static void e10_references(struct trial *t)
{
	struct ingot_library library, pair;
	struct ingot_context other, child, linked, made;
	struct ingot_routine routine, first;
	struct ingot_node a = node_f32(t, "a", N), part, x, found;
	float v[N] = { 5 }, got[N];
	char text[100];
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_library_node(library, "x", &x));
	OK(ingot_context_new(t->stream, &other));
	OK(ingot_context_place(t->context, &a, 1));
	OK(ingot_context_place(other, &a, 1));
	write_f32(other, a, v, N);
	OK(ingot_transfer_routine(a, t->context, INGOT_MERGE_COPY, other, &first));
	OK(ingot_routine_context(first, &linked));
	for (int i = 0; i < 12; i++) {
		OK(ingot_node_slice(a, 0, 4, &part));
		OK(ingot_node_close(part));
		OK(ingot_library_load(
		        t->runtime, &small_pair_module, &(struct ingot_library_options){ .with = library }, &pair));
		OK(ingot_library_close(pair));
		OK(ingot_transfer_routine(a, t->context, INGOT_MERGE_NONE, other, &routine));
		OK(ingot_routine_run(routine, NULL));
		OK(ingot_routine_close(routine));
		OK(ingot_context_child(linked, (struct ingot_stream){ 0 }, &child));
		OK(ingot_context_merge_node(child, &found));
		CHECK(ingot_node_equal(found, a));
		OK(ingot_context_close(child));
		OK(ingot_transfer_routine(a, t->context, INGOT_MERGE_COPY, other, &routine));
		OK(ingot_routine_close(routine));
		FAILS(INGOT_MISSING, ingot_init_from_device(t->context, x, other, &made));
		OK(ingot_stream_await(t->stream));
	}
	read_f32(t->context, a, got, N);
	CHECK(got[0] == 5 && ingot_node_label(a, text, sizeof text) == 1 && !strcmp(text, "a"));
	CHECK(ingot_node_label(x, text, sizeof text) == 1 && !strcmp(text, "x"));
	read_f32(other, a, got, N);
	CHECK(got[0] == 5);
}

/* ---- D: a task reads the merge buffer, which is a copy or the source itself ---- */

static int look_through(void *argument)
{
	struct gate *gate = argument;
	atomic_store(&gate->entered, 1);
	for (int i = 0; i < 20000 && !atomic_load(&gate->open); i++)
		usleep(100);
	return 0;
}

static void d7_tasks(struct trial *t)
{
	struct ingot_node a = node_f32(t, "a", N);
	struct ingot_stream other = other_stream(t);
	struct ingot_context from;
	float v[N] = { 5 };
	for (int streaming = 0; streaming < 2; streaming++) {
		struct ingot_use use = { .context = t->context, .merge = true };
		struct gate gate = { .open = t->in_place || t->lazy };
		struct ingot_event written, read;
		bool done = true;
		OK(ingot_context_new(other, &from));
		OK(ingot_context_place(from, &a, 1));
		use.write = true;
		FAILS(INGOT_MISMATCH,
		        ingot_task_submit(
		                t->stream, &(struct ingot_task){ .run = nothing, .uses = &use, .use_count = 1 }, NULL));
		SAYS("tasks do not write the merge buffer");
		use.write = false;
		if (!streaming) {
			FAILS(INGOT_MISMATCH,
			        ingot_task_submit(t->stream,
			                &(struct ingot_task){ .run = nothing, .uses = &use, .use_count = 1 }, NULL));
			SAYS("there is nothing in the merge buffer");
		}
		write_f32(from, a, v, N);
		OK(ingot_device_to_device(
		        a, t->context, streaming ? INGOT_MERGE_STREAMING : INGOT_MERGE_COPY, from, NULL, NULL));
		if (!t->in_place)
			OK(ingot_stream_await(t->stream));
		OK(ingot_task_submit(t->stream,
		        &(struct ingot_task){ .run = look_through, .argument = &gate, .uses = &use, .use_count = 1 },
		        &read));
		while (!t->in_place && !t->lazy && !atomic_load(&gate.entered))
			usleep(100);
		OK(ingot_write(from, a, v, sizeof v, &written));
		if (!t->in_place && !t->lazy) {
			/* the source is written beside what reads a copy of it, and behind what reads it itself */
			if (!streaming)
				OK(ingot_event_sync(written));
			else
				usleep(20000);
			OK(ingot_event_done(written, &done));
			CHECK(done == !streaming);
		}
		gate_open(&gate);
		OK(ingot_event_sync(read));
		OK(ingot_event_sync(written));
		OK(ingot_context_close(from));
	}
	if (t->in_place) { /* nothing is left to be run by who waits */
		struct ingot_device twin;
		struct ingot_context there;
		OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
		struct ingot_stream far;
		OK(ingot_stream_default(twin, &far));
		OK(ingot_context_new(far, &there));
		OK(ingot_context_place(there, &a, 1));
		OK(ingot_context_place(t->context, &a, 1));
		CHECK(!ingot_stream_queued(t->stream) && !ingot_stream_queued(far));
		write_f32(t->context, a, v, N);
		OK(ingot_device_to_device(a, there, INGOT_MERGE_NONE, t->context, NULL, NULL));
		CHECK(!ingot_stream_queued(t->stream) && !ingot_stream_queued(far));
	}
}

/* ---- H16: schedules whose last step is of another lane, whose steps fail, and what kernels are told ---- */

static _Atomic int step_fails, slow_done;

static int slow_step(const struct ingot_call *call)
{
	(void)call;
	usleep(20000);
	atomic_fetch_add(&slow_done, 1);
	return atomic_load(&step_fails);
}

static int threads_right(const struct ingot_group *group, void *const *arguments)
{
	(void)arguments;
	return group->threads[0] == 1 && group->threads[1] == 1 && group->threads[2] == 1 ? 0 : 3;
}

static const char *step_words(int code) { return code == 4 ? "four" : code == 3 ? "shape" : NULL; }

static void h16_lanes(struct trial *t)
{
	static const struct ingot_module_dim dims[] = { { 4, -1 } };
	/* clang-format off */
	static const struct ingot_module_node nodes[] = {
		{ .name = "a", .dtype = INGOT_F32, .rank = 1, .dims = dims, .bytes = 16, .view_of = -1,
		  .flags = INGOT_NODE_HOSTED },
	};
	/* clang-format on */
	static const uint32_t out[] = { 0 };
	static const struct ingot_module_argument arguments[] = { { INGOT_FROM_NODE, 0, 0 } };
	static int (*const hosts[])(const struct ingot_call *) = { slow_step };
	static const struct ingot_module_kernel kernels[] = {
		{ .name = "shape", .run = threads_right, .device_name = "row_shape" }
	};
	/* clang-format off */
	static const struct ingot_module_step steps[] = {
		{ .kind = INGOT_STEP_CLEAR, .lane = 0, .first_argument = 0, .argument_count = 1, .bytes = 16 },
		{ .kind = INGOT_STEP_KERNEL, .lane = 0, .kernel = 0, .groups = { 5, 1, 1 }, .threads = { 1, 1, 1 } },
		{ .kind = INGOT_STEP_HOST, .lane = 1, .kernel = 0 },
	};
	static const struct ingot_module_step large[] = {
		{ .kind = INGOT_STEP_KERNEL, .lane = 0, .kernel = 0, .groups = { 1, 1, 1 },
		  .threads = { 1u << 30, 1, 1 } },
	};
	static const struct ingot_module_routine routines[] = {
		{ .name = "slow", .outputs = out, .output_count = 1, .arguments = arguments, .argument_count = 1,
		  .merge_input = -1, .steps = steps, .step_count = 3, .lane_count = 2 },
		{ .name = "large", .outputs = out, .output_count = 1, .arguments = arguments, .argument_count = 1,
		  .merge_input = -1, .steps = large, .step_count = 1, .lane_count = 1 },
	};
	static const struct ingot_module module = {
		.abi = INGOT_ABI, .name = "lanes", .nodes = nodes, .node_count = 1, .kernels = kernels,
		.kernel_count = 1, .hosts = hosts, .host_count = 1, .routines = routines, .routine_count = 2,
		.message = step_words, .images = row_images, .image_count = ROW_IMAGES };
	/* clang-format on */
	struct ingot_library library;
	struct ingot_routine slow, too_large;
	struct ingot_event done;
	atomic_store(&step_fails, 0);
	atomic_store(&slow_done, 0);
	OK(ingot_library_load(t->runtime, &module, NULL, &library));
	OK(ingot_link(t->context, library, "slow", &slow));
	OK(ingot_link(t->context, library, "large", &too_large));
	for (int run = 0; run < 5; run++) {
		atomic_store(&step_fails, run == 2 ? 4 : 0);
		OK(ingot_routine_run(slow, &done));
		enum ingot_status status = ingot_event_sync(done);
		CHECK(slow_done == run + 1); /* the event comes behind all lanes */
		CHECK(run == 2 ? status == INGOT_FAILED || status == INGOT_DEPENDENCY : !status);
		if (run == 2) {
			SAYS("four");
			CHECK(ingot_stream_await(t->stream) != INGOT_OK);
			OK(ingot_stream_restart(t->stream));
		}
	}
	enum ingot_status status = ingot_routine_run(too_large, NULL);
	if (!status)
		status = ingot_stream_await(t->stream);
	CHECK(status == INGOT_RANGE);
	SAYS("1073741824");
}

/* ---- B7, B14: the planner's own memory goes back, and it says where there is none ---- */

static void b14_scratch(struct trial *t)
{
	(void)t;
	for (int lanes = 1; lanes < 3; lanes++)
		for (int k = 1; k; k++) {
			const uint32_t first[] = { 0 };
			struct ingot_plan_slab slab = { 0 };
			struct ingot_plan_buffer buffers[3] = {
				{ .bytes = 64, .align = 64, .last = 1, .in_place_of = -1 },
				{ .bytes = 64, .align = 64, .first = 1, .last = 2, .in_place_of = 0 },
				{ .bytes = 64, .align = 64, .first = 2, .last = 2, .in_place_of = -1 }
			};
			struct ingot_plan_step steps[3] = { { .lane = 0 },
				{ .lane = (uint32_t)lanes - 1, .after = first, .after_count = 1 }, { .lane = 0 } };
			struct ingot_plan plan = { .buffers = buffers,
				.buffer_count = 3,
				.slabs = &slab,
				.slab_count = 1,
				.steps = lanes > 1 ? steps : NULL,
				.step_count = 3,
				.lane_count = (uint32_t)lanes };
			long before = fault_libc_blocks();
			fault_libc(true);
			fault_plant(k);
			enum ingot_plan_status placed = ingot_plan_place(&plan),
			                       checked = placed ? placed : ingot_plan_check(&plan);
			bool happened = fault_happened();
			fault_forget();
			fault_libc(false);
			CHECK(fault_libc_blocks() == before);
			CHECK(checked == (happened ? INGOT_PLAN_MEMORY : INGOT_PLAN_OK));
			if (!happened) {
				/* with lanes, 1 waits for 0 but 2 does not wait for 1 */
				CHECK(slab.peak == (lanes == 1 ? 128 : 128 + 64) || slab.peak == 128);
				k = -1;
			}
		}
}

/* The work-around of a thread pool's ends: none to do, as many workers as cores, NULL. */
static void b_threads(struct trial *t)
{
	struct ingot_threads *threads;
	_Atomic int count = 0;
	(void)t;
	OK(ingot_threads_open(&threads, 0));
	const struct ingot_parallel *parallel = ingot_threads_parallel(threads);
	CHECK(parallel->workers == (int)sysconf(_SC_NPROCESSORS_ONLN));
	parallel->run(parallel->pool, (void (*)(void *, int))(void *)nothing, &count, 0);
	parallel->run(parallel->pool, (void (*)(void *, int))(void *)nothing, &count, -3);
	ingot_threads_spin(NULL, 5);
	ingot_threads_close(threads);
	ingot_threads_close(NULL);
	CHECK(!ingot_threads_parallel(NULL));
}

const struct row rows_lines[] = {
	{ "F9", "ingot_mode_update", "words_of_refusals", f9_words, NULL, NULL },
	{ "F23", "ingot_node_set_all", "ends_of_values", f23_values, NULL, NULL },
	{ "F27", "ingot_context_finalize", "finalized_too", f27_finalized, NULL, NULL },
	{ "C7", "ingot_runtime_options.spare_commands", "spares", c7_spares, NULL, NULL },
	{ "C3", "ingot_event_signal", "many_at_once", c3_many, NULL, NULL },
	{ "C8", "ingot_device_close", "promises_forgone", c8_forgone, NULL, NULL },
	{ "E9", "ingot_hazard_entries", "one_entry_each", e9_once, NULL, NULL },
	{ "C16", "ingot_queue_issued", "edges_of_the_device", c16_edges, NULL, "mock" },
	{ "C16", "INGOT_LOST", "lost_at_once", lost_at_once, NULL, "mock" },
	{ "A8", "ingot_device_close", "goes_with_the_device", a8_with_device, NULL, NULL },
	{ "A15", "INGOT_LEFT_OPEN", "again_and_left_open", a15_again, NULL, NULL },
	{ "B3", "ingot_device_used", "workspaces_go", b3_workspaces, NULL, NULL },
	{ "B10", "struct ingot_module_constants.align", "aligned_as_asked", b10_aligned, NULL, NULL },
	{ "H11", "ingot_kernel_launch", "kernel_of_a_library", kernel_of_library, NULL, "mock" },
	{ "G4", "ingot_link", "modules_refused", g4_modules, NULL, NULL },
	{ "E10", "ingot_routine_close", "references", e10_references, NULL, NULL },
	{ "D7", "struct ingot_use.merge", "tasks_read_it", d7_tasks, NULL, NULL },
	{ "H16", "struct ingot_module_step.lane", "lanes_and_codes", h16_lanes, NULL, NULL },
	{ "B14", "ingot_plan_place", "scratch_is_given_back", b14_scratch, NULL, NULL },
	{ "H12", "ingot_threads_open", "pools_of_threads", b_threads, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
