/* contraction.h: what contraction.c knows of one kernel while it prints it; the JIT's glue is printed from the same (jit/contraction.c). */
#ifndef EMIT_CONTRACTION_H
#define EMIT_CONTRACTION_H
#include "emit/emit.h"

struct tile { int rows, vecs, left; bool last; const char *name; };           /* left: lanes of the last vector; 0: all */
struct stride { const char *name; int64_t direct, patched; };

struct printing {
	struct emit *emit;
	struct arena *arena;
	const struct kernel *kernel;
	const struct contraction *c;
	const char *names[MAX_VARS];
	const char *accumulator;                      /* text of the root's value, while an epilogue is printed */
	struct tile *tiles;
	int tile_count;
	struct stride term_stride[MAX_VARS];          /* of a, by term */
	struct stride row_stride;
	struct patch {
		bool needed;
		int64_t floats, run, run_step;
		const char *inside, *there, *from;
		/* Where the innermost dim has a pad: its elements [span_from, span_to) are there, between zeros.  NULL: it has none */
		const char *span_from, *span_to, *span_there, *span_base;
		int64_t span_run, span_step;
		/* the same for who copies it otherwise: `factor` * i + `base` lies in [from, to), and `others` holds */
		struct patch_dim { int64_t extent, stride, factor, from, to; const char *base; } dim[MAX_VARS];
		int dim_count;
		const char *others, *start;
		struct value dims;
	} patch;
};

/* The values of c/contraction.jinja; `p` stays, for those who print more. */
struct value contraction_values(struct emit *, const struct kernel *, struct printing *p);
const char *contraction_buffer(void *user, const struct definition *);    /* of a printing: the name of a pointer */
int contraction_row(const struct contraction *);                          /* the variable of the tile's rows; -1: none */

#endif
