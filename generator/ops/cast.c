/* cast.c: numbers of one type as numbers of another (Cast, CastLike), and the same bits as another type (BitCast). */
#include "ops/words.h"
#include <math.h>

/* ---- which type ---- */
static enum dtype type_asked(const struct node *node)
{
	const struct attribute *to = node_attribute(node, "to");
	int64_t number = DTYPE_NONE;
	INVALID_IF(!to, " lacks the attribute \"to\"");
	if (to->kind == ATTRIBUTE_STRING) { /* up to opset 5 its name: "FLOAT", "INT64" … */
		static const struct {
			const char *name;
			enum dtype type;
		} names[] = {
			{ "FLOAT", DTYPE_F32 },
			{ "DOUBLE", DTYPE_F64 },
			{ "INT8", DTYPE_I8 },
			{ "INT16", DTYPE_I16 },
			{ "INT32", DTYPE_I32 },
			{ "INT64", DTYPE_I64 },
			{ "UINT8", DTYPE_U8 },
			{ "UINT16", DTYPE_U16 },
			{ "UINT32", DTYPE_U32 },
			{ "UINT64", DTYPE_U64 },
			{ "BOOL", DTYPE_BOOL },
			{ "FLOAT16", DTYPE_F16 },
			{ "STRING", DTYPE_STRING },
		};
		const char *name = node_string(node, "to", "");
		FOR (i, COUNT(names))
			if (!strcmp(names[i].name, name))
				number = names[i].type;
	} else {
		number = node_int(node, "to", 0);
	}
	INVALID_IF(number <= DTYPE_NONE || number >= DTYPE_COUNT, "%" PRId64 " is no element type", number);
	return (enum dtype)number;
}

static int rounding(const struct node *node, enum dtype to)
{
	static const int modes[] = { CAST_UP, CAST_DOWN, 0 };
	int mode = attribute_word(node, "round_mode", "up down nearest");
	int cast = attribute_int(node, "saturate") ? CAST_SATURATES : 0;
	if (to == DTYPE_F8E8M0)
		return cast | modes[mode];
	return to == DTYPE_F16 || to == DTYPE_BF16 ? 0 : cast;
}

/* ---- floats of 4 and 6 bits: rounded in the arithmetic of x ----
 * |x| to whole steps, ties to even; steps double with each power of two above the smallest normal number; the largest
 * number is the last. */
static expr_ref to_steps(struct definer *definer, enum dtype to, expr_ref x)
{
	const struct narrow_row *row = &narrows[to];
	enum dtype type = x->type;
	expr_ref zero = NUMBER(type, 0), size = ABS(x), number = NULL;
	int exponents = (1 << row->exponent) - 1;
	for (int e = exponents; e >= 1; e--) { /* as a code has it; below 1 the steps are those of 1 */
		double step = ldexp(1, e - row->bias - row->mantissa), end = ldexp(1, e + 1 - row->bias);
		expr_ref steps = expr1(definer, SCALAR_round, MUL(size, NUMBER(type, 1 / step)));
		expr_ref rounded = MUL(steps, NUMBER(type, step));
		number = number ? WHERE(LESS(size, NUMBER(type, end)), rounded, number) : rounded;
	}
	number = MIN(number, NUMBER(type, (double)narrow_value(to, row->top)));
	expr_ref minus = expr1(definer, SCALAR_neg, number), none = MUL(x, zero); /* keeps the sign of 0 */
	expr_ref is_zero = EQUAL(number, zero);
	number = WHERE(is_zero, none, WHERE(LESS(x, zero), minus, number));
	return WHERE(EQUAL(x, x), number, NUMBER(type, -0.));
}

expr_ref expr_of_type(struct definer *definer, enum dtype to, int cast, expr_ref x)
{
	enum dtype stored = dtype_stored(to);
	if (stored == to)
		return CAST_AS(to, cast, x);
	if (dtype_is_narrow(to))
		return CAST(stored, to_steps(definer, to, dtype_is_float(x->type) ? x : CAST(DTYPE_F32, x)));
	return packed_from_code(definer, to,
	        packed_code(definer, to, x)); /* the low bits stay, as where wider integers become narrower */
}

/* ---- Cast, CastLike ---- */
static void infer_cast_to(struct node *node, enum dtype to)
{
	UNSUPPORTED_IF(node->in[0]->type == DTYPE_STRING || to == DTYPE_STRING, " %s strings is not supported",
	        to == DTYPE_STRING ? "to" : "of");
	infer_any_type(node, 0);
	UNSUPPORTED_IF(to != DTYPE_NONE && !dtype_is_supported(to), " to %s is not supported", dtypes[to].text);
	rounding(node, to);
	infer_output(node, 0, to, node->in[0]->rank, node->in[0]->dims);
}

void define_cast(struct definer *definer)
{
	enum dtype to = NODE->out[0]->type;
	SHAPE(0, rank, extents, at);
	OUT(0, expr_of_type(definer, to, rounding(NODE, to), BROADCAST(IN(0), rank, at)));
}

bool cast_makes_strings(const struct node *node)
{
	return !*node->domain && !strcmp(node->type, "Cast") && node_attribute(node, "to")
	        && type_asked(node) == DTYPE_STRING;
}

bool cast_like_strings(struct bodies *bodies, struct node *node)
{
	int count = node->attribute_count;
	struct attribute *given = arena_new_array(node_arena(node), struct attribute, count + 1);
	infer_counts(node, 2, 2, 1);
	enum dtype to = node->in[1]->type;
	FOR (i, count)
		given[i] = node->attributes[i];
	given[count] = (struct attribute){ .name = "to", .kind = ATTRIBUTE_INT, .i = to };
	if (to != DTYPE_NONE)
		bodies_add(bodies, node->graph, node, "", "Cast", 1, node->in, count + 1, given, node->out[0]);
	return to != DTYPE_NONE;
}

void infer_cast(struct node *node)
{
	infer_counts(node, 1, 1, 1);
	infer_cast_to(node, type_asked(node));
}

void infer_cast_like(struct node *node)
{
	infer_counts(node, 2, 2, 1);
	infer_cast_to(node, node->in[1]->type);
}

void define_cast_like(struct definer *definer) { define_cast(definer); }

/* ---- BitCast ---- */
void infer_bit_cast(struct node *node)
{
	enum dtype from = infer_any_type(node, 0), to = type_asked(node);
	INVALID_IF(to == DTYPE_STRING || from == DTYPE_STRING, "a string has no bits to be taken as a number");
	INVALID_IF(from != DTYPE_NONE && dtypes[from].bits != dtypes[to].bits,
	        "%s has %d bits, %s has %d; as many are right", dtypes[from].text, dtypes[from].bits, dtypes[to].text,
	        dtypes[to].bits);
	UNSUPPORTED_IF(!dtype_is_supported(to), " to %s is not supported", dtypes[to].text);
	infer_output(node, 0, to, node->in[0]->rank, node->in[0]->dims);
}

void define_bit_cast(struct definer *definer)
{
	enum dtype from = NODE->in[0]->type, to = NODE->out[0]->type;
	SHAPE(0, rank, extents, at);
	expr_ref x = BROADCAST(STORED(0), rank, at);
	if (dtypes[from].bits < 8)
		x = packed_from_code(definer, to, packed_code(definer, from, x));
	else
		x = CAST_AS(to, to == DTYPE_BOOL || from == DTYPE_BOOL ? 0 : CAST_BITS, x);
	OUT(0, x);
}
