/* inside.c: calls that wait for the very work they are made in: from tasks, from the code of routines and kernels, from
 * `destroy`. */
#include "misuse.h"

/* A task that stands in the other stream, so that there is something to wait for; in place and lazy it does not
 * stand. */
static enum ingot_status busy(struct scene *t, struct ingot_event *done)
{
	/* Behind this very task, on its own stream: never done while it runs. */
	return ingot_task_submit(t->stream, &(struct ingot_task){ .name = "behind" }, done);
}

#define W(name, ...) \
	static enum ingot_status in_##name(struct scene *t) \
	{ \
		struct ingot_event later; \
		DO_OK(busy(t, &later)); \
		(void)later; \
		return (__VA_ARGS__); \
	} \
	static enum ingot_status inside_##name(struct scene *t) { return in_task(t, in_##name); }
W(await, ingot_stream_await(t->stream))
W(device_sync, ingot_device_sync(t->device))
W(device_close, ingot_device_close(t->device))
W(stream_close, ingot_stream_close(t->stream))
W(stream_close_other, ingot_stream_close(t->other))
W(runtime_close, ingot_runtime_close(t->runtime))
W(restart, ingot_stream_restart(t->stream))
W(event_sync, ingot_event_sync(later))
W(buffer_write, ingot_buffer_write(t->stream, &t->buffer, t->host, 64, 0, 64))
W(buffer_write_other, ingot_buffer_write(t->other, &t->buffer, (float[16]){ 1 }, 64, 0, 64))
W(buffer_read, ingot_buffer_read(t->stream, &t->buffer, 0, t->host, 64, 0, 64))
W(wait_later, ingot_stream_wait(t->stream, later))
W(submit, ingot_task_submit(t->other, &(struct ingot_task){ .name = "more" }, NULL))
W(run, ingot_routine_run(t->dense, NULL))
W(link, ingot_link(t->context, t->library, "dense", &t->twice))
W(context_new, ingot_context_new(t->other, &(struct ingot_context){ 0 }))
W(place, ingot_context_place(t->context, &t->y, 1))
W(routine_close, ingot_routine_close(t->dense))
W(context_close, ingot_context_close(t->linked))
W(pool_close, ingot_pool_close(t->device, t->pool))
W(stream_open, ingot_stream_open(t->device, &(struct ingot_stream){ 0 }))
W(library_close, ingot_library_close(t->library))
W(cancel_itself, ingot_stream_cancel(t->stream))
W(record, ingot_event_record(t->stream, &(struct ingot_event){ 0 }))
W(dump, THAT(ingot_device_json(t->device, NULL, 0) && ingot_runtime_json(t->runtime, NULL, 0)))

/* Fills its own queue: room comes only when it ends. */
static enum ingot_status fill(struct scene *t)
{
	for (int i = 0; i < 100000; i++) {
		enum ingot_status status = ingot_task_submit(t->stream, &(struct ingot_task){ 0 }, NULL);
		if (status)
			return status;
	}
	return INGOT_OK;
}
static enum ingot_status inside_fill_the_queue(struct scene *t) { return in_task(t, fill); }

/* Two tasks that await each other's streams. */
struct crossing {
	struct scene *scene;
	struct ingot_stream other;
	enum ingot_status answer;
	_Atomic int *arrived;
};

static int cross(void *argument)
{
	struct crossing *crossing = argument;
	atomic_fetch_add(crossing->arrived, 1);
	for (int i = 0; i < 2000 && atomic_load(crossing->arrived) < 2; i++)
		usleep(100);
	crossing->answer = ingot_stream_await(crossing->other);
	return 0;
}

static enum ingot_status inside_await_each_other(struct scene *t)
{
	_Atomic int arrived = 0;
	struct crossing one = { t, t->other, INGOT_OK, &arrived }, two = { t, t->stream, INGOT_OK, &arrived };
	struct ingot_event done[2];
	if (t->in_place || t->lazy) /* nothing runs at the same time */
		return INGOT_WOULD_BLOCK;
	MUST(ingot_task_submit(t->stream, &(struct ingot_task){ .run = cross, .argument = &one }, done));
	MUST(ingot_task_submit(t->other, &(struct ingot_task){ .run = cross, .argument = &two }, done + 1));
	MUST(ingot_event_sync(done[0]));
	MUST(ingot_event_sync(done[1]));
	return one.answer == INGOT_WOULD_BLOCK ? one.answer : two.answer;
}

/* ---- in destroy ---- */

static enum ingot_status destroyed_answer;
static void destroy(void *argument)
{
	struct scene *t = argument;
	destroyed_answer = ingot_stream_await(t->stream);
}
static enum ingot_status inside_destroy(struct scene *t)
{
	struct ingot_event done;
	MUST(ingot_task_submit(
	        t->stream, &(struct ingot_task){ .name = "destroyed", .argument = t, .destroy = destroy }, &done));
	MUST(ingot_event_sync(done));
	return destroyed_answer;
}

/* ---- in a routine, and in a kernel ---- */

static struct scene *here;
static enum ingot_status (*here_work)(struct scene *);
static enum ingot_status here_answer;

static int routine_code(const struct ingot_call *call)
{
	(void)call;
	here_answer = here_work(here);
	return 0;
}
static int kernel_code(const struct ingot_group *group, void *const *arguments)
{
	(void)group, (void)arguments;
	here_answer = here_work(here);
	return 0;
}
static const struct ingot_module_routine calling_routines[] = {
	{ .name = "calls", .merge_input = -1, .run = routine_code }
};
static const struct ingot_module_kernel calling_kernel = { .name = "calls", .run = kernel_code };
static const struct ingot_module calling = {
	.abi = INGOT_ABI, .name = "calling", .routines = calling_routines, .routine_count = 1
};

static enum ingot_status in_routine(struct scene *t, enum ingot_status (*work)(struct scene *))
{
	struct ingot_library library;
	struct ingot_event done;
	MUST(ingot_library_load(t->runtime, &calling, NULL, &library));
	MUST(ingot_link(t->context, library, "calls", &t->twice));
	here = t;
	here_work = work;
	MUST(ingot_routine_run(t->twice, &done));
	MUST(ingot_event_sync(done));
	return here_answer;
}

static enum ingot_status log_itself(struct scene *t) { return ingot_routine_log(t->twice, "somewhere"); }
static enum ingot_status run_itself(struct scene *t)
{
	here_work = in_submit; /* the second time it does something else */
	return ingot_routine_run(t->twice, NULL);
}
static enum ingot_status routine_log(struct scene *t) { return in_routine(t, log_itself); }
static enum ingot_status routine_await(struct scene *t) { return in_routine(t, in_await); }
static enum ingot_status routine_buffer_write(struct scene *t) { return in_routine(t, in_buffer_write); }
static enum ingot_status routine_buffer_read(struct scene *t) { return in_routine(t, in_buffer_read); }
static enum ingot_status routine_run_itself(struct scene *t) { return in_routine(t, run_itself); }
static enum ingot_status close_itself(struct scene *t) { return ingot_routine_close(t->twice); }
static enum ingot_status routine_close_itself(struct scene *t) { return in_routine(t, close_itself); }
static enum ingot_status kernel_await(struct scene *t)
{
	struct ingot_event done;
	here = t;
	here_work = in_await;
	MUST(ingot_kernel_launch(t->stream, &calling_kernel, (uint32_t[]){ 1, 1, 1 }, NULL, NULL, 0, &done));
	MUST(ingot_event_sync(done));
	return here_answer;
}

/* ---- with automatic transfers a host access would fetch ---- */

static enum ingot_status get_automatically(struct scene *t)
{
	double value;
	DO_OK(ingot_routine_run(t->dense, NULL)); /* queued behind this task: y is newer on the device soon */
	return ingot_node_get(t->y, (int64_t[]){ 0 }, 1, &value);
}

static enum ingot_status inside_node_get(struct scene *t)
{
	ingot_runtime_close(t->runtime);
	free(t->host);
	scene_open(t, &(struct ingot_runtime_options){ .automatic_transfers = true });
	MUST(ingot_node_host_create(t->y));
	return in_task(t, get_automatically);
}

#define B(group, name) \
	{ \
#group, #name, INGOT_WOULD_BLOCK, INGOT_WOULD_BLOCK, group##_##name, NULL \
	}
#define G(group, name) \
	{ \
#group, #name, INGOT_OK, INGOT_OK, group##_##name, NULL \
	}
const struct way ways_inside[] = { B(inside, await), B(inside, device_sync), B(inside, device_close),
	B(inside, stream_close), B(inside, stream_close_other), B(inside, runtime_close), B(inside, restart),
	B(inside, event_sync), B(inside, buffer_write), B(inside, buffer_write_other), B(inside, buffer_read),
	B(inside, fill_the_queue), B(inside, await_each_other), B(inside, destroy), B(inside, node_get),
	G(inside, wait_later), G(inside, submit), G(inside, run), G(inside, link), G(inside, context_new),
	G(inside, place), G(inside, routine_close),
	{ "inside", "context_close", INGOT_OK, INGOT_OK, inside_context_close, NULL }, G(inside, pool_close),
	G(inside, stream_open), { "inside", "library_close", INGOT_BUSY, INGOT_BUSY, inside_library_close, NULL },
	G(inside, cancel_itself), G(inside, record), G(inside, dump), G(routine, log), B(routine, await),
	B(routine, buffer_write), B(routine, buffer_read), G(routine, run_itself), G(routine, close_itself),
	B(kernel, await), { 0 } };
