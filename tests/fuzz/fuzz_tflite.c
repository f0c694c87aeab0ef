/* fuzz_tflite.c: any bytes are read as a TensorFlow Lite file or refused, and what is read keeps its promise
 * (fuzz_graph.h); the texts of its operators refuse it, or are inferred.
 *
 * All in such a file is at fixed places, so that bytes changed at random mostly leave it one.  The mutator besides
 * writes awkward numbers over aligned words, and copies words from elsewhere: offsets then lead to other tables. */
#include "fuzz_graph.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

static uint32_t draw(uint32_t *seed) { return (*seed = *seed * 1664525 + 1013904223) >> 8; }

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	static const uint32_t awkward[] = { 0, 1, 2, 3, 4, 9, 16, 17, 127, 255, 65535, 1u << 31, UINT32_MAX,
		INT32_MAX };
	uint32_t state = seed;
	if (size >= 16 && draw(&state) % 4)
		for (uint32_t n = 1 + draw(&state) % 3; n--;) {
			size_t width = draw(&state) % 3 ? 4 : 2, at = draw(&state) % (size / width) * width,
			       from = draw(&state) % (size / width) * width;
			uint32_t value = awkward[draw(&state) % COUNT(awkward)];
			if (draw(&state) % 2)
				memcpy(&value, data + from, width);
			memcpy(data + at, &value, width);
		}
	else
		size = LLVMFuzzerMutate(data, size, room);
	if (size >= 8)
		memcpy(data + 4, "TFL3", 4);
	return size;
}

static void infer(const uint8_t *data, size_t size)
{
	struct build *build = fuzz_build();
	if (BUILD_TRY(build)) {
		struct graph *graph = graph_read_memory(build, "fuzz", data, size, NULL);
		pass_infer(graph);
		graph_check(graph);
	}
	promise(build->code == EXIT_RIGHT || (*build->message && !strchr(build->message, '\n')), "one line says why");
	build_release(build);
	free(build);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	infer(data, size);
	return fuzz_graph(data, size);
}
