/* hopper.h: what sm_90a has besides, as its PTX documents it: barriers that count bytes (mbarrier), boxes of a tensor
 * that are copied whole (TMA), products of a warpgroup (wgmma), and the proxy that both see shared memory by.
 *
 * What the hardware may do late happens late or at once ($INGOT_EMULATOR_COPIES; else forward: products when they are
 * waited for, boxes at once; backward: products at once, boxes when nothing else can go on; random: each drawn).  The
 * sums of a wgmma are NaNs till they have been waited for.  Boxes and products see shared memory as it was at the last
 * fence.proxy.async: where that is not what it is now, the launch fails.  hopper.cpp has to be linked beside. */
#ifndef EMULATOR_HOPPER_H
#define EMULATOR_HOPPER_H
#include "emulator.h"

/* A tensor of two axes, the inner one first, and the box that is copied of it; as opaque as cuTensorMapEncodeTiled's. */
struct emulator_map {
	char *base;
	long long pitch; /* bytes from row to row */
	int element, extent[2], box[2], swizzle;
};
#define EMULATOR_LINE int line = __builtin_LINE()
/* element: its bytes; swizzle: 128, of rows of so many bytes, or 0.  What the driver refuses, or NULL. */
const char *emulator_map_encode(struct emulator_map *map, const void *base, int element, const int *extent,
        long long pitch, const int *box, int swizzle);

/* Barriers in shared memory: a phase ends when all have arrived, and as many bytes as they expect. */
void emulator_mbarrier_init(void *barrier, int arrivals, EMULATOR_LINE);
void emulator_mbarrier_fence(void); /* fence.mbarrier_init: TMA sees those of this thread */
void emulator_mbarrier_arrive(void *barrier, EMULATOR_LINE);
void emulator_mbarrier_expect(void *barrier, int bytes, EMULATOR_LINE); /* and arrive */
void emulator_mbarrier_wait(void *barrier, int parity, EMULATOR_LINE);  /* till that phase has ended */

void emulator_tma_load(void *to, const void *map, void *barrier, int x, int y, EMULATOR_LINE);
void emulator_tma_store(const void *map, const void *from, int x, int y, EMULATOR_LINE);
void emulator_tma_commit(void);
void emulator_tma_wait(int groups, bool read); /* all but so many have been read, or are there */
void emulator_proxy_fence(void);               /* fence.proxy.async */

/* m64 by `columns` by 8 dwords, by all 128 threads of a warpgroup: d has columns / 2 dwords of each.  keep: what d held is added to. */
typedef uint32_t (*emulator_add)(uint32_t sum, uint32_t a, uint32_t b);
void emulator_wgmma(uint32_t *d, int columns, uint64_t a, uint64_t b, int keep, emulator_add add, EMULATOR_LINE);
void emulator_wgmma_fence(EMULATOR_LINE);
void emulator_wgmma_commit(EMULATOR_LINE);
void emulator_wgmma_wait(int groups, EMULATOR_LINE);

void emulator_named_barrier(int number, int threads, EMULATOR_LINE); /* bar.sync */
void emulator_registers(int count, EMULATOR_LINE);                   /* setmaxnreg, by a warpgroup */
int emulator_elect(EMULATOR_LINE);                                   /* 1 of a warp's threads, 0 of the others */
uint32_t emulator_shared_address(const void *);
#endif
