/* beside.c: what another thread ends meanwhile.  Each way does two things at once, many times; each call may answer
 * what fits either order, and nothing crashes, hangs or is lost. */
#include "misuse.h"
#include "../rows/mock.h"

struct pair {
	struct scene *scene;
	enum ingot_status (*one)(struct scene *), (*two)(struct scene *);
	_Atomic int ready;
	enum ingot_status answers[2];
};

/* What is right in either order. */
static bool fits(enum ingot_status status)
{
	switch (status) {
	case INGOT_OK:
	case INGOT_STALE:
	case INGOT_BUSY:
	case INGOT_CANCELLED:
	case INGOT_PRESENT:
	case INGOT_MISSING:
	case INGOT_UNREADY:
	case INGOT_DEPENDENCY:
	case INGOT_STOPPED:
	case INGOT_FAILED: return true;
	default: return false;
	}
}

static void *second(void *argument)
{
	struct pair *pair = argument;
	atomic_fetch_add(&pair->ready, 1);
	while (atomic_load(&pair->ready) < 2)
		;
	pair->answers[1] = pair->two(pair->scene);
	return NULL;
}

static enum ingot_status at_once(
        struct scene *t, enum ingot_status (*one)(struct scene *), enum ingot_status (*two)(struct scene *))
{
	struct pair pair = { .scene = t, .one = one, .two = two };
	pthread_t thread;
	if (pthread_create(&thread, NULL, second, &pair))
		return INGOT_MEMORY;
	atomic_fetch_add(&pair.ready, 1);
	while (atomic_load(&pair.ready) < 2)
		;
	pair.answers[0] = one(t);
	pthread_join(thread, NULL);
	return !fits(pair.answers[0]) ? pair.answers[0] : !fits(pair.answers[1]) ? pair.answers[1] : INGOT_OK;
}

static int rounds(void) { return getenv("MISUSE_SECONDS") ? 8 : 40; }

static int slow(void *argument)
{
	(void)argument;
	usleep(50);
	return 0;
}

#define DEED(name, ...) \
	static enum ingot_status do_##name(struct scene *t) { __VA_ARGS__ }
DEED(
        record, enum ingot_status status = INGOT_OK; for (int i = 0; i < 20 && !status; i++) {
	        struct ingot_event e;
	        status = ingot_event_record(t->other, &e);
	        if (!status) {
		        ingot_event_sync(e);
		        ingot_event_close(e);
	        }
        } return status;)
DEED(submit, enum ingot_status status = INGOT_OK; for (int i = 0; i < 20 && !status; i++) status = ingot_task_submit(
                                                          t->other, &(struct ingot_task){ .run = slow }, NULL);
        return status;)
DEED(close_stream, return ingot_stream_close(t->other);)
DEED(close_device, return ingot_device_close(t->device);)
DEED(
        context_new, enum ingot_status status = INGOT_OK; for (int i = 0; i < 20 && !status; i++) {
	        struct ingot_context c;
	        status = ingot_context_new(t->stream, &c);
        } return status;)
DEED(
        context_child, enum ingot_status status = INGOT_OK; for (int i = 0; i < 20 && !status; i++) {
	        struct ingot_context c;
	        status = ingot_context_child(t->context, t->stream, &c);
        } return status;)
DEED(
        stream_open, enum ingot_status status = INGOT_OK; for (int i = 0; i < 4 && !status; i++) {
	        struct ingot_stream s;
	        status = ingot_stream_open(t->device, &s);
        } return status;)
DEED(
        pool_open, enum ingot_status status = INGOT_OK; for (int i = 0; i < 20 && !status; i++) {
	        uint32_t p;
	        status = ingot_pool_open(t->device, 64, 0, INGOT_SLAB_PRIVATE, &p);
        } return status;)
DEED(pool_replace, enum ingot_status status = INGOT_OK;
        for (int i = 0; i < 20 && !status; i++)
                status = ingot_pool_replace(t->device, t->pool, 64, 0, INGOT_SLAB_PRIVATE);
        return status;)
DEED(pool_fill, enum ingot_status status = INGOT_OK;
        for (int i = 0; i < 20 && !status; i++) status = ingot_pool_fill(t->stream, t->pool, 0, 64, i, NULL);
        return status;)
DEED(pool_close, return ingot_pool_close(t->device, t->pool);)
DEED(
        link, enum ingot_status status = INGOT_OK; for (int i = 0; i < 5 && !status; i++) {
	        struct ingot_routine r;
	        status = ingot_link(t->context, t->library, "dense", &r);
	        if (!status)
		        status = ingot_routine_close(r);
        } return status;)
DEED(
        link_other, struct ingot_context c; enum ingot_status status = ingot_context_new(t->other, &c);
        for (int i = 0; i < 5 && !status; i++) {
	        struct ingot_routine r;
	        status = ingot_link(c, t->library, "dense", &r);
	        if (!status)
		        status = ingot_routine_close(r);
        } return status;)
DEED(run, enum ingot_status status = INGOT_OK;
        for (int i = 0; i < 20 && !status; i++) status = ingot_routine_run(t->dense, NULL); return status;)
DEED(close_routine, return ingot_routine_close(t->dense);)
DEED(close_context, ingot_routine_close(t->dense); return ingot_context_close(t->context);)
DEED(close_library, return ingot_library_close(t->library);)
DEED(close_node, return ingot_node_close(t->node);)
DEED(from_host, enum ingot_status status = INGOT_OK;
        for (int i = 0; i < 10 && !status; i++) status = ingot_from_host(t->context, t->node, NULL, NULL);
        return status;)
DEED(set_all, enum ingot_status status = INGOT_OK;
        for (int i = 0; i < 10 && !status; i++) status = ingot_node_set_all(t->node, (double[16]){ i }, 16);
        return status;)
DEED(get_all, enum ingot_status status = INGOT_OK; double v[16];
        for (int i = 0; i < 10 && !status; i++) status = ingot_node_get_all(t->node, v, 16); return status;)
DEED(place, enum ingot_status status = INGOT_OK;
        for (int i = 0; i < 10 && !status; i++) status = ingot_context_place(t->linked, &t->y, 1); return status;)
DEED(await, return ingot_stream_await(t->other);)
DEED(sync_device, return ingot_device_sync(t->device);)
DEED(cancel, enum ingot_status status = INGOT_OK;
        for (int i = 0; i < 20 && !status; i++) status = ingot_stream_cancel(t->other); return status;)
DEED(restart, enum ingot_status status = INGOT_OK;
        for (int i = 0; i < 20 && !status; i++) status = ingot_stream_restart(t->other); return status;)
DEED(event_sync, return ingot_event_sync(t->event);)
DEED(event_sync_until, return ingot_event_sync_until(t->event, ingot_clock() + 1000);)
DEED(event_close, return ingot_event_close(t->event);)
DEED(event_signal, return ingot_event_signal(t->event);)
DEED(
        dump, char text[64]; for (int i = 0; i < 20; i++) {
	        ingot_runtime_json(t->runtime, text, sizeof text);
	        ingot_device_json(t->device, text, sizeof text);
	        ingot_context_json(t->linked, text, sizeof text);
	        ingot_routine_json(t->dense, text, sizeof text);
        } return INGOT_OK;)
DEED(
        trace, for (int i = 0; i < 20; i++) {
	        char text[64];
	        ingot_trace_begin(t->runtime, 5);
	        ingot_trace_json(t->runtime, text, sizeof text);
	        ingot_trace_end(t->runtime);
        } return INGOT_OK;)
DEED(transfer, enum ingot_status status = INGOT_OK;
        for (int i = 0; i < 10 && !status; i++) status = ingot_device_to_device(
                t->node, t->linked, i & 1 ? INGOT_MERGE_STREAMING : INGOT_MERGE_COPY, t->context, NULL, NULL);
        return status;)
DEED(overwrite, enum ingot_status status = INGOT_OK;
        for (int i = 0; i < 10 && !status; i++) status = ingot_write(t->context, t->node, t->host, 64, NULL);
        return status;)

static void again(struct scene *t)
{
	if (t->runtime) {
		if (ingot_runtime_close(t->runtime) == INGOT_LEFT_OPEN && strstr(ingot_message(), "not given back"))
			must(INGOT_LEFT_OPEN, "ingot_runtime_close");
		free(t->host);
	}
	scene_open(t, NULL);
}

#define BESIDE(name, one, two) \
	static enum ingot_status beside_##name(struct scene *t) \
	{ \
		for (int i = 0; i < rounds(); i++) { \
			DO_OK(at_once(t, do_##one, do_##two)); \
			again(t); \
		} \
		return INGOT_OK; \
	}
BESIDE(record_and_close, record, close_stream)
BESIDE(submit_and_close, submit, close_stream)
BESIDE(submit_and_close_device, submit, close_device)
BESIDE(context_and_close_device, context_new, close_device)
BESIDE(child_and_close_device, context_child, close_device)
BESIDE(stream_and_close_device, stream_open, close_device)
BESIDE(pool_and_close_device, pool_open, close_device)
BESIDE(run_and_close_device, run, close_device)
BESIDE(link_and_close_device, link, close_device)
BESIDE(close_device_twice, close_device, close_device)
BESIDE(close_stream_twice, close_stream, close_stream)
BESIDE(close_stream_and_device, close_stream, close_device)
BESIDE(sync_and_close_device, sync_device, close_device)
BESIDE(pool_replace_and_fill, pool_replace, pool_fill)
BESIDE(pool_close_and_fill, pool_close, pool_fill)
BESIDE(link_and_link, link, link_other)
BESIDE(link_and_close_library, link, close_library)
BESIDE(link_and_close_context, link, close_context)
BESIDE(run_and_close_routine, run, close_routine)
BESIDE(run_and_run, run, run)
BESIDE(close_routine_twice, close_routine, close_routine)
BESIDE(close_node_and_upload, close_node, from_host)
BESIDE(set_and_upload, set_all, from_host)
BESIDE(set_and_get, set_all, get_all)
BESIDE(set_and_close_node, set_all, close_node)
BESIDE(place_and_place, place, place)
BESIDE(place_and_close, place, close_routine)
BESIDE(submit_and_await, submit, await)
BESIDE(submit_and_cancel, submit, cancel)
BESIDE(submit_and_restart, submit, restart)
BESIDE(sync_and_close_event, event_sync, event_close)
BESIDE(until_and_close_event, event_sync_until, event_close)
BESIDE(dump_and_close_device, dump, close_device)
BESIDE(dump_and_run, dump, run)
BESIDE(trace_and_submit, trace, submit)
BESIDE(transfer_and_overwrite, transfer, overwrite)
BESIDE(transfer_and_close_device, transfer, close_device)

/* A promise is signalled, or closed, while somebody waits for it. */
static enum ingot_status beside_promise(struct scene *t)
{
	for (int i = 0; i < rounds(); i++) {
		MUST(ingot_event_open(t->runtime, &t->event));
		DO_OK(at_once(t, do_event_sync, i & 1 ? do_event_signal : do_event_close));
	}
	return INGOT_OK;
}

/* An await ends with what was submitted before it, however much another thread goes on submitting; closing an empty
 * context beside him as well. */
static _Atomic bool over;
static void *submitter(void *argument)
{
	struct scene *t = argument;
	while (!atomic_load(&over))
		if (ingot_task_submit(t->stream, &(struct ingot_task){ .run = slow }, NULL))
			break;
	return NULL;
}
static enum ingot_status beside_submitter(struct scene *t)
{
	pthread_t thread;
	struct ingot_context empty;
	ingot_runtime_close(t->runtime);
	free(t->host);
	scene_open(t, &(struct ingot_runtime_options){ .queue_capacity = 256 });
	if (pthread_create(&thread, NULL, submitter, t))
		return INGOT_MEMORY;
	while (!t->in_place && !ingot_stream_queued(t->stream))
		;
	MUST(ingot_context_new(t->stream, &empty));
	enum ingot_status status = ingot_stream_await(t->stream);
	if (!status)
		status = ingot_context_close(empty);
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	return status;
}

/* The device's own thread gives the last slab back while the runtime, and its backend with it, is closed. */
static enum ingot_status beside_free_and_close_runtime(struct scene *t)
{
	mock_slow_frees(true);
	for (int i = 0; i < rounds(); i++) {
		for (int k = 0; k < 20; k++)
			MUST(ingot_pool_fill(t->stream, t->pool, 0, 64, k, NULL));
		MUST(ingot_pool_replace(t->device, t->pool, 64, 0, INGOT_SLAB_PRIVATE));
		again(t);
	}
	mock_slow_frees(false);
	return INGOT_OK;
}

#define B(name) \
	{ \
		"beside", #name, INGOT_OK, INGOT_OK, beside_##name, NULL \
	}
const struct way ways_beside[] = { B(record_and_close), B(submit_and_close), B(submit_and_close_device),
	B(context_and_close_device), B(child_and_close_device), B(stream_and_close_device), B(pool_and_close_device),
	B(run_and_close_device), B(link_and_close_device), B(close_device_twice), B(close_stream_twice),
	B(close_stream_and_device), B(sync_and_close_device), B(pool_replace_and_fill), B(pool_close_and_fill),
	B(link_and_link), B(link_and_close_library), B(link_and_close_context), B(run_and_close_routine),
	B(run_and_run), B(close_routine_twice), B(close_node_and_upload), B(set_and_upload), B(set_and_get),
	B(set_and_close_node), B(place_and_place), B(place_and_close), B(submit_and_await), B(submit_and_cancel),
	B(submit_and_restart), B(sync_and_close_event), B(until_and_close_event), B(dump_and_close_device),
	B(dump_and_run), B(trace_and_submit), B(transfer_and_overwrite), B(transfer_and_close_device), B(promise),
	B(submitter), B(free_and_close_runtime), { 0 } };
