/* limits.c: loops that do nothing but multiply-add, or nothing but move bytes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "limits.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- multiply-adds: twelve chains in registers hide a latency of up to six cycles on two pipes ---- */

enum { CHAINS = 12 };

#if defined __x86_64__

#define TWELVE(F, W) F(W, 0) F(W, 1) F(W, 2) F(W, 3) F(W, 4) F(W, 5) F(W, 6) F(W, 7) F(W, 8) F(W, 9) F(W, 10) F(W, 11)
#define SAME_CHAIN(F, W) F(W, 0) F(W, 0) F(W, 0) F(W, 0) F(W, 0) F(W, 0) F(W, 0) F(W, 0) F(W, 0) F(W, 0) F(W, 0) F(W, 0)
#define FILL(W, n) "vbroadcastss (%1), %%" W #n "\n\t"
#define FMA(W, n) "vfmadd213ps %%" W "15, %%" W "14, %%" W #n "\n\t"
#define FMA_MEMORY(W, n) "vfmadd213ps 4(%1)%{1to16%}, %%" W "14, %%" W #n "\n\t"
#define CLOBBERS \
	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm14", \
	        "xmm15"

/* x <- x * 0.999 + 0.001 stays at 1: no denormals, no infinities.  Registers are named, so none spills. */
static const float factors[2] = { 0.999f, 0.001f };

#define LOOP(function, W, EACH, F) \
	static void function(long steps) \
	{ \
		__asm__ volatile(TWELVE(FILL, W) FILL(W, 14) "vbroadcastss 4(%1), %%" W "15\n\t" \
		                                             "1:\n\t" EACH(F, W) "sub $1, %0\n\tjnz 1b\n\tvzeroupper" \
		                 : "+r"(steps) \
		                 : "r"(factors) \
		                 : "cc", "memory", CLOBBERS); \
	}
LOOP(fma_128, "xmm", TWELVE, FMA)
LOOP(fma_256, "ymm", TWELVE, FMA)
LOOP(fma_512, "zmm", TWELVE, FMA)
LOOP(fma_512_broadcast, "zmm", TWELVE, FMA_MEMORY)
LOOP(fma_256_chain, "ymm", SAME_CHAIN, FMA)
LOOP(fma_512_chain, "zmm", SAME_CHAIN, FMA)

/* Its latency is three cycles on every x86-64 of the last fifteen years: a clock. */
static void multiply_chain(long steps)
{
	long x = 3;
	__asm__ volatile("1:\n\t"
	                 "imul %1, %1\n\timul %1, %1\n\timul %1, %1\n\timul %1, %1\n\timul %1, %1\n\timul %1, %1\n\t"
	                 "imul %1, %1\n\timul %1, %1\n\timul %1, %1\n\timul %1, %1\n\timul %1, %1\n\timul %1, %1\n\t"
	                 "sub $1, %0\n\tjnz 1b"
	                 : "+r"(steps), "+r"(x)
	                 :
	                 : "cc");
}

static bool has_fma(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
static bool has_512(void) { return __builtin_cpu_supports("avx512f"); }
static bool always(void) { return true; }

const struct fma_loop fma_loops[] = {
	{ "fma 128", 2.0 * CHAINS * 4, fma_128, has_fma },
	{ "fma 256", 2.0 * CHAINS * 8, fma_256, has_fma },
	{ "fma 512", 2.0 * CHAINS * 16, fma_512, has_512 },
	{ "fma 512 {1to16}", 2.0 * CHAINS * 16, fma_512_broadcast, has_512 },
	{ "fma 256, one chain", 2.0 * CHAINS * 8, fma_256_chain, has_fma },
	{ "fma 512, one chain", 2.0 * CHAINS * 16, fma_512_chain, has_512 },
	{ "cycles", 3.0 * CHAINS, multiply_chain, always },
	{ NULL, 0, NULL, NULL },
};

#else

typedef float lanes __attribute__((vector_size(16)));

static void fma_128(long steps)
{
	lanes a = (lanes){ 0 } + 0.999f, b = (lanes){ 0 } + 0.001f, s[CHAINS];
	for (int k = 0; k < CHAINS; k++)
		s[k] = a;
	for (long i = 0; i < steps; i++) {
#pragma GCC unroll 12
		for (int k = 0; k < CHAINS; k++) {
			s[k] = s[k] * a + b;
			__asm__ volatile("" : "+w"(s[k]));
		}
	}
}

static bool always(void) { return true; }

const struct fma_loop fma_loops[] = {
	{ "fma 128", 2.0 * CHAINS * 4, fma_128, always },
	{ NULL, 0, NULL, NULL },
};

#endif

/* Bytes of a vector that this file is compiled for. */
#if defined __AVX512F__
enum { VECTOR = 64 };
#elif defined __AVX__
enum { VECTOR = 32 };
#else
enum { VECTOR = 16 };
#endif

const struct fma_loop *fma_widest(void)
{
	const struct fma_loop *best = &fma_loops[0];
	for (const struct fma_loop *loop = fma_loops; loop->name; loop++)
		if (!strchr(loop->name, ',') && !strchr(loop->name, '{') && !strncmp(loop->name, "fma", 3)
		        && atoi(loop->name + 4) <= 8 * VECTOR && loop->present())
			best = loop;
	return best;
}

/* ---- bytes: loops over vectors as wide as this file is compiled for ---- */

typedef int64_t vector __attribute__((vector_size(VECTOR), may_alias));
enum { UNROLL = 8 };

void *stream_buffer(size_t bytes)
{
	enum { LARGE = 2 << 20 };
	size_t size = (bytes / LARGE + 1) * LARGE;
	void *buffer = aligned_alloc(LARGE, size);
	if (buffer) {
		madvise(buffer, size, MADV_HUGEPAGE);
		memset(buffer, 0, size);
	}
	return buffer;
}

/* A load whose value nobody needs: sums of what is read would cost more than the reading. */
#if defined __AVX512F__
#define LOAD(place) __asm__ volatile("" : : "v"(place))
#elif defined __x86_64__
#define LOAD(place) __asm__ volatile("" : : "x"(place))
#else
#define LOAD(place) __asm__ volatile("" : : "w"(place))
#endif

void stream_read(const void *from, size_t bytes)
{
	const vector *p = from, *end = p + bytes / VECTOR;
	for (; end - p >= UNROLL; p += UNROLL) {
		LOAD(p[0]);
		LOAD(p[1]);
		LOAD(p[2]);
		LOAD(p[3]);
		LOAD(p[4]);
		LOAD(p[5]);
		LOAD(p[6]);
		LOAD(p[7]);
	}
	for (; p < end; p++)
		LOAD(*p);
}

void stream_write(void *to, size_t bytes)
{
	vector *p = to, *end = p + bytes / VECTOR, value = { 0 };
	for (; end - p >= UNROLL; p += UNROLL) {
		p[0] = value, p[1] = value, p[2] = value, p[3] = value;
		p[4] = value, p[5] = value, p[6] = value, p[7] = value;
		__asm__ volatile("" : : : "memory"); /* else it becomes a call of memset */
	}
	for (; p < end; p++) {
		*p = value;
		__asm__ volatile("" : : : "memory");
	}
}

void stream_write_past(void *to, size_t bytes)
{
#if defined __AVX512F__
	for (char *p = to, *end = p + bytes; p < end; p += 64)
		__asm__ volatile("vmovntps %%zmm0, (%0)" : : "r"(p) : "memory");
	__asm__ volatile("sfence" : : : "memory");
#elif defined __AVX__
	for (char *p = to, *end = p + bytes; p < end; p += 32)
		__asm__ volatile("vmovntps %%ymm0, (%0)" : : "r"(p) : "memory");
	__asm__ volatile("sfence" : : : "memory");
#else
	stream_write(to, bytes);
#endif
}

void stream_copy(void *to, const void *from, size_t bytes)
{
	const vector *p = from, *end = p + bytes / VECTOR;
	vector *q = to;
	for (; end - p >= UNROLL; p += UNROLL, q += UNROLL) {
		vector a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7];
		q[0] = a, q[1] = b, q[2] = c, q[3] = d, q[4] = e, q[5] = f, q[6] = g, q[7] = h;
		__asm__ volatile("" : : : "memory");
	}
	for (; p < end; p++, q++) {
		*q = *p;
		__asm__ volatile("" : : : "memory");
	}
}

void stream_traffic(const void *from, size_t read, void *to, size_t write)
{
	/* One after the other is up to a tenth faster than by turns, but for a copy. */
	if (read == write) {
		stream_copy(to, from, read);
		return;
	}
	stream_read(from, read);
	stream_write(to, write);
}
