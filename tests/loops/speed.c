/* speed.c: the time of generic kernels, beside what the machine can do in the same run.
 *
 *     loops_speed [TARGET [COMPILER [ALSO.so]]]     best and median of many calls of all blocks, one thread, data where
 *                                                   it stays
 *
 * ALSO.so may hold functions of the same kernels by another hand, `other_NAME(x0 … y)`, which take turns with ours. */
#include "base/embedded.h"
#include "emit/emit.h"
#include "kernels.h"
#include "loops/loops.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct build build;
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}
static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

struct timed {
	const char *name, *like;
	int64_t n[6];
	double flops, bytes;
};
#define LAST 256
static const struct timed timed[] = {
	/* flops: by fma, two each; bytes: what must be read and written once */
	{ "depthwise_112x112x32", "depthwise", { 32, 112, 112, 3, 1 | LAST, 1 }, 2. * 9 * 112 * 112 * 32,
	        8. * 112 * 112 * 32 },
	{ "depthwise_25x5x64", "depthwise", { 64, 25, 5, 3, 1 | LAST, 1 }, 2. * 9 * 25 * 5 * 64, 8. * 25 * 5 * 64 },
	{ "maxpool_112x112x64", "maxpool", { 64, 112, 112, 3, 2 | LAST, 1 }, 0, 5. * 112 * 112 * 64 },
	{ "avgpool_25x5x64", "avgpool", { 64, 25, 5, 3, 1 | LAST, 0 }, 0, 4. * 64 * (125 + 69) },
	{ "global_25x5x64", "global_last_25", { 1, 64, 25, 5, 1 }, 0, 4. * 125 * 64 },
	{ "global_7x7x2048", "global_last_7", { 1, 2048, 7, 7, 1 }, 0, 4. * 49 * 2048 },
	{ "depthwise_28x28x64", "depthwise", { 64, 28, 28, 3, 1 | LAST, 1 }, 2. * 9 * 28 * 28 * 64, 8. * 28 * 28 * 64 },
	{ "depthwise5_28x28x64", "depthwise", { 64, 28, 28, 5, 1 | LAST, 2 }, 2. * 25 * 28 * 28 * 64,
	        8. * 28 * 28 * 64 },
	{ "maxpool5_28x28x64", "maxpool", { 64, 28, 28, 5, 1 | LAST, 2 }, 0, 8. * 28 * 28 * 64 },
	{ "depthwise_nchw_28", "depthwise", { 64, 28, 28, 3, 1, 1 }, 2. * 9 * 28 * 28 * 64, 8. * 28 * 28 * 64 },
	{ "maxpool_nchw_28", "maxpool", { 64, 28, 28, 3, 2, 1 }, 0, 5. * 28 * 28 * 64 },
	{ "softmax_128x1024", "softmax_64", { 128, 1024, 1 }, 0, 8. * 128 * 1024 },
	{ "norm_128x768", "norm_64", { 128, 768 }, 0, 8. * 128 * 768 },
	{ "norm_128x256", "norm_64", { 128, 256 }, 0, 8. * 128 * 256 },
	{ "softmax_512x128", "softmax_64", { 512, 128, 1 }, 0, 8. * 512 * 128 },
	{ "softmax_512x48", "softmax_64", { 512, 48, 1 }, 0, 8. * 512 * 48 },
	{ "chain_l1", "bias_nhwc", { 1, 32, 8, 8, 1 }, 0, 8. * 32 * 64 },
	{ "chain_l2", "bias_nhwc", { 1, 64, 28, 28, 1 }, 0, 8. * 64 * 784 },
	{ "copy_l1", "copy", { 2048 }, 0, 8. * 2048 },
	{ "copy_l2", "copy", { 65536 }, 0, 8. * 65536 },
	{ "gelu_128x3072", "gelu", { 128 * 3072 }, 0, 8. * 128 * 3072 },
	{ "silu_add_64k", "flat64", { 65536 }, 0, 12. * 65536 },
	{ "transpose_512x512", "transpose", { 1, 512, 512 }, 0, 8. * 512 * 512 },
	{ "concat_nchw", "concat", { 1, 64, 64, 28 }, 0, 8. * 128 * 784 },
	{ "dense_640x10", "dense_64", { 10, 640 }, 2. * 640 * 10, 4. * 640 * 11 },
	{ "lstm_maps_128", "lstm", { 128 }, 0, 4. * 128 * 7 },
};
enum { SHAPES = COUNT(timed), ROUNDS = 201 };

static const struct kernel_case *case_like(const char *name)
{
	for (int i = 0; i < kernel_case_count; i++)
		if (!strcmp(kernel_cases[i].name, name))
			return &kernel_cases[i];
	abort();
}

static void call(void (*function)(), void **p, size_t count, long from, long to)
{
	switch (count) {
	case 2: function(p[0], p[1], from, to); break;
	case 3: function(p[0], p[1], p[2], from, to); break;
	case 4: function(p[0], p[1], p[2], p[3], from, to); break;
	default: abort();
	}
}

static double measure(void (*function)(), void **places, size_t count, long blocks, long repeats, double *median)
{
	double times[ROUNDS];
	for (int r = 0; r < ROUNDS; r++) {
		double start = now();
		for (long i = 0; i < repeats; i++)
			call(function, places, count, 0, blocks);
		times[r] = (now() - start) / (double)repeats;
	}
	qsort(times, ROUNDS, sizeof *times, by_value);
	*median = times[ROUNDS / 2];
	return times[0];
}

static const char limits_source[] = "typedef float v __attribute__((vector_size(4 * LANES)));\n"
                                    "#define STEP(s) s = vec_fma(a, b, s);\n"
                                    "void limit_fma(float *p, long from, long to) {\n"
                                    "	vec a = vec_load(p), b = a, c = a, d = a + c, e = d + a, f = e + a, g = f + a, "
                                    "h = g + a, i = h + a, j = i + a, k = j + a, l = k + a;\n"
                                    "	for (long n = from; n < to; n++) { STEP(c) STEP(d) STEP(e) STEP(f) STEP(g) "
                                    "STEP(h) STEP(i) STEP(j) STEP(k) STEP(l) }\n"
                                    "	vec_store(p, c + d + e + f + g + h + i + j + k + l); }\n"
                                    "void limit_copy(const float *x, float *y, long from, long to) {\n"
                                    "	for (long i = from; i < to; i += 4 * LANES) { v a = *(const v *)(x + i), b = "
                                    "*(const v *)(x + i + LANES), c = *(const v *)(x + i + 2 * LANES),\n"
                                    "		d = *(const v *)(x + i + 3 * LANES); *(v *)(y + i) = a; *(v *)(y + i + "
                                    "LANES) = b; *(v *)(y + i + 2 * LANES) = c; *(v *)(y + i + 3 * LANES) = d; } }\n";

static void limits(void *library, int lanes)
{
	void (*fma)(float *, long, long) = (void (*)(float *, long, long))dlsym(library, "limit_fma");
	void (*copy)(const float *, float *, long, long) =
	        (void (*)(const float *, float *, long, long))dlsym(library, "limit_copy");
	float *x = aligned_alloc(64, 8 << 20), *y = aligned_alloc(64, 8 << 20);
	double best = 1e30, bests[2] = { 1e30, 1e30 };
	memset(y, 0, 8 << 20);
	for (long i = 0; i < 2 << 20; i++)
		x[i] = 0.5f;
	for (int r = 0; r < 100; r++) {
		double start = now();
		fma(x, 0, 20000);
		double t = now() - start;
		best = t < best ? t : best;
		for (int level = 0; level < 2; level++) {
			long n = level ? 65536 : 2048, times = level ? 10 : 300;
			start = now();
			for (long i = 0; i < times; i++)
				copy(x, y, 0, n);
			t = (now() - start) / (double)times / (double)n * 2048;
			bests[level] = t < bests[level] ? t : bests[level];
		}
	}
	printf("limits: fma %.0f GF, copy (read + write) L1 %.0f GB/s, L2 %.0f GB/s\n",
	        20000. * 10 * lanes * 2 / best * 1e-3, 2048 * 8 / bests[0] * 1e-3, 2048 * 8 / bests[1] * 1e-3);
	free(x), free(y);
}

static void speed(const struct target *target, const char *compiler, const char *also, const char *folder)
{
	struct emit emit = { .build = &build,
		.arena = build.arena,
		.target = target,
		.name = "t",
		.templates = environment_new(&build, build.arena, &template_settings_kernels, load_embedded, NULL) };
	struct kernel *kernel[SHAPES];
	struct text kernels, all;
	text_init(&kernels, &build), text_init(&all, &build);
	for (int i = 0; i < (int)SHAPES; i++) {
		struct made made = { .program = program_new(&build, timed[i].name), .arena = build.arena };
		case_like(timed[i].like)->make(&made, timed[i].n);
		kernel[i] = kernel_of(&made, timed[i].name);
		loops_finish(&(struct lowered){ .arena = build.arena, .target = target }, kernel[i]);
		loops_emit(&emit, kernel[i], &kernels);
	}
	text_adds(&kernels, limits_source);
	emit_prelude(&emit, kernels.at, kernels.count, &all);
	text_add(&all, kernels.at, kernels.count);
	const char *source = arena_printf(build.arena, "%s/kernels.c", folder),
	           *library = arena_printf(build.arena, "%s/kernels.so", folder);
	FILE *file = fopen(source, "w");
	fwrite(all.at, 1, all.count, file);
	fclose(file);
	if (system(arena_printf(
	            build.arena, "%s %s -shared -fPIC -o %s %s -lm", compiler, target->cc_flags, library, source)))
		return;
	void *opened = dlopen(library, RTLD_NOW), *other = also ? dlopen(also, RTLD_NOW) : NULL;
	if (also && !other)
		puts(dlerror());
	if (target->lanes > 1)
		limits(opened, target->lanes);
	printf("%-22s %10s %10s %9s %9s %10s %6s\n", target->name, "best us", "median", "GF", "GB/s", "other best",
	        "ratio");
	for (int i = 0; i < (int)SHAPES; i++) {
		void *places[8];
		void (*function)() = (void (*)())dlsym(opened, arena_printf(build.arena, "t_%s", timed[i].name));
		void (*theirs)() =
		        other ? (void (*)())dlsym(other, arena_printf(build.arena, "other_%s", timed[i].name)) : NULL;
		size_t count = kernel[i]->params.count;
		for (size_t p = 0; p < count; p++) {
			const struct definition *d = kernel[i]->params.at[p].of;
			size_t bytes = (dtype_bytes(d->type, (size_t)definition_elements(d)) + 64 + 63) / 64 * 64;
			places[p] = aligned_alloc(64, bytes);
			for (size_t k = 0; k < bytes / 4; k++)
				((float *)places[p])[k] = (float)(k * 2654435761u % 1000) * 0.002f - 1;
		}
		double median, other_median, start = now();
		call(function, places, count, 0, kernel[i]->blocks);
		start = now();
		call(function, places, count, 0, kernel[i]->blocks);
		double once = now() - start;
		long repeats = once < 100 ? (long)(100 / (once + 0.05)) + 1 : 1;
		double best = measure(function, places, count, kernel[i]->blocks, repeats, &median);
		printf("%-22s %10.3f %10.3f %9.1f %9.1f", timed[i].name, best, median, timed[i].flops / best * 1e-3,
		        timed[i].bytes / best * 1e-3);
		if (theirs) {
			double other_best = measure(theirs, places, count, kernel[i]->blocks, repeats, &other_median);
			best = measure(function, places, count, kernel[i]->blocks, repeats, &median);
			printf(" %10.3f %6.2f", other_best, best / other_best);
		}
		printf("   %s  %s\n", kernel[i]->tile, kernel_lanes_text(build.arena, kernel[i]));
		for (size_t p = 0; p < count; p++)
			free(places[p]);
	}
	text_release(&kernels), text_release(&all);
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/ingot-loops-XXXXXX";
	build_init(&build);
	const struct target *target = target_find(argc > 1 ? argv[1] : "native");
	if (!target || !mkdtemp(folder))
		return 2;
	if (BUILD_TRY(&build))
		speed(target, argc > 2 ? argv[2] : "gcc", argc > 3 ? argv[3] : NULL, folder);
	else
		puts(build.message);
	printf("%s/kernels.c\n", folder);
	build_release(&build);
	return 0;
}
