/* rows_sharing.c: rows E: what streams of a device share. */
#include "rows.h"

static struct ingot_routine link_at(
        struct ingot_context base, struct ingot_library library, const char *name, struct ingot_context *linked)
{
	struct ingot_routine routine;
	OK(ingot_link(base, library, name, &routine));
	OK(ingot_routine_context(routine, linked));
	return routine;
}

static struct ingot_context context_on(struct ingot_stream stream)
{
	struct ingot_context context;
	OK(ingot_context_new(stream, &context));
	return context;
}

static bool same_place(struct ingot_context a, struct ingot_context b, struct ingot_node node)
{
	struct ingot_location x, y;
	OK(ingot_context_location(a, node, &x));
	OK(ingot_context_location(b, node, &y));
	return x.pool == y.pool && x.offset == y.offset;
}

static void e1(struct trial *t)
{
	struct ingot_library library;
	struct ingot_node shared, y;
	struct ingot_context a, b, base = context_on(other_stream(t));
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	OK(ingot_library_node(library, "shared", &shared));
	OK(ingot_library_node(library, "y", &y));
	link_at(t->context, library, "get", &a);
	link_at(base, library, "get", &b);
	CHECK(same_place(a, b, shared));
	CHECK(!same_place(a, b, y));
	CHECK(ingot_node_mode(shared).sharing == INGOT_SHARED && ingot_node_mode(y).sharing == INGOT_PER_STREAM);
	CHECK(ingot_node_mode(node_f32(t, "new", 1)).sharing == INGOT_SHARING_OPEN);
	/* The same by place: one of each device, on whichever stream, and of each context. */
	struct ingot_device twin;
	struct ingot_stream far;
	OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
	OK(ingot_stream_default(twin, &far));
	struct ingot_context contexts[] = { context_on(t->stream), base, context_on(far) };
	int64_t four = 4;
	float in[4] = { 1, 2, 3, 4 }, got[4];
	for (uint32_t sharing = INGOT_PER_STREAM; sharing <= INGOT_SHARED; sharing++) {
		struct ingot_node node;
		OK(ingot_node_new(t->runtime,
		        &(struct ingot_node_options){
		                .dtype = INGOT_F32, .rank = 1, .dims = &four, .sharing = sharing },
		        &node));
		for (int i = 0; i < 3; i++)
			OK(ingot_context_place(contexts[i], &node, 1));
		CHECK(same_place(contexts[0], contexts[1], node) == (sharing == INGOT_SHARED));
		write_f32(contexts[0], node, in, 4);
		if (sharing == INGOT_SHARED)
			read_f32(contexts[1], node, got, 4); /* one array: what one writes the other reads */
		else
			FAILS(INGOT_UNREADY, ingot_read(contexts[1], node, got, 16, NULL));
		CHECK(sharing != INGOT_SHARED || !memcmp(in, got, 16));
		FAILS(INGOT_UNREADY, ingot_read(contexts[2], node, got, 16, NULL)); /* another device's is another */
	}
}

static void e2(struct trial *t)
{
	struct ingot_library library;
	struct ingot_node table;
	struct ingot_context a, b, c, base = context_on(other_stream(t));
	struct ingot_routine routine;
	bool candidate = false;
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	OK(ingot_library_node(library, "table", &table));
	link_at(t->context, library, "look", &a); /* read only and unrecorded: a candidate */
	OK(ingot_sharing_candidate(t->device, table, &candidate));
	CHECK(candidate && ingot_node_mode(table).sharing == INGOT_SHARING_OPEN);
	link_at(base, library, "look", &b); /* read only in an unrelated context: shared */
	CHECK(same_place(a, b, table) && ingot_node_mode(table).sharing == INGOT_SHARED);
	OK(ingot_sharing_candidate(t->device, table, &candidate));
	CHECK(!candidate);
	/* Writable and not shared: per stream, no candidate any more. */
	struct ingot_library second;
	struct ingot_node table2;
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &second));
	OK(ingot_library_node(second, "table", &table2));
	link_at(t->context, second, "look", &a);
	link_at(base, second, "fill", &c);
	CHECK(!same_place(a, c, table2) && ingot_node_mode(table2).sharing == INGOT_PER_STREAM);
	OK(ingot_sharing_candidate(t->device, table2, &candidate));
	CHECK(!candidate);
	/* Writable and shared: owned by the stream that writes first. */
	struct ingot_node shared;
	float zeros[SMALL_COUNT] = { 0 };
	OK(ingot_library_node(second, "shared", &shared));
	link_at(t->context, second, "set", &a);
	write_f32(a, shared, zeros, SMALL_COUNT);
	FAILS(INGOT_CONFLICT, ingot_link(base, second, "set", &routine));
	SAYS("shared");
	SAYS(".0");
	SAYS(".1");
}

static void e3(struct trial *t)
{
	struct ingot_library library;
	struct ingot_node table;
	struct ingot_context a, b;
	bool candidate = true;
	char text[4096];
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	OK(ingot_library_node(library, "table", &table));
	OK(ingot_sharing_candidate(t->device, table, &candidate));
	CHECK(!candidate);
	link_at(t->context, library, "look", &a);
	ingot_device_json(t->device, text, sizeof text);
	CHECK(json_number(text, "candidates") == 1);
	link_at(context_on(other_stream(t)), library, "fill", &b); /* a stream becomes its writer */
	OK(ingot_sharing_candidate(t->device, table, &candidate));
	CHECK(!candidate);
	ingot_device_json(t->device, text, sizeof text);
	CHECK(json_number(text, "candidates") == 0);
}

static void e4(struct trial *t)
{
	struct ingot_library library;
	struct ingot_node shared;
	struct ingot_stream other = other_stream(t), owner;
	struct ingot_context a, b, base = context_on(other);
	struct ingot_routine routine;
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	OK(ingot_library_node(library, "shared", &shared));
	FAILS(INGOT_MISSING, ingot_owner_stream(t->device, shared, &owner));
	link_at(t->context, library, "get", &a);
	FAILS(INGOT_MISSING, ingot_owner_stream(t->device, shared, &owner));
	struct ingot_routine set = link_at(base, library, "set", &b);
	float v[SMALL_COUNT] = { 0 };
	FAILS(INGOT_MISSING, ingot_owner_stream(t->device, shared, &owner));
	write_f32(b, shared, v, SMALL_COUNT);
	OK(ingot_owner_stream(t->device, shared, &owner));
	CHECK(ingot_stream_equal(owner, other));
	FAILS(INGOT_CONFLICT, ingot_link(t->context, library, "set", &routine));
	FAILS(INGOT_CONFLICT, ingot_write(a, shared, v, sizeof v, NULL));
	/* From the host's array no more than from the caller's, nor from another device. */
	struct ingot_device twin;
	struct ingot_stream far;
	OK(ingot_node_host_create(shared));
	FAILS(INGOT_CONFLICT, ingot_from_host(a, shared, NULL, NULL));
	SAYS(".1 writes it, so ");
	OK(ingot_from_host(b, shared, NULL, NULL));
	OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
	OK(ingot_stream_default(twin, &far));
	struct ingot_context there = context_on(far);
	OK(ingot_context_place(there, &shared, 1));
	write_f32(there, shared, v, SMALL_COUNT);
	FAILS(INGOT_CONFLICT, ingot_device_to_device(shared, a, INGOT_MERGE_NONE, there, NULL, NULL));
	OK(ingot_owner_stream(twin, shared, &owner)); /* each device its own */
	CHECK(ingot_stream_equal(owner, far));
	OK(ingot_owner_stream(t->device, shared, &owner));
	CHECK(ingot_stream_equal(owner, other));
	/* Owners only grow: a closed stream stays one, and who has its number now is not it. */
	struct ingot_stream next;
	bool idle;
	OK(ingot_routine_close(set));
	OK(ingot_context_close(base));
	OK(ingot_stream_close(other));
	next = other_stream(t);
	CHECK(ingot_stream_number(next) == 1);
	base = context_on(next);
	OK(ingot_owner_stream(t->device, shared, &owner));
	CHECK(ingot_stream_equal(owner, other) && !ingot_stream_equal(owner, next));
	FAILS(INGOT_STALE, ingot_stream_idle(owner, &idle));
	FAILS(INGOT_CONFLICT, ingot_link(base, library, "set", &routine));
	SAYS("a closed stream writes it");
	OK(ingot_context_place(base, &shared, 1));
	FAILS(INGOT_CONFLICT, ingot_from_host(base, shared, NULL, NULL));
	FAILS(INGOT_CONFLICT, ingot_write(a, shared, v, sizeof v, NULL));
	OK(ingot_read(a, shared, v, sizeof v, NULL)); /* it can be read on */
	OK(ingot_device_sync(t->device));
}

static void e5(struct trial *t)
{
	struct ingot_library library;
	struct ingot_node shared, y;
	struct ingot_stream other = other_stream(t), streams[4];
	struct ingot_context a, b;
	uint32_t count = 9;
	uint64_t entries;
	float got[SMALL_COUNT];
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	OK(ingot_library_node(library, "shared", &shared));
	OK(ingot_library_node(library, "y", &y));
	struct ingot_routine set = link_at(t->context, library, "set", &a),
	                     get = link_at(context_on(other), library, "get", &b);
	float zero[SMALL_COUNT] = { 0 };
	write_f32(a, shared, zero, SMALL_COUNT);
	OK(ingot_device_sync(t->device));
	struct gate gate = { 0 };
	gate_hold(t, &gate, t->stream);
	OK(ingot_routine_run(set, NULL));
	OK(ingot_writer_streams(a, shared, streams, 4, &count));
	CHECK(count == (t->in_place ? 0 : 1) && (t->in_place || ingot_stream_equal(streams[0], t->stream)));
	OK(ingot_routine_run(get, NULL)); /* waits for the writer of the other stream */
	gate_open(&gate);
	read_f32(b, y, got, SMALL_COUNT);
	CHECK(got[0] == 1);
	for (int i = 0, many = times(2000, 20000); i < many; i++) {
		OK(ingot_routine_run(set, NULL));
		if (i % 50 == 0)
			OK(ingot_stream_await(t->stream));
	}
	OK(ingot_stream_await(t->stream));
	OK(ingot_hazard_entries(t->device, &entries));
	CHECK(entries < 100);
	OK(ingot_routine_run(get, NULL));
	read_f32(b, y, got, SMALL_COUNT);
	CHECK(got[0] == 1 + times(2000, 20000));
	OK(ingot_writer_streams(a, shared, streams, 4, &count));
	CHECK(count == 0);
}

/* Shared by hand: two streams write the same place, each behind the other, and all undone writers are told. */
static void e5_writers(struct trial *t)
{
	struct ingot_library library;
	struct ingot_node shared;
	struct ingot_stream other = other_stream(t), streams[4], owner;
	struct ingot_context a, b;
	struct ingot_event events[4];
	uint32_t count = 9, undone = t->in_place ? 0 : 2;
	float v[SMALL_COUNT] = { 5 }, got[SMALL_COUNT];
	bool done = true;
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	OK(ingot_library_node(library, "shared", &shared));
	struct ingot_routine set = link_at(t->context, library, "set", &a), again;
	write_f32(a, shared, v, SMALL_COUNT);
	OK(ingot_owner_stream(t->device, shared, &owner));
	FAILS(INGOT_CONFLICT, ingot_link(context_on(other), library, "set", &again));
	OK(ingot_node_sharing_update(shared, INGOT_SHARED, INGOT_BY_USER));
	again = link_at(context_on(other), library, "set", &b);
	FAILS(INGOT_MISSING, ingot_owner_stream(t->device, shared, &owner));
	OK(ingot_device_sync(t->device));
	struct gate gate = { 0 };
	gate_hold(t, &gate, t->stream);
	OK(ingot_routine_run(set, NULL));
	OK(ingot_routine_run(again, NULL));
	OK(ingot_writer_streams(a, shared, streams, 4, &count));
	CHECK(count == undone);
	CHECK(t->in_place || (ingot_stream_equal(streams[0], other) && ingot_stream_equal(streams[1], t->stream)));
	OK(ingot_writer_events(b, shared, events, 4, &count));
	CHECK(count == undone);
	for (uint32_t i = 0; i < count; i++) {
		OK(ingot_event_done(events[i], &done));
		CHECK(!done);
	}
	gate_open(&gate);
	for (uint32_t i = 0; i < count; i++) {
		OK(ingot_event_sync(events[i]));
		OK(ingot_event_close(events[i]));
	}
	read_f32(b, shared, got, SMALL_COUNT);
	CHECK(got[0] == 7);
	OK(ingot_writer_streams(a, shared, streams, 4, &count));
	CHECK(count == 0);
	FAILS(INGOT_MISSING, ingot_owner_stream(t->device, shared, &owner));
}

static void e6(struct trial *t)
{
	struct ingot_node a = node_f32(t, "a", 4);
	struct ingot_stream streams[4];
	double in[4] = { 1, 2, 3, 4 }, out[4];
	float got[4];
	struct gate gate = { 0 }, second = { 0 };
	uint32_t count = 0;
	OK(ingot_context_place(t->context, &a, 1));
	OK(ingot_node_set_all(a, in, 4));
	OK(ingot_stream_await(t->stream));
	gate_hold(t, &gate, t->stream);
	OK(ingot_from_host(t->context, a, NULL, NULL));
	OK(ingot_host_reading_streams(a, streams, 4, &count));
	CHECK(count == (t->in_place ? 0 : 1) && (t->in_place || ingot_stream_equal(streams[0], t->stream)));
	gate_open(&gate);
	in[0] = 99;
	OK(ingot_node_set_all(a, in, 4)); /* waits for the upload that still reads the array */
	read_f32(t->context, a, got, 4);
	CHECK(got[0] == 1);
	gate_hold(t, &second, t->stream);
	float next[4] = { 7, 8, 9, 10 };
	OK(ingot_write(t->context, a, next, 16, NULL));
	OK(ingot_to_host(t->context, a, NULL, NULL));
	OK(ingot_host_writing_streams(a, streams, 4, &count));
	CHECK(count == (t->in_place ? 0 : 1));
	gate_open(&second);
	OK(ingot_node_get_all(a, out, 4)); /* waits for the download that still writes it */
	CHECK(out[0] == 7 && out[3] == 10);
	OK(ingot_host_writing_streams(a, streams, 4, &count));
	CHECK(count == 0);
}

static void e7(struct trial *t)
{
	struct ingot_stream other = other_stream(t), streams[4];
	struct ingot_context there;
	struct ingot_node a = node_f32(t, "a", 4), sink = node_f32(t, "sink", 4);
	float old[4] = { 1, 2, 3, 4 }, new[4] = { 5, 6, 7, 8 }, got[4], seen[4];
	struct gate gate = { 0 };
	uint32_t count = 9;
	OK(ingot_context_new(other, &there));
	OK(ingot_context_place(there, &a, 1));
	OK(ingot_context_place(there, &sink, 1));
	OK(ingot_context_place(t->context, &a, 1));
	write_f32(t->context, a, old, 4);
	OK(ingot_device_sync(t->device));
	gate_hold(t, &gate, other);
	OK(ingot_device_to_device(
	        a, there, INGOT_MERGE_NONE, t->context, NULL, NULL)); /* reads the source, on `other` */
	OK(ingot_reader_streams(t->context, a, streams, 4, &count));
	CHECK(count == (t->in_place ? 0 : 1) && (t->in_place || ingot_stream_equal(streams[0], other)));
	OK(ingot_write(t->context, a, new, 16, NULL)); /* must not overtake the reader */
	gate_open(&gate);
	read_f32(there, a, got, 4);
	CHECK(!memcmp(got, old, 16));
	read_f32(t->context, a, seen, 4);
	CHECK(!memcmp(seen, new, 16));
}

static void e8(struct trial *t)
{
	struct ingot_library library;
	struct ingot_node shared;
	struct ingot_context a, b;
	bool moved = true;
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	OK(ingot_library_node(library, "shared", &shared));
	link_at(t->context, library, "set", &a);
	link_at(context_on(other_stream(t)), library, "get", &b);
	float v[SMALL_COUNT] = { 4 };
	write_f32(a, shared, v, SMALL_COUNT);
	OK(ingot_device_to_device(shared, b, INGOT_MERGE_NONE, a, &moved, NULL));
	CHECK(!moved);
}

static void e9(struct trial *t)
{
	struct ingot_stream other = other_stream(t);
	struct ingot_context there;
	struct ingot_node a = node_f32(t, "a", 4);
	float v[4] = { 0 }, got[2][4]; /* of each stream its own */
	uint64_t entries;
	OK(ingot_context_place(t->context, &a, 1));
	OK(ingot_context_child(t->context, other, &there));
	write_f32(t->context, a, v, 4);
	for (int i = 0, many = times(3000, 30000); i < many; i++) {
		OK(ingot_read(i % 2 ? there : t->context, a, got[i % 2], 16, NULL));
		if (i % 100 == 99) {
			OK(ingot_stream_await(t->stream));
			OK(ingot_stream_await(other));
		}
		OK(ingot_hazard_entries(t->device, &entries));
		CHECK(entries <= 110); /* what is in flight, and never the whole past */
	}
	OK(ingot_device_sync(t->device)); /* writes `got` */
}

static void e10(struct trial *t)
{
	static float mine[4] = { 1, 2, 3, 4 };
	struct ingot_node a = node_f32(t, "a", 4);
	void *address;
	uint64_t before, after;
	float got[4];
	OK(ingot_device_used(t->device, &before));
	if (!t->host_memory) {
		FAILS(INGOT_UNSUPPORTED, ingot_context_adopt(t->context, a, mine, 16));
		return;
	}
	OK(ingot_context_adopt(t->context, a, mine, 16));
	OK(ingot_context_address(t->context, a, &address));
	CHECK(address == mine);
	mine[2] = 77; /* no upload */
	read_f32(t->context, a, got, 4);
	CHECK(got[2] == 77);
	OK(ingot_device_used(t->device, &after));
	CHECK(before == after);
	FAILS(INGOT_PRESENT, ingot_context_adopt(t->context, a, mine, 16));
	FAILS(INGOT_MISMATCH, ingot_context_adopt(t->context, node_f32(t, "b", 5), mine, 16));
	/* Constants of a module are read where they lie. */
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_context linked;
	struct ingot_node w;
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_link(t->context, library, "dense", &routine));
	OK(ingot_routine_context(routine, &linked));
	OK(ingot_library_node(library, "w", &w));
	OK(ingot_context_address(linked, w, &address));
	CHECK(address == small_weights);
}

const struct row rows_sharing[] = {
	{ "E1", "enum ingot_sharing", "shared_and_per_stream", e1, NULL, NULL },
	{ "E2", "ingot_link", "four_decisions", e2, NULL, NULL },
	{ "E3", "ingot_sharing_candidate", "candidates", e3, NULL, NULL },
	{ "E4", "ingot_owner_stream", "one_owner", e4, NULL, NULL },
	{ "E5", "ingot_writer_streams", "writers_of_shared", e5, NULL, NULL },
	{ "E5", "ingot_node_sharing_update", "several_writers_by_hand", e5_writers, NULL, NULL },
	{ "E6", "ingot_host_reading_streams", "host_hazards", e6, NULL, NULL },
	{ "E7", "ingot_reader_streams", "write_after_read", e7, NULL, NULL },
	{ "E8", "ingot_device_to_device", "shared_is_not_copied", e8, NULL, NULL },
	{ "E9", "ingot_hazard_entries", "lists_are_bounded", e9, NULL, NULL },
	{ "E10", "ingot_context_adopt", "host_memory", e10, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
