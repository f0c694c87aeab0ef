/* pipeline.h: the way of a graph, from a file to kernels.  main.c and the library's API both walk it. */
#ifndef PIPELINE_H
#define PIPELINE_H
#include "kernels/kernels.h"
#include "passes/passes.h"

struct options {
	const char *model;                /* path */
	const char *name;                 /* NULL: from the path's stem */
	const struct target *target;
	enum optimise optimise;
	int threads;
	VECTOR(const char *) keep_inputs;
	VECTOR(struct binding) dims;
	const char *templates;            /* folder whose templates come before the embedded ones; NULL: none */
	bool profile;                     /* the C engine's library can time its kernels: for ingot bench */
};

struct model {
	struct build *build;
	const struct options *options;
	struct graph *graph;
	struct program *program;
	struct lowered *lowered;
	const char *name;                 /* identifier */
	const char **input_names, **output_names;
	bool pools_apart;                 /* set before model_lower by an engine without pooled kernels */
};

struct model *model_read(struct build *, const struct options *);     /* and binds the dims that the options name */
/* The same from memory, which must stay as long as the build; options->model is for messages. */
struct model *model_read_memory(struct build *, const struct options *, const void *bytes, size_t count);
void          model_prepare(struct model *);      /* all dims bound: infers, folds, simplifies */
void          model_define(struct model *);       /* graph -> definitions */
void          model_lower(struct model *);        /* definitions -> kernels, for options->target */

/* Of a lowered model: what emit/package.c makes files of. */
struct part;
struct part   model_part(const struct model *);

/* The environment of the kernel templates: options->templates first, then those inside the program. */
struct environment *model_templates(struct model *);
#endif
