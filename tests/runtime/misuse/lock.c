/* lock.c: nothing long under the runtime's lock: where a call of the backend takes its time, another thread's call of
 * the runtime is answered meanwhile.  The backend waits for that answer, so with the lock held it would wait for
 * ever. */
#include <signal.h>
#include <sys/mman.h>
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

static enum ingot_status slow_module(void *d, const struct ingot_module *m, void **loaded, char *t)
{
	take_time();
	*loaded = NULL;
	return real->module_load ? real->module_load(d, m, loaded, t) : INGOT_OK;
}

/* Where a call fills or reads memory for long, the first touch of it takes its time. */
enum { PAGE = 65536 };
static char *page;

static void touched(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	if ((char *)info->si_addr < page || (char *)info->si_addr >= page + PAGE)
		abort();
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	take_time();
}

static char *slow_page(void)
{
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &(struct sigaction){ .sa_sigaction = touched, .sa_flags = SA_SIGINFO }, NULL);
	mprotect(page, PAGE, PROT_NONE);
	return page;
}

static const int64_t rows[1] = { 1000 }, left[1] = { 1 };
static const struct ingot_node_options with_margin = { .dtype = INGOT_F32, .rank = 1, .dims = rows, .left = left };

static enum ingot_status reshape(struct scene *t)
{
	struct ingot_node node;
	return ingot_node_reshape(t->runtime, &with_margin, slow_page(), 999, &node);
}

static bool node_is_slow; /* its array is the slow page */
static void *allocate(void *user, size_t bytes)
{
	(void)user;
	return node_is_slow && bytes == 4000 ? slow_page() : calloc(1, bytes);
}
static void release(void *user, void *memory)
{
	(void)user;
	if (memory != page)
		free(memory);
}

static enum ingot_status host_create(struct scene *t)
{
	struct ingot_node node;
	DO_OK(ingot_node_new(t->runtime, &with_margin, &node));
	node_is_slow = true;
	return ingot_node_host_create(node);
}

static enum ingot_status trace(struct scene *t)
{
	DO_OK(ingot_trace_begin(t->runtime, 8));
	DO_OK(ingot_task_submit(t->stream, &(struct ingot_task){ 0 }, NULL));
	DO_OK(ingot_stream_await(t->stream));
	return ingot_trace_json(t->runtime, slow_page(), PAGE) > 20 ? INGOT_OK : INGOT_FAILED;
}

/* Each of them: with a runtime of its own, whose backend is the scene's, slowed down. */
static enum ingot_status during(struct scene *t, enum ingot_status (*work)(struct scene *), bool alloc, bool give,
        bool queue, bool device, bool module)
{
	struct scene own = { .device_name = t->device_name, .in_place = t->in_place, .lazy = t->lazy };
	pthread_t thread;
	real = backend_named(t->device_name);
	slow = *real;
	slow.slab_alloc = alloc ? slow_alloc : slow.slab_alloc;
	slow.slab_free = give ? slow_free : slow.slab_free;
	slow.queue_open = queue ? slow_queue : slow.queue_open;
	slow.device_open = device ? slow_device : slow.device_open;
	slow.module_load = module ? slow_module : slow.module_load;
	scene_open(&own,
	        &(struct ingot_runtime_options){ .backends = (const struct ingot_backend *const[]){ &slow, NULL },
	                .allocate = allocate,
	                .release = release });
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
static enum ingot_status link_first(struct scene *t)
{
	struct ingot_library library;
	DO_OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	return ingot_link(t->context, library, "copy", &t->twice);
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
L(pool_open, pool_open, true, false, false, false, false)
L(pool_replace, pool_replace, true, false, false, false, false)
L(pool_close, pool_close, false, true, false, false, false)
L(place, place, true, false, false, false, false)
L(link, link_dense, true, false, false, false, false)
L(merge, merge, true, false, false, false, false)
L(stream_open, stream_open, false, false, true, false, false)
L(device_open, device_open, false, false, false, true, false)
L(device_stream, device_open, false, false, true, false, false)

L(module, link_first, false, false, false, false, true)
L(reshape, reshape, false, false, false, false, false)
L(host_create, host_create, false, false, false, false, false)
L(trace, trace, false, false, false, false, false)

#define R(name) \
	{ \
		"lock", #name, INGOT_OK, INGOT_OK, lock_##name, NULL \
	}
const struct way ways_lock[] = { R(pool_open), R(pool_replace), R(pool_close), R(place), R(link), R(merge),
	R(stream_open), R(device_open), R(device_stream), R(module), R(reshape), R(host_create), R(trace), { 0 } };
