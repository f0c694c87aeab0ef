/* tcc_streams.c: the C library's variables under names of our own, for the libtcc inside of libingot.so.
 *
 * A libtcc.a that is not position-independent reaches variables by their distance, which a shared library cannot do to
 * another's: there they are renamed to these (generator/shared/CMakeLists.txt).  Read once: who sets stdout or environ
 * later changes nothing here. */
#include <stdio.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))
extern HIDDEN FILE *ingot_tcc_stdout, *ingot_tcc_stderr;
extern HIDDEN char **ingot_tcc_environ;
FILE *ingot_tcc_stdout, *ingot_tcc_stderr;
char **ingot_tcc_environ;

__attribute__((constructor)) static void fill(void)
{
	ingot_tcc_stdout = stdout;
	ingot_tcc_stderr = stderr;
	ingot_tcc_environ = environ;
}
