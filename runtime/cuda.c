/* cuda.c: NVIDIA's GPUs, through their driver, which is opened when the backend is: nothing of CUDA is needed to build
 * this.
 *
 * A queue is a stream that blocks no other, and a thread that issues what may start and puts an event of the driver
 * behind each command.  So a command that only waits for others on the device never waits for the host.  One thread
 * hears of the ends of all: a command has to be told of behind those that its stream waited for, and only who looks at
 * all events can see that.  Code of the host's (steps, a routine's own function) runs on the issuing thread, when what
 * was issued before it is done.
 *
 * An error that the driver cannot recover from leaves the device lost: the first one is what each later call says.
 * After a fork the child has no driver: it is refused. */
#include "common/alone.h"
#if INGOT_THREADS
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cuda_inside.h"
#include "host.h"

enum { THREADS_DEFAULT = 32, LOOKED_AT = 64, SLEEP_MOST = 1000000 };

#define NAME(name, arguments) #name,
static const char *const names[] = { CUDA_DRIVER(NAME) CUDA_DRIVER_EVENTS(NAME) CUDA_DRIVER_RUNTIME(NAME)
	        CUDA_DRIVER_UPDATES(NAME) };
#define COUNT(name, arguments) +1
enum {
	NAMES = sizeof names / sizeof *names,
	NEEDED = NAMES - (0 CUDA_DRIVER_UPDATES(COUNT))
}; /* the last may be lacking */

/* ---- what the driver answers ---- */

/* Codes that it does not recover from, and words where it has none: it may be older than the code. */
static const struct known {
	int code;
	bool sticky;
	const char *words;
} known[] = {
	{ 46, true, "the device is busy or unavailable" },
	{ 214, true, "an uncorrectable ECC error" },
	{ 220, true, "an uncorrectable NVLink error" },
	{ 226, true, "an exception that the GPU has contained" },
	{ 700, true, "an illegal memory access" },
	{ 702, true, "a launch timed out" },
	{ 709, true, "the context is destroyed" },
	{ 710, true, "an assertion in a kernel" },
	{ 714, true, "a hardware stack error" },
	{ 715, true, "an illegal instruction" },
	{ 716, true, "a misaligned address" },
	{ 717, true, "an operation in another address space" },
	{ 718, true, "an invalid program counter" },
	{ 719, true, "a launch failed" },
	{ 721, true, "a leak of tensor memory" },
	{ 805, false, "no connection to the MPS server" },
	{ 810, true, "the MPS server has ended this client" },
	{ 911, true, "an external device has failed" },
	{ 999, false, "unknown error" },
};

static const struct known *known_of(int code)
{
	static const struct known other = { .words = "the driver failed" };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].code == code)
			return &known[i];
	return &other;
}

static bool is_sticky(int code) { return known_of(code)->sticky; }

static const char *words_of(const struct cuda *cuda, int code)
{
	const char *words = NULL;
	cuda->call.cuGetErrorString(code, &words);
	return words ? words : known_of(code)->words;
}

/* All devices of a process on one GPU, of whatever runtime, share its primary context, and so the first error that it
 * does not recover from. */
struct primary {
	struct primary *next;
	int ordinal, devices;
	char lost[INGOT_BACKEND_TEXT];
};
static pthread_mutex_t primaries_lock = PTHREAD_MUTEX_INITIALIZER;
static struct primary *primaries;

static struct primary *primary_enter(int ordinal)
{
	pthread_mutex_lock(&primaries_lock);
	struct primary *one = primaries;
	while (one && one->ordinal != ordinal)
		one = one->next;
	if (!one && (one = calloc(1, sizeof *one))) {
		one->ordinal = ordinal;
		one->next = primaries;
		primaries = one;
	}
	if (one)
		one->devices++;
	pthread_mutex_unlock(&primaries_lock);
	return one;
}

static void primary_leave(struct primary *one)
{
	pthread_mutex_lock(&primaries_lock);
	struct primary **link = &primaries;
	while (*link != one)
		link = &(*link)->next;
	if (!--one->devices) { /* its context is gone, and a new one is sound */
		*link = one->next;
		free(one);
	}
	pthread_mutex_unlock(&primaries_lock);
}

enum ingot_status cuda_answer(struct cuda_device *device, int code, const char *name, char *text)
{
	if (!code)
		return INGOT_OK;
	snprintf(text, INGOT_BACKEND_TEXT, "%s: %s (%d)", name, words_of(device->cuda, code), code);
	if (!is_sticky(code))
		return code == CUDA_OUT_OF_MEMORY ? INGOT_MEMORY : INGOT_DEVICE;
	struct primary *primary = device->primary;
	pthread_mutex_lock(&primaries_lock);
	if (!device->lost[0] && primary->lost[0])
		snprintf(device->lost, sizeof device->lost, "%.66s; the GPU's first error: %.66s", text, primary->lost);
	else if (!device->lost[0]) {
		memcpy(primary->lost, text, sizeof primary->lost);
		memcpy(device->lost, text, sizeof device->lost);
	}
	memcpy(text, device->lost, sizeof device->lost);
	pthread_mutex_unlock(&primaries_lock);
	return INGOT_LOST;
}

enum ingot_status cuda_same_process(const struct cuda *cuda, char *text)
{
	if (cuda->process == getpid())
		return INGOT_OK;
	snprintf(
	        text, INGOT_BACKEND_TEXT, "process %ld opened the driver, and its child has none", (long)cuda->process);
	return INGOT_UNSUPPORTED;
}

/* ---- ends ---- */

/* Whether each of them has ended: from the last one issued to the first.  One that has has not waited for one that has
 * not, since that is looked at later. */
static void look(struct issued *const *at, int count, uint64_t round)
{
	for (int i = count; i-- > 0;) {
		struct issued *one = at[i];
		struct cuda_device *device = one->queue->device;
		one->code = 0;
		if (one->queue->looked == round)
			continue;
		one->code = device->cuda->call.cuCtxPushCurrent_v2(device->context);
		if (!one->code) {
			one->code = device->cuda->call.cuEventQuery(one->event);
			leave(device);
		}
		if (!one->code)
			one->queue->looked = round;
	}
}

/* A failed question says nothing of the command: it is put again when all that was issued before has ended, and then
 * the whole queue is waited for.  A device that is lost runs nothing any more. */
static void ask_again(struct issued *const *at, int count)
{
	bool before = false;
	for (int i = 0; i < count; i++) {
		struct issued *one = at[i];
		struct cuda_device *device = one->queue->device;
		if (one->code && one->code != CUDA_NOT_READY && !is_sticky(one->code)) {
			int code = before ? CUDA_NOT_READY : device->cuda->call.cuCtxPushCurrent_v2(device->context);
			if (!code) {
				code = device->cuda->call.cuStreamSynchronize(one->queue->stream);
				leave(device);
			}
			one->code = code;
		}
		before = before || one->code == CUDA_NOT_READY;
	}
}

/* In the order of issue.  How many there were. */
static int tell(struct issued *const *at, int count)
{
	char text[INGOT_BACKEND_TEXT];
	int told = 0;
	for (int i = 0; i < count; i++)
		if (at[i]->code != CUDA_NOT_READY) {
			enum ingot_status ended = cuda_answer(at[i]->queue->device, at[i]->code, "cuEventQuery", text);
			if (ended && !at[i]->status)
				ingot_command_failed(at[i]->command, ended, text);
			if (!ended && !at[i]->status)
				cuda_land(at[i]->landings);
			ingot_command_finish(at[i]->command, at[i]->status ? at[i]->status : ended);
			told++;
		}
	return told;
}

/* With the lock: those that were told of are spare. */
static void drop_told(struct cuda *cuda, int count)
{
	struct issued **link = &cuda->first;
	while (count--) {
		struct issued *one = *link;
		if (one->code == CUDA_NOT_READY) {
			link = &one->next;
			continue;
		}
		if (!(*link = one->next))
			cuda->last = link;
		if (one->landings)
			atomic_fetch_sub(&cuda->landing, 1);
		atomic_store_explicit(&one->queue->ring.done, one->ring_end,
		        memory_order_release); /* who looks for landings has the lock */
		one->next = one->queue->spare;
		one->queue->spare = one;
		one->queue->flying--;
	}
	pthread_cond_broadcast(&cuda->change);
}

static uint64_t nanoseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Looks again and again, and sleeps an eighth of the time since something ended, so that an end is heard of late by an
 * eighth. */
static void *hear(void *argument)
{
	struct cuda *cuda = argument;
	struct issued *at[LOOKED_AT];
	uint64_t round = 0, since = nanoseconds();
	relax(cuda); /* for good */
	pthread_mutex_lock(&cuda->lock);
	for (;;) {
		if (!cuda->first) {
			if (cuda->closing)
				break;
			pthread_cond_wait(&cuda->change, &cuda->lock);
			since = nanoseconds();
			continue;
		}
		int count = 0;
		for (struct issued *one = cuda->first; one && count < LOOKED_AT; one = one->next)
			at[count++] = one;
		pthread_mutex_unlock(&cuda->lock);
		look(at, count, ++round);
		ask_again(at, count);
		int told = tell(at, count);
		uint64_t rest = told ? 0 : (nanoseconds() - since) / 8;
		if (rest > 1000)
			nanosleep(&(struct timespec){ .tv_nsec = (long)(rest < SLEEP_MOST ? rest : SLEEP_MOST) }, NULL);
		else if (!told)
			sched_yield();
		since = told ? nanoseconds() : since;
		pthread_mutex_lock(&cuda->lock);
		if (told)
			drop_told(cuda, count);
	}
	pthread_mutex_unlock(&cuda->lock);
	return NULL;
}

/* ---- backend and devices ---- */

static enum ingot_status driver_open(struct cuda *cuda, char *text)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); /* it stays: a driver is opened once for all */
	if (!library) {
		snprintf(text, INGOT_BACKEND_TEXT, "there is no libcuda.so.1, which NVIDIA's driver brings");
		return INGOT_MISSING;
	}
	for (size_t i = 0; i < NAMES; i++) {
		void *symbol = dlsym(library, names[i]);
		if (!symbol && i < NEEDED) {
			snprintf(text, INGOT_BACKEND_TEXT, "NVIDIA's driver lacks %s: it is too old", names[i]);
			return INGOT_UNSUPPORTED;
		}
		memcpy((char *)&cuda->call + i * sizeof symbol, &symbol, sizeof symbol);
	}
	int code = cuda->call.cuInit(0);
	code = code ? code : cuda->call.cuDeviceGetCount(&cuda->count);
	if (!code)
		return INGOT_OK;
	snprintf(text, INGOT_BACKEND_TEXT, "cuInit: %s (%d)", words_of(cuda, code), code);
	return code == CUDA_NO_DEVICE || code == CUDA_STUB ? INGOT_MISSING : INGOT_DEVICE;
}

static void cuda_release(struct cuda *cuda)
{
	pthread_cond_destroy(&cuda->change);
	pthread_mutex_destroy(&cuda->lock);
	free(cuda);
}

static enum ingot_status cuda_open(const struct ingot_backend_options *options, void **state, char *text)
{
	struct cuda *cuda = calloc(1, sizeof *cuda);
	if (!cuda)
		return INGOT_MEMORY;
	cuda->wait_for_kernels = options->wait_for_kernels;
	/* Of a child it is the parent's, if that has opened one. */
	static _Atomic int first;
	int nobody = 0;
	atomic_compare_exchange_strong(&first, &nobody, getpid());
	cuda->process = atomic_load(&first);
	cuda->last = &cuda->first;
	enum ingot_status status = cuda_same_process(cuda, text);
	if (status) {
		free(cuda);
		return status;
	}
	status = driver_open(cuda, text);
	pthread_mutex_init(&cuda->lock, NULL);
	pthread_cond_init(&cuda->change, NULL);
	if (!status && pthread_create(&cuda->hearing, NULL, hear, cuda)) {
		snprintf(text, INGOT_BACKEND_TEXT, "no thread that hears of ends");
		status = INGOT_MEMORY;
	}
	if (status)
		cuda_release(cuda);
	else
		*state = cuda;
	return status;
}

static void cuda_close(void *state)
{
	struct cuda *cuda = state;
	pthread_mutex_lock(&cuda->lock);
	cuda->closing = true;
	pthread_cond_broadcast(&cuda->change);
	pthread_mutex_unlock(&cuda->lock);
	pthread_join(cuda->hearing, NULL);
	cuda_release(cuda);
}

static int cuda_devices(void *state) { return ((struct cuda *)state)->count; }

static enum ingot_status facts(struct cuda_device *device, char *text)
{
	struct ingot_properties *p = &device->properties;
	uint32_t major = 0, minor = 0;
	const struct {
		int attribute;
		uint32_t *to;
	} wanted[] = {
		{ CUDA_PROCESSORS, &p->compute_units },
		{ CUDA_COPY_ENGINES, &p->copy_engines },
		{ CUDA_BLOCK_THREADS, &p->group_threads },
		{ CUDA_BLOCK_X, &p->group_size[0] },
		{ CUDA_BLOCK_Y, &p->group_size[1] },
		{ CUDA_BLOCK_Z, &p->group_size[2] },
		{ CUDA_CAPABILITY_MAJOR, &major },
		{ CUDA_CAPABILITY_MINOR, &minor },
	};
	size_t bytes = 0;
	int value = 0;
	enum ingot_status status = CALL(device, text, cuDeviceTotalMem_v2, &bytes, device->device);
	status = status ? status : CALL(device, text, cuDeviceGetAttribute, &value, CUDA_SHARED_BYTES, device->device);
	p->slab_align = CUDA_SLAB_ALIGN;
	p->memory_bytes = bytes;
	p->shared_bytes = (uint64_t)value;
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted && !status; i++) {
		status = CALL(device, text, cuDeviceGetAttribute, &value, wanted[i].attribute, device->device);
		*wanted[i].to = (uint32_t)value;
	}
	device->capability = 10 * major + minor;
	return status;
}

static void device_free(struct cuda_device *device)
{
	primary_leave(device->primary);
	pthread_mutex_destroy(&device->lock);
	free(device);
}

static enum ingot_status cuda_device_open(void *state, int ordinal, void **raw, char *text)
{
	struct cuda *cuda = state;
	enum ingot_status status = cuda_same_process(cuda, text);
	struct primary *primary = status ? NULL : primary_enter(ordinal);
	struct cuda_device *device = primary ? calloc(1, sizeof *device) : NULL;
	if (primary && !device)
		primary_leave(primary);
	if (!device)
		return status ? status : INGOT_MEMORY;
	device->primary = primary;
	device->cuda = cuda;
	device->ordinal = ordinal;
	pthread_mutex_init(&device->lock, NULL);
	status = CALL(device, text, cuDeviceGet, &device->device, ordinal);
	status = status ? status : facts(device, text);
	status = status ? status : cuda_granule(device, text);
	status = status ? status : CALL(device, text, cuDevicePrimaryCtxRetain, &device->context, device->device);
	if (status)
		device_free(device);
	else
		*raw = device;
	return status;
}

static void cuda_device_close(void *raw)
{
	struct cuda_device *device = raw;
	cuda_peers_forget(device);
	/* A context that the driver fails to let go is offered once more: it is the program's to the end else. */
	if (device->cuda->call.cuDevicePrimaryCtxRelease_v2(device->device))
		device->cuda->call.cuDevicePrimaryCtxRelease_v2(device->device);
	device_free(device);
}

static void cuda_properties(void *device, struct ingot_properties *properties)
{
	*properties = ((struct cuda_device *)device)->properties;
}

/* ---- memory ---- */

static enum ingot_status cuda_host_pin(void *raw, void *memory, size_t bytes, char *text)
{
	int mode;
	struct cuda_device *device = raw;
	enum ingot_status status = in(device, &mode, text);
	if (status)
		return status;
	status = CALL(device, text, cuMemHostRegister_v2, memory, bytes, CUDA_PORTABLE);
	out(device, mode);
	return status;
}

static void cuda_host_unpin(void *raw, void *memory)
{
	int mode;
	struct cuda_device *device = raw;
	char text[INGOT_BACKEND_TEXT];
	if (!in(device, &mode, text)) {
		device->cuda->call.cuMemHostUnregister(memory);
		out(device, mode);
	}
}

/* ---- queues ---- */

/* One that is spare, or new; NULL: there is no room, or no event. */
static struct issued *issued_new(struct cuda_queue *queue)
{
	struct cuda *cuda = queue->device->cuda;
	pthread_mutex_lock(&cuda->lock);
	struct issued *one = queue->spare;
	queue->spare = one ? one->next : NULL;
	pthread_mutex_unlock(&cuda->lock);
	if (one || !(one = calloc(1, sizeof *one)))
		return one;
	one->queue = queue;
	if (!cuda->call.cuEventCreate(&one->event, CUDA_UNTIMED))
		return one;
	free(one);
	return NULL;
}

/* Commands are told of in their order, so one that no event stands behind is told of when all that were issued before
 * it are. */
static void finish_here(struct cuda_queue *queue, struct ingot_command *command, enum ingot_status status)
{
	struct cuda *cuda = queue->device->cuda;
	char text[INGOT_BACKEND_TEXT];
	enum ingot_status ended = CALL(queue->device, text, cuStreamSynchronize, queue->stream);
	pthread_mutex_lock(&cuda->lock);
	for (uint64_t until = cuda->number; cuda->first && cuda->first->number <= until;)
		pthread_cond_wait(&cuda->change, &cuda->lock);
	pthread_mutex_unlock(&cuda->lock);
	if (!status)
		ingot_command_failed(command, ended ? ended : INGOT_MEMORY, ended ? text : "no event of the driver");
	atomic_store_explicit(&queue->ring.done, queue->ring.head, memory_order_release);
	ingot_command_finish(command, status ? status : ended ? ended : INGOT_MEMORY);
}

static void remember(struct cuda_queue *queue, struct ingot_command *command, enum ingot_status status)
{
	struct cuda *cuda = queue->device->cuda;
	struct issued *one = issued_new(queue);
	bool recorded = one && !cuda->call.cuEventRecord(one->event, queue->stream);
	if (one) {
		pthread_mutex_lock(&cuda->lock);
		one->next = NULL;
		if (recorded) {
			one->command = command;
			one->status = status;
			one->landings = queue->ring.landings;
			one->ring_end = queue->ring.head;
			one->number = ++cuda->number;
			*cuda->last = one;
			cuda->last = &one->next;
			queue->flying++;
			if (one->landings)
				atomic_fetch_add(&cuda->landing, 1);
		} else {
			one->next = queue->spare;
			queue->spare = one;
		}
		pthread_cond_broadcast(&cuda->change);
		pthread_mutex_unlock(&cuda->lock);
	}
	queue->ring.landings = NULL;
	if (!recorded)
		finish_here(queue, command, status);
}

static void *issue(void *argument)
{
	int mode;
	struct cuda_queue *queue = argument;
	struct cuda *cuda = queue->device->cuda;
	enum ingot_status status = in(queue->device, &mode, queue->text);
	pthread_mutex_lock(&cuda->lock);
	queue->status = status;
	queue->begun = true;
	pthread_cond_broadcast(&cuda->change);
	while (!status) {
		while (!queue->woken && !queue->closing)
			pthread_cond_wait(&queue->begin, &cuda->lock);
		if (queue->closing)
			break;
		queue->woken = false;
		pthread_mutex_unlock(&cuda->lock);
		for (struct ingot_command *command; (command = ingot_queue_next(queue->ours));) {
			remember(queue, command, ingot_command_run(command));
			ingot_queue_issued(queue->ours);
		}
		pthread_mutex_lock(&cuda->lock);
	}
	pthread_mutex_unlock(&cuda->lock);
	if (!status)
		out(queue->device, mode);
	return NULL;
}

/* Every call of the thread needs the context: where it could not enter that there is no queue. */
static enum ingot_status issuing_begin(struct cuda_queue *queue, char *text)
{
	struct cuda *cuda = queue->device->cuda;
	if (pthread_create(&queue->issuing, NULL, issue, queue)) {
		snprintf(text, INGOT_BACKEND_TEXT, "no thread for a stream");
		return INGOT_MEMORY;
	}
	pthread_mutex_lock(&cuda->lock);
	while (!queue->begun)
		pthread_cond_wait(&cuda->change, &cuda->lock);
	pthread_mutex_unlock(&cuda->lock);
	if (queue->status) {
		pthread_join(queue->issuing, NULL);
		memcpy(text, queue->text, sizeof queue->text);
	}
	return queue->status;
}

static void queue_release(struct cuda_queue *queue)
{
	int mode;
	const struct functions *call = &queue->device->cuda->call;
	char text[INGOT_BACKEND_TEXT];
	bool inside = !in(queue->device, &mode, text);
	for (struct issued *one; (one = queue->spare);) {
		queue->spare = one->next;
		if (inside)
			call->cuEventDestroy_v2(one->event);
		free(one);
	}
	if (inside && queue->stream)
		call->cuStreamDestroy_v2(queue->stream);
	if (inside && queue->ring.at)
		call->cuMemFreeHost(queue->ring.at);
	if (inside)
		out(queue->device, mode);
	pthread_cond_destroy(&queue->begin);
	free(queue);
}

static enum ingot_status cuda_queue_open(void *raw, struct ingot_queue *ours, void **made, char *text)
{
	int mode;
	struct cuda_device *device = raw;
	enum ingot_status status = cuda_same_process(device->cuda, text);
	struct cuda_queue *queue = status ? NULL : calloc(1, sizeof *queue);
	if (!queue)
		return status ? status : INGOT_MEMORY;
	queue->device = device;
	queue->ours = ours;
	pthread_cond_init(&queue->begin, NULL);
	if (!(status = in(device, &mode, text))) {
		status = CALL(device, text, cuStreamCreate, &queue->stream, CUDA_NON_BLOCKING);
		out(device, mode);
	}
	status = status ? status : issuing_begin(queue, text);
	if (status)
		queue_release(queue);
	else
		*made = queue;
	return status;
}

static void cuda_queue_close(void *raw)
{
	struct cuda_queue *queue = raw;
	struct cuda *cuda = queue->device->cuda;
	pthread_mutex_lock(&cuda->lock);
	queue->closing = true;
	pthread_cond_signal(&queue->begin);
	while (queue->flying)
		pthread_cond_wait(&cuda->change, &cuda->lock);
	pthread_mutex_unlock(&cuda->lock);
	pthread_join(queue->issuing, NULL);
	queue_release(queue);
}

static void cuda_wake(void *raw)
{
	struct cuda_queue *queue = raw;
	struct cuda *cuda = queue->device->cuda;
	pthread_mutex_lock(&cuda->lock);
	queue->woken = true;
	pthread_cond_signal(&queue->begin);
	pthread_mutex_unlock(&cuda->lock);
}

/* ---- what commands ask for: on the issuing thread, which is in the context ---- */

static enum ingot_status cuda_copy(
        void *raw, void *to, size_t to_offset, void *from, size_t from_offset, size_t bytes, char *text)
{
	const struct cuda_queue *queue = raw;
	const struct cuda_slab *target = to;
	struct cuda_slab *source = from;
	/* The driver goes through the host by itself where the devices do not reach each other; and of its calls this
	 * one alone takes memory behind reserved addresses then. */
	if (target->device->context != source->device->context) {
		cuda_slab_reach(queue->device, source);
		return CALL(queue->device, text, cuMemcpyPeerAsync, target->at + to_offset, target->device->context,
		        source->at + from_offset, source->device->context, bytes, queue->stream);
	}
	return CALL(queue->device, text, cuMemcpyDtoDAsync_v2, target->at + to_offset, source->at + from_offset, bytes,
	        queue->stream);
}

static enum ingot_status cuda_fill(void *raw, void *to, size_t to_offset, int byte, size_t bytes, char *text)
{
	const struct cuda_queue *queue = raw;
	return CALL(queue->device, text, cuMemsetD8Async, ((struct cuda_slab *)to)->at + to_offset, (unsigned char)byte,
	        bytes, queue->stream);
}

/* What was issued before has not failed, or its own wait would have said so. */
static enum ingot_status wait_for_kernel(const struct cuda_queue *queue, const char *name, char *text)
{
	char words[INGOT_BACKEND_TEXT];
	if (!queue->device->cuda->wait_for_kernels)
		return INGOT_OK;
	snprintf(words, sizeof words, "kernel %.90s", name); /* room for what the driver says */
	return cuda_answer(queue->device, queue->device->cuda->call.cuStreamSynchronize(queue->stream), words, text);
}

/* It may look at what was issued before, and issue more into `stream`. */
static enum ingot_status cuda_call(
        void *raw, int (*run)(const struct ingot_call *), struct ingot_call *call, int *code, char *text)
{
	const struct cuda_queue *queue = raw;
	enum ingot_status status = CALL(queue->device, text, cuStreamSynchronize, queue->stream);
	call->parallel = NULL;
	call->stream = queue->stream;
	if (!status)
		*code = run(call);
	return status;
}

static enum ingot_status cuda_launch(void *raw, void *loaded, const struct ingot_module_kernel *kernel,
        const uint32_t groups[3], const uint32_t threads[3], void *const *arguments, int *code, char *text)
{
	const struct cuda_queue *queue = raw;
	const struct cuda_module *module = loaded;
	size_t number = module ? (size_t)(kernel - module->of->kernels) : 0;
	void *values[CUDA_ARGUMENTS_MOST];
	if (!module || number >= module->of->kernel_count || !module->kernels[number]
	        || kernel->argument_count > CUDA_ARGUMENTS_MOST) {
		snprintf(text, INGOT_BACKEND_TEXT, "kernel %s has no code for a GPU", kernel->name);
		return INGOT_UNSUPPORTED;
	}
	for (uint32_t i = 0; i < kernel->argument_count; i++)
		values[i] = (void *)(uintptr_t)&arguments[i];
	bool free_choice = !threads[0];
	(void)code; /* what goes wrong in a kernel the driver says */
	enum ingot_status status = CALL(queue->device, text, cuLaunchKernel, module->kernels[number], groups[0],
	        groups[1], groups[2], free_choice ? THREADS_DEFAULT : threads[0], free_choice ? 1 : threads[1],
	        free_choice ? 1 : threads[2], kernel->shared_bytes, queue->stream, values, NULL);
	return status ? status : wait_for_kernel(queue, kernel->name, text);
}

/* ---- modules ---- */

static void cuda_module_unload(void *raw, void *loaded)
{
	int mode;
	struct cuda_device *device = raw;
	struct cuda_module *module = loaded;
	char text[INGOT_BACKEND_TEXT];
	if (!in(device, &mode, text)) {
		cuda_graphs_release(device, module);
		if (module->module)
			device->cuda->call.cuModuleUnload(module->module);
		out(device, mode);
	}
	records_release(&module->graphs);
	pthread_mutex_destroy(&module->lock);
	free(module);
}

static bool serves(const struct ingot_module_image *image, uint32_t capability)
{
	if (image->flags & INGOT_IMAGE_TEXT)
		return image->capability <= capability;
	return image->flags & INGOT_IMAGE_EXACT
	        ? image->capability == capability
	        : image->capability / 10 == capability / 10 && image->capability <= capability;
}

/* Machine code before text, an exact one before others, then the newest. */
static uint32_t rank(const struct ingot_module_image *image)
{
	return (image->flags & INGOT_IMAGE_TEXT ? 1 : 100001) + (image->flags & INGOT_IMAGE_EXACT ? 10000 : 0)
	        + image->capability;
}

/* The best that the driver takes: it may be too old for a text. */
static enum ingot_status load_image(struct cuda_device *device, struct cuda_module *module, char *text)
{
	uint32_t capability = device->capability, below = UINT32_MAX;
	int version = 0, invalid = 0;
	for (;;) {
		const struct ingot_module_image *best = NULL;
		for (uint32_t i = 0; i < module->of->image_count; i++) {
			const struct ingot_module_image *one = module->of->images + i;
			if (serves(one, capability) && rank(one) < below && (!best || rank(one) > rank(best)))
				best = one;
		}
		if (!best)
			break;
		below = rank(best);
		int code = device->cuda->call.cuModuleLoadDataEx(&module->module, best->data, 0, NULL, NULL);
		if (code != CUDA_INVALID_IMAGE && code != CUDA_NO_BINARY && code != CUDA_INVALID_PTX
		        && code != CUDA_UNSUPPORTED_PTX)
			return cuda_answer(device, code, "cuModuleLoadDataEx", text);
		invalid = code == CUDA_INVALID_IMAGE ? code : invalid;
	}
	if (invalid)
		return cuda_answer(device, invalid, "cuModuleLoadDataEx", text);
	device->cuda->call.cuDriverGetVersion(&version);
	snprintf(text, INGOT_BACKEND_TEXT,
	        "none of its %u images is for a GPU of capability %u.%u with a driver for CUDA %d.%d",
	        module->of->image_count, capability / 10, capability % 10, version / 1000, version % 1000 / 10);
	return INGOT_UNSUPPORTED;
}

static enum ingot_status load(struct cuda_device *device, struct cuda_module *module, char *text)
{
	int mode;
	enum ingot_status status = in(device, &mode, text);
	if (status)
		return status;
	status = load_image(device, module, text);
	for (uint32_t k = 0; !status && k < module->of->kernel_count; k++) {
		const char *name = module->of->kernels[k].device_name;
		int code = name ? device->cuda->call.cuModuleGetFunction(&module->kernels[k], module->module, name) : 0;
		status = cuda_answer(device, code, "cuModuleGetFunction", text);
		uint32_t shared = module->of->kernels[k].shared_bytes;
		if (!status && shared)
			status = CALL(
			        device, text, cuFuncSetAttribute, module->kernels[k], CUDA_DYNAMIC_BYTES, (int)shared);
		if (code == CUDA_NOT_FOUND)
			snprintf(text, INGOT_BACKEND_TEXT, "its code has no kernel %s", name);
	}
	out(device, mode);
	return status;
}

static enum ingot_status cuda_module_load(void *raw, const struct ingot_module *of, void **made, char *text)
{
	struct cuda_device *device = raw;
	if (!of->image_count) {
		snprintf(text, INGOT_BACKEND_TEXT, "has no code for a GPU");
		return INGOT_UNSUPPORTED;
	}
	struct cuda_module *module = calloc(1, sizeof *module + of->kernel_count * sizeof *module->kernels);
	if (!module)
		return INGOT_MEMORY;
	module->of = of;
	pthread_mutex_init(&module->lock, NULL);
	enum ingot_status status = load(device, module, text);
	if (status)
		cuda_module_unload(device, module);
	else
		*made = module;
	return status;
}

/* ---- events ---- */

static enum ingot_status cuda_event_open(void *raw, void **event, char *text)
{
	int mode;
	struct cuda_device *device = raw;
	enum ingot_status status = in(device, &mode, text);
	if (status)
		return status;
	status = CALL(device, text, cuEventCreate, event, CUDA_UNTIMED);
	out(device, mode);
	return status;
}

static void cuda_event_close(void *raw, void *event)
{
	int mode;
	struct cuda_device *device = raw;
	char text[INGOT_BACKEND_TEXT];
	if (!in(device, &mode, text)) {
		device->cuda->call.cuEventDestroy_v2(event);
		out(device, mode);
	}
}

static enum ingot_status cuda_event_record(void *raw, void *event, char *text)
{
	int mode;
	const struct cuda_queue *queue = raw;
	enum ingot_status status = in(queue->device, &mode, text);
	if (status)
		return status;
	status = CALL(queue->device, text, cuEventRecord, event, queue->stream);
	out(queue->device, mode);
	return status;
}

static enum ingot_status cuda_event_wait(void *raw, void *event, char *text)
{
	int mode;
	const struct cuda_queue *queue = raw;
	enum ingot_status status = in(queue->device, &mode, text);
	if (status)
		return status;
	status = CALL(queue->device, text, cuStreamWaitEvent, queue->stream, event, 0);
	out(queue->device, mode);
	return status;
}

const struct ingot_backend ingot_backend_cuda = {
	.version = INGOT_BACKEND_VERSION,
	.name = "cuda",
	.open = cuda_open,
	.close = cuda_close,
	.devices = cuda_devices,
	.device_open = cuda_device_open,
	.device_close = cuda_device_close,
	.properties = cuda_properties,
	.supports = host_supports, /* generated CUDA has arithmetic for the same types */
	.slab_alloc = cuda_slab_alloc,
	.slab_free = cuda_slab_free,
	.slab_base = cuda_slab_base,
	.slab_grow = cuda_slab_grow,
	.queue_open = cuda_queue_open,
	.queue_close = cuda_queue_close,
	.wake = cuda_wake,
	.copy = cuda_copy,
	.copy_in = cuda_copy_in,
	.copy_out = cuda_copy_out,
	.fill = cuda_fill,
	.call = cuda_call,
	.launch = cuda_launch,
	.schedule = cuda_schedule,
	.module_load = cuda_module_load,
	.module_unload = cuda_module_unload,
	.event_open = cuda_event_open,
	.event_close = cuda_event_close,
	.event_record = cuda_event_record,
	.event_wait = cuda_event_wait,
	.host_pin = cuda_host_pin,
	.host_unpin = cuda_host_unpin,
};
#endif
