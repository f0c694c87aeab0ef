/* rows_edges.c: what rows say of wrong arguments and of the ends of ranges, call by call. */
#include <math.h>
#include <unistd.h>
#include "mock.h"
#include "gpu.h"
#include "rows.h"

/* ---- H1: a handle whose object is closed, and one of zeros, in every call that takes one ---- */

static bool keep_none(const char *name, void *user)
{
	(void)name, (void)user;
	return false;
}

static void h1_stale(struct trial *t)
{
	struct ingot_device live_device = t->device, twin;
	struct ingot_stream live_stream = t->stream, closed = other_stream(t);
	struct ingot_context live_context = t->context, closed_context;
	struct ingot_node live_node = node_f32(t, "live", 4), closed_node = node_f32(t, "closed", 4);
	struct ingot_library live_library, closed_library;
	struct ingot_event closed_event;
	OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
	OK(ingot_context_new(t->stream, &closed_context));
	OK(ingot_event_record(t->stream, &closed_event));
	OK(ingot_library_load(t->runtime, &small_module, NULL, &live_library));
	OK(ingot_library_load(t->runtime, &small_module, NULL, &closed_library));
	OK(ingot_context_place(t->context, &live_node, 1));
	OK(ingot_device_close(twin));
	OK(ingot_stream_close(closed));
	OK(ingot_context_close(closed_context));
	OK(ingot_node_close(closed_node));
	OK(ingot_event_close(closed_event));
	OK(ingot_library_close(closed_library));
	for (int zeros = 0; zeros < 2; zeros++) {
		struct ingot_device d = zeros ? (struct ingot_device){ 0 } : twin;
		struct ingot_stream s = zeros ? (struct ingot_stream){ 0 } : closed;
		struct ingot_context c = zeros ? (struct ingot_context){ 0 } : closed_context;
		struct ingot_node n = zeros ? (struct ingot_node){ 0 } : closed_node;
		struct ingot_event e = zeros ? (struct ingot_event){ 0 } : closed_event;
		struct ingot_library l = zeros ? (struct ingot_library){ 0 } : closed_library;
		struct ingot_routine r = { zeros ? NULL : t->runtime, 9999, 7 };
		struct ingot_device device;
		struct ingot_stream stream;
		struct ingot_context context;
		struct ingot_node node;
		struct ingot_event event;
		struct ingot_routine routine;
		struct ingot_location location;
		struct ingot_properties p;
		struct ingot_merge_state state;
		struct ingot_buffer buffer = { 0 };
		const struct ingot_module_kernel *kernel;
		enum ingot_dtype dtype;
		uint64_t many = 0;
		int64_t index = 0, extent;
		uint32_t pool = 1, few;
		int count;
		bool flag = true;
		double value = 0;
		float v[4] = { 0 };
		void *address;
		char text[8];
		/* devices */
		FAILS(INGOT_STALE, ingot_device_close(d));
		FAILS(INGOT_STALE, ingot_device_sync(d));
		FAILS(INGOT_STALE, ingot_device_properties(d, &p));
		FAILS(INGOT_STALE, ingot_device_used(d, &many));
		FAILS(INGOT_STALE, ingot_device_suggested_streams(d, &count));
		CHECK(!ingot_device_supports(d, INGOT_F32) && !ingot_device_parallel(d));
		CHECK(!ingot_device_name(d, text, 8) && !ingot_device_json(d, text, 8)
		        && !ingot_properties_json(d, text, 8));
		FAILS(INGOT_STALE, ingot_device_peer(d, live_device, &flag));
		FAILS(INGOT_STALE, ingot_device_peer(live_device, d, &flag));
		FAILS(INGOT_STALE, ingot_host_pin(d, v, 16));
		FAILS(INGOT_STALE, ingot_host_unpin(d, v));
		FAILS(INGOT_STALE, ingot_stream_default(d, &stream));
		FAILS(INGOT_STALE, ingot_stream_open(d, &stream));
		FAILS(INGOT_STALE, ingot_pool_open(d, 16, 0, INGOT_SLAB_PRIVATE, &pool));
		FAILS(INGOT_STALE, ingot_pool_replace(d, 9, 16, 0, INGOT_SLAB_PRIVATE));
		FAILS(INGOT_STALE, ingot_pool_adopt(d, v, 16, &pool));
		FAILS(INGOT_STALE, ingot_pool_close(d, 9));
		FAILS(INGOT_STALE, ingot_pool_bytes(d, 9, &many));
		pool = 9;
		FAILS(INGOT_STALE, ingot_pool_ensure(d, 16, 0, &pool));
		FAILS(INGOT_STALE, ingot_buffer_open(d, INGOT_F32, 4, &buffer));
		FAILS(INGOT_STALE, ingot_buffer_close(d, &buffer));
		FAILS(INGOT_STALE, ingot_owner_stream(d, live_node, &stream));
		FAILS(INGOT_STALE, ingot_owner_stream(live_device, n, &stream));
		FAILS(INGOT_STALE, ingot_sharing_candidate(d, live_node, &flag));
		FAILS(INGOT_STALE, ingot_sharing_candidate(live_device, n, &flag));
		FAILS(INGOT_STALE, ingot_hazard_entries(d, &many));
		/* streams and events */
		FAILS(INGOT_STALE, ingot_stream_close(s));
		FAILS(INGOT_STALE, ingot_stream_await(s));
		FAILS(INGOT_STALE, ingot_stream_idle(s, &flag));
		FAILS(INGOT_STALE, ingot_stream_failure(s, text, 8));
		FAILS(INGOT_STALE, ingot_stream_restart(s));
		FAILS(INGOT_STALE, ingot_stream_cancel(s));
		FAILS(INGOT_STALE, ingot_stream_device(s, &device));
		CHECK(ingot_stream_number(s) == -1 && !ingot_stream_queued(s) && !ingot_stream_name(s, text, 8));
		FAILS(INGOT_STALE, ingot_task_submit(s, &(struct ingot_task){ 0 }, NULL));
		FAILS(INGOT_STALE,
		        ingot_task_submit(live_stream, &(struct ingot_task){ .waits = &e, .wait_count = 1 }, NULL));
		FAILS(INGOT_STALE,
		        ingot_task_submit(live_stream,
		                &(struct ingot_task){
		                        .uses = &(struct ingot_use){ c, live_node, false, false }, .use_count = 1 },
		                NULL));
		FAILS(INGOT_STALE,
		        ingot_task_submit(live_stream,
		                &(struct ingot_task){
		                        .uses = &(struct ingot_use){ live_context, n, true, false }, .use_count = 1 },
		                NULL));
		FAILS(INGOT_STALE, ingot_event_record(s, &event));
		FAILS(INGOT_STALE, ingot_stream_wait(s, e));
		FAILS(INGOT_STALE, ingot_stream_wait(live_stream, e));
		FAILS(INGOT_STALE, ingot_stream_signal(s, e));
		FAILS(INGOT_STALE, ingot_stream_signal(live_stream, e));
		FAILS(INGOT_STALE, ingot_event_signal(e));
		FAILS(INGOT_STALE, ingot_event_done(e, &flag));
		FAILS(INGOT_STALE, ingot_event_sync(e));
		FAILS(INGOT_STALE, ingot_event_cancel(e));
		FAILS(INGOT_STALE, ingot_event_close(e));
		FAILS(INGOT_STALE, ingot_merge_buffer(s, &state, NULL));
		FAILS(INGOT_STALE, ingot_pool_fill(s, 1, 0, 1, 0, NULL));
		FAILS(INGOT_STALE,
		        ingot_kernel_launch(s, &(struct ingot_module_kernel){ .name = "k" }, (uint32_t[]){ 1, 1, 1 },
		                NULL, NULL, 0, NULL));
		/* contexts */
		FAILS(INGOT_STALE, ingot_context_new(s, &context));
		FAILS(INGOT_STALE, ingot_context_child(c, live_stream, &context));
		if (!zeros) /* zeros: the parent's own */
			FAILS(INGOT_STALE, ingot_context_child(live_context, s, &context));
		FAILS(INGOT_STALE, ingot_context_finalize(c));
		FAILS(INGOT_STALE, ingot_context_close(c));
		CHECK(ingot_context_finalized(c) && !ingot_context_json(c, text, 8));
		FAILS(INGOT_STALE, ingot_context_parent(c, &context));
		FAILS(INGOT_STALE, ingot_context_stream(c, &stream));
		FAILS(INGOT_STALE, ingot_context_merge_node(c, &node));
		FAILS(INGOT_STALE, ingot_context_place(c, &live_node, 1));
		FAILS(INGOT_STALE, ingot_context_place(live_context, &n, 1));
		FAILS(INGOT_STALE, ingot_context_adopt(c, live_node, v, 16));
		FAILS(INGOT_STALE, ingot_context_adopt(live_context, n, v, 16));
		FAILS(INGOT_STALE, ingot_context_location(c, live_node, &location));
		FAILS(INGOT_STALE, ingot_context_location(live_context, n, &location));
		FAILS(INGOT_STALE, ingot_context_address(c, live_node, &address));
		FAILS(INGOT_STALE, ingot_context_address(live_context, n, &address));
		FAILS(INGOT_STALE, ingot_from_host(c, live_node, NULL, NULL));
		FAILS(INGOT_STALE, ingot_from_host(live_context, n, NULL, NULL));
		FAILS(INGOT_STALE, ingot_write(live_context, n, v, 16, NULL));
		FAILS(INGOT_STALE, ingot_init_from_host(c, live_node, v, 16, &context));
		FAILS(INGOT_STALE, ingot_init_from_host(live_context, n, v, 16, &context));
		FAILS(INGOT_STALE, ingot_init_from_device(c, live_node, live_context, &context));
		FAILS(INGOT_STALE, ingot_init_from_device(live_context, live_node, c, &context));
		FAILS(INGOT_STALE, ingot_init_from_device(live_context, n, live_context, &context));
		FAILS(INGOT_STALE, ingot_device_to_device(live_node, c, INGOT_MERGE_NONE, live_context, NULL, NULL));
		FAILS(INGOT_STALE, ingot_device_to_device(live_node, live_context, INGOT_MERGE_NONE, c, NULL, NULL));
		FAILS(INGOT_STALE, ingot_device_to_device(n, live_context, INGOT_MERGE_NONE, live_context, NULL, NULL));
		FAILS(INGOT_STALE, ingot_transfer_routine(live_node, c, INGOT_MERGE_NONE, live_context, &routine));
		FAILS(INGOT_STALE, ingot_transfer_routine(n, live_context, INGOT_MERGE_NONE, live_context, &routine));
		FAILS(INGOT_STALE, ingot_updating(c, live_node, &flag));
		FAILS(INGOT_STALE, ingot_updating(live_context, n, &flag));
		FAILS(INGOT_STALE, ingot_host_reading_streams(n, &stream, 1, &few));
		/* libraries and routines */
		FAILS(INGOT_STALE, ingot_library_close(l));
		FAILS(INGOT_STALE, ingot_library_node(l, "x", &node));
		FAILS(INGOT_STALE, ingot_library_kernel(l, "many", &kernel));
		CHECK(!ingot_library_json(l, text, 8));
		FAILS(INGOT_STALE, ingot_link(c, live_library, "dense", &routine));
		FAILS(INGOT_STALE, ingot_link(live_context, l, "dense", &routine));
		FAILS(INGOT_STALE, ingot_link_all(live_context, l, keep_none, NULL, &routine, &context));
		if (!zeros)
			FAILS(INGOT_STALE,
			        ingot_library_load(t->runtime, &small_module,
			                &(struct ingot_library_options){ .with = l }, &live_library));
		FAILS(INGOT_STALE, ingot_routine_close(r));
		FAILS(INGOT_STALE, ingot_routine_context(r, &context));
		FAILS(INGOT_STALE, ingot_routine_set(r, "n", 1));
		FAILS(INGOT_STALE, ingot_routine_symbol(r, "n", &index));
		FAILS(INGOT_STALE, ingot_routine_log(r, "log"));
		FAILS(INGOT_STALE, ingot_routine_run(r, NULL));
		FAILS(INGOT_STALE, ingot_routine_can_run(r, &flag));
		FAILS(INGOT_STALE, ingot_routine_extents(r, &extent, 1));
		FAILS(INGOT_STALE, ingot_routine_event(r, &event));
		CHECK(!ingot_routine_json(r, text, 8));
		/* nodes */
		index = 0;
		FAILS(INGOT_STALE, ingot_node_slice(n, 0, 1, &node));
		FAILS(INGOT_STALE, ingot_node_close(n));
		CHECK(ingot_node_id(n) == UINT32_MAX && !ingot_node_hash(n) && !ingot_node_has_host(n)
		        && !ingot_node_mode(n).mode);
		CHECK(!ingot_node_header(n, true, text, 8) && !ingot_node_code_name(n, text, 8));
		FAILS(INGOT_STALE, ingot_node_code_name_update(n, "a"));
		FAILS(INGOT_STALE, ingot_node_note(n, "a"));
		FAILS(INGOT_STALE, ingot_node_dtype_update(n, INGOT_PRECISION_INFERRED, INGOT_F32, NULL));
		FAILS(INGOT_STALE, ingot_node_dtype(n, &dtype));
		FAILS(INGOT_STALE, ingot_node_count(n, &many));
		FAILS(INGOT_STALE, ingot_node_bytes(n, &many));
		FAILS(INGOT_STALE, ingot_node_mode_update(n, INGOT_LOCAL, INGOT_BY_USER));
		FAILS(INGOT_STALE, ingot_node_sharing_update(n, INGOT_SHARED, INGOT_BY_USER));
		FAILS(INGOT_STALE, ingot_node_is_virtual(n, INGOT_BY_QUERY, &flag));
		FAILS(INGOT_STALE, ingot_node_mode_default(n, INGOT_BY_QUERY));
		FAILS(INGOT_STALE, ingot_node_host(n, &address, &many));
		FAILS(INGOT_STALE, ingot_node_host_create(n));
		FAILS(INGOT_STALE, ingot_node_read(n));
		FAILS(INGOT_STALE, ingot_node_write(n));
		FAILS(INGOT_STALE, ingot_node_get(n, &index, 1, &value));
		FAILS(INGOT_STALE, ingot_node_set(n, &index, 1, 1));
		FAILS(INGOT_STALE, ingot_node_get_all(n, &value, 1));
		FAILS(INGOT_STALE, ingot_node_set_all(n, &value, 1));
		FAILS(INGOT_STALE, ingot_node_reset_margins(n, 0));
		FAILS(INGOT_STALE, ingot_node_points_1d(n, -1, 0, &value, 1, &many));
		FAILS(INGOT_STALE, ingot_node_transfers(n, &many, &many));
		SAYS(zeros ? "zeros" : "stale");
	}
	FAILS(INGOT_STALE,
	        ingot_device_sync((struct ingot_device){
	                t->runtime, t->stream.index, t->stream.generation })); /* another kind's */
	SAYS("this device is stale");
}

/* ---- H14: what is refused, and with which words ---- */

static struct ingot_node node_of(
        struct trial *t, uint32_t dtype, uint32_t rank, const int64_t *dims, const int64_t *left, const int64_t *right)
{
	struct ingot_node node;
	OK(ingot_node_new(t->runtime,
	        &(struct ingot_node_options){
	                .dtype = dtype, .rank = rank, .dims = dims, .left = left, .right = right },
	        &node));
	return node;
}

static void h14_nodes(struct trial *t)
{
	static const int64_t dims[2] = { 4, 3 }, margin[2] = { 1, 0 }, four = 4;
	struct ingot_node node, view;
	float data[12] = { 0 };
	char text[300];
	static const char *const label = "n\"1\\\xe4\n";
#define OPTIONS(...) &(struct ingot_node_options){ __VA_ARGS__ }
	FAILS(INGOT_RANGE, ingot_node_new(t->runtime, OPTIONS(.rank = INGOT_MAX_RANK + 1, .dims = dims), &node));
	FAILS(INGOT_INVALID, ingot_node_new(t->runtime, OPTIONS(.rank = 2), &node));
	FAILS(INGOT_INVALID, ingot_node_new(t->runtime, OPTIONS(.label_count = 1), &node));
	FAILS(INGOT_INVALID, ingot_node_new(t->runtime, OPTIONS(.dtype = INGOT_STRING), &node));
	FAILS(INGOT_INVALID, ingot_node_new(t->runtime, OPTIONS(.mode = 64), &node));
	FAILS(INGOT_INVALID, ingot_node_new(t->runtime, OPTIONS(.sharing = 9), &node));
	FAILS(INGOT_RANGE,
	        ingot_node_new(t->runtime, OPTIONS(.rank = 2, .dims = dims, .left = (int64_t[]){ 5, 0 }), &node));
	FAILS(INGOT_RANGE,
	        ingot_node_new(t->runtime,
	                OPTIONS(.rank = 2, .dims = dims, .left = margin, .right = (int64_t[]){ 4, 0 }), &node));
	FAILS(INGOT_CONFLICT,
	        ingot_node_new(t->runtime,
	                OPTIONS(.mode = INGOT_VIRTUAL, .sharing = INGOT_SHARED, .provenance = INGOT_BY_USER), &node));
	FAILS(INGOT_CONFLICT,
	        ingot_node_wrap(t->runtime, OPTIONS(.rank = 2, .dims = dims, .dtype = INGOT_F32, .mode = INGOT_LOCAL),
	                data, 48, &node));
	FAILS(INGOT_MISMATCH,
	        ingot_node_wrap(t->runtime, OPTIONS(.rank = 2, .dims = dims, .dtype = INGOT_F32), data, 44, &node));
	SAYS("44 bytes for a node of 48");
	FAILS(INGOT_CONFLICT,
	        ingot_node_reshape(t->runtime,
	                OPTIONS(.rank = 2, .dims = dims, .left = margin, .dtype = INGOT_F32, .mode = INGOT_VIRTUAL),
	                data, 9, &node));
	FAILS(INGOT_MISMATCH,
	        ingot_node_reshape(t->runtime, OPTIONS(.rank = 2, .dims = dims, .left = margin, .dtype = INGOT_F32),
	                data, 10, &node));
	CHECK(ingot_node_list(t->runtime, NULL, NULL, NULL, 0) == 0); /* nothing of all that stayed */
	/* slices */
	node = node_of(t, INGOT_F32, 2, dims, margin, NULL);
	FAILS(INGOT_UNSUPPORTED, ingot_node_slice(node, 0, 1, &view));
	node = node_of(t, INGOT_F32, 0, NULL, NULL, NULL);
	FAILS(INGOT_RANGE, ingot_node_slice(node, 0, 0, &view));
	node = node_of(t, INGOT_U4, 2, (int64_t[]){ 4, 3 }, NULL, NULL);
	FAILS(INGOT_UNSUPPORTED, ingot_node_slice(node, 1, 1, &view));
	SAYS("share bytes");
	node = node_of(t, INGOT_F32, 1, &four, NULL, NULL);
	FAILS(INGOT_RANGE, ingot_node_slice(node, -1, 1, &view));
	FAILS(INGOT_RANGE, ingot_node_slice(node, 5, 0, &view));
	FAILS(INGOT_RANGE, ingot_node_slice(node, 2, -1, &view));
	OK(ingot_node_slice(node, 4, 0, &view));
	OK(ingot_node_slice(node, 1, 2, &view));
	OK(ingot_node_host_create(view));
	CHECK(ingot_node_has_host(node));
	ingot_node_header(view, true, text, sizeof text);
	char wanted[40];
	snprintf(wanted, sizeof wanted, ", host, part of n%u", ingot_node_id(node));
	CHECK(strstr(text, wanted) && strstr(text, "[0:2]"));
	FAILS(INGOT_INVALID, ingot_context_adopt(t->context, view, data, 8));
	/* a part of the host keeps the rest */
	OK(ingot_node_set_all(node, (double[]){ 1, 2, 3, 4 }, 4));
	OK(ingot_node_set_all(view, (double[]){ 8, 9 }, 2));
	double four_values[4];
	OK(ingot_node_get_all(node, four_values, 4));
	CHECK(four_values[0] == 1 && four_values[1] == 8 && four_values[2] == 9 && four_values[3] == 4);
	/* what cannot be written from the host */
	OK(ingot_node_new(
	        t->runtime, OPTIONS(.dtype = INGOT_F32, .rank = 1, .dims = &four, .mode = INGOT_ON_DEVICE), &node));
	FAILS(INGOT_CONFLICT, ingot_node_write(node));
	FAILS(INGOT_CONFLICT, ingot_node_set(node, (int64_t[]){ 0 }, 1, 1));
	OK(ingot_node_new(
	        t->runtime, OPTIONS(.dtype = INGOT_F32, .rank = 1, .dims = &four, .mode = INGOT_LOCAL), &node));
	FAILS(INGOT_CONFLICT, ingot_context_place(t->context, &node, 1));
	SAYS("is local (by 0), so it has no memory");
	FAILS(INGOT_MISSING, ingot_node_read(node));
	FAILS(INGOT_INVALID, ingot_node_mode_update(node, (enum ingot_mode)0, INGOT_BY_USER));
	FAILS(INGOT_INVALID, ingot_node_sharing_update(node, (enum ingot_sharing)7, INGOT_BY_USER));
	FAILS(INGOT_INVALID, ingot_node_dtype_update(node, (enum ingot_precision)7, INGOT_F32, NULL));
	FAILS(INGOT_INVALID, ingot_node_dtype_update(node, INGOT_PRECISION_INFERRED, INGOT_STRING, NULL));
	/* the bytes of wide elements overflow where their count does not */
	static const int64_t huge = INT64_C(1) << 56;
	node = node_of(t, INGOT_C128, 1, &huge, NULL, NULL);
	uint64_t bytes;
	FAILS(INGOT_OK, ingot_node_bytes(node, &bytes));
	CHECK(bytes == UINT64_C(1) << 60);
	FAILS(INGOT_MEMORY, ingot_node_host_create(node));
	/* whatever stands in a label, JSON and headers hold it */
	OK(ingot_node_new(t->runtime,
	        OPTIONS(.dtype = INGOT_F32, .rank = 1, .dims = &four, .labels = &label, .label_count = 1), &node));
	OK(ingot_context_place(t->context, &node, 1));
	char json[2000];
	ingot_context_json(t->context, json, sizeof json);
	json_parses(json);
	CHECK(strstr(json, "n\\\"1\\\\\\u00e4\\u000a\""));
	CHECK(ingot_node_label(node, text, 1) == 6 && !text[0]);
	OK(ingot_node_new(t->runtime, OPTIONS(.labels = (const char *const[]){ NULL }, .label_count = 1), &node));
	CHECK(ingot_node_label(node, text, sizeof text) == 0 && !text[0]);
	/* a mode that is shared has to stay somewhere */
	OK(ingot_node_new(t->runtime,
	        OPTIONS(.mode = INGOT_NEVER_VIRTUAL, .sharing = INGOT_SHARED, .provenance = INGOT_BY_MODULE), &node));
	FAILS(INGOT_CONFLICT, ingot_node_mode_update(node, INGOT_LOCAL, INGOT_BY_USER));
	struct ingot_mode_state shared = { INGOT_MODE_OPEN, INGOT_SHARED, INGOT_BY_USER };
	char why[200];
	CHECK(!ingot_mode_update(&shared, INGOT_DEVICE_ONLY & INGOT_LOCAL, INGOT_BY_MODULE, why)
	        && strstr(why, "the sharing is shared by 10"));
	CHECK(!ingot_sharing_update(&shared, (enum ingot_sharing)5, INGOT_BY_USER, why)
	        && strstr(why, "5 is no sharing"));
	struct ingot_mode_state volatile_or_constant = { INGOT_HOSTED_CONSTANT | INGOT_HOSTED_VOLATILE, 0, 10 };
	ingot_mode_settle(&volatile_or_constant, 4, INGOT_BY_QUERY);
	CHECK(volatile_or_constant.mode == INGOT_HOSTED_VOLATILE && volatile_or_constant.provenance == 10060);
}

static void h14_devices(struct trial *t)
{
	struct ingot_device twin, device;
	struct ingot_stream far, stream;
	struct ingot_context there, context;
	struct ingot_node node = node_f32(t, "a", 4), absent = node_f32(t, "absent", 4);
	struct ingot_routine routine;
	struct ingot_event event, more[12];
	static _Alignas(64) float memory[64];
	uint32_t pool, count;
	bool flag = false;
	void *address;
	float v[4] = { 1, 2, 3, 4 };
	OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
	OK(ingot_stream_default(twin, &far));
	OK(ingot_context_new(far, &there));
	FAILS(INGOT_MISMATCH, ingot_context_child(t->context, far, &context));
	SAYS("another device");
	OK(ingot_context_place(t->context, &node, 1));
	FAILS(INGOT_MISSING, ingot_updating(t->context, absent, &flag));
	FAILS(INGOT_MISSING, ingot_reader_streams(t->context, absent, &stream, 1, &count));
	FAILS(INGOT_MISSING, ingot_context_address(t->context, absent, &address));
	SAYS("not in the context");
	FAILS(t->host_memory ? INGOT_OK : INGOT_UNSUPPORTED, ingot_context_address(t->context, node, &address));
	FAILS(t->host_memory ? INGOT_OK : INGOT_UNSUPPORTED, ingot_pool_adopt(t->device, memory, sizeof memory, &pool));
	FAILS(INGOT_INVALID, ingot_pool_adopt(t->device, (char *)memory + 4, 16, &pool));
	FAILS(INGOT_INVALID, ingot_pool_adopt(t->device, memory, UINT64_MAX, &pool));
	enum ingot_status pinned = t->lazy ? INGOT_UNSUPPORTED : INGOT_OK;
	FAILS(pinned, ingot_host_pin(t->device, memory, sizeof memory));
	FAILS(pinned, ingot_host_unpin(t->device, memory));
	OK(ingot_device_peer(t->device, t->device, &flag));
	CHECK(flag);
	CHECK((ingot_device_parallel(t->device) == NULL) == (strcmp(t->device_name, "multicore") != 0));
	CHECK(ingot_device_supports(t->device, INGOT_F32) && !ingot_device_supports(t->device, INGOT_STRING));
	FAILS(INGOT_INVALID, ingot_transfer_routine(node, there, (enum ingot_merge)9, t->context, &routine));
	FAILS(INGOT_INVALID, ingot_device_to_device(node, there, (enum ingot_merge)9, t->context, NULL, NULL));
	FAILS(INGOT_MISSING, ingot_transfer_routine(absent, there, INGOT_MERGE_COPY, t->context, &routine));
	FAILS(INGOT_MISSING, ingot_transfer_routine(node, there, INGOT_MERGE_NONE, t->context, &routine));
	FAILS(INGOT_MISMATCH, ingot_init_from_host(there, node, v, 12, &context));
	FAILS(INGOT_UNREADY, ingot_init_from_device(there, node, t->context, &context)); /* nothing stays of it */
	SAYS("was not written");
	FAILS(INGOT_UNREADY, ingot_read(t->context, node, v, 16, NULL));
	/* a place that several tasks read is listed once for each stream */
	struct ingot_stream other = other_stream(t), streams[4];
	struct ingot_context below;
	struct gate gate = { 0 };
	write_f32(t->context, node, v, 4);
	OK(ingot_context_child(t->context, other, &below));
	gate_hold(t, &gate, other);
	static float got[3][4];
	for (int i = 0; i < 3; i++)
		OK(ingot_read(below, node, got[i], 16, NULL));
	OK(ingot_reader_streams(t->context, node, streams, 4, &count));
	CHECK(count == (t->in_place ? 0 : 1));
	OK(ingot_reader_streams(t->context, node, NULL, 0, &count));
	CHECK(count == (t->in_place ? 0 : 1) || !t->in_place);
	gate_open(&gate);
	OK(ingot_stream_await(other));
	/* more waits than stand in the call's own room; the failure of one is the task's */
	for (int i = 0; i < 12; i++)
		OK(ingot_event_record(t->stream, more + i));
	OK(ingot_task_submit(other, &(struct ingot_task){ .waits = more, .wait_count = 12 }, &event));
	OK(ingot_event_sync(event));
	OK(ingot_event_open(t->runtime, more + 3));
	OK(ingot_event_cancel(more[3]));
	FAILS(INGOT_BUSY, ingot_event_cancel(more[3]));
	FAILS(INGOT_CANCELLED, ingot_event_sync(more[3]));
	OK(ingot_task_submit(other, &(struct ingot_task){ .waits = more, .wait_count = 12 }, &event));
	FAILS(INGOT_CANCELLED, ingot_event_sync(event));
	/* events that nobody promised cannot be signalled, nor one twice */
	FAILS(INGOT_PRESENT, ingot_stream_signal(t->stream, more[0]));
	FAILS(INGOT_PRESENT, ingot_event_signal(more[0]));
	OK(ingot_event_open(t->runtime, &event));
	struct gate second = { 0 };
	gate_hold(t, &second, t->stream);
	OK(ingot_stream_signal(t->stream, event));
	FAILS(INGOT_PRESENT, ingot_stream_signal(t->stream, event));
	FAILS(INGOT_PRESENT, ingot_event_signal(event));
	gate_open(&second);
	OK(ingot_event_sync(event));
	/* a backend is opened once, "auto" takes what there is */
	OK(ingot_backend_init(t->runtime, "auto", NULL));
	FAILS(INGOT_UNREADY,
	        ingot_device_get(t->runtime, strcmp(t->device_name, "cuda") ? "cuda" : "multicore", 0, &device));
	FAILS(INGOT_INVALID,
	        ingot_runtime_open(&(struct ingot_runtime *){ NULL },
	                &(struct ingot_runtime_options){ .default_dtype = INGOT_STRING }));
	FAILS(INGOT_UNSUPPORTED,
	        ingot_runtime_open(&(struct ingot_runtime *){ NULL },
	                &(struct ingot_runtime_options){ .block = memory, .block_bytes = 64 }));
	/* without the cap one pool holds what several did */
	struct ingot_node pair[2];
	struct ingot_location a, b;
	for (int large = 0; large < 2; large++) {
		t->options.pool_cap = 64;
		t->options.large_models = large;
		trial_reopen(t);
		for (int i = 0; i < 2; i++)
			pair[i] = node_f32(t, "p", 16);
		OK(ingot_context_place(t->context, pair, 2));
		OK(ingot_context_location(t->context, pair[0], &a));
		OK(ingot_context_location(t->context, pair[1], &b));
		CHECK((a.pool == b.pool) == large);
	}
	/* a failure is told to marks too, and stays to be reported */
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ .waits = NULL }, NULL));
	OK(ingot_event_open(t->runtime, &event));
	OK(ingot_event_close(event));
	FAILS(INGOT_STALE, ingot_event_sync(event));
}

static int fail_5(void *argument)
{
	(void)argument;
	return 5;
}

/* A task that was not run wrote nothing: the place is as whoever began last left it. */
static void c8_befores(struct trial *t)
{
	struct ingot_library library;
	struct ingot_routine fails, copy;
	struct ingot_context linked, below;
	struct ingot_node z;
	struct ingot_event written, read, mark;
	struct gate gate = { 0 }, second = { 0 };
	struct ingot_stream other = other_stream(t);
	float v[SMALL_COUNT] = { 3 }, got[SMALL_COUNT] = { 0 };
	bool done = false;
	(void)copy;
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_library_node(library, "z", &z));
	OK(ingot_link(t->context, library, "fails", &fails));
	OK(ingot_routine_context(fails, &linked));
	OK(ingot_context_child(linked, other, &below));
	write_f32(linked, z, v, SMALL_COUNT);
	if (!t->in_place) {
		/* fails begins; the write behind it, on another stream, is cancelled: the value is gone. */
		gate_hold(t, &gate, t->stream);
		OK(ingot_routine_run(fails, NULL));
		OK(ingot_write(below, z, v, sizeof v, &written));
		OK(ingot_event_cancel(written));
		gate_open(&gate);
		FAILS(INGOT_CANCELLED, ingot_event_sync(written));
		FAILS(INGOT_FAILED, ingot_stream_await(t->stream));
		OK(ingot_stream_restart(t->stream));
		OK(ingot_read(below, z, got, sizeof got, &read));
		FAILS(INGOT_DEPENDENCY, ingot_event_sync(read));
		SAYS("fails");
		ingot_stream_await(other);
		OK(ingot_stream_restart(other));
		/* Where nothing began, the old value is there. */
		write_f32(below, z, v, SMALL_COUNT);
		gate_hold(t, &second, t->stream);
		OK(ingot_routine_run(fails, &read));
		OK(ingot_write(below, z, got, sizeof got, &written));
		OK(ingot_event_cancel(read));
		OK(ingot_event_cancel(written));
		gate_open(&second);
		FAILS(INGOT_CANCELLED, ingot_event_sync(written));
		OK(ingot_stream_await(t->stream));
		OK(ingot_stream_await(other));
		read_f32(below, z, got, SMALL_COUNT);
		CHECK(got[0] == 3);
	}
	/* A mark on a stream that stopped carries the failure, and leaves it to be reported. */
	OK(ingot_task_submit(other, &(struct ingot_task){ .name = "stops", .run = fail_5 }, NULL));
	while (!done)
		OK(ingot_stream_idle(other, &done)), usleep(t->lazy ? 0 : 100), done = done || t->lazy;
	if (!t->lazy) {
		OK(ingot_event_record(other, &mark));
		OK(ingot_event_done(mark, &done));
		CHECK(done);
		FAILS(INGOT_FAILED, ingot_event_sync(mark));
		SAYS("stops");
		struct ingot_event beside;
		OK(ingot_task_submit(t->stream, &(struct ingot_task){ .waits = &mark, .wait_count = 1 },
		        &beside)); /* who waits for it fails in turn */
		FAILS(INGOT_DEPENDENCY, ingot_event_sync(beside));
	}
	FAILS(INGOT_FAILED, ingot_stream_await(other));
	FAILS(INGOT_STOPPED, ingot_stream_await(other));
	CHECK(ingot_stream_failure(other, NULL, 0) == INGOT_FAILED);
}

/* ---- more than a call's own room: arguments, workspaces, waits on a log ---- */

static int sum_of_all(const struct ingot_call *call)
{
	float *y = ingot_argument(call, 0);
	int code = gpu_has(call) ? gpu_launch(call, "row_clear", 1, (const uint32_t[]){ 0 }, 1) : 0;
	if (!gpu_has(call))
		*y = 0;
	for (uint32_t i = 1; i < 40 && !code; i++)
		if (gpu_has(call))
			code = gpu_launch(call, "row_add", 1, (const uint32_t[]){ i, 0 }, 2);
		else
			*y += *(float *)ingot_argument(call, i);
	if (call->log) {
		FILE *file = fopen(call->log, "a");
		if (file) {
			fputs("ran\n", file);
			fclose(file);
		}
	}
	call->extents[0] = 40;
	return code;
}

static int workspaces_look(const struct ingot_call *call)
{
	char *a = ingot_argument(call, 0), *b = ingot_argument(call, 1), *c = ingot_argument(call, 2),
	     *d = ingot_argument(call, 3);
	/* 0 the first; 1 and 3 the same one besides, 2 another */
	return a != b && a != c && b != c && d == b + 32 && !((uintptr_t)b % 64) ? 0 : 9;
}

static const char *words_of(int code) { return code == 9 ? "places" : NULL; }

static void b17_more(struct trial *t)
{
	static const struct ingot_module_dim dims[] = { { 1, -1 } };
	static struct ingot_module_node nodes[40];
	static char names[40][8];
	static uint32_t in[39], out[1] = { 0 };
	static struct ingot_module_argument arguments[40];
	static const struct ingot_module_argument places[] = { { INGOT_FROM_WORKSPACE, 0, 0 },
		{ INGOT_FROM_WORKSPACE, 1, 0 }, { INGOT_FROM_WORKSPACE, 2, 0 }, { INGOT_FROM_WORKSPACE, 1, 32 } };
	static const uint64_t sizes[] = { 64, 128 };
	for (uint32_t i = 0; i < 40; i++) {
		snprintf(names[i], sizeof names[i], "n%u", i);
		nodes[i] = (struct ingot_module_node){ .name = names[i],
			.dtype = INGOT_F32,
			.rank = 1,
			.dims = dims,
			.bytes = i == 39 ? 64 : 4,
			.view_of = -1,
			.flags = INGOT_NODE_HOSTED };
		arguments[i] = (struct ingot_module_argument){ INGOT_FROM_NODE, i, 0 };
		if (i)
			in[i - 1] = i;
	}
	/* clang-format off */
	static const struct ingot_module_routine routines[] = {
		{ .name = "sum", .inputs = in, .input_count = 39, .outputs = out, .output_count = 1,
		  .arguments = arguments, .argument_count = 40, .merge_input = -1, .extent_count = 1,
		  .run = sum_of_all },
		{ .name = "places", .arguments = places, .argument_count = 4, .merge_input = -1, .workspace_bytes = 16,
		  .workspace_align = 64, .more_workspaces = sizes, .more_workspace_count = 2, .run = workspaces_look },
	};
	static const struct ingot_module module = {
		.abi = INGOT_ABI, .name = "wide", .nodes = nodes, .node_count = 40, .routines = routines,
		.routine_count = 2, .message = words_of, .images = row_images, .image_count = ROW_IMAGES };
	/* clang-format on */
	struct ingot_library library;
	struct ingot_routine sum, look;
	struct ingot_context linked;
	struct ingot_node node;
	struct ingot_event done;
	struct gate gate = { 0 };
	char log[] = "/tmp/ingot-log-XXXXXX", line[16] = "";
	float value = 0;
	int64_t extent = 0;
	t->options.automatic_transfers = true;
	trial_reopen(t);
	OK(ingot_library_load(t->runtime, &module, NULL, &library));
	OK(ingot_link(t->context, library, "sum", &sum));
	OK(ingot_routine_context(sum, &linked));
	for (int i = 1; i < 40; i++) {
		OK(ingot_library_node(library, names[i], &node));
		OK(ingot_node_set(node, (int64_t[]){ 0 }, 1, i));
	}
	FAILS(INGOT_MISMATCH, ingot_routine_extents(sum, &extent, 2));
	FAILS(INGOT_UNREADY, ingot_routine_extents(sum, &extent, 1));
	FAILS(INGOT_MISSING, ingot_routine_event(sum, &done));
	int file = mkstemp(log);
	CHECK(file >= 0);
	close(file);
	gate_hold(t, &gate, t->stream);
	OK(ingot_routine_log(sum, log));
	OK(ingot_routine_run(sum, NULL));
	if (!t->in_place && !t->lazy)
		FAILS(INGOT_UNREADY, ingot_routine_extents(sum, &extent, 1));
	pthread_t thread = gate_open_soon(&gate);
	OK(ingot_routine_log(sum, NULL)); /* the run that was submitted still tells it */
	OK(ingot_stream_await(t->stream));
	FILE *told = fopen(log, "r");
	CHECK(told && fgets(line, sizeof line, told) && !strcmp(line, "ran\n"));
	fclose(told);
	unlink(log);
	pthread_join(thread, NULL);
	OK(ingot_routine_event(sum, &done));
	OK(ingot_event_sync(done));
	OK(ingot_routine_extents(sum, &extent, 1));
	CHECK(extent == 40);
	OK(ingot_library_node(library, "n0", &node));
	OK(ingot_read(linked, node, &value, 4, &done));
	OK(ingot_event_sync(done));
	CHECK(value == 39 * 20);
	OK(ingot_routine_run(sum, NULL));
	OK(ingot_stream_await(t->stream));
	CHECK(access(log, F_OK)); /* nobody is told any more */
	OK(ingot_link(t->context, library, "places", &look));
	OK(ingot_routine_run(look, NULL));
	OK(ingot_stream_await(t->stream));
	char text[8000];
	ingot_library_json(library, text, sizeof text);
	json_parses(text);
	/* A node's bytes are what its module says, which may be more than its dims need. */
	uint64_t bytes;
	OK(ingot_library_node(library, "n39", &node));
	OK(ingot_node_bytes(node, &bytes));
	ingot_node_header(node, false, text, sizeof text);
	CHECK(bytes == 64 && strstr(text, "[1] 64 bytes"));
	if (t->host_memory) { /* a kernel that has no code here */
		FAILS(INGOT_OK,
		        ingot_kernel_launch(t->stream, &(struct ingot_module_kernel){ .name = "codeless" },
		                (uint32_t[]){ 1, 1, 1 }, NULL, NULL, 0, NULL));
		FAILS(INGOT_UNSUPPORTED, ingot_stream_await(t->stream));
		SAYS("kernel codeless has no code for the host");
		OK(ingot_stream_restart(t->stream));
	}
	/* What fails stands in the trace as that. */
	OK(ingot_trace_begin(t->runtime, 4));
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ .name = "good" }, NULL));
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ .name = "bad", .run = fail_5 }, NULL));
	FAILS(INGOT_FAILED, ingot_stream_await(t->stream));
	OK(ingot_stream_restart(t->stream));
	ingot_trace_json(t->runtime, text, sizeof text);
	json_parses(text);
	const char *good = strstr(text, "\"good\""), *bad = strstr(text, "\"bad\"");
	CHECK(good && bad && strstr(good, "\"failed\":false") < bad && strstr(bad, "\"failed\":true"));
	for (int i = 0; i < 9; i++) /* the last four */
		OK(ingot_task_submit(t->stream, &(struct ingot_task){ .name = i < 5 ? "early" : "late" }, NULL));
	OK(ingot_stream_await(t->stream));
	ingot_trace_json(t->runtime, text, sizeof text);
	CHECK(!strstr(text, "early") && strstr(text, "late"));
	ingot_trace_end(t->runtime);
	OK(ingot_routine_close(sum));
	FAILS(INGOT_STALE, ingot_routine_run(sum, NULL));
}

/* ---- cancelling: what waits for nobody any more ends, and others go on waiting ---- */

static int count_one(void *argument)
{
	atomic_fetch_add((_Atomic int *)argument, 1);
	return 0;
}

static void c8_waiters(struct trial *t)
{
	struct ingot_stream first = other_stream(t), second = other_stream(t);
	struct ingot_event promise, a, b, queued[3];
	_Atomic int count = 0;
	bool done = false;
	struct ingot_task task = { .run = count_one, .argument = &count, .waits = &promise, .wait_count = 1 };
	OK(ingot_event_open(t->runtime, &promise));
	if (t->in_place) {
		FAILS(INGOT_WOULD_BLOCK, ingot_task_submit(first, &task, &a));
		return;
	}
	/* The one that waited first, and the one that waited last. */
	struct ingot_event kept, c;
	struct ingot_stream third = other_stream(t);
	OK(ingot_task_submit(third, &task, &c));
	OK(ingot_task_submit(first, &task, &kept));
	OK(ingot_event_cancel(c));
	FAILS(INGOT_CANCELLED, ingot_event_sync(c));
	OK(ingot_event_signal(promise));
	OK(ingot_event_sync(kept));
	CHECK(count == 1);
	count = 0;
	OK(ingot_event_open(t->runtime, &promise));
	OK(ingot_task_submit(first, &task, &a));
	OK(ingot_task_submit(second, &task, &b));
	OK(ingot_event_cancel(b));
	FAILS(INGOT_CANCELLED, ingot_event_sync(b)); /* at once, though nobody signalled */
	OK(ingot_event_done(a, &done));
	CHECK(!done && count == 0);
	OK(ingot_event_signal(promise));
	OK(ingot_event_sync(a));
	CHECK(count == 1);
	/* The stream's queue, all of what has not begun; and no failure of it. */
	struct gate gate = { 0 };
	gate_hold(t, &gate, first);
	for (int i = 0; i < 3; i++)
		OK(ingot_task_submit(first, &(struct ingot_task){ .run = count_one, .argument = &count }, queued + i));
	OK(ingot_stream_cancel(first));
	gate_open(&gate);
	for (int i = 0; i < 3; i++)
		FAILS(INGOT_CANCELLED, ingot_event_sync(queued[i]));
	OK(ingot_stream_await(first));
	CHECK(count == 1);
}

/* Steps that copy and clear, and a node that asks for more than the device's own alignment. */
static void h16_moves(struct trial *t)
{
	static const struct ingot_module_dim dims[] = { { 4, -1 } };
	/* clang-format off */
	static const struct ingot_module_node nodes[] = {
		{ .name = "a", .dtype = INGOT_F32, .rank = 1, .dims = dims, .bytes = 16, .view_of = -1,
		  .flags = INGOT_NODE_HOSTED },
		{ .name = "b", .dtype = INGOT_F32, .rank = 1, .dims = dims, .bytes = 16, .view_of = -1,
		  .align = 1 << 16 },
		{ .name = "c", .dtype = INGOT_F32, .rank = 1, .dims = dims, .bytes = 16, .view_of = -1 },
	};
	/* clang-format on */
	static const uint32_t in[] = { 0 }, out[] = { 1, 2 }, after[] = { 0 }, behind[] = { 1 };
	static const struct ingot_module_argument arguments[] = { { INGOT_FROM_NODE, 1, 0 }, { INGOT_FROM_NODE, 0, 0 },
		{ INGOT_FROM_NODE, 2, 0 }, { INGOT_FROM_NODE, 1, 0 }, { INGOT_FROM_NODE, 1, 0 } };
	/* clang-format off */
	static const struct ingot_module_step steps[] = {
		{ .kind = INGOT_STEP_COPY, .first_argument = 0, .argument_count = 2, .bytes = 16 },
		{ .kind = INGOT_STEP_COPY, .lane = 1, .first_argument = 2, .argument_count = 2, .bytes = 12,
		  .after = after, .after_count = 1 },
		{ .kind = INGOT_STEP_WAIT, .lane = 0, .after = behind, .after_count = 1 },
		{ .kind = INGOT_STEP_CLEAR, .first_argument = 4, .argument_count = 1, .bytes = 8 },
	};
	static const struct ingot_module_routine routine = {
		.name = "moves", .inputs = in, .input_count = 1, .outputs = out, .output_count = 2,
		.arguments = arguments, .argument_count = 5, .merge_input = -1, .steps = steps, .step_count = 4,
		.lane_count = 2 };
	static const struct ingot_module module = {
		.abi = INGOT_ABI, .name = "moves", .nodes = nodes, .node_count = 3, .routines = &routine,
		.routine_count = 1, .images = row_images, .image_count = ROW_IMAGES };
	/* clang-format on */
	struct ingot_library library;
	struct ingot_routine moves;
	struct ingot_context linked;
	struct ingot_node a, b, c;
	float in_values[4] = { 1, 2, 3, 4 }, got[4];
	void *address;
	OK(ingot_library_load(t->runtime, &module, NULL, &library));
	OK(ingot_link(t->context, library, "moves", &moves));
	OK(ingot_routine_context(moves, &linked));
	OK(ingot_library_node(library, "a", &a));
	OK(ingot_library_node(library, "b", &b));
	OK(ingot_library_node(library, "c", &c));
	for (int run = 0; run < 3; run++) {
		in_values[0] = (float)run + 1;
		write_f32(linked, a, in_values, 4);
		OK(ingot_routine_run(moves, NULL));
		read_f32(linked, b, got, 4);
		CHECK(got[0] == 0 && got[1] == 0 && got[2] == 3 && got[3] == 4);
		read_f32(linked, c, got, 4);
		CHECK(got[0] == (float)run + 1 && got[2] == 3 && got[3] == 0);
	}
	if (t->host_memory) {
		OK(ingot_context_address(linked, b, &address));
		CHECK((uintptr_t)address % (1 << 16) == 0);
	}
	/* What only the device had comes to the host when that is closed, with automatic transfers. */
	t->options.automatic_transfers = true;
	trial_reopen(t);
	double value = 0;
	a = node_f32(t, "kept", 4);
	OK(ingot_node_host_create(a));
	OK(ingot_context_place(t->context, &a, 1));
	write_f32(t->context, a, in_values, 4);
	OK(ingot_device_close(t->device));
	OK(ingot_node_get(a, (int64_t[]){ 3 }, 1, &value));
	CHECK(value == 4);
	OK(ingot_device_get(t->runtime, t->device_name, 0, &t->device));
}

/* ---- element types at their ends ---- */

static void h19_ends(struct trial *t)
{
	(void)t;
	unsigned char room[64] = { 0 };
	uint64_t bytes;
	for (int d = 0; d < 128; d++) {
		enum ingot_dtype dtype = (enum ingot_dtype)d;
		if (!ingot_dtype_bits(dtype)) {
			ingot_dtype_set(dtype, room, 0, 3); /* nothing to write */
			CHECK(ingot_dtype_get(dtype, room, 0) == 0 && !room[0] && !ingot_dtype_bytes(dtype, 1, &bytes));
			CHECK(d < 32 || d == 100 || !strcmp(ingot_dtype_name(dtype), "?"));
		}
	}
	CHECK(ingot_dtype_promote(INGOT_STRING, INGOT_F32) != INGOT_STRING
	        || ingot_dtype_promote(INGOT_F32, INGOT_STRING) != INGOT_STRING);
	/* NaN, infinities and what is too large, where the type has them and where not */
	static const enum ingot_dtype floats[] = { INGOT_F32, INGOT_F16, INGOT_BF16, INGOT_F64, INGOT_F8E5M2,
		INGOT_F8E4M3FN };
	for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
		ingot_dtype_set(floats[i], room, 1, NAN);
		CHECK(isnan(ingot_dtype_get(floats[i], room, 1)));
		ingot_dtype_set(floats[i], room, 1, -1.5);
		CHECK(ingot_dtype_get(floats[i], room, 1) == -1.5);
		ingot_dtype_set(floats[i], room, 1, -0.0);
		CHECK(signbit(ingot_dtype_get(floats[i], room, 1)));
	}
	static const struct {
		enum ingot_dtype dtype;
		double in, out;
	} ends[] = { { INGOT_I8, 127, 127 }, { INGOT_I8, -128, -128 }, { INGOT_U8, 255, 255 },
		{ INGOT_I16, -32768, -32768 }, { INGOT_U16, 65535, 65535 }, { INGOT_I32, -2147483648.0, -2147483648.0 },
		{ INGOT_U32, 4294967295.0, 4294967295.0 }, { INGOT_I64, -9007199254740992.0, -9007199254740992.0 },
		{ INGOT_U64, 9007199254740992.0, 9007199254740992.0 }, { INGOT_BOOL, 1, 1 }, { INGOT_BOOL, 0, 0 },
		{ INGOT_U4, 15, 15 }, { INGOT_I4, -8, -8 }, { INGOT_I8, 300, 127 }, { INGOT_I8, -300, -128 },
		{ INGOT_U8, -5, 0 }, { INGOT_I32, NAN, 0 }, { INGOT_I64, 1e30, 0x1p63 }, { INGOT_BOOL, 7, 1 },
		{ INGOT_I16, 2.5, 2 }, { INGOT_U4, 99, 15 } };
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		for (uint64_t at = 0; at < 5; at++) {
			memset(room, 0xff, sizeof room);
			ingot_dtype_set(ends[i].dtype, room, at, ends[i].in);
			CHECK(ingot_dtype_get(ends[i].dtype, room, at) == ends[i].out);
			uint32_t bits = ingot_dtype_bits(ends[i].dtype);
			for (uint64_t k = (at + 1) * bits / 8 + 1; k < sizeof room; k++)
				CHECK(room[k] == 0xff); /* and nothing beside it */
		}
}

/* ---- the planner's refusals ---- */

static void b7_refused(struct trial *t)
{
	(void)t;
	struct ingot_plan_slab slab = { 0 };
	struct ingot_plan_buffer buffer = { .bytes = 64, .align = 64, .last = 1, .in_place_of = -1 };
	struct ingot_plan_step steps[2] = { { .lane = 0 }, { .lane = 0 } };
	const uint32_t late[] = { 9 }, self[] = { 1 };
	struct ingot_plan plan = { .buffers = &buffer,
		.buffer_count = 1,
		.slabs = &slab,
		.slab_count = 1,
		.steps = steps,
		.step_count = 2,
		.lane_count = 1 };
	CHECK(ingot_plan_place(&plan) == INGOT_PLAN_OK && ingot_plan_check(&plan) == INGOT_PLAN_OK && slab.peak == 64);
	buffer.offset = 3;
	CHECK(ingot_plan_check(&plan) == INGOT_PLAN_INVALID && plan.bad == 0);
	buffer.offset = 64;
	CHECK(ingot_plan_check(&plan) == INGOT_PLAN_INVALID);
	buffer.offset = 0;
	buffer.last = 2; /* there is no such step */
	CHECK(ingot_plan_place(&plan) == INGOT_PLAN_INVALID && plan.bad == 0);
	buffer.last = 1;
	buffer.uses = late;
	buffer.use_count = 1;
	CHECK(ingot_plan_place(&plan) == INGOT_PLAN_INVALID);
	buffer.uses = NULL;
	buffer.use_count = 0;
	steps[1].lane = 1;
	CHECK(ingot_plan_place(&plan) == INGOT_PLAN_INVALID);
	steps[1] = (struct ingot_plan_step){ .after = self, .after_count = 1 };
	CHECK(ingot_plan_place(&plan) == INGOT_PLAN_INVALID);
	/* two in one place that live at once */
	struct ingot_plan_buffer two[2] = { { .bytes = 64, .align = 64, .last = 1, .in_place_of = -1 },
		{ .bytes = 64, .align = 64, .last = 1, .in_place_of = -1 } };
	plan = (struct ingot_plan){ .buffers = two, .buffer_count = 2, .slabs = &slab, .slab_count = 1 };
	CHECK(ingot_plan_place(&plan) == INGOT_PLAN_OK && slab.peak == 128);
	two[1].offset = two[0].offset;
	CHECK(ingot_plan_check(&plan) == INGOT_PLAN_INVALID);
	CHECK(ingot_plan_place(NULL) == INGOT_PLAN_INVALID && ingot_plan_check(NULL) == INGOT_PLAN_INVALID);
	CHECK(ingot_plan_place(&(struct ingot_plan){ .buffer_count = 1 }) == INGOT_PLAN_INVALID);
	CHECK(ingot_plan_segments(NULL, 1, 0, NULL, NULL, NULL) == INGOT_PLAN_INVALID);
	/* segments: no cap, bad alignment, what overflows */
	struct ingot_plan_item items[3] = { { .bytes = 100, .align = 64 }, { .bytes = 100, .align = 64 },
		{ .bytes = 1, .align = 1 } };
	uint64_t used[3];
	uint32_t segments, bad = 9;
	CHECK(ingot_plan_segments(items, 3, 0, used, &segments, &bad) == INGOT_PLAN_OK && segments == 1
	        && used[0] == 229);
	items[1].align = 3;
	CHECK(ingot_plan_segments(items, 3, 0, used, &segments, &bad) == INGOT_PLAN_INVALID && bad == 1);
	items[1] = (struct ingot_plan_item){ .bytes = UINT64_MAX, .align = 64 };
	CHECK(ingot_plan_segments(items, 3, 0, used, &segments, &bad) == INGOT_PLAN_OVERFLOW && bad == 1);
}

/* Handles that are right, and an argument that is missing: told before anything else. */
static void arguments_missing(struct trial *t)
{
	struct ingot_buffer buffer;
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_node node;
	struct ingot_device device;
	int64_t four = 4;
	float data[4] = { 0 };
	OK(ingot_buffer_open(t->device, INGOT_F32, 4, &buffer));
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_link(t->context, library, "dense", &routine));
	FAILS(INGOT_INVALID, ingot_context_place(t->context, NULL, 1));
	FAILS(INGOT_INVALID, ingot_host_unpin(t->device, NULL));
	FAILS(INGOT_INVALID, ingot_device_default(t->runtime, NULL));
	FAILS(INGOT_INVALID, ingot_device_default(NULL, &device));
	FAILS(INGOT_INVALID, ingot_event_record(t->stream, NULL));
	FAILS(INGOT_INVALID, ingot_library_node(library, NULL, &node));
	FAILS(INGOT_INVALID, ingot_library_node(library, "x", NULL));
	FAILS(INGOT_INVALID, ingot_library_load(t->runtime, NULL, NULL, &library));
	FAILS(INGOT_INVALID, ingot_buffer_read(t->stream, &buffer, 0, NULL, 16, 0, 16));
	FAILS(INGOT_INVALID, ingot_buffer_read(t->stream, NULL, 0, data, 16, 0, 16));
	FAILS(INGOT_INVALID, ingot_pool_open(t->device, 64, 0, INGOT_SLAB_PRIVATE, NULL));
	FAILS(INGOT_INVALID, ingot_routine_context(routine, NULL));
	FAILS(INGOT_INVALID, ingot_backend_init(t->runtime, NULL, NULL));
	FAILS(INGOT_INVALID, ingot_stream_open(t->device, NULL));
	FAILS(INGOT_INVALID,
	        ingot_node_reshape(t->runtime, OPTIONS(.dtype = INGOT_F32, .rank = 1, .dims = &four), NULL, 4, &node));
	FAILS(INGOT_INVALID, ingot_node_new(t->runtime, NULL, &node));
	SAYS("ingot_node_new: an argument is missing");
}

const struct row rows_edges[] = {
	{ "H1", "INGOT_STALE", "stale_in_every_call", h1_stale, NULL, NULL },
	{ "H14", "INGOT_INVALID", "nodes_refused", h14_nodes, NULL, NULL },
	{ "H14", "INGOT_MISMATCH", "devices_refused", h14_devices, NULL, NULL },
	{ "H14", "INGOT_INVALID", "arguments_missing", arguments_missing, NULL, NULL },
	{ "C8", "INGOT_DEPENDENCY", "what_was_not_run_wrote_nothing", c8_befores, NULL, NULL },
	{ "B17", "struct ingot_call.slots", "more_than_fits_the_call", b17_more, NULL, NULL },
	{ "C8", "ingot_stream_cancel", "waiters_cancelled", c8_waiters, NULL, NULL },
	{ "H16", "INGOT_STEP_COPY", "steps_that_move", h16_moves, NULL, NULL },
	{ "H19", "ingot_dtype_set", "ends_of_types", h19_ends, NULL, NULL },
	{ "B7", "ingot_plan_check", "plans_refused", b7_refused, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
