/* base.h: what C lacks.  Memory with a named life, vectors, text, interned names, files, and one way to fail.
 *
 * A `struct build` is one run of the generator: its memory, its names and its way out.  Nothing is global, so several
 * builds may run in several threads at once.
 *
 *     struct build build;
 *     build_init(&build);
 *     if (BUILD_TRY(&build)) {                     // setjmp: the body runs until it ends or something fails
 *             ... work; fail(&build, EXIT_INVALID, "net.onnx: node conv1", "weight has %d channels", n);
 *     }
 *     report(build.code, build.message);           // code 0 where nothing failed
 *     build_release(&build);
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NORETURN __attribute__((noreturn))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))
#define COUNT(array) (sizeof(array) / sizeof *(array))
static inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
/* Numbers from 0 on, below `count` and of its type; places of a vector. */
#define FOR(i, count) for (__typeof__((count) + 0) i = 0; i < (count); i++)
#define FOR_ALL(i, vector) FOR (i, (vector).count)
/* What stands in a vector, one after the other; `break` ends it, as of one loop. */
#define FOR_EACH(declared, vector) \
	for (size_t at_ = 0, on_ = 1; on_ && at_ < (vector).count; at_++) \
		for (declared = (on_ = 0, (vector).at[at_]); !on_; on_ = 1)
/* … where that is no pointer: its place. */
#define FOR_EACH_AT(declared, vector) \
	for (size_t at_ = 0, on_ = 1; on_ && at_ < (vector).count; at_++) \
		for (declared = (on_ = 0, &(vector).at[at_]); !on_; on_ = 1)

/* ---- fail.c: the ways a build ends; also the exit codes of the program ---- */
enum exit_code {
	EXIT_RIGHT = 0,
	EXIT_DIFFERENT = 1,   /* numbers differ */
	EXIT_USAGE = 2,       /* also: the model or an input file missing, a dim not bound */
	EXIT_INVALID = 3,     /* the model, a template or external data is broken */
	EXIT_UNSUPPORTED = 4, /* valid, but ingot cannot do it: op and node are named */
	EXIT_ENVIRONMENT = 5, /* something this machine lacks, named */
	EXIT_LIMIT = 6,       /* memory, size or depth exceeded */
};

struct arena;
struct names;

/* How far the work is: so many done of a stage's, 0 of 0: unknown; so many programs running for it. */
struct progress {
	const char *stage;
	size_t done, count, running;
};

struct build {
	struct arena *arena; /* lives as long as the build: model, graph, definitions, kernels */
	struct names *names; /* interned strings, in that arena */
	jmp_buf *out;        /* where fail() goes; set by BUILD_TRY */
	jmp_buf first;
	struct kept *kept;  /* files that stay mapped as long as the build */
	struct text *input; /* standard input, once it was asked for; NULL: it was not */
	enum exit_code code;
	char message[1024]; /* one line, no newline at its end */
	char detail[4096];  /* further lines, each with its newline; empty where there is nothing more to say */
	bool detailed;      /* they belong to the failure to come */
	void (*warned)(struct build *, const char *message); /* who is told of a warning; NULL: nobody */
	/* Who is told how far the work is; true: it is to end.  NULL: nobody */
	bool (*told)(struct build *, const struct progress *);
	const volatile int *stop; /* not 0: the work is to end, at the next allocation; NULL: nobody says so */
	void *user;               /* of who is told */
	bool check; /* the checkers of the stages run after every step, not only at a stage's end; $INGOT_CHECK sets it
	             */
};

void build_init(struct build *);
void build_release(struct build *);
#define BUILD_TRY(build) ((build)->out = &(build)->first, setjmp((build)->first) == 0)

/* Ends the build: message is "where: format...", or "format..." where `where` is NULL.  Bytes of the message that are
 * not printable are escaped, as names come from files. */
NORETURN void fail(struct build *, enum exit_code, const char *where, const char *format, ...) PRINTF(4, 5);

/* What is not as it should be and yet no failure: a line for `build->warned`, made as that of fail(). */
void warn(struct build *, const char *where, const char *format, ...) PRINTF(3, 4);

/* Tells how far the work is.  Ends the build, with EXIT_ENVIRONMENT, where it is to end. */
void progress(struct build *, const char *stage, size_t done, size_t count, size_t running);
/* The same without a word: for places that wait. */
void stop_if_asked(struct build *);
static inline bool is_stopping(const struct build *build) { return build->stop && *build->stop; }

/* A copy whose control bytes, and what is no UTF-8, are escaped: names from files, for a terminal or JSON. */
char *text_clean(struct arena *, const char *text);

/* Adds lines to `build->detail`, to be followed by fail(); a NULL format empties it.  Newlines and tabs stay, other
 * unprintable bytes are escaped; what does not fit is dropped. */
void fail_detail(struct build *, const char *format, ...) PRINTF(2, 3);

/* ---- arena.c: memory that goes all at once ---- */
/* Allocations are zeroed and aligned to 64 bytes if they are of 64 or more, else to 16.  When memory ends (or `limit`
 * bytes, if not 0, are exceeded) the build fails with EXIT_LIMIT; no caller checks for NULL. */
struct arena {
	struct build *build;
	struct arena_block *blocks;
	size_t used, limit;
	const struct arena *outer; /* lives longer: what is there may be used here; NULL: it is the build's own */
	struct interned *interned; /* definitions/intern.c */
};
void arena_init(struct arena *, struct build *); /* inside the build's arena */
void arena_release(struct arena *);              /* may be used again after */
void *arena_alloc(struct arena *, size_t bytes);
void *arena_array(struct arena *, size_t count, size_t size); /* count * size, checked */
void *arena_apart(struct arena *, size_t bytes);              /* not zeroed; may go alone, by arena_drop */
void arena_drop(struct arena *, const void *apart);
void arena_trim(struct arena *, void *last, size_t bytes); /* what was allocated last is that short; 0: it is gone */
char *arena_copy(struct arena *, const char *text, size_t length); /* adds a 0 */
char *arena_printf(struct arena *, const char *format, ...) PRINTF(2, 3);

#define arena_new(arena, type) ((type *)arena_alloc(arena, sizeof(type)))
#define arena_new_array(arena, type, count) ((type *)arena_array(arena, (size_t)(count), sizeof(type)))

/* For tests: the n-th allocation of an arena or a text from now on fails, once (0: none does). */
void arena_fail_after(long n);
bool allocation_fails(void); /* asked before each */

/* ---- vector: struct { T *at; size_t count, room; } that grows in an arena ---- */
#define VECTOR(type) \
	struct { \
		type *at; \
		size_t count, room; \
	}
#define push(arena, vector, ...) \
	((vector)->count == (vector)->room ? ( \
	         void)((vector)->at = arena_grow(arena, (vector)->at, &(vector)->room, sizeof *(vector)->at)) \
	                                   : (void)0, \
	        (vector)->at[(vector)->count++] = __VA_ARGS__)
void *arena_grow(struct arena *, void *old, size_t *room, size_t size);

/* ---- text.c: a string that grows ---- */
/* `at` always ends in a 0 once something was added.  Kept by malloc; text_release frees.  When memory ends, or `limit`
 * (if not 0) is exceeded, the build fails with EXIT_LIMIT. */
struct text {
	struct build *build;
	char *at;
	size_t count, room, limit;
};
void text_init(struct text *, struct build *);
void text_release(struct text *);
void text_add(struct text *, const char *bytes, size_t count);
void text_adds(struct text *, const char *string);
void text_addc(struct text *, char);
void text_printf(struct text *, const char *format, ...) PRINTF(2, 3);

/* ---- utf8.c ---- */
unsigned text_decode(const char **at, const char *end); /* one code point, or 0xdc80.. for a byte that is no UTF-8 */
char *text_encode(char *to, unsigned point);            /* behind what it wrote */

/* ---- names.c: equal names are equal pointers ---- */
struct names *names_new(struct arena *);
const char *name_of(struct names *, const char *text, size_t length); /* text may hold any bytes but 0 */
const char *name_is(struct names *, const char *string);
const char *name_find(const struct names *, const char *text, size_t length); /* NULL: no such name yet */

/* ---- files.c ---- */
/* Of a file that cannot be made or written: EXIT_ENVIRONMENT where the disk is full or broken, else EXIT_USAGE. */
enum exit_code file_code(int reason);
/* "-" is standard input, which is read to its end once and may be asked for again. */
struct mapped {
	const uint8_t *at;
	size_t bytes;
	bool of_file; /* pages that are given back come again */
};
/* Maps a regular file for reading; EXIT_USAGE where it is missing or no regular file.  Stays until file_unmap,
 * or the build's end after file_keep; an empty file has bytes 0. */
struct mapped file_map(struct build *, const char *path);
void file_unmap(struct mapped);
/* Hands it to the build, which unmaps it at its end. */
void file_keep(struct build *, struct mapped);
void files_forget(struct build *);  /* gives back the memory of what was read of those; who reads on, reads again */
void files_release(struct build *); /* build_release does */

/* Makes an empty folder of its own below $TMPDIR, or /tmp; its path.  Who asks for it removes it. */
char *folder_temporary(struct build *, struct arena *);

/* A set of files that appear all or not at all.  Each is written to a temporary name beside its place and synced;
 * commit renames them; a set that is dropped (also by a failing build: call file_set_drop) leaves nothing behind.  What
 * a killed process left is removed by the next set of that directory. */
struct file_set;
struct file_set *file_set_new(struct build *, const char *directory); /* made with its parents where missing */
/* name: below the directory; may lie in folders, which are made where missing. */
void file_set_add(struct file_set *, const char *name, const void *bytes, size_t count);
const char *file_set_path(struct file_set *, const char *name); /* the temporary path, for programs that write it */
const char *file_set_name(const struct file_set *, size_t i);   /* the i-th; NULL after the last */
void file_set_commit(struct file_set *);
void file_set_drop(struct file_set *); /* NULL and committed sets are fine */

/* ---- generated.c: where a compiler's message about a generated text points ---- */
/* Behind a message "…:LINE: …" about a text whose lines count from there on: "; c/my.Foo.jinja made this line: …", or
 * "". */
const char *generated_line(struct build *, const char *message, const char *text, size_t count);

/* ---- nearest.c: what was meant by a wrong word ---- */
/* The candidate nearest to `name` by edits, or NULL where none is near. */
struct nearest {
	const char *name;
	size_t length;
	const char *best;
	size_t best_length;
	size_t distance;
};
void nearest_try(struct nearest *, const char *candidate, size_t count);
/* "; did you mean --input?  Known are: --input, --output": of a wrong word and each right one. */
struct choices {
	struct arena *arena;
	struct nearest nearest;
	const char *list;
	size_t left_out;
};
struct choices choices_for(struct build *, const char *wrong);
void choices_add(struct choices *, const char *word);
const char *choices_text(const struct choices *);

/* ---- hash.c: xxhash, 64 bits ---- */
uint64_t hash_bytes(const void *, size_t, uint64_t seed);
/* The same, with seed 0, of bytes that come one after the other. */
struct hash *hash_begin(struct build *);
void hash_add(struct hash *, const void *, size_t);
uint64_t hash_end(struct hash *); /* and lets go of it */

/* ---- sizes: products of numbers that come from files ---- */
static inline bool size_mul(size_t a, size_t b, size_t *product) { return !__builtin_mul_overflow(a, b, product); }
static inline bool size_add(size_t a, size_t b, size_t *sum) { return !__builtin_add_overflow(a, b, sum); }

#endif
