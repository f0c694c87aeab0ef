/* rows_outcomes.c: every entry that queues work, refused at each check, skipped, cancelled: nothing else changed. */
#include "rows.h"

enum { BYTES = SMALL_COUNT * sizeof(float), TEXT = 8192 };

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
	return ingot_task_submit(
	        s->t->stream, &(struct ingot_task){ .run = nothing, .uses = uses, .use_count = 2 }, NULL);
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
	bool at_once;              /* it queues nothing that could be skipped */
} entries[] = {
	{ "write", write_node, INGOT_MISMATCH, false },
	{ "write a part", write_part, INGOT_MISMATCH, false },
	{ "write a shared node", write_shared, INGOT_MISMATCH, false },
	{ "write a candidate", write_table, INGOT_MISMATCH, false },
	{ "read", read_node, INGOT_MISMATCH, false },
	{ "run", run, INGOT_UNREADY, false },
	{ "run a reader of a candidate", run_look, INGOT_UNREADY, false },
	{ "move a value", move_value, INGOT_STALE, false },
	{ "copy into the merge buffer", move_copy, INGOT_STALE, false },
	{ "stream through the merge buffer", move_streaming, INGOT_STALE, true },
	{ "a task that writes", task_write, INGOT_MISSING, false },
	{ "a task that writes a part", task_part, INGOT_MISSING, false },
	{ "a task that writes a shared node", task_shared, INGOT_MISMATCH, false },
	{ "fill a pool", pool_fill, INGOT_RANGE, false },
	{ "write a pool", pool_write, INGOT_RANGE, false },
	{ "from the host", host_up, INGOT_MISSING, false },
	{ "to the host", host_down, INGOT_MISSING, false },
	{ "launch a kernel", launch, INGOT_MISMATCH, false },
};

/* ---- what there is: everything that a program can ask ---- */

static void add(char *text, const char *what, uint64_t value)
{
	size_t at = strlen(text);
	snprintf(text + at, TEXT - at, "\n%s %llu", what, (unsigned long long)value);
}

static void add_values(struct scene *s, char *text, struct ingot_context context, struct ingot_node node)
{
	float values[SMALL_COUNT];
	enum ingot_status status = ingot_read(context, node, values, BYTES, NULL);
	add(text, "read", status);
	OK(ingot_stream_await(s->t->stream));
	for (int i = 0; i < SMALL_COUNT && !status; i++)
		add(text, "value", (uint64_t)values[i]);
}

static void state(struct scene *s, char *text)
{
	struct ingot_merge_state merge;
	struct ingot_stream owner = { 0 };
	struct ingot_device devices[2];
	uint32_t count;
	bool yes;
	OK(ingot_merge_buffer(
	        s->t->stream, &merge, NULL)); /* what was skipped gives its storage back when it is asked for */
	size_t used = ingot_device_json(s->t->device, text, TEXT / 2);
	char *from = strstr(text, "\"events\""), *to = strstr(text, "\"streams\"");
	CHECK(used < TEXT / 2 && from && to);
	memmove(from, to, strlen(to) + 1); /* how many events there were in all */
	used = strlen(text);
	ingot_context_json(s->here, text + used, TEXT / 4);
	add(text, "merge", merge.filled + 2 * merge.streaming + 4 * merge.updating);
	add(text, "merge node", merge.node.index);
	add(text, "merge bytes", merge.owned_bytes);
	add(text, "owned", ingot_owner_stream(s->t->device, s->shared, &owner));
	add(text, "owner", owner.index);
	OK(ingot_sharing_candidate(s->t->device, s->table, &yes));
	add(text, "candidate", yes);
	const struct ingot_node nodes[] = { s->x, s->y, s->shared, s->table };
	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
		OK(ingot_node_devices(nodes[i], devices, 2, &count));
		add(text, "newest on", count);
		OK(ingot_node_is_hosted(nodes[i], INGOT_BY_NOBODY, &yes));
		add(text, "hosted", yes);
		OK(ingot_node_is_materialized(nodes[i], INGOT_BY_NOBODY, &yes));
		add(text, "materialized", yes);
	}
	OK(ingot_routine_can_run(s->set, &yes));
	add(text, "valued", yes);
	void *host;
	uint64_t bytes;
	float product[4];
	OK(ingot_node_host(s->x, &host, &bytes));
	OK(ingot_buffer_read(s->t->stream, s->arguments + 2, 0, product, sizeof product, 0, sizeof product));
	for (int i = 0; i < 4; i++) {
		add(text, "host", (uint64_t)((const float *)host)[i]);
		add(text, "product", (uint64_t)product[i]);
	}
	add_values(s, text, s->here, s->x);
	add_values(s, text, s->here, s->y);
	add_values(s, text, s->looks, s->table);
}

/* The one of the outcome before is left. */
static struct gate *gate_of(struct scene *s)
{
	s->gate = (struct gate){ 0 };
	return &s->gate;
}

/* ---- the outcomes: how the entry is submitted, and what it answers ---- */

static enum ingot_status refused(struct scene *s, const struct entry *entry)
{
	FAILS(entry->refused, entry->submit(s, true));
	return INGOT_OK;
}

static enum ingot_status stopped(struct scene *s, const struct entry *entry)
{
	(void)ingot_task_submit(s->t->stream, &(struct ingot_task){ .run = one }, NULL);
	FAILS(INGOT_FAILED, ingot_stream_await(s->t->stream));
	FAILS(INGOT_STOPPED, entry->submit(s, false));
	OK(ingot_stream_restart(s->t->stream));
	return INGOT_OK;
}

static enum ingot_status full(struct scene *s, const struct entry *entry)
{
	if (!s->t->threads)
		return INGOT_OK;
	OK(ingot_stream_limit(s->t->stream, 1, false));
	gate_hold(s->t, gate_of(s), s->t->stream);
	FAILS(INGOT_BUSY, entry->submit(s, false));
	gate_open(&s->gate);
	OK(ingot_stream_limit(s->t->stream, 0, true));
	return INGOT_OK;
}

static enum ingot_status skipped(struct scene *s, const struct entry *entry)
{
	if (s->t->in_place || entry->at_once)
		return INGOT_OK;
	gate_hold(s->t, gate_of(s), s->t->stream);
	OK(ingot_task_submit(s->t->stream, &(struct ingot_task){ .run = one }, NULL));
	OK(entry->submit(s, false));
	gate_open(&s->gate);
	FAILS(INGOT_FAILED, ingot_stream_await(s->t->stream));
	OK(ingot_stream_restart(s->t->stream));
	return INGOT_OK;
}

static enum ingot_status cancelled(struct scene *s, const struct entry *entry)
{
	if (s->t->in_place || entry->at_once)
		return INGOT_OK;
	gate_hold(s->t, gate_of(s), s->t->stream);
	OK(entry->submit(s, false));
	OK(ingot_stream_cancel(s->t->stream));
	gate_open(&s->gate);
	return INGOT_OK;
}

static const struct outcome {
	const char *name;
	enum ingot_status (*happen)(struct scene *, const struct entry *);
} outcomes[] = {
	{ "refused", refused },
	{ "refused by a stream that stopped", stopped },
	{ "refused by a full stream", full },
	{ "skipped", skipped },
	{ "cancelled", cancelled },
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

static void nothing_else_changed(struct trial *t)
{
	static char before[TEXT], after[TEXT];
	static struct scene s;
	scene_set(t, &s);
	for (size_t e = 0; e < sizeof entries / sizeof *entries; e++)
		for (size_t o = 0; o < sizeof outcomes / sizeof *outcomes; o++) {
			check_note("%s, %s", entries[e].name, outcomes[o].name);
			state(&s, before);
			outcomes[o].happen(&s, entries + e);
			OK(ingot_stream_await(t->stream));
			state(&s, after);
			if (strcmp(before, after))
				fprintf(stderr, "%s, %s:\n%s\n%s\n", entries[e].name, outcomes[o].name, before, after);
			CHECK(!strcmp(before, after));
		}
}

const struct row rows_outcomes[] = {
	{ "C8", "ingot_stream_cancel", "nothing_else_changed", nothing_else_changed, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
