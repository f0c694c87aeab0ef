/* rows_kernel.c: rows H: typed buffers, single kernels, static schedules, symbolic shapes. */
#include <unistd.h>
#include "gpu.h"
#include "mock.h"
#include "rows.h"

static struct ingot_library load(struct trial *t)
{
	struct ingot_library library;
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	return library;
}

static void h1(struct trial *t)
{
	/* Handles are values without a meaning of their own; all headers compile as C11 and as C++ (tests
	 * runtime.header.*). */
	struct ingot_device zeros = { 0 };
	struct ingot_buffer buffer;
	const struct ingot_module_kernel *kernel;
	OK(ingot_buffer_open(t->device, INGOT_F16, 3, &buffer));
	CHECK(buffer.bytes == 6 && buffer.dtype == INGOT_F16);
	OK(ingot_library_kernel(load(t), "multiply", &kernel));
	CHECK(!strcmp(kernel->name, "multiply") && kernel->argument_count == 3);
	uint64_t used;
	FAILS(INGOT_STALE, ingot_device_used(zeros, &used));
	zeros = t->device;
	zeros.generation += 1;
	FAILS(INGOT_STALE, ingot_device_used(zeros, &used));
	zeros = t->device;
	zeros.index = 1000000;
	FAILS(INGOT_STALE, ingot_device_used(zeros, &used));
}

static void h2(struct trial *t)
{
	const struct ingot_module_kernel *kernel;
	struct ingot_buffer args[3];
	const uint32_t groups[3] = { 4, 1, 1 };
	float a[4] = { 1, 2, 3, 4 }, got[4];
	OK(ingot_library_kernel(load(t), "multiply", &kernel));
	for (int i = 0; i < 3; i++)
		OK(ingot_buffer_open(t->device, INGOT_F32, 4, args + i));
	OK(ingot_buffer_write(t->stream, args, a, 16, 0, 16));
	OK(ingot_buffer_write(t->stream, args + 1, a, 16, 0, 16));
	OK(ingot_kernel_launch(t->stream, kernel, groups, NULL, args, 3, NULL));
	OK(ingot_buffer_read(t->stream, args + 2, 0, got, 16, 0, 16));
	CHECK(got[0] == 1 && got[3] == 16);
	FAILS(INGOT_MISMATCH, ingot_kernel_launch(t->stream, kernel, groups, NULL, args, 2, NULL));
	struct ingot_buffer ints;
	OK(ingot_buffer_open(t->device, INGOT_I32, 4, &ints));
	struct ingot_buffer mixed[3] = { args[0], ints, args[2] };
	FAILS(INGOT_MISMATCH, ingot_kernel_launch(t->stream, kernel, groups, NULL, mixed, 3, NULL));
	SAYS("i32");
	SAYS("f32");
}

static void h3(struct trial *t)
{
	struct ingot_device device;
	OK(ingot_device_default(t->runtime, &device));
	CHECK(ingot_device_equal(device, t->device));
}

static void h4(struct trial *t)
{
	struct ingot_properties p;
	OK(ingot_device_properties(t->device, &p));
	if (!t->host_memory)
		CHECK(p.shared_bytes == 48 * 1024 && p.group_threads == 1024 && p.group_size[0] == 1024
		        && p.group_size[1] == (strcmp(t->device_name, "cuda") ? 512 : 1024) && p.group_size[2] == 64);
	else
		CHECK(p.shared_bytes == 0 && p.group_threads == 1 && p.group_size[2] == 1 && p.compute_units >= 1
		        && p.memory_bytes > 0);
}

static void h5(struct trial *t)
{
	static const struct {
		enum ingot_dtype dtype;
		bool host, lazy;
	} truth[] = {
		{ INGOT_F32, true, true },
		{ INGOT_F64, true, false },
		{ INGOT_I32, true, true },
		{ INGOT_U8, true, false },
		{ INGOT_BOOL, true, false },
		{ INGOT_F16, false, true },
		{ INGOT_BF16, false, false },
		{ INGOT_F8E4M3FN, false, false },
		{ INGOT_F8E5M2, false, false },
		{ INGOT_I4, false, false },
		{ INGOT_C64, false, false },
		{ INGOT_STRING, false, false },
		{ (enum ingot_dtype)77, false, false },
	};
	for (size_t i = 0; i < sizeof truth / sizeof *truth; i++)
		CHECK(ingot_device_supports(t->device, truth[i].dtype)
		        == (t->host_memory || !strcmp(t->device_name, "cuda") ? truth[i].host : truth[i].lazy));
}

static void h9(struct trial *t)
{
	struct ingot_buffer buffer;
	OK(ingot_buffer_open(t->device, INGOT_F32, 0, &buffer));
	CHECK(buffer.bytes == 0);
	OK(ingot_buffer_open(t->device, INGOT_F32, 1, &buffer));
	CHECK(buffer.bytes == 4);
	FAILS(INGOT_MEMORY, ingot_buffer_open(t->device, INGOT_F32, UINT64_C(1) << 58, &buffer));
	FAILS(INGOT_RANGE, ingot_buffer_open(t->device, INGOT_F64, UINT64_C(1) << 62, &buffer));
	FAILS(INGOT_INVALID, ingot_buffer_open(t->device, INGOT_STRING, 4, &buffer));
}

static void h10(struct trial *t)
{
	struct ingot_buffer buffer;
	unsigned char host[40], got[40];
	OK(ingot_buffer_open(t->device, INGOT_U8, 32, &buffer));
	for (int i = 0; i < 40; i++)
		host[i] = (unsigned char)(i + 1);
	OK(ingot_buffer_write(t->stream, &buffer, host, 40, 8, 32));
	FAILS(INGOT_RANGE, ingot_buffer_write(t->stream, &buffer, host, 40, 9, 32));
	FAILS(INGOT_RANGE, ingot_buffer_write(t->stream, &buffer, host, 40, 0, 33));
	FAILS(INGOT_RANGE, ingot_buffer_write(t->stream, &buffer, host, 40, 41, 0));
	FAILS(INGOT_RANGE, ingot_buffer_write(t->stream, &buffer, host, 40, 8, UINT64_MAX));
	FAILS(INGOT_RANGE, ingot_buffer_write(t->stream, &buffer, host, 40, UINT64_MAX, 2));
	OK(ingot_buffer_write(t->stream, &buffer, host, 40, 40, 0));
	OK(ingot_buffer_read(t->stream, &buffer, 31, got, 40, 39, 1));
	CHECK(got[39] == 40);
	FAILS(INGOT_RANGE, ingot_buffer_read(t->stream, &buffer, 31, got, 40, 0, 2));
	FAILS(INGOT_RANGE, ingot_buffer_read(t->stream, &buffer, 32, got, 40, 40, 1));
	FAILS(INGOT_RANGE, ingot_buffer_read(t->stream, &buffer, UINT64_MAX, got, 40, 0, 2));
	OK(ingot_buffer_read(t->stream, &buffer, 32, got, 40, 0, 0));
}

static void h11(struct trial *t)
{
	const struct ingot_module_kernel *kernel;
	struct ingot_library library = load(t);
	OK(ingot_library_kernel(library, "where", &kernel));
	FAILS(INGOT_MISSING, ingot_library_kernel(library, "wherever", &kernel));
	SAYS("wherever");
}

static void h12(struct trial *t)
{
	static const uint32_t grids[][3] = { { 5, 1, 1 }, { 3, 4, 1 }, { 2, 3, 4 }, { 1, 1, 7 } };
	const struct ingot_module_kernel *where;
	struct ingot_library library = load(t);
	struct ingot_properties p;
	struct ingot_buffer out;
	int32_t got[24 * 8];
	OK(ingot_library_kernel(library, "where", &where));
	OK(ingot_device_properties(t->device, &p));
	OK(ingot_buffer_open(t->device, INGOT_I32, 24 * 8, &out));
	for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
		const uint32_t *n = grids[g];
		OK(ingot_pool_fill(t->stream, out.pool, 0, out.bytes, 0, NULL));
		OK(ingot_kernel_launch(t->stream, where, n, NULL, &out, 1, NULL));
		OK(ingot_buffer_read(t->stream, &out, 0, got, sizeof got, 0, sizeof got));
		for (uint32_t i = 0; i < 24; i++) {
			const int32_t *at = got + 8 * i;
			CHECK(at[6] == (i < n[0] * n[1] * n[2]));
			if (!at[6])
				continue;
			CHECK(at[0] == (int32_t)(i % n[0]) && at[1] == (int32_t)(i / n[0] % n[1])
			        && at[2] == (int32_t)(i / n[0] / n[1]));
			/* the device's own choice is valid */
			CHECK(at[3] >= 1 && (uint32_t)(at[3] * at[4] * at[5]) <= p.group_threads
			        && (t->host_memory || at[3] > 1));
		}
	}
	const uint32_t none[3] = { 0, 1, 1 }, one[3] = { 1, 1, 1 }, wide[3] = { 4096, 1, 1 }, cube[3] = { 32, 32, 32 },
	               deep[3] = { 1, 1, 65 };
	FAILS(INGOT_RANGE, ingot_kernel_launch(t->stream, where, none, NULL, &out, 1, NULL));
	FAILS(INGOT_RANGE, ingot_kernel_launch(t->stream, where, one, wide, &out, 1, NULL));
	FAILS(INGOT_RANGE, ingot_kernel_launch(t->stream, where, one, cube, &out, 1, NULL));
	FAILS(INGOT_RANGE, ingot_kernel_launch(t->stream, where, one, deep, &out, 1, NULL));
	OK(ingot_kernel_launch(t->stream, where, one, one, &out, 1, NULL));
	OK(ingot_stream_await(t->stream));
}

/* A kernel of the host's may fail with a number; one of a GPU has none to give. */
static void h12_codes(struct trial *t)
{
	const struct ingot_module_kernel *broken;
	OK(ingot_library_kernel(load(t), "broken", &broken));
	OK(ingot_kernel_launch(t->stream, broken, (const uint32_t[]){ 2, 1, 1 }, NULL, NULL, 0, NULL));
	FAILS(INGOT_FAILED, ingot_stream_await(t->stream));
	SAYS("broken");
	SAYS("9");
}

static void h13(struct trial *t)
{
	const struct ingot_module_kernel *kernel;
	struct ingot_buffer args[2];
	const uint32_t groups[3] = { 1000, 1, 1 };
	static float in[1000], got[1000];
	OK(ingot_library_kernel(load(t), "double", &kernel));
	for (int i = 0; i < 1000; i++)
		in[i] = (float)i;
	for (int i = 0; i < 2; i++)
		OK(ingot_buffer_open(t->device, INGOT_F32, 1000, args + i));
	OK(ingot_buffer_write(t->stream, args, in, sizeof in, 0, sizeof in));
	OK(ingot_kernel_launch(t->stream, kernel, groups, NULL, args, 2, NULL));
	OK(ingot_pool_read(t->stream, args[1].pool, 0, got, sizeof got, NULL));
	OK(ingot_device_sync(t->device));
	for (int i = 0; i < 1000; i++)
		CHECK(got[i] == (float)(2 * i));
}

static void h14(struct trial *t)
{
	/* Every status has a name and words; a failing call leaves a sentence; each thread its own (fault runs:
	 * --fail). */
	struct ingot_device device;
	for (int s = 0; s < INGOT_STATUS_COUNT; s++) {
		CHECK(!strncmp(ingot_status_name((enum ingot_status)s), "INGOT_", 6));
		CHECK(strlen(ingot_status_text((enum ingot_status)s)) > 3);
	}
	CHECK(!strcmp(ingot_status_name(INGOT_STATUS_COUNT), "?"));
	FAILS(INGOT_RANGE, ingot_device_get(t->runtime, t->device_name, 1000, &device));
	SAYS("1000");
	FAILS(INGOT_INVALID, ingot_task_submit(t->stream, NULL, NULL));
	FAILS(INGOT_INVALID, ingot_runtime_open(NULL, NULL));
	OK(ingot_runtime_close(NULL));
}

static void h16(struct trial *t)
{
	/* Kernels, a clear, a copy, a wait and a host step on three lanes, again and again. */
	struct ingot_library library = load(t);
	struct ingot_routine steps;
	struct ingot_context linked;
	struct ingot_node x, z;
	float in[SMALL_COUNT], out[SMALL_COUNT];
	OK(ingot_link(t->context, library, "steps", &steps));
	OK(ingot_routine_context(steps, &linked));
	OK(ingot_library_node(library, "x", &x));
	OK(ingot_library_node(library, "z", &z));
	for (int run = 0; run < 200; run++) {
		for (int i = 0; i < SMALL_COUNT; i++)
			in[i] = (float)(run + i);
		struct ingot_event done;
		OK(ingot_write(linked, x, in, sizeof in, &done));
		OK(ingot_routine_run(steps, NULL));
		OK(ingot_event_sync(done));
		OK(ingot_event_close(done));
		if (run % 10)
			continue;
		read_f32(linked, z, out, SMALL_COUNT);
		for (int i = 0; i < SMALL_COUNT; i++)
			CHECK(out[i] == 2 * small_weights[i] * in[i]);
	}
	OK(ingot_stream_await(t->stream));
	OK(ingot_device_sync(t->device));
	struct ingot_module broken = small_module; /* a step that waits for a later one is refused */
	struct ingot_module_routine routine = small_module.routines[3];
	struct ingot_module_step bad[6];
	const uint32_t later[] = { 5 };
	memcpy(bad, routine.steps, sizeof bad);
	bad[2].after = later;
	routine.steps = bad;
	broken.routines = &routine;
	broken.routine_count = 1;
	FAILS(INGOT_INVALID, ingot_library_load(t->runtime, &broken, NULL, &library));
	SAYS("later");
}

/* Loops that are counted, loops that a byte ends, arguments that move with them, and a check: of devices that take a
 * schedule whole. */
static const char *seven(int code) { return code == 7 ? "seven" : NULL; }

static void h16_loops(struct trial *t)
{
	static const struct ingot_module_dim four[] = { { 4, -1 } }, one[] = { { 1, -1 } };
	/* clang-format off */
	static const struct ingot_module_node nodes[] = {
		{ .name = "a", .dtype = INGOT_F32, .rank = 1, .dims = four, .bytes = 16, .view_of = -1,
		  .flags = INGOT_NODE_STATE },
		{ .name = "going", .dtype = INGOT_U8, .rank = 1, .dims = one, .bytes = 1, .view_of = -1,
		  .flags = INGOT_NODE_HOSTED },
	};
	/* clang-format on */
	static const struct ingot_module_kernel kernels[] = {
		{ .name = "increase", .argument_count = 1, .device_name = "row_increase" }
	};
	static const struct ingot_module_argument arguments[] = { { INGOT_FROM_NODE, 0, 0 }, { INGOT_FROM_NODE, 1, 0 },
		{ INGOT_FROM_NODE, 0, 0 }, { INGOT_FROM_NODE, 0, 0 }, { INGOT_FROM_NODE, 1, 0 } };
	/* behind the loop of three rounds: the first, one place further by their odd number */
	static const struct ingot_module_move moves[] = { { 0, { 0 }, { 0 } }, { 0, { 4 }, { 0 } },
		{ 12, { 0 }, { 0 } }, { -4, { 0 }, { 8 } } };
	static const uint32_t moved[] = { 1, 0, 2, 3, 0 }, in[] = { 0, 1 }, out[] = { 0 };
	static const struct ingot_module_step steps[] = { { .kind = INGOT_STEP_LOOP, .kernel = 2, .bytes = 3 },
		{ .kind = INGOT_STEP_KERNEL, .first_argument = 0, .argument_count = 1, .groups = { 1, 1, 1 } },
		{ .kind = INGOT_STEP_ROUND, .kernel = 0, .bytes = 3 },
		{ .kind = INGOT_STEP_KERNEL, .first_argument = 3, .argument_count = 1, .groups = { 1, 1, 1 } },
		{ .kind = INGOT_STEP_LOOP, .kernel = 6, .bytes = 5, .first_argument = 1, .argument_count = 1 },
		{ .kind = INGOT_STEP_KERNEL, .first_argument = 2, .argument_count = 1, .groups = { 1, 1, 1 } },
		{ .kind = INGOT_STEP_ROUND, .kernel = 4, .bytes = 5, .first_argument = 1, .argument_count = 1 },
		{ .kind = INGOT_STEP_CHECK, .kernel = 7, .first_argument = 4, .argument_count = 1 } };
	enum { STEPS = sizeof steps / sizeof *steps };
	static struct ingot_module_routine routine = { .name = "loops",
		.inputs = in,
		.input_count = 2,
		.outputs = out,
		.output_count = 1,
		.arguments = arguments,
		.argument_count = 5,
		.merge_input = -1,
		.steps = steps,
		.step_count = STEPS,
		.lane_count = 1,
		.moved = moved,
		.moves = moves,
		.move_count = 4 };
	/* clang-format off */
	static const struct ingot_module module = {
		.abi = INGOT_ABI, .name = "loops", .nodes = nodes, .node_count = 2, .kernels = kernels,
		.kernel_count = 1, .routines = &routine, .routine_count = 1, .message = seven, .images = row_images,
		.image_count = ROW_IMAGES };
	/* clang-format on */
	struct ingot_library library;
	struct ingot_routine loops;
	struct ingot_context linked;
	struct ingot_node a, going;
	OK(ingot_library_load(t->runtime, &module, NULL, &library));
	OK(ingot_link(t->context, library, "loops", &loops));
	OK(ingot_routine_context(loops, &linked));
	OK(ingot_library_node(library, "a", &a));
	OK(ingot_library_node(library, "going", &going));
	for (int on = 1; on >= 0; on--) {
		const float zeros[4] = { 0 };
		float got[4];
		unsigned char byte = (unsigned char)on;
		struct ingot_event done;
		OK(ingot_write(linked, going, &byte, 1, &done));
		OK(ingot_event_sync(done));
		OK(ingot_event_close(done));
		write_f32(linked, a, zeros, 4);
		enum ingot_status status = ingot_routine_run(loops, NULL);
		if (!on_gpu) {
			status = status ? status : ingot_stream_await(t->stream);
			CHECK(status == INGOT_UNSUPPORTED);
			break;
		}
		OK(status);
		if (on) {
			read_f32(linked, a, got, 4);
			CHECK(got[0] == 1 && got[1] == 2 && got[2] == 1 && got[3] == 5);
		}
		FAILS(on ? INGOT_OK : INGOT_FAILED, ingot_stream_await(t->stream));
		if (!on)
			SAYS("answered 7: seven");
	}
	/* What does not hold together is refused. */
	static const struct {
		uint32_t at;
		struct ingot_module_step step;
		const char *words;
	} wrong[] = { { 2, { .kind = INGOT_STEP_ROUND, .kernel = 1, .bytes = 3 }, "a round's loop" },
		{ 2, { .kind = INGOT_STEP_WAIT }, "a loop without a round" },
		{ 6, { .kind = INGOT_STEP_WAIT }, "a loop without a round" },
		{ 0, { .kind = INGOT_STEP_LOOP, .kernel = 2, .bytes = 3, .argument_count = 2 },
		        "a loop that is too deep, or its arguments" },
		{ 7, { .kind = INGOT_STEP_CHECK, .kernel = 7 }, "the number of a step's arguments" },
		{ 7, { .kind = 8 }, "a step's kind or lane" } };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong + 2; i++) {
		struct ingot_module_step changed[STEPS];
		struct ingot_module_routine made = routine;
		struct ingot_module broken = module;
		memcpy(changed, steps, sizeof changed);
		if (i < sizeof wrong / sizeof *wrong)
			changed[wrong[i].at] = wrong[i].step;
		else if (i == sizeof wrong / sizeof *wrong)
			made.lane_count = 2;
		else
			made.move_count = 3;
		made.steps = changed;
		broken.routines = &made;
		FAILS(INGOT_INVALID, ingot_library_load(t->runtime, &broken, NULL, &library));
		SAYS(i < sizeof wrong / sizeof *wrong  ? wrong[i].words
		                : made.lane_count == 2 ? "loops or checks on several lanes"
		                                       : "how a routine's arguments move");
	}
}

/* b is twice a, c is a, and b is added to the first three of c. */
static struct ingot_library chain_load(struct trial *t)
{
	static const struct ingot_module_dim four[] = { { 4, -1 } };
	/* clang-format off */
	static const struct ingot_module_node nodes[] = {
		{ .name = "a", .dtype = INGOT_F32, .rank = 1, .dims = four, .bytes = 16, .view_of = -1,
		  .flags = INGOT_NODE_HOSTED },
		{ .name = "b", .dtype = INGOT_F32, .rank = 1, .dims = four, .bytes = 16, .view_of = -1 },
		{ .name = "c", .dtype = INGOT_F32, .rank = 1, .dims = four, .bytes = 16, .view_of = -1,
		  .flags = INGOT_NODE_HOSTED },
	};
	/* clang-format on */
	static const struct ingot_module_kernel kernels[] = {
		{ .name = "double", .argument_count = 2, .device_name = "row_double" },
		{ .name = "add", .argument_count = 2, .device_name = "row_add" }
	};
	static const struct ingot_module_argument arguments[] = { { INGOT_FROM_NODE, 0, 0 }, { INGOT_FROM_NODE, 1, 0 },
		{ INGOT_FROM_NODE, 2, 0 }, { INGOT_FROM_NODE, 0, 0 }, { INGOT_FROM_NODE, 1, 0 },
		{ INGOT_FROM_NODE, 2, 0 } };
	static const uint32_t in[] = { 0 }, out[] = { 1, 2 };
	/* clang-format off */
	static const struct ingot_module_step steps[] = {
		{ .kind = INGOT_STEP_KERNEL, .first_argument = 0, .argument_count = 2, .groups = { 4, 1, 1 } },
		{ .kind = INGOT_STEP_COPY, .first_argument = 2, .argument_count = 2, .bytes = 16 },
		{ .kind = INGOT_STEP_KERNEL, .kernel = 1, .first_argument = 4, .argument_count = 2,
		  .groups = { 3, 1, 1 } },
	};
	static const struct ingot_module_routine routine = {
		.name = "chain", .inputs = in, .input_count = 1, .outputs = out, .output_count = 2,
		.arguments = arguments, .argument_count = 6, .merge_input = -1, .steps = steps, .step_count = 3,
		.lane_count = 1 };
	static const struct ingot_module module = {
		.abi = INGOT_ABI, .name = "chain", .nodes = nodes, .node_count = 3, .kernels = kernels,
		.kernel_count = 2, .routines = &routine, .routine_count = 1, .images = row_images,
		.image_count = ROW_IMAGES };
	/* clang-format on */
	struct ingot_library library;
	OK(ingot_library_load(t->runtime, &module, NULL, &library));
	return library;
}

/* A thousand runs of four streams are in flight at once, each a graph but for the first; all come to their end. */
static void h16_thousand(struct trial *t)
{
	enum { STREAMS = 4, EACH = 250 };
	struct ingot_library library = chain_load(t);
	struct ingot_stream streams[STREAMS];
	struct ingot_routine chain[STREAMS];
	struct ingot_context base, linked[STREAMS];
	struct ingot_node a, c;
	struct mock_counts before, now;
	OK(ingot_library_node(library, "a", &a));
	OK(ingot_library_node(library, "c", &c));
	for (int i = 0; i < STREAMS; i++) {
		streams[i] = i ? other_stream(t) : t->stream;
		OK(ingot_context_new(streams[i], &base));
		OK(ingot_link(base, library, "chain", &chain[i]));
		OK(ingot_routine_context(chain[i], &linked[i]));
		write_f32(linked[i], a, (const float[]){ (float)i, 1, 2, 3 }, 4);
	}
	OK(ingot_device_sync(t->device));
	bool counted = device_counts(t, &before);
	device_hold(true);
	for (int run = 0; run < EACH; run++)
		for (int i = 0; i < STREAMS; i++)
			OK(ingot_routine_run(chain[i], NULL));
	for (int i = 0; i < 20000 && device_counts(t, &now) && now.in_flight - before.in_flight < STREAMS * EACH; i++)
		usleep(500);
	CHECK(!counted
	        || (now.in_flight - before.in_flight == STREAMS * EACH
	                && now.schedules - before.schedules == STREAMS * (EACH - 1)));
	device_hold(false);
	OK(ingot_device_sync(t->device));
	for (int i = 0; i < STREAMS; i++) {
		float got[4];
		read_f32(linked[i], c, got, 4);
		CHECK(got[0] == (float)(3 * i) && got[1] == 3 && got[2] == 6 && got[3] == 3);
	}
}

static void says_who(const char *stream)
{
	SAYS("is lost: ");
	SAYS("kernel trap: ");
	SAYS(stream);
}

/* Where each kernel is waited for, the one that loses the device is named, with its stream, in that and in each later
 * call, and by other devices on that GPU; the other backend's go on. */
static void c16_named(struct trial *t)
{
	enum { ROUNDS = 3, BYTES = 64 };
	const struct ingot_backend_options waiting = { .intra_op_threads = 1, .wait_for_kernels = true };
	const uint32_t one[3] = { 1, 1, 1 };
	struct trial w = *t;
	struct ingot_stream stream;
	struct ingot_library library;
	struct ingot_routine chain;
	struct ingot_context linked;
	struct ingot_node a, c;
	struct mock_counts before = { 0 }, now = { 0 };
	const struct ingot_module_kernel *trap;
	unsigned char got[BYTES];
	char name[80];
	uint32_t pool;
	OK(ingot_runtime_open(&w.runtime, &t->options));
	second_runtime(w.runtime);
	OK(ingot_backend_init(w.runtime, t->device_name, &waiting));
	OK(ingot_backend_init(w.runtime, "multicore", &waiting));
	OK(ingot_device_get(w.runtime, t->device_name, 0, &w.device));
	OK(ingot_stream_default(w.device, &w.stream));
	OK(ingot_context_new(w.stream, &w.context));
	library = chain_load(&w);
	OK(ingot_library_node(library, "a", &a));
	OK(ingot_library_node(library, "c", &c));
	OK(ingot_link(w.context, library, "chain", &chain));
	OK(ingot_routine_context(chain, &linked));
	bool counted = device_counts(t, &before);
	for (int i = 0; i < ROUNDS; i++) {
		float values[4] = { (float)i, 1, 2, 3 }, sums[4];
		write_f32(linked, a, values, 4);
		OK(ingot_routine_run(chain, NULL));
		read_f32(linked, c, sums, 4);
		CHECK(sums[0] == (float)(3 * i) && sums[1] == 3 && sums[2] == 6 && sums[3] == 3);
	}
	CHECK(!counted
	        || (device_counts(t, &now)
	                && now.graphs == before.graphs)); /* a graph's kernels have no waits between them */
	OK(ingot_library_load(w.runtime, &small_module, NULL, &library));
	OK(ingot_library_kernel(library, "trap", &trap));
	ingot_stream_name(w.stream, name, sizeof name);
	unsetenv("STANDIN_ABORT"); /* the trap is meant */
	OK(ingot_kernel_launch(w.stream, trap, one, NULL, NULL, 0, NULL));
	FAILS(INGOT_LOST, ingot_stream_await(w.stream));
	SAYS("kernel trap: ");
	SAYS(name);
	FAILS(INGOT_LOST, ingot_kernel_launch(w.stream, trap, one, NULL, NULL, 0, NULL));
	says_who(name);
	FAILS(INGOT_LOST, ingot_pool_open(w.device, BYTES, 0, INGOT_SLAB_PRIVATE, &pool));
	says_who(name);
	FAILS(INGOT_LOST, ingot_stream_open(w.device, &stream));
	says_who(name);
	FAILS(INGOT_LOST, ingot_routine_run(chain, NULL));
	says_who(name);
	/* Another runtime's device on that GPU: its own error, and what was first. */
	FAILS(INGOT_LOST, ingot_pool_open(t->device, BYTES, 0, INGOT_SLAB_PRIVATE, &pool));
	SAYS("; the GPU's first error: kernel trap: ");
	FAILS(INGOT_LOST, ingot_pool_open(t->device, BYTES, 0, INGOT_SLAB_PRIVATE, &pool));
	SAYS("; the GPU's first error: kernel trap: ");
	OK(ingot_device_get(w.runtime, "multicore", 0, &w.device));
	OK(ingot_stream_default(w.device, &w.stream));
	OK(ingot_pool_open(w.device, BYTES, 0, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_pool_fill(w.stream, pool, 0, BYTES, 5, NULL));
	OK(ingot_pool_read(w.stream, pool, 0, got, BYTES, NULL));
	OK(ingot_stream_await(w.stream));
	CHECK(got[0] == 5 && got[BYTES - 1] == 5);
	second_runtime(NULL);
	ingot_runtime_close(w.runtime);
}

/* A schedule that comes again is a graph, one for its addresses; of ten places eight are kept, and the oldest takes new
 * addresses. */
static void h16_graphs(struct trial *t)
{
	enum { PLACES = 10, GRAPHS = 8 };
	struct ingot_library library = chain_load(t);
	struct ingot_routine chain[PLACES];
	struct ingot_context base, linked[PLACES];
	struct ingot_node a, c;
	struct mock_counts before, now;
	bool counted = device_counts(t, &before);
	OK(ingot_library_node(library, "a", &a));
	OK(ingot_library_node(library, "c", &c));
	for (int i = 0; i < PLACES; i++) {
		OK(ingot_context_new(i % 2 ? other_stream(t) : t->stream, &base));
		OK(ingot_link(base, library, "chain", &chain[i]));
		OK(ingot_routine_context(chain[i], &linked[i]));
	}
	/* each place thrice; then the first, which went long ago, and the last, which is there */
	for (int i = 0, run = 0; i < 3 * PLACES + 2; i++, run++) {
		int place = i < 3 * PLACES ? i / 3 : i == 3 * PLACES ? 0 : PLACES - 1;
		float values[4] = { (float)run, 1, 2, 3 }, got[4];
		write_f32(linked[place], a, values, 4);
		OK(ingot_routine_run(chain[place], NULL));
		read_f32(linked[place], c, got, 4);
		CHECK(got[0] == (float)(3 * run) && got[1] == 3 && got[2] == 6 && got[3] == 3);
		OK(ingot_device_sync(t->device));
		if (!counted || !device_counts(t, &now))
			continue;
		uint32_t graphs = now.graphs - before.graphs, launches = now.schedules - before.schedules,
		         updates = now.updates - before.updates;
		if (i < 3 * GRAPHS) /* seen, made, launched again */
			CHECK(graphs == (uint32_t)(place + (i % 3 > 0)) && launches == (uint32_t)(2 * place + i % 3)
			        && !updates);
		else if (i < 3 * PLACES)
			CHECK(graphs == GRAPHS && updates == (uint32_t)(place - GRAPHS + 1)
			        && launches == (uint32_t)(2 * GRAPHS + i - 3 * GRAPHS + 1));
		else
			CHECK(graphs == GRAPHS && updates == PLACES - GRAPHS + 1);
	}
}

static void h18(struct trial *t)
{
	struct ingot_library library = load(t);
	struct ingot_routine routine;
	struct ingot_context linked;
	struct ingot_node x, y;
	float in[SMALL_COUNT], out[SMALL_COUNT];
	OK(ingot_link(t->context, library, "dense", &routine));
	OK(ingot_routine_context(routine, &linked));
	OK(ingot_library_node(library, "x", &x));
	OK(ingot_library_node(library, "y", &y));
	for (int i = 0; i < SMALL_COUNT; i++)
		in[i] = 1;
	write_f32(linked, x, in, SMALL_COUNT);
	for (int64_t n = 1; n <= SMALL_COUNT; n *= 4) { /* one kernel, several extents, memory for the largest */
		OK(ingot_routine_set(routine, "n", n));
		OK(ingot_routine_run(routine, NULL));
		read_f32(linked, y, out, SMALL_COUNT);
		for (int i = 0; i < SMALL_COUNT; i++)
			CHECK((out[i] != 0) == (i < n));
	}
	FAILS(INGOT_RANGE, ingot_routine_set(routine, "n", 17));
	FAILS(INGOT_RANGE, ingot_routine_set(routine, "fixed", 4));
	struct ingot_module broken = small_module;
	struct ingot_module_symbol empty[] = { { "n", 5, 4 }, { "fixed", 3, 3 } };
	broken.symbols = empty;
	FAILS(INGOT_INVALID, ingot_library_load(t->runtime, &broken, NULL, &library));
}

static void h19(struct trial *t)
{
	static const struct {
		enum ingot_dtype dtype;
		const char *name;
		uint32_t bits;
	} rune[] = {
		{ INGOT_F32, "f32", 32 },
		{ INGOT_I32, "i32", 32 },
		{ INGOT_BOOL, "bool", 8 },
		{ INGOT_U8, "u8", 8 },
	};
	for (size_t i = 0; i < sizeof rune / sizeof *rune; i++) {
		struct ingot_buffer buffer;
		CHECK(!strcmp(ingot_dtype_name(rune[i].dtype), rune[i].name)
		        && ingot_dtype_bits(rune[i].dtype) == rune[i].bits);
		OK(ingot_buffer_open(t->device, rune[i].dtype, 10, &buffer));
		CHECK(buffer.bytes == 10 * rune[i].bits / 8);
	}
	struct ingot_node unit; /* nothing to hold: a tensor of no elements */
	int64_t zero = 0;
	uint64_t bytes = 1;
	OK(ingot_node_new(
	        t->runtime, &(struct ingot_node_options){ .dtype = INGOT_F32, .rank = 1, .dims = &zero }, &unit));
	OK(ingot_node_bytes(unit, &bytes));
	CHECK(bytes == 0);
}

const struct row rows_kernel[] = {
	{ "H1", "INGOT_HANDLE", "opaque_handles", h1, NULL, NULL },
	{ "H2", "ingot_kernel_launch", "arguments", h2, NULL, NULL },
	{ "H3", "ingot_device_default", "default_device", h3, NULL, NULL },
	{ "H4", "struct ingot_properties", "limits", h4, NULL, NULL },
	{ "H5", "ingot_device_supports", "types_of_kernels", h5, NULL, NULL },
	{ "H6", "-", "snippets", NULL, "lives in the generator", NULL },
	{ "H7", "-", "render", NULL, "lives in the generator", NULL },
	{ "H8", "-", "compile", NULL, "lives in the generator", NULL },
	{ "H9", "ingot_buffer_open", "allocate", h9, NULL, NULL },
	{ "H10", "ingot_buffer_write", "bounds", h10, NULL, NULL },
	{ "H11", "ingot_library_kernel", "get_kernel", h11, NULL, NULL },
	{ "H12", "ingot_kernel_launch", "grids", h12, NULL, NULL },
	{ "H12", "struct ingot_module_kernel.run", "codes_of_kernels", h12_codes, NULL, "sync multicore lazy mock" },
	{ "H13", "ingot_device_sync", "synchronize", h13, NULL, NULL },
	{ "H14", "ingot_message", "errors", h14, NULL, NULL },
	{ "H15", "-", "driver", NULL, "lives in the generator", NULL },
	{ "H16", "struct ingot_module_step", "static_schedule", h16, NULL, NULL },
	{ "H16", "struct ingot_module_move", "loops_and_checks", h16_loops, NULL, NULL },
	{ "H16", "struct ingot_backend.schedule", "graphs", h16_graphs, NULL, "cuda" },
	{ "C16", "ingot_backend_options.wait_for_kernels", "kernel_named", c16_named, NULL, "cuda" },
	{ "H16", "struct ingot_backend.schedule", "a_thousand_in_flight", h16_thousand, NULL, "cuda" },
	{ "H17", "-", "lowered_ops", NULL, "lives in the generator", NULL },
	{ "H18", "struct ingot_module_symbol", "symbolic_shapes", h18, NULL, NULL },
	{ "H19", "enum ingot_dtype", "types", h19, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
