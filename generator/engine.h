/* engine.h: what can run a model: the interpreter, a library made and loaded at once, the JIT, a GPU, the CUDA
 * emulator. */
#ifndef ENGINE_H
#define ENGINE_H
#include "pipeline.h"

struct engine_kind;
struct engine {
	const struct engine_kind *kind;
	struct model *model;
	void *state;
};
/* Called with -1 before the first kernel, and behind each kernel with its number. */
typedef void engine_mark(void *user, int kernel);
/* What a GPU does at most, measured (device_limits.c): multiply-adds of floats a microsecond, those of tensor cores on
 * floats of 19 bits (0: it has none), bytes read and written where all fits half of L2 (near_bytes) and from memory,
 * and how long a kernel takes that does nothing. */
struct device_limits {
	double fma, mma, near, far, launch;
	int64_t near_bytes;
};
/* How a device was timed: its name, and how many sets of inputs, outputs and workspace came by turns, of so many bytes
 * each, to be more than L2 holds. */
struct device_turns {
	const char *device;
	int sets;
	int64_t set_bytes, l2_bytes;
};
/* One row for each word of --target in run, check and bench. */
struct engine_kind {
	const char *name;
	bool native; /* runs code of options->target on this CPU: target_ask comes first */
	void (*open)(struct engine *);
	/* Elements in C order, in the graph's types and orders. */
	void (*run)(struct engine *, const void *const *inputs, void *const *outputs);
	void (*close)(struct engine *);
	/* For ingot bench; NULL: it does not time its kernels apart.  Needs options->profile at open. */
	void (*profile)(struct engine *, const void *const *inputs, void *const *outputs, engine_mark *, void *user);
	/* limit_fma, and of products of integers limit_NAME: float (long rounds); limit_read: float (const float *,
	 * long count); NULL where there is no such loop.  As templates/c/limits.jinja says. */
	void *(*limit)(struct engine *, const char *name);
	/* Of a device, for ingot bench, behind a run; NULL: it is none.  again: once more, with what lies in its
	 * memory, by launches or as a graph.  times: so by launches, and microseconds of each kernel by the device's
	 * own clock. */
	void (*again)(struct engine *, bool graph);
	void (*times)(struct engine *, double *kernels);
	struct device_turns (*limits)(struct engine *, struct device_limits *);
	const char *(*form)(
	        struct engine *, const struct kernel *); /* what runs a kernel, in a word or two; NULL: its own code */
};
extern const struct engine_kind engine_interpreter, engine_c, engine_jit, engine_cuda, engine_cuda_emulated;

const struct engine_kind *engine_find(const char *name); /* NULL: no such kind */
const struct engine_kind *engine_at(int);                /* NULL after the last */
struct engine *engine_open(
        struct model *, const struct engine_kind *); /* the model is defined; lowered where the kind needs it */
void engine_run(struct engine *, const void *const *inputs, void *const *outputs);
void engine_close(struct engine *);
/* Opens one for `body` and closes it, whether that fails or not. */
void engine_with(struct model *, const struct engine_kind *, void (*body)(struct engine *, void *user), void *user);

/* What a run of compiled code returned: fails as the interpreter does where that is a check's code (emit/emit.h), but
 * for the values found. */
void engine_look(struct engine *, int status);

/* For engines that load files of their own: a fresh folder below $TMPDIR, and its end with all that it holds. */
void engine_remove_folder(const char *);

/* The C engine's loaded library, for benches. */
void *engine_c_symbol(struct engine *, const char *name);
/* Instead of engine_c's open: the library, a path, holds the model, lowered, among others. */
void engine_c_bind(struct engine *, const char *library);

struct cuda;
struct nvrtc;
/* In the GPU's context, by code for that architecture. */
struct device_limits device_limits_measure(
        struct model *, struct cuda *, const struct nvrtc *, const char *arch, bool ptx);

/* How many of the JIT's kernels are scalar loops: the menu has no form for them. */
int engine_jit_scalar_kernels(struct engine *);
/* One kernel alone, for benches: its function, and its arguments for these inputs and outputs: a pointer for each
 * param, then scratch. */
void *engine_jit_kernel(
        struct engine *, const struct kernel *, const void *const *inputs, void *const *outputs, void **arguments);
#endif
