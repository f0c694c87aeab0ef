/* t.h: grid_sample.onnxtxt, cast by ingot 0.1.0 (--cpu armv8-a --threads 1 --optimise speed --algorithms fast).
 *
 *     static ALIGNED_BYTES workspace[T_WORKSPACE_BYTES];          aligned to T_WORKSPACE_ALIGN
 *     struct t_inputs in = { .x = …, .g = … };
 *     struct t_outputs out = { .a = …, .b = …, .c = …, .d = … };
 *     struct t_context context = { .workspace = workspace };
 *     int status = t_run(&in, &out, &context);
 *
 * No heap, no globals that change: calls with different workspaces may run at the same time. */
#ifndef T_H
#define T_H

#define T_WORKSPACE_BYTES 288
#define T_WORKSPACE_ALIGN 64
#define T_WEIGHTS_BYTES 512
#define T_WEIGHTS_ALIGN 64
#define T_NUMBERS "numbers=3 math=strict algorithms=fast"        /* equal texts of one model: equal bits, on any CPU, at any batch */
#define T_STACK_BYTES 440           /* by aarch64-linux-gnu-gcc; of t_run and all that it calls */
enum {
	T_OK = 0,
	T_NO_POINTER = 1,          /* an argument, an input or an output is NULL, or the parallel-for's function */
	T_BAD_WORKSPACE = 2,       /* the workspace is NULL or not aligned */
	T_BAD_CPU = 3              /* this CPU lacks instructions of the one that the library is made for */
};

#ifndef INGOT_PARALLEL_DEFINED
#define INGOT_PARALLEL_DEFINED
/* The caller's parallel-for: run calls task(argument, index) for each index in [0, count), in any order and on any threads,
 * and returns when all have returned. */
struct ingot_parallel {
	void (*run)(void *pool, void (*task)(void *argument, int index), void *argument, int count);
	void *pool;
	int workers;                        /* tasks that can run at the same time */
};
#endif

/* Elements in C order, owned by the caller.  Each points to as many as its dims say. */
struct t_inputs {
	const float *x;                    /* [1,1,2,3] x */
	const float *g;                    /* [1,1,4,2] g */
};
struct t_outputs {
	float *a;                          /* [1,1,1,4] a */
	float *b;                          /* [1,1,1,4] b */
	float *c;                          /* [1,1,1,4] c */
	float *d;                          /* [1,1,1,4] d */
};
/* Members left zero take their default. */
struct t_context {
	void *workspace;                    /* T_WORKSPACE_BYTES; its content need not live between calls */
	const void *weights;                /* NULL: those linked in; else t_weights.bin, mapped or loaded */
	const struct ingot_parallel *parallel;      /* NULL: this thread alone */
	void *stream;                       /* CUDA's; not used here */
};

#ifdef __cplusplus
extern "C" {
#endif

/* T_OK, or one of the codes above. */
int t_run(const struct t_inputs *in, const struct t_outputs *out, const struct t_context *context);
#ifdef __cplusplus
}
#endif
#endif
