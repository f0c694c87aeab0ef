/* contraction.h: what contraction.c and tile.c know of one kernel while they print it; the JIT's glue is printed from the
 * same (jit/contraction.c). */
#ifndef EMIT_CONTRACTION_H
#define EMIT_CONTRACTION_H
#include "emit/emit.h"

enum { BLOCK_UNROLL = 4 };                                                   /* terms of a step, in a block of warps */
enum { SPARE_ROW = CONTRACTION_VARS - 2, SPARE_VEC = CONTRACTION_VARS - 1 }; /* variables of their own: r, v */

struct tile {
	int rows, vecs, left;
	bool last, few;
	const char *name;
}; /* left: lanes of the last vector; 0: all.  few: for where no more rows than these are left */
struct stride {
	const char *name;
	int64_t direct, packed;
};

struct printing {
	struct emit *emit;
	struct arena *arena;
	const struct kernel *kernel;
	const struct contraction *c;
	const char *names[MAX_VARS];
	const char *accumulator;    /* text of the root's value, while an epilogue is printed */
	const char *ends[MAX_VARS]; /* of variables whose extents are counted: names of where they end; NULL: at the
	                               extent */
	struct tile *tiles;
	int tile_count;
	struct stride term_stride[MAX_VARS]; /* of a, by term */
	struct stride row_stride;
	bool packed; /* a's part that a tile reads is copied where it reaches into padding */
	struct stage packed_a;
	struct stage pooled; /* rows of the result that wait for a maximum over windows */
};

/* The values of c/contraction.jinja; `p` stays, for those who print more. */
struct value contraction_values(struct emit *, const struct kernel *, struct printing *p);
int64_t contraction_tap(
        const struct printing *, int64_t tap); /* where the rows of a maximum have the tap of its first window */
/* Where it stores, over its own variables, by `names`: q, across, column; lane: the variable along the columns, or -1.
 */
const struct index *contraction_pooled(
        const struct printing *, const char *across, const char *column, const char **names, int *lane);

/* tile.c */
const char *contraction_buffer(void *user, const struct definition *); /* of a printing: the name of a pointer */
struct printer contraction_printer(
        struct printing *, const char *left); /* of vectors along the column; left: lanes that count, NULL: all */
struct value contraction_extents(struct printing *, int first, int count); /* {name, bound, extent} of variables */

/* The terms at the start of a k block, or of the first one, where a row of a is copied whole that row's. */
void contraction_at_k_block(const struct printing *, bool first, const struct index **with);
const char *contraction_base_of_a(struct printing *, bool first);
const char *contraction_code(const struct printing *, int64_t v, int64_t u); /* code u of the words codes0 …, widened */
const char *contraction_element_of_b(const struct contraction *);            /* its type in C */
int64_t contraction_transposed_width(const struct printing *); /* floats from row to row of what is transposed */
const char *contraction_transposed_row(const struct printing *, const char *block);
void tile_arguments(struct printing *, const char **params, const char **arguments);
/* heavy: its epilogue is printed once, in a loop. */
struct value tile_value(struct printing *, struct tile *, const char *params, int64_t terms, bool heavy);

/* fours.c: the store of four columns' results, whose sums those are; NULL: there is no such text. */
const char *print_fours(struct printing *, const struct expr *const *value, const struct index *at, const char *sums);

/* matrix.c: {rows, across, down, columns, n, a_row, terms, shape} of a tile whose instruction makes m × n results; none.
 * The rows of the tiles that most of a kernel's are, where registers are told of them; none. */
struct value matrix_value(struct printing *, const struct tile *);
struct value matrix_shape(struct printing *);

/* gathered.c */
struct value gathered_value(struct printing *p, int64_t terms, const char *packed); /* packed: the panel's codes */

/* block.c: the value `block` of cuda/contraction.jinja; floats from row to row of the staged a, from term to term of
 * the staged b. */
struct value block_value(struct printing *p, struct printer *);
int block_a_step(const struct contraction *);
int block_b_step(const struct printing *);
int block_sums_apart(const struct contraction *); /* … and of rows of sums, beside those */
int64_t block_dynamic(
        const struct target *, const struct contraction *); /* bytes, where a kernel's own are too few; else 0 */
/* What TMA is told for its kernel's last arguments: of which tensor, as what, by boxes of so many dwords and rows. */
struct launch_box {
	struct definition *of;
	struct tensor_box lies;
	int size[2];
};
enum { BOXES_MOST = 2 };
int block_boxes(const struct target *, const struct contraction *, struct launch_box *); /* so many; 0: none */

#endif
