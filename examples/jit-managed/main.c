/* main.c: a model file on two streams, without a compiler: libtcc makes a module of it in memory, one stream computes,
 * the other one looks at what came out, and an event for each picture orders them.
 *
 * usage: pipeline MODEL          a model of one f32 input and one f32 output, whose dims are fixed
 *
 * Build it so, where ingot is installed:
 *     cc examples/jit-managed/main.c $(pkg-config --cflags --libs ingot) -o pipeline
 *     ./pipeline examples/digits/digits.onnx */
#include <ingot/context.h>
#include <ingot/ingot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURES = 4 };

#define NEED(call) need(call, #call, ingot_message())
#define MODEL(call) need((int)(call), #call, ingot_model_message(model))
static void need(int status, const char *what, const char *message)
{
	if (!status)
		return;
	fprintf(stderr, "%s: %s\n", what, message);
	exit(1);
}

struct picture {
	float *in, *out;
	size_t count, best; /* of `out`: how many, and the largest */
};

/* On the second stream, while the first one computes the next picture. */
static int look(void *argument)
{
	struct picture *picture = argument;
	for (size_t i = 0; i < picture->count; i++)
		picture->best = picture->out[i] > picture->out[picture->best] ? i : picture->best;
	return 0;
}

int main(int argc, char **argv)
{
	struct ingot_model *model;
	const struct ingot_module *module;
	struct picture pictures[PICTURES];
	int wrong = 0;
	if (argc != 2) {
		fprintf(stderr, "usage: %s MODEL\n", argv[0]);
		return 2;
	}
	MODEL(ingot_open(&model, argv[1]));
	MODEL(ingot_compile(model, INGOT_JIT));
	MODEL(ingot_model_module(model, &module));
	if (ingot_input_count(model) != 1 || ingot_output_count(model) != 1
	        || ingot_input(model, 0)->type != INGOT_TYPE_FLOAT
	        || ingot_output(model, 0)->type != INGOT_TYPE_FLOAT) {
		fprintf(stderr, "%s: one f32 input and one f32 output are wanted\n", argv[1]);
		return 2;
	}
	size_t in_bytes = ingot_input(model, 0)->bytes, out_bytes = ingot_output(model, 0)->bytes;
	for (int p = 0; p < PICTURES; p++) {
		pictures[p] = (struct picture){
			.in = malloc(in_bytes), .out = malloc(out_bytes), .count = out_bytes / sizeof(float)
		};
		if (!pictures[p].in || !pictures[p].out)
			return 6;
		for (size_t i = 0; i < in_bytes / sizeof(float); i++)
			pictures[p].in[i] = (float)((i * 7 + (size_t)p * 5) % 11) / 11;
	}

	struct ingot_runtime *runtime;
	struct ingot_device device;
	struct ingot_stream compute, watch;
	struct ingot_library library;
	struct ingot_context base, context;
	struct ingot_routine routine;
	struct ingot_node input, output;
	struct ingot_event read;
	const struct ingot_module_routine *run = module->routines;
	NEED(ingot_runtime_open(&runtime, NULL));
	NEED(ingot_backend_init(runtime, "multicore", NULL));
	NEED(ingot_device_default(runtime, &device));
	NEED(ingot_stream_open(device, &compute));
	NEED(ingot_stream_open(device, &watch));
	NEED(ingot_library_load(runtime, module, NULL, &library));
	NEED(ingot_library_node(library, module->nodes[run->inputs[0]].name, &input));
	NEED(ingot_library_node(library, module->nodes[run->outputs[0]].name, &output));
	NEED(ingot_context_new(compute, &base));
	NEED(ingot_link(base, library, run->name, &routine));
	NEED(ingot_routine_context(routine, &context));

	for (int p = 0; p < PICTURES; p++) { /* nothing here waits: all of it is queued */
		NEED(ingot_write(context, input, pictures[p].in, in_bytes, NULL));
		NEED(ingot_routine_run(routine, NULL));
		NEED(ingot_read(context, output, pictures[p].out, out_bytes, &read));
		NEED(ingot_task_submit(watch,
		        &(struct ingot_task){ .name = "look",
		                .run = look,
		                .argument = &pictures[p],
		                .waits = &read,
		                .wait_count = 1 },
		        NULL));
		NEED(ingot_event_close(read)); /* who waits for it keeps what it needs */
	}
	NEED(ingot_stream_await(watch));

	NEED(ingot_routine_close(routine));
	NEED(ingot_context_close(base));
	NEED(ingot_library_close(library));
	NEED(ingot_stream_close(compute));
	NEED(ingot_stream_close(watch));
	NEED(ingot_runtime_close(runtime)); /* before the model, whose module it ran */

	for (int p = 0; p < PICTURES; p++) { /* the same bits as without the runtime */
		MODEL(ingot_set_input(model, 0, pictures[p].in));
		MODEL(ingot_run(model));
		wrong += memcmp(ingot_result(model, 0), pictures[p].out, out_bytes) != 0;
		printf("picture %d: element %zu is the largest, %g\n", p, pictures[p].best,
		        pictures[p].out[pictures[p].best]);
		free(pictures[p].in);
		free(pictures[p].out);
	}
	ingot_close(model);
	return wrong != 0;
}
