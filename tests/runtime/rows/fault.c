/* fault.c: an allocator, a backend and a C library that fail on purpose.  The C library's calls come here by the linker
 * (--wrap), from all of the program: the runtime's backends, those of the tests, and the tests. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include "fault.h"

static _Atomic int left, driver_left; /* calls until the one that fails */
static _Atomic bool happened;
static _Atomic bool libc_too;
static _Thread_local bool here;
static _Atomic long blocks, libc_blocks, threads;
static const struct ingot_backend *real;
static struct ingot_backend wrapped;

void fault_plant(int n) { atomic_store(&left, n); }
void fault_plant_driver(int n) { atomic_store(&driver_left, n); }

static const char *_Atomic failing_name;
static _Atomic int failing_count;
static bool on_standin;

bool fault_driver(const char *name, int count)
{
	atomic_store(&failing_count, count);
	atomic_store(&failing_name, name);
	return on_standin;
}

bool fault_happened(void) { return atomic_load(&happened); }
long fault_blocks(void) { return atomic_load(&blocks); }
void fault_libc(bool too) { atomic_store(&libc_too, too); }
long fault_libc_blocks(void) { return atomic_load(&libc_blocks); }
long fault_threads(void) { return atomic_load(&threads); }

void fault_forget(void)
{
	atomic_store(&left, 0);
	atomic_store(&driver_left, 0);
	atomic_store(&happened, false);
	here = false;
}

bool fault_here(void) { return here; }

static bool counted_down(_Atomic int *calls)
{
	if (atomic_load(calls) <= 0 || atomic_fetch_sub(calls, 1) != 1)
		return false;
	atomic_store(&happened, true);
	here = true;
	return true;
}

static bool due(void) { return counted_down(&left); }
static int driver_due(const char *name)
{
	const char *failing = atomic_load(&failing_name);
	if (failing && !strcmp(name, failing) && atomic_fetch_sub(&failing_count, 1) > 0)
		return 1;
	bool now = counted_down(&driver_left);
	if (now && getenv("VERBOSE"))
		fprintf(stderr, "fails: %s\n", name);
	return now;
}

void *__real_malloc(size_t), *__real_calloc(size_t, size_t), __real_free(void *);
int __real_posix_memalign(void **, size_t, size_t), __real_pthread_join(pthread_t, void **);
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
void *__wrap_malloc(size_t), *__wrap_calloc(size_t, size_t), __wrap_free(void *);
int __wrap_posix_memalign(void **, size_t, size_t), __wrap_pthread_join(pthread_t, void **);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static bool libc_due(void) { return atomic_load(&libc_too) && due(); }

static void *counted(void *memory)
{
	if (memory)
		atomic_fetch_add(&libc_blocks, 1);
	return memory;
}

void *__wrap_malloc(size_t bytes) { return libc_due() ? NULL : counted(__real_malloc(bytes)); }
void *__wrap_calloc(size_t count, size_t bytes) { return libc_due() ? NULL : counted(__real_calloc(count, bytes)); }

int __wrap_posix_memalign(void **out, size_t align, size_t bytes)
{
	int status = libc_due() ? ENOMEM : __real_posix_memalign(out, align, bytes);
	if (!status)
		counted(*out);
	return status;
}

void __wrap_free(void *memory)
{
	if (memory)
		atomic_fetch_sub(&libc_blocks, 1);
	__real_free(memory);
}

int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
	int status = libc_due() ? EAGAIN : __real_pthread_create(out, attributes, run, argument);
	if (!status)
		atomic_fetch_add(&threads, 1);
	return status;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
	atomic_fetch_sub(&threads, 1);
	return __real_pthread_join(thread, result);
}

static void *allocate(void *user, size_t bytes)
{
	(void)user;
	void *memory = due() ? NULL : __real_calloc(1, bytes);
	if (memory)
		atomic_fetch_add(&blocks, 1);
	return memory;
}

/* What is given back is poison, and stays so for a while: who still looks at it finds no pointer, and who still writes
 * to it is found. */
enum { POISON = 0xA5, KEPT = 256 };
static void *_Atomic kept[KEPT];
static _Atomic bool spoiled;

static void let_go(void *memory)
{
	const unsigned char *bytes = memory;
	size_t size = memory ? malloc_usable_size(memory) : 0;
	if (size && (bytes[0] != POISON || memcmp(bytes, bytes + 1, size - 1)))
		atomic_store(&spoiled, true);
	__real_free(memory);
}

static void release(void *user, void *memory)
{
	static _Atomic uint32_t next;
	(void)user;
	atomic_fetch_sub(&blocks, 1);
	memset(memory, POISON, malloc_usable_size(memory));
	let_go(atomic_exchange(&kept[atomic_fetch_add(&next, 1) % KEPT], memory));
}

bool fault_spoiled(void)
{
	for (int i = 0; i < KEPT; i++)
		let_go(atomic_exchange(&kept[i], NULL));
	return atomic_load(&spoiled);
}

void fault_options(struct ingot_runtime_options *options)
{
	/* Where memory is watched, each command has its own: one used again would hide what comes too late, or
	 * fails. */
	if (atomic_load(&left) > 0 || atomic_load(&driver_left) > 0 || getenv("ROW_NO_SPARES"))
		options->spare_commands = INGOT_NO_SPARES;
	options->allocate = allocate;
	options->release = release;
}

static struct gate *_Atomic slab_gate;
void fault_stand_at_slab(struct gate *gate) { atomic_store(&slab_gate, gate); }

static _Atomic int calls_left;
void fault_call(int n) { atomic_store(&calls_left, n); }

static bool call_due(void) { return atomic_load(&calls_left) > 0 && atomic_fetch_sub(&calls_left, 1) == 1; }

#define DUE(text) \
	if (due() || call_due()) { \
		snprintf(text, INGOT_BACKEND_TEXT, "a failure on purpose"); \
		return INGOT_DEVICE; \
	}
static enum ingot_status f_open(const struct ingot_backend_options *o, void **s, char *t)
{
	void *driver = strcmp(real->name, "cuda") ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	void (*plant)(int (*)(const char *)) = NULL;
	if (driver)
		*(void **)&plant = dlsym(driver, "standin_fails");
	if ((on_standin = plant != NULL))
		plant(driver_due);
	DUE(t) return real->open(o, s, t);
}
static enum ingot_status f_device(void *s, int n, void **d, char *t) { DUE(t) return real->device_open(s, n, d, t); }
static enum ingot_status f_slab(void *d, size_t b, size_t a, enum ingot_slab_mode m, void **s, char *t)
{
	struct gate *gate = atomic_exchange(&slab_gate, NULL);
	if (gate)
		gate_stand(gate);
	DUE(t) return real->slab_alloc(d, b, a, m, s, t);
}
static enum ingot_status f_queue(void *d, struct ingot_queue *o, void **q, char *t)
{
	DUE(t) return real->queue_open(d, o, q, t);
}
static enum ingot_status f_copy(void *q, void *a, size_t b, void *c, size_t d, size_t e, char *t)
{
	DUE(t) return real->copy(q, a, b, c, d, e, t);
}
static enum ingot_status f_in(void *q, void *a, size_t b, const void *h, size_t n, char *t)
{
	DUE(t) return real->copy_in(q, a, b, h, n, t);
}
static enum ingot_status f_out(void *q, void *h, void *a, size_t b, size_t n, char *t)
{
	DUE(t) return real->copy_out(q, h, a, b, n, t);
}
static enum ingot_status f_fill(void *q, void *a, size_t b, int v, size_t n, char *t)
{
	DUE(t) return real->fill(q, a, b, v, n, t);
}
static enum ingot_status f_call(void *q, int (*r)(const struct ingot_call *), struct ingot_call *c, int *code, char *t)
{
	DUE(t) return real->call(q, r, c, code, t);
}
static enum ingot_status f_launch(void *q, void *m, const struct ingot_module_kernel *k, const uint32_t g[3],
        const uint32_t n[3], void *const *a, int *c, char *t)
{
	DUE(t)
	return real->launch(q, m, k, g, n, a, c, t);
}

const struct ingot_backend *fault_backend(const struct ingot_backend *backend)
{
	real = backend;
	wrapped = *backend;
	wrapped.open = f_open;
	wrapped.device_open = f_device;
	wrapped.slab_alloc = f_slab;
	wrapped.queue_open = f_queue;
	wrapped.copy = f_copy;
	wrapped.copy_in = f_in;
	wrapped.copy_out = f_out;
	wrapped.fill = f_fill;
	wrapped.call = f_call;
	wrapped.launch = f_launch;
	return &wrapped;
}
