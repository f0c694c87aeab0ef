/* NAME.h: y = relu(2 x + 1) over 4096 floats, as a generated library looks (design: the bare profile). */
#ifndef NAME_H
#define NAME_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define UPPER_WORKSPACE_BYTES 16384
#define UPPER_WORKSPACE_ALIGN 64
#define UPPER_WEIGHTS_BYTES 0

#ifndef INGOT_PARALLEL_DEFINED
#define INGOT_PARALLEL_DEFINED
struct ingot_parallel {
	void (*run)(void *pool, void (*task)(void *argument, int index), void *argument, int count);
	void *pool;
	int workers;
};
#endif

struct NAME_inputs {
	const float *x; /* [1, 4096] */
};
struct NAME_outputs {
	float *y; /* [1, 4096] */
};
struct NAME_context {
	void *workspace;
	const void *weights;
	const struct ingot_parallel *parallel;
};

int NAME_run(const struct NAME_inputs *, const struct NAME_outputs *, const struct NAME_context *);

#ifdef __cplusplus
}
#endif
#endif
