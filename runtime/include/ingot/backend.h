/* backend.h: the narrow table a device kind fills in.  Devices, streams, contexts, pools, hazards, transfers and
 * failures are written once, above it, over three things of the backend: its device, its queue (one for each stream)
 * and its slab.
 *
 * A queue of the runtime holds commands in order.  The runtime calls `wake` when the first of them may start; then, on
 * any thread it likes, the backend calls ingot_queue_run(queue->ours), or does the same by hand:
 *
 *     while ((command = ingot_queue_next(queue->ours)))          // marks it as running; NULL: nothing may start
 *             ingot_command_finish(command, ingot_command_run(command));
 *
 * ingot_command_run calls back the functions of this table with this queue: copy, fill, call, launch.  A backend that
 * only issues work there (CUDA) calls ingot_command_finish later, when the device is done; commands of a queue finish
 * in order. The functions of this table but copy, fill, call, launch and queue_close may be called with the runtime's
 * lock held: they call nothing of the runtime, `wake` does not wait, and no lock that they take is held while
 * ingot_queue_next is called. Functions return INGOT_OK or a status; `text` (room of INGOT_BACKEND_TEXT bytes) takes
 * the device's own words. */
#ifndef INGOT_BACKEND_H
#define INGOT_BACKEND_H

#include "ingot/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INGOT_BACKEND_TEXT 160

struct ingot_queue;                /* the runtime's */
struct ingot_command;

enum ingot_slab_mode { INGOT_SLAB_PRIVATE, INGOT_SLAB_SHARED, INGOT_SLAB_PINNED };    /* a hint, may be ignored */

struct ingot_backend {
	const char *name;
	bool waits_inline;             /* submit returns when the command is finished (sync) */

	enum ingot_status (*open)(const struct ingot_backend_options *, void **state, char *text);
	void              (*close)(void *state);
	int               (*devices)(void *state);
	enum ingot_status (*device_open)(void *state, int ordinal, void **device, char *text);
	void              (*device_close)(void *device);
	void              (*properties)(void *device, struct ingot_properties *);    /* all but backend, ordinal, id */
	bool              (*supports)(void *device, enum ingot_dtype);
	enum ingot_status (*used)(void *device, uint64_t *bytes); /* NULL: the runtime counts its slabs */
	const struct ingot_parallel *(*parallel)(void *device);                      /* NULL: none */

	enum ingot_status (*slab_alloc)(void *device, size_t bytes, size_t align, enum ingot_slab_mode, void **slab,
	                                char *text);
	void              (*slab_free)(void *device, void *slab);
	void             *(*slab_base)(void *slab);                                  /* the address kernels see */

	enum ingot_status (*queue_open)(void *device, struct ingot_queue *ours, void **queue, char *text);
	void              (*queue_close)(void *queue);                               /* called when it is empty */
	void              (*wake)(void *queue);
	/* NULL: commands run by themselves.  Else called by whoever waits, without the lock: runs some; false: nothing to do. */
	bool              (*progress)(void *state);

	/* Called from ingot_command_run, ordered by the queue.  Ranges are checked and not empty. */
	enum ingot_status (*copy)(void *queue, void *to, size_t to_offset, void *from, size_t from_offset, size_t bytes,
	                          char *text);
	enum ingot_status (*copy_in)(void *queue, void *to, size_t to_offset, const void *host, size_t bytes,
	                             char *text);
	enum ingot_status (*copy_out)(void *queue, void *host, void *from, size_t from_offset, size_t bytes,
	                              char *text);
	enum ingot_status (*fill)(void *queue, void *to, size_t to_offset, int byte, size_t bytes, char *text);
	/* A routine or a host step.  `code` takes what it returned. */
	enum ingot_status (*call)(void *queue, int (*run)(const struct ingot_call *), struct ingot_call *, int *code,
	                          char *text);
	enum ingot_status (*launch)(void *queue, const struct ingot_module_kernel *, const uint32_t groups[3],
				    const uint32_t threads[3], void *const *arguments, int *code, char *text);
};

/* Runs what may start, until nothing may; false: nothing could.  One end and the next beginning share a lock. */
bool                  ingot_queue_run(struct ingot_queue *);
struct ingot_command *ingot_queue_next(struct ingot_queue *);
enum ingot_status     ingot_command_run(struct ingot_command *);
void                  ingot_command_finish(struct ingot_command *, enum ingot_status);

extern const struct ingot_backend ingot_backend_sync, ingot_backend_multicore;

#ifdef __cplusplus
}
#endif
#endif
