/* inside.h: the runtime's own structures.  One lock of the runtime guards all of them; it is not held while a command
 * runs.  Objects count references: a handle is one, and whoever points at the object another. */
#ifndef RUNTIME_INSIDE_H
#define RUNTIME_INSIDE_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "common/alone.h"
#include "futex.h"
#include "said.h"
#include "ingot/backend.h"
#include "ingot/context.h"
#include "ingot/names.h"
#include "ingot/plan.h"
#include "ingot/threads.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define NAME_ROOM 48
#define ADOPT_ALIGN 16 /* of the caller's memory: the largest element's */
#define TEXT_ROOM 240
#define INITIAL_VERSION 1 /* of a value that a module gives its node from the start */
#define NEED_LIVING(runtime) \
	do { \
		if (!runtime_lives(runtime)) \
			return INGOT_STALE; \
	} while (0)

enum kind {
	KIND_NONE,
	KIND_DEVICE,
	KIND_STREAM,
	KIND_EVENT,
	KIND_CONTEXT,
	KIND_NODE,
	KIND_LIBRARY,
	KIND_ROUTINE,
	KIND_COUNT
};

/* Of what a struct is. */
#define KIND(type) \
	_Generic((struct type *)0, struct device * \
	         : KIND_DEVICE, struct stream * \
	         : KIND_STREAM, struct event * \
	         : KIND_EVENT, struct context * \
	         : KIND_CONTEXT, struct node * \
	         : KIND_NODE, struct library * \
	         : KIND_LIBRARY, struct routine * \
	         : KIND_ROUTINE)

struct object {
	struct ingot_runtime *runtime;
	uint32_t index, generation; /* of its handle; generation 0: closed */
	enum kind kind;
	uint32_t refs;
	struct object *next, **link; /* among those of its kind whose handles are open, but for events */
};

struct submission;

/* A failure is shared by all who must hear of it. */
struct failure {
	uint32_t refs;
	enum ingot_status status;
	bool cancelled; /* passes on, but stops no stream */
	char text[TEXT_ROOM];
};

/* ---- commands: command.c, submit.c, promise.c ---- */

/* Issued: its backend has it, and orders what follows by its own means; only where the backend has events of its
 * own. */
/* Forgone: it will not run, and all who ask know; what comes behind it still waits for what it had to wait for. */
enum command_state { COMMAND_QUEUED, COMMAND_RUNNING, COMMAND_ISSUED, COMMAND_FORGONE, COMMAND_DONE };

struct edge {
	struct ingot_command *from, *to;
	struct edge *next;          /* among the successors of `from` */
	struct stream *waits;       /* kept: `to` waits for what it has issued, on the device */
	bool carries;               /* a failure of `from` is one of `to` */
	bool before;                /* `from` is forgone: what failed is who wrote the place, from_place, before it */
	bool on_device;             /* the device orders them: not among those `to` is pending for */
	uint16_t place, from_place; /* both write it: which of the places of each; NO_PLACE: they do not */
};
#define NO_PLACE UINT16_MAX

/* What a place holds, or will when its last writer is done.  A command notes it when it is accepted; what was there
 * before holds again where the command was skipped. */
struct held {
	struct failure *taint;            /* the last writer that began failed: the value is not there */
	struct content *content;          /* of a merge buffer */
	uint64_t version;                 /* of the node's value */
	uint64_t written;                 /* which write it was, of all of the runtime */
	uint32_t owner, owner_generation; /* the handle of a shared place's only writer, also when closed; 0: none */
	enum { HOLDS_NOTHING, HOLDS_ZEROS, HOLDS_VALUE } holds;
};

/* Who touched a place: the last writer and the readers since. */
struct hazard {
	struct ingot_command *writer;
	struct held held;
	bool strict;    /* of host arrays: what was skipped taints too */
	uint16_t place; /* of the writer's places, this one */
	struct ingot_command **readers;
	uint32_t reader_count, reader_room;
};

/* What a write makes of a place: nothing that is told, zeros, the value of that version, a new value; a new value where
 * a part is written into the newest, else it stays as old as the rest. */
enum gives { GIVES_NOTHING, GIVES_ZEROS, GIVES_VALUE, GIVES_NEW, GIVES_PART };

struct access {
	struct hazard *hazard;
	bool read, write;
	enum gives gives;
	uint64_t version;
	struct node *node;         /* whose value it is; NULL: none's */
	struct location *location; /* whose hazard it is; NULL: of a pool, a host array or a merge buffer */
	struct content *content;   /* of the merge buffer: what is written into it, or read */
};

struct ingot_command {
	struct ingot_runtime *runtime;
	struct stream *stream;                 /* NULL: a promise, or finished */
	struct ingot_command *previous, *next; /* in the queue */
	enum ingot_status (*run)(struct ingot_command *, char *text);
	enum ingot_status (*ended)(struct ingot_command *, char *text); /* when all of it ran well: did it? or NULL */
	void (*destroy)(void *payload);                                 /* called once, without the lock */
	void *payload;
	uint32_t refs;
	_Atomic uint32_t state; /* a futex */
	uint32_t sleepers;
	uint32_t pending; /* edges from commands that are not done */
	bool cancelled, skipped;
	_Atomic unsigned char to_end; /* it runs, and was cancelled: call->cancelled */
	bool promised;                /* an event that a program or another command signals; in no queue */
	bool on_host;                 /* code of the host's: runs when all before it is done, not only issued */
	bool reusable;                /* a block of the size that is kept for the next */
	struct failure *cause;        /* of a predecessor: do not run */
	struct failure *failure;      /* its own, when done */
	struct edge *edges, *successors;
	struct held *befores; /* of the places it writes: what they held before it */
	uint32_t edge_count, slab_count, before_count;
	uint32_t events; /* that are its end, not closed yet */
	struct slab **slabs;
	struct object *keeps;            /* lives until it is done */
	struct ingot_command *promise;   /* done with this one */
	struct ingot_command *signaller; /* of a promise */
	uint64_t visited;
	struct ingot_command *to_visit, *to_destroy;
	uint64_t began;
	const char *name;
};

struct request {
	struct stream *stream;
	const char *name; /* lives as long as the command does */
	enum ingot_status (*run)(struct ingot_command *, char *text);
	enum ingot_status (*ended)(struct ingot_command *, char *text);
	void (*destroy)(void *payload);
	bool on_host;
	size_t payload_bytes; /* zeroed room, filled by the caller before it gives up the lock */
	const struct access *accesses;
	uint32_t access_count;
	struct ingot_command *const *after;
	uint32_t after_count;
	struct slab *const *slabs;
	uint32_t slab_count;
	struct object *keeps;
};

/* ---- objects ---- */

struct slab {
	struct device *device;
	void *raw, *base;
	uint64_t bytes;
	uint32_t refs;
	bool adopted;
	bool constant;     /* of a module: never written, perhaps in read-only memory */
	struct slab *next; /* dead ones */
};

struct pool {
	uint32_t id;
	struct slab *slab;
	struct hazard hazard;
	bool inner; /* of contexts and constants: programs do not close or replace it */
};

struct location {
	struct device *device;
	struct slab *slab;
	uint32_t pool, refs;
	uint64_t offset, bytes;
	struct hazard hazard;
	uint64_t first;     /* the write that gave it its first value */
	bool owns_pool;     /* its pool goes with it */
	uint32_t index;     /* among the device's locations */
	uint32_t streaming; /* contents of merge buffers that are this place */
	/* Before a stream writes it; told by who makes it stream, as a small program that has no merge buffers needs
	 * none of their code. */
	enum ingot_status (*settle)(struct location *, struct stream *writer);
	uint32_t retired;                          /* times that the caller took its memory back */
	struct node *node;                         /* whose value it holds, kept; NULL: constants, workspaces */
	struct location *next_place, **place_link; /* among the node's */
};

struct entry {
	struct node *node;
	struct location *location;
	uint64_t offset; /* of the node inside of the location */
};

struct entries {
	struct entry *at; /* by ascending node id */
	uint32_t count, room;
};

struct backend {
	const struct ingot_backend *table;
	struct ingot_backend_options options;
	void *state;
	int devices;
	uint64_t *used;        /* by ordinal */
	struct device **first; /* by ordinal: what ingot_device_get gives */
	struct backend *next;
};

/* Libraries hold their constants, and so do the contexts that have nodes in them; the device only knows them. */
struct constants {
	uint64_t hash; /* 0: none is known */
	struct location *location;
};

struct device {
	struct object object;
	struct backend *backend;
	struct ingot_properties properties;
	char name[NAME_ROOM - 12]; /* with a stream's number behind it, that stream's */
	void *raw;
	struct stream **streams; /* by number; NULL: free */
	uint32_t stream_room, stream_count;
	struct stream *main;
	struct pool *pools; /* by ascending id */
	uint32_t pool_count, pool_room, next_pool;
	struct constants *constants;
	uint32_t constant_count, constant_room;
	struct entries candidates, shared; /* read-only nodes that may become shared; nodes that are */
	struct location **locations;       /* all of the device: for sync and dumps */
	uint32_t location_count, location_room;
	uint64_t events, events_made; /* open; in all */
	struct failure *lost;         /* the backend said so: for good */
	bool closing;
	bool placing; /* a thread places nodes or opens a stream, at times without the lock; others wait */
};

struct ingot_queue {
	struct stream *stream;
};

/* What is in a merge buffer; another one each time that it is filled, so that the one before can be had again. */
struct content {
	uint32_t refs;
	struct node *node;              /* NULL: it is empty */
	struct slab *storage;           /* the stream's own, also while it streams; NULL: none yet */
	struct location *streaming;     /* the source, or NULL */
	uint64_t offset, written;       /* in it; the write that it streams */
	uint32_t retired;               /* of the source, then */
	struct ingot_command *update;   /* the copy into the storage */
	struct ingot_command *consumer; /* the latest that reads it */
};

struct stream {
	struct object object;
	struct device *device;
	struct ingot_command *head, *tail;
	struct ingot_command
	        *issue;       /* the first that its backend has not; where that issues before the first is done */
	uint32_t count, room; /* commands, and how many there may be */
	bool refuses;         /* what finds it full is not to wait */
	bool in_place;        /* its backend waits inline */
	bool overlaps;        /* its backend has events: commands are issued before those before them are done */
	void *mark;           /* the backend's event that others wait for, made when needed */
	bool passed_failure;  /* one that failed is done; where it was issued only, those before it are fine */
	bool reported, closing;
	bool with_device; /* closing: whoever closes its device ends it */
	bool to_wake;     /* in the runtime's list */
	struct failure *failure;
	uint32_t number, contexts;
	struct ingot_queue queue;
	void *raw;
	struct stream *next_to_wake;
	_Atomic uint32_t wakers; /* threads that are about to wake its backend */
	struct hazard merge;     /* of its merge buffer */
	char name[NAME_ROOM];
};

/* Constant where there is `sync` alone, so that what only other backends need goes. */
#define OVERLAPS(stream) (INGOT_THREADS && (stream)->overlaps)
#define OPTIONAL(table, function) (INGOT_THREADS && (table)->function)

struct event {
	struct object object;
	struct ingot_command *command; /* NULL: all was done when it was recorded */
	struct failure *failure;
	struct device *device; /* counted there; NULL: a promise */
	bool promise;
};

struct context {
	struct object object;
	struct stream *stream;
	struct context *parent;
	uint32_t children;
	struct entries entries;
	uint32_t *pools;
	uint32_t pool_count, pool_room;
	struct location *workspace;
	struct node *merge_node;
	bool finalized;
};

struct node {
	struct object object;
	uint32_t id;
	char **labels;
	uint32_t label_count;
	struct ingot_precision_state precision;
	struct ingot_mode_state mode;
	bool by_hand; /* the program said that it is shared: any stream may write it */
	uint32_t rank;
	int64_t dims[INGOT_MAX_RANK], left[INGOT_MAX_RANK], right[INGOT_MAX_RANK];
	double margin;
	bool margin_open;
	struct node *parent; /* of a slice, or of a view in a module */
	uint64_t view_offset;
	uint64_t storage_bytes; /* of a module's node; 0: from dims and type */
	uint32_t align;
	void *host; /* of what is no view: a view's is a part of it */
	bool host_owned;
	bool pinning;                         /* somebody has tried to pin it, or does */
	struct device *pinned;                /* by this device's backend; kept; NULL: it is not */
	bool host_busy;                       /* a thread copies values, without the lock */
	uint32_t libraries;                   /* that have it: its handle ends with the last */
	struct library *source;               /* which says what it has from the start; NULL: none */
	const struct ingot_module_node *from; /* there */
	struct hazard host_hazard;
	uint64_t stamp;          /* the latest version that was given */
	uint64_t lost;           /* the latest that went with its place */
	struct location *places; /* on all devices */
	uint64_t uploads, downloads;
	char *code_name, *note;
	struct prepared *before[2]; /* what the caller has the host wait for: reading, writing */
	bool preparing;             /* a thread is at them, without the lock */
	struct node *next_dead;
};

/* What is given back when the lock is given up, as that takes long. */
struct dead {
	struct slab *slabs;
	struct node *nodes; /* whose host arrays they are */
};

struct library {
	struct object object;
	const struct ingot_module *module;
	struct node **nodes;
	const void *constants;
	struct loaded *loaded; /* on devices that want it */
	uint32_t loaded_count, loaded_room;
	uint32_t routines;
};

struct loaded {
	struct device *device; /* kept */
	bool asked;            /* the device's loader was */
	void *raw;
	struct location *constants; /* NULL: not needed there yet */
};

struct argument {
	struct location *location; /* NULL: the merge buffer */
	uint64_t offset;
};

/* What a run touches, and where it lies: the same in each run, as places do not move, but for the merge buffer. */
struct gathering {
	struct access *accesses;
	struct slab **slabs;
	struct ingot_slot *slots;
	void **pools;
	uint32_t access_count, slab_count;
	bool stays;
};

struct routine {
	struct object object;
	struct library *library; /* NULL: a transfer */
	const struct ingot_module_routine *descriptor;
	struct context *context;
	struct argument *arguments;
	struct gathering gathering;
	struct steps
	        *steps; /* of its schedule, as the backend takes them; NULL: it was not run yet, or they do not stay */
	int64_t *symbols;
	bool *symbol_set;
	char *log;
	struct ingot_command *last;
	/* a transfer */
	struct node *node;
	struct context *source;
	enum ingot_merge merge;
	enum ingot_status (*transfer)(struct submission *, struct routine *, struct ingot_command **);
};

struct trace_entry {
	char name[NAME_ROOM];
	uint32_t device, stream;
	uint64_t began, ended;
	bool failed;
};

struct handle_entry {
	struct object *object;
	uint32_t generation, next_free;
};

struct spares {
	struct spare *first;
	uint32_t count;
};

struct ingot_runtime {
	/* Written by each submit and each end, so close together: a cache line that another core wrote last costs more
	 * than the work. */
	_Atomic uint32_t lock;  /* a futex */
	uint32_t waiting;       /* for a change */
	struct stream *to_wake; /* their backends are woken when the lock is given up, not under it */
	struct dead dead;
	uint32_t freeing;               /* threads that give such back just now: no backend is closed meanwhile */
	struct spares commands, events; /* blocks of those that are gone */
	_Atomic uint32_t change;        /* a futex: something finished or was signalled */
	uint32_t in_place_queued;       /* commands on streams that run in place */
	uint64_t writes;                /* accepted */
	struct ingot_runtime_options options;
	struct backend *backends;
	struct handle_entry *handles;
	uint32_t handle_count, handle_room, first_free, first_generation;
	uint32_t open[KIND_COUNT];
	struct object *first[KIND_COUNT], **end[KIND_COUNT]; /* in the order in which they were opened */
	uint32_t next_node;
	uint64_t visit;
	_Atomic size_t live;
	_Atomic bool unlocked; /* our own mistake: the lock was given back by one who had it not */
	struct failure no_memory;
	struct trace_entry *trace;
	uint32_t trace_room;
	uint64_t trace_count;
	uint64_t hazards;   /* entries in all hazard lists */
	uint64_t schedules; /* numbers given to steps that stay */
	bool closing;
	bool opening; /* a thread opens a backend or a device, without the lock; others wait */
};

/* ---- status.c ---- */
enum ingot_status say_failure(const struct failure *);

/* ---- lives.c: the runtimes of this process that are open; none that was opened before a fork ---- */
#if INGOT_THREADS
bool runtime_lives(const struct ingot_runtime *); /* says INGOT_STALE; NULL lives not */
bool lives_add(struct ingot_runtime *);           /* false: no memory; gives it its first generation */
void lives_remove(struct ingot_runtime *);
#else /* one at a time, in a block that is the caller's */
static inline bool runtime_lives(const struct ingot_runtime *runtime) { return runtime; }
static inline bool lives_add(struct ingot_runtime *runtime) { return runtime->first_generation = 1; }
static inline void lives_remove(struct ingot_runtime *runtime) { (void)runtime; }
#endif

/* ---- runtime.c: memory, handles ---- */
void *memory_new(struct ingot_runtime *, size_t count, size_t bytes); /* zeroed; NULL: none left or overflow */
void memory_free(struct ingot_runtime *, void *);
char *memory_copy(struct ingot_runtime *, const char *text);
/* Makes room for one more of `bytes` each. */
bool memory_grow(struct ingot_runtime *, void *array, uint32_t count, uint32_t *room, size_t bytes);
void enter(struct ingot_runtime *);
void leave(struct ingot_runtime *);
void change_wait(struct ingot_runtime *); /* until the next `changed`; gives the lock up meanwhile */
void change_wait_until(struct ingot_runtime *, uint64_t moment);
void changed(struct ingot_runtime *);
enum ingot_status handle_new(struct ingot_runtime *, struct object *, enum kind); /* takes one reference */
void handle_close(struct object *); /* ends the handle, drops its reference */
/* Each that is open, of a kind that is not events; it may be closed in the body. */
#define EACH(type, one, runtime) \
	struct type *one = (struct type *)(runtime)->first[KIND(type)], \
	            *one##_next = one ? (struct type *)one->object.next : NULL; \
	one; \
	one = one##_next, one##_next = one ? (struct type *)one->object.next : NULL
static inline void object_keep(struct object *object) { object->refs++; }
void object_drop(struct object *);
struct object *object_of(struct ingot_runtime *, uint32_t index, uint32_t generation, enum kind); /* says INGOT_STALE */
/* Resolves a handle with the lock taken; NULL: stale, the lock is not held. */
#define ENTER(type, handle) \
	((struct type *)object_enter((handle).runtime, (handle).index, (handle).generation, KIND(type)))
#define FIND(type, rt, handle) \
	((struct type *)((handle).runtime == (rt) ? object_of((rt), (handle).index, (handle).generation, KIND(type)) \
	                                          : object_of((rt), UINT32_MAX, 0, KIND(type))))
/* Declares the object by its type's name, with the lock; where the handle is stale the function has answered so. */
#define NEED_OPEN(type, handle) \
	struct type *type = ENTER(type, handle); \
	if (!type) \
	return INGOT_STALE
/* What an accessor does: a value of the object, where the caller wants it. */
#define ANSWER(type, handle, out, value) \
	NEED(out); \
	NEED_OPEN(type, handle); \
	*(out) = (value); \
	leave((handle).runtime); \
	return INGOT_OK
struct object *object_enter(struct ingot_runtime *, uint32_t index, uint32_t generation, enum kind);
/* Resolves a handle, keeps its object while `work` is in it, with the lock, and answers what that answers. */
#define DO(type, handle, work) object_do((handle).runtime, (handle).index, (handle).generation, KIND(type), work)
enum ingot_status object_do(struct ingot_runtime *, uint32_t index, uint32_t generation, enum kind,
        enum ingot_status (*work)(struct object *));
#define HANDLE(type, o) ((struct type){ (o)->object.runtime, (o)->object.index, (o)->object.generation })
extern void (*const object_release[KIND_COUNT])(struct object *);
void device_release(struct object *), stream_release(struct object *), event_release(struct object *),
        context_release(struct object *), node_release(struct object *), library_release(struct object *),
        routine_release(struct object *);
struct backend *backend_ready(struct ingot_runtime *, const char *name); /* NULL: says INGOT_UNREADY */
struct failure *failure_new(struct ingot_runtime *, enum ingot_status, const char *format, ...)
        PRINTF(3, 4); /* never NULL */
struct failure *failure_keep(struct failure *);
void failure_drop(struct ingot_runtime *, struct failure *);

/* ---- stream.c ---- */
enum ingot_status stream_new(struct device *, struct stream **); /* `placing` is held; gives the lock up */
void stream_finish(struct stream *);                             /* waits for what was submitted by now */
void stream_end(struct stream *);                                /* of one that is closing and has no work */

/* ---- device.c ---- */
struct device *device_enter(struct ingot_device, enum ingot_status *); /* with the lock; NULL: stale or being closed */
/* What takes long is done without the lock, by one thread a device, and no context or stream of it ends meanwhile. */
void placing_begin(struct device *), placing_end(struct device *);
void placing_wait(struct device *);
bool device_reaches(struct device *, struct device *other); /* one copy does it, not by way of the host */
void device_lost(struct device *, const char *text);        /* from now on it takes no work */
/* What its backend says of a status; of one that loses it the first such error, which it is lost by from now on. */
const char *device_words(struct device *, enum ingot_status, const char *text);

/* ---- command.c ---- */
bool inside_task(void);
/* INGOT_WOULD_BLOCK inside a task, whose stream stands meanwhile. */
enum ingot_status task_refuses(const char *what);
void *spare_take(struct spares *, size_t cleared); /* NULL: none is kept; so many bytes are zeros */
void spare_give(struct ingot_runtime *, struct spares *, void *block);
void spares_release(struct ingot_runtime *, struct spares *);
struct ingot_command *command_new(struct ingot_runtime *, size_t bytes, size_t cleared); /* the caller fills the rest */
static inline void command_keep(struct ingot_command *command) { command->refs++; }
void command_drop(struct ingot_command *);
static inline bool command_done(const struct ingot_command *command)
{
	return atomic_load_explicit(&command->state, memory_order_acquire) == COMMAND_DONE;
}
static inline bool command_over(const struct ingot_command *command)
{
	return atomic_load_explicit(&command->state, memory_order_acquire) >= COMMAND_FORGONE;
}
void command_wait(struct ingot_command *); /* till it is over; locked; gives the lock up meanwhile */
bool command_wait_until(struct ingot_command *, uint64_t moment); /* false: it was not by then */
void command_wait_done(struct ingot_command *);                   /* till nothing waits behind it any more */
void leave_dropping(struct stream *); /* leave, with one reference of the stream less; on inline devices, runs it */
/* What may be startable now is told to the backend once: only by what made it so. */
void stream_wake(struct stream *);
/* The command waits for less than before: for its stream that matters where it is the next. */
void command_wake(const struct ingot_command *);
/* What the backend has already it orders itself, for queues of its own; so the host need not wait till it is done. */
void edge_settle(struct edge *);
/* With the lock: what ends now, as a line of the trace, if that goes on. */
void trace_add(struct ingot_command *, const char *name, uint64_t began);
/* Out of its queue, and it needs nothing any more; its reference to its stream is the caller's now. */
void command_leave(struct ingot_command *);
void command_reach(struct ingot_command *, enum command_state); /* and who sleeps for that wakes */
/* It is out of its queue, and done.  Those that were forgone and waited for nothing else are done with it. */
void command_end(struct ingot_command *);
/* Part of the task, without the lock: the stream stands until it is over. */
void command_destroy(struct ingot_command *);

/* ---- submit.c ---- */
enum ingot_status stream_room(struct stream *);          /* waits for room, reports a failure; may give up the lock */
enum ingot_status stream_refuses(const struct stream *); /* being closed: INGOT_STALE */
enum ingot_status stream_report(struct stream *);        /* tells of its failure once; then says that it has stopped */
enum ingot_status submit(
        const struct request *, struct ingot_command **); /* the queue's reference; alive until `leave` */

/* ---- promise.c ---- */
struct ingot_command *promise_new(struct ingot_runtime *);
void promise_keep_or_break(
        struct ingot_command *, struct failure *); /* done, well or with a failure (its reference is taken) */
/* Whether `from` comes after the promise: through edges, its queue, and what keeps other promises. */
bool comes_after(struct ingot_command *from, struct ingot_command *promise);
void command_cancel(struct ingot_command *);     /* one that has not begun */
void command_ask_to_end(struct ingot_command *); /* one that has */
/* Of the stream's work what is the closer's (own NULL: all) and waits for an event that only a program can signal, which
 * nobody did: it is forgone, and other streams' work is left alone.  Gives the lock up. */
void stream_forgo(struct stream *, bool (*own)(const struct ingot_command *, const void *), const void *);
bool command_forgo(struct ingot_command *);    /* one of those; false: it is none */
void stream_finish_unblocked(struct stream *); /* waits for what was submitted by now, but for those */

/* ---- submission.c: around every call that queues work ---- */
struct submission {
	struct stream *stream; /* kept */
	struct stream *other;  /* got work, too: of another backend; kept; NULL: none */
	struct event *event;
	struct ingot_event *done;
};
/* With the lock.  Refuses a stream that is closing or has failed, waits for room (so handles are resolved behind it),
 * and reserves the event that the caller wants, so that what is accepted cannot fail any more. */
enum ingot_status submission_begin(struct submission *, struct stream *, struct ingot_event *done);
/* The same for marks, which a stream that failed takes too. */
enum ingot_status submission_begin_mark(struct submission *, struct stream *, struct ingot_event *done);
void submission_with(struct submission *, struct stream *other);
/* Binds the event or gives it back, then leaves; on inline devices, runs what is queued.  Returns the status. */
enum ingot_status submission_end(struct submission *, enum ingot_status, struct ingot_command *);

/* ---- event.c ---- */
enum ingot_status event_new(
        struct device *, struct ingot_runtime *, struct ingot_command *, struct ingot_event *); /* done NULL: fine */
/* Before the submit, so that a submit that was accepted cannot fail any more. */
enum ingot_status event_reserve(
        struct device *, struct ingot_runtime *, const struct ingot_event *wanted, struct event **);
void event_bind(struct event *, struct ingot_command *, struct ingot_event *handle);
void event_unreserve(struct event *);
void event_close(struct event *);

/* ---- hazard.c ---- */
bool hazard_reserve(struct ingot_runtime *, struct hazard *);
void hazard_prune(struct ingot_runtime *, struct hazard *);
void hazard_release(struct ingot_runtime *, struct hazard *);
bool hazard_busy(struct ingot_runtime *, struct hazard *, bool readers_too);
struct held *hazard_held(struct ingot_runtime *, struct hazard *); /* as of now */
static inline bool hazard_valued(struct ingot_runtime *runtime, struct hazard *hazard)
{
	return hazard_held(runtime, hazard)->holds == HOLDS_VALUE;
}
void held_copy(struct held *, const struct held *); /* into one that holds nothing yet */
void held_set(struct ingot_runtime *, struct held *, const struct held *);
void held_drop(struct ingot_runtime *, struct held *);
void taint_set(struct ingot_runtime *, struct held *, struct failure *);
void content_set(struct ingot_runtime *, struct held *, struct content *);
void content_drop(struct ingot_runtime *, struct content *);

/* ---- pool.c ---- */
/* Gives the lock up, but for `locked`. */
struct slab *slab_new(struct device *, uint64_t bytes, uint32_t align, enum ingot_slab_mode, enum ingot_status *);
struct slab *slab_new_locked(struct device *, uint64_t bytes, uint32_t align, enum ingot_status *);
void dead_free(struct ingot_runtime *, struct dead); /* without the lock */
struct slab *slab_adopt(struct device *, void *, uint64_t bytes);
void slab_grow(struct slab *, uint64_t bytes); /* to so many, where it is, if it can */
void slab_keep(struct slab *);
bool slab_aligned(const struct slab *, uint64_t align); /* 0: as the device wants it */
void slab_drop(struct slab *);
enum ingot_status pool_add_inner(struct device *, struct slab *, uint32_t *id); /* one that only the runtime ends */
struct pool *pool_find(struct device *, uint32_t id);
void pool_remove(struct device *, uint32_t id);
/* A copy, between two slabs or the host and one, or a fill. */
struct move {
	struct slab *to, *from; /* NULL: the host, or nothing */
	uint64_t to_offset, from_offset, bytes;
	void *to_host;
	const void *from_host;
	int byte;
	struct node *pins; /* whose own array the host's is, of so many bytes; NULL: it stays as it is */
	uint64_t pin_bytes;
	void *queue; /* of the stream; asked when it is submitted, as the command outlives nothing */
	const struct ingot_backend *table;
};
enum ingot_status submit_move(struct stream *, const char *name, struct move, const struct access *, uint32_t,
        struct object *keeps, struct ingot_command **);
/* Of such a command with the host, before it can run: an array of the node's own is pinned first, where it is large and
 * that was not tried yet. */
void move_pins(struct ingot_command *, struct node *base);

enum ingot_status code_ended(
        const struct ingot_module *, int code, char *text); /* what its code returned; NULL: no words */
enum ingot_status launch_shape(
        const struct device *, const uint32_t groups[3], const uint32_t *threads, uint32_t chosen[3]);

/* ---- context.c, placing.c ---- */
struct context *context_enter(struct ingot_context, enum ingot_status *); /* with the lock; NULL: stale or finalized */
void context_keep_newest(struct context *);              /* with automatic transfers: what nobody else has */
enum ingot_status context_lives(const struct context *); /* not finalized, else INGOT_STALE */
struct entry *entries_find(struct entries *, const struct node *);
enum ingot_status entries_add(
        struct ingot_runtime *, struct entries *, struct node *, struct location *, uint64_t offset);
void entries_remove(struct entries *, const struct node *);
void entries_release(struct ingot_runtime *, struct entries *);
struct entry *context_find(
        struct context *, const struct node *, struct entry *room); /* views resolved; NULL: not there */
enum ingot_status context_has(struct context *, const struct node *, struct entry *); /* INGOT_MISSING: says so */
/* With the lock: the context, and where the node lies in it; NULL: the status says why not. */
struct context *entry_enter(struct ingot_context, struct ingot_node, struct entry *, enum ingot_status *);
enum ingot_status context_new(struct stream *, struct context *parent, struct context **);
void context_merges(struct context *, struct node *); /* NULL: no node */
/* INGOT_CONFLICT: the stream may not write the place, as it is constant, or another stream's. */
enum ingot_status location_refuses(struct location *, struct stream *, const struct node *);
bool location_owned(struct location *, const struct stream *); /* by another stream */
static inline struct held *location_held(struct location *location)
{
	return hazard_held(location->device->object.runtime, &location->hazard);
}
/* By anybody, since it got its first value. */
static inline bool location_rewritten(struct location *location)
{
	const struct held *held = location_held(location);
	return held->holds && held->written != location->first;
}
/* How the node, which lies there, is accessed; a write makes a new value of it. */
struct access location_access(struct location *, const struct node *, bool write);
/* node: whose value it will hold, or NULL. */
struct location *location_new(
        struct device *, struct node *, struct slab *, uint32_t pool, uint64_t offset, uint64_t bytes);
void location_drop(struct location *);
/* Its work, and the routine's, ends, but for what waits for an event that nobody signals: that is cancelled. */
void context_finish(struct context *, const struct routine *);
enum ingot_status context_finalize_locked(struct context *);
/* What a new place begins with: the node's value, or where it has none zeros, or anything as the code clears it;
 * anything even so, as all of it is written next. */
enum first { FIRST_ZEROS, FIRST_CLEARED, FIRST_WRITTEN };
/* Places nodes that the context does not see yet.  first: of each; NULL: all of FIRST_ZEROS. */
enum ingot_status context_place_nodes(struct context *, struct node *const *, const uint8_t *first, uint32_t count);
enum ingot_slab_mode node_slab_mode(const struct node *); /* of memory for it; NULL: for no node */
/* A location with a pool of its own, which it takes along when it goes. */
struct location *location_alone(struct device *, struct node *, uint64_t bytes, uint32_t align, enum ingot_status *);
/* The same over memory that stays the caller's. */
struct location *location_adopt(struct device *, struct node *, void *, uint64_t bytes, enum ingot_status *);
/* Gives a new location its first value: of the host, initial data, or zeros but where the code clears it. */
enum ingot_status location_begin(struct context *, struct node *, struct location *, bool cleared);
enum ingot_status location_clear(struct context *, struct location *);
enum upload { UPLOAD_HOST, UPLOAD_INITIAL, UPLOAD_CALLER };
enum ingot_status context_upload(struct context *, struct node *, struct entry *, const void *, uint64_t bytes,
        enum upload, struct ingot_command **);
struct location *context_workspace(struct context *, uint64_t bytes, uint32_t align, enum ingot_status *);
void location_keep(struct location *);
/* ---- link.c ---- */
/* Where the device has the node already, or for all: constants and shared nodes; NULL: the context places it. */
enum ingot_status location_given(struct context *, struct node *, struct location **, uint64_t *offset);
/* What the device says of a node before something is decided of it, which may have to be undone. */
struct sharing {
	struct node *node;
	struct ingot_mode_state mode;
	struct location *candidate, *shared;
};
void sharing_note(struct device *, struct node *, struct sharing *);
void sharing_end(struct device *, struct sharing *, bool undo); /* NULL in `node`: nothing was noted */
void sharing_forget(struct node *);                             /* no device has a place of it for others any more */
/* The library's constants lie on the device; they go up where they have not yet. */
enum ingot_status constants_need(struct context *, struct library *, struct location **);

/* ---- library.c ---- */
/* What the library has on the device; made: NULL only where there is no memory, else where it has nothing yet. */
struct loaded *library_on(struct library *, struct device *, bool made);
void library_leave(struct library *, struct device *); /* its constants there go */
/* What the device's loader made of the library, the first time it is asked (then it gives the lock up, and `placing` is
 * held); NULL where it makes nothing of libraries. */
enum ingot_status library_loaded(struct library *, struct device *, void **loaded);
/* May give the lock up. */
enum ingot_status kernel_module(
        struct device *, const struct ingot_module_kernel *, void **loaded); /* of the library it is in, or NULL */

/* ---- node.c ---- */
struct node *node_make(struct ingot_runtime *, const struct ingot_node_options *, enum ingot_status *);
enum ingot_status node_wrap(struct node *, void *host); /* INGOT_CONFLICT: its mode has no host array */
uint64_t node_bytes(struct node *);                     /* freezes its type */
uint64_t node_count(const struct node *);
enum ingot_dtype node_dtype(struct node *); /* freezes */
size_t node_debug_name(const struct node *, char *, size_t);
struct node *node_base(struct node *, uint64_t *offset); /* through views */
void *node_host(struct node *, struct node **base);      /* its part of the base's host array, or NULL */
void node_host_free(const struct node *);                /* of a node that is no more, without the lock */
void node_host_settle(struct node *);                    /* until no thread copies values; may give up the lock */
uint64_t node_newest(struct node *base);                 /* the version of its newest value, wherever it is or was */
uint64_t host_version(struct node *base);                /* of its host array */
void host_written(struct node *base);                    /* by the host: a new value, ready now */
void node_end(struct node *);                            /* its handle */
static inline const void *node_initial(const struct node *node) { return node->source ? node->from->initial : NULL; }
static inline struct library *node_constants(const struct node *node) /* it is a part of; NULL: of none */
{
	return node->source && node->from->flags & INGOT_NODE_CONSTANT ? node->source : NULL;
}
bool node_has_value(struct node *); /* from the start */
enum ingot_status node_conflict(const struct node *, const char *why);
enum ingot_status node_placeable(const struct node *); /* INGOT_CONFLICT: its mode gives it no memory */
uint32_t node_align(const struct node *);              /* of memory that is adopted for it */

/* ---- prepare.c ---- */
enum ingot_status prepared_run(struct node *base, bool write); /* before the host has its values; gives the lock up */
void host_wait(struct node *base,
        bool readers_too); /* for transfers that write the host array, or read it too; gives the lock up */
void prepared_release(struct node *);

/* ---- routine.c, transfer.c, schedule.c ---- */
enum ingot_status schedule_run(struct routine *, const struct request *whole, struct ingot_command **);
/* What a call of the routine's takes, behind its own payload: symbols as they are now, and where places do not stay
 * copies of them. */
size_t call_bytes(const struct routine *);
void call_fill(const struct routine *, const struct ingot_command *, struct ingot_call *, void *at);
enum ingot_status host_download(struct context *, struct node *); /* to its own array; ordered, not waited for */
/* Before a part of a place is written: what the place has not gets zeros, or with automatic transfers the newest. */
enum ingot_status rest_fetch(struct submission *, struct context *, struct node *, struct location *);
struct context *newest_context(struct node *base); /* one that has the newest value; NULL: none */

/* ---- merge.c ---- */
struct content *merge_now(struct stream *);                /* NULL: there is nothing in its merge buffer */
struct access merge_read(struct stream *, struct slab **); /* of what is in it */
/* What a copy of so many bytes is made into, kept: `made`, or the buffer's own storage where it is large enough. */
struct slab *merge_storage(struct stream *, struct slab *made, uint64_t bytes, bool unlocked, enum ingot_status *);
/* Fills it with a copy: what the copy's command does to it.  Then the content is given up, and holds once that command
 * was accepted; NULL: it was not. */
struct content *merge_copy(struct stream *, struct node *, struct slab *storage, struct access *write);
void merge_copied(struct ingot_runtime *, struct content *, struct ingot_command *);
/* It is the source's place from now on. */
enum ingot_status merge_stream(struct stream *, struct node *, struct location *source, uint64_t offset);

/* ---- text.c ---- */
struct sink {
	char *at;
	size_t room, count;
};
void sink_printf(struct sink *, const char *format, ...) PRINTF(2, 3);
void sink_string(struct sink *, const char *); /* a JSON string, quoted */
size_t sink_end(struct sink *);

uint64_t clock_nanoseconds(void);

#if INGOT_THREADS
#include <sched.h>
static inline void yield_briefly(void) { sched_yield(); }
#else
static inline void yield_briefly(void) {}
#endif

#endif
