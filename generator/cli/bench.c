/* bench.c: ingot bench: times a model's kernels, each beside the limit that binds it, measured in the same run.
 *
 * Kernels run in their order, so that caches are as in a real call; a time is the median over rounds.  The limits are loops in
 * the same words as the kernels: fused multiply-adds in registers, and reads from a buffer of the kernel's own size. */
#include "cli/cli.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const struct command self = { "bench", "MODEL", "time each kernel beside the machine's limits", cli_bench };

enum { ROUNDS = 201 };
struct marks { double last, *times; int round, kernels; };

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

static void body(struct build *build, int argc, char **argv)
{
	struct cli cli;
	cli_parse(&cli, build, &self, TAKES_MODEL_OPTIONS | TAKES_JSON, "A time is the median of 201 rounds; limits are measured in the same run.", argc, argv, 1, 1);
	cli.options.profile = true;
	struct model *model = model_read(build, &cli.options);
	model_prepare(model);
	model_define(model);
	const struct program *program = model->program;
	struct engine *engine = engine_open(model, &engine_c);
	const struct lowered *lowered = model->lowered;
	const void **inputs = new_array(build->arena, const void *, program->inputs.count + 1);
	void **outputs = new_array(build->arena, void *, program->outputs.count + 1);
	uint64_t seed = 1;
	for (size_t i = 0; i < program->inputs.count; i++) {
		int64_t count = definition_elements(program->inputs.at[i]);
		char *data = arena_alloc(build->arena, dtype_bytes(program->inputs.at[i]->type, (size_t)count) + 64);
		for (int64_t k = 0; program->inputs.at[i]->type == DTYPE_F32 && k < count; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			((float *)data)[k] = (float)(seed >> 40) * 0x1p-24f;
		}
		inputs[i] = data;
	}
	for (size_t i = 0; i < program->outputs.count; i++)
		outputs[i] = arena_alloc(build->arena, dtype_bytes(program->outputs.at[i]->type, (size_t)definition_elements(program->outputs.at[i])) + 64);

	void (*profile)(const void *, const void *, const void *, void (*)(void *, int), void *);
	float (*fma)(long), (*read)(const float *, long);
	*(void **)&profile = engine_c_symbol(engine, arena_printf(build->arena, "%s_profile", model->name));
	*(void **)&fma = engine_c_symbol(engine, arena_printf(build->arena, "%s_limit_fma", model->name));
	*(void **)&read = engine_c_symbol(engine, arena_printf(build->arena, "%s_limit_read", model->name));
	struct engine_call call = engine_c_call(engine, inputs, outputs);
	struct marks marks = { .times = new_array(build->arena, double, lowered->kernels.count * ROUNDS), .kernels = (int)lowered->kernels.count };
	double whole[ROUNDS];
	for (int r = 0; r < 5; r++)
		call.run(call.in, call.out, call.context);
	for (marks.round = 0; marks.round < ROUNDS; marks.round++) {
		double t = now();
		call.run(call.in, call.out, call.context);
		whole[marks.round] = now() - t;
		profile(call.in, call.out, call.context, mark, &marks);
	}
	double overhead = now();
	for (int i = 0; i < 1000; i++)
		(void)now();
	overhead = (now() - overhead) / 1000;
	double peak = measure_fma(fma, model->options->target->lanes), total = 0, call_time = median(whole, ROUNDS);
	json_t *list = json_array();
	if (!cli.json)
		printf("%-22s %-12s %10s %9s %9s %9s  %s\n", "kernel", "tile", "us", "GFLOP/s", "GB/s", "of limit", "bound by");
	for (size_t k = 0; k < lowered->kernels.count; k++) {
		const struct kernel *kernel = lowered->kernels.at[k];
		double time = median(marks.times + k * ROUNDS, ROUNDS) - overhead;
		time = time > 1e-3 ? time : 1e-3;
		long floats = (long)(kernel->bytes / 4 / 1024 + 1) * 1024;
		float *buffer = aligned_alloc(64, (size_t)floats * 4);
		if (buffer)
			memset(buffer, 0, (size_t)floats * 4);
		double bandwidth = buffer ? measure_read(read, buffer, floats) : 1;
		free(buffer);
		double fma_time = kernel->flops / 2 / peak, memory_time = kernel->bytes / bandwidth;
		double limit = fma_time > memory_time ? fma_time : memory_time;
		const char *bound = fma_time > memory_time ? "fma" : kernel->bytes < (double)model->options->target->l1_bytes ? "L1"
			: kernel->bytes < (double)model->options->target->l2_bytes ? "L2" : "memory";
		total += time;
		if (!cli.json)
			printf("%-22s %-12s %10.3f %9.1f %9.1f %8.1f%%  %s\n", kernel->name, kernel->tile ? kernel->tile : "", time, kernel->flops / time * 1e-3,
				kernel->bytes / time * 1e-3, 100 * limit / time, bound);
		json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:f,s:f,s:f,s:f,s:s}", "name", kernel->name, "template",
			kernel->template_name ? kernel->template_name : "", "tile", kernel->tile ? kernel->tile : "", "microseconds", time, "flops", kernel->flops,
			"bytes", kernel->bytes, "of_limit", limit / time, "bound", bound));
	}
	if (cli.json) {
		json_t *out = json_pack("{s:o,s:f,s:f}", "kernels", list, "call_microseconds", call_time, "fma_gflops", 2 * peak * 1e-3);
		json_dumpf(out, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(out);
	} else {
		printf("%-22s %-12s %10.3f   one call %.3f us; fma limit %.1f GFLOP/s\n", "all kernels", "", total, call_time, 2 * peak * 1e-3);
		json_decref(list);
	}
	engine_close(engine);
}

int cli_bench(int argc, char **argv) { return cli_main(&self, argc, argv, body); }
