/* typed.c: values of other types than float along the lanes of a block: which lanes a type has, and what the menu has
 * for them (templates/c/jit_menu_typed.jinja). */
#include "jit/jit.h"

const struct lanes *lanes_of(enum dtype type)
{
	static const struct lanes f32 = { "f32", "float", 1 }, f64 = { "f64", "double", 2 }, i32 = { "i32", "int", 1 },
	                          i64 = { "i64", "long long", 2 }, u64 = { "u64", "unsigned long long", 2 };
	switch (type) {
	case DTYPE_F32: return &f32;
	case DTYPE_F64: return &f64;
	case DTYPE_I64: return &i64;
	case DTYPE_U64: return &u64;
	case DTYPE_I32:
	case DTYPE_I16:
	case DTYPE_U16:
	case DTYPE_I8:
	case DTYPE_U8:
	case DTYPE_BOOL: return &i32;
	default: return NULL;
	}
}

bool lanes_lie(enum dtype type)
{
	return type == DTYPE_F32 || type == DTYPE_F64 || type == DTYPE_I32 || type == DTYPE_I64 || type == DTYPE_U64;
}

/* From here on vectors have no instruction for doubles: the C library's functions take the time. */
enum { DOUBLE_COST = 8 };
/* Rows that ask for an order; those whose bits are the same with a sign or without. */
static const uint64_t ordered = UINT64_C(1) << SCALAR_less | UINT64_C(1) << SCALAR_greater
        | UINT64_C(1) << SCALAR_less_equal | UINT64_C(1) << SCALAR_greater_equal | UINT64_C(1) << SCALAR_max
        | UINT64_C(1) << SCALAR_min;
static const uint64_t unsigned_alike =
        UINT64_C(1) << SCALAR_add | UINT64_C(1) << SCALAR_sub | UINT64_C(1) << SCALAR_mul | UINT64_C(1) << SCALAR_equal;
static bool is_among(uint64_t rows, enum scalar opcode) { return opcode < 64 && rows >> opcode & 1; }

const char *jit_row_lanes(enum dtype type, enum scalar opcode)
{
	return lanes_of(type == DTYPE_U64 && is_among(unsigned_alike, opcode) ? DTYPE_I64 : type)->name;
}

const char *jit_bytes_row(enum dtype type, enum scalar opcode)
{
	bool is_signed = dtypes[type].class == CLASS_INT;
	if (dtypes[type].bits != 8 || dtypes[type].class == CLASS_FLOAT)
		return NULL;
	switch (opcode) {
	case SCALAR_and:
	case SCALAR_or:
	case SCALAR_xor:
	case SCALAR_not: return "u8";
	case SCALAR_max:
	case SCALAR_min:
	case SCALAR_maximum:
	case SCALAR_minimum: return is_signed ? "i8" : "u8";
	case SCALAR_relu: return is_signed ? "i8" : NULL;
	default: return NULL;
	}
}

bool jit_typed_row(enum dtype type, enum scalar opcode)
{
	const char *text = scalars[opcode].text;
	if (type == DTYPE_U64)
		return is_among(ordered | unsigned_alike, opcode);
	if (type == DTYPE_F64)
		return scalars[opcode].floats && scalars[opcode].cost < DOUBLE_COST
		        && (*text == 'a' || !strpbrk(text, "+-*/"));
	return scalars[opcode].ints && opcode != SCALAR_random && opcode != SCALAR_dot16 && opcode != SCALAR_dot8
	        && opcode != SCALAR_dot8u && opcode != SCALAR_pow && opcode != SCALAR_leaky_relu;
}

/* Has the type every value of the other, as lanes of 32 bits have them? */
static bool fits_in(enum dtype from, enum dtype to)
{
	bool is_signed = dtypes[from].class == CLASS_INT, into = dtypes[to].class == CLASS_INT;
	int bits = from == DTYPE_BOOL ? 1 : dtypes[from].bits;
	return is_signed == into ? bits <= dtypes[to].bits : into && bits < dtypes[to].bits;
}

bool jit_conversion(struct arena *arena, const struct expr *cast, struct conversion *out)
{
	enum dtype from = cast->arg[0]->type, to = cast->type;
	const struct lanes *a = lanes_of(from), *y = lanes_of(to);
	*out = (struct conversion){ NULL, DTYPE_COUNT };
	if (!a || !y)
		return false;
	if (cast->cast & CAST_BITS) /* they are there already */
		return lanes_lie(from) && lanes_lie(to) && a->floats == y->floats;
	bool bare = from == DTYPE_U64 || to == DTYPE_U64; /* between integers alone, as its bits */
	if (bare && (dtypes[from].class == CLASS_FLOAT || dtypes[to].class == CLASS_FLOAT))
		return false;
	a = from == DTYPE_U64 ? lanes_of(DTYPE_I64) : a;
	y = to == DTYPE_U64 ? lanes_of(DTYPE_I64) : y;
	if (from == to)
		return true;
	if (to == DTYPE_BOOL)
		out->entry = arena_printf(arena, "m_%s_to_bool_", a->name);
	else if (dtypes[from].class == CLASS_FLOAT && dtypes[to].bits < 32)
		out->entry = arena_printf(arena, "m_%s_to%s_", a->name, lane_type_of(to).memory);
	else if (a != y)
		out->entry = arena_printf(arena, "m_%s_to_%s_", a->name, y->name);
	if (dtypes[from].class != CLASS_FLOAT && y->floats == 1 && to != DTYPE_BOOL && to != DTYPE_F32
	        && dtypes[to].bits < 32 && !fits_in(from, to))
		out->wrap = to;
	return true;
}
