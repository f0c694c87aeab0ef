/* rows.h: tests of the rows that live in the generator: each loads a library that ingot made of tests/managed/graphs,
 * on sync and multicore compiled ahead of time by the build's C compiler, and on multicore by the JIT. */
#ifndef TESTS_MANAGED_ROWS_H
#define TESTS_MANAGED_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ingot/context.h"
#include "ingot/mode.h"

struct trial {
	const char *device; /* sync, multicore, jit */
	bool jit;
	const char *ingot; /* path of the program */
	char folder[64];   /* scratch, empty */
	struct ingot_runtime *runtime;
	struct ingot_device on;
	struct ingot_stream stream;
	struct ingot_context context;
};

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))
#define OK(call) check_status(INGOT_OK, call, __FILE__, __LINE__, #call)
#define FAILS(status, call) check_status(status, call, __FILE__, __LINE__, #call)
#define SAYS(text) check_says(text, __FILE__, __LINE__)
_Noreturn void check_failed(const char *file, int line, const char *what);
void check_status(enum ingot_status wanted, enum ingot_status got, const char *file, int line, const char *what);
void check_says(const char *text, const char *file, int line); /* the runtime's last message contains it */

/* ---- modules.c: libraries by name, see its table; by the JIT where the trial says so ---- */
const struct ingot_module *module_of(struct trial *, const char *name);
struct ingot_library load_library(struct trial *, const char *name);
struct ingot_node node_of(struct ingot_library, const char *name);
const struct ingot_module_tensor *tensor_of(
        const struct ingot_module *, const char *name, const char *routine);                /* NULL: none */
const struct ingot_module_node *module_node(const struct ingot_module *, const char *name); /* NULL: none */
const struct ingot_module_routine *routine_of(const struct ingot_module *, const char *name);
void write_f32(struct ingot_context, struct ingot_node, const float *, size_t count); /* and waits */
void read_f32(struct ingot_context, struct ingot_node, float *, size_t count);
void link_routine(struct ingot_context, struct ingot_library, const char *name, struct ingot_routine *,
        struct ingot_context *linked);

/* ---- rows.c ---- */
/* Runs the program with these words, in the tests' graphs' folder; its output and errors, up to 64 KiB; *code is its
 * exit status. */
const char *ingot_says(struct trial *, int *code, const char *format, ...) __attribute__((format(printf, 3, 4)));
char *file_text(const char *format, ...) __attribute__((format(printf, 1, 2))); /* NULL: no such file */
void same_as_golden(const char *text, const char *name); /* of tests/managed/golden; INGOT_UPDATE=1 writes it */

struct row {
	const char *id, *symbol, *test;
	void (*run)(struct trial *);
	const char *devices;
};
extern const struct row rows_modes[], rows_batch[], rows_memory[], rows_texts[], rows_ops[];
#endif
