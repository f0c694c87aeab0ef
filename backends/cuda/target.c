/* target.c: what ingot emits for on CUDA.  A warp is a vector of 32 lanes: a vec is one register of each of its
 * threads, a word one instruction, a join a shuffle (templates/cuda/prelude.jinja); so the kernels, their loops and
 * their bits are those of any other CPU. */
#include "tables/target.h"
#include <stddef.h>

/* registers: of 255, what a tile's sums and operands may take; addresses and epilogues need the rest.  l2_bytes: a
 * group of rows has no reason to stay small, warps share L2.  scratch_bytes: static shared memory of a block, alike
 * from sm_75 on.  tiles_least: a warp or two for each multiprocessor of a large GPU.  block_work: a few vectors, for
 * warps are plenty.  processors: of the H200 class. */
const struct target target_cuda = {
	.name = "cuda", .prelude = "cuda/prelude.jinja", .family = "cuda", .cc_flags = "-O2", .has_fma = true, .lanes = 32,
	.registers = 40, .fma_latency = 4, .fma_pipes = 1, .load_bytes = 128, .store_bytes = 128,
	.l1_bytes = 128 << 10, .l2_bytes = 32 << 20, .l3_bytes = 32 << 20,
	.vector4 = "float4", .shared = "__shared__ ", .barrier = "__syncwarp()",
	.scratch_bytes = 48 << 10, .scratch_is_near = true, .lanes_are_threads = true, .hides_latency = true, .tiles_least = 256, .block_work = 128,
	.checks_late = true, .kernels_apart = true,
	.processors = 132,
};
