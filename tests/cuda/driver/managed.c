/* managed.c: a CUDA library of the managed profile as a user runs it.  NAME, and from the manifest INPUTS, OUTPUTS:
 * X(name, bytes) of each.
 *
 *     managed in_0 ... out_0 ...
 *
 * Two contexts on two streams of one device run the library's routine, the second one behind an event of the first,
 * again and again ($MANAGED_TIMES); their
 * outputs have to be equal.  Prints what is wrong; exit 0: nothing. */
#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)
#include HEADER
#include "ingot/backend.h"
#include "need.h"
#include <string.h>

enum { CONTEXTS = 2, TIMES = 3 };

struct array {
	const char *name;
	size_t bytes;
	void *at[CONTEXTS];
};

static void read_file(const char *path, struct array *array)
{
	FILE *file = fopen(path, "rb");
	for (int c = 0; c < CONTEXTS; c++) {
		array->at[c] = calloc(1, array->bytes + 1);
		if (!file || fseek(file, 0, SEEK_SET) || fread(array->at[c], 1, array->bytes, file) != array->bytes)
			exit(99);
	}
	fclose(file);
}

int main(int count, char **arguments)
{
	static const struct ingot_backend *const backends[] = { &ingot_backend_cuda, NULL };
	static struct array inputs[] = {
#define X(name, bytes) { name, bytes, { 0 } },
		INPUTS
	}, outputs[] = {
		OUTPUTS
#undef X
	};
	enum { IN = sizeof inputs / sizeof *inputs, OUT = sizeof outputs / sizeof *outputs };
	struct ingot_device device;
	struct ingot_library library;
	struct ingot_node node;
	struct ingot_stream streams[CONTEXTS];
	struct ingot_context bases[CONTEXTS], contexts[CONTEXTS];
	struct ingot_routine routines[CONTEXTS];
	struct ingot_event first;
	int wrong = 0, times = getenv("MANAGED_TIMES") ? atoi(getenv("MANAGED_TIMES")) : TIMES;
	if (count != 1 + IN + OUT)
		return 99;
	for (int i = 0; i < IN; i++)
		read_file(arguments[1 + i], &inputs[i]);
	NEED(ingot_runtime_open(&runtime, &(struct ingot_runtime_options){ .backends = backends }));
	NEED(ingot_backend_init(runtime, "cuda", NULL));
	NEED(ingot_device_get(runtime, "cuda", 0, &device));
	NEED(ingot_library_load(runtime, &JOINED(NAME, _module), NULL, &library));
	for (int c = 0; c < CONTEXTS; c++) {
		NEED(ingot_stream_open(device, &streams[c]));
		NEED(ingot_context_new(streams[c], &bases[c]));
		NEED(ingot_link(bases[c], library, QUOTED(NAME), &routines[c]));
		NEED(ingot_routine_context(routines[c], &contexts[c]));
		for (int i = 0; i < OUT; i++)
			outputs[i].at[c] = calloc(1, outputs[i].bytes + 1);
	}
	for (int t = 0; t < times; t++)
		for (int c = 0; c < CONTEXTS; c++) {
			for (int i = 0; i < IN; i++) {
				NEED(ingot_library_node(library, inputs[i].name, &node));
				NEED(ingot_write(contexts[c], node, inputs[i].at[c], inputs[i].bytes, NULL));
			}
			if (c)
				NEED(ingot_stream_wait(streams[c], first));
			NEED(ingot_routine_run(routines[c], NULL));
			if (!c)
				NEED(ingot_event_record(streams[c], &first));
			for (int i = 0; i < OUT; i++) {
				NEED(ingot_library_node(library, outputs[i].name, &node));
				NEED(ingot_read(contexts[c], node, outputs[i].at[c], outputs[i].bytes, NULL));
			}
			if (c)
				NEED(ingot_event_close(first));
		}
	for (int c = 0; c < CONTEXTS; c++)
		NEED(ingot_stream_await(streams[c]));
	for (int i = 0; i < OUT; i++) {
		FILE *file = fopen(arguments[1 + IN + i], "wb");
		if (memcmp(outputs[i].at[0], outputs[i].at[1], outputs[i].bytes)) {
			printf("%s: the contexts differ\n", outputs[i].name);
			wrong = 1;
		}
		if (!file || fwrite(outputs[i].at[0], 1, outputs[i].bytes, file) != outputs[i].bytes || fclose(file))
			return 99;
	}
	for (int c = 0; c < CONTEXTS; c++) {
		NEED(ingot_routine_close(routines[c]));
		NEED(ingot_context_close(bases[c]));
		NEED(ingot_stream_close(streams[c]));
	}
	NEED(ingot_library_close(library));
	NEED(ingot_runtime_close(runtime)); /* nothing is left open */
	return wrong;
}
