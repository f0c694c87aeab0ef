/* two_contexts.c: one library in two contexts on two streams: each has its own weights and its own state, the code is
 * one. */
#include <math.h>
#include <stdio.h>
#include "linear.h"

int main(void)
{
	struct ingot_runtime *runtime;
	struct ingot_device device;
	struct ingot_stream streams[2];
	struct ingot_context contexts[2];
	struct ingot_library library;
	struct ingot_routine forward[2];
	struct ingot_node w, x, y;
	float weights[2][FEATURES], inputs[ROWS * FEATURES], results[2][ROWS];
	struct ingot_event done[2];

	NEED(ingot_runtime_open(&runtime, NULL));
	NEED(ingot_backend_init(runtime, "auto", NULL));
	NEED(ingot_device_default(runtime, &device));
	NEED(ingot_library_load(runtime, &linear_module, NULL, &library));
	NEED(ingot_library_node(library, "w", &w));
	NEED(ingot_library_node(library, "x", &x));
	NEED(ingot_library_node(library, "y", &y));
	for (int i = 0; i < ROWS * FEATURES; i++)
		inputs[i] = (float)(i % 7) - 3;
	for (int c = 0; c < 2; c++) {
		struct ingot_context base;
		NEED(ingot_stream_open(device, streams + c));
		NEED(ingot_context_new(streams[c], &base));
		NEED(ingot_link(base, library, "forward", forward + c));
		NEED(ingot_routine_context(forward[c], contexts + c));
		NEED(ingot_routine_set(forward[c], "rows", ROWS));
		for (int k = 0; k < FEATURES; k++)
			weights[c][k] = c ? 0.5f : -2;
		NEED(ingot_write(contexts[c], w, weights[c], sizeof weights[c], NULL));
		NEED(ingot_write(contexts[c], x, inputs, sizeof inputs, NULL));
	}
	for (int c = 0; c < 2; c++) { /* both are under way before either is waited for */
		NEED(ingot_routine_run(forward[c], NULL));
		NEED(ingot_read(contexts[c], y, results[c], sizeof results[c], done + c));
	}
	for (int c = 0; c < 2; c++)
		NEED(ingot_event_sync(done[c]));
	int wrong = 0;
	for (int i = 0; i < ROWS; i++) {
		float sum[2] = { 0, 0 };
		for (int k = 0; k < FEATURES; k++)
			for (int c = 0; c < 2; c++)
				sum[c] += weights[c][k] * inputs[i * FEATURES + k];
		wrong += fabsf(sum[0] - results[0][i]) > 1e-4f || fabsf(sum[1] - results[1][i]) > 1e-4f;
	}
	printf("two contexts on two streams: row 0 gives %g and %g; %d of %d rows differ from a loop on the host\n",
	        results[0][0], results[1][0], wrong, ROWS);
	for (int c = 0; c < 2; c++) {
		struct ingot_context base;
		NEED(ingot_context_parent(contexts[c], &base));
		NEED(ingot_event_close(done[c]));
		NEED(ingot_routine_close(forward[c]));
		NEED(ingot_context_close(base));
		NEED(ingot_stream_close(streams[c]));
	}
	NEED(ingot_library_close(library));
	NEED(ingot_runtime_close(runtime)); /* nothing is left open */
	return wrong != 0;
}
