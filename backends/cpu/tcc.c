/* tcc.c: C text -> functions in memory, by libtcc.
 * With -nostdlib and -nostdinc libtcc opens no file and sees no symbol but those it is given.  It ends the process
 * where memory may not become executable or runs out, so both are asked for before it is let in. */
#include "backends/cpu/jit.h"
#include <libtcc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct jit_code {
	void *at;
	size_t bytes;
	TCCState *state; /* while names are still asked for */
};

/* What libtcc calls of its own accord: copies of structs, initialisers, 64-bit conversions. */
static unsigned long long fix_u64(double x) { return (unsigned long long)x; }
static unsigned long long fix_u64_float(float x) { return (unsigned long long)x; }
static double float_u64(unsigned long long x) { return (double)x; }
static float float_u64_float(unsigned long long x) { return (float)x; }
static const struct jit_symbol own[] = {
	{ "memcpy", (const void *)memcpy },
	{ "memmove", (const void *)memmove },
	{ "memset", (const void *)memset },
	{ "__fixunsdfdi", (const void *)fix_u64 },
	{ "__fixunssfdi", (const void *)fix_u64_float },
	{ "__floatundidf", (const void *)float_u64 },
	{ "__floatundisf", (const void *)float_u64_float },
};

/* libtcc relocates through pages that may be written and executed; we leave them read and execute. */
static int may(int protection)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int allowed = at != MAP_FAILED && !mprotect(at, page, protection);
	if (at != MAP_FAILED)
		munmap(at, page);
	return allowed;
}

enum jit_status jit_probe(void)
{
	return may(PROT_READ | PROT_WRITE | PROT_EXEC) && may(PROT_READ | PROT_EXEC) ? JIT_OK : JIT_FORBIDDEN;
}

struct telling {
	char *message;
	size_t room;
};
static void tell(void *user, const char *message)
{
	struct telling *telling = user;
	if (telling->room && !*telling->message && !strstr(message, "warning:"))
		snprintf(telling->message, telling->room, "%.*s", (int)strcspn(message, "\n"), message);
}

/* Text of n bytes takes libtcc less than 40 n and some MB. */
static int memory_is_there(size_t bytes)
{
	size_t wanted = (bytes < SIZE_MAX / 64 ? bytes * 40 : SIZE_MAX / 2) + (8u << 20);
	void *at = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return 0;
	munmap(at, wanted);
	return 1;
}

enum { LARGE_PAGE = 2 << 20 };

void *jit_data(size_t bytes)
{
	if (bytes < LARGE_PAGE / 2)
		return aligned_alloc(64, (bytes + 63) / 64 * 64);
	if (bytes > SIZE_MAX - 2 * LARGE_PAGE)
		return NULL;
	size_t whole = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
	unsigned char *at = mmap(NULL, whole + LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	size_t before = (LARGE_PAGE - (uintptr_t)at % LARGE_PAGE) % LARGE_PAGE, after = LARGE_PAGE - before;
	if (before)
		munmap(at, before);
	if (after)
		munmap(at + before + whole, after);
	(void)madvise(at + before, whole, MADV_HUGEPAGE);
	return at + before;
}

void jit_data_release(void *at, size_t bytes)
{
	if (bytes < LARGE_PAGE / 2)
		free(at);
	else if (at)
		munmap(at, (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
}

static enum jit_status place(struct jit_code *code)
{
	int size = tcc_relocate(code->state, NULL);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (size < 0)
		return JIT_REFUSED;
	code->bytes = ((size_t)size + page - 1) / page * page + page;
	code->at = mmap(NULL, code->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code->at == MAP_FAILED) {
		code->at = NULL;
		return JIT_MEMORY;
	}
	if (tcc_relocate(code->state, code->at) < 0)
		return JIT_REFUSED;
	return mprotect(code->at, code->bytes, PROT_READ | PROT_EXEC) ? JIT_FORBIDDEN : JIT_OK;
}

/* libtcc has a lock for what is global in it, but sets that lock up when the first caller comes, and two may be the
 * first: both are let in then (helgrind, on test_jit).  So no two threads are inside at once. */
static pthread_mutex_t inside = PTHREAD_MUTEX_INITIALIZER;

static void release(struct jit_code *code)
{
	if (code->at)
		munmap(code->at, code->bytes);
	if (code->state)
		tcc_delete(code->state);
	free(code);
}

static enum jit_status compile(struct jit_code **out, const char *source, const struct jit_symbol *symbols,
        size_t count, char *message, size_t room)
{
	struct telling telling = { message, room };
	enum jit_status status = jit_probe();
	if (room)
		*message = 0;
	*out = NULL;
	if (status)
		return status;
	struct jit_code *code = calloc(1, sizeof *code);
	if (!code || !memory_is_there(strlen(source)) || !(code->state = tcc_new())) {
		free(code);
		return JIT_MEMORY;
	}
	tcc_set_error_func(code->state, &telling, tell);
	tcc_set_options(code->state, "-nostdlib -nostdinc -Wall -Werror=implicit-function-declaration");
	tcc_set_output_type(code->state, TCC_OUTPUT_MEMORY);
	tcc_define_symbol(code->state, "INGOT_NO_HEADERS", "1");
	status = tcc_compile_string(code->state, source) < 0 ? JIT_REFUSED : JIT_OK;
	for (size_t i = 0; !status && i < sizeof own / sizeof *own; i++)
		tcc_add_symbol(code->state, own[i].name, own[i].at);
	for (size_t i = 0; !status && i < count; i++)
		tcc_add_symbol(code->state, symbols[i].name, symbols[i].at);
	if (!status)
		status = place(code);
	if (status) {
		release(code);
		return status;
	}
	*out = code;
	return JIT_OK;
}

enum jit_status jit_compile(struct jit_code **out, const char *source, const struct jit_symbol *symbols, size_t count,
        char *message, size_t room)
{
	pthread_mutex_lock(&inside);
	enum jit_status status = compile(out, source, symbols, count, message, room);
	pthread_mutex_unlock(&inside);
	return status;
}

void *jit_function(const struct jit_code *code, const char *name)
{
	pthread_mutex_lock(&inside);
	void *at = tcc_get_symbol(code->state, name);
	pthread_mutex_unlock(&inside);
	return at;
}

size_t jit_bytes(const struct jit_code *code) { return code->bytes; }

void jit_release(struct jit_code *code)
{
	if (!code)
		return;
	pthread_mutex_lock(&inside);
	release(code);
	pthread_mutex_unlock(&inside);
}
