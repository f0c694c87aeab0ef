/* race.c: runs one network in several engines by turns and prints the time of every batch.
 *
 * usage: race THREADS ROUNDS ENGINE...     (onnxruntime-1, openvino-2, ingot-1 …: a name and its threads)
 *
 * Prints lines of words parted by tabs, for bench/harness/drive.py:
 *     try ENGINE              it is loaded now, or in its last run: a crash is its own
 *     failed ENGINE MESSAGE
 *     open ENGINE MESSAGE     it did not run peer.onnx, and gets open.onnx, with open dimensions
 *     time ENGINE NS SWITCHES CPU_NS    a batch, per call; how often another process took a core meanwhile; the
 *                             time less that of others, all threads together
 *     flops fma-N COUNT       in one call of it
 *     path ENGINE NS FORKS    a call's longest way through its parts and forks, were each thread on an idle core
 *     restless ENGINE         its threads were still busy 200 ms after its last call
 * It runs in the network's folder: inputs lie in in_I.bin, constants in const_I.bin; each engine's outputs of a run
 * after the last round go to ENGINE_I.bin.  With THREADS 1 all engines sit on the first core the process may use. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "engine.h"
#include "limits.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { ENGINES_MOST = 16, ROUNDS_LEAST = 5 };
static const double batch_seconds = 2e-3, race_seconds = 8;

static const struct {
	const char *name;
	bool (*open)(struct engine *);
} kinds[] = {
	{ "fma", fma_open },
	{ "traffic", traffic_open },
	{ "ingot", library_open },
	{ "ingot_pool", pool_open },
	{ "ingot_openmp", openmp_open },
	{ "ingot_mutex", mutex_open },
	{ "ingot_priced", priced_open },
	{ "ingot_parts", parts_open },
	{ "ingot_jit", jit_open },
	{ "onnxruntime", onnxruntime_open },
	{ "openvino", openvino_open },
	{ "onednn", onednn_open },
};

static struct engine engines[ENGINES_MOST];
static int engine_count, threads;
static cpu_set_t home;
static char problem[2000];

bool engine_fail(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	vsnprintf(problem, sizeof problem, format, list);
	va_end(list);
	for (char *c = problem; *c; c++)
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	return false;
}

void *engine_buffer(size_t bytes)
{
	void *buffer = aligned_alloc(64, (bytes / 64 + 2) * 64);
	if (!buffer) {
		fprintf(stderr, "race: no memory\n");
		exit(2);
	}
	return buffer;
}

static double now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* How often this process lost a core to another against its will. */
static long switches(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nivcsw;
}

/* Opens an engine and runs it for a while, which also tells how many calls make a batch. */
static bool engine_open(struct engine *engine, const char *model)
{
	size_t length = strcspn(engine->name, "-");
	bool good = engine_fail("no engine of this name");
	engine->model = model;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		if (strlen(kinds[k].name) == length && !strncmp(kinds[k].name, engine->name, length))
			good = kinds[k].open(engine);
	double best = 1e9, start = now(CLOCK_MONOTONIC);
	for (int i = 0; good && (i < 3 || now(CLOCK_MONOTONIC) - start < 0.02); i++) {
		double t = now(CLOCK_MONOTONIC);
		good = engine->run(engine);
		t = now(CLOCK_MONOTONIC) - t;
		if (t < best)
			best = t;
	}
	if (good && best < batch_seconds)
		engine->calls = (long)(batch_seconds / (best > 1e-9 ? best : 1e-9)) + 1;
	return good;
}

static void engine_join(const char *name)
{
	if (engine_count == ENGINES_MOST || strlen(name) >= sizeof engines->name || !strchr(name, '-')) {
		fprintf(stderr, "race: %s: not an engine and its threads\n", name);
		exit(2);
	}
	struct engine *engine = &engines[engine_count];
	*engine = (struct engine){ .threads = atoi(strchr(name, '-') + 1), .calls = 1 };
	strcpy(engine->name, name);
	for (int i = 0; i < network.output_count; i++)
		engine->data[i] = engine_buffer(network.outputs[i].bytes);
	printf("try\t%s\n", name);
	bool good = engine_open(engine, "peer.onnx");
	if (!good && access("open.onnx", R_OK) == 0) {
		printf("open\t%s\t%s\n", name, problem);
		good = engine_open(engine, "open.onnx");
	}
	if (good)
		engine_count++;
	else
		printf("failed\t%s\t%s\n", name, problem);
	if (!strncmp(name, "fma", 3))
		printf("flops\t%s\t%.0f\n", name, fma_widest()->flops * FMA_CALL_STEPS * engine->threads);
}

/* Waits till the threads of the last engine sleep: some spin for a while, and would hold the next one's core. */
static bool settle(void)
{
	for (int i = 0; i < 100; i++) {
		double busy = now(CLOCK_PROCESS_CPUTIME_ID);
		usleep(2000);
		if (now(CLOCK_PROCESS_CPUTIME_ID) - busy < 2e-4)
			return true;
	}
	return false;
}

static void batch(struct engine *engine)
{
	sched_setaffinity(0, sizeof home, &home); /* an engine may have pinned this thread */
	if (engine->pooled && engine->threads > 1)
		team_pin();
	bool good = engine->run(engine); /* brings back its code, its weights and its threads */
	long taken = switches();
	double cpu = now(CLOCK_PROCESS_CPUTIME_ID), start = now(CLOCK_MONOTONIC);
	for (long i = 0; i < engine->calls; i++)
		good &= engine->run(engine);
	double seconds = now(CLOCK_MONOTONIC) - start;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	taken = switches() - taken;
	if (!good) {
		printf("try\t%s\nfailed\t%s\t%s\n", engine->name, engine->name, problem);
		exit(1);
	}
	printf("time\t%s\t%.1f\t%ld\t%.1f\n", engine->name, seconds / (double)engine->calls * 1e9, taken,
	        cpu / (double)engine->calls * 1e9);
	if (engine->threads > 1 && !settle())
		printf("restless\t%s\n", engine->name);
}

static void outputs_write(struct engine *engine)
{
	printf("try\t%s\n", engine->name);
	for (int i = 0; i < network.output_count; i++)
		memset(engine->data[i], 0xA5, network.outputs[i].bytes);
	if (!engine->run(engine) || (engine->finish && !engine->finish(engine)))
		printf("failed\t%s\t%s\n", engine->name, problem);
	for (int i = 0; i < network.output_count; i++) {
		char path[64];
		snprintf(path, sizeof path, "%.31s_%d.bin", engine->name, i);
		FILE *f = fopen(path, "wb");
		size_t bytes = network.outputs[i].bytes;
		if (!f || fwrite(engine->data[i], 1, bytes, f) != bytes || fclose(f)) {
			fprintf(stderr, "race: cannot write %s\n", path);
			exit(2);
		}
	}
}

static void tensors_read(struct tensor *tensors, int count, const char *stem)
{
	for (int i = 0; i < count; i++) {
		struct tensor *tensor = &tensors[i];
		char path[64];
		snprintf(path, sizeof path, "%s_%d.bin", stem, i);
		FILE *f = fopen(path, "rb");
		tensor->data = engine_buffer(tensor->bytes);
		if (!f || fread(tensor->data, 1, tensor->bytes, f) != tensor->bytes || fclose(f)) {
			fprintf(stderr, "race: cannot read %s\n", path);
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: race THREADS ROUNDS ENGINE...\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	threads = atoi(argv[1]);
	sched_getaffinity(0, sizeof home, &home);
	for (int c = CPU_SETSIZE - 1; threads == 1 && c >= 0 && CPU_COUNT(&home) > 1; c--)
		CPU_CLR(c, &home);
	sched_setaffinity(0, sizeof home, &home);
	team_start(threads);
	tensors_read(network.inputs, network.input_count, "in");
	tensors_read(network.constants, network.constant_count, "const");
	for (int i = 3; i < argc; i++)
		engine_join(argv[i]);
	printf("try\tall\n");
	double start = now(CLOCK_MONOTONIC);
	for (int r = 0; r < atoi(argv[2]) && (r < ROUNDS_LEAST || now(CLOCK_MONOTONIC) - start < race_seconds); r++)
		for (int k = 0; k < engine_count; k++)
			batch(&engines[(r + k) % engine_count]);
	for (int k = 0; k < engine_count; k++)
		if (strncmp(engines[k].name, "fma", 3) && strncmp(engines[k].name, "traffic", 7))
			outputs_write(&engines[k]);
	return 0;
}
