/* lock.c: nothing long under the runtime's lock: where a call of the backend takes its time, another thread's call of
 * the runtime is answered meanwhile.  The backend waits for that answer, so with the lock held it would wait for ever.
 */
#include "misuse.h"

static struct ingot_backend slow;
static const struct ingot_backend *real;
static struct ingot_runtime *runtime;
static _Atomic int armed, asked, answered;

static void *ask(void *unused)
{
	(void)unused;
	while (!atomic_load(&asked))
		usleep(50);
	ingot_runtime_json(runtime, NULL, 0);
	atomic_store(&answered, 1);
	return NULL;
}

static void take_time(void)
{
	if (!atomic_exchange(&armed, 0))
		return;
	atomic_store(&asked, 1);
	while (!atomic_load(&answered))
		usleep(50);
}

static enum ingot_status slow_alloc(void *d, size_t b, size_t a, enum ingot_slab_mode m, void **s, char *t)
{
	take_time();
	return real->slab_alloc(d, b, a, m, s, t);
}
static void slow_free(void *d, void *s)
{
	take_time();
	real->slab_free(d, s);
}
static enum ingot_status slow_queue(void *d, struct ingot_queue *o, void **q, char *t)
{
	take_time();
	return real->queue_open(d, o, q, t);
}
static enum ingot_status slow_device(void *s, int n, void **d, char *t)
{
	take_time();
	return real->device_open(s, n, d, t);
}

/* Each of them: with a runtime of its own, whose backend is the scene's, slowed down. */
static enum ingot_status during(
        struct scene *t, enum ingot_status (*work)(struct scene *), bool alloc, bool release, bool queue, bool device)
{
	struct scene own = { .device_name = t->device_name, .in_place = t->in_place, .lazy = t->lazy };
	pthread_t thread;
	real = backend_named(t->device_name);
	slow = *real;
	slow.slab_alloc = alloc ? slow_alloc : slow.slab_alloc;
	slow.slab_free = release ? slow_free : slow.slab_free;
	slow.queue_open = queue ? slow_queue : slow.queue_open;
	slow.device_open = device ? slow_device : slow.device_open;
	scene_open(&own,
	        &(struct ingot_runtime_options){ .backends = (const struct ingot_backend *const[]){ &slow, NULL } });
	runtime = own.runtime;
	if (pthread_create(&thread, NULL, ask, NULL))
		return INGOT_MEMORY;
	atomic_store(&armed, 1);
	enum ingot_status status = work(&own);
	pthread_join(thread, NULL);
	if (ingot_runtime_close(own.runtime) == INGOT_LEFT_OPEN && strstr(ingot_message(), "not given back"))
		status = INGOT_FAILED;
	free(own.host);
	return status;
}

static enum ingot_status pool_open(struct scene *t)
{
	return ingot_pool_open(t->device, 64, 0, INGOT_SLAB_PRIVATE, &t->pool);
}
static enum ingot_status pool_replace(struct scene *t)
{
	return ingot_pool_replace(t->device, t->pool, 64, 0, INGOT_SLAB_PRIVATE);
}
static enum ingot_status pool_close(struct scene *t) { return ingot_pool_close(t->device, t->pool); }
static enum ingot_status place(struct scene *t) { return ingot_context_place(t->context, &t->y, 1); }
static enum ingot_status link_dense(struct scene *t)
{
	struct ingot_context fresh;
	MUST(ingot_context_new(t->other, &fresh));
	return ingot_link(fresh, t->library, "dense", &t->twice);
}
static enum ingot_status merge(struct scene *t)
{
	return ingot_device_to_device(t->x, t->context, INGOT_MERGE_COPY, t->linked, NULL, NULL);
}
static enum ingot_status stream_open(struct scene *t) { return ingot_stream_open(t->device, &t->other); }
static enum ingot_status device_open(struct scene *t)
{
	return ingot_device_another(t->runtime, t->device_name, 0, &t->device);
}

#define L(name, work, ...) \
	static enum ingot_status lock_##name(struct scene *t) { return during(t, work, __VA_ARGS__); }
L(pool_open, pool_open, true, false, false, false)
L(pool_replace, pool_replace, true, false, false, false)
L(pool_close, pool_close, false, true, false, false)
L(place, place, true, false, false, false)
L(link, link_dense, true, false, false, false)
L(merge, merge, true, false, false, false)
L(stream_open, stream_open, false, false, true, false)
L(device_open, device_open, false, false, false, true)
L(device_stream, device_open, false, false, true, false)

#define R(name) \
	{ \
		"lock", #name, INGOT_OK, INGOT_OK, lock_##name, NULL \
	}
const struct way ways_lock[] = { R(pool_open), R(pool_replace), R(pool_close), R(place), R(link), R(merge),
	R(stream_open), R(device_open), R(device_stream), { 0 } };
