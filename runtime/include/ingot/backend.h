/* backend.h: the narrow table a device kind fills in.  Devices, streams, contexts, pools, hazards, transfers and
 * failures are written once, above it, over three things of the backend: its device, its queue (one for each stream)
 * and its slab.
 *
 * A queue of the runtime holds commands in order.  The runtime calls `wake` when the first of them may start; then, on
 * any thread it likes, the backend calls ingot_queue_run(queue->ours, NULL, NULL), or does the same by hand:
 *
 *     while ((command = ingot_queue_next(queue->ours)))          // marks it as running; NULL: nothing may start
 *             ingot_command_finish(command, ingot_command_run(command));
 *
 * ingot_command_run calls back the functions of this table with this queue: copy, fill, call, launch, schedule.
 *
 * A backend that only issues work there (CUDA) has events: event_open to event_wait.  Then it says so, and goes on:
 *
 *     while ((command = ingot_queue_next(queue->ours))) {
 *             status = ingot_command_run(command);               // issues; not INGOT_OK: nothing of it may be issued
 *             remember(queue, command, status);                  // the device calls ingot_command_finish when it comes
 *               there
 *             ingot_queue_issued(queue->ours);                   // also where it came there already
 *     }
 *
 * One thread at a time does that for a queue.  Each command is finished once, in the order of its queue, and behind
 * those that its queue waited for (event_wait); a status other than INGOT_OK says that the device failed at it.
 * Another thread than the one that issues finishes them: where the device could not be told to wait for another queue,
 * ingot_command_run waits until what is there is finished.  The runtime hands the next command of the queue out as soon
 * as the one before is issued, and lets queues of one backend wait for each other by events; only a task of the host's
 * waits until what is before it is done.  `code` of call and launch is read when the command is finished, and stays
 * until then.
 *
 * wake, the events, module_load, module_unload, host_unpin, peer, used and close may be called with the runtime's lock
 * held: they call nothing of the runtime, `wake` does not wait, and no lock that they take is held while the runtime is
 * called.  The others are called without it, by any thread.  Functions return INGOT_OK or a status; `text` (room of
 * INGOT_BACKEND_TEXT bytes) takes the device's own words.  INGOT_LOST from any of them, or to ingot_command_finish,
 * says that the device is gone: what is queued on any stream of it is not run, and nothing is taken any more. */
#ifndef INGOT_BACKEND_H
#define INGOT_BACKEND_H

#include "ingot/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INGOT_BACKEND_TEXT 160
#define INGOT_BACKEND_VERSION 6 /* raised when the table changes; a backend of another is refused */

struct ingot_queue; /* the runtime's */
struct ingot_command;

enum ingot_slab_mode { INGOT_SLAB_PRIVATE, INGOT_SLAB_SHARED, INGOT_SLAB_PINNED }; /* a hint, may be ignored */

/* A step of a schedule, with its addresses, which are the same in each run. */
struct ingot_issue {
	enum ingot_step_kind kind;
	const struct ingot_module_kernel *kernel; /* KERNEL */
	uint32_t groups[3], threads[3];
	void *const *arguments;
	int (*host)(const struct ingot_call *); /* HOST */
	uint32_t check;                         /* CHECK: which one */
	void *to, *from;                        /* COPY, CLEAR: slabs; CHECK, LOOP, ROUND: of a byte; NULL: none */
	size_t to_offset, from_offset, bytes;
	const uint32_t *after; /* indices of earlier steps */
	uint32_t after_count;
	uint32_t other;                               /* LOOP, ROUND: index; `bytes`: rounds */
	const struct ingot_module_move *const *moves; /* of each argument; NULL: none moves */
};

/* A run of them. */
struct ingot_schedule {
	const struct ingot_issue *steps;
	uint32_t count;
	uint64_t number; /* where it comes again for a module it is of the same steps with the same addresses; 0: nobody
	                    knows */
	struct ingot_call *call; /* HOST: what it is called with */
	int *code;               /* KERNEL, HOST: takes the first that is not 0 */
	unsigned char *checks;   /* each takes what is at its `to`, by the end of the command */
};

struct ingot_backend {
	uint32_t version; /* INGOT_BACKEND_VERSION */
	const char *name;
	bool waits_inline; /* submit returns when the command is finished (sync) */

	enum ingot_status (*open)(const struct ingot_backend_options *, void **state, char *text);
	void (*close)(void *state);
	int (*devices)(void *state);
	enum ingot_status (*device_open)(void *state, int ordinal, void **device, char *text);
	void (*device_close)(void *device);
	void (*properties)(void *device, struct ingot_properties *); /* all but backend, ordinal, id */
	bool (*supports)(void *device, enum ingot_dtype);
	enum ingot_status (*used)(void *device, uint64_t *bytes); /* NULL: the runtime counts its slabs */
	const struct ingot_parallel *(*parallel)(void *device);   /* NULL: none */

	enum ingot_status (*slab_alloc)(
	        void *device, size_t bytes, size_t align, enum ingot_slab_mode, void **slab, char *text);
	void (*slab_free)(void *device, void *slab);
	void *(*slab_base)(void *slab); /* the address kernels see */
	/* It has so many bytes now, more than before, where it was, with what it held; UNSUPPORTED: it cannot, and
	 * another takes its place.  Under the lock.  NULL: none can. */
	enum ingot_status (*slab_grow)(void *device, void *slab, size_t bytes, char *text);

	enum ingot_status (*queue_open)(void *device, struct ingot_queue *ours, void **queue, char *text);
	void (*queue_close)(void *queue); /* called when it is empty */
	void (*wake)(void *queue);
	/* NULL: commands run by themselves.  Else called by whoever waits, without the lock: runs some; false: nothing
	 * to do. */
	bool (*progress)(void *state);

	/* Called from ingot_command_run, ordered by the queue.  Ranges are checked and not empty. */
	enum ingot_status (*copy)(
	        void *queue, void *to, size_t to_offset, void *from, size_t from_offset, size_t bytes, char *text);
	enum ingot_status (*copy_in)(
	        void *queue, void *to, size_t to_offset, const void *host, size_t bytes, char *text);
	enum ingot_status (*copy_out)(
	        void *queue, void *host, void *from, size_t from_offset, size_t bytes, char *text);
	enum ingot_status (*fill)(void *queue, void *to, size_t to_offset, int byte, size_t bytes, char *text);
	/* A routine or a host step.  `code`, which is 0, takes what it returned. */
	enum ingot_status (*call)(
	        void *queue, int (*run)(const struct ingot_call *), struct ingot_call *, int *code, char *text);
	/* module: what module_load made of the library that the kernel is in; NULL: of none. */
	enum ingot_status (*launch)(void *queue, void *module, const struct ingot_module_kernel *,
	        const uint32_t groups[3], const uint32_t threads[3], void *const *arguments, int *code, char *text);

	/* ---- what a backend may leave out: NULL ---- */

	/* Compiles and loads one of the module's images (where that is text for the device's own compiler `text` takes
	 * its words), once for each library and device, when a routine of it is linked first; unloaded with the
	 * library. */
	enum ingot_status (*module_load)(void *device, const struct ingot_module *, void **module, char *text);
	void (*module_unload)(void *device, void *module);

	/* All four or none.  record: the event is what is issued on the queue by now; wait: what is issued on the queue
	 * from now on starts behind the event as it is now. */
	enum ingot_status (*event_open)(void *device, void **event, char *text);
	void (*event_close)(void *device, void *event);
	enum ingot_status (*event_record)(void *queue, void *event, char *text);
	enum ingot_status (*event_wait)(void *queue, void *event, char *text);

	/* A whole static schedule at once; a step starts behind those in `after`.  NULL: its steps are issued one by
	 * one, in their order. */
	enum ingot_status (*schedule)(void *queue, void *module, const struct ingot_schedule *, char *text);

	/* Host memory that the device may use directly, for copies that do not stop the host: what programs pin, and
	 * large arrays of nodes' own. */
	enum ingot_status (*host_pin)(void *device, void *memory, size_t bytes, char *text);
	void (*host_unpin)(void *device, void *memory);

	/* Whether `copy` takes slabs of both devices, which are this backend's; NULL: it does.  Else copies go through
	 * the host. */
	bool (*peer)(void *device, void *other);
};

/* Runs what may start, until nothing may or `enough` (NULL: never), which is asked between two commands, with the
 * runtime's lock held, says so; true: something may start still.  One end and the next beginning share a lock. */
bool ingot_queue_run(struct ingot_queue *, bool (*enough)(void *), void *argument);
struct ingot_command *ingot_queue_next(struct ingot_queue *);
enum ingot_status ingot_command_run(struct ingot_command *);
void ingot_queue_issued(struct ingot_queue *); /* the command of the last ingot_queue_next */
/* Before it is finished with a status that is not INGOT_OK: what the device says of that. */
void ingot_command_failed(struct ingot_command *, enum ingot_status, const char *text);
void ingot_command_finish(struct ingot_command *, enum ingot_status);
/* Around host code that the backend runs later, on a thread of its own: what that calls answers as in a task; NULL:
 * over. */
void ingot_queue_inside(struct ingot_queue *);

/* cuda is none of the built-in ones: who wants it names it in ingot_runtime_options.backends, and links with -ldl where
 * dlopen needs that. */
extern const struct ingot_backend ingot_backend_sync, ingot_backend_multicore, ingot_backend_cuda;

#ifdef __cplusplus
}
#endif
#endif
