/* emit.h: kernels -> text.  Statements are templates' business; here expressions become C.
 *
 * ---- expression.c: the printer of scalar expressions ----
 * Prints one expression, or all that stand in a straight line of statements, in the words of a prelude:
 *
 *     struct printer printer = { .arena = arena, .target = target, .lane = c, .names = names, .buffer = name_of_buffer
 *       };
 *     printer_share(&printer, roots, count);           // what is there more than once gets a name
 *     text = printer_value(&printer, roots[0]);        // "k_relu(vec_load(x + 16 * i + c) + v0)"
 *     … print printer.lets.at[0 … count-1] before it: const vec v0 = vec_load(skip + 16 * i + c);
 *     printer.lets.count = 0;                          // and on to the next statement
 *
 * With `lane` the expression stands for target->lanes neighbours along that variable and is a vector, by lane_types: a
 * load whose address grows by 1 with the lane is vec_load, by 2 vec_even or vec_odd, one that does not grow is vec_set,
 * any other vec_gather; where it bends, vec_near or vec_lane_gather (lane_gather.c).  What a vector may hold is
 * loops_can_vector's to say.  Without it the expression is a scalar of its own C type. Addresses are
 * schedule_address's. */
#ifndef EMIT_EMIT_H
#define EMIT_EMIT_H
#include "kernels/kernels.h"
#include "ingot/template.h"

struct emit {
	struct build *build;
	struct arena *arena; /* for values and texts of one kernel */
	const struct target *target;
	struct environment *templates; /* that finds "c/loops.jinja" */
	const char *name;              /* of the library: what its symbols begin with */
	bool no_libc; /* the compiler's objects call nothing of the C library's: EXIT_LIMIT where they do */
};
const char *emit_quiet(struct arena *, const char *name); /* that may stand inside a comment */
/* A text as a C literal, quotes included. */
const char *emit_literal(struct arena *, const char *text);

/* A load that needs no memory: a C variable has it. */
struct held {
	const char *text; /* NULL: it is loaded */
	bool vector;      /* else a scalar, spread over the lanes where a vector is printed */
	bool changes;     /* between statements (an accumulator, an array that is written): never shared */
};
struct let {
	const char *type, *name, *value;
};

/* How vectors of an element type are said: their C type, what words on them begin with, what stands behind the words
 * that load and store, the pointer that those take, where it is not that of the buffer, and what a load of some lanes
 * takes last: what the others are. */
struct lane_type {
	const char *vector, *words, *memory, *pointer, *fill;
};
struct lane_type lane_type_of(enum dtype);
struct lane_type lane_type_of_bytes(enum dtype);
struct value product_words(struct arena *, const struct product *); /* {element, vec, step, zero, fill} */
bool scalar_stays(enum scalar); /* a row of integers whose result has the range of its operands */

struct printer {
	struct arena *arena;
	const struct target *target;
	int lane;                 /* the variable along which a vector lies; -1: scalars */
	bool bytes;               /* it is one of bytes, four for each lane of the target */
	const char *left;         /* how many lanes count, a C expression below target->lanes; NULL: all */
	const char *const *names; /* of the variables, by number */
	const char *symbols;      /* the array of long where the symbols' values are; NULL: there are none */
	const char *(*buffer)(void *user, const struct definition *); /* name of the pointer to its first element */
	struct held (*held)(void *user, const struct expr *load);     /* NULL: nothing is held */
	void *user;
	VECTOR(struct let) lets; /* what must stand before the text that was printed last, in this order */
	int fresh;               /* names made so far: v0, v1 … */

	struct sharing *sharing; /* expression.h: what the roots are made of */
};

/* What the roots have in common will be named once.  Forgets what was shared before.  The roots are then printed in
 * this order, each once. */
void printer_share(struct printer *, const struct expr *const *roots, size_t count);
/* Adds to `lets`.  Without printer_share each expression is on its own. */
const char *printer_value(struct printer *, const struct expr *);
const char *printer_index(struct printer *, const struct index *); /* an expression of type long */
const char *printer_range(struct printer *, const struct range *); /* a condition, for && */
const char *printer_address(
        struct printer *, const struct definition *, const struct index *address); /* "y + 16 * i + c" */
const char *printer_element(
        struct printer *, const struct definition *, const struct index *address); /* "y[16 * i + c]" */
const char *printer_lane_gather(struct printer *, const struct definition *,
        const struct index *address); /* lane_gather.c: "vec_lane_gather(x, ivec_load(at + l))" */
/* An integer of four bytes of a tensor, the lowest first: so far behind `at` of what is loaded, or 0. */
enum { BYTES = 4, BYTE_ZERO = INT32_MIN };
struct four_bytes {
	const struct expr *load; /* NULL: none has a place */
	const struct index *at;
	int64_t byte[BYTES];
	bool beside; /* each behind the one before */
};
bool printer_bytes(struct printer *, const struct expr *, struct four_bytes *); /* false: it is another one */
/* A vector's value before it is cast to float16, where nothing else wants that: a store may do it.  NULL: it is
 * none. */
const char *printer_before_narrow(struct printer *, const struct expr *);
/* A vec2: `low` as printer_lane_gather, `high` of the element behind each.  NULL: no word does that, or one load has
 * all lanes. */
const char *printer_lane_gather_two(struct printer *, const struct definition *, const struct index *address);

/* ---- kernel.c: what every kernel's template is given: {name, params, comment, number} ---- */
void emit_render(struct emit *, const struct kernel *, struct value, struct text *); /* by its template */
const char *emit_kernel_comment(struct emit *, const struct kernel *);
struct value emit_kernel_value(struct emit *, const struct kernel *);
/* `many`: a let of that number; what it ends comes besides (c/ends.jinja). */
struct value emit_ends(struct emit *, const struct kernel *, const struct definition *count, int64_t most);
/* How many there are, within [0, most], of what a parameter of the kernel counts. */
const char *emit_count(struct emit *, const struct kernel *, const struct definition *count, int64_t most);
/* The node that it came from; without a name, its first tensor. */
const char *emit_node_name(const struct definition *);
/* The nodes that a kernel computes, each once: "conv1 (Conv), relu1 (Relu)" */
const char *emit_kernel_nodes(struct arena *, const struct kernel *);
/* What must hold for a kernel to run, for an if: "*a && !*b"; "": nothing.  `condition` says how a byte that a branch
 * asks is reached. */
const char *emit_only_where(
        struct arena *, const struct branch *, const char *(*condition)(void *user, struct definition *), void *user);
/* "mnist_k3_convolution": of the kernel whose code it runs. */
const char *emit_symbol(struct emit *, const struct kernel *);

struct value emit_target_value(struct emit *);
struct value emit_lets(
        struct arena *, const struct printer *); /* [{type, name, value}] of what must stand before a text */
/* A vector to `to`, elements of that type, its lanes `step` of them apart; left: the lanes that count, NULL for all of
 * them. */
const char *emit_vec_store(
        struct arena *, enum dtype, const char *to, int64_t step, const char *value, const char *left);
const char *emit_buffer(
        void *kernel, const struct definition *); /* a printer's `buffer`: the kernel's parameter; user is the kernel */

/* ---- one file a shape: appends the kernel's functions ---- */
/* static void NAME(const T *restrict a, …, T *restrict y, long from, long to).  Needs c/loops.jinja and a prelude. */
void loops_emit(struct emit *, const struct kernel *, struct text *out);
/* Of loops_symbolic: a static function of its buffers, the numbers, the symbols' values, and its blocks. */
struct loops;
struct value loops_ends(struct emit *, const struct loops *); /* of c/ends.jinja */
void loops_emit_symbolic(struct emit *, struct loops *, const char *name, const char *comment, struct text *out);
/* What is printed of a shape: a row in emit/shapes.c. */
struct printed_row {
	bool plain;                                             /* what `emit` prints is C that libtcc takes */
	void (*loops)(const struct kernel *, struct text *out); /* --stage loops; NULL: it has none */
	void (*emit)(struct emit *, const struct kernel *, struct text *out); /* its functions */
};
extern const struct printed_row printed_shapes[SHAPE_COUNT];
void contraction_emit(struct emit *, const struct kernel *, struct text *out);
void winograd_emit(struct emit *, const struct kernel *, struct text *out);
/* The values of c/winograd.jinja, without the kernel and what it calls: sizes, addresses, tile. */
struct value winograd_values(struct emit *, const struct kernel *);
int64_t winograd_run(
        const struct target *, const struct contraction *); /* tiles whose input is transposed at once; 0: it is not */
/* Where position t of a row stands, and the definition's variables where its key at k is looked at. */
/* How many rows there are, as text; sets `ends`, with an end of [from, to) where blocks are rows. */
const char *order_ends(struct emit *, const struct kernel *, bool in_blocks, struct value values);
const struct index *order_address(
        struct arena *, const struct row_order *, const struct definition *, const struct index **with);
void order_emit(struct emit *, const struct kernel *, struct text *out);
void fused_emit(struct emit *, const struct kernel *, struct text *out);
void strips_emit(struct emit *, const struct kernel *, struct text *out);
/* The values of c/fused.jinja; more: what each step is called with at last, NULL: all of its blocks. */
struct value fused_values(struct emit *, const struct kernel *, const char *const *more);
void repeat_emit(struct emit *, const struct kernel *, struct text *out);
const char *walk_word(struct arena *, const struct definition *); /* that goes down its trees */
struct value walk_values(struct emit *, const struct kernel *);
void walk_emit(struct emit *, const struct kernel *, struct text *out);
void own_emit(struct emit *, const struct kernel *, struct text *out);
/* The values of c/repeat.jinja; more: as with chains, of each kernel of the body. */
struct value repeat_values(struct emit *, const struct kernel *, const char *const *more);
/* kernel.c: of the target's other GPU of that number, -1: of its own; from which capability on; the next one below a
 * capability. */
enum { GPU_NONE = -2 };
const struct kernel *kernel_of_gpu(const struct kernel *, int gpu);
int gpu_from(const struct target *, int gpu);
int gpu_below(const struct target *, int from);
/* Nothing where it runs another kernel's code. */
void emit_kernel(struct emit *, const struct kernel *, struct text *out);

/* ---- words.c: a prelude, with the words that `text` needs and those that they need ---- */
struct value emit_target_value(struct emit *);
bool is_letter(char); /* of a word */
void emit_prelude(struct emit *, const char *text, size_t count, struct text *out);

/* ---- names.c: names of a user -> identifiers that meet nobody else's ---- */
/* A tensor as a member of a library's structs; `upper` is the library's name in upper case. */
const char *emit_member(struct arena *, const char *name, const char *upper);
/* A file's stem as the name of a library. */
const char *emit_name(struct arena *, const char *name);
/* EXIT_USAGE where --name says what emit_name would have changed, but for keywords, which have more behind them. */
void emit_name_check(struct build *, const char *name);
/* "LIBRARY_NAME", what one graph of several is called; `others`: those of all. */
const char *emit_part_name(struct arena *, const char *library, const char *name, const char *const *others, int count);
/* What its target is called in CMake, and "NAME_OK": as they are, or with an underscore behind. */
const char *emit_cmake_target(struct arena *, const char *name);
const char *emit_ok(struct arena *, const char *upper);
/* What the symbols of a graph begin with where nobody calls them by name. */
const char *emit_part_prefix(struct arena *, int number);

/* ---- package.c: a library's files ---- */
/* A file more for people: NAME.STAGE.txt */
struct dump {
	const char *stage, *text;
};
/* A tensor that has its graph's name before its own, since another graph has one of that name. */
struct apart {
	const char *name, *was;
};
/* An input that is one with a tensor of another graph: an output, what it computes on its way, an input, a constant. */
enum shared_as { SHARED_RESULT, SHARED_LENT, SHARED_INPUT, SHARED_CONSTANT };
struct shared_tensor {
	const char *name, *of;
	enum shared_as how;
};
struct part { /* a graph of the library */
	const struct dump *dumps;
	size_t dump_count;
	const struct lowered *lowered;
	const char *name;    /* identifier: prefix of its files and symbols; the package's own where it is alone */
	const char *routine; /* what the module calls it: the graph's name */
	const char *model;   /* for comments: the model's file name */
	const char *const *input_names, *const *output_names; /* the library's, each for one tensor */
	const struct apart *apart;                            /* where the graph's are others */
	size_t apart_count;
	const struct shared_tensor *shared;
	size_t shared_count;
	const struct graph *graph;   /* whose inputs and outputs they are */
	const struct target *target; /* of a library for several CPUs: this part's; NULL: that of the emit */
	const char *numbers;         /* NAME_NUMBERS: program_numbers */
};
/* An input that keeps its value from run to run, and the output that is its next value. */
struct state_pair {
	const char *input, *output;
};
/* Linked in, or given to each call; FIT: linked in up to this many bytes, since code reaches 2 GiB far and other
 * libraries have weights too. */
enum { WEIGHTS_LINKED_MOST = 1 << 30 };
enum weights_home { WEIGHTS_FIT, WEIGHTS_LINKED, WEIGHTS_BESIDE };
/* A check that does not hold ends `run` with a code of its own: the first of the first part is this one, then they
 * count on through all parts. */
enum { CHECK_CODES = 16 };
struct nvrtc;
struct image;
/* What the compiler made of a library of one graph, for a machine whose objects are ELF. */
struct kernel_size {
	int64_t code, stack; /* of its functions; of a call of it, with all that it calls */
};
struct package_sizes {
	bool known;
	int64_t text, data, bss, stack, state;
	struct kernel_size *kernels; /* by number; one that runs another's code has none */
	VECTOR(const char *) wanted; /* what it calls of others */
};
struct package {
	const struct part *parts;
	int part_count;
	bool cpus;        /* the parts are one graph for several CPUs, best first: the first that runs here is called */
	const char *name; /* identifier: prefix of the library, its weights, its module */
	int threads;      /* > 1: kernels are shared over the caller's parallel-for */
	const char *options; /* for comments and the manifest: "--cpu x86-64-v3 …" */
	const char *cc;      /* NULL: nothing is compiled */
	const char *cflags;  /* behind those of the CPU, for compiler and linker; NULL: none */
	int jobs;
	bool shared;    /* libNAME.so alone, for ingot itself: every symbol is there */
	bool exported;  /* also libNAME.so, for its users: the functions of the header are there, and no other symbol */
	bool profile;   /* also NAME_profile, NAME_limit_fma … and NAME_limit_read: package/profile.jinja */
	bool managed;   /* also the module descriptor, and the runtime */
	bool steps;     /* its routines are static schedules of kernels, not calls */
	bool no_hosted; /* no node has a host array */
	bool stepwise;  /* also NAME_step */
	enum weights_home weights;
	bool weights_c;              /* linked in as an array of C, up to 4 MiB */
	const char *weights_section; /* in that section of ELF objects; NULL: among all other constants */
	const char *project;         /* what else a build tool wants beside it, by project.c's word; NULL: nothing */
	const struct board *board;   /* that the project is for; NULL: any of the CPU's */
	const char *const *merges;   /* inputs that are read from the merge buffer, by name */
	size_t merge_count;
	const struct state_pair *states;
	size_t state_count;
	const struct image *images; /* of CUDA; without bytes: they are named, not made */
	int image_count;
	int64_t *weights_bytes;      /* written: of all parts, shared ones once; may be NULL */
	struct package_sizes *sizes; /* written where cc is named; NULL: nobody asks */
};
/* package_cuda.c: fills the images, of all parts at once, IMAGES_MOST at most.  refused: of one part; NULL: nobody
 * asks.  True: in some a kernel spills, or waits for every product (ptxas C7504 and others), that could have a smaller
 * tile; that is refused, and the images are of no use. */
bool package_images(
        struct emit *, const struct package *, const struct nvrtc *, struct image *, int count, refused_tiles *);

/* project.c: the words of --package, NULL after the last; and whether the program of one knows memories and how cycles
 * are counted. */
const char *project_word(int i);
bool project_needs_board(const char *);

struct package_order {
	struct emit *emit;
	const struct package *package;
	const char *directory;
};
/* Writes the folders; all files of all of them or none. */
void packages_write(const struct package_order *, int count);
void package_write(struct emit *, const struct package *, const char *directory);

#endif
