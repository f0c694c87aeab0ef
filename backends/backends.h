/* backends.h: what turns sources into something that runs. */
#ifndef BACKENDS_BACKENDS_H
#define BACKENDS_BACKENDS_H
#include "base/base.h"

/* ---- cpu/cc.c: the system's compiler ---- */
enum { CC_WORDS_MOST = 128 };
/* A command or flags -> its words, apart by blanks, CC_WORDS_MOST of them at most; a path that is a program is one word.  Returns their count. */
int cc_words(struct build *, const char *text, const char **words);
/* The compiler to use, with its arguments: `named`, else $CC, else cc, gcc or clang, found on the PATH; EXIT_ENVIRONMENT where there is none. */
const char *cc_find(struct build *, const char *named);
/* The C++ compiler, for the CUDA emulator: $CXX, else c++, g++ or clang++; EXIT_ENVIRONMENT where there is none. */
const char *cxx_find(struct build *);
/* For a target of another architecture: its cross compiler (arm-none-eabi-gcc, aarch64-linux-gnu-gcc). */
struct target;
const char *cc_for_target(struct build *, const struct target *, const char *named);
struct cc_job {
	const char *cc;                   /* from cc_find: arguments may follow the program */
	const char *directory;            /* where it runs; sources and outputs are relative to it */
	const char *flags;                /* separated by blanks */
	const char *const *sources;
	const char *const *objects;       /* one for each source */
	int count;
	int jobs;                         /* compilers at once */
	void (*progress)(void *user, int done, int count);        /* NULL: silent */
	void *user;
};
/* Compiles each source into its object.  EXIT_ENVIRONMENT with the compiler's first message where it refuses. */
void cc_compile(struct build *, const struct cc_job *);
/* Runs a program and waits: whether it succeeded.  `line` holds the first line of its output, or the first that tells of an error. */
bool cc_ask(struct build *, const char *const *arguments, char *line, size_t room);
/* Runs a program and waits; EXIT_ENVIRONMENT with the first line of its output where it fails. */
void cc_run(struct build *, const char *directory, const char *const *arguments);
#endif
