/* loops.h: how a generic kernel runs: definitions -> statements -> C.
 *
 * A kernel becomes one function over blocks [from, to), a list of statements over numbered variables and cells:
 *
 *     for b in blocks 112
 *       for i < 32 by 16                               (map: the rounds do not know of each other)
 *         sum = start[i]                               (vector along i)
 *         …
 *         y[3584*b + i] = relu(sum)
 *
 * build.c says the definitions as scalar loops in their own order; the passes after it keep every value, bit for bit:
 *
 *     collapse.c    terms that lie side by side become one loop
 *     unroll.c      small windows become straight lines; later, neighbouring rounds share registers (tiles)
 *     split.c       loops are cut where a select on indices changes its mind, so none is left inside, but in short rows
 *                   masked loads
 *     collapse.c    neighbouring loops whose addresses allow become one
 *     fuse.c        what a loop stores, the next may take from a register
 *     vectorise.c   one variable of each nest is taken by lanes (lane_cost.c: which); sums in 64 lanes become registers
 *                   (lane_sums.c), what lies across goes through squares (lane_squares.c)
 *     ends.c        loops end at counts
 *
 * Where lanes are threads, threads.c, squares.c, columns.c and rows.c make other loops of a kernel that allows it: each thread
 * has elements of its own, or a block's threads share rounds; early.c then has them load before they compute.
 *
 * emit/loops.c prints the result through templates/c/loops.jinja.  Everything lives in the arena given to
 * loops_lower. */
#ifndef LOOPS_LOOPS_H
#define LOOPS_LOOPS_H
#include "kernels/kernels.h"

/* A place for values.  A load of a cell is an EXPR_LOAD of `of`: of rank 0 for a register, else of rank 1, at an offset
 * in elements.  So expressions of definitions serve as expressions of statements. */
enum cell_kind { CELL_BUFFER, CELL_ARRAY, CELL_REGISTER };
struct cell {
	union { /* first: a load's `of` is the cell */
		struct definition of;
		struct scheduled scheduled; /* its address is its one index */
	};
	enum cell_kind kind;
	bool vector;  /* REGISTER: a vec; ARRAY: of vecs, taken and put whole */
	bool bytes;   /* … of bytes, as its statements are */
	bool written; /* BUFFER: not const */
	bool loaded;  /* anywhere, as vectorise.c finds it */
	int64_t size; /* ARRAY: elements */
};
static inline struct cell *cell_of_load(const struct expr *load) { return (struct cell *)load->of; }

struct variable {
	const char *name;
	int64_t extent;
}; /* what it is like; loops_name makes names of that */

enum role {
	ROLE_BLOCKS,  /* the function's own range */
	ROLE_MAP,     /* rounds are independent of each other */
	ROLE_THREADS, /* … and dealt to all threads of the block, which meet behind the loop */
	ROLE_SERIAL,  /* rounds in order: a reduction */
	ROLE_LANES,   /* round t adds to partial result t % 64 of each of `sums`, which are joined behind the loop */
};
enum { SUMS = 64, SUMS_MAX = 4 };

struct stmt;
struct block {
	struct stmt **at;
	size_t count, room;
};

enum stmt_kind {
	STMT_FOR,   /* var = 0, step, … below extent (a multiple of step), or from `first` to below `count`: body */
	STMT_IF,    /* all ranges hold: body, else other */
	STMT_SCOPE, /* body */
	STMT_INDEX, /* var is at */
	STMT_ARRAY, /* cell from here on */
	STMT_SET,   /* register cell = value */
	STMT_STORE, /* cell[at] = value */
	STMT_JOIN,  /* scalar register cell = the lanes of `from` joined by halves */
};
struct stmt {
	enum stmt_kind kind;
	int var;
	int64_t extent, step;
	const struct index *first; /* FOR of ROLE_SERIAL: a variable that data say, from which its own runs; NULL: 0 */
	const struct index *count; /* FOR: the extent as text has it, a symbol, or the end that data say; NULL: it is
	                              that number */
	enum role role;
	bool together; /* FOR of ROLE_MAP: all its rounds run side by side in the end */
	int64_t tile;  /* FOR: so many rounds side by side, once loops_tile has been there; 0: they stay as they are */
	struct cell *sums[SUMS_MAX];  /* FOR of ROLE_LANES: scalar registers that the loop makes and body sets */
	enum reduce reduce[SUMS_MAX]; /* … and how; reduce[0] also for JOIN */
	int sum_count;
	struct block body, other;
	const struct range *ranges;
	int range_count;
	const struct index *at;
	struct cell *cell, *from;
	const struct expr *value;
	bool declare; /* SET: the register begins here */
	int lane,
	        left; /* SET, STORE: vector along variable `lane` (-1: scalar), of which `left` lanes count (0: all) */
	bool bytes;   /* SET, STORE: a vector of bytes, four for each lane of the target */
	const struct index *some; /* SET, STORE: `left` as text has it, where it is a symbol; NULL: it is that number */
	bool keep;                /* SET: lanes past `left` stay as they were */
	const struct index *square; /* STORE to a buffer of a load from another: stands for as many neighbours as a
	                             * vector has lanes, one round after the other, `square` elements apart where they
	                             * are stored, 1 where they are loaded; NULL: for itself */
};

struct loops {
	struct build *build;
	struct arena *arena;
	const struct target *target;
	const struct kernel *kernel;
	VECTOR(struct variable) vars;
	VECTOR(struct cell *) cells;
	VECTOR(struct definition *) owners; /* of cells, by number; NULL: a temporary */
	struct block body;
	int64_t blocks;
	int elements;           /* that a thread makes, where a block is one (threads.c); 0: blocks are of warps */
	int warps;              /* of a block whose loops are dealt to threads (squares.c); 0: it has none such */
	int beside, beside_var; /* rows of a block that run side by side, and their variable; 1 or less: one row at a
	                           time */
	const struct definition *count;  /* of the outermost loop of the blocks, where its extent is a bound: there are
	                                    (count * ends_by + ends_per - 1) / ends_per blocks; NULL: all */
	int64_t most, ends_by, ends_per; /* most: the bound */
	bool rows_end;                   /* the last block's rows beside each other end there, too */
	const char *blocks_of;           /* "b": what a block is, for comments */
	const char *tile;                /* what unroll.c and vectorise.c did, for comments */
	struct symbols *symbols;         /* symbols.c; NULL: every number stands as it is */
};

/* Kernel -> statements, all passes.  The kernel's params must stand. */
struct loops *loops_lower(struct build *, struct arena *, const struct target *, const struct kernel *);
/* copy.c: the same in another arena, with nothing of what was tried on the way. */
struct loops *loops_copy(const struct loops *, struct arena *);
/* What a kernel keeps, tiled and named as it is printed: a copy of its own. */
struct loops *loops_of(const struct kernel *, struct arena *);

/* ---- symbols.c: code for layers of any size ----
 * The same statements where what is this layer's alone is a symbol: strides, extents, lanes that are left, numbers.
 * What is left is a text, the key: kernels of one key run one code, and the values of its symbols are all that they
 * differ in. */
struct symbols {
	VECTOR(int64_t) values; /* of the symbols */
	VECTOR(double) numbers; /* what a buffer behind the kernel's own holds */
	const char *key;        /* one line */
};
/* NULL where the kernel is no such one: not float throughout, or it computes addresses from values. */
struct loops *loops_symbolic(struct build *, struct arena *, const struct target *, const struct kernel *);

/* Makes the statements of a SHAPE_LOOPS kernel whose params stand, and keeps them; sets what follows from them. */
void loops_finish(struct lowered *, struct kernel *);

void loops_print(struct loops *, struct text *out);               /* print.c: for --stage loops … */
void loops_print_kernel(const struct kernel *, struct text *out); /* … of a kernel */
void loops_name(struct loops *);        /* names.c: unique where it counts; after the last pass */
void loops_check(const struct loops *); /* check.c: asserts that it is well-formed */
/* check.c: true where no select on a lane or on the variable of an innermost loop is left; LOOPS kernels of definitions
 * whose selects are on single variables reach it, others may not. */
bool loops_are_split(const struct loops *);

/* ---- copied.c: kernels that only copy ---- */
/* A copy of blocks [first, end): to[step * block + …] = from[step * block + …], `count` elements of each block, which
 * end where those of the next begin. */
struct copied {
	const struct stmt *store; /* one of its vectors */
	int64_t first, end, step, to, from, count;
};
typedef VECTOR(struct copied) copied_parts;
/* Is that all that the kernel does, and enough that memcpy does it faster?  Its parts. */
bool loops_copies(struct loops *, copied_parts *parts);

/* ---- passes, in this order ---- */
void loops_pass(struct loops *, bool vectors); /* lower.c: all of them; or up to fuse */
struct loops *loops_build(struct build *, struct arena *, const struct target *, const struct kernel *);
void loops_collapse_terms(struct loops *);
void loops_unroll(struct loops *);
void loops_split(struct loops *);
void loops_collapse(struct loops *);
void loops_open_scopes(struct loops *);
void loops_fuse(struct loops *);
void loops_vectorise(struct loops *);
void loops_choose_tiles(struct loops *);
void loops_come_early(struct loops *);        /* early.c: of threads alone */
void loops_tile(struct loops *);              /* behind all of them */
bool loops_end_exactly(const struct loops *); /* … of blocks: none of them goes on behind the count */
void loops_end(struct loops *);               /* ends.c: and behind that */

/* ---- walk.c: statements made, copied, looked through ---- */
bool stmt_finds(const struct stmt *); /* is it an INDEX that data say? */
struct stmt *stmt_new(struct loops *, enum stmt_kind);
struct stmt *for_new(struct loops *, int var, int64_t extent, enum role);
/* Maps, each all that is in the one before. */
enum { NEST_MOST = MAX_VARS };
struct nest {
	struct stmt *loop[NEST_MOST];
	int count;
	struct block *body;
};
struct nest nest_of(struct stmt *);
int index_new(struct loops *, const char *like, int64_t extent, const struct index *at,
        struct block *out); /* an INDEX that stands at `at`: its variable */
int var_new(struct loops *, const char *like, int64_t extent);
struct cell *cell_new(struct loops *, enum cell_kind, const char *like, enum dtype, int64_t size);
const struct expr *cell_load(struct loops *, struct cell *, const struct index *at); /* at: NULL for a register */
void block_add(struct loops *, struct block *, struct stmt *);
struct block block_take(struct block *); /* what it has; it is empty then */
void block_add_all(struct loops *, struct block *, const struct block *);

/* A copy, with variables replaced (NULL: kept) and registers and arrays replaced by pairs; those that begin inside are
 * made anew where `fresh`. */
struct copying {
	struct loops *loops;
	const struct index **with; /* by variable; room for all */
	int vars;
	VECTOR(struct cell *) old_cells, new_cells;
	bool fresh;
};
void copying_init(struct copying *, struct loops *, bool fresh);
void copying_put(struct copying *, int var, const struct index *);
const struct expr *copy_expr(struct copying *, const struct expr *);
struct stmt *copy_stmt(struct copying *, const struct stmt *);
void copy_block(struct copying *, const struct block *, struct block *out);

/* Each statement before what is in it, as visits of expressions are.  True: one said that nothing more is to be
 * seen. */
typedef enum visit visit_stmt(void *user, struct stmt *);
bool block_visit(const struct block *, visit_stmt *, void *user);
/* Each block that is in it, those of a block's statements before the block, and it itself last. */
void block_each(struct block *, void (*visit)(void *user, struct block *), void *user);
/* Statements that `goes` says it of leave the block and all in it. */
void block_drop(struct block *, bool (*goes)(const void *user, const struct stmt *), const void *user);
/* Every index that stands in the statements: addresses, selects, conditions, values. */
typedef void visit_index(void *user, const struct index *, bool address);
void block_indices(const struct block *, visit_index *, void *user);
bool block_bends(const struct block *, int var); /* is any index not affine in the variable, nor a byte's table's? */
/* Every SET, STORE and JOIN, with how often it runs in one round of the block. */
void block_leaves(const struct block *, void (*visit)(void *user, struct stmt *, double rounds), void *user);

/* Whether it can be a vector along the lane: of float alone, or `typed`, of any type that has lanes.  Loads between
 * bounds of the lane, of neighbours along it, are masked loads. */
bool loops_can_vector(const struct expr *, int lane, bool typed);
/* Whether the store copies, from one buffer to another, what lies along the lane there and along the loop here: of
 * elements whose squares of lanes are transposed in registers. */
bool loops_transposes(const struct loops *, const struct stmt *store, int lane, const struct stmt *loop);
enum { LANE_BYTES = 4 };
int loops_width(const struct loops *, const struct stmt *);     /* lanes of its vector */
bool cell_is_loaded(const struct block *, const struct cell *); /* fuse.c */
bool cell_is_stored(const struct block *, const struct cell *); /* SET counts too */

const struct expr *reduce_step(
        struct loops *, const struct definition *, const struct expr *sum, const struct expr *term);
const struct expr *reduce_join(struct loops *, enum reduce, const struct expr *lower, const struct expr *upper);
#endif
