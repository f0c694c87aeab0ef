/* emulator.h: enough of CUDA's words for a C++ compiler to take a generated .cu as it is, and to run it on the CPU.
 *
 * Each CUDA thread is a fiber of its own; one block runs at a time; barriers and exchanges inside a warp switch
 * fibers, nothing else does. A thread runs as far as it can before another one starts, so a missing barrier shows at
 * once: shared memory starts as NaNs in each block, and $INGOT_EMULATOR_ORDER (forward, backward, random) turns the
 * order of the threads around.  Barriers that threads of one block or warp reach at different lines, or that one of
 * them never reaches, are failures; so are asynchronous copies that are misaligned, or that their thread did not wait
 * for.  Built with -fsanitize=address -fsanitize-sections=emulated_shared, an access
 * outside of shared memory, too, is named with its line.  With races.cpp races are failures, with counters.cpp beside it
 * bank conflicts are counted.
 *
 *     #include "emulator.h"
 *     #include "kernels.cu"
 *     static void launch_scale(void **p) { scale((const float *)p[0], (float *)p[1]); }
 *     void *pointers[] = { x, y };
 *     if (emulator_launch("scale", launch_scale, pointers, dim3(blocks), dim3(threads), shared_bytes))
 *         puts(emulator_message());
 *
 * One launch at a time in a process or loaded library.  Strict bits need -ffp-contract=off, and -mfma where the CPU
 * has it, for speed. */
#ifndef EMULATOR_H
#define EMULATOR_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#define INGOT_EMULATOR 1

struct uint3 {
	unsigned x, y, z;
};
struct dim3 {
	unsigned x, y, z;
	dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
static const int warpSize = 32;

#define __global__
#define __device__
#define __constant__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#ifndef __restrict__
#define __restrict__ __restrict
#endif
/* One block at a time: a static is the block's.  They lie together, so that each block can find them filled with
 * NaNs. */
#define __shared__ static __attribute__((section("emulated_shared")))
/* Dynamic shared memory: DYNAMIC_SHARED(float, line); in a kernel; on a device it is extern __shared__ float line[]. */
#define DYNAMIC_SHARED(type, name) type *name = (type *)emulator_shared()

/* ---- the machine (emulator.cpp) ---- */
enum emulator_order { EMULATOR_FORWARD, EMULATOR_BACKWARD, EMULATOR_RANDOM };
extern "C" {
/* The order in which the threads of a block get their turns, from the next launch on; before any:
 * $INGOT_EMULATOR_ORDER. */
void emulator_set_order(enum emulator_order);
/* Of the blocks along x only `count` from the first on run, from the next launch on: what a grid too large to be run
 * whole does at its ends. */
void emulator_set_blocks(unsigned first, unsigned count);
/* `thunk` calls the kernel on the pointers, once for each thread.  0; or 1 after a failure. */
int emulator_launch(const char *name, void (*thunk)(void **pointers), void **pointers, struct dim3 grid,
        struct dim3 block, size_t shared_bytes);
/* The failure of the last launch, with kernel, block, threads and lines; "" after success. */
const char *emulator_message(void);
}
void emulator_block_barrier(int line);
void emulator_warp_barrier(unsigned mask, int line);
int emulator_lane(void);
unsigned char *emulator_mailbox(int lane); /* 32 bytes for each lane of this warp */
void *emulator_shared(void);
/* Copies that go on while the thread does (cp.async): `bytes` are 4 or 16, zeros where it is not `there`.  A copy
 * happens at once, or as late as it may: when its group is waited for.  $INGOT_EMULATOR_COPIES (early, late, random)
 * says which; else late where threads run forward, early backward. */
void emulator_copy(void *to, const void *from, int bytes, int there, int line = __builtin_LINE());
void emulator_copy_commit(void);
void emulator_copy_wait(int groups); /* all but the last so many are there */
extern int emulator_current;         /* the thread that runs, of the block, numbered through */
bool emulator_is_late(bool forward); /* what may happen late: where threads run forward, or where they run backward */
/* Others run till it is ready, or the launch has failed; `what` is said where none of them can. */
void emulator_wait_until(bool (*ready)(const void *), const void *, const char *what, int line);
void emulator_fail(const char *what,
        int line); /* inside a thread: the launch ends at its next turn, and says the first of these */

/* ---- races.cpp, where it is linked, and the kernels are compiled with -fsanitize=thread ---- */
struct emulator_watched {
	const void *stacks, *mailboxes, *shared; /* the threads' own, the emulator's, and dynamic shared memory */
	size_t stack_bytes, mailbox_bytes, shared_bytes;
};
#define EMULATOR_PART __attribute__((weak))
void emulator_watch_begin(const struct emulator_watched *) EMULATOR_PART;
void emulator_watch_block(void) EMULATOR_PART;
void emulator_watch_met(int first, int count) EMULATOR_PART; /* these threads, at a barrier, or at their end */
void emulator_watch_copy(const void *to, const void *from, int bytes, int there, void *code) EMULATOR_PART;
void emulator_watch_landed(const void *to, int bytes) EMULATOR_PART; /* its thread has waited for that copy */
void emulator_watch_end(const char *kernel) EMULATOR_PART;
const char *emulator_lines_of(uintptr_t code) EMULATOR_PART;
/* Orders beside barriers of a block or a warp: who acquires a clock comes behind those that released it before.  As
 * thread EMULATOR_GROUPS + g the products of warpgroup g read. */
enum { EMULATOR_GROUPS = 1024 };
int emulator_watch_clock(void) EMULATOR_PART; /* a new one, of this block */
void emulator_watch_release(int clock, int thread) EMULATOR_PART;
void emulator_watch_acquire(int clock, int thread) EMULATOR_PART;
void emulator_watch_join(int clock, int with, bool begin) EMULATOR_PART; /* begin: it is that one alone */
void emulator_watch_read(const void *at, int bytes, int thread, uintptr_t code, bool keep) EMULATOR_PART;
void emulator_watch_write(const void *at, int bytes, uintptr_t code) EMULATOR_PART;
void emulator_watch_filled(const void *at, int bytes) EMULATOR_PART; /* by emulator_watch_copy */

/* ---- counters.cpp, where it is linked, too: bank conflicts ---- */
void emulator_count_access(uintptr_t at, int bytes, bool write, uintptr_t code, int thread) EMULATOR_PART;
void emulator_count_met(int first, int count) EMULATOR_PART; /* what they asked for together is whole */
void emulator_count_end(const char *kernel) EMULATOR_PART;

/* ---- hopper.cpp, where it is linked ---- */
void emulator_async_block(void *shared, size_t bytes) EMULATOR_PART; /* dynamic shared memory of the next block */
bool emulator_async_land(void) EMULATOR_PART; /* nothing else goes on: whether something does now */
void emulator_async_exit(void) EMULATOR_PART; /* of a thread */
void emulator_async_end(void) EMULATOR_PART;  /* of the block */

/* ---- barriers and exchanges: write the mailbox, meet, read, meet ---- */
static inline void __syncthreads(int line = __builtin_LINE()) { emulator_block_barrier(line); }
static inline void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE())
{
	emulator_warp_barrier(mask, line);
}

template <class T> static inline T emulator_shuffle(unsigned mask, T value, int from, int line)
{
	T result;
	static_assert(sizeof value <= 32, "mailboxes have 32 bytes");
	memcpy(emulator_mailbox(emulator_lane()), &value, sizeof value);
	emulator_warp_barrier(mask, line);
	memcpy(&result, emulator_mailbox(from & 31), sizeof result);
	emulator_warp_barrier(mask, line);
	return result;
}
template <class T> static inline T __shfl_sync(unsigned mask, T v, int lane, int line = __builtin_LINE())
{
	return emulator_shuffle(mask, v, lane, line);
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T v, int x, int line = __builtin_LINE())
{
	return emulator_shuffle(mask, v, emulator_lane() ^ x, line);
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T v, int by, int line = __builtin_LINE())
{
	return emulator_shuffle(mask, v, emulator_lane() + by < 32 ? emulator_lane() + by : emulator_lane(), line);
}
template <class T> static inline T __shfl_up_sync(unsigned mask, T v, int by, int line = __builtin_LINE())
{
	return emulator_shuffle(mask, v, emulator_lane() >= by ? emulator_lane() - by : emulator_lane(), line);
}

/* ---- fragments of a warp, as PTX lays them out: lane l is of group l / 4, and number l % 4 in that ---- */
/* ldmatrix.x4 of 8 rows of 16 bytes each: lanes 8 i to 8 i + 7 say where those of matrix i begin; register i of lane l is
 * dword l % 4 of its row l / 4. */
static inline void emulator_ldmatrix(uint32_t *a, const void *row, int line = __builtin_LINE())
{
	const int lane = emulator_lane();
	if ((uintptr_t)row % 16)
		emulator_fail("a row of a matrix is misaligned", line);
	for (int i = 0; i < 4; i++)
		a[i] = emulator_shuffle(0xffffffffu, (const uint32_t *)row, 8 * i + lane / 4, line)[lane % 4];
}

/* The sum of the products in a dword of a and one of b. */
static inline uint32_t emulator_s8(uint32_t sum, uint32_t a, uint32_t b)
{
	for (int i = 0; i < 32; i += 8)
		sum += (uint32_t)((signed char)(a >> i) * (signed char)(b >> i));
	return sum;
}
static inline float emulator_float(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, 4);
	return x;
}
/* float16: its exponent is 112 less, of denormals 113. */
static inline float emulator_half(uint32_t code)
{
	const uint32_t sign = (code & 0x8000) << 16, exponent = code >> 10 & 31, rest = code & 1023;
	const float small = (float)rest * 0x1p-24f;
	return !exponent ? sign ? -small : small
	                 : emulator_float(sign | (exponent == 31 ? 255 : exponent + 112) << 23 | rest << 13);
}
/* In the order of those terms; what a tensor core rounds in between is its own. */
static inline uint32_t emulator_products(float s, const float (*terms)[2], int count)
{
	uint32_t sum;
	for (int i = 0; i < count; i++)
		s += terms[i][0] * terms[i][1];
	memcpy(&sum, &s, 4);
	return sum;
}
static inline uint32_t emulator_bf16(uint32_t sum, uint32_t a, uint32_t b)
{
	const float terms[2][2] = { { emulator_float(a << 16), emulator_float(b << 16) },
		{ emulator_float(a & 0xffff0000u), emulator_float(b & 0xffff0000u) } };
	return emulator_products(emulator_float(sum), terms, 2);
}
static inline uint32_t emulator_f16(uint32_t sum, uint32_t a, uint32_t b)
{
	const float terms[2][2] = { { emulator_half(a), emulator_half(b) },
		{ emulator_half(a >> 16), emulator_half(b >> 16) } };
	return emulator_products(emulator_float(sum), terms, 2);
}
/* Of tf32 the lowest 13 bits are not looked at. */
static inline uint32_t emulator_tf32(uint32_t sum, uint32_t a, uint32_t b)
{
	const float terms[1][2] = { { emulator_float(a & 0xffffe000u), emulator_float(b & 0xffffe000u) } };
	return emulator_products(emulator_float(sum), terms, 1);
}
static inline int __dp4a(int a, int b, int c) { return (int)emulator_s8((uint32_t)c, (uint32_t)a, (uint32_t)b); }

/* mma.m16n8 of 8 dwords: registers of a are dwords g and g + 4 (here: l % 4) of rows l / 4 and l / 4 + 8, rows first;
 * those of b dwords l % 4 and l % 4 + 4 of column l / 4; those of c, and of the sums, columns 2 (l % 4) and the next of
 * both rows. */
struct emulator_fragments {
	uint32_t a[4], b[2];
};
static inline void emulator_mma(uint32_t *c, const uint32_t *a, const uint32_t *b,
        uint32_t (*add)(uint32_t sum, uint32_t a, uint32_t b), int line = __builtin_LINE())
{
	const int lane = emulator_lane();
	struct emulator_fragments mine = { { a[0], a[1], a[2], a[3] }, { b[0], b[1] } };
	memcpy(emulator_mailbox(lane), &mine, sizeof mine);
	emulator_warp_barrier(0xffffffffu, line);
	for (int k = 0; k < 8; k++) {
		struct emulator_fragments row, columns[2];
		memcpy(&row, emulator_mailbox(lane / 4 * 4 + k % 4), sizeof row);
		for (int j = 0; j < 2; j++)
			memcpy(&columns[j], emulator_mailbox(4 * (2 * (lane % 4) + j) + k % 4), sizeof columns[j]);
		for (int i = 0; i < 4; i++)
			c[i] = add(c[i], row.a[i / 2 + k / 4 * 2], columns[i % 2].b[k / 4]);
	}
	emulator_warp_barrier(0xffffffffu, line);
}

/* ---- scalars: the roundings that their names say ---- */
static inline float __uint_as_float(unsigned i)
{
	float f;
	memcpy(&f, &i, 4);
	return f;
}
static inline double __longlong_as_double(long long i)
{
	double f;
	memcpy(&f, &i, 8);
	return f;
}
static inline unsigned __float_as_uint(float f)
{
	unsigned i;
	memcpy(&i, &f, 4);
	return i;
}
static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
/* A GPU makes one NaN, a CPU has others: here it is seen who counts on one.  In each product it would take too long. */
static inline float __fsqrt_rn(float a)
{
	float root = __builtin_sqrtf(a);
	return root == root ? root : __uint_as_float(0x7fffffffu);
}
#endif
