/* emit.h: kernels -> text.  Statements are templates' business; here expressions become C.
 *
 * ---- expression.c: the printer of scalar expressions ----
 * Prints one expression, or all that stand in a straight line of statements, in the words of a prelude:
 *
 *     struct printer printer = { .arena = arena, .target = target, .lane = c, .names = names, .buffer = name_of_buffer };
 *     printer_share(&printer, roots, count);           // what is there more than once gets a name
 *     text = printer_value(&printer, roots[0]);        // "k_relu(vec_load(x + 16 * i + c) + v0)"
 *     … print printer.lets.at[0 … count-1] before it: const vec v0 = vec_load(skip + 16 * i + c);
 *     printer.lets.count = 0;                          // and on to the next statement
 *
 * With `lane` the expression stands for target->lanes neighbours along that variable and is a vec: a load whose address
 * grows by 1 with the lane is vec_load, by 2 vec_even or vec_odd, one that does not grow is vec_set, any other vec_gather.  What a vector may hold is
 * printer_can_vector's to say.  Without it the expression is a scalar of its own C type.  Addresses are placed_address's. */
#ifndef EMIT_EMIT_H
#define EMIT_EMIT_H
#include "kernels/kernels.h"
#include "ingot/template.h"

struct emit {
	struct build *build;
	struct arena *arena;              /* for values and texts of one kernel */
	const struct target *target;
	struct environment *templates;    /* that finds "c/loops.jinja" */
	const char *name;                 /* of the library: what its symbols begin with */
};
/* A text as a C literal, quotes included. */
const char *emit_literal(struct arena *, const char *text);

/* A load that needs no memory: a C variable has it. */
struct held {
	const char *text;                 /* NULL: it is loaded */
	bool vector;                      /* else a scalar, spread over the lanes where a vector is printed */
	bool changes;                     /* between statements (an accumulator, an array that is written): never shared */
};
struct let { const char *type, *name, *value; };

struct printer {
	struct arena *arena;
	const struct target *target;
	int lane;                         /* the variable along which a vector lies; -1: scalars */
	const char *left;                 /* how many lanes count, a C expression below target->lanes; NULL: all */
	const char *const *names;         /* of the variables, by number */
	const char *(*buffer)(void *user, const struct definition *);          /* name of the pointer to its first element */
	struct held (*held)(void *user, const struct expr *load);              /* NULL: nothing is held */
	void *user;
	VECTOR(struct let) lets;          /* what must stand before the text that was printed last, in this order */
	int fresh;                        /* names made so far: v0, v1 … */

	struct numbering *numbering;      /* expression.c's own: equal expressions by number */
};

/* What the roots have in common will be named once.  Forgets what was shared before.  The roots are then printed in this
 * order, each once. */
void        printer_share(struct printer *, const struct expr *const *roots, size_t count);
/* Adds to `lets`.  Without printer_share each expression is on its own. */
const char *printer_value(struct printer *, const struct expr *);
const char *printer_index(struct printer *, const struct index *);                         /* an expression of type long */
const char *printer_range(struct printer *, const struct range *);                         /* a condition, for && */
const char *printer_address(struct printer *, const struct definition *, const struct index *address);     /* "y + 16 * i + c" */
const char *printer_element(struct printer *, const struct definition *, const struct index *address);     /* "y[16 * i + c]" */

/* Whether the expression can be a vec along that variable: float alone, affine in it, no select on it. */
bool        printer_can_vector(const struct expr *, int lane);
/* A number as C: "0x1.8p+1f", "0.5f", "(-1.f / 0.f)", "7ll". */
const char *print_number(struct arena *, enum dtype, double number, int64_t integer);


/* ---- kernel.c: what every kernel's template is given: {name, params, comment, number} ---- */
struct value emit_kernel_value(struct emit *, const struct kernel *);
/* "mnist_k3_convolution": of the kernel whose code it runs. */
const char  *emit_symbol(struct emit *, const struct kernel *);

struct value emit_target_value(struct emit *);
struct value emit_lets(struct arena *, const struct printer *);           /* [{type, name, value}] of what must stand before a text */
const char  *emit_buffer(void *kernel, const struct definition *);        /* a printer's `buffer`: the kernel's parameter; user is the kernel */

/* ---- one file a shape: appends the kernel's functions ---- */
void contraction_emit(struct emit *, const struct kernel *, struct text *out);
void winograd_emit(struct emit *, const struct kernel *, struct text *out);
void chain_emit(struct emit *, const struct kernel *, struct text *out);
/* The values of c/chain.jinja; more: what each step is called with at last, NULL: all of its blocks. */
struct value chain_values(struct emit *, const struct kernel *, const char *const *more);
/* Nothing where it runs another kernel's code. */
void emit_kernel(struct emit *, const struct kernel *, struct text *out);

/* ---- words.c: a prelude, with the words that `text` needs and those that they need ---- */
struct value emit_target_value(struct emit *);
void emit_prelude(struct emit *, const char *text, size_t count, struct text *out);

/* ---- package.c: a library's files ---- */
/* A file more for people: NAME.STAGE.txt */
struct dump { const char *stage, *text; };
struct part {                             /* a graph of the library */
	const struct dump *dumps;
	size_t dump_count;
	const struct lowered *lowered;
	const char *name;                 /* identifier: prefix of its files and symbols; the package's own where it is alone */
	const char *routine;              /* what the module calls it: the graph's name */
	const char *model;                /* for comments: the model's file name */
	const char *const *input_names, *const *output_names;     /* the graph's */
};
/* An input that keeps its value from run to run, and the output that is its next value. */
struct state_pair { const char *input, *output; };
struct package {
	const struct part *parts;
	int part_count;
	const char *name;                 /* identifier: prefix of the library, its weights, its module */
	int threads;                      /* > 1: kernels are shared over the caller's parallel-for */
	const char *options;              /* for comments and the manifest: "--cpu x86-64-v3 …" */
	const char *cc;                   /* NULL: nothing is compiled */
	int jobs;
	bool shared;                      /* also libNAME.so, for ingot itself */
	bool profile;                     /* also NAME_profile, NAME_limit_fma and NAME_limit_read: package/profile.jinja */
	bool managed;                     /* also the module descriptor, and the runtime */
	bool steps;                       /* its routines are static schedules of kernels, not calls */
	bool large;                       /* pools and tensors of more than 4 GiB: the compiler has to have indices of 64 bits */
	bool no_hosted;                   /* no node has a host array */
	const char *const *merges;        /* inputs that are read from the merge buffer, by name */
	size_t merge_count;
	const struct state_pair *states;
	size_t state_count;
	int64_t *weights_bytes;           /* written: of all parts, shared ones once; may be NULL */
	void (*progress)(void *user, const char *step, int done, int count);
	void *user;
};
/* A name as a C identifier that is no keyword of C or C++. */
const char *emit_identifier(struct arena *, const char *name);
/* Writes the folder; all files or none. */
void package_write(struct emit *, const struct package *, const char *directory);

#endif
