/* alone.h: INGOT_THREADS=0, what a bare machine gets by itself: one thread, `sync` alone, memory out of one block of
 * the caller's (ingot_runtime_options.block), and of libc memcpy and memset.  What else loading, linking and running
 * call of libc has its stand-in here, under the same name.  Programs that also set or get single values (ldexp, frexp,
 * nearbyint) or read words and make names (strchr, strncmp, bsearch, isalnum …) take those from theirs. */
#ifndef RUNTIME_ALONE_H
#define RUNTIME_ALONE_H

#ifndef INGOT_THREADS
#if defined __unix__ || defined __APPLE__ || defined _WIN32
#define INGOT_THREADS 1
#else
#define INGOT_THREADS 0
#endif
#endif

#if INGOT_THREADS
#define THREAD_LOCAL _Thread_local
#else
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define THREAD_LOCAL

bool alone_block(void *block, size_t bytes);    /* false: too small, or in use */
void *alone_memory(size_t bytes, size_t align); /* zeroed; NULL: none left */
void alone_free(void *);
size_t alone_left(void);
size_t alone_length(const char *);
int alone_compare(const void *, const void *, size_t);
int alone_order(const char *, const char *);
void *alone_move(void *, const void *, size_t);
/* %s %.*s %c %d %u %x %ld %lu %lld %llu %zu, with widths; %g as a whole number */
int alone_print(char *, size_t, const char *, ...);
int alone_print_list(char *, size_t, const char *, va_list);

#define malloc(bytes) alone_memory(bytes, 8)
#define calloc(count, bytes) alone_memory((count) * (bytes), 8)
#define free alone_free
#define strlen alone_length
#define memcmp alone_compare
#define strcmp alone_order
#define memmove alone_move
#define snprintf alone_print
#define vsnprintf alone_print_list
#endif
#endif
