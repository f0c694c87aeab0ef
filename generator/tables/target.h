/* target.h: what kernels are made for: a row of facts and words for each processor.  The rows stand in
 * backends/cpu/target.c and backends/cuda/target.c; who needs to know something about a target asks for the fact, never
 * for its name. */
#ifndef TABLES_TARGET_H
#define TABLES_TARGET_H
#include <stdbool.h>
#include <stdint.h>

struct arena;
struct build;
/* A GPU of an architecture, the largest of its kind, by public figures: what tiles are chosen for and reports reckon
 * with.  Kernels do not ask for it: their text, bits and weights serve every architecture. */
struct gpu_facts {
	const char *arch, *example;    /* "sm_90", "H200" */
	int processors;                /* multiprocessors */
	int block_bytes, shared_bytes; /* of shared memory, at most: a block's, a multiprocessor's */
	int warps, blocks, registers;  /* of a multiprocessor, at most */
	int fmas, dot8s,
	        group_dot8s; /* multiply-adds of a multiprocessor in a cycle: of floats; of bytes, by mma.sync, and by
	                        warpgroups (0: it has no wgmma); as many dwords of other types */
	double ghz;
	int l2_rate, memory_rate; /* GB/s */
	int64_t l2_bytes;
};
struct target {
	const char *name;  /* "x86-64-v4" */
	const char *facts; /* "x86-64-v4,vnni,l2=2m": the name, and what is known better than by the row; NULL: the name
	                      alone */
	const char *needs; /* to run: an architecture, then features of it by the compiler's names, or what of them the
	                      compiler's macros say (__ARM_ARCH_7M__); "": nothing */
	const char *prelude;  /* template of its words: "c/prelude_avx512.jinja" */
	const char *family;   /* folder of its kernel templates: "c", "cuda" */
	const char *cc_flags; /* what the compiler needs to be told; NULL: nothing is compiled here */
	/* words for templates */
	struct target_words {
		/* The type of four floats, what stands before memory that a group shares, how its threads
		 * meet; "" where a target has no such thing.  A group of our CUDA kernels is one warp. */
		const char *vector4, *shared, *barrier;
		const char *float_of_bits,
		        *double_of_bits; /* where the compiler does not fold a division by 0; NULL: infinities are one */
	} words;
	bool freestanding;         /* no operating system: no position-independent code */
	bool short_stack;          /* a few KiB: no scratch for blocks of rows */
	bool short_flash;          /* what is small widens narrow constants where they are read: kernels/narrow.c */
	const char *cross_package; /* Debian's package of `cross` */
	const char *cross; /* the cross compiler on a machine of another architecture; NULL: the machine's own */
	const char
	        *products; /* rows of kernels/products.c that it has an instruction for, the best first; NULL: none */
	int lanes;         /* floats in a vector; 1: scalar code */
	/* vectors for sums of exact floats alone */
	struct exact_vectors {
		/* No other is to be rounded by them: subnormals are 0 there. */
		int lanes;           /* 0: there are none */
		const char *prelude; /* template of their words */
	} exact;
	int registers;       /* vector registers */
	int dword_registers; /* those that hold dwords, where they are others; 0: the same */
	/* what a core starts and moves in a cycle */
	struct target_units {
		int latency, pipes; /* cycles; fused multiply-adds started in a cycle */
		int load, store;    /* a cycle, from and to L1 */
	} units;
	int64_t l1_bytes, l2_bytes, l3_bytes; /* a core's part of each, but all of the last */
	/* cycles of cache lines */
	struct shared_lines {
		int latency, cycles; /* of a line that another core wrote: until it is here, and each of many */
	} lines;
	int strides;   /* floats so far apart at most are loaded as lines and permuted; 0: one by one */
	bool casts_64; /* vectors of integers of 64 bits become floats, and the reverse, in an instruction */
	/* "divmod 16, d 64": what a routine of its compiler, whose name has that in it, takes of the stack with all that
	 * it calls; the first that fits.  NULL: not known */
	const char *routines;
	bool has_fma;           /* else fma_soft */
	int64_t scratch_bytes;  /* that the arrays of one kernel may take together; 0: as much as they need */
	bool scratch_is_near;   /* nearer than any buffer, where that is not in a cache just written: shared memory */
	bool lanes_are_threads; /* a lane's neighbours are other threads': lines, squares and windows side by side are
	                           no lane's to keep */
	bool simple_epilogues; /* what is made of a product's sums before they are stored is of float alone, or quantised
	                           by numbers of their columns */
	bool hides_latency; /* while one group of threads waits for memory others run: nothing is fetched ahead, nothing
	                       blocked for L2 */
	/* how a kernel is cut */
	struct least_share {
		int tiles; /* of a contraction that keep the whole device busy, where smaller ones make more; 0: any */
		int work; /* elements or terms below which a block of a generic kernel is not worth a thread; 0: 2048 */
		int warps; /* of every block, where kernels are steps that share one; 0: as many as pay */
	} share;
	/* of one build, not of the CPU */
	struct target_options {
		struct block_tile {
			int rows, columns, terms;
		} tile; /* --tile: of blocks of warps, wherever a product can have it; rows -1: none; 0: as reckoned */
		bool log; /* each store to a buffer is logged: scalar loops alone, Winograd's steps in loops of their own */
		bool small;    /* code and stack as small as they go: target_small */
		bool pointers; /* kernels take no other arguments: a managed module has no room for any */
	} options;
	const struct gpu_facts *gpu;           /* to fill, where blocks of warps make a product; NULL: none do */
	const struct gpu_facts *const *others; /* --tile each: those of the other images, ascending */
	int other_count;
	const struct target
	        *thread;    /* what one of a lane's threads is alone: scalars; NULL: no kernel is for threads of
	                                elements */
	bool checks_late;   /* who launches kernels reads what checks say when all have run: it stays until then */
	bool kernels_apart; /* a maximum behind a convolution is a kernel of its own, and no kernel waits for a
	                       condition */
	bool calls;         /* kernels are made of calls of the JIT's menu: their statements stay without vectors */
};
const struct target *target_find(const char *name); /* NULL: no such target */
static inline const char *target_text(const struct target *target)
{
	return target->facts ? target->facts : target->name;
} /* what --cpu takes for it */
const struct target *target_row(const struct target *); /* that it comes from, by its name */
/* The target with facts, words as "l2=512k".  EXIT_USAGE where there is no such fact, or it cannot be. */
bool target_is_fact(const char *word);
const struct target *target_with(struct build *, const struct target *, const char *const *words, int count);
/* By CPUID feature bits, caches and units; its name is that of the row it comes from.  $INGOT_NATIVE names a row that
 * this machine is taken for, for tests: it has that row's features and no more. */
const struct target *target_native(void);
/* EXIT_USAGE, EXIT_ENVIRONMENT where $INGOT_NATIVE names no row, or one whose code does not run here. */
void target_native_check(struct build *);
/* EXIT_ENVIRONMENT where its code does not run on this machine: names the first feature that lacks. */
void target_ask(struct build *, const struct target *);
const char *machine_name(struct arena *); /* of this machine's processor, for people */
bool target_runs(const struct target *);  /* does its code run on this machine? */
/* The same CPU for --optimise size: small, and compiled for size; itself where it is so already or nothing is compiled
 * for it. */
const struct target *target_small(struct arena *, const struct target *);
/* What sums of exact floats are made for; NULL: for the target itself. */
const struct target *target_exact(struct arena *, const struct target *);
const struct target *target_at(int);    /* row by row; NULL after the last */
extern const struct target target_cuda; /* a warp as a vector of 32 lanes; its tiles are for sm_90 */
/* The same with its tiles for this GPU: "sm_86", "sm_100a"; facts of the nearest architecture below that has a row. */
const struct target *target_for_gpu(struct arena *, const char *arch);
const struct gpu_facts *gpu_at(int); /* row by row, ascending; NULL after the last */
#endif
