/* jit.h: C text -> functions in memory, and the precompiled functions that such text may call.
 *
 *     struct jit_code *code;
 *     status = jit_compile(&code, source, symbols, count, message, sizeof message);
 *     run = jit_function(code, "run");                  // stays callable until jit_release(code)
 *
 * Two files stand behind it: tcc.c (libtcc) and tcc_absent.c, where a build has none: every call then answers
 * JIT_ABSENT.  Nothing here prints, exits, or opens a file.  Text may come from several threads at once; libtcc itself
 * takes them one after the other, under a lock of its own.  Text must be ours: libtcc is no place for what a stranger
 * wrote. */
#ifndef BACKENDS_CPU_JIT_H
#define BACKENDS_CPU_JIT_H
#include <stddef.h>

enum jit_status {
	JIT_OK,
	JIT_ABSENT,    /* this build has no libtcc */
	JIT_FORBIDDEN, /* this process may make no executable memory (PR_SET_MDWE, SELinux execmem …) */
	JIT_REFUSED,   /* the text is wrong, or names what is not in `symbols`: `message` says where */
	JIT_MEMORY,    /* not enough memory */
};

/* Whatever the text may call or read; nothing of the process is visible otherwise. */
struct jit_symbol {
	const char *name;
	const void *at;
};
struct jit_code;

/* JIT_OK where jit_compile can work at all. */
enum jit_status jit_probe(void);
/* The text is C99 without headers, vectors, atomics or aligned locals (docs/jit.md).  `message` is one line, "" on
 * success. */
enum jit_status jit_compile(struct jit_code **, const char *source, const struct jit_symbol *symbols, size_t count,
        char *message, size_t room);
void *jit_function(const struct jit_code *, const char *name); /* NULL: the text has no such function */
size_t jit_bytes(const struct jit_code *);                     /* of memory that it holds */
void jit_release(struct jit_code *);                           /* NULL is fine */

/* Memory for what the code reads and writes, filled with nothing, 64 bytes aligned.  Large blocks are mappings of their
 * own in large pages, where the system has them: their bytes do not push each other out of a cache, as those of pages
 * that lie anywhere may.  NULL: out of memory.  Given back with the bytes it was asked for; NULL is fine. */
void *jit_data(size_t bytes);
void jit_data_release(void *, size_t bytes);

/* The menu of one CPU (a name of `ingot targets`), sorted by name; NULL where this build has none. */
const struct jit_symbol *jit_menu(const char *cpu, size_t *count);
#endif
