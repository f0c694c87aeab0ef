/* t.c: the schedule of grid_sample.onnxtxt, cast by ingot 0.1.0 (--cpu armv8-a --threads 1 --optimise speed --algorithms fast). */
#include "t.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
extern const unsigned char t_weights[];
void t_k0_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k1_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k2_map(const float *x0, const float *w1, int *y, long from, long to);
void t_k3_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k4_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k5_rows(const float *x0, const float *x1, const float *x2, const float *x3, const int *x4, const float *x5, const float *x6, float *y, long from, long to);
void t_k6_map(const float *x0, const float *w1, int *y, long from, long to);
void t_k7_rows(const float *x0, const float *w1, const float *x2, const int *x3, float *y, long from, long to);
void t_k8_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k9_map(const float *x0, const float *w1, int *y, long from, long to);
void t_k10_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k11_rows(const float *x0, const float *w1, const float *x2, const int *x3, const float *x4, const float *x5, float *y, long from, long to);
void t_k12_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k13_map(const float *x0, const float *w1, int *y, long from, long to);
void t_k14_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k15_rows(const float *x0, const float *w1, const float *x2, const int *x3, const float *x4, const float *x5, float *y, long from, long to);
#ifdef __cplusplus
}
#endif

struct t_call {
	const struct t_inputs *in;
	const struct t_outputs *out;
	unsigned char *workspace;
	const unsigned char *weights;
};

int t_run(const struct t_inputs *in, const struct t_outputs *out, const struct t_context *context)
{
	struct t_call state, *call = &state;
	if (!in || !out || !context || !in->x || !in->g || !out->a || !out->b || !out->c || !out->d)
		return T_NO_POINTER;
	if (!context->workspace || (uintptr_t)context->workspace % T_WORKSPACE_ALIGN)
		return T_BAD_WORKSPACE;
	state.in = in;
	state.out = out;
	state.workspace = (unsigned char *)context->workspace;
	state.weights = context->weights ? (const unsigned char *)context->weights : t_weights;
	(void)call;
	t_k0_map(call->in->g, (const float *)(const void *)(call->weights + 0), (float *)(void *)(call->workspace + 0), 0, 1);
	t_k1_map(call->in->g, (const float *)(const void *)(call->weights + 0), (float *)(void *)(call->workspace + 64), 0, 1);
	t_k2_map(call->in->g, (const float *)(const void *)(call->weights + 0), (int *)(void *)(call->workspace + 128), 0, 1);
	t_k3_map(call->in->g, (const float *)(const void *)(call->weights + 64), (float *)(void *)(call->workspace + 192), 0, 1);
	t_k4_map(call->in->g, (const float *)(const void *)(call->weights + 64), (float *)(void *)(call->workspace + 256), 0, 1);
	t_k5_rows(call->in->g, (const float *)(void *)(call->workspace + 64), (const float *)(void *)(call->workspace + 256), call->in->x, (const int *)(void *)(call->workspace + 128), (const float *)(void *)(call->workspace + 0), (const float *)(void *)(call->workspace + 192), call->out->a, 0, 1);
	t_k6_map(call->in->g, (const float *)(const void *)(call->weights + 128), (int *)(void *)(call->workspace + 0), 0, 1);
	t_k7_rows(call->in->g, (const float *)(const void *)(call->weights + 192), call->in->x, (const int *)(void *)(call->workspace + 0), call->out->b, 0, 1);
	t_k8_map(call->in->g, (const float *)(const void *)(call->weights + 256), (float *)(void *)(call->workspace + 0), 0, 1);
	t_k9_map(call->in->g, (const float *)(const void *)(call->weights + 256), (int *)(void *)(call->workspace + 64), 0, 1);
	t_k10_map(call->in->g, (const float *)(const void *)(call->weights + 320), (float *)(void *)(call->workspace + 128), 0, 1);
	t_k11_rows(call->in->g, (const float *)(const void *)(call->weights + 320), call->in->x, (const int *)(void *)(call->workspace + 64), (const float *)(void *)(call->workspace + 0), (const float *)(void *)(call->workspace + 128), call->out->c, 0, 1);
	t_k12_map(call->in->g, (const float *)(const void *)(call->weights + 384), (float *)(void *)(call->workspace + 0), 0, 1);
	t_k13_map(call->in->g, (const float *)(const void *)(call->weights + 384), (int *)(void *)(call->workspace + 64), 0, 1);
	t_k14_map(call->in->g, (const float *)(const void *)(call->weights + 448), (float *)(void *)(call->workspace + 128), 0, 1);
	t_k15_rows(call->in->g, (const float *)(const void *)(call->weights + 448), call->in->x, (const int *)(void *)(call->workspace + 64), (const float *)(void *)(call->workspace + 0), (const float *)(void *)(call->workspace + 128), call->out->d, 0, 1);
	return T_OK;
}
