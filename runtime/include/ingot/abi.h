/* abi.h: what a generated library and the runtime say to each other, and nothing else.
 *
 * A *bare* library needs only `struct ingot_parallel`, and prints that text into its own header under the same guard.
 * A *managed* library also prints one constant `struct ingot_module`: its nodes, symbols, constants and routines.  The
 * runtime reads it, allocates, binds, and calls each routine with one `struct ingot_call`.
 *
 *     const struct ingot_module mnist_module = {
 *             .abi = INGOT_ABI, .name = "mnist",
 *             .nodes = nodes, .node_count = 3, .routines = routines, .routine_count = 1,
 *             .constants = { .data = weights, .bytes = MNIST_WEIGHTS_BYTES, .align = 64 },
 *     };
 *
 * Everything is plain constant data: it may sit in flash, is never written, and lives as long as what was loaded from
 * it.  Counts beside NULL pointers are 0.  C99, C11 and C++ read this file. */
#ifndef INGOT_ABI_H
#define INGOT_ABI_H

#include <stddef.h>
#include <stdint.h>

/* A parallel-for that the caller brings.  `run` calls task(argument, i) once for each i in [0, count), in any order, on
 * any threads, and returns when all have returned.  `workers` is how many may run at once, at least 1. */
#ifndef INGOT_PARALLEL_DEFINED
#define INGOT_PARALLEL_DEFINED
struct ingot_parallel {
	void (*run)(void *pool, void (*task)(void *argument, int index), void *argument, int count);
	void *pool;
	int workers;
};
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define INGOT_ABI 5 /* raised when a struct below changes its meaning */
#define INGOT_MAX_RANK 16
#define INGOT_LOOPS_DEEP 8 /* loops within loops of a schedule */

/* Element types, by the numbers ONNX gives them; 100 and above are ours. */
enum ingot_dtype {
	INGOT_DTYPE_NONE = 0,
	INGOT_F32 = 1,
	INGOT_U8 = 2,
	INGOT_I8 = 3,
	INGOT_U16 = 4,
	INGOT_I16 = 5,
	INGOT_I32 = 6,
	INGOT_I64 = 7,
	INGOT_STRING = 8,
	INGOT_BOOL = 9,
	INGOT_F16 = 10,
	INGOT_F64 = 11,
	INGOT_U32 = 12,
	INGOT_U64 = 13,
	INGOT_C64 = 14,
	INGOT_C128 = 15,
	INGOT_BF16 = 16,
	INGOT_F8E4M3FN = 17,
	INGOT_F8E4M3FNUZ = 18,
	INGOT_F8E5M2 = 19,
	INGOT_F8E5M2FNUZ = 20,
	INGOT_U4 = 21,
	INGOT_I4 = 22,
	INGOT_F4E2M1 = 23,
	INGOT_F8E8M0 = 24,
	INGOT_U2 = 25,
	INGOT_I2 = 26,
	INGOT_U4X32 = 100, /* 128 bits: a counter of the Threefry generator */
};

/* ---- what a routine is called with ---- */

/* A buffer is (pool, offset): argument i lies at (char *)call->pools[slots[i].pool] + slots[i].offset. */
struct ingot_slot {
	uint32_t pool;
	uint64_t offset;
};

struct ingot_call {
	void *const *pools;                    /* the base of each pool the call touches */
	const struct ingot_slot *slots;        /* one for each argument of the routine */
	const int64_t *symbols;                /* one for each symbol of the routine, checked against its range */
	int64_t *extents;                      /* written: actual extents of outputs, as the routine lists them */
	const struct ingot_parallel *parallel; /* NULL: this thread alone */
	const char *log;                       /* a file for debug logs, or NULL */
	void *stream;                          /* the device's own queue (CUDA: a CUstream), or NULL */
	const unsigned char *cancelled;        /* for ingot_call_cancelled; NULL: nobody can cancel the call */
};

/* Whether the run was cancelled since it began (ingot_event_cancel, ingot_stream_cancel).  Code that takes long may look
 * now and then, and return a code of its own; such a run counts as cancelled, and what it writes as not written. */
static inline int ingot_call_cancelled(const struct ingot_call *call)
{
#if defined __GNUC__
	return call->cancelled && __atomic_load_n(call->cancelled, __ATOMIC_RELAXED);
#else
	return call->cancelled && *(const volatile unsigned char *)call->cancelled;
#endif
}

static inline void *ingot_argument(const struct ingot_call *call, uint32_t index)
{
	return (char *)call->pools[call->slots[index].pool] + call->slots[index].offset;
}

/* Grid kernels are called once for each group of a launch. */
struct ingot_group {
	uint32_t index[3], groups[3], threads[3];
};

/* ---- what a library says of itself ---- */

struct ingot_module_symbol {
	const char *name;
	int64_t least, most; /* inclusive; memory is planned for `most` */
};

struct ingot_module_dim {
	int64_t extent; /* the extent, or its upper bound where `symbol` is not -1 */
	int32_t symbol; /* index into the module's symbols, or -1 */
};

/* Flags of a node. */
enum {
	INGOT_NODE_CONSTANT = 1, /* its bytes are part of the module's constants, at `offset` */
	INGOT_NODE_STATE = 2,    /* read before written: persists between runs */
	INGOT_NODE_CLEARED = 4,  /* the code itself writes all of it first: link need not zero it */
	INGOT_NODE_SHARED = 8,   /* one array for all streams of a device */
	INGOT_NODE_HOSTED = 16,  /* the host reads and writes it */
};

struct ingot_module_node {
	const char *name; /* nodes of several modules of one set are the same by name */
	uint32_t dtype;   /* enum ingot_dtype */
	uint32_t flags;
	uint32_t rank;
	const struct ingot_module_dim *dims; /* logical extents, margins not included */
	uint64_t bytes;                      /* storage for the largest extents, margins included */
	uint32_t align;                      /* a power of two; 0: the device's own */
	int32_t view_of;                     /* index of the node it is a part of, or -1 */
	uint64_t offset;                     /* into the constants, or into `view_of` */
	const void *initial;                 /* `bytes` of initial data, or NULL: zeros */
};

enum ingot_source {           /* where an argument of a routine comes from */
	INGOT_FROM_NODE,      /* index: the node */
	INGOT_FROM_MERGE,     /* the merge buffer of the stream; index: the node expected in it */
	INGOT_FROM_WORKSPACE, /* scratch of this routine */
	INGOT_FROM_CONSTANTS, /* the module's constants as a whole */
	INGOT_FROM_KERNEL,    /* of tensors alone: on the stack of the kernel, or in its registers */
};

struct ingot_module_argument {
	uint32_t source; /* enum ingot_source */
	uint32_t index;
	uint64_t offset; /* bytes into the workspace or the constants; else 0 */
};

/* Where a tensor of a graph came to live, and who decided that: for dumps, tests and people.  Running needs none of
 * it. */
struct ingot_module_tensor {
	const char *name;
	uint32_t routine;          /* whose it is: index into the module's routines */
	uint32_t mode, provenance; /* enum ingot_mode, enum ingot_provenance of mode.h */
	uint32_t dtype, rank;
	const int64_t *extents;
	const int64_t *strides;          /* elements between neighbours along each axis; NULL: it has no memory */
	struct ingot_module_argument at; /* where that memory is; scratch of one kernel: INGOT_FROM_KERNEL */
	uint64_t bytes;                  /* of the memory; 0: none */
	int32_t kernel;                  /* that computes it: a position in the routine's order; -1: none */
};

/* One step of a static schedule.  Steps of a lane run in order; `after` lists earlier steps of other lanes that must
 * have ended.  Where the device takes no schedule whole (struct ingot_backend.schedule), they run in the order in which
 * they stand, on the stream of the context.
 *
 * Of devices that take it whole, and where it has one lane: a CHECK looks at the byte that its argument points to, and
 * where that is 0 the routine ends with its code; what comes behind it is issued all the same.  The steps between a
 * LOOP and its ROUND come again while fewer than `bytes` rounds were, and while the byte that the argument of both,
 * where there is one, points to is not 0. */
enum ingot_step_kind {
	INGOT_STEP_KERNEL,
	INGOT_STEP_COPY,
	INGOT_STEP_CLEAR,
	INGOT_STEP_HOST,
	INGOT_STEP_WAIT,
	INGOT_STEP_CHECK,
	INGOT_STEP_LOOP,
	INGOT_STEP_ROUND
};

struct ingot_module_step {
	uint32_t kind, lane;
	uint32_t kernel; /* KERNEL: index into the module's kernels; HOST: of `hosts`; CHECK: code; LOOP, ROUND: the
	                    other */
	uint32_t first_argument, argument_count; /* of the routine's arguments; COPY: target, source; CLEAR: target */
	uint32_t groups[3], threads[3];          /* KERNEL; threads of 0: the device chooses */
	uint64_t bytes;                          /* COPY, CLEAR; LOOP, ROUND: rounds at most */
	const uint32_t *after;
	uint32_t after_count;
};

/* How an argument moves with the rounds of the loops around its step: bytes that are added; in round t of the loop of
 * depth d (0: the outermost) step[d] * t, and in odd rounds flip[d] besides.  Behind a loop t is how many there
 * were. */
struct ingot_module_move {
	int64_t from, step[INGOT_LOOPS_DEEP], flip[INGOT_LOOPS_DEEP];
};

struct ingot_module_kernel {
	const char *name;
	uint32_t argument_count;
	const uint32_t *dtypes; /* of each argument, or NULL: not checked */
	/* Called for each group.  Not 0: the launch fails with that number. */
	int (*run)(const struct ingot_group *, void *const *arguments);
	const char *device_name; /* entry point in the images, or NULL */
	uint32_t shared_bytes;   /* that a launch asks for beside the entry point's own */
};

struct ingot_module_routine {
	const char *name;
	const uint32_t *inputs; /* nodes: materialised, not constant, read before they are written */
	uint32_t input_count;
	const uint32_t *outputs; /* nodes: all that are written */
	uint32_t output_count;
	const uint32_t *symbols; /* indices of the module's symbols, in the order of call->symbols */
	uint32_t symbol_count;
	const struct ingot_module_argument *arguments;
	uint32_t argument_count;
	int32_t merge_input;   /* the node read from the merge buffer, or -1 */
	uint32_t extent_count; /* numbers the routine writes to call->extents */
	uint64_t workspace_bytes;
	uint32_t workspace_align;
	/* The whole routine as one call, or NULL where `steps` say it.  0, or a code of the library's own. */
	int (*run)(const struct ingot_call *);
	const struct ingot_module_step *steps;
	uint32_t step_count, lane_count;
	/* Workspaces besides: an INGOT_FROM_WORKSPACE of index i > 0 is in more_workspaces[i - 1] bytes, aligned
	 * alike. */
	const uint64_t *more_workspaces;
	uint32_t more_workspace_count;
	const uint32_t *moved; /* index into `moves` for each argument; NULL: none moves */
	const struct ingot_module_move *moves;
	uint32_t move_count;
};

/* Code for a device's loader.  Of CUDA: a cubin, which serves the GPUs of its major version from its minor on, an exact
 * one that capability alone; or PTX, a text that ends in a 0, which a driver compiles for any that is not older. */
enum { INGOT_IMAGE_EXACT = 1, INGOT_IMAGE_TEXT = 2 };

struct ingot_module_image {
	const void *data;
	uint32_t capability; /* 90: 9.0 */
	uint32_t flags;
};

struct ingot_module_constants {
	const void *data; /* linked in or mapped; NULL: the loader brings a file */
	uint64_t bytes;
	uint32_t align;
	uint64_t hash; /* of the bytes; equal hash and size: the same constants.  0: none */
};

struct ingot_module {
	uint32_t abi; /* INGOT_ABI */
	const char *name;
	const struct ingot_module_node *nodes;
	uint32_t node_count;
	const struct ingot_module_symbol *symbols;
	uint32_t symbol_count;
	struct ingot_module_constants constants;
	const struct ingot_module_kernel *kernels;
	uint32_t kernel_count;
	int (*const *hosts)(const struct ingot_call *);
	uint32_t host_count;
	const struct ingot_module_routine *routines;
	uint32_t routine_count;
	const char *(*message)(int code); /* the text of a routine's code, or NULL */
	const struct ingot_module_image
	        *images; /* the kernels' code for devices that do not run `run`; the device takes one */
	uint32_t image_count;
	const struct ingot_module_tensor *tensors;
	uint32_t tensor_count;
};

#ifdef __cplusplus
}
#endif
#endif
