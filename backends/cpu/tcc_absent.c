/* tcc_absent.c: stands in for tcc.c where a build has no libtcc. */
#include "backends/cpu/jit.h"

enum jit_status jit_probe(void) { return JIT_ABSENT; }

enum jit_status jit_compile(struct jit_code **code, const char *source, const struct jit_symbol *symbols, size_t count,
        char *message, size_t room)
{
	(void)source, (void)symbols, (void)count;
	*code = NULL;
	if (room)
		*message = 0;
	return JIT_ABSENT;
}

void *jit_function(const struct jit_code *code, const char *name) { return (void)code, (void)name, NULL; }
size_t jit_bytes(const struct jit_code *code) { return (void)code, 0; }
void *jit_data(size_t bytes) { return (void)bytes, NULL; }
void jit_data_release(void *at, size_t bytes) { (void)at, (void)bytes; }
void jit_release(struct jit_code *code) { (void)code; }
const struct jit_symbol *jit_menu(const char *cpu, size_t *count) { return (void)cpu, *count = 0, NULL; }
