/* kernels.h: where each definition lives, together with whom it is computed, and in which shape.
 *
 * place.c decides modes (the law of design.md §1), layout.c the layouts, fuse.c joins definitions into kernels, choose.c finds the
 * shape of each kernel and its tile from facts of the target, plan.c puts buffers into the workspace. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H
#include "definitions/definitions.h"

/* ---- a target is a page of words and limits (backends/cpu/target.c, backends/cuda/target.c) ---- */
struct target {
	const char *name;                 /* "x86-64-v4" */
	const char *prelude;              /* template of its words: "c/prelude_avx512.jinja" */
	const char *family;               /* folder of its kernel templates: "c", "cuda" */
	const char *cc_flags;             /* what the compiler needs to be told; NULL: nothing is compiled here */
	int lanes;                        /* floats in a vector; 1: scalar code */
	int registers;                    /* vector registers */
	int fma_latency, fma_pipes;       /* cycles; fused multiply-adds started in a cycle */
	int load_bytes, store_bytes;      /* a cycle, from and to L1 */
	int64_t l1_bytes, l2_bytes, l3_bytes;
	bool has_fma;                     /* else fma_soft */
};
const struct target *target_find(const char *name);               /* NULL: no such target */
const struct target *target_native(void);                         /* by CPUID feature bits */

/* ---- place.c, layout.c ---- */
enum mode {
	MODE_VIRTUAL,                     /* computed where it is read */
	MODE_LOCAL,                       /* scratch of one kernel */
	MODE_DEVICE,                      /* a range of the workspace */
	MODE_HOSTED,                      /* the caller's: an input or output of the graph */
	MODE_CONSTANT,                    /* the weights blob */
};
struct placed {
	enum mode mode;
	int64_t stride[MAX_RANK];         /* elements between neighbours along each output variable: the layout.  Dense: a
	                                   * permutation of the dims.  Row-major for what is hosted. */
	int64_t offset;                   /* bytes: DEVICE in the workspace, CONSTANT in the blob; HOSTED: -1 */
	int64_t bytes;
	struct kernel *kernel;            /* that computes it; NULL: input or constant */
	int first, last;                  /* numbers of the kernels that write and last read it */
	int reads;                        /* by how many definitions */
};

/* ---- kernels ---- */
enum shape { SHAPE_CONTRACTION, SHAPE_WINOGRAD, SHAPE_LOOPS };

struct param { struct definition *of; const char *name; bool written; };     /* C name of the pointer inside the kernel */

struct kernel {
	int number;
	const char *name;                 /* identifier: "k3_convolution" */
	enum shape shape;
	struct definition *root;          /* whose reduction gives the shape; a map where there is none */
	/* What it computes, in order, without the virtual ones (they are inlined where they are read).  LOCAL members live in
	 * scratch on the stack, the others are written.  The first `outer` output variables of all members are the same: one nest
	 * of `outer` loops runs around them, and between members only elements of equal outer indices are read. */
	VECTOR(struct definition *) members;
	int outer;
	VECTOR(struct param) params;      /* every buffer it reads or writes, in order of appearance */
	/* The kernel's function runs over blocks [from, to) of `blocks`: the threads' share.  1: cannot be split. */
	int64_t blocks;
	const char *blocks_of;            /* for comments: "rows of 6", "n i" */
	double flops, bytes;              /* for cost, bench and the manifest */
	const char *tile;                 /* for people: "6 x 64" */
	void *detail;                     /* what its shape keeps: struct contraction … */
};
#endif
