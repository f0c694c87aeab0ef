/* hopper.cu: products by TMA and wgmma, for the emulator's test and, compiled for sm_90a, for the lints.  d = a * b', 32 bits a sum.
 *
 * gemm: a warpgroup whose first thread asks for boxes, into a ring of stages, and two that multiply 64 rows each and store by way of shared memory; each block takes tiles
 * in turn.  staged: cp.async fills the stages, and the same threads multiply.  `fault` plants one of the faults that hopper_test.cpp lists. */
#ifdef INGOT_EMULATOR
#include "hopper.h"
typedef struct emulator_map tensor_map;
typedef uint32_t u32;
typedef uint64_t u64;
#define __grid_constant__
#define FAULT(n) (fault == (n))
#define mbarrier_init emulator_mbarrier_init
#define mbarrier_fence emulator_mbarrier_fence
#define mbarrier_arrive emulator_mbarrier_arrive
#define mbarrier_expect emulator_mbarrier_expect
#define mbarrier_wait emulator_mbarrier_wait
#define tma_load emulator_tma_load
#define tma_store emulator_tma_store
#define tma_commit emulator_tma_commit
#define tma_wait_read() emulator_tma_wait(0, true)
#define tma_wait() emulator_tma_wait(0, false)
#define proxy_fence emulator_proxy_fence
#define named_barrier emulator_named_barrier
#define registers_less(n) emulator_registers(n)
#define registers_more(n) emulator_registers(n)
#define elect emulator_elect
#define shared_address emulator_shared_address
#define copy16(to, from) emulator_copy(to, from, 16, 1)
#define copy_commit emulator_copy_commit
#define copy_wait(n) emulator_copy_wait(n)
#define pin(d)
#define UNROLL
#define wgmma_fence emulator_wgmma_fence
#define wgmma_commit emulator_wgmma_commit
#define wgmma_wait(n) emulator_wgmma_wait(n)
static const emulator_add adds[] = { emulator_bf16, emulator_f16, emulator_tf32, emulator_s8 };
#define WGMMA(d, a, b, keep) emulator_wgmma(d, COLUMNS, a, b, keep, adds[KIND])
#else
typedef unsigned u32;
typedef unsigned long long u64;
struct alignas(64) tensor_map { u64 opaque[16]; };
#define FAULT(n) false
#define UNROLL _Pragma("unroll")
#define WORD static __device__ __forceinline__
#define DYNAMIC_SHARED(type, name) extern __shared__ __align__(1024) type name[]
WORD u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
WORD void mbarrier_init(void *b, int arrivals) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(b)), "r"(arrivals) : "memory"); }
WORD void mbarrier_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
WORD void mbarrier_arrive(void *b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(b)) : "memory"); }
WORD void mbarrier_expect(void *b, int bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared_address(b)), "r"(bytes) : "memory"); }
WORD void mbarrier_wait(void *b, int parity)
{
	asm volatile("{.reg .pred p; W%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra.uni D%=; bra.uni W%=; D%=:}" :: "r"(shared_address(b)), "r"(parity) : "memory");
}
WORD void tma_load(void *to, const tensor_map *m, void *b, int x, int y)
{
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
		:: "r"(shared_address(to)), "l"(m), "r"(shared_address(b)), "r"(x), "r"(y) : "memory");
}
WORD void tma_store(const tensor_map *m, const void *from, int x, int y)
{
	asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" :: "l"(m), "r"(shared_address(from)), "r"(x), "r"(y) : "memory");
}
WORD void tma_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
WORD void tma_wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
WORD void tma_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
WORD void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
WORD void named_barrier(int id, int threads) { asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(threads) : "memory"); }
#define registers_less(n) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(n))
#define registers_more(n) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(n))
WORD int elect()
{
	int one;
	asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p;}" : "=r"(one) :: "memory");
	return one;
}
WORD void copy16(void *to, const void *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared_address(to)), "l"(from) : "memory"); }
WORD void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
#define copy_wait(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")
WORD void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
WORD void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
#define wgmma_wait(n) asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory")
/* Sums stay in their registers from a product's issue to its wait. */
template <int N> WORD void pin(u32 (&d)[N])
{
#pragma unroll
	for (int i = 0; i < N; i++)
		asm volatile("" : "+r"(d[i]) :: "memory");
}
template <int KIND, int COLUMNS> static __device__ void wgmma(u32 *d, u64 a, u64 b, int keep);
#define WGMMA(d, a, b, keep) wgmma<KIND, COLUMNS>(d, a, b, keep)
WGMMAS
#endif

/* Rows of 128 bytes, swizzled, eight of them 1024 bytes from the next. */
static inline __device__ u64 matrix_at(const void *p) { return (u64)((shared_address(p) & 0x3ffff) >> 4) | (u64)1 << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62; }

enum { ROWS = 64, GROUP = 128, CONSUMERS = 2, STAGES = 3, DEEP = 32 };       /* DEEP: dwords of a row */
enum { NO_FULL_WAIT = 1, FULL_PARITY, EMPTY_PARITY, FEW_BYTES, MANY_BYTES, SWIZZLE, NO_WAIT, NO_FENCE, RELEASE_EARLY, NO_PROXY_FENCE, FENCE_FIRST, REUSE_EARLY, NO_STORE_WAIT, NO_COMMIT, NO_INIT_FENCE,
	ARRIVE_TWICE, NO_MEETING, NO_REGISTERS, MISALIGNED, TOUCHED, NEXT_TERMS, NO_INIT_MEETING, NOT_MULTIPLIED, ALL_ARRIVE, NO_COPY_FENCE, COPY_FENCE_FIRST, COPY_EARLY, SUMS_EARLY,
	QUIET_READ, QUIET_LATE, QUIET_ARRIVE, QUIET_MEETING, QUIET_WRITE };

template <int KIND, int COLUMNS> struct memory {
	u32 a[STAGES][CONSUMERS * ROWS * DEEP], b[STAGES][COLUMNS * DEEP], out[CONSUMERS][COLUMNS / DEEP][ROWS * DEEP];
	u64 full[STAGES], empty[STAGES];
};

template <int KIND, int COLUMNS> static inline __device__ void store_sums(const u32 *d, u32 (*out)[ROWS * DEEP], int t, int fault)
{
	(void)fault;
UNROLL
	for (int r = 0; r < COLUMNS / 2; r += 2) {
		const int row = t / 32 * 16 + t % 32 / 4 + r / 2 % 2 * 8, column = r / 4 * 8 + t % 4 * 2;
		u32 *to = out[column / DEEP] + (row * DEEP + ((column % DEEP) ^ (row & (FAULT(SWIZZLE) ? 3 : 7)) << 2));
		*(u64 *)to = d[r] | (u64)d[r + 1] << 32;
	}
}

template <int KIND, int COLUMNS> static inline __device__ void multiply_all(const tensor_map &map_a, const tensor_map &map_b, const tensor_map &map_d, int tiles_m, int tiles_n, int steps, u32 *checks, int fault)
{
	typedef struct memory<KIND, COLUMNS> memory;
	constexpr int EACH = KIND == 2 ? 32 : KIND == 3 ? 128 : 64;               /* elements of 128 bytes */
	DYNAMIC_SHARED(unsigned char, bytes);
	memory &shared = *(memory *)bytes;
	const int group = threadIdx.x / GROUP, t = threadIdx.x % GROUP;
	(void)fault;
	if (threadIdx.x == 0) {
		for (int s = 0; s < STAGES; s++) {
			mbarrier_init(&shared.full[s], 1);
			mbarrier_init(&shared.empty[s], CONSUMERS);
		}
		if (!FAULT(NO_INIT_FENCE))
			mbarrier_fence();
	}
	if (!FAULT(NO_INIT_MEETING))
		__syncthreads();
	int s = 0, parity = FAULT(EMPTY_PARITY) ? 0 : 1;
	if (group == 0) {
		if (!FAULT(NO_REGISTERS))
			registers_less(40);
		if (t >= 32 || !elect())
			return;
		for (int tile = (int)blockIdx.x; tile < tiles_m * tiles_n; tile += (int)gridDim.x)
			for (int k = 0; k < steps; k++) {
				mbarrier_wait(&shared.empty[s], parity);
				mbarrier_expect(&shared.full[s], (int)(sizeof *shared.a + sizeof *shared.b) + (FAULT(FEW_BYTES) ? -16 : FAULT(MANY_BYTES) ? 16 : 0));
				tma_load((char *)shared.a[s] + (FAULT(MISALIGNED) ? 128 : 0), &map_a, &shared.full[s], EACH * k, tile / tiles_n * CONSUMERS * ROWS);
				tma_load(shared.b[s], &map_b, &shared.full[s], EACH * k, tile % tiles_n * COLUMNS);
				if (FAULT(QUIET_WRITE) && k == 1) {
					*(volatile u32 *)&shared.a[s][5] = *(volatile u32 *)&shared.a[s][5];
					proxy_fence();
				}
				if (++s == STAGES)
					s = 0, parity ^= 1;
			}
		return;
	}
	registers_more(232);
	const int consumer = group - 1;
	u32 d[COLUMNS / 2], check = 0;
	parity = FAULT(FULL_PARITY) ? 1 : 0;
	for (int tile = (int)blockIdx.x; tile < tiles_m * tiles_n; tile += (int)gridDim.x) {
		for (int k = 0; k < steps; k++) {
			if (!FAULT(NO_FULL_WAIT))
				mbarrier_wait(&shared.full[s], parity);
			pin(d);
			if (!FAULT(NO_FENCE))
				wgmma_fence();
UNROLL
			for (int i = 0; i < 4; i++)
				WGMMA(d, matrix_at(shared.a[s] + consumer * ROWS * DEEP + (FAULT(NEXT_TERMS) ? 4 : 8) * i), matrix_at(shared.b[s] + 8 * i), (k | i) != 0);
			wgmma_commit();
			if (FAULT(TOUCHED))
				d[3] += 1;
			check += shared.a[s][consumer * ROWS * DEEP + t];           /* what TMA has brought, a thread may read */
			if (FAULT(RELEASE_EARLY) && t == 0)
				mbarrier_arrive(&shared.empty[s]);
			if (FAULT(QUIET_ARRIVE) && t == 0)
				mbarrier_arrive(&shared.empty[s]);
			if (!FAULT(NO_WAIT) && !(FAULT(SUMS_EARLY) && k + 1 == steps))
				wgmma_wait(0);
			pin(d);
			if (!FAULT(QUIET_MEETING))
				named_barrier(consumer + 1, GROUP);
			if ((t == 0 || FAULT(ALL_ARRIVE)) && !FAULT(RELEASE_EARLY) && !FAULT(QUIET_ARRIVE)) {
				mbarrier_arrive(&shared.empty[s]);
				if (FAULT(ARRIVE_TWICE))
					mbarrier_arrive(&shared.empty[s]);
			}
			if (FAULT(QUIET_LATE) && t == 64)
				check += 0 * *(volatile u32 *)&shared.a[s][consumer * ROWS * DEEP];
			if (++s == STAGES)
				s = 0, parity ^= 1;
			if (FAULT(QUIET_READ) && k + 1 < steps)
				check += 0 * *(volatile u32 *)&shared.b[s][t];
		}
		if (t == 0 && !FAULT(REUSE_EARLY))
			tma_wait_read();
		named_barrier(consumer + 1, GROUP);
		if (FAULT(FENCE_FIRST))
			proxy_fence();
		store_sums<KIND, COLUMNS>(d, shared.out[consumer], t, fault);
		if (FAULT(SUMS_EARLY))
			wgmma_wait(0);
		if (!FAULT(NO_PROXY_FENCE) && !FAULT(FENCE_FIRST))
			proxy_fence();
		if (!FAULT(NO_MEETING))
			named_barrier(consumer + 1, GROUP);
		if (t == 0) {
			for (int box = 0; box < COLUMNS / DEEP; box++)
				tma_store(&map_d, shared.out[consumer][box], tile % tiles_n * COLUMNS + box * DEEP, (tile / tiles_n * CONSUMERS + consumer) * ROWS);
			if (!FAULT(NO_COMMIT))
				tma_commit();
		}
	}
	if (FAULT(NOT_MULTIPLIED)) {
		wgmma_fence();
		WGMMA(d, matrix_at(shared.a[0]), matrix_at(shared.b[0]), 0);
	}
	if (t == 0 && !FAULT(NO_STORE_WAIT))
		tma_wait();
	checks[(blockIdx.x * CONSUMERS + consumer) * GROUP + t] = check;
}

/* a and b in dwords, m and n whole tiles: a block for each tile of 64 rows, a warpgroup each. */
template <int KIND, int COLUMNS> static inline __device__ void multiply_staged(const u32 *a, const u32 *b, u32 *d_all, int n, int steps, int fault)
{
	DYNAMIC_SHARED(u32, shared);
	const int t = threadIdx.x, row0 = (int)blockIdx.y * ROWS, column0 = (int)blockIdx.x * COLUMNS;
	u32 d[COLUMNS / 2];
	(void)fault;
	for (int k = 0; k < steps; k++) {
		u32 *stage = shared + k % 2 * (ROWS + COLUMNS) * DEEP;
		for (int e = t; e < (ROWS + COLUMNS) * DEEP / 4; e += GROUP) {
			const int row = e / (DEEP / 4), piece = e % (DEEP / 4);
			const u32 *from = row < ROWS ? a + (row0 + row) * steps * DEEP : b + (column0 + row - ROWS) * steps * DEEP;
			copy16(stage + row * DEEP + (piece ^ (row & 7)) * 4, from + k * DEEP + piece * 4);
		}
		copy_commit();
		if (FAULT(COPY_FENCE_FIRST))
			proxy_fence();
		if (FAULT(COPY_EARLY))
			proxy_fence(), __syncthreads();
		copy_wait(0);
		if (!FAULT(NO_COPY_FENCE) && !FAULT(COPY_FENCE_FIRST) && !FAULT(COPY_EARLY))
			proxy_fence();
		if (!FAULT(COPY_EARLY))
			__syncthreads();
		pin(d);
		wgmma_fence();
UNROLL
		for (int i = 0; i < 4; i++)
			WGMMA(d, matrix_at(stage + 8 * i), matrix_at(stage + ROWS * DEEP + 8 * i), (k | i) != 0);
		wgmma_commit();
		wgmma_wait(0);
		pin(d);
	}
UNROLL
	for (int r = 0; r < COLUMNS / 2; r++)
		d_all[(row0 + t / 32 * 16 + t % 32 / 4 + r / 2 % 2 * 8) * n + column0 + r / 4 * 8 + t % 4 * 2 + r % 2] = d[r];
}

#define KERNELS(name, kind, columns) \
	extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * GROUP, 1) gemm_##name(const __grid_constant__ tensor_map a, const __grid_constant__ tensor_map b, const __grid_constant__ tensor_map d, \
		int tiles_m, int tiles_n, int steps, u32 *checks, int fault) { multiply_all<kind, columns>(a, b, d, tiles_m, tiles_n, steps, checks, fault); } \
	extern "C" __global__ void __launch_bounds__(GROUP) staged_##name(const u32 *a, const u32 *b, u32 *d, int n, int steps, int fault) { multiply_staged<kind, columns>(a, b, d, n, steps, fault); }
KERNELS(bf16, 0, 64)
KERNELS(f16, 1, 128)
KERNELS(tf32, 2, 64)
KERNELS(s8, 3, 96)
