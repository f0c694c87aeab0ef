/* rows_outcomes.c: every entry that queues work, refused at each check, skipped, cancelled, failed: nothing else
 * changed. */
#include "fault.h"
#include "mock.h"
#include "rows.h"

enum { BYTES = SMALL_COUNT * sizeof(float), TEXT = 4096 };

/* What there is: a text of each. */
enum subject { REST, X, Y, SHARED, TABLE, MERGE, HOST, PRODUCT, POOL, SUBJECTS };
static const char *const subjects[SUBJECTS] = { "the rest", "x", "y", "shared", "table", "the merge buffer",
	"the host array", "the kernel's result", "the pool" };
struct texts {
	char of[SUBJECTS][TEXT];
};

struct scene {
	struct trial *t;
	struct ingot_library small, pair;
	struct ingot_node x, y, row, shared, table;
	struct ingot_context here, sets, looks,
	        there; /* of dense, set and look on the trial's stream; dense's on another */
	struct ingot_routine dense, set, look, unseen;
	uint32_t pool;
	const struct ingot_module_kernel *kernel;
	struct ingot_buffer arguments[3]; /* of the kernel */
	struct gate gate;
	float values[SMALL_COUNT], read[SMALL_COUNT];
	bool fails; /* the tasks of its entries do */
	unsigned
	        lost; /* subjects that the outcome may change, and does where that is what fails: whose value is gone */
};

/* ---- the entries; wrong: with something that a check refuses ---- */

static enum ingot_status write_node(struct scene *s, bool wrong)
{
	return ingot_write(s->here, s->x, s->values, wrong ? BYTES - 4 : BYTES, NULL);
}
static enum ingot_status write_part(struct scene *s, bool wrong)
{
	return ingot_write(s->here, s->row, s->values, wrong ? 20 : 16, NULL);
}
static enum ingot_status write_shared(struct scene *s, bool wrong)
{
	return ingot_write(s->sets, s->shared, s->values, wrong ? 0 : BYTES, NULL);
}
static enum ingot_status write_table(struct scene *s, bool wrong)
{
	return ingot_write(s->looks, s->table, s->values, wrong ? 0 : BYTES, NULL);
}
static enum ingot_status read_node(struct scene *s, bool wrong)
{
	return ingot_read(s->here, s->y, s->read, wrong ? 0 : BYTES, NULL);
}
static enum ingot_status run(struct scene *s, bool wrong)
{
	return ingot_routine_run(wrong ? s->unseen : s->dense, NULL);
}
static enum ingot_status run_look(struct scene *s, bool wrong)
{
	return ingot_routine_run(wrong ? s->set : s->look, NULL);
}
static enum ingot_status move(struct scene *s, enum ingot_merge merge, bool wrong)
{
	struct ingot_context none = { 0 };
	bool moved = true;
	enum ingot_status status = ingot_device_to_device(s->x, s->here, merge, wrong ? none : s->there, &moved, NULL);
	CHECK(status || moved);
	return status;
}
static enum ingot_status move_value(struct scene *s, bool wrong) { return move(s, INGOT_MERGE_NONE, wrong); }
static enum ingot_status move_copy(struct scene *s, bool wrong) { return move(s, INGOT_MERGE_COPY, wrong); }
static enum ingot_status move_streaming(struct scene *s, bool wrong) { return move(s, INGOT_MERGE_STREAMING, wrong); }

static int nothing(void *argument)
{
	(void)argument;
	return 0;
}
static int one(void *argument)
{
	(void)argument;
	return 1;
}
static enum ingot_status task(struct scene *s, struct ingot_use first, struct ingot_use second)
{
	struct ingot_use uses[2] = { first, second };
	return ingot_task_submit(s->t->stream,
	        &(struct ingot_task){ .run = s->fails ? one : nothing, .uses = uses, .use_count = 2 }, NULL);
}
static enum ingot_status task_write(struct scene *s, bool wrong)
{
	return task(s, (struct ingot_use){ .context = s->here, .node = s->x, .write = true },
	        (struct ingot_use){ .context = s->here, .node = wrong ? s->table : s->y, .write = true });
}
static enum ingot_status task_part(struct scene *s, bool wrong)
{
	return task(s, (struct ingot_use){ .context = s->here, .node = s->row, .write = true },
	        (struct ingot_use){ .context = s->here, .node = wrong ? s->table : s->x });
}
static enum ingot_status task_shared(struct scene *s, bool wrong)
{
	return task(s, (struct ingot_use){ .context = s->sets, .node = s->shared, .write = true },
	        (struct ingot_use){ .context = s->here, .merge = true, .write = wrong });
}
static enum ingot_status pool_fill(struct scene *s, bool wrong)
{
	return ingot_pool_fill(s->t->stream, s->pool, wrong ? 60 : 0, 8, 1, NULL);
}
static enum ingot_status pool_write(struct scene *s, bool wrong)
{
	return ingot_pool_write(s->t->stream, s->pool, 0, s->values, wrong ? BYTES + 4 : BYTES, NULL);
}

static enum ingot_status host_up(struct scene *s, bool wrong)
{
	return ingot_from_host(s->here, wrong ? s->y : s->x, NULL, NULL);
}
static enum ingot_status host_down(struct scene *s, bool wrong)
{
	return ingot_to_host(s->here, wrong ? s->y : s->x, NULL, NULL);
}
static enum ingot_status launch(struct scene *s, bool wrong)
{
	return ingot_kernel_launch(
	        s->t->stream, s->kernel, (const uint32_t[]){ 4, 1, 1 }, NULL, s->arguments, wrong ? 2 : 3, NULL);
}

static const struct entry {
	const char *name;
	enum ingot_status (*submit)(struct scene *, bool wrong);
	enum ingot_status refused; /* of what is wrong */
	unsigned writes;           /* subjects whose value is lost where it fails */
	bool at_once;              /* it queues nothing that could be skipped */
} entries[] = {
	{ "write", write_node, INGOT_MISMATCH, 1 << X, false },
	{ "write a part", write_part, INGOT_MISMATCH, 1 << Y, false },
	{ "write a shared node", write_shared, INGOT_MISMATCH, 1 << SHARED, false },
	{ "write a candidate", write_table, INGOT_MISMATCH, 1 << TABLE, false },
	{ "read", read_node, INGOT_MISMATCH, 0, false },
	{ "run", run, INGOT_UNREADY, 1 << Y, false },
	{ "run a reader of a candidate", run_look, INGOT_UNREADY, 0, false },
	{ "move a value", move_value, INGOT_STALE, 1 << X, false },
	{ "copy into the merge buffer", move_copy, INGOT_STALE, 1 << MERGE, false },
	{ "stream through the merge buffer", move_streaming, INGOT_STALE, 1 << MERGE, true },
	{ "a task that writes", task_write, INGOT_MISSING, 1 << X | 1 << Y, false },
	{ "a task that writes a part", task_part, INGOT_MISSING, 1 << Y, false },
	{ "a task that writes a shared node", task_shared, INGOT_MISMATCH, 1 << SHARED, false },
	{ "fill a pool", pool_fill, INGOT_RANGE, 1 << POOL, false },
	{ "write a pool", pool_write, INGOT_RANGE, 1 << POOL, false },
	{ "from the host", host_up, INGOT_MISSING, 1 << X, false },
	{ "to the host", host_down, INGOT_MISSING, 0, false },
	{ "launch a kernel", launch, INGOT_MISMATCH, 1 << PRODUCT, false },
};

/* ---- what there is: everything that a program can ask ---- */

static void add(char *text, const char *what, uint64_t value)
{
	size_t at = strlen(text);
	snprintf(text + at, TEXT - at, "\n%s %llu", what, (unsigned long long)value);
}

/* What was read by now, or why it is not there. */
static void add_read(struct scene *s, char *text, enum ingot_status status, const float *values, int count)
{
	enum ingot_status ended = ingot_stream_await(s->t->stream);
	OK(ingot_stream_restart(s->t->stream));
	add(text, "read", status ? status : ended);
	for (int i = 0; i < count && !status && !ended; i++)
		add(text, "value", (uint64_t)values[i]);
}

static void add_values(struct scene *s, char *text, struct ingot_context context, struct ingot_node node)
{
	float values[SMALL_COUNT];
	add_read(s, text, ingot_read(context, node, values, BYTES, NULL), values, SMALL_COUNT);
}

static void add_node(char *text, struct ingot_node node)
{
	struct ingot_device devices[2];
	uint32_t count;
	bool yes;
	OK(ingot_node_devices(node, devices, 2, &count));
	add(text, "newest on", count);
	OK(ingot_node_is_hosted(node, INGOT_BY_NOBODY, &yes));
	add(text, "hosted", yes);
	OK(ingot_node_is_materialized(node, INGOT_BY_NOBODY, &yes));
	add(text, "materialized", yes);
}

static void add_memory(struct scene *s, char (*of)[TEXT])
{
	char json[TEXT];
	size_t used = ingot_device_json(s->t->device, json, sizeof json);
	const char *total = strstr(json, "\"used\""),
	           *events = strstr(json, "\"events\""), /* how many in all: changes */
	                   *streams = strstr(json, "\"streams\""), *pools = strstr(json, "\"pools\"");
	CHECK(used < sizeof json && total && events && streams && pools);
	snprintf(of[MERGE], TEXT, "%.*s%.*s", (int)(events - total), total, (int)(pools - streams), streams);
	used = (size_t)snprintf(of[REST], TEXT, "%s", pools);
	CHECK(ingot_context_json(s->here, of[REST] + used, TEXT - used) < TEXT - used);
}

static void state(struct scene *s, struct texts *texts)
{
	struct ingot_merge_state merge;
	struct ingot_stream owner = { 0 };
	char(*of)[TEXT] = texts->of;
	bool yes;
	void *host;
	uint64_t bytes;
	float values[4];
	memset(texts, 0, sizeof *texts);
	OK(ingot_merge_buffer(
	        s->t->stream, &merge, NULL)); /* what was skipped gives its storage back when it is asked for */
	add_memory(s, of);
	add(of[MERGE], "merge", merge.filled + 2 * merge.streaming + 4 * merge.updating);
	add(of[MERGE], "merge node", merge.node.index);
	add(of[MERGE], "merge bytes", merge.owned_bytes);
	add(of[SHARED], "owned", ingot_owner_stream(s->t->device, s->shared, &owner));
	add(of[SHARED], "owner", owner.index);
	OK(ingot_routine_can_run(s->set, &yes));
	add(of[SHARED], "valued", yes);
	OK(ingot_sharing_candidate(s->t->device, s->table, &yes));
	add(of[TABLE], "candidate", yes);
	add_node(of[X], s->x);
	add_node(of[Y], s->y);
	add_node(of[SHARED], s->shared);
	add_node(of[TABLE], s->table);
	add_values(s, of[X], s->here, s->x);
	add_values(s, of[Y], s->here, s->y);
	add_values(s, of[SHARED], s->sets, s->shared);
	add_values(s, of[TABLE], s->looks, s->table);
	OK(ingot_node_host(s->x, &host, &bytes));
	memcpy(values, host, sizeof values);
	for (int i = 0; i < 4; i++)
		add(of[HOST], "host", (uint64_t)values[i]);
	add_read(s, of[PRODUCT],
	        ingot_buffer_read(s->t->stream, s->arguments + 2, 0, values, sizeof values, 0, sizeof values), values,
	        4);
	add_read(s, of[POOL], ingot_pool_read(s->t->stream, s->pool, 0, values, sizeof values, NULL), values, 4);
}

/* The one of the outcome before is left. */
static struct gate *gate_of(struct scene *s)
{
	s->gate = (struct gate){ 0 };
	return &s->gate;
}

/* ---- the outcomes: how the entry is submitted, and what it answers ---- */

static void refused(struct scene *s, const struct entry *entry) { FAILS(entry->refused, entry->submit(s, true)); }

static void stopped(struct scene *s, const struct entry *entry)
{
	(void)ingot_task_submit(s->t->stream, &(struct ingot_task){ .run = one }, NULL);
	FAILS(INGOT_FAILED, ingot_stream_await(s->t->stream));
	FAILS(INGOT_STOPPED, entry->submit(s, false));
	OK(ingot_stream_restart(s->t->stream));
}

static void full(struct scene *s, const struct entry *entry)
{
	if (!s->t->threads)
		return;
	OK(ingot_stream_limit(s->t->stream, 1, false));
	gate_hold(s->t, gate_of(s), s->t->stream);
	FAILS(INGOT_BUSY, entry->submit(s, false));
	gate_open(&s->gate);
	OK(ingot_stream_limit(s->t->stream, 0, true));
}

static void skipped(struct scene *s, const struct entry *entry)
{
	if (s->t->in_place || entry->at_once)
		return;
	gate_hold(s->t, gate_of(s), s->t->stream);
	OK(ingot_task_submit(s->t->stream, &(struct ingot_task){ .run = one }, NULL));
	OK(entry->submit(s, false));
	gate_open(&s->gate);
	FAILS(INGOT_FAILED, ingot_stream_await(s->t->stream));
	OK(ingot_stream_restart(s->t->stream));
}

static void cancelled(struct scene *s, const struct entry *entry)
{
	if (s->t->in_place || entry->at_once)
		return;
	gate_hold(s->t, gate_of(s), s->t->stream);
	OK(entry->submit(s, false));
	OK(ingot_stream_cancel(s->t->stream));
	gate_open(&s->gate);
}

static void await_failure(struct scene *s, const struct entry *entry)
{
	s->lost =
	        ingot_stream_await(s->t->stream) ? entry->writes : ~0u; /* what did not fail has changed what it does */
	OK(ingot_stream_restart(s->t->stream));
}

/* Its task fails, or a call of its backend's; where it is asked for memory that refuses at once. */
static void fails_at(struct scene *s, const struct entry *entry, int call)
{
	s->fails = true;
	fault_call(call);
	enum ingot_status status = entry->submit(s, false);
	CHECK(!status || status == INGOT_DEVICE);
	if (!status)
		await_failure(s, entry);
	fault_call(0);
}
static void failed(struct scene *s, const struct entry *entry) { fails_at(s, entry, 1); }
static void failed_later(struct scene *s, const struct entry *entry) { fails_at(s, entry, 2); }

/* Its backend has it, and the device fails at it. */
static void failed_there(struct scene *s, const struct entry *entry)
{
	if (strcmp(s->t->device_name, "mock"))
		return;
	mock_fault(MOCK_EXECUTE, 0);
	OK(entry->submit(s, false));
	await_failure(s, entry);
	mock_fault(MOCK_NO_FAULT, 0);
}

static const struct outcome {
	const char *name;
	void (*happen)(struct scene *, const struct entry *);
} outcomes[] = {
	{ "refused", refused },
	{ "refused by a stream that stopped", stopped },
	{ "refused by a full stream", full },
	{ "skipped", skipped },
	{ "cancelled", cancelled },
	{ "failed", failed },
	{ "failed at its second call", failed_later },
	{ "failed on the device", failed_there },
};

static struct ingot_routine linked(
        struct ingot_context base, struct ingot_library library, const char *name, struct ingot_context *context)
{
	struct ingot_routine routine;
	OK(ingot_link(base, library, name, &routine));
	OK(ingot_routine_context(routine, context));
	return routine;
}

static void scene_set(struct trial *t, struct scene *s)
{
	struct ingot_stream other = other_stream(t);
	struct ingot_context base, unused;
	bool moved;
	*s = (struct scene){ .t = t };
	for (int i = 0; i < SMALL_COUNT; i++)
		s->values[i] = (float)i + 1;
	OK(ingot_library_load(t->runtime, &small_module, NULL, &s->small));
	OK(ingot_library_load(
	        t->runtime, &small_pair_module, &(struct ingot_library_options){ .with = s->small }, &s->pair));
	OK(ingot_library_node(s->small, "x", &s->x));
	OK(ingot_library_node(s->small, "y", &s->y));
	OK(ingot_library_node(s->small, "y_row", &s->row));
	OK(ingot_library_node(s->pair, "shared", &s->shared));
	OK(ingot_library_node(s->pair, "table", &s->table));
	OK(ingot_context_new(other, &base));
	struct ingot_routine dense = linked(base, s->small, "dense", &s->there);
	s->dense = linked(t->context, s->small, "dense", &s->here);
	s->set = linked(t->context, s->pair, "set", &s->sets);
	s->look = linked(t->context, s->pair, "look", &s->looks);
	struct ingot_node unseen;
	OK(ingot_library_node(s->pair, "unseen", &unseen));
	OK(ingot_context_place(t->context, &unseen, 1)); /* and nobody writes it */
	s->unseen = linked(t->context, s->pair, "unseen", &unused);
	OK(ingot_routine_set(dense, "n", 4));
	OK(ingot_routine_set(s->dense, "n", 4));
	OK(ingot_pool_open(t->device, BYTES, 0, INGOT_SLAB_PRIVATE, &s->pool));
	OK(ingot_node_host_create(s->x));
	OK(ingot_library_kernel(s->small, "multiply", &s->kernel));
	for (int i = 0; i < 3; i++) {
		OK(ingot_buffer_open(t->device, INGOT_F32, 4, s->arguments + i));
		OK(ingot_buffer_write(t->stream, s->arguments + i, s->values, 16, 0, 16));
	}
	write_f32(s->there, s->x, s->values, SMALL_COUNT);
	OK(ingot_routine_run(dense, NULL));
	OK(ingot_stream_await(other));
	for (int i = 0; i < SMALL_COUNT; i++)
		s->values[i] += 50;
	write_f32(s->here, s->x, s->values, SMALL_COUNT);
	OK(ingot_routine_run(s->dense, NULL));
	/* A part is in the merge buffer, so that what is larger would need more. */
	OK(ingot_device_to_device(s->row, s->here, INGOT_MERGE_COPY, s->there, &moved, NULL));
	CHECK(moved);
	OK(ingot_stream_await(t->stream));
	for (int i = 0; i < SMALL_COUNT; i++)
		s->values[i] += 50;
}

static void outcome_try(struct scene *s, const struct entry *entry, const struct outcome *outcome)
{
	static struct texts before, after;
	check_note("%s, %s", entry->name, outcome->name);
	state(s, &before);
	s->lost = 0;
	outcome->happen(s, entry);
	OK(ingot_stream_await(s->t->stream));
	state(s, &after);
	for (int i = 0; i < SUBJECTS; i++) {
		bool changed = strcmp(before.of[i], after.of[i]), lost = s->lost >> i & 1;
		if (changed != lost && s->lost != ~0u)
			fprintf(stderr, "%s, %s: %s was:\n%s\nis:\n%s\n", entry->name, outcome->name, subjects[i],
			        before.of[i], after.of[i]);
		CHECK(changed == lost || s->lost == ~0u);
	}
}

static void nothing_else_changed(struct trial *t)
{
	static struct scene s;
	scene_set(t, &s);
	for (size_t e = 0; e < sizeof entries / sizeof *entries; e++)
		for (size_t o = 0; o < sizeof outcomes / sizeof *outcomes; o++) {
			outcome_try(&s, entries + e, outcomes + o);
			if (s.lost) {
				trial_reopen(t);
				scene_set(t, &s);
			}
		}
}

const struct row rows_outcomes[] = {
	{ "C8", "ingot_stream_cancel", "nothing_else_changed", nothing_else_changed, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
