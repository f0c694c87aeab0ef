/* runtime.h: runtimes, devices, streams, tasks and events.
 *
 *     struct ingot_runtime *runtime;
 *     struct ingot_device device;
 *     struct ingot_stream stream;
 *     struct ingot_event done;
 *     ingot_runtime_open(&runtime, NULL);
 *     ingot_backend_init(runtime, "multicore", NULL);
 *     ingot_device_get(runtime, "multicore", 0, &device);
 *     ingot_stream_open(device, &stream);
 *     ingot_task_submit(stream, &(struct ingot_task){ .name = "hello", .run = hello }, &done);
 *     ingot_event_sync(done);
 *     ingot_runtime_close(runtime);                 // closes what is left, and says so
 *
 * The headers are read in this order: status.h, runtime.h, pool.h, node.h, context.h; where they are needed mode.h,
 * names.h, threads.h, plan.h; for those who bring code abi.h, and for another kind of device backend.h.
 * docs/runtime-guide.md builds a program of them.  What holds for every call stands here, and a call says what is
 * otherwise:
 *
 * - it owns nothing that it is given: text and small structs are copied before it returns, arrays that work reads or
 * writes stay
 *   until their event, and what a comment calls kept stays as long as its object;
 * - what it gives is a handle, a copy into the caller's memory, or a pointer that lives as long as its object;
 * - any thread may make it, beside any other, unless it says otherwise, as ingot_runtime_close does;
 * - it does not wait for work: one that does says so ("waits", "blocks", "until");
 * - it may answer INGOT_INVALID, INGOT_STALE and INGOT_MEMORY, and one that submits what its stream's failure is
 *   (INGOT_FAILED once, then INGOT_STOPPED); other answers it names.
 *
 * A handle is a small value: runtime, index, generation.  Copies are equal.  Once its object is closed every call with
 * it answers INGOT_STALE, also when the index serves another object by then; a handle of zeros is stale.  A handle dies
 * with its runtime.
 *
 * Who opens closes: each open, new, load, link and init, and each event that a call hands out by `done` (NULL: none is
 * made).  A call that needs an argument it is not given answers INGOT_INVALID; a `done`, and what a comment says, may
 * be NULL.
 *
 * Any thread may call anything, tasks included, unless a call says otherwise.  A call that would wait for work answers
 * INGOT_WOULD_BLOCK in a task, its `destroy`, a routine or a kernel: its stream stands meanwhile.  What takes long
 * (memory, threads, values) is done without a lock that others wait for.  What is submitted to one stream runs in the
 * order of submission; what is submitted to several runs at once unless an event or a shared tensor orders it.
 *
 * Failure.  A task that returns not 0 fails, and stops its stream: what is queued behind it is not run.  The error is
 * reported once, by the next submit or await of that stream; later calls answer INGOT_STOPPED until
 * ingot_stream_restart.  ingot_stream_failure reads it at any time.  Events of work that failed or did not run are
 * done, and ingot_event_sync gives each waiter the error.  Work on another stream that reads what a failed task should
 * have written, or waits for its event, fails in turn (INGOT_DEPENDENCY) and names the origin; work that only
 * overwrites it runs.  Work that was not run wrote nothing: what it would have written is what it was before, with the
 * failure of whoever did begin to write it last. */
#ifndef INGOT_RUNTIME_H
#define INGOT_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ingot/abi.h"
#include "ingot/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ingot_runtime;
struct ingot_backend;

#define INGOT_HANDLE(name) \
	struct name { \
		struct ingot_runtime *runtime; \
		uint32_t index, generation; \
	}
INGOT_HANDLE(ingot_device);
INGOT_HANDLE(ingot_stream);
INGOT_HANDLE(ingot_event);
INGOT_HANDLE(ingot_context);
INGOT_HANDLE(ingot_node);
INGOT_HANDLE(ingot_library); /* a loaded module */
INGOT_HANDLE(ingot_routine);

/* ---- runtime: one isolated world of ids, tables and threads ---- */

enum ingot_name_style { INGOT_NAME_ONLY_IDS, INGOT_NAME_UNDER_GRAD, INGOT_NAME_DOT_GRAD };

#define INGOT_NO_SPARES UINT32_MAX /* for tools that watch memory: each command is allocated */

struct ingot_runtime_options {
	/* Memory of the runtime itself (slabs come from the backend).  NULL: calloc and free.  Blocks come zeroed. They
	 * may be called with the runtime's lock held, and call nothing of the runtime. */
	void *(*allocate)(void *user, size_t bytes);
	void (*release)(void *user, void *);
	void *user;
	/* Where the runtime was built for one thread (INGOT_THREADS=0: machines without an operating system) all
	 * memory, slabs too, is of this block; it stays the caller's, for one runtime at a time.  Elsewhere NULL
	 * (INGOT_UNSUPPORTED). */
	void *block;
	size_t block_bytes;
	const struct ingot_backend *const *backends; /* NULL-terminated, tried before the built-in sync and multicore */
	uint32_t queue_capacity; /* commands a stream may hold; a submit to a full one blocks; 0: 4096 */
	uint32_t spare_commands; /* blocks of finished commands kept for new ones; 0: as many as a stream may hold */
	uint32_t default_dtype;  /* of nodes nobody decides; 0: INGOT_F32 */
	enum ingot_name_style name_style; /* 0 is INGOT_NAME_ONLY_IDS */
	uint64_t pool_cap;                /* largest pool, bytes; 0: 4 GiB, as offsets in code are 32 bits */
	bool large_models;                /* no cap: offsets are 64 bits */
	bool single_stream;               /* ingot_stream_open gives the device's default stream */
	bool automatic_transfers;         /* runs upload stale hosted inputs; host reads download */
	bool poison;                      /* slabs are filled with 0xCD before use, and after the last */
};

enum ingot_status ingot_runtime_open(struct ingot_runtime **, const struct ingot_runtime_options *); /* NULL: all 0 */
/* Finishes queued work (work that waits for an event nobody signalled is cancelled), closes all that is open.  With
 * handles still open, events too, INGOT_LEFT_OPEN is answered and the message counts them; everything is released all
 * the same, in time that grows with what is open.  Devices and their default streams need not be closed.  Not from a
 * task, and no other call beside it.  NULL is fine.  From then on its handles answer INGOT_STALE, as do in a child of
 * fork those of runtimes that its parent opened; the child may open its own. */
enum ingot_status ingot_runtime_close(struct ingot_runtime *);
uint64_t ingot_runtime_live(const struct ingot_runtime *); /* blocks of memory held: for leak tests */

/* ---- backends ---- */

enum ingot_parallelism { INGOT_FOR_COPYING, INGOT_ONLY_DEVICES, INGOT_MOST_STREAMS };

/* "for_copying", "only_devices", "most_streams"; "?", false: none of them.  So with the names of other enums. */
const char *ingot_parallelism_name(enum ingot_parallelism);
bool ingot_parallelism_parse(const char *, enum ingot_parallelism *);

struct ingot_backend_options {
	enum ingot_parallelism parallelism;    /* only influences ingot_device_suggested_streams */
	uint32_t intra_op_threads;             /* of the device's own parallel-for; 0: as many as cores; 1: none */
	const struct ingot_parallel *parallel; /* the caller's own threads instead; kept, not copied */
	uint32_t seed;                         /* for backends that choose at random (tests) */
	/* Each kernel is waited for behind its launch, and none is part of a graph, so that an error that loses the
	 * device names its kernel; for finding that kernel: it takes its time.  Where kernels run on the host (sync,
	 * multicore) they are waited for always. */
	bool wait_for_kernels;
};

/* Explicit, and idempotent: a second call answers INGOT_OK and changes nothing.  "auto" tries cuda, multicore, sync. */
enum ingot_status ingot_backend_init(struct ingot_runtime *, const char *backend, const struct ingot_backend_options *);
bool ingot_backend_ready(struct ingot_runtime *, const char *backend);
enum ingot_status ingot_backend_devices(struct ingot_runtime *, const char *backend, int *count);

/* ---- devices ---- */

struct ingot_properties {
	const char *backend;
	int ordinal;
	uint32_t id;         /* unique in the process, over all backends and runtimes */
	bool host_memory;    /* device memory is host memory: hosts arrays can be buffers */
	uint32_t slab_align; /* alignment of slabs and of nodes that do not say */
	uint32_t compute_units, copy_engines;
	uint64_t shared_bytes;  /* scratch shared by a group's threads; 0: there is none */
	uint32_t group_threads; /* most threads of a group */
	uint32_t group_size[3]; /* and most along x, y and z */
	uint64_t memory_bytes;  /* 0: not known */
};

/* The device of that ordinal; asked again, the same.  Errors: INGOT_UNREADY before ingot_backend_init, INGOT_RANGE. */
enum ingot_status ingot_device_get(struct ingot_runtime *, const char *backend, int ordinal, struct ingot_device *);
/* One more logical device on the same hardware: an id, streams and pools of its own; used memory is counted
 * together. */
enum ingot_status ingot_device_another(struct ingot_runtime *, const char *backend, int ordinal, struct ingot_device *);
enum ingot_status ingot_device_default(
        struct ingot_runtime *, struct ingot_device *); /* ordinal 0 of the first ready one */
/* Refuses new work (INGOT_STALE), waits for its streams, closes them and the contexts on them, frees its pools.  What
 * waits for an event that nobody signalled, or was to signal, is cancelled.  Not from a task. */
enum ingot_status ingot_device_close(struct ingot_device);
enum ingot_status ingot_device_sync(struct ingot_device); /* await of all its streams, then forgets done events */
enum ingot_status ingot_device_properties(struct ingot_device, struct ingot_properties *);
enum ingot_status ingot_device_used(struct ingot_device, uint64_t *bytes); /* of the hardware, at most; exact on CPU */
/* Device memory of its own: by the backend's policy 1, 1 and its copy engines, or its compute units.  Streams that are
 * host threads: the cores less two, whatever the policy; sync: 1. */
enum ingot_status ingot_device_suggested_streams(struct ingot_device, int *count);
bool ingot_device_supports(struct ingot_device, enum ingot_dtype); /* in kernels, not only in copies */
bool ingot_device_equal(struct ingot_device, struct ingot_device);
/* "backend:ordinal:id", as it stands in messages.  Text functions fill at most `room` bytes, end them with 0, and
 * return the length that the whole text has, like snprintf; 0 for a stale handle. */
size_t ingot_device_name(struct ingot_device, char *text, size_t room);
/* Whether copies between them need not go through the host. */
enum ingot_status ingot_device_peer(struct ingot_device, struct ingot_device, bool *);
/* Lets the device use the caller's memory directly, for copies that do not stop the host; it stays the caller's, and is
 * unpinned before it is freed or the device closed.  Where device memory is the host's nothing needs to be done.  A copy
 * of more than 256 KB of which a part is pinned, or that two calls pinned, fails with INGOT_MEMORY.  Errors:
 * INGOT_UNSUPPORTED, and the device's own. */
enum ingot_status ingot_host_pin(struct ingot_device, void *, uint64_t bytes);
enum ingot_status ingot_host_unpin(struct ingot_device, void *);
/* The device's parallel-for, for libraries called by hand; NULL where it has none. */
const struct ingot_parallel *ingot_device_parallel(struct ingot_device);

/* ---- streams ---- */

enum ingot_status ingot_stream_default(struct ingot_device, struct ingot_stream *); /* opened with the device */
/* One more, with a queue and a merge buffer of its own; numbers of closed ones are given again. */
enum ingot_status ingot_stream_open(struct ingot_device, struct ingot_stream *);
/* The live ones, by number; at most `room` are written, *count is how many. */
enum ingot_status ingot_device_streams(struct ingot_device, struct ingot_stream *, uint32_t room, uint32_t *count);
/* Finishes its work, but cancels what waits for an event that nobody signalled; INGOT_BUSY with contexts on it, and for
 * the default stream.  Not from a task.  Closing anything cancels its own work alone, and leaves that of other
 * streams. */
enum ingot_status ingot_stream_close(struct ingot_stream);
/* Until what was submitted before is done, whatever others submit meanwhile; the error of its work, once. */
enum ingot_status ingot_stream_await(struct ingot_stream);
enum ingot_status ingot_stream_idle(struct ingot_stream, bool *idle);
enum ingot_status ingot_stream_failure(struct ingot_stream, char *text, size_t room); /* INGOT_OK: none */
/* Waits for what is queued, which is skipped and stays so; then forgets the failure.  INGOT_LOST: its device is
 * gone. */
enum ingot_status ingot_stream_restart(struct ingot_stream);
/* What has not begun is not run, and is no failure; code that runs may look at abi.h's ingot_call_cancelled. */
enum ingot_status ingot_stream_cancel(struct ingot_stream);
/* How many commands the stream may hold (0: the runtime's queue_capacity), and what a call does that finds as many:
 * it blocks, as at first, or answers INGOT_BUSY and submits nothing.  A call that submits several commands may go over
 * it by these. */
enum ingot_status ingot_stream_limit(struct ingot_stream, uint32_t commands, bool blocks);
enum ingot_status ingot_stream_device(struct ingot_stream, struct ingot_device *);
bool ingot_stream_equal(struct ingot_stream, struct ingot_stream);
int ingot_stream_number(struct ingot_stream);      /* its id in the device, reused after close; -1: stale */
uint32_t ingot_stream_queued(struct ingot_stream); /* commands not yet finished */
size_t ingot_stream_name(struct ingot_stream, char *text, size_t room); /* "backend:ordinal:id.number" */

/* ---- tasks ---- */

/* What a task reads or writes by itself, say by another library's call: it is ordered like a routine that does.  A read
 * comes behind the last write (INGOT_UNREADY: there was none), a write behind that and all reads; what is submitted
 * later comes behind the task.  node: in that context, a part of a node too (INGOT_MISSING: it is not there). */
struct ingot_use {
	struct ingot_context context;
	struct ingot_node node;
	bool write; /* else it reads; what it leaves as it was it must read too */
	bool merge; /* the merge buffer of the context's stream instead: read */
};

struct ingot_task {
	const char *name;              /* copied; stands in messages and traces */
	int (*before)(void *argument); /* each may be NULL; in this order; the first not 0 ends the task */
	int (*run)(void *argument);
	int (*after)(void *argument);
	void *argument;
	void (*destroy)(void *argument); /* called once, also when the task was not run, or not accepted */
	const struct ingot_event *waits; /* the task starts after these */
	uint32_t wait_count;
	const struct ingot_use *uses;
	uint32_t use_count;
};

enum ingot_status ingot_task_submit(
        struct ingot_stream, const struct ingot_task *, struct ingot_event *done); /* done: or NULL */

/* ---- events ---- */

/* Marks all that is queued on the stream by now. */
enum ingot_status ingot_event_record(struct ingot_stream, struct ingot_event *);
/* Later work of the stream starts after the event.  The caller does not block. */
enum ingot_status ingot_stream_wait(struct ingot_stream, struct ingot_event);
/* An event that somebody promises to signal: the host, or a stream when it gets there.  ingot_stream_signal is refused
 * with INGOT_CYCLE where the stream's queue would wait for this very event.  Closing it unsignalled cancels its
 * waiters. */
enum ingot_status ingot_event_open(struct ingot_runtime *, struct ingot_event *);
enum ingot_status ingot_event_signal(struct ingot_event);
enum ingot_status ingot_stream_signal(struct ingot_stream, struct ingot_event);

enum ingot_status ingot_event_done(struct ingot_event, bool *done); /* does not block; never goes back to false */
enum ingot_status ingot_event_sync(struct ingot_event);             /* blocks; the status of the work */
/* The same, no longer than until a moment of ingot_clock: INGOT_TIMEOUT, and the work goes on.  Where this thread
 * runs the work itself, as on sync, what it has begun ends first. */
enum ingot_status ingot_event_sync_until(struct ingot_event, uint64_t deadline);
uint64_t ingot_clock(void); /* nanoseconds of the machine's monotonic clock; 0 where INGOT_THREADS is 0 */
/* Of a task or run: it does not run if it has not begun; else INGOT_BUSY, and code that looks at abi.h's
 * ingot_call_cancelled may end early: then it was cancelled. */
enum ingot_status ingot_event_cancel(struct ingot_event);
enum ingot_status ingot_event_close(struct ingot_event); /* the work goes on */

/* ---- dumps ---- */

size_t ingot_runtime_json(struct ingot_runtime *, char *text, size_t room); /* backends and counts */
size_t ingot_device_json(struct ingot_device, char *text, size_t room);     /* streams, events, pools, contexts */
size_t ingot_properties_json(struct ingot_device, char *text, size_t room); /* struct ingot_properties */

/* ---- trace: what ran when, one track for each stream ---- */
/* Keeps the last `capacity` commands.  The JSON is Chrome's trace format. */
enum ingot_status ingot_trace_begin(struct ingot_runtime *, uint32_t capacity);
size_t ingot_trace_json(struct ingot_runtime *, char *text, size_t room);
void ingot_trace_end(struct ingot_runtime *);

#ifdef __cplusplus
}
#endif
#endif
