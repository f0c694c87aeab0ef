/* package.h: what the writers of packages share.
 *
 * package.c      what all packages have: names, sizes, places, the weights
 * manifest.c     the manifest
 * package_c.c    C libraries: header, schedule, kernels, weights, build files
 * compile.c      those sources -> libNAME.a
 * project.c      what build tools of microcontrollers want beside a library
 * threads.c      the runtime's pool of threads, by itself
 * stale.c        what an older library of the folder leaves behind
 * module.c       the managed profile: NAME_module.c, and the runtime beside the library
 * package_cuda.c CUDA sources
 *
 * A package has parts, one for each graph.  Writers work on one part at a time: package_part makes it the current one.
 */
#ifndef EMIT_PACKAGE_H
#define EMIT_PACKAGE_H
#include "emit/emit.h"
#include <jansson.h>

/* A constant as the blob has it, once for all parts that have the same bytes. */
struct blob_item {
	const struct constant_item *item;
	int64_t offset, bytes;
	uint64_t hash; /* of its bytes; 0 in packages of one part */
	int part;      /* the first that has it */
};

/* Of the bare profile: an input that lies in the context's state, and the output that is copied there in the end. Where
 * the caller does not want that output it lies behind it, at `next`; one that is changed in place lies at `at`. */
struct slot {
	size_t input, output; /* of the graph */
	int64_t at, next;     /* bytes into the state */
};

/* Where a kernel's argument is: bytes into weights or a pool of the workspace, or the number of an input or output. */
enum place_kind {
	PLACE_WEIGHTS,
	PLACE_WORKSPACE,
	PLACE_INPUT,
	PLACE_OUTPUT,
	PLACE_STATE,
	PLACE_NEXT
}; /* PLACE_NEXT: number of the slot */
struct place {
	enum place_kind kind;
	const char *word;
	int64_t at;
	const struct workspace_pool *pool; /* of PLACE_WORKSPACE */
};
/* A tensor in the workspace, the weights or the state, and the macro that says at which byte. */
struct spot {
	const struct definition *of;
	struct place place;
	const char *macro;
};

enum { LAYOUT_BYTES = 16 };
struct writing {
	struct emit *emit;
	const struct package *package;
	int part; /* the current one; then what belongs to it: */
	const struct part *of;
	const struct lowered *lowered;
	const char **input_labels, **output_labels; /* what the graph calls them */
	const char **input_fields, **output_fields;
	VECTOR(struct slot) slots;
	int64_t state_bytes;
	VECTOR(struct spot) spots;

	struct file_set *files;
	struct value globals; /* what every file's template sees */
	VECTOR(struct blob_item) items;
	int64_t weights_bytes;
	uint64_t blob_hash;  /* XXH64 of the weights' file */
	struct hash *layout; /* of the code that reads them, as far as it is written */
	uint64_t layout_hash;
	unsigned char layout_bytes[LAYOUT_BYTES]; /* that stand behind them: "ingot-1", and that hash */
	bool beside;                              /* the weights' file is given to each call, not linked in */
	VECTOR(const char *) sources;             /* that are compiled into the library */
	VECTOR(const char *) source_flags;        /* with these flags each */
	VECTOR(const char *) headers;             /* that they include */
	VECTOR(const char *) runtime;             /* the runtime's files, below runtime/ */
	VECTOR(const char *) libm;  /* the C library's functions that the kernels call: those of double tensors */
	VECTOR(const char *) blobs; /* that sources take in as they are: the weights, CUDA's images */
	struct value images;        /* of CUDA: [{arch, number, ptx, capability, exact, symbol, file}]; else none */
	struct value linked;        /* what package_link wrote for the assembler: [{part, files}] */
	bool scratch; /* the module's kernels take the JIT's scratch, behind the workspace, as a last argument */
	const char *directory;
	VECTOR(const char *) old; /* files of the library that lay there */
	int64_t *stack_bytes;     /* of each part */
};
/* package.c */
void package_begin(struct writing *);                         /* weights shared, part 0 the current one */
bool package_has_layout(const struct writing *);              /* the file of the weights says for which code it is */
bool package_is_sizes(const struct writing *, size_t output); /* an output that says how many there are of another */
json_t *string_json(struct arena *, const char *);            /* bytes that are no UTF-8 are escaped */
json_t *keys_json(struct arena *, const struct tensor *keys); /* what the columns of an output of maps are called */
void package_part(struct writing *, int part);                /* and its globals: names, inputs, outputs, sizes */
void package_render(struct writing *, const char *template, const char *file);
void package_add_blob(struct writing *);    /* NAME_weights.bin, where there are weights */
json_t *package_manifest(struct writing *); /* the keys that all packages have */
/* The slot whose input, or output, that is; NULL: of none. */
const struct slot *package_slot(const struct writing *, size_t number, bool input);
int64_t package_in_pool(const struct lowered *, const struct workspace_pool *, int64_t offset); /* from its start */
const char *package_label(struct arena *, const struct part *, const char *name);   /* as the model has it */
const struct tensor *package_border(const struct writing *, size_t i, bool inputs); /* of the model; NULL: none */
const char *package_check_text(struct arena *, const struct definition *check);
void package_add_manifest(struct writing *, json_t *); /* takes it */
const char *package_upper(struct arena *, const char *name);

void package_source(struct writing *, const char *file); /* adds one for the current target */
/* Of the current part; of a library for several CPUs, or where all are asked for, the largest. */
int64_t package_workspace(const struct writing *, bool all);

/* [{name, macro, bytes, section}]: the memories of the workspace, of which the caller gives each; like that. */
struct value package_pools(const struct writing *, bool all);
json_t *pools_json(const struct lowered *); /* [{name, bytes, limit}], of --pool */

struct place package_argument(const struct writing *, const struct definition *);
/* "float[1,2]": type and extents. */
const char *package_shape(struct arena *, const struct definition *);

/* Those of the current part: [{code, text, at (in the workspace), kernel}]. */
struct value package_checks(const struct writing *);
int package_first_check(const struct package *, int part); /* the code of a part's first check */

/* project.c: what --package asks for */
void package_add_project(struct writing *);

/* threads.c: the pool beside a library whose kernels threads share. */
bool package_has_threads(const struct writing *);
void package_add_threads(struct writing *);

/* stale.c: around the commit of all files */
void package_read_old(struct writing *);
void package_remove_old(struct writing *);

/* stack.c */
struct object_sizes;
struct stack_frame {
	const char *name;
	int64_t bytes, deep; /* its own; with all that it calls, -1: not known yet */
	unsigned object;
};
struct stack_frames {
	VECTOR(struct stack_frame) of;
};
/* Adds what -fstack-usage says of one object. */
void stack_read(struct build *, const char *path, unsigned object, struct stack_frames *);
/* Of a call of that function on a bare machine; 0 where it is not there. */
int64_t stack_depth(const struct target *, const struct object_sizes *, const struct stack_frames *, const char *name);

/* compile.c */
void package_compile(struct writing *); /* the libraries; w->stack_bytes of a package of one part */

/* module.c */
const char *package_runtime_flags(struct writing *); /* what the runtime's sources are compiled with */
void package_module(struct writing *);               /* adds NAME_module.c and the runtime's sources */
void package_describe(struct writing *);             /* into the globals: what package/module.jinja needs */

/* ---- launches.c: what a GPU runs, row by row ---- */
enum { LOOPS_DEEP = 8 };
/* A pointer, from bytes behind its place; in round t of an open loop of depth d (0: the outermost) it is step[d] * t
 * further, and in odd rounds flip[d] besides. */
struct launch_argument {
	struct place place;
	enum dtype type;
	bool written;
	int64_t bytes;                /* that it may reach */
	const struct launch_box *box; /* it is a tensor map of what lies there (contraction.h); NULL: the pointer */
	int64_t from, step[LOOPS_DEEP], flip[LOOPS_DEEP];
};
struct launch {
	const struct kernel *kernel; /* NULL: a copy, or a loop's */
	const char *symbol;          /* NULL: a loop's */
	int64_t blocks, shared;      /* shared: bytes of dynamic shared memory */
	int number;                  /* of the kernel, or of the loop around all others */
	int warps, count;
	const struct launch_argument *arguments;
	/* A loop of depth d: row d + 1 begins it, row -d - 1 ends a round, `other` is the number of the other of them.
	 * A round comes while fewer than `rounds` were, and while the byte that the one argument, where there is one,
	 * points to is not 0. */
	int loop, other;
	int64_t rounds;
};
struct launch_list {
	VECTOR(struct launch) rows;
	VECTOR(int64_t) copies;                  /* bytes that NAME_copy_BYTES copies */
	VECTOR(struct launch_argument) moves;    /* how arguments do, each way once; the first: not at all */
	VECTOR(const struct launch_box *) boxes; /* of all arguments, in their order */
	int depth;                               /* of loops; 0: there are none */
	bool captured; /* it may be a graph: the host reads nothing on the way, and there are not too many launches */
};
struct launch_list package_launches(struct writing *);
/* branches.c: in which lane of a graph each launch goes, behind which launches of other lanes; one lane where there are
 * loops. */
enum { BRANCHES_MOST = 8 };
struct branched {
	int lane, count, after[BRANCHES_MOST]; /* the number of all launches: behind the beginning */
	bool awaited;                          /* by one of another lane, or by the end */
};
struct branches {
	int lanes, ends[BRANCHES_MOST]; /* the last launch of each lane but the first */
	struct branched *rows;
};
struct branches launch_branches(struct arena *, const struct launch_list *);
int64_t launch_move(const struct launch_list *, const struct launch_argument *); /* its number in moves */
struct value launch_moves(struct writing *, const struct launch_list *);         /* [{from, step, flip}] */
int64_t launch_blocks(const struct writing *, const struct kernel *);
int launch_warps(const struct kernel *);
int64_t launch_shared(const struct writing *, const struct kernel *);

/* package_cuda.c: the kernels, their images, the host's side, weights, build files; with package->shared the kernels
 * and what runs them on the CPU alone, NAME_emulated.cpp and the emulator. */
void package_cuda(struct writing *);
/* For an engine, beside package_images: what to launch. */
struct launch_list package_cuda_launches(struct emit *, const struct package *);
/* package_c.c */
void package_c(struct writing *);
/* Files that are linked in as they are, each under its symbol, by one source: NAME_PART.S by .incbin, or, where the
 * package wants C and all bytes are known and 4 MiB at most, NAME_PART.c.  ended: a 0 behind it.  head: a sentence for
 * the comment. */
struct linked_file {
	const char *symbol, *file;
	const unsigned char *bytes;
	size_t count;
	bool ended, within; /* within: the file has more behind that */
};
void package_link(struct writing *, const char *part, const char *head, const struct linked_file *, size_t count);
void package_add_weights(struct writing *);     /* NAME_weights.bin, and where they are linked in its source */
void package_add_build_files(struct writing *); /* CMakeLists.txt and NAME.pc */
#endif
