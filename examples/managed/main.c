/* main.c: one generated library in two contexts on two streams: two pictures are read at the same time, by the same
 * code and the same weights, and each context has inputs, outputs and scratch of its own.
 *
 *     ingot build examples/digits/digits.onnx --profile managed --threads 2 -o out/digits
 *     cc -O2 -Iout/digits -Iout/digits/runtime/include examples/managed/main.c \
 *         out/digits/libdigits.a out/digits/libingot_runtime.a \
 *             -lm -pthread -o two
 *
 * The network knows digits of a size; these two are a bar, which is a 1, and a ring, which is a 0. */
#include "digits.h"
#include "ingot/context.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 28, CLASSES = 10, READERS = 2 };

#define NEED(call) need(call, #call)
static void need(enum ingot_status status, const char *what)
{
	if (!status)
		return;
	fprintf(stderr, "%s: %s: %s\n", what, ingot_status_name(status), ingot_message());
	exit(1);
}

static void paint(float image[SIDE][SIDE], int digit)
{
	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++) {
			int x = 2 * j - SIDE + 1, y = 2 * i - SIDE + 1, round = x * x * 2 + y * y;
			image[i][j] = digit == 1 ? abs(x) < 4 && abs(y) < 18 : round > 110 && round < 330;
		}
}

struct reader {
	struct ingot_stream stream;
	struct ingot_context base, context;
	struct ingot_routine routine;
	struct ingot_event done;
	float image[SIDE][SIDE], scores[CLASSES];
};

int main(void)
{
	static const int digits[READERS] = { 1, 0 };
	static struct reader readers[READERS];
	struct ingot_runtime *runtime;
	struct ingot_device device;
	struct ingot_library library;
	struct ingot_node image, scores, weights;
	uint64_t used;
	int wrong = 0;

	NEED(ingot_runtime_open(&runtime, NULL));
	NEED(ingot_backend_init(runtime, "auto", NULL)); /* the intra-op pool is the parallel-for of --threads 2 */
	NEED(ingot_device_default(runtime, &device));
	NEED(ingot_library_load(runtime, &digits_module, NULL, &library));
	NEED(ingot_library_node(library, "image", &image));
	NEED(ingot_library_node(library, "scores", &scores));
	for (int r = 0; r < READERS; r++) {
		struct reader *reader = readers + r;
		paint(reader->image, digits[r]);
		NEED(ingot_stream_open(device, &reader->stream));
		NEED(ingot_context_new(reader->stream, &reader->base));
		NEED(ingot_link(reader->base, library, "digits", &reader->routine));
		NEED(ingot_routine_context(reader->routine, &reader->context));
	}
	for (int r = 0; r < READERS; r++) { /* all are under way before one is waited for */
		struct reader *reader = readers + r;
		NEED(ingot_write(reader->context, image, reader->image, sizeof reader->image, NULL));
		NEED(ingot_routine_run(reader->routine, NULL));
		NEED(ingot_read(reader->context, scores, reader->scores, sizeof reader->scores, &reader->done));
	}
	for (int r = 0; r < READERS; r++) {
		int guess = 0;
		NEED(ingot_event_sync(readers[r].done));
		for (int i = 1; i < CLASSES; i++)
			guess = readers[r].scores[i] > readers[r].scores[guess] ? i : guess;
		printf("context %d says it is a %d, by %.2f\n", r, guess, readers[r].scores[guess]);
		wrong += guess != digits[r];
	}

	/* The weights: where they were linked, in both. */
	for (uint32_t n = 0; n < digits_module.node_count; n++)
		for (int r = 0; r < READERS && digits_module.nodes[n].flags & INGOT_NODE_CONSTANT; r++) {
			void *at;
			NEED(ingot_library_node(library, digits_module.nodes[n].name, &weights));
			NEED(ingot_context_address(readers[r].context, weights, &at));
			wrong += at != (const char *)digits_module.constants.data + digits_module.nodes[n].offset;
		}
	NEED(ingot_device_used(device, &used));
	printf("%d contexts hold %llu bytes besides the %llu of the weights, which are there once\n", READERS,
	        (unsigned long long)used, (unsigned long long)digits_module.constants.bytes);

	for (int r = 0; r < READERS; r++) {
		NEED(ingot_event_close(readers[r].done));
		NEED(ingot_routine_close(readers[r].routine));
		NEED(ingot_context_close(readers[r].base));
		NEED(ingot_stream_close(readers[r].stream));
	}
	NEED(ingot_library_close(library));
	NEED(ingot_runtime_close(runtime)); /* nothing is left open */
	return wrong != 0;
}
