/* data_parallel.c: one model on four logical devices: each has a quarter of the batch; gradients are summed on the
 * first through its merge buffer, and the new weights go back to all.  Checked against one device that sees the whole
 * batch. */
#include <math.h>
#include <stdio.h>
#include "linear.h"

#define DEVICES 4
#define STEPS 20

struct place {
	struct ingot_device device;
	struct ingot_context context;
	struct ingot_routine gradient, merge, step;
};

static struct ingot_library library;
static struct ingot_node w, x, t, grad;

static void place_open(struct ingot_runtime *runtime, struct place *place)
{
	struct ingot_stream stream;
	struct ingot_context base;
	float zeros[FEATURES] = { 0 };
	struct ingot_event done;
	NEED(ingot_device_another(runtime, "multicore", 0, &place->device));
	NEED(ingot_stream_default(place->device, &stream));
	NEED(ingot_context_new(stream, &base));
	NEED(ingot_link(base, library, "gradient", &place->gradient));
	NEED(ingot_routine_context(place->gradient, &base));
	NEED(ingot_link(base, library, "merge", &place->merge));
	NEED(ingot_routine_context(place->merge, &base));
	NEED(ingot_link(base, library, "step", &place->step));
	NEED(ingot_routine_context(place->step, &place->context));
	NEED(ingot_write(place->context, w, zeros, sizeof zeros, &done));
	NEED(ingot_event_sync(done));
	NEED(ingot_event_close(done));
}

/* `count` places share the batch; place 0 sums and steps.  No wait is written: what touches what decides. */
static void train(struct place *places, int count, const float *inputs, const float *targets, float *weights)
{
	struct ingot_event done;
	int rows = ROWS / count;
	for (int p = 0; p < count; p++) {
		/* The node has room for ROWS rows; this place's share stands in front. */
		static float share_x[DEVICES][ROWS * FEATURES], share_t[DEVICES][ROWS];
		for (int i = 0; i < rows * FEATURES; i++)
			share_x[p][i] = inputs[p * rows * FEATURES + i];
		for (int i = 0; i < rows; i++)
			share_t[p][i] = targets[p * rows + i];
		NEED(ingot_write(places[p].context, x, share_x[p], sizeof share_x[p], NULL));
		NEED(ingot_write(places[p].context, t, share_t[p], sizeof share_t[p], &done));
		NEED(ingot_event_sync(done));
		NEED(ingot_event_close(done));
		NEED(ingot_routine_set(places[p].gradient, "rows", rows));
	}
	for (int s = 0; s < STEPS; s++) {
		for (int p = 0; p < count; p++)
			NEED(ingot_routine_run(places[p].gradient, NULL));
		for (int p = 0; p < count; p++) {
			enum ingot_merge how =
			        p ? INGOT_MERGE_COPY : INGOT_MERGE_STREAMING; /* its own gradient needs no copy */
			NEED(ingot_device_to_device(grad, places[0].context, how, places[p].context, NULL, NULL));
			NEED(ingot_routine_run(places[0].merge, NULL));
		}
		NEED(ingot_routine_run(places[0].step, NULL));
		for (int p = 1; p < count; p++)
			NEED(ingot_device_to_device(
			        w, places[p].context, INGOT_MERGE_NONE, places[0].context, NULL, NULL));
	}
	NEED(ingot_read(places[count - 1].context, w, weights, FEATURES * sizeof *weights, &done));
	NEED(ingot_event_sync(done));
	NEED(ingot_event_close(done));
}

int main(void)
{
	struct ingot_runtime *runtime;
	struct place many[DEVICES], one;
	float inputs[ROWS * FEATURES], targets[ROWS], shared[FEATURES], alone[FEATURES], largest = 0, size = 0;

	NEED(ingot_runtime_open(&runtime, NULL));
	NEED(ingot_backend_init(runtime, "multicore", NULL));
	NEED(ingot_library_load(runtime, &linear_module, NULL, &library));
	NEED(ingot_library_node(library, "w", &w));
	NEED(ingot_library_node(library, "x", &x));
	NEED(ingot_library_node(library, "t", &t));
	NEED(ingot_library_node(library, "grad", &grad));
	for (int i = 0; i < ROWS * FEATURES; i++)
		inputs[i] = (float)((i * 37) % 19) / 19 - 0.5f;
	for (int i = 0; i < ROWS; i++)
		targets[i] = (float)(i % 5) - 2;
	for (int p = 0; p < DEVICES; p++)
		place_open(runtime, many + p);
	place_open(runtime, &one);
	train(many, DEVICES, inputs, targets, shared);
	train(&one, 1, inputs, targets, alone);
	for (int k = 0; k < FEATURES; k++) {
		largest = fmaxf(largest, fabsf(shared[k] - alone[k]));
		size = fmaxf(size, fabsf(alone[k]));
	}
	printf("%d devices, %d steps: largest weight %g, largest difference from one device %g\n", DEVICES, STEPS, size,
	        largest);
	/* The sums are taken in another order, so the last bits may differ and nothing else. */
	return !(size > 0.01f && largest < 1e-5f) || ingot_runtime_close(runtime) != INGOT_LEFT_OPEN;
}
