/* target.c: the CPUs that ingot emits for, a row of facts each, and the row of the machine it runs on. */
#include "kernels/kernels.h"
#include <pthread.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Vectors are written out, so the compiler's own vectoriser has nothing to win; gcc 12 -O3 miscompiled a copy of three floats
 * (tests/models finds such things by comparing bits). */
#define X86 "-O2 -fno-tree-vectorize -ffp-contract=off -fno-math-errno -fno-trapping-math "
static const struct target targets[] = {
	{ .name = "x86-64-v4", .prelude = "c/prelude_avx512.jinja", .family = "c", .has_fma = true,
	  .cc_flags = X86 "-march=x86-64-v4 -mprefer-vector-width=512", .lanes = 16, .registers = 32, .fma_latency = 4, .fma_pipes = 2,
	  .load_bytes = 128, .store_bytes = 64, .l1_bytes = 32 << 10, .l2_bytes = 1 << 20, .l3_bytes = 16 << 20 },
	{ .name = "x86-64-v3", .prelude = "c/prelude_avx2.jinja", .family = "c", .has_fma = true,
	  .cc_flags = X86 "-march=x86-64-v3", .lanes = 8, .registers = 16, .fma_latency = 4, .fma_pipes = 2,
	  .load_bytes = 64, .store_bytes = 32, .l1_bytes = 32 << 10, .l2_bytes = 512 << 10, .l3_bytes = 8 << 20 },
	{ .name = "armv8-a",
#if !defined(__aarch64__)
	  .cross = "aarch64-linux-gnu-gcc",
#endif
	  .prelude = "c/prelude_neon.jinja", .family = "c", .has_fma = true,
	  .cc_flags = "-O2 -fno-tree-vectorize -ffp-contract=off -fno-math-errno -march=armv8-a", .lanes = 4, .registers = 32, .fma_latency = 4, .fma_pipes = 2,
	  .load_bytes = 32, .store_bytes = 16, .l1_bytes = 32 << 10, .l2_bytes = 512 << 10, .l3_bytes = 2 << 20 },
	{ .name = "cortex-m4", .freestanding = true, .cross = "arm-none-eabi-gcc", .prelude = "c/prelude_scalar.jinja", .family = "c", .has_fma = true,
	  .cc_flags = "-O2 -ffp-contract=off -fno-math-errno -mthumb -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard -ffunction-sections -fdata-sections",
	  .lanes = 1, .registers = 32, .fma_latency = 3, .fma_pipes = 1,
	  .load_bytes = 4, .store_bytes = 4, .l1_bytes = 16 << 10, .l2_bytes = 64 << 10, .l3_bytes = 64 << 10 },
	{ .name = "generic", .prelude = "c/prelude_scalar.jinja", .family = "c", .has_fma = false,
	  .cc_flags = "-O2 -ffp-contract=off -fno-math-errno", .lanes = 1, .registers = 16, .fma_latency = 4, .fma_pipes = 1,
	  .load_bytes = 8, .store_bytes = 4, .l1_bytes = 32 << 10, .l2_bytes = 256 << 10, .l3_bytes = 4 << 20 },
};

const struct target *target_at(int i) { return i >= 0 && i < (int)COUNT(targets) ? &targets[i] : NULL; }

const struct target *target_find(const char *name)
{
	if (!strcmp(name, "native"))
		return target_native();
	for (size_t i = 0; i < COUNT(targets); i++)
		if (!strcmp(targets[i].name, name))
			return &targets[i];
	return NULL;
}

const struct target *target_small(struct arena *arena, const struct target *target)
{
	const char *level = target->cc_flags ? strstr(target->cc_flags, "-O2") : NULL;
	if (target->small || !level)
		return target;
	struct target *small = new(arena, struct target);
	*small = *target;
	small->small = true;
	small->cc_flags = arena_printf(arena, "%.*s-Os%s", (int)(level - target->cc_flags), target->cc_flags, level + 3);
	return small;
}

/* By feature bits and caches, never by the model's name, which hypervisors mask.  AMD's family 19h (Zen 4) runs 512 bits in two
 * halves: one FMA a cycle. */
static struct target native;
static void find_native(void)
{
	struct target made = *target_find("generic");
#if defined(__x86_64__)
	__builtin_cpu_init();
	bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
		&& __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
	made = *target_find(v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : "generic");
	unsigned a, b, c, d;
	if (v4 && __get_cpuid(0, &a, &b, &c, &d) && b == 0x68747541 && __get_cpuid(1, &a, &b, &c, &d)
		&& (a >> 8 & 15) + (a >> 20 & 255) == 0x19) {
		made.fma_pipes = 1;
		made.load_bytes = 64;
		made.store_bytes = 32;
	}
#elif defined(__aarch64__)
	made = *target_find("armv8-a");
#endif
	long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE), l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
	made.l1_bytes = l1 > 0 ? l1 : made.l1_bytes;
	made.l2_bytes = l2 > 0 ? l2 : made.l2_bytes;
	made.l3_bytes = l3 > 0 ? l3 : made.l3_bytes;
	native = made;
}

const struct target *target_native(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_native);
	return &native;
}
