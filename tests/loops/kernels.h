/* kernels.h: small programs made by hand, each one kernel of generic loops, to be compared with the interpreter. */
#ifndef TESTS_LOOPS_KERNELS_H
#define TESTS_LOOPS_KERNELS_H
#include "kernels/kernels.h"

/* How a case is made: a program whose computed definitions are the kernel's members, in order. */
struct made {
	struct program *program;
	struct arena *arena;
	int outer;          /* of the kernel */
	bool channels_last; /* layout of everything of rank 3 and 4 that is computed or an input */
	bool shuffled;      /* layouts by chance, of `seed` */
	uint64_t seed;
	bool may_select; /* selects are left inside: not on single variables */
};
struct kernel_case {
	const char *name;
	void (*make)(struct made *, const int64_t *n);
	int64_t n[6];
};
extern const struct kernel_case kernel_cases[];
extern const int kernel_case_count;

/* A program made by chance: maps, windows and rows over affine, strided and clipped indices, in any layout. */
void make_random(struct made *, const int64_t *seed);

/* The kernel of a case: modes, strides and parameters set by hand. */
struct kernel *kernel_of(struct made *, const char *name);
#endif
