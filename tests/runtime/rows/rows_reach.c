/* rows_reach.c: rows of several letters: what a program asks for in numbers, events and sets, and what it does by
 * hand. */
#include "rows.h"

static void numbers(struct trial *t)
{
	struct ingot_node node, scalar;
	struct ingot_node_shape shape;
	OK(ingot_node_new(t->runtime,
	        &(struct ingot_node_options){ .rank = 2,
	                .dims = (int64_t[]){ 5, 3 },
	                .left = (int64_t[]){ 1, 0 },
	                .right = (int64_t[]){ 2, 1 },
	                .margin = 7 },
	        &node));
	OK(ingot_node_shape(node, &shape));
	CHECK(shape.rank == 2 && shape.dims[0] == 5 && shape.dims[1] == 3 && shape.dims[2] == 0
	        && shape.dims[INGOT_MAX_RANK - 1] == 0);
	CHECK(shape.left[0] == 1 && shape.left[1] == 0 && shape.right[0] == 2 && shape.right[1] == 1);
	CHECK(shape.margin == 7 && !shape.margin_open);
	OK(ingot_node_new(t->runtime, &(struct ingot_node_options){ .margin_open = true }, &scalar));
	OK(ingot_node_shape(scalar, &shape));
	CHECK(shape.rank == 0 && shape.dims[0] == 0 && shape.margin_open);
	FAILS(INGOT_INVALID, ingot_node_shape(node, NULL));
	OK(ingot_node_close(scalar));
	FAILS(INGOT_STALE, ingot_node_shape(scalar, &shape));
}

static bool wide(struct ingot_node node, void *least)
{
	struct ingot_node_shape shape;
	OK(ingot_node_shape(node, &shape));
	return shape.rank && shape.dims[0] >= *(int64_t *)least;
}

static void headers(struct trial *t)
{
	char text[400];
	int64_t least = 4;
	struct ingot_node small = node_f32(t, "small", 2), large = node_f32(t, "large", 9);
	OK(ingot_node_note(large, "in shared memory"));
	CHECK(ingot_node_note_text(large, text, sizeof text) == 16 && !strcmp(text, "in shared memory"));
	CHECK(ingot_node_note_text(small, text, sizeof text) == 0 && !text[0]);
	ingot_node_headers(t->runtime, NULL, NULL, INGOT_LOG_NAMES, text, sizeof text);
	CHECK(strstr(text, "_small\n") && strstr(text, "_large\n") && !strstr(text, "f32"));
	ingot_node_headers(t->runtime, wide, &least, INGOT_LOG_NAMES, text, sizeof text);
	CHECK(!strstr(text, "small") && strstr(text, "large\n"));
	ingot_node_headers(t->runtime, wide, &least, INGOT_LOG_HEADERS, text, sizeof text);
	CHECK(strstr(text, "large f32 [9] 36 bytes") && !strstr(text, "shared memory"));
	size_t whole = ingot_node_headers(t->runtime, wide, &least, INGOT_LOG_DEBUG, text, sizeof text);
	CHECK(strstr(text, "| in shared memory\n") && whole == strlen(text));
	CHECK(ingot_node_headers(t->runtime, wide, &least, INGOT_LOG_DEBUG, text, 5) == whole && strlen(text) == 4);
}

/* A node in two contexts at one place of a pool that the program opened, and another behind it. */
static void bound(struct trial *t)
{
	uint32_t pool;
	float value[4] = { 1, 2, 3, 4 }, back[4] = { 0 };
	struct ingot_node a = node_f32(t, "a", 4), b = node_f32(t, "b", 4), c = node_f32(t, "c", 4);
	struct ingot_context other;
	struct ingot_location at, place;
	OK(ingot_context_new(other_stream(t), &other));
	OK(ingot_pool_open(t->device, 1024, 64, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_pool_write(t->stream, pool, 256, value, sizeof value, NULL));
	OK(ingot_stream_await(t->stream));
	at = (struct ingot_location){ pool, 256, 16 };
	OK(ingot_context_bind(t->context, a, at));
	OK(ingot_context_location(t->context, a, &place));
	CHECK(place.pool == pool && place.offset == 256 && place.bytes == 16);
	read_f32(t->context, a, back, 4); /* what lies there is its value */
	CHECK(!memcmp(back, value, sizeof value));
	FAILS(INGOT_CONFLICT, ingot_context_bind(other, b, at));
	OK(ingot_context_bind(other, a, at));
	for (int round = 0; round < 20; round++) { /* ordered over both, on two streams */
		value[0] = (float)round;
		OK(ingot_write(t->context, a, value, sizeof value, NULL));
		OK(ingot_read(other, a, back, sizeof back, NULL));
		OK(ingot_stream_await(t->stream));
		struct ingot_stream second;
		OK(ingot_context_stream(other, &second));
		OK(ingot_stream_await(second));
		CHECK(back[0] == (float)round);
	}
	FAILS(INGOT_PRESENT, ingot_context_bind(t->context, a, at));
	FAILS(INGOT_CONFLICT, ingot_context_bind(t->context, c, (struct ingot_location){ pool, 260, 16 }));
	SAYS("another node lies there");
	FAILS(INGOT_RANGE, ingot_context_bind(t->context, c, (struct ingot_location){ pool, 1012, 16 }));
	FAILS(INGOT_RANGE, ingot_context_bind(t->context, c, (struct ingot_location){ pool, UINT64_MAX - 3, 16 }));
	FAILS(INGOT_MISMATCH, ingot_context_bind(t->context, c, (struct ingot_location){ pool, 512, 12 }));
	FAILS(INGOT_INVALID, ingot_context_bind(t->context, c, (struct ingot_location){ pool, 513, 16 }));
	FAILS(INGOT_MISSING, ingot_context_bind(t->context, c, (struct ingot_location){ pool + 77, 0, 16 }));
	OK(ingot_context_bind(t->context, c, (struct ingot_location){ pool, 272, 16 }));
	write_f32(t->context, c, value, 4);
	read_f32(t->context, a, back, 4);
	CHECK(back[0] == value[0] && back[3] == 4);
	/* A place of another context's, and a part of a pool that is a context's. */
	struct ingot_node mine = node_f32(t, "mine", 4), more = node_f32(t, "more", 1);
	OK(ingot_context_place(t->context, &mine, 1));
	write_f32(t->context, mine, value, 4);
	OK(ingot_context_location(t->context, mine, &place));
	OK(ingot_context_bind(other, mine, place));
	read_f32(other, mine, back, 4);
	CHECK(!memcmp(back, value, sizeof value));
	place.offset += 8, place.bytes = 4;
	FAILS(INGOT_CONFLICT, ingot_context_bind(other, more, place));
	/* The pool may go first. */
	OK(ingot_pool_close(t->device, pool));
	write_f32(t->context, a, value, 4);
	read_f32(other, a, back, 4);
	CHECK(!memcmp(back, value, sizeof value));
	OK(ingot_context_close(other));
}

static void work_events(struct trial *t)
{
	struct gate gate = { 0 };
	float value[4] = { 1, 2, 3, 4 }, back[2][4];
	struct ingot_node node = node_f32(t, "node", 4);
	struct ingot_event events[3];
	uint32_t count = 9;
	bool done = true;
	OK(ingot_context_place(t->context, &node, 1));
	write_f32(t->context, node, value, 4);
	OK(ingot_writer_events(t->context, node, events, 3, &count));
	CHECK(count == 0);
	gate_hold(t, &gate, t->stream);
	OK(ingot_write(t->context, node, value, sizeof value, NULL));
	OK(ingot_writer_events(t->context, node, events, 3, &count));
	CHECK(count == (t->in_place ? 0 : 1));
	if (count) {
		if (t->threads) {
			OK(ingot_event_done(events[0], &done));
			CHECK(!done);
		}
		gate_open(&gate);
		OK(ingot_event_sync(events[0]));
		OK(ingot_event_close(events[0]));
	}
	gate_open(&gate);
	OK(ingot_stream_await(t->stream));
	struct gate second = { 0 };
	gate_hold(t, &second, t->stream);
	OK(ingot_read(t->context, node, back[0], sizeof back[0], NULL));
	OK(ingot_read(t->context, node, back[1], sizeof back[1], NULL));
	OK(ingot_reader_events(t->context, node, events, 3, &count));
	CHECK(count == (t->in_place ? 0 : 1)); /* the second ends behind the first */
	gate_open(&second);
	if (count) {
		OK(ingot_event_sync(events[0]));
		OK(ingot_event_close(events[0]));
		CHECK(!memcmp(back[0], value, sizeof value) && !memcmp(back[1], value, sizeof value));
	}
	OK(ingot_stream_await(t->stream));
	OK(ingot_reader_events(t->context, node, events, 3, &count));
	CHECK(count == 0);
	FAILS(INGOT_MISSING, ingot_reader_events(t->context, node_f32(t, "elsewhere", 1), events, 3, &count));
	FAILS(INGOT_INVALID, ingot_writer_events(t->context, node, NULL, 3, &count));
}

static void devices(struct trial *t)
{
	struct ingot_device second, found[2];
	struct ingot_stream stream;
	struct ingot_context there;
	struct ingot_node node = node_f32(t, "node", 4);
	double values[4] = { 1, 2, 3, 4 };
	uint32_t count = 9;
	OK(ingot_device_another(t->runtime, t->device_name, 0, &second));
	OK(ingot_stream_default(second, &stream));
	OK(ingot_context_new(stream, &there));
	OK(ingot_node_devices(node, found, 2, &count));
	CHECK(count == 0);
	OK(ingot_node_set_all(node, values, 4));
	OK(ingot_context_place(t->context, &node, 1));
	OK(ingot_context_place(there, &node, 1));
	OK(ingot_node_devices(node, found, 2, &count));
	CHECK(count == 2);
	OK(ingot_node_set_all(node, values, 4)); /* now both are behind */
	OK(ingot_node_devices(node, found, 2, &count));
	CHECK(count == 0);
	OK(ingot_from_host(there, node, NULL, NULL));
	OK(ingot_node_devices(node, found, 2, &count));
	CHECK(count == 1 && ingot_device_equal(found[0], second));
	OK(ingot_from_host(t->context, node, NULL, NULL));
	OK(ingot_node_devices(node, found, 1, &count));
	CHECK(count == 2);
	OK(ingot_stream_await(t->stream));
	OK(ingot_stream_await(stream));
	OK(ingot_context_close(there));
	OK(ingot_node_devices(node, found, 2, &count));
	CHECK(count == 1 && ingot_device_equal(found[0], t->device));
}

static void streams(struct trial *t)
{
	struct ingot_stream found[4], a, b;
	uint32_t count;
	OK(ingot_device_streams(t->device, found, 4, &count));
	CHECK(count == 1 && ingot_stream_equal(found[0], t->stream));
	OK(ingot_stream_open(t->device, &a));
	OK(ingot_stream_open(t->device, &b));
	OK(ingot_device_streams(t->device, found, 4, &count));
	CHECK(count == 3 && ingot_stream_equal(found[1], a) && ingot_stream_equal(found[2], b));
	OK(ingot_stream_close(a));
	OK(ingot_device_streams(t->device, found, 1, &count));
	CHECK(count == 2 && ingot_stream_equal(found[0], t->stream));
	OK(ingot_device_streams(t->device, found, 4, &count));
	CHECK(ingot_stream_equal(found[1], b));
}

/* ---- work that the runtime does not know of ---- */

struct outside {
	int dones, syncs, transfers, answer, order;
	bool over;
	struct ingot_node node, inner;
	float *host, value;
	enum ingot_status within;
};
static int order;

static bool outside_done(void *user) { return ((struct outside *)user)->dones++, ((struct outside *)user)->over; }
static int outside_sync(void *user)
{
	struct outside *outside = user;
	double value;
	outside->syncs++;
	outside->order = ++order;
	outside->within = ingot_node_get(outside->inner, (int64_t[]){ 0 }, 1, &value);
	return outside->answer;
}
static int outside_transfer(void *user)
{
	struct outside *outside = user;
	outside->transfers++;
	outside->host[0] = outside->value;
	return outside->answer;
}
#define WITH(o) \
	&(struct ingot_host_sync) { outside_done, outside_sync, outside_transfer, o }

static void prepare_reads(struct trial *t, bool automatic)
{
	t->options.automatic_transfers = automatic;
	trial_reopen(t);
	float host[4] = { 0 };
	double value;
	uint64_t bytes;
	void *data;
	struct ingot_node node, inner = node_f32(t, "inner", 1);
	OK(ingot_node_wrap(t->runtime,
	        &(struct ingot_node_options){ .rank = 1, .dims = (int64_t[]){ 4 }, .dtype = INGOT_F32 }, host,
	        sizeof host, &node));
	OK(ingot_node_set(inner, (int64_t[]){ 0 }, 1, 5));
	OK(ingot_node_host(node, &data, &bytes));
	struct outside first = { .host = host, .value = 1, .inner = inner },
	               second = { .host = host, .value = 2, .inner = inner },
	               third = { .host = host, .value = 3, .inner = inner };
	OK(ingot_node_prepare_read(node, WITH(&first)));
	first.over = true; /* dropped where the next comes */
	OK(ingot_node_prepare_read(node, WITH(&second)));
	OK(ingot_node_prepare_read(node, WITH(&third)));
	OK(ingot_node_get(node, (int64_t[]){ 0 }, 1, &value));
	CHECK(first.syncs == 0 && second.syncs == 1 && third.syncs == 1 && second.order < third.order);
	CHECK(first.transfers == 0 && second.transfers == 0 && third.transfers == automatic);
	CHECK(second.within == INGOT_WOULD_BLOCK || second.within == INGOT_OK);
	CHECK(value == (automatic ? 3 : 0));
	OK(ingot_node_read(node)); /* once */
	CHECK(third.syncs == 1 && third.transfers == automatic);
	third.answer = 9;
	OK(ingot_node_prepare_read(node, WITH(&third)));
	FAILS(INGOT_FAILED, ingot_node_read(node));
	SAYS("answered 9");
	OK(ingot_node_read(node));
	/* What stands behind one that failed is still to be waited for. */
	second = (struct outside){ .host = host, .inner = inner };
	OK(ingot_node_prepare_read(node, WITH(&third)));
	OK(ingot_node_prepare_read(node, WITH(&second)));
	FAILS(INGOT_FAILED, ingot_node_read(node));
	CHECK(second.syncs == 0);
	OK(ingot_node_read(node));
	CHECK(second.syncs == 1);
	/* Over by itself meanwhile: there is nothing to wait for. */
	third = (struct outside){ .host = host, .value = 3, .inner = inner };
	OK(ingot_node_prepare_read(node, WITH(&third)));
	third.over = true;
	OK(ingot_node_read(node));
	CHECK(third.syncs == 0 && third.transfers == automatic);
	/* Its own values: it would wait for itself. */
	second = (struct outside){ .host = host, .inner = node };
	OK(ingot_node_prepare_read(node, WITH(&second)));
	OK(ingot_node_read(node));
	CHECK(second.syncs == 1 && second.within == INGOT_WOULD_BLOCK);
	if (automatic) { /* the host has the newest value then: runs upload it */
		struct ingot_device found[1];
		uint32_t count;
		OK(ingot_context_place(t->context, &node, 1));
		OK(ingot_node_devices(node, found, 1, &count));
		CHECK(count == 1);
		OK(ingot_node_prepare_read(node, WITH(&first)));
		first.over = false;
		OK(ingot_node_read(node));
		OK(ingot_node_devices(node, found, 1, &count));
		CHECK(count == 0);
	}
	FAILS(INGOT_INVALID, ingot_node_prepare_read(node, NULL));
	FAILS(INGOT_INVALID, ingot_node_prepare_read(node, &(struct ingot_host_sync){ .done = outside_done }));
	OK(ingot_node_prepare_read(node, WITH(&second))); /* what nobody read goes with the node */
}

static void prepared_reads(struct trial *t)
{
	prepare_reads(t, false);
	prepare_reads(t, true);
}

static int wait_inside(void *argument)
{
	return ingot_node_set(*(struct ingot_node *)argument, (int64_t[]){ 0 }, 1, 1) == INGOT_WOULD_BLOCK ? 0 : 1;
}

static void prepared_writes(struct trial *t)
{
	struct ingot_node node = node_f32(t, "node", 4), part;
	double value;
	OK(ingot_node_host_create(node));
	OK(ingot_node_slice(node, 1, 2, &part));
	struct outside first = { .inner = node }, second = { .inner = node };
	OK(ingot_node_prepare_write(node, WITH(&first)));
	OK(ingot_node_prepare_write(part, WITH(&second))); /* of the whole too */
	OK(ingot_node_get(node, (int64_t[]){ 0 }, 1, &value));
	CHECK(first.syncs == 0); /* a read need not wait */
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ .run = wait_inside, .argument = &node }, NULL));
	OK(ingot_stream_await(t->stream)); /* a task must not */
	OK(ingot_node_set(part, (int64_t[]){ 0 }, 1, 6));
	CHECK(first.syncs == 1 && second.syncs == 1 && first.order < second.order && first.transfers == 0);
	OK(ingot_node_write(node));
	CHECK(first.syncs == 1);
	FAILS(INGOT_INVALID, ingot_node_prepare_write(node, NULL));
}

const struct row rows_reach[] = {
	{ "A13", "ingot_device_streams", "live_streams", streams, NULL, NULL },
	{ "B1", "ingot_context_bind", "places_by_hand", bound, NULL, NULL },
	{ "E7", "ingot_reader_events", "events_of_work", work_events, NULL, NULL },
	{ "F25", "ingot_node_prepare_read", "own_synchronisation", prepared_reads, NULL, NULL },
	{ "F26", "ingot_node_prepare_write", "own_synchronisation_of_writes", prepared_writes, NULL, NULL },
	{ "F28", "ingot_node_devices", "devices_that_do_not_lag", devices, NULL, NULL },
	{ "F30", "ingot_node_shape", "numbers", numbers, NULL, NULL },
	{ "F36", "ingot_node_headers", "by_predicate_and_level", headers, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
