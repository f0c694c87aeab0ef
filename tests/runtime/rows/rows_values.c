/* rows_values.c: rows F17 to F29: sizes, margins, and the values of a node on the host. */
#include <math.h>
#include <pthread.h>
#include "rows.h"

static void f17(struct trial *t)
{
	struct ingot_node node;
	uint64_t count, bytes;
	int64_t dims[] = { 3, 6, 2 }, left[] = { 0, 1, 0 }, right[] = { 0, 2, 0 }, huge[] = { INT64_MAX, INT64_MAX };
	OK(ingot_node_new(t->runtime,
	        &(struct ingot_node_options){
	                .dtype = INGOT_F16, .rank = 3, .dims = dims, .left = left, .right = right },
	        &node));
	OK(ingot_node_count(node, &count));
	OK(ingot_node_bytes(node, &bytes));
	CHECK(count == 36 && bytes == 72);
	int64_t five = 5;
	OK(ingot_node_new(
	        t->runtime, &(struct ingot_node_options){ .dtype = INGOT_I4, .rank = 1, .dims = &five }, &node));
	OK(ingot_node_bytes(node, &bytes));
	CHECK(bytes == 3);
	OK(ingot_node_new(t->runtime, &(struct ingot_node_options){ .dtype = INGOT_F64 }, &node));
	OK(ingot_node_bytes(node, &bytes));
	CHECK(bytes == 8);
	FAILS(INGOT_RANGE, ingot_node_new(t->runtime, &(struct ingot_node_options){ .rank = 2, .dims = huge }, &node));
	FAILS(INGOT_RANGE, ingot_node_new(t->runtime, &(struct ingot_node_options){ .rank = 17, .dims = huge }, &node));
	dims[0] = -1;
	FAILS(INGOT_RANGE, ingot_node_new(t->runtime, &(struct ingot_node_options){ .rank = 3, .dims = dims }, &node));
	dims[0] = 3;
	left[1] = 5;
	FAILS(INGOT_RANGE,
	        ingot_node_new(t->runtime,
	                &(struct ingot_node_options){ .rank = 3, .dims = dims, .left = left, .right = right }, &node));
}

static struct ingot_node padded(struct trial *t, bool open)
{
	struct ingot_node node;
	int64_t dims[] = { 4, 5 }, left[] = { 1, 2 }, right[] = { 1, 0 };
	OK(ingot_node_new(t->runtime,
	        &(struct ingot_node_options){ .dtype = INGOT_F32,
	                .rank = 2,
	                .dims = dims,
	                .left = left,
	                .right = right,
	                .margin = -9,
	                .margin_open = open },
	        &node));
	return node;
}

static void f18(struct trial *t)
{
	struct ingot_node node = padded(t, false), open = padded(t, true);
	double in[6] = { 1, 2, 3, 4, 5, 6 }, out[6], value;
	void *data;
	uint64_t bytes;
	OK(ingot_node_set_all(node, in, 6));
	OK(ingot_node_host(node, &data, &bytes));
	static const float all[20] = { -9, -9, -9, -9, -9, -9, -9, 1, 2, 3, -9, -9, 4, 5, 6, -9, -9, -9, -9, -9 };
	CHECK(bytes == 80 && !memcmp(data, all, 80)); /* margins survive writes */
	OK(ingot_node_get(node, (int64_t[]){ 1, 2 }, 2, &value));
	CHECK(value == 6);
	FAILS(INGOT_RANGE, ingot_node_get(node, (int64_t[]){ 1, 3 }, 2, &value));
	FAILS(INGOT_RANGE, ingot_node_get(node, (int64_t[]){ -1, 0 }, 2, &value));
	OK(ingot_node_get_all(node, out, 6));
	CHECK(!memcmp(in, out, sizeof in));
	/* And on the device, as they are part of the array. */
	OK(ingot_context_place(t->context, &node, 1));
	float got[20];
	read_f32(t->context, node, got, 20);
	CHECK(!memcmp(got, all, 80));
	FAILS(INGOT_CONFLICT, ingot_node_reset_margins(node, 0));
	OK(ingot_node_set_all(open, in, 6));
	OK(ingot_node_reset_margins(open, 7));
	OK(ingot_node_host(open, &data, &bytes));
	CHECK(((float *)data)[0] == 7 && ((float *)data)[19] == 7 && ((float *)data)[7] == 1);
}

static void f19(struct trial *t)
{
	uint32_t before = ingot_node_list(t->runtime, NULL, NULL, NULL, 0);
	struct ingot_node node = node_f32(t, "a", 4), found;
	CHECK(ingot_node_list(t->runtime, NULL, NULL, NULL, 0) == before + 1);
	OK(ingot_node_find(t->runtime, ingot_node_id(node), &found));
	CHECK(ingot_node_equal(node, found) && !ingot_node_has_host(node));
}

static void f20(struct trial *t)
{
	static float mine[4] = { 1, 2, 3, 4 };
	struct ingot_node node;
	int64_t four = 4;
	void *data;
	uint64_t bytes;
	double value;
	OK(ingot_node_wrap(t->runtime, &(struct ingot_node_options){ .dtype = INGOT_F32, .rank = 1, .dims = &four },
	        mine, 16, &node));
	OK(ingot_node_host(node, &data, &bytes));
	CHECK(data == mine);
	mine[2] = 30;
	OK(ingot_node_get(node, (int64_t[]){ 2 }, 1, &value));
	CHECK(value == 30);
	CHECK(ingot_node_mode(node).mode == INGOT_HOSTED && ingot_node_mode(node).provenance == INGOT_BY_WRAPPED);
	FAILS(INGOT_CONFLICT, ingot_node_dtype_update(node, INGOT_PRECISION_SPECIFIED, INGOT_F64, NULL));
	FAILS(INGOT_MISMATCH,
	        ingot_node_wrap(t->runtime,
	                &(struct ingot_node_options){ .dtype = INGOT_F32, .rank = 1, .dims = &four }, mine, 12, &node));
	FAILS(INGOT_CONFLICT,
	        ingot_node_wrap(t->runtime,
	                &(struct ingot_node_options){
	                        .dtype = INGOT_F32, .rank = 1, .dims = &four, .mode = INGOT_VIRTUAL },
	                mine, 16, &node));
}

static void f21(struct trial *t)
{
	static float flat[6] = { 1, 2, 3, 4, 5, 6 }, full[20];
	int64_t plain[] = { 2, 3 }, dims[] = { 4, 5 }, left[] = { 1, 2 }, right[] = { 1, 0 };
	struct ingot_node_options unpadded = { .dtype = INGOT_F32, .rank = 2, .dims = plain },
	                          pad = { .dtype = INGOT_F32, .rank = 2, .dims = dims, .left = left, .right = right };
	struct ingot_node node;
	void *data;
	uint64_t bytes;
	double value;
	OK(ingot_node_reshape(t->runtime, &unpadded, flat, 6, &node));
	OK(ingot_node_host(node, &data, &bytes));
	CHECK(data == flat);
	OK(ingot_node_get(node, (int64_t[]){ 1, 0 }, 2, &value));
	CHECK(value == 4);
	OK(ingot_node_reshape(t->runtime, &pad, full, 20, &node));
	OK(ingot_node_host(node, &data, &bytes));
	CHECK(data == full);
	OK(ingot_node_reshape(t->runtime, &pad, flat, 6, &node)); /* into the interior of a copy */
	OK(ingot_node_host(node, &data, &bytes));
	CHECK(data != flat && ((float *)data)[7] == 1 && ((float *)data)[14] == 6 && ((float *)data)[0] == 0);
	uint32_t id = ingot_node_id(node);
	OK(ingot_node_reshape(t->runtime, &pad, flat, 6, &node));
	CHECK(ingot_node_id(node) == id + 1); /* one node is made, not one to ask and one to keep */
	FAILS(INGOT_MISMATCH, ingot_node_reshape(t->runtime, &pad, flat, 7, &node));
	SAYS("7");
	SAYS("20");
}

static void f22(struct trial *t)
{
	struct ingot_node node, scalar;
	int64_t dims[] = { 2, 3 };
	double value;
	OK(ingot_node_new(
	        t->runtime, &(struct ingot_node_options){ .dtype = INGOT_F64, .rank = 2, .dims = dims }, &node));
	OK(ingot_node_set(node, (int64_t[]){ 1, 2 }, 2, 0.1));
	OK(ingot_node_get(node, (int64_t[]){ 1, 2 }, 2, &value));
	CHECK(value == 0.1);
	FAILS(INGOT_RANGE, ingot_node_get(node, (int64_t[]){ 2, 0 }, 2, &value));
	SAYS("[2,0]");
	SAYS("[2,3]");
	FAILS(INGOT_RANGE, ingot_node_set(node, (int64_t[]){ 0 }, 1, 1));
	OK(ingot_node_new(t->runtime, &(struct ingot_node_options){ .dtype = INGOT_F64 }, &scalar));
	OK(ingot_node_set(scalar, (int64_t[]){ 0 }, 1, 5));
	OK(ingot_node_get(scalar, NULL, 0, &value));
	CHECK(value == 5);
	FAILS(INGOT_RANGE, ingot_node_get(scalar, (int64_t[]){ 1 }, 1, &value));
	/* Each type takes what it can hold, rounded to nearest, integers at their ends. */
	static const struct {
		enum ingot_dtype dtype;
		double in, out;
	} cases[] = {
		{ INGOT_F32, 0.1, 0.1f },
		{ INGOT_F16, 1.0009765625, 1.0009765625 },
		{ INGOT_F16, 65520, INFINITY },
		{ INGOT_F16, 65519, 65504 },
		{ INGOT_F16, 5.9604644775390625e-8, 5.9604644775390625e-8 },
		{ INGOT_F16, 1e-9, 0 },
		{ INGOT_BF16, 1.00390625, 1 },
		{ INGOT_BF16, 1.01171875, 1.015625 },
		{ INGOT_F8E4M3FN, 448, 448 },
		{ INGOT_F8E4M3FN, 17, 16 },
		{ INGOT_F8E5M2, 57344, 57344 },
		{ INGOT_F8E5M2, 1.2, 1.25 },
		{ INGOT_I8, 300, 127 },
		{ INGOT_I8, -300, -128 },
		{ INGOT_U8, -5, 0 },
		{ INGOT_U8, 2.5, 2 },
		{ INGOT_U8, 3.5, 4 },
		{ INGOT_I4, 9, 7 },
		{ INGOT_U4, 9, 9 },
		{ INGOT_I64, 1e300, 9223372036854775808.0 },
		{ INGOT_BOOL, 0.5, 1 },
		{ INGOT_I32, -7, -7 },
		{ INGOT_U64, 1e19, 1e19 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		unsigned char raw[32] = { 0 };
		ingot_dtype_set(cases[i].dtype, raw, 1, cases[i].in);
		CHECK(ingot_dtype_get(cases[i].dtype, raw, 1) == cases[i].out
		        && ingot_dtype_get(cases[i].dtype, raw, 0) == 0);
	}
	/* Every small float is read back as it was written. */
	static const struct {
		enum ingot_dtype dtype;
		uint32_t count;
	} smalls[] = { { INGOT_F16, 65536 }, { INGOT_BF16, 65536 }, { INGOT_F8E4M3FN, 256 }, { INGOT_F8E5M2, 256 } };
	for (size_t k = 0; k < 4; k++)
		for (uint32_t bits = 0; bits < smalls[k].count; bits++) {
			uint16_t in = (uint16_t)bits, out = 0;
			double v = ingot_dtype_get(smalls[k].dtype, &in, 0);
			ingot_dtype_set(smalls[k].dtype, &out, 0, v);
			CHECK(isnan(v) ? isnan(ingot_dtype_get(smalls[k].dtype, &out, 0)) : in == out);
		}
}

static void f23(struct trial *t)
{
	struct ingot_node node = padded(t, false);
	double in[6] = { 6, 5, 4, 3, 2, 1 }, out[6];
	FAILS(INGOT_MISSING, ingot_node_get_all(node, out, 6));
	OK(ingot_node_set_all(node, in, 6));
	OK(ingot_node_get_all(node, out, 6));
	CHECK(!memcmp(in, out, sizeof in));
	FAILS(INGOT_MISMATCH, ingot_node_set_all(node, in, 5)); /* missing or extra values are no detail */
	FAILS(INGOT_MISMATCH, ingot_node_set_all(node, in, 7));
	FAILS(INGOT_MISMATCH, ingot_node_get_all(node, out, 20));
	CHECK(ingot_node_mode(node).mode == INGOT_HOSTED_NONCONSTANT
	        && ingot_node_mode(node).provenance == INGOT_BY_SET_VALUES);
}

static void f24(struct trial *t)
{
	int64_t dims[] = { 2, 3, 4 };
	struct ingot_node node;
	double in[24], xs[12], ys[12];
	uint64_t count;
	for (int i = 0; i < 24; i++)
		in[i] = i;
	OK(ingot_node_new(
	        t->runtime, &(struct ingot_node_options){ .dtype = INGOT_F32, .rank = 3, .dims = dims }, &node));
	OK(ingot_node_set_all(node, in, 24));
	OK(ingot_node_points_1d(node, -1, 2, xs, 12, &count));
	CHECK(count == 6 && xs[0] == 2 && xs[1] == 6 && xs[5] == 22);
	OK(ingot_node_points_2d(node, 1, 0, 2, xs, ys, 12, &count));
	CHECK(count == 8 && xs[0] == 0 && ys[0] == 8 && xs[4] == 12 && ys[7] == 23);
	OK(ingot_node_points_1d(node, 0, 1, xs, 2, &count)); /* the count is all, what is written is what fits */
	CHECK(count == 12 && xs[1] == 13);
	FAILS(INGOT_RANGE, ingot_node_points_1d(node, 3, 0, xs, 12, &count));
	SAYS("has no axis 3");
	FAILS(INGOT_RANGE, ingot_node_points_2d(node, 1, 0, 3, xs, ys, 12, &count));
}

static void f25(struct trial *t)
{
	t->options.automatic_transfers = true;
	trial_reopen(t);
	struct ingot_node a = node_f32(t, "a", 4);
	struct ingot_context there;
	double out[4];
	float one[4] = { 1 }, two[4] = { 2 };
	uint64_t downs;
	struct gate gate = { 0 };
	OK(ingot_context_child(t->context, other_stream(t), &there));
	OK(ingot_node_host_create(a));
	OK(ingot_context_place(t->context, &a, 1));
	OK(ingot_device_sync(t->device));
	gate_hold(t, &gate, t->stream);
	OK(ingot_write(t->context, a, one, 16, NULL)); /* two writers are queued */
	OK(ingot_write(there, a, two, 16, NULL));
	gate_open(&gate);
	OK(ingot_node_get_all(a, out, 4)); /* both are waited for, one transfer is made */
	CHECK(out[0] == 2);
	OK(ingot_node_transfers(a, NULL, &downs));
	CHECK(downs == 1);
	OK(ingot_node_get_all(a, out, 4));
	OK(ingot_node_transfers(a, NULL, &downs));
	CHECK(downs == 1); /* the host copy is the newest already */
	/* The public read does the same; then the array itself can be looked at. */
	struct gate second = { 0 };
	pthread_t thread;
	void *data;
	uint64_t bytes;
	OK(ingot_node_host(a, &data, &bytes));
	gate_hold(t, &second, t->stream);
	OK(ingot_write(there, a, one, 16, NULL));
	float seven[4] = { 7 };
	OK(ingot_write(t->context, a, seven, 16, NULL));
	CHECK(*(volatile float *)data == 2);
	thread = gate_open_soon(&second);
	OK(ingot_node_read(a));
	CHECK(*(volatile float *)data == 7); /* waited for, and brought down */
	pthread_join(thread, NULL);
	OK(ingot_node_transfers(a, NULL, &downs));
	CHECK(downs == 2);
	/* A download that was queued by hand is waited for, also without automatic transfers. */
	t->options.automatic_transfers = false;
	trial_reopen(t);
	struct gate third = { 0 };
	a = node_f32(t, "a", 4);
	OK(ingot_node_host_create(a));
	OK(ingot_node_host(a, &data, &bytes));
	OK(ingot_context_place(t->context, &a, 1));
	write_f32(t->context, a, seven, 4);
	gate_hold(t, &third, t->stream);
	OK(ingot_to_host(t->context, a, NULL, NULL));
	thread = gate_open_soon(&third);
	OK(ingot_node_read(a));
	CHECK(*(volatile float *)data == 7);
	pthread_join(thread, NULL);
	FAILS(INGOT_MISSING, ingot_node_read(node_f32(t, "none", 1)));
}

static void f26(struct trial *t)
{
	struct ingot_node a = node_f32(t, "a", 4);
	double one[4] = { 1, 1, 1, 1 }, two[4] = { 2, 2, 2, 2 };
	float got[4];
	struct gate gate = { 0 };
	OK(ingot_context_place(t->context, &a, 1));
	OK(ingot_node_set_all(a, one, 4));
	OK(ingot_stream_await(t->stream));
	gate_hold(t, &gate, t->stream);
	OK(ingot_from_host(t->context, a, NULL, NULL));
	gate_open(&gate);
	OK(ingot_node_write(a)); /* waits for the upload */
	OK(ingot_node_set_all(a, two, 4));
	read_f32(t->context, a, got, 4);
	CHECK(got[0] == 1);
	/* The public write alone: behind it the array is the caller's, and is the newest. */
	struct gate second = { 0 };
	struct ingot_event uploaded;
	pthread_t thread;
	void *data;
	uint64_t bytes;
	bool done = false;
	OK(ingot_node_host(a, &data, &bytes));
	gate_hold(t, &second, t->stream);
	OK(ingot_from_host(t->context, a, NULL, &uploaded));
	thread = gate_open_soon(&second);
	OK(ingot_node_write(a));
	OK(ingot_event_done(uploaded, &done));
	CHECK(done);
	for (int i = 0; i < 4; i++)
		((float *)data)[i] = 9;
	pthread_join(thread, NULL);
	read_f32(t->context, a, got, 4);
	CHECK(got[0] == 2); /* what was uploaded is what stood there then */
	t->options.automatic_transfers = true;
	trial_reopen(t);
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_context linked;
	struct ingot_node x, y;
	float values[SMALL_COUNT];
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	OK(ingot_link(t->context, library, "copy", &routine));
	OK(ingot_routine_context(routine, &linked));
	OK(ingot_library_node(library, "x", &x));
	OK(ingot_library_node(library, "y", &y));
	OK(ingot_node_write(x)); /* makes the array, too */
	OK(ingot_node_host(x, &data, &bytes));
	((float *)data)[3] = 5;
	OK(ingot_routine_run(routine, NULL));
	read_f32(linked, y, values, SMALL_COUNT);
	CHECK(values[3] == 5);
	OK(ingot_node_write(x));
	((float *)data)[3] = 6;
	OK(ingot_routine_run(routine, NULL)); /* newer again, so it goes up again */
	read_f32(linked, y, values, SMALL_COUNT);
	CHECK(values[3] == 6);
}

static void f27(struct trial *t)
{
	struct ingot_node a = node_f32(t, "a", 4);
	double out[4];
	float one[4] = { 5 };
	OK(ingot_node_host_create(a));
	OK(ingot_context_place(t->context, &a, 1));
	write_f32(t->context, a, one, 4);
	OK(ingot_node_get_all(a, out, 4));
	CHECK(out[0] == 0); /* the flag is off: stale, as documented */
	t->options.automatic_transfers = true;
	trial_reopen(t);
	a = node_f32(t, "a", 4);
	OK(ingot_node_host_create(a));
	OK(ingot_context_place(t->context, &a, 1));
	write_f32(t->context, a, one, 4);
	OK(ingot_node_get_all(a, out, 4));
	CHECK(out[0] == 5);
}

static void f28(struct trial *t)
{
	t->options.automatic_transfers = true;
	trial_reopen(t);
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_node x;
	double in[SMALL_COUNT] = { 1 };
	uint64_t ups;
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	OK(ingot_link(t->context, library, "copy", &routine));
	OK(ingot_library_node(library, "x", &x));
	OK(ingot_node_set_all(x, in, SMALL_COUNT));
	for (int i = 0; i < 10; i++)
		OK(ingot_routine_run(routine, NULL));
	OK(ingot_node_transfers(x, &ups, NULL));
	CHECK(ups == 1); /* once for ten runs */
	OK(ingot_node_set_all(x, in, SMALL_COUNT));
	for (int i = 0; i < 10; i++)
		OK(ingot_routine_run(routine, NULL));
	OK(ingot_node_transfers(x, &ups, NULL));
	CHECK(ups == 2);
	OK(ingot_stream_await(t->stream));
}

static void f29(struct trial *t)
{
	struct ingot_node a = node_f32(t, "a", 4);
	void *data;
	uint64_t bytes;
	CHECK(!ingot_node_has_host(a));
	FAILS(INGOT_MISSING, ingot_node_host(a, &data, &bytes));
	OK(ingot_node_host_create(a));
	OK(ingot_node_host_create(a));
	CHECK(ingot_node_has_host(a));
	OK(ingot_node_host(a, &data, &bytes));
	CHECK(bytes == 16 && ((float *)data)[3] == 0);
}

const struct row rows_values[] = {
	{ "F17", "ingot_node_bytes", "sizes", f17, NULL, NULL },
	{ "F18", "ingot_node_reset_margins", "margins", f18, NULL, NULL },
	{ "F19", "ingot_node_new", "new_node", f19, NULL, NULL },
	{ "F20", "ingot_node_wrap", "wrap", f20, NULL, NULL },
	{ "F21", "ingot_node_reshape", "reshape", f21, NULL, NULL },
	{ "F22", "ingot_node_get", "scalars", f22, NULL, NULL },
	{ "F23", "ingot_node_set_all", "all_values", f23, NULL, NULL },
	{ "F24", "ingot_node_points_2d", "points", f24, NULL, NULL },
	{ "F25", "ingot_node_read", "prepare_read", f25, NULL, NULL },
	{ "F26", "ingot_node_write", "prepare_write", f26, NULL, NULL },
	{ "F27", "ingot_runtime_options.automatic_transfers", "flag_off_is_stale", f27, NULL, NULL },
	{ "F28", "ingot_node_transfers", "uploads_are_counted", f28, NULL, NULL },
	{ "F29", "ingot_node_has_host", "has_host", f29, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
