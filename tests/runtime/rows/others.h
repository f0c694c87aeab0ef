/* others.h: the rows that live in the generator have a program of their own, generator-rows; see tests/managed/rows. */
#ifndef TESTS_RUNTIME_OTHERS_H
#define TESTS_RUNTIME_OTHERS_H
#include <stdbool.h>

/* Whether that program, beside `program` (argv[0]), answers for a row that is skipped here with these words. */
bool others_answer(const char *program, const char *skip);
/* Prints its answers as the rest of a JSON list that has `begun`; how many failed. */
int others_print(const char *program, bool begun, const char *row, const char *device);
#endif
