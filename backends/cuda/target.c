/* target.c: what ingot emits for on CUDA.  A warp is a vector of 32 lanes: a vec is one register of each of its
 * threads, a word one instruction, a join a shuffle (templates/cuda/prelude.jinja); so the kernels, their loops and
 * their bits are those of any other CPU. */
#include "tables/target.h"
#include "base/base.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* NVIDIA's data sheets and the CUDA guide's table of capabilities; l2_rate by public measurements, and dot8s from 9.0 on,
 * where mma.sync has no more than 62 % of what the data sheet says of wgmma, which sm_90a alone has. */
static const struct gpu_facts gpus[] = {
	{ "sm_75", "T4", 40, 64 << 10, 64 << 10, 32, 16, 65536, 64, 1024, 0, 1.59, 1300, 320, 4 << 20 },
	{ "sm_80", "A100", 108, 163 << 10, 164 << 10, 64, 32, 65536, 64, 2048, 0, 1.41, 4500, 1935, 40 << 20 },
	{ "sm_86", "A40", 84, 99 << 10, 100 << 10, 48, 16, 65536, 128, 1024, 0, 1.74, 3000, 696, 6 << 20 },
	{ "sm_89", "L40S", 142, 99 << 10, 100 << 10, 48, 24, 65536, 128, 1024, 0, 2.52, 5200, 864, 96 << 20 },
	{ "sm_90", "H200", 132, 227 << 10, 228 << 10, 64, 32, 65536, 128, 2560, 0, 1.78, 5600, 4800, 50 << 20 },
	{ "sm_90a", "H200", 132, 227 << 10, 228 << 10, 64, 32, 65536, 128, 2560, 4096, 1.78, 5600, 4800, 50 << 20 },
	{ "sm_100", "B200", 148, 227 << 10, 228 << 10, 64, 32, 65536, 128, 2560, 0, 1.85, 9000, 8000, 126 << 20 },
	{ "sm_120", "RTX 5090", 170, 99 << 10, 100 << 10, 48, 24, 65536, 128, 1024, 0, 2.41, 7000, 1792, 96 << 20 },
};
enum { GPUS = sizeof gpus / sizeof *gpus, GPU_USUAL = 4 };

#define PRODUCTS "mma_bf16 bf16 mma_f16 f16 mma_tf32 mma_s8 dot8"
#define GROUP_PRODUCTS "wgmma_bf16 wgmma_f16 wgmma_tf32 wgmma_s8 "

const struct gpu_facts *gpu_at(int i) { return i < GPUS ? &gpus[i] : NULL; }

const struct target *target_for_gpu(struct arena *arena, const char *arch)
{
	struct target *target = arena_new(arena, struct target);
	int at = 0;
	while (at + 1 < GPUS && atoi(gpus[at + 1].arch + 3) <= atoi(arch + 3))
		at++;
	at -= gpus[at].group_dot8s && strcmp(gpus[at].arch, arch); /* what that one alone has is in no other's code */
	*target = target_cuda;
	target->gpu = &gpus[at];
	if (target->gpu->group_dot8s)
		target->products = GROUP_PRODUCTS PRODUCTS;
	return target;
}

#define OF_BITS .words.float_of_bits = "__uint_as_float", .words.double_of_bits = "__longlong_as_double"
static const struct target cuda_thread = { .name = "cuda", .family = "cuda", .has_fma = true, .lanes = 1, OF_BITS };

/* registers: of 255, what a tile's sums and operands may take; addresses and epilogues need the rest.  l2_bytes: a
 * group of rows has no reason to stay small, warps share L2.  scratch_bytes: static shared memory of a block, alike
 * from sm_75 on.  tiles_least: a warp or two for each multiprocessor of a large GPU.  block_work: a few vectors, for
 * warps are plenty. */
const struct target target_cuda = {
	.name = "cuda",
	.prelude = "cuda/prelude.jinja",
	.family = "cuda",
	.cc_flags = "-O2",
	.has_fma = true,
	.products = PRODUCTS,
	.lanes = 32,
	.registers = 40,
	.units.latency = 4,
	.units.pipes = 1,
	.units.load = 128,
	.units.store = 128,
	.l1_bytes = 128 << 10,
	.l2_bytes = 32 << 20,
	.l3_bytes = 32 << 20,
	.words.vector4 = "float4",
	.words.shared = "__shared__ ",
	.words.barrier = "__syncwarp()",
	OF_BITS,
	.scratch_bytes = 48 << 10,
	.scratch_is_near = true,
	.lanes_are_threads = true,
	.hides_latency = true,
	.share.tiles = 256,
	.share.work = 128,
	.thread = &cuda_thread,
	.checks_late = true,
	.kernels_apart = true,
	.gpu = &gpus[GPU_USUAL],
};
