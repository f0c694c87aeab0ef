/* scalars.c: the rows of scalars.h as data. */
#include "tables/tables.h"

const struct scalar_entry scalars[SCALAR_COUNT] = {
#define S(name, arity, floats, ints, cost, error, ...) \
	[SCALAR_##name] = { #name, arity, floats, ints, cost, #__VA_ARGS__, error },
#include "tables/scalars.h"
#undef S
};
