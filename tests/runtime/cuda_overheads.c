/* cuda_overheads.c: what the runtime itself costs around NVIDIA's driver: on one that does nothing
 * (tests/cuda/driver/null.c), CPU time of each of its threads.
 *
 *     LD_LIBRARY_PATH=BUILD/tests/cuda-null runtime-cuda-overheads [ROUNDS]        medians over rounds; figures, not a test
 *
 * A routine of one kernel, which is issued, and one of 57, which is a graph: of the thread that runs it, and of the one
 * that issues; and with a GPU the same with the driver's own time. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ingot/backend.h"
#include "ingot/context.h"
#include "gpu.h"
#include "overheads.h"

enum { KERNELS = 57, RUNS = 2000, ROUNDS_MOST = 1001 };

static double (*launched)(void);

static const struct ingot_module_dim dims[] = { { 16, -1 } };
/* clang-format off */
static const struct ingot_module_node nodes[] = {
	{ .name = "x", .dtype = INGOT_F32, .rank = 1, .dims = dims, .bytes = 64, .view_of = -1,
	  .flags = INGOT_NODE_STATE },
	{ .name = "y", .dtype = INGOT_F32, .rank = 1, .dims = dims, .bytes = 64, .view_of = -1 },
};
/* clang-format on */
static const struct ingot_module_kernel kernel = { .name = "k", .argument_count = 3, .device_name = "row_multiply" };
static const uint32_t in[] = { 0 }, out[] = { 1 };
static struct ingot_module_argument arguments[3 * KERNELS];
static struct ingot_module_step steps[KERNELS];
/* clang-format off */
static struct ingot_module_routine routines[] = {
	{ .name = "one", .inputs = in, .input_count = 1, .outputs = out, .output_count = 1, .arguments = arguments,
	  .argument_count = 3, .merge_input = -1, .steps = steps, .step_count = 1, .lane_count = 1 },
	{ .name = "all", .inputs = in, .input_count = 1, .outputs = out, .output_count = 1, .arguments = arguments,
	  .argument_count = 3 * KERNELS, .merge_input = -1, .steps = steps, .step_count = KERNELS, .lane_count = 1 },
};
static const struct ingot_module module = {
	.abi = INGOT_ABI, .name = "overheads", .nodes = nodes, .node_count = 2, .kernels = &kernel, .kernel_count = 1,
	.routines = routines, .routine_count = 2, .images = row_images, .image_count = ROW_IMAGES };
/* clang-format on */

static void measure(struct ingot_stream stream, struct ingot_routine routine, const char *name, int rounds)
{
	double caller[ROUNDS_MOST], issuer[ROUNDS_MOST];
	for (int round = -1; round < rounds; round++) {
		MUST(ingot_routine_run(routine, NULL));
		MUST(ingot_stream_await(stream));
		double before = launched(), begin = clock_now(CLOCK_THREAD_CPUTIME_ID);
		for (int i = 0; i < RUNS; i++)
			MUST(ingot_routine_run(routine, NULL));
		double end = clock_now(CLOCK_THREAD_CPUTIME_ID);
		MUST(ingot_stream_await(stream));
		if (round >= 0) {
			caller[round] = (end - begin) / RUNS;
			issuer[round] = (launched() - before) / RUNS;
		}
	}
	qsort(caller, (size_t)rounds, sizeof *caller, compare_times);
	qsort(issuer, (size_t)rounds, sizeof *issuer, compare_times);
	printf("%-28s %8.2f us the caller, %8.2f us the issuing thread\n", name, caller[rounds / 2] / 1e3,
	        issuer[rounds / 2] / 1e3);
}

int main(int count, char **words)
{
	static const struct ingot_backend *const backends[] = { &ingot_backend_cuda, NULL };
	int rounds = count > 1 ? atoi(words[1]) : 21;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	struct ingot_runtime *runtime;
	struct ingot_device device;
	struct ingot_stream stream;
	struct ingot_context base;
	struct ingot_library library;
	struct ingot_routine made;
	*(void **)&launched = driver ? dlsym(driver, "null_launched") : NULL;
	if (!launched || !ROW_IMAGES || rounds < 1 || rounds > ROUNDS_MOST) {
		fprintf(stderr,
		        "LD_LIBRARY_PATH=BUILD/tests/cuda-null runtime-cuda-overheads [ROUNDS up to %d], with NVRTC\n",
		        ROUNDS_MOST);
		return 2;
	}
	for (uint32_t i = 0; i < KERNELS; i++) {
		steps[i] = (struct ingot_module_step){
			.kind = INGOT_STEP_KERNEL, .first_argument = 3 * i, .argument_count = 3, .groups = { 16, 1, 1 }
		};
		arguments[3 * i] = arguments[3 * i + 1] = (struct ingot_module_argument){ INGOT_FROM_NODE, 0, 0 };
		arguments[3 * i + 2] = (struct ingot_module_argument){ INGOT_FROM_NODE, 1, 0 };
	}
	MUST(ingot_runtime_open(&runtime, &(struct ingot_runtime_options){ .backends = backends }));
	MUST(ingot_backend_init(runtime, "cuda", NULL));
	MUST(ingot_device_get(runtime, "cuda", 0, &device));
	MUST(ingot_stream_default(device, &stream));
	MUST(ingot_library_load(runtime, &module, NULL, &library));
	for (int i = 0; i < 2; i++) {
		MUST(ingot_context_new(stream, &base));
		MUST(ingot_link(base, library, routines[i].name, &made));
		measure(stream, made, i ? "a run of 57 kernels, a graph" : "a run of one kernel", rounds);
	}
	ingot_runtime_close(runtime);
	return 0;
}
