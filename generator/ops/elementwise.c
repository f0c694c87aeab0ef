/* elementwise.c: one scalar function per element, with broadcasting: Add, Relu, Pow, Elu, Gelu, Cast … */
#include "ops/ops.h"
#include <inttypes.h>

/* ---- unary: a row of scalars.h ---- */
static enum dtype type_for(const struct node *node, int i, const struct op *op)
{
	enum dtype type = infer_number_type(node, i);
	if (type == DTYPE_BOOL)
		node_fail(node, EXIT_INVALID, "%s: input %d is bool, a number is right", node->type, i);
	if (type != DTYPE_NONE && dtypes[type].class != CLASS_FLOAT && op->scalar >= 0 && !scalars[op->scalar].ints)
		node_fail(node, EXIT_INVALID, "%s: input %d is %s, a floating-point type is right", node->type, i,
		          dtypes[type].text);
	return type;
}

void infer_unary(struct node *node, const struct op *op)
{
	infer_counts(node, 1, 1, 1);
	type_for(node, 0, op);
	infer_output_like(node, 0, node->in[0]);
}

void define_unary(struct definer *definer, const struct op *op)
{
	int64_t extents[MAX_RANK];
	const struct index *at[MAX_RANK];
	int rank = definer_shape(definer, 0, extents, at);
	const struct expr *x = definer_load(definer, definer_in(definer, 0), rank, at);
	definer_out_map(definer, 0, expr1(definer, op->scalar, x));
}

/* ---- binary ----
 * Up to opset 6 only b may broadcast, only where `broadcast` says so; its dims then stand at `axis` of a, or at the
 * end. */
enum { BROADCAST_BOTH_WAYS = 7 };

static int64_t old_axis(const struct node *node)
{
	const struct tensor *a = node->in[0], *b = node->in[1];
	int64_t axis = node_int(node, "axis", a->rank - b->rank);
	axis = axis < 0 ? axis + a->rank : axis;
	if (axis < 0 || axis + b->rank > a->rank)
		node_fail(node, EXIT_INVALID, "%s: %d dimensions at axis %" PRId64 " of %d do not broadcast",
		          node->type, b->rank, axis, a->rank);
	return axis;
}

static void infer_old_broadcast(struct node *node)
{
	const struct tensor *a = node->in[0], *b = node->in[1];
	bool broadcast = node_int(node, "broadcast", 0) != 0;
	if (a->rank >= 0 && b->rank >= 0) {
		int64_t axis = old_axis(node);
		for (int d = 0; d < b->rank; d++) {
			int64_t have = b->dims[d].extent, want = a->dims[axis + d].extent;
			if (have >= 0 && want >= 0 && have != want && !(broadcast && have == 1))
				node_fail(node, EXIT_INVALID, "%s: %" PRId64 " against %" PRId64 " in dimension %d",
				          node->type, have, want, d);
		}
		if (!broadcast && a->rank != b->rank)
			node_fail(node, EXIT_INVALID, "%s: %d dimensions against %d without broadcast = 1", node->type,
			          b->rank, a->rank);
	}
	infer_output_like(node, 0, a);
}

static void infer_two(struct node *node, enum dtype type)
{
	struct dim dims[MAX_RANK];
	if (node->since < BROADCAST_BOTH_WAYS) {
		infer_old_broadcast(node);
		return;
	}
	int rank = infer_broadcast(node, 2, node->in, dims);
	if (rank < 0)
		infer_output_unknown(node, 0, type);
	else
		infer_output(node, 0, type, rank, dims);
}

static void load_two(struct definer *definer, const struct expr **a, const struct expr **b)
{
	int64_t extents[MAX_RANK];
	const struct index *at[MAX_RANK];
	int rank = definer_shape(definer, 0, extents, at);
	*a = definer_load(definer, definer_in(definer, 0), rank, at);
	if (definer->node->since < BROADCAST_BOTH_WAYS)
		rank = (int)old_axis(definer->node) + definer_in(definer, 1)->rank;
	*b = definer_load(definer, definer_in(definer, 1), rank, at);
}

void infer_binary(struct node *node, const struct op *op)
{
	infer_counts(node, 2, 2, 1);
	enum dtype type = type_for(node, 0, op);
	type_for(node, 1, op);
	infer_same_type(node, 1, type);
	infer_two(node, type);
}

void define_binary(struct definer *definer, const struct op *op)
{
	const struct expr *a, *b;
	load_two(definer, &a, &b);
	definer_out_map(definer, 0, expr2(definer, op->scalar, a, b));
}

/* ---- variadic: a binary row from left to right ---- */
enum { VARIADIC_BROADCASTS = 8, INS_MOST = 1 << 16 };

void infer_variadic(struct node *node, const struct op *op)
{
	struct dim dims[MAX_RANK];
	infer_counts(node, 1, INS_MOST, 1);
	infer_counts(node, node->ins, INS_MOST, 1);
	enum dtype type = type_for(node, 0, op);
	for (int i = 1; i < node->ins; i++) {
		type_for(node, i, op);
		infer_same_type(node, i, type);
	}
	int rank = infer_broadcast(node, node->ins, node->in, dims);
	if (rank < 0) {
		infer_output_unknown(node, 0, type);
		return;
	}
	for (int i = 0; i < node->ins && node->since < VARIADIC_BROADCASTS; i++)
		for (int d = 0; d < rank; d++)
			if (node->in[i]->rank != rank ||
			    (dim_is_known(node->in[i]->dims[d]) && node->in[i]->dims[d].extent != dims[d].extent))
				node_fail(node, EXIT_INVALID,
				          "%s of opset %d does not broadcast; input %d differs in shape", node->type,
				          node->since, i);
	infer_output(node, 0, type, rank, dims);
}

void define_variadic(struct definer *definer, const struct op *op)
{
	int64_t extents[MAX_RANK];
	const struct index *at[MAX_RANK];
	int rank = definer_shape(definer, 0, extents, at);
	const struct expr *sum = definer_load(definer, definer_in(definer, 0), rank, at);
	for (int i = 1; i < definer->node->ins; i++)
		sum = expr2(definer, op->scalar, sum, definer_load(definer, definer_in(definer, i), rank, at));
	definer_out_map(definer, 0, sum);
}

/* ---- Pow: small whole exponents are products ---- */
void infer_power(struct node *node, const struct op *op)
{
	infer_counts(node, 2, 2, 1);
	enum dtype type = type_for(node, 0, op);
	type_for(node, 1, op);
	if (node->since < 12)
		infer_same_type(node, 1, type);
	infer_two(node, type);
}

static double constant_scalar(const struct tensor *tensor, double otherwise)
{
	float f;
	double d;
	int64_t i;
	int32_t n;
	if (!tensor->data || !tensor_is_scalar_like(tensor))
		return otherwise;
	switch (tensor->type) {
	case DTYPE_F32: return memcpy(&f, tensor->data, sizeof f), f;
	case DTYPE_F64: return memcpy(&d, tensor->data, sizeof d), d;
	case DTYPE_I64: return memcpy(&i, tensor->data, sizeof i), (double)i;
	case DTYPE_I32: return memcpy(&n, tensor->data, sizeof n), n;
	default:        return otherwise;
	}
}

void define_power(struct definer *definer, const struct op *op)
{
	const struct expr *x, *exponent, *y;
	double constant = constant_scalar(definer->node->in[1], 0);
	(void)op;
	load_two(definer, &x, &exponent);
	if (constant == 1)
		y = x;
	else if (constant == 2)
		y = expr2(definer, SCALAR_mul, x, x);
	else if (constant == 3)
		y = expr2(definer, SCALAR_mul, expr2(definer, SCALAR_mul, x, x), x);
	else if (dtypes[x->type].class != CLASS_FLOAT && dtypes[exponent->type].class == CLASS_FLOAT)
		y = expr_cast(definer->arena, x->type, expr2(definer, SCALAR_pow,
			expr_cast(definer->arena, exponent->type, x), exponent));
	else
		y = expr2(definer, SCALAR_pow, x, expr_cast(definer->arena, x->type, exponent));
	definer_out_map(definer, 0, y);
}

/* ---- Elu: alpha (e^x - 1) below 0 ---- */
void infer_elu(struct node *node, const struct op *op)
{
	(void)op;
	infer_counts(node, 1, 1, 1);
	infer_float_type(node, 0);
	infer_output_like(node, 0, node->in[0]);
}

static const struct expr *load_one(struct definer *definer)
{
	int64_t extents[MAX_RANK];
	const struct index *at[MAX_RANK];
	int rank = definer_shape(definer, 0, extents, at);
	return definer_load(definer, definer_in(definer, 0), rank, at);
}

void define_elu(struct definer *definer, const struct op *op)
{
	const struct expr *x = load_one(definer), *zero = expr_number(definer->arena, x->type, 0);
	const struct expr *alpha = expr_number(definer->arena, x->type, node_float(definer->node, "alpha", 1));
	const struct expr *less_one =
	        expr2(definer, SCALAR_sub, expr1(definer, SCALAR_exp, x), expr_number(definer->arena, x->type, 1));
	(void)op;
	definer_out_map(definer, 0, expr3(definer, SCALAR_where, expr2(definer, SCALAR_less, x, zero),
		expr2(definer, SCALAR_mul, alpha, less_one), x));
}

/* ---- Gelu: by erf, or by tanh where asked ---- */
static bool gelu_is_tanh(const struct node *node)
{
	const char *kind = node_string(node, "approximate", "none");
	if (strcmp(kind, "none") && strcmp(kind, "tanh"))
		node_fail(node, EXIT_INVALID, "Gelu: approximate is \"%s\", \"none\" or \"tanh\" is right", kind);
	return !strcmp(kind, "tanh");
}

void infer_gelu(struct node *node, const struct op *op)
{
	infer_elu(node, op);
	gelu_is_tanh(node);
}

void define_gelu(struct definer *definer, const struct op *op)
{
	const struct expr *x = load_one(definer);
	(void)op;
	if (!gelu_is_tanh(definer->node)) {
		definer_out_map(definer, 0, expr1(definer, SCALAR_gelu, x));
		return;
	}
	/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
	struct arena *arena = definer->arena;
	const struct expr *half = expr2(definer, SCALAR_mul, x, expr_number(arena, x->type, 0.5));
	const struct expr *cube = expr2(definer, SCALAR_mul, expr2(definer, SCALAR_mul, x, x), x);
	const struct expr *inner =
	        expr2(definer, SCALAR_mul, expr3(definer, SCALAR_fma, cube, expr_number(arena, x->type, 0.044715), x),
	              expr_number(arena, x->type, 0.79788456080286535588));
	definer_out_map(definer, 0, expr3(definer, SCALAR_fma, half, expr1(definer, SCALAR_tanh, inner), half));
}

/* ---- Cast ---- */
static enum dtype cast_to(const struct node *node)
{
	const struct attribute *to = node_attribute(node, "to");
	int64_t number = DTYPE_NONE;
	if (!to)
		node_fail(node, EXIT_INVALID, "Cast lacks the attribute \"to\"");
	if (node->since < 6) {                                            /* its name: "FLOAT", "INT64" … */
		static const struct { const char *name; enum dtype type;
		} names[] = {
		        {"FLOAT", DTYPE_F32},     {"DOUBLE", DTYPE_F64}, {"INT8", DTYPE_I8},   {"INT16", DTYPE_I16},
		        {"INT32", DTYPE_I32},     {"INT64", DTYPE_I64},  {"UINT8", DTYPE_U8},  {"UINT16", DTYPE_U16},
		        {"UINT32", DTYPE_U32},    {"UINT64", DTYPE_U64}, {"BOOL", DTYPE_BOOL}, {"FLOAT16", DTYPE_F16},
		        {"STRING", DTYPE_STRING},
		};
		const char *name = node_string(node, "to", "");
		for (size_t i = 0; i < COUNT(names); i++)
			if (!strcmp(names[i].name, name))
				number = names[i].type;
	} else {
		number = node_int(node, "to", 0);
	}
	if (number <= DTYPE_NONE || number >= DTYPE_COUNT)
		node_fail(node, EXIT_INVALID, "Cast: %" PRId64 " is no element type", number);
	if (!dtype_is_supported((enum dtype)number))
		node_fail(node, EXIT_UNSUPPORTED, "Cast to %s is not supported", dtypes[number].text);
	return (enum dtype)number;
}

void infer_cast(struct node *node, const struct op *op)
{
	(void)op;
	infer_counts(node, 1, 1, 1);
	enum dtype to = cast_to(node);
	if (node->in[0]->type == DTYPE_STRING)
		node_fail(node, EXIT_UNSUPPORTED, "Cast of strings is not supported");
	infer_number_type(node, 0);
	if (node->in[0]->rank < 0)
		infer_output_unknown(node, 0, to);
	else
		infer_output(node, 0, to, node->in[0]->rank, node->in[0]->dims);
}

void define_cast(struct definer *definer, const struct op *op)
{
	(void)op;
	definer_out_map(definer, 0, expr_cast(definer->arena, cast_to(definer->node), load_one(definer)));
}
