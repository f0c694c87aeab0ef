/* dtypes.c: the rows of dtypes.h. */
#include "tables/tables.h"

const struct dtype_row dtypes[DTYPE_COUNT] = {
#define D(name, number, text, numpy, bits, c, class) [DTYPE_##name] = { #name, text, numpy, bits, c, CLASS_##class },
#include "tables/dtypes.h"
#undef D
};
