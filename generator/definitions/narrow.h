/* narrow.h: floats below 32 bits for the interpreter and for comparing: codes and what they mean. */
#ifndef DEFINITIONS_NARROW_H
#define DEFINITIONS_NARROW_H
#include "definitions/definitions.h"

float narrow_value(enum dtype, unsigned code);
unsigned narrow_code(enum dtype, int cast, float); /* cast: as an EXPR_CAST has it; nearest, ties to even */
/* Cut to a float whose last bit is set where something was cut off: narrow_code of it rounds the number once. */
float narrow_odd(double);
float narrow_odd_long(int64_t);
float narrow_odd_whole(uint64_t);
#endif
