/* driver.c: a libcuda.so.1 without a GPU.  Host code that opens NVIDIA's driver runs against it unmodified; kernels run by the emulator.
 *
 * A cubin is read as what it is (ELF: architecture, kernels, sizes of parameters); its kernels are then those of the same names in $STANDIN_KERNELS, a library
 * of the same .cu text built with the emulator (kernels.jinja of the tests).  PTX is searched for its entries.
 *
 * Streams are queues; one thread executes the next operation of a stream drawn by $STANDIN_SEED, so what nothing orders comes in any order.  Device memory is
 * poisoned, each allocation has a page behind it that nobody may touch, and between operations none of it can be read or written.  Pageable copies are the
 * driver's: to the device they are taken at once, from the device they are there when the call returns.
 *
 * What a driver would suffer in silence is said on standard error, "stand-in: …": no current context, an address that is no device memory, parameters that are not
 * the kernel's, a handle that is gone, what is left when the process ends.  Others fail as the driver does.
 *
 *     STANDIN_CAPABILITY=90      STANDIN_VERSION=13000      STANDIN_DEVICES=1      STANDIN_MEMORY=bytes      STANDIN_INIT=100 (what cuInit says)
 *     STANDIN_ABORT=1            ends the process with the first thing it says
 *     STANDIN_FAIL=N[+]          call N fails (with + each from there on) with 999; STANDIN_CALLS=FILE: how many there were
 *     -DcuGetErrorString=gone when it is built: that entry point is not there */
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
enum {
	OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NO_BINARY = 209,
	UNSUPPORTED_PTX = 222, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ALREADY_PINNED = 712, NOT_PINNED = 713, ILLEGAL_ADDRESS = 700, LAUNCH_FAILED = 719, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901,
	CAPTURE_UNMATCHED = 903, UPDATE_FAILURE = 910, UNKNOWN = 999
};
enum { PAGE = 4096, PARAMETERS_MOST = 512, STREAMS_MOST = 2048, ALLOCATIONS_MOST = 4096, PINNED_MOST = 256, DEVICES_MOST = 8 };
#define ARENA ((size_t)1 << 36)

/* ---- what there is ---- */
struct kernel_row { const char *name; void (*thunk)(void **); int parameters; };
struct module;
struct function { char name[256]; int parameters, bytes; const struct kernel_row *row; struct module *module; };
struct module { int magic; int count; struct function functions[4096]; };
struct operation {
	enum { COPY_IN, COPY_OUT, COPY, FILL, LAUNCH, RECORD, WAIT } kind;
	const struct function *function;
	struct event *event;                                    /* RECORD, WAIT */
	long until;                                             /* WAIT: that many records of it */
	bool taken;                                             /* COPY_IN: host is ours */
	long number;                                            /* in the order of their issue */
	unsigned grid[3], block[3], shared;
	uint64_t *values;                                       /* LAUNCH: parameters */
	void *host;
	uint64_t at, from;                                      /* from: COPY */
	int byte;
	size_t bytes;
	struct operation *next;
};
struct event { int magic; long issued, executed, waited; bool timed; double at; };       /* records; waits that are still to come */
struct graph { int magic; struct operation *first, **last; };
struct stream { int magic, device; bool capturing, broken; struct graph *graph; struct operation *first, **last; };
struct allocation { uint64_t at; size_t bytes; int device; };
struct pinned { const char *at; size_t bytes; };
struct device { int retained; };

/* For tests that look into it. */
struct standin_counts { unsigned issued, completed, records, records_pending, waits, waits_pending, copies, peer_copies; int last_copy_on; unsigned graphs, launches, updates; };     /* made, launched */
EXPORT void standin_count(struct standin_counts *);
EXPORT void standin_hold(int);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct device devices[DEVICES_MOST];
static struct stream *streams[STREAMS_MOST];
static struct allocation allocations[ALLOCATIONS_MOST];
static struct pinned pinned[PINNED_MOST];
static long issued;                                             /* operations, so far */
static struct standin_counts counts;
static bool held;                                               /* nothing is executed */
static unsigned char *arena;
static size_t arena_used, memory_used;
static int modules, graphs, executables, events, sick;                  /* sick: what every call says from now on */
static long calls;
static unsigned draw = 1;
static bool initialised;
static const struct kernel_row *kernels;
static int (*emulate)(const char *, void (*)(void **), void **, const unsigned *, const unsigned *, size_t);
static const char *(*emulated_message)(void);
static __thread struct device *current[16];
static __thread int depth;
enum { MODULE = 0x4d4f44, GRAPH = 0x475241, EXECUTABLE = 0x455845, STREAM = 0x535452, EVENT = 0x455654, GONE = 0xdead };

static void complain(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fputs("stand-in: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	if (getenv("STANDIN_ABORT"))
		abort();
}

static long number(const char *name, long otherwise)
{
	const char *text = getenv(name);
	return text && *text ? atol(text) : otherwise;
}

/* Of every entry point, under the lock: whether the call may go on. */
static int begin(const char *name, bool needs_context)
{
	const char *fail = getenv("STANDIN_FAIL");
	pthread_mutex_lock(&lock);
	calls++;
	if (fail && *fail && (calls == atol(fail) || (strchr(fail, '+') && calls > atol(fail)))) {
		fprintf(stderr, "failed: %s\n", name);
		return UNKNOWN;
	}
	if (!initialised)
		return NOT_INITIALIZED;
	if (needs_context && !depth) {
		complain("%s: no current context", name);
		return INVALID_CONTEXT;
	}
	return sick;
}
static int end(int code)
{
	pthread_mutex_unlock(&lock);
	return code;
}
#define BEGIN(needs_context) int wrong = begin(__func__, needs_context); if (wrong) return end(wrong)

/* ---- device memory ---- */
static const struct allocation *allocation_of(uint64_t at, size_t bytes)
{
	for (int i = 0; i < ALLOCATIONS_MOST; i++)
		if (allocations[i].bytes && at >= allocations[i].at && at + bytes <= allocations[i].at + allocations[i].bytes)
			return &allocations[i];
	return NULL;
}

static size_t pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static void protect_at(uint64_t at, int how)
{
	const struct allocation *one = allocation_of(at, 1);
	if (one)
		mprotect((void *)(uintptr_t)(one->at / PAGE * PAGE), pages(one->bytes), how);
}

/* ---- the device's thread ---- */
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The memory that an operation is given, and no other. */
static void protect(const struct operation *one, int how)
{
	if (one->kind == LAUNCH)
		for (int i = 0; i < one->function->row->parameters; i++)
			protect_at(one->values[i], how);
	else
		protect_at(one->at, how);
	if (one->kind == COPY)
		protect_at(one->from, how);
}

static void execute(struct operation *one)
{
	if (one->kind == RECORD || one->kind == WAIT) {
		one->event->at = one->kind == RECORD ? now() : one->event->at;
		return;
	}
	if (one->kind == LAUNCH)
		for (int i = 0; i < one->function->row->parameters; i++)
			if (!allocation_of(one->values[i], 1)) {
				complain("%s: parameter %d is no device memory", one->function->name, i);
				sick = ILLEGAL_ADDRESS;
				return;
			}
	protect(one, PROT_READ | PROT_WRITE);
	if (one->kind == COPY_IN)
		memcpy((void *)(uintptr_t)one->at, one->host, one->bytes);
	else if (one->kind == COPY_OUT)
		memcpy(one->host, (const void *)(uintptr_t)one->at, one->bytes);
	else if (one->kind == COPY)
		memmove((void *)(uintptr_t)one->at, (const void *)(uintptr_t)one->from, one->bytes);
	else if (one->kind == FILL)
		memset((void *)(uintptr_t)one->at, one->byte, one->bytes);
	else {
		void *pointers[PARAMETERS_MOST];
		for (int i = 0; i < one->function->row->parameters; i++)
			pointers[i] = (void *)(uintptr_t)one->values[i];
		if (emulate(one->function->name, one->function->row->thunk, pointers, one->grid, one->block, one->shared)) {
			complain("%s", emulated_message());
			sick = LAUNCH_FAILED;
		}
	}
	protect(one, PROT_NONE);
}

static void operation_free(struct operation *one)
{
	if (one->taken)
		free(one->host);
	free(one->values);
	free(one);
}

/* As another one, which a graph keeps or launches. */
static struct operation again(const struct operation *one)
{
	struct operation made = *one;
	size_t bytes = one->kind == LAUNCH ? sizeof *one->values * (size_t)one->function->parameters : 0;
	made.values = bytes ? memcpy(malloc(bytes), one->values, bytes) : NULL;
	return made;
}

static void event_free(struct event *event)
{
	if (event->magic == GONE && !event->waited && event->executed == event->issued)
		free(event);
}

static bool executable(const struct stream *stream)
{
	const struct operation *one = stream ? stream->first : NULL;
	return one && !held && (one->kind != WAIT || one->event->executed >= one->until);
}

static void *work(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		int ready[STREAMS_MOST], count = 0;
		for (int i = 0; i < STREAMS_MOST; i++)
			if (executable(streams[i]))
				ready[count++] = i;
		if (!count) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		draw = draw * 1664525u + 1013904223u;
		struct stream *stream = streams[ready[(draw >> 8) % (unsigned)count]];
		struct operation *one = stream->first;
		if (!sick)
			execute(one);
		counts.completed++;
		counts.records_pending -= one->kind == RECORD;
		counts.waits_pending -= one->kind == WAIT;
		if (one->kind == RECORD)
			one->event->executed++;
		if (one->kind == WAIT)
			one->event->waited--;
		if (one->kind == RECORD || one->kind == WAIT)
			event_free(one->event);
		stream->first = one->next;
		if (!stream->first)
			stream->last = &stream->first;
		operation_free(one);
		pthread_cond_broadcast(&changed);
	}
	return unused;
}

static bool lives(const struct stream *stream)
{
	for (int i = 0; i < STREAMS_MOST; i++)
		if (streams[i] && streams[i] == stream)
			return true;
	return false;
}

/* For what was issued by now; others go on issuing. */
static void wait_for(struct stream *stream)
{
	long until = issued;
	while (lives(stream) && stream->first && stream->first->number <= until)
		pthread_cond_wait(&changed, &lock);
}

static bool is_stream(void *handle)
{
	if (!lives(handle)) {
		complain("%p is no stream", handle);
		return false;
	}
	if (current[depth - 1] != &devices[((struct stream *)handle)->device])
		complain("a stream of device %d in the context of another", ((struct stream *)handle)->device);
	return true;
}

static int enqueue(struct stream *stream, struct operation made)
{
	struct operation *one = malloc(sizeof *one);
	*one = made;
	one->next = NULL;
	if (stream->capturing) {
		*stream->graph->last = one;
		stream->graph->last = &one->next;
		return OK;
	}
	one->number = ++issued;
	counts.issued++;
	counts.records += made.kind == RECORD;
	counts.records_pending += made.kind == RECORD;
	counts.waits += made.kind == WAIT;
	counts.waits_pending += made.kind == WAIT;
	*stream->last = one;
	stream->last = &one->next;
	pthread_cond_broadcast(&changed);
	return OK;
}

void standin_count(struct standin_counts *out)
{
	pthread_mutex_lock(&lock);
	*out = counts;
	pthread_mutex_unlock(&lock);
}

void standin_hold(int on)
{
	pthread_mutex_lock(&lock);
	held = on;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* What a stream that is captured cannot do; it breaks the capture. */
static int uncaptured(struct stream *stream)
{
	if (!stream->capturing)
		return OK;
	stream->broken = true;
	return CAPTURE_UNSUPPORTED;
}

/* ---- devices and contexts ---- */
static void left_over(void)
{
	int left = 0, held = 0, open = 0, kept = 0;
	const char *file = getenv("STANDIN_CALLS");
	pthread_mutex_lock(&lock);
	for (int i = 0; i < ALLOCATIONS_MOST; i++)
		left += allocations[i].bytes != 0;
	for (int i = 0; i < STREAMS_MOST; i++)
		open += streams[i] != NULL;
	for (int i = 0; i < DEVICES_MOST; i++)
		held += devices[i].retained;
	for (int i = 0; i < PINNED_MOST; i++)
		kept += pinned[i].bytes != 0;
	if (left || open || kept || held || modules || graphs || executables || events)
		complain("left: %d allocations, %d streams, %d modules, %d graphs, %d executable graphs, %d events, %d contexts, %d blocks of host memory", left, open, modules, graphs, executables, events, held,
			kept);
	FILE *to = file ? fopen(file, "w") : NULL;
	if (to) {
		fprintf(to, "%ld\n", calls);
		fclose(to);
	}
	pthread_mutex_unlock(&lock);
}

EXPORT int cuInit(unsigned flags)
{
	pthread_t thread;
	int wrong = begin(__func__, false);
	if ((wrong && wrong != NOT_INITIALIZED) || flags)
		return end(wrong ? wrong : INVALID_VALUE);
	if (number("STANDIN_INIT", 0))
		return end((int)number("STANDIN_INIT", 0));
	if (initialised)
		return end(OK);
	static const struct kernel_row none;
	const char *named = getenv("STANDIN_KERNELS");
	void *library = named ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : NULL;
	kernels = &none;
	if (named && (!library || !(kernels = dlsym(library, "standin_kernels")) || !(*(void **)&emulate = dlsym(library, "standin_launch"))
		|| !(*(void **)&emulated_message = dlsym(library, "emulator_message")))) {
		complain("$STANDIN_KERNELS: %s", dlerror());
		return end(UNKNOWN);
	}
	arena = mmap(NULL, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena == MAP_FAILED)
		return end(OUT_OF_MEMORY);
	draw = (unsigned)number("STANDIN_SEED", 1);
	initialised = true;
	pthread_create(&thread, NULL, work, NULL);
	pthread_detach(thread);
	atexit(left_over);
	return end(OK);
}

EXPORT int cuDriverGetVersion(int *version)
{
	*version = (int)number("STANDIN_VERSION", 13000);
	return OK;
}

/* NVRTC asks for it where a driver is there, and trusts that one has it. */
EXPORT int cuGetExportTable(const void **table, const void *id)
{
	(void)id;
	*table = NULL;
	return NOT_FOUND;
}

EXPORT int cuDeviceGetCount(int *count)
{
	BEGIN(false);
	*count = (int)number("STANDIN_DEVICES", 1);
	return end(*count ? OK : NO_DEVICE);
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
	BEGIN(false);
	*device = ordinal;
	return end(ordinal >= 0 && ordinal < number("STANDIN_DEVICES", 1) ? OK : INVALID_DEVICE);
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	BEGIN(false);
	int capability = (int)number("STANDIN_CAPABILITY", 90);
	const struct { int attribute, value; } known[] = { { 75, capability / 10 }, { 76, capability % 10 }, { 1, 1024 }, { 2, 1024 }, { 3, 1024 }, { 4, 64 }, { 8, 48 << 10 },
		{ 16, 132 }, { 40, 3 } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].attribute == attribute) {
			*value = known[i].value;
			return end(device < 0 ? INVALID_DEVICE : OK);
		}
	return end(INVALID_VALUE);
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	BEGIN(false);
	*bytes = (size_t)number("STANDIN_MEMORY", 1L << 34);
	return end(device < 0 ? INVALID_DEVICE : OK);
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
	BEGIN(false);
	devices[device].retained++;
	*context = &devices[device];
	return end(OK);
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
	BEGIN(false);
	if (!devices[device].retained) {
		complain("the context of device %d is not held", device);
		return end(INVALID_CONTEXT);
	}
	devices[device].retained--;
	return end(OK);
}

EXPORT int cuCtxPushCurrent_v2(void *context)
{
	BEGIN(false);
	struct device *device = context;
	if (device < devices || device >= devices + DEVICES_MOST || !device->retained || depth == 16)
		return end(INVALID_CONTEXT);
	current[depth++] = device;
	return end(OK);
}

EXPORT int cuCtxPopCurrent_v2(void **context)
{
	BEGIN(true);
	*context = current[--depth];
	return end(OK);
}

/* ---- code ---- */
static const struct kernel_row *row_of(const char *name)
{
	for (const struct kernel_row *row = kernels; row->name; row++)
		if (!strcmp(row->name, name))
			return row;
	return NULL;
}

static int add_function(struct module *module, const char *name, size_t length, int parameters, int bytes)
{
	struct function *one = &module->functions[module->count];
	if (module->count == 4096 || length >= sizeof one->name)
		return INVALID_IMAGE;
	memcpy(one->name, name, length);
	one->name[length] = 0;
	one->parameters = parameters;
	one->bytes = bytes;
	one->module = module;
	if (!(one->row = row_of(one->name))) {
		complain("%s: the image has a kernel that the emulator's text has not", one->name);
		return INVALID_IMAGE;
	}
	module->count++;
	return OK;
}

/* Sections .nv.info.KERNEL: attributes of 4 bytes and what follows; 0x17 tells of one parameter, 0x19 of the bytes of all. */
static int read_cubin(struct module *module, const unsigned char *image, int capability)
{
	const Elf64_Ehdr *elf = (const void *)image;
	const Elf64_Shdr *sections = (const void *)(image + elf->e_shoff);
	const char *names = (const char *)image + sections[elf->e_shstrndx].sh_offset;
	int arch = (int)(elf->e_flags >> 8 & 0xff), old = (int)(elf->e_flags & 0xff), of = elf->e_ident[EI_ABIVERSION] >= 8 ? arch : old;
	if (of / 10 != capability / 10 || of > capability)
		return NO_BINARY;
	for (int i = 0; i < elf->e_shnum; i++) {
		const char *name = names + sections[i].sh_name;
		if (strncmp(name, ".nv.info.", 9))
			continue;
		const unsigned char *at = image + sections[i].sh_offset, *stop = at + sections[i].sh_size;
		int parameters = 0, bytes = 0;
		while (at + 4 <= stop) {
			uint16_t size;
			memcpy(&size, at + 2, 2);
			parameters += at[0] == 4 && at[1] == 0x17;
			if (at[0] == 3 && at[1] == 0x19)
				bytes = size;
			at += at[0] == 4 ? 4 + size : 4;
		}
		int wrong = add_function(module, name + 9, strlen(name + 9), parameters, bytes);
		if (wrong)
			return wrong;
	}
	return OK;
}

static int read_ptx(struct module *module, const char *text, int capability)
{
	int major = 0, minor = 0, target = 0, version = (int)number("STANDIN_VERSION", 13000);
	const char *at = strstr(text, ".version "), *of = strstr(text, ".target sm_");
	if (!at || !of || sscanf(at, ".version %d.%d", &major, &minor) != 2 || sscanf(of, ".target sm_%d", &target) != 1)
		return INVALID_IMAGE;
	if ((major + 4) * 1000 + minor * 10 > version)          /* CUDA 13.0 reads 9.0 */
		return UNSUPPORTED_PTX;
	if (target > capability)
		return NO_BINARY;
	for (at = text; (at = strstr(at, ".entry ")); at += 7) {
		size_t length = strcspn(at + 7, "( \n");
		const char *stop = strchr(at, ')');
		int parameters = 0;
		for (const char *p = at; p && stop && p < stop; p = strstr(p + 1, ".param "))
			parameters += p != at;
		int wrong = add_function(module, at + 7, length, parameters, 8 * parameters);
		if (wrong)
			return wrong;
	}
	return OK;
}

EXPORT int cuModuleLoadDataEx(void **handle, const void *image, unsigned options, int *names, void **values)
{
	BEGIN(true);
	int capability = (int)number("STANDIN_CAPABILITY", 90);
	struct module *module = calloc(1, sizeof *module);
	bool elf = !memcmp(image, ELFMAG, SELFMAG);
	(void)options, (void)names, (void)values;
	wrong = elf ? read_cubin(module, image, capability) : read_ptx(module, image, capability);
	if (wrong) {
		free(module);
		return end(wrong);
	}
	module->magic = MODULE;
	modules++;
	*handle = module;
	return end(OK);
}

EXPORT int cuModuleUnload(void *handle)
{
	BEGIN(true);
	struct module *module = handle;
	if (!module || module->magic != MODULE) {
		complain("cuModuleUnload: no module");
		return end(INVALID_HANDLE);
	}
	modules--;
	module->magic = GONE;                                   /* and stays, so that what is called of it is seen */
	return end(OK);
}

EXPORT int cuModuleGetFunction(void **function, void *handle, const char *name)
{
	BEGIN(true);
	struct module *module = handle;
	for (int i = 0; module->magic == MODULE && i < module->count; i++)
		if (!strcmp(module->functions[i].name, name)) {
			*function = &module->functions[i];
			return end(OK);
		}
	return end(NOT_FOUND);
}

/* ---- memory ---- */
EXPORT int cuMemAlloc_v2(unsigned long long *at, size_t bytes)
{
	BEGIN(true);
	int i = 0;
	while (i < ALLOCATIONS_MOST && allocations[i].bytes)
		i++;
	if (!bytes)
		return end(INVALID_VALUE);
	if (i == ALLOCATIONS_MOST || arena_used + pages(bytes) + PAGE > ARENA || memory_used + bytes > (size_t)number("STANDIN_MEMORY", 1L << 34))
		return end(OUT_OF_MEMORY);
	/* It ends where its last page does, as far as 256 bytes allow, so that what lies behind is nobody's. */
	unsigned char *first = arena + arena_used, *from = first + (pages(bytes) - bytes) / 256 * 256;
	mprotect(first, pages(bytes), PROT_READ | PROT_WRITE);
	memset(first, 0xa5, pages(bytes));
	mprotect(first, pages(bytes), PROT_NONE);
	allocations[i] = (struct allocation){ (uint64_t)(uintptr_t)from, bytes, (int)(current[depth - 1] - devices) };
	arena_used += pages(bytes) + PAGE;
	memory_used += bytes;
	*at = allocations[i].at;
	return end(OK);
}

EXPORT int cuMemFree_v2(unsigned long long at)
{
	BEGIN(true);
	for (int i = 0; i < ALLOCATIONS_MOST; i++)
		if (allocations[i].bytes && allocations[i].at == at) {
			for (int s = 0; s < STREAMS_MOST; s++)  /* the driver waits for what may use it */
				if (streams[s] && streams[s]->device == allocations[i].device)
					wait_for(streams[s]);
			void *first = (void *)(uintptr_t)(at / PAGE * PAGE);
			madvise(first, pages(allocations[i].bytes), MADV_DONTNEED);
			memory_used -= allocations[i].bytes;
			allocations[i].bytes = 0;
			return end(OK);
		}
	complain("cuMemFree_v2: %llx is no allocation", at);
	return end(INVALID_VALUE);
}

static bool is_pinned(const void *at, size_t bytes)
{
	for (int i = 0; i < PINNED_MOST; i++)
		if (pinned[i].bytes && (const char *)at >= pinned[i].at && (const char *)at + bytes <= pinned[i].at + pinned[i].bytes)
			return true;
	return false;
}

EXPORT int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
	BEGIN(true);
	const char *at = memory;
	int empty = -1;
	for (int i = 0; i < PINNED_MOST; i++)
		if (!pinned[i].bytes)
			empty = i;
		else if (at < pinned[i].at + pinned[i].bytes && pinned[i].at < at + bytes)
			return end(ALREADY_PINNED);
	if (!bytes || flags > 1 || empty < 0)
		return end(empty < 0 ? OUT_OF_MEMORY : INVALID_VALUE);
	pinned[empty] = (struct pinned){ at, bytes };
	return end(OK);
}

EXPORT int cuMemHostUnregister(void *memory)
{
	BEGIN(true);
	for (int i = 0; i < PINNED_MOST; i++)
		if (pinned[i].bytes && pinned[i].at == memory) {
			pinned[i].bytes = 0;
			return end(OK);
		}
	return end(NOT_PINNED);
}

static int copy_in(const char *name, unsigned long long at, const void *from, size_t bytes, struct stream *stream)
{
	if (!allocation_of(at, bytes)) {
		complain("%s: %zu bytes at %llx are no device memory", name, bytes, at);
		return INVALID_VALUE;
	}
	if (stream && uncaptured(stream))
		return CAPTURE_UNSUPPORTED;
	if (stream && is_pinned(from, bytes))
		return enqueue(stream, (struct operation){ .kind = COPY_IN, .host = (void *)(uintptr_t)from, .at = at, .bytes = bytes });
	struct operation one = { .kind = COPY_IN, .host = malloc(bytes + 1), .taken = true, .at = at, .bytes = bytes };
	memcpy(one.host, from, bytes);
	if (stream)
		return enqueue(stream, one);
	execute(&one);
	free(one.host);
	return OK;
}

EXPORT int cuMemcpyHtoD_v2(unsigned long long at, const void *from, size_t bytes)
{
	BEGIN(true);
	return end(copy_in(__func__, at, from, bytes, NULL));
}

EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long at, const void *from, size_t bytes, void *stream)
{
	BEGIN(true);
	return end(!is_stream(stream) ? INVALID_HANDLE : copy_in(__func__, at, from, bytes, stream));
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, unsigned long long at, size_t bytes, void *stream)
{
	BEGIN(true);
	if (!is_stream(stream))
		return end(INVALID_HANDLE);
	if (!allocation_of(at, bytes)) {
		complain("%s: %zu bytes at %llx are no device memory", __func__, bytes, at);
		return end(INVALID_VALUE);
	}
	if (uncaptured(stream))
		return end(CAPTURE_UNSUPPORTED);
	enqueue(stream, (struct operation){ .kind = COPY_OUT, .host = to, .at = at, .bytes = bytes });
	if (is_pinned(to, bytes))
		return end(OK);
	wait_for(stream);
	return end(sick);
}

/* Each end in memory of its device. */
static int copy(const char *name, unsigned long long to, const void *to_device, unsigned long long from, const void *from_device, size_t bytes, void *stream)
{
	const struct allocation *target = allocation_of(to, bytes), *source = allocation_of(from, bytes);
	if (!is_stream(stream))
		return INVALID_HANDLE;
	if (!target || !source || &devices[target->device] != to_device || &devices[source->device] != from_device) {
		complain("%s: %zu bytes from %llx to %llx are no memory of these devices", name, bytes, from, to);
		return INVALID_VALUE;
	}
	counts.copies += to_device == from_device;
	counts.peer_copies += to_device != from_device;
	counts.last_copy_on = ((struct stream *)stream)->device;
	return enqueue(stream, (struct operation){ .kind = COPY, .at = to, .from = from, .bytes = bytes });
}

EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void *stream)
{
	BEGIN(true);
	return end(copy(__func__, to, current[depth - 1], from, current[depth - 1], bytes, stream));
}

EXPORT int cuMemcpyPeerAsync(unsigned long long to, void *to_device, unsigned long long from, void *from_device, size_t bytes, void *stream)
{
	BEGIN(true);
	return end(copy(__func__, to, to_device, from, from_device, bytes, stream));
}

EXPORT int cuMemsetD8Async(unsigned long long at, unsigned char byte, size_t bytes, void *stream)
{
	BEGIN(true);
	if (!is_stream(stream))
		return end(INVALID_HANDLE);
	if (!allocation_of(at, bytes)) {
		complain("%s: %zu bytes at %llx are no device memory", __func__, bytes, at);
		return end(INVALID_VALUE);
	}
	return end(enqueue(stream, (struct operation){ .kind = FILL, .at = at, .byte = byte, .bytes = bytes }));
}

/* ---- streams ---- */
EXPORT int cuStreamCreate(void **handle, unsigned flags)
{
	BEGIN(true);
	int i = 0;
	while (i < STREAMS_MOST && streams[i])
		i++;
	if (i == STREAMS_MOST || flags > 1)
		return end(i == STREAMS_MOST ? OUT_OF_MEMORY : INVALID_VALUE);
	streams[i] = calloc(1, sizeof *streams[i]);
	streams[i]->magic = STREAM;
	streams[i]->device = (int)(current[depth - 1] - devices);
	streams[i]->last = &streams[i]->first;
	*handle = streams[i];
	return end(OK);
}

EXPORT int cuStreamDestroy_v2(void *stream)
{
	BEGIN(true);
	if (!is_stream(stream))
		return end(INVALID_HANDLE);
	wait_for(stream);
	for (int i = 0; i < STREAMS_MOST; i++)
		if (streams[i] == stream)
			streams[i] = NULL;
	free(stream);
	return end(OK);
}

EXPORT int cuStreamSynchronize(void *stream)
{
	BEGIN(true);
	if (!is_stream(stream))
		return end(INVALID_HANDLE);
	if (uncaptured(stream))
		return end(CAPTURE_UNSUPPORTED);
	wait_for(stream);
	return end(sick);
}

/* ---- events ---- */
static bool is_event(struct event *event)
{
	if (event && event->magic == EVENT)
		return true;
	complain("%p is no event", (void *)event);
	return false;
}

EXPORT int cuEventCreate(void **handle, unsigned flags)
{
	BEGIN(true);
	if (flags & ~3u)
		return end(INVALID_VALUE);
	struct event *event = calloc(1, sizeof *event);
	event->magic = EVENT;
	event->timed = !(flags & 2);
	events++;
	*handle = event;
	return end(OK);
}

EXPORT int cuEventDestroy_v2(void *handle)
{
	BEGIN(true);
	struct event *event = handle;
	if (!is_event(event))
		return end(INVALID_HANDLE);
	event->magic = GONE;                                    /* what is queued goes on */
	event_free(event);
	events--;
	return end(OK);
}

EXPORT int cuEventQuery(void *handle)
{
	BEGIN(true);
	struct event *event = handle;
	return end(!is_event(event) ? INVALID_HANDLE : event->executed < event->issued ? NOT_READY : OK);
}

EXPORT int cuStreamWaitEvent(void *stream, void *handle, unsigned flags)
{
	BEGIN(true);
	struct event *event = handle;
	if (!is_stream(stream) || !is_event(event) || flags)
		return end(flags ? INVALID_VALUE : INVALID_HANDLE);
	if (uncaptured(stream))
		return end(CAPTURE_UNSUPPORTED);
	event->waited++;
	return end(enqueue(stream, (struct operation){ .kind = WAIT, .event = event, .until = event->issued }));
}

EXPORT int cuEventRecord(void *handle, void *stream)
{
	BEGIN(true);
	struct event *event = handle;
	if (!is_event(event) || !is_stream(stream))
		return end(INVALID_HANDLE);
	if (uncaptured(stream))
		return end(CAPTURE_UNSUPPORTED);
	event->issued++;
	return end(enqueue(stream, (struct operation){ .kind = RECORD, .event = event }));
}

EXPORT int cuEventElapsedTime(float *milliseconds, void *from, void *to)
{
	BEGIN(true);
	struct event *one = from, *other = to;
	if (!is_event(one) || !is_event(other) || !one->issued || !other->issued || !one->timed || !other->timed)
		return end(INVALID_HANDLE);
	if (one->executed < one->issued || other->executed < other->issued)
		return end(NOT_READY);
	*milliseconds = (float)(other->at - one->at);
	return end(OK);
}

/* ---- launches ---- */
EXPORT int cuLaunchKernel(void *handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
	void **parameters, void **extra)
{
	BEGIN(true);
	const struct function *function = handle;
	struct operation one = { .kind = LAUNCH, .function = function, .grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared };
	(void)extra;
	if (!function || function->module->magic != MODULE) {
		complain("cuLaunchKernel: no kernel");
		return end(INVALID_HANDLE);
	}
	if (!is_stream(stream))
		return end(INVALID_HANDLE);
	if (!gx || !gy || !gz || !bx || !by || !bz || (uint64_t)bx * by * bz > 1024 || gx > 0x7fffffffu || gy > 65535 || gz > 65535 || shared > 48 << 10)
		return end(INVALID_VALUE);
	if (function->parameters != function->row->parameters || function->bytes != 8 * function->parameters || function->parameters > PARAMETERS_MOST) {
		complain("%s: the image has %d parameters of %d bytes, the text %d", function->name, function->parameters, function->bytes, function->row->parameters);
		return end(INVALID_VALUE);
	}
	one.values = malloc(sizeof *one.values * (size_t)(function->parameters + 1));
	for (int i = 0; i < function->parameters; i++)
		memcpy(&one.values[i], parameters[i], 8);
	return end(enqueue(stream, one));
}

/* ---- graphs ---- */
EXPORT int cuStreamBeginCapture_v2(void *handle, int mode)
{
	BEGIN(true);
	struct stream *stream = handle;
	if (!is_stream(stream) || mode < 0 || mode > 2)
		return end(INVALID_VALUE);
	if (stream->capturing)
		return end(uncaptured(stream));
	stream->capturing = true;
	stream->graph = calloc(1, sizeof *stream->graph);
	stream->graph->magic = GRAPH;
	stream->graph->last = &stream->graph->first;
	graphs++;
	return end(OK);
}

static void graph_free(struct graph *graph)
{
	for (struct operation *one = graph->first, *next; one; one = next) {
		next = one->next;
		operation_free(one);
	}
	graph->magic = GONE;
	free(graph);
}

EXPORT int cuStreamEndCapture(void *handle, void **graph)
{
	BEGIN(true);
	struct stream *stream = handle;
	if (!is_stream(stream) || !stream->capturing)
		return end(CAPTURE_UNMATCHED);
	*graph = stream->graph;
	stream->capturing = false;
	if (stream->broken) {
		graph_free(stream->graph);
		graphs--;
		*graph = NULL;
	}
	stream->graph = NULL;
	wrong = stream->broken ? CAPTURE_INVALIDATED : OK;
	stream->broken = false;
	return end(wrong);
}

EXPORT int cuGraphInstantiateWithFlags(void **executable, void *handle, unsigned long long flags)
{
	BEGIN(true);
	struct graph *graph = handle, *made;
	if (!graph || graph->magic != GRAPH || flags)
		return end(INVALID_VALUE);
	made = calloc(1, sizeof *made);
	made->magic = EXECUTABLE;
	made->last = &made->first;
	for (struct operation *one = graph->first; one; one = one->next) {
		*made->last = malloc(sizeof *one);
		**made->last = again(one);
		made->last = &(*made->last)->next;
	}
	*made->last = NULL;
	executables++;
	counts.graphs++;
	*executable = made;
	return end(OK);
}

EXPORT int cuGraphDestroy(void *handle)
{
	BEGIN(true);
	struct graph *graph = handle;
	if (!graph || graph->magic != GRAPH)
		return end(INVALID_VALUE);
	graph_free(graph);
	graphs--;
	return end(OK);
}

EXPORT int cuGraphLaunch(void *handle, void *stream)
{
	BEGIN(true);
	struct graph *graph = handle;
	if (!graph || graph->magic != EXECUTABLE || !is_stream(stream))
		return end(INVALID_VALUE);
	if (uncaptured(stream))
		return end(CAPTURE_UNSUPPORTED);
	for (struct operation *one = graph->first; one; one = one->next)
		enqueue(stream, again(one));
	counts.launches++;
	return end(OK);
}

EXPORT int cuGraphExecDestroy(void *handle)
{
	BEGIN(true);
	struct graph *graph = handle;
	if (!graph || graph->magic != EXECUTABLE)
		return end(INVALID_VALUE);
	graph_free(graph);
	executables--;
	return end(OK);
}

EXPORT int cuGraphExecUpdate_v2(void *executable, void *handle, void *why)
{
	BEGIN(true);
	struct graph *made = executable, *graph = handle;
	(void)why;
	if (!made || made->magic != EXECUTABLE || !graph || graph->magic != GRAPH)
		return end(INVALID_VALUE);
	struct operation *to = made->first;
	for (const struct operation *from = graph->first; from || to; from = from->next, to = to->next)
		if (!from || !to || from->kind != to->kind || from->function != to->function)
			return end(UPDATE_FAILURE);
	to = made->first;
	for (const struct operation *from = graph->first; from; from = from->next, to = to->next) {
		struct operation *next = to->next;
		free(to->values);
		*to = again(from);
		to->next = next;
	}
	counts.updates++;
	return end(OK);
}

/* ---- errors ---- */
static const struct { int code; const char *name, *text; } errors[] = {
	{ INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" }, { OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
	{ NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" }, { 34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library" },
	{ NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" }, { INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid" },
	{ INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" }, { NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available" },
	{ ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered" }, { UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error" },
};

EXPORT int cuGetErrorName(int code, const char **name)
{
	*name = NULL;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == code)
			*name = errors[i].name;
	return *name ? OK : INVALID_VALUE;
}

EXPORT int cuGetErrorString(int code, const char **text)
{
	*text = NULL;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == code)
			*text = errors[i].text;
	return *text ? OK : INVALID_VALUE;
}
