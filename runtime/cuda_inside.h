/* cuda_inside.h: what the parts of the backend of NVIDIA's GPUs share.
 *
 * cuda.c             the driver, devices, memory, queues and their ends, modules, events
 * cuda_slab.c        memory of a device, and of another one that can be reached
 * cuda_ring.c        copies between the host and a device
 * cuda_schedule.c    schedules, step by step or as graphs of the driver */
#ifndef RUNTIME_CUDA_INSIDE_H
#define RUNTIME_CUDA_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include "common/cuda.h"
#include "ingot/backend.h"
#include "recorded.h"

#define MEMBER(name, arguments) int(*name) arguments;
struct functions {
	CUDA_DRIVER(MEMBER) CUDA_DRIVER_EVENTS(MEMBER) CUDA_DRIVER_RUNTIME(MEMBER) CUDA_DRIVER_UPDATES(MEMBER)
};
#undef MEMBER

enum {
	CUDA_ARGUMENTS_MOST = 1024 /* of a kernel */,
	CUDA_SLAB_ALIGN = 256,
	CUDA_PEERS_MOST = 64 /* with a higher ordinal: copies go through the host */
};

struct cuda {
	struct functions call;
	pid_t process; /* that opened the driver */
	int count;
	bool wait_for_kernels; /* ingot_backend_options */
	pthread_t hearing;
	pthread_mutex_t lock; /* of what follows, and of the queues */
	pthread_cond_t change;
	struct issued *first, **last; /* of all queues, in the order of issue */
	uint64_t number;
	_Atomic uint32_t landing;                                  /* commands of those with something to land */
	uint64_t asked[CUDA_PEERS_MOST], reached[CUDA_PEERS_MOST]; /* by the ordinal of a device: those whose memory it
	                                                              asked for, and uses itself */
	bool closing;
};

struct cuda_device {
	struct cuda *cuda;
	int device, ordinal;
	void *context;
	struct ingot_properties properties;
	uint32_t capability; /* 90: 9.0 */
	size_t granule; /* memory behind reserved addresses comes in so many bytes; 0: the driver has no such addresses
	                 */
	pthread_mutex_t lock;
	struct primary *primary;       /* the GPU, which devices of other runtimes are, too */
	char lost[INGOT_BACKEND_TEXT]; /* the first error that the driver does not recover from, behind it the GPU's
	                                  first where that was another's; "": none */
};

struct cuda_slab {
	struct cuda_device *device;
	unsigned long long block, at; /* at: aligned */
	size_t reserved, mapped; /* of the addresses from block on; 0: a block of the driver's that stays as it is */
	uint64_t opened; /* by ordinal, the other devices that use what is mapped, with the lock of its device */
};

struct cuda_module {
	void *module;
	const struct ingot_module *of;
	pthread_mutex_t lock;  /* of what follows: several queues may run its routines */
	struct records graphs; /* made: an executable graph */
	void *capturing;       /* a stream that no queue knows; NULL: there was no capture yet */
	bool one_by_one;       /* the driver makes no graphs of its schedules */
	void *kernels[];       /* NULL: a kernel without a device_name */
};

/* What has come down into the ring, in front of its bytes; it goes to the host's memory when its command has ended. */
struct landing {
	struct landing *next;
	void *to;
	size_t bytes;
};

/* Of a queue: bytes are counted from its beginning, so those from `done` to `head` are in use. */
struct cuda_ring {
	void *at;                 /* pinned; NULL: not wanted yet */
	bool absent;              /* the driver gives none */
	uint64_t head;            /* the issuing thread's */
	_Atomic uint64_t done;    /* who tells of ends moves it on */
	struct landing *landings; /* of the command that is being issued */
};

/* A command that is issued, and what comes behind it. */
struct issued {
	struct landing *landings;
	uint64_t ring_end; /* the ring is free up to there when it has ended */
	struct ingot_command *command;
	enum ingot_status status;
	void *event;
	struct cuda_queue *queue;
	uint64_t number;
	int code; /* of the event, when it was looked at */
	struct issued *next;
};

struct cuda_queue {
	struct cuda_device *device;
	struct ingot_queue *ours;
	void *stream;
	pthread_t issuing;
	pthread_cond_t begin; /* woken or closing */
	struct issued *spare;
	struct cuda_ring ring;
	uint64_t looked; /* the last round in which one of it had ended well: so have those before */
	uint32_t flying; /* issued, not told of */
	bool woken, closing, begun;
	enum ingot_status status; /* of the issuing thread, when it has begun */
	char text[INGOT_BACKEND_TEXT];
};

/* ---- cuda.c ---- */
/* Of a code of the driver's: what it says, and of one that it does not recover from, the first such, which loses the
 * device. */
enum ingot_status cuda_answer(struct cuda_device *, int code, const char *name, char *text);
#define CALL(device, text, name, ...) cuda_answer(device, (device)->cuda->call.name(__VA_ARGS__), #name, text)

enum ingot_status cuda_same_process(const struct cuda *, char *text);

static inline enum ingot_status enter(struct cuda_device *device, char *text)
{
	return CALL(device, text, cuCtxPushCurrent_v2, device->context);
}

static inline void leave(struct cuda_device *device)
{
	void *context;
	device->cuda->call.cuCtxPopCurrent_v2(&context);
}

/* The thread's calls have nothing to do with what somebody captures meanwhile: in a capture that forbids unsafe calls
 * to all threads they would fail, and break it.  Its own mode; -1: the driver leaves it, though asked twice. */
static inline int relax(const struct cuda *cuda)
{
	int mode = CUDA_CAPTURE_RELAXED;
	return cuda->call.cuThreadExchangeStreamCaptureMode(&mode)
	                && cuda->call.cuThreadExchangeStreamCaptureMode(&mode)
	        ? -1
	        : mode;
}

/* In the context, and relaxed; `mode` is for out. */
static inline enum ingot_status in(struct cuda_device *device, int *mode, char *text)
{
	enum ingot_status status = enter(device, text);
	*mode = status ? -1 : relax(device->cuda);
	return status;
}

static inline void out(struct cuda_device *device, int mode)
{
	if (mode >= 0)
		device->cuda->call.cuThreadExchangeStreamCaptureMode(&mode);
	leave(device);
}

/* ---- cuda_slab.c ---- */
enum ingot_status cuda_granule(struct cuda_device *, char *text); /* asks for it */
enum ingot_status cuda_slab_alloc(
        void *device, size_t bytes, size_t align, enum ingot_slab_mode, void **slab, char *text);
void cuda_slab_free(void *device, void *slab);
void *cuda_slab_base(void *slab);
enum ingot_status cuda_slab_grow(void *device, void *slab, size_t bytes, char *text);
void cuda_slab_reach(struct cuda_device *, struct cuda_slab *); /* by the device of the context that the thread is in */
void cuda_peers_forget(struct cuda_device *);

/* ---- cuda_ring.c: on the issuing thread, which is in the context ---- */
enum ingot_status cuda_copy_in(void *queue, void *to, size_t to_offset, const void *host, size_t bytes, char *text);
enum ingot_status cuda_copy_out(void *queue, void *host, void *from, size_t from_offset, size_t bytes, char *text);
void cuda_land(const struct landing *); /* of a command that has ended well */

/* ---- cuda_schedule.c: on the issuing thread, which is in the context ---- */
enum ingot_status cuda_schedule(void *queue, void *module, const struct ingot_schedule *, char *text);
void cuda_graphs_release(struct cuda_device *, struct cuda_module *); /* in the context: what it made of schedules */

#endif
