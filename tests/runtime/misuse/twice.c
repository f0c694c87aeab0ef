/* twice.c: what was done already; what is ended while others still need it; promises that nobody keeps. */
#include "misuse.h"

#define T(name, expression) WAY(twice, name, expression)
T(stream_close, (MUST(ingot_stream_close(t->other)), ingot_stream_close(t->other)))
T(device_close, (MUST(ingot_device_close(t->device)), ingot_device_close(t->device)))
T(context_close,
        (MUST(ingot_routine_close(t->dense)), MUST(ingot_context_close(t->context)), ingot_context_close(t->context)))
T(context_finalize,
        (MUST(ingot_routine_close(t->dense)), MUST(ingot_context_finalize(t->context)),
                ingot_context_finalize(t->context)))
T(routine_close, (MUST(ingot_routine_close(t->dense)), ingot_routine_close(t->dense)))
T(node_close, (MUST(ingot_node_close(t->node)), ingot_node_close(t->node)))
T(event_close, (MUST(ingot_event_close(t->event)), ingot_event_close(t->event)))
T(event_signal,
        (MUST(ingot_event_open(t->runtime, &t->event)), MUST(ingot_event_signal(t->event)),
                ingot_event_signal(t->event)))
T(event_signal_both,
        (MUST(ingot_event_open(t->runtime, &t->event)), MUST(ingot_stream_signal(t->stream, t->event)),
                ingot_event_signal(t->event)))
T(event_signal_recorded, ingot_event_signal(t->event))
T(event_cancel,
        (MUST(ingot_event_open(t->runtime, &t->event)), MUST(ingot_event_cancel(t->event)),
                ingot_event_cancel(t->event)))
T(pool_close, (MUST(ingot_pool_close(t->device, t->pool)), ingot_pool_close(t->device, t->pool)))
T(buffer_close, (MUST(ingot_buffer_close(t->device, &t->buffer)), ingot_buffer_close(t->device, &t->buffer)))
T(backend_init, ingot_backend_init(t->runtime, t->device_name, NULL))
T(place, ingot_context_place(t->context, (struct ingot_node[]){ t->node, t->node, t->node }, 3))
T(adopt, ingot_context_adopt(t->context, t->node, t->host, 64))
T(init_from_host, ingot_init_from_host(t->context, t->node, t->host, 64, &t->linked))
T(init_from_device, ingot_init_from_device(t->linked, t->node, t->context, &t->linked))
T(trace,
        (MUST(ingot_trace_begin(t->runtime, 4)), MUST(ingot_trace_begin(t->runtime, 9)), ingot_trace_end(t->runtime),
                ingot_trace_end(t->runtime), INGOT_OK))
T(host_create, ingot_node_host_create(t->node))
T(library_busy, ingot_library_close(t->library))
T(stream_busy, ingot_stream_close(t->stream))
T(stream_default_close, (MUST(ingot_stream_default(t->device, &t->other)), ingot_stream_close(t->other)))
T(context_busy, ingot_context_close(t->context))
T(context_finalize_busy, ingot_context_finalize(t->context))
T(node_close_while_placed,
        (MUST(ingot_node_close(t->node)), ingot_context_finalized(t->context) ? INGOT_FAILED : INGOT_OK))
T(pool_of_context, ({
	struct ingot_location at;
	MUST(ingot_context_location(t->context, t->node, &at));
	ingot_pool_close(t->device, at.pool);
}))
T(pool_of_context_replace, ({
	struct ingot_location at;
	MUST(ingot_context_location(t->context, t->node, &at));
	ingot_pool_replace(t->device, at.pool, 4096, 0, INGOT_SLAB_PRIVATE);
}))

/* A failed replacement leaves what was there. */
static enum ingot_status twice_pool_replace_fails(struct scene *t)
{
	uint64_t bytes = 0;
	if (ingot_pool_replace(t->device, t->pool, 16, 3, INGOT_SLAB_PRIVATE) != INGOT_INVALID
	        || ingot_pool_ensure(t->device, UINT64_MAX / 2, 0, &t->pool) != INGOT_MEMORY)
		return INGOT_FAILED;
	DO_OK(ingot_pool_bytes(t->device, t->pool, &bytes));
	return THAT(bytes == 64);
}

static enum ingot_status twice_pool_last_id(struct scene *t)
{
	uint32_t one, two;
	DO_OK(ingot_pool_replace(t->device, UINT32_MAX, 16, 0, INGOT_SLAB_PRIVATE));
	DO_OK(ingot_pool_open(t->device, 16, 0, INGOT_SLAB_PRIVATE, &one));
	DO_OK(ingot_pool_open(t->device, 16, 0, INGOT_SLAB_PRIVATE, &two));
	return THAT(
	        one != two && one && two && one != UINT32_MAX && two != UINT32_MAX && one != t->pool && two != t->pool);
}

static enum ingot_status twice_link_again_and_again(struct scene *t)
{
	for (int i = 0; i < 50; i++) {
		struct ingot_routine routine;
		DO_OK(ingot_link(t->context, t->library, "dense", &routine));
		DO_OK(ingot_routine_close(routine));
	}
	return INGOT_OK;
}

/* ---- promises ---- */

static struct ingot_event promise(struct scene *t)
{
	struct ingot_event event;
	MUST(ingot_event_open(t->runtime, &event));
	return event;
}

/* In place nothing may wait for a promise; there the row's answer is that. */
static enum ingot_status waits_for(
        struct scene *t, struct ingot_stream stream, struct ingot_event event, struct ingot_event *done)
{
	enum ingot_status status = ingot_task_submit(
	        stream, &(struct ingot_task){ .name = "waits", .waits = &event, .wait_count = 1 }, done);
	if (t->in_place && status == INGOT_WOULD_BLOCK)
		return INGOT_STATUS_COUNT;
	MUST(status);
	return INGOT_OK;
}
#define WAITS_FOR(stream, event, done) \
	do { \
		if (waits_for(t, stream, event, done)) \
			return INGOT_CANCELLED; \
	} while (0)

static enum ingot_status promise_stream_close(struct scene *t)
{
	struct ingot_event done;
	WAITS_FOR(t->other, promise(t), &done);
	DO_OK(ingot_stream_close(t->other));
	return ingot_event_sync(done);
}

static enum ingot_status promise_stream_close_through(struct scene *t)
{
	struct ingot_event first, done;
	WAITS_FOR(t->stream, promise(t), &first);
	WAITS_FOR(t->other, first, &done);
	DO_OK(ingot_stream_close(t->other));
	return ingot_event_sync(done);
}

static enum ingot_status promise_device_close(struct scene *t)
{
	struct ingot_event done;
	WAITS_FOR(t->stream, promise(t), &done);
	DO_OK(ingot_device_close(t->device));
	return ingot_event_sync(done);
}

static enum ingot_status promise_runtime_close(struct scene *t)
{
	struct ingot_event done;
	WAITS_FOR(t->stream, promise(t), &done);
	enum ingot_status status = ingot_runtime_close(t->runtime);
	t->runtime = NULL;
	return status == INGOT_LEFT_OPEN ? INGOT_CANCELLED : status;
}

static enum ingot_status promise_stream_cancel(struct scene *t)
{
	struct ingot_event done;
	WAITS_FOR(t->stream, promise(t), &done);
	DO_OK(ingot_stream_cancel(t->stream));
	DO_OK(ingot_stream_await(t->stream));
	return ingot_event_sync(done);
}

static enum ingot_status promise_event_cancel(struct scene *t)
{
	struct ingot_event done;
	WAITS_FOR(t->stream, promise(t), &done);
	DO_OK(ingot_event_cancel(done));
	return ingot_event_sync(done);
}

static enum ingot_status promise_cancelled(struct scene *t)
{
	struct ingot_event event = promise(t), done;
	WAITS_FOR(t->stream, event, &done);
	DO_OK(ingot_event_cancel(event));
	return ingot_event_sync(done);
}

static enum ingot_status promise_closed(struct scene *t)
{
	struct ingot_event event = promise(t), done;
	WAITS_FOR(t->stream, event, &done);
	DO_OK(ingot_event_close(event));
	return ingot_event_sync(done);
}

static enum ingot_status promise_of_itself(struct scene *t)
{
	struct ingot_event event = promise(t), done;
	if (waits_for(t, t->stream, event, &done))
		return INGOT_CYCLE;
	return ingot_stream_signal(t->stream, event);
}

static enum ingot_status promise_circle(struct scene *t)
{
	struct ingot_event a = promise(t), b = promise(t), done;
	if (waits_for(t, t->stream, a, &done) || waits_for(t, t->other, b, &done))
		return INGOT_CYCLE;
	DO_OK(ingot_stream_signal(t->stream, b));
	return ingot_stream_signal(t->other, a);
}

static enum ingot_status promise_in_place(struct scene *t)
{
	struct ingot_event event = promise(t);
	enum ingot_status status = ingot_stream_wait(t->stream, event);
	return t->in_place ? status : INGOT_WOULD_BLOCK;
}
#undef T

#define R(group, name, status) \
	{ \
#group, #name, status, status, group##_##name, NULL \
	}
const struct way ways_twice[] = { R(twice, stream_close, INGOT_STALE), R(twice, device_close, INGOT_STALE),
	R(twice, context_close, INGOT_STALE), R(twice, context_finalize, INGOT_OK),
	R(twice, routine_close, INGOT_STALE), R(twice, node_close, INGOT_STALE), R(twice, event_close, INGOT_STALE),
	R(twice, event_signal, INGOT_PRESENT), R(twice, event_signal_both, INGOT_PRESENT),
	R(twice, event_signal_recorded, INGOT_PRESENT), R(twice, event_cancel, INGOT_BUSY),
	R(twice, pool_close, INGOT_OK), R(twice, buffer_close, INGOT_OK), R(twice, backend_init, INGOT_OK),
	R(twice, place, INGOT_OK), R(twice, adopt, INGOT_PRESENT), R(twice, init_from_host, INGOT_PRESENT),
	R(twice, init_from_device, INGOT_PRESENT), R(twice, trace, INGOT_OK), R(twice, host_create, INGOT_OK),
	R(twice, library_busy, INGOT_BUSY), R(twice, stream_busy, INGOT_BUSY),
	R(twice, stream_default_close, INGOT_BUSY), R(twice, context_busy, INGOT_BUSY),
	R(twice, context_finalize_busy, INGOT_BUSY), R(twice, node_close_while_placed, INGOT_OK),
	R(twice, pool_of_context, INGOT_BUSY), R(twice, pool_of_context_replace, INGOT_BUSY),
	R(twice, pool_replace_fails, INGOT_OK), R(twice, pool_last_id, INGOT_OK),
	R(twice, link_again_and_again, INGOT_OK), R(promise, stream_close, INGOT_CANCELLED),
	R(promise, stream_close_through, INGOT_CANCELLED), R(promise, device_close, INGOT_CANCELLED),
	R(promise, runtime_close, INGOT_CANCELLED), R(promise, stream_cancel, INGOT_CANCELLED),
	R(promise, event_cancel, INGOT_CANCELLED), R(promise, cancelled, INGOT_CANCELLED),
	R(promise, closed, INGOT_CANCELLED), R(promise, of_itself, INGOT_CYCLE), R(promise, circle, INGOT_CYCLE),
	R(promise, in_place, INGOT_WOULD_BLOCK), { 0 } };
