/* values.c: elements of every type as floats, doubles or int64, and back.  A float below 32 bits is its code. */
#include "definitions/evaluate.h"
#include "definitions/narrow.h"
#include <math.h>

enum system system_of(enum dtype type, enum math math)
{
	if (dtypes[type].class != CLASS_FLOAT || dtype_is_narrow(type))
		return SYSTEM_INTEGER;
	return type == DTYPE_F64 || math == MATH_DOUBLE ? SYSTEM_DOUBLE : SYSTEM_FLOAT;
}

/* clang-format off */
/* X(element type, C type): what memory may hold */
#define STORED(X)                                                                                                      \
	X(F32, float)                                                                                                  \
	X(F64, double) X(I8, int8_t) X(U8, uint8_t) X(I16, int16_t) X(U16, uint16_t) X(I32, int32_t) X(U32, uint32_t)  \
	        X(I64, int64_t) X(U64, uint64_t) X(BOOL, uint8_t)                                                      \
	X(F16, uint16_t) X(BF16, uint16_t) X(F8E4M3FN, uint8_t) X(F8E4M3FNUZ, uint8_t)                                 \
	X(F8E5M2, uint8_t) X(F8E5M2FNUZ, uint8_t) X(F8E8M0, uint8_t)
/* clang-format on */

#define LOAD_AS(C, Y, PLACE) \
	do { \
		const C *e = elements; \
		Y *y = values; \
		FOR (i, n) \
			y[i] = (Y)e[PLACE]; \
	} while (0)

/* From a float only to floats: a system's values come from elements of its own class. */
#define LOAD_CASES(C, PLACE) \
	if (system == SYSTEM_FLOAT) \
		LOAD_AS(C, float, PLACE); \
	else if (system == SYSTEM_DOUBLE) \
		LOAD_AS(C, double, PLACE); \
	else \
		LOAD_AS(C, int64_t, PLACE);

void values_load(enum system system, void *values, const void *elements, enum dtype stored, int64_t first, int n)
{
	switch (stored) {
#define X(type, C) \
	case DTYPE_##type: LOAD_CASES(C, first + i) break;
		STORED(X)
#undef X
	default: break;
	}
}

void values_gather(enum system system, void *values, const void *elements, enum dtype stored, const int64_t *at,
        int64_t plus, int n)
{
	switch (stored) {
#define X(type, C) \
	case DTYPE_##type: LOAD_CASES(C, at[i] + plus) break;
		STORED(X)
#undef X
	default: break;
	}
}

#define STORE_AS(C, V) \
	do { \
		C *e = elements; \
		const V *v = values; \
		FOR (i, n) \
			e[first + i] = (C)v[i]; \
	} while (0)

void values_store(enum system system, const void *values, void *elements, enum dtype stored, int64_t first, int n)
{
	switch (stored) {
#define X(type, C) \
	case DTYPE_##type: \
		if (system == SYSTEM_FLOAT) \
			STORE_AS(C, float); \
		else if (system == SYSTEM_DOUBLE) \
			STORE_AS(C, double); \
		else \
			STORE_AS(C, int64_t); \
		break;
		STORED(X)
#undef X
	default: break;
	}
}

static int64_t lowest(enum dtype type)
{
	return dtypes[type].class == CLASS_INT ? INT64_MIN >> (64 - dtypes[type].bits) : 0;
}
static int64_t highest(enum dtype type)
{
	int bits = dtypes[type].bits - (dtypes[type].class == CLASS_INT);
	return bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
}

void values_wrap(enum dtype type, int64_t *values, int n)
{
	int unused = 64 - dtypes[type].bits;
	bool is_signed = dtypes[type].class == CLASS_INT;
	if (dtypes[type].class == CLASS_BOOL)
		FOR (i, n)
			values[i] = values[i] != 0;
	else if (unused)
		FOR (i, n)
			values[i] = is_signed ? (int64_t)((uint64_t)values[i] << unused) >> unused
			                      : (int64_t)((uint64_t)values[i] << unused >> unused);
}

static int64_t cut(double x, enum dtype type)
{
	if (isnan(x))
		return 0;
	if (type == DTYPE_U64)
		return x <= 0 ? 0 : x >= 0x1p64 ? -1 : (int64_t)(uint64_t)x;
	if (x <= (double)lowest(type))
		return lowest(type);
	if (x >= (double)highest(type))
		return highest(type);
	return (int64_t)x;
}

/* The same bits: of what a type's own memory holds. */
static void cast_bits(
        enum system from, enum dtype from_type, const void *a, enum system to, enum dtype to_type, void *y, int n)
{
	FOR (i, n) {
		uint64_t room[1];
		values_store(from, (const char *)a + (size_t)i * system_bytes(from), room, from_type, 0, 1);
		values_load(to, (char *)y + (size_t)i * system_bytes(to), room, to_type, 0, 1);
	}
}

static void cast_narrow(
        enum system from, enum dtype from_type, const void *a, enum dtype to_type, int cast, int64_t *y, int n)
{
	FOR (i, n) {
		int64_t whole = from == SYSTEM_INTEGER ? ((const int64_t *)a)[i] : 0;
		float x = from == SYSTEM_FLOAT   ? ((const float *)a)[i]
		        : from == SYSTEM_DOUBLE  ? narrow_odd(((const double *)a)[i])
		        : from_type == DTYPE_U64 ? narrow_odd_whole((uint64_t)whole)
		                                 : narrow_odd_long(whole);
		y[i] = narrow_code(to_type, cast, x);
	}
}

void values_cast(enum system from, enum dtype from_type, const void *a, enum system to, enum dtype to_type, int cast,
        void *y, int n)
{
	const float *f = a;
	const double *d = a;
	const int64_t *k = a;
	if (cast & CAST_BITS) {
		cast_bits(from, from_type, a, to, to_type, y, n);
		return;
	}
	if (dtype_is_narrow(to_type)) {
		cast_narrow(from, from_type, a, to_type, cast, y, n);
		return;
	}
	for (int i = 0; dtype_is_narrow(from_type) && i < n; i++) {
		float x = narrow_value(from_type, (unsigned)k[i]);
		if (to == SYSTEM_DOUBLE)
			((double *)y)[i] = (double)x;
		else
			((float *)y)[i] = x;
	}
	if (dtype_is_narrow(from_type))
		return;
	if (to != SYSTEM_INTEGER) {
		FOR (i, n) {
			double x = from == SYSTEM_FLOAT ? f[i] : from == SYSTEM_DOUBLE ? d[i] : 0;
			if (to == SYSTEM_DOUBLE)
				((double *)y)[i] = from != SYSTEM_INTEGER ? x
				        : from_type == DTYPE_U64          ? (double)(uint64_t)k[i]
				                                          : (double)k[i];
			else
				((float *)y)[i] = from != SYSTEM_INTEGER ? (float)x
				        : from_type == DTYPE_U64         ? (float)(uint64_t)k[i]
				                                         : (float)k[i];
		}
		return;
	}
	FOR (i, n) {
		double x = from == SYSTEM_FLOAT ? f[i] : from == SYSTEM_DOUBLE ? d[i] : 0;
		int64_t *out = y;
		out[i] = from == SYSTEM_INTEGER ? k[i] : to_type == DTYPE_BOOL ? x != 0 : cut(x, to_type);
	}
	values_wrap(to_type, y, n);
}

void values_spread(enum system system, const void *value, void *y, int n)
{
	if (system == SYSTEM_FLOAT)
		FOR (i, n)
			((float *)y)[i] = *(const float *)value;
	else
		FOR (i, n)
			((int64_t *)y)[i] = *(const int64_t *)value;
}
