/* elementwise.c: one scalar function per element, with broadcasting: Add, Relu, And, Less, Where, Clip, Pow, Gelu … */
#include "ops/words.h"
#include <float.h>
#include <math.h>

static enum scalar scalar_of(const struct node *node) { return (enum scalar)op_of(node)->scalar; }

/* ---- a row of scalars.h: its operands are the inputs, then the numbers among the attributes ---- */
static expr_ref apply(struct definer *definer, int count, const expr_ref *inputs)
{
	const struct op *op = op_of(NODE);
	expr_ref operand[3] = { NULL };
	int n = 0;
	for (; n < count; n++)
		operand[n] = inputs[n];
	for (const struct attribute_row *row = op->attributes; row->name && n < scalars[op->scalar].arity; row++) {
		if (!row->has_default || row->string || NODE->since < row->from || NODE->since > row->to)
			continue;
		double number = row->kind == ATTRIBUTE_INT ? (double)attribute_int(NODE, row->name)
		                                           : (double)attribute_float(NODE, row->name);
		operand[n++] = NUMBER(inputs[0]->type, number);
	}
	return expr3(definer, op->scalar, operand[0], operand[1], operand[2]);
}

static expr_ref load_one(struct definer *definer)
{
	SHAPE(0, rank, extents, at);
	return BROADCAST(IN(0), rank, at);
}

/* Functions of floats that ONNX has of integers too: Erf in float32, Shrink in double where there are more than 16
 * bits; cut towards 0. */
static bool through_float(const struct node *node, enum dtype type)
{
	return !dtype_is_float(type) && (scalar_of(node) == SCALAR_erf || scalar_of(node) == SCALAR_shrink);
}

void infer_unary(struct node *node) { infer_output_like(node, 0, node->in[0]); }

void define_unary(struct definer *definer)
{
	expr_ref x = load_one(definer);
	enum dtype type = x->type;
	if (through_float(NODE, type)) {
		x = CAST(dtypes[type].bits > 16 && scalar_of(NODE) != SCALAR_erf ? DTYPE_F64 : DTYPE_F32, x);
		OUT(0, CAST(type, apply(definer, 1, &x)));
		return;
	}
	OUT(0, apply(definer, 1, &x));
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
	INVALID_IF(axis < 0 || axis + b->rank > a->rank, "%d dimensions at axis %" PRId64 " of %d do not broadcast",
	        b->rank, axis, a->rank);
	return axis;
}

static void infer_old_broadcast(struct node *node, enum dtype type)
{
	const struct tensor *a = node->in[0], *b = node->in[1];
	bool broadcast = attribute_int(node, "broadcast") != 0;
	if (a->rank >= 0 && b->rank >= 0) {
		int64_t axis = old_axis(node);
		FOR (d, b->rank) {
			int64_t have = b->dims[d].extent, want = a->dims[axis + d].extent;
			INVALID_IF(have >= 0 && want >= 0 && have != want && !(broadcast && have == 1),
			        "%" PRId64 " against %" PRId64 " in dimension %d", have, want, d);
		}
		INVALID_IF(!broadcast && a->rank != b->rank, "%d dimensions against %d without broadcast = 1", b->rank,
		        a->rank);
	}
	infer_output(node, 0, type, a->rank, a->dims);
}

static void infer_two(struct node *node, enum dtype type)
{
	struct dim dims[MAX_RANK];
	if (node->since < BROADCAST_BOTH_WAYS) {
		infer_old_broadcast(node, type);
		return;
	}
	int rank = infer_broadcast(node, 2, node->in, dims);
	infer_output(node, 0, type, rank, dims);
}

static void load_two(struct definer *definer, expr_ref *a, expr_ref *b)
{
	SHAPE(0, rank, extents, at);
	*a = BROADCAST(IN(0), rank, at);
	if (NODE->since < BROADCAST_BOTH_WAYS)
		rank = (int)old_axis(NODE) + IN(1)->rank;
	*b = BROADCAST(IN(1), rank, at);
}

void infer_binary(struct node *node) { infer_two(node, node->in[0]->type); }

void define_binary(struct definer *definer)
{
	expr_ref x[2];
	load_two(definer, &x[0], &x[1]);
	OUT(0, apply(definer, 2, x));
}

/* ---- BitShift ---- */
static bool shifts_left(const struct node *node)
{
	return !attribute_choice(node, "direction", node_string(node, "direction", ""), "LEFT RIGHT");
}

void infer_shift(struct node *node)
{
	infer_binary(node);
	shifts_left(node);
}

void define_shift(struct definer *definer)
{
	expr_ref a, b;
	load_two(definer, &a, &b);
	OUT(0, expr2(definer, shifts_left(NODE) ? scalar_of(NODE) : SCALAR_shr, a, b));
}

/* ---- Mod: the remainder with the sign of b, or with fmod = 1 that of a ---- */
enum { MOD_OF_FLOATS = 28 };
void infer_mod(struct node *node)
{
	infer_binary(node);
	INVALID_IF(dtype_is_float(node->in[0]->type) && !attribute_int(node, "fmod") && node->since < MOD_OF_FLOATS,
	        " of floats needs fmod = 1 before opset %d", MOD_OF_FLOATS);
}

void define_mod(struct definer *definer)
{
	expr_ref a, b;
	load_two(definer, &a, &b);
	OUT(0, expr2(definer, attribute_int(NODE, "fmod") ? SCALAR_fmod : scalar_of(NODE), a, b));
}

/* ---- comparisons and tests: a bool of numbers ---- */
static void no_strings(const struct node *node, int i)
{
	UNSUPPORTED_IF(node->in[i]->type == DTYPE_STRING, " of strings is not supported");
}

void infer_comparison(struct node *node)
{
	no_strings(node, 0);
	infer_two(node, DTYPE_BOOL);
}

void define_comparison(struct definer *definer)
{
	expr_ref x[2];
	load_two(definer, &x[0], &x[1]);
	OUT(0, CAST(DTYPE_BOOL, apply(definer, 2, x)));
}

void infer_test(struct node *node) { infer_output(node, 0, DTYPE_BOOL, node->in[0]->rank, node->in[0]->dims); }

void define_test(struct definer *definer)
{
	expr_ref x = load_one(definer);
	OUT(0, CAST(DTYPE_BOOL, apply(definer, 1, &x)));
}

/* ---- PRelu: the slope broadcasts to the data, up to opset 6 from the channels on ---- */
static bool of_channels(const struct node *node)
{
	return node->since < BROADCAST_BOTH_WAYS && node->in[1]->rank == 1 && node->in[0]->rank > 1;
}

void infer_prelu(struct node *node)
{
	struct dim dims[MAX_RANK];
	const struct tensor *x = node->in[0], *slope = node->in[1];
	bool fits = true;
	if (of_channels(node)) {
		fits = !dim_is_known(slope->dims[0]) || slope->dims[0].extent == 1 || !dim_is_known(x->dims[1])
		        || slope->dims[0].extent == x->dims[1].extent;
	} else {
		int rank = infer_broadcast(node, 2, node->in, dims);
		FOR_WHILE (d, rank >= 0, rank)
			fits &= x->rank == rank && !(dims_differ(x->dims[d], dims[d]));
	}
	INVALID_IF(!fits, "the slope does not broadcast to the data");
	infer_output_like(node, 0, x);
}

void define_prelu(struct definer *definer)
{
	SHAPE(0, rank, extents, at);
	struct definition *slope = IN(1);
	expr_ref x[2] = { BROADCAST(IN(0), rank, at), BROADCAST(slope, of_channels(NODE) ? 2 : rank, at) };
	OUT(0, apply(definer, 2, x));
}

/* ---- Where ---- */
void infer_where(struct node *node)
{
	struct dim dims[MAX_RANK];
	no_strings(node, 1);
	enum dtype type = infer_number_type(node, 1);
	int rank = infer_broadcast(node, 3, node->in, dims);
	infer_output(node, 0, type, rank, dims);
}

void define_where(struct definer *definer)
{
	SHAPE(0, rank, extents, at);
	expr_ref x = BROADCAST(IN(1), rank, at), y = BROADCAST(IN(2), rank, at);
	expr_ref condition = CAST(x->type, BROADCAST(IN(0), rank, at));
	OUT(0, expr3(definer, scalar_of(NODE), condition, x, y));
}

/* ---- Clip: bounds are attributes up to opset 10, then inputs; where they cross, the upper one wins ---- */
enum { CLIP_BY_INPUTS = 11, CLIP_HAS_ENDS = 6 };
void infer_clip(struct node *node)
{
	infer_scalar(node, 1);
	infer_scalar(node, 2);
	infer_output_like(node, 0, node->in[0]);
}

void define_clip(struct definer *definer)
{
	static const char *const names[] = { "min", "max" };
	static const enum scalar opcodes[] = { SCALAR_max, SCALAR_min };
	static const double ends[] = { -FLT_MAX, FLT_MAX }; /* ONNX's defaults of opset 6 to 10, whatever the type */
	expr_ref x = load_one(definer);
	FOR (i, 2) {
		struct definition *in = NODE->since < CLIP_BY_INPUTS ? NULL : IN(i + 1);
		if (in)
			x = expr2(definer, opcodes[i], BROADCAST(in, 0, NULL), x); /* NaN comes through */
		else if (NODE->since < CLIP_BY_INPUTS
		        && (NODE->since >= CLIP_HAS_ENDS || node_attribute(NODE, names[i])))
			x = expr2(definer, opcodes[i],
			        NUMBER(x->type,
			                node_attribute(NODE, names[i]) ? (double)attribute_float(NODE, names[i])
			                                               : ends[i]),
			        x);
	}
	OUT(0, x);
}

/* ---- variadic: a binary row from left to right ---- */
enum { VARIADIC_BROADCASTS = 8 };

void infer_variadic(struct node *node)
{
	struct dim dims[MAX_RANK];
	int rank = infer_broadcast(node, node->ins, node->in, dims);
	FOR_WHILE (i, node->since < VARIADIC_BROADCASTS, node->ins)
		FOR (d, rank)
			INVALID_IF(node->in[i]->rank != rank
			                || (dim_is_known(node->in[i]->dims[d])
			                        && node->in[i]->dims[d].extent != dims[d].extent),
			        " of opset %d does not broadcast; input %d differs in shape", node->since, i);
	infer_output(node, 0, node->in[0]->type, rank, dims);
}

static expr_ref sum_of(struct definer *definer)
{
	SHAPE(0, rank, extents, at);
	expr_ref sum = BROADCAST(IN(0), rank, at);
	FOR_FROM (i, 1, NODE->ins)
		sum = expr2(definer, scalar_of(NODE), sum, BROADCAST(IN(i), rank, at));
	return sum;
}

void define_variadic(struct definer *definer) { OUT(0, sum_of(definer)); }

void infer_mean(struct node *node) { infer_variadic(node); }

void define_mean(struct definer *definer)
{
	expr_ref sum = sum_of(definer);
	OUT(0, DIV(sum, LIKE(sum, NODE->ins)));
}

/* ---- Pow: small whole exponents are products ---- */
void infer_power(struct node *node) { infer_binary(node); }

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
	default: return otherwise;
	}
}

/* x^0.5 as IEEE has it: 0 of -0, infinity of either one. */
static expr_ref root_of(struct definer *definer, expr_ref x)
{
	expr_ref root = expr1(definer, SCALAR_sqrt, ADD(x, LIKE(x, 0)));
	return WHERE(EQUAL(x, LIKE(x, -(double)INFINITY)), LIKE(x, (double)INFINITY), root);
}

expr_ref power_of(struct definer *definer, expr_ref x, double exponent)
{
	if (exponent == 1)
		return x;
	if (exponent == 2 || exponent == 3 || exponent == 4) {
		expr_ref square = MUL(x, x);
		return exponent == 2 ? square : MUL(square, exponent == 3 ? x : square);
	}
	if (!dtype_is_float(x->type))
		return NULL;
	if (exponent == -1)
		return expr1(definer, SCALAR_reciprocal, x);
	if (exponent != 0.25 && exponent != 0.5 && exponent != 0.75 && exponent != -0.5)
		return NULL;
	expr_ref root = root_of(definer, x);
	if (exponent == -0.5)
		return expr1(definer, SCALAR_reciprocal, root);
	if (exponent == 0.5)
		return root;
	expr_ref fourth = expr1(definer, SCALAR_sqrt, root);
	return exponent == 0.25 ? fourth : MUL(root, fourth);
}

void define_power(struct definer *definer)
{
	expr_ref x, exponent, y;
	double constant = constant_scalar(NODE->in[1], 0);
	load_two(definer, &x, &exponent);
	y = power_of(definer, x, constant);
	if (y) {
		OUT(0, y);
		return;
	}
	if (!dtype_is_float(x->type) && dtype_is_float(exponent->type))
		y = CAST(x->type, expr2(definer, SCALAR_pow, CAST(exponent->type, x), exponent));
	else
		y = expr2(definer, SCALAR_pow, x, CAST(x->type, exponent));
	OUT(0, y);
}

/* ---- Gelu: by erf, or by tanh where asked ---- */
static bool gelu_is_tanh(const struct node *node) { return attribute_word(node, "approximate", "none tanh"); }

void infer_gelu(struct node *node)
{
	infer_least(node, 1);
	infer_output_like(node, 0, node->in[0]);
	gelu_is_tanh(node);
}

void define_gelu(struct definer *definer)
{
	expr_ref x = load_one(definer);
	if (!gelu_is_tanh(NODE)) {
		OUT(0, expr1(definer, SCALAR_gelu, x));
		return;
	}
	/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
	expr_ref half = MUL(x, LIKE(x, 0.5));
	expr_ref cube = MUL(MUL(x, x), x);
	expr_ref inner = MUL(FMA(cube, LIKE(x, 0.044715), x), LIKE(x, 0.79788456080286535588));
	OUT(0, FMA(half, expr1(definer, SCALAR_tanh, inner), half));
}
