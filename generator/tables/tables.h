/* tables.h: the enums and rows made of the tables. */
#ifndef TABLES_TABLES_H
#define TABLES_TABLES_H
#include <stdint.h>
#include <stddef.h>

enum dtype {
#define D(name, number, ...) DTYPE_##name = number,
#include "tables/dtypes.h"
#undef D
	DTYPE_COUNT
};
enum dtype_class { CLASS_OTHER, CLASS_FLOAT, CLASS_INT, CLASS_UINT, CLASS_BOOL };
struct dtype_row {
	const char *name, *text, *numpy;
	int bits;
	const char *c;
	enum dtype_class class;
};
extern const struct dtype_row dtypes[DTYPE_COUNT];

/* Floats below 32 bits: what narrow.h says of a type; `mantissa` 0 where it says nothing. */
struct narrow_row {
	int exponent, mantissa, bias;
	unsigned top, over, nan;
	int one_zero;
};
extern const struct narrow_row narrows[DTYPE_COUNT];
static inline int dtype_is_float(enum dtype type) { return dtypes[type].class == CLASS_FLOAT; }
static inline int dtype_is_narrow(enum dtype type) { return dtype_is_float(type) && dtypes[type].bits < 32; }

/* NumPy's word: "float32" where ONNX's text says "float". */
const char *dtype_numpy(enum dtype);

/* Bytes of n elements; sub-byte types are packed. */
static inline size_t dtype_bytes(enum dtype type, size_t n) { return (n * (size_t)dtypes[type].bits + 7) / 8; }

enum scalar {
#define S(name, ...) SCALAR_##name,
#include "tables/scalars.h"
#undef S
	SCALAR_COUNT
};
/* `cost` is in vector instructions, for the law of placement; `text` is printed into kernels. */
struct scalar_entry {
	const char *name;
	int arity;
	int floats, ints;
	int cost;
	const char *text, *error;
};
extern const struct scalar_entry scalars[SCALAR_COUNT];

#endif
