/* rows_events.c: rows C: events, order, failures. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fault.h"
#include "gpu.h"
#include "mock.h"
#include "rows.h"

static int add_one(void *argument)
{
	atomic_fetch_add((_Atomic int *)argument, 1);
	return 0;
}
static int fail_3(void *argument)
{
	(void)argument;
	return 3;
}

static void c1(struct trial *t)
{
	struct gate gate = { 0 };
	struct ingot_event event;
	bool done = true;
	gate_hold(t, &gate, t->stream);
	OK(ingot_event_record(t->stream, &event));
	OK(ingot_event_done(event, &done));
	CHECK(done == t->in_place); /* in place everything is done by then */
	gate_open(&gate);
	OK(ingot_event_sync(event));
	CHECK(gate.left == 1);
	OK(ingot_event_done(event, &done));
	CHECK(done);
}

static void c2(struct trial *t)
{
	struct gate gate = { 0 };
	struct ingot_event event;
	int changes = 0;
	bool done = false, before = false;
	gate_hold(t, &gate, t->stream);
	OK(ingot_event_record(t->stream, &event));
	for (int i = 0; i < 2000 || (t->threads && !done); i++) {
		if (i == 1000)
			gate_open(&gate);
		OK(ingot_event_done(event, &done));
		CHECK(!before || done);
		changes += done != before;
		before = done;
	}
	OK(ingot_event_sync(event));
	OK(ingot_event_done(event, &done));
	CHECK(done && changes <= 1);
	/* Later work of the stream does not take it back. */
	struct gate later = { 0 };
	gate_hold(t, &later, t->stream);
	OK(ingot_event_done(event, &done));
	CHECK(done);
	gate_open(&later);
	OK(ingot_stream_await(t->stream));
}

struct waiter {
	struct ingot_event event;
	enum ingot_status status;
};
static void *wait_for(void *argument)
{
	struct waiter *waiter = argument;
	waiter->status = ingot_event_sync(waiter->event);
	return NULL;
}

static void c3(struct trial *t)
{
	struct gate gate = { 0 };
	struct ingot_event good, bad;
	pthread_t threads[4];
	struct waiter waiters[4];
	gate_hold(t, &gate, t->stream);
	OK(ingot_event_record(t->stream, &good));
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ .name = "broken", .run = fail_3 }, &bad));
	for (int i = 0; i < 4; i++) {
		waiters[i].event = i % 2 ? bad : good;
		CHECK(!pthread_create(threads + i, NULL, wait_for, waiters + i));
	}
	gate_open(&gate);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++) /* a check that fails ends the runtime: nobody may be in it any more */
		CHECK(waiters[i].status == (i % 2 ? INGOT_FAILED : INGOT_OK));
	FAILS(INGOT_FAILED, ingot_event_sync(bad)); /* again, and named */
	SAYS("broken");
	OK(ingot_event_sync(good));
}

struct pair {
	int value, seen;
	_Atomic int turn;
};
static int produce(void *argument)
{
	((struct pair *)argument)->value++;
	return 0;
}
static int consume(void *argument)
{
	struct pair *pair = argument;
	pair->seen++;
	return pair->seen != pair->value;
}

static void c4(struct trial *t)
{
	struct pair pair = { 0 };
	struct ingot_stream other = other_stream(t);
	struct ingot_event made, used = { 0 };
	for (int i = 0; i < times(2000, 10000); i++) {
		if (i) {
			OK(ingot_stream_wait(t->stream, used));
			OK(ingot_event_close(used));
		}
		OK(ingot_task_submit(t->stream, &(struct ingot_task){ .run = produce, .argument = &pair }, &made));
		OK(ingot_stream_wait(other, made));
		OK(ingot_event_close(made));
		OK(ingot_task_submit(other, &(struct ingot_task){ .run = consume, .argument = &pair }, &used));
	}
	OK(ingot_stream_await(t->stream));
	OK(ingot_stream_await(other));
	CHECK(pair.seen == pair.value);
	/* Promised events: a circle is refused where it would close. */
	struct ingot_event a, b;
	OK(ingot_event_open(t->runtime, &a));
	OK(ingot_event_open(t->runtime, &b));
	if (t->in_place) {
		FAILS(INGOT_WOULD_BLOCK, ingot_stream_wait(t->stream, a));
		OK(ingot_event_signal(a));
		OK(ingot_stream_wait(t->stream, a));
		return;
	}
	OK(ingot_stream_wait(t->stream, a));
	FAILS(INGOT_CYCLE, ingot_stream_signal(t->stream, a));
	OK(ingot_stream_signal(t->stream, b));
	OK(ingot_stream_wait(other, b));
	FAILS(INGOT_CYCLE, ingot_stream_signal(other, a)); /* through the other stream and b */
	FAILS(INGOT_PRESENT, ingot_event_signal(b));
	OK(ingot_event_signal(a));
	OK(ingot_stream_await(other));
	OK(ingot_event_sync(b));
}

/* A stream signals behind all that it was given before, be it running or queued. */
static void c4_signals(struct trial *t)
{
	_Atomic int count = 0;
	struct gate gate = { 0 };
	struct ingot_event event;
	struct ingot_task one = { .run = add_one, .argument = &count };
	bool done = true;
	for (int before = 0; before < 4; before++) {
		gate = (struct gate){ 0 };
		OK(ingot_event_open(t->runtime, &event));
		gate_hold(t, &gate, t->stream);
		for (int i = 0; i < before; i++)
			OK(ingot_task_submit(t->stream, &one, NULL));
		OK(ingot_stream_signal(t->stream, event));
		if (t->threads) {
			OK(ingot_event_done(event, &done));
			CHECK(!done);
		}
		gate_open(&gate);
		OK(ingot_event_sync(event));
		CHECK(atomic_exchange(&count, 0) == before);
		OK(ingot_event_close(event));
	}
}

static void c5(struct trial *t)
{
	_Atomic int count = 0;
	bool idle = false;
	for (int i = 0; i < 300; i++)
		OK(ingot_task_submit(t->stream, &(struct ingot_task){ .run = add_one, .argument = &count }, NULL));
	OK(ingot_stream_await(t->stream));
	CHECK(count == 300);
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ .name = "breaks", .run = fail_3 }, NULL));
	while (!t->lazy && (OK(ingot_stream_idle(t->stream, &idle)), !idle))
		usleep(100);
	FAILS(INGOT_FAILED, ingot_stream_await(t->stream)); /* it stopped before anybody waited */
	SAYS("breaks");
	SAYS(t->device_name);
	FAILS(INGOT_STOPPED, ingot_stream_await(t->stream));
}

static void c6(struct trial *t)
{
	struct gate gate = { 0 };
	bool idle = false;
	OK(ingot_stream_idle(t->stream, &idle));
	CHECK(idle);
	gate_hold(t, &gate, t->stream);
	OK(ingot_stream_idle(t->stream, &idle));
	CHECK(idle == t->in_place);
	gate_open(&gate);
	OK(ingot_stream_await(t->stream));
	OK(ingot_stream_idle(t->stream, &idle));
	CHECK(idle);
}

struct order {
	int next;
	int wrong;
};
struct turn {
	struct order *order;
	int number;
};
static int in_turn(void *argument)
{
	struct turn *turn = argument;
	turn->order->wrong += turn->order->next++ != turn->number;
	return 0;
}
static int fill_own(void *argument)
{
	struct trial *t = argument;
	for (;;) {
		enum ingot_status status = ingot_task_submit(t->stream, &(struct ingot_task){ .name = "more" }, NULL);
		if (status)
			return status == INGOT_WOULD_BLOCK ? 0 : 1;
	}
}

static void c7(struct trial *t)
{
	int many = times(20000, t->host_memory ? 1000000 : 20000);
	struct turn *turns = malloc((size_t)(many + 4) * sizeof *turns);
	struct order order = { 0 };
	CHECK(turns);
	for (int capacity = 2; capacity <= 4096; capacity += 4094) {
		t->options.queue_capacity = (uint32_t)capacity;
		trial_reopen(t);
		order = (struct order){ 0 };
		for (int i = 0; i < many; i++) {
			turns[i] = (struct turn){ &order, i };
			OK(ingot_task_submit(
			        t->stream, &(struct ingot_task){ .run = in_turn, .argument = turns + i }, NULL));
			CHECK(ingot_stream_queued(t->stream) <= (uint32_t)capacity);
		}
		OK(ingot_stream_await(t->stream));
		CHECK(order.next == many && !order.wrong);
	}
	/* A worker that has gone to sleep is woken. */
	for (int i = 0; i < 4; i++) {
		usleep(2000);
		turns[many + i] = (struct turn){ &order, many + i };
		OK(ingot_task_submit(
		        t->stream, &(struct ingot_task){ .run = in_turn, .argument = turns + many + i }, NULL));
		OK(ingot_stream_await(t->stream));
	}
	CHECK(order.next == many + 4 && !order.wrong);
	free(turns);
	/* A task that fills its own queue would wait for itself. */
	OK(ingot_task_submit(
	        t->stream, &(struct ingot_task){ .name = "filler", .run = fill_own, .argument = t }, NULL));
	OK(ingot_stream_await(t->stream));
}

static void c8(struct trial *t)
{
	_Atomic int count = 0, destroyed = 0;
	struct gate gate = { 0 };
	char text[256];
	int reports = 0;
	gate_hold(t, &gate, t->stream);
	ingot_task_submit(t->stream, &(struct ingot_task){ .name = "breaks", .run = fail_3 }, NULL);
	for (int i = 0; i < 10; i++) {
		struct ingot_task task = { .run = add_one, .argument = &count, .destroy = NULL };
		enum ingot_status status = ingot_task_submit(t->stream, &task, NULL);
		reports += status == INGOT_FAILED;
		CHECK(!status || status == INGOT_FAILED || status == INGOT_STOPPED);
	}
	gate_open(&gate);
	for (int i = 0; i < 5; i++)
		reports += ingot_stream_await(t->stream) == INGOT_FAILED;
	CHECK(count == 0 && reports == 1);
	CHECK(ingot_stream_failure(t->stream, text, sizeof text) == INGOT_FAILED && strstr(text, "breaks"));
	OK(ingot_stream_restart(t->stream));
	OK(ingot_stream_failure(t->stream, text, sizeof text));
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ .run = add_one, .argument = &count }, NULL));
	OK(ingot_stream_await(t->stream));
	CHECK(count == 1); /* what was skipped stays skipped */
	/* A restart waits for what is queued behind the failure: none of it runs afterwards. */
	struct gate second = { 0 };
	pthread_t thread;
	gate_hold(t, &second, t->stream);
	enum ingot_status broke =
	        ingot_task_submit(t->stream, &(struct ingot_task){ .name = "breaks", .run = fail_3 }, NULL);
	for (int i = 0; i < 200 && !broke; i++)
		broke = ingot_task_submit(t->stream, &(struct ingot_task){ .run = add_one, .argument = &count }, NULL);
	CHECK(!broke || t->in_place);
	thread = gate_open_soon(&second);
	OK(ingot_stream_restart(t->stream));
	CHECK(ingot_stream_queued(t->stream) == 0 && count == 1);
	pthread_join(thread, NULL);
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ .run = add_one, .argument = &count }, NULL));
	OK(ingot_stream_await(t->stream));
	CHECK(count == 2);
	count = 1;
	/* Who waits for it on another stream fails too, and the origin is named. */
	struct ingot_stream other = other_stream(t);
	struct ingot_event broken;
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ .name = "origin", .run = fail_3 }, &broken));
	enum ingot_status status = ingot_task_submit(other,
	        &(struct ingot_task){
	                .name = "waiter", .run = add_one, .argument = &count, .waits = &broken, .wait_count = 1 },
	        NULL);
	CHECK(!status);
	FAILS(INGOT_DEPENDENCY, ingot_stream_await(other));
	SAYS("origin");
	SAYS("waiter");
	CHECK(count == 1);
	(void)destroyed;
}

static void c9(struct trial *t)
{
	uint64_t live = ingot_runtime_live(t->runtime);
	_Atomic int count = 0;
	int cycles = times(1000, 1000);
	for (int i = 0; i < cycles; i++) {
		struct ingot_stream stream = other_stream(t);
		OK(ingot_task_submit(stream, &(struct ingot_task){ .run = add_one, .argument = &count }, NULL));
		OK(ingot_stream_close(stream));
	}
	CHECK(count == cycles);
	CHECK(ingot_runtime_live(t->runtime) <= live + 4); /* the tables may have grown, once */
}

struct parts {
	char text[8];
	int used;
	_Atomic int destroyed;
};
static int part_a(void *argument)
{
	struct parts *p = argument;
	p->text[p->used++] = 'a';
	return 0;
}
static int part_b(void *argument)
{
	struct parts *p = argument;
	p->text[p->used++] = 'b';
	return p->destroyed;
}
static int part_c(void *argument)
{
	struct parts *p = argument;
	p->text[p->used++] = 'c';
	return 0;
}
static void part_end(void *argument) { atomic_fetch_add(&((struct parts *)argument)->destroyed, 1); }

static void c10(struct trial *t)
{
	struct parts parts = { 0 }, second = { 0 };
	struct ingot_event event;
	struct ingot_task task = { .name = "described",
		.before = part_a,
		.run = part_b,
		.after = part_c,
		.argument = &parts,
		.destroy = part_end };
	OK(ingot_task_submit(t->stream, &task, &event));
	OK(ingot_event_sync(event));
	CHECK(!strcmp(parts.text, "abc") && parts.destroyed == 1);
	task.argument = &second;
	task.before = fail_3;
	OK(ingot_task_submit(t->stream, &task, NULL));
	FAILS(INGOT_FAILED, ingot_stream_await(t->stream));
	SAYS("described");
	CHECK(second.used == 0 && second.destroyed == 1); /* also when it was not run */
	FAILS(INGOT_STOPPED, ingot_task_submit(t->stream, &task, NULL));
	CHECK(second.destroyed == 2); /* and when it was not accepted */
}

static void c11(struct trial *t)
{
	struct ingot_device twin;
	struct ingot_stream stream;
	struct ingot_context there;
	struct ingot_node a = node_f32(t, "a", 4);
	float in[4] = { 1, 2, 3, 4 }, out[4] = { 0 };
	struct gate gate = { 0 };
	uint64_t entries;
	bool updating = true;
	OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
	OK(ingot_stream_default(twin, &stream));
	OK(ingot_context_new(stream, &there));
	OK(ingot_context_place(t->context, &a, 1));
	OK(ingot_context_place(there, &a, 1));
	OK(ingot_device_sync(t->device));
	gate_hold(t, &gate, t->stream);
	OK(ingot_write(t->context, a, in, 16, NULL));
	OK(ingot_updating(t->context, a, &updating));
	CHECK(updating == !t->in_place);
	OK(ingot_device_to_device(a, there, INGOT_MERGE_NONE, t->context, NULL, NULL));
	OK(ingot_read(there, a, out, 16, NULL));
	gate_open(&gate);
	OK(ingot_stream_await(stream));
	CHECK(out[3] == 4);
	OK(ingot_updating(t->context, a, &updating));
	CHECK(!updating);
	OK(ingot_device_sync(t->device));
	OK(ingot_device_sync(twin));
	OK(ingot_hazard_entries(t->device, &entries));
	CHECK(entries == 0);
	OK(ingot_updating(t->context, a, &updating));
	CHECK(!updating);
}

static void c12(struct trial *t)
{
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_context linked;
	struct ingot_node table_out;
	struct ingot_event event;
	struct gate gate = { 0 };
	bool updating = false, done = false;
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	OK(ingot_link(t->context, library, "look", &routine));
	FAILS(INGOT_MISSING, ingot_routine_event(routine, &event));
	OK(ingot_routine_context(routine, &linked));
	OK(ingot_library_node(library, "y", &table_out));
	OK(ingot_stream_await(t->stream));
	gate_hold(t, &gate, t->stream);
	OK(ingot_routine_run(routine, NULL));
	OK(ingot_routine_event(routine, &event));
	OK(ingot_updating(linked, table_out, &updating));
	CHECK(updating == !t->in_place);
	gate_open(&gate);
	OK(ingot_stream_await(t->stream));
	OK(ingot_event_done(event, &done));
	CHECK(done);
	OK(ingot_updating(linked, table_out, &updating));
	CHECK(!updating);
}

static void c13(struct trial *t)
{
	/* Read after write, write after read, write after write, between two streams, with no wait by hand. */
	struct ingot_stream other = other_stream(t);
	struct ingot_context there;
	struct ingot_node a = node_f32(t, "a", 64);
	float values[64], got[64];
	OK(ingot_context_place(t->context, &a, 1));
	OK(ingot_context_child(t->context, other, &there));
	for (int i = 0; i < 400; i++) {
		struct ingot_event done;
		static float rows[400][64];
		for (int k = 0; k < 64; k++)
			rows[i][k] = values[k] = (float)(i * 64 + k);
		OK(ingot_write(i % 2 ? there : t->context, a, rows[i], sizeof values, NULL));
		OK(ingot_read(i % 2 ? t->context : there, a, got, sizeof got, &done));
		if (i % 3 == 0) {
			OK(ingot_event_sync(done));
			CHECK(!memcmp(got, values, sizeof got));
		}
		OK(ingot_event_close(done));
	}
	OK(ingot_stream_await(t->stream));
	OK(ingot_stream_await(other));
	CHECK(got[63] == 399 * 64 + 63);
	/* Two writers and nobody who reads between them: the later one is the last. */
	for (int i = 0; i < 20; i++) {
		struct gate gate = { 0 };
		float first[64] = { 1 }, second[64] = { 2 };
		gate_hold(t, &gate, t->stream);
		OK(ingot_write(t->context, a, first, sizeof first, NULL));
		OK(ingot_write(there, a, second, sizeof second, NULL));
		usleep(t->threads ? 500 : 0); /* time for a write that does not wait, if there is one */
		gate_open(&gate);
		read_f32(t->context, a, got, 64);
		CHECK(got[0] == 2);
		OK(ingot_stream_await(other));
	}
	/* With automatic transfers a run uploads what the host has newer. */
	t->options.automatic_transfers = true;
	trial_reopen(t);
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_node x, y;
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	OK(ingot_link(t->context, library, "copy", &routine));
	OK(ingot_library_node(library, "x", &x));
	OK(ingot_library_node(library, "y", &y));
	double in[SMALL_COUNT], out[SMALL_COUNT];
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < SMALL_COUNT; i++)
			in[i] = turn * 100 + i;
		OK(ingot_node_set_all(x, in, SMALL_COUNT));
		OK(ingot_routine_run(routine, NULL));
		OK(ingot_node_host_create(y));
		OK(ingot_node_get_all(y, out, SMALL_COUNT));
		CHECK(!memcmp(in, out, sizeof in));
	}
}

static void c14(struct trial *t)
{
	struct ingot_stream other = other_stream(t);
	struct ingot_context there;
	struct ingot_node a = node_f32(t, "a", 4);
	float v[4] = { 0 };
	struct gate one = { 0 }, two = { 0 };
	uint64_t entries;
	bool idle;
	OK(ingot_context_place(t->context, &a, 1));
	OK(ingot_context_child(t->context, other, &there));
	OK(ingot_device_sync(t->device));
	/* The tables of nodes, of pools and of merge buffers, each alone. */
	struct ingot_context beside;
	struct ingot_node b = node_f32(t, "b", 4);
	uint32_t pool;
	static float w[4];
	OK(ingot_context_new(other, &beside));
	OK(ingot_context_place(beside, &b, 1));
	write_f32(beside, b, v, 4);
	OK(ingot_pool_open(t->device, 16, 0, INGOT_SLAB_PRIVATE, &pool));
	for (int kind = 0; kind < 3; kind++) {
		uint64_t before;
		OK(ingot_device_sync(t->device));
		OK(ingot_hazard_entries(t->device, &before));
		CHECK(before == 0);
		one = two = (struct gate){ 0 };
		gate_hold(t, &one, t->stream);
		gate_hold(t, &two, other);
		if (kind == 0) {
			OK(ingot_write(t->context, a, v, 16, NULL));
			OK(ingot_read(there, a, w, 16, NULL));
		} else if (kind == 1) {
			OK(ingot_pool_write(t->stream, pool, 0, v, 16, NULL));
			OK(ingot_pool_read(other, pool, 0, w, 16, NULL));
		} else
			OK(ingot_device_to_device(b, t->context, INGOT_MERGE_COPY, beside, NULL, NULL));
		OK(ingot_hazard_entries(t->device, &entries));
		CHECK(t->in_place || entries == 2); /* a writer and a reader */
		gate_open(&one);
		gate_open(&two);
		OK(ingot_stream_await(t->stream));
		OK(ingot_stream_await(other));
		OK(ingot_hazard_entries(t->device, &entries));
		CHECK(entries > 0 || t->in_place); /* done, and still in the tables */
		OK(ingot_device_sync(t->device));
		OK(ingot_hazard_entries(t->device, &entries));
		CHECK(entries == 0);
	}
	/* It waits for all of them. */
	pthread_t threads[2];
	one = two = (struct gate){ 0 };
	gate_hold(t, &one, t->stream);
	gate_hold(t, &two, other);
	threads[0] = gate_open_soon(&one);
	threads[1] = gate_open_soon(&two);
	OK(ingot_device_sync(t->device));
	OK(ingot_stream_idle(other, &idle));
	CHECK(idle && one.left && two.left);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	/* And tells of a failure once. */
	OK(ingot_task_submit(other, &(struct ingot_task){ .name = "breaks", .run = fail_3 }, NULL));
	FAILS(INGOT_FAILED, ingot_device_sync(t->device));
	FAILS(INGOT_STOPPED, ingot_device_sync(t->device));
}

struct submitter {
	struct trial *t;
	_Atomic int *count;
};
static int tasks_each(const struct trial *t) { return t->host_memory ? times(3000, 100000) : times(500, 3000); }

static void *submit_many(void *argument)
{
	struct submitter *s = argument;
	for (int i = 0, many = tasks_each(s->t); i < many; i++)
		OK(ingot_task_submit(s->t->stream, &(struct ingot_task){ .run = add_one, .argument = s->count }, NULL));
	return NULL;
}
struct nested {
	struct trial *t;
	struct ingot_stream other;
	_Atomic int *count;
};
static int submit_inside(void *argument)
{
	struct nested *n = argument;
	enum ingot_status a =
	        ingot_task_submit(n->other, &(struct ingot_task){ .run = add_one, .argument = n->count }, NULL);
	enum ingot_status b =
	        ingot_task_submit(n->t->stream, &(struct ingot_task){ .run = add_one, .argument = n->count }, NULL);
	return a || b;
}

static void c15(struct trial *t)
{
	_Atomic int count = 0;
	struct submitter s = { t, &count };
	pthread_t threads[8];
	for (int i = 0; i < 8; i++)
		CHECK(!pthread_create(threads + i, NULL, submit_many, &s));
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	OK(ingot_stream_await(t->stream));
	CHECK(count == 8 * tasks_each(t));
	struct nested n = { t, other_stream(t), &count }; /* tasks may submit too */
	OK(ingot_task_submit(t->stream, &(struct ingot_task){ .run = submit_inside, .argument = &n }, NULL));
	OK(ingot_stream_await(t->stream)); /* the task, and what it submitted before it ended is queued */
	OK(ingot_stream_await(t->stream));
	OK(ingot_stream_await(n.other));
	CHECK(count == 8 * tasks_each(t) + 2);
}

/* CUDA: what a queue issues is finished later, by the device; await is its synchronise, idle its query, and the events
 * of the driver go when they are reached. */
static void c16(struct trial *t)
{
	enum { MANY = 50, BYTES = 4096 };
	static char bytes[MANY][BYTES], got[BYTES];
	struct ingot_stream other = other_stream(t);
	struct ingot_event recorded;
	uint32_t pool;
	bool done = false, idle = false;
	OK(ingot_pool_open(t->device, BYTES, 0, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_device_sync(t->device));
	struct mock_counts before = { 0 }, after = { 0 };
	bool counted = device_counts(t, &before);
	CHECK(before.events_live == 0 && before.issued == before.completed);
	OK(ingot_host_pin(t->device, got, BYTES)); /* else the driver has the host wait for the copy */
	for (int i = 0; i < MANY; i++) {
		memset(bytes[i], i, BYTES);
		OK(ingot_pool_write(t->stream, pool, 0, bytes[i], BYTES, NULL));
	}
	OK(ingot_event_record(t->stream, &recorded));
	OK(ingot_stream_wait(other, recorded));
	OK(ingot_pool_read(other, pool, 0, got, BYTES, NULL));
	OK(ingot_stream_await(other));
	CHECK(got[0] == MANY - 1 && got[BYTES - 1] == MANY - 1);
	OK(ingot_event_done(recorded, &done));
	OK(ingot_event_sync(recorded));
	OK(ingot_stream_await(t->stream));
	OK(ingot_stream_idle(t->stream, &idle));
	device_counts(t, &after);
	/* An operation for each write and the read, and a driver event for each command: record and wait are two
	 * more. */
	CHECK(done && idle && after.issued == after.completed && after.events_live == 0);
	CHECK(!counted
	        || (after.events_made - before.events_made == MANY + 3
	                && after.issued - before.issued == 2 * MANY + 4 + (after.waits - before.waits)));

	/* Issued is not done: with the device standing, 400 commands of a stream and those of another one that wait for
	 * them are all in flight, and no host thread waits for any of them. */
	enum { DEEP = 400 };
	before = after;
	device_hold(true);
	for (int i = 0; i < DEEP; i++)
		OK(ingot_pool_fill(t->stream, pool, 0, BYTES, i, NULL));
	OK(ingot_pool_read(other, pool, 0, got, BYTES, &recorded));
	OK(ingot_pool_fill(t->stream, pool, 0, BYTES, 9, NULL)); /* behind the read, on the first stream again */
	for (int i = 0; i < 20000 && !fault_happened() && device_counts(t, &after) && after.in_flight < DEEP + 2; i++)
		usleep(500);
	CHECK(!counted || (after.in_flight == DEEP + 2 && ingot_stream_queued(t->stream) == DEEP + 1));
	OK(ingot_event_done(recorded, &done));
	CHECK(!done || !counted);
	device_hold(false);
	OK(ingot_event_sync(recorded));
	CHECK(got[0] == (char)(DEEP - 1) && got[BYTES - 1] == (char)(DEEP - 1));
	OK(ingot_device_sync(t->device));
	OK(ingot_host_unpin(t->device, got));
	CHECK(!device_counts(t, &after) || (after.waits - before.waits >= 2 && after.in_flight == 0));
}

static bool all_of(const unsigned char *at, size_t bytes, int byte)
{
	size_t i = 0;
	while (i < bytes && at[i] == (unsigned char)byte)
		i++;
	return i == bytes;
}

/* Copies of memory that nobody pinned are in flight as others are; what comes down is there for those that read it
 * next. */
/* A question that the driver fails says nothing of the command: those before it are told of first, and it has ended
 * well. */
static void c16_unanswered(struct trial *t)
{
	enum { BYTES = 64, MANY = 3 };
	struct mock_counts before = { 0 }, now = { 0 };
	unsigned char got[BYTES];
	uint32_t pool;
	OK(ingot_pool_open(t->device, BYTES, 0, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_device_sync(t->device));
	bool counted = device_counts(t, &before);
	device_hold(true);
	for (int i = 0; i < MANY; i++)
		OK(ingot_pool_fill(t->stream, pool, 0, BYTES, i + 1, NULL));
	for (int i = 0; i < 20000 && counted && device_counts(t, &now) && now.in_flight - before.in_flight < MANY; i++)
		usleep(500);
	fault_driver("cuEventQuery", 1);
	for (int i = 0; i < 20; i++)
		usleep(500);
	CHECK(!counted || ingot_stream_queued(t->stream) == MANY);
	device_hold(false);
	fault_driver("cuEventQuery", 2 * MANY);
	OK(ingot_stream_await(t->stream));
	fault_driver(NULL, 0);
	OK(ingot_pool_read(t->stream, pool, 0, got, BYTES, NULL));
	OK(ingot_stream_await(t->stream));
	CHECK(all_of(got, BYTES, MANY));
}

/* What the driver fails is said in its words, by the name of its call; and nothing is left with it, which it says
 * itself at the end. */
static void c16_words(struct trial *t)
{
	enum { BYTES = 64, LARGE = 4 << 20 };
	uint32_t pool, large;
	OK(ingot_pool_open(t->device, BYTES, 0, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_pool_fill(t->stream, pool, 0, BYTES, 1, NULL));
	OK(ingot_stream_await(t->stream));
	if (!fault_driver(NULL, 0))
		return; /* a real one fails nothing on purpose */
	static const struct {
		const char *fails[2], *says;
	} cases[] = {
		{ { "cuMemsetD8Async", NULL }, "cuMemsetD8Async: unknown error (999)" },
		{ { "cuEventRecord", NULL }, "no event of the driver" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		fault_driver(cases[i].fails[0], 1);
		OK(ingot_pool_fill(t->stream, pool, 0, BYTES, 2, NULL));
		CHECK(ingot_stream_await(t->stream));
		SAYS(cases[i].says);
		fault_driver(NULL, 0);
		OK(ingot_stream_restart(t->stream));
	}
	/* A slab that no memory can be put behind is a block of the driver's; memory that is not taken back at once is
	 * given once more. */
	static const char *const calls[] = { "cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemSetAccess",
		"cuMemUnmap" };
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		fault_driver(calls[i], 1);
		OK(ingot_pool_open(t->device, LARGE, 0, INGOT_SLAB_PRIVATE, &large));
		OK(ingot_pool_fill(t->stream, large, 0, LARGE, 3, NULL));
		OK(ingot_stream_await(t->stream));
		OK(ingot_pool_close(t->device, large));
		fault_driver(NULL, 0);
	}
}

/* While somebody captures in the mode that forbids it to all threads, this backend's ask for ends, memory, streams and
 * modules all the same: the commands end well, and so does the capture. */
static void c16_captured(struct trial *t)
{
	enum { BYTES = 4096, LARGE = 4 << 20 };
	static unsigned char from[BYTES], got[BYTES], pinned[BYTES];
	struct gpu_capture capture;
	uint32_t pool, large;
	memset(from, 7, BYTES);
	CHECK(!gpu_capture_begin(&capture));
	struct ingot_stream other = other_stream(t); /* whose ring is wanted from now on */
	OK(ingot_pool_open(t->device, BYTES, 0, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_pool_open(t->device, LARGE, 0, INGOT_SLAB_PRIVATE, &large));
	OK(ingot_host_pin(t->device, pinned, BYTES));
	OK(ingot_pool_write(other, pool, 0, from, BYTES, NULL));
	OK(ingot_pool_read(other, pool, 0, got, BYTES, NULL));
	OK(ingot_pool_read(other, pool, 0, pinned, BYTES, NULL));
	OK(ingot_stream_await(other));
	CHECK(all_of(got, BYTES, 7) && all_of(pinned, BYTES, 7));
	OK(ingot_host_unpin(t->device, pinned));
	OK(ingot_pool_close(t->device, large));
	CHECK(!gpu_capture_end(&capture));
}

/* A child has no driver: its parent's handles are stale, one of its own is refused, and the parent's work goes on. */
static void c16_child(struct trial *t)
{
	enum { BYTES = 64 };
	unsigned char got[BYTES];
	uint32_t pool, more;
	int ended = 0;
	OK(ingot_pool_open(t->device, BYTES, 0, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_pool_fill(t->stream, pool, 0, BYTES, 1, NULL));
	OK(ingot_stream_await(t->stream));
	usleep(20000); /* the threads of the stream rest, and hold no lock */
	pid_t child = fork();
	if (!child) {
		struct ingot_device device;
		struct ingot_stream stream;
		fault_forget();
		alarm(60); /* only ends what hangs */
		struct ingot_runtime *own;
		bool refused = ingot_device_another(t->runtime, t->device_name, 0, &device) == INGOT_STALE
		        && ingot_stream_open(t->device, &stream) == INGOT_STALE
		        && ingot_pool_open(t->device, BYTES, 0, INGOT_SLAB_PRIVATE, &more) == INGOT_STALE
		        && ingot_runtime_open(&own, &t->options) == INGOT_OK
		        && (ingot_backend_init(own, t->device_name, NULL) == INGOT_UNSUPPORTED
		                || ingot_device_get(own, t->device_name, 0, &device) == INGOT_UNSUPPORTED)
		        && strstr(ingot_message(), "its child has none");
		_exit(!refused);
	}
	CHECK(child > 0 && waitpid(child, &ended, 0) == child && WIFEXITED(ended) && !WEXITSTATUS(ended));
	OK(ingot_pool_fill(t->stream, pool, 0, BYTES, 2, NULL));
	OK(ingot_pool_read(t->stream, pool, 0, got, BYTES, NULL));
	OK(ingot_stream_await(t->stream));
	CHECK(all_of(got, BYTES, 2));
}

/* Memory of which a part is pinned, either end of it, or all by two calls: no copy that the driver would be asked for. */
static void c16_pinned_in_part(struct trial *t)
{
	enum { BYTES = 8192 };
	static unsigned char from[BYTES], got[BYTES];
	uint32_t pool;
	OK(ingot_pool_open(t->device, BYTES, 0, INGOT_SLAB_PRIVATE, &pool));
	for (int turn = 0; turn < 3; turn++) { /* the first half, the second, both */
		for (int end = 0; end < 2; end++)
			if (turn == end || turn == 2) {
				OK(ingot_host_pin(t->device, from + end * BYTES / 2, BYTES / 2));
				OK(ingot_host_pin(t->device, got + end * BYTES / 2, BYTES / 2));
			}
		memset(from, 5 + turn, BYTES);
		OK(ingot_pool_write(t->stream, pool, 0, from, BYTES, NULL));
		OK(ingot_pool_read(t->stream, pool, 0, got, BYTES, NULL));
		OK(ingot_stream_await(t->stream));
		CHECK(all_of(got, BYTES, 5 + turn));
		for (int end = 0; end < 2; end++)
			if (turn == end || turn == 2) {
				OK(ingot_host_unpin(t->device, from + end * BYTES / 2));
				OK(ingot_host_unpin(t->device, got + end * BYTES / 2));
			}
	}
	/* More than the ring takes at once: the driver would not copy it either; nor where two calls pinned all of it. */
	static unsigned char large[1 << 20];
	OK(ingot_pool_open(t->device, sizeof large, 0, INGOT_SLAB_PRIVATE, &pool));
	for (int halves = 1; halves <= 2; halves++) {
		for (int i = 0; i < halves; i++)
			OK(ingot_host_pin(t->device, large + i * sizeof large / 2, sizeof large / 2));
		OK(ingot_pool_write(t->stream, pool, 0, large, sizeof large, NULL));
		FAILS(INGOT_MEMORY, ingot_stream_await(t->stream));
		SAYS("is pinned");
		OK(ingot_stream_restart(t->stream));
		/* A driver that cannot say whether it is pinned is asked for no copy. */
		if (fault_driver("cuPointerGetAttribute", 1)) {
			OK(ingot_pool_write(t->stream, pool, 0, large, sizeof large, NULL));
			CHECK(ingot_stream_await(t->stream));
			SAYS("cuPointerGetAttribute");
			OK(ingot_stream_restart(t->stream));
		}
		fault_driver(NULL, 0);
		for (int i = 0; i < halves; i++)
			OK(ingot_host_unpin(t->device, large + i * sizeof large / 2));
	}
}

static void c16_pageable(struct trial *t)
{
	enum { BYTES = 4096, LARGE = 300000, MIDDLE = 200000, TIMES = 8, ROUNDS = 30 };
	static unsigned char got[TIMES][BYTES], from[TIMES][BYTES], chain[LARGE], last[BYTES], many[ROUNDS][MIDDLE];
	struct ingot_stream other = other_stream(t);
	struct ingot_event event;
	struct mock_counts before = { 0 }, now = { 0 };
	uint32_t pool, second, large;
	OK(ingot_pool_open(t->device, BYTES, 0, INGOT_SLAB_PRIVATE, &pool));
	OK(ingot_pool_open(t->device, BYTES, 0, INGOT_SLAB_PRIVATE, &second));
	OK(ingot_pool_open(t->device, LARGE, 0, INGOT_SLAB_PRIVATE, &large));
	OK(ingot_device_sync(t->device));
	bool counted = device_counts(t, &before);
	device_hold(true);
	for (int i = 0; i < TIMES; i++) {
		memset(from[i], i + 1, BYTES);
		OK(ingot_pool_write(t->stream, pool, 0, from[i], BYTES, NULL));
		OK(ingot_pool_read(t->stream, pool, 0, got[i], BYTES, NULL));
	}
	for (int i = 0; i < 20000 && !fault_happened() && device_counts(t, &now)
	        && now.in_flight - before.in_flight < 2 * TIMES;
	        i++)
		usleep(500);
	CHECK(!counted || now.in_flight - before.in_flight == 2 * TIMES);
	device_hold(false);
	OK(ingot_stream_await(t->stream));
	for (int i = 0; i < TIMES; i++)
		CHECK(all_of(got[i], BYTES, i + 1));
	for (int round = 0; round < ROUNDS; round++) {
		struct ingot_stream stream = round % 2 ? other : t->stream;
		OK(ingot_pool_fill(t->stream, pool, 0, BYTES, round, NULL));
		OK(ingot_pool_read(t->stream, pool, 0, chain, BYTES, NULL));
		if (round % 2) {
			OK(ingot_event_record(t->stream, &event));
			OK(ingot_stream_wait(other, event));
			OK(ingot_event_close(event));
		}
		OK(ingot_pool_write(stream, second, 0, chain, BYTES, NULL)); /* goes up again at once */
		OK(ingot_pool_read(stream, second, 0, last, BYTES, NULL));
		OK(ingot_stream_await(stream));
		CHECK(all_of(last, BYTES, round));
		/* A part of an array, then all of it, which takes another way. */
		OK(ingot_pool_fill(t->stream, large, 0, LARGE, round + 100, NULL));
		OK(ingot_pool_read(t->stream, pool, 0, chain, BYTES, NULL));
		OK(ingot_pool_read(t->stream, large, 0, chain, LARGE, NULL));
		OK(ingot_stream_await(t->stream));
		CHECK(all_of(chain, LARGE, round + 100));
	}
	/* More than there is room for at once. */
	for (int round = 0; round < ROUNDS; round++) {
		OK(ingot_pool_fill(t->stream, large, 0, LARGE, round, NULL));
		OK(ingot_pool_read(t->stream, large, 0, many[round], MIDDLE, NULL));
	}
	OK(ingot_stream_await(t->stream));
	for (int round = 0; round < ROUNDS; round++)
		CHECK(all_of(many[round], MIDDLE, round));
}

static void c17(struct trial *t)
{
	struct ingot_device device;
	struct ingot_stream stream;
	struct ingot_event event;
	_Atomic int count = 0;
	bool done, idle;
	OK(ingot_backend_init(t->runtime, "sync", NULL));
	OK(ingot_device_get(t->runtime, "sync", 0, &device));
	OK(ingot_stream_default(device, &stream));
	for (int i = 1; i < 100; i++) {
		OK(ingot_task_submit(stream, &(struct ingot_task){ .run = add_one, .argument = &count }, &event));
		OK(ingot_event_done(event, &done));
		OK(ingot_stream_idle(stream, &idle));
		CHECK(count == i && done && idle);
		OK(ingot_event_close(event));
	}
	OK(ingot_stream_await(stream));
}

/* Cancelling: not run, no failure of the stream, and those that wait for it are cancelled too. */
static void c8_cancel(struct trial *t)
{
	_Atomic int count = 0;
	struct gate gate = { 0 };
	struct ingot_stream other = other_stream(t);
	struct ingot_event first, second, promise;
	if (t->in_place) { /* nothing can be queued here, but a promise can be broken */
		OK(ingot_event_open(t->runtime, &promise));
		OK(ingot_event_cancel(promise));
		FAILS(INGOT_CANCELLED, ingot_event_sync(promise));
		return;
	}
	gate_hold(t, &gate, t->stream);
	OK(ingot_task_submit(
	        t->stream, &(struct ingot_task){ .name = "first", .run = add_one, .argument = &count }, &first));
	OK(ingot_task_submit(other,
	        &(struct ingot_task){
	                .name = "second", .run = add_one, .argument = &count, .waits = &first, .wait_count = 1 },
	        &second));
	OK(ingot_event_cancel(first));
	gate_open(&gate);
	FAILS(INGOT_CANCELLED, ingot_event_sync(second));
	SAYS("first");
	OK(ingot_stream_await(t->stream));
	OK(ingot_stream_await(other));
	CHECK(count == 0);
	OK(ingot_task_submit(other, &(struct ingot_task){ .run = add_one, .argument = &count }, NULL));
	OK(ingot_stream_await(other));
	CHECK(count == 1);
	OK(ingot_event_open(t->runtime, &promise));
	OK(ingot_task_submit(other,
	        &(struct ingot_task){ .run = add_one, .argument = &count, .waits = &promise, .wait_count = 1 },
	        &second));
	OK(ingot_event_close(promise)); /* nobody can keep it any more */
	FAILS(INGOT_CANCELLED, ingot_event_sync(second));
	CHECK(count == 1);
}

const struct row rows_events[] = {
	{ "C1", "ingot_event_record", "all_work", c1, NULL, NULL },
	{ "C2", "ingot_event_done", "done_once", c2, NULL, NULL },
	{ "C3", "ingot_event_sync", "sync_from_many_threads", c3, NULL, NULL },
	{ "C4", "ingot_stream_wait", "producer_and_consumer", c4, NULL, NULL },
	{ "C4", "ingot_stream_signal", "signals_in_order", c4_signals, NULL, NULL },
	{ "C5", "ingot_stream_await", "await", c5, NULL, NULL },
	{ "C6", "ingot_stream_idle", "idle", c6, NULL, NULL },
	{ "C7", "ingot_task_submit", "order_and_room", c7, NULL, NULL },
	{ "C8", "ingot_stream_failure", "one_error_once", c8, NULL, NULL },
	{ "C8", "ingot_event_cancel", "cancelling", c8_cancel, NULL, NULL },
	{ "C9", "ingot_stream_close", "open_and_close_1000", c9, NULL, NULL },
	{ "C10", "struct ingot_task", "parts_of_a_task", c10, NULL, NULL },
	{ "C11", "ingot_updating", "cross_device_read", c11, NULL, NULL },
	{ "C12", "ingot_routine_event", "event_of_a_routine", c12, NULL, NULL },
	{ "C13", "ingot_routine_run", "implied_waits", c13, NULL, NULL },
	{ "C14", "ingot_device_sync", "sync_device", c14, NULL, NULL },
	{ "C15", "ingot_task_submit", "any_thread_submits", c15, NULL, NULL },
	{ "C16", "ingot_command_finish", "cuda_events", c16, NULL, "mock cuda" },
	{ "C16", "ingot_pool_read", "pageable_in_flight", c16_pageable, NULL, "mock cuda" },
	{ "C16", "ingot_stream_await", "unanswered_questions", c16_unanswered, NULL, "cuda" },
	{ "C16", "ingot_host_pin", "pinned_in_part", c16_pinned_in_part, NULL, "cuda" },
	{ "C16", "ingot_stream_await", "captures_of_others", c16_captured, NULL, "cuda" },
	{ "C16", "ingot_message", "words_of_the_driver", c16_words, NULL, "cuda" },
	{ "C16", "INGOT_UNSUPPORTED", "child_of_a_fork", c16_child, NULL, "cuda" },
	{ "C17", "ingot_backend_sync", "no_scheduler", c17, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
