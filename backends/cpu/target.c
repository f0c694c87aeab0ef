/* target.c: the CPUs that ingot emits for, a row of facts each, and the row of the machine it runs on. */
#include "base/base.h"
#include "facts.h"
#include <pthread.h>
#include <stdlib.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

/* Vectors are written out, so the compiler's own vectoriser has nothing to win; gcc 12 -O3 miscompiled a copy of three
 * floats (tests/models finds such things by comparing bits). */
#define X86 "-O2 -fno-tree-vectorize -ffp-contract=off -fno-math-errno -fno-trapping-math "
#define X86_V4 X86 "-march=x86-64-v4 -mprefer-vector-width=512"
#define X86_V3 X86 "-march=x86-64-v3"
#define V3 "x86-64 avx2 fma bmi bmi2"
#define V4 V3 " avx512f avx512dq avx512vl avx512bw avx512cd"
/* Measured on Intel's server cores, taken for all: from core to core 70 ns, and four bytes a cycle of many lines. */
#define LINES .lines.latency = 200, .lines.cycles = 16
/* clang-format off */
static const struct target targets[] = {
	{ .name = "x86-64-v4", .needs = V4, .prelude = "c/prelude_avx512.jinja", .family = "c", .has_fma = true,
	  .casts_64 = true, .strides = 4, .products = "f64 dot16 mul",
	  .cc_flags = X86_V4, .lanes = 16, .registers = 32, .units.latency = 4, .units.pipes = 2,
	  .units.load = 128, .units.store = 64, .l1_bytes = 32 << 10, .l2_bytes = 1 << 20, .l3_bytes = 16 << 20,
	  LINES },
	{ .name = "x86-64-v3", .needs = V3, .prelude = "c/prelude_avx2.jinja",
	  .family = "c", .has_fma = true, .strides = 4, .products = "f64 dot16 mul",
	  .cc_flags = X86_V3, .lanes = 8, .registers = 16, .units.latency = 4, .units.pipes = 2,
	  .units.load = 64, .units.store = 32, .l1_bytes = 32 << 10, .l2_bytes = 512 << 10, .l3_bytes = 8 << 20,
	  LINES },
#if defined(__aarch64__)
#define ARM_CROSS NULL
#else
#define ARM_CROSS "aarch64-linux-gnu-gcc"
#endif
#define ARM_PACKAGE "gcc-aarch64-linux-gnu"
#define ARM "-O2 -fno-tree-vectorize -ffp-contract=off -fno-math-errno "
	/* Loads that are scheduled ahead of a step's products would push sums out of their registers. */
	{ .name = "armv8.6-a", .needs = "aarch64 dotprod i8mm bf16", .cross = ARM_CROSS, .cross_package = ARM_PACKAGE,
	  .prelude = "c/prelude_neon.jinja", .family = "c", .has_fma = true,
	  .products = "bfmmla bf16 smmla usmmla f64 dot8 dot8u dot16 mul", .cc_flags = ARM "-fno-schedule-insns -march=armv8.6-a+dotprod", .lanes = 4,
	  .registers = 32, .units.latency = 4, .units.pipes = 2,
	  .units.load = 32, .units.store = 16, .l1_bytes = 64 << 10, .l2_bytes = 512 << 10, .l3_bytes = 2 << 20,
	  LINES },
	{ .name = "armv8.2-a", .needs = "aarch64 dotprod", .cross = ARM_CROSS, .cross_package = ARM_PACKAGE,
	  .prelude = "c/prelude_neon.jinja", .family = "c", .has_fma = true,
	  .products = "f64 dot8 dot16 mul", .cc_flags = ARM "-march=armv8.2-a+dotprod", .lanes = 4, .registers = 32,
	  .units.latency = 4, .units.pipes = 2,
	  .units.load = 32, .units.store = 16, .l1_bytes = 64 << 10, .l2_bytes = 512 << 10, .l3_bytes = 2 << 20,
	  LINES },
	{ .name = "armv8-a", .needs = "aarch64", .cross = ARM_CROSS, .cross_package = ARM_PACKAGE,
	  .prelude = "c/prelude_neon.jinja", .family = "c", .has_fma = true, .products = "f64 dot16 mul",
	  .cc_flags = ARM "-march=armv8-a", .lanes = 4, .registers = 32, .units.latency = 4, .units.pipes = 2,
	  .units.load = 32, .units.store = 16, .l1_bytes = 32 << 10, .l2_bytes = 512 << 10, .l3_bytes = 2 << 20,
	  LINES },
#define BARE(arch, compiler, package, machine)                                                                         \
	.needs = arch, .freestanding = true, .short_stack = true, .short_flash = true, .cross = compiler,             \
	.cross_package = package, .prelude = "c/prelude_scalar.jinja", .family = "c",                                 \
	.cc_flags = "-O2 -ffp-contract=off -fno-math-errno " machine " -ffunction-sections -fdata-sections",          \
	.lanes = 1, .units.pipes = 1, .units.load = 4, .units.store = 4, .l1_bytes = 16 << 10, .l2_bytes = 64 << 10, \
	.l3_bytes = 64 << 10, LINES
/* Sums stay the chains that they are written as: gathered by the sum, their factors leave the registers. */
#define APART " -fno-tree-reassoc -fno-tree-ter -fno-schedule-insns"
#define CORTEX_M(macro, machine) BARE(macro, "arm-none-eabi-gcc", "gcc-arm-none-eabi", "-mthumb -mcpu=cortex-" machine)
#define RISCV(macro, machine) BARE(macro, "riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf",                        \
	"-march=" machine APART " -fno-move-loop-invariants"), \
	.routines = "df 48,sf 32,shldi3 0,shrdi3 0,di3 16"
/* Those of gcc 12's libgcc, disassembled. */
#define THUMB2_ROUTINES .routines = "ldivmod 64,2lz 48,_l 16,_ul 16,_d 24,_f 32,_i 16,_u 16"
	{ .name = "cortex-m0plus", CORTEX_M("__ARM_ARCH_6M__", "m0plus" APART), .products = "dot16 mul", .registers = 6,
	  .units.latency = 4, .routines = "ldivmod 108,_l2 88,_ul2 88,2lz 96,_lmul 28,_ll 0,_d 64,_f 32,_i 16,_u 16" },
	{ .name = "cortex-m3", THUMB2_ROUTINES, CORTEX_M("__ARM_ARCH_7M__", "m3" APART), .products = "dot8x4 dot16 mul", .registers = 9,
	  .units.latency = 4 },
	{ .name = "cortex-m4", THUMB2_ROUTINES, CORTEX_M("__ARM_FEATURE_FMA", "m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard"),
	  .products = "dot16 mul", .has_fma = true, .registers = 32, .dword_registers = 10, .units.latency = 3 },
	{ .name = "cortex-m7", THUMB2_ROUTINES, CORTEX_M("__ARM_FEATURE_FMA", "m7 -mfpu=fpv5-d16 -mfloat-abi=hard"),
	  .products = "dot16 mul", .has_fma = true, .registers = 32, .dword_registers = 10, .units.latency = 3 },
	{ .name = "cortex-m33", THUMB2_ROUTINES, CORTEX_M("__ARM_FEATURE_FMA", "m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard"),
	  .products = "dot16 mul", .has_fma = true, .registers = 32, .dword_registers = 10, .units.latency = 3 },
	{ .name = "cortex-m55", THUMB2_ROUTINES, CORTEX_M("__ARM_FEATURE_MVE", "m55 -mfloat-abi=hard -fno-schedule-insns -fno-tree-vectorize -fira-region=one"),
	  .products = "dot8x4 dot16 mul",
	  .has_fma = true, .registers = 32, .dword_registers = 10, .units.latency = 4,
	  .exact.lanes = 4, .exact.prelude = "c/prelude_mve.jinja" },
	{ .name = "rv32imac", RISCV("__riscv_mul", "rv32imac -mabi=ilp32"), .products = "dot8x4 dot16 mul", .registers = 24,
	  .units.latency = 4 },
	{ .name = "rv32imafc", RISCV("__riscv_flen", "rv32imafc -mabi=ilp32f"), .products = "dot8x4 dot16 mul",
	  .has_fma = true, .registers = 32, .dword_registers = 24, .units.latency = 4 },
	{ .name = "generic", .needs = "", .prelude = "c/prelude_scalar.jinja", .family = "c", .has_fma = false,
	  .products = "mul",
	  .cc_flags = "-O2 -ffp-contract=off -fno-math-errno", .lanes = 1, .registers = 16, .dword_registers = 11,
	  .units.latency = 4, .units.pipes = 1,
	  .units.load = 8, .units.store = 4, .l1_bytes = 32 << 10, .l2_bytes = 256 << 10, .l3_bytes = 4 << 20, LINES },
};
/* clang-format on */

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

const struct target *target_row(const struct target *target) { return target_find(target->name); }

const struct target *target_small(struct arena *arena, const struct target *target)
{
	const char *level = target->cc_flags ? strstr(target->cc_flags, "-O2") : NULL;
	if (target->options.small || !level)
		return target;
	struct target *small = arena_new(arena, struct target);
	*small = *target;
	small->options.small = true;
	small->cc_flags =
	        arena_printf(arena, "%.*s-Os%s", (int)(level - target->cc_flags), target->cc_flags, level + 3);
	return small;
}

const struct target *target_exact(struct arena *arena, const struct target *target)
{
	if (!target->exact.lanes)
		return NULL;
	struct target *exact = arena_new(arena, struct target);
	*exact = *target;
	exact->lanes = target->exact.lanes;
	exact->prelude = target->exact.prelude;
	exact->registers = 3; /* of eight: two sums side by side, whose code is short */
	return exact;
}

/* What a row's `needs` may name, and whether this machine has it. */
static bool has(const char *feature, size_t length)
{
#if defined(__x86_64__)
#define HAS(name) || (length == strlen(name) && !memcmp(feature, name, length) && __builtin_cpu_supports(name))
	__builtin_cpu_init();
	return (length == 6 && !memcmp(feature, "x86-64", length)) HAS("avx2") HAS("fma") HAS("bmi") HAS("bmi2")
	               HAS("avx512f") HAS("avx512dq") HAS("avx512vl") HAS("avx512bw") HAS("avx512cd") HAS("avx512vnni")
	                       HAS("avx512bf16") HAS("avx512vbmi")
	        || machine_has(feature, length)
	        || (length == 3 && !memcmp(feature, "amx", length) && machine_amx() == AMX_THERE);
#undef HAS
#elif defined(__aarch64__)
#define HAS(name, there) || (length == strlen(name) && !memcmp(feature, name, length) && (there))
	return false HAS("aarch64", true) HAS("dotprod", getauxval(AT_HWCAP) & HWCAP_ASIMDDP)
	        HAS("i8mm", getauxval(AT_HWCAP2) & HWCAP2_I8MM) HAS("bf16", getauxval(AT_HWCAP2) & HWCAP2_BF16);
#undef HAS
#else
	return (void)feature, (void)length, false;
#endif
}

/* No parts of a level, but of most CPUs that have it. */
#define VNNI V4 " avx512vnni"
#define BF16 VNNI " avx512bf16 avx512vbmi" /* permutations of bytes look tables of 256 up */
#define BF16_FLAGS " -mavx512vnni -mavx512bf16 -mavx512vbmi"
static const struct {
	const char *row, *word, *needs, *cc_flags, *products;
} levels[] = {
	{ "x86-64-v4", "vnni", VNNI, X86_V4 " -mavx512vnni", "f64 dot8u dot16 mul" },
	{ "x86-64-v4", "bf16", BF16, X86_V4 BF16_FLAGS, "bf16 f64 dot8u dot16 mul" },
	{ "x86-64-v4", "amx", BF16 " amx", X86_V4 BF16_FLAGS " -mamx-tile -mamx-int8 -mamx-bf16",
	        "tdpbf16ps bf16 f64 tdpbusd dot8u dot16 mul" },
	{ "x86-64-v3", "avxvnni", V3 " avxvnni", X86_V3 " -mavxvnni", "f64 dot8u dot16 mul" },
	{ "x86-64-v3", "avxvnniint8", V3 " avxvnniint8 avxvnni", X86_V3 " -mavxvnni", "f64 dot8u dot8 dot16 mul" },
};

const char *facts_level(int i) { return i < (int)COUNT(levels) ? levels[i].word : NULL; }

const char *facts_level_row(int i) { return levels[i].row; }

const char *facts_level_of(const struct target *target)
{
	for (size_t i = 0; i < COUNT(levels); i++)
		if (!strcmp(target->needs, levels[i].needs))
			return levels[i].word;
	return NULL;
}

bool facts_add_level(struct target *target, const char *word)
{
	bool belongs = false;
	for (size_t i = 0; i < COUNT(levels); i++) {
		if (strcmp(word, levels[i].word) != 0 || strcmp(target->name, levels[i].row) != 0)
			continue;
		belongs = true;
		if (strlen(target->needs) > strlen(levels[i].needs)) /* one that includes it was there before */
			continue;
		target->needs = levels[i].needs;
		target->cc_flags = levels[i].cc_flags;
		target->products = levels[i].products;
	}
	return belongs;
}

static bool names(const char *words, const char *one, size_t length)
{
	for (size_t n; *words; words += n + strspn(words + n, " "))
		if ((n = strcspn(words, " ")) == length && !memcmp(words, one, n))
			return true;
	return false;
}

/* The first word of what the target needs that is not here; NULL: its code runs.  `as`: the row that this machine is
 * taken for, which has no other features; NULL: it is what it is. */
static const char *lacks(const struct target *target, const struct target *as, size_t *length)
{
	for (const char *word = target->needs; *word; word += *length + strspn(word + *length, " "))
		if (!has(word, *length = strcspn(word, " "))
		        || (as && word != target->needs && !names(as->needs, word, *length)))
			return word;
	return NULL;
}

/* $INGOT_NATIVE: the row that this machine is taken for; NULL: none is named, or none that is known. */
static const struct target *taken_for(void)
{
	const char *name = getenv("INGOT_NATIVE");
	for (size_t i = 0; name && i < COUNT(targets); i++)
		if (!strcmp(targets[i].name, name))
			return &targets[i];
	return NULL;
}

void target_native_check(struct build *build)
{
	size_t length;
	const char *name = getenv("INGOT_NATIVE"), *word;
	const struct target *as = taken_for();
	if (name && *name && !as) {
		struct text rows;
		text_init(&rows, build);
		for (size_t i = 0; i < COUNT(targets); i++)
			text_printf(&rows, "%s%s", i ? ", " : "", targets[i].name);
		const char *list = arena_copy(build->arena, rows.at, rows.count);
		text_release(&rows);
		fail(build, EXIT_USAGE, NULL, "INGOT_NATIVE: no CPU \"%s\"; known are %s", name, list);
	}
	if (as && (word = lacks(as, NULL, &length)))
		fail(build, EXIT_ENVIRONMENT, NULL, "INGOT_NATIVE: this machine cannot be taken for %s: it has no %.*s",
		        as->name, (int)length, word);
}

bool target_runs(const struct target *target)
{
	size_t length;
	return !lacks(target, taken_for(), &length);
}

void target_ask(struct build *build, const struct target *target)
{
	size_t length;
	const char *word = lacks(target, taken_for(), &length);
	if (word == target->needs) /* the first is an architecture, the others are parts of it */
		fail(build, EXIT_ENVIRONMENT, NULL, "%s code does not run here: build it", target->name);
	if (word)
		fail(build, EXIT_ENVIRONMENT, NULL, "this CPU has no %.*s; native is %s", (int)length, word,
		        target_native()->name);
}

/* By feature bits, caches and units. */
static struct target native;
static void find_native(void)
{
	static char facts[FACTS_MOST];
	size_t length;
	int row = 0;
	const struct target *as = taken_for();
	while (lacks(&targets[row], as, &length)) /* the last row needs nothing */
		row++;
	struct target made = targets[row];
	int pipes = machine_pipes(&made);
	if (pipes)
		facts_pipes(&made, &targets[row], pipes);
	for (size_t i = 0; i < COUNT(levels) && !as; i++) {
		struct target with = made;
		if (facts_add_level(&with, levels[i].word) && !lacks(&with, NULL, &length))
			made = with;
	}
	machine_caches(&made);
	facts_spell(&made, &targets[row], facts);
	made.facts = facts;
	native = made;
}

const struct target *target_native(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_native);
	return &native;
}
