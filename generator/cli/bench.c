/* bench.c: ingot bench: times a model's kernels, each beside the limit that binds it, measured in the same run.
 *
 * Kernels run in their order, so that caches are as in a real call; a time is the median over rounds.  The limits are
 * loops in the same words as the kernels: fused multiply-adds in registers, and reads from a buffer of the kernel's own
 * size.  A GPU's kernels are timed by its own events; its limits are kernels, too (device_limits.c).  An engine that
 * does not run kernels one by one (the interpreter, the CUDA emulator) is timed as a whole. */
#include "cli/cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 201, WHOLE_LEAST = 3 };
static const double WHOLE_MOST = 2e6; /* microseconds for an engine that is timed as a whole */
struct marks {
	double last, *times;
	int round;
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void mark(void *user, int kernel)
{
	struct marks *marks = user;
	double t = now();
	if (kernel >= 0)
		marks->times[kernel * ROUNDS + marks->round] = t - marks->last;
	marks->last = now();
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *times, int count)
{
	qsort(times, (size_t)count, sizeof *times, ascending);
	return times[count / 2];
}

static volatile float sink;

/* fma a microsecond, in units of one float's multiply-add */
static double measure_fma(float (*loop)(long), int lanes)
{
	double best = 0;
	for (int i = 0; i < 7; i++) {
		double t = now();
		sink = loop(100000);
		double rate = 100000. * 12 * lanes / (now() - t);
		best = rate > best ? rate : best;
	}
	return best;
}

static double measure_read(float (*loop)(const float *, long), const float *from, long floats)
{
	double best = 0;
	for (int i = 0; i < 7; i++) {
		long rounds = 1 + 4000000 / floats;
		double t = now();
		for (long r = 0; r < rounds; r++)
			sink = loop(from, floats);
		double rate = 4. * (double)floats * (double)rounds / (now() - t);
		best = rate > best ? rate : best;
	}
	return best;
}

/* Inputs from [0, 1), and room for the outputs. */
static void buffers_of(struct build *build, const struct program *program, const void **inputs, void **outputs)
{
	uint64_t seed = 1;
	for (size_t i = 0; i < program->inputs.count; i++) {
		int64_t count = definition_elements(program->inputs.at[i]);
		char *data = arena_alloc(build->arena, dtype_bytes(program->inputs.at[i]->type, (size_t)count) + 64);
		for (int64_t k = 0; program->inputs.at[i]->type == DTYPE_F32 && k < count; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			((float *)data)[k] = (float)(seed >> 40) * 0x1p-24f;
		}
		if (program->inputs.at[i]->most)
			memcpy(data, &program->inputs.at[i]->most, sizeof program->inputs.at[i]->most);
		inputs[i] = data;
	}
	for (size_t i = 0; i < program->outputs.count; i++)
		outputs[i] = arena_alloc(build->arena,
		        dtype_bytes(program->outputs.at[i]->type, (size_t)definition_elements(program->outputs.at[i]))
		                + 64);
}

/* The median of whole calls.  `marks` (NULL: the engine does not time kernels apart) receives each kernel's times. */
static double measure_calls(struct engine *engine, const void **inputs, void **outputs, struct marks *marks)
{
	double whole[ROUNDS], begun = now();
	int count = 0;
	for (int r = 0; r < (marks ? 5 : 1); r++)
		engine_run(engine, inputs, outputs);
	while (count < ROUNDS && (marks || count < WHOLE_LEAST || now() - begun < WHOLE_MOST)) {
		double t = now();
		engine_run(engine, inputs, outputs);
		whole[count] = now() - t;
		if (marks) {
			marks->round = count;
			engine->kind->profile(engine, inputs, outputs, mark, marks);
		}
		count++;
	}
	return median(whole, count);
}

/* Calls with inputs and outputs in the device's memory: by launches, by one graph; as many rounds as time and `marks`,
 * each kernel's times, allow. */
struct device_calls {
	double launches, graph;
	int rounds;
};
static struct device_calls measure_device(struct engine *engine, struct marks *marks)
{
	double launches[ROUNDS], graph[ROUNDS], begun = now(), *kernels = marks->times;
	size_t count = engine->model->lowered->kernels.count;
	double *one = arena_new_array(engine->model->build->arena, double, count + 1);
	int rounds = 0;
	engine->kind->again(engine, true); /* captures */
	while (rounds < ROUNDS && (rounds < WHOLE_LEAST || now() - begun < WHOLE_MOST)) {
		engine->kind->times(engine, one);
		for (size_t k = 0; k < count; k++)
			kernels[k * ROUNDS + (size_t)rounds] = one[k];
		double t = now();
		engine->kind->again(engine, false);
		launches[rounds] = now() - t;
		t = now();
		engine->kind->again(engine, true);
		graph[rounds++] = now() - t;
	}
	return (struct device_calls){ median(launches, rounds), median(graph, rounds), rounds };
}

/* What a look at the clock takes; the best of some, as others may take the core meanwhile. */
static double measure_clock(void)
{
	double best = 1e9;
	for (int i = 0; i < 25; i++) {
		double t = now();
		for (int k = 0; k < 100; k++)
			(void)now();
		t = (now() - t) / 100;
		best = t < best ? t : best;
	}
	return best;
}

struct limits {
	double fma;
	float (*read)(const float *, long);
}; /* fma a microsecond */

/* One kernel's line: its median beside the limit that binds it. */
static json_t *report_kernel(const struct cli *cli, struct engine *engine, const struct kernel *kernel, double time,
        const struct limits *limits)
{
	const struct target *target = engine->model->options->target;
	const char *form = engine->kind->form ? engine->kind->form(engine, kernel) : "compiled", *tile = kernel->tile;
	long floats = (long)(kernel->bytes / 4 / 1024 + 1) * 1024;
	float *buffer = aligned_alloc(64, (size_t)floats * 4);
	if (buffer)
		memset(buffer, 0, (size_t)floats * 4);
	double bandwidth = buffer ? measure_read(limits->read, buffer, floats) : 1;
	free(buffer);
	double fma_time = kernel->flops / 2 / limits->fma, memory_time = kernel->bytes / bandwidth;
	double limit = fma_time > memory_time ? fma_time : memory_time;
	const char *bound = fma_time > memory_time         ? "fma"
	        : kernel->bytes < (double)target->l1_bytes ? "L1"
	        : kernel->bytes < (double)target->l2_bytes ? "L2"
	        : kernel->bytes < (double)target->l3_bytes ? "L3"
	                                                   : "memory";
	if (!cli->json)
		printf("%-22s %-12s %10.3f %9.1f %9.1f %8.1f%%  %s%s%s\n", kernel->name, tile, time,
		        kernel->flops / time * 1e-3, kernel->bytes / time * 1e-3, 100 * limit / time, bound,
		        engine->kind->form ? ", " : "", engine->kind->form ? form : "");
	return json_pack("{s:s,s:s,s:s,s:s,s:f,s:f,s:f,s:f,s:s}", "name", kernel->name, "form", form, "template",
	        kernel->template_name ? kernel->template_name : "", "tile", tile, "microseconds", time, "flops",
	        kernel->flops, "bytes", kernel->bytes, "of_limit", limit / time, "bound", bound);
}

static json_t *report_kernels(
        const struct cli *cli, struct engine *engine, const struct marks *marks, double *fma_rate, double *total)
{
	const struct lowered *lowered = engine->model->lowered;
	float (*fma)(long);
	struct limits limits;
	json_t *list = json_array();
	*(void **)&fma = engine->kind->limit(engine, "limit_fma");
	*(void **)&limits.read = engine->kind->limit(engine, "limit_read");
	*fma_rate = limits.fma = measure_fma(fma, engine->model->options->target->lanes);
	double overhead = measure_clock();
	if (!cli->json)
		printf("%-22s %-12s %10s %9s %9s %9s  %s\n", "kernel", "tile", "us", "GFLOP/s", "GB/s", "of limit",
		        "bound by");
	for (size_t k = 0; k < lowered->kernels.count; k++) {
		double time = median(marks->times + k * ROUNDS, ROUNDS) - overhead;
		time = time > 1e-3 ? time : 1e-3;
		*total += time;
		json_array_append_new(list, report_kernel(cli, engine, lowered->kernels.at[k], time, &limits));
	}
	return list;
}

/* What binds a kernel on a device, and how long it takes at least. */
static double device_limit(const struct kernel *kernel, const struct device_limits *limits, const char **bound)
{
	bool near = kernel->bytes <= (double)limits->near_bytes;
	double fma = kernel->flops / 2 / limits->fma, copy = kernel->bytes / (near ? limits->near : limits->far),
	       limit = fma > copy ? fma : copy;
	*bound = limit < limits->launch ? "launch" : fma > copy ? "fma" : near ? "L2" : "memory";
	return limit > limits->launch ? limit : limits->launch;
}

static json_t *report_device(const struct cli *cli, struct engine *engine, const struct marks *marks, int rounds,
        const struct device_limits *limits, double *total)
{
	const struct lowered *lowered = engine->model->lowered;
	json_t *list = json_array();
	if (!cli->json)
		printf("%-22s %-12s %10s %9s %9s %9s  %s\n", "kernel", "tile", "us", "GFLOP/s", "GB/s", "of limit",
		        "bound by");
	for (size_t k = 0; k < lowered->kernels.count; k++) {
		const struct kernel *kernel = lowered->kernels.at[k];
		const char *tile = kernel->tile;
		const char *bound;
		double time = median(marks->times + k * ROUNDS, rounds), limit = device_limit(kernel, limits, &bound);
		time = time > 1e-3 ? time : 1e-3;
		*total += time;
		if (!cli->json)
			printf("%-22s %-12s %10.3f %9.1f %9.1f %8.1f%%  %s\n", kernel->name, tile, time,
			        kernel->flops / time * 1e-3, kernel->bytes / time * 1e-3, 100 * limit / time, bound);
		json_array_append_new(list,
		        json_pack("{s:s,s:s,s:s,s:f,s:f,s:f,s:f,s:s}", "name", kernel->name, "template",
		                kernel->template_name ? kernel->template_name : "", "tile", tile, "microseconds", time,
		                "flops", kernel->flops, "bytes", kernel->bytes, "of_limit", limit / time, "bound",
		                bound));
	}
	return list;
}

static void add_device(json_t *out, const struct device_calls *calls, const struct device_limits *limits,
        const struct device_turns *turns)
{
	json_object_set_new(out, "launches_microseconds", json_real(calls->launches));
	json_object_set_new(out, "graph_microseconds", json_real(calls->graph));
	json_object_set_new(out, "rounds", json_integer(calls->rounds));
	json_object_set_new(out, "device", json_string(turns->device));
	json_object_set_new(out, "sets", json_integer(turns->sets));
	json_object_set_new(out, "set_bytes", json_integer((json_int_t)turns->set_bytes));
	json_object_set_new(out, "l2_bytes", json_integer((json_int_t)turns->l2_bytes));
	json_object_set_new(out, "limits",
	        json_pack("{s:f,s:f,s:f,s:f,s:f}", "fma_gflops", 2e-3 * limits->fma, "mma_gflops", 2e-3 * limits->mma,
	                "l2_gbytes", 1e-3 * limits->near, "memory_gbytes", 1e-3 * limits->far, "launch_microseconds",
	                limits->launch));
}

static void print_device(double total, double call_time, const struct device_calls *calls,
        const struct device_limits *limits, const struct device_turns *turns)
{
	printf("%-22s %-12s %10.3f   one call %.3f us by launches, %.3f us as a graph, %.3f us with copies from and to "
	       "the host; %d rounds\n",
	        "all kernels", "", total, calls->launches, calls->graph, call_time, calls->rounds);
	printf("%s: limits fma %.1f GFLOP/s, ", turns->device, 2e-3 * limits->fma);
	if (limits->mma > 0)
		printf("mma (tf32) %.1f GFLOP/s, ", 2e-3 * limits->mma);
	printf("copy %.1f GB/s in L2 and %.1f GB/s in memory, an empty launch %.3f us\n", 1e-3 * limits->near,
	        1e-3 * limits->far, limits->launch);
	printf("%d sets of inputs, outputs and workspace by turns, %.1f MB in all, L2 has %.1f MB\n", turns->sets,
	        1e-6 * turns->sets * (double)turns->set_bytes, 1e-6 * (double)turns->l2_bytes);
}

static void measure(struct engine *engine, void *user)
{
	struct cli *cli = user;
	struct model *model = engine->model;
	struct build *build = model->build;
	const struct engine_kind *kind = engine->kind;
	const void **inputs = arena_new_array(build->arena, const void *, model->program->inputs.count + 1);
	void **outputs = arena_new_array(build->arena, void *, model->program->outputs.count + 1);
	buffers_of(build, model->program, inputs, outputs);
	size_t kernels = model->lowered ? model->lowered->kernels.count : 0;
	bool apart = kind->profile != NULL;
	struct marks marks = { .times = arena_new_array(build->arena, double, kernels *ROUNDS + 1) };
	double call_time = measure_calls(engine, inputs, outputs, apart ? &marks : NULL), fma_rate = 0, total = 0;
	struct device_calls device = { 0 };
	struct device_limits limits = { 0 };
	struct device_turns turns = { 0 };
	if (kind->times) {
		device = measure_device(engine, &marks);
		turns = kind->limits(engine, &limits);
	}
	json_t *list = apart  ? report_kernels(cli, engine, &marks, &fma_rate, &total)
	        : kind->times ? report_device(cli, engine, &marks, device.rounds, &limits, &total)
	                      : json_array();
	for (size_t k = 0; !apart && !kind->times && k < kernels; k++)
		json_array_append_new(list, json_pack("{s:s}", "name", model->lowered->kernels.at[k]->name));
	if (cli->json) {
		json_t *out = json_pack(
		        "{s:s,s:o,s:f}", "target", kind->name, "kernels", list, "call_microseconds", call_time);
		if (apart)
			json_object_set_new(out, "fma_gflops", json_real(2 * fma_rate * 1e-3));
		if (kind->times)
			add_device(out, &device, &limits, &turns);
		cli_print_json(out, stdout);
	} else {
		if (apart)
			printf("%-22s %-12s %10.3f   one call %.3f us; fma limit %.1f GFLOP/s\n", "all kernels", "",
			        total, call_time, 2 * fma_rate * 1e-3);
		else if (kind->times)
			print_device(total, call_time, &device, &limits, &turns);
		else
			printf("%s: one call %.3f us\n", kind->name, call_time);
		json_decref(list);
	}
}

static void run(struct cli *cli)
{
	const struct engine_kind *kind = cli_engine(cli);
	cli->options.profile = true;
	struct model *model = model_read(cli->build, &cli->options);
	model_prepare(model);
	model_define(model);
	engine_with(model, kind, measure, cli);
}

const struct command command_bench = { "bench", "MODEL", "time each kernel beside the machine's limits",
	"--target c (default) or jit: a time is the median of 201 rounds; limits are measured in the same run.\n"
	"--target cuda: by the GPU's own events, on sets of inputs and workspace by turns that L2 cannot hold; whole "
	"calls by launches and as one graph besides; as many rounds\n"
	"as two seconds hold.\n"
	"--target interpreter or cuda-emulated: whole calls only, as many as two seconds hold.  Never another target "
	"in its stead.",
	IN_BENCH, 1, 1, run };
