/* state.c: what holds after something went wrong or went away: values, versions, taints, what is counted as left
 * open. */
#include "misuse.h"

static float at(struct scene *t, struct ingot_context context, struct ingot_node node)
{
	float now[16];
	struct ingot_event done;
	(void)t;
	MUST(ingot_read(context, node, now, 64, &done));
	MUST(ingot_event_sync(done));
	MUST(ingot_event_close(done));
	return now[0];
}

static int refuse(void *argument)
{
	(void)argument;
	return 1;
}

/* A run that was skipped, or refused, left its state alone: the next one goes on from there, the same on all
 * devices. */
static enum ingot_status state_skipped(struct scene *t)
{
	float before = at(t, t->linked, t->s);
	ingot_task_submit(t->stream, &(struct ingot_task){ .run = refuse }, NULL);
	ingot_routine_run(t->dense, NULL);
	ingot_routine_run(t->dense, NULL);
	ingot_stream_await(t->stream);
	MUST(ingot_stream_restart(t->stream));
	if (at(t, t->linked, t->s) != before)
		return INGOT_FAILED;
	MUST(ingot_routine_run(t->dense, NULL));
	return THAT(at(t, t->linked, t->s) == before + 1);
}

/* What was cancelled before it began, too. */
static enum ingot_status state_cancelled(struct scene *t)
{
	float before = at(t, t->linked, t->s);
	struct ingot_event promise, done;
	MUST(ingot_event_open(t->runtime, &promise));
	if (!t->in_place)
		MUST(ingot_stream_wait(t->stream, promise));
	if (!t->in_place)
		MUST(ingot_routine_run(t->dense, &done));
	MUST(ingot_stream_cancel(t->stream));
	MUST(ingot_stream_await(t->stream));
	return THAT(at(t, t->linked, t->s) == before);
}

/* What never had a value has none after its writer was skipped. */
static enum ingot_status state_never_written(struct scene *t)
{
	struct ingot_context fresh;
	MUST(ingot_context_new(t->stream, &fresh));
	MUST(ingot_context_place(fresh, &t->node, 1));
	ingot_task_submit(t->stream, &(struct ingot_task){ .run = refuse }, NULL);
	ingot_write(fresh, t->node, t->host, 64, NULL);
	ingot_stream_await(t->stream);
	MUST(ingot_stream_restart(t->stream));
	return ingot_read(fresh, t->node, t->host, 64, NULL);
}

/* What began and failed is tainted, until it is overwritten. */
static enum ingot_status state_began(struct scene *t)
{
	struct ingot_routine fails;
	struct ingot_event done;
	struct ingot_context linked;
	struct ingot_node z;
	MUST(ingot_library_node(t->library, "z", &z));
	MUST(ingot_link(t->linked, t->library, "fails", &fails));
	MUST(ingot_routine_context(fails, &linked));
	ingot_routine_run(fails, NULL);
	ingot_stream_await(t->stream);
	MUST(ingot_stream_restart(t->stream));
	enum ingot_status status = ingot_read(linked, z, t->host, 64, &done);
	if (!status)
		status = ingot_event_sync(done);
	ingot_stream_await(t->stream);
	MUST(ingot_stream_restart(t->stream));
	MUST(ingot_write(linked, z, t->host, 64, NULL));
	return at(t, linked, z) == t->host[0] ? status : INGOT_FAILED;
}

/* ---- with automatic transfers ---- */

static void reopen(struct scene *t)
{
	ingot_runtime_close(t->runtime);
	free(t->host);
	scene_open(t, &(struct ingot_runtime_options){ .automatic_transfers = true });
}

/* The newest value outlives the only context that has it. */
static enum ingot_status state_newest(struct scene *t)
{
	double value = -1;
	reopen(t);
	MUST(ingot_node_set_all(t->x, (double[16]){ 3 }, 16));
	MUST(ingot_node_host_create(t->y));
	MUST(ingot_routine_run(t->dense, NULL));
	MUST(ingot_routine_close(t->dense));
	MUST(ingot_node_get(t->y, (int64_t[]){ 0 }, 1, &value));
	return THAT(value == 4); /* w[0] * 3 + s, the second time */
}

/* Where it could not be fetched, a read says so. */
static enum ingot_status state_newest_lost(struct scene *t)
{
	double value;
	reopen(t);
	MUST(ingot_node_host_create(t->y));
	MUST(ingot_routine_run(t->dense, NULL));
	ingot_task_submit(t->stream, &(struct ingot_task){ .run = refuse }, NULL);
	ingot_stream_await(t->stream);
	MUST(ingot_routine_close(t->dense));
	return ingot_node_get(t->y, (int64_t[]){ 0 }, 1, &value);
}

/* A write in one context leaves what the host has for another, unrelated one. */
static enum ingot_status state_unrelated(struct scene *t)
{
	struct ingot_context apart, linked;
	struct ingot_routine again;
	reopen(t);
	MUST(ingot_node_set_all(t->x, (double[16]){ 7 }, 16));
	MUST(ingot_context_new(t->other, &apart));
	MUST(ingot_link(apart, t->library, "dense", &again));
	MUST(ingot_routine_set(again, "n", 16));
	MUST(ingot_write(t->linked, t->x, t->host, 64, NULL));
	MUST(ingot_routine_context(again, &linked));
	enum ingot_status status = ingot_routine_run(again, NULL);
	return status ? status : THAT(at(t, linked, t->y) == 7);
}

/* A part of a node has no array of its own: what is read is what the whole has, from wherever that is newest. */
static enum ingot_status state_slice(struct scene *t)
{
	struct ingot_node part;
	double value = -1, whole[16];
	reopen(t);
	MUST(ingot_node_set_all(t->x, (double[16]){ 3, 3, 3, 3, 3, 3 }, 16));
	MUST(ingot_node_host_create(t->y));
	MUST(ingot_node_slice(t->y, 4, 4, &part));
	MUST(ingot_routine_run(t->dense, NULL));
	MUST(ingot_node_get(part, (int64_t[]){ 1 }, 1, &value));
	if (value != 6 * 3 + 1 || !ingot_node_has_host(part))
		return INGOT_FAILED;
	MUST(ingot_node_set(part, (int64_t[]){ 0 }, 1, 50));
	MUST(ingot_node_get_all(t->y, whole, 16));
	return THAT(whole[4] == 50 && whole[5] == 19 && whole[0] == 4);
}

static enum ingot_status state_slice_written_first(struct scene *t)
{
	struct ingot_node part;
	double whole[16];
	reopen(t);
	MUST(ingot_node_set_all(t->x, (double[16]){ 3, 3 }, 16));
	MUST(ingot_node_slice(t->y, 4, 4, &part));
	MUST(ingot_routine_run(t->dense, NULL));
	MUST(ingot_node_set_all(part, (double[4]){ 9, 9, 9, 9 }, 4)); /* before anybody asked for the whole */
	MUST(ingot_node_get_all(t->y, whole, 16));
	return THAT(whole[0] == 4 && whole[4] == 9 && whole[7] == 9 && whole[8] == 1);
}

/* ---- what is left open ---- */

static enum ingot_status closed_all(struct scene *t, bool event_too, bool merged)
{
	struct ingot_node grad;
	MUST(ingot_library_node(t->library, "grad", &grad));
	if (merged) { /* the merge buffer holds a node of the library's */
		struct ingot_context beside;
		MUST(ingot_context_new(t->other, &beside));
		MUST(ingot_context_place(beside, &grad, 1));
		MUST(ingot_write(beside, grad, t->host, 64, NULL));
		MUST(ingot_device_to_device(grad, t->linked, INGOT_MERGE_COPY, beside, NULL, NULL));
		MUST(ingot_context_close(beside));
	}
	MUST(ingot_routine_close(t->dense));
	MUST(ingot_context_close(t->context));
	MUST(ingot_node_close(t->node));
	MUST(ingot_library_close(t->library));
	if (event_too)
		MUST(ingot_event_close(t->event));
	enum ingot_status status = ingot_runtime_close(t->runtime);
	t->runtime = NULL;
	return status;
}
static enum ingot_status state_nothing_open(struct scene *t) { return closed_all(t, true, false); }
static enum ingot_status state_merge_node(struct scene *t) { return closed_all(t, true, true); }
static enum ingot_status state_event_open(struct scene *t)
{
	enum ingot_status status = closed_all(t, false, false);
	return status == INGOT_LEFT_OPEN && strstr(ingot_message(), "1 event") ? status : INGOT_FAILED;
}

#define R(name, status) \
	{ \
		"state", #name, status, status, state_##name, NULL \
	}
const struct way ways_state[] = { R(skipped, INGOT_OK), R(cancelled, INGOT_OK), R(never_written, INGOT_UNREADY),
	R(began, INGOT_DEPENDENCY), R(newest, INGOT_OK), R(newest_lost, INGOT_UNREADY), R(unrelated, INGOT_OK),
	R(slice, INGOT_OK), R(slice_written_first, INGOT_OK), R(nothing_open, INGOT_OK), R(merge_node, INGOT_OK),
	R(event_open, INGOT_LEFT_OPEN), { 0 } };
