/* kernels.h: where each definition lives, together with whom it is computed, and in which shape.
 *
 * modes.c decides modes, layout.c the layouts, fuse.c joins definitions into kernels, choose.c finds the
 * shape of each kernel and its tile from facts of the target, plan.c puts buffers into the workspace. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H
#include "definitions/definitions.h"
#include "tables/target.h"

/* ---- modes.c, layout.c ---- */
enum mode {
	MODE_VIRTUAL,  /* computed where it is read */
	MODE_LOCAL,    /* scratch or registers of one kernel */
	MODE_DEVICE,   /* a range of the workspace */
	MODE_HOSTED,   /* the caller's: an input or output of the graph */
	MODE_CONSTANT, /* the weights blob */
};
/* A definition as a schedule has it: lower() works on a copy of the program, whose bodies change where virtual
 * definitions are inlined, and what it decides stands behind each.  The program itself stays as it was, so there can be
 * as many schedules of it as one likes. */
struct scheduled {
	struct definition of;
	enum mode mode;
	int64_t stride[MAX_RANK]; /* elements between neighbours along each output variable: the layout.  Dense: a
	                           * permutation of the dims.  Row-major for what is hosted or constant. */
	int64_t offset; /* bytes: DEVICE, and HOSTED of --io workspace, in the workspace, CONSTANT in the blob; else -1 */
	int64_t bytes;
	int provenance;                  /* who decided the mode: enum ingot_provenance (ingot/mode.h) */
	struct kernel *kernel;           /* that computes it; NULL: input or constant */
	int first, last;                 /* numbers of the kernels that write and last read it */
	struct contraction *contraction; /* found by its indices; NULL: a map, or generic loops */
	struct definition *lies_in; /* in whose memory it lies, element by element: LOCAL, a member; DEVICE, its last
	                               reader's result; NULL: in its own */
	struct definition *view_of; /* a slice of that one's memory, or its bytes as dwords, this many elements behind
	                               its first; NULL: memory of its own */
	int64_t view_offset;
	struct rewrite *rewrite; /* that it is the result or a part of (Winograd); NULL: none */
	bool odd;                /* its pointer moves between calls of a step, not by whole quads of elements */
	bool bare;               /* a product that no map is the epilogue of */
	bool generic;            /* barred from every shape but loops */
	bool row_apart; /* barred from kernels in which it would be a row: layouts let vectors run along the loops
	                   around */
	bool kept;      /* stored, whatever computing it again would cost */
	bool blocked;   /* of blocks of channels, row-major, one kernel with what else is (windows.c) */
	bool skips;     /* a sum over windows: terms of its outermost tap in the pads add +0, once (windows.c) */
	bool grouped;   /* heads that share keys stand in a variable of their own (groups.c) */
	int lane;       /* 1 + the variable along which it lies: products read it so; 0: the layouts say */
	bool dwords;    /* of terms of a product side by side (products.c) … */
	bool pairs;     /* … of bfloat16 or float16 */
	bool is_part;   /* split.c: a map adds its parts */
	bool widens;    /* floats of codes that --store bf16 stores */
	bool steers;    /* the schedule asks it whether to run kernels, or kernels where to end */
	struct definition *whole; /* this many, by whole lanes of terms, of which the last is not there; NULL: it is no
	                             such count */
	VECTOR(struct definition *) readers;
};
/* Of a definition in a schedule's program. */
static inline struct scheduled *scheduled(const struct definition *definition)
{
	return (struct scheduled *)(uintptr_t)definition;
}

static inline bool is_local(const struct definition *d) { return scheduled(d)->mode == MODE_LOCAL; }
/* Does one thread take several neighbours at once? */
static inline bool has_vectors(const struct target *target) { return target->lanes > 1 && !target->lanes_are_threads; }
/* Do threads make elements each of its own, not warps together? */
static inline bool has_own_threads(const struct target *target) { return target->thread && !target->share.warps; }

/* ---- kernels ---- */
enum shape {
	SHAPE_CONTRACTION,
	SHAPE_WINOGRAD,
	SHAPE_LOOPS,
	SHAPE_FUSED,
	SHAPE_STRIPS,
	SHAPE_ORDER,
	SHAPE_REPEAT,
	SHAPE_OWN,
	SHAPE_WALK,
	SHAPE_COUNT
};

/* What is different about a shape, from the layouts on: a row in kernels/shapes.c.  NULL: there is nothing to do. */
struct kernel;
struct lowered;
struct contraction;
struct shape_row {
	const char *name;                            /* for people */
	const char *(*label)(const struct kernel *); /* in its kernels' names */
	bool (*arrange)(struct arena *,
	        struct contraction *); /* over the layouts chosen; false where an address is not affine */
	bool viewed;                   /* what it reads may be a slice of a tensor (views.c) */
	void (*choose)(struct lowered *, struct kernel *);     /* tile, blocks, packed constants */
	void (*parameters)(struct lowered *, struct kernel *); /* what it reads and writes */
	bool statements;                                       /* it is loops, which lowered->finish makes */
	bool (*same)(const struct kernel *,
	        const struct kernel *); /* beside members and parameters: what else its code depends on */
	const struct lowered *(*inside)(const struct kernel *); /* the kernels that it holds */
	int64_t (*tiles)(const struct kernel *);                /* what a grid runs side by side; NULL: its blocks */
};
extern const struct shape_row shapes[SHAPE_COUNT];
/* "c/contraction.jinja"; "": a GPU's host goes round, no text does. */
const char *kernel_template(struct arena *, const struct target *, const struct kernel *);

/* What a kernel was reckoned to cost alone and shared, in cycles: its work, or its largest part; fork and join; lines
 * that come from other cores. */
struct shared {
	double alone, part, asking, waits_alone, waits;
	int pieces; /* into which each thread's part is cut; 0: nobody shares it */
};

/* What a kernel's code runs in: vectors of the type that most are of; of one lane where all are scalars. */
struct kernel_lanes {
	int count; /* 0: those of the calls that it is made of */
	enum dtype type;
	bool scalars; /* most of what runs are scalars nevertheless */
};

struct param {
	struct definition *of;
	const char *name;
	bool written;
}; /* C name of the pointer inside the kernel */

struct kernel {
	int number;
	const char *name; /* identifier, unique in the library: "k3_convolution" */
	enum shape shape;
	struct definition *root; /* whose reduction gives the shape; a map where there is none */
	/* What it computes, in order, without the virtual ones (they are inlined where they are read).  LOCAL members
	 * live in scratch on the stack, the others are written.  The first `outer` output variables of all members are
	 * the same: one nest of `outer` loops runs around them, and between members only elements of equal outer
	 * indices are read. */
	VECTOR(struct definition *) members;
	int outer;
	VECTOR(struct param) params; /* every buffer it reads or writes, in order of appearance */
	/* The kernel's function runs over blocks [from, to) of `blocks`: the threads' share.  1: cannot be split. */
	int64_t blocks;
	const char *blocks_of;       /* for comments: "rows of 6", "n i" */
	int parts;                   /* tasks that threads share; 1: it is not shared (share.c) */
	const struct shared *shared; /* why; NULL: nobody asked, or it cannot be split */
	struct kernel *
	        *variants; /* of the target's other GPUs, each: itself, or its like with another tile; NULL: itself */
	int warps;         /* that make a block together, where lanes are threads; 0: one */
	int elements; /* that each of its threads makes alone: `blocks` are threads, of which `warps` stand together; 0:
	                 warps make its blocks */
	double flops, bytes;       /* for cost, bench and the manifest */
	const char *tile;          /* for people: "6 x 64"; "": it has none */
	struct kernel_lanes lanes; /* for people; of what its code really does */
	struct kernel
	        *same; /* an earlier kernel whose code it runs, on tensors of its own; NULL: its code is its own … */
	int times;     /* … and serves this many kernels */
	void *detail; /* what its shape keeps: struct contraction, struct fused …; NULL: generic loops keep nothing */
	struct loops *loops;         /* its statements; NULL: its shape has none */
	const struct target *target; /* what it is made for where that is not the library's; NULL: that */
	bool arrays;                 /* … hold arrays */
	bool joined;                 /* a step whose warps share a block, and its scratch, with the steps around it */
	bool ends; /* a step of a fused kernel whose blocks are parts of its rows: who calls it says how many */
	const struct definition *within; /* its blocks end at this count, to the row; NULL: they may go on behind it */
	bool inner;                      /* a step of a fused kernel, or of a loop's body: only that calls it */
	int64_t line; /* a product in strips: elements of a line of a; its caller says which line is there. 0: all are */
};

/* A constant as the blob holds it: packed for the kernel that reads it, in pieces that follow each other, so that none
 * is ever whole in memory.  fill: the bytes of a piece, 0 behind the last; written where `out` is not NULL.  What it
 * leaves out has to be zero before. */
struct constant_item {
	struct definition *of; /* scheduled(of)->offset and ->bytes tell where */
	size_t (*fill)(const struct constant_item *, int64_t piece, void *out);
	const void *detail;
};
void constant_fill(const struct constant_item *, void *out); /* all of it */
void *constant_piece(struct build *, const struct constant_item *, int64_t piece,
        size_t *bytes); /* the caller frees it; NULL: behind the last */

/* What the user says of a tensor by its name (--mode). */
struct mode_choice {
	const char *name;
	uint32_t mode; /* a set of enum ingot_mode (ingot/mode.h) */
	bool outputs;  /* the graph has it as an output because of this: it outlives the run */
	bool lent;     /* … and because another graph of the build reads it, not by the user's word */
	bool used;
};

struct workspace_pool {
	int64_t at, bytes;
	const char *name;
}; /* a range of the workspace, and the memory where it lies: "workspace" where nobody names any */

/* A memory for the workspace (--pool), nearest first. */
struct named_memory {
	const char *name;
	int64_t bytes;
	const char *section; /* of ELF objects, which the linker puts there; NULL: nobody said */
};
typedef VECTOR(struct named_memory) memories;

/* A tile of so many vectors of sums that its compiler could not hold: the kernel of that root gets fewer. */
struct refused_tile {
	const char *root;
	int sums;
};
typedef VECTOR(struct refused_tile) refused_tiles;

/* What lower() is told besides. */
struct placing_options {
	struct mode_choice *choices;
	size_t choice_count;
	int64_t pool_cap;             /* 0: none */
	bool io_in_workspace;         /* inputs and outputs lie there, too */
	bool keeps_apart;             /* each tensor has a place of its own: others than the plan give it one */
	const refused_tiles *refused; /* NULL: none */
	const memories *memories;     /* the workspace lies in these alone; NULL or none: in one of any size */
};

enum optimise { OPTIMISE_SPEED, OPTIMISE_SIZE };
/* Makes the statements of a generic kernel, once its parameters are known: loops_finish, of a later folder. */
typedef void finish_kernel(struct lowered *, struct kernel *);
struct lowered {
	struct program *program; /* its own copy, of `struct scheduled` */
	struct arena *arena;
	const struct target *target;
	const struct target *exact; /* for sums of exact floats; NULL: the same */
	enum optimise optimise;
	finish_kernel *finish;
	struct mode_choice *choices;
	size_t choice_count;
	const refused_tiles *refused;
	VECTOR(struct kernel *) kernels; /* in the order in which they run */
	VECTOR(struct kernel *) code;    /* those of them whose code is their own */
	VECTOR(struct constant_item) constants;
	VECTOR(struct definition *) views;
	bool counted;                             /* some extents are bounds */
	int64_t workspace_bytes, workspace_bound; /* the plan's peak; the largest live set */
	int64_t workspace_align, weights_bytes;
	int64_t constants_bytes; /* of all constants, before anything is packed */
	int64_t pool_cap;        /* bytes that one pool may have; 0: any */
	bool io_in_workspace;    /* where the caller may have them: their offsets, as far as a kernel touches them */
	bool keeps_apart;        /* no tensor lies in another one's place */
	memories memories;       /* as placing_options has them */
	/* The workspace, in pools of at most that, or one a memory; at least one. */
	VECTOR(struct workspace_pool) workspace_pools;
};
bool lowered_has_memories(const struct lowered *);
const struct workspace_pool *workspace_pool_at(const struct lowered *, int64_t offset); /* plan.c: where that lies */

/* work.c: the least that a kernel has to do, whatever its code does. */
struct work {
	double multiply_adds;          /* of sums of products, by dwords of theirs */
	const struct product *product; /* … and which one; NULL: the float one */
	double operations;             /* vector instructions of other scalar functions, for elements of 32 bits */
	double bytes;                  /* read and written, each once, as far as anything asks for them */
};
struct work kernel_work(const struct lowered *, const struct kernel *);
/* The bytes of each param that the kernel reads or writes: of a slice, those alone. */
const double *kernel_asks(const struct lowered *, const struct kernel *);
/* The bytes of each param that its loops load or store, the same ones again. */
const double *kernel_traffic(const struct lowered *, const struct kernel *);

/* algorithms.c: rewrites definitions by rules on a layer's shape, alike for every target. */
void choose_algorithms(struct program *, enum algorithms);

/* Program -> kernels: place, fuse, layout, view, make_fused, choose, plan, in this order; checks in between.  The
 * program stays as it was. */
struct lowered *lower(const struct program *, const struct target *, enum optimise,
        const struct placing_options *, /* NULL: none */
        finish_kernel *);

/* within.c: inputs that a call says the extent of are read in place, but those of `copied`, by number; true where some
 * are read behind it, which become `copied`, too. */
void read_in_place(struct program *, const struct target *, const bool *copied);
bool reads_behind(const struct lowered *, bool *copied);
void read_dense(struct program *, const struct target *); /* dense.c: from a caller's rows to a caller's rows */
void find_branches(struct lowered *); /* branch.c: which kernels the schedule runs only where a condition holds */
/* groups.c: grouped sums get the group as a variable of its own. */
void split_groups(struct program *, const struct target *);
void few_terms_become_maps(struct program *, const struct target *);
void separate_windows(struct program *, const struct target *); /* windows.c: pads apart; maxima axis by axis */
/* regions.c: reductions whose ends data say have lanes along what those leave alone, */
void transpose_regions(struct program *, const struct target *);
int lane_of_region(const struct definition *); /* this variable; -1: it is none, or there is none */
enum { BLOCK_BYTES = 320 << 10 };              /* of what is `blocked`: on the stack, with what is made of it */
/* windows.c: a map that is stored, whatever computing it again would cost, for this reader. */
struct definition *define_kept(struct program *, const char *name, int rank, const int64_t *extents,
        const struct expr *body, const struct definition *reader);
/* fuse.c: `d` becomes the reduction of `from` over the variables of `reader`, which reads that one at `load`. */
void take_space(struct arena *, struct definition *d, const struct definition *from, const struct definition *reader,
        const struct expr *load);
void rows_of_planes(struct program *, const struct target *); /* apart.c: … over axes that lie apart read rows */
void keep_narrow(struct program *); /* narrow.c: weights of few bytes are widened where they are read … */
void keep_large(struct program *, const struct target *); /* … and large ones by products */
void keep_codes(struct program *, struct definition *);   /* … what --store bf16 stores is its codes */
void place(struct lowered *); /* modes.c: virtual definitions are inlined; the others get a mode and readers */
void layout_row_major(struct definition *); /* its layout until layout() chooses another; its bytes */
void find_readers(struct lowered *);        /* who reads what, anew */
void store_counts(
        struct lowered *); /* counts.c: what says how many there are is stored, so that kernels can end there */
void find_counts(struct lowered *);                    /* of each definition, which elements nobody looks at */
bool definition_is_counted(const struct definition *); /* some of its extents come at run time */
/* Do loops inside a kernel's blocks end at counts (loops/ends.c); and are of whole lanes of terms those behind a count
 * left out, … */
bool ends_by_lanes(const struct target *);
const struct index *definition_runs_from(
        struct arena *, const struct definition *); /* … from this place of what is counted on; NULL: all terms come */
const struct expr *factor_there(
        const struct definition *sum, const struct expr *); /* a factor that is 0 behind the count: it before */
int kernel_counted(const struct kernel
                *); /* of a generic kernel: the variable of its common loops that ends at a count; -1: none */
bool sums_columns(const struct definition *); /* fuse.c: it reduces what lies apart, beside its neighbours' terms */
void fuse(struct lowered *);                  /* … what is stored is gathered into kernels, sorted */
double filled(int64_t columns, int lanes);    /* the part of their vectors that so many columns fill */
bool is_viewed(const struct lowered *, const struct definition *);      /* views.c: others lie in its memory */
void kernel_join(struct arena *, struct kernel *, struct definition *); /* as its last member; NULL: nothing */
bool feeds_loop(const struct definition *); /* modes.c: a loop, or a walk down trees, reads it */
int kernel_member(const struct kernel *, const struct definition *); /* fuse.c: its number; -1: it is none */
/* The load of it in an expression; NULL: there is none, or they differ. */
const struct expr *expr_only_load(const struct expr *, const struct definition *of);
/* layout.c: the last variable of a sum that is in one factor alone; -1: none is. */
int last_alone(const struct definition *sum, const struct expr *in, const struct expr *other);
void layout(struct lowered *);     /* layout.c: strides of every stored definition */
bool keep_lanes(struct lowered *); /* layout.c: false where a kernel lost its vectors: fuse again */
void view(struct lowered *);       /* views.c: slices at constant offsets; dwords of bytes side by side */
void make_fused(struct lowered *); /* fused.c: product, rows and product, or rows and product, become one kernel */
bool arrange(struct lowered
                *); /* lower.c: false where an address is not affine: that sum has no epilogue then, or is barred from its shape */
void share_code(struct lowered *);   /* same.c: kernels of equal code */
void lie_in_place(struct lowered *); /* inplace.c: what dies with an epilogue has its result's place */
void choose(struct lowered *);       /* choose.c: name, tile, parameters, packed constants */
const char *generic_label(const struct kernel *);
void generic_parameters(
        struct lowered *, struct kernel *);   /* of members: what they read, and of them what is not local */
void plan(struct lowered *);                  /* plan.c: offsets in workspace and blob */
void scheduled_check(const struct lowered *); /* check.c: after place, after layout */
void fused_check(const struct lowered *);     /* after fuse */
void lowered_check(const struct lowered *);   /* in the end: all of it, and the plan */
void kernels_print(const struct lowered *, struct text *out); /* print.c: --stage kernels */
void share(struct lowered *, int threads);                    /* share.c: each kernel's parts */
void share_why(const struct kernel *, struct text *out);
int kernel_pieces(const struct kernel *);        /* of each thread's part; all of them are kernel->parts */
int64_t kernel_fork_most(const struct kernel *); /* nanoseconds: above that price of a fork it runs on one thread */
void plan_print(const struct lowered *, struct text *out); /* --stage plan */

/* The offset, in elements, of element at[…] of a stored definition: one index, affine wherever its parts allow. */
const struct index *schedule_address(struct arena *, const struct definition *, const struct index *const *at);
void kernel_add_param(struct arena *, struct kernel *, struct definition *, bool written);
void kernel_add_read(struct lowered *, struct kernel *, struct definition *);
void kernel_add_reads(
        struct lowered *, struct kernel *, const struct expr *); /* what it loads, constants too; NULL: nothing */
const struct lowered *kernel_inside(
        const struct kernel *); /* the kernels that it, or the one whose code it runs, holds; NULL: none */
/* What a thread of elements makes again: sums of at most so many terms, where there are so few of them. */
enum { AGAIN_TERMS = 64, AGAIN_ELEMENTS = 16 };
int64_t kernel_tiles(const struct kernel *);
const char *kernel_lanes_text(struct arena *, const struct kernel *); /* "16 lanes of float32", or "scalar" */
/* Appends tile and lanes: "tile 6 x 64, 16 lanes of float32". */
void kernel_tile_text(const struct kernel *, struct text *out);
const struct branch *kernel_branch(const struct kernel *); /* NULL: it always runs */
int kernel_check(const struct lowered *,
        const struct kernel *); /* the number of the check that it computes, and nothing else; -1: it is none */
struct definition *lowered_constant(struct lowered *, const char *name, enum dtype, int64_t words,
        size_t (*fill)(const struct constant_item *, int64_t piece, void *out), const void *detail);

/* What a kernel writes for itself alone, in the workspace. */
struct definition *lowered_scratch(
        struct lowered *, struct kernel *, const char *name, enum dtype, int rank, const int64_t *extents);

/* ---- order.c: the positions that sort each row ---- */
struct order_part {               /* of what bars a position: something of one position alone */
	const struct expr *value; /* at the position that is looked at, over the order's variables */
	struct definition *now;   /* stands for it in `bars` … */
	/* … and for that of a position taken before, which is kept in a row; NULL: nobody asks */
	struct definition *before;
};
enum { ORDER_PARTS = 32 };
struct row_order {
	int64_t rows, n, kept; /* rows, keys of each; positions of each that are stored */
	/* Keys at one time: when `room` of them are there, the `best` stay and turn others away; room n: all are. */
	int64_t best, room;
	enum dtype type; /* of the keys: U32 or U64, in the order that is wanted */
	int run;         /* keys that a thread sorts by insertion, before runs are merged */
	bool few; /* those kept so far stand in order; what comes is turned away by the last, or inserted; else keys are
	             sorted by their bytes */
	struct order_part parts[ORDER_PARTS];
	int part_count;
	const struct expr *bars;    /* over parts; those before at index variable ORDER_BEFORE */
	bool key_lanes, bars_lanes; /* several positions at once are turned away, or held against one */
	bool parts_local;           /* rows of them are the function's own */
	bool beside;                /* a few of short rows, as many beside each other as there are lanes */
	bool in_blocks; /* the function's blocks are several rows, as scratch in the workspace is of a block */
	bool local;     /* the scratch is the function's own … */
	struct definition *keys,
	        *positions; /* … or lies in the workspace: two halves for each block; NULL: it does not */
};
enum { ORDER_BLOCK, ORDER_BEFORE, ORDER_KEY, ORDER_ROW, ORDER_AT }; /* variables of what is printed */
int64_t order_row(const struct target *, const struct row_order *); /* of parts: whole vectors */
const char *order_label(const struct kernel *);
void order_choose(struct lowered *, struct kernel *);
void order_parameters(struct lowered *, struct kernel *);

/* ---- products.c: what a step over the terms does in each lane, a row for each instruction ---- */
struct product {
	const char *name; /* as a target's `products` say it; "fma": every target's */
	int m, n, k;      /* rows and columns of results that an instruction makes, 1 × 1: one in each lane; terms of a
	                     dword of a, or of b, the first one lowest */
	int temporaries;  /* registers that a step takes for itself */
	int together;     /* dwords that an instruction takes, at most, side by side along the innermost term */
	enum matrix_parts {
		MATRIX_VECTORS,   /* m rows of n columns stand in vectors */
		MATRIX_TILES,     /* … in registers of m rows, eight: two of sums by two, whose b is as that of
		                     vectors */
		MATRIX_FRAGMENTS, /* … in those of a warp, in blocks of warps alone, whose b is as that of vectors */
		MATRIX_GROUPS, /* … the same, four warps' together, whose a and b stand in shared memory, row by row and
		                  column by column */
	} parts;
	enum dtype a, b, sum; /* of the terms, and of their sum */
	enum scalar opcode;   /* a step, of two dwords */
	const char *step;     /* C: sum + a * b, of vectors of the sum's type */
};
const struct product *product_of(
        const struct target *, const struct definition *); /* NULL: no sum of products that it has, or not in a chain */
bool target_multiplies(
        const struct target *, const char *name); /* has it an instruction for the product of that name? */
const struct product *product_row(size_t); /* each that makes one result a lane, by number; NULL: there are no more */
const struct product *product_of_matrix(const struct target *, const struct product *,
        const struct definition *); /* makes more results of the sum's dwords at once; NULL: none that it has */
static inline bool product_is_matrix(const struct product *product) { return product->m > 1; }
static inline bool product_is_of_groups(const struct product *product) { return product->parts == MATRIX_GROUPS; }
static inline bool product_is_of_warps(const struct product *product)
{
	return product->parts == MATRIX_FRAGMENTS || product_is_of_groups(product);
}
/* The row that makes the same in a warp's fragments. */
const struct product *product_of_warp(const struct product *group);
static inline bool product_is_fma(const struct product *product)
{
	return product->sum == DTYPE_F32 && product->k == 1 && product->m == 1;
}
/* Of a sum, as of what a step multiplies; registers of a vector of them. */
static inline int product_bytes(const struct product *product) { return dtypes[product->sum].bits / 8; }
static inline int product_registers(const struct product *product) { return product_bytes(product) / 4; }
/* Where flash is short and size is what is asked for, weights that are bytes stay bytes. */
static inline bool weights_stay_narrow(const struct target *target)
{
	return target->options.small && target->short_flash;
}
/* Sums of products of small integers take the target's best product: what they read becomes dwords, or floats. */
void choose_products(struct program *, const struct target *);
int product_b(const struct definition *sum); /* which factor contraction.c takes as b; -1: it will not match */
const char *lowered_order(
        const struct lowered *); /* the instruction whose order its sums of rounded factors have; NULL: it has none */
const struct expr *dword_of_parts(struct arena *, const struct expr *const *, int count); /* four, the lowest first */
/* split.c: sums of products that are few blocks become sums of parts of their terms. */
void split_terms(struct program *, const struct target *);
/* exact.c: the same sum in floats, where those have all that it can be; false: it may be more.  roomy: floats may
 * also be made for sums of some of the terms. */
struct exact_sum {
	struct definition *sum, *floats;
};
struct exact_sums { /* which became floats … */
	VECTOR(struct exact_sum) all;
	struct definition **floats; /* by number; exact_sums_read's own */
};
bool sum_in_floats(struct program *, struct definition *, bool roomy, struct exact_sums *);
void exact_sums_read(struct program *, struct exact_sums *); /* … and whoever reads them as floats reads those */
bool expr_is_zero(const struct expr *);
/* The load that moves with a variable, NULL where there is none; false: there are several. */
bool expr_single_load(const struct expr *, const struct expr **load);
/* What is 0 outside of some ranges as a select of that 0; else as it is. */
const struct expr *expr_zeros_outside(struct arena *, const struct expr *);
/* offsets.c: -zero * sum(k) factor, and what the sum starts from, if anything. */
const struct expr *offset_columns(
        struct program *, const struct definition *sum, const struct expr *factor, const struct expr *zero);
/* sum(k) factor, of data, by sums over one dim of it; NULL: it has no such dim. */
const struct expr *offset_rows(struct program *, const struct definition *sum, const struct expr *factor);

/* ---- near.c: what stands near at one time, each a part of a cache of the target: one row of near.h ---- */
enum near {
#define N(name, cache, part, most, what) NEAR_##name,
#include "kernels/near.h"
#undef N
};
int64_t near_bytes(const struct target *, enum near);
const char *near_what(enum near);

/* ---- contraction.c: a sum of products over indices: matrix multiply and convolution alike ----
 * Variables of the root by their role: batch (in both factors), rows (in a only), columns (in b only), terms (reduced).
 * Inside the kernel they are renumbered: batches, then rows, then one column, then terms; neighbours that
 * every address allows are merged into one. */
enum {
	CONTRACTION_VARS = MAX_VARS,
	POOL_VAR = MAX_VARS - 3,
	K_BLOCK_VAR = MAX_VARS - 4
}; /* POOL_VAR: the row of scratch, in out_at
of a pooled one; K_BLOCK_VAR: the first outermost term of a k block */
struct contraction {
	const struct product *product;
	struct definition *root, *result; /* result is stored: root itself, or the map behind it */
	const struct index **store_at;    /* result's indices over root's output variables */
	const struct expr *epilogue;      /* result's body over root's variables; NULL: root is stored as it is */
	const struct expr *a, *b;         /* loads; a is 0 outside the pads */
	/* what the factors are beside the loads a and b */
	struct roles {
		/* what is multiplied, of the element that b loads: a cast of it, times a scale that no term moves; NULL: b */
		const struct expr *widened;
		bool ends_short; /* terms end at the count itself: behind it b is not 0, as the definition has it, but anything */
		bool swapped; /* a is the second factor of the definition */
		bool exchanged; /* a and b changed places over the layouts chosen: lanes run where the result is contiguous */
	} roles;
	const struct range *pads;
	int pad_count;
	/* set by contraction_arrange, over the kernel's own variables */
	int batches, rows, terms, column; /* counts; variables 0 … batches-1, then rows, then `column`, then terms */
	int64_t extents[CONTRACTION_VARS];
	struct definition *counts[CONTRACTION_VARS]; /* where the extent is a bound: variable v ends at counts[v] times
	                                                each[v]; NULL: at the extent */
	/* what of the definitions was brought over those variables */
	struct arranged {
		int64_t each[CONTRACTION_VARS];
		const struct range *pads;
		const struct index *of_root[CONTRACTION_VARS]; /* each variable of the root over the kernel's */
		const struct expr *start, *value,
		        *wide; /* start, epilogue and what widens b over the kernel's variables; NULL: none */
	} arranged;
	const struct index *a_at, *b_at, *out_at;
	enum b_mode {
		B_PACKED,
		B_DIRECT,
		B_GATHERED
	} b_mode; /* weights blob; read in place; packed into scratch per panel */
	/* set by choose: balanced row blocks of at most so many rows, panels of at most so many vectors */
	struct tile_size {
		int rows, vecs;
		bool forced; /* its tile is the target's own, by --tile */
	} tile;
	int64_t row_blocks, panels, group; /* group: row blocks that run over all panels before the next ones */
	/* what is fetched ahead, and what stays near */
	struct memory_use {
		bool whole_rows; /* groups are so small that what each leaves stays in L2 until its rows are whole */
		int next_lines;  /* cache lines of b's next part to fetch in each turn of the innermost loop; 0: none */
		int ahead;       /* bytes ahead of the codes that are read others are fetched; 0: they come in time */
		double a_block;  /* bytes of a that a block of rows reads over all terms */
	} memory;
	/* what is copied before it is read or stored */
	struct staging {
		bool copied;      /* a is packed though it has no pads: it lies far apart */
		int64_t a_blocks; /* blocks of a group whose packed parts of a stand side by side, copied once for all
	                            panels and k blocks; 0: each tile copies its own */
		bool a_rows;      /* … they are a row's, which is copied whole, with all that its blocks read */
		/* Where rows lie side by side in the result and columns apart, a group's part of a panel stands in scratch and
		 * is transposed by squares: rows of it at most, 0: stored as it comes; the blocks over which rows go on
		 * side by side, and the elements from there to the next ones (0: that is all). */
		int64_t transposed, span, around;
	} staging;
	int64_t k_block;   /* outermost terms of a k block; between k blocks sums lie where the result will; 0: all
	                   at once */
	bool split_panels; /* threads share panels, not rows: all row blocks run over each */
	/* a block of warps, where each is not for itself */
	struct warp_block {
		/* A block of so many warps, each a tile, below each other: all rows in one, a and b staged in chunks of `depth`
		 * terms, `stages` of them on hand or on their way.  0: each warp for itself */
		int warps, depth, stages;
		bool boxed; /* one more warp asks for a and b, which come by boxes (boxes.c) */
		struct reckoned {
			double cycles;
			const char *bound;
		} reckoned;   /* of an SM by such blocks, and what bounds them */
		double apart; /* cycles by warps alone; 0: nothing was reckoned */
	} block;
	/* how b lies where it is packed */
	struct packed_panel {
		bool interleaved; /* the vectors of a packed panel lie lane by lane: what a lane needs of a term is one load */
		struct definition *packed; /* the constant b as the blob holds it */
		bool bytes; /* packed dwords of two terms of 16 bits are bytes: two of them share one, bytes 0 and 2, 1 and 3 */
		bool quads; /* four dwords of a column, and of a, lie side by side: a step takes them all */
	} panel;
	struct codes {
		int bits;     /* 0: b is no codes */
		int exponent; /* of floats of 8 bits, so many of them; 0: codes are integers */
		bool apart;   /* each panel is widened into scratch, in front of many rows: B_GATHERED */
		bool zeros;   /* a zero point stands behind each scale … */
		int64_t zero; /* … or this is that of all */
	} codes;
	int taps; /* tiles leave out what lies in the pads, of so many outer terms; 0: nothing */

	/* A maximum over windows that do not overlap, behind the result: result is then LOCAL, some rows in scratch. */
	struct pool {
		struct definition *d;       /* NULL: none */
		int row, across;            /* the root's variables that the windows run along */
		int64_t size[2], stride[2]; /* of the window: rows, across */
		bool by_panel;              /* scratch holds the columns of one panel: lanes are 1 */
		int of[MAX_RANK]; /* the root's variable that each of d's output variables stands for; -1: extent 1 */
	} pool;

	/* What a map makes of each element of the result: where lanes are threads it is stored beside it. */
	struct beside {
		struct definition *d;      /* NULL: none */
		const struct expr *value;  /* over the root's variables */
		const struct index *at;    /* its place, over the kernel's variables, as `value` is … */
		const struct expr *stored; /* … here */
	} beside;

	/* a rewritten convolution (choose_winograd.c); a and b are NULL */
	struct rewrite *rewrite;
	/* its input, its filters and what lies between */
	struct winograd_form {
		VECTOR(struct definition *) parts; /* the definitions between: transforms and products */
		struct definition *x;
		int64_t x_image, x_row, x_pixel, x_channel,
		        x_base; /* floats between neighbours of x, and to its element 0 */
		int lanes;
		bool prefetch;
		/* filters that come at run time and are transformed inside: the tensor, its element 0, and floats between its
		 * neighbours; k_block: of so many channels at a time */
		struct definition *w;
		int64_t w_base, w_out, w_channel, w_row, w_column;
		bool kept; /* all of them once in each call, in front of all groups */
	} winograd;
};
const char *contraction_label(const struct kernel *);
void contraction_parameters(struct lowered *, struct kernel *);
bool contraction_same(const struct kernel *, const struct kernel *);
int64_t contraction_tiles(const struct kernel *);
/* Refuses the tile of the kernel and of those that run its code.  False: there is none that is smaller. */
bool tile_refuse(const struct lowered *, const struct kernel *, refused_tiles *);
const char *winograd_label(const struct kernel *);
void winograd_parameters(struct lowered *, struct kernel *);
/* The load in a factor that widens elements of a constant and moves with the terms, where nothing else in it does;
 * NULL: it is no such factor. */
const struct expr *contraction_widened(const struct definition *root, const struct expr *factor);
/* codes.c: (float)(code - zero point) * scale, of constants; zero NULL: there is none; of floats of 8 bits, scale, too. */
struct code_loads {
	const struct expr *code, *zero, *scale;
};
bool codes_match(const struct expr *, struct code_loads *);
/* The load of the codes in such a factor, where neighbouring terms share the others: the innermost ones, all of those
 * that move but for one term around them; NULL: it is no such factor. */
const struct expr *codes_widened(const struct definition *sum, const struct expr *factor);
/* Makes two terms of one, so that it is; false: it cannot, and the sum is changed. */
bool codes_split(const struct program *, struct definition *sum, int factor);
/* Whether tiles widen codes while they read them. */
static inline bool codes_in_tile(const struct contraction *c) { return c->codes.bits && !c->codes.apart; }
void codes_choose(struct contraction *);          /* of a contraction whose b is widened: its `codes` */
int64_t codes_alike(const struct contraction *);  /* terms that share a scale */
bool codes_in_groups(const struct contraction *); /* a block's chunk has several such */
int64_t codes_words(const struct contraction *);  /* of 32 bits that the terms of a column take … */
int64_t codes_chunk(const struct contraction *);  /* … and those of a block's chunk; 0: it has no whole ones */
struct definition *codes_pack(struct lowered *, const struct contraction *, int64_t columns);
struct definition *contraction_count(
        const struct contraction *, int v);              /* where the root's variable v ends; NULL: at its extent */
bool contraction_is_counted(const struct contraction *); /* a loop of its kernel ends at a count */
void contraction_add_counts(struct lowered *, struct kernel *); /* as parameters */
bool contraction_counts_outer(const struct contraction *); /* … and none of a tile's: of its rows, columns, terms */
int contraction_row(const struct contraction *);           /* the variable of a tile's rows; -1: none */
int64_t contraction_extent(const struct contraction *, int term); /* of one k block */
bool packs_group_of_a(const struct contraction *);                /* those of a group's blocks, each of all k blocks */
bool packs_rows_of_a(const struct contraction *);                 /* … as one: that of all blocks of a row */
int64_t packed_a_rows(const struct contraction *);                /* rows that packed a serves */
/* The term along which a pad runs; -1: none. */
int contraction_term_of(const struct contraction *, const struct range *pad);

/* Tiles along a pad; the first and the last row of one of them there, at the first taps. */
int64_t pad_tiles(const struct contraction *, const struct range *pad);
void pad_rows(const struct contraction *, const struct range *pad, int64_t tile, int64_t *first, int64_t *last);
double tiles_inside(const struct contraction *); /* packed_a.c: the part of all tiles that reach into no pads */
int64_t packed_a_extent(const struct contraction *, int term); /* of what packed a holds */
/* ending.c: value is [relu] (root [+ add]), which a tile of the JIT's menu does to its sums itself; false: something
 * else. */
enum { TILE_TERMS = 3 }; /* loops of terms in such a tile */
struct tile_ending {
	bool relu;
	const struct expr *add;
};
bool tile_ending(const struct expr *value, const struct definition *root, struct tile_ending *);
bool tile_ends_itself(const struct contraction *, struct tile_ending *);
bool tile_waits(struct arena *, const struct target *, const struct contraction *); /* may it have k blocks? */
int contraction_steps(
        const struct contraction *, const struct target *, int rows); /* of k in a turn of a tile's innermost loop */

/* A CPU whose lanes wait for memory, so that what stands near counts. */
static inline bool has_caches(const struct target *target)
{
	return target->lanes > 1 && !target->hides_latency && !target->options.small;
}
enum { TOGETHER_QUAD = 4 }; /* dwords that some products take side by side */
enum { FAR = 2048 }; /* bytes from line to line: each in a page of its own, many in the same place of the cache */

/* ---- stage.c: a part of a factor that stands nearer while a loop of its reader runs: the box of it that is needed
 * there, and how it lies ---- */
struct stage_dim {
	int term;     /* the term that runs along it; -1: none */
	int64_t step; /* elements between neighbours of the term … */
	int64_t rows; /* … and of the tile's rows, where they share it: a window that the whole tile sees; 0: they do
	                 not */
	int outer;    /* of stage_whole: the variable that runs along it alone, and one; 0: none */
	int64_t extent, stride, lies; /* elements; floats between neighbours, of the tensor and in the box */
	const struct range
	        *pad; /* zeros where pad->at, of element 0, + factor * element lies outside; NULL: all is there */
	int64_t factor;
};
struct stage {
	int dims;
	struct stage_dim dim[MAX_VARS]; /* outermost first, dense */
	int64_t floats, of_row, of_term[MAX_VARS],
	        of_outer[MAX_VARS]; /* floats of the box; in it, between neighbouring rows, terms, and values of the
	                               variables around */
};
enum { STACK_FLOATS = 1 << 19 }; /* the most of a tensor that a kernel has on its stack */
void stage_padded(const struct contraction *, int64_t rows,
        struct stage *); /* of a, with its zeros: what a tile of so many rows reads */
bool stage_whole(const struct contraction *, struct stage *); /* the same of all tiles; false: that is no box */
void stage_pooled(const struct contraction *, int lanes,
        struct stage *); /* of the result: window rows, across, columns that one row of maxima reads */
struct contraction *winograd_match(struct lowered *, struct definition *); /* NULL: not rewritten */
bool winograd_arrange(struct arena *, struct contraction *);
void winograd_choose(struct lowered *, struct kernel *);
struct definition *winograd_filters(
        const struct contraction *); /* what its kernel reads: packed constants, w, or u where that is stored */
struct contraction *contraction_match(const struct lowered *, struct definition *);
/* False where an address is not affine under the layouts chosen: then it runs as generic loops. */
bool contraction_arrange(struct arena *, struct contraction *);
/* pool.c: finds such a maximum; only where each value is read once */
void fuse_pools(struct lowered *);
struct definition *contraction_output(const struct contraction *); /* what its kernel writes */

/* ---- fused.c: kernels over the same rows, one after the other on a block of them: what lies between stands in scratch
 * ---- Its body is a program of its own, of one block: outside tensors are its inputs and its output, pointers that
 * move from block to block; the others are its workspace, which is the fused kernel's scratch. */
struct fused_tensor {
	struct definition *inside, *outside;
	int64_t step[MAX_RANK];
}; /* elements by which it moves with each axis */
struct fused {
	struct lowered *body;
	int axes; /* those that all steps share; the last one is cut into blocks of `rows` */
	int64_t extents[MAX_RANK], rows;
	int64_t inner; /* rows that stand in each of those: heads that share keys and values; 1: they are rows
	                  themselves */
	struct definition *counts[MAX_RANK]; /* where axes end; NULL: at their extents */
	int64_t shared; /* floats that its products stage in turn, where warps make them together */
	VECTOR(struct fused_tensor) tensors;
};
const struct fused_tensor *fused_tensor(
        const struct fused *, const struct definition *inside); /* NULL: it lies in scratch */
/* Blocks of rows that one block of the kernel runs: where rows are left over, the last two, which then share some. */
int64_t fused_units(const struct fused *);
int64_t fused_scratch(const struct fused *); /* floats */
const char *fused_label(const struct kernel *);
void fused_parameters(struct lowered *, struct kernel *);
void fused_choose(struct lowered *, struct kernel *);
const struct lowered *fused_inside(const struct kernel *);

/* ---- strips.c: some lines of a map, then the rows of the product that reads them ---- */
struct strips {
	struct kernel *product;
	struct lowered *body;                           /* one kernel, which makes a line */
	struct lowered *inside_of;                      /* both */
	struct definition *map, *from, *inside, *strip; /* what lines are of; what the map reads, and in the body; where
	                                                   lines stand */
	unsigned lines_of;                              /* the map's dims that a line has not, a bit each */
	int64_t line, lines;                            /* elements of one, and how many */
	int64_t low, high, step; /* lines [low, high) read, each so many elements behind the one before … */
	int64_t border;          /* … the others are this number */
	int64_t of_row, of_around,
	        reach;       /* elements of the map by which the product's rows, and what is around them (0:
	                                     nothing), move, and its terms reach */
	int64_t group, most; /* blocks of rows that share a strip; its lines */
};
const struct strips *kernel_strips(const struct kernel *); /* NULL: it has none */
void make_strips(struct lowered *);                        /* as far as the workspace becomes smaller */
const char *strips_label(const struct kernel *);
const struct lowered *strips_inside(const struct kernel *);
void strips_choose(struct lowered *, struct kernel *);
void strips_parameters(struct lowered *, struct kernel *);
bool strips_same(const struct kernel *, const struct kernel *);

/* ---- repeat.c: a program that runs round after round ---- */
struct rounds {
	const struct repeat *repeat;
	struct lowered *body;
	const struct expr **operand; /* for each input of the body: a load of it */
	struct definition **results; /* for each output: where it goes; NULL: nobody wants it */
	int64_t *place, *other;     /* for each output, bytes in the scratch: where it goes without a result; the second
	                               place of what is carried; else -1 */
	struct definition *scratch; /* the body's workspace, and those places; NULL: there is nothing */
};
const char *repeat_label(const struct kernel *);
void repeat_choose(struct lowered *, struct kernel *);
void repeat_parameters(struct lowered *, struct kernel *);
const struct lowered *repeat_inside(const struct kernel *);
/* The number of the body's input, or output, that this is; -1: it is none. */
int repeat_input(const struct rounds *, const struct definition *);
int repeat_output(const struct rounds *, const struct definition *);
bool repeat_same(const struct kernel *, const struct kernel *);

/* ---- walk.c: which leaf of each tree a row comes to ---- */
enum { WALK_ROWS = 8 }; /* side by side: while one waits for a node the others go on */
struct walk_blocks {
	int64_t rows;               /* that go down all trees before the next ones: they stay in L2 */
	int64_t per, blocks_of_row; /* a block is so many rows, or a part of the trees of one */
};
const char *walk_label(const struct kernel *);
void walk_choose(struct lowered *, struct kernel *);

/* ---- own.c: an operator of the user's own, by a kernel that he wrote ---- */
struct own_tensors {
	const struct expr **operand; /* for each input: a load of it */
	struct definition **results; /* for each output: where it goes */
};
/* Is a repeat computed by a kernel of the user's on this target?  EXIT_UNSUPPORTED where that alone could. */
bool own_runs(const struct lowered *, const struct definition *);
const char *own_label(const struct kernel *);
void own_choose(struct lowered *, struct kernel *);
void own_parameters(struct lowered *, struct kernel *);

/* Sums of neighbouring columns lie in a vector, and so does what is made of them, where nothing in it depends on which
 * lane it is: of floats, and where the target's epilogues take them, of every type that has lanes. */
bool contraction_in_lanes(const struct target *, const struct contraction *, const struct expr *epilogue);
/* Exchanges a and b where the result lies side by side along rows: those become the columns, along which lanes run.  No
 * sum changes.  False: it cannot be.  Again: back to where they were. */
bool contraction_exchange(const struct target *, struct arena *, struct contraction *);

/* block.c: a block of warps where that pays; false: each warp for itself. */
void packed_a_choose(const struct target *, struct contraction *);
/* Where it is a constant; `rows` of the result share each panel, `terms` of all batches. */
void packed_b_choose(struct lowered *, struct contraction *, int64_t rows, int64_t terms);
void taps_choose(const struct target *, struct contraction *);
/* Do terms 0 * w add +0, once?  All of w is finite, and among terms [inner, end) of each round of the variables before
 * them is one without a sign. */
bool zero_is_known(const struct definition *w, const struct index *w_at, const int64_t *extents, int inner, int end);
/* matrix.c: its product becomes one of m × n results an instruction, where its factors lie as that wants them; the tile
 * of such a one; dwords of a step over the innermost term. */
void matrix_choose(const struct target *, struct contraction *);
void matrix_tile(const struct target *, struct contraction *, int64_t rows, int64_t columns);
int matrix_step(const struct contraction *);
/* Dwords of a column that stand side by side in a panel. */
static inline int matrix_together(const struct contraction *c)
{
	return product_is_matrix(c->product) && c->product->parts == MATRIX_VECTORS ? c->product->together : 1;
}
int block_a_together(const struct contraction *); /* floats that one copy takes: of terms, where no pad lies between */
int block_b_together(const struct contraction *, int along);
bool block_choose(const struct target *, struct contraction *, int sums); /* sums: the most of a warp's tile */
bool block_resize(const struct target *, struct contraction *,
        int sums); /* as it is, with other rows and chunks: another; false: it stays */
struct block_choice {
	struct block_tile tile;
	double cycles;
};
enum { BLOCK_CHOICES_MOST = 14 };
double block_least(const struct target *, const struct product *, int64_t rows, int64_t columns, double batches,
        double terms); /* cycles of the blocks of fragments that take least */
int block_choices(
        const struct target *, const struct contraction *, struct block_choice *); /* all that it can have, each once */
int64_t block_stage_floats(const struct contraction *, int lanes);                 /* of shared memory, at most */
/* boxes.c: rows of a, or columns of b, as a tensor of two axes, in dwords, as TMA is told of it; the term and the row of
 * each where a block's own begin to count.  false: they do not lie so, or arguments are pointers alone. */
struct tensor_box {
	int64_t at, extent[2], pitch;
};
bool find_boxes(const struct target *, const struct contraction *, struct tensor_box *a, struct tensor_box *b);
void box_begins(
        struct arena *, const struct contraction *, const struct tensor_box *, bool of_b, const struct index **at);
/* tile.c */
enum {
	VECS_MOST = 4,
	VECS_ROW = 16
}; /* of a tile, and of one row alone whose b is read where it lies: a power of two that divides them */
/* The terms of a nest, and where what they read lies: a or b a line further on with each term; the lines from one row
 * of a to the next, 1 at most; the cycles that packing a vector of b takes (0: it is packed already, or never), where
 * so many blocks of rows read it. */
struct steps {
	int64_t terms;
	bool floats, a_far;
	int registers; /* of a vector */
	double b_lines, a_lines, pack;
	int64_t pack_from;
};
double tile_choose(const struct target *, int registers, int64_t rows, int64_t columns, const struct steps *,
        int most_vecs, int *tile_rows, int *tile_vecs); /* cycles */
/* Of a tile: the cycles of a step over k, and what bounds them; those of all tiles of so many rows and vectors; whether
 * its sums fit registers. */
struct reckoned tile_step(const struct target *, int64_t rows, int64_t vecs, const struct steps *);
double tile_cost(const struct target *, int64_t rows, int64_t vecs, int64_t r, int64_t v, const struct steps *);
bool tile_fits(int registers, int64_t rows, int64_t vecs, int r, int v);
struct tiles_nest {
	int64_t rows, columns, terms, batches, outer;
};
struct tiles_nest contraction_nest(const struct contraction *); /* extents of the tiles' nest */
/* All terms of a sum. */
static inline int64_t contraction_depth(const struct contraction *c)
{
	return extents_product(c->terms, c->extents + c->column + 1);
}
struct steps contraction_terms(const struct target *, const struct contraction *);
/* Some rows of b over all panels before the next ones: the only k blocks of what is not packed. */
static inline bool contraction_k_blocked(const struct contraction *c) { return c->k_block && c->b_mode == B_DIRECT; }
bool lines_crowd(const struct target *, int64_t bytes,
        int64_t count); /* lines so far apart lie in few sets of L1: more of them than its ways hold push each other out */
enum near near_of_panel(const struct contraction *),
        near_of_group(const struct contraction *); /* which row a panel of its b goes by */
void contraction_choose(struct lowered *, struct kernel *);
bool tiles_forced(const struct lowered *); /* whether any has the tile of --tile */
void contraction_why(const struct target *, const struct contraction *, struct text *); /* for people */
void winograd_why(const struct target *, const struct contraction *, struct text *);
#endif
