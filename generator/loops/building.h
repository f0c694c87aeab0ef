/* building.h: what build.c, which says what a block of a kernel is, and define.c, which says a definition, know together.
 */
#ifndef LOOPS_BUILDING_H
#define LOOPS_BUILDING_H
#include "loops/loops.h"

struct building {
	struct loops *loops;
	const struct kernel *kernel;
	int outer;  /* variables of common loops, which the elements of local definitions have not */
	int shared; /* of terms with places: this variable's loops have `share` rounds, from `share_from` on; share 0:
	               none */
	int64_t share;
	const struct index *share_from;
};

enum { OUTPUT_NAMES = 5 };
extern const char *const output_names[OUTPUT_NAMES]; /* of loops over an output's variables, in turn */

/* How many of `extent` there are of what is counted, behind `from`. */
const struct index *building_there(struct building *, struct definition *count, const struct index *from,
        int64_t extent, const struct index **with);
/* A cell for each parameter of the kernel, and for what is computed on the way. */
void building_cells(struct building *);
/* A map over variable v of d; what comes next stands in the block returned. */
struct block *building_map(
        struct building *, const struct definition *, int v, const struct index **with, struct block *out);
/* Adds the loops of one definition whose variables with[v] != NULL are given. */
void building_define(struct building *, struct definition *, const struct index **with, struct block *out);

/* threads.c: does each thread make elements of its own?  Then its statements, scalar as they are. */
bool loops_by_threads(const struct target *, const struct kernel *);
struct loops *loops_threads(struct build *, struct arena *, const struct target *, const struct kernel *, bool named);

/* squares.c: a transposition through squares in shared memory, along `across`; false: it is none. */
bool loops_squares(struct building *, int across, const int *order, int count);
/* columns.c: sums of columns, by blocks of warps; false: they are none. */
bool loops_columns(struct building *);
/* rows.c: rows with sums in 64 lanes, a block of warps each; false: they are none. */
bool loops_rows(struct building *);

/* warps.c: the loop over the blocks, each of so many warps, with where each stands; a loop over threads in it, and an
 * array that they share; statements. */
void building_blocks(struct loops *, const int *order, int count, const int64_t *extents, int warps, const char *of,
        const struct index **with);
struct block *building_threads(struct loops *, int64_t all, const struct index **t);
void building_array(struct loops *, struct cell *);
void building_set(struct loops *, struct cell *, const struct expr *value, bool declare, struct block *out);
void building_put(
        struct loops *, struct cell *array, const struct index *at, const struct expr *value, struct block *out);
/* So many of an array, from `first` on and so far apart, joined by halves. */
const struct expr *building_joined(
        struct loops *, enum reduce, struct cell *array, const struct index *first, int apart, int count);

/* A sum in 64 lanes, from what it starts from, goes to its element. */
void building_sum(struct building *, const struct definition *, const struct index **with, const struct expr *sum,
        struct block *out);
/* Variable v of the output, as a variable of its own where it is computed from the block's number. */
const struct index *building_named(struct loops *, int v, const struct index *at, struct block *out);
const struct expr *building_whole(struct building *, const struct expr *, const struct index *const *with);

int64_t stride_of(const struct definition *, int variable); /* … of its elements in memory */
/* Variables [from, to) of extent above 1, the largest stride first; how many. */
int order_by_stride(const struct definition *, int from, int to, int *order);
/* The order of a definition's loops: by stride, but those outermost that say which terms there are. */
int loop_order(const struct building *, const struct definition *, int *order);
/* Do data say from where to where its terms go?  A row of it then has ends of its own. */
bool terms_are_narrowed(const struct building *, const struct definition *);
/* Does some term go to each element?  Then none needs to begin.  Or to each but those at one end of the variable that
 * has places: it is then fixed there in rest, if that is given. */
bool scatter_covers(struct arena *, const struct definition *, const struct index **rest);
#endif
