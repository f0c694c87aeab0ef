/* pipeline.h: the way of a graph, from a file to kernels.  main.c and the library's API both walk it. */
#ifndef PIPELINE_H
#define PIPELINE_H
#include "emit/emit.h"
#include "kernels/kernels.h"
#include "passes/passes.h"

struct model;
/* --rename OLD=NEW; used: some graph has it. */
struct renaming {
	const char *old, *made;
	bool used;
};
/* --keep-strict LAYER: of a node's or a tensor's name; used: some graph has it. */
struct strict_layer {
	const char *name;
	bool used;
};
enum { THREADS_MOST = 256 };
struct options {
	const char *model;   /* path */
	const char *name;    /* NULL: from the path's stem */
	const char *routine; /* of several graphs: what the module calls it; NULL: its name */
	bool some;           /* of several graphs: dims and modes may name what this one has not */
	const struct target *target;
	const char *arch;       /* of a GPU's engine: what it compiles for; NULL: as its GPU is */
	enum optimise optimise; /* of code alone */
	struct numerics numerics;
	VECTOR(struct strict_layer) strict; /* layers whose factors are not rounded */
	int threads;                        /* 1 to THREADS_MOST */
	VECTOR(const char *) keep_inputs;
	VECTOR(struct binding) dims;
	VECTOR(struct holding) elements;
	VECTOR(struct saying) values;
	VECTOR(struct mode_choice) modes;
	VECTOR(struct renaming) renames;
	VECTOR(struct state_pair) states;
	bool managed;                /* states are nodes of the runtime's */
	VECTOR(const char *) shares; /* of several graphs: tensors of these names are one, whatever they are */
	/* Models of libraries that were made before: what they compute on their way can be computed again here. */
	VECTOR(const char *) after;
	VECTOR(const char *) cuts; /* tensors where the graph is cut into parts … */
	int part;                  /* … of which this is one */
	const char *declared;  /* "exact": a declared shape that the graph contradicts is refused; else it is a hint */
	const char *io;        /* "workspace": inputs and outputs lie there; else the caller has them */
	const char *templates; /* folder whose templates come before the embedded ones; NULL: none */
	bool keeps_apart;      /* no tensor lies in another one's place */
	int64_t pool_cap;      /* the largest pool of a module, and the largest tensor; 0: any */
	memories memories;     /* of a microcontroller's workspace; none: one of any size */
	bool dump;             /* batch_lower keeps the text of each stage in the parts */
	bool weights;          /* as text, a graph has every value of its constants, and reads back */
	bool apart;            /* of several graphs, each computes for itself: none inlines what another left virtual */
	/* Of targets whose kernels are judged by their compiler: what is lowered.  True: it added to model->refused,
	 * and is lowered again.  NULL: nobody does */
	bool (*judge)(struct model *, void *judge_user);
	void *judge_user;
	bool profile; /* engines that can make it so that kernels are timed apart: for ingot bench */
};

/* An input that an earlier graph of the same build computes on its way, and has as an output for this one's sake. */
struct borrow {
	const char *name;
	struct model *from;
	bool inlined; /* computed again here instead */
};

struct model {
	struct build *build;
	const struct options *options;
	struct graph *graph;
	struct program *program;
	struct lowered *lowered;
	const char *name; /* identifier */
	const char **input_names, **output_names;
	const char *numbers; /* what bits depend on besides the model: program_numbers */
	refused_tiles refused;
	VECTOR(struct mode_choice) choices; /* the options' that name tensors of this model */
	VECTOR(struct borrow) borrows;      /* batch.c */
	VECTOR(const char *) lent;
	VECTOR(struct apart) apart; /* sharing.c */
	VECTOR(struct shared_tensor) shared;
	VECTOR(struct dump) dumps;
};

struct model *model_read(struct build *, const struct options *); /* and binds the dims that the options name */
/* The same from memory, which must stay as long as the build; options->model is for messages. */
struct model *model_read_memory(struct build *, const struct options *, const void *bytes, size_t count);
void model_prepare(struct model *); /* all dims bound: infers, folds, simplifies */
void model_cut(struct model *);     /* cut.c: of a prepared graph, only the part that the options say */
void model_define(struct model *);  /* graph -> definitions */
void model_lower(struct model *);   /* definitions -> kernels, for options->target */

/* ---- sharing.c: the tensors of several graphs ---- */
/* An argument NAME=FILE is both, another the file alone: then the name is NULL. */
const char *model_argument(struct arena *, const char *argument, const char **name);
void model_rename(struct model *); /* as the options say */
/* After all are read, before any is prepared: tensors that are one have one name, all others names of their own.  An
 * input that is another graph's constant becomes that constant; one that another graph computes on its way becomes an
 * output of that graph.  The first `before` are of a library that was made before. */
void batch_share(struct model *const *, int before, int count);

/* ---- batch.c: several graphs in one build ---- */
/* After this one is defined, and those before it: borrowed inputs whose value is cheaper to compute again are. */
void batch_inline(struct model *);
/* After all are defined: what nobody borrows any more is no output. */
void batch_settle(struct model *const *, int count);

/* All of it: files -> the parts of a library.  Of several, options->name is the library's and each part's begins with
 * it.  The models of options->after come before them, and are no parts. */
struct part *batch_lower(struct build *, const struct options *, const char *const *files, int count);

/* One model for several CPUs: the parts of a library that chooses where it runs.  Each part's name is the model's with
 * the CPU's behind; its routine is the model's. */
struct part *cpus_lower(
        struct build *, const struct options *, const char *file, const struct target *const *, int count);

/* Of a lowered model: what emit/package.c makes files of. */
struct part model_part(const struct model *);

/* A stage as text: "graph" (prepared), "definitions" (defined, not lowered), "kernels", "loops", "plan" (lowered).
 * False: no such one. */
bool model_print(struct model *, const char *stage, struct text *out);

/* To be shown alone: the kernel of that name, also one inside of another; nothing can be made of the model any more. */
void model_only(struct model *, const char *kernel);

/* The names of the tensors that its graph computes: for messages. */
void model_computed(const struct model *, struct choices *);

/* The environment of the kernel templates: options->templates first, then those inside the program. */
struct environment *model_templates(struct model *);
struct environment *options_templates(struct build *, const struct options *);

/* ---- templates.c: the folder of --templates ---- */
/* EXIT_USAGE where a file there is read by nobody: neither a built-in template's name, nor of an operator in no table,
 * nor named by another file.  directory: NULL where there is none; graph: NULL where there is none, or several. */
void templates_check(struct build *, const char *directory, const struct graph *);
/* The operators in no table that it has files of, which are named in `files`. */
struct own_operator {
	const char *name, *files; /* "my.Foo", "onnx/my.Foo.jinja, c/my.Foo.jinja" */
};
const struct own_operator *templates_operators(struct build *, const char *directory, size_t *count);
/* By bit, the shapes of which it has the C template; all of them where it has what these are made of. */
uint32_t templates_shapes(struct build *, const char *directory);

/* The name that a model's file gives it: its stem as an identifier. */
const char *model_stem(struct arena *, const char *path);
#endif
