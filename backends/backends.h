/* backends.h: what turns sources into something that runs. */
#ifndef BACKENDS_BACKENDS_H
#define BACKENDS_BACKENDS_H
#include "base/base.h"

/* ---- cpu/cc.c: the system's compiler ---- */
enum { CC_WORDS_MOST = 128 };
/* A command or flags -> its words, apart by blanks, CC_WORDS_MOST of them at most; a path that is a program is one
 * word.  Returns their count. */
int cc_words(struct build *, const char *text, const char **words);
/* The compiler to use, with its arguments: `named`, else $CC, else cc, gcc or clang, found on the PATH;
 * EXIT_ENVIRONMENT where there is none. */
const char *cc_find(struct build *, const char *named);
/* The C++ compiler, for the CUDA emulator: $CXX, else c++, g++ or clang++; EXIT_ENVIRONMENT where there is none. */
const char *cxx_find(struct build *);
/* For a target of another architecture: its cross compiler (arm-none-eabi-gcc, aarch64-linux-gnu-gcc). */
struct target;
const char *cc_for_target(struct build *, const struct target *, const char *named);
struct cc_job {
	const char *cc;        /* from cc_find: arguments may follow the program */
	const char *directory; /* where it runs; sources and outputs are relative to it */
	const char *flags;     /* separated by blanks */
	const char *const *sources;
	const char *const *objects; /* one for each source */
	int count;
	int jobs; /* compilers at once */
};
/* Compiles each source into its object.  EXIT_ENVIRONMENT with the compiler's first message where it refuses. */
void cc_compile(struct build *, const struct cc_job *);
/* Runs a program and waits: whether it succeeded.  `line` holds the first line of its output, or the first that tells
 * of an error. */
bool cc_ask(struct build *, const char *const *arguments, char *line, size_t room);
/* Runs a program and waits; EXIT_ENVIRONMENT with the first line of its output where it fails. */
void cc_run(struct build *, const char *directory, const char *const *arguments);

/* ---- cpu/object.c: what an object file takes of memory, as `size` tells it ---- */
struct object_function {
	const char *name;
	int64_t bytes; /* -1: it is wanted, of another object */
};
/* What the section of a function refers to, which stands in one of its own: a function, or what is wanted. */
struct object_call {
	const char *from, *to;
	unsigned object; /* which of those that were added */
};
struct object_sizes {
	int64_t text, data, bss; /* code and constants; what is written and begins as something; as zeros */
	unsigned objects;
	VECTOR(struct object_function) functions;
	VECTOR(struct object_call) calls;
};
/* Adds those of a file, which is kept, as names lie in it.  False: it is no ELF object of this machine's byte order. */
bool object_add_sizes(struct build *, const char *path, struct object_sizes *);

/* ---- cuda/nvrtc.c: NVIDIA's runtime compiler ---- */
struct nvrtc;
#define NVRTC_LACKS "there is no NVRTC: pip install nvidia-cuda-nvrtc and set VIRTUAL_ENV"
enum { IMAGES_MOST = 16 };
struct image {
	const char *arch;  /* "sm_90" */
	bool ptx;          /* not a cubin, but PTX of that architecture, without the 0 behind it */
	const char *bytes; /* made; in the build's arena, as all of this */
	size_t count;
	const char *log; /* registers, stack and spills of each kernel of a cubin, as ptxas says them */
};
/* `named`; NULL: below $CUDA_HOME, on the loader's path, below $VIRTUAL_ENV (PyPI's nvidia-cuda-nvrtc).  NULL: there is
 * none. */
struct nvrtc *nvrtc_find(struct build *, const char *named);
void nvrtc_release(struct nvrtc *);
const char *nvrtc_text(struct build *, const struct nvrtc *); /* its path and version */
/* The newest architecture that it can compile for and that runs on that capability: a cubin's where *ptx is false, else
 * PTX, which the driver compiles. */
const char *nvrtc_arch(struct build *, const struct nvrtc *, int capability, bool *ptx);
void nvrtc_check(
        struct build *, const struct nvrtc *, const char *arch); /* EXIT_USAGE where it cannot compile for that */
/* Fills the images, IMAGES_MOST at most, `jobs` processes at once; those that were made before are read from
 * $INGOT_CACHE (empty: none is kept), else $XDG_CACHE_HOME/ingot or ~/.cache/ingot, which holds 512 MiB at most.
 * EXIT_ENVIRONMENT with the compiler's first message where it refuses. */
void nvrtc_compile(
        struct build *, const struct nvrtc *, const char *text, const char *name, struct image *, int count, int jobs);
/* What was compiled before, of that text with those words: where it is kept (NULL: nowhere), its bytes and log. */
const char *cache_path(struct build *, const char *text, const char *more);
bool cache_take(struct build *, const char *path, struct image *); /* false: it has not been compiled */
void cache_give(struct build *, const char *path, const struct image *);

/* ---- cuda/driver.c: a GPU through NVIDIA's driver ---- */
struct driver_function {
	const char *name, *arguments;
};
extern const struct driver_function
        driver_functions[]; /* that libraries call, ended by one without a name: common/cuda.h */
struct cuda;
/* The GPU of that ordinal.  EXIT_ENVIRONMENT, as from all below (EXIT_LIMIT: the device has too little memory), with
 * the call and what the driver says. */
struct cuda *cuda_open(struct build *, int ordinal);
int cuda_capability(const struct cuda *); /* 90: 9.0 */
struct cuda_facts {
	const char *name;
	int processors;
	int64_t l2_bytes;
};
struct cuda_facts cuda_facts(struct cuda *);
/* Around all that follows; closing leaves too. */
void cuda_enter(struct cuda *);
void cuda_leave(struct cuda *);
void *cuda_load(struct cuda *, const char *image); /* a cubin, or PTX that ends in a 0: a module, until it is closed */
void *cuda_kernel(struct cuda *, void *module, const char *symbol, unsigned shared); /* shared: bytes of a launch */
uint64_t cuda_memory(struct cuda *, size_t bytes);                                   /* until it is closed */
/* In the device's one stream.  `from` is the caller's again when cuda_upload returns, `to` is filled when cuda_sync
 * does. */
void cuda_upload(struct cuda *, uint64_t to, const void *from, size_t bytes);
void cuda_download(struct cuda *, void *to, uint64_t from, size_t bytes);
/* to: 128 bytes, aligned to 64.  extent and pitch as TMA is told of them: dwords, bytes. */
void cuda_map(struct cuda *, void *to, uint64_t at, const int64_t *extent, int64_t pitch, const int *box);
void cuda_launch(struct cuda *, void *kernel, const char *name, unsigned blocks, unsigned warps, unsigned shared,
        void **arguments);
void cuda_sync(struct cuda *);
void cuda_finish(struct cuda *, const char *kernel); /* waits, and what fails is that kernel's */
/* What is issued between them becomes a graph, until it is closed, and is not run. */
void cuda_capture(struct cuda *);
void *cuda_captured(struct cuda *);
void cuda_replay(struct cuda *, void *graph);
void *cuda_event(struct cuda *); /* of the device's clock, until it is closed */
void cuda_record(struct cuda *, void *event);
double cuda_elapsed(struct cuda *, void *from, void *to); /* microseconds; both are done */
void cuda_close(struct cuda *);                           /* NULL is fine */
#endif
