/* jit.h: kernels -> C text in the plain dialect that calls the menu (docs/jit.md) -> a function in memory.
 *
 * A block is up to `rows` rows of up to `n` lanes of values.  Expressions are cut into calls of the menu, one for each
 * scalar function and block, over scratch that stays in L1; a contraction into calls of its tiles.  What has no such
 * form is printed as scalar loops in the same dialect: slow, with the same bits. */
#ifndef JIT_JIT_H
#define JIT_JIT_H
#include "backends/cpu/jit.h"
#include "emit/emit.h"
#include "loops/loops.h"

enum {
	JIT_ROWS_MOST = 14,
	JIT_VECS_MOST = 4, /* of a contraction's tile */
	JIT_POINT_VECS = 2,
	JIT_POINT_LANES = 16,       /* of a tile of a Winograd point, that has an entry of its own */
	JIT_BLOCK = 2048,           /* values of a block, about: some of these fit L1 */
	JIT_LANES_MOST = 1024,      /* of a block whose loop is longer */
	JIT_FEW = 16,               /* elements of a call that are not worth one */
	JIT_TERMS_MOST = 256,       /* of one chain */
	JIT_PARAMS_MOST = 240,      /* of one kernel */
	JIT_SCRATCH_MOST = 1 << 26, /* floats of one kernel */
};

/* ---- menu.c: the build prints the menus ---- */
bool jit_tile_fits(const struct target *, int rows, int vecs);
/* Has the menu tiles of this product, beside those of floats, and the target an instruction for it? */
bool jit_multiplies(const struct target *, const struct product *);
void jit_menu_print(struct build *, const struct target *, struct text *out);
void jit_menu_list_print(struct build *, const char *const *cpus, int count, struct text *out);

/* ---- block.c (and places.c, bytes.c, select.c): expressions -> calls over blocks ---- */
/* The loop variables that a block takes at once; -1: one round.  The texts are how many, at most `most`. */
struct dims {
	int row, lane;
	const char *rows, *n;
	int64_t rows_most, n_most;
};
extern const struct dims dims_one;
bool blocks_bends(const struct index *, const struct dims *); /* along the rows or the lanes */

/* Where a block's values lie: a C pointer to the first, and strides in values. */
struct operand {
	const char *at;
	int64_t row, lane;
	bool temporary;
	bool bends; /* each lane finds its place, behind `at` and these strides */
};

struct used {
	const char *name, *signature;
};

/* ---- typed.c: what lies along the lanes of a block ---- */
/* Integers of up to 32 bits are 32 bits there, as their type extends them. */
struct lanes {
	const char *name, *c; /* in the menu's names; a C type */
	int floats;           /* of scratch that one takes */
};
const struct lanes *lanes_of(enum dtype);    /* NULL: the menu has none */
bool lanes_lie(enum dtype);                  /* in memory as in lanes */
bool jit_typed_row(enum dtype, enum scalar); /* has the menu this row of scalars.h of that type, none of float? */
const char *jit_row_lanes(enum dtype, enum scalar); /* whose name its entry has */
const char *jit_bytes_row(enum dtype, enum scalar); /* … of bytes as they lie; NULL: the menu has none */
/* What makes values of those of other lanes, and which type they are then wrapped to. */
struct conversion {
	const char *entry; /* before the letter of its operand's way; NULL: none is needed */
	enum dtype wrap;   /* DTYPE_COUNT: not */
};
bool jit_conversion(struct arena *, const struct expr *cast, struct conversion *); /* false: the menu has none */
/* Places that the lanes of many blocks find, made once. */
struct places {
	const struct index *index;
	int64_t n;
	struct operand at;
};
/* A constant as lanes that are alike, made once. */
struct spread {
	const char *constant;
	int64_t n;
	struct operand at;
};
/* One kernel while it is printed. */
struct blocks {
	struct build *build;
	struct arena *arena;
	const struct kernel *kernel;
	struct program *program;
	struct printer printer;        /* prints addresses and conditions; its `lane` is -1 */
	const struct definition *root; /* its loads are `sums`; NULL: none are */
	struct operand sums;
	/* Another load that lies in scratch; false: it is a buffer's.  NULL: there is none. */
	bool (*place)(void *user, const struct expr *load, const struct dims *, struct operand *out);
	void *user;
	bool by_rows;       /* what lies in scratch does so by rows and lanes alone: a block may be taken row by row */
	const char *row;    /* then: how many rows before this one; NULL: it is not */
	int cuts;           /* not 0: blocks may be cut along their lanes too; how many were, and 1 */
	const char *lane;   /* then: how many lanes before this one; NULL: it is not */
	struct value list;  /* the statements so far, for templates/c/jit_kernel.jinja */
	bool keeps;         /* `first` is printed */
	struct value first; /* before all of them; what those make stands in `kept` floats behind scratch */
	int64_t kept;
	int ended;       /* this loop variable's rounds end … */
	const char *end; /* … at this text; NULL: none's do */
	uint64_t whole;  /* loop variables whose rounds a block takes all at once */
	VECTOR(struct places) places;
	VECTOR(struct spread) spread;
	VECTOR(const char *) constants; /* declared: "float c0 = 0.5f" … */
	VECTOR(struct used) used;       /* entries of the menu */
	int64_t scratch, scratch_most;  /* floats: in use, and at most */
	bool terms;                     /* a list of terms is needed */
	bool few;                       /* many blocks have fewer than JIT_FEW elements */
	const char *cannot;             /* why there is no such form; NULL: there is */
	struct values *values;          /* block.c's own: what an expression is made of */
};
/* Addresses and conditions are printed with these names of variables; loads of the root lie where `sums` says. */
void blocks_begin(struct blocks *, const struct emit *, const char *const *names, const struct definition *root);
void blocks_cannot(struct blocks *, const char *why);
struct value blocks_entry(struct blocks *, const char *kind);
struct value blocks_open(struct blocks *, const char *kind, const char *body,
        struct value *outer);                           /* what follows goes into its body … */
void blocks_close(struct blocks *, struct value outer); /* … until here */
/* A loop of the glue; the text of how many rounds a step of `chunk` takes at the variable's value. */
struct value blocks_loop(struct blocks *, int var, int64_t extent, int64_t step, struct value *outer);
const char *blocks_count(struct blocks *, int var, int64_t extent, int64_t chunk);
void blocks_let(struct blocks *, const char *type, const char *name, const char *value);
void blocks_lets(struct blocks *); /* what the printer wants said first */
const char *blocks_scratch(struct blocks *, int64_t floats, int64_t *offset);
/* A pointer to values of the type that lie so many floats behind scratch. */
const char *blocks_at(struct blocks *, enum dtype, int64_t offset);
/* Scratch for values of the type, each of as many floats as its lanes say. */
const char *blocks_lanes(struct blocks *, enum dtype, int64_t values, int64_t *offset);
void blocks_uses(struct blocks *, const char *name,
        const char *signature); /* signature: jit_program.jinja's word for its parameters */
void blocks_call(struct blocks *, const char *name, const char *signature, const char *arguments);
const char *blocks_constant(struct blocks *, const struct expr *number); /* "&c3" */
const char *blocks_pointer(struct blocks *, struct operand);             /* and from row to row: "scratch + 32, 80" */
struct operand blocks_temporary(struct blocks *, enum dtype, const struct dims *);
const char *blocks_mover(struct blocks *, const char *name, enum dtype); /* of as many bits */
void blocks_move(struct blocks *, int bytes, struct operand to, struct operand from, const struct dims *);
void blocks_copy(struct blocks *, enum dtype, struct operand to, struct operand from, const struct dims *);
/* What the kernel keeps in scratch is no variable of the glue: an address or a condition cannot name it. */
void blocks_no_cells(struct blocks *, const struct index *, const struct dims *);
bool blocks_in_scratch(struct blocks *, const struct expr *load, const struct dims *, struct operand *out);
struct operand blocks_buffer(struct blocks *, const struct expr *load, const struct dims *);
/* The expression's values as an operand; lanes apart are gathered where `dense`. */
struct operand blocks_value(struct blocks *, const struct expr *, const struct dims *, bool dense);
/* One for all lanes as lanes that are alike. */
struct operand blocks_spread(struct blocks *, enum dtype, struct operand, const struct dims *);
struct operand blocks_vector(
        struct blocks *, const struct expr *, const struct dims *); /* its value, lanes side by side */
/* To lanes: scratch, or a buffer of a type that lies in memory as in lanes. */
void blocks_into(struct blocks *, const struct expr *, const struct dims *, struct operand to);
/* To the element that `place` loads, as its type lies there. */
void blocks_store(struct blocks *, const struct expr *, const struct dims *, const struct expr *place);
/* … to elements of a type that lies otherwise. */
void blocks_put(struct blocks *, const struct expr *, const struct dims *, enum dtype, struct operand to);
/* A load or number where it lies, without a call; false: it needs one. */
bool blocks_leaf(struct blocks *, const struct expr *, const struct dims *, struct operand *out);
/* ---- places.c ---- */
struct operand blocks_index(struct blocks *, const struct index *, const struct dims *);  /* integers of 64 bits */
struct operand blocks_kept(struct blocks *, enum dtype, const char *constant, int64_t n); /* ahead of the loops */
/* A load whose lanes find their places; false: it is something else. */
bool blocks_find(struct blocks *, const struct expr *load, const struct dims *, const struct operand *to,
        struct operand *out); /* to: where they go; NULL: to scratch */
/* ---- bytes.c ---- */
/* Of a load from a table of bytes those bytes; false: it is another. */
bool blocks_looked_up(struct blocks *, const struct expr *, const struct dims *, struct operand *);
/* Four bytes that lie apart as the integer that they are, xor a number; false: it is another.  to: where it goes; NULL:
 * to scratch. */
bool blocks_words(
        struct blocks *, const struct expr *, const struct dims *, const struct operand *to, struct operand *);
/* A value of bytes, of what bytes have rows for, or one that is moved, into a buffer of them; false: it is another. */
bool blocks_store_bytes(struct blocks *, const struct expr *, const struct dims *, struct operand to);
/* ---- quantised.c ---- */
/* What is rounded to bytes, and bytes as floats; false: it is something else.  to: where it goes, as bytes or as lanes;
 * NULL: to scratch, as lanes. */
bool blocks_quantised(struct blocks *, const struct expr *, const struct dims *, const struct operand *to, bool bytes,
        struct operand *out);
/* ---- select.c ---- */
/* All of the ranges, as C; what it needs said first stands before. */
const char *blocks_condition(struct blocks *, const struct range *, int count, const struct dims *);
/* Does each of the ranges that uses the variable cut the variable's rounds in three at most? */
bool blocks_cuts(const struct range *, int count, int var);
/* May both of its values be computed for each lane, of which one is then taken?  Each load is in its buffer. */
bool blocks_masks(const struct expr *select);
/* A block in three: the lanes before those where all ranges hold, those (part 1), the lanes behind; each is a block of
 * its own, where the lane's variable stands at its first.  False: no range asks for the lane, or not so. */
struct cut {
	const struct dims *whole;
	const char *name, *own, *end[4], *lane;
	struct value outer, part;
	uint64_t rounds;
};
bool blocks_cut(struct blocks *, const struct range *, int count, const struct dims *, struct cut *);
struct dims blocks_cut_open(struct blocks *, struct cut *, int part);
void blocks_cut_close(struct blocks *, struct cut *);
void blocks_cut_end(struct blocks *, struct cut *);
void blocks_select(struct blocks *, const struct expr *select, const struct dims *, struct operand to);

/* ---- loops.c (with lanes.c, sums.c, chains.c: walking.h), window.c, contraction.c, winograd.c, cast.c, order.c,
 * walk.c: a kernel's function; false where there is no such form (`why` says what is missing) ---- */
struct jit_kernel {
	struct value value;
	int64_t scratch;
};
bool jit_cast(struct blocks *, struct emit *, struct jit_kernel *);
const char *jit_cast_name(struct arena *, const char *key); /* of the entry that a key has, where the menu has one */
/* An entry of that CPU's menu; NULL: it has none. */
const struct jit_symbol *jit_entry(const char *cpu, const char *name);
bool jit_order(struct blocks *, struct emit *, struct jit_kernel *);
bool jit_walk(struct blocks *, struct emit *, struct jit_kernel *);
bool jit_loops(struct blocks *, struct emit *, struct jit_kernel *);
/* ---- parts.c: of loops.c; a loop whose addresses are quotients and remainders of one number becomes two without ---- */
void jit_part(struct loops *);
/* ---- scatter.c: of loops.c; loops whose rounds each store to a place that they find; false: they are others ---- */
bool jit_scatter(struct blocks *, struct loops *, const struct stmt *loop, const struct dims *);
bool jit_window(struct blocks *, struct emit *, struct jit_kernel *);
bool jit_winograd(struct blocks *, struct emit *, struct jit_kernel *);
bool jit_contraction(struct blocks *, struct emit *, struct jit_kernel *);

/* ---- program.c: all kernels -> text -> code ---- */
/* 0, or the code of a check that does not hold: CHECK_CODES (of a part: its first code) and so on. */
typedef int jit_run(const void *const *inputs, void *const *outputs, unsigned char *workspace,
        const unsigned char *weights, float *scratch);
typedef void jit_mark(void *user, int kernel);
typedef void jit_profile(const void *const *inputs, void *const *outputs, unsigned char *workspace,
        const unsigned char *weights, float *scratch, jit_mark *, void *user);
struct jit_program {
	bool profiled;    /* set before: `profile` is wanted too */
	const char *name; /* … of the library that its kernels would be in, whose names templates know */
	uint32_t written; /* … shapes, by bit, whose template is the user's own: compiled, not made of calls */
	struct jit_code *code;
	jit_run *run;
	jit_profile *profile;  /* the same with marks: -1 before the first kernel, then the number of each behind it */
	int64_t scratch_bytes; /* beside it lie JIT_LANES_MOST zeros: `scratch` points behind them */
	const char *text;      /* what libtcc was given; in the build's arena */
	int scalar_kernels;    /* without a form of their own: scalar loops */
	bool *scalar;          /* by number: which */
	bool *few;             /* … and which of the others have many calls on fewer than JIT_FEW elements */
};
/* Into a program that is zero but for what is set before.  EXIT_ENVIRONMENT where this build or process cannot, naming
 * why. */
void jit_build(struct jit_program *, struct build *, const struct lowered *, struct environment *templates);
/* A graph of several in one text. */
struct jit_part {
	const struct lowered *lowered;
	const char *name;      /* what its kernels' names begin with */
	const char *run;       /* the function of its schedule */
	int first_check;       /* the code of its first check */
	struct value schedule; /* written: [{name, arguments, blocks, scalar}] */
	int64_t scratch_bytes; /* written: that `run` needs */
};
void jit_parts_text(struct jit_program *, struct build *, struct jit_part *, int count, struct environment *templates,
        struct text *out);
/* With symbols besides the menu's. */
void jit_compile_text(struct jit_program *, struct build *, const char *cpu, const struct text *,
        const struct jit_symbol *, size_t count);
void jit_text(
        struct jit_program *, struct build *, const struct lowered *, struct environment *templates, struct text *out);

/* ---- module.c: a module descriptor in memory, for the runtime ---- */
/* The routines of a package's parts, compiled by libtcc: what package/module.jinja prints, over the JIT's kernels.
 * Stays until jit_module_close; EXIT_ENVIRONMENT as with jit_build.  The package's `cc` and `managed` mean nothing
 * here. */
struct ingot_module;
struct jit_module;
/* model_lower for what the JIT runs. */
struct model;
void jit_lower(struct model *);
/* The target that what the JIT compiles is lowered for. */
struct target *jit_target(struct arena *, const struct target *);
struct jit_module *jit_module_open(struct emit *, const struct package *);
const struct ingot_module *jit_module_descriptor(const struct jit_module *);
void jit_module_close(struct jit_module *); /* NULL is fine */

#endif
