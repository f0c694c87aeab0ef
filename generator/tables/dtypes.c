/* dtypes.c: the rows of dtypes.h and narrow.h. */
#include "tables/tables.h"

const struct dtype_row dtypes[DTYPE_COUNT] = {
#define D(name, number, text, numpy, bits, c, class) [DTYPE_##name] = { #name, text, numpy, bits, c, CLASS_##class },
#include "tables/dtypes.h"
#undef D
};

const struct narrow_row narrows[DTYPE_COUNT] = {
#define N(type, ...) [DTYPE_##type] = { __VA_ARGS__ },
#include "tables/narrow.h"
#undef N
};

const char *dtype_numpy(enum dtype type)
{
	return type == DTYPE_F32 ? "float32" : type == DTYPE_F64 ? "float64" : dtypes[type].text;
}
