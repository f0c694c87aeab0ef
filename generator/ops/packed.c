/* packed.c: elements below 8 bits.  Only inputs, outputs and constants are packed, low bits first; in between an
 * integer is a byte, and a float one of float8e4m3fn, which has every number of float4 and float6. */
#include "ops/words.h"
#include <math.h>

enum { E4M3_MANTISSA = 3, E4M3_BIAS = 7 };

static bool is_packed_float(enum dtype type) { return dtype_is_float(type); }

static int64_t mask_of(enum dtype type) { return ((int64_t)1 << dtypes[type].bits) - 1; }

static expr_ref whole(struct definer *definer, int64_t number) { return WHOLE(DTYPE_I32, number); }

enum dtype dtype_stored(enum dtype type)
{
	if (dtypes[type].bits >= 8 || dtypes[type].class == CLASS_OTHER)
		return type;
	return is_packed_float(type) ? DTYPE_F8E4M3FN : dtypes[type].class == CLASS_INT ? DTYPE_I8 : DTYPE_U8;
}

/* The exponents begin elsewhere: as bits of float8e4m3fn a code means its number times this. */
static float shift_of(enum dtype type) { return ldexpf(1, narrows[type].bias - E4M3_BIAS); }

expr_ref packed_from_code(struct definer *definer, enum dtype type, expr_ref code)
{
	int bits = dtypes[type].bits, drop = E4M3_MANTISSA - narrows[type].mantissa;
	if (!is_packed_float(type)) {
		int64_t sign = (int64_t)1 << (bits - 1);
		if (dtypes[type].class == CLASS_INT)
			code = SUB(expr2(definer, SCALAR_xor, code, whole(definer, sign)), whole(definer, sign));
		return CAST(dtype_stored(type), code);
	}
	expr_ref magnitude = expr2(definer, SCALAR_and, code, whole(definer, mask_of(type) >> 1));
	expr_ref sign = expr2(definer, SCALAR_shr, code, whole(definer, bits - 1));
	expr_ref byte = expr2(definer, SCALAR_or, expr2(definer, SCALAR_shl, magnitude, whole(definer, drop)),
	        expr2(definer, SCALAR_shl, sign, whole(definer, 7)));
	expr_ref number = CAST(DTYPE_F32, CAST_AS(DTYPE_F8E4M3FN, CAST_BITS, CAST(DTYPE_U8, byte)));
	return CAST(DTYPE_F8E4M3FN, MUL(number, NUMBER(DTYPE_F32, (double)(1 / shift_of(type)))));
}

expr_ref packed_code(struct definer *definer, enum dtype type, expr_ref stored)
{
	int bits = dtypes[type].bits, drop = E4M3_MANTISSA - narrows[type].mantissa;
	if (!is_packed_float(type))
		return expr2(definer, SCALAR_and, CAST(DTYPE_I32, stored), whole(definer, mask_of(type)));
	expr_ref number = MUL(CAST(DTYPE_F32, stored), NUMBER(DTYPE_F32, (double)shift_of(type)));
	expr_ref byte = CAST(DTYPE_I32, CAST_AS(DTYPE_U8, CAST_BITS, CAST(DTYPE_F8E4M3FN, number)));
	expr_ref magnitude =
	        expr2(definer, SCALAR_shr, expr2(definer, SCALAR_and, byte, whole(definer, 127)), whole(definer, drop));
	expr_ref sign = expr2(definer, SCALAR_shr, byte, whole(definer, 7));
	return expr2(definer, SCALAR_or, magnitude, expr2(definer, SCALAR_shl, sign, whole(definer, bits - 1)));
}

const void *packed_constant(struct arena *arena, enum dtype type, const void *data, size_t count)
{
	int bits = dtypes[type].bits;
	bool is_signed = dtypes[type].class == CLASS_INT;
	uint8_t *bytes = arena_new_array(arena, uint8_t, count + 1);
	FOR (i, count) {
		size_t bit = i * (size_t)bits;
		const uint8_t *at = (const uint8_t *)data + bit / 8;
		unsigned value = at[0];
		if (bit % 8 + (size_t)bits > 8)
			value |= (unsigned)at[1] << 8;
		value = value >> (bit % 8) & ((1u << bits) - 1);
		bytes[i] = (uint8_t)(is_packed_float(type) ? narrow_code(DTYPE_F8E4M3FN, 0, narrow_value(type, value))
		                : is_signed && value >> (bits - 1) ? value | ~0u << bits
		                                                   : value);
	}
	return bytes;
}

struct definition *packed_read(
        struct definer *definer, const char *name, const struct shown *as, struct definition *bytes)
{
	index_ref at[MAX_RANK];
	int bits = dtypes[as->type].bits;
	if (!shown_elements(as))
		return MAP(name, as->rank, as->extents, packed_from_code(definer, as->type, whole(definer, 0)));
	VARS(at, as->rank, as->extents);
	index_ref bit = SCALE(FLATTEN(as->rank, at, as->extents), bits);
	index_ref byte = QUOTIENT(bit, 8), next = PLUS(byte, 1), off = REST(bit, 8);
	expr_ref code = CAST(DTYPE_I32, LOAD(bytes, &byte));
	if (8 % bits) { /* some elements lie in two bytes */
		const struct range there = { next, 0, bytes->extents[0] };
		expr_ref high = SELECT(&there, 1, CAST(DTYPE_I32, LOAD(bytes, &next)), whole(definer, 0));
		code = expr2(definer, SCALAR_or, code, expr2(definer, SCALAR_shl, high, whole(definer, 8)));
	}
	code = expr2(definer, SCALAR_shr, code, CAST(DTYPE_I32, POSITION(off)));
	code = expr2(definer, SCALAR_and, code, whole(definer, mask_of(as->type)));
	return MAP(name, as->rank, as->extents, packed_from_code(definer, as->type, code));
}

struct definition *packed_write(
        struct definer *definer, const char *name, const struct shown *as, struct definition *elements)
{
	int bits = dtypes[as->type].bits;
	int64_t count = definition_elements(elements), bytes = (int64_t)dtype_bytes(as->type, (size_t)count);
	if (!count)
		return MAP(name, 1, &bytes, WHOLE(DTYPE_U8, 0));
	if (elements->rank != 1) { /* one index, which the ranges below keep inside */
		index_ref at[MAX_RANK];
		UNFLATTEN(VAR(0, count), elements->rank, elements->extents, at);
		elements = MAP(FORMAT("%s_flat", elements->name), 1, &count, LOAD(elements, at));
	}
	index_ref bit = SCALE(VAR(0, bytes), 8);
	index_ref first = QUOTIENT(bit, bits), off = REST(bit, bits);
	expr_ref all = whole(definer, 0);
	for (int k = 0; k * bits < 8 + (8 % bits ? bits - 2 : 0); k++) {
		index_ref flat = PLUS(first, k);
		const struct range there = { flat, 0, count };
		expr_ref code = packed_code(definer, as->type, LOAD(elements, &flat));
		index_ref up = PLUS(SCALE(off, -1), k * bits); /* k: how far up its lowest bit goes */
		code = k ? expr2(definer, SCALAR_shl, code, CAST(DTYPE_I32, POSITION(up)))
		         : expr2(definer, SCALAR_shr, code, CAST(DTYPE_I32, POSITION(off)));
		code = SELECT(&there, 1, code, whole(definer, 0));
		all = k ? expr2(definer, SCALAR_or, all, code) : code;
	}
	return MAP(name, 1, &bytes, CAST(DTYPE_U8, expr2(definer, SCALAR_and, all, whole(definer, 255))));
}
