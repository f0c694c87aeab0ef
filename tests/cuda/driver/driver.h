/* driver.h: what the parts of the stand-in share (driver.c says what it is): its state, which the lock guards, and the
 * ways into each part. */
#ifndef TESTS_CUDA_DRIVER_H
#define TESTS_CUDA_DRIVER_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
enum {
	OK = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	NO_DEVICE = 100,
	INVALID_DEVICE = 101,
	INVALID_IMAGE = 200,
	INVALID_CONTEXT = 201,
	NO_BINARY = 209,
	UNSUPPORTED_PTX = 222,
	INVALID_HANDLE = 400,
	NOT_FOUND = 500,
	NOT_READY = 600,
	ALREADY_PINNED = 712,
	NOT_PINNED = 713,
	ILLEGAL_ADDRESS = 700,
	LAUNCH_FAILED = 719,
	CAPTURE_UNSUPPORTED = 900,
	CAPTURE_INVALIDATED = 901,
	CAPTURE_MERGE = 902,
	CAPTURE_UNMATCHED = 903,
	CAPTURE_UNJOINED = 904,
	CAPTURE_ISOLATION = 905,
	CAPTURE_IMPLICIT = 906,
	CAPTURED_EVENT = 907,
	UPDATE_FAILURE = 910,
	NO_PEER = 217,
	PEER_ALREADY = 704,
	UNKNOWN = 999
};
enum {
	PAGE = 4096,
	PARAMETERS_MOST = 512,
	STREAMS_MOST = 2048,
	ALLOCATIONS_MOST = 4096,
	PINNED_MOST = 1024,
	RESERVED_MOST = 1024,
	BACKINGS_MOST = 4096,
	DEVICES_MOST = 8,
	TEXTS_MOST = 8,
	FORKS_MOST = 16,
	MAP_BYTES = 128,
	MAP_VALUES = MAP_BYTES / 8,
	SHARED_USUAL = 48 << 10
};
#define ARENA ((size_t)1 << 36)

/* ---- what there is ---- */
struct kernel_row {
	const char *name;
	void (*thunk)(void **);
	int parameters, maps; /* maps: how many of them, the last ones, are tensor maps */
};
struct image_row {
	const unsigned char *at, *end;
};
/* A library of $STANDIN_KERNELS: its kernels, and the images of their text (NULL: nobody said). */
struct text {
	const struct kernel_row *kernels;
	const struct image_row *images;
	int (*launch)(const char *, void (*)(void **), void **, const unsigned *, const unsigned *, size_t);
	/* What is wrong with it; NULL: it is as the emulator has it.  The member is NULL where no kernel takes maps. */
	const char *(*map)(void *to, void *at, const unsigned long long *, unsigned long long, const unsigned *);
	const char *(*message)(void);
};
struct module;
struct function {
	char name[256];
	int parameters, bytes;
	unsigned shared, shared_most;
	const struct kernel_row *row;
	struct module *module;
};
struct module {
	int magic;
	int count, arch; /* arch: of the code, 90: 9.0 */
	const struct text *text;
	struct module *next;
	struct function functions[4096];
};
/* Streams that are captured into a graph have a number there each, 0 the one where it began; of each there is how many
 * operations it put in, and, of a stream or at an event, how many of these are known to be done before. */
struct forks {
	long done[FORKS_MOST];
};
struct operation {
	enum { COPY_IN, COPY_OUT, COPY, FILL, LAUNCH, RECORD, WAIT } kind;
	const struct function *function;
	struct event *event; /* RECORD, WAIT */
	long until;          /* WAIT: that many records of it */
	bool taken;          /* COPY_IN: host is ours */
	long number;         /* in the order of their issue */
	bool late;           /* COPY_IN: the call has returned, and nobody has waited yet */
	unsigned grid[3], block[3], shared;
	uint64_t *values; /* LAUNCH: parameters, of maps the address; then the maps */
	void *host;
	uint64_t at, from; /* from: COPY */
	int byte;
	size_t bytes;
	int member; /* in a graph: of which stream it came, and what is done before it */
	struct forks before;
	struct operation *next;
};
struct event {
	int magic;
	long issued, executed, waited, capture;
	bool timed;
	double at;
	struct forks before;
}; /* records; waits that are still to come; the capture that recorded it last, 0: none */
struct graph {
	int magic, mode; /* mode: of the capture, by `thread` */
	pthread_t thread;
	struct operation *first, **last;
	long capture;
	bool broken;
	int members;
	struct forks all;
};
struct stream {
	int magic, device, member;
	bool legacy, blocking; /* the NULL stream of its device, which those that block wait for, and it for them */
	struct graph *graph;
	struct forks before;
	struct operation *first, **last;
}; /* graph: it is captured into that */
struct allocation {
	uint64_t at;
	size_t bytes;
	int device;
	bool reserved;
}; /* reserved: what may be touched of addresses that were */
struct reservation {
	uint64_t at;
	size_t bytes, mapped, open, peers[DEVICES_MOST];
	int device;
}; /* mapped from its beginning on, of that touched by its device from there on, and by others */
struct backing {
	size_t bytes;
	uint64_t at;
	bool released;
	int device;
}; /* memory; at: what it is mapped to, 0: nothing */
struct pinned {
	const char *at;
	size_t bytes;
	bool ours;
	unsigned long long number;
}; /* ours: made by cuMemHostAlloc */
struct device {
	int retained;
	unsigned reaches;
}; /* reaches: those whose blocks its context uses, a bit each */

/* For tests that look into it. */
struct standin_counts {
	unsigned issued, completed, records, records_pending, waits, waits_pending, copies, peer_copies, direct_copies;
	int last_copy_on;
	unsigned graphs, launches, updates, maps;
}; /* direct: not through the host; made, launched */
EXPORT void standin_count(struct standin_counts *);
EXPORT void standin_hold(int);
EXPORT void standin_fails(int (*)(const char *)); /* asked at each call: whether it fails, with 999 */

extern pthread_mutex_t lock;
extern pthread_cond_t changed;
extern struct device devices[DEVICES_MOST];
extern struct stream *streams[STREAMS_MOST];
extern struct allocation allocations[ALLOCATIONS_MOST];
extern struct pinned pinned[PINNED_MOST];
extern struct reservation reserved[RESERVED_MOST];
extern struct backing backings[BACKINGS_MOST];
extern long issued; /* operations, so far */
extern struct standin_counts counts;
extern bool held; /* nothing is executed */
extern unsigned char *arena;
extern size_t arena_used, memory_used;
extern int modules, graphs, executables, events, sick; /* sick: what every call says from now on */
extern long calls;
extern unsigned draw;
extern bool initialised;
extern struct text texts[TEXTS_MOST];
extern int text_count;
extern __thread struct device *current[16];
extern __thread int depth;
extern __thread int capture_mode; /* of what the thread may call while others capture */
extern int waiting;               /* so many wait: what is late comes */
extern bool asked;                /* or somebody has asked in vain */
enum { MODE_GLOBAL, MODE_THREAD, MODE_RELAXED };
enum { MODULE = 0x4d4f44, GRAPH = 0x475241, EXECUTABLE = 0x455845, STREAM = 0x535452, EVENT = 0x455654, GONE = 0xdead };

/* driver.c */
void complain(const char *format, ...);
long number(const char *name, long otherwise);
int begin(const char *name, bool needs_context); /* of every entry point, under the lock: whether the call may go on */
int end(int code);
#define BEGIN(needs_context) \
	int wrong = begin(__func__, needs_context); \
	if (wrong) \
	return end(wrong)
int prohibited(const char *name); /* streams.c: a call that is unsafe while somebody captures; it breaks the capture */

/* memory.c */
const struct allocation *allocation_of(uint64_t at, size_t bytes);
void protect_at(uint64_t at, int how);
bool may_reach(int device, int other); /* $STANDIN_PEERS */

/* execute.c: the device's thread, and what is queued for it */
void *work(void *unused);
void execute(struct operation *);
int values_of(const struct function *); /* of its launch */
void operation_free(struct operation *);
struct operation again(const struct operation *); /* as another one, which a graph keeps or launches */
void event_free(struct event *);
void wait_for(struct stream *);            /* for what was issued by now; others go on issuing */
bool is_queued(uint64_t at, size_t bytes); /* an operation that is still to come was given some of it */
bool is_stream(void **handle);             /* the NULL stream becomes what it is */
struct stream *legacy_stream(void);        /* of the current context */
int enqueue(struct stream *, struct operation);
int uncaptured(const char *name, struct stream *); /* what a stream that is captured cannot do; it breaks the capture */
#endif
