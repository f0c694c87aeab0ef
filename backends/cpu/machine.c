/* machine.c: facts of the machine that runs this, by CPUID: caches, who shares them, and how wide the units are.  Never
 * by the model's name, which hypervisors mask and reports alone say. */
#include "base/base.h"
#include "facts.h"
#include "tables/features.h"
#include <stdbool.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <x86intrin.h>

static bool is_amd(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(0, &a, &b, &c, &d) && (c == 0x444d4163 || c == 0x656e6975); /* AuthenticAMD, HygonGenuine */
}

static unsigned threads_of_core(void)
{
	unsigned a, b, c, d;
	return __get_cpuid_count(0xb, 0, &a, &b, &c, &d) && (c >> 8 & 255) == 1 && (b & 0xffff) ? b & 0xffff : 1;
}

bool machine_has(const char *feature, size_t length)
{
	unsigned a, b, c, d;
	if (!__builtin_cpu_supports("avx2") || !__get_cpuid_count(7, 1, &a, &b, &c, &d))
		return false;
#define FEATURE(name, macro, last, bit) \
	|| (length == strlen(#name) && !memcmp(feature, #name, length) && ((last) ? d : a) >> (bit)&1)
	return false CPU_FEATURES(FEATURE);
#undef FEATURE
}

enum amx machine_amx(void)
{
	enum { TILE = 1 << 24, INT8 = 1 << 25, BF16 = 1 << 22, ALL = TILE | INT8 | BF16 };
	enum { REQUEST = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM */
	unsigned a, b, c, d;
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & ALL) != ALL)
		return AMX_NONE;
	return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) ? AMX_DENIED : AMX_THERE;
}

const char *machine_name(struct arena *arena)
{
	enum { FIRST = 0x80000002, LEAVES = 3 };
	unsigned words[4 * LEAVES + 1] = { 0 };
	for (unsigned i = 0; i < LEAVES; i++)
		if (!__get_cpuid(FIRST + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]))
			return "x86-64";
	const char *name = (const char *)words;
	name += strspn(name, " ");
	size_t length = strlen(name);
	while (length && name[length - 1] == ' ')
		length--;
	return arena_copy(arena, name, length);
}

/* Leaf 4, which AMD has at 0x8000001d: type, level, who shares it, ways, partitions, line, sets. */
void machine_caches(struct target *target)
{
	enum { NONE, DATA, INSTRUCTIONS, UNIFIED, MOST = 16 };
	unsigned leaf = is_amd() ? 0x8000001d : 4, threads = threads_of_core(), a, b, c, d;
	int64_t *levels[] = { &target->l1_bytes, &target->l2_bytes, &target->l3_bytes };
	for (unsigned i = 0; i < MOST && __get_cpuid_count(leaf, i, &a, &b, &c, &d) && (a & 31) != NONE; i++) {
		unsigned level = a >> 5 & 7, cores = ((a >> 14 & 0xfff) + threads) / threads;
		int64_t bytes = (int64_t)((b >> 22) + 1) * ((b >> 12 & 1023) + 1) * ((b & 4095) + 1) * ((int64_t)c + 1);
		if ((a & 31) != INSTRUCTIONS && level >= 1 && level <= 3)
			*levels[level - 1] = level < 3 && cores > 1 ? bytes / cores : bytes;
	}
}

/* Twelve sums, so that no latency counts. */
#define LOOP(name, set, reg) \
	__attribute__((target(set), noinline)) static void name(long turns) \
	{ \
		__asm__ volatile("1:\n\t" \
		                 "vfmadd231ps %%" reg "0, %%" reg "0, %%" reg "0\n\tvfmadd231ps %%" reg "1, %%" reg \
		                 "1, %%" reg "1\n\t" \
		                 "vfmadd231ps %%" reg "2, %%" reg "2, %%" reg "2\n\tvfmadd231ps %%" reg "3, %%" reg \
		                 "3, %%" reg "3\n\t" \
		                 "vfmadd231ps %%" reg "4, %%" reg "4, %%" reg "4\n\tvfmadd231ps %%" reg "5, %%" reg \
		                 "5, %%" reg "5\n\t" \
		                 "vfmadd231ps %%" reg "6, %%" reg "6, %%" reg "6\n\tvfmadd231ps %%" reg "7, %%" reg \
		                 "7, %%" reg "7\n\t" \
		                 "vfmadd231ps %%" reg "8, %%" reg "8, %%" reg "8\n\tvfmadd231ps %%" reg "9, %%" reg \
		                 "9, %%" reg "9\n\t" \
		                 "vfmadd231ps %%" reg "10, %%" reg "10, %%" reg "10\n\tvfmadd231ps %%" reg \
		                 "11, %%" reg "11, %%" reg "11\n\t" \
		                 "dec %0\n\tjnz 1b" \
		                 : "+r"(turns) \
		                 : \
		                 : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
		                 "xmm9", "xmm10", "xmm11"); \
	}
LOOP(fma_128, "fma", "xmm")
LOOP(fma_256, "fma", "ymm")
LOOP(fma_512, "avx512f", "zmm")

/* The least time of some turns, in ticks. */
static uint64_t time_of(void (*loop)(long), uint64_t least)
{
	enum { TURNS = 400 };
	uint64_t start = __rdtsc();
	loop(TURNS);
	uint64_t ticks = __rdtsc() - start;
	return ticks < least ? ticks : least;
}

static int measured_pipes(void (*whole)(long), void (*half)(long))
{
	enum { TRIES = 8 };
	uint64_t wholes = UINT64_MAX, halves = UINT64_MAX;
	for (int i = 0; i < TRIES; i++) {
		wholes = time_of(whole, wholes);
		halves = time_of(half, halves);
	}
	return wholes * 2 > halves * 3 ? 1 : 2;
}

int machine_pipes(const struct target *target)
{
	unsigned a, b, c, d;
	if (target->lanes < 8)
		return 0;
	if (is_amd() && __get_cpuid(0x8000001a, &a, &b, &c, &d)
	        && a & 0xd) /* the width of its units: 128, 256 (bit 2), 512 (bit 3) */
		return a & (target->lanes == 16 ? 8 : 12) ? 2 : 1;
	return target->lanes == 16 ? measured_pipes(fma_512, fma_256) : measured_pipes(fma_256, fma_128);
}

#else
#include <sys/utsname.h>

const char *machine_name(struct arena *arena)
{
	struct utsname name;
	return uname(&name) ? "this machine" : arena_copy(arena, name.machine, strlen(name.machine));
}

void machine_caches(struct target *target)
{
	long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE),
	     l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
	target->l1_bytes = l1 > 0 ? l1 : target->l1_bytes;
	target->l2_bytes = l2 > 0 ? l2 : target->l2_bytes;
	target->l3_bytes = l3 > 0 ? l3 : target->l3_bytes;
}

int machine_pipes(const struct target *target) { return (void)target, 0; }

enum amx machine_amx(void) { return AMX_NONE; }
#endif
