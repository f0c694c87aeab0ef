/* driver.c: a libcuda.so.1 without a GPU.  Host code that opens NVIDIA's driver runs against it unmodified; kernels run
 * by the emulator.
 *
 * A cubin is read as what it is (ELF: architecture, kernels, sizes of parameters); its kernels are then those of the
 * same names in $STANDIN_KERNELS, a library
 * of the same .cu text built with the emulator (kernels.cpp), or several apart by colons: an image that was not
 * compiled from such a text is refused.  PTX is searched
 * for its entries.
 *
 * Streams are queues; one thread executes the next operation of a stream drawn by $STANDIN_SEED, so what nothing orders
 * comes in any order.  Device memory is
 * poisoned, each allocation has a page behind it that nobody may touch, and between operations none of it can be read
 * or written.  Pageable copies are the
 * driver's: to the device they are taken at once, from the device they are there when the call returns.  What
 * cuMemcpyHtoD takes reaches the device as late as it may: when somebody waits for it, or nothing else is left.  The
 * NULL stream is ordered with those that block, and with no other.
 *
 * A thread that captures in mode GLOBAL forbids all, and one that captures in mode THREAD_LOCAL itself, what is unsafe
 * then, but to threads whose own mode allows it: such a call fails with 900 and breaks the capture.
 *
 * What a caller does wrong is said on standard error, "stand-in: …": no current context, an address that is no device
 * memory, parameters that are not the kernel's,
 * more shared memory than its attribute allows, a handle that is gone, a capture that is broken or has a stream that
 * did not come back, what is left when the
 * process ends.  Others fail as the driver does.  What is captured together runs in any order that its waits
 * allow.
 *
 *     STANDIN_CAPABILITY=90      STANDIN_VERSION=13000      STANDIN_DEVICES=1      STANDIN_MEMORY=bytes
 *                                STANDIN_INIT=100 (what cuInit says)
 *     STANDIN_PROCESSORS=132     STANDIN_L2=bytes
 *     STANDIN_RESERVED=0         it has no reserved addresses       STANDIN_PEERS=0         no device reaches another's
 *                                memory
 *     STANDIN_ABORT=1            ends the process with the first thing it says
 *     STANDIN_FAIL=N[+]          call N fails (with + each from there on) with 999, or STANDIN_CODE; STANDIN_CALLS=FILE: how many
 *                                there were
 *     STANDIN_INVALID=90         no image for that architecture is one to it
 *     -DcuGetErrorString=gone when it is built: that entry point is not there */
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "driver.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
struct device devices[DEVICES_MOST];
struct stream *streams[STREAMS_MOST];
struct allocation allocations[ALLOCATIONS_MOST];
struct pinned pinned[PINNED_MOST];
struct reservation reserved[RESERVED_MOST];
struct backing backings[BACKINGS_MOST];
long issued;
struct standin_counts counts;
bool held;
unsigned char *arena;
size_t arena_used, memory_used;
int modules, graphs, executables, events, sick;
long calls;
unsigned draw = 1;
bool initialised;
struct text texts[TEXTS_MOST];
int text_count;
__thread struct device *current[16];
__thread int depth;
__thread int capture_mode;
int waiting;
bool asked;

void complain(const char *format, ...)
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

long number(const char *name, long otherwise)
{
	const char *text = getenv(name);
	return text && *text ? atol(text) : otherwise;
}

static int (*fails)(const char *);
void standin_fails(int (*function)(const char *)) { fails = function; }

/* A device that failed for good runs nothing, and yet takes back what there is. */
static bool gives_back(const char *name)
{
	static const char *const words[] = { "Push", "Pop", "Destroy", "Unload", "Free", "Unmap", "Release",
		"Unregister", "Exchange" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

/* Of every entry point, under the lock: whether the call may go on. */
int begin(const char *name, bool needs_context)
{
	const char *fail = getenv("STANDIN_FAIL");
	pthread_mutex_lock(&lock);
	calls++;
	if (fail && *fail && (calls == atol(fail) || (strchr(fail, '+') && calls > atol(fail)))) {
		fprintf(stderr, "failed: %s\n", name);
		return (int)number("STANDIN_CODE", UNKNOWN);
	}
	if (fails && fails(name))
		return UNKNOWN;
	if (!initialised)
		return NOT_INITIALIZED;
	if (needs_context && !depth) {
		complain("%s: no current context", name);
		return INVALID_CONTEXT;
	}
	return sick && !gives_back(name) ? sick : prohibited(name);
}
int end(int code)
{
	pthread_mutex_unlock(&lock);
	return code;
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

/* ---- devices and contexts ---- */
static void left_over(void)
{
	int left = 0, held = 0, open = 0, kept = 0, addresses = 0, memory = 0;
	const char *file = getenv("STANDIN_CALLS");
	pthread_mutex_lock(&lock);
	for (int i = 0; i < ALLOCATIONS_MOST; i++)
		left += allocations[i].bytes != 0;
	for (int i = 0; i < STREAMS_MOST; i++)
		open += streams[i] && !streams[i]->legacy;
	for (int i = 0; i < DEVICES_MOST; i++)
		held += devices[i].retained;
	for (int i = 0; i < PINNED_MOST; i++)
		kept += pinned[i].bytes != 0;
	for (int i = 0; i < RESERVED_MOST; i++)
		addresses += reserved[i].bytes != 0;
	for (int i = 0; i < BACKINGS_MOST; i++)
		memory += backings[i].bytes != 0;
	if (left || open || kept || held || modules || graphs || executables || events || addresses || memory)
		complain("left: %d allocations, %d streams, %d modules, %d graphs, %d executable graphs, %d events, %d "
		         "contexts, %d blocks of host memory, %d reserved addresses, %d pieces of memory",
		        left, open, modules, graphs, executables, events, held, kept, addresses, memory);
	FILE *to = file ? fopen(file, "w") : NULL;
	if (to) {
		fprintf(to, "%ld\n", calls);
		fclose(to);
	}
	pthread_mutex_unlock(&lock);
}

/* $STANDIN_KERNELS. */
static bool open_texts(void)
{
	static const struct kernel_row none;
	const char *named = getenv("STANDIN_KERNELS");
	texts[0].kernels = &none;
	text_count = 1;
	for (int i = 0; named && *named && i < TEXTS_MOST; i++, named += strcspn(named, ":"), named += *named == ':') {
		char path[PATH_MAX];
		struct text *text = &texts[i];
		snprintf(path, sizeof path, "%.*s", (int)strcspn(named, ":"), named);
		void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!library || !(text->kernels = dlsym(library, "standin_kernels"))
		        || !(*(void **)&text->launch = dlsym(library, "standin_launch"))
		        || !(*(void **)&text->message = dlsym(library, "emulator_message"))) {
			complain("$STANDIN_KERNELS: %s", dlerror());
			return false;
		}
		text->images = dlsym(library, "standin_images");
		*(void **)&text->map = dlsym(library, "standin_map");
		text_count = i + 1;
	}
	return true;
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
	if (!open_texts())
		return end(UNKNOWN);
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
	const struct {
		int attribute, value;
	} known[] = { { 75, capability / 10 }, { 76, capability % 10 }, { 1, 1024 }, { 2, 1024 }, { 3, 1024 },
		{ 4, 64 }, { 8, 48 << 10 }, { 102, (int)number("STANDIN_RESERVED", 1) },
		{ 16, (int)number("STANDIN_PROCESSORS", 132) }, { 38, (int)number("STANDIN_L2", 1 << 20) }, { 40, 3 } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].attribute == attribute) {
			*value = known[i].value;
			return end(device < 0 ? INVALID_DEVICE : OK);
		}
	return end(INVALID_VALUE);
}

EXPORT int cuDeviceGetName(char *name, int room, int device)
{
	BEGIN(false);
	snprintf(name, (size_t)room, "stand-in %d", device);
	return end(device < 0 ? INVALID_DEVICE : OK);
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
	if (!--devices[device].retained) /* the context is gone, and what it opened or others opened of it */
		for (int i = 0; i < DEVICES_MOST; i++)
			devices[i].reaches &= i == device ? 0 : ~(1u << device);
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

/* ---- peers ---- */
bool may_reach(int device, int other) { return device != other && number("STANDIN_PEERS", 1); }

EXPORT int cuDeviceCanAccessPeer(int *yes, int device, int other)
{
	BEGIN(false);
	long count = number("STANDIN_DEVICES", 1);
	*yes = may_reach(device, other);
	return end(device < 0 || other < 0 || device >= count || other >= count ? INVALID_DEVICE : OK);
}

EXPORT int cuCtxEnablePeerAccess(void *context, unsigned flags)
{
	BEGIN(true);
	struct device *here = current[depth - 1], *other = context;
	if (other < devices || other >= devices + DEVICES_MOST || !other->retained || other == here)
		return end(INVALID_CONTEXT);
	if (flags || !may_reach((int)(here - devices), (int)(other - devices)))
		return end(flags ? INVALID_VALUE : NO_PEER);
	if (here->reaches >> (other - devices) & 1)
		return end(PEER_ALREADY);
	here->reaches |= 1u << (other - devices);
	return end(OK);
}

/* ---- errors ---- */
static const struct {
	int code;
	const char *name, *text;
} errors[] = {
	{ INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
	{ OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
	{ NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" },
	{ 34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library" },
	{ NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
	{ INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid" },
	{ INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
	{ NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available" },
	{ ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered" },
	{ LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
	{ UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error" },
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
