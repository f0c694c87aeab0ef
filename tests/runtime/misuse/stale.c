/* stale.c: handles of zeros, of what was closed, and of another runtime. */
#include "misuse.h"

#define Z(name, expression) WAY(zeros, name, expression)
Z(device, ingot_device_sync((struct ingot_device){ 0 }))
Z(stream, ingot_stream_await((struct ingot_stream){ 0 }))
Z(event, ingot_event_sync((struct ingot_event){ 0 }))
Z(context, ingot_context_close((struct ingot_context){ 0 }))
Z(node, ingot_node_host_create((struct ingot_node){ 0 }))
Z(library, ingot_library_close((struct ingot_library){ 0 }))
Z(routine, ingot_routine_run((struct ingot_routine){ 0 }, NULL))
Z(wait, ingot_stream_wait(t->stream, (struct ingot_event){ 0 }))
Z(signal, ingot_stream_signal(t->stream, (struct ingot_event){ 0 }))
Z(place, ingot_context_place(t->context, &(struct ingot_node){ 0 }, 1))
Z(source, ingot_device_to_device(t->node, t->linked, INGOT_MERGE_NONE, (struct ingot_context){ 0 }, NULL, NULL))
Z(link, ingot_link(t->context, (struct ingot_library){ 0 }, "dense", &t->dense))
Z(with,
        ingot_library_load(t->runtime, &small_module,
                &(struct ingot_library_options){ .with = { t->runtime, 9999, 3 } }, &t->library))
Z(numbers,
        THAT(ingot_stream_number((struct ingot_stream){ 0 }) == -1
                && ingot_stream_queued((struct ingot_stream){ 0 }) == 0
                && ingot_node_id((struct ingot_node){ 0 }) == UINT32_MAX
                && !ingot_node_has_host((struct ingot_node){ 0 })
                && ingot_context_finalized((struct ingot_context){ 0 })
                && !ingot_device_parallel((struct ingot_device){ 0 })))
Z(texts,
        THAT(!ingot_stream_name((struct ingot_stream){ 0 }, NULL, 0)
                && !ingot_device_json((struct ingot_device){ 0 }, NULL, 0)
                && !ingot_routine_json((struct ingot_routine){ 0 }, NULL, 0)))
#undef Z

static struct ingot_stream closed_stream(struct scene *t)
{
	MUST(ingot_stream_close(t->other));
	return t->other;
}
static struct ingot_event closed_event(struct scene *t)
{
	MUST(ingot_event_close(t->event));
	return t->event;
}
static struct ingot_context closed_context(struct scene *t)
{
	struct ingot_context context;
	MUST(ingot_context_new(t->stream, &context));
	MUST(ingot_context_close(context));
	return context;
}
static struct ingot_context finalized(struct scene *t)
{
	struct ingot_context context;
	MUST(ingot_context_new(t->stream, &context));
	MUST(ingot_context_place(context, &t->node, 1));
	MUST(ingot_context_finalize(context));
	return context;
}
static struct ingot_node closed_node(struct scene *t)
{
	MUST(ingot_node_close(t->node));
	return t->node;
}
static struct ingot_routine closed_routine(struct scene *t)
{
	MUST(ingot_routine_close(t->dense));
	return t->dense;
}
static struct ingot_device closed_device(struct scene *t)
{
	MUST(ingot_device_close(t->device));
	return t->device;
}
static struct ingot_library closed_library(struct scene *t)
{
	MUST(ingot_routine_close(t->dense));
	MUST(ingot_library_close(t->library));
	return t->library;
}

#define C(name, expression) WAY(closed, name, expression)
C(stream_submit, ingot_task_submit(closed_stream(t), &(struct ingot_task){ 0 }, NULL))
C(stream_record, ingot_event_record(closed_stream(t), &t->event))
C(stream_signal, ingot_stream_signal(closed_stream(t), t->event))
C(stream_context, ingot_context_new(closed_stream(t), &t->context))
C(stream_child, ingot_context_child(t->context, closed_stream(t), &t->linked))
C(stream_fill, ingot_pool_fill(closed_stream(t), t->pool, 0, 8, 0, NULL))
C(stream_restart, ingot_stream_restart(closed_stream(t)))
C(stream_cancel, ingot_stream_cancel(closed_stream(t)))
C(event_wait, ingot_stream_wait(t->stream, closed_event(t)))
C(event_signal, ingot_event_signal(closed_event(t)))
C(context_place, ingot_context_place(closed_context(t), &t->node, 1))
C(context_write, ingot_write(closed_context(t), t->node, t->host, 64, NULL))
C(context_link, ingot_link(closed_context(t), t->library, "dense", &t->dense))
C(finalized_write, ingot_write(finalized(t), t->node, t->host, 64, NULL))
C(finalized_place, ingot_context_place(finalized(t), &t->node, 1))
C(finalized_child, ingot_context_child(finalized(t), (struct ingot_stream){ 0 }, &t->linked))
C(finalized_link, ingot_link(finalized(t), t->library, "dense", &t->dense))
C(finalized_source, ingot_device_to_device(t->node, t->linked, INGOT_MERGE_COPY, finalized(t), NULL, NULL))
C(finalized_init, ingot_init_from_host(finalized(t), t->y, t->host, 64, &t->linked))
C(node_read, ingot_read(t->context, closed_node(t), t->host, 64, NULL))
C(node_set_all, ingot_node_set_all(closed_node(t), (double[16]){ 0 }, 16))
C(node_transfer, ingot_device_to_device(closed_node(t), t->linked, INGOT_MERGE_COPY, t->context, NULL, NULL))
C(routine_run, ingot_routine_run(closed_routine(t), NULL))
C(routine_set, ingot_routine_set(closed_routine(t), "n", 1))
C(routine_its_context, (closed_routine(t), ingot_context_place(t->linked, &t->node, 1)))
C(device_stream, ingot_stream_open(closed_device(t), &t->stream))
C(device_pool, ingot_pool_open(closed_device(t), 16, 0, INGOT_SLAB_PRIVATE, &t->pool))
C(device_its_stream, (closed_device(t), ingot_task_submit(t->stream, &(struct ingot_task){ 0 }, NULL)))
C(device_its_context, (closed_device(t), ingot_context_place(t->context, &t->node, 1)))
C(device_its_routine, (closed_device(t), ingot_routine_run(t->dense, NULL)))
C(library_link, ingot_link(t->context, closed_library(t), "dense", &t->dense))
C(library_node, ingot_library_node(closed_library(t), "x", &t->x))
C(pool_fill, (MUST(ingot_pool_close(t->device, t->pool)), ingot_pool_fill(t->stream, t->pool, 0, 8, 0, NULL)))
C(buffer_launch,
        (MUST(ingot_pool_close(t->device, t->buffer.pool)),
                ingot_kernel_launch(t->stream, t->kernel, (uint32_t[]){ 1, 1, 1 }, NULL,
                        (struct ingot_buffer[]){ t->buffer, t->buffer }, 2, NULL)))
C(buffer_close_unknown, ingot_buffer_close(t->device, &(struct ingot_buffer){ .pool = 4242 }))
#undef C

/* A handle of another runtime is no handle of this one, whatever its numbers. */
static struct scene another(struct scene *t)
{
	struct scene two = { .device_name = t->device_name };
	scene_open(&two, NULL);
	free(two.host);
	return two;
}
#define X(name, expression) \
	static enum ingot_status foreign_##name(struct scene *t) \
	{ \
		struct scene two = another(t); \
		enum ingot_status status = (expression); \
		ingot_runtime_close(two.runtime); \
		return status; \
	}
X(event, ingot_stream_wait(t->stream, two.event))
X(node, ingot_context_place(t->context, &two.node, 1))
X(library, ingot_link(t->context, two.library, "dense", &t->dense))
X(context, ingot_device_to_device(t->node, t->linked, INGOT_MERGE_COPY, two.context, NULL, NULL))
X(stream, ingot_context_child(t->context, two.stream, &t->linked))
X(with,
        ingot_library_load(
                t->runtime, &small_pair_module, &(struct ingot_library_options){ .with = two.library }, &t->library))
#undef X

#define S(group, name) \
	{ \
#group, #name, INGOT_STALE, INGOT_STALE, group##_##name, NULL \
	}
const struct way ways_stale[] = { S(zeros, device), S(zeros, stream), S(zeros, event), S(zeros, context),
	S(zeros, node), S(zeros, library), S(zeros, routine), S(zeros, wait), S(zeros, signal), S(zeros, place),
	S(zeros, source), S(zeros, link), S(zeros, with),
	{ "zeros", "numbers", INGOT_OK, INGOT_OK, zeros_numbers, NULL },
	{ "zeros", "texts", INGOT_OK, INGOT_OK, zeros_texts, NULL }, S(closed, stream_submit), S(closed, stream_record),
	S(closed, stream_signal), S(closed, stream_context), S(closed, stream_child), S(closed, stream_fill),
	S(closed, stream_restart), S(closed, stream_cancel), S(closed, event_wait), S(closed, event_signal),
	S(closed, context_place), S(closed, context_write), S(closed, context_link), S(closed, finalized_write),
	S(closed, finalized_place), S(closed, finalized_child), S(closed, finalized_link), S(closed, finalized_source),
	S(closed, finalized_init), S(closed, node_read), S(closed, node_set_all), S(closed, node_transfer),
	S(closed, routine_run), S(closed, routine_set), S(closed, routine_its_context), S(closed, device_stream),
	S(closed, device_pool), S(closed, device_its_stream), S(closed, device_its_context),
	S(closed, device_its_routine), S(closed, library_link), S(closed, library_node),
	{ "closed", "pool_fill", INGOT_MISSING, INGOT_MISSING, closed_pool_fill, NULL },
	{ "closed", "buffer_launch", INGOT_MISSING, INGOT_MISSING, closed_buffer_launch, NULL },
	{ "closed", "buffer_close_unknown", INGOT_OK, INGOT_OK, closed_buffer_close_unknown, NULL }, S(foreign, event),
	S(foreign, node), S(foreign, library), S(foreign, context), S(foreign, stream), S(foreign, with), { 0 } };
