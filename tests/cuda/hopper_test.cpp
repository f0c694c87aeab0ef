/* hopper_test.cpp: products by TMA and wgmma on the emulator, in three orders of threads and of what comes late, against plain loops.
 *
 *     hopper_test [FAULT]        exit 0: right; 1: wrong sums; 2: the emulator found a failure and named it */
#include "emulator.h"
#include "hopper.cu"
#include <stdio.h>
#include <stdlib.h>

static int at_int(void **p, int i) { return *(int *)p[i]; }
#define LAUNCHES(name) \
	static void launch_gemm_##name(void **p) { gemm_##name(*(tensor_map *)p[0], *(tensor_map *)p[1], *(tensor_map *)p[2], at_int(p, 3), at_int(p, 4), at_int(p, 5), (u32 *)p[6], at_int(p, 7)); } \
	static void launch_staged_##name(void **p) { staged_##name((const u32 *)p[0], (const u32 *)p[1], (u32 *)p[2], at_int(p, 3), at_int(p, 4), at_int(p, 5)); }
LAUNCHES(bf16) LAUNCHES(f16) LAUNCHES(tf32) LAUNCHES(s8)
static const struct kind { const char *name; int bytes, columns; size_t shared; void (*gemm)(void **), (*staged)(void **); } kinds[] = {
	{ "bf16", 2, 64, sizeof(struct memory<0, 64>), launch_gemm_bf16, launch_staged_bf16 }, { "f16", 2, 128, sizeof(struct memory<1, 128>), launch_gemm_f16, launch_staged_f16 },
	{ "tf32", 4, 64, sizeof(struct memory<2, 64>), launch_gemm_tf32, launch_staged_tf32 }, { "s8", 1, 96, sizeof(struct memory<3, 96>), launch_gemm_s8, launch_staged_s8 },
};

/* An integer from -8 to 8, another one for each place, as a code. */
static int number(unsigned i) { return (int)((i * 2654435761u >> 16) % 17) - 8; }
static void put(unsigned char *to, int kind, int x)
{
	const float f = (float)x;
	u32 bits, half = x < 0 ? 0x8000 : 0;
	memcpy(&bits, &f, 4);
	if (kind == 1 && x) {
		const int top = 31 - __builtin_clz((unsigned)abs(x));
		half |= (u32)(top + 15) << 10 | (((u32)abs(x) << (10 - top)) & 1023);
	}
	bits = kind == 0 ? bits >> 16 : kind == 1 ? half : kind == 3 ? (u32)x & 255 : bits;
	memcpy(to, &bits, (size_t)kinds[kind].bytes);
}

/* Of plain C: what the kernels share with the emulator by templates would be watched as if it were theirs. */
static void *filled(size_t bytes, int with) { return memset(aligned_alloc(128, (bytes + 127) / 128 * 128), with, bytes); }

static unsigned char *drawn(int kind, int rows, int terms, int pitch, unsigned seed)
{
	unsigned char *to = (unsigned char *)filled((size_t)rows * (size_t)pitch, 0x7f);
	for (int i = 0; i < rows; i++)
		for (int k = 0; k < terms; k++)
			put(&to[(size_t)(i * pitch + k * kinds[kind].bytes)], kind, number(seed + (unsigned)(i * terms + k)));
	return to;
}

static u32 expected(int kind, int i, int j, int terms)
{
	int sum = 0;
	for (int k = 0; k < terms; k++)
		sum += number((unsigned)(i * terms + k)) * number(77u + (unsigned)(j * terms + k));
	const float f = (float)sum;
	u32 bits = (u32)sum;
	if (kind != 3)
		memcpy(&bits, &f, 4);
	return bits;
}

static void run(const char *what, const struct kind &kind, void (*thunk)(void **), void **pointers, dim3 grid, int threads, size_t shared)
{
	char name[32];
	snprintf(name, sizeof name, "%s %s", what, kind.name);
	if (emulator_launch(name, thunk, pointers, grid, dim3((unsigned)threads), shared)) {
		printf("found: %s\n", emulator_message());
		exit(2);
	}
}

static int compare(const char *what, int kind, const u32 *d, int m, int n, int terms)
{
	int wrong = 0;
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++)
			wrong += d[i * n + j] != expected(kind, i, j, terms);
	if (wrong)
		printf("%s %s: %d wrong\n", what, kinds[kind].name, wrong);
	return wrong;
}

static tensor_map map_of(void *base, int element, int width, int height, int pitch, int box_width, int box_height)
{
	tensor_map map;
	const int extent[2] = { width, height }, box[2] = { box_width, box_height };
	if (const char *why = emulator_map_encode(&map, base, element, extent, pitch, box, 128)) {
		printf("found: %s\n", why);
		exit(2);
	}
	return map;
}

/* Ragged rows, columns and terms. */
static int gemm(int kind, int fault)
{
	const struct kind &is = kinds[kind];
	const int m = 200, n = 136, terms = 5 * 128 / is.bytes - 64 / is.bytes, pitch = terms * is.bytes;
	int tiles_m = (m + 127) / 128, tiles_n = (n + is.columns - 1) / is.columns, steps = (terms * is.bytes + 127) / 128, blocks = 2;
	unsigned char *a = drawn(kind, m, terms, pitch, 0), *b = drawn(kind, n, terms, pitch, 77);
	u32 *d = (u32 *)filled((size_t)(m * n) * 4, 0xff), *checks = (u32 *)filled((size_t)blocks * 1024, 0);
	tensor_map map_a = map_of(a, is.bytes, terms, m, pitch, 128 / is.bytes, 128), map_b = map_of(b, is.bytes, terms, n, pitch, 128 / is.bytes, is.columns),
		map_d = map_of(d, 4, n, m, n * 4, 32, 64);
	void *pointers[] = { &map_a, &map_b, &map_d, &tiles_m, &tiles_n, &steps, checks, &fault };
	run("gemm", is, is.gemm, pointers, dim3((unsigned)blocks), 384, is.shared);
	const int wrong = compare("gemm", kind, d, m, n, terms);
	free(a), free(b), free(d), free(checks);
	return wrong;
}

static int staged(int kind, int fault)
{
	const struct kind &is = kinds[kind];
	int m = 128, n = 2 * is.columns, steps = 3, terms = steps * 128 / is.bytes;
	unsigned char *a = drawn(kind, m, terms, steps * 128, 0), *b = drawn(kind, n, terms, steps * 128, 77);
	u32 *d = (u32 *)filled((size_t)(m * n) * 4, 0xff);
	void *pointers[] = { a, b, d, &n, &steps, &fault };
	run("staged", is, is.staged, pointers, dim3(2, 2), 128, (size_t)(2 * (64 + is.columns) * 128));
	const int wrong = compare("staged", kind, d, m, n, terms);
	free(a), free(b), free(d);
	return wrong;
}

/* What the driver would not take, and a box with nothing of the tensor in it. */
static int maps(void)
{
	tensor_map map;
	alignas(16) static char base[4096];
	const int extent[2] = { 40, 8 }, box[2] = { 32, 8 }, wide[2] = { 64, 8 }, tall[2] = { 32, 300 }, odd[2] = { 30, 8 };
	return !!emulator_map_encode(&map, base, 4, extent, 160, box, 128) + !emulator_map_encode(&map, base + 4, 4, extent, 160, box, 128) + !emulator_map_encode(&map, base, 4, extent, 164, box, 128)
		+ !emulator_map_encode(&map, base, 4, extent, 160, wide, 128) + !emulator_map_encode(&map, base, 4, extent, 160, tall, 0) + !emulator_map_encode(&map, base, 4, extent, 160, odd, 0)
		+ !emulator_map_encode(&map, base, 4, extent, 144, box, 128);
}

int main(int words, char **arguments)
{
	const int fault = words > 1 ? atoi(arguments[1]) : 0;
	int failures = maps();
	for (int order = EMULATOR_FORWARD; order <= EMULATOR_RANDOM; order++)
		for (int kind = 0; kind < (fault ? 1 : 4); kind++) {
			emulator_set_order((enum emulator_order)order);
			failures += gemm(kind, fault) + staged(kind, fault);
		}
	puts(failures ? "wrong" : "right");
	return failures != 0;
}
