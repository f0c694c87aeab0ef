/* emulator_test.cpp: each kernel on the emulator in three orders of threads, against plain loops.  Exit 0: right; 1: wrong numbers; 2: the
 * emulator found a failure and named it. */
#include "emulator.h"
#include "kernels.cu"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void launch_matmul(void **p) { matmul((const float *)p[0], (const float *)p[1], (float *)p[2], *(int *)p[3]); }
static void launch_reduce(void **p) { reduce((const float *)p[0], (float *)p[1]); }
static void launch_reverse(void **p) { reverse((const float *)p[0], (float *)p[1]); }
static void launch_turn(void **p) { turn((const float *)p[0], (float *)p[1]); }
static void launch_staged(void **p) { staged((const float *)p[0], (float *)p[1], *(int *)p[2]); }
static void launch_transpose(void **p) { transpose((const float *)p[0], (float *)p[1]); }
static void launch_halo(void **p) { halo((float *)p[0], (float *)p[1]); }
static void launch_quiet(void **p) { quiet((const float *)p[0], (float *)p[1], *(int *)p[2]); }
static void launch_stale(void **p) { stale((float *)p[0]); }

static void run(const char *name, void (*thunk)(void **), void **pointers, dim3 grid, dim3 block, size_t shared)
{
	if (emulator_launch(name, thunk, pointers, grid, block, shared)) {
		printf("found: %s\n", emulator_message());
		exit(2);
	}
}

static int report(const char *name, int order, int wrong)
{
	if (wrong)
		printf("%s, order %d: %d wrong\n", name, order, wrong);
	return wrong;
}

/* The least CPU time of some launches of a kernel, in microseconds: who watches it may not take many times of it. */
static int measure(void **pointers)
{
	clock_t least = 0;
	for (int i = 0; i < 20; i++) {
		const clock_t begin = clock();
		run("matmul", launch_matmul, pointers, dim3(4, 4), dim3(16, 16), 0);
		const clock_t taken = clock() - begin;
		least = !least || taken < least ? taken : least;
	}
	printf("%ld\n", (long)least);
	return 0;
}

/* emulator_test [FAULT]: of `quiet`; 0: measure() */
int main(int words, char **arguments)
{
	enum { N = 64, SIZE = N * N };
	float *a = (float *)malloc(SIZE * 4), *b = (float *)malloc(SIZE * 4), *c = (float *)malloc(SIZE * 4);
	int n = N, chunks = 5, failures = 0, fault = words > 1 ? atoi(arguments[1]) : 0;
	for (int i = 0; i < SIZE; i++)
		a[i] = (float)(i * 7 % 13 - 6), b[i] = (float)(i * 5 % 11 - 5);
	void *measured[] = { a, b, c, &n };
	if (words > 1 && !fault)
		return measure(measured);
	for (int order = EMULATOR_FORWARD; order <= EMULATOR_RANDOM; order++) {
		int wrong = 0;
		void *of_matmul[] = { a, b, c, &n }, *of_reduce[] = { a, c }, *of_rows[] = { a, c }, *of_stale[] = { c }, *of_quiet[] = { a, c, &fault }, *of_staged[] = { a, c, &chunks };
		emulator_set_order((enum emulator_order)order);
		memset(c, 0, SIZE * 4);
		run("matmul", launch_matmul, of_matmul, dim3(N / 16, N / 16), dim3(16, 16), 0);
		for (int i = 0; i < SIZE; i++) {
			float sum = 0;
			for (int k = 0; k < N; k++)
				sum += a[i / N * N + k] * b[k * N + i % N];
			wrong += sum != c[i];
		}
		failures += report("matmul", order, wrong), wrong = 0;
		run("reduce", launch_reduce, of_reduce, dim3(SIZE / 256), dim3(256), 0);
		for (int i = 0; i < SIZE / 256; i++) {
			float sum = 0;
			for (int k = 0; k < 256; k++)
				sum += a[256 * i + k];
			wrong += sum != c[i];
		}
		failures += report("reduce", order, wrong), wrong = 0;
		run("reverse", launch_reverse, of_rows, dim3(SIZE / 64), dim3(64), 0);
		for (int i = 0; i < SIZE; i++)
			wrong += c[i] != a[i / 32 * 32 + 31 - i % 32];
		failures += report("reverse", order, wrong), wrong = 0;
		run("turn", launch_turn, of_rows, dim3(SIZE / 64), dim3(64), 64 * sizeof(float));
		for (int i = 0; i < SIZE; i++)
			wrong += c[i] != a[i / 64 * 64 + 63 - i % 64];
		failures += report("turn", order, wrong), wrong = 0;
		run("staged", launch_staged, of_staged, dim3(1), dim3(64), 0);
		for (int i = 0; i < 64 * chunks; i++)
			wrong += c[i] != a[i / 64 * 64 + 63 - i % 64];
		failures += report("staged", order, wrong), wrong = 0;
		run("transpose", launch_transpose, of_rows, dim3(1), dim3(32), 0);
		for (int i = 0; i < 1024; i++)
			wrong += c[i] != a[i % 32 * 32 + i / 32];
		failures += report("transpose", order, wrong), wrong = 0;
		run("quiet", launch_quiet, of_quiet, dim3(1), dim3(64), 0);
		for (int i = 0; i < 64; i++)
			wrong += c[i] != a[63 - i];
		failures += report("quiet", order, wrong), wrong = 0;
		run("halo", launch_halo, of_rows, dim3(8), dim3(32), 0);
		for (int i = 0; i < 256; i++)
			wrong += c[i] != a[i] + (i ? a[i - 1] : 0);
		failures += report("halo", order, wrong), wrong = 0;
		run("stale", launch_stale, of_stale, dim3(2), dim3(32), 0);
		for (int i = 0; i < 64; i++)
			wrong += c[i] == c[i];
		failures += report("stale", order, wrong);
	}
	void *none[] = { nullptr };
	if (!emulator_launch("stale", launch_stale, none, dim3(1), dim3(2048), 0) || !emulator_launch("stale", launch_stale, none, dim3(0), dim3(32), 0)) {
		puts("a launch that no device would take is taken");
		failures++;
	}
	free(a), free(b), free(c);
	puts(failures ? "wrong" : "right");
	return failures != 0;
}
