/* runtime_absent.c: the stand-in for the embedded runtime, in the program that prints the menu. */
#include "base/embedded.h"

const struct embedded_file embedded_runtime_files[] = { { 0, 0, 0 } };
const size_t embedded_runtime_count = 0;
